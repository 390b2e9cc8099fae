//! The form of a packet as a message of `link`: its header, its prefix, its payload.
//!
//! Used by `device`; uses `link::Message` and `device::Payload`.

use hawser_base::{SharedMem, UserMem};
use hawser_device::{Header, PREFIX_MAX, Payload, Refusal, Source};
use hawser_link::frame::{COVERED, HEADER as FRAME_HEADER};
use hawser_link::record::RECORD;
use hawser_link::{Class, Message, Refused, SHORTEST};

/// Bytes of a packet's header (P35).
pub const HEADER: usize = 12;

// Every field of a packet that is acted on lies at the front of its message's first fragment, which the CRC covers in
// every frame, however short the path's frames are (P6).
const _: () = assert!(RECORD + HEADER + PREFIX_MAX <= COVERED);
const _: () = assert!(FRAME_HEADER + COVERED <= SHORTEST);

/// Returns the class of a packet's message. `placed`: the message is order-free, because its receiver knows where the
/// payload belongs.
pub fn class_of(source: &Source<'_>, placed: bool) -> Class {
    match source {
        Source::None => Class::Control,
        _ if placed => Class::Placed,
        _ => Class::Payload,
    }
}

/// Converts link's refusal of a message into the device's refusal of a packet.
pub fn refusal(refused: Refused) -> Refusal {
    match refused {
        Refused::Full => Refusal::Full,
        Refused::NotConnected => Refusal::Lost,
    }
}

/// A packet to be sent, written front to back.
pub struct Outgoing<'a> {
    front: [u8; HEADER + PREFIX_MAX],
    front_len: usize,
    source: Source<'a>,
}

impl<'a> Outgoing<'a> {
    pub fn new(header: Header, prefix: &[u8], source: Source<'a>) -> Outgoing<'a> {
        let mut front = [0; HEADER + PREFIX_MAX];
        front[0] = header.kind;
        front[2..4].copy_from_slice(&header.aux.to_le_bytes());
        front[4..8].copy_from_slice(&header.a.to_le_bytes());
        front[8..HEADER].copy_from_slice(&header.b.to_le_bytes());
        front[HEADER..HEADER + prefix.len()].copy_from_slice(prefix);
        Outgoing { front, front_len: HEADER + prefix.len(), source }
    }

    /// Makes a message that is no packet: `front`, at most HEADER + PREFIX_MAX bytes, and `source` behind it.
    pub fn behind(front: &[u8], source: Source<'a>) -> Outgoing<'a> {
        let mut padded = [0; HEADER + PREFIX_MAX];
        padded[..front.len()].copy_from_slice(front);
        Outgoing { front: padded, front_len: front.len(), source }
    }

    pub fn total(&self) -> usize {
        self.front_len + self.source.len()
    }

    /// Writes the bytes from `at` on.
    pub fn write(&mut self, at: usize, into: &mut [u8]) {
        let front = self.front_len.saturating_sub(at).min(into.len());
        let (head, body) = into.split_at_mut(front);
        head.copy_from_slice(&self.front[at.min(self.front_len)..][..front]);
        let from = at.max(self.front_len) - self.front_len;
        match &mut self.source {
            _ if body.is_empty() => {}
            Source::None => {}
            Source::Mem(mem) => mem.slice(from, body.len()).read(body),
            Source::Pack { pack, .. } => pack(SharedMem::of_slice(body)),
        }
    }
}

/// Takes the front of a message, to fill `to`. None if there are not enough bytes: then it is empty.
pub fn take(message: &mut Message<'_>, to: UserMem) -> Option<()> {
    let mut at = 0;
    while at < to.len() {
        let piece = message.next(to.len() - at)?;
        to.slice(at, piece.len()).write(piece);
        at += piece.len();
    }
    Some(())
}

/// A received packet: the rest of its message behind the header.
pub struct Incoming<'a> {
    rest: Message<'a>,
    /// A buffer for deliveries that take pieces in memory and not copies.
    scratch: &'a mut Vec<u8>,
}

impl<'a> Incoming<'a> {
    /// Reads the header. None if the message is no packet.
    pub fn of(mut message: Message<'a>, scratch: &'a mut Vec<u8>) -> Option<(Header, Incoming<'a>)> {
        let mut head = [0; HEADER];
        take(&mut message, UserMem::of_slice(&mut head))?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let header = Header { kind: head[0], aux: u16::from_le_bytes([head[2], head[3]]), a: word(4), b: word(8) };
        Some((header, Incoming { rest: message, scratch }))
    }

    /// Copies its payload into `memory`.
    pub fn keep(&mut self, mut memory: Vec<u8>) -> Vec<u8> {
        while let Some(piece) = self.rest.next(usize::MAX) {
            memory.extend_from_slice(piece);
        }
        memory
    }
}

impl Payload for Incoming<'_> {
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
        take(&mut self.rest, to).is_some()
    }

    fn read(&mut self, to: &mut [u8]) -> bool {
        self.copy_to(UserMem::of_slice(to))
    }
}
