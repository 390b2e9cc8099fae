//! The connection with one peer: its paths, and the fragments that wait to be sent to that peer.
//!
//! A message is cut into fragments. Each fragment is sent on any path that has credit; a fragment that is lost is
//! retransmitted on any path (P22 of docs/protocol.md). Used by `connections` and `endpoint`; uses `path_choice`,
//! which chooses the path of each frame, `path`, `established`, `frame_pool`, and `reassembly` for received
//! fragments.

mod path_choice;

use crate::ack::{self, ACK_BYTES_MAX};
use crate::bulk_path::{BulkPath, BulkPathSelector};
use crate::established::{AckHeader, EstablishedPath, SequenceFields, TimerEvent};
use crate::fragment::{FRAGMENT_HEADER_BYTES, FragmentHeader};
use crate::frame::{
    CrcCoverage, DropReason, Frame, FrameFlags, FrameHeader, FrameKind, HEADER_BYTES, JobKey, PeerPair,
};
use crate::frame_pool::{FramePool, FrameQueue, FrameSlot};
use crate::goodput::LONG_BYTES;
use crate::marks::{Mark, mark};
use crate::path::{Hello, Path, PathId};
use crate::planted::{Bug, planted};
use crate::port_traits::PortTraits;
use crate::reassembly::{DeliverFn, Reassembly, ReassemblyBuffer};
use crate::receive_capacity::ReceiveCapacity;
use crate::seq::{SEQ_WINDOW, Seq};
use crate::shared_stats::SharedStats;
use crate::slow_network::AckedBytes;
use crate::user_shares::UserShares;
use path_choice::{RUN_FRAMES_MAX, TransferSize};
use std::io::IoSlice;

/// Puts frames on the wire, where they may be lost, duplicated and reordered.
pub trait FrameSender {
    /// Sends frames on one path of a peer, in order. All of them have the same length, except that the last may be
    /// shorter. Returns how many were taken, which are the first ones; the caller tries the others later.
    fn send(&mut self, peer: u32, path_id: PathId, frames: &[IoSlice<'_>]) -> usize;
}

/// Slots for sending that even messages without payload leave free: for HELLOs, and for cutting frames for shorter
/// paths. Without them, frames that wait for a peer could fill the memory, and then the paths to this peer could
/// never be opened (found by the simulation, seed 16).
pub(crate) const HELLO_RESERVED_SLOTS: usize = 16;

/// The divisor of the memory for received fragments that gives how many frames may overtake a frame that must be
/// delivered in order. That is half of what a receiver keeps of one peer (`reassembly`); the receiver's memory is
/// assumed to be as large as ours.
const OVERTAKE_DIVISOR: usize = 8;

/// The state of the endpoint that every connection needs.
pub struct EndpointShared {
    pub key: JobKey,
    pub me: u32,
    /// Frames that wait to be sent or are in flight.
    pub send_pool: FramePool,
    /// Free slots of `send_pool` that are reserved for later messages (`SendReservation`), including those of
    /// users' shares.
    pub reserved_slots: usize,
    /// The shares of further users in `send_pool`.
    pub shares: UserShares,
    /// Received fragments that wait for earlier ones.
    pub reassembly_buffer: ReassemblyBuffer,
    /// The receive capacity of each of our ports (P21).
    pub receive_capacities: Box<[ReceiveCapacity]>,
    /// The properties of each of our ports.
    pub ports: Box<[PortTraits]>,
    /// Whether on-demand paths for bulk are opened as soon as another path between their NICs responds.
    pub opens_bulk_early: bool,
    pub stats: SharedStats,
    pub counters: LinkCounters,
}

/// Counts of the protocol's events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkCounters {
    /// Frames with payload, including retransmissions.
    pub frames: u64,
    /// Frames with payload that counted as lost.
    pub lost: u64,
    /// Runs of frames that were handed to the wire at once.
    pub runs: u64,
    /// Acknowledgements that were sent alone.
    pub acks: u64,
    /// Probes that were due after a silence.
    pub probes: u64,
    /// Timeouts, after each of which all frames in flight on a path counted as lost.
    pub timeouts: u64,
}

/// The connection with one peer. See the module.
pub struct Connection {
    peer: u32,
    paths: Vec<Path>,
    /// The selectors of the path for bulk, one for each pair of NICs.
    selectors: Vec<BulkPathSelector>,
    /// Bytes of long transfers that were sent to the peer so far; it stays at its maximum.
    bulk_bytes: u32,
    /// Bytes of messages that might have bypassed link if there had been a path for that, each time that one was tried;
    /// it stays at its maximum.
    bypass_bytes: u32,
    /// Whether there is more than one flow between two ports.
    has_flows: bool,
    /// Frames to be sent, in the order of their messages: those that the peer needs first come first.
    waiting: FrameQueue,
    /// Slots of `send_pool` that hold frames for this peer.
    used_slots: usize,
    /// The number of the next message to be sent.
    next_message: Seq,
    reassembly: Reassembly,
    /// Whether we have sent STOP.
    has_sent_stop: bool,
    /// The time before which `transmit` has nothing to do, if no message and no frame comes earlier (`mark_ready`).
    /// Without it each poll would check every path, and two hosts with several NICs have dozens of paths.
    idle_until_ns: u64,
    membership: ListMembership,
}

/// The lists of the endpoint (`active`, `ready`) that contain a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ListMembership {
    pub active: bool,
    pub ready: bool,
}

/// A run of frames of one length that was offered to the wire on one path.
struct Run {
    /// The index of the path.
    at: usize,
    /// The length of the frames, in bytes; the last one may be shorter.
    len: usize,
    size: TransferSize,
    /// The number of frames offered, and of those that the wire took.
    count: usize,
    taken: usize,
    /// Bytes of the frames that the wire took.
    bytes: usize,
    /// The index of the selector whose bulk goes by the path; None if there is none, or if the transfer is not long.
    selector_at: Option<usize>,
    /// The index of the path that stands for several flows, one of which is this path; None if there is no such path.
    multi_flow: Option<usize>,
}

impl EndpointShared {
    fn receive_capacity(&mut self, path_id: PathId) -> &mut ReceiveCapacity {
        &mut self.receive_capacities[usize::from(path_id.local_port)]
    }

    /// The properties of our port from which the path with this path id leaves.
    pub fn port_traits(&self, path_id: PathId) -> PortTraits {
        self.ports[usize::from(path_id.local_port)]
    }
}

fn peer_pair(from: u32, to: u32) -> PeerPair {
    PeerPair { from, to }
}

impl Connection {
    pub fn new(peer: u32) -> Connection {
        Connection {
            peer,
            paths: Vec::new(),
            selectors: Vec::new(),
            bulk_bytes: 0,
            bypass_bytes: 0,
            has_flows: false,
            waiting: FrameQueue::default(),
            used_slots: 0,
            next_message: Seq(0),
            reassembly: Reassembly::new(peer),
            has_sent_stop: false,
            idle_until_ns: 0,
            membership: ListMembership::default(),
        }
    }

    pub fn peer(&self) -> u32 {
        self.peer
    }

    pub fn path_index(&self, path_id: PathId) -> Option<usize> {
        self.paths.iter().position(|path| path.id == path_id)
    }

    pub fn add_path(&mut self, path: Path) -> usize {
        // Memory is reserved for one more entry only: most hosts have one NIC with few paths, and there may be very
        // many peers.
        if self.selectors.iter().all(|selector| selector.nic_pair != path.nic_pair()) {
            self.selectors.reserve_exact(1);
            self.selectors.push(BulkPathSelector::new(self.peer, path.nic_pair()));
        }
        self.has_flows |= path.is_additional_flow();
        self.paths.reserve_exact(1);
        self.paths.push(path);
        self.paths.len() - 1
    }

    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    pub fn selectors(&self) -> &[BulkPathSelector] {
        &self.selectors
    }

    pub fn next_message(&self) -> Seq {
        self.next_message
    }

    pub fn expected_message(&self) -> Seq {
        self.reassembly.expected()
    }

    /// Slots of `send_pool` that hold frames for the peer.
    pub fn used_slots(&self) -> usize {
        self.used_slots
    }

    /// Whether the connection has something to send, to acknowledge or to wait for.
    pub fn is_active(&self) -> bool {
        self.idle_until_ns != u64::MAX
    }

    /// The time before which `transmit` has nothing to do.
    pub fn idle_until_ns(&self) -> u64 {
        self.idle_until_ns
    }

    /// Makes `transmit` do its work at once, because a message was sent or a frame arrived. Records that both lists
    /// of the endpoint contain the connection from now on, and returns the lists that contained it before: the caller
    /// adds it to the others.
    pub fn mark_ready(&mut self) -> ListMembership {
        self.idle_until_ns = 0;
        std::mem::replace(&mut self.membership, ListMembership { active: true, ready: true })
    }

    /// Returns whether the connection has something to do at once, and records that result as its membership of the
    /// list `ready`.
    pub fn update_ready(&mut self) -> bool {
        self.membership.ready = self.idle_until_ns == 0;
        self.membership.ready
    }

    /// Returns whether the connection has something to do or to wait for, and records that result as its membership
    /// of the list `active`.
    pub fn update_active(&mut self) -> bool {
        self.membership.active = self.is_active();
        self.membership.active
    }

    /// Whether nothing of ours is left to be sent or acknowledged.
    pub fn is_all_acked(&self) -> bool {
        self.used_slots == 0
    }

    /// The time since which no path has responded. None if a path responds, if no path was ever established, or if
    /// everything of ours is acknowledged.
    pub fn silent_since_ns(&self) -> Option<u64> {
        if self.is_all_acked() || self.paths.iter().any(Path::is_responding) {
            return None;
        }
        self.paths.iter().filter_map(|path| path.established()?.silent_since_ns()).max()
    }

    /// Takes a message of `total` bytes: `fill` is called with an offset and memory, and writes the message's bytes
    /// from that offset on. The caller has checked that there are enough slots.
    pub fn send(
        &mut self,
        shared: &mut EndpointShared,
        channel: u8,
        total: usize,
        order_free: bool,
        mut fill: impl FnMut(usize, &mut [u8]),
    ) {
        let most = self.frame_for_message(total) - HEADER_BYTES - FRAGMENT_HEADER_BYTES;
        let mut offset = 0;
        loop {
            let len = most.min(total - offset);
            let slot =
                shared.send_pool.allocate(HEADER_BYTES + FRAGMENT_HEADER_BYTES + len).expect("there are slots enough");
            let header = FragmentHeader {
                message: self.next_message,
                offset: offset as u16,
                total: total as u16,
                channel,
                order_free,
            };
            let bytes = shared.send_pool.frame_mut(slot);
            header.write(&mut bytes[HEADER_BYTES..HEADER_BYTES + FRAGMENT_HEADER_BYTES]);
            fill(offset, &mut bytes[HEADER_BYTES + FRAGMENT_HEADER_BYTES..]);
            shared.send_pool.push(&mut self.waiting, slot);
            self.used_slots += 1;
            offset += len;
            if offset == total {
                break;
            }
        }
        self.next_message = self.next_message.next();
    }

    /// Takes a HELLO or WELCOME of `len` bytes for path `at`. If it establishes a first flow, or the path that stands
    /// for all flows, the selectors for bulk consider the path from now on. If no path to the peer was established
    /// before, HELLO is due at once on all other paths that are being opened.
    pub fn handle_hello(
        &mut self,
        stats: &mut SharedStats,
        at: usize,
        hello: &Hello,
        kind: FrameKind,
        len: usize,
    ) -> Result<(), DropReason> {
        let is_first = self.paths.iter().all(|path| path.established().is_none());
        let path = &mut self.paths[at];
        let was = path.established().is_some();
        path.handle_hello(hello, kind, len)?;
        if is_first {
            self.paths.iter_mut().for_each(Path::restart_hello);
        }
        if !was {
            self.update_flows();
            let path = &self.paths[at];
            let (nic_pair, is_additional, is_multi_flow) =
                (path.nic_pair(), path.is_additional_flow(), path.is_multi_flow());
            for selector in self.selectors.iter_mut().filter(|selector| selector.nic_pair == nic_pair) {
                if is_multi_flow {
                    selector.try_multi_flow(at, &mut self.paths);
                } else if !is_additional {
                    selector.on_path_added(&mut self.paths, stats);
                }
            }
        }
        Ok(())
    }

    /// Sends a HELLO or WELCOME of `len` bytes on path `at`. Returns whether the wire took it.
    fn write_hello(
        &mut self,
        shared: &mut EndpointShared,
        at: usize,
        kind: FrameKind,
        len: usize,
        wire: &mut dyn FrameSender,
    ) -> bool {
        let slot = shared.send_pool.allocate(len).expect("a slot is always left");
        let path = &mut self.paths[at];
        let hello = path.hello(shared.receive_capacity(path.id));
        let bytes = shared.send_pool.frame_mut(slot);
        hello.write(&mut bytes[HEADER_BYTES..]);
        let head = FrameHeader {
            kind,
            flags: FrameFlags::default(),
            path_number: shared.me,
            sequence: Seq(0),
            expected: Seq(0),
            credit: hello.credit,
            open: 0,
        };
        let (front, payload) = bytes.split_at_mut(HEADER_BYTES);
        front.copy_from_slice(&head.write(&shared.key, peer_pair(shared.me, self.peer), payload, CrcCoverage::All));
        let taken = wire.send(self.peer, path.id, &[IoSlice::new(shared.send_pool.frame(slot))]);
        shared.send_pool.release(slot);
        taken > 0
    }

    /// Takes a numbered frame or an acknowledgement that arrived on path `at`. The error is the reason if the frame
    /// is dropped.
    pub fn handle_frame(
        &mut self,
        shared: &mut EndpointShared,
        at: usize,
        frame: &Frame<'_>,
        now_ns: u64,
        deliver: &mut DeliverFn<'_>,
    ) -> Result<(), DropReason> {
        let (head, payload) = frame.check(&shared.key, peer_pair(self.peer, shared.me))?;
        let path = &mut self.paths[at];
        path.on_numbered_or_ack();
        let established = path.established_mut().ok_or(DropReason::Path)?;
        let ack_header =
            AckHeader { expected: head.expected, credit: head.credit, stop: head.flags.has(FrameFlags::STOP) };
        if head.kind == FrameKind::Ack {
            let ack = ack::read(head.expected, payload)?;
            let result = established.handle_ack(&mut shared.send_pool, &ack, &ack_header, now_ns)?;
            let length = self.paths[at].mtu_mut();
            // A peer that has sent STOP drops frames for lack of memory, so its losses do not show that frames are
            // too long (P25).
            if !ack_header.stop && (!result.lost.is_empty() || length.is_suspect()) {
                let of = |queue| longest_frame(&shared.send_pool, queue);
                length.on_ack(of(&result.acked), of(&result.lost), now_ns);
            }
            self.release_acked(shared, at, result.acked, now_ns);
            self.queue_retransmits(shared, result.lost);
            return Ok(());
        }
        let header = if payload.is_empty() { None } else { Some(FragmentHeader::read(payload)?) };
        let placement = header.as_ref().map(|(header, fragment)| {
            self.reassembly.find_placement(&shared.reassembly_buffer, header, fragment.len())
        });
        // A frame that breaks a rule has no effect, and neither has its header (P3).
        if let Some(Err(DropReason::Fragment)) = placement {
            return Err(DropReason::Fragment);
        }
        if u32::from(head.open) >= SEQ_WINDOW {
            return Err(DropReason::BeyondWindow);
        }
        let established = self.paths[at].established_mut().expect("it is open");
        let acked = established.handle_ack_header(&mut shared.send_pool, &ack_header, now_ns)?;
        let length = self.paths[at].mtu_mut();
        if length.is_suspect() {
            length.on_header_ack(longest_frame(&shared.send_pool, &acked));
        }
        self.release_acked(shared, at, acked, now_ns);
        let path_id = self.paths[at].id;
        let established = self.paths[at].established_mut().expect("it is open");
        if let Some(Err(reason)) = placement {
            // The frame is not accepted, and the peer will retransmit its payload (P20).
            if reason == DropReason::NoMemory {
                mark(Mark::StopSent);
                self.has_sent_stop = true;
                established.on_frame_refused();
            }
            return Err(reason);
        }
        established.handle_numbered(shared.receive_capacity(path_id), head.sequence, head.open, head.flags, now_ns)?;
        if let (Some((header, fragment)), Some(Ok(placement))) = (header, placement) {
            self.reassembly.accept(&mut shared.reassembly_buffer, &header, fragment, payload, placement, deliver);
        }
        Ok(())
    }

    /// Releases frames of path `at` that were acknowledged, and records their bytes in the measurements of the path,
    /// of its NIC, and of the path that stands for all flows between its ports.
    fn release_acked(&mut self, shared: &mut EndpointShared, at: usize, acked: FrameQueue, now_ns: u64) {
        if !acked.is_empty() {
            let bytes = shared.send_pool.iter(&acked).map(|slot| shared.send_pool.frame(slot).len()).sum();
            if !shared.shares.is_empty() {
                self.return_to_shares(shared, &acked);
            }
            self.used_slots -= shared.send_pool.release_all(acked);
            let has_in_flight =
                |path: &Path| path.established().is_some_and(|established| established.frames_in_flight() > 0);
            let more = has_in_flight(&self.paths[at]);
            let in_flight = self.paths[at].established().map_or(0, EstablishedPath::bytes_in_flight);
            self.paths[at].goodput_mut().on_acked(bytes, more, now_ns);
            let more = shared.send_pool.free_slots() < shared.send_pool.slots();
            let was_full = bytes as u64 + in_flight >= u64::from(LONG_BYTES) || !self.waiting.is_empty();
            let acked_bytes = AckedBytes { peer: self.peer, bytes, was_full, has_more: more };
            shared.stats.nic_mut(self.paths[at].nic_pair()).slow_network.on_acked(acked_bytes, now_ns);
            if let Some(multi_flow) = self.multi_flow_of(at) {
                let more = self.flows_beside(at).any(has_in_flight);
                self.paths[multi_flow].goodput_mut().on_acked(bytes, more, now_ns);
            }
        }
    }

    /// Reserves the slots of acknowledged frames again, if they belong to users' shares.
    #[cold]
    #[inline(never)]
    fn return_to_shares(&self, shared: &mut EndpointShared, acked: &FrameQueue) {
        let EndpointShared { send_pool, shares, reserved_slots, .. } = shared;
        let each = send_pool.iter(acked);
        *reserved_slots +=
            each.filter(|&slot| shares.on_acked(self.peer, fragment_header(send_pool.frame(slot)).channel)).count();
    }

    /// Sends everything that may be sent now; returns at once if it is earlier than `idle_until_ns`.
    #[inline]
    pub fn transmit(&mut self, shared: &mut EndpointShared, now_ns: u64, wire: &mut dyn FrameSender) {
        if now_ns < self.idle_until_ns {
            return;
        }
        self.transmit_all(shared, now_ns, wire);
        let waits = self.has_sent_stop || !self.waiting.is_empty();
        self.idle_until_ns = if waits { 0 } else { self.deadline_ns().unwrap_or(u64::MAX) };
    }

    /// Sends GO, HELLOs, WELCOMEs, probes, fragments and acknowledgements, and handles timeouts.
    fn transmit_all(&mut self, shared: &mut EndpointShared, now_ns: u64, wire: &mut dyn FrameSender) {
        if self.has_sent_stop && self.reassembly.can_resume(&shared.reassembly_buffer) {
            mark(Mark::GoSent);
            self.has_sent_stop = false;
            self.paths.iter_mut().filter_map(Path::established_mut).for_each(EstablishedPath::ack_now);
        }
        let in_use = self.used_slots > 0;
        for at in 0..self.paths.len() {
            if let Some(len) = self.paths[at].poll_hello(now_ns, in_use) {
                self.write_hello(shared, at, FrameKind::Hello, len, wire);
            }
            if let Some(len) = self.paths[at].poll_welcome()
                && !self.write_hello(shared, at, FrameKind::Welcome, len, wire)
            {
                self.paths[at].retry_welcome(len);
            }
            self.handle_timeout(shared, at, now_ns, wire);
        }
        // This follows the HELLOs, because one of them may have been the last attempt on a path that was never
        // answered.
        self.open_on_demand_paths(shared);
        if !self.waiting.is_empty() {
            self.update_flows();
        }
        while !self.waiting.is_empty() && self.send_run(shared, now_ns, wire) {}
        self.paths.iter_mut().filter(|path| path.is_full).for_each(|path| path.is_full = false);
        for at in 0..self.paths.len() {
            self.send_ack(shared, at, now_ns, wire);
        }
        let stuck = !self.waiting.is_empty() && self.has_nothing_in_flight();
        let in_use = self.used_slots > 0;
        for path in &mut self.paths {
            let is_suspended = path.is_suspended;
            let Some(established) = path.established_mut() else { continue };
            // A path that other paths have replaced for want of credit gets some before it is needed (P21).
            let needs_credit = in_use && !is_suspended && established.is_out_of_credit();
            if stuck || needs_credit || established.is_silent() && !planted(Bug::SilentForever) {
                established.schedule_probe(now_ns);
            }
        }
    }

    fn has_nothing_in_flight(&self) -> bool {
        self.usable_paths().all(|(_, _, established)| established.frames_in_flight() == 0)
    }

    fn handle_timeout(&mut self, shared: &mut EndpointShared, at: usize, now_ns: u64, wire: &mut dyn FrameSender) {
        let Some(established) = self.paths[at].established_mut() else { return };
        match established.handle_timeout(&shared.send_pool, now_ns) {
            TimerEvent::Nothing => {}
            TimerEvent::Probe => {
                shared.counters.probes += 1;
                self.send_probe(shared, at, now_ns, wire);
            }
            TimerEvent::Timeout(lost) => {
                shared.counters.timeouts += 1;
                self.queue_retransmits(shared, lost);
            }
        }
    }

    /// Puts lost frames back among the waiting ones, in the order of their messages. Both queues are nearly in that
    /// order already.
    fn queue_retransmits(&mut self, shared: &mut EndpointShared, mut lost: FrameQueue) {
        let send_pool = &mut shared.send_pool;
        let number = |send_pool: &FramePool, slot: FrameSlot| fragment_header(send_pool.frame(slot)).message;
        let mut last = None;
        while let Some(slot) = send_pool.pop(&mut lost) {
            shared.counters.lost += 1;
            let message = number(send_pool, slot);
            // The place is searched behind the previous lost frame, if that frame's message is not a later one, and
            // otherwise from the front.
            let mut behind = last.filter(|&last| number(send_pool, last).is_at_or_before(message));
            let mut next = behind.map_or(self.waiting.first(), |last| send_pool.after(last));
            while let Some(at) = next
                && !message.is_at_or_before(number(send_pool, at))
            {
                behind = Some(at);
                next = send_pool.after(at);
            }
            match behind {
                Some(before) => send_pool.insert_after(&mut self.waiting, before, slot),
                None => send_pool.push_front(&mut self.waiting, slot),
            }
            mark(if behind.is_some() { Mark::LostBehind } else { Mark::LostInFront });
            last = Some(slot);
        }
    }

    /// Sends a probe on path `at`, if the path is established and has a number left (P17).
    fn send_probe(&mut self, shared: &mut EndpointShared, at: usize, now_ns: u64, wire: &mut dyn FrameSender) {
        let (peer, stop, path) = (self.peer, self.stop_flag(), &mut self.paths[at]);
        let path_id = path.id;
        let Some((remote_number, established)) = path.numbered_mut().filter(|(_, established)| established.can_probe())
        else {
            return;
        };
        let fields = established.sequence_fields(0);
        let credit = established.advertised_credit(shared.receive_capacity(path_id), fields.expected);
        let head = data_header(credit, remote_number, &fields, FrameFlags::ACK_NOW | stop);
        let header = head.write(&shared.key, peer_pair(shared.me, peer), &[], CrcCoverage::All);
        match wire.send(peer, path_id, &[IoSlice::new(&header)]) {
            0 => mark(Mark::ProbeRefused),
            _ => established.on_probe_sent(&shared.send_pool, now_ns),
        }
    }

    /// The flag STOP, from the first frame that was refused for lack of memory until GO; otherwise no flag (P20).
    fn stop_flag(&self) -> FrameFlags {
        if self.has_sent_stop { FrameFlags::STOP } else { FrameFlags::default() }
    }

    /// Sends a run of waiting frames of one length on one path, or cuts the first waiting frame in two if it is too
    /// long for every usable path. Returns whether there may be more to send.
    fn send_run(&mut self, shared: &mut EndpointShared, now_ns: u64, wire: &mut dyn FrameSender) -> bool {
        let first = self.waiting.first().expect("something waits");
        let len = shared.send_pool.frame(first).len();
        let size = self.waiting_size(&shared.send_pool);
        if size == TransferSize::Long {
            self.selectors.iter_mut().for_each(|selector| selector.update(&mut self.paths, &mut shared.stats));
        }
        let Some(longest) = self.usable_paths().map(|(_, path, _)| path.mtu()).max() else { return false };
        if longest < len {
            return self.split_frame(shared, first, longest);
        }
        // A receiver keeps frames that must be delivered in order until earlier ones on slower ports have arrived. So
        // only as many of them count as waiting as may overtake others (OVERTAKE_DIVISOR).
        let is_order_free = fragment_header(shared.send_pool.frame(first)).order_free;
        let ahead = if is_order_free { usize::MAX } else { shared.reassembly_buffer.slots() / OVERTAKE_DIVISOR };
        let Some((at, most)) = self.pick_path(len, size, self.waiting.len().min(ahead)) else { return false };
        let (stop, peer) = (self.stop_flag(), self.peer);
        let selector_at = if size == TransferSize::Long { self.selector_of(at) } else { None };
        let is_tried = selector_at.is_some_and(|selector_at| self.selectors[selector_at].has_trial());
        let multi_flow = self.multi_flow_of(at);
        let path = &mut self.paths[at];
        let path_id = path.id;
        let coverage = if shared.port_traits(path_id).has_full_crc { CrcCoverage::All } else { CrcCoverage::Front };
        let (remote_number, established) = path.numbered_mut().expect("it was picked");
        let credit =
            established.advertised_credit(shared.receive_capacity(path_id), established.sequence_fields(0).expected);
        let frames_max = most.min(established.sendable_frames() as usize);
        let (mut run, mut count, mut bytes) = ([first; RUN_FRAMES_MAX], 0, 0);
        let mut next = Some(first);
        while count < frames_max
            && let Some(slot) = next
            && let this = shared.send_pool.frame(slot).len()
            && this <= len
        {
            // A path in a trial must not look slow because its last acknowledgement waits for data to go with (P13).
            let after = shared.send_pool.after(slot);
            let flags = if is_tried && after.is_none() { stop | FrameFlags::ACK_NOW } else { stop };
            let head = data_header(credit, remote_number, &established.sequence_fields(count as u32), flags);
            write_data_header(shared, slot, &head, peer_pair(shared.me, peer), coverage);
            run[count] = slot;
            count += 1;
            // Segmentation offload permits a shorter frame only as the last one of a run.
            next = after.filter(|_| this == len);
        }
        let mut frames = [IoSlice::new(&[]); RUN_FRAMES_MAX];
        for (frame, &slot) in frames.iter_mut().zip(&run[..count]) {
            *frame = IoSlice::new(shared.send_pool.frame(slot));
        }
        let taken = wire.send(peer, path_id, &frames[..count]);
        for &slot in &run[..taken] {
            bytes += shared.send_pool.frame(slot).len();
            shared.send_pool.pop(&mut self.waiting);
            established.on_sent(&mut shared.send_pool, slot, now_ns);
        }
        self.record_run(shared, now_ns, &Run { at, len, size, count, taken, bytes, selector_at, multi_flow });
        // Frames that the wire refuses may go by another path.
        taken > 0 || self.paths.len() > 1
    }

    /// Records what the wire took of a run: for the path, for its bulk selector and for the statistics.
    fn record_run(&mut self, shared: &mut EndpointShared, now_ns: u64, run: &Run) {
        let &Run { at, len, size, count, taken, bytes, selector_at, multi_flow } = run;
        let path = &mut self.paths[at];
        if taken < count {
            mark(Mark::WireFull);
            // If the port is down, its path must become silent, or frames would be offered to it for ever (P24): the
            // probe leads to a timeout.
            path.numbered_mut().expect("it was picked").1.schedule_probe(now_ns);
            path.is_full = true;
            path.mtu_mut().on_refused(len);
        }
        if taken > 0 {
            path.goodput_mut().on_sent(bytes, now_ns);
            shared.stats.nic_mut(path.nic_pair()).slow_network.on_sent(now_ns);
            if size == TransferSize::Long && path.is_additional_flow() {
                mark(Mark::FlowsUsed);
            }
            if let Some(multi_flow) = multi_flow {
                self.paths[multi_flow].goodput_mut().on_sent(bytes, now_ns);
            }
        }
        if size == TransferSize::Long {
            self.record_bypassed(at, bytes);
            self.bulk_bytes = self.bulk_bytes.saturating_add(bytes as u32);
            if let Some(selector_at) = selector_at {
                let is_of_other = taken > 0 && self.was_cut_for_other(at, len);
                let selector = &mut self.selectors[selector_at];
                let sent = if is_of_other { BulkPathSelector::on_sent_of_other_mtu } else { BulkPathSelector::on_sent };
                sent(selector, bytes, now_ns, &mut self.paths, &mut shared.stats);
            }
        }
        shared.counters.frames += taken as u64;
        shared.counters.runs += u64::from(taken > 0);
    }

    /// Cuts the first waiting frame, in `slot`, in two, because it is longer than `longest`, the longest frame that
    /// any usable path takes. Returns false if there is no memory for the second frame.
    fn split_frame(&mut self, shared: &mut EndpointShared, slot: FrameSlot, longest: usize) -> bool {
        let len = shared.send_pool.frame(slot).len();
        let keep = longest - HEADER_BYTES - FRAGMENT_HEADER_BYTES;
        // One slot is left for HELLO. If frames of this peer are in flight, HELLO_RESERVED_SLOTS are left: lost
        // pieces may have to be cut again for a path that takes still shorter frames (found by the simulation, seed
        // 173124).
        let left = shared.send_pool.free_slots().saturating_sub(shared.reserved_slots);
        let is_short = left <= HELLO_RESERVED_SLOTS && !self.has_nothing_in_flight() || left <= 1;
        let Some(rest) = (!is_short).then(|| shared.send_pool.allocate(len - keep)).flatten() else {
            mark(Mark::FrameNotSplit);
            return false;
        };
        mark(Mark::FrameSplit);
        let (header, _) = FragmentHeader::read(&shared.send_pool.frame(slot)[HEADER_BYTES..]).expect("we wrote it");
        let tail = FragmentHeader { offset: header.offset + keep as u16, ..header };
        shared.send_pool.move_tail(slot, longest, rest, HEADER_BYTES + FRAGMENT_HEADER_BYTES);
        tail.write(&mut shared.send_pool.frame_mut(rest)[HEADER_BYTES..HEADER_BYTES + FRAGMENT_HEADER_BYTES]);
        shared.send_pool.insert_after(&mut self.waiting, slot, rest);
        self.used_slots += 1;
        true
    }

    /// Sends the acknowledgement of path `at` alone, if that is due.
    fn send_ack(&mut self, shared: &mut EndpointShared, at: usize, now_ns: u64, wire: &mut dyn FrameSender) {
        let (peer, stop, path) = (self.peer, self.stop_flag(), &mut self.paths[at]);
        let path_id = path.id;
        let Some((remote_number, established)) = path.numbered_mut() else { return };
        let Some(pending) = established.poll_ack(now_ns) else { return };
        shared.counters.acks += 1;
        let mut payload = [0; ACK_BYTES_MAX];
        let len = ack::write(&pending.ack, &mut payload);
        let head = FrameHeader {
            kind: FrameKind::Ack,
            flags: pending.flags | stop,
            path_number: remote_number,
            sequence: Seq(0),
            expected: pending.ack.expected,
            credit: established.advertised_credit(shared.receive_capacity(path_id), pending.ack.end()),
            open: 0,
        };
        let header = head.write(&shared.key, peer_pair(shared.me, peer), &payload[..len], CrcCoverage::All);
        let mut bytes = [0; HEADER_BYTES + ACK_BYTES_MAX];
        bytes[..HEADER_BYTES].copy_from_slice(&header);
        bytes[HEADER_BYTES..HEADER_BYTES + len].copy_from_slice(&payload[..len]);
        if wire.send(peer, path_id, &[IoSlice::new(&bytes[..HEADER_BYTES + len])]) == 0 {
            mark(Mark::AckRefused);
            established.retry_ack(now_ns);
        }
    }

    /// Makes the pending acknowledgements of all paths due at once.
    pub fn expedite_acks(&mut self) {
        self.paths.iter_mut().filter_map(Path::established_mut).for_each(EstablishedPath::expedite_ack);
    }

    /// The time at which `transmit` has something to do, if no message and no frame comes before; None if it has
    /// nothing to wait for.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.paths.iter().filter_map(Path::deadline_ns).min()
    }

    /// Whether `transmit` would send a probe, or count frames as lost.
    pub fn is_timer_due(&self, now_ns: u64) -> bool {
        self.paths.iter().filter_map(Path::established).any(|established| established.is_timer_due(now_ns))
    }

    /// Releases all memory and receive capacity of a peer that is gone.
    pub fn release(self, shared: &mut EndpointShared) {
        if self.used_slots > 0 || !self.reassembly.is_empty() {
            mark(Mark::Forgotten);
        }
        for path in self.paths {
            let capacity = &mut shared.receive_capacities[usize::from(path.id.local_port)];
            let in_flight = path.close(&shared.send_pool, capacity);
            shared.send_pool.release_all(in_flight);
        }
        shared.send_pool.release_all(self.waiting);
        shared.reserved_slots += shared.shares.forget(self.peer);
        if shared.send_pool.free_slots() == shared.send_pool.slots() {
            shared.stats.on_idle();
        }
        self.reassembly.release(&mut shared.reassembly_buffer);
        // Other peers wait for the result of a trial.
        self.selectors.iter().for_each(|selector| shared.stats.nic_mut(selector.nic_pair).end_trial(self.peer, None));
    }
}

/// The length of the longest frame in a queue, in bytes; 0 if there is none.
fn longest_frame(send_pool: &FramePool, queue: &FrameQueue) -> usize {
    send_pool.iter(queue).map(|slot| send_pool.frame(slot).len()).max().unwrap_or(0)
}

/// The fragment header of a frame that we wrote.
fn fragment_header(frame: &[u8]) -> FragmentHeader {
    FragmentHeader::read(&frame[HEADER_BYTES..]).expect("we wrote it").0
}

fn data_header(credit: u16, path_number: u32, fields: &SequenceFields, flags: FrameFlags) -> FrameHeader {
    let &SequenceFields { sequence, open, expected } = fields;
    FrameHeader { kind: FrameKind::Data, flags, path_number, sequence, expected, credit, open }
}

/// Writes a header in front of the payload that already lies in the frame's slot.
fn write_data_header(
    shared: &mut EndpointShared,
    slot: FrameSlot,
    head: &FrameHeader,
    peers: PeerPair,
    coverage: CrcCoverage,
) {
    let bytes = shared.send_pool.frame_mut(slot);
    let (front, payload) = bytes.split_at_mut(HEADER_BYTES);
    front.copy_from_slice(&head.write(&shared.key, peers, payload, coverage));
}
