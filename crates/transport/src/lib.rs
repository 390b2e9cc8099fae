//! Floor 4: which device reaches a peer, what waits to be sent, when to spin and when to sleep.
//!
//! It knows neither messages nor frames: packets of a header and a payload pass through. Before it:
//! `mpi::pt2pt`. After it: the devices, behind `device::Port`.
//!
//! # Several users in one process
//!
//! A process has one `Fabric` today, and one user has all lanes: protocols of others share its order and its room
//! (`Receiver`). For users that are independent of each other these are missing, from below:
//!
//! 1. *Names of devices*: `shm`, `ether`, `ether:eth0`, `ether:eth0:packet` read as device, adapter and method. Rails
//!    and methods are what `dev_ether::Wishes` takes from parameters; a user's wish is one more of these.
//! 2. *An endpoint each*: `Device::port` counts lanes of one user. Rings (dev-shm `Layout`), inboxes and channels of
//!    `link`'s messages are by lane, so a user is a range of lanes: `LANES` becomes a figure of the segment, lanes are
//!    given to users when they open, and rings exist at first use as they do now. One `ShmDevice` and one `EtherDevice`
//!    a process stay: a NIC is one, and link's order is by message, not by channel, so that a user that does not poll
//!    must not hold up others; its inbox needs a bound that ends in a refusal for it alone.
//! 3. *Flow control each*: chunks of a pool are by lane already; link's slots for sending and holding are shared by
//!    all, with fairness by peer: fairness by user is the same figure once more.
//! 4. *Agreement*: which lanes are which user's must be alike in all processes of the job, hence a name (`mpi`, `pm`,
//!    `madeleine`) and a number for it in the segment, or in the card between hosts.
//! 5. *`Fabric::new`* takes devices made by `node`; a service makes them once and gives each user a `Fabric` of its own
//!    over the same devices, with routes of its own.

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
pub use hog::Pages;
pub use idle::{Asleep, Idle, Patience, SPIN, YIELD, wait_peer};
pub use receivers::Receiver;
pub use standby::Standby;
