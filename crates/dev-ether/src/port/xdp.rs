//! The port `xdp`: the frames of `packet`, taken from the NIC's queues before the kernel's own stack sees them
//! (AF_XDP).
//!
//! On the wire and in cards nothing is different (P30), so that one of two peers may have `packet`. The `PacketPort`
//! beside it receives the frames of queues without a socket of ours: no frame is lost, wherever the NIC puts frames of
//! an EtherType that it does not know. Used by `survey`; uses `by_queues`.

use super::by_queues::{ByQueues, Framing};
use super::datagrams::Mouth;
use super::packet::{ETHER_TYPE, HEAD, JOB, PacketPort, SELECTOR, SOURCE, TYPE};
use super::queues::{Queues, Seat};
use super::refused::FOREIGN_KIND;
use super::{Address, FramePort, Refused};
use hawser_os::bpf::Field;
use hawser_os::ebpf::Pattern;
use hawser_os::interfaces::Interface;
use std::io::{self, IoSlice};

/// The headers in front of a frame: Ethernet's, the job's and the rank's.
pub struct Raw {
    head: [u8; HEAD],
}

pub type XdpPort = ByQueues<Raw>;

impl XdpPort {
    /// Opens a port at queues of this interface.
    pub fn open(queues: &Queues, interface: &Interface, job: u32, selector: u16) -> io::Result<XdpPort> {
        let packet = PacketPort::open(interface, job, selector)?;
        let Address::Ether { mac, .. } = packet.address() else { unreachable!("a port of raw Ethernet") };
        let head = head(mac, mac, job, selector);
        let seat = queues.seat(ETHER_TYPE, pattern(&head))?;
        Ok(ByQueues::over(seat, packet, Raw { head }, HEAD))
    }
}

impl Raw {
    /// Writes the destination into the header. Refuses a frame that cannot be sent.
    fn address_to(&mut self, packet: &PacketPort, to: &Address, size: usize) -> Result<(), Refused> {
        let Address::Ether { mac, selector } = to else { return Err(FOREIGN_KIND) };
        if size > packet.frame_max() {
            return Err(Refused::TooLong);
        }
        self.head[..SOURCE].copy_from_slice(mac);
        self.head[SELECTOR..HEAD].copy_from_slice(&selector.to_be_bytes());
        Ok(())
    }
}

impl Framing for Raw {
    type Packet = PacketPort;

    const NAME: &'static str = "xdp";

    #[inline]
    fn send(&mut self, seat: &mut Seat, packet: &mut PacketPort, to: &Address, frame: &[u8]) -> Result<(), Refused> {
        self.address_to(packet, to, frame.len())?;
        seat.send(&self.head, frame)
    }

    fn send_run(
        &mut self,
        seat: &mut Seat,
        packet: &mut PacketPort,
        to: &Address,
        frames: &[IoSlice<'_>],
    ) -> Result<usize, Refused> {
        self.address_to(packet, to, frames[0].len())?;
        seat.send_run(frames.iter().map(|frame| [&self.head[..], &frame[..]]))
    }
}

fn head(to: [u8; 6], from: [u8; 6], job: u32, selector: u16) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..SOURCE].copy_from_slice(&to);
    head[SOURCE..TYPE].copy_from_slice(&from);
    head[TYPE..JOB].copy_from_slice(&ETHER_TYPE.to_be_bytes());
    head[JOB..SELECTOR].copy_from_slice(&job.to_be_bytes());
    head[SELECTOR..].copy_from_slice(&selector.to_be_bytes());
    head
}

/// Returns the pattern of frames that begin with this header, whoever sends them (P30).
fn pattern(head: &[u8; HEAD]) -> Pattern {
    let halves = (0..HEAD).step_by(2).filter(|at| !(SOURCE..TYPE).contains(at));
    let half = |at: usize| (Field::Half(at as u32), u16::from_be_bytes([head[at], head[at + 1]]).into());
    Pattern { least: HEAD, fields: halves.map(half).collect() }
}

#[cfg(test)]
mod tests {
    use super::super::queues::tried;
    use super::*;
    use hawser_os::ebpf::{PASS, REDIRECT};

    /// P30
    #[test]
    fn the_program_takes_frames_of_this_rank_alone() {
        let (mac, job, selector) = ([2, 3, 4, 5, 6, 7], 0x0bad_cafe, 0x102);
        let Some(tried) = tried(&[pattern(&head(mac, [0; 6], job, selector))]) else { return };
        let becomes = |head: [u8; HEAD], body: &[u8]| tried(&[&head[..], body].concat());
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
        assert_eq!(tried(&head(mac, from, job, selector)[..HEAD - 1]), PASS);
    }
}
