//! `hawser-bench npb`: the NAS Parallel Benchmarks (MPI) on each library, in turns, as the paper of MPI/MBCF shows them
//! (section 4.3): time and speed-up, messages and bytes by length and by method.
//!
//! Walk: `command` takes the options, `sources` builds the programs, `series` runs the jobs in turns, each by `job`,
//! `output` reads what they print, and `tables` shows the `record`. Nothing here knows how a library sends.

pub mod command;
mod job;
mod output;
mod program;
mod record;
mod series;
mod sources;
mod tables;
