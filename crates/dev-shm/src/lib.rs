//! Layer 3: the shared-memory device, between the ranks of one host.
//!
//! A packet is one ring slot of 64 bytes in the ring of its ordered pair and lane, with further slots if it is short,
//! or chunks of its sender's pool if it is long. There is no connection and no handshake: the place of a ring follows
//! from (receiver, lane, sender). A port never waits for a peer except inside `Payload`, and there only while the peer
//! is in the middle of writing a packet.
//!
//! The route of a packet: `port` (space, choice of form) -> `ring` over `memory` (ring slots) or `pool` (chunks) ->
//! `attention` and the doorbell of `job` -> the receiver's `port` -> `payload` -> the transport's delivery. Used by
//! `transport`, which sees only the contract of `device`. Uses `job`, whose segment holds the device area.

mod attention;
mod copy;
mod device;
mod distance;
#[cfg(test)]
mod dying;
mod exposure;
mod life;
mod line;
mod memory;
mod payload;
mod port;
mod remote;

/// Public for the model checker (`tests/loom.rs`) and the fuzz target (`tests/fuzz_memory.rs`) alone.
#[doc(hidden)]
pub mod layout;
#[doc(hidden)]
pub mod loan;
#[doc(hidden)]
pub mod pool;
#[doc(hidden)]
pub mod ring;
#[doc(hidden)]
pub mod watch;

pub use device::{PIECE, ShmDevice, limits};
pub use exposure::PROCESS_VM_FROM;
