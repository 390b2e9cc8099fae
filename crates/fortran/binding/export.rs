//! Makes the exported names of an entry point.
//!
//! Compilers write a name in lower case with an underscore behind it; some add a second one to names that have one
//! already. Modules for Fortran 2008 have names of their own (MPI-5.0 §19.1.5), in which `f08ts` says that choice
//! buffers are array descriptors. Every name exists for MPI and for PMPI. Bodies see the C functions as `c::MPI_X`,
//! the type of choice buffers as `Buffer`, and return MPI's error code.

/// Declares the C functions of MPI: in `mpi` under their names, in `pmpi` as PMPI_X.
macro_rules! declare {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)*) => {
        /// MPI_X: a profiling library may be in between.
        pub mod mpi {
            use super::*;
            unsafe extern "C" { $(pub fn $name($($arg: $ty),*) -> $ret;)* }
        }
        /// PMPI_X, under the names of MPI_X.
        pub mod pmpi {
            use super::*;
            unsafe extern "C" { $(#[link_name = concat!("P", stringify!($name))] pub fn $name($($arg: $ty),*) -> $ret;)* }
        }
    };
}

/// Exports a subroutine under each of the given names; `ierror` may be absent in Fortran 2008.
macro_rules! subroutine {
    ([$($symbol:expr),*] $c:ident $buffer:ident $args:tt $lengths:tt $body:tt) => {
        const _: () = {
            #[allow(unused_imports)]
            use crate::binding::c_functions::$c as c;
            #[allow(unused)]
            type Buffer = crate::binding::choice::$buffer;
            subroutine! { @entry $args $lengths $body }
            $(subroutine! { @export $symbol; $args $lengths })*
        };
    };
    (@entry ($($arg:ident: $ty:ty),*) [$($len:ident),*] $body:tt) => {
        #[inline(never)]
        #[allow(unused_unsafe, unused_variables, clippy::too_many_arguments)]
        unsafe extern "C" fn entry($($arg: $ty,)* ierror: *mut Fint $(, $len: Length)*) {
            let body = move || -> c_int {
                // SAFETY: the caller keeps to the contract of the MPI procedure: every argument is the address of what
                // the procedure's interface says.
                unsafe $body
            };
            let code = body();
            if !ierror.is_null() {
                // SAFETY: the caller's argument.
                unsafe { ierror.write(code) };
            }
        }
    };
    (@export $symbol:expr; ($($arg:ident: $ty:ty),*) [$($len:ident),*]) => {
        const _: () = {
            #[unsafe(export_name = $symbol)]
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn exported($($arg: $ty,)* ierror: *mut Fint $(, $len: Length)*) {
                // SAFETY: the caller's promise.
                unsafe { entry($($arg,)* ierror $(, $len)*) }
            }
        };
    };
}

/// A procedure without choice buffers, in all modules. Macros get the name without `mpi_`.
macro_rules! plain {
    ($stem:literal $($rest:tt)*) => {
        plain_f90! { $stem $($rest)* }
        plain_f08! { $stem $($rest)* }
    };
}

/// A procedure that mpi_f08 does not have.
macro_rules! plain_f90 {
    ($stem:literal $($rest:tt)*) => {
        subroutine! { [concat!("mpi_", $stem, "_"), concat!("mpi_", $stem, "__")] mpi Address $($rest)* }
        subroutine! { [concat!("pmpi_", $stem, "_"), concat!("pmpi_", $stem, "__")] pmpi Address $($rest)* }
    };
}

/// A procedure of mpi_f08 alone. MPICH's modules have other names for PMPI.
macro_rules! plain_f08 {
    ($stem:literal $($rest:tt)*) => {
        subroutine! { [concat!("mpi_", $stem, "_f08_")] mpi Address $($rest)* }
        subroutine! { [concat!("pmpi_", $stem, "_f08_"), concat!("pmpir_", $stem, "_f08_")] pmpi Address $($rest)* }
    };
}

/// The large form of a procedure (`_c`) of mpi_f08. Its second name is that of the short form, from which MPICH 4.0's
/// modules make theirs.
macro_rules! plain_large {
    ($stem:literal $short:literal $($rest:tt)*) => {
        subroutine! { [concat!("mpi_", $stem, "_f08_"), concat!("mpi_", $short, "_f08_large_")] mpi Address $($rest)* }
        subroutine! { [concat!("pmpi_", $stem, "_f08_"), concat!("pmpir_", $short, "_f08_large_")]
            pmpi Address $($rest)* }
    };
}

/// A procedure with choice buffers: their addresses in mpif.h and mpi, their descriptors in mpi_f08.
macro_rules! choice {
    ($stem:literal $($rest:tt)*) => {
        plain_f90! { $stem $($rest)* }
        choice_f08! { $stem $($rest)* }
    };
}

macro_rules! choice_f08 {
    ($stem:literal $($rest:tt)*) => {
        subroutine! { [concat!("mpi_", $stem, "_f08ts_")] mpi Descriptor $($rest)* }
        subroutine! { [concat!("pmpi_", $stem, "_f08ts_"), concat!("pmpir_", $stem, "_f08ts_")]
            pmpi Descriptor $($rest)* }
    };
}

macro_rules! choice_large {
    ($stem:literal $short:literal $($rest:tt)*) => {
        subroutine! { [concat!("mpi_", $stem, "_f08ts_"), concat!("mpi_", $short, "_f08ts_large_")]
            mpi Descriptor $($rest)* }
        subroutine! { [concat!("pmpi_", $stem, "_f08ts_"), concat!("pmpir_", $short, "_f08ts_large_")]
            pmpi Descriptor $($rest)* }
    };
}

/// Exports a comparison of two handles, which are integers in a derived type: `equal` or `unequal`.
macro_rules! comparison {
    ($of:ident $symbol:expr) => {
        const _: () = {
            #[unsafe(export_name = $symbol)]
            unsafe extern "C" fn exported(one: *const Fint, other: *const Fint) -> Logical {
                // SAFETY: the compiler passes the addresses of handles.
                unsafe { crate::binding::handle_functions::$of(*one, *other) }
            }
        };
    };
}

/// Exports MPI_SIZEOF for types of these sizes in bytes. The argument itself is not read: it may be a descriptor.
macro_rules! sizes {
    ($($size:literal: $($symbol:literal)*;)*) => {
        $($(
            const _: () = {
                #[unsafe(export_name = $symbol)]
                unsafe extern "C" fn exported(_of: *const c_void, size: *mut c_int, ierror: *mut Fint) {
                    // SAFETY: the compiler passes the addresses of integers; `ierror` may be absent.
                    unsafe { crate::binding::handle_functions::store_size($size, size, ierror) }
                }
            };
        )*)*
    };
}

/// Exports the functions of MPI that a program passes for a copy or delete function of attributes.
macro_rules! attribute_functions {
    ($width:ty: $copy:expr, $dup:expr, $delete:expr) => {
        const _: () = {
            use crate::binding::attributes;

            #[unsafe(export_name = $copy)]
            unsafe extern "C" fn exported_null_copy(
                object: *mut Fint,
                keyval: *mut Fint,
                extra: *mut $width,
                from: *mut $width,
                to: *mut $width,
                flag: *mut Logical,
                ierror: *mut Fint,
            ) {
                // SAFETY: the caller's promise.
                unsafe { attributes::null_copy(object, keyval, extra, from, to, flag, ierror) }
            }
            #[unsafe(export_name = $dup)]
            unsafe extern "C" fn exported_dup(
                object: *mut Fint,
                keyval: *mut Fint,
                extra: *mut $width,
                from: *mut $width,
                to: *mut $width,
                flag: *mut Logical,
                ierror: *mut Fint,
            ) {
                // SAFETY: the caller's promise.
                unsafe { attributes::dup(object, keyval, extra, from, to, flag, ierror) }
            }
            #[unsafe(export_name = $delete)]
            unsafe extern "C" fn exported_null_delete(
                object: *mut Fint,
                keyval: *mut Fint,
                value: *mut $width,
                extra: *mut $width,
                ierror: *mut Fint,
            ) {
                // SAFETY: the caller's promise.
                unsafe { attributes::null_delete(object, keyval, value, extra, ierror) }
            }
        };
    };
}
