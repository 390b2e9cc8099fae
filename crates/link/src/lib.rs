//! Layer 1: the reliable Ethernet protocol as a state machine without I/O, the descendant of Go-Back-N for PM.
//!
//! Its inputs are received frames, the time (nanoseconds of any monotonic clock) and keys, as arguments; its outputs
//! are frames to send and to retransmit. No module here reads a clock, waits, or allocates after a path is open, except
//! for the state that a path needs from its first gap on. `docs/protocol.md` is the specification; `P<n>` in code and
//! tests cites its rules, and `tests/protocol.rs` finds a rule that is not cited.
//!
//! The modules that a frame passes: `endpoint` (all peers, with `peers` and `numbers`) -> `connection` (one peer:
//! messages in fragments) -> `strand` (a path from its opening on) -> `path` (an established path: numbers,
//! acknowledgements and timers) over `received`, `sent`, `rtt`, `rate` and `window`, and at its end `reassembly`.
//! `ways`, `bulk` (with `meter`, `survey` and `pace`) and `stripe` choose among paths by the properties of each port
//! (`rail`); `grant` divides the receive credit (`room`) among paths; `length` finds the path MTU; `frame`, `record`
//! and `ack` encode the contents of a frame; `pool` is the memory for frames, of which `parties` (further users of the
//! endpoint) have shares. `marks` and `planted` are for tests. Used by `dev-ether` with its frame ports.

#![forbid(unsafe_code)]

pub mod ack;
mod bulk;
mod connection;
mod ended;
pub mod endpoint;
pub mod frame;
mod grant;
mod length;
pub mod marks;
mod meter;
mod numbers;
mod pace;
pub mod parties;
pub mod path;
mod peers;
pub mod planted;
pub mod pool;
mod rail;
mod rate;
mod reach;
mod reassembly;
pub mod received;
pub mod record;
pub mod room;
pub mod rtt;
pub mod sent;
mod seq;
mod strand;
mod stripe;
mod survey;
mod window;

pub use connection::{Counts, Wire};
pub use endpoint::{Class, Config, Endpoint, Kept, Refused};
pub use length::SHORTEST;
pub use parties::Party;
pub use rail::{Grade, Rail};
pub use reach::{Reach, Standing};
pub use reassembly::Message;
pub use seq::{Seq, WINDOW};
pub use strand::{Far, Route};
