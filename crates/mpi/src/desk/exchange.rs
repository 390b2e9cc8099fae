//! The data of an exchange: what a call, or a round of a schedule, writes into its own slot and reads from others'.
//!
//! Short equal blocks, each in one run, need no schedule: `Even` lays slots out as the rows "host" of `coll` do, so
//! that it is compatible with ranks whose buffers are less plain; `Shares` is the same for a reduction of blocks. Used
//! by `run`, and by `movement` and `reductions` for short data; uses `flags::exchange`, `memory`, and the payload areas
//! of `host`.

use super::flags::exchange::{Exchange, Moves, Source};
use super::flags::{Slot, Whom};
use super::host::{self, Folding, SHORT_BYTES};
use super::memory::Memory;
use crate::buffer::Buf;
use crate::ops::Reducer;
use hawser_base::{SharedMem, UserMem};
use hawser_coll::select::ALWAYS_BY_FLAGS;
use hawser_coll::{Comm as Step, HostStep, Place, Ranks};
use hawser_datatype::UserPtr;
use hawser_job::FlagBlock;

/// The data of an exchange, without knowledge of the block.
pub trait Trade {
    /// Tells whether slots of `bytes` lie in their flags' lines.
    fn is_short(&self, bytes: u32) -> bool;
    fn given(&self) -> u32;
    fn put(&mut self, room: SharedMem);
    fn source(&self, number: usize) -> Option<Source>;
    fn take(&mut self, number: usize, room: SharedMem);
}

/// An exchange's data at a block.
pub struct OnBlock<'a, T> {
    pub trade: &'a mut T,
    pub block: &'a FlagBlock,
}

impl<'a, T: Trade> OnBlock<'a, T> {
    #[inline]
    fn room(&self, slot: Slot, bytes: u32) -> SharedMem<'a> {
        host::room(self.block, slot, bytes as usize, self.trade.is_short(bytes))
    }
}

impl<T: Trade> Moves for OnBlock<'_, T> {
    #[inline]
    fn put(&mut self, slot: Slot) {
        let room = self.room(slot, self.trade.given());
        self.trade.put(room);
    }

    #[inline]
    fn source(&self, number: usize) -> Option<Source> {
        self.trade.source(number)
    }

    #[inline]
    fn take(&mut self, number: usize, slot: Slot) {
        let source = self.trade.source(number).expect("what is taken has a source");
        let room = self.room(slot, source.bytes);
        self.trade.take(number, room);
    }
}

/// A round of a schedule, with the memory of its run.
pub struct Round<'a> {
    puts: &'a [Step],
    takes: &'a [Step],
    memory: &'a mut Memory,
    reducer: Option<&'a Reducer>,
    given: u32,
}

impl<'a> Round<'a> {
    /// Returns the round as an exchange; `None` if it is none.
    pub fn of(
        round: &'a [Step],
        memory: &'a mut Memory,
        reducer: Option<&'a Reducer>,
    ) -> Option<(Exchange, Round<'a>)> {
        let [Step::Host(HostStep::Exchange { gives, readers, sources }), steps @ ..] = round else { return None };
        let puts = steps.iter().take_while(|step| matches!(step, Step::Put { .. })).count();
        let (puts, takes) = steps.split_at(puts);
        let given = *gives as u32;
        let step = Exchange { bytes: given, readers: whom(*readers), sources: whom(*sources) };
        Some((step, Round { puts, takes, memory, reducer, given }))
    }
}

const fn whom(ranks: Ranks) -> Whom {
    match ranks {
        Ranks::Nobody => Whom::Nobody,
        Ranks::One(rank) => Whom::One(rank as usize),
        Ranks::Below => Whom::Below,
        Ranks::Above => Whom::Above,
        Ranks::All => Whom::All,
    }
}

impl Trade for Round<'_> {
    /// The application's functions get memory aligned for their type, which a line's rest is not.
    fn is_short(&self, bytes: u32) -> bool {
        bytes as usize <= SHORT_BYTES && self.reducer.is_none_or(|reducer| reducer.predefined().is_some())
    }

    fn given(&self) -> u32 {
        self.given
    }

    fn put(&mut self, room: SharedMem) {
        for step in self.puts {
            let Step::Put { at, from } = step else { unreachable!("{step:?} among what is put") };
            let from = self.memory.buffer(from);
            from.copy_out(room.slice(*at as usize, from.len() as usize));
        }
    }

    fn source(&self, number: usize) -> Option<Source> {
        match self.takes.get(number)? {
            Step::Take { slot, .. } | Step::Fold { slot, .. } => {
                Some(Source { member: slot.rank as usize, bytes: slot.bytes as u32 })
            }
            step => unreachable!("{step:?} among what is taken"),
        }
    }

    fn take(&mut self, number: usize, room: SharedMem) {
        match &self.takes[number] {
            Step::Take { at, into, .. } => {
                let into = self.memory.buffer(into);
                into.copy_in(room.slice(*at as usize, into.len() as usize));
            }
            Step::Fold { at, into, .. } => {
                let reducer = self.reducer.expect("a reduction has an operation");
                let elements = self.memory.elements(into);
                let datatype = self.memory.element.as_deref().expect("a reduction has a type");
                let bytes = datatype.packed_size(into.count) as usize;
                let from = UserPtr::over(room.slice(*at as usize, bytes), datatype, into.count);
                reducer.apply(from, elements, into.count);
            }
            step => unreachable!("{step:?} among what is taken"),
        }
    }
}

/// A short reduction of blocks to their ranks, as the row "host_parts" has it: from the last rank down to the first.
pub struct Shares<'a> {
    pub place: Place,
    /// All blocks of this rank, and the offset of its own one in bytes.
    pub send: UserMem<'static>,
    pub at: usize,
    /// The place of the result, as memory and as elements.
    pub result: UserMem<'static>,
    pub elements: UserPtr<'static>,
    pub folding: Folding<'a>,
}

impl Shares<'_> {
    pub fn exchange(&self) -> Exchange {
        let sources = if self.result.is_empty() { Whom::Nobody } else { Whom::All };
        Exchange { bytes: self.given(), readers: Whom::All, sources }
    }
}

impl Trade for Shares<'_> {
    fn is_short(&self, bytes: u32) -> bool {
        bytes as usize <= SHORT_BYTES && self.folding.reducer.predefined().is_some()
    }

    fn given(&self) -> u32 {
        self.send.len() as u32
    }

    fn put(&mut self, room: SharedMem) {
        room.write_user(self.send);
    }

    /// The reads include this rank's own slot.
    fn source(&self, number: usize) -> Option<Source> {
        let size = self.place.size as usize;
        let has = number < size && !self.result.is_empty();
        has.then(|| Source { member: size - 1 - number, bytes: self.given() })
    }

    fn take(&mut self, number: usize, room: SharedMem) {
        let (from, Folding { reducer, datatype, count }) = (room.slice(self.at, self.result.len()), self.folding);
        match number {
            0 => from.read_user(self.result),
            _ => reducer.apply(UserPtr::over(from, datatype, count), self.elements, count),
        }
    }
}

/// The pattern of the blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    Allgather,
    Alltoall,
    Gather { root: u32 },
    Scatter { root: u32 },
}

/// A short call with equal blocks.
pub struct Even {
    pattern: Pattern,
    place: Place,
    /// The bytes of a block.
    bytes: usize,
    /// All blocks, or the own one, as the pattern has it; `EMPTY` where the rank has none.
    send: UserMem<'static>,
    recv: UserMem<'static>,
}

/// A block for each of `ranks` ranks.
fn all_blocks(buf: &Buf, ranks: u32) -> Option<UserMem<'static>> {
    Buf { count: buf.count.checked_mul(ranks.into())?, ..*buf }.lean_memory()
}

impl Even {
    /// Makes the call's data; `None`: too long, not in one run, in place, or wrong, which the checked path reports.
    #[inline]
    pub fn of(pattern: Pattern, place: Place, send: Option<&Buf>, recv: Option<&Buf>) -> Option<Even> {
        let (rank, size) = (place.rank, place.size);
        let memory = |buf: Option<&Buf>, ranks| all_blocks(buf?, ranks);
        let (send, recv) = match pattern {
            Pattern::Allgather => (memory(send, 1)?, memory(recv, size)?),
            Pattern::Alltoall => (memory(send, size)?, memory(recv, size)?),
            Pattern::Gather { root } if root != rank => (memory(send, 1)?, UserMem::EMPTY),
            Pattern::Gather { .. } => (memory(send, 1)?, memory(recv, size)?),
            Pattern::Scatter { root } if root != rank => (UserMem::EMPTY, memory(recv, 1)?),
            Pattern::Scatter { .. } => (memory(send, size)?, memory(recv, 1)?),
        };
        let all = size as usize;
        let (bytes, fits) = match pattern {
            Pattern::Allgather => (send.len(), send.len() * all == recv.len()),
            Pattern::Alltoall => (send.len() / all, send.len() == recv.len()),
            Pattern::Gather { .. } => (send.len(), recv.is_empty() || send.len() * all == recv.len()),
            Pattern::Scatter { .. } => (recv.len(), send.is_empty() || recv.len() * all == send.len()),
        };
        let even = Even { pattern, place, bytes, send, recv };
        let is_short = (bytes * all) as u64 <= ALWAYS_BY_FLAGS;
        (fits && is_short && !even.is_aliased()).then_some(even)
    }

    /// Tells whether a rank's own block lies in place already.
    fn is_aliased(&self) -> bool {
        !self.send.is_empty() && !self.recv.is_empty() && self.own_send().as_ptr() == self.own_recv().as_ptr()
    }

    fn own_send(&self) -> UserMem<'static> {
        match self.pattern {
            Pattern::Allgather | Pattern::Gather { .. } => self.send,
            Pattern::Alltoall | Pattern::Scatter { .. } => self.block(self.send, self.place.rank),
        }
    }

    fn own_recv(&self) -> UserMem<'static> {
        match self.pattern {
            Pattern::Allgather | Pattern::Gather { .. } | Pattern::Alltoall => self.block(self.recv, self.place.rank),
            Pattern::Scatter { .. } => self.recv,
        }
    }

    fn block(&self, all: UserMem<'static>, rank: u32) -> UserMem<'static> {
        all.slice(rank as usize * self.bytes, self.bytes)
    }

    pub fn exchange(&self) -> Exchange {
        let rank = self.place.rank;
        let (readers, sources) = match self.pattern {
            Pattern::Allgather | Pattern::Alltoall => (Whom::All, Whom::All),
            Pattern::Gather { root } if root == rank => (Whom::Nobody, Whom::All),
            Pattern::Gather { root } => (Whom::One(root as usize), Whom::Nobody),
            Pattern::Scatter { root } if root == rank => (Whom::All, Whom::Nobody),
            Pattern::Scatter { root } => (Whom::Nobody, Whom::One(root as usize)),
        };
        Exchange { bytes: if readers == Whom::Nobody { 0 } else { self.given() }, readers, sources }
    }

    /// Copies the rank's own block to its place.
    #[inline]
    pub fn keep_own(&self) {
        if !self.send.is_empty() && !self.recv.is_empty() {
            self.own_recv().copy_from(self.own_send());
        }
    }
}

impl Trade for Even {
    #[inline]
    fn is_short(&self, bytes: u32) -> bool {
        bytes as usize <= SHORT_BYTES
    }

    /// The same for all members that contribute.
    #[inline]
    fn given(&self) -> u32 {
        match self.pattern {
            Pattern::Allgather | Pattern::Gather { .. } => self.bytes as u32,
            Pattern::Alltoall | Pattern::Scatter { .. } => self.bytes as u32 * (self.place.size - 1),
        }
    }

    #[inline]
    fn put(&mut self, room: SharedMem) {
        match self.pattern {
            Pattern::Allgather | Pattern::Gather { .. } => room.write_user(self.send),
            Pattern::Alltoall | Pattern::Scatter { .. } => {
                for i in 1..self.place.size {
                    let block = self.block(self.send, self.place.after(i));
                    room.slice((i as usize - 1) * self.bytes, self.bytes).write_user(block);
                }
            }
        }
    }

    #[inline]
    fn source(&self, number: usize) -> Option<Source> {
        let Place { rank, size } = self.place;
        let member = match self.pattern {
            Pattern::Gather { root } if root != rank => None,
            Pattern::Scatter { root } => (number == 0 && root != rank).then_some(root),
            _ => (number + 1 < size as usize).then(|| self.place.after(number as u32 + 1)),
        };
        member.map(|member| Source { member: member as usize, bytes: self.given() })
    }

    #[inline]
    fn take(&mut self, number: usize, room: SharedMem) {
        let from = self.place.after(number as u32 + 1);
        let (at, into) = match self.pattern {
            Pattern::Allgather | Pattern::Gather { .. } => (0, self.block(self.recv, from)),
            Pattern::Alltoall => (self.place.size as usize - number - 2, self.block(self.recv, from)),
            Pattern::Scatter { root } => (self.place.before(root) as usize - 1, self.recv),
        };
        room.slice(at * self.bytes, self.bytes).read_user(into);
    }
}
