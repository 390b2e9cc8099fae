//! Encodes and decodes handles of the standard ABI: pointers to incomplete structures that never point anywhere.
//!
//! A predefined handle is a number below 4096 that the standard fixes (MPI-5.0 appendix A.3). The handles of a kind
//! follow its null handle; their distance from it is Hawser's number. The value of a dynamic handle is chosen by
//! Hawser: `kind << 26 | Hawser's bits`. It is at least 1 << 26, is positive in a C int (MPI_Comm_toint), and differs
//! between kinds, so that a communicator passed for a datatype is noticed.

use hawser_base::Handle;
use hawser_base::handle::{self, ObjectKind};
use std::ffi::{c_int, c_void};
use std::ptr;

/// `struct MPI_ABI_Comm *` and its like: the C handle of an object whose kind has the number KIND.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct CHandle<const KIND: u32>(*mut c_void);

// Every dynamic handle fits a C int, and none has the value of a predefined handle.
const _: () = assert!((ObjectKind::Session as u32) < 1 << (31 - Handle::BITS) && 1 << Handle::BITS >= 4096);

/// The predefined handles of a kind. `null` is the value of the null handle, and bit `n` of `numbers` is set if the
/// handle with the value `null + n` exists.
struct PredefinedHandles {
    kind: ObjectKind,
    null: usize,
    numbers: [u64; 4],
}

const fn predefined(kind: ObjectKind, null: usize, all: &[(&str, Handle)]) -> PredefinedHandles {
    let mut numbers = [0; 4];
    let mut i = 0;
    while i < all.len() {
        let number = all[i].1.bits() as usize;
        numbers[number / 64] |= 1 << (number % 64);
        i += 1;
    }
    PredefinedHandles { kind, null, numbers }
}

/// The handles of kinds that have a null handle and no other predefined one.
const ONLY_NULL: &[(&str, Handle)] = &[("", Handle::NULL)];

const fn of_kind(kind: u32) -> PredefinedHandles {
    const COMM: u32 = ObjectKind::Comm as u32;
    const GROUP: u32 = ObjectKind::Group as u32;
    const DATATYPE: u32 = ObjectKind::Datatype as u32;
    const FILE: u32 = ObjectKind::File as u32;
    const ERRHANDLER: u32 = ObjectKind::Errhandler as u32;
    const OP: u32 = ObjectKind::Op as u32;
    const INFO: u32 = ObjectKind::Info as u32;
    const WIN: u32 = ObjectKind::Win as u32;
    const REQUEST: u32 = ObjectKind::Request as u32;
    const MESSAGE: u32 = ObjectKind::Message as u32;
    const SESSION: u32 = ObjectKind::Session as u32;
    match kind {
        OP => predefined(ObjectKind::Op, 0x20, handle::op::ALL),
        COMM => predefined(ObjectKind::Comm, 0x100, handle::comm::ALL),
        GROUP => predefined(ObjectKind::Group, 0x108, handle::group::ALL),
        WIN => predefined(ObjectKind::Win, 0x110, ONLY_NULL),
        FILE => predefined(ObjectKind::File, 0x118, ONLY_NULL),
        SESSION => predefined(ObjectKind::Session, 0x120, ONLY_NULL),
        MESSAGE => predefined(ObjectKind::Message, 0x128, handle::message::ALL),
        INFO => predefined(ObjectKind::Info, 0x130, handle::info::ALL),
        ERRHANDLER => predefined(ObjectKind::Errhandler, 0x140, handle::errhandler::ALL),
        REQUEST => predefined(ObjectKind::Request, 0x180, ONLY_NULL),
        DATATYPE => predefined(ObjectKind::Datatype, 0x200, handle::datatype::ALL),
        _ => panic!("no kind of handle has this number"),
    }
}

impl<const KIND: u32> CHandle<KIND> {
    const PREDEFINED: PredefinedHandles = of_kind(KIND);

    /// Whether this predefined handle exists in Hawser alone. These are requests that completed at once
    /// (`mpi::request::SENT`). They have no name in `mpi.h`, and are encoded in the form of dynamic handles.
    #[inline(always)]
    const fn is_own(handle: Handle) -> bool {
        KIND == ObjectKind::Request as u32 && !handle.is_null() && handle.is_predefined()
    }
}

impl<const KIND: u32> hawser_abi::CHandle for CHandle<KIND> {
    const KIND: ObjectKind = Self::PREDEFINED.kind;

    #[inline(always)]
    fn decode(self) -> Option<Handle> {
        let value = self.0.addr();
        let number = value.wrapping_sub(Self::PREDEFINED.null);
        if number < 256 {
            let known = Self::PREDEFINED.numbers[number / 64] >> (number % 64) & 1 == 1;
            return known.then_some(Handle::predefined(number as u8));
        }
        if value >> Handle::BITS != KIND as usize {
            return None;
        }
        let handle = Handle::from_bits(value as u32 & ((1 << Handle::BITS) - 1))?;
        (!handle.is_predefined() || Self::is_own(handle)).then_some(handle)
    }

    #[inline(always)]
    fn encode(handle: Handle) -> Self {
        let bits = handle.bits() as usize;
        let named = handle.is_predefined() && !Self::is_own(handle);
        let value = if named { Self::PREDEFINED.null + bits } else { (KIND as usize) << Handle::BITS | bits };
        CHandle(ptr::without_provenance_mut(value))
    }

    fn to_int(self) -> c_int {
        self.0.addr() as c_int
    }

    fn from_int(value: c_int) -> Self {
        CHandle(ptr::without_provenance_mut(value as u32 as usize))
    }
}

/// The difference between the C value of a predefined attribute key and Hawser's number. The first key has the value
/// 501; MPI_KEYVAL_INVALID is 0.
const KEYVALS: c_int = 500;

pub fn keyval_in(keyval: c_int) -> Option<Handle> {
    let value = keyval as u32;
    let found = |h: Handle| handle::keyval::name(h).map(|_| h);
    match value {
        0 => Some(handle::keyval::INVALID),
        501..=755 => found(Handle::predefined((keyval - KEYVALS) as u8)),
        _ if value >> Handle::BITS == ObjectKind::Keyval as u32 => {
            Handle::from_bits(value & ((1 << Handle::BITS) - 1)).filter(|h| !h.is_predefined())
        }
        _ => None,
    }
}

pub fn keyval_out(keyval: Handle) -> c_int {
    match keyval.bits() as c_int {
        0 => 0,
        number if keyval.is_predefined() => KEYVALS + number,
        bits => (ObjectKind::Keyval as c_int) << Handle::BITS | bits,
    }
}
