//! The peer drain: if a peer has ended (`job::exit_log`), those of its frames that have reached this host are
//! received first, and then the peer's end is reported to each lane.
//!
//! Nothing here decides that a peer has ended. When its end is known, frames of the peer may still lie in the
//! kernel's buffers, among those of other peers. So all ports are polled until none of them has anything; or, if
//! other peers never stop sending, for the time that it takes to read the largest of these buffers. Used by `device`;
//! uses `device::Delivery`.

use crate::per_lane::PerLane;
use hawser_base::{Lane, Peer};
use hawser_device::Delivery;
use hawser_job::ExitLog;
use hawser_job::exit_log::ExitLogReader;
use hawser_os::clock;
use std::sync::Arc;

/// Maximum time for which the ports are polled, if POLLS_MIN polls fit into it. The largest buffer of a UDP socket
/// (4 MiB, `port::udp`) is read in less time, and a waiting operation must learn of the end within 10 ms.
const DRAIN_MAX_NS: u64 = 5_000_000;
/// Minimum number of polls that received something, because this process may have had no core during that time. With
/// 64 frames per poll they empty a buffer.
const POLLS_MIN: u32 = 64;

/// The peers that have ended.
pub struct PeerDrain {
    exit_log: ExitLogReader,
    reaches: Arc<dyn Fn(Peer) -> bool + Send + Sync>,
    /// Peers whose frames may still lie in the ports.
    draining: Vec<Peer>,
    since_ns: u64,
    polls: u32,
    /// Peers from which nothing arrives any more, in the order in which they were drained, and the number of them
    /// that was reported to each lane.
    drained: Vec<Peer>,
    reported: PerLane<usize>,
}

impl PeerDrain {
    /// Makes the peer drain. `reaches`: whether a peer is reached by this device.
    pub fn new(exit_log: &ExitLog, reaches: Arc<dyn Fn(Peer) -> bool + Send + Sync>) -> PeerDrain {
        let (draining, drained, reported) = (Vec::new(), Vec::new(), PerLane::default());
        PeerDrain { exit_log: exit_log.reader(), reaches, draining, since_ns: 0, polls: 0, drained, reported }
    }

    /// Makes room for `lanes` lanes.
    pub fn grow(&mut self, lanes: usize) {
        self.reported.grow(lanes);
    }

    pub fn has_ended(&self, peer: Peer) -> bool {
        self.exit_log.exit_log().has_ended(peer)
    }

    /// Returns whether all peers that have ended by now are drained, so that the rank may sleep: a doorbell announces
    /// the next end.
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

    /// Takes the result of a poll: whether any frame was received. Returns the next peer that is drained by this
    /// poll; None if there is no further one.
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

    /// Reports to a lane the peers that are drained, each once. The caller has delivered all packets for that lane.
    #[inline]
    pub fn report(&mut self, lane: Lane, delivery: &mut dyn Delivery) {
        let reported = &mut self.reported[lane];
        while let Some(&peer) = self.drained.get(*reported) {
            *reported += 1;
            delivery.peer_failed(peer);
        }
    }
}
