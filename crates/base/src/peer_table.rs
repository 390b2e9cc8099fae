//! A table by peer, whose memory depends on the peers for which it was used, not on the number of processes of the
//! job.
//!
//! Most processes communicate with few peers. All incarnations of a process number share its entry, so that a table's
//! owner must distinguish them. The table consists of pages. A page covers 64 consecutive process numbers; its
//! entries extend from the lowest of these numbers that was used to the highest, so that a page with one used number
//! has one entry. The list of pages costs a third of a byte for each number up to the highest number that was used.
//! The entry that was accessed last is found without the pages, because most messages go to the same peer as the
//! message before. Used by every table of peers; uses `ids`.

use crate::ids::Peer;
use std::hash::{Hash, Hasher};
use std::ops::{Index, IndexMut};
use std::ptr;

/// The number of process numbers of a page. Smaller pages would make the list of pages longer; larger pages would
/// have more entries that are never used.
const PAGE: usize = 64;

/// A table with an entry for each peer. See the description of the module.
///
/// ```
/// use hawser_base::{Peer, peer_table::PeerTable};
/// let mut sent = PeerTable::new(0u64);
/// sent[Peer(100_000)] += 8;
/// assert_eq!((sent[Peer(100_000)], sent[Peer(7)]), (8, 0));
/// ```
#[derive(Clone, Debug)]
pub struct PeerTable<T> {
    lookup_cache: LookupCache<T>,
    pages: Vec<TablePage<T>>,
    /// The value of an entry before its first use.
    blank: T,
}

/// The peer that was accessed last, and the address of its entry. An entry moves only when its page grows or is
/// freed; code that does either must reset this cache to `LookupCache::EMPTY`.
#[derive(Debug)]
struct LookupCache<T> {
    /// The peer's name (`Peer`). It has more bits than a name, so that there is a value that belongs to no peer.
    peer: u64,
    entry: *mut T,
}

impl<T> LookupCache<T> {
    const EMPTY: LookupCache<T> = LookupCache { peer: u64::MAX, entry: ptr::null_mut() };

    #[inline(always)]
    fn matches(&self, peer: Peer) -> bool {
        self.peer == u64::from(peer.0)
    }
}

/// The clone of a cache is empty, because the clone of a table has entries of its own.
impl<T> Clone for LookupCache<T> {
    fn clone(&self) -> LookupCache<T> {
        LookupCache::EMPTY
    }
}

// SAFETY: it points into the table that it is a part of, and is followed only by the owner of that table.
unsafe impl<T: Send> Send for LookupCache<T> {}
// SAFETY: as above; by a shared reference entries are read alone, and `lookup_cache` stays as it is.
unsafe impl<T: Sync> Sync for LookupCache<T> {}

/// A page: the entries of some consecutive process numbers.
#[derive(Clone, Debug)]
struct TablePage<T> {
    entries: Box<[T]>,
    /// The index, within the page's 64 process numbers, of the first entry.
    first: u8,
}

impl<T> TablePage<T> {
    fn empty() -> TablePage<T> {
        TablePage { entries: Box::new([]), first: 0 }
    }

    /// Returns the index in `entries` of the entry with index `place` within the page. If there is no such entry, the
    /// result is beyond the end of `entries`.
    #[inline(always)]
    fn index_of(&self, place: usize) -> usize {
        place.wrapping_sub(usize::from(self.first))
    }

    /// Extends the page to the index `place`. An empty page gets one entry. Otherwise the number of entries is at
    /// least doubled, within the limits of the page, so that a page whose peers are used one after the other is
    /// seldom moved.
    fn grow(&mut self, place: usize, blank: &T)
    where
        T: Clone,
    {
        let (len, first) = (self.entries.len(), usize::from(self.first));
        let end = first + len;
        let (from, to) = match len {
            0 => (place, place + 1),
            _ if place < first => (place.min(first.saturating_sub(len)), end),
            _ => (first, (place + 1).max((end + len).min(PAGE))),
        };
        let mut entries = Vec::with_capacity(to - from);
        if len > 0 {
            entries.resize(first - from, blank.clone());
            entries.extend(std::mem::take(&mut self.entries).into_vec());
        }
        entries.resize(to - from, blank.clone());
        *self = TablePage { entries: entries.into_boxed_slice(), first: from as u8 };
    }
}

impl<T: Clone> PeerTable<T> {
    /// Makes a table whose entries are all `blank`.
    pub const fn new(blank: T) -> PeerTable<T> {
        PeerTable { lookup_cache: LookupCache::EMPTY, pages: Vec::new(), blank }
    }

    /// Returns the entry of a peer; `None` if there is none. A peer has an entry if it was used, or if its number
    /// lies between two numbers of the same page that were used.
    #[inline(always)]
    pub fn get_mut(&mut self, peer: Peer) -> Option<&mut T> {
        if self.lookup_cache.matches(peer) {
            // SAFETY: the entry is where it was, as no page has grown or was freed since, and `self` is borrowed
            // for as long as it is.
            return Some(unsafe { &mut *self.lookup_cache.entry });
        }
        self.find_mut(peer)
    }

    /// Finds the entry of a peer by the pages, for `get_mut`. It is a separate function, so that `get_mut` is short
    /// enough to be inlined everywhere.
    #[inline(never)]
    fn find_mut(&mut self, peer: Peer) -> Option<&mut T> {
        let page = self.pages.get_mut(peer.index() / PAGE)?;
        let at = page.index_of(peer.index() % PAGE);
        let entry = page.entries.get_mut(at)?;
        self.lookup_cache = LookupCache { peer: u64::from(peer.0), entry };
        Some(entry)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, peer: Peer) {
        self.lookup_cache = LookupCache::EMPTY;
        let page = peer.index() / PAGE;
        if page >= self.pages.len() {
            // No spare capacity is reserved, because there may be a million numbers, of which few are used.
            self.pages.reserve_exact(page + 1 - self.pages.len());
            self.pages.resize_with(page + 1, TablePage::empty);
        }
        self.pages[page].grow(peer.index() % PAGE, &self.blank);
    }

    /// Makes the entry of a peer blank again. A page whose entries are all blank is freed.
    pub fn reset(&mut self, peer: Peer)
    where
        T: PartialEq,
    {
        let blank = self.blank.clone();
        let Some(entry) = self.get_mut(peer) else { return };
        *entry = blank;
        self.lookup_cache = LookupCache::EMPTY;
        let page = &mut self.pages[peer.index() / PAGE];
        if page.entries.iter().all(|entry| *entry == self.blank) {
            *page = TablePage::empty();
        }
        while self.pages.last().is_some_and(|page| page.entries.is_empty()) {
            self.pages.pop();
        }
    }
}

impl<T> PeerTable<T> {
    /// Finds the entry of a peer by the pages, for reading. Returns the blank entry if the peer has none.
    #[inline(never)]
    fn find(&self, peer: Peer) -> &T {
        let page = self.pages.get(peer.index() / PAGE);
        page.and_then(|page| page.entries.get(page.index_of(peer.index() % PAGE))).unwrap_or(&self.blank)
    }
}

impl<T: PartialEq> PeerTable<T> {
    /// Returns the entries that are not blank, each with its process number (`Peer::index`), in ascending order.
    pub fn used(&self) -> impl Iterator<Item = (usize, &T)> {
        let numbered = |(page, it): (usize, &'_ TablePage<T>)| PAGE * page + usize::from(it.first);
        let all = (0..).zip(&self.pages).flat_map(move |page| (numbered(page)..).zip(&page.1.entries[..]));
        all.filter(|(_, entry)| **entry != self.blank)
    }
}

/// Two tables are equal if they have equal entries for all peers. A peer without an entry counts as a peer with a
/// blank entry.
impl<T: PartialEq> PartialEq for PeerTable<T> {
    fn eq(&self, other: &PeerTable<T>) -> bool {
        self.blank == other.blank && self.used().eq(other.used())
    }
}

impl<T: Eq> Eq for PeerTable<T> {}

impl<T: Eq + Hash> Hash for PeerTable<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.used().for_each(|entry| entry.hash(state));
    }
}

impl<T> Index<Peer> for PeerTable<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, peer: Peer) -> &T {
        if self.lookup_cache.matches(peer) {
            // SAFETY: as in `get_mut`.
            return unsafe { &*self.lookup_cache.entry };
        }
        self.find(peer)
    }
}

impl<T: Clone> IndexMut<Peer> for PeerTable<T> {
    #[inline(always)]
    fn index_mut(&mut self, peer: Peer) -> &mut T {
        if let Some(entry) = self.get_mut(peer) {
            // SAFETY: the entry is borrowed from `self` for as long as the returned value, and `self` is not used again
            // on this branch; the borrow checker treats it as borrowed on the other branch too. Looked up once, because
            // every message comes here.
            return unsafe { &mut *ptr::from_mut(entry) };
        }
        self.grow(peer);
        self.get_mut(peer).expect("the table has just grown to this peer")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_blank_until_it_is_used_and_after_it_was_given_back() {
        let mut table = PeerTable::new(7);
        for peer in [0, 63, 64, 1_000_000].map(Peer) {
            assert_eq!(table[peer], 7);
            table[peer] += peer.0;
        }
        for peer in [0, 63, 64, 1_000_000].map(Peer) {
            assert_eq!(table[peer], 7 + peer.0);
        }
        assert_eq!((table[Peer(62)], table[Peer(999_999)], table[Peer::NONE]), (7, 7, 7));
        for peer in [1_000_000, 64, 0, 63, 5].map(Peer) {
            table.reset(peer);
        }
        assert!(table.pages.is_empty(), "all memory was freed");
    }

    #[test]
    fn the_latest_entry_is_found_wherever_its_page_went() {
        let mut table = PeerTable::new(String::new());
        table[Peer(3)] = "three".into();
        let mut copy = table.clone();
        copy[Peer(3)] += " again";
        assert_eq!((&*table[Peer(3)], &*copy[Peer(3)]), ("three", "three again"));
        for other in [4, 0, 63, 64, 1000] {
            table.get_mut(Peer(3)).unwrap().push('.');
            table[Peer(other)] = "other".into(); // pages grow, and their list does
            assert!(table[Peer(3)].starts_with("three."));
        }
        let mut moved = table;
        assert_eq!(moved.get_mut(Peer(3)).unwrap(), "three.....");
        moved.reset(Peer(3));
        assert_eq!(moved[Peer(3)], "");
        [4, 0, 63].map(Peer).into_iter().for_each(|peer| moved.reset(peer));
        assert!(moved.get_mut(Peer(3)).is_none() && moved.get_mut(Peer(u32::MAX)).is_none());
        assert_eq!(moved[Peer(1000)], "other");
    }

    #[test]
    fn tables_with_equal_entries_are_equal_whatever_was_used_before() {
        let (mut first, mut second) = (PeerTable::new(7), PeerTable::new(7));
        (first[Peer(5)], second[Peer(5)]) = (1, 1);
        second[Peer(300)] = 7;
        assert_eq!(first, second);
        assert_eq!(second.used().collect::<Vec<_>>(), [(5, &1)]);
        second[Peer(300)] = 8;
        assert_ne!(first, second);
    }

    #[test]
    fn only_pages_that_were_used_have_entries() {
        let mut table = PeerTable::new(0u64);
        table[Peer(1_000_000)] = 1;
        let entries = |table: &PeerTable<u64>| table.pages.iter().map(|page| page.entries.len()).sum::<usize>();
        assert_eq!((entries(&table), table.pages.capacity()), (1, 1_000_000 / PAGE + 1));
        table[Peer(1_000_010)] = 2;
        assert_eq!(entries(&table), 11, "those between the two");
        table[Peer(999_999)] = 3;
        let used = [(999_999, &3), (1_000_000, &1), (1_000_010, &2)];
        assert!(table.used().eq(used) && entries(&table) <= 64);
    }

    #[test]
    fn a_page_that_is_used_from_its_end_or_its_front_is_moved_seldom() {
        let numbers: Vec<u32> = (0..PAGE as u32).collect();
        for order in [numbers.clone(), numbers.into_iter().rev().collect()] {
            let (mut table, mut moved, mut len) = (PeerTable::new(0), 0, 0);
            for number in order {
                table[Peer(number)] = number + 1;
                moved += u32::from(table.pages[0].entries.len() != len);
                len = table.pages[0].entries.len();
            }
            assert!(moved <= PAGE.ilog2() + 1, "{moved} times");
            assert!((0..PAGE as u32).all(|number| table[Peer(number)] == number + 1));
        }
    }
}
