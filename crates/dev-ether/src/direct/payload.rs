//! The payload of a message part that has arrived in a connection. All of it except the bytes that were read ahead
//! still lies in the kernel, which copies it to its destination.
//!
//! No more bytes may be taken than have arrived (`TcpStream::available`). Used by `direct`; uses `device::Payload`.

use hawser_base::{SharedMem, UserMem};
use hawser_device::Payload;
use hawser_os::tcp::TcpStream;

/// Maximum bytes that are copied at once into the buffer `scratch`.
const CHUNK_BYTES: usize = 64 << 10;

/// The payload, as a delivery sees it.
pub struct SocketPayload<'a> {
    stream: &'a TcpStream,
    /// The first bytes, which were read ahead.
    ahead: &'a mut [u8],
    left: usize,
    scratch: &'a mut Vec<u8>,
    /// Counts the bytes that the kernel copied straight into receive buffers.
    in_place: &'a mut u64,
}

impl<'a> SocketPayload<'a> {
    /// Makes the payload of `len` bytes: those of `ahead` first, which has at most `len`. `in_place` is increased by
    /// the bytes that the kernel copies straight into receive buffers.
    pub fn new(
        stream: &'a TcpStream,
        ahead: &'a mut [u8],
        len: usize,
        (scratch, in_place): (&'a mut Vec<u8>, &'a mut u64),
    ) -> SocketPayload<'a> {
        debug_assert!(ahead.len() <= len);
        SocketPayload { stream, ahead, left: len, scratch, in_place }
    }

    /// Takes bytes that were read ahead, at most `max`.
    fn take_ahead(&mut self, max: usize) -> &'a mut [u8] {
        let ahead = std::mem::take(&mut self.ahead);
        let (taken, rest) = ahead.split_at_mut(ahead.len().min(max));
        self.ahead = rest;
        self.left -= taken.len();
        taken
    }

    /// Discards the bytes that the delivery did not take. False: the kernel did not have all the bytes that it
    /// reported.
    pub fn discard_rest(mut self) -> bool {
        while self.left > 0 && self.next(CHUNK_BYTES).is_some() {}
        self.left == 0
    }

    /// Copies all of the payload into `memory`, and returns that.
    pub fn copy_payload(&mut self, mut memory: Vec<u8>) -> Vec<u8> {
        memory.resize(self.left, 0);
        self.read(&mut memory);
        memory
    }
}

impl Payload for SocketPayload<'_> {
    fn len(&self) -> usize {
        self.left
    }

    fn next(&mut self, max: usize) -> Option<SharedMem<'_>> {
        let taken = self.take_ahead(max);
        if !taken.is_empty() {
            return Some(SharedMem::of_slice(taken));
        }
        let len = self.left.min(max).min(CHUNK_BYTES);
        self.scratch.resize(len, 0);
        let mut at = 0;
        while at < len {
            match self.stream.receive(&mut self.scratch[at..]) {
                Ok(Some(got)) if got > 0 => at += got,
                _ => return None,
            }
        }
        self.left -= len;
        (len > 0).then(|| SharedMem::of_slice(self.scratch))
    }

    fn copy_to(&mut self, to: UserMem) -> bool {
        let taken = self.take_ahead(to.len());
        to.slice(0, taken.len()).write(taken);
        let mut at = taken.len();
        while at < to.len() {
            let rest = to.slice(at, (to.len() - at).min(self.left));
            at += match self.stream.receive_user(rest) {
                Ok(Some(got)) if got > 0 => {
                    self.left -= got;
                    *self.in_place += got as u64;
                    got
                }
                // The kernel cannot write to this memory. Copy by ordinary stores: their fault shows the address.
                _ => match self.next(rest.len()) {
                    Some(piece) => {
                        piece.read_user(rest.slice(0, piece.len()));
                        piece.len()
                    }
                    None => return false,
                },
            };
        }
        true
    }

    fn read(&mut self, to: &mut [u8]) -> bool {
        // The library's own memory is no receive buffer: these bytes do not count.
        let in_place = *self.in_place;
        let is_whole = self.copy_to(UserMem::of_slice(to));
        *self.in_place = in_place;
        is_whole
    }
}
