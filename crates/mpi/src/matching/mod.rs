//! Matching and the three transfer methods, as one state machine without I/O.
//!
//! One `Engine` a lane. Calls of the application and packets from peers go in; what has to be done comes
//! out: a placement for the payload at hand, and effects (packets to transmit, streams to start,
//! operations that completed). The engine holds no buffer, no clock and no handle of a device, so the
//! same code runs under `mpi::pt2pt` and under the checker that walks every interleaving
//! (`tests/interleavings.rs`).
//!
//! The methods (docs/adr/0006-three-ways-to-send.md), chosen by precedence as in MPI/MBCF §3.1:
//! - *eager*: the sender was first and has credit: the message travels at once, whole or as a push stream;
//! - *RTR*, the write protocol: the receive was first and its source is known: an offer travels ahead,
//!   and the sender answers it without asking (`offers.rs` holds the serial numbers that settle races);
//! - *rendezvous*: the sender was first and is long, or out of credit: the envelope and the first bytes
//!   travel, the rest waits for the receiver's word. Where a device can reach the other side's memory the rest
//!   is copied once: the receiver reads it by the request's key, or the sender writes it by the grant's (the
//!   handshake protocol of MP_Lite §3.6.2).
//!
//! Before it: `pt2pt` (checked arguments) and `transport` (packets in each peer's order). After it:
//! `pt2pt` again, which carries the effects out.

mod arrive;
mod cancel;
mod lengths;
mod offers;
mod packet;
mod post;
mod queue;
mod queues;
mod streams;

pub use arrive::{Stray, Whole};
pub use lengths::Shared as QueueLengths;
pub use packet::{Key, Packet};
pub use post::{Posted, SendSpec, Start};
pub use queues::Want;

use hawser_base::{Class, Context, Peer};
use lengths::Lengths;
use offers::PeerOffers;
use queues::Matchbox;
use std::collections::VecDeque;
use std::sync::Arc;
use streams::Streams;

/// An operation of this lane: a send, a receive, or a message that arrived before its receive. The index
/// of the buffer that `pt2pt` keeps for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Op(pub u32);

/// Who sent a message, and how much.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Envelope {
    pub context: Context,
    pub source: Peer,
    pub tag: i32,
    pub bytes: u64,
}

/// What becomes of the payload that came with a packet. It is carried out before the effects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// There is none, or nobody wants it.
    Drop,
    /// Into the buffer of `op`, from its byte `at` on; at most `room` bytes, the rest is dropped.
    Into { op: Op, at: u64, room: u64 },
    /// Into a new buffer of `bytes` bytes kept for the unexpected message `op`, at its front.
    Hold { op: Op, bytes: u64 },
}

/// What is to be done, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// Send this packet; it carries no payload.
    Transmit { to: Peer, packet: Packet },
    /// Let the buffer of the held message go; nobody will receive it.
    Discard { held: Op },
    /// Copy the first `bytes` held for `held` to the front of `op`'s buffer and let the held buffer go.
    Release { held: Op, op: Op, bytes: u64 },
    /// Stream the send `op` to its peer: its bytes `from .. until` as `Packet::Data { message, .. }`; then
    /// call `streamed`, unless `op` completed with an error meanwhile.
    Stream {
        op: Op,
        to: Peer,
        message: u32,
        from: u64,
        until: u64,
        /// The receiver has said where they belong: they may come in any order, and before what was sent earlier.
        placed: bool,
    },
    /// Read the bytes `from .. until` of the peer's exposed buffer into `op`'s; then call `pulled`, unless
    /// `op` completed with an error meanwhile.
    Pull { op: Op, peer: Peer, key: Key, from: u64, until: u64 },
    /// Send `Packet::Grant { send, from, until, .. }`, with a key if `op`'s buffer can be written by the peer.
    Grant { op: Op, to: Peer, send: u32, from: u64, until: u64 },
    /// Write the bytes `from .. until` of the send `op` into the peer's buffer; then call `written`, unless `op`
    /// completed with an error meanwhile.
    Write { op: Op, to: Peer, key: Key, from: u64, until: u64 },
    /// The operation has ended; the engine has forgotten it.
    Complete { op: Op, outcome: Outcome },
}

impl Effect {
    /// Whether it needs the peer to be alive.
    pub fn is_with(&self, gone: Peer) -> bool {
        match *self {
            Effect::Transmit { to, .. }
            | Effect::Stream { to, .. }
            | Effect::Grant { to, .. }
            | Effect::Write { to, .. } => to == gone,
            Effect::Pull { peer, .. } => peer == gone,
            Effect::Discard { .. } | Effect::Release { .. } | Effect::Complete { .. } => false,
        }
    }
}

/// How an operation ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Outcome {
    /// For a receive, the message that it got; `bytes` is what was placed. For a send, its own envelope.
    pub envelope: Envelope,
    pub error: Option<Class>,
    pub cancelled: bool,
}

/// Sizes that decide the method; from the device's cost model and the parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// Longest message that travels in one packet, in bytes.
    pub packet: u64,
    /// Longest message that is pushed without asking, in bytes.
    pub eager: u64,
    /// First bytes that go along with a rendezvous request, in bytes; at most `packet`.
    pub first: u64,
    /// Shortest receive that is worth an offer, in bytes; above `eager` a message would otherwise wait.
    pub offer: u64,
    /// Payload that a peer may have under way to us unmatched, in bytes (docs/adr/0005-credits.md).
    pub window: u64,
}

/// What a message costs of the window at least: its entry in the unexpected queue.
pub const MESSAGE_COST: u64 = 64;

/// What a message of `bytes` bytes costs of its peer's window.
#[inline(always)]
pub fn cost(bytes: u64) -> u64 {
    if bytes > MESSAGE_COST { bytes } else { MESSAGE_COST }
}

/// What the engine knows of an operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum State {
    Free,
    Send(Sending),
    Recv(Receiving),
    Held(Held),
}

/// A send that did not end at once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Sending {
    to: Peer,
    envelope: Envelope,
    /// Its serial number among the messages to `to`.
    message: u32,
    phase: SendPhase,
    /// The receiver was asked to forget it, and its answer is under way.
    cancel_asked: bool,
}

/// Waiting -> Streaming -> gone, or Waiting -> gone; to Ended instead of gone while `cancel_asked`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum SendPhase {
    /// The request is out; the receiver will grant, pull, or acknowledge.
    Waiting,
    /// Bytes are under way; ends with `streamed` or `written`.
    Streaming,
    /// It has ended for the application; the answer to a cancellation is still awaited.
    Ended,
}

/// Posted -> Matched -> gone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Receiving {
    Posted(Waiting),
    Matched(Inbound),
}

/// A receive that no message was matched with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Waiting {
    want: Want,
    room: u64,
    /// When it was posted, by the engine's clock.
    order: u64,
    /// The number of its offer, if one stands at its source.
    offered: Option<u32>,
}

/// A message on its way into a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Inbound {
    envelope: Envelope,
    /// The buffer's size; what lies beyond is dropped and the receive ends with MPI_ERR_TRUNCATE.
    room: u64,
    /// Bytes that came so far, dropped ones included.
    arrived: u64,
    /// Bytes that will come.
    expected: u64,
    /// The request, while the sender's memory is being read.
    pulled: Option<Request>,
    /// The sender's request was granted: it may say that it has written everything.
    granted: bool,
}

impl Inbound {
    /// A message whose first `arrived` bytes are here, and all of which will come.
    fn new(envelope: Envelope, room: u64, arrived: u64) -> Inbound {
        Inbound { envelope, room, arrived, expected: envelope.bytes, pulled: None, granted: false }
    }
}

/// A message that arrived before its receive.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Held {
    envelope: Envelope,
    body: Body,
    /// Taken out of the queue by a matched probe.
    claimed: bool,
    /// When it arrived, by the engine's clock.
    order: u64,
    /// What its acceptance gives back to the sender's window.
    cost: u64,
}

impl Held {
    /// All bytes are here, though the sender may wait for the word that they were received.
    fn is_whole(&self) -> bool {
        match self.body {
            Body::Whole => true,
            Body::Pushed { .. } => false,
            Body::Asked { first, .. } => first == self.envelope.bytes,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Body {
    /// All of it is here.
    Whole,
    /// It is being pushed; `arrived` bytes are here, none beyond `end`.
    Pushed { message: u32, arrived: u64, end: u64 },
    /// The first `first` bytes are here, the rest waits at the sender, or can be read there.
    Asked { request: Request, first: u64, key: Option<Key> },
}

/// A message that waits for our word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Request {
    /// Its serial number, by which its bytes will come.
    message: u32,
    /// The sender's operation, by which it is answered.
    send: u32,
}

/// What the engine knows of a peer: fixed and small (docs/adr/0017-a-process-is-not-a-rank.md).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PeerState {
    /// Window left for eager payload to the peer, in bytes.
    credit: u64,
    /// Window that we owe back to the peer, in bytes.
    owed: u64,
    /// Messages sent to the peer, and accepted from it: the serial numbers of MPI/MBCF §3.1.2.
    sent: u32,
    accepted: u32,
    /// The peer is gone.
    lost: bool,
    offers: PeerOffers,
    inbound: Streams,
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
    limits: Limits,
    ops: Vec<State>,
    free: Vec<u32>,
    boxes: Vec<Option<Box<Matchbox>>>,
    /// For each of those the least generation that is let in: earlier communicators of the number are closed.
    least: Vec<u32>,
    peers: Vec<PeerState>,
    effects: VecDeque<Effect>,
    /// Peers to which we owe a packet's worth of window.
    due: Vec<Peer>,
    /// Orders posted receives, and arrived messages, among sources.
    clock: u64,
    /// Receives that wait for a message of any source.
    any_source: u32,
    lengths: Lengths,
}

impl Engine {
    pub fn new(peers: usize, limits: Limits) -> Engine {
        assert!(limits.first <= limits.packet && limits.packet <= limits.eager && limits.eager <= limits.window);
        let peer = PeerState {
            credit: limits.window,
            owed: 0,
            sent: 0,
            accepted: 0,
            lost: false,
            offers: PeerOffers::default(),
            inbound: Streams::default(),
        };
        Engine {
            limits,
            ops: Vec::new(),
            free: Vec::new(),
            boxes: Vec::new(),
            least: Vec::new(),
            peers: vec![peer; peers],
            effects: VecDeque::new(),
            due: Vec::new(),
            clock: 0,
            any_source: 0,
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
        let peer = &mut self.peers[to.index()];
        let cost = cost(bytes);
        if peer.credit < cost || !peer.offers.given.is_empty() || peer.lost {
            return false;
        }
        peer.credit -= cost;
        peer.sent = peer.sent.wrapping_add(1);
        true
    }

    /// The same for a message that is pushed in several packets at once: its serial number.
    #[inline]
    pub fn quick_push(&mut self, to: Peer, bytes: u64) -> Option<u32> {
        self.quick_send(to, bytes).then(|| self.peers[to.index()].sent)
    }

    /// Takes back a `quick_send` whose packet the device refused.
    #[inline]
    pub fn undo_quick_send(&mut self, to: Peer, bytes: u64) {
        let peer = &mut self.peers[to.index()];
        peer.credit += cost(bytes);
        peer.sent = peer.sent.wrapping_sub(1);
    }

    /// Whether there is window left for a message of `bytes` bytes to `to`.
    #[inline]
    pub fn has_credit(&self, to: Peer, bytes: u64) -> bool {
        self.peers[to.index()].credit >= cost(bytes)
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
        self.accepted(from);
        self.give_back(from, cost(bytes));
    }

    /// Whether a packet of `from` is waited for: a receive that may take a message of its is posted, or bytes of one are to come.
    #[inline]
    pub fn expects(&self, from: Peer) -> bool {
        let peer = &self.peers[from.index()];
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

    fn new_op(&mut self, state: State) -> Op {
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

    fn free_op(&mut self, op: Op) -> State {
        let state = std::mem::replace(&mut self.ops[op.0 as usize], State::Free);
        debug_assert_ne!(state, State::Free);
        self.free.push(op.0);
        state
    }

    fn matchbox(&mut self, context: Context) -> &mut Matchbox {
        let slot = queues::slot(context);
        if slot >= self.boxes.len() {
            self.boxes.resize_with(slot + 1, || None);
        }
        self.boxes[slot].get_or_insert_default()
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Counts a message that begins; its serial number.
    #[inline(always)]
    fn accepted(&mut self, from: Peer) -> u32 {
        let peer = &mut self.peers[from.index()];
        peer.accepted = peer.accepted.wrapping_add(1);
        peer.accepted
    }

    /// Nobody speaks to a peer that is gone.
    fn transmit(&mut self, to: Peer, packet: Packet) {
        if !self.peers[to.index()].lost {
            self.effects.push_back(Effect::Transmit { to, packet });
        }
    }

    /// Owes `cost` to the peer's window. A quarter of it is worth a packet, which goes when there is nothing better to do: the
    /// program waits for the message that was matched. Half of it goes at once, or the peer would soon have to ask.
    #[inline(always)]
    fn give_back(&mut self, to: Peer, cost: u64) {
        let peer = &mut self.peers[to.index()];
        let was = peer.owed;
        peer.owed += cost;
        if peer.owed > 0 && peer.owed >= self.limits.window / 2 {
            self.pay(to);
        } else if peer.owed >= self.limits.window / 4 && was < self.limits.window / 4 {
            self.due.push(to);
        }
    }

    fn pay(&mut self, to: Peer) {
        let bytes = std::mem::take(&mut self.peers[to.index()].owed);
        self.transmit(to, Packet::Credit { bytes });
    }

    /// Pays what is worth a packet.
    #[inline]
    pub fn pay_dues(&mut self) {
        while let Some(to) = self.due.pop() {
            // It was paid meanwhile, if it came to half.
            if self.peers[to.index()].owed >= self.limits.window / 4 {
                self.pay(to);
            }
        }
    }

    fn complete(&mut self, op: Op, outcome: Outcome) {
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
                    self.peers[envelope.source.index()].inbound.end(message);
                }
                self.give_back(envelope.source, cost);
            }
        }
        held
    }

    /// The context was freed here. One that is not known here yet is open: its communicator may be made first
    /// elsewhere.
    fn is_closed(&self, context: Context) -> bool {
        self.least.get(queues::slot(context)).is_some_and(|&least| context.generation() < least)
    }

    /// The peer was declared lost.
    pub fn is_lost(&self, peer: Peer) -> bool {
        self.peers[peer.index()].lost
    }

    /// What stands between us and a peer, for checkers and for `hawser-info --stats`.
    pub fn ledger(&self, peer: Peer) -> Ledger {
        let state = &self.peers[peer.index()];
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
