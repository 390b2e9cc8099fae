//! The two-level algorithm for blocks of any lengths between any two ranks, through one rank a host, its leader: the
//! rows "two_level" of MPI_Gatherv, MPI_Scatterv, MPI_Alltoallv, -w and the neighbourhood collectives.
//!
//! Only sender and receiver of a block know its length.
//!
//! 1. Each rank sends its leader the bytes that it has for each rank of other hosts, and those that it gets from each
//!    of these hosts.
//! 2. All blocks from one host to another cross the network in one message, ordered by receiver, then by sender.
//! 3. Leaders distribute what they receive.
//!
//! Blocks longer than `Limits::via_bytes`, for which two more copies cost more than a message saves, and blocks within
//! a host are sent directly, after these steps: until then a rank waits only for ranks of its host or for leaders.
//!
//! Used by the tables of these collectives; uses `schedule`.

use crate::call::{Blocks, Data, Place};
use crate::hosts::{Hosts, Team};
use crate::model::Shape;
use crate::schedule::{Buffer, Schedule, Span, WORD};
use crate::tuning::Tuning;

/// A block that leaves this rank, or arrives.
pub(crate) struct Edge {
    pub peer: u32,
    pub span: Span,
    pub bytes: u64,
}

impl Edge {
    /// The one block of a buffer.
    pub fn whole(peer: u32, data: &Data, buffer: Buffer) -> Edge {
        Edge { peer, span: data.span(buffer), bytes: data.bytes() }
    }

    /// One of its blocks.
    pub fn block(peer: u32, blocks: &Blocks, buffer: Buffer, block: u32) -> Edge {
        Edge { peer, span: blocks.span(buffer, block), bytes: blocks.bytes(block) }
    }

    /// Its bytes if other ranks may forward it, otherwise 0.
    pub fn via(&self, via_bytes: u64) -> u64 {
        if self.bytes <= via_bytes { self.bytes } else { 0 }
    }
}

/// A set of ranks that all ranks know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    All,
    One(u32),
}

impl Ends {
    fn has(self, rank: u32) -> bool {
        self == Ends::All || self == Ends::One(rank)
    }
}

/// All blocks of one rank, each list in the order in which messages between two ranks match.
pub(crate) struct Edges {
    pub leaving: Vec<Edge>,
    pub arriving: Vec<Edge>,
    /// The blocks of this rank for itself.
    pub loops: Vec<(Span, Span)>,
    /// The ranks that may send a block, and those that may receive one.
    pub givers: Ends,
    pub takers: Ends,
    /// The number of list entries that may be in flight at a time.
    pub window: u32,
}

impl Edges {
    /// Sends and receives the blocks that no rank forwards, and copies those that do not leave this rank.
    pub fn go_straight(&self, is_passed_on: impl Fn(&Edge) -> bool, s: &mut Schedule) {
        s.end_round();
        let straight = |list: &[Edge], i: u32| {
            list.get(i as usize).filter(|edge| !is_passed_on(edge)).map(|edge| (edge.peer, edge.span))
        };
        for i in 0..self.leaving.len().max(self.arriving.len()) as u32 {
            if let Some((from, into)) = straight(&self.arriving, i) {
                s.recv(from, into);
            }
            if let Some((to, from)) = straight(&self.leaving, i) {
                s.send(to, from);
            }
            if (i + 1).is_multiple_of(self.window) {
                s.end_round();
            }
        }
        self.loops.iter().for_each(|&(from, into)| s.copy(from, into));
    }
}

/// The cost of planning a second time, with the allocations for it (fitted to
/// docs/measurements/2026-11-23-collectives.md, Blocks of unlike lengths).
const PLAN_US: f64 = 2.0;

/// The cost besides the bytes: sending the lengths, up to the leader, across and, if all ranks receive something, down
/// again.
pub(crate) fn cost(shape: &Shape, t: &Tuning, has_way_down: bool) -> f64 {
    let (hosts, within) = (t.known_hosts(), t.within().model);
    let hop_us = within.message_us + (f64::from(hosts.largest()) - 1.0) * within.overhead_us;
    let across_us = t.model.message_us + f64::from(hosts.count() - 1) * t.model.overhead_us;
    let hops = if has_way_down { 3.0 } else { 2.0 };
    PLAN_US + hops * hop_us + across_us + (shape.p() - f64::from(hosts.largest())) * t.model.copy_us
}

pub(crate) fn two_level(edges: Edges, place: Place, t: &Tuning, s: &mut Schedule) {
    let way = Way::new(&edges, place, t);
    let words = way.words(&edges);
    if place.rank != way.leader() {
        let buffer = s.scratch_bytes(WORD * words.len() as u64);
        let told = s.say(&words, buffer, 0);
        s.send(way.leader(), told);
        s.end_round();
        return follow(&edges, &way, s);
    }
    let bytes: Vec<u64> = way.local().others().map(|(_, mate)| WORD * way.count(mate) as u64).collect();
    let told = Span::bytes(s.scratch_bytes(bytes.iter().sum()), 0, bytes.iter().sum());
    for ((_, mate), words) in way.local().others().zip(adjoining(told.buffer, bytes)) {
        s.recv(mate, words);
    }
    s.end_round();
    s.then(told, move |told, s| lead(&edges, &way, &words, told, s));
}

/// The route of blocks from host to host, as one rank sees it.
struct Way {
    hosts: Hosts,
    leaders: Vec<u32>,
    rank: u32,
    /// This rank's host.
    own: u32,
    /// The ranks of other hosts that may receive something, host by host.
    takers: Vec<u32>,
    /// Other hosts that may send something.
    givers: Vec<u32>,
    ends: (Ends, Ends),
    via_bytes: u64,
}

impl Way {
    fn new(edges: &Edges, place: Place, t: &Tuning) -> Way {
        let hosts = t.known_hosts().clone();
        let root = match (edges.givers, edges.takers) {
            (Ends::One(root), _) | (_, Ends::One(root)) => Some(root),
            (Ends::All, Ends::All) => None,
        };
        let own = hosts.host_of(place.rank);
        let away = || (0..).zip(hosts.members()).filter(|&(host, _)| host != own);
        let takers = away().flat_map(|(_, ranks)| ranks.iter().copied()).filter(|&rank| edges.takers.has(rank));
        let givers = away().filter(|(_, ranks)| ranks.iter().any(|&rank| edges.givers.has(rank))).map(|(host, _)| host);
        Way {
            takers: takers.collect(),
            givers: givers.collect(),
            leaders: hosts.leaders(root),
            rank: place.rank,
            own,
            ends: (edges.givers, edges.takers),
            via_bytes: t.limits.via_bytes,
            hosts,
        }
    }

    fn leader(&self) -> u32 {
        self.leaders[self.own as usize]
    }

    /// The ranks of this host.
    fn local(&self) -> Team<'_> {
        self.hosts.local(self.rank)
    }

    /// The sort key of a rank's blocks in a message.
    fn order(&self, rank: u32) -> (u32, u32) {
        (self.hosts.host_of(rank), rank)
    }

    /// Tells whether a block goes through the leaders; its two ends agree on that.
    fn has(&self, edge: &Edge) -> bool {
        edge.via(self.via_bytes) > 0 && self.hosts.host_of(edge.peer) != self.own
    }

    /// The blocks that do, in their order in a message.
    fn through<'a>(&self, edges: &'a [Edge]) -> Vec<&'a Edge> {
        let mut through: Vec<&Edge> = edges.iter().filter(|edge| self.has(edge)).collect();
        through.sort_by_key(|edge| self.order(edge.peer));
        through
    }

    /// The number of words that a rank of this host sends to its leader.
    fn count(&self, mate: u32) -> usize {
        self.given(mate) + if self.ends.1.has(mate) { self.givers.len() } else { 0 }
    }

    /// The number of those that describe the blocks it sends; they come first.
    fn given(&self, mate: u32) -> usize {
        if self.ends.0.has(mate) { self.takers.len() } else { 0 }
    }

    /// This rank's words: bytes for each of `takers`, bytes from each of `givers`.
    fn words(&self, edges: &Edges) -> Vec<u64> {
        let mut words = vec![0; self.count(self.rank)];
        let (given, taken) = words.split_at_mut(self.given(self.rank));
        for edge in edges.leaving.iter().filter(|edge| self.has(edge)) {
            let at = self.takers.binary_search_by_key(&self.order(edge.peer), |&taker| self.order(taker));
            given[at.expect("one who may take")] += edge.bytes;
        }
        for edge in edges.arriving.iter().filter(|edge| self.has(edge)) {
            let at = self.givers.binary_search(&self.hosts.host_of(edge.peer));
            taken[at.expect("a host that may give")] += edge.bytes;
        }
        words
    }

    /// The bytes that each rank of this host sends and receives, from this rank's own words and those received
    /// (`told`).
    fn loads<'a>(&self, own: &'a [u64], mut told: &'a [u64]) -> Vec<Load<'a>> {
        let mut load = |&mate: &u32| {
            let (words, rest) = if mate == self.rank { (own, told) } else { told.split_at(self.count(mate)) };
            told = rest;
            let (given, taken) = words.split_at(self.given(mate));
            Load { given, taken }
        };
        self.local().ranks.iter().map(&mut load).collect()
    }
}

/// Bytes that one rank has for each of `takers` and from each of `givers`; empty if it may have nothing.
struct Load<'a> {
    given: &'a [u64],
    taken: &'a [u64],
}

impl Load<'_> {
    fn bytes_for(&self, taker: usize) -> u64 {
        self.given.get(taker).copied().unwrap_or(0)
    }

    fn bytes_from(&self, giver: usize) -> u64 {
        self.taken.get(giver).copied().unwrap_or(0)
    }
}

/// The schedule of a rank that is no leader: one message up, one down.
fn follow(edges: &Edges, way: &Way, s: &mut Schedule) {
    let (given, taken) = (way.through(&edges.leaving), way.through(&edges.arriving));
    let (up, down) = (room(&given, s), room(&taken, s));
    pack(&given, up, s);
    s.send(way.leader(), up);
    s.recv(way.leader(), down);
    unpack(&taken, down, s);
    edges.go_straight(|edge| way.has(edge), s);
}

fn lead(edges: &Edges, way: &Way, words: &[u64], told: &[u64], s: &mut Schedule) {
    let loads = way.loads(words, told);
    let rows = take_up(edges, way, &loads, s);
    let leaving = lay_together(&rows, way, &loads, s);
    let arriving = cross(&leaving, way, &loads, s);
    hand_down(edges, way, &loads, &arriving, s);
    edges.go_straight(|edge| way.has(edge), s);
}

/// Gathers the blocks of each rank of this host for others, one row a rank.
fn take_up(edges: &Edges, way: &Way, loads: &[Load], s: &mut Schedule) -> Vec<Span> {
    let bytes = |load: &Load| load.given.iter().sum::<u64>();
    let buffer = s.scratch_bytes(loads.iter().map(bytes).sum());
    let rows = adjoining(buffer, loads.iter().map(bytes));
    let local = way.local();
    local.others().for_each(|(at, mate)| s.recv(mate, rows[at as usize]));
    pack(&way.through(&edges.leaving), rows[local.place.rank as usize], s);
    s.end_round();
    rows
}

/// Reorders the rows into one message a host.
fn lay_together(rows: &[Span], way: &Way, loads: &[Load], s: &mut Schedule) -> Vec<Span> {
    let buffer = s.scratch_bytes(rows.iter().map(|row| row.count).sum());
    let mut leaving = vec![Span::bytes(buffer, 0, 0); way.leaders.len()];
    let (mut rows, mut at) = (rows.to_vec(), 0);
    for (taker, &rank) in way.takers.iter().enumerate() {
        let message = &mut leaving[way.hosts.host_of(rank) as usize];
        if message.is_empty() {
            message.at = at as i64;
        }
        for (row, load) in rows.iter_mut().zip(loads) {
            let block = Span { count: load.bytes_for(taker), ..*row };
            s.copy(block, Span::bytes(buffer, at, block.count));
            row.at += block.count as i64;
            message.count += block.count;
            at += block.count;
        }
    }
    leaving
}

/// Exchanges the messages of leaders, around the ring of hosts so that not all send to one at once; returns the
/// messages from each of `givers`.
fn cross(leaving: &[Span], way: &Way, loads: &[Load], s: &mut Schedule) -> Vec<Span> {
    let from = |giver: usize| loads.iter().map(|load| load.bytes_from(giver)).sum::<u64>();
    let bytes: Vec<u64> = (0..way.givers.len()).map(from).collect();
    let arriving = adjoining(s.scratch_bytes(bytes.iter().sum()), bytes);
    let ring = Place { rank: way.own, size: way.leaders.len() as u32 };
    for step in 1..ring.size {
        let (to, from) = (ring.after(step), ring.before(step));
        if let Ok(giver) = way.givers.binary_search(&from) {
            s.recv(way.leaders[from as usize], arriving[giver]);
        }
        s.send(way.leaders[to as usize], leaving[to as usize]);
    }
    s.end_round();
    arriving
}

/// Sends each rank of this host its blocks, in one message.
fn hand_down(edges: &Edges, way: &Way, loads: &[Load], arriving: &[Span], s: &mut Schedule) {
    let taken = |load: &Load| load.taken.iter().sum::<u64>();
    let buffer = s.scratch_bytes(loads.iter().map(taken).sum());
    let rows = adjoining(buffer, loads.iter().map(taken));
    let mut arriving = arriving.to_vec();
    for (row, load) in rows.iter().zip(loads) {
        let mut into = *row;
        for (giver, from) in arriving.iter_mut().enumerate() {
            let count = load.bytes_from(giver);
            s.copy(Span { count, ..*from }, Span { count, ..into });
            (from.at, into.at) = (from.at + count as i64, into.at + count as i64);
        }
    }
    let local = way.local();
    local.others().for_each(|(at, mate)| s.send(mate, rows[at as usize]));
    unpack(&way.through(&edges.arriving), rows[local.place.rank as usize], s);
}

/// For a root's blocks, in the order of relative ranks: the bytes of each that are forwarded through the tree (0 for
/// the root's own and for long blocks, which are sent directly), and the forwarded blocks.
pub(crate) fn of_root(edges: &[Edge], via_bytes: u64) -> (Vec<u64>, Vec<&Edge>) {
    let lengths = std::iter::once(0).chain(edges.iter().map(|edge| edge.via(via_bytes)));
    (lengths.collect(), edges.iter().filter(|edge| edge.via(via_bytes) > 0).collect())
}

/// Spans one after the other.
fn adjoining(buffer: Buffer, bytes: impl IntoIterator<Item = u64>) -> Vec<Span> {
    let mut at = 0;
    let mut next = |bytes| {
        at += bytes;
        Span::bytes(buffer, at - bytes, bytes)
    };
    bytes.into_iter().map(&mut next).collect()
}

/// Scratch memory for blocks.
pub(crate) fn room(edges: &[&Edge], s: &mut Schedule) -> Span {
    let bytes = edges.iter().map(|edge| edge.bytes).sum();
    Span::bytes(s.scratch_bytes(bytes), 0, bytes)
}

/// Copies blocks one after the other into `packed`.
pub(crate) fn pack(edges: &[&Edge], packed: Span, s: &mut Schedule) {
    edges.iter().zip(places(edges, packed)).for_each(|(edge, place)| s.copy(edge.span, place));
}

/// Copies blocks back from `packed`.
pub(crate) fn unpack(edges: &[&Edge], packed: Span, s: &mut Schedule) {
    edges.iter().zip(places(edges, packed)).for_each(|(edge, place)| s.copy(place, edge.span));
}

fn places(edges: &[&Edge], packed: Span) -> impl Iterator<Item = Span> {
    let places = adjoining(packed.buffer, edges.iter().map(|edge| edge.bytes));
    places.into_iter().map(move |place| Span { at: packed.at + place.at, ..place })
}
