//! A stable reference to a process (pidfd_open(2)). A process's number is no such reference, because the kernel
//! reuses numbers.

use crate::ErrorContext;
use crate::errno::checked;
use crate::poll::wait_ready;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Returns a descriptor of process `pid` that becomes readable when it has ended.
pub fn open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain numbers; the call gives a new descriptor or -1.
    let fd = checked(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })
        .context(|| format!("opening process {pid} (pidfd_open)"))?;
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Returns whether the process has ended.
pub fn has_ended(fd: BorrowedFd) -> bool {
    wait_ready(fd, libc::POLLIN, 0).unwrap_or(false)
}

/// Sends `signal` to the process.
pub fn signal(fd: BorrowedFd, signal: i32) -> io::Result<()> {
    let none = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: a live descriptor, a number, no siginfo, no flags.
    checked(unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd.as_raw_fd(), signal, none, 0) }).map(drop)
}

/// linux/pidfd.h (since Linux 6.13, the exit code since 6.15): `struct pidfd_info`, first version.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroupid: u64,
    ids: [u32; 11],
    exit_code: i32,
}

const _: () = assert!(size_of::<PidfdInfo>() == 64);

const INFO_EXIT: u64 = 1 << 3;
/// _IOWR(0xFF, 11, struct pidfd_info): direction 3, size, type 0xFF, number 11.
const GET_INFO: u64 = (3 << 30) | ((size_of::<PidfdInfo>() as u64) << 16) | (0xFF << 8) | 11;

/// Returns the wait status of a process that has ended and been reaped by its parent, if the kernel reports it.
pub fn exit_status(fd: BorrowedFd) -> Option<i32> {
    let mut info = PidfdInfo { mask: INFO_EXIT, ..PidfdInfo::default() };
    // SAFETY: the size of `info` is part of the request's number, so the kernel writes no more than that.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), GET_INFO as _, &mut info) };
    (result == 0 && info.mask & INFO_EXIT != 0).then_some(info.exit_code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::process::Command;

    #[test]
    fn a_process_is_seen_to_end() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let fd = open(child.id() as i32).unwrap();
        assert!(!has_ended(fd.as_fd()));
        signal(fd.as_fd(), libc::SIGKILL).unwrap();
        child.wait().unwrap();
        assert!(has_ended(fd.as_fd()));
        assert!(signal(fd.as_fd(), libc::SIGKILL).is_err());
        if let Some(status) = exit_status(fd.as_fd()) {
            assert_eq!(status & 0x7f, libc::SIGKILL);
        }
    }
}
