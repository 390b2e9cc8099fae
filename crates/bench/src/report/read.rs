//! Reads a record from a file.
//!
//! It must not guess: a file of another format is refused. Before it: `run` or `import`, which wrote the file; after it: `merge`.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::record::{FORMAT, Record};

#[derive(Debug)]
pub enum ReadError {
    Io(PathBuf, io::Error),
    NotJson(PathBuf, serde_json::Error),
    /// JSON, but nothing that says it is a record.
    NoRecord(PathBuf),
    Format(PathBuf, Value),
    /// The right format, and yet a field is missing or of another kind.
    Damaged(PathBuf, serde_json::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Self::NotJson(path, error) => {
                write!(f, "{} is not JSON: {error}; give it the file that `hawser-bench run` wrote", path.display())
            }
            Self::NoRecord(path) => write!(
                f,
                "{} is no record of a benchmark, it names no format; give it the file that `hawser-bench run` wrote",
                path.display()
            ),
            Self::Format(path, found) => write!(
                f,
                "{} has format {found}, this hawser-bench reads {FORMAT}; use the hawser-bench that wrote it, or measure again",
                path.display()
            ),
            Self::Damaged(path, error) => {
                write!(f, "{} is a damaged record: {error}; measure again", path.display())
            }
        }
    }
}

pub fn read(path: &Path) -> Result<Record, ReadError> {
    let text = std::fs::read(path).map_err(|error| ReadError::Io(path.to_owned(), error))?;
    let value: Value = serde_json::from_slice(&text).map_err(|error| ReadError::NotJson(path.to_owned(), error))?;
    match value.get("format") {
        None => return Err(ReadError::NoRecord(path.to_owned())),
        Some(format) if *format != FORMAT => return Err(ReadError::Format(path.to_owned(), format.clone())),
        Some(_) => {}
    }
    serde_json::from_value(value).map_err(|error| ReadError::Damaged(path.to_owned(), error))
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    fn refusal(text: &str) -> String {
        let dir = example::scratch();
        let path = dir.path().join("some.json");
        std::fs::write(&path, text).unwrap();
        let said = read(&path).unwrap_err().to_string();
        assert!(said.contains(path.to_str().unwrap()) && !said.contains('\n'), "{said}");
        said
    }

    #[test]
    fn what_was_written_is_read() {
        let record = example::record(&["tcp", "hawser"]);
        let dir = example::scratch();
        let path = dir.path().join("some.json");
        std::fs::write(&path, serde_json::to_string(&record).unwrap()).unwrap();
        assert_eq!(read(&path).unwrap(), record, "to the last digit");
    }

    #[test]
    fn other_files_are_refused_in_one_line() {
        let mut record = serde_json::to_value(example::record(&["hawser"])).unwrap();
        record["format"] = 2.into();
        assert!(refusal(&record.to_string()).contains("has format 2, this hawser-bench reads 1"));
        record["format"] = 1.into();
        record.as_object_mut().unwrap().remove("curves");
        assert!(refusal(&record.to_string()).contains("damaged record: missing field `curves`"));
        assert!(refusal("{}").contains("is no record"));
        assert!(refusal("[1]").contains("is no record"));
        assert!(refusal("").contains("is not JSON"));
        assert!(refusal("{\"format\": 1,").contains("is not JSON"));
        let missing = read(Path::new("/nowhere/some.json")).unwrap_err().to_string();
        assert_eq!(missing, "cannot read /nowhere/some.json: No such file or directory (os error 2)");
    }
}
