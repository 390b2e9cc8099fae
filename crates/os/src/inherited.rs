//! A stream socket that the process which started this one has opened for it, and names by a number (PMI_FD).
//!
//! The descriptor with that number stays as it is, for programs that this process starts; the library uses a copy of
//! it. Used by `boot::pmi`.

use crate::errno::{checked, restarted};
use crate::fd_identity::{self, CheckedFd};
use crate::poll;
use crate::unix::Credentials;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

pub struct InheritedStream {
    fd: CheckedFd,
}

impl InheritedStream {
    /// Copies the descriptor `number`. It is an error if it is not open, or no stream socket of this host: a program
    /// may have closed the one that was opened for it, and have another file under the number.
    pub fn open(number: i32) -> io::Result<InheritedStream> {
        if option(number, libc::SO_DOMAIN)? != libc::AF_UNIX || option(number, libc::SO_TYPE)? != libc::SOCK_STREAM {
            return Err(io::Error::new(ErrorKind::InvalidInput, "this is another socket"));
        }
        // SAFETY: plain numbers; gives a new descriptor or -1.
        let copy = checked(unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0) })?;
        // SAFETY: the descriptor is new and nobody else's.
        let copy = unsafe { OwnedFd::from_raw_fd(copy as i32) };
        Ok(InheritedStream { fd: CheckedFd::new(fd_identity::dup_high(copy)) })
    }

    /// The process that has opened the stream; None if it is not in sight of this one.
    pub fn opener(&self) -> Option<i32> {
        let opener = Credentials::of_peer(self.fd.live().ok()?.as_raw_fd()).ok()?;
        (opener.pid > 0).then_some(opener.pid)
    }

    /// Sends all of `bytes`.
    pub fn send(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let fd = self.fd.live()?.as_raw_fd();
            // SAFETY: the bytes are alive during the call.
            let sent =
                restarted(|| unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) as i64 })?;
            bytes = &bytes[sent as usize..];
        }
        Ok(())
    }

    /// Receives into `place` what has arrived, waiting at most `limit_ms`. Returns the number of bytes, 0 at the end of
    /// the stream.
    pub fn receive(&self, place: &mut [u8], limit_ms: u64) -> io::Result<usize> {
        let fd = self.fd.live()?;
        if !poll::wait_ready(fd, libc::POLLIN, limit_ms.min(i32::MAX as u64) as i32)? {
            return Err(ErrorKind::TimedOut.into());
        }
        // SAFETY: the place is alive and writable during the call.
        restarted(|| unsafe { libc::recv(fd.as_raw_fd(), place.as_mut_ptr().cast(), place.len(), 0) as i64 })
            .map(|received| received as usize)
    }
}

/// An option of the socket `number`; an error if it is none.
fn option(number: i32, name: i32) -> io::Result<i32> {
    let (mut value, mut len) = (0i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: valid places for the result and its length; a number that is no socket is an error.
    checked(unsafe { libc::getsockopt(number, libc::SOL_SOCKET, name, (&raw mut value).cast(), &raw mut len) })?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_copy_of_the_stream_carries_both_directions() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let stream = InheritedStream::open(ours.as_raw_fd()).unwrap();
        drop(ours);
        assert_eq!(stream.opener(), Some(std::process::id() as i32));
        stream.send(b"cmd=init\n").unwrap();
        let mut bytes = [0; 16];
        assert_eq!(theirs.read(&mut bytes).unwrap(), 9);
        theirs.write_all(b"yes").unwrap();
        assert_eq!(stream.receive(&mut bytes, 1000).unwrap(), 3);
        assert_eq!(stream.receive(&mut bytes, 1).unwrap_err().kind(), ErrorKind::TimedOut);
        drop(theirs);
        assert_eq!(stream.receive(&mut bytes, 1000).unwrap(), 0);
        assert!(stream.send(b"x").is_err());
    }

    #[test]
    fn a_number_that_is_no_open_socket_is_an_error() {
        assert!(InheritedStream::open(-1).is_err() && InheritedStream::open(1_000_000).is_err());
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(InheritedStream::open(file.as_raw_fd()).is_err());
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(InheritedStream::open(tcp.as_raw_fd()).is_err());
        let (datagrams, _) = std::os::unix::net::UnixDatagram::pair().unwrap();
        assert!(InheritedStream::open(datagrams.as_raw_fd()).is_err());
    }
}
