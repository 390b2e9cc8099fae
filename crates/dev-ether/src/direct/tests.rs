//! Tests both ends of a direct connection over a seeded TCP that stalls, breaks anywhere and changes bits of headers
//! and direct packets, and a link that keeps its order and delays messages: every byte of every message arrives exactly
//! once, at its position, all borrowed memory is returned (P36, P37), and direct packets and messages of link arrive in
//! the order in which they were sent (P43).

use super::order::{Arrival, DirectOrder, LinkOrder};
use super::receiver::{DirectReceiver, MessagePart};
use super::sender::{
    DirectPacket, DirectSender, REST_MAX_BYTES, RETAINED_MAX_BYTES, ResentPart, ZeroCopyDone, ZeroCopySend,
};
use super::wire::{PADDING_BYTES, PART_HEADER_BYTES, PartKind, ReadReport, ReceiverControl, SenderControl};
use hawser_base::{Lane, UserMem};
use hawser_device::Header;
use hawser_link::Seq;
use hawser_link::frame::{JobKey, PeerPair};
use hawser_sim::Rng;
use std::collections::VecDeque;

const PEER_PAIR: PeerPair = PeerPair { from: 0, to: 1 };
const SEEDS: u64 = 3_000;
const MESSAGES: usize = 24;
const LONGEST: u64 = 3_000;

/// A TCP connection: the bytes in flight, and those that lie at the receiver.
struct Tcp {
    number: u32,
    in_flight: VecDeque<u8>,
    arrived: VecDeque<u8>,
    /// Whether the bytes in flight are lost; each end finds out by itself.
    broken: bool,
    is_stalled: bool,
    caller_has_ended: bool,
    receiver_has_ended: bool,
    is_greeted: bool,
}

/// A message that link carries to the receiver, in order.
enum LinkMessage {
    Control(SenderControl),
    /// The header of a message that the receiver must know before its bytes.
    Announce {
        ticket: usize,
        place: u64,
        order: LinkOrder,
    },
    /// A part of a direct packet whose connection has ended.
    Resent(ResentPart),
    /// Bytes of a message from `header.b()` on.
    Bytes {
        header: Header,
        order: LinkOrder,
        bytes: Vec<u8>,
    },
}

/// Kinds of headers: bytes of a message, and packets that announce one.
const BYTES: u8 = 1;
const DIRECT_PACKET: u8 = 2;
const ANNOUNCEMENT: u8 = 3;

struct World {
    dice: Rng,
    key: JobKey,
    now_ns: u64,
    sender: DirectSender,
    receiver: DirectReceiver,
    connections: Vec<Tcp>,
    /// The connections that the sender and the receiver use.
    sending_on: Option<usize>,
    receiving_on: Option<usize>,
    to_receiver: VecDeque<LinkMessage>,
    to_sender: VecDeque<ReceiverControl>,
    /// Reports that go with parts of the other direction, which are not simulated. They may be late, or be lost.
    reports: VecDeque<ReadReport>,
    /// Messages of link that were sent to the receiver, and that were delivered to it.
    sent: u32,
    delivered: u32,
    memory: Vec<Vec<u8>>,
    /// Whether a message is sent behind its announcement, and whether the receiver knows it.
    ordered: Vec<bool>,
    known: Vec<bool>,
    /// The order of the receiver, the number of packets sent that have a place in it, and of those delivered.
    order: DirectOrder,
    places: u64,
    placed: u64,
    /// For each message, how often each byte has arrived, and whether the sender has it back.
    arrivals: Vec<Vec<u8>>,
    complete: Vec<bool>,
    /// Whether a bit of the header that is being read was changed in flight.
    is_header_corrupted: bool,
    /// Events, counted: messages that went partly by the connection and partly by link, connections that were given
    /// up while memory was borrowed, changed headers, and changed direct packets.
    mixed: u64,
    closed_early: u64,
    corrupted_headers: u64,
    corrupted_packets: u64,
    /// Direct packets, packets that went by link after all, and messages that were held.
    direct_packets: u64,
    /// Direct packets that were written later than they were sent.
    joined: u64,
    resent: u64,
    held: u64,
    /// Direct packets that a report has confirmed.
    reported: u64,
}

impl World {
    fn new(seed: u64) -> World {
        let mut dice = Rng::new(seed);
        let content = |dice: &mut Rng| (0..1 + dice.below(LONGEST)).map(|_| dice.below(256) as u8).collect::<Vec<u8>>();
        let memory: Vec<Vec<u8>> = (0..MESSAGES).map(|_| content(&mut dice)).collect();
        let mut sender = DirectSender::new();
        sender.pad_by(World::pads);
        World {
            dice,
            key: JobKey::new([9; 16]),
            now_ns: 1,
            sender,
            receiver: DirectReceiver::new(),
            connections: Vec::new(),
            sending_on: None,
            receiving_on: None,
            to_receiver: VecDeque::new(),
            to_sender: VecDeque::new(),
            reports: VecDeque::new(),
            sent: 0,
            delivered: 0,
            ordered: vec![true; MESSAGES],
            known: vec![false; MESSAGES],
            order: DirectOrder::default(),
            places: 0,
            placed: 0,
            arrivals: memory.iter().map(|bytes| vec![0; bytes.len()]).collect(),
            complete: vec![false; MESSAGES],
            memory,
            is_header_corrupted: false,
            mixed: 0,
            closed_early: 0,
            corrupted_headers: 0,
            corrupted_packets: 0,
            direct_packets: 0,
            joined: 0,
            resent: 0,
            held: 0,
            reported: 0,
        }
    }

    /// Pads about half of the parts.
    fn pads(_: usize, part: &UserMem<'_>) -> bool {
        (part.as_ptr().addr() / 16).is_multiple_of(2)
    }

    /// Returns the place of a packet that is sent now.
    fn next_place(&mut self) -> u64 {
        self.places += 1;
        self.places - 1
    }

    /// Records that the receiver got a packet, which tells of a message.
    fn record_packet(&mut self, ticket: usize, place: u64) {
        assert_eq!(place, self.placed, "out of order");
        self.placed += 1;
        self.known[ticket] = true;
    }

    /// Sends message `ticket` behind a direct packet, if the connection takes it.
    fn send_packet(&mut self, ticket: usize) -> bool {
        let rest_len = self.memory[ticket].len();
        if !self.sender.may_send_packet(rest_len) {
            return false;
        }
        let prefix = self.next_place().to_le_bytes();
        let header = Header::new(DIRECT_PACKET, 0, ticket as u32, 0);
        let rest_header = Header::new(BYTES, 0, ticket as u32, 0);
        let packet = DirectPacket { lane: Lane(0), header, prefix: &prefix, rest_header };
        let mut rest = self.memory[ticket].clone();
        let view = UserMem::of_slice(&mut rest);
        let head = self.sender.packet_head(&packet, &view, (Some(Seq(self.sent)), None), (&self.key, PEER_PAIR));
        let all = [head.bytes(), &rest].concat();
        // A packet that others follow is written later.
        let joins = self.sender.unwritten_bytes() > 0 || self.dice.one_in(2);
        let sent = if joins { 0 } else { 1 + self.dice.index(all.len()) };
        self.joined += u64::from(joins);
        self.connections[self.sending_on.expect("it is open")].in_flight.extend(&all[..sent]);
        self.sender.enqueue_packet(&packet, &head, UserMem::of_slice(&mut rest), sent, self.now_ns);
        // The program may use its memory again at once.
        assert!(!std::mem::replace(&mut self.complete[ticket], true));
        self.direct_packets += 1;
        true
    }

    /// Delivers what link has brought, or holds it.
    fn handle_ordered(&mut self, header: Header, bytes: Vec<u8>, order: LinkOrder) {
        match self.order.arrive(order) {
            Arrival::Deliver => self.deliver(header, &bytes),
            Arrival::Hold { behind } => {
                self.held += 1;
                self.order.hold(0, header, bytes, behind);
            }
        }
        self.release_held();
    }

    fn deliver(&mut self, header: Header, bytes: &[u8]) {
        match header.kind() {
            BYTES => self.record_bytes(header.a() as usize, u64::from(header.b()), bytes),
            _ => self.record_packet(header.a() as usize, u64::from_le_bytes(bytes.try_into().unwrap())),
        }
    }

    fn release_held(&mut self) {
        while let Some(held) = self.order.release() {
            self.deliver(held.header, &held.bytes);
        }
    }

    /// Sends parts of direct packets by link, as far as it takes them.
    fn send_again(&mut self) {
        while self.dice.one_in(2)
            && let Some(&ResentPart { lane, header, order, ref bytes }) = self.sender.next_resend()
        {
            let len = if order == LinkOrder::Resent { bytes.len() } else { bytes.len().min(1_000) };
            let part = ResentPart { lane, header, order, bytes: bytes[..len].to_vec() };
            self.resent += 1;
            self.send_by_link(LinkMessage::Resent(part));
            self.sender.resent(len);
        }
    }

    fn send_by_link(&mut self, what: LinkMessage) {
        self.sent += 1;
        self.to_receiver.push_back(what);
    }

    /// Sends message `ticket`, by the connection or by link.
    fn send(&mut self, ticket: usize) {
        if self.dice.one_in(2) && self.send_packet(ticket) {
            return;
        }
        let ordered = self.dice.one_in(2);
        self.ordered[ticket] = ordered;
        if ordered {
            let (place, order) = (self.next_place(), self.sender.link_order());
            self.send_by_link(LinkMessage::Announce { ticket, place, order });
        } else {
            self.known[ticket] = true;
        }
        if !self.sender.is_open() {
            if self.sender.may_connect(self.now_ns) {
                let number = self.sender.connect();
                self.sending_on = Some(self.connections.len());
                self.connections.push(Tcp {
                    number,
                    in_flight: VecDeque::new(),
                    arrived: VecDeque::new(),
                    broken: false,
                    is_stalled: false,
                    caller_has_ended: false,
                    receiver_has_ended: false,
                    is_greeted: false,
                });
            }
            return self.send_rest(ZeroCopyDone { lane: Lane(0), ticket: ticket as u32, delivered: 0 });
        }
        let header = Header::new(BYTES, 0, ticket as u32, 0);
        // Borrowed memory is never freed here.
        let mem = UserMem::of_slice(self.memory[ticket].clone().leak());
        let send = ZeroCopySend { lane: Lane(0), ticket: ticket as u32, mem };
        let after = ordered.then_some(Seq(self.sent));
        self.sender.enqueue(send, header, after, (&self.key, PEER_PAIR), self.now_ns);
    }

    /// Sends the rest of a message by link.
    fn send_rest(&mut self, ZeroCopyDone { ticket, delivered, .. }: ZeroCopyDone) {
        let ticket = ticket as usize;
        assert!(!std::mem::replace(&mut self.complete[ticket], true), "{ticket} came back twice");
        let rest = self.memory[ticket][delivered as usize..].to_vec();
        if !rest.is_empty() {
            self.mixed += u64::from(delivered > 0);
            let header = Header::new(BYTES, 0, ticket as u32, delivered as u32);
            let order = if self.ordered[ticket] { self.sender.link_order() } else { LinkOrder::Unordered };
            self.send_by_link(LinkMessage::Bytes { header, order, bytes: rest });
        }
    }

    fn record_bytes(&mut self, ticket: usize, offset: u64, bytes: &[u8]) {
        assert!(self.known[ticket], "bytes of {ticket} came before the message");
        for (index, &byte) in (offset as usize..).zip(bytes) {
            assert_eq!(self.memory[ticket][index], byte, "byte {index} of {ticket}");
            self.arrivals[ticket][index] += 1;
            assert_eq!(self.arrivals[ticket][index], 1, "byte {index} of {ticket} came twice");
        }
    }

    /// Performs one step of the sender.
    fn step_sender(&mut self) {
        let most = 1 + self.dice.below(2_000) as usize;
        if let Some(at) = self.sending_on {
            let connection = &mut self.connections[at];
            if connection.broken {
                self.closed_early += u64::from(!self.sender.is_idle());
                self.sender.handle_failure(self.now_ns);
            } else if self.sender.has_unwritten() {
                self.sender.begin_write();
                let mut bytes = match self.sender.next_zero_copy() {
                    Some((header, payload)) => {
                        let mut bytes = header.to_vec();
                        let start = bytes.len();
                        bytes.resize(start + payload.len(), 0);
                        payload.read(&mut bytes[start..]);
                        bytes
                    }
                    None => self.sender.unwritten_packets().collect::<Vec<_>>().concat(),
                };
                bytes.truncate(most);
                connection.in_flight.extend(&bytes);
                self.sender.record_written(bytes.len(), self.now_ns);
            }
        }
        self.send_again();
        self.sender.query_if_stalled(self.now_ns);
        if !self.sender.has_connection()
            && let Some(at) = self.sending_on.take()
        {
            // Act as a connection does that is closed at once.
            (self.connections[at].caller_has_ended, self.connections[at].broken) = (true, true);
        }
        if let Some(control) = self.sender.pending_control() {
            self.send_by_link(LinkMessage::Control(control));
            self.sender.control_sent();
        }
    }

    /// Moves a random number of bytes, greetings and messages forward.
    fn advance(&mut self) {
        let most = self.dice.below(2_500) as usize;
        for connection in self.connections.iter_mut().filter(|line| !line.broken && !line.is_stalled) {
            let count = most.min(connection.in_flight.len());
            connection.arrived.extend(connection.in_flight.drain(..count));
        }
        for at in 0..self.connections.len() {
            let connection = &mut self.connections[at];
            if !connection.is_greeted && !connection.is_stalled && !connection.broken && self.dice.one_in(3) {
                connection.is_greeted = true;
                if self.receiver.accept(connection.number) {
                    (self.receiving_on, self.is_header_corrupted) = (Some(at), false);
                } else {
                    connection.broken = true;
                }
            }
        }
        if self.dice.one_in(2)
            && let Some(message) = self.to_receiver.pop_front()
        {
            self.delivered += 1;
            match message {
                LinkMessage::Control(SenderControl::Query { number }) => self.receiver.handle_query(number, false),
                LinkMessage::Control(SenderControl::Close { number }) => self.receiver.handle_query(number, true),
                LinkMessage::Announce { ticket, place, order } => {
                    let header = Header::new(ANNOUNCEMENT, 0, ticket as u32, 0);
                    self.handle_ordered(header, place.to_le_bytes().to_vec(), order);
                }
                LinkMessage::Resent(ResentPart { header, order, bytes, .. }) => {
                    assert!(matches!(order, LinkOrder::Resent | LinkOrder::Unordered));
                    self.handle_ordered(header, bytes, order);
                }
                LinkMessage::Bytes { header, order, bytes } => self.handle_ordered(header, bytes, order),
            }
        }
        if self.dice.one_in(2)
            && let Some(reply) = self.to_sender.pop_front()
        {
            let mut done = Vec::new();
            match reply {
                ReceiverControl::Position { number, count } => {
                    self.sender.handle_position(number, count, self.now_ns, &mut |completion| done.push(completion))
                }
                ReceiverControl::Closed { number, count } => {
                    self.sender.handle_closed(number, count, self.now_ns, &mut |completion| done.push(completion));
                }
            }
            done.into_iter().for_each(|completion| self.send_rest(completion));
        }
        if self.dice.one_in(3)
            && let Some(report) = self.reports.pop_front()
            && !self.dice.one_in(5)
        {
            let (mut done, acked) = (Vec::new(), self.sender.unconfirmed_packets());
            self.sender.handle_report(report, self.now_ns, &mut |completion| done.push(completion));
            self.reported += acked - self.sender.unconfirmed_packets();
            done.into_iter().for_each(|completion| self.send_rest(completion));
        }
    }

    /// Reads a part header, of which a bit may be changed, and bytes behind it. Returns whether any were read or there
    /// is a part; None if the header was refused.
    fn read_header(&mut self, at: usize, faults: bool) -> Option<bool> {
        let mut has_read = false;
        if self.receiver.ahead().len() < PART_HEADER_BYTES + PADDING_BYTES {
            let arrived = &mut self.connections[at].arrived;
            let buffer = self.receiver.ahead_space();
            let count = self.dice.index(buffer.len() + 1).max(1).min(arrived.len());
            buffer[..count].iter_mut().zip(arrived.drain(..count)).for_each(|(to, byte)| *to = byte);
            self.receiver.record_ahead(count);
            has_read = count > 0;
        }
        if self.receiver.ahead().len() >= PART_HEADER_BYTES && faults && self.dice.one_in(30) {
            let bit = self.dice.index(8 * PART_HEADER_BYTES);
            self.receiver.ahead_mut()[bit / 8] ^= 1 << (bit % 8);
            self.is_header_corrupted = true;
        }
        match self.receiver.begin_part(&self.key, PEER_PAIR) {
            Some((is_taken, _)) => {
                assert!(!is_taken || !self.is_header_corrupted, "a changed header was taken");
                Some(has_read || is_taken)
            }
            None => {
                assert!(std::mem::take(&mut self.is_header_corrupted), "a right header was refused");
                self.corrupted_headers += 1;
                None
            }
        }
    }

    /// Takes `count` bytes of the part, first those that were read ahead.
    fn take(&mut self, at: usize, count: usize) -> Vec<u8> {
        let mut bytes = self.receiver.ahead().to_vec();
        bytes.truncate(count);
        bytes.extend(self.connections[at].arrived.drain(..count - bytes.len()));
        self.receiver.record_taken(count);
        bytes
    }

    /// Reads a direct packet that has arrived, of which a bit may be changed. Returns false if it was refused.
    fn read_packet(&mut self, at: usize, part: MessagePart, faults: bool) -> bool {
        let missing = (part.left as usize).saturating_sub(self.receiver.ahead().len());
        let arrived = self.connections[at].arrived.drain(..missing);
        self.receiver.ahead_space()[..missing].iter_mut().zip(arrived).for_each(|(to, byte)| *to = byte);
        self.receiver.record_ahead(missing);
        let is_corrupted = faults && self.dice.one_in(30);
        if is_corrupted {
            let bit = self.dice.index(8 * part.left as usize);
            self.receiver.ahead_mut()[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(self.receiver.is_packet_intact(), !is_corrupted);
        if is_corrupted {
            self.corrupted_packets += 1;
            return false;
        }
        let place = self.receiver.ahead().first_chunk().map(|&bytes| u64::from_le_bytes(bytes));
        self.receiver.record_taken(part.left as usize);
        self.record_packet(part.header.a() as usize, place.unwrap());
        self.order.record_delivered();
        self.release_held();
        true
    }

    /// Performs one step of the receiver.
    fn step_receiver(&mut self, faults: bool) {
        let Some(at) = self.receiving_on else {
            if self.receiver.is_queried() {
                self.receiver.record_drained(true);
            }
            return self.send_reply();
        };
        let (mut rounds, mut has_ended) = (self.dice.below(3), false);
        while rounds > 0 || self.receiver.is_queried() {
            rounds = rounds.saturating_sub(1);
            let available = self.receiver.ahead().len() + self.connections[at].arrived.len();
            let Some(&part) = self.receiver.part() else {
                match self.read_header(at, faults) {
                    Some(true) => {}
                    Some(false) => {
                        has_ended = self.connections[at].broken;
                        break;
                    }
                    None => {
                        has_ended = true;
                        break;
                    }
                }
                continue;
            };
            if part.after.is_some_and(|behind| behind.0 > self.delivered) {
                assert!(!self.receiver.is_queried(), "it was queried behind what must come first");
                break;
            }
            if available as u64 > part.left && self.dice.one_in(2) {
                self.receiver.record_backlog();
            }
            let count = available.min(part.left as usize);
            if count == 0 {
                has_ended = self.connections[at].broken;
                break;
            }
            if part.kind == PartKind::Packet {
                if (count as u64) < part.left {
                    has_ended = self.connections[at].broken;
                    break;
                }
                if !self.read_packet(at, part, faults) {
                    has_ended = true;
                    break;
                }
                continue;
            }
            if part.kind == PartKind::ZeroCopy && count as u64 == part.left {
                self.receiver.guarantee_rest();
                self.send_reply();
            }
            let bytes = self.take(at, count);
            self.record_bytes(part.header.a() as usize, u64::from(part.header.b()), &bytes);
        }
        if (has_ended || self.receiver.is_queried()) && self.receiver.record_drained(has_ended) {
            (self.connections[at].receiver_has_ended, self.connections[at].broken) = (true, true);
            self.receiving_on = None;
        }
        if self.dice.one_in(3)
            && let Some(report) = self.receiver.pending_report()
        {
            self.reports.push_back(report);
            self.receiver.report_sent();
        }
        self.send_reply();
    }

    fn send_reply(&mut self) {
        if let Some(reply) = self.receiver.pending_reply() {
            self.to_sender.push_back(reply);
            self.receiver.reply_sent();
        }
    }

    fn step(&mut self, faults: bool) {
        self.step_sender();
        self.advance();
        self.step_receiver(faults);
        self.now_ns += self.dice.below(2_000_000);
        if faults
            && self.dice.one_in(30)
            && let Some(connection) = self.connections.last_mut()
        {
            match self.dice.below(3) {
                0 => connection.broken = true,
                1 => connection.is_stalled = true,
                _ => connection.is_stalled = false,
            }
        }
    }

    fn is_complete(&self) -> bool {
        let all = self.complete.iter().all(|&complete| complete);
        all && self.to_receiver.is_empty()
            && self.placed == self.places
            && self.arrivals.iter().flatten().all(|&times| times == 1)
    }
}

#[test]
fn every_byte_comes_once_whatever_becomes_of_the_connection() {
    let (mut mixed, mut closed_early, mut corrupted, mut borrowed) = (0, 0, 0, 0);
    let (mut direct_packets, mut corrupted_packets, mut resent, mut held, mut reported) = (0, 0, 0, 0, 0);
    let mut joined = 0;
    for seed in 1..=SEEDS {
        let mut world = World::new(seed);
        for ticket in 0..MESSAGES {
            for _ in 0..world.dice.below(40) {
                world.step(true);
            }
            if world.dice.one_in(3) {
                world.now_ns += 100_000_000_000;
            }
            world.send(ticket);
            borrowed += u64::from(!world.complete[ticket]);
        }
        let mut steps = 0;
        while !world.is_complete() {
            world.step(steps < 2_000 && seed % 2 == 0);
            steps += 1;
            assert!(steps < 100_000, "seed {seed}: never done");
        }
        (mixed, closed_early, corrupted) =
            (mixed + world.mixed, closed_early + world.closed_early, corrupted + world.corrupted_headers);
        joined += world.joined;
        (direct_packets, resent, held) =
            (direct_packets + world.direct_packets, resent + world.resent, held + world.held);
        (corrupted_packets, reported) = (corrupted_packets + world.corrupted_packets, reported + world.reported);
    }
    // Check that the faults occurred; otherwise the test shows nothing.
    let seen = [
        borrowed / 10,
        mixed,
        closed_early,
        corrupted,
        corrupted_packets,
        direct_packets / 10,
        joined / 10,
        resent,
        held,
        reported,
    ];
    assert!(seen.iter().all(|&times| times > SEEDS / 10), "{seen:?}");
}

/// Returns an open connection that the receiver has confirmed.
fn confirmed_pair() -> (DirectSender, DirectReceiver, JobKey) {
    let (mut sender, mut receiver) = (DirectSender::new(), DirectReceiver::new());
    assert!(receiver.accept(sender.connect()));
    assert_eq!(receiver.pending_reply(), Some(ReceiverControl::Position { number: 1, count: 0 }));
    sender.handle_position(1, 0, 0, &mut |_| unreachable!());
    assert!(sender.is_open());
    (sender, receiver, JobKey::new([1; 16]))
}

/// P37: a peer's count of more than was sent, or of less than before, is ignored.
#[test]
fn what_cannot_be_is_not_believed() {
    let (mut sender, _, key) = confirmed_pair();
    let send = ZeroCopySend { lane: Lane(0), ticket: 5, mem: UserMem::of_slice(vec![1; 100].leak()) };
    sender.enqueue(send, Header::default(), None, (&key, PEER_PAIR), 0);
    sender.record_written(100, 0);
    let mut none = |completion: ZeroCopyDone| panic!("{completion:?}");
    sender.handle_position(1, 101, 0, &mut none);
    sender.handle_position(2, 100, 0, &mut none);
    sender.handle_position(1, 90, 0, &mut none);
    sender.handle_closed(1, 89, 0, &mut none);
    sender.handle_closed(1, 101, 0, &mut none);
    sender.handle_closed(0, 100, 0, &mut none);
    let mut done = Vec::new();
    sender.handle_closed(1, 95, 0, &mut |completion| done.push(completion));
    assert_eq!(done, [ZeroCopyDone { lane: Lane(0), ticket: 5, delivered: 55 }]);
    assert!(sender.is_idle() && !sender.may_connect(1));
}

/// A short packet does not keep the buffer of a long one, so that the memory of the packets follows their lengths.
#[test]
fn the_memory_of_packets_is_limited_if_few_are_long() {
    let (mut sender, _, key) = confirmed_pair();
    let (mut memory, mut ends, mut most) = (vec![5; REST_MAX_BYTES], VecDeque::new(), 0);
    let mut written = 0;
    for number in 0..3000_u64 {
        let rest = UserMem::of_slice(&mut memory).slice(0, if number % 30 == 0 { REST_MAX_BYTES } else { 4000 });
        let packet =
            DirectPacket { lane: Lane(0), header: Header::default(), prefix: b"x", rest_header: Header::default() };
        let head = sender.packet_head(&packet, &rest, (None, None), (&key, PEER_PAIR));
        let len = head.bytes().len() + rest.len();
        // The peer confirms one packet after the other, long after each was sent.
        while !sender.may_send_packet(rest.len()) || ends.len() >= 119 {
            sender.handle_position(1, ends.pop_front().unwrap(), 0, &mut |_| unreachable!());
        }
        sender.enqueue_packet(&packet, &head, rest, len, 0);
        written += len as u64;
        ends.push_back(written);
        most = most.max(sender.retained_capacity());
    }
    assert!((RETAINED_MAX_BYTES / 2..=2 * RETAINED_MAX_BYTES).contains(&most), "{most}");
}

/// P37: a part header that is not the peer's ends the connection, and none of it counts.
#[test]
fn a_forged_front_ends_it_where_it_began() {
    let (_, mut receiver, key) = confirmed_pair();
    receiver.ahead_space()[..PART_HEADER_BYTES].fill(3);
    receiver.record_ahead(PART_HEADER_BYTES);
    assert_eq!(receiver.begin_part(&key, PEER_PAIR), None);
    assert!(receiver.record_drained(true));
    receiver.handle_query(1, true);
    receiver.record_drained(true);
    assert_eq!(receiver.pending_reply(), Some(ReceiverControl::Closed { number: 1, count: 0 }));
}

/// P36: a connection that was closed before it arrived, or an earlier one, is not taken when it arrives late.
#[test]
fn a_late_caller_is_not_heard() {
    let mut receiver = DirectReceiver::new();
    receiver.handle_query(3, true);
    assert_eq!(receiver.pending_reply(), Some(ReceiverControl::Closed { number: 3, count: 0 }));
    assert!(!receiver.accept(2) && !receiver.accept(3) && receiver.accept(4));
}
