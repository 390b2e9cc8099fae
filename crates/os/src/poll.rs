//! A check whether a descriptor is ready for reading, writing or other events (poll(2)).
//!
//! It never reads or writes the descriptor's file. Used by `inherited`, `pidfd`, `pipe` and `unix`.

use crate::clock;
use crate::errno::checked;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Waits until `fd` has one of `events`, an error or a hang-up, at most `limit_ms` (without limit if that is less than
/// 0). Returns whether it has.
pub(crate) fn wait_ready(fd: BorrowedFd, events: i16, limit_ms: i32) -> io::Result<bool> {
    let deadline_ns = clock::now_ns() + limit_ms.max(0) as u64 * 1_000_000;
    let (mut poll, mut left_ms) = (libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 }, limit_ms);
    loop {
        // SAFETY: one valid pollfd, alive during the call.
        match checked(unsafe { libc::poll(&raw mut poll, 1, left_ms) }) {
            Err(error) if error.kind() == ErrorKind::Interrupted && limit_ms < 0 => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {
                left_ms = deadline_ns.saturating_sub(clock::now_ns()).div_ceil(1_000_000) as i32;
            }
            result => return result.map(|count| count == 1),
        }
    }
}
