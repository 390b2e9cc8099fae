//! MPI_Status of the standard ABI: 32 bytes, of which five integers are the library's own.

use hawser_abi::CStatus;
use std::ffi::c_int;

/// MPI_Status. The five private integers hold the two halves of the byte count, and whether the operation was
/// cancelled; two are not used.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Status {
    source: c_int,
    tag: c_int,
    error: c_int,
    count_low: u32,
    count_high: u32,
    cancelled: c_int,
    reserved: [c_int; 2],
}

const _: () = assert!(size_of::<Status>() == 32 && align_of::<Status>() == 4);

// SAFETY (all of it): the trait's contract, that `this` may be read or written as the name says; fields are
// reached one by one because the rest may be uninitialised.
#[allow(clippy::undocumented_unsafe_blocks)]
impl CStatus for Status {
    const INTS: usize = 8;

    #[inline(always)]
    unsafe fn set_source(this: *mut Self, source: c_int) {
        unsafe { (&raw mut (*this).source).write(source) }
    }
    #[inline(always)]
    unsafe fn set_tag(this: *mut Self, tag: c_int) {
        unsafe { (&raw mut (*this).tag).write(tag) }
    }
    #[inline(always)]
    unsafe fn set_error(this: *mut Self, error: c_int) {
        unsafe { (&raw mut (*this).error).write(error) }
    }
    #[inline(always)]
    unsafe fn source(this: *const Self) -> c_int {
        unsafe { (&raw const (*this).source).read() }
    }
    #[inline(always)]
    unsafe fn tag(this: *const Self) -> c_int {
        unsafe { (&raw const (*this).tag).read() }
    }
    #[inline(always)]
    unsafe fn error(this: *const Self) -> c_int {
        unsafe { (&raw const (*this).error).read() }
    }
    #[inline(always)]
    unsafe fn set_amount(this: *mut Self, bytes: i64, cancelled: bool) {
        unsafe {
            (&raw mut (*this).count_low).write(bytes as u32);
            (&raw mut (*this).count_high).write((bytes >> 32) as u32);
            (&raw mut (*this).cancelled).write(cancelled.into());
        }
    }
    #[inline(always)]
    unsafe fn bytes(this: *const Self) -> i64 {
        unsafe {
            i64::from((&raw const (*this).count_high).read()) << 32 | i64::from((&raw const (*this).count_low).read())
        }
    }
    #[inline(always)]
    unsafe fn cancelled(this: *const Self) -> bool {
        unsafe { (&raw const (*this).cancelled).read() != 0 }
    }
}
