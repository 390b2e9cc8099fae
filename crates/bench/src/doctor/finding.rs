//! What an examination says: what was found, whether that is well, and what to change.
//!
//! Before it: `machine` and `network`, which make them; after it: `text` and `record`.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Well,
    /// It works, and there could be more.
    Advice,
    /// Something does not work.
    Broken,
}

/// What to change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The command, setting or place to look at.
    pub how: String,
    /// What that would give, and whether it was measured here.
    pub gives: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The examination's.
    pub name: &'static str,
    pub verdict: Verdict,
    /// Where there is something to change: the cause.
    pub found: String,
    pub change: Option<Change>,
}

/// What an examination says, before it has the name of its row.
pub struct Said {
    verdict: Verdict,
    found: String,
    change: Option<Change>,
}

pub fn well(found: impl Into<String>) -> Said {
    Said { verdict: Verdict::Well, found: found.into(), change: None }
}

pub fn advice(cause: impl Into<String>, how: impl Into<String>, gives: impl Into<String>) -> Said {
    let change = Some(Change { how: how.into(), gives: gives.into() });
    Said { verdict: Verdict::Advice, found: cause.into(), change }
}

pub fn broken(cause: impl Into<String>, how: impl Into<String>, gives: impl Into<String>) -> Said {
    Said { verdict: Verdict::Broken, ..advice(cause, how, gives) }
}

/// A row of a table of examinations: a new one is one row and its function.
pub struct Row<T> {
    pub name: &'static str,
    pub say: fn(&T) -> Vec<Said>,
}

/// What all examinations of a table say.
pub fn examine<T>(rows: &[Row<T>], facts: &T) -> Vec<Finding> {
    let named = |row: &Row<T>| {
        let name = row.name;
        let said = (row.say)(facts).into_iter();
        said.map(move |Said { verdict, found, change }| Finding { name, verdict, found, change })
    };
    rows.iter().flat_map(named).collect()
}
