//! Bruck's exchange of blocks between all pairs of p ranks in ⌈log2 p⌉ rounds (Bruck et al. 1997), for MPI_Alltoall,
//! MPI_Alltoallv and MPI_Alltoallw.
//!
//! Block i of a rank goes to the rank i after its sender. In round k, all blocks whose number i has bit k set move to
//! the rank 2^k after the one that has them. If blocks have unlike lengths, there are two passes: the first moves the
//! lengths, as blocks of one value each, the second the blocks themselves (two-phase Bruck: Fan et al., HPDC 2022).
//! Blocks that are longer than `ScheduleLimits::max_forwarded_bytes` are not moved in this way; they are sent
//! directly afterwards.
//!
//! Used by `alltoall`; uses `schedule` and the transfers of `two_level_v`.

use crate::alltoall::Args;
use crate::call::RankAndSize;
use crate::schedule::{BufferId, Schedule, Span, VALUE_BYTES};
use crate::tuning::Tuning;
use crate::two_level_v::BlockTransfers;

/// Exchanges blocks of equal length. Scratch memory has the blocks in the order of their numbers.
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

    // No round moves more blocks than this, because of every two adjacent runs of numbers only one has the bit.
    let most = size.next_power_of_two() / 2;
    let (leave, arrive) = (s.scratch_bytes(each * u64::from(most)), s.scratch_bytes(each * u64::from(most)));
    distances(size).for_each(|bit| round(bit, place, [blocks, leave, arrive], 0, span, s));
    for i in 0..size {
        s.copy(span(blocks, i, 1), args.recv.span(BufferId::Recv, place.before(i)));
    }
}

/// Writes the round in which the blocks whose number has `bit` set move. They are packed in `leave`. The received
/// blocks arrive in `arrive`, from block `at` on, and are copied from there into `blocks`. The function `span` must
/// return the span of `count` blocks of a buffer from block `first` on; its arguments are the buffer, `first` and
/// `count`.
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

/// Returns the runs of consecutive numbers below `size` that have `bit` set, each as its first number and its length.
fn runs(bit: u32, size: u32) -> impl Iterator<Item = (u32, u32)> {
    (bit..size).step_by(2 * bit as usize).map(move |first| (first, bit.min(size - first)))
}

/// Exchanges blocks of any lengths, in two passes.
pub(crate) fn any_blocks(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let (transfers, max_forwarded_bytes) = (args.transfers(place, t), t.limits.max_forwarded_bytes);
    let own_lengths: Vec<u64> =
        transfers.sends.iter().map(|transfer| transfer.forwarded_bytes(max_forwarded_bytes)).collect();
    let lengths = exchange_lengths(&own_lengths, place, s);
    s.continue_with(lengths, move |lengths, s| exchange_blocks(&transfers, place, max_forwarded_bytes, lengths, s));
}

/// Writes the first pass. `own_lengths[i]` is the length of block i + 1 of this rank. Returns the span of the lengths
/// of all blocks that move to this rank in the second pass, round by round.
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
    // The span in which block i + 1 is now, and its length.
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

/// Returns the number of blocks whose number has `bit` set: they move in one round.
fn moved_blocks(bit: u32, size: u32) -> u32 {
    runs(bit, size).map(|(_, count)| count).sum()
}
