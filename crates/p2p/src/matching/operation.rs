//! Operations as the engine stores and reports them: envelopes, effects, outcomes and states. Data alone.
//!
//! Used by `engine`, `post`, `arrive`, `cancel` and `offers`; uses `packet`.

use super::packet::{Key, Packet};
use super::queues::Want;
use hawser_base::{Class, Context, Peer};

/// An operation of this lane: a send, a receive, or an unexpected message. It is the index of the memory that `lane`
/// keeps for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Op(pub u32);

/// The envelope of a message: context, sender (of a send: receiver), tag and length.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Envelope {
    pub context: Context,
    pub source: Peer,
    pub tag: i32,
    pub bytes: u64,
}

/// The place of a packet's payload. The caller fills it before it carries out the effects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// There is no payload, or it is discarded.
    Drop,
    /// Into the buffer of `op`, from its byte `at` on; at most `room` bytes, the rest is dropped.
    Into { op: Op, at: u64, room: u64 },
    /// Into a new buffer of `bytes` bytes kept for the unexpected message `op`, at its front.
    Hold { op: Op, bytes: u64 },
}

/// An action for the lane, carried out in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// Send this packet; it carries no payload.
    Transmit { to: Peer, packet: Packet },
    /// Drop the buffer of the unexpected message; no receive will take it.
    Discard { held: Op },
    /// Copy the first `bytes` of the unexpected message `held` to the front of `op`'s buffer, then drop the former's
    /// memory.
    Release { held: Op, op: Op, bytes: u64 },
    /// Stream the send `op` to its peer: its bytes `from .. until` as `Packet::Data { message, .. }`; then
    /// call `streamed`, unless `op` completed with an error meanwhile.
    Stream {
        op: Op,
        to: Peer,
        message: u32,
        from: u64,
        until: u64,
        /// Order-free: the receiver knows where they belong; they may arrive in any order, and before earlier packets.
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
    /// Whether the effect needs the peer to be alive.
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

/// The outcome of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Outcome {
    /// For a receive, the envelope of its message, where `bytes` is what was placed. For a send, its own envelope.
    pub envelope: Envelope,
    pub error: Option<Class>,
    pub cancelled: bool,
}

/// Sizes that decide the method; from the device's cost model and the parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// Longest message that travels in one packet, in bytes.
    pub packet: u64,
    /// Longest message that is sent eagerly, without an RTS, in bytes.
    pub eager: u64,
    /// First bytes that are sent with an RTS, in bytes; at most `packet`.
    pub first: u64,
    /// Shortest receive that is worth an RTR, in bytes; above `eager` a message would otherwise wait.
    pub offer: u64,
    /// Payload that a peer may have in flight to us unmatched, in bytes (docs/adr/0005-credits.md).
    pub window: u64,
}

/// The least credit that a message occupies, in bytes: its entry in the unexpected queue.
pub const MESSAGE_COST: u64 = 64;

/// Returns the credit that a message of `bytes` bytes occupies, in bytes.
#[inline(always)]
pub fn cost(bytes: u64) -> u64 {
    if bytes > MESSAGE_COST { bytes } else { MESSAGE_COST }
}

/// The engine's state of an operation.
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
    /// A cancel request was sent to the receiver, and its reply is pending.
    pub cancel_asked: bool,
}

/// Waiting -> Streaming -> removed, or Waiting -> removed; to Ended instead while `cancel_asked`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SendPhase {
    /// The RTS is sent; the receiver will reply with a CTS, read the bytes, or send a FIN.
    Waiting,
    /// Bytes are in flight; ends with `streamed` or `written`.
    Streaming,
    /// The send has ended for the application; the reply to a cancellation is still pending.
    Ended,
}

/// Posted -> Matched -> removed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Receiving {
    Posted(Waiting),
    Matched(Inbound),
}

/// A posted receive that no message has matched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Waiting {
    pub want: Want,
    pub room: u64,
    /// The time of posting, by the engine's clock.
    pub order: u64,
    /// The number of its RTR, if one stands at its source.
    pub offered: Option<u32>,
}

/// A matched message that is arriving in a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Inbound {
    pub envelope: Envelope,
    /// The buffer's size, in bytes; bytes beyond it are dropped and the receive ends with MPI_ERR_TRUNCATE.
    pub room: u64,
    /// Bytes that have arrived so far, dropped ones included.
    pub arrived: u64,
    /// Bytes that will have arrived in the end.
    pub expected: u64,
    /// The RTS, while the sender's memory is being read.
    pub pulled: Option<Request>,
    /// A CTS was sent: a PUT_DONE of the sender is valid.
    pub granted: bool,
}

impl Inbound {
    /// A message whose first `arrived` bytes are here, and all of which will arrive.
    pub fn new(envelope: Envelope, room: u64, arrived: u64) -> Inbound {
        Inbound { envelope, room, arrived, expected: envelope.bytes, pulled: None, granted: false }
    }
}

/// An unexpected message: it arrived before its receive.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Held {
    pub envelope: Envelope,
    pub body: Body,
    /// Whether a matched probe took it out of the queue.
    pub claimed: bool,
    /// The time of arrival, by the engine's clock.
    pub order: u64,
    /// Credit that its acceptance returns to the sender, in bytes.
    pub cost: u64,
}

impl Held {
    /// Whether all bytes are here, though the sender may still wait for the FIN.
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
    /// All bytes are here.
    Whole,
    /// An eager stream; `arrived` bytes are here, none beyond `end`.
    Pushed { message: u32, arrived: u64, end: u64 },
    /// An RTS; the first `first` bytes are here, the rest waits at the sender, or can be read there.
    Asked { request: Request, first: u64, key: Option<Key> },
}

/// An RTS that waits for our CTS or FIN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// The serial number of the message, by which its bytes will arrive.
    pub message: u32,
    /// The sender's operation, which the reply names.
    pub send: u32,
}
