//! The findings as sentences for people: the overhead at some sizes, its pieces, and the steps between them.
//!
//! Nothing is computed here but what is printed. Used by `explain`.

use super::fit::{self, LinearPiece, Overhead};
use super::{CurveGap, NOISE_MIN_US};
use crate::record::Point;
use std::fmt::Write;

/// An overhead is significant if it exceeds this multiple of its noise.
const SIGNIFICANCE: f64 = 2.0;
const KIB: f64 = 1024.0;
/// The factor by which a threshold may exceed the size of a message, because it may count a header.
const HEADER_FACTOR: f64 = 1.05;
/// The maximum number of parameters that are named at a step.
const NAMES_MAX: usize = 3;
/// The parts of names of parameters that do not concern messages between two ranks.
const COLLECTIVE: [&str; 7] = ["COLL", "BCAST", "REDUCE", "GATHER", "SCATTER", "ALLTOALL", "BARRIER"];

pub fn paragraph(finding: &CurveGap) -> String {
    let (above, below) = (&finding.pair.above.system, &finding.pair.below.system);
    let mut text = format!("{}: {above} over {below}\n", finding.pair.above.pattern);
    for (a, b) in finding.pair.points.iter().filter(|(a, _)| is_shown(a.bytes)) {
        let _ = writeln!(text, "  {}", size_line(above, below, a, b));
    }
    for piece in &finding.pieces {
        let _ = writeln!(text, "  {}", piece_line(finding, piece));
    }
    for pair in finding.pieces.windows(2) {
        if let Some(line) = step_line(finding, &pair[0], &pair[1]) {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

fn is_shown(bytes: u64) -> bool {
    bytes.is_power_of_two() && bytes.trailing_zeros().is_multiple_of(4)
}

fn size_line(above: &str, below: &str, a: &Point, b: &Point) -> String {
    let percent = 100.0 * b.median_us / a.median_us;
    let (a_us, b_us) = (us(a.median_us), us(b.median_us));
    format!("at {}: {above} delivers {percent:.0} % of {below} ({a_us} us instead of {b_us} us)", size(a.bytes as f64))
}

fn piece_line(finding: &CurveGap, piece: &LinearPiece) -> String {
    let overheads = &finding.overheads[piece.first..=piece.last];
    let (from, to) = (size(overheads[0].bytes), size(overheads[overheads.len() - 1].bytes));
    let range = if from == to { format!("at {from}") } else { format!("from {from} to {to}") };
    let (above, below) = (&finding.pair.above.system, &finding.pair.below.system);
    if !overheads.iter().any(|overhead| piece.at(overhead.bytes).abs() > SIGNIFICANCE * overhead.noise_us) {
        return format!("{range}: no difference above the noise");
    }
    let slope = if piece.per_byte_us == 0.0 {
        String::new()
    } else {
        format!(" and {} us per KiB", us(piece.per_byte_us * KIB))
    };
    format!("{range}: {above} takes {} us{slope} more than {below}", us(piece.per_message_us))
}

/// Returns the text of the step between two pieces, with the better value of a threshold that is there; None if the
/// step is not significant.
fn step_line(finding: &CurveGap, low: &LinearPiece, high: &LinearPiece) -> Option<String> {
    let (last, first) = (&finding.overheads[low.last], &finding.overheads[high.first]);
    let jump = high.at(first.bytes) - low.at(first.bytes);
    if jump.abs() < SIGNIFICANCE * last.noise_us.max(first.noise_us) {
        return None;
    }
    let above = &finding.pair.above.system;
    let verb = if jump > 0.0 { "more" } else { "less" };
    let mut text = format!(
        "between {} and {}: {above} takes {} us {verb} in one step, which {} does not",
        size(last.bytes),
        size(first.bytes),
        us(jump.abs()),
        finding.pair.below.system
    );
    if jump > 0.0 {
        text += &threshold_text(finding, low, high);
    }
    Some(text)
}

/// The text of the threshold at a step: its name, its value, and its better value. It is empty if the threshold is
/// best where it is, or if there is no better value and no parameter lies at the step.
fn threshold_text(finding: &CurveGap, low: &LinearPiece, high: &LinearPiece) -> String {
    let (last, first) = (finding.overheads[low.last].bytes, finding.overheads[high.first].bytes);
    let named = nearby_thresholds(finding, last, first);
    let now = match named.as_slice() {
        [] => format!("between {} and {}", size(last), size(first)),
        [(_, bytes), ..] => {
            let names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
            format!("{} ({})", size(*bytes as f64), names.join(", "))
        }
    };
    match best_threshold(finding, low, high) {
        BestThreshold::FromSize(bytes) => format!("; threshold now {now}, best by both curves {}", size(bytes)),
        // A step that no threshold explains may come from the machine's caches.
        BestThreshold::NoSize if !named.is_empty() => {
            format!("; threshold now {now}, the protocol that begins there is faster at no measured size")
        }
        _ => String::new(),
    }
}

/// The upper system's parameters whose values lie between these sizes, in bytes.
fn nearby_thresholds<'a>(finding: &CurveGap<'a>, last: f64, first: f64) -> Vec<(&'a str, u64)> {
    let is_there = |bytes: u64| bytes as f64 >= last && bytes as f64 <= first * HEADER_FACTOR;
    let is_of_others = |name: &str| COLLECTIVE.iter().any(|part| name.to_uppercase().contains(part));
    let all = finding.thresholds.into_iter().flatten().map(|(name, bytes)| (name.as_str(), *bytes));
    all.filter(|(name, bytes)| is_there(*bytes) && !is_of_others(name)).take(NAMES_MAX).collect()
}

/// The size from which on the method that begins at a step is faster.
enum BestThreshold {
    /// The method is faster from the step on.
    AtStep,
    /// The method is faster from this number of bytes on.
    FromSize(f64),
    NoSize,
}

/// Returns the size at which the lines through the upper system's times, below and above a step, meet, if that is
/// above the step.
fn best_threshold(finding: &CurveGap, low: &LinearPiece, high: &LinearPiece) -> BestThreshold {
    let times = |piece: &LinearPiece| -> Vec<Overhead> {
        let points = finding.pair.points[piece.first..=piece.last].iter();
        let noise = |point: &Point| (point.spread.max(super::ROUGH) * point.median_us).max(NOISE_MIN_US);
        points.map(|(a, _)| Overhead { bytes: a.bytes as f64, us: a.median_us, noise_us: noise(a) }).collect()
    };
    let (low_line, high_line) = (fit::sloped_line(&times(low), low.first), fit::sloped_line(&times(high), high.first));
    let gain = low_line.per_byte_us - high_line.per_byte_us;
    if gain <= 0.0 {
        return BestThreshold::NoSize;
    }
    let bytes = (high_line.per_message_us - low_line.per_message_us) / gain;
    if bytes > finding.overheads[high.first].bytes { BestThreshold::FromSize(bytes) } else { BestThreshold::AtStep }
}

/// Formats microseconds with three significant digits, but with the whole integer part and at most four decimals.
pub fn us(value: f64) -> String {
    let digits = 2 - value.abs().max(1e-3).log10().floor() as i32;
    format!("{value:.*}", digits.clamp(0, 4) as usize)
}

pub fn size(bytes: f64) -> String {
    let scaled = |unit: f64, name: &str| {
        let value = bytes / unit;
        if value.fract() == 0.0 || value >= 100.0 { format!("{value:.0} {name}") } else { format!("{value:.1} {name}") }
    };
    match bytes {
        bytes if bytes >= KIB * KIB => scaled(KIB * KIB, "MiB"),
        bytes if bytes >= 10.0 * KIB || (bytes >= KIB && (bytes / KIB).fract() == 0.0) => scaled(KIB, "KiB"),
        _ => format!("{bytes:.0} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Missing, explain};
    use crate::record::Curve;
    use crate::record::fixtures::{self, record};

    /// The sizes are powers of two and the middles between them.
    fn curve(system: &str, us: impl Fn(f64) -> f64) -> Curve {
        let sizes = (0..21).flat_map(|power| [1_u64 << power, (1 << power) * 3 / 2]);
        let mut sizes: Vec<u64> = sizes.collect();
        sizes.sort_unstable();
        sizes.dedup();
        fixtures::curve(system, sizes, us)
    }

    #[test]
    fn a_layer_that_is_slowed_by_two_microseconds_is_named_with_size_and_amount() {
        let ring = |bytes: f64| 0.07 + bytes * 2.5e-5;
        let mpi = move |bytes: f64| ring(bytes) + if bytes >= 4096.0 { 2.02 } else { 0.02 };
        let text = explain(&record(vec![curve("ring", ring), curve("mpi", mpi)]), "mpi", "ring").unwrap();
        assert!(
            text.contains("between 3 KiB and 4 KiB: mpi takes 2.00 us more in one step, which ring does not"),
            "{text}"
        );
        assert!(text.contains("from 4 KiB to 1.5 MiB: mpi takes 2.02 us more than ring"), "{text}");
        assert!(text.contains("at 4 KiB: mpi delivers 8 % of ring"), "{text}");
    }

    #[test]
    fn a_threshold_that_comes_too_early_is_told_with_a_better_one() {
        let ring = |bytes: f64| 0.07 + bytes * 2.5e-5;
        let mpi = |bytes: f64| if bytes >= 8192.0 { 2.0 + bytes * 3e-5 } else { 0.1 + bytes * 8e-5 };
        let mut record = record(vec![curve("ring", ring), curve("mpi", mpi)]);
        let limits = [("EAGER", 8192), ("BCAST_SHORT", 8192), ("PACKET", 16384)];
        record.thresholds.insert("mpi".into(), limits.map(|(name, bytes)| (name.into(), bytes)).into());
        let text = explain(&record, "mpi", "ring").unwrap();
        let expected = "; threshold now 8 KiB (EAGER), best by both curves 37.1 KiB";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn what_is_the_same_is_said_to_be() {
        let us = |bytes: f64| 0.1 + bytes * 1e-5;
        let text = explain(&record(vec![curve("a", us), curve("b", us)]), "a", "b").unwrap();
        assert!(text.contains("from 1 B to 1.5 MiB: no difference above the noise"), "{text}");
    }

    #[test]
    fn what_is_not_there_is_named() {
        let us = |_: f64| 1.0;
        let mut record = record(vec![curve("a", us), curve("b", us)]);
        assert!(
            explain(&record, "a", "x").unwrap_err().to_string().contains("there is no x in the record; it has a, b")
        );
        assert_eq!(explain(&record, "a", "a"), Err(Missing::Same("a".into())));
        record.curves[1].pattern = "stream".into();
        assert!(explain(&record, "a", "b").unwrap_err().to_string().contains("no pattern with a size in common"));
    }
}
