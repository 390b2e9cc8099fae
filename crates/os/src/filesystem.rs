//! The size of a file system and what of it is free (statvfs(3)).
//!
//! Before it: `hawser-bench`, for people, and `memfd`, where a file without a name stands for memory; after it: the
//! kernel.

use crate::errno::checked;
use std::ffi::CStr;
use std::io;

/// Bytes of the file system that `path` lies on: all, and those that are free for everybody.
pub fn size_and_free(path: &CStr) -> io::Result<[u64; 2]> {
    // SAFETY: a plain structure, for which zeroes are valid.
    let mut stat: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: a C string and a valid place for the answer.
    checked(unsafe { libc::statvfs(path.as_ptr(), &mut stat) })?;
    Ok([stat.f_blocks, stat.f_bavail].map(|blocks| blocks.saturating_mul(stat.f_frsize)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_is_part_of_all() {
        let [size, free] = size_and_free(c"/").unwrap();
        assert!(size > 0 && free <= size);
        assert!(size_and_free(c"/nowhere/at/all").is_err());
    }
}
