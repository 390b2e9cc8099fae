//! Small facts about this host and this process, and yielding the core.

use crate::errno::restarted;
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Returns the host's name, for messages to people; never used to decide which processes share memory.
pub fn name() -> String {
    let mut bytes = [0u8; 256];
    // SAFETY: room for the answer, with a zero left at its end.
    unsafe { libc::gethostname(bytes.as_mut_ptr().cast(), bytes.len() - 1) };
    let len = bytes.iter().position(|&b| b == 0).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..len]).into_owned()
}

/// Returns the kernel's release, as in `uname -r`; empty if it is not known.
pub fn release() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().into()
}

/// Returns the architecture of the machine, as in `uname -m`.
pub fn machine() -> String {
    // SAFETY: a plain structure, for which zeroes are valid.
    let mut names: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: a valid place for the answer; cannot fail with one.
    unsafe { libc::uname(&mut names) };
    let bytes = names.machine.iter().map(|&byte| byte as u8).take_while(|&byte| byte != 0);
    String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned()
}

/// Returns the effective user id.
pub fn user() -> u32 {
    // SAFETY: cannot fail.
    unsafe { libc::geteuid() }
}

/// Returns the effective group id.
pub fn group() -> u32 {
    // SAFETY: cannot fail.
    unsafe { libc::getegid() }
}

/// Returns the number of this process.
#[inline]
pub fn pid() -> i32 {
    // SAFETY: cannot fail.
    unsafe { libc::getpid() }
}

/// Returns the number of the process that started this one, or that has adopted it since.
pub fn parent() -> i32 {
    // SAFETY: cannot fail.
    unsafe { libc::getppid() }
}

/// Returns the path by which this program can be started again: /proc/self/exe, or, if there is no /proc, the path
/// with which it was started (AT_EXECFN, getauxval(3)).
pub fn program() -> PathBuf {
    let own = Path::new("/proc/self/exe");
    if own.exists() {
        return own.into();
    }
    // SAFETY: cannot fail; 0 if the kernel does not provide it.
    let name = unsafe { libc::getauxval(libc::AT_EXECFN) } as *const libc::c_char;
    if name.is_null() {
        return own.into();
    }
    // SAFETY: the kernel has put a C string there, which stays for the life of the process.
    let name = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()));
    std::env::current_dir().map_or_else(|_| name.into(), |directory| directory.join(name))
}

/// Yields the core to another process.
#[inline]
pub fn yield_core() {
    // SAFETY: cannot fail.
    unsafe { libc::sched_yield() };
}

/// Returns random bytes from the kernel: by getrandom(2), or from /dev/urandom if that is missing or forbidden.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut done = 0;
    while done < N {
        let rest = &mut bytes[done..];
        // The C library has had the function since glibc 2.25; the libraries run on older ones.
        // SAFETY: `rest` is valid for writes of its length.
        match restarted(|| unsafe { libc::syscall(libc::SYS_getrandom, rest.as_mut_ptr(), rest.len(), 0) }) {
            Ok(len) => done += len as usize,
            Err(_) => {
                File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes[done..]))?;
                done = N;
            }
        }
    }
    Ok(bytes)
}

/// Writes out the contents of the application's C streams, as exit(3) would. It waits if another thread has locked a
/// stream, so it is only for a process that is about to end.
pub fn flush_streams() {
    // SAFETY: a null stream means all of them.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}

/// Prints a line to the standard error by one write, so that a launcher which passes on what its processes write, as
/// Flux does, mixes no two lines. It is no error if nobody reads it.
pub fn print_error(line: &str) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Leaves the process at once: no destructors, no exit handlers, no flushing.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

/// Sleeps up to `ms`; a signal ends it early.
pub fn sleep_ms(ms: u32) {
    let time = libc::timespec { tv_sec: i64::from(ms / 1000), tv_nsec: i64::from(ms % 1000) * 1_000_000 };
    // SAFETY: a valid time; the time that is left is not requested.
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
