//! The values of attributes that Fortran sets.
//!
//! An attribute is a pointer in C and an integer in Fortran. C finds, for an attribute that Fortran set, the address of
//! an integer; Fortran finds, for one that C set, the pointer as an integer (MPI-5.0 §19.3.7). So a value from Fortran
//! is put in a cell, whose address is the attribute; the list of cells tells them from pointers of C.
//!
//! Used by the entry points of attributes; uses nothing.

use std::collections::HashSet;
use std::ffi::{c_int, c_void};
use std::sync::{LazyLock, Mutex, MutexGuard};

/// The addresses of all cells.
static CELLS: LazyLock<Mutex<HashSet<usize>>> = LazyLock::new(Mutex::default);

fn cells() -> MutexGuard<'static, HashSet<usize>> {
    CELLS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Puts a value in a cell and returns its address, which is the attribute. `remove` frees the cell.
pub fn insert(value: isize) -> *mut c_void {
    let cell = Box::into_raw(Box::new(value));
    cells().insert(cell.expose_provenance());
    cell.cast()
}

/// Returns the value of an attribute that Fortran set.
pub fn find(attribute: *mut c_void) -> Option<isize> {
    // SAFETY: a cell that `insert` made and `remove` has not freed; the attribute is the program's until then.
    cells().contains(&attribute.addr()).then(|| unsafe { attribute.cast::<isize>().read() })
}

/// Returns the integer that Fortran gets for an attribute: the value in a cell, or the pointer that C set.
pub fn of(attribute: *mut c_void) -> isize {
    find(attribute).unwrap_or_else(|| attribute.expose_provenance() as isize)
}

/// Returns the integer of one of MPI's own attributes, which are addresses of integers in C. MPI_WIN_BASE is itself the
/// value, and that of MPI_WIN_SIZE is address-sized; `win_base` and `win_size` are the ABI's keys of the two.
///
/// # Safety
/// `attribute` is what C found for `key`.
pub unsafe fn of_predefined(key: c_int, win_base: c_int, win_size: c_int, attribute: *mut c_void) -> isize {
    if key == win_base {
        attribute.expose_provenance() as isize
    } else if key == win_size {
        // SAFETY: the caller's promise.
        unsafe { attribute.cast::<isize>().read() }
    } else {
        // SAFETY: the caller's promise.
        unsafe { attribute.cast::<c_int>().read() as isize }
    }
}

/// Frees the cell of an attribute that is deleted; a pointer of C is left alone.
pub fn remove(attribute: *mut c_void) {
    if cells().remove(&attribute.addr()) {
        // SAFETY: `insert` made it, and it was in the list until now.
        drop(unsafe { Box::from_raw(attribute.cast::<isize>()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_finds_its_integer_and_c_the_address_of_it() {
        let attribute = insert(-5);
        assert_eq!(of(attribute), -5);
        // SAFETY: the address of an integer, as C sees it.
        assert_eq!(unsafe { attribute.cast::<isize>().read() }, -5);
        remove(attribute);
        assert!(!cells().contains(&attribute.addr()));
    }

    #[test]
    fn a_pointer_of_c_is_the_integer() {
        let mut value = 7;
        let pointer: *mut c_void = (&raw mut value).cast();
        assert_eq!(of(pointer), pointer.addr() as isize);
        remove(pointer);
        assert_eq!(value, 7);
    }
}
