//! The application's buffers as operations see them: one contiguous range, or a datatype with gaps.
//!
//! Used by the user's calls (MPI: `buffer`, which looks up the datatype) and by `lane`, which copies from and to
//! them; uses the `datatype` crate.

use hawser_base::{Class, Error, Result, SharedMem, UserMem};
use hawser_datatype::{Datatype, UserPtr, copy_typed};
use hawser_device::{Payload, PayloadSource};
use std::sync::Arc;

/// The memory of a message. It must stay valid until the operation ends; no lifetime in the type ensures that.
#[derive(Clone)]
pub enum Buffer {
    /// One contiguous range.
    Dense(UserMem<'static>),
    /// `count` elements of a type with gaps: `len` of their packed bytes, beginning at packed byte `from`.
    Spread { at: UserPtr<'static>, count: u64, datatype: Arc<Datatype>, from: u64, len: u64 },
}

impl Buffer {
    pub const EMPTY: Buffer = Buffer::Dense(UserMem::EMPTY);

    /// Makes a buffer of `count` elements of a type. Checks that the type is committed (MPI_ERR_TYPE), that the
    /// buffer does not begin at a null pointer, unless it is empty (MPI_ERR_BUFFER), and that memory can hold so many
    /// bytes (MPI_ERR_COUNT).
    #[inline]
    pub fn new(at: UserPtr<'static>, count: u64, datatype: &Arc<Datatype>) -> Result<Buffer> {
        if !datatype.is_committed() {
            return Err(Error::new(Class::Type, "the datatype is not committed; call MPI_Type_commit first"));
        }
        Buffer::uncommitted(at, count, datatype)
    }

    /// Makes a buffer as `new` does, for calls for which MPI does not require a committed type (MPI-5.0 §5.1.9).
    #[inline]
    pub fn uncommitted(at: UserPtr<'static>, count: u64, datatype: &Arc<Datatype>) -> Result<Buffer> {
        match datatype.memory(at, count) {
            Some(mem) if mem.as_ptr().is_null() && !mem.is_empty() => Err(null_buffer(count)),
            Some(mem) => Ok(Buffer::Dense(mem)),
            None if is_nowhere(at, datatype) => Err(null_buffer(count)),
            None if datatype.packed_size(count) >= i64::MAX as u64 => {
                Err(Error::new(Class::Count, format!("{count} elements are more bytes than memory can hold")))
            }
            None => Ok(Buffer::spread(at, count, datatype)),
        }
    }

    /// Returns a buffer of all `count` elements of a type with gaps.
    pub fn spread(at: UserPtr<'static>, count: u64, datatype: &Arc<Datatype>) -> Buffer {
        Buffer::Spread { at, count, datatype: datatype.clone(), from: 0, len: datatype.packed_size(count) }
    }

    /// Returns a buffer that consists of the message's bytes `at .. at + size`.
    pub fn part(&self, at: u64, size: u64) -> Buffer {
        match self {
            _ if size == 0 => Buffer::EMPTY,
            Buffer::Dense(mem) => Buffer::Dense(mem.slice(at as usize, size as usize)),
            Buffer::Spread { at: user, count, datatype, from, .. } => {
                let (from, one) = (from + at, datatype.size());
                if !from.is_multiple_of(one) || !size.is_multiple_of(one) {
                    return Buffer::Spread { at: *user, count: *count, datatype: datatype.clone(), from, len: size };
                }
                let user = user.moved(datatype.extent().wrapping_mul((from / one) as i64));
                let dense = datatype.memory(user, size / one).map(Buffer::Dense);
                dense.unwrap_or_else(|| Buffer::spread(user, size / one, datatype))
            }
        }
    }

    /// Returns the length of the message, in bytes.
    #[inline]
    pub fn len(&self) -> u64 {
        match self {
            Buffer::Dense(mem) => mem.len() as u64,
            Buffer::Spread { len, .. } => *len,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `f` with the bytes `at .. at + len` of the message, in the form in which a device takes them.
    pub fn source<R>(&self, at: u64, len: usize, f: impl FnOnce(PayloadSource<'_>) -> R) -> R {
        match self {
            _ if len == 0 => f(PayloadSource::None),
            Buffer::Dense(mem) => f(PayloadSource::Mem(mem.slice(at as usize, len))),
            Buffer::Spread { at: user, count, datatype, from, .. } => {
                let mut from = from + at;
                let mut pack = |piece: SharedMem| from += datatype.pack(*user, *count, from, piece) as u64;
                f(PayloadSource::Pack { len, pack: &mut pack })
            }
        }
    }

    /// Copies `len` bytes of the payload to the message's bytes from `at` on. Returns false if the peer has died
    /// meanwhile.
    pub fn place(&self, at: u64, len: usize, payload: &mut dyn Payload) -> bool {
        match self {
            Buffer::Dense(mem) => payload.copy_to(mem.slice(at as usize, len)),
            Buffer::Spread { at: user, count, datatype, from, .. } => {
                let mut done = 0;
                while done < len {
                    let Some(piece) = payload.next(len - done) else { return false };
                    done += datatype.unpack(*user, *count, from + at + done as u64, piece);
                }
                true
            }
        }
    }

    /// Copies the whole message to the front of `packed`.
    #[inline]
    pub fn copy_out(&self, packed: SharedMem) {
        match self {
            Buffer::Dense(mem) => packed.write_user(*mem),
            Buffer::Spread { at, count, datatype, from, .. } => drop(datatype.pack(*at, *count, *from, packed)),
        }
    }

    /// Copies the front of `packed` to all of the message.
    #[inline]
    pub fn copy_in(&self, packed: SharedMem) {
        match self {
            Buffer::Dense(mem) => packed.read_user(*mem),
            Buffer::Spread { at, count, datatype, from, .. } => drop(datatype.unpack(*at, *count, *from, packed)),
        }
    }

    /// Copies the whole message to `into`, which has as many bytes and does not overlap.
    pub fn copy_to(&self, into: &Buffer) {
        debug_assert_eq!(self.len(), into.len());
        match (self, into) {
            (Buffer::Dense(from), Buffer::Dense(into)) => into.copy_from(*from),
            (Buffer::Dense(mem), Buffer::Spread { at, count, datatype, from, .. }) => {
                datatype.unpack(*at, *count, *from, *mem);
            }
            (Buffer::Spread { at, count, datatype, from, .. }, Buffer::Dense(mem)) => {
                datatype.pack(*at, *count, *from, *mem);
            }
            (
                Buffer::Spread { at, count, datatype, .. },
                Buffer::Spread { at: to, count: other_count, datatype: other, .. },
            ) => {
                debug_assert_eq!(
                    (self.len(), into.len()),
                    (datatype.packed_size(*count), other.packed_size(*other_count))
                );
                copy_typed((*at, *count, datatype), (*to, *other_count, other));
            }
        }
    }

    /// Copies `bytes` to the message's front.
    pub fn fill(&self, bytes: &[u8]) {
        match self {
            Buffer::Dense(mem) => mem.write(bytes),
            Buffer::Spread { at, count, datatype, from, .. } => {
                datatype.unpack(*at, *count, *from, bytes);
            }
        }
    }

    /// Returns a packed copy of the bytes in one piece (MPI_Bsend keeps such a copy).
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len() as usize];
        match self {
            Buffer::Dense(mem) => mem.read(&mut bytes),
            Buffer::Spread { at, count, datatype, from, .. } => {
                datatype.pack(*at, *count, *from, &mut bytes[..]);
            }
        }
        bytes
    }
}

/// Returns whether the address is a null pointer that does not stand for memory. It does stand for memory if the type
/// has absolute addresses (used with MPI_BOTTOM), because such a type begins elsewhere.
pub fn is_nowhere(at: UserPtr, datatype: &Datatype) -> bool {
    at.addr() == 0 && datatype.true_lb() == 0 && datatype.size() > 0
}

#[cold]
fn null_buffer(count: u64) -> Error {
    Error::new(Class::Buffer, format!("the buffer is a null pointer, but count is {count}"))
}
