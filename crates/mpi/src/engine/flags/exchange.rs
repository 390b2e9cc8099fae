//! An exchange is a step in which some members write their slots and some read slots that their call names.
//!
//! A writer fills its slot, raises the slot's flag and marks the slot as in use by its readers; a reader waits for
//! the flag of each source in turn. So a member that only writes continues at once, and a reader waits for its
//! sources alone. Flags and memory orders are those of `flags`: (A) for the contribution, (D) before a slot is
//! written again. A member that has waited for the flags of all others knows that all have entered this step, and so
//! have left the step before it. If every step is of this kind, no member ever reads the progress flags. Used by
//! `engine::slot_exchange`, `engine::shm`, `engine::schedule_run` and `collective::shm_wait`.

use super::{
    AtomicFlag, EXCHANGE, FlagArray, Members, Participant, Slot, StepPhase, StepResult, entered_progress, flag_value,
    left_progress,
};
use std::sync::atomic::Ordering::Release;

/// An exchange as a member's call describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExchangeSpec {
    /// The length of this member's contribution, in bytes; it is less than `BYTES_MAX`.
    pub bytes: u32,
    /// The members that may read this member's slot. If this is `Members::Empty`, this member writes nothing.
    pub readers: Members,
    /// The members whose slots this member reads. If this is `Members::All`, `SlotIo::source` must name each other
    /// member.
    pub sources: Members,
}

/// A slot that this member reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceSlot {
    pub member: usize,
    /// The length of `member`'s contribution, in bytes, as this member expects it.
    pub bytes: u32,
}

/// The data of an exchange.
pub trait SlotIo {
    /// Writes this member's contribution into its slot.
    fn write_slot(&mut self, slot: Slot);
    /// Returns the slot that is read by read number `index`; `None` if there are no more reads.
    fn source(&self, index: usize) -> Option<SourceSlot>;
    /// Copies the data of read number `index` out of `slot`.
    fn read_slot(&mut self, index: usize, slot: Slot);
}

impl Participant {
    /// Advances an exchange as far as possible without waiting. Returns the result when the exchange has ended for
    /// this member; `None` while it is in progress.
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
        // The owners of the slots that we have read may be waiting until we have left. Two members that read each
        // other's slots need no wake-up: the other member's slot is free as soon as that member sees our next flag.
        let is_pair = self.members == 2 && (step.readers, step.sources) == (Members::All, Members::All);
        flags.wake(if is_pair { Members::Empty } else { step.sources });
        self.epoch += 1;
    }
}
