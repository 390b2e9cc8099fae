//! The assignment of interfaces to bridges and bonds, as rtnetlink(7) reports it, and other properties of links that
//! only rtnetlink reports. The file system (/sys) is not used, because it may show the links of another network
//! namespace.

use crate::ErrorContext;
use crate::netlink::{DUMP, NetlinkSocket, attribute, read_u32};
use std::collections::HashMap;
use std::io;

/// linux/rtnetlink.h, if_link.h: the length of `struct ifinfomsg`, the offset of the interface's number in it, and
/// the numbers of two messages and of an attribute.
const LINK_HEAD: usize = 16;
const INDEX: std::ops::Range<usize> = 4..8;
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const MASTER: u16 = 10;

/// Returns the number of each interface that is a member, and the number of its bridge or bond.
pub(crate) fn all() -> io::Result<HashMap<u32, u32>> {
    let found = attributes_of(MASTER)?;
    Ok(found
        .into_iter()
        .filter(|(_, value)| value.len() == 4)
        .map(|(index, value)| (index, read_u32(&value)))
        .collect())
}

/// Returns the value of attribute `wanted` (an IFLA_ number) for every link that has it, by the link's number.
pub(crate) fn attributes_of(wanted: u16) -> io::Result<HashMap<u32, Vec<u8>>> {
    let mut found = HashMap::new();
    let mut asker = NetlinkSocket::new().context(doing)?;
    let take = |kind: u16, body: &[u8]| read((kind, body), wanted, &mut found);
    asker.query((GET_LINK, DUMP), &[0; LINK_HEAD], &[], take).context(doing)?;
    Ok(found)
}

fn doing() -> String {
    "getting the network links".into()
}

fn read((kind, body): (u16, &[u8]), wanted: u16, found: &mut HashMap<u32, Vec<u8>>) {
    if kind != NEW_LINK || body.len() < LINK_HEAD {
        return;
    }
    let (head, rest) = body.split_at(LINK_HEAD);
    if let Some(value) = attribute(rest, wanted) {
        found.insert(read_u32(&head[INDEX]), value.to_vec());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_and_what_is_cut_is_left() {
        let mut link = vec![0, 0, 1, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        link.extend([6, 0, 3, 0, b'x', 0, 0, 0, 8, 0, 10, 0, 9, 0, 0, 0]);
        let mut found = HashMap::new();
        for cut in 0..link.len() {
            read((NEW_LINK, &link[..cut]), MASTER, &mut found);
        }
        assert_eq!(found, HashMap::new());
        read((NEW_LINK, &link), MASTER, &mut found);
        assert_eq!(found, HashMap::from([(7, vec![9, 0, 0, 0])]));
        assert!(all().is_ok());
    }
}
