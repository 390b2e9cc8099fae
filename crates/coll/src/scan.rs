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
//! All keep rank order.

use crate::accumulate::{Accumulator, Side, piece};
use crate::algorithm::Algorithm;
use crate::call::{Place, Reduction};
use crate::exscan;
use crate::hosts::Team;
use crate::model::Shape;
use crate::reduce::host_ranges;
use crate::schedule::{Buffer, Giver, Order, Ranks, Schedule, Span};
use crate::tuning::{Tuning, is_one_step};
use crate::two_level::cost_among;

pub(crate) const ALGORITHMS: &[Algorithm<Reduction>] = &[
    // More steps than one gain nothing on a chain.
    Algorithm { name: "host", fits: is_one_step, cost: cost_of_host, build: host },
    Algorithm {
        name: "host_chain",
        fits: |s, _| s.host,
        cost: |s, t| {
            let (steps, passed) = (t.limits.host_steps(s.bytes), s.p() - 1.0);
            let each = s.n() * (1.0 + passed / steps / t.model.load) * (2.0 * t.model.copy_us + t.model.reduce_us);
            t.model.steps(s, steps + passed) + each
        },
        build: host_chain,
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
        cost: |s, t| s.levels() * (t.model.message(s.n()) + s.n() * t.model.reduce_us),
        build: recursive_doubling,
    },
];

/// The cost when the last rank folds all slots; on average a rank folds half of them.
pub(crate) fn cost_of_host(s: &Shape, t: &Tuning) -> f64 {
    let folds = (s.p() - 1.0) * if t.model.load > 1.0 { 0.5 } else { 1.0 };
    t.model.steps(s, 1.0) + s.n() * (2.0 * t.model.copy_us + folds * t.model.reduce_us)
}

/// The cost of rank after rank: each has its core for itself.
pub(crate) fn cost_of_chain(s: &Shape, t: &Tuning) -> f64 {
    (s.p() - 1.0) * (t.model.message_us + s.n() * (t.model.byte_us + t.model.reduce_us) / t.model.load)
}

/// All ranks contribute, also the last one, which reads its own operand from its slot.
fn host(data: &Reduction, place: Place, _: &Tuning, s: &mut Schedule) {
    let all = 0..data.elements();
    if all.is_empty() {
        return;
    }
    let (slot, result) = (|rank| Giver { rank, bytes: data.bytes() }, piece(Buffer::Recv, &all));
    s.exchange(data.bytes(), Ranks::Above, Ranks::Below);
    s.put(0, piece(data.input(), &all));
    if !data.in_place {
        s.take(slot(place.rank), 0, result);
    }
    (0..place.rank).rev().for_each(|rank| s.fold(slot(rank), 0, result));
}

/// In each step a rank contributes the piece that it has just folded and folds its own with the contribution of the
/// rank below: the piece after it.
fn host_chain(data: &Reduction, place: Place, t: &Tuning, s: &mut Schedule) {
    let ranges: Vec<_> = host_ranges(data, t).collect();
    if ranges.is_empty() {
        return;
    }
    let (rank, last) = (place.rank as usize, place.size as usize - 1);
    let mut acc = Accumulator::new(data.input(), Buffer::Recv);
    acc.settle(s, &(0..data.elements()));
    for step in 0..ranges.len() + last {
        let bytes = |piece: usize| (ranges[piece].end - ranges[piece].start) * data.type_size;
        let gives = step.checked_sub(rank).filter(|&piece| piece < ranges.len() && rank < last);
        let takes = (step + 1).checked_sub(rank).filter(|&piece| piece < ranges.len() && rank > 0);
        let readers = gives.map_or(Ranks::Nobody, |_| Ranks::One(place.rank + 1));
        let sources = takes.map_or(Ranks::Nobody, |_| Ranks::One(place.rank - 1));
        s.exchange(gives.map_or(0, bytes), readers, sources);
        if let Some(given) = gives {
            s.put(0, piece(Buffer::Recv, &ranges[given]));
        }
        if let Some(taken) = takes {
            let slot = Giver { rank: place.rank - 1, bytes: bytes(taken) };
            s.fold(slot, 0, piece(Buffer::Recv, &ranges[taken]));
        }
    }
}

/// After round k a rank has the reduction of the 2^(k+1) ranks up to itself, or of all up to itself.
fn recursive_doubling(data: &Reduction, place: Place, _: &Tuning, s: &mut Schedule) {
    let all = 0..data.elements();
    let mut acc = Accumulator::new(data.input(), Buffer::Recv);
    acc.settle(s, &all);
    let mut distance = 1;
    while distance < place.size {
        if place.rank + distance < place.size {
            s.send(place.rank + distance, acc.value(&all));
        }
        if place.rank >= distance {
            acc.exchange(s, place.rank - distance, Side::Lower, all.clone(), None);
        }
        s.end_round();
        distance *= 2;
    }
}

fn chain(data: &Reduction, place: Place, _: &Tuning, s: &mut Schedule) {
    let all = 0..data.elements();
    let mut acc = Accumulator::new(data.input(), Buffer::Recv);
    if place.rank > 0 {
        acc.exchange(s, place.rank - 1, Side::Lower, all.clone(), None);
    }
    if place.rank + 1 < place.size {
        s.send(place.rank + 1, acc.value(&all));
    }
    acc.settle(s, &all);
}

fn two_level(data: &Reduction, place: Place, t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let (local, lasts) = (hosts.local(place.rank), hosts.last_ranks());
    let all = |buffer: Buffer| Span::elements(buffer, 0, data.elements());
    if local.place.size == 1 {
        s.copy(all(data.input()), all(Buffer::Recv));
    }
    local.run(ALGORITHMS, data, &data.shape(local.place, t), &t.within(), s);
    if let Some(before) = before_host(data, Buffer::Recv, place, t, &lasts, s) {
        s.reduce(all(before), all(Buffer::Recv), Order::FromFirst);
    }
}

/// The reduction of all hosts before this one, in memory of the schedule; `total` is this host's, on its last rank.
/// None on the first.
pub(crate) fn before_host(
    data: &Reduction,
    total: Buffer,
    place: Place,
    t: &Tuning,
    lasts: &[u32],
    s: &mut Schedule,
) -> Option<Buffer> {
    let hosts = t.known_hosts();
    let is_first = hosts.host_of(place.rank) == 0;
    let before = (!is_first).then(|| s.scratch_elements(data.elements()));
    if let Some(between) = Team::of(lasts, place.rank) {
        // The first one has no result.
        let args = exscan::Args { data: *data, input: total, output: before.unwrap_or(total) };
        between.run(exscan::ALGORITHMS, &args, &data.shape(between.place, t), &t.between(), s);
    }
    let (before, local) = (before?, hosts.local(place.rank));
    let all = Span::elements(before, 0, data.elements());
    local.hand_down(local.place.size - 1, &[all], s);
    Some(before)
}

/// The cost of a scan on each host, an exscan between hosts, and a tree on each host.
pub(crate) fn cost_of_levels<A>(rows: &[Algorithm<A>], s: &Shape, t: &Tuning) -> f64 {
    let (hosts, within) = (t.known_hosts(), t.within());
    let levels = Shape { size: hosts.largest(), ..*s }.levels();
    cost_among(rows, s, hosts.largest(), &within)
        + cost_among(exscan::ALGORITHMS, s, hosts.count(), &t.between())
        + levels * within.model.message(s.n())
        + s.n() * within.model.reduce_us
}
