//! `hawser-bench explain A B`: the record that it uses, measured now or read from a file, and the printed explanation.
//!
//! Used by `main`; uses `explain`, and `command`, which measures.

use super::explain;
use crate::{command, report};
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Clone)]
// Without a group: clap would give it the name of `command::Options`' one.
#[group(skip)]
pub struct Options {
    /// What is explained: a library or a layer
    above: String,
    /// What lies beneath it, or is to be compared with
    below: String,
    /// A record of an earlier run, which has both; without it both are measured now
    #[arg(long, value_name = "FILE.json")]
    from: Option<PathBuf>,
    #[command(flatten)]
    run: command::Options,
}

/// Prints the explanation. Returns the exit code.
pub fn run(options: &Options) -> Result<u8, String> {
    let names = [options.above.as_str(), options.below.as_str()];
    let (record, code) = match &options.from {
        Some(path) => (report::read(path).map_err(|error| error.to_string())?, 0),
        None => command::run(&options.run.of(&names)?)?,
    };
    print!("{}", explain(&record, names[0], names[1]).map_err(|missing| missing.to_string())?);
    Ok(code)
}
