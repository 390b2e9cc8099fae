//! Reductions: each element's expression is over the right operands, in rank order where it must be, and
//! for MPI_Allreduce the same on all ranks, in place or not, however messages interleave.

use super::{LARGEST, LIMITS, RankInput, algorithms, counts, fits, forced, is_shm, plan_and_run};
use crate::call::{CollectiveCall, IntArray, ReductionArgs};
use crate::check::{CellLayout, CheckedRank, ExprTable, GAP, SymbolicCell, SymbolicMemory, UNWRITTEN};
use crate::collective::Collective;
use std::iter::repeat_n;
use std::ops::RangeInclusive;

/// Bytes of an element.
const ELEMENT: u64 = 8;

/// The kind of a reduction, but for its length.
#[derive(Clone, Copy)]
struct ReductionCase {
    commutative: bool,
    in_place: bool,
    /// The layout of an element, with a gap behind it or without.
    layout: CellLayout,
}

impl ReductionCase {
    fn args(self, count: u64) -> ReductionArgs {
        let ReductionCase { commutative, in_place, layout } = self;
        ReductionArgs { count, type_size: ELEMENT, dense: layout.is_dense(), commutative, in_place }
    }

    /// Tells whether an algorithm may be left out for it: shm steps do not carry gaps.
    fn is_left_out(self, name: &str, size: u32, needs_order: bool) -> bool {
        !fits(name, size, needs_order) || is_shm(name) && !self.layout.is_dense()
    }
}

/// The operand in memory of that layout; gaps hold values that no step may touch.
fn operand(rank: u32, count: u64, layout: CellLayout, writable: bool) -> SymbolicMemory {
    let elements = (0..count).map(|element| ExprTable::leaf(rank, element));
    if layout.is_dense() {
        return SymbolicMemory::new(elements, layout, writable);
    }
    let mut memory = SymbolicMemory::new(repeat_n(GAP, count as usize * layout.extent), layout, writable);
    memory.cells.iter_mut().step_by(layout.extent).zip(elements).for_each(|(cell, element)| *cell = element);
    memory
}

fn blank(count: u64, layout: CellLayout) -> SymbolicMemory {
    let filling = if layout.is_dense() { UNWRITTEN } else { GAP };
    let mut memory = SymbolicMemory::new(repeat_n(filling, count as usize * layout.extent), layout, true);
    if !layout.is_dense() {
        memory.cells.iter_mut().step_by(layout.extent).for_each(|cell| *cell = UNWRITTEN);
    }
    memory
}

/// A rank's part in a reduction of `count` elements whose result has `result` elements.
fn part(call: CollectiveCall<'_>, rank: u32, count: u64, result: u64, case: ReductionCase) -> RankInput<'_> {
    let input = operand(rank, count, case.layout, case.in_place);
    if case.in_place {
        return RankInput { call, send: SymbolicMemory::none(), recv: input };
    }
    RankInput { call, send: input, recv: blank(result, case.layout) }
}

/// All elements from `first` on, reduced over the ranks below `end`; gaps are as they were.
fn expect(
    expressions: &ExprTable,
    memory: &SymbolicMemory,
    first: u64,
    end: u32,
    in_order: bool,
    what: &dyn Fn() -> String,
) {
    expect_cells(expressions, &memory.cells, memory.layout, first, end, in_order, what);
}

fn expect_cells(
    expressions: &ExprTable,
    cells: &[SymbolicCell],
    layout: CellLayout,
    first: u64,
    end: u32,
    in_order: bool,
    what: &dyn Fn() -> String,
) {
    for (i, element) in cells.chunks(layout.extent).enumerate() {
        expressions
            .check(element[0], first + i as u64, end, in_order)
            .unwrap_or_else(|reason| panic!("{}: {reason}", what()));
        assert!(element[1..].iter().all(|&cell| cell == GAP), "{}: a gap was written", what());
    }
}

fn elements(memory: &SymbolicMemory) -> impl Iterator<Item = &SymbolicCell> {
    memory.cells.iter().step_by(memory.layout.extent)
}

/// The longest vectors without gaps alone.
fn in_all_cases(count: u64, mut case: impl FnMut(ReductionCase)) {
    let layouts = [CellLayout::CELL, CellLayout { size: 1, extent: 2 }];
    for &layout in &layouts[..if count < 1000 { 2 } else { 1 }] {
        for commutative in [true, false] {
            for in_place in [false, true] {
                case(ReductionCase { commutative, in_place, layout });
            }
        }
    }
}

#[test]
fn allreduce_gives_the_same_expression_everywhere_and_every_time() {
    for &name in algorithms(Collective::Allreduce) {
        let tuning = forced(Collective::Allreduce, name);
        for size in 1..=LARGEST {
            let mut expressions = ExprTable::default();
            for count in counts(size) {
                // If the operation commutes two levels may take other parts.
                let mut firsts: [Option<Vec<SymbolicCell>>; 2] = [None, None];
                let mut seed = u64::from(size) + count;
                in_all_cases(count, |case| {
                    let commutative = case.commutative;
                    seed += 1;
                    let call = CollectiveCall::Allreduce(case.args(count));
                    let ranks = plan_and_run(size, &tuning, name, ELEMENT, seed, &mut expressions, |rank| {
                        part(call, rank, count, count, case)
                    });
                    let Some(ranks) = ranks else {
                        let left_out = case.is_left_out(name, size, !commutative);
                        return assert!(left_out || name == "ring" && !commutative);
                    };
                    let first = &mut firsts[usize::from(commutative && name == "two_level")];
                    let in_order = !commutative || !["ring", "two_level"].contains(&name);
                    let what = || format!("allreduce {name}, {size} ranks, {count} elements");
                    expect(&expressions, &ranks[0].recv, 0, size, in_order, &what);
                    let result = first.get_or_insert_with(|| elements(&ranks[0].recv).copied().collect());
                    assert!(
                        ranks.iter().all(|rank| elements(&rank.recv).eq(result.iter())),
                        "{}: results differ",
                        what()
                    );
                });
            }
        }
    }
}

fn reduce_matrix(name: &str, sizes: RangeInclusive<u32>) {
    let tuning = forced(Collective::Reduce, name);
    for size in sizes {
        let mut expressions = ExprTable::default();
        for root in 0..size {
            // The longest vectors only at roots that differ in kind.
            let long = [0, 1, size / 2, size - 1].contains(&root);
            for count in counts(size).into_iter().filter(|&count| long || count < 1000) {
                in_all_cases(count, |case| reduce_case(name, &tuning, size, root, count, case, &mut expressions));
            }
        }
    }
}

fn reduce_case(
    name: &str,
    tuning: &crate::Tuning,
    size: u32,
    root: u32,
    count: u64,
    case: ReductionCase,
    expressions: &mut ExprTable,
) {
    let seed = u64::from(size * 64 + root) + count;
    let ranks = plan_and_run(size, tuning, name, ELEMENT, seed, expressions, |rank| {
        let at_root = rank == root;
        let case = ReductionCase { in_place: case.in_place && at_root, ..case };
        let mut part = part(CollectiveCall::Reduce { root, data: case.args(count) }, rank, count, count, case);
        if !at_root {
            part.recv = SymbolicMemory::none();
        }
        part
    });
    let Some(ranks) = ranks else { return assert!(case.is_left_out(name, size, !case.commutative)) };
    let what = || format!("reduce {name}, {size} ranks, root {root}, {count} elements");
    expect(expressions, &ranks[root as usize].recv, 0, size, !case.commutative, &what);
}

#[test]
fn reduce_binomial() {
    reduce_matrix("binomial", 1..=LARGEST);
}

#[test]
fn reduce_rabenseifner_of_few() {
    reduce_matrix("rabenseifner", 1..=48);
}

/// The longest test of the crate, in two halves for two cores.
#[test]
fn reduce_rabenseifner_of_many() {
    reduce_matrix("rabenseifner", 49..=LARGEST);
}

#[test]
fn reduce_two_level() {
    reduce_matrix("two_level", 1..=LARGEST);
}

#[test]
fn reduce_on_one_host() {
    reduce_matrix("host", 1..=LARGEST);
}

#[test]
fn reduce_has_no_other_algorithm() {
    assert_eq!(algorithms(Collective::Reduce), ["host", "rabenseifner", "two_level", "binomial"]);
}

/// Scan and exscan: `prefix(rank)` operands count on a rank.
fn prefix_matrix(collective: Collective, call: fn(ReductionArgs) -> CollectiveCall<'static>, prefix: fn(u32) -> u32) {
    for &name in algorithms(collective) {
        let tuning = forced(collective, name);
        for size in 1..=LARGEST {
            let mut expressions = ExprTable::default();
            for count in counts(size) {
                in_all_cases(count, |case| {
                    let call = call(case.args(count));
                    let seed = u64::from(size) * 3 + count;
                    let ranks = plan_and_run(size, &tuning, name, ELEMENT, seed, &mut expressions, |rank| {
                        part(call, rank, count, count, case)
                    });
                    let has_room = name != "host" || count * ELEMENT <= LIMITS.shm_step_bytes;
                    let Some(ranks) = ranks else { return assert!(case.is_left_out(name, size, true) || !has_room) };
                    for (rank, member) in (0..).zip(ranks) {
                        let what = || format!("{collective:?} {name}, {size} ranks, rank {rank}, {count} elements");
                        if prefix(rank) > 0 {
                            expect(&expressions, &member.recv, 0, prefix(rank), true, &what);
                        } else {
                            assert_eq!(member.recv.cells, untouched(count, case).cells, "{}", what());
                        }
                    }
                });
            }
        }
    }
}

/// The receive buffer of rank 0 of an exscan, before and after.
fn untouched(count: u64, case: ReductionCase) -> SymbolicMemory {
    if case.in_place { operand(0, count, case.layout, true) } else { blank(count, case.layout) }
}

#[test]
fn scan_gives_every_prefix_in_order() {
    prefix_matrix(Collective::Scan, CollectiveCall::Scan, |rank| rank + 1);
}

#[test]
fn exscan_gives_every_prefix_without_the_last_and_leaves_rank_0_alone() {
    prefix_matrix(Collective::Exscan, CollectiveCall::Exscan, |rank| rank);
}

/// `counts` of the blocks; `call` for their sum.
fn reduce_scatter_case(
    name: &str,
    size: u32,
    blocks: &[u64],
    call: &dyn Fn(ReductionArgs) -> CollectiveCall<'static>,
    expressions: &mut ExprTable,
) {
    let tuning = forced(Collective::ReduceScatter, name);
    let total: u64 = blocks.iter().sum();
    in_all_cases(total, |case| {
        let call = call(case.args(blocks[0]));
        let ranks = plan_and_run(size, &tuning, name, ELEMENT, u64::from(size) + total, expressions, |rank| {
            part(call, rank, total, blocks[rank as usize], case)
        });
        let Some(ranks) = ranks else {
            let is_one_slot = total * ELEMENT <= LIMITS.shm_step_bytes;
            let left_out = match name {
                "recursive_halving" => !case.commutative,
                "host_parts" => !is_one_slot,
                _ => false,
            };
            return assert!(left_out || case.is_left_out(name, size, true));
        };
        let mut first = 0;
        for (rank, (member, &count)) in ranks.iter().zip(blocks).enumerate() {
            let what = || format!("reduce_scatter {name}, {size} ranks, rank {rank}, {blocks:?}");
            expect_block(expressions, member, first, count, size, !case.commutative, &what);
            first += count;
        }
    });
}

fn expect_block(
    expressions: &ExprTable,
    member: &CheckedRank,
    first: u64,
    count: u64,
    size: u32,
    in_order: bool,
    what: &dyn Fn() -> String,
) {
    // In place the rest of the operand is behind it.
    let (layout, cells) = (member.recv.layout, &member.recv.cells);
    expect_cells(expressions, &cells[..count as usize * layout.extent], layout, first, size, in_order, what);
}

#[test]
fn reduce_scatter_block_gives_every_rank_its_block() {
    for &name in algorithms(Collective::ReduceScatter) {
        for size in 1..=LARGEST {
            let mut expressions = ExprTable::default();
            // A thousand elements a block at a few sizes: the vector has size times as many.
            for count in counts(size).into_iter().filter(|&c| c < 1000 || size % 32 == 3) {
                reduce_scatter_case(
                    name,
                    size,
                    &vec![count; size as usize],
                    &CollectiveCall::ReduceScatterBlock,
                    &mut expressions,
                );
            }
        }
    }
}

#[test]
fn reduce_scatter_takes_blocks_of_any_sizes() {
    for &name in algorithms(Collective::ReduceScatter) {
        for size in 1..=LARGEST {
            let mut expressions = ExprTable::default();
            for spread in [1, 3, 7] {
                let blocks: Vec<u64> = (0..u64::from(size)).map(|i| i * 5 % (spread + 1)).collect();
                // The array must outlive the calls of this test alone: a leak of a few bytes spares a lifetime.
                let counts: &'static [i64] = blocks.iter().map(|&c| c as i64).collect::<Vec<_>>().leak();
                let call = |data| CollectiveCall::ReduceScatter { counts: IntArray::Count(counts), data };
                reduce_scatter_case(name, size, &blocks, &call, &mut expressions);
            }
        }
    }
}
