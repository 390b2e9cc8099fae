//! The bytes of a packet on both sides: the source of a payload, the reason for a refusal, and the payload at the
//! receiver.
//!
//! The types here keep no bytes: a source is read only while `send` runs, a payload only while `deliver` runs. Used
//! by `port`; uses `SharedMem` and `UserMem` of `base`.

use hawser_base::{SharedMem, UserMem};

/// The source of a payload. It is copied (or packed) while `send` runs, and not read later.
pub enum PayloadSource<'a> {
    None,
    /// Contiguous memory of the application or of the library.
    Mem(UserMem<'a>),
    /// `len` bytes that `pack` writes piece by piece, front to back, to where the device wants them.
    Pack {
        len: usize,
        pack: &'a mut dyn FnMut(SharedMem),
    },
}

impl PayloadSource<'_> {
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            PayloadSource::None => 0,
            PayloadSource::Mem(mem) => mem.len(),
            PayloadSource::Pack { len, .. } => *len,
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The reason for which a packet was not taken. The packet has had no effect; the caller may try it again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendError {
    /// There is no room now; `poll` makes room as the peer takes packets.
    Full,
    /// The peer has failed or ended.
    PeerFailed,
}

/// A payload at the receiver. It must be consumed before `deliver` returns, front to back; unconsumed bytes are
/// dropped.
pub trait Payload {
    /// The number of bytes that are left.
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the next contiguous piece, at most `max` bytes; `None` at the end, or if the peer died while it wrote.
    fn next(&mut self, max: usize) -> Option<SharedMem<'_>>;

    /// Copies the front of the payload to all of `to`. False if the payload has fewer bytes left, or if the peer died
    /// while it wrote them.
    fn copy_to(&mut self, to: UserMem) -> bool {
        let mut at = 0;
        while at < to.len() {
            let Some(piece) = self.next(to.len() - at) else { return false };
            piece.read_user(to.slice(at, piece.len()));
            at += piece.len();
        }
        true
    }

    /// Copies the front of the payload, usually a prefix, to all of `to`. False as for `copy_to`.
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
