//! What travels between two engines, without payload. `mpi::wire` encodes it; the order of packets from
//! one peer on one lane is kept by the transport, except `Data`: it comes behind the packets that were sent
//! before it, but in any order among its kind, and later packets may overtake it.
//!
//! `send` is the number of the sender's operation: it is echoed to the sender, and is free for the next
//! send once that one has ended. `message` is the serial number of the message, counted by both sides from
//! the packets that begin one; bytes that are late still find their own message by it.

use hawser_base::Context;

/// Names memory for a device that can reach it from the other side: a send's, to be read, or a receive's, to be
/// written. Opaque to the engine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key(pub [u64; 3]);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Packet {
    /// A whole message; all of its bytes are the payload.
    Eager { context: Context, tag: i32 },
    /// A message that is pushed without asking; the payload is its front, the rest comes as `Data`.
    Push { context: Context, tag: i32, bytes: u64 },
    /// A message that waits for the receiver's word; the payload is its front.
    Ask { context: Context, tag: i32, bytes: u64, send: u32, key: Option<Key> },
    /// A message that answers an offer, and fits its room; all its bytes come as `Data`.
    Answer { context: Context, tag: i32, bytes: u64, offer: u32 },
    /// Bytes of the message with the serial number `message`, from byte `at` on.
    Data { message: u32, at: u64 },
    /// Grants the request of `send`: its bytes from `from` until `until` are to come, streamed, or written to where
    /// `key` names the receive buffer. Nothing else carries such a key: a receive that is granted has its message
    /// and cannot be cancelled any more, so that nobody writes into memory that was taken back.
    Grant { send: u32, from: u64, until: u64, key: Option<Key> },
    /// All granted bytes of the message with the serial number `message` were written.
    Written { message: u32 },
    /// The receiver has all that it wants of `send`.
    Done { send: u32 },
    /// The write protocol: a receive is posted for you. `number` counts offers, `accepted` the messages
    /// that were accepted from you before it (MPI/MBCF §3.1.2).
    Offer { context: Context, tag: Option<i32>, room: u64, number: u32, accepted: u32 },
    /// Your offer `number`, and all after it, came too late: offer again from that number on.
    Stale { number: u32 },
    /// The offer `number` no longer stands; `accepted` as in `Offer`.
    Withdraw { number: u32, accepted: u32 },
    /// Forget the request of `send`.
    Cancel { send: u32 },
    /// The answer to `Cancel`.
    Cancelled { send: u32, yes: bool },
    /// Window given back, in bytes.
    Credit { bytes: u64 },
}
