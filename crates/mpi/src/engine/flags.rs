//! The protocol of shm steps: barrier, broadcast, reduction and exchange by flags in shared memory.
//!
//! All members execute the same steps in the same order; steps are numbered by `epoch`, one after the other. Each
//! member has two *slots* (one for even and one for odd epochs), each with a flag and memory for data. To contribute,
//! a member writes its data into its slot and then raises the slot's flag. Nothing here ever blocks:
//! `Participant::poll` returns `Some` when the step has ended, and the caller decides how to wait. The code is
//! generic over the flags, so that the model checker can run it (`tests/flags_loom.rs`). Used by `engine::shm`,
//! `engine::slot_exchange`, `engine::schedule_run` and `collective`.
//!
//! - *pair* (two members, short data): each member raises its flag and reads the other member's flag; both compute
//!   the result.
//! - *central*: one flag (`arrivals`) counts the contributions. The last member to arrive reduces all contributions
//!   in rank order, slot into slot, and then raises another flag (`generation`) for all members. If there are more
//!   ranks than cores, a step costs one context switch for each rank. While a member waits for the generation, it
//!   writes its contribution to the next step, if that step is central too and belongs to the same call.
//! - *exchange* (module `exchange`): some members write their slots; some members read the slots that their call
//!   names.
//! - In a broadcast or a reduction to one root, a member that only contributes continues at once. It waits only when
//!   it needs the same slot again and a reader of the slot has not yet left the old step.
//!
//! Memory orders. Data is written before a Release of a flag and read after an Acquire of the same flag: (A) slot
//! flag: its owner stores it, the readers load it. (B) arrivals: every member adds to it by a read-modify-write, so
//! that the last member sees all contributions. (C) generation: the last member stores it, the others load it; it
//! makes the result visible. (D) progress: a reader stores it when it has read a slot, the slot's owner loads it
//! before it writes the slot again.

pub mod exchange;

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Release};

/// A flag: a word of shared memory that all members can access.
pub trait AtomicFlag {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    fn fetch_add(&self, value: u64, order: Ordering) -> u64;
}

/// The flags of one communicator, each in a cache line of its own. Several members write to `arrivals` and to
/// `generation`; every other flag has one writer.
pub trait FlagArray {
    type Flag: AtomicFlag;
    /// The flag of a member's slot.
    fn slot(&self, member: usize, parity: usize) -> &Self::Flag;
    /// The progress of a member: `entered_progress(epoch)` while the member is in a step, then
    /// `left_progress(epoch)`.
    fn progress(&self, member: usize) -> &Self::Flag;
    /// The number of contributions to all central steps since the communicator was made.
    fn arrivals(&self) -> &Self::Flag;
    /// The flag value (`flag_value`) of the last central step that has ended.
    fn generation(&self) -> &Self::Flag;
    /// Wakes those of `members` that sleep because they wait for the flag that was just written.
    fn wake(&self, members: Members);
}

/// The data of a step.
pub trait StepData {
    /// Writes this member's contribution into its slot.
    fn write_slot(&mut self, slot: Slot);
    /// Computes `into = from op into`; the data in `from` come from lower ranks.
    fn reduce(&mut self, from: Slot, into: Slot);
    /// Computes the result of exactly two contributions in this member's result buffer. The two slots are not
    /// changed.
    fn reduce_pair(&mut self, first: Slot, second: Slot);
    /// Tells whether this member can compute the result of a reduction in its result buffer (`fold`). As the root it
    /// then writes no slot. The answer stays the same while the step is in progress.
    fn can_fold(&self) -> bool;
    /// Computes the result of all contributions, in rank order, in the result buffer of member `me`: its own is in its
    /// buffer, that of each other member is in `slot_of(member)`. No slot is changed.
    fn fold(&mut self, me: usize, members: usize, slot_of: impl Fn(usize) -> Slot);
    /// Copies the result from a slot to this member's result buffer.
    fn read_result(&mut self, slot: Slot);
    /// Copies a short result from `slot` into the cache line of the generation, which readers of the result load
    /// anyway.
    fn publish_result(&mut self, slot: Slot);
    /// Copies the result from the cache line of the generation to this member's result buffer.
    fn read_published(&mut self);
    /// Returns the length, in bytes, of this member's contribution to the next step. None if the contribution cannot
    /// be written before the next step begins: that step is no long Allreduce of the same call, or its data does not
    /// exist yet.
    fn next_bytes(&self) -> Option<u32>;
    /// Writes this member's contribution to the next step into `slot`.
    fn write_next_slot(&mut self, slot: Slot);
}

/// One of a member's two slots: the memory for a contribution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    pub member: usize,
    pub parity: usize,
    /// A number that grows by 1 with each step of this parity. The address of long data depends on it
    /// (`shm::slot_memory`).
    pub rotation: u64,
}

/// One or several members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Members {
    Empty,
    One(usize),
    /// All members whose rank is lower (`Below`) or higher (`Above`) than that of the member that names them.
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

/// The description of a step, which must be equal on all members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepSpec {
    pub kind: StepKind,
    /// The length of a contribution, in bytes; it is less than `BYTES_MAX`.
    pub bytes: u32,
    /// The data is short and lies in the same cache line as its flag.
    pub short: bool,
    /// If the communicator has two members, both may compute the result themselves (a pair step).
    pub pair: bool,
}

/// The value of a flag consists of the epoch (from bit 21 on), the kind of step (bits 18 to 20) and the length of the
/// contribution in bytes (bits 0 to 17), so that members detect calls that do not match. The highest bits of the
/// epoch do not fit and are left out, because no member is so many steps behind another one.
const EPOCH_SHIFT: u32 = 21;
const KIND_SHIFT: u32 = 18;
pub const BYTES_MAX: u32 = 1 << KIND_SHIFT;
const ALLREDUCE: u64 = 3;
/// The kind of an exchange.
const EXCHANGE: u64 = 4;
/// The kind of step in a generation whose contributions did not match.
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

/// The result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepResult {
    Complete,
    /// Another member's call did not match: it had another length, or it was another function.
    Mismatch,
}

/// The members that may still be reading what this member wrote into one of its slots for step `epoch`.
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
    /// The total number of contributions to all central steps before the current one.
    arrivals_before: u64,
    /// The highest step that all members are known to have left.
    all_left: u64,
    in_use: [SlotReaders; 2],
    /// The number of the last step for which this member wrote its contribution before it began the step.
    written_ahead: u64,
}

/// The progress of a step on this member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepPhase {
    /// The step has not begun.
    Enter,
    /// This member has entered the step and waits until its slot is free.
    Claim,
    /// The contribution is written; this member waits for the other members.
    Await,
    /// The number of slots that this member has read: as the root of a reduction (in rank order), or in an exchange
    /// (in the order of `SlotIo::source`).
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

    /// Advances a step as far as possible without waiting. Returns the result when the step has ended for this member
    /// and the next step may begin; `None` while the step is in progress.
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
            if self.contributes(spec, data)
                && self.written_ahead != self.epoch
                && !self.write_own_slot(spec, flags, data)
            {
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
    fn contributes(&self, spec: &StepSpec, data: &impl StepData) -> bool {
        match spec.kind {
            StepKind::Barrier => self.is_pair(spec),
            StepKind::Bcast { root } => root == self.me,
            StepKind::Reduce { root } => root != self.me || !data.can_fold(),
            StepKind::Allreduce => true,
        }
    }

    /// Writes the contribution into the slot and raises the slot's flag. Returns false, and does nothing, while
    /// another member may still be reading the slot's previous contents.
    fn write_own_slot(&mut self, spec: &StepSpec, flags: &impl FlagArray, data: &mut impl StepData) -> bool {
        let Some(slot) = self.claim_slot(flags) else { return false };
        data.write_slot(slot);
        flags.slot(self.me, slot.parity).store(flag_of_spec(self.epoch, spec), Release); // (A)
        true
    }

    /// Returns this member's slot of the current step; `None` while another member may still be reading the slot's
    /// previous contents.
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

    /// Writes this member's contribution to the next step, if the call has one and its slot is free. It is called
    /// while this member waits for the end of the current step. No member sees the flag too early: a member reads the
    /// flags of the next step only when it has begun that step, and no member begins it before the current step has
    /// ended.
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

    /// Announces the contribution: records the readers of the slot and wakes them, or, in a central step, counts the
    /// contribution in `arrivals`. Returns what this member does next.
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

    /// Computes the result for all members, as the last member to arrive, raises the generation and leaves the step.
    fn reduce_as_last(&mut self, spec: &StepSpec, flags: &impl FlagArray, data: &mut impl StepData) -> StepResult {
        let mut result = StepResult::Complete;
        let last = self.current_slot(self.members - 1);
        if spec.kind == StepKind::Allreduce {
            let expected = flag_of_spec(self.epoch, spec);
            // Relaxed would suffice, because the read-modify-write (B) has ordered the contributions.
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
        // The other members do not wait for this copy: the member whose slot holds a long result marks the slot as in
        // use by all.
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

    /// Reduces the slots in rank order, as the root, from slot `from` on, as far as their flags are raised; or only
    /// looks at the flags, if the result is computed from all slots at once (`StepData::fold`). Returns `None` at the
    /// first flag that is not raised; `phase` then has the number of that slot.
    fn reduce_in_order(
        &mut self,
        phase: &mut StepPhase,
        from: usize,
        spec: &StepSpec,
        flags: &impl FlagArray,
        data: &mut impl StepData,
    ) -> Option<StepResult> {
        let folds = data.can_fold();
        for member in (from..self.members).filter(|&member| !folds || member != self.me) {
            *phase = StepPhase::Read(member);
            let raised = self.seen_flag(member, flags)?;
            if raised.0 != flag_of_spec(self.epoch, spec) {
                return Some(StepResult::Mismatch);
            }
            if member > 0 && !folds {
                data.reduce(self.current_slot(member - 1), self.current_slot(member));
            }
        }
        if folds {
            data.fold(self.me, self.members, |member| self.current_slot(member));
        } else {
            data.read_result(self.current_slot(self.members - 1));
        }
        Some(StepResult::Complete)
    }

    /// Returns the flag of a member's slot; `None` while it is not raised for the current step.
    fn seen_flag(&self, member: usize, flags: &impl FlagArray) -> Option<SeenFlag> {
        let slot = self.current_slot(member);
        let raised = flags.slot(slot.member, slot.parity).load(Acquire); // (A)
        is_of_epoch(raised, self.epoch).then_some(SeenFlag(raised))
    }

    /// Ends the step for this member: publishes that this member has left the step, and wakes the members that wait
    /// for this. Returns `result`.
    fn leave(&mut self, spec: &StepSpec, flags: &impl FlagArray, result: StepResult) -> StepResult {
        flags.progress(self.me).store(left_progress(self.epoch), Release); // (D)
        let central = matches!(spec.kind, StepKind::Barrier | StepKind::Allreduce);
        if central {
            // All members have entered this step, so they have left the step before it.
            self.all_left = self.epoch - 1;
        }
        flags.wake(self.members_to_wake(spec));
        self.epoch += 1;
        result
    }

    /// Returns the members that may be waiting until this member has left the step: the owners of the slots that it
    /// has read. The slot of a long result of an Allreduce is marked as in use by all, if it is this member's. In a
    /// pair step no member waits: the other member's slot is free as soon as that member sees our next flag.
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

    /// Returns a member that has not entered the current step; `None` if all have. Reports use it to name the rank
    /// that is waited for.
    pub fn missing_member(&self, flags: &impl FlagArray) -> Option<usize> {
        self.lagging_member(entered_progress(self.epoch), 0..self.members, flags)
    }

    /// Returns one of the `exited` members that has not left the current step; `None` if all of them have. Such a
    /// member may have died while it reduced the contributions of all, so the step can never end.
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

/// The next action of a member that has raised its flag.
enum NextAction {
    Await,
    Leave,
    ReduceAsLast,
    Read,
}

/// The value of a flag that is raised for the current step. Its kind and length may differ from this member's.
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
