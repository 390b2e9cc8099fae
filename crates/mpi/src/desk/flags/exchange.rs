//! An exchange is a step in which some members write their slots and some read slots that their call names.
//!
//! A writer fills its slot, raises its flag and lends the slot to its readers; a reader waits for each source's flag in
//! turn. So a member that only writes continues at once, and a reader waits for its sources alone. Words and memory
//! orders are those of `flags`: (A) for the contribution, (D) before a slot is written again. A member that has waited
//! for all others' flags knows that all have entered this step, and so have left the one before: where every step is
//! like that, no member reads the progress words. Used by `desk::exchange` and `desk::host`.

use super::{Board, EXCHANGE, Ended, Phase, Seat, Slot, Whom, Word, entered, flag_of, left};
use std::sync::atomic::Ordering::Release;

/// An exchange as a member's call describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exchange {
    /// Bytes that this member contributes, below `BYTES_MAX`.
    pub bytes: u32,
    /// The members that may read this member's slot; if none may, nothing is written.
    pub readers: Whom,
    /// The members whose slots this one reads. `All`: `Moves::source` names each other member.
    pub sources: Whom,
}

/// The slot that a read takes its data from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    pub member: usize,
    /// The bytes of that member's contribution.
    pub bytes: u32,
}

/// The data of an exchange.
pub trait Moves {
    /// Writes this member's contribution into its slot.
    fn put(&mut self, slot: Slot);
    /// The read of this number, if there is one.
    fn source(&self, number: usize) -> Option<Source>;
    /// Copies its data out of the slot.
    fn take(&mut self, number: usize, slot: Slot);
}

impl Seat {
    /// Advances an exchange, as `poll` does a step.
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
        // The owners of the slots that we read may come to wait until we have left. In a pair neither needs it: the
        // other's slot is free once it sees our next flag.
        let is_pair = self.members == 2 && (step.readers, step.sources) == (Whom::All, Whom::All);
        board.wake(if is_pair { Whom::Nobody } else { step.sources });
        self.epoch += 1;
    }
}
