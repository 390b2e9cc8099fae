//! Encodes packets of the matching engine as a device's headers and prefixes, and decodes them.
//!
//! All fields are little-endian words at fixed places. A packet that cannot be decoded is a stray from a foreign peer;
//! the caller drops it. Used by `lane`, `outgoing` and `incoming`; uses the packets of `matching`.

use crate::matching::{Key, Packet};
use hawser_base::{Context, Lane};
use hawser_device::{Header, PREFIX_MAX, Payload, Protocol};
use hawser_transport::Control;

const EAGER: u8 = Protocol::MESSAGES.kind(1);
const PUSH: u8 = Protocol::MESSAGES.kind(2);
const ASK: u8 = Protocol::MESSAGES.kind(3);
const ANSWER: u8 = Protocol::MESSAGES.kind(4);
const DATA: u8 = Protocol::MESSAGES.kind(5);
const GRANT: u8 = Protocol::MESSAGES.kind(6);
const DONE: u8 = Protocol::MESSAGES.kind(7);
const OFFER: u8 = Protocol::MESSAGES.kind(8);
const STALE: u8 = Protocol::MESSAGES.kind(9);
const WITHDRAW: u8 = Protocol::MESSAGES.kind(10);
const CANCEL: u8 = Protocol::MESSAGES.kind(11);
const CANCELLED: u8 = Protocol::MESSAGES.kind(12);
const CREDIT: u8 = Protocol::MESSAGES.kind(13);
const WRITTEN: u8 = Protocol::MESSAGES.kind(14);

/// The header of a whole eager message: all that the fast path writes.
#[inline(always)]
pub fn eager(context: Context, tag: i32) -> Header {
    Header { kind: EAGER, aux: 0, a: context.0, b: tag as u32 }
}

/// Whether a header is that of a whole eager message on `context`.
#[inline(always)]
pub fn is_eager(header: &Header, context: Context) -> bool {
    header.kind == EAGER && header.a == context.0
}

/// Returns the context of a whole eager message that arrived on `lane`.
#[inline(always)]
pub fn eager_context(header: &Header, lane: Lane) -> Option<Context> {
    let context = Context(header.a);
    (header.kind == EAGER && context.lane() == lane).then_some(context)
}

/// The header of a piece of a stream.
#[inline]
pub fn data(message: u32, at: u64) -> Header {
    debug_assert!(at < 1 << 48);
    Header { kind: DATA, aux: (at >> 32) as u16, a: message, b: at as u32 }
}

/// A prefix under construction. Its size is the most that devices carry, and that the CRC of frames covers in every
/// mode.
struct Words([u8; PREFIX_MAX], usize);

impl Words {
    fn new() -> Words {
        Words([0; PREFIX_MAX], 0)
    }
    fn u64(mut self, value: u64) -> Words {
        self.0[self.1..self.1 + 8].copy_from_slice(&value.to_le_bytes());
        self.1 += 8;
        self
    }
    fn key(self, key: &Option<Key>) -> Words {
        key.iter().flat_map(|k| k.0).fold(self, Words::u64)
    }
    fn u32(mut self, value: u32) -> Words {
        self.0[self.1..self.1 + 4].copy_from_slice(&value.to_le_bytes());
        self.1 += 4;
        self
    }
}

/// Bytes of the prefix of `Packet::Push`, which precedes the front of its message.
pub const PUSH_PREFIX: usize = size_of::<u64>();

/// Encodes a packet; the caller appends its payload, if it has one.
pub fn encode(packet: &Packet) -> Control {
    let header = |kind, aux, a, b| Header { kind, aux, a, b };
    let none = Words::new();
    let (header, words) = match *packet {
        Packet::Eager { context, tag } => (eager(context, tag), none),
        Packet::Push { context, tag, bytes } => (header(PUSH, 0, context.0, tag as u32), none.u64(bytes)),
        Packet::Ask { context, tag, bytes, send, key } => {
            (header(ASK, key.is_some() as u16, context.0, tag as u32), none.u64(bytes).u32(send).key(&key))
        }
        Packet::Answer { context, tag, bytes, offer } => {
            (header(ANSWER, 0, context.0, tag as u32), none.u64(bytes).u32(offer))
        }
        Packet::Data { message, at } => (data(message, at), none),
        Packet::Grant { send, from, until, key } => {
            (header(GRANT, key.is_some() as u16, send, 0), none.u64(from).u64(until).key(&key))
        }
        Packet::Written { message } => (header(WRITTEN, 0, message, 0), none),
        Packet::Done { send } => (header(DONE, 0, send, 0), none),
        Packet::Offer { context, tag, room, number, accepted } => (
            header(OFFER, tag.is_some() as u16, context.0, tag.unwrap_or(0) as u32),
            none.u64(room).u32(number).u32(accepted),
        ),
        Packet::Stale { number } => (header(STALE, 0, number, 0), none),
        Packet::Withdraw { number, accepted } => (header(WITHDRAW, 0, number, accepted), none),
        Packet::Cancel { send } => (header(CANCEL, 0, send, 0), none),
        Packet::Cancelled { send, yes } => (header(CANCELLED, yes as u16, send, 0), none),
        Packet::Credit { bytes } => (header(CREDIT, 0, bytes as u32, (bytes >> 32) as u32), none),
    };
    Control::new(header, &words.0[..words.1])
}

struct Reader<'a>(&'a mut dyn Payload);

impl Reader<'_> {
    fn u64(&mut self) -> Option<u64> {
        let mut bytes = [0; 8];
        self.0.read(&mut bytes).then(|| u64::from_le_bytes(bytes))
    }
    /// Reads the rkey whose presence `aux` indicates. `None`: it is truncated.
    fn key(&mut self, aux: u16) -> Option<Option<Key>> {
        if aux == 1 { Some(Some(Key([self.u64()?, self.u64()?, self.u64()?]))) } else { Some(None) }
    }
    fn u32(&mut self) -> Option<u32> {
        let mut bytes = [0; 4];
        self.0.read(&mut bytes).then(|| u32::from_le_bytes(bytes))
    }
}

/// Decodes the packet of a header that arrived on `lane`; its prefix is taken off the payload. `None`: not a packet of
/// ours.
pub fn decode(header: &Header, payload: &mut dyn Payload, lane: Lane) -> Option<Packet> {
    let Header { kind, aux, a, b } = *header;
    let (context, tag) = (Context(a), b as i32);
    let names_context = matches!(kind, EAGER | PUSH | ASK | ANSWER | OFFER);
    if names_context && context.lane() != lane {
        return None;
    }
    let mut words = Reader(payload);
    Some(match kind {
        EAGER => Packet::Eager { context, tag },
        PUSH => Packet::Push { context, tag, bytes: words.u64()? },
        ASK => Packet::Ask { context, tag, bytes: words.u64()?, send: words.u32()?, key: words.key(aux)? },
        ANSWER => Packet::Answer { context, tag, bytes: words.u64()?, offer: words.u32()? },
        DATA => Packet::Data { message: a, at: (aux as u64) << 32 | b as u64 },
        GRANT => Packet::Grant { send: a, from: words.u64()?, until: words.u64()?, key: words.key(aux)? },
        WRITTEN => Packet::Written { message: a },
        DONE => Packet::Done { send: a },
        OFFER => Packet::Offer {
            context,
            tag: (aux == 1).then_some(tag),
            room: words.u64()?,
            number: words.u32()?,
            accepted: words.u32()?,
        },
        STALE => Packet::Stale { number: a },
        WITHDRAW => Packet::Withdraw { number: a, accepted: b },
        CANCEL => Packet::Cancel { send: a },
        CANCELLED => Packet::Cancelled { send: a, yes: aux == 1 },
        CREDIT => Packet::Credit { bytes: a as u64 | (b as u64) << 32 },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::SharedMem;

    struct Bytes(Vec<u8>, usize);

    impl Payload for Bytes {
        fn len(&self) -> usize {
            self.0.len() - self.1
        }
        fn next(&mut self, max: usize) -> Option<SharedMem<'_>> {
            let len = max.min(3).min(self.len()); // ragged pieces
            self.1 += len;
            (len > 0).then(|| SharedMem::of_slice(&mut self.0[self.1 - len..self.1]))
        }
    }

    #[test]
    fn every_packet_comes_back_as_it_was() {
        let context = Context(13);
        let packets = [
            Packet::Eager { context, tag: -5 },
            Packet::Push { context, tag: 3, bytes: 1 << 40 },
            Packet::Ask { context, tag: 3, bytes: 1 << 40, send: 9, key: None },
            Packet::Ask { context, tag: 3, bytes: 1 << 40, send: 9, key: Some(Key([1, 2, u64::MAX])) },
            Packet::Answer { context, tag: 3, bytes: 5, offer: 77 },
            Packet::Data { message: 4, at: (1 << 48) - 1 },
            Packet::Grant { send: 4, from: 1, until: u64::MAX, key: None },
            Packet::Grant { send: 4, from: 1, until: u64::MAX, key: Some(Key([1, u64::MAX, 3])) },
            Packet::Written { message: 4 },
            Packet::Done { send: 4 },
            Packet::Offer { context, tag: None, room: 1 << 50, number: 3, accepted: 8 },
            Packet::Offer { context, tag: Some(0), room: 1, number: 3, accepted: 8 },
            Packet::Stale { number: 3 },
            Packet::Withdraw { number: 3, accepted: 4 },
            Packet::Cancel { send: 3 },
            Packet::Cancelled { send: 3, yes: true },
            Packet::Cancelled { send: 3, yes: false },
            Packet::Credit { bytes: 1 << 33 },
        ];
        for packet in packets {
            let control = encode(&packet);
            let mut payload = Bytes(control.prefix().to_vec(), 0);
            assert_eq!(decode(&control.header, &mut payload, context.lane()), Some(packet));
            assert_eq!(payload.len(), 0);
        }
    }

    #[test]
    fn a_context_of_another_lane_is_none() {
        let none = |context| decode(&eager(context, 0), &mut Bytes(vec![], 0), Lane(0)).is_none();
        assert!(!none(Context(0)));
        assert!(none(Context::new(1, 0)));
        assert!(!none(Context::new(0, Context::GENERATIONS - 1)));
    }

    #[test]
    fn a_short_or_unknown_packet_is_none() {
        let control = encode(&Packet::Grant { send: 4, from: 1, until: 2, key: None });
        assert_eq!(decode(&control.header, &mut Bytes(vec![0; 15], 0), Lane(0)), None);
        let control = encode(&Packet::Grant { send: 4, from: 1, until: 2, key: Some(Key([1, 2, 3])) });
        assert_eq!(decode(&control.header, &mut Bytes(vec![0; 39], 0), Lane(0)), None, "a key that is cut short");
        assert_eq!(decode(&Header { kind: 200, ..Header::default() }, &mut Bytes(vec![], 0), Lane(0)), None);
    }
}
