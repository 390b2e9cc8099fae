//! Small facts about this host and this process, and giving the core away.

use crate::errno::restarted;
use std::io;

/// The host's name, for messages to people; never used to decide who shares memory with whom.
pub fn name() -> String {
    let mut bytes = [0u8; 256];
    // SAFETY: room for the answer, with a zero left at its end.
    unsafe { libc::gethostname(bytes.as_mut_ptr().cast(), bytes.len() - 1) };
    let len = bytes.iter().position(|&b| b == 0).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..len]).into_owned()
}

/// The kernel's release, as in `uname -r`; empty where it is not told.
pub fn release() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().into()
}

/// The effective user.
pub fn user() -> u32 {
    // SAFETY: cannot fail.
    unsafe { libc::geteuid() }
}

/// The effective group.
pub fn group() -> u32 {
    // SAFETY: cannot fail.
    unsafe { libc::getegid() }
}

/// This process.
#[inline]
pub fn pid() -> i32 {
    // SAFETY: cannot fail.
    unsafe { libc::getpid() }
}

/// Who started this process, or adopted it since.
pub fn parent() -> i32 {
    // SAFETY: cannot fail.
    unsafe { libc::getppid() }
}

/// Lets another process have the core.
#[inline]
pub fn yield_core() {
    // SAFETY: cannot fail.
    unsafe { libc::sched_yield() };
}

/// Random bytes from the kernel.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut done = 0;
    while done < N {
        // SAFETY: the rest of `bytes` is valid for writes.
        done +=
            restarted(|| unsafe { libc::getrandom(bytes[done..].as_mut_ptr().cast(), N - done, 0) as i64 })? as usize;
    }
    Ok(bytes)
}

/// Writes out what the application's C streams hold, as exit(3) would. It waits for a stream that another
/// thread holds, so it is only for a process that is about to end.
pub fn flush_streams() {
    // SAFETY: a null stream means all of them.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}

/// Leaves the process at once: no destructors, no exit handlers, no flushing.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

/// Sleeps up to `ms`; a signal ends it early.
pub fn pause_ms(ms: u32) {
    let time = libc::timespec { tv_sec: i64::from(ms / 1000), tv_nsec: i64::from(ms % 1000) * 1_000_000 };
    // SAFETY: a valid time, no wish for the rest.
    unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_a_name_and_random_bytes_differ() {
        assert!(!name().is_empty());
        assert_eq!(pid() as u32, std::process::id());
        assert_ne!(random::<16>().unwrap(), random::<16>().unwrap());
    }
}
