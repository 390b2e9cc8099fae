//! Layer 0, for tests alone: a simulated network that carries bytes between nodes, with a virtual clock. Tests may
//! change its faults during a run. The same seed and the same calls give the same run.
//!
//! It knows nothing of the meaning of these bytes. Used by tests of `link` and other crates.

#![forbid(unsafe_code)]

mod network;
mod port;
mod rng;
mod seeds;

pub use network::{ArrivedPacket, Faults, SimLink, SimNetwork};
pub use port::SwitchPort;
pub use rng::Rng;
pub use seeds::{env_number, for_each_seed, seeds, try_seed};
