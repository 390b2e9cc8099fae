//! Layer 3: the Ethernet device, between ranks of different hosts.
//!
//! It must never trust received data: anyone who can reach a port can send it anything.
//!
//! The route of a packet: `device` (all lanes, one endpoint), `message` (packets as messages of `link`) -> `ends`
//! (which port, which address) -> `port` (frames over one rail, by raw Ethernet, UDP or TCP, and UDP by raw frames; raw
//! ones by a packet socket or XDP). Long messages go by `direct`, past link. `card` is what others know of a rank's
//! ports. `survey` finds ports on the `rails`, `open` opens those that `wishes` permits, `info` describes them;
//! `unanswered` reports peers that do not answer, and by `health` ports that are lost. `remote` has operations on a
//! peer's memory, as messages too; `users` other users of the device than MPI, with a `user_port` for each of their
//! lanes. Used by `transport`. Uses `link` and `os`.

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
