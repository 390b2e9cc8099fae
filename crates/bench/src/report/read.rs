//! Reads a record from a file.
//!
//! It must not guess: it refuses a file of another format, and a file with figures that no graph can show. Its users
//! can rely on this: times are positive, sizes ascend, nothing is empty, and no text controls a terminal. Used by
//! `command`; reads what `run` or `import` wrote.

use std::fmt;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::record::{BenchmarkRecord, Curve, FORMAT, printable};

/// The range of accepted times, from a picosecond to thirty years: no measured time is outside it.
const TIMES_US: RangeInclusive<f64> = 1e-6..=1e15;

#[derive(Debug)]
pub enum ReadError {
    Io(PathBuf, io::Error),
    NotJson(PathBuf, serde_json::Error),
    /// The file is JSON, but does not claim to be a record.
    NoRecord(PathBuf),
    Format(PathBuf, Value),
    /// The format is right, but a field is missing or of another kind.
    Damaged(PathBuf, serde_json::Error),
    /// The file is a record without anything that could be drawn; the text is the reason.
    Unusable(PathBuf, String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Self::NotJson(path, error) => {
                write!(f, "{} is not JSON: {error}; give a file that `hawser-bench run` wrote", path.display())
            }
            Self::NoRecord(path) => write!(
                f,
                "{} is not a benchmark record, it has no format number; give a file that `hawser-bench run` wrote",
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
            Self::Unusable(path, cause) => write!(f, "{} cannot be used: {cause}; measure again", path.display()),
        }
    }
}

pub fn read(path: &Path) -> Result<BenchmarkRecord, ReadError> {
    let text = std::fs::read(path).map_err(|error| ReadError::Io(path.to_owned(), error))?;
    let mut value: Value = serde_json::from_slice(&text).map_err(|error| ReadError::NotJson(path.to_owned(), error))?;
    strip_control_characters(&mut value);
    match value.get("format") {
        None => return Err(ReadError::NoRecord(path.to_owned())),
        Some(format) if *format != FORMAT => return Err(ReadError::Format(path.to_owned(), format.clone())),
        Some(_) => {}
    }
    let record: BenchmarkRecord =
        serde_json::from_value(value).map_err(|error| ReadError::Damaged(path.to_owned(), error))?;
    match unusable(&record) {
        Some(cause) => Err(ReadError::Unusable(path.to_owned(), cause)),
        None => Ok(record),
    }
}

/// Replaces control characters in texts: names and notes may be of another user, and are shown on terminals, in graphs
/// and in errors.
fn strip_control_characters(value: &mut Value) {
    match value {
        Value::String(text) => *text = text.chars().map(printable).collect(),
        Value::Array(values) => values.iter_mut().for_each(strip_control_characters),
        Value::Object(fields) => fields.values_mut().for_each(strip_control_characters),
        _ => {}
    }
}

fn unusable(record: &BenchmarkRecord) -> Option<String> {
    if record.curves.is_empty() {
        return Some("it has no curve".to_owned());
    }
    let of = |curve: &Curve| Some(format!("{}'s {} {}", curve.system, curve.pattern, flaw(curve)?));
    record.curves.iter().find_map(of)
}

fn flaw(curve: &Curve) -> Option<String> {
    if curve.points.is_empty() {
        return Some("has no point".to_owned());
    }
    if !curve.points.is_sorted_by(|one, next| one.bytes < next.bytes) {
        return Some("has its sizes out of order, or one of them twice".to_owned());
    }
    let is_invalid = |time_us: &f64| !TIMES_US.contains(time_us);
    curve.points.iter().find_map(|point| {
        let time_us = [point.min_us, point.median_us].into_iter().find(is_invalid)?;
        Some(format!("takes {time_us} us for {} bytes", point.bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    fn refusal(text: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("some.json");
        std::fs::write(&path, text).unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(message.contains(path.to_str().unwrap()) && !message.contains('\n'), "{message}");
        message
    }

    #[test]
    fn what_was_written_is_read() {
        let record = example::record(&["tcp", "hawser"]);
        let dir = tempfile::tempdir().unwrap();
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
        assert!(refusal("{}").contains("is not a benchmark record"));
        assert!(refusal("[1]").contains("is not a benchmark record"));
        assert!(refusal("").contains("is not JSON"));
        assert!(refusal("{\"format\": 1,").contains("is not JSON"));
        let missing = read(Path::new("/nowhere/some.json")).unwrap_err().to_string();
        assert_eq!(missing, "cannot read /nowhere/some.json: No such file or directory (os error 2)");
    }

    #[test]
    fn figures_that_no_graph_can_show_are_refused() {
        let unusable = |change: fn(&mut BenchmarkRecord)| {
            let mut record = example::record(&["tcp", "hawser"]);
            change(&mut record);
            refusal(&serde_json::to_string(&record).unwrap())
        };
        type Case = (fn(&mut BenchmarkRecord), &'static str);
        let cases: [Case; 6] = [
            (|record| record.curves.clear(), "it has no curve"),
            (|record| record.curves[1].points.clear(), "hawser's pingpong has no point"),
            (|record| record.curves[1].points[2].median_us = 0.0, "hawser's pingpong takes 0 us for 4 bytes"),
            (|record| record.curves[0].points[0].min_us = -1.5, "tcp's pingpong takes -1.5 us for 1 bytes"),
            (|record| record.curves[0].points[1].bytes = 1, "tcp's pingpong has its sizes out of order, or one"),
            (|record| record.curves[0].points.reverse(), "tcp's pingpong has its sizes out of order, or one"),
        ];
        for (change, cause) in cases {
            let message = unusable(change);
            assert!(message.contains(&format!("some.json cannot be used: {cause}")), "{message}");
        }
    }

    #[test]
    fn no_text_moves_a_terminals_cursor() {
        let mut record = example::record(&["a\u{1b}[31mb\r\n"]);
        record.notes = vec!["one\ttwo\u{9b}".to_owned()];
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("some.json");
        std::fs::write(&path, serde_json::to_string(&record).unwrap()).unwrap();
        let read = read(&path).unwrap();
        let plain = ["a\u{fffd}[31mb\u{fffd}\u{fffd}", "one\u{fffd}two\u{fffd}"];
        assert_eq!([&read.curves[0].system, &read.notes[0]], plain);
        let floor = serde_json::to_string(&record).unwrap().replace("library", "\\u001b[31m");
        assert!(!refusal(&floor).contains('\u{1b}'));
    }
}
