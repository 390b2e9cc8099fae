//! Collectives of intercommunicators in which data go in both directions: allreduce, reduce_scatter, allgather,
//! alltoall.
//!
//! | collective | how | rounds beside those of the collectives inside |
//! |---|---|---|
//! | allreduce | allreduce in each group; ranks exchange in pairs; bcast to those beyond the smaller group | 1 |
//! | reduce_scatter | reduce to each group's rank 0; these exchange; scatter in each group | 1 |
//! | allgather | a block enters at one rank of the other group; allgather there | larger / smaller / outstanding |
//! | alltoall | pairwise with the other group, a window at a time | larger group / outstanding |
//!
//! The last column counts the rounds in addition to those of the collectives inside a group; larger and smaller are
//! the sizes of the two groups, outstanding is `ScheduleLimits::outstanding`. The data of the two
//! directions may differ in size (MPI-5.0 §6.7), except in reductions.

use super::rooted::{append_reduction, reduce_to_first};
use super::{InterPlace, plan_among};
use crate::call::{BlockArray, BlockBuffer, CollectiveCall, IntArray, RankAndSize, ReductionArgs};
use crate::collective::Collective;
use crate::schedule::{BufferId, Schedule, Span, SpanUnit};
use crate::tuning::Tuning;

pub(super) fn allreduce(data: ReductionArgs, place: InterPlace, t: &Tuning, s: &mut Schedule) {
    let RankAndSize { rank, size } = place.local;
    let call = CollectiveCall::Allreduce(ReductionArgs { in_place: false, ..data });
    let ours = append_reduction(&call, data, true, place, t, s);
    let theirs = Span::elements(BufferId::Recv, 0, data.elements());
    s.end_round();
    if rank < place.remote {
        s.send(place.remote_number(rank), ours);
        s.recv(place.remote_number(rank), theirs);
    }
    // Rank r of the larger group broadcasts its result to the ranks r + n, r + 2 n, … of its group, where n is the
    // size of the smaller group.
    let (first, pairs) = (rank % place.remote, place.remote);
    let subgroup = RankAndSize { rank: rank / pairs, size: (size - first).div_ceil(pairs) };
    if subgroup.size > 1 {
        let data = BlockBuffer { count: data.count, type_size: data.type_size, dense: data.dense };
        let number = |member: u32| place.local_number(first + member * pairs);
        plan_among(&CollectiveCall::Bcast { root: 0, data }, subgroup, t, s, number, |span| span);
    }
}

pub(super) fn reduce_scatter_block(data: ReductionArgs, place: InterPlace, t: &Tuning, s: &mut Schedule) {
    let send = BlockArray::regular(data.count, data.type_size);
    let recv = BlockBuffer { count: data.count, type_size: data.type_size, dense: data.dense };
    let scatter = CollectiveCall::Scatter { root: 0, send, recv, in_place: false };
    let total = data.count * u64::from(place.local.size);
    reduce_then_scatter(ReductionArgs { count: total, ..data }, &scatter, place, t, s);
}

pub(super) fn reduce_scatter(
    counts: IntArray<'_>,
    data: ReductionArgs,
    place: InterPlace,
    t: &Tuning,
    s: &mut Schedule,
) {
    let mut displs = Vec::with_capacity(place.local.size as usize);
    let mut total = 0;
    for rank in 0..place.local.size {
        displs.push(total);
        total += counts.at(rank);
    }
    let send = BlockArray::vector(counts, IntArray::Count(&displs), data.type_size);
    let recv = BlockBuffer { count: counts.at(place.local.rank) as u64, type_size: data.type_size, dense: data.dense };
    let scatter = CollectiveCall::Scatterv { root: 0, send, recv, in_place: false };
    // The other algorithms of MPI_Scatterv send lengths first and then have a continuation, which is not possible in
    // rounds that are a part of a schedule.
    let forced = t.forced.with(Collective::Scatter, "linear").expect("it is in the table");
    reduce_then_scatter(ReductionArgs { count: total as u64, ..data }, &scatter, place, &Tuning { forced, ..*t }, s);
}

/// Reduces the whole vector, which `data` describes, in each group to its rank 0; exchanges the results between the
/// two ranks 0; and distributes the received vector in the local group by the call `scatter`.
fn reduce_then_scatter(data: ReductionArgs, scatter: &CollectiveCall, place: InterPlace, t: &Tuning, s: &mut Schedule) {
    let ours = reduce_to_first(data, place, t, s);
    let is_single = place.local.size == 1;
    let mut whole = Span::elements(BufferId::Recv, 0, data.elements());
    if place.local.rank == 0 {
        s.end_round();
        if !is_single {
            whole.buffer = s.scratch_elements(data.elements());
        }
        s.send(place.remote_number(0), ours);
        s.recv(place.remote_number(0), whole);
    }
    if !is_single {
        let from =
            |span: Span| if span.buffer == BufferId::Send { Span { buffer: whole.buffer, ..span } } else { span };
        plan_among(scatter, place.local, t, s, |rank| place.local_number(rank), from);
    }
}

/// Returns the numbers of the blocks that enter a group of `size` ranks at its rank `rank`, if `blocks` blocks come
/// from the other group. They are consecutive.
fn entering_blocks(rank: u32, size: u32, blocks: u32) -> std::ops::Range<u32> {
    let edge = |rank: u32| (u64::from(rank) * u64::from(blocks) / u64::from(size)) as u32;
    edge(rank)..edge(rank + 1)
}

/// Returns the rank at which block `block` of `blocks` blocks enters a group of `size` ranks.
fn entry_rank(block: u32, size: u32, blocks: u32) -> u32 {
    (((u64::from(block) + 1) * u64::from(size) - 1) / u64::from(blocks)) as u32
}

/// Sends this rank's block to the rank of the other group at which it enters, and receives the blocks that enter at
/// this rank, each into the span that `into` returns for its number.
fn exchange_blocks(send: BlockBuffer, place: InterPlace, t: &Tuning, s: &mut Schedule, into: impl Fn(u32) -> Span) {
    let RankAndSize { rank, size } = place.local;
    s.send(place.remote_number(entry_rank(rank, place.remote, size)), send.span(BufferId::Send));
    for (received, block) in (0..).zip(entering_blocks(rank, size, place.remote)) {
        s.recv(place.remote_number(block), into(block));
        s.end_round_if_full(received + 1, &t.limits);
    }
}

pub(super) fn allgather(send: BlockBuffer, recv: BlockArray<'_>, place: InterPlace, t: &Tuning, s: &mut Schedule) {
    let RankAndSize { rank, size } = place.local;
    exchange_blocks(send, place, t, s, |block| recv.span(BufferId::Recv, block));
    if size == 1 {
        return;
    }
    let (count, type_size) = (recv.counts.at(0), recv.type_size.at(0) as u64);
    let runs: Vec<(i64, i64)> = (0..size)
        .map(|rank| entering_blocks(rank, size, place.remote))
        .map(|run| (i64::from(run.end - run.start) * count, i64::from(run.start) * count))
        .collect();
    let (counts, displs): (Vec<i64>, Vec<i64>) = runs.into_iter().unzip();
    let own = BlockBuffer { count: counts[rank as usize] as u64, type_size, dense: false };
    let call = match place.remote.is_multiple_of(size) {
        true => {
            CollectiveCall::Allgather { send: own, recv: BlockArray::regular(own.count, type_size), in_place: true }
        }
        false => {
            let recv = BlockArray::vector(IntArray::Count(&counts), IntArray::Count(&displs), type_size);
            CollectiveCall::Allgatherv { send: own, recv, in_place: true }
        }
    };
    plan_among(&call, place.local, t, s, |rank| place.local_number(rank), |span| span);
}

/// Each block enters the local group at one rank, and an allgather in the group distributes all blocks. They are
/// packed in scratch memory for this, where the blocks that enter at one rank adjoin.
pub(super) fn allgatherv(send: BlockBuffer, recv: BlockArray<'_>, place: InterPlace, t: &Tuning, s: &mut Schedule) {
    let RankAndSize { size, .. } = place.local;
    if size == 1 {
        return exchange_blocks(send, place, t, s, |block| recv.span(BufferId::Recv, block));
    }
    let mut starts = vec![0];
    for block in 0..place.remote {
        starts.push(starts[block as usize] + recv.bytes(block));
    }
    let packed = s.scratch_bytes(starts[place.remote as usize]);
    let piece = |block: u32| Span::bytes(packed, starts[block as usize], recv.bytes(block));
    exchange_blocks(send, place, t, s, piece);
    let runs = (0..size).map(|rank| entering_blocks(rank, size, place.remote));
    let displs: Vec<i64> = runs.clone().map(|run| starts[run.start as usize] as i64).collect();
    let counts: Vec<i64> = runs.map(|run| (starts[run.end as usize] - starts[run.start as usize]) as i64).collect();
    let own = BlockBuffer { count: 0, type_size: 1, dense: true };
    let blocks = BlockArray::vector(IntArray::Count(&counts), IntArray::Count(&displs), 1);
    let in_packed = |span: Span| match span.buffer {
        BufferId::Recv => Span { buffer: packed, unit: SpanUnit::Byte, ..span },
        _ => span,
    };
    let call = CollectiveCall::Allgatherv { send: own, recv: blocks, in_place: true };
    plan_among(&call, place.local, t, s, |rank| place.local_number(rank), in_packed);
    for block in 0..place.remote {
        s.copy(piece(block), recv.span(BufferId::Recv, block));
    }
}

/// In step i rank r sends to rank r + i of the other group and receives from its rank r - i, both modulo the size of
/// the larger group. A rank number beyond the other group's size has no message.
pub(super) fn alltoall(send: BlockArray<'_>, recv: BlockArray<'_>, place: InterPlace, t: &Tuning, s: &mut Schedule) {
    let ring = RankAndSize { rank: place.local.rank, size: place.local.size.max(place.remote) };
    for step in 0..ring.size {
        let (to, from) = (ring.after(step), ring.before(step));
        if to < place.remote {
            s.send(place.remote_number(to), send.span(BufferId::Send, to));
        }
        if from < place.remote {
            s.recv(place.remote_number(from), recv.span(BufferId::Recv, from));
        }
        s.end_round_if_full(step + 1, &t.limits);
    }
}
