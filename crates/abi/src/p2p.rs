//! Point-to-point communication: translates buffers, ranks and tags to Hawser's values, and statuses back.
//!
//! Used by the exported functions; uses `mpi::pt2pt`, `isendrecv`, `persistent`, `probe`.

use crate::abi::Abi;
use crate::arg::{InOutArg, IntArg, OutArg, handle};
use crate::raise::Result;
use crate::{datatype, request, status};
use hawser_base::{Class, Error, Handle};
use hawser_datatype::UserPtr;
use hawser_mpi::buffer::BufferArg;
use hawser_mpi::pt2pt;
use hawser_mpi::request::SendMode;
use hawser_mpi::{isendrecv, persistent, probe};
use std::ffi::{c_int, c_void};

/// Makes a buffer argument from address, count and datatype.
///
/// # Safety
/// The operation owns the bytes that `count` elements of `datatype` cover at `at` until it has completed; in a
/// collective also the bytes of every rank's block.
#[inline(always)]
pub(crate) unsafe fn buf<A: Abi>(
    at: *const c_void,
    count: impl IntArg,
    datatype: A::Datatype,
) -> hawser_base::Result<BufferArg> {
    not_in_place_unless_empty::<A>(at, count, datatype)?;
    // SAFETY: the caller's promise, which is the application's (MPI-5.0 §3.7.2).
    let at = unsafe { UserPtr::new(at.cast()) };
    Ok(BufferArg { at, count: count.wide(), datatype: handle(datatype)? })
}

/// Refuses MPI_IN_PLACE as an address, as `not_in_place` does, unless the buffer has no bytes: in the standard ABI
/// MPI_IN_PLACE is 1, which is also the address of an empty vector in Rust.
#[inline(always)]
pub(crate) fn not_in_place_unless_empty<A: Abi>(
    at: *const c_void,
    count: impl IntArg,
    datatype: A::Datatype,
) -> hawser_base::Result<()> {
    if at.addr() == A::SENTINELS.in_place { empty_or_refused::<A>(count.wide(), datatype) } else { Ok(()) }
}

#[cold]
fn empty_or_refused<A: Abi>(count: i64, datatype: A::Datatype) -> hawser_base::Result<()> {
    let is_empty = count == 0 || datatype::get::<A>(datatype).is_ok_and(|datatype| datatype.size() == 0);
    if is_empty { Ok(()) } else { Err(in_place_refused()) }
}

/// Refuses MPI_IN_PLACE as an address (MPI_ERR_BUFFER).
#[inline(always)]
pub(crate) fn not_in_place<A: Abi>(at: *const c_void) -> hawser_base::Result<()> {
    if at.addr() == A::SENTINELS.in_place { Err(in_place_refused()) } else { Ok(()) }
}

#[cold]
fn in_place_refused() -> Error {
    Error::new(Class::Buffer, "the buffer is MPI_IN_PLACE, which this argument does not allow")
}

macro_rules! sends {
    ($($send:ident $isend:ident $init:ident $mpi:literal $mode:ident;)*) => {
        $(
            /// # Safety
            /// The contract of the blocking send of this mode.
            #[inline]
            pub unsafe fn $send<A: Abi>(
                at: *const c_void, count: impl IntArg, datatype: A::Datatype, dest: c_int, tag: c_int, comm: A::Comm,
            ) -> Result {
                let comm = handle(comm)?;
                // SAFETY: the caller's buffer.
                let buf = unsafe { buf::<A>(at, count, datatype) }?;
                Ok(pt2pt::send($mpi, &buf, A::rank_in(dest), A::tag_in(tag), comm, SendMode::$mode)?)
            }

            /// # Safety
            /// The contract of the nonblocking send of this mode.
            pub unsafe fn $isend<A: Abi>(
                at: *const c_void, count: impl IntArg, datatype: A::Datatype, dest: c_int, tag: c_int, comm: A::Comm,
                request: *mut A::Request,
            ) -> Result {
                let comm = handle(comm)?;
                // SAFETY: the caller's buffer and argument.
                let (buf, request) = unsafe { (buf::<A>(at, count, datatype)?, OutArg::handle(request, "request")?) };
                request.set(pt2pt::isend(&buf, A::rank_in(dest), A::tag_in(tag), comm, SendMode::$mode)?);
                Ok(())
            }

            /// # Safety
            /// The contract of the persistent send of this mode.
            pub unsafe fn $init<A: Abi>(
                at: *const c_void, count: impl IntArg, datatype: A::Datatype, dest: c_int, tag: c_int, comm: A::Comm,
                request: *mut A::Request,
            ) -> Result {
                let comm = handle(comm)?;
                // SAFETY: the caller's buffer and argument.
                let (buf, request) = unsafe { (buf::<A>(at, count, datatype)?, OutArg::handle(request, "request")?) };
                request.set(persistent::send_init(&buf, A::rank_in(dest), A::tag_in(tag), comm, SendMode::$mode)?);
                Ok(())
            }
        )*
    };
}

sends! {
    send isend send_init "MPI_Send" Standard;
    bsend ibsend bsend_init "MPI_Bsend" Buffered;
    ssend issend ssend_init "MPI_Ssend" Synchronous;
    rsend irsend rsend_init "MPI_Rsend" Ready;
}

/// # Safety
/// The contract of MPI_Recv.
#[inline]
pub unsafe fn recv<A: Abi>(
    at: *mut c_void,
    count: impl IntArg,
    datatype: A::Datatype,
    source: c_int,
    tag: c_int,
    comm: A::Comm,
    status: *mut A::Status,
) -> Result {
    let comm = handle(comm)?;
    // SAFETY: the caller's buffer and status.
    unsafe {
        let buf = buf::<A>(at, count, datatype)?;
        let received = pt2pt::recv(&buf, A::rank_in(source), A::tag_in(tag), comm)?;
        Ok(status::finish::<A>(status, &received)?)
    }
}

/// # Safety
/// The contract of MPI_Irecv.
pub unsafe fn irecv<A: Abi>(
    at: *mut c_void,
    count: impl IntArg,
    datatype: A::Datatype,
    source: c_int,
    tag: c_int,
    comm: A::Comm,
    request: *mut A::Request,
) -> Result {
    let comm = handle(comm)?;
    // SAFETY: the caller's buffer and argument.
    let (buf, request) = unsafe { (buf::<A>(at, count, datatype)?, OutArg::handle(request, "request")?) };
    request.set(pt2pt::irecv(&buf, A::rank_in(source), A::tag_in(tag), comm)?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Recv_init.
pub unsafe fn recv_init<A: Abi>(
    at: *mut c_void,
    count: impl IntArg,
    datatype: A::Datatype,
    source: c_int,
    tag: c_int,
    comm: A::Comm,
    request: *mut A::Request,
) -> Result {
    let comm = handle(comm)?;
    // SAFETY: the caller's buffer and argument.
    let (buf, request) = unsafe { (buf::<A>(at, count, datatype)?, OutArg::handle(request, "request")?) };
    request.set(persistent::recv_init(&buf, A::rank_in(source), A::tag_in(tag), comm)?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Sendrecv.
#[allow(clippy::too_many_arguments)]
pub unsafe fn sendrecv<A: Abi>(
    send_at: *const c_void,
    send_count: impl IntArg,
    send_type: A::Datatype,
    dest: c_int,
    send_tag: c_int,
    recv_at: *mut c_void,
    recv_count: impl IntArg,
    recv_type: A::Datatype,
    source: c_int,
    recv_tag: c_int,
    comm: A::Comm,
    status: *mut A::Status,
) -> Result {
    let comm = handle(comm)?;
    // SAFETY: the caller's buffers and status.
    unsafe {
        let out = buf::<A>(send_at, send_count, send_type)?;
        let into = buf::<A>(recv_at, recv_count, recv_type)?;
        let (dest, source) = (A::rank_in(dest), A::rank_in(source));
        let received = pt2pt::sendrecv(&out, dest, A::tag_in(send_tag), &into, source, A::tag_in(recv_tag), comm)?;
        Ok(status::finish::<A>(status, &received)?)
    }
}

/// # Safety
/// The contract of MPI_Sendrecv_replace.
#[allow(clippy::too_many_arguments)]
pub unsafe fn sendrecv_replace<A: Abi>(
    at: *mut c_void,
    count: impl IntArg,
    datatype: A::Datatype,
    dest: c_int,
    send_tag: c_int,
    source: c_int,
    recv_tag: c_int,
    comm: A::Comm,
    status: *mut A::Status,
) -> Result {
    let comm = handle(comm)?;
    // SAFETY: the caller's buffer and status.
    unsafe {
        let buf = buf::<A>(at, count, datatype)?;
        let (dest, source) = (A::rank_in(dest), A::rank_in(source));
        let received = pt2pt::sendrecv_replace(&buf, dest, A::tag_in(send_tag), source, A::tag_in(recv_tag), comm)?;
        Ok(status::finish::<A>(status, &received)?)
    }
}

/// # Safety
/// The contract of MPI_Isendrecv.
#[allow(clippy::too_many_arguments)]
pub unsafe fn isendrecv<A: Abi>(
    send_at: *const c_void,
    send_count: impl IntArg,
    send_type: A::Datatype,
    dest: c_int,
    send_tag: c_int,
    recv_at: *mut c_void,
    recv_count: impl IntArg,
    recv_type: A::Datatype,
    source: c_int,
    recv_tag: c_int,
    comm: A::Comm,
    request: *mut A::Request,
) -> Result {
    let comm = handle(comm)?;
    // SAFETY: the caller's buffers and argument.
    unsafe {
        let out = buf::<A>(send_at, send_count, send_type)?;
        let into = buf::<A>(recv_at, recv_count, recv_type)?;
        let request = OutArg::handle(request, "request")?;
        let (dest, source) = (A::rank_in(dest), A::rank_in(source));
        let (send_tag, recv_tag) = (A::tag_in(send_tag), A::tag_in(recv_tag));
        request.set(isendrecv::isendrecv(&out, dest, send_tag, &into, source, recv_tag, comm)?);
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_Isendrecv_replace.
#[allow(clippy::too_many_arguments)]
pub unsafe fn isendrecv_replace<A: Abi>(
    at: *mut c_void,
    count: impl IntArg,
    datatype: A::Datatype,
    dest: c_int,
    send_tag: c_int,
    source: c_int,
    recv_tag: c_int,
    comm: A::Comm,
    request: *mut A::Request,
) -> Result {
    let comm = handle(comm)?;
    // SAFETY: the caller's buffer and argument.
    unsafe {
        let buf = buf::<A>(at, count, datatype)?;
        let request = OutArg::handle(request, "request")?;
        let (dest, source) = (A::rank_in(dest), A::rank_in(source));
        let (send_tag, recv_tag) = (A::tag_in(send_tag), A::tag_in(recv_tag));
        request.set(isendrecv::isendrecv_replace(&buf, dest, send_tag, source, recv_tag, comm)?);
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_Probe.
pub unsafe fn probe<A: Abi>(source: c_int, tag: c_int, comm: A::Comm, status: *mut A::Status) -> Result {
    let found = probe::probe(A::rank_in(source), A::tag_in(tag), handle(comm)?)?;
    // SAFETY: the caller's status.
    unsafe { status::write::<A>(status, &found) };
    Ok(())
}

/// # Safety
/// The contract of MPI_Iprobe.
pub unsafe fn iprobe<A: Abi>(
    source: c_int,
    tag: c_int,
    comm: A::Comm,
    flag: *mut c_int,
    status: *mut A::Status,
) -> Result {
    // SAFETY: the caller's argument.
    let flag = unsafe { OutArg::new(flag, "flag") }?;
    let found = probe::iprobe(A::rank_in(source), A::tag_in(tag), handle(comm)?)?;
    flag.put(found.is_some().into());
    if let Some(found) = found {
        // SAFETY: the caller's status.
        unsafe { status::write::<A>(status, &found) };
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_Mprobe.
pub unsafe fn mprobe<A: Abi>(
    source: c_int,
    tag: c_int,
    comm: A::Comm,
    message: *mut A::Message,
    status: *mut A::Status,
) -> Result {
    // SAFETY: the caller's argument.
    let message = unsafe { OutArg::handle(message, "message") }?;
    let (matched, found) = probe::mprobe(A::rank_in(source), A::tag_in(tag), handle(comm)?)?;
    message.set(matched);
    // SAFETY: the caller's status.
    unsafe { status::write::<A>(status, &found) };
    Ok(())
}

/// # Safety
/// The contract of MPI_Improbe.
pub unsafe fn improbe<A: Abi>(
    source: c_int,
    tag: c_int,
    comm: A::Comm,
    flag: *mut c_int,
    message: *mut A::Message,
    status: *mut A::Status,
) -> Result {
    // SAFETY: the caller's arguments.
    let (flag, message) = unsafe { (OutArg::new(flag, "flag")?, OutArg::handle(message, "message")?) };
    let found = probe::improbe(A::rank_in(source), A::tag_in(tag), handle(comm)?)?;
    flag.put(found.is_some().into());
    if let Some((matched, found)) = found {
        message.set(matched);
        // SAFETY: the caller's status.
        unsafe { status::write::<A>(status, &found) };
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_Mrecv.
pub unsafe fn mrecv<A: Abi>(
    at: *mut c_void,
    count: impl IntArg,
    datatype: A::Datatype,
    message: *mut A::Message,
    status: *mut A::Status,
) -> Result {
    // SAFETY: the caller's buffer, message and status.
    unsafe {
        let (buf, message) = (buf::<A>(at, count, datatype)?, InOutArg::new(message, "message")?);
        let received = probe::mrecv(&buf, message.get()?)?;
        message.set(Handle::NULL);
        request::finish::<A>(received, status)
    }
}

/// # Safety
/// The contract of MPI_Imrecv.
pub unsafe fn imrecv<A: Abi>(
    at: *mut c_void,
    count: impl IntArg,
    datatype: A::Datatype,
    message: *mut A::Message,
    request: *mut A::Request,
) -> Result {
    // SAFETY: the caller's buffer, message and request.
    let (buf, message, request) = unsafe {
        (buf::<A>(at, count, datatype)?, InOutArg::new(message, "message")?, OutArg::handle(request, "request")?)
    };
    request.set(probe::imrecv(&buf, message.get()?)?);
    message.set(Handle::NULL);
    Ok(())
}
