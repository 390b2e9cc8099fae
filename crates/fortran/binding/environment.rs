//! Start, timers, the buffers of buffered sends, and procedures without a C function of the same shape.

use crate::abi::values;
use crate::binding::c_functions::pmpi;
use crate::binding::prelude::*;
use crate::binding::sentinels;
use std::ffi::CStr;

/// Tells MPI the properties of Fortran (MPI-5.0 §20.4), if nothing has yet. The C library refuses a second call.
fn describe_fortran() {
    let (mut yes, mut no) = (logical(1), logical(0));
    let size = size_of::<Logical>() as c_int;
    let (mut found_yes, mut found_no, mut is_set): (Logical, Logical, c_int) = (0, 0, 0);
    // SAFETY: LOGICALs of that many bytes, of ours.
    unsafe {
        let get = pmpi::MPI_Abi_get_fortran_booleans;
        get(size, (&raw mut found_yes).cast(), (&raw mut found_no).cast(), &mut is_set);
        if is_set == 0 {
            pmpi::MPI_Abi_set_fortran_booleans(size, (&raw mut yes).cast(), (&raw mut no).cast());
        }
        let mut info = handle(values::MPI_INFO_NULL);
        pmpi::MPI_Abi_get_fortran_info(&mut info);
        if number(info) == values::MPI_INFO_NULL && pmpi::MPI_Info_create(&mut info) == 0 {
            for (key, value) in FORTRAN_INFO {
                pmpi::MPI_Info_set(info, key.as_ptr().cast_mut(), value.as_ptr().cast_mut());
            }
            pmpi::MPI_Abi_set_fortran_info(info);
        }
        pmpi::MPI_Info_free(&mut info);
    }
}

/// The sizes of Fortran's types in bytes, with the compilers' default kinds.
const FORTRAN_INFO: [(&CStr, &CStr); 4] = [
    (c"mpi_logical_size", c"4"),
    (c"mpi_integer_size", c"4"),
    (c"mpi_real_size", c"4"),
    (c"mpi_double_precision_size", c"8"),
];

fn after_start(code: c_int) -> c_int {
    if code == 0 {
        describe_fortran();
    }
    code
}

plain! { "init" () [] {
    after_start(c::MPI_Init(ptr::null_mut(), ptr::null_mut()))
} }
plain! { "init_thread" (required: *const c_int, provided: *mut c_int) [] {
    after_start(c::MPI_Init_thread(ptr::null_mut(), ptr::null_mut(), *required, provided))
} }
plain! { "session_init" (info: *const Fint, errhandler: *const Fint, session: *mut Fint) [] {
    let mut c_session = handle(*session);
    let code = c::MPI_Session_init(handle(*info), handle(*errhandler), &mut c_session);
    if code == 0 {
        *session = number(c_session);
    }
    after_start(code)
} }

/// Exports a function, or a subroutine without `ierror`, under its four names, of which those of PMPI call PMPI.
macro_rules! function {
    ($name:literal $stem:literal ($($arg:ident: $ty:ty),*) $(-> $ret:ty)? $body:block) => {
        function! { @one mpi concat!($name, "_"); ($($arg: $ty),*) $(-> $ret)? $body }
        function! { @one mpi concat!($name, "__"); ($($arg: $ty),*) $(-> $ret)? $body }
        function! { @one mpi concat!($name, "_f08_"); ($($arg: $ty),*) $(-> $ret)? $body }
        function! { @one pmpi concat!("p", $name, "_"); ($($arg: $ty),*) $(-> $ret)? $body }
        function! { @one pmpi concat!("p", $name, "__"); ($($arg: $ty),*) $(-> $ret)? $body }
        function! { @one pmpi concat!("p", $name, "_f08_"); ($($arg: $ty),*) $(-> $ret)? $body }
        // MPICH's modules call this one.
        function! { @one pmpi concat!("pmpir_", $stem, "_f08_"); ($($arg: $ty),*) $(-> $ret)? $body }
    };
    (@one $c:ident $symbol:expr; ($($arg:ident: $ty:ty),*) $(-> $ret:ty)? $body:block) => {
        const _: () = {
            #[allow(unused_imports)]
            use crate::binding::c_functions::$c as c;
            #[unsafe(export_name = $symbol)]
            #[allow(unused_unsafe)]
            unsafe extern "C" fn exported($($arg: $ty),*) $(-> $ret)? {
                // SAFETY: the caller keeps to the contract of the MPI procedure.
                unsafe { $body }
            }
        };
    };
}

function! { "mpi_wtime" "wtime" () -> f64 { c::MPI_Wtime() } }
function! { "mpi_wtick" "wtick" () -> f64 { c::MPI_Wtick() } }
function! { "mpi_aint_add" "aint_add" (base: *const Aint, disp: *const Aint) -> Aint { c::MPI_Aint_add(*base, *disp) } }
function! { "mpi_aint_diff" "aint_diff" (one: *const Aint, other: *const Aint) -> Aint { c::MPI_Aint_diff(*one, *other) } }
// C's MPI_Pcontrol takes any number of arguments and does nothing but for a profiling library, which has its own in
// Fortran.
function! { "mpi_pcontrol" "pcontrol" (_level: *const c_int) {} }

/// Exports MPI_F_sync_reg. It does nothing: the call alone keeps the compiler from moving accesses to the buffer
/// (MPI-5.0 §19.1.17).
macro_rules! sync_reg {
    ($($symbol:literal)*) => {
        $(
            const _: () = {
                #[unsafe(export_name = $symbol)]
                extern "C" fn exported(_buffer: *mut c_void) {}
            };
        )*
    };
}

sync_reg! {
    "mpi_f_sync_reg_" "mpi_f_sync_reg__" "mpi_f_sync_reg_f08ts_"
    "pmpi_f_sync_reg_" "pmpi_f_sync_reg__" "pmpi_f_sync_reg_f08ts_" "pmpir_f_sync_reg_f08ts_"
}

// Statuses are the same integers in every form.
plain! { "status_f2f08" (from: *const Fint, to: *mut Fint) [] {
    ptr::copy(from, to, STATUS_INTS);
    0
} }
plain! { "status_f082f" (from: *const Fint, to: *mut Fint) [] {
    ptr::copy(from, to, STATUS_INTS);
    0
} }

// The dimensions that remain are as many as the grid has.
plain! { "cart_sub" (comm: *const Fint, remain_dims: *const Logical, newcomm: *mut Fint) [] {
    let remain_dims = Truths::of(remain_dims, count::dimensions(handle(*comm)));
    let mut c_newcomm = handle(*newcomm);
    let code = c::MPI_Cart_sub(handle(*comm), remain_dims.as_ptr(), &mut c_newcomm);
    if code == 0 {
        *newcomm = number(c_newcomm);
    }
    code
} }

/// Replaces C's MPI_BUFFER_AUTOMATIC in the result of a detach by the address of Fortran's.
///
/// # Safety
/// `address` is the address of a pointer.
unsafe fn detached(address: *mut c_void, code: c_int) -> c_int {
    let address = address.cast::<*mut c_void>();
    // SAFETY: the caller's promise.
    unsafe {
        if code == 0 && address.read() == values::MPI_BUFFER_AUTOMATIC {
            address.write(sentinels::buffer_automatic());
        }
    }
    code
}

/// In mpif.h and `mpi` the address of a detached buffer is not returned (MPI-5.0 §3.6.1); mpi_f08 has a C_PTR for it.
macro_rules! detach {
    ($name:literal $c_name:ident $size:ty) => {
        subroutine! { [concat!("mpi_", $name, "_"), concat!("mpi_", $name, "__")] mpi Address
            (_address: *mut c_void, size: *mut $size) [] {
            let mut detached: *mut c_void = ptr::null_mut();
            c::$c_name((&raw mut detached).cast(), size)
        } }
        subroutine! { [concat!("pmpi_", $name, "_"), concat!("pmpi_", $name, "__")] pmpi Address
            (_address: *mut c_void, size: *mut $size) [] {
            let mut detached: *mut c_void = ptr::null_mut();
            c::$c_name((&raw mut detached).cast(), size)
        } }
        plain_f08! { $name (address: *mut c_void, size: *mut $size) [] { detached(address, c::$c_name(address, size)) } }
    };
    ($name:literal $c_name:ident $size:ty, of) => {
        subroutine! { [concat!("mpi_", $name, "_"), concat!("mpi_", $name, "__")] mpi Address
            (object: *const Fint, _address: *mut c_void, size: *mut $size) [] {
            let mut detached: *mut c_void = ptr::null_mut();
            c::$c_name(handle(*object), (&raw mut detached).cast(), size)
        } }
        subroutine! { [concat!("pmpi_", $name, "_"), concat!("pmpi_", $name, "__")] pmpi Address
            (object: *const Fint, _address: *mut c_void, size: *mut $size) [] {
            let mut detached: *mut c_void = ptr::null_mut();
            c::$c_name(handle(*object), (&raw mut detached).cast(), size)
        } }
        plain_f08! { $name (object: *const Fint, address: *mut c_void, size: *mut $size) [] {
            detached(address, c::$c_name(handle(*object), address, size))
        } }
    };
}

detach! { "buffer_detach" MPI_Buffer_detach c_int }
detach! { "comm_detach_buffer" MPI_Comm_detach_buffer c_int, of }
detach! { "session_detach_buffer" MPI_Session_detach_buffer c_int, of }
plain_large! { "buffer_detach_c" "buffer_detach" (address: *mut c_void, size: *mut Count) [] {
    detached(address, c::MPI_Buffer_detach_c(address, size))
} }
plain_large! { "comm_detach_buffer_c" "comm_detach_buffer" (object: *const Fint, address: *mut c_void, size: *mut Count) [] {
    detached(address, c::MPI_Comm_detach_buffer_c(handle(*object), address, size))
} }
plain_large! { "session_detach_buffer_c" "session_detach_buffer" (object: *const Fint, address: *mut c_void, size: *mut Count) [] {
    detached(address, c::MPI_Session_detach_buffer_c(handle(*object), address, size))
} }
