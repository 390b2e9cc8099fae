//! Arguments at the edge: handles decoded, null pointers refused, strings copied, integers widened.
//!
//! Everything here turns a C argument into a house value or an error that names the argument. Whether
//! the object exists, the rank is in range and so on is `mpi`'s business.

use crate::abi::{Abi, CHandle};
use hawser_base::handle::Kind;
use hawser_base::value::UNDEFINED;
use hawser_base::{Class, Error, Handle};
use hawser_coll::Ints;
use std::ffi::{CStr, c_char, c_int};

type Result<T> = hawser_base::Result<T>;

/// An integer argument: `int`, `MPI_Count` or `MPI_Aint`.
pub trait Int: Copy + 'static {
    /// Whether functions with this type of counts are the `_c` forms (MPI-5.0 §2.5.8).
    const LARGE: bool;
    /// An array argument as collectives take it.
    fn ints(array: &[Self]) -> Ints<'_>;
    fn wide(self) -> i64;
    /// None if `value` does not fit.
    fn narrow(value: i64) -> Option<Self>;
}

impl Int for i32 {
    const LARGE: bool = false;
    fn ints(array: &[i32]) -> Ints<'_> {
        Ints::Int(array)
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

impl Int for i64 {
    const LARGE: bool = true;
    fn ints(array: &[i64]) -> Ints<'_> {
        Ints::Count(array)
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

/// MPI_Aint. It is as wide as MPI_Count on every machine that Hawser builds for.
impl Int for isize {
    const LARGE: bool = false;
    fn ints(array: &[isize]) -> Ints<'_> {
        // SAFETY: an isize is an i64 here (asserted below).
        Ints::Count(unsafe { std::slice::from_raw_parts(array.as_ptr().cast(), array.len()) })
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

/// An array argument as collectives take it.
pub fn ints<N: Int>(array: &[N]) -> Ints<'_> {
    N::ints(array)
}

/// Where a result goes: looked at before the operation, written once after it.
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// # Safety
    /// `to` is null or may be written until the call returns.
    #[inline(always)]
    pub unsafe fn new(to: *mut T, name: &'static str) -> Result<Out<T>> {
        if to.is_null() { Err(null(name)) } else { Ok(Out(to)) }
    }

    #[inline(always)]
    pub fn put(self, value: T) {
        // SAFETY: not null, and `new`'s caller vouches for the rest. MPI lets no argument be misaligned.
        unsafe { self.0.write(value) }
    }
}

impl<H: CHandle> Out<H> {
    /// As `new`, for a handle.
    ///
    /// # Safety
    /// As `new`.
    #[inline(always)]
    pub unsafe fn handle(to: *mut H, name: &'static str) -> Result<Out<H>> {
        // SAFETY: the caller's promise.
        unsafe { Out::new(to, name) }
    }

    #[inline(always)]
    pub fn set(self, handle: Handle) {
        self.put(H::encode(handle))
    }
}

impl<N: Int> Out<N> {
    /// Writes a number that may be too large for the argument's type; None, and nothing written, if it is.
    pub fn put_int(self, value: i64) -> Option<()> {
        self.put(N::narrow(value)?);
        Some(())
    }

    /// The same for results of which the standard says MPI_UNDEFINED when they are too large.
    pub fn put_or_undefined(self, value: i64) {
        self.put(N::narrow(value).or_else(|| N::narrow(UNDEFINED.into())).expect("MPI_UNDEFINED fits an int"));
    }
}

/// Where a handle goes in and comes back changed (MPI_Comm_free, MPI_Wait).
pub struct InOut<H: CHandle>(*mut H);

impl<H: CHandle> InOut<H> {
    /// # Safety
    /// `at` is null or may be read and written until the call returns.
    #[inline(always)]
    pub unsafe fn new(at: *mut H, name: &'static str) -> Result<InOut<H>> {
        if at.is_null() { Err(null(name)) } else { Ok(InOut(at)) }
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

/// Handles of an array argument, as many as most calls have without a heap request.
pub struct Handles {
    few: [Handle; FEW],
    many: Vec<Handle>,
    count: usize,
}

const FEW: usize = 32;

impl Handles {
    /// None yet.
    pub const NONE: Handles = Handles { few: [Handle::NULL; FEW], many: Vec::new(), count: 0 };

    /// Reads them where it is: to move so much costs more than many a call.
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

    /// Writes back those that have changed.
    ///
    /// # Safety
    /// `at` is what `read` read, and may be written.
    pub unsafe fn write_back<H: CHandle>(&mut self, at: *mut H) {
        for (i, &handle) in self.as_slice().iter().enumerate() {
            // Those that have not become null are as they were.
            if handle.is_null() {
                // SAFETY: inside the array that the caller vouches for.
                unsafe { at.add(i).write(H::encode(handle)) };
            }
        }
    }
}

/// A length argument.
pub fn count(count: c_int) -> Result<usize> {
    length(count)
}

/// The same of either width.
pub fn length(count: impl Int) -> Result<usize> {
    let negative = || Error::new(Class::Count, format!("count is {}; it must not be negative", count.wide()));
    usize::try_from(count.wide()).map_err(|_| negative())
}

/// A length that is no count of elements (MPI_ERR_ARG): of an array of ranks or dimensions, of a pack buffer.
pub fn entries(number: impl Int, name: &'static str) -> Result<usize> {
    let negative = || Error::new(Class::Arg, format!("{name} is {}; it must not be negative", number.wide()));
    usize::try_from(number.wide()).map_err(|_| negative())
}

/// An array of `count` numbers, widened.
///
/// # Safety
/// `count` numbers at `at` may be read.
pub unsafe fn numbers<N: Int>(at: *const N, count: impl Int, name: &'static str) -> Result<Vec<i64>> {
    // SAFETY: the caller's promise.
    Ok(unsafe { array(at, length(count)?, name) }?.iter().map(|number| number.wide()).collect())
}

#[cold]
#[inline(never)]
pub fn null(name: &'static str) -> Error {
    Error::new(Class::Arg, format!("{name} is a null pointer"))
}

/// The house name of a handle; an error of the kind's class if it is none.
#[inline(always)]
pub fn handle<H: CHandle>(handle: H) -> Result<Handle> {
    match handle.decode() {
        Some(handle) => Ok(handle),
        None => Err(foreign(H::KIND, handle.to_int())),
    }
}

#[cold]
#[inline(never)]
fn foreign(kind: Kind, value: c_int) -> Error {
    let (class, what) = match kind {
        Kind::Comm => (Class::Comm, "communicator"),
        Kind::Group => (Class::Group, "group"),
        Kind::Datatype => (Class::Type, "datatype"),
        Kind::File => (Class::File, "file"),
        Kind::Errhandler => (Class::Errhandler, "error handler"),
        Kind::Op => (Class::Op, "operation"),
        Kind::Info => (Class::Info, "info object"),
        Kind::Win => (Class::Win, "window"),
        Kind::Keyval => (Class::Keyval, "attribute key"),
        Kind::Request => (Class::Request, "request"),
        Kind::Message => (Class::Request, "message"),
        Kind::Session => (Class::Session, "session"),
    };
    Error::new(
        class,
        format!("{value:#x} is no handle of a {what}; was it initialised, or made by another MPI library?"),
    )
}

/// An attribute key.
pub fn keyval<A: Abi>(keyval: c_int) -> Result<Handle> {
    A::keyval_in(keyval).ok_or_else(|| foreign(Kind::Keyval, keyval))
}

/// A string argument, copied. Bytes that are no UTF-8 are kept as they are.
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

/// Where a string goes: at most `room` bytes with the terminating zero; longer text is cut. Its length
/// without the zero goes to `length`, where the function has that argument.
///
/// # Safety
/// `to` is null or `room` bytes at it may be written; `length` is null or may be written.
pub unsafe fn put_text(
    text: &[u8],
    to: *mut c_char,
    room: usize,
    length: *mut c_int,
    name: &'static str,
) -> Result<()> {
    if to.is_null() {
        return Err(null(name));
    }
    // SAFETY: the caller vouches for `length`.
    let length = unsafe { Out::new(length, "resultlen") }?;
    let len = text.len().min(room - 1);
    // SAFETY: len + 1 <= room bytes at `to` may be written, and `text` is ours, so they do not overlap.
    unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), len);
        to.add(len).write(0);
    }
    length.put(len as c_int);
    Ok(())
}

/// An array argument; null is fine where it is empty.
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
