//! MPI_Allreduce.
//!
//! | algorithm | source | rounds | bytes that a rank sends at most |
//! |---|---|---|---|
//! | host | flags and buffers in the job's segment | ⌈n / limit⌉ shm steps | n into the segment |
//! | two_level | reduce on hosts, allreduce between, bcast; MPICH "smp" | those of the parts | those of the parts |
//! | recursive_doubling | MPICH "recursive_doubling" | ⌊log2 p⌋ (+ 2) | n ⌈log2 p⌉ |
//! | rabenseifner | Rabenseifner 2004; MPICH "reduce_scatter_allgather" | 2 ⌊log2 p⌋ (+ 2) | about 2 n |
//! | ring | Patarasuk, Yuan 2009; MPICH "ring" | 2 (p − 1) | 2 n (p − 1) / p |
//!
//! n is the length of the vector in bytes, p the number of ranks; limit is `ScheduleLimits::shm_step_bytes`. The
//! column "source" has the origin of an algorithm, or in brief how it works. "(+ 2)" applies if p is not a power of
//! two.
//!
//! All ranks get the same bits, in each run of a program. Each element is computed either by one rank or by both ends
//! of an exchange, which use the same order of operands; and the order depends on size, count and algorithm alone.
//! Ring does not keep rank order and is only for operations that commute; so is two_level, unless the ranks of each
//! host are consecutive. The other algorithms keep rank order.

use crate::accumulate::{Accumulator, OperandSide, halves, part, piece};
use crate::algorithm::Algorithm;
use crate::bcast;
use crate::call::{BlockBuffer, RankAndSize, ReductionArgs};
use crate::cost_model::CallShape;
use crate::host_map::Subgroup;
use crate::hypercube::{Hypercube, Role};
use crate::reduce::{self, shm_ranges};
use crate::schedule::{BufferId, OperandOrder, Schedule, ShmStep, Span};
use crate::tuning::Tuning;
use crate::two_level::cost_among;

pub(crate) const ALGORITHMS: &[Algorithm<ReductionArgs>] = &[
    Algorithm { name: "host", fits: |s, _| s.has_shm_steps, cost: cost_of_shm, build: shm },
    Algorithm {
        name: "rabenseifner",
        fits: |_, _| true,
        cost: |s, t| {
            let share = (s.p() - 1.0) / s.p() * s.n();
            (2.0 * s.levels() + s.fold()) * t.model.message_us
                + (2.0 * share + s.fold() * s.n()) * t.model.byte_us
                + (share + s.fold() / 2.0 * s.n()) * t.model.reduce_us
        },
        build: rabenseifner,
    },
    Algorithm {
        name: "ring",
        fits: |s, _| s.commutative,
        cost: |s, t| {
            let share = (s.p() - 1.0) / s.p() * s.n();
            2.0 * (s.p() - 1.0) * t.model.message_us + share * (2.0 * t.model.byte_us + t.model.reduce_us)
        },
        build: ring,
    },
    Algorithm {
        name: "two_level",
        fits: |s, t| t.hosts.is_some() && (s.commutative || t.has_hosts_in_order()),
        cost: |s, t| {
            let (hosts, within) = (t.known_hosts(), t.on_host());
            cost_among(reduce::ALGORITHMS, s, hosts.largest(), &within)
                + cost_among(ALGORITHMS, s, hosts.count(), &t.between_hosts())
                + cost_among(bcast::ALGORITHMS, s, hosts.largest(), &within)
        },
        build: two_level,
    },
    Algorithm {
        name: "recursive_doubling",
        fits: |_, _| true,
        cost: |s, t| (s.levels() + s.fold()) * (t.model.message_cost_us(s.n()) + s.n() * t.model.reduce_us),
        build: recursive_doubling,
    },
];

/// Returns the cost of shm steps in which the last rank to arrive reduces all contributions while the others wait.
pub(crate) fn cost_of_shm(s: &CallShape, t: &Tuning) -> f64 {
    t.model.shm_steps_us(s, t.limits.shm_steps(s.bytes)) + s.n() * (t.model.fold_us(s) + 2.0 * t.model.copy_us)
}

impl ReductionArgs {
    pub(crate) fn shape(&self, place: RankAndSize, tuning: &Tuning) -> CallShape {
        let has_shm_steps =
            tuning.one_host && place.size > 1 && self.dense && self.type_size <= tuning.limits.shm_step_bytes;
        CallShape {
            size: place.size,
            bytes: self.bytes(),
            uniform: true,
            commutative: self.commutative,
            in_place: self.in_place,
            has_shm_steps,
        }
    }
}

fn recursive_doubling(data: &ReductionArgs, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    double_recursively(Accumulator::new(data.input(), BufferId::Recv), data.elements(), place, s);
}

/// Reduces `count` elements by recursive doubling. Every rank gets the result in the accumulator's result buffer.
pub(crate) fn double_recursively(mut acc: Accumulator, count: u64, place: RankAndSize, s: &mut Schedule) {
    let all = 0..count;
    let hypercube = Hypercube::new(place, 0);
    match hypercube.role(place.rank) {
        Role::Folded { proxy } => {
            s.send(proxy, acc.value(&all));
            s.end_round();
            acc.receive_result_part(s, proxy, &all);
        }
        Role::Member { number, partner } => {
            if let Some(partner) = partner {
                acc.exchange(s, partner, OperandSide::of(partner, place.rank), all.clone(), None);
            }
            for peer in hypercube.masks().map(|mask| number ^ mask) {
                acc.exchange(s, hypercube.rank(peer), OperandSide::of(peer, number), all.clone(), Some(all.clone()));
            }
            if let Some(partner) = partner {
                s.send(partner, acc.value(&all));
            }
            acc.move_to_result(s, &all);
        }
    }
}

/// Rabenseifner's algorithm: a reduce_scatter by recursive halving, then an allgather of the reduced pieces by
/// recursive doubling.
fn rabenseifner(data: &ReductionArgs, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let all = 0..data.elements();
    let hypercube = Hypercube::new(place, 0);
    let mut acc = Accumulator::new(data.input(), BufferId::Recv);
    match hypercube.role(place.rank) {
        Role::Folded { proxy } => {
            s.send(proxy, acc.value(&all));
            s.end_round();
            acc.receive_result_part(s, proxy, &all);
        }
        Role::Member { number, partner } => {
            if let Some(partner) = partner {
                acc.exchange(s, partner, OperandSide::of(partner, place.rank), all.clone(), None);
            }
            let pieces = reduce::reduce_scatter(&mut acc, &hypercube, number, all.clone(), s);
            for (level, mask) in hypercube.masks().enumerate().rev() {
                let (low, high) = halves(&pieces[level]);
                let (mine, theirs) = if number & mask == 0 { (low, high) } else { (high, low) };
                s.send(hypercube.rank(number ^ mask), acc.value(&mine));
                acc.receive_result_part(s, hypercube.rank(number ^ mask), &theirs);
                s.end_round();
            }
            if let Some(partner) = partner {
                s.send(partner, acc.value(&all));
            }
            acc.move_to_result(s, &all);
        }
    }
}

/// The vector has p parts. Part b starts at rank b and is sent around the ring; each rank reduces its own operand
/// into it. Then the reduced parts are sent around the ring once more.
fn ring(data: &ReductionArgs, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let (size, count) = (place.size, data.elements());
    let slice = |buffer: BufferId, steps: u32| piece(buffer, &part(count, size, place.before(steps % size)));
    let (next, last) = (place.after(1 % size), place.before(1 % size));
    if size == 1 {
        return Accumulator::new(data.input(), BufferId::Recv).move_to_result(s, &(0..count));
    }
    let tmp = data.in_place.then(|| s.scratch_elements(part(count, size, 0).end));
    for step in 0..size - 1 {
        s.send(next, slice(if step == 0 { data.input() } else { BufferId::Recv }, step));
        let into = slice(BufferId::Recv, step + 1);
        // Both branches compute `own op received`. If the call is in place, the own operand is already in the memory
        // of the result, so the operand is received into scratch memory.
        if let Some(tmp) = tmp {
            let tmp = Span { buffer: tmp, at: 0, ..into };
            s.recv(last, tmp);
            s.reduce(tmp, into, OperandOrder::IntoFirst);
        } else {
            s.recv(last, into);
            s.reduce(slice(BufferId::Send, step + 1), into, OperandOrder::FromFirst);
        }
        s.end_round();
    }
    for step in 0..size - 1 {
        s.send(next, slice(BufferId::Recv, (step + size - 1) % size));
        s.recv(last, slice(BufferId::Recv, step));
        s.end_round();
    }
}

fn two_level(data: &ReductionArgs, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let (leaders, local) = (hosts.leaders(None), hosts.local(place.rank));
    let leader = leaders[hosts.host_of(place.rank) as usize];
    // On each host the leader is the root of a reduction, whose result it gets in its receive buffer. A leader that
    // is alone on its host keeps its operand in the input buffer, which is then `sum`.
    let args = reduce::Args { root: leader, data: *data, input: data.input(), output: BufferId::Recv };
    let sum = reduce::reduce_to(leader, &args, place, t, s);
    if let Some(leader_group) = Subgroup::of(&leaders, place.rank) {
        let part = ReductionArgs { in_place: sum == BufferId::Recv, ..*data };
        leader_group.append_collective(
            ALGORITHMS,
            &part,
            &part.shape(leader_group.place, &t.between_hosts()),
            &t.between_hosts(),
            s,
        );
    }
    let data = BlockBuffer { count: data.elements(), type_size: data.type_size, dense: data.dense };
    let part = bcast::Args { root: local.index(leader), data };
    local.append_collective(bcast::ALGORITHMS, &part, &part.shape(local.place, &t.on_host()), &t.on_host(), s);
}

fn shm(data: &ReductionArgs, _: RankAndSize, t: &Tuning, s: &mut Schedule) {
    for range in shm_ranges(data, t) {
        s.shm_step(ShmStep::Allreduce { from: piece(data.input(), &range), into: piece(BufferId::Recv, &range) });
    }
}
