//! Layer 8: `mpiexec`, the agent that it starts on a host, and `hawser-info`.
//!
//! mpiexec (`job_control`) reads the command line (`args`) and the variables of other launchers
//! (`foreign_variables`), starts an agent for each host (`hosts`), and exchanges frames with it (`frames`, `channel`)
//! over the agent's standard input and output, also if ssh or a `worker` has started the agent. The agent (`agent`)
//! starts the ranks, accepts their connections by the host's rank server (`host::rank_server`), relays their output
//! and reports how they end. If mpiexec or the agent is gone, the other one ends every process below itself. Nothing
//! here polls: every wait is for an event or a deadline.
#![forbid(unsafe_code)]

pub mod agent;
pub mod algorithms;
mod allocation;
pub mod args;
mod args_file;
pub mod binding;
pub mod channel;
pub mod encoding;
pub mod failure;
mod flux;
pub mod flux_exec;
mod foreign_variables;
pub mod frames;
pub mod heartbeat;
mod host_list;
pub mod hosts;
pub mod info;
pub mod inspect;
pub mod job_control;
pub mod methods;
mod own_host;
pub mod params;
pub mod pattern;
pub mod report;
mod srun;
pub mod stats;
pub mod worker;
