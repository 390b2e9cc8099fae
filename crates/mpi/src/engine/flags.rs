//! The protocol of shm steps: barrier, broadcast, reduction and exchange by flags in shared memory.
//!
//! All members execute the same steps in the same order; steps are numbered by `epoch`, one after the other. Each
//! member has two *slots* (for even and odd epochs), each with a flag and memory for data. To contribute, a member
//! writes its slot and then raises the slot's flag. Nothing here ever blocks: `Participant::poll` returns `Some`
//! when the step has ended, and its caller decides how to wait. The code is generic over the flags, so that the
//! model checker walks it (`tests/flags_loom.rs`). Used by `engine::shm`.
//!
//! - *pair* (two members, short data): each raises its flag and reads the other's; both compute the result.
//! - *central*: the contributions are counted in one flag; the last member to arrive reduces them in rank order,
//!   slot into slot, and raises the generation for all. With more ranks than cores that is one context switch a
//!   rank. A member that waits for the generation writes its contribution to the next step meanwhile, if that is a
//!   central one of the same call.
//! - An exchange (`exchange`): some members write their slots, some read the slots that their call names.
//! - A broadcast and a reduction to one root do not hold up a member that only contributes: it continues at once, and
//!   waits only when it needs the same slot again while a reader has not left the old step yet.
//!
//! Memory orders. Data is written before a Release and read after an Acquire of the same flag: (A) slot flag: its
//! owner's store, the readers' loads. (B) arrivals: every member's read-modify-write; the last member sees all
//! contributions. (C) generation: the last member's store, the others' loads; it covers the result. (D) progress: a
//! reader's store when it has read, the owner's load before it writes the slot again.

pub mod exchange;

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Release};

/// A flag: a word of shared memory that all members reach.
pub trait AtomicFlag {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    fn fetch_add(&self, value: u64, order: Ordering) -> u64;
}

/// The flags of a block. No two members write to the same cache line, but for `arrivals`.
pub trait FlagArray {
    type Flag: AtomicFlag;
    /// The flag of a member's slot.
    fn slot(&self, member: usize, parity: usize) -> &Self::Flag;
    /// The progress of a member: `entered_progress(epoch)` or `left_progress(epoch)`.
    fn progress(&self, member: usize) -> &Self::Flag;
    /// Contributions to central steps since the block was new.
    fn arrivals(&self) -> &Self::Flag;
    /// The flag of the last central step that has ended.
    fn generation(&self) -> &Self::Flag;
    /// Wakes members that may sleep until the flag that was just written.
    fn wake(&self, members: Members);
}

/// The data of a step.
pub trait StepData {
    /// Writes this member's contribution into its slot.
    fn write_slot(&mut self, slot: Slot);
    /// `into = from op into`; `from` comes from lower ranks.
    fn reduce(&mut self, from: Slot, into: Slot);
    /// Computes the result of exactly two contributions, which stay as they are.
    fn reduce_pair(&mut self, first: Slot, second: Slot);
    /// Copies the result out of a slot.
    fn read_result(&mut self, slot: Slot);
    /// Copies a short result of `slot` beside the generation, which its readers load anyway.
    fn publish_result(&mut self, slot: Slot);
    /// Copies the result from beside the generation.
    fn read_published(&mut self);
    /// The bytes of this member's contribution to the next step, if that is a long Allreduce too and its data are there
    /// already.
    fn next_bytes(&self) -> Option<u32>;
    /// Writes that contribution into its slot.
    fn write_next_slot(&mut self, slot: Slot);
}

/// One of a member's two slots: the memory for a contribution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    pub member: usize,
    pub parity: usize,
    /// The number of steps of this parity so far: successive ones have places of their own for their data
    /// (`shm::slot_memory`).
    pub rotation: u64,
}

/// One or several members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Members {
    Empty,
    One(usize),
    /// The members of lower, or of higher, rank than the member that names them.
    Below,
    Above,
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    Barrier,
    Bcast { root: usize },
    Reduce { root: usize },
    Allreduce,
}

/// A step as its call describes it; the same on all members, but for the places of their data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepSpec {
    pub kind: StepKind,
    /// Bytes of a contribution, below `BYTES_MAX`.
    pub bytes: u32,
    /// The data is short and lies in the same cache line as its flag.
    pub short: bool,
    /// With two members, both may compute the result.
    pub pair: bool,
}

/// The value of a flag has the epoch, the kind of step and the bytes, so that calls that do not belong together are
/// found. The epoch's highest bits are left off: no member is that far behind.
const EPOCH_SHIFT: u32 = 21;
const KIND_SHIFT: u32 = 18;
pub const BYTES_MAX: u32 = 1 << KIND_SHIFT;
const ALLREDUCE: u64 = 3;
/// The kind of an exchange.
const EXCHANGE: u64 = 4;
/// The kind that a generation shows when the contributions did not fit together.
const MISMATCH: u64 = 7 << KIND_SHIFT;

/// Tells whether `flag` belongs to the step `epoch`.
const fn is_of_epoch(flag: u64, epoch: u64) -> bool {
    (flag ^ epoch << EPOCH_SHIFT) >> EPOCH_SHIFT == 0
}

const fn flag_of_spec(epoch: u64, spec: &StepSpec) -> u64 {
    let kind = match spec.kind {
        StepKind::Barrier => 0,
        StepKind::Bcast { .. } => 1,
        StepKind::Reduce { .. } => 2,
        StepKind::Allreduce => ALLREDUCE,
    };
    flag_value(epoch, kind, spec.bytes)
}

const fn flag_value(epoch: u64, kind: u64, bytes: u32) -> u64 {
    epoch << EPOCH_SHIFT | kind << KIND_SHIFT | bytes as u64
}

const fn slot_of(member: usize, epoch: u64) -> Slot {
    Slot { member, parity: (epoch & 1) as usize, rotation: epoch >> 1 }
}

const fn entered_progress(epoch: u64) -> u64 {
    2 * epoch - 1
}

const fn left_progress(epoch: u64) -> u64 {
    2 * epoch
}

/// The outcome of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepResult {
    Complete,
    /// Another member's call was not the same: it had other bytes or was another function.
    Mismatch,
}

/// The members that may still be reading one of our slots, since step `epoch`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SlotReaders {
    epoch: u64,
    readers: Members,
}

/// The state that a member keeps between steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Participant {
    me: usize,
    members: usize,
    /// The step that is in progress or comes next.
    epoch: u64,
    /// Arrivals before this step.
    arrivals_before: u64,
    /// All members are known to have left this step.
    all_left: u64,
    in_use: [SlotReaders; 2],
    /// The last step whose contribution was written into its slot before the step began.
    written_ahead: u64,
}

/// The progress of a step on this member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepPhase {
    /// The step has not begun.
    Enter,
    /// Our slot is not free yet.
    Claim,
    /// The contribution is written; the rest is up to the other members.
    Await,
    /// The root of a reduction has reduced the slots below this one; in an exchange this number of slots has been
    /// read.
    Read(usize),
}

impl Participant {
    pub fn new(me: usize, members: usize) -> Participant {
        assert!(me < members && members > 1);
        let in_use = [SlotReaders { epoch: 0, readers: Members::Empty }; 2];
        Participant { me, members, epoch: 1, arrivals_before: 0, all_left: 0, in_use, written_ahead: 0 }
    }

    /// The participant as if `steps` steps had been executed.
    #[cfg(test)]
    pub fn after(self, steps: u64) -> Participant {
        Participant { epoch: steps + 1, all_left: steps, ..self }
    }

    fn current_slot(&self, member: usize) -> Slot {
        slot_of(member, self.epoch)
    }

    /// Advances a step as far as possible without waiting. `Some`: it has ended and the next one may begin.
    #[inline]
    pub fn poll(
        &mut self,
        phase: &mut StepPhase,
        spec: &StepSpec,
        flags: &impl FlagArray,
        data: &mut impl StepData,
    ) -> Option<StepResult> {
        if *phase == StepPhase::Enter {
            flags.progress(self.me).store(entered_progress(self.epoch), Release); // partner: `lagging_member`
            *phase = StepPhase::Claim;
        }
        if *phase == StepPhase::Claim {
            if self.contributes(spec) && self.written_ahead != self.epoch && !self.write_own_slot(spec, flags, data) {
                return None;
            }
            *phase = StepPhase::Await;
            match self.raise_flag(spec, flags) {
                NextAction::Await => {}
                NextAction::Leave => return Some(self.leave(spec, flags, StepResult::Complete)),
                NextAction::ReduceAsLast => return Some(self.reduce_as_last(spec, flags, data)),
                NextAction::Read => *phase = StepPhase::Read(0),
            }
        }
        let result = match (*phase, spec.kind) {
            (StepPhase::Read(from), _) => self.reduce_in_order(phase, from, spec, flags, data)?,
            (_, StepKind::Bcast { root }) => self.read_bcast(root, spec, flags, data)?,
            _ if self.is_pair(spec) => self.read_pair(spec, flags, data)?,
            _ => self.read_central(spec, flags, data)?,
        };
        Some(self.leave(spec, flags, result))
    }

    fn is_pair(&self, spec: &StepSpec) -> bool {
        spec.pair && self.members == 2 && matches!(spec.kind, StepKind::Barrier | StepKind::Allreduce)
    }

    /// Tells whether this member has something to write into its slot.
    fn contributes(&self, spec: &StepSpec) -> bool {
        match spec.kind {
            StepKind::Barrier => self.is_pair(spec),
            StepKind::Bcast { root } => root == self.me,
            StepKind::Reduce { .. } | StepKind::Allreduce => true,
        }
    }

    /// Writes the contribution; false while another member may be reading what was there before.
    fn write_own_slot(&mut self, spec: &StepSpec, flags: &impl FlagArray, data: &mut impl StepData) -> bool {
        let Some(slot) = self.claim_slot(flags) else { return false };
        data.write_slot(slot);
        flags.slot(self.me, slot.parity).store(flag_of_spec(self.epoch, spec), Release); // (A)
        true
    }

    /// Returns this member's slot of this step, once no member can be reading what was there before.
    fn claim_slot(&mut self, flags: &impl FlagArray) -> Option<Slot> {
        self.claim_slot_of(self.epoch, flags)
    }

    fn claim_slot_of(&mut self, epoch: u64, flags: &impl FlagArray) -> Option<Slot> {
        let slot = slot_of(self.me, epoch);
        if !self.is_slot_free(slot.parity, flags) {
            return None;
        }
        self.in_use[slot.parity].readers = Members::Empty;
        Some(slot)
    }

    /// While this step waits, writes the contribution to the next one as soon as its slot is free. The next step's
    /// flags are read only once it has begun, and no member arrives there before this step has ended.
    fn write_ahead(&mut self, flags: &impl FlagArray, data: &mut impl StepData) {
        let next = self.epoch + 1;
        if self.written_ahead != next
            && let Some(bytes) = data.next_bytes()
            && let Some(slot) = self.claim_slot_of(next, flags)
        {
            data.write_next_slot(slot);
            flags.slot(self.me, slot.parity).store(flag_value(next, ALLREDUCE, bytes), Release); // (A)
            self.written_ahead = next;
        }
    }

    fn is_slot_free(&self, parity: usize, flags: &impl FlagArray) -> bool {
        let SlotReaders { epoch, readers } = self.in_use[parity];
        let has_left = |member: usize| flags.progress(member).load(Acquire) >= left_progress(epoch); // (D)
        match readers {
            _ if epoch <= self.all_left => true,
            Members::Empty => true,
            Members::One(reader) => has_left(reader),
            Members::Below => (0..self.me).all(has_left),
            Members::Above => (self.me + 1..self.members).all(has_left),
            Members::All => (0..self.members).all(|member| member == self.me || has_left(member)),
        }
    }

    /// Announces the contribution: wakes the members that wait for it, or counts it in `arrivals`. Returns the work
    /// that is left.
    fn raise_flag(&mut self, spec: &StepSpec, flags: &impl FlagArray) -> NextAction {
        match spec.kind {
            StepKind::Bcast { root } if root == self.me => {
                self.mark_in_use(Members::All);
                flags.wake(Members::All);
                NextAction::Leave
            }
            StepKind::Bcast { .. } => NextAction::Await,
            StepKind::Reduce { root } if root == self.me => NextAction::Read,
            StepKind::Reduce { root } => {
                self.mark_in_use(Members::One(root));
                flags.wake(Members::One(root));
                NextAction::Leave
            }
            StepKind::Barrier | StepKind::Allreduce if self.is_pair(spec) => {
                self.mark_in_use(Members::One(1 - self.me));
                flags.wake(Members::One(1 - self.me));
                NextAction::Await
            }
            StepKind::Barrier | StepKind::Allreduce => {
                let before = flags.arrivals().fetch_add(1, AcqRel); // (B)
                let all = self.arrivals_before + self.members as u64;
                self.arrivals_before = all;
                if before + 1 == all { NextAction::ReduceAsLast } else { NextAction::Await }
            }
        }
    }

    fn mark_in_use(&mut self, readers: Members) {
        self.in_use[(self.epoch & 1) as usize] = SlotReaders { epoch: self.epoch, readers };
    }

    /// The last member to arrive computes for all.
    fn reduce_as_last(&mut self, spec: &StepSpec, flags: &impl FlagArray, data: &mut impl StepData) -> StepResult {
        let mut result = StepResult::Complete;
        let last = self.current_slot(self.members - 1);
        if spec.kind == StepKind::Allreduce {
            let expected = flag_of_spec(self.epoch, spec);
            // Relaxed would do: (B) has ordered the contributions.
            if (0..self.members).any(|member| flags.slot(member, last.parity).load(Acquire) != expected) {
                result = StepResult::Mismatch;
            } else {
                (1..self.members)
                    .for_each(|member| data.reduce(self.current_slot(member - 1), self.current_slot(member)));
                if spec.short {
                    data.read_result(last);
                    data.publish_result(last);
                }
            }
        }
        let generation = match result {
            StepResult::Complete => flag_of_spec(self.epoch, spec),
            StepResult::Mismatch => self.epoch << EPOCH_SHIFT | MISMATCH,
        };
        flags.generation().store(generation, Release); // (C)
        flags.wake(Members::All);
        // The others need not wait for this copy: the owner of a long result marks its slot as in use by all.
        if spec.kind == StepKind::Allreduce && !spec.short && result == StepResult::Complete {
            data.read_result(last);
        }
        self.leave(spec, flags, result)
    }

    fn read_central(
        &mut self,
        spec: &StepSpec,
        flags: &impl FlagArray,
        data: &mut impl StepData,
    ) -> Option<StepResult> {
        let generation = flags.generation().load(Acquire); // (C)
        if !is_of_epoch(generation, self.epoch) {
            self.write_ahead(flags, data);
            return None;
        }
        SeenFlag(generation).then_if_equal(spec, self.epoch, || match spec.kind {
            StepKind::Allreduce if spec.short => data.read_published(),
            StepKind::Allreduce => data.read_result(self.current_slot(self.members - 1)),
            _ => {}
        })
    }

    fn read_pair(&mut self, spec: &StepSpec, flags: &impl FlagArray, data: &mut impl StepData) -> Option<StepResult> {
        self.seen_flag(1 - self.me, flags)?.then_if_equal(spec, self.epoch, || {
            if spec.kind == StepKind::Allreduce {
                data.reduce_pair(self.current_slot(0), self.current_slot(1));
            }
        })
    }

    fn read_bcast(
        &mut self,
        root: usize,
        spec: &StepSpec,
        flags: &impl FlagArray,
        data: &mut impl StepData,
    ) -> Option<StepResult> {
        self.seen_flag(root, flags)?.then_if_equal(spec, self.epoch, || data.read_result(self.current_slot(root)))
    }

    /// The root reduces the slots in rank order, as their flags are raised.
    fn reduce_in_order(
        &mut self,
        phase: &mut StepPhase,
        from: usize,
        spec: &StepSpec,
        flags: &impl FlagArray,
        data: &mut impl StepData,
    ) -> Option<StepResult> {
        for member in from..self.members {
            *phase = StepPhase::Read(member);
            let raised = self.seen_flag(member, flags)?;
            if raised.0 != flag_of_spec(self.epoch, spec) {
                return Some(StepResult::Mismatch);
            }
            if member > 0 {
                data.reduce(self.current_slot(member - 1), self.current_slot(member));
            }
        }
        data.read_result(self.current_slot(self.members - 1));
        Some(StepResult::Complete)
    }

    /// Returns a member's flag, once it is raised for this step.
    fn seen_flag(&self, member: usize, flags: &impl FlagArray) -> Option<SeenFlag> {
        let slot = self.current_slot(member);
        let raised = flags.slot(slot.member, slot.parity).load(Acquire); // (A)
        is_of_epoch(raised, self.epoch).then_some(SeenFlag(raised))
    }

    /// Leaves the step, which is over for this member.
    fn leave(&mut self, spec: &StepSpec, flags: &impl FlagArray, result: StepResult) -> StepResult {
        flags.progress(self.me).store(left_progress(self.epoch), Release); // (D)
        let central = matches!(spec.kind, StepKind::Barrier | StepKind::Allreduce);
        if central {
            // All have entered this step, so they have left the one before.
            self.all_left = self.epoch - 1;
        }
        flags.wake(self.members_to_wake(spec));
        self.epoch += 1;
        result
    }

    /// Returns the members that may come to wait until we have left: the owners of the slots that we read. The slot
    /// of a long result is in use by all. In a pair none waits: the other's slot is free once it sees our next
    /// flag.
    fn members_to_wake(&mut self, spec: &StepSpec) -> Members {
        let owner = self.members - 1;
        match spec.kind {
            StepKind::Bcast { root } if root != self.me => Members::One(root),
            StepKind::Reduce { root } if root == self.me => Members::All,
            StepKind::Allreduce if !self.is_pair(spec) && !spec.short => {
                if owner == self.me {
                    self.mark_in_use(Members::All);
                    return Members::Empty;
                }
                Members::One(owner)
            }
            _ => Members::Empty,
        }
    }

    /// Returns a member that has not entered this step, if there is one; for reports of what a rank waits for.
    pub fn missing_member(&self, flags: &impl FlagArray) -> Option<usize> {
        self.lagging_member(entered_progress(self.epoch), 0..self.members, flags)
    }

    /// Returns a member that has exited without leaving this step. It may have entered the step and died while it
    /// reduced all contributions, so the step can never end.
    pub fn lost_member(&self, exited: impl Iterator<Item = usize>, flags: &impl FlagArray) -> Option<usize> {
        self.lagging_member(left_progress(self.epoch), exited, flags)
    }

    fn lagging_member(&self, progress: u64, of: impl Iterator<Item = usize>, flags: &impl FlagArray) -> Option<usize> {
        // Partners: `poll`, `leave`, `exchange`, `leave_exchange`.
        of.filter(|&member| member != self.me).find(|&member| flags.progress(member).load(Acquire) < progress)
    }

    /// The number of the step, for reports.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

/// The work that is left after `raise_flag`.
enum NextAction {
    Await,
    Leave,
    ReduceAsLast,
    Read,
}

/// A flag that is raised for this step, whatever kind of step its owner thinks it is.
struct SeenFlag(u64);

impl SeenFlag {
    fn then_if_equal(self, spec: &StepSpec, epoch: u64, act: impl FnOnce()) -> Option<StepResult> {
        if self.0 != flag_of_spec(epoch, spec) {
            return Some(StepResult::Mismatch);
        }
        act();
        Some(StepResult::Complete)
    }
}
