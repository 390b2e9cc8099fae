//! A run: every size of every pattern, all systems in turn within each round, for as many rounds as it takes.
//!
//! It knows neither libraries nor layers. A system that ends is left out from then on and noted; the others go on. Used
//! by `command`; uses `system`, and `record`, in which it leaves the results, also when it is cut off.

use crate::record::{Curve, Point, Record};
use crate::sample::{median, quartiles};
use crate::system::{System, Trouble};
use crate::task::{Pattern, Played, Task};
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A point whose quartiles are further apart than this part of the median is repeated, and flagged if that does not
/// help.
pub const NOISY: f64 = 0.1;

/// The most messages of a checked play: filling and comparing takes longer than sending.
const CHECKED: u64 = 16;
/// A system that fails this often in a row is left out.
const FAILURES_MAX: u32 = 3;
const COUNT_MAX: u64 = 1 << 22;
/// The most plays until a size's time has settled.
const BEGINNINGS_MAX: u32 = 8;
/// The fewest messages of a play. Collective patterns and those of several pairs have no half of a smallest play.
const COUNT_MIN: u64 = 2;

/// The method of measurement.
pub struct Method {
    pub patterns: Vec<Pattern>,
    pub sizes: Vec<u64>,
    pub pairs: usize,
    pub rounds: u32,
    /// The time that one play should take, in seconds: far above the timer's resolution.
    pub play_s: f64,
    pub verify: bool,
}

impl Method {
    /// The sizes of a pattern.
    fn sizes(&self, pattern: Pattern) -> Vec<u64> {
        if pattern == Pattern::Barrier {
            return vec![0];
        }
        self.sizes.iter().copied().filter(|&bytes| pattern.takes(bytes)).collect()
    }

    fn task(&self, pattern: Pattern, bytes: u64, count: u64) -> Task {
        let pairs = if pattern == Pattern::Rate { self.pairs } else { 1 };
        Task { pattern, bytes, count, pairs, check: false }
    }

    /// The number of plays of all systems, as far as it is known before.
    fn plays(&self, systems: &[System]) -> u64 {
        let of_size = |pattern, bytes| systems.iter().filter(|system| system.takes(pattern, bytes)).count() as u64;
        let of_pattern =
            |&pattern: &Pattern| self.sizes(pattern).iter().map(|&bytes| of_size(pattern, bytes)).sum::<u64>();
        self.patterns.iter().map(of_pattern).sum::<u64>() * u64::from(self.rounds + 1)
    }
}

/// One system's share of a point.
struct Part {
    system: usize,
    count: u64,
    plays: Vec<Played>,
}

/// The state of a run; see the module.
struct Run<'a> {
    method: Method,
    systems: Vec<System>,
    record: &'a mut Record,
    progress: ProgressBar,
    stop: &'a AtomicBool,
}

/// Plays all patterns, or until `stop` is set, into the record; `what`, the purpose, is shown in front of the progress
/// bar.
pub fn play(what: &str, method: Method, systems: Vec<System>, record: &mut Record, stop: &AtomicBool) {
    let told = systems.iter().filter(|system| !system.thresholds.is_empty());
    record.thresholds.extend(told.map(|system| (system.name.clone(), system.thresholds.clone())));
    let progress = progress(method.plays(&systems)).with_prefix(what.to_string());
    Run { method, systems, record, progress: progress.clone(), stop }.play();
    progress.finish_and_clear();
}

fn progress(plays: u64) -> ProgressBar {
    let style = "{prefix}{msg:>24} {wide_bar} {percent:>3} %, {eta} left";
    ProgressBar::new(plays).with_style(ProgressStyle::with_template(style).expect("a template that was tried"))
}

impl Run<'_> {
    fn play(&mut self) {
        for pattern in self.method.patterns.clone() {
            let mut us = vec![None; self.systems.len()];
            for bytes in self.method.sizes(pattern) {
                if self.stop.load(Relaxed) {
                    break;
                }
                self.progress.set_message(format!("{} {bytes}", pattern.name()));
                self.point(pattern, bytes, &mut us);
            }
        }
        if self.stop.load(Relaxed) {
            self.record.complete = false;
            self.record.notes.push("it was stopped before its end: points and rounds are missing".into());
        }
    }

    /// Measures a point. `us`: the time of a message of the size before, for each system.
    fn point(&mut self, pattern: Pattern, bytes: u64, us: &mut [Option<f64>]) {
        let mut parts = Vec::new();
        for (system, &us) in us.iter().enumerate() {
            if self.systems[system].takes(pattern, bytes) {
                parts.extend(self.begin(system, pattern, bytes, us));
            }
        }
        self.rounds(pattern, bytes, &mut parts);
        let is_noisy = |part: &Part| spread(&part.times(&self.method, pattern, bytes)) > NOISY;
        if parts.iter().any(is_noisy) {
            self.progress.inc_length(u64::from(self.method.rounds) * parts.len() as u64);
            self.rounds(pattern, bytes, &mut parts);
        }
        for part in parts.iter().filter(|part| !part.plays.is_empty()) {
            let point = part.point(&self.method, pattern, bytes);
            us[part.system] = Some(point.median_us);
            self.keep(part.system, pattern, point);
        }
    }

    /// The number of messages in a play, if each takes this many microseconds.
    fn count(&self, pattern: Pattern, us: f64) -> u64 {
        let messages = self.method.play_s * 1e6 / us.max(1e-3);
        let per_count = self.method.task(pattern, 0, 1).messages().max(1);
        ((messages / per_count as f64) as u64).clamp(COUNT_MIN, COUNT_MAX)
    }

    /// Plays a size for the first times, which are not counted: they warm up and give the number of messages in a
    /// round. `expected`: the time of a message of the size before, in microseconds.
    fn begin(&mut self, system: usize, pattern: Pattern, bytes: u64, expected: Option<f64>) -> Option<Part> {
        let mut count = expected.map_or(COUNT_MIN, |us| self.count(pattern, us));
        if self.method.verify && self.systems[system].carries {
            let task = Task { check: true, ..self.method.task(pattern, bytes, count.min(CHECKED)) };
            self.turn(system, &task)?;
        }
        let mut before = expected;
        for _ in 0..BEGINNINGS_MAX {
            let task = self.method.task(pattern, bytes, count);
            let played = self.turn(system, &task)?;
            let us = played.seconds * 1e6 / task.messages() as f64;
            let wanted = self.count(pattern, us);
            let is_long = wanted == count || played.seconds > self.method.play_s / 4.0;
            // The time of a first use, or of a slice of the scheduler, does not recur.
            let is_settled = before.is_some_and(|before| us < 2.0 * before && before < 2.0 * us);
            // From nothing the count grows until a play is long enough to judge by.
            count = wanted.min(count.saturating_mul(100));
            before = Some(us);
            if is_long && is_settled {
                break;
            }
        }
        self.progress.inc(1);
        Some(Part { system, count, plays: Vec::new() })
    }

    fn rounds(&mut self, pattern: Pattern, bytes: u64, parts: &mut [Part]) {
        for _ in 0..self.method.rounds {
            // Another system begins each round, so that none always pays for being the first.
            parts.rotate_left(parts.len().min(1));
            for part in parts.iter_mut() {
                let task = self.method.task(pattern, bytes, part.count);
                if let Some(played) = self.turn(part.system, &task) {
                    part.plays.push(played);
                }
                self.progress.inc(1);
            }
        }
        parts.sort_by_key(|part| part.system);
    }

    /// Plays a task once; None where it failed, which is noted once.
    fn turn(&mut self, system: usize, task: &Task) -> Option<Played> {
        let system = &mut self.systems[system];
        if system.is_gone() || self.stop.load(Relaxed) {
            return None;
        }
        let trouble = match system.play(task, self.stop) {
            Ok(played) => {
                system.failures = 0;
                return Some(played);
            }
            // The play may still go on: it ends with the process.
            Err(Trouble::Stopped) => return None,
            Err(trouble) => trouble,
        };
        system.failures += 1;
        let mut note = format!("{}, {} of {} bytes: {trouble}", system.name, task.pattern.name(), task.bytes);
        if system.failures == FAILURES_MAX || !matches!(trouble, Trouble::Failed(_)) {
            system.leave_out();
            note += "; it is left out from here on";
        }
        self.record.complete = false;
        self.progress.suspend(|| eprintln!("hawser-bench: {note}"));
        self.record.notes.push(note);
        None
    }

    fn keep(&mut self, system: usize, pattern: Pattern, point: Point) {
        let System { name, floor, version, ranks, .. } = &self.systems[system];
        let ranks = if pattern.is_collective() { *ranks } else { 2 * self.method.task(pattern, 0, 1).pairs };
        let curves = &mut self.record.curves;
        let at = curves.iter().position(|curve| curve.system == *name && curve.pattern == pattern.name());
        let at = at.unwrap_or_else(|| {
            let (system, version, pattern) = (name.clone(), version.clone(), pattern.name().into());
            curves.push(Curve { system, floor: *floor, version, pattern, ranks, points: Vec::new() });
            curves.len() - 1
        });
        curves[at].points.push(point);
    }
}

impl Part {
    /// The microseconds of a message, for each round, sorted.
    fn times(&self, method: &Method, pattern: Pattern, bytes: u64) -> Vec<f64> {
        let messages = method.task(pattern, bytes, self.count).messages() as f64;
        sorted(self.plays.iter().map(|played| played.seconds * 1e6 / messages))
    }

    fn point(&self, method: &Method, pattern: Pattern, bytes: u64) -> Point {
        let times = self.times(method, pattern, bytes);
        let messages = method.task(pattern, bytes, self.count).messages();
        let cpu = sorted(self.plays.iter().map(|played| played.cpu_s * 1e6 / messages as f64));
        let hidden = sorted(self.plays.iter().map(|played| played.hidden));
        Point {
            bytes,
            min_us: times[0],
            median_us: median(&times),
            spread: spread(&times),
            cpu_us: Some(median(&cpu)),
            hidden: (pattern == Pattern::Overlap).then(|| median(&hidden)),
            count: self.count,
            rounds: self.plays.len() as u32,
            noisy: spread(&times) > NOISY,
        }
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The distance from the first to the third quartile, over the median, of sorted times.
fn spread(times: &[f64]) -> f64 {
    if times.is_empty() {
        return 0.0;
    }
    let (first, third) = quartiles(times);
    (third - first) / median(times).max(f64::MIN_POSITIVE)
}
