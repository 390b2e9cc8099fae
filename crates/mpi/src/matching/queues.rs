//! The two queues of a context: receives that wait for messages, messages that wait for receives.
//!
//! Both are kept by source, so that a receive from a known source never walks other sources' entries; a
//! running number restores the order among sources for MPI_ANY_SOURCE (MPI-5.0 §3.5).

use super::Op;
use hawser_base::{Context, LANES, Peer};
use std::collections::VecDeque;

/// What a receive or a probe asks for. `None` is MPI_ANY_SOURCE, MPI_ANY_TAG.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Want {
    pub context: Context,
    pub source: Option<Peer>,
    pub tag: Option<i32>,
}

/// Some message could have both tags.
pub fn tags_meet(a: Option<i32>, b: Option<i32>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    }
}

/// Where a context's queues lie in its lane's vector: every lane has each 2 * LANES-th pair of contexts.
#[inline(always)]
pub fn slot(context: Context) -> usize {
    (context.number() as usize / LANES) * 2 + (context.0 & 1) as usize
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Entry {
    op: Op,
    tag: Option<i32>,
    order: u64,
}

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct BySource {
    posted: VecDeque<Entry>,
    held: VecDeque<Entry>,
}

/// The queues of one context.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Matchbox {
    any_source: VecDeque<Entry>,
    sources: Vec<BySource>,
    /// Messages that are held in all: when there are none, nobody looks through the sources.
    held: usize,
}

impl Matchbox {
    fn source(&mut self, peer: Peer) -> &mut BySource {
        if peer.index() >= self.sources.len() {
            self.sources.resize_with(peer.index() + 1, BySource::default);
        }
        &mut self.sources[peer.index()]
    }

    /// No receive that could take a message of `peer` is posted and none of its messages is held.
    #[inline(always)]
    pub fn is_idle_for(&self, peer: Peer) -> bool {
        self.any_source.is_empty()
            && self.sources.get(peer.index()).is_none_or(|s| s.posted.is_empty() && s.held.is_empty())
    }

    pub fn post(&mut self, op: Op, want: &Want, order: u64) {
        let entry = Entry { op, tag: want.tag, order };
        match want.source {
            Some(peer) => self.source(peer).posted.push_back(entry),
            None => self.any_source.push_back(entry),
        }
    }

    /// Takes the receive that was posted first of those that fit a message of `peer` with `tag`.
    pub fn take_posted(&mut self, peer: Peer, tag: i32) -> Option<Op> {
        let fits = |e: &Entry| tags_meet(e.tag, Some(tag));
        let named = self.sources.get(peer.index()).and_then(|s| find(&s.posted, fits));
        let any = find(&self.any_source, fits);
        let (queue, at) = match (named, any) {
            (Some((at, a)), Some((_, b))) if a < b => (&mut self.source(peer).posted, at),
            (Some((at, _)), None) => (&mut self.source(peer).posted, at),
            (_, Some((at, _))) => (&mut self.any_source, at),
            (None, None) => return None,
        };
        queue.remove(at).map(|e| e.op)
    }

    /// Takes a posted receive back; false if it was matched before.
    pub fn unpost(&mut self, op: Op, want: &Want) -> bool {
        let queue = match want.source {
            Some(peer) => &mut self.source(peer).posted,
            None => &mut self.any_source,
        };
        let at = queue.iter().position(|e| e.op == op);
        at.is_some_and(|at| queue.remove(at).is_some())
    }

    /// Receives posted for `peer` by name earlier than `order`.
    pub fn posted_for(&self, peer: Peer, order: u64) -> impl Iterator<Item = (Op, Option<i32>)> + '_ {
        let posted = self.sources.get(peer.index()).into_iter().flat_map(|s| &s.posted);
        posted.take_while(move |e| e.order < order).map(|e| (e.op, e.tag))
    }

    /// Whether a receive from any source that was posted earlier than `order` could take a message with `tag`.
    pub fn any_source_waits(&self, tag: Option<i32>, order: u64) -> bool {
        self.any_source.iter().take_while(|e| e.order < order).any(|e| tags_meet(e.tag, tag))
    }

    pub fn hold(&mut self, op: Op, peer: Peer, tag: i32, order: u64) {
        self.source(peer).held.push_back(Entry { op, tag: Some(tag), order });
        self.held += 1;
    }

    /// The message that arrived first of those that fit; it stays queued.
    pub fn find_held(&self, want: &Want) -> Option<(Peer, Op)> {
        let fits = |e: &Entry| tags_meet(want.tag, e.tag);
        let first = |index: usize| {
            let source = self.sources.get(index)?;
            let (at, order) = find(&source.held, fits)?;
            Some((order, Peer(index as u32), source.held[at].op))
        };
        match want.source {
            _ if self.held == 0 => None,
            Some(peer) => first(peer.index()),
            None => (0..self.sources.len()).filter_map(first).min_by_key(|&(order, ..)| order),
        }
        .map(|(_, peer, op)| (peer, op))
    }

    /// Takes a held message out of the queue.
    pub fn unhold(&mut self, peer: Peer, op: Op) {
        let held = &mut self.source(peer).held;
        if let Some(at) = held.iter().position(|e| e.op == op) {
            held.remove(at);
            self.held -= 1;
        }
    }

    /// All messages that nobody received.
    pub fn held(&self) -> Vec<Op> {
        self.sources.iter().flat_map(|s| s.held.iter().map(|e| e.op)).collect()
    }
}

fn find(queue: &VecDeque<Entry>, fits: impl Fn(&Entry) -> bool) -> Option<(usize, u64)> {
    queue.iter().position(fits).map(|at| (at, queue[at].order))
}
