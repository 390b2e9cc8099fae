//! Queries of datatypes: sizes, extents, the constructors of types, and the number of elements that a message has
//! brought.
//!
//! A number that is too large for its argument is written as MPI_UNDEFINED (MPI-5.0 §5.1.5). Used by the exported
//! functions; uses the crate `datatype`, `mpi::types`.

use crate::abi::{Abi, CHandle, CStatus};
use crate::arg::{IntArg, OutArg, count, handle, length, null};
use crate::datatype::get;
use crate::raise::Result;
use crate::status;
use hawser_base::value::{self, Set, UNDEFINED};
use hawser_base::{Class, Error};
use hawser_datatype::{ArrayOrder, Combiner, ContentsInteger, CountForm, Distribution, Envelope};
use hawser_mpi::types;
use std::ffi::c_int;

/// # Safety
/// The contract of MPI_Type_size.
pub unsafe fn size<A: Abi>(datatype: A::Datatype, size: *mut impl IntArg) -> Result {
    // SAFETY: the caller's argument.
    unsafe { OutArg::new(size, "size") }?.put_or_undefined(get::<A>(datatype)?.size() as i64);
    Ok(())
}

macro_rules! bounds {
    ($($name:ident $first:ident $second:ident;)*) => {
        $(
            /// # Safety
            /// The contract of the MPI function of this name.
            pub unsafe fn $name<A: Abi>(datatype: A::Datatype, lb: *mut impl IntArg, extent: *mut impl IntArg) -> Result {
                // SAFETY: the caller's arguments.
                let (lb, extent) = unsafe { (OutArg::new(lb, "lb")?, OutArg::new(extent, "extent")?) };
                let datatype = get::<A>(datatype)?;
                lb.put_or_undefined(datatype.$first());
                extent.put_or_undefined(datatype.$second());
                Ok(())
            }
        )*
    };
}

bounds! {
    get_extent lb extent;
    get_true_extent true_lb true_extent;
}

macro_rules! mpi1 {
    ($($name:ident $method:ident;)*) => {
        $(
            /// # Safety
            /// The contract of the function of MPI-1 of this name.
            pub unsafe fn $name<A: Abi>(datatype: A::Datatype, bytes: *mut isize) -> Result {
                // SAFETY: the caller's argument.
                unsafe { OutArg::new(bytes, stringify!($method)) }?.put(get::<A>(datatype)?.$method() as isize);
                Ok(())
            }
        )*
    };
}

mpi1! {
    mpi1_extent extent;
    mpi1_lb lb;
    mpi1_ub ub;
}

/// Hawser's value of a combiner.
fn combiner(combiner: Combiner) -> c_int {
    match combiner {
        Combiner::Named => value::COMBINER_NAMED,
        Combiner::Dup => value::COMBINER_DUP,
        Combiner::Contiguous => value::COMBINER_CONTIGUOUS,
        Combiner::Vector => value::COMBINER_VECTOR,
        Combiner::Hvector => value::COMBINER_HVECTOR,
        Combiner::Indexed => value::COMBINER_INDEXED,
        Combiner::Hindexed => value::COMBINER_HINDEXED,
        Combiner::IndexedBlock => value::COMBINER_INDEXED_BLOCK,
        Combiner::HindexedBlock => value::COMBINER_HINDEXED_BLOCK,
        Combiner::Struct => value::COMBINER_STRUCT,
        Combiner::Subarray => value::COMBINER_SUBARRAY,
        Combiner::Darray => value::COMBINER_DARRAY,
        Combiner::F90Real => value::COMBINER_F90_REAL,
        Combiner::F90Complex => value::COMBINER_F90_COMPLEX,
        Combiner::F90Integer => value::COMBINER_F90_INTEGER,
        Combiner::Resized => value::COMBINER_RESIZED,
    }
}

/// Refuses a type of the long form (made with MPI_Count arguments) in a function without `_c`.
fn check_int_form(envelope: &Envelope, large: &str) -> hawser_base::Result<()> {
    match envelope.form {
        CountForm::Int => Ok(()),
        CountForm::Count => {
            Err(Error::new(Class::Type, format!("the datatype was made with MPI_Count arguments; call {large}")))
        }
    }
}

/// # Safety
/// The contract of MPI_Type_get_envelope.
pub unsafe fn get_envelope<A: Abi>(
    datatype: A::Datatype,
    integers: *mut c_int,
    addresses: *mut c_int,
    types: *mut c_int,
    combiner: *mut c_int,
) -> Result {
    let envelope = get::<A>(datatype)?.envelope();
    check_int_form(&envelope, "MPI_Type_get_envelope_c")?;
    // SAFETY: the caller's arguments.
    unsafe {
        OutArg::new(integers, "num_integers")?.put(envelope.integers as c_int);
        OutArg::new(addresses, "num_addresses")?.put(envelope.addresses as c_int);
        OutArg::new(types, "num_datatypes")?.put(envelope.types as c_int);
        OutArg::new(combiner, "combiner")?.put(A::value_out(Set::Combiner, self::combiner(envelope.combiner)));
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_Type_get_envelope_c.
pub unsafe fn get_envelope_large<A: Abi>(
    datatype: A::Datatype,
    integers: *mut i64,
    addresses: *mut i64,
    counts: *mut i64,
    types: *mut i64,
    combiner: *mut c_int,
) -> Result {
    let envelope = get::<A>(datatype)?.envelope();
    // SAFETY: the caller's arguments.
    unsafe {
        OutArg::new(integers, "num_integers")?.put(envelope.integers as i64);
        OutArg::new(addresses, "num_addresses")?.put(envelope.addresses as i64);
        OutArg::new(counts, "num_large_counts")?.put(envelope.counts as i64);
        OutArg::new(types, "num_datatypes")?.put(envelope.types as i64);
        OutArg::new(combiner, "combiner")?.put(A::value_out(Set::Combiner, self::combiner(envelope.combiner)));
    }
    Ok(())
}

/// Translates an argument of a constructor to the ABI's number.
fn number<A: Abi>(argument: ContentsInteger) -> c_int {
    match argument {
        ContentsInteger::Number(number) => number as c_int,
        ContentsInteger::Order(ArrayOrder::C) => A::value_out(Set::Order, value::ORDER_C),
        ContentsInteger::Order(ArrayOrder::Fortran) => A::value_out(Set::Order, value::ORDER_FORTRAN),
        ContentsInteger::Distribution(Distribution::None) => A::value_out(Set::Distribute, value::DISTRIBUTE_NONE),
        ContentsInteger::Distribution(Distribution::Block) => A::value_out(Set::Distribute, value::DISTRIBUTE_BLOCK),
        ContentsInteger::Distribution(Distribution::Cyclic) => A::value_out(Set::Distribute, value::DISTRIBUTE_CYCLIC),
        ContentsInteger::DefaultDarg => A::value_out(Set::Distribute, value::DISTRIBUTE_DFLT_DARG),
        ContentsInteger::Undefined => UNDEFINED,
    }
}

/// Writes `from` to an array that has `capacity` entries; MPI_ERR_ARG if these are too few.
///
/// # Safety
/// `capacity` entries at `to` may be written.
unsafe fn fill<T>(to: *mut T, capacity: usize, from: impl ExactSizeIterator<Item = T>, name: &'static str) -> Result {
    if from.len() > capacity {
        let text =
            format!("{name} has {capacity} entries, but {} are needed; call MPI_Type_get_envelope first", from.len());
        return Err(Error::new(Class::Arg, text).into());
    }
    if to.is_null() && from.len() > 0 {
        return Err(null(name).into());
    }
    for (i, entry) in from.enumerate() {
        // SAFETY: inside the array.
        unsafe { to.add(i).write(entry) };
    }
    Ok(())
}

/// # Safety
/// The contract of MPI_Type_get_contents.
pub unsafe fn get_contents<A: Abi>(
    datatype: A::Datatype,
    max_integers: c_int,
    max_addresses: c_int,
    max_types: c_int,
    integers: *mut c_int,
    addresses: *mut isize,
    types: *mut A::Datatype,
) -> Result {
    check_int_form(&get::<A>(datatype)?.envelope(), "MPI_Type_get_contents_c")?;
    let (contents, handles) = types::contents(handle(datatype)?)?;
    // SAFETY: the caller's arrays.
    unsafe {
        let numbers = contents.integers.iter().map(|&argument| number::<A>(argument));
        fill(integers, count(max_integers)?, numbers, "array_of_integers")?;
        let bytes = contents.addresses.iter().map(|&address| address as isize);
        fill(addresses, count(max_addresses)?, bytes, "array_of_addresses")?;
        let types_out = handles.iter().map(|&handle| A::Datatype::encode(handle));
        fill(types, count(max_types)?, types_out, "array_of_datatypes")
    }
}

/// # Safety
/// The contract of MPI_Type_get_contents_c.
#[allow(clippy::too_many_arguments)]
pub unsafe fn get_contents_large<A: Abi>(
    datatype: A::Datatype,
    max_integers: i64,
    max_addresses: i64,
    max_counts: i64,
    max_types: i64,
    integers: *mut c_int,
    addresses: *mut isize,
    counts: *mut i64,
    types: *mut A::Datatype,
) -> Result {
    let (contents, handles) = types::contents(handle(datatype)?)?;
    // SAFETY: the caller's arrays.
    unsafe {
        let numbers = contents.integers.iter().map(|&argument| number::<A>(argument));
        fill(integers, length(max_integers)?, numbers, "array_of_integers")?;
        let bytes = contents.addresses.iter().map(|&address| address as isize);
        fill(addresses, length(max_addresses)?, bytes, "array_of_addresses")?;
        fill(counts, length(max_counts)?, contents.counts.iter().copied(), "array_of_large_counts")?;
        let types_out = handles.iter().map(|&handle| A::Datatype::encode(handle));
        fill(types, length(max_types)?, types_out, "array_of_datatypes")
    }
}

macro_rules! counts {
    ($($name:ident $method:ident;)*) => {
        $(
            /// # Safety
            /// The contract of the MPI function of this name.
            pub unsafe fn $name<A: Abi>(status: *const A::Status, datatype: A::Datatype, count: *mut impl IntArg) -> Result {
                let status = status::not_ignored::<A>(status)?;
                // SAFETY: `status` is one; `count` is the caller's.
                let (count, bytes) = unsafe { (OutArg::new(count, "count")?, A::Status::bytes(status)) };
                let found = get::<A>(datatype)?.$method(bytes as u64);
                count.put_or_undefined(found.map_or(UNDEFINED.into(), |found| found as i64));
                Ok(())
            }
        )*
    };
}

counts! {
    get_count count_of;
    get_elements elements_of;
}

/// # Safety
/// The contract of MPI_Status_set_elements.
pub unsafe fn set_elements<A: Abi>(status: *mut A::Status, datatype: A::Datatype, count: impl IntArg) -> Result {
    let status = status::not_ignored::<A>(status)?.cast_mut();
    let elements = u64::try_from(count.wide()).ok();
    let bytes =
        elements.map(|elements| get::<A>(datatype).map(|datatype| datatype.bytes_of_elements(elements))).transpose()?;
    let wrong =
        || Error::new(Class::Count, format!("a message cannot have {} elements of this datatype", count.wide()));
    let bytes = bytes.flatten().ok_or_else(wrong)?;
    // SAFETY: the caller's status.
    unsafe { A::Status::set_amount(status, bytes as i64, A::Status::cancelled(status)) };
    Ok(())
}
