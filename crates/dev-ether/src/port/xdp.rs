//! The port `xdp`: the frames of `packet`, taken from the NIC's queues before the kernel's own stack sees them
//! (AF_XDP).
//!
//! On the wire and in business cards there is no difference from `packet` (P30 of docs/protocol.md), so that one of
//! two peers may use `packet`. The `PacketPort` beside it receives the frames of queues without a socket of ours: no
//! frame is lost, wherever the NIC puts frames of an EtherType that it does not know. Used by `discovery`; uses
//! `xsk_port`.

use super::nic_queues::{NicQueues, QueueUser};
use super::packet::{ETHER_TYPE, HEAD_BYTES, JOB, PacketPort, SELECTOR, SOURCE, TYPE};
use super::raw_udp::FrameTransmitter;
use super::send_error::FOREIGN_KIND;
use super::xsk_port::{Framing, XskPort};
use super::{FramePort, FrameSendError, PortAddress};
use hawser_os::bpf::LoadField;
use hawser_os::ebpf::FrameMatch;
use hawser_os::interfaces::Interface;
use std::io::{self, IoSlice};

/// The headers in front of a frame: Ethernet's, the job's and the rank's.
pub struct RawFraming {
    head: [u8; HEAD_BYTES],
}

pub type XdpPort = XskPort<RawFraming>;

impl XdpPort {
    /// Opens a port at queues of this interface.
    pub fn open(queues: &NicQueues, interface: &Interface, job: u32, selector: u16) -> io::Result<XdpPort> {
        let packet = PacketPort::open(interface, job, selector)?;
        let PortAddress::Ether { mac, .. } = packet.address() else { unreachable!("a port of raw Ethernet") };
        let head = head(mac, mac, job, selector);
        let queue_user = queues.add_user(ETHER_TYPE, pattern(&head))?;
        Ok(XskPort::new(queue_user, packet, RawFraming { head }, HEAD_BYTES))
    }
}

impl RawFraming {
    /// Writes the destination into the header. Refuses a frame that cannot be sent.
    fn write_destination(&mut self, packet: &PacketPort, to: &PortAddress, size: usize) -> Result<(), FrameSendError> {
        let PortAddress::Ether { mac, selector } = to else { return Err(FOREIGN_KIND) };
        if size > packet.frame_max() {
            return Err(FrameSendError::TooLong);
        }
        self.head[..SOURCE].copy_from_slice(mac);
        self.head[SELECTOR..HEAD_BYTES].copy_from_slice(&selector.to_be_bytes());
        Ok(())
    }
}

impl Framing for RawFraming {
    type Packet = PacketPort;

    const NAME: &'static str = "xdp";

    #[inline]
    fn send(
        &mut self,
        queue_user: &mut QueueUser,
        packet: &mut PacketPort,
        to: &PortAddress,
        frame: &[u8],
    ) -> Result<(), FrameSendError> {
        self.write_destination(packet, to, frame.len())?;
        queue_user.send(&self.head, frame)
    }

    fn send_run(
        &mut self,
        queue_user: &mut QueueUser,
        packet: &mut PacketPort,
        to: &PortAddress,
        frames: &[IoSlice<'_>],
    ) -> Result<usize, FrameSendError> {
        self.write_destination(packet, to, frames[0].len())?;
        queue_user.send_run(frames.iter().map(|frame| [&self.head[..], &frame[..]]))
    }
}

fn head(to: [u8; 6], from: [u8; 6], job: u32, selector: u16) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..SOURCE].copy_from_slice(&to);
    head[SOURCE..TYPE].copy_from_slice(&from);
    head[TYPE..JOB].copy_from_slice(&ETHER_TYPE.to_be_bytes());
    head[JOB..SELECTOR].copy_from_slice(&job.to_be_bytes());
    head[SELECTOR..].copy_from_slice(&selector.to_be_bytes());
    head
}

/// Returns the pattern of frames that begin with this header, whoever sends them (P30).
fn pattern(head: &[u8; HEAD_BYTES]) -> FrameMatch {
    let halves = (0..HEAD_BYTES).step_by(2).filter(|at| !(SOURCE..TYPE).contains(at));
    let half = |at: usize| (LoadField::Half(at as u32), u16::from_be_bytes([head[at], head[at + 1]]).into());
    FrameMatch { min_bytes: HEAD_BYTES, fields: halves.map(half).collect() }
}

#[cfg(test)]
mod tests {
    use super::super::nic_queues::test_program;
    use super::*;
    use hawser_os::ebpf::{PASS, REDIRECT};

    /// P30
    #[test]
    fn the_program_takes_frames_of_this_rank_alone() {
        let (mac, job, selector) = ([2, 3, 4, 5, 6, 7], 0x0bad_cafe, 0x102);
        let Some(run_program) = test_program(&[pattern(&head(mac, [0; 6], job, selector))]) else { return };
        let becomes = |head: [u8; HEAD_BYTES], body: &[u8]| run_program(&[&head[..], body].concat());
        let from = [2, 9, 9, 9, 9, 9];
        assert_eq!(becomes(head(mac, from, job, selector), b"a frame"), REDIRECT);
        assert_eq!(becomes(head(mac, mac, job, selector), b""), REDIRECT);
        for other in [
            head([0xff; 6], from, job, selector),
            head([2, 3, 4, 5, 6, 8], from, job, selector),
            head(mac, from, job + 1, selector),
            head(mac, from, job ^ 1 << 31, selector),
            head(mac, from, job, selector + 1),
            head(mac, from, job, selector ^ 1 << 15),
        ] {
            assert_eq!(becomes(other, b"a frame"), PASS, "{other:?}");
        }
        for ether_type in [0x0800_u16, 0x86dd, 0x8100, 0xb588, 0x88b6] {
            let mut other = head(mac, from, job, selector);
            other[TYPE..JOB].copy_from_slice(&ether_type.to_be_bytes());
            assert_eq!(becomes(other, &[0; 60]), PASS);
        }
        assert_eq!(run_program(&head(mac, from, job, selector)[..HEAD_BYTES - 1]), PASS);
    }
}
