//! The business card of a process: what it publishes so that its peers can reach its devices, as entries
//! (`CardEntry`) that are packed together.
//!
//! A device may have several entries (one per adapter), each under a name of its own. All entries of all devices of a
//! process are sent to its peers as one byte string, because the launcher passes on one short text for each process.
//! Only the device that made an entry can interpret it. Used by `device`, and by `node`, which assembles the devices;
//! uses no other module.

use hawser_base::Peer;

/// An entry of a business card: the address of one device, or of one of its adapters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CardEntry {
    /// The name of the device or, if the device has an entry for each adapter, the device's name, a colon and the
    /// adapter's name. At most 255 bytes.
    pub name: String,
    /// The contents. At most 65,535 bytes.
    pub bytes: Vec<u8>,
}

/// A function that returns the entry that a peer has published under a name; None while the entry is unknown. A
/// device gets the function when it is made, and calls it before its first packet to a peer, again and again until
/// the entry is known. The function never waits.
pub type CardLookup = Box<dyn Fn(Peer, &str) -> Option<Vec<u8>> + Send>;

/// Returns the bytes that a packed entry with this name takes in addition to its contents.
pub const fn entry_overhead(name: &str) -> usize {
    1 + name.len() + 2
}

/// Packs all entries of a process into one piece: for each the length of its name (1 byte), the name, the length of
/// its bytes (2, little-endian), the bytes.
pub fn pack(entries: &[CardEntry]) -> Vec<u8> {
    let mut packed = Vec::new();
    for CardEntry { name, bytes } in entries {
        let (name_len, len) = (u8::try_from(name.len()), u16::try_from(bytes.len()));
        packed.push(name_len.expect("an entry's name has at most 255 bytes"));
        packed.extend(name.as_bytes());
        packed.extend(len.expect("an entry has at most 65,535 bytes").to_le_bytes());
        packed.extend(bytes);
    }
    packed
}

/// Returns the bytes of the entry with this name among packed entries; None if there is none.
pub fn find<'a>(mut packed: &'a [u8], name: &str) -> Option<&'a [u8]> {
    while let Some((&name_len, rest)) = packed.split_first() {
        let (found_name, rest) = rest.split_at_checked(usize::from(name_len))?;
        let (&[low, high], rest) = rest.split_first_chunk()?;
        let (bytes, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes([low, high])))?;
        if found_name == name.as_bytes() {
            return Some(bytes);
        }
        packed = rest;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, len: usize) -> CardEntry {
        CardEntry { name: name.into(), bytes: (0..len).map(|at| at as u8).collect() }
    }

    #[test]
    fn each_card_is_found_by_its_name() {
        let entries = [entry("ether:eth0", 300), entry("ether:eth1", 0), entry("ofi", 7)];
        let packed = pack(&entries);
        assert_eq!(
            packed.len(),
            entries.iter().map(|entry| entry_overhead(&entry.name) + entry.bytes.len()).sum::<usize>()
        );
        for entry in &entries {
            assert_eq!(find(&packed, &entry.name), Some(&entry.bytes[..]));
        }
        assert_eq!((find(&packed, "ether"), find(&[], "ether")), (None, None), "a name is found whole");
    }

    #[test]
    fn of_cut_cards_those_that_are_whole_are_found() {
        let packed = pack(&[entry("a", 3), entry("b", 3)]);
        for cut in 0..packed.len() {
            assert_eq!(find(&packed[..cut], "a").is_some(), cut >= packed.len() / 2, "{cut}");
            assert_eq!(find(&packed[..cut], "b"), None, "{cut}");
        }
    }
}
