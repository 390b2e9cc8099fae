//! Selection: all ranks choose alike, the model's choices are the expected ones, wrong names are refused.

use crate::HostMap;
use crate::algorithms_by_length;
use crate::call::{BlockArray, BlockBuffer, CollectiveCall, IntArray, RankAndSize, ReductionArgs};
use crate::collective::Collective;
use crate::cost_model::{CostModel, ScheduleLimits};
use crate::schedule::Schedule;
use crate::select::{ONE_STEP_BYTES, PARAMS, plan};
use crate::tuning::{ForcedAlgorithms, Tuning};
use hawser_base::param::ParamKind;

fn tuning(one_host: bool, model: CostModel) -> Tuning<'static> {
    Tuning { one_host, hosts: None, model, limits: ScheduleLimits::DEFAULT, forced: ForcedAlgorithms::NONE }
}

fn chosen(call: CollectiveCall, rank: u32, size: u32, tuning: &Tuning) -> &'static str {
    plan(&call, RankAndSize { rank, size }, tuning, &mut Schedule::new())
}

fn reduction(count: u64, commutative: bool) -> ReductionArgs {
    ReductionArgs { count, type_size: 8, dense: true, commutative, in_place: false }
}

fn bytes(count: u64) -> BlockBuffer {
    BlockBuffer { count, type_size: 1, dense: true }
}

#[test]
fn more_ranks_than_cores_meet_in_host_steps() {
    let oversubscribed = tuning(true, CostModel::oversubscribed(16, 2));
    assert_eq!(chosen(CollectiveCall::Barrier, 3, 16, &oversubscribed), "host");
    assert_eq!(chosen(CollectiveCall::Allreduce(reduction(1, true)), 3, 16, &oversubscribed), "host");
    assert_eq!(chosen(CollectiveCall::Bcast { root: 1, data: bytes(64) }, 3, 16, &oversubscribed), "host");
    assert_eq!(chosen(CollectiveCall::Reduce { root: 1, data: reduction(1, false) }, 3, 16, &oversubscribed), "host");
}

/// `mpi` runs such calls without a schedule.
#[test]
fn data_of_one_step_go_by_flags_on_one_host() {
    let oversubscribed = CostModel::oversubscribed;
    for (size, model) in [
        (2, CostModel::SHARED_MEMORY),
        (2, oversubscribed(64, 2)),
        (64, oversubscribed(64, 2)),
        (256, oversubscribed(1000, 16)),
    ] {
        let host = tuning(true, model);
        let count = ONE_STEP_BYTES / u64::from(size);
        let (block, blocks) = (bytes(count), BlockArray::regular(count, 1));
        for call in [
            CollectiveCall::Bcast { root: 1, data: bytes(ONE_STEP_BYTES) },
            CollectiveCall::Reduce { root: 1, data: reduction(ONE_STEP_BYTES / 8, true) },
            CollectiveCall::Allreduce(reduction(ONE_STEP_BYTES / 8, false)),
            CollectiveCall::Allgather { send: block, recv: blocks, in_place: false },
            CollectiveCall::Alltoall { send: blocks, recv: blocks, in_place: false },
        ] {
            assert_eq!(chosen(call, 0, size, &host), "host", "{size} ranks");
        }
    }
}

/// Long data are copied once into shared memory, not once for each receiver; data from all for all leave at once.
#[test]
fn more_ranks_than_cores_share_long_data_through_flags_too() {
    let limits = ScheduleLimits { shm_step_bytes: 64 << 10, ..ScheduleLimits::DEFAULT };
    let oversubscribed = Tuning { limits, ..tuning(true, CostModel::oversubscribed(8, 2)) };
    assert_eq!(chosen(CollectiveCall::Bcast { root: 1, data: bytes(1 << 20) }, 3, 8, &oversubscribed), "host");
    assert_eq!(
        chosen(CollectiveCall::Reduce { root: 1, data: reduction(1 << 17, true) }, 3, 8, &oversubscribed),
        "host"
    );
    assert_eq!(chosen(CollectiveCall::Allreduce(reduction(1 << 17, true)), 3, 8, &oversubscribed), "host");
    assert_eq!(
        chosen(CollectiveCall::ReduceScatterBlock(reduction(1 << 14, true)), 3, 8, &oversubscribed),
        "host_blocks"
    );
    let blocks = BlockArray::regular(1 << 20, 1);
    let alltoall = CollectiveCall::Alltoall { send: blocks, recv: blocks, in_place: false };
    let allgather = CollectiveCall::Allgather { send: bytes(1 << 20), recv: blocks, in_place: false };
    assert_eq!(
        (chosen(alltoall, 3, 8, &oversubscribed), chosen(allgather, 3, 8, &oversubscribed)),
        ("spread", "spread")
    );
    let blocks = BlockArray::regular(1 << 10, 1);
    let alltoall = CollectiveCall::Alltoall { send: blocks, recv: blocks, in_place: false };
    let allgather = CollectiveCall::Allgather { send: bytes(1 << 10), recv: blocks, in_place: false };
    assert_eq!((chosen(alltoall, 3, 8, &oversubscribed), chosen(allgather, 3, 8, &oversubscribed)), ("host", "host"));
    // With a core for each, both ends of a message copy at the same time.
    let alone = Tuning { model: CostModel::SHARED_MEMORY, ..oversubscribed };
    assert_eq!(chosen(CollectiveCall::Bcast { root: 1, data: bytes(4096) }, 0, 2, &alone), "host");
    assert_eq!(chosen(CollectiveCall::Bcast { root: 1, data: bytes(1 << 20) }, 0, 2, &alone), "binomial");
}

#[test]
fn across_hosts_short_data_take_few_rounds_and_long_data_few_bytes() {
    let far = tuning(false, CostModel::ETHERNET);
    assert_eq!(chosen(CollectiveCall::Barrier, 0, 8, &far), "dissemination");
    assert_eq!(chosen(CollectiveCall::Bcast { root: 0, data: bytes(8) }, 0, 8, &far), "binomial");
    assert_eq!(chosen(CollectiveCall::Bcast { root: 0, data: bytes(64 << 20) }, 0, 8, &far), "chain");
    assert_eq!(chosen(CollectiveCall::Allreduce(reduction(1, true)), 0, 8, &far), "recursive_doubling");
    assert_eq!(chosen(CollectiveCall::Allreduce(reduction(1 << 20, true)), 0, 8, &far), "rabenseifner");
    assert_eq!(chosen(CollectiveCall::Allreduce(reduction(1 << 20, true)), 0, 12, &far), "ring");
    assert_eq!(chosen(CollectiveCall::Allreduce(reduction(1 << 20, false)), 0, 12, &far), "rabenseifner");
    assert_eq!(chosen(CollectiveCall::Reduce { root: 0, data: reduction(1, true) }, 0, 8, &far), "binomial");
    assert_eq!(chosen(CollectiveCall::Reduce { root: 0, data: reduction(1 << 20, true) }, 0, 8, &far), "rabenseifner");
    assert_eq!(chosen(CollectiveCall::ReduceScatterBlock(reduction(1, true)), 0, 8, &far), "recursive_halving");
    assert_eq!(chosen(CollectiveCall::ReduceScatterBlock(reduction(1, false)), 0, 8, &far), "recursive_doubling");
    assert_eq!(chosen(CollectiveCall::ReduceScatterBlock(reduction(1 << 20, false)), 0, 8, &far), "pairwise");
    let alltoall = |count| CollectiveCall::Alltoall {
        send: BlockArray::regular(count, 1),
        recv: BlockArray::regular(count, 1),
        in_place: false,
    };
    assert_eq!(chosen(alltoall(1), 0, 64, &far), "bruck");
    assert_eq!(chosen(alltoall(1 << 20), 0, 64, &far), "pairwise");
    assert_eq!(chosen(alltoall(8), 0, 4, &tuning(true, CostModel::SHARED_MEMORY)), "host");
    let allgather =
        |count| CollectiveCall::Allgather { send: bytes(count), recv: BlockArray::regular(count, 1), in_place: false };
    assert_eq!(chosen(allgather(1), 0, 64, &far), "recursive_doubling");
    assert_eq!(chosen(allgather(1), 0, 61, &far), "bruck");
    assert_eq!(chosen(allgather(1 << 20), 0, 61, &far), "ring");
}

/// Sixteen ranks a host: short data cross the network once a host; long data are cut among all ranks only where that
/// sends less.
#[test]
fn across_hosts_of_many_ranks_two_levels_are_taken() {
    let hosts = HostMap::new((0..64).map(|rank| rank / 16)).unwrap();
    let far = Tuning { hosts: Some(&hosts), ..tuning(false, CostModel::ETHERNET) };
    for call in [
        CollectiveCall::Barrier,
        CollectiveCall::Bcast { root: 5, data: bytes(8) },
        CollectiveCall::Reduce { root: 5, data: reduction(1, false) },
        CollectiveCall::Allreduce(reduction(1, false)),
        CollectiveCall::ReduceScatterBlock(reduction(1, true)),
        CollectiveCall::Scan(reduction(1, true)),
        CollectiveCall::Exscan(reduction(1, true)),
        CollectiveCall::Allgather { send: bytes(1), recv: BlockArray::regular(1, 1), in_place: false },
        CollectiveCall::Gather { root: 5, send: bytes(1), recv: BlockArray::regular(1, 1), in_place: false },
        CollectiveCall::Scatter { root: 5, send: BlockArray::regular(1, 1), recv: bytes(1), in_place: false },
        CollectiveCall::Gatherv { root: 5, send: bytes(1), recv: BlockArray::regular(1, 1), in_place: false },
        CollectiveCall::Scatterv { root: 5, send: BlockArray::regular(1, 1), recv: bytes(1), in_place: false },
    ] {
        assert_eq!(chosen(call, 5, 64, &far), "two_level", "{call:?}");
    }
    let hosts = HostMap::new((0..12).map(|rank| rank / 6)).unwrap();
    let few = Tuning { hosts: Some(&hosts), ..far };
    let alltoall = |count| BlockArray::regular(count, 1);
    let alltoall = |count| CollectiveCall::Alltoall { send: alltoall(count), recv: alltoall(count), in_place: false };
    assert_eq!((chosen(alltoall(1), 0, 12, &few), chosen(alltoall(1 << 20), 0, 12, &few)), ("two_level", "pairwise"));
}

/// Short blocks take one tree more than where lengths are known; a tree of few ranks saves nothing.
#[test]
fn unlike_lengths_are_told_where_that_saves_messages() {
    let far = tuning(false, CostModel::ETHERNET);
    let blocks = BlockArray::regular(1, 1);
    let gatherv = CollectiveCall::Gatherv { root: 0, send: bytes(1), recv: blocks, in_place: false };
    assert_eq!((chosen(gatherv, 3, 64, &far), chosen(gatherv, 3, 512, &far)), ("linear", "binomial"));
    let alltoallv = CollectiveCall::Alltoallv { send: blocks, recv: blocks, in_place: false };
    assert_eq!((chosen(alltoallv, 3, 16, &far), chosen(alltoallv, 3, 64, &far)), ("spread", "bruck"));
    let hosts = HostMap::new((0..16).map(|rank| rank / 8)).unwrap();
    let of_eight = Tuning { hosts: Some(&hosts), ..far };
    assert_eq!((chosen(gatherv, 3, 16, &of_eight), chosen(alltoallv, 3, 16, &of_eight)), ("two_level", "two_level"));
    let near = tuning(true, CostModel::oversubscribed(64, 2));
    assert_eq!((chosen(gatherv, 3, 64, &near), chosen(alltoallv, 3, 64, &near)), ("linear", "spread"));
}

#[test]
fn a_survey_tells_what_calls_get_from_which_length_on() {
    let far = tuning(false, CostModel::ETHERNET);
    let table = algorithms_by_length(Collective::Allreduce, 8, &far);
    assert_eq!((table[0], table.last().unwrap().1), ((8, "recursive_doubling"), "rabenseifner"));
    for bytes in (3..=26).map(|power| 1u64 << power) {
        let name = chosen(CollectiveCall::Allreduce(reduction(bytes / 8, true)), 0, 8, &far);
        assert_eq!(table.iter().rfind(|&&(from, _)| from <= bytes).unwrap().1, name, "{bytes} bytes");
    }
    let forced = ForcedAlgorithms::NONE.with(Collective::Allreduce, "ring").unwrap();
    assert_eq!(algorithms_by_length(Collective::Allreduce, 8, &Tuning { forced, ..far }), [(8, "ring")]);
    for &collective in Collective::ALL {
        let table = algorithms_by_length(collective, 5, &far);
        assert!(table.iter().all(|(_, name)| collective.algorithms()[1..].contains(name)), "{collective:?}: {table:?}");
    }
}

#[test]
fn what_only_some_ranks_know_does_not_decide() {
    let models = [CostModel::SHARED_MEMORY, CostModel::ETHERNET, CostModel::oversubscribed(64, 2)];
    for (model, one_host) in models.into_iter().zip([true, false, true]) {
        for size in [1, 2, 5, 16, 64] {
            let hosts = HostMap::new((0..size).map(|rank| rank % 3));
            let tuning = Tuning { hosts: hosts.as_ref().filter(|_| !one_host), ..tuning(one_host, model) };
            for count in [0, 1, 100, 10_000, 1_000_000] {
                same_on_all_ranks(size, count, &tuning);
            }
        }
    }
}

/// Calls whose arguments differ from rank to rank as far as the standard lets them.
fn same_on_all_ranks(size: u32, count: u64, tuning: &Tuning) {
    let root = size / 2;
    let calls: [fn(u32, u32, u64) -> CollectiveCall<'static>; 8] = [
        |rank, root, count| {
            let data = match rank % 2 {
                0 => BlockBuffer { count: 8 * count, type_size: 1, dense: true },
                _ => BlockBuffer { count, type_size: 8, dense: false },
            };
            CollectiveCall::Bcast { root, data }
        },
        |rank, root, count| CollectiveCall::Reduce {
            root,
            data: ReductionArgs { in_place: rank == root, ..reduction(count, true) },
        },
        |rank, root, count| {
            let (send, recv) = if rank == root {
                (bytes(7), BlockArray::regular(count, 8))
            } else {
                (bytes(8 * count), BlockArray::regular(3, 5))
            };
            CollectiveCall::Gather { root, send, recv, in_place: rank == root }
        },
        |rank, root, count| {
            let (recv, send) = if rank == root {
                (bytes(7), BlockArray::regular(count, 8))
            } else {
                (bytes(8 * count), BlockArray::regular(3, 5))
            };
            CollectiveCall::Scatter { root, send, recv, in_place: rank == root }
        },
        |rank, _, count| {
            let recv = if rank % 2 == 0 { BlockArray::regular(count, 8) } else { BlockArray::regular(8 * count, 1) };
            CollectiveCall::Allgather { send: bytes(8 * count), recv, in_place: false }
        },
        |rank, _, count| {
            let blocks = |times: i64| BlockArray::vector(IntArray::Same(times * count as i64), IntArray::Same(0), 1);
            // Two ranks know all of both.
            CollectiveCall::Alltoallv {
                send: blocks(rank.into()),
                recv: blocks(1 - i64::from(rank.min(1))),
                in_place: false,
            }
        },
        |rank, root, count| {
            let recv = BlockArray::vector(IntArray::Stride(count as i64), IntArray::Same(0), 1);
            let (send, in_place) = (bytes(u64::from(rank) * count), rank == root && root % 2 == 0);
            CollectiveCall::Gatherv {
                root,
                send,
                recv: if rank == root { recv } else { BlockArray::regular(9, 9) },
                in_place,
            }
        },
        |rank, root, count| {
            let send = BlockArray::vector(IntArray::Stride(count as i64), IntArray::Same(0), 1);
            let (recv, in_place) = (bytes(u64::from(rank) * count), rank == root && root % 2 == 0);
            CollectiveCall::Scatterv {
                root,
                send: if rank == root { send } else { BlockArray::regular(9, 9) },
                recv,
                in_place,
            }
        },
    ];
    for call in calls {
        let first = chosen(call(0, root, count), 0, size, tuning);
        for rank in 1..size {
            assert_eq!(chosen(call(rank, root, count), rank, size, tuning), first, "{:?}", call(rank, root, count));
        }
    }
}

#[test]
fn a_model_of_nonsense_still_gets_an_algorithm_that_fits() {
    let nan = f64::NAN;
    let nonsense = CostModel {
        message_us: nan,
        overhead_us: nan,
        overhead_of_all_us: nan,
        byte_us: nan,
        reduce_us: nan,
        copy_us: nan,
        shm_step_us: nan,
        shm_step_rank_us: nan,
        load: nan,
    };
    let blocks = BlockArray::regular(4, 1);
    for in_place in [false, true] {
        let call = CollectiveCall::Alltoall { send: blocks, recv: blocks, in_place };
        let name = chosen(call, 0, 4, &tuning(false, nonsense));
        assert!(Collective::Alltoall.algorithms().contains(&name));
    }
    assert_eq!(chosen(CollectiveCall::Allreduce(reduction(9, false)), 0, 4, &tuning(false, nonsense)), "rabenseifner");
}

#[test]
fn a_forced_algorithm_is_used_where_it_fits_and_only_there() {
    let forced = ForcedAlgorithms::NONE.with(Collective::Allreduce, "ring").unwrap();
    let tuning = Tuning { forced, ..tuning(false, CostModel::ETHERNET) };
    assert_eq!(chosen(CollectiveCall::Allreduce(reduction(1, true)), 0, 8, &tuning), "ring");
    assert_eq!(chosen(CollectiveCall::Allreduce(reduction(1, false)), 0, 8, &tuning), "recursive_doubling");
}

#[test]
fn a_wrong_name_is_an_error_that_lists_the_right_ones() {
    let why = ForcedAlgorithms::NONE.with(Collective::Barrier, "tournament").unwrap_err().to_string();
    assert_eq!(
        why,
        "MPI_ERR_ARG: Barrier has no algorithm tournament; take one of auto, host, two_level, dissemination"
    );
}

#[test]
fn every_collective_has_its_parameter() {
    assert_eq!(PARAMS.len(), Collective::ALL.len());
    for (collective, param) in Collective::ALL.iter().zip(PARAMS) {
        assert_eq!(param.name.replace("HAWSER_COLL_", "").replace('_', ""), format!("{collective:?}").to_uppercase());
        assert_eq!(param.kind, ParamKind::Choice(collective.algorithms()));
        assert_eq!(param.default, collective.algorithms()[0]);
    }
}

#[test]
fn a_schedule_written_again_is_the_same_and_no_longer() {
    let (place, tuning) = (RankAndSize { rank: 3, size: 1000 }, tuning(false, CostModel::ETHERNET));
    let (mut first, mut again) = (Schedule::new(), Schedule::new());
    let call = CollectiveCall::Allreduce(reduction(2, true));
    plan(&call, place, &tuning, &mut first);
    plan(&CollectiveCall::Bcast { root: 9, data: bytes(1 << 20) }, place, &tuning, &mut again);
    plan(&call, place, &tuning, &mut again);
    assert_eq!(first, again);
    // Fold, nine exchanges, unfold: its own steps alone, whatever the size.
    assert!(first.len() <= 12, "{} rounds", first.len());
}
