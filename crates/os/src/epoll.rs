//! Waiting for many descriptors at once (epoll(7)).
//!
//! epoll refuses regular files: they are in a list of their own here, and every `wait` reports them as ready, unless
//! their interest is `Nothing`.

use crate::ErrorContext;
use crate::errno::checked;
use crate::fd_identity::{self, CheckedFd};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// The maximum sleep if the program has closed the epoll set. Nothing wakes the sleeper then, so a message may wait
/// about that long.
const CLOSED_SET_SLEEP: Duration = Duration::from_millis(1);

/// An event of a descriptor; `token` is the number with which the descriptor was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpollEvent {
    pub token: u64,
    pub readable: bool,
    pub writable: bool,
    /// The other side is closed; what it wrote may still be there to read.
    pub hung_up: bool,
}

/// The events to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    Nothing,
    Read,
    Write,
}

pub struct Epoll {
    fd: CheckedFd,
    /// Regular files: (descriptor, token, interest).
    regular_files: Vec<(i32, u64, Interest)>,
}

/// The set's descriptor is readable if an event is pending, so that one set can be waited for in another.
impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Epoll {
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: gives a new descriptor or -1.
        let fd =
            checked(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }).context(|| "making an epoll set".into())?;
        // SAFETY: the descriptor is new and nobody else's.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        Ok(Epoll { fd: CheckedFd::new(fd_identity::dup_high(fd)), regular_files: Vec::new() })
    }

    pub fn add(&mut self, fd: BorrowedFd, token: u64, interest: Interest) -> io::Result<()> {
        match self.ctl(libc::EPOLL_CTL_ADD, fd, token, interest) {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                self.regular_files.push((fd.as_raw_fd(), token, interest));
                Ok(())
            }
            result => result.context(|| format!("watching descriptor {}", fd.as_raw_fd())),
        }
    }

    pub fn change(&mut self, fd: BorrowedFd, token: u64, interest: Interest) -> io::Result<()> {
        if let Some(file) = self.regular_files.iter_mut().find(|file| file.0 == fd.as_raw_fd() && file.1 == token) {
            file.2 = interest;
            return Ok(());
        }
        self.ctl(libc::EPOLL_CTL_MOD, fd, token, interest)
    }

    pub fn remove(&mut self, fd: BorrowedFd) {
        self.regular_files.retain(|file| file.0 != fd.as_raw_fd());
        let _ = self.ctl(libc::EPOLL_CTL_DEL, fd, 0, Interest::Nothing);
    }

    fn ctl(&self, operation: i32, fd: BorrowedFd, token: u64, interest: Interest) -> io::Result<()> {
        let events = match interest {
            Interest::Nothing => 0,
            Interest::Read => libc::EPOLLIN,
            Interest::Write => libc::EPOLLOUT,
        };
        let mut event = libc::epoll_event { events: events as u32, u64: token };
        // SAFETY: live descriptors and a valid event.
        checked(unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), operation, fd.as_raw_fd(), &mut event) }).map(drop)
    }

    /// Waits until a descriptor has an event, at most `timeout_ns`, which is rounded up to milliseconds (None:
    /// without limit). Returns whether there was an event. Regular files are ignored.
    pub fn sleep(&self, timeout_ns: Option<u64>) -> bool {
        let timeout = timeout_ns.map_or(-1, |ns| ns.div_ceil(1_000_000).min(i32::MAX as u64) as i32);
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: room for one event.
        let count = unsafe { libc::epoll_wait(self.fd.as_raw_fd(), &raw mut event, 1, timeout) };
        if count < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            // The program has closed the set: nobody can wake this thread, and it must not spin either.
            std::thread::sleep(CLOSED_SET_SLEEP.min(Duration::from_nanos(timeout_ns.unwrap_or(u64::MAX))));
        }
        count > 0
    }

    /// Waits for events, at most `timeout_ms` (None: without limit), and puts them into `events`, which is cleared
    /// first. It does not wait if it reports a regular file. A signal ends the wait early.
    pub fn wait(&mut self, events: &mut Vec<EpollEvent>, timeout_ms: Option<u64>) -> io::Result<()> {
        events.clear();
        let file = |&(_, token, interest): &(i32, u64, Interest)| EpollEvent {
            token,
            readable: interest == Interest::Read,
            writable: interest == Interest::Write,
            hung_up: false,
        };
        events.extend(self.regular_files.iter().filter(|f| f.2 != Interest::Nothing).map(file));
        let timeout = if events.is_empty() { timeout_ms.map_or(-1, |ms| ms.min(i32::MAX as u64) as i32) } else { 0 };
        let mut raw = [libc::epoll_event { events: 0, u64: 0 }; 64];
        // SAFETY: room for 64 events.
        let count = match checked(unsafe { libc::epoll_wait(self.fd.as_raw_fd(), raw.as_mut_ptr(), 64, timeout) }) {
            Ok(count) => count as usize,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        events.extend(raw[..count].iter().map(|event| {
            let has = |bit: i32| event.events & bit as u32 != 0;
            let hung_up = has(libc::EPOLLHUP) || has(libc::EPOLLERR) || has(libc::EPOLLRDHUP);
            EpollEvent { token: event.u64, readable: has(libc::EPOLLIN), writable: has(libc::EPOLLOUT), hung_up }
        }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_ready_once_written_and_a_file_always() {
        let (reader, writer) = crate::pipe::pipe().unwrap();
        let mut epoll = Epoll::new().unwrap();
        let mut events = Vec::new();
        epoll.add(reader.as_fd(), 7, Interest::Read).unwrap();
        epoll.wait(&mut events, Some(0)).unwrap();
        assert!(events.is_empty());
        crate::pipe::write(writer.as_fd(), b"x").unwrap();
        epoll.wait(&mut events, None).unwrap();
        assert_eq!(events, [EpollEvent { token: 7, readable: true, writable: false, hung_up: false }]);
        epoll.remove(reader.as_fd());

        let file = std::fs::File::open("/proc/self/exe").unwrap();
        epoll.add(file.as_fd(), 8, Interest::Read).unwrap();
        epoll.wait(&mut events, None).unwrap();
        assert_eq!(events[0].token, 8);
        epoll.change(file.as_fd(), 8, Interest::Nothing).unwrap();
        epoll.wait(&mut events, Some(0)).unwrap();
        assert!(events.is_empty());
    }
}
