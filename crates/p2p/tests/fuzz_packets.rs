//! Fuzzes the packets that peers send: any header words and any bytes, among sends and receives of our own.
//!
//! A real lane runs over a device whose peers are the fuzzer: `wire::decode`, the engine's `handle_packet`, the
//! placement of payload and all effects run as they do under MPI. The invariants after every packet:
//! - nothing panics, and no more memory is allocated than the packet and the limits warrant;
//! - a packet that is counted as invalid has left the engine unchanged;
//! - the packets that we send decode, and none goes to a failed peer;
//! - the accounts of every peer stay within the credit limit.
//!
//! At the end, when no more invalid packets arrive: a message to a new receive arrives as it was sent, and once all
//! peers have failed and the rest is cancelled, nothing is left.

use bolero::{TypeGenerator, check};
use hawser_base::{Context, LANES, Lane as LaneId, Peer, Peers, SharedMem, UserMem};
use hawser_device::{
    Delivery, Device, DeviceLimits as Figures, DevicePort, ExposedKey, Fragmentation, Header, PREFIX_MAX, Payload,
    PayloadSource, SendError,
};
use hawser_job::counters::Counters;
use hawser_p2p::buffer::Buffer;
use hawser_p2p::counters::Counter;
use hawser_p2p::lane::LaneState;
use hawser_p2p::matching::{BufferKey, MatchSpec, OpId, Packet, ProtocolLimits};
use hawser_p2p::message::{Destination, MessageMemory, PendingSend};
use hawser_p2p::minimal_data::MinimalData;
use hawser_p2p::request::{Request, RequestState};
use hawser_p2p::wire;
use hawser_transport::Fabric;
use std::collections::VecDeque;
use std::sync::{LazyLock, Mutex, MutexGuard};

const PEERS: u32 = 3;
const LANE: LaneId = LaneId(0);
/// Small limits, so that few bytes reach every method.
const LIMITS: ProtocolLimits = ProtocolLimits {
    packet: 8,
    eager: 40,
    first: 4,
    rtr_from: 10,
    credit: 256,
    read_from: 0,
    private_read_from: 60,
    copy_trial_from: 20,
    write_from: 0,
    zero_copy_from: 0,
    ..ProtocolLimits::DEFAULT
};
/// The longest message of our own, in bytes.
const LONGEST: usize = 100;

/// Memory that one packet may cause to be allocated beside its message, in bytes: the table of the lane's contexts, 8
/// bytes each, which grows to the highest one that a packet names and doubles where that is little more, and queues
/// that double.
const ROOM_TO_GROW: u64 = 2 * 8 * (Context::KINDS as u64 * Context::NUMBERS as u64 / LANES as u64) + (16 << 10);

#[derive(Clone, Debug, TypeGenerator)]
enum Event {
    /// A packet in the form of ours, with numbers that are in use, or not; `more` packets arrive before we send any.
    Shaped {
        from: u8,
        kind: u8,
        context: u8,
        tag: u8,
        numbers: [Number; 3],
        yes: bool,
        payload: u8,
        more: bool,
    },
    /// A packet of any header words and any bytes.
    Raw {
        from: u8,
        kind: u8,
        aux: u16,
        a: u32,
        b: u32,
        bytes: Vec<u8>,
    },
    Call(Call),
}

/// An action of our side.
#[derive(Clone, Debug, TypeGenerator)]
enum Call {
    Send {
        to: u8,
        tag: u8,
        bytes: u8,
        mode: SendMode,
    },
    Recv {
        source: Option<u8>,
        tag: Option<u8>,
        capacity: u8,
    },
    /// Cancels the request with this number.
    Cancel(u8),
    /// A matched probe and its receive.
    Claim {
        source: Option<u8>,
        tag: Option<u8>,
        capacity: u8,
    },
    /// The device has room, or none, from now on.
    Room(bool),
    /// The peers' memory can be read and written, or not, from now on.
    Reachable(bool),
    /// A peer fails, if the number is a multiple of eight: otherwise hardly one would stay.
    Lose(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, TypeGenerator)]
enum SendMode {
    Standard,
    Synchronous,
    Buffered,
}

#[derive(Clone, Debug, TypeGenerator)]
enum Number {
    /// Numbers as operations, RTRs and messages have.
    Near(u8),
    /// Numbers as lengths have.
    Short(u8),
    Any(u64),
}

impl Number {
    fn value(&self) -> u64 {
        match *self {
            Number::Near(number) => u64::from(number % 6),
            Number::Short(number) => u64::from(number),
            Number::Any(number) => number,
        }
    }
}

fn shaped(kind: u8, context: u8, tag: u8, numbers: &[Number; 3], yes: bool) -> Packet {
    let [first, second, third] = numbers.each_ref().map(Number::value);
    let (context, tag) = (Context([0, 1, 32][context as usize % 3]), i32::from(tag % 3));
    let key = yes.then_some(BufferKey([first, second, third]));
    match kind % 14 {
        0 => Packet::Eager { context, tag },
        1 => Packet::EagerFirst { context, tag, bytes: first },
        2 => Packet::Rts { context, tag, bytes: first, send: second as u32, key },
        3 => Packet::RtrReply { context, tag, bytes: first, rtr: second as u32 },
        4 => Packet::Data { message: first as u32, at: second % (1 << 48) },
        5 => Packet::Cts { send: first as u32, from: second, until: third, key },
        6 => Packet::Fin { send: first as u32 },
        7 => Packet::Rtr {
            context,
            tag: yes.then_some(tag),
            capacity: first,
            number: second as u32,
            accepted: third as u32,
        },
        8 => Packet::RtrRefusal { number: first as u32 },
        9 => Packet::RtrCancel { number: first as u32, accepted: second as u32 },
        10 => Packet::Cancel { send: first as u32 },
        11 => Packet::CancelReply { send: first as u32, cancelled: yes },
        12 => Packet::PutDone { message: first as u32 },
        _ => Packet::Credit { bytes: first },
    }
}

/// Encodes a packet: its header and all bytes behind it. Checks that it decodes to the same packet.
fn encoded(packet: Packet, payload: u8) -> (Header, Vec<u8>) {
    let control = wire::encode(&packet);
    let mut bytes = control.prefix().to_vec();
    assert_eq!(wire::decode(&control.header, &mut RaggedPayload::new(bytes.clone()), LANE), Some(packet));
    // Half of all packets have no payload.
    bytes.extend((128..payload).map(|at| at ^ 0x55));
    (control.header, bytes)
}

/// A payload in ragged pieces.
struct RaggedPayload(Vec<u8>, usize);

impl RaggedPayload {
    fn new(bytes: Vec<u8>) -> RaggedPayload {
        RaggedPayload(bytes, 0)
    }
}

impl Payload for RaggedPayload {
    fn len(&self) -> usize {
        self.0.len() - self.1
    }

    fn next(&mut self, max: usize) -> Option<SharedMem<'_>> {
        let len = max.min(5).min(self.len());
        self.1 += len;
        (len > 0).then(|| SharedMem::of_slice(&mut self.0[self.1 - len..self.1]))
    }
}

/// The packets and the state of the device; one for all runs, emptied before each.
struct TestDeviceState {
    arriving: VecDeque<(Peer, Header, Vec<u8>)>,
    losing: Vec<Peer>,
    lost: Vec<Peer>,
    full: bool,
    reachable: bool,
}

const EMPTY: TestDeviceState =
    TestDeviceState { arriving: VecDeque::new(), losing: Vec::new(), lost: Vec::new(), full: false, reachable: false };

static DEVICE: Mutex<TestDeviceState> = Mutex::new(EMPTY);

/// Locks the device's state briefly: never while the lane runs.
fn device_state() -> MutexGuard<'static, TestDeviceState> {
    DEVICE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

struct Hostile;

impl Device for Hostile {
    fn name(&self) -> &'static str {
        "hostile"
    }

    fn reaches(&self, _peer: Peer) -> bool {
        true
    }

    fn limits(&self) -> Figures {
        let packet = LIMITS.packet as usize + PREFIX_MAX;
        Figures {
            short: 8,
            packet,
            fragmentation: Fragmentation::Pages(|_| 8),
            eager: LIMITS.eager as usize,
            zero_copy_from: Some(16),
            stream_from: None,
            join_max: 0,
            remote_read_from: Some(16),
            private_read_from: None,
            copy_trial_from: None,
        }
    }

    fn port(&self, _lane: LaneId) -> Box<dyn DevicePort> {
        Box::new(Hostile)
    }

    fn expose(&self, mem: UserMem) -> Option<ExposedKey> {
        Some([1, 2, mem.len() as u64])
    }

    fn read(&self, _peer: Peer, _key: &ExposedKey, _at: u64, into: UserMem) -> bool {
        let reachable = device_state().reachable;
        if reachable {
            into.write(&vec![0xaa; into.len()]);
        }
        reachable
    }

    fn expose_to_write(&self, mem: UserMem) -> Option<ExposedKey> {
        Some([1, 2, mem.len() as u64])
    }

    fn write(&self, _peer: Peer, _key: &ExposedKey, _at: u64, source: PayloadSource<'_>) -> bool {
        let _ = bytes_of(source);
        device_state().reachable
    }
}

/// Returns all bytes of a payload of ours.
fn bytes_of(source: PayloadSource<'_>) -> Vec<u8> {
    let mut bytes = vec![0; source.len()];
    match source {
        PayloadSource::None => {}
        PayloadSource::Mem(mem) => mem.read(&mut bytes),
        PayloadSource::Pack { pack, .. } => pack(SharedMem::of_slice(&mut bytes)),
    }
    bytes
}

impl DevicePort for Hostile {
    fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: PayloadSource<'_>) -> Result<(), SendError> {
        if device_state().lost.contains(&to) {
            return Err(SendError::PeerFailed);
        }
        if device_state().full {
            return Err(SendError::Full);
        }
        let bytes = [prefix.to_vec(), bytes_of(source)].concat();
        assert!(bytes.len() <= LIMITS.packet as usize + PREFIX_MAX, "a packet of {} bytes", bytes.len());
        let packet = wire::decode(&header, &mut RaggedPayload::new(bytes), LANE);
        assert!(packet.is_some(), "{header:?} to {to} does not decode");
        Ok(())
    }

    fn reserve(&mut self, to: Peer, _len: usize) -> bool {
        let device = device_state();
        !device.full && !device.lost.contains(&to)
    }

    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        let (arriving, losing) = {
            let mut device = device_state();
            (std::mem::take(&mut device.arriving), std::mem::take(&mut device.losing))
        };
        let count = arriving.len();
        for (from, header, bytes) in arriving {
            delivery.deliver(from, header, &mut RaggedPayload::new(bytes));
        }
        for peer in losing {
            device_state().lost.push(peer);
            delivery.peer_failed(peer);
        }
        count
    }

    fn poll_from(&mut self, _from: Peer, delivery: &mut dyn Delivery) -> bool {
        self.poll(delivery) > 0
    }
}

static FABRIC: LazyLock<Fabric> = LazyLock::new(|| {
    Fabric::new(vec![Box::new(Hostile)], &Peers::Consecutive { first: Peer(0), len: PEERS })
        .unwrap_or_else(|e| panic!("{e}"))
});

/// A rank's lane with the application's memory that its operations borrow.
struct Rank {
    lane: LaneState<MinimalData>,
    counters: Counters,
    /// All buffers that operations ever borrowed: they outlive the lane's operations.
    buffers: Vec<Vec<u8>>,
    requests: Vec<u32>,
    /// The longest receive so far, in bytes.
    longest_recv: u64,
}

impl Rank {
    fn new() -> Rank {
        *device_state() = EMPTY;
        let counters = Counters::private();
        let lane = LaneState::new(LANE, &FABRIC, LIMITS, counters.clone(), |text| panic!("{text}"));
        Rank { lane, counters, buffers: Vec::new(), requests: Vec::new(), longest_recv: 0 }
    }

    fn new_buffer(&mut self, len: usize) -> Buffer {
        self.buffers.push(vec![7; len]);
        let memory = self.buffers.last_mut().expect("just pushed");
        // SAFETY: no buffer is freed or resized before the lane, which is dropped first.
        Buffer::Dense(unsafe { UserMem::new(memory.as_mut_ptr(), len) })
    }

    fn new_recv(&mut self) -> u32 {
        let request = Request::new(MinimalData { peer: None });
        let index = self.lane.core.requests.insert(request).unwrap_or_else(|e| panic!("{e}"));
        self.requests.push(index);
        index
    }

    fn act(&mut self, event: &Event) {
        match *event {
            Event::Shaped { from, kind, context, tag, ref numbers, yes, payload, more } => {
                self.arrive(peer(from), encoded(shaped(kind, context, tag, numbers, yes), payload));
                if more {
                    return self.check_accounts();
                }
            }
            Event::Raw { from, kind, aux, a, b, ref bytes } => {
                self.arrive(peer(from), (Header::new(kind % 16, aux, a, b), bytes.clone()));
            }
            Event::Call(ref call) => self.call(call),
        }
        self.lane.flush_effects();
        self.check_accounts();
    }

    fn call(&mut self, call: &Call) {
        match *call {
            Call::Send { to, tag, bytes, mode } => {
                let destination = Destination { peer: peer(to), context: Context(0), tag: i32::from(tag % 3) };
                self.send(&destination, bytes as usize % LONGEST, mode);
            }
            Call::Recv { source, tag, capacity } => {
                let buffer = self.new_buffer(capacity as usize % LONGEST);
                self.recv(match_spec(source, tag), buffer);
            }
            Call::Cancel(number) => self.cancel(number as usize),
            Call::Claim { source, tag, capacity } => self.claim(match_spec(source, tag), capacity as usize % LONGEST),
            Call::Room(room) => device_state().full = !room,
            Call::Reachable(reachable) => device_state().reachable = reachable,
            Call::Lose(number) => drop((number % 8 == 0).then(|| self.lose(peer(number / 8)))),
        }
    }

    fn send(&mut self, destination: &Destination, bytes: usize, mode: SendMode) {
        let request = Request::new(MinimalData { peer: Some(destination.peer) });
        let request = self.lane.core.requests.insert(request).expect("room for a request");
        self.requests.push(request);
        let body = match mode {
            SendMode::Buffered => MessageMemory::Owned(vec![7; bytes]),
            _ => MessageMemory::Buffer(self.new_buffer(bytes)),
        };
        self.lane.start(PendingSend { to: *destination, body, sync: mode == SendMode::Synchronous, request });
        assert!(
            self.is_done(request) || !self.lane.core.engine.has_failed(destination.peer),
            "a send to a failed peer is open"
        );
    }

    fn recv(&mut self, spec: MatchSpec, buffer: Buffer) -> u32 {
        self.longest_recv = self.longest_recv.max(buffer.len());
        let request = self.new_recv();
        self.lane.post(spec, buffer, request);
        request
    }

    fn arrive(&mut self, from: Peer, (header, bytes): (Header, Vec<u8>)) {
        let warranted = 4 * bytes.len() as u64 + LIMITS.credit.max(self.longest_recv) + ROOM_TO_GROW;
        device_state().arriving.push_back((from, header, bytes));
        let (before, invalid_before) =
            (self.lane.core.engine.clone(), self.counters.get(Counter::InvalidPackets as usize));
        assert!(!before.has_effects());
        let lane = &mut self.lane;
        let memory = allocation_counter::measure(|| _ = lane.channel.poll(&mut lane.core));
        assert!(memory.bytes_max <= warranted, "{} bytes for {header:?}, {warranted} warranted", memory.bytes_max);
        if self.counters.get(Counter::InvalidPackets as usize) > invalid_before {
            assert!(self.lane.core.engine == before, "an invalid {header:?} changed the engine");
        }
    }

    /// Cancels a request as MPI_Cancel does. Only a send names its peer here.
    fn cancel(&mut self, number: usize) {
        let Some(&index) = self.requests.get(number % self.requests.len().max(1)) else { return };
        let core = &mut self.lane.core;
        let request = core.requests.get(index);
        match (request.data.peer, &request.state) {
            (None, &RequestState::Active(Some(op))) => drop(core.engine.cancel_recv(op)),
            (Some(_), &RequestState::Active(Some(op))) => core.engine.cancel_send(op),
            _ => {}
        }
    }

    /// Claims and receives a message as MPI_Improbe and MPI_Imrecv do.
    fn claim(&mut self, spec: MatchSpec, capacity: usize) {
        let Some((unexpected, _)) = self.lane.core.engine.claim(&spec) else { return };
        let buffer = self.new_buffer(capacity);
        let request = self.new_recv();
        let op = self.lane.core.engine.recv_claimed(unexpected, capacity as u64).expect("it was claimed just now");
        self.bind(op, buffer, request);
    }

    fn bind(&mut self, op: OpId, buffer: Buffer, request: u32) {
        self.lane.core.requests.get(request).state = RequestState::Active(Some(op));
        self.lane.core.bind(op, MessageMemory::Buffer(buffer), Some(request));
    }

    fn lose(&mut self, peer: Peer) {
        if device_state().lost.contains(&peer) {
            return;
        }
        device_state().losing.push(peer);
        self.lane.progress();
        assert!(self.lane.core.engine.has_failed(peer));
    }

    fn check_accounts(&self) {
        for peer in (0..PEERS).map(Peer) {
            let account = self.lane.core.engine.account(peer);
            assert!(account.credit <= LIMITS.credit && account.owed < LIMITS.credit / 2, "{account:?}");
            assert!(
                !self.lane.core.engine.has_failed(peer) || (account.received_rtrs.is_empty() && account.streams == 0),
                "{account:?}"
            );
        }
    }

    fn is_done(&mut self, request: u32) -> bool {
        matches!(self.lane.core.requests.get(request).state, RequestState::OpEnded(_))
    }

    /// Checks that peers that keep the protocol are still served: each sends a message to a receive of a context of its
    /// own.
    fn check_service(&mut self) {
        device_state().full = false;
        for peer in (0..PEERS).map(Peer).filter(|&peer| !device_state().lost.contains(&peer)) {
            let context = Context::new(16, 0);
            let buffer = self.new_buffer(8);
            let spec = MatchSpec { context, source: Some(peer), tag: Some(5) };
            let request = self.recv(spec, buffer);
            device_state().arriving.push_back((peer, wire::eager(context, 5), vec![9; 8]));
            self.lane.progress();
            let RequestState::OpEnded(outcome) = self.lane.core.requests.get(request).state else {
                panic!("the receive from {peer} has not ended")
            };
            let arrived = (outcome.envelope.source, outcome.envelope.bytes, outcome.error, outcome.cancelled);
            assert_eq!(arrived, (peer, 8, None, false));
            assert_eq!(self.buffers.last(), Some(&vec![9; 8]));
        }
    }

    /// Checks that everything ends without peers.
    fn check_end(&mut self) {
        (0..PEERS).map(Peer).for_each(|peer| self.lose(peer));
        (0..self.requests.len()).for_each(|number| self.cancel(number));
        self.lane.flush_effects();
        assert_eq!(self.lane.core.requests.count_open(), self.requests.len());
        for request in self.requests.clone() {
            assert!(self.is_done(request), "request {request} hangs");
        }
        // Messages for contexts that do not exist stay until the contexts are created and freed.
        let numbers = (0..Context::NUMBERS).step_by(LANES).map(|number| Context::new(number, 0));
        let contexts = numbers.flat_map(|context| (0..Context::KINDS).map(move |kind| Context(context.0 + kind)));
        for context in contexts {
            if self.lane.core.engine.is_idle() {
                break;
            }
            self.lane.close_context(context);
        }
        assert!(self.lane.core.engine.is_idle() && self.lane.is_drained());
    }
}

fn peer(number: u8) -> Peer {
    Peer(u32::from(number) % PEERS)
}

fn match_spec(source: Option<u8>, tag: Option<u8>) -> MatchSpec {
    MatchSpec { context: Context(0), source: source.map(peer), tag: tag.map(|tag| i32::from(tag % 3)) }
}

#[test]
fn packets_of_peers() {
    check!().with_type::<Vec<Event>>().with_iterations(3000).for_each(|events| {
        let mut rank = Rank::new();
        if std::env::var_os("SHOW").is_some() {
            eprintln!("{}: {events:?}", events.len());
        }
        events.iter().for_each(|event| rank.act(event));
        rank.check_service();
        rank.check_end();
    });
}
