//! Enumerations: the names that stand for the numbers of a control variable (MPI-5.0 §15.3.5).
//!
//! Each belongs to one parameter and has its name; the value of an item is its index. Used by `abi::tool`.

use super::{Catalog, FIRST_TOOL_OBJECT, ToolObjectId, no_handle, with};
use hawser_base::param::{Param, ParamKind};
use hawser_base::{Class, Error, Result};

/// The enumeration of the first control variable; below are the null handle and other constants.
const FIRST_ENUMERATION: ToolObjectId = 1 << 8;

/// The names of a parameter's values, if they have names.
pub(super) fn items(param: &Param) -> Option<&'static [&'static str]> {
    match param.kind {
        ParamKind::Flag => Some(&["off", "on"]),
        ParamKind::Choice(items) => Some(items),
        _ => None,
    }
}

/// That of the control variable with an index.
pub(super) fn of_cvar(param: &Param, index: usize) -> Option<ToolObjectId> {
    let id = FIRST_ENUMERATION + index as ToolObjectId;
    debug_assert!(id < FIRST_TOOL_OBJECT);
    items(param).map(|_| id)
}

fn find(catalog: &Catalog, id: ToolObjectId) -> Result<(&'static str, &'static [&'static str])> {
    let param = id.checked_sub(FIRST_ENUMERATION).and_then(|index| catalog.cvars.get(index as usize));
    param.and_then(|param| Some((param.name, items(param)?))).ok_or_else(|| no_handle(id))
}

/// The number of values of an enumeration, and its name.
pub fn info(id: ToolObjectId) -> Result<(usize, &'static str)> {
    with(|catalog, _| find(catalog, id).map(|(name, items)| (items.len(), name)))
}

/// The name of a value: the item at `index` is that of the number `index`.
pub fn item(id: ToolObjectId, index: i32) -> Result<&'static str> {
    with(|catalog, _| {
        let (name, items) = find(catalog, id)?;
        let wrong =
            || Error::new(Class::ToolInvalidIndex, format!("{name} has no item {index}; it has {}", items.len()));
        usize::try_from(index).ok().and_then(|index| items.get(index).copied()).ok_or_else(wrong)
    })
}
