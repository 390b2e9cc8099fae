//! Attribute keys and attributes of communicators, datatypes and windows.
//!
//! A key that Fortran makes has C functions that call the program's with arguments by address; the program's functions
//! and its extra state are C's extra state. Attributes are integers in Fortran and addresses in C
//! (`attribute_value`). The functions of MPI-1 have INTEGERs where those of MPI-2 have address-sized ones
//! (MPI-5.0 §15.2). Uses the C functions of MPI.

use crate::abi::values;
use crate::binding::prelude::*;
use hawser_fortran::attribute_value;

/// The integers of attribute functions: INTEGER in MPI-1, address-sized since.
pub trait Width: Copy + 'static {
    fn wide(self) -> isize;
    fn of(value: isize) -> Self;
}

impl Width for isize {
    fn wide(self) -> isize {
        self
    }
    fn of(value: isize) -> isize {
        value
    }
}

impl Width for c_int {
    fn wide(self) -> isize {
        self as isize
    }
    /// An integer that does not fit loses its upper bits, as MPI says (§19.3.7).
    fn of(value: isize) -> c_int {
        value as c_int
    }
}

type CopyFunction<W> = unsafe extern "C" fn(*mut Fint, *mut Fint, *mut W, *mut W, *mut W, *mut Logical, *mut Fint);
type DeleteFunction<W> = unsafe extern "C" fn(*mut Fint, *mut Fint, *mut W, *mut W, *mut Fint);

/// The program's functions of a key. It is never freed: attributes may outlive their key.
struct Keyval<W> {
    copy: CopyFunction<W>,
    delete: DeleteFunction<W>,
    extra_state: W,
}

/// The copy function that C calls.
///
/// # Safety
/// As MPI calls it; `state` is a `Keyval`.
unsafe extern "C" fn copy<W: Width>(
    object: Handle,
    keyval: c_int,
    state: *mut c_void,
    value_in: *mut c_void,
    value_out: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let (mut object, mut keyval) = (number(object), keyval);
    let (mut from, mut to) = (W::of(attribute_value::of(value_in)), W::of(0));
    let (mut found, mut code) = (logical(0), 0);
    // SAFETY: the caller's promise; the program's function gets the addresses of variables of ours.
    unsafe {
        let state = &mut *state.cast::<Keyval<W>>();
        (state.copy)(&mut object, &mut keyval, &mut state.extra_state, &mut from, &mut to, &mut found, &mut code);
        flag.write(truth(found));
        if code == 0 && truth(found) != 0 {
            value_out.cast::<*mut c_void>().write(attribute_value::insert(to.wide()));
        }
    }
    code
}

/// The delete function that C calls.
///
/// # Safety
/// As MPI calls it; `state` is a `Keyval`.
unsafe extern "C" fn delete<W: Width>(
    object: Handle,
    keyval: c_int,
    attribute: *mut c_void,
    state: *mut c_void,
) -> c_int {
    let (mut object, mut keyval) = (number(object), keyval);
    let (mut value, mut code) = (W::of(attribute_value::of(attribute)), 0);
    // SAFETY: the caller's promise; the program's function gets the addresses of variables of ours.
    unsafe {
        let state = &mut *state.cast::<Keyval<W>>();
        (state.delete)(&mut object, &mut keyval, &mut value, &mut state.extra_state, &mut code);
    }
    if code == 0 {
        attribute_value::remove(attribute);
    }
    code
}

/// Returns the functions and the extra state of a key, as C's MPI_Comm_create_keyval and its like take them.
///
/// # Safety
/// Both are functions of the program of that shape, and `extra_state` may be read.
unsafe fn keyval<W: Width>(copy_fn: Function, delete_fn: Function, extra_state: *const W) -> [Function; 3] {
    // SAFETY: the caller's promise.
    let keyval = unsafe {
        Keyval {
            copy: std::mem::transmute::<Function, CopyFunction<W>>(copy_fn),
            delete: std::mem::transmute::<Function, DeleteFunction<W>>(delete_fn),
            extra_state: extra_state.read(),
        }
    };
    [copy::<W> as Function, delete::<W> as Function, Box::into_raw(Box::new(keyval)).cast()]
}

/// Returns C's number of a key. Those of MPI's own keys are their own in Fortran, where MPICH's are.
fn key(keyval: Fint) -> c_int {
    if values::PREDEFINED_KEYS.contains(&(keyval - values::FORTRAN_KEY_OFFSET)) {
        keyval - values::FORTRAN_KEY_OFFSET
    } else {
        keyval
    }
}

/// Returns the integer that Fortran gets for an attribute that C found.
///
/// # Safety
/// `attribute` is the value of C's `key`.
unsafe fn value(key: c_int, attribute: *mut c_void) -> isize {
    if values::PREDEFINED_KEYS.contains(&key) {
        // SAFETY: the caller's promise.
        unsafe { attribute_value::of_predefined(key, values::MPI_WIN_BASE, values::MPI_WIN_SIZE, attribute) }
    } else {
        attribute_value::of(attribute)
    }
}

/// Sets an attribute by a C function; its cell is freed where that fails.
fn set(value: isize, with: impl FnOnce(*mut c_void) -> c_int) -> c_int {
    let attribute = attribute_value::insert(value);
    let code = with(attribute);
    if code != 0 {
        attribute_value::remove(attribute);
    }
    code
}

/// Gets an attribute by a C function, which gets the addresses of a pointer and of a flag.
///
/// # Safety
/// `to` and `flag` may be written.
unsafe fn get<W: Width>(
    keyval: Fint,
    to: *mut W,
    flag: *mut Logical,
    with: impl FnOnce(c_int, *mut c_void, *mut c_int) -> c_int,
) -> c_int {
    let mut attribute: *mut c_void = ptr::null_mut();
    let mut found = 0;
    let code = with(key(keyval), (&raw mut attribute).cast(), &mut found);
    if code == 0 {
        // SAFETY: the caller's promise, and what MPI found.
        unsafe {
            flag.write(logical(found));
            // Where there is no attribute, MPICH's binding returns 0 too.
            to.write(W::of(if found != 0 { value(key(keyval), attribute) } else { 0 }));
        }
    }
    code
}

macro_rules! attributes_of {
    ($create:literal $c_create:ident $set:literal $c_set:ident $get:literal $c_get:ident $delete:literal $c_delete:ident) => {
        plain! { $create (copy_fn: Function, delete_fn: Function, keyval: *mut Fint, extra_state: *const isize) [] {
            let [copy, delete, state] = crate::binding::attributes::keyval(copy_fn, delete_fn, extra_state);
            c::$c_create(copy, delete, keyval, state)
        } }
        plain! { $set (object: *const Fint, keyval: *const Fint, value: *const isize) [] {
            set(*value, |attribute| c::$c_set(handle(*object), key(*keyval), attribute))
        } }
        plain! { $get (object: *const Fint, keyval: *const Fint, value: *mut isize, flag: *mut Logical) [] {
            get(*keyval, value, flag, |key, value, flag| c::$c_get(handle(*object), key, value, flag))
        } }
        plain! { $delete (object: *const Fint, keyval: *const Fint) [] {
            c::$c_delete(handle(*object), key(*keyval))
        } }
    };
}

attributes_of! { "comm_create_keyval" MPI_Comm_create_keyval "comm_set_attr" MPI_Comm_set_attr
"comm_get_attr" MPI_Comm_get_attr "comm_delete_attr" MPI_Comm_delete_attr }
attributes_of! { "type_create_keyval" MPI_Type_create_keyval "type_set_attr" MPI_Type_set_attr
"type_get_attr" MPI_Type_get_attr "type_delete_attr" MPI_Type_delete_attr }
attributes_of! { "win_create_keyval" MPI_Win_create_keyval "win_set_attr" MPI_Win_set_attr
"win_get_attr" MPI_Win_get_attr "win_delete_attr" MPI_Win_delete_attr }

// Those of MPI-1.
plain_f90! { "keyval_create" (copy_fn: Function, delete_fn: Function, keyval: *mut Fint, extra_state: *const Fint) [] {
    let [copy, delete, state] = crate::binding::attributes::keyval(copy_fn, delete_fn, extra_state);
    c::MPI_Comm_create_keyval(copy, delete, keyval, state)
} }
plain_f90! { "attr_put" (comm: *const Fint, keyval: *const Fint, value: *const Fint) [] {
    set(*value as isize, |attribute| c::MPI_Comm_set_attr(handle(*comm), key(*keyval), attribute))
} }
plain_f90! { "attr_get" (comm: *const Fint, keyval: *const Fint, value: *mut Fint, flag: *mut Logical) [] {
    get(*keyval, value, flag, |key, value, flag| c::MPI_Comm_get_attr(handle(*comm), key, value, flag))
} }
plain_f90! { "attr_delete" (comm: *const Fint, keyval: *const Fint) [] {
    c::MPI_Comm_delete_attr(handle(*comm), key(*keyval))
} }

/// MPI_COMM_NULL_COPY_FN and its like: the attribute is not copied.
///
/// # Safety
/// As MPI calls a copy function of Fortran.
pub unsafe extern "C" fn null_copy<W: Width>(
    _object: *mut Fint,
    _keyval: *mut Fint,
    _extra_state: *mut W,
    _value_in: *mut W,
    _value_out: *mut W,
    flag: *mut Logical,
    ierror: *mut Fint,
) {
    // SAFETY: the caller's promise.
    unsafe {
        flag.write(logical(0));
        ierror.write(0);
    }
}

/// MPI_COMM_DUP_FN and its like: the copy has the same value.
///
/// # Safety
/// As MPI calls a copy function of Fortran.
pub unsafe extern "C" fn dup<W: Width>(
    _object: *mut Fint,
    _keyval: *mut Fint,
    _extra_state: *mut W,
    value_in: *mut W,
    value_out: *mut W,
    flag: *mut Logical,
    ierror: *mut Fint,
) {
    // SAFETY: the caller's promise.
    unsafe {
        value_out.write(value_in.read());
        flag.write(logical(1));
        ierror.write(0);
    }
}

/// MPI_COMM_NULL_DELETE_FN and its like.
///
/// # Safety
/// As MPI calls a delete function of Fortran.
pub unsafe extern "C" fn null_delete<W: Width>(
    _object: *mut Fint,
    _keyval: *mut Fint,
    _value: *mut W,
    _extra_state: *mut W,
    ierror: *mut Fint,
) {
    // SAFETY: the caller's promise.
    unsafe { ierror.write(0) };
}

/// Exports the functions of one kind of object under both manglings.
macro_rules! predefined {
    ($($width:ty: $stem:literal;)*) => {
        $(
            attribute_functions! { $width: concat!($stem, "_null_copy_fn_"), concat!($stem, "_dup_fn_"),
                concat!($stem, "_null_delete_fn_") }
            attribute_functions! { $width: concat!($stem, "_null_copy_fn__"), concat!($stem, "_dup_fn__"),
                concat!($stem, "_null_delete_fn__") }
        )*
    };
}

predefined! {
    isize: "mpi_comm";
    isize: "mpi_type";
    isize: "mpi_win";
    Fint: "mpi";
}
