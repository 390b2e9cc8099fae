//! The result of a check: what was found, whether it is well, and what to change.
//!
//! Made by `host_checks` and `network_checks`; used by `text` and `record`.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Well,
    /// Something works, and could be better.
    Advice,
    /// Something does not work.
    Broken,
}

/// A change to make.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remedy {
    /// The command, setting or object to look at.
    pub how: String,
    /// The benefit of the change, and whether it was measured here.
    pub gives: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The name of the check.
    pub name: &'static str,
    pub verdict: Verdict,
    /// The facts that were found; if there is something to change, its cause.
    pub found: String,
    pub change: Option<Remedy>,
}

/// The result of a check, without the name of the check.
pub struct CheckResult {
    verdict: Verdict,
    found: String,
    change: Option<Remedy>,
}

pub fn well(found: impl Into<String>) -> CheckResult {
    CheckResult { verdict: Verdict::Well, found: found.into(), change: None }
}

pub fn advice(cause: impl Into<String>, how: impl Into<String>, gives: impl Into<String>) -> CheckResult {
    let change = Some(Remedy { how: how.into(), gives: gives.into() });
    CheckResult { verdict: Verdict::Advice, found: cause.into(), change }
}

pub fn broken(cause: impl Into<String>, how: impl Into<String>, gives: impl Into<String>) -> CheckResult {
    CheckResult { verdict: Verdict::Broken, ..advice(cause, how, gives) }
}

/// An entry of a table of checks; a new check is one entry and its function.
pub struct DoctorCheck<T> {
    pub name: &'static str,
    pub run: fn(&T) -> Vec<CheckResult>,
}

/// Runs all checks of a table and returns their findings.
pub fn run_checks<T>(checks: &[DoctorCheck<T>], facts: &T) -> Vec<Finding> {
    let named = |check: &DoctorCheck<T>| {
        let name = check.name;
        let results = (check.run)(facts).into_iter();
        results.map(move |CheckResult { verdict, found, change }| Finding { name, verdict, found, change })
    };
    checks.iter().flat_map(named).collect()
}
