//! Predefined handles of the MPICH ABI (mpich_constants.tsv), by kind: name, C value, Hawser's handle.

use hawser_base::Handle;
use hawser_base::handle::{comm, datatype, errhandler, group, info, keyval, message, mpich_datatype, mpich_op, op};

/// The name in `mpi.h`, the value, and Hawser's handle.
type HandleEntry = (&'static str, u32, Handle);

pub const COMM: &[HandleEntry] = &[
    ("MPI_COMM_NULL", 0x04000000, Handle::NULL),
    ("MPI_COMM_WORLD", 0x44000000, comm::WORLD),
    ("MPI_COMM_SELF", 0x44000001, comm::SELF),
];

pub const GROUP: &[HandleEntry] =
    &[("MPI_GROUP_NULL", 0x08000000, Handle::NULL), ("MPI_GROUP_EMPTY", 0x48000000, group::EMPTY)];

pub const DATATYPE: &[HandleEntry] = &[
    ("MPI_DATATYPE_NULL", 0x0c000000, Handle::NULL),
    ("MPI_CHAR", 0x4c000101, datatype::CHAR),
    ("MPI_UNSIGNED_CHAR", 0x4c000102, datatype::UNSIGNED_CHAR),
    ("MPI_SHORT", 0x4c000203, datatype::SHORT),
    ("MPI_UNSIGNED_SHORT", 0x4c000204, datatype::UNSIGNED_SHORT),
    ("MPI_INT", 0x4c000405, datatype::INT),
    ("MPI_UNSIGNED", 0x4c000406, datatype::UNSIGNED),
    ("MPI_LONG", 0x4c000807, datatype::LONG),
    ("MPI_UNSIGNED_LONG", 0x4c000808, datatype::UNSIGNED_LONG),
    ("MPI_LONG_LONG_INT", 0x4c000809, datatype::LONG_LONG_INT),
    ("MPI_FLOAT", 0x4c00040a, datatype::FLOAT),
    ("MPI_DOUBLE", 0x4c00080b, datatype::DOUBLE),
    ("MPI_LONG_DOUBLE", 0x4c00100c, datatype::LONG_DOUBLE),
    ("MPI_BYTE", 0x4c00010d, datatype::BYTE),
    ("MPI_WCHAR", 0x4c00040e, datatype::WCHAR),
    ("MPI_PACKED", 0x4c00010f, datatype::PACKED),
    ("MPI_FLOAT_INT", 0x8c000000, datatype::FLOAT_INT),
    ("MPI_DOUBLE_INT", 0x8c000001, datatype::DOUBLE_INT),
    ("MPI_LONG_INT", 0x8c000002, datatype::LONG_INT),
    ("MPI_SHORT_INT", 0x8c000003, datatype::SHORT_INT),
    ("MPI_2INT", 0x4c000816, datatype::TWO_INT),
    ("MPI_LONG_DOUBLE_INT", 0x8c000004, datatype::LONG_DOUBLE_INT),
    ("MPI_SIGNED_CHAR", 0x4c000118, datatype::SIGNED_CHAR),
    ("MPI_UNSIGNED_LONG_LONG", 0x4c000819, datatype::UNSIGNED_LONG_LONG),
    ("MPI_LONG_LONG", 0x4c000809, datatype::LONG_LONG),
    ("MPI_CHARACTER", 0x4c00011a, datatype::CHARACTER),
    ("MPI_INTEGER", 0x4c00041b, datatype::INTEGER),
    ("MPI_REAL", 0x4c00041c, datatype::REAL),
    ("MPI_LOGICAL", 0x4c00041d, datatype::LOGICAL),
    ("MPI_COMPLEX", 0x4c00081e, datatype::COMPLEX),
    ("MPI_DOUBLE_PRECISION", 0x4c00081f, datatype::DOUBLE_PRECISION),
    ("MPI_2INTEGER", 0x4c000820, datatype::TWO_INTEGER),
    ("MPI_2REAL", 0x4c000821, datatype::TWO_REAL),
    ("MPI_DOUBLE_COMPLEX", 0x4c001022, datatype::DOUBLE_COMPLEX),
    ("MPI_2DOUBLE_PRECISION", 0x4c001023, datatype::TWO_DOUBLE_PRECISION),
    ("MPI_REAL2", 0x4c000226, datatype::REAL2),
    ("MPI_REAL4", 0x4c000427, datatype::REAL4),
    ("MPI_COMPLEX8", 0x4c000828, datatype::COMPLEX8),
    ("MPI_REAL8", 0x4c000829, datatype::REAL8),
    ("MPI_COMPLEX16", 0x4c00102a, datatype::COMPLEX16),
    ("MPI_REAL16", 0x4c00102b, datatype::REAL16),
    ("MPI_COMPLEX32", 0x4c00202c, datatype::COMPLEX32),
    ("MPI_INTEGER1", 0x4c00012d, datatype::INTEGER1),
    ("MPI_COMPLEX4", 0x4c00042e, datatype::COMPLEX4),
    ("MPI_INTEGER2", 0x4c00022f, datatype::INTEGER2),
    ("MPI_INTEGER4", 0x4c000430, datatype::INTEGER4),
    ("MPI_INTEGER8", 0x4c000831, datatype::INTEGER8),
    ("MPI_INTEGER16", 0x4c001032, datatype::INTEGER16),
    ("MPI_CXX_BOOL", 0x4c000133, datatype::CXX_BOOL),
    ("MPI_CXX_FLOAT_COMPLEX", 0x4c000834, datatype::CXX_FLOAT_COMPLEX),
    ("MPI_CXX_DOUBLE_COMPLEX", 0x4c001035, datatype::CXX_DOUBLE_COMPLEX),
    ("MPI_CXX_LONG_DOUBLE_COMPLEX", 0x4c002036, datatype::CXX_LONG_DOUBLE_COMPLEX),
    ("MPI_INT8_T", 0x4c000137, datatype::INT8_T),
    ("MPI_INT16_T", 0x4c000238, datatype::INT16_T),
    ("MPI_INT32_T", 0x4c000439, datatype::INT32_T),
    ("MPI_INT64_T", 0x4c00083a, datatype::INT64_T),
    ("MPI_UINT8_T", 0x4c00013b, datatype::UINT8_T),
    ("MPI_UINT16_T", 0x4c00023c, datatype::UINT16_T),
    ("MPI_UINT32_T", 0x4c00043d, datatype::UINT32_T),
    ("MPI_UINT64_T", 0x4c00083e, datatype::UINT64_T),
    ("MPI_C_BOOL", 0x4c00013f, datatype::C_BOOL),
    ("MPI_C_FLOAT_COMPLEX", 0x4c000840, datatype::C_FLOAT_COMPLEX),
    ("MPI_C_COMPLEX", 0x4c000840, datatype::C_COMPLEX),
    ("MPI_C_DOUBLE_COMPLEX", 0x4c001041, datatype::C_DOUBLE_COMPLEX),
    ("MPI_C_LONG_DOUBLE_COMPLEX", 0x4c002042, datatype::C_LONG_DOUBLE_COMPLEX),
    ("MPI_AINT", 0x4c000843, datatype::AINT),
    ("MPI_OFFSET", 0x4c000844, datatype::OFFSET),
    ("MPI_COUNT", 0x4c000845, datatype::COUNT),
    ("MPI_LOGICAL1", 0x4c000147, datatype::LOGICAL1),
    ("MPI_LOGICAL2", 0x4c000248, datatype::LOGICAL2),
    ("MPI_LOGICAL4", 0x4c000449, datatype::LOGICAL4),
    ("MPI_LOGICAL8", 0x4c00084a, datatype::LOGICAL8),
    ("MPI_LOGICAL16", 0x4c00104b, datatype::LOGICAL16),
    ("MPI_LB", 0x4c000010, mpich_datatype::LB),
    ("MPI_UB", 0x4c000011, mpich_datatype::UB),
    ("MPIX_C_FLOAT16", 0x4c000246, mpich_datatype::C_FLOAT16),
    ("MPIX_BFLOAT16", 0x4c00024c, mpich_datatype::BFLOAT16),
];

pub const ERRHANDLER: &[HandleEntry] = &[
    ("MPI_ERRHANDLER_NULL", 0x14000000, Handle::NULL),
    ("MPI_ERRORS_ARE_FATAL", 0x54000000, errhandler::ERRORS_ARE_FATAL),
    ("MPI_ERRORS_RETURN", 0x54000001, errhandler::ERRORS_RETURN),
    ("MPI_ERRORS_ABORT", 0x54000003, errhandler::ERRORS_ABORT),
];

pub const OP: &[HandleEntry] = &[
    ("MPI_OP_NULL", 0x18000000, Handle::NULL),
    ("MPI_MAX", 0x58000001, op::MAX),
    ("MPI_MIN", 0x58000002, op::MIN),
    ("MPI_SUM", 0x58000003, op::SUM),
    ("MPI_PROD", 0x58000004, op::PROD),
    ("MPI_LAND", 0x58000005, op::LAND),
    ("MPI_BAND", 0x58000006, op::BAND),
    ("MPI_LOR", 0x58000007, op::LOR),
    ("MPI_BOR", 0x58000008, op::BOR),
    ("MPI_LXOR", 0x58000009, op::LXOR),
    ("MPI_BXOR", 0x5800000a, op::BXOR),
    ("MPI_MINLOC", 0x5800000b, op::MINLOC),
    ("MPI_MAXLOC", 0x5800000c, op::MAXLOC),
    ("MPI_REPLACE", 0x5800000d, op::REPLACE),
    ("MPI_NO_OP", 0x5800000e, op::NO_OP),
    ("MPIX_EQUAL", 0x5800000f, mpich_op::EQUAL),
];

pub const INFO: &[HandleEntry] =
    &[("MPI_INFO_NULL", 0x1c000000, Handle::NULL), ("MPI_INFO_ENV", 0x5c000001, info::ENV)];

pub const WIN: &[HandleEntry] = &[("MPI_WIN_NULL", 0x20000000, Handle::NULL)];

pub const REQUEST: &[HandleEntry] = &[("MPI_REQUEST_NULL", 0x2c000000, Handle::NULL)];

pub const MESSAGE: &[HandleEntry] =
    &[("MPI_MESSAGE_NULL", 0x2c000000, Handle::NULL), ("MPI_MESSAGE_NO_PROC", 0x6c000000, message::NO_PROC)];

pub const SESSION: &[HandleEntry] = &[("MPI_SESSION_NULL", 0x38000000, Handle::NULL)];

/// Predefined attribute keys.
pub const KEYVAL: &[HandleEntry] = &[
    ("MPI_KEYVAL_INVALID", 0x24000000, keyval::INVALID),
    ("MPI_TAG_UB", 0x64400001, keyval::TAG_UB),
    ("MPI_HOST", 0x64400003, keyval::HOST),
    ("MPI_IO", 0x64400005, keyval::IO),
    ("MPI_WTIME_IS_GLOBAL", 0x64400007, keyval::WTIME_IS_GLOBAL),
    ("MPI_UNIVERSE_SIZE", 0x64400009, keyval::UNIVERSE_SIZE),
    ("MPI_LASTUSEDCODE", 0x6440000b, keyval::LASTUSEDCODE),
    ("MPI_APPNUM", 0x6440000d, keyval::APPNUM),
    ("MPI_WIN_BASE", 0x66000001, keyval::WIN_BASE),
    ("MPI_WIN_SIZE", 0x66000003, keyval::WIN_SIZE),
    ("MPI_WIN_DISP_UNIT", 0x66000005, keyval::WIN_DISP_UNIT),
    ("MPI_WIN_CREATE_FLAVOR", 0x66000007, keyval::WIN_CREATE_FLAVOR),
    ("MPI_WIN_MODEL", 0x66000009, keyval::WIN_MODEL),
];
