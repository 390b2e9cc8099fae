//! The match queues of a context: posted receives that wait for messages, and unexpected messages that wait for
//! receives.
//!
//! Both kinds are kept by source, so that a receive from a known source never searches the entries of other sources.
//! Each entry has a running number, which gives the order among sources for MPI_ANY_SOURCE (MPI-5.0 §3.5). A source
//! without entries costs nothing, and no search visits more than a few sources one by one. Used by `arrive`, `post`
//! and `rtr`; uses `queue`.

use super::operation::OpId;
use super::queue::{MatchEntry, TagQueue, tags_match};
use hawser_base::peer_table::PeerTable;
use hawser_base::{Context, LANES, Peer};
use std::collections::BTreeMap;

/// The maximum number of sources with unexpected messages that are searched one by one, before all unexpected
/// messages get a common queue: at about this number both cost the same.
const SEARCHED_SOURCES_MAX: usize = 16;

/// The criteria of a receive or a probe. `None` is MPI_ANY_SOURCE or MPI_ANY_TAG.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MatchSpec {
    pub context: Context,
    pub source: Option<Peer>,
    pub tag: Option<i32>,
}

/// Returns the index of a context's queues in its lane's vector. A lane has the queues of every LANES-th
/// communicator.
#[inline(always)]
pub fn context_slot(context: Context) -> usize {
    (context.number() as usize / LANES) * Context::KINDS as usize + context.kind() as usize
}

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct SourceQueues {
    posted: TagQueue,
    unexpected: TagQueue,
    /// Whether the source is listed in `unexpected_sources`.
    is_listed: bool,
}

/// All unexpected messages in the order of arrival, and the source of each by its order.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct ArrivalQueue {
    queue: TagQueue,
    sources: BTreeMap<u64, Peer>,
}

/// The match queues of one context.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MatchQueues {
    any_source: TagQueue,
    sources: PeerTable<SourceQueues>,
    /// The number of posted receives (from any or from a named source) plus the number of unexpected messages; if it
    /// is 0, no search is needed.
    open: usize,
    /// The number of unexpected messages.
    unexpected_count: usize,
    /// All sources that have unexpected messages; sources that had some before may still be listed.
    unexpected_sources: Vec<Peer>,
    /// The common queue of all unexpected messages: it is built when a search would have to visit many sources, and
    /// kept until there is no unexpected message.
    arrivals: Option<Box<ArrivalQueue>>,
}

impl Default for MatchQueues {
    fn default() -> MatchQueues {
        MatchQueues {
            any_source: TagQueue::default(),
            sources: PeerTable::new(SourceQueues::default()),
            open: 0,
            unexpected_count: 0,
            unexpected_sources: Vec::new(),
            arrivals: None,
        }
    }
}

impl MatchQueues {
    /// Returns whether no posted receive could take a message of `peer` and no message of `peer` is unexpected.
    #[inline(always)]
    pub fn is_idle_for(&self, peer: Peer) -> bool {
        self.open == 0 || self.has_nothing_for(peer)
    }

    #[inline(never)]
    fn has_nothing_for(&self, peer: Peer) -> bool {
        self.any_source.is_empty() && self.has_nothing_from(peer)
    }

    fn has_nothing_from(&self, peer: Peer) -> bool {
        let source = &self.sources[peer];
        source.posted.is_empty() && source.unexpected.is_empty()
    }

    pub fn post(&mut self, op: OpId, spec: &MatchSpec, order: u64) {
        let entry = MatchEntry { op, tag: spec.tag, order };
        self.open += 1;
        match spec.source {
            Some(peer) => self.sources[peer].posted.push(entry),
            None => self.any_source.push(entry),
        }
    }

    /// Takes the first-posted receive among those that match a message of `peer` with `tag`.
    #[inline]
    pub fn take_posted(&mut self, peer: Peer, tag: i32) -> Option<OpId> {
        let taken = match self.any_source.is_empty() {
            true => self.sources.get_mut(peer)?.posted.take(Some(tag)).map(|e| e.op),
            false => self.take_posted_by_any(peer, tag),
        };
        self.open -= usize::from(taken.is_some());
        taken
    }

    /// Does the same as `take_posted`, if receives from any source wait, too.
    fn take_posted_by_any(&mut self, peer: Peer, tag: i32) -> Option<OpId> {
        let named = self.sources.get_mut(peer).and_then(|s| s.posted.first(Some(tag)));
        let any = self.any_source.first(Some(tag));
        let (queue, first) = match (named, any) {
            (Some(named), any) if any.is_none_or(|any| named.order < any.order) => {
                (&mut self.sources[peer].posted, named)
            }
            (_, Some(any)) => (&mut self.any_source, any),
            _ => return None,
        };
        queue.remove(first.order);
        Some(first.op)
    }

    /// Removes the receive with this `spec` and `order` from its queue. Returns false if it was matched before.
    pub fn unpost(&mut self, spec: &MatchSpec, order: u64) -> bool {
        let was_there = match spec.source {
            Some(peer) => self.sources.get_mut(peer).is_some_and(|source| source.posted.remove(order)),
            None => self.any_source.remove(order),
        };
        self.open -= usize::from(was_there);
        was_there
    }

    /// Returns the receives that were posted for `peer` by name before `order`.
    pub fn posted_for(&self, peer: Peer, order: u64) -> impl Iterator<Item = (OpId, Option<i32>)> + '_ {
        self.sources[peer].posted.iter().take_while(move |e| e.order < order).map(|e| (e.op, e.tag))
    }

    /// Returns whether a receive from any source that was posted before `order` could take a message with `tag`.
    pub fn has_any_source_before(&self, tag: Option<i32>, order: u64) -> bool {
        self.any_source.iter().take_while(|e| e.order < order).any(|e| tags_match(e.tag, tag))
    }

    pub fn push_unexpected(&mut self, op: OpId, peer: Peer, tag: i32, order: u64) {
        let entry = MatchEntry { op, tag: Some(tag), order };
        let source = &mut self.sources[peer];
        source.unexpected.push(entry);
        if !source.is_listed {
            source.is_listed = true;
            self.unexpected_sources.push(peer);
        }
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.add(entry, peer);
        }
        self.unexpected_count += 1;
        self.open += 1;
    }

    /// Returns the first-arrived message among those that match; it stays queued.
    pub fn find_unexpected(&mut self, spec: &MatchSpec) -> Option<(Peer, MatchEntry)> {
        match spec.source {
            _ if self.unexpected_count == 0 => None,
            Some(peer) => Some((peer, self.sources.get_mut(peer)?.unexpected.first(spec.tag)?)),
            None => self.find_unexpected_any_source(spec.tag),
        }
    }

    fn find_unexpected_any_source(&mut self, tag: Option<i32>) -> Option<(Peer, MatchEntry)> {
        if self.arrivals.is_none() && self.unexpected_sources.len() > SEARCHED_SOURCES_MAX {
            self.prune_unexpected_sources();
            if self.unexpected_sources.len() > SEARCHED_SOURCES_MAX {
                self.arrivals = Some(self.all_arrivals());
            }
        }
        if let Some(arrivals) = &mut self.arrivals {
            let first = arrivals.queue.first(tag)?;
            return Some((arrivals.sources[&first.order], first));
        }
        let MatchQueues { sources, unexpected_sources, .. } = self;
        let firsts =
            unexpected_sources.iter().filter_map(|&peer| Some((peer, sources.get_mut(peer)?.unexpected.first(tag)?)));
        firsts.min_by_key(|(_, entry)| entry.order)
    }

    fn prune_unexpected_sources(&mut self) {
        let MatchQueues { sources, unexpected_sources, .. } = self;
        unexpected_sources.retain(|&peer| {
            let source = &mut sources[peer];
            source.is_listed = !source.unexpected.is_empty();
            source.is_listed
        });
    }

    #[cold]
    fn all_arrivals(&self) -> Box<ArrivalQueue> {
        let of = |&peer: &Peer| self.sources[peer].unexpected.iter().map(move |&entry| (entry, peer));
        let mut all: Vec<_> = self.unexpected_sources.iter().flat_map(of).collect();
        all.sort_unstable_by_key(|(entry, _)| entry.order);
        let mut arrivals = Box::<ArrivalQueue>::default();
        all.into_iter().for_each(|(entry, peer)| arrivals.add(entry, peer));
        arrivals
    }

    /// Removes the message of `peer` with this `order` from the unexpected queue.
    pub fn remove_unexpected(&mut self, peer: Peer, order: u64) {
        if !self.sources.get_mut(peer).is_some_and(|source| source.unexpected.remove(order)) {
            return;
        }
        self.unexpected_count -= 1;
        self.open -= 1;
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.remove(order);
            if self.unexpected_count == 0 {
                self.arrivals = None;
            }
        }
    }

    /// Takes the first-arrived message among those that match `spec` out of the unexpected queue.
    #[inline]
    pub fn take_unexpected(&mut self, spec: &MatchSpec) -> Option<OpId> {
        if self.unexpected_count == 0 {
            return None;
        }
        let (peer, first) = self.find_unexpected(spec)?;
        self.remove_unexpected(peer, first.order);
        Some(first.op)
    }

    /// Returns all unexpected messages.
    pub fn unexpected(&self) -> Vec<OpId> {
        self.unexpected_sources.iter().flat_map(|&peer| self.sources[peer].unexpected.iter().map(|e| e.op)).collect()
    }

    /// Releases the state of a peer, if it has no message and no receive here.
    pub fn forget_peer(&mut self, peer: Peer) {
        self.prune_unexpected_sources();
        if self.has_nothing_from(peer) {
            self.sources.reset(peer);
        }
    }
}

impl ArrivalQueue {
    fn add(&mut self, entry: MatchEntry, peer: Peer) {
        self.queue.push(entry);
        self.sources.insert(entry.order, peer);
    }

    fn remove(&mut self, order: u64) {
        self.queue.remove(order);
        self.sources.remove(&order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_sim::Rng;

    const CONTEXT: Context = Context(0);

    /// The reference implementation of match queues: receives and messages in the order in which they came.
    #[derive(Default)]
    struct ReferenceQueues {
        posted: Vec<(MatchSpec, OpId, u64)>,
        unexpected: Vec<(Peer, i32, OpId, u64)>,
    }

    impl ReferenceQueues {
        fn take_posted(&mut self, peer: Peer, tag: i32) -> Option<OpId> {
            let fits = |spec: &MatchSpec| spec.source.is_none_or(|s| s == peer) && tags_match(spec.tag, Some(tag));
            let at = self.posted.iter().position(|(spec, ..)| fits(spec))?;
            Some(self.posted.remove(at).1)
        }

        fn find_unexpected(&self, spec: &MatchSpec) -> Option<usize> {
            let fits = |peer, tag| spec.source.is_none_or(|s| s == peer) && tags_match(spec.tag, Some(tag));
            self.unexpected.iter().position(|&(peer, tag, ..)| fits(peer, tag))
        }
    }

    fn random_spec(dice: &mut Rng, sources: u64) -> MatchSpec {
        let source = (dice.below(3) > 0).then(|| Peer(dice.below(sources) as u32));
        MatchSpec { context: CONTEXT, source, tag: (dice.below(3) > 0).then(|| dice.below(4) as i32) }
    }

    #[test]
    fn few_sources_or_many_a_box_answers_as_two_lists_would() {
        let (mut dice, mut in_common) = (Rng::new(1), 0);
        for run in 0..40 {
            let (sources, grows) = ([2, 300, 5000][run % 3], 1 + dice.below(4));
            let (mut real, mut reference) = (MatchQueues::default(), ReferenceQueues::default());
            for order in 1..1500 {
                let op = OpId(order as u32);
                let (peer, tag) = (Peer(dice.below(sources) as u32), dice.below(4) as i32);
                let spec = random_spec(&mut dice, sources);
                match dice.below(6) {
                    n if n < grows => {
                        let found = real.take_posted(peer, tag);
                        assert_eq!(found, reference.take_posted(peer, tag));
                        if found.is_none() {
                            real.push_unexpected(op, peer, tag, order);
                            reference.unexpected.push((peer, tag, op, order));
                        }
                    }
                    4 if !reference.posted.is_empty() => {
                        let (spec, _, order) = reference.posted.remove(dice.index(reference.posted.len()));
                        assert!(real.unpost(&spec, order) && !real.unpost(&spec, order));
                    }
                    _ => {
                        let at = reference.find_unexpected(&spec);
                        let found = real.find_unexpected(&spec).map(|(peer, entry)| (peer, entry.op, entry.order));
                        assert_eq!(
                            found,
                            at.map(|at| (
                                reference.unexpected[at].0,
                                reference.unexpected[at].2,
                                reference.unexpected[at].3
                            ))
                        );
                        assert_eq!(real.take_unexpected(&spec), at.map(|at| reference.unexpected.remove(at).2));
                        if at.is_none() {
                            real.post(op, &spec, order);
                            reference.posted.push((spec, op, order));
                        }
                    }
                }
                let has = |peer| {
                    reference.find_unexpected(&MatchSpec { context: CONTEXT, source: Some(peer), tag: None }).is_some()
                };
                let waits = |peer| reference.posted.iter().any(|(w, ..)| w.source.is_none_or(|source| source == peer));
                assert_eq!(real.is_idle_for(peer), !has(peer) && !waits(peer));
                in_common += u32::from(real.arrivals.is_some());
            }
            let mut unexpected = real.unexpected();
            unexpected.sort_unstable();
            assert!(unexpected.iter().eq(reference.unexpected.iter().map(|(_, _, op, _)| op)));
        }
        assert!(in_common > 1000, "{in_common} turns with a queue in common");
    }

    #[test]
    fn many_messages_from_anybody_are_found_without_a_walk_and_leave_nothing() {
        let mut real = MatchQueues::default();
        let any = MatchSpec { context: CONTEXT, source: None, tag: None };
        for round in 0..3 {
            (0..1000).for_each(|order| {
                real.push_unexpected(OpId(order), Peer(999 - order), 7, u64::from(1000 * round + order))
            });
            for order in 0..1000 {
                assert_eq!(real.take_unexpected(&any), Some(OpId(order)));
                assert_eq!(real.arrivals.is_some(), order < 999, "built once, and kept until no message is unexpected");
            }
        }
        (0..1000).map(Peer).for_each(|peer| real.forget_peer(peer));
        assert_eq!(real, MatchQueues::default());
    }

    #[test]
    fn nothing_is_forgotten_of_one_that_has_something_here() {
        let mut real = MatchQueues::default();
        real.push_unexpected(OpId(1), Peer(3), 7, 1);
        real.forget_peer(Peer(3));
        assert_eq!(real.unexpected(), [OpId(1)]);
        real.remove_unexpected(Peer(3), 1);
        real.forget_peer(Peer(3));
        assert_eq!(real, MatchQueues::default());
    }
}
