//! The lower limit for all shared memory: one cache line there and back between two cores. Its bytes are a number;
//! nothing is copied.
//!
//! Used by `Together`; uses no other module.

use super::row::Layer;
use super::together::Together;
use crate::duet::End;
use hawser_base::Region;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Release};

/// The bytes of a line.
pub const BYTES: u64 = 64;
/// The distance of the lines, so far that the adjacent line that processors prefetch does not matter.
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
