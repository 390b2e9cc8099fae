//! Requests: completion, start, cancel, free. MPI_Request_get_status and its like complete no request, but report the
//! error of the operation as MPI_Test and its like do; so does MPICH.
//!
//! The error of a failed operation is raised on the error handler of its communicator. A call that completes several
//! operations returns MPI_ERR_IN_STATUS if one of them failed, and only then writes MPI_ERROR into the statuses
//! (MPI-5.0 §3.7.5). MPI_Waitall and the entries of inactive requests are exceptions: there success is written, too.
//!
//! Used by the exported functions; uses `mpi::wait`, `persistent`, `pt2pt`.

use crate::abi::{Abi, CHandle};
use crate::arg::{HandleArray, InOutArg, OutArg, handle};
use crate::grequest;
use crate::raise::{CallError, ErrorObject, Result};
use crate::status::{self, StatusArray};
use hawser_base::value::UNDEFINED;
use hawser_base::{Class, Error, Handle};
use hawser_mpi::status::Status;
use hawser_mpi::wait::{self, AnyResult, Completed, Disposition, WaitallResults};
use hawser_mpi::{errors, persistent, pt2pt};
use std::ffi::c_int;

/// Completes one operation: writes its status, and returns its error, if any, to be raised on its communicator.
///
/// # Safety
/// `status` is MPI_STATUS_IGNORE or may be written.
pub unsafe fn finish<A: Abi>(mut completed: Completed, status: *mut A::Status) -> Result {
    if completed.empty {
        // SAFETY: the caller's promise.
        unsafe { status::write_empty::<A>(status) };
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe {
        status::write::<A>(status, &completed.status);
        query_grequest::<A>(&mut completed, status);
    }
    completed
        .check()
        .map_err(|error| CallError::of(completed.comm.map_or(ErrorObject::Default, ErrorObject::CommInUse), error))
}

/// Lets the application's functions fill in the status of a generalized request and, if the request is removed, free
/// its resources. Does nothing for other requests.
///
/// # Safety
/// `status` is null, MPI_STATUS_IGNORE or may be written.
unsafe fn query_grequest<A: Abi>(completed: &mut Completed, status: *mut A::Status) {
    if let Some(general) = completed.grequest.take() {
        // SAFETY: the caller's promise.
        completed.failure = unsafe { grequest::finish::<A>(&general, status) }.err();
        completed.comm = None;
    }
}

const SUCCESS: i32 = Class::Success as i32;

/// Collects the completions of several operations.
struct CompletedStatuses<A: Abi> {
    statuses: StatusArray<A>,
    /// The error code of each completed operation, in the order of the statuses; empty until the first failure.
    codes: Vec<i32>,
    count: usize,
    /// The object that the first failure concerned.
    failed_object: Option<ErrorObject>,
}

impl<A: Abi> CompletedStatuses<A> {
    /// # Safety
    /// `statuses` is MPI_STATUSES_IGNORE or has room for every operation.
    unsafe fn new(statuses: *mut A::Status) -> CompletedStatuses<A> {
        // SAFETY: the caller's promise.
        let statuses = unsafe { StatusArray::new(statuses) };
        CompletedStatuses { statuses, codes: Vec::new(), count: 0, failed_object: None }
    }

    /// Writes success into MPI_ERROR of every status; `result` overwrites it if an operation failed.
    fn write_success(&self) {
        (0..self.count).for_each(|i| self.statuses.write_error(i, SUCCESS));
    }

    fn result(mut self) -> Result {
        let Some(object) = self.failed_object else { return Ok(()) };
        self.codes.resize(self.count, SUCCESS);
        for (i, &code) in self.codes.iter().enumerate() {
            self.statuses.write_error(i, code);
        }
        let failed = self.codes.iter().filter(|&&code| code != SUCCESS).count();
        let text = format!("{failed} of {} operations failed; MPI_ERROR in each status gives its error", self.count);
        Err(CallError::of(object, Error::new(Class::InStatus, text)))
    }
}

impl<A: Abi> WaitallResults for CompletedStatuses<A> {
    #[inline]
    fn add_success(&mut self, status: &Status) {
        self.statuses.write(self.count, status);
        self.count += 1;
    }

    fn add(&mut self, mut completed: Completed) {
        self.statuses.write(self.count, &completed.status);
        // SAFETY: `at` is null or inside the array, as `new`'s caller promised.
        unsafe { query_grequest::<A>(&mut completed, self.statuses.at(self.count)) };
        if completed.empty {
            self.statuses.write_error(self.count, SUCCESS);
        }
        if let Err(error) = completed.check() {
            errors::store_operation_error(&error);
            self.failed_object.get_or_insert(completed.comm.map_or(ErrorObject::Default, ErrorObject::CommInUse));
            self.codes.resize(self.count, SUCCESS);
            self.codes.push(error.code());
        }
        self.count += 1;
    }
}

/// Passes the handles of the requests to `poll`. If `then` is `End`, it writes the handles that have become null
/// back.
///
/// # Safety
/// `count` requests at `at` may be read, and also written if `then` is `End`.
unsafe fn with_requests<H: CHandle, R>(
    count: c_int,
    at: *const H,
    then: Disposition,
    poll: impl FnOnce(&mut [Handle]) -> hawser_base::Result<R>,
) -> Result<R> {
    // SAFETY: the caller's promise.
    unsafe {
        let mut handles = HandleArray::NONE;
        let found = poll(handles.read(at, count, "array_of_requests")?);
        if then == Disposition::End {
            handles.write_back(at.cast_mut());
        }
        Ok(found?)
    }
}

/// # Safety
/// The contract of MPI_Wait.
pub unsafe fn wait<A: Abi>(request: *mut A::Request, status: *mut A::Status) -> Result {
    // SAFETY: the caller's arguments.
    unsafe {
        let request = InOutArg::new(request, "request")?;
        let mut handle = request.get()?;
        let before = handle;
        let completed = wait::wait("MPI_Wait", &mut handle)?;
        if handle != before {
            request.set(handle);
        }
        finish::<A>(completed, status)
    }
}

/// # Safety
/// The contract of MPI_Test.
pub unsafe fn test<A: Abi>(request: *mut A::Request, flag: *mut c_int, status: *mut A::Status) -> Result {
    // SAFETY: the caller's arguments.
    unsafe {
        let (request, flag) = (InOutArg::new(request, "request")?, OutArg::new(flag, "flag")?);
        let mut handle = request.get()?;
        let completed = wait::test(&mut handle, Disposition::End)?;
        flag.put(completed.is_some().into());
        let Some(completed) = completed else { return Ok(()) };
        request.set(handle);
        finish::<A>(completed, status)
    }
}

/// # Safety
/// The contract of MPI_Request_get_status.
pub unsafe fn get_status<A: Abi>(request: A::Request, flag: *mut c_int, status: *mut A::Status) -> Result {
    // SAFETY: the caller's arguments.
    unsafe {
        let flag = OutArg::new(flag, "flag")?;
        let completed = wait::test(&mut handle(request)?, Disposition::Keep)?;
        flag.put(completed.is_some().into());
        completed.map_or(Ok(()), |completed| finish::<A>(completed, status))
    }
}

/// # Safety
/// The contract of MPI_Request_get_status_all.
pub unsafe fn get_status_all<A: Abi>(
    count: c_int,
    requests: *const A::Request,
    flag: *mut c_int,
    statuses: *mut A::Status,
) -> Result {
    // SAFETY: the caller's arrays and arguments.
    unsafe { test_all::<A>(count, requests, Disposition::Keep, flag, statuses) }
}

/// # Safety
/// The contract of MPI_Request_get_status_any.
pub unsafe fn get_status_any<A: Abi>(
    count: c_int,
    requests: *const A::Request,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut A::Status,
) -> Result {
    // SAFETY: the caller's arrays and arguments.
    unsafe { test_any::<A>(count, requests, Disposition::Keep, index, flag, status) }
}

/// # Safety
/// The contract of MPI_Request_get_status_some.
pub unsafe fn get_status_some<A: Abi>(
    incount: c_int,
    requests: *const A::Request,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut A::Status,
) -> Result {
    let poll =
        |all: &mut [Handle], each: &mut dyn FnMut(usize, Completed)| wait::testsome(all, Disposition::Keep, each);
    // SAFETY: the caller's arguments.
    unsafe { complete_some::<A>(incount, requests, Disposition::Keep, outcount, indices, statuses, poll) }
}

/// # Safety
/// The contract of MPI_Waitall.
pub unsafe fn waitall<A: Abi>(count: c_int, requests: *mut A::Request, statuses: *mut A::Status) -> Result {
    // SAFETY: the caller's arrays.
    unsafe {
        let mut completions = CompletedStatuses::<A>::new(statuses);
        with_requests(count, requests, Disposition::End, |all| wait::waitall(all, &mut completions))?;
        // As in MPICH: programs read this field without checking whether the call failed.
        completions.write_success();
        completions.result()
    }
}

/// # Safety
/// The contract of MPI_Testall.
pub unsafe fn testall<A: Abi>(
    count: c_int,
    requests: *mut A::Request,
    flag: *mut c_int,
    statuses: *mut A::Status,
) -> Result {
    // SAFETY: the caller's arrays and arguments.
    unsafe { test_all::<A>(count, requests, Disposition::End, flag, statuses) }
}

/// Writes the index and the status of the completed operation. If no request is active, the index is MPI_UNDEFINED
/// and the status the empty one; if no operation has completed yet, only the index is written, as MPI_UNDEFINED.
///
/// # Safety
/// `status` is MPI_STATUS_IGNORE or may be written.
unsafe fn finish_any<A: Abi>(any: AnyResult, index: OutArg<c_int>, status: *mut A::Status) -> Result {
    match any {
        AnyResult::Ended(i, completed) => {
            index.put(i as c_int);
            // SAFETY: the caller's promise.
            unsafe { finish::<A>(completed, status) }
        }
        AnyResult::NoneActive => {
            index.put(UNDEFINED);
            // SAFETY: the caller's promise.
            unsafe { status::write_empty::<A>(status) };
            Ok(())
        }
        AnyResult::Pending => {
            index.put(UNDEFINED);
            Ok(())
        }
    }
}

/// MPI_Testall and MPI_Request_get_status_all.
///
/// # Safety
/// The contract of each of these functions.
unsafe fn test_all<A: Abi>(
    count: c_int,
    requests: *const A::Request,
    then: Disposition,
    flag: *mut c_int,
    statuses: *mut A::Status,
) -> Result {
    // SAFETY: the caller's arrays and argument.
    unsafe {
        let flag = OutArg::new(flag, "flag")?;
        let mut completions = CompletedStatuses::<A>::new(statuses);
        let poll_all = |all: &mut [Handle]| wait::testall(all, then, |_, completed| completions.add(completed));
        flag.put(with_requests(count, requests, then, poll_all)?.into());
        completions.result()
    }
}

/// MPI_Testany and MPI_Request_get_status_any.
///
/// # Safety
/// The contract of each of these functions.
unsafe fn test_any<A: Abi>(
    count: c_int,
    requests: *const A::Request,
    then: Disposition,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut A::Status,
) -> Result {
    // SAFETY: the caller's array and arguments.
    unsafe {
        let (index, flag) = (OutArg::new(index, "index")?, OutArg::new(flag, "flag")?);
        let any = with_requests(count, requests, then, |all| wait::testany(all, then))?;
        flag.put((!matches!(any, AnyResult::Pending)).into());
        finish_any::<A>(any, index, status)
    }
}

/// # Safety
/// The contract of MPI_Waitany.
pub unsafe fn waitany<A: Abi>(
    count: c_int,
    requests: *mut A::Request,
    index: *mut c_int,
    status: *mut A::Status,
) -> Result {
    // SAFETY: the caller's arrays and arguments.
    unsafe {
        let index = OutArg::new(index, "index")?;
        let any = with_requests(count, requests, Disposition::End, wait::waitany)?;
        finish_any::<A>(any, index, status)
    }
}

/// # Safety
/// The contract of MPI_Testany.
pub unsafe fn testany<A: Abi>(
    count: c_int,
    requests: *mut A::Request,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut A::Status,
) -> Result {
    // SAFETY: the caller's arrays and arguments.
    unsafe { test_any::<A>(count, requests, Disposition::End, index, flag, status) }
}

/// MPI_Waitsome, MPI_Testsome and MPI_Request_get_status_some. `poll` passes each completed operation to its second
/// argument and returns their number; None if no request is active.
///
/// # Safety
/// The contract of each of these functions.
unsafe fn complete_some<A: Abi>(
    incount: c_int,
    requests: *const A::Request,
    then: Disposition,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut A::Status,
    poll: impl FnOnce(&mut [Handle], &mut dyn FnMut(usize, Completed)) -> hawser_base::Result<Option<usize>>,
) -> Result {
    // SAFETY: the caller's arrays and argument; `indices` has room for all.
    unsafe {
        let mut completions = CompletedStatuses::<A>::new(statuses);
        with_requests(incount, requests, then, |all| {
            let outcount = OutArg::new(outcount, "outcount")?;
            if indices.is_null() && !all.is_empty() {
                return Err(crate::arg::null("array_of_indices"));
            }
            let found = poll(all, &mut |i, completed| {
                indices.add(completions.count).write(i as c_int);
                completions.add(completed);
            });
            outcount.put(found?.map_or(UNDEFINED, |count| count as c_int));
            Ok(())
        })?;
        completions.result()
    }
}

/// # Safety
/// The contract of MPI_Waitsome.
pub unsafe fn waitsome<A: Abi>(
    incount: c_int,
    requests: *mut A::Request,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut A::Status,
) -> Result {
    // SAFETY: the caller's arguments.
    unsafe {
        complete_some::<A>(incount, requests, Disposition::End, outcount, indices, statuses, |all, each| {
            wait::waitsome(all, each)
        })
    }
}

/// # Safety
/// The contract of MPI_Testsome.
pub unsafe fn testsome<A: Abi>(
    incount: c_int,
    requests: *mut A::Request,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut A::Status,
) -> Result {
    let poll = |all: &mut [Handle], each: &mut dyn FnMut(usize, Completed)| wait::testsome(all, Disposition::End, each);
    // SAFETY: the caller's arguments.
    unsafe { complete_some::<A>(incount, requests, Disposition::End, outcount, indices, statuses, poll) }
}

/// # Safety
/// The contract of MPI_Start.
pub unsafe fn start<A: Abi>(request: *mut A::Request) -> Result {
    // SAFETY: the caller's argument.
    let request = unsafe { InOutArg::new(request, "request") }?;
    Ok(persistent::start(request.get()?)?)
}

/// # Safety
/// The contract of MPI_Startall.
pub unsafe fn startall<A: Abi>(count: c_int, requests: *mut A::Request) -> Result {
    let mut handles = HandleArray::NONE;
    // SAFETY: the caller's array.
    for &mut request in unsafe { handles.read(requests, count, "array_of_requests") }? {
        persistent::start(request)?;
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_Cancel.
pub unsafe fn cancel<A: Abi>(request: *mut A::Request) -> Result {
    // SAFETY: the caller's argument.
    let request = unsafe { InOutArg::new(request, "request") }?;
    Ok(pt2pt::request_cancel(request.get()?)?)
}

/// # Safety
/// The contract of MPI_Request_free.
pub unsafe fn free<A: Abi>(request: *mut A::Request) -> Result {
    // SAFETY: the caller's argument.
    let request = unsafe { InOutArg::new(request, "request") }?;
    pt2pt::request_free(request.get()?)?;
    request.set(Handle::NULL);
    Ok(())
}
