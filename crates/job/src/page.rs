//! A rank's page: its process, its phase in MPI, its polls of the network, its turns on its core, its doorbell, its
//! wait reason, its counters and latest events, the ports by which its peers on other hosts answer, and, in a second
//! page, those by which they do not.
//!
//! It is written by the rank (and by the agent before the rank attaches), and read by every process of the host.

use crate::counters::Counters;
use crate::doorbell::{Doorbell, Fencing};
use crate::events::Events;
use crate::text;
use crate::turn::Turn;
use crate::wait::WaitRecord;
use crate::ways::WaysRecord;
use hawser_base::{Peer, Region};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Offsets in the page.
const PHASE: usize = 0;
const PID: usize = 4;
const LOOKS: usize = 8;
const GIVEN_BACK: usize = 16;
const TURN: usize = 64;
pub(crate) const DOORBELL: usize = TURN + Turn::BYTES;
const WAIT: usize = DOORBELL + Doorbell::BYTES;
const COUNTERS: usize = WAIT + WaitRecord::BYTES;
const EVENTS: usize = COUNTERS + Counters::BYTES;
const ANSWERS: usize = EVENTS + Events::BYTES;
/// Space for `answers`, the rest of the first page: eleven rails with three ports each take 11 * 75 bytes
/// (`dev-ether`); a longer text is cut.
const ANSWERS_ROOM: usize = hawser_os::map::PAGE - ANSWERS;
const WAYS: usize = hawser_os::map::PAGE;

const _: () = assert!(
    LOOKS + 8 <= GIVEN_BACK
        && GIVEN_BACK + 4 <= TURN
        && ANSWERS_ROOM >= 11 * 75
        && ANSWERS.is_multiple_of(8)
        && COUNTERS.is_multiple_of(64)
        && EVENTS.is_multiple_of(64)
);

/// The phase of a rank in MPI; whether its process lives is recorded elsewhere (`lives`). It only ever rises, except
/// for a rank that finalizes its last session and begins another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Phase {
    /// Its program has been started and has not called MPI_Init.
    Launched = 0,
    /// It is inside MPI_Init.
    Attached = 1,
    /// MPI_Init has returned, or MPI_Session_init.
    Running = 2,
    /// It has called MPI_Finalize, if it called MPI_Init, and finalised all its sessions.
    Finalized = 3,
    /// It has called MPI_Abort, or an error handler did.
    Aborted = 4,
}

impl Phase {
    const ALL: [Phase; 5] = [Phase::Launched, Phase::Attached, Phase::Running, Phase::Finalized, Phase::Aborted];
}

/// The page of one rank. Cloning is cheap.
#[derive(Clone)]
pub struct RankPage {
    region: Region,
    fencing: Fencing,
}

impl RankPage {
    /// Bytes in the segment: two pages of the kernel's.
    pub const BYTES: usize = WAYS + WaysRecord::BYTES;

    pub(crate) fn new(region: Region, fencing: Fencing) -> RankPage {
        RankPage { region, fencing }
    }

    /// Makes a page that no other process sees.
    pub fn private() -> RankPage {
        RankPage::new(Region::private(RankPage::BYTES), Fencing::Full)
    }

    /// Returns the process id of the rank; 0 before it attaches.
    pub fn pid(&self) -> i32 {
        self.region.u32(PID).load(Relaxed) as i32
    }

    pub fn set_pid(&self, pid: i32) {
        self.region.u32(PID).store(pid as u32, Relaxed);
    }

    pub fn phase(&self) -> Phase {
        // Pairs with the Release in `set_phase`: what the rank did before the phase is visible.
        let word = self.region.u32(PHASE).load(Acquire);
        Phase::ALL.into_iter().find(|&phase| phase as u32 == word).unwrap_or(Phase::Launched)
    }

    pub fn set_phase(&self, phase: Phase) {
        // Pairs with the Acquire in `phase`.
        self.region.u32(PHASE).store(phase as u32, Release);
    }

    /// Returns how often the rank has polled all its ports for data from other hosts: it grows while the rank is inside
    /// MPI, sleeping too (each second), and stands still while it computes or is stopped.
    pub fn looks(&self) -> u64 {
        self.region.u64(LOOKS).load(Relaxed)
    }

    /// Counts a poll. For the rank itself, one thread at a time.
    #[inline]
    pub fn looked(&self) {
        let looks = self.region.u64(LOOKS);
        looks.store(looks.load(Relaxed) + 1, Relaxed);
    }

    /// Records that the rank has released everything that it kept of a process that has ended (`Segment::ask_back`).
    /// For the rank itself.
    pub fn answer(&self, peer: Peer) {
        // Pairs with the Acquire in `given_back`: nothing of the process is used after it.
        self.region.u32(GIVEN_BACK).store(peer.0 ^ Peer::NOBODY.0, Release);
    }

    /// Returns the process that the rank has released last.
    pub fn given_back(&self) -> Option<Peer> {
        // Pairs with the Release in `answer`.
        let peer = Peer(self.region.u32(GIVEN_BACK).load(Acquire) ^ Peer::NOBODY.0);
        (peer != Peer::NOBODY).then_some(peer)
    }

    /// Publishes, as a text, the ports by which the rank's peers on other hosts answer. For the rank itself, one thread
    /// at a time.
    pub fn set_answers(&self, text: &str) {
        text::write(&self.region, ANSWERS, ANSWERS_ROOM, text);
    }

    /// Returns that text; empty if there is none.
    pub fn answers(&self) -> String {
        text::read(&self.region, ANSWERS, ANSWERS_ROOM)
    }

    pub fn doorbell(&self) -> Doorbell {
        Doorbell::new(self.region.part(DOORBELL, Doorbell::BYTES), self.fencing)
    }

    pub fn turn(&self) -> Turn {
        Turn::new(self.region.part(TURN, Turn::BYTES))
    }

    pub fn wait(&self) -> WaitRecord {
        WaitRecord::new(self.region.part(WAIT, WaitRecord::BYTES))
    }

    pub fn ways(&self) -> WaysRecord {
        WaysRecord::new(self.region.part(WAYS, WaysRecord::BYTES))
    }

    pub fn counters(&self) -> Counters {
        Counters::new(self.region.part(COUNTERS, Counters::BYTES))
    }

    pub fn events(&self) -> Events {
        Events::new(self.region.part(EVENTS, Events::BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_page_do_not_overlap() {
        let page = RankPage::private();
        page.set_pid(4711);
        (0..3).for_each(|_| page.looked());
        assert_eq!(page.given_back(), None);
        page.answer(Peer(0));
        page.set_phase(Phase::Running);
        page.turn().begin(1);
        page.turn().end(11);
        let _ = page.doorbell().arm();
        page.wait().begin(&crate::WaitReason { call: "MPI_Wait", ..Default::default() });
        (0..crate::counters::COUNTERS).for_each(|slot| page.counters().add(slot, u64::MAX));
        (0..64).for_each(|_| page.events().record(u64::MAX, "event", [u64::MAX; 3]));
        page.set_answers(&"a".repeat(5000));
        page.ways().write(&crate::Ways { gone: true, ..Default::default() });
        assert_eq!((page.pid(), page.phase(), page.looks()), (4711, Phase::Running, 3));
        assert_eq!(page.given_back(), Some(Peer(0)));
        assert_eq!(page.turn().worked_ns(20), 10);
        assert!(page.doorbell().is_armed());
        assert_eq!(page.wait().read().unwrap().call, "MPI_Wait");
        assert_eq!(page.counters().get(0), u64::MAX);
        assert_eq!(page.events().latest()[31].text, "event");
        assert_eq!(page.answers(), "a".repeat(ANSWERS_ROOM));
        assert!(page.ways().read().unwrap().gone);
    }
}
