//! The state of one lane's matching: operations, queues of each context, accounts of each peer.
//!
//! The effects of calls and packets on it are in `post`, `arrive`, `cancel` and `offers`. Before it: those; after it:
//! `queues`, `streams`, `operation`.

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

/// What the engine knows of a peer: fixed and small (docs/adr/0017-a-process-is-not-a-rank.md).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PeerState {
    /// Window left for eager payload to the peer, in bytes.
    pub(super) credit: u64,
    /// Window that we owe back to the peer, in bytes.
    pub(super) owed: u64,
    /// Messages sent to the peer, and accepted from it: the serial numbers of MPI/MBCF §3.1.2.
    pub(super) sent: u32,
    pub(super) accepted: u32,
    /// Which life of its number it is of; with LOST if it is gone.
    pub(super) life: u16,
    pub(super) offers: PeerOffers,
    pub(super) inbound: Streams,
}

/// When window that is owed to a peer is to be paid.
enum Due {
    NotYet,
    /// When there is nothing better to do.
    Soon,
    Now,
}

impl PeerState {
    /// Owes the peer `cost` bytes more of the `window`.
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

/// In `PeerState::life`: the peer is gone.
pub(super) const LOST: u16 = 1 << 15;
const _: () = assert!(Peer::LIVES < LOST as u32);

/// The life of a peer's number.
#[inline(always)]
pub(super) fn life(peer: Peer) -> u16 {
    peer.life() as u16
}

/// A peer's account: our window at it, its window at us, and what is open between us.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ledger {
    /// Window left for eager payload to the peer, in bytes.
    pub credit: u64,
    /// Window that we owe back to the peer, in bytes.
    pub owed: u64,
    /// Window that the peer's held messages cost, in bytes.
    pub held: u64,
    /// Messages sent to the peer, and accepted from it.
    pub sent: u32,
    pub accepted: u32,
    /// Numbers of our offers that stand at the peer, and of the peer's that stand here.
    pub made: Vec<u32>,
    pub given: Vec<u32>,
    /// Messages of the peer whose bytes are still coming.
    pub streams: usize,
}

/// The state of one lane.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Engine {
    pub(super) limits: Limits,
    pub(super) ops: Vec<State>,
    pub(super) free: Vec<u32>,
    pub(super) boxes: Vec<Option<Box<Matchbox>>>,
    /// For each of those the least generation that is let in: earlier communicators of the number are closed.
    pub(super) least: Vec<u32>,
    pub(super) peers: Paged<PeerState>,
    pub(super) effects: VecDeque<Effect>,
    /// Peers to which we owe a packet's worth of window.
    pub(super) due: Vec<Peer>,
    /// Orders posted receives, and arrived messages, among sources.
    pub(super) clock: u64,
    /// Receives that wait for a message of any source.
    pub(super) any_source: u32,
    /// Peers that are gone, in the order in which that was said.
    pub(super) gone: Vec<Peer>,
    pub(super) lengths: Lengths,
}

impl PeerState {
    /// Of a peer that was not spoken to.
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

    /// How long the queues are, also while they change.
    pub fn lengths(&self) -> &Arc<QueueLengths> {
        self.lengths.shared()
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The next thing to do; the caller asks until there is none.
    #[inline]
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Something is to be done.
    #[inline(always)]
    pub fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    /// Whether a short eager message to `to` may bypass the engine: window left, no offer to answer.
    /// It then counts as sent (the leanest path; `start_send` is the same without the short cut).
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

    /// The same for a message that is pushed in several packets at once: its serial number.
    #[inline]
    pub fn quick_push(&mut self, to: Peer, bytes: u64) -> Option<u32> {
        self.quick_send(to, bytes).then(|| self.peers[to].sent)
    }

    /// Takes back a `quick_send` whose packet the device refused.
    #[inline]
    pub fn undo_quick_send(&mut self, to: Peer, bytes: u64) {
        let peer = &mut self.peers[to];
        peer.credit += cost(bytes);
        peer.sent = peer.sent.wrapping_sub(1);
    }

    /// Whether there is window left for a message of `bytes` bytes to `to`.
    #[inline]
    pub fn has_credit(&self, to: Peer, bytes: u64) -> bool {
        self.peers[to].credit >= cost(bytes)
    }

    /// Whether the next eager message of `context` from `from` with a fitting tag belongs to whoever asks
    /// now: nothing is posted, nothing is queued that could come first.
    #[inline(always)]
    pub fn quick_recv(&self, context: Context, from: Peer) -> bool {
        match self.boxes.get(queues::slot(context)) {
            Some(Some(found)) => found.is_idle_for(from),
            _ => true,
        }
    }

    /// Counts an eager message that `quick_recv` allowed to be taken straight from the device.
    #[inline(always)]
    pub fn took_directly(&mut self, from: Peer, bytes: u64) {
        let peer = &mut self.peers[from];
        peer.accepted = peer.accepted.wrapping_add(1);
        let due = peer.owe(cost(bytes), self.limits.window);
        self.pay_when(due, from);
    }

    /// Whether a packet of `from` is waited for: a receive that may take a message of its is posted, or bytes of one
    /// are to come.
    #[inline]
    pub fn expects(&self, from: Peer) -> bool {
        let peer = &self.peers[from];
        peer.offers.receives() > 0 || self.any_source > 0 || peer.inbound.len() > 0
    }

    /// Some send has not ended: its bytes are under way, or its receiver has yet to say a word.
    pub fn has_open_sends(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, State::Send(sending) if sending.phase != SendPhase::Ended))
    }

    /// Nothing is queued, held, under way or to be done. What credit is owed does not count.
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

    /// Counts a message that begins; its serial number.
    #[inline(always)]
    pub(super) fn accepted(&mut self, from: Peer) -> u32 {
        let peer = &mut self.peers[from];
        peer.accepted = peer.accepted.wrapping_add(1);
        peer.accepted
    }

    /// Nobody speaks to a peer that is gone.
    pub(super) fn transmit(&mut self, to: Peer, packet: Packet) {
        if !self.is_lost(to) {
            self.effects.push_back(Effect::Transmit { to, packet });
        }
    }

    /// Owes `cost` to the peer's window. A quarter of it is worth a packet, which goes when there is nothing better to
    /// do: the program waits for the message that was matched. Half of it goes at once, or the peer would soon have to
    /// ask.
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

    /// Pays what is worth a packet.
    #[inline]
    pub fn pay_dues(&mut self) {
        while let Some(to) = self.due.pop() {
            // It was paid meanwhile, if it came to half.
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

    /// The context is freed: messages that nobody received go with it, and give their window back; those that
    /// come yet are let in no more.
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

    /// The context was freed here. One that is not known here yet is open: its communicator may be made first
    /// elsewhere.
    pub(super) fn is_closed(&self, context: Context) -> bool {
        self.least.get(queues::slot(context)).is_some_and(|&least| context.generation() < least)
    }

    /// The peer was declared lost, or its number is another one's by now.
    pub fn is_lost(&self, peer: Peer) -> bool {
        let now = self.peers[peer].life;
        now != life(peer) && now & !LOST >= life(peer)
    }

    /// The number of the peer is another one's by now.
    pub(crate) fn is_former(&self, peer: Peer) -> bool {
        self.peers[peer].life & !LOST > life(peer)
    }

    /// The same as `is_lost`; of one who is new under its number the account begins.
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
        // What counts already is of its first message, which came past here (`took_directly`).
        state.life = life(peer);
        false
    }

    /// Forgets a peer that is lost, for whoever gets its number next. False: it is not lost, or a message of its is
    /// held that the program may receive yet.
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

    /// All peers that were.
    pub fn gone(&self) -> &[Peer] {
        &self.gone
    }

    /// What stands between us and a peer, for checkers and for `hawser-info --stats`.
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
