//! The headers of Ethernet, IP and UDP in front of a frame that bypasses the kernel's UDP, and the filter for frames
//! that are addressed to us (P38 of docs/protocol.md).
//!
//! The packets are IPv4 or IPv6 as a UDP socket of the kernel sends it: without options or extension headers, and not
//! to be fragmented. Used by ports over rings.

use hawser_os::bpf::LoadField;
use hawser_os::ebpf::FrameMatch;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Bytes of the headers of Ethernet, IPv4, IPv6 and UDP.
const ETHERNET: usize = 14;
const V4: usize = 20;
const V6: usize = 40;
const UDP: usize = 8;

/// The maximum length of all headers together.
pub const HEADERS_MAX: usize = ETHERNET + V6 + UDP;

/// EtherTypes of IPv4 and IPv6 (IEEE 802, as in linux/if_ether.h), and the protocol number of UDP (RFC 790).
const TYPE_V4: u16 = 0x0800;
const TYPE_V6: u16 = 0x86DD;
const PROTOCOL_UDP: u8 = 17;
/// First byte of a packet: version 4 with a header of five words; version 6.
const VERSION_V4: u8 = 0x45;
const VERSION_V6: u8 = 0x60;
/// RFC 791: do not fragment; and the bits that mark a fragment: more fragments, and the fragment offset.
const DONT_FRAGMENT: u16 = 0x4000;
const FRAGMENT_BITS: u16 = 0x3FFF;
/// RFC 1700: the hop limit of a packet.
const HOP_LIMIT: u8 = 64;

/// The source addresses of one port.
pub struct UdpHeaderBuilder {
    mac: [u8; 6],
    local: SocketAddr,
}

impl UdpHeaderBuilder {
    pub fn new(mac: [u8; 6], local: SocketAddr) -> UdpHeaderBuilder {
        UdpHeaderBuilder { mac, local }
    }

    /// Returns the bytes of all headers in front of a frame.
    pub fn bytes(&self) -> usize {
        ETHERNET + UdpHeaderBuilder::bytes_in_packet(self.local.ip())
    }

    /// Returns the bytes of the headers that count toward the MTU.
    pub fn bytes_in_packet(local: IpAddr) -> usize {
        UDP + if local.is_ipv4() { V4 } else { V6 }
    }

    /// Writes the headers of `frame` for the UDP port `to`, whose next hop has the Ethernet address `neighbour`. `to`
    /// must have the address family of this port. Returns the length of the headers.
    pub fn write(&self, into: &mut [u8; HEADERS_MAX], neighbour: &[u8; 6], to: &SocketAddr, frame: &[u8]) -> usize {
        let len = (UDP + frame.len()) as u16;
        let mut udp = [0; UDP];
        udp[..2].copy_from_slice(&self.local.port().to_be_bytes());
        udp[2..4].copy_from_slice(&to.port().to_be_bytes());
        udp[4..6].copy_from_slice(&len.to_be_bytes());
        into[..6].copy_from_slice(neighbour);
        into[6..12].copy_from_slice(&self.mac);
        into[12..ETHERNET].copy_from_slice(&self.ether_type().to_be_bytes());
        match (self.local.ip(), to.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                into[ETHERNET..ETHERNET + V4].copy_from_slice(&v4(from, to, len));
                // Write no UDP checksum, which only IPv4 permits: link has a better one, and nobody would check it.
                into[ETHERNET + V4..][..UDP].copy_from_slice(&udp);
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                into[ETHERNET..ETHERNET + V6].copy_from_slice(&v6(from, to, len));
                let pseudo = [&from.octets()[..], &to.octets(), &[0, 0], &len.to_be_bytes(), &[0, 0, 0, PROTOCOL_UDP]];
                let sum = pseudo.iter().chain(&[&udp[..], frame]).map(|bytes| sum(bytes)).sum();
                // RFC 768: 0 would mean that there is no checksum.
                let checksum = Some(folded(sum)).filter(|&checksum| checksum != 0).unwrap_or(u16::MAX);
                udp[6..].copy_from_slice(&checksum.to_be_bytes());
                into[ETHERNET + V6..][..UDP].copy_from_slice(&udp);
            }
            _ => debug_assert!(false, "addresses of one family"),
        }
        self.bytes()
    }

    /// Returns the EtherType of the port's packets.
    pub fn ether_type(&self) -> u16 {
        if self.local.is_ipv4() { TYPE_V4 } else { TYPE_V6 }
    }

    /// Returns the pattern that the frames for this port match, and no others. It is for an XDP program, which sees
    /// all frames that arrive at the NIC: so the pattern includes the NIC's MAC address.
    pub fn pattern(&self) -> FrameMatch {
        let [a, b, c, d, e, f] = self.mac;
        let mac = vec![
            (LoadField::Word(0), u32::from_be_bytes([a, b, c, d])),
            (LoadField::Half(4), u16::from_be_bytes([e, f]).into()),
        ];
        FrameMatch { min_bytes: self.bytes(), fields: [mac, self.fields()].concat() }
    }

    /// Returns the fields that the frames for this port match and no others, among frames that are known to be
    /// addressed to this NIC. Fragments do not match.
    pub fn fields(&self) -> Vec<(LoadField, u32)> {
        let at = |offset: usize| (ETHERNET + offset) as u32;
        let port = |ip: usize| (LoadField::Half(at(ip + 2)), u32::from(self.local.port()));
        let mut wanted = vec![(LoadField::Half(12), self.ether_type().into())];
        match self.local.ip() {
            IpAddr::V4(ip) => wanted.extend([
                port(V4),
                (LoadField::Word(at(16)), ip.to_bits()),
                (LoadField::Byte(at(0)), VERSION_V4.into()),
                (LoadField::Byte(at(9)), PROTOCOL_UDP.into()),
                (LoadField::Bits(at(6), FRAGMENT_BITS), 0),
            ]),
            IpAddr::V6(ip) => {
                wanted.extend([port(V6), (LoadField::Byte(at(6)), PROTOCOL_UDP.into())]);
                let words = ip.octets();
                let word = |nth: usize| u32::from_be_bytes(words[4 * nth..][..4].try_into().expect("four bytes"));
                wanted.extend((0..4).map(|nth| (LoadField::Word(at(24 + 4 * nth)), word(nth))));
            }
        }
        wanted
    }
}

/// Makes a header by RFC 791. `len`: bytes of everything behind it.
fn v4(from: Ipv4Addr, to: Ipv4Addr, len: u16) -> [u8; V4] {
    let mut header = [0; V4];
    header[0] = VERSION_V4;
    header[2..4].copy_from_slice(&(V4 as u16 + len).to_be_bytes());
    header[6..8].copy_from_slice(&DONT_FRAGMENT.to_be_bytes());
    header[8] = HOP_LIMIT;
    header[9] = PROTOCOL_UDP;
    header[12..16].copy_from_slice(&from.octets());
    header[16..].copy_from_slice(&to.octets());
    let checksum = folded(sum(&header));
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}

/// Makes a header by RFC 8200.
fn v6(from: Ipv6Addr, to: Ipv6Addr, len: u16) -> [u8; V6] {
    let mut header = [0; V6];
    header[0] = VERSION_V6;
    header[4..6].copy_from_slice(&len.to_be_bytes());
    header[6] = PROTOCOL_UDP;
    header[7] = HOP_LIMIT;
    header[8..24].copy_from_slice(&from.octets());
    header[24..].copy_from_slice(&to.octets());
    header
}

/// Returns the sum of `bytes` as big-endian words of 16 bits (RFC 1071); the last byte of an odd number is the upper
/// half of a word. The bytes are added as words of 32 bits, whose sum folds to the same checksum.
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(4);
    let rest = words.remainder();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let word = |bytes: &[u8]| u64::from(u32::from_be_bytes(bytes.try_into().expect("four bytes")));
    words.map(word).sum::<u64>() + u64::from(u32::from_be_bytes(last))
}

/// Returns the checksum of a sum that `sum` has returned.
fn folded(mut sum: u64) -> u16 {
    while sum > u64::from(u16::MAX) {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(from: &str, to: &str, frame: &[u8]) -> Vec<u8> {
        let mut into = [0xEE; HEADERS_MAX];
        let headers = UdpHeaderBuilder::new([2, 0, 0, 0, 0, 1], from.parse().unwrap());
        let len = headers.write(&mut into, &[2, 0, 0, 0, 0, 2], &to.parse().unwrap(), frame);
        assert_eq!(len, headers.bytes());
        into[..len].to_vec()
    }

    /// Examples: RFC 1071, section 3; and a header of IPv4 with its checksum from textbooks.
    #[test]
    fn checksums_are_those_of_known_texts() {
        assert_eq!(folded(sum(&[0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7])), !0xDDF2);
        let known = [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xC0, 0xA8, 0, 1, 0xC0, 0xA8, 0, 0xC7];
        assert_eq!(folded(sum(&known)), 0xB861);
        assert_eq!(folded(sum(b"odd")), folded(0x6F64 + 0x6400));
    }

    /// P38
    #[test]
    fn the_headers_of_ipv4_are_as_the_kernels() {
        let bytes = written("192.168.0.1:513", "192.168.0.199:258", &[7; 87]);
        let ip = [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xB8, 0x61, 0xC0, 0xA8, 0, 1, 0xC0, 0xA8, 0, 0xC7];
        let ethernet = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
        assert_eq!(bytes, [&ethernet[..], &ip, &[2, 1, 1, 2, 0, 95, 0, 0]].concat());
    }

    /// P38: the sum of all words and the checksum is all ones.
    #[test]
    fn the_checksum_over_ipv6_holds_for_frames_of_every_length() {
        for len in 0..300 {
            let frame: Vec<u8> = (0..len).map(|at| (at * 37 + len) as u8).collect();
            let bytes = written("[fd77::1]:40000", "[fd77::2]:50001", &frame);
            let (ip, udp) = bytes[ETHERNET..].split_at(V6);
            assert_eq!((ip[0], ip[6], &ip[4..6]), (0x60, 17, &udp[4..6]));
            let pseudo = [&ip[8..], &[0, 0], &udp[4..6], &[0, 0, 0, 17]].concat();
            assert_ne!(udp[6..], [0, 0]);
            assert_eq!(folded(sum(&pseudo) + sum(udp) + sum(&frame)), 0, "{len}");
        }
    }
}
