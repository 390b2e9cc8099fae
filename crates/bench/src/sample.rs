//! Repetitions of one figure, their median and quartiles, and the cores on which they run.

use std::env;
use std::time::Instant;

/// The cores of the ranks, one core for each rank: those listed in HAWSER_BENCH_CORES or, if it is not set, all that
/// this process may use.
pub fn cores() -> Vec<usize> {
    env::var("HAWSER_BENCH_CORES").map_or_else(
        |_| hawser_os::cpus::allowed().unwrap_or_default(),
        |listed| listed.split(',').filter_map(|core| core.parse().ok()).collect(),
    )
}

/// Times `f`, which does `count` operations, `repetitions` times. Returns the microseconds of one operation in each
/// repetition, sorted.
pub fn times(repetitions: usize, count: usize, mut f: impl FnMut()) -> Vec<f64> {
    let mut samples: Vec<f64> = (0..repetitions)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_secs_f64() * 1e6 / count as f64
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    samples
}

/// Pins the calling thread to the `i`-th of the allowed cores, if there is one.
pub fn pin(cores: &[usize], i: usize) {
    if let Some(&core) = cores.get(i) {
        let _ = hawser_os::cpus::bind(&[core]);
    }
}

/// The median of sorted values, at least one.
pub fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) { (sorted[middle - 1] + sorted[middle]) / 2.0 } else { sorted[middle] }
}

/// The first and the third quartile of sorted values, at least one: the medians of both halves.
pub fn quartiles(sorted: &[f64]) -> (f64, f64) {
    if sorted.len() == 1 {
        return (sorted[0], sorted[0]);
    }
    let half = sorted.len() / 2;
    (median(&sorted[..half]), median(&sorted[sorted.len() - half..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_quartiles_of_odd_even_and_single() {
        assert_eq!((median(&[1.0, 2.0, 9.0]), quartiles(&[1.0, 2.0, 9.0])), (2.0, (1.0, 9.0)));
        assert_eq!((median(&[1.0, 3.0]), quartiles(&[1.0, 3.0])), (2.0, (1.0, 3.0)));
        assert_eq!(quartiles(&[1.0, 2.0, 3.0, 4.0, 5.0]), (1.5, 4.5));
        assert_eq!((median(&[7.0]), quartiles(&[7.0])), (7.0, (7.0, 7.0)));
    }
}
