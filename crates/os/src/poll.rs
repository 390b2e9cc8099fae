//! A check whether a descriptor is ready for reading, writing or other events (poll(2)).
//!
//! It never reads or writes the descriptor's file. Used by `pidfd`, `pipe` and `unix`.

use crate::errno::restarted;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Waits until `fd` has one of `events`, an error or a hang-up, at most `limit_ms`. Returns whether it has.
pub(crate) fn wait_ready(fd: BorrowedFd, events: i16, limit_ms: i32) -> io::Result<bool> {
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
    // SAFETY: one valid pollfd, alive during the call.
    restarted(|| unsafe { libc::poll(&raw mut poll, 1, limit_ms) }).map(|count| count == 1)
}
