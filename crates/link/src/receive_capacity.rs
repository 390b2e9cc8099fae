//! The receive capacity of one local port: the number of frames that all senders together may have in flight to it
//! (P21 and P27 of docs/protocol.md). It is what the port really buffers. Once much of several senders' traffic is
//! lost, it is what the network bears, if that is less. The receiver decides, because it alone sees all senders.
//!
//! Used by `path_credit`, which gives each path its part. The module knows of paths only in which round each was last
//! active, and the state of each in that round (`SenderRound`).

use crate::marks::{Mark, mark};

/// The number of frames in a round, at whose end the loss is judged: a quarter of a whole window of one path (`seq`).
const ROUND_FRAMES: u32 = 256;
/// The time, in ns, after which a round ends that has fewer frames, so that the number of active senders is known. It
/// is ten times the time in which a switch port of 500 Mbit/s sends a buffer of 64 KiB.
const ROUND_NS: u64 = 10_000_000;
/// The minimum that all senders together are granted, in frames: the number of frames of MTU 9000 that a switch port
/// with 64 KiB of memory can buffer.
const MIN_FRAMES: u32 = 7;
/// The percentage of loss above which less is granted. Smaller losses are left to the senders' congestion windows,
/// which respond from 2 % on (P23). Eight senders to a port of 500 Mbit/s with 64 KiB, each a process, on two cores
/// together, got (median of 60 rounds) 440 Mbit/s by windows alone, 436 with 10 % here, and 415 with 2 %, because a
/// port runs dry if replies arrive late.
const LOST_PERCENT: u32 = 10;
/// The divisor of what is granted that gives the increase when less was lost. Measured as above, 273 Mbit/s were
/// reached with a sixteenth and 2 %.
const INCREASE_DIVISOR: u32 = 4;
/// The value of `network_frames` if the network is assumed to bear all that the port buffers.
const UNLIMITED: u32 = u32::MAX;

/// The receive capacity of a local port, in frames. See the module.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveCapacity {
    /// The number of frames that the port buffers.
    frames: u32,
    /// The number of frames that the port's paths were granted and did not send, as counted at the last renewal of
    /// each path's credit.
    pub granted_frames: u32,
    /// The number of frames in flight that the network bears.
    network_frames: u32,
    /// The number of paths that were active in the last round.
    senders: u32,
    /// Credit that the senders have saved together because they were granted none. The unit is a frame divided by the
    /// number of senders.
    saved: i32,
    /// Whether the last round of full length reduced the capacity.
    was_narrowed: bool,
    round: CapacityRound,
}

#[derive(Clone, Copy, Debug)]
struct CapacityRound {
    number: u32,
    since_ns: u64,
    /// The number of paths that were active in this round.
    senders: u32,
    /// The sum over these paths of the most frames that each had in flight at once.
    in_flight: u32,
    /// Frames that arrived; those of short rounds are added up.
    arrived: u32,
    /// Frames that were lost; those of short rounds are added up.
    lost: u32,
    /// Whether a sender wanted more than its part.
    is_scarce: bool,
}

/// The state of one path in the round in which it was last active.
#[derive(Clone, Copy, Default, Debug)]
pub struct SenderRound {
    round: u32,
    in_flight: u32,
    /// Credit that the path has saved by itself since it was last granted some, in the unit of
    /// `ReceiveCapacity::saved`.
    saved: i32,
}

impl ReceiveCapacity {
    pub fn new(frames: u32) -> ReceiveCapacity {
        let round =
            CapacityRound { number: 1, since_ns: 0, senders: 0, in_flight: 0, arrived: 0, lost: 0, is_scarce: false };
        ReceiveCapacity {
            frames,
            granted_frames: 0,
            network_frames: UNLIMITED,
            senders: 0,
            saved: 0,
            was_narrowed: false,
            round,
        }
    }

    /// Sets the number of frames that the port buffers. Credit that is already granted stays valid, even if it is
    /// more.
    pub fn set_frames(&mut self, frames: u32) {
        self.frames = frames;
    }

    /// Returns the number of frames of the port's capacity that are left for a path. `counted` frames of
    /// `granted_frames` are the path's own.
    pub fn available(&self, counted: u32) -> u32 {
        self.frames.saturating_sub(self.granted_frames - counted)
    }

    /// Records that a frame of a path arrived, behind `lost` missing ones, when `in_flight` frames of the path were
    /// in flight. Ends the round if it is long enough.
    #[inline]
    pub fn on_arrived(&mut self, sender: &mut SenderRound, in_flight: u32, lost: u32, now_ns: u64) {
        let round = &mut self.round;
        if sender.round != round.number {
            *sender = SenderRound { round: round.number, in_flight: 0, saved: sender.saved };
            round.senders += 1;
        }
        if in_flight > sender.in_flight {
            round.in_flight += in_flight - sender.in_flight;
            sender.in_flight = in_flight;
        }
        round.arrived += 1;
        round.lost += lost;
        if round.arrived + round.lost >= ROUND_FRAMES || now_ns >= round.since_ns + ROUND_NS {
            self.end_round(now_ns);
        }
    }

    fn end_round(&mut self, now_ns: u64) {
        let CapacityRound { number, senders, in_flight, arrived, lost, is_scarce, .. } = self.round;
        let is_long = arrived + lost >= ROUND_FRAMES;
        // The round after a reduction is not judged: frames that are lost in it were sent before the reduction.
        let judged = is_long && !std::mem::take(&mut self.was_narrowed);
        if judged && senders > 1 && 100 * lost > LOST_PERCENT * (arrived + lost) {
            self.was_narrowed = true;
            mark(Mark::CapacityReduced);
            self.network_frames = (self.network_frames.min(in_flight) / 10 * 7).max(MIN_FRAMES);
        } else if judged && is_scarce {
            mark(Mark::CapacityIncreased);
            let more = self.network_frames + self.network_frames / INCREASE_DIVISOR + 1;
            self.network_frames = if more < self.frames { more } else { UNLIMITED };
        }
        self.senders = senders;
        let (arrived, lost, is_scarce) = if is_long { (0, 0, false) } else { (arrived, lost, is_scarce) };
        self.round = CapacityRound {
            number: number.wrapping_add(1),
            since_ns: now_ns,
            senders: 0,
            in_flight: 0,
            arrived,
            lost,
            is_scarce,
        };
    }

    /// Returns one sender's part in what the network bears, in frames. The sender wants `frames`, which is at least
    /// `least`, and has credit for `has`. If there is enough for all senders, the part is at least `least`. If there
    /// is not, the senders take turns: until its turn comes, a sender that has credit keeps it, and one that has none
    /// gets none.
    pub fn share(&mut self, sender: &mut SenderRound, frames: u32, least: u32, has: u32) -> u32 {
        if self.network_frames == UNLIMITED {
            return frames;
        }
        let senders = self.senders.max(self.round.senders).max(1);
        let share = self.network_frames / senders;
        self.round.is_scarce |= share < frames;
        if share >= least {
            return frames.min(share);
        }
        if has > 0 {
            return has;
        }
        // Each sender without credit saves its part. It gets credit if all together have saved enough for one sender,
        // or if it has saved twice that amount by itself.
        let (saving, enough) = (self.network_frames as i32, (least * senders) as i32);
        self.saved = (self.saved + saving).min(enough);
        sender.saved += saving;
        if self.saved < enough && sender.saved < 2 * enough {
            mark(Mark::CapacityNone);
            return 0;
        }
        self.saved -= enough;
        sender.saved = 0;
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: u32 = 2137;

    /// A receive capacity, and senders with equally many frames in flight.
    struct ManySenders {
        capacity: ReceiveCapacity,
        rounds: Vec<SenderRound>,
        in_flight: u32,
    }

    impl ManySenders {
        fn new(senders: usize, in_flight: u32) -> ManySenders {
            ManySenders {
                capacity: ReceiveCapacity::new(FRAMES),
                rounds: vec![SenderRound::default(); senders],
                in_flight,
            }
        }

        /// Runs rounds in which `lost_percent` of a hundred frames are lost.
        fn rounds(&mut self, count: u32, lost_percent: u32) {
            let end = self.capacity.round.number + count;
            let mut senders = (0..self.rounds.len()).cycle();
            for n in 1.. {
                let lost = u32::from(n % 100 < lost_percent);
                self.capacity.on_arrived(&mut self.rounds[senders.next().unwrap()], self.in_flight, lost, 0);
                if self.capacity.round.number == end {
                    break;
                }
            }
        }

        /// Returns the part of a sender that wants everything.
        fn share(&mut self) -> u32 {
            self.capacity.share(&mut self.rounds[0], FRAMES, 2, 0)
        }
    }

    /// P27
    #[test]
    fn what_is_lost_of_several_senders_lessens_what_is_granted_to_all_and_it_comes_back() {
        const REDUCED: u32 = 8 * 32 / 10 * 7 / 8;
        let mut many = ManySenders::new(8, 32);
        many.rounds(4, LOST_PERCENT / 2);
        assert_eq!(many.share(), FRAMES, "windows deal with that");
        many.rounds(1, 20);
        assert_eq!(many.share(), REDUCED, "seven tenths of what was in flight");
        many.rounds(1, 20);
        assert_eq!(many.share(), REDUCED, "what is lost still was sent before");
        many.rounds(1, 0);
        assert!(many.share() > REDUCED);
        (0..40).for_each(|_| {
            many.share();
            many.rounds(1, 0);
        });
        assert_eq!(many.share(), FRAMES);
    }

    /// P27: the window of a single sender does the same (P23).
    #[test]
    fn what_is_lost_of_one_sender_lessens_nothing() {
        let mut one = ManySenders::new(1, 32);
        one.rounds(20, 50);
        assert_eq!(one.share(), FRAMES);
    }

    /// P27
    #[test]
    fn where_not_all_have_room_for_the_least_they_take_turns() {
        let mut many = ManySenders::new(60, 2);
        many.rounds(100, 20);
        let ManySenders { capacity, rounds, .. } = &mut many;
        let mut all = [0; 60];
        for at in (0..60).cycle().take(60 * 120) {
            capacity.on_arrived(&mut rounds[at], 1, 1, 0);
            let share = capacity.share(&mut rounds[at], FRAMES, 2, 0);
            assert!(share == 0 || share == 2);
            all[at] += share;
        }
        let (most, least) = (*all.iter().max().unwrap(), *all.iter().min().unwrap());
        // Senders that need credit in the same rhythm: none is left out.
        assert!(least > 0 && most < 5 * least, "{all:?}");
        assert!(all.iter().sum::<u32>() / 120 <= capacity.network_frames, "{all:?} of {}", capacity.network_frames);
        assert_eq!(capacity.share(&mut rounds[0], FRAMES, 2, 1), 1, "a sender with credit keeps it");
    }

    /// P27
    #[test]
    fn who_is_heard_no_more_is_not_counted_for_long() {
        let mut many = ManySenders::new(60, 2);
        many.rounds(100, 20);
        (1..4).for_each(|n| many.capacity.on_arrived(&mut many.rounds[0], 2, 0, n * ROUND_NS));
        assert_eq!(many.share(), MIN_FRAMES);
    }
}
