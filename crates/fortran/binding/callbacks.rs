//! Functions of the program that MPI calls with a state: generalized requests and data representations.
//!
//! C functions of ours call them with arguments by address. Those of reductions and error handlers have no state and
//! the same shape in both languages, because a handle of C begins with the bytes of its integer: MPI calls them
//! directly.

use crate::binding::prelude::*;

// A C function may read a handle of C where Fortran reads an INTEGER.
const _: () = assert!(cfg!(target_endian = "little"));

/// The functions of a generalized request (MPI-5.0 §13.2). They get the program's own variable for their state, as
/// under MPICH, whose tests expect that `free` can write it.
struct Grequest {
    query: unsafe extern "C" fn(*mut isize, *mut Status, *mut Fint),
    free: unsafe extern "C" fn(*mut isize, *mut Fint),
    cancel: unsafe extern "C" fn(*mut isize, *mut Logical, *mut Fint),
    extra_state: *mut isize,
}

unsafe extern "C" fn query(state: *mut c_void, status: *mut Status) -> c_int {
    let mut code = 0;
    // SAFETY: MPI passes the state of its request, and a status.
    unsafe {
        let state = &*state.cast::<Grequest>();
        (state.query)(state.extra_state, status, &mut code);
    }
    code
}

unsafe extern "C" fn free(state: *mut c_void) -> c_int {
    let mut code = 0;
    // SAFETY: MPI passes the state of its request, once and as the last of its functions.
    unsafe {
        let state = Box::from_raw(state.cast::<Grequest>());
        (state.free)(state.extra_state, &mut code);
    }
    code
}

unsafe extern "C" fn cancel(state: *mut c_void, complete: c_int) -> c_int {
    let (mut complete, mut code) = (logical(complete), 0);
    // SAFETY: MPI passes the state of its request.
    unsafe {
        let state = &*state.cast::<Grequest>();
        (state.cancel)(state.extra_state, &mut complete, &mut code);
    }
    code
}

plain! { "grequest_start" (query_fn: Function, free_fn: Function, cancel_fn: Function, extra_state: *mut isize,
    request: *mut Fint) [] {
    let state = Box::into_raw(Box::new(Grequest {
        query: std::mem::transmute::<Function, unsafe extern "C" fn(*mut isize, *mut Status, *mut Fint)>(query_fn),
        free: std::mem::transmute::<Function, unsafe extern "C" fn(*mut isize, *mut Fint)>(free_fn),
        cancel: std::mem::transmute::<Function, unsafe extern "C" fn(*mut isize, *mut Logical, *mut Fint)>(cancel_fn),
        extra_state,
    }));
    let mut c_request = handle(*request);
    let functions = [query as Function, free as Function, cancel as Function];
    let code = c::MPI_Grequest_start(functions[0], functions[1], functions[2], state.cast(), &mut c_request);
    if code == 0 {
        *request = number(c_request);
    } else {
        drop(Box::from_raw(state));
    }
    code
} }

/// Converts `count` elements of a datatype; `N` is the type of the count.
type Conversion<N> =
    unsafe extern "C" fn(*mut c_void, *mut Fint, *mut N, *mut c_void, *mut Offset, *mut isize, *mut Fint);

/// The functions of a data representation (MPI-5.0 §14.5.3). It is never freed: there is no function that forgets one.
struct Datarep<N> {
    read: Conversion<N>,
    write: Conversion<N>,
    extent: unsafe extern "C" fn(*mut Fint, *mut Aint, *mut isize, *mut Fint),
    extra_state: isize,
}

unsafe fn convert<N>(
    with: Conversion<N>,
    buffers: [*mut c_void; 2],
    datatype: Handle,
    mut count: N,
    mut position: Offset,
    extra_state: *mut isize,
) -> c_int {
    let (mut datatype, mut code) = (number(datatype), 0);
    // SAFETY: the program's function gets what MPI passed, and the addresses of variables of ours.
    unsafe { with(buffers[0], &mut datatype, &mut count, buffers[1], &mut position, extra_state, &mut code) };
    code
}

unsafe extern "C" fn read<N>(
    user: *mut c_void,
    datatype: Handle,
    count: N,
    file: *mut c_void,
    position: Offset,
    state: *mut c_void,
) -> c_int {
    // SAFETY: MPI passes the state of its representation.
    unsafe {
        let state = &mut *state.cast::<Datarep<N>>();
        convert(state.read, [user, file], datatype, count, position, &mut state.extra_state)
    }
}

unsafe extern "C" fn write<N>(
    user: *mut c_void,
    datatype: Handle,
    count: N,
    file: *mut c_void,
    position: Offset,
    state: *mut c_void,
) -> c_int {
    // SAFETY: MPI passes the state of its representation.
    unsafe {
        let state = &mut *state.cast::<Datarep<N>>();
        convert(state.write, [user, file], datatype, count, position, &mut state.extra_state)
    }
}

unsafe extern "C" fn extent<N>(datatype: Handle, extent: *mut Aint, state: *mut c_void) -> c_int {
    let (mut datatype, mut code) = (number(datatype), 0);
    // SAFETY: MPI passes the state of its representation.
    unsafe {
        let state = &mut *state.cast::<Datarep<N>>();
        (state.extent)(&mut datatype, extent, &mut state.extra_state, &mut code);
    }
    code
}

/// Returns the functions of a representation and their state, as C's MPI_Register_datarep takes them.
///
/// # Safety
/// They are functions of the program of the shapes of `Datarep`.
unsafe fn datarep<N>(functions: [Function; 3], extra_state: isize) -> [Function; 4] {
    let [read_fn, write_fn, extent_fn] = functions;
    // SAFETY: the caller's promise.
    let state = unsafe {
        Box::into_raw(Box::new(Datarep::<N> {
            read: std::mem::transmute::<Function, Conversion<N>>(read_fn),
            write: std::mem::transmute::<Function, Conversion<N>>(write_fn),
            extent: std::mem::transmute::<Function, unsafe extern "C" fn(*mut Fint, *mut Aint, *mut isize, *mut Fint)>(
                extent_fn,
            ),
            extra_state,
        }))
    };
    // MPI_CONVERSION_FN_NULL is no function of C.
    let conversion = |of: Function, ours: Function| if is_conversion_null(of) { ptr::null_mut() } else { ours };
    [
        conversion(read_fn, read::<N> as Function),
        conversion(write_fn, write::<N> as Function),
        extent::<N> as Function,
        state.cast(),
    ]
}

plain! { "register_datarep" (datarep: *const c_char, read_fn: Function, write_fn: Function, extent_fn: Function,
    extra_state: *const isize) [datarep_len] {
    let name = Text::of(datarep, datarep_len);
    let [read, write, extent, state] =
        crate::binding::callbacks::datarep::<c_int>([read_fn, write_fn, extent_fn], *extra_state);
    c::MPI_Register_datarep(name.as_ptr(), read, write, extent, state)
} }
plain_large! { "register_datarep_c" "register_datarep" (datarep: *const c_char, read_fn: Function, write_fn: Function, extent_fn: Function,
    extra_state: *const isize) [datarep_len] {
    let name = Text::of(datarep, datarep_len);
    let [read, write, extent, state] =
        crate::binding::callbacks::datarep::<Count>([read_fn, write_fn, extent_fn], *extra_state);
    c::MPI_Register_datarep_c(name.as_ptr(), read, write, extent, state)
} }

macro_rules! conversion_null {
    ($($name:ident $symbol:literal;)*) => {
        $(
            /// MPI_CONVERSION_FN_NULL: a name that stands for no conversion and is never called.
            #[unsafe(export_name = $symbol)]
            extern "C" fn $name() {}
        )*
        fn is_conversion_null(function: Function) -> bool {
            [$($name as Function),*].contains(&function)
        }
    };
}

conversion_null! {
    conversion_null_one "mpi_conversion_fn_null_";
    conversion_null_two "mpi_conversion_fn_null__";
    conversion_null_large_one "mpi_conversion_fn_null_c_";
    conversion_null_large_two "mpi_conversion_fn_null_c__";
    // Those of MPICH's modules.
    conversion_null_module "__mpi_f08_callbacks_MOD_mpi_conversion_fn_null";
    conversion_null_module_large "__mpi_f08_callbacks_MOD_mpi_conversion_fn_null_c";
}
