//! `hawser-bench explain A B`: reports in words with numbers how much time is lost between a system and the one
//! beneath it, and at which sizes.
//!
//! Nothing is measured here: a record has both curves. Used by `main`; uses `fit`, and `text`, which formats the
//! result.

pub mod command;
mod fit;
mod text;

pub use text::{size, us};

use crate::record::{BenchmarkRecord, Curve, Point};
use fit::{LinearPiece, Overhead};
use std::collections::BTreeMap;
use std::fmt;

/// The noise that comes from the roughness of a curve, as a fraction of its time: alignment, and sizes that divide
/// better than others. The rounds of a measurement do not show it.
const ROUGH: f64 = 0.03;
/// The minimum noise, in microseconds: the noise of the clock, divided by the number of messages of a task.
const NOISE_MIN_US: f64 = 1e-3;
/// Quartiles of a normal distribution lie 1.35 deviations apart.
const QUARTILES: f64 = 1.35;

/// Two curves of one pattern, at the sizes that both have.
struct CurvePair<'a> {
    above: &'a Curve,
    below: &'a Curve,
    points: Vec<(Point, Point)>,
}

/// The difference between the two curves of a pair.
struct CurveGap<'a> {
    pair: CurvePair<'a>,
    /// The upper system's parameters that may be thresholds, in bytes.
    thresholds: Option<&'a BTreeMap<String, u64>>,
    pieces: Vec<LinearPiece>,
    overheads: Vec<Overhead>,
}

/// The reason why there is nothing to explain.
#[derive(Debug, PartialEq)]
pub enum Missing {
    System { name: String, there: Vec<String> },
    Same(String),
    Pattern { above: String, below: String },
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Missing::System { name, there } => {
                write!(f, "there is no {name} in the record; it has {}", there.join(", "))
            }
            Missing::Same(name) => write!(f, "{name} cannot be compared with itself; name the system below it"),
            Missing::Pattern { above, below } => write!(
                f,
                "{above} and {below} have no pattern with a size in common in the record; measure them in one run"
            ),
        }
    }
}

/// Returns the text that explains how much longer `above` takes than `below`, a paragraph for each pattern.
pub fn explain(record: &BenchmarkRecord, above: &str, below: &str) -> Result<String, Missing> {
    let pairs = pairs(record, above, below)?;
    let thresholds = record.thresholds.get(above);
    let paragraphs = pairs.into_iter().map(|pair| text::paragraph(&CurveGap::of(pair, thresholds)));
    Ok(paragraphs.collect::<Vec<_>>().join("\n"))
}

fn pairs<'a>(record: &'a BenchmarkRecord, above: &str, below: &str) -> Result<Vec<CurvePair<'a>>, Missing> {
    for name in [above, below] {
        if !record.curves.iter().any(|curve| curve.system == name) {
            let mut there: Vec<String> = record.curves.iter().map(|curve| curve.system.clone()).collect();
            there.sort();
            there.dedup();
            return Err(Missing::System { name: name.into(), there });
        }
    }
    if above == below {
        return Err(Missing::Same(above.into()));
    }
    let both = |pattern: &str| Some((record.curve(above, pattern)?, record.curve(below, pattern)?));
    let both = record.patterns().into_iter().filter_map(both);
    let pairs: Vec<CurvePair> =
        both.map(|(above, below)| CurvePair::of(above, below)).filter(|pair| !pair.points.is_empty()).collect();
    if pairs.is_empty() {
        return Err(Missing::Pattern { above: above.into(), below: below.into() });
    }
    Ok(pairs)
}

impl<'a> CurvePair<'a> {
    fn of(above: &'a Curve, below: &'a Curve) -> CurvePair<'a> {
        CurvePair { above, below, points: above.common_points(below).collect() }
    }
}

impl<'a> CurveGap<'a> {
    fn of(pair: CurvePair<'a>, thresholds: Option<&'a BTreeMap<String, u64>>) -> CurveGap<'a> {
        let overheads: Vec<Overhead> = pair.points.iter().map(|(above, below)| overhead(above, below)).collect();
        CurveGap { pieces: fit::pieces(&overheads), pair, thresholds, overheads }
    }
}

fn overhead(above: &Point, below: &Point) -> Overhead {
    let deviation = |point: &Point| point.spread * point.median_us / QUARTILES;
    let noise = deviation(above).hypot(deviation(below)).hypot(ROUGH * above.median_us);
    Overhead { bytes: above.bytes as f64, us: above.median_us - below.median_us, noise_us: noise.max(NOISE_MIN_US) }
}
