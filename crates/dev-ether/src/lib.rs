//! Layer 3: the Ethernet device, between ranks of different hosts.
//!
//! It must never trust received data: anyone who can reach a port can send it anything.
//!
//! A packet passes `device` (all lanes, one endpoint) and `message` (packets as messages of `link`), then `ports`,
//! which selects port and address, and `port` (frames over one rail, by raw Ethernet, UDP or TCP, and UDP by raw
//! frames; raw frames by a packet socket or XDP). Long messages go by `direct`, without link. `port_list` is what
//! others know of a rank's ports. `discovery` finds ports on the `rails`, `open` opens those that `config` permits,
//! `info` describes them; `unreachable` reports peers that do not answer, and by `health` ports that are lost.
//! `remote` has operations on a peer's memory, as messages too; `user_table` has the users of the device other than
//! MPI, with a `user_port` for each of their lanes. Used by `transport`. Uses `link` and `os`.

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
pub use device::{EtherDevice, EtherDeviceSetup};
pub use discovery::{InterfacePorts, PortAttempt};
pub use info::{describe, discover_all_ports};
pub use open::{LocalRank, OpenPort, open_ports};
pub use ports::{EtherCardLookup, PortSet, port_pairs};
pub use unreachable::{StatusReport, StatusReportFn};
