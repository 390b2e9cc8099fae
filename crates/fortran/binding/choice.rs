//! Choice buffers: arguments of any type, which Fortran passes as an address or as an array descriptor.
//!
//! A descriptor may be that of a section of an array, whose elements do not follow each other. Where the procedure has
//! a count and a datatype for the buffer, they are replaced by one datatype that describes the section (MPI-5.0
//! §19.1.12). Blocking procedures that have none get a copy of the elements; the others refuse sections, because the
//! copy would have to outlive the call. Used by the entry points; uses `descriptor` and C functions of MPI.

use crate::abi::values;
use crate::binding::c_functions::pmpi as c;
use crate::binding::sentinels;
use crate::binding::types::*;
use hawser_fortran::descriptor::{self, Array, Dim, Section};
use std::collections::BTreeMap;
use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::Mutex;

/// An argument that is a choice buffer.
pub trait Choice: Copy {
    /// Returns the argument as an address or a section, with C's MPI_BOTTOM and the like for those of Fortran.
    ///
    /// # Safety
    /// The compiler made the argument.
    unsafe fn array(self) -> Array;

    /// Returns the address of its first element.
    ///
    /// # Safety
    /// The same as for `array`.
    unsafe fn address(self) -> *mut c_void {
        // SAFETY: the caller's promise.
        match unsafe { self.array() } {
            Array::Contiguous(address) => address,
            Array::Section(section) => section.start,
        }
    }
}

/// The address that mpif.h and `mpi` pass.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Address(*mut c_void);

/// The array descriptor that mpi_f08 passes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Descriptor(*const c_void);

impl Choice for Address {
    #[inline]
    unsafe fn array(self) -> Array {
        Array::Contiguous(sentinels::buffer(self.0))
    }
}

impl Choice for Descriptor {
    #[inline]
    unsafe fn array(self) -> Array {
        // SAFETY: the caller's promise.
        with_sentinels(unsafe { descriptor::array(self.0) })
    }
}

fn with_sentinels(array: Array) -> Array {
    match array {
        Array::Contiguous(address) => Array::Contiguous(sentinels::buffer(address)),
        section => section,
    }
}

/// A buffer that counts only where `significant` says so, such as at the root.
#[derive(Clone, Copy)]
pub struct OnlyIf<B, F> {
    buffer: B,
    significant: F,
}

/// Makes a buffer that is an address alone where it does not count: there the program may pass anything.
#[inline]
pub fn only_if<B: Choice, F: Fn() -> bool + Copy>(buffer: B, significant: F) -> OnlyIf<B, F> {
    OnlyIf { buffer, significant }
}

impl<B: Choice, F: Fn() -> bool + Copy> Choice for OnlyIf<B, F> {
    #[inline]
    unsafe fn array(self) -> Array {
        // SAFETY: the caller's promise.
        match unsafe { self.buffer.array() } {
            Array::Section(section) if !(self.significant)() => Array::Contiguous(section.start),
            array => array,
        }
    }
}

/// A count of C: `int` or MPI_Count.
pub trait CountArgument: Copy + Into<i64> {
    const ONE: Self;
}

impl CountArgument for c_int {
    const ONE: c_int = 1;
}

impl CountArgument for Count {
    const ONE: Count = 1;
}

/// The arguments that C gets for a buffer with a count and a datatype.
pub struct Message<N> {
    pub address: *mut c_void,
    pub count: N,
    pub datatype: Handle,
    /// The datatype or copy that ends with the call.
    held: Held,
}

/// The datatype or copy that a message holds as long as its procedure runs.
enum Held {
    Nothing,
    /// The datatype that was made for a section. Operations that use it go on without.
    Datatype,
    /// A copy of a section that no datatype describes, and whether the procedure writes it.
    Copy(Section, Vec<u8>, bool),
}

impl<N> Drop for Message<N> {
    fn drop(&mut self) {
        match &self.held {
            Held::Nothing => {}
            Held::Datatype => {
                // SAFETY: a datatype of ours.
                unsafe { c::MPI_Type_free(&mut self.datatype) };
            }
            // SAFETY: the procedure writes the buffer, so that the program lets its elements be written.
            Held::Copy(section, all, true) => unsafe { section.scatter(all) },
            Held::Copy(..) => {}
        }
    }
}

/// Makes the datatype of so many elements of a section: section, count, datatype.
type MakeType = fn(&Section, i64, Handle) -> Option<Handle>;

/// Describes a buffer of a procedure that returns before it is done. `None`: no datatype describes so many elements of
/// the section.
///
/// # Safety
/// The compiler made `buffer`.
#[inline]
pub unsafe fn asynchronous<N: CountArgument>(buffer: impl Choice, count: N, datatype: Handle) -> Option<Message<N>> {
    // SAFETY: the caller's promise.
    match unsafe { buffer.array() } {
        Array::Contiguous(address) => Some(Message { address, count, datatype, held: Held::Nothing }),
        Array::Section(section) => described(&section, count, datatype, section_type),
    }
}

/// Describes a buffer that has a part for each process: `count` of `datatype`, one part behind the other.
///
/// # Safety
/// The compiler made `buffer`.
#[inline]
pub unsafe fn part<N: CountArgument>(buffer: impl Choice, count: N, datatype: Handle) -> Option<Message<N>> {
    // SAFETY: the caller's promise.
    match unsafe { buffer.array() } {
        Array::Contiguous(address) => Some(Message { address, count, datatype, held: Held::Nothing }),
        Array::Section(section) => described(&section, count, datatype, part_type),
    }
}

/// Describes a buffer of a blocking procedure, or copies the section that no datatype describes; `back` says that the
/// procedure writes it. `None`: the section has not so many elements.
///
/// # Safety
/// The compiler made `buffer`, and its elements may be read and, if so, written.
#[inline]
pub unsafe fn blocking<N: CountArgument>(
    buffer: impl Choice,
    count: N,
    datatype: Handle,
    back: bool,
) -> Option<Message<N>> {
    // SAFETY: the caller's promise.
    unsafe {
        match buffer.array() {
            Array::Contiguous(address) => Some(Message { address, count, datatype, held: Held::Nothing }),
            Array::Section(section) => {
                described(&section, count, datatype, section_type).or_else(|| copied(section, count, datatype, back))
            }
        }
    }
}

#[cold]
fn described<N: CountArgument>(section: &Section, count: N, datatype: Handle, make: MakeType) -> Option<Message<N>> {
    let address = section.start;
    if count.into() <= 0 {
        return Some(Message { address, count, datatype, held: Held::Nothing });
    }
    let datatype = make(section, count.into(), datatype)?;
    Some(Message { address, count: N::ONE, datatype, held: Held::Datatype })
}

/// # Safety
/// The elements of the section may be read.
#[cold]
unsafe fn copied<N: CountArgument>(section: Section, count: N, datatype: Handle, back: bool) -> Option<Message<N>> {
    let (mut lower, mut extent, mut true_lower, mut true_extent) = (0, 0, 0, 0);
    // SAFETY: out arguments of ours.
    let code = unsafe {
        c::MPI_Type_get_extent_c(datatype, &mut lower, &mut extent)
            | c::MPI_Type_get_true_extent_c(datatype, &mut true_lower, &mut true_extent)
    };
    let end = (count.into() - 1).checked_mul(extent)?.checked_add(true_lower)?.checked_add(true_extent)?;
    let within = usize::try_from(end).is_ok_and(|end| end <= section.len() * section.element);
    if code != 0 || extent < 0 || true_lower < 0 || !within {
        return None;
    }
    // SAFETY: the caller's promise.
    let mut all = unsafe { section.gather() };
    Some(Message { address: all.as_mut_ptr().cast(), count, datatype, held: Held::Copy(section, all, back) })
}

/// Makes the datatype of the first elements of a section that `count` of `datatype` fill.
fn section_type(section: &Section, count: i64, datatype: Handle) -> Option<Handle> {
    let elements = elements(section, count, datatype)?;
    commit(leading(&section.dims, elements, datatype_of_element(section, datatype)?)?)
}

/// Makes the datatype of one process's part of a section. Its extent leads to the next part, which is so only where a
/// part is whole rows of the section, or the section has one dimension.
fn part_type(section: &Section, count: i64, datatype: Handle) -> Option<Handle> {
    let elements = elements(section, count, datatype)?;
    let (last, inner) = section.dims.split_last()?;
    let row: usize = inner.iter().map(|dim| dim.count).product();
    if elements % row != 0 {
        return None;
    }
    let mut part = leading(&section.dims, elements, datatype_of_element(section, datatype)?)?;
    let mut made = part;
    // SAFETY: an out argument of ours, and a datatype of ours.
    let code = unsafe {
        let extent = (elements / row) as i64 * last.stride as i64;
        let code = c::MPI_Type_create_resized_c(part, 0, extent, &mut made);
        c::MPI_Type_free(&mut part);
        code
    };
    if code == 0 { commit(made) } else { None }
}

fn commit(mut datatype: Handle) -> Option<Handle> {
    // SAFETY: a datatype of ours.
    (unsafe { c::MPI_Type_commit(&mut datatype) } == 0).then_some(datatype)
}

/// Returns the number of bytes of a datatype without gaps.
fn solid_size(datatype: Handle) -> Option<i64> {
    let (mut size, mut lower, mut extent) = (0, 0, 0);
    // SAFETY: out arguments of ours.
    let code = unsafe {
        c::MPI_Type_size_c(datatype, &mut size) | c::MPI_Type_get_extent_c(datatype, &mut lower, &mut extent)
    };
    (code == 0 && size > 0 && size == extent && lower == 0).then_some(size)
}

/// Returns the number of elements of a section that `count` of `datatype` fill.
fn elements(section: &Section, count: i64, datatype: Handle) -> Option<usize> {
    let (bytes, element) = (solid_size(datatype)?.checked_mul(count)?, section.element as i64);
    if element == 0 || bytes % element != 0 {
        return None;
    }
    usize::try_from(bytes / element).ok().filter(|&elements| elements <= section.len())
}

/// Makes the datatype of one element: of several datatypes, such as two MPI_REAL of a COMPLEX; or its bytes, where a
/// datatype has several elements. The caller's `leading` frees it.
fn datatype_of_element(section: &Section, datatype: Handle) -> Option<Handle> {
    let (element, size) = (section.element as i64, solid_size(datatype)?);
    if element % size == 0 {
        contiguous(element / size, datatype)
    } else {
        contiguous(element, handle(values::MPI_BYTE))
    }
}

/// Makes the datatype of the first `elements` elements of a section with these dimensions, and frees that of an
/// element.
fn leading(dims: &[Dim], elements: usize, mut of_element: Handle) -> Option<Handle> {
    let made = leading_rows(dims, elements, of_element);
    // SAFETY: a datatype of ours.
    unsafe { c::MPI_Type_free(&mut of_element) };
    made
}

fn leading_rows(dims: &[Dim], elements: usize, of_element: Handle) -> Option<Handle> {
    let Some((last, inner)) = dims.split_last() else { return contiguous(1, of_element) };
    let within: usize = inner.iter().map(|dim| dim.count).product();
    let (rows, rest) = (elements / within, elements % within);
    let mut parts = Vec::new();
    if rows > 0 {
        let mut row = leading_rows(inner, within, of_element)?;
        parts.push((0, vector(rows as i64, last.stride as i64, row)?));
        // SAFETY: a datatype of ours.
        unsafe { c::MPI_Type_free(&mut row) };
    }
    if rest > 0 {
        parts.push((rows as i64 * last.stride as i64, leading_rows(inner, rest, of_element)?));
    }
    together(&mut parts)
}

fn contiguous(count: i64, datatype: Handle) -> Option<Handle> {
    let mut made = datatype;
    // SAFETY: an out argument of ours.
    (unsafe { c::MPI_Type_contiguous_c(count, datatype, &mut made) } == 0).then_some(made)
}

fn vector(count: i64, stride: i64, datatype: Handle) -> Option<Handle> {
    let mut made = datatype;
    // SAFETY: an out argument of ours.
    (unsafe { c::MPI_Type_create_hvector_c(count, 1, stride, datatype, &mut made) } == 0).then_some(made)
}

/// Joins datatypes at their displacements, and frees them.
fn together(parts: &mut [(i64, Handle)]) -> Option<Handle> {
    let lengths = vec![1i64; parts.len()];
    let displacements: Vec<i64> = parts.iter().map(|part| part.0).collect();
    let types: Vec<Handle> = parts.iter().map(|part| part.1).collect();
    let mut made = *types.first()?;
    if parts.len() == 1 && displacements[0] == 0 {
        return Some(made);
    }
    // SAFETY: arrays of that many elements, and an out argument of ours.
    let code = unsafe {
        c::MPI_Type_create_struct_c(
            parts.len() as i64,
            lengths.as_ptr(),
            displacements.as_ptr(),
            types.as_ptr(),
            &mut made,
        )
    };
    for part in parts {
        // SAFETY: a datatype of ours.
        unsafe { c::MPI_Type_free(&mut part.1) };
    }
    (code == 0).then_some(made)
}

/// A buffer for a blocking procedure: the program's own, or a copy of a section.
pub struct Copied {
    address: *mut c_void,
    copy: Option<(Section, Vec<u8>)>,
}

impl Copied {
    /// # Safety
    /// The compiler made `buffer`, and its elements may be read.
    #[inline]
    pub unsafe fn of(buffer: impl Choice) -> Copied {
        // SAFETY: the caller's promise.
        match unsafe { buffer.array() } {
            Array::Contiguous(address) => Copied { address, copy: None },
            Array::Section(section) => {
                // SAFETY: the caller's promise.
                let mut all = unsafe { section.gather() };
                Copied { address: all.as_mut_ptr().cast(), copy: Some((section, all)) }
            }
        }
    }

    pub fn address(&self) -> *mut c_void {
        self.address
    }

    /// Ends the call; `back` says that the procedure writes the buffer.
    ///
    /// # Safety
    /// If so, its elements may be written.
    #[inline]
    pub unsafe fn finish(self, back: bool) {
        if let (Some((section, all)), true) = (self.copy, back) {
            // SAFETY: the caller's promise.
            unsafe { section.scatter(&all) };
        }
    }
}

/// Returns the address of a buffer that must be contiguous.
///
/// # Safety
/// The compiler made `buffer`.
#[inline]
pub unsafe fn solid(buffer: impl Choice) -> Option<*mut c_void> {
    // SAFETY: the caller's promise.
    match unsafe { buffer.array() } {
        Array::Contiguous(address) => Some(address),
        Array::Section(_) => None,
    }
}

/// The error codes of the procedures that have refused a section.
static REFUSALS: Mutex<BTreeMap<&str, c_int>> = Mutex::new(BTreeMap::new());

/// Raises the error of a section that cannot be passed, on the procedure's communicator, and returns its code.
#[cold]
pub fn refuse(function: &'static str, comm: Handle) -> c_int {
    let mut refusals = REFUSALS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let code = *refusals.entry(function).or_insert_with(|| refusal(function));
    drop(refusals);
    // SAFETY: numbers alone.
    unsafe { c::MPI_Comm_call_errhandler(comm, code) };
    code
}

/// Makes the error code of a procedure, whose text says why.
fn refusal(function: &str) -> c_int {
    let text = format!(
        "{function}: the buffer is a section of an array whose elements do not follow each other, and these arguments \
         describe no part of it; pass an array of its own, which must stay until the operation is complete"
    );
    let text = CString::new(text).unwrap_or_default();
    let mut code = values::MPI_ERR_BUFFER;
    // SAFETY: an out argument of ours, and a string that lives as long as the call.
    unsafe {
        c::MPI_Add_error_code(values::MPI_ERR_BUFFER, &mut code);
        c::MPI_Add_error_string(code, text.as_ptr().cast_mut());
    }
    code
}

/// Returns the number of datatypes in an array that a collective reads: none where its buffer is MPI_IN_PLACE.
pub fn types_of(address: *mut c_void, comm: Handle, outgoing: bool, count: fn(Handle, bool) -> usize) -> usize {
    if ptr::eq(address, values::MPI_IN_PLACE) { 0 } else { count(comm, outgoing) }
}
