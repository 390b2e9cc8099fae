//! Layer 1: the reliable Ethernet protocol as a state machine without I/O, the descendant of Go-Back-N for PM.
//!
//! The caller passes received frames, messages to be sent, the time (nanoseconds of any monotonic clock) and keys as
//! arguments; the crate returns frames to be sent, retransmissions included, and delivers received messages. No
//! module here reads a clock or waits. Once a path is open nothing is allocated, except the bitmap of a path at its
//! first gap, the bitmap of a peer at its first message that is delivered early, and the entries for peers in a
//! user's share. `docs/protocol.md` is the specification; `P<n>` in code and tests cites its rules, and
//! `tests/protocol.rs` finds a rule that is not cited.
//!
//! A frame passes these modules: `endpoint` (all peers, with `connections` and `path_numbers`) -> `connection` (one
//! peer: messages in fragments) -> `path` (a path from its opening on) -> `established` (an established path:
//! numbers, acknowledgements and timers), which uses `receive_window`, `in_flight`, `rtt`, `delivery_rate` and
//! `congestion_window`; at the receiver `reassembly` follows. `path_choice`, `bulk_path` (with `goodput`,
//! `shared_stats` and `slow_network`) and `path_scheduler` choose among paths by the properties of each port
//! (`port_traits`). `path_credit` divides the receive credit (`receive_capacity`) among paths, and `path_mtu` finds
//! the path MTU. `frame`, `fragment` and `ack` encode the contents of a frame. `frame_pool` is the memory for frames;
//! further users of the endpoint have shares of it (`user_shares`). `reachability` collects statistics for display.
//! `marks` and `planted` are for tests. The crate is used by `dev-ether`, whose frame ports send and receive the
//! frames.

#![forbid(unsafe_code)]

pub mod ack;
mod bulk_path;
mod congestion_window;
mod connection;
mod connections;
mod delivery_rate;
mod ended_peers;
pub mod endpoint;
pub mod established;
pub mod fragment;
pub mod frame;
pub mod frame_pool;
mod goodput;
pub mod in_flight;
pub mod marks;
mod path;
mod path_credit;
mod path_mtu;
mod path_numbers;
mod path_scheduler;
pub mod planted;
mod port_traits;
mod reachability;
mod reassembly;
pub mod receive_capacity;
pub mod receive_window;
pub mod rtt;
mod seq;
mod shared_stats;
mod slow_network;
pub mod user_shares;

pub use connection::{FrameSender, LinkCounters};
pub use endpoint::{Config, Endpoint, LinkSendError, MessageClass, SendReservation};
pub use path::{PathId, RemotePort};
pub use path_mtu::MTU_MIN;
pub use port_traits::{LatencyClass, PortTraits};
pub use reachability::{PathStatus, PortReachability};
pub use reassembly::Message;
pub use seq::{SEQ_WINDOW, Seq};
pub use user_shares::ShareId;
