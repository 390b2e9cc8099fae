//! Layer 3: the Ethernet device, between ranks of different hosts.
//!
//! The device must never trust received data: anyone who can reach a port can send anything to it.
//!
//! A packet passes four modules: `device` (all lanes, with one endpoint of `link`), `message` (packets as messages of
//! `link`), `ports` (selects port and address), and `port` (frames over one rail: raw Ethernet, UDP, TCP, or UDP in raw
//! frames; raw frames go by a packet socket or XDP). Messages from 3 KiB on may go by `direct`, without link.
//! `port_list` is the part of the business card that describes a rank's ports. `discovery` tries to open ports on the
//! `rails`, `open` chooses those that `config` permits, and `info` describes them. `unreachable` reports peers that do
//! not answer and, by `health`, ports that are lost. `remote` executes operations on a peer's memory, which are
//! messages too. `user_table` has the users of the device other than MPI; each of their lanes has a `user_port`. Used
//! by `node`, which gives the device to `transport`, and by `bench`. Uses `link` and `os`.

#![forbid(unsafe_code)]

mod config;
pub mod counters;
mod device;
mod direct;
mod discovery;
pub mod endpoint;
mod health;
mod inbox;
mod info;
mod message;
mod open;
mod peer_drain;
mod per_lane;
pub mod port;
pub mod port_list;
mod ports;
pub mod rails;
mod reachability_report;
mod remote;
mod unreachable;
mod user_port;
mod user_table;

pub use config::{EtherConfig, KIND, Method, PARAMS};
pub use device::{EtherDevice, EtherDeviceSetup, limits_by_mtu};
pub use direct::RETAINED_MAX_BYTES;
pub use discovery::{InterfacePorts, PortAttempt};
pub use info::{describe, discover_all_ports};
pub use open::{LocalRank, OpenPort, open_ports};
pub use ports::{EtherCardLookup, PortSet, port_pairs};
pub use unreachable::{StatusReport, StatusReportFn};
