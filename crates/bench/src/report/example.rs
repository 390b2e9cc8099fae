//! Records for the tests of reports: plausible curves, no measurement.
//!
//! It must not be in the program. Used by the tests of the files beside it.

use crate::record::{BenchmarkRecord, Curve, CurveLevel, MachineInfo, Point, fixtures};

/// The sizes from 1 byte to 1 MiB in powers of two.
pub fn sizes() -> Vec<u64> {
    (0..=20).map(|power| 1 << power).collect()
}

/// A record with a ping-pong of 2 ranks of each of these systems.
pub fn record(systems: &[&str]) -> BenchmarkRecord {
    let curves = systems.iter().map(|system| curve(system, "pingpong", &sizes())).collect();
    let machine = MachineInfo {
        host: "box".to_owned(),
        processor: "Some CPU, 3 GHz".to_owned(),
        cores: 8,
        memory_bytes: 16 << 30,
        kernel: "Linux 6.1".to_owned(),
        between: "this machine's memory".to_owned(),
    };
    let (command, date) = ("hawser-bench run --with mpich".to_owned(), "2026-11-24T11:00:00Z".to_owned());
    BenchmarkRecord { command, date, machine, ..fixtures::record(curves) }
}

/// A curve. `tcp`, `memcpy` and `packet` are raw layers, all others libraries; each system has figures of its own.
pub fn curve(system: &str, pattern: &str, sizes: &[u64]) -> Curve {
    let raw = matches!(system, "tcp" | "memcpy" | "packet");
    let own = 1.0 + system.bytes().map(f64::from).sum::<f64>() % 97.0 / 97.0;
    let latency_us = if raw { 0.2 } else { 0.4 } * own;
    let points = sizes.iter().map(|&bytes| point(bytes, latency_us + bytes as f64 * own / 6000.0)).collect();
    let level = if raw { CurveLevel::Raw } else { CurveLevel::Library };
    Curve { floor: level, pattern: pattern.to_owned(), points, ..fixtures::curve(system, [], |_| 0.0) }
}

/// A point; every eighth power of two is noisy.
pub fn point(bytes: u64, median_us: f64) -> Point {
    Point { noisy: bytes.trailing_zeros() % 8 == 7, ..fixtures::point(bytes, median_us) }
}
