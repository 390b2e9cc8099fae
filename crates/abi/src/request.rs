//! Requests: completion, start, cancel, free. The calls of MPI_Request_get_status complete no request, but report its
//! error as those of MPI_Test do (so does MPICH).
//!
//! A failed operation is raised on its own communicator's error handler. Calls that complete several
//! operations return MPI_ERR_IN_STATUS when one of them failed, and only then write MPI_ERROR into the
//! statuses (MPI-5.0 §3.7.5).
//!
//! Used by the exported functions; uses `mpi::wait`, `persistent`, `pt2pt`.

use crate::abi::{Abi, CHandle};
use crate::arg::{Handles, InOut, Out, handle};
use crate::grequest;
use crate::raise::{Fault, Object, Result};
use crate::status::{self, Statuses};
use hawser_base::value::UNDEFINED;
use hawser_base::{Class, Error, Handle};
use hawser_mpi::wait::{self, Any, Completed, Then};
use hawser_mpi::{errors, persistent, pt2pt};
use std::ffi::c_int;

/// Completes one operation: writes its status, or returns its error on its communicator.
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
        ask::<A>(&mut completed, status);
    }
    completed.check().map_err(|error| Fault::of(completed.comm.map_or(Object::Default, Object::Held), error))
}

/// Has the application fill in the status of a generalized request, and free it.
///
/// # Safety
/// `status` is null, MPI_STATUS_IGNORE or may be written.
unsafe fn ask<A: Abi>(completed: &mut Completed, status: *mut A::Status) {
    if let Some(general) = completed.general.take() {
        // SAFETY: the caller's promise.
        completed.failure = unsafe { grequest::finish::<A>(&general, status) }.err();
        completed.comm = None;
    }
}

const SUCCESS: i32 = Class::Success as i32;

/// The completions of several operations, collected.
struct Ends<A: Abi> {
    statuses: Statuses<A>,
    /// The error code of each completed operation, in the order of the statuses; filled from the first failure on.
    codes: Vec<i32>,
    ended: usize,
    /// The object that the first failure concerned.
    failed: Option<Object>,
}

impl<A: Abi> Ends<A> {
    /// # Safety
    /// `statuses` is MPI_STATUSES_IGNORE or has room for every operation.
    unsafe fn new(statuses: *mut A::Status) -> Ends<A> {
        // SAFETY: the caller's promise.
        Ends { statuses: unsafe { Statuses::new(statuses) }, codes: Vec::new(), ended: 0, failed: None }
    }

    fn add(&mut self, mut completed: Completed) {
        self.statuses.write(self.ended, &completed.status);
        // SAFETY: `at` is null or inside the array, as `new`'s caller promised.
        unsafe { ask::<A>(&mut completed, self.statuses.at(self.ended)) };
        if completed.empty {
            self.statuses.write_error(self.ended, SUCCESS);
        }
        if let Err(error) = completed.check() {
            errors::remember_operation(&error);
            self.failed.get_or_insert(completed.comm.map_or(Object::Default, Object::Held));
            self.codes.resize(self.ended, SUCCESS);
            self.codes.push(error.code());
        }
        self.ended += 1;
    }

    /// Writes success into MPI_ERROR of each; `result` overwrites it if one failed.
    fn all_well(&self) {
        (0..self.ended).for_each(|i| self.statuses.write_error(i, SUCCESS));
    }

    fn result(mut self) -> Result {
        let Some(about) = self.failed else { return Ok(()) };
        self.codes.resize(self.ended, SUCCESS);
        for (i, &code) in self.codes.iter().enumerate() {
            self.statuses.write_error(i, code);
        }
        let failed = self.codes.iter().filter(|&&code| code != SUCCESS).count();
        let text = format!("{failed} of {} operations failed; MPI_ERROR of each status says which and how", self.ended);
        Err(Fault::of(about, Error::new(Class::InStatus, text)))
    }
}

/// Passes the requests to `look`, and writes back their handles, unless they stay as they are.
///
/// # Safety
/// `count` requests at `at` may be read, and written if they do not stay.
unsafe fn over<H: CHandle, R>(
    count: c_int,
    at: *const H,
    then: Then,
    look: impl FnOnce(&mut [Handle]) -> hawser_base::Result<R>,
) -> Result<R> {
    // SAFETY: the caller's promise.
    unsafe {
        let mut handles = Handles::NONE;
        let found = look(handles.read(at, count, "array_of_requests")?);
        if then == Then::End {
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
        let request = InOut::new(request, "request")?;
        let mut house = request.get()?;
        let before = house;
        let completed = wait::wait("MPI_Wait", &mut house)?;
        if house != before {
            request.set(house);
        }
        finish::<A>(completed, status)
    }
}

/// # Safety
/// The contract of MPI_Test.
pub unsafe fn test<A: Abi>(request: *mut A::Request, flag: *mut c_int, status: *mut A::Status) -> Result {
    // SAFETY: the caller's arguments.
    unsafe {
        let (request, flag) = (InOut::new(request, "request")?, Out::new(flag, "flag")?);
        let mut house = request.get()?;
        let completed = wait::test(&mut house, Then::End)?;
        flag.put(completed.is_some().into());
        let Some(completed) = completed else { return Ok(()) };
        request.set(house);
        finish::<A>(completed, status)
    }
}

/// # Safety
/// The contract of MPI_Request_get_status.
pub unsafe fn get_status<A: Abi>(request: A::Request, flag: *mut c_int, status: *mut A::Status) -> Result {
    // SAFETY: the caller's arguments.
    unsafe {
        let flag = Out::new(flag, "flag")?;
        let completed = wait::test(&mut handle(request)?, Then::Stay)?;
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
    unsafe { tested_all::<A>(count, requests, Then::Stay, flag, statuses) }
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
    unsafe { tested_any::<A>(count, requests, Then::Stay, index, flag, status) }
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
    let look = |all: &mut [Handle], each: &mut dyn FnMut(usize, Completed)| wait::testsome(all, Then::Stay, each);
    // SAFETY: the caller's arguments.
    unsafe { some::<A>(incount, requests, Then::Stay, outcount, indices, statuses, look) }
}

/// # Safety
/// The contract of MPI_Waitall.
pub unsafe fn waitall<A: Abi>(count: c_int, requests: *mut A::Request, statuses: *mut A::Status) -> Result {
    // SAFETY: the caller's arrays.
    unsafe {
        let mut ends = Ends::<A>::new(statuses);
        over(count, requests, Then::End, |all| wait::waitall(all, |_, completed| ends.add(completed)))?;
        // As in MPICH: programs read this field without checking whether the call failed.
        ends.all_well();
        ends.result()
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
    unsafe { tested_all::<A>(count, requests, Then::End, flag, statuses) }
}

/// Writes index and status of the completed operation; MPI_UNDEFINED and the empty status where none is active.
///
/// # Safety
/// `status` is MPI_STATUS_IGNORE or may be written.
unsafe fn finish_any<A: Abi>(any: Any, index: Out<c_int>, status: *mut A::Status) -> Result {
    match any {
        Any::Ended(i, completed) => {
            index.put(i as c_int);
            // SAFETY: the caller's promise.
            unsafe { finish::<A>(completed, status) }
        }
        Any::NoneActive => {
            index.put(UNDEFINED);
            // SAFETY: the caller's promise.
            unsafe { status::write_empty::<A>(status) };
            Ok(())
        }
        Any::NotYet => {
            index.put(UNDEFINED);
            Ok(())
        }
    }
}

/// MPI_Testall and MPI_Request_get_status_all.
///
/// # Safety
/// The contract of each.
unsafe fn tested_all<A: Abi>(
    count: c_int,
    requests: *const A::Request,
    then: Then,
    flag: *mut c_int,
    statuses: *mut A::Status,
) -> Result {
    // SAFETY: the caller's arrays and argument.
    unsafe {
        let flag = Out::new(flag, "flag")?;
        let mut ends = Ends::<A>::new(statuses);
        let all_ended = |all: &mut [Handle]| wait::testall(all, then, |_, completed| ends.add(completed));
        flag.put(over(count, requests, then, all_ended)?.into());
        ends.result()
    }
}

/// MPI_Testany and MPI_Request_get_status_any.
///
/// # Safety
/// The contract of each.
unsafe fn tested_any<A: Abi>(
    count: c_int,
    requests: *const A::Request,
    then: Then,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut A::Status,
) -> Result {
    // SAFETY: the caller's array and arguments.
    unsafe {
        let (index, flag) = (Out::new(index, "index")?, Out::new(flag, "flag")?);
        let any = over(count, requests, then, |all| wait::testany(all, then))?;
        flag.put((!matches!(any, Any::NotYet)).into());
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
        let index = Out::new(index, "index")?;
        let any = over(count, requests, Then::End, wait::waitany)?;
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
    unsafe { tested_any::<A>(count, requests, Then::End, index, flag, status) }
}

/// MPI_Waitsome, MPI_Testsome and MPI_Request_get_status_some: `look` returns the completed operations.
///
/// # Safety
/// The contract of each.
unsafe fn some<A: Abi>(
    incount: c_int,
    requests: *const A::Request,
    then: Then,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut A::Status,
    look: impl FnOnce(&mut [Handle], &mut dyn FnMut(usize, Completed)) -> hawser_base::Result<Option<usize>>,
) -> Result {
    // SAFETY: the caller's arrays and argument; `indices` has room for all.
    unsafe {
        let mut ends = Ends::<A>::new(statuses);
        over(incount, requests, then, |all| {
            let outcount = Out::new(outcount, "outcount")?;
            if indices.is_null() && !all.is_empty() {
                return Err(crate::arg::null("array_of_indices"));
            }
            let found = look(all, &mut |i, completed| {
                indices.add(ends.ended).write(i as c_int);
                ends.add(completed);
            });
            outcount.put(found?.map_or(UNDEFINED, |ended| ended as c_int));
            Ok(())
        })?;
        ends.result()
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
        some::<A>(incount, requests, Then::End, outcount, indices, statuses, |all, each| wait::waitsome(all, each))
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
    let look = |all: &mut [Handle], each: &mut dyn FnMut(usize, Completed)| wait::testsome(all, Then::End, each);
    // SAFETY: the caller's arguments.
    unsafe { some::<A>(incount, requests, Then::End, outcount, indices, statuses, look) }
}

/// # Safety
/// The contract of MPI_Start.
pub unsafe fn start<A: Abi>(request: *mut A::Request) -> Result {
    // SAFETY: the caller's argument.
    let request = unsafe { InOut::new(request, "request") }?;
    Ok(persistent::start(request.get()?)?)
}

/// # Safety
/// The contract of MPI_Startall.
pub unsafe fn startall<A: Abi>(count: c_int, requests: *mut A::Request) -> Result {
    let mut handles = Handles::NONE;
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
    let request = unsafe { InOut::new(request, "request") }?;
    Ok(pt2pt::request_cancel(request.get()?)?)
}

/// # Safety
/// The contract of MPI_Request_free.
pub unsafe fn free<A: Abi>(request: *mut A::Request) -> Result {
    // SAFETY: the caller's argument.
    let request = unsafe { InOut::new(request, "request") }?;
    pt2pt::request_free(request.get()?)?;
    request.set(Handle::NULL);
    Ok(())
}
