//! Layer 2: the contract between the transport and a device.
//!
//! A device carries packets to some of the peers, each peer's in order and without loss, or reports that the peer is
//! lost. A packet is a header of a few words that the device does not interpret, and a payload. A device may also
//! operate on memory that a peer has registered. It never waits, never matches and never sends from inside a delivery.
//! Its abilities are given by numbers (`Limits`, `Capabilities`), not by its name; `conformance` is the suite that
//! every device passes.
//!
//! State is per lane: a `Port` belongs to one lane and is used under that lane's lock alone, so that two lanes never
//! share a written cache line.
//!
//! Where to begin: [`Device`] contains the whole of a small device, which its documentation's test runs under the
//! suite; then [`Port`] and [`Delivery`] (`port`), [`Header`] (`header`), [`Source`] and [`Payload`] (`packet`),
//! [`Limits`] (`limits`). The head of [`remote`] defines how operations on remote memory begin and end, their order,
//! and the life of a registration; [`Registry`] helps devices whose owners carry them out. [`cards`]: addresses.
//! [`Name`]: devices by name, adapter and method; [`User`]: the owner of a set of lanes.
//!
//! Used by `transport`; implemented by `dev-shm`, `dev-ether` and `loopback` here.

#![forbid(unsafe_code)]

pub mod cards;
pub mod conformance;
mod device;
mod header;
mod limits;
mod loopback;
mod name;
mod packet;
mod port;
mod registry;
pub mod remote;
mod user;
mod view;

pub use device::{Device, ExposedKey};
pub use header::{Header, PREFIX_MAX, Protocol};
pub use limits::{Limits, Pieces};
pub use loopback::Loopback;
pub use name::{Kind, Name};
pub use packet::{Payload, Refusal, Source};
pub use port::{Delivery, Port};
pub use registry::{Registry, within};
pub use remote::{Atomic, Atomics, Bytes, Capabilities, Fault, Registration, RemoteKey, Taken, Ticket, Update, Width};
pub use user::User;
pub use view::View;
