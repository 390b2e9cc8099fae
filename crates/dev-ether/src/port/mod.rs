//! Frame ports: they carry whole frames between this rank and others over one rail, by six methods, one file each.
//!
//! A port must never wait, and must never stop working because of received data. It may lose, duplicate and reorder
//! frames (`link` repairs that), and hands over every received frame: rubbish and forgeries too, which `link`
//! recognizes by their tags. A rank has one port for each rail and method; the UDP port may send in several flows
//! (`flows`).

mod address;
mod flows;
mod headers;
mod neighbours;
mod nic_queues;
mod packet;
mod packet_udp;
mod range;
mod raw_udp;
mod send_error;
mod send_in_calls;
mod stream;
mod udp;
mod xdp;
mod xdp_udp;
mod xsk_port;

pub use address::{MalformedAddress, PortAddress};
pub use flows::FLOWS_MAX;
pub use nic_queues::NicQueues;
pub(crate) use packet::frame_max as raw_frame_max;
pub use packet::{FanoutSocket, PacketPort};
pub use packet_udp::PacketUdpPort;
pub use range::{PORT_RANGE, PortRange};
pub use send_error::FrameSendError;
pub use stream::{CongestionChoice, TCP_CONGESTION};
pub use stream::{ConnectionKind, GREETING_BYTES, Greeting, PortId, RankCredentials, StreamPort, split_stream_frames};
pub use udp::UdpPort;
pub use xdp::XdpPort;
pub use xdp_udp::XdpUdpPort;

use std::io::IoSlice;
use std::os::fd::BorrowedFd;

/// A frame port: carries whole frames between this rank and others over one rail. It may lose, duplicate and reorder
/// them, never split or change them knowingly.
pub trait FramePort: Send {
    /// Returns the method's name, as in HAWSER_PORT: "xdp", "packet", "xdp-udp", "packet-udp", "udp" or "stream".
    fn name(&self) -> &'static str;

    /// Returns a text on how it works on this rail, if that varies.
    fn details(&self) -> Option<String> {
        None
    }

    /// Returns the longest frame, header of `link` included, in bytes.
    fn frame_max(&self) -> usize;

    /// Returns how many bytes, in frames of the maximum length, the kernel really keeps for us before it drops
    /// frames.
    fn receive_buffer_bytes(&self) -> usize;

    /// Returns the address at which others reach it, for the rank's business card.
    fn address(&self) -> PortAddress;

    /// Sets the peer's port to which the next frames are sent. Only TCP uses it, because a connection begins with a
    /// greeting that names that port (P32 of docs/protocol.md).
    fn set_peer(&mut self, _peer: PortId) {}

    /// Sends one frame at once.
    fn send(&mut self, to: &PortAddress, frame: &[u8]) -> Result<(), FrameSendError>;

    /// Sends frames of one length (the last may be shorter), at least one, to one peer, with as few system calls as
    /// possible. Returns how many were sent, which are the first ones, or an error if none was.
    fn send_run(&mut self, to: &PortAddress, frames: &[IoSlice<'_>]) -> Result<usize, FrameSendError>;

    /// Sends as `send_run` does, by flow `flow` to this peer (P39). If the port does not have that flow, the frames
    /// go by the first flow.
    fn send_by_flow(&mut self, _flow: u8, to: &PortAddress, frames: &[IoSlice<'_>]) -> Result<usize, FrameSendError> {
        self.send_run(to, frames)
    }

    /// Returns the number of flows that the port has opened until now, the first one included.
    fn flow_count(&self) -> usize {
        1
    }

    /// Passes received frames to `take`, a bounded number of them, and sends frames that wait in the port for space.
    /// Returns how many frames were received. An empty poll costs almost nothing: one load (the ring of a
    /// packet socket), one load for each queue and a lock (XDP), or one system call (a UDP socket or TCP).
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize;

    /// Returns the port's poll interval. After many empty polls the port is polled only once for so many polls of a
    /// port with a cheap poll. It is a power of two, at most POLL_INTERVAL_MAX.
    fn poll_interval(&self) -> u32 {
        1
    }

    /// Returns the TCP port, for operations that only TCP has (`direct`).
    fn as_stream(&mut self) -> Option<&mut StreamPort> {
        None
    }

    /// Calls `each` with the descriptors to sleep on: one of them is readable when `receive` has something to do.
    /// (One epoll set over several descriptors would be woken twice for each frame.)
    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>));

    /// Returns when `receive` has something to do, if nothing arrives earlier.
    fn deadline_ns(&self) -> Option<u64> {
        None
    }

    /// Ends TCP connections that would retransmit too late what was lost while a cable was unplugged. The next send
    /// opens new ones. Call it now and then while a peer does not answer.
    fn reset_stalled(&mut self) {}

    /// Returns whether the port is bound to its interface. If it is, it is of no use once that interface is gone,
    /// even if another interface takes the name and the address.
    fn is_bound(&self) -> bool {
        true
    }

    /// Returns whether the descriptors that the port has opened since it was made (for connections and further flows)
    /// are still ours: the program has not closed them.
    fn owns_all_fds(&self) -> bool {
        true
    }

    /// Calls `each` with all descriptors that the port has had from the start, to check whether they are still ours.
    fn owned_fds(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        self.descriptors(each);
    }

    /// Returns the counts of frames and connections that came and were never handed over. It costs a system call:
    /// call it now and then.
    fn drops(&mut self) -> PortDrops;

    /// Takes an error that is pending on a descriptor (the interface went down), which would end this sleep and
    /// every later one at once. Call it before a sleep.
    fn take_error(&mut self);
}

/// Counts of frames and connections that came to a port and were never handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortDrops {
    /// Frames that the kernel dropped: there was no space for them, or a checksum was wrong.
    pub frames: u64,
    /// Connections whose greeting was not of this job, had been accepted before, or did not come in time.
    pub connections: u64,
    /// Connections of peers in which a frame's length was invalid.
    pub corrupted: u64,
    /// Times that callers had to wait, because the process had no descriptors left.
    pub deferred: u64,
}

impl PortDrops {
    /// Returns the sum of both.
    pub fn and(self, other: PortDrops) -> PortDrops {
        PortDrops {
            frames: self.frames + other.frames,
            connections: self.connections + other.connections,
            corrupted: self.corrupted + other.corrupted,
            deferred: self.deferred + other.deferred,
        }
    }
}

/// Poll interval of a port whose poll is a system call (0.4 us) and not a load.
const SYSCALL_POLL_INTERVAL: u32 = 8;

/// Maximum poll interval of a port (`FramePort::poll_interval`): that of a TCP port that is not used.
pub const POLL_INTERVAL_MAX: u32 = 256;
