//! Fuzzes the messages of a rank of our own job, and the data of connections: greetings, port lists, messages that
//! ought to be packets, streams that ought to be frames.
//!
//! A valid packet is delivered as it was sent, and everything else is counted; a port list decodes to what encodes
//! to it, and does no harm; a stream is cut into the same frames wherever the kernel cuts it; a greeting is read by
//! the called port as it was written, or not at all.

use bolero::{TypeGenerator, check};
use hawser_base::{LANES, Lane, Peer};
use hawser_dev_ether::port::{
    ConnectionKind, FramePort, FrameSendError, GREETING_BYTES, Greeting, PortAddress, PortDrops, PortId,
    RankCredentials, split_stream_frames,
};
use hawser_dev_ether::port_list::{CardPort, PORT_LIST_MAX_BYTES, PORTS_MAX, PortList};
use hawser_dev_ether::{EtherDevice, EtherDeviceSetup, OpenPort, counters};
use hawser_device::conformance;
use hawser_device::{
    CompletionToken, Delivery, Device, Header, Payload, PayloadSource, Protocol, RemoteError, RemoteKey, Submitted,
};
use hawser_job::ExitLog;
use hawser_job::counters::Counters;
use hawser_link::frame::JobKey;
use hawser_link::{Config, Endpoint, FrameSender, Message, MessageClass, PathId, PortTraits, RemotePort};
use hawser_os::clock;
use std::cell::Cell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

/// The shortest permitted frames, so that messages are cut.
const FRAME: usize = 548;
/// The longest message over such frames that the device itself would send, about.
const MESSAGE: usize = 16 << 10;
/// As in `dev-ether::message`, P35.
const HEADER: usize = 12;

type Frames = Arc<Mutex<VecDeque<Vec<u8>>>>;

fn address() -> PortAddress {
    PortAddress::Udp("10.0.0.1:9".parse().unwrap())
}

fn key() -> JobKey {
    JobKey::new([5; 16])
}

/// A port between the device and the rank that the fuzzer plays.
struct Pipe {
    to_device: Frames,
    from_device: Frames,
    fd: File,
}

impl FramePort for Pipe {
    fn name(&self) -> &'static str {
        "udp"
    }
    fn frame_max(&self) -> usize {
        FRAME
    }
    fn receive_buffer_bytes(&self) -> usize {
        1 << 20
    }
    fn address(&self) -> PortAddress {
        address()
    }
    fn send(&mut self, _: &PortAddress, frame: &[u8]) -> Result<(), FrameSendError> {
        self.from_device.lock().unwrap().push_back(frame.to_vec());
        Ok(())
    }
    fn send_run(&mut self, to: &PortAddress, frames: &[IoSlice<'_>]) -> Result<usize, FrameSendError> {
        frames.iter().try_for_each(|frame| FramePort::send(self, to, frame)).map(|()| frames.len())
    }
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let frames = std::mem::take(&mut *self.to_device.lock().unwrap());
        frames.iter().for_each(|frame| take(frame));
        frames.len()
    }
    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        each(self.fd.as_fd());
    }
    fn drops(&mut self) -> PortDrops {
        PortDrops::default()
    }
    fn take_error(&mut self) {}
}

/// Makes the device of rank 0, whose peer has this business card, with both ends of its wire and its counters.
fn device(card: Vec<u8>) -> (EtherDevice, Frames, Frames, Counters) {
    let (to_device, from_device, counters) = (Frames::default(), Frames::default(), Counters::private());
    let port =
        Pipe { to_device: to_device.clone(), from_device: from_device.clone(), fd: File::open("/dev/null").unwrap() };
    let device = EtherDevice::new(EtherDeviceSetup {
        me: 0,
        ranks: 2,
        key: key(),
        seed: 1,
        ports: vec![OpenPort {
            port: Box::new(port),
            rail: 0,
            interface: "eth0".into(),
            traits: PortTraits::default(),
        }],
        card_lookup: Box::new(move |_, _| Some(card.clone())),
        on_all_polled: Box::new(|| ()),
        wake_rank: Box::new(|| ()),
        report_status: Box::new(|_| true),
        report_reachability: Box::new(|_| ()),
        counters: (counters.clone(), 0),
        exit_log: ExitLog::private(2),
        reaches: Box::new(|peer| peer == Peer(1)),
    });
    (device, to_device, from_device, counters)
}

impl FrameSender for Pipe {
    fn send(&mut self, _: u32, _: PathId, frames: &[IoSlice<'_>]) -> usize {
        self.send_run(&address(), frames).unwrap_or(0)
    }
}

#[derive(Clone, Debug, TypeGenerator)]
struct PeerMessage {
    channel: u8,
    bytes: Vec<u8>,
    /// This many more of these.
    more: u16,
    control: bool,
}

impl PeerMessage {
    fn message(&self) -> Vec<u8> {
        let more = self.bytes.iter().copied().cycle().take(usize::from(self.more));
        let mut message: Vec<u8> = self.bytes.iter().copied().chain(more).take(MESSAGE).collect();
        if self.channel != RMA_CHANNEL && message.len() > 1 {
            // There are no direct packets here, for which the others would wait (P43).
            message[1] = [0, UNORDERED, INVALID_ORDER][usize::from(message[1]) % 3];
        }
        message
    }
}

/// Values of the byte `order` (P43): the message has no place among direct packets; and one without a meaning.
const UNORDERED: u8 = 129;
const INVALID_ORDER: u8 = 200;

/// The channel of operations on memory (P41).
const RMA_CHANNEL: u8 = 254;

type Packet = (u8, [u32; 4], Vec<u8>);

/// Returns the packet that a message is.
fn packet(channel: u8, message: &[u8]) -> Option<Packet> {
    let (head, payload) = message.split_first_chunk::<HEADER>().filter(|_| usize::from(channel) < LANES)?;
    if head[1] == INVALID_ORDER {
        return None;
    }
    let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
    let aux = u16::from_le_bytes([head[2], head[3]]);
    Some((channel, [head[0].into(), aux.into(), word(4), word(8)], payload.to_vec()))
}

/// Returns whether a message is about a direct connection, on the channel of no lane (P37): it is no packet, and no
/// rubbish either.
fn is_about_direct(channel: u8, message: &[u8]) -> bool {
    channel == u8::MAX && message.len() >= HEADER + 8 && (1..=4).contains(&message[0]) && message[1] != INVALID_ORDER
}

/// Returns whether a message is about operations on memory (P41), and so no packet either: WRITE, READ, DATA, ENDED.
fn is_about_memory(channel: u8, message: &[u8]) -> bool {
    let &[kind, more, ..] = message else { return false };
    let len = message.len();
    channel == RMA_CHANNEL
        && match kind {
            1 => more <= 1 && len >= 40,
            2 => more == 0 && len == 48,
            3 => more == 0 && len >= 16,
            4 => more <= 2 && len == 16,
            _ => false,
        }
}

/// Takes packets of a lane, in pieces of one length.
struct Packets {
    lane: u8,
    piece_bytes: usize,
    packets: Vec<Packet>,
}

impl Delivery for Packets {
    fn deliver(&mut self, from: Peer, header: Header, payload: &mut dyn Payload) {
        assert_eq!(from, Peer(1));
        let (len, mut bytes) = (payload.len(), Vec::new());
        while let Some(piece) = payload.next(self.piece_bytes) {
            let at = bytes.len();
            bytes.resize(at + piece.len(), 0);
            piece.read(&mut bytes[at..]);
        }
        assert_eq!(bytes.len(), len);
        let (kind, aux, a, b) = (header.kind(), header.aux(), header.a(), header.b());
        self.packets.push((self.lane, [kind.into(), aux.into(), a, b], bytes));
    }

    fn peer_failed(&mut self, _: Peer) {
        panic!("nobody is lost");
    }
}

/// Makes rank 1 at the other ends of the device's wire, with its port.
fn peer_endpoint(to_device: Frames, from_device: Frames) -> (Endpoint, Pipe) {
    let rails = vec![PortTraits::default()];
    let config = Config {
        me: 1,
        ranks: 2,
        key: key(),
        frame_max: FRAME,
        send_slots: 1024,
        reassembly_slots: 1024,
        ports: rails,
    };
    let mut peer = Endpoint::new(config, 2);
    peer.open_path(0, PathId { local_port: 0, remote_port: 0, flow: 0 }, RemotePort { nic: 0, frame_max: FRAME });
    (peer, Pipe { to_device: from_device, from_device: to_device, fd: File::open("/dev/null").unwrap() })
}

/// The completions of operations that a lane gets.
#[derive(Default)]
struct Completions(Vec<(u32, Result<u64, RemoteError>)>);

impl Delivery for Completions {
    fn deliver(&mut self, _: Peer, header: Header, _: &mut dyn Payload) {
        panic!("{header:?} was never sent");
    }
    fn peer_failed(&mut self, _: Peer) {
        panic!("nobody is lost");
    }
    fn op_completed(&mut self, ticket: CompletionToken, outcome: Result<u64, RemoteError>) {
        self.0.push((ticket.number, outcome));
    }
}

/// Returns the header of a message about memory: DATA (3) or ENDED (4).
fn rma_header(kind: u8, more: u8, number: u32, at: u64) -> Vec<u8> {
    [&[kind, more, 0, 0][..], &number.to_le_bytes(), &at.to_le_bytes()].concat()
}

/// P41: a read takes the bytes that it requested, in their order, and nothing else that its owner sends; its memory is
/// touched nowhere else, nor after its end.
#[test]
fn answers_that_were_not_asked_for_change_nothing() {
    let port_list = PortList::new(vec![CardPort { rail: 0, address: address(), frame_max: FRAME as u16 }]).encode();
    let (device, to_device, from_device, counters) = device(port_list);
    let (mut peer, mut wire) = peer_endpoint(to_device, from_device);
    let (mut port, mut completions) = (device.port(Lane(0)), Completions::default());
    let (begins, len) = (100_u64, 200);
    let all = conformance::words(len + 16);
    let ticket = CompletionToken { protocol: Protocol::MESSAGES, number: 7 };
    let key = RemoteKey([3, 4, 1000]);
    assert_eq!(port.read(Peer(1), &key, begins, all.slice(8, len), ticket), Ok(Submitted::InFlight));
    let mut number = None;
    let mut exchange = |messages: Vec<Vec<u8>>, completions: &mut Completions| {
        for message in messages {
            let fill = |at: usize, into: &mut [u8]| into.copy_from_slice(&message[at..at + into.len()]);
            peer.send(0, 254, message.len(), MessageClass::Payload, fill).expect("there is space");
        }
        // Until the peer has received the read, and all of its own messages were received.
        while number.is_none() || !peer.is_all_acked() {
            peer.transmit(clock::now_ns(), &mut wire);
            port.poll(completions);
            device.before_sleep();
            let mut receive = |_: u32, channel: u8, mut message: Message<'_>| {
                let bytes = message.next(usize::MAX).expect("a header");
                assert_eq!((channel, bytes[0], bytes.len()), (254, 2, 48), "a read is requested, once");
                let requested = [8, 40].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()));
                assert_eq!((requested, number), ([begins, len as u64], None));
                number = Some(u32::from_le_bytes(bytes[4..8].try_into().unwrap()));
            };
            wire.receive(&mut |frame| {
                peer.handle_frame(0, frame, clock::now_ns(), &mut receive).expect("the device keeps the rules");
            });
        }
        number.expect("it was received")
    };
    let number = exchange(Vec::new(), &mut completions);
    let data = |number: u32, at: u64, count: usize| [rma_header(3, 0, number, at), vec![9; count]].concat();
    let counted = [
        data(number, begins + 1, 10),
        data(number, begins - 1, 10),
        data(number, u64::MAX, 10),
        data(number, begins, len + 1),
        data(number, begins, 0),
        rma_header(4, 0, number, 0),
    ];
    let ignored = [data(number + 1, begins, 10), data(number ^ 1 << 16, begins, 10), rma_header(4, 1, number + 1, 0)];
    exchange([&counted[..], &ignored[..]].concat(), &mut completions);
    let bytes = || {
        let mut bytes = vec![0; len + 16];
        all.read(&mut bytes);
        bytes
    };
    assert!(completions.0.is_empty() && bytes() == vec![0; len + 16]);
    exchange(vec![data(number, begins, 120), data(number, begins + 120, 80)], &mut completions);
    assert_eq!(completions.0, [(7, Ok(0))]);
    let read = [vec![0; 8], vec![9; len], vec![0; 8]].concat();
    assert!(bytes() == read);
    exchange(vec![data(number, begins, 10), rma_header(4, 1, number, 0)], &mut completions);
    assert!(completions.0.len() == 1 && bytes() == read, "what is late is nobody's");
    device.on_idle();
    let slot = counters::entries().position(|entry| entry.name == "malformed messages").unwrap();
    assert_eq!(counters.get(slot), counted.len() as u64);
}

/// P35
#[test]
fn messages_of_a_peer() {
    check!().with_type::<(Vec<PeerMessage>, u8)>().with_iterations(500).for_each(|(messages, piece)| {
        let port_list = PortList::new(vec![CardPort { rail: 0, address: address(), frame_max: FRAME as u16 }]).encode();
        let (device, to_device, from_device, counters) = device(port_list);
        let (mut peer, mut wire) = peer_endpoint(to_device, from_device);
        let mut expected = Vec::new();
        for peer_message in messages {
            let message = peer_message.message();
            let fill = |at: usize, into: &mut [u8]| into.copy_from_slice(&message[at..at + into.len()]);
            let class = if peer_message.control { MessageClass::Control } else { MessageClass::Payload };
            let is_taken = peer.send(0, peer_message.channel, message.len(), class, fill).is_ok();
            if is_taken
                && !is_about_direct(peer_message.channel, &message)
                && !is_about_memory(peer_message.channel, &message)
            {
                expected.push(packet(peer_message.channel, &message));
            }
        }
        let mut taken = Packets { lane: 0, piece_bytes: usize::from(*piece) + 1, packets: Vec::new() };
        let mut ports: Vec<_> = (0..LANES as u8).map(|lane| device.port(Lane(lane))).collect();
        while !peer.is_all_acked() {
            peer.transmit(clock::now_ns(), &mut wire);
            for (lane, port) in (0..).zip(&mut ports) {
                taken.lane = lane;
                port.poll(&mut taken);
            }
            // Makes it acknowledge at once.
            device.before_sleep();
            wire.receive(&mut |frame| {
                peer.handle_frame(0, frame, clock::now_ns(), &mut |_, _, _| ()).expect("the device keeps the rules");
            });
        }
        // Each lane has its packets in order; all were polled since the last message came.
        for (lane, port) in (0..).zip(&mut ports) {
            taken.lane = lane;
            port.poll(&mut taken);
        }
        let mut packets: Vec<Packet> = expected.iter().flatten().cloned().collect();
        packets.sort_by_key(|packet| packet.0);
        taken.packets.sort_by_key(|packet| packet.0);
        assert_eq!(taken.packets, packets);
        device.on_idle();
        let slot = counters::entries().position(|entry| entry.name == "malformed messages").unwrap();
        assert_eq!(counters.get(slot), (expected.len() - packets.len()) as u64);
    });
}

/// P33, P34
#[test]
fn cards() {
    check!().with_iterations(2000).for_each(|bytes| {
        if let Some(port_list) = PortList::decode(bytes) {
            assert!(port_list.ports().len() <= PORTS_MAX && bytes.starts_with(&port_list.encode()));
        }
        if bytes.len() <= PORT_LIST_MAX_BYTES {
            let (device, ..) = device(bytes.to_vec());
            let header = Header::new(1, 0, 0, 0);
            let _ = device.port(Lane(0)).send(Peer(1), header, &[], PayloadSource::None);
            device.before_sleep();
        }
    });
}

/// Cuts a stream that comes in parts of `part` bytes into frames. Returns whether it could continue.
fn cut_into_frames(bytes: &[u8], part: usize) -> (Vec<Vec<u8>>, bool) {
    let (mut frames, mut rest) = (Vec::new(), Vec::new());
    for part in bytes.chunks(part) {
        rest.extend_from_slice(part);
        let before = frames.len();
        let Some((count, used)) = split_stream_frames(&rest, &mut |frame| frames.push(frame.to_vec())) else {
            return (frames, false);
        };
        assert_eq!(count, frames.len() - before);
        rest.drain(..used);
    }
    (frames, true)
}

/// Data that a peer which knows the secret writes to a stream.
#[derive(Clone, Debug, TypeGenerator)]
enum StreamData {
    Frame(Vec<u8>),
    /// A frame of which a bit is changed on the network, or any bytes.
    Changed {
        frame: Vec<u8>,
        bit: u16,
    },
    Any(Vec<u8>),
}

impl StreamData {
    fn bytes(&self) -> Vec<u8> {
        match self {
            StreamData::Frame(frame) => with_length(frame),
            StreamData::Any(bytes) => bytes.clone(),
            StreamData::Changed { frame, bit } => {
                let mut bytes = with_length(frame);
                let bit = usize::from(*bit) % (8 * bytes.len());
                bytes[bit / 8] ^= 1 << (bit % 8);
                bytes
            }
        }
    }
}

/// Returns a frame behind its length and the length's complement.
fn with_length(frame: &[u8]) -> Vec<u8> {
    let length = frame.len() as u16;
    [&length.to_le_bytes()[..], &(!length).to_le_bytes(), frame].concat()
}

/// P32: frames are cut at their boundaries, in whatever parts they arrive; behind the first invalid length nothing is
/// read.
#[test]
fn frames_of_a_stream() {
    let reached = AssertUnwindSafe(Cell::new(0));
    check!().with_type::<(Vec<StreamData>, u8)>().with_iterations(5000).for_each(|(all, part)| {
        let bytes: Vec<u8> = all.iter().flat_map(StreamData::bytes).collect();
        let whole = cut_into_frames(&bytes, bytes.len().max(1));
        assert_eq!(whole, cut_into_frames(&bytes, usize::from(*part) + 1));
        let (frames, _) = whole;
        let written: Vec<u8> = frames.iter().flat_map(|frame| with_length(frame)).collect();
        assert!(bytes.starts_with(&written) && frames.iter().all(|frame| !frame.is_empty()));
        reached.set(reached.get() + frames.len());
    });
    assert!(reached.get() > 0, "no frame ever came");
}

/// The first bytes of a connection: anything, or a greeting by a peer that knows the secret, of which a bit may differ.
#[derive(Clone, Copy, Debug, TypeGenerator)]
enum FirstBytes {
    Anything([u8; GREETING_BYTES]),
    Greeting { messages: bool, rank: u8, index: u8, number: u32, to: (u8, u8), bit: Option<u8> },
}

/// P32, P36
#[test]
fn greetings() {
    const RANKS: u32 = 4;
    let credentials = RankCredentials { key: key(), me: 1, ranks: RANKS };
    check!().with_type::<FirstBytes>().with_iterations(20_000).for_each(|first| {
        let (bytes, written) = match *first {
            FirstBytes::Anything(bytes) => (bytes, None),
            FirstBytes::Greeting { messages, rank, index, number, to, bit } => {
                let kind = if messages { ConnectionKind::Messages } else { ConnectionKind::Frames };
                let (rank, place) = (u32::from(rank % 6), index % 40);
                let greeting = Greeting { kind, from: PortId { rank, index: place }, number };
                let to = PortId { rank: u32::from(to.0 % 3), index: to.1 % 3 };
                let mut bytes = greeting.encode(to, &key());
                let bit = bit.map(usize::from).filter(|bit| *bit < 8 * GREETING_BYTES);
                bit.into_iter().for_each(|bit| bytes[bit / 8] ^= 1 << (bit % 8));
                let is_ours =
                    to == PortId { rank: 1, index: 2 } && rank < RANKS && rank != 1 && usize::from(place) < PORTS_MAX;
                (bytes, (is_ours && bit.is_none()).then_some(greeting))
            }
        };
        assert_eq!(Greeting::decode(&bytes, &credentials, 2), written);
    });
}
