//! Layer 3: the services of a job's first process on a host for the ranks there.
//!
//! It measures the host (`facts`) and opens a rank server (`gate`), a state machine which makes the segment
//! (`segment`), listens for ranks and tools (`door`), decides which caller is which rank (`callers`), and keeps for
//! each rank whether it lives and how it ended (`life`), for ranks with closed connections from their pages
//! (`unheard`). The rank's side is here too: it joins its launcher (`join`), our agent or none (`launched`), or the
//! others of a plain set of processes without a launcher (`plain`). It starts no program, communicates with no other
//! host, and leaves decisions about the job to the process that uses it. Uses `boot` (the messages of ranks) and `job`
//! (the segment's layout); used by `launch`, whose agent is such a first process.
#![forbid(unsafe_code)]

mod callers;
pub mod door;
pub mod facts;
pub mod gate;
pub mod join;
mod launched;
pub mod life;
pub mod plain;
mod segment;
mod unheard;
