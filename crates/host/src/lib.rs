//! Layer 3: the services of a job's first process on a host for the ranks there.
//!
//! The first process measures the host (`facts`) and opens a rank server (`rank_server`). The rank server is a state
//! machine: it makes the segment (`segment`), listens for ranks and tools (`listener`), decides which client is which
//! rank (`client_rank`), records whether each rank lives and how it ended (`rank_process`), and reads the pages of
//! ranks whose connections are closed (`disconnected`). The rank's side is here, too: a rank joins its job (`join`)
//! through our agent or alone (`launched`), through another launcher's server (`process_manager`), or by a manual start
//! (`manual_start`); in the last two cases the ranks of a host gather at the first of them (`gathering`). `ways` says
//! which of these a process takes.
//! This crate starts no program, communicates with no other host, and leaves decisions about the job to the process
//! that uses it. Uses `boot` (the messages of ranks) and `job` (the segment's layout); used by `launch`, whose agent
//! is such a first process, and by `node`.
#![forbid(unsafe_code)]

mod client_rank;
mod disconnected;
pub mod facts;
mod gathered_rank;
mod gathering;
pub mod join;
mod launched;
pub mod listener;
pub mod manual_start;
mod peer_monitor;
mod process_manager;
pub mod rank_process;
pub mod rank_server;
mod segment;
pub mod ways;
