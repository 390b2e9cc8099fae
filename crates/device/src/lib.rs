//! Layer 2: the contract between the transport and a device.
//!
//! A device carries packets to some of the peers. On each lane the packets to a peer arrive without loss and in the
//! order in which they were sent (except order-free pieces), or the device reports that this peer has failed or ended.
//! A packet is a header of a few words, which the device does not interpret, and a payload. A device may also operate
//! on memory that a peer has registered. A device never waits, never matches messages with receives, and never sends
//! from inside a delivery. Its abilities are given by numbers (`DeviceLimits`, `Capabilities`), not by its name;
//! `conformance` is the suite that every device passes.
//!
//! A `DevicePort` belongs to one lane and is used only under that lane's lock. So a device can keep its whole state per
//! lane, and then two lanes never write to the same cache line. (The Ethernet device shares one endpoint, with a lock
//! of its own, among all lanes.)
//!
//! Where to begin: the documentation of [`Device`] contains a complete small device, and its test runs that device
//! under the suite. Then read [`DevicePort`] and [`Delivery`] (`port`), [`Header`] (`header`), [`PayloadSource`] and
//! [`Payload`] (`packet`), [`DeviceLimits`] (`limits`). The head of [`remote`] defines how operations on remote memory
//! begin and end, their order, and the lifetime of a registration; [`RegistrationTable`] keeps registered memory for
//! devices in which the process that owns the memory carries the operations out. [`business_card`] holds the addresses
//! by which peers reach devices, [`method_trial`] chooses between two methods by what they take, [`DeviceName`] names a
//! device, an adapter and a method, and [`TransportUser`] is the owner of a set of lanes.
//!
//! Used by `transport`, `p2p`, `node` and `bench`, and by tests of `mpi`; implemented by `dev-shm`, `dev-ether` and, in
//! this crate, `loopback`.

#![forbid(unsafe_code)]

pub mod business_card;
pub mod conformance;
mod device;
mod header;
mod limits;
mod loopback;
pub mod method_trial;
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
