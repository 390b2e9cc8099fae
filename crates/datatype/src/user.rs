//! Addresses at the two sides of packing: the application's buffer, where a layout spreads around an address in both
//! directions, and the packed bytes, which are in one piece.
//!
//! A [`UserPtr`] is an address without an end: only the application knows how far its memory goes, and no check here
//! could find out. Making one is therefore `unsafe`, and the maker's promise is a wide one: it covers everything that
//! the safe code in between (`mpi`) does with the address. That code in turn uses only memory that the call's own
//! arguments name, and only until the operation is over. If the memory is ours (`ScratchBuffer`, [`UserPtr::over`]),
//! its end is known, and checked. Used by `abi`, `mpi`, `p2p` and `pack`.

use hawser_base::{SharedMem, UserMem};
use std::marker::PhantomData;
use std::ptr;

/// The buffer argument of an MPI call: an address to which displacements are added, also negative ones. For
/// MPI_BOTTOM the address is 0, and the displacements are addresses. Data in one piece are a [`UserMem`]. The
/// lifetime is that of the memory, as for a [`UserMem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserPtr<'a>(usize, PhantomData<&'a [u8]>);

impl<'a> UserPtr<'a> {
    /// MPI_BOTTOM: displacements are addresses (MPI-5.0 §5.1.5).
    ///
    /// # Safety
    /// As for [`UserPtr::new`].
    #[inline(always)]
    pub const unsafe fn bottom() -> UserPtr<'a> {
        UserPtr(0, PhantomData)
    }

    /// # Safety
    /// For every `count` and datatype that this address, or one [`moved`](UserPtr::moved) from it, is used with, all
    /// bytes that the typemap names relative to it stay valid for reads (and, where data is received, for writes) until
    /// the operation has completed. MPI requires the same of the application's buffers, for the call's arguments as a
    /// whole: every rank's block, wherever counts and displacements place it (MPI-5.0 §3.7.2, §6.2).
    #[inline(always)]
    pub unsafe fn new(buffer: *const u8) -> UserPtr<'a> {
        UserPtr(buffer.expose_provenance(), PhantomData)
    }

    #[inline(always)]
    pub const fn addr(self) -> usize {
        self.0
    }

    /// Returns the address `by` bytes further on. `by` must come from the call's own arguments (whole elements within
    /// the count, displacements in extents, the bytes of MPI_Alltoallw): the caller of `new` vouches for no more, and
    /// only the application knows where the buffer ends. An address that is only compared may be anything.
    #[inline(always)]
    pub const fn moved(self, by: i64) -> UserPtr<'a> {
        UserPtr(self.0.wrapping_add(by as usize), PhantomData)
    }

    /// The address at displacement `disp`. The sum wraps as addresses do.
    #[inline(always)]
    pub(crate) fn at(self, disp: i64) -> *mut u8 {
        ptr::with_exposed_provenance_mut(self.0.wrapping_add(disp as usize))
    }

    /// The view of a run that the layout names: `disp` and `len` come from `is_contiguous` or `runs` of
    /// the datatype that this buffer belongs to.
    ///
    /// # Safety
    /// `disp .. disp + len` is a part of the typemap that this address was vouched for.
    #[inline(always)]
    pub unsafe fn view(self, disp: i64, len: usize) -> UserMem<'a> {
        // SAFETY: the caller names bytes that `new` vouched for.
        unsafe { UserMem::new(self.at(disp), len) }
    }
}

/// Bytes in one piece to read packed data from.
///
/// # Safety
/// `len` bytes at `addr` are valid for reads during the call that takes it.
pub unsafe trait PackedSource {
    fn addr(&self) -> *const u8;
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Bytes in one piece to write packed data to.
///
/// # Safety
/// `len` bytes at `addr` are valid for writes during the call that takes it.
pub unsafe trait PackedTarget {
    fn addr(&mut self) -> *mut u8;
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

// SAFETY: a borrow is valid for its length.
unsafe impl PackedSource for &[u8] {
    #[inline(always)]
    fn addr(&self) -> *const u8 {
        self.as_ptr()
    }
    #[inline(always)]
    fn len(&self) -> usize {
        <[u8]>::len(self)
    }
}

// SAFETY: as above, and exclusive.
unsafe impl PackedTarget for &mut [u8] {
    #[inline(always)]
    fn addr(&mut self) -> *mut u8 {
        self.as_mut_ptr()
    }
    #[inline(always)]
    fn len(&self) -> usize {
        <[u8]>::len(self)
    }
}

macro_rules! view {
    ($view:ty) => {
        // SAFETY: the maker of the view vouched for its address and length.
        unsafe impl PackedSource for $view {
            #[inline(always)]
            fn addr(&self) -> *const u8 {
                self.as_ptr()
            }
            #[inline(always)]
            fn len(&self) -> usize {
                <$view>::len(*self)
            }
        }

        // SAFETY: as above; the views are writable.
        unsafe impl PackedTarget for $view {
            #[inline(always)]
            fn addr(&mut self) -> *mut u8 {
                self.as_ptr()
            }
            #[inline(always)]
            fn len(&self) -> usize {
                <$view>::len(*self)
            }
        }
    };
}

view!(UserMem<'_>);
view!(SharedMem<'_>);
