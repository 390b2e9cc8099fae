//! Which file system a directory lies on (stat(2)); the size of one and what of it is free (statvfs(3)).
//!
//! Before it: `hawser-bench`, for people, `mpi::hardware`, and `memfd`, where a file without a name stands for memory;
//! after it: the kernel.

use crate::errno::checked;
pub use libc::O_NONBLOCK;
use std::ffi::{CStr, OsStr};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;

/// Bytes of the file system that `path` lies on: all, and those that are free for everybody.
pub fn size_and_free(path: &CStr) -> io::Result<[u64; 2]> {
    // SAFETY: a plain structure, for which zeroes are valid.
    let mut stat: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: a C string and a valid place for the answer.
    checked(unsafe { libc::statvfs(path.as_ptr(), &mut stat) })?;
    Ok([stat.f_blocks, stat.f_bavail].map(|blocks| blocks.saturating_mul(stat.f_frsize)))
}

/// The number of the file system that a directory lies on, the same for all processes of this host that see it; none
/// where there is no such directory.
pub fn of_directory(path: &OsStr) -> Option<u32> {
    let found = std::fs::metadata(path).ok().filter(Metadata::is_dir)?;
    // 12 bits of the device's number tell its driver and 20 the device (`MKDEV` in the kernel's include/linux/kdev_t.h).
    Some(libc::major(found.dev()) << 20 | libc::minor(found.dev()))
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

    #[test]
    fn a_directory_lies_on_a_file_system_and_a_file_is_no_directory() {
        let of = |path: &str| of_directory(OsStr::new(path));
        assert!(of("/").is_some() && of("/") == of("/.") && of("/proc").is_some() && of("/proc") != of("/"));
        assert_eq!([of("/nowhere/at/all"), of("/proc/self/stat"), of("")], [None; 3]);
    }
}
