//! One benchmark of a tool's output: what a curve has of it, before anybody says whose curve it is.
//!
//! Before it: the tools' readers, which fill it row by row; after it: `import`.

use crate::import::figure::Wrong;
use crate::record::Point;

#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// As the tool calls it.
    pub benchmark: String,
    pub pattern: String,
    /// 0 where the tool does not say.
    pub ranks: usize,
    pub points: Vec<Point>,
    /// Rows without a time: the tool had rounded their figure to nothing, or had written why there is none.
    pub left_out: usize,
    /// What the reader should know of its figures.
    pub note: Option<&'static str>,
}

impl Section {
    pub fn new(benchmark: impl Into<String>, pattern: impl Into<String>, ranks: usize) -> Self {
        let (benchmark, pattern) = (benchmark.into(), pattern.into());
        Section { benchmark, pattern, ranks, points: Vec::new(), left_out: 0, note: None }
    }

    /// A point, or none for a time that has no place on a graph; a curve has one point a size.
    pub fn push(&mut self, point: Point) -> Result<(), Wrong> {
        if self.points.iter().any(|earlier| earlier.bytes == point.bytes) {
            return Err(Wrong::Again(point.bytes));
        }
        if point.median_us > 0.0 {
            self.points.push(point)
        } else {
            self.left_out += 1
        }
        Ok(())
    }
}

/// A point of one figure; `count` is 0 where the tool does not say how often. No tool says how its rounds differed: it has none.
pub fn point(bytes: u64, min_us: f64, median_us: f64, count: u64) -> Point {
    Point {
        bytes,
        min_us: if min_us > 0.0 { min_us.min(median_us) } else { median_us },
        median_us,
        spread: 0.0,
        cpu_us: None,
        hidden: None,
        count,
        rounds: 0,
        noisy: false,
    }
}
