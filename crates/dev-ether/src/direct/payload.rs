//! Bytes of a message that wait in a connection, as they are delivered: the kernel copies them to where they belong.
//!
//! As many as it says are there (`Stream::available`). Before it: `direct`; after it: `device::Payload`.

use hawser_base::{SharedMem, UserMem};
use hawser_device::Payload;
use hawser_os::tcp::Stream;

/// What is taken at once to memory of our own, in bytes.
const PIECE: usize = 64 << 10;

/// See the module.
pub struct Arriving<'a> {
    stream: &'a Stream,
    left: usize,
    scratch: &'a mut Vec<u8>,
}

impl<'a> Arriving<'a> {
    pub fn new(stream: &'a Stream, len: usize, scratch: &'a mut Vec<u8>) -> Arriving<'a> {
        Arriving { stream, left: len, scratch }
    }

    /// Takes what nobody wanted. False: the kernel did not keep its promise.
    pub fn drop_rest(mut self) -> bool {
        while self.left > 0 && self.next(PIECE).is_some() {}
        self.left == 0
    }

    /// Lays all of it into `memory`.
    pub fn keep(&mut self, mut memory: Vec<u8>) -> Vec<u8> {
        memory.resize(self.left, 0);
        self.read(&mut memory);
        memory
    }
}

impl Payload for Arriving<'_> {
    fn len(&self) -> usize {
        self.left
    }

    fn next(&mut self, max: usize) -> Option<SharedMem<'_>> {
        let len = self.left.min(max).min(PIECE);
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
        let mut at = 0;
        while at < to.len() {
            let rest = to.slice(at, (to.len() - at).min(self.left));
            at += match self.stream.receive_user(rest) {
                Ok(Some(got)) if got > 0 => {
                    self.left -= got;
                    got
                }
                // Memory that the kernel may not write: the program's own access shows where.
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
        self.copy_to(UserMem::of_slice(to))
    }
}
