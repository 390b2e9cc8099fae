//! The process in which a raw layer runs: it does the tasks that it reads, one a line, until its input ends.
//!
//! Used by `measured_system`, which starts it; uses `layer`.

use crate::layer::LayerEntry;
use crate::sample;
use crate::task::{WorkerReply, WorkerTask};
use std::io::{self, BufRead, Write};

/// Runs the local end, or both ends if they are in one process.
pub fn run_local(entry: &LayerEntry) -> io::Result<()> {
    sample::pin(&sample::cores(), 0);
    let mut layer = match entry.open() {
        Ok(layer) => layer,
        Err(error) => return print_line(&WorkerReply::Failed(error.to_string())),
    };
    print_line(&WorkerReply::Ready { ranks: 2, version: entry.about.into() })?;
    for line in io::stdin().lock().lines() {
        let result = line?.parse::<WorkerTask>().map_err(io::Error::other).and_then(|task| layer.run_task(&task));
        print_line(&result.map_or_else(|error| WorkerReply::Failed(error.to_string()), WorkerReply::Measured))?;
    }
    Ok(())
}

/// Runs the remote end, if it is a process of its own.
pub fn run_remote(entry: &LayerEntry) -> io::Result<()> {
    sample::pin(&sample::cores(), 1);
    entry.run_remote()
}

/// Prints a line and flushes it.
pub fn print_line(line: &dyn std::fmt::Display) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
