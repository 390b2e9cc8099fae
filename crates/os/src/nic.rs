//! The present state of one network interface, to be compared with its state when a port was opened on it
//! (netdevice(7)): whether it exists, its MAC address, and whether the host still has an IP address. The queries are
//! a few system calls that never wait.
//!
//! Used by `dev-ether` for ports on which nothing arrives; uses `interfaces` and `udp`.

use crate::interfaces;
use crate::udp::UdpSocket;
use std::ffi::{CStr, CString};
use std::io;
use std::net::SocketAddr;

/// Returns the number of the interface of this name; None if there is none.
pub fn index(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    // SAFETY: a C string.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (index > 0).then_some(index)
}

/// Returns whether there is an interface of this number. A later interface of the same name has another number.
pub fn exists(index: u32) -> bool {
    name(index).is_some()
}

/// Returns the MAC address of the interface of this number; None if there is no such interface or the query fails.
pub fn mac(index: u32) -> Option<[u8; 6]> {
    let asker = interfaces::query_socket().ok()?;
    let answer = interfaces::ioctl(&asker, &name(index)?, libc::SIOCGIFHWADDR, std::ptr::null_mut())?;
    // SAFETY: the kernel has written an address of the interface there, which begins with the six bytes of an
    // Ethernet's.
    let bytes = unsafe { answer.ifr_ifru.ifru_hwaddr.sa_data };
    Some(std::array::from_fn(|at| bytes[at] as u8))
}

/// Returns whether the host has this address, that is, whether a socket can be bound to it. Returns true if no socket
/// can be made.
pub fn has_address(address: &SocketAddr) -> bool {
    let mut any_port = *address;
    any_port.set_port(0);
    UdpSocket::bind(&any_port).err().is_none_or(|error| error.kind() != io::ErrorKind::AddrNotAvailable)
}

fn name(index: u32) -> Option<String> {
    let mut name = [0; libc::IF_NAMESIZE];
    // SAFETY: room for the longest name and its end.
    let told = unsafe { libc::if_indextoname(index, name.as_mut_ptr()) };
    // SAFETY: a C string, where it is not null.
    (!told.is_null()).then(|| unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_there_and_an_address_of_nobody_is_not() {
        let lo = index("lo").unwrap();
        assert!(exists(lo) && mac(lo) == Some([0; 6]) && has_address(&"127.0.0.1:9".parse().unwrap()));
        assert!(!exists(1 << 30) && mac(1 << 30).is_none() && index("nosuch0").is_none());
        // An address of TEST-NET-1 (RFC 5737), which no interface has.
        assert!(!has_address(&"192.0.2.1:9".parse().unwrap()));
    }
}
