//! The port `packet-udp`: frames as UDP datagrams whose headers we write ourselves, by a packet socket and a ring, for networks that
//! drop other EtherTypes than those of IP (most clouds) and for those beyond a router (P38).
//!
//! A UDP socket keeps the port for us. Until a datagram has come to it, it is all that there is: a port that nobody calls has no ring.
//! Then the ring is opened, and the socket takes nothing any more; by it goes what is for a neighbour whom the kernel has
//! to find first (`neighbours`). The host's own packet filter, NAT and IPsec do not see the rest.

use super::address::on_interface;
use super::headers::{self, Headers};
use super::neighbours::{Neighbours, Way};
use super::packet::{self, RECEIVE_MAX};
use super::udp::socket_address;
use super::{Address, FOREIGN_KIND, FramePort, Missed, PortRange, Refused, SYSTEM_CALL_TURNS};
use hawser_os::epoll::{Epoll, Interest};
use hawser_os::interfaces::{Interface, Network};
use hawser_os::packet::{RUN_MAX, Shape};
use hawser_os::packet_ring::Ring;
use hawser_os::{bpf, clock, packet as raw, udp};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// linux/if_ether.h, ETH_P_ALL: what comes is seen in front of the kernel's IP, which looks at it in vain.
const ALL_TYPES: u16 = 0x0003;
/// While nobody has called it is asked at one turn of so many: HELLO does not mind.
const UNCALLED_TURNS: u32 = 64;
/// What a socket that stands in for the ring is to keep, in rings: the kernel counts twice a frame's bytes.
const SOCKET_ROOMS: usize = 4;

/// By what frames come.
enum Ears {
    /// Nobody has called. The socket becomes the ring's.
    Waiting(raw::Socket),
    Ring(Ring),
    /// There was no memory for a ring: by the UDP socket.
    Udp,
}

pub struct PacketUdpPort {
    socket: udp::Socket,
    address: SocketAddr,
    interface: u32,
    ears: Ears,
    epoll: Epoll,
    headers: Headers,
    neighbours: Neighbours,
    shape: Shape,
    frame_max: usize,
    room: usize,
    /// Frames that no slot was free for or long enough.
    dropped: u64,
    /// Room for one frame and its headers that is sent, or for one that comes by the UDP socket.
    buffer: Vec<u8>,
}

impl PacketUdpPort {
    /// A port at one address of an interface, as the `nth` of its host.
    pub fn open(interface: &Interface, local: &Network, range: PortRange, nth: usize) -> io::Result<PacketUdpPort> {
        let mac = packet::mac(interface)?;
        let waiting = raw::Socket::deaf()?;
        let socket = range.bind(nth, |port| udp::Socket::bind(&socket_address(local, port)))?;
        let address = socket.local()?;
        // As for `udp`.
        let _ = socket.keep_to(&interface.name);
        let mut epoll = Epoll::new()?;
        epoll.add(socket.as_fd(), 0, Interest::Read)?;
        epoll.add(waiting.as_fd(), 0, Interest::Read)?;
        let in_packet = Headers::in_packet(local.ip);
        let frame_max = interface.mtu.saturating_sub(in_packet).min(udp::LONGEST);
        let shape = packet::shape(interface.mtu);
        Ok(PacketUdpPort {
            socket,
            address,
            interface: interface.index,
            ears: Ears::Waiting(waiting),
            epoll,
            headers: Headers::new(mac, address),
            neighbours: Neighbours::new(local.ip, interface.index),
            shape,
            frame_max,
            room: shape.slots as usize * frame_max,
            dropped: 0,
            buffer: vec![0; headers::LONGEST + frame_max],
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

    /// How a frame to `to` goes now.
    #[inline]
    fn way(&self, to: &SocketAddr, now_ns: u64) -> Way {
        match self.ears {
            Ears::Ring(_) => self.neighbours.way(to.ip(), now_ns),
            _ => Way::Kernel { ask: false },
        }
    }

    fn raw(&self) -> &raw::Socket {
        match &self.ears {
            Ears::Ring(ring) => ring.socket(),
            _ => unreachable!("only who has a ring has neighbours"),
        }
    }

    /// Sends a frame to a neighbour.
    #[inline]
    fn send_to(&mut self, neighbour: &[u8; 6], to: &SocketAddr, frame: &[u8]) -> io::Result<()> {
        let mut headers = [0; headers::LONGEST];
        let begin = self.headers.write(&mut headers, neighbour, to, frame);
        let end = begin + frame.len();
        self.buffer[..begin].copy_from_slice(&headers[..begin]);
        self.buffer[begin..end].copy_from_slice(frame);
        self.raw().send(&self.buffer[..end])
    }

    /// Sends some frames to a neighbour. How many went.
    fn send_run_to(&self, neighbour: &[u8; 6], to: &SocketAddr, run: &[IoSlice<'_>]) -> io::Result<usize> {
        let (mut all, mut begin) = ([[0; headers::LONGEST]; RUN_MAX], 0);
        for (headers, frame) in all.iter_mut().zip(run) {
            begin = self.headers.write(headers, neighbour, to, frame);
        }
        self.raw().send_run(all.iter().zip(run).map(|(headers, frame)| [&headers[..begin], &frame[..]]))
    }

    /// Sends a frame the kernel's own way, and asks it for the neighbour if that is due.
    fn send_by_kernel(&mut self, to: &SocketAddr, frame: &[u8], ask: bool, now_ns: u64) -> io::Result<()> {
        let sent = self.socket.send(to, frame);
        if ask {
            self.neighbours.ask(to.ip(), now_ns);
        }
        sent
    }

    /// What is refused may be so because the interface went down, and then much may be new when it is back.
    fn refused(&mut self, to: &SocketAddr, error: &io::Error) -> Refused {
        let refused = Refused::of(error);
        if let Refused::Unreachable(_) = refused {
            self.neighbours.forget(to.ip());
        }
        refused
    }

    /// Somebody has called.
    #[cold]
    fn open_ring(&mut self) {
        let Ears::Waiting(socket) = std::mem::replace(&mut self.ears, Ears::Udp) else { return };
        match self.ring(socket) {
            Ok(ring) => self.ears = Ears::Ring(ring),
            Err(_) => drop(self.socket.set_buffers(SOCKET_ROOMS * self.room)),
        }
    }

    fn ring(&self, socket: raw::Socket) -> io::Result<Ring> {
        socket.filter(&bpf::all_of(&self.headers.filter()))?;
        socket.set_ring(self.shape)?;
        socket.bypass_queue()?;
        socket.ignore_outgoing()?;
        socket.bind(self.interface, ALL_TYPES)?;
        let ring = Ring::map(socket, self.shape)?;
        self.socket.close_ears()?;
        Ok(ring)
    }

    /// What has come to the UDP socket.
    fn receive_datagrams(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let mut count = 0;
        while count < RECEIVE_MAX
            && let Ok(Some(received)) = self.socket.receive(&mut self.buffer)
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
        self.frame_max
    }

    fn room(&self) -> usize {
        self.room
    }

    fn address(&self) -> Address {
        Address::PacketUdp(self.address)
    }

    #[inline]
    fn send(&mut self, to: &Address, frame: &[u8]) -> Result<(), Refused> {
        let to = self.check(to, frame.len())?;
        let now_ns = clock::now_ns();
        let sent = match self.way(&to, now_ns) {
            Way::To(neighbour) => self.send_to(&neighbour, &to, frame),
            Way::Kernel { ask } => self.send_by_kernel(&to, frame, ask, now_ns),
        };
        sent.map_err(|error| self.refused(&to, &error))
    }

    fn send_run(&mut self, to: &Address, frames: &[IoSlice<'_>]) -> Result<usize, Refused> {
        let to = self.check(to, frames[0].len())?;
        let now_ns = clock::now_ns();
        let mut sent = 0;
        while sent < frames.len() {
            let run = &frames[sent..frames.len().min(sent + RUN_MAX)];
            let result = match self.way(&to, now_ns) {
                Way::To(neighbour) => self.send_run_to(&neighbour, &to, run),
                Way::Kernel { ask: true } => self.send_by_kernel(&to, &run[0], true, now_ns).map(|()| 1),
                Way::Kernel { ask: false } => self.socket.send_run(&to, run),
            };
            match result {
                Ok(0) => break,
                Ok(count) => sent += count,
                Err(error) if sent == 0 => return Err(self.refused(&to, &error)),
                Err(_) => break,
            }
        }
        Ok(sent)
    }

    #[inline]
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let Ears::Ring(ring) = &mut self.ears else {
            let count = self.receive_datagrams(take);
            if count > 0 {
                self.open_ring();
                // What came before the ring was there; what came twice link knows.
                return count + self.receive_datagrams(take);
            }
            return 0;
        };
        let (begin, mut count) = (self.headers.bytes(), 0);
        let slots = ring.receive(RECEIVE_MAX, |frame| {
            if let Some(frame) = frame.get(begin..) {
                take(frame);
                count += 1;
            }
        });
        if count < slots {
            self.dropped += (slots - count) as u64;
        }
        count
    }

    fn turns(&self) -> u32 {
        match self.ears {
            Ears::Waiting(_) => UNCALLED_TURNS,
            Ears::Ring(_) => 1,
            Ears::Udp => SYSTEM_CALL_TURNS,
        }
    }

    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        each(self.epoll.as_fd());
    }

    fn missed(&mut self) -> Missed {
        let dropped = match &self.ears {
            Ears::Waiting(_) => 0,
            Ears::Ring(ring) => ring.socket().statistics().drops,
            Ears::Udp => return Missed { frames: self.socket.drops().into(), connections: 0 },
        };
        self.dropped += u64::from(dropped);
        Missed { frames: self.dropped, connections: 0 }
    }

    fn take_error(&mut self) {
        self.socket.take_error();
        if let Ears::Waiting(socket) = &self.ears {
            socket.take_error();
        } else if let Ears::Ring(ring) = &self.ears {
            ring.socket().take_error();
        }
    }
}
