//! The file system of a directory (stat(2)): its identity, its size and its free space (statvfs(3)).
//!
//! Used by `hawser-bench` (reports for people), `mpi::hardware`, `memfd` (a folder for a file without a name, which
//! replaces memory) and `launch` (O_NONBLOCK).

use crate::errno::checked;
pub use libc::O_NONBLOCK;
use std::ffi::{CStr, OsStr};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;

/// Returns the size of the file system that `path` lies on, and its space that is free for every user, both in bytes.
pub fn size_and_free(path: &CStr) -> io::Result<[u64; 2]> {
    // SAFETY: a plain structure, for which zeroes are valid.
    let mut stat: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: a C string and a valid place for the answer.
    checked(unsafe { libc::statvfs(path.as_ptr(), &mut stat) })?;
    Ok([stat.f_blocks, stat.f_bavail].map(|blocks| blocks.saturating_mul(stat.f_frsize)))
}

/// Returns the number of the file system that a directory lies on. It is the same for all processes of this host that
/// see this file system. None if there is no such directory.
pub fn of_directory(path: &OsStr) -> Option<u32> {
    let found = std::fs::metadata(path).ok().filter(Metadata::is_dir)?;
    // 12 bits of the device's number identify its driver and 20 the device (`MKDEV` in the kernel's
    // include/linux/kdev_t.h).
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
