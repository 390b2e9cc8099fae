//! The bits by which a sender notifies a receiver of a packet, and the rule by which a sender need not notify.
//!
//! A receiver polls the rings of a few peers by itself, and publishes these peers in *poll bits*, which only the
//! receiver writes. A sender whose poll bit is not set sets its *notify bit* once for each packet that it has
//! written.
//! ```text
//! The sender:                                       The receiver, to stop polling:
//! W1  write the slot                                U1  clear the poll bit
//! W2  waker's barrier (the doorbell uses the same)  U2  sleeper's barrier
//! W3  if not polled, set the notify bit (RMW)       U3  poll the ring once more
//! ```
//! If one word has not enough bits for all senders, an *overview* has a bit for each word of notify bits, so that a
//! poll costs the same however many ranks the host has: a sender sets its notify bit first and then the word's bit in
//! the overview; the receiver takes the overview first and then the notify bits.
//!
//! The protocol is that of the doorbell: either U3 finds the slot or W3 finds that the poll bit is cleared. To begin
//! polling needs no barrier: a sender that sees the poll bit late only makes a needless notification. On a host with
//! two ranks a sender pays one load of a cache line that never changes. Used by `port`, in `incoming` and
//! `peer_rings`; model: `tests/loom.rs`.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A word of bits. The model checker implements it by atomics of its own.
pub trait BitWord {
    fn load(&self) -> u64;
    /// Sets bits. Release: pairs with `take`.
    fn set(&self, bits: u64);
    fn clear(&self, bits: u64);
    /// Takes all bits. Acquire: pairs with `set`.
    fn take(&self) -> u64;
}

impl BitWord for AtomicU64 {
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

/// A word of notify bits, and the overview with the word's bit in it, if there is an overview.
pub struct NotifyBits<'a, B> {
    pub word: &'a B,
    pub overview: Option<(&'a B, u64)>,
}

impl<B: BitWord> NotifyBits<'_, B> {
    /// Sets notify bits of the word, then the word's bit in the overview: so a receiver that takes the word's bit
    /// finds the notify bits.
    pub fn notify(&self, bits: u64) {
        self.word.set(bits);
        if let Some((overview, bit)) = self.overview {
            overview.set(bit);
        }
    }
}

/// Does step W3, after W1 and W2. Returns whether the sender had to notify.
#[inline(always)]
pub fn notify_unless_polled<'a, B: BitWord + 'a>(
    poll_bits: &B,
    notify_bits: impl FnOnce() -> NotifyBits<'a, B>,
    my_bit: u64,
) -> bool {
    if poll_bits.load() & my_bit != 0 {
        return false;
    }
    notify_bits().notify(my_bit);
    true
}

/// Takes the bits of a word of notify bits, or of the overview, that were set since the last call. Afterwards the
/// caller must poll the rings of these senders, or take these words of notify bits.
#[inline(always)]
pub fn take_notified(notify_bits: &impl BitWord) -> u64 {
    if notify_bits.load() == 0 { 0 } else { notify_bits.take() }
}

/// Does steps U1 and U2. Afterwards the caller must poll the ring once more (U3).
pub fn stop_polling(poll_bits: &impl BitWord, peer: u64, sleeper_barrier: impl FnOnce()) {
    poll_bits.clear(peer);
    sleeper_barrier();
}
