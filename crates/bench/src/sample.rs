//! Repetitions of one figure, and their line in the table.

use std::time::Instant;

/// Times `f`, which does `count` of something, `repetitions` times; microseconds for one.
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

/// Prints the best and the median of sorted samples.
pub fn show(name: &str, samples: &[f64]) {
    println!("{name:>10} {:12.4} {:12.4}", samples[0], samples[samples.len() / 2]);
}

/// Pins the calling thread to the `i`-th core of those allowed, if there is one.
pub fn pin(cores: &[usize], i: usize) {
    if let Some(&core) = cores.get(i) {
        let _ = hawser_os::cpus::bind(&[core]);
    }
}
