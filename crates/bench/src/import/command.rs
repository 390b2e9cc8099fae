//! `hawser-bench import`: converts files of other tools' output into one record of ours.
//!
//! The record is written as a whole or not at all. Nothing of the machine is put into the record: the figures may be
//! from another one. Used by `main`; uses `import`. The readers of records use the result.

use crate::atomic_file;
use crate::import::{Benchmark, ParseError, import};
use crate::record::{self, BenchmarkRecord, Curve, CurveLevel, FORMAT, MachineInfo};
use clap::Args;
use jiff::Timestamp;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// More than any of these tools prints in a week; a device or a wrong file is not read to its end.
const FILE_BYTES_MAX: u64 = 64 << 20;
const STDIN: &str = "-";

#[derive(Args, Clone)]
pub struct ImportOptions {
    /// Output of NetPIPE (also its np.out), the OSU micro-benchmarks or IMB; `-`: standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Name of the measured system (default: the file's name without its extension)
    #[arg(long)]
    name: Option<String>,
    /// Kind of that system
    #[arg(long, value_enum, default_value_t = CurveLevel::Library)]
    floor: CurveLevel,
    /// Number of ranks, if the tool's output does not contain it
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
    /// Write the record to this file (default: standard output)
    #[arg(long, value_name = "FILE.json")]
    out: Option<PathBuf>,
}

/// The reason why there is no record.
#[derive(Debug)]
enum ImportError {
    File(String, io::Error),
    TooLong(String),
    Parse(String, ParseError),
    /// The curve of one benchmark has the identity of an earlier one.
    Duplicate {
        source: CurveSource,
        first: CurveSource,
        curve: Box<Curve>,
    },
    Output(String, io::Error),
    Stdout(io::Error),
}

/// The origin of a curve.
#[derive(Clone, Debug)]
struct CurveSource {
    file: String,
    benchmark: String,
}

impl fmt::Display for ImportError {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ImportError::File(file, error) => write!(out, "{file}: {error}"),
            ImportError::TooLong(file) => {
                write!(out, "{file}: more than {} MiB; give one run's output", FILE_BYTES_MAX >> 20)
            }
            ImportError::Parse(file, error) => write!(out, "{}", error.for_file(file)),
            ImportError::Duplicate { source, first, curve } => {
                let Curve { system, pattern, ranks, .. } = &**curve;
                let (one, other) = (&source.benchmark, &first.benchmark);
                write!(
                    out,
                    "{}: {one} gives the same curve, {pattern} ({}) of {system}, as {other} of {}; \
                     leave one out, or import it under another --name",
                    source.file,
                    record::ranks(*ranks),
                    first.file
                )
            }
            ImportError::Output(file, error) => {
                write!(out, "{file}: cannot be written: {error}; an existing file is unchanged")
            }
            ImportError::Stdout(error) => {
                write!(out, "standard output cannot be written: {error}; name a file by --out")
            }
        }
    }
}

impl std::error::Error for ImportError {}

pub fn run(options: &ImportOptions) -> io::Result<()> {
    let record = record(options).map_err(io::Error::other)?;
    let mut text = serde_json::to_string_pretty(&record).map_err(io::Error::other)?;
    text.push('\n');
    match &options.out {
        Some(path) => atomic_file::write_atomically(path, &text)
            .map_err(|error| io::Error::other(ImportError::Output(path.display().to_string(), error))),
        None => io::stdout().write_all(text.as_bytes()).map_err(|error| io::Error::other(ImportError::Stdout(error))),
    }
}

fn record(options: &ImportOptions) -> Result<BenchmarkRecord, ImportError> {
    let names: Vec<String> = options.files.iter().map(|file| file.display().to_string()).collect();
    let mut record = BenchmarkRecord {
        format: FORMAT,
        command: format!("imported from {}", names.join(" ")),
        date: String::new(),
        machine: MachineInfo::default(),
        complete: true,
        thresholds: Default::default(),
        notes: Vec::new(),
        curves: Vec::new(),
    };
    let (mut newest, mut sources) = (None, Vec::new());
    for (path, file) in options.files.iter().zip(&names) {
        let (text, time) = read_text(path).map_err(|error| ImportError::File(file.clone(), error))?;
        newest = newest.max(Some(time));
        let text = text.ok_or_else(|| ImportError::TooLong(file.clone()))?;
        for benchmark in import_file(&mut record, options, path, file, &text)? {
            add_benchmark(&mut record, &mut sources, file, benchmark)?;
        }
    }
    record.date = newest.map(date).unwrap_or_default();
    Ok(record)
}

/// Reads the benchmarks of a file; notes what a reader must know of them.
fn import_file(
    record: &mut BenchmarkRecord,
    options: &ImportOptions,
    path: &Path,
    file: &str,
    text: &str,
) -> Result<Vec<Benchmark>, ImportError> {
    let system = options.name.clone().unwrap_or_else(|| system_name(path));
    let mut imported = import(text, &system, options.floor).map_err(|error| ImportError::Parse(file.into(), error))?;
    let tool = &imported.tool;
    record.notes.push(format!("{system}: figures of {tool}, as it measured them, from {file}"));
    record.notes.extend(imported.notes.iter().map(|note| format!("{file}: {note}")));
    let unknown_ranks =
        imported.benchmarks.iter_mut().map(|benchmark| &mut benchmark.curve.ranks).filter(|ranks| **ranks == 0);
    match options.ranks {
        Some(ranks) => unknown_ranks.for_each(|unknown| *unknown = ranks as usize),
        None if unknown_ranks.count() > 0 => {
            record.notes.push(format!("{file}: {tool} does not print the number of ranks; give it with --ranks"));
        }
        None => {}
    }
    record.complete &= imported.complete;
    Ok(imported.benchmarks)
}

/// Adds a benchmark. `sources` are those of the record's curves, in their order.
fn add_benchmark(
    record: &mut BenchmarkRecord,
    sources: &mut Vec<CurveSource>,
    file: &str,
    one: Benchmark,
) -> Result<(), ImportError> {
    let source = CurveSource { file: file.into(), benchmark: one.name };
    if let Some(at) = record.curves.iter().position(|earlier| earlier.is_same_curve(&one.curve)) {
        return Err(ImportError::Duplicate { source, first: sources[at].clone(), curve: Box::new(one.curve) });
    }
    sources.push(source);
    record.curves.push(one.curve);
    Ok(())
}

fn system_name(path: &Path) -> String {
    if path.as_os_str() == STDIN {
        return "stdin".into();
    }
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The text of a file, None if it is too long, and the time when it was written. Bytes that are no text are replaced,
/// for the readers to refuse.
fn read_text(path: &Path) -> io::Result<(Option<String>, SystemTime)> {
    let (file, time): (Box<dyn Read>, _) = if path.as_os_str() == STDIN {
        (Box::new(io::stdin()), SystemTime::now())
    } else {
        let file = File::open(path)?;
        let time = file.metadata()?.modified()?;
        (Box::new(file), time)
    };
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    let fits = bytes.len() as u64 <= FILE_BYTES_MAX;
    Ok((fits.then(|| String::from_utf8_lossy(&bytes).into_owned()), time))
}

fn date(time: SystemTime) -> String {
    Timestamp::try_from(time).map(record::date).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_names() {
        assert_eq!(date(SystemTime::UNIX_EPOCH), "1970-01-01T00:00:00Z");
        assert_eq!(
            (system_name(Path::new("-")), system_name(Path::new("a/np.mpi.out")), system_name(Path::new("/"))),
            ("stdin".into(), "np.mpi".into(), "/".into())
        );
    }

    fn options(files: &[&Path], ranks: Option<u32>) -> ImportOptions {
        let files = files.iter().map(|path| path.to_path_buf()).collect();
        ImportOptions { files, name: Some("theirs".into()), floor: CurveLevel::Library, ranks, out: None }
    }

    #[test]
    fn the_same_curve_twice_is_refused_with_its_files_and_benchmarks() {
        let folder = tempfile::tempdir().unwrap();
        let [latency, imb] = ["osu.txt", "imb.txt"].map(|name| folder.path().join(name));
        std::fs::write(&latency, "# OSU MPI Latency Test v7.5\n# Size  Latency (us)\n1 2.0\n").unwrap();
        std::fs::write(&imb, "# Benchmarking PingPong\n# #processes = 2\n#bytes #repetitions t[usec]\n1 10 2.0\n")
            .unwrap();
        let message = record(&options(&[&latency, &imb], None)).unwrap_err().to_string();
        let (latency, imb) = (latency.display(), imb.display());
        let want = format!(
            "{imb}: PingPong gives the same curve, pingpong (2 ranks) of theirs, as latency of {latency}; \
             leave one out, or import it under another --name"
        );
        assert_eq!(message, want);
    }

    #[test]
    fn ranks_that_the_tool_does_not_say_are_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("osu.txt");
        std::fs::write(&path, "# OSU MPI Barrier Latency Test v7.3\n# Latency(us)\n1.41\n").unwrap();
        let without_ranks = record(&options(&[&path], None)).unwrap();
        let note = "OSU micro-benchmarks v7.3 does not print the number of ranks; give it with --ranks";
        assert!(without_ranks.notes.contains(&format!("{}: {note}", path.display())), "{:?}", without_ranks.notes);
        let with_ranks = record(&options(&[&path], Some(4))).unwrap();
        assert_eq!((with_ranks.curves[0].ranks, with_ranks.notes.len()), (4, 1));
    }
}
