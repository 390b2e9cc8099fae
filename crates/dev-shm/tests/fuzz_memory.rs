//! Fuzzes the contents of shared memory: peers write packets, and overwrite anything.
//!
//! Three ranks in one process; rank 0 reads. Rank 1 sends as it should, rank 2 is the fuzzer, and any word of the
//! rings, pools and words that rank 0 reads may be overwritten at any time. The port is compared with a plain
//! reading of the same bytes in the format that `ring_slot.rs` describes. Invariants:
//! - nothing panics, and the reader does not wait for a writer that has ended;
//! - header, length and bytes are those of the plain reading; bytes that a packet lacks are missing, never made up;
//! - pieces lie in the sender's ring or in a pool of the two, whatever the slot says;
//! - `poll` delivers a bounded number; a peer's end is reported once, and none of its packets is delivered afterwards.

use bolero::{TypeGenerator, check};
use hawser_base::{Lane, Peer, Region, UserMem};
use hawser_dev_shm::ShmDevice;
use hawser_dev_shm::layout::DeviceLayout;
use hawser_device::{
    AtomicOp, AtomicRequest, CompletionToken, Delivery, Device, DevicePort, Header, Payload, PayloadSource, Protocol,
    RemoteError, RemoteKey, SendError, Submitted, Width, WriteSource, conformance,
};
use hawser_job::layout::ARENA_BYTES;
use hawser_job::{ExitKind, HostFacts, ProcessVm, Segment, SegmentSpec};
use std::sync::atomic::Ordering::Relaxed;

const RANKS: usize = 3;
const LAYOUT: DeviceLayout = DeviceLayout { ranks: RANKS };
const READER: usize = 0;

/// The format, as `ring_slot.rs` describes it.
const LINE: usize = 64;
const LINES: usize = 128;
const PREFIX_AT: usize = 16;
const CHUNKS_AT: usize = 56;
const CHUNK: usize = 4096;
const CHUNKS: usize = 8;
const POOL: usize = 256 * CHUNK;
/// 48 bytes in the first slot, 56 in 79 more: the longest packet that a port reads from slots.
const LONGEST_IN_LINES: usize = 48 + 79 * 56;

#[derive(Clone, Debug, TypeGenerator)]
enum Event {
    /// Writes a packet at the position that rank 0 reads next.
    Forge {
        from: bool,
        kind: u8,
        aux: u16,
        a: u32,
        b: u32,
        len: Len,
        form: Form,
        chunks: [u8; CHUNKS],
        lines: u8,
    },
    /// Writes a word of a ring to rank 0.
    Slot {
        from: bool,
        line: u8,
        word: u8,
        value: u64,
    },
    /// Writes a word that both sides use: ring credit, returned chunks, poll bits or notify bits.
    Word {
        which: u8,
        value: Value,
    },
    /// Rank 1 sends as it should.
    Send {
        prefix: u8,
        len: Len,
    },
    /// Rank 0 sends.
    Reply {
        to: bool,
        prefix: u8,
        len: Len,
    },
    /// Rank 1 takes what has arrived.
    Drain,
    Poll(Vec<Take>),
    PollFrom {
        from: bool,
        takes: Vec<Take>,
    },
    /// Reads and writes a peer's memory by a key from a message.
    Reach {
        from: bool,
        kind: u8,
        start: Value,
        len: Value,
        at: Value,
        into: u8,
    },
    /// The host's agent reports that both peers have ended, if the number is a multiple of 32.
    End(u8),
}

#[derive(Clone, Debug, TypeGenerator)]
enum Len {
    Short(u8),
    Any(u16),
}

#[derive(Clone, Debug, TypeGenerator)]
enum Form {
    Lines,
    Chunks(u8),
    /// Chunks of rank 0's own pool.
    ReplyInPlace(u8),
    Any(u16),
}

#[derive(Clone, Debug, TypeGenerator)]
enum Value {
    Near(u8),
    Page(u8),
    Any(u64),
}

/// The form in which the delivery takes a packet's bytes.
#[derive(Clone, Debug, TypeGenerator)]
enum Take {
    Next(u16),
    Read(u16),
    Copy(u16),
}

impl Len {
    fn bytes(&self) -> usize {
        match *self {
            Len::Short(len) => len.into(),
            Len::Any(len) => len.into(),
        }
    }
}

impl Value {
    fn word(&self) -> u64 {
        match *self {
            Value::Near(value) => value.into(),
            Value::Page(page) => u64::from(page) << 20,
            Value::Any(value) => value,
        }
    }
}

/// A packet as the plain reading finds it.
#[derive(Debug)]
struct ReferencePacket {
    header: Header,
    /// The length in the slot.
    len: usize,
    /// The bytes that are there.
    bytes: Vec<u8>,
    lines: u32,
}

fn peek(area: &Region, at: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    area.bytes(at, len).read(&mut bytes);
    bytes
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Returns the slot at `position` of the ring from `sender`, if it has arrived.
fn line(area: &Region, sender: usize, position: u32) -> Option<Vec<u8>> {
    let line = peek(area, LAYOUT.ring(READER, 0, sender) + position as usize % LINES * LINE, LINE);
    (line[0] == generation(position)).then_some(line)
}

fn generation(position: u32) -> u8 {
    (position / LINES as u32).wrapping_add(1) as u8
}

fn reference_packet(area: &Region, sender: usize, tail: u32) -> Option<ReferencePacket> {
    let first = line(area, sender, tail)?;
    let (one, two) = (word(&first, 0), word(&first, 8));
    let header = Header::new(first[1], (one >> 16) as u16, two as u32, (two >> 32) as u32);
    let (len, form) = ((one >> 32) as u16 as usize, (one >> 48) as u16);
    if form >> 15 == 1 {
        let prefix = usize::from(form & 0x3f).min(CHUNKS_AT - PREFIX_AT);
        let len = len.min(CHUNKS * CHUNK);
        let owner = if form >> 14 & 1 == 1 { READER } else { sender };
        let mut bytes = first[PREFIX_AT..PREFIX_AT + prefix].to_vec();
        for (number, at) in first[CHUNKS_AT..].iter().zip((0..len).step_by(CHUNK)) {
            let chunk = LAYOUT.pool(owner, 0) + usize::from(*number) * CHUNK;
            bytes.extend(peek(area, chunk, CHUNK.min(len - at)));
        }
        return Some(ReferencePacket { header, len: bytes.len(), bytes, lines: 1 });
    }
    let len = len.min(LONGEST_IN_LINES);
    let lines = 1 + len.saturating_sub(48).div_ceil(56) as u32;
    let mut bytes = first[PREFIX_AT..].to_vec();
    for further in (1..lines).map_while(|i| line(area, sender, tail.wrapping_add(i))) {
        bytes.extend(&further[8..]);
    }
    bytes.truncate(len);
    Some(ReferencePacket { header, len, bytes, lines })
}

/// Takes packets as `takes` lists and compares them with the plain reading.
struct Checker<'a> {
    area: &'a Region,
    tails: &'a mut [u32; RANKS],
    lost: &'a mut [bool; RANKS],
    takes: &'a [Take],
    count: usize,
}

impl Checker<'_> {
    /// Checks that one piece lies in the sender's ring, or in a pool of the two.
    fn check_place(&self, sender: usize, at: usize, len: usize) {
        let inside = |first: usize, room: usize| {
            let first = self.area.bytes(first, room).as_ptr().addr();
            at >= first && at + len <= first + room
        };
        let pools = [sender, READER].map(|owner| LAYOUT.pool(owner, 0));
        let known = inside(LAYOUT.ring(READER, 0, sender), LINES * LINE) || pools.iter().any(|&at| inside(at, POOL));
        assert!(known, "a piece of {len} bytes lies elsewhere");
    }
}

impl Delivery for Checker<'_> {
    fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload) {
        self.count += 1;
        let sender = from.index();
        assert!(!self.lost[sender], "a packet of {from}, who is lost");
        let plain = reference_packet(self.area, sender, self.tails[sender]).expect("a packet that is not there");
        self.tails[sender] = self.tails[sender].wrapping_add(plain.lines);
        assert_eq!((header, payload.len()), (plain.header, plain.len));
        let mut rest = &plain.bytes[..];
        for take in self.takes {
            let before = payload.len();
            let taken = match *take {
                Take::Next(max) => match payload.next(max.into()) {
                    Some(piece) => {
                        assert!(!piece.is_empty() && piece.len() <= max.into());
                        self.check_place(sender, piece.as_ptr().addr(), piece.len());
                        let mut bytes = vec![0; piece.len()];
                        piece.read(&mut bytes);
                        Some(bytes)
                    }
                    None if max == 0 => continue,
                    None => None,
                },
                Take::Read(len) => {
                    let mut bytes = vec![0; len.into()];
                    payload.read(&mut bytes).then_some(bytes)
                }
                Take::Copy(len) => {
                    let mut bytes = vec![0; len.into()];
                    payload.copy_to(UserMem::of_slice(&mut bytes)).then_some(bytes)
                }
            };
            match (taken, take) {
                (Some(taken), _) => {
                    assert_eq!(payload.len(), before - taken.len());
                    assert_eq!(taken, rest[..taken.len()]);
                    rest = &rest[taken.len()..];
                }
                // No bytes that are there may be refused; the behaviour after a refusal is undefined.
                (None, Take::Next(_)) => return assert!(rest.is_empty()),
                (None, &(Take::Read(len) | Take::Copy(len))) => return assert!(rest.len() < usize::from(len)),
            }
        }
    }

    fn peer_failed(&mut self, peer: Peer) {
        assert!(!self.lost[peer.index()], "{peer} is lost twice");
        self.lost[peer.index()] = true;
    }
}

/// Takes everything, and checks nothing.
struct Sink;

impl Delivery for Sink {
    fn deliver(&mut self, _from: Peer, _header: Header, payload: &mut dyn Payload) {
        while payload.next(1 << 20).is_some() {}
    }
    fn peer_failed(&mut self, _peer: Peer) {}
}

struct Harness {
    segment: Segment,
    area: Region,
    device: ShmDevice,
    reader: Box<dyn DevicePort>,
    sender: Box<dyn DevicePort>,
    tails: [u32; RANKS],
    lost: [bool; RANKS],
    ended: bool,
    /// A world in which no peer has ended.
    living: Living,
}

/// A segment of living ranks, and the port of one that works on their memory.
struct Living {
    area: Region,
    reader: Box<dyn DevicePort>,
}

fn other(second: bool) -> usize {
    1 + usize::from(second)
}

fn segment() -> Segment {
    let facts = HostFacts {
        process_vm: ProcessVm::Allowed,
        through_memory_mb_s: 1000,
        process_vm_mb_s: 2000,
        process_vm_call_ns: 1,
        cores: 64,
        ..HostFacts::default()
    };
    let spec = SegmentSpec { facts, ..SegmentSpec::without_spares("fuzz", "here", RANKS, (0..RANKS as u32).collect()) };
    let segment = Segment::create(&spec).unwrap();
    (0..RANKS).for_each(|rank| segment.rank(rank).set_pid(std::process::id() as i32));
    segment
}

impl Harness {
    fn new() -> Harness {
        let (segment, living) = (segment(), segment());
        let living = Living { area: living.device_area(), reader: ShmDevice::new(living, READER).port(Lane(0)) };
        // Record their ends halfway, so that the reader never waits for a slot that is never written. They are not
        // reported yet (`end`).
        (1..RANKS).for_each(|rank| segment.exit_log().record_half(Peer(rank as u32), ExitKind::Failed));
        let device = ShmDevice::new(segment.clone(), READER);
        Harness {
            area: segment.device_area(),
            reader: device.port(Lane(0)),
            sender: ShmDevice::new(segment.clone(), 1).port(Lane(0)),
            device,
            segment,
            tails: [0; RANKS],
            lost: [false; RANKS],
            ended: false,
            living,
        }
    }

    fn act(&mut self, event: &Event) {
        match *event {
            Event::Forge { from, kind, aux, a, b, ref len, ref form, chunks, lines } => {
                let form = match *form {
                    Form::Lines => 0,
                    Form::Chunks(prefix) => 1 << 15 | u16::from(prefix),
                    Form::ReplyInPlace(prefix) => 3 << 14 | u16::from(prefix),
                    Form::Any(form) => form,
                };
                let one = u64::from(kind) << 8 | u64::from(aux) << 16 | (len.bytes() as u64 & 0xffff) << 32;
                let two = u64::from(a) | u64::from(b) << 32;
                self.forge(other(from), one | u64::from(form) << 48, two, chunks, lines);
            }
            Event::Slot { from, line, word, value } => {
                let line = usize::from(line) % LINES * LINE;
                let at = LAYOUT.ring(READER, 0, other(from)) + line + usize::from(word % 8) * 8;
                self.area.u64(at).store(value, Relaxed);
            }
            Event::Word { which, ref value } => self.area.u64(shared_word(which)).store(value.word(), Relaxed),
            Event::Send { prefix, ref len } => drop(send(&mut self.sender, READER, prefix, len.bytes())),
            Event::Reply { to, prefix, ref len } => {
                let sent = send(&mut self.reader, other(to), prefix, len.bytes());
                assert!(sent != Err(SendError::PeerFailed) || self.lost[other(to)]);
            }
            Event::Drain => drop(self.sender.poll(&mut Sink)),
            Event::Poll(ref takes) => self.poll(takes),
            Event::PollFrom { from, ref takes } => self.poll_from(other(from), takes),
            Event::Reach { from, kind, ref start, ref len, ref at, into } => {
                self.reach(other(from), [u64::from(kind % 4), start.word(), len.word()], at.word(), into.into());
                self.work(other(from), kind, [start.word(), len.word()], at.word(), into.into());
            }
            Event::End(number) if number % 32 == 0 => self.end(),
            Event::End(_) => {}
        }
    }

    /// Writes a first slot at the position that rank 0 reads next, and `lines` slots behind it.
    fn forge(&mut self, sender: usize, one: u64, two: u64, chunks: [u8; CHUNKS], lines: u8) {
        let tail = self.tails[sender];
        for (i, position) in (0..=u32::from(lines)).map(|i| (i, tail.wrapping_add(i))) {
            let at = LAYOUT.ring(READER, 0, sender) + position as usize % LINES * LINE;
            let first = if i == 0 { one } else { 0 } & !0xff | u64::from(generation(position));
            self.area.u64(at).store(first, Relaxed);
            if i == 0 {
                self.area.u64(at + 8).store(two, Relaxed);
                self.area.bytes(at + CHUNKS_AT, CHUNKS).write(&chunks);
            }
        }
        // Mark each chunk, so that its bytes identify it.
        for (owner, number) in [sender, READER].into_iter().flat_map(|owner| chunks.map(|number| (owner, number))) {
            let chunk = self.area.u64(LAYOUT.pool(owner, 0) + usize::from(number) * CHUNK);
            chunk.store(256 * owner as u64 + u64::from(number) + 1, Relaxed);
        }
        let calls = self.area.u64(LAYOUT.notify_bits(READER, 0, sender));
        calls.fetch_or(1 << sender, Relaxed);
    }

    fn checker<'a>(&'a mut self, takes: &'a [Take]) -> (Checker<'a>, &'a mut dyn DevicePort) {
        let Harness { area, reader, tails, lost, .. } = self;
        (Checker { area, tails, lost, takes, count: 0 }, &mut **reader)
    }

    fn poll(&mut self, takes: &[Take]) {
        let (mut checker, port) = self.checker(takes);
        let count = port.poll(&mut checker);
        assert_eq!(count, checker.count);
        // At most 16 per peer that is polled, 16 per peer that notifies, and the rest of its ring when it has
        // ended.
        assert!(count <= (RANKS - 1) * (16 + 16 + LINES));
    }

    fn poll_from(&mut self, sender: usize, takes: &[Take]) {
        let there = !self.lost[sender] && reference_packet(&self.area, sender, self.tails[sender]).is_some();
        let (mut checker, port) = self.checker(takes);
        let found = port.poll_from(Peer(sender as u32), &mut checker);
        assert_eq!((found, checker.count), (there, usize::from(there)));
    }

    fn reach(&mut self, owner: usize, key: [u64; 3], at: u64, len: usize) {
        let (mut bytes, mut zeroes) = (vec![7; len], vec![0; len]);
        let peer = Peer(owner as u32);
        let read = self.device.read(peer, &key, at, UserMem::of_slice(&mut bytes));
        let written = self.device.write(peer, &key, at, PayloadSource::Mem(UserMem::of_slice(&mut zeroes)));
        let [kind, start, room] = key;
        let inside = at.checked_add(len as u64).is_some_and(|end| end <= room);
        let end = start.checked_add(at).and_then(|from| from.checked_add(len as u64));
        let in_arena = inside && end.is_some_and(|end| end <= ARENA_BYTES || len == 0);
        assert_eq!(written, kind == 1 && in_arena, "{key:?} {at} {len}");
        match kind {
            1 => {
                assert_eq!(read, in_arena, "{key:?} {at} {len}");
                assert!(!read || bytes.iter().all(|&byte| byte == 0));
            }
            2 => assert!(inside || !read),
            _ => assert!(!read),
        }
    }

    /// Tests operations by a key whose kind is registered memory in an arena (3), or none (5), on a peer that
    /// lives, or has ended. Its slot 0 holds a registration that still exists, or is over.
    fn work(&mut self, owner: usize, kind: u8, [start, room]: [u64; 2], at: u64, len: usize) {
        let (is_kept, has_ended) = (kind & 2 != 0, kind & 12 == 0);
        let kind = 3 + 2 * u64::from(kind & 1);
        let Harness { living, area, reader, .. } = self;
        let (area, reader) = if has_ended { (&*area, reader) } else { (&living.area, &mut living.reader) };
        area.u64(LAYOUT.registered(owner, 0)).store(2 | u64::from(is_kept), Relaxed);
        let key = RemoteKey([kind | (owner as u64) << 20 | 1 << 32, start, room]);
        let (peer, ticket) = (Peer(owner as u32), CompletionToken { protocol: Protocol::MESSAGES, number: 0 });
        let add = AtomicRequest { op: AtomicOp::Add, width: Width::Eight, operand: 0 };
        let mem = conformance::words(len);
        let read = reader.read(peer, &key, at, mem, ticket);
        let written = reader.write(peer, &key, at, WriteSource::InPlace(mem), ticket);
        let added = reader.atomic(peer, &key, at, add, ticket);
        let expected = |len: u64| {
            let is_inside = at.checked_add(len).is_some_and(|end| end <= room);
            let place = start.checked_add(at).filter(|_| is_inside);
            let is_there = |place: u64| len == 0 || place.checked_add(len).is_some_and(|end| end <= ARENA_BYTES);
            match place {
                _ if has_ended => Err(RemoteError::PeerFailed),
                _ if kind == 5 || !is_kept => Err(RemoteError::InvalidKey),
                None => Err(RemoteError::OutOfBounds),
                Some(place) if !is_there(place) => Err(RemoteError::InvalidKey),
                Some(place) => Ok(place),
            }
        };
        let copied = expected(len as u64).map(|_| Submitted::Done(0));
        assert_eq!((read, written), (copied, copied), "{key:?} {at} {len}");
        match expected(8) {
            Err(fault @ (RemoteError::PeerFailed | RemoteError::OutOfBounds)) => assert_eq!(added, Err(fault)),
            Ok(place) if place % 8 == 0 => assert_eq!(added, Ok(Submitted::Done(0))),
            _ => assert!(
                matches!(added, Err(RemoteError::InvalidKey | RemoteError::Unsupported)),
                "{key:?} {at}: {added:?}"
            ),
        }
    }

    fn end(&mut self) {
        if !self.ended {
            self.ended = true;
            (1..RANKS).for_each(|rank| self.segment.record_exit(Peer(rank as u32), ExitKind::Failed));
        }
    }

    /// Ends the peers: each end is reported once, and none of their packets is delivered any more, whatever the memory
    /// holds.
    fn finish(&mut self) {
        self.end();
        self.poll(&[]);
        assert_eq!(self.lost, [false, true, true]);
        for rank in 1..RANKS {
            self.forge(rank, 0, 0, [0; CHUNKS], 0);
            self.poll_from(rank, &[]);
            assert_eq!(send_until_refused(&mut self.reader, rank), SendError::PeerFailed);
        }
        self.poll(&[]);
    }
}

/// Returns the offset of a word of rank 0's pages or of those that it reads, as a multiple of eight.
fn shared_word(which: u8) -> usize {
    let peer = usize::from(which / 8) % RANKS;
    // A count of slots, and a bit for each chunk.
    let word = usize::from(which / 32) % 5 * 8;
    match which % 5 {
        0 => LAYOUT.credit(READER, 0, peer) + word,
        1 => LAYOUT.credit(peer, 0, READER) + word,
        2 => LAYOUT.poll_bits(READER, 0, peer),
        3 => LAYOUT.poll_bits(peer, 0, READER),
        _ => LAYOUT.notify_bits(READER, 0, peer),
    }
}

fn send(port: &mut Box<dyn DevicePort>, to: usize, prefix: u8, len: usize) -> Result<(), SendError> {
    let prefix: Vec<u8> = (0..prefix % 41).collect();
    let mut bytes: Vec<u8> = (0..len.min(CHUNKS * CHUNK)).map(|at| (at % 251) as u8).collect();
    let source = if bytes.is_empty() { PayloadSource::None } else { PayloadSource::Mem(UserMem::of_slice(&mut bytes)) };
    port.send(Peer(to as u32), Header::new(9, 1, 2, 3), &prefix, source)
}

fn send_until_refused(port: &mut Box<dyn DevicePort>, to: usize) -> SendError {
    (0..=LINES).find_map(|_| send(port, to, 0, 0).err()).expect("a ring is full at last")
}

#[test]
fn memory_of_peers() {
    check!().with_type::<Vec<Event>>().with_iterations(1000).for_each(|events| {
        let mut world = Harness::new();
        events.iter().for_each(|event| world.act(event));
        world.finish();
    });
}
