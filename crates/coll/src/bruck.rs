//! Bruck's exchange of all ranks with all in ⌈log2 p⌉ rounds (Bruck et al. 1997), for MPI_Alltoall, -v and -w.
//!
//! Block i goes to the rank that is i ahead of its sender; in round k all blocks whose i has bit k move 2^k ranks
//! ahead. Blocks of unlike lengths take two passes: first their lengths, as blocks of one value each, then the
//! blocks themselves (two-phase Bruck: Fan et al., HPDC 2022), but for those longer than
//! `ScheduleLimits::max_forwarded_bytes`, which are sent directly afterwards.
//!
//! Used by `alltoall`; uses `schedule`.

use crate::alltoall::Args;
use crate::call::RankAndSize;
use crate::schedule::{BufferId, Schedule, Span, VALUE_BYTES};
use crate::tuning::Tuning;
use crate::two_level_v::BlockTransfers;

/// Block i of the scratch memory is the one with that number.
pub(crate) fn equal_blocks(args: &Args, place: RankAndSize, s: &mut Schedule) {
    let (size, each) = (place.size, args.recv.bytes(0));
    let (from, input) = if args.in_place { (args.recv, BufferId::Recv) } else { (args.send, BufferId::Send) };
    let blocks = s.scratch_bytes(each * u64::from(size));
    let span = |buffer: BufferId, first: u32, count: u32| {
        Span::bytes(buffer, each * u64::from(first), each * u64::from(count))
    };
    let above = size - place.rank;
    s.copy(from.range_span(input, place.rank, above), span(blocks, 0, above));
    s.copy(from.range_span(input, 0, place.rank), span(blocks, above, place.rank));

    // No round moves more blocks than this: of every aligned pair of runs one moves.
    let most = size.next_power_of_two() / 2;
    let (leave, arrive) = (s.scratch_bytes(each * u64::from(most)), s.scratch_bytes(each * u64::from(most)));
    distances(size).for_each(|bit| round(bit, place, [blocks, leave, arrive], 0, span, s));
    for i in 0..size {
        s.copy(span(blocks, i, 1), args.recv.span(BufferId::Recv, place.before(i)));
    }
}

/// The round of `bit`; `span` makes the span of a number of equal blocks of a buffer, from one on. Blocks that arrive
/// are also in `arrive`, from block `at` on.
fn round(
    bit: u32,
    place: RankAndSize,
    [blocks, leave, arrive]: [BufferId; 3],
    at: u32,
    span: impl Fn(BufferId, u32, u32) -> Span,
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
pub(crate) fn any_blocks(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let (transfers, max_forwarded_bytes) = (args.transfers(place, t), t.limits.max_forwarded_bytes);
    let own_lengths: Vec<u64> =
        transfers.sends.iter().map(|transfer| transfer.forwarded_bytes(max_forwarded_bytes)).collect();
    let lengths = exchange_lengths(&own_lengths, place, s);
    s.continue_with(lengths, move |lengths, s| exchange_blocks(&transfers, place, max_forwarded_bytes, lengths, s));
}

/// Sends the lengths: `own_lengths[i]` is the length of block i + 1. Returns the memory with the lengths of all
/// blocks that come to this rank, round by round.
fn exchange_lengths(own_lengths: &[u64], place: RankAndSize, s: &mut Schedule) -> Span {
    let span = |buffer: BufferId, first: u32, count: u32| {
        Span::bytes(buffer, VALUE_BYTES * u64::from(first), VALUE_BYTES * u64::from(count))
    };
    let all = distances(place.size).map(|bit| moved_blocks(bit, place.size)).sum();
    let [table, arrive, leave] =
        [place.size, all, place.size].map(|count| s.scratch_bytes(VALUE_BYTES * u64::from(count)));
    s.store_values(own_lengths, table, VALUE_BYTES);
    let mut at = 0;
    for bit in distances(place.size) {
        round(bit, place, [table, leave, arrive], at, span, s);
        at += moved_blocks(bit, place.size);
    }
    s.end_round();
    span(arrive, 0, all)
}

fn exchange_blocks(
    transfers: &BlockTransfers,
    place: RankAndSize,
    max_forwarded_bytes: u64,
    lengths: &[u64],
    s: &mut Schedule,
) {
    // The current place of block i + 1.
    let mut blocks: Vec<(Span, u64)> =
        transfers.sends.iter().map(|transfer| (transfer.span, transfer.forwarded_bytes(max_forwarded_bytes))).collect();
    let mut lengths = lengths.iter();
    for bit in distances(place.size) {
        let indices = || runs(bit, place.size).flat_map(|(first, run)| first as usize - 1..(first + run) as usize - 1);
        let bytes = indices().map(|i| blocks[i].1).sum();
        let (leave, mut at) = (s.scratch_bytes(bytes), 0);
        for (from, bytes) in indices().map(|i| blocks[i]).filter(|&(_, bytes)| bytes > 0) {
            s.copy(from, Span::bytes(leave, at, bytes));
            at += bytes;
        }
        s.send(place.after(bit), Span::bytes(leave, 0, bytes));
        let arriving: Vec<(usize, u64)> = indices().zip(lengths.by_ref().copied()).collect();
        let bytes = arriving.iter().map(|&(_, bytes)| bytes).sum();
        let (arrive, mut at) = (s.scratch_bytes(bytes), 0);
        s.recv(place.before(bit), Span::bytes(arrive, 0, bytes));
        for (i, bytes) in arriving {
            blocks[i] = (Span::bytes(arrive, at, bytes), bytes);
            at += bytes;
        }
    }
    for (transfer, (from, bytes)) in transfers.receives.iter().zip(blocks) {
        match transfer.forwarded_bytes(max_forwarded_bytes) {
            expected if bytes != expected => s.set_length_mismatch(transfer.peer, bytes, expected),
            0 => {}
            _ => s.copy(from, transfer.span),
        }
    }
    transfers.send_directly(|transfer| transfer.forwarded_bytes(max_forwarded_bytes) > 0, s);
}

fn distances(size: u32) -> impl Iterator<Item = u32> {
    (0..size.next_power_of_two().trailing_zeros()).map(|k| 1 << k)
}

/// The number of blocks that move in the round of `bit`.
fn moved_blocks(bit: u32, size: u32) -> u32 {
    runs(bit, size).map(|(_, count)| count).sum()
}
