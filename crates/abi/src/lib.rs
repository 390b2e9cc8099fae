//! Layer 7: every function of MPI once, generic over the ABI.
//!
//! The path of a call: `abi-std::MPI_Send` (written by `export!` from its row of the table) → `p2p::send::<A>` →
//! `mpi`. A generic function decodes handles and constants (`Abi`), checks what only this layer can see (null
//! pointers), calls `mpi` with Hawser's values, and writes the results back in the ABI's form. It returns `Result`;
//! the row's `[..]` names the object whose error handler is called when it fails (`raise`), so no function that
//! returns an error code does that by hand, and none can forget it:
//!
//! ```text
//! pub unsafe fn rank<A: Abi>(comm: A::Comm, rank: *mut c_int) -> Result {
//!     let rank = unsafe { OutArg::new(rank, "rank") }?;  // MPI_ERR_ARG if null, before anything happens
//!     rank.put(self::comm::<A>(comm)?.rank() as c_int);  // MPI_ERR_COMM if it is no communicator's handle
//!     Ok(())
//! }
//! ```
//!
//! Functions with `int` and with `MPI_Count` counts share one generic function: `count: impl IntArg`. Callbacks of
//! the application (`callback`) become closures over Hawser's values, so that `mpi` stays free of C and of the ABI.
//! Nothing here knows an ABI by name. Nothing here keeps state of MPI, except for the classes of generalized requests
//! (`grequest`).
//!
//! Used by `abi-std`, `abi-mpich`; uses `mpi`.

mod abi;
mod export;

pub mod arg;
pub mod attributes;
pub mod buffered;
pub mod call_forms;
pub mod callback;
pub mod coll;
pub mod comm;
pub mod datatype;
pub mod env;
pub mod errhandler;
pub mod errors;
pub mod foreign_fortran;
pub mod fortran;
pub mod grequest;
pub mod group;
pub mod handles;
pub mod info;
pub mod inter;
pub mod layout;
pub mod memory;
pub mod mpix;
pub mod neighbor;
pub mod op;
pub mod p2p;
pub mod pack;
pub mod partitioned;
pub mod raise;
pub mod request;
pub mod session;
pub mod status;
pub mod table;
pub mod tool;
pub mod topology;
pub mod win;

pub use abi::{
    Abi, AbiLimits, CHandle, CStatus, MAX_DATAREP_STRING, MAX_ERROR_STRING, MAX_INFO_VAL, MAX_LIBRARY_VERSION_STRING,
    MAX_OBJECT_NAME, Sentinels,
};
pub use raise::{CallError, ErrorObject, Result};
