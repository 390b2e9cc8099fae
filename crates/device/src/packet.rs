//! A packet's bytes on both sides: where they come from, why they were not taken, and how they lie at the receiver.
//!
//! Nothing here keeps them: a source is read while `send` runs, a payload while `deliver` does. Before it: `port`;
//! after it: `base`'s memory that others write.

use hawser_base::{SharedMem, UserMem};

/// Where a payload comes from; it is copied (or packed) while `send` runs and not looked at later.
pub enum Source<'a> {
    None,
    /// Contiguous memory of the application, or of ours.
    Mem(UserMem<'a>),
    /// `len` bytes that `pack` writes piece by piece, front to back, to where the device wants them.
    Pack {
        len: usize,
        pack: &'a mut dyn FnMut(SharedMem),
    },
}

impl Source<'_> {
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Source::None => 0,
            Source::Mem(mem) => mem.len(),
            Source::Pack { len, .. } => *len,
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Why a packet was not taken. It left nothing behind and may be tried again, or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// No room now; `poll` makes room as the peer takes packets.
    Full,
    /// The peer is gone.
    Lost,
}

/// A payload as it lies at the receiver. It must be consumed before `deliver` returns, front to back;
/// what is not consumed is dropped.
pub trait Payload {
    /// Bytes that are left.
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The next contiguous piece, at most `max` bytes; `None` at the end, or if the peer died while it wrote.
    fn next(&mut self, max: usize) -> Option<SharedMem<'_>>;

    /// Copies the front to all of `to`. False if the peer died while it wrote.
    fn copy_to(&mut self, to: UserMem) -> bool {
        let mut at = 0;
        while at < to.len() {
            let Some(piece) = self.next(to.len() - at) else { return false };
            piece.read_user(to.slice(at, piece.len()));
            at += piece.len();
        }
        true
    }

    /// Copies the front to `to`, for prefixes. False if there is not as much.
    fn read(&mut self, to: &mut [u8]) -> bool {
        let mut at = 0;
        while at < to.len() {
            let Some(piece) = self.next(to.len() - at) else { return false };
            piece.read(&mut to[at..at + piece.len()]);
            at += piece.len();
        }
        true
    }
}
