//! The inner loops of packing: many blocks of one length, between the application's memory and packed
//! bytes. Common lengths are compiled as constants, so that a block is a few moves and no call.
//!
//! Nothing is checked here: `pack`, the only caller, has checked the lengths and addresses or vouches for them.

use crate::user::UserPtr;
use hawser_base::copy;

/// The direction in which bytes are copied.
pub(crate) trait CopyDirection {
    /// # Safety
    /// `len` bytes are valid at both addresses for this direction, and do not overlap.
    unsafe fn copy(user: *mut u8, packed: *mut u8, len: usize);
}

/// From the user's layout to packed bytes.
pub(crate) struct PackBlocks;
/// From packed bytes to the user's layout.
pub(crate) struct UnpackBlocks;

impl CopyDirection for PackBlocks {
    #[inline(always)]
    unsafe fn copy(user: *mut u8, packed: *mut u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { copy::whole(packed, user, len) }
    }
}

impl CopyDirection for UnpackBlocks {
    #[inline(always)]
    unsafe fn copy(user: *mut u8, packed: *mut u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { copy::whole(user, packed, len) }
    }
}

/// Calls `$body` with `$len` as a constant for the lengths that scalars and small structs have.
macro_rules! with_constant_len {
    ($len:ident, $body:expr) => {
        with_constant_len!(@ $len, $body, 1 2 3 4 5 6 7 8 10 12 16 20 24 32 40 48 64)
    };
    (@ $len:ident, $body:expr, $($n:literal)*) => {
        match $len {
            $($n => { let $len: usize = $n; $body })*
            _ => $body,
        }
    };
}

/// # Safety
/// `packed` is valid for `count * len` bytes, `user` for each of its blocks at `disp + i * stride`.
pub(crate) unsafe fn strided<D: CopyDirection>(
    user: UserPtr,
    disp: i64,
    packed: *mut u8,
    count: usize,
    len: usize,
    stride: i64,
) {
    with_constant_len!(len, {
        let (mut from, mut to) = (user.at(disp), packed);
        for _ in 0..count {
            // SAFETY: block `i` of the caller's promise; the addresses advance in step with it.
            unsafe { D::copy(from, to, len) };
            from = from.wrapping_offset(stride as isize);
            to = to.wrapping_add(len);
        }
    })
}

/// Does the same as [`strided`], with packed blocks that are `step` bytes apart. It copies one member of many
/// records.
///
/// # Safety
/// `packed` is valid for `count` blocks `step` apart, `user` for each of them at `disp + i * stride`.
pub(crate) unsafe fn members<D: CopyDirection>(
    (user, disp, stride): (UserPtr, i64, i64),
    (packed, step): (*mut u8, usize),
    count: usize,
    len: usize,
) {
    with_constant_len!(len, {
        let (mut from, mut to) = (user.at(disp), packed);
        for _ in 0..count {
            // SAFETY: block `i` of the caller's promise; the addresses advance in step with it.
            unsafe { D::copy(from, to, len) };
            from = from.wrapping_offset(stride as isize);
            to = to.wrapping_add(step);
        }
    })
}

/// # Safety
/// `packed` is valid for `disps.len() * len` bytes, `user` for a block at `disp` plus each of `disps`.
pub(crate) unsafe fn indexed_block<D: CopyDirection>(
    user: UserPtr,
    disp: i64,
    packed: *mut u8,
    disps: &[i64],
    len: usize,
) {
    with_constant_len!(len, {
        let base = user.at(disp);
        let mut to = packed;
        for &at in disps {
            // SAFETY: the block at `at` of the caller's promise.
            unsafe { D::copy(base.wrapping_offset(at as isize), to, len) };
            to = to.wrapping_add(len);
        }
    })
}
