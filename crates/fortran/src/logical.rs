//! LOGICAL: a word of the size of INTEGER. gfortran and flang write 1 and 0; others write -1 for `.TRUE.` and look at
//! the lowest bit, so that the opposite of our 1 is -2 there. The lowest bit is right for all of them.
//!
//! Used by the entry points; uses nothing.

use std::ffi::c_int;

/// A LOGICAL of the default kind, as Fortran passes it.
pub type Logical = c_int;

pub const TRUE: Logical = 1;
pub const FALSE: Logical = 0;

/// Returns C's word for a LOGICAL.
#[inline]
pub fn truth(value: Logical) -> c_int {
    value & TRUE
}

/// Returns the LOGICAL for C's word.
#[inline]
pub fn logical(value: c_int) -> Logical {
    if value != 0 { TRUE } else { FALSE }
}

/// An array of LOGICAL as C's integers.
#[derive(Debug)]
pub struct Truths(Vec<c_int>);

impl Truths {
    /// Copies an array that a C function reads.
    ///
    /// # Safety
    /// `from` points to `count` elements.
    pub unsafe fn of(from: *const Logical, count: usize) -> Truths {
        // SAFETY: the caller's promise.
        Truths((0..count).map(|i| truth(unsafe { from.add(i).read() })).collect())
    }

    pub fn as_ptr(&self) -> *const c_int {
        self.0.as_ptr()
    }

    pub fn as_mut_ptr(&mut self) -> *mut c_int {
        self.0.as_mut_ptr()
    }

    /// Writes all elements to the program's array.
    ///
    /// # Safety
    /// `to` has room for as many elements.
    pub unsafe fn store(&self, to: *mut Logical) {
        for (i, &value) in self.0.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { to.add(i).write(logical(value)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_compilers_words_are_understood() {
        assert_eq!([truth(0), truth(1), truth(-1), truth(!TRUE)], [0, 1, 1, 0]);
        assert_eq!([logical(0), logical(1), logical(7)], [FALSE, TRUE, TRUE]);
        // SAFETY: three elements.
        let truths = unsafe { Truths::of([-1, 0, 1].as_ptr(), 3) };
        let mut back = [9; 3];
        // SAFETY: room for three.
        unsafe { truths.store(back.as_mut_ptr()) };
        assert_eq!(back, [TRUE, FALSE, TRUE]);
    }
}
