//! The port `udp`: frames as datagrams of an ordinary socket (P31 of docs/protocol.md). It needs no privilege, and
//! routers forward the datagrams.
//!
//! Bulk is fast because the kernel or the NIC cuts and joins datagrams: a run of frames is sent as one large datagram
//! that is cut (GSO), and received as one if the datagrams were joined (GRO). If a network limits the rate of each
//! flow, bulk leaves from several source ports (`flows`).

use super::address::{socket_address, with_scope};
use super::flows::FlowSockets;
use super::send_error::FOREIGN_KIND;
use super::send_in_calls::send_in_calls;
use super::{FramePort, FrameSendError, PortAddress, PortDrops, PortRange, SYSCALL_POLL_INTERVAL};
use hawser_os::interfaces::{Interface, IpNetwork};
use hawser_os::udp::{MAX_DATAGRAM, RUN_MAX, UdpSocket};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// Requested buffer for each direction; without privilege the kernel grants at most net.core.rmem_max and wmem_max.
const BUFFER_BYTES: usize = 4 << 20;
/// Bytes of the headers of IP and UDP.
const HEADERS_V4: usize = 20 + 8;
const HEADERS_V6: usize = 40 + 8;
/// Maximum system calls of one `receive`. With joined datagrams they return up to 256 KiB.
const RECEIVE_MAX: usize = 4;
/// Error numbers of a send that the kernel must cut. EIO: the interface cannot compute checksums, so no datagram can
/// ever be cut; EINVAL: a segment is longer than the MTU now.
const EIO: i32 = 5;
const EINVAL: i32 = 22;

pub struct UdpPort {
    socket: UdpSocket,
    flows: FlowSockets,
    address: SocketAddr,
    /// The interface, as the scope of peers' link-local addresses.
    scope: u32,
    frame_max: usize,
    receive_buffer_bytes: usize,
    /// Whether the kernel cuts runs for us here.
    has_segmentation: bool,
    is_bound: bool,
    buffer: Box<[u8]>,
}

impl UdpPort {
    /// Opens a port at one address of an interface, for the `nth` rank of the host.
    pub fn open(interface: &Interface, local: &IpNetwork, range: PortRange, nth: usize) -> io::Result<UdpPort> {
        let socket = range.bind(nth, |port| UdpSocket::bind(&socket_address(local, port)))?;
        let address = socket.local()?;
        // Bind to the interface: otherwise the routing table chooses the interface, and two rails in one network
        // become one. If this process is not permitted to bind, the routing table does choose.
        let is_bound = socket.bind_to_interface(&interface.name).is_ok();
        // Ignore an error: before Linux 5.0 no datagrams are joined.
        let _ = socket.enable_gro();
        let granted = socket.set_buffers(BUFFER_BYTES)?.receive;
        let headers = if address.is_ipv4() { HEADERS_V4 } else { HEADERS_V6 };
        let frame_max = interface.mtu.saturating_sub(headers).min(MAX_DATAGRAM);
        let buffer = vec![0; 1 << 16].into();
        let flows = FlowSockets::new(&interface.name, &address, BUFFER_BYTES);
        Ok(UdpPort {
            socket,
            flows,
            address,
            scope: interface.index,
            frame_max,
            receive_buffer_bytes: usable_buffer_bytes(granted),
            has_segmentation: true,
            is_bound,
            buffer,
        })
    }

    fn check_address(&self, to: &PortAddress, size: usize) -> Result<SocketAddr, FrameSendError> {
        let PortAddress::Udp(to) = *to else { return Err(FOREIGN_KIND) };
        if size > self.frame_max { Err(FrameSendError::TooLong) } else { Ok(with_scope(to, self.scope)) }
    }

    /// Sends as much as one call can. Returns how many frames were sent.
    fn send_some(&mut self, flow: u8, to: &SocketAddr, frames: &[IoSlice<'_>]) -> io::Result<usize> {
        let socket = self.flows.socket(flow).unwrap_or(&self.socket);
        if let [frame] = frames {
            return socket.send(to, frame).map(|()| 1);
        }
        if self.has_segmentation {
            match socket.send_segments(to, frames) {
                Ok(()) => return Ok(frames.len()),
                Err(error) if error.raw_os_error() == Some(EIO) => self.has_segmentation = false,
                Err(error) if error.raw_os_error() == Some(EINVAL) => {}
                Err(error) => return Err(error),
            }
        }
        socket.send_run(to, frames)
    }
}

/// Converts the granted buffer into bytes of frames: the kernel counts a full frame with at most twice its bytes (its
/// buffers are powers of two and have heads), and bytes that were read still count until a quarter of the whole was
/// read.
fn usable_buffer_bytes(granted: usize) -> usize {
    granted / 2 * 3 / 4
}

impl FramePort for UdpPort {
    fn name(&self) -> &'static str {
        "udp"
    }

    fn frame_max(&self) -> usize {
        self.frame_max
    }

    fn receive_buffer_bytes(&self) -> usize {
        self.receive_buffer_bytes
    }

    fn address(&self) -> PortAddress {
        PortAddress::Udp(self.address)
    }

    #[inline]
    fn send(&mut self, to: &PortAddress, frame: &[u8]) -> Result<(), FrameSendError> {
        let to = self.check_address(to, frame.len())?;
        self.socket.send(&to, frame).map_err(|error| FrameSendError::from_io(&error))
    }

    fn send_run(&mut self, to: &PortAddress, frames: &[IoSlice<'_>]) -> Result<usize, FrameSendError> {
        self.send_by_flow(0, to, frames)
    }

    fn flow_count(&self) -> usize {
        1 + self.flows.count()
    }

    fn send_by_flow(&mut self, flow: u8, to: &PortAddress, frames: &[IoSlice<'_>]) -> Result<usize, FrameSendError> {
        let size = frames[0].len();
        let to = self.check_address(to, size)?;
        let frames_a_call = (MAX_DATAGRAM / size.max(1)).clamp(1, RUN_MAX);
        send_in_calls(frames, frames_a_call, |run| self.send_some(flow, &to, run))
            .map_err(|error| FrameSendError::from_io(&error))
    }

    #[inline]
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let mut count = 0;
        for _ in 0..RECEIVE_MAX {
            // An error is an ICMP report on an earlier send: reading it is all that is needed.
            let Ok(Some(received)) = self.socket.receive(&mut self.buffer) else { break };
            for frame in self.buffer[..received.bytes].chunks(received.size.max(1)) {
                take(frame);
                count += 1;
            }
            // A single datagram was probably the last.
            if received.bytes == received.size {
                break;
            }
        }
        count
    }

    fn poll_interval(&self) -> u32 {
        SYSCALL_POLL_INTERVAL
    }

    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        each(self.socket.as_fd());
    }

    fn is_bound(&self) -> bool {
        self.is_bound
    }

    fn owns_all_fds(&self) -> bool {
        self.flows.are_ours()
    }

    fn drops(&mut self) -> PortDrops {
        PortDrops { frames: self.socket.drops().into(), ..PortDrops::default() }
    }

    fn take_error(&mut self) {
        self.socket.take_error();
    }
}
