//! A port that takes its frames from the NIC's queues before the kernel's own stack sees them, and beside it the port of a packet socket that
//! is the same on the wire and in cards: what `xdp` and `xdp-udp` have in common.
//!
//! The program on the NIC redirects what is for this port alone (`queues`). All else passes to the kernel, and so to the port beside: what
//! comes by queues without a socket of ours. It does not know what stands in front of a frame. Before it: `xdp`, `xdp_udp`, which do.

use super::queues::Seat;
use super::{Address, FramePort, Missed, Refused};
use std::io::IoSlice;
use std::os::fd::BorrowedFd;

/// How much less often a port beside that costs a system call is asked than where it is all that there is: next to nothing comes to it.
const SELDOM: u32 = 8;

/// What stands in front of a frame on the wire.
pub trait Framing: Send {
    /// The port beside.
    type Packet: FramePort;

    const NAME: &'static str;

    /// As `FramePort::send` and `send_run`, by the queues.
    fn send(&mut self, seat: &mut Seat, packet: &mut Self::Packet, to: &Address, frame: &[u8]) -> Result<(), Refused>;

    fn send_run(
        &mut self,
        seat: &mut Seat,
        packet: &mut Self::Packet,
        to: &Address,
        frames: &[IoSlice<'_>],
    ) -> Result<usize, Refused>;
}

/// See the module.
pub struct ByQueues<F: Framing> {
    seat: Seat,
    packet: F::Packet,
    framing: F,
    /// Where a frame begins in what comes by the queues.
    begin: usize,
    room: usize,
    /// Looks at what has come, so far.
    looks: u32,
}

impl<F: Framing> ByQueues<F> {
    /// In this seat, for frames behind `begin` bytes.
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
        // Other ports wait for looks at the queues, so this one is never passed over; what is beside it is, where it is dear to ask.
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
