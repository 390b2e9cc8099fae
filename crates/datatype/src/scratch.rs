//! Temporary memory for typed data, which collectives need between a receive and a reduction.
//!
//! It belongs to the library, but is laid out and used like an application's buffer, gaps included, since the
//! application's reduction functions work on it. Zero until written. It only grows.
//!
//! A view either borrows it ([`Scratch::bytes`]) or is lent to an operation that ends later ([`Scratch::lend`]). The
//! type of a lent view does not tell when its memory may be freed. So memory that was lent is never freed, unless its
//! owner, `mpi`, has declared that all these operations are over ([`Scratch::returned`]), and a caller of
//! [`trust_owners`] has vouched that owners declare so only when it is true. A scratch that grows or is dropped before
//! leaves its memory to the operations for good.

use crate::datatype::Datatype;
use crate::user::UserPtr;
use hawser_base::{SharedMem, UserMem};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A cache line, and no less than what any basic type is aligned to.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line(#[allow(dead_code)] [u8; LINE]);

const LINE: usize = 64;

/// The owners were vouched for ([`trust_owners`]). Its partner is itself: nothing else depends on the order of its
/// store.
static TRUSTED: AtomicBool = AtomicBool::new(false);

/// Lets [`Scratch::returned`] free what was lent: until this is called, such memory is kept for good.
///
/// # Safety
/// From now on all code of this process calls [`Scratch::returned`] only when no view is used any more that the same
/// scratch has lent before.
pub unsafe fn trust_owners() {
    TRUSTED.store(true, Relaxed);
}

/// Temporary memory for typed data.
#[derive(Default)]
pub struct Scratch {
    lines: Box<[Line]>,
    /// An operation may still use the lines.
    lent: bool,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.replace(Box::default());
    }
}

impl Scratch {
    /// Makes it at least `bytes` long. Its contents may be lost.
    pub fn reserve(&mut self, bytes: usize) {
        let lines = bytes.div_ceil(LINE);
        if lines > self.lines.len() {
            // SAFETY: a line of zeros is a value of its type, which is an array of bytes.
            self.replace(unsafe { Box::new_zeroed_slice(lines).assume_init() });
        }
    }

    /// Takes other memory. Memory that was lent is not freed: it is lost to us, and no operation writes to memory of
    /// others.
    fn replace(&mut self, lines: Box<[Line]>) {
        let old = std::mem::replace(&mut self.lines, lines);
        if std::mem::take(&mut self.lent) {
            std::mem::forget(old);
        }
    }

    /// All operations that memory was lent to are over. It is freed with the scratch if [`trust_owners`] was called:
    ///
    /// ```
    /// let mut scratch = hawser_datatype::Scratch::default();
    /// scratch.reserve(64);
    /// let view = scratch.lend(0, 8);
    /// scratch.returned();
    /// drop(scratch);
    /// view.write(b"in bound"); // nobody has vouched for the owner, who was wrong: the memory is still there
    /// ```
    pub fn returned(&mut self) {
        self.return_if(TRUSTED.load(Relaxed)); // partner: `trust_owners`
    }

    fn return_if(&mut self, trusted: bool) {
        self.lent &= !trusted;
    }

    /// Its length, in bytes.
    pub fn len(&self) -> usize {
        self.lines.len() * LINE
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The bytes `at .. at + len`.
    pub fn bytes(&mut self, at: usize, len: usize) -> UserMem<'_> {
        let all = self.len();
        // SAFETY: the lines are ours and stay where they are as long as the view borrows this. All were written.
        unsafe { UserMem::new(self.lines.as_mut_ptr().cast(), all) }.slice(at, len)
    }

    /// The same for an operation that may end later.
    pub fn lend(&mut self, at: usize, len: usize) -> UserMem<'static> {
        self.lent = true;
        let mem = self.bytes(at, len);
        // SAFETY: as in `bytes`; lines that were lent are not freed before `trust_owners`' caller vouches that the
        // view is used no more.
        unsafe { UserMem::new(mem.as_ptr(), mem.len()) }
    }

    /// The number of bytes that `elements` needs, and the number of bytes by which element 0 lies before their start,
    /// as a multiple of a line so that every member keeps its alignment.
    fn room(datatype: &Datatype, count: u64) -> (usize, i64) {
        if count == 0 {
            return (0, 0);
        }
        let last = ((count - 1) as i64).wrapping_mul(datatype.extent());
        let lower = datatype.true_lb().wrapping_add(last.min(0));
        let upper = datatype.true_lb().wrapping_add(datatype.true_extent()).wrapping_add(last.max(0));
        let front = lower.div_euclid(LINE as i64) * LINE as i64;
        (((upper - front).max(0) as usize).next_multiple_of(LINE), front)
    }

    /// Bytes to set aside for `count` elements, a multiple of a line; none if no memory could hold them.
    pub fn bytes_for(datatype: &Datatype, count: u64) -> Option<usize> {
        let widest = (datatype.extent().unsigned_abs() as u128).max(datatype.true_extent().unsigned_abs().into());
        let fits = widest.saturating_mul(u128::from(count) + 1) < 1 << 62;
        (fits && datatype.true_lb().unsigned_abs() < 1 << 62).then(|| Self::room(datatype, count).0)
    }

    /// The buffer of `count` elements that begins `at` bytes (a multiple of a line) from the start, where
    /// `bytes_for` bytes were set aside.
    pub fn elements(&mut self, at: usize, datatype: &Datatype, count: u64) -> UserPtr<'_> {
        let (bytes, front) = Self::room(datatype, count);
        let mem = self.bytes(at, bytes);
        // SAFETY: all data of the elements is in the bytes that `room` counted, which are ours (see `bytes`).
        unsafe { UserPtr::new(mem.as_ptr()) }.moved(front.wrapping_neg())
    }

    /// The same for an operation that may end later.
    pub fn lend_elements(&mut self, at: usize, datatype: &Datatype, count: u64) -> UserPtr<'static> {
        let (bytes, front) = Self::room(datatype, count);
        let mem = self.lend(at, bytes);
        // SAFETY: as in `elements`.
        unsafe { UserPtr::new(mem.as_ptr()) }.moved(front.wrapping_neg())
    }
}

impl<'a> UserPtr<'a> {
    /// The buffer of `count` elements whose data is `mem`: a piece of the job's segment on which a reduction works.
    /// Panics if their data is not one run that fits: an error of ours.
    #[inline]
    pub fn over(mem: SharedMem<'a>, datatype: &Datatype, count: u64) -> UserPtr<'a> {
        let run = datatype.is_contiguous(count).filter(|&(_, bytes)| bytes <= mem.len() as u64);
        let (disp, _) = run.unwrap_or_else(|| panic!("{count} elements over {} bytes", mem.len()));
        // SAFETY: `count` elements name only bytes of `mem` (checked), which the view's maker vouched for.
        unsafe { UserPtr::new(mem.as_ptr()) }.moved(disp.wrapping_neg())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::typed_copy::copy_typed;
    use crate::{Basic, Form};

    fn round_trip(datatype: &Datatype, count: u64) {
        let mut scratch = Scratch::default();
        let bytes = Scratch::bytes_for(datatype, count).unwrap();
        scratch.reserve(bytes + LINE);
        let user = scratch.elements(LINE, datatype, count);
        let packed: Vec<u8> = (0..datatype.packed_size(count)).map(|i| i as u8).collect();
        assert_eq!(datatype.unpack(user, count, 0, &packed[..]), packed.len());
        let mut other = Scratch::default();
        other.reserve(packed.len());
        let bytes = Datatype::basic(Basic::Byte);
        let flat = other.elements(0, bytes, packed.len() as u64);
        copy_typed((user, count, datatype), (flat, packed.len() as u64, bytes));
        let mut out = vec![0; packed.len()];
        other.bytes(0, packed.len()).read(&mut out);
        assert_eq!(out, packed);
    }

    /// Memory that an operation may still write to is not reused.
    #[test]
    fn what_was_lent_is_kept_until_it_is_returned() {
        let mut scratch = Scratch::default();
        scratch.reserve(64);
        let lent = scratch.lend(0, 8);
        scratch.reserve(1 << 20);
        lent.write(b"grown ok");
        let again = scratch.lend_elements(0, Datatype::basic(Basic::Byte), 8);
        drop(scratch);
        let mut out = [0; 8];
        assert_eq!(Datatype::basic(Basic::Byte).unpack(again, 8, 0, &b"gone too"[..]), 8);
        lent.read(&mut out);
        assert_eq!(&out, b"grown ok");
        let mut scratch = Scratch::default();
        scratch.reserve(64);
        assert!(!scratch.lent, "memory of its own is freed");
        scratch.lend(0, 8);
        assert!(scratch.lent);
        scratch.return_if(false);
        assert!(scratch.lent, "nobody has vouched for the owner");
        scratch.return_if(true);
        assert!(!scratch.lent);
    }

    #[test]
    fn elements_are_laid_over_memory_that_holds_them() {
        let mut bytes = [0; 24];
        let mem = SharedMem::of_slice(&mut bytes);
        let int = Datatype::basic(Basic::Int);
        let shifted = Datatype::hindexed(&[2], &[8], int, Form::Int).unwrap();
        for (datatype, count) in [(&**int, 6), (&*shifted, 3), (&*shifted, 1)] {
            let user = UserPtr::over(mem, datatype, count);
            assert_eq!(datatype.memory(user, count).map(|run| run.as_ptr()), Some(mem.as_ptr()));
        }
    }

    #[test]
    #[should_panic(expected = "7 elements over 24 bytes")]
    fn more_elements_than_the_memory_holds_are_refused() {
        UserPtr::over(SharedMem::of_slice(&mut [0; 24]), Datatype::basic(Basic::Int), 7);
    }

    #[test]
    #[should_panic(expected = "2 elements over 64 bytes")]
    fn elements_with_gaps_are_refused() {
        let spread = Datatype::vector(2, 1, 2, Datatype::basic(Basic::Int), Form::Int).unwrap();
        UserPtr::over(SharedMem::of_slice(&mut [0; 64]), &spread, 2);
    }

    #[test]
    fn elements_of_any_layout_lie_inside_and_keep_their_alignment() {
        let int = Datatype::basic(Basic::Int);
        round_trip(int, 100);
        round_trip(int, 0);
        let shifted = Datatype::hindexed(&[1, 2], &[-12, 8], int, Form::Int).unwrap();
        round_trip(&shifted, 7);
        let backward = Datatype::resized(0, -8, int, Form::Int).unwrap();
        round_trip(&backward, 9);
        let mut scratch = Scratch::default();
        scratch.reserve(Scratch::bytes_for(&shifted, 3).unwrap());
        assert_eq!(scratch.elements(0, &shifted, 3).addr() % 64, 0);
    }
}
