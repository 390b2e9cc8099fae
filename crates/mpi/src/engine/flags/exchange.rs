//! An exchange is a step in which some members write their slots and some read slots that their call names.
//!
//! A writer fills its slot, raises its flag and marks the slot as in use by its readers; a reader waits for each
//! source's flag in turn. So a member that only writes continues at once, and a reader waits for its sources alone.
//! Flags and memory orders are those of `flags`: (A) for the contribution, (D) before a slot is written again. A
//! member that has waited for all others' flags knows that all have entered this step, and so have left the one
//! before: where every step is like that, no member reads the progress flags. Used by `engine::slot_exchange` and
//! `engine::shm`.

use super::{
    AtomicFlag, EXCHANGE, FlagArray, Members, Participant, Slot, StepPhase, StepResult, entered_progress, flag_value,
    left_progress,
};
use std::sync::atomic::Ordering::Release;

/// An exchange as a member's call describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExchangeSpec {
    /// Bytes that this member contributes, below `BYTES_MAX`.
    pub bytes: u32,
    /// The members that may read this member's slot; if none may, nothing is written.
    pub readers: Members,
    /// The members whose slots this one reads. `All`: `SlotIo::source` names each other member.
    pub sources: Members,
}

/// The slot that a read takes its data from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceSlot {
    pub member: usize,
    /// The bytes of that member's contribution.
    pub bytes: u32,
}

/// The data of an exchange.
pub trait SlotIo {
    /// Writes this member's contribution into its slot.
    fn write_slot(&mut self, slot: Slot);
    /// The source of the read with this index, if there is such a read.
    fn source(&self, index: usize) -> Option<SourceSlot>;
    /// Copies the data of that read out of the slot.
    fn read_slot(&mut self, index: usize, slot: Slot);
}

impl Participant {
    /// Advances an exchange, as `poll` does a step.
    #[inline]
    pub fn exchange(
        &mut self,
        phase: &mut StepPhase,
        step: &ExchangeSpec,
        flags: &impl FlagArray,
        slot_io: &mut impl SlotIo,
    ) -> Option<StepResult> {
        if *phase == StepPhase::Enter {
            flags.progress(self.me).store(entered_progress(self.epoch), Release); // partner: `lagging_member`
            *phase = StepPhase::Claim;
        }
        if *phase == StepPhase::Claim {
            if step.readers != Members::Empty {
                let slot = self.claim_slot(flags)?;
                slot_io.write_slot(slot);
                flags.slot(self.me, slot.parity).store(flag_value(self.epoch, EXCHANGE, step.bytes), Release); // (A)
                self.mark_in_use(step.readers);
                flags.wake(step.readers);
            }
            *phase = StepPhase::Read(0);
        }
        let StepPhase::Read(first) = *phase else { unreachable!("{phase:?} of an exchange") };
        let mut result = StepResult::Complete;
        for index in first.. {
            let Some(source) = slot_io.source(index) else { break };
            *phase = StepPhase::Read(index);
            if self.seen_flag(source.member, flags)?.0 != flag_value(self.epoch, EXCHANGE, source.bytes) {
                result = StepResult::Mismatch;
                break;
            }
            slot_io.read_slot(index, self.current_slot(source.member));
        }
        self.leave_exchange(step, flags, result);
        Some(result)
    }

    fn leave_exchange(&mut self, step: &ExchangeSpec, flags: &impl FlagArray, result: StepResult) {
        flags.progress(self.me).store(left_progress(self.epoch), Release); // (D)
        if step.sources == Members::All && result == StepResult::Complete {
            self.all_left = self.epoch - 1;
        }
        // The owners of the slots that we read may come to wait until we have left. In a pair neither needs it: the
        // other's slot is free once it sees our next flag.
        let is_pair = self.members == 2 && (step.readers, step.sources) == (Members::All, Members::All);
        flags.wake(if is_pair { Members::Empty } else { step.sources });
        self.epoch += 1;
    }
}
