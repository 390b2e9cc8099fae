//! `hawser-bench report`: reads records, makes one of them, writes the report's files, and prints the table and the
//! paths of the files.
//!
//! It must not know how anything is drawn or written. Used by `main`; uses `read`, `merge`, `write`, `table`.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::merge::{self, MergeError};
use super::read::{self, ReadError};
use super::{table, write};
use crate::record::BenchmarkRecord;

#[derive(clap::Args, Clone)]
pub struct ReportOptions {
    /// Files that `hawser-bench run` or `import` wrote; the report has the curves of all
    #[arg(required = true, value_name = "FILE.json")]
    files: Vec<PathBuf>,
    /// The folder for report.html, report.csv, report.json and the graphs
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

#[derive(Debug)]
pub enum ReportError {
    Read(ReadError),
    Merge(MergeError),
    Write(io::Error),
    Print(io::Error),
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Merge(error) => error.fmt(f),
            Self::Write(error) => write!(f, "{error}; name another folder by --out"),
            Self::Print(error) => write!(f, "cannot print the table: {error}; the files are written"),
        }
    }
}

pub fn command(arguments: ReportOptions) -> Result<(), ReportError> {
    let read = |path: PathBuf| read::read(&path).map(|record| (path, record));
    let files = arguments.files.into_iter().map(read).collect::<Result<_, _>>().map_err(ReportError::Read)?;
    publish(&merge::merge(files).map_err(ReportError::Merge)?, &arguments.out)
}

/// Writes all files of a record to the folder `dir`, and prints the table and their paths. `run` ends with it too.
pub fn publish(record: &BenchmarkRecord, dir: &Path) -> Result<(), ReportError> {
    // The table is printed even where the files cannot be written.
    let printed = io::stdout().write_all(table::text(record).as_bytes());
    let paths = write::write_all(record, dir).map_err(ReportError::Write)?;
    let wrote: String = paths.iter().map(|path| format!("wrote {}\n", path.display())).collect();
    printed.and_then(|()| io::stdout().write_all(wrote.as_bytes())).map_err(ReportError::Print)
}
