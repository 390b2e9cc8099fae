//! A thread of the library in the application's process: it gets no signals, which are for the application's threads.
//!
//! Used by `p2p::progress_thread`, `boot::pmix`, `host::peer_monitor` and `host::process_manager`.

use std::io;
use std::mem::MaybeUninit;
use std::thread::{Builder, JoinHandle};

/// Starts a thread; `name` has at most 15 bytes (pthread_setname_np(3)).
pub fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let before = block_all()?;
    // The new thread inherits the mask.
    let thread = Builder::new().name(name.to_owned()).spawn(run);
    // SAFETY: a mask that the kernel gave.
    let _ = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    thread
}

/// Requests time slices of `slice_ns` for the calling thread (sched_setattr(2), SCHED_OTHER with a slice). From Linux
/// 6.12 on a thread with short slices preempts threads that compute as soon as it is woken; older kernels ignore the
/// request.
pub fn request_short_slices(slice_ns: u64) {
    let attr = SchedAttr { size: size_of::<SchedAttr>() as u32, runtime: slice_ns, ..SchedAttr::default() };
    // SAFETY: a valid structure with its own size; 0 is the calling thread.
    let _ = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) };
}

/// `struct sched_attr` of linux/sched/types.h, its first version.
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Blocks all signals of this thread. Returns the previous mask.
fn block_all() -> io::Result<libc::sigset_t> {
    let (mut all, mut before) = (MaybeUninit::<libc::sigset_t>::uninit(), MaybeUninit::<libc::sigset_t>::uninit());
    // SAFETY: sigfillset initialises `all`; pthread_sigmask initialises `before` if it succeeds.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        match libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) {
            0 => Ok(before.assume_init()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    /// Returns the line of /proc/thread-self/status with the blocked signals.
    fn blocked() -> String {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        status.lines().find(|line| line.starts_with("SigBlk:")).unwrap().to_owned()
    }

    #[test]
    fn the_thread_takes_no_signal_and_the_one_that_starts_it_goes_on_taking_them() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let before = blocked();
        let thread = super::spawn("test", move || sender.send(blocked()).unwrap()).unwrap();
        thread.join().unwrap();
        assert_eq!(blocked(), before);
        let theirs = receiver.recv().unwrap();
        let mask = u64::from_str_radix(theirs["SigBlk:".len()..].trim(), 16).unwrap();
        // All but SIGKILL, SIGSTOP and the two that the C library keeps for itself.
        for signal in (1..=31).filter(|&signal| signal != libc::SIGKILL && signal != libc::SIGSTOP) {
            assert!(mask >> (signal - 1) & 1 == 1, "signal {signal} of {theirs}");
        }
    }
}
