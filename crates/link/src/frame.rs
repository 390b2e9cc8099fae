//! The frame, a header of 32 bytes and a payload: its encoding, and the checks that authenticate it.
//!
//! `Frame` wraps bytes of any origin; only `Frame::check` proves that a peer of this job wrote them. Each reason for
//! dropping a frame has a name, by which it is counted (P3 of docs/protocol.md). Used by `endpoint`, `connection`,
//! `path`, `established` and others, and by `dev-ether`, whose own tags need `JobKey`; uses `seq`.

use crate::planted::{Bug, planted};
use crate::seq::Seq;
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use std::ops::Range;

/// The length of a header, in bytes.
pub const HEADER_BYTES: usize = 32;
/// The longest payload, in bytes: with the header it fills the longest UDP datagram, and no port has longer frames.
pub const PAYLOAD_MAX: usize = 65_507 - HEADER_BYTES;
/// The number of bytes at the front of a payload that its CRC covers in every frame (P6). All bytes on which the
/// receiver acts are among them: a fragment header (12 bytes), and the longest packet header with its prefix (52
/// bytes), as `dev-ether` asserts.
pub const COVERED_BYTES: usize = 64;
/// The version of the protocol; frames of any other version are dropped (P3). Since version 2 the CRC covers the
/// front of every payload.
pub const VERSION: u8 = 2;

/// The positions of the fields of a header. All integers are little-endian (P1).
mod field {
    use std::ops::Range;
    pub const VERSION_KIND: usize = 0;
    pub const FLAGS: usize = 1;
    pub const LENGTH: Range<usize> = 2..4;
    pub const PATH: Range<usize> = 4..8;
    pub const SEQUENCE: Range<usize> = 8..12;
    pub const EXPECTED: Range<usize> = 12..16;
    pub const CREDIT: Range<usize> = 16..18;
    pub const OPEN: Range<usize> = 18..20;
    pub const CRC: Range<usize> = 20..24;
    pub const TAG: Range<usize> = 24..32;
    const _: () = assert!(TAG.end == super::HEADER_BYTES);
}

/// The kind of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FrameKind {
    /// Opens a path; sent by a process that has something to send.
    Hello = 1,
    /// The reply to HELLO.
    Welcome = 2,
    /// Carries a fragment, or, as a probe, nothing; it has a number.
    Data = 3,
    /// Reports which frames beyond `expected` have arrived; it has no number.
    Ack = 4,
}

impl FrameKind {
    fn of(version_kind: u8) -> Option<FrameKind> {
        [FrameKind::Hello, FrameKind::Welcome, FrameKind::Data, FrameKind::Ack]
            .into_iter()
            .find(|&kind| kind as u8 == version_kind & 15)
    }
}

/// The flags of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameFlags(u8);

impl FrameFlags {
    /// LOSE of Go-Back-N for PM: at the sender of this flag a frame is missing that later ones have overtaken (P12).
    pub const LOSE: FrameFlags = FrameFlags(1);
    /// STOP: the sender of this flag has no memory for payload that must wait for earlier payload. A frame without
    /// this flag is GO (P20).
    pub const STOP: FrameFlags = FrameFlags(2);
    /// Requests an immediate acknowledgement (P17).
    pub const ACK_NOW: FrameFlags = FrameFlags(4);
    /// The CRC covers only the front of the payload, because the medium checks the rest (P6).
    pub const UNCHECKED: FrameFlags = FrameFlags(8);

    const ALL: u8 = 15;

    #[inline]
    pub fn has(self, flag: FrameFlags) -> bool {
        self.0 & flag.0 != 0
    }
}

impl std::ops::BitOr for FrameFlags {
    type Output = FrameFlags;
    fn bitor(self, other: FrameFlags) -> FrameFlags {
        FrameFlags(self.0 | other.0)
    }
}

/// The part of a payload that its CRC covers (P6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CrcCoverage {
    All,
    /// The first COVERED_BYTES bytes.
    Front,
}

impl CrcCoverage {
    #[inline]
    fn of(self, payload: &[u8]) -> &[u8] {
        match self {
            CrcCoverage::All => payload,
            CrcCoverage::Front => &payload[..payload.len().min(COVERED_BYTES)],
        }
    }
}

/// The sender and the receiver of a frame (each a `Peer`). The tag is computed from them, but the frame does not
/// contain them (P5). So a frame from or to one incarnation of a process number is not taken for a frame of another
/// incarnation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerPair {
    pub from: u32,
    pub to: u32,
}

/// The job's secret.
#[derive(Clone)]
pub struct JobKey([u8; 16]);

impl JobKey {
    pub fn new(secret: [u8; 16]) -> JobKey {
        JobKey(secret)
    }

    /// Derives a number from the secret for another purpose; the secret cannot be computed from it.
    pub fn derive(&self, purpose: &[u8]) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(b"hawser derives ");
        hasher.write(purpose);
        hasher.finish()
    }

    /// The keyed tag of `words`, bytes between two ranks that are no frame header (P36). They must not be as long as
    /// the tagged part of a header, or they could be taken for one.
    pub fn tag_of(&self, words: &[u8], peers: PeerPair) -> u64 {
        assert!(words.len() != field::TAG.start, "they could be taken for a header");
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(words);
        hasher.write(&peers.from.to_le_bytes());
        hasher.write(&peers.to.to_le_bytes());
        hasher.finish()
    }

    /// The keyed tag of a header between two ranks (P5).
    fn tag(&self, header: &[u8], peers: PeerPair) -> u64 {
        // The bytes are hashed in one piece: hashing them part by part takes twice as long (44 ns per frame).
        const FRONT: usize = field::TAG.start;
        let mut hashed = [0; FRONT + 8];
        hashed[..FRONT].copy_from_slice(&header[..FRONT]);
        hashed[FRONT..FRONT + 4].copy_from_slice(&peers.from.to_le_bytes());
        hashed[FRONT + 4..].copy_from_slice(&peers.to.to_le_bytes());
        SipHasher24::new_with_key(&self.0).hash(&hashed)
    }
}

/// The contents of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameHeader {
    pub kind: FrameKind,
    pub flags: FrameFlags,
    /// The receiver's number of the path; in HELLO and WELCOME the sender's process name.
    pub path_number: u32,
    /// The frame's own number; 0 for a frame without one.
    pub sequence: Seq,
    /// The first number of the other direction that has not arrived at the sender of this frame (P12).
    pub expected: Seq,
    /// The receive credit: the number of frames that the sender of this frame accepts beyond the last one that has
    /// arrived at it (P21).
    pub credit: u16,
    /// The distance from `sequence` back to the oldest number that is still open (P19).
    pub open: u16,
}

impl FrameHeader {
    /// Encodes the header of a frame with this payload, CRC and tag included.
    pub fn write(&self, key: &JobKey, peers: PeerPair, payload: &[u8], coverage: CrcCoverage) -> [u8; HEADER_BYTES] {
        let length = payload.len();
        assert!(length <= PAYLOAD_MAX, "a payload of {length} bytes");
        let mut header = [0; HEADER_BYTES];
        let flags = match coverage {
            CrcCoverage::All => self.flags,
            CrcCoverage::Front => self.flags | FrameFlags::UNCHECKED,
        };
        header[field::VERSION_KIND] = VERSION << 4 | self.kind as u8;
        header[field::FLAGS] = flags.0;
        header[field::LENGTH].copy_from_slice(&(length as u16).to_le_bytes());
        header[field::PATH].copy_from_slice(&self.path_number.to_le_bytes());
        header[field::SEQUENCE].copy_from_slice(&self.sequence.0.to_le_bytes());
        header[field::EXPECTED].copy_from_slice(&self.expected.0.to_le_bytes());
        header[field::CREDIT].copy_from_slice(&self.credit.to_le_bytes());
        header[field::OPEN].copy_from_slice(&self.open.to_le_bytes());
        header[field::CRC].copy_from_slice(&crc(coverage.of(payload)).to_le_bytes());
        let tag = key.tag(&header, peers);
        header[field::TAG].copy_from_slice(&tag.to_le_bytes());
        header
    }
}

/// CRC32C of a payload, or of its front (P6).
pub fn crc(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// The reason for which a frame was dropped (P3). Such a frame has no effect, except that a duplicate, and a frame
/// for which there is no memory, are acknowledged at once, and that their own acknowledgements count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// The frame is shorter than a header.
    Short,
    /// The frame has another version of the protocol.
    Version,
    /// The frame has an unknown kind.
    Kind,
    /// The frame has an unknown flag.
    Flags,
    /// The header states more payload than arrived.
    Length,
    /// The tag is wrong: the frame is of another job or another user, is forged, or was changed in transit.
    Tag,
    /// The part of the payload that the CRC covers was changed in transit.
    Crc,
    /// The frame belongs to no open path, or its peer is no peer of ours or was forgotten.
    Path,
    /// A frame with this number arrived before, or the number is closed (P11).
    Duplicate,
    /// The frame reports more open numbers than a window has (P11).
    BeyondWindow,
    /// The frame acknowledges a number that was never sent.
    AckOfUnsent,
    /// The acknowledgement is no whole number of words, or is too long.
    Ack,
    /// The payload is no valid fragment of a message (P22).
    Fragment,
    /// The HELLO opens no valid path (P7).
    Hello,
    /// There was no memory to keep the frame until those before it arrive (P20).
    NoMemory,
}

impl DropReason {
    /// All reasons, in the order in which they are counted.
    pub const ALL: [DropReason; 15] = {
        use DropReason::*;
        [
            Short,
            Version,
            Kind,
            Flags,
            Length,
            Tag,
            Crc,
            Path,
            Duplicate,
            BeyondWindow,
            AckOfUnsent,
            Ack,
            Fragment,
            Hello,
            NoMemory,
        ]
    };

    /// The text of the reason for `--stats`: it follows the words "frames dropped".
    pub const fn text(self) -> &'static str {
        match self {
            DropReason::Short => "short of a header",
            DropReason::Version => "of another version",
            DropReason::Kind => "of unknown kind",
            DropReason::Flags => "with unknown flags",
            DropReason::Length => "with a wrong length",
            DropReason::Tag => "with a wrong tag",
            DropReason::Crc => "with a wrong CRC",
            DropReason::Path => "of no open path",
            DropReason::Duplicate => "as duplicates",
            DropReason::BeyondWindow => "beyond the window",
            DropReason::AckOfUnsent => "acknowledging the unsent",
            DropReason::Ack => "with a malformed ACK",
            DropReason::Fragment => "with an invalid fragment",
            DropReason::Hello => "with an invalid HELLO",
            DropReason::NoMemory => "without memory",
        }
    }
}

const _: () = {
    let mut at = 0;
    while at < DropReason::ALL.len() {
        assert!(DropReason::ALL[at] as usize == at);
        at += 1;
    }
    assert!(DropReason::NoMemory as usize + 1 == DropReason::ALL.len());
};

fn u16_field(header: &[u8], field: Range<usize>) -> u16 {
    u16::from_le_bytes(header[field].try_into().expect("a field of two bytes"))
}

fn u32_field(header: &[u8], field: Range<usize>) -> u32 {
    u32::from_le_bytes(header[field].try_into().expect("a field of four bytes"))
}

/// Bytes that have the form of a frame. Their contents must not be trusted before `check` has succeeded.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    header: &'a [u8],
    payload: &'a [u8],
    kind: FrameKind,
}

impl<'a> Frame<'a> {
    /// Parses received bytes; bytes behind the payload are padding and ignored (P2). An error means that the bytes
    /// have not the form of a frame.
    pub fn parse(bytes: &'a [u8]) -> Result<Frame<'a>, DropReason> {
        if bytes.len() < HEADER_BYTES {
            return Err(DropReason::Short);
        }
        let (header, rest) = bytes.split_at(HEADER_BYTES);
        if header[field::VERSION_KIND] >> 4 != VERSION {
            return Err(DropReason::Version);
        }
        let kind = FrameKind::of(header[field::VERSION_KIND]).ok_or(DropReason::Kind)?;
        if header[field::FLAGS] & !FrameFlags::ALL != 0 {
            return Err(DropReason::Flags);
        }
        let payload = rest.get(..usize::from(u16_field(header, field::LENGTH))).ok_or(DropReason::Length)?;
        Ok(Frame { header, payload, kind })
    }

    /// The receiver's number of the path, which determines the sender that the frame must have; in HELLO and WELCOME
    /// the sender's process name.
    pub fn path_number(&self) -> u32 {
        u32_field(self.header, field::PATH)
    }

    pub fn kind(&self) -> FrameKind {
        self.kind
    }

    /// Returns the header and the payload, if the tag and the CRC prove that the sender in `peers` wrote them, in
    /// this job (P4). The CRC may cover only the front of the payload (P6).
    pub fn check(&self, key: &JobKey, peers: PeerPair) -> Result<(FrameHeader, &'a [u8]), DropReason> {
        let tag = u64::from_le_bytes(self.header[field::TAG].try_into().expect("a field of eight bytes"));
        if key.tag(self.header, peers) != tag && !planted(Bug::TagUnchecked) {
            return Err(DropReason::Tag);
        }
        let flags = FrameFlags(self.header[field::FLAGS]);
        // The receiver acts on all bytes of ACK, HELLO and WELCOME, so their CRC covers the whole payload.
        let is_unchecked = flags.has(FrameFlags::UNCHECKED) && self.kind == FrameKind::Data;
        let coverage = if is_unchecked { CrcCoverage::Front } else { CrcCoverage::All };
        let is_right = crc(coverage.of(self.payload)) == u32_field(self.header, field::CRC);
        let is_believed = is_unchecked && planted(Bug::FrontUncovered);
        if !is_right && !is_believed {
            return Err(DropReason::Crc);
        }
        let head = FrameHeader {
            kind: self.kind,
            flags,
            path_number: self.path_number(),
            sequence: Seq(u32_field(self.header, field::SEQUENCE)),
            expected: Seq(u32_field(self.header, field::EXPECTED)),
            credit: u16_field(self.header, field::CREDIT),
            open: u16_field(self.header, field::OPEN),
        };
        Ok((head, self.payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PEERS: PeerPair = PeerPair { from: 3, to: 70_000 };

    fn key() -> JobKey {
        JobKey::new(*b"the job's secret")
    }

    fn head() -> FrameHeader {
        FrameHeader {
            kind: FrameKind::Data,
            flags: FrameFlags::ACK_NOW | FrameFlags::LOSE,
            path_number: 0x1234_5678,
            sequence: Seq(9),
            expected: Seq(u32::MAX),
            credit: 1 << 15,
            open: 0x0201,
        }
    }

    fn frame(payload: &[u8]) -> Vec<u8> {
        frame_with(CrcCoverage::All, payload)
    }

    fn frame_with(coverage: CrcCoverage, payload: &[u8]) -> Vec<u8> {
        [&head().write(&key(), PEERS, payload, coverage)[..], payload].concat()
    }

    fn checked(bytes: &[u8], peers: PeerPair) -> Result<(FrameHeader, Vec<u8>), DropReason> {
        let (head, payload) = Frame::parse(bytes)?.check(&key(), peers)?;
        Ok((head, payload.to_vec()))
    }

    /// P1, P2: the layout, byte by byte, and padding that a short Ethernet frame has.
    #[test]
    fn a_frame_is_written_as_specified_and_comes_back() {
        let mut bytes = frame(b"payload");
        assert_eq!(bytes[..20], *b"\x23\x05\x07\x00\x78\x56\x34\x12\x09\0\0\0\xff\xff\xff\xff\0\x80\x01\x02");
        assert_eq!(bytes[20..24], crc(b"payload").to_le_bytes());
        assert_eq!(crc(b"123456789"), 0xe306_9283, "the check value of CRC32C");
        bytes.extend([0; 21]);
        assert_eq!(checked(&bytes, PEERS), Ok((head(), b"payload".to_vec())));
    }

    /// P6
    #[test]
    fn of_a_payload_that_the_medium_checks_the_crc_covers_the_front() {
        let payload: Vec<u8> = (0..100).collect();
        let bytes = frame_with(CrcCoverage::Front, &payload);
        assert_eq!(bytes[20..24], crc(&payload[..64]).to_le_bytes());
        let (header, received) = checked(&bytes, PEERS).unwrap();
        assert!(header.flags.has(FrameFlags::UNCHECKED) && received == payload);
        let short = frame_with(CrcCoverage::Front, b"abd");
        assert_eq!(short[20..24], crc(b"abd").to_le_bytes());
        assert_eq!(checked(&short, PEERS).unwrap().1, b"abd");
    }

    /// P6: if any bit of an unchecked frame differs, all bytes on which the receiver acts are as sent, or the frame is
    /// dropped.
    #[test]
    fn what_is_acted_on_is_covered_in_every_frame() {
        let payload: Vec<u8> = (0..100).collect();
        let bytes = frame_with(CrcCoverage::Front, &payload);
        for bit in 0..8 * bytes.len() {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let result = checked(&changed, PEERS);
            match (bit / 8).checked_sub(HEADER_BYTES) {
                None => assert!(result.is_err(), "bit {bit} of the header"),
                Some(at) if at < COVERED_BYTES => assert_eq!(result, Err(DropReason::Crc), "bit {bit} in the front"),
                Some(_) => assert_eq!(result.unwrap().1, changed[HEADER_BYTES..], "bit {bit} behind the front"),
            }
        }
    }

    /// P6: an acknowledgement is covered to its end, whatever its flags are.
    #[test]
    fn an_acknowledgement_is_covered_to_its_end() {
        let (ack, words) = (FrameHeader { kind: FrameKind::Ack, ..head() }, [7; 128]);
        let bytes = [&ack.write(&key(), PEERS, &words, CrcCoverage::Front)[..], &words].concat();
        assert_eq!(checked(&bytes, PEERS), Err(DropReason::Crc));
    }

    /// P3
    #[test]
    fn every_way_to_be_wrong_has_a_name() {
        let good = frame(b"payload");
        let changed = |at: usize, to: u8| {
            let mut bytes = good.clone();
            bytes[at] = to;
            checked(&bytes, PEERS).unwrap_err()
        };
        assert_eq!(checked(&good[..HEADER_BYTES - 1], PEERS), Err(DropReason::Short));
        assert_eq!(checked(&good[..HEADER_BYTES + 6], PEERS), Err(DropReason::Length));
        assert_eq!(changed(0, 0x13), DropReason::Version);
        assert_eq!((changed(0, 0x20), changed(0, 0x2f)), (DropReason::Kind, DropReason::Kind));
        assert_eq!(changed(1, 0x10), DropReason::Flags);
        assert_eq!(changed(3, 1), DropReason::Length);
        assert_eq!(changed(HEADER_BYTES, b'q'), DropReason::Crc);
    }

    proptest! {
        /// P4, P5: a frame with any bit of its header changed, or from any other sender, is rejected.
        #[test]
        fn a_changed_header_is_dropped(bit in 0..HEADER_BYTES * 8, payload: Vec<u8>) {
            let mut bytes = frame(&payload);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(checked(&bytes, PEERS).is_err());
        }

        #[test]
        fn a_frame_of_others_is_dropped(from: u32, to: u32, secret: [u8; 16]) {
            let bytes = frame(b"payload");
            prop_assume!(PeerPair { from, to } != PEERS && secret != *b"the job's secret");
            prop_assert_eq!(checked(&bytes, PeerPair { from, to }), Err(DropReason::Tag));
            prop_assert_eq!(
                Frame::parse(&bytes).unwrap().check(&JobKey::new(secret), PEERS).unwrap_err(),
                DropReason::Tag
            );
        }

        /// P3: no bytes make it do more than reject them.
        #[test]
        fn any_bytes_are_looked_at_without_harm(bytes: Vec<u8>) {
            if let Ok(frame) = Frame::parse(&bytes) {
                let _ = frame.check(&key(), PEERS);
            }
        }
    }
}
