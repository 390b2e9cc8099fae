//! The receiving end of a direct connection, without I/O: it decides what the next bytes are, and counts them (P37 of
//! docs/protocol.md).
//!
//! A part header is trusted only with its tag, and a direct packet only with the CRC in its part header. Bytes are read
//! ahead of their use, so that a part header, a direct packet and the part header behind it take one system call, with
//! all of a short message. Used by `direct`; uses `wire`, `order`, and a limit of `sender`.

use super::order::UNCONFIRMED_MAX;
use super::sender::RETAINED_MAX_BYTES;
use super::wire::{self, PADDING_BYTES, PART_HEADER_BYTES, PartHeader, PartKind, ReadReport, ReceiverControl};
use hawser_device::{Header, PREFIX_MAX};
use hawser_link::Seq;
use hawser_link::frame::{self, JobKey, PeerPair};

/// The number of bytes that are read ahead at once while messages are long: two part headers, with the prefix of an
/// eager stream between them, which has a length of 8 bytes, and the padding behind them. More, and the last bytes if
/// there is no padding, are the first bytes of payload, as a rule, which are then copied once more.
const READ_AHEAD: usize = 2 * PART_HEADER_BYTES + size_of::<u64>() + PADDING_BYTES;

/// The number of further bytes that are read ahead while messages are no longer than that. To copy them once more takes
/// less time than two further system calls, for their number and for themselves.
const SHORT_BYTES: usize = 6 << 10;

/// The length, in bytes, up to which messages count as short while there is a backlog: more bytes have arrived than
/// those of one message, as from a peer that joins messages. The number of bytes that are read ahead then doubles up to
/// AHEAD_BYTES_MAX, so that several messages take one system call.
const SHORT_IN_BACKLOG_BYTES: usize = 12 << 10;
const AHEAD_BYTES_MAX: usize = 2 * SHORT_IN_BACKLOG_BYTES;

/// A report of delivered packets is due after so many of them, or so many bytes: a quarter of what the sender may keep.
const REPORT_PACKETS: u64 = UNCONFIRMED_MAX / 4;
const REPORT_BYTES: u64 = RETAINED_MAX_BYTES as u64 / 4;

/// The part of a message whose bytes come next.
#[derive(Clone, Copy, Debug)]
pub struct MessagePart {
    pub kind: PartKind,
    pub lane: u8,
    pub header: Header,
    /// All messages of link before this one must be delivered before the part; None: the part has no order.
    pub after: Option<Seq>,
    pub left: u64,
    /// The CRC32C of a packet's prefix.
    prefix_crc: u32,
}

/// The state of the receiving end.
pub struct DirectReceiver {
    number: u32,
    is_open: bool,
    /// The number of bytes that were taken, and the number of bytes that we have guaranteed to the peer to take.
    taken: u64,
    guaranteed: u64,
    /// Memory for bytes that were read and not taken: those from `ahead_at` to `ahead_end`.
    ahead: Vec<u8>,
    ahead_at: usize,
    ahead_end: usize,
    /// Whether the last message was short, so that the next one is expected to be as short.
    expects_short: bool,
    /// The number of further bytes that are read ahead then.
    short_bytes: usize,
    /// Whether there is a backlog.
    has_backlog: bool,
    part: Option<MessagePart>,
    /// The whole length of the part, in bytes.
    part_len: u64,
    /// Direct packets, and the bytes taken, since the last report of the position.
    unreported_packets: u64,
    reported: u64,
    /// Whether the peer has queried our position, or requested the end.
    is_queried: bool,
    is_closing: bool,
    pending_reply: Option<ReceiverControl>,
    /// The replies that were sent, modulo 2^32.
    sent_replies: u32,
}

impl DirectReceiver {
    pub fn new() -> DirectReceiver {
        DirectReceiver {
            number: 0,
            is_open: false,
            taken: 0,
            guaranteed: 0,
            ahead: Vec::new(),
            ahead_at: 0,
            ahead_end: 0,
            expects_short: true,
            short_bytes: SHORT_BYTES,
            has_backlog: false,
            part: None,
            part_len: 0,
            unreported_packets: 0,
            reported: 0,
            is_queried: false,
            is_closing: false,
            pending_reply: None,
            sent_replies: 0,
        }
    }

    /// Accepts connection `number`. Returns whether the connection is used: it is if its number is higher than all
    /// before, and the present connection is not in the middle of a header or a message.
    pub fn accept(&mut self, number: u32) -> bool {
        let is_busy = self.is_open && (!self.ahead().is_empty() || self.part.is_some());
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
            self.report_sent();
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

    /// Returns the bytes that were read and not taken.
    pub fn ahead(&self) -> &[u8] {
        &self.ahead[self.ahead_at..self.ahead_end]
    }

    /// Returns the same bytes for a delivery, which may change them.
    pub fn ahead_mut(&mut self) -> &mut [u8] {
        &mut self.ahead[self.ahead_at..self.ahead_end]
    }

    /// Returns the memory for bytes to be read ahead; empty if enough were read.
    pub fn ahead_space(&mut self) -> &mut [u8] {
        self.ahead.copy_within(self.ahead_at..self.ahead_end, 0);
        (self.ahead_at, self.ahead_end) = (0, self.ahead_end - self.ahead_at);
        let wanted = self.part.map_or(0, |part| part.left.min(PREFIX_MAX as u64) as usize);
        let short = if self.expects_short { self.short_bytes } else { 0 };
        let end = READ_AHEAD.max(wanted).max(self.ahead_end) + short;
        if self.ahead.len() < end {
            self.ahead.resize(end, 0);
        }
        &mut self.ahead[self.ahead_end..end]
    }

    /// Records that `bytes` bytes were read into `ahead_space`.
    pub fn record_ahead(&mut self, bytes: usize) {
        self.ahead_end += bytes;
        self.has_backlog = self.expects_short && bytes >= self.short_bytes;
        self.short_bytes = if self.has_backlog { (2 * self.short_bytes).min(AHEAD_BYTES_MAX) } else { SHORT_BYTES };
    }

    /// Records that more bytes have arrived than those of the part. Its message may count as short then, if none of it
    /// was taken.
    pub fn record_backlog(&mut self) {
        self.has_backlog = true;
        let is_short = |part: MessagePart| part.left == self.part_len && part.left <= self.short_max() as u64;
        self.expects_short |= self.part.is_some_and(is_short);
    }

    /// Returns the length of the longest message that counts as short, in bytes.
    fn short_max(&self) -> usize {
        if self.has_backlog { SHORT_IN_BACKLOG_BYTES } else { SHORT_BYTES }
    }

    /// Begins the next part, if its whole header was read ahead, and its padding if there is one. Returns whether
    /// there is a part, and the report in its header. `None`: the header is not the peer's, and nothing behind it can
    /// be read.
    pub fn begin_part(&mut self, key: &JobKey, peer_pair: PeerPair) -> Option<(bool, Option<ReadReport>)> {
        let Some(header) = self.ahead().first_chunk::<PART_HEADER_BYTES>() else { return Some((false, None)) };
        // Neither a wrong header nor the bytes behind it count as taken.
        let PartHeader { kind, lane, header, after, len, prefix_crc, report, is_padded } =
            wire::parse_part_header(header, (self.number, self.taken), (key, peer_pair))?;
        let start = wire::part_start(is_padded);
        if self.ahead().len() < start {
            return Some((false, None));
        }
        self.ahead_at += start;
        self.taken += start as u64;
        if kind != PartKind::Packet {
            self.expects_short = len <= self.short_max() as u64;
        }
        self.part_len = len;
        self.part = Some(MessagePart { kind, lane, header, after, left: len, prefix_crc });
        Some((true, report))
    }

    /// Returns whether the direct packet that comes next, whose prefix was read ahead, is the one that was sent. If it
    /// is not, nothing behind its part header may be delivered or counts as taken: the packet goes by link once the
    /// connection has ended.
    pub fn is_packet_intact(&self) -> bool {
        let Some(MessagePart { left, prefix_crc, .. }) = self.part else { unreachable!("no packet comes next") };
        frame::crc(&self.ahead()[..left as usize]) == prefix_crc
    }

    /// Guarantees to the peer that the rest of the part will be read, so that the peer can be notified before it was.
    /// The rest must have arrived.
    pub fn guarantee_rest(&mut self) {
        let left = self.part.map_or(0, |piece| piece.left);
        self.guaranteed = self.taken + left;
        self.report(self.guaranteed);
    }

    /// Returns the report that can go with a part of the other direction, until `report_sent`; None if there is no
    /// connection, or no news.
    pub fn pending_report(&self) -> Option<ReadReport> {
        self.has_news().then(|| ReadReport::new(self.number, self.taken))
    }

    /// Returns whether bytes were taken that the peer does not know of.
    pub fn has_news(&self) -> bool {
        self.is_open && self.taken != self.reported
    }

    /// Makes the report a reply of its own.
    pub fn report_now(&mut self) {
        if self.has_news() && self.pending_reply.is_none() {
            self.report(self.taken.max(self.guaranteed));
        }
    }

    fn report(&mut self, count: u64) {
        self.pending_reply = Some(ReceiverControl::Position { number: self.number, count });
        self.report_sent();
    }

    /// Records that the position was reported. A report in a part may be lost: then the peer queries our position.
    pub fn report_sent(&mut self) {
        (self.unreported_packets, self.reported) = (0, self.taken);
    }

    /// Records that `bytes` bytes of the part were taken, first those that were read ahead. A report of the position is
    /// due after some direct packets; the sender queries it if none comes.
    pub fn record_taken(&mut self, bytes: usize) {
        self.ahead_at += bytes.min(self.ahead().len());
        self.taken += bytes as u64;
        let Some(part) = &mut self.part else { unreachable!("bytes of no part") };
        part.left -= bytes as u64;
        part.header = part.header.moved(bytes as u64);
        if part.left > 0 {
            return;
        }
        self.unreported_packets += u64::from(part.kind == PartKind::Packet);
        let is_rest = part.kind == PartKind::PacketRest;
        self.part = None;
        let is_due = self.unreported_packets >= REPORT_PACKETS || self.taken - self.reported >= REPORT_BYTES;
        if is_rest && is_due {
            self.report(self.taken);
        }
    }

    /// Returns the reply that is due to the peer, until `reply_sent` reports that it was sent.
    pub fn pending_reply(&self) -> Option<ReceiverControl> {
        self.pending_reply
    }

    pub fn reply_sent(&mut self) {
        self.pending_reply = None;
        self.sent_replies = self.sent_replies.wrapping_add(1);
    }

    /// Returns the number of replies that were sent about this connection, modulo 2^32.
    pub fn sent_replies(&self) -> u32 {
        self.sent_replies
    }
}
