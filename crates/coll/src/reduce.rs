//! MPI_Reduce.
//!
//! | algorithm | source | rounds | bytes that a rank sends at most |
//! |---|---|---|---|
//! | host | flags and buffers in the job's segment | ⌈n / limit⌉ shm steps | n into the segment |
//! | two_level | to one rank a host, then to the root; MPICH "smp" | those of both parts | those of both parts |
//! | binomial | MPICH "binomial" | ⌈log2 p⌉ (+ 1) | n |
//! | rabenseifner | Rabenseifner 2004; MPICH "reduce_scatter_gather" | 2 ⌊log2 p⌋ (+ 1) | about 2 n |
//!
//! n is the length of the vector in bytes, p the number of ranks; limit is `ScheduleLimits::shm_step_bytes`. The
//! column "source" has the origin of an algorithm, or in brief how it works.
//!
//! If the operation does not commute, operands keep rank order: the root of the binomial tree is then rank 0, which
//! sends the result to the root of the call; that is the additional round "(+ 1)" of binomial. rabenseifner has one
//! more round if p is not a power of two. The order of operands never depends on time, so that a call gives the same
//! bits every time.

use crate::accumulate::{Accumulator, OperandSide, halves, piece};
use crate::algorithm::Algorithm;
use crate::binomial_tree::BinomialTree;
use crate::call::{RankAndSize, ReductionArgs};
use crate::cost_model::CallShape;
use crate::host_map::Subgroup;
use crate::hypercube::{Hypercube, Role};
use crate::schedule::{BufferId, Schedule, ShmStep, Span};
use crate::tuning::Tuning;
use crate::two_level::cost_of_both;
use std::ops::Range;

pub(crate) struct Args {
    pub root: u32,
    pub data: ReductionArgs,
    /// The buffer of this rank's operand; `output` is the buffer of the result at the root.
    pub input: BufferId,
    pub output: BufferId,
}

pub(crate) const ALGORITHMS: &[Algorithm<Args>] = &[
    Algorithm {
        name: "host",
        fits: |s, _| s.has_shm_steps,
        cost: |s, t| {
            // The other ranks write their contributions while the root reduces. Its copies of a predefined operation's
            // operands stay in its first-level cache. A function of the program, and far ranks, need a copy that is not
            // counted here: not all ranks know of it.
            let root_us = t.model.fold_us(s);
            t.model.pipelined_steps_us(s, t.limits.shm_steps(s.bytes)) + s.n() * root_us
        },
        build: shm,
    },
    Algorithm {
        name: "rabenseifner",
        fits: |_, _| true,
        cost: |s, t| {
            let share = (s.p() - 1.0) / s.p() * s.n();
            (2.0 * s.levels() + s.fold() / 2.0) * t.model.message_us
                + (2.0 * share + s.fold() / 2.0 * s.n()) * t.model.byte_us
                + (share + s.fold() / 2.0 * s.n()) * t.model.reduce_us
        },
        build: rabenseifner,
    },
    Algorithm {
        name: "two_level",
        fits: |s, t| t.hosts.is_some() && (s.commutative || t.has_hosts_in_order()),
        cost: |s, t| cost_of_both(ALGORITHMS, s, t),
        build: two_level,
    },
    Algorithm {
        name: "binomial",
        fits: |_, _| true,
        cost: |s, t| s.levels() * (t.model.message_cost_us(s.n()) + s.n() * t.model.reduce_us),
        build: binomial,
    },
];

impl Args {
    /// Makes the arguments of a call. `data.in_place` is used only at the root.
    pub fn new(root: u32, data: ReductionArgs, place: RankAndSize) -> Args {
        let input = if place.rank == root { data.input() } else { BufferId::Send };
        Args { root, data, input, output: BufferId::Recv }
    }

    pub fn shape(&self, place: RankAndSize, tuning: &Tuning) -> CallShape {
        // The choice of an algorithm must not depend on a fact that only the root knows.
        CallShape { in_place: false, ..self.data.shape(place, tuning) }
    }

    fn accumulator(&self, place: RankAndSize, scratch: bool, s: &mut Schedule) -> Accumulator {
        let acc = if place.rank == self.root {
            self.output
        } else if scratch {
            s.scratch_elements(self.data.elements())
        } else {
            self.input
        };
        Accumulator::new(self.input, acc)
    }
}

fn binomial(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let top = if args.data.commutative { args.root } else { 0 };
    let tree = BinomialTree::new(place, top);
    let all = 0..args.data.elements();
    let mut acc = args.accumulator(place, tree.children().next().is_some(), s);
    for child in tree.children() {
        acc.exchange(s, child.rank, OperandSide::Higher, all.clone(), None);
    }
    if let Some(parent) = tree.parent() {
        s.send(parent, acc.value(&all));
    } else if place.rank != args.root {
        s.send(args.root, acc.value(&all));
    }
    s.end_round();
    if place.rank == args.root {
        if top != args.root {
            acc.receive_result_part(s, top, &all);
        }
        acc.move_to_result(s, &all);
    }
}

/// Rabenseifner's algorithm: a reduce_scatter by recursive halving, then the pieces are collected at the root.
fn rabenseifner(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let hypercube = Hypercube::new(place, args.root);
    let all = 0..args.data.elements();
    let mut acc = args.accumulator(place, true, s);
    match hypercube.role(place.rank) {
        Role::Folded { proxy } => s.send(proxy, acc.value(&all)),
        Role::Member { number, partner } => {
            if let Some(partner) = partner {
                acc.exchange(s, partner, OperandSide::of(partner, place.rank), all.clone(), None);
            }
            let Role::Member { number: root_corner, .. } = hypercube.role(args.root) else { return };
            let pieces = reduce_scatter(&mut acc, &hypercube, number, all.clone(), s);
            collect_at_root(&mut acc, &hypercube, number, root_corner, &pieces, s);
            if place.rank == args.root {
                acc.move_to_result(s, &all);
            }
        }
    }
}

/// The ranges of which a corner has the value: before each dimension of the cube, and after the last one. A cube has
/// fewer than 32 dimensions.
pub(crate) type CornerRanges = [Range<u64>; 33];

/// Appends a reduce_scatter by recursive halving, which keeps rank order (distances 1, 2, 4, …). Returns the ranges
/// of corner `number`; afterwards the corner has the reduction of the last of them.
pub(crate) fn reduce_scatter(
    acc: &mut Accumulator,
    hypercube: &Hypercube,
    number: u32,
    all: Range<u64>,
    s: &mut Schedule,
) -> CornerRanges {
    let mut pieces = [const { 0..0 }; 33];
    pieces[0] = all;
    for (level, mask) in hypercube.masks().enumerate() {
        let (low, high) = halves(&pieces[level]);
        let (keep_range, send_range) = if number & mask == 0 { (low, high) } else { (high, low) };
        let peer = number ^ mask;
        acc.exchange(s, hypercube.rank(peer), OperandSide::of(peer, number), keep_range.clone(), Some(send_range));
        pieces[level + 1] = keep_range;
    }
    pieces
}

/// Collects the pieces at the root, which is corner `root_corner`. In each dimension, from the last to the first, a
/// corner that is on the root's side receives the piece of its peer; the peer sends its piece and is done.
fn collect_at_root(
    acc: &mut Accumulator,
    hypercube: &Hypercube,
    number: u32,
    root_corner: u32,
    pieces: &CornerRanges,
    s: &mut Schedule,
) {
    for (level, mask) in hypercube.masks().enumerate().rev() {
        let peer = hypercube.rank(number ^ mask);
        if (number ^ root_corner) & mask != 0 {
            s.send(peer, acc.value(&pieces[level + 1]));
            return;
        }
        let (low, high) = halves(&pieces[level]);
        acc.receive_result_part(s, peer, if number & mask == 0 { &high } else { &low });
        s.end_round();
    }
}

fn two_level(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let leaders = hosts.leaders(Some(args.root));
    let leader = leaders[hosts.host_of(place.rank) as usize];
    let input = reduce_to(leader, args, place, t, s);
    if let Some(leader_group) = Subgroup::of(&leaders, place.rank) {
        let part = Args { root: leader_group.index(args.root), input, ..*args };
        leader_group.append_collective(ALGORITHMS, &part, &part.shape(leader_group.place, t), &t.between_hosts(), s);
    }
}

/// Appends a reduction of the data of this host's ranks to their leader. Returns the buffer of the result on the
/// leader: `args.output` if the leader is the root of the call, otherwise scratch memory. A rank that is alone on its
/// host keeps its operand in `args.input`, which is returned then.
pub(crate) fn reduce_to(leader: u32, args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) -> BufferId {
    let local = t.known_hosts().local(place.rank);
    if local.place.size == 1 {
        return args.input;
    }
    let is_scratch = place.rank == leader && place.rank != args.root;
    let output = if is_scratch { s.scratch_elements(args.data.elements()) } else { args.output };
    let part = Args { root: local.index(leader), output, ..*args };
    local.append_collective(ALGORITHMS, &part, &part.shape(local.place, t), &t.on_host(), s);
    output
}

fn shm(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    for range in shm_ranges(&args.data, t) {
        let from = piece(args.input, &range);
        let into = if place.rank == args.root { piece(args.output, &range) } else { Span::EMPTY };
        s.shm_step(ShmStep::Reduce { root: args.root, from, into });
    }
}

/// Returns the ranges of elements into which the vector is divided for shm steps.
pub(crate) fn shm_ranges(data: &ReductionArgs, t: &Tuning) -> impl Iterator<Item = Range<u64>> + use<> {
    let count = data.elements();
    let each = (t.limits.shm_step_bytes / data.type_size.max(1)).max(1);
    (0..count).step_by(each as usize).map(move |at| at..(at + each).min(count))
}
