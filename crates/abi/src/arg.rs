//! Checks and translates arguments: decodes handles, refuses null pointers, copies strings, widens integers.
//!
//! Everything here turns a C argument into Hawser's value or an error that names the argument. `mpi` checks whether the
//! object exists, the rank is in range and so on.

use crate::abi::{Abi, CHandle};
use hawser_base::handle::ObjectKind;
use hawser_base::value::UNDEFINED;
use hawser_base::{Class, Error, Handle};
use hawser_coll::IntArray;
use std::ffi::{CStr, c_char, c_int};

type Result<T> = hawser_base::Result<T>;

/// An integer argument: `int`, `MPI_Count` or `MPI_Aint`.
pub trait IntArg: Copy + 'static {
    /// Whether functions with this type of counts are the `_c` forms (MPI-5.0 §2.5.8).
    const LARGE: bool;
    /// Returns an array argument in the form that collectives take.
    fn ints(array: &[Self]) -> IntArray<'_>;
    fn wide(self) -> i64;
    /// None if `value` does not fit.
    fn narrow(value: i64) -> Option<Self>;
}

impl IntArg for i32 {
    const LARGE: bool = false;
    fn ints(array: &[i32]) -> IntArray<'_> {
        IntArray::Int(array)
    }
    #[inline(always)]
    fn wide(self) -> i64 {
        self.into()
    }
    #[inline(always)]
    fn narrow(value: i64) -> Option<i32> {
        value.try_into().ok()
    }
}

impl IntArg for i64 {
    const LARGE: bool = true;
    fn ints(array: &[i64]) -> IntArray<'_> {
        IntArray::Count(array)
    }
    #[inline(always)]
    fn wide(self) -> i64 {
        self
    }
    #[inline(always)]
    fn narrow(value: i64) -> Option<i64> {
        Some(value)
    }
}

/// MPI_Aint. It is as wide as MPI_Count on every machine for which Hawser is built.
impl IntArg for isize {
    const LARGE: bool = false;
    fn ints(array: &[isize]) -> IntArray<'_> {
        // SAFETY: an isize is an i64 here (asserted below).
        IntArray::Count(unsafe { std::slice::from_raw_parts(array.as_ptr().cast(), array.len()) })
    }
    #[inline(always)]
    fn wide(self) -> i64 {
        self as i64
    }
    #[inline(always)]
    fn narrow(value: i64) -> Option<isize> {
        Some(value as isize)
    }
}

const _: () = assert!(size_of::<isize>() == size_of::<i64>());

/// An array argument in the form that collectives take.
pub fn ints<N: IntArg>(array: &[N]) -> IntArray<'_> {
    N::ints(array)
}

/// The destination of a result: checked for null before the operation, and written once after it.
pub struct OutArg<T>(*mut T);

impl<T> OutArg<T> {
    /// # Safety
    /// `to` is null or may be written until the call returns.
    #[inline(always)]
    pub unsafe fn new(to: *mut T, name: &'static str) -> Result<OutArg<T>> {
        if to.is_null() { Err(null(name)) } else { Ok(OutArg(to)) }
    }

    #[inline(always)]
    pub fn put(self, value: T) {
        // SAFETY: not null, and `new`'s caller vouches for the rest. MPI lets no argument be misaligned.
        unsafe { self.0.write(value) }
    }
}

impl<H: CHandle> OutArg<H> {
    /// Does the same as `new`, for a handle.
    ///
    /// # Safety
    /// The same as for `new`.
    #[inline(always)]
    pub unsafe fn handle(to: *mut H, name: &'static str) -> Result<OutArg<H>> {
        // SAFETY: the caller's promise.
        unsafe { OutArg::new(to, name) }
    }

    #[inline(always)]
    pub fn set(self, handle: Handle) {
        self.put(H::encode(handle))
    }
}

impl<N: IntArg> OutArg<N> {
    /// Writes a number that may be too large for the argument's type; None, and nothing written, if it is.
    pub fn put_int(self, value: i64) -> Option<()> {
        self.put(N::narrow(value)?);
        Some(())
    }

    /// Does the same for results that the standard defines as MPI_UNDEFINED when they are too large.
    pub fn put_or_undefined(self, value: i64) {
        self.put(N::narrow(value).or_else(|| N::narrow(UNDEFINED.into())).expect("MPI_UNDEFINED fits an int"));
    }
}

/// The address of a handle that the call reads and changes (MPI_Comm_free, MPI_Wait).
pub struct InOutArg<H: CHandle>(*mut H);

impl<H: CHandle> InOutArg<H> {
    /// # Safety
    /// `at` is null or may be read and written until the call returns.
    #[inline(always)]
    pub unsafe fn new(at: *mut H, name: &'static str) -> Result<InOutArg<H>> {
        if at.is_null() { Err(null(name)) } else { Ok(InOutArg(at)) }
    }

    #[inline(always)]
    pub fn get(&self) -> Result<Handle> {
        // SAFETY: not null, and `new`'s caller vouches for the rest.
        handle(unsafe { self.0.read() })
    }

    #[inline(always)]
    pub fn set(&self, handle: Handle) {
        // SAFETY: as in `get`.
        unsafe { self.0.write(H::encode(handle)) }
    }
}

/// The handles of an array argument. Up to `FEW` handles, as in most calls, are stored without an allocation.
pub struct HandleArray {
    few: [Handle; FEW],
    many: Vec<Handle>,
    count: usize,
}

const FEW: usize = 32;

impl HandleArray {
    /// No handles.
    pub const NONE: HandleArray = HandleArray { few: [Handle::NULL; FEW], many: Vec::new(), count: 0 };

    /// Reads the handles into `self`, which the caller has made. To return an array by value would move so much
    /// memory that this would take longer than many MPI calls.
    ///
    /// # Safety
    /// `count` handles at `at` may be read.
    pub unsafe fn read<H: CHandle>(&mut self, at: *const H, count: c_int, name: &'static str) -> Result<&mut [Handle]> {
        // SAFETY: the caller's promise.
        let from = unsafe { array(at, self::count(count)?, name) }?;
        self.count = from.len();
        if self.count > FEW {
            self.many = vec![Handle::NULL; self.count];
        }
        for (to, from) in self.as_slice().iter_mut().zip(from) {
            *to = handle(*from)?;
        }
        Ok(self.as_slice())
    }

    pub fn as_slice(&mut self) -> &mut [Handle] {
        if self.count > FEW { &mut self.many } else { &mut self.few[..self.count] }
    }

    /// Writes back the handles that have changed.
    ///
    /// # Safety
    /// `at` is what `read` read, and may be written.
    pub unsafe fn write_back<H: CHandle>(&mut self, at: *mut H) {
        for (i, &handle) in self.as_slice().iter().enumerate() {
            // Handles that have not become null are unchanged.
            if handle.is_null() {
                // SAFETY: inside the array that the caller vouches for.
                unsafe { at.add(i).write(H::encode(handle)) };
            }
        }
    }
}

/// Checks a length argument.
pub fn count(count: c_int) -> Result<usize> {
    length(count)
}

/// Checks a length argument of either width.
pub fn length(count: impl IntArg) -> Result<usize> {
    let negative = || Error::new(Class::Count, format!("count is {}; it must not be negative", count.wide()));
    usize::try_from(count.wide()).map_err(|_| negative())
}

/// Checks a length that is no count of elements (MPI_ERR_ARG): of an array of ranks or dimensions, or of a pack buffer.
pub fn entries(number: impl IntArg, name: &'static str) -> Result<usize> {
    let negative = || Error::new(Class::Arg, format!("{name} is {}; it must not be negative", number.wide()));
    usize::try_from(number.wide()).map_err(|_| negative())
}

/// Reads an array of `count` numbers, widened.
///
/// # Safety
/// `count` numbers at `at` may be read.
pub unsafe fn numbers<N: IntArg>(at: *const N, count: impl IntArg, name: &'static str) -> Result<Vec<i64>> {
    // SAFETY: the caller's promise.
    Ok(unsafe { array(at, length(count)?, name) }?.iter().map(|number| number.wide()).collect())
}

#[cold]
#[inline(never)]
pub fn null(name: &'static str) -> Error {
    Error::new(Class::Arg, format!("{name} is a null pointer"))
}

/// Returns Hawser's handle for a C handle; an error of the kind's class (such as MPI_ERR_COMM) if it is no handle of
/// its kind.
#[inline(always)]
pub fn handle<H: CHandle>(handle: H) -> Result<Handle> {
    match handle.decode() {
        Some(handle) => Ok(handle),
        None => Err(foreign(H::KIND, handle.to_int())),
    }
}

#[cold]
#[inline(never)]
fn foreign(kind: ObjectKind, value: c_int) -> Error {
    let (class, what) = match kind {
        ObjectKind::Comm => (Class::Comm, "communicator"),
        ObjectKind::Group => (Class::Group, "group"),
        ObjectKind::Datatype => (Class::Type, "datatype"),
        ObjectKind::File => (Class::File, "file"),
        ObjectKind::Errhandler => (Class::Errhandler, "error handler"),
        ObjectKind::Op => (Class::Op, "operation"),
        ObjectKind::Info => (Class::Info, "info object"),
        ObjectKind::Win => (Class::Win, "window"),
        ObjectKind::Keyval => (Class::Keyval, "attribute key"),
        ObjectKind::Request => (Class::Request, "request"),
        ObjectKind::Message => (Class::Request, "message"),
        ObjectKind::Session => (Class::Session, "session"),
    };
    Error::new(
        class,
        format!("{value:#x} is not a valid {what} handle; is it uninitialised, or from another MPI library?"),
    )
}

/// Translates an attribute key.
pub fn keyval<A: Abi>(keyval: c_int) -> Result<Handle> {
    A::keyval_in(keyval).ok_or_else(|| foreign(ObjectKind::Keyval, keyval))
}

/// Copies a string argument. Bytes that are not UTF-8 are kept as they are.
///
/// # Safety
/// `text` is null or points to a string that ends with a zero.
pub unsafe fn text(text: *const c_char, name: &'static str) -> Result<Vec<u8>> {
    if text.is_null() {
        return Err(null(name));
    }
    // SAFETY: not null; the caller vouches for the terminating zero.
    Ok(unsafe { CStr::from_ptr(text) }.to_bytes().to_vec())
}

/// Writes a string result: at most `capacity` bytes with the terminating zero; longer text is cut. The length without
/// the zero is written to `length`. A null pointer is an error (MPI_ERR_ARG).
///
/// # Safety
/// `to` is null or `capacity` bytes at it may be written; `length` is null or may be written.
pub unsafe fn put_text(
    text: &[u8],
    to: *mut c_char,
    capacity: usize,
    length: *mut c_int,
    name: &'static str,
) -> Result<()> {
    if to.is_null() {
        return Err(null(name));
    }
    // SAFETY: the caller vouches for `length`.
    let length = unsafe { OutArg::new(length, "resultlen") }?;
    let len = text.len().min(capacity - 1);
    // SAFETY: len + 1 <= capacity bytes at `to` may be written, and `text` is ours, so they do not overlap.
    unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), len);
        to.add(len).write(0);
    }
    length.put(len as c_int);
    Ok(())
}

/// Returns an array argument as a slice; null is allowed if `count` is 0.
///
/// # Safety
/// `count` elements at `at` may be read for as long as the slice lives.
pub unsafe fn array<'a, T>(at: *const T, count: usize, name: &'static str) -> Result<&'a [T]> {
    match (at.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(null(name)),
        // SAFETY: not null; the caller vouches for the rest. The application may not change an argument
        // array during the call (MPI-5.0 §2.5.1), so a shared slice is sound.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(at, count) }),
    }
}
