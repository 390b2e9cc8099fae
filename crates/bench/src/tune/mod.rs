//! `hawser-bench tune`: finds by measuring which parameters suit this machine better than their defaults, and writes
//! them as the profile that the libraries use (`hawser-node`'s `profile`).
//!
//! Parameters are tuned one after the other: the values of a parameter, the default and the value of the profile in
//! force are measured in turns; the winner is measured against the default once more, because of many values one is
//! always the luckiest. At the end all winners, the defaults and the profile in force are measured at every size.
//! Used by `main`; uses `params`, `compare`, `trials`, which measures, and `text`.

pub mod command;
mod compare;
mod params;
mod text;
mod trials;

use crate::record;
use compare::Comparison;
use hawser_node::profile::{MachineId, Profile, ProfileStatus};
use params::{SearchMethod, TunedParam};
use std::path::PathBuf;
use trials::{DEFAULT, IN_FORCE, Setting, Trials};

/// The result for one parameter.
pub struct TuningResult {
    pub param: &'static TunedParam,
    /// The value that was best, and how it compares with the default.
    pub best: (String, Comparison),
    /// Whether the value was better again in the second measurement. If so, it is in the profile, except if all
    /// values together turn out to be worse than the defaults.
    pub is_kept: bool,
    /// The value in the profile in force, if there is one, and how it compares with the default.
    pub in_force: Option<(String, Comparison)>,
}

/// All results that are printed at the end.
pub struct TuningOutcome {
    pub results: Vec<TuningResult>,
    pub profile: Profile,
    /// The comparisons with the defaults: of the values that were put into the new profile, if there are any, and of
    /// the profile in force. If the new values are worse together, `profile` has lost them.
    pub tuned: Option<Comparison>,
    pub in_force: Option<(PathBuf, Comparison)>,
}

/// Tunes these parameters; None if tuning was stopped.
fn tune(
    params: &[&'static TunedParam],
    found: &ProfileStatus,
    trials: &Trials,
) -> Result<Option<TuningOutcome>, String> {
    let in_force: &[(String, String)] = match found {
        ProfileStatus::Used { profile, .. } => &profile.values,
        _ => &[],
    };
    // The parameters that are not tuned now keep their values.
    let is_tuned = |name: &str| params.iter().any(|param| param.name == name);
    let mut values: Vec<_> = in_force.iter().filter(|(name, _)| !is_tuned(name)).cloned().collect();
    let mut results = Vec::new();
    for param in params {
        let now = in_force.iter().find(|(name, _)| name == param.name).map(|(_, value)| value.as_str());
        let Some(result) = tune_param(param, now, &values, trials)? else { return Ok(None) };
        println!("{}", text::result_text(&result));
        if result.is_kept {
            values.push((param.name.to_string(), result.best.0.clone()));
        }
        results.push(result);
    }
    let mut profile = Profile { date: record::now(), machine: MachineId::here(), values };
    let path = match found {
        ProfileStatus::Used { path, .. } => Some(path.clone()),
        _ => None,
    };
    if profile.values.is_empty() && path.is_none() {
        return Ok((!trials.is_stopped()).then_some(TuningOutcome { results, profile, tuned: None, in_force: None }));
    }
    let Some(record) = trials.measure_profiles(&profile, path.as_deref())? else { return Ok(None) };
    let tuned = (!profile.values.is_empty()).then(|| Comparison::of(&record, trials::TUNED, DEFAULT));
    if tuned.as_ref().is_some_and(|tuned| !tuned.is_no_worse()) {
        profile.values.clear();
    }
    let now = path.map(|path| (path, Comparison::of(&record, IN_FORCE, DEFAULT)));
    Ok(Some(TuningOutcome { results, profile, tuned, in_force: now }))
}

/// Tunes one parameter; `decided` are the best values of the parameters before it. None if tuning was stopped.
fn tune_param(
    param: &'static TunedParam,
    now: Option<&str>,
    decided: &[(String, String)],
    trials: &Trials,
) -> Result<Option<TuningResult>, String> {
    let with = |name: &str, value: &str| Setting::of(name, decided, Some((param.name, value)));
    let default = || Setting::of(DEFAULT, decided, None);
    let mut settings = vec![default()];
    settings.extend(param.candidates().into_iter().map(|value| with(value, value)));
    settings.extend(now.map(|value| with(IN_FORCE, value)));
    let Some(record) = trials.measure(param, &settings)? else { return Ok(None) };
    let compared = |value: &str| (value.to_string(), Comparison::of(&record, value, DEFAULT));
    let now = now.map(|value| (value.to_string(), Comparison::of(&record, IN_FORCE, DEFAULT)));
    let against_default = |value: &str| trials.compare_with_default(param, default(), with("best", value));
    let crossing = match param.search {
        SearchMethod::Values(_) => None,
        SearchMethod::Crossover { all_short, all_long, side: bound } => {
            compare::crossover(&record, all_short, all_long, bound)
        }
    };
    let (value, first) = match crossing.map(|bytes| bytes.to_string()) {
        Some(value) => (value.clone(), against_default(&value)?),
        // If the times of the methods do not cross, one of them is best for all sizes.
        None => {
            let all = param.candidates().into_iter().map(compared);
            all.max_by(|(_, a), (_, b)| a.gain().total_cmp(&b.gain())).expect("a parameter has values")
        }
    };
    let confirmed = if first.is_better() { Some(against_default(&value)?) } else { None };
    let is_kept = confirmed.as_ref().is_some_and(Comparison::is_better);
    Ok((!trials.is_stopped()).then(|| TuningResult {
        param,
        best: (value, confirmed.unwrap_or(first)),
        is_kept,
        in_force: now,
    }))
}
