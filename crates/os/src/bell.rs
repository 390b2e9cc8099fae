//! A wake socket: a doorbell as a descriptor, for a sleeper that waits for other descriptors too: a local datagram
//! socket (unix(7), SOCK_DGRAM).
//!
//! The kernel gives it an abstract name of five digits; any process that knows the name can ring, which costs the
//! sleeper one empty poll.

use crate::During;
use crate::errno::checked;
use crate::held::{self, Owned};
use std::io;
use std::mem::{offset_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;

/// The name of a wake socket: the bytes behind the leading zero, as many as the kernel chooses; never 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name(u64);

impl Name {
    /// Returns the name as a number, to be written into shared memory.
    pub fn number(self) -> u64 {
        self.0
    }

    pub fn of(number: u64) -> Option<Name> {
        (number != 0).then_some(Name(number))
    }

    fn address(self) -> (libc::sockaddr_un, libc::socklen_t) {
        // SAFETY: a plain structure, for which zeroes are valid.
        let mut address: libc::sockaddr_un = unsafe { zeroed() };
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        for (to, from) in address.sun_path[1..=LENGTH].iter_mut().zip(self.0.to_le_bytes()) {
            *to = from as libc::c_char;
        }
        (address, ADDRESS as libc::socklen_t)
    }
}

/// Digits of a name that the kernel chooses, and bytes of such an address.
const LENGTH: usize = 5;
const ADDRESS: usize = offset_of!(libc::sockaddr_un, sun_path) + 1 + LENGTH;

/// The wake socket of one sleeper.
pub struct Bell(Owned);

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Bell {
    /// Makes a wake socket. Returns it with its name.
    pub fn new() -> io::Result<(Bell, Name)> {
        let fd = socket()?;
        // SAFETY: a plain structure, for which zeroes are valid.
        let mut address: libc::sockaddr_un = unsafe { zeroed() };
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        let family = size_of::<libc::sa_family_t>() as libc::socklen_t;
        // SAFETY: a live descriptor and an address of the given length: the family alone, for a name that the kernel
        // chooses.
        checked(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), family) })
            .during(|| "naming a bell".into())?;
        let mut length = size_of::<libc::sockaddr_un>() as libc::socklen_t;
        // SAFETY: the address has room for the given length.
        checked(unsafe { libc::getsockname(fd.as_raw_fd(), (&raw mut address).cast(), &raw mut length) })?;
        if length as usize != ADDRESS {
            return Err(io::Error::other("the kernel gave a bell a name of another length than ever"));
        }
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(&address.sun_path[1..=LENGTH]) {
            *to = *from as u8;
        }
        Ok((Bell(Owned::new(fd)), Name(u64::from_le_bytes(bytes))))
    }

    /// Takes the rings that have arrived, but only some of many: any process on the machine can ring without end, and
    /// the rest costs another empty poll. Nothing is taken from a program's file that has the socket's number by now.
    pub fn quiet(&self) {
        let Ok(fd) = self.0.live() else { return };
        let mut byte = 0_u8;
        // SAFETY: a live descriptor and one byte of ours.
        let mut take = || unsafe { libc::recv(fd.as_raw_fd(), (&raw mut byte).cast(), 1, libc::MSG_DONTWAIT) } >= 0;
        let _ = (0..RINGS_PER_LOOK).all(|_| take());
    }
}

/// Rings that are taken at once: about as many as a socket holds by default (net.unix.max_dgram_qlen, 10).
const RINGS_PER_LOOK: u32 = 8;

/// Rings the wake socket of this name. One that is closed, or full of rings, needs none.
pub fn ring(name: Name) {
    static WAKER: OnceLock<Option<Owned>> = OnceLock::new();
    // If the program has closed the waker and a file of its own has that number by now, the call fails, or is a ring as
    // good as ours.
    let Some(fd) = WAKER.get_or_init(|| socket().map(Owned::new).ok()) else { return };
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
        .during(|| "making a local socket".into())?;
    // SAFETY: the descriptor is new and nobody else's.
    Ok(held::aside(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoll::{Epoll, Interest};

    #[test]
    fn a_ring_makes_the_descriptor_readable_until_it_is_taken() {
        let (bell, name) = Bell::new().unwrap();
        let mut epoll = Epoll::new().unwrap();
        epoll.add(bell.as_fd(), 7, Interest::Read).unwrap();
        assert!(!epoll.sleep(Some(0)));
        (0..1000).for_each(|_| ring(name));
        assert!(epoll.sleep(None));
        bell.quiet();
        assert!(epoll.sleep(Some(0)), "a look takes no more than its share of many rings");
        while epoll.sleep(Some(0)) {
            bell.quiet();
        }
        ring(name);
        bell.quiet();
        assert!(!epoll.sleep(Some(1)));
        drop(bell);
        ring(name);
        assert_eq!(Name::of(name.number()), Some(name));
    }
}
