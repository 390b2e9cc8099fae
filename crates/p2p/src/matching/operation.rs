//! Operations as the engine stores and reports them: envelopes, effects, outcomes and states. It contains data only.
//!
//! Used by `engine`, `post`, `arrive`, `cancel` and `rtr`; uses `packet`.

use super::packet::{BufferKey, Packet};
use super::queues::MatchSpec;
use hawser_base::{Class, Context, Peer};

/// An operation of this lane: a send, a receive, or an unexpected message. It is the index of the memory that `lane`
/// keeps for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct OpId(pub u32);

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
pub enum PayloadPlacement {
    /// There is no payload, or it is discarded.
    Drop,
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
    /// Copy the first `bytes` of the message `unexpected` to the front of `op`'s buffer, then drop the former's
    /// memory.
    CopyUnexpected { unexpected: OpId, op: OpId, bytes: u64 },
    /// Stream the send `op` to its peer: its bytes `from .. until` as `Packet::Data { message, .. }`; then call
    /// `stream_done`, unless `op` completed with an error meanwhile.
    Stream {
        op: OpId,
        to: Peer,
        message: u32,
        from: u64,
        until: u64,
        /// Order-free: the receiver knows where they belong; they may arrive in any order, and before earlier packets.
        order_free: bool,
    },
    /// Read the bytes `from .. until` of the peer's exposed buffer into `op`'s; then call `pull_done`, unless `op`
    /// completed with an error meanwhile.
    Pull { op: OpId, peer: Peer, key: BufferKey, from: u64, until: u64 },
    /// Send `Packet::Cts { send, from, until, .. }`, with a key if `op`'s buffer can be written by the peer.
    SendCts { op: OpId, to: Peer, send: u32, from: u64, until: u64 },
    /// Write the bytes `from .. until` of the send `op` into the peer's buffer; then call `write_done`, unless `op`
    /// completed with an error meanwhile.
    Write { op: OpId, to: Peer, key: BufferKey, from: u64, until: u64 },
    /// The operation has ended; the engine has forgotten it.
    Complete { op: OpId, outcome: OpOutcome },
}

impl Effect {
    /// Whether the effect needs the peer to be alive.
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
    /// For a receive, the envelope of its message, where `bytes` is what was placed. For a send, its own envelope.
    pub envelope: Envelope,
    pub error: Option<Class>,
    pub cancelled: bool,
}

/// The sizes that decide the method; they come from the device's cost model and the parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ProtocolLimits {
    /// Longest message that travels in one packet, in bytes.
    pub packet: u64,
    /// Longest message that is sent eagerly, without an RTS, in bytes.
    pub eager: u64,
    /// First bytes that are sent with an RTS, in bytes; at most `packet`.
    pub first: u64,
    /// Shortest receive that is worth an RTR, in bytes; above `eager` a message would otherwise wait.
    pub rtr_min: u64,
    /// Payload that a peer may have in flight to us unmatched, in bytes (docs/adr/0005-credits.md).
    pub credit: u64,
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
    /// A cancel request was sent to the receiver, and its reply is pending.
    pub cancel_pending: bool,
}

/// Waiting -> Streaming -> removed, or Waiting -> removed; to Ended instead while `cancel_pending`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SendPhase {
    /// The RTS is sent; the receiver will reply with a CTS, read the bytes, or send a FIN.
    Waiting,
    /// Bytes are in flight; ends with `stream_done` or `write_done`.
    Streaming,
    /// The send has ended for the application; the reply to a cancellation is still pending.
    Ended,
}

/// Posted -> Matched -> removed.
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
    /// The number of its RTR, if one stands at its source.
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
    /// The RTS, while the sender's memory is being read.
    pub reading: Option<RtsInfo>,
    /// A CTS was sent: a PUT_DONE of the sender is valid.
    pub cts_sent: bool,
}

impl IncomingMessage {
    /// A message whose first `arrived` bytes are here, and all of which will arrive.
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
    /// Credit that its acceptance returns to the sender, in bytes.
    pub cost: u64,
}

impl UnexpectedMessage {
    /// Whether all bytes are here, though the sender may still wait for the FIN.
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
