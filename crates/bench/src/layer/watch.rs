//! Ends a wait in which nothing progresses any more.
//!
//! Used by the layers over a network; uses no other module.

use std::io;
use std::time::{Duration, Instant};

/// The limit for layers that retransmit what is lost.
pub const SILENCE: Duration = Duration::from_secs(5);
/// The limit for what has not reached the other end after a play.
pub const SETTLED_WITHIN: Duration = Duration::from_secs(1);

/// The empty polls between two readings of the clock, which is read only where nothing arrives.
const TURNS: u32 = 4096;

/// The limit on a wait; see the module.
pub struct Watch {
    limit: Duration,
    /// The text of the error.
    cause: &'static str,
    turns: u32,
    since: Option<Instant>,
}

impl Watch {
    pub const fn new(limit: Duration, cause: &'static str) -> Watch {
        Watch { limit, cause, turns: 0, since: None }
    }

    /// Counts a poll; an error where nothing has progressed for too long.
    pub fn turn(&mut self, moved: bool) -> io::Result<()> {
        if moved {
            (self.turns, self.since) = (0, None);
            return Ok(());
        }
        self.turns += 1;
        if self.turns < TURNS {
            return Ok(());
        }
        self.turns = 0;
        if self.since.get_or_insert_with(Instant::now).elapsed() > self.limit {
            self.since = None;
            return Err(io::Error::other(self.cause));
        }
        Ok(())
    }
}
