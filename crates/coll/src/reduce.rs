//! MPI_Reduce.
//!
//! | algorithm | source | rounds | bytes that a rank sends at most |
//! |---|---|---|---|
//! | host | flags and buffers in the job's segment | ⌈n / limit⌉ shm steps | n into the segment |
//! | two_level | to one rank a host, then to the root; MPICH "smp" | those of both parts | those of both parts |
//! | binomial | MPICH "binomial" | ⌈log2 p⌉ (+ 1) | n |
//! | rabenseifner | Rabenseifner 2004; MPICH "reduce_scatter_gather" | 2 ⌊log2 p⌋ (+ 1) | about 2 n |
//!
//! Operands keep rank order where the operation does not commute: the binomial tree then stands on rank 0, which passes
//! the result on. The order never depends on time, so a call gives the same bits every time.

use crate::accumulate::{Accumulator, Side, halves, piece};
use crate::algorithm::Algorithm;
use crate::call::{Place, Reduction};
use crate::cube::{Cube, Role};
use crate::hosts::Team;
use crate::model::Shape;
use crate::schedule::{Buffer, HostStep, Schedule, Span};
use crate::tree::Tree;
use crate::tuning::Tuning;
use crate::two_level::cost_of_both;
use std::ops::Range;

pub(crate) struct Args {
    pub root: u32,
    pub data: Reduction,
    /// The buffers of this rank's operand and, at the root, of the result.
    pub input: Buffer,
    pub output: Buffer,
}

pub(crate) const ALGORITHMS: &[Algorithm<Args>] = &[
    Algorithm {
        name: "host",
        fits: |s, _| s.host,
        cost: |s, t| {
            // The others write while the root folds.
            let root_us = t.model.fold_us(s) + t.model.copy_us / t.model.load;
            t.model.steps_ahead(s, t.limits.host_steps(s.bytes)) + s.n() * root_us
        },
        build: host,
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
        cost: |s, t| s.levels() * (t.model.message(s.n()) + s.n() * t.model.reduce_us),
        build: binomial,
    },
];

impl Args {
    /// `in_place` concerns the root alone.
    pub fn new(root: u32, data: Reduction, place: Place) -> Args {
        let input = if place.rank == root { data.input() } else { Buffer::Send };
        Args { root, data, input, output: Buffer::Recv }
    }

    pub fn shape(&self, place: Place, tuning: &Tuning) -> Shape {
        // A property that only the root knows must not decide.
        Shape { in_place: false, ..self.data.shape(place, tuning) }
    }

    fn accumulator(&self, place: Place, scratch: bool, s: &mut Schedule) -> Accumulator {
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

fn binomial(args: &Args, place: Place, _: &Tuning, s: &mut Schedule) {
    let top = if args.data.commutative { args.root } else { 0 };
    let tree = Tree::new(place, top);
    let all = 0..args.data.elements();
    let mut acc = args.accumulator(place, tree.children().next().is_some(), s);
    for child in tree.children() {
        acc.exchange(s, child.rank, Side::Higher, all.clone(), None);
    }
    if let Some(parent) = tree.parent() {
        s.send(parent, acc.value(&all));
    } else if place.rank != args.root {
        s.send(args.root, acc.value(&all));
    }
    s.end_round();
    if place.rank == args.root {
        if top != args.root {
            acc.fetch(s, top, &all);
        }
        acc.settle(s, &all);
    }
}

/// Halve the vector at every step outward, then collect the pieces towards the root on the way back.
fn rabenseifner(args: &Args, place: Place, _: &Tuning, s: &mut Schedule) {
    let cube = Cube::new(place, args.root);
    let all = 0..args.data.elements();
    let mut acc = args.accumulator(place, true, s);
    match cube.role(place.rank) {
        Role::Folded { speaker } => s.send(speaker, acc.value(&all)),
        Role::Member { number, partner } => {
            if let Some(partner) = partner {
                acc.exchange(s, partner, Side::of(partner, place.rank), all.clone(), None);
            }
            let Role::Member { number: goal, .. } = cube.role(args.root) else { return };
            let pieces = reduce_scatter(&mut acc, &cube, number, all.clone(), s);
            collect(&mut acc, &cube, number, goal, &pieces, s);
            if place.rank == args.root {
                acc.settle(s, &all);
            }
        }
    }
}

/// The ranges that a corner held before each dimension and after the last; a cube has less than 32.
pub(crate) type Pieces = [Range<u64>; 33];

/// Recursive halving in rank order (distances 1, 2, 4, …): afterwards corner `number` has the reduction of the last
/// range in the returned list.
pub(crate) fn reduce_scatter(
    acc: &mut Accumulator,
    cube: &Cube,
    number: u32,
    all: Range<u64>,
    s: &mut Schedule,
) -> Pieces {
    let mut pieces = [const { 0..0 }; 33];
    pieces[0] = all;
    for (level, mask) in cube.masks().enumerate() {
        let (low, high) = halves(&pieces[level]);
        let (keep, give) = if number & mask == 0 { (low, high) } else { (high, low) };
        let peer = number ^ mask;
        acc.exchange(s, cube.rank(peer), Side::of(peer, number), keep.clone(), Some(give));
        pieces[level + 1] = keep;
    }
    pieces
}

/// The way back for a root at corner `goal`: of each pair the one nearer to it takes the other's piece.
fn collect(acc: &mut Accumulator, cube: &Cube, number: u32, goal: u32, pieces: &Pieces, s: &mut Schedule) {
    for (level, mask) in cube.masks().enumerate().rev() {
        let peer = cube.rank(number ^ mask);
        if (number ^ goal) & mask != 0 {
            s.send(peer, acc.value(&pieces[level + 1]));
            return;
        }
        let (low, high) = halves(&pieces[level]);
        acc.fetch(s, peer, if number & mask == 0 { &high } else { &low });
        s.end_round();
    }
}

fn two_level(args: &Args, place: Place, t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let leaders = hosts.leaders(Some(args.root));
    let leader = leaders[hosts.host_of(place.rank) as usize];
    let input = reduce_to(leader, args, place, t, s);
    if let Some(between) = Team::of(&leaders, place.rank) {
        let part = Args { root: between.index(args.root), input, ..*args };
        between.run(ALGORITHMS, &part, &part.shape(between.place, t), &t.between(), s);
    }
}

/// Reduces the data of this host's ranks to one of them. Returns the place of the result on the leader: where the root
/// wants it, or in memory of the schedule; for a rank alone on its host, where it was.
pub(crate) fn reduce_to(leader: u32, args: &Args, place: Place, t: &Tuning, s: &mut Schedule) -> Buffer {
    let local = t.known_hosts().local(place.rank);
    if local.place.size == 1 {
        return args.input;
    }
    let is_scratch = place.rank == leader && place.rank != args.root;
    let output = if is_scratch { s.scratch_elements(args.data.elements()) } else { args.output };
    let part = Args { root: local.index(leader), output, ..*args };
    local.run(ALGORITHMS, &part, &part.shape(local.place, t), &t.within(), s);
    output
}

fn host(args: &Args, place: Place, t: &Tuning, s: &mut Schedule) {
    for range in host_ranges(&args.data, t) {
        let from = piece(args.input, &range);
        let into = if place.rank == args.root { piece(args.output, &range) } else { Span::EMPTY };
        s.host(HostStep::Reduce { root: args.root, from, into });
    }
}

/// The vector cut into pieces for shm steps.
pub(crate) fn host_ranges(data: &Reduction, t: &Tuning) -> impl Iterator<Item = Range<u64>> + use<> {
    let count = data.elements();
    let each = (t.limits.host_bytes / data.type_size.max(1)).max(1);
    (0..count).step_by(each as usize).map(move |at| at..(at + each).min(count))
}
