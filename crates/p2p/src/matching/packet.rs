//! The packets between two matching engines, without payload. `p2p::wire` encodes them. The transport keeps the order
//! of packets from one peer on one lane, except for `Data`: `Data` packets may arrive in any order among each other,
//! and later packets may overtake them. A `Data` packet arrives after the other packets that were sent before it,
//! except if it is order-free (`Effect::Stream`).
//!
//! `send` is the number of the sender's operation, which the receiver repeats in its replies; when that send has
//! ended, another one may get the number. `message` is the serial number of a message: both sides count the packets
//! that begin a message. By it even late bytes find their own message.

use hawser_base::Context;

/// An rkey: it names memory to a device that can access this memory from the other side. The memory of a send is
/// read, that of a receive is written. The engine does not interpret it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BufferKey(pub [u64; 3]);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Packet {
    /// A whole message, all bytes of which are the payload.
    Eager { context: Context, tag: i32 },
    /// The first packet of an eager stream; the payload is its first bytes, the rest follows as `Data`.
    EagerFirst { context: Context, tag: i32, bytes: u64 },
    /// RTS: a message that waits for the receiver's CTS; the payload is its first bytes.
    Rts { context: Context, tag: i32, bytes: u64, send: u32, key: Option<BufferKey> },
    /// RTR reply: a message that fits the capacity of an RTR; all its bytes follow as `Data`.
    RtrReply { context: Context, tag: i32, bytes: u64, rtr: u32 },
    /// Bytes of the message with the serial number `message`, from byte `at` on.
    Data { message: u32, at: u64 },
    /// CTS for the RTS of `send`: the sender is to transmit bytes `from .. until`, streamed, or written to the receive
    /// buffer that `key` names. No other packet carries such a key: a receive whose CTS was sent has its message and
    /// cannot be cancelled any more, so that no peer writes into memory that was taken back.
    Cts { send: u32, from: u64, until: u64, key: Option<BufferKey> },
    /// PUT_DONE: all bytes that the CTS permitted, of the message with the serial number `message`, were written.
    PutDone { message: u32 },
    /// FIN: the receiver has all that it needs of `send`.
    Fin { send: u32 },
    /// RTR of the write protocol: a receive is posted. `number` counts RTRs, `accepted` the messages that the receiver
    /// had accepted from the sender before it (MPI/MBCF §3.1.2).
    Rtr { context: Context, tag: Option<i32>, capacity: u64, number: u32, accepted: u32 },
    /// RTR refusal: the RTR `number` and all after it came too late; the receiver sends them again from that number on.
    RtrRefusal { number: u32 },
    /// RTR cancel: the RTR `number` is taken back; `accepted` as in `Rtr`.
    RtrCancel { number: u32, accepted: u32 },
    /// Cancel request: the receiver is to forget the RTS of `send`.
    Cancel { send: u32 },
    /// The reply to `Cancel`.
    CancelReply { send: u32, cancelled: bool },
    /// Returned credit, in bytes.
    Credit { bytes: u64 },
}

impl Packet {
    /// Returns the length, in bytes, of the message that this packet begins; None if it begins none, or a whole one,
    /// whose length is that of the payload.
    #[inline]
    pub fn begun_message(&self) -> Option<u64> {
        match *self {
            Packet::EagerFirst { bytes, .. } | Packet::RtrReply { bytes, .. } | Packet::Rts { bytes, .. } => {
                Some(bytes)
            }
            _ => None,
        }
    }
}
