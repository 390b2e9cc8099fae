//! Matching and the three transfer methods, as one state machine without I/O.
//!
//! Each lane has one `Engine`. Its inputs are calls of the application and packets from peers; its outputs are a place
//! for the payload at hand, and effects (packets to transmit, streams to start, operations that completed). The engine
//! holds no buffer, no clock and no device handle, so the same code runs under `lane` and under the checker that
//! explores every interleaving of small programs (`tests/interleavings.rs`).
//!
//! The methods (docs/adr/0006-three-ways-to-send.md); `method` chooses. For a message that is not sent eagerly, the
//! choice depends on whether the send or the receive was first (the precedence of MPI/MBCF §3.1):
//! - *eager*: the message is short and the sender has credit: it travels at once, whole or as an eager stream;
//! - *RTR*, the write protocol: the receive was first, is long, and its source is known: an RTR (`Rtr`) travels
//!   ahead, and the sender replies to it without an RTS (`rtr.rs` holds the serial numbers that settle races);
//! - *rendezvous*: the sender was first and the message is long or out of credit, or the send is synchronous: the RTS
//!   carries the envelope and the first bytes, the rest waits for the CTS. If a device reaches the other side's
//!   memory, the rest is copied once: the receiver reads it by the rkey of the RTS, or the sender writes it by the
//!   rkey of the CTS (the handshake protocol of MP_Lite §3.6.2).
//!
//! Used by `send`, `recv` and `lane` (packets in each peer's order), which also carries out the effects; it uses no
//! module of this crate outside `matching`.

mod arrive;
mod cancel;
mod engine;
mod limits;
pub mod method;
pub mod method_table;
mod operation;
mod packet;
mod post;
mod queue;
mod queue_lengths;
mod queues;
mod rtr;
mod streams;

pub use arrive::{InvalidPacket, WholeOutcome};
pub use engine::{CreditAccount, Engine, PeerState};
pub use limits::{PeerLimits, ProtocolLimits};
pub use operation::{Effect, Envelope, MESSAGE_COST, OpId, OpOutcome, PayloadPlacement, cost};
pub use packet::{BufferKey, Packet};
pub use post::{PostOutcome, SendSpec, SendStart};
pub use queue_lengths::QueueLengths;
pub use queues::MatchSpec;
