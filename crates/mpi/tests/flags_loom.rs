//! The flags of shm steps over all interleavings.
//!
//! Data are relaxed words of the model: a member that reads a slot too early, or finds it written again too
//! early, gets a wrong value in some execution. A member that has to wait sleeps until it is woken, so that a
//! wake that is not sent is a deadlock. The last tests weaken an order and must see that.

use hawser_mpi::desk::flags::exchange::{Exchange, Moves, Source};
use hawser_mpi::desk::flags::{Board, Data, Ended, Kind, Phase, Seat, Slot, Spec, Whom, Word};
use loom::sync::atomic::AtomicU64;
use loom::sync::atomic::Ordering::{self, Relaxed};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// A word, and whether its Releases are kept.
struct ModelWord {
    word: AtomicU64,
    weak: bool,
}

impl Word for ModelWord {
    fn load(&self, order: Ordering) -> u64 {
        self.word.load(order)
    }
    fn store(&self, value: u64, order: Ordering) {
        self.word.store(value, if self.weak { Relaxed } else { order })
    }
    fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        self.word.fetch_add(value, if self.weak { Relaxed } else { order })
    }
}

/// Which word's order is taken away.
#[derive(Clone, Copy, PartialEq)]
enum Weak {
    Nothing,
    Slots,
    Arrivals,
    Generation,
}

struct ModelBoard {
    slots: Vec<[ModelWord; 2]>,
    progress: Vec<ModelWord>,
    arrivals: ModelWord,
    generation: ModelWord,
    data: Vec<[AtomicU64; 2]>,
    published: AtomicU64,
    bells: Vec<Bell>,
}

/// The number of times that a member was woken.
struct Bell {
    rings: Mutex<u64>,
    rung: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rings.lock().unwrap() += 1;
        self.rung.notify_all();
    }

    /// Sleeps until there are more rings than `known`; the rings then.
    fn sleep(&self, known: u64) -> u64 {
        let mut rings = self.rings.lock().unwrap();
        while *rings == known {
            rings = self.rung.wait(rings).unwrap();
        }
        *rings
    }
}

impl ModelBoard {
    fn new(members: usize, weak: Weak) -> ModelBoard {
        let word = |which| ModelWord { word: AtomicU64::new(0), weak: weak == which };
        ModelBoard {
            slots: (0..members).map(|_| [word(Weak::Slots), word(Weak::Slots)]).collect(),
            progress: (0..members).map(|_| ModelWord { word: AtomicU64::new(0), weak: false }).collect(),
            arrivals: word(Weak::Arrivals),
            generation: word(Weak::Generation),
            data: (0..members).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect(),
            published: AtomicU64::new(0),
            bells: (0..members).map(|_| Bell { rings: Mutex::new(0), rung: Condvar::new() }).collect(),
        }
    }

    fn cell(&self, slot: Slot) -> &AtomicU64 {
        &self.data[slot.member][slot.parity]
    }
}

/// The board as a member sees it.
struct View<'a>(&'a ModelBoard, usize);

impl Board for View<'_> {
    type Word = ModelWord;

    fn slot(&self, member: usize, parity: usize) -> &ModelWord {
        &self.0.slots[member][parity]
    }
    fn progress(&self, member: usize) -> &ModelWord {
        &self.0.progress[member]
    }
    fn arrivals(&self) -> &ModelWord {
        &self.0.arrivals
    }
    fn generation(&self) -> &ModelWord {
        &self.0.generation
    }
    fn wake(&self, whom: Whom) {
        let bells = self.0.bells.iter().enumerate();
        let woken = |member: usize| member != self.1 && names(whom, self.1, member);
        bells.filter(|&(member, _)| woken(member)).for_each(|(_, bell)| bell.ring());
    }
}

fn names(whom: Whom, speaker: usize, other: usize) -> bool {
    match whom {
        Whom::Nobody => false,
        Whom::One(member) => member == other,
        Whom::Below => other < speaker,
        Whom::Above => other > speaker,
        Whom::All => true,
    }
}

/// One value a member; sums.
struct ModelData<'a> {
    board: &'a ModelBoard,
    mine: u64,
    got: Option<u64>,
    /// The contribution to the next step.
    next: Option<u64>,
}

impl Data for ModelData<'_> {
    fn put(&mut self, slot: Slot) {
        self.board.cell(slot).store(self.mine, Relaxed);
    }
    fn fold(&mut self, from: Slot, into: Slot) {
        let sum = self.board.cell(from).load(Relaxed) + self.board.cell(into).load(Relaxed);
        self.board.cell(into).store(sum, Relaxed);
    }
    fn pair(&mut self, first: Slot, second: Slot) {
        self.got = Some(self.board.cell(first).load(Relaxed) + self.board.cell(second).load(Relaxed));
    }
    fn take(&mut self, slot: Slot) {
        self.got = Some(self.board.cell(slot).load(Relaxed));
    }
    fn publish(&mut self, slot: Slot) {
        self.board.published.store(self.board.cell(slot).load(Relaxed), Relaxed);
    }
    fn take_published(&mut self) {
        self.got = Some(self.board.published.load(Relaxed));
    }
    fn ahead(&self) -> Option<u32> {
        self.next.map(|_| 8)
    }
    fn put_ahead(&mut self, slot: Slot) {
        self.board.cell(slot).store(self.next.unwrap(), Relaxed);
    }
}

impl Moves for ModelTrade<'_> {
    fn put(&mut self, slot: Slot) {
        self.data.put(slot);
    }
    fn source(&self, number: usize) -> Option<Source> {
        Some(Source { member: *self.from.get(number)?, bytes: 8 })
    }
    fn take(&mut self, _: usize, slot: Slot) {
        let sum = self.data.got.unwrap_or(0) + self.data.board.cell(slot).load(Relaxed);
        self.data.got = Some(sum);
    }
}

/// An exchange: the sum of what the sources have.
struct ModelTrade<'a> {
    data: ModelData<'a>,
    from: Vec<usize>,
}

/// The kind of step that a test runs.
#[derive(Clone, Copy)]
enum Step {
    Of(Spec),
    /// All members give to all, lower ones to higher ones, one to the others, or the others to one.
    Everybody,
    Upward,
    From(usize),
    To(usize),
}

impl Step {
    fn exchange(self, me: usize) -> Exchange {
        let (readers, sources) = match self {
            Step::Of(_) => unreachable!("no exchange"),
            Step::Everybody => (Whom::All, Whom::All),
            Step::Upward => (Whom::Above, Whom::Below),
            Step::From(root) if root == me => (Whom::All, Whom::Nobody),
            Step::From(root) => (Whom::Nobody, Whom::One(root)),
            Step::To(root) if root == me => (Whom::Nobody, Whom::All),
            Step::To(root) => (Whom::One(root), Whom::Nobody),
        };
        Exchange { bytes: 8, readers, sources }
    }
}

fn contribution(step: usize, member: usize) -> u64 {
    (10 * (step as u64 + 1)).pow(2) + member as u64 + 1
}

fn run(board: &ModelBoard, me: usize, members: usize, steps: &[Step]) {
    let (mut seat, mut known) = (Seat::new(me, members), 0);
    for (n, &step) in steps.iter().enumerate() {
        let has_next = matches!(steps.get(n + 1), Some(Step::Of(Spec { kind: Kind::Allreduce, short: false, .. })));
        let mut data =
            ModelData { board, mine: contribution(n, me), got: None, next: has_next.then(|| contribution(n + 1, me)) };
        let mut phase = Phase::Enter;
        let mut until_ended = |poll: &mut dyn FnMut(&mut Seat, &mut Phase) -> Option<Ended>| loop {
            match poll(&mut seat, &mut phase) {
                Some(ended) => break assert_eq!(ended, Ended::Well),
                None => known = board.bells[me].sleep(known),
            }
        };
        let (got, wanted) = match step {
            Step::Of(spec) => {
                until_ended(&mut |seat, phase| seat.poll(phase, &spec, &View(board, me), &mut data));
                (data.got, result(&spec, n, me, members))
            }
            _ => {
                let exchange = step.exchange(me);
                let from: Vec<usize> =
                    (0..members).filter(|&other| other != me && names(exchange.sources, me, other)).collect();
                let sum = from.iter().map(|&member| contribution(n, member)).reduce(|a, b| a + b);
                let mut trade = ModelTrade { data, from };
                until_ended(&mut |seat, phase| seat.exchange(phase, &exchange, &View(board, me), &mut trade));
                (trade.data.got, sum)
            }
        };
        assert_eq!(got, wanted, "step {n} on member {me}");
    }
}

/// The result that a step leaves with a member.
fn result(spec: &Spec, n: usize, me: usize, members: usize) -> Option<u64> {
    let total = (0..members).map(|member| contribution(n, member)).sum();
    match spec.kind {
        Kind::Barrier => None,
        Kind::Bcast { root } if root == me => None,
        Kind::Bcast { root } => Some(contribution(n, root)),
        Kind::Reduce { root } => (root == me).then_some(total),
        Kind::Allreduce => Some(total),
    }
}

fn model(members: usize, bound: Option<usize>, weak: Weak, steps: &'static [Step]) {
    let mut checker = loom::model::Builder::new();
    checker.preemption_bound = bound;
    checker.check(move || {
        let board = Arc::new(ModelBoard::new(members, weak));
        let others: Vec<_> = (1..members)
            .map(|me| {
                let board = board.clone();
                thread::spawn(move || run(&board, me, members, steps))
            })
            .collect();
        run(&board, 0, members, steps);
        others.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

const fn step(kind: Kind, short: bool, pair: bool) -> Step {
    Step::Of(Spec { kind, bytes: 8, short, pair })
}
const PAIR: Step = step(Kind::Allreduce, true, true);
const SHORT: Step = step(Kind::Allreduce, true, false);
const LONG: Step = step(Kind::Allreduce, false, false);
const BARRIER: Step = step(Kind::Barrier, true, false);
const BCAST_0: Step = step(Kind::Bcast { root: 0 }, true, true);
const BCAST_1: Step = step(Kind::Bcast { root: 1 }, true, true);
const REDUCE_0: Step = step(Kind::Reduce { root: 0 }, true, true);

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
}

#[test]
fn a_long_result_stays_until_all_have_read_it() {
    model(2, Some(2), Weak::Nothing, &[LONG, BCAST_1, BCAST_1]);
    model(3, Some(1), Weak::Nothing, &[LONG, BCAST_1, LONG]);
}

#[test]
fn exchanges_of_all_follow_each_other() {
    model(2, Some(3), Weak::Nothing, &[Step::Everybody, Step::Everybody, Step::Everybody]);
    model(3, Some(1), Weak::Nothing, &[Step::Everybody, Step::Everybody, Step::Everybody]);
}

#[test]
fn who_gives_in_an_exchange_and_runs_ahead_waits_for_its_readers() {
    model(2, Some(2), Weak::Nothing, &[Step::From(0), Step::From(0), Step::From(0)]);
    model(3, Some(1), Weak::Nothing, &[Step::To(0), Step::To(0), Step::To(0)]);
    model(3, Some(1), Weak::Nothing, &[Step::Upward, Step::Upward, Step::Upward]);
}

#[test]
fn exchanges_between_other_steps_leave_nobody_asleep() {
    model(2, Some(2), Weak::Nothing, &[Step::Everybody, BCAST_0, BCAST_0]);
    model(2, Some(2), Weak::Nothing, &[Step::Everybody, REDUCE_0, Step::From(1)]);
    model(3, Some(1), Weak::Nothing, &[Step::Everybody, REDUCE_0, REDUCE_0]);
    model(3, Some(1), Weak::Nothing, &[LONG, Step::Upward, Step::Everybody]);
}

#[test]
#[should_panic]
fn without_the_order_of_slots_an_exchange_is_read_too_early() {
    model(2, None, Weak::Slots, &[Step::Everybody]);
}

#[test]
#[should_panic]
fn without_the_order_of_slots_a_broadcast_is_read_too_early() {
    model(2, None, Weak::Slots, &[BCAST_0]);
}

#[test]
#[should_panic]
fn without_the_order_of_arrivals_a_contribution_is_missed() {
    // It shows as a flag that does not seem to be up.
    model(2, None, Weak::Arrivals, &[SHORT]);
}

#[test]
#[should_panic]
fn without_the_order_of_the_generation_the_result_is_read_too_early() {
    model(2, None, Weak::Generation, &[SHORT]);
}
