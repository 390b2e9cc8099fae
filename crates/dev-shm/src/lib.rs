//! Layer 3: the shared-memory device, between the ranks of one host.
//!
//! A packet takes a ring slot of 64 bytes in the ring of its lane and of its ordered pair of ranks (sender and
//! receiver). The rest of a short packet takes further ring slots. The payload of a long packet lies in chunks: of
//! the sender's pool, or of the receiver's pool if the sender has retained some. There is no connection and no
//! handshake: the offset of a ring follows from (receiver, lane, sender). A port never waits for a peer except inside
//! `Payload`, and there only for a peer that is in the middle of writing a packet.
//!
//! A packet passes through: `port` (space, choice of form) -> `ring` over `ring_mapping` (ring slots) or `pool`
//! (chunks) -> `notify` and the doorbell of `job` -> the receiver's `port` -> `payload` -> the transport's
//! delivery. Used by `transport`, which sees only the contract of `device`. Uses `job`, whose segment holds the
//! device area.

mod device;
mod exposure;
mod payload;
#[cfg(test)]
mod peer_death_tests;
mod peer_liveness;
mod poll_set;
mod port;
mod remote;
mod ring_mapping;
mod ring_slot;

/// Public for the model checker (`tests/loom.rs`) and the fuzz target (`tests/fuzz_memory.rs`) alone.
#[doc(hidden)]
pub mod layout;
#[doc(hidden)]
pub mod notify;
#[doc(hidden)]
pub mod pool;
#[doc(hidden)]
pub mod retained;
#[doc(hidden)]
pub mod ring;

pub use device::{PIECE, STRING_COPIES, ShmDevice, limits};
pub use exposure::PROCESS_VM_FROM;
