//! Layer 0, for tests alone: a simulated network of opaque bytes between nodes, with a virtual clock, whose faults
//! tests change while it runs. The same seed and the same calls give the same run.
//!
//! It knows nothing of what it carries. Used by tests of `link`.

#![forbid(unsafe_code)]

mod dice;
mod network;
mod port;
mod seeds;

pub use dice::Dice;
pub use network::{Arrival, Faults, Network, Wire};
pub use port::Port;
pub use seeds::{asked, each_seed, failure, seeds};
