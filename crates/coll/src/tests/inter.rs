//! Between two groups of 1 to 8 ranks each: every collective, every root, every algorithm of the collectives inside.
//!
//! Types have gaps and differ between the ends where the standard lets them; the data of one direction differ from
//! those of the other.

use super::movement::{Plan, TypedPlan, byte, kind, pairs_between, received_from, uneven};
use super::{LIMITS, RankInput, algorithms, hosts, is_shm};
use crate::call::{BlockArray, BlockBuffer, CollectiveCall, IntArray, RankAndSize, ReductionArgs};
use crate::check::{CellLayout, CheckedRank, ExprTable, GAP, Rules, SymbolicCell, SymbolicMemory, UNWRITTEN, run};
use crate::collective::Collective;
use crate::cost_model::CostModel;
use crate::inter::{InterPlace, NO_ROOT, plan_between};
use crate::schedule::Schedule;
use crate::tuning::{ForcedAlgorithms, Tuning};

const MOST: u32 = 8;

/// A rank of one of the two groups.
#[derive(Clone, Copy, Debug)]
struct InterRank {
    place: InterPlace,
    /// Its number.
    number: u32,
    /// Its rank in its group.
    rank: u32,
}

fn ranks(m: u32, n: u32) -> impl Iterator<Item = InterRank> {
    (0..m + n).map(move |number| {
        let first = number < m;
        let (rank, size, remote) = if first { (number, m, n) } else { (number - m, n, m) };
        InterRank { place: InterPlace { local: RankAndSize { rank, size }, remote, first }, number, rank }
    })
}

impl InterRank {
    /// The root argument of this rank: itself, a rank of the other group, or none.
    fn root(self, root: u32) -> u32 {
        let ours = self.place.local_number(0)..self.place.local_number(self.place.local.size);
        if root == self.number || !ours.contains(&root) { root } else { NO_ROOT }
    }
}

/// Tunings with each algorithm forced on the collectives that a call may have inside.
fn tunings(inside: &[Collective]) -> Vec<Tuning<'static>> {
    let tuning = |forced| Tuning { one_host: false, hosts: None, model: CostModel::ETHERNET, limits: LIMITS, forced };
    let mut all = vec![tuning(ForcedAlgorithms::NONE)];
    for &collective in inside {
        let names = algorithms(collective).iter().filter(|&&name| !is_shm(name));
        all.extend(names.map(|name| tuning(ForcedAlgorithms::NONE.with(collective, name).unwrap())));
    }
    all
}

/// Plans and runs a call, for every pair of sizes and with every tuning, and checks what each rank has at the end.
fn plan_and_run<'a>(
    (m, n): (u32, u32),
    tuning: &Tuning,
    expressions: &mut ExprTable,
    mut part: impl FnMut(InterRank) -> RankInput<'a>,
) -> Vec<CheckedRank> {
    // Ranks share hosts, also with ranks of the other group, or nothing is known of that.
    let hosts = hosts(m + n).filter(|_| m * n % 2 == 0 || tuning.forced != ForcedAlgorithms::NONE);
    let tuning = &Tuning { hosts: hosts.as_ref(), ..*tuning };
    let mut calls = Vec::new();
    let mut members: Vec<CheckedRank> = ranks(m, n)
        .map(|at| {
            let RankInput { call, send, recv } = part(at);
            let mut schedule = Schedule::new();
            plan_between(&call, at.place, tuning, &mut schedule);
            calls.push(call);
            CheckedRank { send, recv, schedule }
        })
        .collect();
    let rules = Rules { seed: u64::from(m * 9 + n), shm_step_bytes: 0, cell_bytes: 1 };
    run(&mut members, rules, expressions).unwrap_or_else(|reason| panic!("{m} and {n} ranks: {reason}\n{calls:?}"));
    members
}

fn sizes() -> impl Iterator<Item = (u32, u32)> {
    (1..=MOST).flat_map(|m| (1..=MOST).map(move |n| (m, n)))
}

fn no_part(call: CollectiveCall<'static>) -> RankInput<'static> {
    RankInput { call, send: SymbolicMemory::none(), recv: SymbolicMemory::none() }
}

const NO_DATA: BlockBuffer = BlockBuffer { count: 77, type_size: 77, dense: true };

#[test]
fn barrier_waits_for_everybody() {
    for (m, n) in sizes() {
        for tuning in tunings(&[Collective::Barrier]) {
            let members =
                plan_and_run((m, n), &tuning, &mut ExprTable::default(), |_| no_part(CollectiveCall::Barrier));
            let schedules: Vec<&Schedule> = members.iter().map(|member| &member.schedule).collect();
            assert!(
                received_from(&schedules).iter().all(|&received| received == (1 << (m + n)) - 1),
                "{m} and {n} ranks"
            );
        }
    }
}

#[test]
fn bcast_reaches_the_other_group_alone_from_every_root() {
    for (m, n) in sizes() {
        for tuning in tunings(&[Collective::Bcast]) {
            for (root, pairs) in (0..m + n).flat_map(|root| [0, 1, 40].map(|pairs| (root, pairs))) {
                let members = plan_and_run((m, n), &tuning, &mut ExprTable::default(), |at| {
                    let (root, kind) = (at.root(root), kind(true, at.number));
                    let call =
                        CollectiveCall::Bcast { root, data: if root == NO_ROOT { NO_DATA } else { kind.data(pairs) } };
                    let recv = match root {
                        NO_ROOT => SymbolicMemory::none(),
                        root if root == at.number => kind.filled(pairs, root, 0),
                        _ => kind.blank(pairs, true),
                    };
                    RankInput { call, send: SymbolicMemory::none(), recv }
                });
                for (at, member) in ranks(m, n).zip(members).filter(|(at, _)| at.root(root) != NO_ROOT) {
                    let right = member.recv.cells == kind(true, at.number).filled(pairs, root, 0).cells;
                    assert!(right, "{m} and {n} ranks, root {root}, {pairs} pairs: wrong on {at:?}");
                }
            }
        }
    }
}

/// The sizes of the blocks that the other group of `at` has: equal ones, or some empty.
fn blocks_of(size: u32, regular: bool) -> Vec<u64> {
    if regular { vec![3; size as usize] } else { uneven(size, 5) }
}

#[test]
fn gather_and_gatherv_bring_the_other_groups_blocks_to_every_root() {
    for ((m, n), regular) in sizes().flat_map(|sizes| [(sizes, true), (sizes, false)]) {
        for (tuning, root) in tunings(&[Collective::Gather]).into_iter().flat_map(|t| (0..m + n).map(move |r| (t, r))) {
            let other = if root < m { n } else { m };
            let pairs = blocks_of(other, regular);
            let plan = match regular {
                true => Plan::regular(kind(true, root), other, 3),
                false => Plan::apart(kind(true, root), pairs.clone()),
            };
            let members = plan_and_run((m, n), &tuning, &mut ExprTable::default(), |at| {
                let (mut data, mut blocks) = (NO_DATA, BlockArray::regular(77, 77));
                let (mut send, mut recv) = (SymbolicMemory::none(), SymbolicMemory::none());
                let root = at.root(root);
                if root == at.number {
                    (recv, blocks) = (plan.blank(true), plan.blocks(regular));
                } else if root != NO_ROOT {
                    let (kind, pairs) = (kind(true, at.number), pairs[at.rank as usize]);
                    (send, data) = (kind.filled(pairs, at.rank, root), kind.data(pairs));
                }
                let call = match regular {
                    true => CollectiveCall::Gather { root, send: data, recv: blocks, in_place: false },
                    false => CollectiveCall::Gatherv { root, send: data, recv: blocks, in_place: false },
                };
                RankInput { call, send, recv }
            });
            let mut expected = plan.blank(true);
            (0..other).for_each(|rank| plan.fill(&mut expected, rank, rank, root));
            assert!(members[root as usize].recv.cells == expected.cells, "{m} and {n} ranks, root {root}, {regular}");
        }
    }
}

#[test]
fn scatter_and_scatterv_bring_blocks_from_every_root_to_the_other_group() {
    for ((m, n), regular) in sizes().flat_map(|sizes| [(sizes, true), (sizes, false)]) {
        for (tuning, root) in tunings(&[Collective::Scatter]).into_iter().flat_map(|t| (0..m + n).map(move |r| (t, r)))
        {
            let other = if root < m { n } else { m };
            let pairs = blocks_of(other, regular);
            let plan = match regular {
                true => Plan::regular(kind(true, root), other, 3),
                false => Plan::apart(kind(true, root), pairs.clone()),
            };
            let members = plan_and_run((m, n), &tuning, &mut ExprTable::default(), |at| {
                let (mut data, mut blocks) = (NO_DATA, BlockArray::regular(77, 77));
                let (mut send, mut recv) = (SymbolicMemory::none(), SymbolicMemory::none());
                let root = at.root(root);
                if root == at.number {
                    (send, blocks) = (plan.blank(false), plan.blocks(regular));
                    (0..other).for_each(|rank| plan.fill(&mut send, rank, root, rank));
                } else if root != NO_ROOT {
                    let (kind, pairs) = (kind(true, at.number), pairs[at.rank as usize]);
                    (recv, data) = (kind.blank(pairs, true), kind.data(pairs));
                }
                let call = match regular {
                    true => CollectiveCall::Scatter { root, send: blocks, recv: data, in_place: false },
                    false => CollectiveCall::Scatterv { root, send: blocks, recv: data, in_place: false },
                };
                RankInput { call, send, recv }
            });
            for (at, member) in
                ranks(m, n).zip(members).filter(|(at, _)| ![at.number, NO_ROOT].contains(&at.root(root)))
            {
                let expected = kind(true, at.number).filled(pairs[at.rank as usize], root, at.rank);
                assert!(member.recv.cells == expected.cells, "{m} and {n} ranks, root {root}: wrong on {at:?}");
            }
        }
    }
}

/// The data of a rank of the first group or of the second for all of the other.
fn pairs_of_each(first: bool, size: u32, regular: bool) -> Vec<u64> {
    match (regular, first) {
        (true, _) => vec![if first { 3 } else { 5 }; size as usize],
        (false, true) => uneven(size, 5),
        (false, false) => vec![0; size as usize],
    }
}

#[test]
fn allgather_and_allgatherv_bring_each_groups_blocks_to_all_of_the_other() {
    for ((m, n), regular) in sizes().flat_map(|sizes| [(sizes, true), (sizes, false)]) {
        let plan = |at: InterRank| {
            let kind = kind(true, at.number + 1);
            let pairs = pairs_of_each(!at.place.first, at.place.remote, regular);
            if regular { Plan::regular(kind, at.place.remote, pairs[0]) } else { Plan::apart(kind, pairs) }
        };
        let plans: Vec<Plan> = ranks(m, n).map(plan).collect();
        for tuning in tunings(&[Collective::Allgather]) {
            let members = plan_and_run((m, n), &tuning, &mut ExprTable::default(), |at| {
                let pairs = pairs_of_each(at.place.first, at.place.local.size, regular)[at.rank as usize];
                let (kind, plan) = (kind(true, at.number), &plans[at.number as usize]);
                let (data, blocks) = (kind.data(pairs), plan.blocks(regular));
                let call = match regular {
                    true => CollectiveCall::Allgather { send: data, recv: blocks, in_place: false },
                    false => CollectiveCall::Allgatherv { send: data, recv: blocks, in_place: false },
                };
                RankInput { call, send: kind.filled(pairs, at.rank, 0), recv: plan.blank(true) }
            });
            for (at, (member, plan)) in ranks(m, n).zip(members.iter().zip(&plans)) {
                let mut expected = plan.blank(true);
                (0..at.place.remote).for_each(|from| plan.fill(&mut expected, from, from, 0));
                assert!(member.recv.cells == expected.cells, "{m} and {n} ranks, {regular}: wrong on {at:?}");
            }
        }
    }
}

/// The number of pairs that rank `from` of the first or the second group sends to rank `to` of the other.
fn traffic(first: bool, from: u32, to: u32) -> u64 {
    u64::from(from * to + from + 2 * to + u32::from(first)) % 4
}

#[test]
fn alltoall_and_alltoallv_bring_each_block_to_its_rank_of_the_other_group() {
    for ((m, n), regular) in sizes().flat_map(|sizes| [(sizes, true), (sizes, false)]) {
        let plan = |at: InterRank, is_send: bool| {
            let (first, kind) = (at.place.first, kind(true, at.number + u32::from(is_send)));
            if regular {
                return Plan::regular(kind, at.place.remote, if first == is_send { 2 } else { 3 });
            }
            let pairs = |peer| if is_send { traffic(first, at.rank, peer) } else { traffic(!first, peer, at.rank) };
            Plan::apart(kind, (0..at.place.remote).map(pairs).collect())
        };
        let sends: Vec<Plan> = ranks(m, n).map(|at| plan(at, true)).collect();
        let recvs: Vec<Plan> = ranks(m, n).map(|at| plan(at, false)).collect();
        let members = plan_and_run((m, n), &tunings(&[])[0], &mut ExprTable::default(), |at| {
            let (from, into) = (&sends[at.number as usize], &recvs[at.number as usize]);
            let mut send = from.blank(false);
            (0..at.place.remote).for_each(|to| from.fill(&mut send, to, at.rank, to));
            let (outgoing, incoming) = (from.blocks(regular), into.blocks(regular));
            let call = match regular {
                true => CollectiveCall::Alltoall { send: outgoing, recv: incoming, in_place: false },
                false => CollectiveCall::Alltoallv { send: outgoing, recv: incoming, in_place: false },
            };
            RankInput { call, send, recv: into.blank(true) }
        });
        for (at, (member, plan)) in ranks(m, n).zip(members.iter().zip(&recvs)) {
            let mut expected = plan.blank(true);
            (0..at.place.remote).for_each(|from| plan.fill(&mut expected, from, from, at.rank));
            assert!(member.recv.cells == expected.cells, "{m} and {n} ranks, {regular}: wrong on {at:?}");
        }
    }
}

#[test]
fn alltoallw_takes_a_type_for_every_rank_of_the_other_group() {
    for (m, n) in sizes() {
        let pairs = |at: &InterRank| (0..at.place.remote).map(|peer| pairs_between(at.rank, peer)).collect();
        let plans = |salt| ranks(m, n).map(|at| TypedPlan::new(at.rank * 2 + salt, pairs(&at))).collect::<Vec<_>>();
        let (sends, recvs) = (plans(0), plans(1));
        let members = plan_and_run((m, n), &tunings(&[])[0], &mut ExprTable::default(), |at| {
            let (from, into) = (&sends[at.number as usize], &recvs[at.number as usize]);
            let call = CollectiveCall::Alltoallw { send: from.blocks(), recv: into.blocks(), in_place: false };
            let send = from.memory(false, |peer, i| byte(at.rank, peer, i));
            RankInput { call, send, recv: into.memory(true, |_, _| UNWRITTEN) }
        });
        for (at, member) in ranks(m, n).zip(members) {
            let expected = recvs[at.number as usize].memory(true, |peer, i| byte(peer, at.rank, i));
            assert!(member.recv.cells == expected.cells, "{m} and {n} ranks: wrong on {at:?}");
        }
    }
}

/// Elements with a gap behind each, or without; a byte each, since what scatters them cuts bytes.
const LAYOUTS: [CellLayout; 2] = [CellLayout::CELL, CellLayout { size: 1, extent: 2 }];

fn elements(layout: CellLayout, count: u64, writable: bool, cell: impl Fn(u64) -> SymbolicCell) -> SymbolicMemory {
    let cells = (0..count).flat_map(|i| (0..layout.extent).map(move |at| (i, at)));
    SymbolicMemory::new(cells.map(|(i, at)| if at == 0 { cell(i) } else { GAP }), layout, writable)
}

/// Operands are numbered as ranks of their own group; the second group's elements have numbers of their own.
fn input(at: InterRank, layout: CellLayout, count: u64) -> SymbolicMemory {
    elements(layout, count, false, |i| ExprTable::leaf(at.rank, i + origin(at.place.first)))
}

fn origin(first: bool) -> u64 {
    if first { 0 } else { 1 << 20 }
}

fn blank(layout: CellLayout, count: u64) -> SymbolicMemory {
    elements(layout, count, true, |_| UNWRITTEN)
}

/// `cells` are the elements from `first` on, reduced over the other group.
fn expect(
    expressions: &ExprTable,
    member: &CheckedRank,
    layout: CellLayout,
    first: u64,
    at: InterRank,
    in_order: bool,
) {
    for (i, &cell) in (first..).zip(member.recv.cells.iter().step_by(layout.extent)) {
        let found = expressions.check(cell, i + origin(!at.place.first), at.place.remote, in_order);
        found
            .unwrap_or_else(|reason| panic!("{} and {} ranks, {at:?}: {reason}", at.place.local.size, at.place.remote));
    }
}

fn reductions(
    inside: &[Collective],
    mut case: impl FnMut((u32, u32), &Tuning, CellLayout, ReductionArgs, &mut ExprTable),
) {
    for (m, n) in sizes() {
        let mut expressions = ExprTable::default();
        for tuning in tunings(inside) {
            for (layout, commutative) in LAYOUTS.into_iter().flat_map(|l| [(l, true), (l, false)]) {
                for count in [0, 1, 5, 24] {
                    let dense = layout.is_dense();
                    let data = ReductionArgs { count, type_size: 1, dense, commutative, in_place: false };
                    case((m, n), &tuning, layout, data, &mut expressions);
                }
            }
        }
    }
}

#[test]
fn reduce_brings_the_other_groups_result_to_every_root() {
    reductions(&[Collective::Reduce], |(m, n), tuning, layout, data, expressions| {
        for root in 0..m + n {
            let members = plan_and_run((m, n), tuning, expressions, |at| match at.root(root) {
                NO_ROOT => no_part(CollectiveCall::Reduce { root: NO_ROOT, data: ReductionArgs { count: 77, ..data } }),
                root if root == at.number => {
                    let recv = blank(layout, data.count);
                    RankInput { call: CollectiveCall::Reduce { root, data }, send: SymbolicMemory::none(), recv }
                }
                root => {
                    let send = input(at, layout, data.count);
                    let recv = SymbolicMemory::new(Vec::new(), layout, false);
                    RankInput { call: CollectiveCall::Reduce { root, data }, send, recv }
                }
            });
            let at = ranks(m, n).nth(root as usize).unwrap();
            expect(expressions, &members[root as usize], layout, 0, at, !data.commutative);
        }
    });
}

#[test]
fn allreduce_gives_each_group_the_others_result_the_same_on_all() {
    reductions(&[Collective::Allreduce, Collective::Bcast], |(m, n), tuning, layout, data, expressions| {
        let members = plan_and_run((m, n), tuning, expressions, |at| {
            let (send, recv) = (input(at, layout, data.count), blank(layout, data.count));
            RankInput { call: CollectiveCall::Allreduce(data), send, recv }
        });
        for (at, member) in ranks(m, n).zip(&members) {
            expect(expressions, member, layout, 0, at, !data.commutative);
            let same = &members[at.place.local_number(0) as usize].recv.cells;
            assert!(member.recv.cells == *same, "{m} and {n} ranks: results differ on {at:?}");
        }
    });
}

#[test]
fn reduce_scatter_block_scatters_the_other_groups_result() {
    reductions(&[Collective::Reduce, Collective::Scatter], |(m, n), tuning, layout, data, expressions| {
        // Both groups bring the same number of elements.
        let total = u64::from(m * n) * data.count.min(3);
        let members = plan_and_run((m, n), tuning, expressions, |at| {
            let count = total / u64::from(at.place.local.size);
            let call = CollectiveCall::ReduceScatterBlock(ReductionArgs { count, ..data });
            RankInput { call, send: input(at, layout, total), recv: blank(layout, count) }
        });
        for (at, member) in ranks(m, n).zip(&members) {
            let count = total / u64::from(at.place.local.size);
            expect(expressions, member, layout, count * u64::from(at.rank), at, !data.commutative);
        }
    });
}

#[test]
fn reduce_scatter_takes_blocks_of_any_sizes() {
    /// Blocks of a group of `size` ranks, `total` elements together, some empty.
    fn cut(size: u32, total: u64) -> Vec<i32> {
        let (mut blocks, mut rest) = (Vec::new(), total as i32);
        for i in 1..size as i32 {
            blocks.push((i * 3 % 5).min(rest));
            rest -= blocks[i as usize - 1];
        }
        blocks.push(rest);
        blocks
    }
    reductions(&[Collective::Reduce], |(m, n), tuning, layout, data, expressions| {
        let counts = [cut(m, data.count), cut(n, data.count)];
        let own = |at: InterRank| &counts[usize::from(!at.place.first)];
        let members = plan_and_run((m, n), tuning, expressions, |at| {
            let call = CollectiveCall::ReduceScatter { counts: IntArray::Int(own(at)), data };
            let recv = blank(layout, own(at)[at.rank as usize] as u64);
            RankInput { call, send: input(at, layout, data.count), recv }
        });
        for (at, member) in ranks(m, n).zip(&members) {
            let first: i32 = own(at)[..at.rank as usize].iter().sum();
            expect(expressions, member, layout, first as u64, at, !data.commutative);
        }
    });
}
