//! The flags of shm steps over all interleavings.
//!
//! Data are relaxed atomics of the model: a member that reads a slot too early, or finds it written again too
//! early, gets a wrong value in some execution. A member that has to wait sleeps until it is woken, so that a wake
//! that is not sent is a deadlock. The last tests weaken an order and must see that.

use hawser_mpi::engine::flags::exchange::{ExchangeSpec, SlotIo, SourceSlot};
use hawser_mpi::engine::flags::{
    AtomicFlag, FlagArray, Members, Participant, Slot, StepData, StepKind, StepPhase, StepResult, StepSpec,
};
use loom::sync::atomic::AtomicU64;
use loom::sync::atomic::Ordering::{self, Relaxed};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// A flag, and whether its Releases are kept.
struct ModelFlag {
    value: AtomicU64,
    weak: bool,
}

impl AtomicFlag for ModelFlag {
    fn load(&self, order: Ordering) -> u64 {
        self.value.load(order)
    }
    fn store(&self, value: u64, order: Ordering) {
        self.value.store(value, if self.weak { Relaxed } else { order })
    }
    fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        self.value.fetch_add(value, if self.weak { Relaxed } else { order })
    }
}

/// The flags whose order is taken away.
#[derive(Clone, Copy, PartialEq)]
enum Weak {
    Nothing,
    Slots,
    Arrivals,
    Generation,
}

struct ModelFlagArray {
    slots: Vec<[ModelFlag; 2]>,
    progress: Vec<ModelFlag>,
    arrivals: ModelFlag,
    generation: ModelFlag,
    data: Vec<[AtomicU64; 2]>,
    published: AtomicU64,
    doorbells: Vec<ModelDoorbell>,
}

/// The number of times that a member was woken.
struct ModelDoorbell {
    ring_count: Mutex<u64>,
    has_rung: Condvar,
}

impl ModelDoorbell {
    fn ring(&self) {
        *self.ring_count.lock().unwrap() += 1;
        self.has_rung.notify_all();
    }

    /// Sleeps until there are more rings than `known`; the rings then.
    fn sleep(&self, known: u64) -> u64 {
        let mut ring_count = self.ring_count.lock().unwrap();
        while *ring_count == known {
            ring_count = self.has_rung.wait(ring_count).unwrap();
        }
        *ring_count
    }
}

impl ModelFlagArray {
    fn new(members: usize, weak: Weak) -> ModelFlagArray {
        let flag = |which| ModelFlag { value: AtomicU64::new(0), weak: weak == which };
        ModelFlagArray {
            slots: (0..members).map(|_| [flag(Weak::Slots), flag(Weak::Slots)]).collect(),
            progress: (0..members).map(|_| ModelFlag { value: AtomicU64::new(0), weak: false }).collect(),
            arrivals: flag(Weak::Arrivals),
            generation: flag(Weak::Generation),
            data: (0..members).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect(),
            published: AtomicU64::new(0),
            doorbells: (0..members)
                .map(|_| ModelDoorbell { ring_count: Mutex::new(0), has_rung: Condvar::new() })
                .collect(),
        }
    }

    fn cell(&self, slot: Slot) -> &AtomicU64 {
        &self.data[slot.member][slot.parity]
    }
}

/// The flags as a member sees them.
struct View<'a>(&'a ModelFlagArray, usize);

impl FlagArray for View<'_> {
    type Flag = ModelFlag;

    fn slot(&self, member: usize, parity: usize) -> &ModelFlag {
        &self.0.slots[member][parity]
    }
    fn progress(&self, member: usize) -> &ModelFlag {
        &self.0.progress[member]
    }
    fn arrivals(&self) -> &ModelFlag {
        &self.0.arrivals
    }
    fn generation(&self) -> &ModelFlag {
        &self.0.generation
    }
    fn wake(&self, members: Members) {
        let doorbells = self.0.doorbells.iter().enumerate();
        let is_woken = |member: usize| member != self.1 && includes(members, self.1, member);
        doorbells.filter(|&(member, _)| is_woken(member)).for_each(|(_, doorbell)| doorbell.ring());
    }
}

fn includes(members: Members, me: usize, other: usize) -> bool {
    match members {
        Members::Empty => false,
        Members::One(member) => member == other,
        Members::Below => other < me,
        Members::Above => other > me,
        Members::All => true,
    }
}

/// One value a member; sums.
struct ModelData<'a> {
    flags: &'a ModelFlagArray,
    own: u64,
    result: Option<u64>,
    /// Whether a root computes the result in its own memory.
    folds: bool,
    /// The contribution to the next step.
    next_contribution: Option<u64>,
}

impl StepData for ModelData<'_> {
    fn write_slot(&mut self, slot: Slot) {
        self.flags.cell(slot).store(self.own, Relaxed);
    }
    fn reduce(&mut self, from: Slot, into: Slot) {
        let sum = self.flags.cell(from).load(Relaxed) + self.flags.cell(into).load(Relaxed);
        self.flags.cell(into).store(sum, Relaxed);
    }
    fn reduce_pair(&mut self, first: Slot, second: Slot) {
        self.result = Some(self.flags.cell(first).load(Relaxed) + self.flags.cell(second).load(Relaxed));
    }
    fn can_fold(&self) -> bool {
        self.folds
    }
    fn fold(&mut self, me: usize, members: usize, slot_of: impl Fn(usize) -> Slot) {
        let others = (0..members).filter(|&member| member != me);
        let sum: u64 = others.map(|member| self.flags.cell(slot_of(member)).load(Relaxed)).sum();
        self.result = Some(self.own + sum);
    }
    fn read_result(&mut self, slot: Slot) {
        self.result = Some(self.flags.cell(slot).load(Relaxed));
    }
    fn publish_result(&mut self, slot: Slot) {
        self.flags.published.store(self.flags.cell(slot).load(Relaxed), Relaxed);
    }
    fn read_published(&mut self) {
        self.result = Some(self.flags.published.load(Relaxed));
    }
    fn next_bytes(&self) -> Option<u32> {
        self.next_contribution.map(|_| 8)
    }
    fn write_next_slot(&mut self, slot: Slot) {
        self.flags.cell(slot).store(self.next_contribution.unwrap(), Relaxed);
    }
}

impl SlotIo for ModelSlotIo<'_> {
    fn write_slot(&mut self, slot: Slot) {
        self.data.write_slot(slot);
    }
    fn source(&self, number: usize) -> Option<SourceSlot> {
        Some(SourceSlot { member: *self.from.get(number)?, bytes: 8 })
    }
    fn read_slot(&mut self, _: usize, slot: Slot) {
        let sum = self.data.result.unwrap_or(0) + self.data.flags.cell(slot).load(Relaxed);
        self.data.result = Some(sum);
    }
}

/// An exchange: the sum of what the sources have.
struct ModelSlotIo<'a> {
    data: ModelData<'a>,
    from: Vec<usize>,
}

/// The kind of step that a test runs.
#[derive(Clone, Copy)]
enum Step {
    Collective(StepSpec),
    /// All members send to all, lower ones to higher ones, one to the others, or the others to one.
    AllToAll,
    Scan,
    From(usize),
    To(usize),
}

impl Step {
    fn exchange(self, me: usize) -> ExchangeSpec {
        let (readers, sources) = match self {
            Step::Collective(_) => unreachable!("no exchange"),
            Step::AllToAll => (Members::All, Members::All),
            Step::Scan => (Members::Above, Members::Below),
            Step::From(root) if root == me => (Members::All, Members::Empty),
            Step::From(root) => (Members::Empty, Members::One(root)),
            Step::To(root) if root == me => (Members::Empty, Members::All),
            Step::To(root) => (Members::One(root), Members::Empty),
        };
        ExchangeSpec { bytes: 8, readers, sources }
    }
}

fn contribution(step: usize, member: usize) -> u64 {
    (10 * (step as u64 + 1)).pow(2) + member as u64 + 1
}

fn run(flags: &ModelFlagArray, me: usize, members: usize, steps: &[Step]) {
    let (mut participant, mut known) = (Participant::new(me, members), 0);
    for (n, &step) in steps.iter().enumerate() {
        let has_next = matches!(
            steps.get(n + 1),
            Some(Step::Collective(StepSpec { kind: StepKind::Allreduce, short: false, .. }))
        );
        let mut data = ModelData {
            flags,
            own: contribution(n, me),
            result: None,
            folds: matches!(step, Step::Collective(StepSpec { short: false, .. })),
            next_contribution: has_next.then(|| contribution(n + 1, me)),
        };
        let mut phase = StepPhase::Enter;
        let mut until_ended = |poll: &mut dyn FnMut(&mut Participant, &mut StepPhase) -> Option<StepResult>| loop {
            match poll(&mut participant, &mut phase) {
                Some(step_result) => break assert_eq!(step_result, StepResult::Complete),
                None => known = flags.doorbells[me].sleep(known),
            }
        };
        let (received, expected) = match step {
            Step::Collective(spec) => {
                until_ended(&mut |seat, phase| seat.poll(phase, &spec, &View(flags, me), &mut data));
                (data.result, result(&spec, n, me, members))
            }
            _ => {
                let exchange = step.exchange(me);
                let from: Vec<usize> =
                    (0..members).filter(|&other| other != me && includes(exchange.sources, me, other)).collect();
                let sum = from.iter().map(|&member| contribution(n, member)).reduce(|a, b| a + b);
                let mut slot_io = ModelSlotIo { data, from };
                until_ended(&mut |seat, phase| seat.exchange(phase, &exchange, &View(flags, me), &mut slot_io));
                (slot_io.data.result, sum)
            }
        };
        assert_eq!(received, expected, "step {n} on member {me}");
    }
}

/// The result that a step leaves with a member.
fn result(spec: &StepSpec, n: usize, me: usize, members: usize) -> Option<u64> {
    let total = (0..members).map(|member| contribution(n, member)).sum();
    match spec.kind {
        StepKind::Barrier => None,
        StepKind::Bcast { root } if root == me => None,
        StepKind::Bcast { root } => Some(contribution(n, root)),
        StepKind::Reduce { root } => (root == me).then_some(total),
        StepKind::Allreduce => Some(total),
    }
}

fn model(members: usize, bound: Option<usize>, weak: Weak, steps: &'static [Step]) {
    let mut checker = loom::model::Builder::new();
    checker.preemption_bound = bound;
    checker.check(move || {
        let flags = Arc::new(ModelFlagArray::new(members, weak));
        let others: Vec<_> = (1..members)
            .map(|me| {
                let flags = flags.clone();
                thread::spawn(move || run(&flags, me, members, steps))
            })
            .collect();
        run(&flags, 0, members, steps);
        others.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

const fn step(kind: StepKind, short: bool, pair: bool) -> Step {
    Step::Collective(StepSpec { kind, bytes: 8, short, pair })
}
const PAIR: Step = step(StepKind::Allreduce, true, true);
const SHORT: Step = step(StepKind::Allreduce, true, false);
const LONG: Step = step(StepKind::Allreduce, false, false);
const BARRIER: Step = step(StepKind::Barrier, true, false);
const BCAST_0: Step = step(StepKind::Bcast { root: 0 }, true, true);
const BCAST_1: Step = step(StepKind::Bcast { root: 1 }, true, true);
const REDUCE_0: Step = step(StepKind::Reduce { root: 0 }, true, true);
/// The root of these writes no slot.
const FOLD_0: Step = step(StepKind::Reduce { root: 0 }, false, false);
const FOLD_1: Step = step(StepKind::Reduce { root: 1 }, false, false);

#[test]
fn pairs_follow_each_other() {
    model(2, Some(3), Weak::Nothing, &[PAIR, PAIR, PAIR]);
}

#[test]
fn a_pair_between_steps_that_hold_nobody_up() {
    model(2, Some(2), Weak::Nothing, &[PAIR, REDUCE_0, PAIR]);
    model(2, Some(2), Weak::Nothing, &[PAIR, BCAST_0, BCAST_1]);
}

#[test]
fn central_steps_follow_each_other() {
    model(2, Some(2), Weak::Nothing, &[SHORT, LONG, SHORT]);
    model(3, Some(1), Weak::Nothing, &[SHORT, SHORT]);
    model(3, Some(1), Weak::Nothing, &[LONG, BARRIER]);
}

#[test]
fn contributions_to_the_next_step_are_given_while_one_waits() {
    model(2, Some(3), Weak::Nothing, &[LONG, LONG, LONG]);
    model(2, Some(2), Weak::Nothing, &[LONG, LONG, BCAST_1, BCAST_1]);
    model(3, Some(1), Weak::Nothing, &[LONG, LONG, LONG]);
}

#[test]
fn a_root_that_runs_ahead_waits_for_its_slowest_reader() {
    model(2, Some(2), Weak::Nothing, &[BCAST_0, BCAST_0, BCAST_0]);
    model(3, Some(1), Weak::Nothing, &[BCAST_0, BCAST_0, BCAST_0]);
}

#[test]
fn givers_that_run_ahead_wait_for_the_root() {
    model(2, Some(2), Weak::Nothing, &[REDUCE_0, REDUCE_0, REDUCE_0]);
    model(3, Some(1), Weak::Nothing, &[REDUCE_0, REDUCE_0]);
    model(2, Some(2), Weak::Nothing, &[FOLD_0, FOLD_1, FOLD_0]);
    model(2, Some(2), Weak::Nothing, &[LONG, FOLD_0, LONG]);
    model(3, Some(1), Weak::Nothing, &[FOLD_0, FOLD_0]);
    model(3, Some(1), Weak::Nothing, &[FOLD_1, BCAST_1, FOLD_1]);
}

#[test]
fn a_long_result_stays_until_all_have_read_it() {
    model(2, Some(2), Weak::Nothing, &[LONG, BCAST_1, BCAST_1]);
    model(3, Some(1), Weak::Nothing, &[LONG, BCAST_1, LONG]);
}

#[test]
fn exchanges_of_all_follow_each_other() {
    model(2, Some(3), Weak::Nothing, &[Step::AllToAll, Step::AllToAll, Step::AllToAll]);
    model(3, Some(1), Weak::Nothing, &[Step::AllToAll, Step::AllToAll, Step::AllToAll]);
}

#[test]
fn who_gives_in_an_exchange_and_runs_ahead_waits_for_its_readers() {
    model(2, Some(2), Weak::Nothing, &[Step::From(0), Step::From(0), Step::From(0)]);
    model(3, Some(1), Weak::Nothing, &[Step::To(0), Step::To(0), Step::To(0)]);
    model(3, Some(1), Weak::Nothing, &[Step::Scan, Step::Scan, Step::Scan]);
}

#[test]
fn exchanges_between_other_steps_leave_nobody_asleep() {
    model(2, Some(2), Weak::Nothing, &[Step::AllToAll, BCAST_0, BCAST_0]);
    model(2, Some(2), Weak::Nothing, &[Step::AllToAll, REDUCE_0, Step::From(1)]);
    model(3, Some(1), Weak::Nothing, &[Step::AllToAll, REDUCE_0, REDUCE_0]);
    model(3, Some(1), Weak::Nothing, &[LONG, Step::Scan, Step::AllToAll]);
}

#[test]
#[should_panic]
fn without_the_order_of_slots_an_exchange_is_read_too_early() {
    model(2, None, Weak::Slots, &[Step::AllToAll]);
}

#[test]
#[should_panic]
fn without_the_order_of_slots_a_broadcast_is_read_too_early() {
    model(2, None, Weak::Slots, &[BCAST_0]);
}

#[test]
#[should_panic]
fn without_the_order_of_arrivals_a_contribution_is_missed() {
    // It shows as a flag that does not seem to be raised.
    model(2, None, Weak::Arrivals, &[SHORT]);
}

#[test]
#[should_panic]
fn without_the_order_of_the_generation_the_result_is_read_too_early() {
    model(2, None, Weak::Generation, &[SHORT]);
}
