//! One benchmark of a tool's output: the contents of a curve, before it has the name of a system.
//!
//! Used by the tools' readers, which fill it row by row, and by `import`.

use crate::import::cell::CellError;
use crate::record::Point;

#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The tool's name for it.
    pub benchmark: String,
    pub pattern: String,
    /// The number of ranks; 0 where the tool does not print it.
    pub ranks: usize,
    pub points: Vec<Point>,
    /// The number of rows without a time: the tool had rounded their figure to nothing, or had written why there is
    /// none.
    pub left_out: usize,
    /// A note for the reader of its figures.
    pub note: Option<&'static str>,
}

impl Section {
    pub fn new(benchmark: impl Into<String>, pattern: impl Into<String>, ranks: usize) -> Self {
        let (benchmark, pattern) = (benchmark.into(), pattern.into());
        Section { benchmark, pattern, ranks, points: Vec::new(), left_out: 0, note: None }
    }

    /// Adds a point, unless it has a time that has no place on a graph; a curve has one point for each size.
    pub fn push(&mut self, point: Point) -> Result<(), CellError> {
        if self.points.iter().any(|earlier| earlier.bytes == point.bytes) {
            return Err(CellError::Duplicate(point.bytes));
        }
        if point.median_us > 0.0 {
            self.points.push(point)
        } else {
            self.left_out += 1
        }
        Ok(())
    }
}

/// A point of one figure; `count` is 0 where the tool does not print it. No tool prints how its rounds differed, so
/// there is no spread.
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
