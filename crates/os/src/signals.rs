//! Signals as readable data (signalfd(2)), and sending them. For programs (`mpiexec`, `hawser-bench`): the libraries
//! only send signals, and never touch the signal state of the application's process.

use crate::ErrorContext;
use crate::errno::checked;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

pub use libc::{
    SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGPIPE, SIGQUIT, SIGSTOP, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1,
    SIGUSR2, SIGWINCH, SIGXFSZ,
};

/// A saved signal mask, which a program gets back when it is started.
#[derive(Clone, Copy)]
pub struct SignalMask(libc::sigset_t);

impl SignalMask {
    /// Makes this the mask of the calling thread. Allocates nothing: may run between fork and exec.
    pub fn restore(&self) -> io::Result<()> {
        // SAFETY: a valid mask.
        match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// Signals of a set, blocked for this process and read from a descriptor instead.
pub struct SignalFd {
    fd: OwnedFd,
    saved_mask: SignalMask,
}

impl SignalFd {
    /// Blocks `signals` and makes a descriptor to read them from. Call it before there is a second thread: only the
    /// calling thread's mask is changed, which later threads inherit.
    pub fn block(signals: &[i32]) -> io::Result<SignalFd> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the set is initialised by sigemptyset before it is used, `before` by pthread_sigmask.
        let (set, before) = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for &signal in signals {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
            (set.assume_init(), before.assume_init())
        };
        // SAFETY: a valid set; gives a new descriptor or -1.
        let fd = checked(unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) })
            .context(|| "making a descriptor for signals (signalfd)".into())?;
        // SAFETY: the descriptor is new and nobody else's.
        Ok(SignalFd { fd: unsafe { OwnedFd::from_raw_fd(fd as i32) }, saved_mask: SignalMask(before) })
    }

    /// Returns the mask before `block`.
    pub fn saved_mask(&self) -> SignalMask {
        self.saved_mask
    }

    /// Returns the next signal that has arrived, if any.
    pub fn next(&self) -> Option<i32> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: room for one record.
        let got = unsafe { libc::read(self.fd.as_raw_fd(), info.as_mut_ptr().cast(), size) };
        // SAFETY: the kernel writes whole records only.
        (got == size as isize).then(|| unsafe { info.assume_init() }.ssi_signo as i32)
    }

    /// Takes all signals that have arrived. Returns whether `signal` is among them.
    pub fn drain(&self, signal: i32) -> bool {
        std::iter::from_fn(|| self.next()).fold(false, |found, taken| found | (taken == signal))
    }
}

impl AsFd for SignalFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Sends `signal` to process `pid`, or to process group `-pid`.
pub fn send(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: plain numbers.
    checked(unsafe { libc::kill(pid, signal) }).map(drop)
}

/// Stops this process, as its terminal would, until SIGCONT.
pub fn stop_self() {
    // SAFETY: raise with a valid signal.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Ends this process by `signal`, as if the signal had never been blocked, handled or ignored. If `signal` does not
/// end a process by default, exits with 128 + `signal`.
pub fn die_of(signal: i32) -> ! {
    restore_default(signal);
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is initialised by sigemptyset before it is used.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), std::ptr::null_mut());
        libc::raise(signal);
    }
    // This signal does not end a process by default.
    std::process::exit(128 + signal)
}

/// Returns whether this process was started to ignore `signal`, as nohup and shells in the background do.
pub fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: only a query; zeroes are a valid sigaction.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Gives `signal` its default disposition. A launcher that was started with SIGCHLD ignored would never learn how
/// its children end.
pub fn restore_default(signal: i32) {
    // SAFETY: SIG_DFL is a valid disposition.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Makes this process ignore `signal`. With SIGXFSZ ignored, for example, a write beyond RLIMIT_FSIZE returns an
/// error and does not end the process.
pub fn ignore(signal: i32) {
    // SAFETY: SIG_IGN is a valid disposition.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// Returns the description of the signal for people, from `strsignal`.
pub fn description(signal: i32) -> String {
    // SAFETY: strsignal gives a C string or null; it is copied before another call.
    let text = unsafe { libc::strsignal(signal) };
    if text.is_null() {
        return format!("signal {signal}");
    }
    // SAFETY: as above.
    unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_read_instead_of_delivered() {
        std::thread::spawn(|| {
            let signals = SignalFd::block(&[libc::SIGWINCH]).unwrap();
            assert_eq!(signals.next(), None);
            // SAFETY: to this thread alone, which blocks it.
            unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGWINCH) };
            assert_eq!(signals.next(), Some(libc::SIGWINCH));
            signals.saved_mask().restore().unwrap();
        })
        .join()
        .unwrap();
    }

    #[test]
    fn signals_have_names_and_can_be_ignored() {
        assert_eq!(description(SIGKILL), "Killed");
        // Rust programs ignore it from their start.
        assert!(is_ignored(SIGPIPE) && !is_ignored(SIGUSR1));
        ignore(SIGXFSZ);
        assert!(is_ignored(SIGXFSZ));
    }
}
