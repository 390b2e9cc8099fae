//! Encodes and decodes handles of the MPICH ABI: integers of three fields, `form << 30 | kind << 26 | low 26 bits`.
//!
//! Form 0 is the null handle. Form 1 is a predefined object, whose low bits have a meaning in MPICH's own library
//! (for a datatype its size). Form 2 is an object of the program, whose low bits are Hawser's. A predefined handle is
//! found in a table of its kind by its lowest byte; a handle of the program is split into its fields. MPI_File is a
//! pointer, null for MPI_FILE_NULL.

use crate::handles;
use hawser_base::Handle;
use hawser_base::handle::ObjectKind;
use std::ffi::{c_int, c_void};
use std::ptr;

/// The form of an object of the program. Pair types and the requests that only Hawser predefines have it, too.
const DIRECT: u32 = 2;
const LOW: u32 = (1 << Handle::BITS) - 1;

/// `MPI_Comm` and its like: the C handle of an object whose kind has the number KIND.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct CHandle<const KIND: u32>(u32);

/// Returns the number that stands for the kind in a handle. Messages have the number of requests.
const fn kind_field(kind: u32) -> u32 {
    if kind == ObjectKind::Message as u32 { ObjectKind::Request as u32 } else { kind }
}

/// The predefined handles of a kind, for both directions.
pub struct PredefinedHandles {
    kind: ObjectKind,
    /// The C handle and Hawser's number of each predefined handle, indexed by the lowest byte of the C handle. The C
    /// handle in an empty entry has another lowest byte, so that it never equals the handle that is looked up.
    by_byte: [(u32, u8); 256],
    /// The C handle of each predefined handle, or zero, indexed by Hawser's number.
    by_number: [u32; 256],
}

impl PredefinedHandles {
    const fn new(kind: ObjectKind, all: &[(&str, u32, Handle)]) -> PredefinedHandles {
        let mut table = PredefinedHandles { kind, by_byte: [(0, 0); 256], by_number: [0; 256] };
        let mut i = 0;
        while i < 256 {
            table.by_byte[i].0 = i as u32 ^ 0xff;
            i += 1;
        }
        i = 0;
        while i < all.len() {
            let (_, value, handle) = all[i];
            let number = handle.bits() as usize;
            // Some predefined handle has the same lowest byte as the null handle, so null handles are compared
            // separately. The pair types, which MPICH makes at start-up, share lowest bytes with other handles; they
            // are found in `by_number`.
            if !handle.is_null() && value >> 30 != DIRECT {
                let entry = &mut table.by_byte[(value & 0xff) as usize];
                assert!(entry.0 == (value ^ 0xff) & 0xff || entry.0 == value);
                *entry = (value, number as u8);
            }
            table.by_number[number] = value;
            i += 1;
        }
        table
    }

    const fn null(&self) -> u32 {
        self.by_number[0]
    }
}

static COMM: PredefinedHandles = PredefinedHandles::new(ObjectKind::Comm, handles::COMM);
static GROUP: PredefinedHandles = PredefinedHandles::new(ObjectKind::Group, handles::GROUP);
static DATATYPE: PredefinedHandles = PredefinedHandles::new(ObjectKind::Datatype, handles::DATATYPE);
static ERRHANDLER: PredefinedHandles = PredefinedHandles::new(ObjectKind::Errhandler, handles::ERRHANDLER);
static OP: PredefinedHandles = PredefinedHandles::new(ObjectKind::Op, handles::OP);
static INFO: PredefinedHandles = PredefinedHandles::new(ObjectKind::Info, handles::INFO);
static WIN: PredefinedHandles = PredefinedHandles::new(ObjectKind::Win, handles::WIN);
static REQUEST: PredefinedHandles = PredefinedHandles::new(ObjectKind::Request, handles::REQUEST);
static MESSAGE: PredefinedHandles = PredefinedHandles::new(ObjectKind::Message, handles::MESSAGE);
static SESSION: PredefinedHandles = PredefinedHandles::new(ObjectKind::Session, handles::SESSION);

const fn of_kind(kind: u32) -> &'static PredefinedHandles {
    const TABLES: [&PredefinedHandles; 10] =
        [&COMM, &GROUP, &DATATYPE, &ERRHANDLER, &OP, &INFO, &WIN, &REQUEST, &MESSAGE, &SESSION];
    let mut i = 0;
    while i < TABLES.len() {
        if TABLES[i].kind as u32 == kind {
            return TABLES[i];
        }
        i += 1;
    }
    panic!("no kind of integer handle has this number")
}

impl<const KIND: u32> CHandle<KIND> {
    const PREDEFINED: &'static PredefinedHandles = of_kind(KIND);
    const NULL: u32 = Self::PREDEFINED.null();

    /// Whether this predefined handle exists in Hawser alone. These are requests that completed at once
    /// (`mpi::request::SENT`). They have no name in `mpi.h`, and are encoded in the form of the program's objects.
    #[inline(always)]
    const fn is_own(handle: Handle) -> bool {
        KIND == ObjectKind::Request as u32 && !handle.is_null() && handle.is_predefined()
    }

    /// Decodes a handle that is neither null nor in `by_byte`; None if it is no handle of this kind.
    #[inline(always)]
    fn decode_direct(self) -> Option<Handle> {
        if self.0 >> Handle::BITS != DIRECT << 4 | kind_field(KIND) {
            return None;
        }
        let handle = Handle::from_bits(self.0 & LOW)?;
        if handle.is_predefined() { self.decode_made_at_start(handle) } else { Some(handle) }
    }

    /// Decodes a pair type, which MPICH makes at start-up, or a request that only Hawser predefines (`is_own`).
    #[inline(never)]
    fn decode_made_at_start(self, handle: Handle) -> Option<Handle> {
        if Self::is_own(handle) {
            return Some(handle);
        }
        let number = Self::PREDEFINED.by_number.iter().position(|v| *v == self.0)?;
        Some(Handle::predefined(number as u8))
    }
}

impl<const KIND: u32> hawser_abi::CHandle for CHandle<KIND> {
    const KIND: ObjectKind = Self::PREDEFINED.kind;

    #[inline(always)]
    fn decode(self) -> Option<Handle> {
        let (value, number) = Self::PREDEFINED.by_byte[(self.0 & 0xff) as usize];
        if value == self.0 {
            return Some(Handle::predefined(number));
        }
        if self.0 == Self::NULL {
            return Some(Handle::NULL);
        }
        self.decode_direct()
    }

    #[inline(always)]
    fn encode(handle: Handle) -> Self {
        let bits = handle.bits();
        CHandle(if handle.is_predefined() && !Self::is_own(handle) {
            Self::PREDEFINED.by_number[bits as usize & 0xff]
        } else {
            DIRECT << 30 | kind_field(KIND) << Handle::BITS | bits
        })
    }

    #[inline(always)]
    fn to_int(self) -> c_int {
        self.0 as c_int
    }

    #[inline(always)]
    fn from_int(value: c_int) -> Self {
        CHandle(value as u32)
    }
}

/// `MPI_File`: a pointer that never points anywhere. Its value is made of the kind and Hawser's bits; null is
/// MPI_FILE_NULL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct FileHandle(*mut c_void);

impl hawser_abi::CHandle for FileHandle {
    const KIND: ObjectKind = ObjectKind::File;

    fn decode(self) -> Option<Handle> {
        match self.0.addr() {
            0 => Some(Handle::NULL),
            value if value >> Handle::BITS == ObjectKind::File as usize => {
                Handle::from_bits(value as u32 & LOW).filter(|h| !h.is_predefined())
            }
            _ => None,
        }
    }

    fn encode(handle: Handle) -> Self {
        let value = if handle.is_null() { 0 } else { (ObjectKind::File as u32) << Handle::BITS | handle.bits() };
        FileHandle(ptr::without_provenance_mut(value as usize))
    }

    fn to_int(self) -> c_int {
        self.0.addr() as c_int
    }

    fn from_int(value: c_int) -> Self {
        FileHandle(ptr::without_provenance_mut(value as u32 as usize))
    }
}

pub fn keyval_in(keyval: c_int) -> Option<Handle> {
    let value = keyval as u32;
    if let Some((_, _, handle)) = handles::KEYVAL.iter().find(|(_, v, _)| *v == value) {
        return Some(*handle);
    }
    let direct = value >> Handle::BITS == DIRECT << 4 | ObjectKind::Keyval as u32;
    if direct { Handle::from_bits(value & LOW).filter(|h| !h.is_predefined()) } else { None }
}

pub fn keyval_out(keyval: Handle) -> c_int {
    let known = handles::KEYVAL.iter().find(|(_, _, handle)| *handle == keyval);
    known.map_or(DIRECT << 30 | (ObjectKind::Keyval as u32) << Handle::BITS | keyval.bits(), |(_, value, _)| *value)
        as c_int
}
