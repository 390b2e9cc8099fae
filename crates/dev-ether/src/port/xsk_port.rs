//! A port that takes its frames from the NIC's queues before the kernel's own stack sees them, together with the
//! port of a packet socket that is the same on the wire and in business cards: the common part of `xdp` and
//! `xdp-udp`.
//!
//! This module knows nothing of the headers in front of a frame. The program on the NIC redirects only frames for
//! this port (`nic_queues`). Frames for this port that arrive by queues without a socket of ours pass to the kernel,
//! and so to the packet port. Used by `xdp` and `xdp_udp`, which know the headers.

use super::nic_queues::QueueUser;
use super::{FramePort, FrameSendError, PortAddress, PortDrops};
use std::io::IoSlice;
use std::os::fd::BorrowedFd;

/// The factor by which the packet port's poll interval is longer than without the queues, if a poll of it costs a
/// system call: almost nothing arrives by that port.
const PACKET_POLL_FACTOR: u32 = 8;

/// The headers in front of a frame on the wire.
pub trait Framing: Send {
    /// The packet port beside the queues.
    type Packet: FramePort;

    const NAME: &'static str;

    /// Sends as `FramePort::send` and `send_run` do, by the queues.
    fn send(
        &mut self,
        queue_user: &mut QueueUser,
        packet: &mut Self::Packet,
        to: &PortAddress,
        frame: &[u8],
    ) -> Result<(), FrameSendError>;

    fn send_run(
        &mut self,
        queue_user: &mut QueueUser,
        packet: &mut Self::Packet,
        to: &PortAddress,
        frames: &[IoSlice<'_>],
    ) -> Result<usize, FrameSendError>;
}

/// The port, as the module describes it.
pub struct XskPort<F: Framing> {
    queue_user: QueueUser,
    packet: F::Packet,
    framing: F,
    /// Offset of a frame in the data that arrive by the queues.
    frame_offset: usize,
    receive_buffer_bytes: usize,
    /// Number of polls so far.
    polls: u32,
}

impl<F: Framing> XskPort<F> {
    /// Makes a port with this queue user, for frames behind `frame_offset` bytes of headers.
    pub fn new(queue_user: QueueUser, packet: F::Packet, framing: F, frame_offset: usize) -> XskPort<F> {
        let receive_buffer_bytes = queue_user.receive_buffer_bytes(packet.frame_max());
        XskPort { queue_user, packet, framing, frame_offset, receive_buffer_bytes, polls: 0 }
    }
}

impl<F: Framing> FramePort for XskPort<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn details(&self) -> Option<String> {
        Some(self.queue_user.details())
    }

    fn frame_max(&self) -> usize {
        self.packet.frame_max()
    }

    fn receive_buffer_bytes(&self) -> usize {
        self.receive_buffer_bytes.min(self.packet.receive_buffer_bytes())
    }

    fn address(&self) -> PortAddress {
        self.packet.address()
    }

    #[inline]
    fn send(&mut self, to: &PortAddress, frame: &[u8]) -> Result<(), FrameSendError> {
        self.framing.send(&mut self.queue_user, &mut self.packet, to, frame)
    }

    fn send_run(&mut self, to: &PortAddress, frames: &[IoSlice<'_>]) -> Result<usize, FrameSendError> {
        self.framing.send_run(&mut self.queue_user, &mut self.packet, to, frames)
    }

    #[inline]
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let frame_offset = self.frame_offset;
        let count = self.queue_user.receive(|frame| take(frame.get(frame_offset..).unwrap_or_default()));
        self.polls = self.polls.wrapping_add(1);
        // Other ports wait for polls of the queues, so this one is always polled; the packet port is skipped most of
        // the time if its poll is expensive.
        let poll_interval = self.packet.poll_interval();
        let is_due = poll_interval == 1 || self.polls.is_multiple_of(poll_interval * PACKET_POLL_FACTOR);
        if is_due { count + self.packet.receive(take) } else { count }
    }

    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        self.packet.descriptors(each);
        self.queue_user.descriptors(each);
    }

    fn owned_fds(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        self.packet.owned_fds(each);
        self.queue_user.descriptors(each);
    }

    fn drops(&mut self) -> PortDrops {
        let packet_drops = self.packet.drops();
        PortDrops { frames: packet_drops.frames + self.queue_user.dropped_frames(), ..packet_drops }
    }

    fn take_error(&mut self) {
        self.packet.take_error();
        self.queue_user.take_error();
    }
}
