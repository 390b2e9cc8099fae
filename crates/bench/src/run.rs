//! A run measures every size of every pattern. In each round all systems run the task in turn; the rounds are
//! repeated once if they differ too much.
//!
//! It knows neither libraries nor layers. A system that ends is left out from then on and noted; the others go on.
//! Used by `command` and `tune`; uses `measured_system`, and `record`, in which it leaves the results, also when it
//! is cut off.

use crate::measured_system::{MeasuredSystem, SystemError};
use crate::record::{BenchmarkRecord, Curve, Point, ReceivedBytesRecord};
use crate::sample::{median, quartiles};
use crate::task::{Measurement, TrafficPattern, WorkerTask};
use hawser_node::ReceivedBytes;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A point is repeated if its quartiles are further apart than this fraction of the median, and flagged if that does
/// not help.
pub const NOISY: f64 = 0.1;

/// The maximum number of messages of a checked task: filling and comparing takes longer than sending.
const CHECKED_MAX: u64 = 16;
/// A system is left out after this number of failed tasks in a row; one that ends or sends no reply in time, at once.
const FAILURES_MAX: u32 = 3;
const COUNT_MAX: u64 = 1 << 22;
/// The maximum number of tasks that warm up for a size. There are fewer if the time of a message settles earlier.
const WARMUPS_MAX: u32 = 8;
/// The minimum `count` of a task, also if it then takes longer than `task_s`.
const COUNT_MIN: u64 = 2;

/// The configuration of the measurements.
pub struct MeasurementConfig {
    pub patterns: Vec<TrafficPattern>,
    pub sizes: Vec<u64>,
    pub pairs: usize,
    pub rounds: u32,
    /// The time that one task should take, in seconds: far above the timer's resolution.
    pub task_s: f64,
    pub verify: bool,
}

impl MeasurementConfig {
    /// The sizes of a pattern.
    fn sizes(&self, pattern: TrafficPattern) -> Vec<u64> {
        if pattern == TrafficPattern::Barrier {
            return vec![0];
        }
        self.sizes.iter().copied().filter(|&bytes| pattern.accepts(bytes)).collect()
    }

    fn task(&self, pattern: TrafficPattern, bytes: u64, count: u64) -> WorkerTask {
        let pairs = if pattern == TrafficPattern::Rate { self.pairs } else { 1 };
        WorkerTask { pattern, bytes, count, pairs, check: false }
    }

    /// The number of tasks of all systems, as far as it is known before the run.
    fn task_count(&self, systems: &[MeasuredSystem]) -> u64 {
        let of_size = |pattern, bytes| systems.iter().filter(|system| system.accepts(pattern, bytes)).count() as u64;
        let of_pattern =
            |&pattern: &TrafficPattern| self.sizes(pattern).iter().map(|&bytes| of_size(pattern, bytes)).sum::<u64>();
        self.patterns.iter().map(of_pattern).sum::<u64>() * u64::from(self.rounds + 1)
    }
}

/// The measurements of one system for a point.
struct SystemShare {
    system: usize,
    count: u64,
    measurements: Vec<Measurement>,
}

/// The state of a run; see the module.
struct BenchmarkRun<'a> {
    config: MeasurementConfig,
    systems: Vec<MeasuredSystem>,
    /// The bytes that each system has received in the present pattern, warm-up tasks included.
    received: Vec<ReceivedBytes>,
    record: &'a mut BenchmarkRecord,
    progress: ProgressBar,
    stop: &'a AtomicBool,
}

/// Measures all patterns, or until `stop` is set, and puts the points into the record; `purpose` is shown in front
/// of the progress bar.
pub fn measure(
    purpose: &str,
    config: MeasurementConfig,
    systems: Vec<MeasuredSystem>,
    record: &mut BenchmarkRecord,
    stop: &AtomicBool,
) {
    let with_thresholds = systems.iter().filter(|system| !system.thresholds.is_empty());
    record.thresholds.extend(with_thresholds.map(|system| (system.name.clone(), system.thresholds.clone())));
    let progress = progress(config.task_count(&systems)).with_prefix(purpose.to_string());
    BenchmarkRun { config, systems, received: Vec::new(), record, progress: progress.clone(), stop }.run();
    progress.finish_and_clear();
}

/// Returns the progress bar of so many tasks, or jobs.
pub fn progress(tasks: u64) -> ProgressBar {
    let style = "{prefix}{msg:>24} {wide_bar} {percent:>3} %, {eta} left";
    ProgressBar::new(tasks).with_style(ProgressStyle::with_template(style).expect("a template that was tried"))
}

impl BenchmarkRun<'_> {
    fn run(&mut self) {
        for pattern in self.config.patterns.clone() {
            let mut us = vec![None; self.systems.len()];
            self.received = vec![ReceivedBytes::default(); self.systems.len()];
            for bytes in self.config.sizes(pattern) {
                if self.stop.load(Relaxed) {
                    break;
                }
                self.progress.set_message(format!("{} {bytes}", pattern.name()));
                self.measure_point(pattern, bytes, &mut us);
            }
            self.record_received(pattern);
        }
        if self.stop.load(Relaxed) {
            self.record.complete = false;
            self.record.notes.push("the run was stopped before its end: points and rounds are missing".into());
        }
    }

    /// Measures a point. `us` has the time of a message of the size before, in microseconds, for each system, and
    /// gets that of this size.
    fn measure_point(&mut self, pattern: TrafficPattern, bytes: u64, us: &mut [Option<f64>]) {
        let mut shares = Vec::new();
        for (system, &us) in us.iter().enumerate() {
            if self.systems[system].accepts(pattern, bytes) {
                shares.extend(self.warm_up(system, pattern, bytes, us));
            }
        }
        self.run_rounds(pattern, bytes, &mut shares);
        let is_noisy = |share: &SystemShare| spread(&share.times(&self.config, pattern, bytes)) > NOISY;
        if shares.iter().any(is_noisy) {
            self.progress.inc_length(u64::from(self.config.rounds) * shares.len() as u64);
            self.run_rounds(pattern, bytes, &mut shares);
        }
        for share in shares.iter().filter(|share| !share.measurements.is_empty()) {
            let point = share.point(&self.config, pattern, bytes);
            us[share.system] = Some(point.median_us);
            self.record_point(share.system, pattern, point);
        }
    }

    /// The `count` of a task that takes about `task_s`, if each of its messages takes `us` microseconds.
    fn count(&self, pattern: TrafficPattern, us: f64) -> u64 {
        let messages = self.config.task_s * 1e6 / us.max(1e-3);
        let per_count = self.config.task(pattern, 0, 1).messages().max(1);
        ((messages / per_count as f64) as u64).clamp(COUNT_MIN, COUNT_MAX)
    }

    /// Runs the first tasks of a size, which are not counted: they warm up and give the number of messages in a
    /// round. `expected` is the time of a message of the size before, in microseconds. None if a task was not done.
    fn warm_up(
        &mut self,
        system: usize,
        pattern: TrafficPattern,
        bytes: u64,
        expected: Option<f64>,
    ) -> Option<SystemShare> {
        let mut count = expected.map_or(COUNT_MIN, |us| self.count(pattern, us));
        if self.config.verify && self.systems[system].has_payload {
            let task = WorkerTask { check: true, ..self.config.task(pattern, bytes, count.min(CHECKED_MAX)) };
            self.measure_once(system, &task)?;
        }
        let mut before = expected;
        for _ in 0..WARMUPS_MAX {
            let task = self.config.task(pattern, bytes, count);
            let measurement = self.measure_once(system, &task)?;
            let us = measurement.seconds * 1e6 / task.messages() as f64;
            let wanted = self.count(pattern, us);
            let is_long = wanted == count || measurement.seconds > self.config.task_s / 4.0;
            // A time that contains a first use, or a time slice of the scheduler, does not recur.
            let is_settled = before.is_some_and(|before| us < 2.0 * before && before < 2.0 * us);
            // The count grows by at most a factor of 100 until a task is long enough to judge by.
            count = wanted.min(count.saturating_mul(100));
            before = Some(us);
            if is_long && is_settled {
                break;
            }
        }
        self.progress.inc(1);
        Some(SystemShare { system, count, measurements: Vec::new() })
    }

    fn run_rounds(&mut self, pattern: TrafficPattern, bytes: u64, shares: &mut [SystemShare]) {
        for _ in 0..self.config.rounds {
            // Each round begins with another system, so that no system always pays for being the first.
            shares.rotate_left(shares.len().min(1));
            for share in shares.iter_mut() {
                let task = self.config.task(pattern, bytes, share.count);
                if let Some(measurement) = self.measure_once(share.system, &task) {
                    share.measurements.push(measurement);
                }
                self.progress.inc(1);
            }
        }
        shares.sort_by_key(|share| share.system);
    }

    /// Runs a task once; None if it failed, which is noted, if the system has ended, or if the run was stopped.
    fn measure_once(&mut self, system: usize, task: &WorkerTask) -> Option<Measurement> {
        let (system, received) = (&mut self.systems[system], &mut self.received[system]);
        if system.has_ended() || self.stop.load(Relaxed) {
            return None;
        }
        let error = match system.run_task(task, self.stop) {
            Ok(measurement) => {
                system.failures = 0;
                received.all += measurement.received.all;
                received.posted += measurement.received.posted;
                received.direct += measurement.received.direct;
                return Some(measurement);
            }
            // The task may still go on: it ends with the process.
            Err(SystemError::Stopped) => return None,
            Err(error) => error,
        };
        system.failures += 1;
        let mut note = format!("{}, {} of {} bytes: {error}", system.name, task.pattern.name(), task.bytes);
        if system.failures == FAILURES_MAX || !matches!(error, SystemError::Failed(_)) {
            system.exclude();
            note += "; it is left out from here on";
        }
        self.record.complete = false;
        self.progress.suspend(|| eprintln!("hawser-bench: {note}"));
        self.record.notes.push(note);
        None
    }

    fn record_point(&mut self, system: usize, pattern: TrafficPattern, point: Point) {
        let MeasuredSystem { name, level, version, ranks, .. } = &self.systems[system];
        let ranks = if pattern.is_collective() { *ranks } else { 2 * self.config.task(pattern, 0, 1).pairs };
        let curves = &mut self.record.curves;
        let at = curves.iter().position(|curve| curve.system == *name && curve.pattern == pattern.name());
        let at = at.unwrap_or_else(|| {
            let (system, version, pattern) = (name.clone(), version.clone(), pattern.name().into());
            curves.push(Curve { system, floor: *level, version, pattern, ranks, points: Vec::new(), received: None });
            curves.len() - 1
        });
        curves[at].points.push(point);
    }

    /// Records which bytes each system has received in a pattern.
    fn record_received(&mut self, pattern: TrafficPattern) {
        for (system, &ReceivedBytes { all, posted, direct }) in self.systems.iter().zip(&self.received) {
            let is_its = |curve: &&mut Curve| curve.system == system.name && curve.pattern == pattern.name();
            if let (true, Some(curve)) = (all > 0, self.record.curves.iter_mut().find(is_its)) {
                curve.received = Some(ReceivedBytesRecord { all, posted, direct });
            }
        }
    }
}

impl SystemShare {
    /// Returns the microseconds of a message in each round, sorted.
    fn times(&self, config: &MeasurementConfig, pattern: TrafficPattern, bytes: u64) -> Vec<f64> {
        let messages = config.task(pattern, bytes, self.count).messages() as f64;
        sorted(self.measurements.iter().map(|measurement| measurement.seconds * 1e6 / messages))
    }

    fn point(&self, config: &MeasurementConfig, pattern: TrafficPattern, bytes: u64) -> Point {
        let times = self.times(config, pattern, bytes);
        let messages = config.task(pattern, bytes, self.count).messages();
        let cpu = sorted(self.measurements.iter().map(|measurement| measurement.cpu_s * 1e6 / messages as f64));
        let hidden = sorted(self.measurements.iter().map(|measurement| measurement.hidden));
        Point {
            bytes,
            min_us: times[0],
            median_us: median(&times),
            spread: spread(&times),
            cpu_us: Some(median(&cpu)),
            hidden: (pattern == TrafficPattern::Overlap).then(|| median(&hidden)),
            count: self.count,
            rounds: self.measurements.len() as u32,
            noisy: spread(&times) > NOISY,
        }
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The distance from the first to the third quartile of sorted times, divided by the median.
fn spread(times: &[f64]) -> f64 {
    if times.is_empty() {
        return 0.0;
    }
    let (first, third) = quartiles(times);
    (third - first) / median(times).max(f64::MIN_POSITIVE)
}
