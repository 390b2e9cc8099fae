//! Layer 6: the semantics of MPI. Nothing here knows an ABI or names a device.
//!
//! Calls go down: `pt2pt` checks the arguments and hands the operation to `p2p`. Completions go up: `p2p` ends a
//! `request`, which may wake a `task`, and `wait` returns the result. The objects with handles are `comm`, `group`,
//! `types`, `ops`, `info`, `errhandler` and `attributes`; objects that may be used before MPI_Init are kept in a
//! `registry`. All arguments and results are ABI-neutral values: `base::value`, `base::handle`, `base::error::Class`.

#![forbid(unsafe_code)]

pub mod alloc;
pub mod attached;
pub mod attributes;
pub mod bsend;
pub mod buffer;
pub mod checking;
pub mod collective;
pub mod comm;
pub mod comm_attr;
pub mod comm_create;
pub mod comm_idup;
mod context_ids;
pub mod engine;
pub mod env;
pub mod errhandler;
pub mod errors;
mod failures;
pub mod fortran;
pub mod grequest;
pub mod grequest_callbacks;
pub mod group;
pub mod group_bootstrap;
pub mod hardware;
pub mod hints;
pub mod info;
pub mod init_state;
pub mod inter;
pub mod isendrecv;
mod leaks;
pub mod memory;
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
pub mod status;
pub mod task;
pub mod tools;
pub mod topology;
pub mod types;
pub mod wait;
