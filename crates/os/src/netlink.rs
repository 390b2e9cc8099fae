//! Queries to the kernel about links, routes and neighbours, which are the hosts and gateways on the same link
//! (netlink(7), rtnetlink(7)): messages of a head and attributes.
//!
//! It never waits: the kernel writes its reply during the call that sends the query. Used by `link_masters`,
//! `next_hop` and `xdp`.

use crate::errno::{checked, restarted};
use crate::sockopt;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// linux/netlink.h.
const MESSAGE_HEAD: usize = 16;
const ATTRIBUTE_HEAD: usize = 4;
const ERROR: u16 = 2;
const DONE: u16 = 3;
pub(crate) const REQUEST: u16 = 1;
pub(crate) const DUMP: u16 = 0x300;
/// The bits of an attribute's kind without the two flags: that it holds other attributes, and that its numbers are
/// big-endian.
const KIND: u16 = 0x3fff;

/// A socket for queries, and the number of the last query.
pub(crate) struct NetlinkSocket {
    socket: OwnedFd,
    sequence: u32,
}

impl NetlinkSocket {
    pub(crate) fn new() -> io::Result<NetlinkSocket> {
        let socket = sockopt::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
        Ok(NetlinkSocket { socket, sequence: 0 })
    }

    /// Sends a query and calls `take` with the kind of each reply and with the bytes behind the reply's head. With
    /// DUMP there are replies up to a last one, otherwise one. Returns the kernel's error if the kernel refuses the
    /// query.
    pub(crate) fn query(
        &mut self,
        (kind, flags): (u16, u16),
        head: &[u8],
        attributes: &[(u16, &[u8])],
        mut take: impl FnMut(u16, &[u8]),
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let query = encode_query(kind, flags | REQUEST, self.sequence, head, attributes);
        let fd = self.socket.as_raw_fd();
        // SAFETY: `query` is readable; without an address it goes to the kernel.
        checked(unsafe { libc::send(fd, query.as_ptr().cast(), query.len(), 0) } as i64)?;
        let mut reply = vec![0_u8; if flags & DUMP == 0 { 1 << 12 } else { 1 << 16 }];
        loop {
            let (place, len) = (reply.as_mut_ptr().cast(), reply.len());
            // SAFETY: `reply` is valid for writes. The reply is there already; if it were not, the call would return
            // an error, because the socket never blocks.
            let got = restarted(|| unsafe { libc::recv(fd, place, len, 0) as i64 })? as usize;
            let mut rest = &reply[..got];
            while let Some((kind, sequence, body, more)) = message(rest) {
                rest = more;
                // This is a reply to an earlier query whose replies were not all read.
                if sequence != self.sequence {
                    continue;
                }
                match kind {
                    DONE => return Ok(()),
                    ERROR => return failure(body),
                    kind => take(kind, body),
                }
                if flags & DUMP == 0 {
                    return Ok(());
                }
            }
        }
    }
}

fn encode_query(kind: u16, flags: u16, sequence: u32, head: &[u8], attributes: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend(head);
    for (kind, value) in attributes {
        bytes.extend(((ATTRIBUTE_HEAD + value.len()) as u16).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(*value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    let len = bytes.len() as u32;
    bytes[..4].copy_from_slice(&len.to_ne_bytes());
    bytes
}

/// Converts the body of an error message, which begins with an error number; 0 means success.
fn failure(body: &[u8]) -> io::Result<()> {
    let number = body.get(..4).map_or(libc::EBADMSG, |bytes| -(read_u32(bytes) as i32));
    if number == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(number)) }
}

/// Splits off the first message. Returns its kind, the number of its query, the bytes behind its head, and the bytes
/// of the messages behind it. None if `bytes` does not begin with a whole message.
pub(crate) fn message(bytes: &[u8]) -> Option<(u16, u32, &[u8], &[u8])> {
    let len = read_u32(bytes.get(..4)?) as usize;
    let (kind, sequence) = (read_u16(bytes.get(4..6)?), read_u32(bytes.get(8..12)?));
    let rest = bytes.get(len.checked_next_multiple_of(4)?..).unwrap_or_default();
    Some((kind, sequence, bytes.get(MESSAGE_HEAD..len)?, rest))
}

/// Returns the value of the first attribute of this kind behind a head, or within another attribute.
pub(crate) fn attribute(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(bytes).find(|&(kind, _)| kind == wanted).map(|(_, value)| value)
}

/// Returns the kind and the value of each attribute in `bytes`, which begins behind a head.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = usize::from(read_u16(bytes.get(..2)?));
        let kind = read_u16(bytes.get(2..4)?) & KIND;
        let value = bytes.get(ATTRIBUTE_HEAD..len)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

pub(crate) fn read_u32(bytes: &[u8]) -> u32 {
    u32::from_ne_bytes(bytes.try_into().expect("four bytes"))
}

pub(crate) fn read_u16(bytes: &[u8]) -> u16 {
    u16::from_ne_bytes(bytes.try_into().expect("two bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_as_it_was_written_and_what_is_cut_is_left() {
        let bytes = encode_query(18, 0x301, 7, &[1, 2, 3, 4], &[(10, &[5; 4]), (11, &[6; 5]), (12, &[])]);
        let (kind, sequence, body, rest) = message(&bytes).unwrap();
        assert_eq!((kind, sequence, &body[..4], rest.len()), (18, 7, &[1, 2, 3, 4][..], 0));
        let read: Vec<_> = attributes(&body[4..]).collect();
        assert_eq!(read, [(10, &[5; 4][..]), (11, &[6; 5][..]), (12, &[][..])]);
        for cut in 0..bytes.len() {
            assert!(message(&bytes[..cut]).is_none());
        }
        assert_eq!(attributes(&body[4..body.len() - 5]).count(), 2);
        assert!(message(&[255; 20]).is_none() && attributes(&[2, 0, 0, 0]).next().is_none());
    }

    #[test]
    fn the_kernels_refusal_is_its_error() {
        // A query for an interface that does not exist.
        let mut head = [0; 16];
        head[4..8].copy_from_slice(&i32::MAX.to_ne_bytes());
        let mut asker = NetlinkSocket::new().unwrap();
        let refused = asker.query((18, 0), &head, &[], |_, _| panic!("an answer")).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::ENODEV));
        assert!(asker.query((9999, 0), &head, &[], |_, _| {}).is_err());
    }
}
