//! The lengths of a lane's queues for outside readers: MPI_T reads them from any thread, without the lane's lock.
//!
//! They are written under the lane's lock alone, and decide nothing. Written by the engine wherever a queue changes;
//! read by `tools`.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The engine's queue lengths. See the module. A clone of an engine counts for itself.
#[derive(Debug, Default)]
pub(super) struct Lengths(Arc<Shared>);

/// The shared counters, which are statistics: each word is read alone (Relaxed).
#[derive(Debug, Default)]
pub struct Shared {
    posted: AtomicU32,
    held: AtomicU32,
}

impl Shared {
    /// Posted receives that no message has matched so far.
    pub fn posted(&self) -> u32 {
        self.posted.load(Relaxed)
    }

    /// Messages that arrived before their receive and wait for it.
    pub fn held(&self) -> u32 {
        self.held.load(Relaxed)
    }
}

impl Lengths {
    pub fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    #[inline]
    pub fn post(&self, posted: bool) {
        change(&self.0.posted, posted);
    }

    #[inline]
    pub fn hold(&self, held: bool) {
        change(&self.0.held, held);
    }
}

/// Adds or subtracts one; there is one writer.
#[inline]
fn change(length: &AtomicU32, more: bool) {
    let now = length.load(Relaxed);
    length.store(if more { now.wrapping_add(1) } else { now.wrapping_sub(1) }, Relaxed);
}

impl Clone for Lengths {
    fn clone(&self) -> Lengths {
        Lengths(Arc::new(Shared { posted: self.0.posted().into(), held: self.0.held().into() }))
    }
}

impl PartialEq for Lengths {
    fn eq(&self, other: &Lengths) -> bool {
        (self.0.posted(), self.0.held()) == (other.0.posted(), other.0.held())
    }
}

impl Eq for Lengths {}

impl Hash for Lengths {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0.posted(), self.0.held()).hash(state);
    }
}
