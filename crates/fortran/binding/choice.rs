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
use std::ffi::{CString, c_int, c_void};
use std::ptr;

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
    /// The datatype was made for a section.
    made: bool,
}

impl<N> Drop for Message<N> {
    /// Frees the datatype that was made. Operations that use it go on.
    fn drop(&mut self) {
        if self.made {
            // SAFETY: a datatype of ours.
            unsafe { c::MPI_Type_free(&mut self.datatype) };
        }
    }
}

/// Describes a buffer with a count and a datatype. `None`: no datatype describes so many elements of the section.
///
/// # Safety
/// The compiler made `buffer`.
#[inline]
pub unsafe fn described<N: CountArgument>(buffer: impl Choice, count: N, datatype: Handle) -> Option<Message<N>> {
    // SAFETY: the caller's promise.
    match unsafe { buffer.array() } {
        Array::Contiguous(address) => Some(Message { address, count, datatype, made: false }),
        Array::Section(section) => described_section(&section, count, datatype, section_type),
    }
}

/// Describes a buffer that has a part for each process: `count` of `datatype`, one part behind the other.
///
/// # Safety
/// The compiler made `buffer`.
#[inline]
pub unsafe fn described_part<N: CountArgument>(buffer: impl Choice, count: N, datatype: Handle) -> Option<Message<N>> {
    // SAFETY: the caller's promise.
    match unsafe { buffer.array() } {
        Array::Contiguous(address) => Some(Message { address, count, datatype, made: false }),
        Array::Section(section) => described_section(&section, count, datatype, part_type),
    }
}

#[cold]
fn described_section<N: CountArgument>(
    section: &Section,
    count: N,
    datatype: Handle,
    make: fn(&Section, i64, Handle) -> Option<Handle>,
) -> Option<Message<N>> {
    let address = section.start;
    if count.into() <= 0 {
        return Some(Message { address, count, datatype, made: false });
    }
    let datatype = make(section, count.into(), datatype)?;
    Some(Message { address, count: N::ONE, datatype, made: true })
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

/// Makes the datatype of the first `elements` elements of a section with these dimensions, and frees that of an element.
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

/// Raises the error of a section that cannot be passed, and returns its code.
#[cold]
pub fn refuse(function: &str) -> c_int {
    let text = format!(
        "{function}: the buffer is a section of an array whose elements do not follow each other, and these arguments \
         describe no part of it; pass an array of its own, which must stay until the operation is complete"
    );
    let text = CString::new(text).unwrap_or_default();
    let comm = handle(values::MPI_COMM_SELF);
    let mut code = values::MPI_ERR_BUFFER;
    // SAFETY: an out argument of ours, and a string that lives as long as the call.
    unsafe {
        c::MPI_Add_error_code(values::MPI_ERR_BUFFER, &mut code);
        c::MPI_Add_error_string(code, text.as_ptr().cast_mut());
        c::MPI_Comm_call_errhandler(comm, code);
    }
    code
}

/// Returns the number of datatypes in an array that a collective reads: none where its buffer is MPI_IN_PLACE.
pub fn types_of(address: *mut c_void, comm: Handle, outgoing: bool, count: fn(Handle, bool) -> usize) -> usize {
    if ptr::eq(address, values::MPI_IN_PLACE) { 0 } else { count(comm, outgoing) }
}
