//! Chooses whether eager messages to a peer go as direct packets or by link, for each class of lengths, from what the
//! traffic itself takes.
//!
//! In a trial the two methods take turns. A turn counts by the time from its first message to the next turn's, for each
//! byte; a method counts by its best turn, because the kernel may take a core away for longer than a turn lasts. The
//! method that takes less time carries the class until the next trial, which comes later each time the same method
//! wins. Both ends of a connection have trials at the same time, as in a ping-pong: so the two ends take turns in
//! different orders, in which each method of one end meets each method of the other.
//!
//! The module sends nothing, and reads no clock. Used by `direct`; uses a limit of `sender`.

use super::sender::RETAINED_MAX_BYTES;

/// The methods for an eager message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EagerMethod {
    /// By the direct connection, if that can take the message at once.
    Direct,
    /// In packets of link. If the rest is long enough, it may go zero-copy by the direct connection all the same.
    Link,
}

impl EagerMethod {
    fn other(self) -> EagerMethod {
        match self {
            EagerMethod::Direct => EagerMethod::Link,
            EagerMethod::Link => EagerMethod::Direct,
        }
    }
}

/// The upper ends of the classes of lengths, in bytes; the last class has all longer messages. They are those for which
/// the best method may differ: few frames, a run of frames, several runs.
const CLASS_ENDS: [usize; 3] = [8 << 10, 32 << 10, 128 << 10];
pub const CLASSES: usize = CLASS_ENDS.len() + 1;

/// The length of a turn, in bytes. A program may hand over many messages at once, which takes less time than they need;
/// but no more than its credit for eager messages, which has this number of bytes by default. So a turn waits for some.
const TURN_BYTES: u64 = RETAINED_MAX_BYTES as u64;

/// The methods of a trial's turns, for the end with the lower rank and for the other one: each pair of methods occurs
/// twice.
const TURNS: usize = 8;
const ORDERS: [[EagerMethod; TURNS]; 2] = {
    use EagerMethod::{Direct as D, Link as L};
    [[D, L, D, L, D, L, D, L], [D, D, L, L, D, D, L, L]]
};

/// The percentage of the present method's time that another method must not exceed to replace it. The rounds of one
/// system in one run differ by 2 to 5 %.
const BETTER_PERCENT: u64 = 95;

/// The number of bytes between two trials: at first, and at most.
const RETRIAL_BYTES: u64 = 256 << 20;
const RETRIAL_BYTES_MAX: u64 = 64 << 30;
const _: () = assert!(8 * TURNS as u64 * TURN_BYTES <= RETRIAL_BYTES && RETRIAL_BYTES < RETRIAL_BYTES_MAX);

/// The choices for one peer.
pub struct EagerChoice {
    order: usize,
    classes: [ClassChoice; CLASSES],
}

impl EagerChoice {
    /// Makes the choices of rank `me` for its messages to `peer`.
    pub fn new(me: u32, peer: u32) -> EagerChoice {
        EagerChoice { order: usize::from(me > peer), classes: std::array::from_fn(|_| ClassChoice::new()) }
    }

    /// Chooses the method for the next message, which has `len` bytes. `number` differs from that of the message
    /// before: if it does not, the same message is tried again.
    pub fn choose(&mut self, len: usize, number: MessageNumber, now_ns: u64) -> EagerMethod {
        let class = &mut self.classes[class_of(len)];
        if class.last.replace(number) != Some(number) {
            class.count(len as u64, &ORDERS[self.order], now_ns);
        }
        class.method(&ORDERS[self.order])
    }

    /// Returns the method that the last trial of each class has found best; None before the first one has ended.
    pub fn found(&self) -> [Option<EagerMethod>; CLASSES] {
        std::array::from_fn(|at| self.classes[at].is_found.then_some(self.classes[at].winner))
    }
}

/// Identifies a message to a peer: the numbers of link messages and direct packets before it.
pub type MessageNumber = (u32, u64);

/// Returns the greatest length of a class, in bytes; None for the last class.
pub fn class_end(class: usize) -> Option<usize> {
    CLASS_ENDS.get(class).copied()
}

fn class_of(len: usize) -> usize {
    CLASS_ENDS.iter().position(|&end| len <= end).unwrap_or(CLASS_ENDS.len())
}

/// The choice for one class.
struct ClassChoice {
    last: Option<MessageNumber>,
    winner: EagerMethod,
    /// Whether a trial has ended.
    is_found: bool,
    /// The number of the turn in progress; TURNS: no trial is in progress.
    turn: usize,
    /// When the turn began, and the bytes in it.
    began_ns: u64,
    bytes: u64,
    /// The time for each TURN_BYTES in the best turn of each method, in ns; u64::MAX before its first turn has ended.
    best: [u64; 2],
    /// The bytes until the next trial, and those between the last one and that.
    left_bytes: u64,
    retrial_bytes: u64,
}

impl ClassChoice {
    fn new() -> ClassChoice {
        ClassChoice {
            last: None,
            winner: EagerMethod::Direct,
            is_found: false,
            turn: 0,
            began_ns: 0,
            bytes: 0,
            best: [u64::MAX; 2],
            left_bytes: 0,
            retrial_bytes: RETRIAL_BYTES,
        }
    }

    fn method(&self, order: &[EagerMethod; TURNS]) -> EagerMethod {
        order.get(self.turn).copied().unwrap_or(self.winner)
    }

    /// Counts a message of `len` bytes that is about to be sent.
    fn count(&mut self, len: u64, order: &[EagerMethod; TURNS], now_ns: u64) {
        if self.turn == TURNS {
            self.left_bytes = self.left_bytes.saturating_sub(len);
            if self.left_bytes > 0 {
                return;
            }
            (self.turn, self.bytes, self.best) = (0, 0, [u64::MAX; 2]);
        } else if self.bytes >= TURN_BYTES {
            self.end_turn(order, now_ns);
        }
        if self.bytes == 0 {
            self.began_ns = now_ns;
        }
        self.bytes += len;
    }

    fn end_turn(&mut self, order: &[EagerMethod; TURNS], now_ns: u64) {
        let ns = u128::from(now_ns.saturating_sub(self.began_ns)) * u128::from(TURN_BYTES) / u128::from(self.bytes);
        let best = &mut self.best[order[self.turn] as usize];
        *best = (*best).min(u64::try_from(ns).unwrap_or(u64::MAX));
        (self.turn, self.bytes) = (self.turn + 1, 0);
        if self.turn == TURNS {
            self.end_trial();
        }
    }

    fn end_trial(&mut self) {
        let other = self.winner.other();
        let best_ns = |method: EagerMethod| u128::from(self.best[method as usize]);
        let is_beaten = best_ns(other) * 100 < best_ns(self.winner) * u128::from(BETTER_PERCENT);
        if is_beaten {
            self.winner = other;
        }
        let is_kept = self.is_found && !is_beaten;
        self.retrial_bytes = if is_kept { (self.retrial_bytes * 2).min(RETRIAL_BYTES_MAX) } else { RETRIAL_BYTES };
        (self.is_found, self.turn, self.left_bytes) = (true, TURNS, self.retrial_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use EagerMethod::{Direct, Link};

    /// Sends messages of `len` bytes, each of which takes the time that `ns` returns. Returns the methods.
    fn send(
        choice: &mut EagerChoice,
        clock: &mut (u32, u64),
        (len, count): (usize, usize),
        ns: impl Fn(usize, EagerMethod) -> u64,
    ) -> Vec<EagerMethod> {
        let next = |at| {
            clock.0 += 1;
            let method = choice.choose(len, (clock.0, 0), clock.1);
            clock.1 += ns(at, method);
            method
        };
        (0..count).map(next).collect()
    }

    fn of(direct: u64, link: u64) -> impl Fn(usize, EagerMethod) -> u64 {
        move |_, method| if method == Direct { direct } else { link }
    }

    #[test]
    fn the_method_that_takes_less_time_wins_and_the_other_is_tried_ever_more_seldom() {
        for (direct, link, best) in [(10_000, 15_000, Direct), (15_000, 10_000, Link), (10_000, 9_800, Direct)] {
            let (mut choice, mut clock) = (EagerChoice::new(0, 1), (0, 0));
            let methods = send(&mut choice, &mut clock, (16 << 10, 800_000), of(direct, link));
            let tried: Vec<usize> =
                (0..methods.len()).filter(|&at| methods[at] != best && (at == 0 || methods[at - 1] == best)).collect();
            // A trial has four turns of each method.
            let trials: Vec<usize> = tried.iter().copied().step_by(4).collect();
            assert!(trials.len() >= 4 && methods[methods.len() - 1] == best, "{trials:?}");
            let gaps: Vec<usize> = trials.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(gaps.windows(2).all(|pair| pair[1] > pair[0] + pair[0] / 2), "{gaps:?}");
            assert_eq!(choice.found(), [None, Some(best), None, None]);
        }
    }

    #[test]
    fn each_class_is_chosen_by_itself() {
        let (mut choice, mut clock) = (EagerChoice::new(0, 1), (0, 0));
        send(&mut choice, &mut clock, (4 << 10, 9000), of(9_000, 5_000));
        send(&mut choice, &mut clock, (100 << 10, 5000), of(50_000, 90_000));
        assert_eq!(choice.found(), [Some(Link), None, Some(Direct), None]);
        assert_eq!(send(&mut choice, &mut clock, (8 << 10, 1), of(0, 0)), [Link]);
        assert_eq!(send(&mut choice, &mut clock, ((8 << 10) + 1, 1), of(0, 0)), [Direct]);
    }

    /// The kernel takes the core away in all turns of the best method but one.
    #[test]
    fn one_good_turn_decides() {
        let (mut choice, mut clock) = (EagerChoice::new(0, 1), (0, 0));
        let late =
            |at: usize, method| if method == Direct && at.is_multiple_of(200) && at < 1200 { 5_000_000 } else { 0 };
        let ns = |at: usize, method| late(at, method) + if method == Direct { 10_000 } else { 14_000 };
        send(&mut choice, &mut clock, (16 << 10, 4000), ns);
        assert_eq!(choice.found()[1], Some(Direct));
    }

    /// In a ping-pong each end waits for the other's message, so that its time shows half of the difference.
    #[test]
    fn two_ends_that_try_at_the_same_time_find_the_same() {
        for (direct, link, best) in [(10_000, 15_000, Direct), (15_000, 10_000, Link)] {
            let mut ends = [EagerChoice::new(3, 7), EagerChoice::new(7, 3)];
            let mut now_ns = 0;
            for number in 0..4000 {
                for end in &mut ends {
                    now_ns += of(direct, link)(0, end.choose(16 << 10, (number, 0), now_ns));
                }
            }
            assert_eq!(ends.map(|end| end.found()[1]), [Some(best); 2]);
        }
    }

    #[test]
    fn a_message_that_is_tried_again_counts_once() {
        let (mut choice, mut clock) = (EagerChoice::new(0, 1), (0, 0));
        for _ in 0..10_000 {
            assert_eq!(choice.choose(16 << 10, (7, 7), clock.1), Direct);
            clock.1 += 1000;
        }
        assert_eq!(
            send(&mut choice, &mut clock, (16 << 10, 260), of(1, 1)).iter().filter(|&&to| to == Link).count(),
            5
        );
    }
}
