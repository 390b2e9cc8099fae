//! Info objects: keys and values as C strings. Info objects may be used at any time by any thread.
//!
//! Used by the exported functions; uses `mpi::info`.

use crate::abi::{Abi, MAX_INFO_VAL};
use crate::arg::{self, InOutArg, OutArg, handle};
use crate::callback::Argv;
use crate::raise::Result;
use hawser_base::{Class, Error, Handle};
use hawser_mpi::info::{self, InfoLimits};
use std::ffi::{c_char, c_int};

/// The longest key and value: one less than the constants, which count the terminating zero.
pub(crate) fn limits<A: Abi>() -> InfoLimits {
    InfoLimits { key: A::LIMITS.info_key - 1, value: MAX_INFO_VAL - 1 }
}

/// # Safety
/// The contract of MPI_Info_create.
pub unsafe fn create<A: Abi>(info: *mut A::Info) -> Result {
    // SAFETY: the caller's argument.
    let info = unsafe { OutArg::handle(info, "info") }?;
    info.set(info::create()?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Info_create_env.
pub unsafe fn create_env<A: Abi>(argc: c_int, argv: Argv, info: *mut A::Info) -> Result {
    // SAFETY: the caller's arguments: `argv` has `argc` strings, or is null.
    unsafe {
        let info = OutArg::handle(info, "info")?;
        let count = if argv.is_null() { 0 } else { arg::count(argc)? };
        let argv = arg::array(argv.cast_const(), count, "argv")?;
        let texts = argv.iter().map(|&text| arg::text(text, "argv")).collect::<hawser_base::Result<Vec<_>>>()?;
        info.set(info::create_env(&texts)?);
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_Info_dup.
pub unsafe fn dup<A: Abi>(info: A::Info, newinfo: *mut A::Info) -> Result {
    // SAFETY: the caller's argument.
    let newinfo = unsafe { OutArg::handle(newinfo, "newinfo") }?;
    newinfo.set(info::dup(handle(info)?)?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Info_free.
pub unsafe fn free<A: Abi>(info: *mut A::Info) -> Result {
    // SAFETY: the caller's argument.
    let info = unsafe { InOutArg::new(info, "info") }?;
    info::free(info.get()?)?;
    info.set(Handle::NULL);
    Ok(())
}

/// Reads a key argument (MPI_ERR_INFO_KEY if null).
///
/// # Safety
/// `key` is null or a string.
pub(crate) unsafe fn key(key: *const c_char) -> hawser_base::Result<Vec<u8>> {
    // SAFETY: the caller's promise.
    unsafe { arg::text(key, "key") }.map_err(|_| Error::new(Class::InfoKey, "key is a null pointer"))
}

/// # Safety
/// The contract of MPI_Info_set.
pub unsafe fn set<A: Abi>(info: A::Info, key: *const c_char, value: *const c_char) -> Result {
    let info = handle(info)?;
    // SAFETY: the caller's strings.
    let (key, value) = unsafe { (self::key(key)?, arg::text(value, "value")) };
    let value = value.map_err(|_| Error::new(Class::InfoValue, "value is a null pointer"))?;
    Ok(info::set(info, &key, &value, limits::<A>())?)
}

/// # Safety
/// The contract of MPI_Info_delete.
pub unsafe fn delete<A: Abi>(info: A::Info, key: *const c_char) -> Result {
    let info = handle(info)?;
    // SAFETY: the caller's string.
    let key = unsafe { self::key(key) }?;
    Ok(info::delete(info, &key, limits::<A>())?)
}

/// # Safety
/// The contract of MPI_Info_get: `value` has room for `valuelen` bytes and the terminating zero.
pub unsafe fn get<A: Abi>(
    info: A::Info,
    key: *const c_char,
    valuelen: c_int,
    value: *mut c_char,
    flag: *mut c_int,
) -> Result {
    let info = handle(info)?;
    // SAFETY: the caller's arguments.
    unsafe {
        let flag = OutArg::new(flag, "flag")?;
        let found = info::get(info, &self::key(key)?, limits::<A>())?;
        flag.put(found.is_some().into());
        if let Some(found) = found {
            let negative = || Error::new(Class::Arg, format!("valuelen is {valuelen}; it must not be negative"));
            let capacity = usize::try_from(valuelen).map_err(|_| negative())? + 1;
            let mut length = 0;
            arg::put_text(&found, value, capacity, &mut length, "value")?;
        }
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_Info_get_string: `value` has room for `*buflen` bytes with the terminating zero.
pub unsafe fn get_string<A: Abi>(
    info: A::Info,
    key: *const c_char,
    buflen: *mut c_int,
    value: *mut c_char,
    flag: *mut c_int,
) -> Result {
    let info = handle(info)?;
    // SAFETY: the caller's arguments.
    unsafe {
        let (flag, capacity) = (OutArg::new(flag, "flag")?, if buflen.is_null() { 0 } else { buflen.read() });
        let buflen = OutArg::new(buflen, "buflen")?;
        let found = info::get(info, &self::key(key)?, limits::<A>())?;
        flag.put(found.is_some().into());
        if let Some(found) = found {
            if capacity > 0 {
                let mut length = 0;
                arg::put_text(&found, value, capacity as usize, &mut length, "value")?;
            }
            buflen.put(found.len() as c_int + 1);
        }
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_Info_get_valuelen.
pub unsafe fn get_valuelen<A: Abi>(
    info: A::Info,
    key: *const c_char,
    valuelen: *mut c_int,
    flag: *mut c_int,
) -> Result {
    let info = handle(info)?;
    // SAFETY: the caller's arguments.
    unsafe {
        let (valuelen, flag) = (OutArg::new(valuelen, "valuelen")?, OutArg::new(flag, "flag")?);
        let found = info::get(info, &self::key(key)?, limits::<A>())?;
        flag.put(found.is_some().into());
        if let Some(found) = found {
            valuelen.put(found.len() as c_int);
        }
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_Info_get_nkeys.
pub unsafe fn get_nkeys<A: Abi>(info: A::Info, nkeys: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let nkeys = unsafe { OutArg::new(nkeys, "nkeys") }?;
    nkeys.put(info::keys(handle(info)?)? as c_int);
    Ok(())
}

/// # Safety
/// The contract of MPI_Info_get_nthkey: `key` has room for MPI_MAX_INFO_KEY bytes.
pub unsafe fn get_nthkey<A: Abi>(info: A::Info, n: c_int, key: *mut c_char) -> Result {
    let found = info::nth_key(handle(info)?, n)?;
    let mut length = 0;
    // SAFETY: the caller's argument.
    Ok(unsafe { arg::put_text(&found, key, A::LIMITS.info_key, &mut length, "key") }?)
}
