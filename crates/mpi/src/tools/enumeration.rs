//! Enumerations: the names that stand for the numbers of a control variable (MPI-5.0 §15.3.5).
//!
//! Each enumeration belongs to one parameter and has the parameter's name. The value of an item is the item's index.
//! Used by `abi::tool` and `cvar`; uses `base::param`.

use super::{Catalog, FIRST_TOOL_OBJECT, ToolObjectId, no_handle, with};
use hawser_base::param::{Param, ParamKind};
use hawser_base::{Class, Error, Result};

/// The handle of the enumeration of the first control variable. Smaller numbers are the null handle and other
/// constants.
const FIRST_ENUMERATION: ToolObjectId = 1 << 8;

/// Returns the names of a parameter's values; `None` if the values have no names.
pub(super) fn items(param: &Param) -> Option<&'static [&'static str]> {
    match param.kind {
        ParamKind::Flag => Some(&["off", "on"]),
        ParamKind::Choice(items) => Some(items),
        _ => None,
    }
}

/// Returns the enumeration of the control variable at `index`, whose parameter is `param`; `None` if its values have
/// no names.
pub(super) fn of_cvar(param: &Param, index: usize) -> Option<ToolObjectId> {
    let id = FIRST_ENUMERATION + index as ToolObjectId;
    debug_assert!(id < FIRST_TOOL_OBJECT);
    items(param).map(|_| id)
}

fn find(catalog: &Catalog, id: ToolObjectId) -> Result<(&'static str, &'static [&'static str])> {
    let param = id.checked_sub(FIRST_ENUMERATION).and_then(|index| catalog.cvars.get(index as usize));
    param.and_then(|param| Some((param.name, items(param)?))).ok_or_else(|| no_handle(id))
}

/// Returns the number of values of an enumeration, and the name of the enumeration.
pub fn info(id: ToolObjectId) -> Result<(usize, &'static str)> {
    with(|catalog, _| find(catalog, id).map(|(name, items)| (items.len(), name)))
}

/// Returns the name of the value at `index`. The value itself is the number `index`.
pub fn item(id: ToolObjectId, index: i32) -> Result<&'static str> {
    with(|catalog, _| {
        let (name, items) = find(catalog, id)?;
        let wrong =
            || Error::new(Class::ToolInvalidIndex, format!("{name} has no item {index}; it has {}", items.len()));
        usize::try_from(index).ok().and_then(|index| items.get(index).copied()).ok_or_else(wrong)
    })
}
