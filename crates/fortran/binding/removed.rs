//! Procedures of MPI-1 that MPI-3.0 removed. Binaries still call them, with addresses in INTEGERs.

use crate::abi::values;
use crate::binding::prelude::*;

/// Stores an address in an INTEGER, or returns the error that it does not fit.
///
/// # Safety
/// `to` may be written.
unsafe fn store_address(address: Aint, to: *mut Fint) -> c_int {
    match Fint::try_from(address) {
        Ok(address) => {
            // SAFETY: the caller's promise.
            unsafe { to.write(address) };
            0
        }
        // SAFETY: no arguments but numbers.
        Err(_) => unsafe {
            let comm = handle(values::MPI_COMM_SELF);
            crate::binding::c_functions::pmpi::MPI_Comm_call_errhandler(comm, values::MPI_ERR_ARG);
            values::MPI_ERR_ARG
        },
    }
}

/// Returns an array of INTEGERs as addresses.
///
/// # Safety
/// `from` has `count` elements.
unsafe fn addresses(from: *const Fint, count: usize) -> Vec<Aint> {
    // SAFETY: the caller's promise.
    (0..count).map(|i| unsafe { from.add(i).read() as Aint }).collect()
}

plain_f90! { "address" (location: Buffer, address: *mut Fint) [] {
    let mut c_address = 0;
    match c::MPI_Get_address(location.address(), &mut c_address) {
        0 => store_address(c_address, address),
        code => code,
    }
} }
plain_f90! { "type_extent" (datatype: *const Fint, extent: *mut Fint) [] {
    let (mut lower, mut c_extent) = (0, 0);
    match c::MPI_Type_get_extent(handle(*datatype), &mut lower, &mut c_extent) {
        0 => store_address(c_extent, extent),
        code => code,
    }
} }
plain_f90! { "type_lb" (datatype: *const Fint, displacement: *mut Fint) [] {
    let (mut lower, mut extent) = (0, 0);
    match c::MPI_Type_get_extent(handle(*datatype), &mut lower, &mut extent) {
        0 => store_address(lower, displacement),
        code => code,
    }
} }
plain_f90! { "type_ub" (datatype: *const Fint, displacement: *mut Fint) [] {
    let (mut lower, mut extent) = (0, 0);
    match c::MPI_Type_get_extent(handle(*datatype), &mut lower, &mut extent) {
        0 => store_address(lower + extent, displacement),
        code => code,
    }
} }
plain_f90! { "type_hvector" (count: *const c_int, blocklength: *const c_int, stride: *const Fint,
    oldtype: *const Fint, newtype: *mut Fint) [] {
    let mut made = handle(*newtype);
    let code = c::MPI_Type_create_hvector(*count, *blocklength, *stride as Aint, handle(*oldtype), &mut made);
    if code == 0 {
        *newtype = number(made);
    }
    code
} }
plain_f90! { "type_hindexed" (count: *const c_int, blocklengths: *const c_int, displacements: *const Fint,
    oldtype: *const Fint, newtype: *mut Fint) [] {
    let displacements = addresses(displacements, entries(*count));
    let mut made = handle(*newtype);
    let code =
        c::MPI_Type_create_hindexed(*count, blocklengths, displacements.as_ptr(), handle(*oldtype), &mut made);
    if code == 0 {
        *newtype = number(made);
    }
    code
} }
plain_f90! { "type_struct" (count: *const c_int, blocklengths: *const c_int, displacements: *const Fint,
    types: *const Fint, newtype: *mut Fint) [] {
    let displacements = addresses(displacements, entries(*count));
    let types = Handles::of(types, || entries(*count));
    let mut made = handle(*newtype);
    let code =
        c::MPI_Type_create_struct(*count, blocklengths, displacements.as_ptr(), types.as_ptr(), &mut made);
    if code == 0 {
        *newtype = number(made);
    }
    code
} }
plain_f90! { "errhandler_create" (function: Function, errhandler: *mut Fint) [] {
    let mut made = handle(*errhandler);
    let code = c::MPI_Comm_create_errhandler(function, &mut made);
    if code == 0 {
        *errhandler = number(made);
    }
    code
} }
plain_f90! { "errhandler_get" (comm: *const Fint, errhandler: *mut Fint) [] {
    let mut found = handle(*errhandler);
    let code = c::MPI_Comm_get_errhandler(handle(*comm), &mut found);
    if code == 0 {
        *errhandler = number(found);
    }
    code
} }
plain_f90! { "errhandler_set" (comm: *const Fint, errhandler: *const Fint) [] {
    c::MPI_Comm_set_errhandler(handle(*comm), handle(*errhandler))
} }
