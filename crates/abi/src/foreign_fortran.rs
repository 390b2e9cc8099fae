//! Support for Fortran libraries of MPICH: functions of the program whose arguments are passed by address.
//!
//! MPICH's libmpichfort (4.0 to 4.3) passes the program's Fortran functions to the C functions of MPI as they are, and
//! says afterwards that they are Fortran's: for an attribute key it registers two functions of its own that call them
//! (`MPII_Keyval_set_proxy`), for a generalized request a flag (`MPII_Grequest_set_lang_f77`). Attributes that Fortran
//! sets are integers (`attribute_value`). Hawser's own Fortran libraries need nothing of this. Used by `attributes`,
//! `grequest` and the symbols of the MPICH ABI.

use hawser_fortran::attribute_value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

/// The type of an attribute, as MPICH counts them (mpir_attr_generic.h): a pointer of C, or an integer of Fortran.
pub const POINTER: c_int = 0;
const ADDRESS_SIZED: c_int = 1;

/// Calls the program's copy function: function, object, key, extra state, type and value of the attribute; results are
/// the new value and the flag.
pub type CopyProxy = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    c_int,
    *mut c_void,
    c_int,
    *mut c_void,
    *mut *mut c_void,
    *mut c_int,
) -> c_int;
/// Calls the program's delete function: function, object, key, type and value of the attribute, extra state.
pub type DeleteProxy = unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, *mut c_void, *mut c_void) -> c_int;

/// The functions that call those of a key.
#[derive(Clone, Copy)]
pub struct Proxies {
    pub copy: CopyProxy,
    pub delete: DeleteProxy,
}

static PROXIES: LazyLock<Mutex<HashMap<c_int, Proxies>>> = LazyLock::new(Mutex::default);

fn all() -> MutexGuard<'static, HashMap<c_int, Proxies>> {
    PROXIES.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Registers the proxies of a key of Fortran's.
pub fn set_proxies(keyval: c_int, proxies: Proxies) {
    all().insert(keyval, proxies);
}

/// Forgets the proxies of a key of the past with the same number.
pub fn forget_proxies(keyval: c_int) {
    all().remove(&keyval);
}

/// Returns the proxies of a key, unless its functions are C's.
pub fn proxies(keyval: c_int) -> Option<Proxies> {
    all().get(&keyval).copied()
}

/// Returns an attribute's type and value for a proxy.
fn typed(attribute: *mut c_void) -> (c_int, *mut c_void) {
    match attribute_value::find(attribute) {
        Some(value) => (ADDRESS_SIZED, std::ptr::with_exposed_provenance_mut(value as usize)),
        None => (POINTER, attribute),
    }
}

/// Copies an attribute by a proxy; `Ok(None)`: the new object does not get it.
///
/// # Safety
/// `function` and `extra` are those of the key that the proxies are registered for.
pub unsafe fn copy(
    with: Proxies,
    function: *mut c_void,
    (object, keyval): (c_int, c_int),
    extra: *mut c_void,
    attribute: *mut c_void,
) -> Result<Option<*mut c_void>, c_int> {
    let (kind, value) = typed(attribute);
    let (mut copied, mut flag) = (std::ptr::null_mut(), 0);
    // SAFETY: the caller's promise; the results are variables of ours.
    let code = unsafe { (with.copy)(function, object, keyval, extra, kind, value, &mut copied, &mut flag) };
    match (code, flag) {
        (0, 0) => Ok(None),
        (0, _) => Ok(Some(attribute_value::insert(copied.expose_provenance() as isize))),
        _ => Err(code),
    }
}

/// Deletes an attribute by a proxy.
///
/// # Safety
/// The same as for `copy`.
pub unsafe fn delete(
    with: Proxies,
    function: *mut c_void,
    (object, keyval): (c_int, c_int),
    extra: *mut c_void,
    attribute: *mut c_void,
) -> c_int {
    let (kind, value) = typed(attribute);
    // SAFETY: the caller's promise.
    let code = unsafe { (with.delete)(function, object, keyval, kind, value, extra) };
    if code == 0 {
        attribute_value::remove(attribute);
    }
    code
}

thread_local! {
    /// The generalized request that this thread started last, and whether its functions are Fortran's.
    static LAST_GREQUEST: RefCell<Option<(c_int, Arc<AtomicBool>)>> = const { RefCell::new(None) };
}

/// Remembers a request that this thread has started; `set` says that its functions are Fortran's.
pub fn remember_grequest(request: c_int, set: Arc<AtomicBool>) {
    LAST_GREQUEST.with(|last| *last.borrow_mut() = Some((request, set)));
}

/// Says that the functions of the request that this thread has just started are Fortran's.
pub fn grequest_is_fortran(request: c_int) {
    LAST_GREQUEST.with(|last| {
        if let Some((_, set)) = last.borrow().as_ref().filter(|(started, _)| *started == request) {
            // Relaxed: the program passes the request to other threads, if at all, after this call.
            set.store(true, Ordering::Relaxed);
        }
    });
}
