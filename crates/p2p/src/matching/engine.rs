//! The state of one lane's matching: operations, the queues of each context, and the account of each peer.
//!
//! `post`, `arrive`, `cancel` and `offers` implement the calls and packets that change it, and use it; it uses
//! `queues`, `streams` and `operation`.

use super::lengths::{Lengths, Shared as QueueLengths};
use super::offers::PeerOffers;
use super::operation::*;
use super::packet::Packet;
use super::queues::{self, Matchbox};
use super::streams::Streams;
use hawser_base::paged::Paged;
use hawser_base::{Context, Peer};
use std::collections::VecDeque;
use std::sync::Arc;

/// The engine's state for one peer: fixed and small (docs/adr/0017-a-process-is-not-a-rank.md).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PeerState {
    /// Credit left for eager payload to the peer, in bytes.
    pub(super) credit: u64,
    /// Credit that we owe back to the peer, in bytes.
    pub(super) owed: u64,
    /// Messages sent to the peer, and accepted from it: the serial numbers of MPI/MBCF §3.1.2.
    pub(super) sent: u32,
    pub(super) accepted: u32,
    /// The incarnation of the peer's number, with LOST set if the peer is gone.
    pub(super) life: u16,
    pub(super) offers: PeerOffers,
    pub(super) inbound: Streams,
}

/// When credit that is owed to a peer is returned.
enum Due {
    NotYet,
    /// When the lane has nothing else to do.
    Soon,
    Now,
}

impl PeerState {
    /// Adds `cost` bytes to the credit owed to the peer, which was granted `window` bytes in all.
    #[inline(always)]
    fn owe(&mut self, cost: u64, window: u64) -> Due {
        let was = self.owed;
        self.owed += cost;
        if self.owed > 0 && self.owed >= window / 2 {
            Due::Now
        } else if self.owed >= window / 4 && was < window / 4 {
            Due::Soon
        } else {
            Due::NotYet
        }
    }
}

/// Flag in `PeerState::life`: the peer is gone.
pub(super) const LOST: u16 = 1 << 15;
const _: () = assert!(Peer::LIVES < LOST as u32);

/// Returns the incarnation of a peer's number.
#[inline(always)]
pub(super) fn life(peer: Peer) -> u16 {
    peer.life() as u16
}

/// The account with a peer: our credit at it, its credit at us, and the pending exchanges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ledger {
    /// Credit left for eager payload to the peer, in bytes.
    pub credit: u64,
    /// Credit that we owe back to the peer, in bytes.
    pub owed: u64,
    /// Credit that the peer's unexpected messages occupy, in bytes.
    pub held: u64,
    /// Messages sent to the peer, and accepted from it.
    pub sent: u32,
    pub accepted: u32,
    /// Numbers of our RTRs that stand at the peer, and of the peer's RTRs that stand here.
    pub made: Vec<u32>,
    pub given: Vec<u32>,
    /// Messages of the peer whose bytes are still arriving.
    pub streams: usize,
}

/// The state of one lane.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Engine {
    pub(super) limits: Limits,
    pub(super) ops: Vec<State>,
    pub(super) free: Vec<u32>,
    pub(super) boxes: Vec<Option<Box<Matchbox>>>,
    /// For each of `boxes`, the lowest generation that is admitted: earlier communicators of that number are closed.
    pub(super) least: Vec<u32>,
    pub(super) peers: Paged<PeerState>,
    pub(super) effects: VecDeque<Effect>,
    /// Peers to which we owe enough credit for a packet.
    pub(super) due: Vec<Peer>,
    /// The clock that orders posted receives, and arrived messages, among sources.
    pub(super) clock: u64,
    /// The number of receives that wait for a message of any source.
    pub(super) any_source: u32,
    /// Peers that are gone, in the order in which they were reported.
    pub(super) gone: Vec<Peer>,
    pub(super) lengths: Lengths,
}

impl PeerState {
    /// The state of a peer with which no packet was exchanged.
    fn new(window: u64, life: u16) -> PeerState {
        PeerState {
            credit: window,
            owed: 0,
            sent: 0,
            accepted: 0,
            life,
            offers: PeerOffers::default(),
            inbound: Streams::default(),
        }
    }
}

impl Engine {
    pub fn new(limits: Limits) -> Engine {
        assert!(limits.first <= limits.packet && limits.packet <= limits.eager && limits.eager <= limits.window);
        Engine {
            limits,
            ops: Vec::new(),
            free: Vec::new(),
            boxes: Vec::new(),
            least: Vec::new(),
            peers: Paged::new(PeerState::new(limits.window, 0)),
            effects: VecDeque::new(),
            due: Vec::new(),
            clock: 0,
            any_source: 0,
            gone: Vec::new(),
            lengths: Lengths::default(),
        }
    }

    /// Returns the queue lengths, which may be read while they change.
    pub fn lengths(&self) -> &Arc<QueueLengths> {
        self.lengths.shared()
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the next effect; the caller takes them until there is none.
    #[inline]
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Whether there are effects to carry out.
    #[inline(always)]
    pub fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    /// Whether a short eager message to `to` may bypass the engine: credit is left, and no RTR is to be answered. The
    /// message then counts as sent (fast path; `start_send` does the same in full).
    #[inline(always)]
    pub fn quick_send(&mut self, to: Peer, bytes: u64) -> bool {
        let peer = &mut self.peers[to];
        let cost = cost(bytes);
        if peer.credit < cost || !peer.offers.given.is_empty() || peer.life != life(to) {
            return false;
        }
        peer.credit -= cost;
        peer.sent = peer.sent.wrapping_add(1);
        true
    }

    /// Same as `quick_send`, for a message that is pushed in several packets at once. Returns its serial number.
    #[inline]
    pub fn quick_push(&mut self, to: Peer, bytes: u64) -> Option<u32> {
        self.quick_send(to, bytes).then(|| self.peers[to].sent)
    }

    /// Reverts a `quick_send` whose packet the device refused.
    #[inline]
    pub fn undo_quick_send(&mut self, to: Peer, bytes: u64) {
        let peer = &mut self.peers[to];
        peer.credit += cost(bytes);
        peer.sent = peer.sent.wrapping_sub(1);
    }

    /// Whether credit is left for a message of `bytes` bytes to `to`.
    #[inline]
    pub fn has_credit(&self, to: Peer, bytes: u64) -> bool {
        self.peers[to].credit >= cost(bytes)
    }

    /// Whether the next eager message of `context` from `from` with a fitting tag may go to the calling receive
    /// directly: no posted receive and no unexpected message could come first.
    #[inline(always)]
    pub fn quick_recv(&self, context: Context, from: Peer) -> bool {
        match self.boxes.get(queues::slot(context)) {
            Some(Some(found)) => found.is_idle_for(from),
            _ => true,
        }
    }

    /// Counts an eager message that was taken directly from the device after `quick_recv` allowed it.
    #[inline(always)]
    pub fn took_directly(&mut self, from: Peer, bytes: u64) {
        let peer = &mut self.peers[from];
        peer.accepted = peer.accepted.wrapping_add(1);
        let due = peer.owe(cost(bytes), self.limits.window);
        self.pay_when(due, from);
    }

    /// Whether a packet of `from` is awaited: a posted receive may take a message of it, or bytes of one are still to
    /// arrive.
    #[inline]
    pub fn expects(&self, from: Peer) -> bool {
        let peer = &self.peers[from];
        peer.offers.receives() > 0 || self.any_source > 0 || peer.inbound.len() > 0
    }

    /// Whether some send has not ended: its bytes are in flight, or its receiver has not answered yet.
    pub fn has_open_sends(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, State::Send(sending) if sending.phase != SendPhase::Ended))
    }

    /// Whether nothing is queued, unexpected, in flight or to be carried out. Owed credit does not count.
    pub fn is_idle(&self) -> bool {
        self.effects.is_empty() && self.ops.len() == self.free.len()
    }

    pub(super) fn new_op(&mut self, state: State) -> Op {
        match self.free.pop() {
            Some(index) => {
                self.ops[index as usize] = state;
                Op(index)
            }
            None => {
                self.ops.push(state);
                Op(self.ops.len() as u32 - 1)
            }
        }
    }

    pub(super) fn free_op(&mut self, op: Op) -> State {
        let state = std::mem::replace(&mut self.ops[op.0 as usize], State::Free);
        debug_assert_ne!(state, State::Free);
        self.free.push(op.0);
        state
    }

    pub(super) fn matchbox(&mut self, context: Context) -> &mut Matchbox {
        let slot = queues::slot(context);
        if slot >= self.boxes.len() {
            self.boxes.resize_with(slot + 1, || None);
        }
        self.boxes[slot].get_or_insert_default()
    }

    pub(super) fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Counts a message that begins and returns its serial number.
    #[inline(always)]
    pub(super) fn accepted(&mut self, from: Peer) -> u32 {
        let peer = &mut self.peers[from];
        peer.accepted = peer.accepted.wrapping_add(1);
        peer.accepted
    }

    /// Queues a packet for transmission, unless the peer is gone.
    pub(super) fn transmit(&mut self, to: Peer, packet: Packet) {
        if !self.is_lost(to) {
            self.effects.push_back(Effect::Transmit { to, packet });
        }
    }

    /// Adds `cost` to the credit owed to the peer. A quarter of the window is worth a packet, which is sent when the
    /// lane has nothing else to do: the program waits for the message that was matched. Half of the window is returned
    /// at once, or the peer would soon have to send RTSs.
    #[inline(always)]
    pub(super) fn give_back(&mut self, to: Peer, cost: u64) {
        let due = self.peers[to].owe(cost, self.limits.window);
        self.pay_when(due, to);
    }

    #[inline(always)]
    fn pay_when(&mut self, due: Due, to: Peer) {
        match due {
            Due::NotYet => {}
            Due::Soon => self.due.push(to),
            Due::Now => self.pay(to),
        }
    }

    pub(super) fn pay(&mut self, to: Peer) {
        let bytes = std::mem::take(&mut self.peers[to].owed);
        self.transmit(to, Packet::Credit { bytes });
    }

    /// Returns credit to each peer to which enough for a packet is owed.
    #[inline]
    pub fn pay_dues(&mut self) {
        while let Some(to) = self.due.pop() {
            // The credit was returned meanwhile, if it reached half of the window.
            if self.peers[to].owed >= self.limits.window / 4 {
                self.pay(to);
            }
        }
    }

    pub(super) fn complete(&mut self, op: Op, outcome: Outcome) {
        debug_assert_ne!(self.ops[op.0 as usize], State::Free);
        self.ops[op.0 as usize] = State::Free;
        self.free.push(op.0);
        self.effects.push_back(Effect::Complete { op, outcome });
    }

    /// Closes a freed context: its unexpected messages are dropped and their credit is returned; later ones are not
    /// admitted. Returns the dropped messages.
    pub fn close(&mut self, context: Context) -> Vec<Op> {
        let slot = queues::slot(context);
        if slot >= self.least.len() {
            self.least.resize(slot + 1, 0);
        }
        self.least[slot] = context.generation() + 1;
        let Some(Some(found)) = self.boxes.get_mut(slot).map(Option::take) else { return Vec::new() };
        let held = found.held();
        for &op in &held {
            self.lengths.hold(false);
            if let State::Held(Held { envelope, body, cost, .. }) = self.free_op(op) {
                if let Body::Pushed { message, .. } = body {
                    self.peers[envelope.source].inbound.end(message);
                }
                self.give_back(envelope.source, cost);
            }
        }
        held
    }

    /// Whether the context was freed here. A context that is unknown here is open: its communicator may be created
    /// elsewhere first.
    pub(super) fn is_closed(&self, context: Context) -> bool {
        self.least.get(queues::slot(context)).is_some_and(|&least| context.generation() < least)
    }

    /// Whether the peer was declared lost, or its number belongs to a later process by now.
    pub fn is_lost(&self, peer: Peer) -> bool {
        let now = self.peers[peer].life;
        now != life(peer) && now & !LOST >= life(peer)
    }

    /// Whether the number of the peer belongs to a later process by now.
    pub(crate) fn is_former(&self, peer: Peer) -> bool {
        self.peers[peer].life & !LOST > life(peer)
    }

    /// Same as `is_lost`, but also begins the account of a process that is new under its number.
    #[inline(always)]
    pub(crate) fn is_over(&mut self, peer: Peer) -> bool {
        self.peers[peer].life != life(peer) && self.is_over_or_begins(peer)
    }

    #[cold]
    #[inline(never)]
    fn is_over_or_begins(&mut self, peer: Peer) -> bool {
        if self.is_lost(peer) {
            return true;
        }
        let state = &mut self.peers[peer];
        if state.life & LOST != 0 {
            *state = PeerState::new(self.limits.window, 0);
        }
        // The counts so far belong to its first message, which bypassed this check (`took_directly`).
        state.life = life(peer);
        false
    }

    /// Forgets a lost peer, so that a later process can have its number. False: it is not lost, or the program may
    /// still receive a message of it that is kept as unexpected.
    pub fn forget(&mut self, peer: Peer) -> bool {
        let is_of = |state: &State| matches!(state, State::Held(held) if held.envelope.source == peer);
        if self.is_former(peer) {
            return true;
        }
        if !self.is_lost(peer) || self.ops.iter().any(is_of) {
            return false;
        }
        self.due.retain(|&other| other != peer);
        self.gone.retain(|&other| other != peer);
        self.peers[peer] = PeerState::new(self.limits.window, life(peer) + 1);
        self.boxes.iter_mut().flatten().for_each(|queues| queues.forget(peer));
        true
    }

    /// Returns all peers that are gone.
    pub fn gone(&self) -> &[Peer] {
        &self.gone
    }

    /// Returns the account with a peer, for checkers and for `hawser-info --stats`.
    pub fn ledger(&self, peer: Peer) -> Ledger {
        let state = &self.peers[peer];
        let held = self.ops.iter().filter_map(|state| match state {
            State::Held(held) if held.envelope.source == peer => Some(held.cost),
            _ => None,
        });
        Ledger {
            credit: state.credit,
            owed: state.owed,
            held: held.sum(),
            sent: state.sent,
            accepted: state.accepted,
            made: state.offers.made.iter().map(|offer| offer.number).collect(),
            given: state.offers.given.iter().map(|offer| offer.number).collect(),
            streams: state.inbound.len(),
        }
    }
}
