//! `hawser-bench tune`: finds by measuring which parameters suit this machine better than their defaults, and writes
//! them as the profile that the libraries use (`hawser-node`'s `profile`).
//!
//! It tunes one parameter after the other: its values, the default and the value of the profile in force are played in
//! turns; the winner is played against the default once more, for of many values one is always the luckiest. At the end
//! all winners, the defaults and the profile in force are played at every size. Used by `main`; uses `knobs`, `judge`,
//! `trial`, which measures, and `words`.

pub mod command;
mod judge;
mod knobs;
mod trial;
mod words;

use crate::record;
use hawser_node::profile::{Found, Machine, Profile};
use judge::Comparison;
use knobs::{Knob, Search};
use std::path::PathBuf;
use trial::{DEFAULT, NOW, Setting, Trials};

/// The result for one parameter.
pub struct Verdict {
    pub knob: &'static Knob,
    /// The value that was best, and how it compares with the default.
    pub best: (String, Comparison),
    /// Whether it was better again in the second measurement: it is in the profile.
    pub is_kept: bool,
    /// The value in the profile in force, and how that compares.
    pub now: Option<(String, Comparison)>,
}

/// All results that are printed at the end.
pub struct Outcome {
    pub verdicts: Vec<Verdict>,
    pub profile: Profile,
    /// The new profile, if it has any values, and the one in force, against the defaults.
    pub tuned: Option<Comparison>,
    pub now: Option<(PathBuf, Comparison)>,
}

/// Tunes these parameters; None where it was stopped.
fn tune(knobs: &[&'static Knob], found: &Found, trials: &Trials) -> Result<Option<Outcome>, String> {
    let in_force: &[(String, String)] = match found {
        Found::Used { profile, .. } => &profile.values,
        _ => &[],
    };
    // The parameters that are not tuned now keep their values.
    let is_tuned = |name: &str| knobs.iter().any(|knob| knob.name == name);
    let mut values: Vec<_> = in_force.iter().filter(|(name, _)| !is_tuned(name)).cloned().collect();
    let mut verdicts = Vec::new();
    for knob in knobs {
        let now = in_force.iter().find(|(name, _)| name == knob.name).map(|(_, value)| value.as_str());
        let Some(verdict) = of_knob(knob, now, &values, trials)? else { return Ok(None) };
        println!("{}", words::verdict(&verdict));
        if verdict.is_kept {
            values.push((knob.name.to_string(), verdict.best.0.clone()));
        }
        verdicts.push(verdict);
    }
    let mut profile = Profile { date: record::now(), machine: Machine::here(), values };
    let path = match found {
        Found::Used { path, .. } => Some(path.clone()),
        _ => None,
    };
    if profile.values.is_empty() && path.is_none() {
        return Ok((!trials.is_stopped()).then_some(Outcome { verdicts, profile, tuned: None, now: None }));
    }
    let Some(record) = trials.whole(&profile, path.as_deref())? else { return Ok(None) };
    let tuned = (!profile.values.is_empty()).then(|| Comparison::of(&record, trial::TUNED, DEFAULT));
    if tuned.as_ref().is_some_and(|tuned| !tuned.is_no_worse()) {
        profile.values.clear();
    }
    let now = path.map(|path| (path, Comparison::of(&record, NOW, DEFAULT)));
    Ok(Some(Outcome { verdicts, profile, tuned, now }))
}

/// Tunes one parameter. `decided`: the best values of the parameters before it.
fn of_knob(
    knob: &'static Knob,
    now: Option<&str>,
    decided: &[(String, String)],
    trials: &Trials,
) -> Result<Option<Verdict>, String> {
    let with = |name: &str, value: &str| Setting::of(name, decided, Some((knob.name, value)));
    let default = || Setting::of(DEFAULT, decided, None);
    let mut settings = vec![default()];
    settings.extend(knob.candidates().into_iter().map(|value| with(value, value)));
    settings.extend(now.map(|value| with(NOW, value)));
    let Some(record) = trials.play(knob, &settings)? else { return Ok(None) };
    let compared = |value: &str| (value.to_string(), Comparison::of(&record, value, DEFAULT));
    let now = now.map(|value| (value.to_string(), Comparison::of(&record, NOW, DEFAULT)));
    let against_default = |value: &str| trials.against(knob, default(), with("best", value));
    let crossing = match knob.search {
        Search::Values(_) => None,
        Search::Crossing { all_short, all_long, bound } => judge::crossing(&record, all_short, all_long, bound),
    };
    let (value, first) = match crossing.map(|bytes| bytes.to_string()) {
        Some(value) => (value.clone(), against_default(&value)?),
        // If the times of the methods do not cross, one of them is best for all sizes.
        None => {
            let all = knob.candidates().into_iter().map(compared);
            all.max_by(|(_, a), (_, b)| a.gain().total_cmp(&b.gain())).expect("a knob has values")
        }
    };
    let again = if first.is_better() { Some(against_default(&value)?) } else { None };
    let is_kept = again.as_ref().is_some_and(Comparison::is_better);
    Ok((!trials.is_stopped()).then(|| Verdict { knob, best: (value, again.unwrap_or(first)), is_kept, now }))
}
