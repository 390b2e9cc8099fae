//! `hawser-bench run`: its options, the systems that they name, and the destination of its results.
//!
//! Used by `main`; uses `place`, `library`, `layer`, `run` and the report.

use crate::layer::{LAYERS, Row};
use crate::library::{Library, Named};
use crate::place::{self, Place};
use crate::record::Record;
use crate::report;
use crate::run::{self, Method};
use crate::sizes::{PERTURBATION, sizes};
use crate::system::{Plan, System};
use crate::task::Pattern;
use clap::Args;
use hawser_os::signals::{self, SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

#[derive(Args, Clone)]
pub struct Options {
    /// A library under measurement, NAME=PREFIX[,VARIABLE=VALUE...]; may be repeated. Without it: this installation's
    #[arg(long = "lib", value_name = "NAME=PREFIX")]
    libraries: Option<Vec<Named>>,
    /// Raw layers beside them, as in memcpy,tcp; `all` for those that can be there, `none`
    #[arg(long, value_delimiter = ',', default_value = "all", value_parser = layer_names())]
    layers: Vec<String>,
    /// What is played, as in pingpong,stream
    #[arg(long = "pattern", value_delimiter = ',', value_enum, default_value = "pingpong")]
    patterns: Vec<Pattern>,
    /// Over a cable (veth) between two network namespaces of our own, of this MTU
    #[arg(long, value_name = "MTU", num_args = 0..=1, default_missing_value = "1500", conflicts_with = "hosts",
          value_parser = clap::value_parser!(u16).range(1280..=9216))]
    cable: Option<u16>,
    /// Between this machine and another, HERE,THERE, reached by ssh
    #[arg(long, value_delimiter = ',', value_name = "HERE,THERE")]
    hosts: Vec<String>,
    /// A remote shell instead of ssh, for --hosts: it takes a host and a command
    #[arg(long, value_name = "COMMAND", requires = "hosts")]
    launcher_exec: Option<PathBuf>,
    /// Ranks of collective patterns
    #[arg(short = 'n', long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=1024))]
    ranks: u32,
    /// Pairs of ranks in the pattern `rate`
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=512))]
    pairs: u32,
    /// Shortest message, in bytes
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    min: u64,
    /// Longest message, in bytes
    #[arg(long, default_value_t = 4 << 20, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    max: u64,
    /// Sizes so many bytes either side of each regular one; 0 for none
    #[arg(long, default_value_t = PERTURBATION)]
    perturbation: u64,
    /// Rounds of each size
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// How long one play is to take, in milliseconds
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    ms: u32,
    /// Compare every byte, in plays of their own that are not timed
    #[arg(long)]
    verify: bool,
    /// Where the report goes: a folder, made if it is missing
    #[arg(long, default_value = "hawser-bench")]
    out: PathBuf,
}

fn layer_names() -> Vec<&'static str> {
    LAYERS.iter().map(|row| row.name).chain(["all", "none"]).collect()
}

/// The exit code of a shell after Ctrl-C: 128 and the number of SIGINT.
pub const INTERRUPTED: u8 = 130;

impl Options {
    /// The same options for these systems alone: layers by their names, libraries by the names that they were given.
    pub fn of(&self, names: &[&str]) -> Result<Options, String> {
        let (layers, others): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| Row::named(name).is_some());
        let given = libraries(self);
        let library = |name: &&str| {
            let found = given.iter().find(|named| named.name == *name).cloned();
            found.ok_or_else(|| {
                let layers: Vec<_> = LAYERS.iter().map(|row| row.name).collect();
                format!("there is no layer {name} ({}), and no --lib {name}=PREFIX", layers.join(", "))
            })
        };
        let libraries = others.iter().map(library).collect::<Result<_, _>>()?;
        let layers = if layers.is_empty() { vec!["none"] } else { layers };
        Ok(Options {
            libraries: Some(libraries),
            layers: layers.iter().map(|&name| name.into()).collect(),
            ..self.clone()
        })
    }
}

/// Measures and writes the report, also for a run that was interrupted. Returns the record and the exit code.
pub fn run(options: &Options) -> Result<(Record, u8), String> {
    check(options)?;
    let told = |error: io::Error| error.to_string();
    let scratch = tempfile::Builder::new().prefix("hawser-bench-").tempdir().map_err(told)?;
    // A user's own namespace is made by a process of one thread, so before the wait for Ctrl-C starts a thread.
    let place = place_of(options, scratch.path()).map_err(told)?;
    let stop = stopped_by_ctrl_c()?;
    let record = measured(options, &place, scratch.path(), &stop).map_err(told)?;
    if record.curves.is_empty() && stop.load(Relaxed) {
        eprintln!("hawser-bench: run: stopped before anything was measured");
        return Ok((record, INTERRUPTED));
    }
    report::publish(&record, &options.out).map_err(|error| error.to_string())?;
    let code = if stop.load(Relaxed) { INTERRUPTED } else { u8::from(!record.complete) };
    Ok((record, code))
}

/// A flag that Ctrl-C, a hangup or SIGTERM sets, instead of ending the process. Signals that were ignored when the
/// process was started, as by nohup, stay ignored.
pub fn stopped_by_ctrl_c() -> Result<Arc<AtomicBool>, String> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = stop.clone();
    let ignored = [SIGINT, SIGHUP, SIGTERM].into_iter().filter(|&signal| signals::is_ignored(signal));
    let ignored: Vec<i32> = ignored.collect();
    ctrlc::set_handler(move || told.store(true, Relaxed)).map_err(|error| error.to_string())?;
    ignored.into_iter().for_each(signals::ignore);
    Ok(stop)
}

/// Reports errors in the options before anything is measured.
fn check(options: &Options) -> Result<(), String> {
    let Options { min, max, pairs, ranks, patterns, out, .. } = options;
    if min > max {
        return Err(format!("--min {min} is more than --max {max}"));
    }
    let mut names: Vec<String> = libraries(options).into_iter().map(|named| named.name).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| &pair[0]);
    if let Some(name) = twice.or_else(|| names.iter().find(|name| Row::named(name).is_some())) {
        return Err(format!("two systems would be called {name}; give each --lib a name of its own"));
    }
    let has_collective = patterns.iter().any(|pattern| pattern.is_collective());
    if has_collective && patterns.contains(&Pattern::Rate) && *ranks < 2 * pairs {
        return Err(format!("{pairs} pairs are more than {ranks} ranks have; say -n {}", 2 * pairs));
    }
    std::fs::create_dir_all(out).map_err(|error| format!("cannot make the folder {}: {error}", out.display()))
}

fn measured(options: &Options, place: &Place, scratch: &Path, stop: &AtomicBool) -> io::Result<Record> {
    let mut record = Record::begun(place::machine(place));
    let systems = systems(options, place, scratch, &mut record, stop);
    if systems.is_empty() && !stop.load(Relaxed) {
        return Err(io::Error::other("there is nothing left to measure"));
    }
    let method = Method {
        patterns: options.patterns.clone(),
        sizes: sizes(options.min, options.max, options.perturbation),
        pairs: options.pairs as usize,
        rounds: options.rounds,
        play_s: f64::from(options.ms) * 1e-3,
        verify: options.verify,
    };
    run::play("", method, systems, &mut record, stop);
    Ok(record)
}

fn place_of(options: &Options, scratch: &Path) -> io::Result<Place> {
    match (options.cable, options.hosts.as_slice()) {
        (Some(mtu), _) => Place::cable(usize::from(mtu), scratch),
        (None, []) => Ok(Place::Here),
        (None, hosts @ [_, _]) => {
            Ok(Place::Hosts { hosts: hosts.to_vec(), remote_shell: options.launcher_exec.clone() })
        }
        _ => Err(io::Error::other("--hosts names two hosts, HERE,THERE")),
    }
}

/// Starts all systems that can be started; notes the others.
fn systems(options: &Options, place: &Place, scratch: &Path, record: &mut Record, stop: &AtomicBool) -> Vec<System> {
    let mut systems = Vec::new();
    let mut start = |name: &str, plan: Result<Plan, String>| {
        if stop.load(Relaxed) {
            return;
        }
        match plan.and_then(|plan| System::start(plan, stop).map_err(|trouble| trouble.to_string())) {
            Ok(system) => systems.push(system),
            Err(cause) => {
                let note = format!("{name} is left out: {cause}");
                eprintln!("hawser-bench: {note}");
                record.notes.push(note);
                record.complete = false;
            }
        }
    };
    for row in rows(options, place) {
        start(row.name, row.plan(place).map_err(|error| error.to_string()));
    }
    let pairs = if options.patterns.contains(&Pattern::Rate) { options.pairs } else { 1 };
    let ranks = if options.patterns.iter().any(|pattern| pattern.is_collective()) { options.ranks } else { 2 };
    let ranks = ranks.max(2 * pairs) as usize;
    for named in libraries(options) {
        let name = named.name.clone();
        let plan = Library::find(named, scratch).and_then(|library| library.plan(ranks, place));
        start(&name, plan.map_err(|unusable| unusable.to_string()));
    }
    systems
}

fn rows(options: &Options, place: &Place) -> Vec<&'static Row> {
    let named = |name: &str| options.layers.iter().any(|layer| layer == name);
    LAYERS.iter().filter(|row| if named("all") { row.fits(place) } else { named(row.name) }).collect()
}

fn libraries(options: &Options) -> Vec<Named> {
    let own = || vec![Named { name: "hawser".into(), prefix: place::own_prefix(), variables: Vec::new() }];
    options.libraries.clone().unwrap_or_else(own)
}
