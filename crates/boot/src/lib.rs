//! Layer 2: the identity of a process: its own place in the job and the other processes, which it must know before it
//! can be a rank.
//!
//! The interface is a trait (`boot`). Our own launcher implements it (`world`), or there is none and the process is
//! alone. Proof of a foreign launcher, whose protocol we do not have, is an error (`foreign`): never N silent processes
//! of one. A process that has lost its environment finds our launcher by its ancestors (`lineage`). The layout of the
//! segment that comes with the answer is `job`'s. The job-wide settings (`terms`), which all ranks must have alike, are
//! sent with the request. The names of hosts (`hosts`) are here for all who start processes on them. Uses `os`; used by
//! `node` (ranks) and `launch` (the agent, which answers).
#![forbid(unsafe_code)]

pub mod boot;
pub mod foreign;
pub mod hosts;
pub mod lineage;
pub mod mapped;
pub mod protocol;
pub mod terms;
pub mod world;

pub use boot::{Boot, Identity, Key, Word};
pub use world::{World, attach, attach_on, keep};
