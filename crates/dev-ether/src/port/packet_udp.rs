//! The port `packet-udp`: frames as UDP datagrams whose headers we write ourselves, by a packet socket and a ring,
//! for networks that drop other EtherTypes than those of IP (most clouds) and for peers beyond a router (P38 of
//! docs/protocol.md).
//!
//! A bound UDP socket reserves the UDP port number (`raw_udp`). The port uses only this socket until a datagram has
//! come to it: a port that no peer uses has no ring. Then the ring is opened, and the UDP socket receives nothing any
//! more.

use super::headers;
use super::packet::{self, RECEIVE_MAX};
use super::raw_udp::{FrameTransmitter, RawUdp};
use super::{FramePort, FrameSendError, PortAddress, PortDrops, PortRange, SYSCALL_POLL_INTERVAL};
use hawser_os::bpf::{self, LoadField};
use hawser_os::epoll::{Epoll, Interest};
use hawser_os::interfaces::{Interface, IpNetwork};
use hawser_os::packet as raw;
use hawser_os::packet::RingConfig;
use hawser_os::packet_ring::PacketRing;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

/// ETH_P_ALL (linux/if_ether.h): the socket gets frames of all types, before the kernel's IP gets them; a filter
/// selects those of this port. IP then processes them too, needlessly, because the UDP socket discards them.
const ALL_TYPES: u16 = 0x0003;
/// Poll interval (`FramePort::poll_interval`) of a port that no peer has used: HELLO, the first frame of a path, can
/// wait.
const UNUSED_POLL_INTERVAL: u32 = 64;
/// Requested buffer of the UDP socket if it replaces the ring, in multiples of the bytes of frames that a ring takes:
/// the kernel counts the memory of a packet, which is longer than its frame.
const SOCKET_BUFFER_RINGS: usize = 4;

/// The source of received frames.
enum ReceiveMode {
    /// The UDP socket, because no peer has used the port yet. This packet socket becomes the ring's.
    Unused(raw::PacketSocket),
    Ring(PacketRing),
    /// The UDP socket, because there was no memory for a ring.
    Udp,
}

pub struct PacketUdpPort {
    pub(super) raw_udp: RawUdp,
    receive_mode: ReceiveMode,
    epoll: Epoll,
    shape: RingConfig,
    receive_buffer_bytes: usize,
    /// Frames for which no slot was free or long enough.
    dropped: u64,
    /// Buffer for one frame with its headers to send, or for one that arrives by the UDP socket.
    buffer: Vec<u8>,
}

/// The ring's socket, and a buffer for one frame.
struct RingTransmitter<'a>(&'a raw::PacketSocket, &'a mut [u8]);

impl FrameTransmitter for RingTransmitter<'_> {
    #[inline]
    fn send(&mut self, head: &[u8], frame: &[u8]) -> Result<(), FrameSendError> {
        let end = head.len() + frame.len();
        self.1[..head.len()].copy_from_slice(head);
        self.1[head.len()..end].copy_from_slice(frame);
        self.0.send(&self.1[..end]).map_err(|error| FrameSendError::from_io(&error))
    }

    fn send_run<'a>(&mut self, frames: impl Iterator<Item = [&'a [u8]; 2]>) -> Result<usize, FrameSendError> {
        self.0.send_run(frames).map_err(|error| FrameSendError::from_io(&error))
    }
}

impl PacketUdpPort {
    /// Opens a port at one address of an interface, for the `nth` rank of the host.
    pub fn open(interface: &Interface, local: &IpNetwork, range: PortRange, nth: usize) -> io::Result<PacketUdpPort> {
        let ring_socket = raw::PacketSocket::unbound()?;
        let raw_udp = RawUdp::open(interface, local, range, nth)?;
        let mut epoll = Epoll::new()?;
        epoll.add(raw_udp.socket.as_fd(), 0, Interest::Read)?;
        epoll.add(ring_socket.as_fd(), 0, Interest::Read)?;
        let shape = packet::ring_shape(interface.mtu);
        Ok(PacketUdpPort {
            receive_mode: ReceiveMode::Unused(ring_socket),
            epoll,
            shape,
            receive_buffer_bytes: shape.slots as usize * raw_udp.frame_max,
            dropped: 0,
            buffer: vec![0; headers::HEADERS_MAX + raw_udp.frame_max],
            raw_udp,
        })
    }

    /// Returns the transmitter. None if the port has no ring: then all frames go by the kernel's UDP.
    #[inline]
    fn transmitter<'a>(receive_mode: &'a ReceiveMode, buffer: &'a mut [u8]) -> Option<RingTransmitter<'a>> {
        match receive_mode {
            ReceiveMode::Ring(ring) => Some(RingTransmitter(ring.socket(), buffer)),
            _ => None,
        }
    }

    /// Opens the ring, because a peer has used the port. Without memory for a ring the UDP socket receives from now
    /// on.
    #[cold]
    fn open_ring(&mut self) {
        let ReceiveMode::Unused(socket) = std::mem::replace(&mut self.receive_mode, ReceiveMode::Udp) else { return };
        match self.ring(socket) {
            Ok(ring) => self.receive_mode = ReceiveMode::Ring(ring),
            Err(_) => drop(self.raw_udp.socket.set_buffers(SOCKET_BUFFER_RINGS * self.receive_buffer_bytes)),
        }
    }

    fn ring(&self, socket: raw::PacketSocket) -> io::Result<PacketRing> {
        let for_us = [vec![(LoadField::PacketType, 0)], self.raw_udp.headers.fields()].concat();
        socket.filter(&bpf::match_all(&for_us))?;
        socket.set_ring(self.shape)?;
        socket.bypass_queue()?;
        socket.ignore_outgoing()?;
        socket.bind(self.raw_udp.interface, ALL_TYPES)?;
        let ring = PacketRing::map(socket, self.shape)?;
        self.raw_udp.socket.discard_incoming()?;
        Ok(ring)
    }

    /// Receives the datagrams of the UDP socket.
    fn receive_datagrams(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let mut count = 0;
        while count < RECEIVE_MAX
            && let Ok(Some(received)) = self.raw_udp.socket.receive(&mut self.buffer)
        {
            take(&self.buffer[..received.bytes]);
            count += 1;
        }
        count
    }
}

impl FramePort for PacketUdpPort {
    fn name(&self) -> &'static str {
        "packet-udp"
    }

    fn frame_max(&self) -> usize {
        self.raw_udp.frame_max
    }

    fn receive_buffer_bytes(&self) -> usize {
        self.receive_buffer_bytes
    }

    fn address(&self) -> PortAddress {
        PortAddress::PacketUdp(self.raw_udp.address)
    }

    #[inline]
    fn send(&mut self, to: &PortAddress, frame: &[u8]) -> Result<(), FrameSendError> {
        self.raw_udp.send(Self::transmitter(&self.receive_mode, &mut self.buffer).as_mut(), to, frame)
    }

    fn send_run(&mut self, to: &PortAddress, frames: &[IoSlice<'_>]) -> Result<usize, FrameSendError> {
        self.raw_udp.send_run(Self::transmitter(&self.receive_mode, &mut self.buffer).as_mut(), to, frames)
    }

    #[inline]
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let ReceiveMode::Ring(ring) = &mut self.receive_mode else {
            let count = self.receive_datagrams(take);
            if count > 0 {
                self.open_ring();
                // Receive datagrams that arrived before the ring was there. A frame that came to both the socket and
                // the ring is a duplicate, which the crate `link` recognizes.
                return count + self.receive_datagrams(take);
            }
            return 0;
        };
        let (frame_offset, mut count) = (self.raw_udp.headers.bytes(), 0);
        let slots = ring.receive(RECEIVE_MAX, |frame| {
            if let Some(frame) = frame.get(frame_offset..) {
                take(frame);
                count += 1;
            }
        });
        if count < slots {
            self.dropped += (slots - count) as u64;
        }
        count
    }

    fn poll_interval(&self) -> u32 {
        match self.receive_mode {
            ReceiveMode::Unused(_) => UNUSED_POLL_INTERVAL,
            ReceiveMode::Ring(_) => 1,
            ReceiveMode::Udp => SYSCALL_POLL_INTERVAL,
        }
    }

    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        each(self.epoll.as_fd());
    }

    fn owned_fds(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        each(self.epoll.as_fd());
        each(self.raw_udp.socket.as_fd());
        match &self.receive_mode {
            ReceiveMode::Unused(socket) => each(socket.as_fd()),
            ReceiveMode::Ring(ring) => each(ring.socket().as_fd()),
            ReceiveMode::Udp => {}
        }
    }

    fn drops(&mut self) -> PortDrops {
        let dropped = match &self.receive_mode {
            ReceiveMode::Unused(_) => 0,
            ReceiveMode::Ring(ring) => ring.socket().statistics().drops,
            ReceiveMode::Udp => {
                return PortDrops { frames: self.raw_udp.socket.drops().into(), ..PortDrops::default() };
            }
        };
        self.dropped += u64::from(dropped);
        PortDrops { frames: self.dropped, ..PortDrops::default() }
    }

    fn take_error(&mut self) {
        self.raw_udp.socket.take_error();
        if let ReceiveMode::Unused(socket) = &self.receive_mode {
            socket.take_error();
        } else if let ReceiveMode::Ring(ring) = &self.receive_mode {
            ring.socket().take_error();
        }
    }
}
