//! Layer 2: the identity of a process: its own place in the job and the other processes, which it must know before it
//! can be a rank.
//!
//! The interface is a trait (`bootstrap`). Our own launcher implements it (`agent_connection`), or there is none
//! and the process is alone. Proof of a foreign launcher, whose protocol we do not have, is an error
//! (`foreign_launcher`): never N silent processes of one. A process that has lost its environment finds our
//! launcher by its ancestors (`ancestors`). The layout of the segment that comes with the agent's reply is `job`'s.
//! The job-wide settings (`job_settings`), which all ranks must have alike, are sent with the request. The names of
//! hosts (`hosts`) are here for all who start processes on them. Uses `os`; used by `node` (ranks) and `launch`
//! (the agent, which replies).
#![forbid(unsafe_code)]

pub mod agent_connection;
pub mod ancestors;
pub mod bootstrap;
pub mod foreign_launcher;
pub mod hosts;
pub mod job_settings;
pub mod loaded_mpi;
pub mod protocol;

pub use agent_connection::{AgentConnection, attach, attach_with_settings, keep_for_abort};
pub use bootstrap::{Bootstrap, Identity, KvsKey, Notification};
