//! The numbers of the MPICH ABI that differ from Hawser's (mpich_constants.tsv).
//!
//! Handles are in `handles`. Ranks and tags are translated by comparisons, because every call translates them; the
//! other constants are looked up in a table, by their set.

use hawser_abi::errors::FIRST_USER_CODE;
use hawser_abi::{AbiLimits, Sentinels};
use hawser_base::Class;
use hawser_base::value::{self, Set};
use std::ffi::c_int;

pub const SENTINELS: Sentinels = Sentinels {
    in_place: usize::MAX,
    buffer_automatic: usize::MAX - 1,
    status_ignore: 1,
    statuses_ignore: 1,
    // These are variables in this ABI (`symbols`), whose values are ours to choose.
    unweighted: 10,
    weights_empty: 11,
    // MPIR_Dup_fn is a function that is called like any other.
    dup_fn: None,
};

pub const LIMITS: AbiLimits = AbiLimits {
    processor_name: 128,
    port_name: 256,
    stringtag: 256,
    pset_name: 256,
    info_key: 255,
    bsend_overhead: 96,
};

/// Each constant: its name in `mpi.h`, its set, its value in this ABI, and Hawser's value.
const VALUES: &[(&str, Set, c_int, c_int)] = &[
    ("MPI_UNDEFINED", Set::Undefined, -32766, value::UNDEFINED),
    ("MPI_THREAD_SINGLE", Set::ThreadLevel, 0, value::THREAD_SINGLE),
    ("MPI_THREAD_FUNNELED", Set::ThreadLevel, 1, value::THREAD_FUNNELED),
    ("MPI_THREAD_SERIALIZED", Set::ThreadLevel, 2, value::THREAD_SERIALIZED),
    ("MPI_THREAD_MULTIPLE", Set::ThreadLevel, 3, value::THREAD_MULTIPLE),
    ("MPI_IDENT", Set::Comparison, 0, value::IDENT),
    ("MPI_CONGRUENT", Set::Comparison, 1, value::CONGRUENT),
    ("MPI_SIMILAR", Set::Comparison, 2, value::SIMILAR),
    ("MPI_UNEQUAL", Set::Comparison, 3, value::UNEQUAL),
    ("MPI_COMM_TYPE_SHARED", Set::SplitType, 1, value::COMM_TYPE_SHARED),
    ("MPI_COMM_TYPE_HW_UNGUIDED", Set::SplitType, 3, value::COMM_TYPE_HW_UNGUIDED),
    ("MPI_COMM_TYPE_HW_GUIDED", Set::SplitType, 2, value::COMM_TYPE_HW_GUIDED),
    ("MPI_COMM_TYPE_RESOURCE_GUIDED", Set::SplitType, 4, value::COMM_TYPE_RESOURCE_GUIDED),
    ("MPIX_COMM_TYPE_NEIGHBORHOOD", Set::SplitType, 5, value::COMM_TYPE_NEIGHBORHOOD),
    ("MPI_CART", Set::Topology, 2, value::CART),
    ("MPI_GRAPH", Set::Topology, 1, value::GRAPH),
    ("MPI_DIST_GRAPH", Set::Topology, 3, value::DIST_GRAPH),
    ("MPI_COMBINER_NAMED", Set::Combiner, 1, value::COMBINER_NAMED),
    ("MPI_COMBINER_DUP", Set::Combiner, 2, value::COMBINER_DUP),
    ("MPI_COMBINER_CONTIGUOUS", Set::Combiner, 3, value::COMBINER_CONTIGUOUS),
    ("MPI_COMBINER_VECTOR", Set::Combiner, 4, value::COMBINER_VECTOR),
    ("MPI_COMBINER_HVECTOR", Set::Combiner, 6, value::COMBINER_HVECTOR),
    ("MPI_COMBINER_INDEXED", Set::Combiner, 7, value::COMBINER_INDEXED),
    ("MPI_COMBINER_HINDEXED", Set::Combiner, 9, value::COMBINER_HINDEXED),
    ("MPI_COMBINER_INDEXED_BLOCK", Set::Combiner, 10, value::COMBINER_INDEXED_BLOCK),
    ("MPI_COMBINER_HINDEXED_BLOCK", Set::Combiner, 19, value::COMBINER_HINDEXED_BLOCK),
    ("MPI_COMBINER_STRUCT", Set::Combiner, 12, value::COMBINER_STRUCT),
    ("MPI_COMBINER_SUBARRAY", Set::Combiner, 13, value::COMBINER_SUBARRAY),
    ("MPI_COMBINER_DARRAY", Set::Combiner, 14, value::COMBINER_DARRAY),
    ("MPI_COMBINER_F90_REAL", Set::Combiner, 15, value::COMBINER_F90_REAL),
    ("MPI_COMBINER_F90_COMPLEX", Set::Combiner, 16, value::COMBINER_F90_COMPLEX),
    ("MPI_COMBINER_F90_INTEGER", Set::Combiner, 17, value::COMBINER_F90_INTEGER),
    ("MPI_COMBINER_RESIZED", Set::Combiner, 18, value::COMBINER_RESIZED),
    ("MPI_COMBINER_VALUE_INDEX", Set::Combiner, 20, value::COMBINER_VALUE_INDEX),
    ("MPI_ORDER_C", Set::Order, 56, value::ORDER_C),
    ("MPI_ORDER_FORTRAN", Set::Order, 57, value::ORDER_FORTRAN),
    ("MPI_DISTRIBUTE_NONE", Set::Distribute, 123, value::DISTRIBUTE_NONE),
    ("MPI_DISTRIBUTE_BLOCK", Set::Distribute, 121, value::DISTRIBUTE_BLOCK),
    ("MPI_DISTRIBUTE_CYCLIC", Set::Distribute, 122, value::DISTRIBUTE_CYCLIC),
    ("MPI_DISTRIBUTE_DFLT_DARG", Set::Distribute, -49767, value::DISTRIBUTE_DFLT_DARG),
    ("MPI_TYPECLASS_INTEGER", Set::TypeClass, 2, value::TYPECLASS_INTEGER),
    ("MPI_TYPECLASS_REAL", Set::TypeClass, 1, value::TYPECLASS_REAL),
    ("MPI_TYPECLASS_COMPLEX", Set::TypeClass, 3, value::TYPECLASS_COMPLEX),
    ("MPI_LOCK_EXCLUSIVE", Set::LockType, 234, value::LOCK_EXCLUSIVE),
    ("MPI_LOCK_SHARED", Set::LockType, 235, value::LOCK_SHARED),
    ("MPI_WIN_FLAVOR_CREATE", Set::WinFlavor, 1, value::WIN_FLAVOR_CREATE),
    ("MPI_WIN_FLAVOR_ALLOCATE", Set::WinFlavor, 2, value::WIN_FLAVOR_ALLOCATE),
    ("MPI_WIN_FLAVOR_DYNAMIC", Set::WinFlavor, 3, value::WIN_FLAVOR_DYNAMIC),
    ("MPI_WIN_FLAVOR_SHARED", Set::WinFlavor, 4, value::WIN_FLAVOR_SHARED),
    ("MPI_WIN_UNIFIED", Set::WinModel, 2, value::WIN_UNIFIED),
    ("MPI_WIN_SEPARATE", Set::WinModel, 1, value::WIN_SEPARATE),
    ("MPI_SEEK_CUR", Set::Seek, 602, value::SEEK_CUR),
    ("MPI_SEEK_END", Set::Seek, 604, value::SEEK_END),
    ("MPI_SEEK_SET", Set::Seek, 600, value::SEEK_SET),
    ("MPI_MODE_APPEND", Set::Amode, 128, value::MODE_APPEND),
    ("MPI_MODE_CREATE", Set::Amode, 1, value::MODE_CREATE),
    ("MPI_MODE_DELETE_ON_CLOSE", Set::Amode, 16, value::MODE_DELETE_ON_CLOSE),
    ("MPI_MODE_EXCL", Set::Amode, 64, value::MODE_EXCL),
    ("MPI_MODE_RDONLY", Set::Amode, 2, value::MODE_RDONLY),
    ("MPI_MODE_RDWR", Set::Amode, 8, value::MODE_RDWR),
    ("MPI_MODE_SEQUENTIAL", Set::Amode, 256, value::MODE_SEQUENTIAL),
    ("MPI_MODE_UNIQUE_OPEN", Set::Amode, 32, value::MODE_UNIQUE_OPEN),
    ("MPI_MODE_WRONLY", Set::Amode, 4, value::MODE_WRONLY),
    ("MPI_MODE_NOCHECK", Set::Assert, 1024, value::MODE_NOCHECK),
    ("MPI_MODE_NOPRECEDE", Set::Assert, 8192, value::MODE_NOPRECEDE),
    ("MPI_MODE_NOPUT", Set::Assert, 4096, value::MODE_NOPUT),
    ("MPI_MODE_NOSTORE", Set::Assert, 2048, value::MODE_NOSTORE),
    ("MPI_MODE_NOSUCCEED", Set::Assert, 16384, value::MODE_NOSUCCEED),
    ("MPI_T_CB_REQUIRE_NONE", Set::CallbackSafety, 0, value::T_CB_REQUIRE_NONE),
    ("MPI_T_CB_REQUIRE_MPI_RESTRICTED", Set::CallbackSafety, 1, value::T_CB_REQUIRE_MPI_RESTRICTED),
    ("MPI_T_CB_REQUIRE_THREAD_SAFE", Set::CallbackSafety, 2, value::T_CB_REQUIRE_THREAD_SAFE),
    ("MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE", Set::CallbackSafety, 3, value::T_CB_REQUIRE_ASYNC_SIGNAL_SAFE),
    ("MPI_T_SOURCE_ORDERED", Set::SourceOrder, 0, value::T_SOURCE_ORDERED),
    ("MPI_T_SOURCE_UNORDERED", Set::SourceOrder, 1, value::T_SOURCE_UNORDERED),
    ("MPI_T_VERBOSITY_USER_BASIC", Set::Verbosity, 221, value::T_VERBOSITY_USER_BASIC),
    ("MPI_T_VERBOSITY_USER_DETAIL", Set::Verbosity, 222, value::T_VERBOSITY_USER_DETAIL),
    ("MPI_T_VERBOSITY_USER_ALL", Set::Verbosity, 223, value::T_VERBOSITY_USER_ALL),
    ("MPI_T_VERBOSITY_TUNER_BASIC", Set::Verbosity, 224, value::T_VERBOSITY_TUNER_BASIC),
    ("MPI_T_VERBOSITY_TUNER_DETAIL", Set::Verbosity, 225, value::T_VERBOSITY_TUNER_DETAIL),
    ("MPI_T_VERBOSITY_TUNER_ALL", Set::Verbosity, 226, value::T_VERBOSITY_TUNER_ALL),
    ("MPI_T_VERBOSITY_MPIDEV_BASIC", Set::Verbosity, 227, value::T_VERBOSITY_MPIDEV_BASIC),
    ("MPI_T_VERBOSITY_MPIDEV_DETAIL", Set::Verbosity, 228, value::T_VERBOSITY_MPIDEV_DETAIL),
    ("MPI_T_VERBOSITY_MPIDEV_ALL", Set::Verbosity, 229, value::T_VERBOSITY_MPIDEV_ALL),
    ("MPI_T_BIND_NO_OBJECT", Set::Bind, 9700, value::T_BIND_NO_OBJECT),
    ("MPI_T_BIND_MPI_COMM", Set::Bind, 9701, value::T_BIND_MPI_COMM),
    ("MPI_T_BIND_MPI_DATATYPE", Set::Bind, 9702, value::T_BIND_MPI_DATATYPE),
    ("MPI_T_BIND_MPI_ERRHANDLER", Set::Bind, 9703, value::T_BIND_MPI_ERRHANDLER),
    ("MPI_T_BIND_MPI_FILE", Set::Bind, 9704, value::T_BIND_MPI_FILE),
    ("MPI_T_BIND_MPI_GROUP", Set::Bind, 9705, value::T_BIND_MPI_GROUP),
    ("MPI_T_BIND_MPI_OP", Set::Bind, 9706, value::T_BIND_MPI_OP),
    ("MPI_T_BIND_MPI_REQUEST", Set::Bind, 9707, value::T_BIND_MPI_REQUEST),
    ("MPI_T_BIND_MPI_WIN", Set::Bind, 9708, value::T_BIND_MPI_WIN),
    ("MPI_T_BIND_MPI_MESSAGE", Set::Bind, 9709, value::T_BIND_MPI_MESSAGE),
    ("MPI_T_BIND_MPI_INFO", Set::Bind, 9710, value::T_BIND_MPI_INFO),
    ("MPI_T_BIND_MPI_SESSION", Set::Bind, 9711, value::T_BIND_MPI_SESSION),
    ("MPI_T_SCOPE_CONSTANT", Set::Scope, 60438, value::T_SCOPE_CONSTANT),
    ("MPI_T_SCOPE_READONLY", Set::Scope, 60439, value::T_SCOPE_READONLY),
    ("MPI_T_SCOPE_LOCAL", Set::Scope, 60440, value::T_SCOPE_LOCAL),
    ("MPI_T_SCOPE_GROUP", Set::Scope, 60441, value::T_SCOPE_GROUP),
    ("MPI_T_SCOPE_GROUP_EQ", Set::Scope, 60442, value::T_SCOPE_GROUP_EQ),
    ("MPI_T_SCOPE_ALL", Set::Scope, 60443, value::T_SCOPE_ALL),
    ("MPI_T_SCOPE_ALL_EQ", Set::Scope, 60444, value::T_SCOPE_ALL_EQ),
    ("MPI_T_PVAR_CLASS_STATE", Set::PvarClass, 240, value::T_PVAR_CLASS_STATE),
    ("MPI_T_PVAR_CLASS_LEVEL", Set::PvarClass, 241, value::T_PVAR_CLASS_LEVEL),
    ("MPI_T_PVAR_CLASS_SIZE", Set::PvarClass, 242, value::T_PVAR_CLASS_SIZE),
    ("MPI_T_PVAR_CLASS_PERCENTAGE", Set::PvarClass, 243, value::T_PVAR_CLASS_PERCENTAGE),
    ("MPI_T_PVAR_CLASS_HIGHWATERMARK", Set::PvarClass, 244, value::T_PVAR_CLASS_HIGHWATERMARK),
    ("MPI_T_PVAR_CLASS_LOWWATERMARK", Set::PvarClass, 245, value::T_PVAR_CLASS_LOWWATERMARK),
    ("MPI_T_PVAR_CLASS_COUNTER", Set::PvarClass, 246, value::T_PVAR_CLASS_COUNTER),
    ("MPI_T_PVAR_CLASS_AGGREGATE", Set::PvarClass, 247, value::T_PVAR_CLASS_AGGREGATE),
    ("MPI_T_PVAR_CLASS_TIMER", Set::PvarClass, 248, value::T_PVAR_CLASS_TIMER),
    ("MPI_T_PVAR_CLASS_GENERIC", Set::PvarClass, 249, value::T_PVAR_CLASS_GENERIC),
];

// MPI_ANY_SOURCE, MPI_PROC_NULL, MPI_ROOT and MPI_ANY_TAG.
const ANY_SOURCE: c_int = -2;
const PROC_NULL: c_int = -1;
const ROOT: c_int = -3;
const ANY_TAG: c_int = -1;
/// A value that no rank or tag has. It replaces unknown negative numbers, which may be Hawser's values of constants.
const NONE: c_int = c_int::MIN;

#[inline(always)]
pub fn rank_in(rank: c_int) -> c_int {
    match rank {
        0.. => rank,
        ANY_SOURCE => value::ANY_SOURCE,
        PROC_NULL => value::PROC_NULL,
        ROOT => value::ROOT,
        _ => NONE,
    }
}

#[inline(always)]
pub fn rank_out(rank: c_int) -> c_int {
    match rank {
        value::ANY_SOURCE => ANY_SOURCE,
        value::PROC_NULL => PROC_NULL,
        value::ROOT => ROOT,
        _ => rank,
    }
}

#[inline(always)]
pub fn tag_in(tag: c_int) -> c_int {
    match tag {
        0.. => tag,
        ANY_TAG => value::ANY_TAG,
        _ => NONE,
    }
}

#[inline(always)]
pub fn tag_out(tag: c_int) -> c_int {
    if tag == value::ANY_TAG { ANY_TAG } else { tag }
}

/// Returns the constants of a set, which are flags or single values: the value in this ABI, and Hawser's value.
fn rows(set: Set) -> impl Iterator<Item = (c_int, c_int)> {
    VALUES
        .iter()
        .filter(move |(_, s, _, _)| *s == set)
        .map(|&(_, _, abi_value, internal_value)| (abi_value, internal_value))
}

fn is_flags(set: Set) -> bool {
    matches!(set, Set::Amode | Set::Assert)
}

pub fn value_in(set: Set, number: c_int) -> Option<c_int> {
    match set {
        Set::Rank => Some(rank_in(number)),
        Set::Tag => Some(tag_in(number)),
        _ if is_flags(set) => flags(number, rows(set)),
        _ => rows(set).find(|(abi_value, _)| *abi_value == number).map(|(_, internal_value)| internal_value),
    }
}

pub fn value_out(set: Set, number: c_int) -> c_int {
    match set {
        Set::Rank => rank_out(number),
        Set::Tag => tag_out(number),
        _ if is_flags(set) => {
            flags(number, rows(set).map(|(abi_value, internal_value)| (internal_value, abi_value))).unwrap_or(0)
        }
        _ => rows(set).find(|(_, internal_value)| *internal_value == number).map_or(number, |(abi_value, _)| abi_value),
    }
}

/// Translates each flag of `number`; None if one is unknown.
fn flags(number: c_int, rows: impl Iterator<Item = (c_int, c_int)>) -> Option<c_int> {
    let (mut left, mut result) = (number, 0);
    for (from, to) in rows.filter(|(from, _)| number & from != 0) {
        left &= !from;
        result |= to;
    }
    (left == 0).then_some(result)
}

/// The error classes: the value in this ABI, and the class.
const CLASSES: &[(c_int, Class)] = &[
    (0, Class::Success),
    (1, Class::Buffer),
    (2, Class::Count),
    (3, Class::Type),
    (4, Class::Tag),
    (5, Class::Comm),
    (6, Class::Rank),
    (7, Class::Root),
    (8, Class::Group),
    (9, Class::Op),
    (10, Class::Topology),
    (11, Class::Dims),
    (12, Class::Arg),
    (13, Class::Unknown),
    (14, Class::Truncate),
    (15, Class::Other),
    (16, Class::Intern),
    (17, Class::InStatus),
    (18, Class::Pending),
    (19, Class::Request),
    (20, Class::Access),
    (21, Class::Amode),
    (22, Class::BadFile),
    (23, Class::Conversion),
    (24, Class::DupDatarep),
    (25, Class::FileExists),
    (26, Class::FileInUse),
    (27, Class::File),
    (28, Class::Info),
    (29, Class::InfoKey),
    (30, Class::InfoValue),
    (31, Class::InfoNokey),
    (32, Class::Io),
    (33, Class::Name),
    (34, Class::NoMem),
    (35, Class::NotSame),
    (36, Class::NoSpace),
    (37, Class::NoSuchFile),
    (38, Class::Port),
    (39, Class::Quota),
    (40, Class::ReadOnly),
    (41, Class::Service),
    (42, Class::Spawn),
    (43, Class::UnsupportedDatarep),
    (44, Class::UnsupportedOperation),
    (45, Class::Win),
    (46, Class::Base),
    (47, Class::Locktype),
    (48, Class::Keyval),
    (49, Class::RmaConflict),
    (50, Class::RmaSync),
    (51, Class::Size),
    (52, Class::Disp),
    (53, Class::Assert),
    (55, Class::RmaRange),
    (56, Class::RmaAttach),
    (57, Class::RmaShared),
    (58, Class::RmaFlavor),
    (59, Class::ToolMemory),
    (60, Class::ToolNotInitialized),
    (61, Class::ToolCannotInit),
    (62, Class::ToolInvalidIndex),
    (63, Class::ToolInvalidItem),
    (64, Class::ToolInvalidHandle),
    (65, Class::ToolOutOfHandles),
    (66, Class::ToolOutOfSessions),
    (67, Class::ToolInvalidSession),
    (68, Class::ToolCvarSetNotNow),
    (69, Class::ToolCvarSetNever),
    (70, Class::ToolPvarNoStartstop),
    (71, Class::ToolPvarNoWrite),
    (72, Class::ToolPvarNoAtomic),
    (73, Class::ToolInvalidName),
    (74, Class::ToolInvalid),
    (75, Class::Session),
    (76, Class::ProcAborted),
    (77, Class::ValueTooLarge),
    (78, Class::ToolNotSupported),
    (79, Class::ToolNotAccessible),
    (80, Class::Errhandler),
    (81, Class::Abi),
];

/// The value of MPI_ERR_LASTCODE. The codes that the application adds follow it, up to the largest int.
const LAST: c_int = 0x3fff_ffff;

pub fn code_in(code: c_int) -> Option<c_int> {
    if code > LAST {
        return Some(code - LAST - 1 + FIRST_USER_CODE);
    }
    CLASSES.iter().find(|(abi_value, _)| *abi_value == code).map(|&(_, class)| class as c_int)
}

pub fn code_out(code: c_int) -> c_int {
    // Hawser's code FIRST_USER_CODE - 1 becomes MPI_ERR_LASTCODE: it is the value of the attribute MPI_LASTUSEDCODE
    // until the application adds a code.
    if code >= FIRST_USER_CODE - 1 {
        return code - FIRST_USER_CODE + LAST + 1;
    }
    CLASSES.iter().find(|&&(_, class)| class as c_int == code).map_or(code, |(abi_value, _)| *abi_value)
}
