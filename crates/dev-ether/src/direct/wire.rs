//! The format of a direct connection, and of the control messages about it that go by link (P36, P37 of
//! docs/protocol.md).
//!
//! Used by `sender` and `receiver`; uses `link::frame::JobKey`.

use hawser_device::{Header, PREFIX_MAX};
use hawser_link::Seq;
use hawser_link::frame::{JobKey, PeerPair};

/// Bytes of a part header, which precedes each part of a message.
pub const PART_HEADER_BYTES: usize = 40;

/// Bytes between a padded part header and its part.
pub const PADDING_BYTES: usize = 64;

/// The bits of byte 24 of a part header.
const IS_ORDERED: u8 = 1;
const IS_PADDED: u8 = 2;

/// The channel of link for control messages about direct connections: no lane has this number.
pub const CHANNEL: u8 = 255;

/// Values of `kind` on that channel: QUERY, CLOSE, POSITION and CLOSED of P37.
const QUERY: u8 = 1;
const CLOSE: u8 = 2;
const POSITION: u8 = 3;
const CLOSED: u8 = 4;

/// A control message of the sending end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SenderControl {
    /// Queries how many bytes the peer has read.
    Query { number: u32 },
    /// Requests that the peer read the bytes that have arrived, and no more.
    Close { number: u32 },
}

/// A control message of the receiving end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiverControl {
    Position { number: u32, count: u64 },
    Closed { number: u32, count: u64 },
}

/// The role of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartKind {
    /// Bytes of a zero-copy send, whose sender waits for their report.
    ZeroCopy,
    /// A direct packet (`order`), delivered as a whole: its prefix, and no payload.
    Packet,
    /// The rest of the message that the packet before it has begun.
    PacketRest,
}

impl PartKind {
    fn decode(byte: u8) -> Option<PartKind> {
        [PartKind::ZeroCopy, PartKind::Packet, PartKind::PacketRest].into_iter().find(|&kind| kind as u8 == byte)
    }
}

/// A report of the other connection between the same ranks, on which they have the opposite roles: the bytes that were
/// read on it. Only the low bits are stated: 8 of the connection's number, and 40 of the count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadReport {
    number_low: u8,
    count_low: u64,
}

const COUNT_BITS: u32 = 40;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

impl ReadReport {
    pub fn new(number: u32, count: u64) -> ReadReport {
        ReadReport { number_low: number as u8, count_low: count & COUNT_MASK }
    }

    /// Returns the count, if the report is about connection `number`, and the count is higher than `known` by less than
    /// 512 GiB. A report that came late states less than is known.
    pub fn count_beyond(self, number: u32, known: u64) -> Option<u64> {
        let news = self.count_low.wrapping_sub(known) & COUNT_MASK;
        let is_news = self.number_low == number as u8 && news > 0 && news < 1 << (COUNT_BITS - 1);
        is_news.then_some(known + news)
    }

    fn encode(self) -> [u8; 6] {
        let [a, b, c, d, e, ..] = self.count_low.to_le_bytes();
        [self.number_low, a, b, c, d, e]
    }

    /// Reads a report. Connections are numbered from 1 on: a number whose low bits are 0 means none, even if it is that
    /// of a connection.
    fn decode([number_low, a, b, c, d, e]: [u8; 6]) -> Option<ReadReport> {
        let count_low = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
        (number_low != 0).then_some(ReadReport { number_low, count_low })
    }
}

/// The contents of a part header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartHeader {
    pub kind: PartKind,
    pub lane: u8,
    pub header: Header,
    pub after: Option<Seq>,
    pub len: u64,
    /// The CRC32C of a packet's prefix, so that the tag covers it; 0 in any other part.
    pub prefix_crc: u32,
    /// The bytes that the sender of the part has read on the connection of the other direction.
    pub report: Option<ReadReport>,
    /// Whether PADDING_BYTES bytes follow the header before the part, which nobody reads.
    pub is_padded: bool,
}

/// The first byte of the part behind its header.
pub fn part_start(is_padded: bool) -> usize {
    PART_HEADER_BYTES + if is_padded { PADDING_BYTES } else { 0 }
}

/// Returns the tag of a part header at byte `start` of connection `number`.
fn tag(header: &[u8], (number, start): (u32, u64), (key, peer_pair): (&JobKey, PeerPair)) -> [u8; 8] {
    let mut covered = [0; PART_HEADER_BYTES + 4];
    covered[..PART_HEADER_BYTES - 8].copy_from_slice(&header[..PART_HEADER_BYTES - 8]);
    covered[PART_HEADER_BYTES - 8..PART_HEADER_BYTES].copy_from_slice(&start.to_le_bytes());
    covered[PART_HEADER_BYTES..].copy_from_slice(&number.to_le_bytes());
    key.tag_of(&covered, peer_pair).to_le_bytes()
}

pub fn encode_part_header(
    part: PartHeader,
    position: (u32, u64),
    tag_key: (&JobKey, PeerPair),
) -> [u8; PART_HEADER_BYTES] {
    let PartHeader { kind, lane, header, after, len, prefix_crc, report, is_padded } = part;
    let flags = if after.is_some() { IS_ORDERED } else { 0 } | if is_padded { IS_PADDED } else { 0 };
    let mut bytes = [0; PART_HEADER_BYTES];
    bytes[..2].copy_from_slice(&[header.kind(), lane]);
    bytes[2..4].copy_from_slice(&header.aux().to_le_bytes());
    bytes[4..8].copy_from_slice(&header.a().to_le_bytes());
    bytes[8..12].copy_from_slice(&header.b().to_le_bytes());
    bytes[12..16].copy_from_slice(&after.map_or(0, |behind| behind.0).to_le_bytes());
    bytes[16..24].copy_from_slice(&(len | u64::from(prefix_crc) << 32).to_le_bytes());
    bytes[24..26].copy_from_slice(&[flags, kind as u8]);
    bytes[26..32].copy_from_slice(&report.map_or([0; 6], ReadReport::encode));
    let tag = tag(&bytes, position, tag_key);
    bytes[32..].copy_from_slice(&tag);
    bytes
}

/// Reads a part header. None: it is not the peer's, not for this position, or malformed (such as a part of no bytes).
pub fn parse_part_header(
    bytes: &[u8; PART_HEADER_BYTES],
    position: (u32, u64),
    tag_key: (&JobKey, PeerPair),
) -> Option<PartHeader> {
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let kind = PartKind::decode(bytes[25])?;
    let (len, prefix_crc) = match kind {
        PartKind::Packet => (u64::from(word(16)), word(20)),
        PartKind::ZeroCopy | PartKind::PacketRest => (u64::from(word(16)) | u64::from(word(20)) << 32, 0),
    };
    let is_possible = kind != PartKind::Packet || len <= PREFIX_MAX as u64;
    let is_valid = bytes[24] <= (IS_ORDERED | IS_PADDED) && len > 0 && len <= i64::MAX as u64 && is_possible;
    if bytes[32..] != tag(bytes, position, tag_key) || !is_valid {
        return None;
    }
    let header = Header::new(bytes[0], u16::from_le_bytes([bytes[2], bytes[3]]), word(4), word(8));
    let after = (bytes[24] & IS_ORDERED != 0).then_some(Seq(word(12)));
    let is_padded = bytes[24] & IS_PADDED != 0;
    let report = ReadReport::decode([bytes[26], bytes[27], bytes[28], bytes[29], bytes[30], bytes[31]]);
    Some(PartHeader { kind, lane: bytes[1], header, after, len, prefix_crc, report, is_padded })
}

/// Converts a control message into a packet for link: the packet's header, and the count behind it.
pub fn sender_packet(control: SenderControl) -> (Header, [u8; 8]) {
    let (kind, a) = match control {
        SenderControl::Query { number } => (QUERY, number),
        SenderControl::Close { number } => (CLOSE, number),
    };
    (Header::new(kind, 0, a, 0), [0; 8])
}

pub fn receiver_packet(control: ReceiverControl) -> (Header, [u8; 8]) {
    let (kind, a, count) = match control {
        ReceiverControl::Position { number, count } => (POSITION, number, count),
        ReceiverControl::Closed { number, count } => (CLOSED, number, count),
    };
    (Header::new(kind, 0, a, 0), count.to_le_bytes())
}

/// A control message of either end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DirectControl {
    Sender(SenderControl),
    Receiver(ReceiverControl),
}

/// Reads a control message from a packet's header and the count behind it. None if the packet has an unknown kind.
pub fn parse_control(header: &Header, count: u64) -> Option<DirectControl> {
    let number = header.a();
    Some(match header.kind() {
        QUERY => DirectControl::Sender(SenderControl::Query { number }),
        CLOSE => DirectControl::Sender(SenderControl::Close { number }),
        POSITION => DirectControl::Receiver(ReceiverControl::Position { number, count }),
        CLOSED => DirectControl::Receiver(ReceiverControl::Closed { number, count }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER_PAIR: PeerPair = PeerPair { from: 1, to: 2 };

    /// P37
    #[test]
    fn a_front_is_read_at_its_place_alone_and_no_bit_of_it_may_differ() {
        let key = JobKey::new([7; 16]);
        let header = Header::new(5, 6, 7, 8);
        let report = Some(ReadReport::new(7, 1 << 30));
        let rest = PartKind::PacketRest;
        let after = Some(Seq(9));
        let part =
            PartHeader { kind: rest, lane: 3, header, after, len: 1 << 40, prefix_crc: 0, report, is_padded: false };
        let bytes = encode_part_header(part, (4, 1000), (&key, PEER_PAIR));
        assert_eq!(parse_part_header(&bytes, (4, 1000), (&key, PEER_PAIR)), Some(part));
        assert_eq!(parse_part_header(&bytes, (5, 1000), (&key, PEER_PAIR)), None, "another connection");
        assert_eq!(parse_part_header(&bytes, (4, 1001), (&key, PEER_PAIR)), None, "another position");
        assert_eq!(parse_part_header(&bytes, (4, 1000), (&key, PeerPair { from: 2, to: 1 })), None, "sent back");
        for bit in 0..8 * PART_HEADER_BYTES {
            let mut corrupted = bytes;
            corrupted[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse_part_header(&corrupted, (4, 1000), (&key, PEER_PAIR)), None, "bit {bit}");
        }
        let none =
            |part| parse_part_header(&encode_part_header(part, (4, 0), (&key, PEER_PAIR)), (4, 0), (&key, PEER_PAIR));
        assert_eq!(none(PartHeader { len: 0, ..part }), None, "no bytes");
        let packet = PartHeader { kind: PartKind::Packet, len: PREFIX_MAX as u64, prefix_crc: 1 << 31, ..part };
        assert_eq!(none(packet), Some(packet));
        assert_eq!(none(PartHeader { len: packet.len + 1, ..packet }), None, "a packet that is no prefix");
        for (after, is_padded) in [(None, true), (Some(Seq(9)), true), (None, false)] {
            let flagged = PartHeader { after, is_padded, ..part };
            assert_eq!(none(flagged), Some(flagged));
        }
    }

    /// A report states low bits alone; what is no news is ignored.
    #[test]
    fn a_report_counts_from_what_is_known() {
        let beyond = |count, known| ReadReport::new(5, count).count_beyond(5, known);
        assert_eq!(beyond(1000, 900), Some(1000));
        assert_eq!([beyond(1000, 1000), beyond(900, 1000), beyond(0, 1 << 41)], [None; 3]);
        assert_eq!(beyond((1 << 40) + 7, (1 << 40) - 3), Some((1 << 40) + 7));
        assert_eq!(beyond(1 << 39, 0), None, "too far");
        assert_eq!(ReadReport::new(6, 1000).count_beyond(5, 900), None, "another connection");
    }

    #[test]
    fn words_come_back_as_they_were() {
        let number = 77;
        for control in [SenderControl::Query { number }, SenderControl::Close { number }] {
            let (header, count) = sender_packet(control);
            assert_eq!(parse_control(&header, u64::from_le_bytes(count)), Some(DirectControl::Sender(control)));
        }
        for control in
            [ReceiverControl::Position { number, count: 1 << 50 }, ReceiverControl::Closed { number, count: 5 }]
        {
            let (header, count) = receiver_packet(control);
            assert_eq!(parse_control(&header, u64::from_le_bytes(count)), Some(DirectControl::Receiver(control)));
        }
        assert_eq!(parse_control(&Header::new(9, 0, 0, 0), 0), None);
    }
}
