//! The process in which a raw layer runs: plays what it reads, a task a line, until its input ends.
//!
//! Used by `system`, which starts it; uses `layer`.

use crate::layer::Row;
use crate::sample;
use crate::task::{Answer, Task};
use std::io::{self, BufRead, Write};

/// Runs the near end, or the process that has both.
pub fn near(row: &Row) -> io::Result<()> {
    sample::pin(&sample::cores(), 0);
    let mut layer = match row.open() {
        Ok(layer) => layer,
        Err(error) => return say(&Answer::Failed(error.to_string())),
    };
    say(&Answer::Ready { ranks: 2, version: row.about.into() })?;
    for line in io::stdin().lock().lines() {
        let played = line?.parse::<Task>().map_err(io::Error::other).and_then(|task| layer.play(&task));
        say(&played.map_or_else(|error| Answer::Failed(error.to_string()), Answer::Played))?;
    }
    Ok(())
}

/// Runs the far end, where that is a process of its own.
pub fn far(row: &Row) -> io::Result<()> {
    sample::pin(&sample::cores(), 1);
    row.be_far()
}

/// Prints a line and flushes it.
pub fn say(line: &dyn std::fmt::Display) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
