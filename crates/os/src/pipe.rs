//! Pipes, and reading and writing descriptors that other programs may share with us.
//!
//! It never sets O_NONBLOCK on a descriptor that was inherited: the flag is shared with the process that passed it on.

use crate::ErrorContext;
use crate::errno::{checked, restarted};
use crate::poll::wait_ready;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Makes a pipe: the end to read and the end to write, both closed on exec.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    checked(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }).context(|| "making a pipe".into())?;
    // SAFETY: both are new and nobody else's.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// Makes reads and writes of `fd`, which must be our own, return at once.
pub fn set_nonblocking(fd: BorrowedFd) -> io::Result<()> {
    // SAFETY: flags of a live descriptor.
    let flags = checked(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    // SAFETY: as above.
    checked(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags as i32 | libc::O_NONBLOCK) }).map(drop)
}

/// Reads bytes, at most the length of `to`. Returns how many, 0 at the end of the stream.
pub fn read(fd: BorrowedFd, to: &mut [u8]) -> io::Result<usize> {
    // SAFETY: `to` is valid for writes of its length.
    restarted(|| unsafe { libc::read(fd.as_raw_fd(), to.as_mut_ptr().cast(), to.len()) as i64 }).map(|n| n as usize)
}

/// Writes the first bytes of `from`, as many as the file takes in one call. Returns how many.
pub fn write(fd: BorrowedFd, from: &[u8]) -> io::Result<usize> {
    // SAFETY: `from` is valid for reads of its length.
    restarted(|| unsafe { libc::write(fd.as_raw_fd(), from.as_ptr().cast(), from.len()) as i64 }).map(|n| n as usize)
}

/// Waits until a pipe takes more bytes, at most `limit_ms`. Returns whether a write would return at once; to a pipe
/// without a reader it would return at once with an error.
pub fn wait_writable(pipe: BorrowedFd, limit_ms: i32) -> io::Result<bool> {
    wait_ready(pipe, libc::POLLOUT, limit_ms)
}

/// Returns a duplicate that is closed on exec.
pub fn duplicate(fd: BorrowedFd) -> io::Result<OwnedFd> {
    fd.try_clone_to_owned()
}

/// Returns whether `fd` is a regular file (always ready, and unknown to epoll).
pub fn is_regular_file(fd: BorrowedFd) -> bool {
    // SAFETY: stat is plain data, for which zeroes are valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a live descriptor and a valid place for the answer.
    let result = unsafe { libc::fstat(fd.as_raw_fd(), &mut stat) };
    result == 0 && stat.st_mode & libc::S_IFMT == libc::S_IFREG
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn what_goes_in_comes_out_and_then_the_end() {
        let (reader, writer) = pipe().unwrap();
        set_nonblocking(reader.as_fd()).unwrap();
        let mut out = [0; 8];
        assert_eq!(read(reader.as_fd(), &mut out).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(write(writer.as_fd(), b"ahoy").unwrap(), 4);
        assert_eq!(read(reader.as_fd(), &mut out).unwrap(), 4);
        drop(writer);
        assert_eq!(read(reader.as_fd(), &mut out).unwrap(), 0);
    }
}
