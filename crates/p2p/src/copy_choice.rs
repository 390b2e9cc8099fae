//! Chooses whether a long message within a host is read from its sender's memory (one copy) or sent in packets (two
//! copies), by trials with the program's own messages (`device::method_trial`).
//!
//! Which way takes less time depends on what the program does with its memory: two copies run on two cores at once, and
//! one copy is half of the work, but its one core waits for each line that the sender has written. So each class of
//! lengths has a trial, and one of its own for ranks that send to each other. A turn begins and ends only where no
//! message is under way to the peer, because a program may begin many sends at once.
//!
//! Pure state: nothing here sends or reads a clock. Used by `lane`, for each peer with such messages.

use hawser_device::method_trial::{MethodPair, MethodTrial, RETRIAL_BYTES, TURN_BYTES_MAX, TurnOrder};

/// The two ways of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyMethod {
    /// In packets: two copies.
    Packets,
    /// Read by its receiver: one copy.
    Read,
}

impl MethodPair for CopyMethod {
    const BOTH: [CopyMethod; 2] = [CopyMethod::Packets, CopyMethod::Read];
}

/// The upper ends of the classes of lengths, in bytes; the last class has all longer messages. The best way changes
/// where messages no longer fit a core's first or second cache.
const CLASS_ENDS: [u64; 3] = [64 << 10, 256 << 10, 1 << 20];
const CLASSES: usize = CLASS_ENDS.len() + 1;

/// The minimum length of a turn, in bytes. A send in packets ends when the last bytes are in shared memory, so that up
/// to a pool's bytes (1 MiB) are still to be copied at the end of a turn if the receiver does not reply.
const TURN_BYTES: u64 = TURN_BYTES_MAX;

/// The bytes of a class before its first trial. A trial sends half of its 64 MiB by the worse way, so that a program
/// that sends no more than some trials would pay for them and gain nothing: NPB of class W on two ranks took 2 to 5 %
/// less time without (docs/measurements/2026-11-30-npb.md).
const FIRST_TRIAL_AFTER: u64 = 4 * RETRIAL_BYTES;

/// The choices for one peer.
pub struct CopyChoice {
    /// The last message that was counted: its serial number, its class, and its way.
    last: Option<(u32, usize, CopyMethod)>,
    /// The trials, by whether the peer sends, too, and by class.
    trials: [[MethodTrial<CopyMethod>; CLASSES]; 2],
}

/// A message for which a way is to be chosen.
#[derive(Clone, Copy, Debug)]
pub struct LongMessage {
    pub bytes: u64,
    /// Its serial number among the messages to the peer. If that and the class are those of the message before, the
    /// same message is tried again, and keeps its way.
    pub number: u32,
    /// Whether a message of the peer is expected.
    pub is_exchange: bool,
}

impl CopyChoice {
    /// Makes the choices for messages to a peer. `seed`: a number that differs between processes and peers.
    pub fn new(seed: u64) -> CopyChoice {
        let trial = |number: usize| {
            MethodTrial::after(FIRST_TRIAL_AFTER, TurnOrder::Shuffled { seed: seed.wrapping_add(number as u64) })
        };
        let trials = |kind: usize| std::array::from_fn(|class| trial(kind * CLASSES + class));
        CopyChoice { last: None, trials: std::array::from_fn(trials) }
    }

    /// Chooses the way of a message. `is_quiet` tells whether nothing is under way to the peer.
    pub fn choose(
        &mut self,
        message: LongMessage,
        is_quiet: impl FnOnce() -> bool,
        now_ns: impl FnOnce() -> u64,
    ) -> CopyMethod {
        let class = CLASS_ENDS.iter().position(|&end| message.bytes <= end).unwrap_or(CLASS_ENDS.len());
        if let Some((number, of_class, method)) = self.last
            && (number, of_class) == (message.number, class)
        {
            return method;
        }
        let trial = &mut self.trials[usize::from(message.is_exchange)][class];
        let is_long = |bytes| bytes >= TURN_BYTES;
        trial.count(message.bytes, |turn_bytes| turn_bytes.is_none_or(is_long) && is_quiet(), now_ns);
        let method = trial.method();
        self.last = Some((message.number, class, method));
        method
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CopyMethod::{Packets, Read};

    /// Sends `count` messages, each of which takes the time that `ns` returns, after bursts of `burst` messages.
    fn send(choice: &mut CopyChoice, bytes: u64, count: u32, burst: u32, ns: impl Fn(CopyMethod) -> u64) -> CopyMethod {
        let (mut now_ns, mut under_way_ns) = (0, 0);
        let mut method = Packets;
        for number in 0..count {
            let is_quiet = number.is_multiple_of(burst);
            if is_quiet {
                now_ns += std::mem::take(&mut under_way_ns);
            }
            let message = LongMessage { bytes, number: number + 1, is_exchange: false };
            method = choice.choose(message, || is_quiet, || now_ns);
            under_way_ns += ns(method);
        }
        method
    }

    #[test]
    fn the_way_that_takes_less_time_is_found_even_if_many_sends_begin_at_once() {
        for burst in [1, 7, 64, 400] {
            for (packets, read, best) in [(10_000, 15_000, Packets), (15_000, 10_000, Read)] {
                let mut choice = CopyChoice::new(burst.into());
                let ns = |method| if method == Packets { packets } else { read };
                assert_eq!(send(&mut choice, 128 << 10, 20_000, burst, ns), best, "{burst}");
            }
        }
    }

    #[test]
    fn classes_and_directions_are_chosen_by_themselves() {
        let mut choice = CopyChoice::new(7);
        send(&mut choice, 128 << 10, 4000, 1, |method| if method == Read { 5 } else { 9 });
        let mut of =
            |bytes, is_exchange| choice.choose(LongMessage { bytes, number: u32::MAX, is_exchange }, || false, || 0);
        assert_eq!([of(256 << 10, false), of(64 << 10, false), of((256 << 10) + 1, false)], [Read, Packets, Packets]);
        assert_eq!(of(128 << 10, true), Packets);
    }

    /// Sends what a class has before its first trial; no moment is quiet.
    fn before_trials(choice: &mut CopyChoice, is_exchange: bool) {
        for number in 0..(FIRST_TRIAL_AFTER >> 20) as u32 {
            let message = LongMessage { bytes: 1 << 20, number: number + 1_000_000, is_exchange };
            assert_eq!(choice.choose(message, || false, || 0), Packets);
        }
    }

    #[test]
    fn the_first_trial_begins_late() {
        let mut choice = CopyChoice::new(7);
        let mut reads = 0;
        for number in 0..2 * (FIRST_TRIAL_AFTER >> 20) as u32 {
            let message = LongMessage { bytes: 1 << 20, number, is_exchange: false };
            reads += u32::from(choice.choose(message, || true, || number.into()) == Read);
            assert!(reads == 0 || u64::from(number) << 20 >= FIRST_TRIAL_AFTER - (1 << 20), "{number}");
        }
        assert!(reads > 0);
    }

    #[test]
    fn a_message_that_is_tried_again_counts_once_and_keeps_its_way() {
        for seed in 0..100 {
            let mut choice = CopyChoice::new(seed);
            [false, true].into_iter().for_each(|is_exchange| before_trials(&mut choice, is_exchange));
            let mut choose =
                |is_exchange| choice.choose(LongMessage { bytes: 1 << 20, number: 7, is_exchange }, || true, || 0);
            let first = choose(false);
            assert!((0..1000).all(|again| choose(again % 2 == 0) == first));
        }
    }

    /// A program that always has a message under way sends in packets, from the beginning or after a while.
    #[test]
    fn without_a_quiet_moment_messages_go_in_packets() {
        for seed in 0..100 {
            let (mut never, mut no_longer) = (CopyChoice::new(seed), CopyChoice::new(seed));
            before_trials(&mut no_longer, false);
            for number in 0..400 {
                let message = LongMessage { bytes: 1 << 20, number, is_exchange: false };
                assert_eq!(never.choose(message, || false, || 0), Packets);
                let method = no_longer.choose(message, || number < 10, || number.into());
                assert!(method == Packets || number < 100, "{seed} {number}");
            }
        }
    }
}
