//! Reductions: each element's expression is over the right operands, in rank order where it must be, and
//! for MPI_Allreduce the same on all ranks, in place or not, however messages interleave.

use super::{LARGEST, LIMITS, Part, algorithms, counts, fits, forced, play};
use crate::call::{Call, Ints, Reduction};
use crate::check::{Cell, Layout, Member, Memory, Terms, UNWRITTEN};
use crate::select::Collective;

/// Bytes of an element.
const ELEMENT: u64 = 8;

fn reduction(count: u64, commutative: bool, in_place: bool) -> Reduction {
    Reduction { count, type_size: ELEMENT, dense: true, commutative, in_place }
}

fn operand(rank: u32, count: u64) -> Vec<Cell> {
    (0..count).map(|element| Terms::leaf(rank, element)).collect()
}

/// A rank's part in a reduction of `count` elements whose result has `result` elements.
fn part(call: Call<'_>, rank: u32, count: u64, result: u64, in_place: bool) -> Part<'_> {
    let input = Memory::new(operand(rank, count), Layout::CELL, in_place);
    if in_place {
        return Part { call, send: Memory::none(), recv: input };
    }
    Part { call, send: input, recv: Memory::new(vec![UNWRITTEN; result as usize], Layout::CELL, true) }
}

/// All elements from `first` on, reduced over the ranks below `end`.
fn expect(terms: &Terms, cells: &[Cell], first: u64, end: u32, in_order: bool, what: &str) {
    for (i, &cell) in cells.iter().enumerate() {
        terms.check(cell, first + i as u64, end, in_order).unwrap_or_else(|why| panic!("{what}: {why}"));
    }
}

fn both_ways(mut case: impl FnMut(bool, bool)) {
    for commutative in [true, false] {
        for in_place in [false, true] {
            case(commutative, in_place);
        }
    }
}

#[test]
fn allreduce_gives_the_same_expression_everywhere_and_every_time() {
    for &name in algorithms(Collective::Allreduce) {
        let tuning = forced(Collective::Allreduce, name);
        for size in 1..=LARGEST {
            let mut terms = Terms::default();
            for count in counts(size) {
                // Where the operation commutes two levels may take other parts.
                let mut firsts: [Option<Vec<Cell>>; 2] = [None, None];
                let mut seed = u64::from(size) + count;
                both_ways(|commutative, in_place| {
                    seed += 1;
                    let call = Call::Allreduce(reduction(count, commutative, in_place));
                    let ranks = play(size, &tuning, name, ELEMENT, seed, &mut terms, |rank| {
                        part(call, rank, count, count, in_place)
                    });
                    let Some(ranks) = ranks else {
                        return assert!(!fits(name, size, !commutative) || name == "ring" && !commutative);
                    };
                    let what = format!("allreduce {name}, {size} ranks, {count} elements");
                    let first = &mut firsts[usize::from(commutative && name == "two_level")];
                    let result = first.get_or_insert_with(|| {
                        expect(
                            &terms,
                            &ranks[0].recv.cells,
                            0,
                            size,
                            !commutative || !["ring", "two_level"].contains(&name),
                            &what,
                        );
                        ranks[0].recv.cells.clone()
                    });
                    assert!(ranks.iter().all(|rank| rank.recv.cells == *result), "{what}: results differ");
                });
            }
        }
    }
}

fn reduce_matrix(name: &str) {
    let tuning = forced(Collective::Reduce, name);
    for size in 1..=LARGEST {
        let mut terms = Terms::default();
        for root in 0..size {
            // The longest vectors only at roots that differ in kind.
            let long = [0, 1, size / 2, size - 1].contains(&root);
            for count in counts(size).into_iter().filter(|&count| long || count < 1000) {
                both_ways(|commutative, in_place| {
                    reduce_case(name, &tuning, size, root, count, commutative, in_place, &mut terms)
                });
            }
        }
    }
}

#[allow(clippy::too_many_arguments)]
fn reduce_case(
    name: &str,
    tuning: &crate::Tuning,
    size: u32,
    root: u32,
    count: u64,
    commutative: bool,
    in_place: bool,
    terms: &mut Terms,
) {
    let seed = u64::from(size * 64 + root) + count;
    let ranks = play(size, tuning, name, ELEMENT, seed, terms, |rank| {
        let at_root = rank == root;
        let call = Call::Reduce { root, data: reduction(count, commutative, in_place && at_root) };
        let mut part = part(call, rank, count, count, in_place && at_root);
        if !at_root {
            part.recv = Memory::none();
        }
        part
    });
    let Some(ranks) = ranks else { return assert!(!fits(name, size, !commutative)) };
    let what = format!("reduce {name}, {size} ranks, root {root}, {count} elements");
    expect(terms, &ranks[root as usize].recv.cells, 0, size, !commutative, &what);
}

#[test]
fn reduce_binomial() {
    reduce_matrix("binomial");
}

#[test]
fn reduce_rabenseifner() {
    reduce_matrix("rabenseifner");
}

#[test]
fn reduce_two_level() {
    reduce_matrix("two_level");
}

#[test]
fn reduce_on_one_host() {
    reduce_matrix("host");
}

#[test]
fn reduce_has_no_other_algorithm() {
    assert_eq!(algorithms(Collective::Reduce), ["host", "rabenseifner", "two_level", "binomial"]);
}

/// Scan and exscan: `prefix(rank)` operands count on a rank.
fn prefix_matrix(collective: Collective, call: fn(Reduction) -> Call<'static>, prefix: fn(u32) -> u32) {
    for &name in algorithms(collective) {
        let tuning = forced(collective, name);
        for size in 1..=LARGEST {
            let mut terms = Terms::default();
            for count in counts(size) {
                both_ways(|commutative, in_place| {
                    let call = call(reduction(count, commutative, in_place));
                    let seed = u64::from(size) * 3 + count;
                    let ranks = play(size, &tuning, name, ELEMENT, seed, &mut terms, |rank| {
                        part(call, rank, count, count, in_place)
                    });
                    let has_room = name != "host" || count * ELEMENT <= LIMITS.host_bytes;
                    let Some(ranks) = ranks else { return assert!(!fits(name, size, true) || !has_room) };
                    for (rank, member) in (0..).zip(ranks) {
                        let what = format!("{collective:?} {name}, {size} ranks, rank {rank}, {count} elements");
                        if prefix(rank) > 0 {
                            expect(&terms, &member.recv.cells, 0, prefix(rank), true, &what);
                        } else {
                            assert_eq!(member.recv.cells, untouched(count, in_place), "{what}");
                        }
                    }
                });
            }
        }
    }
}

/// What rank 0 of an exscan has in its receive buffer, before and after.
fn untouched(count: u64, in_place: bool) -> Vec<Cell> {
    if in_place { operand(0, count) } else { vec![UNWRITTEN; count as usize] }
}

#[test]
fn scan_gives_every_prefix_in_order() {
    prefix_matrix(Collective::Scan, Call::Scan, |rank| rank + 1);
}

#[test]
fn exscan_gives_every_prefix_without_the_last_and_leaves_rank_0_alone() {
    prefix_matrix(Collective::Exscan, Call::Exscan, |rank| rank);
}

/// `counts` of the blocks; `call` for their sum.
fn reduce_scatter_case(
    name: &str,
    size: u32,
    blocks: &[u64],
    call: &dyn Fn(Reduction) -> Call<'static>,
    terms: &mut Terms,
) {
    let tuning = forced(Collective::ReduceScatter, name);
    let total: u64 = blocks.iter().sum();
    both_ways(|commutative, in_place| {
        let call = call(reduction(blocks[0], commutative, in_place));
        let ranks = play(size, &tuning, name, ELEMENT, u64::from(size) + total, terms, |rank| {
            part(call, rank, total, blocks[rank as usize], in_place)
        });
        let Some(ranks) = ranks else {
            let is_one_slot = total * ELEMENT <= LIMITS.host_bytes;
            return assert!(match name {
                "recursive_halving" => !commutative,
                "host_parts" => size == 1 || !is_one_slot,
                _ => !fits(name, size, true),
            });
        };
        let mut first = 0;
        for (rank, (member, &count)) in ranks.iter().zip(blocks).enumerate() {
            let what = format!("reduce_scatter {name}, {size} ranks, rank {rank}, {blocks:?}");
            expect_block(terms, member, first, count, size, !commutative, &what);
            first += count;
        }
    });
}

fn expect_block(terms: &Terms, member: &Member, first: u64, count: u64, size: u32, in_order: bool, what: &str) {
    expect(terms, &member.recv.cells[..count as usize], first, size, in_order, what);
}

#[test]
fn reduce_scatter_block_gives_every_rank_its_block() {
    for &name in algorithms(Collective::ReduceScatter) {
        for size in 1..=LARGEST {
            let mut terms = Terms::default();
            // A thousand elements a block at a few sizes: the vector has size times as many.
            for count in counts(size).into_iter().filter(|&c| c < 1000 || size % 32 == 3) {
                reduce_scatter_case(name, size, &vec![count; size as usize], &Call::ReduceScatterBlock, &mut terms);
            }
        }
    }
}

#[test]
fn reduce_scatter_takes_blocks_of_any_sizes() {
    for &name in algorithms(Collective::ReduceScatter) {
        for size in 1..=LARGEST {
            let mut terms = Terms::default();
            for spread in [1, 3, 7] {
                let blocks: Vec<u64> = (0..u64::from(size)).map(|i| i * 5 % (spread + 1)).collect();
                // The array must outlive the calls of this test alone: a leak of a few bytes spares a lifetime.
                let counts: &'static [i64] = blocks.iter().map(|&c| c as i64).collect::<Vec<_>>().leak();
                let call = |data| Call::ReduceScatter { counts: Ints::Count(counts), data };
                reduce_scatter_case(name, size, &blocks, &call, &mut terms);
            }
        }
    }
}
