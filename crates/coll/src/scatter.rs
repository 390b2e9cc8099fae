//! MPI_Scatter and MPI_Scatterv.
//!
//! | algorithm | source | rounds | bytes that a rank sends at most |
//! |---|---|---|---|
//! | host | the root's slot in the job's segment | ⌈n (p − 1) / limit⌉ shm steps | n (p − 1) into the segment |
//! | binomial | MPICH "binomial" | ⌈log2 p⌉ | n (p − 1) at the root |
//! | two_level | to one rank a host in one message, then on | hosts / outstanding at the root | n (p − 1) at the root |
//! | linear | Open MPI "basic linear" | p / outstanding at the root | n (p − 1) at the root |
//!
//! n is one block. The mirror of gather, also in that a rank that forwards blocks of MPI_Scatterv receives their
//! lengths first.

use crate::algorithm::Algorithm;
use crate::call::{Blocks, Data, Place};
use crate::cut::{Cut, bring_home};
use crate::edges::{self, Edge, Edges, Ends};
use crate::hosts::{Team, is_run};
use crate::model::Shape;
use crate::schedule::{Buffer, Giver, Ranks, Schedule, Span, WORD};
use crate::tree::{Child, Tree};
use crate::tuning::{Tuning, is_rooted_by_flags};
use crate::two_level::cost_of_blocks;

pub(crate) struct Args<'a> {
    pub root: u32,
    pub send: Blocks<'a>,
    pub recv: Data,
    pub in_place: bool,
    pub uniform: bool,
}

/// The cost of a further message whose sender does nothing else and knows its length, while ranks that forward blocks
/// still receive the lengths (fitted to docs/measurements/2026-11-23-collectives.md, Blocks of unlike lengths: the
/// receivers' part does not count).
const GIVEN_US: f64 = 0.15;

impl<'a> Args<'a> {
    pub const ALGORITHMS: &'a [Algorithm<Args<'a>>] = &[
        Algorithm {
            name: "host",
            fits: is_rooted_by_flags,
            cost: |s, t| {
                let all = s.bytes * u64::from(s.size - 1);
                t.model.steps_ahead(s, t.limits.host_steps(all)) + t.model.slots_of_root(s, &t.limits)
            },
            build: host,
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
                false => binomial_of_any(args, place, t, s),
            },
        },
        Algorithm {
            name: "two_level",
            fits: |_, t| t.hosts.is_some(),
            cost: |s, t| if s.uniform { cost_of_blocks(s, t) } else { edges::cost(s, t, false) },
            build: |args, place, t, s| match args.uniform {
                true => two_level(args, place, t, s),
                false => edges::two_level(args.edges(place, t), place, t, s),
            },
        },
        Algorithm {
            name: "linear",
            fits: |_, _| true,
            cost: |s, t| {
                let message_us = if s.uniform { t.model.overhead_us } else { t.model.overhead_us.min(GIVEN_US) };
                t.model.message_us + (s.p() - 1.0) * (message_us + s.n() * t.model.byte_us)
            },
            build: linear,
        },
    ];
}

impl Args<'_> {
    pub fn shape(&self, place: Place, tuning: &Tuning) -> Shape {
        let bytes = if !self.uniform {
            0
        } else if place.rank == self.root {
            self.send.bytes(place.rank)
        } else {
            self.recv.bytes()
        };
        let host = tuning.one_host && place.size > 1;
        Shape { size: place.size, bytes, uniform: self.uniform, commutative: true, in_place: false, host }
    }

    fn edges(&self, place: Place, t: &Tuning) -> Edges {
        let is_root = place.rank == self.root;
        let block = |to| Edge::block(to, &self.send, Buffer::Send, to);
        let own = || Edge::whole(self.root, &self.recv, Buffer::Recv);
        let kept = || (self.send.span(Buffer::Send, place.rank), self.recv.span(Buffer::Recv));
        Edges {
            leaving: if is_root { (1..place.size).map(|i| block(place.after(i))).collect() } else { vec![] },
            arriving: if is_root { vec![] } else { vec![own()] },
            loops: if is_root && !self.in_place { vec![kept()] } else { vec![] },
            givers: Ends::One(self.root),
            takers: Ends::All,
            window: t.limits.outstanding.max(1),
        }
    }
}

/// The slot of the root has the blocks of the ranks after it, in their order.
fn host(args: &Args, place: Place, t: &Tuning, s: &mut Schedule) {
    let (bytes, others) = (args.shape(place, t).bytes, u64::from(place.size - 1));
    let cut = Cut::new(place.size - 1, t);
    if place.rank != args.root {
        let block = cut.taken(std::iter::once((args.recv.span(Buffer::Recv), args.recv.type_size)), s);
        let before = u64::from(place.before(args.root) - 1);
        for step in 0..cut.steps(bytes) {
            let each = block[0].len(step);
            s.exchange(0, Ranks::Nobody, Ranks::One(args.root));
            s.take(Giver { rank: args.root, bytes: each * others }, before * each, block[0].piece(step));
        }
        return bring_home(&block, s);
    }
    let from = |rank| (args.send.span(Buffer::Send, rank), args.send.type_size.at(rank) as u64);
    let given = cut.given((1..place.size).map(|i| from(place.after(i))), s);
    for step in 0..cut.steps(bytes) {
        let each = cut.bytes(bytes, step);
        s.exchange(each * others, Ranks::All, Ranks::Nobody);
        for (i, block) in (0..).zip(&given) {
            s.put(i * each, block.piece(step));
        }
    }
    own_block(args, place, s);
}

fn linear(args: &Args, place: Place, t: &Tuning, s: &mut Schedule) {
    if place.rank != args.root {
        return s.recv(args.root, args.recv.span(Buffer::Recv));
    }
    for step in 1..place.size {
        let to = place.after(step);
        s.send(to, args.send.span(Buffer::Send, to));
        s.end_window(step, &t.limits);
    }
    own_block(args, place, s);
}

fn own_block(args: &Args, place: Place, s: &mut Schedule) {
    if !args.in_place {
        s.copy(args.send.span(Buffer::Send, place.rank), args.recv.span(Buffer::Recv));
    }
}

fn two_level(args: &Args, place: Place, t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let leaders = hosts.leaders(Some(args.root));
    let (local, leader) = (hosts.local(place.rank), leaders[hosts.host_of(place.rank) as usize]);
    let own = args.recv.span(Buffer::Recv);
    if place.rank == args.root {
        give_hosts(args, place, &leaders, t, s);
    } else if place.rank != leader {
        s.recv(leader, own);
    } else if local.place.size == 1 {
        s.recv(args.root, own);
    } else {
        pass_on(args, &local, t, s);
    }
}

/// Receives the blocks of the leader's host, packed in order, and passes them on.
fn pass_on(args: &Args, local: &Team, t: &Tuning, s: &mut Schedule) {
    let bytes = args.recv.bytes();
    let all = s.scratch_bytes(bytes * u64::from(local.place.size));
    let block = |at: u32| Span::bytes(all, bytes * u64::from(at), bytes);
    s.recv(args.root, Span::bytes(all, 0, bytes * u64::from(local.place.size)));
    s.end_round();
    for (count, (at, rank)) in (1..).zip(local.others()) {
        s.send(rank, block(at));
        s.end_window(count, &t.limits);
    }
    s.copy(block(local.place.rank), args.recv.span(Buffer::Recv));
}

/// At the root: blocks of hosts whose ranks follow each other are sent from where they are, others are packed first.
fn give_hosts(args: &Args, place: Place, leaders: &[u32], t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let bytes = args.send.bytes(place.rank);
    let others = || hosts.members().zip(leaders).filter(|(_, leader)| **leader != place.rank);
    let scattered = || others().filter(|(ranks, _)| !is_run(ranks)).flat_map(|(ranks, _)| ranks);
    let packed = s.scratch_bytes(bytes * scattered().count() as u64);
    for (at, &rank) in (0..).zip(scattered()) {
        s.copy(args.send.span(Buffer::Send, rank), Span::bytes(packed, bytes * at, bytes));
    }
    s.end_round();
    let mut at = 0;
    for (count, (ranks, &leader)) in (1..).zip(others()) {
        if is_run(ranks) {
            s.send(leader, args.send.run(Buffer::Send, ranks[0], ranks.len() as u32));
        } else {
            s.send(leader, Span::bytes(packed, at, bytes * ranks.len() as u64));
            at += bytes * ranks.len() as u64;
        }
        s.end_window(count, &t.limits);
    }
    hosts.local(place.rank).others().for_each(|(_, rank)| s.send(rank, args.send.span(Buffer::Send, rank)));
    own_block(args, place, s);
}

fn binomial(args: &Args, place: Place, _: &Tuning, s: &mut Schedule) {
    let tree = Tree::new(place, args.root);
    let Some(parent) = tree.parent() else { return spread_from_root(args, place, tree, s) };
    let own = args.recv.span(Buffer::Recv);
    if tree.span() == 1 {
        return s.recv(parent, own);
    }
    let bytes = args.recv.bytes();
    let subtree = s.scratch_bytes(bytes * u64::from(tree.span()));
    s.recv(parent, Span::bytes(subtree, 0, bytes * u64::from(tree.span())));
    s.end_round();
    for child in tree.children().rev() {
        s.send(child.rank, Span::bytes(subtree, bytes * u64::from(child.offset), bytes * u64::from(child.span)));
    }
    s.copy(Span::bytes(subtree, 0, bytes), own);
}

/// A child's subtree is a run of ranks and is sent from where it is, except the one that wraps past rank 0.
fn spread_from_root(args: &Args, place: Place, tree: Tree, s: &mut Schedule) {
    let passes_end = |child: &Child| child.span > place.size - child.rank;
    let wrapped = tree.children().find(passes_end).map(|child| pack_around(args, place, child, s));
    s.end_round();
    for child in tree.children().rev() {
        match wrapped {
            Some(packed) if passes_end(&child) => s.send(child.rank, packed),
            _ => s.send(child.rank, args.send.run(Buffer::Send, child.rank, child.span)),
        }
    }
    own_block(args, place, s);
}

/// The blocks from the child's rank to the last and from rank 0 on, packed in that order.
fn pack_around(args: &Args, place: Place, child: Child, s: &mut Schedule) -> Span {
    let before_end = place.size - child.rank;
    let bytes = args.send.bytes(child.rank);
    let (cut, end) = (bytes * u64::from(before_end), bytes * u64::from(child.span));
    let buffer = s.scratch_bytes(end);
    s.copy(args.send.run(Buffer::Send, child.rank, before_end), Span::bytes(buffer, 0, cut));
    s.copy(args.send.run(Buffer::Send, 0, child.span - before_end), Span::bytes(buffer, cut, end - cut));
    Span::bytes(buffer, 0, end)
}

/// Blocks of unlike lengths: the lengths are sent down the tree first, to ranks that forward blocks.
fn binomial_of_any(args: &Args, place: Place, t: &Tuning, s: &mut Schedule) {
    let (tree, edges, via_bytes) = (Tree::new(place, args.root), args.edges(place, t), t.limits.via_bytes);
    let Some(parent) = tree.parent() else { return spread_any_from_root(&edges, tree, via_bytes, s) };
    let words = s.scratch_bytes(WORD * u64::from(tree.span() - 1));
    s.recv(parent, below(tree.span(), 0, words));
    s.end_round();
    for child in tree.children().rev() {
        s.send(child.rank, below(child.span, child.offset, words));
    }
    s.end_round();
    s.then(below(tree.span(), 0, words), move |told, s| {
        let via = edges.arriving[0].via(via_bytes);
        let lengths = [&[via], told].concat();
        let all = lengths.iter().sum();
        let subtree = s.scratch_bytes(all);
        s.recv(parent, Span::bytes(subtree, 0, all));
        s.end_round();
        tree.children().rev().for_each(|child| s.send(child.rank, child.blocks(&lengths, subtree)));
        if via > 0 {
            s.copy(Span::bytes(subtree, 0, via), edges.arriving[0].span);
        }
        edges.go_straight(|edge| edge.via(via_bytes) > 0, s);
    });
}

/// The words of all ranks of a subtree but its own root, which knows its length; `offset` is the subtree's place in
/// this one.
fn below(ranks: u32, offset: u32, words: Buffer) -> Span {
    Span::bytes(words, WORD * u64::from(offset), WORD * u64::from(ranks - 1))
}

fn spread_any_from_root(edges: &Edges, tree: Tree, via_bytes: u64, s: &mut Schedule) {
    let (lengths, through) = edges::of_root(&edges.leaving, via_bytes);
    let words = s.scratch_bytes(WORD * edges.leaving.len() as u64);
    s.say(&lengths[1..], words, 0);
    for child in tree.children().rev() {
        s.send(child.rank, below(child.span, child.offset, words));
    }
    let packed = edges::room(&through, s);
    edges::pack(&through, packed, s);
    s.end_round();
    tree.children().rev().for_each(|child| s.send(child.rank, child.blocks(&lengths, packed.buffer)));
    edges.go_straight(|edge| edge.via(via_bytes) > 0, s);
}
