//! The bits by which a sender calls for attention, and when it need not.
//!
//! A receiver looks at the rings of a few peers by itself: these it *watches*, and says so in bits that only it
//! writes. A sender that is not watched sets its bit among the *calling* after it has written, once a packet.
//! ```text
//! The sender:                                       The receiver, to stop watching:
//! W1  write the line                                U1  clear the watched bit
//! W2  waker's barrier (the doorbell's, the same)    U2  sleeper's barrier
//! W3  watched? else set the calling bit (RMW)       U3  look at the ring once more
//! ```
//! It is the doorbell's protocol: either U3 finds the line or W3 finds the bit cleared. To begin watching needs
//! nothing: a late sender only calls in vain. Between two ranks a sender pays one load of a line that never
//! changes. Before it: `port` and `attention`; model: `tests/loom.rs`.

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

/// W3, after W1 and W2. Whether the sender had to call.
#[inline(always)]
pub fn call_unless_watched<'a, B: Bits + 'a>(watched: &B, calling: impl FnOnce() -> &'a B, me: u64) -> bool {
    if watched.load() & me != 0 {
        return false;
    }
    calling().set(me);
    true
}

/// Who has called since the last time. Look at their rings afterwards.
#[inline(always)]
pub fn callers(calling: &impl Bits) -> u64 {
    if calling.load() == 0 { 0 } else { calling.take() }
}

/// U1 and U2. Look at the ring once more afterwards.
pub fn unwatch(watched: &impl Bits, peer: u64, sleeper_barrier: impl FnOnce()) {
    watched.clear(peer);
    sleeper_barrier();
}
