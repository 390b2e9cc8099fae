//! Shm steps with threads as members, on a block that looks like one of the segment: values, mixtures of
//! steps, late members, calls that do not belong together, and how long a step takes.

use crate::buffer::BufferArg;
use crate::engine::flags::{StepKind, StepPhase, StepResult, StepSpec};
use crate::engine::run_memory::{RunMemory, UserBuffer};
use crate::engine::shm::{ReduceArgs, SHORT_BYTES, ShmCollective, StepBuffers, depart, step_bytes, without_data};
use crate::engine::slot_exchange::{BlockPattern, EqualBlocks, ExchangeData, RoundData};
use crate::ops::{ReduceOp, Reducer};
use crate::types;
use hawser_base::{Handle, SharedMem, UserMem};
use hawser_coll::{
    BlockArray, BlockBuffer, CollectiveCall, CostModel, ForcedAlgorithms, RankAndSize, Schedule, ScheduleLimits,
    Tuning, plan,
};
use hawser_datatype::{Basic, Datatype, PredefinedOp, UserPtr};
use hawser_job::{Doorbells, FlagBlock};
use hawser_p2p::buffer::Buffer;
use std::iter;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// The members of a private block.
fn hosts(members: usize) -> Vec<ShmCollective> {
    let block = FlagBlock::private(members);
    let bells = Doorbells::private(members);
    (0..members).map(|me| ShmCollective::new(block.clone(), me, bells.clone())).collect()
}

fn finish(shm: &mut ShmCollective, kind: StepKind, step_buffers: &StepBuffers<'_>) -> StepResult {
    let spec = ShmCollective::spec(kind, step_buffers);
    let mut phase = StepPhase::Enter;
    let mut turns = 0u32;
    loop {
        if let Some(ended) = shm.poll(&mut phase, &spec, step_buffers) {
            return ended;
        }
        turns += 1;
        if turns > 100 {
            thread::yield_now();
        }
    }
}

fn sum() -> Reducer {
    Reducer::of(ReduceOp::Predefined(PredefinedOp::Sum), Datatype::basic(Basic::Int64), types::handle_of(Basic::Int64))
        .unwrap()
}

fn bytes(values: &mut [i64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_ne_bytes()).collect()
}

fn values(bytes: &[u8]) -> Vec<i64> {
    bytes.chunks_exact(8).map(|b| i64::from_ne_bytes(b.try_into().unwrap())).collect()
}

/// Memory for calls, which is never freed.
fn leaked_memory(bytes: usize) -> UserMem<'static> {
    UserMem::of_slice(vec![0; bytes].leak())
}

/// The beginning of `memory`, with these values in it.
fn filled(memory: UserMem<'static>, values: &mut [i64]) -> UserMem<'static> {
    let mem = memory.slice(0, 8 * values.len());
    mem.write(&bytes(values));
    mem
}

fn values_in(mem: UserMem) -> Vec<i64> {
    let mut bytes = vec![0; mem.len()];
    mem.read(&mut bytes);
    values(&bytes)
}

/// The memory of a member in a mixture: to send from, to send from next and to receive into.
type Buffers = [UserMem<'static>; 3];

/// A member's step `n` of a mixture that all members know; panics at a wrong value.
fn mixed_step(
    shm: &mut ShmCollective,
    reducer: &Reducer,
    (me, members): (usize, usize),
    n: usize,
    count: usize,
    buffers: Buffers,
) {
    let datatype = Datatype::basic(Basic::Int64);
    let count_of = |n: usize| 1 + (n * 7 + count) % count;
    let of_step = |n: usize, member: usize| -> Vec<i64> {
        (0..count_of(n)).map(|i| (n * 1000 + member * 10 + i) as i64).collect()
    };
    let kind_of = |n: usize| n * 2654435761 % 7;
    let (count, contribution) = (count_of(n), |member| of_step(n, member));
    let total: Vec<i64> = (0..count).map(|i| (0..members).map(|m| contribution(m)[i]).sum()).collect();
    let send = filled(buffers[0], &mut contribution(me));
    let next_data = filled(buffers[1], &mut of_step(n + 1, me));
    let next = if kind_of(n + 1) >= 5 { Buffer::Dense(next_data) } else { Buffer::EMPTY };
    let from = Buffer::Dense(send);
    let reduce_args = Some(ReduceArgs { reducer, datatype, count: count as u64 });
    let root = n / 3 % members;
    let whole = filled(buffers[2], &mut vec![0; count]);
    match kind_of(n) {
        0 => assert_eq!(finish(shm, StepKind::Barrier, &StepBuffers::NONE), StepResult::Complete),
        1 | 2 => {
            let step_buffers = StepBuffers { from: from.clone(), into: from, ..StepBuffers::NONE };
            assert_eq!(finish(shm, StepKind::Bcast { root }, &step_buffers), StepResult::Complete);
            assert_eq!(values_in(send), contribution(root), "broadcast {n}");
        }
        3 | 4 => {
            let into = if me == root { Buffer::Dense(whole) } else { Buffer::EMPTY };
            assert_eq!(
                finish(shm, StepKind::Reduce { root }, &StepBuffers { from, into, reduce_args, next: Buffer::EMPTY }),
                StepResult::Complete
            );
            if me == root {
                assert_eq!(values_in(whole), total, "reduction {n}");
            }
        }
        5 => {
            let step_buffers = StepBuffers { from: from.clone(), into: from, reduce_args, next };
            assert_eq!(finish(shm, StepKind::Allreduce, &step_buffers), StepResult::Complete);
            assert_eq!(values_in(send), total, "in place {n}");
        }
        _ => {
            let step_buffers = StepBuffers { from, into: Buffer::Dense(whole), reduce_args, next };
            assert_eq!(finish(shm, StepKind::Allreduce, &step_buffers), StepResult::Complete);
            assert_eq!(values_in(whole), total, "allreduce {n}");
        }
    }
}

fn mixture(members: usize, steps: usize, count: usize) {
    mixture_of(hosts(members), steps, count);
}

fn mixture_of(hosts: Vec<ShmCollective>, steps: usize, count: usize) {
    let (reducer, members) = (sum(), hosts.len());
    thread::scope(|scope| {
        for (me, mut shm) in hosts.into_iter().enumerate() {
            let reducer = &reducer;
            scope.spawn(move || {
                let buffers = [(); 3].map(|()| leaked_memory(8 * count));
                for n in 0..steps {
                    if (n + me * 3) % 50 == 0 {
                        thread::yield_now();
                    }
                    mixed_step(&mut shm, reducer, (me, members), n, count, buffers);
                }
            });
        }
    });
}

#[test]
fn short_steps_in_any_mixture_give_the_right_values() {
    for members in [2, 3, 5, 8] {
        mixture(members, 2000, SHORT_BYTES / 8);
    }
}

#[test]
fn long_steps_in_any_mixture_give_the_right_values() {
    for members in [2, 3, 6] {
        mixture(members, 500, 512);
    }
}

/// Far members reduce in the slots, and near ones in their result.
#[test]
fn long_steps_in_any_mixture_give_the_right_values_to_far_members_too() {
    for members in [2, 3, 6] {
        let far = |(me, shm): (usize, ShmCollective)| if me % 3 == 1 { shm } else { shm.among_far() };
        mixture_of(hosts(members).into_iter().enumerate().map(far).collect(), 200, 512);
    }
}

/// Steps after a mismatch have no data, and no load to time.
#[test]
fn steps_without_data_end() {
    let reducer = sum();
    for kind in [StepKind::Reduce { root: 0 }, StepKind::Allreduce] {
        thread::scope(|scope| {
            for mut shm in hosts(2) {
                let reducer = &reducer;
                scope.spawn(move || {
                    let [from, into] = [(); 2].map(|()| Buffer::Dense(leaked_memory(4096)));
                    let datatype = Datatype::basic(Basic::Int64);
                    let reduce_args = Some(ReduceArgs { reducer, datatype, count: 512 });
                    let planned = StepBuffers { from, into, reduce_args, next: Buffer::EMPTY };
                    let (spec, buffers) = without_data(ShmCollective::spec(kind, &planned), planned);
                    for _ in 0..40 {
                        let mut phase = StepPhase::Enter;
                        let result = loop {
                            match shm.poll(&mut phase, &spec, &buffers) {
                                Some(result) => break result,
                                None => thread::yield_now(),
                            }
                        };
                        assert_eq!(result, StepResult::Complete);
                    }
                });
            }
        });
    }
}

/// The data of successive steps use the whole payload area in turn.
#[test]
fn steps_of_a_whole_slot_in_any_mixture_give_the_right_values() {
    for members in [2, 3, 6] {
        let longest = step_bytes(&FlagBlock::private(members));
        mixture(members, 150, longest / 8);
    }
}

/// A flag does not have all bits of a step's number.
#[test]
fn more_steps_than_a_flag_can_count_change_nothing() {
    for members in [2, 3] {
        for most in [1 << 43, 1 << 44] {
            mixture_of(hosts(members).into_iter().map(|shm| shm.after(most - 100)).collect(), 200, 512);
        }
    }
}

#[test]
fn the_fold_is_in_rank_order_and_the_same_for_all() {
    // a op b = 31 a + b is not commutative, and not associative either: only one order gives this result.
    let function = |a: hawser_datatype::UserPtr, b: hawser_datatype::UserPtr, count: i64, _: Handle| {
        let datatype = Datatype::basic(Basic::Int64);
        let (mut x, mut y) = (vec![0u8; 8 * count as usize], vec![0u8; 8 * count as usize]);
        datatype.pack(a, count as u64, 0, &mut x[..]);
        datatype.pack(b, count as u64, 0, &mut y[..]);
        let both: Vec<u8> = values(&x).iter().zip(values(&y)).flat_map(|(a, b)| (31 * a + b).to_ne_bytes()).collect();
        datatype.unpack(b, count as u64, 0, &both[..]);
    };
    let created = crate::ops::UserOp::new(Box::new(function), false, false);
    let reducer =
        Reducer::of(ReduceOp::User(Arc::new(created)), Datatype::basic(Basic::Int64), types::handle_of(Basic::Int64))
            .unwrap();
    for members in [2, 3, 7] {
        let expected = (1..members as i64).fold(0, |left, member| 31 * left + member);
        thread::scope(|scope| {
            for (me, mut shm) in hosts(members).into_iter().enumerate() {
                let reducer = &reducer;
                scope.spawn(move || {
                    let value = leaked_memory(8);
                    for _ in 0..200 {
                        let buffer = Buffer::Dense(filled(value, &mut [me as i64]));
                        let reduce_args =
                            Some(ReduceArgs { reducer, datatype: Datatype::basic(Basic::Int64), count: 1 });
                        let step_buffers =
                            StepBuffers { from: buffer.clone(), into: buffer, reduce_args, next: Buffer::EMPTY };
                        assert_eq!(finish(&mut shm, StepKind::Allreduce, &step_buffers), StepResult::Complete);
                        assert_eq!(values_in(value), [expected]);
                    }
                });
            }
        });
    }
}

#[test]
fn calls_that_do_not_belong_together_are_found_out() {
    let reducer = sum();
    let ended = |members: usize, step: &(dyn Fn(usize) -> (StepKind, usize) + Sync)| -> Vec<StepResult> {
        thread::scope(|scope| {
            let threads: Vec<_> = hosts(members)
                .into_iter()
                .enumerate()
                .map(|(me, mut shm)| {
                    let reducer = &reducer;
                    scope.spawn(move || {
                        let (kind, len) = step(me);
                        let buffer = Buffer::Dense(leaked_memory(len));
                        let datatype = Datatype::basic(Basic::Int64);
                        let reduce_args = Some(ReduceArgs { reducer, datatype, count: len as u64 / 8 });
                        finish(
                            &mut shm,
                            kind,
                            &StepBuffers { from: buffer.clone(), into: buffer, reduce_args, next: Buffer::EMPTY },
                        )
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        })
    };
    use StepResult::{Complete, Mismatch};
    assert_eq!(ended(3, &|me| (StepKind::Allreduce, if me == 1 { 16 } else { 8 })), [Mismatch; 3]);
    assert_eq!(ended(2, &|me| (StepKind::Allreduce, 8 + 8 * me)), [Mismatch; 2]);
    assert_eq!(ended(2, &|me| if me == 0 { (StepKind::Barrier, 0) } else { (StepKind::Allreduce, 8) }), [Mismatch; 2]);
    assert_eq!(ended(3, &|me| (StepKind::Bcast { root: 0 }, 8 * (1 + me / 2))), [Complete, Complete, Mismatch]);
    assert_eq!(ended(3, &|me| (StepKind::Reduce { root: 2 }, 8 + 8 * (me & 1))), [Complete, Complete, Mismatch]);
}

/// The members that need its data notice, that is: the step is complete for the root of a broadcast and for a
/// member that only contributes.
#[test]
fn a_member_whose_data_are_spoilt_gives_none_and_is_found_out() {
    let reducer = sum();
    let ended = |kind: StepKind, len: usize| -> Vec<StepResult> {
        thread::scope(|scope| {
            let start = |(me, mut shm): (usize, ShmCollective)| {
                let reducer = &reducer;
                scope.spawn(move || {
                    let buffer = Buffer::Dense(leaked_memory(len));
                    let datatype = Datatype::basic(Basic::Int64);
                    let reduce_args = Some(ReduceArgs { reducer, datatype, count: len as u64 / 8 });
                    let step_buffers =
                        StepBuffers { from: buffer.clone(), into: buffer, reduce_args, next: Buffer::EMPTY };
                    let spec = ShmCollective::spec(kind, &step_buffers);
                    let (spec, step_buffers) =
                        if me == 1 { without_data(spec, step_buffers) } else { (spec, step_buffers) };
                    let mut phase = StepPhase::Enter;
                    iter::repeat_with(|| shm.poll(&mut phase, &spec, &step_buffers)).flatten().next().unwrap()
                })
            };
            let threads: Vec<_> = hosts(3).into_iter().enumerate().map(start).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    };
    use StepResult::{Complete, Mismatch};
    for len in [8, 4000] {
        assert_eq!(ended(StepKind::Allreduce, len), [Mismatch; 3]);
        assert_eq!(ended(StepKind::Bcast { root: 1 }, len), [Mismatch, Complete, Mismatch]);
        assert_eq!(ended(StepKind::Reduce { root: 0 }, len), [Mismatch, Complete, Complete]);
    }
    // In a barrier a member whose data are missing contributes one byte, which the others notice.
    let mut members = hosts(3);
    let spec = ShmCollective::spec(StepKind::Barrier, &StepBuffers::NONE);
    let (empty_spec, _) = without_data(spec, StepBuffers::NONE);
    let mut phases = [StepPhase::Enter; 3];
    let mut poll = |member: usize, spec: &StepSpec| members[member].poll(&mut phases[member], spec, &StepBuffers::NONE);
    assert_eq!([0, 2].map(|member| poll(member, &spec)), [None; 2]);
    assert_eq!(poll(1, &empty_spec), Some(Complete));
    assert_eq!([0, 2].map(|member| poll(member, &spec)), [Some(Mismatch); 2]);
}

#[test]
fn a_giver_runs_ahead_two_steps_and_no_further() {
    let mut members = hosts(2);
    let buffer = Buffer::Dense(leaked_memory(4));
    let step_buffers = StepBuffers { from: buffer.clone(), into: buffer, ..StepBuffers::NONE };
    let kind = StepKind::Bcast { root: 0 };
    let spec = ShmCollective::spec(kind, &step_buffers);
    let (root, reader) = members.split_at_mut(1);
    let poll = |shm: &mut ShmCollective, phase: &mut StepPhase| shm.poll(phase, &spec, &step_buffers);
    for _ in 0..2 {
        assert_eq!(poll(&mut root[0], &mut StepPhase::Enter.clone()), Some(StepResult::Complete));
    }
    let mut third = StepPhase::Enter;
    assert_eq!(poll(&mut root[0], &mut third), None);
    assert_eq!(poll(&mut reader[0], &mut StepPhase::Enter.clone()), Some(StepResult::Complete));
    assert_eq!(poll(&mut root[0], &mut third), Some(StepResult::Complete));
}

#[test]
fn a_member_that_died_within_a_step_is_lost_to_it_and_one_that_was_through_is_not() {
    for members in [2, 3] {
        let mut hosts = hosts(members);
        let spec = ShmCollective::spec(StepKind::Barrier, &StepBuffers::NONE);
        let mut poll = |member: usize, phase: &mut StepPhase| hosts[member].poll(phase, &spec, &StepBuffers::NONE);
        let mut phases = vec![StepPhase::Enter; members];
        // All but the last are inside, and one of them dies there.
        (0..members - 1).for_each(|member| assert_eq!(poll(member, &mut phases[member]), None));
        assert_eq!(hosts[members - 1].lost_member_among(|member| member == 0), Some(0));
        assert_eq!(hosts[members - 1].lost_member_among(|_| false), None);
        // The next time it dies after the end.
        let mut poll = |member: usize, phase: &mut StepPhase| hosts[member].poll(phase, &spec, &StepBuffers::NONE);
        assert_eq!(poll(members - 1, &mut phases[members - 1]), Some(StepResult::Complete));
        (0..members - 1).for_each(|member| assert_eq!(poll(member, &mut phases[member]), Some(StepResult::Complete)));
        let mut next = StepPhase::Enter;
        assert_eq!(poll(1, &mut next), None);
        assert_eq!(hosts[1].lost_member_among(|member| member == 0), Some(0), "to the next step");
    }
    // A member that only contributes is through at once.
    let mut pair = hosts(2);
    let buffer = Buffer::Dense(leaked_memory(4));
    let step_buffers = StepBuffers { from: buffer.clone(), into: buffer, ..StepBuffers::NONE };
    let spec = ShmCollective::spec(StepKind::Bcast { root: 0 }, &step_buffers);
    assert_eq!(pair[0].poll(&mut StepPhase::Enter.clone(), &spec, &step_buffers), Some(StepResult::Complete));
    assert_eq!(pair[1].lost_member_among(|member| member == 0), None);
    assert_eq!(pair[1].poll(&mut StepPhase::Enter.clone(), &spec, &step_buffers), Some(StepResult::Complete));
}

#[test]
fn the_last_member_to_free_the_communicator_is_told_so() {
    let block = FlagBlock::private(3);
    assert_eq!([(); 3].map(|()| depart(&block, 3)), [false, false, true]);
}

/// `cargo test --release -p hawser-mpi --lib -- --ignored --nocapture host_steps_take`
#[test]
#[ignore = "measures"]
fn host_steps_take_microseconds() {
    const STEPS: usize = 200_000;
    let reducer = sum();
    for (name, kind) in [("barrier", StepKind::Barrier), ("allreduce of 8 bytes", StepKind::Allreduce)] {
        let start = Instant::now();
        thread::scope(|scope| {
            for mut shm in hosts(2) {
                let reducer = &reducer;
                scope.spawn(move || {
                    let buffer = Buffer::Dense(leaked_memory(8));
                    let datatype = Datatype::basic(Basic::Int64);
                    let reduce_args = Some(ReduceArgs { reducer, datatype, count: 1 });
                    let step_buffers =
                        StepBuffers { from: buffer.clone(), into: buffer, reduce_args, next: Buffer::EMPTY };
                    let step_buffers = if kind == StepKind::Barrier { StepBuffers::NONE } else { step_buffers };
                    let spec = ShmCollective::spec(kind, &step_buffers);
                    for _ in 0..STEPS {
                        let mut phase = StepPhase::Enter;
                        while shm.poll(&mut phase, &spec, &step_buffers).is_none() {
                            std::hint::spin_loop();
                        }
                    }
                });
            }
        });
        println!("{name}: {:.3} us", start.elapsed().as_secs_f64() * 1e6 / STEPS as f64);
    }
}

/// The block of rank `from` for rank `to`, where it has one for each.
fn block(from: u32, to: u32) -> i64 {
    i64::from(from * 100 + to)
}

/// One call of `pattern` with blocks of one element: by `EqualBlocks` if `plain`, otherwise by its plan. Returns
/// the receive buffer.
fn exchanged(shm: &mut ShmCollective, pattern: BlockPattern, place: RankAndSize, plain: bool) -> Vec<i64> {
    let RankAndSize { rank, size } = place;
    let [send, recv] = [(); 2].map(|()| SharedMem::of_slice(vec![0; 8 * size as usize].leak()));
    send.write(&bytes(&mut (0..size).map(|to| block(rank, to)).collect::<Vec<_>>()));
    let datatype = Datatype::basic(Basic::Int64);
    let buf = |at: SharedMem<'static>| BufferArg {
        at: UserPtr::over(at, datatype, size.into()),
        count: 1,
        datatype: types::handle_of(Basic::Int64),
    };
    let (from, into) = (buf(send), buf(recv));
    let received = || {
        let mut got = vec![0; 8 * size as usize];
        recv.read(&mut got);
        values(&got)
    };
    let mut phase = StepPhase::Enter;
    if plain {
        let mut blocks = EqualBlocks::of(pattern, place, Some(&from), Some(&into)).expect("short and plain");
        let step = blocks.exchange();
        while shm.poll_exchange(&mut phase, &step, &mut blocks).is_none() {
            thread::yield_now();
        }
        blocks.copy_own_block();
        return received();
    }
    let one = BlockBuffer { count: 1, type_size: 8, dense: true };
    let schedule = planned(pattern, place, one, ScheduleLimits::DEFAULT.shm_step_bytes, false);
    let side = |buf: &BufferArg| UserBuffer::Uniform { at: buf.at, count: 1, datatype: datatype.clone() };
    let mut memory = RunMemory::default();
    (memory.send, memory.recv) = (side(&from), side(&into));
    for round in schedule.rounds() {
        let (step, mut trade) = RoundData::of(round.comms, &mut memory, None).expect("an exchange");
        while shm.poll_exchange(&mut phase, &step, &mut trade).is_none() {
            thread::yield_now();
        }
        for local in round.locals {
            let hawser_coll::LocalStep::Copy { from, into } = local else { unreachable!("no reduction") };
            memory.buffer(from).copy_to(&memory.buffer(into));
        }
    }
    received()
}

#[test]
fn ranks_with_and_without_a_schedule_meet_in_one_exchange() {
    for size in [2, 3, 5] {
        for pattern in [
            BlockPattern::Allgather,
            BlockPattern::Alltoall,
            BlockPattern::Gather { root: 1 },
            BlockPattern::Scatter { root: 1 },
        ] {
            for plain in [0b00000, 0b11111, 0b01010, 0b00101] {
                thread::scope(|scope| {
                    for (rank, mut shm) in (0..).zip(hosts(size as usize)) {
                        scope.spawn(move || {
                            let place = RankAndSize { rank, size };
                            let got = exchanged(&mut shm, pattern, place, plain >> rank & 1 == 1);
                            let wanted: Vec<i64> = match pattern {
                                BlockPattern::Allgather => (0..size).map(|from| block(from, 0)).collect(),
                                BlockPattern::Alltoall => (0..size).map(|from| block(from, rank)).collect(),
                                BlockPattern::Gather { root } if rank == root => {
                                    (0..size).map(|from| block(from, 0)).collect()
                                }
                                BlockPattern::Gather { .. } => return,
                                BlockPattern::Scatter { root } => vec![block(root, rank)],
                            };
                            assert_eq!(got[..wanted.len()], wanted, "{pattern:?}, {size} ranks, rank {rank}");
                        });
                    }
                });
            }
        }
    }
}

/// A member's plan of a call with blocks like `one`, on a host whose steps have up to `limit` bytes.
fn planned(pattern: BlockPattern, place: RankAndSize, one: BlockBuffer, limit: u64, in_place: bool) -> Schedule {
    let all = BlockArray::regular(one.count, one.type_size);
    let call = match pattern {
        BlockPattern::Allgather => CollectiveCall::Allgather { send: one, recv: all, in_place },
        BlockPattern::Alltoall => CollectiveCall::Alltoall { send: all, recv: all, in_place },
        BlockPattern::Gather { root } => CollectiveCall::Gather { root, send: one, recv: all, in_place },
        BlockPattern::Scatter { root } => CollectiveCall::Scatter { root, send: all, recv: one, in_place },
    };
    let tuning = Tuning {
        one_host: true,
        hosts: None,
        model: CostModel::SHARED_MEMORY,
        limits: ScheduleLimits { shm_step_bytes: limit, ..ScheduleLimits::DEFAULT },
        forced: ForcedAlgorithms::NONE,
    };
    let mut schedule = Schedule::new();
    assert_eq!(plan(&call, place, &tuning, &mut schedule), "host");
    schedule
}

/// For every number of ranks and every length that goes without a schedule, a rank that plans the call (its datatype
/// has gaps, or it is a root in place) takes part in the same single exchange. The limits are those of nonblocking
/// calls and of the smallest and a larger block.
#[test]
fn calls_without_a_schedule_are_one_exchange_of_their_plan() {
    let memory = [(); 2].map(|()| SharedMem::of_slice(vec![0; 1 << 16].leak()));
    let datatype = Datatype::basic(Basic::Byte);
    for size in (2..=20).chain([33, 44, 48, 56, 63, 64, 66, 72, 96, 112, 128]) {
        for (bytes, limit) in (1..=512).step_by(3).flat_map(|bytes| [1024, 8192, 12288].map(|limit| (bytes, limit))) {
            for rank in [0, 1, size - 1] {
                let root = 1;
                let patterns = [
                    BlockPattern::Allgather,
                    BlockPattern::Alltoall,
                    BlockPattern::Gather { root },
                    BlockPattern::Scatter { root },
                ];
                for pattern in patterns {
                    let place = RankAndSize { rank, size };
                    let [from, into] = memory.map(|at| BufferArg {
                        at: UserPtr::over(at, datatype, 1 << 16),
                        count: bytes,
                        datatype: types::handle_of(Basic::Byte),
                    });
                    let Some(blocks) = EqualBlocks::of(pattern, place, Some(&from), Some(&into)) else { continue };
                    if u64::from(blocks.send_bytes()) > limit {
                        continue;
                    }
                    for in_place in [false, !pattern.is_rooted() || rank == root] {
                        let one = BlockBuffer { count: bytes as u64, type_size: 1, dense: true };
                        let schedule = planned(pattern, place, one, limit, in_place);
                        let mut memory = RunMemory::default();
                        let context = format!("{pattern:?} of {bytes}, rank {rank} of {size}, {limit}, {in_place}");
                        let exchanges = schedule.rounds().filter(|round| !round.comms.is_empty()).count();
                        assert_eq!(exchanges, 1, "{context}");
                        let round = schedule.rounds().find(|round| !round.comms.is_empty()).unwrap();
                        let (step, data) = RoundData::of(round.comms, &mut memory, None).expect("an exchange");
                        assert_eq!(step, blocks.exchange(), "{context}");
                        for index in 0..size as usize {
                            assert_eq!(data.source(index), blocks.source(index), "{context}");
                        }
                    }
                }
            }
        }
    }
}
