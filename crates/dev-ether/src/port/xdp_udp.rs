//! The port `xdp-udp`: the datagrams of `packet-udp`, taken from the NIC's queues before the kernel's own stack sees
//! them (AF_XDP).
//!
//! On the wire and in business cards there is no difference from `packet-udp` (P38 of docs/protocol.md), so that one
//! of two peers may use `packet-udp`. A UDP socket reserves the port whose datagrams are redirected. The
//! `PacketUdpPort` beside it receives the port's other datagrams: NICs spread UDP over all their queues, and some
//! queues may have no socket of ours. UDP checksums are not checked: a datagram that a host's own UDP sends over a
//! veth has an unfinished checksum. Used by `discovery`; uses `xsk_port` and `raw_udp`.

use super::nic_queues::{NicQueues, QueueUser};
use super::packet_udp::PacketUdpPort;
use super::xsk_port::{Framing, XskPort};
use super::{FrameSendError, PortAddress, PortRange};
use hawser_os::interfaces::{Interface, IpNetwork};
use std::io::{self, IoSlice};

/// The headers of IP and UDP, which the `PacketUdpPort` writes.
pub struct UdpFraming;

pub type XdpUdpPort = XskPort<UdpFraming>;

impl XdpUdpPort {
    /// Opens a port at queues of this interface and at one of its addresses, for the `nth` rank of the host.
    pub fn open(
        queues: &NicQueues,
        interface: &Interface,
        local: &IpNetwork,
        range: PortRange,
        nth: usize,
    ) -> io::Result<XdpUdpPort> {
        let packet = PacketUdpPort::open(interface, local, range, nth)?;
        let headers = &packet.raw_udp.headers;
        let (queue_user, frame_offset) = (queues.add_user(headers.ether_type(), headers.pattern())?, headers.bytes());
        Ok(XskPort::new(queue_user, packet, UdpFraming, frame_offset))
    }
}

impl Framing for UdpFraming {
    type Packet = PacketUdpPort;

    const NAME: &'static str = "xdp-udp";

    #[inline]
    fn send(
        &mut self,
        queue_user: &mut QueueUser,
        packet: &mut PacketUdpPort,
        to: &PortAddress,
        frame: &[u8],
    ) -> Result<(), FrameSendError> {
        packet.raw_udp.send(Some(queue_user), to, frame)
    }

    fn send_run(
        &mut self,
        queue_user: &mut QueueUser,
        packet: &mut PacketUdpPort,
        to: &PortAddress,
        frames: &[IoSlice<'_>],
    ) -> Result<usize, FrameSendError> {
        packet.raw_udp.send_run(Some(queue_user), to, frames)
    }
}

#[cfg(test)]
mod tests {
    use super::super::headers::{self, UdpHeaderBuilder};
    use super::super::nic_queues::test_program;
    use hawser_os::ebpf::{PASS, REDIRECT};

    const MAC: [u8; 6] = [2, 3, 4, 5, 6, 7];

    /// Makes a frame for the port at `local`, as a peer sends it.
    fn frame(local: &str, from: &str) -> Vec<u8> {
        let mut into = [0; headers::HEADERS_MAX];
        let peer = UdpHeaderBuilder::new([2, 9, 9, 9, 9, 9], from.parse().unwrap());
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
        let patterns = [v4, v6].map(|local| UdpHeaderBuilder::new(MAC, local.parse().unwrap()).pattern());
        let Some(run_program) = test_program(&patterns) else { return };
        let ours = || frame(v4, "10.1.9.9:7");
        assert_eq!((run_program(&ours()), run_program(&ours()[..42])), (REDIRECT, REDIRECT));
        assert_eq!(
            (run_program(&frame(v6, "[fd78::2]:7")), run_program(&frame(v6, "[fd78::2]:7")[..62])),
            (REDIRECT, REDIRECT)
        );
        // Fields that are not checked: the source addresses, hops, identification, the don't-fragment bit.
        for (at, byte) in [(6, 4), (15, 8), (18, 1), (20, 0), (22, 9), (26, 11), (34, 1)] {
            assert_eq!(run_program(&changed(ours(), at, byte)), REDIRECT, "byte {at}");
        }
        // Changed fields: another NIC, EtherType, header with options, version, fragments (the first one, a later one,
        // the last one), TCP, another address and another port.
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
            assert_eq!(run_program(&changed(ours(), at, byte)), PASS, "byte {at}");
        }
        for short in [14, 33, 37, 38, 41] {
            assert_eq!(run_program(&ours()[..short]), PASS, "{short} bytes");
        }
        // Frames in a VLAN, of either kind.
        let tagged = |tag: [u8; 4]| [&ours()[..12], &tag, &ours()[12..]].concat();
        assert_eq!((run_program(&tagged([0x81, 0, 0, 5])), run_program(&tagged([0x88, 0xa8, 0, 5]))), (PASS, PASS));
        // Changed fields over IPv6: TCP, a fragment or options header first, another address and port, and too short a
        // frame.
        for (at, byte) in [(0, 0xff), (20, 6), (20, 44), (20, 0), (20, 60), (38, 0xfe), (53, 2), (57, 0x40)] {
            assert_eq!(run_program(&changed(frame(v6, "[fd78::2]:7"), at, byte)), PASS, "byte {at}");
        }
        assert_eq!(run_program(&frame(v6, "[fd78::2]:7")[..61]), PASS);
        // The port of one at the address of the other belongs to neither.
        assert_eq!(
            (
                run_program(&frame("10.1.2.3:40001", "10.1.9.9:7")),
                run_program(&frame("[fd77::1]:40000", "[fd78::2]:7"))
            ),
            (PASS, PASS)
        );
    }
}
