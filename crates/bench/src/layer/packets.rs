//! Assembles messages from a device's packets, whose headers tell where each belongs.
//!
//! Used by `ring` and `transport`; uses `hawser-device`.

use super::inbox::Inbox;
use hawser_base::{Peer, UserMem};
use hawser_device::{Delivery, Header, Payload};
use std::io;

/// The packets that arrive while one message is received.
pub struct Packets<'a> {
    inbox: &'a mut Inbox,
    into: &'a mut [u8],
    got: usize,
    lost: bool,
    /// The number of bytes of the borrowed memory that the receiver has.
    pub returned: Option<usize>,
}

/// The header of the piece of a message that begins at byte `at` of it.
pub fn header(message: u32, at: usize) -> Header {
    Header { a: message, ..Header::default() }.moved(at as u64)
}

impl<'a> Packets<'a> {
    /// Receives into the message that is the inbox's next.
    pub fn new(inbox: &'a mut Inbox, into: &'a mut [u8]) -> Packets<'a> {
        let got = inbox.take_early(into);
        Packets { inbox, into, got, lost: false, returned: None }
    }

    pub fn is_whole(&self) -> bool {
        self.got == self.into.len()
    }

    pub fn check(&self) -> io::Result<()> {
        if self.lost { Err(io::Error::other("the other end is lost")) } else { Ok(()) }
    }
}

impl Delivery for Packets<'_> {
    fn deliver(&mut self, _from: Peer, header: Header, payload: &mut dyn Payload) {
        let at = u64::from(header.aux) << 32 | u64::from(header.b);
        let (len, mut is_there) = (payload.len(), true);
        let copy = |room: &mut [u8]| is_there = payload.copy_to(UserMem::of_slice(room));
        self.got += self.inbox.take(self.into, (header.a, at), len, copy);
        self.lost |= !is_there;
    }

    fn expects(&self, _from: Peer) -> bool {
        !self.is_whole()
    }

    fn lost(&mut self, _peer: Peer) {
        self.lost = true;
    }

    fn returned(&mut self, _ticket: u32, taken: u64) {
        self.returned = Some(taken as usize);
    }
}
