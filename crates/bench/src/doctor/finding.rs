//! The result of an examination: what was found, whether it is well, and what to change.
//!
//! Made by `machine` and `network`; used by `text` and `record`.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Well,
    /// It works, and could be better.
    Advice,
    /// Something does not work.
    Broken,
}

/// A change to make.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The command, setting or object to look at.
    pub how: String,
    /// The benefit of the change, and whether it was measured here.
    pub gives: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The name of the examination.
    pub name: &'static str,
    pub verdict: Verdict,
    /// The cause, where there is something to change.
    pub found: String,
    pub change: Option<Change>,
}

/// The result of an examination, before it has the name of its row.
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

/// A row of a table of examinations; a new examination is one row and its function.
pub struct Row<T> {
    pub name: &'static str,
    pub say: fn(&T) -> Vec<Said>,
}

/// The results of all examinations of a table.
pub fn examine<T>(rows: &[Row<T>], facts: &T) -> Vec<Finding> {
    let named = |row: &Row<T>| {
        let name = row.name;
        let said = (row.say)(facts).into_iter();
        said.map(move |Said { verdict, found, change }| Finding { name, verdict, found, change })
    };
    rows.iter().flat_map(named).collect()
}
