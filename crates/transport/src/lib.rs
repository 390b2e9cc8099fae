//! Floor 4: which device reaches a peer, what waits to be sent, when to spin and when to sleep.
//!
//! It knows neither messages nor frames: packets of a header and a payload pass through. Before it:
//! `mpi::pt2pt`. After it: the devices, behind `device::Port`.

#![forbid(unsafe_code)]

mod channel;
mod fabric;
mod hog;
mod idle;
mod polling;
mod receivers;
mod standby;

pub use channel::{Channel, Control};
pub use fabric::Fabric;
pub use idle::{Asleep, Idle, Patience, SPIN, YIELD, wait_peer};
pub use receivers::Receiver;
pub use standby::Standby;
