//! Collectives as data: a pure function turns a call's arguments into one rank's `Schedule` of steps.
//!
//! Nothing here sends, waits, allocates user memory or reads a clock. Used by `mpi`, which checks the arguments,
//! fills in a `CollectiveCall` and calls `plan`; one engine in `mpi` runs the schedules of blocking, nonblocking and
//! persistent calls. Used also by `node`, which collects the parameters, and by `launch`, which lists the algorithms.
//! In tests `check` runs the schedules.
//!
//! Each collective has a file with a table of its algorithms; an algorithm is one function of that file and one row
//! of the table. From the lowest module to the highest: `schedule` and `call`; `cost_model` and `host_map`; `tuning`,
//! which combines these two; `algorithm`, which defines a row of a table; `two_level`; the files of the collectives;
//! `select`, which has the tables of all collectives.

#![forbid(unsafe_code)]

mod algorithm;
pub mod call;
mod collective;
mod cost_model;
pub mod schedule;
pub mod select;
mod tuning;

#[cfg(any(test, feature = "check"))]
pub mod check;
#[cfg(test)]
mod tests;

mod accumulate;
mod binomial_tree;
mod host_map;
mod hypercube;
mod slot_split;
mod two_level;
mod two_level_v;

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
mod bruck;
mod exscan;
mod gather;
mod inter;
mod neighbor;
mod reduce;
mod reduce_scatter;
mod scan;
mod scatter;
mod selection_table;

pub use call::{BlockArray, BlockBuffer, CollectiveCall, IntArray, Neighbors, RankAndSize, ReductionArgs};
pub use collective::Collective;
pub use cost_model::{CallShape, CostModel, ScheduleLimits};
pub use host_map::{HostMap, ranks_by_host};
pub use inter::{InterPlace, NO_ROOT, plan_between};
pub use schedule::{
    BufferId, CommStep, Continuation, LengthMismatch, LocalStep, MemberSet, OperandOrder, RankSlot, Round, Schedule,
    ScratchSpec, ShmStep, Span, SpanUnit, VALUE_BYTES,
};
pub use select::{PARAMS, plan};
pub use selection_table::algorithms_by_length;
pub use tuning::{ForcedAlgorithms, Tuning};
