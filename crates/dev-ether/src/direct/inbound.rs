//! The receiving end of a direct connection, without I/O: it decides what the next bytes are, and counts them (P37).
//!
//! A front is trusted only with its tag. Used by `direct`; uses no module but `wire`.

use super::wire::{FRONT, Front, Reply, read_front};
use hawser_device::Header;
use hawser_link::Seq;
use hawser_link::frame::{Ends, Key};

/// The part of a message whose bytes come next.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub lane: u8,
    pub header: Header,
    /// The messages of link that must be delivered before it.
    pub behind: Option<Seq>,
    pub left: u64,
}

/// The state of the receiving end.
pub struct Inbound {
    number: u32,
    live: bool,
    /// Bytes that were taken, and bytes that the peer was promised would be.
    count: u64,
    promised: u64,
    front: [u8; FRONT],
    have: usize,
    piece: Option<Piece>,
    /// Whether the peer asked how far we are, or for the end.
    asked: bool,
    closing: bool,
    owed: Option<Reply>,
}

impl Inbound {
    pub fn new() -> Inbound {
        Inbound {
            number: 0,
            live: false,
            count: 0,
            promised: 0,
            front: [0; FRONT],
            have: 0,
            piece: None,
            asked: false,
            closing: false,
            owed: None,
        }
    }

    /// Accepts connection `number`. Returns whether it is taken: if it is later than all before, and none is in the
    /// middle of a front or a message.
    pub fn greet(&mut self, number: u32) -> bool {
        let is_busy = self.live && (self.have > 0 || self.piece.is_some());
        if number <= self.number || is_busy {
            return false;
        }
        *self = Inbound { number, live: true, owed: Some(Reply::At { number, count: 0 }), ..Inbound::new() };
        true
    }

    /// Handles the peer's question how far we are, or (`closing`) its request to read only the bytes that have arrived.
    pub fn asked(&mut self, number: u32, closing: bool) {
        if number > self.number {
            // This connection never arrived, and must not be taken later.
            *self = Inbound { number, owed: Some(Reply::Closed { number, count: 0 }), ..Inbound::new() };
        } else if number == self.number {
            self.asked = true;
            self.closing |= closing;
        }
    }

    /// Records that all available bytes were read; `over`: no more will arrive. Returns whether to close the
    /// connection.
    pub fn drained(&mut self, over: bool) -> bool {
        if over || self.closing {
            self.live = false;
        }
        let (number, count) = (self.number, self.count.max(self.promised));
        if std::mem::take(&mut self.asked) {
            self.owed = Some(match self.live {
                true => Reply::At { number, count },
                false => Reply::Closed { number, count: self.count },
            });
        }
        !self.live
    }

    /// Returns whether the peer waits for a reply, which `drained` makes.
    pub fn is_asked(&self) -> bool {
        self.asked
    }

    /// Returns the part of a message that comes next, if its front has been read.
    pub fn piece(&self) -> Option<&Piece> {
        self.piece.as_ref()
    }

    /// Returns the buffer for the next bytes of a front.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.front[self.have..]
    }

    /// Records `bytes` bytes in that buffer. `None`: this is no front of the peer's, and nothing behind it can be read.
    pub fn got_front(&mut self, bytes: usize, key: &Key, ends: Ends) -> Option<()> {
        self.have += bytes;
        self.count += bytes as u64;
        if self.have == FRONT {
            let start = self.count - FRONT as u64;
            let Some(Front { lane, header, behind, len }) = read_front(&self.front, (self.number, start), (key, ends))
            else {
                // Neither this front nor the bytes behind it count as taken.
                self.count = start;
                return None;
            };
            self.piece = Some(Piece { lane, header, behind, left: len });
            self.have = 0;
        }
        Some(())
    }

    /// Promises that the rest of the part, which is here, will be read: the peer may be notified before it was.
    pub fn promise(&mut self) {
        let left = self.piece.map_or(0, |piece| piece.left);
        self.promised = self.count + left;
        self.owed = Some(Reply::At { number: self.number, count: self.promised });
    }

    /// Records that `bytes` bytes of the part were taken.
    pub fn took(&mut self, bytes: usize) {
        self.count += bytes as u64;
        let Some(piece) = &mut self.piece else { unreachable!("bytes of no piece") };
        piece.left -= bytes as u64;
        piece.header = piece.header.moved(bytes as u64);
        if piece.left == 0 {
            self.piece = None;
        }
    }

    /// Returns the reply that is due to the peer, until `said` reports that it was sent.
    pub fn owed(&self) -> Option<Reply> {
        self.owed
    }

    pub fn said(&mut self) {
        self.owed = None;
    }
}
