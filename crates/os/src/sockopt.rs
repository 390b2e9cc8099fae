//! Options of sockets (setsockopt(2)), for the files of this crate that make sockets.

use crate::bpf::BpfInsn;
use crate::errno::checked;
use crate::fd_identity;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Makes a new socket that is closed on exec and whose calls never block.
pub(crate) fn socket(domain: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain numbers; gives a new descriptor or -1.
    let fd = checked(unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, protocol) })?;
    // SAFETY: the descriptor is new and nobody else's.
    Ok(fd_identity::dup_high(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
}

/// Sets an option to a value of plain data: a number or one of the kernel's structures.
pub(crate) fn set<T: Copy>(fd: BorrowedFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is `len` readable bytes, and the kernel reads no more.
    checked(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, std::ptr::from_ref(value).cast(), len) }).map(drop)
}

/// Switches an option on.
pub(crate) fn enable(fd: BorrowedFd, level: i32, name: i32) -> io::Result<()> {
    set(fd, level, name, &1_i32)
}

/// Sets an option to a BPF program: a filter (SOL_SOCKET, SO_ATTACH_FILTER), or another option that takes one.
pub(crate) fn set_program(fd: BorrowedFd, level: i32, name: i32, program: &[BpfInsn]) -> io::Result<()> {
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    set(fd, level, name, &program)
}

/// Makes the kernel drop every packet for a socket that `program` does not accept.
pub(crate) fn filter(fd: BorrowedFd, program: &[BpfInsn]) -> io::Result<()> {
    set_program(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, program)
}

/// Reads an option that is a number.
pub(crate) fn get(fd: BorrowedFd, level: i32, name: i32) -> io::Result<i32> {
    let mut value = 0_i32;
    let mut len = size_of::<i32>() as libc::socklen_t;
    let place = (&raw mut value).cast();
    // SAFETY: room for `len` bytes.
    checked(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, place, &mut len) })?;
    Ok(value)
}

/// Reads an option whose value is one of the kernel's structures of plain numbers into `value`. An older kernel may
/// fill only the front of the structure. Returns how many bytes the kernel has filled.
pub(crate) fn fill<T: Copy>(fd: BorrowedFd, level: i32, name: i32, value: &mut T) -> io::Result<usize> {
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: room for `len` bytes.
    checked(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, std::ptr::from_mut(value).cast(), &mut len) })?;
    Ok(len as usize)
}

/// Returns the kernel's account of a socket's memory, by the numbers `libc::SK_MEMINFO_*`; None before Linux 4.12.
fn memory_info(fd: BorrowedFd) -> Option<[u32; 9]> {
    let mut values = [0; 9];
    let filled = fill(fd, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut values).ok()?;
    (filled == size_of_val(&values)).then_some(values)
}

/// Returns the number of packets that the kernel dropped for a socket (its buffer was full, or a checksum wrong)
/// since it was made; 0 before Linux 4.12.
pub(crate) fn drops(fd: BorrowedFd) -> u32 {
    memory_info(fd).map_or(0, |values| values[libc::SK_MEMINFO_DROPS as usize])
}

/// Returns the bytes that are free in a socket's send buffer, in which the kernel counts its own overhead, too. None
/// before Linux 4.12.
pub(crate) fn free_send_bytes(fd: BorrowedFd) -> Option<usize> {
    let values = memory_info(fd)?;
    let of = |at: i32| values[at as usize] as usize;
    Some(of(libc::SK_MEMINFO_SNDBUF).saturating_sub(of(libc::SK_MEMINFO_WMEM_QUEUED)))
}

/// Takes the pending error of a socket. Returns its number, 0 for none. While an error is pending, poll(2) reports
/// the socket as ready.
pub(crate) fn take_error(fd: BorrowedFd) -> i32 {
    get(fd, libc::SOL_SOCKET, libc::SO_ERROR).unwrap_or(libc::EBADF)
}

/// The sizes of the buffers that the kernel has granted, in bytes. The kernel counts the memory of packets
/// (truesize), not their payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketBuffers {
    pub receive: usize,
    pub send: usize,
}

/// Requests a receive buffer and a send buffer of `bytes` each. The kernel grants more than net.core.{r,w}mem_max
/// only if this process has CAP_NET_ADMIN. Returns the granted sizes.
pub(crate) fn set_buffers(fd: BorrowedFd, bytes: usize) -> io::Result<SocketBuffers> {
    let wanted = bytes.min(i32::MAX as usize / 2) as i32;
    let ask = |force: i32, plain: i32, name: i32| -> io::Result<usize> {
        if set(fd, libc::SOL_SOCKET, force, &wanted).is_err() {
            set(fd, libc::SOL_SOCKET, plain, &wanted)?;
        }
        Ok(get(fd, libc::SOL_SOCKET, name)?.max(0) as usize)
    };
    Ok(SocketBuffers {
        receive: ask(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, libc::SO_RCVBUF)?,
        send: ask(libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, libc::SO_SNDBUF)?,
    })
}

/// Restricts a socket to one interface, for sending and receiving, whatever the routes are (SO_BINDTODEVICE, without
/// privilege since Linux 5.7).
pub(crate) fn bind_to_interface(fd: BorrowedFd, name: &str) -> io::Result<()> {
    set_name::<{ libc::IFNAMSIZ }>(fd, (libc::SOL_SOCKET, libc::SO_BINDTODEVICE), name, libc::ENODEV)
}

/// Sets an option (level, name) to the name of something that the kernel has, in LEN bytes with the zero behind it. The
/// kernel would cut a longer one and might find something else: the error is `unknown` then, its number for a name that
/// nothing has.
pub(crate) fn set_name<const LEN: usize>(
    fd: BorrowedFd,
    (level, option): (i32, i32),
    name: &str,
    unknown: i32,
) -> io::Result<()> {
    let mut padded = [0_u8; LEN];
    if name.len() >= LEN {
        return Err(io::Error::from_raw_os_error(unknown));
    }
    padded[..name.len()].copy_from_slice(name.as_bytes());
    set(fd, level, option, &padded)
}

/// Makes a receive that finds nothing poll the NIC's queue itself, instead of leaving that to the NIC's interrupt
/// (SO_BUSY_POLL). Has no effect if the driver does not support it, or if this process may not request it
/// (CAP_NET_ADMIN, or net.core.busy_read).
pub(crate) fn poll_driver(fd: BorrowedFd) {
    /// The time for which a blocking call would poll; the calls of our sockets do not block, and poll once. The
    /// kernel's documentation recommends this value for net.core.busy_read.
    const MICROSECONDS: i32 = 50;
    let _ = set(fd, libc::SOL_SOCKET, libc::SO_BUSY_POLL, &MICROSECONDS);
}
