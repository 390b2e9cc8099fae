//! Terminals: whether a descriptor is one, and whether this process may read from it.

use std::os::fd::{AsRawFd, BorrowedFd};

/// Returns whether reading `fd` now would stop this process: it is a terminal, and the terminal's foreground is
/// another process group (as after `mpiexec … &`).
pub fn belongs_to_others(fd: BorrowedFd) -> bool {
    // SAFETY: questions about a live descriptor and this process.
    unsafe { libc::isatty(fd.as_raw_fd()) == 1 && libc::tcgetpgrp(fd.as_raw_fd()) != libc::getpgrp() }
}

/// Returns whether `fd` is a terminal.
pub fn is_terminal(fd: BorrowedFd) -> bool {
    // SAFETY: a question about a live descriptor.
    unsafe { libc::isatty(fd.as_raw_fd()) == 1 }
}
