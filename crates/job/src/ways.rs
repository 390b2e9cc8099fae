//! What a rank says of its ways to other hosts: which of its ports cannot be used, and the peer that has not answered
//! it for longest.
//!
//! The rank writes it into the second page of its own; its agent reads it for the report of what ranks do, and where
//! the rank's connection to the agent is closed instead of that. The words are guarded by a version (a seqlock): odd
//! while they are written, by one thread at a time. Before it: `dev-ether`; after it: `launch`, which reads.

use crate::text;
use hawser_base::Region;
use hawser_os::map::PAGE;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::fence;

/// Offsets in the page.
const VERSION: usize = 0;
const GONE: usize = 4;
const PEER: usize = 8;
const WAS_OPEN: usize = 12;
const FAULTS: usize = 16;
/// A line for each of the ports, at most so many bytes: those of eleven rails are cut.
const FAULTS_ROOM: usize = 1 << 10;
const PAIRS: usize = FAULTS + FAULTS_ROOM;
const PAIRS_ROOM: usize = PAGE - PAIRS;

const _: () = assert!(FAULTS.is_multiple_of(8) && PAIRS.is_multiple_of(8) && PAIRS_ROOM.is_multiple_of(8));

const NOBODY: u32 = u32::MAX;

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Ways {
    /// None of the rank's ports by which others reached it can ever be used again.
    pub gone: bool,
    /// A line for each of its ports that cannot be used now, with the reason.
    pub faults: String,
    pub silent: Option<Silent>,
}

/// A peer by none of whose paths anything is answered, though something was sent.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Silent {
    pub peer: u32,
    /// It has answered before.
    pub was_open: bool,
    /// A line for each pair of ports.
    pub pairs: String,
}

/// Where it stands. Cloning is cheap.
#[derive(Clone)]
pub struct WaysRecord(Region);

impl WaysRecord {
    /// Bytes in a rank's pages.
    pub(crate) const BYTES: usize = PAGE;

    pub(crate) fn new(region: Region) -> WaysRecord {
        WaysRecord(region)
    }

    /// For the rank itself, one thread at a time.
    pub fn write(&self, ways: &Ways) {
        let even = self.0.u32(VERSION).load(Relaxed);
        self.0.u32(VERSION).store(even.wrapping_add(1), Relaxed);
        // Pairs with the Acquire fence in `look`: who sees a store below sees the odd version too.
        fence(Release);
        let silent = ways.silent.as_ref();
        self.0.u32(GONE).store(ways.gone.into(), Relaxed);
        // A page that was never written is zero: the peer stands there as one more.
        self.0.u32(PEER).store(silent.map_or(0, |silent| silent.peer.wrapping_add(1)), Relaxed);
        self.0.u32(WAS_OPEN).store(silent.is_some_and(|silent| silent.was_open).into(), Relaxed);
        text::write(&self.0, FAULTS, FAULTS_ROOM, &ways.faults);
        text::write(&self.0, PAIRS, PAIRS_ROOM, silent.map_or("", |silent| &silent.pairs));
        // Pairs with the first Acquire load in `look`.
        self.0.u32(VERSION).store(even.wrapping_add(2), Release);
    }

    /// What the rank has said last; nothing, if it was stopped or died while it wrote.
    pub fn read(&self) -> Ways {
        (0..LOOKS).find_map(|_| self.look()).unwrap_or_default()
    }

    /// None: it is being written.
    fn look(&self) -> Option<Ways> {
        // Pairs with the Release store at the end of `write`.
        let before = self.0.u32(VERSION).load(Acquire);
        let peer = self.0.u32(PEER).load(Relaxed).wrapping_sub(1);
        let silent = || Silent {
            peer,
            was_open: self.0.u32(WAS_OPEN).load(Relaxed) == 1,
            pairs: text::read(&self.0, PAIRS, PAIRS_ROOM),
        };
        let ways = Ways {
            gone: self.0.u32(GONE).load(Relaxed) == 1,
            faults: text::read(&self.0, FAULTS, FAULTS_ROOM),
            silent: (peer != NOBODY).then(silent),
        };
        // Keeps the loads above before the next one; pairs with the Release fence in `write`.
        fence(Acquire);
        (before & 1 == 0 && self.0.u32(VERSION).load(Relaxed) == before).then_some(ways)
    }
}

/// A look takes as long as writing.
const LOOKS: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_read_until_it_is_taken_back() {
        let record = WaysRecord::new(Region::private(WaysRecord::BYTES));
        assert_eq!(record.read(), Ways::default(), "of a new page");
        let silent = Silent { peer: 0, was_open: true, pairs: "eth0 udp a -> b: silent for 3 s".into() };
        let said = Ways { gone: true, faults: "eth0 udp: gone".into(), silent: Some(silent) };
        record.write(&said);
        assert_eq!(record.read(), said);
        record.write(&Ways::default());
        assert_eq!(record.read(), Ways::default());
    }

    #[test]
    fn texts_that_are_too_long_are_cut_and_hurt_no_other() {
        let record = WaysRecord::new(Region::private(WaysRecord::BYTES));
        let silent = Silent { peer: 7, was_open: false, pairs: "p".repeat(2 * PAGE) };
        record.write(&Ways { gone: false, faults: "f".repeat(2 * PAGE), silent: Some(silent) });
        let read = record.read();
        assert_eq!(read.faults, "f".repeat(FAULTS_ROOM));
        assert_eq!(read.silent, Some(Silent { peer: 7, was_open: false, pairs: "p".repeat(PAIRS_ROOM) }));
    }

    #[test]
    fn one_that_died_while_it_wrote_has_said_nothing() {
        let record = WaysRecord::new(Region::private(WaysRecord::BYTES));
        record.write(&Ways { gone: true, ..Ways::default() });
        record.0.u32(VERSION).fetch_add(1, Relaxed);
        assert_eq!(record.read(), Ways::default());
    }
}
