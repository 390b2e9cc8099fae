//! Control variables: the parameters (MPI-5.0 §15.3.6).
//!
//! A value that a tool writes before MPI_Init overrides the environment; afterwards only parameters that are read again
//! (`param::Read`) can be written. It must never take a value that the environment could not have.
//!
//! Used by `abi::tool`; uses `base::param`.

use super::{Id, at, enumeration, named, no_handle, with};
use crate::process;
use crate::stage;
use hawser_base::handle::datatype;
use hawser_base::param::{Kind, Param, Read};
use hawser_base::value::T_SCOPE_ALL_EQ;
use hawser_base::{Class, Error, Handle, Result};

/// Characters of a text, with the zero behind it; longer ones are cut.
pub const TEXT_ROOM: usize = 1024;

/// A number for an empty text.
const EMPTY: i64 = -1;

/// The results of MPI_T_cvar_get_info.
pub struct Info {
    pub name: &'static str,
    pub about: String,
    pub verbosity: i32,
    pub scope: i32,
    pub datatype: Handle,
    pub enumeration: Option<Id>,
}

/// A value, in the C type of the variable's datatype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// MPI_INT
    Int(i32),
    /// MPI_COUNT
    Count(i64),
    /// MPI_CHAR, `TEXT_ROOM` of them.
    Text(Vec<u8>),
}

fn datatype_of(param: &Param) -> Handle {
    match param.kind {
        Kind::Flag | Kind::Choice(_) => datatype::INT,
        Kind::Number { .. } | Kind::Bytes { .. } => datatype::COUNT,
        Kind::Text => datatype::CHAR,
    }
}

fn about(param: &Param) -> String {
    let empty = if param.default.is_empty() && datatype_of(param) == datatype::COUNT { " (as number: -1)" } else { "" };
    let when = match (param.read, param.scope) {
        (Read::AtStart, _) => "; to be set before MPI_Init",
        (Read::AtUse, T_SCOPE_ALL_EQ) => "; to be set on all ranks between the same two collectives",
        (Read::AtUse, _) => "",
    };
    format!("{}{empty}{when}", param.help)
}

pub fn count() -> Result<usize> {
    with(|catalog, _| Ok(catalog.cvars.len()))
}

pub fn info(index: i32) -> Result<Info> {
    with(|catalog, _| {
        let param = at(&catalog.cvars, index, "control variable")?;
        Ok(Info {
            name: param.name,
            about: about(param),
            verbosity: param.verbosity,
            scope: param.scope,
            datatype: datatype_of(param),
            enumeration: enumeration::of(param, index as usize),
        })
    })
}

pub fn index(name: &[u8]) -> Result<usize> {
    with(|catalog, _| named(catalog.cvars.iter().map(|param| param.name), name, "control variable"))
}

/// A handle for the variable, and of how many elements it is.
pub fn open(index: i32) -> Result<(Id, usize)> {
    with(|catalog, state| {
        let param = at(&catalog.cvars, index, "control variable")?;
        let id = state.id();
        state.cvars.insert(id, index as usize);
        Ok((id, if param.kind == Kind::Text { TEXT_ROOM } else { 1 }))
    })
}

pub fn close(id: Id) -> Result<()> {
    with(|_, state| state.cvars.remove(&id).map(drop).ok_or_else(|| no_handle(id)))
}

fn find(id: Id) -> Result<&'static Param> {
    with(|catalog, state| state.cvars.get(&id).map(|&index| catalog.cvars[index]).ok_or_else(|| no_handle(id)))
}

pub fn read(id: Id) -> Result<Value> {
    let param = find(id)?;
    Ok(match param.kind {
        Kind::Flag => Value::Int(param.flag()?.into()),
        Kind::Choice(words) => {
            let chosen = param.choice()?;
            Value::Int(words.iter().position(|&word| word == chosen).unwrap_or(0) as i32)
        }
        Kind::Number { .. } | Kind::Bytes { .. } if param.text().trim().is_empty() => Value::Count(EMPTY),
        Kind::Number { .. } | Kind::Bytes { .. } => Value::Count(param.number()? as i64),
        Kind::Text => Value::Text(param.text().bytes().take(TEXT_ROOM - 1).collect()),
    })
}

/// Writes the value that `value` reads from the tool's buffer, in the C type of the datatype passed to it.
pub fn write(id: Id, value: impl FnOnce(Handle) -> Value) -> Result<()> {
    let param = find(id)?;
    if param.read == Read::AtStart && stage::was_initialized() {
        let text = format!("{} is read by MPI_Init; set it before, or in the environment", param.name);
        return Err(Error::new(Class::ToolCvarSetNever, text));
    }
    param.set(&text(param, value(datatype_of(param)))?)?;
    match process::any() {
        Some(process) => process.patience().look_at_parameters(),
        None => Ok(()),
    }
}

fn text(param: &Param, value: Value) -> Result<String> {
    let wrong = |value: i64| Error::new(Class::ToolInvalid, format!("{value} is no value of {}", param.name));
    match value {
        Value::Int(number) => {
            let words = enumeration::words(param).unwrap_or(&[]);
            let word = usize::try_from(number).ok().and_then(|number| words.get(number));
            word.map(ToString::to_string).ok_or_else(|| wrong(number.into()))
        }
        Value::Count(EMPTY) if param.default.is_empty() => Ok(String::new()),
        Value::Count(number) if number < 0 => Err(wrong(number)),
        Value::Count(number) => Ok(number.to_string()),
        Value::Text(bytes) => String::from_utf8(bytes)
            .map_err(|_| Error::new(Class::ToolInvalid, format!("{} takes texts in UTF-8 alone", param.name))),
    }
}
