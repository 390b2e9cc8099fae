//! Layer 3: the services of a job's first process on a host for the ranks there.
//!
//! The first process measures the host (`facts`) and opens a rank server (`rank_server`). The rank server is a state
//! machine: it makes the segment (`segment`), listens for ranks and tools (`listener`), decides which client is which
//! rank (`client_rank`), records whether each rank lives and how it ended (`rank_process`), and reads the pages of
//! ranks whose connections are closed (`disconnected`). The rank's side is here, too: a rank joins its job (`join`)
//! through our agent or alone (`launched`), or by a manual start, together with the other ranks (`manual_start`).
//! This crate starts no program, communicates with no other host, and leaves decisions about the job to the process
//! that uses it. Uses `boot` (the messages of ranks) and `job` (the segment's layout); used by `launch`, whose agent
//! is such a first process, and by `node`.
#![forbid(unsafe_code)]

mod client_rank;
mod disconnected;
pub mod facts;
pub mod join;
mod launched;
pub mod listener;
pub mod manual_start;
pub mod rank_process;
pub mod rank_server;
mod segment;
