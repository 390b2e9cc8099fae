//! Finds the best value of a parameter, from curves that were measured in one run.
//!
//! Nothing is measured here. A value must be better than the default by more than the noise, and nowhere much worse:
//! a profile is not written for one lucky size. Used by `tune`; uses the record.

use super::params::ThresholdSide;
use crate::record::{BenchmarkRecord, Curve, Point};

/// The minimum gain over all sizes that is not taken for noise (the rounds of one system in one run differ by 2 to 5
/// %).
pub const GAIN_MIN: f64 = 1.03;
/// The maximum time of a size as a multiple of the default's.
pub const LOSS_MAX: f64 = 1.10;

/// The times of one size of a pattern, with a value and with the default.
#[derive(Clone, Debug, PartialEq)]
pub struct PointPair {
    pub pattern: String,
    pub bytes: u64,
    pub us: f64,
    pub default_us: f64,
}

impl PointPair {
    /// Whether the size and the pattern are the same.
    pub fn is_same_point(&self, other: &PointPair) -> bool {
        self.bytes == other.bytes && self.pattern == other.pattern
    }

    /// The time as a multiple of the default's.
    pub fn ratio(&self) -> f64 {
        self.us / self.default_us
    }
}

/// The comparison of a value with the default, at every size that both have and at which neither was noisy.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub pairs: Vec<PointPair>,
}

impl Comparison {
    /// Compares two systems of a record.
    pub fn of(record: &BenchmarkRecord, system: &str, default: &str) -> Comparison {
        let both = |pattern: &str| Some((record.curve(system, pattern)?, record.curve(default, pattern)?));
        let both = record.patterns().into_iter().filter_map(both);
        let is_sure = |(point, default): &(Point, Point)| !point.noisy && !default.noisy;
        let pair = |pattern: &str, (point, default): (Point, Point)| PointPair {
            pattern: pattern.into(),
            bytes: point.bytes,
            us: point.median_us,
            default_us: default.median_us,
        };
        let of_curves = |(curve, other): (&Curve, &Curve)| -> Vec<PointPair> {
            curve.common_points(other).filter(is_sure).map(|points| pair(&curve.pattern, points)).collect()
        };
        let pairs = both.flat_map(of_curves);
        let pairs = pairs.collect();
        Comparison { pairs }
    }

    /// The speed as a multiple of the default's, the geometric mean over all sizes.
    pub fn gain(&self) -> f64 {
        let sum: f64 = self.pairs.iter().map(|pair| pair.ratio().ln()).sum();
        (-sum / self.pairs.len().max(1) as f64).exp()
    }

    /// The size at which the value loses most, or gains least.
    pub fn worst(&self) -> Option<&PointPair> {
        self.pairs.iter().max_by(|a, b| a.ratio().total_cmp(&b.ratio()))
    }

    /// The size at which the value gains most.
    pub fn best(&self) -> Option<&PointPair> {
        self.pairs.iter().min_by(|a, b| a.ratio().total_cmp(&b.ratio()))
    }

    /// Whether a profile should have the value.
    pub fn is_better(&self) -> bool {
        self.gain() >= GAIN_MIN && self.worst().is_some_and(|pair| pair.ratio() <= LOSS_MAX)
    }

    /// Whether the values of a profile, which were found better one by one, may stay in it together.
    pub fn is_no_worse(&self) -> bool {
        self.gain() >= 1.0 && self.worst().is_some_and(|pair| pair.ratio() <= LOSS_MAX)
    }

    /// Whether a profile that has the value should lose it.
    pub fn is_worse(&self) -> bool {
        self.gain() <= 1.0 / GAIN_MIN
    }
}

/// Returns the value of a threshold with which all sizes together take least: shorter messages use the method of
/// `short`, longer ones that of `long`. None if one method is best for all.
pub fn crossover(record: &BenchmarkRecord, short: &str, long: &str, bound: ThresholdSide) -> Option<u64> {
    let both = Comparison::of(record, long, short).pairs;
    let mut sizes: Vec<u64> = both.iter().map(|pair| pair.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    // The cost of using the long method from this size on: the logarithm of the product of all times, less the same
    // with the short method at all sizes.
    let cost = |from: usize| -> f64 {
        let is_long = |pair: &&PointPair| sizes.get(from).is_some_and(|&first| pair.bytes >= first);
        both.iter().filter(is_long).map(|pair| pair.ratio().ln()).sum()
    };
    let best = (0..=sizes.len()).min_by(|&a, &b| cost(a).total_cmp(&cost(b)))?;
    if best == 0 || best == sizes.len() {
        return None;
    }
    Some(match bound {
        ThresholdSide::LongestShort => sizes[best - 1],
        ThresholdSide::ShortestLong => sizes[best],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixtures::{self, record};

    fn curve(system: &str, us: impl Fn(f64) -> f64) -> Curve {
        fixtures::curve(system, (10..20).map(|power| 1 << power), us)
    }

    #[test]
    fn two_ways_cross_where_their_times_do() {
        let record = record(vec![curve("short", |n| n * 2e-3), curve("long", |n| 20.0 + n * 1e-3)]);
        // 20 + n / 1000 = n / 500 at 20000.
        assert_eq!(crossover(&record, "short", "long", ThresholdSide::ShortestLong), Some(32 << 10));
        assert_eq!(crossover(&record, "short", "long", ThresholdSide::LongestShort), Some(16 << 10));
        assert_eq!(crossover(&record, "short", "short", ThresholdSide::LongestShort), None);
    }

    #[test]
    fn a_way_that_is_best_for_all_leaves_no_crossing() {
        let record =
            record(vec![curve("short", |n| n * 2e-3), curve("long", |n| n * 1e-3), curve("slow", |n| n * 4e-3)]);
        assert_eq!(crossover(&record, "short", "long", ThresholdSide::ShortestLong), None);
        assert_eq!(crossover(&record, "short", "slow", ThresholdSide::ShortestLong), None);
    }

    #[test]
    fn a_point_that_is_noisy_says_nothing() {
        let mut record =
            record(vec![curve("default", |n| n), curve("other", |n| n * if n == 65536.0 { 3.0 } else { 0.9 })]);
        assert!(!Comparison::of(&record, "other", "default").is_no_worse());
        let point = record.curves[0].points.iter_mut().find(|point| point.bytes == 65536).unwrap();
        point.noisy = true;
        let without = Comparison::of(&record, "other", "default");
        assert!(without.is_better() && without.is_no_worse() && without.pairs.len() == 9);
        assert!(!Comparison { pairs: Vec::new() }.is_no_worse());
    }

    #[test]
    fn a_value_is_taken_for_a_gain_and_not_for_noise_or_at_a_loss_elsewhere() {
        let at_64k = |n: f64, times: f64, else_times: f64| n * if n == 65536.0 { times } else { else_times };
        let curves = vec![
            curve("default", |n| n),
            curve("better", |n| n * 0.9),
            curve("noise", |n| n * 0.98),
            curve("mixed", move |n| at_64k(n, 1.5, 0.8)),
            curve("worse", move |n| at_64k(n, 3.0, 1.0)),
        ];
        let record = record(curves);
        let of = |system| Comparison::of(&record, system, "default");
        assert_eq!(
            ["better", "noise", "mixed", "worse"].map(|system| of(system).is_better()),
            [true, false, false, false]
        );
        assert_eq!(["better", "noise", "worse"].map(|system| of(system).is_worse()), [false, false, true]);
        assert_eq!(of("mixed").worst().map(|pair| pair.bytes), Some(65536));
        assert!((of("better").gain() - 1.0 / 0.9).abs() < 1e-9);
    }
}
