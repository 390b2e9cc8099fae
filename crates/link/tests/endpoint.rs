//! Tests one endpoint against a peer that is written by hand, frame by frame: cases that seeds of the simulator reach
//! too seldom, and cases that they have found.

use hawser_link::fragment::{FRAGMENT_HEADER_BYTES, FragmentHeader};
use hawser_link::frame::{CrcCoverage, DropReason, Frame, FrameFlags, FrameHeader, FrameKind, JobKey, PeerPair};
use hawser_link::{
    Config, Endpoint, FrameSender, LatencyClass, LinkSendError, Message, MessageClass, PathId, PortTraits, RemotePort,
    Seq,
};
use std::io::IoSlice;

const PATH_ID: PathId = PathId { local_port: 0, remote_port: 0, flow: 0 };
const FRAME: usize = 1472;
const SLOTS: usize = 300;

/// The frames that an endpoint has sent, each with its path.
#[derive(Default)]
struct Tape(Vec<(PathId, Vec<u8>)>);

/// A wire that takes nothing.
struct Full;

impl FrameSender for Full {
    fn send(&mut self, _peer: u32, _route: PathId, _frames: &[IoSlice<'_>]) -> usize {
        0
    }
}

impl FrameSender for Tape {
    fn send(&mut self, _peer: u32, path_id: PathId, frames: &[IoSlice<'_>]) -> usize {
        self.0.extend(frames.iter().map(|frame| (path_id, frame.to_vec())));
        frames.len()
    }
}

fn key() -> JobKey {
    JobKey::new(*b"the job's secret")
}

/// Rank 0, and rank 1 by hand.
struct Two {
    endpoint: Endpoint,
    now_ns: u64,
    /// Rank 0's number of the path, its next number and rank 1's.
    path_number: u32,
    first: Seq,
    sequence: Seq,
    received: Vec<Vec<u8>>,
}

impl Two {
    fn new() -> Two {
        Two::with_ports(vec![PortTraits::default(); 2])
    }

    fn with_ports(ports: Vec<PortTraits>) -> Two {
        let config =
            Config { me: 0, ranks: 2, key: key(), frame_max: FRAME, send_slots: SLOTS, reassembly_slots: SLOTS, ports };
        let mut endpoint = Endpoint::new(config, 1);
        endpoint.open_path(1, PATH_ID, RemotePort { nic: 0, frame_max: FRAME });
        Two { endpoint, now_ns: 1, path_number: 0, first: Seq(0), sequence: Seq(0), received: vec![] }
    }

    /// Returns the frames that rank 0 sends now.
    fn transmit(&mut self) -> Vec<(FrameHeader, Vec<u8>)> {
        self.transmit_by_paths().into_iter().map(|(_, head, payload)| (head, payload)).collect()
    }

    /// Does the same, each frame with our port.
    fn transmit_by_paths(&mut self) -> Vec<(u8, FrameHeader, Vec<u8>)> {
        let mut tape = Tape::default();
        self.endpoint.transmit(self.now_ns, &mut tape);
        let check = |(path_id, bytes): &(PathId, Vec<u8>)| {
            let (head, payload) = Frame::parse(bytes).unwrap().check(&key(), PeerPair { from: 0, to: 1 }).unwrap();
            (path_id.local_port, head, payload.to_vec())
        };
        tape.0.iter().map(check).collect()
    }

    fn receive(&mut self, head: FrameHeader, payload: &[u8]) -> Result<(), DropReason> {
        self.receive_by(0, head, payload)
    }

    /// Delivers a frame of rank 1 to our port `port`.
    fn receive_by(&mut self, port: u8, head: FrameHeader, payload: &[u8]) -> Result<(), DropReason> {
        let header = head.write(&key(), PeerPair { from: 1, to: 0 }, payload, CrcCoverage::All);
        let received = &mut self.received;
        let mut deliver = |_: u32, _: u8, mut message: Message<'_>| {
            let mut whole = vec![];
            while let Some(piece) = message.next(usize::MAX) {
                whole.extend(piece);
            }
            received.push(whole);
        };
        self.endpoint.handle_frame(port, &[&header, payload].concat(), self.now_ns, &mut deliver)
    }

    fn head(&self, kind: FrameKind, credit: u16) -> FrameHeader {
        let (path_number, sequence) = (self.path_number, self.sequence);
        FrameHeader { kind, flags: FrameFlags::default(), path_number, sequence, expected: self.first, credit, open: 0 }
    }

    /// Takes the path's HELLO, with rank 0's number of the path and its first one; returns its header.
    fn take_hello(&mut self) -> FrameHeader {
        let (head, hello) = self.transmit().into_iter().find(|(head, _)| head.kind == FrameKind::Hello).expect("HELLO");
        assert_eq!(hello.len() + 32, FRAME);
        self.path_number = u32::from_le_bytes(hello[..4].try_into().unwrap());
        self.first = Seq(u32::from_le_bytes(hello[4..8].try_into().unwrap()));
        head
    }

    /// Opens the path in reply to its HELLO. Rank 1 grants credit for `credit` frames.
    fn open(&mut self, credit: u16) {
        let head = self.take_hello();
        // Rank 1 knows the path by 77, and begins with 0.
        self.receive_hello(FrameHeader { kind: FrameKind::Welcome, path_number: 1, credit, ..head }, FRAME);
    }

    /// Delivers a HELLO or WELCOME of `len` bytes.
    fn receive_hello(&mut self, head: FrameHeader, len: usize) {
        self.receive_hello_by(0, 0, head, len);
    }

    /// Does the same on the path from our port `port` to port 0 and NIC `nic` of rank 1.
    fn receive_hello_by(&mut self, port: u8, nic: u8, head: FrameHeader, len: usize) {
        // The ports are those that rank 1 sees: its own one first.
        let hello = [&77_u32.to_le_bytes()[..], &[0; 4], &[0, port, 0, nic], &vec![0; len - 44]].concat();
        self.receive_by(port, head, &hello).unwrap();
    }

    /// Delivers a fragment of rank 1; `change` changes its header.
    fn fragment(
        &mut self,
        header: &FragmentHeader,
        bytes: &[u8],
        change: impl FnOnce(&mut FrameHeader),
    ) -> Result<(), DropReason> {
        let mut payload = [0; FRAGMENT_HEADER_BYTES].to_vec();
        header.write(&mut payload);
        payload.extend(bytes);
        let mut head = self.head(FrameKind::Data, 1);
        change(&mut head);
        let result = self.receive(head, &payload);
        if result.is_ok() {
            self.sequence = self.sequence.next();
        }
        result
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), LinkSendError> {
        let fill = |at: usize, into: &mut [u8]| into.copy_from_slice(&bytes[at..at + into.len()]);
        self.endpoint.send(1, 0, bytes.len(), MessageClass::Control, fill)
    }
}

const PART: FragmentHeader = FragmentHeader { message: Seq(0), offset: 0, total: 8, channel: 0, order_free: false };

/// P7: messages that wait for a path cannot keep it from being opened, however many they are.
#[test]
fn a_path_is_opened_though_all_memory_is_taken() {
    let mut two = Two::new();
    while two.send(b"envelope").is_ok() {}
    two.open(1000);
    two.now_ns += 1;
    assert!(two.transmit().iter().any(|(head, _)| head.kind == FrameKind::Data));
}

#[test]
fn of_each_rail_is_told_who_was_tried_and_who_answered() {
    let mut two = Two::new();
    two.endpoint.open_path(1, PathId { local_port: 1, ..PATH_ID }, RemotePort { nic: 0, frame_max: FRAME });
    let reachability = |two: &Two| {
        [0, 1]
            .map(|port| two.endpoint.port_reachability(port))
            .map(|reachability| (reachability.tried, reachability.replied))
    };
    assert_eq!(reachability(&two), [(0, 0); 2]);
    two.open(1);
    assert_eq!(reachability(&two), [(1, 1), (1, 0)]);
}

/// P21: the rest of a long transfer goes by another path, so that the path without credit has nothing in flight. (A
/// rail was lost to a job for seconds, because nothing asked for credit on its paths.)
#[test]
fn a_path_without_credit_is_asked_for_it_though_another_one_is_busy() {
    let mut two = Two::with_ports([0, 1].map(|nic| PortTraits { nic, ..PortTraits::default() }).into());
    two.endpoint.open_path(1, PathId { local_port: 1, ..PATH_ID }, RemotePort { nic: 1, frame_max: FRAME });
    // Both paths are opened, and the first one gets credit for two frames.
    let mut acks = [two.head(FrameKind::Ack, 0), two.head(FrameKind::Ack, 500)];
    for (port, head, hello) in two.transmit_by_paths() {
        let word = |at: usize| u32::from_le_bytes(hello[at..at + 4].try_into().unwrap());
        let ack = &mut acks[usize::from(port)];
        (ack.path_number, ack.expected) = (word(0), Seq(word(4)));
        let credit = ack.credit.max(2);
        let welcome = FrameHeader { kind: FrameKind::Welcome, path_number: 1, credit, ..head };
        two.receive_hello_by(port, port, welcome, FRAME);
    }
    let firsts = acks.map(|ack| ack.expected);
    (0..200).for_each(|_| two.send(&[7; 1000]).unwrap());
    let (mut sent, mut probes) = ([0; 2], 0);
    for step in 1..20 {
        for (port, head, payload) in two.transmit_by_paths() {
            let is_data = head.kind == FrameKind::Data && !payload.is_empty();
            sent[usize::from(port)] += u32::from(is_data);
            probes += u32::from(head.kind == FrameKind::Data && !is_data && port == 0);
        }
        two.now_ns += 1_000_000;
        // All frames of the first path arrive, and on the other path one frame in each step.
        for (port, arrived) in [(0, sent[0]), (1, step)] {
            let ack = FrameHeader { expected: firsts[port] + arrived, ..acks[port] };
            two.receive_by(port as u8, ack, &[]).unwrap();
        }
    }
    assert!(sent[0] == 2 && sent[1] > 20 && probes > 0, "{sent:?} {probes}");
}

/// P34: a peer that computes does not reply, and must be reached by the best path once it does; if that path is
/// dead the next one is opened.
#[test]
fn a_way_for_single_frames_is_called_where_no_better_one_is_answered_though_the_peer_is_there() {
    const MS: u64 = 1_000_000;
    let port = |latency_class, is_on_demand| PortTraits { latency_class, is_on_demand, ..PortTraits::default() };
    for answers in [true, false] {
        let ports =
            vec![port(LatencyClass::Bulk, false), port(LatencyClass::Lowest, false), port(LatencyClass::Low, true)];
        let mut two = Two::with_ports(ports);
        (1..3).for_each(|ours| {
            two.endpoint.open_path(1, PathId { local_port: ours, ..PATH_ID }, RemotePort { nic: 0, frame_max: FRAME })
        });
        let is_opened = |two: &mut Two, until_ms: u64| {
            while two.now_ns < until_ms * MS {
                two.transmit();
                two.now_ns += MS;
            }
            two.endpoint.port_reachability(2).tried > 0
        };
        let (head, _) = two.transmit().into_iter().next().expect("HELLO");
        assert!(!is_opened(&mut two, 500), "for a peer that computes");
        two.receive_hello(FrameHeader { kind: FrameKind::Welcome, path_number: 1, credit: 9, ..head }, FRAME);
        assert!(!is_opened(&mut two, 550), "the better one was not yet tried");
        if answers {
            let head = FrameHeader { kind: FrameKind::Welcome, path_number: 1, credit: 9, ..head };
            two.receive_hello_by(1, 0, head, FRAME);
        }
        assert_eq!(is_opened(&mut two, 5000), !answers);
    }
}

/// P7: a WELCOME that the wire does not take is sent when it does; the peer's next HELLO may be a second away.
#[test]
fn a_refused_welcome_is_sent_later() {
    let mut two = Two::new();
    two.receive_hello(FrameHeader { path_number: 1, ..two.head(FrameKind::Hello, 1) }, FRAME);
    two.endpoint.transmit(two.now_ns, &mut Full);
    assert_eq!(two.endpoint.deadline_ns(), Some(0));
    assert!(two.transmit().iter().any(|(head, _)| head.kind == FrameKind::Welcome));
}

/// A wire that takes no frame longer than `longest` bytes, and keeps the others.
struct Short {
    longest: usize,
    tape: Tape,
}

impl FrameSender for Short {
    fn send(&mut self, peer: u32, path_id: PathId, frames: &[IoSlice<'_>]) -> usize {
        if frames[0].len() > self.longest { 0 } else { self.tape.send(peer, path_id, frames) }
    }
}

/// P7: data does not overtake a WELCOME that the wire has refused. The peer would drop it, and if this process then
/// made no more calls, nobody would send it again: MPI_Barrier had not ended at the peer after two minutes.
#[test]
fn data_waits_for_a_refused_welcome_until_the_peer_has_shown_that_it_has_opened_the_path() {
    for shows in [false, true] {
        let mut two = Two::new();
        two.send(b"data").unwrap();
        two.receive_hello(FrameHeader { path_number: 1, ..two.head(FrameKind::Hello, 8) }, FRAME);
        if shows {
            // Our HELLO had arrived: the peer's WELCOME comes behind its HELLO.
            two.receive_hello(FrameHeader { path_number: 1, ..two.head(FrameKind::Welcome, 8) }, FRAME);
        }
        let mut short = Short { longest: 100, tape: Tape::default() };
        two.endpoint.transmit(two.now_ns, &mut short);
        assert_eq!(short.tape.0.len(), usize::from(shows), "frames sent");
        let kinds: Vec<_> = two.transmit().into_iter().map(|(head, _)| head.kind).collect();
        assert_eq!(kinds.first(), Some(&FrameKind::Welcome));
        assert_eq!(kinds.contains(&FrameKind::Data), !shows, "{kinds:?}");
    }
}

/// P7, P17: the reply to a probe ends the wait for a WELCOME that the wire never takes.
#[test]
fn a_probe_shows_that_a_path_is_open_whose_welcome_the_wire_never_takes() {
    let mut two = Two::new();
    two.send(b"data").unwrap();
    two.take_hello();
    two.receive_hello(FrameHeader { path_number: 1, ..two.head(FrameKind::Hello, 8) }, FRAME);
    let mut short = Short { longest: 100, tape: Tape::default() };
    while short.tape.0.is_empty() {
        two.endpoint.transmit(two.now_ns, &mut short);
        two.now_ns += 1_000_000;
        assert!(two.now_ns < 1_000_000_000, "neither a probe nor data in a second");
    }
    let head = |bytes: &[u8]| Frame::parse(bytes).unwrap().check(&key(), PeerPair { from: 0, to: 1 }).unwrap().0;
    let probe = head(&short.tape.0[0].1);
    assert!(probe.kind == FrameKind::Data && probe.sequence == two.first && short.tape.0[0].1.len() == 32, "{probe:?}");
    two.first = two.first.next();
    two.receive(two.head(FrameKind::Ack, 8), &[]).unwrap();
    two.endpoint.transmit(two.now_ns, &mut short);
    assert_eq!(head(&short.tape.0.last().unwrap().1).kind, FrameKind::Data);
    assert!(short.tape.0.last().unwrap().1.len() > 32);
}

/// P25: pieces that were cut for a path are cut again when it passes still less, with any memory that is left; no other
/// length is tried while the peer sends nothing.
#[test]
fn frames_are_cut_again_and_again_though_all_memory_is_taken() {
    let mut two = Two::new();
    (0..3).for_each(|_| two.send(&[7; 17_000]).unwrap());
    while two.send(b"envelope").is_ok() {}
    two.open(1000);
    let longest =
        |sent: &[(FrameHeader, Vec<u8>)]| sent.iter().map(|(_, payload)| payload.len() + 32).max().unwrap_or(0);
    let mut lengths = vec![];
    let known = [FRAME, 1452, 1232, 548];
    for answers in [false, true] {
        for _ in 0..600 {
            let mut sent = two.transmit();
            sent.retain(|(head, _)| head.kind == FrameKind::Data);
            let probe = sent.iter().rfind(|(_, payload)| answers && payload.is_empty()).map(|(head, _)| *head);
            if let Some(FrameHeader { sequence, open: open @ 1.., .. }) = probe {
                // The probe alone has arrived, of all open numbers.
                let expected = Seq(sequence.0.wrapping_sub(u32::from(open)));
                let mut bits = [0; 128];
                bits[usize::from(open - 1) / 8] = 1 << ((open - 1) % 8);
                let head = FrameHeader { sequence: Seq(0), expected, ..two.head(FrameKind::Ack, 1000) };
                two.receive(head, &bits).unwrap();
            }
            lengths.push(longest(&sent));
            two.now_ns += 30_000_000;
        }
        lengths.retain(|length| known.contains(length));
        lengths.dedup();
        assert_eq!(lengths, known[..if answers { 4 } else { 1 }]);
    }
}

/// P7, P8: a rank opens a limited number of paths, and none that is too short for anything.
#[test]
fn hellos_do_not_take_all_memory() {
    let mut two = Two::new();
    two.open(1);
    let hello = |theirs: u8, flow: u8, len: usize| {
        [&9_u32.to_le_bytes()[..], &[0; 4], &[theirs, 0, flow, 0], &vec![0; len - 44]].concat()
    };
    let head = FrameHeader { path_number: 1, ..two.head(FrameKind::Hello, 1) };
    assert_eq!(two.receive(head, &hello(1, 0, 44)), Err(DropReason::Hello));
    let mut taken = 0;
    for (theirs, flow) in (0..4).flat_map(|theirs| (0..=255).map(move |flow| (theirs, flow))) {
        taken += usize::from(two.receive(head, &hello(theirs, flow, FRAME)).is_ok());
    }
    assert_eq!((taken, two.endpoint.drop_counts()[DropReason::Hello as usize]), (255, 4 * 256 - 255 + 1));
}

/// P3: a frame that breaks a rule has no effect by its other contents: here by its credit.
#[test]
fn what_breaks_a_rule_has_no_effect_at_all() {
    let mut two = Two::new();
    two.open(1);
    two.send(b"first").unwrap();
    two.send(b"second").unwrap();
    let data = |sent: Vec<(FrameHeader, Vec<u8>)>| sent.iter().filter(|(head, _)| head.kind == FrameKind::Data).count();
    assert_eq!(data(two.transmit()), 1, "there is credit for one");
    let more = |head: &mut FrameHeader| head.credit = 9;
    assert_eq!(two.fragment(&FragmentHeader { total: 3, ..PART }, b"long", more), Err(DropReason::Fragment));
    let open = |head: &mut FrameHeader| (head.credit, head.open) = (9, 1024);
    assert_eq!(two.fragment(&PART, b"whole...", open), Err(DropReason::BeyondWindow));
    assert_eq!((data(two.transmit()), two.received.len()), (0, 0));
    two.fragment(&PART, b"whole...", more).unwrap();
    assert_eq!((data(two.transmit()), two.received.len()), (1, 1));
}

/// P22: a message has one length.
#[test]
fn fragments_that_disagree_about_their_message_are_dropped() {
    let mut two = Two::new();
    two.open(1);
    two.fragment(&PART, b"1234", |_| {}).unwrap();
    assert_eq!(
        two.fragment(&FragmentHeader { offset: 8, total: 12, ..PART }, b"9abc", |_| {}),
        Err(DropReason::Fragment)
    );
    two.fragment(&FragmentHeader { offset: 4, ..PART }, b"5678", |_| {}).unwrap();
    assert_eq!(two.received, [b"12345678"]);
    assert_eq!(two.endpoint.free_slots(), (SLOTS, SLOTS));
}

/// P22: the message was cut again for a shorter path, and arrives whole by a longer one.
#[test]
fn a_whole_message_takes_the_place_of_its_pieces() {
    let mut two = Two::new();
    two.open(1);
    two.fragment(&PART, b"1234", |_| {}).unwrap();
    two.fragment(&PART, b"12345678", |_| {}).unwrap();
    two.fragment(&FragmentHeader { offset: 4, ..PART }, b"5678", |_| {}).unwrap();
    assert_eq!(two.received, [b"12345678"]);
    assert_eq!(two.endpoint.free_slots(), (SLOTS, SLOTS));
}

/// A further user has an eighth of all slots, and a peer half of that.
#[test]
fn a_further_user_has_its_share_whatever_the_first_has_filled_and_no_more() {
    let mut two = Two::new();
    two.open(1000);
    let share_id = two.endpoint.add_user(8..10).unwrap();
    let mut others = 0;
    while two.endpoint.add_user(10 + others..11 + others).is_some() {
        others += 1;
    }
    assert_eq!(others, 3, "the first user has half of all");
    let all = |two: &mut Two| {
        let mut filled = 0;
        while two.send(&[1]).is_ok() {
            filled += 1;
        }
        let mut sent = 0;
        let to = (1, 9);
        while two.endpoint.send_of(share_id, to, 1, MessageClass::Payload, |_, into| into.fill(2)).is_ok() {
            sent += 1;
        }
        let control = two.endpoint.send_of(share_id, to, 1, MessageClass::Control, |_, into| into.fill(3));
        (filled, sent, control)
    };
    let first = all(&mut two);
    let share = SLOTS / 8;
    // `send` sends control messages, which leave 16 slots to HELLOs.
    assert_eq!(first, (SLOTS - 4 * share - 16, share / 2, Ok(())));
    // All of it arrives, in portions of what may be in flight.
    let mut next = two.first;
    while !two.endpoint.is_all_acked() {
        let frames = two.transmit().into_iter().filter(|(head, _)| head.kind == FrameKind::Data).count() as u32;
        next = next + frames;
        let head = FrameHeader { kind: FrameKind::Ack, expected: next, ..two.head(FrameKind::Ack, 1000) };
        two.now_ns += 1000;
        two.receive(head, &[]).unwrap();
        two.first = next;
    }
    assert_eq!(all(&mut two), first, "and all is there again");
}
