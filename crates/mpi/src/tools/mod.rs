//! The tool information interface MPI_T (MPI-5.0 chapter 15): the variables, and the handles and sessions that tools
//! have open.
//!
//! Any thread may call the interface at any time, before MPI_Init and after MPI_Finalize too, and whatever the thread
//! level is. So all of its state is under one lock, and it reads only those values of the rest of MPI that other
//! threads may read. It must never enter a lane, nor call an error handler. There are no events, because this library
//! reports nothing by callback.
//!
//! Used by `abi::tool` and `node`; has the modules `cvar` (parameters), `pvar` (counters), `category`, `enumeration`
//! and `former_names`.

pub mod category;
pub mod cvar;
pub mod enumeration;
pub mod former_names;
pub mod pvar;
#[cfg(test)]
mod tests;

use hawser_base::param::Param;
use hawser_base::{Class, Error, Result};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, OnceLock};

/// The description of a category and its variables. `node` makes these descriptions, a parent before its children.
pub struct CategorySpec {
    pub name: &'static str,
    pub about: &'static str,
    pub parent: Option<&'static str>,
    pub params: Vec<&'static Param>,
    pub variables: Vec<pvar::PvarSpec>,
}

/// The catalog of all variables and categories, in the order of their indices. The first MPI_T_init_thread makes it,
/// and it never changes.
struct Catalog {
    cvars: Vec<&'static Param>,
    pvars: Vec<pvar::PvarSpec>,
    categories: Vec<category::Category>,
}

static CATALOG: OnceLock<Catalog> = OnceLock::new();

/// The number of a handle, session or enumeration. The number of a handle or session is never used again, so that a
/// freed one is detected.
pub type ToolObjectId = u64;

/// MPI_T_PVAR_ALL_HANDLES, which stands for all handles of a session. The number 0 is the null handle.
pub const ALL_HANDLES: ToolObjectId = 1;
/// The numbers of handles and sessions are greater than this; smaller numbers belong to enumerations and constants.
const FIRST_TOOL_OBJECT: ToolObjectId = 1 << 16;

/// The objects that tools have open.
struct ToolState {
    /// The number of calls of MPI_T_init_thread minus those of MPI_T_finalize.
    uses: u32,
    next: ToolObjectId,
    /// The open handles of control variables, and the index of the variable of each.
    cvars: BTreeMap<ToolObjectId, usize>,
    sessions: BTreeMap<ToolObjectId, pvar::PvarSession>,
}

static STATE: Mutex<ToolState> =
    Mutex::new(ToolState { uses: 0, next: FIRST_TOOL_OBJECT, cvars: BTreeMap::new(), sessions: BTreeMap::new() });

impl ToolState {
    fn next_id(&mut self) -> ToolObjectId {
        self.next += 1;
        self.next
    }
}

impl Catalog {
    fn new(specs: Vec<CategorySpec>) -> Catalog {
        let names: Vec<_> = specs.iter().map(|spec| spec.name).collect();
        let parent = |spec: &CategorySpec| names.iter().position(|&name| Some(name) == spec.parent);
        let mut catalog = Catalog { cvars: Vec::new(), pvars: Vec::new(), categories: Vec::new() };
        for spec in specs {
            let parent = parent(&spec);
            let (cvars, pvars) = (append(&mut catalog.cvars, spec.params), append(&mut catalog.pvars, spec.variables));
            catalog.categories.push(category::Category { name: spec.name, about: spec.about, parent, cvars, pvars });
        }
        catalog
    }
}

/// Appends `new` to `to`, and returns the indices of the new items.
fn append<T>(to: &mut Vec<T>, new: Vec<T>) -> Range<usize> {
    let from = to.len();
    to.extend(new);
    from..to.len()
}

fn lock_state() -> std::sync::MutexGuard<'static, ToolState> {
    STATE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// MPI_T_init_thread. `specs` returns the categories with their variables; it is called only at the first
/// initialisation.
pub fn init(specs: impl FnOnce() -> Vec<CategorySpec>) {
    let mut state = lock_state();
    state.uses += 1;
    CATALOG.get_or_init(|| Catalog::new(specs()));
}

/// MPI_T_finalize. The call that matches the first MPI_T_init_thread closes all handles and sessions.
pub fn finalize() -> Result<()> {
    with(|_, state| {
        state.uses -= 1;
        if state.uses == 0 {
            state.cvars.clear();
            state.sessions.clear();
        }
        Ok(())
    })
}

/// Fails with MPI_T_ERR_NOT_INITIALIZED if the interface is not initialised.
pub fn check() -> Result<()> {
    with(|_, _| Ok(()))
}

fn with<R>(f: impl FnOnce(&'static Catalog, &mut ToolState) -> Result<R>) -> Result<R> {
    let mut state = lock_state();
    match CATALOG.get() {
        Some(catalog) if state.uses > 0 => f(catalog, &mut state),
        _ => Err(Error::new(
            Class::ToolNotInitialized,
            "called before MPI_T_init_thread or after the last MPI_T_finalize",
        )),
    }
}

/// Returns the item at an index. `what` names the kind of item for the error text, in the singular.
fn checked_index<'a, T>(all: &'a [T], index: i32, what: &str) -> Result<&'a T> {
    let wrong = || Error::new(Class::ToolInvalidIndex, format!("there is no {what} {index}; there are {}", all.len()));
    usize::try_from(index).ok().and_then(|index| all.get(index)).ok_or_else(wrong)
}

/// Returns the index of the item with a name. `what` names the kind of item for the error text, in the singular.
fn index_of_name(mut names: impl Iterator<Item = impl AsRef<str>>, name: &[u8], what: &str) -> Result<usize> {
    let wrong = || {
        let name = String::from_utf8_lossy(name);
        Error::new(Class::ToolInvalidName, format!("there is no {what} named {name}"))
    };
    names.position(|known| known.as_ref().as_bytes() == name).ok_or_else(wrong)
}

fn no_handle(id: ToolObjectId) -> Error {
    Error::new(Class::ToolInvalidHandle, format!("{id:#x} is not a handle of this kind, or was freed"))
}
