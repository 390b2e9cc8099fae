//! Layer 3: the services of a job's first process on a host for the ranks there.
//!
//! It measures the host (`facts`) and opens a rank server (`rank_server`), a state machine which makes the segment
//! (`segment`), listens for ranks and tools (`listener`), decides which client is which rank (`client_rank`), and
//! keeps for each rank whether it lives and how it ended (`rank_process`), for ranks with closed connections from
//! their pages (`disconnected`). The rank's side is here too: it joins its launcher (`join`), our agent or none
//! (`launched`), or the others of a plain set of processes without a launcher (`manual_start`). It starts no
//! program, communicates with no other host, and leaves decisions about the job to the process that uses it. Uses
//! `boot` (the messages of ranks) and `job` (the segment's layout); used by `launch`, whose agent is such a first
//! process.
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
