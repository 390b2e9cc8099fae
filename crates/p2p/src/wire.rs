//! Encodes packets of the matching engine as a device's headers and prefixes, and decodes them.
//!
//! All fields are little-endian words at fixed offsets. A packet that cannot be decoded is invalid; the caller drops
//! it. Used by `lane`, `send` and `recv`; uses the packets of `matching`.

use crate::matching::{BufferKey, Packet};
use hawser_base::{Context, Lane};
use hawser_device::{Header, PREFIX_MAX, Payload, Protocol};
use hawser_transport::ControlPacket;

const EAGER: u8 = Protocol::MESSAGES.kind(1);
const EAGER_FIRST: u8 = Protocol::MESSAGES.kind(2);
const RTS: u8 = Protocol::MESSAGES.kind(3);
const RTR_REPLY: u8 = Protocol::MESSAGES.kind(4);
const DATA: u8 = Protocol::MESSAGES.kind(5);
const CTS: u8 = Protocol::MESSAGES.kind(6);
const FIN: u8 = Protocol::MESSAGES.kind(7);
const RTR: u8 = Protocol::MESSAGES.kind(8);
const RTR_REFUSAL: u8 = Protocol::MESSAGES.kind(9);
const RTR_CANCEL: u8 = Protocol::MESSAGES.kind(10);
const CANCEL: u8 = Protocol::MESSAGES.kind(11);
const CANCEL_REPLY: u8 = Protocol::MESSAGES.kind(12);
const CREDIT: u8 = Protocol::MESSAGES.kind(13);
const PUT_DONE: u8 = Protocol::MESSAGES.kind(14);

/// Returns the header of a whole eager message, which is all that the fast path writes besides the payload.
#[inline(always)]
pub fn eager(context: Context, tag: i32) -> Header {
    Header::new(EAGER, 0, context.0, tag as u32)
}

/// Returns whether a header is that of a whole eager message on `context`.
#[inline(always)]
pub fn is_eager(header: &Header, context: Context) -> bool {
    header.kind() == EAGER && header.a() == context.0
}

/// Returns the context of a whole eager message that arrived on `lane`. None for any other packet, or if the context
/// belongs to another lane.
#[inline(always)]
pub fn eager_context(header: &Header, lane: Lane) -> Option<Context> {
    let context = Context(header.a());
    (header.kind() == EAGER && context.lane() == lane).then_some(context)
}

/// Returns the header of a piece of a stream.
#[inline]
pub fn data(message: u32, at: u64) -> Header {
    debug_assert!(at < 1 << 48);
    Header::new(DATA, (at >> 32) as u16, message, at as u32)
}

/// A prefix under construction. Its maximum length is the longest prefix that devices carry, and that the CRC of
/// frames covers in every mode.
struct PrefixWriter([u8; PREFIX_MAX], usize);

impl PrefixWriter {
    fn new() -> PrefixWriter {
        PrefixWriter([0; PREFIX_MAX], 0)
    }
    fn u64(mut self, value: u64) -> PrefixWriter {
        self.0[self.1..self.1 + 8].copy_from_slice(&value.to_le_bytes());
        self.1 += 8;
        self
    }
    fn key(self, key: &Option<BufferKey>) -> PrefixWriter {
        key.iter().flat_map(|k| k.0).fold(self, PrefixWriter::u64)
    }
    fn u32(mut self, value: u32) -> PrefixWriter {
        self.0[self.1..self.1 + 4].copy_from_slice(&value.to_le_bytes());
        self.1 += 4;
        self
    }
}

/// The length of the prefix of `Packet::EagerFirst`, which precedes the first bytes of its message, in bytes.
pub const EAGER_FIRST_PREFIX: usize = size_of::<u64>();

/// Encodes a packet; the caller appends its payload, if it has one.
pub fn encode(packet: &Packet) -> ControlPacket {
    let header = Header::new;
    let empty = PrefixWriter::new();
    let (header, prefix) = match *packet {
        Packet::Eager { context, tag } => (eager(context, tag), empty),
        Packet::EagerFirst { context, tag, bytes } => (header(EAGER_FIRST, 0, context.0, tag as u32), empty.u64(bytes)),
        Packet::Rts { context, tag, bytes, send, key } => {
            (header(RTS, key.is_some() as u16, context.0, tag as u32), empty.u64(bytes).u32(send).key(&key))
        }
        Packet::RtrReply { context, tag, bytes, rtr } => {
            (header(RTR_REPLY, 0, context.0, tag as u32), empty.u64(bytes).u32(rtr))
        }
        Packet::Data { message, at } => (data(message, at), empty),
        Packet::Cts { send, from, until, key } => {
            (header(CTS, key.is_some() as u16, send, 0), empty.u64(from).u64(until).key(&key))
        }
        Packet::PutDone { message } => (header(PUT_DONE, 0, message, 0), empty),
        Packet::Fin { send } => (header(FIN, 0, send, 0), empty),
        Packet::Rtr { context, tag, capacity, number, accepted } => (
            header(RTR, tag.is_some() as u16, context.0, tag.unwrap_or(0) as u32),
            empty.u64(capacity).u32(number).u32(accepted),
        ),
        Packet::RtrRefusal { number } => (header(RTR_REFUSAL, 0, number, 0), empty),
        Packet::RtrCancel { number, accepted } => (header(RTR_CANCEL, 0, number, accepted), empty),
        Packet::Cancel { send } => (header(CANCEL, 0, send, 0), empty),
        Packet::CancelReply { send, cancelled } => (header(CANCEL_REPLY, cancelled as u16, send, 0), empty),
        Packet::Credit { bytes } => (header(CREDIT, 0, bytes as u32, (bytes >> 32) as u32), empty),
    };
    ControlPacket::new(header, &prefix.0[..prefix.1])
}

struct PrefixReader<'a>(&'a mut dyn Payload);

impl PrefixReader<'_> {
    fn u64(&mut self) -> Option<u64> {
        let mut bytes = [0; 8];
        self.0.read(&mut bytes).then(|| u64::from_le_bytes(bytes))
    }
    /// Reads the rkey whose presence `aux` indicates. None if the rkey is truncated.
    fn key(&mut self, aux: u16) -> Option<Option<BufferKey>> {
        if aux == 1 { Some(Some(BufferKey([self.u64()?, self.u64()?, self.u64()?]))) } else { Some(None) }
    }
    fn u32(&mut self) -> Option<u32> {
        let mut bytes = [0; 4];
        self.0.read(&mut bytes).then(|| u32::from_le_bytes(bytes))
    }
}

/// Decodes the packet of a header that arrived on `lane`, and removes the packet's prefix from the payload. None if
/// it is no packet of this module, is truncated, or names a context of another lane.
pub fn decode(header: &Header, payload: &mut dyn Payload, lane: Lane) -> Option<Packet> {
    let (kind, aux, a, b) = (header.kind(), header.aux(), header.a(), header.b());
    let (context, tag) = (Context(a), b as i32);
    let names_context = matches!(kind, EAGER | EAGER_FIRST | RTS | RTR_REPLY | RTR);
    if names_context && context.lane() != lane {
        return None;
    }
    let mut prefix = PrefixReader(payload);
    Some(match kind {
        EAGER => Packet::Eager { context, tag },
        EAGER_FIRST => Packet::EagerFirst { context, tag, bytes: prefix.u64()? },
        RTS => Packet::Rts { context, tag, bytes: prefix.u64()?, send: prefix.u32()?, key: prefix.key(aux)? },
        RTR_REPLY => Packet::RtrReply { context, tag, bytes: prefix.u64()?, rtr: prefix.u32()? },
        DATA => Packet::Data { message: a, at: (aux as u64) << 32 | b as u64 },
        CTS => Packet::Cts { send: a, from: prefix.u64()?, until: prefix.u64()?, key: prefix.key(aux)? },
        PUT_DONE => Packet::PutDone { message: a },
        FIN => Packet::Fin { send: a },
        RTR => Packet::Rtr {
            context,
            tag: (aux == 1).then_some(tag),
            capacity: prefix.u64()?,
            number: prefix.u32()?,
            accepted: prefix.u32()?,
        },
        RTR_REFUSAL => Packet::RtrRefusal { number: a },
        RTR_CANCEL => Packet::RtrCancel { number: a, accepted: b },
        CANCEL => Packet::Cancel { send: a },
        CANCEL_REPLY => Packet::CancelReply { send: a, cancelled: aux == 1 },
        CREDIT => Packet::Credit { bytes: a as u64 | (b as u64) << 32 },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::SharedMem;

    struct TestPayload(Vec<u8>, usize);

    impl Payload for TestPayload {
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
            Packet::EagerFirst { context, tag: 3, bytes: 1 << 40 },
            Packet::Rts { context, tag: 3, bytes: 1 << 40, send: 9, key: None },
            Packet::Rts { context, tag: 3, bytes: 1 << 40, send: 9, key: Some(BufferKey([1, 2, u64::MAX])) },
            Packet::RtrReply { context, tag: 3, bytes: 5, rtr: 77 },
            Packet::Data { message: 4, at: (1 << 48) - 1 },
            Packet::Cts { send: 4, from: 1, until: u64::MAX, key: None },
            Packet::Cts { send: 4, from: 1, until: u64::MAX, key: Some(BufferKey([1, u64::MAX, 3])) },
            Packet::PutDone { message: 4 },
            Packet::Fin { send: 4 },
            Packet::Rtr { context, tag: None, capacity: 1 << 50, number: 3, accepted: 8 },
            Packet::Rtr { context, tag: Some(0), capacity: 1, number: 3, accepted: 8 },
            Packet::RtrRefusal { number: 3 },
            Packet::RtrCancel { number: 3, accepted: 4 },
            Packet::Cancel { send: 3 },
            Packet::CancelReply { send: 3, cancelled: true },
            Packet::CancelReply { send: 3, cancelled: false },
            Packet::Credit { bytes: 1 << 33 },
        ];
        for packet in packets {
            let control = encode(&packet);
            let mut payload = TestPayload(control.prefix().to_vec(), 0);
            assert_eq!(decode(&control.header, &mut payload, context.lane()), Some(packet));
            assert_eq!(payload.len(), 0);
        }
    }

    #[test]
    fn a_context_of_another_lane_is_none() {
        let none = |context| decode(&eager(context, 0), &mut TestPayload(vec![], 0), Lane(0)).is_none();
        assert!(!none(Context(0)));
        assert!(none(Context::new(1, 0)));
        assert!(!none(Context::new(0, Context::GENERATIONS - 1)));
    }

    #[test]
    fn a_short_or_unknown_packet_is_none() {
        let control = encode(&Packet::Cts { send: 4, from: 1, until: 2, key: None });
        assert_eq!(decode(&control.header, &mut TestPayload(vec![0; 15], 0), Lane(0)), None);
        let control = encode(&Packet::Cts { send: 4, from: 1, until: 2, key: Some(BufferKey([1, 2, 3])) });
        assert_eq!(decode(&control.header, &mut TestPayload(vec![0; 39], 0), Lane(0)), None, "a key that is cut short");
        assert_eq!(decode(&Header::new(200, 0, 0, 0), &mut TestPayload(vec![], 0), Lane(0)), None);
    }
}
