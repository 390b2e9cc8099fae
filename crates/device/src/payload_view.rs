//! A payload that lies in private memory of the receiving process.
//!
//! Used by devices that copy packets when they arrive; passed to `Delivery`.

use crate::packet::Payload;
use hawser_base::SharedMem;

/// A payload whose bytes from `at` on are still to be consumed.
pub struct PayloadView<'a> {
    pub bytes: &'a mut [u8],
    pub at: usize,
}

impl Payload for PayloadView<'_> {
    fn len(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn next(&mut self, max: usize) -> Option<SharedMem<'_>> {
        let len = self.len().min(max);
        let piece = SharedMem::of_slice(&mut self.bytes[self.at..self.at + len]);
        self.at += len;
        (len > 0).then_some(piece)
    }
}
