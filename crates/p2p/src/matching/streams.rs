//! Where the bytes of a peer's unfinished messages go: by the message's serial number.
//!
//! A number comes again after 2^32 messages; the messages that are under way at one time are far fewer. It never
//! looks at the operations. Before it: `arrive`, `post`; after it: nothing.

use super::operation::Op;
use std::collections::BTreeMap;

/// The unfinished messages of one peer.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Streams(BTreeMap<u32, Op>);

impl Streams {
    /// Bytes of `message` go to `op` from now on.
    pub fn lead(&mut self, message: u32, op: Op) {
        self.0.insert(message, op);
    }

    /// Where the bytes of `message` go.
    #[inline]
    pub fn target(&self, message: u32) -> Option<Op> {
        self.0.get(&message).copied()
    }

    /// All bytes of `message` are here, or are not wanted any more.
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
