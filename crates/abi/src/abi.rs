//! The definition of an ABI: the C types, numbers and layouts by which two `mpi.h` differ.
//!
//! Inside Hawser handles are `Handle` and constants have the standard ABI's values (`base::value`). An implementation
//! of `Abi` translates in both directions, and gives access to `node` (`start`, `tools`); it contains nothing else.
//! Implemented by `abi-std` and `abi-mpich`; used by every generic function of this crate.

use hawser_base::Handle;
use hawser_base::handle::ObjectKind;
use hawser_base::value::Set;
use hawser_mpi::process::Process;
use hawser_mpi::tools::CategorySpec;
use std::ffi::c_int;

/// The C type of the handles of one kind of object.
pub trait CHandle: Copy + 'static {
    const KIND: ObjectKind;

    /// Hawser's handle; None if no handle of this kind has this value. A freed object's handle still decodes: only the
    /// object's table knows the generation.
    fn decode(self) -> Option<Handle>;

    fn encode(handle: Handle) -> Self;

    /// The result of MPI_Comm_toint and MPI_Comm_c2f.
    fn to_int(self) -> c_int;

    /// The reverse of `to_int`. An integer that is the value of no handle gives a handle that does not decode.
    fn from_int(value: c_int) -> Self;
}

/// MPI_Status. It is accessed by raw pointers alone: the memory is the application's and may be uninitialised.
///
/// # Safety
/// Every method: `this` points to a status that may be read or written as its name says.
#[allow(clippy::missing_safety_doc)]
pub trait CStatus: Copy + 'static {
    /// The number of integers in the status, in the form of MPI_Fint and MPI_F08_status.
    const INTS: usize;

    /// The source and the tag are in the ABI's numbers, `error` is an error code of the ABI.
    unsafe fn set_source(this: *mut Self, source: c_int);
    unsafe fn set_tag(this: *mut Self, tag: c_int);
    unsafe fn set_error(this: *mut Self, error: c_int);
    unsafe fn source(this: *const Self) -> c_int;
    unsafe fn tag(this: *const Self) -> c_int;
    unsafe fn error(this: *const Self) -> c_int;

    /// Sets the number of bytes received and whether the operation was cancelled.
    unsafe fn set_amount(this: *mut Self, bytes: i64, cancelled: bool);
    unsafe fn bytes(this: *const Self) -> i64;
    unsafe fn cancelled(this: *const Self) -> bool;
}

/// Special values of pointer arguments. MPI_BOTTOM, MPI_ARGV_NULL and MPI_ERRCODES_IGNORE are null in all ABIs.
#[derive(Clone, Copy, Debug)]
pub struct Sentinels {
    pub in_place: usize,
    pub buffer_automatic: usize,
    pub status_ignore: usize,
    pub statuses_ignore: usize,
    pub unweighted: usize,
    pub weights_empty: usize,
    /// The value of MPI_COMM_DUP_FN and its like if the ABI makes them a number; None if they are functions.
    pub dup_fn: Option<usize>,
}

/// The maximum lengths of strings, with the terminating zero except where the standard says otherwise, and the
/// overhead of a buffered send, all in bytes.
#[derive(Clone, Copy, Debug)]
pub struct AbiLimits {
    pub processor_name: usize,
    pub port_name: usize,
    pub stringtag: usize,
    pub pset_name: usize,
    pub info_key: usize,
    pub bsend_overhead: usize,
}

// Lengths that both ABIs share (abi_constants.tsv, mpich_constants.tsv; checked by the tests of `abi-std` and
// `abi-mpich`).
pub const MAX_LIBRARY_VERSION_STRING: usize = 8192;
pub const MAX_ERROR_STRING: usize = 512;
pub const MAX_OBJECT_NAME: usize = 128;
pub const MAX_INFO_VAL: usize = 1024;
pub const MAX_DATAREP_STRING: usize = 128;

/// One binary interface of MPI.
pub trait Abi: Sized + 'static {
    /// The name for MPI_Get_library_version and messages.
    const NAME: &'static str;
    /// The beginning of the text of MPI_Get_library_version: the library that this one stands in for, as that library
    /// writes it; programs tell ABIs apart by it. Empty if this library stands for itself.
    const STANDS_IN_FOR: &'static str;
    /// The result of MPI_Abi_get_version: -1, -1 if this is not the standard ABI (MPI-5.0 §20.2).
    const VERSION: (c_int, c_int);
    const SENTINELS: Sentinels;
    const LIMITS: AbiLimits;

    type Comm: CHandle;
    type Datatype: CHandle;
    type Errhandler: CHandle;
    type File: CHandle;
    type Group: CHandle;
    type Info: CHandle;
    type Message: CHandle;
    type Op: CHandle;
    type Request: CHandle;
    type Session: CHandle;
    type Win: CHandle;
    type Status: CStatus;

    /// Makes this process a rank if it is none yet (`node::start`). The ABI crates implement this, because this crate
    /// may not use `node`, which is in the same layer.
    fn start() -> hawser_base::Result<&'static Process>;

    /// Returns the variables of MPI_T (`node::mpit_categories`). The ABI crates implement this for the same reason as
    /// `start`.
    fn tools() -> Vec<CategorySpec>;

    /// Translates an attribute key, which is an integer in C.
    fn keyval_in(keyval: c_int) -> Option<Handle>;
    fn keyval_out(keyval: Handle) -> c_int;

    /// Translates a constant of `set` to Hawser's value; None if the set has no such constant. Flags (`Amode`,
    /// `Assert`) may be combined. Ranks and tags from 0 on pass unchanged; an unknown negative one gives a negative
    /// number that no rank or tag has.
    fn value_in(set: Set, value: c_int) -> Option<c_int>;
    /// Translates Hawser's value, which the caller knows to be in the set, to the ABI's.
    fn value_out(set: Set, value: c_int) -> c_int;

    /// Does the same as `value_in` for `Set::Rank`, without the Option, for the fast paths. The other three do so for
    /// their direction and for `Set::Tag`.
    fn rank_in(rank: c_int) -> c_int;
    fn rank_out(rank: c_int) -> c_int;
    fn tag_in(tag: c_int) -> c_int;
    fn tag_out(tag: c_int) -> c_int;

    /// Translates an error class or code; None if the ABI has no such code. Hawser's code of a class is the value of
    /// the class (`Class as i32`); the codes that the application adds are `errors::FIRST_USER_CODE` and following.
    fn code_in(code: c_int) -> Option<c_int>;
    fn code_out(code: c_int) -> c_int;
}
