//! What tuning found, in lines for people and as the evidence in a profile.
//!
//! It decides nothing. Before it: `tune`; after it: the terminal and the profile.

use super::judge::{Comparison, Pair};
use super::{Outcome, Verdict};
use crate::explain::{size, us};
use std::fmt::Write;

/// The promise of the defaults (the issue, and DESIGN.md): nowhere more than a tenth slower than what tuning finds.
const NEAR: f64 = 1.1;

fn at(pair: &Pair) -> String {
    format!("{} of {} {} us instead of {}", pair.pattern, size(pair.bytes as f64), us(pair.us), us(pair.default_us))
}

fn percent(gain: f64) -> String {
    let (part, word) = if gain >= 1.0 { (gain - 1.0, "faster") } else { (1.0 / gain - 1.0, "slower") };
    format!("{:.0} % {word}", part * 100.0)
}

/// How a value compares with the default, at its best and at its worst.
fn compared(comparison: &Comparison) -> String {
    let mut text = format!("{} than the default over {} points", percent(comparison.gain()), comparison.pairs.len());
    let ends = [("best", comparison.best()), ("worst", comparison.worst())];
    ends.into_iter().for_each(|(end, pair)| {
        let _ = pair.map(|pair| write!(text, "; at {end} {}", at(pair)));
    });
    text
}

/// A line or two.
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

/// Comments that go before a parameter's line.
pub fn evidence(verdicts: &[Verdict], name: &str) -> String {
    let found = verdicts.iter().find(|verdict| verdict.knob.name == name);
    found.map_or_else(String::new, |verdict| format!("# {}\n", compared(&verdict.best.1)))
}

/// The whole curves, and what follows from them.
pub fn outcome(outcome: &Outcome) -> String {
    let mut text = String::from("\n");
    let now = outcome.now.as_ref().map(|(_, by)| by);
    let _ = writeln!(
        text,
        "{:>14} {:>9} {:>11} {:>11} {:>6}{}",
        "pattern",
        "bytes",
        "default us",
        "tuned us",
        "ratio",
        head(now)
    );
    for pair in &outcome.tuned.pairs {
        let other = now.and_then(|by| by.pairs.iter().find(|o| o.pattern == pair.pattern && o.bytes == pair.bytes));
        let other = other.map_or_else(String::new, |other| format!(" {:>11} {:>6.2}", us(other.us), other.ratio()));
        let (default, tuned) = (us(pair.default_us), us(pair.us));
        let _ = writeln!(
            text,
            "{:>14} {:>9} {default:>11} {tuned:>11} {:>6.2}{other}",
            pair.pattern,
            pair.bytes,
            pair.ratio()
        );
    }
    let _ = writeln!(text, "\n{}", defaults(&outcome.tuned));
    if let Some((path, by)) = &outcome.now {
        let _ = writeln!(text, "the profile in force, {}: {}", path.display(), compared(by));
    }
    text
}

fn head(now: Option<&Comparison>) -> String {
    now.map_or_else(String::new, |_| format!(" {:>11} {:>6}", "now us", "ratio"))
}

/// How near the defaults are to what was found.
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
