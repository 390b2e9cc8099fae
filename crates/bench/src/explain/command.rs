//! `hawser-bench explain A B`: the record that it uses, measured now or read from a file, and the printed explanation.
//!
//! Used by `main`; uses `explain`, and `command`, which measures.

use super::explain;
use crate::{command, report};
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Clone)]
// clap would name a group after the struct; none is needed.
#[group(skip)]
pub struct ExplainOptions {
    /// Library or layer to explain
    above: String,
    /// Library or layer below it, or another one to compare it with
    below: String,
    /// Record of an earlier run that has both (default: measure both now)
    #[arg(long, value_name = "FILE.json")]
    from: Option<PathBuf>,
    #[command(flatten)]
    run: command::RunOptions,
}

/// Prints the explanation. Returns the exit code.
pub fn run(options: &ExplainOptions) -> Result<u8, String> {
    let names = [options.above.as_str(), options.below.as_str()];
    let (record, code) = match &options.from {
        Some(path) => (report::read(path).map_err(|error| error.to_string())?, 0),
        None => command::run(&options.run.for_systems(&names)?)?,
    };
    print!("{}", explain(&record, names[0], names[1]).map_err(|missing| missing.to_string())?);
    Ok(code)
}
