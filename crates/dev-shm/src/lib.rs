//! Floor 3: the shared-memory device, between the ranks of one host.
//!
//! A packet is a line of 64 bytes in a ring of its ordered pair and lane, and more lines if it is short, or
//! chunks of its sender's pool if it is long. Nothing is connected and nothing is passed: where a ring lies
//! follows from (receiver, lane, sender). A port never waits for a peer but inside `Payload`, and there only
//! while the peer is in the middle of writing a packet.
//!
//! The walk of a packet: `port` (room, choice of form) -> `ring` over `memory` (lines) or `pool` (chunks) ->
//! `attention` and the doorbell of `job` -> the receiver's `port` -> `payload` -> the transport's delivery.
//! Before it: `transport`, which sees only `device`'s contract. After it: `job` (whose segment this lies in).

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
