//! A port's state for one peer, and the offsets of their shared words in the segment.
//!
//! A `PeerRings` is made at the peer's first use and dropped when the peer's end is reported. An unused one looks
//! like a ring without space to write and with nothing to read, so that neither a send nor a poll needs a second
//! check. Used by `port` and `incoming`; uses `ring` over `ring_mapping`, `notify` and the doorbell of `job`.

use crate::layout::{LaneLayout, WORD_BITS};
use crate::notify::{self, NotifyBits};
use crate::pool::CHUNK;
use crate::ring::{Consumer, Producer};
use crate::ring_mapping::RingMapping;
use hawser_base::cache_distance::CacheDistance;
use hawser_base::{Region, SharedMem};
use hawser_job::Doorbell;
use std::sync::atomic::AtomicU64;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PeerRingState {
    /// The peer's end was reported, or the peer was neither sent to nor polled.
    Unused,
    Open,
    /// The peer has ended, but its last packets are not delivered yet.
    Draining,
}

/// The state that sending to and receiving from one peer touches: a cache line, and with its doorbell a second one.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct PeerRings {
    pub tx: Producer<RingMapping>,
    pub rx: Consumer<RingMapping>,
    /// The word of the peer's poll bits; our bit in it is set if the peer polls us.
    polls_us: *const AtomicU64,
    pub state: PeerRingState,
    /// Whether every poll reads the peer's ring (`poll_set`).
    pub is_polled: bool,
    /// Whether packets of the peer have arrived since `poll_set` last queried it.
    pub busy: bool,
    pub distance: CacheDistance,
    doorbell: Option<Doorbell>,
    /// The peer's number among the ranks of this host.
    local: u32,
}

const _: () = assert!(std::mem::offset_of!(PeerRings, doorbell) == 64 && size_of::<PeerRings>() == 128);

// SAFETY: addresses in a mapping that the port keeps; all access is by atomics and the ring's protocol.
unsafe impl Send for PeerRings {}

/// Values are equal if they use the same ring: no two peers share one, and unused values have none.
impl PartialEq for PeerRings {
    fn eq(&self, other: &PeerRings) -> bool {
        self.rx.memory() == other.rx.memory()
    }
}

impl PeerRings {
    /// Makes the state of a peer that was never used.
    pub fn blank() -> PeerRings {
        let mut tx = Producer::new(RingMapping::empty());
        tx.close();
        PeerRings {
            tx,
            rx: Consumer::new(RingMapping::empty()),
            polls_us: std::ptr::null(),
            state: PeerRingState::Unused,
            is_polled: false,
            busy: false,
            distance: CacheDistance::default(),
            doorbell: None,
            local: u32::MAX,
        }
    }

    /// Makes the state for the host's rank `local`, whose doorbell is `doorbell`.
    pub fn new(words: &LaneWords, local: usize, doorbell: Doorbell) -> PeerRings {
        let &LaneWords { ref area, layout, me } = words;
        PeerRings {
            tx: Producer::new(RingMapping::new(area, layout.ring(local, me), layout.credit(me, local))),
            rx: Consumer::new(RingMapping::new(area, layout.ring(me, local), layout.credit(local, me))),
            polls_us: area.u64(layout.poll_bits(local, me)),
            state: PeerRingState::Open,
            doorbell: Some(doorbell),
            local: local as u32,
            ..PeerRings::blank()
        }
    }

    /// Returns the peer's number among the ranks of this host.
    #[inline(always)]
    pub fn local(&self) -> usize {
        self.local as usize
    }

    /// Wakes the peer if it sleeps.
    #[inline]
    pub fn wake(&self) {
        if let Some(doorbell) = &self.doorbell {
            doorbell.ring();
        }
    }
}

/// Returns the bit of the host's rank `local` in its word of 64.
#[inline(always)]
pub fn bit(local: usize) -> u64 {
    1 << (local % WORD_BITS)
}

/// The shared words of this rank on one lane: their mapping and their layout.
pub struct LaneWords {
    /// The mapping that everything in `PeerRings` points to.
    pub area: Region,
    pub layout: LaneLayout,
    pub me: usize,
}

impl LaneWords {
    /// Makes the peer notice a packet that was written: notifies the peer if it does not poll our ring, and wakes it
    /// if it sleeps.
    #[inline(always)]
    pub fn notify(&self, rings: &PeerRings) {
        let Some(doorbell) = &rings.doorbell else { return };
        doorbell.waker_barrier();
        // SAFETY: a value with a doorbell was made by `PeerRings::new`: the word is mapped, and only used as an
        // atomic.
        let poll_bits = unsafe { &*rings.polls_us };
        if notify::notify_unless_polled(poll_bits, || self.notify_bits(rings.local(), self.me), self.my_bit()) {
            // The notification must be visible before we check whether the peer sleeps, as the packet is by the first
            // barrier.
            doorbell.waker_barrier();
        }
        doorbell.ring_after_barrier();
    }

    #[inline(always)]
    fn my_bit(&self) -> u64 {
        bit(self.me)
    }

    /// Returns the words by which rank `from` of the host notifies rank `to`.
    #[inline(always)]
    pub fn notify_bits(&self, to: usize, from: usize) -> NotifyBits<'_, AtomicU64> {
        let overview = self.has_overview().then(|| (self.overview(to), 1 << (from / WORD_BITS)));
        NotifyBits { word: self.area.u64(self.layout.notify_bits(to, from)), overview }
    }

    /// Returns whether the host has more ranks than one word has bits.
    #[inline(always)]
    pub fn has_overview(&self) -> bool {
        self.layout.ranks > WORD_BITS
    }

    /// Returns the overview of rank `to`: a bit for each word of notify bits in which some are set.
    #[inline(always)]
    pub fn overview(&self, to: usize) -> &AtomicU64 {
        self.area.u64(self.layout.overview(to))
    }

    /// Returns the word of our poll bits that includes rank `from` of the host.
    pub fn poll_bits(&self, from: usize) -> &AtomicU64 {
        self.area.u64(self.layout.poll_bits(self.me, from))
    }

    /// Returns the chunks of rank `owner` of the host.
    #[inline(always)]
    pub fn pool(&self, owner: usize) -> SharedMem<'_> {
        self.area.bytes(self.layout.pool(owner), CHUNK << u8::BITS)
    }
}
