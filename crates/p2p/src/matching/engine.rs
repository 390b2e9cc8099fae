//! The state of one lane's matching: operations, the queues of each context, and the account of each peer.
//!
//! `post`, `arrive`, `cancel` and `rtr` implement the calls and packets that change this state; they use this module,
//! which uses `queues`, `streams` and `operation`.

use super::limits::{PeerLimits, ProtocolLimits, RouteIndex};
use super::operation::*;
use super::packet::Packet;
use super::queue_lengths::{QueueLengthWriter, QueueLengths};
use super::queues::{self, MatchQueues};
use super::rtr::PeerRtrs;
use super::streams::Streams;
use hawser_base::peer_table::PeerTable;
use hawser_base::{Context, Peer};
use std::collections::VecDeque;
use std::sync::Arc;

/// The engine's state for one peer. It is small (docs/adr/0017-a-process-is-not-a-rank.md) and grows only by the RTRs
/// (`rtrs`) and unfinished messages (`streams`) of the moment.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PeerState {
    /// Credit left for eager payload to the peer, in bytes. It is 0 as long as `route` is UNKNOWN.
    pub(super) credit: u64,
    /// Credit that we owe back to the peer, in bytes.
    pub(super) owed: u64,
    /// The number of messages sent to the peer, and the number of messages accepted from it: the serial numbers of
    /// MPI/MBCF §3.1.2.
    pub(super) sent: u32,
    pub(super) accepted: u32,
    /// The incarnation of the peer's number, with FAILED set if the peer has failed or ended.
    pub(super) incarnation: u16,
    /// The route to the peer, by which its limits are found; UNKNOWN before its credit is used for the first time.
    route: RouteIndex,
    pub(super) rtrs: PeerRtrs,
    pub(super) streams: Streams,
}

/// The maximum number of open operations that `has_open_sends_to` searches.
const SEARCHED_OPS_MAX: usize = 64;

/// The time at which credit that is owed to a peer is returned.
enum CreditReturn {
    NotYet,
    /// The credit is returned when the lane has nothing else to do.
    Soon,
    Now,
}

impl PeerState {
    /// Adds `cost` bytes to the credit owed to the peer, whose credit is at most `credit_limit` bytes. Returns when
    /// the owed credit is to be returned to the peer.
    #[inline(always)]
    fn add_owed(&mut self, cost: u64, credit_limit: u64) -> CreditReturn {
        let was = self.owed;
        self.owed += cost;
        if self.owed > 0 && self.owed >= credit_limit / 2 {
            CreditReturn::Now
        } else if self.owed >= credit_limit / 4 && was < credit_limit / 4 {
            CreditReturn::Soon
        } else {
            CreditReturn::NotYet
        }
    }
}

/// `PeerState::route` of a peer whose credit was never used.
const UNKNOWN: RouteIndex = RouteIndex::MAX;

/// Flag in `PeerState::incarnation`: the peer has failed or ended.
pub(super) const FAILED: u16 = 1 << 15;
const _: () = assert!(Peer::INCARNATIONS < FAILED as u32);

/// Returns the incarnation of a peer's number.
#[inline(always)]
pub(super) fn incarnation(peer: Peer) -> u16 {
    peer.incarnation() as u16
}

/// The account with a peer: our credit at it, its credit at us, and the pending exchanges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreditAccount {
    /// Credit left for eager payload to the peer, in bytes.
    pub credit: u64,
    /// Credit that we owe back to the peer, in bytes.
    pub owed: u64,
    /// Credit that the peer's unexpected messages occupy, in bytes.
    pub unexpected: u64,
    /// The number of messages sent to the peer, and the number of messages accepted from it.
    pub sent: u32,
    pub accepted: u32,
    /// The numbers of our RTRs that wait at the peer for a message, and the numbers of the peer's RTRs that wait
    /// here.
    pub sent_rtrs: Vec<u32>,
    pub received_rtrs: Vec<u32>,
    /// The number of messages of the peer whose bytes are still arriving.
    pub streams: usize,
}

/// The state of one lane.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Engine {
    limits: PeerLimits,
    pub(super) ops: Vec<OpState>,
    pub(super) free: Vec<u32>,
    pub(super) match_queues: Vec<Option<Box<MatchQueues>>>,
    /// For each of `match_queues`, the lowest generation of its context number that is admitted: earlier
    /// communicators with that number are closed.
    pub(super) min_generation: Vec<u32>,
    pub(super) peers: PeerTable<PeerState>,
    pub(super) effects: VecDeque<Effect>,
    /// Peers to which we owe so much credit that it is worth a packet.
    pub(super) credit_due: Vec<Peer>,
    /// A counter that gives the order among different sources: of their posted receives, and of their unexpected
    /// messages.
    pub(super) clock: u64,
    /// The number of receives that wait for a message of any source.
    pub(super) any_source: u32,
    /// Peers that have failed or ended, in the order in which they were reported.
    pub(super) failed_peers: Vec<Peer>,
    pub(super) queue_lengths: QueueLengthWriter,
}

impl PeerState {
    /// Makes the state of a peer with which no packet was exchanged.
    fn new(incarnation: u16) -> PeerState {
        PeerState {
            credit: 0,
            owed: 0,
            sent: 0,
            accepted: 0,
            incarnation,
            route: UNKNOWN,
            rtrs: PeerRtrs::default(),
            streams: Streams::default(),
        }
    }
}

impl Engine {
    pub fn new(limits: impl Into<PeerLimits>) -> Engine {
        Engine {
            limits: limits.into(),
            ops: Vec::new(),
            free: Vec::new(),
            match_queues: Vec::new(),
            min_generation: Vec::new(),
            peers: PeerTable::new(PeerState::new(0)),
            effects: VecDeque::new(),
            credit_due: Vec::new(),
            clock: 0,
            any_source: 0,
            failed_peers: Vec::new(),
            queue_lengths: QueueLengthWriter::default(),
        }
    }

    /// Returns the queue lengths, which may be read while they change.
    pub fn queue_lengths(&self) -> &Arc<QueueLengths> {
        self.queue_lengths.shared()
    }

    /// Returns the limits of the route to a peer.
    #[inline(always)]
    pub fn limits_of(&self, peer: Peer) -> &ProtocolLimits {
        match self.peers[peer].route {
            UNKNOWN => self.limits_of_unknown(peer),
            route => self.limits.of_route(route),
        }
    }

    #[cold]
    #[inline(never)]
    fn limits_of_unknown(&self, peer: Peer) -> &ProtocolLimits {
        // Nothing can be sent to a peer that no route reaches, so it may have any limits.
        self.limits.of_route(self.limits.route(peer).unwrap_or(0))
    }

    /// Finds the route to a peer if it is not known yet; then the peer has its whole credit.
    #[inline(always)]
    pub(super) fn find_route(&mut self, peer: Peer) {
        if self.peers[peer].route == UNKNOWN {
            self.find_unknown_route(peer);
        }
    }

    #[cold]
    #[inline(never)]
    fn find_unknown_route(&mut self, peer: Peer) {
        if self.has_failed(peer) {
            return; // the account under this number may be that of a later process, elsewhere
        }
        if let Some(route) = self.limits.route(peer) {
            let state = &mut self.peers[peer];
            (state.route, state.credit) = (route, self.limits.of_route(route).credit);
        }
    }

    /// Returns the most credit that a peer may have here.
    #[inline(always)]
    fn credit_limit(&mut self, peer: Peer) -> u64 {
        self.find_route(peer);
        self.limits_of(peer).credit
    }

    /// Returns the next effect; the caller takes them until there is none.
    #[inline]
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Returns whether there are effects to carry out.
    #[inline(always)]
    pub fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    /// Counts a short eager message to `to` as sent, if it may bypass the engine: credit is left, no RTR of the peer
    /// waits for a message, and the peer has not failed or ended. Returns whether it may. This is the fast path;
    /// `start_send` does the same in full.
    #[inline(always)]
    pub fn fast_send(&mut self, to: Peer, bytes: u64) -> bool {
        let peer = &mut self.peers[to];
        let cost = cost(bytes);
        if peer.credit < cost || !peer.rtrs.received.is_empty() || peer.incarnation != incarnation(to) {
            return peer.route == UNKNOWN && self.fast_send_first(to, bytes);
        }
        peer.credit -= cost;
        peer.sent = peer.sent.wrapping_add(1);
        true
    }

    /// Does the same as `fast_send` for the first message to a peer, which gives the peer its credit.
    #[cold]
    #[inline(never)]
    fn fast_send_first(&mut self, to: Peer, bytes: u64) -> bool {
        self.find_unknown_route(to);
        self.peers[to].route != UNKNOWN && self.fast_send(to, bytes)
    }

    /// Does the same as `fast_send` for an eager stream whose packets are all sent at once. Returns the message's
    /// serial number; None if it may not bypass the engine.
    #[inline]
    pub fn fast_eager_stream(&mut self, to: Peer, bytes: u64) -> Option<u32> {
        self.fast_send(to, bytes).then(|| self.peers[to].sent)
    }

    /// Reverts a `fast_send` whose packet the device refused.
    #[inline]
    pub fn undo_fast_send(&mut self, to: Peer, bytes: u64) {
        let peer = &mut self.peers[to];
        peer.credit += cost(bytes);
        peer.sent = peer.sent.wrapping_sub(1);
    }

    /// Returns whether credit is left for a message of `bytes` bytes to `to`.
    #[inline]
    pub fn has_credit(&mut self, to: Peer, bytes: u64) -> bool {
        self.find_route(to);
        self.peers[to].credit >= cost(bytes)
    }

    /// Returns whether the calling receive may take the next eager message of `context` from `from` with a fitting
    /// tag directly: no posted receive and no unexpected message could come first.
    #[inline(always)]
    pub fn may_recv_directly(&self, context: Context, from: Peer) -> bool {
        match self.match_queues.get(queues::context_slot(context)) {
            Some(Some(found)) => found.is_idle_for(from),
            _ => true,
        }
    }

    /// Counts an eager message that was taken directly from the device after `may_recv_directly` allowed it.
    #[inline(always)]
    pub fn count_direct_recv(&mut self, from: Peer, bytes: u64) {
        let credit_limit = self.credit_limit(from);
        let peer = &mut self.peers[from];
        peer.accepted = peer.accepted.wrapping_add(1);
        let when = peer.add_owed(cost(bytes), credit_limit);
        self.return_credit_when(when, from);
    }

    /// Returns whether a packet of `from` is awaited: a posted receive may take a message of this peer, or bytes of
    /// one of its messages are still to arrive.
    #[inline]
    pub fn expects(&self, from: Peer) -> bool {
        let peer = &self.peers[from];
        peer.rtrs.posted_receives() > 0 || self.any_source > 0 || peer.streams.len() > 0
    }

    /// Returns whether any send has not ended: its bytes are in flight, or its receiver has not replied yet.
    pub fn has_open_sends(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, OpState::Send(sending) if sending.phase != SendPhase::Ended))
    }

    /// Returns whether that holds for any send to `peer`. If many operations are open, the answer is true without a
    /// search.
    pub fn has_open_sends_to(&self, peer: Peer) -> bool {
        if self.ops.len() - self.free.len() > SEARCHED_OPS_MAX {
            return true;
        }
        let is_open = |sending: &SendState| sending.to == peer && sending.phase != SendPhase::Ended;
        self.ops.iter().any(|op| matches!(op, OpState::Send(sending) if is_open(sending)))
    }

    /// Returns the number of messages sent to `peer`, modulo 2^32: the serial number of the next one.
    pub fn messages_sent(&self, peer: Peer) -> u32 {
        self.peers[peer].sent
    }

    /// Returns whether nothing is queued, unexpected, in flight or to be carried out. Owed credit does not count.
    pub fn is_idle(&self) -> bool {
        self.effects.is_empty() && self.ops.len() == self.free.len()
    }

    pub(super) fn new_op(&mut self, state: OpState) -> OpId {
        match self.free.pop() {
            Some(index) => {
                self.ops[index as usize] = state;
                OpId(index)
            }
            None => {
                self.ops.push(state);
                OpId(self.ops.len() as u32 - 1)
            }
        }
    }

    pub(super) fn free_op(&mut self, op: OpId) -> OpState {
        let state = std::mem::replace(&mut self.ops[op.0 as usize], OpState::Free);
        debug_assert_ne!(state, OpState::Free);
        self.free.push(op.0);
        state
    }

    pub(super) fn match_queues_of(&mut self, context: Context) -> &mut MatchQueues {
        let slot = queues::context_slot(context);
        if slot >= self.match_queues.len() {
            self.match_queues.resize_with(slot + 1, || None);
        }
        self.match_queues[slot].get_or_insert_default()
    }

    pub(super) fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Counts a message that begins and returns its serial number.
    #[inline(always)]
    pub(super) fn count_accepted(&mut self, from: Peer) -> u32 {
        let peer = &mut self.peers[from];
        peer.accepted = peer.accepted.wrapping_add(1);
        peer.accepted
    }

    /// Queues a packet for transmission, if the peer has not failed or ended.
    pub(super) fn transmit(&mut self, to: Peer, packet: Packet) {
        if !self.has_failed(to) {
            self.effects.push_back(Effect::Transmit { to, packet });
        }
    }

    /// Adds `cost` bytes to the credit owed to the peer. A quarter of the credit limit is worth a packet. It is sent
    /// only when the lane has nothing else to do, because the program waits for the message that was just matched.
    /// Half of the limit is returned at once, because otherwise the peer would soon have to send RTSs.
    #[inline(always)]
    pub(super) fn owe_credit(&mut self, to: Peer, cost: u64) {
        let credit_limit = self.credit_limit(to);
        let when = self.peers[to].add_owed(cost, credit_limit);
        self.return_credit_when(when, to);
    }

    #[inline(always)]
    fn return_credit_when(&mut self, when: CreditReturn, to: Peer) {
        match when {
            CreditReturn::NotYet => {}
            CreditReturn::Soon => self.credit_due.push(to),
            CreditReturn::Now => self.return_credit(to),
        }
    }

    /// Handles credit that the peer returns.
    pub(super) fn handle_credit(&mut self, from: Peer, bytes: u64) {
        let credit_limit = self.credit_limit(from);
        let peer = &mut self.peers[from];
        peer.credit = peer.credit.saturating_add(bytes).min(credit_limit);
    }

    pub(super) fn return_credit(&mut self, to: Peer) {
        let bytes = std::mem::take(&mut self.peers[to].owed);
        self.transmit(to, Packet::Credit { bytes });
    }

    /// Returns credit to each peer to which enough for a packet is owed.
    #[inline]
    pub fn return_due_credit(&mut self) {
        while let Some(to) = self.credit_due.pop() {
            // If the credit has reached half of the limit meanwhile, it was returned then.
            if self.peers[to].owed >= self.limits_of(to).credit / 4 {
                self.return_credit(to);
            }
        }
    }

    pub(super) fn complete(&mut self, op: OpId, outcome: OpOutcome) {
        debug_assert_ne!(self.ops[op.0 as usize], OpState::Free);
        self.ops[op.0 as usize] = OpState::Free;
        self.free.push(op.0);
        self.effects.push_back(Effect::Complete { op, outcome });
    }

    /// Closes a freed context: its unexpected messages are dropped and their credit is returned; messages that arrive
    /// later are dropped, too. Returns the operations of the dropped messages.
    pub fn close(&mut self, context: Context) -> Vec<OpId> {
        let slot = queues::context_slot(context);
        if slot >= self.min_generation.len() {
            self.min_generation.resize(slot + 1, 0);
        }
        self.min_generation[slot] = context.generation() + 1;
        let Some(Some(found)) = self.match_queues.get_mut(slot).map(Option::take) else { return Vec::new() };
        let unexpected = found.unexpected();
        for &op in &unexpected {
            self.queue_lengths.count_unexpected(false);
            if let OpState::Unexpected(UnexpectedMessage { envelope, body, cost, .. }) = self.free_op(op) {
                if let UnexpectedBody::EagerStream { message, .. } = body {
                    self.peers[envelope.source].streams.end(message);
                }
                self.owe_credit(envelope.source, cost);
            }
        }
        unexpected
    }

    /// Returns whether the context was freed here. A context that is unknown here is open: its communicator may be
    /// created elsewhere first.
    pub(super) fn is_closed(&self, context: Context) -> bool {
        self.min_generation.get(queues::context_slot(context)).is_some_and(|&min| context.generation() < min)
    }

    /// Returns whether the peer was reported as failed or ended, or its number belongs to a later process by now.
    pub fn has_failed(&self, peer: Peer) -> bool {
        let now = self.peers[peer].incarnation;
        now != incarnation(peer) && now & !FAILED >= incarnation(peer)
    }

    /// Returns whether the number of the peer belongs to a later process by now.
    pub(crate) fn is_superseded(&self, peer: Peer) -> bool {
        self.peers[peer].incarnation & !FAILED > incarnation(peer)
    }

    /// Returns the same as `has_failed`, and also begins the account of a process that is new under its number.
    #[inline(always)]
    pub(crate) fn refuses(&mut self, peer: Peer) -> bool {
        self.peers[peer].incarnation != incarnation(peer) && self.refuses_or_begins(peer)
    }

    #[cold]
    #[inline(never)]
    fn refuses_or_begins(&mut self, peer: Peer) -> bool {
        if self.has_failed(peer) {
            return true;
        }
        let state = &mut self.peers[peer];
        if state.incarnation & FAILED != 0 {
            *state = PeerState::new(0);
        }
        // The counts so far belong to the new process's first message, which bypassed this check
        // (`count_direct_recv`).
        state.incarnation = incarnation(peer);
        false
    }

    /// Forgets a peer that has failed or ended, so that a later process can have its number. Returns false if the
    /// peer has not failed or ended, or if the program may still receive a message of it that is kept as unexpected.
    pub fn forget_peer(&mut self, peer: Peer) -> bool {
        let is_of = |state: &OpState| matches!(state, OpState::Unexpected(message) if message.envelope.source == peer);
        if self.is_superseded(peer) {
            return true;
        }
        if !self.has_failed(peer) || self.ops.iter().any(is_of) {
            return false;
        }
        self.credit_due.retain(|&other| other != peer);
        self.failed_peers.retain(|&other| other != peer);
        self.peers[peer] = PeerState::new(incarnation(peer) + 1);
        self.match_queues.iter_mut().flatten().for_each(|queues| queues.forget_peer(peer));
        true
    }

    /// Returns all peers that have failed or ended.
    pub fn failed_peers(&self) -> &[Peer] {
        &self.failed_peers
    }

    /// Returns the account with a peer, for tests (`tests/model` compares the accounts of both ends).
    pub fn account(&self, peer: Peer) -> CreditAccount {
        let state = &self.peers[peer];
        let unexpected = self.ops.iter().filter_map(|state| match state {
            OpState::Unexpected(message) if message.envelope.source == peer => Some(message.cost),
            _ => None,
        });
        CreditAccount {
            credit: if state.route == UNKNOWN { self.limits_of(peer).credit } else { state.credit },
            owed: state.owed,
            unexpected: unexpected.sum(),
            sent: state.sent,
            accepted: state.accepted,
            sent_rtrs: state.rtrs.sent.iter().map(|rtr| rtr.number).collect(),
            received_rtrs: state.rtrs.received.iter().map(|rtr| rtr.number).collect(),
            streams: state.streams.len(),
        }
    }
}
