//! Operations on memory of a peer on another host. They are messages of link, which the owner's device executes
//! whenever any of the owner's lanes is polled; the owner's user does nothing for them.
//!
//! A received rkey is never trusted: it is looked up for every piece. `handle_message` sends nothing: messages to
//! send wait for `send_pending`. A write of borrowed memory is sent in pieces, each in one frame; a packed write is
//! one piece. Each piece has its destination, so that the owner keeps nothing about the write. A read is requested in
//! runs, of which at most two are in flight. Everything is bounded: the operations that a rank has in flight with a
//! peer, and the replies that an owner owes a peer; a peer that requests more breaks the protocol, and gets no reply.
//! The owner of the memory reports success or failure of a write only for its last piece. That suffices: an rkey
//! that is invalid stays invalid, and the last piece reaches the highest address, so it is out of bounds if any
//! piece is.
//!
//! Used by `device`; uses `wire`, `device::RegistrationTable` and `link::Endpoint`.

mod operations;
mod wire;

pub use wire::CHANNEL;

use crate::endpoint::RUN_BYTES;
use crate::message::{PacketMessage, read_exact};
use hawser_base::{Lane, Peer, UserMem};
use hawser_device::{
    AtomicOps, Capabilities, CompletionToken, PayloadSource, RegistrationTable, RemoteError, RemoteKey, WriteSource,
    check_bounds,
};
use hawser_link::fragment::{FRAGMENT_HEADER_BYTES, FRAGMENTS_MAX};
use hawser_link::frame::{HEADER_BYTES as FRAME_HEADER, JobKey};
use hawser_link::{Endpoint, MTU_MIN, Message, MessageClass};
use operations::{OpKind, PendingOp, PendingOps};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use wire::RmaMessage;

/// Maximum operations that a rank may have in flight with a peer, flushes included. Not measured: it bounds what an
/// owner keeps for a peer to some KiB.
const OPS_PER_PEER_MAX: usize = 64;
/// Maximum replies that a rank may owe a peer: two runs of each operation.
const REPLIES_PER_PEER_MAX: usize = 2 * OPS_PER_PEER_MAX;
/// Bytes of a read that are requested at once.
const REQUEST_BYTES: usize = RUN_BYTES;
/// Maximum bytes of a message behind its header, and the length of the longest packed write. It is the payload of the
/// longest packet, for which link has enough fragments even with the shortest frames (`device`).
const PAYLOAD_MAX_BYTES: usize = 16 << 10;
const _: () = assert!(PAYLOAD_MAX_BYTES.div_ceil(MTU_MIN - FRAME_HEADER - FRAGMENT_HEADER_BYTES) < FRAGMENTS_MAX);

pub const CAPABILITIES: Capabilities = Capabilities {
    write: usize::MAX,
    packed: PAYLOAD_MAX_BYTES,
    read: usize::MAX,
    alignment: 1,
    atomics_4: AtomicOps::NONE,
    atomics_8: AtomicOps::NONE,
    in_flight: OPS_PER_PEER_MAX,
    needs_peer: true,
};

/// An operation that the user of a lane requests.
#[derive(Clone, Copy)]
pub struct OpRequest {
    pub lane: Lane,
    pub ticket: CompletionToken,
    pub key: RemoteKey,
    pub at: u64,
}

/// An operation that has ended, for its lane.
#[derive(Clone, Copy, Debug)]
pub struct CompletedOp {
    pub lane: Lane,
    pub ticket: CompletionToken,
    pub outcome: Result<u64, RemoteError>,
}

/// A reply that an owner owes to a peer.
enum PendingRmaReply {
    Ended { number: u32, outcome: Result<(), RemoteError> },
    Data { number: u32, key: RemoteKey, at: u64, len: u64 },
}

/// The operations and replies in flight with one peer.
#[derive(Default)]
struct PeerOps {
    /// Our operations that are in flight.
    op_numbers: Vec<u32>,
    /// Our operations that have something left to send.
    send_queue: VecDeque<u32>,
    /// Replies that we owe to the peer.
    replies: VecDeque<PendingRmaReply>,
}

/// The reason for which sending to a peer has stopped.
enum StopReason {
    /// Nothing is left to send, or only reads that wait for requested bytes.
    Empty,
    /// Link has no memory for it now, or no connection to the peer.
    Full,
    /// Other peers have their turn.
    Yield,
}

/// The operations of a rank with all its peers.
pub struct EtherRma {
    registry: Arc<RegistrationTable>,
    pending_ops: PendingOps,
    peers: HashMap<u32, PeerOps>,
    /// Peers with something to send.
    active: Vec<u32>,
    /// Operations that have ended and are not yet reported.
    pub completed_ops: Vec<CompletedOp>,
}

impl EtherRma {
    /// Makes the operations of rank `me`.
    pub fn new(key: &JobKey, me: u32) -> EtherRma {
        // Each rank has a mark of its own, so that an rkey of one rank is not valid at another.
        let mark = key.derive(&[&b"registered"[..], &me.to_le_bytes()].concat());
        EtherRma {
            registry: RegistrationTable::new(mark),
            pending_ops: PendingOps::default(),
            peers: HashMap::new(),
            active: Vec::new(),
            completed_ops: Vec::new(),
        }
    }

    pub fn registry(&self) -> Arc<RegistrationTable> {
        self.registry.clone()
    }

    /// Returns whether something is to be sent.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.active.is_empty()
    }

    /// Returns whether nothing is in flight, owed or to be reported.
    pub fn is_idle(&self) -> bool {
        self.active.is_empty() && self.completed_ops.is_empty() && self.pending_ops.is_empty()
    }

    fn activate(&mut self, peer: u32) {
        if !self.active.contains(&peer) {
            self.active.push(peer);
        }
    }

    /// Begins a write of `source`. A packed source is sent at once, borrowed memory by `send_pending`.
    pub fn write(
        &mut self,
        peer: Peer,
        request: OpRequest,
        source: WriteSource<'_>,
        endpoint: &mut Endpoint,
    ) -> Result<(), RemoteError> {
        check_bounds(request.at, source.len(), request.key.0[2])?;
        match source {
            WriteSource::InPlace(mem) => {
                let number = self.add_op(peer, request, OpKind::Write(mem))?;
                self.enqueue(peer, number);
            }
            WriteSource::Pack { len, .. } if len > PAYLOAD_MAX_BYTES => return Err(RemoteError::Unsupported),
            WriteSource::Pack { len, pack } => {
                let number = self.add_op(peer, request, OpKind::Packed)?;
                let message = RmaMessage::Write { number, is_last: true, at: request.at, key: request.key };
                if !send_message(endpoint, peer.0, message, PayloadSource::Pack { len, pack }) {
                    self.remove_op(peer.0, number);
                    return Err(RemoteError::Full);
                }
            }
        }
        Ok(())
    }

    pub fn read(&mut self, peer: Peer, request: OpRequest, into: UserMem<'static>) -> Result<(), RemoteError> {
        check_bounds(request.at, into.len(), request.key.0[2])?;
        let number = self.add_op(peer, request, OpKind::Read { into, arrived: 0 })?;
        self.enqueue(peer, number);
        Ok(())
    }

    /// Begins a flush. Returns whether there is anything to wait for: false if no operation of the lane with the peer
    /// is in flight.
    pub fn flush(&mut self, peer: Peer, lane: Lane, ticket: CompletionToken) -> Result<bool, RemoteError> {
        if !self.has_earlier_op(peer.0, lane, u64::MAX) {
            return Ok(false);
        }
        let request = OpRequest { lane, ticket, key: RemoteKey([0; 3]), at: 0 };
        self.add_op(peer, request, OpKind::Flush).map(|_| true)
    }

    fn add_op(&mut self, peer: Peer, request: OpRequest, kind: OpKind) -> Result<u32, RemoteError> {
        let peer_ops = self.peers.entry(peer.0).or_default();
        if peer_ops.op_numbers.len() >= OPS_PER_PEER_MAX {
            return Err(RemoteError::Full);
        }
        let number = self.pending_ops.add(peer.0, request, kind).ok_or(RemoteError::Full)?;
        peer_ops.op_numbers.push(number);
        Ok(number)
    }

    fn enqueue(&mut self, peer: Peer, number: u32) {
        self.peers.get_mut(&peer.0).expect("it was added there").send_queue.push_back(number);
        self.activate(peer.0);
    }

    /// Returns whether an operation of the lane with the peer is in flight, flushes not counted, whose `sequence` is
    /// below `begun`.
    fn has_earlier_op(&self, peer: u32, lane: Lane, begun: u64) -> bool {
        let numbers = self.peers.get(&peer).into_iter().flat_map(|peer_ops| &peer_ops.op_numbers);
        let mut all = numbers.filter_map(|&number| self.pending_ops.get(number));
        all.any(|other| other.request.lane == lane && !other.is_flush() && other.sequence < begun)
    }

    /// Removes an operation from all lists.
    fn remove_op(&mut self, peer: u32, number: u32) -> Option<PendingOp> {
        let operation = self.pending_ops.remove(number, peer)?;
        let peer_ops = self.peers.get_mut(&peer).expect("an operation is with a peer");
        peer_ops.op_numbers.retain(|&other| other != number);
        peer_ops.send_queue.retain(|&other| other != number);
        Some(operation)
    }

    /// Ends an operation, and each flush of its lane for which no earlier operation is left.
    fn complete(&mut self, peer: u32, number: u32, outcome: Result<u64, RemoteError>) {
        let Some(operation) = self.remove_op(peer, number) else { return };
        let lane = operation.request.lane;
        self.completed_ops.push(CompletedOp { lane, ticket: operation.request.ticket, outcome });
        let numbers = self.peers.get(&peer).map(|peer_ops| peer_ops.op_numbers.clone()).unwrap_or_default();
        for flush in numbers {
            let waits = self.pending_ops.get(flush).filter(|other| other.is_flush() && other.request.lane == lane);
            if waits.is_some_and(|flush| !self.has_earlier_op(peer, lane, flush.sequence))
                && let Some(flush) = self.remove_op(peer, flush)
            {
                self.completed_ops.push(CompletedOp { lane, ticket: flush.request.ticket, outcome: Ok(0) });
            }
        }
    }

    /// Forgets a peer that has ended: all operations in flight with it end.
    pub fn forget(&mut self, peer: u32) {
        self.active.retain(|&other| other != peer);
        let Some(peer_ops) = self.peers.remove(&peer) else { return };
        for number in peer_ops.op_numbers {
            if let Some(PendingOp { request, .. }) = self.pending_ops.remove(number, peer) {
                self.completed_ops.push(CompletedOp {
                    lane: request.lane,
                    ticket: request.ticket,
                    outcome: Err(RemoteError::PeerFailed),
                });
            }
        }
    }

    /// Handles a message of a peer. False if the message is not valid, or if the peer requests more than it may.
    pub fn handle_message(&mut self, from: u32, message: &mut Message<'_>) -> bool {
        match RmaMessage::parse(message) {
            Some(RmaMessage::Write { number, is_last, at, key }) => {
                let outcome = self.registry.with(&key, at, message.len(), |mem| _ = read_exact(message, mem));
                !is_last || self.queue_reply(from, PendingRmaReply::Ended { number, outcome })
            }
            Some(RmaMessage::Read { number, at, key, len: 0 }) => {
                let outcome = self.registry.with(&key, at, 0, |_| ());
                self.queue_reply(from, PendingRmaReply::Ended { number, outcome })
            }
            Some(RmaMessage::Read { number, at, key, len }) => {
                self.queue_reply(from, PendingRmaReply::Data { number, key, at, len })
            }
            Some(RmaMessage::Data { number, at }) => self.handle_data(from, number, at, message),
            Some(RmaMessage::Ended { number, outcome }) => self.handle_completion(from, number, outcome),
            None => false,
        }
    }

    fn queue_reply(&mut self, to: u32, reply: PendingRmaReply) -> bool {
        let peer_ops = self.peers.entry(to).or_default();
        let has_space = peer_ops.replies.len() < REPLIES_PER_PEER_MAX;
        if has_space {
            peer_ops.replies.push_back(reply);
            self.activate(to);
        }
        has_space
    }

    /// Takes requested bytes of a read. False if they were not requested, or do not follow the bytes before. Bytes of
    /// an operation that has ended are late: they are dropped, and the result is true.
    fn handle_data(&mut self, from: u32, number: u32, at: u64, message: &mut Message<'_>) -> bool {
        let Some(operation) = self.pending_ops.get_mut(number, from) else { return true };
        let (offset, requested) = (operation.request.at, operation.sent);
        let OpKind::Read { into, arrived } = &mut operation.kind else { return false };
        let len = message.len();
        if at != offset + *arrived as u64 || len == 0 || len > requested - *arrived {
            return false;
        }
        read_exact(message, into.slice(*arrived, len));
        *arrived += len;
        if *arrived == into.len() {
            self.complete(from, number, Ok(0));
        } else if operation.may_request() {
            self.activate(from);
        }
        true
    }

    fn handle_completion(&mut self, from: u32, number: u32, outcome: Result<(), RemoteError>) -> bool {
        let Some(operation) = self.pending_ops.get_mut(number, from) else { return true };
        if outcome.is_ok() && !operation.may_succeed() {
            return false;
        }
        self.complete(from, number, outcome.map(|()| 0));
        true
    }

    /// Sends messages, as far as link has memory. Returns whether more could be sent at once.
    pub fn send_pending(&mut self, endpoint: &mut Endpoint) -> bool {
        let mut has_more = false;
        for peer in std::mem::take(&mut self.active) {
            match self.send_to_peer(peer, endpoint) {
                StopReason::Empty => continue,
                StopReason::Full => {}
                StopReason::Yield => has_more = true,
            }
            self.activate(peer);
        }
        has_more
    }

    fn send_to_peer(&mut self, peer: u32, endpoint: &mut Endpoint) -> StopReason {
        let mut left = RUN_BYTES;
        loop {
            let Some(peer_ops) = self.peers.get_mut(&peer) else { return StopReason::Empty };
            let step = if let Some(reply) = peer_ops.replies.front_mut() {
                let step = send_reply(&self.registry, peer, reply, endpoint);
                if let SendStep::Done(_) = step {
                    peer_ops.replies.pop_front();
                }
                step
            } else if let Some(&number) = peer_ops.send_queue.front() {
                let step = match self.pending_ops.get_mut(number, peer) {
                    Some(operation) => continue_op(peer, number, operation, endpoint),
                    None => SendStep::Done(0),
                };
                if let SendStep::Done(_) | SendStep::Blocked = step {
                    peer_ops.send_queue.pop_front();
                }
                // A read that waits for its requested bytes lets others pass, and requests more after them.
                if let SendStep::Blocked = step {
                    peer_ops.send_queue.push_back(number);
                }
                step
            } else {
                return StopReason::Empty;
            };
            match step {
                SendStep::Done(bytes) | SendStep::More(bytes) => left = left.saturating_sub(bytes),
                SendStep::Full => return StopReason::Full,
                SendStep::Blocked if self.all_must_wait(peer) => return StopReason::Empty,
                SendStep::Blocked => {}
            }
            if left == 0 {
                return StopReason::Yield;
            }
        }
    }

    /// Returns whether all operations queued for the peer are reads that have requested as much as they may.
    fn all_must_wait(&self, peer: u32) -> bool {
        let queue = self.peers.get(&peer).into_iter().flat_map(|peer_ops| &peer_ops.send_queue);
        queue.filter_map(|&number| self.pending_ops.get(number)).all(|operation| operation.must_wait())
    }
}

/// The result of one step toward the end of an operation or a reply.
enum SendStep {
    /// Everything is sent; this step has sent this many bytes.
    Done(usize),
    More(usize),
    /// Link has no memory, or no connection to the peer.
    Full,
    /// The operation can continue when requested bytes have arrived.
    Blocked,
}

/// Sends a message. Returns whether link took it.
fn send_message(endpoint: &mut Endpoint, peer: u32, message: RmaMessage, source: PayloadSource<'_>) -> bool {
    let class = if let PayloadSource::None = source { MessageClass::Control } else { MessageClass::Payload };
    let mut writer = PacketMessage::with_header(message.header().bytes(), source);
    let total = writer.total();
    endpoint.send(peer, CHANNEL, total, class, |at, into| writer.write(at, into)).is_ok()
}

/// Returns how many of the `left` bytes fit into a frame to the peer behind a header; None if there is no connection
/// to the peer.
fn payload_in_frame(endpoint: &Endpoint, peer: u32, header_bytes: usize, left: usize) -> Option<usize> {
    let frame = endpoint.frame_for_message(peer, left)?;
    Some(left.min(frame - FRAME_HEADER - FRAGMENT_HEADER_BYTES - header_bytes).min(PAYLOAD_MAX_BYTES))
}

/// Sends the next message of a reply.
fn send_reply(
    registry: &RegistrationTable,
    peer: u32,
    reply: &mut PendingRmaReply,
    endpoint: &mut Endpoint,
) -> SendStep {
    let (number, key, at, len) = match *reply {
        PendingRmaReply::Ended { number, outcome } => {
            let sent = send_message(endpoint, peer, RmaMessage::Ended { number, outcome }, PayloadSource::None);
            return if sent { SendStep::Done(1) } else { SendStep::Full };
        }
        PendingRmaReply::Data { number, key, at, len } => (number, key, at, len),
    };
    let left = usize::try_from(len).unwrap_or(usize::MAX);
    let Some(count) = payload_in_frame(endpoint, peer, RmaMessage::DATA_HEADER_BYTES, left) else {
        return SendStep::Full;
    };
    let send_data = |mem| send_message(endpoint, peer, RmaMessage::Data { number, at }, PayloadSource::Mem(mem));
    match registry.with(&key, at, count, send_data) {
        Ok(false) => SendStep::Full,
        Ok(true) if count == left => SendStep::Done(count),
        Ok(true) => {
            *reply = PendingRmaReply::Data { number, key, at: at + count as u64, len: len - count as u64 };
            SendStep::More(count)
        }
        Err(fault) => {
            *reply = PendingRmaReply::Ended { number, outcome: Err(fault) };
            SendStep::More(0)
        }
    }
}

/// Sends the next message of an operation of ours.
fn continue_op(peer: u32, number: u32, operation: &mut PendingOp, endpoint: &mut Endpoint) -> SendStep {
    let OpRequest { key, at, .. } = operation.request;
    let offset = at + operation.sent as u64;
    match operation.kind {
        OpKind::Write(mem) => {
            let left = mem.len() - operation.sent;
            let Some(count) = payload_in_frame(endpoint, peer, RmaMessage::WRITE_HEADER_BYTES, left) else {
                return SendStep::Full;
            };
            let message = RmaMessage::Write { number, is_last: count == left, at: offset, key };
            if !send_message(endpoint, peer, message, PayloadSource::Mem(mem.slice(operation.sent, count))) {
                return SendStep::Full;
            }
            operation.sent += count;
            if count == left { SendStep::Done(count + 1) } else { SendStep::More(count) }
        }
        OpKind::Read { into, .. } => {
            if operation.must_wait() {
                return SendStep::Blocked;
            }
            let count = REQUEST_BYTES.min(into.len() - operation.sent);
            if !send_message(
                endpoint,
                peer,
                RmaMessage::Read { number, at: offset, key, len: count as u64 },
                PayloadSource::None,
            ) {
                return SendStep::Full;
            }
            operation.sent += count;
            if operation.sent == into.len() { SendStep::Done(1) } else { SendStep::More(1) }
        }
        OpKind::Packed | OpKind::Flush => SendStep::Done(0),
    }
}
