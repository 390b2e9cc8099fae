//! What a port keeps of one peer, and where the words that they share lie in the segment.
//!
//! An `End` is made at the peer's first use and given back when it is lost. One that was never used looks like a ring
//! without room to write and with nothing to read, so that neither a send nor a poll asks twice.
//! Before it: `port` and `incoming`; after it: `ring` over `memory`, `watch`, the doorbell of `job`.

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
    /// It was never sent to and nothing of it was looked for, or it is lost.
    Unused,
    There,
    /// Gone, but what it had written is not delivered yet.
    Gone,
}

/// What sending to and receiving from one peer touches: a cache line, and with its bell a second one.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct End {
    pub tx: Tx<Memory>,
    pub rx: Rx<Memory>,
    /// The peer's word of bits that says whether it watches us.
    watches_us: *const AtomicU64,
    pub state: State,
    /// Whether we look at its ring in every poll.
    pub watched: bool,
    /// Whether something came from it since `attention` last asked.
    pub busy: bool,
    pub distance: Distance,
    bell: Option<Doorbell>,
    /// Its number among the ranks of this host.
    local: u32,
}

const _: () = assert!(std::mem::offset_of!(End, bell) == 64 && size_of::<End>() == 128);

// SAFETY: addresses in a mapping that the port keeps; all access is by atomics and the ring's protocol.
unsafe impl Send for End {}

/// Ends are alike if they are over the same ring: no two peers have one, and those that were never used have none.
impl PartialEq for End {
    fn eq(&self, other: &End) -> bool {
        self.rx.lines() == other.rx.lines()
    }
}

impl End {
    /// Of a peer that was never used.
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

    /// Of the host's rank `local`, whose bell this is.
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

    /// Its number among the ranks of this host.
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

/// The bit of rank `local` of the host in a word with those of 63 more.
#[inline(always)]
pub fn bit(local: usize) -> u64 {
    1 << (local % WORD)
}

/// Where this rank's words of one lane lie.
pub struct Seat {
    /// Keeps everything mapped that the ends point to.
    pub area: Region,
    pub layout: LaneLayout,
    pub me: usize,
}

impl Seat {
    /// After a packet is written: the peer is to see it, though it may sleep or not look at our ring.
    #[inline(always)]
    pub fn notify(&self, end: &End) {
        let Some(bell) = &end.bell else { return };
        bell.waker_barrier();
        // SAFETY: an end with a bell was made by `End::new`: the word is mapped, and only used as an atomic.
        let watched = unsafe { &*end.watches_us };
        if watch::call_unless_watched(watched, || self.calling(end.local(), self.me), self.my_bit()) {
            // The call is to be seen before we ask whether the peer sleeps, as the packet was.
            bell.waker_barrier();
        }
        bell.ring_after_barrier();
    }

    #[inline(always)]
    fn my_bit(&self) -> u64 {
        bit(self.me)
    }

    /// Where rank `from` of the host calls for the attention of rank `to`.
    #[inline(always)]
    pub fn calling(&self, to: usize, from: usize) -> Calling<'_, AtomicU64> {
        let overview = self.has_overview().then(|| (self.overview(to), 1 << (from / WORD)));
        Calling { word: self.area.u64(self.layout.calling(to, from)), overview }
    }

    /// Whether one word has no room for all ranks of the host.
    #[inline(always)]
    pub fn has_overview(&self) -> bool {
        self.layout.ranks > WORD
    }

    /// The word that says in which words somebody calls for the attention of rank `to`.
    #[inline(always)]
    pub fn overview(&self, to: usize) -> &AtomicU64 {
        self.area.u64(self.layout.overview(to))
    }

    /// The word in which we say whether we look at the ring from rank `from` of the host.
    pub fn watched(&self, from: usize) -> &AtomicU64 {
        self.area.u64(self.layout.watched(self.me, from))
    }

    /// The chunks of rank `owner` of the host.
    #[inline(always)]
    pub fn pool(&self, owner: usize) -> SharedMem<'_> {
        self.area.bytes(self.layout.pool(owner), CHUNK << u8::BITS)
    }
}
