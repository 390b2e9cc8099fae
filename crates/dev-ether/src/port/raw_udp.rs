//! Frames as datagrams whose IP and UDP headers we write ourselves: the common part of the ports `packet-udp` and
//! `xdp-udp` (P38 of docs/protocol.md).
//!
//! This module only sends. A UDP socket reserves the port number, and also sends the frames for a next hop whose
//! address the kernel must resolve first (`neighbours`). The host's own packet filter, NAT and IPsec do not see the
//! other frames. Used by `packet_udp` and `xdp_udp`; uses `headers`.

use super::address::{socket_address, with_scope};
use super::headers::{self, UdpHeaderBuilder};
use super::neighbours::{NeighbourCache, NextHop};
use super::send_error::FOREIGN_KIND;
use super::{FrameSendError, PortAddress, PortRange, packet};
use hawser_os::interfaces::{Interface, IpNetwork};
use hawser_os::packet::RUN_MAX;
use hawser_os::{clock, udp};
use std::io::{self, IoSlice};
use std::net::SocketAddr;

/// The sender of whole Ethernet frames.
pub trait FrameTransmitter {
    /// Sends one frame, made of a header and the bytes behind it.
    fn send(&mut self, head: &[u8], frame: &[u8]) -> Result<(), FrameSendError>;

    /// Sends at most RUN_MAX such frames. Returns how many were sent, or an error if none was.
    fn send_run<'a>(&mut self, frames: impl Iterator<Item = [&'a [u8]; 2]>) -> Result<usize, FrameSendError>;
}

pub struct RawUdp {
    pub socket: udp::UdpSocket,
    pub headers: UdpHeaderBuilder,
    pub address: SocketAddr,
    pub interface: u32,
    pub frame_max: usize,
    neighbours: NeighbourCache,
}

impl RawUdp {
    /// Opens the UDP socket at one address of an interface, for the `nth` rank of the host.
    pub fn open(interface: &Interface, local: &IpNetwork, range: PortRange, nth: usize) -> io::Result<RawUdp> {
        let mac = packet::mac(interface)?;
        let socket = range.bind(nth, |port| udp::UdpSocket::bind(&socket_address(local, port)))?;
        let address = socket.local()?;
        // An error is ignored, as for `udp`.
        let _ = socket.bind_to_interface(&interface.name);
        Ok(RawUdp {
            socket,
            headers: UdpHeaderBuilder::new(mac, address),
            address,
            interface: interface.index,
            frame_max: interface.mtu.saturating_sub(UdpHeaderBuilder::bytes_in_packet(local.ip)).min(udp::MAX_DATAGRAM),
            neighbours: NeighbourCache::new(local.ip, interface.index),
        })
    }

    fn check_address(&self, to: &PortAddress, size: usize) -> Result<SocketAddr, FrameSendError> {
        match *to {
            PortAddress::PacketUdp(to) if to.is_ipv4() == self.address.is_ipv4() => {
                if size > self.frame_max {
                    Err(FrameSendError::TooLong)
                } else {
                    Ok(with_scope(to, self.interface))
                }
            }
            _ => Err(FOREIGN_KIND),
        }
    }

    /// Returns the next hop of a frame that is sent to `to` now.
    #[inline]
    fn next_hop(&self, transmitter: Option<&impl FrameTransmitter>, to: &SocketAddr, now_ns: u64) -> NextHop {
        match transmitter {
            Some(_) => self.neighbours.next_hop(to.ip(), now_ns),
            None => NextHop::Kernel { query: false },
        }
    }

    /// Sends one frame. Without a transmitter it goes by the kernel's UDP.
    #[inline]
    pub fn send(
        &mut self,
        transmitter: Option<&mut impl FrameTransmitter>,
        to: &PortAddress,
        frame: &[u8],
    ) -> Result<(), FrameSendError> {
        let to = self.check_address(to, frame.len())?;
        let now_ns = clock::now_ns();
        let sent = match (self.next_hop(transmitter.as_deref(), &to, now_ns), transmitter) {
            (NextHop::To(neighbour), Some(transmitter)) => {
                let mut headers = [0; headers::HEADERS_MAX];
                let begin = self.headers.write(&mut headers, &neighbour, &to, frame);
                transmitter.send(&headers[..begin], frame)
            }
            (next_hop, _) => self.send_by_kernel(&to, frame, next_hop, now_ns),
        };
        sent.inspect_err(|refused| self.forget_if_unreachable(&to, refused))
    }

    /// Sends frames as `FramePort::send_run` does.
    pub fn send_run(
        &mut self,
        mut transmitter: Option<&mut impl FrameTransmitter>,
        to: &PortAddress,
        frames: &[IoSlice<'_>],
    ) -> Result<usize, FrameSendError> {
        let to = self.check_address(to, frames[0].len())?;
        let now_ns = clock::now_ns();
        let mut sent = 0;
        while sent < frames.len() {
            let run = &frames[sent..frames.len().min(sent + RUN_MAX)];
            let result = match (self.next_hop(transmitter.as_deref(), &to, now_ns), &mut transmitter) {
                (NextHop::To(neighbour), Some(transmitter)) => self.send_run_to(*transmitter, &neighbour, &to, run),
                (next_hop @ NextHop::Kernel { query: true }, _) => {
                    self.send_by_kernel(&to, &run[0], next_hop, now_ns).map(|()| 1)
                }
                _ => self.socket.send_run(&to, run).map_err(|error| FrameSendError::from_io(&error)),
            };
            match result {
                Ok(0) => break,
                Ok(count) => sent += count,
                Err(refused) if sent == 0 => {
                    return Err(refused).inspect_err(|refused| self.forget_if_unreachable(&to, refused));
                }
                Err(_) => break,
            }
        }
        Ok(sent)
    }

    /// Sends at most RUN_MAX frames by the next hop with the Ethernet address `neighbour`. Returns how many were
    /// sent.
    fn send_run_to(
        &self,
        transmitter: &mut impl FrameTransmitter,
        neighbour: &[u8; 6],
        to: &SocketAddr,
        run: &[IoSlice<'_>],
    ) -> Result<usize, FrameSendError> {
        let (mut all, mut begin) = ([[0; headers::HEADERS_MAX]; RUN_MAX], 0);
        for (headers, frame) in all.iter_mut().zip(run) {
            begin = self.headers.write(headers, neighbour, to, frame);
        }
        transmitter.send_run(all.iter().zip(run).map(|(headers, frame)| [&headers[..begin], &frame[..]]))
    }

    /// Sends a frame by the kernel's UDP, and then queries the kernel for the next hop if `next_hop` says so.
    fn send_by_kernel(
        &mut self,
        to: &SocketAddr,
        frame: &[u8],
        next_hop: NextHop,
        now_ns: u64,
    ) -> Result<(), FrameSendError> {
        let sent = self.socket.send(to, frame);
        if let NextHop::Kernel { query: true } = next_hop {
            self.neighbours.query_kernel(to.ip(), now_ns);
        }
        sent.map_err(|error| FrameSendError::from_io(&error))
    }

    /// Forgets the next hop of an address if a send was refused: the interface may have gone down, and the next hop
    /// may be another one when it is back.
    fn forget_if_unreachable(&mut self, to: &SocketAddr, refused: &FrameSendError) {
        if let FrameSendError::Unreachable(_) = refused {
            self.neighbours.forget(to.ip());
        }
    }
}
