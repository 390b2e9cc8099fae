//! MPI_Pack and its like: packed data that the application assembles itself.
//!
//! Used by the exported functions; uses the crate `datatype`, `mpi::buffer`.

use crate::abi::Abi;
use crate::arg::{self, IntArg, OutArg, entries, length, null};
use crate::comm::comm;
use crate::datatype::get;
use crate::p2p::{buf, not_in_place};
use crate::raise::Result;
use hawser_base::{Class, Error, UserMem};
use hawser_datatype::{Datatype, UserPtr};
use hawser_mpi::buffer::{self, BufferArg};
use hawser_mpi::init_state;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// Checks the unpacked side of a call: address, count, datatype.
///
/// # Safety
/// The same as for a buffer of a send or a receive.
unsafe fn user_buffer<A: Abi>(
    at: *const c_void,
    count: impl IntArg,
    datatype: A::Datatype,
) -> hawser_base::Result<(UserPtr<'static>, u64, Arc<Datatype>)> {
    // SAFETY: the caller's promise.
    let buf: BufferArg = unsafe { buf::<A>(at, count, datatype) }?;
    init_state::check()?;
    buffer::of(&buf)?;
    Ok((buf.at, buf.count as u64, get::<A>(datatype)?))
}

/// Checks the packed side of a call: `size` bytes, and the position in them.
///
/// # Safety
/// `size` bytes at `at` may be used as the call does; `position` is null or may be read.
unsafe fn packed_buffer<A: Abi, N: IntArg>(
    at: *mut c_void,
    size: impl IntArg,
    position: *mut N,
) -> hawser_base::Result<(UserMem<'static>, usize)> {
    let size = entries(size, "the size of the pack buffer")?;
    if size > 0 {
        not_in_place::<A>(at)?;
    }
    if at.is_null() && size > 0 {
        return Err(Error::new(Class::Buffer, "the pack buffer is a null pointer"));
    }
    if position.is_null() {
        return Err(null("position"));
    }
    // SAFETY: the caller's promise.
    unsafe {
        let position = position.read().wide();
        let outside =
            || Error::new(Class::Arg, format!("position {position} is outside the pack buffer of {size} bytes"));
        let position = usize::try_from(position).ok().filter(|&position| position <= size).ok_or_else(outside)?;
        Ok((UserMem::new(at.cast(), size), position))
    }
}

/// Writes the position behind the bytes that were packed or unpacked.
///
/// # Safety
/// `position` may be written.
unsafe fn advance<N: IntArg>(position: *mut N, to: usize) -> Result {
    let large =
        || Error::new(Class::ValueTooLarge, format!("position {to} does not fit the argument; use the _c form"));
    // SAFETY: the caller's promise.
    Ok(unsafe { OutArg::new(position, "position") }?.put_int(to as i64).ok_or_else(large)?)
}

/// # Safety
/// The contract of MPI_Pack.
pub unsafe fn pack<A: Abi>(
    inbuf: *const c_void,
    incount: impl IntArg,
    datatype: A::Datatype,
    outbuf: *mut c_void,
    outsize: impl IntArg,
    position: *mut impl IntArg,
    on: A::Comm,
) -> Result {
    comm::<A>(on)?;
    // SAFETY: the caller's buffers.
    unsafe {
        let (at, count, datatype) = user_buffer::<A>(inbuf, incount, datatype)?;
        let (out, from) = packed_buffer::<A, _>(outbuf, outsize, position)?;
        advance(position, datatype.pack_at(at, count, out, from)?)
    }
}

/// # Safety
/// The contract of MPI_Unpack.
pub unsafe fn unpack<A: Abi>(
    inbuf: *const c_void,
    insize: impl IntArg,
    position: *mut impl IntArg,
    outbuf: *mut c_void,
    outcount: impl IntArg,
    datatype: A::Datatype,
    on: A::Comm,
) -> Result {
    comm::<A>(on)?;
    // SAFETY: the caller's buffers; the packed one is only read.
    unsafe {
        let (at, count, datatype) = user_buffer::<A>(outbuf, outcount, datatype)?;
        let (from, start) = packed_buffer::<A, _>(inbuf.cast_mut(), insize, position)?;
        advance(position, datatype.unpack_at(from, start, at, count)?)
    }
}

/// # Safety
/// The contract of MPI_Pack_size.
pub unsafe fn pack_size<A: Abi>(
    incount: impl IntArg,
    datatype: A::Datatype,
    on: A::Comm,
    size: *mut impl IntArg,
) -> Result {
    comm::<A>(on)?;
    // SAFETY: the caller's argument.
    let size = unsafe { OutArg::new(size, "size") }?;
    size.put_or_undefined(get::<A>(datatype)?.packed_size(length(incount)? as u64).min(i64::MAX as u64) as i64);
    Ok(())
}

/// Checks for the only data representation of MPI_Pack_external (MPI-5.0 §5.3).
///
/// # Safety
/// `datarep` is null or a string.
unsafe fn external32(datarep: *const c_char) -> Result {
    // SAFETY: the caller's promise.
    let name = unsafe { arg::text(datarep, "datarep") }?;
    if name != b"external32" {
        let name = String::from_utf8_lossy(&name);
        let text = format!("{name:?} is not a data representation for packing; use \"external32\"");
        return Err(Error::new(Class::UnsupportedDatarep, text).into());
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_Pack_external.
pub unsafe fn pack_external<A: Abi>(
    datarep: *const c_char,
    inbuf: *const c_void,
    incount: impl IntArg,
    datatype: A::Datatype,
    outbuf: *mut c_void,
    outsize: impl IntArg,
    position: *mut impl IntArg,
) -> Result {
    // SAFETY: the caller's arguments.
    unsafe {
        external32(datarep)?;
        let (at, count, datatype) = user_buffer::<A>(inbuf, incount, datatype)?;
        let (out, from) = packed_buffer::<A, _>(outbuf, outsize, position)?;
        advance(position, datatype.pack_external(at, count, out, from)?)
    }
}

/// # Safety
/// The contract of MPI_Unpack_external.
pub unsafe fn unpack_external<A: Abi>(
    datarep: *const c_char,
    inbuf: *const c_void,
    insize: impl IntArg,
    position: *mut impl IntArg,
    outbuf: *mut c_void,
    outcount: impl IntArg,
    datatype: A::Datatype,
) -> Result {
    // SAFETY: the caller's arguments; the packed buffer is only read.
    unsafe {
        external32(datarep)?;
        let (at, count, datatype) = user_buffer::<A>(outbuf, outcount, datatype)?;
        let (from, start) = packed_buffer::<A, _>(inbuf.cast_mut(), insize, position)?;
        advance(position, datatype.unpack_external(from, start, at, count)?)
    }
}

/// # Safety
/// The contract of MPI_Pack_external_size.
pub unsafe fn pack_external_size<A: Abi>(
    datarep: *const c_char,
    incount: impl IntArg,
    datatype: A::Datatype,
    size: *mut impl IntArg,
) -> Result {
    // SAFETY: the caller's arguments.
    let size = unsafe {
        external32(datarep)?;
        OutArg::new(size, "size")?
    };
    let bytes = get::<A>(datatype)?.external_size().saturating_mul(length(incount)? as u64);
    size.put_or_undefined(bytes.min(i64::MAX as u64) as i64);
    Ok(())
}
