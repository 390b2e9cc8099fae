//! `hawser-bench tune`: finds by measuring which parameters suit this machine better than their defaults, and writes them as the
//! profile that the libraries go by (`hawser-node`'s `profile`).
//!
//! One parameter after the other: its values, the default and what the profile in force has play in turns; what wins plays against the
//! default once more, for of many values one is always the luckiest. At the end all that won, the defaults and the profile in force
//! play every size. Before it: `main`; after it: `knobs`, `judge`, `trial`, which measures, and `words`.

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

/// What was found of one parameter.
pub struct Verdict {
    pub knob: &'static Knob,
    /// The value that was best, and how it compares with the default.
    pub best: (String, Comparison),
    /// Whether it stood when it was measured again: it is in the profile.
    pub is_kept: bool,
    /// What the profile in force has, and how that compares.
    pub now: Option<(String, Comparison)>,
}

/// All that is told at the end.
pub struct Outcome {
    pub verdicts: Vec<Verdict>,
    pub profile: Profile,
    /// The new profile, if it had any values, and the one in force, against the defaults.
    pub tuned: Option<Comparison>,
    pub now: Option<(PathBuf, Comparison)>,
}

/// Tunes these parameters; nothing where it was stopped.
fn tune(knobs: &[&'static Knob], found: &Found, trials: &Trials) -> Result<Option<Outcome>, String> {
    let in_force: &[(String, String)] = match found {
        Found::Used { profile, .. } => &profile.values,
        _ => &[],
    };
    // What is not tuned now stays as it is.
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

/// `decided`: what was found best of the parameters before it.
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
        // Of ways that do not cross one is best for all.
        None => {
            let all = knob.candidates().into_iter().map(compared);
            all.max_by(|(_, a), (_, b)| a.gain().total_cmp(&b.gain())).expect("a knob has values")
        }
    };
    let again = if first.is_better() { Some(against_default(&value)?) } else { None };
    let is_kept = again.as_ref().is_some_and(Comparison::is_better);
    Ok((!trials.is_stopped()).then(|| Verdict { knob, best: (value, again.unwrap_or(first)), is_kept, now }))
}
