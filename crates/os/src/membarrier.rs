//! A memory barrier on all cores that run processes of the job, for which only the caller pays (membarrier(2)).
//!
//! By this barrier the waker of a doorbell needs no fence: the sleeper, who has time, runs the barrier on the waker's
//! core (`job::doorbell`). It works between processes that have all called `register`.

use crate::errno::checked;
use std::io;

/// linux/membarrier.h; `libc` has no names for these on every target.
const CMD_QUERY: i32 = 0;
const CMD_GLOBAL_EXPEDITED: i32 = 1 << 1;
const CMD_REGISTER_GLOBAL_EXPEDITED: i32 = 1 << 2;

fn membarrier(command: i32) -> io::Result<i64> {
    // SAFETY: membarrier takes two plain numbers and touches no memory of ours.
    checked(unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) })
}

/// Returns whether this process may use the barrier: the kernel must have it, and some sandboxes forbid it.
pub fn is_supported() -> bool {
    let wanted = i64::from(CMD_GLOBAL_EXPEDITED | CMD_REGISTER_GLOBAL_EXPEDITED);
    membarrier(CMD_QUERY).is_ok_and(|commands| commands & wanted == wanted)
}

/// Registers this process, so that the barriers of others reach its running threads.
pub fn register() -> io::Result<()> {
    membarrier(CMD_REGISTER_GLOBAL_EXPEDITED).map(drop)
}

/// Runs a full barrier on every core that runs a thread of a registered process.
pub fn barrier() -> io::Result<()> {
    membarrier(CMD_GLOBAL_EXPEDITED).map(drop)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_registered_process_can_ask_for_barriers() {
        if super::is_supported() {
            super::register().unwrap();
            super::barrier().unwrap();
        }
    }
}
