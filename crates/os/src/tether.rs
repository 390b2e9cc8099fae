//! A tether makes the kernel kill a process group, or a process, when this process ends, however it ends. For the
//! launcher alone.
//!
//! PR_SET_PDEATHSIG (`spawn`) reaches a child, but not the processes that the child has started. A tether reaches
//! them, too: it is a pair of connected sockets over which nothing is ever sent, each armed to send SIGKILL when the
//! other is closed (fcntl(2), F_SETOWN, F_SETSIG, O_ASYNC). When this process ends, the socket that the kernel closes
//! first triggers the other. Only a process that has left the group and is not tethered itself escapes.

use crate::errno::checked;
use crate::unix::SeqpacketSocket;
use crate::{host, pidfd};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// The value that holds a tether: dropping it kills the tied processes, too.
pub struct Tether {
    sockets: (SeqpacketSocket, SeqpacketSocket),
}

/// The number of descriptors that a tether takes.
pub const DESCRIPTORS: u64 = 2;

impl Tether {
    /// Makes a tether that ties nobody yet. A child ties its own group to it before it runs its program
    /// (`spawn::SpawnOptions::tether`). If this process tied the child, it could be killed before, while processes
    /// that the program has started already run.
    pub fn loose() -> io::Result<Tether> {
        Ok(Tether { sockets: SeqpacketSocket::pair()? })
    }

    /// Returns the ends of the tether, for a child. They are valid as long as the tether exists.
    pub fn ends(&self) -> TetherEnds {
        TetherEnds([self.sockets.0.as_fd().as_raw_fd(), self.sockets.1.as_fd().as_raw_fd()])
    }

    /// Ties the process with number `pid`, of which `process` is a pidfd. If the process had ended, the number could
    /// be another process's. Therefore that is checked after the kernel has looked the number up, and before the
    /// tether is armed; from then on the kernel identifies the process by more than its number. An error if the
    /// process has ended.
    pub fn tie_process(pid: i32, process: BorrowedFd) -> io::Result<Tether> {
        let tether = Tether::loose()?;
        tether.ends().set_signal_owner(pid)?;
        if pidfd::has_ended(process) {
            return Err(io::Error::other(format!("process {pid} has ended")));
        }
        tether.ends().arm()?;
        Ok(tether)
    }
}

/// The descriptors of a tether. A child shares them with its parent from fork to exec.
#[derive(Clone, Copy)]
pub struct TetherEnds([RawFd; 2]);

impl TetherEnds {
    /// Ties the group that this process leads to the process that has the tether. The owner and the signal belong to
    /// the open socket, which this process shares, and not to its descriptors. Allocates nothing: may run between fork
    /// and exec.
    pub fn tie_own_group(self) -> io::Result<()> {
        self.set_signal_owner(-host::pid())?;
        self.arm()
    }

    /// Sets the receiver of the signal: a process, or a group by its number below 0. The kernel keeps a reference to
    /// it, not its number.
    fn set_signal_owner(self, pid: i32) -> io::Result<()> {
        // SAFETY: a live descriptor and plain numbers.
        let set = |fd| checked(unsafe { libc::fcntl(fd, libc::F_SETOWN, pid) }).map(drop);
        self.0.into_iter().try_for_each(set)
    }

    fn arm(self) -> io::Result<()> {
        // SAFETY: a live descriptor and plain numbers; F_SETSIG takes any signal.
        self.0.into_iter().try_for_each(|fd| unsafe {
            checked(libc::fcntl(fd, F_SETSIG, libc::SIGKILL))?;
            let flags = checked(libc::fcntl(fd, libc::F_GETFL))?;
            checked(libc::fcntl(fd, libc::F_SETFL, flags as i32 | libc::O_ASYNC)).map(drop)
        })
    }
}

/// asm-generic/fcntl.h: the number on x86-64, AArch64 and nearly all other architectures.
const F_SETSIG: i32 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spawn::{self, Leads, SpawnOptions};
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    #[test]
    fn a_whole_group_dies_with_its_tether() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1003 & echo; wait"]).stdout(Stdio::piped());
        let tether = Tether::loose().unwrap();
        let options = SpawnOptions { leads: Leads::Group, tether: Some(tether.ends()), ..SpawnOptions::default() };
        let mut child = spawn::spawn(&mut command, options).unwrap();
        // The group is tied when `spawn` returns: what the program starts from its first instruction on is tied too.
        // SAFETY: live descriptors, and requests without a further argument.
        let get = |request| tether.ends().0.map(|fd| unsafe { libc::fcntl(fd, request) });
        assert_eq!(get(libc::F_GETOWN), [-(child.id() as i32); 2]);
        assert!(get(libc::F_GETFL).iter().all(|flags| flags & libc::O_ASYNC != 0));
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut [0]).unwrap();
        assert!(child.try_wait().unwrap().is_none());
        drop(tether);
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
        // The sleeper has the output too: its end is the end of both.
        assert_eq!(out.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_tether_of_a_child_that_did_not_start_serves_the_next_one() {
        let tether = Tether::loose().unwrap();
        let options = SpawnOptions { leads: Leads::Group, tether: Some(tether.ends()), ..SpawnOptions::default() };
        assert!(spawn::spawn(&mut Command::new("/nothing is here"), options.clone()).is_err());
        let mut child = spawn::spawn(Command::new("sleep").arg("1009"), options).unwrap();
        drop(tether);
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
        drop(Tether::loose().unwrap()); // nobody is tied to it
    }

    #[test]
    fn a_process_whose_number_another_has_is_not_tied() {
        let mut gone = Command::new("true").spawn().unwrap();
        let hold = pidfd::open(gone.id() as i32).unwrap();
        gone.wait().unwrap();
        let mut other = Command::new("sleep").arg("1007").spawn().unwrap();
        let pid = other.id() as i32;
        // Act as if the number had been reused for the other one.
        assert!(Tether::tie_process(pid, hold.as_fd()).is_err());
        assert!(other.try_wait().unwrap().is_none(), "what was never armed kills nobody");
        drop(Tether::tie_process(pid, pidfd::open(pid).unwrap().as_fd()).unwrap());
        assert_eq!(other.wait().unwrap().signal(), Some(libc::SIGKILL));
    }
}
