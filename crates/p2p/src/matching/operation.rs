//! Operations as the engine keeps and reports them: envelopes, effects, outcomes, and how far each one has come.
//!
//! Data alone. Before it: `engine`, `post`, `arrive`, `cancel`, `offers`; after it: `packet`.

use super::packet::{Key, Packet};
use super::queues::Want;
use hawser_base::{Class, Context, Peer};

/// An operation of this lane: a send, a receive, or a message that arrived before its receive. The index
/// of the buffer that `lane` keeps for it.
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
pub enum State {
    Free,
    Send(Sending),
    Recv(Receiving),
    Held(Held),
}

/// A send that did not end at once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sending {
    pub to: Peer,
    pub envelope: Envelope,
    /// Its serial number among the messages to `to`.
    pub message: u32,
    pub phase: SendPhase,
    /// The receiver was asked to forget it, and its answer is under way.
    pub cancel_asked: bool,
}

/// Waiting -> Streaming -> gone, or Waiting -> gone; to Ended instead of gone while `cancel_asked`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SendPhase {
    /// The request is out; the receiver will grant, pull, or acknowledge.
    Waiting,
    /// Bytes are under way; ends with `streamed` or `written`.
    Streaming,
    /// It has ended for the application; the answer to a cancellation is still awaited.
    Ended,
}

/// Posted -> Matched -> gone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Receiving {
    Posted(Waiting),
    Matched(Inbound),
}

/// A receive that no message was matched with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Waiting {
    pub want: Want,
    pub room: u64,
    /// When it was posted, by the engine's clock.
    pub order: u64,
    /// The number of its offer, if one stands at its source.
    pub offered: Option<u32>,
}

/// A message on its way into a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Inbound {
    pub envelope: Envelope,
    /// The buffer's size; what lies beyond is dropped and the receive ends with MPI_ERR_TRUNCATE.
    pub room: u64,
    /// Bytes that came so far, dropped ones included.
    pub arrived: u64,
    /// Bytes that will come.
    pub expected: u64,
    /// The request, while the sender's memory is being read.
    pub pulled: Option<Request>,
    /// The sender's request was granted: it may say that it has written everything.
    pub granted: bool,
}

impl Inbound {
    /// A message whose first `arrived` bytes are here, and all of which will come.
    pub fn new(envelope: Envelope, room: u64, arrived: u64) -> Inbound {
        Inbound { envelope, room, arrived, expected: envelope.bytes, pulled: None, granted: false }
    }
}

/// A message that arrived before its receive.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Held {
    pub envelope: Envelope,
    pub body: Body,
    /// Taken out of the queue by a matched probe.
    pub claimed: bool,
    /// When it arrived, by the engine's clock.
    pub order: u64,
    /// What its acceptance gives back to the sender's window.
    pub cost: u64,
}

impl Held {
    /// All bytes are here, though the sender may wait for the word that they were received.
    pub fn is_whole(&self) -> bool {
        match self.body {
            Body::Whole => true,
            Body::Pushed { .. } => false,
            Body::Asked { first, .. } => first == self.envelope.bytes,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Body {
    /// All of it is here.
    Whole,
    /// It is being pushed; `arrived` bytes are here, none beyond `end`.
    Pushed { message: u32, arrived: u64, end: u64 },
    /// The first `first` bytes are here, the rest waits at the sender, or can be read there.
    Asked { request: Request, first: u64, key: Option<Key> },
}

/// A message that waits for our word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// Its serial number, by which its bytes will come.
    pub message: u32,
    /// The sender's operation, by which it is answered.
    pub send: u32,
}
