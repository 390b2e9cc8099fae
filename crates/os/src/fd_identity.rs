//! The identity of the file behind a descriptor of the library (fstat(2)). A program may close a descriptor that it
//! did not open, and the kernel then gives its number to the next file that is opened.
//!
//! This module never touches such a later file. The kernel gives a new file the lowest free number; therefore the
//! library's descriptors are moved to high numbers, which the next files of such a program do not get. The identity
//! is the file's device and inode. Every socket has an inode of its own, whereas all epoll sets, eventfds and
//! timerfds share one: an epoll set cannot be distinguished from other such files.

use crate::errno::checked;
use crate::limits::{self, Resource};
use std::io;
use std::mem::{ManuallyDrop, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// The identity of the file that was behind a descriptor when this value was made. The descriptor itself belongs to
/// its owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FdIdentity {
    fd: i32,
    file_id: (u64, u64),
}

impl FdIdentity {
    pub fn of_fd(fd: BorrowedFd) -> io::Result<FdIdentity> {
        let fd = fd.as_raw_fd();
        Ok(FdIdentity { fd, file_id: file_id(fd)? })
    }

    /// Returns whether the descriptor still stands for the same file.
    pub fn is_unchanged(&self) -> bool {
        file_id(self.fd).is_ok_and(|file| file == self.file_id)
    }
}

/// A descriptor that is closed when this value is dropped, except if the program has closed it before: its number may
/// then belong to another file. A caller that would change the file (write to it, for example) must use `live`.
pub struct CheckedFd {
    fd: ManuallyDrop<OwnedFd>,
    identity: Option<FdIdentity>,
}

impl CheckedFd {
    pub fn new(fd: OwnedFd) -> CheckedFd {
        CheckedFd { identity: FdIdentity::of_fd(fd.as_fd()).ok(), fd: ManuallyDrop::new(fd) }
    }

    /// Returns whether the descriptor still stands for the same file.
    pub fn is_unchanged(&self) -> bool {
        self.identity.is_none_or(|held| held.is_unchanged())
    }

    /// Returns the descriptor, or an error if it no longer stands for the same file.
    pub fn live(&self) -> io::Result<BorrowedFd<'_>> {
        if self.is_unchanged() { Ok(self.fd.as_fd()) } else { Err(closed_error()) }
    }
}

#[cold]
fn closed_error() -> io::Error {
    io::Error::other("the program has closed its descriptor")
}

/// Passes the descriptor on: the receiver must close it from now on.
impl From<CheckedFd> for OwnedFd {
    fn from(owned: CheckedFd) -> OwnedFd {
        let mut owned = ManuallyDrop::new(owned);
        // SAFETY: the descriptor is taken once, here: the value from which it is taken is not dropped.
        unsafe { ManuallyDrop::take(&mut owned.fd) }
    }
}

impl AsRawFd for CheckedFd {
    #[inline]
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl AsFd for CheckedFd {
    #[inline]
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for CheckedFd {
    fn drop(&mut self) {
        if self.is_unchanged() {
            // SAFETY: the descriptor is dropped once, here.
            unsafe { ManuallyDrop::drop(&mut self.fd) };
        }
    }
}

/// The lowest number to which descriptors are moved, unless half the limit on descriptors is lower. It is below
/// FD_SETSIZE, which bounds select(2), and above the numbers that most programs have open.
const HIGH_FDS_FROM: u64 = 512;

/// Moves a file to a descriptor with a high number. A descriptor that is high already, or for which no high number is
/// free, is returned as it is.
pub(crate) fn dup_high(fd: OwnedFd) -> OwnedFd {
    let from = (limits::get(Resource::Descriptors).soft / 2).min(HIGH_FDS_FROM) as i32;
    if fd.as_raw_fd() >= from {
        return fd;
    }
    // SAFETY: a live descriptor and a plain number; gives a new descriptor or -1.
    match checked(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, from) }) {
        // SAFETY: the descriptor is new and nobody else's.
        Ok(moved) => unsafe { OwnedFd::from_raw_fd(moved as i32) },
        Err(_) => fd,
    }
}

/// Returns the device and the inode of the file behind a descriptor.
fn file_id(fd: i32) -> io::Result<(u64, u64)> {
    // SAFETY: stat is plain data, for which zeroes are valid; the call fills it.
    let mut stat: libc::stat = unsafe { zeroed() };
    // SAFETY: a valid place for the result; a number that is no descriptor is an error.
    checked(unsafe { libc::fstat(fd, &mut stat) })?;
    Ok((stat.st_dev, stat.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sockopt;

    #[test]
    fn ours_do_not_get_the_numbers_that_the_next_file_gets() {
        let limit = limits::get(Resource::Descriptors).soft;
        let ours = sockopt::socket(libc::AF_UNIX, libc::SOCK_DGRAM, 0).unwrap();
        assert!(ours.as_raw_fd() as u64 >= (limit / 2).min(HIGH_FDS_FROM), "{ours:?} of {limit}");
    }

    #[test]
    fn a_descriptor_that_was_closed_is_not_there_and_one_that_took_its_number_neither() {
        let ours = sockopt::socket(libc::AF_UNIX, libc::SOCK_DGRAM, 0).unwrap();
        let identity = FdIdentity::of_fd(ours.as_fd()).unwrap();
        assert!(identity.is_unchanged());
        let other = sockopt::socket(libc::AF_UNIX, libc::SOCK_DGRAM, 0).unwrap();
        // SAFETY: both are ours; the number of the first one stands for the second socket from now on.
        checked(unsafe { libc::dup2(other.as_raw_fd(), ours.as_raw_fd()) }).unwrap();
        assert!(!identity.is_unchanged());
        drop(ours);
        assert!(!identity.is_unchanged());
        // A descriptor that the program has closed must not be closed again.
        let ours = CheckedFd::new(other);
        assert!(ours.live().is_ok());
        let number = ours.as_raw_fd();
        let theirs = sockopt::socket(libc::AF_UNIX, libc::SOCK_DGRAM, 0).unwrap();
        // SAFETY: as above.
        checked(unsafe { libc::dup2(theirs.as_raw_fd(), number) }).unwrap();
        assert_eq!(ours.live().unwrap_err().to_string(), "the program has closed its descriptor");
        drop(ours);
        // SAFETY: the number stands for a file that nobody else closes.
        let theirs = unsafe { OwnedFd::from_raw_fd(number) };
        assert!(FdIdentity::of_fd(theirs.as_fd()).is_ok());
    }
}
