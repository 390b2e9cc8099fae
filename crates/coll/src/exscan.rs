//! MPI_Exscan.
//!
//! | algorithm | source | rounds | bytes that a rank sends at most |
//! |---|---|---|---|
//! | host | each folds the slots of those below | one shm step | n into the segment |
//! | two_level | on each host, then the hosts' totals; MPICH "smp" of MPI_Scan | both parts', and a tree | the parts' |
//! | chain | MPICH "linear" of MPI_Scan | p − 1, two a rank | n |
//! | recursive_doubling | Hillis, Steele 1986; MPICH "recursive_doubling" | ⌈log2 p⌉ | n ⌈log2 p⌉ |
//!
//! n is the length of the vector in bytes, p the number of ranks. The column "source" has the origin of an algorithm,
//! or in brief how it works. All algorithms keep rank order. None touches the receive buffer of rank 0.

use crate::accumulate::piece;
use crate::algorithm::Algorithm;
use crate::call::{RankAndSize, ReductionArgs};
use crate::scan;
use crate::schedule::{BufferId, MemberSet, OperandOrder, RankSlot, Schedule, Span};
use crate::tuning::{Tuning, fits_one_shm_step};

pub(crate) struct Args {
    pub data: ReductionArgs,
    /// The buffers of this rank's operand and of the result.
    pub input: BufferId,
    pub output: BufferId,
}

pub(crate) const ALGORITHMS: &[Algorithm<Args>] = &[
    Algorithm { name: "host", fits: fits_one_shm_step, cost: scan::cost_of_shm, build: shm },
    Algorithm {
        name: "two_level",
        fits: |_, t| t.has_hosts_in_order(),
        cost: |s, t| scan::cost_of_levels(ALGORITHMS, s, t),
        build: two_level,
    },
    Algorithm {
        name: "chain",
        fits: |_, _| true,
        cost: |s, t| scan::cost_of_chain(s, t) + (s.p() - 1.0) * s.n() * t.model.copy_us / t.model.load,
        build: chain,
    },
    Algorithm {
        name: "recursive_doubling",
        fits: |_, _| true,
        cost: |s, t| s.levels() * (t.model.message_cost_us(s.n()) + 2.0 * s.n() * t.model.reduce_us),
        build: recursive_doubling,
    },
];

impl Args {
    pub fn new(data: ReductionArgs) -> Args {
        Args { data, input: data.input(), output: BufferId::Recv }
    }
}

fn shm(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let (all, bytes) = (0..args.data.elements(), args.data.bytes());
    if all.is_empty() {
        return;
    }
    let (slot, result) = (|rank| RankSlot { rank, bytes }, piece(args.output, &all));
    s.begin_exchange(bytes, MemberSet::Above, MemberSet::Below);
    s.write_slot(0, piece(args.input, &all));
    if let Some(nearest) = place.rank.checked_sub(1) {
        s.read_slot(slot(nearest), 0, result);
        (0..nearest).rev().for_each(|rank| s.reduce_slot(slot(rank), 0, result));
    }
}

/// Before round k, `partial` has the reduction of the 2^k ranks up to and including this one (or of all, if there are
/// fewer); the result buffer has the reduction of the same ranks without this one.
fn recursive_doubling(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let count = args.data.elements();
    if count == 0 || place.size == 1 {
        return;
    }
    let mut partial = Span::elements(args.input, 0, count);
    let result = Span::elements(args.output, 0, count);
    // Rank 0 receives nothing, because there are no ranks below it: it only contributes its own operand.
    if place.rank > 0 {
        let own = Span::elements(s.scratch_elements(count), 0, count);
        s.copy(partial, own);
        partial = own;
    }
    let tmp = (place.rank > 0).then(|| Span::elements(s.scratch_elements(count), 0, count));
    let mut distance = 1;
    while distance < place.size {
        let (to, last) = (place.rank + distance, place.rank + 2 * distance >= place.size);
        if to < place.size {
            s.send(to, partial);
        }
        if let Some(tmp) = tmp.filter(|_| place.rank >= distance) {
            s.recv(place.rank - distance, tmp);
            if distance == 1 {
                s.copy(tmp, result);
            } else {
                s.reduce(tmp, result, OperandOrder::FromFirst);
            }
            if !last {
                s.reduce(tmp, partial, OperandOrder::FromFirst);
            }
        }
        s.end_round();
        distance *= 2;
    }
}

fn chain(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let all = |buffer: BufferId| Span::elements(buffer, 0, args.data.elements());
    let (is_first, is_last) = (place.rank == 0, place.rank + 1 == place.size);
    // If the call is in place, the received result would overwrite the own operand; so the operand is copied first.
    let sum = (!is_first && !is_last).then(|| s.scratch_elements(args.data.elements()));
    if let Some(sum) = sum {
        s.copy(all(args.input), all(sum));
    }
    if !is_first {
        s.recv(place.rank - 1, all(args.output));
    }
    if let Some(sum) = sum {
        s.reduce(all(args.output), all(sum), OperandOrder::FromFirst);
    }
    if !is_last {
        s.end_round();
        s.send(place.rank + 1, all(sum.unwrap_or(args.input)));
    }
}

/// Each rank's result is the reduction of all hosts before its own, combined with the exscan on its own host.
fn two_level(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let (local, lasts) = (hosts.local(place.rank), hosts.last_ranks());
    let all = |buffer: BufferId| Span::elements(buffer, 0, args.data.elements());
    let is_last = local.place.rank + 1 == local.place.size;
    let total = match is_last && local.place.size > 1 {
        true => s.scratch_elements(args.data.elements()),
        false => args.input,
    };
    if total != args.input {
        s.copy(all(args.input), all(total));
    }
    let shape = args.data.shape(local.place, t);
    local.append_collective(ALGORITHMS, args, &shape, &t.on_host(), s);
    if total != args.input {
        s.reduce(all(args.output), all(total), OperandOrder::FromFirst);
    }
    let Some(before) = scan::reduce_hosts_before(&args.data, total, place, t, &lasts, s) else { return };
    match local.place.rank {
        0 => s.copy(all(before), all(args.output)),
        _ => s.reduce(all(before), all(args.output), OperandOrder::FromFirst),
    }
}
