//! Both ways at once: allreduce, reduce_scatter, allgather, alltoall.
//!
//! | collective | how | rounds beside those of the collectives inside |
//! |---|---|---|
//! | allreduce | allreduce in each group; ranks exchange in pairs; bcast to those beyond the smaller group | 1 |
//! | reduce_scatter | reduce to each group's rank 0; these exchange; scatter in each group | 1 |
//! | allgather | a rank's block enters at one rank of the other group; allgather there | ranks / other ranks |
//! | alltoall | pairwise with the other group, a window at a time | larger group / outstanding |
//!
//! The data of one direction may have another size than those of the other (MPI-5.0 §6.7), but in reductions.

use super::rooted::{reduce_to_first, reduced};
use super::{Sides, within};
use crate::call::{Blocks, Call, Data, Ints, Place, Reduction};
use crate::collective::Collective;
use crate::schedule::{Buffer, Schedule, Span, Unit};
use crate::tuning::Tuning;

pub(super) fn allreduce(data: Reduction, sides: Sides, t: &Tuning, s: &mut Schedule) {
    let Place { rank, size } = sides.local;
    let call = Call::Allreduce(Reduction { in_place: false, ..data });
    let ours = reduced(&call, data, true, sides, t, s);
    let theirs = Span::elements(Buffer::Recv, 0, data.elements());
    s.end_round();
    if rank < sides.remote {
        s.send(sides.theirs(rank), ours);
        s.recv(sides.theirs(rank), theirs);
    }
    // Rank r of the larger group passes its result on to r + n, r + 2 n, … where n is the smaller group's size.
    let (first, pairs) = (rank % sides.remote, sides.remote);
    let class = Place { rank: rank / pairs, size: (size - first).div_ceil(pairs) };
    if class.size > 1 {
        let data = Data { count: data.count, type_size: data.type_size, dense: data.dense };
        let number = |member: u32| sides.ours(first + member * pairs);
        within(&Call::Bcast { root: 0, data }, class, t, s, number, |span| span);
    }
}

pub(super) fn reduce_scatter_block(data: Reduction, sides: Sides, t: &Tuning, s: &mut Schedule) {
    let send = Blocks::regular(data.count, data.type_size);
    let recv = Data { count: data.count, type_size: data.type_size, dense: data.dense };
    let scatter = Call::Scatter { root: 0, send, recv, in_place: false };
    let total = data.count * u64::from(sides.local.size);
    scattered(Reduction { count: total, ..data }, &scatter, sides, t, s);
}

pub(super) fn reduce_scatter(counts: Ints<'_>, data: Reduction, sides: Sides, t: &Tuning, s: &mut Schedule) {
    let mut displs = Vec::with_capacity(sides.local.size as usize);
    let mut total = 0;
    for rank in 0..sides.local.size {
        displs.push(total);
        total += counts.at(rank);
    }
    let send = Blocks::vector(counts, Ints::Count(&displs), data.type_size);
    let recv = Data { count: counts.at(sides.local.rank) as u64, type_size: data.type_size, dense: data.dense };
    let scatter = Call::Scatterv { root: 0, send, recv, in_place: false };
    // Rows that send lengths have a sequel, which only a whole schedule can have.
    let forced = t.forced.with(Collective::Scatter, "linear").expect("it is in the table");
    scattered(Reduction { count: total as u64, ..data }, &scatter, sides, &Tuning { forced, ..*t }, s);
}

/// `data` is the whole vector, `scatter` of it in the local group.
fn scattered(data: Reduction, scatter: &Call, sides: Sides, t: &Tuning, s: &mut Schedule) {
    let ours = reduce_to_first(data, sides, t, s);
    let alone = sides.local.size == 1;
    let mut whole = Span::elements(Buffer::Recv, 0, data.elements());
    if sides.local.rank == 0 {
        s.end_round();
        if !alone {
            whole.buffer = s.scratch_elements(data.elements());
        }
        s.send(sides.theirs(0), ours);
        s.recv(sides.theirs(0), whole);
    }
    if !alone {
        let from = |span: Span| if span.buffer == Buffer::Send { Span { buffer: whole.buffer, ..span } } else { span };
        within(scatter, sides.local, t, s, |rank| sides.ours(rank), from);
    }
}

/// Which blocks of `blocks` ranks enter at rank `rank` of `size`: runs of them, in order.
fn entering(rank: u32, size: u32, blocks: u32) -> std::ops::Range<u32> {
    let edge = |rank: u32| (u64::from(rank) * u64::from(blocks) / u64::from(size)) as u32;
    edge(rank)..edge(rank + 1)
}

/// The rank of `size` where block `block` of `blocks` enters.
fn entrance(block: u32, size: u32, blocks: u32) -> u32 {
    (((u64::from(block) + 1) * u64::from(size) - 1) / u64::from(blocks)) as u32
}

/// Sends this rank's block to its entrance, and receives those that enter here.
fn cross(send: Data, sides: Sides, t: &Tuning, s: &mut Schedule, into: impl Fn(u32) -> Span) {
    let Place { rank, size } = sides.local;
    s.send(sides.theirs(entrance(rank, sides.remote, size)), send.span(Buffer::Send));
    for (done, block) in (0..).zip(entering(rank, size, sides.remote)) {
        s.recv(sides.theirs(block), into(block));
        s.end_window(done + 1, &t.limits);
    }
}

pub(super) fn allgather(send: Data, recv: Blocks<'_>, sides: Sides, t: &Tuning, s: &mut Schedule) {
    let Place { rank, size } = sides.local;
    cross(send, sides, t, s, |block| recv.span(Buffer::Recv, block));
    if size == 1 {
        return;
    }
    let (count, type_size) = (recv.counts.at(0), recv.type_size.at(0) as u64);
    let runs: Vec<(i64, i64)> = (0..size)
        .map(|rank| entering(rank, size, sides.remote))
        .map(|run| (i64::from(run.end - run.start) * count, i64::from(run.start) * count))
        .collect();
    let (counts, displs): (Vec<i64>, Vec<i64>) = runs.into_iter().unzip();
    let own = Data { count: counts[rank as usize] as u64, type_size, dense: false };
    let call = match sides.remote.is_multiple_of(size) {
        true => Call::Allgather { send: own, recv: Blocks::regular(own.count, type_size), in_place: true },
        false => {
            let recv = Blocks::vector(Ints::Count(&counts), Ints::Count(&displs), type_size);
            Call::Allgatherv { send: own, recv, in_place: true }
        }
    };
    within(&call, sides.local, t, s, |rank| sides.ours(rank), |span| span);
}

/// Blocks travel packed in the local group: those that enter at a rank are a run of them.
pub(super) fn allgatherv(send: Data, recv: Blocks<'_>, sides: Sides, t: &Tuning, s: &mut Schedule) {
    let Place { size, .. } = sides.local;
    if size == 1 {
        return cross(send, sides, t, s, |block| recv.span(Buffer::Recv, block));
    }
    let mut starts = vec![0];
    for block in 0..sides.remote {
        starts.push(starts[block as usize] + recv.bytes(block));
    }
    let packed = s.scratch_bytes(starts[sides.remote as usize]);
    let piece = |block: u32| Span::bytes(packed, starts[block as usize], recv.bytes(block));
    cross(send, sides, t, s, piece);
    let runs = (0..size).map(|rank| entering(rank, size, sides.remote));
    let displs: Vec<i64> = runs.clone().map(|run| starts[run.start as usize] as i64).collect();
    let counts: Vec<i64> = runs.map(|run| (starts[run.end as usize] - starts[run.start as usize]) as i64).collect();
    let own = Data { count: 0, type_size: 1, dense: true };
    let blocks = Blocks::vector(Ints::Count(&counts), Ints::Count(&displs), 1);
    let in_packed = |span: Span| match span.buffer {
        Buffer::Recv => Span { buffer: packed, unit: Unit::Byte, ..span },
        _ => span,
    };
    let call = Call::Allgatherv { send: own, recv: blocks, in_place: true };
    within(&call, sides.local, t, s, |rank| sides.ours(rank), in_packed);
    for block in 0..sides.remote {
        s.copy(piece(block), recv.span(Buffer::Recv, block));
    }
}

/// In step i rank r sends to rank r + i of the other group and receives from r - i, counted around the larger group.
pub(super) fn alltoall(send: Blocks<'_>, recv: Blocks<'_>, sides: Sides, t: &Tuning, s: &mut Schedule) {
    let ring = Place { rank: sides.local.rank, size: sides.local.size.max(sides.remote) };
    for step in 0..ring.size {
        let (to, from) = (ring.after(step), ring.before(step));
        if to < sides.remote {
            s.send(sides.theirs(to), send.span(Buffer::Send, to));
        }
        if from < sides.remote {
            s.recv(sides.theirs(from), recv.span(Buffer::Recv, from));
        }
        s.end_window(step + 1, &t.limits);
    }
}
