//! The graphs of a report and their contents: every curve with its colour and its points, without a pixel.
//!
//! It must not draw. Tests compare what was drawn with these graphs. Used by `chart`, `page`, `write`; uses `group`,
//! `palette`.

use crate::record::{Curve, Floor, Point, Record};

use super::axis::Scale;
use super::group::{self, Group, OURS};
use super::palette::{Palette, Rgb};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Throughput,
    /// NetPIPE's signature: throughput over time.
    Signature,
    Latency,
    /// The time over that of the best other library.
    Ratio,
    Hidden,
    Rate,
}

pub struct Graph {
    /// The name of its files, without the ending.
    pub name: String,
    pub title: String,
    pub pattern: String,
    pub ranks: usize,
    pub kind: Kind,
    /// The lines in the order in which they are drawn and named.
    pub lines: Vec<Line>,
}

/// A curve as it is drawn in one graph.
pub struct Line {
    pub system: String,
    pub floor: Floor,
    pub colour: Rgb,
    /// The points; never empty.
    pub dots: Vec<Dot>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    pub x: f64,
    pub y: f64,
    pub noisy: bool,
}

impl Kind {
    fn of_pattern(pattern: &str) -> &'static [Kind] {
        match pattern {
            "overlap" => &[Kind::Hidden],
            "rate" => &[Kind::Rate],
            _ if group::is_point_to_point(pattern) => &[Kind::Throughput, Kind::Signature, Kind::Latency, Kind::Ratio],
            _ => &[Kind::Latency],
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Kind::Throughput => "throughput",
            Kind::Signature => "signature",
            Kind::Latency => "latency",
            Kind::Ratio => "ratio",
            Kind::Hidden => "hidden",
            Kind::Rate => "rate",
        }
    }

    /// The labels of the axes, below and at the left.
    pub fn axes(self) -> (&'static str, &'static str) {
        const SIZE: &str = "message, bytes";
        match self {
            Kind::Throughput => (SIZE, "MB/s"),
            Kind::Signature => ("time of a message, us", "MB/s"),
            Kind::Latency => (SIZE, "median time, us"),
            Kind::Ratio => (SIZE, "time / best other library's"),
            Kind::Hidden => (SIZE, "hidden part of the transfer, %"),
            Kind::Rate => (SIZE, "messages / s"),
        }
    }

    fn heading(self) -> &'static str {
        match self {
            Kind::Throughput => "throughput",
            Kind::Signature => "signature",
            Kind::Latency => "latency",
            Kind::Ratio => "time over the best other library's",
            Kind::Hidden => "part that a computation hides",
            Kind::Rate => "message rate",
        }
    }
}

impl Graph {
    /// The scales of both axes. A ratio is read best on a linear one, unless a system is many times slower.
    pub fn scales(&self) -> (Scale, Scale) {
        let far = self.lines.iter().flat_map(|line| &line.dots).any(|dot| dot.y > 8.0);
        match self.kind {
            Kind::Signature => (Scale::Log, Scale::Linear),
            Kind::Hidden => (Scale::Bytes, Scale::Linear),
            Kind::Ratio if !far => (Scale::Bytes, Scale::Linear),
            _ => (Scale::Bytes, Scale::Log),
        }
    }
}

/// The graphs of one group; an empty graph is left out.
pub fn of_group(group: &Group, palette: &Palette) -> Vec<Graph> {
    let graph = |kind: &Kind| Graph {
        name: format!("{}-{}", group.name(), kind.name()),
        title: format!("{}: {}", group.title(), kind.heading()),
        pattern: group.pattern.to_owned(),
        ranks: group.ranks,
        kind: *kind,
        lines: lines(group, *kind, palette),
    };
    Kind::of_pattern(group.pattern).iter().map(graph).filter(|graph| !graph.lines.is_empty()).collect()
}

/// All graphs, in the order of the groups, each with a name of its own.
pub fn all(record: &Record) -> Vec<Graph> {
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

fn lines(group: &Group, kind: Kind, palette: &Palette) -> Vec<Line> {
    let line = |curve: &&Curve| {
        let dots: Vec<Dot> = curve.points.iter().filter_map(|point| dot(group, kind, curve, point)).collect();
        let (system, colour) = (curve.system.clone(), palette.colour(&curve.system));
        (!dots.is_empty()).then_some(Line { system, floor: curve.floor, colour, dots })
    };
    let mut lines: Vec<Line> = group.curves.iter().filter_map(line).collect();
    // The line that is drawn last lies on top.
    lines.sort_by_key(|line| line.system == OURS);
    lines
}

/// The place of a point; None if it has no such figure: no bytes have no throughput.
fn dot(group: &Group, kind: Kind, curve: &Curve, point: &Point) -> Option<Dot> {
    let bytes = point.bytes as f64;
    let (x, y) = match kind {
        Kind::Throughput | Kind::Signature if point.bytes == 0 => return None,
        Kind::Throughput => (bytes, point.mbyte_s()),
        Kind::Signature => (point.median_us, point.mbyte_s()),
        Kind::Latency => (bytes, point.median_us),
        Kind::Ratio => (bytes, group.over_best_other(curve, point.bytes)?),
        Kind::Hidden => (bytes, point.hidden? * 100.0),
        Kind::Rate => (bytes, 1e6 / point.median_us),
    };
    Some(Dot { x, y, noisy: point.noisy })
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    fn names(record: &Record) -> Vec<String> {
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
