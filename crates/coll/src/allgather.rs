//! MPI_Allgather and MPI_Allgatherv.
//!
//! | algorithm | source | rounds | bytes that a rank sends at most |
//! |---|---|---|---|
//! | host | every rank's slot in the job's segment | ⌈block / limit⌉ shm steps | a block into the segment |
//! | recursive_doubling | MPICH "recursive_doubling" | log2 p, p a power of two | n (p − 1) / p |
//! | spread | MPICH "spread-out" of alltoall | p / outstanding | n (p − 1) / p |
//! | two_level | to a rank a host, across, back | 2 + hosts / outstanding + ⌈log2 p / hosts⌉ | n ⌈log2 p / hosts⌉ |
//! | ring | MPICH "ring" | p − 1 | n (p − 1) / p, to the neighbour |
//! | bruck | Bruck et al. 1997; MPICH "brucks" | ⌈log2 p⌉ | n (p − 1) / p, and packing |
//!
//! n is the length of the whole result in bytes, p the number of ranks, hosts the number of hosts; limit is
//! `ScheduleLimits::shm_step_bytes`, and outstanding is `ScheduleLimits::outstanding`. The column "source" has the
//! origin of an algorithm, or in brief how it works. Every rank knows all counts, so that all algorithms except
//! recursive_doubling can exchange blocks of unlike lengths. two_level gathers the blocks of a host on one rank,
//! exchanges them between these ranks, and sends all blocks to the ranks of each host by a tree.

use crate::algorithm::Algorithm;
use crate::call::{BlockArray, BlockBuffer, RankAndSize};
use crate::cost_model::{CACHE_BYTES, CallShape};
use crate::host_map::{Subgroup, is_run};
use crate::schedule::{BufferId, MemberSet, RankSlot, Schedule, Span};
use crate::slot_split::{SlotSplit, unpack_blocks};
use crate::tuning::Tuning;

pub(crate) struct Args<'a> {
    pub send: BlockBuffer,
    pub recv: BlockArray<'a>,
    pub in_place: bool,
    pub uniform: bool,
}

/// Returns the factor by which the cost of bytes rises if many pairs of ranks communicate across the whole network at
/// the same time, because the pairs share its links; only the ring has no such pairs. Within a host there are no
/// links to share (measured with 8 ranks on two cores and blocks of 256 KiB: spread takes 1.24 ms, ring 1.40 ms).
fn contention(t: &Tuning) -> f64 {
    if t.one_host { 1.0 } else { 1.5 }
}

impl<'a> Args<'a> {
    pub const ALGORITHMS: &'a [Algorithm<Args<'a>>] = &[
        Algorithm {
            name: "host",
            fits: |s, _| s.has_shm_steps && s.p() * s.n() <= 2.0 * CACHE_BYTES,
            cost: |s, t| {
                let steps = t.limits.shm_steps(s.bytes / u64::from(s.size));
                t.model.pipelined_steps_us(s, steps) + t.model.slot_copy_us(s.n())
            },
            build: shm,
        },
        Algorithm {
            name: "recursive_doubling",
            fits: |s, _| s.uniform && s.size.is_power_of_two(),
            cost: |s, t| s.levels() * t.model.message_us + share(s) * contention(t) * t.model.byte_us,
            build: recursive_doubling,
        },
        Algorithm {
            name: "spread",
            fits: |_, _| true,
            cost: |s, t| {
                t.model.message_us
                    + (s.p() - 1.0) * t.model.overhead_of_all_us
                    + share(s) * contention(t) * t.model.byte_us
            },
            build: spread,
        },
        Algorithm {
            name: "two_level",
            fits: |_, t| t.hosts.is_some(),
            cost: |s, t| {
                let (hosts, within) = (t.known_hosts(), t.on_host().model);
                let (count, largest) = (f64::from(hosts.count()), f64::from(hosts.largest()));
                let levels = CallShape { size: hosts.largest(), ..*s }.levels();
                within.message_us
                    + (largest - 1.0) * (within.overhead_us + s.n() / s.p() * within.byte_us)
                    + t.model.message_us
                    + (count - 1.0) * t.model.overhead_us
                    + s.n() * (count - 1.0) / count * contention(t) * t.model.byte_us
                    + levels * within.message_cost_us(s.n())
            },
            build: two_level,
        },
        Algorithm {
            name: "ring",
            fits: |_, _| true,
            cost: |s, t| (s.p() - 1.0) * t.model.message_us + share(s) * t.model.byte_us,
            build: ring,
        },
        Algorithm {
            name: "bruck",
            fits: |_, _| true,
            cost: |s, t| {
                s.levels() * t.model.message_us + share(s) * contention(t) * t.model.byte_us + s.n() * t.model.copy_us
            },
            build: bruck,
        },
    ];
}

/// Returns the length in bytes of the part of the result that a rank lacks at the start.
fn share(s: &CallShape) -> f64 {
    s.n() * (s.p() - 1.0) / s.p()
}

impl Args<'_> {
    pub fn shape(&self, place: RankAndSize, tuning: &Tuning) -> CallShape {
        let bytes = if self.uniform {
            self.recv.bytes(0) * u64::from(place.size)
        } else {
            (0..place.size).map(|rank| self.recv.bytes(rank)).sum()
        };
        CallShape {
            size: place.size,
            bytes,
            uniform: self.uniform,
            commutative: true,
            in_place: self.in_place,
            has_shm_steps: tuning.one_host && place.size > 1,
        }
    }

    fn longest(&self, place: RankAndSize) -> u64 {
        match self.uniform {
            true => self.recv.bytes(0),
            false => (0..place.size).map(|rank| self.recv.bytes(rank)).max().unwrap_or(0),
        }
    }

    fn block(&self, rank: u32) -> Span {
        self.recv.span(BufferId::Recv, rank)
    }

    /// Returns the blocks of `ranks` as spans: one span if the blocks are equal and adjoin, otherwise one for each
    /// block.
    fn pieces(&self, ranks: &[u32]) -> impl Iterator<Item = Span> {
        let whole =
            (self.uniform && is_run(ranks)).then(|| self.recv.range_span(BufferId::Recv, ranks[0], ranks.len() as u32));
        let each = if whole.is_some() { &[] } else { ranks };
        whole.into_iter().chain(each.iter().map(|&rank| self.block(rank)))
    }

    /// Returns this rank's own block in the buffer in which the call has it: the receive buffer if the call is in
    /// place, otherwise the send buffer.
    fn own_span(&self, place: RankAndSize) -> Span {
        if self.in_place { self.block(place.rank) } else { self.send.span(BufferId::Send) }
    }

    fn copy_own_block(&self, place: RankAndSize, s: &mut Schedule) {
        if !self.in_place {
            s.copy(self.own_span(place), self.block(place.rank));
        }
    }
}

/// Exchanges blocks through slots. Each rank reads the slots in the order of ranks, beginning with the rank after its
/// own, so that not all ranks read one slot at the same time.
fn shm(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let longest = args.longest(place);
    if longest > t.limits.shm_step_bytes {
        return shm_split(args, place, longest, t, s);
    }
    s.begin_exchange(args.recv.bytes(place.rank), MemberSet::All, MemberSet::All);
    s.write_slot(0, args.own_span(place));
    for rank in (1..place.size).map(|i| place.after(i)) {
        s.read_slot(RankSlot { rank, bytes: args.recv.bytes(rank) }, 0, args.block(rank));
    }
    args.copy_own_block(place, s);
}

/// Exchanges blocks that are longer than a slot: each exchange moves a piece of each block.
fn shm_split(args: &Args, place: RankAndSize, longest: u64, t: &Tuning, s: &mut Schedule) {
    let split = SlotSplit::new(1, t);
    let others = (1..place.size).map(|i| place.after(i));
    let own_unit = if args.in_place { args.recv.type_size.at(place.rank) as u64 } else { args.send.type_size };
    let own = split.send_blocks(std::iter::once((args.own_span(place), own_unit)), s)[0];
    let received =
        split.receive_blocks(others.clone().map(|rank| (args.block(rank), args.recv.type_size.at(rank) as u64)), s);
    for step in 0..split.steps(longest) {
        s.begin_exchange(own.len(step), MemberSet::All, MemberSet::All);
        s.write_slot(0, own.piece(step));
        for (rank, block) in others.clone().zip(&received) {
            s.read_slot(RankSlot { rank, bytes: block.len(step) }, 0, block.piece(step));
        }
    }
    unpack_blocks(&received, s);
    args.copy_own_block(place, s);
}

/// Exchanges aligned groups of blocks: in round k, a rank sends the 2^k blocks that it has, and receives the 2^k
/// blocks of the adjacent group. The own block is copied after the first round, in which it is sent from where it is: a
/// peer would read a copy that was just written more slowly.
fn recursive_doubling(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let mut mask = 1;
    while mask < place.size {
        let peer = place.rank ^ mask;
        let group = args.recv.range_span(BufferId::Recv, place.rank & !(mask - 1), mask);
        s.send(peer, if mask == 1 { args.own_span(place) } else { group });
        s.recv(peer, args.recv.range_span(BufferId::Recv, peer & !(mask - 1), mask));
        s.end_round();
        if mask == 1 {
            args.copy_own_block(place, s);
        }
        mask *= 2;
    }
    if place.size == 1 {
        args.copy_own_block(place, s);
    }
}

fn ring(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    for step in 0..place.size - 1 {
        s.send(place.after(1), if step == 0 { args.own_span(place) } else { args.block(place.before(step)) });
        s.recv(place.before(1), args.block(place.before(step + 1)));
        s.end_round();
    }
    args.copy_own_block(place, s);
}

/// Every rank sends its block to every other rank. A round has at most `ScheduleLimits::outstanding` messages in each
/// direction.
fn spread(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    for step in 1..place.size {
        let from = place.before(step);
        s.send(place.after(step), args.own_span(place));
        s.recv(from, args.block(from));
        s.end_round_if_full(step, &t.limits);
    }
    args.copy_own_block(place, s);
}

/// Exchanges blocks on two levels. Each leader receives the blocks of its host where the result will have them.
/// Blocks of several ranks are one message if they are equal and adjoin.
fn two_level(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let (leaders, local) = (hosts.leaders(None), hosts.local(place.rank));
    let leader_group = Subgroup::of(&leaders, place.rank);
    if leader_group.is_some() {
        local.other_ranks().for_each(|(_, rank)| s.recv(rank, args.block(rank)));
        args.copy_own_block(place, s);
    } else {
        s.send(local.ranks[0], args.own_span(place));
    }
    s.end_round();
    if let Some(leader_group) = leader_group {
        exchange(args, &leader_group, t, s);
    }
    let all: Vec<u32> = (0..place.size).collect();
    local.bcast_spans(0, &args.pieces(&all).collect::<Vec<_>>(), s);
}

/// Every leader sends the blocks of its host to every other leader. A round has at most `ScheduleLimits::outstanding`
/// leaders in each direction.
fn exchange(args: &Args, leader_group: &Subgroup, t: &Tuning, s: &mut Schedule) {
    let members: Vec<&[u32]> = t.known_hosts().members().collect();
    for step in 1..leader_group.place.size {
        let (to, from) = (leader_group.place.after(step), leader_group.place.before(step));
        args.pieces(members[from as usize]).for_each(|piece| s.recv(leader_group.ranks[from as usize], piece));
        args.pieces(members[leader_group.place.rank as usize])
            .for_each(|piece| s.send(leader_group.ranks[to as usize], piece));
        s.end_round_if_full(step, &t.limits);
    }
    s.end_round();
}

/// Bruck's algorithm. Blocks are packed in scratch memory in the order of ranks, beginning with this rank's; in round
/// k a rank receives up to 2^k further blocks.
fn bruck(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let size = place.size;
    let total: u64 = args.shape(place, t).bytes;
    let packed = s.scratch_bytes(total);
    s.copy(args.own_span(place), Span::bytes(packed, 0, args.recv.bytes(place.rank)));
    let bytes = |first: u32, count: u32| match args.uniform {
        true => args.recv.bytes(0) * u64::from(count),
        false => (first..first + count).map(|i| args.recv.bytes(i % size)).sum(),
    };
    let (mut block_count, mut filled) = (1, args.recv.bytes(place.rank));
    while block_count < size {
        let count = block_count.min(size - block_count);
        let (to, from) = (place.before(block_count), place.after(block_count));
        s.send(to, Span::bytes(packed, 0, bytes(place.rank, count)));
        let received = bytes(from, count);
        s.recv(from, Span::bytes(packed, filled, received));
        s.end_round();
        filled += received;
        block_count += count;
    }
    unpack(args, place, packed, s);
}

/// Copies the packed blocks, which begin with this rank's, into the receive buffer.
fn unpack(args: &Args, place: RankAndSize, packed: BufferId, s: &mut Schedule) {
    if args.uniform {
        let each = args.recv.bytes(0);
        let above = place.size - place.rank;
        let split = each * u64::from(above);
        s.copy(Span::bytes(packed, 0, split), args.recv.range_span(BufferId::Recv, place.rank, above));
        let below = args.recv.range_span(BufferId::Recv, 0, place.rank);
        s.copy(Span::bytes(packed, split, each * u64::from(place.rank)), below);
        return;
    }
    let mut at = 0;
    for rank in (place.rank..place.size).chain(0..place.rank) {
        let bytes = args.recv.bytes(rank);
        s.copy(Span::bytes(packed, at, bytes), args.block(rank));
        at += bytes;
    }
}
