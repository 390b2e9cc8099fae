//! The results of tuning, in lines for people and as the evidence in a profile.
//!
//! It decides nothing. Used by `tune`.

use super::compare::{Comparison, PointPair};
use super::{TuningOutcome, TuningResult};
use crate::explain::{size, us};
use std::fmt::Write;

/// The promise of the defaults: nowhere more than a tenth slower than the values that tuning finds.
const NEAR: f64 = 1.1;

fn point_text(pair: &PointPair) -> String {
    format!("{} of {}: {} us instead of {}", pair.pattern, size(pair.bytes as f64), us(pair.us), us(pair.default_us))
}

fn percent_text(gain: f64) -> String {
    let (fraction, relation) = if gain >= 1.0 { (gain - 1.0, "faster") } else { (1.0 / gain - 1.0, "slower") };
    format!("{:.0} % {relation}", fraction * 100.0)
}

/// The text of how a value compares with the default, at its best and at its worst.
fn comparison_text(comparison: &Comparison) -> String {
    let mut text =
        format!("{} than the default over {} points", percent_text(comparison.gain()), comparison.pairs.len());
    let ends = [("best", comparison.best()), ("worst", comparison.worst())];
    ends.into_iter().for_each(|(end, pair)| {
        let _ = pair.map(|pair| write!(text, "; at {end} {}", point_text(pair)));
    });
    text
}

/// The result for a parameter, in a line or two.
pub fn result_text(result: &TuningResult) -> String {
    let name = result.param.name;
    let (value, by) = &result.best;
    let mut text = match result.is_kept {
        true => format!("{name} = {value}: {}", comparison_text(by)),
        false => format!("{name}: the default stays; the best other value, {value}, is {}", comparison_text(by)),
    };
    if let Some((value, by)) = &result.in_force {
        let effect = if by.is_worse() { "hurts" } else { "does no harm" };
        let _ = write!(text, "\n{name} = {value} of the profile in force {effect}: {}", comparison_text(by));
    }
    text
}

/// The comments that go before a parameter's line.
pub fn evidence(results: &[TuningResult], name: &str) -> String {
    let found = results.iter().find(|result| result.param.name == name);
    found.map_or_else(String::new, |result| format!("# {}\n", comparison_text(&result.best.1)))
}

/// The text of the whole curves, and of what follows from them.
pub fn outcome_text(outcome: &TuningOutcome) -> String {
    let mut text = String::from("\n");
    let tuned = outcome.tuned.as_ref().map(|by| ("tuned", by));
    let now = outcome.in_force.as_ref().map(|(_, by)| ("now", by));
    let columns: Vec<(&str, &Comparison)> = tuned.into_iter().chain(now).collect();
    if !columns.is_empty() {
        text += &table(&columns);
        text += "\n";
    }
    text += &match &outcome.tuned {
        None => "no value was found that is better than the default".into(),
        Some(tuned) if outcome.profile.values.is_empty() => {
            format!("together the new values are worse: {}; the profile has no values", comparison_text(tuned))
        }
        Some(tuned) => defaults_text(tuned),
    };
    text += "\n";
    if let Some((path, by)) = &outcome.in_force {
        let _ = writeln!(text, "the profile in force, {}: {}", path.display(), comparison_text(by));
    }
    text
}

/// A table with a line for each point that any of the comparisons has.
fn table(columns: &[(&str, &Comparison)]) -> String {
    let mut text = format!("{:>14} {:>9} {:>11}", "pattern", "bytes", "default us");
    for (name, _) in columns {
        let _ = write!(text, " {:>11} {:>6}", format!("{name} us"), "ratio");
    }
    text += "\n";
    let mut points: Vec<&PointPair> = Vec::new();
    for pair in columns.iter().flat_map(|(_, by)| &by.pairs) {
        if !points.iter().any(|other| other.is_same_point(pair)) {
            points.push(pair);
        }
    }
    for point in points {
        let _ = write!(text, "{:>14} {:>9} {:>11}", point.pattern, point.bytes, us(point.default_us));
        for (_, by) in columns {
            let _ = match by.pairs.iter().find(|pair| pair.is_same_point(point)) {
                Some(pair) => write!(text, " {:>11} {:>6.2}", us(pair.us), pair.ratio()),
                None => write!(text, " {:>11} {:>6}", "noisy", ""),
            };
        }
        text += "\n";
    }
    text
}

/// The text of how near the defaults are to the best values.
fn defaults_text(tuned: &Comparison) -> String {
    let slower: Vec<&PointPair> = tuned.pairs.iter().filter(|pair| pair.ratio() * NEAR < 1.0).collect();
    match (slower.as_slice(), tuned.best()) {
        ([], Some(best)) => {
            format!(
                "the defaults are within 10 % of the profile at every size; largest difference: {}",
                point_text(best)
            )
        }
        (slower, Some(best)) => {
            format!(
                "the defaults are more than 10 % slower than the profile at {} points; largest difference: {}",
                slower.len(),
                point_text(best)
            )
        }
        (_, None) => "nothing was measured".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::params;

    fn twice(default_us: f64, us: f64) -> Comparison {
        let pair = |bytes| PointPair { pattern: "pingpong".into(), bytes, us, default_us };
        Comparison { pairs: vec![pair(8), pair(1024)] }
    }

    fn of_profile(by: Comparison) -> String {
        let (param, best) = (&params::TUNED_PARAMS[0], ("7".to_string(), twice(1.0, 1.0)));
        let text = result_text(&TuningResult { param, best, is_kept: false, in_force: Some(("9".to_string(), by)) });
        text.lines().last().unwrap().replace(param.name, "NAME")
    }

    #[test]
    fn a_value_of_the_profile_that_is_slower_than_the_default_is_said_to_hurt() {
        let hurts = "NAME = 9 of the profile in force hurts: 50 % slower than the default over 2 points; ";
        assert!(of_profile(twice(1.0, 1.5)).starts_with(hurts), "{}", of_profile(twice(1.0, 1.5)));
        let does_not = "NAME = 9 of the profile in force does no harm: 25 % faster than the default over 2 points; ";
        assert!(of_profile(twice(1.0, 0.8)).starts_with(does_not), "{}", of_profile(twice(1.0, 0.8)));
    }
}
