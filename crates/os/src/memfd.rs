//! Memory with a descriptor but no name: nothing to leak, no /dev/shm to overflow (memfd_create(2)).
//!
//! A file may be far larger than memory: pages exist once they are touched.

use crate::During;
use crate::errno::{checked, restarted};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A sparse file of `len` zero bytes in memory. `label` shows in /proc/PID/maps. The file is sealed: nobody who has the
/// descriptor can shrink it under a mapping (SIGBUS) or grow it.
pub fn create(label: &CStr, len: u64) -> io::Result<OwnedFd> {
    let fd = create_unsealed(label, len)?;
    seal(fd.as_fd());
    Ok(fd)
}

/// The same, whose size can be changed and sealed still.
pub fn create_unsealed(label: &CStr, len: u64) -> io::Result<OwnedFd> {
    let doing = || format!("making a shared segment of {len} bytes (memfd_create)");
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: `label` is a C string; the call gives a new descriptor or -1.
    let fd = checked(unsafe { libc::memfd_create(label.as_ptr(), flags) }).during(doing)?;
    // SAFETY: the descriptor is new and nobody else's.
    let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
    // SAFETY: plain numbers. RLIMIT_FSIZE holds for memfds too, hence the text.
    restarted(|| unsafe { libc::ftruncate(fd.as_raw_fd(), len as i64) })
        .during(|| format!("sizing a shared segment to {len} bytes (does `ulimit -f` limit file sizes?)"))?;
    Ok(fd)
}

/// The seals of a file whose size stays, itself sealed (linux/fcntl.h).
const SIZE_SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// A file that cannot be sealed, which is no memfd, stays as it is.
fn seal(fd: BorrowedFd) {
    // SAFETY: a live descriptor and plain numbers.
    unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, SIZE_SEALS) };
}

/// Whether the size of the file behind `fd` is sealed. None: it is of a kind that cannot be sealed.
pub fn is_sealed(fd: BorrowedFd) -> Option<bool> {
    // SAFETY: a live descriptor; the call only asks.
    let seals = checked(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) }).ok()? as i32;
    // A file that was not made for sealing has this one from the start, and can get no other.
    (seals != libc::F_SEAL_SEAL).then_some(seals & SIZE_SEALS == SIZE_SEALS)
}

/// The size of the file behind `fd`.
pub fn len(fd: BorrowedFd) -> io::Result<u64> {
    // SAFETY: stat is plain data, for which zeroes are valid; the call fills it.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a live descriptor and a valid place for the answer.
    checked(unsafe { libc::fstat(fd.as_raw_fd(), &mut stat) })?;
    Ok(stat.st_size as u64)
}

/// Gives the pages of `at .. at + len` back to the system; they read as zeroes afterwards.
pub fn punch_hole(fd: BorrowedFd, at: u64, len: u64) -> io::Result<()> {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: plain numbers; the contents of the range are the caller's to give up.
    restarted(|| unsafe { libc::fallocate(fd.as_raw_fd(), mode, at as i64, len as i64) })
        .map(drop)
        .during(|| format!("freeing {len} bytes of a shared segment"))
}

/// Makes sure that the pages of `at .. at + len` exist, so that touching them cannot end in SIGBUS.
pub fn allocate(fd: BorrowedFd, at: u64, len: u64) -> io::Result<()> {
    // SAFETY: plain numbers; existing contents stay.
    restarted(|| unsafe { libc::fallocate(fd.as_raw_fd(), 0, at as i64, len as i64) })
        .map(drop)
        .during(|| format!("reserving {len} bytes of shared memory"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map;

    #[test]
    fn a_punched_hole_reads_as_zeroes() {
        let fd = create(c"hawser-test", 1 << 40).unwrap();
        assert_eq!(len(fd.as_fd()).unwrap(), 1 << 40);
        let region = map::shared(fd.as_fd(), 1 << 39, 8192).unwrap();
        region.bytes(4096, 4).write(b"rope");
        allocate(fd.as_fd(), 1 << 39, 4096).unwrap();
        punch_hole(fd.as_fd(), (1 << 39) + 4096, 4096).unwrap();
        let mut out = [1; 4];
        region.bytes(4096, 4).read(&mut out);
        assert_eq!(out, [0; 4]);
    }

    #[test]
    fn a_segments_size_is_sealed_and_other_files_are_told_apart() {
        let fd = create(c"hawser-test", 1 << 20).unwrap();
        assert_eq!(is_sealed(fd.as_fd()), Some(true));
        let file = std::fs::File::from(fd);
        assert!(file.set_len(1 << 19).is_err() && file.set_len(1 << 21).is_err());
        let open = create_unsealed(c"hawser-test", 1 << 20).unwrap();
        assert_eq!(is_sealed(open.as_fd()), Some(false));
        let plain = std::fs::File::open("/proc/self/exe").unwrap();
        assert_eq!(is_sealed(plain.as_fd()), None);
    }
}
