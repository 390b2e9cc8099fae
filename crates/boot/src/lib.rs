//! Layer 2: bootstrap. It gives a process its identity in the job and the business cards of the other processes,
//! which the process needs before it can be a rank.
//!
//! The interface is a trait (`bootstrap`), which `host` implements: by a connection to our launcher's agent
//! (`agent_connection`), by another launcher's server (`launcher_server`), or by a bootstrap file. Without any of them
//! the process is alone. Proof of a foreign launcher without such a server is an error (`foreign_launcher`): otherwise
//! its N processes would silently run as N jobs of one process. A process that has lost its environment finds our
//! agent by its ancestors (`ancestors`). The segment comes with the agent's reply; its layout is in `job`. The
//! job-wide settings (`job_settings`), which all ranks must have alike, are sent with the request. The names of hosts
//! (`hosts`) are here for all programs that start processes on hosts. Uses `os`; used by `host`, `node` and `mpi`
//! (ranks), by `dev-ether` (reports), and by `launch` and `bench`.
#![forbid(unsafe_code)]

pub mod agent_connection;
pub mod ancestors;
pub mod bootstrap;
pub mod foreign_launcher;
pub mod hosts;
pub mod job_settings;
pub mod launcher_server;
pub mod loaded_mpi;
pub mod pmi;
pub mod pmi_interface;
pub mod pmix;
pub mod protocol;

pub use agent_connection::{AgentConnection, attach, attach_with_settings, keep_for_abort};
pub use bootstrap::{Bootstrap, Identity, KvsKey, Notification};
