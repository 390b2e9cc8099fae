//! Which interfaces are parts of which (bridges, bonds), as rtnetlink(7) tells; the file system may show another namespace's.

use crate::During;
use crate::netlink::{Asker, DUMP, attributes, word};
use std::collections::HashMap;
use std::io;

/// linux/rtnetlink.h, if_link.h: the length of `struct ifinfomsg`, where the interface's number stands in it, and numbers.
const LINK_HEAD: usize = 16;
const INDEX: std::ops::Range<usize> = 4..8;
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const MASTER: u16 = 10;

/// The number of each interface that is a part, and of which.
pub(crate) fn all() -> io::Result<HashMap<u32, u32>> {
    let mut found = HashMap::new();
    let mut asker = Asker::new().during(doing)?;
    asker.ask((GET_LINK, DUMP), &[0; LINK_HEAD], &[], |kind, body| read(kind, body, &mut found)).during(doing)?;
    Ok(found)
}

fn doing() -> String {
    "asking for the parts of bridges and bonds".into()
}

fn read(kind: u16, body: &[u8], found: &mut HashMap<u32, u32>) {
    if kind != NEW_LINK || body.len() < LINK_HEAD {
        return;
    }
    let (head, rest) = body.split_at(LINK_HEAD);
    let master = attributes(rest).find(|&(kind, value)| kind == MASTER && value.len() == 4);
    if let Some((_, master)) = master {
        found.insert(word(&head[INDEX]), word(master));
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
            read(NEW_LINK, &link[..cut], &mut found);
        }
        assert_eq!(found, HashMap::new());
        read(NEW_LINK, &link, &mut found);
        assert_eq!(found, HashMap::from([(7, 9)]));
        assert!(all().is_ok());
    }
}
