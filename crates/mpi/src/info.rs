//! Info objects: ordered pairs of a key and a value (MPI-5.0 chapter 10). Usable at any time by any thread.
//!
//! Keys and values are bytes as the application gave them. Their maximum lengths depend on the ABI and are arguments
//! (`InfoLimits`). Used by `abi::info` and modules that read or make info objects; uses `registry`.

use crate::registry::ObjectRegistry;
use hawser_base::handle::info;
use hawser_base::{Class, Error, Handle, Result};
use hawser_boot::agent_connection::program_size_before;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

/// The maximum lengths of a key and of a value in bytes, without a terminating zero.
#[derive(Clone, Copy, Debug)]
pub struct InfoLimits {
    pub key: usize,
    pub value: usize,
}

/// One object's pairs, in the order in which their keys were first set.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Info {
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The working directory of the program at its first call of MPI.
static START_DIRECTORY: OnceLock<Option<PathBuf>> = OnceLock::new();

/// The number of processes of this program, once the launcher has reported it.
static PROGRAM_SIZE: OnceLock<u32> = OnceLock::new();

static INFOS: ObjectRegistry<Arc<Mutex<Info>>> = ObjectRegistry::new("info objects");

impl Info {
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.pairs.iter().find(|(k, _)| k == key).map(|(_, value)| &value[..])
    }

    pub fn set(&mut self, key: &[u8], value: &[u8]) {
        match self.pairs.iter_mut().find(|(k, _)| k == key) {
            Some((_, old)) => *old = value.to_vec(),
            None => self.pairs.push((key.to_vec(), value.to_vec())),
        }
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        let before = self.pairs.len();
        self.pairs.retain(|(k, _)| k != key);
        self.pairs.len() < before
    }
}

/// MPI_Info_create.
pub fn create() -> Result<Handle> {
    insert(Info::default())
}

/// Makes an info object of pairs that a module has made (MPI_Comm_get_info); returns its handle.
pub fn insert(info: Info) -> Result<Handle> {
    INFOS.insert(Arc::new(Mutex::new(info)))
}

/// MPI_Info_create_env: the contents of MPI_INFO_ENV. `argv` is the program's name and its arguments, or empty if the
/// caller does not have them.
pub fn create_env(argv: &[Vec<u8>]) -> Result<Handle> {
    insert(environment(argv))
}

/// MPI_Info_dup.
pub fn dup(handle: Handle) -> Result<Handle> {
    insert(copy(handle)?)
}

/// The pairs of an object as they are now.
pub fn copy(handle: Handle) -> Result<Info> {
    with(handle, |info| info.clone())
}

/// The pairs of an `info` argument, which may be MPI_INFO_NULL.
pub fn hints(handle: Handle) -> Result<Info> {
    if handle.is_null() { Ok(Info::default()) } else { copy(handle) }
}

/// The number of info objects that the program has not freed.
pub fn live_count() -> usize {
    INFOS.len()
}

/// MPI_Info_free.
pub fn free(handle: Handle) -> Result<()> {
    if handle == info::ENV {
        return Err(Error::new(Class::Info, "MPI_INFO_ENV is predefined and cannot be freed"));
    }
    INFOS.remove(handle).map(drop).ok_or_else(|| no_info(handle))
}

/// MPI_Info_set (MPI_ERR_INFO_KEY, MPI_ERR_INFO_VALUE).
pub fn set(handle: Handle, key: &[u8], value: &[u8], limits: InfoLimits) -> Result<()> {
    check_key(key, limits)?;
    if value.len() > limits.value {
        let text = format!("the value of key {} has {} bytes; at most {} fit", quoted(key), value.len(), limits.value);
        return Err(Error::new(Class::InfoValue, text));
    }
    change(handle, |info| info.set(key, value))
}

/// Stores a call's result in its `info` argument, if that is an object that can be changed.
pub fn store_result(handle: Handle, key: &[u8], value: &[u8]) -> Result<()> {
    if handle.is_null() || handle == info::ENV { Ok(()) } else { change(handle, |info| info.set(key, value)) }
}

/// MPI_Info_delete (MPI_ERR_INFO_NOKEY).
pub fn delete(handle: Handle, key: &[u8], limits: InfoLimits) -> Result<()> {
    check_key(key, limits)?;
    let no_key = || Error::new(Class::InfoNokey, format!("the info object has no key {}", quoted(key)));
    if change(handle, |info| info.delete(key))? { Ok(()) } else { Err(no_key()) }
}

/// MPI_Info_get, _get_string and _get_valuelen. None: the key is not set.
pub fn get(handle: Handle, key: &[u8], limits: InfoLimits) -> Result<Option<Vec<u8>>> {
    check_key(key, limits)?;
    with(handle, |info| info.get(key).map(<[u8]>::to_vec))
}

/// MPI_Info_get_nkeys.
pub fn keys(handle: Handle) -> Result<usize> {
    with(handle, |info| info.pairs.len())
}

/// MPI_Info_get_nthkey: keys are numbered from 0 in the order in which they were set.
pub fn nth_key(handle: Handle, n: i32) -> Result<Vec<u8>> {
    with(handle, |info| {
        let found = usize::try_from(n).ok().and_then(|n| info.pairs.get(n));
        found.map(|(key, _)| key.clone()).ok_or_else(|| {
            Error::new(Class::Arg, format!("there is no key number {n}; the info object has {}", info.pairs.len()))
        })
    })?
}

fn with<R>(handle: Handle, f: impl FnOnce(&Info) -> R) -> Result<R> {
    if handle == info::ENV {
        return Ok(f(&environment(&[])));
    }
    let info = INFOS.get(handle).ok_or_else(|| no_info(handle))?;
    let info = info.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    Ok(f(&info))
}

fn change<R>(handle: Handle, f: impl FnOnce(&mut Info) -> R) -> Result<R> {
    if handle == info::ENV {
        return Err(Error::new(Class::Info, "MPI_INFO_ENV cannot be changed; change a copy (MPI_Info_dup)"));
    }
    let info = INFOS.get(handle).ok_or_else(|| no_info(handle))?;
    let mut info = info.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    Ok(f(&mut info))
}

fn check_key(key: &[u8], limits: InfoLimits) -> Result<()> {
    if key.is_empty() {
        return Err(Error::new(Class::InfoKey, "the key is empty"));
    }
    if key.len() > limits.key {
        let text = format!("key {} has {} bytes; at most {} fit", quoted(key), key.len(), limits.key);
        return Err(Error::new(Class::InfoKey, text));
    }
    Ok(())
}

/// A key in quotation marks, for error messages; at most 40 bytes of it.
fn quoted(key: &[u8]) -> String {
    let text = String::from_utf8_lossy(&key[..key.len().min(40)]).into_owned();
    if key.len() > 40 { format!("\"{text}...\"") } else { format!("\"{text}\"") }
}

#[cold]
fn no_info(handle: Handle) -> Error {
    let text = if handle.is_null() {
        "the info object is MPI_INFO_NULL".to_owned()
    } else {
        format!("info object {handle:?} does not exist; it was freed before")
    };
    Error::new(Class::Info, text)
}

/// The contents of MPI_INFO_ENV: how this process was started (MPI-5.0 §11.2.1). In a job of several programs they
/// are about its own program. `file` and `thread_level` are absent: mpiexec's `-file` is another name of
/// `-configfile`, and it has no option for a thread level.
fn environment(argv: &[Vec<u8>]) -> Info {
    let started: Vec<Vec<u8>> = match argv {
        [] => std::env::args_os().map(OsStringExt::into_vec).collect(),
        argv => argv.to_vec(),
    };
    let mut info = Info::default();
    if let Some((command, arguments)) = started.split_first() {
        info.set(b"command", command);
        info.set(b"argv", &arguments.join(&b' '));
    }
    info.set(b"host", hawser_os::host::name().as_bytes());
    info.set(b"arch", hawser_os::host::machine().as_bytes());
    if let Some(directory) = START_DIRECTORY.get_or_init(|| std::env::current_dir().ok()) {
        info.set(b"wdir", directory.as_os_str().as_bytes());
    }
    // Before MPI_Init the value comes from environment variables. It is 1 if the process runs alone.
    let processes = PROGRAM_SIZE.get().copied().or_else(program_size_before);
    if let Some(processes) = processes {
        // `soft` is the same number, because a job is never started with fewer processes than requested.
        let processes = processes.to_string();
        info.set(b"maxprocs", processes.as_bytes());
        info.set(b"soft", processes.as_bytes());
    }
    info
}

/// Records the number of the program's processes.
pub fn record_program_size(processes: u32) {
    let _ = PROGRAM_SIZE.set(processes);
}

/// Records the current directory, before the program changes it. Only the first call has an effect.
pub fn record_start_directory() {
    START_DIRECTORY.get_or_init(|| std::env::current_dir().ok());
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: InfoLimits = InfoLimits { key: 8, value: 16 };

    fn refused<T>(result: Result<T>) -> Class {
        result.err().expect("it should have been refused").class()
    }

    fn pairs(handle: Handle) -> Vec<(Vec<u8>, Vec<u8>)> {
        copy(handle).unwrap().pairs
    }

    #[test]
    fn keys_keep_the_order_in_which_they_were_first_set() {
        let info = create().unwrap();
        for (key, value) in [(&b"b"[..], &b"1"[..]), (b"a", b"2"), (b"b", b"3"), (b"c", b"")] {
            set(info, key, value, LIMITS).unwrap();
        }
        assert_eq!(keys(info).unwrap(), 3);
        assert_eq!([0, 1, 2].map(|n| nth_key(info, n).unwrap()), [b"b", b"a", b"c"]);
        assert_eq!(get(info, b"b", LIMITS).unwrap().as_deref(), Some(&b"3"[..]));
        assert_eq!(get(info, b"c", LIMITS).unwrap().as_deref(), Some(&b""[..]));
        assert_eq!(get(info, b"d", LIMITS).unwrap(), None);
        delete(info, b"b", LIMITS).unwrap();
        assert_eq!(nth_key(info, 0).unwrap(), b"a");
        free(info).unwrap();
    }

    #[test]
    fn a_copy_does_not_follow_its_original() {
        let first = create().unwrap();
        set(first, b"key", b"old", LIMITS).unwrap();
        let second = dup(first).unwrap();
        set(first, b"key", b"new", LIMITS).unwrap();
        free(first).unwrap();
        assert_eq!(pairs(second), [(b"key".to_vec(), b"old".to_vec())]);
        free(second).unwrap();
    }

    #[test]
    fn lengths_are_those_of_the_abi() {
        let info = create().unwrap();
        set(info, b"12345678", b"1234567890123456", LIMITS).unwrap();
        assert_eq!(refused(set(info, b"123456789", b"", LIMITS)), Class::InfoKey);
        assert_eq!(refused(set(info, b"", b"", LIMITS)), Class::InfoKey);
        assert_eq!(refused(set(info, b"1", b"12345678901234567", LIMITS)), Class::InfoValue);
        assert_eq!(refused(get(info, b"123456789", LIMITS)), Class::InfoKey);
        assert_eq!(refused(delete(info, b"", LIMITS)), Class::InfoKey);
        free(info).unwrap();
    }

    #[test]
    fn what_is_missing_has_its_own_class() {
        let info = create().unwrap();
        assert_eq!(refused(delete(info, b"key", LIMITS)), Class::InfoNokey);
        assert_eq!(refused(nth_key(info, 0)), Class::Arg);
        assert_eq!(refused(nth_key(info, -1)), Class::Arg);
        free(info).unwrap();
        for dead in [info, Handle::NULL] {
            assert_eq!(refused(free(dead)), Class::Info);
            assert_eq!(refused(set(dead, b"key", b"", LIMITS)), Class::Info);
            assert_eq!(refused(keys(dead)), Class::Info);
            assert_eq!(refused(dup(dead)), Class::Info);
        }
        assert_eq!(hints(Handle::NULL).unwrap(), Info::default());
        assert_eq!(refused(hints(info)), Class::Info);
    }

    #[test]
    fn the_environment_is_read_only_and_says_how_the_program_was_started() {
        assert_eq!(refused(set(info::ENV, b"key", b"", LIMITS)), Class::Info);
        assert_eq!(refused(delete(info::ENV, b"host", LIMITS)), Class::Info);
        assert_eq!(refused(free(info::ENV)), Class::Info);
        let host = get(info::ENV, b"host", LIMITS).unwrap().unwrap();
        assert_eq!(host, hawser_os::host::name().into_bytes());
        let command = get(info::ENV, b"command", LIMITS).unwrap().unwrap();
        assert_eq!(Some(command), std::env::args_os().next().map(OsStringExt::into_vec));
        let given = create_env(&[b"prog".to_vec(), b"-x".to_vec(), b"1".to_vec()]).unwrap();
        assert_eq!(get(given, b"command", LIMITS).unwrap().unwrap(), b"prog");
        assert_eq!(get(given, b"argv", LIMITS).unwrap().unwrap(), b"-x 1");
        set(given, b"key", b"mine", LIMITS).unwrap();
        free(given).unwrap();
    }
}
