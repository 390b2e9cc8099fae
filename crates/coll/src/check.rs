//! The checker: runs all ranks' schedules in one process, with no network and no time.
//!
//! Memory is symbolic: a cell is a byte with an identity (data movement) or an element with the expression that made it
//! (reductions). `run` finds messages that do not pair up in order and size, deadlocks, reads of unwritten memory,
//! accesses outside buffers, overlaps within a round, writes to send buffers and misused shm steps; the caller checks
//! the buffers at the end. It is for tests alone and never part of an installed library (`cfg(test)` or the feature
//! `check`).
//!
//! Used by tests, which `plan` the schedules.

mod memory;
mod pairs;
mod run;
mod spare;
mod terms;

pub use memory::{Cell, GAP, Layout, Memory, UNWRITTEN};
pub use run::{Member, Rules, run};
pub use spare::schedule as spare_schedule;
pub use terms::Terms;
