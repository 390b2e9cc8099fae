//! A wait that polls. It gives the core away if nothing progresses for some time, and ends with an error if nothing
//! progresses any more.
//!
//! The other end may need the same core, whatever cores the two are bound to: a hypervisor may run two virtual cores
//! on one core of its own. Each end would then poll for a whole time slice, some milliseconds, per message.
//!
//! Used by the layers with two ends; uses no other module.

use std::io;
use std::time::{Duration, Instant};

/// The time limit without progress for layers that retransmit what is lost.
pub const STALL_LIMIT: Duration = Duration::from_secs(5);
/// The time limit, after a task, for what has not reached the other end yet.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The number of polls without progress between two readings of the clock. The clock is read only if nothing arrives.
const POLLS_PER_CLOCK_READ: u32 = 1024;
/// The time without progress after which the core is given away, for messages without bytes: far more than a short
/// message takes over any layer, and far less than a time slice.
const CORE_KEPT: Duration = Duration::from_micros(200);
/// The number of bytes for which the core is kept a microsecond longer: a layer may show no progress while the other
/// end copies a whole message.
const BYTES_PER_US: u64 = 1000;
/// The time for which the core is given away: the shortest, since a yield would not reach a hypervisor.
const CORE_LENT: Duration = Duration::from_micros(1);

/// A wait that polls; see the module.
pub struct PolledWait {
    limit: Duration,
    /// The text of the error.
    cause: &'static str,
    core_kept: Duration,
    polls: u32,
    since: Option<Instant>,
}

impl PolledWait {
    pub const fn new(limit: Duration, cause: &'static str) -> PolledWait {
        PolledWait { limit, cause, core_kept: CORE_KEPT, polls: 0, since: None }
    }

    /// Begins the wait for an exchange of `bytes` bytes.
    pub fn begin(&mut self, bytes: usize) {
        self.core_kept = CORE_KEPT + Duration::from_micros(bytes as u64 / BYTES_PER_US);
        (self.polls, self.since) = (0, None);
    }

    /// Counts a poll; an error if nothing has progressed for longer than the limit.
    pub fn count_poll(&mut self, has_progressed: bool) -> io::Result<()> {
        if has_progressed {
            (self.polls, self.since) = (0, None);
            return Ok(());
        }
        self.polls += 1;
        if self.polls < POLLS_PER_CLOCK_READ {
            return Ok(());
        }
        self.polls = 0;
        let elapsed = self.since.get_or_insert_with(Instant::now).elapsed();
        if elapsed > self.limit {
            self.since = None;
            return Err(io::Error::other(self.cause));
        }
        if elapsed > self.core_kept {
            std::thread::sleep(CORE_LENT);
        }
        Ok(())
    }
}
