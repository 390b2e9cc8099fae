//! Lengths of arrays, and indices that begin at 1.
//!
//! Used by the entry points; uses C functions of MPI.

use crate::abi::values;
use crate::binding::c_functions::pmpi as c;
use crate::binding::types::*;
use std::ffi::c_int;
use std::ptr;

/// Returns a number of elements as a length. The C function refuses a negative one.
pub fn entries(count: impl Into<i64>) -> usize {
    usize::try_from(count.into()).unwrap_or(0)
}

/// Makes C's indices Fortran's, which begin at 1 (MPI-5.0 §3.7.5).
///
/// # Safety
/// `indices` has `count` elements.
pub unsafe fn from_one(indices: *mut c_int, count: c_int) {
    // MPI_Waitsome has MPI_UNDEFINED for its count where no request is active.
    let count = if count == values::MPI_UNDEFINED { 0 } else { entries(count) };
    for i in 0..count {
        // SAFETY: the caller's promise.
        unsafe {
            let index = indices.add(i);
            if index.read() != values::MPI_UNDEFINED {
                index.write(index.read() + 1);
            }
        }
    }
}

/// Returns the number of processes that a collective on `comm` exchanges with: the length of its arrays.
pub fn processes(comm: Handle, _outgoing: bool) -> usize {
    let mut size = 0;
    // SAFETY: an out argument of ours.
    unsafe {
        if has_two_sides(comm) {
            c::MPI_Comm_remote_size(comm, &mut size)
        } else {
            c::MPI_Comm_size(comm, &mut size)
        };
    }
    entries(size)
}

/// Returns the number of neighbours that the caller sends to, or receives from.
pub fn neighbors(comm: Handle, outgoing: bool) -> usize {
    let (mut kind, mut rank, mut number, mut other, mut weighted) = (0, 0, 0, 0, 0);
    // SAFETY: out arguments of ours.
    unsafe {
        c::MPI_Topo_test(comm, &mut kind);
        if kind == values::MPI_CART {
            c::MPI_Cartdim_get(comm, &mut number);
            number *= 2;
        } else if kind == values::MPI_GRAPH {
            c::MPI_Comm_rank(comm, &mut rank);
            c::MPI_Graph_neighbors_count(comm, rank, &mut number);
        } else if kind == values::MPI_DIST_GRAPH {
            let (sources, destinations) =
                if outgoing { (&raw mut other, &raw mut number) } else { (&raw mut number, &raw mut other) };
            c::MPI_Dist_graph_neighbors_count(comm, sources, destinations, &mut weighted);
        }
    }
    entries(number)
}

/// Returns the caller's rank in `comm`.
pub fn rank(comm: Handle) -> c_int {
    let mut rank = 0;
    // SAFETY: an out argument of ours.
    let code = unsafe { c::MPI_Comm_rank(comm, &mut rank) };
    if code == 0 { rank } else { values::MPI_UNDEFINED }
}

/// Says whether the caller is the root of a collective: by its rank or, of an intercommunicator, by MPI_ROOT alone. Its
/// other side passes the root's rank there, which is not the caller's own.
pub fn is_root(comm: Handle, root: c_int) -> bool {
    root == values::MPI_ROOT || (rank(comm) == root && !has_two_sides(comm))
}

fn has_two_sides(comm: Handle) -> bool {
    let mut inter = 0;
    // SAFETY: an out argument of ours.
    let code = unsafe { c::MPI_Comm_test_inter(comm, &mut inter) };
    code == 0 && inter != 0
}

/// Returns the number of dimensions of `comm`'s grid, or 0.
pub fn dimensions(comm: Handle) -> usize {
    let mut number = 0;
    // SAFETY: an out argument of ours.
    let code = unsafe { c::MPI_Cartdim_get(comm, ptr::from_mut(&mut number)) };
    if code == 0 { entries(number) } else { 0 }
}
