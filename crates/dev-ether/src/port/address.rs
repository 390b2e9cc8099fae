//! Where a port is reached, and its form in a rank's card: at most 20 bytes.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Address {
    /// A NIC, and which of its host's ranks.
    Ether { mac: [u8; 6], selector: u16 },
    /// A UDP or TCP port. Of IPv6 addresses that hold on one link alone (fe80::/10) the scope is the sender's business.
    Ip(SocketAddr),
}

/// Bytes in a card do not make an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MalformedAddress;

/// First byte of each form.
const ETHER: u8 = 1;
const V4: u8 = 4;
const V6: u8 = 6;

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
            Address::Ip(address) => {
                match address.ip() {
                    IpAddr::V4(ip) => {
                        to.push(V4);
                        to.extend(ip.octets());
                    }
                    IpAddr::V6(ip) => {
                        to.push(V6);
                        to.extend(ip.octets());
                    }
                }
                to.extend(address.port().to_le_bytes());
            }
        }
    }

    /// Reads an address from the front of `bytes`, and says how long it was.
    pub fn decode(bytes: &[u8]) -> Result<(Address, usize), MalformedAddress> {
        fn split<const N: usize>(bytes: &[u8]) -> Result<([u8; N], u16, usize), MalformedAddress> {
            let (body, rest) = bytes[1..].split_first_chunk::<N>().ok_or(MalformedAddress)?;
            let last = rest.first_chunk::<2>().ok_or(MalformedAddress)?;
            Ok((*body, u16::from_le_bytes(*last), 1 + N + 2))
        }
        match bytes.first() {
            Some(&ETHER) => split(bytes).map(|(mac, selector, len)| (Address::Ether { mac, selector }, len)),
            Some(&V4) => split::<4>(bytes).map(|(ip, port, len)| (Address::Ip((Ipv4Addr::from(ip), port).into()), len)),
            Some(&V6) => {
                split::<16>(bytes).map(|(ip, port, len)| (Address::Ip((Ipv6Addr::from(ip), port).into()), len))
            }
            _ => Err(MalformedAddress),
        }
    }

    /// The socket's address if it is one, with the scope that it has on this host's interface.
    pub(super) fn on_interface(&self, scope: u32) -> Option<SocketAddr> {
        match *self {
            Address::Ip(SocketAddr::V6(v6)) if v6.ip().is_unicast_link_local() => {
                Some(SocketAddrV6::new(*v6.ip(), v6.port(), 0, scope).into())
            }
            Address::Ip(address) => Some(address),
            Address::Ether { .. } => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Ether { mac: [a, b, c, d, e, f], selector } => {
                write!(out, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}#{selector}")
            }
            Address::Ip(address) => address.fmt(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_from_a_card() {
        let ip = |text: &str| Address::Ip(text.parse().unwrap());
        let all =
            [Address::Ether { mac: [2, 0, 0, 0, 0, 9], selector: 513 }, ip("10.1.2.3:4567"), ip("[2001:db8::1]:65535")];
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
    fn a_link_local_address_gets_the_scope_of_the_rail() {
        let far = Address::Ip("[fe80::2]:9".parse().unwrap());
        assert_eq!(far.on_interface(5), Some("[fe80::2%5]:9".parse().unwrap()));
        assert_eq!(Address::Ether { mac: [0; 6], selector: 0 }.on_interface(5), None);
    }
}
