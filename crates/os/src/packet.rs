//! Sockets of raw Ethernet frames (packet(7)). Needs CAP_NET_RAW in the network namespace.
//!
//! A new socket receives nothing. It gets its filter and its ring first; then `bind` lets frames in, so that no
//! unwanted frame arrives. A bound socket may join a fanout group. `packet_ring` receives the frames.

use crate::bpf::BpfInsn;
use crate::errno::{checked, restarted};
use crate::fd_identity::CheckedFd;
use crate::{ErrorContext, sockopt};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Numbers from linux/if_packet.h.
mod option {
    pub const RX_RING: i32 = 5;
    pub const STATISTICS: i32 = 6;
    pub const VERSION: i32 = 10;
    pub const FANOUT: i32 = 18;
    pub const QDISC_BYPASS: i32 = 20;
    pub const FANOUT_DATA: i32 = 22;
    pub const IGNORE_OUTGOING: i32 = 23;
    pub const TPACKET_V2: i32 = 1;
    pub const FANOUT_CBPF: u32 = 6;
    /// The kernel chooses an unused group.
    pub const FANOUT_FLAG_UNIQUEID: u32 = 0x2000;
}

/// The maximum number of frames that one call sends: the arrays that describe them lie on the stack.
pub const RUN_MAX: usize = 64;

/// The configuration of a ring: linux/if_packet.h `struct tpacket_req`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct RingConfig {
    /// A power of two of pages.
    pub block_bytes: u32,
    pub blocks: u32,
    /// A multiple of 16.
    pub slot_bytes: u32,
    pub slots: u32,
}

/// Counts of a ring since they were last read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Statistics {
    /// Frames that passed the filter, those that were dropped included.
    pub frames: u32,
    /// Frames for which no slot was free.
    pub drops: u32,
}

/// A fanout group of sockets: each frame goes to exactly one socket of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FanoutGroup(u16);

pub struct PacketSocket(CheckedFd);

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// For a new socket, and for one that another process made and passed on.
impl From<OwnedFd> for PacketSocket {
    fn from(fd: OwnedFd) -> PacketSocket {
        PacketSocket(CheckedFd::new(fd))
    }
}

impl From<PacketSocket> for OwnedFd {
    fn from(socket: PacketSocket) -> OwnedFd {
        socket.0.into()
    }
}

impl PacketSocket {
    /// Makes a socket that receives nothing.
    pub fn unbound() -> io::Result<PacketSocket> {
        sockopt::socket(libc::AF_PACKET, libc::SOCK_RAW, 0)
            .map(PacketSocket::from)
            .context(|| "making a packet socket (needs CAP_NET_RAW)".into())
    }

    /// Makes the kernel drop every frame that `program` does not accept.
    pub fn filter(&self, program: &[BpfInsn]) -> io::Result<()> {
        sockopt::filter(self.as_fd(), program).context(|| "filtering frames".into())
    }

    /// Makes the socket receive frames into a ring, which `packet_ring` maps.
    pub fn set_ring(&self, shape: RingConfig) -> io::Result<()> {
        let doing = || format!("making a ring of {} KiB for frames", shape.block_bytes / 1024 * shape.blocks);
        sockopt::set(self.as_fd(), libc::SOL_PACKET, option::VERSION, &option::TPACKET_V2).context(doing)?;
        sockopt::set(self.as_fd(), libc::SOL_PACKET, option::RX_RING, &shape).context(doing)
    }

    /// Makes the socket bypass the queueing discipline: frames that the NIC does not take at once are refused.
    pub fn bypass_queue(&self) -> io::Result<()> {
        sockopt::enable(self.as_fd(), libc::SOL_PACKET, option::QDISC_BYPASS)
    }

    /// Ignores frames that this host sends (Linux 4.20).
    pub fn ignore_outgoing(&self) -> io::Result<()> {
        sockopt::enable(self.as_fd(), libc::SOL_PACKET, option::IGNORE_OUTGOING)
    }

    /// Binds the socket to the interface of number `index`: from now on it receives the frames of EtherType
    /// `protocol` that arrive by this interface, and sends by it.
    pub fn bind(&self, index: u32, protocol: u16) -> io::Result<()> {
        // SAFETY: a plain structure, for which zeroes are valid.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as _;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = index as i32;
        let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: a valid address of that length.
        checked(unsafe { libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), len) })
            .map(drop)
            .context(|| format!("binding a packet socket to interface {index}"))
    }

    /// Makes a fanout group whose first member is this socket, which must be bound. For each frame `program` returns
    /// a number: modulo the size of the group, it is the index, in the order of joining, of the socket that gets the
    /// frame. The program sees the frame without its Ethernet header. Indices do not change if no socket leaves the
    /// group.
    pub fn create_fanout(&self, program: &[BpfInsn]) -> io::Result<FanoutGroup> {
        let doing = || "making a fanout group of packet sockets".into();
        let kind = (option::FANOUT_CBPF | option::FANOUT_FLAG_UNIQUEID) << 16;
        sockopt::set(self.as_fd(), libc::SOL_PACKET, option::FANOUT, &kind).context(doing)?;
        sockopt::set_program(self.as_fd(), libc::SOL_PACKET, option::FANOUT_DATA, program).context(doing)?;
        let group = sockopt::get(self.as_fd(), libc::SOL_PACKET, option::FANOUT).context(doing)?;
        Ok(FanoutGroup(group as u16))
    }

    /// Adds this socket, which must be bound, to a group, with the group's next index.
    pub fn join_fanout(&self, group: FanoutGroup) -> io::Result<()> {
        let value = u32::from(group.0) | option::FANOUT_CBPF << 16;
        sockopt::set(self.as_fd(), libc::SOL_PACKET, option::FANOUT, &value)
            .context(|| "joining a fanout group of packet sockets".into())
    }

    /// Returns the counts of frames that passed the filter and that were dropped since the last call.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        let mut len = size_of::<Statistics>() as libc::socklen_t;
        let place = (&raw mut statistics).cast();
        // SAFETY: room for `len` bytes of plain numbers; a failure leaves them zero.
        unsafe { libc::getsockopt(self.0.as_raw_fd(), libc::SOL_PACKET, option::STATISTICS, place, &mut len) };
        statistics
    }

    /// Takes the pending error, such as that of an interface that went down. Returns its number, 0 for none.
    pub fn take_error(&self) -> i32 {
        sockopt::take_error(self.as_fd())
    }

    /// Sends one whole frame. The error keeps its number.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: `frame` is readable for its length.
        restarted(|| unsafe { libc::send(self.0.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) as i64 }).map(drop)
    }

    /// Sends frames that consist of a header and a body, at most RUN_MAX. Returns how many were sent; an error only
    /// if no frame was sent.
    pub fn send_run<'a>(&self, frames: impl Iterator<Item = [&'a [u8]; 2]>) -> io::Result<usize> {
        // SAFETY: plain structures, for which zeroes are valid.
        let mut messages: [libc::mmsghdr; RUN_MAX] = unsafe { zeroed() };
        let mut parts = [[libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 2]; RUN_MAX];
        let mut count = 0;
        for ((message, parts), frame) in messages.iter_mut().zip(&mut parts).zip(frames) {
            *parts = frame.map(|b| libc::iovec { iov_base: b.as_ptr().cast_mut().cast(), iov_len: b.len() });
            message.msg_hdr.msg_iov = parts.as_mut_ptr();
            message.msg_hdr.msg_iovlen = 2;
            count += 1;
        }
        // SAFETY: `count` messages whose parts are alive and readable.
        restarted(|| unsafe { libc::sendmmsg(self.0.as_raw_fd(), messages.as_mut_ptr(), count, 0) }).map(|n| n as usize)
    }
}
