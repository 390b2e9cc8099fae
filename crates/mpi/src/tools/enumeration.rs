//! Enumerations: the words that stand for the numbers of a control variable (MPI-5.0 §15.3.5).
//!
//! Each belongs to one parameter and has its name; the value of a word is its place. Used by `abi::tool`.

use super::{Catalog, FIRST, Id, no_handle, with};
use hawser_base::param::{Kind, Param};
use hawser_base::{Class, Error, Result};

/// The enumeration of the first control variable; below are the null handle and other constants.
const LEAST: Id = 1 << 8;

/// The words of a parameter's values, if it has such.
pub(super) fn words(param: &Param) -> Option<&'static [&'static str]> {
    match param.kind {
        Kind::Flag => Some(&["off", "on"]),
        Kind::Choice(words) => Some(words),
        _ => None,
    }
}

/// That of the control variable with an index.
pub(super) fn of(param: &Param, index: usize) -> Option<Id> {
    let id = LEAST + index as Id;
    debug_assert!(id < FIRST);
    words(param).map(|_| id)
}

fn find(catalog: &Catalog, id: Id) -> Result<(&'static str, &'static [&'static str])> {
    let param = id.checked_sub(LEAST).and_then(|index| catalog.cvars.get(index as usize));
    param.and_then(|param| Some((param.name, words(param)?))).ok_or_else(|| no_handle(id))
}

/// The number of values of an enumeration, and its name.
pub fn info(id: Id) -> Result<(usize, &'static str)> {
    with(|catalog, _| find(catalog, id).map(|(name, words)| (words.len(), name)))
}

/// The word of a value: the `index`th is that of the number `index`.
pub fn item(id: Id, index: i32) -> Result<&'static str> {
    with(|catalog, _| {
        let (name, words) = find(catalog, id)?;
        let wrong =
            || Error::new(Class::ToolInvalidIndex, format!("{name} has no item {index}; it has {}", words.len()));
        usize::try_from(index).ok().and_then(|index| words.get(index).copied()).ok_or_else(wrong)
    })
}
