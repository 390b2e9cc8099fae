//! The curves that belong together: those of one pattern on one number of ranks, which share graphs and tables.
//!
//! It must not draw or print. Used by `graph`, `grid`, `page`, `palette`, `table`; uses the record.

use crate::record::{self, BenchmarkRecord, Curve, CurveLevel, Point};

/// The system whose figures the tables compare with the others'.
pub const OURS: &str = "hawser";
/// The maximum number of letters of a pattern in the names of its files: file systems take names of at most 255.
const LONGEST_NAME: usize = 60;
/// The name of a pattern without a name.
const UNNAMED: &str = "unnamed";

pub struct CurveGroup<'a> {
    pub pattern: &'a str,
    pub ranks: usize,
    /// Whether the number of ranks is part of the group's name, because the pattern was measured on several numbers
    /// of ranks.
    by_ranks: bool,
    /// The curves: raw layers first, then layers, then libraries; ours before others.
    pub curves: Vec<&'a Curve>,
}

/// Returns all groups in the order of their first curves; the groups of a pattern are together.
pub fn all(record: &BenchmarkRecord) -> Vec<CurveGroup<'_>> {
    let mut groups = Vec::new();
    for pattern in record.patterns() {
        let mut ranks: Vec<usize> = record.curves_of(pattern).map(|curve| curve.ranks).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let by_ranks = ranks.len() > 1;
        for ranks in ranks {
            let mut curves: Vec<&Curve> = record.curves_of(pattern).filter(|curve| curve.ranks == ranks).collect();
            curves.sort_by_key(|curve| (curve.floor, curve.system != OURS));
            groups.push(CurveGroup { pattern, ranks, by_ranks, curves });
        }
    }
    groups
}

impl CurveGroup<'_> {
    /// The title, for people.
    pub fn title(&self) -> String {
        let pattern = if self.pattern.is_empty() { UNNAMED } else { self.pattern };
        format!("{pattern}, {}", record::ranks(self.ranks))
    }

    /// The name for files. It has only letters, digits and `-`, because a pattern's name may come from another user's
    /// file.
    pub fn name(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let mut name: String = self.pattern.chars().map(plain).take(LONGEST_NAME).collect();
        if name.is_empty() {
            name.push_str(UNNAMED);
        }
        if self.by_ranks && self.ranks > 0 { format!("{name}-{}", self.ranks) } else { name }
    }

    /// Every size that any curve has, ascending.
    pub fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.curves.iter().flat_map(|curve| &curve.points).map(|point| point.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Returns a library's median time divided by that of the best other library at this size; None if the curve or
    /// every other library has no point of this size, or if the curve is not that of a library.
    pub fn ratio_to_best_other(&self, curve: &Curve, bytes: u64) -> Option<f64> {
        let own = point_at(curve, bytes)?.median_us;
        let others =
            self.curves.iter().filter(|other| other.floor == CurveLevel::Library && other.system != curve.system);
        let best =
            others.filter_map(|other| point_at(other, bytes)).map(|point| point.median_us).min_by(f64::total_cmp)?;
        (curve.floor == CurveLevel::Library).then_some(own / best)
    }
}

/// Returns the curve's point of this size.
pub fn point_at(curve: &Curve, bytes: u64) -> Option<&Point> {
    curve.points.iter().find(|point| point.bytes == bytes)
}

/// Whether one message goes from one rank to another, or one in each direction, so that payload over time is a
/// throughput (of one direction). `pingping` and `bistream` are patterns of IMB and OSU.
pub fn is_point_to_point(pattern: &str) -> bool {
    matches!(pattern, "pingpong" | "posted" | "stream" | "bidirectional" | "pingping" | "bistream")
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn groups_are_of_one_pattern_and_one_number_of_ranks() {
        let mut record = example::record(&["tcp", "mpich", "hawser"]);
        let mut curve = example::curve("hawser", "../bcast", &[1, 2]);
        record.curves.push(curve.clone());
        curve.ranks = 16;
        record.curves.push(curve);
        let groups = all(&record);
        let names: Vec<String> = groups.iter().map(CurveGroup::name).collect();
        assert_eq!(names, ["pingpong", "---bcast-2", "---bcast-16"]);
        let systems: Vec<&str> = groups[0].curves.iter().map(|curve| curve.system.as_str()).collect();
        assert_eq!(systems, ["tcp", "hawser", "mpich"]);
        assert_eq!(groups[2].title(), "../bcast, 16 ranks");
    }

    #[test]
    fn names_of_files_are_short_and_never_empty_and_ranks_may_be_unknown() {
        let mut record = example::record(&[]);
        record.curves = ["", &"x".repeat(300)].map(|pattern| example::curve("hawser", pattern, &[1])).to_vec();
        record.curves.push(crate::record::Curve { ranks: 0, ..record.curves[0].clone() });
        let groups = all(&record);
        let names: Vec<String> = groups.iter().map(CurveGroup::name).collect();
        assert_eq!(names, ["unnamed".to_owned(), "unnamed-2".to_owned(), "x".repeat(60)]);
        assert_eq!(groups[0].title(), "unnamed, unknown number of ranks");
    }

    #[test]
    fn ratio_is_of_libraries_alone_and_of_equal_sizes() {
        let record = example::record(&["tcp", "mpich", "hawser"]);
        let groups = all(&record);
        let [tcp, ours, mpich] = groups[0].curves[..] else { panic!("three curves") };
        let want = point_at(ours, 64).unwrap().median_us / point_at(mpich, 64).unwrap().median_us;
        assert_eq!(groups[0].ratio_to_best_other(ours, 64), Some(want));
        assert_eq!(groups[0].ratio_to_best_other(tcp, 64), None);
        assert_eq!(groups[0].ratio_to_best_other(ours, 63), None);
    }
}
