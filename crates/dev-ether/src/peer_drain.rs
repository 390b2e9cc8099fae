//! Peers that have ended (`job::exit_log`): the frames of theirs that had reached this host are received first,
//! then each lane is notified.
//!
//! Nothing here decides that a peer has ended. When its end is known, frames of it may still lie in the kernel's
//! buffers, among those of others. All ports are polled until none of them has anything, or, where others send without
//! end, for as long as reading such a buffer takes. Used by `device`; uses `device::Delivery`.

use crate::per_lane::PerLane;
use hawser_base::{Lane, Peer};
use hawser_device::Delivery;
use hawser_job::ExitLog;
use hawser_job::exit_log::ExitLogReader;
use hawser_os::clock;
use std::sync::Arc;

/// Maximum time for which the ports are polled. The largest of their buffers (4 MiB, `PortSet`) is read in less, and a
/// waiting operation must learn of the end within 10 ms.
const DRAIN_MAX_NS: u64 = 5_000_000;
/// Minimum polls, even if this process had no core meanwhile: a buffer's frames at 64 per poll.
const POLLS_MIN: u32 = 64;

/// The peers that have ended.
pub struct PeerDrain {
    exit_log: ExitLogReader,
    reaches: Arc<dyn Fn(Peer) -> bool + Send + Sync>,
    /// Peers of which frames may still lie in the ports.
    draining: Vec<Peer>,
    since_ns: u64,
    polls: u32,
    /// Peers of which nothing arrives any more, in their order, and how many of them each lane was notified of.
    drained: Vec<Peer>,
    reported: PerLane<usize>,
}

impl PeerDrain {
    /// Makes it. `reaches`: whether a peer is reached by this device.
    pub fn new(exit_log: &ExitLog, reaches: Arc<dyn Fn(Peer) -> bool + Send + Sync>) -> PeerDrain {
        let (draining, drained, reported) = (Vec::new(), Vec::new(), PerLane::default());
        PeerDrain { exit_log: exit_log.reader(), reaches, draining, since_ns: 0, polls: 0, drained, reported }
    }

    /// Extends it to `lanes` lanes.
    pub fn grow(&mut self, lanes: usize) {
        self.reported.grow(lanes);
    }

    pub fn has_ended(&self, peer: Peer) -> bool {
        self.exit_log.exit_log().has_ended(peer)
    }

    /// Returns whether all that have ended by now are drained: only a doorbell announces the next.
    pub fn is_drained(&self) -> bool {
        self.draining.is_empty() && !self.exit_log.has_new_exits()
    }

    /// Prepares a poll of the ports. Returns whether each of them must be polled, even if that is expensive.
    #[inline]
    pub fn begin_poll(&mut self) -> bool {
        if self.exit_log.has_new_exits() {
            self.note_exits();
        }
        !self.draining.is_empty()
    }

    #[cold]
    fn note_exits(&mut self) {
        let before = self.draining.len();
        while let Some(peer) = self.exit_log.take() {
            if (self.reaches)(peer) {
                self.draining.push(peer);
            }
        }
        if self.draining.len() > before {
            (self.since_ns, self.polls) = (clock::now_ns(), 0);
        }
    }

    /// Takes the result of a poll. Returns the next peer of which nothing is left: it is drained.
    #[inline]
    pub fn next_drained(&mut self, has_received: bool) -> Option<Peer> {
        if self.draining.is_empty() { None } else { self.end_drain(has_received) }
    }

    #[cold]
    fn end_drain(&mut self, has_received: bool) -> Option<Peer> {
        self.polls += u32::from(has_received);
        if has_received && (self.polls < POLLS_MIN || clock::now_ns() < self.since_ns + DRAIN_MAX_NS) {
            return None;
        }
        let peer = self.draining.pop()?;
        self.drained.push(peer);
        Some(peer)
    }

    /// Reports to a lane the peers that are drained, each once. All packets for that lane were delivered.
    #[inline]
    pub fn report(&mut self, lane: Lane, delivery: &mut dyn Delivery) {
        let reported = &mut self.reported[lane];
        while let Some(&peer) = self.drained.get(*reported) {
            *reported += 1;
            delivery.peer_failed(peer);
        }
    }
}
