//! The buffer arguments of a call: their datatype is looked up, and they are checked.
//!
//! Used by the calls that have buffers (`pt2pt`, `probe`, `ops`, `collective` and others), for which `abi` fills in
//! the address, the count and the handle of the datatype; uses `types` and `p2p::buffer`.

use crate::types;
use hawser_base::{Class, Error, Handle, Result, UserMem};
use hawser_datatype::UserPtr;
use hawser_p2p::buffer::Buffer;

/// The buffer arguments of a call, as they come from the ABI.
#[derive(Clone, Copy, Debug)]
pub struct BufferArg {
    pub at: UserPtr<'static>,
    pub count: i64,
    pub datatype: Handle,
}

impl BufferArg {
    /// The memory of the buffer, if its datatype is predefined and has no gaps, its count is positive and its address
    /// is not null. None: more must be checked (`of`).
    #[inline(always)]
    pub fn contiguous_memory(&self) -> Option<UserMem<'static>> {
        if self.count <= 0 {
            return None;
        }
        types::basic(self.datatype)?.memory(self.at, self.count as u64).filter(|mem| !mem.as_ptr().is_null())
    }
}

/// The buffer that a call names; checks count, datatype and address (MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_BUFFER).
#[inline(always)]
pub fn of(buf: &BufferArg) -> Result<Buffer> {
    match buf.contiguous_memory() {
        Some(mem) => Ok(Buffer::Dense(mem)),
        None => checked(buf),
    }
}

#[inline(never)]
fn checked(buf: &BufferArg) -> Result<Buffer> {
    if buf.count < 0 {
        return Err(Error::new(Class::Count, format!("count is {}; it must not be negative", buf.count)));
    }
    // A null datatype with count 0 is not checked, as in MPICH: programs pass MPI_DATATYPE_NULL together with
    // MPI_PROC_NULL.
    if buf.count == 0 && buf.datatype.is_null() {
        return Ok(Buffer::EMPTY);
    }
    types::with(buf.datatype, |datatype| Buffer::new(buf.at, buf.count as u64, datatype))?
}
