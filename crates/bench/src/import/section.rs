//! One benchmark of a tool's output: the contents of a curve, before it has the name of a system.
//!
//! Used by the tools' readers, which fill it row by row, and by `import`.

use crate::import::cell::CellError;
use crate::record::Point;

#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The tool's name for the benchmark.
    pub benchmark: String,
    pub pattern: String,
    /// The number of ranks; 0 if the tool does not print it.
    pub ranks: usize,
    pub points: Vec<Point>,
    /// The number of rows without a time: the tool rounded their figure to zero, or printed the reason why there is
    /// none.
    pub left_out: usize,
    /// A note for readers of the figures.
    pub note: Option<&'static str>,
}

impl Section {
    pub fn new(benchmark: impl Into<String>, pattern: impl Into<String>, ranks: usize) -> Self {
        let (benchmark, pattern) = (benchmark.into(), pattern.into());
        Section { benchmark, pattern, ranks, points: Vec::new(), left_out: 0, note: None }
    }

    /// Adds a point; an error if the section already has one of this size. A point whose time is 0 cannot be drawn:
    /// it is only counted, in `left_out`.
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

/// Makes a point of one figure; `count` is 0 if the tool does not print it. There is no spread, because no tool
/// prints how its rounds differed.
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
