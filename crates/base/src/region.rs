//! A mapping that processes share. Its words are accessed by atomics at checked offsets, its bytes by copies.
//!
//! `os` makes regions; `job` and `dev-shm` lay out structures in them. A mapping is removed when the last region of
//! it is dropped, or when the process ends.

use crate::buf::SharedMem;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A mapping, or a part of one. It is cheap to clone. The mapping lives until all regions of it are dropped.
#[derive(Clone)]
pub struct Region {
    addr: *mut u8,
    len: usize,
    owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: only atomics and copies reach the memory, and `owner` (Send + Sync) keeps it mapped.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// # Safety
    /// `len` bytes at `addr` are mapped readable and writable for as long as `owner` lives, are aligned to
    /// 64 bytes, and no Rust reference to them exists other than those that regions give.
    pub unsafe fn new(addr: *mut u8, len: usize, owner: Arc<dyn Any + Send + Sync>) -> Region {
        assert!(addr.addr().is_multiple_of(64), "a region starts at a cache line");
        Region { addr, len, owner }
    }

    /// Makes a region of zeroed memory that is private to this process: for jobs of one process, and for tests.
    pub fn private(len: usize) -> Region {
        #[repr(align(64))]
        #[derive(Clone, Copy)]
        struct CacheLine(#[allow(dead_code)] [u64; 8]);
        let lines = vec![CacheLine([0; 8]); len.div_ceil(64)].into_boxed_slice();
        let addr = lines.as_ptr() as *mut u8;
        // SAFETY: the box is owned by the region and reached through nothing else; `CacheLine` is aligned to 64.
        unsafe { Region::new(addr, len, Arc::new(BoxedMemory(lines))) }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the part of `len` bytes from byte `at` on, which must be a multiple of 64. The part keeps the whole
    /// mapping alive. Panics if the part is not inside this region.
    pub fn part(&self, at: usize, len: usize) -> Region {
        assert!(at.is_multiple_of(64) && at <= self.len && len <= self.len - at);
        // SAFETY: inside this region (asserted), and `owner` keeps it mapped.
        Region { addr: unsafe { self.addr.add(at) }, len, owner: self.owner.clone() }
    }

    /// Returns the atomic word of four bytes at byte `at`. Panics if `at` is not a multiple of four, or the word not
    /// inside the region.
    #[inline]
    pub fn u32(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at <= self.len && self.len - at >= 4, "word {at} of {} bytes", self.len);
        // SAFETY: in bounds and aligned (asserted); mapped while self lives; shared words are atomics.
        unsafe { &*self.addr.add(at).cast::<AtomicU32>() }
    }

    /// Returns the atomic word of eight bytes at byte `at`. Panics if `at` is not a multiple of eight, or the word
    /// not inside the region.
    #[inline]
    pub fn u64(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at <= self.len && self.len - at >= 8, "word {at} of {} bytes", self.len);
        // SAFETY: as in `u32`.
        unsafe { &*self.addr.add(at).cast::<AtomicU64>() }
    }

    /// Returns a view of the bytes `at .. at + len`, which can be used while this region lives:
    ///
    /// ```compile_fail,E0505
    /// let region = hawser_base::Region::private(64);
    /// let view = region.bytes(0, 8);
    /// drop(region);
    /// view.write(b"late");
    /// ```
    #[inline]
    pub fn bytes(&self, at: usize, len: usize) -> SharedMem<'_> {
        assert!(at <= self.len && len <= self.len - at);
        // SAFETY: in bounds (asserted); the view borrows this region, which keeps the memory mapped.
        unsafe { SharedMem::new(self.addr.add(at), len) }
    }

    /// Returns the address of the first byte, for crates that may use `unsafe` (`dev-shm`).
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        self.addr
    }
}

struct BoxedMemory<T>(#[allow(dead_code)] Box<[T]>);

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn words_and_bytes_name_the_same_memory() {
        let region = Region::private(256);
        region.u64(64).store(0x0102_0304_0506_0708, Relaxed);
        let mut out = [0; 8];
        region.part(64, 64).bytes(0, 8).read(&mut out);
        assert_eq!(u64::from_ne_bytes(out), 0x0102_0304_0506_0708);
    }

    /// The check of bounds catches it, also where sums are not checked for overflow.
    #[test]
    #[should_panic(expected = "word 18446744073709551612 of 64 bytes")]
    fn a_word_at_the_end_of_all_addresses_is_outside() {
        Region::private(64).u32(usize::MAX - 3).load(Relaxed);
    }

    #[test]
    #[should_panic(expected = "word 18446744073709551608 of 64 bytes")]
    fn a_double_word_at_the_end_of_all_addresses_is_outside() {
        Region::private(64).u64(usize::MAX - 7).load(Relaxed);
    }

    /// A word or a piece outside the region is a panic, not an access, whatever offset a peer's numbers lead to.
    #[test]
    fn nothing_outside_is_reached_by_any_offset() {
        let region = Region::private(256).part(64, 128);
        let panics = |look: &dyn Fn() -> usize| std::panic::catch_unwind(std::panic::AssertUnwindSafe(look)).is_err();
        for (at, inside) in [(0, true), (120, true), (128, false), (usize::MAX - 7, false), (1 << 63, false)] {
            assert_eq!(panics(&|| region.u64(at).load(Relaxed) as usize), !inside, "u64 at {at}");
            assert_eq!(panics(&|| region.u32(at).load(Relaxed) as usize), !inside, "u32 at {at}");
            assert_eq!(panics(&|| region.bytes(at, 8).len()), !inside, "bytes at {at}");
        }
        assert!(!panics(&|| region.u32(124).load(Relaxed) as usize));
        for (at, len) in [(64, 65), (128, 1), (192, 0), (usize::MAX - 63, 64), (64, usize::MAX)] {
            assert!(panics(&|| region.part(at, len).len()), "part {at}+{len}");
            assert!(panics(&|| region.bytes(at, len).len()), "bytes {at}+{len}");
        }
    }
}
