//! The endpoint of a rank: all its peers, the assignment of their frames, and the memory that they share.
//!
//! Frames enter by `handle_frame` and leave by `transmit`; messages enter by `send` and leave by a call of `deliver`.
//! Time is an argument. A peer is given up by `forget` alone, never for its silence (P18). Used by `dev-ether`; uses
//! `connection`.

use crate::connection::{Connection, EndpointShared, FrameSender, HELLO_RESERVED_SLOTS, LinkCounters};
use crate::connections::Connections;
use crate::fragment::{FRAGMENT_HEADER_BYTES, FRAGMENTS_MAX};
use crate::frame::{DropReason, Frame, FrameKind, HEADER_BYTES, JobKey, PeerPair};
use crate::frame_pool::FramePool;
use crate::marks::{Mark, mark};
use crate::path::{HELLO_BYTES, Hello, Path, PathId, RemotePort};
use crate::path_mtu::MTU_MIN;
use crate::path_numbers::{PATHS_MAX, PathNumberTable, PathOwner};
use crate::planted::{Bug, planted};
use crate::port_traits::PortTraits;
use crate::reachability::{PathStatus, PortReachability};
use crate::reassembly::{DeliverFn, RESERVED_SLOTS, ReassemblyBuffer};
use crate::receive_capacity::ReceiveCapacity;
use crate::seq::Seq;
use crate::shared_stats::SharedStats;
use crate::user_shares::{ShareId, UserShares};
use hawser_base::Peer;
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use std::ops::Range;

/// Slots for sending that payload leaves free for messages without payload: envelopes can always be sent, so that legal
/// programs cannot wait for each other's credits for ever (docs/adr/0005-credits.md).
const CONTROL_RESERVED_SLOTS: usize = 64;

/// The divisor of the memory for sending for a further user's share: with half of all for the first user, four
/// further users may have one. Of 1024 frames 128 are 180 KiB of Ethernet's, in flight at once.
const SHARE_DIVISOR: usize = 8;

/// Paths that a peer may open: all pairs of eight rails with four ports each. The limit keeps a peer from taking all
/// memory with HELLOs.
const PATHS_PER_PEER_MAX: usize = 256;

/// The configuration of an endpoint.
pub struct Config {
    /// This process (`Peer`), and the number of process numbers in its universe.
    pub me: u32,
    pub ranks: u32,
    pub key: JobKey,
    /// The longest frame of any of our ports, in bytes.
    pub frame_max: usize,
    /// Frames that may wait or be in flight, and fragments that may wait for earlier ones; for all peers together.
    pub send_slots: usize,
    pub reassembly_slots: usize,
    /// The properties of each of our ports.
    pub ports: Vec<PortTraits>,
}

/// The kind of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageClass {
    /// Without payload: it may use memory that payload may not.
    Control,
    Payload,
    /// Order-free payload: it is delivered regardless of earlier messages, as the receiver knows where it belongs.
    OrderFree,
}

/// The reason for which a message was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkSendError {
    /// There is no memory for it now; acknowledgements free some.
    Full,
    /// There is no connection: none was begun, or the peer was forgotten.
    NotConnected,
}

/// Memory that is reserved for one message to a peer: it is used by `send_reserved`, or released by `release`.
#[derive(Debug)]
#[must_use = "the memory is kept until it is given back"]
pub struct SendReservation {
    peer: u32,
    /// The longest message for which it suffices, in bytes.
    total: usize,
    slots: usize,
    /// The share to which the slots belong; None: no further user's.
    share: Option<ShareId>,
}

/// Returns the slots of a message of `total` bytes in frames of `frame` bytes.
fn slots_in(frame: usize, total: usize) -> usize {
    total.div_ceil(frame - HEADER_BYTES - FRAGMENT_HEADER_BYTES).max(1)
}

impl SendReservation {
    pub fn is_for(&self, peer: u32, total: usize) -> bool {
        self.peer == peer && total <= self.total
    }
}

/// The number of dropped frames for each reason.
pub type DropCounts = [u64; DropReason::ALL.len()];

/// The endpoint of a rank. See the module.
pub struct Endpoint {
    shared: EndpointShared,
    ranks: u32,
    connections: Connections,
    path_numbers: PathNumberTable,
    /// Peers with something to do, and those of them with something to do at once; each is listed once.
    active: Vec<u32>,
    ready: Vec<u32>,
    /// The time before which the others have nothing to do.
    idle_until_ns: u64,
    drop_counts: DropCounts,
    /// The source of path numbers and first frame numbers.
    random: SipHasher24,
    /// Paths that were ever begun, each of which has random numbers of its own.
    paths_begun: u64,
}

impl Endpoint {
    pub fn new(config: Config, seed: u64) -> Endpoint {
        let Config { me, ranks, key, frame_max, send_slots, reassembly_slots, ports } = config;
        assert!(
            !ports.is_empty()
                && send_slots > 2 * CONTROL_RESERVED_SLOTS
                && reassembly_slots > 4 * RESERVED_SLOTS
                && frame_max > HEADER_BYTES + FRAGMENT_HEADER_BYTES.max(HELLO_BYTES)
        );
        let shared = EndpointShared {
            key,
            me,
            send_pool: FramePool::new(send_slots, frame_max),
            reserved_slots: 0,
            shares: UserShares::default(),
            reassembly_buffer: ReassemblyBuffer::new(reassembly_slots, frame_max - HEADER_BYTES),
            receive_capacities: vec![ReceiveCapacity::new(0); ports.len()].into_boxed_slice(),
            stats: SharedStats::new(&ports),
            ports: ports.into_boxed_slice(),
            counters: LinkCounters::default(),
        };
        Endpoint {
            shared,
            ranks,
            connections: Connections::new(),
            path_numbers: PathNumberTable::new(PATHS_MAX),
            active: Vec::new(),
            ready: Vec::new(),
            idle_until_ns: u64::MAX,
            drop_counts: DropCounts::default(),
            random: SipHasher24::new_with_keys(seed, u64::from(me)),
            paths_begun: 0,
        }
    }

    /// Sets how many frames our port `port` buffers: its paths share them (P21).
    pub fn set_receive_capacity(&mut self, port: usize, frames: u32) {
        self.shared.receive_capacities[port].set_frames(frames);
    }

    pub fn is_connected(&self, peer: u32) -> bool {
        self.connections.get(peer).is_some()
    }

    /// Returns a connection's path ids if none ever had a reply, and how often each was tried. Such a peer is
    /// waited for like any other (P18); a caller that knows that the peer is ready may report that nothing reaches
    /// it.
    pub fn unreachable_paths(&self, peer: u32) -> Option<impl Iterator<Item = (PathId, u32)> + '_> {
        let paths = self.connections.get(peer)?.paths();
        let tries = || paths.iter().filter_map(|path| Some((path.id, path.hello_tries()?)));
        (tries().count() == paths.len()).then(tries)
    }

    /// Returns the peers that had an open path and have none that responds now, though something of ours is not
    /// acknowledged yet, with the time since when. They are waited for (P18), as with `unreachable_paths`.
    pub fn silent_peers(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let since_ns = |&peer: &u32| Some((peer, self.silent_since_ns(peer)?));
        self.active.iter().filter_map(since_ns)
    }

    /// Same as `silent_peers`, for one peer.
    pub fn silent_since_ns(&self, peer: u32) -> Option<u64> {
        self.connections.get(peer)?.silent_since_ns()
    }

    /// Returns the paths to a peer, further flows left out, and the state of each.
    pub fn path_statuses(&self, peer: u32) -> impl Iterator<Item = (PathId, PathStatus)> + '_ {
        let paths = self.connections.get(peer).into_iter().flat_map(|connection| connection.paths());
        paths.filter(|path| !path.is_additional_flow()).map(|path| (path.id, PathStatus::of(path)))
    }

    /// Whether the path with this path id is open and not silent (P24).
    pub fn is_path_responding(&self, peer: u32, path_id: PathId) -> bool {
        let connection = self.connections.get(peer);
        connection.is_some_and(|peer| peer.path_index(path_id).is_some_and(|at| peer.paths()[at].is_responding()))
    }

    /// Returns the statistics of the paths from our port `port`.
    pub fn port_reachability(&self, port: u8) -> PortReachability {
        self.connections
            .iter()
            .fold(PortReachability::default(), |total, peer| total.add_peer(port, peer.paths(), peer.selectors()))
    }

    /// Returns the longest frame, in bytes, for a message of `total` bytes to a peer, if there is a connection.
    pub fn frame_for_message(&self, peer: u32, total: usize) -> Option<usize> {
        Some(self.connections.get(peer)?.frame_for_message(total))
    }

    /// Returns the path that carries bulk to a peer best, if there is only one, it loses nothing while it stands (TCP),
    /// and payload on it needs no CRC; none during a trial. Bytes that are sent there past link must be reported
    /// (`record_direct`).
    pub fn direct_path(&mut self, peer: u32) -> Option<PathId> {
        self.connections.get_mut(peer)?.direct_path(&mut self.shared.stats)
    }

    /// Records that `bytes` bytes of bulk were sent by that path.
    pub fn record_direct(&mut self, peer: u32, bytes: usize) {
        if let Some(connection) = self.connections.get_mut(peer) {
            connection.record_direct(&mut self.shared.stats, bytes);
        }
    }

    /// The number of the next message to a peer.
    pub fn next_message(&self, peer: u32) -> Option<Seq> {
        Some(self.connections.get(peer)?.next_message())
    }

    /// Whether all messages of a peer before this one were delivered.
    pub fn has_delivered(&self, peer: u32, before: Seq) -> bool {
        self.connections.get(peer).is_some_and(|connection| connection.has_delivered(before))
    }

    /// Begins to open a path, once for each path id; if this rank has too many paths none is opened (P40).
    pub fn open_path(&mut self, peer: u32, path_id: PathId, remote: RemotePort) {
        assert!(!self.connections.is_forgotten(peer), "rank {peer} was forgotten");
        if self.path_numbers.available() == 0 {
            return;
        }
        let random = self.random(self.paths_begun);
        let connection = self.connections.connect(peer);
        if connection.path_index(path_id).is_some() {
            return;
        }
        self.paths_begun += 1;
        let owner = PathOwner { peer, path_index: connection.paths().len() as u8 };
        let number = self.path_numbers.assign(owner, random as u8).expect("one is left");
        // 31 bits, so that no path begins near the end of all numbers by design.
        let first = Seq((random >> 33) as u32);
        connection.add_path(Path::new(path_id, self.shared.port_traits(path_id), number, first, remote));
        // Reserved here, so that nothing is allocated once paths are open.
        self.active.reserve(self.connections.capacity() - self.active.len());
        self.ready.reserve(self.connections.capacity() - self.ready.len());
        self.mark_ready(peer);
    }

    /// The number of paths of this rank with all its peers.
    pub fn path_count(&self) -> usize {
        PATHS_MAX - self.path_numbers.available()
    }

    fn random(&self, number: u64) -> u64 {
        let mut hasher = self.random;
        hasher.write_u64(number);
        hasher.finish()
    }

    /// Lists a peer after a message to it or a frame from it.
    fn mark_ready(&mut self, peer: u32) {
        let was_listed = self.connections.get_mut(peer).expect("it was opened").mark_ready();
        if !was_listed.active {
            self.active.push(peer);
        }
        if !was_listed.ready {
            self.ready.push(peer);
        }
    }

    /// Whether a message of `total` bytes would be taken.
    pub fn check_send(&self, peer: u32, total: usize, class: MessageClass) -> Result<(), LinkSendError> {
        let connection = self.connections.get(peer).ok_or(LinkSendError::NotConnected)?;
        self.check_slots(connection, slots_in(connection.frame_for_message(total), total), class)
    }

    fn check_slots(&self, connection: &Connection, needed: usize, class: MessageClass) -> Result<(), LinkSendError> {
        let control = class == MessageClass::Control;
        let reserved = if control { HELLO_RESERVED_SLOTS } else { CONTROL_RESERVED_SLOTS };
        // No peer takes all: another peer's messages pass one that does not answer.
        let fair =
            connection.used_slots() == 0 || connection.used_slots() + needed <= self.shared.send_pool.slots() / 2;
        let left = self.shared.send_pool.free_slots().saturating_sub(self.shared.reserved_slots);
        let fits = needed + reserved <= left && (fair || control);
        if fits && control && (!fair || needed + CONTROL_RESERVED_SLOTS > left) {
            mark(Mark::ControlPassed);
        }
        if fits {
            return Ok(());
        }
        mark(if needed + reserved > left { Mark::SendingFull } else { Mark::SendingUnfair });
        Err(LinkSendError::Full)
    }

    /// The longest message, in bytes: every path passes it in at most FRAGMENTS_MAX fragments.
    pub fn message_max(frame_min: usize) -> usize {
        (FRAGMENTS_MAX * (frame_min - HEADER_BYTES - FRAGMENT_HEADER_BYTES)).min(u16::MAX as usize)
    }

    /// Takes a message; `fill` writes its bytes from an offset on, front to back.
    pub fn send(
        &mut self,
        peer: u32,
        channel: u8,
        total: usize,
        class: MessageClass,
        fill: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), LinkSendError> {
        self.check_send(peer, total, class)?;
        self.enqueue(None, (peer, channel), total, class, fill)
    }

    /// Takes a message for which there are slots, in a further user's share or outside the shares.
    #[inline]
    fn enqueue(
        &mut self,
        share_id: Option<ShareId>,
        (peer, channel): (u32, u8),
        total: usize,
        class: MessageClass,
        fill: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), LinkSendError> {
        let connection = self.connections.get_mut(peer).ok_or(LinkSendError::NotConnected)?;
        let before = connection.used_slots();
        connection.send(&mut self.shared, channel, total, class == MessageClass::OrderFree, fill);
        if let Some(share_id) = share_id {
            let slots = connection.used_slots() - before;
            self.shared.shares.record_used(share_id, peer, slots);
            self.shared.reserved_slots -= slots;
        }
        self.mark_ready(peer);
        Ok(())
    }

    /// Returns the most slots that a message of `total` bytes takes, in frames of any length.
    fn slots_max(&self, total: usize) -> usize {
        slots_in(MTU_MIN.min(self.shared.send_pool.stride()), total)
    }

    /// Reserves memory for a message of at most `total` bytes with payload, in frames of any length.
    pub fn reserve(&mut self, peer: u32, total: usize) -> Result<SendReservation, LinkSendError> {
        let connection = self.connections.get(peer).ok_or(LinkSendError::NotConnected)?;
        let slots = self.slots_max(total);
        self.check_slots(connection, slots, MessageClass::Payload)?;
        self.shared.reserved_slots += slots;
        Ok(SendReservation { peer, total, slots, share: None })
    }

    /// Releases reserved memory that was not used.
    pub fn release(&mut self, reservation: SendReservation) {
        match reservation.share {
            None => self.shared.reserved_slots -= reservation.slots,
            Some(share_id) => self.shared.shares.release(share_id, reservation.slots),
        }
    }

    /// Same as `send`, for a message for which memory was reserved: it is taken unless the peer was forgotten.
    pub fn send_reserved(
        &mut self,
        reservation: SendReservation,
        channel: u8,
        total: usize,
        class: MessageClass,
        fill: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), LinkSendError> {
        assert!(total <= reservation.total, "{total} bytes, and memory was reserved for {}", reservation.total);
        let (peer, share_id) = (reservation.peer, reservation.share);
        self.release(reservation);
        self.enqueue(share_id, (peer, channel), total, class, fill)
    }

    /// Adds a further user, whose messages use these channels, with a share of the memory for sending. None: there
    /// are so many users that the first one would have less than half.
    pub fn add_user(&mut self, channels: Range<u8>) -> Option<ShareId> {
        let EndpointShared { send_pool, shares, reserved_slots, .. } = &mut self.shared;
        let share = send_pool.slots() / SHARE_DIVISOR;
        if shares.slots() + share > send_pool.slots() / 2 {
            return None;
        }
        // Slots of the share that others use at the moment return to it before any other message gets them.
        *reserved_slots += share;
        Some(shares.add(channels, share))
    }

    /// Whether a message of `total` bytes of a further user would be taken.
    pub fn check_send_of(
        &self,
        share_id: ShareId,
        peer: u32,
        total: usize,
        class: MessageClass,
    ) -> Result<(), LinkSendError> {
        let connection = self.connections.get(peer).ok_or(LinkSendError::NotConnected)?;
        self.check_slots_of(share_id, peer, slots_in(connection.frame_for_message(total), total), class)
    }

    fn check_slots_of(
        &self,
        share_id: ShareId,
        peer: u32,
        needed: usize,
        class: MessageClass,
    ) -> Result<(), LinkSendError> {
        let EndpointShared { send_pool, shares, .. } = &self.shared;
        let can_send = shares.can_send(share_id, peer, needed, class == MessageClass::Control);
        if can_send && needed + HELLO_RESERVED_SLOTS <= send_pool.free_slots() {
            Ok(())
        } else {
            Err(LinkSendError::Full)
        }
    }

    /// Same as `send`, for a further user.
    pub fn send_of(
        &mut self,
        share_id: ShareId,
        (peer, channel): (u32, u8),
        total: usize,
        class: MessageClass,
        fill: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), LinkSendError> {
        self.check_send_of(share_id, peer, total, class)?;
        self.enqueue(Some(share_id), (peer, channel), total, class, fill)
    }

    /// Same as `reserve`, from a further user's share; `send_reserved` uses the memory.
    pub fn reserve_of(&mut self, share_id: ShareId, peer: u32, total: usize) -> Result<SendReservation, LinkSendError> {
        self.connections.get(peer).ok_or(LinkSendError::NotConnected)?;
        let slots = self.slots_max(total);
        self.check_slots_of(share_id, peer, slots, MessageClass::Payload)?;
        if self.shared.send_pool.free_slots() < self.shared.reserved_slots {
            return Err(LinkSendError::Full); // others used all slots when the share was made, and not all have returned
        }
        self.shared.shares.reserve(share_id, slots);
        Ok(SendReservation { peer, total, slots, share: Some(share_id) })
    }

    /// Takes a frame that arrived by our port `port`. Its replies are sent by `transmit`.
    pub fn handle_frame(
        &mut self,
        port: u8,
        bytes: &[u8],
        now_ns: u64,
        deliver: &mut DeliverFn<'_>,
    ) -> Result<(), DropReason> {
        self.shared.stats.record_poll(now_ns);
        let handled = self.try_handle(port, bytes, now_ns, deliver);
        if let Err(reason) = handled {
            self.drop_counts[reason as usize] += 1;
        }
        handled
    }

    fn try_handle(
        &mut self,
        port: u8,
        bytes: &[u8],
        now_ns: u64,
        deliver: &mut DeliverFn<'_>,
    ) -> Result<(), DropReason> {
        let frame = Frame::parse(bytes)?;
        if matches!(frame.kind(), FrameKind::Hello | FrameKind::Welcome) {
            return self.handle_hello(port, &frame);
        }
        let PathOwner { peer, path_index: at } =
            self.path_numbers.owner(frame.path_number()).ok_or(DropReason::Path)?;
        let connection = self.connections.get_mut(peer).ok_or(DropReason::Path)?;
        // P40: the path's current number, not an earlier one of its index.
        if connection.paths()[usize::from(at)].local_number != frame.path_number() && !planted(Bug::StalePath) {
            return Err(DropReason::Path);
        }
        let handled = connection.handle_frame(&mut self.shared, usize::from(at), &frame, now_ns, deliver);
        self.mark_ready(peer);
        handled
    }

    fn handle_hello(&mut self, port: u8, frame: &Frame<'_>) -> Result<(), DropReason> {
        let (peer, me) = (frame.path_number(), self.shared.me);
        if Peer(peer).index() >= self.ranks as usize || peer == me || self.connections.is_forgotten(peer) {
            return Err(DropReason::Path);
        }
        let (head, payload) = frame.check(&self.shared.key, PeerPair { from: peer, to: me })?;
        // A number is assigned again when all have forgotten its former owner
        // (docs/adr/0053-a-name-is-a-number-and-a-life.md): a connection that still exists here was opened by a late
        // HELLO.
        if let Some(other) = self.connections.other_incarnation(peer) {
            if Peer(other).incarnation() > Peer(peer).incarnation() {
                return Err(DropReason::Path);
            }
            self.forget(other);
        }
        let hello = Hello::read(payload, head.credit)?;
        let len = HEADER_BYTES + payload.len();
        let path_id = hello.path_id.reversed();
        let longest = self.shared.send_pool.stride();
        if path_id.local_port != port || len < MTU_MIN.min(longest) || len > longest {
            return Err(DropReason::Hello);
        }
        let connection = self.connections.get(peer);
        if connection.is_none_or(|connection| connection.path_index(path_id).is_none()) {
            if head.kind == FrameKind::Welcome {
                return Err(DropReason::Path);
            }
            let count = connection.map_or(0, |connection| connection.paths().len());
            if count >= PATHS_PER_PEER_MAX || self.path_numbers.available() == 0 {
                return Err(DropReason::Hello);
            }
            mark(Mark::OpenedByPeer);
            self.open_path(peer, path_id, RemotePort { nic: hello.nic, frame_max: len });
        }
        let connection = self.connections.get_mut(peer).expect("it was opened");
        let at = connection.path_index(path_id).expect("it was opened");
        connection.handle_hello(&mut self.shared.stats, at, &hello, head.kind, len)?;
        self.mark_ready(peer);
        Ok(())
    }

    /// Sends all that may be sent now.
    pub fn transmit(&mut self, now_ns: u64, wire: &mut dyn FrameSender) {
        self.shared.stats.record_poll(now_ns);
        let wants_flows = if now_ns < self.idle_until_ns {
            self.transmit_ready(now_ns, wire)
        } else {
            self.transmit_active(now_ns, wire)
        };
        if let Some(peer) = wants_flows {
            self.open_additional_flows(peer);
        }
    }

    /// Transmits to the peers that have something to do at once. Returns a peer to which further flows are needed.
    fn transmit_ready(&mut self, now_ns: u64, wire: &mut dyn FrameSender) -> Option<u32> {
        let Endpoint { shared, connections, ready, idle_until_ns, .. } = self;
        let mut wants_flows = None;
        ready.retain(|&peer| {
            let Some(connection) = connections.get_mut(peer) else { return false };
            connection.transmit(shared, now_ns, wire);
            wants_flows = wants_flows.or(connection.needs_flows().then_some(peer));
            let is_ready = connection.update_ready();
            if !is_ready {
                *idle_until_ns = connection.idle_until_ns().min(*idle_until_ns);
            }
            is_ready
        });
        wants_flows
    }

    /// Transmits to all peers that have something to do, as the time of one may have come. Returns a peer to which
    /// further flows are needed.
    fn transmit_active(&mut self, now_ns: u64, wire: &mut dyn FrameSender) -> Option<u32> {
        let Endpoint { shared, connections, active, ready, idle_until_ns, .. } = self;
        let mut wants_flows = None;
        *idle_until_ns = u64::MAX;
        ready.clear();
        active.retain(|&peer| {
            let Some(connection) = connections.get_mut(peer) else { return false };
            connection.transmit(shared, now_ns, wire);
            wants_flows = wants_flows.or(connection.needs_flows().then_some(peer));
            if connection.update_ready() {
                ready.push(peer);
            } else {
                *idle_until_ns = connection.idle_until_ns().min(*idle_until_ns);
            }
            connection.update_active()
        });
        wants_flows
    }

    /// P39: begins to open further flows to a peer, unless there are too many paths.
    #[cold]
    fn open_additional_flows(&mut self, peer: u32) {
        let Some(connection) = self.connections.get_mut(peer) else { return };
        let (flows, count) = (connection.missing_flows(), connection.paths().len());
        if count + flows.len() > PATHS_PER_PEER_MAX || flows.len() > self.path_numbers.available() {
            return;
        }
        for (path_id, remote) in flows {
            mark(Mark::FlowsOpened);
            self.open_path(peer, path_id, remote);
        }
    }

    /// Whether there is anything to send, to acknowledge or to wait for.
    #[inline]
    pub fn is_active(&self) -> bool {
        !self.ready.is_empty() || self.idle_until_ns != u64::MAX
    }

    /// Makes pending acknowledgements due: they go with the next `transmit`, without waiting for data.
    pub fn expedite_acks(&mut self) {
        for at in 0..self.active.len() {
            let peer = self.active[at];
            if let Some(connection) = self.connections.get_mut(peer).filter(|connection| connection.is_active()) {
                connection.expedite_acks();
                self.mark_ready(peer);
            }
        }
    }

    /// Records that this rank is going to sleep until a frame arrives, so that the gap does not count as a late poll.
    pub fn record_sleep(&mut self) {
        self.shared.stats.record_sleep();
    }

    /// The time at which `transmit` has something to do, if no frame arrives and no message is sent before.
    pub fn deadline_ns(&self) -> Option<u64> {
        let connections = self.active.iter().filter_map(|&peer| self.connections.get(peer));
        connections.filter_map(|connection| connection.deadline_ns()).min()
    }

    /// Whether everything that was sent has been acknowledged.
    pub fn is_all_acked(&self) -> bool {
        self.connections.iter().all(Connection::is_all_acked)
    }

    /// Forgets a peer that is gone: nothing is sent to it or taken from it any more.
    pub fn forget(&mut self, peer: u32) {
        if let Some(connection) = self.connections.forget(peer) {
            connection.paths().iter().for_each(|path| self.path_numbers.release(path.local_number));
            connection.release(&mut self.shared);
            self.active.retain(|&other| other != peer);
            self.ready.retain(|&other| other != peer);
        }
    }

    /// The longest frame of our ports, in bytes.
    pub fn frame_max(&self) -> usize {
        self.shared.send_pool.stride()
    }

    /// The free slots of the memory for sending, and of the reassembly buffer.
    pub fn free_slots(&self) -> (usize, usize) {
        (self.shared.send_pool.free_slots(), self.shared.reassembly_buffer.free_slots())
    }

    /// The counts of the protocol's events so far.
    pub fn counters(&self) -> &LinkCounters {
        &self.shared.counters
    }

    pub fn drop_counts(&self) -> &DropCounts {
        &self.drop_counts
    }
}
