//! The checker: runs all ranks' schedules in one process, with no network and no time.
//!
//! Memory is symbolic: a cell is a byte with an identity (data movement) or an element with the expression
//! that made it (reductions). `run` finds messages that do not pair up in order and size, deadlocks,
//! reads of what was never written, accesses outside buffers, overlaps within a round, writes to send
//! buffers and misused host steps; what the buffers hold at the end is for the caller to judge. It is for
//! tests alone and never part of an installed library (`cfg(test)` or the feature `check`).
//!
//! Before it: tests, which `plan` the schedules. After it: nothing.

mod memory;
mod pairs;
mod run;
mod spare;
mod terms;

pub use memory::{Cell, GAP, Layout, Memory, UNWRITTEN};
pub use run::{Member, Rules, run};
pub use spare::schedule as spare_schedule;
pub use terms::Terms;
