//! Chooses between two methods for messages, from what the traffic itself takes: pure state, which sends nothing and
//! reads no clock.
//!
//! In a trial the two methods take turns. A turn lasts for a number of messages that its user finds long enough. It
//! counts by the time from its first message to the next turn's, for each byte; a method counts by its best turn,
//! because the kernel may take a core away for longer than a turn lasts. The method that takes less time is used until
//! the next trial, which comes later each time the same method wins. Both ends of a connection may have trials at the
//! same time, as in a ping-pong: so the two ends take turns in different orders (`TurnOrder`), in which each method of
//! one end meets each method of the other.
//!
//! Used by `dev-ether`, for eager messages, and by `p2p`, for messages that may be read from the sender's memory.

/// Two methods.
pub trait MethodPair: Copy + Eq {
    /// The methods: first the one that is used before the first trial has ended.
    const BOTH: [Self; 2];
}

/// The number of the turns of a trial.
pub const TURNS: usize = 8;

/// The methods of a trial's turns, as indexes of `MethodPair::BOTH`: each method has half of them, in each half of the
/// trial.
type Turns = [usize; TURNS];

/// The rule for the order of the turns.
#[derive(Clone, Copy, Debug)]
pub enum TurnOrder {
    /// The order of one end of a connection, always the same; `is_higher`: it has the higher rank of the two. Each pair
    /// of methods of the two ends occurs twice.
    OfEnd { is_higher: bool },
    /// Another order in each trial, for an end that does not know which of the two it is. The other end's order is
    /// opposite in one of 36 trials, in which each method then meets only the other one.
    Shuffled { seed: u64 },
}

impl TurnOrder {
    /// Returns the turns of the next trial.
    fn next(&mut self) -> Turns {
        match self {
            TurnOrder::OfEnd { is_higher: false } => [0, 1, 0, 1, 0, 1, 0, 1],
            TurnOrder::OfEnd { is_higher: true } => [0, 0, 1, 1, 0, 0, 1, 1],
            TurnOrder::Shuffled { seed } => {
                let mut turns = [0, 0, 1, 1, 0, 0, 1, 1];
                for half in turns.chunks_mut(TURNS / 2) {
                    (1..half.len()).rev().for_each(|last| half.swap(last, (random(seed) % (last as u64 + 1)) as usize));
                }
                turns
            }
        }
    }
}

/// Returns the next number of the generator splitmix64 (Steele et al. 2014).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The percentage of the present method's time that another method must not exceed to replace it. The rounds of one
/// system in one run differ by 2 to 5 %.
const BETTER_PERCENT: u64 = 95;

/// The percentage of the present method's time above which another method is given up after half of a trial, except the
/// first one: the method that was used before it is a guess, and other trials may disturb it. Over Ethernet of MTU
/// 1500, packets of link take 150 to 180 at 32 to 64 KiB.
const HOPELESS_PERCENT: u64 = 125;

/// The number of bytes between two trials: at first if the methods differ little, and at most.
pub const RETRIAL_BYTES: u64 = 64 << 20;
const RETRIAL_BYTES_MAX: u64 = 64 << 30;
const _: () = assert!(RETRIAL_BYTES < RETRIAL_BYTES_MAX);

/// The longest turn that is useful, in bytes: a trial must not be longer than the time to the next one.
pub const TURN_BYTES_MAX: u64 = RETRIAL_BYTES / TURNS as u64;

/// The number of bytes for which the time of a turn is expressed.
const UNIT_BYTES: u64 = 4 << 20;

/// The next trial comes so late that it costs one part in this number of the time between, if it is as long as the last
/// one: that is what the worse method takes longer in it.
pub const COST_PARTS: u64 = 100;

/// The ratio of the methods' times that is believed at most: a higher one shows that the worse method was interrupted
/// in all of its turns, and must not put the next trial off.
const COST_RATIO_MAX: u128 = 4;

/// The results of a trial for one method.
#[derive(Clone, Copy)]
struct TrialResult {
    /// The time for each UNIT_BYTES in its best turn, in ns; u64::MAX before its first turn has ended.
    best_ns: u64,
    /// The bytes of its turns.
    bytes: u64,
}

impl TrialResult {
    const NOTHING: TrialResult = TrialResult { best_ns: u64::MAX, bytes: 0 };
}

/// The choice between two methods for one kind of messages to one peer.
pub struct MethodTrial<M> {
    methods: std::marker::PhantomData<M>,
    order: TurnOrder,
    /// The turns of the present trial.
    turns: Turns,
    winner: usize,
    /// Whether a trial has ended.
    is_found: bool,
    /// The number of the turn in progress; TURNS: no trial is in progress.
    turn: usize,
    /// When the turn began, and the bytes in it.
    began_ns: u64,
    bytes: u64,
    /// The results of the trial for each method.
    results: [TrialResult; 2],
    /// The bytes until the next trial, and those between the last one and that.
    left_bytes: u64,
    retrial_bytes: u64,
}

impl<M: MethodPair> MethodTrial<M> {
    /// Makes the choice for messages to a peer. The first trial begins behind `after_bytes` bytes, with the first
    /// message for which `count` permits it.
    pub fn after(after_bytes: u64, order: TurnOrder) -> MethodTrial<M> {
        MethodTrial { turn: TURNS, left_bytes: after_bytes, ..MethodTrial::new(order) }
    }

    /// Makes the choice for messages to a peer. The first trial begins with the first message.
    pub fn new(mut order: TurnOrder) -> MethodTrial<M> {
        let turns = order.next();
        MethodTrial {
            methods: std::marker::PhantomData,
            order,
            turns,
            winner: 0,
            is_found: false,
            turn: 0,
            began_ns: 0,
            bytes: 0,
            results: [TrialResult::NOTHING; 2],
            left_bytes: 0,
            retrial_bytes: RETRIAL_BYTES,
        }
    }

    /// Returns the method for the message that was counted last.
    pub fn method(&self) -> M {
        M::BOTH[self.turns.get(self.turn).copied().unwrap_or(self.winner)]
    }

    /// Returns the method that the last trial has found best; None before the first one has ended.
    pub fn found(&self) -> Option<M> {
        self.is_found.then_some(M::BOTH[self.winner])
    }

    /// Counts a message of `len` bytes that is about to be sent. `may_turn` tells whether a turn may begin with this
    /// message, and end before it if one is in progress; it gets the bytes of that turn. Returns whether a turn begins.
    pub fn count(
        &mut self,
        len: u64,
        may_turn: impl FnOnce(Option<u64>) -> bool,
        now_ns: impl FnOnce() -> u64,
    ) -> bool {
        let begins = if self.turn == TURNS {
            self.left_bytes = self.left_bytes.saturating_sub(len);
            if self.left_bytes > 0 || !may_turn(None) {
                return false;
            }
            (self.turn, self.bytes, self.results) = (0, 0, [TrialResult::NOTHING; 2]);
            self.turns = self.order.next();
            true
        } else if self.bytes == 0 || may_turn(Some(self.bytes)) {
            true
        } else if self.bytes < RETRIAL_BYTES {
            false
        } else {
            // No turn may end: the program has changed since the trial began.
            (self.turn, self.left_bytes) = (TURNS, self.retrial_bytes);
            return false;
        };
        if begins {
            let now_ns = now_ns();
            if self.bytes > 0 {
                self.end_turn(now_ns);
            }
            self.began_ns = now_ns;
        }
        self.bytes += len;
        begins
    }

    fn end_turn(&mut self, now_ns: u64) {
        let ns = u128::from(now_ns.saturating_sub(self.began_ns)) * u128::from(UNIT_BYTES) / u128::from(self.bytes);
        let result = &mut self.results[self.turns[self.turn]];
        result.best_ns = result.best_ns.min(u64::try_from(ns).unwrap_or(u64::MAX));
        result.bytes += self.bytes;
        (self.turn, self.bytes) = (self.turn + 1, 0);
        if self.turn == TURNS || self.is_found && self.turn == TURNS / 2 && self.is_other_hopeless() {
            self.end_trial();
        }
    }

    /// Returns whether the method that is not used has taken so much more time that no more turns are worth it.
    /// Interrupted turns may have this effect too; then the better method waits for the next trial.
    fn is_other_hopeless(&self) -> bool {
        let [present, other] = self.best_ns();
        other * 100 > present * u128::from(HOPELESS_PERCENT)
    }

    /// The times of the method that is used and of the other one, in ns for each UNIT_BYTES.
    fn best_ns(&self) -> [u128; 2] {
        [self.winner, 1 - self.winner].map(|method| u128::from(self.results[method].best_ns))
    }

    fn end_trial(&mut self) {
        let [present, other] = self.best_ns();
        let is_beaten = other * 100 < present * u128::from(BETTER_PERCENT);
        if is_beaten {
            self.winner = 1 - self.winner;
        }
        let is_kept = self.is_found && !is_beaten;
        self.retrial_bytes = if is_kept { self.retrial_bytes.saturating_mul(2) } else { RETRIAL_BYTES };
        self.retrial_bytes = self.retrial_bytes.max(self.bytes_that_pay_a_trial()).min(RETRIAL_BYTES_MAX);
        (self.is_found, self.turn, self.left_bytes) = (true, TURNS, self.retrial_bytes);
    }

    /// Returns how many bytes take COST_PARTS times as long as the turns of the worse method in the trial that ends
    /// took longer than the same bytes by the better one.
    fn bytes_that_pay_a_trial(&self) -> u64 {
        let [better_ns, worse_ns] = self.best_ns();
        let worse_bytes = u128::from(self.results[1 - self.winner].bytes);
        let lost_ns = worse_ns.min(better_ns * COST_RATIO_MAX).saturating_sub(better_ns);
        let bytes = lost_ns * worse_bytes * u128::from(COST_PARTS) / better_ns.max(1);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_order_gives_each_method_half_of_the_turns() {
        let mut shuffled = TurnOrder::Shuffled { seed: 7 };
        let all: BTreeSet<Turns> = (0..5000).map(|_| shuffled.next()).collect();
        assert_eq!(all.len(), 36, "all orders occur");
        let ends = [false, true].map(|is_higher| TurnOrder::OfEnd { is_higher }.next());
        let is_fair = |half: &[usize]| half.iter().sum::<usize>() == TURNS / 4;
        assert!(all.into_iter().chain(ends).all(|turns| turns.chunks(TURNS / 2).all(is_fair)));
    }
}
