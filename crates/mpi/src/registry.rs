//! Objects that exist before MPI_Init and after MPI_Finalize: a table of handles under a lock.
//!
//! Info objects, error handlers and error codes may be used at any time by any thread (MPI-5.0 §11.4.1), so they
//! cannot rely on the thread level as a bare `HandleTable` does. No function of the application runs under the lock.
//! That includes destructors: `remove` returns the object, and the caller drops it.
//!
//! Used by `info`, `errhandler`, `attributes` and `session_table`, and for the error `full` by `ops`, `process` and
//! `types`; uses `base::handle_table`.

use hawser_base::handle_table::HandleTable;
use hawser_base::{Class, Error, Handle, Result};
use std::sync::{Mutex, MutexGuard};

/// A table of handles under a lock. Objects are cheap to clone (`Arc`).
pub struct ObjectRegistry<T> {
    table: Mutex<HandleTable<T>>,
    plural_name: &'static str,
}

impl<T: Clone> ObjectRegistry<T> {
    /// `what` names the objects in the plural, for the error when there are too many.
    pub const fn new(what: &'static str) -> ObjectRegistry<T> {
        ObjectRegistry { table: Mutex::new(HandleTable::new()), plural_name: what }
    }

    fn table(&self) -> MutexGuard<'_, HandleTable<T>> {
        self.table.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn insert(&self, object: T) -> Result<Handle> {
        let inserted = self.table().insert(object);
        inserted.ok_or_else(|| full(self.plural_name))
    }

    pub fn get(&self, handle: Handle) -> Option<T> {
        let table = self.table();
        let found = table.get(handle);
        found.map(|object| T::clone(&object))
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.table().live().len()
    }

    /// Invalidates the handle and returns the object; `None` if the handle was invalid.
    pub fn remove(&self, handle: Handle) -> Option<T> {
        let table = self.table();
        let object = table.get(handle).map(|object| T::clone(&object))?;
        table.remove(handle).then_some(object)
    }
}

/// The error when all handles of a kind are in use.
#[cold]
pub fn full(what: &str) -> Error {
    Error::new(Class::Other, format!("there are more {what} than handles ({}); free some", Handle::SLOTS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_object_is_dropped_by_who_removed_it() {
        let registry = ObjectRegistry::new("test objects");
        let object = Arc::new(());
        let handle = registry.insert(object.clone()).unwrap();
        assert!(Arc::ptr_eq(&registry.get(handle).unwrap(), &object));
        let removed = registry.remove(handle).unwrap();
        assert_eq!(Arc::strong_count(&object), 2, "ours and the one given out");
        drop(removed);
        assert!(registry.get(handle).is_none() && registry.remove(handle).is_none());
    }
}
