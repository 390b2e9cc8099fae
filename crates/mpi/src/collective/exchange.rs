//! The data of an exchange: what the round of a schedule puts into the own slot and takes out of others'.
//!
//! Before it: `run`; after it: `flags::exchange`, `memory`, and the rooms of `host`.

use super::flags::exchange::{Exchange, Moves, Source};
use super::flags::{Slot, Whom};
use super::host::{self, SHORT_BYTES};
use super::memory::Memory;
use crate::ops::Reducer;
use hawser_base::SharedMem;
use hawser_coll::{Comm as Step, HostStep, Piece, Ranks};
use hawser_datatype::UserPtr;
use hawser_job::FlagBlock;

/// A round that is an exchange, with the memory of its run.
pub struct Traded<'a> {
    puts: &'a [Step],
    takes: &'a [Step],
    memory: &'a mut Memory,
    reducer: Option<&'a Reducer>,
    bytes: u32,
}

impl<'a> Traded<'a> {
    /// `None`: the round is none.
    pub fn of(
        round: &'a [Step],
        memory: &'a mut Memory,
        reducer: Option<&'a Reducer>,
    ) -> Option<(Exchange, Traded<'a>)> {
        let [Step::Host(HostStep::Exchange { gives, readers, sources }), steps @ ..] = round else { return None };
        let puts = steps.iter().take_while(|step| matches!(step, Step::Put { .. })).count();
        let (puts, takes) = steps.split_at(puts);
        let bytes = *gives as u32;
        let step = Exchange { bytes, readers: whom(*readers), sources: whom(*sources) };
        Some((step, Traded { puts, takes, memory, reducer, bytes }))
    }

    pub fn on<'b>(&'b mut self, block: &'b FlagBlock) -> impl Moves + use<'a, 'b> {
        OnBlock { traded: self, block }
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

struct OnBlock<'a, 'b> {
    traded: &'b mut Traded<'a>,
    block: &'b FlagBlock,
}

impl OnBlock<'_, '_> {
    /// The application's functions get memory aligned for their type, which a line's rest is not.
    fn room(&self, slot: Slot, bytes: u32) -> SharedMem {
        let short = bytes as usize <= SHORT_BYTES && self.traded.reducer.is_none_or(|it| it.predefined().is_some());
        host::room(self.block, slot, bytes as usize, short)
    }
}

impl Moves for OnBlock<'_, '_> {
    fn put(&mut self, slot: Slot) {
        let room = self.room(slot, self.traded.bytes);
        for step in self.traded.puts {
            let Step::Put { at, from } = step else { unreachable!("{step:?} among what is put") };
            self.traded.memory.piece(from).copy_out(room.slice(*at as usize, from.bytes as usize));
        }
    }

    fn source(&self, number: usize) -> Option<Source> {
        match self.traded.takes.get(number)? {
            Step::Take { slot, .. } | Step::Fold { slot, .. } => {
                Some(Source { member: slot.rank as usize, bytes: slot.bytes as u32 })
            }
            step => unreachable!("{step:?} among what is taken"),
        }
    }

    fn take(&mut self, number: usize, slot: Slot) {
        match &self.traded.takes[number] {
            Step::Take { slot: giver, at, into } => {
                let room = self.room(slot, giver.bytes as u32).slice(*at as usize, into.bytes as usize);
                self.traded.memory.piece(into).copy_in(room);
            }
            Step::Fold { slot: giver, at, into } => {
                let room = self.room(slot, giver.bytes as u32);
                let reducer = self.traded.reducer.expect("a reduction has an operation");
                let elements = self.traded.memory.elements(into);
                let datatype = self.traded.memory.element.as_deref().expect("a reduction has a type");
                let bytes = datatype.packed_size(into.count) as usize;
                let from = UserPtr::over(room.slice(*at as usize, bytes), datatype, into.count);
                reducer.apply(from, elements, into.count);
            }
            step => unreachable!("{step:?} among what is taken"),
        }
    }
}

impl Memory {
    /// A piece of a span as a message.
    fn piece(&mut self, piece: &Piece) -> crate::buffer::Buffer {
        let whole = self.buffer(&piece.span);
        if piece.skip == 0 && piece.bytes == whole.len() { whole } else { whole.part(piece.skip, piece.bytes) }
    }
}
