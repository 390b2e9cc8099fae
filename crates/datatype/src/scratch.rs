//! Temporary memory for typed data, which collectives need between a receive and a reduction.
//!
//! The memory belongs to the library, but is laid out and used like an application's buffer, gaps included, because
//! the application's reduction functions work on it. Its bytes are zero until they are written. It only grows.
//!
//! A view either borrows the memory ([`ScratchBuffer::bytes`]), or is for an operation that ends later
//! ([`ScratchBuffer::view`]). The type of a view for an operation does not tell when its memory may be freed. The
//! memory is therefore freed only if two conditions hold: its owner, `mpi`, has declared that all these operations
//! are over ([`ScratchBuffer::release_views`]), and a caller of [`allow_freeing_views`] has vouched that owners
//! declare this only when it is true. Otherwise a buffer that grows or is dropped leaves the memory to the operations
//! for good.

use crate::datatype::Datatype;
use crate::user::UserPtr;
use hawser_base::{SharedMem, UserMem};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A cache line. Its alignment is at least that of every basic type.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct CacheLine(#[allow(dead_code)] [u8; CACHE_LINE_BYTES]);

const CACHE_LINE_BYTES: usize = 64;

/// Whether [`allow_freeing_views`] was called. The store there and the load in `release_views` are partners; nothing
/// else depends on the order of the store.
static FREEING_ALLOWED: AtomicBool = AtomicBool::new(false);

/// Lets [`ScratchBuffer::release_views`] free memory that had views: until this is called, such memory is kept for
/// good.
///
/// # Safety
/// From now on all code of this process calls [`ScratchBuffer::release_views`] only when no view that the same buffer
/// has given before is used any more.
pub unsafe fn allow_freeing_views() {
    FREEING_ALLOWED.store(true, Relaxed);
}

/// Temporary memory for typed data.
#[derive(Default)]
pub struct ScratchBuffer {
    lines: Box<[CacheLine]>,
    /// Whether an operation may still use the memory.
    has_views: bool,
}

impl Drop for ScratchBuffer {
    fn drop(&mut self) {
        self.replace(Box::default());
    }
}

impl ScratchBuffer {
    /// Makes the buffer at least `bytes` long. Its contents may be lost.
    pub fn reserve(&mut self, bytes: usize) {
        let lines = bytes.div_ceil(CACHE_LINE_BYTES);
        if lines > self.lines.len() {
            // SAFETY: a line of zeros is a value of its type, which is an array of bytes.
            self.replace(unsafe { Box::new_zeroed_slice(lines).assume_init() });
        }
    }

    /// Replaces the memory. Memory that operations may still use is not freed but leaked, so that no operation writes
    /// to memory that has another owner by then.
    fn replace(&mut self, lines: Box<[CacheLine]>) {
        let old = std::mem::replace(&mut self.lines, lines);
        if std::mem::take(&mut self.has_views) {
            std::mem::forget(old);
        }
    }

    /// Records that no operation uses a view any more. The memory is freed with the buffer if
    /// [`allow_freeing_views`] was called:
    ///
    /// ```
    /// let mut scratch = hawser_datatype::ScratchBuffer::default();
    /// scratch.reserve(64);
    /// let view = scratch.view(0, 8);
    /// scratch.release_views();
    /// drop(scratch);
    /// view.write(b"in bound"); // nobody has vouched for the owner, who was wrong: the memory is still there
    /// ```
    pub fn release_views(&mut self) {
        self.release_views_if(FREEING_ALLOWED.load(Relaxed)); // partner: `allow_freeing_views`
    }

    fn release_views_if(&mut self, freeing_allowed: bool) {
        self.has_views &= !freeing_allowed;
    }

    /// The length of the buffer, in bytes.
    pub fn len(&self) -> usize {
        self.lines.len() * CACHE_LINE_BYTES
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

    /// Does the same as `bytes`, for an operation that may end later.
    pub fn view(&mut self, at: usize, len: usize) -> UserMem<'static> {
        self.has_views = true;
        let mem = self.bytes(at, len);
        // SAFETY: as in `bytes`; memory with views is not freed before `allow_freeing_views`' caller vouches that
        // the view is used no more.
        unsafe { UserMem::new(mem.as_ptr(), mem.len()) }
    }

    /// Returns the number of bytes that `elements` needs, and the displacement of their start from element 0. The
    /// displacement is a multiple of a cache line, so that every member keeps its alignment.
    fn space_for(datatype: &Datatype, count: u64) -> (usize, i64) {
        if count == 0 {
            return (0, 0);
        }
        let last = ((count - 1) as i64).wrapping_mul(datatype.extent());
        let lower = datatype.true_lb().wrapping_add(last.min(0));
        let upper = datatype.true_lb().wrapping_add(datatype.true_extent()).wrapping_add(last.max(0));
        let front = lower.div_euclid(CACHE_LINE_BYTES as i64) * CACHE_LINE_BYTES as i64;
        (((upper - front).max(0) as usize).next_multiple_of(CACHE_LINE_BYTES), front)
    }

    /// The number of bytes to set aside for `count` elements, a multiple of a cache line; None if no memory could
    /// hold them.
    pub fn bytes_for(datatype: &Datatype, count: u64) -> Option<usize> {
        let widest = (datatype.extent().unsigned_abs() as u128).max(datatype.true_extent().unsigned_abs().into());
        let fits = widest.saturating_mul(u128::from(count) + 1) < 1 << 62;
        (fits && datatype.true_lb().unsigned_abs() < 1 << 62).then(|| Self::space_for(datatype, count).0)
    }

    /// Returns the buffer of `count` elements that begins `at` bytes (a multiple of a cache line) from the start,
    /// where `bytes_for` bytes were set aside.
    pub fn elements(&mut self, at: usize, datatype: &Datatype, count: u64) -> UserPtr<'_> {
        let (bytes, front) = Self::space_for(datatype, count);
        let mem = self.bytes(at, bytes);
        // SAFETY: all data of the elements is in the bytes that `space_for` counted, which are ours (see `bytes`).
        unsafe { UserPtr::new(mem.as_ptr()) }.moved(front.wrapping_neg())
    }

    /// Does the same as `elements`, for an operation that may end later.
    pub fn view_elements(&mut self, at: usize, datatype: &Datatype, count: u64) -> UserPtr<'static> {
        let (bytes, front) = Self::space_for(datatype, count);
        let mem = self.view(at, bytes);
        // SAFETY: as in `elements`.
        unsafe { UserPtr::new(mem.as_ptr()) }.moved(front.wrapping_neg())
    }
}

impl<'a> UserPtr<'a> {
    /// Returns the buffer of `count` elements whose data are `mem`, a piece of the job's segment on which a reduction
    /// works. Panics if the data are not one run that fits into `mem`, which is an error of the library.
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
    use crate::{Basic, CountForm};

    fn round_trip(datatype: &Datatype, count: u64) {
        let mut scratch = ScratchBuffer::default();
        let bytes = ScratchBuffer::bytes_for(datatype, count).unwrap();
        scratch.reserve(bytes + CACHE_LINE_BYTES);
        let user = scratch.elements(CACHE_LINE_BYTES, datatype, count);
        let packed: Vec<u8> = (0..datatype.packed_size(count)).map(|i| i as u8).collect();
        assert_eq!(datatype.unpack(user, count, 0, &packed[..]), packed.len());
        let mut other = ScratchBuffer::default();
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
        let mut scratch = ScratchBuffer::default();
        scratch.reserve(64);
        let view = scratch.view(0, 8);
        scratch.reserve(1 << 20);
        view.write(b"grown ok");
        let elements = scratch.view_elements(0, Datatype::basic(Basic::Byte), 8);
        drop(scratch);
        let mut out = [0; 8];
        assert_eq!(Datatype::basic(Basic::Byte).unpack(elements, 8, 0, &b"gone too"[..]), 8);
        view.read(&mut out);
        assert_eq!(&out, b"grown ok");
        let mut scratch = ScratchBuffer::default();
        scratch.reserve(64);
        assert!(!scratch.has_views, "memory of its own is freed");
        scratch.view(0, 8);
        assert!(scratch.has_views);
        scratch.release_views_if(false);
        assert!(scratch.has_views, "nobody has vouched for the owner");
        scratch.release_views_if(true);
        assert!(!scratch.has_views);
    }

    #[test]
    fn elements_are_laid_over_memory_that_holds_them() {
        let mut bytes = [0; 24];
        let mem = SharedMem::of_slice(&mut bytes);
        let int = Datatype::basic(Basic::Int);
        let shifted = Datatype::hindexed(&[2], &[8], int, CountForm::Int).unwrap();
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
        let spread = Datatype::vector(2, 1, 2, Datatype::basic(Basic::Int), CountForm::Int).unwrap();
        UserPtr::over(SharedMem::of_slice(&mut [0; 64]), &spread, 2);
    }

    #[test]
    fn elements_of_any_layout_lie_inside_and_keep_their_alignment() {
        let int = Datatype::basic(Basic::Int);
        round_trip(int, 100);
        round_trip(int, 0);
        let shifted = Datatype::hindexed(&[1, 2], &[-12, 8], int, CountForm::Int).unwrap();
        round_trip(&shifted, 7);
        let backward = Datatype::resized(0, -8, int, CountForm::Int).unwrap();
        round_trip(&backward, 9);
        let mut scratch = ScratchBuffer::default();
        scratch.reserve(ScratchBuffer::bytes_for(&shifted, 3).unwrap());
        assert_eq!(scratch.elements(0, &shifted, 3).addr() % 64, 0);
    }
}
