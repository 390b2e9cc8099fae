//! A communicator's seat at its block of flags in the job's segment, and the data of a step there.
//!
//! It never waits: how a rank waits for the others is in `collective::host`. Used by `run`, `exchange` and
//! `collective::host`; uses `flags`.

use super::exchange::{OnBlock, Trade};
use super::flags::exchange::Exchange;
use super::flags::{BYTES_MAX, Board, Data, Ended, Kind, Phase, Seat, Slot, Spec, Whom, Word};
use crate::ops::Reducer;
use hawser_base::{Class, Error, Peer, SharedMem};
use hawser_datatype::{Datatype, UserPtr};
use hawser_job::plan::{FLAG_LINES, FLAG_PAYLOAD_WIDE, LINE, flag_step};
use hawser_job::{Bells, FlagBlock};
use hawser_os::map::PAGE;
use hawser_p2p::buffer::Buffer;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Lines of a member in the block. Two neighbours are fetched together by today's prefetchers, so lines that
/// are used at the same time by different members are apart.
const SLOT_LINES: [usize; 2] = [0, 2];
const PROGRESS_LINE: usize = 4;
/// Lines of member 0, and of member 1: a block has at least two members.
const ARRIVALS_LINE: usize = 6;
const GENERATION_LINE: usize = 6;
/// A line of member 0: the number of members that have freed the communicator.
const DEPARTED_LINE: usize = 7;
const _: () = assert!(DEPARTED_LINE < FLAG_LINES);

/// The longest contribution, in bytes, that fits into its flag's line.
pub const SHORT_BYTES: usize = LINE - 8;
/// The two slots that share a member's payload area.
const SLOTS: usize = SLOT_LINES.len();
const _: () = assert!(flag_step(FLAG_PAYLOAD_WIDE) < BYTES_MAX as usize);

/// The longest contribution to a step, in bytes.
pub fn step_bytes(block: &FlagBlock) -> usize {
    flag_step(block.room())
}

/// Payloads of up to NEAR bytes always use the same address. Longer ones rotate through the member's payload area:
/// rewriting a cache line that another core still holds costs four times as much as rewriting one that both caches have
/// evicted (docs/measurements/2026-11-23-collectives.md).
const NEAR: usize = 4096;

/// The offset of a contribution of `bytes` in its member's payload area. Each parity has one half of the area, so that
/// steps of other lengths that a reader may still need lie elsewhere.
fn place(slot: Slot, bytes: usize, room: usize) -> usize {
    let half = room / SLOTS;
    let within = match bytes {
        ..=NEAR => 0,
        _ => {
            let each = bytes.next_multiple_of(PAGE);
            (slot.turn % (half / each) as u64) as usize * each
        }
    };
    slot.parity * half + within
}

impl Word for AtomicU64 {
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

/// A block of the segment with the members' doorbells.
pub struct FlagBoard {
    block: FlagBlock,
    bells: Bells,
    me: usize,
}

impl Board for FlagBoard {
    type Word = AtomicU64;

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
    fn wake(&self, whom: Whom) {
        match whom {
            Whom::Nobody => {}
            Whom::One(member) if member == self.me => {}
            Whom::One(member) => self.bells.ring(member),
            Whom::Below => self.ring_all(0..self.me),
            Whom::Above => self.ring_all(self.me + 1..self.bells.count()),
            // Our own doorbell is not armed.
            Whom::All => self.ring_all(0..self.bells.count()),
        }
    }
}

impl FlagBoard {
    #[inline]
    fn ring_all(&self, members: Range<usize>) {
        self.bells.waker_barrier();
        members.for_each(|member| self.bells.ring_after_barrier(member));
    }
}

/// The operation, datatype and count of a reduction.
#[derive(Clone, Copy)]
pub struct Folding<'a> {
    pub reducer: &'a Reducer,
    pub datatype: &'a Datatype,
    pub count: u64,
}

/// The data of one step: the contribution, and the place of the result (the same for a broadcast).
pub struct Parts<'a> {
    pub from: Buffer,
    pub into: Buffer,
    pub folding: Option<Folding<'a>>,
    /// The contribution to the next step, if both belong to one MPI_Allreduce.
    pub ahead: Buffer,
}

impl Parts<'_> {
    pub const NONE: Parts<'static> =
        Parts { from: Buffer::EMPTY, into: Buffer::EMPTY, folding: None, ahead: Buffer::EMPTY };
}

/// The memory of a slot for `bytes`, in its flag's line or in the payload area.
pub fn room(block: &FlagBlock, slot: Slot, bytes: usize, short: bool) -> SharedMem<'_> {
    if short {
        block.line_payload(slot.member, SLOT_LINES[slot.parity]).slice(0, bytes)
    } else {
        block.payload(slot.member).slice(place(slot, bytes, block.room()), bytes)
    }
}

/// The data of a step and the room for it in the block.
struct Traffic<'a> {
    block: &'a FlagBlock,
    parts: &'a Parts<'a>,
    bytes: usize,
    short: bool,
}

impl Traffic<'_> {
    fn room(&self, slot: Slot) -> SharedMem<'_> {
        room(self.block, slot, self.bytes, self.short)
    }

    fn published(&self) -> SharedMem<'_> {
        self.block.line_payload(1, GENERATION_LINE).slice(0, self.bytes)
    }

    fn folding(&self) -> Folding<'_> {
        self.parts.folding.expect("a reduction has an operation")
    }
}

impl Data for Traffic<'_> {
    fn put(&mut self, slot: Slot) {
        self.parts.from.copy_out(self.room(slot));
    }

    fn fold(&mut self, from: Slot, into: Slot) {
        let Folding { reducer, datatype, count } = self.folding();
        let elements = |slot| UserPtr::over(self.room(slot), datatype, count);
        reducer.apply(elements(from), elements(into), count);
    }

    fn pair(&mut self, first: Slot, second: Slot) {
        let Folding { reducer, count, .. } = self.folding();
        let kernel = reducer.predefined().expect("pairs are formed with predefined operations alone");
        let mut result = [0; SHORT_BYTES];
        let result = &mut result[..self.bytes];
        self.room(second).read(result);
        kernel.apply(&mut *result, self.room(first), count);
        self.parts.into.fill(result);
    }

    fn take(&mut self, slot: Slot) {
        self.parts.into.copy_in(self.room(slot));
    }

    fn publish(&mut self, slot: Slot) {
        let mut result = [0; SHORT_BYTES];
        self.room(slot).read(&mut result[..self.bytes]);
        self.published().write(&result[..self.bytes]);
    }

    fn take_published(&mut self) {
        self.parts.into.copy_in(self.published());
    }

    fn ahead(&self) -> Option<u32> {
        let bytes = self.parts.ahead.len();
        (bytes > SHORT_BYTES as u64).then_some(bytes as u32)
    }

    fn put_ahead(&mut self, slot: Slot) {
        let ahead = &self.parts.ahead;
        ahead.copy_out(room(self.block, slot, ahead.len() as usize, false));
    }
}

/// A communicator's seat at its block.
pub struct Host {
    seat: Seat,
    board: FlagBoard,
    /// A member that died before it had left a step: no step can end any more.
    pub lost: Option<Peer>,
}

impl Host {
    /// Makes the seat of member `me`. `bells` are the members' doorbells, in rank order.
    pub fn new(block: FlagBlock, me: usize, bells: Bells) -> Host {
        let seat = Seat::new(me, bells.count());
        Host { seat, board: FlagBoard { block, bells, me }, lost: None }
    }

    /// The host as if `steps` steps had been executed.
    #[cfg(test)]
    pub fn after(self, steps: u64) -> Host {
        Host { seat: self.seat.after(steps), ..self }
    }

    /// Describes a step with these data.
    #[inline]
    pub fn spec(kind: Kind, parts: &Parts<'_>) -> Spec {
        let bytes = parts.from.len();
        assert!(bytes < BYTES_MAX.into(), "a host step of {bytes} bytes");
        // The application's functions get memory aligned for their type, which a line's rest is not. One element of a
        // pair type is in one run but without its padding, which a kernel over plain memory counts in.
        let (predefined, whole) = match parts.folding.map(|folding| (folding.reducer.predefined(), folding.count)) {
            Some((Some(kernel), count)) => (true, kernel.element_bytes() * count == bytes),
            Some((None, _)) => (false, false),
            None => (true, true),
        };
        let short = bytes <= SHORT_BYTES as u64 && predefined;
        Spec { kind, bytes: bytes as u32, short, pair: short && whole }
    }

    /// Advances a step as far as possible without waiting; `Some` when it has ended.
    #[inline]
    pub fn poll(&mut self, phase: &mut Phase, spec: &Spec, parts: &Parts<'_>) -> Option<Ended> {
        // The `bytes` of a barrier are no data.
        let bytes = if spec.kind == Kind::Barrier { 0 } else { spec.bytes as usize };
        let mut data = Traffic { block: &self.board.block, parts, bytes, short: spec.short };
        self.seat.poll(phase, spec, &self.board, &mut data)
    }

    /// Advances an exchange, as `poll` does a step.
    #[inline]
    pub fn poll_exchange(&mut self, phase: &mut Phase, step: &Exchange, trade: &mut impl Trade) -> Option<Ended> {
        let mut moves = OnBlock { trade, block: &self.board.block };
        self.seat.exchange(phase, step, &self.board, &mut moves)
    }

    pub fn missing(&self) -> Option<usize> {
        self.seat.missing(&self.board)
    }

    /// Returns a member that has exited without leaving the step that is in progress.
    pub fn lost_among(&self, has_ended: impl Fn(usize) -> bool) -> Option<usize> {
        self.seat.lost((0..self.board.bells.count()).filter(|&member| has_ended(member)), &self.board)
    }
}

/// Records that this member has freed the communicator and is through with all steps. Returns true for the last of
/// `members`.
pub fn depart(block: &FlagBlock, members: usize) -> bool {
    // AcqRel: the last member sees all others' accesses before this.
    let before = block.flag(0, DEPARTED_LINE).fetch_add(1, Ordering::AcqRel);
    before + 1 == members as u64
}

/// A step to which a member contributes nothing, because its data are spoilt: its flag differs from that of every
/// member but those whose data are spoilt too.
#[cold]
pub fn without_data<'a>(spec: Spec, parts: Parts<'a>) -> (Spec, Parts<'a>) {
    let folding = parts.folding.map(|folding| Folding { count: 0, ..folding });
    let bytes = u32::from(spec.kind == Kind::Barrier);
    (Spec { bytes, ..spec }, Parts { folding, ..Parts::NONE })
}

#[cold]
pub fn mismatch(call: &str, bytes: u32) -> Error {
    let text = format!(
        "the members of the communicator do not agree on this {call}: this rank gives {bytes} bytes, another one called \
         with other counts or types, or called another function"
    );
    Error::new(Class::Truncate, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_job::plan::flag_payload;

    /// Each half of the room belongs to one parity; a reader may still need the contribution of that parity's previous
    /// step.
    #[test]
    fn contributions_go_around_their_half_of_the_room_and_stay_in_it() {
        for room in [2, 3, 5, 16, 17, 64, 1000].map(|local| flag_payload(local, 0)) {
            for bytes in [1, NEAR, NEAR + 1, 3 * PAGE, flag_step(room)].map(|bytes| bytes.min(flag_step(room))) {
                for (parity, turn) in (0..2).flat_map(|parity| (0..300).map(move |turn| (parity, turn))) {
                    let at = |turn| place(Slot { member: 0, parity, turn }, bytes, room);
                    let half = parity * room / 2..(parity + 1) * room / 2;
                    assert!(half.start <= at(turn) && at(turn) + bytes <= half.end, "{bytes} of {room}, turn {turn}");
                    let has_places = bytes > NEAR && half.len() >= 2 * bytes.next_multiple_of(PAGE);
                    assert_eq!(at(turn) != at(turn + 1), has_places, "{bytes} of {room}, turn {turn}");
                }
            }
        }
    }
}
