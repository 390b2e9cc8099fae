//! The bits by which a sender calls for a receiver's attention, and the rule for when it need not.
//!
//! A receiver polls the rings of a few peers by itself: it *watches* these peers, and publishes that in bits that only
//! it writes. A sender that is not watched sets its *calling* bit after it has written, once per packet.
//! ```text
//! The sender:                                       The receiver, to stop watching:
//! W1  write the line                                U1  clear the watched bit
//! W2  waker's barrier (the doorbell's, the same)    U2  sleeper's barrier
//! W3  watched? else set the calling bit (RMW)       U3  look at the ring once more
//! ```
//! If one word has not enough bits for all senders, an *overview* has a bit for each word of calling bits, so that a
//! poll costs the same however many ranks the host has: a sender sets its calling bit before the word's bit, the
//! receiver takes the word's bit before the calling bits.
//!
//! This is the doorbell's protocol: either U3 finds the line or W3 finds the bit cleared. Beginning to watch needs no
//! barrier: a late sender only makes a needless call. Between two ranks a sender pays one load of a line that never
//! changes. Used by `port` and `attention`; model: `tests/loom.rs`.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A word of bits; the model checker has its own.
pub trait Bits {
    fn load(&self) -> u64;
    /// Sets bits. Release: pairs with `take`.
    fn set(&self, bits: u64);
    fn clear(&self, bits: u64);
    /// Takes all bits. Acquire: pairs with `set`.
    fn take(&self) -> u64;
}

impl Bits for AtomicU64 {
    #[inline(always)]
    fn load(&self) -> u64 {
        AtomicU64::load(self, Relaxed)
    }

    #[inline]
    fn set(&self, bits: u64) {
        self.fetch_or(bits, Release);
    }

    #[inline]
    fn clear(&self, bits: u64) {
        self.fetch_and(!bits, Relaxed);
    }

    #[inline]
    fn take(&self) -> u64 {
        self.swap(0, Acquire)
    }
}

/// A word of calling bits, and its bit in the overview where there is one.
pub struct Calling<'a, B> {
    pub word: &'a B,
    pub overview: Option<(&'a B, u64)>,
}

impl<B: Bits> Calling<'_, B> {
    /// Sets calling bits of the word, then the word's bit in the overview: a receiver that takes the latter finds the
    /// former.
    pub fn call(&self, bits: u64) {
        self.word.set(bits);
        if let Some((overview, bit)) = self.overview {
            overview.set(bit);
        }
    }
}

/// Does step W3, after W1 and W2. Returns whether the sender had to call.
#[inline(always)]
pub fn call_unless_watched<'a, B: Bits + 'a>(watched: &B, calling: impl FnOnce() -> Calling<'a, B>, me: u64) -> bool {
    if watched.load() & me != 0 {
        return false;
    }
    calling().call(me);
    true
}

/// Takes the bits of a word of calling bits, or of the overview, that were set since the last call. Look at the rings,
/// or at the words, afterwards.
#[inline(always)]
pub fn callers(calling: &impl Bits) -> u64 {
    if calling.load() == 0 { 0 } else { calling.take() }
}

/// Does steps U1 and U2. Look at the ring once more afterwards (U3).
pub fn unwatch(watched: &impl Bits, peer: u64, sleeper_barrier: impl FnOnce()) {
    watched.clear(peer);
    sleeper_barrier();
}
