//! The library of PMIx (libpmix), loaded at run time: the few functions that a rank of a PMIx launcher needs, with the
//! values that they take and give.
//!
//! Programs under other launchers never load it. The layouts are those of the PMIx standard, version 4, and of OpenPMIx
//! from version 3 on; memory that the library gives belongs to the caller and comes from malloc(3), as OpenPMIx has it.
//! Every function may wait for the server without limit; the caller sets one. Used by `boot::pmix`.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

/// The longest name of a job, in bytes (PMIX_MAX_NSLEN), and the longest key (PMIX_MAX_KEYLEN), each without its zero.
const JOB_NAME_MAX: usize = 255;
const KEY_MAX: usize = 511;

/// Types of values (pmix_common.h, PMIX_BOOL and so on).
const BOOL: u16 = 1;
const STRING: u16 = 3;
const UINT16: u16 = 13;
const UINT32: u16 = 14;
const BYTES: u16 = 27;
const RANK: u16 = 40;

/// PMIX_GLOBAL: a key for the processes of all hosts.
const GLOBAL: u8 = 3;
/// PMIX_RANK_WILDCARD: the job itself instead of one of its processes.
pub const WHOLE_JOB: u32 = u32::MAX - 1;
const SUCCESS: c_int = 0;
/// PMIX_ERR_NOT_FOUND.
const NOT_FOUND: c_int = -46;

/// `pmix_value_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Value {
    kind: u16,
    data: [u64; 3],
}

/// `pmix_proc_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Process {
    job: [u8; JOB_NAME_MAX + 1],
    rank: u32,
}

/// `pmix_info_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Info {
    key: [u8; KEY_MAX + 1],
    flags: u32,
    value: Value,
}

const _: () = assert!(size_of::<Value>() == 32 && size_of::<Process>() == 260 && size_of::<Info>() == 552);

type Init = unsafe extern "C" fn(*mut Process, *const Info, usize) -> c_int;
type Finalize = unsafe extern "C" fn(*const Info, usize) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Fence = unsafe extern "C" fn(*const Process, usize, *const Info, usize) -> c_int;
type Get = unsafe extern "C" fn(*const Process, *const c_char, *const Info, usize, *mut *mut Value) -> c_int;
type Abort = unsafe extern "C" fn(c_int, *const c_char, *const Process, usize) -> c_int;
type ResolveNodes = unsafe extern "C" fn(*const c_char, *mut *mut c_char) -> c_int;
type ResolvePeers = unsafe extern "C" fn(*const c_char, *const c_char, *mut *mut Process, *mut usize) -> c_int;
type ErrorString = unsafe extern "C" fn(c_int) -> *const c_char;

/// The loaded library. It stays loaded for the life of the process, because its threads run in it.
#[derive(Clone, Copy)]
pub struct Pmix {
    init: Init,
    finalize: Finalize,
    put: Put,
    commit: Commit,
    fence: Fence,
    get: Get,
    abort: Abort,
    resolve_nodes: ResolveNodes,
    resolve_peers: ResolvePeers,
    error_string: ErrorString,
}

/// The value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PmixValue {
    Number(u32),
    Text(String),
    Bytes(Vec<u8>),
}

impl Pmix {
    /// Loads the library `name`: a path, or a name that the dynamic loader finds.
    pub fn load(name: &str) -> Result<Pmix, String> {
        let name = CString::new(name).map_err(|error| error.to_string())?;
        // SAFETY: a string with its zero; the initializers of the library are those of a library that the user or the
        // launcher has chosen.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return Err(loader_error());
        }
        // SAFETY: each type is that of the function with this name in the PMIx standard.
        unsafe {
            Ok(Pmix {
                init: function(library, c"PMIx_Init")?,
                finalize: function(library, c"PMIx_Finalize")?,
                put: function(library, c"PMIx_Put")?,
                commit: function(library, c"PMIx_Commit")?,
                fence: function(library, c"PMIx_Fence")?,
                get: function(library, c"PMIx_Get")?,
                abort: function(library, c"PMIx_Abort")?,
                resolve_nodes: function(library, c"PMIx_Resolve_nodes")?,
                resolve_peers: function(library, c"PMIx_Resolve_peers")?,
                error_string: function(library, c"PMIx_Error_string")?,
            })
        }
    }

    /// Connects to the server that the environment names. Returns the name of this process's job, and its rank.
    pub fn init(&self) -> Result<(String, u32), String> {
        let mut process = Process { job: [0; JOB_NAME_MAX + 1], rank: 0 };
        // SAFETY: a place for the result, and no options.
        self.checked(unsafe { (self.init)(&raw mut process, ptr::null(), 0) })?;
        let job = CStr::from_bytes_until_nul(&process.job).map_err(|error| error.to_string())?;
        Ok((job.to_string_lossy().into_owned(), process.rank))
    }

    /// Ends the connection, after which the end of this process is no failure.
    pub fn finalize(&self) -> Result<(), String> {
        // SAFETY: no options.
        self.checked(unsafe { (self.finalize)(ptr::null(), 0) })
    }

    /// Keeps `bytes` under `key`, for `commit`.
    pub fn put(&self, key: &str, bytes: &[u8]) -> Result<(), String> {
        let key = checked_key(key)?;
        let mut value = Value { kind: BYTES, data: [bytes.as_ptr() as u64, bytes.len() as u64, 0] };
        // SAFETY: the key has its zero; the library copies the value, whose bytes are alive during the call.
        self.checked(unsafe { (self.put)(GLOBAL, key.as_ptr(), &raw mut value) })
    }

    /// Gives the server what was put.
    pub fn commit(&self) -> Result<(), String> {
        // SAFETY: the function takes nothing.
        self.checked(unsafe { (self.commit)() })
    }

    /// Waits until all processes of the job are in the fence, and brings to each host what all have committed.
    pub fn fence(&self) -> Result<(), String> {
        let collect = option("pmix.collect");
        // SAFETY: no processes stands for all of the job; one option.
        self.checked(unsafe { (self.fence)(ptr::null(), 0, &raw const collect, 1) })
    }

    /// The value that process `rank` of `job` has committed under `key`, or that the launcher has; waits for a process
    /// that has not committed yet. None if the process has committed others but not that, or the value has a type that
    /// is not used here.
    pub fn get(&self, job: &str, rank: u32, key: &str) -> Result<Option<PmixValue>, String> {
        let (process, key) = (process(job, rank)?, checked_key(key)?);
        let mut value: *mut Value = ptr::null_mut();
        // SAFETY: the process and the key are alive during the call; a place for the result; no options.
        let status = unsafe { (self.get)(&raw const process, key.as_ptr(), ptr::null(), 0, &raw mut value) };
        if status == NOT_FOUND {
            return Ok(None);
        }
        self.checked(status)?;
        if value.is_null() {
            return Ok(None);
        }
        // SAFETY: the library has given a value, which is now ours, with the memory that it names.
        unsafe {
            let taken = take(&*value);
            libc::free(value.cast());
            Ok(taken)
        }
    }

    /// Requests the end of all processes of the job, with the exit code `code`.
    pub fn abort(&self, code: i32) -> Result<(), String> {
        // SAFETY: an empty text; no processes stands for all of the job.
        self.checked(unsafe { (self.abort)(code, c"".as_ptr(), ptr::null(), 0) })
    }

    /// The ranks of `job` on each of its nodes.
    pub fn nodes(&self, job: &str) -> Result<Vec<Vec<u32>>, String> {
        let job_name = CString::new(job).map_err(|error| error.to_string())?;
        let mut list: *mut c_char = ptr::null_mut();
        // SAFETY: the name has its zero; a place for the result.
        self.checked(unsafe { (self.resolve_nodes)(job_name.as_ptr(), &raw mut list) })?;
        if list.is_null() {
            return Err("the job has no nodes".into());
        }
        // SAFETY: the library has given a string, which is ours.
        let names = unsafe {
            let names = CStr::from_ptr(list).to_string_lossy().into_owned();
            libc::free(list.cast());
            names
        };
        names.split(',').map(|node| self.ranks_on(node, &process(job, 0)?)).collect()
    }

    fn ranks_on(&self, node: &str, of: &Process) -> Result<Vec<u32>, String> {
        let node = CString::new(node).map_err(|error| error.to_string())?;
        let (mut processes, mut number): (*mut Process, usize) = (ptr::null_mut(), 0);
        // SAFETY: the names have their zeros, that of the job in an array of the length that the library reads; places
        // for the results.
        self.checked(unsafe {
            (self.resolve_peers)(node.as_ptr(), of.job.as_ptr().cast(), &raw mut processes, &raw mut number)
        })?;
        if processes.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: the library has given `number` processes, which are ours.
        unsafe {
            let ranks = std::slice::from_raw_parts(processes, number).iter().map(|process| process.rank).collect();
            libc::free(processes.cast());
            Ok(ranks)
        }
    }

    fn checked(&self, status: c_int) -> Result<(), String> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: any number; the library gives a text that stays.
        let text = unsafe { (self.error_string)(status) };
        match text.is_null() {
            true => Err(format!("status {status}")),
            // SAFETY: as above.
            false => Err(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()),
        }
    }
}

/// The function of type `F` that the library has under `name`.
///
/// # Safety
/// `F` is the type of that function.
unsafe fn function<F: Copy>(library: *mut c_void, name: &CStr) -> Result<F, String> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: an open library, and a name with its zero.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    match address.is_null() {
        true => Err(loader_error()),
        // SAFETY: the address is that of a function, whose type the caller knows.
        false => Ok(unsafe { std::mem::transmute_copy(&address) }),
    }
}

/// The dynamic loader's text about the last failure of this thread.
fn loader_error() -> String {
    // SAFETY: the text is valid until this thread's next call of the loader.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() { "no cause".into() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}

fn checked_key(key: &str) -> Result<CString, String> {
    let is_short = key.len() <= KEY_MAX;
    CString::new(key).ok().filter(|_| is_short).ok_or_else(|| format!("{key:?} is no key"))
}

fn process(job: &str, rank: u32) -> Result<Process, String> {
    Ok(Process { job: padded(job)?, rank })
}

/// `text` with zeros behind it.
fn padded<const LEN: usize>(text: &str) -> Result<[u8; LEN], String> {
    let mut place = [0; LEN];
    match place.get_mut(..text.len()).filter(|_| text.len() < LEN) {
        Some(start) => start.copy_from_slice(text.as_bytes()),
        None => return Err(format!("{text:?} is too long")),
    }
    Ok(place)
}

/// The option `key`, which is set.
fn option(key: &str) -> Info {
    let value = Value { kind: BOOL, data: [1, 0, 0] };
    Info { key: padded(key).expect("an option of this file is a key"), flags: 0, value }
}

/// Reads a value, and frees the memory that it names.
///
/// # Safety
/// The value is one that the library has given, and is not read again.
unsafe fn take(value: &Value) -> Option<PmixValue> {
    let (number, address, len) = (value.data[0], value.data[0] as *mut c_void, value.data[1] as usize);
    match value.kind {
        UINT32 | RANK => Some(PmixValue::Number(number as u32)),
        UINT16 => Some(PmixValue::Number(u32::from(number as u16))),
        STRING | BYTES if address.is_null() => Some(PmixValue::Bytes(Vec::new())),
        // SAFETY: the type says what the address is that of; the memory is ours.
        STRING => unsafe {
            let text = CStr::from_ptr(address.cast()).to_string_lossy().into_owned();
            libc::free(address);
            Some(PmixValue::Text(text))
        },
        // SAFETY: as above, with the number of bytes.
        BYTES => unsafe {
            let bytes = std::slice::from_raw_parts(address.cast::<u8>(), len).to_vec();
            libc::free(address);
            Some(PmixValue::Bytes(bytes))
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_missing_or_another_is_named() {
        let text = Pmix::load("libhawser-no-such.so.2").err().unwrap();
        assert!(text.contains("libhawser-no-such.so.2"), "{text}");
        let text = Pmix::load("libc.so.6").err().unwrap();
        assert!(text.contains("PMIx_Init"), "{text}");
    }

    #[test]
    fn names_have_their_zero() {
        assert_eq!(process("ab", 7).unwrap().job[..3], *b"ab\0");
        assert!(process(&"x".repeat(255), 0).is_ok() && process(&"x".repeat(256), 0).is_err());
        assert!(
            checked_key("hawser").is_ok() && checked_key("a\0b").is_err() && checked_key(&"k".repeat(512)).is_err()
        );
        assert_eq!(&option("pmix.collect").key[..13], b"pmix.collect\0");
    }

    #[test]
    fn values_are_taken_by_their_type() {
        let copy = |text: &[u8]| {
            // SAFETY: new memory that is large enough.
            unsafe {
                let place = libc::malloc(text.len());
                ptr::copy_nonoverlapping(text.as_ptr(), place.cast(), text.len());
                place as u64
            }
        };
        // SAFETY: values as the library gives them.
        let taken = |kind, data| unsafe { take(&Value { kind, data }) };
        assert_eq!(taken(UINT32, [u64::from(u32::MAX), 0, 0]), Some(PmixValue::Number(u32::MAX)));
        assert_eq!(taken(UINT16, [0xabcd_0003, 0, 0]), Some(PmixValue::Number(3)));
        assert_eq!(taken(STRING, [copy(b"0,1\0"), 0, 0]), Some(PmixValue::Text("0,1".into())));
        assert_eq!(taken(BYTES, [copy(b"\0\x01"), 2, 0]), Some(PmixValue::Bytes(vec![0, 1])));
        assert_eq!(taken(BYTES, [0, 0, 0]), Some(PmixValue::Bytes(Vec::new())));
        assert_eq!(taken(BOOL, [1, 0, 0]), None);
    }
}
