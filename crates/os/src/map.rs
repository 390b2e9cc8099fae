//! Mappings of shared memory as regions (mmap(2)).
//!
//! A region is unmapped when its last clone is dropped. If a process shrinks the file under a mapping, touching the
//! mapping is fatal (SIGBUS): the files of Hawser's segments never shrink, because their size is sealed (`memfd`);
//! they only get holes.

use crate::ErrorContext;
use hawser_base::Region;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::Arc;

/// The page size, in bytes. The offset at which a file is mapped must be a multiple of it.
pub const PAGE: usize = 4096;

struct Mapping {
    addr: *mut libc::c_void,
    len: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread; it is only unmapped, once, by its last owner.
unsafe impl Send for Mapping {}
// SAFETY: as above; sharing it gives no access at all.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what mmap gave; no region over it is left, since all regions over it own this value.
        unsafe { libc::munmap(self.addr, self.len) };
    }
}

/// Maps `len` bytes of `fd` from `offset` (a multiple of the page size), shared, readable and writable. The mapping
/// costs only address space before it is touched.
pub fn shared(fd: BorrowedFd, offset: u64, len: usize) -> io::Result<Region> {
    map(libc::MAP_SHARED | libc::MAP_NORESERVE, fd.as_raw_fd(), offset, len)
}

/// Maps zeroed memory of this process alone, aligned to a page; unlike `Region::private` it costs nothing until
/// touched.
pub fn private(len: usize) -> io::Result<Region> {
    map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1, 0, len)
}

fn map(flags: i32, fd: i32, offset: u64, len: usize) -> io::Result<Region> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address that the kernel chooses overlays nothing.
    let addr = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, fd, offset as i64) };
    if addr == libc::MAP_FAILED {
        return Err(io::Error::last_os_error()).context(|| {
            format!("mapping {} MiB of memory (does `ulimit -v` limit the address space?)", len.div_ceil(1 << 20))
        });
    }
    let owner = Arc::new(Mapping { addr, len });
    // SAFETY: mapped for `len` bytes until `owner` drops, aligned to a page, reached only through regions.
    Ok(unsafe { Region::new(addr.cast(), len, owner) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memfd;
    use std::os::fd::AsFd;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn two_mappings_show_the_same_memory() {
        let fd = memfd::create(c"hawser-test", 1 << 30).unwrap();
        let one = shared(fd.as_fd(), 8192, PAGE).unwrap();
        let other = shared(fd.as_fd(), 0, 1 << 30).unwrap();
        drop(fd);
        one.u64(64).store(7, Relaxed);
        assert_eq!(other.u64(8192 + 64).load(Relaxed), 7);
    }

    #[test]
    fn too_much_is_refused_with_a_remedy() {
        let text = private(1 << 50).err().unwrap().to_string();
        assert!(text.contains("ulimit -v"), "{text}");
    }
}
