//! Layer 6: the semantics of MPI, without an ABI and without a device's name.
//!
//! The way down: `pt2pt` (checked) → `p2p`. The way up: `p2p` → `request` → `task` → `wait`. Objects with handles:
//! `comm`, `group`, `types`, `ops`, `info`, `errhandler`, `attributes`; those that exist before MPI_Init are in a
//! `registry`. All arguments and results are ABI-neutral values: `base::value`, `base::handle`, `base::error::Class`.

#![forbid(unsafe_code)]

pub mod alloc;
pub mod attached;
pub mod attributes;
pub mod bsend;
pub mod buffer;
pub mod collective;
pub mod comm;
pub mod comm_attr;
pub mod comm_create;
pub mod comm_idup;
mod context_ids;
pub mod desk;
pub mod env;
pub mod errhandler;
pub mod errors;
pub mod exchange;
pub mod fortran;
pub mod general;
pub mod grequest;
pub mod group;
pub mod hardware;
pub mod hints;
pub mod info;
pub mod inter;
mod leaks;
mod lives;
pub mod meeting;
pub mod memory;
pub mod misuse;
pub mod ops;
mod partition;
pub mod partitioned;
pub mod persistent;
pub mod probe;
pub mod process;
pub mod pt2pt;
pub mod raise;
mod registry;
pub mod request;
pub mod session;
pub mod session_table;
pub mod shape;
pub mod stage;
pub mod status;
pub mod task;
pub mod tools;
pub mod topology;
pub mod types;
pub mod wait;
