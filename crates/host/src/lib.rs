//! Floor 3: what the first process of a job on a host does for the ranks there.
//!
//! It measures the host (`facts`) and opens a gate (`gate`), a state machine which makes the segment (`segment`), listens
//! for ranks and tools (`door`), decides which caller is which rank (`callers`), and keeps for each rank whether it lives
//! and how it ended (`life`), for ranks with closed connections from their pages (`unheard`). A rank is here too:
//! it joins what has started it (`join`), our agent or nobody (`launched`), or the others of a plain set of processes
//! without a launcher (`plain`). It starts no program, speaks with no other host, and leaves what becomes of the job to
//! the process that uses it. Before it: `boot` (the words that ranks say) and `job` (the segment's layout); after it:
//! `launch`, whose agent is such a first process.
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
