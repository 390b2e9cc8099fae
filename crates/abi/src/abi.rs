//! What an ABI is: the C types, numbers and layouts by which two `mpi.h` differ.
//!
//! Inside the house handles are `Handle` and constants have the standard ABI's values (`base::value`).
//! An implementation of `Abi` translates both ways and holds nothing else. Implemented by `abi-std` and
//! `abi-mpich`; used by every generic function of this room.

use hawser_base::Handle;
use hawser_base::handle::Kind;
use hawser_base::value::Set;
use hawser_mpi::process::Process;
use hawser_mpi::tools::Group;
use std::ffi::c_int;

/// A C handle type of one kind of object.
pub trait CHandle: Copy + 'static {
    const KIND: Kind;

    /// The house name; None if no handle of this kind has this value. A freed object's handle still
    /// decodes: only the object's table knows the generation.
    fn decode(self) -> Option<Handle>;

    fn encode(handle: Handle) -> Self;

    /// MPI_Comm_toint and MPI_Comm_c2f.
    fn to_int(self) -> c_int;

    /// The reverse; an integer that never came from `to_int` gives a handle that does not decode.
    fn from_int(value: c_int) -> Self;
}

/// MPI_Status. Reached by raw pointers alone: the memory is the application's and may be uninitialised.
///
/// # Safety
/// Every method: `this` points to a status that may be read or written as its name says.
#[allow(clippy::missing_safety_doc)]
pub trait CStatus: Copy + 'static {
    /// The status as MPI_Fint and MPI_F08_status see it: that many integers.
    const INTS: usize;

    /// Source and tag are in the ABI's numbers, `error` is an error code of the ABI.
    unsafe fn set_source(this: *mut Self, source: c_int);
    unsafe fn set_tag(this: *mut Self, tag: c_int);
    unsafe fn set_error(this: *mut Self, error: c_int);
    unsafe fn source(this: *const Self) -> c_int;
    unsafe fn tag(this: *const Self) -> c_int;
    unsafe fn error(this: *const Self) -> c_int;

    /// The number of bytes received and whether the operation was cancelled.
    unsafe fn set_amount(this: *mut Self, bytes: i64, cancelled: bool);
    unsafe fn bytes(this: *const Self) -> i64;
    unsafe fn cancelled(this: *const Self) -> bool;
}

/// Pointers that are no pointers. MPI_BOTTOM, MPI_ARGV_NULL and MPI_ERRCODES_IGNORE are null everywhere.
#[derive(Clone, Copy, Debug)]
pub struct Sentinels {
    pub in_place: usize,
    pub buffer_automatic: usize,
    pub status_ignore: usize,
    pub statuses_ignore: usize,
    pub unweighted: usize,
    pub weights_empty: usize,
    /// MPI_COMM_DUP_FN and its like, where the ABI makes them a number; elsewhere they are functions.
    pub dup_fn: Option<usize>,
}

/// Lengths of strings, with the terminating zero except where the standard says otherwise, and amounts.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub processor_name: usize,
    pub port_name: usize,
    pub stringtag: usize,
    pub pset_name: usize,
    pub info_key: usize,
    pub bsend_overhead: usize,
}

// Lengths that both ABIs share (abi_constants.tsv, mpich_constants.tsv; checked by the tests there).
pub const MAX_LIBRARY_VERSION_STRING: usize = 8192;
pub const MAX_ERROR_STRING: usize = 512;
pub const MAX_OBJECT_NAME: usize = 128;
pub const MAX_INFO_VAL: usize = 1024;
pub const MAX_DATAREP_STRING: usize = 128;

/// One binary interface of MPI.
pub trait Abi: Sized + 'static {
    /// For MPI_Get_library_version and messages.
    const NAME: &'static str;
    /// MPI_Abi_get_version: -1, -1 where it is not the standard's ABI (MPI-5.0 §20.2).
    const VERSION: (c_int, c_int);
    const SENTINELS: Sentinels;
    const LIMITS: Limits;

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

    /// Makes this process a rank if it is none yet (`node::start`): only an ABI crate stands above the room that does it.
    fn start() -> hawser_base::Result<&'static Process>;

    /// What MPI_T shows (`node::tools`), likewise.
    fn tools() -> Vec<Group>;

    /// Attribute keys are integers in C.
    fn keyval_in(keyval: c_int) -> Option<Handle>;
    fn keyval_out(keyval: Handle) -> c_int;

    /// A constant of `set` to its house value; None if the set has no such constant. Flags (`Amode`,
    /// `Assert`) may be combined. Ranks and tags that are no constants pass unchanged.
    fn value_in(set: Set, value: c_int) -> Option<c_int>;
    /// A house value, which the caller knows to be in the set, to the ABI's.
    fn value_out(set: Set, value: c_int) -> c_int;

    /// As `value_in(Set::Rank)`, for the paths where nanoseconds count; what is unknown passes through
    /// as a negative number that no rank has.
    fn rank_in(rank: c_int) -> c_int;
    fn rank_out(rank: c_int) -> c_int;
    fn tag_in(tag: c_int) -> c_int;
    fn tag_out(tag: c_int) -> c_int;

    /// Error classes and codes. House codes: the classes' values (`Class as i32`), and for those that the
    /// application adds `errors::FIRST_ADDED` and following.
    fn code_in(code: c_int) -> Option<c_int>;
    fn code_out(code: c_int) -> c_int;
}
