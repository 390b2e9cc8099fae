//! Copies a message from one buffer and type to another buffer and type of this process, for the local copies of
//! collectives.
//!
//! If the data of one side are contiguous, the other side is packed into them or unpacked from them directly;
//! otherwise the bytes pass, piece by piece, through an intermediate buffer that stays in the first-level cache.
//! Truncation is only reported. Used by `p2p`, where both sides have the same number of bytes.

use crate::datatype::Datatype;
use crate::user::UserPtr;
use hawser_base::{SharedMem, UserMem};

/// The length of the intermediate buffer in bytes. It leaves at least half of a usual first-level cache to source and
/// target.
const CHUNK_BYTES: usize = 8 << 10;

/// The bytes that a copy moved, and whether the source had more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyOutcome {
    pub bytes: u64,
    pub truncated: bool,
}

/// One side of a copy: `count` elements of a type at an address.
pub type TypedBuffer<'a> = (UserPtr<'a>, u64, &'a Datatype);

/// Copies the bytes that the source has and the target can take. The two must not overlap, except if both are
/// contiguous.
pub fn copy_typed(source: TypedBuffer<'_>, target: TypedBuffer<'_>) -> CopyOutcome {
    let (available, capacity) = (source.2.packed_size(source.1), target.2.packed_size(target.1));
    let bytes = available.min(capacity);
    match (contiguous_part(source, bytes), contiguous_part(target, bytes)) {
        (Some(from), Some(to)) => to.copy_from(from),
        (Some(from), None) => drop(target.2.unpack(target.0, target.1, 0, from)),
        (None, Some(to)) => drop(source.2.pack(source.0, source.1, 0, to)),
        (None, None) => copy_chunks(source, target, bytes),
    }
    CopyOutcome { bytes, truncated: available > capacity }
}

/// Returns the first `bytes` of one side; None if the side is not contiguous.
fn contiguous_part((user, count, datatype): TypedBuffer<'_>, bytes: u64) -> Option<UserMem<'_>> {
    let (disp, len) = datatype.is_contiguous(count)?;
    debug_assert!(bytes <= len);
    // SAFETY: the run of this very type and count, which the maker of `user` vouched for.
    Some(unsafe { user.view(disp, bytes as usize) })
}

fn copy_chunks(source: TypedBuffer<'_>, target: TypedBuffer<'_>, bytes: u64) {
    let mut chunk = std::mem::MaybeUninit::<[u8; CHUNK_BYTES]>::uninit();
    // SAFETY: the chunk lives on this frame, is reached through this view alone and is written by `pack`
    // before `unpack` reads the same bytes.
    let chunk = unsafe { SharedMem::new(chunk.as_mut_ptr().cast(), CHUNK_BYTES) };
    let mut at = 0;
    while at < bytes {
        let part = chunk.slice(0, (bytes - at).min(CHUNK_BYTES as u64) as usize);
        source.2.pack(source.0, source.1, at, part);
        target.2.unpack(target.0, target.1, at, part);
        at += part.len() as u64;
    }
}
