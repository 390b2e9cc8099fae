//! The channel of one lane to all peers: the ports of its devices, and control packets that wait for space at a
//! device.
//!
//! Payload is never queued here: when a device refuses it, the sender keeps it (a stream continues later, an eager
//! message waits whole in `p2p::send`). Control packets are always accepted, in order: those that a device refuses
//! wait in the peer's backlog, and no packet to that peer overtakes them. Used by a user's lanes (MPI: `p2p`); uses
//! `fabric` and `demux`.

use crate::demux::{Demux, Receiver, Receivers};
use crate::fabric::RouteTable;
use hawser_base::peer_table::PeerTable;
use hawser_base::{Peer, UserMem};
use hawser_device::{
    Delivery, DevicePort, Header, PREFIX_MAX, PayloadSource, Protocol, RemoteError, SendError, Submitted,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// A packet without payload.
#[derive(Clone, Copy, Debug)]
pub struct ControlPacket {
    pub header: Header,
    prefix: [u8; PREFIX_MAX],
    len: u8,
}

impl ControlPacket {
    pub fn new(header: Header, prefix: &[u8]) -> ControlPacket {
        let mut bytes = [0; PREFIX_MAX];
        bytes[..prefix.len()].copy_from_slice(prefix);
        ControlPacket { header, prefix: bytes, len: prefix.len() as u8 }
    }

    pub fn prefix(&self) -> &[u8] {
        &self.prefix[..self.len as usize]
    }
}

/// The route to a peer, and the packets that wait for it.
#[derive(Clone)]
struct PeerRoute {
    /// The peer to which the route leads. A process number has several incarnations, and no packet for one of them
    /// goes to another.
    peer: Peer,
    device: u8,
    /// Whether the peer has failed or ended: no packet reaches it any more.
    has_failed: bool,
    /// The fast path takes payload that is shorter than this, in bytes. It is 0 if a backlog waits: the fast path
    /// then takes no payload at all.
    fast_path_limit: u32,
    fast_path_max: u32,
    /// The longest payload that is best sent in one packet, in bytes.
    max_single_packet: u32,
    backlog: VecDeque<ControlPacket>,
}

impl PeerRoute {
    /// The route to a peer that was never sent to: the fast path takes no payload.
    const UNOPENED: PeerRoute = PeerRoute {
        peer: Peer::NONE,
        device: 0,
        has_failed: true,
        fast_path_limit: 0,
        fast_path_max: 0,
        max_single_packet: PREFIX_MAX as u32,
        backlog: VecDeque::new(),
    };

    /// Returns whether the route leads to no peer, or to an earlier process with the number of `peer`.
    fn is_superseded_by(&self, peer: Peer) -> bool {
        self.peer == Peer::NONE || self.peer.incarnation() < peer.incarnation()
    }

    /// Opens the route to a peer. Returns false if no device reaches the peer, or if the peer's number belongs to a
    /// later process by now.
    #[cold]
    #[inline(never)]
    fn open(&mut self, peer: Peer, table: &RouteTable) -> bool {
        let Some(device) = table.device(peer).filter(|_| self.is_superseded_by(peer)) else { return false };
        let limits = table.limits_of(device);
        let (fast_path_max, max_single_packet) = (limits.short as u32 + 1, limits.max_single_packet() as u32);
        *self = PeerRoute {
            peer,
            device: device as u8,
            has_failed: false,
            fast_path_limit: fast_path_max,
            fast_path_max,
            max_single_packet,
            ..PeerRoute::UNOPENED
        };
        true
    }
}

/// Routes are equal if they are of the same peer.
impl PartialEq for PeerRoute {
    fn eq(&self, other: &PeerRoute) -> bool {
        self.peer == other.peer
    }
}

/// The routes to all peers.
struct PeerRoutes {
    all: PeerTable<PeerRoute>,
    table: Arc<RouteTable>,
    /// The route to all peers that no device reaches; it is treated like a route to a failed peer.
    unreachable: PeerRoute,
}

impl PeerRoutes {
    /// Returns the route to a peer, which its first use opens.
    #[inline(always)]
    fn route_to(&mut self, peer: Peer) -> &mut PeerRoute {
        let route = &mut self.all[peer];
        if route.peer != peer && !route.open(peer, &self.table) {
            return &mut self.unreachable;
        }
        route
    }
}

/// The number of successive polls that may leave out the costly ports. An empty poll of such a port takes about 0.2 us,
/// which is a third of the time in which shared memory moves 16 KiB of a long message.
const LEFT_OUT_MAX: u8 = 16;

/// The number of polls, counted from one that delivers a packet by a costly port, in which no costly port is left out.
const COSTLY_IN_USE: u8 = 64;

/// The turns in which a rank that spins polls costly ports (`DevicePort::is_poll_costly`): always, except that they are
/// left out for some polls if a packet has arrived by another port, and none by a costly one lately. So two ranks of
/// one host do not pay for other hosts, and a rank that waits for both polls both.
#[derive(Default)]
struct CostlyTurns {
    /// Whether a packet has arrived by another port since the costly ports were polled.
    others_deliver: bool,
    /// The number of successive polls that have left out the costly ports.
    left_out: u8,
    /// The number of polls to come in which they are not left out.
    in_use: u8,
}

impl CostlyTurns {
    /// Returns whether this poll includes the costly ports.
    #[inline]
    fn next(&mut self) -> bool {
        self.in_use = self.in_use.saturating_sub(1);
        if self.others_deliver && self.in_use == 0 && self.left_out < LEFT_OUT_MAX {
            self.left_out += 1;
            return false;
        }
        (self.others_deliver, self.left_out) = (false, 0);
        true
    }

    /// Records that packets have arrived by a port.
    #[inline(always)]
    fn record(&mut self, is_costly: bool) {
        if is_costly {
            self.in_use = COSTLY_IN_USE;
        } else {
            self.others_deliver = true;
        }
    }
}

/// The channel of one lane. See the module.
pub struct Channel {
    ports: Vec<Box<dyn DevicePort>>,
    /// The index of the first costly port. All ports behind it count as costly, too: the best devices come first.
    costly_from: usize,
    costly_turns: CostlyTurns,
    routes: PeerRoutes,
    /// Peers with a backlog.
    backlogged: Vec<Peer>,
    /// The receivers of further protocols, if there are any. Packets of other protocols go to the caller of `poll`.
    receivers: Option<Box<Receivers>>,
}

impl Channel {
    pub(crate) fn new(ports: Vec<Box<dyn DevicePort>>, table: Arc<RouteTable>) -> Channel {
        let routes = PeerRoutes { all: PeerTable::new(PeerRoute::UNOPENED), table, unreachable: PeerRoute::UNOPENED };
        let costly_from = ports.iter().position(|port| port.is_poll_costly()).unwrap_or(ports.len());
        let costly_turns = CostlyTurns::default();
        Channel { ports, costly_from, costly_turns, routes, backlogged: Vec::new(), receivers: None }
    }

    /// Returns the maximum payload, in bytes, that is best sent to the peer in one packet.
    #[inline(always)]
    pub fn max_single_packet(&self, to: Peer) -> usize {
        let route = &self.routes.all[to];
        if route.peer == to { route.max_single_packet as usize } else { self.max_single_packet_unopened(to) }
    }

    #[cold]
    fn max_single_packet_unopened(&self, to: Peer) -> usize {
        let PeerRoutes { table, .. } = &self.routes;
        table.device(to).map_or(PeerRoute::UNOPENED.max_single_packet as usize, |device| {
            table.limits_of(device).max_single_packet()
        })
    }

    /// Returns the best length, in bytes, of the pieces of a stream of `total` bytes to the peer if the device sends
    /// in frames; otherwise None.
    #[inline]
    pub fn piece_len(&mut self, to: Peer, total: usize) -> Option<usize> {
        let route = self.routes.route_to(to);
        self.ports[route.device as usize].piece_len(to, total)
    }

    /// Sends payload of one packet by the fast path. Returns false, and sends nothing, if the payload is too long, if
    /// the device refuses it, or if an earlier packet to the peer waits.
    #[inline(always)]
    pub fn send_whole(&mut self, to: Peer, header: Header, bytes: UserMem) -> bool {
        // One comparison for two conditions: short enough, and the route belongs to this incarnation of the number.
        let is_fast = |route: &&mut PeerRoute| {
            bytes.len() | ((route.peer.0 ^ to.0) as usize) << 32 < route.fast_path_limit as usize
        };
        match self.routes.all.get_mut(to).filter(is_fast) {
            Some(route) => self.ports[route.device as usize].send_short(to, header, bytes).is_ok(),
            None => self.send_whole_slow(to, header, bytes),
        }
    }

    #[inline(never)]
    fn send_whole_slow(&mut self, to: Peer, header: Header, bytes: UserMem) -> bool {
        let route = self.routes.route_to(to);
        let port = &mut self.ports[route.device as usize];
        if bytes.len() < route.fast_path_limit as usize {
            return port.send_short(to, header, bytes).is_ok(); // the first packet to this peer
        }
        route.fast_path_limit > 0
            && !route.has_failed
            && bytes.len() <= route.max_single_packet as usize
            && port.piece_len(to, bytes.len()).is_none() // with frames the port decides what fits
            && port.send(to, header, &[], PayloadSource::Mem(bytes)).is_ok()
    }

    /// Sends a packet with payload. Returns false if it is refused now: then nothing was sent. A packet to a failed
    /// peer is dropped, and the result is true.
    #[inline]
    pub fn send(&mut self, to: Peer, header: Header, prefix: &[u8], source: PayloadSource<'_>) -> bool {
        self.try_send(to, |port| port.send(to, header, prefix, source))
    }

    #[inline]
    fn try_send(&mut self, to: Peer, send: impl FnOnce(&mut dyn DevicePort) -> Result<(), SendError>) -> bool {
        let route = self.routes.route_to(to);
        if route.has_failed {
            return true;
        }
        if !route.backlog.is_empty() {
            return false;
        }
        match send(&mut *self.ports[route.device as usize]) {
            Ok(()) => true,
            Err(SendError::Full) => false,
            Err(SendError::PeerFailed) => {
                route.has_failed = true;
                true
            }
        }
    }

    /// Sends a piece of a stream; the device may keep it until `flush_pieces`. `order_free` says that the peer knows
    /// where the piece belongs, so that it may overtake others. Returns false if it is refused now.
    pub fn send_piece(
        &mut self,
        to: Peer,
        header: Header,
        prefix: &[u8],
        source: PayloadSource<'_>,
        order_free: bool,
    ) -> bool {
        self.try_send(to, |port| port.send_piece(to, header, prefix, source, order_free))
    }

    /// Returns the port to a peer for a send that a device may refuse; None if the peer has failed, or if packets wait
    /// here, which must not be overtaken.
    fn unblocked_port(&mut self, to: Peer) -> Option<&mut (dyn DevicePort + 'static)> {
        let route = self.routes.route_to(to);
        let is_free = !route.has_failed && route.backlog.is_empty();
        is_free.then(|| &mut *self.ports[route.device as usize])
    }

    /// Starts a zero-copy send of a stream (`DevicePort::send_zero_copy`). Returns false if the stream must be sent
    /// in pieces.
    pub fn send_zero_copy(
        &mut self,
        to: Peer,
        header: Header,
        mem: UserMem<'static>,
        order_free: bool,
        token: u32,
    ) -> bool {
        self.unblocked_port(to).is_some_and(|port| port.send_zero_copy(to, header, mem, order_free, token))
    }

    /// Sends a whole message at once, if the device has a method for that (`DevicePort::send_stream`). Returns false if
    /// the message must be sent by other calls.
    pub fn send_stream(
        &mut self,
        to: Peer,
        header: Header,
        prefix: &[u8],
        rest_header: Header,
        mem: UserMem<'_>,
    ) -> bool {
        self.unblocked_port(to).is_some_and(|port| port.send_stream(to, header, prefix, rest_header, mem))
    }

    /// Does the same for a message that others follow at once, which the device may delay until `flush_pieces`.
    pub fn join_stream(
        &mut self,
        to: Peer,
        header: Header,
        prefix: &[u8],
        rest_header: Header,
        mem: UserMem<'_>,
    ) -> bool {
        self.unblocked_port(to).is_some_and(|port| port.join_stream(to, header, prefix, rest_header, mem))
    }

    /// Sends the pieces that devices have delayed.
    pub fn flush_pieces(&mut self) {
        self.ports.iter_mut().for_each(|port| port.flush_pieces());
    }

    /// Sends a packet without payload now, or, if the device refuses it, as soon as the device has space.
    pub fn send_control(&mut self, to: Peer, control: ControlPacket) {
        if !self.send(to, control.header, control.prefix(), PayloadSource::None) {
            let route = self.routes.route_to(to);
            if route.backlog.is_empty() {
                self.backlogged.push(to);
                route.fast_path_limit = 0;
            }
            route.backlog.push_back(control);
        }
    }

    /// Reserves space for one packet to the peer, with payload of at most `len` bytes, prefix included. The space is
    /// reserved until the next call that sends, reserves or polls; if that call sends such a packet, the packet is
    /// accepted (`DevicePort::reserve`). Returns false if there is no space now.
    #[inline]
    pub fn reserve(&mut self, to: Peer, len: usize) -> bool {
        let route = self.routes.route_to(to);
        route.backlog.is_empty() && self.ports[route.device as usize].reserve(to, len)
    }

    /// Begins an operation on memory of a peer: `begin` calls `DevicePort::write`, `read`, `atomic` or `flush` of the
    /// port that it gets. Operations and packets have no order among each other, so the operation may overtake
    /// packets that wait here.
    pub fn begin_remote_op(
        &mut self,
        to: Peer,
        begin: impl FnOnce(&mut dyn DevicePort) -> Result<Submitted, RemoteError>,
    ) -> Result<Submitted, RemoteError> {
        let route = self.routes.route_to(to);
        if route.has_failed {
            return Err(RemoteError::PeerFailed);
        }
        begin(&mut *self.ports[route.device as usize])
    }

    /// Returns whether no packet waits to be sent.
    #[inline(always)]
    pub fn is_flushed(&self) -> bool {
        self.backlogged.is_empty()
    }

    /// Sends the packets that wait here, as far as the devices have space.
    pub fn flush(&mut self) {
        let mut index = 0;
        while index < self.backlogged.len() {
            let peer = self.backlogged[index];
            if self.flush_peer(peer) {
                self.backlogged.swap_remove(index);
            } else {
                index += 1;
            }
        }
    }

    fn flush_peer(&mut self, peer: Peer) -> bool {
        let route = self.routes.route_to(peer);
        while let Some(control) = route.backlog.front() {
            match self.ports[route.device as usize].send(peer, control.header, control.prefix(), PayloadSource::None) {
                Ok(()) => drop(route.backlog.pop_front()),
                Err(SendError::Full) => return false,
                Err(SendError::PeerFailed) => {
                    route.has_failed = true;
                    route.backlog.clear();
                }
            }
        }
        route.fast_path_limit = route.fast_path_max;
        true
    }

    /// Releases the state of a peer that has ended, so that the channel knows nothing of its process number any more.
    pub fn release_peer(&mut self, peer: Peer) {
        if self.routes.all[peer].peer == peer {
            self.backlogged.retain(|&other| other != peer);
            self.routes.all.reset(peer);
        }
    }

    /// Registers the receiver of packets of `protocol`. Returns false if the protocol has a receiver already, or is
    /// MESSAGES.
    pub fn register_receiver(&mut self, protocol: Protocol, receiver: Box<dyn Receiver>) -> bool {
        self.receivers.get_or_insert_default().add(protocol, receiver)
    }

    /// Delivers arrived packets of any device. Returns their number.
    #[inline]
    pub fn poll(&mut self, delivery: &mut dyn Delivery) -> usize {
        self.costly_turns = CostlyTurns { in_use: self.costly_turns.in_use, ..CostlyTurns::default() };
        self.poll_in_turn(delivery)
    }

    /// Does the same for a rank that spins, which polls again at once: costly ports have their turn only now and then
    /// while others deliver (`CostlyTurns`). Every source must be polled before a sleep, so `poll` must be called then.
    #[inline]
    pub fn poll_in_turn(&mut self, delivery: &mut dyn Delivery) -> usize {
        let Channel { ports, costly_from, costly_turns, receivers, .. } = self;
        match receivers {
            None => poll_ports(ports, *costly_from, costly_turns, delivery),
            Some(receivers) => {
                poll_ports(ports, *costly_from, costly_turns, &mut Demux { receivers, messages: delivery })
            }
        }
    }

    /// Whether a poll for a packet of `from` is costly (`DevicePort::is_poll_costly`).
    #[inline]
    pub fn is_costly_to(&mut self, from: Peer) -> bool {
        self.routes.route_to(from).device as usize >= self.costly_from
    }

    /// Polls for a packet of `from`; packets of other peers may be delivered with it (`DevicePort::poll_from`).
    /// Returns whether any packet was delivered.
    #[inline(always)]
    pub fn poll_from(&mut self, from: Peer, delivery: &mut dyn Delivery) -> bool {
        let device = self.routes.route_to(from).device as usize;
        let port = &mut self.ports[device];
        let has_delivered = match &mut self.receivers {
            None => port.poll_from(from, delivery),
            Some(receivers) => port.poll_from(from, &mut Demux { receivers, messages: delivery }),
        };
        if has_delivered {
            self.costly_turns.record(device >= self.costly_from);
        }
        has_delivered
    }
}

/// Polls the ports whose turn it is. Returns the number of packets delivered.
#[inline]
fn poll_ports(
    ports: &mut [Box<dyn DevicePort>],
    costly_from: usize,
    turns: &mut CostlyTurns,
    delivery: &mut dyn Delivery,
) -> usize {
    let (cheap, costly) = ports.split_at_mut(costly_from);
    let is_costly_turn = !costly.is_empty() && turns.next();
    let by_cheap: usize = cheap.iter_mut().map(|port| port.poll(delivery)).sum();
    if by_cheap > 0 {
        turns.record(false);
    }
    if !is_costly_turn {
        return by_cheap;
    }
    let by_costly: usize = costly.iter_mut().map(|port| port.poll(delivery)).sum();
    if by_costly > 0 {
        turns.record(true);
    }
    by_cheap + by_costly
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_base::Lane;
    use hawser_device::{Device, DeviceLimits, Fragmentation};
    use std::sync::{Arc, Mutex};

    /// The packets that a test's port got for a peer, and what the port takes.
    #[derive(Default)]
    struct FarEnd {
        sent: Vec<(Peer, u32)>,
        refusal: Option<SendError>,
    }

    /// A port that records the packets sent by it, or refuses them.
    struct TestPort(Arc<Mutex<FarEnd>>);

    impl DevicePort for TestPort {
        fn send(&mut self, to: Peer, header: Header, _: &[u8], _: PayloadSource<'_>) -> Result<(), SendError> {
            let mut far = self.0.lock().unwrap();
            match far.refusal {
                Some(refusal) => Err(refusal),
                None => {
                    far.sent.push((to, header.a()));
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
        fn limits(&self) -> DeviceLimits {
            DeviceLimits {
                short: 100,
                packet: 200,
                fragmentation: Fragmentation::Pages(|_| 100),
                eager: 200,
                zero_copy_from: None,
                stream_from: None,
                join_max: 0,
                remote_read_from: None,
                private_read_from: None,
                copy_trial_from: None,
            }
        }
        fn port(&self, _: Lane) -> Box<dyn DevicePort> {
            unreachable!("the test has made them")
        }
    }

    /// The peers that each of two devices reaches.
    type Reached = [Arc<Mutex<Vec<Peer>>>; 2];

    /// A channel over two devices, each of which reaches one peer, and the reached peers.
    fn channel_of() -> (Channel, [Arc<Mutex<FarEnd>>; 2], Reached) {
        let far: [Arc<Mutex<FarEnd>>; 2] = Default::default();
        let ports = far.iter().map(|far| Box::new(TestPort(far.clone())) as Box<dyn DevicePort>).collect();
        let reached = [Peer(0), Peer(1)].map(|peer| Arc::new(Mutex::new(vec![peer])));
        let devices = reached.iter().map(|peers| Box::new(TestDevice(peers.clone())) as Box<dyn Device>).collect();
        (Channel::new(ports, RouteTable::new(devices)), far, reached)
    }

    fn channel() -> (Channel, [Arc<Mutex<FarEnd>>; 2]) {
        let (channel, far, _) = channel_of();
        (channel, far)
    }

    fn header(a: u32) -> Header {
        Header::new(0, 0, a, 0)
    }

    fn send_short(channel: &mut Channel, to: u32, a: u32) -> bool {
        channel.send_whole(Peer(to), header(a), UserMem::of_slice(&mut [0; 10]))
    }

    #[test]
    fn nothing_overtakes_control_that_waits_for_room() {
        let (mut channel, far) = channel();
        far[0].lock().unwrap().refusal = Some(SendError::Full);
        channel.send_control(Peer(0), ControlPacket::new(header(1), &[]));
        channel.send_control(Peer(0), ControlPacket::new(header(2), &[7; PREFIX_MAX]));
        far[0].lock().unwrap().refusal = None;
        assert!(!channel.is_flushed() && !channel.reserve(Peer(0), 0));
        assert!(!channel.send_whole(Peer(0), header(9), UserMem::EMPTY), "not even one without payload");
        assert!(!send_short(&mut channel, 0, 9) && !channel.send(Peer(0), header(9), &[], PayloadSource::None));
        assert!(send_short(&mut channel, 1, 5), "another peer is not held up");
        channel.send_control(Peer(0), ControlPacket::new(header(3), &[]));
        channel.flush();
        assert!(channel.is_flushed() && channel.reserve(Peer(0), 0) && send_short(&mut channel, 0, 4));
        assert_eq!(far[0].lock().unwrap().sent, [1, 2, 3, 4].map(|a| (Peer(0), a)));
        assert_eq!(far[1].lock().unwrap().sent, [(Peer(1), 5)]);
    }

    #[test]
    fn a_flush_goes_as_far_as_there_is_room() {
        let (mut channel, far) = channel();
        far.iter().for_each(|far| far.lock().unwrap().refusal = Some(SendError::Full));
        (0..2).for_each(|peer| channel.send_control(Peer(peer), ControlPacket::new(header(peer), &[])));
        far[1].lock().unwrap().refusal = None;
        channel.flush();
        assert!(!channel.is_flushed() && far[0].lock().unwrap().sent.is_empty());
        assert!(send_short(&mut channel, 1, 8) && !send_short(&mut channel, 0, 8));
    }

    #[test]
    fn what_is_sent_to_the_lost_vanishes() {
        let (mut channel, far) = channel();
        far[0].lock().unwrap().refusal = Some(SendError::Full);
        channel.send_control(Peer(0), ControlPacket::new(header(1), &[]));
        far[0].lock().unwrap().refusal = Some(SendError::PeerFailed);
        channel.flush();
        assert!(channel.is_flushed(), "the backlog of a failed peer is dropped");
        assert!(channel.send(Peer(0), header(2), &[], PayloadSource::None));
        channel.send_control(Peer(0), ControlPacket::new(header(3), &[]));
        assert!(channel.is_flushed() && !send_short(&mut channel, 0, 4));
        assert!(far[0].lock().unwrap().sent.is_empty());
    }

    /// Operations wait for memory, not for a place in a queue of packets.
    #[test]
    fn an_operation_passes_what_waits_and_goes_to_the_peers_own_device_while_that_reaches_it() {
        let (mut channel, far) = channel();
        far[1].lock().unwrap().refusal = Some(SendError::Full);
        channel.send_control(Peer(1), ControlPacket::new(header(1), &[]));
        let begin = |port: &mut dyn DevicePort| {
            far[1].lock().unwrap().refusal = None;
            assert!(port.reserve(Peer(1), 8), "it is the port of that peer");
            far[1].lock().unwrap().refusal = Some(SendError::PeerFailed);
            Ok(Submitted::InFlight)
        };
        far[0].lock().unwrap().refusal = Some(SendError::Full);
        assert_eq!(channel.begin_remote_op(Peer(1), begin), Ok(Submitted::InFlight));
        channel.flush();
        let begin = |_: &mut dyn DevicePort| panic!("no operation begins with a failed peer");
        assert_eq!(channel.begin_remote_op(Peer(1), begin), Err(RemoteError::PeerFailed));
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
        assert!(
            send_short(&mut channel, old.0, 1) && !send_short(&mut channel, new.0, 2),
            "the new process is not known yet"
        );
        reached[0].lock().unwrap().clear();
        far[0].lock().unwrap().refusal = Some(SendError::Full);
        channel.send_control(old, ControlPacket::new(header(3), &[]));
        assert!(!channel.is_flushed());
        channel.release_peer(old);
        reached[1].lock().unwrap().push(new);
        far[1].lock().unwrap().refusal = Some(SendError::Full);
        channel.send_control(new, ControlPacket::new(header(4), &[]));
        assert!(
            !send_short(&mut channel, old.0, 5) && channel.send(old, header(6), &[], PayloadSource::None),
            "it vanishes"
        );
        assert!(!channel.poll_from(old, &mut Nothing) && channel.max_single_packet(old) == PREFIX_MAX);
        far.iter().for_each(|far| far.lock().unwrap().refusal = None);
        channel.flush();
        assert!(channel.is_flushed() && send_short(&mut channel, new.0, 7) && !send_short(&mut channel, old.0, 8));
        assert_eq!(far[0].lock().unwrap().sent, [(old, 1)]);
        assert_eq!(far[1].lock().unwrap().sent, [(new, 4), (new, 7)]);
    }

    /// A receiver that takes nothing.
    struct Nothing;

    impl Delivery for Nothing {
        fn deliver(&mut self, from: Peer, _: Header, _: &mut dyn hawser_device::Payload) {
            unreachable!("nothing arrives from {from}")
        }
        fn peer_failed(&mut self, peer: Peer) {
            unreachable!("no peer fails, not even {peer}")
        }
    }

    /// Returns the number of polls among the next `polls` that include the costly ports.
    fn turns(turns: &mut CostlyTurns, polls: usize) -> usize {
        (0..polls).filter(|_| turns.next()).count()
    }

    #[test]
    fn costly_ports_are_left_out_for_a_while_when_others_deliver() {
        let mut costly = CostlyTurns::default();
        assert_eq!(turns(&mut costly, 100), 100, "nothing arrives");
        costly.record(false);
        let most = usize::from(LEFT_OUT_MAX);
        assert_eq!([turns(&mut costly, most), turns(&mut costly, 100)], [0, 100], "one packet by another port");
        let busy = (0..10 * (most + 1)).filter(|_| {
            costly.record(false);
            costly.next()
        });
        assert_eq!(busy.count(), 10, "packets by another port all the time");
    }

    /// A port that counts its polls; a cheap one delivers a packet in each.
    struct CountingPort {
        is_costly: bool,
        polls: Arc<Mutex<[usize; 2]>>,
    }

    impl DevicePort for CountingPort {
        fn send(&mut self, _: Peer, _: Header, _: &[u8], _: PayloadSource<'_>) -> Result<(), SendError> {
            Err(SendError::Full)
        }
        fn reserve(&mut self, _: Peer, _: usize) -> bool {
            false
        }
        fn poll(&mut self, _: &mut dyn Delivery) -> usize {
            self.polls.lock().unwrap()[usize::from(self.is_costly)] += 1;
            usize::from(!self.is_costly)
        }
        fn poll_from(&mut self, _: Peer, delivery: &mut dyn Delivery) -> bool {
            self.poll(delivery) > 0
        }
        fn is_poll_costly(&self) -> bool {
            self.is_costly
        }
    }

    #[test]
    fn a_poll_includes_all_ports_and_one_of_a_rank_that_spins_those_in_turn() {
        let polls = Arc::new(Mutex::new([0; 2]));
        let port = |is_costly| Box::new(CountingPort { is_costly, polls: polls.clone() }) as Box<dyn DevicePort>;
        let mut channel = Channel::new(vec![port(false), port(true)], RouteTable::new([].into()));
        let mut counted = |poll: fn(&mut Channel, &mut dyn Delivery) -> usize, times: usize| {
            *polls.lock().unwrap() = [0; 2];
            (0..times).for_each(|_| assert!(poll(&mut channel, &mut Nothing) > 0));
            *polls.lock().unwrap()
        };
        assert_eq!(counted(Channel::poll, 100), [100, 100]);
        let most = usize::from(LEFT_OUT_MAX);
        assert_eq!(counted(Channel::poll_in_turn, 10 * (most + 1)), [10 * (most + 1), 10]);
        assert_eq!(counted(Channel::poll, 1), [1, 1]);
    }

    #[test]
    fn costly_ports_that_deliver_are_not_left_out() {
        let mut costly = CostlyTurns::default();
        costly.record(true);
        let mut alike = |polls: usize| {
            (0..polls)
                .filter(|_| {
                    costly.record(false);
                    costly.next()
                })
                .count()
        };
        let in_use = usize::from(COSTLY_IN_USE) - 1;
        assert_eq!(alike(in_use), in_use);
        assert_eq!(alike(usize::from(LEFT_OUT_MAX)), 0);
    }
}
