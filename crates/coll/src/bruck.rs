//! Bruck's exchange of all ranks with all in ⌈log2 p⌉ rounds (Bruck et al. 1997), for MPI_Alltoall, -v and -w.
//!
//! Block i is on its way to the rank i ahead of where it started; in round k all blocks whose i has bit k move 2^k
//! ranks ahead. Blocks of unlike lengths take two passes: first their lengths, as blocks of a word, then the blocks
//! themselves (two-phase Bruck: Fan et al., HPDC 2022), but for those longer than `Limits::via_bytes`, which are sent
//! directly afterwards.
//!
//! Used by `alltoall`; uses `schedule`.

use crate::alltoall::Args;
use crate::call::Place;
use crate::edges::Edges;
use crate::schedule::{Buffer, Schedule, Span, WORD};
use crate::tuning::Tuning;

/// Block i of the scratch memory is the one with that number.
pub(crate) fn of_equal(args: &Args, place: Place, s: &mut Schedule) {
    let (size, each) = (place.size, args.recv.bytes(0));
    let (from, input) = if args.in_place { (args.recv, Buffer::Recv) } else { (args.send, Buffer::Send) };
    let blocks = s.scratch_bytes(each * u64::from(size));
    let span =
        |buffer: Buffer, first: u32, count: u32| Span::bytes(buffer, each * u64::from(first), each * u64::from(count));
    let above = size - place.rank;
    s.copy(from.run(input, place.rank, above), span(blocks, 0, above));
    s.copy(from.run(input, 0, place.rank), span(blocks, above, place.rank));

    // No round moves more blocks than this: of every aligned pair of runs one moves.
    let most = size.next_power_of_two() / 2;
    let (leave, arrive) = (s.scratch_bytes(each * u64::from(most)), s.scratch_bytes(each * u64::from(most)));
    bits(size).for_each(|bit| round(bit, place, [blocks, leave, arrive], 0, span, s));
    for i in 0..size {
        s.copy(span(blocks, i, 1), args.recv.span(Buffer::Recv, place.before(i)));
    }
}

/// The round of `bit`; `span` makes the span of a number of equal blocks of a buffer, from one on. Blocks that arrive
/// are also in `arrive`, from block `at` on.
fn round(
    bit: u32,
    place: Place,
    [blocks, leave, arrive]: [Buffer; 3],
    at: u32,
    span: impl Fn(Buffer, u32, u32) -> Span,
    s: &mut Schedule,
) {
    let mut moved = 0;
    for (first, count) in runs(bit, place.size) {
        s.copy(span(blocks, first, count), span(leave, moved, count));
        moved += count;
    }
    s.send(place.after(bit), span(leave, 0, moved));
    s.recv(place.before(bit), span(arrive, at, moved));
    let mut at = at;
    for (first, count) in runs(bit, place.size) {
        s.copy(span(arrive, at, count), span(blocks, first, count));
        at += count;
    }
}

/// The runs of numbers below `size` that have `bit` set: (first, length).
fn runs(bit: u32, size: u32) -> impl Iterator<Item = (u32, u32)> {
    (bit..size).step_by(2 * bit as usize).map(move |first| (first, bit.min(size - first)))
}

/// Blocks of any lengths.
pub(crate) fn of_any(args: &Args, place: Place, t: &Tuning, s: &mut Schedule) {
    let (edges, via_bytes) = (args.edges(place, t), t.limits.via_bytes);
    let words: Vec<u64> = edges.leaving.iter().map(|edge| edge.via(via_bytes)).collect();
    let told = tell(&words, place, s);
    s.then(told, move |told, s| exchange(&edges, place, via_bytes, told, s));
}

/// Sends the lengths: `words[i]` is the length of block i + 1. Returns the memory with the lengths of all blocks that
/// come to this rank, round by round.
fn tell(words: &[u64], place: Place, s: &mut Schedule) -> Span {
    let span =
        |buffer: Buffer, first: u32, count: u32| Span::bytes(buffer, WORD * u64::from(first), WORD * u64::from(count));
    let all = bits(place.size).map(|bit| moved(bit, place.size)).sum();
    let [table, arrive, leave] = [place.size, all, place.size].map(|count| s.scratch_bytes(WORD * u64::from(count)));
    s.say(words, table, WORD);
    let mut at = 0;
    for bit in bits(place.size) {
        round(bit, place, [table, leave, arrive], at, span, s);
        at += moved(bit, place.size);
    }
    s.end_round();
    span(arrive, 0, all)
}

fn exchange(edges: &Edges, place: Place, via_bytes: u64, told: &[u64], s: &mut Schedule) {
    // The current place of block i + 1.
    let mut blocks: Vec<(Span, u64)> = edges.leaving.iter().map(|edge| (edge.span, edge.via(via_bytes))).collect();
    let mut told = told.iter();
    for bit in bits(place.size) {
        let places = || runs(bit, place.size).flat_map(|(first, run)| first as usize - 1..(first + run) as usize - 1);
        let bytes = places().map(|i| blocks[i].1).sum();
        let (leave, mut at) = (s.scratch_bytes(bytes), 0);
        for (from, bytes) in places().map(|i| blocks[i]).filter(|&(_, bytes)| bytes > 0) {
            s.copy(from, Span::bytes(leave, at, bytes));
            at += bytes;
        }
        s.send(place.after(bit), Span::bytes(leave, 0, bytes));
        let arriving: Vec<(usize, u64)> = places().zip(told.by_ref().copied()).collect();
        let bytes = arriving.iter().map(|&(_, bytes)| bytes).sum();
        let (arrive, mut at) = (s.scratch_bytes(bytes), 0);
        s.recv(place.before(bit), Span::bytes(arrive, 0, bytes));
        for (i, bytes) in arriving {
            blocks[i] = (Span::bytes(arrive, at, bytes), bytes);
            at += bytes;
        }
    }
    for (edge, (from, bytes)) in edges.arriving.iter().zip(blocks) {
        match edge.via(via_bytes) {
            expected if bytes != expected => s.misfits(edge.peer, bytes, expected),
            0 => {}
            _ => s.copy(from, edge.span),
        }
    }
    edges.go_straight(|edge| edge.via(via_bytes) > 0, s);
}

fn bits(size: u32) -> impl Iterator<Item = u32> {
    (0..size.next_power_of_two().trailing_zeros()).map(|k| 1 << k)
}

/// The number of blocks that move in the round of `bit`.
fn moved(bit: u32, size: u32) -> u32 {
    runs(bit, size).map(|(_, count)| count).sum()
}
