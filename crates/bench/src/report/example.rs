//! Records for the tests of reports: plausible curves, no measurement.
//!
//! It must not be in the program. Before it: nothing; after it: the tests of the files beside it.

use crate::record::{Curve, FORMAT, Floor, Machine, Point, Record};

/// 1 byte to 1 MiB in powers of two.
pub fn sizes() -> Vec<u64> {
    (0..=20).map(|power| 1 << power).collect()
}

/// A ping-pong of 2 ranks of each of these systems.
pub fn record(systems: &[&str]) -> Record {
    let curves = systems.iter().map(|system| curve(system, "pingpong", &sizes())).collect();
    let machine = Machine {
        host: "box".to_owned(),
        processor: "Some CPU, 3 GHz".to_owned(),
        cores: 8,
        memory_bytes: 16 << 30,
        kernel: "Linux 6.1".to_owned(),
        between: "this machine's memory".to_owned(),
    };
    Record {
        format: FORMAT,
        command: "hawser-bench run --with mpich".to_owned(),
        date: "2026-11-24T11:00:00Z".to_owned(),
        machine,
        complete: true,
        thresholds: Default::default(),
        notes: Vec::new(),
        curves,
    }
}

/// `tcp`, `memcpy` and `packet` are raw layers, all others libraries; each system has figures of its own.
pub fn curve(system: &str, pattern: &str, sizes: &[u64]) -> Curve {
    let raw = matches!(system, "tcp" | "memcpy" | "packet");
    let own = 1.0 + system.bytes().map(f64::from).sum::<f64>() % 97.0 / 97.0;
    let latency_us = if raw { 0.2 } else { 0.4 } * own;
    let points = sizes.iter().map(|&bytes| point(bytes, latency_us + bytes as f64 * own / 6000.0)).collect();
    let floor = if raw { Floor::Raw } else { Floor::Library };
    let (system, pattern) = (system.to_owned(), pattern.to_owned());
    Curve { system, floor, version: "1.2".to_owned(), pattern, ranks: 2, points }
}

/// Every eighth power of two is noisy.
pub fn point(bytes: u64, median_us: f64) -> Point {
    Point {
        bytes,
        min_us: median_us * 0.9,
        median_us,
        spread: 0.05,
        cpu_us: Some(median_us * 2.0),
        hidden: None,
        count: 1000,
        rounds: 9,
        noisy: bytes.trailing_zeros() % 8 == 7,
    }
}

/// A folder of one test's own, taken away with it.
pub struct Scratch(std::path::PathBuf);

impl Scratch {
    pub fn path(&self) -> &std::path::Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn scratch() -> Scratch {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("hawser-report-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&path).expect("a folder for a test");
    Scratch(path)
}
