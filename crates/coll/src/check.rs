//! The checker: runs all ranks' schedules in one process, with no network and no time.
//!
//! Memory is symbolic: a cell is a byte with an identity (data movement), or an element with the expression that made
//! it (reductions). `run` finds messages that do not pair up in order and size, deadlocks, reads of unwritten memory,
//! accesses outside buffers, overlaps within a round, writes to send buffers, and wrong uses of shm steps. The caller
//! checks the contents of the buffers at the end. The checker is for tests alone, and never a part of an installed
//! library (`cfg(test)` or the feature `check`).
//!
//! Used by tests, which make the schedules by `plan`.

mod expressions;
mod memory;
mod message_queues;
mod recycled;
mod run;

pub use expressions::ExprTable;
pub use memory::{CellLayout, GAP, SymbolicCell, SymbolicMemory, UNWRITTEN};
pub use recycled::schedule as recycled_schedule;
pub use run::{CheckedRank, Rules, run};
