//! A table by peer that has room for the peers it was used with, not for all there are.
//!
//! Peers are numbers in a job's universe, and most processes speak with few of them. A page covers 64 numbers in a row
//! and is as long as the highest of them that was used; a peer that was never used costs a third of a byte below the
//! highest that was, and nothing above it. Before it: every table of peers; after it: nothing.

use crate::ids::Peer;
use std::hash::{Hash, Hasher};
use std::ops::{Index, IndexMut};

/// Peers of a page. Fewer would make more pages, more would make pages of entries that nobody uses.
const PAGE: usize = 64;

/// See the module.
///
/// ```
/// use hawser_base::{Peer, paged::Paged};
/// let mut sent = Paged::new(0u64);
/// sent[Peer(100_000)] += 8;
/// assert_eq!((sent[Peer(100_000)], sent[Peer(7)]), (8, 0));
/// ```
#[derive(Clone, Debug)]
pub struct Paged<T> {
    pages: Vec<Vec<T>>,
    /// The value of an entry before its first use.
    blank: T,
}

impl<T: Clone> Paged<T> {
    /// A table whose entries are all `blank`.
    pub const fn new(blank: T) -> Paged<T> {
        Paged { pages: Vec::new(), blank }
    }

    /// The entry of a peer that was used, or one before it of the same page.
    #[inline(always)]
    pub fn get_mut(&mut self, peer: Peer) -> Option<&mut T> {
        self.pages.get_mut(peer.index() / PAGE)?.get_mut(peer.index() % PAGE)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, peer: Peer) {
        let (page, entries) = (peer.index() / PAGE, peer.index() % PAGE + 1);
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, Vec::new);
        }
        let (page, blank) = (&mut self.pages[page], &self.blank);
        page.resize(entries.max(page.len()), blank.clone());
    }

    /// The entry of a peer is blank again. Pages that nothing follows give their memory back.
    pub fn give_back(&mut self, peer: Peer)
    where
        T: PartialEq,
    {
        let blank = self.blank.clone();
        let Some(entry) = self.get_mut(peer) else { return };
        *entry = blank;
        let page = &mut self.pages[peer.index() / PAGE];
        while page.last() == Some(&self.blank) {
            page.pop();
        }
        if page.is_empty() {
            *page = Vec::new();
        }
        while self.pages.last().is_some_and(Vec::is_empty) {
            self.pages.pop();
        }
    }
}

impl<T: PartialEq> Paged<T> {
    /// The entries that are not blank, in the order of their peers.
    pub fn used(&self) -> impl Iterator<Item = (Peer, &T)> {
        let numbered = |(page, entries)| (PAGE as u32 * page..).map(Peer).zip(entries);
        let all = (0u32..).zip(&self.pages).flat_map(numbered);
        all.filter(|(_, entry)| **entry != self.blank)
    }
}

/// Tables are equal if all their entries are: one that is blank was used before or never.
impl<T: PartialEq> PartialEq for Paged<T> {
    fn eq(&self, other: &Paged<T>) -> bool {
        self.blank == other.blank && self.used().eq(other.used())
    }
}

impl<T: Eq> Eq for Paged<T> {}

impl<T: Eq + Hash> Hash for Paged<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.used().for_each(|entry| entry.hash(state));
    }
}

impl<T> Index<Peer> for Paged<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, peer: Peer) -> &T {
        let page = self.pages.get(peer.index() / PAGE);
        page.and_then(|page| page.get(peer.index() % PAGE)).unwrap_or(&self.blank)
    }
}

impl<T: Clone> IndexMut<Peer> for Paged<T> {
    #[inline(always)]
    fn index_mut(&mut self, peer: Peer) -> &mut T {
        if self.get_mut(peer).is_none() {
            self.grow(peer);
        }
        self.get_mut(peer).expect("it has just grown to this peer")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_blank_until_it_is_used_and_after_it_was_given_back() {
        let mut table = Paged::new(7);
        for peer in [0, 63, 64, 1_000_000].map(Peer) {
            assert_eq!(table[peer], 7);
            table[peer] += peer.0;
        }
        for peer in [0, 63, 64, 1_000_000].map(Peer) {
            assert_eq!(table[peer], 7 + peer.0);
        }
        assert_eq!((table[Peer(62)], table[Peer(999_999)], table[Peer(u32::MAX)]), (7, 7, 7));
        for peer in [1_000_000, 64, 0, 63, 5].map(Peer) {
            table.give_back(peer);
        }
        assert!(table.pages.is_empty(), "all memory was given back");
    }

    #[test]
    fn tables_with_equal_entries_are_equal_whatever_was_used_before() {
        let (mut first, mut second) = (Paged::new(7), Paged::new(7));
        (first[Peer(5)], second[Peer(5)]) = (1, 1);
        second[Peer(300)] = 7;
        assert_eq!(first, second);
        assert_eq!(second.used().collect::<Vec<_>>(), [(Peer(5), &1)]);
        second[Peer(300)] = 8;
        assert_ne!(first, second);
    }

    #[test]
    fn only_pages_that_were_used_have_entries() {
        let mut table = Paged::new(0u64);
        table[Peer(1_000_000)] = 1;
        let entries: usize = table.pages.iter().map(Vec::capacity).sum();
        assert!(entries <= 64 && table.pages.len() == 1_000_000 / PAGE + 1, "{entries} entries");
    }
}
