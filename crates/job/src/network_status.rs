//! A rank's report on its network: the ports that cannot be used, and the unreachable peers.
//!
//! The rank writes the report into its second page. The agent reads it for its report on the ranks, and in place of a
//! message if the rank's connection to the agent is closed. The words are guarded by a version (a seqlock), which is
//! odd during a write; only one thread writes at a time. Used by `dev-ether`, which writes, and by `host` and
//! `launch`, which read.

use crate::text;
use hawser_base::Region;
use hawser_os::map::PAGE;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::fence;

/// Offsets in the page.
const VERSION: usize = 0;
const CUT_OFF: usize = 4;
const FAULTS: usize = 8;
/// Space, in bytes, for a line about each of the ports. The lines about the ports of eleven rails do not fit, and are
/// cut.
const FAULTS_BYTES: usize = 1 << 10;
const UNREACHABLE: usize = FAULTS + FAULTS_BYTES;
const UNREACHABLE_BYTES: usize = PAGE - UNREACHABLE;

const _: () = assert!(FAULTS.is_multiple_of(8) && UNREACHABLE.is_multiple_of(8) && UNREACHABLE_BYTES.is_multiple_of(8));

/// Separator behind each unreachable peer in the text of all: ASCII's record separator, which no name has.
const RECORD_SEPARATOR: char = '\u{1e}';

/// The report.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NetworkStatus {
    /// Whether none of the rank's ports by which any peer has answered can ever be used again (none of all its ports,
    /// if no peer has answered).
    pub is_cut_off: bool,
    /// A line for each port of the rank that cannot be used now, with the reason.
    pub port_faults: String,
    /// The peers that have been unreachable for longest, as many as there is space for.
    pub unreachable: Vec<UnreachablePeer>,
}

/// An unreachable peer: nothing is acknowledged by any of its paths, though something was sent.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct UnreachablePeer {
    pub peer: u32,
    /// Whether a path to it was open before.
    pub was_open: bool,
    /// A line for each pair of a local and a remote port.
    pub pairs: String,
}

impl UnreachablePeer {
    /// Returns the text: a line of numbers, then the pairs.
    fn encode(&self) -> String {
        let UnreachablePeer { peer, was_open, pairs } = self;
        format!("{peer} {}\n{pairs}{RECORD_SEPARATOR}", u8::from(*was_open))
    }

    /// Reads the text. None if it was cut within the first line, or is empty.
    fn decode(text: &str) -> Option<UnreachablePeer> {
        let (numbers, pairs) = text.split_once('\n')?;
        let (peer, was_open) = numbers.split_once(' ')?;
        Some(UnreachablePeer { peer: peer.parse().ok()?, was_open: was_open == "1", pairs: pairs.into() })
    }
}

/// The report in shared memory. Cloning is cheap.
#[derive(Clone)]
pub struct NetworkStatusRecord(Region);

impl NetworkStatusRecord {
    /// Bytes in a rank's pages.
    pub(crate) const BYTES: usize = PAGE;

    pub(crate) fn new(region: Region) -> NetworkStatusRecord {
        NetworkStatusRecord(region)
    }

    /// Writes the report. Only the rank itself may call it, one thread at a time.
    pub fn write(&self, status: &NetworkStatus) {
        let even = self.0.u32(VERSION).load(Relaxed);
        self.0.u32(VERSION).store(even.wrapping_add(1), Relaxed);
        // Pairs with the Acquire fence in `try_read`: a reader that sees a store below sees the odd version too.
        fence(Release);
        self.0.u32(CUT_OFF).store(status.is_cut_off.into(), Relaxed);
        text::write(&self.0, FAULTS, FAULTS_BYTES, &status.port_faults);
        let silent: String = status.unreachable.iter().map(UnreachablePeer::encode).collect();
        text::write(&self.0, UNREACHABLE, UNREACHABLE_BYTES, &silent);
        // Pairs with the first Acquire load in `try_read`.
        self.0.u32(VERSION).store(even.wrapping_add(2), Release);
    }

    /// Returns the rank's latest report. None if the rank was stopped, or died, during a `write`: its report is not
    /// known then.
    pub fn read(&self) -> Option<NetworkStatus> {
        (0..READ_ATTEMPTS).find_map(|_| self.try_read())
    }

    /// Reads once. None if the report is being written.
    fn try_read(&self) -> Option<NetworkStatus> {
        // Pairs with the Release store at the end of `write`.
        let before = self.0.u32(VERSION).load(Acquire);
        let silent = text::read(&self.0, UNREACHABLE, UNREACHABLE_BYTES);
        let status = NetworkStatus {
            is_cut_off: self.0.u32(CUT_OFF).load(Relaxed) == 1,
            port_faults: text::read(&self.0, FAULTS, FAULTS_BYTES),
            unreachable: silent.split(RECORD_SEPARATOR).filter_map(UnreachablePeer::decode).collect(),
        };
        // Keeps the loads above before the next one; pairs with the Release fence in `write`.
        fence(Acquire);
        (before & 1 == 0 && self.0.u32(VERSION).load(Relaxed) == before).then_some(status)
    }
}

/// The maximum number of attempts of `read`: one attempt takes as long as a write.
const READ_ATTEMPTS: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_read_until_it_is_taken_back() {
        let record = NetworkStatusRecord::new(Region::private(NetworkStatusRecord::BYTES));
        assert_eq!(record.read(), Some(NetworkStatus::default()), "of a new page");
        let first = UnreachablePeer { peer: 0, was_open: true, pairs: "eth0 udp a -> b: silent for 3 s\neth1".into() };
        let second = UnreachablePeer { peer: u32::MAX, was_open: false, pairs: String::new() };
        let said =
            NetworkStatus { is_cut_off: true, port_faults: "eth0 udp: gone".into(), unreachable: vec![first, second] };
        record.write(&said);
        assert_eq!(record.read(), Some(said));
        record.write(&NetworkStatus::default());
        assert_eq!(record.read(), Some(NetworkStatus::default()));
    }

    #[test]
    fn texts_that_are_too_long_are_cut_and_hurt_no_other() {
        let record = NetworkStatusRecord::new(Region::private(NetworkStatusRecord::BYTES));
        let silent = |len| UnreachablePeer { peer: 7, was_open: false, pairs: "p".repeat(len) };
        record.write(&NetworkStatus {
            is_cut_off: false,
            port_faults: "f".repeat(2 * PAGE),
            unreachable: vec![silent(2 * PAGE), silent(1)],
        });
        let read = record.read().unwrap();
        assert_eq!(read.port_faults, "f".repeat(FAULTS_BYTES));
        assert_eq!(read.unreachable, [silent(UNREACHABLE_BYTES - "7 0\n".len())]);
        // A number that was cut names no peer.
        for cut in 1..=4 {
            let all = vec![silent(UNREACHABLE_BYTES - 5 - cut), UnreachablePeer { peer: 123, ..silent(0) }];
            record.write(&NetworkStatus { unreachable: all, ..NetworkStatus::default() });
            assert_eq!(record.read().unwrap().unreachable.len(), 1, "{cut}");
        }
    }

    #[test]
    fn one_that_died_while_it_wrote_has_said_nothing() {
        let record = NetworkStatusRecord::new(Region::private(NetworkStatusRecord::BYTES));
        record.write(&NetworkStatus { is_cut_off: true, ..NetworkStatus::default() });
        record.0.u32(VERSION).fetch_add(1, Relaxed);
        assert_eq!(record.read(), None);
    }
}
