//! A thread of the library's own in somebody else's process: it gets no signal, which are for the application's threads.
//!
//! Before it: `mpi::helper`.

use std::io;
use std::mem::MaybeUninit;
use std::thread::{Builder, JoinHandle};

/// Starts a thread; `name` has at most 15 bytes (pthread_setname_np(3)).
pub fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let before = block_all()?;
    // It inherits the mask.
    let thread = Builder::new().name(name.to_owned()).spawn(run);
    // SAFETY: a mask that the kernel gave.
    let _ = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    thread
}

/// Blocks all signals of this thread, and gives the mask before.
fn block_all() -> io::Result<libc::sigset_t> {
    let (mut all, mut before) = (MaybeUninit::<libc::sigset_t>::uninit(), MaybeUninit::<libc::sigset_t>::uninit());
    // SAFETY: sigfillset initialises the set that is set, pthread_sigmask the one before if it succeeds.
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
    /// The line of /proc/thread-self/status with the blocked signals.
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
