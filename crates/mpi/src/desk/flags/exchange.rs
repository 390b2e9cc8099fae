//! Exchanges: a step in which some members give and some take, each from slots that its call names.
//!
//! A giver writes its slot, raises its flag and lends the slot to its readers; a taker waits for each flag in turn. So who
//! only gives goes on at once, and who takes waits for its givers alone. Words and orders are those of `flags`: (A) for the
//! contribution, (D) before a slot is written again. Who waits for all others' flags knows besides that all have entered
//! this step, hence left the one before: where every step is like that nobody looks at progress.

use super::{Board, EXCHANGE, Ended, Phase, Seat, Slot, Whom, Word, entered, flag_of, left};
use std::sync::atomic::Ordering::Release;

/// An exchange as a member's call describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exchange {
    /// Bytes that this member gives, below `BYTES_MAX`.
    pub bytes: u32,
    /// Who may take from this member's slot; it gives nothing if nobody may.
    pub readers: Whom,
    /// From whom it takes. `All`: its takings name each other member.
    pub sources: Whom,
}

/// Where a taking takes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    pub member: usize,
    /// What that member gives.
    pub bytes: u32,
}

/// The data of an exchange.
pub trait Moves {
    /// Writes this member's contribution into its slot.
    fn put(&mut self, slot: Slot);
    /// The taking of this number, if there are so many.
    fn source(&self, number: usize) -> Option<Source>;
    /// Takes it out of its slot.
    fn take(&mut self, number: usize, slot: Slot);
}

impl Seat {
    /// As `poll`.
    #[inline]
    pub fn exchange(
        &mut self,
        phase: &mut Phase,
        step: &Exchange,
        board: &impl Board,
        moves: &mut impl Moves,
    ) -> Option<Ended> {
        if *phase == Phase::Enter {
            board.progress(self.me).store(entered(self.epoch), Release); // partner: `behind`
            *phase = Phase::Claim;
        }
        if *phase == Phase::Claim {
            if step.readers != Whom::Nobody {
                let slot = self.claim(board)?;
                moves.put(slot);
                board.slot(self.me, slot.parity).store(flag_of(self.epoch, EXCHANGE, step.bytes), Release); // (A)
                self.lend(step.readers);
                board.wake(step.readers);
            }
            *phase = Phase::Fold(0);
        }
        let Phase::Fold(first) = *phase else { unreachable!("{phase:?} of an exchange") };
        let mut ended = Ended::Well;
        for number in first.. {
            let Some(source) = moves.source(number) else { break };
            *phase = Phase::Fold(number);
            if self.raised(source.member, board)?.0 != flag_of(self.epoch, EXCHANGE, source.bytes) {
                ended = Ended::Mismatch;
                break;
            }
            moves.take(number, self.of(source.member));
        }
        self.leave_exchange(step, board, ended);
        Some(ended)
    }

    fn leave_exchange(&mut self, step: &Exchange, board: &impl Board, ended: Ended) {
        board.progress(self.me).store(left(self.epoch), Release); // (D)
        if step.sources == Whom::All && ended == Ended::Well {
            self.all_left = self.epoch - 1;
        }
        // Those whose slots we read may come to wait until we have left. In a pair nobody needs it: the other's slot is
        // free once it sees our next flag.
        let is_pair = self.members == 2 && (step.readers, step.sources) == (Whom::All, Whom::All);
        board.wake(if is_pair { Whom::Nobody } else { step.sources });
        self.epoch += 1;
    }
}
