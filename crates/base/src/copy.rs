//! Copies between private memory and shared memory, and within either.
//!
//! No function reads or writes outside the ranges that it is given. Short copies go by size class, without a call. Long
//! copies use a loop of our own, except `by_string` and what `prefer_library` allows: the C library's `rep movsb` falls
//! to a quarter of its speed and less if one side begins at a page boundary and the other 16 bytes behind one, as every
//! large malloc does (measured on Zen 3, docs/measurements/2026-11-29-memcpy.md). Uses no other module.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The length, in bytes, from which `by_string` uses the string instruction, whose start takes as long as a few hundred
/// bytes. From here on it was never slower (docs/measurements/2026-11-28-string-copies.md).
#[cfg(target_arch = "x86_64")]
const STRING_FROM: usize = 4 << 10;

/// The lengths, in bytes, from which and below which `whole` uses registers. The C library takes `rep movsb` from 2 to
/// 4 KiB on (x86_rep_movsb_threshold of glibc), and streaming stores when a copy takes most of the last cache.
const REGISTERS_FROM: usize = 2 << 10;
const REGISTERS_BELOW: usize = 16 << 20;

/// Whether `whole` leaves all lengths to the C library. No other data depends on it.
static IS_LIBRARY_PREFERRED: AtomicBool = AtomicBool::new(false);

/// Lets `whole` leave all lengths to the C library, where the string instruction measured faster than registers
/// (`os::copy_timing`).
pub fn prefer_library(yes: bool) {
    IS_LIBRARY_PREFERRED.store(yes, Relaxed);
}

/// Sixteen bytes that are moved in one register.
#[cfg(target_arch = "x86_64")]
type Wide = std::arch::x86_64::__m128i;
#[cfg(not(target_arch = "x86_64"))]
type Wide = u128;

/// Copies at most 64 bytes, by two (from 32 bytes on, four) loads and stores of the largest size class that fits.
/// They may overlap.
///
/// # Safety
/// `from` is valid for reading `len` bytes, `to` for writing them, and they do not overlap.
#[inline(always)]
pub unsafe fn short(to: *mut u8, from: *const u8, len: usize) {
    debug_assert!(len <= 64);
    macro_rules! pair {
        ($class:ty) => {{
            let last = len - size_of::<$class>();
            // SAFETY: both pieces lie within `len` bytes, as the caller ensures.
            unsafe {
                let front = from.cast::<$class>().read_unaligned();
                let back = from.add(last).cast::<$class>().read_unaligned();
                to.cast::<$class>().write_unaligned(front);
                to.add(last).cast::<$class>().write_unaligned(back);
            }
        }};
    }
    match len {
        32.. => {
            let last = len - 16;
            // SAFETY: all four pieces lie within `len` bytes, as the caller ensures.
            unsafe {
                let front = (from.cast::<Wide>().read_unaligned(), from.add(16).cast::<Wide>().read_unaligned());
                let back = (
                    from.add(last - 16).cast::<Wide>().read_unaligned(),
                    from.add(last).cast::<Wide>().read_unaligned(),
                );
                to.cast::<Wide>().write_unaligned(front.0);
                to.add(16).cast::<Wide>().write_unaligned(front.1);
                to.add(last - 16).cast::<Wide>().write_unaligned(back.0);
                to.add(last).cast::<Wide>().write_unaligned(back.1);
            }
        }
        16.. => pair!(Wide),
        8.. => pair!(u64),
        4.. => pair!(u32),
        2.. => pair!(u16),
        // SAFETY: one byte, as the caller ensures.
        1 => unsafe { *to = *from },
        0 => {}
    }
}

/// Copies a length that is known at compile time.
///
/// # Safety
/// As `short`, for `LEN` bytes.
#[inline(always)]
pub unsafe fn exactly<const LEN: usize>(to: *mut u8, from: *const u8) {
    // SAFETY: the caller ensures it.
    unsafe { std::ptr::copy_nonoverlapping(from, to, LEN) }
}

/// Prefetches the cache line at `at`, without waiting for it. Any address is allowed: nothing is read.
#[inline(always)]
pub fn fetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect but on caches, and never fails.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Copies any length.
///
/// # Safety
/// As `short`.
#[inline]
pub unsafe fn long(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller ensures the ranges, and `is_x86_feature_detected` the instructions.
    unsafe {
        if len <= 64 {
            return short(to, from, len);
        }
        #[cfg(target_arch = "x86_64")]
        if len >= 512 && std::arch::is_x86_feature_detected!("avx512f") {
            return avx512(to, from, len);
        }
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx") {
            return avx(to, from, len);
        }
        std::ptr::copy_nonoverlapping(from, to, len);
    }
}

/// Copies any length between memory of the application, shared memory that is not a chunk of `dev-shm`, and memory of
/// the library.
///
/// # Safety
/// As `short`.
#[inline]
pub unsafe fn whole(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller ensures the ranges.
    unsafe {
        match (REGISTERS_FROM..REGISTERS_BELOW).contains(&len) && !IS_LIBRARY_PREFERRED.load(Relaxed) {
            true => long(to, from, len),
            false => std::ptr::copy_nonoverlapping(from, to, len),
        }
    }
}

/// Copies any length between ranges that may overlap.
///
/// # Safety
/// `from` is valid for reading `len` bytes, `to` for writing them.
#[inline]
pub unsafe fn overlapping(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller ensures the ranges; `whole` gets those that do not overlap.
    unsafe {
        match to.addr().abs_diff(from.addr()) >= len {
            true => whole(to, from, len),
            false => std::ptr::copy(from, to, len),
        }
    }
}

/// Returns whether this processor has a fast instruction that copies a string of bytes (ERMS, CPUID leaf 7).
pub fn has_string_copies() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("ermsb");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Copies any length, on x86-64 from `STRING_FROM` on by the string instruction, which every processor has. For memory
/// that another core has in its cache: a processor that does this fast writes whole lines without reading them first.
/// Whether this is faster depends on the processor; `os::copy_timing` measures it.
/// (docs/measurements/2026-11-28-string-copies.md)
///
/// # Safety
/// As `short`.
pub unsafe fn by_string(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller ensures the ranges. The direction flag is clear in every function (System V ABI, 3.2.1).
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if len >= STRING_FROM {
            std::arch::asm!(
                "rep movsb",
                inout("rcx") len => _,
                inout("rdi") to => _,
                inout("rsi") from => _,
                options(nostack, preserves_flags),
            );
            return;
        }
        long(to, from, len);
    }
}

/// Copies any length past the caches if the processor can. The data are visible before any later store, as with
/// `long`.
///
/// # Safety
/// As `short`.
pub unsafe fn past_caches(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller ensures the ranges, and `is_x86_feature_detected` the instructions.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx") {
            return stream(to, from, len);
        }
        long(to, from, len);
    }
}

/// Copies whole cache lines by streaming stores, and the partial first and last ones by ordinary stores: never both
/// in one line.
///
/// # Safety
/// As `short`, on a processor with AVX.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn stream(mut to: *mut u8, mut from: *const u8, mut len: usize) {
    use std::arch::x86_64::{_mm_sfence, _mm256_loadu_si256 as load, _mm256_stream_si256 as stream};
    // SAFETY: all offsets lie within `len` bytes. `to` is aligned to 64 in the loop.
    unsafe {
        let skipped = (to.addr().wrapping_neg() & 63).min(len);
        short(to, from, skipped);
        (to, from, len) = (to.add(skipped), from.add(skipped), len - skipped);
        while len >= 64 {
            let halves = (load(from.cast()), load(from.add(32).cast()));
            stream(to.cast(), halves.0);
            stream(to.add(32).cast(), halves.1);
            (to, from, len) = (to.add(64), from.add(64), len - 64);
        }
        short(to, from, len);
        // The fence orders the streaming stores before the store that publishes the packet; nothing else does.
        _mm_sfence();
    }
}

/// Copies more than 64 bytes, a whole cache line per store. Lines are read in order, without prefetch: reading the
/// last line first and prefetching 512 bytes ahead cost 10 to 15 % if the source lies in a far peer's cache.
///
/// # Safety
/// As `short`, with `len` above 64, on a processor with AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512(mut to: *mut u8, mut from: *const u8, mut len: usize) {
    use std::arch::x86_64::{_mm512_loadu_si512 as load, _mm512_storeu_si512 as store};
    // SAFETY: all offsets lie within `len` bytes.
    unsafe {
        let end = (to.add(len - 64), from.add(len - 64));
        store(to.cast(), load(from.cast()));
        let skipped = 64 - skew(to, from);
        (to, from, len) = (to.add(skipped), from.add(skipped), len - skipped);
        while len >= 256 {
            let lines = [0, 64, 128, 192].map(|at| load(from.add(at).cast()));
            for (i, line) in lines.into_iter().enumerate() {
                store(to.add(64 * i).cast(), line);
            }
            (to, from, len) = (to.add(256), from.add(256), len - 256);
        }
        while len > 64 {
            store(to.cast(), load(from.cast()));
            (to, from, len) = (to.add(64), from.add(64), len - 64);
        }
        store(end.0.cast(), load(end.1.cast()));
    }
}

/// Copies more than 64 bytes, 128 per iteration, in the order of `avx512`.
///
/// # Safety
/// As `short`, with `len` above 64, on a processor with AVX.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn avx(mut to: *mut u8, mut from: *const u8, mut len: usize) {
    use std::arch::x86_64::{_mm256_loadu_si256 as load, _mm256_storeu_si256 as store};
    // SAFETY: all offsets lie within `len` bytes.
    unsafe {
        let end = (to.add(len - 64), from.add(len - 64));
        store(to.cast(), load(from.cast()));
        let skipped = 32 - skew(to, from) % 32;
        (to, from, len) = (to.add(skipped), from.add(skipped), len - skipped);
        while len >= 128 {
            let lanes = [0, 32, 64, 96].map(|at| load(from.add(at).cast()));
            for (i, lane) in lanes.into_iter().enumerate() {
                store(to.add(32 * i).cast(), lane);
            }
            (to, from, len) = (to.add(128), from.add(128), len - 128);
        }
        while len > 64 {
            store(to.cast(), load(from.cast()));
            (to, from, len) = (to.add(32), from.add(32), len - 32);
        }
        store(end.0.cast(), load(end.1.cast()));
        store(end.0.add(32).cast(), load(end.1.add(32).cast()));
    }
}

/// Returns the offset, within its cache line, of the side of the copy that is best kept aligned. That is the chunk,
/// which begins at a cache line: `from` if it is aligned, otherwise `to`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn skew(to: *mut u8, from: *const u8) -> usize {
    if from.addr().is_multiple_of(64) { 0 } else { to.addr() & 63 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies `len` bytes from and to places of every kind of alignment.
    fn check(copy: unsafe fn(*mut u8, *const u8, usize), len: usize) {
        let from: Vec<u8> = (0..5200).map(|i| (i * 7 % 251) as u8).collect();
        for (at, skew) in [(0, 0), (1, 0), (0, 1), (31, 17), (16, 48), (63, 64)] {
            let mut to = vec![0xee; 5200];
            // SAFETY: both vectors hold `len` bytes from there on.
            unsafe { copy(to.as_mut_ptr().add(at), from.as_ptr().add(skew), len) };
            assert_eq!(to[at..at + len], from[skew..skew + len], "{len} {at} {skew}");
            assert!(to[..at].iter().chain(&to[at + len..]).all(|&b| b == 0xee), "{len} {at} {skew}");
        }
    }

    fn lengths() -> impl Iterator<Item = usize> {
        (0..400).chain([511, 512, 1000, 1024, 4095, 4096, 5000])
    }

    #[test]
    fn every_length_and_alignment_is_copied_exactly() {
        for len in lengths() {
            check(long, len);
            check(past_caches, len);
            check(by_string, len);
            check(whole, len);
            check(overlapping, len);
        }
    }

    #[test]
    fn ranges_that_overlap_are_moved_in_either_direction() {
        let original: Vec<u8> = (0..5000).map(|i| (i * 7 % 251) as u8).collect();
        for len in [1, 100, 2048, 4000] {
            for (to, from) in [(0, 1), (1, 0), (0, 900), (900, 0), (7, 7)] {
                let mut bytes = original.clone();
                let at = bytes.as_mut_ptr();
                // SAFETY: both ranges lie within the vector.
                unsafe { overlapping(at.add(to), at.add(from), len) };
                assert_eq!(bytes[to..to + len], original[from..from + len], "{len} {to} {from}");
            }
        }
    }

    /// `long` takes the widest registers that the processor has.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn narrower_registers_copy_exactly_too() {
        if std::arch::is_x86_feature_detected!("avx") {
            lengths().filter(|&len| len > 64).for_each(|len| check(avx, len));
        }
    }
}
