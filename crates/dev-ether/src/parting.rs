//! Peers that have ended (`job::lives`): what of theirs had reached this host is taken first, then each lane is told.
//!
//! Frames of a peer may still lie in the kernel's buffers when its end is known here, among those of others. All ports
//! are asked until none of them has anything, or, where others send without end, for as long as what lay there takes.
//! Nothing here decides that a peer is dead. Before it: `device`; after it: `device::Delivery`.

use crate::by_lane::ByLane;
use hawser_base::{Lane, Peer};
use hawser_device::Delivery;
use hawser_job::Lives;
use hawser_job::lives::Reader;
use hawser_os::clock;
use std::sync::Arc;

/// How long ports are asked at most. The largest of their buffers (4 MiB, `Ends`) is read in less, and what waits for
/// the end is to know of it within 10 ms.
const MOST_NS: u64 = 5_000_000;
/// Turns that are made in any case, though this process had no core meanwhile: a buffer's frames by 64 a turn.
const TURNS: u32 = 64;

/// See the module.
pub struct Parting {
    ends: Reader,
    serves: Arc<dyn Fn(Peer) -> bool + Send + Sync>,
    /// Those of which something may still lie in the ports.
    leaving: Vec<Peer>,
    since_ns: u64,
    turns: u32,
    /// Those of which nothing comes any more, in their order, and how many of them each lane was told of.
    gone: Vec<Peer>,
    told: ByLane<usize>,
}

impl Parting {
    /// `serves`: whether a peer is this device's.
    pub fn new(lives: &Lives, serves: Arc<dyn Fn(Peer) -> bool + Send + Sync>) -> Parting {
        let (leaving, gone, told) = (Vec::new(), Vec::new(), ByLane::default());
        Parting { ends: lives.reader(), serves, leaving, since_ns: 0, turns: 0, gone, told }
    }

    /// There are so many lanes.
    pub fn grow(&mut self, lanes: usize) {
        self.told.grow(lanes);
    }

    pub fn has_ended(&self, peer: Peer) -> bool {
        self.ends.lives().has_ended(peer)
    }

    /// All that have ended by now are gone: nothing but a bell tells of the next.
    pub fn is_through(&self) -> bool {
        self.leaving.is_empty() && !self.ends.has_news()
    }

    /// Ports are about to be asked. Whether each of them is to be, be it dear or not.
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

    /// Ports were asked, and something came or nothing did. The next peer of which nothing is left: it is gone.
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

    /// Tells a lane of those that are gone, each once. All that came for it was delivered.
    #[inline]
    pub fn tell(&mut self, lane: Lane, delivery: &mut dyn Delivery) {
        let told = &mut self.told[lane];
        while let Some(&peer) = self.gone.get(*told) {
            *told += 1;
            delivery.lost(peer);
        }
    }
}
