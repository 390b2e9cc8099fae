//! Attributes: values that the application attaches to communicators and datatypes under keys of its own (MPI-5.0
//! §7.7).
//!
//! Copy and delete functions of the application run with no lock held and may call MPI. While the delete function of
//! an attribute runs, the attribute is not set. An object that is freed deletes its attributes in the reverse of the
//! order in which they were set, as MPI requires for MPI_COMM_SELF (§11.2.4).
//!
//! Used by `comm_attr`, `comm`, `types` and `abi::attributes`; uses `registry` and `errors`.

use crate::errors;
use crate::registry::ObjectRegistry;
use hawser_base::handle::{ObjectKind, keyval};
use hawser_base::{Class, Error, Handle, Result};
use std::sync::{Arc, Mutex, MutexGuard};

/// The error code of a callback of the application that fails: a code of the ABI-neutral numbering (`errors`).
pub type ErrorCode = i32;

/// A function that copies an attribute. Its arguments are the old object, the key and the value. `Ok(None)`: the new
/// object does not get the attribute.
pub type CopyCallback =
    Box<dyn Fn(Handle, Handle, usize) -> std::result::Result<Option<usize>, ErrorCode> + Send + Sync>;
/// A function that deletes an attribute. Its arguments are the object, the key and the value.
pub type DeleteCallback = Box<dyn Fn(Handle, Handle, usize) -> std::result::Result<(), ErrorCode> + Send + Sync>;

pub enum CopyRule {
    /// MPI_COMM_NULL_COPY_FN and its like: the attribute is not copied.
    Null,
    /// MPI_COMM_DUP_FN and its like: the copy has the same value.
    Dup,
    Call(CopyCallback),
}

pub enum DeleteRule {
    /// MPI_COMM_NULL_DELETE_FN and its like.
    Null,
    Call(DeleteCallback),
}

/// An attribute key. Its handle is valid until the key is freed and no attribute uses it (MPI-5.0 §7.7.2).
struct Keyval {
    /// The kind of objects that may have an attribute with this key.
    kind: ObjectKind,
    copy: CopyRule,
    delete: DeleteRule,
    usage: Mutex<KeyvalUsage>,
}

struct KeyvalUsage {
    freed: bool,
    attributes: usize,
}

static KEYVALS: ObjectRegistry<Arc<Keyval>> = ObjectRegistry::new("attribute keys");

impl Keyval {
    fn lock_usage(&self) -> MutexGuard<'_, KeyvalUsage> {
        self.usage.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Makes a key for objects of `kind`.
pub(crate) fn new_keyval(kind: ObjectKind, copy: CopyRule, delete: DeleteRule) -> Result<Handle> {
    let usage = Mutex::new(KeyvalUsage { freed: false, attributes: 0 });
    KEYVALS.insert(Arc::new(Keyval { kind, copy, delete, usage }))
}

/// MPI_Comm_free_keyval and its like. As long as attributes use a freed key, the key exists and its handle may be
/// passed to all functions, this one included: delete functions free the key of their own attribute (PETSc's do), and
/// MPICH and Open MPI let them.
pub fn free_keyval(kind: ObjectKind, handle: Handle) -> Result<()> {
    let keyval = find(kind, handle)?;
    let mut usage = keyval.lock_usage();
    usage.freed = true;
    let removed = (usage.attributes == 0).then(|| KEYVALS.remove(handle));
    drop(usage);
    drop(removed);
    Ok(())
}

/// Returns the key of a handle. The error is MPI_ERR_KEYVAL if the handle has no key for objects of `kind`.
fn find(kind: ObjectKind, handle: Handle) -> Result<Arc<Keyval>> {
    if handle.is_predefined() {
        let text = match keyval::name(handle).filter(|_| !handle.is_null()) {
            Some(name) => format!("{name} is predefined and can only be read"),
            None => "the attribute key is MPI_KEYVAL_INVALID".into(),
        };
        return Err(Error::new(Class::Keyval, text));
    }
    let found = KEYVALS.get(handle).ok_or_else(|| no_keyval(handle))?;
    if found.kind != kind {
        let text = format!("attribute key {handle:?} was created for objects of kind {:?}, not {kind:?}", found.kind);
        return Err(Error::new(Class::Keyval, text));
    }
    Ok(found)
}

#[cold]
fn no_keyval(handle: Handle) -> Error {
    Error::new(Class::Keyval, format!("attribute key {handle:?} does not exist; it was freed before"))
}

/// A counted use of a key: by an attribute, or by one that is about to be set.
struct KeyvalRef {
    handle: Handle,
    keyval: Arc<Keyval>,
}

impl KeyvalRef {
    fn new(handle: Handle, keyval: Arc<Keyval>) -> KeyvalRef {
        keyval.lock_usage().attributes += 1;
        KeyvalRef { handle, keyval }
    }
}

impl Clone for KeyvalRef {
    fn clone(&self) -> KeyvalRef {
        KeyvalRef::new(self.handle, self.keyval.clone())
    }
}

impl Drop for KeyvalRef {
    fn drop(&mut self) {
        let mut usage = self.keyval.lock_usage();
        usage.attributes -= 1;
        let removed = (usage.freed && usage.attributes == 0).then(|| KEYVALS.remove(self.handle));
        drop(usage);
        drop(removed);
    }
}

#[derive(Clone)]
struct Attribute {
    key: KeyvalRef,
    value: usize,
}

/// All attributes of one object, in the order in which they were set.
#[derive(Default)]
pub struct Attributes {
    list: Mutex<Vec<Attribute>>,
}

impl Attributes {
    fn list(&self) -> MutexGuard<'_, Vec<Attribute>> {
        self.list.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// MPI_Comm_set_attr. If the attribute was set before, it is deleted first.
    pub fn set(&self, kind: ObjectKind, object: Handle, keyval: Handle, value: usize) -> Result<()> {
        let key = KeyvalRef::new(keyval, find(kind, keyval)?);
        self.delete(kind, object, keyval)?;
        self.list().push(Attribute { key, value });
        Ok(())
    }

    /// MPI_Comm_get_attr. None: the attribute is not set.
    pub fn get(&self, kind: ObjectKind, keyval: Handle) -> Result<Option<usize>> {
        find(kind, keyval)?;
        Ok(self.list().iter().find(|a| a.key.handle == keyval).map(|a| a.value))
    }

    /// MPI_Comm_delete_attr. Nothing happens if the attribute is not set.
    pub fn delete(&self, kind: ObjectKind, object: Handle, keyval: Handle) -> Result<()> {
        find(kind, keyval)?;
        let mut list = self.list();
        let Some(at) = list.iter().position(|a| a.key.handle == keyval) else { return Ok(()) };
        let attribute = list.remove(at);
        drop(list);
        self.call_delete_callback(object, attribute, at)
    }

    /// Deletes all attributes, the last one set first. If a delete function fails, the result is its error; the
    /// attribute concerned and all that were set earlier stay.
    pub fn delete_all(&self, object: Handle) -> Result<()> {
        loop {
            let mut list = self.list();
            let Some(attribute) = list.pop() else { return Ok(()) };
            let at = list.len();
            drop(list);
            self.call_delete_callback(object, attribute, at)?;
        }
    }

    /// Calls the delete function of an attribute that was at index `at` and is taken out. If the function fails, the
    /// attribute is restored.
    fn call_delete_callback(&self, object: Handle, attribute: Attribute, at: usize) -> Result<()> {
        let DeleteRule::Call(function) = &attribute.key.keyval.delete else { return Ok(()) };
        let handle = attribute.key.handle;
        let Err(code) = function(object, handle, attribute.value) else { return Ok(()) };
        let mut list = self.list();
        let at = at.min(list.len());
        list.insert(at, attribute);
        drop(list);
        let text = format!("the delete function of attribute key {handle:?} returned {}", errors::describe(code));
        Err(errors::from_code(code, text))
    }

    /// Copies the attributes of `old` to this object, which was duplicated from it, in the order of their setting;
    /// the copy rule of each key decides. If a copy function fails, the caller deletes the attributes that this
    /// object has by then (`delete_all`) and abandons the new object (MPI-5.0 §7.7.2).
    pub fn copy_from(&self, old: &Attributes, old_object: Handle) -> Result<()> {
        let snapshot = old.list().clone();
        for Attribute { key, value } in snapshot {
            let copied = match &key.keyval.copy {
                CopyRule::Null => Ok(None),
                CopyRule::Dup => Ok(Some(value)),
                CopyRule::Call(function) => function(old_object, key.handle, value),
            };
            match copied {
                Ok(Some(value)) => self.list().push(Attribute { key, value }),
                Ok(None) => {}
                Err(code) => {
                    let what = errors::describe(code);
                    let text = format!("the copy function of attribute key {:?} returned {what}", key.handle);
                    return Err(errors::from_code(code, text));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
