//! Partitioned communication: initializations, and functions on single partitions.
//!
//! Used by the exported functions; uses `mpi::partitioned`. The other functions on partitioned requests are in
//! `request`.

use crate::abi::Abi;
use crate::arg::{self, IntArg, OutArg, handle};
use crate::p2p::buf;
use crate::raise::Result;
use hawser_base::{Class, Error};
use hawser_mpi::partitioned::{self, PartitionArgs};
use std::ffi::{c_int, c_void};

/// # Safety
/// The contract of MPI_Psend_init.
#[allow(clippy::too_many_arguments)]
pub unsafe fn send_init<A: Abi>(
    at: *const c_void,
    partitions: c_int,
    count: impl IntArg,
    datatype: A::Datatype,
    dest: c_int,
    tag: c_int,
    comm: A::Comm,
    info: A::Info,
    request: *mut A::Request,
) -> Result {
    let (comm, info) = (handle(comm)?, handle(info)?);
    // SAFETY: the caller's argument, and its buffer, whose first partition has `count` elements.
    let (first, request) = unsafe { (buf::<A>(at, count, datatype)?, OutArg::handle(request, "request")?) };
    let shape = PartitionArgs { partitions, first_partition: first };
    request.set(partitioned::send_init(&shape, A::rank_in(dest), A::tag_in(tag), comm, info)?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Precv_init.
#[allow(clippy::too_many_arguments)]
pub unsafe fn recv_init<A: Abi>(
    at: *mut c_void,
    partitions: c_int,
    count: impl IntArg,
    datatype: A::Datatype,
    source: c_int,
    tag: c_int,
    comm: A::Comm,
    info: A::Info,
    request: *mut A::Request,
) -> Result {
    let (comm, info) = (handle(comm)?, handle(info)?);
    // SAFETY: as in `send_init`.
    let (first, request) = unsafe { (buf::<A>(at, count, datatype)?, OutArg::handle(request, "request")?) };
    let shape = PartitionArgs { partitions, first_partition: first };
    request.set(partitioned::recv_init(&shape, A::rank_in(source), A::tag_in(tag), comm, info)?);
    Ok(())
}

/// MPI_Pready.
pub fn ready<A: Abi>(partition: c_int, request: A::Request) -> Result {
    Ok(partitioned::ready(handle(request)?, std::iter::once(partition))?)
}

/// MPI_Pready_range; `low` and `high` belong to the range.
pub fn ready_range<A: Abi>(low: c_int, high: c_int, request: A::Request) -> Result {
    if low > high {
        let text = format!("partition_low is {low} and partition_high is {high}; partition_high must not be lower");
        return Err(Error::new(Class::Arg, text).into());
    }
    Ok(partitioned::ready(handle(request)?, low..=high)?)
}

/// # Safety
/// The contract of MPI_Pready_list.
pub unsafe fn ready_list<A: Abi>(length: c_int, partitions: *const c_int, request: A::Request) -> Result {
    // SAFETY: the caller's array.
    let list = unsafe { arg::array(partitions, arg::entries(length, "length")?, "array_of_partitions") }?;
    Ok(partitioned::ready(handle(request)?, list.iter().copied())?)
}

/// # Safety
/// The contract of MPI_Parrived.
pub unsafe fn arrived<A: Abi>(request: A::Request, partition: c_int, flag: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let flag = unsafe { OutArg::new(flag, "flag") }?;
    flag.put(partitioned::arrived(handle(request)?, partition)?.into());
    Ok(())
}
