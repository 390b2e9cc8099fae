//! Layer 2: the contract between the transport and a device.
//!
//! A device carries packets to some of the peers, each peer's in order and without loss, or reports that the peer has
//! failed or ended. A packet is a header of a few words that the device does not interpret, and a payload. A device
//! may also operate on memory that a peer has registered. It never waits, never matches and never sends from inside a
//! delivery. Its abilities are given by numbers (`DeviceLimits`, `Capabilities`), not by its name; `conformance` is
//! the suite that every device passes.
//!
//! State is per lane: a `DevicePort` belongs to one lane and is used under that lane's lock alone, so that two lanes
//! never share a written cache line.
//!
//! Where to begin: [`Device`] contains the whole of a small device, which its documentation's test runs under the
//! suite; then [`DevicePort`] and [`Delivery`] (`port`), [`Header`] (`header`), [`PayloadSource`] and [`Payload`]
//! (`packet`), [`DeviceLimits`] (`limits`). The head of [`remote`] defines how operations on remote memory begin and
//! end, their order, and the lifetime of a registration; [`RegistrationTable`] helps devices whose owners carry them
//! out. [`business_card`] holds the addresses by which peers reach devices, [`DeviceName`] names a device, an adapter
//! and a method, and [`TransportUser`] is the owner of a set of lanes.
//!
//! Used by `transport`; implemented by `dev-shm`, `dev-ether` and `loopback` here.

#![forbid(unsafe_code)]

pub mod business_card;
pub mod conformance;
mod device;
mod header;
mod limits;
mod loopback;
mod name;
mod packet;
mod payload_view;
mod port;
mod registry;
pub mod remote;
mod user;

pub use device::{Device, ExposedKey};
pub use header::{Header, PREFIX_MAX, Protocol};
pub use limits::{DeviceLimits, Fragmentation};
pub use loopback::Loopback;
pub use name::{DeviceKind, DeviceName};
pub use packet::{Payload, PayloadSource, SendError};
pub use payload_view::PayloadView;
pub use port::{Delivery, DevicePort};
pub use registry::{RegistrationTable, check_bounds};
pub use remote::{
    AtomicOp, AtomicOps, AtomicRequest, Capabilities, CompletionToken, Registration, RemoteError, RemoteKey, Submitted,
    Width, WriteSource,
};
pub use user::TransportUser;
