//! How long the queues of a lane are, for whoever looks from outside: MPI_T reads it from any thread, without the lane's lock.
//!
//! Written under the lane's lock alone. It decides nothing. Before it: the engine, wherever a queue changes; after it: `tools`.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// See the module. A clone of an engine counts for itself.
#[derive(Debug, Default)]
pub(super) struct Lengths(Arc<Shared>);

/// Statistics: each word is read alone (Relaxed).
#[derive(Debug, Default)]
pub struct Shared {
    posted: AtomicU32,
    held: AtomicU32,
}

impl Shared {
    /// Receives that were posted and matched with no message so far.
    pub fn posted(&self) -> u32 {
        self.posted.load(Relaxed)
    }

    /// Messages that came before their receive and wait for it.
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

/// One more, or one less; there is one writer.
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
