//! Internal handles of MPI objects: small numbers, the same for every ABI.
//!
//! A handle does not say of which kind its object is: each kind has a table of its own, and C handles contain the
//! kind. The ABI crates convert C handles to these handles and back (the trait `abi::CHandle`, module `codec` of each
//! ABI crate). `mpi`, which owns the objects, assigns handles of new objects from tables of slots
//! (`handle_table`), and knows predefined objects by their numbers.

use std::fmt;

/// The handle of an object: a slot and its generation, or the number of a predefined object. The generation counts
/// the objects that have had the slot.
///
/// Layout, low bits first: 20 bits for the slot, 6 bits for the generation. Slots below 256 are predefined objects
/// and have generation 0. A handle has 26 bits, because the MPICH ABI leaves these to an implementation.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle(u32);

impl Handle {
    /// The number of bits of a handle; all higher bits are zero.
    pub const BITS: u32 = 26;
    pub const SLOT_BITS: u32 = 20;
    pub const GENERATION_BITS: u32 = Self::BITS - Self::SLOT_BITS;
    /// The first slot of dynamic objects.
    pub const FIRST_DYNAMIC: u32 = 256;
    /// The number of slots: one more than the last slot.
    pub const SLOTS: u32 = 1 << Self::SLOT_BITS;

    /// The null handle, which is the same for every kind, because the numbers of predefined objects count from their
    /// kind's null handle in the standard ABI.
    pub const NULL: Handle = Handle(0);

    /// Returns the handle of a predefined object. `number` is the object's value in the standard ABI minus the value
    /// of the null handle of its kind.
    #[inline(always)]
    pub const fn predefined(number: u8) -> Handle {
        Handle(number as u32)
    }

    /// Returns the handle of the object in `slot`. Panics if `slot` is below FIRST_DYNAMIC, or not below SLOTS. Each
    /// object in a slot has the generation after that of the object before it; generations wrap around.
    #[inline]
    pub const fn dynamic(slot: u32, generation: u32) -> Handle {
        assert!(slot >= Self::FIRST_DYNAMIC && slot < Self::SLOTS);
        Handle((generation & ((1 << Self::GENERATION_BITS) - 1)) << Self::SLOT_BITS | slot)
    }

    /// Returns the handle of which `bits` returned these bits; `None` if there is no such handle.
    #[inline(always)]
    pub const fn from_bits(bits: u32) -> Option<Handle> {
        let slot = bits & (Self::SLOTS - 1);
        if bits >> Self::BITS == 0 && (slot >= Self::FIRST_DYNAMIC || bits == slot) { Some(Handle(bits)) } else { None }
    }

    #[inline(always)]
    pub const fn bits(self) -> u32 {
        self.0
    }

    #[inline(always)]
    pub const fn slot(self) -> u32 {
        self.0 & (Self::SLOTS - 1)
    }

    #[inline(always)]
    pub const fn generation(self) -> u32 {
        self.0 >> Self::SLOT_BITS
    }

    #[inline(always)]
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }

    #[inline(always)]
    pub const fn is_predefined(self) -> bool {
        self.0 < Self::FIRST_DYNAMIC
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_predefined() {
            write!(f, "predefined {}", self.0)
        } else {
            write!(f, "{}.{}", self.slot(), self.generation())
        }
    }
}

/// A kind of MPI object. The values are those of the object field in handles of the MPICH ABI, if that ABI has
/// handles of the kind. Dynamic handles of the standard ABI contain them too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u32)]
pub enum ObjectKind {
    Comm = 1,
    Group = 2,
    Datatype = 3,
    File = 4,
    Errhandler = 5,
    Op = 6,
    Info = 7,
    Win = 8,
    Keyval = 9,
    Request = 11,
    /// Messages have the value of `Request` in the MPICH ABI.
    Message = 12,
    Session = 14,
}

macro_rules! predefined {
    ($(#[$doc:meta])* $module:ident: $($name:ident = $number:literal, $mpi:literal;)*) => {
        $(#[$doc])*
        pub mod $module {
            use super::Handle;
            $(pub const $name: Handle = Handle::predefined($number);)*

            /// All predefined objects of this kind, with the names of their constants in `mpi.h`. If two names have
            /// the same value, MPI_Type_get_name returns the first.
            pub const ALL: &[(&str, Handle)] = &[$(($mpi, $name)),*];

            /// Returns the name of the constant of a predefined object; `None` if there is no such constant.
            pub fn name(handle: Handle) -> Option<&'static str> {
                ALL.iter().find(|(_, h)| *h == handle).map(|(name, _)| *name)
            }
        }
    };
}

predefined! { comm:
    NULL = 0, "MPI_COMM_NULL";
    WORLD = 1, "MPI_COMM_WORLD";
    SELF = 2, "MPI_COMM_SELF";
}
predefined! { group:
    NULL = 0, "MPI_GROUP_NULL";
    EMPTY = 1, "MPI_GROUP_EMPTY";
}
predefined! { message:
    NULL = 0, "MPI_MESSAGE_NULL";
    NO_PROC = 1, "MPI_MESSAGE_NO_PROC";
}
predefined! { info:
    NULL = 0, "MPI_INFO_NULL";
    ENV = 1, "MPI_INFO_ENV";
}
predefined! { errhandler:
    NULL = 0, "MPI_ERRHANDLER_NULL";
    ERRORS_ARE_FATAL = 1, "MPI_ERRORS_ARE_FATAL";
    ERRORS_ABORT = 2, "MPI_ERRORS_ABORT";
    ERRORS_RETURN = 3, "MPI_ERRORS_RETURN";
}
predefined! {
    /// Attribute keys. Each number is the value in the standard ABI minus 500, except that MPI_KEYVAL_INVALID, whose
    /// value is 0, has the number 0; no constant has the value 500.
    keyval:
    INVALID = 0, "MPI_KEYVAL_INVALID";
    TAG_UB = 1, "MPI_TAG_UB";
    IO = 2, "MPI_IO";
    HOST = 3, "MPI_HOST";
    WTIME_IS_GLOBAL = 4, "MPI_WTIME_IS_GLOBAL";
    APPNUM = 5, "MPI_APPNUM";
    LASTUSEDCODE = 6, "MPI_LASTUSEDCODE";
    UNIVERSE_SIZE = 7, "MPI_UNIVERSE_SIZE";
    WIN_BASE = 101, "MPI_WIN_BASE";
    WIN_DISP_UNIT = 102, "MPI_WIN_DISP_UNIT";
    WIN_SIZE = 103, "MPI_WIN_SIZE";
    WIN_CREATE_FLAVOR = 104, "MPI_WIN_CREATE_FLAVOR";
    WIN_MODEL = 105, "MPI_WIN_MODEL";
}
predefined! { op:
    NULL = 0, "MPI_OP_NULL";
    SUM = 1, "MPI_SUM";
    MIN = 2, "MPI_MIN";
    MAX = 3, "MPI_MAX";
    PROD = 4, "MPI_PROD";
    BAND = 8, "MPI_BAND";
    BOR = 9, "MPI_BOR";
    BXOR = 10, "MPI_BXOR";
    LAND = 16, "MPI_LAND";
    LOR = 17, "MPI_LOR";
    LXOR = 18, "MPI_LXOR";
    MINLOC = 24, "MPI_MINLOC";
    MAXLOC = 25, "MPI_MAXLOC";
    REPLACE = 28, "MPI_REPLACE";
    NO_OP = 29, "MPI_NO_OP";
}
predefined! {
    /// Datatypes (MPI-5.0 table 3.2 and the following tables). A digit at the start of a name is spelled out here.
    datatype:
    NULL = 0, "MPI_DATATYPE_NULL";
    AINT = 1, "MPI_AINT";
    COUNT = 2, "MPI_COUNT";
    OFFSET = 3, "MPI_OFFSET";
    PACKED = 7, "MPI_PACKED";
    SHORT = 8, "MPI_SHORT";
    INT = 9, "MPI_INT";
    LONG = 10, "MPI_LONG";
    LONG_LONG = 11, "MPI_LONG_LONG";
    LONG_LONG_INT = 11, "MPI_LONG_LONG_INT";
    UNSIGNED_SHORT = 12, "MPI_UNSIGNED_SHORT";
    UNSIGNED = 13, "MPI_UNSIGNED";
    UNSIGNED_LONG = 14, "MPI_UNSIGNED_LONG";
    UNSIGNED_LONG_LONG = 15, "MPI_UNSIGNED_LONG_LONG";
    FLOAT = 16, "MPI_FLOAT";
    C_COMPLEX = 18, "MPI_C_COMPLEX";
    C_FLOAT_COMPLEX = 18, "MPI_C_FLOAT_COMPLEX";
    CXX_FLOAT_COMPLEX = 19, "MPI_CXX_FLOAT_COMPLEX";
    DOUBLE = 20, "MPI_DOUBLE";
    C_DOUBLE_COMPLEX = 22, "MPI_C_DOUBLE_COMPLEX";
    CXX_DOUBLE_COMPLEX = 23, "MPI_CXX_DOUBLE_COMPLEX";
    LOGICAL = 24, "MPI_LOGICAL";
    INTEGER = 25, "MPI_INTEGER";
    REAL = 26, "MPI_REAL";
    COMPLEX = 27, "MPI_COMPLEX";
    DOUBLE_PRECISION = 28, "MPI_DOUBLE_PRECISION";
    DOUBLE_COMPLEX = 29, "MPI_DOUBLE_COMPLEX";
    CHARACTER = 30, "MPI_CHARACTER";
    LONG_DOUBLE = 32, "MPI_LONG_DOUBLE";
    C_LONG_DOUBLE_COMPLEX = 36, "MPI_C_LONG_DOUBLE_COMPLEX";
    CXX_LONG_DOUBLE_COMPLEX = 37, "MPI_CXX_LONG_DOUBLE_COMPLEX";
    FLOAT_INT = 40, "MPI_FLOAT_INT";
    DOUBLE_INT = 41, "MPI_DOUBLE_INT";
    LONG_INT = 42, "MPI_LONG_INT";
    TWO_INT = 43, "MPI_2INT";
    SHORT_INT = 44, "MPI_SHORT_INT";
    LONG_DOUBLE_INT = 45, "MPI_LONG_DOUBLE_INT";
    TWO_REAL = 48, "MPI_2REAL";
    TWO_DOUBLE_PRECISION = 49, "MPI_2DOUBLE_PRECISION";
    TWO_INTEGER = 50, "MPI_2INTEGER";
    C_BOOL = 56, "MPI_C_BOOL";
    CXX_BOOL = 57, "MPI_CXX_BOOL";
    WCHAR = 60, "MPI_WCHAR";
    INT8_T = 64, "MPI_INT8_T";
    UINT8_T = 65, "MPI_UINT8_T";
    CHAR = 67, "MPI_CHAR";
    SIGNED_CHAR = 68, "MPI_SIGNED_CHAR";
    UNSIGNED_CHAR = 69, "MPI_UNSIGNED_CHAR";
    BYTE = 71, "MPI_BYTE";
    INT16_T = 72, "MPI_INT16_T";
    UINT16_T = 73, "MPI_UINT16_T";
    INT32_T = 80, "MPI_INT32_T";
    UINT32_T = 81, "MPI_UINT32_T";
    INT64_T = 88, "MPI_INT64_T";
    UINT64_T = 89, "MPI_UINT64_T";
    LOGICAL1 = 192, "MPI_LOGICAL1";
    INTEGER1 = 193, "MPI_INTEGER1";
    LOGICAL2 = 200, "MPI_LOGICAL2";
    INTEGER2 = 201, "MPI_INTEGER2";
    REAL2 = 202, "MPI_REAL2";
    LOGICAL4 = 208, "MPI_LOGICAL4";
    INTEGER4 = 209, "MPI_INTEGER4";
    REAL4 = 210, "MPI_REAL4";
    COMPLEX4 = 211, "MPI_COMPLEX4";
    LOGICAL8 = 216, "MPI_LOGICAL8";
    INTEGER8 = 217, "MPI_INTEGER8";
    REAL8 = 218, "MPI_REAL8";
    COMPLEX8 = 219, "MPI_COMPLEX8";
    LOGICAL16 = 224, "MPI_LOGICAL16";
    INTEGER16 = 225, "MPI_INTEGER16";
    REAL16 = 226, "MPI_REAL16";
    COMPLEX16 = 227, "MPI_COMPLEX16";
    COMPLEX32 = 235, "MPI_COMPLEX32";
}
predefined! {
    /// Datatypes that only the MPICH ABI has. Their numbers are not used by the standard ABI.
    mpich_datatype:
    LB = 240, "MPI_LB";
    UB = 241, "MPI_UB";
    C_FLOAT16 = 242, "MPIX_C_FLOAT16";
    BFLOAT16 = 243, "MPIX_BFLOAT16";
}
predefined! {
    /// Operations that only the MPICH ABI has. Their numbers are not used by the standard ABI.
    mpich_op:
    EQUAL = 64, "MPIX_EQUAL";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_slot_has_another_handle() {
        let first = Handle::dynamic(300, 7);
        assert_eq!((first.slot(), first.generation()), (300, 7));
        assert_ne!(first, Handle::dynamic(300, 8));
        assert_eq!(Handle::dynamic(300, 64), Handle::dynamic(300, 0));
        assert!(!first.is_predefined() && !first.is_null());
    }

    #[test]
    fn bits_come_back_as_the_same_handle_or_none() {
        for h in [Handle::NULL, comm::WORLD, Handle::dynamic(256, 0), Handle::dynamic(Handle::SLOTS - 1, 63)] {
            assert_eq!(Handle::from_bits(h.bits()), Some(h));
        }
        assert_eq!(Handle::from_bits(1 << Handle::SLOT_BITS), None, "a generation on a predefined slot");
        assert_eq!(Handle::from_bits(1 << Handle::BITS), None);
    }

    #[test]
    fn numbers_of_the_mpich_abi_are_free_in_the_standard_one() {
        assert!(mpich_datatype::ALL.iter().all(|(_, h)| datatype::name(*h).is_none()));
        assert!(mpich_op::ALL.iter().all(|(_, h)| op::name(*h).is_none()));
    }

    #[test]
    fn predefined_names_are_found() {
        assert_eq!(datatype::name(datatype::INT), Some("MPI_INT"));
        assert_eq!(datatype::name(Handle::dynamic(300, 0)), None);
    }
}
