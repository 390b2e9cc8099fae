//! A rank's page: its process, its phase in MPI, its polls of the network, its turns on its core, its doorbell, its
//! wait reason, its counters and latest events, the ports by which its peers on other hosts are reachable, and, in
//! a second page, its network status (`network_status`).
//!
//! It is written by the rank, and read by every process of the host. When the rank attaches, the host's first process
//! (the agent, or rank 0 of a manual start) writes its process id and its phase; when the rank aborts the job, the
//! agent writes its phase.

use crate::counters::Counters;
use crate::cpu_use::CpuUse;
use crate::doorbell::{BarrierMode, Doorbell};
use crate::flight_recorder::FlightRecorder;
use crate::network_status::NetworkStatusRecord;
use crate::text;
use crate::wait::WaitRecord;
use hawser_base::{Peer, Region};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Offsets in the page.
const PHASE: usize = 0;
const PID: usize = 4;
const NET_POLLS: usize = 8;
const RELEASED: usize = 16;
const CPU_USE: usize = 64;
pub(crate) const DOORBELL: usize = CPU_USE + CpuUse::BYTES;
const WAIT: usize = DOORBELL + Doorbell::BYTES;
const COUNTERS: usize = WAIT + WaitRecord::BYTES;
const EVENTS: usize = COUNTERS + Counters::BYTES;
const REACHABILITY: usize = EVENTS + FlightRecorder::BYTES;
/// Space for `reachability`, the rest of the first page: nine rails with three ports each take 9 * 75 bytes
/// (`dev-ether`), and what was found best for eager messages up to 150; a longer text is cut at its end.
const REACHABILITY_BYTES: usize = hawser_os::map::PAGE - REACHABILITY;
const NETWORK_STATUS: usize = hawser_os::map::PAGE;

const _: () = assert!(
    NET_POLLS + 8 <= RELEASED
        && RELEASED + 4 <= CPU_USE
        && REACHABILITY_BYTES >= 11 * 75
        && REACHABILITY.is_multiple_of(8)
        && COUNTERS.is_multiple_of(64)
        && EVENTS.is_multiple_of(64)
);

/// The phase of a rank in MPI; whether its process lives is recorded elsewhere (`exit_log`). The phase only ever
/// rises, except for a rank that finalizes its last session and begins another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum RankPhase {
    /// Its program has been started and has not called MPI_Init.
    Launched = 0,
    /// It is inside MPI_Init or MPI_Session_init, and has joined the job.
    Attached = 1,
    /// It uses MPI: MPI_Init or MPI_Session_init is about to return, or has returned.
    Running = 2,
    /// It has called MPI_Finalize, if it called MPI_Init, and finalised all its sessions.
    Finalized = 3,
    /// It has called MPI_Abort, or an error handler did.
    Aborted = 4,
}

impl RankPhase {
    const ALL: [RankPhase; 5] =
        [RankPhase::Launched, RankPhase::Attached, RankPhase::Running, RankPhase::Finalized, RankPhase::Aborted];
}

/// The page of one rank. Cloning is cheap.
#[derive(Clone)]
pub struct RankPage {
    region: Region,
    barrier_mode: BarrierMode,
}

impl RankPage {
    /// Bytes in the segment: two pages of the kernel's.
    pub const BYTES: usize = NETWORK_STATUS + NetworkStatusRecord::BYTES;

    pub(crate) fn new(region: Region, barrier_mode: BarrierMode) -> RankPage {
        RankPage { region, barrier_mode }
    }

    /// Makes a page that no other process sees.
    pub fn private() -> RankPage {
        RankPage::new(Region::private(RankPage::BYTES), BarrierMode::Full)
    }

    /// Returns the process id of the rank; 0 before it attaches.
    pub fn pid(&self) -> i32 {
        self.region.u32(PID).load(Relaxed) as i32
    }

    pub fn set_pid(&self, pid: i32) {
        self.region.u32(PID).store(pid as u32, Relaxed);
    }

    pub fn phase(&self) -> RankPhase {
        // Pairs with the Release in `set_phase`: what the rank did before the phase is visible.
        let word = self.region.u32(PHASE).load(Acquire);
        RankPhase::ALL.into_iter().find(|&phase| phase as u32 == word).unwrap_or(RankPhase::Launched)
    }

    pub fn set_phase(&self, phase: RankPhase) {
        // Pairs with the Acquire in `phase`.
        self.region.u32(PHASE).store(phase as u32, Release);
    }

    /// Returns how often the rank has polled all its ports for data from other hosts. The number grows when the rank
    /// is inside MPI, even if it sleeps there (each second); it does not change when the rank computes or is stopped.
    pub fn net_polls(&self) -> u64 {
        self.region.u64(NET_POLLS).load(Relaxed)
    }

    /// Counts a poll. Only the rank itself may call it, one thread at a time.
    #[inline]
    pub fn count_net_poll(&self) {
        let looks = self.region.u64(NET_POLLS);
        looks.store(looks.load(Relaxed) + 1, Relaxed);
    }

    /// Records that the rank has released everything that it kept of a process that has ended
    /// (`Segment::request_release`). Only the rank itself may call it.
    pub fn confirm_release(&self, peer: Peer) {
        // Pairs with the Acquire in `last_released`: the rank uses nothing of the process after this store.
        self.region.u32(RELEASED).store(peer.0 ^ Peer::NONE.0, Release);
    }

    /// Returns the process that the rank has released last; None if there was none.
    pub fn last_released(&self) -> Option<Peer> {
        // Pairs with the Release in `confirm_release`.
        let peer = Peer(self.region.u32(RELEASED).load(Acquire) ^ Peer::NONE.0);
        (peer != Peer::NONE).then_some(peer)
    }

    /// Publishes, as a text, the ports by which the rank's peers on other hosts are reachable. Only the rank itself
    /// may call it, one thread at a time.
    pub fn set_reachability(&self, text: &str) {
        text::write(&self.region, REACHABILITY, REACHABILITY_BYTES, text);
    }

    /// Returns the text of `set_reachability`; empty if there is none.
    pub fn reachability(&self) -> String {
        text::read(&self.region, REACHABILITY, REACHABILITY_BYTES)
    }

    pub fn doorbell(&self) -> Doorbell {
        Doorbell::new(self.region.part(DOORBELL, Doorbell::BYTES), self.barrier_mode)
    }

    pub fn cpu_use(&self) -> CpuUse {
        CpuUse::new(self.region.part(CPU_USE, CpuUse::BYTES))
    }

    pub fn wait(&self) -> WaitRecord {
        WaitRecord::new(self.region.part(WAIT, WaitRecord::BYTES))
    }

    pub fn network_status(&self) -> NetworkStatusRecord {
        NetworkStatusRecord::new(self.region.part(NETWORK_STATUS, NetworkStatusRecord::BYTES))
    }

    pub fn counters(&self) -> Counters {
        Counters::new(self.region.part(COUNTERS, Counters::BYTES))
    }

    pub fn events(&self) -> FlightRecorder {
        FlightRecorder::new(self.region.part(EVENTS, FlightRecorder::BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_page_do_not_overlap() {
        let page = RankPage::private();
        page.set_pid(4711);
        (0..3).for_each(|_| page.count_net_poll());
        assert_eq!(page.last_released(), None);
        page.confirm_release(Peer(0));
        page.set_phase(RankPhase::Running);
        page.cpu_use().begin(1);
        page.cpu_use().end(11);
        let _ = page.doorbell().arm();
        page.wait().begin(&crate::WaitReason { call: "MPI_Wait", ..Default::default() });
        (0..crate::counters::COUNTERS).for_each(|slot| page.counters().add(slot, u64::MAX));
        (0..64).for_each(|_| page.events().record(u64::MAX, "event", [u64::MAX; 3]));
        page.set_reachability(&"a".repeat(5000));
        page.network_status().write(&crate::NetworkStatus { is_cut_off: true, ..Default::default() });
        assert_eq!((page.pid(), page.phase(), page.net_polls()), (4711, RankPhase::Running, 3));
        assert_eq!(page.last_released(), Some(Peer(0)));
        assert_eq!(page.cpu_use().busy_ns(20), 10);
        assert!(page.doorbell().is_armed());
        assert_eq!(page.wait().read().unwrap().call, "MPI_Wait");
        assert_eq!(page.counters().get(0), u64::MAX);
        assert_eq!(page.events().latest()[31].text, "event");
        assert_eq!(page.reachability(), "a".repeat(REACHABILITY_BYTES));
        assert!(page.network_status().read().unwrap().is_cut_off);
    }
}
