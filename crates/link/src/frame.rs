//! The frame: 32 bytes of header and a payload, its encoding, and the checks that authenticate it.
//!
//! `Frame` wraps bytes of any origin; only `Frame::check` proves that a peer of this job wrote them. Each error has a
//! name of its own, by which it is counted (P3). Used by the frame ports and `path`.

use crate::planted::{Bug, planted};
use crate::seq::Seq;
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use std::ops::Range;

/// The length of a header, in bytes.
pub const HEADER: usize = 32;
/// The longest payload, in bytes: UDP's, which is the longest of all ports.
pub const PAYLOAD_MAX: usize = 65_507 - HEADER;
/// Bytes at the front of a payload that its CRC covers in every frame (P6): all bytes on which the receiver acts. These
/// are a record (12 bytes) and the longest front of a packet (52), which `dev-ether` asserts.
pub const COVERED: usize = 64;
/// The version of the protocol; frames of an older or newer one are dropped (P3). Since 2 the CRC covers the front of
/// every payload.
pub const VERSION: u8 = 2;

/// The positions of the fields of a header. All integers are little-endian (P1).
mod field {
    use std::ops::Range;
    pub const FORM: usize = 0;
    pub const FLAGS: usize = 1;
    pub const LENGTH: Range<usize> = 2..4;
    pub const PATH: Range<usize> = 4..8;
    pub const SEQUENCE: Range<usize> = 8..12;
    pub const EXPECTED: Range<usize> = 12..16;
    pub const CREDIT: Range<usize> = 16..18;
    pub const OPEN: Range<usize> = 18..20;
    pub const CRC: Range<usize> = 20..24;
    pub const TAG: Range<usize> = 24..32;
    const _: () = assert!(TAG.end == super::HEADER);
}

/// The kind of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Opens a path; sent by a process that has something to send.
    Hello = 1,
    /// The reply to HELLO.
    Welcome = 2,
    /// Carries records, and has a number.
    Data = 3,
    /// Reports the frames that arrived beyond `expected`; has no number.
    Ack = 4,
}

impl Kind {
    fn of(form: u8) -> Option<Kind> {
        [Kind::Hello, Kind::Welcome, Kind::Data, Kind::Ack].into_iter().find(|&kind| kind as u8 == form & 15)
    }
}

/// The flags of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(u8);

impl Flags {
    /// A frame before the sender's last ones is missing: LOSE of Go-Back-N for PM (P12).
    pub const LOSE: Flags = Flags(1);
    /// The sender of this flag takes no payload until it sends a frame without it: STOP, and GO (P20).
    pub const STOP: Flags = Flags(2);
    /// Requests an immediate acknowledgement (P17).
    pub const ASK: Flags = Flags(4);
    /// The CRC covers the front of the payload alone: the medium checks the rest (P6).
    pub const UNCHECKED: Flags = Flags(8);

    const ALL: u8 = 15;

    #[inline]
    pub fn has(self, flag: Flags) -> bool {
        self.0 & flag.0 != 0
    }
}

impl std::ops::BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// The part of a payload that its CRC covers (P6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cover {
    All,
    /// The first COVERED bytes.
    Front,
}

impl Cover {
    #[inline]
    fn of(self, payload: &[u8]) -> &[u8] {
        match self {
            Cover::All => payload,
            Cover::Front => &payload[..payload.len().min(COVERED)],
        }
    }
}

/// The sender and the receiver of a frame: names of processes (`Peer`). They are in the tag and not in the frame (P5),
/// so that no frame to or from one incarnation of a number is taken for another's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    pub from: u32,
    pub to: u32,
}

/// The job's secret.
#[derive(Clone)]
pub struct Key([u8; 16]);

impl Key {
    pub fn new(secret: [u8; 16]) -> Key {
        Key(secret)
    }

    /// Derives a number from the secret for another purpose; the secret cannot be computed from it.
    pub fn derive(&self, purpose: &[u8]) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(b"hawser derives ");
        hasher.write(purpose);
        hasher.finish()
    }

    /// The keyed tag of words between two ranks that are no header, and must not be as long as one (P36).
    pub fn tag_of(&self, words: &[u8], ends: Ends) -> u64 {
        assert!(words.len() != field::TAG.start, "they could be taken for a header");
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(words);
        hasher.write(&ends.from.to_le_bytes());
        hasher.write(&ends.to.to_le_bytes());
        hasher.finish()
    }

    /// The keyed tag of a header between two ranks (P5).
    fn tag(&self, header: &[u8], ends: Ends) -> u64 {
        // Hashed in one piece: part by part it takes twice as long (44 ns per frame).
        const FRONT: usize = field::TAG.start;
        let mut said = [0; FRONT + 8];
        said[..FRONT].copy_from_slice(&header[..FRONT]);
        said[FRONT..FRONT + 4].copy_from_slice(&ends.from.to_le_bytes());
        said[FRONT + 4..].copy_from_slice(&ends.to.to_le_bytes());
        SipHasher24::new_with_key(&self.0).hash(&said)
    }
}

/// The contents of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    pub kind: Kind,
    pub flags: Flags,
    /// The receiver's number of the path.
    pub path: u32,
    /// The frame's own number; 0 for a frame without one.
    pub sequence: Seq,
    /// All frames before this one have arrived at the sender of this frame.
    pub expected: Seq,
    /// The frames for which the sender of this frame has room, beyond the last one that arrived at it (P21).
    pub credit: u16,
    /// The distance from `sequence` back to the oldest number that is still open (P19).
    pub open: u16,
}

impl Head {
    /// Encodes the header of a frame with this payload.
    pub fn write(&self, key: &Key, ends: Ends, payload: &[u8], cover: Cover) -> [u8; HEADER] {
        let length = payload.len();
        assert!(length <= PAYLOAD_MAX, "a payload of {length} bytes");
        let mut header = [0; HEADER];
        let flags = match cover {
            Cover::All => self.flags,
            Cover::Front => self.flags | Flags::UNCHECKED,
        };
        header[field::FORM] = VERSION << 4 | self.kind as u8;
        header[field::FLAGS] = flags.0;
        header[field::LENGTH].copy_from_slice(&(length as u16).to_le_bytes());
        header[field::PATH].copy_from_slice(&self.path.to_le_bytes());
        header[field::SEQUENCE].copy_from_slice(&self.sequence.0.to_le_bytes());
        header[field::EXPECTED].copy_from_slice(&self.expected.0.to_le_bytes());
        header[field::CREDIT].copy_from_slice(&self.credit.to_le_bytes());
        header[field::OPEN].copy_from_slice(&self.open.to_le_bytes());
        header[field::CRC].copy_from_slice(&crc(cover.of(payload)).to_le_bytes());
        let tag = key.tag(&header, ends);
        header[field::TAG].copy_from_slice(&tag.to_le_bytes());
        header
    }
}

/// CRC32C of a payload, or of its front (P6).
pub fn crc(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// The reason for which a frame was dropped (P3). The frame has changed no state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    /// Shorter than a header.
    Short,
    /// The frame has another version of the protocol.
    Version,
    /// The frame has an unknown kind.
    Kind,
    /// The frame has an unknown flag.
    Flags,
    /// The header states more payload than arrived.
    Length,
    /// The sender is not the expected one: another job, another user, a forger, or the frame was changed in transit.
    Tag,
    /// The payload was changed in transit, where its CRC covers it.
    Crc,
    /// The path is not open.
    Path,
    /// A frame with this number arrived before.
    Again,
    /// The number is beyond the window.
    Beyond,
    /// The frame acknowledges a number that was never sent.
    Nonsense,
    /// The acknowledgement is truncated or too long.
    Ack,
    /// The payload is no fragment of a message (P22).
    Record,
    /// The HELLO opens no valid path (P7).
    Hello,
    /// There was no memory to keep the frame until those before it arrive (P20).
    NoRoom,
}

impl Dropped {
    /// All reasons, in the order in which they are counted.
    pub const ALL: [Dropped; 15] = {
        use Dropped::*;
        [Short, Version, Kind, Flags, Length, Tag, Crc, Path, Again, Beyond, Nonsense, Ack, Record, Hello, NoRoom]
    };

    /// The reason in the words of `--stats`, which describe the dropped frames.
    pub const fn text(self) -> &'static str {
        match self {
            Dropped::Short => "short of a header",
            Dropped::Version => "of another version",
            Dropped::Kind => "of unknown kind",
            Dropped::Flags => "with unknown flags",
            Dropped::Length => "cut off",
            Dropped::Tag => "with a wrong tag",
            Dropped::Crc => "with a wrong CRC",
            Dropped::Path => "of no open path",
            Dropped::Again => "that came again",
            Dropped::Beyond => "beyond the window",
            Dropped::Nonsense => "acknowledging the unsent",
            Dropped::Ack => "with a malformed ACK",
            Dropped::Record => "with no fragment",
            Dropped::Hello => "with no HELLO",
            Dropped::NoRoom => "without room",
        }
    }
}

const _: () = {
    let mut at = 0;
    while at < Dropped::ALL.len() {
        assert!(Dropped::ALL[at] as usize == at);
        at += 1;
    }
    assert!(Dropped::NoRoom as usize + 1 == Dropped::ALL.len());
};

fn half(header: &[u8], field: Range<usize>) -> u16 {
    u16::from_le_bytes(header[field].try_into().expect("a field of two bytes"))
}

fn word(header: &[u8], field: Range<usize>) -> u32 {
    u32::from_le_bytes(header[field].try_into().expect("a field of four bytes"))
}

/// Bytes in the form of a frame. Its contents must not be trusted before `check`.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    header: &'a [u8],
    payload: &'a [u8],
    kind: Kind,
}

impl<'a> Frame<'a> {
    /// Parses received bytes, padding included (P2).
    pub fn of(bytes: &'a [u8]) -> Result<Frame<'a>, Dropped> {
        if bytes.len() < HEADER {
            return Err(Dropped::Short);
        }
        let (header, rest) = bytes.split_at(HEADER);
        if header[field::FORM] >> 4 != VERSION {
            return Err(Dropped::Version);
        }
        let kind = Kind::of(header[field::FORM]).ok_or(Dropped::Kind)?;
        if header[field::FLAGS] & !Flags::ALL != 0 {
            return Err(Dropped::Flags);
        }
        let payload = rest.get(..usize::from(half(header, field::LENGTH))).ok_or(Dropped::Length)?;
        Ok(Frame { header, payload, kind })
    }

    /// The receiver's number of the path; it tells which sender the frame must have.
    pub fn path(&self) -> u32 {
        word(self.header, field::PATH)
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the header and the payload, if the peer at `ends` of this job wrote them (P4).
    pub fn check(&self, key: &Key, ends: Ends) -> Result<(Head, &'a [u8]), Dropped> {
        let tag = u64::from_le_bytes(self.header[field::TAG].try_into().expect("a field of eight bytes"));
        if key.tag(self.header, ends) != tag && !planted(Bug::TagUnchecked) {
            return Err(Dropped::Tag);
        }
        let flags = Flags(self.header[field::FLAGS]);
        // The receiver acts on all bytes of an acknowledgement or HELLO.
        let is_bare = flags.has(Flags::UNCHECKED) && self.kind == Kind::Data;
        let cover = if is_bare { Cover::Front } else { Cover::All };
        let is_right = crc(cover.of(self.payload)) == word(self.header, field::CRC);
        let is_believed = is_bare && planted(Bug::FrontUncovered);
        if !is_right && !is_believed {
            return Err(Dropped::Crc);
        }
        let head = Head {
            kind: self.kind,
            flags,
            path: self.path(),
            sequence: Seq(word(self.header, field::SEQUENCE)),
            expected: Seq(word(self.header, field::EXPECTED)),
            credit: half(self.header, field::CREDIT),
            open: half(self.header, field::OPEN),
        };
        Ok((head, self.payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ENDS: Ends = Ends { from: 3, to: 70_000 };

    fn key() -> Key {
        Key::new(*b"the job's secret")
    }

    fn head() -> Head {
        Head {
            kind: Kind::Data,
            flags: Flags::ASK | Flags::LOSE,
            path: 0x1234_5678,
            sequence: Seq(9),
            expected: Seq(u32::MAX),
            credit: 1 << 15,
            open: 0x0201,
        }
    }

    fn frame(payload: &[u8]) -> Vec<u8> {
        frame_with(Cover::All, payload)
    }

    fn frame_with(cover: Cover, payload: &[u8]) -> Vec<u8> {
        [&head().write(&key(), ENDS, payload, cover)[..], payload].concat()
    }

    fn checked(bytes: &[u8], ends: Ends) -> Result<(Head, Vec<u8>), Dropped> {
        let (head, payload) = Frame::of(bytes)?.check(&key(), ends)?;
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
        assert_eq!(checked(&bytes, ENDS), Ok((head(), b"payload".to_vec())));
    }

    /// P6
    #[test]
    fn of_a_payload_that_the_medium_checks_the_crc_covers_the_front() {
        let payload: Vec<u8> = (0..100).collect();
        let bytes = frame_with(Cover::Front, &payload);
        assert_eq!(bytes[20..24], crc(&payload[..64]).to_le_bytes());
        let (said, came) = checked(&bytes, ENDS).unwrap();
        assert!(said.flags.has(Flags::UNCHECKED) && came == payload);
        let short = frame_with(Cover::Front, b"abd");
        assert_eq!(short[20..24], crc(b"abd").to_le_bytes());
        assert_eq!(checked(&short, ENDS).unwrap().1, b"abd");
    }

    /// P6: if any bit of an unchecked frame differs, all bytes on which the receiver acts are as sent, or the frame is
    /// dropped.
    #[test]
    fn what_is_acted_on_is_covered_in_every_frame() {
        let payload: Vec<u8> = (0..100).collect();
        let bytes = frame_with(Cover::Front, &payload);
        for bit in 0..8 * bytes.len() {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let result = checked(&changed, ENDS);
            match (bit / 8).checked_sub(HEADER) {
                None => assert!(result.is_err(), "bit {bit} of the header"),
                Some(at) if at < COVERED => assert_eq!(result, Err(Dropped::Crc), "bit {bit} in the front"),
                Some(_) => assert_eq!(result.unwrap().1, changed[HEADER..], "bit {bit} behind the front"),
            }
        }
    }

    /// P6: an acknowledgement is covered to its end, whatever its flags say.
    #[test]
    fn an_acknowledgement_is_covered_to_its_end() {
        let (ack, words) = (Head { kind: Kind::Ack, ..head() }, [7; 128]);
        let bytes = [&ack.write(&key(), ENDS, &words, Cover::Front)[..], &words].concat();
        assert_eq!(checked(&bytes, ENDS), Err(Dropped::Crc));
    }

    /// P3
    #[test]
    fn every_way_to_be_wrong_has_a_name() {
        let good = frame(b"payload");
        let changed = |at: usize, to: u8| {
            let mut bytes = good.clone();
            bytes[at] = to;
            checked(&bytes, ENDS).unwrap_err()
        };
        assert_eq!(checked(&good[..HEADER - 1], ENDS), Err(Dropped::Short));
        assert_eq!(checked(&good[..HEADER + 6], ENDS), Err(Dropped::Length));
        assert_eq!(changed(0, 0x13), Dropped::Version);
        assert_eq!((changed(0, 0x20), changed(0, 0x2f)), (Dropped::Kind, Dropped::Kind));
        assert_eq!(changed(1, 0x10), Dropped::Flags);
        assert_eq!(changed(3, 1), Dropped::Length);
        assert_eq!(changed(HEADER, b'q'), Dropped::Crc);
    }

    proptest! {
        /// P4, P5: a frame with any bit of its header changed, or from any other sender, is rejected.
        #[test]
        fn a_changed_header_is_dropped(bit in 0..HEADER * 8, payload: Vec<u8>) {
            let mut bytes = frame(&payload);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(checked(&bytes, ENDS).is_err());
        }

        #[test]
        fn a_frame_of_others_is_dropped(from: u32, to: u32, secret: [u8; 16]) {
            let bytes = frame(b"payload");
            prop_assume!(Ends { from, to } != ENDS && secret != *b"the job's secret");
            prop_assert_eq!(checked(&bytes, Ends { from, to }), Err(Dropped::Tag));
            prop_assert_eq!(Frame::of(&bytes).unwrap().check(&Key::new(secret), ENDS).unwrap_err(), Dropped::Tag);
        }

        /// P3: no bytes make it do more than reject them.
        #[test]
        fn any_bytes_are_looked_at_without_harm(bytes: Vec<u8>) {
            if let Ok(frame) = Frame::of(&bytes) {
                let _ = frame.check(&key(), ENDS);
            }
        }
    }
}
