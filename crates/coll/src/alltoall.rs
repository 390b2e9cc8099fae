//! MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw.
//!
//! | algorithm | source | rounds | bytes that a rank sends |
//! |---|---|---|---|
//! | host | every rank's slot in the job's segment | ⌈n (p − 1) / limit⌉ shm steps | n (p − 1) into the segment |
//! | bruck | Bruck et al. 1997; MPICH "brucks" | ⌈log2 p⌉ | n p / 2 ⌈log2 p⌉, and packing |
//! | two_level | all blocks of a host through one rank | 2 + hosts / outstanding | n p² / hosts, and packing |
//! | exchange | MPICH "pairwise_sendrecv_replace" | p | n (p − 1), in place |
//! | spread | MPICH "scattered" | p / outstanding | n (p − 1) |
//! | pairwise | MPICH "pairwise" | p − 1 | n (p − 1), one message at a time |
//!
//! n is the length of one block in bytes, p the number of ranks, hosts the number of hosts; limit is
//! `ScheduleLimits::shm_step_bytes`, and outstanding is `ScheduleLimits::outstanding`. The column "source" has the
//! origin of an algorithm, or in brief how it works.
//!
//! In the variants with v and w only the two ends of a message know its length, so that the choice of an algorithm
//! may depend only on the size of the communicator; but of two ranks each knows all lengths. A rank that forwards the
//! blocks of others receives their lengths first, and long blocks are sent directly. Calls in place can use host and
//! exchange, and, if all blocks are equal, bruck and two_level.

use crate::algorithm::Algorithm;
use crate::bruck;
use crate::call::{BlockArray, RankAndSize};
use crate::cost_model::{CACHE_BYTES, CallShape};
use crate::host_map::Subgroup;
use crate::schedule::{BufferId, MemberSet, RankSlot, Schedule, Span};
use crate::slot_split::{SlotSplit, unpack_blocks};
use crate::tuning::{Tuning, fits_slot};
use crate::two_level_v::{self, BlockTransfer, BlockTransfers, RankSet};

pub(crate) struct Args<'a> {
    pub send: BlockArray<'a>,
    pub recv: BlockArray<'a>,
    pub in_place: bool,
    pub uniform: bool,
}

/// Returns the factor by which the cost of bytes rises if a rank receives several messages at the same time. On a
/// network such messages disturb each other. Within a host the factor is 1, because rounds of one message delay all
/// ranks more (measured with 8 ranks on two cores and blocks of 1 MiB: spread takes 5.7 ms, pairwise 8.9 ms).
fn contention(t: &Tuning) -> f64 {
    if t.one_host { 1.0 } else { 1.25 }
}

/// The fixed cost of a local copy step, in microseconds (an estimate: dispatch and a call of memcpy). Because of it
/// bruck, which copies much, is not chosen on small communicators, where it saves few messages.
const COPY_STEP_US: f64 = 0.02;

impl<'a> Args<'a> {
    pub const ALGORITHMS: &'a [Algorithm<Args<'a>>] = &[
        Algorithm {
            name: "host",
            fits: |s, _| s.has_shm_steps && (s.uniform || s.size == 2) && s.p() * s.p() * s.n() <= CACHE_BYTES,
            cost: |s, t| {
                let moved = (s.p() - 1.0) * s.n();
                t.model.pipelined_steps_us(s, t.limits.shm_steps(moved as u64)) + 2.0 * t.model.slot_copy_us(moved)
            },
            build: shm,
        },
        Algorithm {
            name: "bruck",
            fits: |s, _| s.uniform || !s.in_place,
            cost: |s, t| {
                let (moved, packed) = (s.p() / 2.0 * s.n(), 2.0 * s.p() * s.n());
                let rounds = if s.uniform { s.levels() } else { 2.0 * s.levels() };
                rounds * (t.model.message_cost_us(moved) + 2.0 * moved * t.model.copy_us + s.p() * COPY_STEP_US)
                    + packed * t.model.copy_us
                    + 2.0 * s.p() * COPY_STEP_US
            },
            build: |args, place, t, s| match args.uniform {
                true => bruck::equal_blocks(args, place, s),
                false => bruck::any_blocks(args, place, t, s),
            },
        },
        Algorithm {
            name: "two_level",
            fits: |s, t| (s.uniform || !s.in_place) && t.hosts.is_some(),
            cost: |s, t| {
                if !s.uniform {
                    return two_level_v::cost(s, t, true)
                        + 2.0 * f64::from(t.known_hosts().largest()) * s.p() * COPY_STEP_US;
                }
                let (hosts, within) = (t.known_hosts(), t.on_host().model);
                let (count, local) = (f64::from(hosts.count()), f64::from(hosts.largest()));
                let (own, away) = (local * s.p() * s.n(), local * (s.p() - local).max(0.0) * s.n());
                2.0 * (within.message_us + (local - 1.0) * within.overhead_us + own * within.byte_us)
                    + t.model.message_us
                    + (count - 1.0) * t.model.overhead_us
                    + contention(t) * away * t.model.byte_us
                    + 2.0 * own * t.model.copy_us
                    + 2.0 * local * s.p() * COPY_STEP_US
            },
            build: |args, place, t, s| match args.uniform {
                true => two_level(args, place, t, s),
                false => two_level_v::two_level(args.transfers(place, t), place, t, s),
            },
        },
        Algorithm {
            name: "spread",
            fits: |s, _| !s.in_place,
            cost: |s, t| {
                let (rounds, messages) = ((s.p() / f64::from(t.limits.outstanding.max(1))).ceil(), s.p() - 1.0);
                rounds * t.model.message_us
                    + messages * (t.model.overhead_of_all_us + contention(t) * s.n() * t.model.byte_us)
            },
            build: spread,
        },
        Algorithm {
            name: "pairwise",
            fits: |s, _| !s.in_place,
            cost: |s, t| (s.p() - 1.0) * t.model.message_cost_us(s.n()),
            build: pairwise,
        },
        Algorithm {
            name: "exchange",
            fits: |s, _| s.in_place,
            cost: |s, t| s.p() * (t.model.message_cost_us(s.n()) + s.n() * t.model.copy_us),
            build: exchange,
        },
    ];
}

impl Args<'_> {
    pub fn shape(&self, place: RankAndSize, tuning: &Tuning) -> CallShape {
        CallShape {
            size: place.size,
            bytes: self.known_bytes(place),
            uniform: self.uniform,
            commutative: true,
            in_place: self.in_place,
            has_shm_steps: tuning.one_host && place.size > 1,
        }
    }

    /// Returns the length in bytes of the longest block, if all ranks know it; otherwise 0.
    fn known_bytes(&self, place: RankAndSize) -> u64 {
        match place.size {
            _ if self.uniform => self.recv.bytes(0),
            2 => self.recv.bytes(1 - place.rank).max(self.send_block(1 - place.rank).1),
            _ => 0,
        }
    }

    /// Returns the block that this rank sends to `rank`, and its length in bytes.
    fn send_block(&self, rank: u32) -> (Span, u64) {
        match self.in_place {
            true => (self.recv.span(BufferId::Recv, rank), self.recv.bytes(rank)),
            false => (self.send.span(BufferId::Send, rank), self.send.bytes(rank)),
        }
    }

    pub(crate) fn transfers(&self, place: RankAndSize, t: &Tuning) -> BlockTransfers {
        let leaving = |to| BlockTransfer::block(to, &self.send, BufferId::Send, to);
        let arriving = |from| BlockTransfer::block(from, &self.recv, BufferId::Recv, from);
        BlockTransfers {
            sends: (1..place.size).map(|i| leaving(place.after(i))).collect(),
            receives: (1..place.size).map(|i| arriving(place.before(i))).collect(),
            self_copies: vec![(self.send.span(BufferId::Send, place.rank), self.recv.span(BufferId::Recv, place.rank))],
            sources: RankSet::All,
            destinations: RankSet::All,
            max_in_flight: t.limits.outstanding.max(1),
        }
    }

    fn copy_own_block(&self, place: RankAndSize, s: &mut Schedule) {
        s.copy(self.send.span(BufferId::Send, place.rank), self.recv.span(BufferId::Recv, place.rank));
    }
}

/// Exchanges blocks through slots. A rank's slot has the blocks for the other ranks, beginning with the rank after
/// its own. If there are only two ranks, their blocks may differ in length.
fn shm(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let shape = args.shape(place, t);
    if !fits_slot(&shape, t) {
        return shm_split(args, place, shape.bytes, t, s);
    }
    let others = u64::from(place.size - 1);
    let (_, sent) = args.send_block(place.after(1));
    s.begin_exchange(sent * others, MemberSet::All, MemberSet::All);
    for i in 1..place.size {
        s.write_slot(u64::from(i - 1) * sent, args.send_block(place.after(i)).0);
    }
    for i in 1..place.size {
        let rank = place.after(i);
        let bytes = args.recv.bytes(rank);
        let slot = RankSlot { rank, bytes: bytes * others };
        s.read_slot(slot, u64::from(place.size - i - 1) * bytes, args.recv.span(BufferId::Recv, rank));
    }
    if !args.in_place {
        args.copy_own_block(place, s);
    }
}

/// Exchanges blocks that are longer than a slot: each exchange moves a piece of each block. If the call is in place,
/// a piece is written to the slot before the received piece overwrites it.
fn shm_split(args: &Args, place: RankAndSize, longest: u64, t: &Tuning, s: &mut Schedule) {
    let (split, others) = (SlotSplit::new(place.size - 1, t), u64::from(place.size - 1));
    let peers = (1..place.size).map(|i| place.after(i));
    let from = if args.in_place { &args.recv } else { &args.send };
    let sent =
        split.send_blocks(peers.clone().map(|rank| (args.send_block(rank).0, from.type_size.at(rank) as u64)), s);
    let into = |rank| (args.recv.span(BufferId::Recv, rank), args.recv.type_size.at(rank) as u64);
    let received = split.receive_blocks(peers.clone().map(into), s);
    for step in 0..split.steps(longest) {
        let each = sent[0].len(step);
        s.begin_exchange(each * others, MemberSet::All, MemberSet::All);
        for (i, block) in (0..).zip(&sent) {
            s.write_slot(i * each, block.piece(step));
        }
        for ((i, rank), block) in (0..).zip(peers.clone()).zip(&received) {
            let each = block.len(step);
            s.read_slot(RankSlot { rank, bytes: each * others }, (others - 1 - i) * each, block.piece(step));
        }
    }
    unpack_blocks(&received, s);
    if !args.in_place {
        args.copy_own_block(place, s);
    }
}

fn pairwise(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    pairwise_rounds(args, place, 1, s);
}

fn spread(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    pairwise_rounds(args, place, t.limits.outstanding.max(1), s);
}

/// In step i each rank sends to the rank i after its own and receives from the rank i before its own. A round has
/// `steps_per_round` steps.
fn pairwise_rounds(args: &Args, place: RankAndSize, steps_per_round: u32, s: &mut Schedule) {
    for step in 1..place.size {
        let (to, from) = (place.after(step), place.before(step));
        s.recv(from, args.recv.span(BufferId::Recv, from));
        s.send(to, args.send.span(BufferId::Send, to));
        if step % steps_per_round == 0 {
            s.end_round();
        }
    }
    args.copy_own_block(place, s);
}

/// The algorithm for calls in place: in round k, two ranks whose sum is k modulo p exchange their blocks, through
/// scratch memory.
fn exchange(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let size = place.size;
    let largest = (0..size).filter(|&r| r != place.rank).map(|r| args.recv.bytes(r)).max().unwrap_or(0);
    let scratch = s.scratch_bytes(largest);
    for round in 0..size {
        let peer = (round + size - place.rank) % size;
        if peer == place.rank {
            continue;
        }
        let (block, received) = (args.recv.span(BufferId::Recv, peer), Span::bytes(scratch, 0, args.recv.bytes(peer)));
        s.send(peer, block);
        s.recv(peer, received);
        s.copy(received, block);
        s.end_round();
    }
}

fn two_level(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let (from, input) = if args.in_place { (args.recv, BufferId::Recv) } else { (args.send, BufferId::Send) };
    let (sent, received) = (from.range_span(input, 0, place.size), args.recv.range_span(BufferId::Recv, 0, place.size));
    let hosts = t.known_hosts();
    let (leaders, local) = (hosts.leaders(None), hosts.local(place.rank));
    let Some(leader_group) = Subgroup::of(&leaders, place.rank) else {
        s.send(local.ranks[0], sent);
        s.end_round();
        return s.recv(local.ranks[0], received);
    };
    let each = args.recv.bytes(0);
    let table = |buffer: BufferId, columns: u32| BlockTable { buffer, at: 0, each, columns };
    let bytes = each * u64::from(place.size) * u64::from(local.place.size);
    // A row for each rank of this host: the blocks that the rank sends to all ranks.
    let rows = table(s.scratch_bytes(bytes), place.size);
    s.copy(sent, rows.row(local.place.rank));
    local.other_ranks().for_each(|(at, rank)| s.recv(rank, rows.row(at)));
    s.end_round();
    let arrived = exchange_hosts(&rows, &leader_group, &local, t, s);
    // A row for each rank of this host: the blocks that the rank receives from all ranks.
    let columns = table(s.scratch_bytes(bytes), place.size);
    for (to, &rank) in (0..).zip(local.ranks) {
        for (ranks, from) in hosts.members().zip(&arrived) {
            for (i, &source) in (0..).zip(ranks) {
                let block = from.as_ref().map_or_else(|| rows.block(i, rank), |from| from.block(i, to));
                s.copy(block, columns.block(to, source));
            }
        }
    }
    local.other_ranks().for_each(|(at, rank)| s.send(rank, columns.row(at)));
    s.copy(columns.row(local.place.rank), received);
}

/// A table of blocks of equal size in scratch memory, stored row by row.
struct BlockTable {
    buffer: BufferId,
    /// The offset of the table in the buffer, in bytes.
    at: u64,
    each: u64,
    columns: u32,
}

impl BlockTable {
    fn row(&self, row: u32) -> Span {
        let bytes = self.each * u64::from(self.columns);
        Span::bytes(self.buffer, self.at + bytes * u64::from(row), bytes)
    }

    fn block(&self, row: u32, column: u32) -> Span {
        let at = u64::from(row) * u64::from(self.columns) + u64::from(column);
        Span::bytes(self.buffer, self.at + self.each * at, self.each)
    }

    fn rows(&self, rows: u32) -> Span {
        Span { count: self.each * u64::from(self.columns) * u64::from(rows), ..self.row(0) }
    }
}

/// Exchanges blocks between the leaders of the hosts. Returns, for each host, a table with the blocks that its ranks
/// (rows) send to the ranks of this host (columns); `None` for this host.
fn exchange_hosts(
    rows: &BlockTable,
    leader_group: &Subgroup,
    local: &Subgroup,
    t: &Tuning,
    s: &mut Schedule,
) -> Vec<Option<BlockTable>> {
    let members: Vec<&[u32]> = t.known_hosts().members().collect();
    let (own, each) = (local.place.size, rows.each);
    let away = members.iter().map(|ranks| ranks.len() as u64).sum::<u64>() - u64::from(own);
    let (leave, arrive) =
        (s.scratch_bytes(each * u64::from(own) * away), s.scratch_bytes(each * u64::from(own) * away));
    let mut at = 0;
    let mut arrived: Vec<Option<BlockTable>> = members.iter().map(|_| None).collect();
    let mut leaving: Vec<Option<BlockTable>> = members.iter().map(|_| None).collect();
    for (host, ranks) in members.iter().enumerate().filter(|&(host, _)| host as u32 != leader_group.place.rank) {
        let table = BlockTable { buffer: leave, at, each, columns: ranks.len() as u32 };
        for i in 0..own {
            (0..).zip(*ranks).for_each(|(column, &rank)| s.copy(rows.block(i, rank), table.block(i, column)));
        }
        leaving[host] = Some(table);
        arrived[host] = Some(BlockTable { buffer: arrive, at, each, columns: own });
        at += each * u64::from(own) * ranks.len() as u64;
    }
    s.end_round();
    // Each leader begins with the host after its own, so that not all leaders send to one host at the same time.
    for step in 1..leader_group.place.size {
        let (to, from) = (leader_group.place.after(step), leader_group.place.before(step));
        if let (Some(leaving), Some(arriving)) = (&leaving[to as usize], &arrived[from as usize]) {
            s.recv(leader_group.ranks[from as usize], arriving.rows(members[from as usize].len() as u32));
            s.send(leader_group.ranks[to as usize], leaving.rows(own));
        }
        s.end_round_if_full(step, &t.limits);
    }
    s.end_round();
    arrived
}
