//! The port `xdp`: the frames of `packet`, taken from the NIC's queues before the kernel's own stack sees them (AF_XDP).
//!
//! On the wire and in cards nothing is different (P30), so that one of two peers may have `packet`. A program on the NIC redirects
//! the frames of this rank alone (`queues`). What it cannot redirect passes to the kernel, and so to the `PacketPort` that each of these has
//! beside it: frames of queues without a socket of ours. So nothing is lost wherever the NIC puts frames of an EtherType that it does not know.

use super::datagrams::Mouth;
use super::packet::{ETHER_TYPE, HEAD, JOB, PacketPort, SELECTOR, SOURCE, TYPE};
use super::queues::{Queues, Seat};
use super::{Address, FOREIGN_KIND, FramePort, Missed, Refused};
use hawser_os::bpf::Field;
use hawser_os::ebpf::Pattern;
use hawser_os::interfaces::Interface;
use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;

pub struct XdpPort {
    seat: Seat,
    packet: PacketPort,
    room: usize,
    head: [u8; HEAD],
}

impl XdpPort {
    /// A port at queues of this interface.
    pub fn open(queues: &Queues, interface: &Interface, job: u32, selector: u16) -> io::Result<XdpPort> {
        let packet = PacketPort::open(interface, job, selector)?;
        let Address::Ether { mac, .. } = packet.address() else { unreachable!("a port of raw Ethernet") };
        let head = head(mac, mac, job, selector);
        let seat = queues.seat(ETHER_TYPE, pattern(&head))?;
        let room = seat.room(packet.frame_max());
        Ok(XdpPort { seat, packet, room, head })
    }

    /// Addresses the header; refuses what cannot be sent.
    fn address_to(&mut self, to: &Address, size: usize) -> Result<(), Refused> {
        let Address::Ether { mac, selector } = to else { return Err(FOREIGN_KIND) };
        if size > self.packet.frame_max() {
            return Err(Refused::TooLong);
        }
        self.head[..SOURCE].copy_from_slice(mac);
        self.head[SELECTOR..HEAD].copy_from_slice(&selector.to_be_bytes());
        Ok(())
    }
}

impl FramePort for XdpPort {
    fn name(&self) -> &'static str {
        "xdp"
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
        self.address_to(to, frame.len())?;
        self.seat.send(&self.head, frame)
    }

    fn send_run(&mut self, to: &Address, frames: &[IoSlice<'_>]) -> Result<usize, Refused> {
        self.address_to(to, frames[0].len())?;
        self.seat.send_run(frames.iter().map(|frame| [&self.head[..], &frame[..]]))
    }

    #[inline]
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let count = self.seat.receive(|frame| take(frame.get(HEAD..).unwrap_or_default()));
        count + self.packet.receive(take)
    }

    fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        self.packet.descriptors(each);
        self.seat.descriptors(each);
    }

    fn missed(&mut self) -> Missed {
        let Missed { frames, connections } = self.packet.missed();
        Missed { frames: frames + self.seat.missed(), connections }
    }

    fn take_error(&mut self) {
        self.packet.take_error();
        self.seat.take_error();
    }

    fn manner(&self) -> Option<String> {
        Some(self.seat.manner())
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

/// Frames that begin as this, whoever sends them (P30).
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
