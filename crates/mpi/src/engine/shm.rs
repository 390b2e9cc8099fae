//! A member's view of its communicator's block of flags in the job's segment, and the data of a step in that block.
//!
//! Nothing here waits: `collective::shm_wait` decides how a rank waits for the others. Used by `schedule_run`,
//! `slot_exchange` and `collective`; uses `flags`, `slot_exchange` and `ops`.

use super::flags::exchange::ExchangeSpec;
use super::flags::{
    AtomicFlag, BYTES_MAX, FlagArray, Members, Participant, Slot, StepData, StepKind, StepPhase, StepResult, StepSpec,
};
use super::slot_exchange::{ExchangeData, SlotExchange};
use crate::ops::Reducer;
use hawser_base::{Class, Error, Peer, SharedMem};
use hawser_datatype::{Datatype, UserPtr};
use hawser_job::layout::{FLAG_LINES, FLAG_PAYLOAD_WIDE, LINE, flag_step};
use hawser_job::{Doorbells, FlagBlock};
use hawser_os::map::PAGE;
use hawser_p2p::buffer::Buffer;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The cache lines of a member in the block, by their numbers; these two have the flags of its two slots. Between
/// lines that different members use at the same time there is at least one other line, because the prefetchers of
/// today's CPUs fetch two adjacent lines together.
const SLOT_LINES: [usize; 2] = [0, 2];
const PROGRESS_LINE: usize = 4;
/// The cache line of member 0 with the arrivals, and the cache line of member 1 with the generation. A block has at
/// least two members.
const ARRIVALS_LINE: usize = 6;
const GENERATION_LINE: usize = 6;
/// The cache line of member 0 with the number of members that have freed the communicator.
const DEPARTED_LINE: usize = 7;
const _: () = assert!(DEPARTED_LINE < FLAG_LINES);

/// The maximum length, in bytes, of a contribution that fits into the cache line of its flag.
pub const SHORT_BYTES: usize = LINE - 8;
/// The number of a member's slots, which share its payload area.
const SLOTS: usize = SLOT_LINES.len();
const _: () = assert!(flag_step(FLAG_PAYLOAD_WIDE) < BYTES_MAX as usize);

/// Returns the maximum length, in bytes, of a contribution to a step.
pub fn step_bytes(block: &FlagBlock) -> usize {
    flag_step(block.payload_bytes())
}

/// The maximum length, in bytes, of a payload that always lies at the same address. The addresses of longer payloads
/// rotate through the member's payload area, because a write to a cache line that another core's cache still holds
/// takes four times as long as a write to a line that both cores' caches have evicted
/// (docs/measurements/2026-11-23-collectives.md).
const FIXED_OFFSET_BYTES: usize = 4096;

/// Returns the offset of a contribution of `bytes` bytes in its member's payload area. Even and odd epochs have one
/// half of the area each, so that a contribution never overwrites that of the previous step, which a reader may still
/// need, whatever the lengths of both.
fn payload_offset(slot: Slot, bytes: usize, payload_bytes: usize) -> usize {
    let half = payload_bytes / SLOTS;
    let within = match bytes {
        ..=FIXED_OFFSET_BYTES => 0,
        _ => {
            let each = bytes.next_multiple_of(PAGE);
            (slot.rotation % (half / each) as u64) as usize * each
        }
    };
    slot.parity * half + within
}

impl AtomicFlag for AtomicU64 {
    #[inline(always)]
    fn load(&self, order: Ordering) -> u64 {
        AtomicU64::load(self, order)
    }
    #[inline(always)]
    fn store(&self, value: u64, order: Ordering) {
        AtomicU64::store(self, value, order)
    }
    #[inline(always)]
    fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        AtomicU64::fetch_add(self, value, order)
    }
}

/// A block of flags in the segment, and the doorbells of its members.
pub struct ShmFlagArray {
    block: FlagBlock,
    doorbells: Doorbells,
    me: usize,
}

impl FlagArray for ShmFlagArray {
    type Flag = AtomicU64;

    #[inline(always)]
    fn slot(&self, member: usize, parity: usize) -> &AtomicU64 {
        self.block.flag(member, SLOT_LINES[parity])
    }
    #[inline(always)]
    fn progress(&self, member: usize) -> &AtomicU64 {
        self.block.flag(member, PROGRESS_LINE)
    }
    #[inline(always)]
    fn arrivals(&self) -> &AtomicU64 {
        self.block.flag(0, ARRIVALS_LINE)
    }
    #[inline(always)]
    fn generation(&self) -> &AtomicU64 {
        self.block.flag(1, GENERATION_LINE)
    }

    #[inline]
    fn wake(&self, members: Members) {
        match members {
            Members::Empty => {}
            Members::One(member) if member == self.me => {}
            Members::One(member) => self.doorbells.ring(member),
            Members::Below => self.ring_all(0..self.me),
            Members::Above => self.ring_all(self.me + 1..self.doorbells.count()),
            // This includes our own doorbell, which is not armed now.
            Members::All => self.ring_all(0..self.doorbells.count()),
        }
    }
}

impl ShmFlagArray {
    #[inline]
    fn ring_all(&self, members: Range<usize>) {
        self.doorbells.waker_barrier();
        members.for_each(|member| self.doorbells.ring_after_barrier(member));
    }
}

/// The operation, datatype and count of a reduction.
#[derive(Clone, Copy)]
pub struct ReduceArgs<'a> {
    pub reducer: &'a Reducer,
    pub datatype: &'a Datatype,
    pub count: u64,
}

/// The buffers of one step: `from` has the contribution, `into` gets the result. In a broadcast both are the same
/// buffer.
pub struct StepBuffers<'a> {
    pub from: Buffer,
    pub into: Buffer,
    pub reduce_args: Option<ReduceArgs<'a>>,
    /// The contribution to the next step, if both steps belong to one MPI_Allreduce; otherwise empty.
    pub next: Buffer,
}

impl StepBuffers<'_> {
    pub const NONE: StepBuffers<'static> =
        StepBuffers { from: Buffer::EMPTY, into: Buffer::EMPTY, reduce_args: None, next: Buffer::EMPTY };
}

/// Returns the first `bytes` bytes of a slot: in the cache line of the slot's flag if `short`, otherwise in the
/// member's payload area.
pub fn slot_memory(block: &FlagBlock, slot: Slot, bytes: usize, short: bool) -> SharedMem<'_> {
    if short {
        block.line_payload(slot.member, SLOT_LINES[slot.parity]).slice(0, bytes)
    } else {
        block.payload(slot.member).slice(payload_offset(slot, bytes, block.payload_bytes()), bytes)
    }
}

/// The data of a step: this member's buffers, and the block that contains the slots.
struct StepTransfer<'a> {
    block: &'a FlagBlock,
    buffers: &'a StepBuffers<'a>,
    bytes: usize,
    short: bool,
}

impl StepTransfer<'_> {
    fn slot_memory(&self, slot: Slot) -> SharedMem<'_> {
        slot_memory(self.block, slot, self.bytes, self.short)
    }

    fn published(&self) -> SharedMem<'_> {
        self.block.line_payload(1, GENERATION_LINE).slice(0, self.bytes)
    }

    fn reduce_args(&self) -> ReduceArgs<'_> {
        self.buffers.reduce_args.expect("a reduction has an operation")
    }
}

impl StepData for StepTransfer<'_> {
    fn write_slot(&mut self, slot: Slot) {
        self.buffers.from.copy_out(self.slot_memory(slot));
    }

    fn reduce(&mut self, from: Slot, into: Slot) {
        let ReduceArgs { reducer, datatype, count } = self.reduce_args();
        let elements = |slot| UserPtr::over(self.slot_memory(slot), datatype, count);
        reducer.apply(elements(from), elements(into), count);
    }

    fn reduce_pair(&mut self, first: Slot, second: Slot) {
        let ReduceArgs { reducer, count, .. } = self.reduce_args();
        let kernel = reducer.predefined().expect("pairs are formed with predefined operations alone");
        let mut result = [0; SHORT_BYTES];
        let result = &mut result[..self.bytes];
        self.slot_memory(second).read(result);
        kernel.apply(&mut *result, self.slot_memory(first), count);
        self.buffers.into.fill(result);
    }

    fn read_result(&mut self, slot: Slot) {
        self.buffers.into.copy_in(self.slot_memory(slot));
    }

    fn publish_result(&mut self, slot: Slot) {
        let mut result = [0; SHORT_BYTES];
        self.slot_memory(slot).read(&mut result[..self.bytes]);
        self.published().write(&result[..self.bytes]);
    }

    fn read_published(&mut self) {
        self.buffers.into.copy_in(self.published());
    }

    fn next_bytes(&self) -> Option<u32> {
        let bytes = self.buffers.next.len();
        (bytes > SHORT_BYTES as u64).then_some(bytes as u32)
    }

    fn write_next_slot(&mut self, slot: Slot) {
        let next = &self.buffers.next;
        next.copy_out(slot_memory(self.block, slot, next.len() as usize, false));
    }
}

/// One member of a communicator, with the flags of its block.
pub struct ShmCollective {
    participant: Participant,
    flags: ShmFlagArray,
    /// A member that has ended and had not left a step. If there is one, no step can end any more, and each further
    /// call fails.
    pub lost_process: Option<Peer>,
}

impl ShmCollective {
    /// Makes the view of member `me`. `doorbells` are the doorbells of all members, in rank order.
    pub fn new(block: FlagBlock, me: usize, doorbells: Doorbells) -> ShmCollective {
        let participant = Participant::new(me, doorbells.count());
        ShmCollective { participant, flags: ShmFlagArray { block, doorbells, me }, lost_process: None }
    }

    /// The member as if `steps` steps had been executed.
    #[cfg(test)]
    pub fn after(self, steps: u64) -> ShmCollective {
        ShmCollective { participant: self.participant.after(steps), ..self }
    }

    /// Returns the description of a step with these buffers.
    #[inline]
    pub fn spec(kind: StepKind, buffers: &StepBuffers<'_>) -> StepSpec {
        let bytes = buffers.from.len();
        assert!(bytes < BYTES_MAX.into(), "a shm step of {bytes} bytes");
        // A function of the application must get memory that is aligned for its datatype, and the bytes behind the
        // flag in a cache line are not aligned; so a reduction uses short slots only with a predefined operation.
        // One element of a pair type such as MPI_DOUBLE_INT lies in one piece without its padding, but a kernel
        // counts the padding too; so such a reduction is no pair step.
        let (predefined, whole) =
            match buffers.reduce_args.map(|reduce_args| (reduce_args.reducer.predefined(), reduce_args.count)) {
                Some((Some(kernel), count)) => (true, kernel.element_bytes() * count == bytes),
                Some((None, _)) => (false, false),
                None => (true, true),
            };
        let short = bytes <= SHORT_BYTES as u64 && predefined;
        StepSpec { kind, bytes: bytes as u32, short, pair: short && whole }
    }

    /// Advances a step as far as possible without waiting. Returns the result when the step has ended for this
    /// member; `None` while it is in progress.
    #[inline]
    pub fn poll(&mut self, phase: &mut StepPhase, spec: &StepSpec, buffers: &StepBuffers<'_>) -> Option<StepResult> {
        // A barrier has no data: if its `bytes` are not 0, they only mark a rank whose data are missing
        // (`without_data`).
        let bytes = if spec.kind == StepKind::Barrier { 0 } else { spec.bytes as usize };
        let mut data = StepTransfer { block: &self.flags.block, buffers, bytes, short: spec.short };
        self.participant.poll(phase, spec, &self.flags, &mut data)
    }

    /// Advances an exchange in the same way as `poll` advances other steps.
    #[inline]
    pub fn poll_exchange(
        &mut self,
        phase: &mut StepPhase,
        step: &ExchangeSpec,
        data: &mut impl ExchangeData,
    ) -> Option<StepResult> {
        let mut slot_io = SlotExchange { data, block: &self.flags.block };
        self.participant.exchange(phase, step, &self.flags, &mut slot_io)
    }

    pub fn missing_member(&self) -> Option<usize> {
        self.participant.missing_member(&self.flags)
    }

    /// Returns a member that has ended and has not left the step in progress; `None` if there is none. `has_ended`
    /// tells whether the process of a member has ended.
    pub fn lost_member_among(&self, has_ended: impl Fn(usize) -> bool) -> Option<usize> {
        self.participant.lost_member((0..self.flags.doorbells.count()).filter(|&member| has_ended(member)), &self.flags)
    }
}

/// Records that this member has freed the communicator and executes no more steps. Returns true on the last of the
/// `members` members.
pub fn depart(block: &FlagBlock, members: usize) -> bool {
    // AcqRel: the last member to come here sees all accesses that the others made before.
    let before = block.flag(0, DEPARTED_LINE).fetch_add(1, Ordering::AcqRel);
    before + 1 == members as u64
}

/// Returns the description and buffers of a step to which this member contributes nothing, because its data are
/// missing. The length in its flag differs from that of every member that has its data, so that the members
/// that wait for its data detect a mismatch.
#[cold]
pub fn without_data<'a>(spec: StepSpec, buffers: StepBuffers<'a>) -> (StepSpec, StepBuffers<'a>) {
    let reduce_args = buffers.reduce_args.map(|reduce_args| ReduceArgs { count: 0, ..reduce_args });
    let bytes = u32::from(spec.kind == StepKind::Barrier);
    (StepSpec { bytes, ..spec }, StepBuffers { reduce_args, ..StepBuffers::NONE })
}

#[cold]
pub fn mismatch_error(call: &str, bytes: u32) -> Error {
    let text = format!(
        "the members of the communicator do not agree on this {call}: this rank passes {bytes} bytes, and another rank \
         passes other counts or types, or calls another function"
    );
    Error::new(Class::Truncate, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_job::layout::flag_payload;

    /// Each half of the payload area belongs to one parity; a reader may still need the contribution of that
    /// parity's previous step.
    #[test]
    fn contributions_go_around_their_half_of_the_room_and_stay_in_it() {
        for payload_bytes in [2, 3, 5, 16, 17, 64, 1000].map(|local| flag_payload(local, 0)) {
            for bytes in [1, FIXED_OFFSET_BYTES, FIXED_OFFSET_BYTES + 1, 3 * PAGE, flag_step(payload_bytes)]
                .map(|bytes| bytes.min(flag_step(payload_bytes)))
            {
                for (parity, turn) in (0..2).flat_map(|parity| (0..300).map(move |turn| (parity, turn))) {
                    let at = |turn| payload_offset(Slot { member: 0, parity, rotation: turn }, bytes, payload_bytes);
                    let half = parity * payload_bytes / 2..(parity + 1) * payload_bytes / 2;
                    assert!(
                        half.start <= at(turn) && at(turn) + bytes <= half.end,
                        "{bytes} of {payload_bytes}, turn {turn}"
                    );
                    let has_places = bytes > FIXED_OFFSET_BYTES && half.len() >= 2 * bytes.next_multiple_of(PAGE);
                    assert_eq!(at(turn) != at(turn + 1), has_places, "{bytes} of {payload_bytes}, turn {turn}");
                }
            }
        }
    }
}
