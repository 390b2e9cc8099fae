//! Ends a wait in which nothing moves any more.
//!
//! Before it: the layers over a network; after it: nothing.

use std::io;
use std::time::{Duration, Instant};

/// For layers that send again what is lost.
pub const SILENCE: Duration = Duration::from_secs(5);
/// And for what has not reached their other end after a play.
pub const SETTLED_WITHIN: Duration = Duration::from_secs(1);

/// Looks in vain between two at the clock: it is read only where nothing comes.
const TURNS: u32 = 4096;

/// See the module.
pub struct Watch {
    limit: Duration,
    /// What has happened then.
    cause: &'static str,
    turns: u32,
    since: Option<Instant>,
}

impl Watch {
    pub const fn new(limit: Duration, cause: &'static str) -> Watch {
        Watch { limit, cause, turns: 0, since: None }
    }

    /// A turn; an error where nothing has moved for too long.
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
