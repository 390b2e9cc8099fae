//! The address of a port, and its form in a rank's card: at most 20 bytes.

use hawser_os::interfaces::Network;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Address {
    /// The MAC address of a NIC, and the selector of the rank on its host.
    Ether { mac: [u8; 6], selector: u16 },
    /// The address of a UDP port. For IPv6 addresses that are valid on one link alone (fe80::/10) the sender adds the
    /// scope.
    Udp(SocketAddr),
    /// The address of a TCP port, likewise.
    Tcp(SocketAddr),
    /// The address of a UDP port for single frames, whose datagrams bypass the kernel's UDP, likewise.
    PacketUdp(SocketAddr),
}

/// An error: bytes in a card are no address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MalformedAddress;

/// The first byte of each form.
const ETHER: u8 = 1;
const UDP_V4: u8 = 4;
const UDP_V6: u8 = 6;
/// Offsets that are added to the values of UDP.
const TCP: u8 = 16;
const PACKET: u8 = 32;
const TCP_V4: u8 = UDP_V4 + TCP;
const TCP_V6: u8 = UDP_V6 + TCP;
const PACKET_UDP_V4: u8 = UDP_V4 + PACKET;
const PACKET_UDP_V6: u8 = UDP_V6 + PACKET;

impl Address {
    pub const ENCODED_MAX: usize = 20;

    /// Appends the form for cards: a byte that names the kind, the address, the selector or port (little-endian).
    pub fn encode(&self, to: &mut Vec<u8>) {
        match self {
            Address::Ether { mac, selector } => {
                to.push(ETHER);
                to.extend(mac);
                to.extend(selector.to_le_bytes());
            }
            Address::Udp(address) | Address::Tcp(address) | Address::PacketUdp(address) => {
                let kind = match self {
                    Address::Tcp(_) => TCP,
                    Address::PacketUdp(_) => PACKET,
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

    /// Reads an address from the front of `bytes`. Returns it with its length.
    pub fn decode(bytes: &[u8]) -> Result<(Address, usize), MalformedAddress> {
        fn split<const N: usize>(bytes: &[u8]) -> Result<([u8; N], u16, usize), MalformedAddress> {
            let (body, rest) = bytes[1..].split_first_chunk::<N>().ok_or(MalformedAddress)?;
            let last = rest.first_chunk::<2>().ok_or(MalformedAddress)?;
            Ok((*body, u16::from_le_bytes(*last), 1 + N + 2))
        }
        let v4 = || split::<4>(bytes).map(|(ip, port, len)| (SocketAddr::from((Ipv4Addr::from(ip), port)), len));
        let v6 = || split::<16>(bytes).map(|(ip, port, len)| (SocketAddr::from((Ipv6Addr::from(ip), port)), len));
        match bytes.first() {
            Some(&ETHER) => split(bytes).map(|(mac, selector, len)| (Address::Ether { mac, selector }, len)),
            Some(&UDP_V4) => v4().map(|(address, len)| (Address::Udp(address), len)),
            Some(&UDP_V6) => v6().map(|(address, len)| (Address::Udp(address), len)),
            Some(&TCP_V4) => v4().map(|(address, len)| (Address::Tcp(address), len)),
            Some(&TCP_V6) => v6().map(|(address, len)| (Address::Tcp(address), len)),
            Some(&PACKET_UDP_V4) => v4().map(|(address, len)| (Address::PacketUdp(address), len)),
            Some(&PACKET_UDP_V6) => v6().map(|(address, len)| (Address::PacketUdp(address), len)),
            _ => Err(MalformedAddress),
        }
    }

    /// Returns the kind of port, as in HAWSER_PORT.
    pub fn kind(&self) -> &'static str {
        match self {
            Address::Ether { .. } => "packet",
            Address::Udp(_) => "udp",
            Address::Tcp(_) => "stream",
            Address::PacketUdp(_) => "packet-udp",
        }
    }

    /// Returns why the other address cannot be reached from this one, whatever network lies between. None: only a probe
    /// can show that it is reached.
    pub fn obstacle(&self, other: &Address) -> Option<&'static str> {
        match (self, other) {
            (Address::Ether { .. }, Address::Ether { .. }) => None,
            (Address::Udp(a), Address::Udp(b))
            | (Address::Tcp(a), Address::Tcp(b))
            | (Address::PacketUdp(a), Address::PacketUdp(b)) => {
                if a.is_ipv4() != b.is_ipv4() {
                    return Some("IPv4 and IPv6 do not meet");
                }
                // A host that has only a link-local address has no route back to an address of a network.
                (of_one_link(a) != of_one_link(b)).then_some("an address of one link and one of a network do not meet")
            }
            _ => Some("ports of different kinds do not meet"),
        }
    }

    /// Returns the IP address of UDP or TCP.
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            Address::Ether { .. } => None,
            Address::Udp(address) | Address::Tcp(address) | Address::PacketUdp(address) => Some(address.ip()),
        }
    }
}

/// Returns whether the address is in fe80::/10.
fn of_one_link(address: &SocketAddr) -> bool {
    matches!(address, SocketAddr::V6(v6) if v6.ip().is_unicast_link_local())
}

/// Returns a peer's socket address with the scope of this host's interface.
pub(super) fn on_interface(address: SocketAddr, scope: u32) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() => {
            SocketAddrV6::new(*v6.ip(), v6.port(), 0, scope).into()
        }
        address => address,
    }
}

/// Returns the address to bind a socket to, for this host's address `local`.
pub(super) fn socket_address(local: &Network, port: u16) -> SocketAddr {
    match local.ip {
        IpAddr::V4(ip) => (ip, port).into(),
        IpAddr::V6(ip) => SocketAddrV6::new(ip, port, 0, local.scope).into(),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Ether { mac: [a, b, c, d, e, f], selector } => {
                write!(out, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}#{selector}")
            }
            Address::Udp(address) | Address::Tcp(address) | Address::PacketUdp(address) => address.fmt(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_from_a_card() {
        let ips = ["10.1.2.3:4567", "[2001:db8::1]:65535"].map(|text| text.parse().unwrap());
        let [udp4, udp6] = ips.map(Address::Udp);
        let [tcp4, tcp6] = ips.map(Address::Tcp);
        let [packet4, packet6] = ips.map(Address::PacketUdp);
        let ether = Address::Ether { mac: [2, 0, 0, 0, 0, 9], selector: 513 };
        let all = [ether, udp4, udp6, tcp4, tcp6, packet4, packet6];
        for address in all {
            let mut bytes = Vec::new();
            address.encode(&mut bytes);
            assert!(bytes.len() <= Address::ENCODED_MAX);
            for cut in 0..bytes.len() {
                assert_eq!(Address::decode(&bytes[..cut]), Err(MalformedAddress));
            }
            let len = bytes.len();
            bytes.push(7);
            assert_eq!(Address::decode(&bytes), Ok((address, len)));
        }
        assert_eq!(Address::decode(&[9; 32]), Err(MalformedAddress));
    }

    #[test]
    fn addresses_that_cannot_meet_are_told_apart() {
        let udp = |text: &str| Address::Udp(text.parse().unwrap());
        let meet = |a: &str, b: &str| udp(a).obstacle(&udp(b)).is_none();
        let (v4, network, link) = ("10.0.0.1:1", "[fd77::1]:1", "[fe80::1]:1");
        assert!(meet(v4, v4) && meet(network, network) && meet(link, link));
        assert!(!meet(v4, network) && !meet(network, link) && !meet(link, network));
    }

    #[test]
    fn a_link_local_address_gets_the_scope_of_the_rail() {
        let scoped = |text: &str| on_interface(text.parse().unwrap(), 5);
        assert_eq!(scoped("[fe80::2]:9"), "[fe80::2%5]:9".parse().unwrap());
        assert_eq!(scoped("[fd00::2]:9"), "[fd00::2]:9".parse().unwrap());
    }
}
