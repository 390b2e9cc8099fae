//! Values of an info, names of process sets, and packing by a data representation: procedures whose character arguments
//! have a length of their own, which counts C's NUL in C and does not in Fortran.

use crate::binding::choice::CountArgument;
use crate::binding::prelude::*;

plain! { "info_get" (info: *const Fint, key: *const c_char, valuelen: *const c_int, value: *mut c_char,
    flag: *mut Logical) [key_len, value_len] {
    let key = Text::trimmed(key, key_len);
    let mut c_value = TextOut::new(entries(*valuelen) + 1);
    let mut found = 0;
    let code = c::MPI_Info_get(handle(*info), key.as_ptr(), *valuelen, c_value.as_mut_ptr(), &mut found);
    if code == 0 {
        *flag = logical(found);
        if found != 0 {
            c_value.store(value, value_len);
        }
    }
    code
} }
plain! { "info_get_string" (info: *const Fint, key: *const c_char, buflen: *mut c_int, value: *mut c_char,
    flag: *mut Logical) [key_len, value_len] {
    let key = Text::trimmed(key, key_len);
    let room = entries(*buflen).min(value_len);
    let mut c_value = TextOut::new(room + 1);
    // 0 asks for the length alone.
    let (mut length, mut found) = (if room == 0 { 0 } else { room as c_int + 1 }, 0);
    let code = c::MPI_Info_get_string(handle(*info), key.as_ptr(), &mut length, c_value.as_mut_ptr(), &mut found);
    if code == 0 {
        *flag = logical(found);
        if found != 0 {
            *buflen = length - 1;
            if room > 0 {
                c_value.store(value, value_len);
            }
        }
    }
    code
} }
plain! { "info_create_env" (info: *mut Fint) [] {
    let mut c_info = handle(*info);
    let code = c::MPI_Info_create_env(0, ptr::null_mut(), &mut c_info);
    if code == 0 {
        *info = number(c_info);
    }
    code
} }
plain! { "session_get_nth_pset" (session: *const Fint, info: *const Fint, n: *const c_int, pset_len: *mut c_int,
    pset_name: *mut c_char) [name_len] {
    let room = entries(*pset_len).min(name_len);
    let mut c_name = TextOut::new(room + 1);
    let mut length = if room == 0 { 0 } else { room as c_int + 1 };
    let code =
        c::MPI_Session_get_nth_pset(handle(*session), handle(*info), *n, &mut length, c_name.as_mut_ptr());
    if code == 0 {
        *pset_len = length - 1;
        if room > 0 {
            c_name.store(pset_name, name_len);
        }
    }
    code
} }

/// A C function that packs: from a message to a buffer of `S` bytes at a position.
type Pack<N, S> = unsafe extern "C" fn(*const c_char, *const c_void, N, Handle, *mut c_void, S, *mut S) -> c_int;
/// A C function that unpacks: from a buffer of `S` bytes at a position to a message.
type Unpack<N, S> = unsafe extern "C" fn(*const c_char, *const c_void, S, *mut S, *mut c_void, N, Handle) -> c_int;

unsafe fn pack<N: CountArgument, S>(
    with: Pack<N, S>,
    name: &Text,
    from: (impl Choice, N, Handle),
    to: (impl Choice, S),
    position: *mut S,
) -> c_int {
    // SAFETY: the caller's arguments, as for the MPI procedure.
    unsafe {
        let Some(message) = choice::blocking(from.0, from.1, from.2, false) else {
            return choice::refuse("MPI_Pack_external", handle(values::MPI_COMM_SELF));
        };
        let packed = choice::Copied::of(to.0);
        let code =
            with(name.as_ptr(), message.address, message.count, message.datatype, packed.address(), to.1, position);
        drop(message);
        packed.finish(true);
        code
    }
}

unsafe fn unpack<N: CountArgument, S>(
    with: Unpack<N, S>,
    name: &Text,
    from: (impl Choice, S),
    position: *mut S,
    to: (impl Choice, N, Handle),
) -> c_int {
    // SAFETY: the caller's arguments, as for the MPI procedure.
    unsafe {
        let packed = choice::Copied::of(from.0);
        let Some(message) = choice::blocking(to.0, to.1, to.2, true) else {
            return choice::refuse("MPI_Unpack_external", handle(values::MPI_COMM_SELF));
        };
        let code =
            with(name.as_ptr(), packed.address(), from.1, position, message.address, message.count, message.datatype);
        drop(message);
        packed.finish(false);
        code
    }
}

/// Exports a procedure that packs and one that unpacks by a data representation, "external32" (MPI-5.0 §5.3).
macro_rules! external {
    ($form:ident ($($pack:literal)+) ($($unpack:literal)+) $c_pack:ident $c_unpack:ident $number:ty, $size:ty) => {
        $form! { $($pack)+ (datarep: *const c_char, inbuf: Buffer, incount: *const $number, datatype: *const Fint,
            outbuf: Buffer, outsize: *const $size, position: *mut $size) [len] {
            let name = Text::of(datarep, len);
            pack(c::$c_pack, &name, (inbuf, *incount, handle(*datatype)), (outbuf, *outsize), position)
        } }
        $form! { $($unpack)+ (datarep: *const c_char, inbuf: Buffer, insize: *const $size, position: *mut $size,
            outbuf: Buffer, outcount: *const $number, datatype: *const Fint) [len] {
            let name = Text::of(datarep, len);
            unpack(c::$c_unpack, &name, (inbuf, *insize), position, (outbuf, *outcount, handle(*datatype)))
        } }
    };
}

external! { choice ("pack_external") ("unpack_external") MPI_Pack_external MPI_Unpack_external c_int, Aint }
external! { choice_large ("pack_external_c" "pack_external") ("unpack_external_c" "unpack_external")
MPI_Pack_external_c MPI_Unpack_external_c Count, Count }
