//! `hawser-bench run`: its options, the systems that they name, and the destination of its results.
//!
//! Used by `main`; uses `testbed`, `library`, `layer`, `run` and the report.

use crate::layer::{LAYERS, LayerEntry};
use crate::library::{LibrarySpec, MpiLibrary};
use crate::measured_system::{MeasuredSystem, SystemSpec};
use crate::record::BenchmarkRecord;
use crate::report;
use crate::run::{self, MeasurementConfig};
use crate::sizes::{PERTURBATION, sizes};
use crate::task::TrafficPattern;
use crate::testbed::{self, TestBed};
use clap::Args;
use hawser_os::signals::{self, SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The options that name the two ends between which is measured.
#[derive(Args, Clone)]
pub struct TestBedOptions {
    /// Measure over a cable (veth) with this MTU, between two network namespaces that are made for the run
    #[arg(long, value_name = "MTU", num_args = 0..=1, default_missing_value = "1500", conflicts_with = "hosts",
          value_parser = clap::value_parser!(u16).range(1280..=9216))]
    cable: Option<u16>,
    /// Measure between this machine and another one, HERE,THERE, which is reached by ssh
    #[arg(long, value_delimiter = ',', value_name = "HERE,THERE")]
    hosts: Vec<String>,
    /// Remote shell to use instead of ssh for --hosts; its arguments are a host and a command
    #[arg(long, value_name = "COMMAND", requires = "hosts")]
    launcher_exec: Option<PathBuf>,
}

impl TestBedOptions {
    /// Makes the test bed; files that it needs are written to the folder `scratch`. A user's own namespace is made by
    /// a process of one thread, so before the wait for Ctrl-C starts a thread.
    pub fn make(&self, scratch: &Path) -> io::Result<TestBed> {
        match (self.cable, self.hosts.as_slice()) {
            (Some(mtu), _) => TestBed::cable(usize::from(mtu), scratch),
            (None, []) => Ok(TestBed::Here),
            (None, hosts @ [_, _]) => {
                Ok(TestBed::Hosts { hosts: hosts.to_vec(), remote_shell: self.launcher_exec.clone() })
            }
            _ => Err(io::Error::other("--hosts takes two hosts, HERE,THERE")),
        }
    }
}

#[derive(Args, Clone)]
pub struct RunOptions {
    /// Measure this library, NAME=PREFIX[,VARIABLE=VALUE...]; may be repeated (default: this installation)
    #[arg(long = "lib", value_name = "NAME=PREFIX")]
    libraries: Option<Vec<LibrarySpec>>,
    /// Raw layers to measure too, for example memcpy,tcp; `all`: each that fits the testbed; `none`: no raw layer
    #[arg(long, value_delimiter = ',', default_value = "all", value_parser = layer_names())]
    layers: Vec<String>,
    /// Traffic patterns to measure, for example pingpong,stream
    #[arg(long = "pattern", value_delimiter = ',', value_enum, default_value = "pingpong")]
    patterns: Vec<TrafficPattern>,
    #[command(flatten)]
    testbed: TestBedOptions,
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
    /// Measure also the sizes this many bytes below and above each regular size; 0: none
    #[arg(long, default_value_t = PERTURBATION)]
    perturbation: u64,
    /// Rounds of each size
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Target duration of one measurement, in milliseconds
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    ms: u32,
    /// Verify every byte, in separate measurements that are not timed
    #[arg(long)]
    verify: bool,
    /// Write the report to this folder; it is created if it does not exist
    #[arg(long, default_value = "hawser-bench")]
    out: PathBuf,
}

fn layer_names() -> Vec<&'static str> {
    LAYERS.iter().map(|entry| entry.name).chain(["all", "none"]).collect()
}

/// The exit code of a shell after Ctrl-C: 128 and the number of SIGINT.
pub const INTERRUPTED: u8 = 130;

impl RunOptions {
    /// The same options for these systems alone: layers by their names, libraries by the names that they were given.
    pub fn for_systems(&self, names: &[&str]) -> Result<RunOptions, String> {
        let (layers, others): (Vec<&str>, Vec<&str>) =
            names.iter().partition(|name| LayerEntry::by_name(name).is_some());
        let specs = libraries(self);
        let library = |name: &&str| {
            let found = specs.iter().find(|named| named.name == *name).cloned();
            found.ok_or_else(|| {
                let layers: Vec<_> = LAYERS.iter().map(|entry| entry.name).collect();
                format!("there is no layer {name} ({}), and no --lib {name}=PREFIX", layers.join(", "))
            })
        };
        let libraries = others.iter().map(library).collect::<Result<_, _>>()?;
        let layers = if layers.is_empty() { vec!["none"] } else { layers };
        Ok(RunOptions {
            libraries: Some(libraries),
            layers: layers.iter().map(|&name| name.into()).collect(),
            ..self.clone()
        })
    }
}

/// Measures and writes the report, also for a run that was interrupted. Returns the record and the exit code.
pub fn run(options: &RunOptions) -> Result<(BenchmarkRecord, u8), String> {
    check_options(options)?;
    let to_text = |error: io::Error| error.to_string();
    let scratch = tempfile::Builder::new().prefix("hawser-bench-").tempdir().map_err(to_text)?;
    let testbed = options.testbed.make(scratch.path()).map_err(to_text)?;
    let stop = stopped_by_ctrl_c()?;
    let record = measure(options, &testbed, scratch.path(), &stop).map_err(to_text)?;
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
    let stop_flag = stop.clone();
    let ignored = [SIGINT, SIGHUP, SIGTERM].into_iter().filter(|&signal| signals::is_ignored(signal));
    let ignored: Vec<i32> = ignored.collect();
    ctrlc::set_handler(move || stop_flag.store(true, Relaxed)).map_err(|error| error.to_string())?;
    ignored.into_iter().for_each(signals::ignore);
    Ok(stop)
}

/// Reports errors in the options before anything is measured.
fn check_options(options: &RunOptions) -> Result<(), String> {
    let RunOptions { min, max, pairs, ranks, patterns, out, .. } = options;
    if min > max {
        return Err(format!("--min {min} is more than --max {max}"));
    }
    let mut names: Vec<String> = libraries(options).into_iter().map(|named| named.name).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| &pair[0]);
    if let Some(name) = twice.or_else(|| names.iter().find(|name| LayerEntry::by_name(name).is_some())) {
        return Err(format!("two systems would be called {name}; give each --lib a name of its own"));
    }
    let has_collective = patterns.iter().any(|pattern| pattern.is_collective());
    if has_collective && patterns.contains(&TrafficPattern::Rate) && *ranks < 2 * pairs {
        return Err(format!("{pairs} pairs need more than {ranks} ranks; use -n {}", 2 * pairs));
    }
    std::fs::create_dir_all(out).map_err(|error| format!("cannot make the folder {}: {error}", out.display()))
}

fn measure(options: &RunOptions, testbed: &TestBed, scratch: &Path, stop: &AtomicBool) -> io::Result<BenchmarkRecord> {
    let mut record = BenchmarkRecord::new(testbed::machine_info(testbed));
    let systems = start_systems(options, testbed, scratch, &mut record, stop);
    if systems.is_empty() && !stop.load(Relaxed) {
        return Err(io::Error::other("there is nothing left to measure"));
    }
    let config = MeasurementConfig {
        patterns: options.patterns.clone(),
        sizes: sizes(options.min, options.max, options.perturbation),
        pairs: options.pairs as usize,
        rounds: options.rounds,
        task_s: f64::from(options.ms) * 1e-3,
        verify: options.verify,
    };
    run::measure("", config, systems, &mut record, stop);
    Ok(record)
}

/// Starts all systems that can be started; notes the others.
fn start_systems(
    options: &RunOptions,
    testbed: &TestBed,
    scratch: &Path,
    record: &mut BenchmarkRecord,
    stop: &AtomicBool,
) -> Vec<MeasuredSystem> {
    let mut systems = Vec::new();
    let mut start = |name: &str, spec: Result<SystemSpec, String>| {
        if stop.load(Relaxed) {
            return;
        }
        match spec.and_then(|spec| MeasuredSystem::start(spec, stop).map_err(|error| error.to_string())) {
            Ok(system) => systems.push(system),
            Err(cause) => {
                let note = format!("{name} is left out: {cause}");
                eprintln!("hawser-bench: {note}");
                record.notes.push(note);
                record.complete = false;
            }
        }
    };
    for entry in selected_layers(options, testbed) {
        start(entry.name, entry.system_spec(testbed).map_err(|error| error.to_string()));
    }
    let pairs = if options.patterns.contains(&TrafficPattern::Rate) { options.pairs } else { 1 };
    let ranks = if options.patterns.iter().any(|pattern| pattern.is_collective()) { options.ranks } else { 2 };
    let ranks = ranks.max(2 * pairs) as usize;
    for named in libraries(options) {
        let name = named.name.clone();
        let spec = MpiLibrary::find(named).and_then(|library| library.system_spec(ranks, testbed, scratch));
        start(&name, spec.map_err(|unusable| unusable.to_string()));
    }
    systems
}

fn selected_layers(options: &RunOptions, testbed: &TestBed) -> Vec<&'static LayerEntry> {
    let is_named = |name: &str| options.layers.iter().any(|layer| layer == name);
    LAYERS.iter().filter(|entry| if is_named("all") { entry.fits(testbed) } else { is_named(entry.name) }).collect()
}

fn libraries(options: &RunOptions) -> Vec<LibrarySpec> {
    options.libraries.clone().unwrap_or_else(|| vec![LibrarySpec::of_this_installation()])
}
