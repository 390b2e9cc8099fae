//! The port `packet-udp`: frames as UDP datagrams whose headers we write ourselves, by a packet socket and a ring, for
//! networks that drop other EtherTypes than those of IP (most clouds) and for peers beyond a router (P38).
//!
//! The port uses only the UDP socket that reserves its number (`datagrams`) until a datagram has come to it: a port
//! that no peer uses has no ring. Then the ring is opened, and the UDP socket receives nothing any more.

use super::datagrams::{Datagrams, Mouth};
use super::headers;
use super::packet::{self, RECEIVE_MAX};
use super::{Address, FramePort, Missed, PortRange, Refused, SYSTEM_CALL_TURNS};
use hawser_os::bpf::{self, Field};
use hawser_os::epoll::{Epoll, Interest};
use hawser_os::interfaces::{Interface, Network};
use hawser_os::packet as raw;
use hawser_os::packet::Shape;
use hawser_os::packet_ring::Ring;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

/// linux/if_ether.h, ETH_P_ALL: frames are seen before the kernel's IP, which processes them needlessly.
const ALL_TYPES: u16 = 0x0003;
/// Turns of a port that no peer has used: HELLO can wait.
const UNCALLED_TURNS: u32 = 64;
/// Requested buffer of a socket that replaces the ring, in multiples of a ring: the kernel counts a frame's bytes
/// twice.
const SOCKET_ROOMS: usize = 4;

/// The source of received frames.
enum Ears {
    /// No peer has used the port. This socket becomes the ring's.
    Waiting(raw::Socket),
    Ring(Ring),
    /// The UDP socket, because there was no memory for a ring.
    Udp,
}

pub struct PacketUdpPort {
    pub(super) datagrams: Datagrams,
    ears: Ears,
    epoll: Epoll,
    shape: Shape,
    room: usize,
    /// Frames for which no slot was free or long enough.
    dropped: u64,
    /// Buffer for one frame with its headers to send, or for one that arrives by the UDP socket.
    buffer: Vec<u8>,
}

/// The ring's socket, and a buffer for one frame.
struct RingMouth<'a>(&'a raw::Socket, &'a mut [u8]);

impl Mouth for RingMouth<'_> {
    #[inline]
    fn send(&mut self, head: &[u8], frame: &[u8]) -> Result<(), Refused> {
        let end = head.len() + frame.len();
        self.1[..head.len()].copy_from_slice(head);
        self.1[head.len()..end].copy_from_slice(frame);
        self.0.send(&self.1[..end]).map_err(|error| Refused::of(&error))
    }

    fn send_run<'a>(&mut self, frames: impl Iterator<Item = [&'a [u8]; 2]>) -> Result<usize, Refused> {
        self.0.send_run(frames).map_err(|error| Refused::of(&error))
    }
}

impl PacketUdpPort {
    /// Opens a port at one address of an interface, as the `nth` of its host.
    pub fn open(interface: &Interface, local: &Network, range: PortRange, nth: usize) -> io::Result<PacketUdpPort> {
        let waiting = raw::Socket::deaf()?;
        let datagrams = Datagrams::open(interface, local, range, nth)?;
        let mut epoll = Epoll::new()?;
        epoll.add(datagrams.socket.as_fd(), 0, Interest::Read)?;
        epoll.add(waiting.as_fd(), 0, Interest::Read)?;
        let shape = packet::shape(interface.mtu);
        Ok(PacketUdpPort {
            ears: Ears::Waiting(waiting),
            epoll,
            shape,
            room: shape.slots as usize * datagrams.frame_max,
            dropped: 0,
            buffer: vec![0; headers::LONGEST + datagrams.frame_max],
            datagrams,
        })
    }

    /// Returns the mouth. A port without a ring has none, and uses no neighbours.
    #[inline]
    fn mouth<'a>(ears: &'a Ears, buffer: &'a mut [u8]) -> Option<RingMouth<'a>> {
        match ears {
            Ears::Ring(ring) => Some(RingMouth(ring.socket(), buffer)),
            _ => None,
        }
    }

    /// Opens the ring, because a peer has used the port.
    #[cold]
    fn open_ring(&mut self) {
        let Ears::Waiting(socket) = std::mem::replace(&mut self.ears, Ears::Udp) else { return };
        match self.ring(socket) {
            Ok(ring) => self.ears = Ears::Ring(ring),
            Err(_) => drop(self.datagrams.socket.set_buffers(SOCKET_ROOMS * self.room)),
        }
    }

    fn ring(&self, socket: raw::Socket) -> io::Result<Ring> {
        let for_us = [vec![(Field::PacketType, 0)], self.datagrams.headers.fields()].concat();
        socket.filter(&bpf::all_of(&for_us))?;
        socket.set_ring(self.shape)?;
        socket.bypass_queue()?;
        socket.ignore_outgoing()?;
        socket.bind(self.datagrams.interface, ALL_TYPES)?;
        let ring = Ring::map(socket, self.shape)?;
        self.datagrams.socket.close_ears()?;
        Ok(ring)
    }

    /// Receives the datagrams of the UDP socket.
    fn receive_datagrams(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let mut count = 0;
        while count < RECEIVE_MAX
            && let Ok(Some(received)) = self.datagrams.socket.receive(&mut self.buffer)
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
        self.datagrams.frame_max
    }

    fn room(&self) -> usize {
        self.room
    }

    fn address(&self) -> Address {
        Address::PacketUdp(self.datagrams.address)
    }

    #[inline]
    fn send(&mut self, to: &Address, frame: &[u8]) -> Result<(), Refused> {
        self.datagrams.send(Self::mouth(&self.ears, &mut self.buffer).as_mut(), to, frame)
    }

    fn send_run(&mut self, to: &Address, frames: &[IoSlice<'_>]) -> Result<usize, Refused> {
        self.datagrams.send_run(Self::mouth(&self.ears, &mut self.buffer).as_mut(), to, frames)
    }

    #[inline]
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let Ears::Ring(ring) = &mut self.ears else {
            let count = self.receive_datagrams(take);
            if count > 0 {
                self.open_ring();
                // These arrived before the ring was there; link recognizes duplicates.
                return count + self.receive_datagrams(take);
            }
            return 0;
        };
        let (begin, mut count) = (self.datagrams.headers.bytes(), 0);
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

    fn held(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        each(self.epoll.as_fd());
        each(self.datagrams.socket.as_fd());
        match &self.ears {
            Ears::Waiting(socket) => each(socket.as_fd()),
            Ears::Ring(ring) => each(ring.socket().as_fd()),
            Ears::Udp => {}
        }
    }

    fn missed(&mut self) -> Missed {
        let dropped = match &self.ears {
            Ears::Waiting(_) => 0,
            Ears::Ring(ring) => ring.socket().statistics().drops,
            Ears::Udp => return Missed { frames: self.datagrams.socket.drops().into(), ..Missed::default() },
        };
        self.dropped += u64::from(dropped);
        Missed { frames: self.dropped, ..Missed::default() }
    }

    fn take_error(&mut self) {
        self.datagrams.socket.take_error();
        if let Ears::Waiting(socket) = &self.ears {
            socket.take_error();
        } else if let Ears::Ring(ring) = &self.ears {
            ring.socket().take_error();
        }
    }
}
