//! MPI_Gather and MPI_Gatherv.
//!
//! | algorithm | source | rounds | bytes that a rank sends at most |
//! |---|---|---|---|
//! | host | every rank's slot in the job's segment | ⌈n / limit⌉ shm steps | n into the segment |
//! | binomial | MPICH "binomial" | ⌈log2 p⌉ | n p / 2 |
//! | two_level | to one rank a host, from there in one message | hosts / outstanding at the root | n p / hosts |
//! | linear | Open MPI "basic linear" | p / outstanding at the root | n |
//!
//! n is one block. Blocks of other ranks travel packed in scratch memory. In MPI_Gatherv only the root knows the
//! counts: a rank that forwards blocks receives their lengths first (binomial: as many rounds more), and long ones are
//! sent directly to the root.

use crate::algorithm::Algorithm;
use crate::call::{Blocks, Data, Place};
use crate::cut::{Cut, bring_home};
use crate::edges::{self, Edge, Edges, Ends};
use crate::hosts::{Team, is_run};
use crate::model::Shape;
use crate::schedule::{Buffer, Giver, Ranks, Schedule, Span, WORD};
use crate::tree::Tree;
use crate::tuning::{Tuning, is_rooted_by_flags};
use crate::two_level::cost_of_blocks;

pub(crate) struct Args<'a> {
    pub root: u32,
    pub send: Data,
    pub recv: Blocks<'a>,
    pub in_place: bool,
    pub uniform: bool,
}

impl<'a> Args<'a> {
    pub const ALGORITHMS: &'a [Algorithm<Args<'a>>] = &[
        Algorithm {
            name: "host",
            fits: is_rooted_by_flags,
            cost: |s, t| t.model.steps_ahead(s, t.limits.host_steps(s.bytes)) + t.model.slots_of_root(s, &t.limits),
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
            cost: |s, t| t.model.message_us + (s.p() - 1.0) * (t.model.overhead_us + s.n() * t.model.byte_us),
            build: linear,
        },
    ];
}

impl Args<'_> {
    pub fn shape(&self, place: Place, tuning: &Tuning) -> Shape {
        let bytes = if !self.uniform {
            0
        } else if place.rank == self.root {
            self.recv.bytes(place.rank)
        } else {
            self.send.bytes()
        };
        let host = tuning.one_host && place.size > 1;
        Shape { size: place.size, bytes, uniform: self.uniform, commutative: true, in_place: false, host }
    }

    fn edges(&self, place: Place, t: &Tuning) -> Edges {
        let is_root = place.rank == self.root;
        let block = |from| Edge::block(from, &self.recv, Buffer::Recv, from);
        let own = || Edge::whole(self.root, &self.send, Buffer::Send);
        let kept = || (self.send.span(Buffer::Send), self.recv.span(Buffer::Recv, place.rank));
        Edges {
            leaving: if is_root { vec![] } else { vec![own()] },
            arriving: if is_root { (1..place.size).map(|i| block(place.after(i))).collect() } else { vec![] },
            loops: if is_root && !self.in_place { vec![kept()] } else { vec![] },
            givers: Ends::All,
            takers: Ends::One(self.root),
            window: t.limits.outstanding.max(1),
        }
    }
}

/// The root copies all blocks out of their slots.
fn host(args: &Args, place: Place, t: &Tuning, s: &mut Schedule) {
    let bytes = args.shape(place, t).bytes;
    let cut = Cut::new(1, t);
    if place.rank != args.root {
        let block = cut.given(std::iter::once((args.send.span(Buffer::Send), args.send.type_size)), s)[0];
        for step in 0..cut.steps(bytes) {
            s.exchange(block.len(step), Ranks::One(args.root), Ranks::Nobody);
            s.put(0, block.piece(step));
        }
        return;
    }
    let others = (1..place.size).map(|i| place.after(i));
    let into = |rank| (args.recv.span(Buffer::Recv, rank), args.recv.type_size.at(rank) as u64);
    let taken = cut.taken(others.clone().map(into), s);
    for step in 0..cut.steps(bytes) {
        s.exchange(0, Ranks::Nobody, Ranks::All);
        for (rank, block) in others.clone().zip(&taken) {
            s.take(Giver { rank, bytes: block.len(step) }, 0, block.piece(step));
        }
    }
    bring_home(&taken, s);
    own_block(args, place, s);
}

fn linear(args: &Args, place: Place, t: &Tuning, s: &mut Schedule) {
    if place.rank != args.root {
        return s.send(args.root, args.send.span(Buffer::Send));
    }
    for step in 1..place.size {
        let from = place.after(step);
        s.recv(from, args.recv.span(Buffer::Recv, from));
        s.end_window(step, &t.limits);
    }
    own_block(args, place, s);
}

fn own_block(args: &Args, place: Place, s: &mut Schedule) {
    if !args.in_place {
        s.copy(args.send.span(Buffer::Send), args.recv.span(Buffer::Recv, place.rank));
    }
}

fn two_level(args: &Args, place: Place, t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let leaders = hosts.leaders(Some(args.root));
    let (local, leader) = (hosts.local(place.rank), leaders[hosts.host_of(place.rank) as usize]);
    if place.rank == args.root {
        take_hosts(args, place, &leaders, t, s);
    } else if place.rank != leader {
        s.send(leader, args.send.span(Buffer::Send));
    } else if local.place.size == 1 {
        s.send(args.root, args.send.span(Buffer::Send));
    } else {
        let all = collect(args, &local, t, s);
        s.send(args.root, all);
    }
}

/// The blocks of a host, packed in order on its leader.
fn collect(args: &Args, local: &Team, t: &Tuning, s: &mut Schedule) -> Span {
    let bytes = args.send.bytes();
    let all = s.scratch_bytes(bytes * u64::from(local.place.size));
    let block = |at: u32| Span::bytes(all, bytes * u64::from(at), bytes);
    for (count, (at, rank)) in (1..).zip(local.others()) {
        s.recv(rank, block(at));
        s.end_window(count, &t.limits);
    }
    s.copy(args.send.span(Buffer::Send), block(local.place.rank));
    Span::bytes(all, 0, bytes * u64::from(local.place.size))
}

/// At the root: blocks of hosts whose ranks follow each other are received in place, others pass through scratch
/// memory.
fn take_hosts(args: &Args, place: Place, leaders: &[u32], t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let bytes = args.recv.bytes(place.rank);
    let scattered = |ranks: &&[u32]| !is_run(ranks);
    let packed = s.scratch_bytes(hosts.members().filter(scattered).map(|ranks| bytes * ranks.len() as u64).sum());
    let (mut at, mut copies) = (0, Vec::new());
    for (count, (ranks, &leader)) in (1..).zip(hosts.members().zip(leaders)) {
        if leader == place.rank {
            hosts.local(place.rank).others().for_each(|(_, rank)| s.recv(rank, args.recv.span(Buffer::Recv, rank)));
        } else if is_run(ranks) {
            s.recv(leader, args.recv.run(Buffer::Recv, ranks[0], ranks.len() as u32));
        } else {
            s.recv(leader, Span::bytes(packed, at, bytes * ranks.len() as u64));
            for &rank in ranks {
                copies.push((Span::bytes(packed, at, bytes), args.recv.span(Buffer::Recv, rank)));
                at += bytes;
            }
        }
        s.end_window(count, &t.limits);
    }
    copies.into_iter().for_each(|(from, into)| s.copy(from, into));
    own_block(args, place, s);
}

fn binomial(args: &Args, place: Place, _: &Tuning, s: &mut Schedule) {
    let tree = Tree::new(place, args.root);
    let Some(parent) = tree.parent() else { return collect_at_root(args, place, tree, s) };
    let bytes = args.send.bytes();
    if tree.span() == 1 {
        return s.send(parent, args.send.span(Buffer::Send));
    }
    let subtree = s.scratch_bytes(bytes * u64::from(tree.span()));
    for child in tree.children() {
        s.recv(child.rank, Span::bytes(subtree, bytes * u64::from(child.offset), bytes * u64::from(child.span)));
    }
    s.copy(args.send.span(Buffer::Send), Span::bytes(subtree, 0, bytes));
    s.send(parent, Span::bytes(subtree, 0, bytes * u64::from(tree.span())));
}

/// A child's subtree is a run of ranks and is received in place, except the one that wraps past rank 0.
fn collect_at_root(args: &Args, place: Place, tree: Tree, s: &mut Schedule) {
    let mut wrapped = None;
    for child in tree.children() {
        let before_end = place.size - child.rank;
        if child.span <= before_end {
            s.recv(child.rank, args.recv.run(Buffer::Recv, child.rank, child.span));
        } else {
            let bytes = args.recv.bytes(child.rank);
            let all = Span::bytes(s.scratch_bytes(bytes * u64::from(child.span)), 0, bytes * u64::from(child.span));
            s.recv(child.rank, all);
            wrapped = Some((child, all, bytes * u64::from(before_end)));
        }
    }
    if let Some((child, all, cut)) = wrapped {
        let before_end = place.size - child.rank;
        let upper = args.recv.run(Buffer::Recv, child.rank, before_end);
        s.copy(Span::bytes(all.buffer, 0, cut), upper);
        let lower = args.recv.run(Buffer::Recv, 0, child.span - before_end);
        s.copy(Span::bytes(all.buffer, cut, all.count - cut), lower);
    }
    own_block(args, place, s);
}

/// Blocks of unlike lengths: the lengths are sent up the tree first, to all but the root, which knows them.
fn binomial_of_any(args: &Args, place: Place, t: &Tuning, s: &mut Schedule) {
    let (tree, edges, via_bytes) = (Tree::new(place, args.root), args.edges(place, t), t.limits.via_bytes);
    let Some(parent) = tree.parent() else { return collect_any_at_root(&edges, tree, via_bytes, s) };
    let words = s.scratch_bytes(WORD * u64::from(tree.span()));
    let span = |first: u32, count: u32| Span::bytes(words, WORD * u64::from(first), WORD * u64::from(count));
    for child in tree.children() {
        s.recv(child.rank, span(child.offset, child.span));
    }
    let via = edges.leaving[0].via(via_bytes);
    s.say(&[via], words, 0);
    if parent != args.root {
        s.send(parent, span(0, tree.span()));
    }
    s.end_round();
    s.then(span(1, tree.span() - 1), move |told, s| {
        let lengths = [&[via], told].concat();
        let all = lengths.iter().sum();
        let subtree = s.scratch_bytes(all);
        tree.children().for_each(|child| s.recv(child.rank, child.blocks(&lengths, subtree)));
        if via > 0 {
            s.copy(edges.leaving[0].span, Span::bytes(subtree, 0, via));
        }
        s.end_round();
        s.send(parent, Span::bytes(subtree, 0, all));
        edges.go_straight(|edge| edge.via(via_bytes) > 0, s);
    });
}

fn collect_any_at_root(edges: &Edges, tree: Tree, via_bytes: u64, s: &mut Schedule) {
    let (lengths, through) = edges::of_root(&edges.arriving, via_bytes);
    let packed = edges::room(&through, s);
    tree.children().for_each(|child| s.recv(child.rank, child.blocks(&lengths, packed.buffer)));
    edges::unpack(&through, packed, s);
    edges.go_straight(|edge| edge.via(via_bytes) > 0, s);
}
