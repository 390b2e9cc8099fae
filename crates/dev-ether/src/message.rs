//! The form of a packet as a message of `link`: its header, its prefix, its payload.
//!
//! Used by `device`; uses `link::Message` and `device::Payload`.

use crate::direct::LinkOrder;
use hawser_base::{SharedMem, UserMem};
use hawser_device::{Header, PREFIX_MAX, Payload, PayloadSource, SendError};
use hawser_link::fragment::FRAGMENT_HEADER_BYTES;
use hawser_link::frame::{COVERED_BYTES, HEADER_BYTES as FRAME_HEADER};
use hawser_link::{LinkSendError, MTU_MIN, Message, MessageClass};

/// Bytes of a packet's header (P35 of docs/protocol.md).
pub const HEADER: usize = 12;

// Every field of a packet that is acted on lies in the first bytes of its message's first fragment, which the CRC
// covers in every frame, however short the path's frames are (P6).
const _: () = assert!(FRAGMENT_HEADER_BYTES + HEADER + PREFIX_MAX <= COVERED_BYTES);
const _: () = assert!(FRAME_HEADER + COVERED_BYTES <= MTU_MIN);

/// Returns the class of a packet's message. `order_free`: the message is order-free, because its receiver knows
/// where the payload belongs.
pub fn class_of(source: &PayloadSource<'_>, order_free: bool) -> MessageClass {
    match source {
        PayloadSource::None => MessageClass::Control,
        _ if order_free => MessageClass::OrderFree,
        _ => MessageClass::Payload,
    }
}

/// Converts link's refusal of a message into the device's refusal of a packet.
pub fn send_error(refused: LinkSendError) -> SendError {
    match refused {
        LinkSendError::Full => SendError::Full,
        LinkSendError::NotConnected => SendError::PeerFailed,
    }
}

/// A packet to be sent, written from its beginning to its end.
pub struct PacketMessage<'a> {
    head: [u8; HEADER + PREFIX_MAX],
    head_len: usize,
    source: PayloadSource<'a>,
}

impl<'a> PacketMessage<'a> {
    pub fn new(header: Header, prefix: &[u8], source: PayloadSource<'a>) -> PacketMessage<'a> {
        let mut head = [0; HEADER + PREFIX_MAX];
        head[0] = header.kind();
        head[2..4].copy_from_slice(&header.aux().to_le_bytes());
        head[4..8].copy_from_slice(&header.a().to_le_bytes());
        head[8..HEADER].copy_from_slice(&header.b().to_le_bytes());
        head[HEADER..HEADER + prefix.len()].copy_from_slice(prefix);
        PacketMessage { head, head_len: HEADER + prefix.len(), source }
    }

    /// States the packet's place among the direct packets of this rank; without it, it is `LinkOrder::Free`.
    pub fn with_order(mut self, order: LinkOrder) -> PacketMessage<'a> {
        self.head[1] = order.encode();
        self
    }

    /// Makes a message that is no packet: `header`, at most HEADER + PREFIX_MAX bytes, and `source` behind it.
    pub fn with_header(header: &[u8], source: PayloadSource<'a>) -> PacketMessage<'a> {
        let mut padded = [0; HEADER + PREFIX_MAX];
        padded[..header.len()].copy_from_slice(header);
        PacketMessage { head: padded, head_len: header.len(), source }
    }

    pub fn total(&self) -> usize {
        self.head_len + self.source.len()
    }

    /// Writes the bytes from `at` on.
    pub fn write(&mut self, at: usize, into: &mut [u8]) {
        let head_bytes = self.head_len.saturating_sub(at).min(into.len());
        let (head, body) = into.split_at_mut(head_bytes);
        head.copy_from_slice(&self.head[at.min(self.head_len)..][..head_bytes]);
        let from = at.max(self.head_len) - self.head_len;
        match &mut self.source {
            _ if body.is_empty() => {}
            PayloadSource::None => {}
            PayloadSource::Mem(mem) => mem.slice(from, body.len()).read(body),
            PayloadSource::Pack { pack, .. } => pack(SharedMem::of_slice(body)),
        }
    }
}

/// Takes the first bytes of a message, and fills `to` with them. None if the message has too few bytes: then all of
/// them were taken.
pub fn read_exact(message: &mut Message<'_>, to: UserMem) -> Option<()> {
    let mut at = 0;
    while at < to.len() {
        let piece = message.next(to.len() - at)?;
        to.slice(at, piece.len()).write(piece);
        at += piece.len();
    }
    Some(())
}

/// A received packet: the rest of its message behind the header.
pub struct MessagePayload<'a> {
    rest: Message<'a>,
    /// Memory for the pieces that `next` returns: such a piece is memory that could be written, whereas the bytes of
    /// a message can only be read.
    scratch: &'a mut Vec<u8>,
}

impl<'a> MessagePayload<'a> {
    /// Reads the header, and the packet's place among the direct packets of its sender. None if the message is no
    /// packet.
    pub fn parse(
        mut message: Message<'a>,
        scratch: &'a mut Vec<u8>,
    ) -> Option<(Header, LinkOrder, MessagePayload<'a>)> {
        let mut head = [0; HEADER];
        read_exact(&mut message, UserMem::of_slice(&mut head))?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let header = Header::new(head[0], u16::from_le_bytes([head[2], head[3]]), word(4), word(8));
        Some((header, LinkOrder::decode(head[1])?, MessagePayload { rest: message, scratch }))
    }

    /// Appends the rest of the payload to `memory`, and returns it.
    pub fn copy_payload(&mut self, mut memory: Vec<u8>) -> Vec<u8> {
        while let Some(piece) = self.rest.next(usize::MAX) {
            memory.extend_from_slice(piece);
        }
        memory
    }
}

impl Payload for MessagePayload<'_> {
    fn len(&self) -> usize {
        self.rest.len()
    }

    fn next(&mut self, max: usize) -> Option<SharedMem<'_>> {
        let piece = self.rest.next(max)?;
        self.scratch.clear();
        self.scratch.extend_from_slice(piece);
        Some(SharedMem::of_slice(self.scratch))
    }

    fn copy_to(&mut self, to: UserMem) -> bool {
        read_exact(&mut self.rest, to).is_some()
    }

    fn read(&mut self, to: &mut [u8]) -> bool {
        self.copy_to(UserMem::of_slice(to))
    }
}
