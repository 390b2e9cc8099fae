//! A queue of posted receives, or of unexpected messages: its entries are in order, and are found by tag.
//!
//! Usually the first entry is the wanted one, or there are few entries, and a linear search suffices. A queue in
//! which a search took long gets an index by tag and keeps it until the queue is empty, so that a search costs the
//! logarithm of its length for any tags. This module knows nothing of sources. Used by `queues`.

use super::operation::OpId;
use std::collections::{BTreeMap, VecDeque};

/// The maximum number of entries that are searched linearly before a queue gets an index: at about this length a
/// linear search and the index cost the same.
const LINEAR_SEARCH_MAX: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MatchEntry {
    pub op: OpId,
    /// `None` is MPI_ANY_TAG.
    pub tag: Option<i32>,
    /// Greater than the order of all earlier entries.
    pub order: u64,
}

/// A queue in order, with an index by tag if needed. See the module.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct TagQueue {
    len: usize,
    /// All entries, if there is no index.
    entries: VecDeque<MatchEntry>,
    index: Option<Box<Index>>,
}

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct Index {
    by_order: BTreeMap<u64, MatchEntry>,
    by_tag: BTreeMap<(Option<i32>, u64), OpId>,
}

/// Returns whether a message could match both tags.
#[inline]
pub fn tags_match(a: Option<i32>, b: Option<i32>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    }
}

impl TagQueue {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub fn push(&mut self, entry: MatchEntry) {
        self.len += 1;
        match &mut self.index {
            // The entry is not passed by a pointer, so that it is made in its place and not on the stack.
            Some(index) => index.insert(entry.op, entry.tag, entry.order),
            None => self.entries.push_back(entry),
        }
    }

    /// Returns the first entry whose tag matches `tag`.
    pub fn first(&mut self, tag: Option<i32>) -> Option<MatchEntry> {
        if let Some(index) = &self.index {
            return index.first(tag);
        }
        let at = self.entries.iter().position(|e| tags_match(e.tag, tag));
        let found = at.map(|at| self.entries[at]);
        if at.unwrap_or(self.len) > LINEAR_SEARCH_MAX {
            self.build_index();
        }
        found
    }

    /// Removes and returns the first entry whose tag matches `tag`.
    #[inline]
    pub fn take(&mut self, tag: Option<i32>) -> Option<MatchEntry> {
        // If `entries` is not empty, there is no index. Usually its first entry matches.
        if let Some(&front) = self.entries.front()
            && tags_match(front.tag, tag)
        {
            self.entries.pop_front();
            self.len -= 1;
            return Some(front);
        }
        let found = self.first(tag)?;
        self.remove(found.order);
        Some(found)
    }

    /// Removes the entry with this order. Returns false if it is not here.
    pub fn remove(&mut self, order: u64) -> bool {
        if self.index.is_none() {
            let is_first = self.entries.front().is_some_and(|e| e.order == order);
            let at = if is_first { 0 } else { self.entries.partition_point(|e| e.order < order) };
            if at.min(self.len - at) <= LINEAR_SEARCH_MAX {
                let found = self.entries.get(at).is_some_and(|e| e.order == order);
                if found {
                    self.entries.remove(at);
                    self.len -= 1;
                }
                return found;
            }
            self.build_index();
        }
        let Some(index) = &mut self.index else { return false };
        let Some(entry) = index.by_order.remove(&order) else { return false };
        index.by_tag.remove(&(entry.tag, order));
        self.len -= 1;
        if self.len == 0 {
            self.index = None;
        }
        true
    }

    /// Iterates over all entries in order.
    pub fn iter(&self) -> impl Iterator<Item = &MatchEntry> + '_ {
        self.entries.iter().chain(self.index.iter().flat_map(|index| index.by_order.values()))
    }

    #[cold]
    fn build_index(&mut self) {
        let mut index = Box::<Index>::default();
        self.entries.drain(..).for_each(|entry| index.insert(entry.op, entry.tag, entry.order));
        self.index = Some(index);
    }
}

impl Index {
    #[inline(never)]
    fn insert(&mut self, op: OpId, tag: Option<i32>, order: u64) {
        self.by_order.insert(order, MatchEntry { op, tag, order });
        self.by_tag.insert((tag, order), op);
    }

    fn first(&self, tag: Option<i32>) -> Option<MatchEntry> {
        if tag.is_none() {
            return self.by_order.first_key_value().map(|(_, &entry)| entry);
        }
        let first = |tag| {
            let (&(tag, order), &op) = self.by_tag.range((tag, 0)..=(tag, u64::MAX)).next()?;
            Some(MatchEntry { op, tag, order })
        };
        // The result is the earlier one of the first entry with any tag and the first entry with this tag.
        [first(None), first(tag)].into_iter().flatten().min_by_key(|entry| entry.order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_sim::Rng;

    /// The reference implementation of a queue, without an index.
    #[derive(Default)]
    struct ReferenceQueue(Vec<MatchEntry>);

    impl ReferenceQueue {
        fn first(&self, tag: Option<i32>) -> Option<MatchEntry> {
            self.0.iter().find(|e| tags_match(e.tag, tag)).copied()
        }

        fn remove(&mut self, order: u64) -> bool {
            let before = self.0.len();
            self.0.retain(|e| e.order != order);
            self.0.len() < before
        }
    }

    fn entry(order: u64, tag: Option<i32>) -> MatchEntry {
        MatchEntry { op: OpId(order as u32 % 7), tag, order }
    }

    #[test]
    fn with_an_index_or_without_a_queue_answers_the_same() {
        let (mut dice, mut indexed) = (Rng::new(1), 0);
        for _ in 0..50 {
            let (mut queue, mut reference, mut order) = (TagQueue::default(), ReferenceQueue::default(), 0);
            let (tags, grows) = ([1, 3, 200][dice.index(3)], 1 + dice.below(3));
            for turn in 0..1500 {
                let tag = (dice.below(10) > 0).then(|| dice.below(tags) as i32);
                let growing = turn / 500 != 1;
                match dice.below(6) {
                    0 => assert_eq!(queue.remove(order / 2), reference.remove(order / 2)),
                    n if n <= grows && growing => {
                        order += 1 + dice.below(3);
                        queue.push(entry(order, tag));
                        reference.0.push(entry(order, tag));
                    }
                    _ => {
                        let found = reference.first(tag);
                        assert_eq!(queue.first(tag), found);
                        assert_eq!(queue.take(tag), found);
                        assert!(found.is_none_or(|found| reference.remove(found.order)));
                    }
                }
                assert!(queue.iter().eq(&reference.0) && queue.is_empty() == reference.0.is_empty());
                indexed += queue.index.is_some() as u32;
            }
        }
        assert!(indexed > 1000, "{indexed} turns with an index");
    }

    #[test]
    fn a_queue_that_is_taken_from_its_front_gets_no_index() {
        let mut queue = TagQueue::default();
        (1..=10_000).for_each(|order| queue.push(entry(order, Some(1))));
        for order in 1..=10_000 {
            assert_eq!(queue.take(Some(1)).map(|e| e.order), Some(order));
            assert!(queue.index.is_none());
        }
    }

    #[test]
    fn one_deep_look_is_the_last_until_the_queue_is_empty() {
        let mut queue = TagQueue::default();
        let n = 2 * LINEAR_SEARCH_MAX as u64;
        (1..=n).for_each(|order| queue.push(entry(order, Some(order as i32))));
        assert_eq!(queue.first(Some(-1)), None);
        assert!(queue.index.is_some() && queue.entries.is_empty());
        for order in (1..=n).rev() {
            assert!(queue.index.is_some() && queue.first(Some(order as i32)).is_some() && queue.remove(order));
        }
        assert!(queue.is_empty() && queue.index.is_none());
    }
}
