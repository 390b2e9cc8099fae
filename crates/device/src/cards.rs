//! Business cards (`Card`): what a process publishes so that its peers can reach its devices, and how cards are packed
//! together.
//!
//! A device may have several cards (one per adapter), each under a name of its own. All cards of all devices of a
//! process are sent to its peers as one piece, because the starter of processes knows one short text of each process.
//! Only the device that made a card can interpret it. Used by `device`, and by `node`, which assembles the devices;
//! uses no other module.

use hawser_base::Peer;

/// A business card.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Card {
    /// A device's name, followed by a colon and an adapter's if the device has a card for each. At most 255 bytes.
    pub name: String,
    /// The contents. At most 65,535 bytes.
    pub bytes: Vec<u8>,
}

/// Returns the card that a peer has published under a name, as far as it is known by now. A device gets it when it is
/// made, and calls it before its first packet to the peer, again and again while the card is unknown. It never waits.
pub type Resolve = Box<dyn Fn(Peer, &str) -> Option<Vec<u8>> + Send>;

/// The bytes that a card with this name takes besides its own.
pub const fn overhead(name: &str) -> usize {
    1 + name.len() + 2
}

/// Packs all cards of a process into one piece: for each the length of its name (1 byte), the name, the length of its
/// bytes (2, little-endian), the bytes.
pub fn pack(cards: &[Card]) -> Vec<u8> {
    let mut packed = Vec::new();
    for Card { name, bytes } in cards {
        let (name_len, len) = (u8::try_from(name.len()), u16::try_from(bytes.len()));
        packed.push(name_len.expect("a card's name has at most 255 bytes"));
        packed.extend(name.as_bytes());
        packed.extend(len.expect("a card has at most 65,535 bytes").to_le_bytes());
        packed.extend(bytes);
    }
    packed
}

/// Returns the bytes of the card with this name among packed cards; None if there is none.
pub fn find<'a>(mut packed: &'a [u8], name: &str) -> Option<&'a [u8]> {
    while let Some((&name_len, rest)) = packed.split_first() {
        let (found, rest) = rest.split_at_checked(usize::from(name_len))?;
        let (&[low, high], rest) = rest.split_first_chunk()?;
        let (bytes, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes([low, high])))?;
        if found == name.as_bytes() {
            return Some(bytes);
        }
        packed = rest;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(name: &str, len: usize) -> Card {
        Card { name: name.into(), bytes: (0..len).map(|at| at as u8).collect() }
    }

    #[test]
    fn each_card_is_found_by_its_name() {
        let cards = [card("ether:eth0", 300), card("ether:eth1", 0), card("ofi", 7)];
        let packed = pack(&cards);
        assert_eq!(packed.len(), cards.iter().map(|card| overhead(&card.name) + card.bytes.len()).sum::<usize>());
        for card in &cards {
            assert_eq!(find(&packed, &card.name), Some(&card.bytes[..]));
        }
        assert_eq!((find(&packed, "ether"), find(&[], "ether")), (None, None), "a name is found whole");
    }

    #[test]
    fn of_cut_cards_those_that_are_whole_are_found() {
        let packed = pack(&[card("a", 3), card("b", 3)]);
        for cut in 0..packed.len() {
            assert_eq!(find(&packed[..cut], "a").is_some(), cut >= packed.len() / 2, "{cut}");
            assert_eq!(find(&packed[..cut], "b"), None, "{cut}");
        }
    }
}
