//! A port's state for one peer, and the places of their shared words in the segment.
//!
//! An `End` is made at the peer's first use and given back when the peer is lost. An unused one looks like a ring
//! without space to write and with nothing to read, so that neither a send nor a poll needs a second check. Used by
//! `port` and `incoming`; uses `ring` over `memory`, `watch` and the doorbell of `job`.

use crate::distance::Distance;
use crate::layout::{LaneLayout, WORD};
use crate::memory::Memory;
use crate::pool::CHUNK;
use crate::ring::{Rx, Tx};
use crate::watch::{self, Calling};
use hawser_base::{Region, SharedMem};
use hawser_job::Doorbell;
use std::sync::atomic::AtomicU64;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The peer is lost, or was neither sent to nor polled.
    Unused,
    There,
    /// The peer has ended, but its last packets are not delivered yet.
    Gone,
}

/// The state that sending to and receiving from one peer touches: a cache line, and with its doorbell a second one.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct End {
    pub tx: Tx<Memory>,
    pub rx: Rx<Memory>,
    /// The word of the peer's watched bits; our bit in it is set if the peer watches us.
    watches_us: *const AtomicU64,
    pub state: State,
    /// Whether every poll looks at its ring.
    pub watched: bool,
    /// Whether packets of the peer have arrived since `attention` last queried it.
    pub busy: bool,
    pub distance: Distance,
    bell: Option<Doorbell>,
    /// The peer's number among the ranks of this host.
    local: u32,
}

const _: () = assert!(std::mem::offset_of!(End, bell) == 64 && size_of::<End>() == 128);

// SAFETY: addresses in a mapping that the port keeps; all access is by atomics and the ring's protocol.
unsafe impl Send for End {}

/// Ends are equal if they use the same ring: no two peers share one, and unused ends have none.
impl PartialEq for End {
    fn eq(&self, other: &End) -> bool {
        self.rx.lines() == other.rx.lines()
    }
}

impl End {
    /// Makes the end of a peer that was never used.
    pub fn blank() -> End {
        let mut tx = Tx::new(Memory::silent());
        tx.close();
        End {
            tx,
            rx: Rx::new(Memory::silent()),
            watches_us: std::ptr::null(),
            state: State::Unused,
            watched: false,
            busy: false,
            distance: Distance::default(),
            bell: None,
            local: u32::MAX,
        }
    }

    /// Makes the end of the host's rank `local`, whose doorbell is `bell`.
    pub fn new(seat: &Seat, local: usize, bell: Doorbell) -> End {
        let &Seat { ref area, layout, me } = seat;
        End {
            tx: Tx::new(Memory::new(area, layout.ring(local, me), layout.credit(me, local))),
            rx: Rx::new(Memory::new(area, layout.ring(me, local), layout.credit(local, me))),
            watches_us: area.u64(layout.watched(local, me)),
            state: State::There,
            bell: Some(bell),
            local: local as u32,
            ..End::blank()
        }
    }

    /// Returns the peer's number among the ranks of this host.
    #[inline(always)]
    pub fn local(&self) -> usize {
        self.local as usize
    }

    /// Wakes the peer if it sleeps.
    #[inline]
    pub fn ring(&self) {
        if let Some(bell) = &self.bell {
            bell.ring();
        }
    }
}

/// Returns the bit of the host's rank `local` in its word of 64.
#[inline(always)]
pub fn bit(local: usize) -> u64 {
    1 << (local % WORD)
}

/// The place of this rank's words of one lane.
pub struct Seat {
    /// The mapping that everything in the ends points to.
    pub area: Region,
    pub layout: LaneLayout,
    pub me: usize,
}

impl Seat {
    /// Makes the peer see a packet that was written, though it may sleep or not watch our ring.
    #[inline(always)]
    pub fn notify(&self, end: &End) {
        let Some(bell) = &end.bell else { return };
        bell.waker_barrier();
        // SAFETY: an end with a bell was made by `End::new`: the word is mapped, and only used as an atomic.
        let watched = unsafe { &*end.watches_us };
        if watch::call_unless_watched(watched, || self.calling(end.local(), self.me), self.my_bit()) {
            // The call must be visible before we check whether the peer sleeps, as the packet was.
            bell.waker_barrier();
        }
        bell.ring_after_barrier();
    }

    #[inline(always)]
    fn my_bit(&self) -> u64 {
        bit(self.me)
    }

    /// Returns the words by which rank `from` of the host calls for the attention of rank `to`.
    #[inline(always)]
    pub fn calling(&self, to: usize, from: usize) -> Calling<'_, AtomicU64> {
        let overview = self.has_overview().then(|| (self.overview(to), 1 << (from / WORD)));
        Calling { word: self.area.u64(self.layout.calling(to, from)), overview }
    }

    /// Returns whether the host has more ranks than one word has bits.
    #[inline(always)]
    pub fn has_overview(&self) -> bool {
        self.layout.ranks > WORD
    }

    /// Returns the overview of rank `to`: a bit for each word of calling bits in which some are set.
    #[inline(always)]
    pub fn overview(&self, to: usize) -> &AtomicU64 {
        self.area.u64(self.layout.overview(to))
    }

    /// Returns the word of our watched bits that includes rank `from` of the host.
    pub fn watched(&self, from: usize) -> &AtomicU64 {
        self.area.u64(self.layout.watched(self.me, from))
    }

    /// Returns the chunks of rank `owner` of the host.
    #[inline(always)]
    pub fn pool(&self, owner: usize) -> SharedMem<'_> {
        self.area.bytes(self.layout.pool(owner), CHUNK << u8::BITS)
    }
}
