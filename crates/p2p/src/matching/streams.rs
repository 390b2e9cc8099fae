//! The destination of the bytes of a peer's unfinished messages, by the message's serial number.
//!
//! A serial number repeats after 2^32 messages; far fewer messages are in flight at one time. This module never looks
//! at the operations. Used by `arrive` and `post`.

use super::operation::OpId;
use std::collections::BTreeMap;

/// The unfinished messages of one peer.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Streams(BTreeMap<u32, OpId>);

impl Streams {
    /// Directs the bytes of `message` to `op` from now on.
    pub fn bind(&mut self, message: u32, op: OpId) {
        self.0.insert(message, op);
    }

    /// Returns the operation to which the bytes of `message` go.
    #[inline]
    pub fn target(&self, message: u32) -> Option<OpId> {
        self.0.get(&message).copied()
    }

    /// Removes a message, because all its bytes are here or are not wanted any more.
    pub fn end(&mut self, message: u32) {
        self.0.remove(&message);
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}
