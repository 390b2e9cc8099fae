//! MPI_Scan.
//!
//! | algorithm | source | rounds | bytes that a rank sends at most |
//! |---|---|---|---|
//! | host | each folds the slots of those below | one shm step | n into the segment |
//! | host_chain | pieces from slot to slot, one rank a step | ⌈n / limit⌉ + p − 1 shm steps | n into the segment |
//! | recursive_doubling | Hillis, Steele 1986; MPICH "recursive_doubling" | ⌈log2 p⌉ | n ⌈log2 p⌉ |
//! | two_level | on each host, then exscan of the hosts' totals; MPICH "smp" | both parts', and a tree | the parts' |
//! | chain | MPICH "linear" | p − 1, two a rank | n |
//!
//! n is the length of the vector in bytes, p the number of ranks; limit is `ScheduleLimits::shm_step_bytes`. The
//! column "source" has the origin of an algorithm, or in brief how it works. All algorithms keep rank order.

use crate::accumulate::{Accumulator, OperandSide, piece};
use crate::algorithm::Algorithm;
use crate::call::{RankAndSize, ReductionArgs};
use crate::cost_model::CallShape;
use crate::exscan;
use crate::host_map::Subgroup;
use crate::reduce::shm_ranges;
use crate::schedule::{BufferId, MemberSet, OperandOrder, RankSlot, Schedule, Span};
use crate::tuning::{Tuning, fits_one_shm_step};
use crate::two_level::cost_among;

pub(crate) const ALGORITHMS: &[Algorithm<ReductionArgs>] = &[
    // "host" fits only if one step takes the whole vector: several steps would gain nothing. For longer vectors
    // there is "host_chain", which divides them.
    Algorithm { name: "host", fits: fits_one_shm_step, cost: cost_of_shm, build: shm },
    Algorithm {
        name: "host_chain",
        fits: |s, _| s.has_shm_steps,
        cost: |s, t| {
            let (steps, passed) = (t.limits.shm_steps(s.bytes), s.p() - 1.0);
            let each = s.n() * (1.0 + passed / steps / t.model.load) * (2.0 * t.model.copy_us + t.model.reduce_us);
            t.model.shm_steps_us(s, steps + passed) + each
        },
        build: shm_chain,
    },
    Algorithm {
        name: "two_level",
        fits: |_, t| t.has_hosts_in_order(),
        cost: |s, t| cost_of_levels(ALGORITHMS, s, t),
        build: two_level,
    },
    Algorithm { name: "chain", fits: |_, _| true, cost: cost_of_chain, build: chain },
    Algorithm {
        name: "recursive_doubling",
        fits: |_, _| true,
        cost: |s, t| s.levels() * (t.model.message_cost_us(s.n()) + s.n() * t.model.reduce_us),
        build: recursive_doubling,
    },
];

/// Returns the cost of a scan by one shm step. The last rank reduces all slots and takes longest; with more ranks
/// than cores the average counts, which is half of the slots.
pub(crate) fn cost_of_shm(s: &CallShape, t: &Tuning) -> f64 {
    let folds = (s.p() - 1.0) * if t.model.load > 1.0 { 0.5 } else { 1.0 };
    t.model.shm_steps_us(s, 1.0) + s.n() * (2.0 * t.model.copy_us + folds * t.model.reduce_us)
}

/// Returns the cost of a chain. Its ranks work one after the other, so that each has a core for itself even if there
/// are more ranks than cores.
pub(crate) fn cost_of_chain(s: &CallShape, t: &Tuning) -> f64 {
    (s.p() - 1.0) * (t.model.message_us + s.n() * (t.model.byte_us + t.model.reduce_us) / t.model.load)
}

/// Scans by one exchange: each rank reduces its own operand and the slots of the ranks below it. Every rank writes
/// its slot, even the last one, which no other rank reads, because a rank reads its own operand from its slot if the
/// call is not in place.
fn shm(data: &ReductionArgs, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let all = 0..data.elements();
    if all.is_empty() {
        return;
    }
    let (slot, result) = (|rank| RankSlot { rank, bytes: data.bytes() }, piece(BufferId::Recv, &all));
    s.begin_exchange(data.bytes(), MemberSet::Above, MemberSet::Below);
    s.write_slot(0, piece(data.input(), &all));
    if !data.in_place {
        s.read_slot(slot(place.rank), 0, result);
    }
    (0..place.rank).rev().for_each(|rank| s.reduce_slot(slot(rank), 0, result));
}

/// Scans piece by piece along the chain of ranks. In each step a rank contributes the piece that it has reduced in
/// the previous step, and reduces the next piece with the contribution of the rank below.
fn shm_chain(data: &ReductionArgs, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let ranges: Vec<_> = shm_ranges(data, t).collect();
    if ranges.is_empty() {
        return;
    }
    let (rank, last) = (place.rank as usize, place.size as usize - 1);
    let mut acc = Accumulator::new(data.input(), BufferId::Recv);
    acc.move_to_result(s, &(0..data.elements()));
    for step in 0..ranges.len() + last {
        let bytes = |piece: usize| (ranges[piece].end - ranges[piece].start) * data.type_size;
        let write_piece = step.checked_sub(rank).filter(|&piece| piece < ranges.len() && rank < last);
        let read_piece = (step + 1).checked_sub(rank).filter(|&piece| piece < ranges.len() && rank > 0);
        let readers = write_piece.map_or(MemberSet::Empty, |_| MemberSet::One(place.rank + 1));
        let sources = read_piece.map_or(MemberSet::Empty, |_| MemberSet::One(place.rank - 1));
        s.begin_exchange(write_piece.map_or(0, bytes), readers, sources);
        if let Some(write_index) = write_piece {
            s.write_slot(0, piece(BufferId::Recv, &ranges[write_index]));
        }
        if let Some(read_index) = read_piece {
            let slot = RankSlot { rank: place.rank - 1, bytes: bytes(read_index) };
            s.reduce_slot(slot, 0, piece(BufferId::Recv, &ranges[read_index]));
        }
    }
}

/// After round k each rank has the reduction of the 2^(k+1) ranks up to and including itself, or of all those ranks
/// if there are fewer.
fn recursive_doubling(data: &ReductionArgs, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let all = 0..data.elements();
    let mut acc = Accumulator::new(data.input(), BufferId::Recv);
    acc.move_to_result(s, &all);
    let mut distance = 1;
    while distance < place.size {
        if place.rank + distance < place.size {
            s.send(place.rank + distance, acc.value(&all));
        }
        if place.rank >= distance {
            acc.exchange(s, place.rank - distance, OperandSide::Lower, all.clone(), None);
        }
        s.end_round();
        distance *= 2;
    }
}

fn chain(data: &ReductionArgs, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let all = 0..data.elements();
    let mut acc = Accumulator::new(data.input(), BufferId::Recv);
    if place.rank > 0 {
        acc.exchange(s, place.rank - 1, OperandSide::Lower, all.clone(), None);
    }
    if place.rank + 1 < place.size {
        s.send(place.rank + 1, acc.value(&all));
    }
    acc.move_to_result(s, &all);
}

fn two_level(data: &ReductionArgs, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let (local, lasts) = (hosts.local(place.rank), hosts.last_ranks());
    let all = |buffer: BufferId| Span::elements(buffer, 0, data.elements());
    if local.place.size == 1 {
        s.copy(all(data.input()), all(BufferId::Recv));
    }
    local.append_collective(ALGORITHMS, data, &data.shape(local.place, t), &t.on_host(), s);
    if let Some(before) = reduce_hosts_before(data, BufferId::Recv, place, t, &lasts, s) {
        s.reduce(all(before), all(BufferId::Recv), OperandOrder::FromFirst);
    }
}

/// Appends an exscan of the hosts' totals. On the last rank of each host, `total` is the buffer of the host's total.
/// Returns the scratch memory that then has, on every rank of the host, the reduction of all hosts before this one;
/// `None` on the first host.
pub(crate) fn reduce_hosts_before(
    data: &ReductionArgs,
    total: BufferId,
    place: RankAndSize,
    t: &Tuning,
    lasts: &[u32],
    s: &mut Schedule,
) -> Option<BufferId> {
    let hosts = t.known_hosts();
    let is_first = hosts.host_of(place.rank) == 0;
    let before = (!is_first).then(|| s.scratch_elements(data.elements()));
    if let Some(leader_group) = Subgroup::of(lasts, place.rank) {
        // The first host has no result, and an exscan does not write its output there.
        let args = exscan::Args { data: *data, input: total, output: before.unwrap_or(total) };
        leader_group.append_collective(
            exscan::ALGORITHMS,
            &args,
            &data.shape(leader_group.place, t),
            &t.between_hosts(),
            s,
        );
    }
    let (before, local) = (before?, hosts.local(place.rank));
    let all = Span::elements(before, 0, data.elements());
    local.bcast_spans(local.place.size - 1, &[all], s);
    Some(before)
}

/// Returns the cost of the algorithm "two_level": a scan or exscan on each host (by `rows`), an exscan between hosts,
/// a broadcast by a tree on each host, and one reduction.
pub(crate) fn cost_of_levels<A>(rows: &[Algorithm<A>], s: &CallShape, t: &Tuning) -> f64 {
    let (hosts, within) = (t.known_hosts(), t.on_host());
    let levels = CallShape { size: hosts.largest(), ..*s }.levels();
    cost_among(rows, s, hosts.largest(), &within)
        + cost_among(exscan::ALGORITHMS, s, hosts.count(), &t.between_hosts())
        + levels * within.model.message_cost_us(s.n())
        + s.n() * within.model.reduce_us
}
