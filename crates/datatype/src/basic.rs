//! The predefined types of both ABIs, one row each: name, machine representation, reduction group and
//! size in external32. Sizes are those of x86-64 Linux with gfortran's kinds.
//!
//! Handle values are not known here: the ABI crates decode C handles, and `mpi::types` maps the result to a
//! [`Basic`].

/// The representation of a value in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Repr {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    I128,
    /// IEEE binary16.
    F16,
    /// bfloat16: the upper half of an IEEE binary32.
    Bf16,
    F32,
    F64,
    /// The x87 format of 80 bits in 16 bytes: `long double`.
    X87,
    /// IEEE binary128: `REAL(16)`.
    F128,
    /// The complex types, from here to `ComplexF128`: two numbers of F16, F32, F64, X87 or F128, the real part first.
    ComplexF16,
    ComplexF32,
    ComplexF64,
    ComplexX87,
    ComplexF128,
    /// The value and the index of MPI_MINLOC and MPI_MAXLOC, laid out as a C struct.
    Pair(Basic, Basic),
    /// MPI_LB and MPI_UB: no data, only a bound.
    Marker,
}

impl Repr {
    /// The number of bytes of data, without gaps.
    pub const fn size(self) -> u64 {
        match self {
            Repr::I8 | Repr::U8 => 1,
            Repr::I16 | Repr::U16 | Repr::F16 | Repr::Bf16 => 2,
            Repr::I32 | Repr::U32 | Repr::F32 | Repr::ComplexF16 => 4,
            Repr::I64 | Repr::U64 | Repr::F64 | Repr::ComplexF32 => 8,
            Repr::I128 | Repr::X87 | Repr::F128 | Repr::ComplexF64 => 16,
            Repr::ComplexX87 | Repr::ComplexF128 => 32,
            Repr::Pair(value, index) => value.size() + index.size(),
            Repr::Marker => 0,
        }
    }

    /// The alignment that a C compiler gives a value of this representation (System V x86-64).
    pub const fn align(self) -> u64 {
        match self {
            Repr::ComplexF16 => 2,
            Repr::ComplexF32 => 4,
            Repr::ComplexF64 => 8,
            Repr::ComplexX87 | Repr::ComplexF128 => 16,
            Repr::Pair(value, index) => {
                if value.align() > index.align() {
                    value.align()
                } else {
                    index.align()
                }
            }
            Repr::Marker => 1,
            _ => self.size(),
        }
    }
}

/// The groups of types that the predefined operations are defined on (MPI-5.0 §6.9.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeGroup {
    CInteger,
    FortranInteger,
    FloatingPoint,
    Logical,
    Complex,
    Byte,
    MultiLanguage,
    /// Value and index, for MPI_MINLOC and MPI_MAXLOC (§6.9.4).
    Pair,
    /// No predefined operation.
    None,
}

macro_rules! basics {
    ($($variant:ident = $name:literal, $repr:expr, $group:ident, $external:literal;)*) => {
        /// A predefined type.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[repr(u8)]
        pub enum Basic { $($variant),* }

        impl Basic {
            /// Every predefined type; `ALL[b as usize] == b`.
            pub const ALL: &'static [Basic] = &[$(Basic::$variant),*];

            /// The constant's name, which is also what MPI_Type_get_name gives.
            pub const fn name(self) -> &'static str {
                match self { $(Basic::$variant => $name),* }
            }

            pub const fn repr(self) -> Repr {
                use Basic::*;
                use Repr::*;
                match self { $(Basic::$variant => $repr),* }
            }

            pub const fn group(self) -> TypeGroup {
                match self { $(Basic::$variant => TypeGroup::$group),* }
            }

            /// Bytes in the external32 representation (MPI-5.0 table 14.2).
            pub const fn external_size(self) -> u64 {
                match self { $(Basic::$variant => $external),* }
            }
        }
    };
}

basics! {
    // C. MPI_CHAR is for text. It can be reduced like an integer, which is an extension that MPICH has, too.
    Char = "MPI_CHAR", I8, CInteger, 1;
    SignedChar = "MPI_SIGNED_CHAR", I8, CInteger, 1;
    UnsignedChar = "MPI_UNSIGNED_CHAR", U8, CInteger, 1;
    Wchar = "MPI_WCHAR", I32, None, 2;
    Short = "MPI_SHORT", I16, CInteger, 2;
    UnsignedShort = "MPI_UNSIGNED_SHORT", U16, CInteger, 2;
    Int = "MPI_INT", I32, CInteger, 4;
    Unsigned = "MPI_UNSIGNED", U32, CInteger, 4;
    Long = "MPI_LONG", I64, CInteger, 4;
    UnsignedLong = "MPI_UNSIGNED_LONG", U64, CInteger, 4;
    LongLong = "MPI_LONG_LONG_INT", I64, CInteger, 8;
    UnsignedLongLong = "MPI_UNSIGNED_LONG_LONG", U64, CInteger, 8;
    Int8 = "MPI_INT8_T", I8, CInteger, 1;
    Int16 = "MPI_INT16_T", I16, CInteger, 2;
    Int32 = "MPI_INT32_T", I32, CInteger, 4;
    Int64 = "MPI_INT64_T", I64, CInteger, 8;
    Uint8 = "MPI_UINT8_T", U8, CInteger, 1;
    Uint16 = "MPI_UINT16_T", U16, CInteger, 2;
    Uint32 = "MPI_UINT32_T", U32, CInteger, 4;
    Uint64 = "MPI_UINT64_T", U64, CInteger, 8;
    Float = "MPI_FLOAT", F32, FloatingPoint, 4;
    Double = "MPI_DOUBLE", F64, FloatingPoint, 8;
    LongDouble = "MPI_LONG_DOUBLE", X87, FloatingPoint, 16;
    CFloat16 = "MPIX_C_FLOAT16", F16, FloatingPoint, 2;
    Bfloat16 = "MPIX_BFLOAT16", Bf16, FloatingPoint, 2;
    CBool = "MPI_C_BOOL", U8, Logical, 1;
    CFloatComplex = "MPI_C_COMPLEX", ComplexF32, Complex, 8;
    CDoubleComplex = "MPI_C_DOUBLE_COMPLEX", ComplexF64, Complex, 16;
    CLongDoubleComplex = "MPI_C_LONG_DOUBLE_COMPLEX", ComplexX87, Complex, 32;
    // C++.
    CxxBool = "MPI_CXX_BOOL", U8, Logical, 1;
    CxxFloatComplex = "MPI_CXX_FLOAT_COMPLEX", ComplexF32, Complex, 8;
    CxxDoubleComplex = "MPI_CXX_DOUBLE_COMPLEX", ComplexF64, Complex, 16;
    CxxLongDoubleComplex = "MPI_CXX_LONG_DOUBLE_COMPLEX", ComplexX87, Complex, 32;
    // Any language.
    Byte = "MPI_BYTE", U8, Byte, 1;
    Packed = "MPI_PACKED", U8, None, 1;
    Aint = "MPI_AINT", I64, MultiLanguage, 8;
    Offset = "MPI_OFFSET", I64, MultiLanguage, 8;
    Count = "MPI_COUNT", I64, MultiLanguage, 8;
    // Fortran.
    Character = "MPI_CHARACTER", U8, None, 1;
    Logical = "MPI_LOGICAL", I32, Logical, 4;
    Integer = "MPI_INTEGER", I32, FortranInteger, 4;
    Real = "MPI_REAL", F32, FloatingPoint, 4;
    DoublePrecision = "MPI_DOUBLE_PRECISION", F64, FloatingPoint, 8;
    Complex = "MPI_COMPLEX", ComplexF32, Complex, 8;
    DoubleComplex = "MPI_DOUBLE_COMPLEX", ComplexF64, Complex, 16;
    // Fortran, by size.
    Logical1 = "MPI_LOGICAL1", I8, Logical, 1;
    Logical2 = "MPI_LOGICAL2", I16, Logical, 2;
    Logical4 = "MPI_LOGICAL4", I32, Logical, 4;
    Logical8 = "MPI_LOGICAL8", I64, Logical, 8;
    Logical16 = "MPI_LOGICAL16", I128, Logical, 16;
    Integer1 = "MPI_INTEGER1", I8, FortranInteger, 1;
    Integer2 = "MPI_INTEGER2", I16, FortranInteger, 2;
    Integer4 = "MPI_INTEGER4", I32, FortranInteger, 4;
    Integer8 = "MPI_INTEGER8", I64, FortranInteger, 8;
    Integer16 = "MPI_INTEGER16", I128, FortranInteger, 16;
    Real2 = "MPI_REAL2", F16, FloatingPoint, 2;
    Real4 = "MPI_REAL4", F32, FloatingPoint, 4;
    Real8 = "MPI_REAL8", F64, FloatingPoint, 8;
    Real16 = "MPI_REAL16", F128, FloatingPoint, 16;
    Complex4 = "MPI_COMPLEX4", ComplexF16, Complex, 4;
    Complex8 = "MPI_COMPLEX8", ComplexF32, Complex, 8;
    Complex16 = "MPI_COMPLEX16", ComplexF64, Complex, 16;
    Complex32 = "MPI_COMPLEX32", ComplexF128, Complex, 32;
    // Pairs of value and index. In external32 there is no gap between the two.
    FloatInt = "MPI_FLOAT_INT", Pair(Float, Int), Pair, 8;
    DoubleInt = "MPI_DOUBLE_INT", Pair(Double, Int), Pair, 12;
    LongInt = "MPI_LONG_INT", Pair(Long, Int), Pair, 8;
    TwoInt = "MPI_2INT", Pair(Int, Int), Pair, 8;
    ShortInt = "MPI_SHORT_INT", Pair(Short, Int), Pair, 6;
    LongDoubleInt = "MPI_LONG_DOUBLE_INT", Pair(LongDouble, Int), Pair, 20;
    TwoReal = "MPI_2REAL", Pair(Real, Real), Pair, 8;
    TwoDoublePrecision = "MPI_2DOUBLE_PRECISION", Pair(DoublePrecision, DoublePrecision), Pair, 16;
    TwoInteger = "MPI_2INTEGER", Pair(Integer, Integer), Pair, 8;
    // MPI-1's markers, which live on in the MPICH ABI.
    Lb = "MPI_LB", Marker, None, 0;
    Ub = "MPI_UB", Marker, None, 0;
}

impl Basic {
    /// Whether this is Fortran's LOGICAL, in any of its sizes. The truth types of C and C++ are not.
    pub const fn is_fortran_logical(self) -> bool {
        matches!(
            self,
            Basic::Logical | Basic::Logical1 | Basic::Logical2 | Basic::Logical4 | Basic::Logical8 | Basic::Logical16
        )
    }

    /// Bytes of data (MPI_Type_size).
    pub const fn size(self) -> u64 {
        self.repr().size()
    }

    pub const fn align(self) -> u64 {
        self.repr().align()
    }

    /// The number of bytes from one element of an array to the next: a pair may have gaps, which are counted.
    pub const fn extent(self) -> u64 {
        match self.repr() {
            Repr::Pair(value, index) => {
                let align = self.align();
                (pair_index_at(value, index) + index.size()).next_multiple_of(align)
            }
            repr => repr.size(),
        }
    }

    /// The number of basic elements in one element of this type (MPI_Get_elements): a pair is a struct of two
    /// (MPI-5.0 §6.9.4), and a marker has none.
    pub const fn elements(self) -> u64 {
        match self.repr() {
            Repr::Pair(..) => 2,
            Repr::Marker => 0,
            _ => 1,
        }
    }
}

/// The offset of the index in a pair: the first offset behind the value that the alignment of the index allows.
pub(crate) const fn pair_index_at(value: Basic, index: Basic) -> u64 {
    value.size().next_multiple_of(index.align())
}

// The C structs of MPI-5.0 §6.9.4 on x86-64.
const _: () = assert!(Basic::ShortInt.size() == 6 && Basic::ShortInt.extent() == 8);
const _: () = assert!(Basic::DoubleInt.size() == 12 && Basic::DoubleInt.extent() == 16);
const _: () = assert!(Basic::LongDoubleInt.size() == 20 && Basic::LongDoubleInt.extent() == 32);
const _: () = assert!(Basic::TwoDoublePrecision.size() == 16 && Basic::TwoDoublePrecision.extent() == 16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_found_by_its_number_and_has_its_own_name() {
        let mut names = std::collections::HashSet::new();
        for (i, &basic) in Basic::ALL.iter().enumerate() {
            assert_eq!(basic as usize, i);
            assert!(names.insert(basic.name()), "{} twice", basic.name());
        }
    }

    #[test]
    fn nothing_grows_in_external32() {
        for &basic in Basic::ALL {
            assert!(basic.external_size() <= basic.size(), "{}", basic.name());
        }
    }

    #[test]
    fn extents_hold_whole_alignments() {
        for &basic in Basic::ALL {
            assert!(basic.align().is_power_of_two());
            assert!(basic.extent().is_multiple_of(basic.align()), "{}", basic.name());
        }
    }
}
