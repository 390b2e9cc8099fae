//! Copies a message from one buffer and type to another buffer and type of this process: a message to oneself, and the
//! local parts of collectives.
//!
//! If one side is one run, the other side is packed or unpacked straight from it; otherwise bytes pass through a
//! buffer that stays in the first-level cache. Truncation is only reported: `mpi` raises it.

use crate::datatype::Datatype;
use crate::user::UserPtr;
use hawser_base::{SharedMem, UserMem};

/// Half of a usual first-level cache's ways stay free for the two users' sides.
const CHUNK_BYTES: usize = 8 << 10;

/// The bytes that a copy moved, and whether the source had more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyOutcome {
    pub bytes: u64,
    pub truncated: bool,
}

/// One side of a copy: `count` elements of a type at an address.
pub type TypedBuffer<'a> = (UserPtr<'a>, u64, &'a Datatype);

/// Copies as many bytes as both sides have. The two must not overlap, unless both are one run.
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

/// The first `bytes` of a side that is one run.
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
