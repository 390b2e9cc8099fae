//! Assembles messages from a device's packets, whose headers name the message and the offset of each packet.
//!
//! Used by `ring` and `transport`; uses `hawser-device`.

use super::message_assembly::MessageAssembly;
use hawser_base::{Peer, UserMem};
use hawser_device::{Delivery, Header, Payload};
use std::io;

/// Takes the packets that arrive during the receipt of one message.
pub struct PacketReceiver<'a> {
    assembly: &'a mut MessageAssembly,
    into: &'a mut [u8],
    got: usize,
    lost: bool,
    /// The number of bytes that the receiver has of the memory that the device had borrowed; None until the device
    /// returns the memory.
    pub returned: Option<usize>,
}

/// Returns the header of the piece that begins at byte `at` of a message.
pub fn header(message: u32, at: usize) -> Header {
    Header::new(0, 0, message, 0).moved(at as u64)
}

impl<'a> PacketReceiver<'a> {
    /// Receives the next message of `assembly` into `into`.
    pub fn new(assembly: &'a mut MessageAssembly, into: &'a mut [u8]) -> PacketReceiver<'a> {
        let got = assembly.take_buffered(into);
        PacketReceiver { assembly, into, got, lost: false, returned: None }
    }

    pub fn is_complete(&self) -> bool {
        self.got == self.into.len()
    }

    pub fn check(&self) -> io::Result<()> {
        if self.lost { Err(io::Error::other("the other end is lost")) } else { Ok(()) }
    }
}

impl Delivery for PacketReceiver<'_> {
    fn deliver(&mut self, _from: Peer, header: Header, payload: &mut dyn Payload) {
        let at = u64::from(header.aux()) << 32 | u64::from(header.b());
        let (len, mut is_there) = (payload.len(), true);
        let copy = |target: &mut [u8]| is_there = payload.copy_to(UserMem::of_slice(target));
        self.got += self.assembly.take(self.into, (header.a(), at), len, copy);
        self.lost |= !is_there;
    }

    fn expects(&self, _from: Peer) -> bool {
        !self.is_complete()
    }

    fn peer_failed(&mut self, _peer: Peer) {
        self.lost = true;
    }

    fn zero_copy_done(&mut self, _ticket: u32, taken: u64) {
        self.returned = Some(taken as usize);
    }
}
