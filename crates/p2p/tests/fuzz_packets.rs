//! Fuzzes the packets that peers send: any words and any bytes, among sends and receives of our own.
//!
//! A real lane runs over a device whose peers are the fuzzer: `wire::decode`, the engine's `arrive`, the placement of
//! payload and all effects run as they do under MPI. The invariants after every packet:
//! - nothing panics, and no more memory is allocated than the packet and the limits warrant;
//! - a packet that is counted as a stray has left the engine unchanged;
//! - the packets that we send decode, and none goes to a lost peer;
//! - the accounts of every peer stay within the window.
//!
//! At the end, when no more strays arrive: a message to a new receive arrives as it was sent, and once all peers are
//! lost and the rest is cancelled, nothing is left.

use bolero::{TypeGenerator, check};
use hawser_base::{Context, LANES, Lane as LaneId, Peer, Peers, SharedMem, UserMem};
use hawser_device::{
    Delivery, Device, ExposedKey, Header, Limits as Figures, PREFIX_MAX, Payload, Pieces, Port, Refusal, Source,
};
use hawser_job::counters::Counters;
use hawser_p2p::buffer::Buffer;
use hawser_p2p::counters::Counter;
use hawser_p2p::lane::Lane;
use hawser_p2p::matching::{Key, Limits, Op, Packet, Want};
use hawser_p2p::message::{Body, Outgoing, Target};
use hawser_p2p::plain::Plain;
use hawser_p2p::request::{Request, State};
use hawser_p2p::wire;
use hawser_transport::Fabric;
use std::collections::VecDeque;
use std::sync::{LazyLock, Mutex, MutexGuard};

const PEERS: u32 = 3;
const LANE: LaneId = LaneId(0);
/// Small limits, so that few bytes reach every method.
const LIMITS: Limits = Limits { packet: 8, eager: 40, first: 4, offer: 10, window: 256 };
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
    /// A packet of any words and any bytes.
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
        how: Sent,
    },
    Recv {
        source: Option<u8>,
        tag: Option<u8>,
        room: u8,
    },
    /// Cancels the request with this number.
    Cancel(u8),
    /// A matched probe and its receive.
    Claim {
        source: Option<u8>,
        tag: Option<u8>,
        room: u8,
    },
    /// The device has room, or none, from now on.
    Room(bool),
    /// The peers' memory can be read and written, or not, from now on.
    Reachable(bool),
    /// A peer is lost, if the number is a multiple of eight: otherwise hardly one would stay.
    Lose(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, TypeGenerator)]
enum Sent {
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
    let key = yes.then_some(Key([first, second, third]));
    match kind % 14 {
        0 => Packet::Eager { context, tag },
        1 => Packet::Push { context, tag, bytes: first },
        2 => Packet::Ask { context, tag, bytes: first, send: second as u32, key },
        3 => Packet::Answer { context, tag, bytes: first, offer: second as u32 },
        4 => Packet::Data { message: first as u32, at: second % (1 << 48) },
        5 => Packet::Grant { send: first as u32, from: second, until: third, key },
        6 => Packet::Done { send: first as u32 },
        7 => Packet::Offer {
            context,
            tag: yes.then_some(tag),
            room: first,
            number: second as u32,
            accepted: third as u32,
        },
        8 => Packet::Stale { number: first as u32 },
        9 => Packet::Withdraw { number: first as u32, accepted: second as u32 },
        10 => Packet::Cancel { send: first as u32 },
        11 => Packet::Cancelled { send: first as u32, yes },
        12 => Packet::Written { message: first as u32 },
        _ => Packet::Credit { bytes: first },
    }
}

/// Encodes a packet: its header and all bytes behind it. Checks that it decodes to the same packet.
fn encoded(packet: Packet, payload: u8) -> (Header, Vec<u8>) {
    let control = wire::encode(&packet);
    let mut bytes = control.prefix().to_vec();
    assert_eq!(wire::decode(&control.header, &mut Bytes::new(bytes.clone()), LANE), Some(packet));
    // Half of all packets have no payload.
    bytes.extend((128..payload).map(|at| at ^ 0x55));
    (control.header, bytes)
}

/// A payload in ragged pieces.
struct Bytes(Vec<u8>, usize);

impl Bytes {
    fn new(bytes: Vec<u8>) -> Bytes {
        Bytes(bytes, 0)
    }
}

impl Payload for Bytes {
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
struct Wire {
    arriving: VecDeque<(Peer, Header, Vec<u8>)>,
    losing: Vec<Peer>,
    lost: Vec<Peer>,
    full: bool,
    reachable: bool,
}

const EMPTY: Wire =
    Wire { arriving: VecDeque::new(), losing: Vec::new(), lost: Vec::new(), full: false, reachable: false };

static WIRE: Mutex<Wire> = Mutex::new(EMPTY);

/// Locks the wire briefly: never while the lane runs.
fn on_wire() -> MutexGuard<'static, Wire> {
    WIRE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
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
        Figures { short: 8, packet, pieces: Pieces::Pages(|_| 8), eager: LIMITS.eager as usize, read_from: Some(16) }
    }

    fn port(&self, _lane: LaneId) -> Box<dyn Port> {
        Box::new(Hostile)
    }

    fn expose(&self, mem: UserMem) -> Option<ExposedKey> {
        Some([1, 2, mem.len() as u64])
    }

    fn read(&self, _peer: Peer, _key: &ExposedKey, _at: u64, into: UserMem) -> bool {
        let reachable = on_wire().reachable;
        if reachable {
            into.write(&vec![0xaa; into.len()]);
        }
        reachable
    }

    fn expose_to_write(&self, mem: UserMem) -> Option<ExposedKey> {
        Some([1, 2, mem.len() as u64])
    }

    fn write(&self, _peer: Peer, _key: &ExposedKey, _at: u64, source: Source<'_>) -> bool {
        let _ = bytes_of(source);
        on_wire().reachable
    }
}

/// Returns all bytes of a payload of ours.
fn bytes_of(source: Source<'_>) -> Vec<u8> {
    let mut bytes = vec![0; source.len()];
    match source {
        Source::None => {}
        Source::Mem(mem) => mem.read(&mut bytes),
        Source::Pack { pack, .. } => pack(SharedMem::of_slice(&mut bytes)),
    }
    bytes
}

impl Port for Hostile {
    fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: Source<'_>) -> Result<(), Refusal> {
        if on_wire().lost.contains(&to) {
            return Err(Refusal::Lost);
        }
        if on_wire().full {
            return Err(Refusal::Full);
        }
        let bytes = [prefix.to_vec(), bytes_of(source)].concat();
        assert!(bytes.len() <= LIMITS.packet as usize + PREFIX_MAX, "a packet of {} bytes", bytes.len());
        let packet = wire::decode(&header, &mut Bytes::new(bytes), LANE);
        assert!(packet.is_some(), "{header:?} to {to} does not decode");
        Ok(())
    }

    fn reserve(&mut self, to: Peer, _len: usize) -> bool {
        let wire = on_wire();
        !wire.full && !wire.lost.contains(&to)
    }

    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        let (arriving, losing) = {
            let mut wire = on_wire();
            (std::mem::take(&mut wire.arriving), std::mem::take(&mut wire.losing))
        };
        let count = arriving.len();
        for (from, header, bytes) in arriving {
            delivery.deliver(from, header, &mut Bytes::new(bytes));
        }
        for peer in losing {
            on_wire().lost.push(peer);
            delivery.lost(peer);
        }
        count
    }

    fn poll_from(&mut self, _from: Peer, delivery: &mut dyn Delivery) -> bool {
        self.poll(delivery) > 0
    }
}

static FABRIC: LazyLock<Fabric> = LazyLock::new(|| {
    Fabric::new(vec![Box::new(Hostile)], &Peers::Run { first: Peer(0), len: PEERS }).unwrap_or_else(|e| panic!("{e}"))
});

/// A rank's lane with the memory that its application has lent to it.
struct Rank {
    lane: Lane<Plain>,
    counters: Counters,
    /// All buffers that were ever lent: they outlive the lane's operations.
    buffers: Vec<Vec<u8>>,
    requests: Vec<u32>,
    /// The longest receive so far, in bytes.
    room: u64,
}

impl Rank {
    fn new() -> Rank {
        *on_wire() = EMPTY;
        let counters = Counters::private();
        let lane = Lane::new(LANE, &FABRIC, LIMITS, counters.clone(), |text| panic!("{text}"));
        Rank { lane, counters, buffers: Vec::new(), requests: Vec::new(), room: 0 }
    }

    fn lend(&mut self, len: usize) -> Buffer {
        self.buffers.push(vec![7; len]);
        let memory = self.buffers.last_mut().expect("just pushed");
        // SAFETY: no buffer is freed or resized before the lane, which is dropped first.
        Buffer::Dense(unsafe { UserMem::new(memory.as_mut_ptr(), len) })
    }

    fn new_recv(&mut self) -> u32 {
        let request = Request::new(Plain { peer: None });
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
                self.arrive(peer(from), (Header { kind: kind % 16, aux, a, b }, bytes.clone()));
            }
            Event::Call(ref call) => self.call(call),
        }
        self.lane.settle();
        self.check_accounts();
    }

    fn call(&mut self, call: &Call) {
        match *call {
            Call::Send { to, tag, bytes, how } => {
                let target = Target { peer: peer(to), context: Context(0), tag: i32::from(tag % 3) };
                self.send(&target, bytes as usize % LONGEST, how);
            }
            Call::Recv { source, tag, room } => {
                let buffer = self.lend(room as usize % LONGEST);
                self.recv(want(source, tag), buffer);
            }
            Call::Cancel(number) => self.cancel(number as usize),
            Call::Claim { source, tag, room } => self.claim(want(source, tag), room as usize % LONGEST),
            Call::Room(room) => on_wire().full = !room,
            Call::Reachable(reachable) => on_wire().reachable = reachable,
            Call::Lose(number) => drop((number % 8 == 0).then(|| self.lose(peer(number / 8)))),
        }
    }

    fn send(&mut self, target: &Target, bytes: usize, how: Sent) {
        let request = Request::new(Plain { peer: Some(target.peer) });
        let request = self.lane.core.requests.insert(request).expect("room for a request");
        self.requests.push(request);
        let body = match how {
            Sent::Buffered => Body::Held(vec![7; bytes]),
            _ => Body::Buffer(self.lend(bytes)),
        };
        self.lane.start(Outgoing { to: *target, body, sync: how == Sent::Synchronous, request });
        assert!(self.is_done(request) || !self.lane.core.engine.is_lost(target.peer), "a send to nobody is open");
    }

    fn recv(&mut self, want: Want, buffer: Buffer) -> u32 {
        self.room = self.room.max(buffer.len());
        let request = self.new_recv();
        self.lane.post(want, buffer, request);
        request
    }

    fn arrive(&mut self, from: Peer, (header, bytes): (Header, Vec<u8>)) {
        let warranted = 4 * bytes.len() as u64 + LIMITS.window.max(self.room) + ROOM_TO_GROW;
        on_wire().arriving.push_back((from, header, bytes));
        let (before, strays) = (self.lane.core.engine.clone(), self.counters.get(Counter::Strays as usize));
        assert!(!before.has_effects());
        let lane = &mut self.lane;
        let memory = allocation_counter::measure(|| _ = lane.channel.poll(&mut lane.core));
        assert!(memory.bytes_max <= warranted, "{} bytes for {header:?}, {warranted} warranted", memory.bytes_max);
        if self.counters.get(Counter::Strays as usize) > strays {
            assert!(self.lane.core.engine == before, "a stray {header:?} changed the engine");
        }
    }

    /// Cancels a request as MPI_Cancel does. Only a send names its peer here.
    fn cancel(&mut self, number: usize) {
        let Some(&index) = self.requests.get(number % self.requests.len().max(1)) else { return };
        let core = &mut self.lane.core;
        let request = core.requests.get(index);
        match (request.note.peer, &request.state) {
            (None, &State::Active(Some(op))) => drop(core.engine.cancel_recv(op)),
            (Some(_), &State::Active(Some(op))) => core.engine.cancel_send(op),
            _ => {}
        }
    }

    /// Claims and receives a message as MPI_Improbe and MPI_Imrecv do.
    fn claim(&mut self, want: Want, room: usize) {
        let Some((held, _)) = self.lane.core.engine.claim(&want) else { return };
        let buffer = self.lend(room);
        let request = self.new_recv();
        let op = self.lane.core.engine.recv_claimed(held, room as u64).expect("it was claimed just now");
        self.bind(op, buffer, request);
    }

    fn bind(&mut self, op: Op, buffer: Buffer, request: u32) {
        self.lane.core.requests.get(request).state = State::Active(Some(op));
        self.lane.core.bind(op, Body::Buffer(buffer), Some(request));
    }

    fn lose(&mut self, peer: Peer) {
        if on_wire().lost.contains(&peer) {
            return;
        }
        on_wire().losing.push(peer);
        self.lane.progress();
        assert!(self.lane.core.engine.is_lost(peer));
    }

    fn check_accounts(&self) {
        for peer in (0..PEERS).map(Peer) {
            let ledger = self.lane.core.engine.ledger(peer);
            assert!(ledger.credit <= LIMITS.window && ledger.owed < LIMITS.window / 2, "{ledger:?}");
            assert!(
                !self.lane.core.engine.is_lost(peer) || (ledger.given.is_empty() && ledger.streams == 0),
                "{ledger:?}"
            );
        }
    }

    fn is_done(&mut self, request: u32) -> bool {
        matches!(self.lane.core.requests.get(request).state, State::Ended(_))
    }

    /// Checks that peers that keep the protocol are still served: each sends a message to a receive of a context of its
    /// own.
    fn check_service(&mut self) {
        on_wire().full = false;
        for peer in (0..PEERS).map(Peer).filter(|&peer| !on_wire().lost.contains(&peer)) {
            let context = Context::new(16, 0);
            let buffer = self.lend(8);
            let want = Want { context, source: Some(peer), tag: Some(5) };
            let request = self.recv(want, buffer);
            on_wire().arriving.push_back((peer, wire::eager(context, 5), vec![9; 8]));
            self.lane.progress();
            let State::Ended(outcome) = self.lane.core.requests.get(request).state else {
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
        self.lane.settle();
        assert_eq!(self.lane.core.requests.open(), self.requests.len());
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
            self.lane.close(context);
        }
        assert!(self.lane.core.engine.is_idle() && self.lane.is_drained());
    }
}

fn peer(number: u8) -> Peer {
    Peer(u32::from(number) % PEERS)
}

fn want(source: Option<u8>, tag: Option<u8>) -> Want {
    Want { context: Context(0), source: source.map(peer), tag: tag.map(|tag| i32::from(tag % 3)) }
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
