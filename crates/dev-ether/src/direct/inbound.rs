//! The receiving end of a direct connection, without I/O: what its next bytes are, and how far it came (P37).
//!
//! What it says of itself is believed only with its tag. Before it: `direct`; after it: nothing.

use super::wire::{FRONT, Front, Reply, read_front};
use hawser_device::Header;
use hawser_link::Seq;
use hawser_link::frame::{Ends, Key};

/// Bytes of a message on their way into it.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub lane: u8,
    pub header: Header,
    /// Messages of link that must be delivered before it.
    pub behind: Option<Seq>,
    pub left: u64,
}

/// See the module.
pub struct Inbound {
    number: u32,
    live: bool,
    /// Bytes that were taken, and that the peer was promised to be.
    count: u64,
    promised: u64,
    front: [u8; FRONT],
    have: usize,
    piece: Option<Piece>,
    /// The peer asked how far we are, or for the end.
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

    /// Connection `number` has come. Whether it is taken: a later one than all before, none of which is in the middle of something.
    pub fn greet(&mut self, number: u32) -> bool {
        let is_busy = self.live && (self.have > 0 || self.piece.is_some());
        if number <= self.number || is_busy {
            return false;
        }
        *self = Inbound { number, live: true, owed: Some(Reply::At { number, count: 0 }), ..Inbound::new() };
        true
    }

    /// The peer asked how far we are, or (`closing`) wants no more to be read than has come.
    pub fn asked(&mut self, number: u32, closing: bool) {
        if number > self.number {
            // It never came, and is not to come any more.
            *self = Inbound { number, owed: Some(Reply::Closed { number, count: 0 }), ..Inbound::new() };
        } else if number == self.number {
            self.asked = true;
            self.closing |= closing;
        }
    }

    /// All that has come was read; `over`: and nothing more will. Whether the connection is to be closed.
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

    /// The peer waits for an answer that `drained` gives.
    pub fn is_asked(&self) -> bool {
        self.asked
    }

    /// What comes next, if it is part of a message.
    pub fn piece(&self) -> Option<&Piece> {
        self.piece.as_ref()
    }

    /// Where the next bytes belong that are none of a message.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.front[self.have..]
    }

    /// So many came there. `None`: it is no front of this peer's, and nothing behind it can be read.
    pub fn got_front(&mut self, bytes: usize, key: &Key, ends: Ends) -> Option<()> {
        self.have += bytes;
        self.count += bytes as u64;
        if self.have == FRONT {
            let start = self.count - FRONT as u64;
            let Some(Front { lane, header, behind, len }) = read_front(&self.front, (self.number, start), (key, ends))
            else {
                // What is behind it was not taken, nor this.
                self.count = start;
                return None;
            };
            self.piece = Some(Piece { lane, header, behind, left: len });
            self.have = 0;
        }
        Some(())
    }

    /// The rest of the message's part is here and will be read: the peer may be told before it was.
    pub fn promise(&mut self) {
        let left = self.piece.map_or(0, |piece| piece.left);
        self.promised = self.count + left;
        self.owed = Some(Reply::At { number: self.number, count: self.promised });
    }

    /// So many bytes of the piece were taken.
    pub fn took(&mut self, bytes: usize) {
        self.count += bytes as u64;
        let Some(piece) = &mut self.piece else { unreachable!("bytes of no piece") };
        piece.left -= bytes as u64;
        piece.header = piece.header.moved(bytes as u64);
        if piece.left == 0 {
            self.piece = None;
        }
    }

    /// What the peer is to be told; said by `said`.
    pub fn owed(&self) -> Option<Reply> {
        self.owed
    }

    pub fn said(&mut self) {
        self.owed = None;
    }
}
