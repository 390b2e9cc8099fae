//! `hawser-bench npb`: its options, the libraries that they name, and the destination of its results.
//!
//! Used by `main`; uses `sources`, `series` and `tables`.

use super::program::{NpbProgram, ProblemClass};
use super::record::{FORMAT, LibraryRecord, NpbRecord};
use super::series::{Series, SeriesConfig};
use super::{sources, tables};
use crate::atomic_file;
use crate::command::{INTERRUPTED, stopped_by_ctrl_c};
use crate::library::{LibrarySpec, MpiLibrary};
use crate::record;
use crate::testbed::{self, TestBed};
use clap::{Args, ValueEnum};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// Variants of a Hawser library that the paper of MPI/MBCF compares (section 4.1), with their variables: SR sends an
/// RTR for every posted receive, NSR none. Neither reads from the sender's memory, a method which needs no RTR.
const OFFER_VARIANTS: [(&str, &str, &str); 2] = [("sr", "HAWSER_OFFER_FROM", "0"), ("nsr", "HAWSER_RTR", "off")];
const NO_READ: (&str, &str) = ("HAWSER_PROCESS_VM_FROM", "1024g");

#[derive(Args, Clone)]
pub struct NpbOptions {
    /// The folder of the NAS Parallel Benchmarks 3.4 (MPI), which you have fetched; nothing is written to it
    dir: PathBuf,
    /// Run on this library, NAME=PREFIX[,VARIABLE=VALUE...]; may be repeated (default: this installation)
    #[arg(long = "lib", value_name = "NAME=PREFIX")]
    libraries: Vec<LibrarySpec>,
    /// Run each Hawser library also as NAME-sr, with an RTR for every posted receive, and as NAME-nsr, without RTRs:
    /// the SR and NSR of the paper of MPI/MBCF
    #[arg(long)]
    offers: bool,
    /// Programs to run, for example mg,is (default: all)
    #[arg(long = "program", value_delimiter = ',', value_enum, value_name = "PROGRAM")]
    programs: Vec<NpbProgram>,
    /// Classes of problems, S being the smallest
    #[arg(long = "class", value_delimiter = ',', value_enum, default_value = "S,W,A", value_name = "CLASS")]
    classes: Vec<ProblemClass>,
    /// Numbers of ranks. SP and BT run on those that are squares, the others on powers of two
    #[arg(short = 'n', long, value_delimiter = ',', default_value = "1,2,4",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    ranks: Vec<u32>,
    /// Rounds: in each, all libraries run the same job in turn
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Options of the Fortran compilers. gfortran 10 and later refuse the programs with Open MPI's module without
    /// -fallow-argument-mismatch
    #[arg(long, value_name = "FLAGS", default_value = sources::FLAGS, allow_hyphen_values = true)]
    fflags: String,
    /// Time limit of a job, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Run on these hosts, the first of which is this one; they are reached by ssh, and have the same number of ranks
    #[arg(long, value_delimiter = ',', value_name = "HOST,...")]
    hosts: Vec<String>,
    /// Remote shell to use instead of ssh for --hosts; its arguments are a host and a command
    #[arg(long, value_name = "COMMAND", requires = "hosts")]
    launcher_exec: Option<PathBuf>,
    /// Write npb.md (the tables) and npb.json (each job) to this folder, which all hosts must have
    #[arg(long, default_value = "hawser-npb")]
    out: PathBuf,
}

/// Runs the jobs, prints the tables and writes them, also of a series that was interrupted. Returns the exit code.
pub fn run(options: &NpbOptions) -> Result<u8, String> {
    let to_text = |error: io::Error| error.to_string();
    let sources = sources::find(&options.dir)?;
    let libraries = libraries(options)?;
    let out = out_folder(&options.out, &sources)?;
    // The programs are built in the folder of results, which all hosts have, and removed with the value.
    let scratch = tempfile::Builder::new().prefix(".npb-").tempdir_in(&out).map_err(to_text)?;
    let testbed = match options.hosts.as_slice() {
        [] => TestBed::Here,
        hosts => TestBed::Hosts { hosts: hosts.to_vec(), remote_shell: options.launcher_exec.clone() },
    };
    let stop = stopped_by_ctrl_c()?;
    let mut record = NpbRecord {
        format: FORMAT,
        command: record::command_line(),
        date: record::now(),
        machine: testbed::machine_info(&testbed),
        complete: true,
        notes: Vec::new(),
        libraries: libraries
            .iter()
            .map(|library| LibraryRecord { name: library.spec().name.clone(), is_hawser: library.is_hawser() })
            .collect(),
        jobs: Vec::new(),
    };
    let all = || NpbProgram::value_variants().to_vec();
    let config = SeriesConfig {
        programs: if options.programs.is_empty() { all() } else { options.programs.clone() },
        classes: options.classes.clone(),
        ranks: options.ranks.clone(),
        rounds: options.rounds,
        fortran_flags: options.fflags.clone(),
        timeout_s: options.timeout,
    };
    let scratch = scratch.path();
    let (testbed, sources, stop) = (&testbed, &sources, &*stop);
    Series { config, libraries, testbed, sources, scratch, record: &mut record, stop }.run()?;
    publish(&record, &out)?;
    Ok(if stop.load(Relaxed) { INTERRUPTED } else { u8::from(!record.complete || record.jobs.is_empty()) })
}

/// Prints the tables and writes the files.
fn publish(record: &NpbRecord, out: &Path) -> Result<(), String> {
    let text = tables::text(record);
    print!("{text}");
    let json = serde_json::to_string_pretty(record).map_err(|error| error.to_string())? + "\n";
    let head = format!("# {}\n\n{}, {}\n\n", record.command, record.date, record.machine.processor);
    for (name, content) in [("npb.md", head + &text), ("npb.json", json)] {
        let path = out.join(name);
        let failed = |error| format!("cannot write {}: {error}; name another folder by --out", path.display());
        atomic_file::write_atomically(&path, content).map_err(failed)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// Makes the folder of results, and returns its full path: jobs are started in another folder. It must not lie in the
/// sources, which are copied to it.
fn out_folder(out: &Path, sources: &Path) -> Result<PathBuf, String> {
    let named = std::path::absolute(out).unwrap_or_else(|_| out.into());
    let there = named.ancestors().find_map(|folder| folder.canonicalize().ok());
    if there.is_some_and(|folder| folder.starts_with(sources.canonicalize().unwrap_or_else(|_| sources.into()))) {
        return Err(format!("{} lies in the sources; name another folder by --out", out.display()));
    }
    let made = std::fs::create_dir_all(out).and_then(|()| out.canonicalize());
    made.map_err(|error| format!("cannot make the folder {}: {error}", out.display()))
}

/// Finds all libraries that the options name, with their variants.
fn libraries(options: &NpbOptions) -> Result<Vec<MpiLibrary>, String> {
    let own = || vec![LibrarySpec::of_this_installation()];
    let named = if options.libraries.is_empty() { own() } else { options.libraries.clone() };
    let mut found = Vec::new();
    for spec in named {
        let find = |spec: LibrarySpec| {
            let name = spec.name.clone();
            MpiLibrary::find(spec).map_err(|unusable| format!("{name}: {unusable}"))
        };
        let spec = LibrarySpec { prefix: spec.prefix.canonicalize().unwrap_or(spec.prefix), ..spec };
        let library = find(spec.clone())?;
        let has_variants = options.offers && library.is_hawser();
        found.push(library);
        for (suffix, variable, value) in OFFER_VARIANTS.into_iter().filter(|_| has_variants) {
            let mut variant = LibrarySpec { name: format!("{}-{suffix}", spec.name), ..spec.clone() };
            for (variable, value) in [(variable, value), NO_READ] {
                variant.variables.push((variable.into(), value.into()));
            }
            found.push(find(variant)?);
        }
    }
    let mut names: Vec<&str> = found.iter().map(|library| library.spec().name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("two libraries would be called {}; give each --lib a name of its own", pair[0])),
        None => Ok(found),
    }
}
