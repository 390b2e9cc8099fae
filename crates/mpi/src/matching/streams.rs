//! Where the bytes of a peer's unfinished messages go: by the message's serial number.
//!
//! The oldest message is first, and is mostly the one that is asked for. A number comes again after 2^32
//! messages; the messages that are under way at one time are far fewer. It never looks at the operations.
//! Before it: `arrive`, `post`; after it: nothing.

use super::Op;
use std::collections::VecDeque;

/// The unfinished messages of one peer.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Streams(VecDeque<(u32, Op)>);

impl Streams {
    /// Bytes of `message` go to `op` from now on.
    pub fn lead(&mut self, message: u32, op: Op) {
        match self.0.iter_mut().find(|(number, _)| *number == message) {
            Some(entry) => entry.1 = op,
            None => self.0.push_back((message, op)),
        }
    }

    /// Where the bytes of `message` go.
    #[inline]
    pub fn target(&self, message: u32) -> Option<Op> {
        self.0.iter().find(|(number, _)| *number == message).map(|&(_, op)| op)
    }

    /// All bytes of `message` are here.
    pub fn end(&mut self, message: u32) {
        if let Some(at) = self.0.iter().position(|&(number, _)| number == message) {
            self.0.remove(at);
        }
    }

    /// `op` takes no more bytes.
    pub fn forget(&mut self, op: Op) {
        self.0.retain(|&(_, target)| target != op);
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}
