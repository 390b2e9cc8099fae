//! The business card of a rank: the addresses of its ports, as other ranks get it through their agents.
//!
//! A card is trusted only as far as frames are sent to its addresses. Used by `device`, which publishes its own and
//! looks up others'; uses `port::Address`.

use crate::port::Address;
use hawser_device::cards::overhead;
use hawser_job::plan::CARD_MAX;

/// The name under which this device's card is published.
pub const NAME: &str = "ether";

/// Maximum ports of a rank: each is a bit of a word (`Ends`).
pub const PORTS: usize = 32;

/// The longest card, in bytes. Nothing else is known of a peer before the first contact. It has space for the ports
/// `packet` and `udp` of eleven rails.
pub const CARD: usize = CARD_MAX - overhead(NAME);

const _: () = assert!(11 * (2 * 3 + 9 + 7) < CARD);

/// One port (P33).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// The port's rail on its host: only ports on one rail can replace each other.
    pub rail: u8,
    pub address: Address,
    /// The longest frame that it takes, in bytes.
    pub frame_max: u16,
}

/// The ports of a rank, in the order of its card.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Card(Vec<End>);

impl Card {
    /// Makes a card of ports that it has space for.
    pub fn new(ends: Vec<End>) -> Card {
        assert!(ends.len() <= PORTS);
        let card = Card(ends);
        assert!(card.encode().len() <= CARD);
        card
    }

    /// Returns how many of these ports, the first ones, a card has space for.
    pub fn room_for(addresses: impl Iterator<Item = Address>) -> usize {
        let mut bytes = vec![0];
        let fits = addresses.take(PORTS).take_while(|address| {
            bytes.extend([0; 3]);
            address.encode(&mut bytes);
            bytes.len() <= CARD
        });
        fits.count()
    }

    pub fn ends(&self) -> &[End] {
        &self.0
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![self.0.len() as u8];
        for end in &self.0 {
            bytes.push(end.rail);
            bytes.extend(end.frame_max.to_le_bytes());
            end.address.encode(&mut bytes);
        }
        bytes
    }

    /// Reads a card. None if the bytes are not one.
    pub fn decode(bytes: &[u8]) -> Option<Card> {
        let (&count, mut rest) = bytes.split_first()?;
        let mut ends = Vec::new();
        for _ in 0..count {
            let (&[rail, low, high], address) = rest.split_first_chunk::<3>()?;
            let (address, len) = Address::decode(address).ok()?;
            ends.push(End { rail, address, frame_max: u16::from_le_bytes([low, high]) });
            rest = &rest[3 + len..];
        }
        (usize::from(count) <= PORTS).then_some(Card(ends))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P33
    #[test]
    fn a_card_comes_back_and_a_cut_one_is_none() {
        let ip = |text: &str| Address::Udp(text.parse().unwrap());
        let ether = Address::Ether { mac: [2, 3, 4, 5, 6, 7], selector: 9 };
        let end = |address| End { rail: 3, address, frame_max: 1472 };
        let card = Card::new(vec![end(ether), end(ip("[2001:db8::1]:65535")), end(ip("10.0.0.1:5"))]);
        let bytes = card.encode();
        assert_eq!(Card::decode(&bytes), Some(card));
        assert!((0..bytes.len()).all(|cut| Card::decode(&bytes[..cut]).is_none()));
        assert_eq!(Card::decode(&[PORTS as u8 + 1; 300]), None);
        assert_eq!(Card::decode(&[0]), Some(Card::default()));
    }

    #[test]
    fn a_card_has_room_for_as_many_ports_as_its_bytes() {
        let of = |text: &str| Card::room_for(std::iter::repeat_n(Address::Udp(text.parse().unwrap()), 100));
        assert_eq!((of("10.0.0.1:5"), of("[2001:db8::1]:65535")), (25, 11));
        let end = End { rail: 1, address: Address::Udp("10.0.0.1:5".parse().unwrap()), frame_max: 1 };
        assert!(Card::new(vec![end; 25]).encode().len() <= CARD);
    }
}
