//! The address of a port, and its form in a rank's business card: at most 20 bytes.

use hawser_os::interfaces::IpNetwork;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PortAddress {
    /// The MAC address of a NIC, and the selector of the rank on its host.
    Ether { mac: [u8; 6], selector: u16 },
    /// The address of a UDP port. For IPv6 addresses that are valid on one link alone (fe80::/10) the sender adds the
    /// scope.
    Udp(SocketAddr),
    /// The address of a TCP port. The scope is added as for UDP.
    Tcp(SocketAddr),
    /// The address of a UDP port for single frames, whose datagrams bypass the kernel's UDP. The scope is added as
    /// for UDP.
    PacketUdp(SocketAddr),
}

/// An error: bytes in a business card are no address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MalformedAddress;

/// The first byte of an encoded address, which names its kind.
const ETHER: u8 = 1;
const UDP_V4: u8 = 4;
const UDP_V6: u8 = 6;
/// Offsets that are added to UDP_V4 and UDP_V6 for `PortAddress::Tcp` and `PortAddress::PacketUdp`.
const TCP: u8 = 16;
const PACKET: u8 = 32;
const TCP_V4: u8 = UDP_V4 + TCP;
const TCP_V6: u8 = UDP_V6 + TCP;
const PACKET_UDP_V4: u8 = UDP_V4 + PACKET;
const PACKET_UDP_V6: u8 = UDP_V6 + PACKET;

impl PortAddress {
    pub const ENCODED_MAX: usize = 20;

    /// Appends the form for business cards: a byte that names the kind, the address, the selector or port
    /// (little-endian).
    pub fn encode(&self, to: &mut Vec<u8>) {
        match self {
            PortAddress::Ether { mac, selector } => {
                to.push(ETHER);
                to.extend(mac);
                to.extend(selector.to_le_bytes());
            }
            PortAddress::Udp(address) | PortAddress::Tcp(address) | PortAddress::PacketUdp(address) => {
                let kind = match self {
                    PortAddress::Tcp(_) => TCP,
                    PortAddress::PacketUdp(_) => PACKET,
                    _ => 0,
                };
                match address.ip() {
                    IpAddr::V4(ip) => {
                        to.push(UDP_V4 + kind);
                        to.extend(ip.octets());
                    }
                    IpAddr::V6(ip) => {
                        to.push(UDP_V6 + kind);
                        to.extend(ip.octets());
                    }
                }
                to.extend(address.port().to_le_bytes());
            }
        }
    }

    /// Reads an address from the first bytes of `bytes`. Returns it with its length.
    pub fn decode(bytes: &[u8]) -> Result<(PortAddress, usize), MalformedAddress> {
        fn split<const N: usize>(bytes: &[u8]) -> Result<([u8; N], u16, usize), MalformedAddress> {
            let (body, rest) = bytes[1..].split_first_chunk::<N>().ok_or(MalformedAddress)?;
            let last = rest.first_chunk::<2>().ok_or(MalformedAddress)?;
            Ok((*body, u16::from_le_bytes(*last), 1 + N + 2))
        }
        let v4 = || split::<4>(bytes).map(|(ip, port, len)| (SocketAddr::from((Ipv4Addr::from(ip), port)), len));
        let v6 = || split::<16>(bytes).map(|(ip, port, len)| (SocketAddr::from((Ipv6Addr::from(ip), port)), len));
        match bytes.first() {
            Some(&ETHER) => split(bytes).map(|(mac, selector, len)| (PortAddress::Ether { mac, selector }, len)),
            Some(&UDP_V4) => v4().map(|(address, len)| (PortAddress::Udp(address), len)),
            Some(&UDP_V6) => v6().map(|(address, len)| (PortAddress::Udp(address), len)),
            Some(&TCP_V4) => v4().map(|(address, len)| (PortAddress::Tcp(address), len)),
            Some(&TCP_V6) => v6().map(|(address, len)| (PortAddress::Tcp(address), len)),
            Some(&PACKET_UDP_V4) => v4().map(|(address, len)| (PortAddress::PacketUdp(address), len)),
            Some(&PACKET_UDP_V6) => v6().map(|(address, len)| (PortAddress::PacketUdp(address), len)),
            _ => Err(MalformedAddress),
        }
    }

    /// Returns the kind of port, as in HAWSER_PORT. Ports of `xdp` and `xdp-udp` have addresses of the kinds `packet`
    /// and `packet-udp`.
    pub fn kind(&self) -> &'static str {
        match self {
            PortAddress::Ether { .. } => "packet",
            PortAddress::Udp(_) => "udp",
            PortAddress::Tcp(_) => "stream",
            PortAddress::PacketUdp(_) => "packet-udp",
        }
    }

    /// Returns why the other address cannot be reached from this one, whatever network lies between. None: only a
    /// probe can show whether it is reached.
    pub fn incompatibility(&self, other: &PortAddress) -> Option<&'static str> {
        match (self, other) {
            (PortAddress::Ether { .. }, PortAddress::Ether { .. }) => None,
            (PortAddress::Udp(a), PortAddress::Udp(b))
            | (PortAddress::Tcp(a), PortAddress::Tcp(b))
            | (PortAddress::PacketUdp(a), PortAddress::PacketUdp(b)) => {
                if a.is_ipv4() != b.is_ipv4() {
                    return Some("IPv4 and IPv6 addresses cannot reach each other");
                }
                // A host that has only a link-local address has no route back to an address of a network.
                (is_link_local(a) != is_link_local(b))
                    .then_some("link-local and other addresses cannot reach each other")
            }
            _ => Some("ports of different kinds cannot reach each other"),
        }
    }

    /// Returns the IP address of a UDP or TCP port; None for raw Ethernet.
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            PortAddress::Ether { .. } => None,
            PortAddress::Udp(address) | PortAddress::Tcp(address) | PortAddress::PacketUdp(address) => {
                Some(address.ip())
            }
        }
    }
}

/// Returns whether the address is in fe80::/10.
fn is_link_local(address: &SocketAddr) -> bool {
    matches!(address, SocketAddr::V6(v6) if v6.ip().is_unicast_link_local())
}

/// Returns a peer's socket address; a link-local one gets the scope of this host's interface.
pub(super) fn with_scope(address: SocketAddr, scope: u32) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() => {
            SocketAddrV6::new(*v6.ip(), v6.port(), 0, scope).into()
        }
        address => address,
    }
}

/// Returns the address to bind a socket to, for this host's address `local`.
pub(super) fn socket_address(local: &IpNetwork, port: u16) -> SocketAddr {
    match local.ip {
        IpAddr::V4(ip) => (ip, port).into(),
        IpAddr::V6(ip) => SocketAddrV6::new(ip, port, 0, local.scope).into(),
    }
}

impl fmt::Display for PortAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortAddress::Ether { mac: [a, b, c, d, e, f], selector } => {
                write!(out, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}#{selector}")
            }
            PortAddress::Udp(address) | PortAddress::Tcp(address) | PortAddress::PacketUdp(address) => address.fmt(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_from_a_card() {
        let ips = ["10.1.2.3:4567", "[2001:db8::1]:65535"].map(|text| text.parse().unwrap());
        let [udp4, udp6] = ips.map(PortAddress::Udp);
        let [tcp4, tcp6] = ips.map(PortAddress::Tcp);
        let [packet4, packet6] = ips.map(PortAddress::PacketUdp);
        let ether = PortAddress::Ether { mac: [2, 0, 0, 0, 0, 9], selector: 513 };
        let all = [ether, udp4, udp6, tcp4, tcp6, packet4, packet6];
        for address in all {
            let mut bytes = Vec::new();
            address.encode(&mut bytes);
            assert!(bytes.len() <= PortAddress::ENCODED_MAX);
            for cut in 0..bytes.len() {
                assert_eq!(PortAddress::decode(&bytes[..cut]), Err(MalformedAddress));
            }
            let len = bytes.len();
            bytes.push(7);
            assert_eq!(PortAddress::decode(&bytes), Ok((address, len)));
        }
        assert_eq!(PortAddress::decode(&[9; 32]), Err(MalformedAddress));
    }

    #[test]
    fn addresses_that_cannot_meet_are_told_apart() {
        let udp = |text: &str| PortAddress::Udp(text.parse().unwrap());
        let are_compatible = |a: &str, b: &str| udp(a).incompatibility(&udp(b)).is_none();
        let (v4, network, link) = ("10.0.0.1:1", "[fd77::1]:1", "[fe80::1]:1");
        assert!(are_compatible(v4, v4) && are_compatible(network, network) && are_compatible(link, link));
        assert!(!are_compatible(v4, network) && !are_compatible(network, link) && !are_compatible(link, network));
    }

    #[test]
    fn a_link_local_address_gets_the_scope_of_the_rail() {
        let scoped = |text: &str| with_scope(text.parse().unwrap(), 5);
        assert_eq!(scoped("[fe80::2]:9"), "[fe80::2%5]:9".parse().unwrap());
        assert_eq!(scoped("[fd00::2]:9"), "[fd00::2]:9".parse().unwrap());
    }
}
