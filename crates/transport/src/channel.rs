//! The channel of one lane to all peers: the ports of its devices, and control packets that wait for room.
//!
//! Payload is never queued here: when a device refuses it, the sender keeps it (a stream continues later, an eager
//! message becomes a rendezvous). Control packets are always accepted, in order: those that a device refuses wait in
//! the peer's backlog, and no packet to that peer overtakes them. Used by a user's lanes (MPI: `p2p`); uses `fabric`
//! and `receivers`.

use crate::fabric::Routes;
use crate::receivers::{Receiver, Receivers, Sorted};
use hawser_base::paged::Paged;
use hawser_base::{Peer, UserMem};
use hawser_device::{Delivery, Fault, Header, PREFIX_MAX, Port, Protocol, Refusal, Source, Taken};
use std::collections::VecDeque;
use std::sync::Arc;

/// A packet without payload.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    pub header: Header,
    prefix: [u8; PREFIX_MAX],
    len: u8,
}

impl Control {
    pub fn new(header: Header, prefix: &[u8]) -> Control {
        let mut bytes = [0; PREFIX_MAX];
        bytes[..prefix.len()].copy_from_slice(prefix);
        Control { header, prefix: bytes, len: prefix.len() as u8 }
    }

    pub fn prefix(&self) -> &[u8] {
        &self.prefix[..self.len as usize]
    }
}

/// The route to a peer, and the packets that wait for it.
#[derive(Clone)]
struct Way {
    /// The owner of the route: a number has several incarnations, and no packet of one goes to another.
    peer: Peer,
    device: u8,
    /// Whether the peer is lost: no packet reaches it any more.
    lost: bool,
    /// The fast path takes payload shorter than this, in bytes; 0, so none at all, while a backlog waits.
    short_now: u32,
    below: u32,
    /// The longest payload that is best sent in one packet, in bytes.
    longest: u32,
    backlog: VecDeque<Control>,
}

impl Way {
    /// The route to a peer that was never sent to: the fast path takes no payload.
    const BLANK: Way = Way {
        peer: Peer::NOBODY,
        device: 0,
        lost: true,
        short_now: 0,
        below: 0,
        longest: PREFIX_MAX as u32,
        backlog: VecDeque::new(),
    };

    /// Whether the route has no owner, or a former process of the peer's number.
    fn comes_before(&self, peer: Peer) -> bool {
        self.peer == Peer::NOBODY || self.peer.life() < peer.life()
    }

    /// Opens the route to a peer. False: no device reaches it, or its number belongs to a later process by now.
    #[cold]
    #[inline(never)]
    fn open(&mut self, peer: Peer, routes: &Routes) -> bool {
        let Some(device) = routes.device(peer).filter(|_| self.comes_before(peer)) else { return false };
        let limits = routes.limits_of(device);
        let (below, longest) = (limits.short as u32 + 1, limits.longest() as u32);
        *self = Way { peer, device: device as u8, lost: false, short_now: below, below, longest, ..Way::BLANK };
        true
    }
}

/// Routes are equal if they are of the same peer.
impl PartialEq for Way {
    fn eq(&self, other: &Way) -> bool {
        self.peer == other.peer
    }
}

/// The routes to all peers.
struct Ways {
    all: Paged<Way>,
    routes: Arc<Routes>,
    /// The route to peers that no device reaches; it is like one to a lost peer.
    nowhere: Way,
}

impl Ways {
    /// Returns the route to a peer, which its first use opens.
    #[inline(always)]
    fn to(&mut self, peer: Peer) -> &mut Way {
        let way = &mut self.all[peer];
        if way.peer != peer && !way.open(peer, &self.routes) {
            return &mut self.nowhere;
        }
        way
    }
}

/// The channel of one lane. See the module.
pub struct Channel {
    ports: Vec<Box<dyn Port>>,
    ways: Ways,
    /// Peers with a backlog.
    waiting: Vec<Peer>,
    /// The receivers of further protocols, if there are any; the caller of `poll` receives its own.
    receivers: Option<Box<Receivers>>,
}

impl Channel {
    pub(crate) fn new(ports: Vec<Box<dyn Port>>, routes: Arc<Routes>) -> Channel {
        let ways = Ways { all: Paged::new(Way::BLANK), routes, nowhere: Way::BLANK };
        Channel { ports, ways, waiting: Vec::new(), receivers: None }
    }

    /// The longest payload that is best sent to the peer in one packet, in bytes.
    #[inline(always)]
    pub fn longest(&self, to: Peer) -> usize {
        let way = &self.ways.all[to];
        if way.peer == to { way.longest as usize } else { self.longest_anew(to) }
    }

    #[cold]
    fn longest_anew(&self, to: Peer) -> usize {
        let Ways { routes, .. } = &self.ways;
        routes.device(to).map_or(Way::BLANK.longest as usize, |device| routes.limits_of(device).longest())
    }

    /// The best length of the pieces of a stream of `total` bytes to the peer, in bytes, if it is sent in frames.
    #[inline]
    pub fn piece(&mut self, to: Peer, total: usize) -> Option<usize> {
        let way = self.ways.to(to);
        self.ports[way.device as usize].piece(to, total)
    }

    /// The fast path of sends, for payload of one packet. False: too long, refused, or an earlier packet waits.
    #[inline(always)]
    pub fn send_whole(&mut self, to: Peer, header: Header, bytes: UserMem) -> bool {
        // One comparison for two conditions: short enough, and the route belongs to this incarnation of the number.
        let is_lean = |way: &&mut Way| bytes.len() | ((way.peer.0 ^ to.0) as usize) << 32 < way.short_now as usize;
        match self.ways.all.get_mut(to).filter(is_lean) {
            Some(way) => self.ports[way.device as usize].send_short(to, header, bytes).is_ok(),
            None => self.send_longer(to, header, bytes),
        }
    }

    #[inline(never)]
    fn send_longer(&mut self, to: Peer, header: Header, bytes: UserMem) -> bool {
        let way = self.ways.to(to);
        let port = &mut self.ports[way.device as usize];
        if bytes.len() < way.short_now as usize {
            return port.send_short(to, header, bytes).is_ok(); // the first packet to this peer
        }
        way.short_now > 0
            && !way.lost
            && bytes.len() <= way.longest as usize
            && port.piece(to, bytes.len()).is_none() // with frames the port decides what fits
            && port.send(to, header, &[], Source::Mem(bytes)).is_ok()
    }

    /// Sends a packet with payload. False: refused now, nothing was sent. A packet to a lost peer is dropped.
    #[inline]
    pub fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: Source<'_>) -> bool {
        self.try_send(to, |port| port.send(to, header, prefix, source))
    }

    #[inline]
    fn try_send(&mut self, to: Peer, send: impl FnOnce(&mut dyn Port) -> Result<(), Refusal>) -> bool {
        let way = self.ways.to(to);
        if way.lost {
            return true;
        }
        if !way.backlog.is_empty() {
            return false;
        }
        match send(&mut *self.ports[way.device as usize]) {
            Ok(()) => true,
            Err(Refusal::Full) => false,
            Err(Refusal::Lost) => {
                way.lost = true;
                true
            }
        }
    }

    /// Sends a piece of a stream, which may wait for `push` at the device. `placed`: order-free, the peer knows where
    /// it belongs. False: refused now.
    pub fn send_piece(&mut self, to: Peer, header: Header, prefix: &[u8], source: Source<'_>, placed: bool) -> bool {
        self.try_send(to, |port| port.send_piece(to, header, prefix, source, placed))
    }

    /// Starts a zero-copy send of a stream (`Port::lend`). False: send it in pieces.
    pub fn lend(&mut self, to: Peer, header: Header, mem: UserMem<'static>, placed: bool, ticket: u32) -> bool {
        let way = self.ways.to(to);
        // Packets that wait here must not be overtaken.
        !way.lost && way.backlog.is_empty() && self.ports[way.device as usize].lend(to, header, mem, placed, ticket)
    }

    /// Sends the pieces that devices have delayed.
    pub fn push(&mut self) {
        self.ports.iter_mut().for_each(|port| port.push());
    }

    /// Sends a packet without payload, now or as soon as there is room.
    pub fn control(&mut self, to: Peer, control: Control) {
        if !self.send(to, control.header, control.prefix(), Source::None) {
            let way = self.ways.to(to);
            if way.backlog.is_empty() {
                self.waiting.push(to);
                way.short_now = 0;
            }
            way.backlog.push_back(control);
        }
    }

    /// Reserves room for one packet to the peer with payload of at most `len` bytes, prefix included, until the next
    /// call that sends, reserves or polls: a packet sent by that call is taken (`Port::reserve`). False: there is no
    /// room now.
    #[inline]
    pub fn reserve(&mut self, to: Peer, len: usize) -> bool {
        let way = self.ways.to(to);
        way.backlog.is_empty() && self.ports[way.device as usize].reserve(to, len)
    }

    /// Begins an operation on memory of a peer: `begin` calls `Port::write`, `read`, `atomic` or `flush` of the port
    /// that it gets. Operations and packets have no order, so it overtakes packets that wait here.
    pub fn operate(
        &mut self,
        to: Peer,
        begin: impl FnOnce(&mut dyn Port) -> Result<Taken, Fault>,
    ) -> Result<Taken, Fault> {
        let way = self.ways.to(to);
        if way.lost {
            return Err(Fault::Lost);
        }
        begin(&mut *self.ports[way.device as usize])
    }

    /// Whether no packet waits to be sent.
    #[inline(always)]
    pub fn is_flushed(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Sends waiting packets as far as there is room.
    pub fn flush(&mut self) {
        let mut index = 0;
        while index < self.waiting.len() {
            let peer = self.waiting[index];
            if self.flush_peer(peer) {
                self.waiting.swap_remove(index);
            } else {
                index += 1;
            }
        }
    }

    fn flush_peer(&mut self, peer: Peer) -> bool {
        let way = self.ways.to(peer);
        while let Some(control) = way.backlog.front() {
            match self.ports[way.device as usize].send(peer, control.header, control.prefix(), Source::None) {
                Ok(()) => drop(way.backlog.pop_front()),
                Err(Refusal::Full) => return false,
                Err(Refusal::Lost) => {
                    way.lost = true;
                    way.backlog.clear();
                }
            }
        }
        way.short_now = way.below;
        true
    }

    /// Releases the state of a peer that is gone: nothing is known of its number any more.
    pub fn give_back(&mut self, peer: Peer) {
        if self.ways.all[peer].peer == peer {
            self.waiting.retain(|&other| other != peer);
            self.ways.all.give_back(peer);
        }
    }

    /// Registers the receiver of packets of `protocol`. False: it has a receiver already.
    pub fn register(&mut self, protocol: Protocol, receiver: Box<dyn Receiver>) -> bool {
        self.receivers.get_or_insert_default().add(protocol, receiver)
    }

    /// Delivers arrived packets of any device. Returns their number.
    #[inline]
    pub fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        match &mut self.receivers {
            None => self.ports.iter_mut().map(|port| port.poll(delivery)).sum(),
            Some(receivers) => {
                let mut sorted = Sorted { receivers, messages: delivery };
                self.ports.iter_mut().map(|port| port.poll(&mut sorted)).sum()
            }
        }
    }

    /// Polls for a packet of `from`; others may be delivered with it (`Port::poll_from`).
    #[inline(always)]
    pub fn poll_from(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool {
        let way = self.ways.to(from);
        let port = &mut self.ports[way.device as usize];
        match &mut self.receivers {
            None => port.poll_from(from, delivery),
            Some(receivers) => port.poll_from(from, &mut Sorted { receivers, messages: delivery }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::Lane;
    use hawser_device::{Device, Limits, Pieces};
    use std::sync::{Arc, Mutex};

    /// The packets that a test's port got for a peer, and what the port takes.
    #[derive(Default)]
    struct Far {
        sent: Vec<(Peer, u32)>,
        refusal: Option<Refusal>,
    }

    /// A port that keeps the packets sent by it, or refuses them.
    struct TestPort(Arc<Mutex<Far>>);

    impl Port for TestPort {
        fn send(&mut self, to: Peer, header: Header, _: &[u8], _: Source<'_>) -> Result<(), Refusal> {
            let mut far = self.0.lock().unwrap();
            match far.refusal {
                Some(refusal) => Err(refusal),
                None => {
                    far.sent.push((to, header.a));
                    Ok(())
                }
            }
        }
        fn reserve(&mut self, _: Peer, _: usize) -> bool {
            self.0.lock().unwrap().refusal.is_none()
        }
        fn poll(&mut self, _: &mut dyn Delivery) -> usize {
            0
        }
        fn poll_from(&mut self, _: Peer, _: &mut dyn Delivery) -> bool {
            false
        }
    }

    /// A device that reaches some peers, and has no ports.
    struct TestDevice(Arc<Mutex<Vec<Peer>>>);

    impl Device for TestDevice {
        fn name(&self) -> &'static str {
            "test"
        }
        fn reaches(&self, peer: Peer) -> bool {
            self.0.lock().unwrap().contains(&peer)
        }
        fn limits(&self) -> Limits {
            Limits { short: 100, packet: 200, pieces: Pieces::Pages(|_| 100), eager: 200, read_from: None }
        }
        fn port(&self, _: Lane) -> Box<dyn Port> {
            unreachable!("the test has made them")
        }
    }

    /// The peers that each of two devices reaches.
    type Reached = [Arc<Mutex<Vec<Peer>>>; 2];

    /// A channel over two devices, each of which reaches one peer, and the reached peers.
    fn channel_of() -> (Channel, [Arc<Mutex<Far>>; 2], Reached) {
        let far: [Arc<Mutex<Far>>; 2] = Default::default();
        let ports = far.iter().map(|far| Box::new(TestPort(far.clone())) as Box<dyn Port>).collect();
        let reached = [Peer(0), Peer(1)].map(|peer| Arc::new(Mutex::new(vec![peer])));
        let devices = reached.iter().map(|peers| Box::new(TestDevice(peers.clone())) as Box<dyn Device>).collect();
        (Channel::new(ports, Routes::over(devices)), far, reached)
    }

    fn channel() -> (Channel, [Arc<Mutex<Far>>; 2]) {
        let (channel, far, _) = channel_of();
        (channel, far)
    }

    fn header(a: u32) -> Header {
        Header { a, ..Header::default() }
    }

    fn short(channel: &mut Channel, to: u32, a: u32) -> bool {
        channel.send_whole(Peer(to), header(a), UserMem::of_slice(&mut [0; 10]))
    }

    #[test]
    fn nothing_overtakes_control_that_waits_for_room() {
        let (mut channel, far) = channel();
        far[0].lock().unwrap().refusal = Some(Refusal::Full);
        channel.control(Peer(0), Control::new(header(1), &[]));
        channel.control(Peer(0), Control::new(header(2), &[7; PREFIX_MAX]));
        far[0].lock().unwrap().refusal = None;
        assert!(!channel.is_flushed() && !channel.reserve(Peer(0), 0));
        assert!(!channel.send_whole(Peer(0), header(9), UserMem::EMPTY), "not even one without payload");
        assert!(!short(&mut channel, 0, 9) && !channel.send(Peer(0), header(9), &[], Source::None));
        assert!(short(&mut channel, 1, 5), "another peer is not held up");
        channel.control(Peer(0), Control::new(header(3), &[]));
        channel.flush();
        assert!(channel.is_flushed() && channel.reserve(Peer(0), 0) && short(&mut channel, 0, 4));
        assert_eq!(far[0].lock().unwrap().sent, [1, 2, 3, 4].map(|a| (Peer(0), a)));
        assert_eq!(far[1].lock().unwrap().sent, [(Peer(1), 5)]);
    }

    #[test]
    fn a_flush_goes_as_far_as_there_is_room() {
        let (mut channel, far) = channel();
        far.iter().for_each(|far| far.lock().unwrap().refusal = Some(Refusal::Full));
        (0..2).for_each(|peer| channel.control(Peer(peer), Control::new(header(peer), &[])));
        far[1].lock().unwrap().refusal = None;
        channel.flush();
        assert!(!channel.is_flushed() && far[0].lock().unwrap().sent.is_empty());
        assert!(short(&mut channel, 1, 8) && !short(&mut channel, 0, 8));
    }

    #[test]
    fn what_is_sent_to_the_lost_vanishes() {
        let (mut channel, far) = channel();
        far[0].lock().unwrap().refusal = Some(Refusal::Full);
        channel.control(Peer(0), Control::new(header(1), &[]));
        far[0].lock().unwrap().refusal = Some(Refusal::Lost);
        channel.flush();
        assert!(channel.is_flushed(), "a backlog to the lost goes");
        assert!(channel.send(Peer(0), header(2), &[], Source::None));
        channel.control(Peer(0), Control::new(header(3), &[]));
        assert!(channel.is_flushed() && !short(&mut channel, 0, 4));
        assert!(far[0].lock().unwrap().sent.is_empty());
    }

    /// Operations wait for memory, not for a place in a queue of packets.
    #[test]
    fn an_operation_passes_what_waits_and_goes_to_the_peers_own_device_while_that_reaches_it() {
        let (mut channel, far) = channel();
        far[1].lock().unwrap().refusal = Some(Refusal::Full);
        channel.control(Peer(1), Control::new(header(1), &[]));
        let begin = |port: &mut dyn Port| {
            far[1].lock().unwrap().refusal = None;
            assert!(port.reserve(Peer(1), 8), "it is the port of that peer");
            far[1].lock().unwrap().refusal = Some(Refusal::Lost);
            Ok(Taken::InFlight)
        };
        far[0].lock().unwrap().refusal = Some(Refusal::Full);
        assert_eq!(channel.operate(Peer(1), begin), Ok(Taken::InFlight));
        channel.flush();
        let begin = |_: &mut dyn Port| panic!("nothing is begun with the lost");
        assert_eq!(channel.operate(Peer(1), begin), Err(Fault::Lost));
    }

    #[test]
    fn a_payload_beyond_one_packet_is_not_sent_leanly() {
        let (mut channel, far) = channel();
        assert!(!channel.send_whole(Peer(0), header(1), UserMem::of_slice(&mut [0; 200 - PREFIX_MAX + 1])));
        assert!(channel.send_whole(Peer(0), header(2), UserMem::of_slice(&mut [0; 200 - PREFIX_MAX])));
        assert_eq!(far[0].lock().unwrap().sent, [(Peer(0), 2)]);
    }

    /// Peer 0 ends, and another process gets its number, by the other device.
    #[test]
    fn a_number_leads_to_the_process_that_has_it_now_and_to_nobody_before() {
        let (mut channel, far, reached) = channel_of();
        let (old, new) = (Peer(0), Peer(0).successor().unwrap());
        assert!(short(&mut channel, old.0, 1) && !short(&mut channel, new.0, 2), "nobody has heard of the new one");
        reached[0].lock().unwrap().clear();
        far[0].lock().unwrap().refusal = Some(Refusal::Full);
        channel.control(old, Control::new(header(3), &[]));
        assert!(!channel.is_flushed());
        channel.give_back(old);
        reached[1].lock().unwrap().push(new);
        far[1].lock().unwrap().refusal = Some(Refusal::Full);
        channel.control(new, Control::new(header(4), &[]));
        assert!(!short(&mut channel, old.0, 5) && channel.send(old, header(6), &[], Source::None), "it vanishes");
        assert!(!channel.poll_from(old, &mut Nothing) && channel.longest(old) == PREFIX_MAX);
        far.iter().for_each(|far| far.lock().unwrap().refusal = None);
        channel.flush();
        assert!(channel.is_flushed() && short(&mut channel, new.0, 7) && !short(&mut channel, old.0, 8));
        assert_eq!(far[0].lock().unwrap().sent, [(old, 1)]);
        assert_eq!(far[1].lock().unwrap().sent, [(new, 4), (new, 7)]);
    }

    /// A receiver that takes nothing.
    struct Nothing;

    impl Delivery for Nothing {
        fn deliver(&mut self, from: Peer, _: Header, _: &mut dyn hawser_device::Payload) {
            unreachable!("nothing comes of {from}")
        }
        fn lost(&mut self, peer: Peer) {
            unreachable!("nobody is lost, not even {peer}")
        }
    }
}
