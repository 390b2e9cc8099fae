//! Datatype handles: predefined ones by number, the application's in a table (MPI-5.0 chapter 5).
//!
//! The `datatype` crate has the types themselves; here they get a handle, a name and attributes. Used by `buffer`,
//! `ops`, `leaks`, `collective` and `abi` (`datatype`, `layout`, `attributes`); uses the `datatype` crate.

use crate::attributes::Attributes;
use crate::init_state;
use crate::registry::full;
use hawser_base::handle::{ObjectKind, datatype, mpich_datatype};
use hawser_base::handle_table::HandleTable;
use hawser_base::{Class, Error, Handle, Result};
use hawser_datatype::{Basic, Contents, Datatype};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// All datatypes that have a handle.
pub struct DatatypeTable {
    entries: HandleTable<DatatypeEntry>,
    /// Names and attributes that the application gave to predefined types, by number.
    predefined: [OnceLock<Box<DatatypeExtras>>; Handle::FIRST_DYNAMIC as usize],
    /// Types that a constructor returns again for equal arguments (those of Fortran's kinds), and their handles,
    /// which stay valid for good (MPI-5.0 §19.1.5).
    predefined_handles: Mutex<Vec<(Arc<Datatype>, Handle)>>,
}

static TYPES: DatatypeTable = DatatypeTable::new();

impl DatatypeTable {
    const fn new() -> DatatypeTable {
        DatatypeTable {
            entries: HandleTable::new(),
            predefined: [const { OnceLock::new() }; _],
            predefined_handles: Mutex::new(Vec::new()),
        }
    }
}

/// A type in the table.
pub struct DatatypeEntry {
    pub datatype: Arc<Datatype>,
    extras: DatatypeExtras,
}

/// The name and attributes of a type.
#[derive(Default)]
struct DatatypeExtras {
    name: Mutex<Option<Vec<u8>>>,
    attributes: Attributes,
}

impl DatatypeExtras {
    fn name(&self) -> MutexGuard<'_, Option<Vec<u8>>> {
        self.name.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The predefined type of a handle, by its number.
const BASICS: [Option<Basic>; Handle::FIRST_DYNAMIC as usize] = basics();

const fn basics() -> [Option<Basic>; Handle::FIRST_DYNAMIC as usize] {
    let mut table = [None; Handle::FIRST_DYNAMIC as usize];
    let (mut set, sets) = (0, [datatype::ALL, mpich_datatype::ALL]);
    while set < sets.len() {
        let mut i = 0;
        while i < sets[set].len() {
            let (name, handle) = sets[set][i];
            let mut b = 0;
            while b < Basic::ALL.len() {
                if same(Basic::ALL[b].name(), name) && table[handle.bits() as usize].is_none() {
                    table[handle.bits() as usize] = Some(Basic::ALL[b]);
                }
                b += 1;
            }
            i += 1;
        }
        set += 1;
    }
    table
}

/// The number of each predefined type's handle.
const HANDLE_NUMBERS: [u8; Basic::ALL.len()] = {
    let mut numbers = [0; Basic::ALL.len()];
    let mut number = 0;
    while number < BASICS.len() {
        if let Some(basic) = BASICS[number] {
            numbers[basic as usize] = number as u8;
        }
        number += 1;
    }
    let mut b = 0;
    while b < numbers.len() {
        assert!(numbers[b] != 0, "a predefined type has no handle");
        b += 1;
    }
    numbers
};

pub(crate) const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// The predefined type of a handle.
#[inline(always)]
pub fn basic(handle: Handle) -> Option<Basic> {
    *BASICS.get(handle.bits() as usize)?
}

/// The handle of a predefined type.
pub const fn handle_of(basic: Basic) -> Handle {
    Handle::predefined(HANDLE_NUMBERS[basic as usize])
}

/// All datatypes that have a handle (MPI_ERR_OTHER if MPI is not in use).
fn types() -> Result<&'static DatatypeTable> {
    init_state::check().map(|()| &TYPES)
}

/// Calls `f` with the datatype of a handle (MPI_ERR_TYPE).
#[inline(always)]
pub fn with<R>(handle: Handle, f: impl FnOnce(&Arc<Datatype>) -> R) -> Result<R> {
    match basic(handle) {
        Some(basic) => Ok(f(Datatype::basic(basic))),
        None => match TYPES.entries.get(handle) {
            Some(entry) => Ok(f(&entry.datatype)),
            None => Err(no_type(handle)),
        },
    }
}

/// The datatype of a handle (MPI_ERR_TYPE).
pub fn get(handle: Handle) -> Result<Arc<Datatype>> {
    with(handle, Arc::clone)
}

#[cold]
fn no_type(handle: Handle) -> Error {
    let text = if handle.is_null() {
        "the datatype is MPI_DATATYPE_NULL".to_owned()
    } else {
        format!("datatype {handle:?} does not exist; it was freed before")
    };
    Error::new(Class::Type, text)
}

/// Returns a handle for a type that a constructor has made. A predefined type has its handle already.
pub fn insert(datatype: Arc<Datatype>) -> Result<Handle> {
    TYPES.insert(datatype)
}

/// MPI_Type_commit.
pub fn commit(handle: Handle) -> Result<()> {
    types()?;
    with(handle, |datatype| datatype.commit())
}

/// MPI_Type_free. The attributes of the type are deleted first; types made of it and pending calls keep what they
/// need (§5.1.9).
pub fn free(handle: Handle) -> Result<()> {
    types()?.free(handle)
}

/// The names of the datatypes that the program has not freed; a datatype without a name has the empty one.
pub fn live_names() -> Vec<String> {
    let types = &TYPES;
    let predefined_handles: Vec<Handle> =
        types.predefined_handles.lock().unwrap_or_else(|p| p.into_inner()).iter().map(|(_, handle)| *handle).collect();
    let own = types.entries.live().into_iter().filter(|handle| !predefined_handles.contains(handle));
    own.filter_map(|handle| types.name(handle).ok()).map(|name| String::from_utf8_lossy(&name).into_owned()).collect()
}

/// MPI_Type_dup. Attributes are copied as their keys require; the commit state is copied too, but the name is not
/// (§5.1.10).
pub fn dup(handle: Handle) -> Result<Handle> {
    types()?.dup(handle)
}

/// MPI_Type_get_name. Predefined types and MPI_DATATYPE_NULL have the names of their constants from the start; other
/// types have an empty name until one is set.
pub fn name(handle: Handle) -> Result<Vec<u8>> {
    types()?.name(handle)
}

/// MPI_Type_set_name.
pub fn set_name(handle: Handle, name: &[u8]) -> Result<()> {
    types()?.extras(handle, |extras| *extras.name() = Some(name.to_vec()))
}

/// MPI_Type_set_attr.
pub fn set_attr(handle: Handle, keyval: Handle, value: usize) -> Result<()> {
    types()?.extras(handle, |extras| extras.attributes.set(ObjectKind::Datatype, handle, keyval, value))?
}

/// MPI_Type_get_attr.
pub fn get_attr(handle: Handle, keyval: Handle) -> Result<Option<usize>> {
    types()?.extras(handle, |extras| extras.attributes.get(ObjectKind::Datatype, keyval))?
}

/// MPI_Type_delete_attr.
pub fn delete_attr(handle: Handle, keyval: Handle) -> Result<()> {
    types()?.extras(handle, |extras| extras.attributes.delete(ObjectKind::Datatype, handle, keyval))?
}

/// The results of MPI_Type_get_contents, and the handles of the types in it; the application frees those that are not
/// predefined (§5.1.13).
pub fn contents(handle: Handle) -> Result<(Contents, Vec<Handle>)> {
    types()?.contents(handle)
}

/// Calls `f`, which calls a function of the application, with a handle of `datatype` that is valid until `f` returns:
/// `handle`, or a temporary one if the application has freed `handle`.
pub fn with_live_handle<R>(handle: Handle, datatype: &Arc<Datatype>, f: impl FnOnce(Handle) -> R) -> R {
    if TYPES.is_handle_of(handle, datatype) { f(handle) } else { TYPES.with_temporary_handle(handle, datatype, f) }
}

impl DatatypeTable {
    fn insert(&self, datatype: Arc<Datatype>) -> Result<Handle> {
        if let Some(basic) = datatype.as_basic() {
            return Ok(handle_of(basic));
        }
        if !datatype.is_predefined() {
            return self.insert_new(datatype);
        }
        let mut predefined_handles = self.predefined_handles.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, handle)) = predefined_handles.iter().find(|(other, _)| same_arguments(other, &datatype)) {
            return Ok(*handle);
        }
        let handle = self.insert_new(datatype.clone())?;
        predefined_handles.push((datatype, handle));
        Ok(handle)
    }

    fn insert_new(&self, datatype: Arc<Datatype>) -> Result<Handle> {
        self.entries
            .insert(DatatypeEntry { datatype, extras: DatatypeExtras::default() })
            .ok_or_else(|| full("datatypes"))
    }

    /// The type of a handle.
    fn get(&self, handle: Handle) -> Result<Arc<Datatype>> {
        match basic(handle) {
            Some(basic) => Ok(Datatype::basic(basic).clone()),
            None => self.entries.get(handle).map(|entry| entry.datatype.clone()).ok_or_else(|| no_type(handle)),
        }
    }

    fn is_handle_of(&self, handle: Handle, datatype: &Arc<Datatype>) -> bool {
        basic(handle).is_some() || self.entries.get(handle).is_some_and(|entry| Arc::ptr_eq(&entry.datatype, datatype))
    }

    #[cold]
    fn with_temporary_handle<R>(&self, freed: Handle, datatype: &Arc<Datatype>, f: impl FnOnce(Handle) -> R) -> R {
        let Ok(handle) = self.insert_new(datatype.clone()) else { return f(freed) };
        let result = f(handle);
        self.entries.remove(handle);
        result
    }

    /// Calls `f` with the name and attributes of a type; no lock is held meanwhile.
    fn extras<R>(&self, handle: Handle, f: impl FnOnce(&DatatypeExtras) -> R) -> Result<R> {
        if basic(handle).is_some() {
            return Ok(f(self.predefined[handle.bits() as usize].get_or_init(Box::default)));
        }
        let entry = self.entries.get(handle).ok_or_else(|| no_type(handle))?;
        Ok(f(&entry.extras))
    }

    fn name(&self, handle: Handle) -> Result<Vec<u8>> {
        if handle.is_null() {
            return Ok(b"MPI_DATATYPE_NULL".to_vec());
        }
        let default = basic(handle).map_or("", Basic::name);
        self.extras(handle, |extras| extras.name().clone().unwrap_or_else(|| default.into()))
    }

    fn free(&self, handle: Handle) -> Result<()> {
        if self.get(handle)?.is_predefined() {
            let name = String::from_utf8_lossy(&self.name(handle)?).into_owned();
            let name = if name.is_empty() { "the datatype".to_owned() } else { name };
            return Err(Error::new(Class::Type, format!("{name} is predefined and cannot be freed")));
        }
        self.extras(handle, |extras| extras.attributes.delete_all(handle))??;
        if self.entries.remove(handle) { Ok(()) } else { Err(no_type(handle)) }
    }

    fn dup(&self, handle: Handle) -> Result<Handle> {
        let new = self.insert_new(Datatype::dup(&self.get(handle)?)?)?;
        let copied =
            self.extras(handle, |old| self.extras(new, |new| new.attributes.copy_from(&old.attributes, handle)));
        if let Err(error) = copied.and_then(|inner| inner?) {
            // The error of the copy is returned; errors of these deletions are ignored.
            let _ = self.extras(new, |extras| extras.attributes.delete_all(new));
            self.entries.remove(new);
            return Err(error);
        }
        Ok(new)
    }

    fn contents(&self, handle: Handle) -> Result<(Contents, Vec<Handle>)> {
        let contents = self.get(handle)?.contents()?;
        let mut handles = Vec::with_capacity(contents.types.len());
        for datatype in &contents.types {
            match self.insert(datatype.clone()) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    handles.iter().for_each(|&handle| drop(self.free(handle)));
                    return Err(error);
                }
            }
        }
        Ok((contents, handles))
    }
}

/// Whether two types were made by the same constructor from equal integers and the same types. It is meant for the
/// parametrised types of Fortran (MPI_Type_create_f90_real), for which there are no constants.
fn same_arguments(a: &Datatype, b: &Datatype) -> bool {
    if a.combiner() != b.combiner() {
        return false;
    }
    match (a.contents(), b.contents()) {
        (Ok(a), Ok(b)) => {
            let same_types = a.types.iter().map(Arc::as_ptr).eq(b.types.iter().map(Arc::as_ptr));
            a.integers == b.integers && same_types
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
