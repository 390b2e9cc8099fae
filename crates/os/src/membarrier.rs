//! A memory barrier on all cores that run processes of the job, paid by the caller (membarrier(2)).
//!
//! With it the waker of a doorbell needs no fence of its own: the sleeper, who has time, runs the barrier on the
//! waker's core (`job::doorbell`). Works between processes that have all registered.

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

/// Returns whether the kernel supports it here; false under some sandboxes.
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
