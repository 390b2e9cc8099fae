//! What a run of the benchmark found, as it is kept: the file that `hawser-bench run` writes (JSON) and that reports, `explain` and
//! imports of other tools' results share.
//!
//! Times are in microseconds, sizes in bytes. Before it: `run`, which measures, and `import`; after it: `report`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;

/// What a record that is not complete lacks: it was cut off, a system was left out, or a play was not right.
pub const INCOMPLETE: &str = "points are missing, as the notes say";

/// The format's number; a file with another one is refused.
pub const FORMAT: u32 = 1;

/// A whole run, or what there was of it when it was cut off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub format: u32,
    /// What was run, as one would type it again.
    pub command: String,
    /// When it began, RFC 3339, UTC.
    pub date: String,
    pub machine: Machine,
    /// False: points are missing (`INCOMPLETE`).
    pub complete: bool,
    /// What the reader should know: systems that were left out, or ended on the way, and why.
    pub notes: Vec<String>,
    /// By library: parameters that may divide short messages from long ones, as it told them (MPI_T), in bytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub thresholds: BTreeMap<String, BTreeMap<String, u64>>,
    pub curves: Vec<Curve>,
}

/// What it was measured on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub host: String,
    pub processor: String,
    pub cores: usize,
    pub memory_bytes: u64,
    pub kernel: String,
    /// What lies between the two ends, as in `this machine's memory` or `a cable (veth), MTU 1500`.
    pub between: String,
}

/// Where a system stands: raw layers are what libraries are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Floor {
    /// Memory, a socket, a frame port: no protocol of a message-passing library.
    Raw,
    /// Part of a library, beneath its interface.
    Layer,
    /// A library as programs see it.
    Library,
}

/// One system in one pattern, over the sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// `hawser`, `mpich`, `tcp`, `memcpy`.
    pub system: String,
    pub floor: Floor,
    /// Its version, as it says it.
    pub version: String,
    /// What was played: `pingpong`, `stream`, `bidirectional`, `rate`, `overlap`, or a collective operation's name;
    /// imports have names of their own for what we do not play.
    pub pattern: String,
    /// 0: another tool did not say.
    pub ranks: usize,
    /// In ascending order of size.
    pub points: Vec<Point>,
}

/// One size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub bytes: u64,
    /// Time of one message: half a round trip in `pingpong`, else the time of a play over its messages (or operations).
    pub min_us: f64,
    pub median_us: f64,
    /// From the first to the third quartile of the rounds, over the median.
    pub spread: f64,
    /// CPU time of all ranks for one message; none where it is not known.
    pub cpu_us: Option<f64>,
    /// Part of the transfer that a computation hid, 0 to 1, median; only in `overlap`.
    pub hidden: Option<f64>,
    /// Messages in a round, and rounds; 0: another tool did not say, and of no rounds there is no spread.
    pub count: u64,
    pub rounds: u32,
    /// The rounds still differed after they were repeated.
    pub noisy: bool,
}

/// A moment as `Record::date` has it.
pub fn date(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// This one.
pub fn now() -> String {
    date(jiff::Timestamp::now())
}

/// What this process was told, as one would type it again.
pub fn command() -> String {
    typed(std::env::args_os())
}

fn typed(words: impl Iterator<Item = OsString>) -> String {
    let word = |word: OsString| {
        let word = word.to_string_lossy().into_owned();
        let bare = |letter: char| letter.is_alphanumeric() || "-_=+,.:/@%^~\u{FFFD}".contains(letter);
        if !word.is_empty() && word.chars().all(bare) { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
    };
    words.map(word).collect::<Vec<_>>().join(" ")
}

/// A letter of a text that somebody else wrote: none that moves a terminal's cursor.
pub fn plain(letter: char) -> char {
    if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter }
}

impl Point {
    /// Payload per second, in megabytes (10^6 bytes), by the median.
    pub fn mbyte_s(&self) -> f64 {
        self.bytes as f64 / self.median_us
    }
}

/// As a person reads it.
pub fn ranks(ranks: usize) -> String {
    match ranks {
        0 => "ranks not said".into(),
        1 => "1 rank".into(),
        _ => format!("{ranks} ranks"),
    }
}

impl Curve {
    /// The other is of the same system in the same pattern on as many ranks: in one record they are one too many.
    pub fn is_like(&self, other: &Curve) -> bool {
        (&self.system, &self.pattern, self.ranks) == (&other.system, &other.pattern, other.ranks)
    }

    /// The points at sizes that another curve has too, each with the other's.
    pub fn beside<'a>(&'a self, other: &'a Curve) -> impl Iterator<Item = (Point, Point)> + 'a {
        let partner = |point: &Point| other.points.iter().find(|other| other.bytes == point.bytes).copied();
        self.points.iter().filter_map(move |point| Some((*point, partner(point)?)))
    }
}

impl Record {
    /// Of a run that begins now.
    pub fn begun(machine: Machine) -> Record {
        Record {
            format: FORMAT,
            command: command(),
            date: now(),
            machine,
            complete: true,
            notes: Vec::new(),
            thresholds: BTreeMap::new(),
            curves: Vec::new(),
        }
    }

    /// A system's curve in a pattern.
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

    pub fn of_pattern<'a>(&'a self, pattern: &'a str) -> impl Iterator<Item = &'a Curve> {
        self.curves.iter().filter(move |curve| curve.pattern == pattern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn what_was_typed_is_told_as_one_would_type_it_again() {
        let words = ["hawser-bench", "--out", "a b", "", "it's", "$(x)", "--lib", "hawser=/opt/h"].map(OsString::from);
        assert_eq!(typed(words.into_iter()), r"hawser-bench --out 'a b' '' 'it'\''s' '$(x)' --lib hawser=/opt/h");
        assert_eq!(typed([OsString::from_vec(b"a\xff".to_vec())].into_iter()), "a\u{FFFD}");
    }
}

/// For tests.
#[cfg(test)]
pub mod made {
    use super::*;

    pub fn point(bytes: u64, median_us: f64) -> Point {
        let (min_us, spread, cpu_us, hidden) = (median_us, 0.02, None, None);
        Point { bytes, min_us, median_us, spread, cpu_us, hidden, count: 100, rounds: 7, noisy: false }
    }

    /// A library's ping-pong that takes as long as `us` says.
    pub fn curve(system: &str, sizes: impl IntoIterator<Item = u64>, us: impl Fn(f64) -> f64) -> Curve {
        let (version, pattern) = ("1".into(), "pingpong".into());
        let points = sizes.into_iter().map(|bytes| point(bytes, us(bytes as f64))).collect();
        Curve { system: system.into(), floor: Floor::Library, version, pattern, ranks: 2, points }
    }

    pub fn record(curves: Vec<Curve>) -> Record {
        Record { curves, ..Record::begun(Machine::default()) }
    }
}
