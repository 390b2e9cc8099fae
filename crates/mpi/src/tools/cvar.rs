//! Control variables: the parameters (MPI-5.0 §15.3.6).
//!
//! A value that a tool writes before MPI_Init overrides the environment. After MPI_Init a tool can write only
//! parameters that are read again (`param::ReadTime::AtUse`). A tool must never be able to write a value that is not
//! valid in the environment.
//!
//! Used by `abi::tool`; uses `enumeration`, `init_state`, `process` and `base::param`.

use super::{ToolObjectId, checked_index, enumeration, index_of_name, no_handle, with};
use crate::init_state;
use crate::process;
use hawser_base::handle::datatype;
use hawser_base::param::{Param, ParamKind, ReadTime};
use hawser_base::value::T_SCOPE_ALL_EQ;
use hawser_base::{Class, Error, Handle, Result};

/// The number of characters of a text variable, including the zero at the end; longer texts are cut.
pub const TEXT_BYTES: usize = 1024;

/// The number that stands for the empty text as the value of a numeric variable.
const EMPTY_NUMBER: i64 = -1;

/// The results of MPI_T_cvar_get_info.
pub struct CvarInfo {
    pub name: &'static str,
    pub about: String,
    pub verbosity: i32,
    pub scope: i32,
    pub datatype: Handle,
    pub enumeration: Option<ToolObjectId>,
}

/// A value, in the C type of the variable's datatype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CvarValue {
    /// MPI_INT
    Int(i32),
    /// MPI_COUNT
    Count(i64),
    /// MPI_CHAR, `TEXT_BYTES` of them.
    Text(Vec<u8>),
}

fn datatype_of(param: &Param) -> Handle {
    match param.kind {
        ParamKind::Flag | ParamKind::Choice(_) => datatype::INT,
        ParamKind::Number { .. } | ParamKind::Bytes { .. } => datatype::COUNT,
        ParamKind::Text => datatype::CHAR,
    }
}

fn describe(param: &Param) -> String {
    let empty = if param.default.is_empty() && datatype_of(param) == datatype::COUNT { " (as number: -1)" } else { "" };
    let when = match (param.read, param.scope) {
        (ReadTime::AtStart, _) => "; to be set before MPI_Init",
        (ReadTime::AtUse, T_SCOPE_ALL_EQ) => "; to be set on all ranks between the same two collectives",
        (ReadTime::AtUse, _) => "",
    };
    format!("{}{empty}{when}", param.help)
}

pub fn count() -> Result<usize> {
    with(|catalog, _| Ok(catalog.cvars.len()))
}

pub fn info(index: i32) -> Result<CvarInfo> {
    with(|catalog, _| {
        let param = checked_index(&catalog.cvars, index, "control variable")?;
        Ok(CvarInfo {
            name: param.name,
            about: describe(param),
            verbosity: param.verbosity,
            scope: param.scope,
            datatype: datatype_of(param),
            enumeration: enumeration::of_cvar(param, index as usize),
        })
    })
}

pub fn index(name: &[u8]) -> Result<usize> {
    with(|catalog, _| index_of_name(catalog.cvars.iter().map(|param| param.name), name, "control variable"))
}

/// Opens a handle for the variable at an index. Returns the handle and the number of elements of a value.
pub fn open(index: i32) -> Result<(ToolObjectId, usize)> {
    with(|catalog, state| {
        let param = checked_index(&catalog.cvars, index, "control variable")?;
        let id = state.next_id();
        state.cvars.insert(id, index as usize);
        Ok((id, if param.kind == ParamKind::Text { TEXT_BYTES } else { 1 }))
    })
}

pub fn close(id: ToolObjectId) -> Result<()> {
    with(|_, state| state.cvars.remove(&id).map(drop).ok_or_else(|| no_handle(id)))
}

fn find(id: ToolObjectId) -> Result<&'static Param> {
    with(|catalog, state| state.cvars.get(&id).map(|&index| catalog.cvars[index]).ok_or_else(|| no_handle(id)))
}

pub fn read(id: ToolObjectId) -> Result<CvarValue> {
    let param = find(id)?;
    Ok(match param.kind {
        ParamKind::Flag => CvarValue::Int(param.flag()?.into()),
        ParamKind::Choice(items) => {
            let chosen = param.choice()?;
            CvarValue::Int(items.iter().position(|&item| item == chosen).unwrap_or(0) as i32)
        }
        ParamKind::Number { .. } | ParamKind::Bytes { .. } if param.text().trim().is_empty() => {
            CvarValue::Count(EMPTY_NUMBER)
        }
        ParamKind::Number { .. } | ParamKind::Bytes { .. } => CvarValue::Count(param.number()? as i64),
        ParamKind::Text => CvarValue::Text(param.text().bytes().take(TEXT_BYTES - 1).collect()),
    })
}

/// Writes a variable. `value` is called with the variable's datatype and must read the value from the tool's buffer,
/// in the C type of this datatype.
pub fn write(id: ToolObjectId, value: impl FnOnce(Handle) -> CvarValue) -> Result<()> {
    let param = find(id)?;
    if param.read == ReadTime::AtStart && init_state::was_initialized() {
        let text = format!("{} is read by MPI_Init; set it before, or in the environment", param.name);
        return Err(Error::new(Class::ToolCvarSetNever, text));
    }
    param.set(&text_of_value(param, value(datatype_of(param)))?)?;
    match process::started() {
        Some(process) => process.wait_policy().reload_parameters(),
        None => Ok(()),
    }
}

fn text_of_value(param: &Param, value: CvarValue) -> Result<String> {
    let wrong = |value: i64| Error::new(Class::ToolInvalid, format!("{value} is not a valid value of {}", param.name));
    match value {
        CvarValue::Int(number) => {
            let items = enumeration::items(param).unwrap_or(&[]);
            let item = usize::try_from(number).ok().and_then(|number| items.get(number));
            item.map(ToString::to_string).ok_or_else(|| wrong(number.into()))
        }
        CvarValue::Count(EMPTY_NUMBER) if param.default.is_empty() => Ok(String::new()),
        CvarValue::Count(number) if number < 0 => Err(wrong(number)),
        CvarValue::Count(number) => Ok(number.to_string()),
        CvarValue::Text(bytes) => String::from_utf8(bytes)
            .map_err(|_| Error::new(Class::ToolInvalid, format!("{} takes only UTF-8 text", param.name))),
    }
}
