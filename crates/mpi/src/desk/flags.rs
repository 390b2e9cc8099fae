//! The protocol of shm steps: barrier, broadcast, reduction and exchange by flags in shared memory.
//!
//! All members execute the same steps in the same order; steps are numbered by `epoch`, one after the other. Each
//! member has two *slots* (for even and odd epochs), each with a flag and room for data. To contribute, a member writes
//! its slot and then raises the slot's flag. Nothing here ever blocks: `Seat::poll` returns `Some` when the step has
//! ended, and its caller decides how to wait. The code is generic over the flags, so that the model checker walks it
//! (`tests/flags_loom.rs`). Used by `desk::host`.
//!
//! - *pair* (two members, short data): each raises its flag and reads the other's; both compute the result.
//! - *central*: the contributions are counted at one word; the last member to arrive folds them in rank order, slot
//!   into slot, and raises the generation for all. With more ranks than cores that is one context switch a rank. A
//!   member that waits for the generation writes its contribution to the next step meanwhile, if that is a central one
//!   of the same call.
//! - An exchange (`exchange`): some members write their slots, some read the slots that their call names.
//! - A broadcast and a reduction to one root do not hold up a member that only contributes: it continues at once, and
//!   waits only when it needs the same slot again while a reader has not left the old step yet.
//!
//! Memory orders. Data is written before a Release and read after an Acquire of the same word: (A) slot flag: its
//! owner's store, the readers' loads. (B) arrivals: every member's read-modify-write; the last member sees all
//! contributions. (C) generation: the last member's store, the others' loads; it covers the result. (D) progress: a
//! reader's store when it has read, the owner's load before it writes the slot again.

pub mod exchange;

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Release};

/// A word in shared memory that all members reach.
pub trait Word {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    fn fetch_add(&self, value: u64, order: Ordering) -> u64;
}

/// The words of a block. No two members write to the same line, but for `arrivals`.
pub trait Board {
    type Word: Word;
    /// The flag of a member's slot.
    fn slot(&self, member: usize, parity: usize) -> &Self::Word;
    /// The progress of a member: `entered(epoch)` or `left(epoch)`.
    fn progress(&self, member: usize) -> &Self::Word;
    /// Contributions to central steps since the block was new.
    fn arrivals(&self) -> &Self::Word;
    /// The flag of the last central step that has ended.
    fn generation(&self) -> &Self::Word;
    /// Wakes members that may sleep until the flag that was just written.
    fn wake(&self, whom: Whom);
}

/// The data of a step.
pub trait Data {
    /// Writes this member's contribution into its slot.
    fn put(&mut self, slot: Slot);
    /// `into = from op into`; `from` comes from lower ranks.
    fn fold(&mut self, from: Slot, into: Slot);
    /// Computes the result of exactly two contributions, which stay as they are.
    fn pair(&mut self, first: Slot, second: Slot);
    /// Copies the result out of a slot.
    fn take(&mut self, slot: Slot);
    /// Copies a short result of `slot` beside the generation, which its readers load anyway.
    fn publish(&mut self, slot: Slot);
    /// Copies the result from beside the generation.
    fn take_published(&mut self);
    /// The bytes of this member's contribution to the next step, if that is a long Allreduce too and its data are there
    /// already.
    fn ahead(&self) -> Option<u32>;
    /// Writes that contribution into its slot.
    fn put_ahead(&mut self, slot: Slot);
}

/// Room for a contribution: one of a member's two slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    pub member: usize,
    pub parity: usize,
    /// The number of steps of this parity so far: successive ones have places of their own for their data
    /// (`host::room`).
    pub turn: u64,
}

/// One or several members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whom {
    Nobody,
    One(usize),
    /// The members of lower, or of higher, rank than the member that names them.
    Below,
    Above,
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Barrier,
    Bcast { root: usize },
    Reduce { root: usize },
    Allreduce,
}

/// A step as its call describes it; the same on all members, but for the places of their data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spec {
    pub kind: Kind,
    /// Bytes of a contribution, below `BYTES_MAX`.
    pub bytes: u32,
    /// The data is short and lies in the same line as its flag.
    pub short: bool,
    /// With two members, both may compute the result.
    pub pair: bool,
}

/// A flag: the epoch, the kind of step and the bytes, so that calls that do not belong together are found. The epoch's
/// highest bits are left off: no member is that far behind.
const EPOCH_SHIFT: u32 = 21;
const KIND_SHIFT: u32 = 18;
pub const BYTES_MAX: u32 = 1 << KIND_SHIFT;
const ALLREDUCE: u64 = 3;
/// The kind of an exchange.
const EXCHANGE: u64 = 4;
/// The kind that a generation shows when the contributions did not fit together.
const MISMATCH: u64 = 7 << KIND_SHIFT;

/// Tells whether `flag` belongs to the step `epoch`.
const fn is_of(flag: u64, epoch: u64) -> bool {
    (flag ^ epoch << EPOCH_SHIFT) >> EPOCH_SHIFT == 0
}

const fn flag(epoch: u64, spec: &Spec) -> u64 {
    let kind = match spec.kind {
        Kind::Barrier => 0,
        Kind::Bcast { .. } => 1,
        Kind::Reduce { .. } => 2,
        Kind::Allreduce => ALLREDUCE,
    };
    flag_of(epoch, kind, spec.bytes)
}

const fn flag_of(epoch: u64, kind: u64, bytes: u32) -> u64 {
    epoch << EPOCH_SHIFT | kind << KIND_SHIFT | bytes as u64
}

const fn slot_of(member: usize, epoch: u64) -> Slot {
    Slot { member, parity: (epoch & 1) as usize, turn: epoch >> 1 }
}

const fn entered(epoch: u64) -> u64 {
    2 * epoch - 1
}

const fn left(epoch: u64) -> u64 {
    2 * epoch
}

/// The outcome of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    Well,
    /// Another member's call was not the same: it had other bytes or was another function.
    Mismatch,
}

/// The members that may still be reading one of our slots, since step `epoch`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Lent {
    epoch: u64,
    to: Whom,
}

/// The state that a member keeps between steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seat {
    me: usize,
    members: usize,
    /// The step that is in progress or comes next.
    epoch: u64,
    /// Arrivals before this step.
    arrived: u64,
    /// All members are known to have left this step.
    all_left: u64,
    lent: [Lent; 2],
    /// The last step whose contribution was written into its slot before the step began.
    ahead: u64,
}

/// The progress of a step on this member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The step has not begun.
    Enter,
    /// Our slot is not free yet.
    Claim,
    /// The contribution is written; the rest is up to the other members.
    Await,
    /// The root of a reduction has folded the slots below this one; in an exchange this number of slots has been read.
    Fold(usize),
}

impl Seat {
    pub fn new(me: usize, members: usize) -> Seat {
        assert!(me < members && members > 1);
        let lent = [Lent { epoch: 0, to: Whom::Nobody }; 2];
        Seat { me, members, epoch: 1, arrived: 0, all_left: 0, lent, ahead: 0 }
    }

    /// The seat as if `steps` steps had been executed.
    #[cfg(test)]
    pub fn after(self, steps: u64) -> Seat {
        Seat { epoch: steps + 1, all_left: steps, ..self }
    }

    fn of(&self, member: usize) -> Slot {
        slot_of(member, self.epoch)
    }

    /// Advances a step as far as possible without waiting. `Some`: it has ended and the next one may begin.
    #[inline]
    pub fn poll(&mut self, phase: &mut Phase, spec: &Spec, board: &impl Board, data: &mut impl Data) -> Option<Ended> {
        if *phase == Phase::Enter {
            board.progress(self.me).store(entered(self.epoch), Release); // partner: `behind`
            *phase = Phase::Claim;
        }
        if *phase == Phase::Claim {
            if self.gives(spec) && self.ahead != self.epoch && !self.give(spec, board, data) {
                return None;
            }
            *phase = Phase::Await;
            match self.announce(spec, board) {
                Next::Await => {}
                Next::Ended => return Some(self.leave(spec, board, Ended::Well)),
                Next::Last => return Some(self.finish_central(spec, board, data)),
                Next::Fold => *phase = Phase::Fold(0),
            }
        }
        let ended = match (*phase, spec.kind) {
            (Phase::Fold(from), _) => self.fold(phase, from, spec, board, data)?,
            (_, Kind::Bcast { root }) => self.take_bcast(root, spec, board, data)?,
            _ if self.is_pair(spec) => self.take_pair(spec, board, data)?,
            _ => self.take_central(spec, board, data)?,
        };
        Some(self.leave(spec, board, ended))
    }

    fn is_pair(&self, spec: &Spec) -> bool {
        spec.pair && self.members == 2 && matches!(spec.kind, Kind::Barrier | Kind::Allreduce)
    }

    /// Tells whether this member has something to put into its slot.
    fn gives(&self, spec: &Spec) -> bool {
        match spec.kind {
            Kind::Barrier => self.is_pair(spec),
            Kind::Bcast { root } => root == self.me,
            Kind::Reduce { .. } | Kind::Allreduce => true,
        }
    }

    /// Writes the contribution; false while another member may be reading what was there before.
    fn give(&mut self, spec: &Spec, board: &impl Board, data: &mut impl Data) -> bool {
        let Some(slot) = self.claim(board) else { return false };
        data.put(slot);
        board.slot(self.me, slot.parity).store(flag(self.epoch, spec), Release); // (A)
        true
    }

    /// Returns this member's slot of this step, once no member can be reading what was there before.
    fn claim(&mut self, board: &impl Board) -> Option<Slot> {
        self.claim_of(self.epoch, board)
    }

    fn claim_of(&mut self, epoch: u64, board: &impl Board) -> Option<Slot> {
        let slot = slot_of(self.me, epoch);
        if !self.is_free(slot.parity, board) {
            return None;
        }
        self.lent[slot.parity].to = Whom::Nobody;
        Some(slot)
    }

    /// While this step waits, writes the contribution to the next one as soon as its slot is free. The next step's
    /// flags are read only once it has begun, and no member arrives there before this step has ended.
    fn give_ahead(&mut self, board: &impl Board, data: &mut impl Data) {
        let next = self.epoch + 1;
        if self.ahead != next
            && let Some(bytes) = data.ahead()
            && let Some(slot) = self.claim_of(next, board)
        {
            data.put_ahead(slot);
            board.slot(self.me, slot.parity).store(flag_of(next, ALLREDUCE, bytes), Release); // (A)
            self.ahead = next;
        }
    }

    fn is_free(&self, parity: usize, board: &impl Board) -> bool {
        let Lent { epoch, to } = self.lent[parity];
        let has_left = |member: usize| board.progress(member).load(Acquire) >= left(epoch); // (D)
        match to {
            _ if epoch <= self.all_left => true,
            Whom::Nobody => true,
            Whom::One(reader) => has_left(reader),
            Whom::Below => (0..self.me).all(has_left),
            Whom::Above => (self.me + 1..self.members).all(has_left),
            Whom::All => (0..self.members).all(|member| member == self.me || has_left(member)),
        }
    }

    /// Announces the contribution to the others, and returns what is left to do.
    fn announce(&mut self, spec: &Spec, board: &impl Board) -> Next {
        match spec.kind {
            Kind::Bcast { root } if root == self.me => {
                self.lend(Whom::All);
                board.wake(Whom::All);
                Next::Ended
            }
            Kind::Bcast { .. } => Next::Await,
            Kind::Reduce { root } if root == self.me => Next::Fold,
            Kind::Reduce { root } => {
                self.lend(Whom::One(root));
                board.wake(Whom::One(root));
                Next::Ended
            }
            Kind::Barrier | Kind::Allreduce if self.is_pair(spec) => {
                self.lend(Whom::One(1 - self.me));
                board.wake(Whom::One(1 - self.me));
                Next::Await
            }
            Kind::Barrier | Kind::Allreduce => {
                let before = board.arrivals().fetch_add(1, AcqRel); // (B)
                let all = self.arrived + self.members as u64;
                self.arrived = all;
                if before + 1 == all { Next::Last } else { Next::Await }
            }
        }
    }

    fn lend(&mut self, to: Whom) {
        self.lent[(self.epoch & 1) as usize] = Lent { epoch: self.epoch, to };
    }

    /// The last member to arrive computes for all.
    fn finish_central(&mut self, spec: &Spec, board: &impl Board, data: &mut impl Data) -> Ended {
        let mut ended = Ended::Well;
        let last = self.of(self.members - 1);
        if spec.kind == Kind::Allreduce {
            let wanted = flag(self.epoch, spec);
            // Relaxed would do: (B) has ordered the contributions.
            if (0..self.members).any(|member| board.slot(member, last.parity).load(Acquire) != wanted) {
                ended = Ended::Mismatch;
            } else {
                (1..self.members).for_each(|member| data.fold(self.of(member - 1), self.of(member)));
                if spec.short {
                    data.take(last);
                    data.publish(last);
                }
            }
        }
        let generation = match ended {
            Ended::Well => flag(self.epoch, spec),
            Ended::Mismatch => self.epoch << EPOCH_SHIFT | MISMATCH,
        };
        board.generation().store(generation, Release); // (C)
        board.wake(Whom::All);
        // The others need not wait for this copy: the owner of a long result lends it to all.
        if spec.kind == Kind::Allreduce && !spec.short && ended == Ended::Well {
            data.take(last);
        }
        self.leave(spec, board, ended)
    }

    fn take_central(&mut self, spec: &Spec, board: &impl Board, data: &mut impl Data) -> Option<Ended> {
        let generation = board.generation().load(Acquire); // (C)
        if !is_of(generation, self.epoch) {
            self.give_ahead(board, data);
            return None;
        }
        Raised(generation).then_well(spec, self.epoch, || match spec.kind {
            Kind::Allreduce if spec.short => data.take_published(),
            Kind::Allreduce => data.take(self.of(self.members - 1)),
            _ => {}
        })
    }

    fn take_pair(&mut self, spec: &Spec, board: &impl Board, data: &mut impl Data) -> Option<Ended> {
        self.raised(1 - self.me, board)?.then_well(spec, self.epoch, || {
            if spec.kind == Kind::Allreduce {
                data.pair(self.of(0), self.of(1));
            }
        })
    }

    fn take_bcast(&mut self, root: usize, spec: &Spec, board: &impl Board, data: &mut impl Data) -> Option<Ended> {
        self.raised(root, board)?.then_well(spec, self.epoch, || data.take(self.of(root)))
    }

    /// The root folds the slots in rank order, as their flags are raised.
    fn fold(
        &mut self,
        phase: &mut Phase,
        from: usize,
        spec: &Spec,
        board: &impl Board,
        data: &mut impl Data,
    ) -> Option<Ended> {
        for member in from..self.members {
            *phase = Phase::Fold(member);
            let raised = self.raised(member, board)?;
            if raised.0 != flag(self.epoch, spec) {
                return Some(Ended::Mismatch);
            }
            if member > 0 {
                data.fold(self.of(member - 1), self.of(member));
            }
        }
        data.take(self.of(self.members - 1));
        Some(Ended::Well)
    }

    /// Returns a member's flag, once it is raised for this step.
    fn raised(&self, member: usize, board: &impl Board) -> Option<Raised> {
        let slot = self.of(member);
        let raised = board.slot(slot.member, slot.parity).load(Acquire); // (A)
        is_of(raised, self.epoch).then_some(Raised(raised))
    }

    /// Leaves the step, which is over for this member.
    fn leave(&mut self, spec: &Spec, board: &impl Board, ended: Ended) -> Ended {
        board.progress(self.me).store(left(self.epoch), Release); // (D)
        let central = matches!(spec.kind, Kind::Barrier | Kind::Allreduce);
        if central {
            // All have entered this step, so they have left the one before.
            self.all_left = self.epoch - 1;
        }
        board.wake(self.waits_for_us(spec));
        self.epoch += 1;
        ended
    }

    /// Returns the members that may come to wait until we have left: the owners of the slots that we read. The owner of
    /// a long result lends its slot to all. In a pair none waits: the other's slot is free once it sees our next flag.
    fn waits_for_us(&mut self, spec: &Spec) -> Whom {
        let owner = self.members - 1;
        match spec.kind {
            Kind::Bcast { root } if root != self.me => Whom::One(root),
            Kind::Reduce { root } if root == self.me => Whom::All,
            Kind::Allreduce if !self.is_pair(spec) && !spec.short => {
                if owner == self.me {
                    self.lend(Whom::All);
                    return Whom::Nobody;
                }
                Whom::One(owner)
            }
            _ => Whom::Nobody,
        }
    }

    /// Returns a member that has not entered this step, if there is one; for reports of what a rank waits for.
    pub fn missing(&self, board: &impl Board) -> Option<usize> {
        self.behind(entered(self.epoch), 0..self.members, board)
    }

    /// Returns a member that has exited without leaving this step. It may have entered the step and died while it
    /// reduced all contributions, so the step can never end.
    pub fn lost(&self, ended: impl Iterator<Item = usize>, board: &impl Board) -> Option<usize> {
        self.behind(left(self.epoch), ended, board)
    }

    fn behind(&self, progress: u64, of: impl Iterator<Item = usize>, board: &impl Board) -> Option<usize> {
        // Partners: `poll`, `leave`.
        of.filter(|&member| member != self.me).find(|&member| board.progress(member).load(Acquire) < progress)
    }

    /// The number of the step, for reports.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

/// The work that is left after `announce`.
enum Next {
    Await,
    Ended,
    Last,
    Fold,
}

/// A flag that is raised for this step, whatever kind of step its owner thinks it is.
struct Raised(u64);

impl Raised {
    fn then_well(self, spec: &Spec, epoch: u64, act: impl FnOnce()) -> Option<Ended> {
        if self.0 != flag(epoch, spec) {
            return Some(Ended::Mismatch);
        }
        act();
        Some(Ended::Well)
    }
}
