//! Matching and the three transfer methods, as one state machine without I/O.
//!
//! One `Engine` a lane. Calls of the application and packets from peers go in; what has to be done comes
//! out: a placement for the payload at hand, and effects (packets to transmit, streams to start,
//! operations that completed). The engine holds no buffer, no clock and no handle of a device, so the
//! same code runs under `lane` and under the checker that walks every interleaving
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
//! Before it: `outgoing`, `incoming` and `lane` (packets in each peer's order). After it: `lane` again, which carries the
//! effects out.

mod arrive;
mod cancel;
mod engine;
mod lengths;
mod offers;
mod operation;
mod packet;
mod post;
mod queue;
mod queues;
mod streams;

pub use arrive::{Stray, Whole};
pub use engine::{Engine, Ledger, PeerState};
pub use lengths::Shared as QueueLengths;
pub use operation::{Effect, Envelope, Limits, MESSAGE_COST, Op, Outcome, Place, cost};
pub use packet::{Key, Packet};
pub use post::{Posted, SendSpec, Start};
pub use queues::Want;
