//! Ends a wait in which nothing progresses any more.
//!
//! Used by the layers over a network; uses no other module.

use std::io;
use std::time::{Duration, Instant};

/// The time limit without progress for layers that retransmit what is lost.
pub const STALL_LIMIT: Duration = Duration::from_secs(5);
/// The time limit, after a task, for what has not reached the other end yet.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The number of polls without progress between two readings of the clock. The clock is read only if nothing arrives.
const POLLS_PER_CLOCK_READ: u32 = 4096;

/// The limit on a wait; see the module.
pub struct StallTimeout {
    limit: Duration,
    /// The text of the error.
    cause: &'static str,
    polls: u32,
    since: Option<Instant>,
}

impl StallTimeout {
    pub const fn new(limit: Duration, cause: &'static str) -> StallTimeout {
        StallTimeout { limit, cause, polls: 0, since: None }
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
        if self.since.get_or_insert_with(Instant::now).elapsed() > self.limit {
            self.since = None;
            return Err(io::Error::other(self.cause));
        }
        Ok(())
    }
}
