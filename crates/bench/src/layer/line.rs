//! The floor of all shared memory: one cache line there and back between two cores. Its bytes are a number; nothing is copied.
//!
//! Before it: `Together`; after it: nothing.

use super::row::Layer;
use super::together::Together;
use crate::duet::End;
use hawser_base::Region;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Bytes of a line.
pub const BYTES: u64 = 64;
/// Far enough for the neighbour that processors fetch along.
const APART: usize = 128;

struct LineEnd {
    lines: Region,
    mine: usize,
    theirs: usize,
    sent: u32,
    received: u32,
}

pub fn open() -> io::Result<Box<dyn Layer>> {
    let lines = Region::private(2 * APART);
    let end = |mine, theirs| LineEnd { lines: lines.clone(), mine, theirs, sent: 0, received: 0 };
    Ok(Box::new(Together::new(end(0, APART), end(APART, 0))))
}

impl End for LineEnd {
    fn exchange(&mut self, out: &mut [u8], into: &mut [u8]) -> io::Result<()> {
        if !out.is_empty() {
            self.sent = self.sent.wrapping_add(1);
            self.lines.u32(self.mine).store(self.sent, Release); // partner: the load below
        }
        if !into.is_empty() {
            self.received = self.received.wrapping_add(1);
            while self.lines.u32(self.theirs).load(Acquire) != self.received {
                std::hint::spin_loop();
            }
        }
        Ok(())
    }
}
