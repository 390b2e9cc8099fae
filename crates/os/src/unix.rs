//! Local sockets that keep message boundaries and carry descriptors (unix(7), SOCK_SEQPACKET).
//!
//! Names are abstract: nothing in the file system can leak, but every process in the network namespace can see and
//! connect to them, so an acceptor must check the peer's user (`Credentials`).

use crate::ErrorContext;
use crate::errno::{checked, restarted};
use crate::fd_identity::{self, CheckedFd};
use crate::pidfd;
use crate::poll::wait_ready;
use std::io;
use std::mem::{offset_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// The identity of the process at the other end, as the kernel reports it. `pid` is its number in this process's pid
/// namespace, 0 if it has none there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    pub pid: i32,
    pub user: u32,
}

impl Credentials {
    /// Returns those of the process at the other end of the socket `fd`: the one that has made the pair, or that
    /// listens or has connected. The pid is 0 if the process is not in sight of this one.
    pub(crate) fn of_peer(fd: RawFd) -> io::Result<Credentials> {
        let mut credentials = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
        let mut len = size_of::<libc::ucred>() as libc::socklen_t;
        let place = (&raw mut credentials).cast();
        // SAFETY: room for `len` bytes.
        checked(unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, place, &mut len) })?;
        Ok(Credentials { pid: credentials.pid, user: credentials.uid })
    }
}

/// A connected socket of messages. If the program has closed the socket's descriptor, sending is an error, and
/// nothing is written to the file that has the descriptor's number now.
pub struct SeqpacketSocket(CheckedFd);

/// A socket that waits for connections under an abstract name.
pub struct SeqpacketListener(CheckedFd);

impl AsFd for SeqpacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Takes a connected socket of this kind, for example the one with which a helper process was started.
impl From<OwnedFd> for SeqpacketSocket {
    fn from(fd: OwnedFd) -> SeqpacketSocket {
        SeqpacketSocket(CheckedFd::new(fd))
    }
}

impl From<SeqpacketSocket> for OwnedFd {
    fn from(packets: SeqpacketSocket) -> OwnedFd {
        packets.0.into()
    }
}

impl AsFd for SeqpacketListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The longest name that an address holds after its leading zero byte.
const NAME_MAX: usize = size_of::<libc::sockaddr_un>() - offset_of!(libc::sockaddr_un, sun_path) - 1;

fn address(name: &str) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    if name.is_empty() || name.len() > NAME_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("'{name}' is not a name of a local socket")));
    }
    // SAFETY: a plain structure, for which zeroes are valid.
    let mut address: libc::sockaddr_un = unsafe { zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, from) in address.sun_path[1..].iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok((address, (offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len()) as libc::socklen_t))
}

fn socket(flags: i32) -> io::Result<OwnedFd> {
    // SAFETY: gives a new descriptor or -1.
    let fd = checked(unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC | flags, 0) })
        .context(|| "making a local socket".into())?;
    // SAFETY: the descriptor is new and nobody else's.
    Ok(fd_identity::dup_high(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
}

impl SeqpacketListener {
    /// Listens under `name`; accepting does not block.
    pub fn bind(name: &str) -> io::Result<SeqpacketListener> {
        // The kernel cuts the backlog to net.core.somaxconn.
        SeqpacketListener::bind_with_backlog(name, 4096)
    }

    /// Listens under `name`, without blocking in `accept`; at most `backlog` + 1 connections can wait to be accepted.
    pub fn bind_with_backlog(name: &str, backlog: i32) -> io::Result<SeqpacketListener> {
        let fd = socket(libc::SOCK_NONBLOCK)?;
        let (address, len) = address(name)?;
        // SAFETY: a valid address of that length.
        checked(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) })
            .context(|| format!("binding the local socket '{name}'"))?;
        // SAFETY: plain numbers.
        checked(unsafe { libc::listen(fd.as_raw_fd(), backlog) })?;
        Ok(SeqpacketListener(CheckedFd::new(fd)))
    }

    /// Returns the next connection, if one waits. Its reads and writes do not block.
    pub fn accept(&self) -> io::Result<Option<SeqpacketSocket>> {
        let (flags, null) = (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, std::ptr::null_mut());
        // SAFETY: the address is not requested; gives a new descriptor or -1.
        match restarted(|| unsafe { libc::accept4(self.0.as_raw_fd(), null, null.cast(), flags) }) {
            Ok(fd) => {
                // SAFETY: the descriptor is new and nobody else's.
                let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
                Ok(Some(SeqpacketSocket::from(fd_identity::dup_high(fd))))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error).context(|| "accepting a local connection".into()),
        }
    }
}

fn connect(fd: BorrowedFd, name: &str) -> io::Result<()> {
    let (address, len) = address(name)?;
    // SAFETY: a valid address of that length.
    restarted(|| unsafe { libc::connect(fd.as_raw_fd(), (&raw const address).cast(), len) })
        .map(drop)
        .context(|| format!("connecting to the local socket '{name}'"))
}

/// asm-generic/socket.h: the number is the same on all architectures but those of PA-RISC and SPARC, on which Hawser
/// does not run.
const SO_PEERPIDFD: i32 = 77;

/// Bytes for the descriptors that travel beside one message; we send at most one descriptor.
const CONTROL_LEN: usize = 64;
#[repr(C, align(8))]
struct ControlBuffer([u8; CONTROL_LEN]);

impl SeqpacketSocket {
    /// Connects to `name`; reads and writes block.
    pub fn connect(name: &str) -> io::Result<SeqpacketSocket> {
        let fd = socket(0)?;
        connect(fd.as_fd(), name)?;
        Ok(SeqpacketSocket::from(fd))
    }

    /// Connects to `name`, but waits at most `limit_ms`. Each later read and write also waits at most `limit_ms`
    /// (then: WouldBlock).
    pub fn connect_timeout(name: &str, limit_ms: u64) -> io::Result<SeqpacketSocket> {
        let line = SeqpacketSocket::from(socket(0)?);
        // connect waits for space in the listener's backlog, at most for the time limit on sending (unix(7)).
        line.set_timeout(limit_ms)?;
        connect(line.as_fd(), name)?;
        Ok(line)
    }

    /// Limits the wait of each read and write from now on to `limit_ms` (then: WouldBlock).
    pub fn set_timeout(&self, limit_ms: u64) -> io::Result<()> {
        // Zero would mean no limit.
        let limit_us = limit_ms.max(1) as i64 * 1000;
        let limit = libc::timeval { tv_sec: limit_us / 1_000_000, tv_usec: limit_us % 1_000_000 };
        for option in [libc::SO_SNDTIMEO, libc::SO_RCVTIMEO] {
            let (place, size) = ((&raw const limit).cast(), size_of::<libc::timeval>() as libc::socklen_t);
            // SAFETY: a live descriptor and a value of that size.
            checked(unsafe { libc::setsockopt(self.0.as_raw_fd(), libc::SOL_SOCKET, option, place, size) })?;
        }
        Ok(())
    }

    /// Makes two connected sockets; reads and writes block.
    pub fn pair() -> io::Result<(SeqpacketSocket, SeqpacketSocket)> {
        let mut fds = [0; 2];
        // SAFETY: room for two descriptors.
        checked(unsafe {
            libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0, fds.as_mut_ptr())
        })?;
        // SAFETY: both are new and nobody else's.
        let [one, other] = unsafe { fds.map(|fd| OwnedFd::from_raw_fd(fd)) };
        Ok((SeqpacketSocket::from(one), SeqpacketSocket::from(other)))
    }

    /// Returns the identity of the other end.
    pub fn peer(&self) -> io::Result<Credentials> {
        Credentials::of_peer(self.0.as_raw_fd())
    }

    /// Returns a pidfd of the process at the other end. If the kernel cannot give one for a connection (before Linux
    /// 6.5), the process is opened by its number; that is an error if the other end is closed, because the process
    /// may have ended then.
    pub fn peer_process(&self) -> io::Result<OwnedFd> {
        let (mut fd, mut len) = (-1_i32, size_of::<i32>() as libc::socklen_t);
        let place = (&raw mut fd).cast();
        // SAFETY: room for `len` bytes.
        let result =
            checked(unsafe { libc::getsockopt(self.0.as_raw_fd(), libc::SOL_SOCKET, SO_PEERPIDFD, place, &mut len) });
        if result.is_ok() {
            // SAFETY: the descriptor is new and nobody else's.
            return Ok(fd_identity::dup_high(unsafe { OwnedFd::from_raw_fd(fd) }));
        }
        let process = pidfd::open(self.peer()?.pid)?;
        if self.is_closed() { Err(io::ErrorKind::NotConnected.into()) } else { Ok(process) }
    }

    /// Returns whether the other end is closed.
    fn is_closed(&self) -> bool {
        wait_ready(self.as_fd(), libc::POLLRDHUP, 0).unwrap_or(false)
    }

    /// Sends one message, with a descriptor beside it if given.
    pub fn send(&self, bytes: &[u8], fd: Option<BorrowedFd>) -> io::Result<()> {
        let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let mut control = ControlBuffer([0; CONTROL_LEN]);
        let mut message = header(&mut part, &mut control);
        message.msg_controllen = 0;
        if let Some(fd) = fd {
            // SAFETY: the control buffer has space for one descriptor (CONTROL_LEN >= CMSG_SPACE(4)) and is
            // aligned.
            unsafe {
                message.msg_controllen = libc::CMSG_SPACE(4) as _;
                let first = libc::CMSG_FIRSTHDR(&message);
                (*first).cmsg_level = libc::SOL_SOCKET;
                (*first).cmsg_type = libc::SCM_RIGHTS;
                (*first).cmsg_len = libc::CMSG_LEN(4) as _;
                libc::CMSG_DATA(first).cast::<i32>().write_unaligned(fd.as_raw_fd());
            }
        }
        let to = self.0.live()?.as_raw_fd();
        // SAFETY: all parts of `message` are alive; MSG_NOSIGNAL, since the process is the application's.
        restarted(|| unsafe { libc::sendmsg(to, &message, libc::MSG_NOSIGNAL) as i64 }).map(drop)
    }

    /// Sends one message, if there is space for it now (WouldBlock otherwise).
    pub fn try_send(&self, bytes: &[u8]) -> io::Result<()> {
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        let to = self.0.live()?.as_raw_fd();
        // SAFETY: the bytes are valid for reads.
        restarted(|| unsafe { libc::send(to, bytes.as_ptr().cast(), bytes.len(), flags) as i64 }).map(drop)
    }

    /// Receives one message into `to`. Returns its length (0: the other end is closed) and the descriptor that came
    /// beside it. A message that is longer than `to` is an error.
    pub fn receive(&self, to: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
        let mut part = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
        let mut control = ControlBuffer([0; CONTROL_LEN]);
        let mut message = header(&mut part, &mut control);
        // SAFETY: all parts of `message` are alive and valid for writes.
        let got =
            restarted(|| unsafe { libc::recvmsg(self.0.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC) as i64 })?;
        let mut fd = None;
        // SAFETY: the kernel filled the control buffer with whole headers; each SCM_RIGHTS descriptor is ours now.
        unsafe {
            let mut at = libc::CMSG_FIRSTHDR(&message);
            while let Some(head) = at.as_ref() {
                if head.cmsg_level == libc::SOL_SOCKET && head.cmsg_type == libc::SCM_RIGHTS {
                    for i in 0..(head.cmsg_len - libc::CMSG_LEN(0) as usize) / 4 {
                        let raw = libc::CMSG_DATA(at).cast::<i32>().add(i).read_unaligned();
                        fd = Some(fd_identity::dup_high(OwnedFd::from_raw_fd(raw)));
                    }
                }
                at = libc::CMSG_NXTHDR(&message, at);
            }
        }
        if message.msg_flags & libc::MSG_TRUNC != 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is longer than expected"));
        }
        Ok((got as usize, fd))
    }
}

fn header(part: &mut libc::iovec, control: &mut ControlBuffer) -> libc::msghdr {
    // SAFETY: a plain structure, for which zeroes are valid.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_LEN as _;
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{host, memfd};

    #[test]
    fn messages_keep_their_bounds_and_carry_a_descriptor() {
        let name = format!("hawser-test-{}", host::pid());
        let listener = SeqpacketListener::bind(&name).unwrap();
        assert!(listener.accept().unwrap().is_none());
        let client = SeqpacketSocket::connect(&name).unwrap();
        let server = listener.accept().unwrap().unwrap();
        assert_eq!(server.peer().unwrap(), Credentials { pid: host::pid(), user: host::user() });
        let memory = memfd::create(c"hawser-test", 4096).unwrap();
        server.send(b"one", Some(memory.as_fd())).unwrap();
        server.send(b"three", None).unwrap();
        let mut bytes = [0; 16];
        let (len, fd) = client.receive(&mut bytes).unwrap();
        assert_eq!(&bytes[..len], b"one");
        assert_eq!(memfd::len(fd.unwrap().as_fd()).unwrap(), 4096);
        assert!(matches!(client.receive(&mut bytes), Ok((5, None))));
        drop(server);
        assert_eq!(client.receive(&mut bytes).unwrap().0, 0);
    }

    #[test]
    fn neither_a_full_backlog_nor_silence_is_waited_for_beyond_the_limit() {
        let name = format!("hawser-test-full-{}", host::pid());
        let listener = SeqpacketListener::bind_with_backlog(&name, 0).unwrap();
        let first = SeqpacketSocket::connect_timeout(&name, 50).unwrap();
        assert_eq!(first.receive(&mut [0; 16]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let error = SeqpacketSocket::connect_timeout(&name, 50).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert!(listener.accept().unwrap().is_some() && SeqpacketSocket::connect_timeout(&name, 50).is_ok());
    }

    #[test]
    fn what_there_is_no_room_for_is_not_waited_with() {
        let (ours, theirs) = SeqpacketSocket::pair().unwrap();
        let sent = (0..).find(|_| ours.try_send(&[7; 1000]).is_err()).unwrap();
        assert_eq!(ours.try_send(b"more").unwrap_err().kind(), io::ErrorKind::WouldBlock);
        (0..sent).for_each(|_| assert!(matches!(theirs.receive(&mut [0; 1000]), Ok((1000, None)))));
        ours.try_send(b"more").unwrap();
    }

    #[test]
    fn a_name_that_does_not_fit_and_one_that_nobody_has_are_errors() {
        assert!(SeqpacketListener::bind(&"x".repeat(200)).is_err());
        let text = SeqpacketSocket::connect("hawser-nobody").err().unwrap().to_string();
        assert!(text.starts_with("connecting to the local socket 'hawser-nobody'"), "{text}");
    }
}
