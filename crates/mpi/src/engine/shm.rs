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
use hawser_base::cache_distance::CacheDistance;
use hawser_base::{Class, Error, Peer, SharedMem, UserMem};
use hawser_coll::select::ONE_STEP_BYTES;
use hawser_datatype::{Datatype, ReduceKernel, UserPtr};
use hawser_job::layout::{FLAG_LINES, FLAG_PAYLOAD_WIDE, LINE, MAX_LOCAL, WIDE_BLOCKS, flag_payload, flag_step};
use hawser_job::{Doorbells, FlagBlock};
use hawser_os::map::PAGE;
use hawser_p2p::buffer::Buffer;
use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;
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
/// The least payload of a member, of a block that is not wide on the largest host.
const LEAST_PAYLOAD: usize = flag_payload(MAX_LOCAL, WIDE_BLOCKS);
const _: () = assert!(flag_step(LEAST_PAYLOAD) as u64 >= ONE_STEP_BYTES);

/// Returns the maximum length, in bytes, of a contribution to a step.
pub fn step_bytes(block: &FlagBlock) -> usize {
    flag_step(block.payload_bytes())
}

/// The maximum length, in bytes, of a payload that always lies at the same address. The addresses of longer payloads
/// rotate through the member's payload area, because a write to a cache line that another core's cache still holds
/// takes four times as long as a write to a line that both cores' caches have evicted
/// (docs/measurements/2026-11-23-collectives.md).
const FIXED_OFFSET_BYTES: usize = 4096;

/// The length, in bytes, of the parts in which the root computes a long result: with its operands it stays in a core's
/// first-level cache.
const FOLD_BYTES: usize = 4096;

/// The length, in bytes, from which the distance of the other members decides where the root computes the result.
const FAR_FROM_BYTES: usize = 1024;

/// The number of such steps from one measurement of the distance to the next: a measurement takes a fifth of the time
/// of a step of 1 KiB between far cores.
const DISTANCE_PERIOD: u8 = 16;

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
            // This includes our own doorbell. It is armed only in a poll of a nonblocking step before this thread or
            // the progress thread sleeps, which then polls once more.
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

/// A step of a call that returns before the step has ended, with all that the step needs.
pub struct OwnedStep {
    phase: StepPhase,
    spec: StepSpec,
    from: Buffer,
    into: Buffer,
    reduction: Option<(Reducer, Arc<Datatype>, u64)>,
}

impl OwnedStep {
    /// Makes a step that has not begun. `reduction` has the operation, the datatype and the number of its elements.
    pub fn new(
        kind: StepKind,
        from: Buffer,
        into: Buffer,
        reduction: Option<(Reducer, Arc<Datatype>, u64)>,
    ) -> OwnedStep {
        let buffers = StepBuffers { from, into, reduce_args: args_of(&reduction), next: Buffer::EMPTY };
        let spec = ShmCollective::spec(kind, &buffers);
        let StepBuffers { from, into, .. } = buffers;
        OwnedStep { phase: StepPhase::Enter, spec, from, into, reduction }
    }

    /// The length of this member's contribution, in bytes.
    pub fn bytes(&self) -> u32 {
        self.spec.bytes
    }

    /// Advances the step as `ShmCollective::poll` does.
    #[inline]
    pub fn poll(&mut self, shm: &mut ShmCollective) -> Option<StepResult> {
        let OwnedStep { phase, spec, from, into, reduction } = self;
        let (from, into, reduce_args) = (from.clone(), into.clone(), args_of(reduction));
        shm.poll(phase, spec, &StepBuffers { from, into, reduce_args, next: Buffer::EMPTY })
    }
}

fn args_of(reduction: &Option<(Reducer, Arc<Datatype>, u64)>) -> Option<ReduceArgs<'_>> {
    reduction.as_ref().map(|(reducer, datatype, count)| ReduceArgs { reducer, datatype, count: *count })
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
    me: usize,
    buffers: &'a StepBuffers<'a>,
    bytes: usize,
    short: bool,
    /// Memory for `fold`, which makes it as long as it needs it.
    scratch: &'a mut Vec<u8>,
    /// The distance of the first other member, which stands for all, and whether it counts as far if this step has
    /// FAR_FROM_BYTES or more.
    distance: &'a mut CacheDistance,
    is_far: bool,
}

impl StepTransfer<'_> {
    /// Times the load of a contribution's first bytes, which its writer alone has in its cache. A step of 0 bytes has
    /// none.
    fn time_load(&mut self, slot: Slot) {
        if self.bytes >= FAR_FROM_BYTES && self.distance.is_due(DISTANCE_PERIOD) {
            let memory = slot_memory(self.block, slot, self.bytes, self.short);
            let (first, mut byte) = (memory.slice(0, 1), [0]);
            self.distance.time(|| {
                first.read(&mut byte);
                black_box(byte);
                true
            });
        }
    }

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
        if from.member == 0 {
            self.time_load(if self.me == 0 { into } else { from });
        }
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

    /// Returns whether the operation is predefined, the buffers are dense and the other members are near. Far members
    /// write a slot again in half the time if the root has written it too (measured with 8 to 64 KiB,
    /// docs/measurements/2026-11-27-reduce.md): a line that the root has only read is in both caches, and must first
    /// be invalidated.
    fn can_fold(&self) -> bool {
        let (Some(reduce_args), Buffer::Dense(from), Buffer::Dense(into)) =
            (self.buffers.reduce_args, &self.buffers.from, &self.buffers.into)
        else {
            return false;
        };
        let is_possible = |kernel: &ReduceKernel| {
            let element = kernel.element_bytes();
            element * reduce_args.count == self.bytes as u64 && element <= FOLD_BYTES as u64
        };
        // Buffers of the program may overlap in part, which MPI forbids. A kernel needs the same memory or no overlap.
        let distance = from.as_ptr().addr().abs_diff(into.as_ptr().addr());
        let is_far = self.is_far && self.bytes >= FAR_FROM_BYTES;
        !is_far
            && reduce_args.reducer.predefined().is_some_and(is_possible)
            && from.len() == into.len()
            && (distance == 0 || distance >= from.len())
    }

    fn fold(&mut self, me: usize, members: usize, slot_of: impl Fn(usize) -> Slot) {
        self.time_load(slot_of(usize::from(me == 0)));
        let StepTransfer { block, buffers, bytes, short, ref mut scratch, .. } = *self;
        let kernel = buffers.reduce_args.and_then(|reduce_args| reduce_args.reducer.predefined());
        let (Some(kernel), Buffer::Dense(from), Buffer::Dense(into)) = (kernel, &buffers.from, &buffers.into) else {
            unreachable!("`can_fold` has excluded it")
        };
        scratch.resize(2 * FOLD_BYTES, 0);
        let element = kernel.element_bytes() as usize;
        let each = FOLD_BYTES / element * element;
        for at in (0..bytes).step_by(each) {
            let len = each.min(bytes - at);
            let slots = |member| slot_memory(block, slot_of(member), bytes, short).slice(at, len);
            fold_part(kernel, (me, members), (from.slice(at, len), into.slice(at, len)), slots, scratch);
        }
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

/// Computes a part of the result of a reduction in `into`, at most FOLD_BYTES bytes. `from` is the same part of member
/// `me`'s own contribution, and is the same memory or does not overlap. `scratch` has two times FOLD_BYTES bytes.
///
/// The operands and their sides are those of `StepData::reduce`: if one of two operands is NaN, its side decides which
/// of them a maximum keeps. So each contribution is copied first, and the result of the lower ranks reduced into the
/// copy.
fn fold_part<'a>(
    kernel: &ReduceKernel,
    (me, members): (usize, usize),
    (from, into): (UserMem<'a>, UserMem<'a>),
    slots: impl Fn(usize) -> SharedMem<'a>,
    scratch: &'a mut [u8],
) {
    let count = into.len() as u64 / kernel.element_bytes();
    let (first, second) = scratch.split_at_mut(FOLD_BYTES);
    let copies = [first, second].map(|copy| UserMem::of_slice(&mut copy[..into.len()]));
    let contribution = |member| if member == me { from.as_shared() } else { slots(member) };
    let mut lower = contribution(0);
    if members == 2 && lower.as_ptr() == into.as_ptr() {
        lower.read_user(copies[0]);
        lower = copies[0].as_shared();
    }
    for member in 1..members {
        // Only the last turn writes to `into`, which may be our own contribution.
        let (own, higher) = (contribution(member), if member + 1 < members { copies[member % 2] } else { into });
        if own.as_ptr() != higher.as_ptr() {
            own.read_user(higher);
        }
        kernel.apply(higher, lower, count);
        lower = higher.as_shared();
    }
}

/// One member of a communicator, with the flags of its block.
pub struct ShmCollective {
    participant: Participant,
    flags: ShmFlagArray,
    /// A member that has ended and had not left a step. If there is one, no step can end any more, and each further
    /// call fails.
    pub lost_process: Option<Peer>,
    /// Memory for reductions at this member as the root.
    scratch: Vec<u8>,
    /// The distance of the first other member, and whether it counts as far in the step in progress.
    distance: CacheDistance,
    is_far: bool,
}

impl ShmCollective {
    /// Makes the view of member `me`. `doorbells` are the doorbells of all members, in rank order.
    pub fn new(block: FlagBlock, me: usize, doorbells: Doorbells) -> ShmCollective {
        let participant = Participant::new(me, doorbells.count());
        let flags = ShmFlagArray { block, doorbells, me };
        ShmCollective {
            participant,
            flags,
            lost_process: None,
            scratch: Vec::new(),
            distance: CacheDistance::default(),
            is_far: false,
        }
    }

    /// The member as if `steps` steps had been executed.
    #[cfg(test)]
    pub fn after(self, steps: u64) -> ShmCollective {
        ShmCollective { participant: self.participant.after(steps), ..self }
    }

    /// The member as if the others were far.
    #[cfg(test)]
    pub fn among_far(self) -> ShmCollective {
        ShmCollective { distance: CacheDistance::far(), ..self }
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
        if *phase == StepPhase::Enter {
            self.is_far = self.distance.is_far();
        }
        let ShmCollective { participant, flags, scratch, distance, .. } = self;
        let (block, me, is_far) = (&flags.block, flags.me, self.is_far);
        let mut data = StepTransfer { block, me, buffers, bytes, short: spec.short, scratch, distance, is_far };
        participant.poll(phase, spec, flags, &mut data)
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
    use hawser_datatype::{Basic, PredefinedOp};

    /// Folds the contributions at each root, in place and not, and compares the result with that of reducing one
    /// contribution after the other into the next.
    fn check_fold(kernel: &ReduceKernel, contributions: &[Vec<u8>]) {
        let (members, len) = (contributions.len(), contributions[0].len());
        let count = len as u64 / kernel.element_bytes();
        let mut expected = contributions[0].clone();
        for higher in &contributions[1..] {
            let lower = std::mem::replace(&mut expected, higher.clone());
            kernel.apply(&mut expected[..], &lower[..], count);
        }
        for (me, is_in_place) in (0..members).flat_map(|me| [(me, false), (me, true)]) {
            let (mut slots, mut scratch) = (contributions.to_vec(), vec![7; 2 * FOLD_BYTES]);
            let (mut from, mut into) = (std::mem::take(&mut slots[me]), vec![9; len]);
            let own = UserMem::of_slice(&mut from);
            let result = if is_in_place { own } else { UserMem::of_slice(&mut into) };
            let views: Vec<SharedMem> = slots.iter_mut().map(|bytes| SharedMem::of_slice(bytes)).collect();
            fold_part(kernel, (me, members), (own, result), |member| views[member], &mut scratch);
            let mut found = vec![0; len];
            result.read(&mut found);
            assert_eq!(found, expected, "root {me} of {members}, in place: {is_in_place}");
            assert!((0..members).all(|member| member == me || slots[member] == contributions[member]));
        }
    }

    /// The sum of floating-point numbers depends on the order of additions.
    #[test]
    fn a_part_is_folded_from_the_lowest_rank_on_whoever_the_root_is() {
        let kernel = ReduceKernel::of(PredefinedOp::Sum, Datatype::basic(Basic::Float)).unwrap();
        for (members, count) in [(2, 1), (3, 7), (4, FOLD_BYTES / 4), (9, 100)] {
            let value = |member: usize, at: usize| 1.5f32.powi((member * 7919 + at * 31) as i32 % 60 - 30);
            let bytes_of = |member| (0..count).flat_map(|at| value(member, at).to_ne_bytes()).collect();
            check_fold(&kernel, &(0..members).map(bytes_of).collect::<Vec<_>>());
        }
    }

    /// If an operand is NaN, or both are zeroes of different signs, the sides of the operands decide.
    #[test]
    fn a_part_is_folded_with_each_operand_at_its_side() {
        let special = [f64::NAN, 1.0, 0.0, -0.0, f64::INFINITY];
        for op in [PredefinedOp::Max, PredefinedOp::Min] {
            let kernel = ReduceKernel::of(op, Datatype::basic(Basic::Double)).unwrap();
            for members in 2..=4 {
                let value = |member: usize, at: usize| special[at / special.len().pow(member as u32) % special.len()];
                let count = special.len().pow(members as u32).min(FOLD_BYTES / 8);
                let bytes_of = |member| (0..count).flat_map(|at| value(member, at).to_ne_bytes()).collect();
                check_fold(&kernel, &(0..members).map(bytes_of).collect::<Vec<_>>());
            }
        }
    }

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
