//! The receiving end of a direct connection, without I/O: it decides what the next bytes are, and counts them (P37 of
//! docs/protocol.md).
//!
//! A part header is trusted only with its tag. Used by `direct`; uses no module but `wire`.

use super::wire::{PART_HEADER_BYTES, PartHeader, ReceiverControl, parse_part_header};
use hawser_device::Header;
use hawser_link::Seq;
use hawser_link::frame::{JobKey, PeerPair};

/// The part of a message whose bytes come next.
#[derive(Clone, Copy, Debug)]
pub struct MessagePart {
    pub lane: u8,
    pub header: Header,
    /// All messages of link before this one must be delivered before the part; None: the part has no order.
    pub after: Option<Seq>,
    pub left: u64,
}

/// The state of the receiving end.
pub struct DirectReceiver {
    number: u32,
    is_open: bool,
    /// The number of bytes that were taken, and the number of bytes that we have guaranteed to the peer to take.
    taken: u64,
    guaranteed: u64,
    header: [u8; PART_HEADER_BYTES],
    header_len: usize,
    part: Option<MessagePart>,
    /// Whether the peer has queried our position, or requested the end.
    is_queried: bool,
    is_closing: bool,
    pending_reply: Option<ReceiverControl>,
}

impl DirectReceiver {
    pub fn new() -> DirectReceiver {
        DirectReceiver {
            number: 0,
            is_open: false,
            taken: 0,
            guaranteed: 0,
            header: [0; PART_HEADER_BYTES],
            header_len: 0,
            part: None,
            is_queried: false,
            is_closing: false,
            pending_reply: None,
        }
    }

    /// Accepts connection `number`. Returns whether the connection is used: it is if its number is higher than all
    /// before, and the present connection is not in the middle of a header or a message.
    pub fn accept(&mut self, number: u32) -> bool {
        let is_busy = self.is_open && (self.header_len > 0 || self.part.is_some());
        if number <= self.number || is_busy {
            return false;
        }
        *self = DirectReceiver {
            number,
            is_open: true,
            pending_reply: Some(ReceiverControl::Position { number, count: 0 }),
            ..DirectReceiver::new()
        };
        true
    }

    /// Handles the peer's query of our position, or (`closing`) its request to read only the bytes that have arrived.
    pub fn handle_query(&mut self, number: u32, closing: bool) {
        if number > self.number {
            // This connection never arrived, and must not be accepted later.
            *self = DirectReceiver {
                number,
                pending_reply: Some(ReceiverControl::Closed { number, count: 0 }),
                ..DirectReceiver::new()
            };
        } else if number == self.number {
            self.is_queried = true;
            self.is_closing |= closing;
        }
    }

    /// Records that all available bytes were read; `has_ended`: no more will arrive. Returns whether to close the
    /// connection.
    pub fn record_drained(&mut self, has_ended: bool) -> bool {
        if has_ended || self.is_closing {
            self.is_open = false;
        }
        let (number, count) = (self.number, self.taken.max(self.guaranteed));
        if std::mem::take(&mut self.is_queried) {
            self.pending_reply = Some(match self.is_open {
                true => ReceiverControl::Position { number, count },
                false => ReceiverControl::Closed { number, count: self.taken },
            });
        }
        !self.is_open
    }

    /// Returns whether the peer waits for a reply, which `record_drained` makes.
    pub fn is_queried(&self) -> bool {
        self.is_queried
    }

    /// Returns the part of a message that comes next, if its header has been read.
    pub fn part(&self) -> Option<&MessagePart> {
        self.part.as_ref()
    }

    /// Returns the buffer for the next bytes of a part header.
    pub fn header_buffer(&mut self) -> &mut [u8] {
        &mut self.header[self.header_len..]
    }

    /// Records that `bytes` bytes were read into `header_buffer`. `None`: the header is not the peer's, and nothing
    /// behind it can be read.
    pub fn record_header(&mut self, bytes: usize, key: &JobKey, peer_pair: PeerPair) -> Option<()> {
        self.header_len += bytes;
        self.taken += bytes as u64;
        if self.header_len == PART_HEADER_BYTES {
            let start = self.taken - PART_HEADER_BYTES as u64;
            let Some(PartHeader { lane, header, after, len }) =
                parse_part_header(&self.header, (self.number, start), (key, peer_pair))
            else {
                // Neither this header nor the bytes behind it count as taken.
                self.taken = start;
                return None;
            };
            self.part = Some(MessagePart { lane, header, after, left: len });
            self.header_len = 0;
        }
        Some(())
    }

    /// Guarantees to the peer that the rest of the part will be read, so that the peer can be notified before it was.
    /// The rest must have arrived.
    pub fn guarantee_rest(&mut self) {
        let left = self.part.map_or(0, |piece| piece.left);
        self.guaranteed = self.taken + left;
        self.pending_reply = Some(ReceiverControl::Position { number: self.number, count: self.guaranteed });
    }

    /// Records that `bytes` bytes of the part were taken.
    pub fn record_taken(&mut self, bytes: usize) {
        self.taken += bytes as u64;
        let Some(part) = &mut self.part else { unreachable!("bytes of no part") };
        part.left -= bytes as u64;
        part.header = part.header.moved(bytes as u64);
        if part.left == 0 {
            self.part = None;
        }
    }

    /// Returns the reply that is due to the peer, until `reply_sent` reports that it was sent.
    pub fn pending_reply(&self) -> Option<ReceiverControl> {
        self.pending_reply
    }

    pub fn reply_sent(&mut self) {
        self.pending_reply = None;
    }
}
