//! MPI_T_category_*: groups of variables.
//!
//! Used by the exported functions; uses `mpi::tools::category`.

use super::{store, store_indices, store_text};
use crate::abi::Abi;
use crate::arg::{self, OutArg};
use crate::raise::Result;
use hawser_mpi::tools::category::{self, CategoryItem};
use std::ffi::{c_char, c_int};

/// # Safety
/// The contract of MPI_T_category_get_num.
pub unsafe fn get_num<A: Abi>(num: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let num = unsafe { OutArg::new(num, "num_cat") }?;
    num.put(category::count()? as c_int);
    Ok(())
}

/// # Safety
/// The contract of MPI_T_category_get_info.
#[allow(clippy::too_many_arguments)]
pub unsafe fn get_info<A: Abi>(
    index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    desc: *mut c_char,
    desc_len: *mut c_int,
    num_cvars: *mut c_int,
    num_pvars: *mut c_int,
    num_categories: *mut c_int,
) -> Result {
    let info = category::info(index)?;
    let count = |kind| category::members(index, kind).map(|members| members.len() as c_int);
    // SAFETY: the caller's arguments.
    unsafe {
        store_text(info.name, name, name_len);
        store_text(info.about, desc, desc_len);
        store(num_cvars, count(CategoryItem::Cvar)?);
        store(num_pvars, count(CategoryItem::Pvar)?);
        store(num_categories, count(CategoryItem::Category)?);
    }
    Ok(())
}

/// Returns 0: no category has events.
///
/// # Safety
/// The contract of MPI_T_category_get_num_events.
pub unsafe fn get_num_events<A: Abi>(index: c_int, num: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let num = unsafe { OutArg::new(num, "num_events") }?;
    category::info(index)?;
    num.put(0);
    Ok(())
}

/// # Safety
/// The contract of MPI_T_category_get_index.
pub unsafe fn get_index<A: Abi>(name: *const c_char, index: *mut c_int) -> Result {
    // SAFETY: the caller's arguments.
    let (index, name) = unsafe { (OutArg::new(index, "cat_index")?, arg::text(name, "name")?) };
    index.put(category::index(&name)? as c_int);
    Ok(())
}

/// # Safety
/// The contract of MPI_T_category_get_cvars: `indices` has room for `len`.
pub unsafe fn get_cvars<A: Abi>(index: c_int, len: c_int, indices: *mut c_int) -> Result {
    // SAFETY: the caller's arguments.
    unsafe { store_indices(&category::members(index, CategoryItem::Cvar)?, len, indices) }
}

/// # Safety
/// The contract of MPI_T_category_get_pvars: `indices` has room for `len`.
pub unsafe fn get_pvars<A: Abi>(index: c_int, len: c_int, indices: *mut c_int) -> Result {
    // SAFETY: the caller's arguments.
    unsafe { store_indices(&category::members(index, CategoryItem::Pvar)?, len, indices) }
}

/// # Safety
/// The contract of MPI_T_category_get_categories: `indices` has room for `len`.
pub unsafe fn get_categories<A: Abi>(index: c_int, len: c_int, indices: *mut c_int) -> Result {
    // SAFETY: the caller's arguments.
    unsafe { store_indices(&category::members(index, CategoryItem::Category)?, len, indices) }
}

/// # Safety
/// The contract of MPI_T_category_get_events: `indices` has room for `len`.
pub unsafe fn get_events<A: Abi>(index: c_int, len: c_int, indices: *mut c_int) -> Result {
    category::info(index)?;
    // SAFETY: the caller's arguments.
    unsafe { store_indices(&[], len, indices) }
}

/// Returns a constant: the categories never change.
///
/// # Safety
/// The contract of MPI_T_category_changed.
pub unsafe fn changed<A: Abi>(update_number: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let update_number = unsafe { OutArg::new(update_number, "update_number") }?;
    category::count()?;
    update_number.put(0);
    Ok(())
}
