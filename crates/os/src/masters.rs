//! Which interfaces are parts of which (bridges, bonds), as rtnetlink(7) tells, and what else it alone tells of links; the file system
//! may show another namespace's.

use crate::During;
use crate::errno::{checked, restarted};
use crate::sockopt;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// linux/netlink.h, rtnetlink.h, if_link.h: headers' lengths and the numbers that are used here.
const MESSAGE_HEAD: usize = 16;
const LINK_HEAD: usize = 16;
const ATTRIBUTE_HEAD: usize = 4;
const DONE: u16 = 3;
const ERROR: u16 = 2;
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const REQUEST_DUMP: u16 = 0x301;
const MASTER: u16 = 10;
/// NLA_TYPE_MASK: without the marks of what is nested.
const KIND: u16 = 0x3fff;

/// The number of each interface that is a part, and of which.
pub(crate) fn all() -> io::Result<HashMap<u32, u32>> {
    let found = attributes(MASTER)?;
    Ok(found.into_iter().filter(|(_, value)| value.len() == 4).map(|(index, value)| (index, word(&value))).collect())
}

/// An attribute (IFLA_) of all links that have it, by their numbers.
pub(crate) fn attributes(wanted: u16) -> io::Result<HashMap<u32, Vec<u8>>> {
    let socket = ask().during(|| "asking for the links".into())?;
    let mut found = HashMap::new();
    let mut answer = vec![0_u8; 1 << 16];
    loop {
        let (fd, place, len) = (socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len());
        // SAFETY: `answer` is valid for writes. The kernel answers at once, whole: what would block is an error.
        let got = restarted(|| unsafe { libc::recv(fd, place, len, 0) as i64 })? as usize;
        if read(&answer[..got], wanted, &mut found) {
            return Ok(found);
        }
    }
}

fn ask() -> io::Result<OwnedFd> {
    let socket = sockopt::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
    const LEN: usize = MESSAGE_HEAD + LINK_HEAD;
    let mut request = [0_u8; LEN];
    request[0..4].copy_from_slice(&(LEN as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&GET_LINK.to_ne_bytes());
    request[6..8].copy_from_slice(&REQUEST_DUMP.to_ne_bytes());
    let (fd, place, len) = (socket.as_raw_fd(), request.as_ptr().cast(), request.len());
    // SAFETY: `request` is readable; without an address it goes to the kernel.
    checked(unsafe { libc::send(fd, place, len, 0) } as i64)?;
    Ok(socket)
}

/// Reads messages about links; whether the last one was among them.
fn read(mut bytes: &[u8], wanted: u16, found: &mut HashMap<u32, Vec<u8>>) -> bool {
    while let Some((kind, message, rest)) = message(bytes) {
        match kind {
            DONE | ERROR => return true,
            NEW_LINK if message.len() >= LINK_HEAD => {
                let (head, attributes) = message.split_at(LINK_HEAD);
                if let Some(value) = within(attributes, wanted) {
                    found.insert(word(&head[4..8]), value.to_vec());
                }
            }
            _ => {}
        }
        bytes = rest;
    }
    false
}

/// The attribute of this kind among those of a link, or of one that is made of others.
pub(crate) fn within(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    while let Some((kind, value, rest)) = attribute(attributes) {
        if kind & KIND == wanted {
            return Some(value);
        }
        attributes = rest;
    }
    None
}

fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let len = word(bytes.get(..4)?) as usize;
    let kind = half(bytes.get(4..6)?);
    Some((kind, bytes.get(MESSAGE_HEAD..len)?, bytes.get(len.next_multiple_of(4)..).unwrap_or_default()))
}

fn attribute(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let len = usize::from(half(bytes.get(..2)?));
    let kind = half(bytes.get(2..4)?);
    Some((kind, bytes.get(ATTRIBUTE_HEAD..len)?, bytes.get(len.next_multiple_of(4)..).unwrap_or_default()))
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_ne_bytes(bytes.try_into().expect("four bytes"))
}

fn half(bytes: &[u8]) -> u16 {
    u16::from_ne_bytes(bytes.try_into().expect("two bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_and_what_is_cut_is_left() {
        let mut link = vec![44, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        link.extend([0, 0, 1, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        link.extend([6, 0, 3, 0, b'x', 0, 0, 0, 8, 0, 10, 0, 9, 0, 0, 0]);
        link[0] = link.len() as u8;
        let mut found = HashMap::new();
        assert!(!read(&link, MASTER, &mut found));
        assert_eq!(found, HashMap::from([(7, vec![9, 0, 0, 0])]));
        for cut in 0..link.len() {
            assert!(!read(&link[..cut], MASTER, &mut HashMap::new()));
        }
        let done = [16, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert!(read(&done, MASTER, &mut found));
        assert!(all().is_ok());
    }
}
