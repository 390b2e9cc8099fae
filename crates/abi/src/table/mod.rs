//! The function table: every function of both `mpi.h`, once.
//!
//! There is one row for each function: the ABIs that have it, its C signature in the ABI crate's type names, the object
//! whose error handler is called when it fails, and the generic function of this crate that implements it:
//!
//! ```text
//! both MPI_Comm_rank(comm: Comm, rank: *mut c_int) [comm(comm)] => comm::rank;
//! both MPI_Wtime() -> f64 => env::wtime;            a result that is no error code: nothing is raised
//! both MPI_Win_fence(assert: c_int, win: Win) [win(win)] => unsupported;
//! ```
//!
//! A function marked `unsupported` raises MPI_ERR_UNSUPPORTED_OPERATION with its own name. The rows are
//! checked against tables/functions.tsv by `tests/table.rs` and written by tools/table.py.

mod coll;
mod comm;
mod datatype;
mod env;
mod handle;
mod icoll;
mod io;
mod mpix;
mod neighbor;
mod p2p;
mod pcoll;
mod request;
mod rma;
mod tool;

/// Passes all rows to the macro `$emit`, in several calls: `$emit! { $with row; row; ... }`.
#[macro_export]
macro_rules! for_each_function {
    ($emit:ident $with:tt) => {
        $crate::table_p2p! { $emit $with }
        $crate::table_request! { $emit $with }
        $crate::table_coll! { $emit $with }
        $crate::table_icoll! { $emit $with }
        $crate::table_pcoll! { $emit $with }
        $crate::table_neighbor! { $emit $with }
        $crate::table_comm! { $emit $with }
        $crate::table_datatype! { $emit $with }
        $crate::table_env! { $emit $with }
        $crate::table_rma! { $emit $with }
        $crate::table_io! { $emit $with }
        $crate::table_tool! { $emit $with }
        $crate::table_handle! { $emit $with }
        $crate::table_mpix! { $emit $with }
    };
}

/// A row, for users who look functions up by name (`hawser-info`, tests).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionEntry {
    pub name: &'static str,
    /// "both", "std" or "mpich".
    pub abis: &'static str,
    pub built: bool,
    /// The arguments as written in the row.
    pub args: &'static str,
}

macro_rules! row_list {
    (() $($abis:ident $name:ident $args:tt $([$($on:tt)*])? $(-> $ret:ty)? => $first:ident $(:: $rest:ident)*;)*) => {
        &[$(FunctionEntry {
            name: stringify!($name),
            abis: stringify!($abis),
            built: !same(stringify!($first), "unsupported"),
            args: stringify!($args),
        }),*]
    };
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// All rows, file by file.
pub const FUNCTIONS: &[&[FunctionEntry]] = &[
    crate::table_p2p! { row_list () },
    crate::table_request! { row_list () },
    crate::table_coll! { row_list () },
    crate::table_icoll! { row_list () },
    crate::table_pcoll! { row_list () },
    crate::table_neighbor! { row_list () },
    crate::table_comm! { row_list () },
    crate::table_datatype! { row_list () },
    crate::table_env! { row_list () },
    crate::table_rma! { row_list () },
    crate::table_io! { row_list () },
    crate::table_tool! { row_list () },
    crate::table_handle! { row_list () },
    crate::table_mpix! { row_list () },
];

/// The rows that are `both` though the standard ABI's header declares no such function: MPICH's `libmpi_abi.so.1`
/// exports them, and programs that declare them for themselves can start with it. The list is a check of the rows
/// (`tests/table.rs`).
pub const UNDECLARED_IN_STD: [&str; 15] = [
    "MPI_Address",
    "MPI_Errhandler_create",
    "MPI_Errhandler_get",
    "MPI_Errhandler_set",
    "MPI_Type_extent",
    "MPI_Type_hindexed",
    "MPI_Type_hvector",
    "MPI_Type_lb",
    "MPI_Type_struct",
    "MPI_Type_ub",
    "MPIX_Grequest_class_allocate",
    "MPIX_Grequest_class_create",
    "MPIX_Grequest_start",
    "MPIX_Type_iov",
    "MPIX_Type_iov_len",
];

/// Iterates over all functions.
pub fn functions() -> impl Iterator<Item = &'static FunctionEntry> {
    FUNCTIONS.iter().flat_map(|rows| rows.iter())
}
