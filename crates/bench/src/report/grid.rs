//! The record's figures as tables: sizes down, systems across.
//!
//! It must not format for a screen or a page. Used by `table` (terminal) and `page` (HTML); uses `group`.

use crate::record::{CurveLevel, Point};

use super::group::{self, CurveGroup, OURS};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    MedianUs,
    MbyteS,
    /// The messages per second.
    Rate,
    HiddenPercent,
}

pub struct Grid {
    pub title: String,
    pub systems: Vec<String>,
    /// Whether the rows have a last column: our time divided by that of the best other library.
    pub compares: bool,
    pub rows: Vec<GridRow>,
}

pub struct GridRow {
    pub bytes: u64,
    /// One cell for each system; None if the system has no point of this size.
    pub cells: Vec<Option<GridCell>>,
    pub ratio_to_best: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridCell {
    pub value: f64,
    pub noisy: bool,
}

impl Measure {
    fn of_pattern(pattern: &str) -> &'static [Measure] {
        match pattern {
            "overlap" => &[Measure::MedianUs, Measure::HiddenPercent],
            "rate" => &[Measure::MedianUs, Measure::Rate],
            _ if group::is_point_to_point(pattern) => &[Measure::MedianUs, Measure::MbyteS],
            _ => &[Measure::MedianUs],
        }
    }

    fn heading(self) -> &'static str {
        match self {
            Measure::MedianUs => "median time, us",
            Measure::MbyteS => "throughput, MB/s",
            Measure::Rate => "messages per second",
            Measure::HiddenPercent => "hidden part of the transfer, %",
        }
    }

    fn value(self, point: &Point) -> Option<f64> {
        match self {
            Measure::MedianUs => Some(point.median_us),
            Measure::MbyteS => (point.bytes > 0).then(|| point.mbyte_s()),
            Measure::Rate => Some(1e6 / point.median_us),
            Measure::HiddenPercent => point.hidden.map(|part| part * 100.0),
        }
    }
}

/// The tables of one group.
pub fn of_group(group: &CurveGroup) -> Vec<Grid> {
    Measure::of_pattern(group.pattern).iter().map(|measure| grid(group, *measure)).collect()
}

fn grid(group: &CurveGroup, measure: Measure) -> Grid {
    let ours = group.curves.iter().find(|curve| curve.system == OURS && curve.floor == CurveLevel::Library);
    let others = group.curves.iter().filter(|curve| curve.floor == CurveLevel::Library).count() > 1;
    let ours = ours.filter(|_| others && measure == Measure::MedianUs);
    let row = |bytes: u64| {
        let cell = |point: &Point| measure.value(point).map(|value| GridCell { value, noisy: point.noisy });
        let cells = group.curves.iter().map(|curve| group::point_at(curve, bytes).and_then(cell)).collect();
        GridRow { bytes, cells, ratio_to_best: ours.and_then(|curve| group.ratio_to_best_other(curve, bytes)) }
    };
    Grid {
        title: format!("{}: {}", group.title(), measure.heading()),
        systems: group.curves.iter().map(|curve| curve.system.clone()).collect(),
        compares: ours.is_some(),
        rows: group.sizes().into_iter().map(row).collect(),
    }
}

/// Formats a figure with at least three significant digits, whatever it measures: 0.00213, 1.71, 43.9, 1043.
pub fn figure(value: f64) -> String {
    // A figure such as 9.996, which is rounded up to the next power of ten, gets the number of decimals of that
    // power.
    let decade = (value.abs() * 1.0005).log10().floor();
    if value == 0.0 { "0".to_owned() } else { format!("{value:.*}", (2.0 - decade).clamp(0.0, 12.0) as usize) }
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn three_digits_of_a_figure_count() {
        let figures = [0.0, 0.000_042_345, 0.0021, 0.213, 0.9996, 1.714, 9.994, 9.996, 43.94, 99.96, 104_377.4];
        let want = ["0", "0.0000423", "0.00210", "0.213", "1.00", "1.71", "9.99", "10.0", "43.9", "100", "104377"];
        assert_eq!(figures.map(figure), want);
    }
}
