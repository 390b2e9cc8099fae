//! Chooses whether eager messages to a peer go as direct packets or by link, for each class of lengths, by trials
//! (`device::method_trial`).
//!
//! A turn of a trial lasts for a number of bytes; for fewer if the peer has answered a number of times, because then
//! the bytes that are still under way are few.
//!
//! The module sends nothing, and reads no clock. Used by `direct`; uses a limit of `sender`.

use super::sender::RETAINED_MAX_BYTES;
use hawser_device::method_trial::{MethodPair, MethodTrial, RETRIAL_BYTES, TURN_BYTES_MAX, TurnOrder};

/// The methods for an eager message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EagerMethod {
    /// By the direct connection, if that can take the message at once.
    Direct,
    /// In packets of link. If the rest is long enough, it may go zero-copy by the direct connection all the same.
    Link,
}

impl MethodPair for EagerMethod {
    const BOTH: [EagerMethod; 2] = [EagerMethod::Direct, EagerMethod::Link];
}

/// The upper ends of the classes of lengths, in bytes; the last class has all longer messages. They are those for which
/// the best method may differ: few frames, two frames of MTU 9000, a run of frames, several runs. Over MTU 9000, both
/// ways, frames were faster up to 16 KiB (9.7 us, and 11.3 by the direct connection) and slower from 24 KiB on (17.2
/// and 11.7).
const CLASS_ENDS: [usize; 4] = [8 << 10, 18 << 10, 32 << 10, 128 << 10];
pub const CLASSES: usize = CLASS_ENDS.len() + 1;

/// The first class in which direct packets are the better method on most networks. Its first trial and those of longer
/// classes begin late, because a trial takes 4 MiB in a ping-pong, and up to 32 MiB in other programs: NPB's CG of
/// class W sends 12 MiB to a peer, and was over before it (docs/measurements/2026-11-30-npb-on-hosts.md).
const CLEAR_FROM_CLASS: usize = 2;
const _: () = assert!(CLEAR_FROM_CLASS < CLASSES);

/// The maximum length of a turn, in bytes. A program may hand over many messages at once, which takes less time than
/// they need; but no more than its credit for eager messages, which has this number of bytes by default. So a turn
/// waits for some.
const TURN_BYTES: u64 = RETAINED_MAX_BYTES as u64;
const _: () = assert!(TURN_BYTES <= TURN_BYTES_MAX);

/// The number of answers after which a turn may end, too: messages that are the first ones after a message of the peer.
/// A trial of messages of 16 KiB in a ping-pong took 2048 messages and 50 ms without this limit.
const TURN_ANSWERS: u32 = 32;

/// The minimum length of a turn, in bytes. If both ends send streams, each message may count as an answer, while more
/// bytes than those of TURN_ANSWERS short messages are under way.
const TURN_BYTES_MIN: u64 = 512 << 10;
const _: () = assert!(TURN_BYTES_MIN < TURN_BYTES);

/// The choices for one peer.
pub struct EagerChoice {
    classes: [ClassChoice; CLASSES],
}

/// The choice for one class.
struct ClassChoice {
    trial: MethodTrial<EagerMethod>,
    /// The counts at the last message of the class.
    last: Option<MessageCounts>,
    /// The answers in the turn in progress.
    answers: u32,
}

impl EagerChoice {
    /// Makes the choices of rank `me` for its messages to `peer`.
    pub fn new(me: u32, peer: u32) -> EagerChoice {
        let order = TurnOrder::OfEnd { is_higher: me > peer };
        let class = |at| {
            let is_short = at < CLEAR_FROM_CLASS;
            let trial = if is_short { MethodTrial::new(order) } else { MethodTrial::after(RETRIAL_BYTES, order) };
            ClassChoice { trial, last: None, answers: 0 }
        };
        EagerChoice { classes: std::array::from_fn(class) }
    }

    /// Chooses the method for the next message, which has `len` bytes. If `counts.sent` does not differ from that of
    /// the message before, the same message is tried again.
    pub fn choose(&mut self, len: usize, counts: MessageCounts, now_ns: u64) -> EagerMethod {
        let class = &mut self.classes[class_of(len)];
        if class.last.is_none_or(|last| last.sent != counts.sent) {
            let last = class.last.replace(counts);
            class.answers += u32::from(last.is_some_and(|last| last.received != counts.received));
            let answers = class.answers;
            let is_long = |bytes| bytes >= TURN_BYTES || bytes >= TURN_BYTES_MIN && answers >= TURN_ANSWERS;
            if class.trial.count(len as u64, |turn_bytes| turn_bytes.is_none_or(is_long), || now_ns) {
                class.answers = 0;
            }
        }
        class.trial.method()
    }

    /// Returns the method that the last trial of each class has found best; None before the first one has ended.
    pub fn found(&self) -> [Option<EagerMethod>; CLASSES] {
        std::array::from_fn(|at| self.classes[at].trial.found())
    }
}

/// The messages between a rank and a peer until now: link messages, modulo 2^32, and direct packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MessageCounts {
    pub sent: (u32, u64),
    pub received: (u32, u64),
}

/// Returns the greatest length of a class, in bytes; None for the last class.
pub fn class_end(class: usize) -> Option<usize> {
    CLASS_ENDS.get(class).copied()
}

fn class_of(len: usize) -> usize {
    CLASS_ENDS.iter().position(|&end| len <= end).unwrap_or(CLASS_ENDS.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use EagerMethod::{Direct, Link};
    use hawser_device::method_trial::{COST_PARTS, TURNS};

    /// Sends messages of `len` bytes, each of which takes the time that `ns` returns. Returns the methods.
    fn send(
        choice: &mut EagerChoice,
        clock: &mut (u32, u64),
        (len, count): (usize, usize),
        ns: impl Fn(usize, EagerMethod) -> u64,
    ) -> Vec<EagerMethod> {
        let next = |at| {
            clock.0 += 1;
            let method = choice.choose(len, MessageCounts { sent: (clock.0, 0), ..Default::default() }, clock.1);
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
            let methods = send(&mut choice, &mut clock, (16 << 10, 1_000_000), of(direct, link));
            // The turns of a trial have 256 messages; between two trials are many more. The first trial begins at once.
            let is_trial = |&at: &usize| methods[at] != best && !methods[at - 1000..at].iter().any(|&to| to != best);
            let trials: Vec<usize> = (4000..methods.len()).filter(is_trial).collect();
            assert!(trials.len() >= 2 && methods[methods.len() - 1] == best, "{trials:?}");
            let gaps: Vec<usize> = trials.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(gaps.windows(2).all(|pair| pair[1] > pair[0] + pair[0] / 2), "{gaps:?}");
            assert_eq!(choice.found(), [None, Some(best), None, None, None]);
        }
    }

    #[test]
    fn later_trials_cost_one_percent_at_most() {
        for (direct, link, has_second) in [(10_000, 11_000, true), (10_000, 22_000, false), (40_000, 10_000, false)] {
            let (mut choice, mut clock) = (EagerChoice::new(0, 1), (0, 0));
            let best_ns = direct.min(link);
            send(&mut choice, &mut clock, (16 << 10, 3000), of(direct, link));
            let began_ns = clock.1;
            let methods = send(&mut choice, &mut clock, (16 << 10, 80_000), of(direct, link));
            assert_eq!(methods.iter().any(|&method| of(direct, link)(0, method) > best_ns), has_second);
            assert!(clock.1 - began_ns <= 80_000 * best_ns * 101 / 100, "{direct} {link}");
        }
    }

    #[test]
    fn each_class_is_chosen_by_itself() {
        let (mut choice, mut clock) = (EagerChoice::new(0, 1), (0, 0));
        send(&mut choice, &mut clock, (4 << 10, 9000), of(9_000, 5_000));
        let early = send(&mut choice, &mut clock, (100 << 10, 600), of(50_000, 90_000));
        assert!(early.iter().all(|&method| method == Direct), "the first trial of long ones comes after 64 MiB");
        send(&mut choice, &mut clock, (100 << 10, 4400), of(50_000, 90_000));
        assert_eq!(choice.found(), [Some(Link), None, None, Some(Direct), None]);
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
            for number in 0..600 {
                for end in &mut ends {
                    let counts = MessageCounts { sent: (number, 0), received: (number, 0) };
                    now_ns += of(direct, link)(0, end.choose(16 << 10, counts, now_ns));
                }
            }
            assert_eq!(ends.map(|end| end.found()[1]), [Some(best); 2]);
        }
    }

    /// After the first trial, a method that takes much longer than the present one is given up after its second turn.
    /// In a ping-pong a turn has TURN_ANSWERS messages, but no fewer than those of TURN_BYTES_MIN.
    #[test]
    fn a_trial_in_a_ping_pong_is_short() {
        for (link, turns) in [(20_000, 4 + 2), (11_000, 4 + 4)] {
            for (len, turn) in [(16 << 10, TURN_ANSWERS as usize), (4 << 10, (TURN_BYTES_MIN >> 12) as usize)] {
                let mut choice = EagerChoice::new(0, 1);
                let mut now_ns = 0;
                let next = |number: u32| {
                    let counts = MessageCounts { sent: (number, 0), received: (0, number.into()) };
                    let method = choice.choose(len, counts, now_ns);
                    now_ns += of(10_000, link)(0, method);
                    method
                };
                // The second trial comes after so many bytes, and the third one not before twice as many more.
                let pay = TURNS as u64 / 2 * TURN_BYTES_MIN * COST_PARTS * (link - 10_000) / 10_000;
                let count = (2 * pay.max(RETRIAL_BYTES) / len as u64) as u32;
                let tried = (0..count).map(next).filter(|&method| method == Link).count();
                assert!((turns * turn..=turns * (turn + 2)).contains(&tried), "{link} {len}: {tried}");
            }
        }
    }

    /// The first trial finds the worse method, because all turns of the better one are interrupted. The next one comes
    /// soon enough.
    #[test]
    fn a_wrong_result_is_put_right_by_the_next_trial() {
        let (mut choice, mut clock) = (EagerChoice::new(0, 1), (0, 0));
        let first = |_, method| if method == Link { 1_000_000 } else { 14_000 };
        send(&mut choice, &mut clock, (16 << 10, 2100), first);
        assert_eq!(choice.found()[1], Some(Direct));
        send(&mut choice, &mut clock, (16 << 10, 400_000), of(14_000, 10_000));
        assert_eq!(choice.found()[1], Some(Link));
    }

    #[test]
    fn a_message_that_is_tried_again_counts_once() {
        let (mut choice, mut clock) = (EagerChoice::new(0, 1), (0, 0));
        for _ in 0..10_000 {
            let counts = MessageCounts { sent: (7, 7), ..Default::default() };
            assert_eq!(choice.choose(16 << 10, counts, clock.1), Direct);
            clock.1 += 1000;
        }
        assert_eq!(
            send(&mut choice, &mut clock, (16 << 10, 260), of(1, 1)).iter().filter(|&&to| to == Link).count(),
            5
        );
    }
}
