//! Generalized requests: the application's functions become closures over Hawser's values. The query function fills
//! in a status in the ABI's own layout.
//!
//! Used by the exported functions, and by `request` for the calls that complete a generalized request; uses
//! `mpi::grequest`.

use crate::abi::{Abi, CHandle};
use crate::arg::{OutArg, handle, null};
use crate::callback::{
    GrequestCancelFunction, GrequestFreeFunction, GrequestPollFunction, GrequestQueryFunction, GrequestWaitFunction,
};
use crate::foreign_fortran;
use crate::raise::Result;
use crate::status;
use hawser_base::{Class, Error};
use hawser_mpi::grequest;
use hawser_mpi::grequest_callbacks::{FinishedGrequest, GrequestCallbacks, GrequestPoll, StatusPtr};
use hawser_mpi::process;
use std::ffi::{c_int, c_void};
use std::mem::{MaybeUninit, transmute};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

fn internal_code<A: Abi>(code: c_int) -> i32 {
    A::code_in(code).unwrap_or(code)
}

/// The functions of a request that a Fortran library of MPICH passes on (`foreign_fortran`).
type FortranQuery<A> = unsafe extern "C" fn(*mut c_void, *mut <A as Abi>::Status, *mut c_int);
type FortranFree = unsafe extern "C" fn(*mut c_void, *mut c_int);
type FortranCancel = unsafe extern "C" fn(*mut c_void, *mut c_int, *mut c_int);

/// Calls a Fortran function, which returns its code by address.
fn by_address(call: impl FnOnce(*mut c_int)) -> c_int {
    let mut code = 0;
    call(&mut code);
    code
}

/// # Safety
/// The functions may be called with `extra` until the request is gone. `fortran` says that they are Fortran's.
unsafe fn functions<A: Abi>(
    query: GrequestQueryFunction<A>,
    free: GrequestFreeFunction,
    cancel: GrequestCancelFunction,
    extra: *mut c_void,
    fortran: &Arc<AtomicBool>,
) -> hawser_base::Result<GrequestCallbacks> {
    let query = query.ok_or_else(|| null("query_fn"))?;
    let free = free.ok_or_else(|| null("free_fn"))?;
    let cancel = cancel.ok_or_else(|| null("cancel_fn"))?;
    let extra = extra.expose_provenance();
    let state = move || ptr::with_exposed_provenance_mut(extra);
    let at = |status: StatusPtr| ptr::with_exposed_provenance_mut(status.0);
    // Relaxed: the flag is set before the request is passed to any other thread (`foreign_fortran`).
    let is_fortran = || {
        let fortran = fortran.clone();
        move || fortran.load(Ordering::Relaxed)
    };
    let (of_query, of_free, of_cancel) = (is_fortran(), is_fortran(), is_fortran());
    // SAFETY: the caller's promise; the status is one that `finish` may write.
    let query = move |status| unsafe {
        internal_code::<A>(match of_query() {
            true => by_address(|code| {
                transmute::<*const c_void, FortranQuery<A>>(query as *const c_void)(state(), at(status), code)
            }),
            false => query(state(), at(status)),
        })
    };
    // SAFETY: the caller's promise.
    let free = move || unsafe {
        internal_code::<A>(match of_free() {
            true => by_address(|code| transmute::<*const c_void, FortranFree>(free as *const c_void)(state(), code)),
            false => free(state()),
        })
    };
    // SAFETY: the caller's promise.
    let cancel = move |is_complete: bool| unsafe {
        let mut complete = c_int::from(is_complete);
        internal_code::<A>(match of_cancel() {
            true => by_address(|code| {
                transmute::<*const c_void, FortranCancel>(cancel as *const c_void)(state(), &mut complete, code)
            }),
            false => cancel(state(), complete),
        })
    };
    Ok(GrequestCallbacks { query: Box::new(query), free: Box::new(free), cancel: Box::new(cancel) })
}

/// # Safety
/// The contract of MPI_Grequest_start.
pub unsafe fn start<A: Abi>(
    query: GrequestQueryFunction<A>,
    free: GrequestFreeFunction,
    cancel: GrequestCancelFunction,
    extra: *mut c_void,
    request: *mut A::Request,
) -> Result {
    // SAFETY: the caller's arguments.
    unsafe { start_polled::<A>(query, free, cancel, None, None, extra, request) }
}

/// MPIX_Grequest_start: the poll function is called whenever MPI makes progress. The wait function, which could wait
/// for several requests at once, is never called.
///
/// # Safety
/// The contract of MPIX_Grequest_start.
pub unsafe fn start_polled<A: Abi>(
    query: GrequestQueryFunction<A>,
    free: GrequestFreeFunction,
    cancel: GrequestCancelFunction,
    poll: GrequestPollFunction<A>,
    _wait: GrequestWaitFunction<A>,
    extra: *mut c_void,
    request: *mut A::Request,
) -> Result {
    // SAFETY: the caller's arguments.
    let (request, fortran) = unsafe { (OutArg::handle(request, "request")?, Arc::new(AtomicBool::new(false))) };
    // SAFETY: the caller's arguments.
    let functions = unsafe { functions::<A>(query, free, cancel, extra, &fortran)? };
    let extra = extra.expose_provenance();
    let poll = poll.map(|poll| -> GrequestPoll {
        Box::new(move || {
            let mut status = empty_status::<A>();
            // SAFETY: the caller's promise; the status is ours.
            internal_code::<A>(unsafe { poll(ptr::with_exposed_provenance_mut(extra), status.as_mut_ptr()) })
        })
    });
    let started = grequest::start(functions, poll)?;
    foreign_fortran::remember_grequest(A::Request::encode(started).to_int(), fortran);
    request.set(started);
    Ok(())
}

/// # Safety
/// None is required.
pub unsafe fn complete<A: Abi>(request: A::Request) -> Result {
    Ok(grequest::complete(handle(request)?)?)
}

fn empty_status<A: Abi>() -> MaybeUninit<A::Status> {
    let mut status = MaybeUninit::zeroed();
    // SAFETY: the status is ours.
    unsafe { status::write_empty::<A>(status.as_mut_ptr()) };
    status
}

/// Calls the application's functions that fill in the status of its operation and, if the request is removed, free
/// its resources. MPI_ERROR stays as it is.
///
/// # Safety
/// `status` is null, MPI_STATUS_IGNORE, or may be written.
pub(crate) unsafe fn finish<A: Abi>(general: &FinishedGrequest, status: *mut A::Status) -> hawser_base::Result<()> {
    let mut own = empty_status::<A>();
    let ignored = status.is_null() || status.addr() == A::SENTINELS.status_ignore;
    general.run(StatusPtr(if ignored { own.as_mut_ptr() } else { status }.expose_provenance()))
}

/// The functions that were passed to MPIX_Grequest_class_create, as addresses; 0 for a null pointer.
#[derive(Clone, Copy)]
struct GrequestClassFns {
    functions: [usize; 5],
}

static CLASSES: Mutex<Vec<GrequestClassFns>> = Mutex::new(Vec::new());

/// # Safety
/// The contract of MPIX_Grequest_class_create.
pub unsafe fn class_create<A: Abi>(
    query: GrequestQueryFunction<A>,
    free: GrequestFreeFunction,
    cancel: GrequestCancelFunction,
    poll: GrequestPollFunction<A>,
    wait: GrequestWaitFunction<A>,
    class: *mut c_int,
) -> Result {
    process::get()?;
    // SAFETY: the caller's argument.
    let class = unsafe { OutArg::new(class, "greq_class") }?;
    let mut classes = CLASSES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let functions = [
        query.map_or(0, |function| function as usize),
        free.map_or(0, |function| function as usize),
        cancel.map_or(0, |function| function as usize),
        poll.map_or(0, |function| function as usize),
        wait.map_or(0, |function| function as usize),
    ];
    class.put(classes.len() as c_int);
    classes.push(GrequestClassFns { functions });
    Ok(())
}

/// # Safety
/// The contract of MPIX_Grequest_class_allocate.
pub unsafe fn class_allocate<A: Abi>(class: c_int, extra: *mut c_void, request: *mut A::Request) -> Result {
    let class_fns = {
        let classes = CLASSES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        usize::try_from(class).ok().and_then(|class| classes.get(class).copied())
    };
    let unknown = || Error::new(Class::Arg, format!("{class} was not returned by MPIX_Grequest_class_create"));
    let [query, free, cancel, poll, wait] = class_fns.ok_or_else(unknown)?.functions;
    // SAFETY: each is an address of `class_create`'s function of this type, or null.
    unsafe {
        start_polled::<A>(
            std::mem::transmute::<usize, GrequestQueryFunction<A>>(query),
            std::mem::transmute::<usize, GrequestFreeFunction>(free),
            std::mem::transmute::<usize, GrequestCancelFunction>(cancel),
            std::mem::transmute::<usize, GrequestPollFunction<A>>(poll),
            std::mem::transmute::<usize, GrequestWaitFunction<A>>(wait),
            extra,
            request,
        )
    }
}
