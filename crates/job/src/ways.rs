//! A rank's report on its paths to other hosts: the ports that cannot be used, and the peers that do not answer.
//!
//! The rank writes it into its second page; its agent reads it for the report on the ranks, and if the rank's
//! connection to the agent is closed, in place of a message. The words are guarded by a version (a seqlock): odd while
//! they are written, by one thread at a time. Used by `dev-ether`, which writes, and `launch`, which reads.

use crate::text;
use hawser_base::Region;
use hawser_os::map::PAGE;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::fence;

/// Offsets in the page.
const VERSION: usize = 0;
const GONE: usize = 4;
const FAULTS: usize = 8;
/// Space for a line for each of the ports: those of eleven rails are cut.
const FAULTS_ROOM: usize = 1 << 10;
const SILENT: usize = FAULTS + FAULTS_ROOM;
const SILENT_ROOM: usize = PAGE - SILENT;

const _: () = assert!(FAULTS.is_multiple_of(8) && SILENT.is_multiple_of(8) && SILENT_ROOM.is_multiple_of(8));

/// Separator behind each silent peer in the text of all: ASCII's record separator, which no name has.
const BEHIND_EACH: char = '\u{1e}';

/// The report.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Ways {
    /// Whether none of the rank's ports by which others reached it can ever be used again.
    pub gone: bool,
    /// A line for each of its ports that cannot be used now, with the reason.
    pub faults: String,
    /// The peers that have been silent for longest, as many as there is space for.
    pub silent: Vec<Silent>,
}

/// An unreachable peer: nothing is acknowledged by any of its paths, though something was sent.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Silent {
    pub peer: u32,
    /// Whether it has answered before.
    pub was_open: bool,
    /// A line for each pair of ports.
    pub pairs: String,
}

impl Silent {
    /// Returns the text: a line of numbers, then the pairs.
    fn written(&self) -> String {
        let Silent { peer, was_open, pairs } = self;
        format!("{peer} {}\n{pairs}{BEHIND_EACH}", u8::from(*was_open))
    }

    /// Reads the text. None: it was cut within the first line, or is empty.
    fn read(text: &str) -> Option<Silent> {
        let (numbers, pairs) = text.split_once('\n')?;
        let (peer, was_open) = numbers.split_once(' ')?;
        Some(Silent { peer: peer.parse().ok()?, was_open: was_open == "1", pairs: pairs.into() })
    }
}

/// The report in shared memory. Cloning is cheap.
#[derive(Clone)]
pub struct WaysRecord(Region);

impl WaysRecord {
    /// Bytes in a rank's pages.
    pub(crate) const BYTES: usize = PAGE;

    pub(crate) fn new(region: Region) -> WaysRecord {
        WaysRecord(region)
    }

    /// Writes the report. For the rank itself, one thread at a time.
    pub fn write(&self, ways: &Ways) {
        let even = self.0.u32(VERSION).load(Relaxed);
        self.0.u32(VERSION).store(even.wrapping_add(1), Relaxed);
        // Pairs with the Acquire fence in `look`: a reader that sees a store below sees the odd version too.
        fence(Release);
        self.0.u32(GONE).store(ways.gone.into(), Relaxed);
        text::write(&self.0, FAULTS, FAULTS_ROOM, &ways.faults);
        let silent: String = ways.silent.iter().map(Silent::written).collect();
        text::write(&self.0, SILENT, SILENT_ROOM, &silent);
        // Pairs with the first Acquire load in `look`.
        self.0.u32(VERSION).store(even.wrapping_add(2), Release);
    }

    /// Returns the rank's latest report. None if it was stopped or died while it wrote: nothing is known then.
    pub fn read(&self) -> Option<Ways> {
        (0..LOOKS).find_map(|_| self.look())
    }

    /// Reads once. None: the report is being written.
    fn look(&self) -> Option<Ways> {
        // Pairs with the Release store at the end of `write`.
        let before = self.0.u32(VERSION).load(Acquire);
        let silent = text::read(&self.0, SILENT, SILENT_ROOM);
        let ways = Ways {
            gone: self.0.u32(GONE).load(Relaxed) == 1,
            faults: text::read(&self.0, FAULTS, FAULTS_ROOM),
            silent: silent.split(BEHIND_EACH).filter_map(Silent::read).collect(),
        };
        // Keeps the loads above before the next one; pairs with the Release fence in `write`.
        fence(Acquire);
        (before & 1 == 0 && self.0.u32(VERSION).load(Relaxed) == before).then_some(ways)
    }
}

/// Maximum reads: a read takes as long as writing.
const LOOKS: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_read_until_it_is_taken_back() {
        let record = WaysRecord::new(Region::private(WaysRecord::BYTES));
        assert_eq!(record.read(), Some(Ways::default()), "of a new page");
        let first = Silent { peer: 0, was_open: true, pairs: "eth0 udp a -> b: silent for 3 s\neth1".into() };
        let second = Silent { peer: u32::MAX, was_open: false, pairs: String::new() };
        let said = Ways { gone: true, faults: "eth0 udp: gone".into(), silent: vec![first, second] };
        record.write(&said);
        assert_eq!(record.read(), Some(said));
        record.write(&Ways::default());
        assert_eq!(record.read(), Some(Ways::default()));
    }

    #[test]
    fn texts_that_are_too_long_are_cut_and_hurt_no_other() {
        let record = WaysRecord::new(Region::private(WaysRecord::BYTES));
        let silent = |len| Silent { peer: 7, was_open: false, pairs: "p".repeat(len) };
        record.write(&Ways { gone: false, faults: "f".repeat(2 * PAGE), silent: vec![silent(2 * PAGE), silent(1)] });
        let read = record.read().unwrap();
        assert_eq!(read.faults, "f".repeat(FAULTS_ROOM));
        assert_eq!(read.silent, [silent(SILENT_ROOM - "7 0\n".len())]);
        // A number that was cut names no peer.
        for cut in 1..=4 {
            let all = vec![silent(SILENT_ROOM - 5 - cut), Silent { peer: 123, ..silent(0) }];
            record.write(&Ways { silent: all, ..Ways::default() });
            assert_eq!(record.read().unwrap().silent.len(), 1, "{cut}");
        }
    }

    #[test]
    fn one_that_died_while_it_wrote_has_said_nothing() {
        let record = WaysRecord::new(Region::private(WaysRecord::BYTES));
        record.write(&Ways { gone: true, ..Ways::default() });
        record.0.u32(VERSION).fetch_add(1, Relaxed);
        assert_eq!(record.read(), None);
    }
}
