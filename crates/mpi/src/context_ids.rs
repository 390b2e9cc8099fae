//! Context ids of communicators: which are free here, and how members agree on one (MPI-5.0 §7.4.2).
//!
//! Round 1 is a bitwise AND of the members' free numbers; all pick the same number and reserve it. Round 2 is the
//! maximum of the number's next generation on each of them, so that no message of an earlier communicator, however
//! late, matches a context of this one. On a member with several threads another thread may have taken the number in
//! between; the member reports that in round 2 as well. A thread holds at most one reserved number across a round, so
//! that threads that create communicators at the same time cannot deadlock, whatever the order on other processes; a
//! number lost to another thread is given back and the search continues elsewhere. An agreement that has lost a number
//! skips every second attempt or so, chosen by its salt; otherwise two agreements that two processes complete in
//! opposite orders could take the last number from each other for ever.
//!
//! An offer covers one window of the numbers: few programs need a second one. It also carries a word that lists the
//! windows with any free number: if the members have no number in common in one, they go on to the next of those.
//!
//! Used by `comm_create`, `comm_idup`, `inter`, `meeting` and `process`. It never communicates itself: the caller
//! brings the rounds (`Rounds`).

use hawser_base::{Class, Context, Error, LANES, Result};
use std::sync::{Mutex, MutexGuard};

/// The context on which groups without a communicator meet (`meeting`): it has number 2, after MPI_COMM_WORLD and
/// MPI_COMM_SELF.
pub const MEETING: Context = Context::new(2, 0);

pub const NUMBERS: usize = Context::NUMBERS as usize;
/// Numbers in one offer, 512 bytes of them: an exchange of so many takes as long as any short message.
const WINDOW: usize = 4096;
const WINDOWS: usize = NUMBERS / WINDOW;
pub const WORDS: usize = WINDOW / 64;

/// MPI_COMM_WORLD's number, MPI_COMM_SELF's and that of meetings (`meeting`).
const PREDEFINED: usize = 3;

const _: () = assert!(NUMBERS.is_multiple_of(WINDOW) && WINDOW.is_multiple_of(64 * LANES) && LANES <= 64);

/// The numbers of one process.
pub struct Numbers {
    free: [u64; NUMBERS / 64],
    /// For each number its least generation that is new here; beyond the end it is the first.
    next: Vec<u32>,
    /// Contexts whose communicator is gone, but whose lane may still hold messages for them.
    retired: Vec<Context>,
}

static NUMBERS_HERE: Mutex<Numbers> = Mutex::new(Numbers::new());

/// Returns this process's numbers.
pub fn shared() -> &'static Mutex<Numbers> {
    &NUMBERS_HERE
}

/// Returns this process's numbers, locked.
pub fn here() -> MutexGuard<'static, Numbers> {
    NUMBERS_HERE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Numbers {
    pub const fn new() -> Numbers {
        let mut free = [u64::MAX; NUMBERS / 64];
        free[0] = !((1 << PREDEFINED) - 1);
        Numbers { free, next: Vec::new(), retired: Vec::new() }
    }

    fn window(&self, window: usize) -> &[u64] {
        &self.free[window * WORDS..][..WORDS]
    }

    /// A bit for each window that has a free number.
    fn windows(&self) -> u64 {
        let has_any = |&window: &usize| self.window(window).iter().any(|&word| word != 0);
        (0..WINDOWS).filter(has_any).fold(0, |bits, window| bits | 1 << window)
    }

    fn next(&self, number: usize) -> u32 {
        self.next.get(number).copied().unwrap_or(0)
    }

    fn set_next(&mut self, number: usize, generation: u32) {
        if number >= self.next.len() {
            self.next.resize(number + 1, 0);
        }
        self.next[number] = generation;
    }

    fn reserve(&mut self, number: usize) -> bool {
        let (word, bit) = (number / 64, 1 << (number % 64));
        let was_free = self.free[word] & bit != 0;
        self.free[word] &= !bit;
        was_free
    }

    /// Frees a number. One that has had all its generations is not used again.
    pub fn release(&mut self, number: u32) {
        let number = number as usize;
        debug_assert!(number >= PREDEFINED && self.free[number / 64] >> (number % 64) & 1 == 0);
        if self.next(number) < Context::GENERATIONS {
            self.free[number / 64] |= 1 << (number % 64);
        }
    }

    /// Records that the communicator is gone. It may have been freed inside a lane, so its queues are cleaned up later.
    pub fn retire(&mut self, context: Context) {
        if context.number() as usize >= PREDEFINED {
            self.retired.push(context);
        }
    }

    pub fn take_retired(&mut self) -> Vec<Context> {
        std::mem::take(&mut self.retired)
    }
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers::new()
    }
}

/// The two reductions among the members.
pub trait Rounds {
    /// Computes the bitwise AND of all members' words.
    fn and(&mut self, words: &mut [u64]) -> Result<()>;
    /// Computes the maximum of all members' words.
    fn max(&mut self, word: u64) -> Result<u64>;
}

/// The word that a member contributes instead of a generation if another thread has taken the number.
const TAKEN: u64 = Context::GENERATIONS as u64;

/// The word of a member whose first round failed because a process had ended.
pub const FAILED: u64 = u64::MAX;
const _: () = assert!(FAILED > TAKEN);

/// A member's contribution to the first round: its free numbers of a window; the windows that have any, and `ALONE`.
pub type Offer = [u64; WORDS + 1];

/// Flag of a member with one thread.
const ALONE: u64 = 1 << 63;
const _: () = assert!(WINDOWS < 63);

/// The progress of a search, the same on all members.
#[derive(Clone, Copy, Default, Debug)]
pub struct Search {
    /// The number of context ids that were chosen and lost.
    attempt: u32,
    window: usize,
}

/// The number that all have picked.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    number: usize,
    reserved: bool,
    /// This process's contribution to the second round, a maximum.
    pub generation: u64,
}

/// One member's part in the agreement on a number.
pub struct Seeker<'a> {
    pub numbers: &'a Mutex<Numbers>,
    /// False for processes that take part because MPI requires it, but are no members of the new communicator.
    pub member: bool,
    /// This process may have several threads inside the library, or several agreements in progress.
    pub threads: bool,
    /// A value that all members know, and that differs between agreements in progress at the same time.
    pub salt: u32,
}

impl Seeker<'_> {
    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Agrees on a context whose number is then reserved on the members. MPI_ERR_OTHER if all are in use.
    pub fn agree(&self, rounds: &mut impl Rounds) -> Result<Context> {
        let mut search = Search::default();
        loop {
            let mut words = self.offer(search);
            if let Err(error) = rounds.and(&mut words) {
                // Other members may have completed the round and go on to the second one: this keeps them from waiting
                // there.
                let _ = rounds.max(FAILED);
                return Err(error);
            }
            let Some(choice) = self.choose(&words, &mut search)? else { continue };
            match rounds.max(choice.generation) {
                Ok(FAILED) => {
                    self.give_up(choice);
                    return Err(failed());
                }
                Ok(generation) => {
                    if let Some(context) = self.settle(choice, generation, &mut search) {
                        return Ok(context);
                    }
                }
                Err(error) => {
                    self.give_up(choice);
                    return Err(error);
                }
            }
        }
    }

    /// This process's contribution to the first round, a bitwise AND.
    pub fn offer(&self, search: Search) -> Offer {
        let mut words = [u64::MAX; WORDS + 1];
        if self.member {
            let numbers = self.numbers();
            words[..WORDS].copy_from_slice(numbers.window(search.window));
            words[WORDS] = ALONE | numbers.windows();
        }
        if self.threads {
            words[WORDS] &= !ALONE;
        }
        words
    }

    /// Picks a number that is free on all members, and reserves it. None: no number of this window is, and all go on to
    /// another one. MPI_ERR_OTHER if there is none.
    pub fn choose(&self, all: &Offer, search: &mut Search) -> Result<Option<Choice>> {
        let (common, alone) = (&all[..WORDS], all[WORDS] & ALONE != 0);
        let start = if alone { 0 } else { self.salt.wrapping_add(search.attempt.wrapping_mul(17)) };
        let Some(at) = pick(common, start) else {
            let next = (search.window + 1..WINDOWS).find(|window| all[WORDS] >> window & 1 == 1);
            search.window = next.ok_or_else(exhausted)?;
            return Ok(None);
        };
        let number = search.window * WINDOW + at;
        let reserved = self.member && !self.sits_out(search.attempt) && self.numbers().reserve(number);
        Ok(Some(Choice { number, reserved, generation: self.generation(number, reserved) }))
    }

    /// Returns the context, if the maximum of all generations shows that all members have it; otherwise the search
    /// continues.
    pub fn settle(&self, choice: Choice, generation: u64, search: &mut Search) -> Option<Context> {
        if generation >= TAKEN {
            self.give_up(choice);
            search.attempt = search.attempt.wrapping_add(1);
            return None;
        }
        if choice.reserved {
            self.numbers().set_next(choice.number, generation as u32 + 1);
        }
        Some(Context::new(choice.number as u32, generation as u32))
    }

    /// Ends the search without this number.
    pub fn give_up(&self, choice: Choice) {
        if choice.reserved {
            self.numbers().release(choice.number as u32);
        }
    }

    /// Tells whether the agreement skips this attempt; all members compute the same.
    fn sits_out(&self, attempt: u32) -> bool {
        attempt > 0 && mixed(self.salt ^ mixed(attempt)) % 2 == 1
    }

    /// This process's contribution to the second round.
    fn generation(&self, number: usize, reserved: bool) -> u64 {
        match (self.member, reserved) {
            (false, _) => 0,
            (true, false) => TAKEN,
            (true, true) => self.numbers().next(number).into(),
        }
    }
}

/// The error of members that receive FAILED.
#[cold]
pub fn failed() -> Error {
    Error::new(Class::ProcAborted, "a member has ended while the members agreed on the new communicator's number")
}

#[cold]
fn exhausted() -> Error {
    let most = NUMBERS - PREDEFINED;
    let text = format!(
        "all {most} communicators that a process can have are in use on some member; free those that are not needed \
         (MPI_Comm_free)"
    );
    Error::new(Class::Other, text)
}

/// Every bit of the result depends on all of `word`: the finalizer of MurmurHash3, the same on every machine.
const fn mixed(word: u32) -> u32 {
    let word = (word ^ word >> 16).wrapping_mul(0x85eb_ca6b);
    let word = (word ^ word >> 13).wrapping_mul(0xc2b2_ae35);
    word ^ word >> 16
}

/// The numbers of one lane: every `LANES`-th bit (`Context::lane`).
const fn lane_bits(lane: usize) -> u64 {
    let mut bits = 0;
    let mut bit = lane;
    while bit < 64 {
        bits |= 1 << bit;
        bit += LANES;
    }
    bits
}

/// Picks a number of those that are free on all: on the lane with most of them, so that communicators spread over the
/// lanes. The choice among equals depends on `start`.
fn pick(common: &[u64], start: u32) -> Option<usize> {
    let free_on = |lane: usize| common.iter().map(|word| (word & lane_bits(lane)).count_ones()).sum::<u32>();
    let lanes = (0..LANES).map(|i| (start as usize + i) % LANES);
    let (lane, free) = lanes.map(|lane| (lane, free_on(lane))).reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    let nth = (start as usize / LANES) % (free.max(1) as usize);
    let numbers =
        common.iter().enumerate().flat_map(|(i, &word)| bits_of(word & lane_bits(lane)).map(move |b| i * 64 + b));
    numbers.into_iter().nth(nth)
}

fn bits_of(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::{Arc, Barrier};

    /// Members that are threads of this test: a round is two barriers.
    struct Meeting {
        words: Mutex<Vec<u64>>,
        barrier: Barrier,
    }

    struct Member<'a>(&'a Meeting);

    impl Member<'_> {
        /// Folds all members' words, one by one.
        fn fold(&mut self, words: &mut [u64], start: u64, op: impl Fn(u64, u64) -> u64) {
            let meeting = self.0;
            {
                let mut all = meeting.words.lock().unwrap();
                all.resize(words.len(), start);
                all.iter_mut().zip(&*words).for_each(|(a, w)| *a = op(*a, *w));
            }
            meeting.barrier.wait();
            words.copy_from_slice(&meeting.words.lock().unwrap());
            if meeting.barrier.wait().is_leader() {
                meeting.words.lock().unwrap().clear();
            }
            meeting.barrier.wait();
        }
    }

    impl Rounds for Member<'_> {
        fn and(&mut self, words: &mut [u64]) -> Result<()> {
            self.fold(words, u64::MAX, |a, b| a & b);
            Ok(())
        }

        fn max(&mut self, word: u64) -> Result<u64> {
            let mut words = [word];
            self.fold(&mut words, 0, u64::max);
            Ok(words[0])
        }
    }

    /// `comms` communicators with all processes as members, created `times` times at once by a thread each;
    /// every number a process gets must be new on it.
    fn create(processes: usize, comms: usize, times: usize) {
        let numbers: Vec<_> = (0..processes).map(|_| Mutex::new(Numbers::new())).collect();
        let meetings: Vec<_> = (0..comms)
            .map(|_| Arc::new(Meeting { words: Mutex::default(), barrier: Barrier::new(processes) }))
            .collect();
        let seen: Vec<_> = (0..processes).map(|_| Mutex::new(HashSet::new())).collect();
        std::thread::scope(|scope| {
            for (process, numbers) in numbers.iter().enumerate() {
                for (comm, meeting) in meetings.iter().enumerate() {
                    let seen = &seen[process];
                    scope.spawn(move || {
                        let seeker = Seeker { numbers, member: true, threads: comms > 1, salt: comm as u32 };
                        for _ in 0..times {
                            let context = seeker.agree(&mut Member(meeting)).unwrap();
                            assert!(seen.lock().unwrap().insert(context), "{context:?} was given twice");
                        }
                    });
                }
            }
        });
        assert!(seen.iter().all(|s| s.lock().unwrap().len() == comms * times));
        let first = seen[0].lock().unwrap();
        assert!(seen.iter().skip(1).all(|s| *s.lock().unwrap() == *first));
    }

    #[test]
    fn one_thread_gets_dense_numbers_on_all_lanes_in_turn() {
        let numbers = Mutex::new(Numbers::new());
        let meeting = Meeting { words: Mutex::default(), barrier: Barrier::new(1) };
        let seeker = Seeker { numbers: &numbers, member: true, threads: false, salt: 5 };
        let first = PREDEFINED as u32;
        let given: Vec<_> = (0..2 * LANES).map(|_| seeker.agree(&mut Member(&meeting)).unwrap()).collect();
        assert_eq!(
            given.iter().map(|c| c.number()).collect::<HashSet<_>>(),
            (first..first + 2 * LANES as u32).collect()
        );
        let lanes: HashSet<_> = given[..LANES - PREDEFINED].iter().map(|c| c.lane()).collect();
        assert_eq!(lanes.len(), LANES - PREDEFINED, "the first communicators share no lane");
        assert!(!lanes.contains(&Context(0).lane()));
    }

    /// A member for which a round fails, as a process has ended in it.
    struct Bereft<'a>(Member<'a>);

    impl Rounds for Bereft<'_> {
        fn and(&mut self, words: &mut [u64]) -> Result<()> {
            self.0.and(words)?;
            Err(Error::new(Class::ProcAborted, "alone"))
        }

        fn max(&mut self, word: u64) -> Result<u64> {
            self.0.max(word)
        }
    }

    /// The others are not left waiting for it, and keep no number.
    #[test]
    fn a_member_that_a_round_fails_is_heard_by_all() {
        let numbers = [(); 3].map(|()| Mutex::new(Numbers::new()));
        let meeting = Meeting { words: Mutex::default(), barrier: Barrier::new(3) };
        let seeker = |process: usize| Seeker { numbers: &numbers[process], member: true, threads: false, salt: 0 };
        std::thread::scope(|scope| {
            let bereft = scope.spawn(|| seeker(0).agree(&mut Bereft(Member(&meeting))));
            let others = [1, 2].map(|process| {
                let (seeker, meeting) = (seeker(process), &meeting);
                scope.spawn(move || seeker.agree(&mut Member(meeting)))
            });
            assert_eq!(bereft.join().unwrap().unwrap_err().cause(), "alone");
            for other in others {
                assert_eq!(other.join().unwrap().unwrap_err().class(), Class::ProcAborted);
            }
        });
        let first = PREDEFINED as u32;
        let is_free = |numbers: &Mutex<Numbers>| numbers.lock().unwrap().free[0] >> first & 1 == 1;
        assert!(numbers.iter().all(is_free));
    }

    #[test]
    fn several_members_agree() {
        create(3, 1, 40);
    }

    #[test]
    fn threads_that_create_at_the_same_time_get_numbers_of_their_own() {
        create(3, 4, 40);
    }

    #[test]
    fn threads_in_opposite_orders_do_not_wait_for_each_other() {
        // Process 0 has a thread for each communicator, process 1 creates on Y first and then on X.
        let numbers = [Mutex::new(Numbers::new()), Mutex::new(Numbers::new())];
        let meetings = [(); 2].map(|()| Meeting { words: Mutex::default(), barrier: Barrier::new(2) });
        let agree = |process: usize, comm: usize| {
            let seeker = Seeker { numbers: &numbers[process], member: true, threads: true, salt: comm as u32 };
            seeker.agree(&mut Member(&meetings[comm])).unwrap()
        };
        std::thread::scope(|scope| {
            let x = scope.spawn(|| agree(0, 0));
            let y = scope.spawn(|| agree(0, 1));
            let (y1, x1) = (agree(1, 1), agree(1, 0));
            assert_eq!((x.join().unwrap(), y.join().unwrap()), (x1, y1));
        });
    }

    #[test]
    fn the_last_number_is_not_taken_from_each_other_for_ever() {
        // Process 0 always continues with X first, process 1 with Y, and both complete a round at once: no chance
        // helps.
        const ORDERS: [[usize; 2]; 2] = [[0, 1], [1, 0]];
        for salt in 0..100 {
            let numbers = [(); 2].map(|()| {
                let mut numbers = Numbers::new();
                numbers.free.fill(0);
                numbers.free[0] = 1 << PREDEFINED;
                Mutex::new(numbers)
            });
            let seeker = |process: usize, agreement: usize| Seeker {
                numbers: &numbers[process],
                member: true,
                threads: true,
                salt: salt + agreement as u32,
            };
            let mut under_way = vec![0, 1];
            let mut given = 0;
            for attempt in 0.. {
                assert!(attempt < 64, "no end with salt {salt}");
                let mut search = Search { attempt, window: 0 };
                let offers = [0, 1].map(|agreement| {
                    let (mut all, other) = (seeker(0, agreement).offer(search), seeker(1, agreement).offer(search));
                    all.iter_mut().zip(other).for_each(|(word, other)| *word &= other);
                    all
                });
                let mut choices = [[None; 2]; 2];
                for (process, order) in ORDERS.iter().enumerate() {
                    for &agreement in order.iter().filter(|agreement| under_way.contains(agreement)) {
                        let choice = seeker(process, agreement).choose(&offers[agreement], &mut search);
                        choices[process][agreement] = choice.ok().flatten();
                    }
                }
                let both = |agreement: usize| choices[0][agreement].zip(choices[1][agreement]);
                under_way.retain(|&agreement| {
                    // Otherwise there was nothing to choose from, and that is an end too.
                    let Some((one, other)) = both(agreement) else { return false };
                    let generation = one.generation.max(other.generation);
                    let mut settle = |at: usize, choice| seeker(at, agreement).settle(choice, generation, &mut search);
                    let settled = [settle(0, one), settle(1, other)];
                    assert_eq!(settled[0], settled[1]);
                    given += usize::from(settled[0].is_some());
                    settled[0].is_none()
                });
                if under_way.is_empty() {
                    break;
                }
            }
            assert_eq!(given, 1, "with salt {salt}");
        }
    }

    #[test]
    fn the_last_number_is_given_and_then_none_until_one_is_released() {
        let numbers = Mutex::new(Numbers::new());
        let meeting = Meeting { words: Mutex::default(), barrier: Barrier::new(1) };
        let seeker = Seeker { numbers: &numbers, member: true, threads: false, salt: 0 };
        let all: HashSet<_> = (0..NUMBERS - PREDEFINED).map(|_| seeker.agree(&mut Member(&meeting)).unwrap()).collect();
        assert_eq!(all.len(), NUMBERS - PREDEFINED);
        assert!(seeker.agree(&mut Member(&meeting)).unwrap_err().cause().contains("in use"));
        numbers.lock().unwrap().release(100);
        assert_eq!(seeker.agree(&mut Member(&meeting)).unwrap(), Context::new(100, 1));
    }

    #[test]
    fn members_whose_free_numbers_lie_apart_find_the_window_that_they_have_in_common() {
        let numbers = [(); 3].map(|()| Mutex::new(Numbers::new()));
        // Window 0 is full on one, in window 1 no two have the same, window 2 is full on another one, 3 has one number.
        for (process, numbers) in numbers.iter().enumerate() {
            let mut numbers = numbers.lock().unwrap();
            numbers.free.fill(0);
            if process != 0 {
                numbers.free[5] = 1;
            }
            numbers.free[WORDS + process] = u64::MAX;
            if process != 1 {
                numbers.free[2 * WORDS + 7] = u64::MAX;
            }
            numbers.free[3 * WORDS + 9] = 1 << 11;
        }
        let meeting = Meeting { words: Mutex::default(), barrier: Barrier::new(3) };
        let agree = |process: usize, threads: bool| {
            let seeker = Seeker { numbers: &numbers[process], member: true, threads, salt: 77 };
            let found = seeker.agree(&mut Member(&meeting)).map_err(|error| error.cause().to_owned());
            meeting.barrier.wait();
            (found, seeker.agree(&mut Member(&meeting)).map_err(|error| error.cause().to_owned()))
        };
        for threads in [false, true] {
            let all: Vec<_> = std::thread::scope(|scope| {
                let members: Vec<_> = (0..3).map(|process| scope.spawn(move || agree(process, threads))).collect();
                members.into_iter().map(|member| member.join().unwrap()).collect()
            });
            let number = (3 * WINDOW + 9 * 64 + 11) as u32;
            for (first, second) in all {
                assert_eq!(first.unwrap().number(), number);
                assert!(second.unwrap_err().contains("are in use on some member"));
            }
            numbers.iter().for_each(|numbers| numbers.lock().unwrap().release(number));
        }
    }

    #[test]
    fn a_number_comes_back_in_a_generation_that_is_new_to_all_members() {
        let numbers = [(); 3].map(|()| Mutex::new(Numbers::new()));
        let agree = |members: &[usize]| {
            let meeting = Meeting { words: Mutex::default(), barrier: Barrier::new(members.len()) };
            let one = |process: usize| {
                let seeker = Seeker { numbers: &numbers[process], member: true, threads: false, salt: 0 };
                seeker.agree(&mut Member(&meeting)).unwrap()
            };
            let contexts: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = members.iter().map(|&process| scope.spawn(move || one(process))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            members.iter().for_each(|&process| numbers[process].lock().unwrap().release(contexts[0].number()));
            assert!(contexts.iter().all(|&context| context == contexts[0]));
            contexts[0]
        };
        let number = agree(&[0]).number();
        let generations: Vec<_> = [&[0][..], &[0, 1], &[1, 2], &[2], &[0, 2], &[1], &[0, 1, 2]]
            .into_iter()
            .map(agree)
            .inspect(|context| assert_eq!(context.number(), number))
            .map(Context::generation)
            .collect();
        assert_eq!(generations, [1, 2, 3, 4, 5, 4, 6]);
    }

    #[test]
    fn a_number_that_had_all_generations_is_not_given_again() {
        let numbers = Mutex::new(Numbers::new());
        let meeting = Meeting { words: Mutex::default(), barrier: Barrier::new(1) };
        let seeker = Seeker { numbers: &numbers, member: true, threads: false, salt: 0 };
        let create = || {
            let context = seeker.agree(&mut Member(&meeting)).unwrap();
            numbers.lock().unwrap().release(context.number());
            context
        };
        let first = create();
        numbers.lock().unwrap().set_next(first.number() as usize, Context::GENERATIONS - 1);
        assert_eq!(create(), Context::new(first.number(), Context::GENERATIONS - 1));
        assert_ne!(create().number(), first.number());
    }
}
