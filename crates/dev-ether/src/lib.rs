//! Floor 3: the device of Ethernets, between ranks of different hosts.
//!
//! The walk of a packet: `device` (all lanes, one endpoint), `message` (packets as messages of `link`) -> `ends` (which
//! port, which address) -> `port` (frames over one rail, by raw Ethernet, UDP or TCP, and UDP by raw frames; raw ones
//! by a packet socket or XDP); long messages by `direct`, past link. `card` is what others know of a rank's ports;
//! `open` makes them out of what `survey` finds on the `rails` and `wishes` allow, `info` tells of it, `unanswered` of
//! what is tried in vain, and by `health` of ports that are lost. `remote`: operations on a peer's memory, as messages
//! too; `users`: other users of the device than MPI, with `user_port` for each of their lanes. It must never trust what
//! comes: whoever can reach a port can send it anything. Before it: `transport`. After it: `link`, `os`.

#![forbid(unsafe_code)]

mod answers;
mod by_lane;
pub mod card;
pub mod counters;
mod device;
mod direct;
pub mod endpoint;
mod ends;
mod health;
mod inbox;
mod info;
mod message;
mod open;
mod parting;
pub mod port;
pub mod rails;
mod remote;
mod survey;
mod unanswered;
mod user_port;
mod users;
mod wishes;

pub use device::{EtherDevice, Setup};
pub use ends::{Cards, Ends, meet};
pub use info::{describe, found};
pub use open::{Opened, Who, ports};
pub use survey::{Attempt, Found};
pub use unanswered::{Tell, Told};
pub use wishes::{KIND, Method, PARAMS, Wishes};
