//! The two queues of a context: receives that wait for messages, messages that wait for receives.
//!
//! Both are kept by source, so that a receive from a known source never walks other sources' entries; a
//! running number restores the order among sources for MPI_ANY_SOURCE (MPI-5.0 §3.5).

use super::operation::Op;
use super::queue::{Entry, Queue, tags_meet};
use hawser_base::{Context, LANES, Peer};

/// What a receive or a probe asks for. `None` is MPI_ANY_SOURCE, MPI_ANY_TAG.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Want {
    pub context: Context,
    pub source: Option<Peer>,
    pub tag: Option<i32>,
}

/// Where a context's queues lie in its lane's vector: every lane has those of each LANES-th communicator.
#[inline(always)]
pub fn slot(context: Context) -> usize {
    (context.number() as usize / LANES) * Context::KINDS as usize + context.kind() as usize
}

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct BySource {
    posted: Queue,
    held: Queue,
}

/// The queues of one context.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Matchbox {
    any_source: Queue,
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
            Some(peer) => self.source(peer).posted.push(entry),
            None => self.any_source.push(entry),
        }
    }

    /// Takes the receive that was posted first of those that fit a message of `peer` with `tag`.
    #[inline]
    pub fn take_posted(&mut self, peer: Peer, tag: i32) -> Option<Op> {
        if self.any_source.is_empty() {
            return self.sources.get_mut(peer.index())?.posted.take(Some(tag)).map(|e| e.op);
        }
        self.take_posted_by_any(peer, tag)
    }

    /// The same where receives from any source wait too.
    fn take_posted_by_any(&mut self, peer: Peer, tag: i32) -> Option<Op> {
        let named = self.sources.get_mut(peer.index()).and_then(|s| s.posted.first(Some(tag)));
        let any = self.any_source.first(Some(tag));
        let (queue, first) = match (named, any) {
            (Some(named), any) if any.is_none_or(|any| named.order < any.order) => {
                (&mut self.source(peer).posted, named)
            }
            (_, Some(any)) => (&mut self.any_source, any),
            _ => return None,
        };
        queue.remove(first.order);
        Some(first.op)
    }

    /// Takes the receive that was posted as `order` back; false if it was matched before.
    pub fn unpost(&mut self, want: &Want, order: u64) -> bool {
        match want.source {
            Some(peer) => self.source(peer).posted.remove(order),
            None => self.any_source.remove(order),
        }
    }

    /// Receives posted for `peer` by name earlier than `order`.
    pub fn posted_for(&self, peer: Peer, order: u64) -> impl Iterator<Item = (Op, Option<i32>)> + '_ {
        let posted = self.sources.get(peer.index()).into_iter().flat_map(|s| s.posted.iter());
        posted.take_while(move |e| e.order < order).map(|e| (e.op, e.tag))
    }

    /// Whether a receive from any source that was posted earlier than `order` could take a message with `tag`.
    pub fn any_source_waits(&self, tag: Option<i32>, order: u64) -> bool {
        self.any_source.iter().take_while(|e| e.order < order).any(|e| tags_meet(e.tag, tag))
    }

    pub fn hold(&mut self, op: Op, peer: Peer, tag: i32, order: u64) {
        self.source(peer).held.push(Entry { op, tag: Some(tag), order });
        self.held += 1;
    }

    /// The message that arrived first of those that fit; it stays queued.
    pub fn find_held(&mut self, want: &Want) -> Option<(Peer, Entry)> {
        let first = |(index, source): (usize, &mut BySource)| Some((Peer(index as u32), source.held.first(want.tag)?));
        match want.source {
            _ if self.held == 0 => None,
            Some(peer) => self.sources.get_mut(peer.index()).and_then(|source| first((peer.index(), source))),
            None => self.sources.iter_mut().enumerate().filter_map(first).min_by_key(|(_, entry)| entry.order),
        }
    }

    /// Takes the message that arrived as `order` out of the queue.
    pub fn unhold(&mut self, peer: Peer, order: u64) {
        if self.source(peer).held.remove(order) {
            self.held -= 1;
        }
    }

    /// Takes the message that arrived first of those that fit.
    #[inline]
    pub fn take_held(&mut self, want: &Want) -> Option<Op> {
        if self.held == 0 {
            return None;
        }
        let (peer, first) = self.find_held(want)?;
        self.unhold(peer, first.order);
        Some(first.op)
    }

    /// All messages that nobody received.
    pub fn held(&self) -> Vec<Op> {
        self.sources.iter().flat_map(|s| s.held.iter().map(|e| e.op)).collect()
    }
}
