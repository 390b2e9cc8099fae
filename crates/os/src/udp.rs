//! UDP sockets that send and receive many datagrams in one call (udp(7)): the kernel or the NIC cuts a long run of
//! bytes into datagrams when it is sent (UDP_SEGMENT), and joins datagrams that arrive (UDP_GRO). Errors of sending
//! and receiving keep their numbers.

use crate::ErrorContext;
use crate::bpf;
use crate::errno::restarted;
use crate::fd_identity::CheckedFd;
use crate::inet::{self, Sockaddr};
use crate::sockopt::{self, SocketBuffers};
use std::io::{self, IoSlice};
use std::mem::zeroed;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// The maximum number of datagrams that one call sends: UDP_MAX_SEGMENTS of Linux before 6.9, and the length of the
/// array of `send_run`, which lies on the stack.
pub const RUN_MAX: usize = 64;
/// The maximum length of a datagram over IPv4, and of all segments of one call together: 65535 bytes less the headers
/// of IP and UDP.
pub const MAX_DATAGRAM: usize = 65_507;

/// The result of one receive call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    pub bytes: usize,
    /// The length of each datagram in these bytes; the last one may be shorter.
    pub size: usize,
}

pub struct UdpSocket(CheckedFd);

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A buffer for one control message with a number.
#[repr(C, align(8))]
struct ControlBuffer([u8; 32]);

impl UdpSocket {
    /// Binds a socket to one address (port 0: any). Its datagrams are never fragmented: a datagram that is too long
    /// is refused. ICMP messages about the path MTU are ignored (IP_PMTUDISC_PROBE), because anybody can send them.
    pub fn bind(address: &SocketAddr) -> io::Result<UdpSocket> {
        let fd = sockopt::socket(inet::family(address), libc::SOCK_DGRAM, 0)?;
        if address.is_ipv4() {
            sockopt::set(fd.as_fd(), libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, &libc::IP_PMTUDISC_PROBE)?;
        } else {
            sockopt::enable(fd.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY)?;
            sockopt::set(fd.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, &libc::IPV6_PMTUDISC_PROBE)?;
        }
        sockopt::poll_driver(fd.as_fd());
        inet::bind(fd.as_fd(), address)?;
        Ok(UdpSocket(CheckedFd::new(fd)))
    }

    pub fn local(&self) -> io::Result<SocketAddr> {
        inet::local(self.as_fd())
    }

    pub fn set_buffers(&self, bytes: usize) -> io::Result<SocketBuffers> {
        sockopt::set_buffers(self.as_fd(), bytes).context(|| "sizing the buffers of a UDP socket".into())
    }

    /// Restricts the socket to one interface, for sending and receiving.
    pub fn bind_to_interface(&self, interface: &str) -> io::Result<()> {
        sockopt::bind_to_interface(self.as_fd(), interface)
    }

    /// Lets the kernel join consecutive datagrams of one length (Linux 5.0).
    pub fn enable_gro(&self) -> io::Result<()> {
        sockopt::enable(self.as_fd(), libc::SOL_UDP, libc::UDP_GRO)
    }

    /// Makes the socket receive nothing any more, but keep its address. Datagrams that still arrive are dropped
    /// without notice to their senders.
    pub fn discard_incoming(&self) -> io::Result<()> {
        sockopt::filter(self.as_fd(), &bpf::match_none()).context(|| "filtering datagrams".into())
    }

    /// Returns how many datagrams for this socket were dropped so far, for want of space or because of a wrong
    /// checksum.
    pub fn drops(&self) -> u32 {
        sockopt::drops(self.as_fd())
    }

    pub fn take_error(&self) -> i32 {
        sockopt::take_error(self.as_fd())
    }

    /// Sends one datagram.
    pub fn send(&self, to: &SocketAddr, bytes: &[u8]) -> io::Result<()> {
        let raw = Sockaddr::new(to);
        let (fd, flags) = (self.0.as_raw_fd(), libc::MSG_NOSIGNAL);
        // SAFETY: `bytes` is readable for its length, and the address is valid.
        restarted(|| unsafe {
            libc::sendto(fd, bytes.as_ptr().cast(), bytes.len(), flags, raw.as_ptr(), raw.len()) as i64
        })
        .map(drop)
    }

    /// Sends `datagrams` of one length (the last may be shorter) as one run of bytes, which the kernel or the NIC
    /// cuts (Linux 4.18): at most RUN_MAX datagrams, and at most MAX_DATAGRAM bytes together. Sends either all of
    /// them or, with an error, none.
    pub fn send_segments(&self, to: &SocketAddr, datagrams: &[IoSlice<'_>]) -> io::Result<()> {
        let raw = Sockaddr::new(to);
        let size = datagrams.first().map_or(0, |first| first.len()) as u16;
        let mut control = ControlBuffer([0; 32]);
        let mut message = addressed(&raw, datagrams);
        message.msg_control = control.0.as_mut_ptr().cast();
        // SAFETY: the control buffer is aligned and has space for CMSG_SPACE(2) bytes.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(2) as _;
            let first = libc::CMSG_FIRSTHDR(&message);
            (*first).cmsg_level = libc::SOL_UDP;
            (*first).cmsg_type = libc::UDP_SEGMENT;
            (*first).cmsg_len = libc::CMSG_LEN(2) as _;
            libc::CMSG_DATA(first).cast::<u16>().write_unaligned(size);
        }
        // SAFETY: all parts of `message` are alive.
        restarted(|| unsafe { libc::sendmsg(self.0.as_raw_fd(), &message, libc::MSG_NOSIGNAL) as i64 }).map(drop)
    }

    /// Sends `datagrams` in one call, but as separate datagrams: for hosts on which `send_segments` fails. Sends at
    /// most RUN_MAX datagrams. Returns how many were sent; an error only if no datagram was sent.
    pub fn send_run(&self, to: &SocketAddr, datagrams: &[IoSlice<'_>]) -> io::Result<usize> {
        let raw = Sockaddr::new(to);
        // SAFETY: plain structures, for which zeroes are valid.
        let mut messages: [libc::mmsghdr; RUN_MAX] = unsafe { zeroed() };
        let mut count = 0;
        for (datagram, message) in datagrams.chunks(1).zip(&mut messages) {
            message.msg_hdr = addressed(&raw, datagram);
            count += 1;
        }
        let (fd, flags) = (self.0.as_raw_fd(), libc::MSG_NOSIGNAL);
        // SAFETY: `count` messages whose parts are alive and readable.
        restarted(|| unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), count, flags) }).map(|n| n as usize)
    }

    /// Receives to the front of `to` one datagram, or several that the kernel has joined; `None` if nothing has
    /// arrived.
    #[inline]
    pub fn receive(&self, to: &mut [u8]) -> io::Result<Option<Received>> {
        let mut part = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
        let mut control = ControlBuffer([0; 32]);
        // SAFETY: a plain structure, for which zeroes are valid.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = control.0.len() as _;
        // SAFETY: all parts of `message` are alive and valid for writes.
        let got = restarted(|| unsafe { libc::recvmsg(self.0.as_raw_fd(), &mut message, 0) as i64 });
        let bytes = match got {
            Ok(bytes) => bytes as usize,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(Received { bytes, size: segment_size(&message).unwrap_or(bytes) }))
    }
}

/// Returns the length of the datagrams that the kernel joined, if it did.
fn segment_size(message: &libc::msghdr) -> Option<usize> {
    // SAFETY: the kernel filled the control buffer with whole headers.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(message);
        while let Some(head) = at.as_ref() {
            if head.cmsg_level == libc::SOL_UDP && head.cmsg_type == libc::UDP_GRO {
                return usize::try_from(libc::CMSG_DATA(at).cast::<i32>().read_unaligned())
                    .ok()
                    .filter(|&size| size > 0);
            }
            at = libc::CMSG_NXTHDR(message, at);
        }
    }
    None
}

/// Makes a message to be sent to `to`; the kernel only reads `parts`. IoSlice is guaranteed to have the layout of
/// iovec.
fn addressed(to: &Sockaddr, parts: &[IoSlice<'_>]) -> libc::msghdr {
    // SAFETY: a plain structure, for which zeroes are valid.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_name = to.as_ptr().cast_mut().cast();
    message.msg_namelen = to.len();
    message.msg_iov = parts.as_ptr().cast_mut().cast();
    message.msg_iovlen = parts.len();
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (UdpSocket, UdpSocket, SocketAddr) {
        let bind = || UdpSocket::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
        let (from, to) = (bind(), bind());
        let address = to.local().unwrap();
        (from, to, address)
    }

    fn all(to: &UdpSocket, count: usize) -> Vec<Vec<u8>> {
        let (mut got, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
        while got.len() < count {
            if let Some(Received { bytes, size }) = to.receive(&mut buffer).unwrap() {
                got.extend(buffer[..bytes].chunks(size).map(<[u8]>::to_vec));
            }
        }
        got
    }

    #[test]
    fn runs_come_as_their_datagrams_whoever_cuts_and_joins_them() {
        let bytes: Vec<u8> = (0..2900).map(|i| i as u8).collect();
        let whole: Vec<Vec<u8>> = bytes.chunks(1000).map(<[u8]>::to_vec).collect();
        for joined in [false, true] {
            let (from, to, address) = pair();
            assert_eq!(to.receive(&mut [0; 9]).unwrap(), None);
            if joined {
                to.enable_gro().unwrap();
            }
            let run: Vec<IoSlice> = bytes.chunks(1000).map(IoSlice::new).collect();
            from.send_segments(&address, &run).unwrap();
            assert_eq!(all(&to, 3), whole);
            assert_eq!(from.send_run(&address, &run).unwrap(), 3);
            assert_eq!(all(&to, 3), whole);
        }
    }

    #[test]
    fn what_is_too_long_keeps_its_error_number() {
        let (from, _to, address) = pair();
        let number = |result: io::Result<()>| result.unwrap_err().raw_os_error();
        assert_eq!(number(from.send(&address, &vec![0; MAX_DATAGRAM + 1])), Some(libc::EMSGSIZE));
        let granted = from.set_buffers(1 << 16).unwrap();
        assert!(granted.receive >= 1 << 16 && granted.send >= 1 << 16, "{granted:?}");
    }
}
