//! The port list of a rank: the addresses of its ports. It is what this device publishes in the rank's business
//! card, which other ranks get by the bootstrap.
//!
//! A peer's port list is not trusted: the only effect that it can have is that frames are sent to its addresses. Used
//! by `device`, which publishes its own and looks up others'; uses `port::PortAddress`.

use crate::port::PortAddress;
use hawser_device::business_card::entry_overhead;
use hawser_job::layout::BUSINESS_CARD_MAX;

/// The name under which this device's port list is published.
pub const NAME: &str = "ether";

/// Maximum ports of a rank: each is a bit of a word (`PortSet`).
pub const PORTS_MAX: usize = 32;

/// The longest port list, in bytes. Nothing else is known of a peer before the first contact. It has space for the
/// ports `packet` and `udp` of eleven rails.
pub const PORT_LIST_MAX_BYTES: usize = BUSINESS_CARD_MAX - entry_overhead(NAME);

const _: () = assert!(11 * (2 * 3 + 9 + 7) < PORT_LIST_MAX_BYTES);

/// One port of a port list (P33 of docs/protocol.md).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CardPort {
    /// The port's rail on its host: only ports on one rail can replace each other.
    pub rail: u8,
    pub address: PortAddress,
    /// The longest frame that it takes, in bytes.
    pub frame_max: u16,
}

/// The ports of a rank, in the order of its business card.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PortList(Vec<CardPort>);

impl PortList {
    /// Makes a list of ports that a business card has space for.
    pub fn new(ports: Vec<CardPort>) -> PortList {
        assert!(ports.len() <= PORTS_MAX);
        let port_list = PortList(ports);
        assert!(port_list.encode().len() <= PORT_LIST_MAX_BYTES);
        port_list
    }

    /// Returns how many ports with these addresses, counted from the first, a business card has space for.
    pub fn count_fitting(addresses: impl Iterator<Item = PortAddress>) -> usize {
        let mut bytes = vec![0];
        let fits = addresses.take(PORTS_MAX).take_while(|address| {
            bytes.extend([0; 3]);
            address.encode(&mut bytes);
            bytes.len() <= PORT_LIST_MAX_BYTES
        });
        fits.count()
    }

    pub fn ports(&self) -> &[CardPort] {
        &self.0
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![self.0.len() as u8];
        for port in &self.0 {
            bytes.push(port.rail);
            bytes.extend(port.frame_max.to_le_bytes());
            port.address.encode(&mut bytes);
        }
        bytes
    }

    /// Reads a port list. None if the bytes are not one.
    pub fn decode(bytes: &[u8]) -> Option<PortList> {
        let (&count, mut rest) = bytes.split_first()?;
        let mut ports = Vec::new();
        for _ in 0..count {
            let (&[rail, low, high], address) = rest.split_first_chunk::<3>()?;
            let (address, len) = PortAddress::decode(address).ok()?;
            ports.push(CardPort { rail, address, frame_max: u16::from_le_bytes([low, high]) });
            rest = &rest[3 + len..];
        }
        (usize::from(count) <= PORTS_MAX).then_some(PortList(ports))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P33
    #[test]
    fn a_card_comes_back_and_a_cut_one_is_none() {
        let ip = |text: &str| PortAddress::Udp(text.parse().unwrap());
        let ether = PortAddress::Ether { mac: [2, 3, 4, 5, 6, 7], selector: 9 };
        let port = |address| CardPort { rail: 3, address, frame_max: 1472 };
        let port_list = PortList::new(vec![port(ether), port(ip("[2001:db8::1]:65535")), port(ip("10.0.0.1:5"))]);
        let bytes = port_list.encode();
        assert_eq!(PortList::decode(&bytes), Some(port_list));
        assert!((0..bytes.len()).all(|cut| PortList::decode(&bytes[..cut]).is_none()));
        assert_eq!(PortList::decode(&[PORTS_MAX as u8 + 1; 300]), None);
        assert_eq!(PortList::decode(&[0]), Some(PortList::default()));
    }

    #[test]
    fn a_card_has_room_for_as_many_ports_as_its_bytes() {
        let count =
            |text: &str| PortList::count_fitting(std::iter::repeat_n(PortAddress::Udp(text.parse().unwrap()), 100));
        assert_eq!((count("10.0.0.1:5"), count("[2001:db8::1]:65535")), (25, 11));
        let port = CardPort { rail: 1, address: PortAddress::Udp("10.0.0.1:5".parse().unwrap()), frame_max: 1 };
        assert!(PortList::new(vec![port; 25]).encode().len() <= PORT_LIST_MAX_BYTES);
    }
}
