//! MPI_Scatter and MPI_Scatterv.
//!
//! | algorithm | source | rounds | bytes that a rank sends at most |
//! |---|---|---|---|
//! | host | the root's slot in the job's segment | ⌈n (p − 1) / limit⌉ shm steps | n (p − 1) into the segment |
//! | binomial | MPICH "binomial" | ⌈log2 p⌉ | n (p − 1) at the root |
//! | two_level | to one rank a host in one message, then on | hosts / outstanding at the root | n (p − 1) at the root |
//! | linear | Open MPI "basic linear" | p / outstanding at the root | n (p − 1) at the root |
//!
//! n is the length of one block in bytes, p the number of ranks; limit is `ScheduleLimits::shm_step_bytes`, and
//! outstanding is `ScheduleLimits::outstanding`. The column "source" has the origin of an algorithm, or in brief how
//! it works. "binomial", "two_level" and "linear" are those of gather in the other direction. In MPI_Scatterv a rank
//! that forwards blocks receives their lengths first (binomial: as many rounds more), and the root sends long blocks
//! directly.

use crate::algorithm::Algorithm;
use crate::binomial_tree::{BinomialTree, Child};
use crate::call::{BlockArray, BlockBuffer, RankAndSize};
use crate::cost_model::CallShape;
use crate::host_map::{Subgroup, is_run};
use crate::schedule::{BufferId, MemberSet, RankSlot, Schedule, Span, VALUE_BYTES};
use crate::slot_split::{SlotSplit, unpack_blocks};
use crate::tuning::{Tuning, fits_rooted_shm, fits_slot};
use crate::two_level::cost_of_blocks;
use crate::two_level_v::{self, BlockTransfer, BlockTransfers, RankSet};

pub(crate) struct Args<'a> {
    pub root: u32,
    pub send: BlockArray<'a>,
    pub recv: BlockBuffer,
    pub in_place: bool,
    pub uniform: bool,
}

/// The cost of each further message of "linear" if blocks have unlike lengths, in microseconds, unless
/// `CostModel::overhead_us` is lower. The root only sends, and the receivers' part does not count, since they work at
/// the same time. In the other algorithms the ranks that forward blocks must receive the lengths first (fitted to
/// docs/measurements/2026-11-23-collectives.md, Blocks of unlike lengths).
const LINEAR_MESSAGE_US: f64 = 0.15;

impl<'a> Args<'a> {
    pub const ALGORITHMS: &'a [Algorithm<Args<'a>>] = &[
        Algorithm {
            name: "host",
            fits: fits_rooted_shm,
            cost: |s, t| {
                let all = s.bytes * u64::from(s.size - 1);
                t.model.pipelined_steps_us(s, t.limits.shm_steps(all)) + t.model.root_slot_copy_us(s, &t.limits)
            },
            build: shm,
        },
        Algorithm {
            name: "binomial",
            fits: |_, _| true,
            cost: |s, t| {
                let rounds = if s.uniform { s.levels() } else { 2.0 * s.levels() };
                rounds * t.model.message_us + (s.p() - 1.0) * s.n() * (1.5 * t.model.byte_us + t.model.copy_us)
            },
            build: |args, place, t, s| match args.uniform {
                true => binomial(args, place, t, s),
                false => binomial_any_lengths(args, place, t, s),
            },
        },
        Algorithm {
            name: "two_level",
            fits: |_, t| t.hosts.is_some(),
            cost: |s, t| if s.uniform { cost_of_blocks(s, t) } else { two_level_v::cost(s, t, false) },
            build: |args, place, t, s| match args.uniform {
                true => two_level(args, place, t, s),
                false => two_level_v::two_level(args.transfers(place, t), place, t, s),
            },
        },
        Algorithm {
            name: "linear",
            fits: |_, _| true,
            cost: |s, t| {
                let message_us =
                    if s.uniform { t.model.overhead_us } else { t.model.overhead_us.min(LINEAR_MESSAGE_US) };
                t.model.message_us + (s.p() - 1.0) * (message_us + s.n() * t.model.byte_us)
            },
            build: linear,
        },
    ];
}

impl Args<'_> {
    pub fn shape(&self, place: RankAndSize, tuning: &Tuning) -> CallShape {
        let bytes = if !self.uniform {
            0
        } else if place.rank == self.root {
            self.send.bytes(place.rank)
        } else {
            self.recv.bytes()
        };
        let has_shm_steps = tuning.one_host && place.size > 1;
        CallShape { size: place.size, bytes, uniform: self.uniform, commutative: true, in_place: false, has_shm_steps }
    }

    fn transfers(&self, place: RankAndSize, t: &Tuning) -> BlockTransfers {
        let is_root = place.rank == self.root;
        let block = |to| BlockTransfer::block(to, &self.send, BufferId::Send, to);
        let own = || BlockTransfer::whole(self.root, &self.recv, BufferId::Recv);
        let kept = || (self.send.span(BufferId::Send, place.rank), self.recv.span(BufferId::Recv));
        BlockTransfers {
            sends: if is_root { (1..place.size).map(|i| block(place.after(i))).collect() } else { vec![] },
            receives: if is_root { vec![] } else { vec![own()] },
            self_copies: if is_root && !self.in_place { vec![kept()] } else { vec![] },
            sources: RankSet::One(self.root),
            destinations: RankSet::All,
            max_in_flight: t.limits.outstanding.max(1),
        }
    }
}

/// The root writes the blocks for all other ranks into its slot, in several exchanges if they are longer than a slot,
/// and each rank reads its block. In the slot the blocks begin with that of the rank after the root.
fn shm(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let shape = args.shape(place, t);
    let (bytes, others) = (shape.bytes, u64::from(place.size - 1));
    // `mpi` runs short calls without a schedule, as one exchange if the slot holds a block for each other rank.
    let split = if fits_slot(&shape, t) { SlotSplit::whole(bytes) } else { SlotSplit::new(place.size - 1, t) };
    if place.rank != args.root {
        let block = split.receive_blocks(std::iter::once((args.recv.span(BufferId::Recv), args.recv.type_size)), s);
        let before = u64::from(place.before(args.root) - 1);
        for step in 0..split.steps(bytes) {
            let each = block[0].len(step);
            s.begin_exchange(0, MemberSet::Empty, MemberSet::One(args.root));
            s.read_slot(RankSlot { rank: args.root, bytes: each * others }, before * each, block[0].piece(step));
        }
        return unpack_blocks(&block, s);
    }
    let from = |rank| (args.send.span(BufferId::Send, rank), args.send.type_size.at(rank) as u64);
    let sent = split.send_blocks((1..place.size).map(|i| from(place.after(i))), s);
    for step in 0..split.steps(bytes) {
        let each = split.bytes(bytes, step);
        s.begin_exchange(each * others, MemberSet::All, MemberSet::Empty);
        for (i, block) in (0..).zip(&sent) {
            s.write_slot(i * each, block.piece(step));
        }
    }
    copy_own_block(args, place, s);
}

fn linear(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    if place.rank != args.root {
        return s.recv(args.root, args.recv.span(BufferId::Recv));
    }
    for step in 1..place.size {
        let to = place.after(step);
        s.send(to, args.send.span(BufferId::Send, to));
        s.end_round_if_full(step, &t.limits);
    }
    copy_own_block(args, place, s);
}

fn copy_own_block(args: &Args, place: RankAndSize, s: &mut Schedule) {
    if !args.in_place {
        s.copy(args.send.span(BufferId::Send, place.rank), args.recv.span(BufferId::Recv));
    }
}

fn two_level(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let leaders = hosts.leaders(Some(args.root));
    let (local, leader) = (hosts.local(place.rank), leaders[hosts.host_of(place.rank) as usize]);
    let own = args.recv.span(BufferId::Recv);
    if place.rank == args.root {
        send_to_leaders(args, place, &leaders, t, s);
    } else if place.rank != leader {
        s.recv(leader, own);
    } else if local.place.size == 1 {
        s.recv(args.root, own);
    } else {
        forward_blocks(args, &local, t, s);
    }
}

/// Receives the blocks of the leader's host, packed in the order of ranks, and sends each rank of the host its block.
fn forward_blocks(args: &Args, local: &Subgroup, t: &Tuning, s: &mut Schedule) {
    let bytes = args.recv.bytes();
    let all = s.scratch_bytes(bytes * u64::from(local.place.size));
    let block = |at: u32| Span::bytes(all, bytes * u64::from(at), bytes);
    s.recv(args.root, Span::bytes(all, 0, bytes * u64::from(local.place.size)));
    s.end_round();
    for (count, (at, rank)) in (1..).zip(local.other_ranks()) {
        s.send(rank, block(at));
        s.end_round_if_full(count, &t.limits);
    }
    s.copy(block(local.place.rank), args.recv.span(BufferId::Recv));
}

/// Sends all blocks at the root. The blocks of a host whose ranks are consecutive are sent directly from the send
/// buffer; those of other hosts are packed first.
fn send_to_leaders(args: &Args, place: RankAndSize, leaders: &[u32], t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let bytes = args.send.bytes(place.rank);
    let others = || hosts.members().zip(leaders).filter(|(_, leader)| **leader != place.rank);
    let scattered = || others().filter(|(ranks, _)| !is_run(ranks)).flat_map(|(ranks, _)| ranks);
    let packed = s.scratch_bytes(bytes * scattered().count() as u64);
    for (at, &rank) in (0..).zip(scattered()) {
        s.copy(args.send.span(BufferId::Send, rank), Span::bytes(packed, bytes * at, bytes));
    }
    s.end_round();
    let mut at = 0;
    for (count, (ranks, &leader)) in (1..).zip(others()) {
        if is_run(ranks) {
            s.send(leader, args.send.range_span(BufferId::Send, ranks[0], ranks.len() as u32));
        } else {
            s.send(leader, Span::bytes(packed, at, bytes * ranks.len() as u64));
            at += bytes * ranks.len() as u64;
        }
        s.end_round_if_full(count, &t.limits);
    }
    hosts.local(place.rank).other_ranks().for_each(|(_, rank)| s.send(rank, args.send.span(BufferId::Send, rank)));
    copy_own_block(args, place, s);
}

fn binomial(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let tree = BinomialTree::new(place, args.root);
    let Some(parent) = tree.parent() else { return send_from_root(args, place, tree, s) };
    let own = args.recv.span(BufferId::Recv);
    if tree.subtree_size() == 1 {
        return s.recv(parent, own);
    }
    let bytes = args.recv.bytes();
    let subtree = s.scratch_bytes(bytes * u64::from(tree.subtree_size()));
    s.recv(parent, Span::bytes(subtree, 0, bytes * u64::from(tree.subtree_size())));
    s.end_round();
    for child in tree.children().rev() {
        s.send(
            child.rank,
            Span::bytes(subtree, bytes * u64::from(child.offset), bytes * u64::from(child.subtree_size)),
        );
    }
    s.copy(Span::bytes(subtree, 0, bytes), own);
}

/// Sends all blocks at the root. The ranks of a child's subtree are consecutive, so that its blocks are sent directly
/// from the send buffer; but if a subtree continues at rank 0 behind the last rank, its blocks are packed first.
fn send_from_root(args: &Args, place: RankAndSize, tree: BinomialTree, s: &mut Schedule) {
    let wraps = |child: &Child| child.subtree_size > place.size - child.rank;
    let wrapped = tree.children().find(wraps).map(|child| pack_wrapped(args, place, child, s));
    s.end_round();
    for child in tree.children().rev() {
        match wrapped {
            Some(packed) if wraps(&child) => s.send(child.rank, packed),
            _ => s.send(child.rank, args.send.range_span(BufferId::Send, child.rank, child.subtree_size)),
        }
    }
    copy_own_block(args, place, s);
}

/// Packs the blocks of a subtree that continues at rank 0: those from the child's rank to the last rank, then those
/// from rank 0 on. Returns their span.
fn pack_wrapped(args: &Args, place: RankAndSize, child: Child, s: &mut Schedule) -> Span {
    let before_end = place.size - child.rank;
    let bytes = args.send.bytes(child.rank);
    let (split_at, end) = (bytes * u64::from(before_end), bytes * u64::from(child.subtree_size));
    let buffer = s.scratch_bytes(end);
    s.copy(args.send.range_span(BufferId::Send, child.rank, before_end), Span::bytes(buffer, 0, split_at));
    s.copy(
        args.send.range_span(BufferId::Send, 0, child.subtree_size - before_end),
        Span::bytes(buffer, split_at, end - split_at),
    );
    Span::bytes(buffer, 0, end)
}

/// Scatters blocks of unlike lengths by the tree. The lengths are sent down the tree first, to the ranks that forward
/// blocks.
fn binomial_any_lengths(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let (tree, transfers, max_forwarded_bytes) =
        (BinomialTree::new(place, args.root), args.transfers(place, t), t.limits.max_forwarded_bytes);
    let Some(parent) = tree.parent() else { return send_any_from_root(&transfers, tree, max_forwarded_bytes, s) };
    let length_buffer = s.scratch_bytes(VALUE_BYTES * u64::from(tree.subtree_size() - 1));
    s.recv(parent, subtree_lengths(tree.subtree_size(), 0, length_buffer));
    s.end_round();
    for child in tree.children().rev() {
        s.send(child.rank, subtree_lengths(child.subtree_size, child.offset, length_buffer));
    }
    s.end_round();
    s.continue_with(subtree_lengths(tree.subtree_size(), 0, length_buffer), move |other_lengths, s| {
        let forwarded_bytes = transfers.receives[0].forwarded_bytes(max_forwarded_bytes);
        let lengths = [&[forwarded_bytes], other_lengths].concat();
        let all = lengths.iter().sum();
        let subtree = s.scratch_bytes(all);
        s.recv(parent, Span::bytes(subtree, 0, all));
        s.end_round();
        tree.children().rev().for_each(|child| s.send(child.rank, child.blocks(&lengths, subtree)));
        if forwarded_bytes > 0 {
            s.copy(Span::bytes(subtree, 0, forwarded_bytes), transfers.receives[0].span);
        }
        transfers.send_directly(|transfer| transfer.forwarded_bytes(max_forwarded_bytes) > 0, s);
    });
}

/// Returns the span of the lengths of a subtree with `ranks` ranks. The subtree's root has no length in it, because
/// it knows the length of its own block. `offset` is the relative rank of the subtree's root, counted from the
/// calling rank.
fn subtree_lengths(ranks: u32, offset: u32, length_buffer: BufferId) -> Span {
    Span::bytes(length_buffer, VALUE_BYTES * u64::from(offset), VALUE_BYTES * u64::from(ranks - 1))
}

fn send_any_from_root(transfers: &BlockTransfers, tree: BinomialTree, max_forwarded_bytes: u64, s: &mut Schedule) {
    let (lengths, forwarded_transfers) = two_level_v::forwarded_by_root(&transfers.sends, max_forwarded_bytes);
    let length_buffer = s.scratch_bytes(VALUE_BYTES * transfers.sends.len() as u64);
    s.store_values(&lengths[1..], length_buffer, 0);
    for child in tree.children().rev() {
        s.send(child.rank, subtree_lengths(child.subtree_size, child.offset, length_buffer));
    }
    let packed = two_level_v::scratch_for(&forwarded_transfers, s);
    two_level_v::pack(&forwarded_transfers, packed, s);
    s.end_round();
    tree.children().rev().for_each(|child| s.send(child.rank, child.blocks(&lengths, packed.buffer)));
    transfers.send_directly(|transfer| transfer.forwarded_bytes(max_forwarded_bytes) > 0, s);
}
