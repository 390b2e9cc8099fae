//! MPI_Gather and MPI_Gatherv.
//!
//! | algorithm | source | rounds | bytes that a rank sends at most |
//! |---|---|---|---|
//! | host | every rank's slot in the job's segment | ⌈n / limit⌉ shm steps | n into the segment |
//! | binomial | MPICH "binomial" | ⌈log2 p⌉ | n p / 2 |
//! | two_level | to one rank a host, from there in one message | hosts / outstanding at the root | n p / hosts |
//! | linear | Open MPI "basic linear" | p / outstanding at the root | n |
//!
//! n is the length of one block in bytes, p the number of ranks, hosts the number of hosts; limit is
//! `ScheduleLimits::shm_step_bytes`, and outstanding is `ScheduleLimits::outstanding`. The column "source" has the
//! origin of an algorithm, or in brief how it works. A rank that forwards blocks of other ranks keeps them packed in
//! scratch memory. In MPI_Gatherv only the root knows all counts: a rank that forwards blocks receives their lengths
//! first (binomial: as many rounds more), and long blocks are sent directly to the root.

use crate::algorithm::Algorithm;
use crate::binomial_tree::BinomialTree;
use crate::call::{BlockArray, BlockBuffer, RankAndSize};
use crate::cost_model::CallShape;
use crate::host_map::{Subgroup, is_run};
use crate::schedule::{BufferId, MemberSet, RankSlot, Schedule, Span, VALUE_BYTES};
use crate::slot_split::{SlotSplit, unpack_blocks};
use crate::tuning::{Tuning, fits_rooted_shm};
use crate::two_level::cost_of_blocks;
use crate::two_level_v::{self, BlockTransfer, BlockTransfers, RankSet};

pub(crate) struct Args<'a> {
    pub root: u32,
    pub send: BlockBuffer,
    pub recv: BlockArray<'a>,
    pub in_place: bool,
    pub uniform: bool,
}

impl<'a> Args<'a> {
    pub const ALGORITHMS: &'a [Algorithm<Args<'a>>] = &[
        Algorithm {
            name: "host",
            fits: fits_rooted_shm,
            cost: |s, t| {
                t.model.pipelined_steps_us(s, t.limits.shm_steps(s.bytes)) + t.model.root_slot_copy_us(s, &t.limits)
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
            cost: |s, t| t.model.message_us + (s.p() - 1.0) * (t.model.overhead_us + s.n() * t.model.byte_us),
            build: linear,
        },
    ];
}

impl Args<'_> {
    pub fn shape(&self, place: RankAndSize, tuning: &Tuning) -> CallShape {
        let bytes = if !self.uniform {
            0
        } else if place.rank == self.root {
            self.recv.bytes(place.rank)
        } else {
            self.send.bytes()
        };
        let has_shm_steps = tuning.one_host && place.size > 1;
        CallShape { size: place.size, bytes, uniform: self.uniform, commutative: true, in_place: false, has_shm_steps }
    }

    fn transfers(&self, place: RankAndSize, t: &Tuning) -> BlockTransfers {
        let is_root = place.rank == self.root;
        let block = |from| BlockTransfer::block(from, &self.recv, BufferId::Recv, from);
        let own = || BlockTransfer::whole(self.root, &self.send, BufferId::Send);
        let kept = || (self.send.span(BufferId::Send), self.recv.span(BufferId::Recv, place.rank));
        BlockTransfers {
            sends: if is_root { vec![] } else { vec![own()] },
            receives: if is_root { (1..place.size).map(|i| block(place.after(i))).collect() } else { vec![] },
            self_copies: if is_root && !self.in_place { vec![kept()] } else { vec![] },
            sources: RankSet::All,
            destinations: RankSet::One(self.root),
            max_in_flight: t.limits.outstanding.max(1),
        }
    }
}

/// Every other rank writes its block into its slot, in several exchanges if it is longer than a slot, and the root
/// copies all blocks out of the slots.
fn shm(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let bytes = args.shape(place, t).bytes;
    let split = SlotSplit::new(1, t);
    if place.rank != args.root {
        let block = split.send_blocks(std::iter::once((args.send.span(BufferId::Send), args.send.type_size)), s)[0];
        for step in 0..split.steps(bytes) {
            s.begin_exchange(block.len(step), MemberSet::One(args.root), MemberSet::Empty);
            s.write_slot(0, block.piece(step));
        }
        return;
    }
    let others = (1..place.size).map(|i| place.after(i));
    let into = |rank| (args.recv.span(BufferId::Recv, rank), args.recv.type_size.at(rank) as u64);
    let received = split.receive_blocks(others.clone().map(into), s);
    for step in 0..split.steps(bytes) {
        s.begin_exchange(0, MemberSet::Empty, MemberSet::All);
        for (rank, block) in others.clone().zip(&received) {
            s.read_slot(RankSlot { rank, bytes: block.len(step) }, 0, block.piece(step));
        }
    }
    unpack_blocks(&received, s);
    copy_own_block(args, place, s);
}

fn linear(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    if place.rank != args.root {
        return s.send(args.root, args.send.span(BufferId::Send));
    }
    for step in 1..place.size {
        let from = place.after(step);
        s.recv(from, args.recv.span(BufferId::Recv, from));
        s.end_round_if_full(step, &t.limits);
    }
    copy_own_block(args, place, s);
}

fn copy_own_block(args: &Args, place: RankAndSize, s: &mut Schedule) {
    if !args.in_place {
        s.copy(args.send.span(BufferId::Send), args.recv.span(BufferId::Recv, place.rank));
    }
}

fn two_level(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let leaders = hosts.leaders(Some(args.root));
    let (local, leader) = (hosts.local(place.rank), leaders[hosts.host_of(place.rank) as usize]);
    if place.rank == args.root {
        receive_from_leaders(args, place, &leaders, t, s);
    } else if place.rank != leader {
        s.send(leader, args.send.span(BufferId::Send));
    } else if local.place.size == 1 {
        s.send(args.root, args.send.span(BufferId::Send));
    } else {
        let all = gather_at_leader(args, &local, t, s);
        s.send(args.root, all);
    }
}

/// Receives the blocks of the leader's host, packed in the order of ranks, and returns their span.
fn gather_at_leader(args: &Args, local: &Subgroup, t: &Tuning, s: &mut Schedule) -> Span {
    let bytes = args.send.bytes();
    let all = s.scratch_bytes(bytes * u64::from(local.place.size));
    let block = |at: u32| Span::bytes(all, bytes * u64::from(at), bytes);
    for (count, (at, rank)) in (1..).zip(local.other_ranks()) {
        s.recv(rank, block(at));
        s.end_round_if_full(count, &t.limits);
    }
    s.copy(args.send.span(BufferId::Send), block(local.place.rank));
    Span::bytes(all, 0, bytes * u64::from(local.place.size))
}

/// Receives all blocks at the root. The blocks of a host whose ranks are consecutive are received where the result
/// has them; those of other hosts are received in scratch memory and copied.
fn receive_from_leaders(args: &Args, place: RankAndSize, leaders: &[u32], t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let bytes = args.recv.bytes(place.rank);
    let is_scattered = |ranks: &&[u32]| !is_run(ranks);
    let packed = s.scratch_bytes(hosts.members().filter(is_scattered).map(|ranks| bytes * ranks.len() as u64).sum());
    let (mut at, mut copies) = (0, Vec::new());
    for (count, (ranks, &leader)) in (1..).zip(hosts.members().zip(leaders)) {
        if leader == place.rank {
            hosts
                .local(place.rank)
                .other_ranks()
                .for_each(|(_, rank)| s.recv(rank, args.recv.span(BufferId::Recv, rank)));
        } else if is_run(ranks) {
            s.recv(leader, args.recv.range_span(BufferId::Recv, ranks[0], ranks.len() as u32));
        } else {
            s.recv(leader, Span::bytes(packed, at, bytes * ranks.len() as u64));
            for &rank in ranks {
                copies.push((Span::bytes(packed, at, bytes), args.recv.span(BufferId::Recv, rank)));
                at += bytes;
            }
        }
        s.end_round_if_full(count, &t.limits);
    }
    copies.into_iter().for_each(|(from, into)| s.copy(from, into));
    copy_own_block(args, place, s);
}

fn binomial(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let tree = BinomialTree::new(place, args.root);
    let Some(parent) = tree.parent() else { return receive_at_root(args, place, tree, s) };
    let bytes = args.send.bytes();
    if tree.subtree_size() == 1 {
        return s.send(parent, args.send.span(BufferId::Send));
    }
    let subtree = s.scratch_bytes(bytes * u64::from(tree.subtree_size()));
    for child in tree.children() {
        s.recv(
            child.rank,
            Span::bytes(subtree, bytes * u64::from(child.offset), bytes * u64::from(child.subtree_size)),
        );
    }
    s.copy(args.send.span(BufferId::Send), Span::bytes(subtree, 0, bytes));
    s.send(parent, Span::bytes(subtree, 0, bytes * u64::from(tree.subtree_size())));
}

/// Receives all blocks at the root. The ranks of a child's subtree are consecutive, so that its blocks are received
/// where the result has them; but if a subtree continues at rank 0 behind the last rank, its blocks are received in
/// scratch memory and copied.
fn receive_at_root(args: &Args, place: RankAndSize, tree: BinomialTree, s: &mut Schedule) {
    let mut wrapped = None;
    for child in tree.children() {
        let before_end = place.size - child.rank;
        if child.subtree_size <= before_end {
            s.recv(child.rank, args.recv.range_span(BufferId::Recv, child.rank, child.subtree_size));
        } else {
            let bytes = args.recv.bytes(child.rank);
            let all = Span::bytes(
                s.scratch_bytes(bytes * u64::from(child.subtree_size)),
                0,
                bytes * u64::from(child.subtree_size),
            );
            s.recv(child.rank, all);
            wrapped = Some((child, all, bytes * u64::from(before_end)));
        }
    }
    if let Some((child, all, split_at)) = wrapped {
        let before_end = place.size - child.rank;
        let upper = args.recv.range_span(BufferId::Recv, child.rank, before_end);
        s.copy(Span::bytes(all.buffer, 0, split_at), upper);
        let lower = args.recv.range_span(BufferId::Recv, 0, child.subtree_size - before_end);
        s.copy(Span::bytes(all.buffer, split_at, all.count - split_at), lower);
    }
    copy_own_block(args, place, s);
}

/// Gathers blocks of unlike lengths by the tree. The lengths are sent up the tree first, but not to the root, which
/// knows them.
fn binomial_any_lengths(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let (tree, transfers, max_forwarded_bytes) =
        (BinomialTree::new(place, args.root), args.transfers(place, t), t.limits.max_forwarded_bytes);
    let Some(parent) = tree.parent() else { return receive_any_at_root(&transfers, tree, max_forwarded_bytes, s) };
    let length_buffer = s.scratch_bytes(VALUE_BYTES * u64::from(tree.subtree_size()));
    let span = |first: u32, count: u32| {
        Span::bytes(length_buffer, VALUE_BYTES * u64::from(first), VALUE_BYTES * u64::from(count))
    };
    for child in tree.children() {
        s.recv(child.rank, span(child.offset, child.subtree_size));
    }
    let forwarded_bytes = transfers.sends[0].forwarded_bytes(max_forwarded_bytes);
    s.store_values(&[forwarded_bytes], length_buffer, 0);
    if parent != args.root {
        s.send(parent, span(0, tree.subtree_size()));
    }
    s.end_round();
    s.continue_with(span(1, tree.subtree_size() - 1), move |other_lengths, s| {
        let lengths = [&[forwarded_bytes], other_lengths].concat();
        let all = lengths.iter().sum();
        let subtree = s.scratch_bytes(all);
        tree.children().for_each(|child| s.recv(child.rank, child.blocks(&lengths, subtree)));
        if forwarded_bytes > 0 {
            s.copy(transfers.sends[0].span, Span::bytes(subtree, 0, forwarded_bytes));
        }
        s.end_round();
        s.send(parent, Span::bytes(subtree, 0, all));
        transfers.send_directly(|transfer| transfer.forwarded_bytes(max_forwarded_bytes) > 0, s);
    });
}

fn receive_any_at_root(transfers: &BlockTransfers, tree: BinomialTree, max_forwarded_bytes: u64, s: &mut Schedule) {
    let (lengths, forwarded_transfers) = two_level_v::forwarded_by_root(&transfers.receives, max_forwarded_bytes);
    let packed = two_level_v::scratch_for(&forwarded_transfers, s);
    tree.children().for_each(|child| s.recv(child.rank, child.blocks(&lengths, packed.buffer)));
    two_level_v::unpack(&forwarded_transfers, packed, s);
    transfers.send_directly(|transfer| transfer.forwarded_bytes(max_forwarded_bytes) > 0, s);
}
