//! A port that takes its frames from the NIC's queues before the kernel's own stack sees them, together with the port
//! of a packet socket that is the same on the wire and in cards: the common part of `xdp` and `xdp-udp`.
//!
//! It knows nothing of the headers in front of a frame. The program on the NIC redirects only frames for this port
//! (`queues`). All others pass to the kernel, and so to the packet port: frames that arrive by queues without a socket
//! of ours. Used by `xdp` and `xdp_udp`, which know the headers.

use super::queues::Seat;
use super::{Address, FramePort, Missed, Refused};
use std::io::IoSlice;
use std::os::fd::BorrowedFd;

/// Factor by which the packet port beside the queues is polled less often than alone, if a poll costs a system call:
/// almost nothing arrives by it.
const SELDOM: u32 = 8;

/// The headers in front of a frame on the wire.
pub trait Framing: Send {
    /// The packet port beside the queues.
    type Packet: FramePort;

    const NAME: &'static str;

    /// Sends as `FramePort::send` and `send_run` do, by the queues.
    fn send(&mut self, seat: &mut Seat, packet: &mut Self::Packet, to: &Address, frame: &[u8]) -> Result<(), Refused>;

    fn send_run(
        &mut self,
        seat: &mut Seat,
        packet: &mut Self::Packet,
        to: &Address,
        frames: &[IoSlice<'_>],
    ) -> Result<usize, Refused>;
}

/// The port, as the module describes it.
pub struct ByQueues<F: Framing> {
    seat: Seat,
    packet: F::Packet,
    framing: F,
    /// Offset of a frame in the data that arrive by the queues.
    begin: usize,
    room: usize,
    /// Number of polls so far.
    looks: u32,
}

impl<F: Framing> ByQueues<F> {
    /// Makes a port with this seat, for frames behind `begin` bytes of headers.
    pub fn over(seat: Seat, packet: F::Packet, framing: F, begin: usize) -> ByQueues<F> {
        let room = seat.room(packet.frame_max());
        ByQueues { seat, packet, framing, begin, room, looks: 0 }
    }
}

impl<F: Framing> FramePort for ByQueues<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn manner(&self) -> Option<String> {
        Some(self.seat.manner())
    }

    fn frame_max(&self) -> usize {
        self.packet.frame_max()
    }

    fn room(&self) -> usize {
        self.room.min(self.packet.room())
    }

    fn address(&self) -> Address {
        self.packet.address()
    }

    #[inline]
    fn send(&mut self, to: &Address, frame: &[u8]) -> Result<(), Refused> {
        self.framing.send(&mut self.seat, &mut self.packet, to, frame)
    }

    fn send_run(&mut self, to: &Address, frames: &[IoSlice<'_>]) -> Result<usize, Refused> {
        self.framing.send_run(&mut self.seat, &mut self.packet, to, frames)
    }

    #[inline]
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let begin = self.begin;
        let count = self.seat.receive(|frame| take(frame.get(begin..).unwrap_or_default()));
        self.looks = self.looks.wrapping_add(1);
        // Other ports wait for polls of the queues, so this one is always polled; the packet port is skipped where a
        // poll is expensive.
        let turns = self.packet.turns();
        let is_due = turns == 1 || self.looks.is_multiple_of(turns * SELDOM);
        if is_due { count + self.packet.receive(take) } else { count }
    }

    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        self.packet.descriptors(each);
        self.seat.descriptors(each);
    }

    fn held(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        self.packet.held(each);
        self.seat.descriptors(each);
    }

    fn missed(&mut self) -> Missed {
        let beside = self.packet.missed();
        Missed { frames: beside.frames + self.seat.missed(), ..beside }
    }

    fn take_error(&mut self) {
        self.packet.take_error();
        self.seat.take_error();
    }
}
