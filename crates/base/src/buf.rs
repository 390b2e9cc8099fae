//! Memory that others may write: the application's buffers and memory shared with peers.
//!
//! Nothing here ever forms a Rust reference to such memory; its bytes are copied in and out. Creating a view from an
//! address is `unsafe` (the ABI edge and `os` ensure its conditions). Using a view is safe, because every access is
//! checked against the view's length, and a view does not outlive the memory from which it was made. A view that an
//! operation keeps must be `'static`; only `new`, or memory that is never freed, can give such a view. `abi` (user
//! buffers) and `os` (mappings) create views; devices and `datatype` use them.

use crate::copy;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A contiguous piece of the application's memory. An operation borrows it from the call that starts the operation
/// until the call that completes the operation (MPI-5.0 §3.7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserMem<'a> {
    addr: *mut u8,
    len: usize,
    memory: PhantomData<&'a [u8]>,
}

// SAFETY: a UserMem is an address and a length; under MPI the library as a whole borrows the memory, not one
// thread, and all access goes through the copying functions below.
unsafe impl Send for UserMem<'_> {}
// SAFETY: as above.
unsafe impl Sync for UserMem<'_> {}

impl<'a> UserMem<'a> {
    pub const EMPTY: UserMem<'a> = UserMem { addr: ptr::null_mut(), len: 0, memory: PhantomData };

    /// Makes a view. The caller chooses the lifetime: `'static` for memory that an operation borrows.
    ///
    /// # Safety
    /// `len` bytes at `addr` stay valid for reads (and, where the operation receives, for writes) until the operation
    /// that takes this view has completed.
    #[inline(always)]
    pub const unsafe fn new(addr: *mut u8, len: usize) -> UserMem<'a> {
        UserMem { addr, len, memory: PhantomData }
    }

    /// Makes a view of memory of the library, for code that works on views of the application's memory. The slice
    /// stays borrowed while any copy of the view is in use:
    ///
    /// ```compile_fail,E0505
    /// let mut bytes = vec![0u8; 8];
    /// let view = hawser_base::UserMem::of_slice(&mut bytes);
    /// drop(bytes);
    /// view.write(b"late");
    /// ```
    pub fn of_slice(slice: &'a mut [u8]) -> UserMem<'a> {
        UserMem { addr: slice.as_mut_ptr(), len: slice.len(), memory: PhantomData }
    }

    /// Makes a view of a slice of words in the same way as `of_slice`. Its memory is aligned for words of eight
    /// bytes.
    pub fn of_words(words: &'a mut [u64]) -> UserMem<'a> {
        UserMem { addr: words.as_mut_ptr().cast(), len: size_of_val(words), memory: PhantomData }
    }

    #[inline(always)]
    pub const fn len(self) -> usize {
        self.len
    }

    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns the word of four bytes at byte `at`, for operations that are atomic among peers. `None` if the word is
    /// not completely inside the view, or if its address is not a multiple of four.
    #[inline]
    pub fn u32(&self, at: usize) -> Option<&AtomicU32> {
        let word = self.word::<4>(at)?.cast();
        // SAFETY: inside this view and aligned (`word`), valid while the view is borrowed (its maker ensures it);
        // such memory is accessed by copies and atomics alone.
        Some(unsafe { AtomicU32::from_ptr(word) })
    }

    /// Returns the word of eight bytes at byte `at`, for operations that are atomic among peers. `None` if the word
    /// is not completely inside the view, or if its address is not a multiple of eight.
    #[inline]
    pub fn u64(&self, at: usize) -> Option<&AtomicU64> {
        let word = self.word::<8>(at)?.cast();
        // SAFETY: as in `u32`.
        Some(unsafe { AtomicU64::from_ptr(word) })
    }

    #[inline]
    fn word<const BYTES: usize>(&self, at: usize) -> Option<*mut u8> {
        let is_inside = at <= self.len && self.len - at >= BYTES;
        let word = self.addr.wrapping_add(at);
        (is_inside && word.addr().is_multiple_of(BYTES)).then_some(word)
    }

    /// Returns the address of the first byte, for keys and error texts. `datatype` and devices also use it to copy.
    #[inline(always)]
    pub const fn as_ptr(self) -> *mut u8 {
        self.addr
    }

    /// Returns a view of the same memory for code that works on shared memory.
    pub const fn as_shared(self) -> SharedMem<'a> {
        SharedMem { addr: self.addr, len: self.len, memory: PhantomData }
    }

    /// Returns the view of `len` bytes from byte `at` on. Panics if they are not inside this view, which is an error
    /// of the library, never of the application.
    #[inline]
    pub fn slice(self, at: usize, len: usize) -> UserMem<'a> {
        assert!(at <= self.len && len <= self.len - at, "view of {} bytes sliced at {at}+{len}", self.len);
        // SAFETY: the slice lies inside this view (asserted above).
        UserMem { addr: unsafe { self.addr.add(at) }, len, memory: PhantomData }
    }

    /// Copies the front of this view out to `to`.
    #[inline]
    pub fn read(self, to: &mut [u8]) {
        assert!(to.len() <= self.len);
        // SAFETY: both ranges are valid for to.len() bytes; `to` is exclusive, so they do not overlap.
        unsafe { copy::whole(to.as_mut_ptr(), self.addr, to.len()) }
    }

    /// Appends all of this view to `to`, without filling its new memory with zeroes first.
    #[inline]
    pub fn append_to(self, to: &mut Vec<u8>) {
        to.reserve(self.len);
        let spare = to.spare_capacity_mut();
        debug_assert!(spare.len() >= self.len);
        // SAFETY: both ranges are valid for self.len bytes, which `reserve` has made sure of for `spare`; that is
        // exclusive, so they do not overlap. Afterwards these bytes of `to` are initialised.
        unsafe {
            copy::whole(spare.as_mut_ptr().cast(), self.addr, self.len);
            to.set_len(to.len() + self.len);
        }
    }

    /// Copies `from` to the front of this view.
    #[inline]
    pub fn write(self, from: &[u8]) {
        assert!(from.len() <= self.len);
        // SAFETY: as in `read`, the other way round.
        unsafe { copy::whole(self.addr, from.as_ptr(), from.len()) }
    }

    /// Copies all of `from` to the front of this view; the two may overlap.
    #[inline]
    pub fn copy_from(self, from: UserMem<'_>) {
        assert!(from.len <= self.len);
        // SAFETY: both views are valid for from.len bytes.
        unsafe { copy::overlapping(self.addr, from.addr, from.len) }
    }
}

/// A piece of a mapping that other processes may write at any moment. Its bytes are only copied; no reference to them
/// is ever formed.
#[derive(Clone, Copy, Debug)]
pub struct SharedMem<'a> {
    addr: *mut u8,
    len: usize,
    memory: PhantomData<&'a [u8]>,
}

// SAFETY: as for UserMem; the protocol orders accesses to the bytes with atomics.
unsafe impl Send for SharedMem<'_> {}
// SAFETY: as above.
unsafe impl Sync for SharedMem<'_> {}

impl<'a> SharedMem<'a> {
    /// # Safety
    /// `len` bytes at `addr` stay mapped, readable and writable, for as long as copies of this view are used.
    #[inline(always)]
    pub const unsafe fn new(addr: *mut u8, len: usize) -> SharedMem<'a> {
        SharedMem { addr, len, memory: PhantomData }
    }

    /// Makes a view of memory of the library, for code that works on shared memory. The slice stays borrowed while
    /// any copy of the view is in use:
    ///
    /// ```compile_fail,E0505
    /// let mut bytes = vec![0u8; 8];
    /// let view = hawser_base::SharedMem::of_slice(&mut bytes);
    /// drop(bytes);
    /// view.write(b"late");
    /// ```
    pub fn of_slice(slice: &'a mut [u8]) -> SharedMem<'a> {
        SharedMem { addr: slice.as_mut_ptr(), len: slice.len(), memory: PhantomData }
    }

    #[inline(always)]
    pub const fn len(self) -> usize {
        self.len
    }

    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    pub const fn as_ptr(self) -> *mut u8 {
        self.addr
    }

    /// Returns the view of `len` bytes from byte `at` on. Panics if they are not inside this view.
    #[inline]
    pub fn slice(self, at: usize, len: usize) -> SharedMem<'a> {
        assert!(at <= self.len && len <= self.len - at, "shared view of {} bytes sliced at {at}+{len}", self.len);
        // SAFETY: the slice lies inside this view (asserted above).
        SharedMem { addr: unsafe { self.addr.add(at) }, len, memory: PhantomData }
    }

    /// Copies the front of this view out to `to`.
    #[inline]
    pub fn read(self, to: &mut [u8]) {
        assert!(to.len() <= self.len);
        // SAFETY: mapped for self.len bytes; `to` is exclusive memory of this process.
        unsafe { copy::whole(to.as_mut_ptr(), self.addr, to.len()) }
    }

    /// Copies `from` to the front of this view.
    #[inline]
    pub fn write(self, from: &[u8]) {
        assert!(from.len() <= self.len);
        // SAFETY: as in `read`, the other way round.
        unsafe { copy::whole(self.addr, from.as_ptr(), from.len()) }
    }

    /// Copies all of `from` to the front of this view.
    #[inline]
    pub fn write_user(self, from: UserMem<'_>) {
        assert!(from.len <= self.len);
        // SAFETY: both views are valid for from.len bytes; an application may send from shared memory
        // (MPI_Alloc_mem), so overlap is allowed for.
        unsafe { copy::overlapping(self.addr, from.addr, from.len) }
    }

    /// Copies the front of this view to all of `to`.
    #[inline]
    pub fn read_user(self, to: UserMem<'_>) {
        assert!(to.len <= self.len);
        // SAFETY: as in `write_user`.
        unsafe { copy::overlapping(to.addr, self.addr, to.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn copies_stay_inside_their_views() {
        let mut bytes = *b"0123456789";
        // SAFETY: `bytes` outlives the view.
        let user = unsafe { UserMem::new(bytes.as_mut_ptr(), bytes.len()) };
        let mut out = [0; 3];
        user.slice(4, 3).read(&mut out);
        assert_eq!(&out, b"456");
        let mut appended = b"ab".to_vec();
        user.slice(2, 3).append_to(&mut appended);
        user.slice(2, 0).append_to(&mut appended);
        assert_eq!(appended, b"ab234");
        user.slice(8, 2).write(b"xy");
        user.slice(0, 4).copy_from(user.slice(1, 4));
        assert_eq!(&bytes, b"12344567xy");
    }

    #[test]
    fn words_are_inside_their_view_and_aligned() {
        let mut words = [0u64; 2];
        let mem = UserMem::of_words(&mut words);
        mem.u64(8).unwrap().store(5, Relaxed);
        mem.u32(4).unwrap().store(1, Relaxed);
        for outside in [9, 13, 16, usize::MAX - 3, usize::MAX] {
            assert!(mem.u64(outside).is_none() && mem.u32(outside).is_none(), "{outside}");
        }
        assert!(mem.u64(4).is_none() && mem.u32(2).is_none() && mem.slice(1, 15).u32(0).is_none(), "not aligned");
        assert!(mem.slice(4, 12).u64(4).is_some(), "the address counts, not the place in the view");
        assert_eq!(words, [1 << 32, 5]);
    }

    #[test]
    #[should_panic(expected = "sliced at 8+3")]
    fn a_slice_outside_the_view_panics() {
        let mut bytes = [0u8; 10];
        // SAFETY: `bytes` outlives the view.
        unsafe { UserMem::new(bytes.as_mut_ptr(), 10) }.slice(8, 3);
    }
}
