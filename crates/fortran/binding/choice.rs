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

impl<N> Message<N> {
    /// Frees the datatype that was made. Operations that use it go on.
    pub fn free(mut self) {
        if self.made {
            // SAFETY: a datatype of ours.
            unsafe { c::MPI_Type_free(&mut self.datatype) };
        }
    }
}

/// Describes a buffer with a count and a datatype.
///
/// # Safety
/// The compiler made `buffer`.
#[inline]
pub unsafe fn described<N: CountArgument>(buffer: impl Choice, count: N, datatype: Handle) -> Message<N> {
    // SAFETY: the caller's promise.
    match unsafe { buffer.array() } {
        Array::Contiguous(address) => Message { address, count, datatype, made: false },
        Array::Section(section) => described_section(&section, count, datatype),
    }
}

#[cold]
fn described_section<N: CountArgument>(section: &Section, count: N, datatype: Handle) -> Message<N> {
    let mut message = Message { address: section.start, count, datatype, made: false };
    if count.into() <= 0 {
        return message;
    }
    // A section that no datatype describes is sent with none, which MPI refuses (MPI_ERR_TYPE).
    message.datatype = section_type(section, count.into(), datatype).unwrap_or(handle(values::MPI_DATATYPE_NULL));
    message.made = message.datatype != handle(values::MPI_DATATYPE_NULL);
    message.count = N::ONE;
    message
}

/// Makes the datatype of the first elements of a section that `count` of `datatype` fill.
fn section_type(section: &Section, count: i64, datatype: Handle) -> Option<Handle> {
    let (mut size, mut lower, mut extent) = (0, 0, 0);
    // SAFETY: out arguments of ours.
    let code = unsafe {
        c::MPI_Type_size_c(datatype, &mut size) | c::MPI_Type_get_extent_c(datatype, &mut lower, &mut extent)
    };
    let element = section.element as i64;
    let bytes = size.checked_mul(count)?;
    let whole = code == 0 && size > 0 && size == extent && lower == 0 && element > 0 && bytes % element == 0;
    let elements = usize::try_from(bytes / element.max(1)).ok()?;
    if !whole || elements > section.len() {
        return None;
    }
    // Elements of several datatypes each, such as two MPI_REAL of a COMPLEX; or datatypes of several elements, whose
    // bytes are sent.
    let mut of_element = if element % size == 0 {
        contiguous(element / size, datatype)?
    } else {
        contiguous(element, handle(values::MPI_BYTE))?
    };
    let made = leading(&section.dims, elements, of_element);
    // SAFETY: a datatype of ours.
    unsafe { c::MPI_Type_free(&mut of_element) };
    let mut made = made?;
    // SAFETY: a datatype of ours.
    (unsafe { c::MPI_Type_commit(&mut made) } == 0).then_some(made)
}

/// Makes the datatype of the first `elements` elements of a section with these dimensions.
fn leading(dims: &[Dim], elements: usize, of_element: Handle) -> Option<Handle> {
    let Some((last, inner)) = dims.split_last() else { return contiguous(1, of_element) };
    let within: usize = inner.iter().map(|dim| dim.count).product();
    let (rows, rest) = (elements / within, elements % within);
    let mut parts = Vec::new();
    if rows > 0 {
        let mut row = leading(inner, within, of_element)?;
        parts.push((0, vector(rows as i64, last.stride as i64, row)?));
        // SAFETY: a datatype of ours.
        unsafe { c::MPI_Type_free(&mut row) };
    }
    if rest > 0 {
        parts.push((rows as i64 * last.stride as i64, leading(inner, rest, of_element)?));
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

/// Raises the error of a section where none can be passed, and returns its code.
#[cold]
pub fn refuse(function: &str) -> c_int {
    let text = format!(
        "{function}: the buffer is a section of an array whose elements do not follow each other; copy it to an array of \
         its own, which must stay until the operation is complete"
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
