//! `hawser-bench tune`: its options, and the destination of the profile.
//!
//! Used by `main`; uses `tune`.

use super::knobs::{KNOBS, Knob};
use super::trial::Trials;
use super::{tune, words};
use crate::command::{INTERRUPTED, stopped_by_ctrl_c};
use crate::{place, record, whole};
use clap::Args;
use hawser_node::profile;
use std::path::{Path, PathBuf};

#[derive(Args, Clone)]
pub struct Options {
    /// These parameters alone, as in HAWSER_EAGER,HAWSER_PIECE; all without it
    #[arg(value_delimiter = ',', value_parser = KNOBS.iter().map(|knob| knob.name).collect::<Vec<_>>())]
    parameters: Vec<String>,
    /// Where the profile goes, instead of ~/.config/hawser/profile (or where HAWSER_PROFILE says), which the libraries read by themselves
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Measure and tell, write no profile
    #[arg(long)]
    dry_run: bool,
    /// Rounds of each size; twice as many decide
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// How long one play is to take, in milliseconds
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    ms: u32,
}

/// Measures, prints and writes. Returns the exit code.
pub fn run(options: &Options) -> Result<u8, String> {
    let stop = stopped_by_ctrl_c()?;
    let found = profile::find().map_err(|error| error.cause().to_string())?;
    let out = out(options)?;
    println!("profile in force: {found}");
    let chosen =
        |knob: &&'static Knob| options.parameters.is_empty() || options.parameters.iter().any(|n| n == knob.name);
    let knobs: Vec<&'static Knob> = KNOBS.iter().filter(chosen).collect();
    let scratch = tempfile::Builder::new().prefix("hawser-bench-").tempdir().map_err(|error| error.to_string())?;
    let trials = Trials {
        prefix: place::own_prefix(),
        scratch: scratch.path(),
        rounds: options.rounds,
        play_s: f64::from(options.ms) * 1e-3,
        stop: &stop,
    };
    let Some(outcome) = tune(&knobs, &found, &trials)? else {
        eprintln!("hawser-bench: tune: stopped; no profile was written, and what was there is as it was");
        return Ok(INTERRUPTED);
    };
    print!("{}", words::outcome(&outcome));
    if options.dry_run {
        println!("no profile is written (--dry-run)");
        return Ok(0);
    }
    let head = format!("# Written by `{}`.\n", record::command());
    let text = head + &outcome.profile.text("\n", |name| words::evidence(&outcome.verdicts, name));
    put(&out, &text).map_err(|error| format!("the profile cannot be written to {}: {error}", out.display()))?;
    println!("profile written to {}", out.display());
    Ok(0)
}

/// The destination of the profile: the requested one, else the user's own.
fn out(options: &Options) -> Result<PathBuf, String> {
    let asked = options.out.clone().or_else(profile::named);
    let own =
        || profile::own_place().ok_or_else(|| "neither HOME nor XDG_CONFIG_HOME is set; say --out FILE".to_string());
    asked.map_or_else(own, Ok)
}

fn put(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    whole::put(path, text)
}
