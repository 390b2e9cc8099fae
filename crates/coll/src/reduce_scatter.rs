//! MPI_Reduce_scatter and MPI_Reduce_scatter_block.
//!
//! | algorithm | source | rounds | bytes that a rank sends at most |
//! |---|---|---|---|
//! | host | allreduce by shm steps | ⌈n / limit⌉ shm steps | n into the segment |
//! | host_parts | each rank folds its block of all slots | one shm step | n into the segment |
//! | host_blocks | each block reduced to its rank | p ⌈n / (p limit)⌉ shm steps, overlapped | n into the segment |
//! | two_level | reduce on each host, reduce_scatter between, blocks to ranks | those of both, + 1 | n |
//! | recursive_doubling | allreduce, MPICH "recursive_doubling" | ⌊log2 p⌋ (+ 2) | n ⌈log2 p⌉ |
//! | recursive_halving | MPICH "recursive_halving" | ⌊log2 p⌋ (+ 2) | n (p − 1) / p (+ n) |
//! | pairwise | MPICH "pairwise" | p − 1 | n (p − 1) / p |
//!
//! n is the length of the whole vector in bytes, p the number of ranks; limit is `ScheduleLimits::shm_step_bytes`.
//! "(+ 2)" and "(+ n)" apply if p is not a power of two. The column "source" has the origin of an algorithm, or in
//! brief how it works. "Overlapped": a rank that has contributed to a step goes on to the next one without waiting.
//! Only recursive_halving needs an operation that commutes: in its first step the partners have the largest distance,
//! so that every rank ends with its own block, and therefore operands are not combined in rank order.

use crate::accumulate::{Accumulator, OperandSide, piece};
use crate::algorithm::Algorithm;
use crate::allreduce;
use crate::call::{IntArray, RankAndSize, ReductionArgs};
use crate::cost_model::CallShape;
use crate::host_map::Subgroup;
use crate::hypercube::{Hypercube, Role};
use crate::reduce::{self, shm_ranges};
use crate::schedule::{BufferId, MemberSet, OperandOrder, RankSlot, Schedule, ShmStep, Span};
use crate::tuning::{Tuning, fits_one_shm_step};
use crate::two_level::cost_among;
use std::ops::Range;

pub(crate) struct Args {
    /// The whole vector.
    data: ReductionArgs,
    blocks: BlockBoundaries,
    /// The buffers of this rank's operand and of the result.
    input: BufferId,
    output: BufferId,
}

/// The first element of each block: computed from the length of equal blocks, or a list of the sums of the counts.
enum BlockBoundaries {
    Equal(u64),
    Each(Vec<u64>),
}

impl BlockBoundaries {
    fn at(&self, rank: u32) -> u64 {
        match self {
            BlockBoundaries::Equal(count) => count * u64::from(rank),
            BlockBoundaries::Each(sums) => sums[rank as usize],
        }
    }
}

pub(crate) const ALGORITHMS: &[Algorithm<Args>] = &[
    Algorithm {
        name: "host_parts",
        fits: fits_one_shm_step,
        cost: |s, t| {
            let share = s.n() / s.p();
            t.model.shm_steps_us(s, 1.0) + (s.n() + share) * t.model.copy_us + (s.p() - 1.0) * share * t.model.reduce_us
        },
        build: shm_parts,
    },
    Algorithm { name: "host", fits: |s, _| s.has_shm_steps, cost: allreduce::cost_of_shm, build: shm },
    Algorithm {
        name: "host_blocks",
        fits: |s, _| s.has_shm_steps,
        cost: |s, t| {
            let steps = s.p() * t.limits.shm_steps(s.bytes.div_ceil(s.size.into()));
            // The ranks reduce their own blocks at the same time: only one block counts, 1 / p of the vector.
            t.model.pipelined_steps_us(s, steps) + s.n() * (t.model.copy_us + (s.p() - 1.0) / s.p() * t.model.reduce_us)
        },
        build: shm_blocks,
    },
    Algorithm {
        name: "two_level",
        fits: |_, t| t.has_hosts_in_order(),
        cost: |s, t| {
            let (hosts, within) = (t.known_hosts(), t.on_host());
            cost_among(reduce::ALGORITHMS, s, hosts.largest(), &within)
                + cost_among(ALGORITHMS, s, hosts.count(), &t.between_hosts())
                + within.model.message_cost_us(s.n() / f64::from(hosts.count()))
        },
        build: two_level,
    },
    Algorithm {
        name: "recursive_doubling",
        fits: |_, _| true,
        cost: |s, t| (s.levels() + s.fold()) * (t.model.message_cost_us(s.n()) + s.n() * t.model.reduce_us),
        build: recursive_doubling,
    },
    Algorithm {
        name: "recursive_halving",
        fits: |s, _| s.commutative,
        cost: |s, t| {
            let share = (s.p() - 1.0) / s.p() * s.n();
            (s.levels() + s.fold()) * t.model.message_us
                + (share + s.fold() / 2.0 * s.n()) * (t.model.byte_us + t.model.reduce_us)
        },
        build: recursive_halving,
    },
    Algorithm {
        name: "pairwise",
        fits: |_, _| true,
        cost: |s, t| {
            let share = (s.p() - 1.0) / s.p() * s.n();
            (s.p() - 1.0) * t.model.message_us + share * (t.model.byte_us + t.model.reduce_us)
        },
        build: pairwise,
    },
];

impl Args {
    pub fn new(counts: IntArray, data: ReductionArgs, place: RankAndSize) -> Args {
        if let IntArray::Same(count) = counts {
            return Args::block(ReductionArgs { count: count as u64, ..data }, place);
        }
        let mut sums = Vec::with_capacity(place.size as usize + 1);
        let mut sum = 0;
        sums.push(0);
        for rank in 0..place.size {
            sum += counts.at(rank) as u64;
            sums.push(sum);
        }
        Args::of(ReductionArgs { count: sum, ..data }, BlockBoundaries::Each(sums))
    }

    pub fn block(data: ReductionArgs, place: RankAndSize) -> Args {
        let count = data.count * u64::from(place.size);
        Args::of(ReductionArgs { count, ..data }, BlockBoundaries::Equal(data.count))
    }

    fn of(data: ReductionArgs, blocks: BlockBoundaries) -> Args {
        Args { data, blocks, input: data.input(), output: BufferId::Recv }
    }

    pub fn shape(&self, place: RankAndSize, tuning: &Tuning) -> CallShape {
        self.data.shape(place, tuning)
    }

    /// Returns the elements of the blocks of the ranks `first .. end`.
    fn blocks(&self, first: u32, end: u32) -> Range<u64> {
        if self.data.type_size == 0 { 0..0 } else { self.blocks.at(first)..self.blocks.at(end) }
    }

    fn block_of(&self, rank: u32) -> Range<u64> {
        self.blocks(rank, rank + 1)
    }

    /// Returns the span of this rank's result, which is at the front of its receive buffer.
    fn result(&self, place: RankAndSize) -> Span {
        let own = self.block_of(place.rank);
        Span::elements(self.output, 0, own.end - own.start)
    }
}

/// In each step a rank sends another rank the operand for that rank's block. The operands of a rank's own block
/// arrive first from the ranks below it, in descending order, then from the ranks above it, in descending order. Rank
/// order is kept by two accumulators, one for each side.
fn pairwise(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let input = args.input;
    let own = args.block_of(place.rank);
    let result = args.result(place);
    // If the call is in place, the receive buffer is still being read.
    let acc =
        if args.input == args.output { Span { buffer: s.scratch_elements(result.count), ..result } } else { result };
    s.copy(piece(input, &own), acc);
    let tmp = Span { buffer: s.scratch_elements(result.count), ..result };
    let above = (place.rank + 1 < place.size).then(|| Span { buffer: s.scratch_elements(result.count), ..result });
    for step in 1..place.size {
        let (to, from) = (place.after(step), place.before(step));
        s.send(to, piece(input, &args.block_of(to)));
        match above {
            Some(above) if from + 1 == place.size => s.recv(from, above),
            Some(above) if from > place.rank => {
                s.recv(from, tmp);
                s.reduce(tmp, above, OperandOrder::FromFirst);
            }
            _ => {
                s.recv(from, tmp);
                s.reduce(tmp, acc, OperandOrder::FromFirst);
            }
        }
        s.end_round();
    }
    if let Some(above) = above {
        s.reduce(above, acc, OperandOrder::IntoFirst);
    }
    if acc != result {
        s.copy(acc, result);
    }
}

fn recursive_halving(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let hypercube = Hypercube::new(place, 0);
    let mut acc = Accumulator::new(args.input, s.scratch_elements(args.data.elements()));
    let all = args.blocks(0, place.size);
    match hypercube.role(place.rank) {
        Role::Folded { proxy } => {
            s.send(proxy, acc.value(&all));
            s.end_round();
            s.recv(proxy, args.result(place));
        }
        Role::Member { number, partner } => {
            if let Some(partner) = partner {
                acc.exchange(s, partner, OperandSide::of(partner, place.rank), all, None);
            }
            let corners =
                |first: u32, count: u32| args.blocks(hypercube.first_rank(first), hypercube.first_rank(first + count));
            for mask in hypercube.masks().rev() {
                let (keep_corner, send_corner) = (number & !(mask - 1), (number ^ mask) & !(mask - 1));
                let side = OperandSide::of(send_corner, keep_corner);
                acc.exchange(
                    s,
                    hypercube.rank(number ^ mask),
                    side,
                    corners(keep_corner, mask),
                    Some(corners(send_corner, mask)),
                );
            }
            if let Some(partner) = partner {
                s.send(partner, acc.value(&args.block_of(partner)));
            }
            s.copy(acc.value(&args.block_of(place.rank)), args.result(place));
        }
    }
}

fn recursive_doubling(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let whole = s.scratch_elements(args.data.elements());
    allreduce::double_recursively(Accumulator::new(args.input, whole), args.data.elements(), place, s);
    s.copy(piece(whole, &args.block_of(place.rank)), args.result(place));
}

fn shm(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let whole = s.scratch_elements(args.data.elements());
    for range in shm_ranges(&args.data, t) {
        s.shm_step(ShmStep::Allreduce { from: piece(args.input, &range), into: piece(whole, &range) });
    }
    s.copy(piece(whole, &args.block_of(place.rank)), args.result(place));
}

/// Each rank writes its whole vector into its slot. Then it reduces the block of its result over the slots of all
/// ranks, from the last rank down to the first, so that rank order is kept. If the call is in place, the input is in
/// the slot before the result overwrites it.
fn shm_parts(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    if args.data.elements() == 0 {
        return;
    }
    let (own, result) = (args.block_of(place.rank), args.result(place));
    let (slot, at) = (|rank| RankSlot { rank, bytes: args.data.bytes() }, own.start * args.data.type_size);
    // A rank whose block is empty need not wait.
    let sources = if own.is_empty() { MemberSet::Empty } else { MemberSet::All };
    s.begin_exchange(args.data.bytes(), MemberSet::All, sources);
    s.write_slot(0, piece(args.input, &(0..args.data.elements())));
    if !own.is_empty() {
        s.read_slot(slot(place.size - 1), at, result);
        (0..place.size - 1).rev().for_each(|rank| s.reduce_slot(slot(rank), at, result));
    }
}

/// Reduces one block after the other to its rank. A rank that has contributed to a block continues with the next
/// block; it waits for the others only at its own block.
fn shm_blocks(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let result = args.result(place);
    // If the call is in place, the receive buffer is still being read.
    let own = if args.input == args.output { s.scratch_elements(result.count) } else { args.output };
    for root in 0..place.size {
        let block = args.block_of(root);
        for range in shm_ranges(&ReductionArgs { count: block.end - block.start, ..args.data }, t) {
            let from = piece(args.input, &(block.start + range.start..block.start + range.end));
            let into = if root == place.rank { piece(own, &range) } else { Span::EMPTY };
            s.shm_step(ShmStep::Reduce { root, from, into });
        }
    }
    if own != args.output {
        s.copy(Span { buffer: own, ..result }, result);
    }
}

/// Reduces on two levels. The blocks of a host adjoin, because the ranks of a host are consecutive
/// (`has_hosts_in_order`).
fn two_level(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let (leaders, local) = (hosts.leaders(None), hosts.local(place.rank));
    let leader = leaders[hosts.host_of(place.rank) as usize];
    let Some(leader_group) = Subgroup::of(&leaders, place.rank) else {
        let part = reduce::Args { root: leader, data: args.data, input: args.input, output: args.output };
        reduce::reduce_to(leader, &part, place, t, s);
        return s.recv(leader, args.result(place));
    };
    let whole = s.scratch_elements(args.data.elements());
    let part = reduce::Args { root: leader, data: args.data, input: args.input, output: whole };
    let sum = reduce::reduce_to(leader, &part, place, t, s);
    let firsts = leaders.iter().copied().chain([place.size]);
    let blocks = BlockBoundaries::Each(firsts.map(|rank| args.blocks.at(rank)).collect());
    let own = args.blocks(place.rank, place.rank + local.place.size);
    let result = s.scratch_elements(own.end - own.start);
    let part = Args { data: args.data, blocks, input: sum, output: result };
    leader_group.append_collective(
        ALGORITHMS,
        &part,
        &part.shape(leader_group.place, &t.between_hosts()),
        &t.between_hosts(),
        s,
    );
    for rank in local.ranks {
        let block = args.block_of(*rank);
        let from = Span::elements(result, block.start - own.start, block.end - block.start);
        match *rank == place.rank {
            true => s.copy(from, args.result(place)),
            false => s.send(*rank, from),
        }
    }
}
