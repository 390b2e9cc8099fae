//! MPI_Status of the MPICH ABI: five integers. The byte count has 63 bits, of which the upper 31 are stored one bit
//! higher in `count_hi_and_cancelled`; the lowest bit of that field is set if the operation was cancelled.

use hawser_abi::CStatus;
use std::ffi::c_int;

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Status {
    count_lo: u32,
    count_hi_and_cancelled: u32,
    source: c_int,
    tag: c_int,
    error: c_int,
}

const _: () = assert!(size_of::<Status>() == 20 && align_of::<Status>() == 4);

// SAFETY (all of it): the trait's contract, that `this` may be read or written as the name says; fields are
// reached one by one because the rest may be uninitialised.
#[allow(clippy::undocumented_unsafe_blocks)]
impl CStatus for Status {
    const INTS: usize = 5;

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
            (&raw mut (*this).count_lo).write(bytes as u32);
            (&raw mut (*this).count_hi_and_cancelled).write((bytes >> 32 << 1) as u32 | u32::from(cancelled));
        }
    }
    #[inline(always)]
    unsafe fn bytes(this: *const Self) -> i64 {
        unsafe {
            let high = (&raw const (*this).count_hi_and_cancelled).read() >> 1;
            i64::from(high) << 32 | i64::from((&raw const (*this).count_lo).read())
        }
    }
    #[inline(always)]
    unsafe fn cancelled(this: *const Self) -> bool {
        unsafe { (&raw const (*this).count_hi_and_cancelled).read() & 1 == 1 }
    }
}
