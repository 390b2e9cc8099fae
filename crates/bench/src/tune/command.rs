//! `hawser-bench tune`: its options, and the destination of the profile.
//!
//! Used by `main`; uses `tune`.

use super::params::{TUNED_PARAMS, TunedParam};
use super::trials::Trials;
use super::{text, tune};
use crate::command::{INTERRUPTED, TestBedOptions, stopped_by_ctrl_c};
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
    /// Measure and print the results, but write no profile. Between hosts none is ever written: a value of a profile
    /// applies in memory too
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    testbed: TestBedOptions,
    /// Rounds of each size; the comparison that decides has twice as many
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Target duration of one measurement, in milliseconds
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    ms: u32,
}

/// Measures, prints and writes. Returns the exit code.
pub fn run(options: &TuneOptions) -> Result<u8, String> {
    let to_text = |error: std::io::Error| error.to_string();
    let scratch = tempfile::Builder::new().prefix("hawser-bench-").tempdir().map_err(to_text)?;
    let testbed = options.testbed.make(scratch.path()).map_err(to_text)?;
    let params = chosen_params(options, testbed.is_one_host())?;
    let stop = stopped_by_ctrl_c()?;
    let found = profile::find().map_err(|error| error.cause().to_string())?;
    let out = profile_path(options)?;
    println!("profile in force: {found}");
    let trials = Trials {
        prefix: testbed::own_prefix(),
        scratch: scratch.path(),
        testbed: &testbed,
        rounds: options.rounds,
        task_s: f64::from(options.ms) * 1e-3,
        stop: &stop,
    };
    let Some(outcome) = tune(&params, &found, &trials)? else {
        eprintln!("hawser-bench: tune: stopped; no profile was written, and an existing one is unchanged");
        return Ok(INTERRUPTED);
    };
    print!("{}", text::outcome_text(&outcome));
    if options.dry_run || !testbed.is_one_host() {
        let why = if options.dry_run { "--dry-run" } else { "its values would apply in memory too" };
        println!("no profile is written ({why})");
        return Ok(0);
    }
    let head = format!("# Written by `{}`.\n", record::command_line());
    let text = head + &outcome.profile.text("\n", |name| text::evidence(&outcome.results, name));
    write_profile(&out, &text)
        .map_err(|error| format!("the profile cannot be written to {}: {error}", out.display()))?;
    println!("profile written to {}", out.display());
    Ok(0)
}

/// The parameters to tune: those that were named, or all that have an effect on this test bed.
fn chosen_params(options: &TuneOptions, is_one_host: bool) -> Result<Vec<&'static TunedParam>, String> {
    let is_named = |param: &&'static TunedParam| options.parameters.iter().any(|name| name == param.name);
    if let Some(param) = TUNED_PARAMS.iter().filter(is_named).find(|param| !param.matters(is_one_host)) {
        let (place, remedy) = if is_one_host {
            ("in one host's memory", "measure between hosts (--cable or --hosts)")
        } else {
            ("between hosts", "measure without --cable and --hosts")
        };
        return Err(format!("{} has no effect {place}; {remedy}", param.name));
    }
    let is_chosen = |param: &&'static TunedParam| options.parameters.is_empty() || is_named(param);
    Ok(TUNED_PARAMS.iter().filter(is_chosen).filter(|param| param.matters(is_one_host)).collect())
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
