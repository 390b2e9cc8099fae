//! Checks what any observer on the wire can check: that a CRC covers what it must, and that no frame is accepted whose
//! covered bytes were changed (P6), that numbers have no gaps (P10), are never beyond the window (P11) or the peer's
//! credit (P21), and that hardly any follow STOP (P20). It reads frames by docs/protocol.md, not by the code that wrote
//! them.

use hawser_link::frame::{self, DropReason, HEADER_BYTES};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const DATA: u8 = 3;
const ACK: u8 = 4;
const STOP: u8 = 2;
const UNCHECKED: u8 = 8;
/// Bytes of a payload that are covered in every frame.
const COVERED: usize = 64;

/// A direction of a path: places (rank, rail and flow) of its sender and its receiver.
pub type Direction = (usize, usize);

/// The contents of a frame.
pub struct ParsedFrame<'a> {
    pub kind: u8,
    flags: u8,
    crc: u32,
    pub path: u32,
    sequence: u32,
    expected: u32,
    credit: u16,
    open: u16,
    payload: &'a [u8],
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

impl ParsedFrame<'_> {
    /// Decodes a whole frame.
    pub fn of(frame: &[u8]) -> ParsedFrame<'_> {
        ParsedFrame {
            kind: frame[0] & 15,
            flags: frame[1],
            crc: word(frame, 20),
            path: word(frame, 4),
            sequence: word(frame, 8),
            expected: word(frame, 12),
            credit: half(frame, 16),
            open: half(frame, 18),
            payload: &frame[HEADER_BYTES..HEADER_BYTES + usize::from(half(frame, 2))],
        }
    }

    /// Whether it carries a fragment of a message.
    pub fn is_fragment(&self) -> bool {
        self.kind == DATA && !self.payload.is_empty()
    }

    /// The number behind the last one that it acknowledges.
    fn end(&self) -> u32 {
        if self.kind != ACK {
            return self.expected;
        }
        let last = self.payload.iter().rposition(|&byte| byte != 0);
        let bits = last.map_or(0, |at| 8 * at as u32 + (8 - self.payload[at].leading_zeros()));
        self.expected.wrapping_add(if bits > 0 { bits + 1 } else { 0 })
    }
}

/// The state of a direction.
#[derive(Default)]
struct Known {
    next: Option<u32>,
    /// The credit that HELLO granted, while our first number is unknown; and the first number without credit.
    first_credit: Option<u16>,
    granted: Option<u32>,
    /// Our first number; the end of the credit that our receiver has advertised; and the number behind the last frame
    /// that it took.
    first: Option<u32>,
    advertised: Option<u32>,
    reached: u32,
    stopped: bool,
    /// Frames with payload since `begin`.
    count: u32,
}

impl Known {
    /// Records that our receiver advertises credit.
    fn advertise(&mut self, until: u32) {
        let advertised = self.advertised.get_or_insert(until);
        if until.wrapping_sub(*advertised) as i32 > 0 {
            *advertised = until;
        }
    }

    fn grant(&mut self, until: u32) {
        let granted = self.granted.get_or_insert(until);
        if until.wrapping_sub(*granted) as i32 > 0 {
            *granted = until;
        }
    }
}

/// The monitor of a world. See the module.
#[derive(Default)]
pub struct Monitor {
    known: BTreeMap<Direction, Known>,
    /// The known path numbers of this world.
    numbers: BTreeSet<u32>,
    /// Digests of the parts of unchecked frames that must not change, by direction and number.
    fronts: BTreeMap<(Direction, u32), u64>,
}

/// A digest of the header and of the bytes that the CRC of an unchecked frame covers.
fn front(frame: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(&frame[..frame.len().min(HEADER_BYTES + COVERED)]);
    hasher.finish()
}

impl Monitor {
    /// Whether a path of this world has this number.
    pub fn is_path(&self, number: u32) -> bool {
        self.numbers.contains(&number)
    }

    /// Whether a numbered frame or an acknowledgement has reached the sender of this direction.
    pub fn is_open(&self, direction: Direction) -> bool {
        self.known.get(&direction).is_some_and(|known| known.granted.is_some())
    }

    /// Called when a rank begins to transmit.
    pub fn begin(&mut self) {
        self.known.values_mut().for_each(|known| known.count = 0);
    }

    /// Checks after the rank whose rail is at `places` has transmitted: the credit that it grants there fits its
    /// receive capacity, except for the least that each path gets (P21).
    pub fn check(&self, places: Range<usize>, capacity: u32) {
        let paths = self.known.iter().filter(|(direction, _)| places.contains(&direction.1));
        let frames = |known: &Known| (known.advertised?.wrapping_sub(known.reached) as i32).try_into().ok();
        let granted: Vec<u32> = paths.filter_map(|(_, known)| frames(known)).collect();
        let most = capacity + 2 * granted.len() as u32;
        assert!(granted.iter().sum::<u32>() <= most, "{granted:?} were granted at {places:?} of {capacity} (P21)");
    }

    /// Records that the receiver of this direction has forgotten its sender.
    pub fn forgotten(&mut self, direction: Direction) {
        self.known.entry(direction).or_default().advertised = None;
    }

    /// Checks a frame that is sent, by a rail where payloads are `checked`.
    pub fn sent(&mut self, direction: Direction, frame: &[u8], checked: bool) {
        let frame_fields = ParsedFrame::of(frame);
        let is_bare = !checked && frame_fields.kind == DATA && !frame_fields.payload.is_empty();
        assert_eq!(frame_fields.flags & UNCHECKED != 0, is_bare, "what the CRC of {direction:?} covers (P6)");
        let covered = if is_bare { frame_fields.payload.len().min(COVERED) } else { frame_fields.payload.len() };
        assert_eq!(frame_fields.crc, frame::crc(&frame_fields.payload[..covered]), "the CRC of {direction:?} (P6)");
        if is_bare {
            self.fronts.insert((direction, frame_fields.sequence), front(frame));
        }
        let back = self.known.entry((direction.1, direction.0)).or_default();
        match frame_fields.kind {
            // HELLO grants the least, as its receiver may never get it.
            HELLO => {}
            WELCOME => {
                let first = back.first.expect("WELCOME answers HELLO");
                back.advertise(first.wrapping_add(u32::from(frame_fields.credit)));
            }
            _ => back.advertise(frame_fields.end().wrapping_add(u32::from(frame_fields.credit))),
        }
        let known = self.known.entry(direction).or_default();
        match frame_fields.kind {
            HELLO | WELCOME => {
                self.numbers.insert(word(frame_fields.payload, 0));
                let first = word(frame_fields.payload, 4);
                known.next.get_or_insert(first);
                if known.first.replace(first).is_none() {
                    known.reached = first;
                }
            }
            DATA => {
                let next = *known.next.get_or_insert(frame_fields.sequence);
                assert_eq!(frame_fields.sequence, next, "numbers of {direction:?} (P10)");
                known.next = Some(next.wrapping_add(1));
                assert!(frame_fields.open < 1024, "{} numbers of {direction:?} are open (P10)", frame_fields.open);
                if let Some(credit) = known.first_credit.take() {
                    known.grant(next.wrapping_add(u32::from(credit)));
                }
                if !frame_fields.payload.is_empty() {
                    known.count += 1;
                    let capacity = known.granted.expect("a path is open").wrapping_sub(next) as i32;
                    assert!(capacity > 0, "{direction:?} sends {next} without credit (P21)");
                    assert!(!known.stopped || known.count <= 4, "{direction:?} sends on after STOP (P20)");
                }
            }
            _ => {}
        }
    }

    /// Checks a frame that arrived along `direction`, and its result.
    pub fn on_received(&mut self, direction: Direction, frame: &[u8], result: Result<(), DropReason>) {
        if !matches!(result, Ok(()) | Err(DropReason::Duplicate | DropReason::NoMemory)) {
            return;
        }
        let frame_fields = ParsedFrame::of(frame);
        if frame_fields.flags & UNCHECKED != 0 {
            let sent = self.fronts.get(&(direction, frame_fields.sequence));
            assert_eq!(sent, Some(&front(frame)), "what was acted on of {direction:?} differs (P6)");
        }
        let along = self.known.entry(direction).or_default();
        let end = frame_fields.sequence.wrapping_add(1);
        if frame_fields.kind == DATA
            && result != Err(DropReason::NoMemory)
            && end.wrapping_sub(along.reached) as i32 > 0
        {
            along.reached = end;
        }
        let known = self.known.entry((direction.1, direction.0)).or_default();
        if matches!(frame_fields.kind, HELLO | WELCOME) {
            known.first_credit = known.first_credit.max(Some(frame_fields.credit));
        } else {
            known.stopped = frame_fields.flags & STOP != 0;
            known.grant(frame_fields.end().wrapping_add(u32::from(frame_fields.credit)));
        }
    }
}
