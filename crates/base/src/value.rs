//! The values of MPI's named constants inside Hawser, which are those of the standard ABI.
//!
//! All crates use these names. An ABI whose `mpi.h` has other values translates them at its edge
//! (`abi::Abi::value_in`, `value_out`). Handles are in `handle`, error classes in `error`.

macro_rules! values {
    ($($(#[$doc:meta])* $set:ident { $($name:ident = $value:literal, $mpi:literal;)* })*) => {
        /// A set of constants: the values that one argument can have. Values of different sets may be equal.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        pub enum Set { $($(#[$doc])* $set),* }

        $($(pub const $name: i32 = $value;)*)*

        /// All constants, each with its set, its name in `mpi.h` and its value.
        pub const ALL: &[(Set, &str, i32)] = &[$($((Set::$set, $mpi, $value)),*),*];
    };
}

values! {
    /// Values of a rank that name no process.
    Rank {
        ANY_SOURCE = -1, "MPI_ANY_SOURCE";
        PROC_NULL = -3, "MPI_PROC_NULL";
        ROOT = -4, "MPI_ROOT";
    }
    /// Values of a tag that are wildcards.
    Tag {
        ANY_TAG = -2, "MPI_ANY_TAG";
    }
    /// The undefined value of a count, an index, a color or a class.
    Undefined {
        UNDEFINED = -32766, "MPI_UNDEFINED";
    }
    /// Thread levels, ascending.
    ThreadLevel {
        THREAD_SINGLE = 0, "MPI_THREAD_SINGLE";
        THREAD_FUNNELED = 1024, "MPI_THREAD_FUNNELED";
        THREAD_SERIALIZED = 2048, "MPI_THREAD_SERIALIZED";
        THREAD_MULTIPLE = 4096, "MPI_THREAD_MULTIPLE";
    }
    /// Results of the comparison of groups and communicators.
    Comparison {
        IDENT = 201, "MPI_IDENT";
        CONGRUENT = 202, "MPI_CONGRUENT";
        SIMILAR = 203, "MPI_SIMILAR";
        UNEQUAL = 204, "MPI_UNEQUAL";
    }
    /// Split types of MPI_Comm_split_type.
    SplitType {
        COMM_TYPE_SHARED = 221, "MPI_COMM_TYPE_SHARED";
        COMM_TYPE_HW_UNGUIDED = 222, "MPI_COMM_TYPE_HW_UNGUIDED";
        COMM_TYPE_HW_GUIDED = 223, "MPI_COMM_TYPE_HW_GUIDED";
        COMM_TYPE_RESOURCE_GUIDED = 224, "MPI_COMM_TYPE_RESOURCE_GUIDED";
    }
    /// Kinds of topologies, which MPI_Topo_test returns.
    Topology {
        CART = 211, "MPI_CART";
        GRAPH = 212, "MPI_GRAPH";
        DIST_GRAPH = 213, "MPI_DIST_GRAPH";
    }
    /// Combiners of datatypes, which MPI_Type_get_envelope returns.
    Combiner {
        COMBINER_NAMED = 101, "MPI_COMBINER_NAMED";
        COMBINER_DUP = 102, "MPI_COMBINER_DUP";
        COMBINER_CONTIGUOUS = 103, "MPI_COMBINER_CONTIGUOUS";
        COMBINER_VECTOR = 104, "MPI_COMBINER_VECTOR";
        COMBINER_HVECTOR = 105, "MPI_COMBINER_HVECTOR";
        COMBINER_INDEXED = 106, "MPI_COMBINER_INDEXED";
        COMBINER_HINDEXED = 107, "MPI_COMBINER_HINDEXED";
        COMBINER_INDEXED_BLOCK = 108, "MPI_COMBINER_INDEXED_BLOCK";
        COMBINER_HINDEXED_BLOCK = 109, "MPI_COMBINER_HINDEXED_BLOCK";
        COMBINER_STRUCT = 110, "MPI_COMBINER_STRUCT";
        COMBINER_SUBARRAY = 111, "MPI_COMBINER_SUBARRAY";
        COMBINER_DARRAY = 112, "MPI_COMBINER_DARRAY";
        COMBINER_F90_REAL = 113, "MPI_COMBINER_F90_REAL";
        COMBINER_F90_COMPLEX = 114, "MPI_COMBINER_F90_COMPLEX";
        COMBINER_F90_INTEGER = 115, "MPI_COMBINER_F90_INTEGER";
        COMBINER_RESIZED = 116, "MPI_COMBINER_RESIZED";
        COMBINER_VALUE_INDEX = 117, "MPI_COMBINER_VALUE_INDEX";
    }
    /// Array orders.
    Order {
        ORDER_C = 12, "MPI_ORDER_C";
        ORDER_FORTRAN = 15, "MPI_ORDER_FORTRAN";
    }
    /// Distributions of MPI_Type_create_darray.
    Distribute {
        DISTRIBUTE_NONE = 16, "MPI_DISTRIBUTE_NONE";
        DISTRIBUTE_BLOCK = 17, "MPI_DISTRIBUTE_BLOCK";
        DISTRIBUTE_CYCLIC = 18, "MPI_DISTRIBUTE_CYCLIC";
        DISTRIBUTE_DFLT_DARG = 19, "MPI_DISTRIBUTE_DFLT_DARG";
    }
    /// Classes of datatypes for MPI_Type_match_size.
    TypeClass {
        TYPECLASS_INTEGER = 192, "MPI_TYPECLASS_INTEGER";
        TYPECLASS_REAL = 193, "MPI_TYPECLASS_REAL";
        TYPECLASS_COMPLEX = 194, "MPI_TYPECLASS_COMPLEX";
    }
    /// Lock types of MPI_Win_lock.
    LockType {
        LOCK_EXCLUSIVE = 301, "MPI_LOCK_EXCLUSIVE";
        LOCK_SHARED = 302, "MPI_LOCK_SHARED";
    }
    /// Values of the attribute MPI_WIN_CREATE_FLAVOR.
    WinFlavor {
        WIN_FLAVOR_CREATE = 311, "MPI_WIN_FLAVOR_CREATE";
        WIN_FLAVOR_ALLOCATE = 312, "MPI_WIN_FLAVOR_ALLOCATE";
        WIN_FLAVOR_DYNAMIC = 313, "MPI_WIN_FLAVOR_DYNAMIC";
        WIN_FLAVOR_SHARED = 314, "MPI_WIN_FLAVOR_SHARED";
    }
    /// Values of the attribute MPI_WIN_MODEL.
    WinModel {
        WIN_UNIFIED = 321, "MPI_WIN_UNIFIED";
        WIN_SEPARATE = 322, "MPI_WIN_SEPARATE";
    }
    /// Origins of MPI_File_seek.
    Seek {
        SEEK_CUR = 401, "MPI_SEEK_CUR";
        SEEK_END = 402, "MPI_SEEK_END";
        SEEK_SET = 403, "MPI_SEEK_SET";
    }
    /// Access modes of files; flags.
    Amode {
        MODE_APPEND = 1, "MPI_MODE_APPEND";
        MODE_CREATE = 2, "MPI_MODE_CREATE";
        MODE_DELETE_ON_CLOSE = 4, "MPI_MODE_DELETE_ON_CLOSE";
        MODE_EXCL = 8, "MPI_MODE_EXCL";
        MODE_RDONLY = 16, "MPI_MODE_RDONLY";
        MODE_RDWR = 32, "MPI_MODE_RDWR";
        MODE_SEQUENTIAL = 64, "MPI_MODE_SEQUENTIAL";
        MODE_UNIQUE_OPEN = 128, "MPI_MODE_UNIQUE_OPEN";
        MODE_WRONLY = 256, "MPI_MODE_WRONLY";
    }
    /// Assertions of RMA synchronisation; flags.
    Assert {
        MODE_NOCHECK = 1024, "MPI_MODE_NOCHECK";
        MODE_NOPRECEDE = 2048, "MPI_MODE_NOPRECEDE";
        MODE_NOPUT = 4096, "MPI_MODE_NOPUT";
        MODE_NOSTORE = 8192, "MPI_MODE_NOSTORE";
        MODE_NOSUCCEED = 16384, "MPI_MODE_NOSUCCEED";
    }
    /// Tool interface: the permitted actions of a callback.
    CallbackSafety {
        T_CB_REQUIRE_NONE = 0, "MPI_T_CB_REQUIRE_NONE";
        T_CB_REQUIRE_MPI_RESTRICTED = 3, "MPI_T_CB_REQUIRE_MPI_RESTRICTED";
        T_CB_REQUIRE_THREAD_SAFE = 15, "MPI_T_CB_REQUIRE_THREAD_SAFE";
        T_CB_REQUIRE_ASYNC_SIGNAL_SAFE = 63, "MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE";
    }
    /// Tool interface: ordering of an event source.
    SourceOrder {
        T_SOURCE_ORDERED = 1, "MPI_T_SOURCE_ORDERED";
        T_SOURCE_UNORDERED = 2, "MPI_T_SOURCE_UNORDERED";
    }
    /// Tool interface: the audience of a variable.
    Verbosity {
        T_VERBOSITY_USER_BASIC = 9, "MPI_T_VERBOSITY_USER_BASIC";
        T_VERBOSITY_USER_DETAIL = 10, "MPI_T_VERBOSITY_USER_DETAIL";
        T_VERBOSITY_USER_ALL = 12, "MPI_T_VERBOSITY_USER_ALL";
        T_VERBOSITY_TUNER_BASIC = 17, "MPI_T_VERBOSITY_TUNER_BASIC";
        T_VERBOSITY_TUNER_DETAIL = 18, "MPI_T_VERBOSITY_TUNER_DETAIL";
        T_VERBOSITY_TUNER_ALL = 20, "MPI_T_VERBOSITY_TUNER_ALL";
        T_VERBOSITY_MPIDEV_BASIC = 33, "MPI_T_VERBOSITY_MPIDEV_BASIC";
        T_VERBOSITY_MPIDEV_DETAIL = 34, "MPI_T_VERBOSITY_MPIDEV_DETAIL";
        T_VERBOSITY_MPIDEV_ALL = 36, "MPI_T_VERBOSITY_MPIDEV_ALL";
    }
    /// Tool interface: the object that a variable is bound to.
    Bind {
        T_BIND_NO_OBJECT = 1, "MPI_T_BIND_NO_OBJECT";
        T_BIND_MPI_COMM = 2, "MPI_T_BIND_MPI_COMM";
        T_BIND_MPI_DATATYPE = 3, "MPI_T_BIND_MPI_DATATYPE";
        T_BIND_MPI_ERRHANDLER = 4, "MPI_T_BIND_MPI_ERRHANDLER";
        T_BIND_MPI_FILE = 5, "MPI_T_BIND_MPI_FILE";
        T_BIND_MPI_GROUP = 6, "MPI_T_BIND_MPI_GROUP";
        T_BIND_MPI_OP = 7, "MPI_T_BIND_MPI_OP";
        T_BIND_MPI_REQUEST = 8, "MPI_T_BIND_MPI_REQUEST";
        T_BIND_MPI_WIN = 9, "MPI_T_BIND_MPI_WIN";
        T_BIND_MPI_MESSAGE = 10, "MPI_T_BIND_MPI_MESSAGE";
        T_BIND_MPI_INFO = 11, "MPI_T_BIND_MPI_INFO";
        T_BIND_MPI_SESSION = 12, "MPI_T_BIND_MPI_SESSION";
    }
    /// Tool interface: the processes that must set a variable.
    Scope {
        T_SCOPE_CONSTANT = 1, "MPI_T_SCOPE_CONSTANT";
        T_SCOPE_READONLY = 2, "MPI_T_SCOPE_READONLY";
        T_SCOPE_LOCAL = 3, "MPI_T_SCOPE_LOCAL";
        T_SCOPE_GROUP = 4, "MPI_T_SCOPE_GROUP";
        T_SCOPE_GROUP_EQ = 5, "MPI_T_SCOPE_GROUP_EQ";
        T_SCOPE_ALL = 6, "MPI_T_SCOPE_ALL";
        T_SCOPE_ALL_EQ = 7, "MPI_T_SCOPE_ALL_EQ";
    }
    /// Tool interface: classes of performance variables.
    PvarClass {
        T_PVAR_CLASS_STATE = 1, "MPI_T_PVAR_CLASS_STATE";
        T_PVAR_CLASS_LEVEL = 2, "MPI_T_PVAR_CLASS_LEVEL";
        T_PVAR_CLASS_SIZE = 3, "MPI_T_PVAR_CLASS_SIZE";
        T_PVAR_CLASS_PERCENTAGE = 4, "MPI_T_PVAR_CLASS_PERCENTAGE";
        T_PVAR_CLASS_HIGHWATERMARK = 5, "MPI_T_PVAR_CLASS_HIGHWATERMARK";
        T_PVAR_CLASS_LOWWATERMARK = 6, "MPI_T_PVAR_CLASS_LOWWATERMARK";
        T_PVAR_CLASS_COUNTER = 7, "MPI_T_PVAR_CLASS_COUNTER";
        T_PVAR_CLASS_AGGREGATE = 8, "MPI_T_PVAR_CLASS_AGGREGATE";
        T_PVAR_CLASS_TIMER = 9, "MPI_T_PVAR_CLASS_TIMER";
        T_PVAR_CLASS_GENERIC = 10, "MPI_T_PVAR_CLASS_GENERIC";
    }
}

/// MPIX_COMM_TYPE_NEIGHBORHOOD, which only the MPICH ABI has. The standard ABI does not use its value.
pub const COMM_TYPE_NEIGHBORHOOD: i32 = 230;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_constants_of_a_set_share_a_value() {
        for (i, &(set, name, value)) in ALL.iter().enumerate() {
            assert!(!ALL[..i].iter().any(|&(s, _, v)| s == set && v == value), "{name}");
        }
    }
}
