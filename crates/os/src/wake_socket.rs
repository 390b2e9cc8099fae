//! A wake socket is a doorbell with a descriptor, for a sleeper that waits for other descriptors too. It is a local
//! datagram socket (unix(7), SOCK_DGRAM).
//!
//! The kernel gives the socket an abstract name of five digits. Any process that knows the name can ring; a needless
//! ring costs the sleeper one empty poll.

use crate::ErrorContext;
use crate::errno::checked;
use crate::fd_identity::{self, CheckedFd};
use std::io;
use std::mem::{offset_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;

/// The name of a wake socket, as a number: the bytes that the kernel has chosen, behind the leading zero of the
/// address; never 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WakeSocketName(u64);

impl WakeSocketName {
    /// Returns the name as a number, to be written into shared memory.
    pub fn number(self) -> u64 {
        self.0
    }

    pub fn from_number(number: u64) -> Option<WakeSocketName> {
        (number != 0).then_some(WakeSocketName(number))
    }

    fn address(self) -> (libc::sockaddr_un, libc::socklen_t) {
        // SAFETY: a plain structure, for which zeroes are valid.
        let mut address: libc::sockaddr_un = unsafe { zeroed() };
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        for (to, from) in address.sun_path[1..=NAME_BYTES].iter_mut().zip(self.0.to_le_bytes()) {
            *to = from as libc::c_char;
        }
        (address, ADDRESS_BYTES as libc::socklen_t)
    }
}

/// The number of digits of a name that the kernel chooses, and the length in bytes of an address with such a name.
const NAME_BYTES: usize = 5;
const ADDRESS_BYTES: usize = offset_of!(libc::sockaddr_un, sun_path) + 1 + NAME_BYTES;

/// The wake socket of one sleeper.
pub struct WakeSocket(CheckedFd);

impl AsFd for WakeSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl WakeSocket {
    /// Makes a wake socket. Returns it with its name.
    pub fn new() -> io::Result<(WakeSocket, WakeSocketName)> {
        let fd = socket()?;
        // SAFETY: a plain structure, for which zeroes are valid.
        let mut address: libc::sockaddr_un = unsafe { zeroed() };
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        let family = size_of::<libc::sa_family_t>() as libc::socklen_t;
        // SAFETY: a live descriptor and an address of the given length: the family alone, for a name that the kernel
        // chooses.
        checked(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), family) })
            .context(|| "binding a wake socket".into())?;
        let mut length = size_of::<libc::sockaddr_un>() as libc::socklen_t;
        // SAFETY: the address has room for the given length.
        checked(unsafe { libc::getsockname(fd.as_raw_fd(), (&raw mut address).cast(), &raw mut length) })?;
        if length as usize != ADDRESS_BYTES {
            return Err(io::Error::other("the kernel gave a wake socket a name of an unexpected length"));
        }
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(&address.sun_path[1..=NAME_BYTES]) {
            *to = *from as u8;
        }
        Ok((WakeSocket(CheckedFd::new(fd)), WakeSocketName(u64::from_le_bytes(bytes))))
    }

    /// Receives rings that have arrived, at most RINGS_PER_DRAIN, because any process on the machine can ring without
    /// end; the rings that are left cost another empty poll. If the program has closed the socket, nothing is
    /// received from the file that has its number now.
    pub fn drain(&self) {
        let Ok(fd) = self.0.live() else { return };
        let mut byte = 0_u8;
        // SAFETY: a live descriptor and one byte of ours.
        let mut take = || unsafe { libc::recv(fd.as_raw_fd(), (&raw mut byte).cast(), 1, libc::MSG_DONTWAIT) } >= 0;
        let _ = (0..RINGS_PER_DRAIN).all(|_| take());
    }
}

/// The maximum number of rings that one drain receives: about as many as a socket holds by default
/// (net.unix.max_dgram_qlen, 10).
const RINGS_PER_DRAIN: u32 = 8;

/// Rings the wake socket of this name. A socket that is closed or full of rings needs no further ring: errors are
/// ignored.
pub fn ring(name: WakeSocketName) {
    static WAKER: OnceLock<Option<CheckedFd>> = OnceLock::new();
    // If the program has closed the waker and a file of its own has that number by now, the call fails, or is a ring as
    // good as ours.
    let Some(fd) = WAKER.get_or_init(|| socket().map(CheckedFd::new).ok()) else { return };
    let (address, length) = name.address();
    let byte = 0_u8;
    // SAFETY: a live descriptor, one byte of ours, and an address of the given length.
    let _ = unsafe {
        libc::sendto(
            fd.as_raw_fd(),
            (&raw const byte).cast(),
            1,
            libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
            (&raw const address).cast(),
            length,
        )
    };
}

fn socket() -> io::Result<OwnedFd> {
    // SAFETY: gives a new descriptor or -1.
    let fd = checked(unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })
        .context(|| "making a local socket".into())?;
    // SAFETY: the descriptor is new and nobody else's.
    Ok(fd_identity::dup_high(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoll::{Epoll, Interest};

    #[test]
    fn a_ring_makes_the_descriptor_readable_until_it_is_taken() {
        let (wake_socket, name) = WakeSocket::new().unwrap();
        let mut epoll = Epoll::new().unwrap();
        epoll.add(wake_socket.as_fd(), 7, Interest::Read).unwrap();
        assert!(!epoll.sleep(Some(0)));
        (0..1000).for_each(|_| ring(name));
        assert!(epoll.sleep(None));
        wake_socket.drain();
        assert!(epoll.sleep(Some(0)), "a drain takes no more than its share of many rings");
        while epoll.sleep(Some(0)) {
            wake_socket.drain();
        }
        ring(name);
        wake_socket.drain();
        assert!(!epoll.sleep(Some(1)));
        drop(wake_socket);
        ring(name);
        assert_eq!(WakeSocketName::from_number(name.number()), Some(name));
    }
}
