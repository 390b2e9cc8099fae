//! TCP connections that never block (tcp(7)). A broken connection is an error, never a signal, because the process
//! belongs to the application. Errors of connecting, sending and receiving keep the kernel's error number
//! (`raw_os_error`).

use crate::errno::{checked, restarted};
use crate::fd_identity::{self, CheckedFd};
use crate::inet::{self, Sockaddr};
use crate::{ErrorContext, sockopt};
use hawser_base::UserMem;
use std::io;
use std::mem::zeroed;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The maximum number of pieces that one call sends: the array that describes them lies on the stack.
pub const PIECES_MAX: usize = 64;

/// The length of the name of a congestion control with the zero behind it: TCP_CA_NAME_MAX of the kernel's net/tcp.h.
const CONGESTION_NAME_BYTES: usize = 16;

pub struct TcpListener(CheckedFd);

pub struct TcpStream(CheckedFd);

impl AsFd for TcpListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsFd for TcpStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl TcpListener {
    /// Listens at `address` (port 0: any).
    pub fn bind(address: &SocketAddr) -> io::Result<TcpListener> {
        let fd = sockopt::socket(inet::family(address), libc::SOCK_STREAM, 0)?;
        // Allows a port whose last owner's connections still linger.
        sockopt::enable(fd.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR)?;
        if address.is_ipv6() {
            sockopt::enable(fd.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY)?;
        }
        inet::bind(fd.as_fd(), address)?;
        // SAFETY: plain numbers; the kernel cuts the backlog to net.core.somaxconn.
        checked(unsafe { libc::listen(fd.as_raw_fd(), 4096) }).context(|| format!("listening at {address}"))?;
        Ok(TcpListener(CheckedFd::new(fd)))
    }

    pub fn local(&self) -> io::Result<SocketAddr> {
        inet::local(self.as_fd())
    }

    /// Returns the next connection, if one waits.
    pub fn accept(&self) -> io::Result<Option<TcpStream>> {
        let (flags, null) = (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, std::ptr::null_mut());
        // SAFETY: the address is not requested; gives a new descriptor or -1.
        match restarted(|| unsafe { libc::accept4(self.0.as_raw_fd(), null, null.cast(), flags) }) {
            Ok(fd) => {
                // SAFETY: the descriptor is new and nobody else's.
                let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
                Ok(Some(TcpStream(CheckedFd::new(fd_identity::dup_high(fd)))))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl TcpStream {
    /// Begins to connect from `from` (port 0: any), by one interface, to `to`; `take_error` returns the result later.
    /// Bytes are sent without delay (TCP_NODELAY). `adjust` may set options before.
    pub fn connect(
        from: &SocketAddr,
        to: &SocketAddr,
        interface: &str,
        adjust: impl FnOnce(&TcpStream),
    ) -> io::Result<TcpStream> {
        let fd = sockopt::socket(inet::family(to), libc::SOCK_STREAM, 0)?;
        sockopt::enable(fd.as_fd(), libc::IPPROTO_TCP, libc::TCP_NODELAY)?;
        // Without this the routes choose the interface. They also do so if this process may not bind to an interface.
        let _ = sockopt::bind_to_interface(fd.as_fd(), interface);
        // The kernel chooses the local port only in `connect`, when it knows the peer: each peer can then have as
        // many connections as there are ports.
        let _ = sockopt::enable(fd.as_fd(), libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT);
        inet::bind(fd.as_fd(), from)?;
        let stream = TcpStream(CheckedFd::new(fd));
        adjust(&stream);
        let raw = Sockaddr::new(to);
        // SAFETY: a valid address of that length. The call is not restarted: an interrupted connect continues by
        // itself.
        match checked(unsafe { libc::connect(stream.0.as_raw_fd(), raw.as_ptr(), raw.len()) }) {
            Err(error) if !matches!(error.raw_os_error(), Some(libc::EINPROGRESS | libc::EINTR)) => Err(error),
            _ => Ok(stream),
        }
    }

    /// Takes the pending error of the connection. Returns its number, 0 for none.
    pub fn take_error(&self) -> i32 {
        sockopt::take_error(self.as_fd())
    }

    /// Sends the pieces, at most PIECES_MAX, one behind the other, as far as there is space in the send buffer.
    /// Returns how many bytes were sent; `None` if there is no space or the connection is not established yet.
    pub fn send<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> io::Result<Option<usize>> {
        let mut parts = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; PIECES_MAX];
        let mut count = 0;
        for (piece, part) in pieces.into_iter().zip(&mut parts) {
            *part = libc::iovec { iov_base: piece.as_ptr().cast_mut().cast(), iov_len: piece.len() };
            count += 1;
        }
        // SAFETY: all pieces are alive and readable.
        unsafe { self.send_parts(&mut parts[..count]) }
    }

    /// Sends `header` and the application's memory behind it. Returns the same as `send`.
    pub fn send_user(&self, header: &[u8], payload: UserMem) -> io::Result<Option<usize>> {
        let mut parts = [
            libc::iovec { iov_base: header.as_ptr().cast_mut().cast(), iov_len: header.len() },
            libc::iovec { iov_base: payload.as_ptr().cast(), iov_len: payload.len() },
        ];
        // SAFETY: `header` is alive and readable, and so is a UserMem by its promise (otherwise the kernel returns
        // EFAULT).
        unsafe { self.send_parts(&mut parts) }
    }

    /// SAFETY: all parts must be alive and readable.
    unsafe fn send_parts(&self, parts: &mut [libc::iovec]) -> io::Result<Option<usize>> {
        // SAFETY: a plain structure, for which zeroes are valid.
        let mut message: libc::msghdr = unsafe { zeroed() };
        (message.msg_iov, message.msg_iovlen) = (parts.as_mut_ptr(), parts.len());
        // SAFETY: the caller's promise; MSG_NOSIGNAL, since the process is the application's.
        let sent = restarted(|| unsafe { libc::sendmsg(self.0.as_raw_fd(), &message, libc::MSG_NOSIGNAL) as i64 });
        none_if_would_block(sent)
    }

    /// Receives to the front of `to`. Returns how many bytes were received, 0 at the end, `None` if nothing has
    /// arrived.
    pub fn receive(&self, to: &mut [u8]) -> io::Result<Option<usize>> {
        self.receive_user(UserMem::of_slice(to))
    }

    /// Receives to the application's memory. Returns the same as `receive`.
    pub fn receive_user(&self, to: UserMem) -> io::Result<Option<usize>> {
        let (fd, place, len) = (self.0.as_raw_fd(), to.as_ptr().cast(), to.len());
        // SAFETY: a UserMem is valid for writes for its length, by its promise (otherwise the kernel returns EFAULT).
        none_if_would_block(restarted(|| unsafe { libc::recv(fd, place, len, 0) as i64 }))
    }

    /// Returns the number of bytes that `receive` would get now. These bytes stay there, whatever happens to the
    /// connection (tcp(7), SIOCINQ).
    pub fn available(&self) -> usize {
        let mut bytes: libc::c_int = 0;
        // SAFETY: FIONREAD writes one int.
        let asked = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
        if asked < 0 { 0 } else { bytes.max(0) as usize }
    }

    /// Returns whether all bytes that had arrived were received and no more can arrive, because the peer has ended
    /// the connection or because it has broken.
    pub fn is_closed(&self) -> bool {
        let (fd, mut byte) = (self.0.as_raw_fd(), 0_u8);
        let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
        // SAFETY: room for one byte.
        let seen =
            none_if_would_block(restarted(|| unsafe { libc::recv(fd, (&raw mut byte).cast(), 1, flags) as i64 }));
        matches!(seen, Ok(Some(0)) | Err(_))
    }

    /// Leaves the acknowledgement of last bytes that are fewer than a full segment to the next segments, in either
    /// direction, or to the kernel's timer, of 40 ms and more (TCP_QUICKACK 0, tcp(7)). Without this setting the
    /// `receive` that takes these bytes acknowledges them before it returns. The kernel may return to that, as when the
    /// timer has run out.
    pub fn delay_acknowledgements(&self, is_delayed: bool) {
        let _ = sockopt::set(self.as_fd(), libc::IPPROTO_TCP, libc::TCP_QUICKACK, &i32::from(!is_delayed));
    }

    /// Returns the size of the receive buffer, in bytes, in which the kernel counts its own overhead, too; None if it
    /// does not tell.
    pub fn receive_buffer(&self) -> Option<usize> {
        usize::try_from(sockopt::get(self.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF).ok()?).ok()
    }

    /// Returns the limit of the receive window, in bytes: of the bytes that the peer may send before this end
    /// acknowledges any (TCP_WINDOW_CLAMP, tcp(7)); None if the kernel does not tell.
    pub fn receive_window_limit(&self) -> Option<usize> {
        usize::try_from(sockopt::get(self.as_fd(), libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP).ok()?).ok()
    }

    /// Limits the receive window to `bytes`; None: to what fits into the buffer. When the kernel enlarges the buffer it
    /// usually sets the limit to what fits into that.
    pub fn limit_receive_window(&self, bytes: Option<usize>) {
        let limit = bytes.and_then(|bytes| i32::try_from(bytes).ok()).unwrap_or(i32::MAX);
        let _ = sockopt::set(self.as_fd(), libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &limit);
    }

    /// Returns the smoothed round-trip time, in microseconds; None if the kernel does not report it (TCP_INFO).
    pub fn round_trip_us(&self) -> Option<u32> {
        // SAFETY: a plain structure, for which zeroes are valid.
        let mut info: libc::tcp_info = unsafe { zeroed() };
        let mut len = size_of_val(&info) as libc::socklen_t;
        let place = (&raw mut info).cast();
        // SAFETY: room for `len` bytes of plain numbers.
        let got = unsafe { libc::getsockopt(self.0.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, place, &mut len) };
        (got == 0 && info.tcpi_rtt > 0).then_some(info.tcpi_rtt)
    }

    /// Sets the maximum of the retransmission timeout to `ms`, which may be 1000 to 120000 (TCP_RTO_MAX_MS, Linux
    /// 6.15). Without this setting the kernel doubles each timeout up to 120 s. Returns whether the kernel has
    /// accepted the setting.
    pub fn set_max_rto(&self, ms: i32) -> bool {
        /// linux/tcp.h; not in libc 0.2 yet.
        const TCP_RTO_MAX_MS: i32 = 44;
        sockopt::set(self.as_fd(), libc::IPPROTO_TCP, TCP_RTO_MAX_MS, &ms).is_ok()
    }

    /// Returns the present retransmission timeout of TCP, in microseconds, if bytes that are not acknowledged were
    /// retransmitted. None if all bytes are acknowledged, if bytes only wait for space at the peer, or if the kernel
    /// does not report it (TCP_INFO).
    pub fn rto_us(&self) -> Option<u32> {
        // SAFETY: a plain structure, for which zeroes are valid.
        let mut info: libc::tcp_info = unsafe { zeroed() };
        sockopt::fill(self.as_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, &mut info).ok()?;
        (info.tcpi_unacked > 0 && info.tcpi_retransmits > 0).then_some(info.tcpi_rto)
    }

    /// Returns the name of the congestion control; None if the kernel does not tell.
    pub fn congestion_control(&self) -> Option<String> {
        let mut name = [0_u8; CONGESTION_NAME_BYTES];
        let len = sockopt::fill(self.as_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, &mut name).ok()?;
        let end = name[..len].iter().position(|&byte| byte == 0).unwrap_or(len);
        Some(String::from_utf8_lossy(&name[..end]).into_owned())
    }

    /// Sets the congestion control. Error: the kernel does not have it, or does not allow it to this process.
    pub fn set_congestion_control(&self, name: &str) -> io::Result<()> {
        set_congestion_control(self.as_fd(), name)
    }

    /// Sets the size of the send buffer, which limits the bytes that were given to the kernel and that the peer has
    /// not acknowledged. The kernel sets twice `bytes`, because it counts its own overhead, too (socket(7)).
    pub fn set_send_buffer(&self, bytes: i32) {
        let _ = sockopt::set(self.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUF, &bytes);
    }

    /// The kernel's overhead for a send is at most its bytes divided by this number: each 64 KiB occupy some 2 KiB
    /// more.
    pub const OVERHEAD_DIVISOR: usize = 16;

    /// Returns whether a send of `bytes` bytes would be taken whole now, as far as the kernel tells.
    pub fn has_space_for(&self, bytes: usize) -> bool {
        sockopt::free_send_bytes(self.as_fd()).is_none_or(|free| bytes + bytes / Self::OVERHEAD_DIVISOR <= free)
    }

    /// Makes closing the connection discard the bytes that are not sent yet (SO_LINGER).
    pub fn abort_on_close(&self) {
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        let _ = sockopt::set(self.as_fd(), libc::SOL_SOCKET, libc::SO_LINGER, &linger);
    }
}

/// Makes a connection of TCP end with an error once the other host has been silent for about `limit_s` seconds: either
/// nothing is sent, and it does not answer the kernel's questions (tcp(7), TCP_KEEPIDLE), or it does not acknowledge
/// what was sent (TCP_USER_TIMEOUT).
pub fn detect_silence(connection: BorrowedFd, limit_s: u32) {
    let (idle_s, interval_s, count) = ((limit_s / 3).max(1) as i32, (limit_s / 6).max(1) as i32, 4_i32);
    let _ = sockopt::enable(connection, libc::SOL_SOCKET, libc::SO_KEEPALIVE);
    let options = [
        (libc::TCP_KEEPIDLE, idle_s),
        (libc::TCP_KEEPINTVL, interval_s),
        (libc::TCP_KEEPCNT, count),
        (libc::TCP_USER_TIMEOUT, limit_s as i32 * 1000),
    ];
    for (option, value) in options {
        let _ = sockopt::set(connection, libc::IPPROTO_TCP, option, &value);
    }
}

/// Makes a connection wait for a silent host again, as long as TCP does (`detect_silence`): the kernel would also end
/// one whose reader pauses.
pub fn tolerate_silence(connection: BorrowedFd) {
    let _ = sockopt::set(connection, libc::SOL_SOCKET, libc::SO_KEEPALIVE, &0_i32);
    let _ = sockopt::set(connection, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, &0_i32);
}

/// Checks that the kernel allows the congestion control to this process.
pub fn check_congestion_control(name: &str) -> io::Result<()> {
    let socket = sockopt::socket(libc::AF_INET, libc::SOCK_STREAM, 0)?;
    set_congestion_control(socket.as_fd(), name)
}

fn set_congestion_control(fd: BorrowedFd, name: &str) -> io::Result<()> {
    let option = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
    sockopt::set_name::<CONGESTION_NAME_BYTES>(fd, option, name, libc::ENOENT)
}

fn none_if_would_block(result: io::Result<i64>) -> io::Result<Option<usize>> {
    match result {
        Ok(bytes) => Ok(Some(bytes as usize)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_pass_and_an_end_is_seen() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let listener = TcpListener::bind(&any).unwrap();
        assert!(listener.accept().unwrap().is_none());
        let client = TcpStream::connect(&any, &listener.local().unwrap(), "lo", |_| {}).unwrap();
        let server = loop {
            if let Some(server) = listener.accept().unwrap() {
                break server;
            }
        };
        let mut buffer = [0; 16];
        assert_eq!(server.receive(&mut buffer).unwrap(), None);
        assert_eq!(client.send([&b"one"[..], b"", b"three"]).unwrap(), Some(8));
        while server.receive(&mut buffer[..8]).unwrap().is_none() {}
        assert_eq!(&buffer[..8], b"onethree");
        client.set_send_buffer(128 << 10);
        assert!(client.has_space_for(64 << 10) && !client.has_space_for(1 << 30));
        while client.send([&[0; 64 << 10][..]]).unwrap().is_some() {}
        assert!(!client.has_space_for(256 << 10));
        drop(client);
        while server.receive(&mut buffer).unwrap() != Some(0) {}
        // The peer is closed: an error at last, and no signal.
        while server.send([&buffer[..]]).is_ok() {}
    }

    #[test]
    fn pauses_are_limited_where_the_kernel_can_and_there_are_none_where_all_is_acknowledged() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let listener = TcpListener::bind(&any).unwrap();
        let client = TcpStream::connect(&any, &listener.local().unwrap(), "lo", |_| {}).unwrap();
        let limit_ms = || sockopt::get(client.as_fd(), libc::IPPROTO_TCP, 44);
        match limit_ms() {
            Ok(before) => assert!(client.set_max_rto(1_500) && before > 1_500 && limit_ms().unwrap() == 1_500),
            Err(error) => {
                println!("NOT TESTED, this kernel limits no pauses: {error}");
                assert!(!client.set_max_rto(1_500));
            }
        }
        assert_eq!(client.rto_us(), None);
    }

    #[test]
    fn a_receive_window_is_limited_and_acknowledgements_are_delayed() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let listener = TcpListener::bind(&any).unwrap();
        let client = TcpStream::connect(&any, &listener.local().unwrap(), "lo", |_| {}).unwrap();
        assert!(client.receive_buffer().unwrap() > 16 << 10);
        for (bytes, limit) in [(Some(16 << 10), 16 << 10), (None, i32::MAX as usize)] {
            client.limit_receive_window(bytes);
            assert_eq!(client.receive_window_limit(), Some(limit));
        }
        for is_delayed in [true, false] {
            client.delay_acknowledgements(is_delayed);
            let is_quick = sockopt::get(client.as_fd(), libc::IPPROTO_TCP, libc::TCP_QUICKACK).unwrap();
            assert_eq!(is_quick, i32::from(!is_delayed));
        }
    }

    #[test]
    fn nobody_there_is_an_error_number() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let gone = TcpListener::bind(&any).unwrap().local().unwrap();
        let number = match TcpStream::connect(&any, &gone, "lo", |_| {}) {
            Ok(stream) => loop {
                if let Err(error) = stream.send([&b"x"[..]]) {
                    break error.raw_os_error();
                }
            },
            Err(error) => error.raw_os_error(),
        };
        assert!(matches!(number, Some(libc::ECONNREFUSED | libc::EPIPE)), "{number:?}");
    }
}
