//! Cards: what a process lets others know of how a device of its reaches it, and how such words travel together.
//!
//! A device may have several (one an adapter), each under a name of its own; all cards of all devices of a process go
//! to its peers as one piece, because what starts processes knows one short text of each. What a card says means
//! something to the device that made it alone. Before it: `device`, and who puts devices together (`node`); after it:
//! nothing.

use hawser_base::Peer;

/// One card.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Card {
    /// At most 255 bytes: a device's name, behind a colon an adapter's if the device has a card for each.
    pub name: String,
    /// At most 65,535.
    pub bytes: Vec<u8>,
}

/// What a peer has published under a name, as far as it is known by now: given to a device when it is made, and asked
/// when the peer is first spoken to, again and again while it is not known. It never waits.
pub type Resolve = Box<dyn Fn(Peer, &str) -> Option<Vec<u8>> + Send>;

/// Bytes that a card with this name takes beside its own.
pub const fn overhead(name: &str) -> usize {
    1 + name.len() + 2
}

/// All cards of a process as one piece: of each the length of its name (1 byte), the name, the length of its bytes (2,
/// little-endian), the bytes.
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

/// The bytes of the card with this name among those that somebody has packed; None if there is none.
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
