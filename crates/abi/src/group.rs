//! Groups: translates handles to `mpi::group::Group`, ranks in both directions, and new groups to handles.
//!
//! Used by the exported functions; uses `mpi::group`.

use crate::abi::Abi;
use crate::arg::{self, InOutArg, OutArg, handle};
use crate::raise::Result;
use hawser_base::value::{Set, UNDEFINED};
use hawser_base::{Class, Error, Handle};
use hawser_mpi::group::Group;
use hawser_mpi::process::{self, Process};
use std::ffi::c_int;
use std::sync::Arc;

/// Returns the group of a handle; MPI_ERR_GROUP if there is none.
pub(crate) fn group<A: Abi>(process: &'static Process, group: A::Group) -> hawser_base::Result<Arc<Group>> {
    let group_handle = handle(group)?;
    if group_handle == hawser_base::handle::group::EMPTY {
        return Ok(Arc::new(Group::of(Vec::new(), process.me())));
    }
    process.groups().get(group_handle).map(|group| (*group).clone()).ok_or_else(|| no_group(group_handle))
}

#[cold]
fn no_group(handle: Handle) -> Error {
    let null = handle.is_null();
    let text = if null {
        "the group is MPI_GROUP_NULL".to_owned()
    } else {
        format!("group {handle:?} does not exist; it was freed before")
    };
    Error::new(Class::Group, text)
}

/// Makes a handle for a new group. Every empty group has the handle MPI_GROUP_EMPTY.
pub(crate) fn new_handle(process: &'static Process, group: Arc<Group>) -> hawser_base::Result<Handle> {
    if group.size() == 0 { Ok(hawser_base::handle::group::EMPTY) } else { process.add_group(group) }
}

/// # Safety
/// The contract of MPI_Group_size.
pub unsafe fn size<A: Abi>(group: A::Group, size: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let size = unsafe { OutArg::new(size, "size") }?;
    size.put(self::group::<A>(process::get()?, group)?.size() as c_int);
    Ok(())
}

/// # Safety
/// The contract of MPI_Group_rank.
pub unsafe fn rank<A: Abi>(group: A::Group, rank: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let rank = unsafe { OutArg::new(rank, "rank") }?;
    rank.put(self::group::<A>(process::get()?, group)?.rank().map_or(UNDEFINED, |rank| rank as c_int));
    Ok(())
}

/// # Safety
/// The contract of MPI_Group_compare.
pub unsafe fn compare<A: Abi>(group1: A::Group, group2: A::Group, result: *mut c_int) -> Result {
    let process = process::get()?;
    // SAFETY: the caller's argument.
    let result = unsafe { OutArg::new(result, "result") }?;
    let same = group::<A>(process, group1)?.compare(&*group::<A>(process, group2)?);
    result.put(A::value_out(Set::Comparison, same));
    Ok(())
}

/// # Safety
/// The contract of MPI_Group_translate_ranks.
pub unsafe fn translate_ranks<A: Abi>(
    from: A::Group,
    n: c_int,
    ranks: *const c_int,
    to: A::Group,
    translated: *mut c_int,
) -> Result {
    let process = process::get()?;
    let (from, to) = (group::<A>(process, from)?, group::<A>(process, to)?);
    // SAFETY: the caller's array.
    let ranks = unsafe { arg::array(ranks, arg::entries(n, "n")?, "ranks1") }?;
    if translated.is_null() && !ranks.is_empty() {
        return Err(arg::null("ranks2").into());
    }
    for (i, &rank) in ranks.iter().enumerate() {
        let rank = A::rank_out(from.translate(A::rank_in(rank), &to)?);
        // SAFETY: `ranks2` has `n` places.
        unsafe { translated.add(i).write(rank) };
    }
    Ok(())
}

macro_rules! of_two {
    ($($name:ident $method:ident;)*) => {
        $(
            /// # Safety
            /// The contract of the MPI function of this name.
            pub unsafe fn $name<A: Abi>(group1: A::Group, group2: A::Group, newgroup: *mut A::Group) -> Result {
                let process = process::get()?;
                // SAFETY: the caller's argument.
                let newgroup = unsafe { OutArg::handle(newgroup, "newgroup") }?;
                let (one, two) = (group::<A>(process, group1)?, group::<A>(process, group2)?);
                newgroup.set(new_handle(process, Arc::new(one.$method(&two, process.me())))?);
                Ok(())
            }
        )*
    };
}

of_two! {
    union union;
    intersection intersection;
    difference difference;
}

macro_rules! of_ranks {
    ($($name:ident $range:ident $method:ident;)*) => {
        $(
            /// # Safety
            /// The contract of the MPI function of this name.
            pub unsafe fn $name<A: Abi>(group: A::Group, n: c_int, ranks: *const c_int, newgroup: *mut A::Group) -> Result {
                let process = process::get()?;
                // SAFETY: the caller's array.
                let ranks = unsafe { arg::array(ranks, arg::entries(n, "n")?, "ranks") }?;
                // SAFETY: the caller's argument.
                let newgroup = unsafe { OutArg::handle(newgroup, "newgroup") }?;
                let made = self::group::<A>(process, group)?.$method(ranks, process.me())?;
                newgroup.set(new_handle(process, Arc::new(made))?);
                Ok(())
            }

            /// # Safety
            /// The contract of the MPI function of this name.
            pub unsafe fn $range<A: Abi>(
                group: A::Group, n: c_int, ranges: *mut [c_int; 3], newgroup: *mut A::Group,
            ) -> Result {
                let process = process::get()?;
                // SAFETY: the caller's array.
                let ranges = unsafe { arg::array(ranges.cast_const(), arg::entries(n, "n")?, "ranges") }?;
                // SAFETY: the caller's argument.
                let newgroup = unsafe { OutArg::handle(newgroup, "newgroup") }?;
                let made = self::group::<A>(process, group)?.$method(&Group::expand(ranges)?, process.me())?;
                newgroup.set(new_handle(process, Arc::new(made))?);
                Ok(())
            }
        )*
    };
}

of_ranks! {
    include range_include include;
    exclude range_exclude exclude;
}

/// # Safety
/// The contract of MPI_Group_free.
pub unsafe fn free<A: Abi>(group: *mut A::Group) -> Result {
    let process = process::get()?;
    // SAFETY: the caller's argument.
    let group = unsafe { InOutArg::new(group, "group") }?;
    let group_handle = group.get()?;
    if group_handle != hawser_base::handle::group::EMPTY && !process.groups().remove(group_handle) {
        return Err(no_group(group_handle).into());
    }
    group.set(Handle::NULL);
    Ok(())
}
