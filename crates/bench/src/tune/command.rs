//! `hawser-bench tune`: its options, and the destination of the profile.
//!
//! Used by `main`; uses `tune`.

use super::params::{TUNED_PARAMS, TunedParam};
use super::trials::Trials;
use super::{text, tune};
use crate::command::{INTERRUPTED, stopped_by_ctrl_c};
use crate::{atomic_file, record, testbed};
use clap::Args;
use hawser_node::profile;
use std::path::{Path, PathBuf};

#[derive(Args, Clone)]
pub struct TuneOptions {
    /// Tune only these parameters, for example HAWSER_EAGER,HAWSER_PIECE (default: all)
    #[arg(value_delimiter = ',', value_parser = TUNED_PARAMS.iter().map(|knob| knob.name).collect::<Vec<_>>())]
    parameters: Vec<String>,
    /// Write the profile to this file, instead of the one that HAWSER_PROFILE names or ~/.config/hawser/profile, which
    /// the libraries read by default
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Measure and print the results, but write no profile
    #[arg(long)]
    dry_run: bool,
    /// Rounds of each size; the comparison that decides has twice as many
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Target duration of one measurement, in milliseconds
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    ms: u32,
}

/// Measures, prints and writes. Returns the exit code.
pub fn run(options: &TuneOptions) -> Result<u8, String> {
    let stop = stopped_by_ctrl_c()?;
    let found = profile::find().map_err(|error| error.cause().to_string())?;
    let out = profile_path(options)?;
    println!("profile in force: {found}");
    let chosen = |param: &&'static TunedParam| {
        options.parameters.is_empty() || options.parameters.iter().any(|n| n == param.name)
    };
    let params: Vec<&'static TunedParam> = TUNED_PARAMS.iter().filter(chosen).collect();
    let scratch = tempfile::Builder::new().prefix("hawser-bench-").tempdir().map_err(|error| error.to_string())?;
    let trials = Trials {
        prefix: testbed::own_prefix(),
        scratch: scratch.path(),
        rounds: options.rounds,
        task_s: f64::from(options.ms) * 1e-3,
        stop: &stop,
    };
    let Some(outcome) = tune(&params, &found, &trials)? else {
        eprintln!("hawser-bench: tune: stopped; no profile was written, and an existing one is unchanged");
        return Ok(INTERRUPTED);
    };
    print!("{}", text::outcome_text(&outcome));
    if options.dry_run {
        println!("no profile is written (--dry-run)");
        return Ok(0);
    }
    let head = format!("# Written by `{}`.\n", record::command_line());
    let text = head + &outcome.profile.text("\n", |name| text::evidence(&outcome.results, name));
    write_profile(&out, &text)
        .map_err(|error| format!("the profile cannot be written to {}: {error}", out.display()))?;
    println!("profile written to {}", out.display());
    Ok(0)
}

/// The destination of the profile: the requested one, else the user's own.
fn profile_path(options: &TuneOptions) -> Result<PathBuf, String> {
    let requested = options.out.clone().or_else(profile::named);
    let own =
        || profile::user_path().ok_or_else(|| "neither HOME nor XDG_CONFIG_HOME is set; use --out FILE".to_string());
    requested.map_or_else(own, Ok)
}

fn write_profile(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    atomic_file::write_atomically(path, text)
}
