//! The endpoint of a rank: the connections with all its peers, the assignment of received frames to them, and the
//! memory that they share.
//!
//! Frames enter by `handle_frame` and leave by `transmit`; messages enter by `send` and leave by a call of `deliver`.
//! The time is an argument. Only `forget` gives a peer up; its silence never does (P18 of docs/protocol.md). Used by
//! `dev-ether`; uses `connection`, `connections` and `path_numbers`.

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

/// Slots for sending that payload leaves free for messages without payload. So envelopes can always be sent, and
/// legal programs cannot wait for each other's credit for ever (docs/adr/0005-credits.md).
const CONTROL_RESERVED_SLOTS: usize = 64;

/// The divisor of the memory for sending that gives a further user's share. The first user keeps at least half of the
/// memory, so four further users may have a share. If the memory has 1024 slots, a share has 128: 180 KiB in Ethernet
/// frames, in flight at once.
const SHARE_DIVISOR: usize = 8;

/// The maximum number of paths to one peer: if both hosts have eight rails with four ports each, all pairs of ports
/// of one kind. It keeps a peer from taking all memory by HELLOs.
const PATHS_PER_PEER_MAX: usize = 256;

/// The configuration of an endpoint.
pub struct Config {
    /// This process (a `Peer`).
    pub me: u32,
    /// The number of process numbers: a HELLO from a process number that is not below it is dropped.
    pub ranks: u32,
    pub key: JobKey,
    /// The longest frame of any of our ports, in bytes.
    pub frame_max: usize,
    /// Frames that may wait to be sent or be in flight, for all peers together.
    pub send_slots: usize,
    /// Received fragments that may wait for earlier ones, for all peers together.
    pub reassembly_slots: usize,
    /// The properties of each of our ports.
    pub ports: Vec<PortTraits>,
}

/// The kind of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageClass {
    /// A message without payload: it may use slots that payload must leave free.
    Control,
    Payload,
    /// Order-free payload: it may be delivered before earlier messages, because the receiver knows where it belongs.
    OrderFree,
}

/// The reason for which a message was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkSendError {
    /// There is no memory for the message now; acknowledgements free some.
    Full,
    /// There is no connection with the peer: none was begun, or the peer was forgotten.
    NotConnected,
}

/// Memory that is reserved for one message to a peer: it is used by `send_reserved`, or released by `release`.
#[derive(Debug)]
#[must_use = "the memory is kept until it is given back"]
pub struct SendReservation {
    peer: u32,
    /// The longest message for which the memory suffices, in bytes.
    total: usize,
    slots: usize,
    /// The further user's share to which the slots belong; None if the message is the first user's.
    share: Option<ShareId>,
}

/// Returns the number of slots that a message of `total` bytes needs in frames of `frame` bytes.
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
    /// Peers with something to do or to wait for; each is listed once.
    active: Vec<u32>,
    /// The peers in `active` that have something to do at once; each is listed once.
    ready: Vec<u32>,
    /// The time before which peers that are not in `ready` have nothing to do.
    idle_until_ns: u64,
    drop_counts: DropCounts,
    /// The source of path numbers and first frame numbers.
    random: SipHasher24,
    /// The number of paths that were ever begun. The random numbers of the next path are derived from it.
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
            opens_bulk_early: false,
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

    /// Sets the number of frames that our port `port` buffers, which its paths share (P21).
    pub fn set_receive_capacity(&mut self, port: usize, frames: u32) {
        self.shared.receive_capacities[port].set_frames(frames);
    }

    /// Sets the bytes of bulk to a peer before the first trial of its paths (`bulk_path`).
    pub fn set_first_trial_bytes(&mut self, bytes: u64) {
        self.shared.stats.set_first_trial_bytes(bytes);
    }

    /// Sets whether on-demand ports for bulk are opened to each peer as soon as it responds, and not only once there is
    /// bulk: for users with few peers. False without this call.
    pub fn set_opens_bulk_early(&mut self, opens_early: bool) {
        self.shared.opens_bulk_early = opens_early;
    }

    pub fn is_connected(&self, peer: u32) -> bool {
        self.connections.get(peer).is_some()
    }

    /// Returns the path ids of a connection and the number of HELLOs that were tried on each, if none of the paths
    /// ever had a reply; otherwise None. Such a peer is waited for like any other (P18). A caller that knows that the
    /// peer is ready may report that nothing reaches it.
    pub fn unreachable_paths(&self, peer: u32) -> Option<impl Iterator<Item = (PathId, u32)> + '_> {
        let paths = self.connections.get(peer)?.paths();
        let tries = || paths.iter().filter_map(|path| Some((path.id, path.hello_tries()?)));
        (tries().count() == paths.len()).then(tries)
    }

    /// Returns the silent peers, with the time since which each has been silent: a path to it was established, no
    /// path responds now, and something of ours is not acknowledged yet. They are waited for (P18), like the peers of
    /// `unreachable_paths`.
    pub fn silent_peers(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let since_ns = |&peer: &u32| Some((peer, self.silent_since_ns(peer)?));
        self.active.iter().filter_map(since_ns)
    }

    /// Returns the time since which a peer has been silent, in the sense of `silent_peers`; None if it is not silent.
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

    /// The greatest number of peers to which this endpoint has had connections at once.
    pub fn peers_max(&self) -> usize {
        self.connections.capacity()
    }

    /// Returns the statistics of the paths that leave from our port `port`.
    pub fn port_reachability(&self, port: u8) -> PortReachability {
        self.connections
            .iter()
            .fold(PortReachability::default(), |total, peer| total.add_peer(port, peer.paths(), peer.selectors()))
    }

    /// Returns the longest frame, in bytes, for a message of `total` bytes to a peer; None if there is no connection.
    pub fn frame_for_message(&self, peer: u32, total: usize) -> Option<usize> {
        Some(self.connections.get(peer)?.frame_for_message(total))
    }

    /// Returns the path on which bulk to a peer may bypass link. It is the only path that carries bulk to the peer,
    /// it loses nothing while its connection lasts (TCP), and payload on it needs no CRC. None if there is no such
    /// path, or during a trial. What goes there past link must be reported by `record_direct`.
    pub fn direct_path(&mut self, peer: u32) -> Option<PathId> {
        self.connections.get_mut(peer)?.direct_path(&mut self.shared.stats)
    }

    /// Records that a message of `bytes` bytes was sent past link, by the path of `direct_path`.
    pub fn record_direct(&mut self, peer: u32, bytes: usize, now_ns: u64) {
        if let Some(connection) = self.connections.get_mut(peer) {
            connection.record_direct(&mut self.shared.stats, bytes, now_ns);
        }
    }

    /// Returns a path on which a message of `total` bytes to a peer may bypass link, as that of `direct_path`, whether
    /// or not it is the best one for bulk. None if there is no such path, if several pairs of NICs connect the peer, or
    /// if the network is slow. Counts the message as a reason to open an on-demand path, so that later messages may
    /// have one. Messages that go there past link are not reported.
    pub fn bypass_path(&mut self, peer: u32, total: usize) -> Option<PathId> {
        self.connections.get_mut(peer)?.bypass_path(total)
    }

    /// The number of the next message to a peer; None if there is no connection.
    pub fn next_message(&self, peer: u32) -> Option<Seq> {
        Some(self.connections.get(peer)?.next_message())
    }

    /// The number of the peer's message that is delivered next: all messages with lower numbers were delivered. None if
    /// there is no connection.
    pub fn expected_message(&self, peer: u32) -> Option<Seq> {
        Some(self.connections.get(peer)?.expected_message())
    }

    /// Whether all messages of a peer with numbers below `before` were delivered; false if there is no connection.
    pub fn has_delivered(&self, peer: u32, before: Seq) -> bool {
        self.expected_message(peer).is_some_and(|expected| before.is_at_or_before(expected))
    }

    /// Begins to open a path, if there is none with this path id yet. If this rank has too many paths, none is opened
    /// (P40). The peer must not be forgotten.
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
        // The first frame number has 31 bits (P7), so that no path begins near the end of all numbers.
        let first = Seq((random >> 33) as u32);
        connection.add_path(Path::new(path_id, self.shared.port_traits(path_id), number, first, remote));
        // Memory for the lists is reserved here, so that nothing is allocated once paths are open.
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

    /// Adds a peer to the lists `active` and `ready`, after a message to it or a frame from it.
    fn mark_ready(&mut self, peer: u32) {
        let was_listed = self.connections.get_mut(peer).expect("it was opened").mark_ready();
        if !was_listed.active {
            self.active.push(peer);
        }
        if !was_listed.ready {
            self.ready.push(peer);
        }
    }

    /// Checks whether a message of `total` bytes to a peer would be taken; the error is the reason if not.
    pub fn check_send(&self, peer: u32, total: usize, class: MessageClass) -> Result<(), LinkSendError> {
        let connection = self.connections.get(peer).ok_or(LinkSendError::NotConnected)?;
        self.check_slots(connection, slots_in(connection.frame_for_message(total), total), class)
    }

    fn check_slots(&self, connection: &Connection, needed: usize, class: MessageClass) -> Result<(), LinkSendError> {
        let control = class == MessageClass::Control;
        let reserved = if control { HELLO_RESERVED_SLOTS } else { CONTROL_RESERVED_SLOTS };
        // Payload to one peer takes at most half of the slots, so that a peer that does not answer leaves memory for
        // messages to others.
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

    /// The longest message, in bytes, that fits into FRAGMENTS_MAX frames of `frame_min` bytes, the shortest that any
    /// path takes, and whose length fits into a fragment header.
    pub fn message_max(frame_min: usize) -> usize {
        (FRAGMENTS_MAX * (frame_min - HEADER_BYTES - FRAGMENT_HEADER_BYTES)).min(u16::MAX as usize)
    }

    /// Takes a message of `total` bytes to a peer. `fill` is called with offsets in ascending order, and writes the
    /// message's bytes from each offset on.
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

    /// Takes a message for which the caller has found slots: in a further user's share, or outside of all shares if
    /// `share_id` is None.
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

    /// Returns the maximum number of slots that a message of `total` bytes needs, which is that in the shortest
    /// frames.
    fn slots_max(&self, total: usize) -> usize {
        slots_in(MTU_MIN.min(self.shared.send_pool.stride()), total)
    }

    /// Reserves memory for one message with payload, of at most `total` bytes; it suffices even if the path MTU
    /// becomes smaller.
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

    /// Takes a message for which memory was reserved, like `send`; it fails only if the peer was forgotten.
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

    /// Adds a further user, whose messages use these channels, and gives it a share of the memory for sending.
    /// Returns None if the first user would have less than half of the memory left.
    pub fn add_user(&mut self, channels: Range<u8>) -> Option<ShareId> {
        let EndpointShared { send_pool, shares, reserved_slots, .. } = &mut self.shared;
        let share = send_pool.slots() / SHARE_DIVISOR;
        if shares.slots() + share > send_pool.slots() / 2 {
            return None;
        }
        // Slots of the share that other messages use at the moment return to the share before any other message gets
        // them.
        *reserved_slots += share;
        Some(shares.add(channels, share))
    }

    /// Checks whether a message of `total` bytes of a further user would be taken; the error is the reason if not.
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

    /// Takes a message of a further user, like `send`.
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

    /// Reserves memory for one message in a further user's share, as `reserve` does for the first user;
    /// `send_reserved` uses that memory.
    pub fn reserve_of(&mut self, share_id: ShareId, peer: u32, total: usize) -> Result<SendReservation, LinkSendError> {
        self.connections.get(peer).ok_or(LinkSendError::NotConnected)?;
        let slots = self.slots_max(total);
        self.check_slots_of(share_id, peer, slots, MessageClass::Payload)?;
        if self.shared.send_pool.free_slots() < self.shared.reserved_slots {
            return Err(LinkSendError::Full); // slots were in use when the share was made, and not all are free again
        }
        self.shared.shares.reserve(share_id, slots);
        Ok(SendReservation { peer, total, slots, share: Some(share_id) })
    }

    /// Takes a frame that arrived by our port `port`, and calls `deliver` with each message that can be delivered
    /// now. If the frame is dropped, the reason is counted and returned. Replies are sent by `transmit`.
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
        // The frame must have the path's current number, and not an earlier one of the same index (P40).
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
        // A process number is assigned again when all have forgotten its former owner
        // (docs/adr/0053-a-name-is-a-number-and-a-life.md). If a connection with the former owner still exists here,
        // a late HELLO has opened it.
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

    /// Whether `transmit` would send a probe, or count frames as lost. The caller hands in the frames that have arrived
    /// before it transmits: the acknowledgement may be among them.
    #[inline]
    pub fn is_timer_due(&self, now_ns: u64) -> bool {
        let listed = if now_ns < self.idle_until_ns { &self.ready } else { &self.active };
        listed.iter().any(|&peer| self.connections.get(peer).is_some_and(|connection| connection.is_timer_due(now_ns)))
    }

    /// Sends everything that may be sent now. Begins to open further flows if a peer needs them. If a timer is due
    /// (`is_timer_due`), all frames that have arrived must have been handed in.
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

    /// Transmits to the peers that have something to do at once. Returns a peer to which further flows are needed, if
    /// there is one.
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

    /// Transmits to all peers that have something to do or to wait for, because the time of one of them may have
    /// come. Returns a peer to which further flows are needed, if there is one.
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

    /// Begins to open the missing further flows to a peer, if that does not make too many paths (P39).
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

    /// Whether the last `transmit` has left something that waits for a frame of a peer: for a path to be established,
    /// for an acknowledgement or for credit.
    #[inline]
    pub fn has_waiting(&self) -> bool {
        !self.ready.is_empty()
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

    /// Records that this rank is going to sleep until a frame arrives, so that the time asleep does not count as a
    /// late poll.
    pub fn record_sleep(&mut self) {
        self.shared.stats.record_sleep();
    }

    /// The time at which `transmit` has something to do, if no frame arrives and no message is sent before; None if
    /// it has nothing to wait for.
    pub fn deadline_ns(&self) -> Option<u64> {
        let connections = self.active.iter().filter_map(|&peer| self.connections.get(peer));
        connections.filter_map(|connection| connection.deadline_ns()).min()
    }

    /// Whether everything that was sent has been acknowledged.
    pub fn is_all_acked(&self) -> bool {
        self.connections.iter().all(Connection::is_all_acked)
    }

    /// Forgets a peer that is gone, and releases its memory: nothing is sent to it or taken from it any more.
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
