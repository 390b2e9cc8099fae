//! Context ids (here: numbers) of communicators: which are free here, and how the members of a new communicator agree
//! on one (MPI-5.0 §7.4.2).
//!
//! An agreement takes two rounds. In round 1 the members compute the bitwise AND of their free numbers; all pick the
//! same number from the result and reserve it. In round 2 they compute the maximum of the number's next generation on
//! each member, so that no message of an earlier communicator, however late, matches a context of the new one. On a
//! member with several threads another thread may have taken the number between the rounds; that member contributes
//! TAKEN to round 2, all give the number back, and the search continues with another number. A thread holds at most
//! one reserved number during a round, so threads that create communicators at the same time cannot deadlock,
//! whatever the order on other processes. After an agreement has lost a number, it reserves nothing in about half of
//! its attempts, which its salt chooses. Otherwise two agreements that two processes complete in opposite orders
//! could take the last number from each other for ever.
//!
//! A member's contribution to round 1 (`FreeIds`) has a bit for each number of one range; few programs need a second
//! range. One more word lists the ranges in which the member has a free number. If the members have no free number in
//! common in one range, they continue with the next range that all have listed.
//!
//! Used by `comm_create`, `comm_idup`, `inter`, `group_bootstrap` and `process`. This module never communicates
//! itself: the caller implements the two rounds (`AgreementRounds`).

use hawser_base::{Class, Context, Error, LANES, Result};
use std::sync::{Mutex, MutexGuard};

/// The context of group bootstrap, for groups without a communicator (`group_bootstrap`): it has number 2, after
/// MPI_COMM_WORLD and MPI_COMM_SELF.
pub const BOOTSTRAP: Context = Context::new(2, 0);

pub const CONTEXT_IDS: usize = Context::NUMBERS as usize;
/// The number of context ids in one contribution to round 1. As bits they take 512 bytes, and a message of 512 bytes
/// takes as long as any shorter one.
const RANGE_IDS: usize = 4096;
const RANGES: usize = CONTEXT_IDS / RANGE_IDS;
pub const RANGE_WORDS: usize = RANGE_IDS / 64;

/// The number of predefined context ids: those of MPI_COMM_WORLD, MPI_COMM_SELF and group bootstrap
/// (`group_bootstrap`).
const PREDEFINED: usize = 3;

const _: () = assert!(CONTEXT_IDS.is_multiple_of(RANGE_IDS) && RANGE_IDS.is_multiple_of(64 * LANES) && LANES <= 64);

/// The context ids of one process: which are free, and the lowest generation that each may get next.
pub struct ContextIdPool {
    free: [u64; CONTEXT_IDS / 64],
    /// For each number the generation after the last one that this process has used; 0 if it has used none, also for
    /// numbers beyond the end.
    next_generations: Vec<u32>,
    /// Contexts whose communicator is gone, but whose lane may still hold messages for them.
    retired: Vec<Context>,
}

static POOL: Mutex<ContextIdPool> = Mutex::new(ContextIdPool::new());

/// Returns the context ids of this process.
pub fn pool() -> &'static Mutex<ContextIdPool> {
    &POOL
}

/// Returns the context ids of this process, locked.
pub fn lock_pool() -> MutexGuard<'static, ContextIdPool> {
    POOL.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl ContextIdPool {
    pub const fn new() -> ContextIdPool {
        let mut free = [u64::MAX; CONTEXT_IDS / 64];
        free[0] = !((1 << PREDEFINED) - 1);
        ContextIdPool { free, next_generations: Vec::new(), retired: Vec::new() }
    }

    fn range_words(&self, range: usize) -> &[u64] {
        &self.free[range * RANGE_WORDS..][..RANGE_WORDS]
    }

    /// A bit for each range that has a free number.
    fn ranges_with_free(&self) -> u64 {
        let has_any = |&range: &usize| self.range_words(range).iter().any(|&word| word != 0);
        (0..RANGES).filter(has_any).fold(0, |bits, range| bits | 1 << range)
    }

    fn next_generation(&self, number: usize) -> u32 {
        self.next_generations.get(number).copied().unwrap_or(0)
    }

    fn set_next_generation(&mut self, number: usize, generation: u32) {
        if number >= self.next_generations.len() {
            self.next_generations.resize(number + 1, 0);
        }
        self.next_generations[number] = generation;
    }

    fn reserve(&mut self, number: usize) -> bool {
        let (word, bit) = (number / 64, 1 << (number % 64));
        let was_free = self.free[word] & bit != 0;
        self.free[word] &= !bit;
        was_free
    }

    /// Frees a number. A number that has had all its generations stays reserved for good.
    pub fn release(&mut self, number: u32) {
        let number = number as usize;
        debug_assert!(number >= PREDEFINED && self.free[number / 64] >> (number % 64) & 1 == 0);
        if self.next_generation(number) < Context::GENERATIONS {
            self.free[number / 64] |= 1 << (number % 64);
        }
    }

    /// Records that the communicator of `context` is gone. Its match queues are cleaned up later (`take_retired`),
    /// because the caller may have its lane locked. Predefined numbers are ignored.
    pub fn retire(&mut self, context: Context) {
        if context.number() as usize >= PREDEFINED {
            self.retired.push(context);
        }
    }

    pub fn take_retired(&mut self) -> Vec<Context> {
        std::mem::take(&mut self.retired)
    }
}

impl Default for ContextIdPool {
    fn default() -> ContextIdPool {
        ContextIdPool::new()
    }
}

/// The two reductions among the members.
pub trait AgreementRounds {
    /// Computes the bitwise AND of all members' words, and writes it into `words`.
    fn allreduce_and(&mut self, words: &mut [u64]) -> Result<()>;
    /// Computes the maximum of all members' words.
    fn allreduce_max(&mut self, word: u64) -> Result<u64>;
}

/// The word that a member contributes instead of a generation if it has not reserved the number: another thread has
/// taken it, or the agreement reserves nothing in this attempt.
const TAKEN: u64 = Context::GENERATIONS as u64;

/// The word that a member contributes to the second round, or to an agreement on the salt before, if it cannot create
/// the communicator: a round before has failed, as it does when a process has ended.
pub const FAILED: u64 = u64::MAX;
const _: () = assert!(FAILED > TAKEN);

/// Takes part in an agreement for a member that cannot create the communicator, because something before the agreement
/// has failed. Members that do not know of it yet get FAILED from the second round; without this contribution they
/// would wait for ever.
#[cold]
pub fn abandon(rounds: &mut impl AgreementRounds) {
    let _ = rounds.allreduce_and(&mut [u64::MAX; RANGE_WORDS + 1]);
    let _ = rounds.allreduce_max(FAILED);
}

/// A member's contribution to the first round: a bit for each free number of one range; then a word with a bit for
/// each range that has a free number, and the flag SINGLE_THREADED.
pub type FreeIds = [u64; RANGE_WORDS + 1];

/// The flag of a member for which `ContextIdAllocation::multithreaded` is false.
const SINGLE_THREADED: u64 = 1 << 63;
const _: () = assert!(RANGES < 63);

/// The progress of a search, the same on all members.
#[derive(Clone, Copy, Default, Debug)]
pub struct SearchPosition {
    /// The number of context ids that were picked and lost so far.
    attempt: u32,
    range: usize,
}

/// The number that all members have picked in one attempt.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    number: usize,
    reserved: bool,
    /// This process's contribution to the second round, which computes the maximum.
    pub generation: u64,
}

/// One member's part in the agreement on a number.
pub struct ContextIdAllocation<'a> {
    pub pool: &'a Mutex<ContextIdPool>,
    /// False for processes that take part because MPI requires it, but are no members of the new communicator.
    pub is_member: bool,
    /// This process may have several threads inside the library, or several agreements in progress.
    pub multithreaded: bool,
    /// A value that all members know, and that differs between agreements in progress at the same time.
    pub salt: u32,
}

impl ContextIdAllocation<'_> {
    fn lock_pool(&self) -> MutexGuard<'_, ContextIdPool> {
        self.pool.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Agrees with the other members on a context, whose number is then reserved on all of them. MPI_ERR_OTHER if no
    /// number is free on all members, MPI_ERR_PROC_ABORTED if a member has ended.
    pub fn agree(&self, rounds: &mut impl AgreementRounds) -> Result<Context> {
        let mut position = SearchPosition::default();
        loop {
            let mut words = self.free_ids(position);
            if let Err(error) = rounds.allreduce_and(&mut words) {
                // Other members may have completed the first round and go on to the second one. Without this
                // contribution they would wait there for ever.
                let _ = rounds.allreduce_max(FAILED);
                return Err(error);
            }
            let Some(candidate) = self.choose_candidate(&words, &mut position)? else { continue };
            match rounds.allreduce_max(candidate.generation) {
                Ok(FAILED) => {
                    self.release_candidate(candidate);
                    return Err(member_failed());
                }
                Ok(generation) => {
                    if let Some(context) = self.finish_attempt(candidate, generation, &mut position) {
                        return Ok(context);
                    }
                }
                Err(error) => {
                    self.release_candidate(candidate);
                    return Err(error);
                }
            }
        }
    }

    /// This process's contribution to the first round, which computes the bitwise AND. If the process is no member,
    /// all bits of numbers and ranges are set.
    pub fn free_ids(&self, position: SearchPosition) -> FreeIds {
        let mut words = [u64::MAX; RANGE_WORDS + 1];
        if self.is_member {
            let pool = self.lock_pool();
            words[..RANGE_WORDS].copy_from_slice(pool.range_words(position.range));
            words[RANGE_WORDS] = SINGLE_THREADED | pool.ranges_with_free();
        }
        if self.multithreaded {
            words[RANGE_WORDS] &= !SINGLE_THREADED;
        }
        words
    }

    /// Picks a number that is free on all members, and reserves it here if possible. None: no number of this range is
    /// free on all members; `position` is now the next range, with which all members continue. MPI_ERR_OTHER if there
    /// is no further range.
    pub fn choose_candidate(&self, all: &FreeIds, position: &mut SearchPosition) -> Result<Option<Candidate>> {
        let (common, single_threaded) = (&all[..RANGE_WORDS], all[RANGE_WORDS] & SINGLE_THREADED != 0);
        let start = if single_threaded { 0 } else { self.salt.wrapping_add(position.attempt.wrapping_mul(17)) };
        let Some(at) = pick(common, start) else {
            let next = (position.range + 1..RANGES).find(|range| all[RANGE_WORDS] >> range & 1 == 1);
            position.range = next.ok_or_else(no_id_left)?;
            return Ok(None);
        };
        let number = position.range * RANGE_IDS + at;
        let reserved = self.is_member && !self.skips_attempt(position.attempt) && self.lock_pool().reserve(number);
        Ok(Some(Candidate { number, reserved, generation: self.generation(number, reserved) }))
    }

    /// Ends an attempt; `generation` is the maximum of all contributions to the second round. Returns the context if
    /// all members have reserved the number. None: a member has not, so the number is given back and the search
    /// continues.
    pub fn finish_attempt(
        &self,
        candidate: Candidate,
        generation: u64,
        position: &mut SearchPosition,
    ) -> Option<Context> {
        if generation >= TAKEN {
            self.release_candidate(candidate);
            position.attempt = position.attempt.wrapping_add(1);
            return None;
        }
        if candidate.reserved {
            self.lock_pool().set_next_generation(candidate.number, generation as u32 + 1);
        }
        Some(Context::new(candidate.number as u32, generation as u32))
    }

    /// Gives a number back that this process has reserved.
    pub fn release_candidate(&self, candidate: Candidate) {
        if candidate.reserved {
            self.lock_pool().release(candidate.number as u32);
        }
    }

    /// Tells whether the agreement reserves nothing in this attempt; all members compute the same answer.
    fn skips_attempt(&self, attempt: u32) -> bool {
        attempt > 0 && hash(self.salt ^ hash(attempt)) % 2 == 1
    }

    /// This process's contribution to the second round.
    fn generation(&self, number: usize, reserved: bool) -> u64 {
        match (self.is_member, reserved) {
            (false, _) => 0,
            (true, false) => TAKEN,
            (true, true) => self.lock_pool().next_generation(number).into(),
        }
    }
}

/// The error of members that receive FAILED.
#[cold]
pub fn member_failed() -> Error {
    Error::new(Class::ProcAborted, "a member has ended while the members agreed on the new communicator's number")
}

#[cold]
fn no_id_left() -> Error {
    let most = CONTEXT_IDS - PREDEFINED;
    let text = format!(
        "all {most} communicators that a process can have are in use on some member; free those that are not needed \
         (MPI_Comm_free)"
    );
    Error::new(Class::Other, text)
}

/// The finalizer of MurmurHash3, the same on every machine: every bit of the result depends on every bit of `word`.
const fn hash(word: u32) -> u32 {
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

/// Picks one of the numbers whose bits are set in `common`, which are free on all members: a number on the lane with
/// the most of them, so that communicators spread over the lanes. `start` decides between lanes with equally many,
/// and between the numbers of the lane. None if no bit is set.
fn pick(common: &[u64], start: u32) -> Option<usize> {
    let free_on = |lane: usize| common.iter().map(|word| (word & lane_bits(lane)).count_ones()).sum::<u32>();
    let lanes = (0..LANES).map(|i| (start as usize + i) % LANES);
    let (lane, free) = lanes.map(|lane| (lane, free_on(lane))).reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    let nth = (start as usize / LANES) % (free.max(1) as usize);
    let ids = common.iter().enumerate().flat_map(|(i, &word)| bits_of(word & lane_bits(lane)).map(move |b| i * 64 + b));
    ids.into_iter().nth(nth)
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
    struct TestRounds {
        words: Mutex<Vec<u64>>,
        barrier: Barrier,
    }

    struct TestMember<'a>(&'a TestRounds);

    impl TestMember<'_> {
        /// Folds all members' words, one by one.
        fn fold(&mut self, words: &mut [u64], start: u64, op: impl Fn(u64, u64) -> u64) {
            let rounds = self.0;
            {
                let mut all = rounds.words.lock().unwrap();
                all.resize(words.len(), start);
                all.iter_mut().zip(&*words).for_each(|(a, w)| *a = op(*a, *w));
            }
            rounds.barrier.wait();
            words.copy_from_slice(&rounds.words.lock().unwrap());
            if rounds.barrier.wait().is_leader() {
                rounds.words.lock().unwrap().clear();
            }
            rounds.barrier.wait();
        }
    }

    impl AgreementRounds for TestMember<'_> {
        fn allreduce_and(&mut self, words: &mut [u64]) -> Result<()> {
            self.fold(words, u64::MAX, |a, b| a & b);
            Ok(())
        }

        fn allreduce_max(&mut self, word: u64) -> Result<u64> {
            let mut words = [word];
            self.fold(&mut words, 0, u64::max);
            Ok(words[0])
        }
    }

    /// `comms` communicators with all processes as members, created `times` times at once by a thread each;
    /// every number a process gets must be new on it.
    fn create(processes: usize, comms: usize, times: usize) {
        let pool: Vec<_> = (0..processes).map(|_| Mutex::new(ContextIdPool::new())).collect();
        let all_rounds: Vec<_> = (0..comms)
            .map(|_| Arc::new(TestRounds { words: Mutex::default(), barrier: Barrier::new(processes) }))
            .collect();
        let seen: Vec<_> = (0..processes).map(|_| Mutex::new(HashSet::new())).collect();
        std::thread::scope(|scope| {
            for (process, pool) in pool.iter().enumerate() {
                for (comm, rounds) in all_rounds.iter().enumerate() {
                    let seen = &seen[process];
                    scope.spawn(move || {
                        let allocation =
                            ContextIdAllocation { pool, is_member: true, multithreaded: comms > 1, salt: comm as u32 };
                        for _ in 0..times {
                            let context = allocation.agree(&mut TestMember(rounds)).unwrap();
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
        let pool = Mutex::new(ContextIdPool::new());
        let rounds = TestRounds { words: Mutex::default(), barrier: Barrier::new(1) };
        let allocation = ContextIdAllocation { pool: &pool, is_member: true, multithreaded: false, salt: 5 };
        let first = PREDEFINED as u32;
        let ids: Vec<_> = (0..2 * LANES).map(|_| allocation.agree(&mut TestMember(&rounds)).unwrap()).collect();
        assert_eq!(ids.iter().map(|c| c.number()).collect::<HashSet<_>>(), (first..first + 2 * LANES as u32).collect());
        let lanes: HashSet<_> = ids[..LANES - PREDEFINED].iter().map(|c| c.lane()).collect();
        assert_eq!(lanes.len(), LANES - PREDEFINED, "the first communicators share no lane");
        assert!(!lanes.contains(&Context(0).lane()));
    }

    /// A member for which a round fails, as a process has ended in it.
    struct FailingMember<'a>(TestMember<'a>);

    impl AgreementRounds for FailingMember<'_> {
        fn allreduce_and(&mut self, words: &mut [u64]) -> Result<()> {
            self.0.allreduce_and(words)?;
            Err(Error::new(Class::ProcAborted, "alone"))
        }

        fn allreduce_max(&mut self, word: u64) -> Result<u64> {
            self.0.allreduce_max(word)
        }
    }

    /// Three members, of which the first one does something else than to agree: the others are not left waiting for
    /// it, and keep no number. Returns what the first one has got.
    fn agree_beside<T: Send>(first_member: impl FnOnce(&ContextIdAllocation, &TestRounds) -> T + Send) -> T {
        let pool = [(); 3].map(|()| Mutex::new(ContextIdPool::new()));
        let rounds = TestRounds { words: Mutex::default(), barrier: Barrier::new(3) };
        let allocation = |process: usize| ContextIdAllocation {
            pool: &pool[process],
            is_member: true,
            multithreaded: false,
            salt: 0,
        };
        let first = std::thread::scope(|scope| {
            let first = scope.spawn(|| first_member(&allocation(0), &rounds));
            let others = [1, 2].map(|process| {
                let (allocation, rounds) = (allocation(process), &rounds);
                scope.spawn(move || allocation.agree(&mut TestMember(rounds)))
            });
            for other in others {
                assert_eq!(other.join().unwrap().unwrap_err().class(), Class::ProcAborted);
            }
            first.join().unwrap()
        });
        let is_free = |pool: &Mutex<ContextIdPool>| pool.lock().unwrap().free[0] >> PREDEFINED & 1 == 1;
        assert!(pool.iter().all(is_free));
        first
    }

    #[test]
    fn a_member_that_a_round_fails_is_heard_by_all() {
        let result =
            agree_beside(|allocation, rounds| allocation.agree(&mut FailingMember(TestMember(rounds))).unwrap_err());
        assert_eq!(result.cause(), "alone");
    }

    #[test]
    fn a_member_that_abandons_an_agreement_is_heard_by_all() {
        agree_beside(|_, rounds| abandon(&mut TestMember(rounds)));
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
        let pool = [Mutex::new(ContextIdPool::new()), Mutex::new(ContextIdPool::new())];
        let all_rounds = [(); 2].map(|()| TestRounds { words: Mutex::default(), barrier: Barrier::new(2) });
        let agree = |process: usize, comm: usize| {
            let allocation =
                ContextIdAllocation { pool: &pool[process], is_member: true, multithreaded: true, salt: comm as u32 };
            allocation.agree(&mut TestMember(&all_rounds[comm])).unwrap()
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
            let pool = [(); 2].map(|()| {
                let mut pool = ContextIdPool::new();
                pool.free.fill(0);
                pool.free[0] = 1 << PREDEFINED;
                Mutex::new(pool)
            });
            let allocation = |process: usize, agreement: usize| ContextIdAllocation {
                pool: &pool[process],
                is_member: true,
                multithreaded: true,
                salt: salt + agreement as u32,
            };
            let mut pending = vec![0, 1];
            let mut ids = 0;
            for attempt in 0.. {
                assert!(attempt < 64, "no end with salt {salt}");
                let mut position = SearchPosition { attempt, range: 0 };
                let reduced = [0, 1].map(|agreement| {
                    let (mut all, other) =
                        (allocation(0, agreement).free_ids(position), allocation(1, agreement).free_ids(position));
                    all.iter_mut().zip(other).for_each(|(word, other)| *word &= other);
                    all
                });
                let mut choices = [[None; 2]; 2];
                for (process, order) in ORDERS.iter().enumerate() {
                    for &agreement in order.iter().filter(|agreement| pending.contains(agreement)) {
                        let candidate =
                            allocation(process, agreement).choose_candidate(&reduced[agreement], &mut position);
                        choices[process][agreement] = candidate.ok().flatten();
                    }
                }
                let both = |agreement: usize| choices[0][agreement].zip(choices[1][agreement]);
                pending.retain(|&agreement| {
                    // Otherwise there was nothing to choose from, and that is an end too.
                    let Some((one, other)) = both(agreement) else { return false };
                    let generation = one.generation.max(other.generation);
                    let mut finish_attempt = |at: usize, candidate| {
                        allocation(at, agreement).finish_attempt(candidate, generation, &mut position)
                    };
                    let finished = [finish_attempt(0, one), finish_attempt(1, other)];
                    assert_eq!(finished[0], finished[1]);
                    ids += usize::from(finished[0].is_some());
                    finished[0].is_none()
                });
                if pending.is_empty() {
                    break;
                }
            }
            assert_eq!(ids, 1, "with salt {salt}");
        }
    }

    #[test]
    fn the_last_number_is_given_and_then_none_until_one_is_released() {
        let pool = Mutex::new(ContextIdPool::new());
        let rounds = TestRounds { words: Mutex::default(), barrier: Barrier::new(1) };
        let allocation = ContextIdAllocation { pool: &pool, is_member: true, multithreaded: false, salt: 0 };
        let all: HashSet<_> =
            (0..CONTEXT_IDS - PREDEFINED).map(|_| allocation.agree(&mut TestMember(&rounds)).unwrap()).collect();
        assert_eq!(all.len(), CONTEXT_IDS - PREDEFINED);
        assert!(allocation.agree(&mut TestMember(&rounds)).unwrap_err().cause().contains("in use"));
        pool.lock().unwrap().release(100);
        assert_eq!(allocation.agree(&mut TestMember(&rounds)).unwrap(), Context::new(100, 1));
    }

    #[test]
    fn members_whose_free_numbers_lie_apart_find_the_window_that_they_have_in_common() {
        let pool = [(); 3].map(|()| Mutex::new(ContextIdPool::new()));
        // Range 0 is full on one, in range 1 no two have the same, range 2 is full on another one, 3 has one
        // number.
        for (process, pool) in pool.iter().enumerate() {
            let mut pool = pool.lock().unwrap();
            pool.free.fill(0);
            if process != 0 {
                pool.free[5] = 1;
            }
            pool.free[RANGE_WORDS + process] = u64::MAX;
            if process != 1 {
                pool.free[2 * RANGE_WORDS + 7] = u64::MAX;
            }
            pool.free[3 * RANGE_WORDS + 9] = 1 << 11;
        }
        let rounds = TestRounds { words: Mutex::default(), barrier: Barrier::new(3) };
        let agree = |process: usize, threads: bool| {
            let allocation =
                ContextIdAllocation { pool: &pool[process], is_member: true, multithreaded: threads, salt: 77 };
            let found = allocation.agree(&mut TestMember(&rounds)).map_err(|error| error.cause().to_owned());
            rounds.barrier.wait();
            (found, allocation.agree(&mut TestMember(&rounds)).map_err(|error| error.cause().to_owned()))
        };
        for threads in [false, true] {
            let all: Vec<_> = std::thread::scope(|scope| {
                let members: Vec<_> = (0..3).map(|process| scope.spawn(move || agree(process, threads))).collect();
                members.into_iter().map(|member| member.join().unwrap()).collect()
            });
            let number = (3 * RANGE_IDS + 9 * 64 + 11) as u32;
            for (first, second) in all {
                assert_eq!(first.unwrap().number(), number);
                assert!(second.unwrap_err().contains("are in use on some member"));
            }
            pool.iter().for_each(|pool| pool.lock().unwrap().release(number));
        }
    }

    #[test]
    fn a_number_comes_back_in_a_generation_that_is_new_to_all_members() {
        let pool = [(); 3].map(|()| Mutex::new(ContextIdPool::new()));
        let agree = |members: &[usize]| {
            let rounds = TestRounds { words: Mutex::default(), barrier: Barrier::new(members.len()) };
            let one = |process: usize| {
                let allocation =
                    ContextIdAllocation { pool: &pool[process], is_member: true, multithreaded: false, salt: 0 };
                allocation.agree(&mut TestMember(&rounds)).unwrap()
            };
            let contexts: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = members.iter().map(|&process| scope.spawn(move || one(process))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            members.iter().for_each(|&process| pool[process].lock().unwrap().release(contexts[0].number()));
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
        let pool = Mutex::new(ContextIdPool::new());
        let rounds = TestRounds { words: Mutex::default(), barrier: Barrier::new(1) };
        let allocation = ContextIdAllocation { pool: &pool, is_member: true, multithreaded: false, salt: 0 };
        let create = || {
            let context = allocation.agree(&mut TestMember(&rounds)).unwrap();
            pool.lock().unwrap().release(context.number());
            context
        };
        let first = create();
        pool.lock().unwrap().set_next_generation(first.number() as usize, Context::GENERATIONS - 1);
        assert_eq!(create(), Context::new(first.number(), Context::GENERATIONS - 1));
        assert_ne!(create().number(), first.number());
    }
}
