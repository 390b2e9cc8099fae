//! Datatypes: constructors and queries.
//!
//! A constructor with MPI_Count arguments makes a type of the long form, which only the `_c` queries may take apart
//! (MPI-5.0 §5.1.13). The argument types (`IntArg`) tell which form of a constructor was called. Used by the exported
//! functions; uses the crate `datatype`, `mpi::types`.

use crate::abi::{Abi, MAX_OBJECT_NAME};
use crate::arg::{self, InOutArg, IntArg, OutArg, count, handle};
use crate::raise::Result;
use hawser_base::value::{self, Set, UNDEFINED};
use hawser_base::{Class, Error, Handle};
use hawser_datatype::{ArrayOrder, CountForm, Darray, Datatype, Distribution, DistributionArg, TypeClass};
use hawser_mpi::{init_state, types};
use std::ffi::{c_char, c_int};
use std::ptr;
use std::sync::Arc;

/// Returns the datatype of a handle; MPI_ERR_TYPE if there is none.
pub(crate) fn get<A: Abi>(datatype: A::Datatype) -> hawser_base::Result<Arc<Datatype>> {
    init_state::check()?;
    types::get(handle(datatype)?)
}

/// Writes the handle of a new datatype.
fn store_datatype<A: Abi>(newtype: OutArg<A::Datatype>, datatype: hawser_base::Result<Arc<Datatype>>) -> Result {
    init_state::check()?;
    newtype.set(types::insert(datatype?)?);
    Ok(())
}

/// Returns the form of a constructor whose arguments have this type.
fn form<N: IntArg>(_: N) -> CountForm {
    form_at(ptr::null::<N>())
}

fn form_at<N: IntArg>(_: *const N) -> CountForm {
    if N::LARGE { CountForm::Count } else { CountForm::Int }
}

/// # Safety
/// The contract of MPI_Type_contiguous.
pub unsafe fn contiguous<A: Abi>(count: impl IntArg, old: A::Datatype, newtype: *mut A::Datatype) -> Result {
    // SAFETY: the caller's argument.
    let newtype = unsafe { OutArg::handle(newtype, "newtype") }?;
    store_datatype::<A>(newtype, Datatype::contiguous(count.wide(), &get::<A>(old)?, form(count)))
}

/// Makes constructors that take a count, a block length, a stride and an old type.
macro_rules! strided {
    ($($name:ident $make:ident;)*) => {
        $(
            /// # Safety
            /// The contract of the MPI function of this name.
            pub unsafe fn $name<A: Abi>(
                count: impl IntArg, blocklength: impl IntArg, stride: impl IntArg, old: A::Datatype, newtype: *mut A::Datatype,
            ) -> Result {
                // SAFETY: the caller's argument.
                let newtype = unsafe { OutArg::handle(newtype, "newtype") }?;
                let old = get::<A>(old)?;
                store_datatype::<A>(newtype, Datatype::$make(count.wide(), blocklength.wide(), stride.wide(), &old, form(count)))
            }
        )*
    };
}

strided! {
    vector vector;
    hvector hvector;
}

/// Makes constructors from lists of block lengths and displacements.
macro_rules! indexed {
    ($($name:ident $make:ident;)*) => {
        $(
            /// # Safety
            /// The contract of the MPI function of this name.
            pub unsafe fn $name<A: Abi>(
                count: impl IntArg, lengths: *const impl IntArg, displacements: *const impl IntArg, old: A::Datatype,
                newtype: *mut A::Datatype,
            ) -> Result {
                // SAFETY: the caller's arrays of `count` entries, and argument.
                let (lengths, displacements, newtype) = unsafe {
                    (
                        arg::numbers(lengths, count, "array_of_blocklengths")?,
                        arg::numbers(displacements, count, "array_of_displacements")?,
                        OutArg::handle(newtype, "newtype")?,
                    )
                };
                store_datatype::<A>(newtype, Datatype::$make(&lengths, &displacements, &get::<A>(old)?, form(count)))
            }
        )*
    };
}

indexed! {
    indexed indexed;
    hindexed hindexed;
}

/// Makes constructors from one block length and a list of displacements.
macro_rules! indexed_block {
    ($($name:ident $make:ident;)*) => {
        $(
            /// # Safety
            /// The contract of the MPI function of this name.
            pub unsafe fn $name<A: Abi>(
                count: impl IntArg, blocklength: impl IntArg, displacements: *const impl IntArg, old: A::Datatype,
                newtype: *mut A::Datatype,
            ) -> Result {
                // SAFETY: the caller's array of `count` entries, and argument.
                let (displacements, newtype) = unsafe {
                    (arg::numbers(displacements, count, "array_of_displacements")?, OutArg::handle(newtype, "newtype")?)
                };
                store_datatype::<A>(newtype, Datatype::$make(blocklength.wide(), &displacements, &get::<A>(old)?, form(count)))
            }
        )*
    };
}

indexed_block! {
    indexed_block indexed_block;
    hindexed_block hindexed_block;
}

/// The removed function of MPI-1, whose arrays are declared without `const`.
///
/// # Safety
/// The contract of MPI_Type_hindexed.
pub unsafe fn mpi1_hindexed<A: Abi>(
    count: c_int,
    lengths: *mut c_int,
    displacements: *mut isize,
    old: A::Datatype,
    newtype: *mut A::Datatype,
) -> Result {
    // SAFETY: the caller's arguments.
    unsafe { hindexed::<A>(count, lengths.cast_const(), displacements.cast_const(), old, newtype) }
}

/// # Safety
/// The contract of MPI_Type_create_struct.
pub unsafe fn structure<A: Abi>(
    count: impl IntArg,
    lengths: *const impl IntArg,
    displacements: *const impl IntArg,
    members: *const A::Datatype,
    newtype: *mut A::Datatype,
) -> Result {
    // SAFETY: the caller's arrays of `count` entries, and argument.
    let (lengths, displacements, members, newtype) = unsafe {
        (
            arg::numbers(lengths, count, "array_of_blocklengths")?,
            arg::numbers(displacements, count, "array_of_displacements")?,
            arg::array(members, arg::length(count)?, "array_of_types")?,
            OutArg::handle(newtype, "newtype")?,
        )
    };
    let members = members.iter().map(|&member| get::<A>(member)).collect::<hawser_base::Result<Vec<_>>>()?;
    store_datatype::<A>(newtype, Datatype::structure(&lengths, &displacements, &members, form(count)))
}

/// # Safety
/// The contract of MPI_Type_struct (MPI-1).
pub unsafe fn mpi1_struct<A: Abi>(
    count: c_int,
    lengths: *mut c_int,
    displacements: *mut isize,
    members: *mut A::Datatype,
    newtype: *mut A::Datatype,
) -> Result {
    // SAFETY: the caller's arguments.
    unsafe { structure::<A>(count, lengths.cast_const(), displacements.cast_const(), members.cast_const(), newtype) }
}

/// Translates an order argument.
fn order<A: Abi>(order: c_int) -> hawser_base::Result<ArrayOrder> {
    match A::value_in(Set::Order, order) {
        Some(value::ORDER_C) => Ok(ArrayOrder::C),
        Some(value::ORDER_FORTRAN) => Ok(ArrayOrder::Fortran),
        _ => Err(Error::new(Class::Arg, format!("{order} is not an order; use MPI_ORDER_C or MPI_ORDER_FORTRAN"))),
    }
}

/// # Safety
/// The contract of MPI_Type_create_subarray.
pub unsafe fn subarray<A: Abi>(
    ndims: c_int,
    sizes: *const impl IntArg,
    subsizes: *const impl IntArg,
    starts: *const impl IntArg,
    order: c_int,
    old: A::Datatype,
    newtype: *mut A::Datatype,
) -> Result {
    let form = form_at(sizes);
    arg::entries(ndims, "ndims")?;
    // SAFETY: the caller's arrays of `ndims` entries, and argument.
    let (sizes, subsizes, starts, newtype) = unsafe {
        (
            arg::numbers(sizes, ndims, "array_of_sizes")?,
            arg::numbers(subsizes, ndims, "array_of_subsizes")?,
            arg::numbers(starts, ndims, "array_of_starts")?,
            OutArg::handle(newtype, "newtype")?,
        )
    };
    let (order, old) = (self::order::<A>(order)?, get::<A>(old)?);
    store_datatype::<A>(newtype, Datatype::subarray(&sizes, &subsizes, &starts, order, &old, form))
}

fn distribution<A: Abi>(distribution: c_int) -> hawser_base::Result<Distribution> {
    match A::value_in(Set::Distribute, distribution) {
        Some(value::DISTRIBUTE_NONE) => Ok(Distribution::None),
        Some(value::DISTRIBUTE_BLOCK) => Ok(Distribution::Block),
        Some(value::DISTRIBUTE_CYCLIC) => Ok(Distribution::Cyclic),
        _ => Err(Error::new(
            Class::Arg,
            format!("{distribution} is not a distribution; use MPI_DISTRIBUTE_BLOCK, for example"),
        )),
    }
}

/// # Safety
/// The contract of MPI_Type_create_darray.
#[allow(clippy::too_many_arguments)]
pub unsafe fn darray<A: Abi>(
    size: c_int,
    rank: c_int,
    ndims: c_int,
    gsizes: *const impl IntArg,
    distribs: *const c_int,
    dargs: *const c_int,
    psizes: *const c_int,
    order: c_int,
    old: A::Datatype,
    newtype: *mut A::Datatype,
) -> Result {
    let form = form_at(gsizes);
    arg::entries(ndims, "ndims")?;
    // SAFETY: the caller's arrays of `ndims` entries, and argument.
    let (gsizes, distribs, dargs, psizes, newtype) = unsafe {
        (
            arg::numbers(gsizes, ndims, "array_of_gsizes")?,
            arg::array(distribs, count(ndims)?, "array_of_distribs")?,
            arg::array(dargs, count(ndims)?, "array_of_dargs")?,
            arg::numbers(psizes, ndims, "array_of_psizes")?,
            OutArg::handle(newtype, "newtype")?,
        )
    };
    let default = A::value_out(Set::Distribute, value::DISTRIBUTE_DFLT_DARG);
    let darg =
        |&darg: &c_int| if darg == default { DistributionArg::Default } else { DistributionArg::Size(darg.into()) };
    let grid = Darray {
        size: size.into(),
        rank: rank.into(),
        gsizes,
        distribs: distribs.iter().map(|&d| distribution::<A>(d)).collect::<hawser_base::Result<_>>()?,
        dargs: dargs.iter().map(darg).collect(),
        psizes,
        order: self::order::<A>(order)?,
    };
    store_datatype::<A>(newtype, Datatype::darray(grid, &get::<A>(old)?, form))
}

/// # Safety
/// The contract of MPI_Type_create_resized.
pub unsafe fn resized<A: Abi>(
    old: A::Datatype,
    lb: impl IntArg,
    extent: impl IntArg,
    newtype: *mut A::Datatype,
) -> Result {
    // SAFETY: the caller's argument.
    let newtype = unsafe { OutArg::handle(newtype, "newtype") }?;
    store_datatype::<A>(newtype, Datatype::resized(lb.wide(), extent.wide(), &get::<A>(old)?, form(lb)))
}

/// Translates a precision or range argument.
fn digits(number: c_int) -> Option<i64> {
    (number != UNDEFINED).then_some(number.into())
}

/// # Safety
/// The contract of MPI_Type_create_f90_real.
pub unsafe fn f90_real<A: Abi>(precision: c_int, range: c_int, newtype: *mut A::Datatype) -> Result {
    // SAFETY: the caller's argument.
    let newtype = unsafe { OutArg::handle(newtype, "newtype") }?;
    store_datatype::<A>(newtype, Datatype::f90_real(digits(precision), digits(range)))
}

/// # Safety
/// The contract of MPI_Type_create_f90_complex.
pub unsafe fn f90_complex<A: Abi>(precision: c_int, range: c_int, newtype: *mut A::Datatype) -> Result {
    // SAFETY: the caller's argument.
    let newtype = unsafe { OutArg::handle(newtype, "newtype") }?;
    store_datatype::<A>(newtype, Datatype::f90_complex(digits(precision), digits(range)))
}

/// # Safety
/// The contract of MPI_Type_create_f90_integer.
pub unsafe fn f90_integer<A: Abi>(range: c_int, newtype: *mut A::Datatype) -> Result {
    // SAFETY: the caller's argument.
    let newtype = unsafe { OutArg::handle(newtype, "newtype") }?;
    store_datatype::<A>(newtype, Datatype::f90_integer(range.into()))
}

/// # Safety
/// The contract of MPI_Type_match_size.
pub unsafe fn match_size<A: Abi>(class: c_int, size: c_int, datatype: *mut A::Datatype) -> Result {
    // SAFETY: the caller's argument.
    let datatype = unsafe { OutArg::handle(datatype, "datatype") }?;
    let class = match A::value_in(Set::TypeClass, class) {
        Some(value::TYPECLASS_INTEGER) => TypeClass::Integer,
        Some(value::TYPECLASS_REAL) => TypeClass::Real,
        Some(value::TYPECLASS_COMPLEX) => TypeClass::Complex,
        _ => {
            return Err(Error::new(
                Class::Arg,
                format!("{class} is not a type class; use MPI_TYPECLASS_REAL, for example"),
            )
            .into());
        }
    };
    datatype.set(types::handle_of(Datatype::match_size(class, size.into())?));
    Ok(())
}

/// # Safety
/// The contract of MPI_Type_get_value_index.
pub unsafe fn get_value_index<A: Abi>(value: A::Datatype, index: A::Datatype, pair: *mut A::Datatype) -> Result {
    // SAFETY: the caller's argument.
    let pair = unsafe { OutArg::handle(pair, "pair_type") }?;
    let (value, index) = (get::<A>(value)?.as_basic(), get::<A>(index)?.as_basic());
    let found = value.zip(index).and_then(|(value, index)| Datatype::value_index(value, index));
    pair.set(found.map_or(Handle::NULL, types::handle_of));
    Ok(())
}

/// # Safety
/// The contract of MPI_Type_dup.
pub unsafe fn dup<A: Abi>(old: A::Datatype, newtype: *mut A::Datatype) -> Result {
    // SAFETY: the caller's argument.
    let newtype = unsafe { OutArg::handle(newtype, "newtype") }?;
    // The result is MPI_DATATYPE_NULL when a copy function refused (MPI-5.0 §7.7.4).
    let made = types::dup(handle(old)?);
    newtype.set(*made.as_ref().unwrap_or(&Handle::NULL));
    Ok(made.map(drop)?)
}

/// # Safety
/// The contract of MPI_Type_commit.
pub unsafe fn commit<A: Abi>(datatype: *mut A::Datatype) -> Result {
    // SAFETY: the caller's argument.
    Ok(types::commit(unsafe { InOutArg::new(datatype, "datatype") }?.get()?)?)
}

/// # Safety
/// The contract of MPI_Type_free.
pub unsafe fn free<A: Abi>(datatype: *mut A::Datatype) -> Result {
    // SAFETY: the caller's argument.
    let datatype = unsafe { InOutArg::new(datatype, "datatype") }?;
    types::free(datatype.get()?)?;
    datatype.set(Handle::NULL);
    Ok(())
}

/// # Safety
/// The contract of MPI_Type_get_name.
pub unsafe fn get_name<A: Abi>(datatype: A::Datatype, name: *mut c_char, length: *mut c_int) -> Result {
    let text = types::name(handle(datatype)?)?;
    // SAFETY: the caller's arguments; the standard gives `name` that much room.
    Ok(unsafe { arg::put_text(&text, name, MAX_OBJECT_NAME, length, "type_name") }?)
}

/// # Safety
/// The contract of MPI_Type_set_name.
pub unsafe fn set_name<A: Abi>(datatype: A::Datatype, name: *const c_char) -> Result {
    let datatype = handle(datatype)?;
    // SAFETY: the caller's argument.
    let text = unsafe { arg::text(name, "type_name") }?;
    Ok(types::set_name(datatype, &text[..text.len().min(MAX_OBJECT_NAME - 1)])?)
}
