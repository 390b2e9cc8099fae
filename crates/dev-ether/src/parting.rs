//! Peers that have ended (`job::lives`): the frames of theirs that had reached this host are received first, then each
//! lane is notified.
//!
//! Nothing here decides that a peer has ended. When its end is known, frames of it may still lie in the kernel's
//! buffers, among those of others. All ports are polled until none of them has anything, or, where others send without
//! end, for as long as reading such a buffer takes. Used by `device`; uses `device::Delivery`.

use crate::by_lane::ByLane;
use hawser_base::{Lane, Peer};
use hawser_device::Delivery;
use hawser_job::Lives;
use hawser_job::lives::Reader;
use hawser_os::clock;
use std::sync::Arc;

/// Maximum time for which the ports are polled. The largest of their buffers (4 MiB, `Ends`) is read in less, and a
/// waiting operation must learn of the end within 10 ms.
const MOST_NS: u64 = 5_000_000;
/// Minimum polls, even if this process had no core meanwhile: a buffer's frames at 64 per poll.
const TURNS: u32 = 64;

/// The peers that have ended.
pub struct Parting {
    ends: Reader,
    serves: Arc<dyn Fn(Peer) -> bool + Send + Sync>,
    /// Peers of which frames may still lie in the ports.
    leaving: Vec<Peer>,
    since_ns: u64,
    turns: u32,
    /// Peers of which nothing arrives any more, in their order, and how many of them each lane was notified of.
    gone: Vec<Peer>,
    told: ByLane<usize>,
}

impl Parting {
    /// Makes it. `serves`: whether a peer is reached by this device.
    pub fn new(lives: &Lives, serves: Arc<dyn Fn(Peer) -> bool + Send + Sync>) -> Parting {
        let (leaving, gone, told) = (Vec::new(), Vec::new(), ByLane::default());
        Parting { ends: lives.reader(), serves, leaving, since_ns: 0, turns: 0, gone, told }
    }

    /// Extends it to `lanes` lanes.
    pub fn grow(&mut self, lanes: usize) {
        self.told.grow(lanes);
    }

    pub fn has_ended(&self, peer: Peer) -> bool {
        self.ends.lives().has_ended(peer)
    }

    /// Returns whether all that have ended by now are gone: only a doorbell announces the next.
    pub fn is_through(&self) -> bool {
        self.leaving.is_empty() && !self.ends.has_news()
    }

    /// Prepares a poll of the ports. Returns whether each of them must be polled, even if that is expensive.
    #[inline]
    pub fn begin(&mut self) -> bool {
        if self.ends.has_news() {
            self.note();
        }
        !self.leaving.is_empty()
    }

    #[cold]
    fn note(&mut self) {
        let before = self.leaving.len();
        while let Some(peer) = self.ends.take() {
            if (self.serves)(peer) {
                self.leaving.push(peer);
            }
        }
        if self.leaving.len() > before {
            (self.since_ns, self.turns) = (clock::now_ns(), 0);
        }
    }

    /// Takes the result of a poll. Returns the next peer of which nothing is left: it is gone.
    #[inline]
    pub fn next(&mut self, has_come: bool) -> Option<Peer> {
        if self.leaving.is_empty() { None } else { self.next_gone(has_come) }
    }

    #[cold]
    fn next_gone(&mut self, has_come: bool) -> Option<Peer> {
        self.turns += u32::from(has_come);
        if has_come && (self.turns < TURNS || clock::now_ns() < self.since_ns + MOST_NS) {
            return None;
        }
        let peer = self.leaving.pop()?;
        self.gone.push(peer);
        Some(peer)
    }

    /// Reports to a lane the peers that are gone, each once. All packets for that lane were delivered.
    #[inline]
    pub fn tell(&mut self, lane: Lane, delivery: &mut dyn Delivery) {
        let told = &mut self.told[lane];
        while let Some(&peer) = self.gone.get(*told) {
            *told += 1;
            delivery.lost(peer);
        }
    }
}
