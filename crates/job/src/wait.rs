//! The reason why a rank sleeps, or polls without success. The rank writes it just before it sleeps, and when it
//! polls; the agent reads it to explain why a job hangs.
//!
//! Writing never waits. The record is guarded by a version word (a seqlock), which is odd during a write. The rank
//! pays a few plain stores and one compare-and-swap, and only when it waits.

use crate::text;
use hawser_base::Region;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::fence;
use std::time::Duration;

/// The maximum length of a name of a call or a communicator, in bytes: "MPI_Request_get_status_some of
/// MPI_Reduce_scatter_block_init" has 60. A communicator's name may be longer and is cut then.
pub const NAME_BYTES: usize = 64;

/// Offsets in the record.
const VERSION: usize = 0;
const WAITING: usize = 4;
const SINCE: usize = 8;
const BYTES: usize = 16;
/// The kind and the count of `PendingCount`.
const PENDING: usize = 24;
const CONTEXT: usize = 32;
const PEER: usize = 36;
const TAG: usize = 40;
const TAG_KIND: usize = 44;
const CALL: usize = 48;
const COMMUNICATOR: usize = CALL + NAME_BYTES;
const POLLED: usize = COMMUNICATOR + NAME_BYTES;
const REMOTE: usize = POLLED + 8;

/// The peer that a rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WaitPeer {
    /// No particular peer: a collective, several requests.
    #[default]
    None,
    /// MPI_ANY_SOURCE.
    Any,
    /// A rank of MPI_COMM_WORLD.
    Rank(u32),
}

/// The tag of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WaitTag {
    /// The call has no tag.
    #[default]
    None,
    /// MPI_ANY_TAG.
    Any,
    Is(i32),
}

/// The number of things that a call waits for, if it was given several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PendingCount {
    /// The call waits for one thing, or they are not counted: a collective, a probe.
    #[default]
    One,
    /// The call's requests that have not completed.
    Requests(u32),
    /// Messages in a buffer of MPI_Buffer_attach that have not left it.
    Messages(u32),
}

/// The reason that a rank publishes before it sleeps, or when it polls without success. `Name` is `&str` for the
/// writer.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct WaitReason<Name> {
    /// The time at which this wait began, without progress since then, in ns. A rank that wakes and goes to sleep
    /// again without progress keeps it.
    pub since_ns: u64,
    /// The time of the latest empty poll of a rank that polls, in ns; the rank may do something else since then. 0 if
    /// the rank sleeps.
    pub polled_ns: u64,
    /// The MPI function, at most `NAME_BYTES` bytes.
    pub call: Name,
    /// The communicator's name, at most `NAME_BYTES` bytes; empty if there is none.
    pub communicator: Name,
    pub context: u32,
    pub peer: WaitPeer,
    /// On an intercommunicator, the rank of `peer` in the remote group; None if `peer` is not in that group.
    pub remote: Option<u32>,
    pub tag: WaitTag,
    /// The size of the awaited message; 0 if it is unknown.
    pub bytes: u64,
    pub pending: PendingCount,
}

/// A reason as read from another process's page.
pub type OwnedWaitReason = WaitReason<String>;

/// The record of one rank. Cloning is cheap.
#[derive(Clone)]
pub struct WaitRecord(Region);

impl WaitRecord {
    /// Bytes in a rank page.
    pub(crate) const BYTES: usize = 192;

    pub(crate) fn new(region: Region) -> WaitRecord {
        WaitRecord(region)
    }

    /// Makes a record that no other process sees.
    pub fn private() -> WaitRecord {
        WaitRecord(Region::private(WaitRecord::BYTES))
    }

    /// Records that the rank is about to sleep, or polls without success, for `reason`. If several threads wait, the
    /// last one is shown.
    pub fn begin(&self, reason: &WaitReason<&str>) {
        let version = self.0.u32(VERSION);
        let even = version.load(Relaxed);
        // If another thread is writing, its reason is as good as ours. AcqRel keeps our stores behind this exchange.
        if even & 1 == 1 || version.compare_exchange(even, even.wrapping_add(1), AcqRel, Relaxed).is_err() {
            return;
        }
        // Pairs with the Acquire fence in `try_read`: a reader that sees a store below sees the odd version too.
        fence(Release);
        self.store(reason);
        // Pairs with the first Acquire load in `try_read`.
        version.store(even.wrapping_add(2), Release);
    }

    fn store(&self, reason: &WaitReason<&str>) {
        let (peer, tag) = (encode_peer(reason.peer), encode_tag(reason.tag));
        self.0.u32(WAITING).store(1, Relaxed);
        self.0.u64(SINCE).store(reason.since_ns, Relaxed);
        self.0.u64(POLLED).store(reason.polled_ns, Relaxed);
        self.0.u64(BYTES).store(reason.bytes, Relaxed);
        self.0.u64(PENDING).store(encode_pending(reason.pending), Relaxed);
        self.0.u32(CONTEXT).store(reason.context, Relaxed);
        self.0.u32(PEER).store(peer, Relaxed);
        self.0.u32(REMOTE).store(reason.remote.unwrap_or(NOT_REMOTE), Relaxed);
        self.0.u32(TAG).store(tag.1, Relaxed);
        self.0.u32(TAG_KIND).store(tag.0, Relaxed);
        text::write(&self.0, CALL, NAME_BYTES, reason.call);
        text::write(&self.0, COMMUNICATOR, NAME_BYTES, reason.communicator);
    }

    /// Records that the rank no longer waits.
    #[inline]
    pub fn end(&self) {
        self.0.u32(WAITING).store(0, Relaxed);
    }

    /// Returns why the rank sleeps or polls; None if it does neither, or if the record stays half written.
    pub fn read(&self) -> Option<OwnedWaitReason> {
        // The writer may have lost its core to this reader, which therefore sleeps. A writer that dies during a write
        // leaves the version odd: after SHORT_SLEEPS sleeps its rank counts as not waiting.
        for _ in 0..SHORT_SLEEPS {
            for _ in 0..SPINS {
                if let Some(reason) = self.try_read() {
                    return reason;
                }
                std::hint::spin_loop();
            }
            std::thread::sleep(SHORT_SLEEP);
        }
        None
    }

    /// Reads once. None if the record is being written; `Some(None)` if the rank does not wait.
    fn try_read(&self) -> Option<Option<OwnedWaitReason>> {
        // Pairs with the Release store at the end of `begin`.
        let before = self.0.u32(VERSION).load(Acquire);
        let waiting = self.0.u32(WAITING).load(Relaxed) == 1;
        let reason = waiting.then(|| self.load());
        // Keeps the loads above before the next one; pairs with the Release fence in `begin`.
        fence(Acquire);
        (before & 1 == 0 && self.0.u32(VERSION).load(Relaxed) == before).then_some(reason)
    }

    fn load(&self) -> OwnedWaitReason {
        OwnedWaitReason {
            since_ns: self.0.u64(SINCE).load(Relaxed),
            polled_ns: self.0.u64(POLLED).load(Relaxed),
            bytes: self.0.u64(BYTES).load(Relaxed),
            pending: decode_pending(self.0.u64(PENDING).load(Relaxed)),
            context: self.0.u32(CONTEXT).load(Relaxed),
            peer: decode_peer(self.0.u32(PEER).load(Relaxed)),
            remote: Some(self.0.u32(REMOTE).load(Relaxed)).filter(|&rank| rank != NOT_REMOTE),
            tag: decode_tag(self.0.u32(TAG_KIND).load(Relaxed), self.0.u32(TAG).load(Relaxed)),
            call: text::read(&self.0, CALL, NAME_BYTES),
            communicator: text::read(&self.0, COMMUNICATOR, NAME_BYTES),
        }
    }
}

const _: () = assert!(REMOTE + 4 <= WaitRecord::BYTES && POLLED.is_multiple_of(8));

/// A write takes less time than SPINS reads. A writer that has lost its core has it again within a few short sleeps,
/// each of which is at most a time slice of the scheduler.
const SPINS: u32 = 1000;
const SHORT_SLEEPS: u32 = 50;
const SHORT_SLEEP: Duration = Duration::from_millis(1);

const NOT_REMOTE: u32 = u32::MAX;

const PEER_NONE: u32 = u32::MAX;
const PEER_ANY: u32 = u32::MAX - 1;

fn encode_peer(peer: WaitPeer) -> u32 {
    match peer {
        WaitPeer::None => PEER_NONE,
        WaitPeer::Any => PEER_ANY,
        WaitPeer::Rank(rank) => rank,
    }
}

fn decode_peer(word: u32) -> WaitPeer {
    match word {
        PEER_NONE => WaitPeer::None,
        PEER_ANY => WaitPeer::Any,
        rank => WaitPeer::Rank(rank),
    }
}

fn encode_pending(pending: PendingCount) -> u64 {
    match pending {
        PendingCount::One => 0,
        PendingCount::Requests(count) => 1 << 32 | u64::from(count),
        PendingCount::Messages(count) => 2 << 32 | u64::from(count),
    }
}

fn decode_pending(word: u64) -> PendingCount {
    match word >> 32 {
        1 => PendingCount::Requests(word as u32),
        2 => PendingCount::Messages(word as u32),
        _ => PendingCount::One,
    }
}

fn encode_tag(tag: WaitTag) -> (u32, u32) {
    match tag {
        WaitTag::None => (0, 0),
        WaitTag::Any => (1, 0),
        WaitTag::Is(tag) => (2, tag as u32),
    }
}

fn decode_tag(kind: u32, tag: u32) -> WaitTag {
    match kind {
        1 => WaitTag::Any,
        2 => WaitTag::Is(tag as i32),
        _ => WaitTag::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(n: u64) -> WaitReason<&'static str> {
        let (call, communicator) =
            if n.is_multiple_of(2) { ("MPI_Recv", "MPI_COMM_WORLD") } else { ("MPI_Send", "rows") };
        WaitReason {
            since_ns: n,
            polled_ns: n,
            call,
            communicator,
            context: n as u32,
            peer: WaitPeer::Rank(n as u32),
            remote: n.is_multiple_of(3).then_some(n as u32),
            tag: WaitTag::Is(-(n as i32)),
            bytes: n,
            pending: [PendingCount::One, PendingCount::Requests(n as u32), PendingCount::Messages(n as u32)]
                [n as usize % 3],
        }
    }

    #[test]
    fn a_reason_is_there_from_begin_to_end() {
        let record = WaitRecord::private();
        assert_eq!(record.read(), None);
        record.begin(&WaitReason { peer: WaitPeer::Any, tag: WaitTag::Any, ..reason(4) });
        let read = record.read().unwrap();
        assert_eq!((read.call.as_str(), read.communicator.as_str()), ("MPI_Recv", "MPI_COMM_WORLD"));
        assert_eq!((read.peer, read.tag, read.since_ns), (WaitPeer::Any, WaitTag::Any, 4));
        record.end();
        assert_eq!(record.read(), None);
    }

    #[test]
    fn a_writer_that_lost_its_core_is_waited_for_and_a_dead_one_is_not() {
        let record = WaitRecord::private();
        record.begin(&reason(4));
        let even = record.0.u32(VERSION).fetch_add(1, Relaxed);
        assert_eq!(record.read(), None);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(5 * SHORT_SLEEP);
                record.0.u32(VERSION).store(even.wrapping_add(2), Release);
            });
            assert_eq!(record.read().map(|read| read.since_ns), Some(4));
        });
    }

    #[test]
    fn a_reader_never_sees_halves_of_two_reasons() {
        let record = WaitRecord::private();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| (0..200_000).for_each(|n| record.begin(&reason(n))));
            while !writer.is_finished() {
                if let Some(read) = record.read() {
                    let n = read.since_ns;
                    let expected = reason(n);
                    assert_eq!(
                        (read.call.as_str(), read.communicator.as_str()),
                        (expected.call, expected.communicator)
                    );
                    assert_eq!(
                        (read.peer, read.tag, read.bytes, read.pending),
                        (expected.peer, expected.tag, n, expected.pending)
                    );
                }
            }
        });
    }
}
