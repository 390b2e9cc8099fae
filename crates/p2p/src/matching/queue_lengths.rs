//! The lengths of a lane's queues for outside readers: MPI_T reads them from any thread, without the lane's lock.
//!
//! They are written only under the lane's lock, and decide nothing. The engine writes them wherever a queue changes;
//! `mpi::tools` reads them.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The engine's queue lengths. See the module. A clone of an engine gets counters of its own.
#[derive(Debug, Default)]
pub(super) struct QueueLengthWriter(Arc<QueueLengths>);

/// The shared counters, which are statistics: each word is read independently of the other (Relaxed).
#[derive(Debug, Default)]
pub struct QueueLengths {
    posted: AtomicU32,
    unexpected: AtomicU32,
}

impl QueueLengths {
    /// Returns the number of posted receives that no message has matched so far.
    pub fn posted(&self) -> u32 {
        self.posted.load(Relaxed)
    }

    /// Returns the number of messages that arrived before their receive and wait for it.
    pub fn unexpected(&self) -> u32 {
        self.unexpected.load(Relaxed)
    }
}

impl QueueLengthWriter {
    pub fn shared(&self) -> &Arc<QueueLengths> {
        &self.0
    }

    #[inline]
    pub fn count_posted(&self, is_added: bool) {
        change(&self.0.posted, is_added);
    }

    #[inline]
    pub fn count_unexpected(&self, is_added: bool) {
        change(&self.0.unexpected, is_added);
    }
}

/// Adds or subtracts one; there is one writer.
#[inline]
fn change(length: &AtomicU32, is_added: bool) {
    let now = length.load(Relaxed);
    length.store(if is_added { now.wrapping_add(1) } else { now.wrapping_sub(1) }, Relaxed);
}

impl Clone for QueueLengthWriter {
    fn clone(&self) -> QueueLengthWriter {
        QueueLengthWriter(Arc::new(QueueLengths {
            posted: self.0.posted().into(),
            unexpected: self.0.unexpected().into(),
        }))
    }
}

impl PartialEq for QueueLengthWriter {
    fn eq(&self, other: &QueueLengthWriter) -> bool {
        (self.0.posted(), self.0.unexpected()) == (other.0.posted(), other.0.unexpected())
    }
}

impl Eq for QueueLengthWriter {}

impl Hash for QueueLengthWriter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0.posted(), self.0.unexpected()).hash(state);
    }
}
