//! The post of a rank's helper: who looks after the rank's messages while the application computes, and how the helper is called.
//!
//! A thread of the rank that leaves MPI with operations under way lends them: it arms the rank's doorbell in the helper's name,
//! so that the helper sleeps on until something comes. One that is about to wait takes them back and looks for itself.
//! ```text
//! OFF     the rank looks after itself; the helper sleeps, or is about to
//! LENT    the bell is armed: whoever rings it calls the helper
//! CALLED  the helper looks
//! ```
//! OFF is left and entered by the application alone, whatever stands there; LENT becomes CALLED by whoever rings, CALLED becomes LENT
//! by the helper, each by compare-and-swap, so that neither undoes OFF. Arming, looking once more and ringing are the doorbell's
//! protocol: the post is written before the bit is set, and read after it was taken away. A helper that finds OFF may be in
//! the way of one that went to sleep meanwhile, and rings for it when it has left. `tests/doorbell_loom.rs` checks all of it.
//! It only ever moves messages sooner: memory is guarded by the lanes' locks, whatever stands here.
//!
//! Before it: `doorbell`; after it: `transport::Standby`.

use crate::doorbell::{self, Armed, Word};

pub const OFF: u32 = 0;
pub const LENT: u32 = 1;
pub const CALLED: u32 = 2;

/// What the protocol stands on; the model checker has its own.
pub trait Post: Word {
    /// Acquire.
    fn load(&self) -> u32;
    /// By an exchange, with acquire and release: so all changes of the post are in one order.
    fn store(&self, state: u32);
    /// Acquire and release; whether it did.
    fn replace(&self, from: u32, to: u32) -> bool;
    fn wait(&self, seen: u32, timeout_ns: Option<u64>);
    fn wake(&self);
}

/// The application leaves operations under way. Whether all is to be looked at once more: else the helper does.
#[must_use = "what came before the bell was armed rings nobody"]
pub fn lend(post: &impl Post) -> bool {
    if Post::load(post) != OFF {
        return false;
    }
    post.store(LENT);
    let _: Armed = doorbell::arm(post);
    true
}

/// The application looks after its operations. Whether the helper might have been armed or looking.
pub fn take_back(post: &impl Post) -> bool {
    let was_lent = Post::load(post) != OFF;
    if was_lent {
        post.store(OFF);
    }
    was_lent
}

/// Something has come, by a ring that found the bell armed.
pub fn call(post: &impl Post) {
    if Post::load(post) == LENT && Post::replace(post, LENT, CALLED) {
        post.wake();
    }
}

/// The helper found nothing any more: from here on it is called again. False: it has nothing to look after any more. If true it
/// looks once more and sleeps, or calls itself.
#[must_use = "what came before the bell was armed rings nobody"]
pub fn stand_by(post: &impl Post) -> bool {
    let stands = Post::replace(post, CALLED, LENT);
    if stands {
        let _: Armed = doorbell::arm(post);
    }
    stands
}
