//! The graphs of a report and their contents: every curve with its colour and its points, without a pixel.
//!
//! It must not draw. Tests compare what was drawn with these graphs. Used by `chart`, `page`, `write`; uses `axis`,
//! `group`, `palette`.

use crate::record::{BenchmarkRecord, Curve, CurveLevel, Point};

use super::axis::Scale;
use super::group::{self, CurveGroup, OURS};
use super::palette::{Palette, Rgb};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GraphKind {
    Throughput,
    /// NetPIPE's signature: throughput over time.
    Signature,
    Latency,
    /// The time divided by that of the best other library.
    Ratio,
    Hidden,
    Rate,
}

pub struct Graph {
    /// The name of the graph's files, without the ending.
    pub name: String,
    pub title: String,
    pub pattern: String,
    pub ranks: usize,
    pub kind: GraphKind,
    /// The lines in the order in which they are drawn and named.
    pub lines: Vec<GraphLine>,
}

/// A curve as it is drawn in one graph.
pub struct GraphLine {
    pub system: String,
    pub level: CurveLevel,
    pub colour: Rgb,
    /// The points; never empty.
    pub dots: Vec<PlotPoint>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlotPoint {
    pub x: f64,
    pub y: f64,
    pub noisy: bool,
}

impl GraphKind {
    fn of_pattern(pattern: &str) -> &'static [GraphKind] {
        match pattern {
            "overlap" => &[GraphKind::Hidden],
            "rate" => &[GraphKind::Rate],
            _ if group::is_point_to_point(pattern) => {
                &[GraphKind::Throughput, GraphKind::Signature, GraphKind::Latency, GraphKind::Ratio]
            }
            _ => &[GraphKind::Latency],
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            GraphKind::Throughput => "throughput",
            GraphKind::Signature => "signature",
            GraphKind::Latency => "latency",
            GraphKind::Ratio => "ratio",
            GraphKind::Hidden => "hidden",
            GraphKind::Rate => "rate",
        }
    }

    /// The labels of the axes, below and at the left.
    pub fn axes(self) -> (&'static str, &'static str) {
        const SIZE: &str = "message, bytes";
        match self {
            GraphKind::Throughput => (SIZE, "MB/s"),
            GraphKind::Signature => ("time of a message, us", "MB/s"),
            GraphKind::Latency => (SIZE, "median time, us"),
            GraphKind::Ratio => (SIZE, "time / best other library's"),
            GraphKind::Hidden => (SIZE, "hidden part of the transfer, %"),
            GraphKind::Rate => (SIZE, "messages / s"),
        }
    }

    fn heading(self) -> &'static str {
        match self {
            GraphKind::Throughput => "throughput",
            GraphKind::Signature => "signature",
            GraphKind::Latency => "latency",
            GraphKind::Ratio => "time over the best other library's",
            GraphKind::Hidden => "part that a computation hides",
            GraphKind::Rate => "message rate",
        }
    }
}

impl Graph {
    /// Returns the scales of both axes. A ratio is read best on a linear axis, except if a system is many times
    /// slower.
    pub fn scales(&self) -> (Scale, Scale) {
        let is_far = self.lines.iter().flat_map(|line| &line.dots).any(|dot| dot.y > 8.0);
        match self.kind {
            GraphKind::Signature => (Scale::Log, Scale::Linear),
            GraphKind::Hidden => (Scale::Bytes, Scale::Linear),
            GraphKind::Ratio if !is_far => (Scale::Bytes, Scale::Linear),
            _ => (Scale::Bytes, Scale::Log),
        }
    }
}

/// The graphs of one group; an empty graph is left out.
pub fn of_group(group: &CurveGroup, palette: &Palette) -> Vec<Graph> {
    let graph = |kind: &GraphKind| Graph {
        name: format!("{}-{}", group.name(), kind.name()),
        title: format!("{}: {}", group.title(), kind.heading()),
        pattern: group.pattern.to_owned(),
        ranks: group.ranks,
        kind: *kind,
        lines: lines(group, *kind, palette),
    };
    GraphKind::of_pattern(group.pattern).iter().map(graph).filter(|graph| !graph.lines.is_empty()).collect()
}

/// Returns all graphs, in the order of the groups, each with a unique name.
pub fn all(record: &BenchmarkRecord) -> Vec<Graph> {
    let palette = Palette::of(record);
    let mut graphs: Vec<Graph> = group::all(record).iter().flat_map(|group| of_group(group, &palette)).collect();
    for i in 0..graphs.len() {
        let name = graphs[i].name.clone();
        let mut number = 2;
        while graphs[..i].iter().any(|earlier| earlier.name == graphs[i].name) {
            graphs[i].name = format!("{name}-{number}");
            number += 1;
        }
    }
    graphs
}

fn lines(group: &CurveGroup, kind: GraphKind, palette: &Palette) -> Vec<GraphLine> {
    let line = |curve: &&Curve| {
        let dots: Vec<PlotPoint> = curve.points.iter().filter_map(|point| dot(group, kind, curve, point)).collect();
        let (system, colour) = (curve.system.clone(), palette.colour(&curve.system));
        (!dots.is_empty()).then_some(GraphLine { system, level: curve.floor, colour, dots })
    };
    let mut lines: Vec<GraphLine> = group.curves.iter().filter_map(line).collect();
    // The line that is drawn last lies on top.
    lines.sort_by_key(|line| line.system == OURS);
    lines
}

/// Returns the position of a point; None if the point has no such figure, as a message of 0 bytes has no throughput.
fn dot(group: &CurveGroup, kind: GraphKind, curve: &Curve, point: &Point) -> Option<PlotPoint> {
    let bytes = point.bytes as f64;
    let (x, y) = match kind {
        GraphKind::Throughput | GraphKind::Signature if point.bytes == 0 => return None,
        GraphKind::Throughput => (bytes, point.mbyte_s()),
        GraphKind::Signature => (point.median_us, point.mbyte_s()),
        GraphKind::Latency => (bytes, point.median_us),
        GraphKind::Ratio => (bytes, group.ratio_to_best_other(curve, point.bytes)?),
        GraphKind::Hidden => (bytes, point.hidden? * 100.0),
        GraphKind::Rate => (bytes, 1e6 / point.median_us),
    };
    Some(PlotPoint { x, y, noisy: point.noisy })
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    fn names(record: &BenchmarkRecord) -> Vec<String> {
        all(record).into_iter().map(|graph| graph.name).collect()
    }

    #[test]
    fn each_pattern_has_its_graphs() {
        let mut record = example::record(&["tcp", "mpich", "hawser"]);
        record.curves.push(example::curve("hawser", "rate", &[1, 2]));
        record.curves.push(example::curve("hawser", "bcast", &[1, 2]));
        record.curves.push(example::curve("hawser", "overlap", &[1, 2]));
        record.curves[5].points[0].hidden = Some(0.5);
        let pingpong = ["throughput", "signature", "latency", "ratio"].map(|kind| format!("pingpong-{kind}"));
        let others = ["rate-rate", "bcast-latency", "overlap-hidden"].map(str::to_owned);
        assert_eq!(names(&record), [&pingpong[..], &others[..]].concat());
    }

    #[test]
    fn one_library_alone_has_no_ratio() {
        assert_eq!(names(&example::record(&["tcp", "hawser"])).len(), 3);
    }

    #[test]
    fn patterns_of_like_names_do_not_share_files() {
        let mut record = example::record(&[]);
        record.curves = ["a b", "a/b", "a.b"].map(|pattern| example::curve("hawser", pattern, &[1])).to_vec();
        assert_eq!(names(&record), ["a-b-latency", "a-b-latency-2", "a-b-latency-3"]);
    }

    #[test]
    fn size_zero_is_in_latency_and_not_in_throughput() {
        let mut record = example::record(&[]);
        record.curves = vec![example::curve("hawser", "pingpong", &[0, 1, 2])];
        let dots: Vec<usize> = all(&record).iter().map(|graph| graph.lines[0].dots.len()).collect();
        assert_eq!(dots, [2, 2, 3]);
    }
}
