//! The match queues of a context: posted receives that wait for messages, and unexpected messages that wait for
//! receives.
//!
//! Both are kept by source, so that a receive from a known source never walks other sources' entries; a running number
//! restores the order among sources for MPI_ANY_SOURCE (MPI-5.0 §3.5). A source without entries costs nothing, and no
//! search walks more than a few of the others. Used by `arrive`, `post` and `offers`; uses `queue`.

use super::operation::Op;
use super::queue::{Entry, Queue, tags_meet};
use hawser_base::paged::Paged;
use hawser_base::{Context, LANES, Peer};
use std::collections::BTreeMap;

/// Sources with unexpected messages that are searched one by one before all messages get a common queue: at about this
/// length both cost the same.
const LOOKS: usize = 16;

/// The criteria of a receive or a probe. `None` is MPI_ANY_SOURCE, MPI_ANY_TAG.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Want {
    pub context: Context,
    pub source: Option<Peer>,
    pub tag: Option<i32>,
}

/// Returns the index of a context's queues in its lane's vector: every lane has those of each LANES-th communicator.
#[inline(always)]
pub fn slot(context: Context) -> usize {
    (context.number() as usize / LANES) * Context::KINDS as usize + context.kind() as usize
}

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct BySource {
    posted: Queue,
    held: Queue,
    /// Whether the source is listed in `holders`.
    is_listed: bool,
}

/// All unexpected messages in the order of arrival, and the source of each by its order.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct Arrivals {
    queue: Queue,
    sources: BTreeMap<u64, Peer>,
}

/// The match queues of one context.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Matchbox {
    any_source: Queue,
    sources: Paged<BySource>,
    /// The number of posted receives, from any or a named source, plus unexpected messages: at 0 the search ends here.
    open: usize,
    /// The number of unexpected messages.
    held: usize,
    /// Sources that have unexpected messages, and some that had some.
    holders: Vec<Peer>,
    /// The common queue: built by a search through many holders, and kept until there is no unexpected message.
    arrivals: Option<Box<Arrivals>>,
}

impl Default for Matchbox {
    fn default() -> Matchbox {
        Matchbox {
            any_source: Queue::default(),
            sources: Paged::new(BySource::default()),
            open: 0,
            held: 0,
            holders: Vec::new(),
            arrivals: None,
        }
    }
}

impl Matchbox {
    /// Whether no posted receive could take a message of `peer` and none of its messages is unexpected.
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
        source.posted.is_empty() && source.held.is_empty()
    }

    pub fn post(&mut self, op: Op, want: &Want, order: u64) {
        let entry = Entry { op, tag: want.tag, order };
        self.open += 1;
        match want.source {
            Some(peer) => self.sources[peer].posted.push(entry),
            None => self.any_source.push(entry),
        }
    }

    /// Takes the first-posted receive among those that match a message of `peer` with `tag`.
    #[inline]
    pub fn take_posted(&mut self, peer: Peer, tag: i32) -> Option<Op> {
        let taken = match self.any_source.is_empty() {
            true => self.sources.get_mut(peer)?.posted.take(Some(tag)).map(|e| e.op),
            false => self.take_posted_by_any(peer, tag),
        };
        self.open -= usize::from(taken.is_some());
        taken
    }

    /// Same as `take_posted`, where receives from any source wait too.
    fn take_posted_by_any(&mut self, peer: Peer, tag: i32) -> Option<Op> {
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

    /// Removes the receive that was posted as `order`; false if it was matched before.
    pub fn unpost(&mut self, want: &Want, order: u64) -> bool {
        let was_there = match want.source {
            Some(peer) => self.sources.get_mut(peer).is_some_and(|source| source.posted.remove(order)),
            None => self.any_source.remove(order),
        };
        self.open -= usize::from(was_there);
        was_there
    }

    /// Returns the receives that were posted for `peer` by name before `order`.
    pub fn posted_for(&self, peer: Peer, order: u64) -> impl Iterator<Item = (Op, Option<i32>)> + '_ {
        self.sources[peer].posted.iter().take_while(move |e| e.order < order).map(|e| (e.op, e.tag))
    }

    /// Whether a receive from any source that was posted before `order` could take a message with `tag`.
    pub fn any_source_waits(&self, tag: Option<i32>, order: u64) -> bool {
        self.any_source.iter().take_while(|e| e.order < order).any(|e| tags_meet(e.tag, tag))
    }

    pub fn hold(&mut self, op: Op, peer: Peer, tag: i32, order: u64) {
        let entry = Entry { op, tag: Some(tag), order };
        let source = &mut self.sources[peer];
        source.held.push(entry);
        if !source.is_listed {
            source.is_listed = true;
            self.holders.push(peer);
        }
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.add(entry, peer);
        }
        self.held += 1;
        self.open += 1;
    }

    /// Returns the first-arrived message among those that match; it stays queued.
    pub fn find_held(&mut self, want: &Want) -> Option<(Peer, Entry)> {
        match want.source {
            _ if self.held == 0 => None,
            Some(peer) => Some((peer, self.sources.get_mut(peer)?.held.first(want.tag)?)),
            None => self.find_held_of_any(want.tag),
        }
    }

    fn find_held_of_any(&mut self, tag: Option<i32>) -> Option<(Peer, Entry)> {
        if self.arrivals.is_none() && self.holders.len() > LOOKS {
            self.drop_idle_holders();
            if self.holders.len() > LOOKS {
                self.arrivals = Some(self.all_arrivals());
            }
        }
        if let Some(arrivals) = &mut self.arrivals {
            let first = arrivals.queue.first(tag)?;
            return Some((arrivals.sources[&first.order], first));
        }
        let Matchbox { sources, holders, .. } = self;
        let firsts = holders.iter().filter_map(|&peer| Some((peer, sources.get_mut(peer)?.held.first(tag)?)));
        firsts.min_by_key(|(_, entry)| entry.order)
    }

    fn drop_idle_holders(&mut self) {
        let Matchbox { sources, holders, .. } = self;
        holders.retain(|&peer| {
            let source = &mut sources[peer];
            source.is_listed = !source.held.is_empty();
            source.is_listed
        });
    }

    #[cold]
    fn all_arrivals(&self) -> Box<Arrivals> {
        let of = |&peer: &Peer| self.sources[peer].held.iter().map(move |&entry| (entry, peer));
        let mut all: Vec<_> = self.holders.iter().flat_map(of).collect();
        all.sort_unstable_by_key(|(entry, _)| entry.order);
        let mut arrivals = Box::<Arrivals>::default();
        all.into_iter().for_each(|(entry, peer)| arrivals.add(entry, peer));
        arrivals
    }

    /// Removes the message that arrived as `order` from the queue.
    pub fn unhold(&mut self, peer: Peer, order: u64) {
        if !self.sources.get_mut(peer).is_some_and(|source| source.held.remove(order)) {
            return;
        }
        self.held -= 1;
        self.open -= 1;
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.remove(order);
            if self.held == 0 {
                self.arrivals = None;
            }
        }
    }

    /// Takes the first-arrived message among those that match.
    #[inline]
    pub fn take_held(&mut self, want: &Want) -> Option<Op> {
        if self.held == 0 {
            return None;
        }
        let (peer, first) = self.find_held(want)?;
        self.unhold(peer, first.order);
        Some(first.op)
    }

    /// Returns all unexpected messages.
    pub fn held(&self) -> Vec<Op> {
        self.holders.iter().flat_map(|&peer| self.sources[peer].held.iter().map(|e| e.op)).collect()
    }

    /// Releases the state of a peer that has no message and no receive here.
    pub fn forget(&mut self, peer: Peer) {
        self.drop_idle_holders();
        if self.has_nothing_from(peer) {
            self.sources.give_back(peer);
        }
    }
}

impl Arrivals {
    fn add(&mut self, entry: Entry, peer: Peer) {
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
    use hawser_sim::Dice;

    const CONTEXT: Context = Context(0);

    /// The reference implementation of match queues: receives and messages in the order in which they came.
    #[derive(Default)]
    struct Plain {
        posted: Vec<(Want, Op, u64)>,
        held: Vec<(Peer, i32, Op, u64)>,
    }

    impl Plain {
        fn take_posted(&mut self, peer: Peer, tag: i32) -> Option<Op> {
            let fits = |want: &Want| want.source.is_none_or(|s| s == peer) && tags_meet(want.tag, Some(tag));
            let at = self.posted.iter().position(|(want, ..)| fits(want))?;
            Some(self.posted.remove(at).1)
        }

        fn find_held(&self, want: &Want) -> Option<usize> {
            let fits = |peer, tag| want.source.is_none_or(|s| s == peer) && tags_meet(want.tag, Some(tag));
            self.held.iter().position(|&(peer, tag, ..)| fits(peer, tag))
        }
    }

    fn want(dice: &mut Dice, sources: u64) -> Want {
        let source = (dice.below(3) > 0).then(|| Peer(dice.below(sources) as u32));
        Want { context: CONTEXT, source, tag: (dice.below(3) > 0).then(|| dice.below(4) as i32) }
    }

    #[test]
    fn few_sources_or_many_a_box_answers_as_two_lists_would() {
        let (mut dice, mut in_common) = (Dice::new(1), 0);
        for run in 0..40 {
            let (sources, grows) = ([2, 300, 5000][run % 3], 1 + dice.below(4));
            let (mut real, mut plain) = (Matchbox::default(), Plain::default());
            for order in 1..1500 {
                let op = Op(order as u32);
                let (peer, tag) = (Peer(dice.below(sources) as u32), dice.below(4) as i32);
                let wanted = want(&mut dice, sources);
                match dice.below(6) {
                    n if n < grows => {
                        let found = real.take_posted(peer, tag);
                        assert_eq!(found, plain.take_posted(peer, tag));
                        if found.is_none() {
                            real.hold(op, peer, tag, order);
                            plain.held.push((peer, tag, op, order));
                        }
                    }
                    4 if !plain.posted.is_empty() => {
                        let (wanted, _, order) = plain.posted.remove(dice.index(plain.posted.len()));
                        assert!(real.unpost(&wanted, order) && !real.unpost(&wanted, order));
                    }
                    _ => {
                        let at = plain.find_held(&wanted);
                        let found = real.find_held(&wanted).map(|(peer, entry)| (peer, entry.op, entry.order));
                        assert_eq!(found, at.map(|at| (plain.held[at].0, plain.held[at].2, plain.held[at].3)));
                        assert_eq!(real.take_held(&wanted), at.map(|at| plain.held.remove(at).2));
                        if at.is_none() {
                            real.post(op, &wanted, order);
                            plain.posted.push((wanted, op, order));
                        }
                    }
                }
                let has = |peer| plain.find_held(&Want { context: CONTEXT, source: Some(peer), tag: None }).is_some();
                let waits = |peer| plain.posted.iter().any(|(w, ..)| w.source.is_none_or(|source| source == peer));
                assert_eq!(real.is_idle_for(peer), !has(peer) && !waits(peer));
                in_common += u32::from(real.arrivals.is_some());
            }
            let mut held = real.held();
            held.sort_unstable();
            assert!(held.iter().eq(plain.held.iter().map(|(_, _, op, _)| op)));
        }
        assert!(in_common > 1000, "{in_common} turns with a queue in common");
    }

    #[test]
    fn many_messages_from_anybody_are_found_without_a_walk_and_leave_nothing() {
        let mut real = Matchbox::default();
        let any = Want { context: CONTEXT, source: None, tag: None };
        for round in 0..3 {
            (0..1000).for_each(|order| real.hold(Op(order), Peer(999 - order), 7, u64::from(1000 * round + order)));
            for order in 0..1000 {
                assert_eq!(real.take_held(&any), Some(Op(order)));
                assert_eq!(real.arrivals.is_some(), order < 999, "made once, and kept until none is held");
            }
        }
        (0..1000).map(Peer).for_each(|peer| real.forget(peer));
        assert_eq!(real, Matchbox::default());
    }

    #[test]
    fn nothing_is_forgotten_of_one_that_has_something_here() {
        let mut real = Matchbox::default();
        real.hold(Op(1), Peer(3), 7, 1);
        real.forget(Peer(3));
        assert_eq!(real.held(), [Op(1)]);
        real.unhold(Peer(3), 1);
        real.forget(Peer(3));
        assert_eq!(real, Matchbox::default());
    }
}
