//! The lower limit for communication by shared memory: one cache line goes there and back between two cores. The line
//! only carries a number; nothing is copied.
//!
//! Used by `layer`; uses `polled_wait` and `two_threads`.

use super::layer_entry::Layer;
use super::polled_wait::{PolledWait, STALL_LIMIT};
use super::two_threads::TwoThreads;
use crate::pattern_driver::PatternEndpoint;
use hawser_base::Region;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Release};

/// The number of bytes of a cache line.
pub const BYTES: u64 = 64;
/// The distance of the two lines, in bytes. It is two lines, because processors also prefetch the adjacent line.
const LINE_DISTANCE: usize = 128;

struct CacheLineEndpoint {
    lines: Region,
    mine: usize,
    theirs: usize,
    sent: u32,
    received: u32,
    wait: PolledWait,
}

pub fn open() -> io::Result<Box<dyn Layer>> {
    let lines = Region::private(2 * LINE_DISTANCE);
    let end = |mine, theirs| {
        let wait = PolledWait::new(STALL_LIMIT, "the other thread no longer writes its line");
        CacheLineEndpoint { lines: lines.clone(), mine, theirs, sent: 0, received: 0, wait }
    };
    Ok(Box::new(TwoThreads::new(end(0, LINE_DISTANCE), end(LINE_DISTANCE, 0))))
}

impl PatternEndpoint for CacheLineEndpoint {
    fn exchange(&mut self, out: &mut [u8], into: &mut [u8]) -> io::Result<()> {
        if !out.is_empty() {
            self.sent = self.sent.wrapping_add(1);
            self.lines.u32(self.mine).store(self.sent, Release); // partner: the load below
        }
        if !into.is_empty() {
            self.received = self.received.wrapping_add(1);
            self.wait.begin(into.len());
            // The line may already hold the number after this one: the other end of the first exchange, in which both
            // send, goes on as soon as it has this end's number.
            let missing = |written: u32, wanted: u32| written.wrapping_sub(wanted) > u32::MAX / 2;
            while missing(self.lines.u32(self.theirs).load(Acquire), self.received) {
                self.wait.count_poll(false)?;
                std::hint::spin_loop();
            }
        }
        Ok(())
    }
}
