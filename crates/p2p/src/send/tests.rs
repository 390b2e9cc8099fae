//! Sends in a lane whose devices are queues of this process: those that wait for room, and those whose peer has
//! failed or ended.

use super::*;
use crate::matching::{MatchSpec, ProtocolLimits};
use crate::minimal_data::MinimalData;
use crate::request::Request;
use hawser_base::{Context, Lane as LaneId, Peer, Peers, UserMem};
use hawser_device::{Delivery, Device, DeviceLimits, DevicePort, Header, Loopback, SendError};
use hawser_job::counters::Counters;
use hawser_transport::Fabric;

const ME: Peer = Peer(0);
const GONE: Peer = Peer(1);
const LIMITS: ProtocolLimits =
    ProtocolLimits { packet: 64, eager: 256, first: 32, rtr_from: 300, credit: 1 << 20, ..ProtocolLimits::DEFAULT };
/// More messages than the self device takes.
const MANY: u32 = 1000;

fn lane() -> LaneState<MinimalData> {
    let devices = [ME, GONE].map(|peer| Box::new(Loopback::new(peer)) as Box<dyn hawser_device::Device>);
    let fabric = Fabric::new(devices.into(), &Peers::Consecutive { first: Peer(0), len: 2 }).unwrap();
    without_polls(lane_over(fabric, LIMITS))
}

fn lane_over(fabric: Fabric, limits: ProtocolLimits) -> LaneState<MinimalData> {
    let fabric = Box::leak(Box::new(fabric));
    LaneState::new(LaneId(0), fabric, limits, Counters::private(), |text| panic!("{text}"))
}

/// Sends of the lane never poll for others that wait, so that all of these wait.
fn without_polls(lane: LaneState<MinimalData>) -> LaneState<MinimalData> {
    LaneState { waiting_polls: WaitingPolls { calls: 0, next_ns: u64::MAX }, ..lane }
}

fn target(peer: Peer) -> Destination {
    Destination { peer, context: Context(0), tag: 3 }
}

fn insert(lane: &mut LaneState<MinimalData>, peer: Peer) -> u32 {
    lane.core.requests.insert(Request::new(MinimalData { peer: Some(peer) })).unwrap()
}

fn count(lane: &LaneState<MinimalData>, counter: Counter) -> u64 {
    lane.core.counters.get(counter as usize)
}

/// Removes the only request of the lane if it has ended, and returns the class of its error.
fn ended(lane: &mut LaneState<MinimalData>, request: u32) -> Option<Class> {
    let outcome = lane.core.requests.get(request).outcome().expect("the send has ended");
    lane.core.requests.remove(request);
    assert_eq!(lane.core.requests.count_open(), 0, "a request is left");
    outcome.error
}

/// Memory of a program, which lives for ever.
fn leaked(bytes: Vec<u8>) -> UserMem<'static> {
    UserMem::of_slice(bytes.leak())
}

fn bytes_in(mem: UserMem) -> Vec<u8> {
    let mut bytes = vec![0; mem.len()];
    mem.read(&mut bytes);
    bytes
}

/// Returns the memory of message `i` and its length: every third has no bytes, some are sent in pieces.
fn message(i: u32) -> UserMem<'static> {
    let bytes = [0, 8, 64, 0, 200, 1][i as usize % 6];
    leaked(vec![i as u8; bytes])
}

/// Sends all messages to ourselves without polling, and returns their requests.
fn send_all(lane: &mut LaneState<MinimalData>, sent: &[UserMem<'static>]) -> Vec<Option<u32>> {
    let to = target(ME);
    let mut send = |&mem: &UserMem<'static>| {
        if lane.send_at_once(&to, mem) {
            return None;
        }
        let request = insert(lane, ME);
        lane.start(PendingSend { to, body: MessageMemory::Buffer(Buffer::Dense(mem)), sync: false, request });
        Some(request)
    };
    sent.iter().map(&mut send).collect()
}

#[test]
fn messages_that_wait_for_room_stay_eager_and_in_order() {
    let mut lane = lane();
    let sent: Vec<_> = (0..MANY).map(message).collect();
    let requests = send_all(&mut lane, &sent);
    assert!(lane.waiting_sends.has(ME) && !lane.is_idle(), "the device took all of it");
    for (i, sent) in sent.iter().enumerate() {
        let memory = leaked(vec![0; 200]);
        let request = insert(&mut lane, ME);
        let spec = MatchSpec { context: Context(0), source: (i % 2 == 0).then_some(ME), tag: None };
        lane.post(spec, Buffer::Dense(memory), request);
        while lane.core.requests.get(request).outcome().is_none() {
            assert!(lane.progress(), "message {i} does not come");
        }
        let outcome = lane.core.requests.remove(request).outcome().unwrap();
        assert_eq!(bytes_in(memory.slice(0, outcome.envelope.bytes as usize)), bytes_in(*sent), "message {i}");
    }
    assert!(requests.iter().flatten().all(|&request| lane.core.requests.get(request).outcome().is_some()));
    assert!(lane.is_drained() && lane.core.engine.is_idle());
    assert!(count(&lane, Counter::WaitedForRoom) > MANY as u64 / 2);
    assert_eq!(count(&lane, Counter::Rendezvous), 0, "a message that had only to wait for room sent an RTS");
}

/// A loopback device has space again when it is polled.
#[test]
fn sends_that_wait_leave_with_later_ones_of_a_program_that_makes_no_other_call() {
    let mut lane = lane();
    let sent: Vec<_> = (0..2 * MANY).map(message).collect();
    let (mut waited, mut left) = (0, false);
    for message in &sent {
        lane.waiting_polls.next_ns = 0;
        send_all(&mut lane, std::slice::from_ref(message));
        waited += usize::from(lane.waiting_sends.has(ME));
        left |= waited > 0 && !lane.waiting_sends.has(ME);
    }
    assert!(waited > 0 && left, "{waited}");
}

#[test]
fn a_send_that_waits_is_taken_back_at_once_and_the_others_go() {
    let mut lane = lane();
    let sent: Vec<_> = (0..MANY).map(message).collect();
    let requests = send_all(&mut lane, &sent);
    let waiting = |lane: &mut LaneState<MinimalData>, r: &u32| lane.core.requests.get(*r).outcome().is_none();
    let last = requests.iter().flatten().rev().find(|r| waiting(&mut lane, r)).copied().expect("none waits");
    lane.cancel_waiting(last);
    assert!(lane.core.requests.get(last).outcome().is_some_and(|outcome| outcome.cancelled));
    while !lane.is_drained() {
        lane.progress();
    }
    let left = requests.iter().flatten().filter(|&&r| r != last);
    assert!(left.map(|&r| lane.core.requests.get(r).outcome()).all(|s| s.is_some_and(|s| !s.cancelled)));
}

#[test]
fn sends_that_wait_end_when_their_peer_is_lost() {
    let mut lane = lane();
    let sent: Vec<_> = (0..MANY).map(message).collect();
    let requests = send_all(&mut lane, &sent);
    lane.core.peer_failed(ME);
    lane.flush_effects();
    assert!(lane.waiting_sends.is_empty() && lane.is_drained());
    let last = requests.last().copied().flatten().expect("the last send waited");
    assert_eq!(lane.core.requests.get(last).outcome().unwrap().error, Some(Class::ProcAborted));
}

#[test]
fn a_send_to_a_peer_that_is_gone_ends_by_its_request() {
    let mut lane = lane();
    lane.core.peer_failed(GONE);
    let to = target(GONE);
    for (bytes, sync) in [(0, false), (8, true), (100, false), (5000, false)] {
        let mem = leaked(vec![7; bytes]);
        assert!(!lane.send_at_once(&to, mem));
        for body in [MessageMemory::Buffer(Buffer::Dense(mem)), MessageMemory::Owned(bytes_in(mem))] {
            let request = insert(&mut lane, GONE);
            lane.start(PendingSend { to, body, sync, request });
            assert_eq!(ended(&mut lane, request), Some(Class::ProcAborted), "{bytes} bytes");
        }
    }
    assert!(lane.is_drained() && lane.core.engine.is_idle());
}

#[test]
fn a_send_under_way_ends_when_its_peer_is_lost() {
    let mut lane = lane();
    let request = insert(&mut lane, GONE);
    let body = MessageMemory::Buffer(Buffer::Dense(leaked(vec![7; 5000])));
    lane.start(PendingSend { to: target(GONE), body, sync: false, request });
    assert!(lane.core.requests.get(request).outcome().is_none());
    lane.core.peer_failed(GONE);
    assert_eq!(ended(&mut lane, request), Some(Class::ProcAborted));
}

#[test]
fn a_push_that_finds_no_room_midway_ends_at_once_and_comes_whole() {
    let mut lane = lane();
    let to = target(ME);
    // The first is one packet, so that the device is full after the first packet of a message.
    let length = |i: u32| if i == 0 { 8 } else { 200 };
    let sent = (0..MANY).map(|i| leaked((0..length(i)).map(|byte| (i * 7 + byte) as u8).collect()));
    let sent: Vec<_> = sent.collect();
    let ends = |&mem: &UserMem<'static>| lane.send_at_once(&to, mem);
    let taken = sent.iter().map(ends).take_while(|&ends| ends).count();
    assert!(lane.core.has_streams(), "the device took whole messages only, {taken} of them");
    assert_eq!(count(&lane, Counter::EagerStreams), taken as u64 - 1);
    let expected: Vec<_> = sent[..taken].iter().map(|&mem| bytes_in(mem)).collect();
    // The program may use its memory again.
    sent.iter().for_each(|mem| mem.write(&vec![0; mem.len()]));
    for (i, expected) in expected.iter().enumerate() {
        let memory = leaked(vec![0; expected.len()]);
        let request = insert(&mut lane, ME);
        let spec = MatchSpec { context: Context(0), source: Some(ME), tag: None };
        lane.post(spec, Buffer::Dense(memory), request);
        while lane.core.requests.get(request).outcome().is_none() {
            assert!(lane.progress(), "message {i} does not come");
        }
        lane.core.requests.remove(request);
        assert_eq!(&bytes_in(memory), expected, "message {i}");
    }
    assert!(lane.is_drained() && lane.core.engine.is_idle());
}

/// A device that sends whole messages in one call, except every third, and delays those that it joins.
struct StreamingDevice(Loopback);

struct StreamingPort {
    inner: Box<dyn DevicePort>,
    asked: u32,
    joined: Vec<JoinedMessage>,
}

struct JoinedMessage {
    to: Peer,
    header: Header,
    prefix: Vec<u8>,
    rest_header: Header,
    bytes: Vec<u8>,
}

impl Device for StreamingDevice {
    fn name(&self) -> &'static str {
        "streaming"
    }

    fn reaches(&self, peer: Peer) -> bool {
        self.0.reaches(peer)
    }

    fn limits(&self) -> DeviceLimits {
        self.0.limits()
    }

    fn port(&self, lane: LaneId) -> Box<dyn DevicePort> {
        Box::new(StreamingPort { inner: self.0.port(lane), asked: 0, joined: Vec::new() })
    }
}

impl DevicePort for StreamingPort {
    fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: PayloadSource<'_>) -> Result<(), SendError> {
        self.flush_pieces();
        self.inner.send(to, header, prefix, source)
    }

    fn send_stream(&mut self, to: Peer, header: Header, prefix: &[u8], rest_header: Header, mem: UserMem<'_>) -> bool {
        self.flush_pieces();
        self.asked += 1;
        if self.asked.is_multiple_of(3) {
            return false;
        }
        self.inner.send(to, header, prefix, PayloadSource::None).expect("it has space");
        for at in (0..mem.len()).step_by(50) {
            let piece = mem.slice(at, 50.min(mem.len() - at));
            self.inner.send(to, rest_header.moved(at as u64), &[], PayloadSource::Mem(piece)).expect("it has space");
        }
        true
    }

    fn join_stream(&mut self, to: Peer, header: Header, prefix: &[u8], rest_header: Header, mem: UserMem<'_>) -> bool {
        let is_accepted = self.joined.len() < 20;
        if is_accepted {
            self.joined.push(JoinedMessage { to, header, prefix: prefix.to_vec(), rest_header, bytes: bytes_in(mem) });
        }
        is_accepted
    }

    fn flush_pieces(&mut self) {
        for mut message in self.joined.drain(..) {
            let JoinedMessage { to, header, ref prefix, rest_header, .. } = message;
            self.inner.send(to, header, prefix, PayloadSource::None).expect("it has space");
            let mem = UserMem::of_slice(&mut message.bytes);
            self.inner.send(to, rest_header, &[], PayloadSource::Mem(mem)).expect("it has space");
        }
    }

    fn reserve(&mut self, to: Peer, len: usize) -> bool {
        self.flush_pieces();
        self.inner.reserve(to, len)
    }

    fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        self.inner.poll(delivery)
    }

    fn poll_from(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool {
        self.inner.poll_from(from, delivery)
    }
}

fn streaming_lane(limits: ProtocolLimits) -> LaneState<MinimalData> {
    let device = Box::new(StreamingDevice(Loopback::new(ME))) as Box<dyn Device>;
    lane_over(Fabric::new(vec![device], &Peers::Consecutive { first: Peer(0), len: 1 }).unwrap(), limits)
}

/// Starts a nonblocking send to ourselves. Returns its request; None if it has ended already.
fn isend(lane: &mut LaneState<MinimalData>, mem: UserMem<'static>, sync: bool) -> Option<u32> {
    let to = target(ME);
    if !sync && lane.isend_at_once(&to, mem) {
        return None;
    }
    let request = insert(lane, ME);
    lane.start_nonblocking(PendingSend { to, body: MessageMemory::Buffer(Buffer::Dense(mem)), sync, request });
    Some(request)
}

/// The later messages of a run wait, all of them leave with the next progress, and none overtakes another one.
#[test]
fn the_messages_of_a_run_are_joined_and_stay_in_order() {
    for sync_at in [None, Some(17), Some(30)] {
        let mut lane = streaming_lane(ProtocolLimits { stream_from: 40, join_below: 70, ..LIMITS });
        lane.join_gap_ns = u64::MAX;
        let lengths = [0, 1, 39, 40, 69, 70, 200];
        let sent: Vec<_> = (0..33).map(|i| leaked(vec![i as u8 + 1; lengths[i % lengths.len()]])).collect();
        let is_open =
            |lane: &mut LaneState<MinimalData>, request: &u32| lane.core.requests.get(*request).outcome().is_none();
        let mut requests = vec![];
        for (i, &mem) in sent.iter().enumerate() {
            requests.extend(isend(&mut lane, mem, sync_at == Some(i)));
            assert!(i >= 8 || !lane.waiting_sends.has(ME), "message {i} waits, with {sync_at:?}");
        }
        assert!(lane.waiting_sends.has(ME) && requests.iter().any(|request| is_open(&mut lane, request)));
        assert!(count(&lane, Counter::Joined) > 10);
        assert!(!lane.send_at_once(&target(ME), sent[0]), "a later message would overtake them");
        assert_eq!(lane.joined.bits(), 1, "a call that needs no poll does not find them");
        for (i, sent) in sent.iter().enumerate() {
            let memory = leaked(vec![0; 200]);
            let request = insert(&mut lane, ME);
            let spec = MatchSpec { context: Context(0), source: Some(ME), tag: None };
            lane.post(spec, Buffer::Dense(memory), request);
            while is_open(&mut lane, &request) {
                assert!(lane.progress(), "message {i} does not come");
            }
            let outcome = lane.core.requests.remove(request).outcome().unwrap();
            assert_eq!(bytes_in(memory.slice(0, outcome.envelope.bytes as usize)), bytes_in(*sent), "message {i}");
        }
        while requests.iter().any(|request| is_open(&mut lane, request)) {
            assert!(lane.progress());
        }
        assert_eq!(count(&lane, Counter::BytesSent), sent.iter().map(|mem| mem.len() as u64).sum::<u64>());
        assert_eq!(lane.joined.bits(), 0);
        assert!(count(&lane, Counter::DeviceStreams) > 10 && lane.is_drained() && lane.core.engine.is_idle());
    }
}

/// Messages of the lengths for which the device has a method of its own go by it, or as others do, and stay in order.
#[test]
fn a_device_with_a_method_for_whole_messages_is_asked_first() {
    let mut lane = streaming_lane(ProtocolLimits { stream_from: 40, ..LIMITS });
    let to = target(ME);
    const TURNS: usize = 140;
    let length = |turn: usize| [0, 39, 40, 64, 65, 256, 257][turn % 7];
    let mut persistent = 0;
    for turn in 0..TURNS {
        let len = length(turn);
        let bytes: Vec<u8> = (0..len).map(|at| (at + turn) as u8).collect();
        let mem = leaked(bytes.clone());
        // Posted before or after: the bytes go to their place, or wait as an unexpected message.
        let memory = leaked(vec![0; len]);
        let spec = MatchSpec { context: Context(0), source: Some(ME), tag: None };
        let receive = insert(&mut lane, ME);
        let post = |lane: &mut LaneState<MinimalData>| lane.post(spec, Buffer::Dense(memory), receive);
        if turn.is_multiple_of(2) {
            post(&mut lane);
        }
        // Persistent sends begin without the fast path, and so do those of MPI_Ssend, which go by no device's method.
        let (is_persistent, sync) = (turn % 4 == 2, turn % 4 == 3);
        let streamed = count(&lane, Counter::DeviceStreams);
        let send = (is_persistent || sync || !lane.send_at_once(&to, mem)).then(|| {
            let request = insert(&mut lane, ME);
            lane.start(PendingSend { to, body: MessageMemory::Buffer(Buffer::Dense(mem)), sync, request });
            request
        });
        let now = count(&lane, Counter::DeviceStreams) - streamed;
        assert!(now == 0 || !sync && (40..=256).contains(&len), "message {turn} of {len} bytes, {sync}");
        persistent += if is_persistent { now } else { 0 };
        if !turn.is_multiple_of(2) {
            lane.progress();
            post(&mut lane);
        }
        for request in [Some(receive), send].into_iter().flatten() {
            while lane.core.requests.get(request).outcome().is_none() {
                assert!(lane.progress(), "message {turn} of {len} bytes does not come");
            }
            lane.core.requests.remove(request);
        }
        assert_eq!(bytes_in(memory), bytes, "message {turn}");
    }
    let streamed = count(&lane, Counter::DeviceStreams);
    assert!(
        persistent > 5 && streamed > persistent + 20,
        "{streamed} of {TURNS} messages, {persistent} persistent ones"
    );
    assert_eq!(count(&lane, Counter::BytesSent), (0..TURNS).map(length).sum::<usize>() as u64);
    assert_eq!(count(&lane, Counter::InvalidPackets), 0);
    assert!(lane.is_drained() && lane.core.engine.is_idle());
}

#[test]
fn word_of_the_formers_end_takes_nothing_from_who_has_its_number() {
    let (old, new) = (ME, ME.successor().unwrap());
    let peers = Peers::from_list(vec![new]);
    let fabric = Fabric::new(vec![Box::new(Loopback::new(new))], &peers).unwrap();
    let mut lane = without_polls(lane_over(fabric, LIMITS));
    let send = |lane: &mut LaneState<MinimalData>| {
        let request = insert(lane, new);
        lane.start(PendingSend { to: target(new), body: MessageMemory::Owned(vec![7; 8]), sync: false, request });
        request
    };
    let sends: Vec<u32> = (0..MANY).map(|_| send(&mut lane)).collect();
    assert!(lane.waiting_sends.has(new), "some wait for room");
    lane.core.peer_failed(old);
    assert!(lane.release_peer(old) && lane.waiting_sends.has(new));
    for _ in 0..MANY {
        let request = insert(&mut lane, new);
        let spec = MatchSpec { context: Context(0), source: Some(new), tag: Some(3) };
        lane.post(spec, Buffer::Dense(leaked(vec![0; 8])), request);
        while !lane.core.requests.get(request).is_complete() {
            lane.progress();
        }
        assert_eq!(lane.core.requests.remove(request).outcome().unwrap().error, None);
    }
    assert!(sends.iter().all(|&send| lane.core.requests.get(send).outcome().is_some_and(|end| end.error.is_none())));
}
