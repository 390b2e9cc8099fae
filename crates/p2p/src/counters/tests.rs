//! The counters of bytes: a lane sends to itself by each method, with the receive posted before and after.

use super::*;
use crate::buffer::Buffer;
use crate::lane::LaneState;
use crate::matching::{MatchSpec, ProtocolLimits};
use crate::message::{Destination, MessageMemory, PendingSend};
use crate::minimal_data::MinimalData;
use crate::request::Request;
use hawser_base::{Context, Lane as LaneId, Peer, Peers, UserMem};
use hawser_device::{
    Delivery, Device, DeviceLimits, DevicePort, ExposedKey, Header, Loopback, PayloadSource, SendError,
};
use hawser_transport::Fabric;
use std::collections::BTreeMap;
use std::sync::Mutex;

const ME: Peer = Peer(0);
const NEVER: u64 = ProtocolLimits::NEVER;
/// One packet carries 64 bytes, an eager stream 256; a receive of 257 bytes is announced.
const LIMITS: ProtocolLimits = ProtocolLimits { credit: 1 << 20, ..ProtocolLimits::DEFAULT };
const NO_RTR: ProtocolLimits = ProtocolLimits { rtr_from: NEVER, ..LIMITS };
const READ: ProtocolLimits = ProtocolLimits { read_from: 100, ..LIMITS };
const WRITTEN: ProtocolLimits = ProtocolLimits { write_from: 100, ..LIMITS };
const ZERO_COPY: ProtocolLimits = ProtocolLimits { zero_copy_from: 100, ..LIMITS };
const IN_ONE_CALL: ProtocolLimits = ProtocolLimits { stream_from: 40, ..LIMITS };

/// The abilities of the device.
#[derive(Clone, Copy, Default)]
struct Abilities {
    /// Whether its exposed memory can be accessed.
    has_access: bool,
    /// The maximum number of bytes of a zero-copy send that it transmits.
    zero_copy_max: usize,
    /// Whether it sends whole messages in one call.
    streams: bool,
}

const NONE: Abilities = Abilities { has_access: false, zero_copy_max: 0, streams: false };
const ACCESS: Abilities = Abilities { has_access: true, ..NONE };

/// The self device with methods for long messages.
struct AbleDevice {
    inner: Loopback,
    abilities: Abilities,
    exposed: Mutex<Vec<UserMem<'static>>>,
}

impl AbleDevice {
    fn exposed(&self, key: &ExposedKey) -> UserMem<'static> {
        self.exposed.lock().unwrap()[key[0] as usize]
    }
}

impl Device for AbleDevice {
    fn name(&self) -> &'static str {
        "able"
    }

    fn reaches(&self, peer: Peer) -> bool {
        self.inner.reaches(peer)
    }

    fn limits(&self) -> DeviceLimits {
        self.inner.limits()
    }

    fn port(&self, lane: LaneId) -> Box<dyn DevicePort> {
        Box::new(AblePort { inner: self.inner.port(lane), abilities: self.abilities, zero_copies: Vec::new() })
    }

    fn expose_shared(&self, mem: UserMem<'static>) -> Option<ExposedKey> {
        let mut exposed = self.exposed.lock().unwrap();
        exposed.push(mem);
        Some([exposed.len() as u64 - 1, 0, 0])
    }

    fn expose_to_write(&self, mem: UserMem<'static>) -> Option<ExposedKey> {
        self.expose_shared(mem)
    }

    fn read(&self, _: Peer, key: &ExposedKey, at: u64, into: UserMem) -> bool {
        if self.abilities.has_access {
            into.copy_from(self.exposed(key).slice(at as usize, into.len()));
        }
        self.abilities.has_access
    }

    fn write(&self, _: Peer, key: &ExposedKey, at: u64, source: PayloadSource<'_>) -> bool {
        if let (true, PayloadSource::Mem(mem)) = (self.abilities.has_access, source) {
            self.exposed(key).slice(at as usize, mem.len()).copy_from(mem);
        }
        self.abilities.has_access
    }
}

struct AblePort {
    inner: Box<dyn DevicePort>,
    abilities: Abilities,
    /// Zero-copy sends that wait for the next poll.
    zero_copies: Vec<(Peer, Header, UserMem<'static>, u32)>,
}

impl AblePort {
    fn transmit(&mut self, delivery: &mut dyn Delivery) {
        for (to, header, mem, token) in self.zero_copies.drain(..) {
            let part = mem.slice(0, mem.len().min(self.abilities.zero_copy_max));
            self.inner.send(to, header, &[], PayloadSource::Mem(part)).expect("it has space");
            delivery.zero_copy_done(token, part.len() as u64);
        }
    }
}

impl DevicePort for AblePort {
    fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: PayloadSource<'_>) -> Result<(), SendError> {
        self.inner.send(to, header, prefix, source)
    }

    fn send_stream(&mut self, to: Peer, header: Header, prefix: &[u8], rest_header: Header, mem: UserMem<'_>) -> bool {
        if self.abilities.streams {
            self.inner.send(to, header, prefix, PayloadSource::None).expect("it has space");
            self.inner.send(to, rest_header, &[], PayloadSource::Mem(mem)).expect("it has space");
        }
        self.abilities.streams
    }

    fn send_zero_copy(&mut self, to: Peer, header: Header, mem: UserMem<'static>, _: bool, token: u32) -> bool {
        let is_taken = self.abilities.zero_copy_max > 0;
        if is_taken {
            self.zero_copies.push((to, header, mem, token));
        }
        is_taken
    }

    fn reserve(&mut self, to: Peer, len: usize) -> bool {
        self.inner.reserve(to, len)
    }

    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        self.transmit(delivery);
        self.inner.poll(delivery)
    }

    fn poll_from(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool {
        self.transmit(delivery);
        self.inner.poll_from(from, delivery)
    }
}

fn lane(limits: ProtocolLimits, abilities: Abilities) -> LaneState<MinimalData> {
    let device = AbleDevice { inner: Loopback::new(ME), abilities, exposed: Mutex::default() };
    let peers = Peers::Consecutive { first: ME, len: 1 };
    let fabric = Box::leak(Box::new(Fabric::new(vec![Box::new(device)], &peers).unwrap()));
    LaneState::new(LaneId(0), fabric, limits, Counters::private(), |text| panic!("{text}"))
}

fn leaked(bytes: Vec<u8>) -> UserMem<'static> {
    UserMem::of_slice(bytes.leak())
}

const SPEC: MatchSpec = MatchSpec { context: Context(0), source: Some(ME), tag: Some(3) };

fn insert(lane: &mut LaneState<MinimalData>) -> u32 {
    lane.core.requests.insert(Request::new(MinimalData { peer: Some(ME) })).unwrap()
}

fn post(lane: &mut LaneState<MinimalData>, memory: UserMem<'static>) -> u32 {
    let request = insert(lane);
    lane.post(SPEC, Buffer::Dense(memory), request);
    request
}

/// Sends a message to ourselves as MPI_Send does. Returns its request; None if it has ended already.
fn send(lane: &mut LaneState<MinimalData>, mem: UserMem<'static>, sync: bool) -> Option<u32> {
    let to = Destination { peer: ME, context: Context(0), tag: 3 };
    if !sync && lane.send_at_once(&to, mem) {
        return None;
    }
    let request = insert(lane);
    lane.start(PendingSend { to, body: MessageMemory::Buffer(Buffer::Dense(mem)), sync, request });
    Some(request)
}

fn wait(lane: &mut LaneState<MinimalData>, request: u32) {
    while lane.core.requests.get(request).outcome().is_none() {
        assert!(lane.progress(), "the operation does not end");
    }
    lane.core.requests.remove(request);
}

/// Returns the counters of bytes that are not 0, by their names.
fn counted_bytes(lane: &LaneState<MinimalData>) -> BTreeMap<String, u64> {
    let in_bytes = entries().enumerate().filter(|(_, entry)| entry.unit == CounterUnit::Bytes);
    let counted = in_bytes.map(|(slot, entry)| (entry.name, lane.core.counters.get(slot)));
    counted.filter(|&(_, count)| count > 0).collect()
}

fn check(lane: &LaneState<MinimalData>, expected: &[(Counter, u64)], about: &str) {
    let expected = expected.iter().map(|&(counter, bytes)| (NAMES[counter as usize].to_owned(), bytes));
    assert_eq!(counted_bytes(lane), expected.collect(), "{about}");
}

/// Sends a message of `bytes` bytes whose receive is posted before or after, and checks the counters: beside those of
/// `by_method`, the bytes were sent and received, and if the receive was posted after, those of an unexpected message.
fn exchange(
    (limits, abilities): (ProtocolLimits, Abilities),
    bytes: usize,
    is_posted: bool,
    by_method: &[(Counter, u64)],
) {
    let mut lane = lane(limits, abilities);
    let sent: Vec<u8> = (0..bytes).map(|at| at as u8 ^ 0x5a).collect();
    let (mem, memory) = (leaked(sent.clone()), leaked(vec![0; bytes]));
    let before = is_posted.then(|| post(&mut lane, memory));
    let send = send(&mut lane, mem, false);
    let receive = before.unwrap_or_else(|| {
        while lane.progress() {}
        post(&mut lane, memory)
    });
    [Some(receive), send].into_iter().flatten().for_each(|request| wait(&mut lane, request));
    let mut received = vec![0; bytes];
    memory.read(&mut received);
    assert_eq!(received, sent);
    assert!(lane.is_drained() && lane.core.engine.is_idle());
    let total = bytes as u64;
    let mut expected = vec![(Counter::BytesSent, total), (Counter::BytesReceived, total)];
    expected.extend((!is_posted).then_some((Counter::BytesUnexpected, total)));
    expected.extend((total > UNCOUNTED_LENGTH_MAX).then_some((Counter::BytesTo1Ki, total)));
    expected.extend(by_method);
    check(&lane, &expected, &format!("{bytes} bytes, receive posted first: {is_posted}, {limits:?}"));
}

#[test]
fn eager_messages() {
    for is_posted in [true, false] {
        exchange((LIMITS, NONE), 64, is_posted, &[]);
        exchange((LIMITS, NONE), 200, is_posted, &[(Counter::BytesStreamed, 200)]);
        let by_device = [(Counter::BytesStreamed, 50), (Counter::BytesDeviceStreams, 50)];
        exchange((IN_ONE_CALL, Abilities { streams: true, ..NONE }), 50, is_posted, &by_device);
        exchange((IN_ONE_CALL, NONE), 50, is_posted, &[]);
    }
}

#[test]
fn long_messages_in_packets() {
    exchange((LIMITS, NONE), 400, true, &[(Counter::BytesReplied, 400)]);
    exchange((LIMITS, NONE), 400, false, &[(Counter::BytesRendezvous, 400)]);
    exchange((NO_RTR, NONE), 400, true, &[(Counter::BytesRendezvous, 400)]);
}

#[test]
fn long_messages_that_are_copied_once() {
    let sent = [(Counter::BytesRendezvous, 400), (Counter::BytesExposed, 400)];
    let read = [(Counter::BytesPulled, 400), (Counter::BytesCopiedOnce, 400)];
    // The first 32 bytes come with the RTS.
    let written = [(Counter::BytesRendezvous, 400), (Counter::BytesWritten, 368), (Counter::BytesCopiedOnce, 368)];
    for is_posted in [true, false] {
        exchange((READ, ACCESS), 400, is_posted, &[sent, read].concat());
        exchange((READ, NONE), 400, is_posted, &sent);
        exchange((WRITTEN, ACCESS), 400, is_posted, &written);
        exchange((WRITTEN, NONE), 400, is_posted, &written[..1]);
    }
}

#[test]
fn rests_of_messages_that_are_sent_zero_copy() {
    let most = |zero_copy_max| Abilities { zero_copy_max, ..NONE };
    exchange((ZERO_COPY, most(1000)), 400, true, &[(Counter::BytesReplied, 400), (Counter::BytesZeroCopy, 400)]);
    for (most, sent) in [(most(1000), 368), (most(150), 150)] {
        exchange((ZERO_COPY, most), 400, false, &[(Counter::BytesRendezvous, 400), (Counter::BytesZeroCopy, sent)]);
    }
    exchange((ZERO_COPY, NONE), 400, false, &[(Counter::BytesRendezvous, 400)]);
}

/// A message that lies in its device when its receive is called is not unexpected.
#[test]
fn a_message_that_is_taken_directly_is_received() {
    let mut lane = lane(LIMITS, NONE);
    assert!(send(&mut lane, leaked(vec![7; 40]), false).is_none());
    let received = lane.recv_directly(&SPEC, ME, leaked(vec![0; 60]), || 1, || true);
    assert_eq!(received.map(|received| received.bytes), Some(40));
    check(&lane, &[(Counter::BytesSent, 40), (Counter::BytesReceived, 40)], "taken directly");
}

/// A message counts with its own length where its receive is shorter, and is counted before it is received.
#[test]
fn messages_count_when_they_arrive_with_their_own_length() {
    let mut lane = lane(LIMITS, NONE);
    let short = post(&mut lane, leaked(vec![0; 10]));
    assert!(send(&mut lane, leaked(vec![7; 64]), false).is_none());
    wait(&mut lane, short);
    let late = send(&mut lane, leaked(vec![7; 300]), true).unwrap();
    while lane.progress() {}
    let counted = [
        (Counter::BytesSent, 364),
        (Counter::BytesRendezvous, 300),
        (Counter::BytesTo1Ki, 300),
        (Counter::BytesReceived, 364),
        (Counter::BytesUnexpected, 300),
    ];
    check(&lane, &counted, "before it is received");
    let receive = post(&mut lane, leaked(vec![0; 300]));
    [receive, late].into_iter().for_each(|request| wait(&mut lane, request));
    check(&lane, &counted, "after it was received");
}

#[test]
fn messages_are_counted_by_their_length() {
    let counters = Counters::private();
    for length in [0, 64, 65, 1 << 10, 1025, 8 << 10, 8193, 64 << 10, 65537, 1 << 20, (1 << 20) + 1, 1 << 40] {
        counters.add(Counter::Eager as usize, 1);
        count_sent(&counters, length);
    }
    let by_length = sent_by_length(|counter| counters.get(counter as usize));
    assert_eq!(by_length.map(|(messages, ..)| messages), [2; 6]);
    let bytes = [64, 65 + 1024, 1025 + 8192, 8193 + 65536, 65537 + (1 << 20), (1 << 20) + 1 + (1 << 40)];
    assert_eq!(by_length.map(|(_, bytes, _)| bytes), bytes);
    assert_eq!(by_length.map(|(.., length)| length)[..2], ["of at most 64 B", "of 65 B to 1 KiB"]);
}
