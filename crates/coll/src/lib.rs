//! Collectives as data: a pure function turns a call's arguments into one rank's `Schedule` of steps.
//!
//! Nothing here sends, waits, allocates user memory or looks at a clock. Used by `mpi`, which checks the arguments,
//! fills in a `Call` and calls `plan`; its one engine runs the schedules for blocking, nonblocking and persistent calls
//! alike. In tests `check` runs them.
//!
//! An algorithm is one function in the file of its collective and one row of that file's table. From below: `schedule`
//! and `call`; `model` and `hosts`, and `tuning` of both; `algorithm`, the row of a table, and `two_level`; the
//! collectives' files; `select`, which has all their tables.

#![forbid(unsafe_code)]

mod algorithm;
pub mod call;
mod collective;
mod model;
pub mod schedule;
pub mod select;
mod tuning;

#[cfg(any(test, feature = "check"))]
pub mod check;
#[cfg(test)]
mod tests;

mod accumulate;
mod cube;
mod cut;
mod edges;
mod hosts;
mod tree;
mod two_level;

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
mod survey;

pub use call::{Blocks, Call, Data, Ints, Neighbors, Place, Reduction};
pub use collective::Collective;
pub use hosts::{Hosts, by_host};
pub use inter::{NOBODY, Sides, plan_between};
pub use model::{Limits, Model, Shape};
pub use schedule::{
    Buffer, Comm, Giver, HostStep, Local, Misfit, Order, Ranks, Round, Schedule, Scratch, Sequel, Span, Unit, WORD,
};
pub use select::{PARAMS, plan};
pub use survey::choices;
pub use tuning::{Forced, Tuning};
