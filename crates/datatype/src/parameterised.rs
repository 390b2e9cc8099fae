//! Types that are chosen by what they must hold: Fortran's selected kinds, MPI_Type_match_size (MPI-5.0 §19.1.5), and
//! the pairs of MPI_Type_get_value_index (§6.9.4). Only pairs that have a name exist here. The standard allows a
//! library to have further pairs without a name; MPICH and Open MPI have none, and mpi4py 4.1.2 can neither take such
//! a pair apart nor pickle it.
//!
//! The kinds are gfortran's on x86-64. Equal arguments must give equal handles: `mpi` keeps the table of these
//! handles.

use crate::basic::{Basic, Repr, TypeGroup};
use crate::bounded_layout::BoundedLayout;
use crate::contents::Constructor;
use crate::datatype::Datatype;
use hawser_base::{Class, Error, Result};
use std::sync::Arc;

/// The type classes of MPI_Type_match_size. `Logical` is an extension of MPICH.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeClass {
    Logical,
    Integer,
    Real,
    Complex,
}

/// The real kinds: decimal digits, decimal exponent range, the real and the complex type.
const REALS: [(i64, i64, Basic, Basic); 4] = [
    (6, 37, Basic::Real4, Basic::Complex8),
    (15, 307, Basic::Real8, Basic::Complex16),
    (18, 4931, Basic::LongDouble, Basic::CLongDoubleComplex),
    (33, 4931, Basic::Real16, Basic::Complex32),
];

/// The integer kinds: decimal exponent range, and the type.
const INTEGERS: [(i64, Basic); 5] =
    [(2, Basic::Integer1), (4, Basic::Integer2), (9, Basic::Integer4), (18, Basic::Integer8), (38, Basic::Integer16)];

/// Values with their indices, for MPI_MINLOC and MPI_MAXLOC.
const PAIRS: [Basic; 9] = [
    Basic::FloatInt,
    Basic::DoubleInt,
    Basic::LongInt,
    Basic::TwoInt,
    Basic::ShortInt,
    Basic::LongDoubleInt,
    Basic::TwoReal,
    Basic::TwoDoublePrecision,
    Basic::TwoInteger,
];

impl Datatype {
    /// MPI_Type_create_f90_real; `None` is MPI_UNDEFINED.
    pub fn f90_real(precision: Option<i64>, range: Option<i64>) -> Result<Arc<Datatype>> {
        let basic = real_kind(precision, range)?.0;
        Ok(single(basic, Constructor::F90Real { basic, precision, range }))
    }

    /// MPI_Type_create_f90_complex; `None` is MPI_UNDEFINED.
    pub fn f90_complex(precision: Option<i64>, range: Option<i64>) -> Result<Arc<Datatype>> {
        let basic = real_kind(precision, range)?.1;
        Ok(single(basic, Constructor::F90Complex { basic, precision, range }))
    }

    /// MPI_Type_create_f90_integer.
    pub fn f90_integer(range: i64) -> Result<Arc<Datatype>> {
        let kind = INTEGERS.iter().find(|(most, _)| range <= *most);
        let basic =
            kind.ok_or_else(|| Error::new(Class::Arg, format!("no integer kind has a range of {range} digits")))?.1;
        Ok(single(basic, Constructor::F90Integer { basic, range }))
    }

    /// MPI_Type_match_size: the Fortran type of this class and of this size in bytes.
    pub fn match_size(class: TypeClass, size: i64) -> Result<Basic> {
        let candidates: &[Basic] = match class {
            TypeClass::Logical => {
                &[Basic::Logical1, Basic::Logical2, Basic::Logical4, Basic::Logical8, Basic::Logical16]
            }
            TypeClass::Integer => {
                &[Basic::Integer1, Basic::Integer2, Basic::Integer4, Basic::Integer8, Basic::Integer16]
            }
            TypeClass::Real => &[Basic::Real2, Basic::Real4, Basic::Real8, Basic::Real16],
            TypeClass::Complex => &[Basic::Complex4, Basic::Complex8, Basic::Complex16, Basic::Complex32],
        };
        let found = candidates.iter().copied().find(|b| b.size() as i64 == size);
        found.ok_or_else(|| Error::new(Class::Arg, format!("there is no {class:?} type of {size} bytes")))
    }

    /// MPI_Type_get_value_index: the pair of these two types; None (MPI_DATATYPE_NULL) if no named type is this pair.
    pub fn value_index(value: Basic, index: Basic) -> Option<Basic> {
        PAIRS.iter().copied().find(|b| b.repr() == Repr::Pair(value, index))
    }
}

/// Makes a new type that is one `basic`. It is committed from the start (§19.1.5).
fn single(basic: Basic, constructor: Constructor) -> Arc<Datatype> {
    debug_assert!(!matches!(basic.group(), TypeGroup::Pair | TypeGroup::None));
    Arc::new(Datatype::scalar(
        BoundedLayout::of_basic(basic),
        (1, basic.external_size()),
        Some((basic, 1)),
        constructor,
    ))
}

fn real_kind(precision: Option<i64>, range: Option<i64>) -> Result<(Basic, Basic)> {
    if precision.is_none() && range.is_none() {
        return Err(Error::new(Class::Arg, "precision and range are both MPI_UNDEFINED; give one of them"));
    }
    let (p, r) = (precision.unwrap_or(0), range.unwrap_or(0));
    let kind = REALS.iter().find(|(digits, exponent, ..)| p <= *digits && r <= *exponent);
    let none = || Error::new(Class::Arg, format!("no real kind has {p} digits and an exponent range of {r}"));
    kind.map(|&(.., real, complex)| (real, complex)).ok_or_else(none)
}
