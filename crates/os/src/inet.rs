//! Internet addresses in the kernel's form (struct sockaddr_in, sockaddr_in6), for sockets of UDP and TCP.

use crate::errno::checked;
use std::io;
use std::mem::zeroed;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};

/// An address in the kernel's form; it serves for both families.
#[derive(Clone, Copy)]
#[repr(C)]
union RawSockaddr {
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

#[derive(Clone, Copy)]
pub(crate) struct Sockaddr {
    raw: RawSockaddr,
    len: libc::socklen_t,
}

impl Sockaddr {
    pub(crate) fn new(address: &SocketAddr) -> Sockaddr {
        // SAFETY: plain structures, for which zeroes are valid.
        let mut raw: RawSockaddr = unsafe { zeroed() };
        let len = match address {
            SocketAddr::V4(v4) => {
                raw.v4 = libc::sockaddr_in {
                    sin_family: libc::AF_INET as _,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                    sin_zero: [0; 8],
                };
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(v6) => {
                raw.v6 = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as _,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: v6.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                    sin6_scope_id: v6.scope_id(),
                };
                size_of::<libc::sockaddr_in6>()
            }
        };
        Sockaddr { raw, len: len as _ }
    }

    pub(crate) fn as_ptr(&self) -> *const libc::sockaddr {
        (&raw const self.raw).cast()
    }

    pub(crate) fn len(&self) -> libc::socklen_t {
        self.len
    }
}

/// Returns the address family of the sockets that can reach `address`.
pub(crate) fn family(address: &SocketAddr) -> i32 {
    if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }
}

/// Converts an address from the kernel's form. None if `place` is null, or if the address is neither IPv4 nor IPv6.
///
/// # Safety
/// `place` is null or points to a whole address of the family that it names.
pub(crate) unsafe fn read(place: *const libc::sockaddr) -> Option<SocketAddr> {
    // SAFETY: not null, and at least the family is there.
    match i32::from(unsafe { place.as_ref() }?.sa_family) {
        libc::AF_INET => {
            // SAFETY: the family means that it is this structure.
            let v4 = unsafe { place.cast::<libc::sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { place.cast::<libc::sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            Some(SocketAddrV6::new(ip, u16::from_be(v6.sin6_port), 0, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

pub(crate) fn bind(fd: BorrowedFd, address: &SocketAddr) -> io::Result<()> {
    let raw = Sockaddr::new(address);
    // SAFETY: a valid address of that length.
    checked(unsafe { libc::bind(fd.as_raw_fd(), raw.as_ptr(), raw.len()) }).map(drop)
}

/// Returns the address that a socket is bound to.
pub(crate) fn local(fd: BorrowedFd) -> io::Result<SocketAddr> {
    // SAFETY: plain structures, for which zeroes are valid.
    let mut raw: RawSockaddr = unsafe { zeroed() };
    let mut len = size_of::<RawSockaddr>() as libc::socklen_t;
    let place: *mut libc::sockaddr = (&raw mut raw).cast();
    // SAFETY: room for `len` bytes.
    checked(unsafe { libc::getsockname(fd.as_raw_fd(), place, &mut len) })?;
    // SAFETY: the kernel wrote a whole address.
    unsafe { read(place) }.ok_or_else(|| io::Error::from_raw_os_error(libc::EAFNOSUPPORT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_from_the_kernels_form() {
        for text in ["10.1.2.3:4567", "[fe80::1%5]:80", "[2001:db8::7]:65535"] {
            let address: SocketAddr = text.parse().unwrap();
            let raw = Sockaddr::new(&address);
            // SAFETY: a whole address.
            assert_eq!(unsafe { read(raw.as_ptr()) }, Some(address));
        }
        // SAFETY: null is allowed.
        assert_eq!(unsafe { read(std::ptr::null()) }, None);
    }
}
