//! Frames as datagrams whose IP and UDP headers we write ourselves: the common part of the ports `packet-udp` and
//! `xdp-udp` (P38).
//!
//! It receives nothing. A UDP socket reserves the port number. It also sends frames for a neighbour whose address the
//! kernel must resolve first (`neighbours`); the host's own packet filter, NAT and IPsec do not see the other frames.
//! Used by `packet_udp` and `xdp_udp`; uses `headers`.

use super::address::{on_interface, socket_address};
use super::headers::{self, Headers};
use super::neighbours::{Neighbours, Way};
use super::refused::FOREIGN_KIND;
use super::{Address, PortRange, Refused, packet};
use hawser_os::interfaces::{Interface, Network};
use hawser_os::packet::RUN_MAX;
use hawser_os::{clock, udp};
use std::io::{self, IoSlice};
use std::net::SocketAddr;

/// The sender of whole Ethernet frames.
pub trait Mouth {
    /// Sends one frame, made of a header and the bytes behind it.
    fn send(&mut self, head: &[u8], frame: &[u8]) -> Result<(), Refused>;

    /// Sends at most RUN_MAX such frames. Returns how many were sent; refused only if none was.
    fn send_run<'a>(&mut self, frames: impl Iterator<Item = [&'a [u8]; 2]>) -> Result<usize, Refused>;
}

pub struct Datagrams {
    pub socket: udp::Socket,
    pub headers: Headers,
    pub address: SocketAddr,
    pub interface: u32,
    pub frame_max: usize,
    neighbours: Neighbours,
}

impl Datagrams {
    /// Opens it at one address of an interface, as the `nth` of its host.
    pub fn open(interface: &Interface, local: &Network, range: PortRange, nth: usize) -> io::Result<Datagrams> {
        let mac = packet::mac(interface)?;
        let socket = range.bind(nth, |port| udp::Socket::bind(&socket_address(local, port)))?;
        let address = socket.local()?;
        // An error is ignored, as for `udp`.
        let _ = socket.keep_to(&interface.name);
        Ok(Datagrams {
            socket,
            headers: Headers::new(mac, address),
            address,
            interface: interface.index,
            frame_max: interface.mtu.saturating_sub(Headers::in_packet(local.ip)).min(udp::LONGEST),
            neighbours: Neighbours::new(local.ip, interface.index),
        })
    }

    fn check(&self, to: &Address, size: usize) -> Result<SocketAddr, Refused> {
        match *to {
            Address::PacketUdp(to) if to.is_ipv4() == self.address.is_ipv4() => {
                if size > self.frame_max {
                    Err(Refused::TooLong)
                } else {
                    Ok(on_interface(to, self.interface))
                }
            }
            _ => Err(FOREIGN_KIND),
        }
    }

    /// Returns how a frame to `to` is sent now.
    #[inline]
    fn way(&self, mouth: Option<&impl Mouth>, to: &SocketAddr, now_ns: u64) -> Way {
        match mouth {
            Some(_) => self.neighbours.way(to.ip(), now_ns),
            None => Way::Kernel { ask: false },
        }
    }

    /// Sends one frame; without a mouth, by the kernel's UDP.
    #[inline]
    pub fn send(&mut self, mouth: Option<&mut impl Mouth>, to: &Address, frame: &[u8]) -> Result<(), Refused> {
        let to = self.check(to, frame.len())?;
        let now_ns = clock::now_ns();
        let sent = match (self.way(mouth.as_deref(), &to, now_ns), mouth) {
            (Way::To(neighbour), Some(mouth)) => {
                let mut headers = [0; headers::LONGEST];
                let begin = self.headers.write(&mut headers, &neighbour, &to, frame);
                mouth.send(&headers[..begin], frame)
            }
            (way, _) => self.send_by_kernel(&to, frame, way, now_ns),
        };
        sent.inspect_err(|refused| self.doubt(&to, refused))
    }

    /// Sends frames as `FramePort::send_run` does.
    pub fn send_run(
        &mut self,
        mut mouth: Option<&mut impl Mouth>,
        to: &Address,
        frames: &[IoSlice<'_>],
    ) -> Result<usize, Refused> {
        let to = self.check(to, frames[0].len())?;
        let now_ns = clock::now_ns();
        let mut sent = 0;
        while sent < frames.len() {
            let run = &frames[sent..frames.len().min(sent + RUN_MAX)];
            let result = match (self.way(mouth.as_deref(), &to, now_ns), &mut mouth) {
                (Way::To(neighbour), Some(mouth)) => self.send_run_to(*mouth, &neighbour, &to, run),
                (way @ Way::Kernel { ask: true }, _) => self.send_by_kernel(&to, &run[0], way, now_ns).map(|()| 1),
                _ => self.socket.send_run(&to, run).map_err(|error| Refused::of(&error)),
            };
            match result {
                Ok(0) => break,
                Ok(count) => sent += count,
                Err(refused) if sent == 0 => return Err(refused).inspect_err(|refused| self.doubt(&to, refused)),
                Err(_) => break,
            }
        }
        Ok(sent)
    }

    /// Sends some frames to a neighbour. Returns how many were sent.
    fn send_run_to(
        &self,
        mouth: &mut impl Mouth,
        neighbour: &[u8; 6],
        to: &SocketAddr,
        run: &[IoSlice<'_>],
    ) -> Result<usize, Refused> {
        let (mut all, mut begin) = ([[0; headers::LONGEST]; RUN_MAX], 0);
        for (headers, frame) in all.iter_mut().zip(run) {
            begin = self.headers.write(headers, neighbour, to, frame);
        }
        mouth.send_run(all.iter().zip(run).map(|(headers, frame)| [&headers[..begin], &frame[..]]))
    }

    /// Sends a frame by the kernel's UDP, and looks the neighbour up if that is due.
    fn send_by_kernel(&mut self, to: &SocketAddr, frame: &[u8], way: Way, now_ns: u64) -> Result<(), Refused> {
        let sent = self.socket.send(to, frame);
        if let Way::Kernel { ask: true } = way {
            self.neighbours.ask(to.ip(), now_ns);
        }
        sent.map_err(|error| Refused::of(&error))
    }

    /// Forgets the neighbour after a refusal: the interface may have gone down, and much may have changed when it is
    /// back.
    fn doubt(&mut self, to: &SocketAddr, refused: &Refused) {
        if let Refused::Unreachable(_) = refused {
            self.neighbours.forget(to.ip());
        }
    }
}
