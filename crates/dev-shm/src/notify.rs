//! The bits by which a sender notifies a receiver, and the rule for when it need not.
//!
//! A receiver polls the rings of a few peers by itself, and publishes that in *poll bits* that only it writes. A
//! sender that is not polled sets its *notify bit* after it has written, once per packet.
//! ```text
//! The sender:                                       The receiver, to stop polling:
//! W1  write the slot                                U1  clear the poll bit
//! W2  waker's barrier (the doorbell's, the same)    U2  sleeper's barrier
//! W3  polled? else set the notify bit (RMW)         U3  poll the ring once more
//! ```
//! If one word has not enough bits for all senders, an *overview* has a bit for each word of notify bits, so that a
//! poll costs the same however many ranks the host has: a sender sets its notify bit before the word's bit, the
//! receiver takes the word's bit before the notify bits.
//!
//! This is the doorbell's protocol: either U3 finds the slot or W3 finds the bit cleared. Beginning to poll needs
//! no barrier: a late sender only makes a needless notification. Between two ranks a sender pays one load of a
//! cache line that never changes. Used by `port` and `poll_set`; model: `tests/loom.rs`.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A word of bits; the model checker has its own.
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

/// A word of notify bits, and its bit in the overview where there is one.
pub struct NotifyBits<'a, B> {
    pub word: &'a B,
    pub overview: Option<(&'a B, u64)>,
}

impl<B: BitWord> NotifyBits<'_, B> {
    /// Sets notify bits of the word, then the word's bit in the overview: a receiver that takes the latter finds
    /// the former.
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

/// Takes the bits of a word of notify bits, or of the overview, that were set since the last call. Poll the rings,
/// or take the words, afterwards.
#[inline(always)]
pub fn take_notified(notify_bits: &impl BitWord) -> u64 {
    if notify_bits.load() == 0 { 0 } else { notify_bits.take() }
}

/// Does steps U1 and U2. Poll the ring once more afterwards (U3).
pub fn stop_polling(poll_bits: &impl BitWord, peer: u64, sleeper_barrier: impl FnOnce()) {
    poll_bits.clear(peer);
    sleeper_barrier();
}
