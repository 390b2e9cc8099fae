//! The results of a run of the benchmark, as they are stored: the file that `hawser-bench run` writes (JSON) and that
//! reports, `explain` and imports of other tools' results share.
//!
//! Times are in microseconds, sizes in bytes. Used by `run`, which measures, by `import`, `report`, `explain` and
//! `tune`.

use hawser_node::ReceivedBytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;

/// The text by which reports flag a record that is not complete: it was cut off, a system was left out, or a task
/// failed.
pub const INCOMPLETE: &str = "points are missing; see the notes";

/// The number of the file format; a file with another number is refused.
pub const FORMAT: u32 = 1;

/// The results of a run; if the run was cut off, the results until then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkRecord {
    pub format: u32,
    /// The command, as one would type it again.
    pub command: String,
    /// The time at which the run began, RFC 3339, UTC.
    pub date: String,
    pub machine: MachineInfo,
    /// False if points are missing (`INCOMPLETE`).
    pub complete: bool,
    /// Notes for the reader: systems that were left out, or ended during the run, and why.
    pub notes: Vec<String>,
    /// For each library the parameters that may divide short messages from long ones, as it reported them (MPI_T), in
    /// bytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub thresholds: BTreeMap<String, BTreeMap<String, u64>>,
    pub curves: Vec<Curve>,
}

/// The machine on which the run was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineInfo {
    pub host: String,
    pub processor: String,
    pub cores: usize,
    pub memory_bytes: u64,
    pub kernel: String,
    /// The medium between the two ends, as in `this machine's memory` or `a cable (veth), MTU 1500`.
    pub between: String,
}

/// The kind of a system: libraries are compared with raw layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum CurveLevel {
    /// Memory, a socket, a frame port: no protocol of a message-passing library.
    Raw,
    /// Part of a library, beneath its interface.
    Layer,
    /// A library as programs see it.
    Library,
}

/// The figures of one system in one pattern, over the sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The name of the system: `hawser`, `mpich`, `tcp`, `memcpy`.
    pub system: String,
    pub floor: CurveLevel,
    /// The version that the system reports.
    pub version: String,
    /// The pattern that was measured: `pingpong`, `stream`, `bidirectional`, `rate`, `overlap`, or a collective
    /// operation's name; imports have names of their own for patterns that we do not measure.
    pub pattern: String,
    /// The number of ranks; 0 if another tool did not print it.
    pub ranks: usize,
    /// The points in ascending order of size.
    pub points: Vec<Point>,
    /// The bytes that all ranks received for these points; None if the system does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<ReceivedBytesRecord>,
}

/// The bytes that were received (`hawser_node::ReceivedBytes`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceivedBytesRecord {
    pub all: u64,
    /// Those whose receive was posted before their message arrived.
    pub posted: u64,
    /// Those that never lay in the library's memory.
    pub direct: u64,
}

/// The figures of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub bytes: u64,
    /// The minimum and the median over the rounds of the time of one message: half a round trip in `pingpong`,
    /// otherwise the time of a task divided by its messages (or operations).
    pub min_us: f64,
    pub median_us: f64,
    /// The distance from the first to the third quartile of the rounds, divided by the median.
    pub spread: f64,
    /// The CPU time of all ranks for one message; None if it is not known.
    pub cpu_us: Option<f64>,
    /// The part of the transfer that a computation hid, 0 to 1, median; only in `overlap`.
    pub hidden: Option<f64>,
    /// The number of messages in a round (in `pingpong` of round trips, in `rate` of messages of each pair), and the
    /// number of rounds; 0 if another tool did not print them. Without rounds there is no spread.
    pub count: u64,
    pub rounds: u32,
    /// Whether the rounds still differed after they were repeated.
    pub noisy: bool,
}

/// Formats a time as `BenchmarkRecord::date` has it.
pub fn date(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The current time.
pub fn now() -> String {
    date(jiff::Timestamp::now())
}

/// The command line of this process, as one would type it again.
pub fn command_line() -> String {
    shell_command(std::env::args_os())
}

fn shell_command(arguments: impl Iterator<Item = OsString>) -> String {
    let quoted = |argument: OsString| {
        let text = argument.to_string_lossy().into_owned();
        let bare = |letter: char| letter.is_alphanumeric() || "-_=+,.:/@%^~\u{FFFD}".contains(letter);
        if !text.is_empty() && text.chars().all(bare) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
    };
    arguments.map(quoted).collect::<Vec<_>>().join(" ")
}

/// Returns a letter of a text from another source; a letter that would control a terminal is replaced.
pub fn printable(letter: char) -> char {
    if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter }
}

impl Point {
    /// The payload per second, in megabytes (10^6 bytes), by the median.
    pub fn mbyte_s(&self) -> f64 {
        self.bytes as f64 / self.median_us
    }
}

/// The number of ranks as text.
pub fn ranks(ranks: usize) -> String {
    match ranks {
        0 => "unknown number of ranks".into(),
        1 => "1 rank".into(),
        _ => format!("{ranks} ranks"),
    }
}

impl Curve {
    /// Whether the other curve is of the same system, the same pattern and the same number of ranks: one record must
    /// not have both.
    pub fn is_same_curve(&self, other: &Curve) -> bool {
        (&self.system, &self.pattern, self.ranks) == (&other.system, &other.pattern, other.ranks)
    }

    /// Returns in words how the bytes were received, after the system's name; None if the system does not count them.
    pub fn received_text(&self) -> Option<String> {
        let ReceivedBytesRecord { all, posted, direct } = self.received?;
        let shares = ReceivedBytes { all, posted, direct }.shares()?;
        Some(format!("{}, {shares}", self.system))
    }

    /// Returns the points at sizes that the other curve has, too, each with the other curve's point.
    pub fn common_points<'a>(&'a self, other: &'a Curve) -> impl Iterator<Item = (Point, Point)> + 'a {
        let partner = |point: &Point| other.points.iter().find(|other| other.bytes == point.bytes).copied();
        self.points.iter().filter_map(move |point| Some((*point, partner(point)?)))
    }
}

impl BenchmarkRecord {
    /// The record of a run that begins now.
    pub fn new(machine: MachineInfo) -> BenchmarkRecord {
        BenchmarkRecord {
            format: FORMAT,
            command: command_line(),
            date: now(),
            machine,
            complete: true,
            notes: Vec::new(),
            thresholds: BTreeMap::new(),
            curves: Vec::new(),
        }
    }

    /// The curve of a system in a pattern.
    pub fn curve(&self, system: &str, pattern: &str) -> Option<&Curve> {
        self.curves.iter().find(|curve| curve.system == system && curve.pattern == pattern)
    }

    /// The patterns in the order of their first curves.
    pub fn patterns(&self) -> Vec<&str> {
        let mut patterns: Vec<&str> = Vec::new();
        for curve in &self.curves {
            if !patterns.contains(&curve.pattern.as_str()) {
                patterns.push(&curve.pattern);
            }
        }
        patterns
    }

    pub fn curves_of<'a>(&'a self, pattern: &'a str) -> impl Iterator<Item = &'a Curve> {
        self.curves.iter().filter(move |curve| curve.pattern == pattern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn what_was_typed_is_told_as_one_would_type_it_again() {
        let arguments =
            ["hawser-bench", "--out", "a b", "", "it's", "$(x)", "--lib", "hawser=/opt/h"].map(OsString::from);
        assert_eq!(
            shell_command(arguments.into_iter()),
            r"hawser-bench --out 'a b' '' 'it'\''s' '$(x)' --lib hawser=/opt/h"
        );
        assert_eq!(shell_command([OsString::from_vec(b"a\xff".to_vec())].into_iter()), "a\u{FFFD}");
    }
}

/// Records for tests.
#[cfg(test)]
pub mod fixtures {
    use super::*;

    pub fn point(bytes: u64, median_us: f64) -> Point {
        let (min_us, spread, cpu_us, hidden) = (median_us, 0.02, None, None);
        Point { bytes, min_us, median_us, spread, cpu_us, hidden, count: 100, rounds: 7, noisy: false }
    }

    /// A library's ping-pong that takes the time of `us`.
    pub fn curve(system: &str, sizes: impl IntoIterator<Item = u64>, us: impl Fn(f64) -> f64) -> Curve {
        let (version, pattern) = ("1".into(), "pingpong".into());
        let points = sizes.into_iter().map(|bytes| point(bytes, us(bytes as f64))).collect();
        Curve { system: system.into(), floor: CurveLevel::Library, version, pattern, ranks: 2, points, received: None }
    }

    pub fn record(curves: Vec<Curve>) -> BenchmarkRecord {
        BenchmarkRecord { curves, ..BenchmarkRecord::new(MachineInfo::default()) }
    }
}
