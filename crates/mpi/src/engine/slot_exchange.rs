//! The data of an exchange: what a call, or a round of a schedule, writes into its own slot and reads from others'
//! slots.
//!
//! A call with short equal blocks of a predefined datatype needs no schedule: `EqualBlocks` is its data. It lays out
//! the slots in the same way as the algorithm "host" of `coll`, so that other ranks of the same call, whose buffers
//! have gaps, can take part by a schedule. `ReduceScatterData` does the same for a short reduction of blocks. Used by
//! `schedule_run`, `shm` and `collective`; uses `flags`, `run_memory`, `shm`, `buffer` and `ops`.

use super::flags::exchange::{ExchangeSpec, SlotIo, SourceSlot};
use super::flags::{Members, Slot};
use super::run_memory::RunMemory;
use super::shm::{self, ReduceArgs, SHORT_BYTES};
use crate::buffer::BufferArg;
use crate::ops::Reducer;
use hawser_base::{SharedMem, UserMem};
use hawser_coll::select::{ALWAYS_SHM_BYTES, ONE_STEP_BYTES};
use hawser_coll::{CommStep, MemberSet, RankAndSize, ShmStep};
use hawser_datatype::UserPtr;
use hawser_job::FlagBlock;

/// The data of an exchange. An implementation knows no flags and no block; `write` and `read` get the memory of a
/// slot as an argument.
pub trait ExchangeData {
    /// Tells whether a contribution of `bytes` bytes lies in the cache line of its flag; otherwise it lies in the
    /// payload area.
    fn is_short(&self, bytes: u32) -> bool;
    fn send_bytes(&self) -> u32;
    fn write(&mut self, memory: SharedMem);
    fn source(&self, index: usize) -> Option<SourceSlot>;
    fn read(&mut self, index: usize, memory: SharedMem);
}

/// The data of an exchange, and the block that contains the slots.
pub struct SlotExchange<'a, T> {
    pub data: &'a mut T,
    pub block: &'a FlagBlock,
}

impl<'a, T: ExchangeData> SlotExchange<'a, T> {
    #[inline]
    fn slot_memory(&self, slot: Slot, bytes: u32) -> SharedMem<'a> {
        shm::slot_memory(self.block, slot, bytes as usize, self.data.is_short(bytes))
    }
}

impl<T: ExchangeData> SlotIo for SlotExchange<'_, T> {
    #[inline]
    fn write_slot(&mut self, slot: Slot) {
        let memory = self.slot_memory(slot, self.data.send_bytes());
        self.data.write(memory);
    }

    #[inline]
    fn source(&self, index: usize) -> Option<SourceSlot> {
        self.data.source(index)
    }

    #[inline]
    fn read_slot(&mut self, index: usize, slot: Slot) {
        let source = self.data.source(index).expect("what is read has a source");
        let memory = self.slot_memory(slot, source.bytes);
        self.data.read(index, memory);
    }
}

/// The data of an exchange that is a round of a schedule: the round's steps, and the memory of the run.
pub struct RoundData<'a> {
    put_steps: &'a [CommStep],
    take_steps: &'a [CommStep],
    memory: &'a mut RunMemory,
    reducer: Option<&'a Reducer>,
    send_bytes: u32,
}

impl<'a> RoundData<'a> {
    /// Returns the description and the data of a round; `None` if the round is no exchange.
    pub fn of(
        round: &'a [CommStep],
        memory: &'a mut RunMemory,
        reducer: Option<&'a Reducer>,
    ) -> Option<(ExchangeSpec, RoundData<'a>)> {
        let [CommStep::Shm(ShmStep::Exchange { slot_bytes: gives, readers, sources }), steps @ ..] = round else {
            return None;
        };
        let put_steps = steps.iter().take_while(|step| matches!(step, CommStep::WriteSlot { .. })).count();
        let (put_steps, take_steps) = steps.split_at(put_steps);
        let send_bytes = *gives as u32;
        let step = ExchangeSpec { bytes: send_bytes, readers: members_from(*readers), sources: members_from(*sources) };
        Some((step, RoundData { put_steps, take_steps, memory, reducer, send_bytes }))
    }
}

const fn members_from(ranks: MemberSet) -> Members {
    match ranks {
        MemberSet::Empty => Members::Empty,
        MemberSet::One(rank) => Members::One(rank as usize),
        MemberSet::Below => Members::Below,
        MemberSet::Above => Members::Above,
        MemberSet::All => Members::All,
    }
}

impl ExchangeData for RoundData<'_> {
    /// A function of the application must get memory that is aligned for its datatype. The bytes behind the flag in a
    /// cache line are not aligned, so only predefined operations use them.
    fn is_short(&self, bytes: u32) -> bool {
        bytes as usize <= SHORT_BYTES && self.reducer.is_none_or(|reducer| reducer.predefined().is_some())
    }

    fn send_bytes(&self) -> u32 {
        self.send_bytes
    }

    fn write(&mut self, memory: SharedMem) {
        for step in self.put_steps {
            let CommStep::WriteSlot { at, from } = step else { unreachable!("{step:?} among the writes") };
            let from = self.memory.buffer(from);
            from.copy_out(memory.slice(*at as usize, from.len() as usize));
        }
    }

    fn source(&self, index: usize) -> Option<SourceSlot> {
        match self.take_steps.get(index)? {
            CommStep::ReadSlot { slot, .. } | CommStep::ReduceSlot { slot, .. } => {
                Some(SourceSlot { member: slot.rank as usize, bytes: slot.bytes as u32 })
            }
            step => unreachable!("{step:?} among the reads"),
        }
    }

    fn read(&mut self, index: usize, memory: SharedMem) {
        match &self.take_steps[index] {
            CommStep::ReadSlot { at, into, .. } => {
                let into = self.memory.buffer(into);
                into.copy_in(memory.slice(*at as usize, into.len() as usize));
            }
            CommStep::ReduceSlot { at, into, .. } => {
                let reducer = self.reducer.expect("a reduction has an operation");
                let elements = self.memory.elements(into);
                let datatype = self.memory.element.as_deref().expect("a reduction has a type");
                let bytes = datatype.packed_size(into.count) as usize;
                let from = UserPtr::over(memory.slice(*at as usize, bytes), datatype, into.count);
                reducer.apply(from, elements, into.count);
            }
            step => unreachable!("{step:?} among the reads"),
        }
    }
}

/// The data of a short MPI_Reduce_scatter or MPI_Reduce_scatter_block. As in the algorithm "host_parts" of `coll`,
/// each rank reduces its own block of all slots, from the last rank down to the first.
pub struct ReduceScatterData<'a> {
    pub rank_and_size: RankAndSize,
    /// This rank's contribution, which is a block for each rank.
    pub send: UserMem<'static>,
    /// The offset of this rank's own block in each contribution, in bytes.
    pub at: usize,
    /// The memory of the result, and the address of its elements.
    pub result: UserMem<'static>,
    pub elements: UserPtr<'static>,
    pub reduce_args: ReduceArgs<'a>,
}

impl ReduceScatterData<'_> {
    pub fn exchange(&self) -> ExchangeSpec {
        let sources = if self.result.is_empty() { Members::Empty } else { Members::All };
        ExchangeSpec { bytes: self.send_bytes(), readers: Members::All, sources }
    }
}

impl ExchangeData for ReduceScatterData<'_> {
    fn is_short(&self, bytes: u32) -> bool {
        bytes as usize <= SHORT_BYTES && self.reduce_args.reducer.predefined().is_some()
    }

    fn send_bytes(&self) -> u32 {
        self.send.len() as u32
    }

    fn write(&mut self, memory: SharedMem) {
        memory.write_user(self.send);
    }

    /// Names all ranks from the last down to the first, this rank included.
    fn source(&self, index: usize) -> Option<SourceSlot> {
        let size = self.rank_and_size.size as usize;
        let has = index < size && !self.result.is_empty();
        has.then(|| SourceSlot { member: size - 1 - index, bytes: self.send_bytes() })
    }

    fn read(&mut self, index: usize, memory: SharedMem) {
        let (from, ReduceArgs { reducer, datatype, count }) =
            (memory.slice(self.at, self.result.len()), self.reduce_args);
        match index {
            0 => from.read_user(self.result),
            _ => reducer.apply(UserPtr::over(from, datatype, count), self.elements, count),
        }
    }
}

/// The collective that exchanges the blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockPattern {
    Allgather,
    Alltoall,
    Gather { root: u32 },
    Scatter { root: u32 },
}

impl BlockPattern {
    pub fn is_rooted(&self) -> bool {
        matches!(self, BlockPattern::Gather { .. } | BlockPattern::Scatter { .. })
    }
}

/// The data of a short call with equal blocks.
pub struct EqualBlocks {
    pattern: BlockPattern,
    rank_and_size: RankAndSize,
    /// The bytes of a block.
    bytes: usize,
    /// The buffers of the call: one block or a block for each rank, depending on the pattern. `EMPTY` if the rank has
    /// no such buffer.
    send: UserMem<'static>,
    recv: UserMem<'static>,
}

/// Returns the memory of `ranks` adjoining blocks, each as long as `buf`; `None` if the datatype is not predefined or
/// has gaps, the blocks are empty, or an argument is wrong (`BufferArg::contiguous_memory`).
fn all_blocks(buf: &BufferArg, ranks: u32) -> Option<UserMem<'static>> {
    BufferArg { count: buf.count.checked_mul(ranks.into())?, ..*buf }.contiguous_memory()
}

impl EqualBlocks {
    /// Makes the data of a call. Returns `None` if the call needs the path with a schedule, which checks the
    /// arguments and reports errors: its blocks are too long or empty, the datatype is not predefined or has gaps,
    /// the call is in place, or an argument is wrong.
    #[inline]
    pub fn of(
        pattern: BlockPattern,
        place: RankAndSize,
        send: Option<&BufferArg>,
        recv: Option<&BufferArg>,
    ) -> Option<EqualBlocks> {
        let (rank, size) = (place.rank, place.size);
        let memory = |buf: Option<&BufferArg>, ranks| all_blocks(buf?, ranks);
        let (send, recv) = match pattern {
            BlockPattern::Allgather => (memory(send, 1)?, memory(recv, size)?),
            BlockPattern::Alltoall => (memory(send, size)?, memory(recv, size)?),
            BlockPattern::Gather { root } if root != rank => (memory(send, 1)?, UserMem::EMPTY),
            BlockPattern::Gather { .. } => (memory(send, 1)?, memory(recv, size)?),
            BlockPattern::Scatter { root } if root != rank => (UserMem::EMPTY, memory(recv, 1)?),
            BlockPattern::Scatter { .. } => (memory(send, size)?, memory(recv, 1)?),
        };
        let all = size as usize;
        let (bytes, fits) = match pattern {
            BlockPattern::Allgather => (send.len(), send.len() * all == recv.len()),
            BlockPattern::Alltoall => (send.len() / all, send.len() == recv.len()),
            BlockPattern::Gather { .. } => (send.len(), recv.is_empty() || send.len() * all == recv.len()),
            BlockPattern::Scatter { .. } => (recv.len(), send.is_empty() || recv.len() * all == send.len()),
        };
        let blocks = EqualBlocks { pattern, rank_and_size: place, bytes, send, recv };
        // A block that is longer may be planned with messages (`ALWAYS_SHM_BYTES`).
        let max_bytes = if pattern.is_rooted() { ALWAYS_SHM_BYTES } else { ONE_STEP_BYTES };
        let is_short = bytes as u64 <= max_bytes && (bytes * all) as u64 <= ONE_STEP_BYTES;
        (fits && is_short && !blocks.is_aliased()).then_some(blocks)
    }

    /// Tells whether the block of this rank for itself has the same address in both buffers. MPI forbids that, and
    /// the path that checks the arguments reports it.
    fn is_aliased(&self) -> bool {
        !self.send.is_empty() && !self.recv.is_empty() && self.own_send().as_ptr() == self.own_recv().as_ptr()
    }

    fn own_send(&self) -> UserMem<'static> {
        match self.pattern {
            BlockPattern::Allgather | BlockPattern::Gather { .. } => self.send,
            BlockPattern::Alltoall | BlockPattern::Scatter { .. } => self.block(self.send, self.rank_and_size.rank),
        }
    }

    fn own_recv(&self) -> UserMem<'static> {
        match self.pattern {
            BlockPattern::Allgather | BlockPattern::Gather { .. } | BlockPattern::Alltoall => {
                self.block(self.recv, self.rank_and_size.rank)
            }
            BlockPattern::Scatter { .. } => self.recv,
        }
    }

    fn block(&self, all: UserMem<'static>, rank: u32) -> UserMem<'static> {
        all.slice(rank as usize * self.bytes, self.bytes)
    }

    pub fn exchange(&self) -> ExchangeSpec {
        let rank = self.rank_and_size.rank;
        let (readers, sources) = match self.pattern {
            BlockPattern::Allgather | BlockPattern::Alltoall => (Members::All, Members::All),
            BlockPattern::Gather { root } if root == rank => (Members::Empty, Members::All),
            BlockPattern::Gather { root } => (Members::One(root as usize), Members::Empty),
            BlockPattern::Scatter { root } if root == rank => (Members::All, Members::Empty),
            BlockPattern::Scatter { root } => (Members::Empty, Members::One(root as usize)),
        };
        ExchangeSpec { bytes: if readers == Members::Empty { 0 } else { self.send_bytes() }, readers, sources }
    }

    /// Copies the block of this rank for itself from the send buffer to the receive buffer, if the rank has both.
    #[inline]
    pub fn copy_own_block(&self) {
        if !self.send.is_empty() && !self.recv.is_empty() {
            self.own_recv().copy_from(self.own_send());
        }
    }
}

impl ExchangeData for EqualBlocks {
    #[inline]
    fn is_short(&self, bytes: u32) -> bool {
        bytes as usize <= SHORT_BYTES
    }

    /// The length of a contribution, in bytes, which is the same for all members that contribute.
    #[inline]
    fn send_bytes(&self) -> u32 {
        match self.pattern {
            BlockPattern::Allgather | BlockPattern::Gather { .. } => self.bytes as u32,
            BlockPattern::Alltoall | BlockPattern::Scatter { .. } => self.bytes as u32 * (self.rank_and_size.size - 1),
        }
    }

    #[inline]
    fn write(&mut self, memory: SharedMem) {
        match self.pattern {
            BlockPattern::Allgather | BlockPattern::Gather { .. } => memory.write_user(self.send),
            BlockPattern::Alltoall | BlockPattern::Scatter { .. } => {
                for i in 1..self.rank_and_size.size {
                    let block = self.block(self.send, self.rank_and_size.after(i));
                    memory.slice((i as usize - 1) * self.bytes, self.bytes).write_user(block);
                }
            }
        }
    }

    #[inline]
    fn source(&self, index: usize) -> Option<SourceSlot> {
        let RankAndSize { rank, size } = self.rank_and_size;
        let member = match self.pattern {
            BlockPattern::Gather { root } if root != rank => None,
            BlockPattern::Scatter { root } => (index == 0 && root != rank).then_some(root),
            _ => (index + 1 < size as usize).then(|| self.rank_and_size.after(index as u32 + 1)),
        };
        member.map(|member| SourceSlot { member: member as usize, bytes: self.send_bytes() })
    }

    #[inline]
    fn read(&mut self, index: usize, memory: SharedMem) {
        let from = self.rank_and_size.after(index as u32 + 1);
        let (at, into) = match self.pattern {
            BlockPattern::Allgather | BlockPattern::Gather { .. } => (0, self.block(self.recv, from)),
            BlockPattern::Alltoall => (self.rank_and_size.size as usize - index - 2, self.block(self.recv, from)),
            BlockPattern::Scatter { root } => (self.rank_and_size.before(root) as usize - 1, self.recv),
        };
        memory.slice(at * self.bytes, self.bytes).read_user(into);
    }
}
