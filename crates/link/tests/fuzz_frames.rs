//! Fuzzes the frames that arrive: any bytes, frames of two ranks of our own job that keep to no rule, repeated frames
//! and our own ones, among sends of ours and time that passes. The invariants after every event:
//! - nothing panics, and no memory is allocated except by HELLO, which opens a path, and by a path's first gap;
//! - a dropped frame has changed nothing: a twin that never got it sends the same from then on (P3);
//! - a delivered message consists of fragments that arrived.
//!
//! At the end, a third rank, which keeps to the protocol, is served as if the others did not exist once they are
//! forgotten, and all memory has been released.

use allocation_counter::measure;
use bolero::{TypeGenerator, check};
use hawser_link::fragment::{FRAGMENT_HEADER_BYTES, FragmentHeader};
use hawser_link::frame::{
    CrcCoverage, DropReason, Frame, FrameFlags, FrameHeader, FrameKind, HEADER_BYTES, JobKey, PeerPair,
};
use hawser_link::{
    Config, Endpoint, FrameSender, LatencyClass, Message, MessageClass, PathId, PortTraits, RemotePort, Seq,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io::IoSlice;

/// This rank, two ranks that the fuzzer plays, and one that keeps to the protocol.
const RANKS: u32 = 4;
const HONEST: u32 = 3;
const PORTS: u8 = 2;
/// The longest frame and the shortest HELLO, in bytes.
const FRAME: usize = 1300;
const SHORT: usize = 548;
const SLOTS: usize = 260;
/// The number of a hostile rank's first frame.
const FIRST: u32 = u32::MAX - 20;
/// The memory that a path may allocate when it is opened, in bytes: tables that double.
const PATH: u64 = 32 << 10;
/// The memory that a path's first gap may allocate, in bytes: a bit for each frame of the window.
const GAP: u64 = 1024 / 8;

#[derive(Clone, Debug, TypeGenerator)]
enum Event {
    /// Any bytes.
    Raw {
        rail: u8,
        bytes: Vec<u8>,
    },
    /// A frame of a rank of this job.
    Shaped(Shaped),
    /// Frames of one rank, each with a message or a part of it, of which the first arrives later.
    Run {
        from: bool,
        rail: u8,
        count: u8,
        skip: u8,
        part: bool,
    },
    /// An ACK for all but our last frames, and for these of those.
    Acked {
        from: bool,
        rail: u8,
        behind: u8,
        bits: u16,
    },
    /// An earlier frame arrives again, or one of ours comes back.
    Again {
        rail: u8,
        number: u8,
    },
    Back {
        rail: u8,
        number: u8,
    },
    Call(Call),
}

/// A frame with numbers near those in use.
#[derive(Clone, Debug, TypeGenerator)]
struct Shaped {
    from: bool,
    rail: u8,
    kind: u8,
    flags: u8,
    /// Bits of the frame's path number that are flipped: it names another path if any is set.
    path: u8,
    sequence: i8,
    expected: i8,
    credit: u8,
    /// Times eight, if it is far.
    open: u8,
    far: bool,
    body: Body,
    wrong: Option<Wrong>,
}

#[derive(Clone, Debug, TypeGenerator)]
enum Body {
    Nothing,
    Hello { number: u8, first: u8, flow: u8, long: bool },
    Record { message: i8, offset: u8, len: u8, total: u8, reserved: u8 },
    Bits(Vec<u64>),
    Any(Vec<u8>),
}

/// A frame that is numbered, next, and right.
const PLAIN: Shaped = Shaped {
    from: false,
    rail: 0,
    kind: 2,
    flags: 0,
    path: 0,
    sequence: 0,
    expected: 0,
    credit: 200,
    open: 0,
    far: false,
    body: Body::Nothing,
    wrong: None,
};

/// A further error of a frame.
#[derive(Clone, Copy, Debug, TypeGenerator)]
enum Wrong {
    Key,
    Ends,
    Crc,
    Longer,
    Bit(u16),
}

#[derive(Clone, Debug, TypeGenerator)]
enum Call {
    Send {
        to: bool,
        len: u16,
        control: bool,
    },
    /// The wire takes this many frames of each run.
    Transmit {
        taken: u8,
    },
    Pass {
        us: u16,
    },
    Open {
        to: bool,
        rail: u8,
    },
    /// If it is 0: otherwise hardly one would stay.
    Forget {
        who: bool,
        never: u8,
    },
    Acknowledge,
    Credit {
        rail: u8,
        frames: u16,
    },
}

/// The frames that an endpoint sends, recorded without an allocation during the test.
struct Tape {
    bytes: Vec<u8>,
    frames: Vec<(u32, PathId, usize)>,
    taken: usize,
}

impl Tape {
    fn new() -> Tape {
        Tape { bytes: Vec::with_capacity(1 << 20), frames: Vec::with_capacity(1 << 12), taken: usize::MAX }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.frames.clear();
    }

    /// Returns the frames by peer and path, each in order.
    fn by_path(&self) -> BTreeMap<(u32, PathId), Vec<Vec<u8>>> {
        let mut all = BTreeMap::<_, Vec<_>>::new();
        let mut at = 0;
        for &(peer, path_id, len) in &self.frames {
            all.entry((peer, path_id)).or_default().push(self.bytes[at..at + len].to_vec());
            at += len;
        }
        all
    }
}

impl FrameSender for Tape {
    fn send(&mut self, peer: u32, path_id: PathId, frames: &[IoSlice<'_>]) -> usize {
        for frame in frames.iter().take(self.taken) {
            assert!(frame.len() <= FRAME);
            self.bytes.extend_from_slice(frame);
            self.frames.push((peer, path_id, frame.len()));
        }
        frames.len().min(self.taken)
    }
}

fn key() -> JobKey {
    JobKey::new(*b"the job's secret")
}

fn endpoint(me: u32) -> Endpoint {
    let config = Config {
        me,
        ranks: RANKS,
        key: key(),
        frame_max: FRAME,
        send_slots: SLOTS,
        reassembly_slots: SLOTS,
        ports: [LatencyClass::Lowest, LatencyClass::Bulk]
            .map(|latency_class| PortTraits {
                latency_class,
                has_full_crc: latency_class == LatencyClass::Lowest,
                ..PortTraits::default()
            })
            .into(),
    };
    let mut endpoint = Endpoint::new(config, 5);
    (0..usize::from(PORTS)).for_each(|port| endpoint.set_receive_capacity(port, 100));
    endpoint
}

fn byte(message: u32, at: usize) -> u8 {
    (message as usize * 7 + at) as u8
}

/// The fuzzer's knowledge of a path: our number for it, our next frame's number and that rank's next one.
#[derive(Clone, Copy)]
struct Known {
    number: u32,
    ours: Seq,
    theirs: Seq,
}

struct Test {
    it: Endpoint,
    /// The twin never gets a dropped frame.
    twin: Endpoint,
    now_ns: u64,
    tape: Tape,
    twin_tape: Tape,
    known: BTreeMap<(u32, PathId), Known>,
    /// Our numbers of paths that had a gap.
    gaps: BTreeSet<u32>,
    received: Vec<Vec<u8>>,
    /// Messages that were delivered before earlier ones.
    early: BTreeSet<(u32, u32)>,
    sent: Vec<Vec<u8>>,
    /// The number of messages of each rank, and whether their bytes may be any.
    messages: [u32; RANKS as usize],
    garbled: bool,
    forgotten: [bool; RANKS as usize],
    /// The delivered bytes, one message behind the other.
    delivered: Vec<u8>,
}

fn rank_of(which: bool) -> u32 {
    1 + u32::from(which)
}

impl Test {
    /// Begins with a path of each rank: events may open others.
    fn new() -> Test {
        let mut test = Test {
            it: endpoint(0),
            twin: endpoint(0),
            now_ns: 1,
            tape: Tape::new(),
            twin_tape: Tape::new(),
            known: BTreeMap::new(),
            gaps: BTreeSet::new(),
            received: Vec::new(),
            early: BTreeSet::new(),
            sent: Vec::new(),
            messages: [0; RANKS as usize],
            garbled: false,
            forgotten: [false; RANKS as usize],
            delivered: Vec::with_capacity(1 << 18),
        };
        for (from, port) in [(false, 0), (true, 1)] {
            let body = Body::Hello { number: 3, first: 0, flow: 0, long: true };
            test.act(&Event::Shaped(Shaped { from, rail: port, kind: 0, body, ..PLAIN }));
        }
        test.transmit(usize::MAX);
        test
    }

    fn act(&mut self, event: &Event) {
        match event {
            Event::Raw { rail, bytes } => self.receive(*rail % PORTS, bytes),
            Event::Shaped(shaped) => {
                let bytes = self.write(shaped);
                // Any bits may be a fragment too, with any bytes in it.
                self.garbled |= matches!(shaped.body, Body::Bits(_) | Body::Any(_)) && shaped.kind % 5 != 4;
                self.receive(shaped.rail % PORTS, &bytes);
            }
            Event::Run { from, rail, count, skip, part } => {
                for n in 0..i8::try_from(*count % 100).expect("it is small") {
                    let (message, total) = (n.wrapping_add((*skip % 8) as i8), if *part { 20 } else { 10 });
                    let body = Body::Record { message, offset: 0, len: 10, total, reserved: 0 };
                    let (from, port) = (*from, *rail);
                    let frame = Shaped { from, rail: port, body, ..PLAIN };
                    self.act(&Event::Shaped(frame));
                }
            }
            Event::Acked { from, rail, behind, bits } => {
                let (from, port, expected) = (*from, *rail, -((*behind % 20) as i8));
                let bits = Body::Bits(vec![u64::from(*bits) & (((1 << (behind % 20)) - 1) >> 1)]);
                self.act(&Event::Shaped(Shaped { from, rail: port, kind: 4, expected, body: bits, ..PLAIN }));
            }
            Event::Again { rail, number } => self.repeat(*rail, *number, false),
            Event::Back { rail, number } => self.repeat(*rail, *number, true),
            Event::Call(call) => self.call(call),
        }
    }

    fn repeat(&mut self, port: u8, number: u8, ours: bool) {
        let tape = if ours { &self.sent } else { &self.received };
        if let Some(at) = tape.len().checked_sub(1 + usize::from(number)) {
            let bytes = tape[at].clone();
            self.receive(port % PORTS, &bytes);
        }
    }

    /// Encodes a frame of a hostile rank.
    fn write(&mut self, shaped: &Shaped) -> Vec<u8> {
        let (from, port) = (rank_of(shaped.from), shaped.rail % PORTS);
        let path_id = PathId { local_port: port, remote_port: port, flow: 0 };
        let unknown = Known { number: 0, ours: Seq(0), theirs: Seq(FIRST) };
        let known = self.known.get(&(from, path_id)).copied().unwrap_or(unknown);
        let kind = [FrameKind::Hello, FrameKind::Welcome, FrameKind::Data, FrameKind::Data, FrameKind::Ack]
            [usize::from(shaped.kind) % 5];
        let near = |seq: Seq, by: i8| seq + i32::from(by) as u32;
        let is_hello = matches!(kind, FrameKind::Hello | FrameKind::Welcome);
        let flag = |bit: u8, flag: FrameFlags| if shaped.flags & bit != 0 { flag } else { FrameFlags::default() };
        let head = FrameHeader {
            kind,
            flags: flag(1, FrameFlags::LOSE) | flag(2, FrameFlags::STOP) | flag(4, FrameFlags::ACK_NOW),
            path_number: if is_hello { from } else { known.number } ^ u32::from(shaped.path),
            sequence: near(known.theirs, shaped.sequence),
            expected: near(known.ours, shaped.expected),
            credit: u16::from(shaped.credit),
            open: u16::from(shaped.open) * if shaped.far { 8 } else { 1 },
        };
        let payload = self.payload(shaped, from, port);
        let coverage = if shaped.flags & 8 != 0 { CrcCoverage::Front } else { CrcCoverage::All };
        self.encode(&head, payload, coverage, shaped.wrong, from)
    }

    fn payload(&self, shaped: &Shaped, from: u32, port: u8) -> Vec<u8> {
        match shaped.body {
            Body::Nothing => vec![],
            Body::Bits(ref words) => words.iter().flat_map(|word| word.to_le_bytes()).collect(),
            Body::Any(ref bytes) => bytes.clone(),
            Body::Hello { number, first, flow, long } => {
                let first = FIRST.wrapping_add(u32::from(first));
                let head =
                    [&u32::from(number).to_le_bytes()[..], &first.to_le_bytes(), &[port, port, flow, 0]].concat();
                let rest = if long { FRAME } else { SHORT } - HEADER_BYTES - head.len();
                [head, vec![0; rest]].concat()
            }
            Body::Record { message, offset, len, total, reserved } => {
                let message = Seq(self.messages[from as usize]) + i32::from(message) as u32;
                let (offset, total) = (u16::from(offset), u16::from(total));
                let mut payload = vec![0; FRAGMENT_HEADER_BYTES];
                FragmentHeader { message, offset, total, channel: 3, order_free: reserved & 2 != 0 }
                    .write(&mut payload);
                payload[FRAGMENT_HEADER_BYTES - 1] = reserved & 1;
                payload.extend((0..usize::from(len)).map(|at| byte(message.0, usize::from(offset) + at)));
                payload
            }
        }
    }

    fn encode(
        &self,
        head: &FrameHeader,
        payload: Vec<u8>,
        coverage: CrcCoverage,
        wrong: Option<Wrong>,
        from: u32,
    ) -> Vec<u8> {
        let mut key = key();
        let mut peers = PeerPair { from, to: 0 };
        let mut covered = payload.clone();
        match wrong {
            Some(Wrong::Key) => key = JobKey::new([9; 16]),
            Some(Wrong::Ends) => peers = PeerPair { from: 0, to: from },
            Some(Wrong::Crc) => covered.iter_mut().for_each(|byte| *byte = !*byte),
            Some(Wrong::Longer) => covered.push(0),
            _ => {}
        }
        let header = head.write(&key, peers, &covered, coverage);
        let mut bytes = [&header[..], &payload].concat();
        if let Some(Wrong::Bit(bit)) = wrong {
            let bit = usize::from(bit) % (8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        bytes
    }

    /// Delivers a frame; to the twin only if it was taken, or has an effect although it is dropped.
    fn receive(&mut self, port: u8, bytes: &[u8]) {
        let Test { it, delivered, now_ns, .. } = self;
        delivered.clear();
        let mut messages = [(0, 0); 300];
        let mut count = 0;
        let mut result = Ok(());
        let memory = measure(|| {
            result = it.handle_frame(port, bytes, *now_ns, &mut |from, _, mut message: Message<'_>| {
                messages[count] = (from, message.len());
                count += 1;
                while let Some(piece) = message.next(usize::MAX) {
                    delivered.extend_from_slice(piece);
                }
            });
        });
        let opens =
            Frame::parse(bytes).is_ok_and(|frame| matches!(frame.kind(), FrameKind::Hello | FrameKind::Welcome));
        let gap = Frame::parse(bytes).ok().filter(|frame| frame.kind() == FrameKind::Data && memory.bytes_total > 0);
        let is_gap = result.is_ok() && gap.is_some_and(|frame| self.gaps.insert(frame.path_number()));
        let warranted = if opens && result.is_ok() { PATH } else { u64::from(is_gap) * GAP };
        assert!(memory.bytes_total <= warranted, "{} bytes for {bytes:?}", memory.bytes_total);
        assert!(result.is_ok() || count == 0, "{bytes:?} was dropped and delivered");
        if matches!(result, Ok(()) | Err(DropReason::Duplicate | DropReason::NoMemory)) {
            let also = self.twin.handle_frame(port, bytes, *now_ns, &mut |_, _, _| {});
            assert_eq!(also, result);
            self.record_received(port, bytes, result.is_ok());
        }
        self.check_messages(&messages[..count], order_free_message(bytes));
        self.received.push(bytes.to_vec());
    }

    /// Advances the state of the rank that sent the frame.
    fn record_received(&mut self, port: u8, bytes: &[u8], taken: bool) {
        let frame = Frame::parse(bytes).expect("it was taken");
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        if frame.kind() == FrameKind::Data && taken {
            for ((_, path_id), known) in &mut self.known {
                if known.number == frame.path_number() && path_id.local_port == port {
                    known.theirs = Seq(word(8)).next();
                }
            }
        }
    }

    /// `placed`: the number of the order-free message that a frame carries.
    fn check_messages(&mut self, messages: &[(u32, usize)], placed: Option<u32>) {
        let mut at = 0;
        for &(from, len) in messages {
            let next = self.messages[from as usize];
            let n = placed.filter(|_| messages.len() == 1).unwrap_or(next);
            let right = (0..len).all(|i| self.delivered[at + i] == byte(n, i));
            assert!(right || self.garbled, "{n} of {from} is not what its fragments contained");
            assert!(self.early.insert((from, n)), "{n} of {from} came twice");
            while self.early.remove(&(from, self.messages[from as usize])) {
                self.messages[from as usize] = self.messages[from as usize].wrapping_add(1);
            }
            at += len;
        }
        assert_eq!(at, self.delivered.len());
    }

    fn call(&mut self, call: &Call) {
        let now_ns = self.now_ns;
        match *call {
            Call::Send { to, len, control } => {
                let total = usize::from(len) % Endpoint::message_max(FRAME);
                let mut sent = vec![];
                for it in [&mut self.it, &mut self.twin] {
                    sent.push(it.send(
                        rank_of(to),
                        1,
                        total,
                        if control { MessageClass::Control } else { MessageClass::OrderFree },
                        |_, into| into.fill(7),
                    ));
                }
                assert_eq!(sent[0], sent[1]);
            }
            Call::Transmit { taken } => self.transmit(usize::from(taken)),
            Call::Pass { us } => self.now_ns += 1000 * u64::from(us),
            Call::Open { to, rail } if !self.forgotten[rank_of(to) as usize] => {
                let path_id = PathId { local_port: rail % PORTS, remote_port: rail % PORTS, flow: 0 };
                self.each(|it| it.open_path(rank_of(to), path_id, RemotePort { nic: 0, frame_max: FRAME }));
            }
            Call::Open { .. } => {}
            Call::Forget { who: which, never } => {
                if never == 0 {
                    self.forget(rank_of(which));
                }
            }
            Call::Acknowledge => self.each(Endpoint::expedite_acks),
            Call::Credit { rail, frames } => {
                self.each(|it| it.set_receive_capacity(usize::from(rail % PORTS), u32::from(frames)))
            }
        }
        assert_eq!(self.it.deadline_ns(), self.twin.deadline_ns(), "at {now_ns}");
    }

    fn each(&mut self, act: impl Fn(&mut Endpoint)) {
        act(&mut self.it);
        act(&mut self.twin);
    }

    fn forget(&mut self, peer: u32) {
        self.forgotten[peer as usize] = true;
        self.each(|it| it.forget(peer));
    }

    fn transmit(&mut self, taken: usize) {
        let Test { it, twin, tape, twin_tape: twins, now_ns, .. } = self;
        (tape.taken, twins.taken) = (taken, taken);
        tape.clear();
        twins.clear();
        let memory = measure(|| it.transmit(*now_ns, tape));
        assert_eq!(memory.bytes_total, 0, "sending allocates no memory");
        twin.transmit(*now_ns, twins);
        let sent = tape.by_path();
        assert_eq!(sent, twins.by_path(), "what was dropped had an effect");
        assert_eq!(it.free_slots(), twin.free_slots());
        for ((peer, path_id), frames) in sent {
            for bytes in frames {
                self.record_sent(peer, path_id, &bytes);
                self.sent.push(bytes);
            }
        }
    }

    /// Records what our frames show to the fuzzer.
    fn record_sent(&mut self, peer: u32, path_id: PathId, bytes: &[u8]) {
        let (head, payload) =
            Frame::parse(bytes).unwrap().check(&key(), PeerPair { from: 0, to: peer }).expect("it is ours");
        let word = |at: usize| u32::from_le_bytes(payload[at..at + 4].try_into().unwrap());
        match head.kind {
            FrameKind::Hello | FrameKind::Welcome => {
                let known = Known { number: word(0), ours: Seq(word(4)), theirs: Seq(FIRST) };
                self.known.entry((peer, path_id)).or_insert(known);
            }
            FrameKind::Data => {
                if let Some(known) = self.known.get_mut(&(peer, path_id)) {
                    known.ours = head.sequence.next();
                }
            }
            FrameKind::Ack => {}
        }
    }

    /// Checks that a rank that keeps to the protocol is served.
    fn check_service(&mut self) {
        (1..HONEST).for_each(|peer| self.forget(peer));
        assert_eq!(self.it.free_slots(), (SLOTS, SLOTS));
        let mut honest = endpoint(HONEST);
        let path_id = PathId { local_port: 1, remote_port: 1, flow: 0 };
        self.it.open_path(HONEST, path_id, RemotePort { nic: 0, frame_max: FRAME });
        let lengths = [0, 5, 1000, 40];
        let (mut here, mut there) = (vec![], vec![]);
        for len in lengths {
            self.it.send(HONEST, 1, len, MessageClass::Payload, |at, into| into.fill(at as u8)).expect("it is taken");
        }
        for _ in 0..100 {
            self.now_ns += 200_000;
            let mut tape = Tape::new();
            self.it.transmit(self.now_ns, &mut tape);
            for bytes in tape.by_path().into_values().flatten() {
                let mut deliver = |_: u32, _: u8, message: Message<'_>| there.push(message.len());
                honest.handle_frame(1, &bytes, self.now_ns, &mut deliver).expect("an honest frame");
            }
            while there.len() > here.len()
                && honest.send(0, 1, lengths[here.len()], MessageClass::Payload, |_, _| {}).is_ok()
            {
                here.push(());
            }
            tape.clear();
            honest.transmit(self.now_ns, &mut tape);
            for bytes in tape.by_path().into_values().flatten() {
                let mut deliver = |_: u32, _: u8, _: Message<'_>| self.messages[HONEST as usize] += 1;
                self.it.handle_frame(1, &bytes, self.now_ns, &mut deliver).expect("an honest frame");
            }
        }
        assert_eq!((&there[..], self.messages[HONEST as usize]), (&lengths[..], lengths.len() as u32));
        assert!(self.it.is_all_acked() && honest.is_all_acked());
        assert_eq!((self.it.free_slots(), honest.free_slots()), ((SLOTS, SLOTS), (SLOTS, SLOTS)));
    }
}

#[test]
fn frames_of_peers() {
    check!().with_type::<Vec<Event>>().with_iterations(3000).for_each(|events| {
        let mut test = Test::new();
        events.iter().for_each(|event| test.act(event));
        test.transmit(usize::MAX);
        test.check_service();
    });
}

/// The number of the order-free message that a frame carries whole.
fn order_free_message(bytes: &[u8]) -> Option<u32> {
    let length = usize::from(u16::from_le_bytes([*bytes.get(2)?, *bytes.get(3)?]));
    let (header, fragment) = FragmentHeader::read(bytes.get(HEADER_BYTES..HEADER_BYTES + length)?).ok()?;
    (header.order_free && fragment.len() == usize::from(header.total)).then_some(header.message.0)
}
