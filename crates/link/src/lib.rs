//! Layer 1: the reliable Ethernet protocol as a state machine without I/O, the descendant of Go-Back-N for PM.
//!
//! Its inputs are received frames, the time (nanoseconds of any monotonic clock) and keys, as arguments; its
//! outputs are frames to send and to retransmit. No module here reads a clock, waits, or allocates after a path is
//! open, except for the state that a path needs from its first gap on. `docs/protocol.md` is the specification;
//! `P<n>` in code and tests cites its rules, and `tests/protocol.rs` finds a rule that is not cited.
//!
//! The modules that a frame passes: `endpoint` (all peers, with `connections` and `path_numbers`) -> `connection`
//! (one peer: messages in fragments) -> `path` (a path from its opening on) -> `established` (an established path:
//! numbers, acknowledgements and timers) over `receive_window`, `in_flight`, `rtt`, `delivery_rate` and
//! `congestion_window`, and at the receiver `reassembly`. `path_choice`, `bulk_path` (with `goodput`,
//! `shared_stats` and `slow_network`) and `path_scheduler` choose among paths by the properties of each port
//! (`port_traits`); `path_credit` divides the receive credit (`receive_capacity`) among paths; `path_mtu` finds the
//! path MTU; `frame`, `fragment` and `ack` encode the contents of a frame; `frame_pool` is the memory for frames,
//! of which further users of the endpoint have shares (`user_shares`). `marks` and `planted` are for tests. Used by
//! `dev-ether` with its frame ports.

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
