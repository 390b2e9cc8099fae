//! The results of tuning, in lines for people and as the evidence in a profile.
//!
//! It decides nothing. Used by `tune`.

use super::judge::{Comparison, Pair};
use super::{Outcome, Verdict};
use crate::explain::{size, us};
use std::fmt::Write;

/// The promise of the defaults: nowhere more than a tenth slower than the values that tuning finds.
const NEAR: f64 = 1.1;

fn at(pair: &Pair) -> String {
    format!("{} of {} {} us instead of {}", pair.pattern, size(pair.bytes as f64), us(pair.us), us(pair.default_us))
}

fn percent(gain: f64) -> String {
    let (part, word) = if gain >= 1.0 { (gain - 1.0, "faster") } else { (1.0 / gain - 1.0, "slower") };
    format!("{:.0} % {word}", part * 100.0)
}

/// The text of how a value compares with the default, at its best and at its worst.
fn compared(comparison: &Comparison) -> String {
    let mut text = format!("{} than the default over {} points", percent(comparison.gain()), comparison.pairs.len());
    let ends = [("best", comparison.best()), ("worst", comparison.worst())];
    ends.into_iter().for_each(|(end, pair)| {
        let _ = pair.map(|pair| write!(text, "; at {end} {}", at(pair)));
    });
    text
}

/// The result for a parameter, in a line or two.
pub fn verdict(verdict: &Verdict) -> String {
    let name = verdict.knob.name;
    let (value, by) = &verdict.best;
    let mut text = match verdict.is_kept {
        true => format!("{name} = {value}: {}", compared(by)),
        false => format!("{name}: the default stays; the best other, {value}, is {}", compared(by)),
    };
    if let Some((value, by)) = &verdict.now {
        let word = if by.is_worse() { "hurts" } else { "does no harm" };
        let _ = write!(text, "\n{name} = {value} of the profile in force {word}: {}", compared(by));
    }
    text
}

/// The comments that go before a parameter's line.
pub fn evidence(verdicts: &[Verdict], name: &str) -> String {
    let found = verdicts.iter().find(|verdict| verdict.knob.name == name);
    found.map_or_else(String::new, |verdict| format!("# {}\n", compared(&verdict.best.1)))
}

/// The text of the whole curves, and of what follows from them.
pub fn outcome(outcome: &Outcome) -> String {
    let mut text = String::from("\n");
    let tuned = outcome.tuned.as_ref().map(|by| ("tuned", by));
    let now = outcome.now.as_ref().map(|(_, by)| ("now", by));
    let columns: Vec<(&str, &Comparison)> = tuned.into_iter().chain(now).collect();
    if !columns.is_empty() {
        text += &table(&columns);
        text += "\n";
    }
    text += &match &outcome.tuned {
        None => "no value was found that is better than the default".into(),
        Some(tuned) if outcome.profile.values.is_empty() => {
            format!("what was found does not stand together: {}; the profile has no values", compared(tuned))
        }
        Some(tuned) => defaults(tuned),
    };
    text += "\n";
    if let Some((path, by)) = &outcome.now {
        let _ = writeln!(text, "the profile in force, {}: {}", path.display(), compared(by));
    }
    text
}

/// A table with a line for each point that any of them has.
fn table(columns: &[(&str, &Comparison)]) -> String {
    let mut text = format!("{:>14} {:>9} {:>11}", "pattern", "bytes", "default us");
    for (name, _) in columns {
        let _ = write!(text, " {:>11} {:>6}", format!("{name} us"), "ratio");
    }
    text += "\n";
    let mut points: Vec<&Pair> = Vec::new();
    for pair in columns.iter().flat_map(|(_, by)| &by.pairs) {
        if !points.iter().any(|other| other.is_beside(pair)) {
            points.push(pair);
        }
    }
    for point in points {
        let _ = write!(text, "{:>14} {:>9} {:>11}", point.pattern, point.bytes, us(point.default_us));
        for (_, by) in columns {
            let _ = match by.pairs.iter().find(|pair| pair.is_beside(point)) {
                Some(pair) => write!(text, " {:>11} {:>6.2}", us(pair.us), pair.ratio()),
                None => write!(text, " {:>11} {:>6}", "noisy", ""),
            };
        }
        text += "\n";
    }
    text
}

/// The text of how near the defaults are to the best values.
fn defaults(tuned: &Comparison) -> String {
    let slower: Vec<&Pair> = tuned.pairs.iter().filter(|pair| pair.ratio() * NEAR < 1.0).collect();
    match (slower.as_slice(), tuned.best()) {
        ([], Some(best)) => {
            format!("the defaults are within 10 % of the profile at every size; furthest: {}", at(best))
        }
        (slower, Some(best)) => {
            format!(
                "the defaults are more than 10 % slower than the profile at {} points; most: {}",
                slower.len(),
                at(best)
            )
        }
        (_, None) => "nothing was measured".into(),
    }
}
