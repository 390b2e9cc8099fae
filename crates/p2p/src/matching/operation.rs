//! Operations as the engine stores and reports them: envelopes, effects, outcomes and states. It contains data only.
//!
//! Used by `engine`, `post`, `arrive`, `cancel` and `rtr`; uses `packet`.

use super::packet::{BufferKey, Packet};
use super::queues::MatchSpec;
use hawser_base::{Class, Context, Peer};

/// An operation of this lane: a send, a receive, or an unexpected message. The number is also the index of the memory
/// that `lane` keeps for the operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct OpId(pub u32);

/// The envelope of a message: context, tag, length, and its sender (in a send: its receiver).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Envelope {
    pub context: Context,
    pub source: Peer,
    pub tag: i32,
    pub bytes: u64,
}

/// The place of a packet's payload. The caller fills it before it carries out the effects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PayloadPlacement {
    /// There is no payload, or it is discarded.
    Drop,
    /// There is no payload: the sender has written `bytes` bytes to the buffer of a receive, which ends.
    Written { bytes: u64 },
    /// Into the buffer of `op`, from its byte `at` on; at most `len` bytes, the rest is dropped.
    Into { op: OpId, at: u64, len: u64 },
    /// Into a new buffer of `bytes` bytes kept for the unexpected message `op`, at its front.
    NewUnexpected { op: OpId, bytes: u64 },
}

/// An action for the lane, carried out in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// Send this packet; it carries no payload.
    Transmit { to: Peer, packet: Packet },
    /// Drop the buffer of the unexpected message; no receive will take it.
    Discard { unexpected: OpId },
    /// Copy the first `bytes` of the message `unexpected` to the front of `op`'s buffer, then drop the memory of
    /// `unexpected`.
    CopyUnexpected { unexpected: OpId, op: OpId, bytes: u64 },
    /// Stream the send `op` to its peer: the bytes `from .. until` of its message, as `Packet::Data { message, .. }`.
    /// Then call `stream_done`, if `op` has not completed with an error meanwhile.
    Stream {
        op: OpId,
        to: Peer,
        message: u32,
        from: u64,
        until: u64,
        /// Whether the bytes are order-free: the receiver knows where they belong, so they may arrive in any order,
        /// and before earlier packets.
        order_free: bool,
    },
    /// Read the bytes `from .. until` of the peer's exposed buffer into the buffer of `op`. Then call `pull_done`, if
    /// `op` has not completed with an error meanwhile.
    Pull { op: OpId, peer: Peer, key: BufferKey, from: u64, until: u64 },
    /// Send `Packet::Cts { send, from, until, .. }`, with a key if `op`'s buffer can be written by the peer.
    SendCts { op: OpId, to: Peer, send: u32, from: u64, until: u64 },
    /// Write the bytes `from .. until` of the send `op` into the peer's buffer. Then call `write_done`, if `op` has
    /// not completed with an error meanwhile.
    Write { op: OpId, to: Peer, key: BufferKey, from: u64, until: u64 },
    /// The operation has ended. The engine has forgotten it, except for a send in `SendPhase::Ended`.
    Complete { op: OpId, outcome: OpOutcome },
}

impl Effect {
    /// Returns whether the effect needs the peer `failed` to be alive.
    pub fn is_with(&self, failed: Peer) -> bool {
        match *self {
            Effect::Transmit { to, .. }
            | Effect::Stream { to, .. }
            | Effect::SendCts { to, .. }
            | Effect::Write { to, .. } => to == failed,
            Effect::Pull { peer, .. } => peer == failed,
            Effect::Discard { .. } | Effect::CopyUnexpected { .. } | Effect::Complete { .. } => false,
        }
    }
}

/// The outcome of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OpOutcome {
    /// For a receive, the envelope of its message, in which `bytes` is the number of bytes that were placed in the
    /// buffer. For a send, its own envelope.
    pub envelope: Envelope,
    pub error: Option<Class>,
    pub cancelled: bool,
}

/// The minimum credit that a message occupies, in bytes: that of its entry in the unexpected queue.
pub const MESSAGE_COST: u64 = 64;

/// Returns the credit that a message of `bytes` bytes occupies, in bytes.
#[inline(always)]
pub fn cost(bytes: u64) -> u64 {
    if bytes > MESSAGE_COST { bytes } else { MESSAGE_COST }
}

/// The engine's state of an operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum OpState {
    Free,
    Send(SendState),
    Recv(RecvState),
    Unexpected(UnexpectedMessage),
}

/// A send that did not end at once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SendState {
    pub to: Peer,
    pub envelope: Envelope,
    /// Its serial number among the messages to `to`.
    pub message: u32,
    pub phase: SendPhase,
    /// Whether a cancel request was sent to the receiver, and the reply is pending.
    pub cancel_pending: bool,
}

/// The phase of a send. When the send ends, in whatever phase, its operation is removed; but if `cancel_pending`
/// holds then, the operation is removed only when the reply to the cancel request has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SendPhase {
    /// The RTS is sent; the receiver will reply with a CTS, read the bytes, or send a FIN.
    Waiting,
    /// Bytes are in flight; ends with `stream_done` or `write_done`.
    Streaming,
    /// The send has ended for the application; the reply to a cancellation is still pending.
    Ended,
}

hawser_base::state_machine! {
    impl SendPhase {
        start Waiting | Streaming;
        /// The receiver's CTS has arrived.
        cts_received(Waiting => Streaming);
        /// The send has ended while the reply to a cancel request is pending.
        ended_before_reply(Waiting | Streaming => Ended);
    }
}

/// The state of a receive: first Posted, then Matched, then its operation is removed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RecvState {
    Posted(PostedRecv),
    Matched(IncomingMessage),
}

/// A posted receive that no message has matched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PostedRecv {
    pub spec: MatchSpec,
    pub capacity: u64,
    /// The time of posting, by the engine's clock.
    pub order: u64,
    /// The number of its RTR, if an RTR of it waits at its source.
    pub rtr: Option<u32>,
}

/// A matched message that is arriving in a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct IncomingMessage {
    pub envelope: Envelope,
    /// The buffer's size, in bytes; bytes beyond it are dropped and the receive ends with MPI_ERR_TRUNCATE.
    pub capacity: u64,
    /// Bytes that have arrived so far, dropped ones included.
    pub arrived: u64,
    /// Bytes that will have arrived in the end.
    pub expected: u64,
    /// The RTS of the message, if the sender's memory is being read.
    pub reading: Option<RtsInfo>,
    /// Whether a CTS was sent: only then is a PUT_DONE of the sender valid.
    pub cts_sent: bool,
}

impl IncomingMessage {
    /// Makes the state of a message of which the first `arrived` bytes are here, and all bytes will arrive.
    pub fn new(envelope: Envelope, capacity: u64, arrived: u64) -> IncomingMessage {
        IncomingMessage { envelope, capacity, arrived, expected: envelope.bytes, reading: None, cts_sent: false }
    }
}

/// An unexpected message: it arrived before its receive.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct UnexpectedMessage {
    pub envelope: Envelope,
    pub body: UnexpectedBody,
    /// Whether a matched probe took it out of the queue.
    pub claimed: bool,
    /// The time of arrival, by the engine's clock.
    pub order: u64,
    /// Credit that is returned to the sender when a receive takes the message, in bytes.
    pub cost: u64,
}

impl UnexpectedMessage {
    /// Returns whether all bytes are here; the sender may still wait for the FIN.
    pub fn is_whole(&self) -> bool {
        match self.body {
            UnexpectedBody::Whole => true,
            UnexpectedBody::EagerStream { .. } => false,
            UnexpectedBody::Rts { first, .. } => first == self.envelope.bytes,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnexpectedBody {
    /// All bytes are here.
    Whole,
    /// An eager stream; `arrived` bytes are here, none beyond `end`.
    EagerStream { message: u32, arrived: u64, end: u64 },
    /// An RTS; the first `first` bytes are here, the rest waits at the sender, or can be read there.
    Rts { rts: RtsInfo, first: u64, key: Option<BufferKey> },
}

/// An RTS that waits for our CTS or FIN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RtsInfo {
    /// The serial number of the message, by which its bytes will arrive.
    pub message: u32,
    /// The sender's operation, which the reply names.
    pub send: u32,
}
