//! The port `xdp-udp`: the datagrams of `packet-udp`, taken from the NIC's queues before the kernel's own stack sees them (AF_XDP).
//!
//! On the wire and in cards nothing is different (P38), so that one of two peers may have `packet-udp`. The program on the NIC redirects
//! what is for this port alone (`queues`), which a UDP socket keeps. All else passes to the kernel, and so to the `PacketUdpPort` that each
//! of these has beside it: NICs spread UDP over all their queues, and some may be without a socket of ours.
//! Checksums are nobody's business here: what one host's UDP sends another over a veth carries an unfinished one.

use super::packet_udp::PacketUdpPort;
use super::queues::{Queues, Seat};
use super::{Address, FramePort, Missed, PortRange, Refused};
use hawser_os::interfaces::{Interface, Network};
use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;

/// How much less often a UDP socket is asked to which next to nothing comes than where it is all that there is.
const SELDOM: u32 = 8;

pub struct XdpUdpPort {
    seat: Seat,
    packet: PacketUdpPort,
    room: usize,
    /// Looks at what has come, so far.
    looks: u32,
}

impl XdpUdpPort {
    /// A port at queues of this interface and at one of its addresses, as the `nth` of its host.
    pub fn open(
        queues: &Queues,
        interface: &Interface,
        local: &Network,
        range: PortRange,
        nth: usize,
    ) -> io::Result<XdpUdpPort> {
        let packet = PacketUdpPort::open(interface, local, range, nth)?;
        let headers = &packet.datagrams.headers;
        let seat = queues.seat(headers.ether_type(), headers.pattern())?;
        let room = seat.room(packet.frame_max());
        Ok(XdpUdpPort { seat, packet, room, looks: 0 })
    }
}

impl FramePort for XdpUdpPort {
    fn name(&self) -> &'static str {
        "xdp-udp"
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
        self.packet.datagrams.send(Some(&mut self.seat), to, frame)
    }

    fn send_run(&mut self, to: &Address, frames: &[IoSlice<'_>]) -> Result<usize, Refused> {
        self.packet.datagrams.send_run(Some(&mut self.seat), to, frames)
    }

    #[inline]
    fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
        let begin = self.packet.datagrams.headers.bytes();
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

#[cfg(test)]
mod tests {
    use super::super::headers::{self, Headers};
    use super::super::queues::tried;
    use hawser_os::ebpf::{PASS, REDIRECT};

    const MAC: [u8; 6] = [2, 3, 4, 5, 6, 7];

    /// A frame for the port at `local`, as a peer sends it.
    fn frame(local: &str, from: &str) -> Vec<u8> {
        let mut into = [0; headers::LONGEST];
        let peer = Headers::new([2, 9, 9, 9, 9, 9], from.parse().unwrap());
        let len = peer.write(&mut into, &MAC, &local.parse().unwrap(), b"a frame");
        [&into[..len], b"a frame"].concat()
    }

    fn changed(mut frame: Vec<u8>, at: usize, byte: u8) -> Vec<u8> {
        assert_ne!(frame[at], byte);
        frame[at] = byte;
        frame
    }

    /// P38
    #[test]
    fn the_program_takes_datagrams_for_this_port_alone() {
        let (v4, v6) = ("10.1.2.3:40000", "[fd77::1]:40001");
        let patterns = [v4, v6].map(|local| Headers::new(MAC, local.parse().unwrap()).pattern());
        let Some(tried) = tried(&patterns) else { return };
        let ours = || frame(v4, "10.1.9.9:7");
        assert_eq!((tried(&ours()), tried(&ours()[..42])), (REDIRECT, REDIRECT));
        assert_eq!((tried(&frame(v6, "[fd78::2]:7")), tried(&frame(v6, "[fd78::2]:7")[..62])), (REDIRECT, REDIRECT));
        // What nobody asks about: whose it is, its hops, its number, that it must not be cut.
        for (at, byte) in [(6, 4), (15, 8), (18, 1), (20, 0), (22, 9), (26, 11), (34, 1)] {
            assert_eq!(tried(&changed(ours(), at, byte)), REDIRECT, "byte {at}");
        }
        // Another NIC, EtherType, header with options, version, fragments (the first one, a later one, the last one), TCP, another address
        // and another port.
        for (at, byte) in [
            (0, 0xff),
            (5, 8),
            (13, 6),
            (14, 0x46),
            (14, 0x65),
            (20, 0x60),
            (20, 0x21),
            (21, 1),
            (23, 6),
            (23, 1),
            (30, 11),
            (33, 4),
            (36, 0),
            (37, 0x41),
        ] {
            assert_eq!(tried(&changed(ours(), at, byte)), PASS, "byte {at}");
        }
        for short in [14, 33, 37, 38, 41] {
            assert_eq!(tried(&ours()[..short]), PASS, "{short} bytes");
        }
        // In a VLAN, whichever it is.
        let tagged = |tag: [u8; 4]| [&ours()[..12], &tag, &ours()[12..]].concat();
        assert_eq!((tried(&tagged([0x81, 0, 0, 5])), tried(&tagged([0x88, 0xa8, 0, 5]))), (PASS, PASS));
        // Over IPv6: TCP, a header of fragments or of options first, another address and port, and too short a frame.
        for (at, byte) in [(0, 0xff), (20, 6), (20, 44), (20, 0), (20, 60), (38, 0xfe), (53, 2), (57, 0x40)] {
            assert_eq!(tried(&changed(frame(v6, "[fd78::2]:7"), at, byte)), PASS, "byte {at}");
        }
        assert_eq!(tried(&frame(v6, "[fd78::2]:7")[..61]), PASS);
        // The one's port at the other's address is nobody's.
        assert_eq!(
            (tried(&frame("10.1.2.3:40001", "10.1.9.9:7")), tried(&frame("[fd77::1]:40000", "[fd78::2]:7"))),
            (PASS, PASS)
        );
    }
}
