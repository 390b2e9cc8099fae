//! Packs and unpacks any part of a message. The data of `count` elements of a type at a buffer are one stream of
//! packed bytes; a fragment is a piece of that stream, and fragments may be requested in any order.
//!
//! Only a position is kept between fragments (see `walk`). Used by `p2p`, which cuts messages into fragments, by
//! `abi` and by `external32`; uses `block_copy`.

use crate::block_copy::{CopyDirection, PackBlocks, UnpackBlocks, indexed_block, members, strided};
use crate::datatype::Datatype;
use crate::layout::LayoutNode;
use crate::user::{PackedSource, PackedTarget, UserPtr};
use crate::walk::RunVisitor;
use hawser_base::{Class, Error, Result, UserMem};
use std::marker::PhantomData;
use std::sync::Arc;

/// Copies runs between the user's memory and packed bytes. `packed` is the address of the next run's packed bytes.
struct RunCopier<'a, D> {
    user: UserPtr<'a>,
    packed: *mut u8,
    direction: PhantomData<D>,
}

// Every copy below is inside its buffers: `transfer` requests no more bytes from `walk` than the packed side holds,
// and the maker of the UserPtr vouched for the user's side.
impl<D: CopyDirection> RunVisitor for RunCopier<'_, D> {
    #[inline(always)]
    fn run(&mut self, disp: i64, len: u64) {
        // SAFETY: see above.
        unsafe { D::copy(self.user.at(disp), self.packed, len as usize) };
        self.packed = self.packed.wrapping_add(len as usize);
    }

    #[inline]
    fn strided(&mut self, disp: i64, count: u64, len: u64, stride: i64) {
        // SAFETY: see above.
        unsafe { strided::<D>(self.user, disp, self.packed, count as usize, len as usize, stride) };
        self.packed = self.packed.wrapping_add((count * len) as usize);
    }

    #[inline]
    fn indexed_block(&mut self, disp: i64, disps: &[i64], len: u64) {
        // SAFETY: see above.
        unsafe { indexed_block::<D>(self.user, disp, self.packed, disps, len as usize) };
        self.packed = self.packed.wrapping_add(disps.len() * len as usize);
    }

    fn records(&mut self, disp: i64, count: u64, stride: i64, record: &LayoutNode) {
        let (size, runs) = (record.size(), record.runs() as usize);
        let rows = (RECORDS_BYTES / size.max(stride.unsigned_abs())).max(1);
        let mut done = 0;
        while done < count {
            let now = rows.min(count - done);
            let disp = disp.wrapping_add((done as i64).wrapping_mul(stride));
            for (start, at, len) in (0..runs).filter_map(|i| record.flat_run(i)) {
                let user = (self.user, disp.wrapping_add(at), stride);
                let packed = (self.packed.wrapping_add(start as usize), size as usize);
                // SAFETY: see above; the runs of a record do not overlap on the packed side.
                unsafe { members::<D>(user, packed, now as usize, len as usize) };
            }
            self.packed = self.packed.wrapping_add((now * size) as usize);
            done += now;
        }
    }
}

/// The maximum number of bytes, on either side, of the records that are copied together, member by member. The bytes
/// of both sides stay in a first-level cache of 32 KiB.
const RECORDS_BYTES: u64 = 12 << 10;

impl Datatype {
    /// Copies the packed bytes from `offset` on to `to`, until `to` is full or the message ends. Returns the number
    /// of bytes that were copied.
    #[inline]
    pub fn pack(&self, user: UserPtr, count: u64, offset: u64, mut to: impl PackedTarget) -> usize {
        let (packed, len) = (to.addr(), to.len());
        self.transfer::<PackBlocks>(user, count, offset, packed, len)
    }

    /// Copies `from` into the user's buffer, as the packed bytes from `offset` on, until `from` or the message ends.
    /// Returns the number of bytes that were copied.
    #[inline]
    pub fn unpack(&self, user: UserPtr, count: u64, offset: u64, from: impl PackedSource) -> usize {
        self.transfer::<UnpackBlocks>(user, count, offset, from.addr().cast_mut(), from.len())
    }

    #[inline]
    fn transfer<D: CopyDirection>(&self, user: UserPtr, count: u64, offset: u64, packed: *mut u8, len: usize) -> usize {
        let len = (len as u64).min(self.packed_size(count).saturating_sub(offset));
        if len > 0 {
            let mut copier = RunCopier::<D> { user, packed, direction: PhantomData };
            self.walk(count, offset, offset + len, &mut copier);
        }
        len as usize
    }

    /// MPI_Pack: appends `count` elements at `position` of `out` and returns the new position.
    pub fn pack_at(&self, user: UserPtr, count: u64, out: UserMem, position: usize) -> Result<usize> {
        let remaining = memory_from(out, position)?;
        let size = self.packed_size(count);
        if size > remaining.len() as u64 {
            return Err(Error::new(
                Class::Truncate,
                format!(
                    "{size} bytes do not fit into the {} left in the pack buffer; MPI_Pack_size returns the size \
                     needed",
                    remaining.len()
                ),
            ));
        }
        Ok(position + self.pack(user, count, 0, remaining))
    }

    /// MPI_Unpack: takes `count` elements from `position` of `packed` and returns the new position.
    pub fn unpack_at(&self, packed: UserMem, position: usize, user: UserPtr, count: u64) -> Result<usize> {
        let rest = memory_from(packed, position)?;
        let size = self.packed_size(count);
        if size > rest.len() as u64 {
            return Err(Error::new(
                Class::Truncate,
                format!("{size} bytes are to be unpacked but only {} are left in the pack buffer", rest.len()),
            ));
        }
        Ok(position + self.unpack(user, count, 0, rest))
    }
}

/// Returns the memory from `position` on; an error if `position` is beyond the end of the buffer.
pub(crate) fn memory_from(buffer: UserMem<'_>, position: usize) -> Result<UserMem<'_>> {
    if position > buffer.len() {
        let text = format!("position {position} is beyond the end of the pack buffer of {} bytes", buffer.len());
        return Err(Error::new(Class::Arg, text));
    }
    Ok(buffer.slice(position, buffer.len() - position))
}

/// A message and the position up to which it has been packed or unpacked, for consecutive fragments. The place in the
/// layout that belongs to the position is not kept. Finding it again costs some 30 to 100 ns a fragment; a place that
/// is kept would have to be updated for every fragment that is copied without the cursor.
#[derive(Clone)]
pub struct PackCursor<'a> {
    datatype: Arc<Datatype>,
    user: UserPtr<'a>,
    count: u64,
    position: u64,
}

impl<'a> PackCursor<'a> {
    pub fn new(datatype: Arc<Datatype>, user: UserPtr<'a>, count: u64) -> PackCursor<'a> {
        PackCursor { datatype, user, count, position: 0 }
    }

    /// Packed bytes of the whole message.
    pub fn total(&self) -> u64 {
        self.datatype.packed_size(self.count)
    }

    pub fn position(&self) -> u64 {
        self.position
    }

    pub fn remaining(&self) -> u64 {
        self.total() - self.position
    }

    /// Moves to the packed offset `position`, or to the end if that is beyond it.
    pub fn seek(&mut self, position: u64) {
        self.position = position.min(self.total());
    }

    /// Packs the next bytes until `to` is full or the message ends; returns their number.
    #[inline]
    pub fn pack(&mut self, to: impl PackedTarget) -> usize {
        let n = self.datatype.pack(self.user, self.count, self.position, to);
        self.position += n as u64;
        n
    }

    /// Unpacks the next bytes until `from` or the message ends; returns their number.
    #[inline]
    pub fn unpack(&mut self, from: impl PackedSource) -> usize {
        let n = self.datatype.unpack(self.user, self.count, self.position, from);
        self.position += n as u64;
        n
    }
}
