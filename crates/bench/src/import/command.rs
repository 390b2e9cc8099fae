//! `hawser-bench import`: files of other tools' output into one record of ours.
//!
//! What is written is there as a whole or not at all. Nothing of the machine is put into the record: the figures may be from
//! another one. Before it: `main`; after it: `import` and whoever reads the record.

use crate::import::{Unread, import};
use crate::record::{self, FORMAT, Floor, Machine, Record};
use crate::whole;
use clap::Args;
use jiff::Timestamp;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// More than any of these tools prints in a week; a device or a wrong file is not read to its end.
const MOST_BYTES: u64 = 64 << 20;
const STDIN: &str = "-";

#[derive(Args, Clone)]
pub struct Options {
    /// What NetPIPE (also its np.out), OSU's micro-benchmarks or IMB wrote; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Whose figures they are; without it the file's name, less its ending
    #[arg(long)]
    name: Option<String>,
    /// Where that system stands
    #[arg(long, default_value = "library", value_parser = ["raw", "layer", "library"])]
    floor: String,
    /// How many ranks there were, where the tool's output does not say it
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
    /// Where the record goes; without it, standard output
    #[arg(long, value_name = "FILE.json")]
    out: Option<PathBuf>,
}

/// Why there is no record.
#[derive(Debug)]
enum Trouble {
    File(String, io::Error),
    Long(String),
    Unread(String, Unread),
    Out(String, io::Error),
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Trouble::File(file, error) => write!(out, "{file}: {error}"),
            Trouble::Long(file) => write!(out, "{file}: more than {} MiB; give one run's output", MOST_BYTES >> 20),
            Trouble::Unread(file, unread) => write!(out, "{}", unread.of(file)),
            Trouble::Out(file, error) => write!(out, "{file}: cannot be written: {error}; what was there is as it was"),
        }
    }
}

impl std::error::Error for Trouble {}

pub fn run(options: &Options) -> io::Result<()> {
    let record = record(options).map_err(io::Error::other)?;
    let mut text = serde_json::to_string_pretty(&record).map_err(io::Error::other)?;
    text.push('\n');
    match &options.out {
        Some(path) => whole::put(path, |beside| whole::text(beside, &text))
            .map_err(|error| io::Error::other(Trouble::Out(path.display().to_string(), error))),
        None => io::stdout().write_all(text.as_bytes()),
    }
}

fn record(options: &Options) -> Result<Record, Trouble> {
    let names: Vec<String> = options.files.iter().map(|file| file.display().to_string()).collect();
    let mut record = Record {
        format: FORMAT,
        command: format!("imported from {}", names.join(" ")),
        date: String::new(),
        machine: Machine { host: "unknown".into(), ..Machine::default() },
        complete: true,
        thresholds: Default::default(),
        notes: Vec::new(),
        curves: Vec::new(),
    };
    let mut newest = None;
    for (path, file) in options.files.iter().zip(&names) {
        let (text, time) = text(path).map_err(|error| Trouble::File(file.clone(), error))?;
        newest = newest.max(Some(time));
        add(&mut record, options, path, file, text.ok_or_else(|| Trouble::Long(file.clone()))?)?;
    }
    record.date = newest.map(date).unwrap_or_default();
    Ok(record)
}

fn add(record: &mut Record, options: &Options, path: &Path, file: &str, text: String) -> Result<(), Trouble> {
    let system = options.name.clone().unwrap_or_else(|| stem(path));
    let imported =
        import(&text, &system, floor(&options.floor)).map_err(|unread| Trouble::Unread(file.into(), unread))?;
    record.notes.push(format!("{system}: figures of {}, as it measured them, from {file}", imported.tool));
    if imported.tool == "NetPIPE"
        && imported.curves.iter().all(|curve| curve.points.iter().all(|point| point.count == 0))
    {
        record
            .notes
            .push(format!("{file}: np.out does not say whether it was run with -s or -2; it is taken for a ping-pong"));
    }
    record.notes.extend(imported.notes.iter().map(|note| format!("{file}: {note}")));
    record.complete &= imported.complete;
    for mut curve in imported.curves {
        if curve.ranks == 0 {
            curve.ranks = options.ranks.unwrap_or(0) as usize;
        }
        record.curves.push(curve);
    }
    Ok(())
}

fn floor(name: &str) -> Floor {
    match name {
        "raw" => Floor::Raw,
        "layer" => Floor::Layer,
        _ => Floor::Library,
    }
}

fn stem(path: &Path) -> String {
    if path.as_os_str() == STDIN {
        return "stdin".into();
    }
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// A file's text, none if it is too long, and when it was written. Bytes that are no text stand as such, for the readers to refuse.
fn text(path: &Path) -> io::Result<(Option<String>, SystemTime)> {
    let (file, time): (Box<dyn Read>, _) = if path.as_os_str() == STDIN {
        (Box::new(io::stdin()), SystemTime::now())
    } else {
        let file = File::open(path)?;
        let time = file.metadata()?.modified()?;
        (Box::new(file), time)
    };
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    let fits = bytes.len() as u64 <= MOST_BYTES;
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
            (stem(Path::new("-")), stem(Path::new("a/np.mpi.out")), stem(Path::new("/"))),
            ("stdin".into(), "np.mpi".into(), "/".into())
        );
    }

    #[test]
    fn a_file_is_written_as_a_whole_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let write = |path: &Path, text: &str| whole::put(path, |beside| whole::text(beside, text));
        write(&path, "{}\n").unwrap();
        write(&path, "{}").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}");
        assert!(write(&folder.path().join("none/a.json"), "").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
