//! The room of one local port: the frames that all senders together may have in flight to it (P21, P27). That is what
//! its port really buffers, and, once much of several senders' traffic is lost, what the network bears. Only the
//! receiver sees all senders.
//!
//! Used by `grant`, which gives each path its part. It knows nothing of paths except when each is first active in a
//! round.

use crate::marks::{Mark, mark};

/// Frames of a round, by which the loss is judged; a quarter of a whole window of one path (`window`).
const ROUND_FRAMES: u32 = 256;
/// A round with fewer frames ends after this time, in ns, so that the number of active senders is known: ten times what
/// a switch's buffer of 64 KiB takes at 500 Mbit/s.
const ROUND_NS: u64 = 10_000_000;
/// The least that is granted to all together, in frames: what a switch's port can buffer in frames of MTU 9000, if it
/// has 64 KiB.
const FLOOR: u32 = 7;
/// The percentage of loss above which less is granted: below it the senders' windows respond (P23), at 2 %. Eight
/// senders to a port of 500 Mbit/s with 64 KiB, each a process in two cores: the median of 60 rounds was 440 Mbit/s by
/// windows alone, 436 with 10 %, and 415 with 2 %, because a port runs dry where replies arrive late.
const LOST_PERCENT: u32 = 10;
/// The divisor of the increase when less was lost: measured as above, 273 Mbit/s with a sixteenth and 2 %.
const MORE_PART: u32 = 4;
/// The network is assumed to bear all that the port buffers.
const ALL: u32 = u32::MAX;

/// The room of a local port, in frames.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Frames that the port buffers.
    frames: u32,
    /// Frames that its paths were granted and did not send, as of the last renewal of each.
    pub granted: u32,
    /// Frames that the network bears.
    bears: u32,
    /// Paths that were active in the last round.
    senders: u32,
    /// Credit saved together by senders that were granted none, in parts of a frame: one divided by the number of
    /// senders.
    saved: i32,
    /// Whether the last round of full length narrowed the room.
    was_narrowed: bool,
    round: Round,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    number: u32,
    since_ns: u64,
    /// Paths that were active in the round, and the most frames that they had in flight.
    senders: u32,
    under_way: u32,
    /// Frames that arrived, and frames that did not; short rounds are added up.
    came: u32,
    lost: u32,
    /// Whether a sender wanted more than its part.
    is_scarce: bool,
}

/// The state of one path in a round.
#[derive(Clone, Copy, Default, Debug)]
pub struct Heard {
    round: u32,
    under_way: u32,
    /// Credit that the path has saved by itself since it was last granted some, in the unit of `Room::saved`.
    saved: i32,
}

impl Room {
    pub fn new(frames: u32) -> Room {
        let round = Round { number: 1, since_ns: 0, senders: 0, under_way: 0, came: 0, lost: 0, is_scarce: false };
        Room { frames, granted: 0, bears: ALL, senders: 0, saved: 0, was_narrowed: false, round }
    }

    /// Sets what the port buffers. Granted credit stands, even if it is more.
    pub fn set(&mut self, frames: u32) {
        self.frames = frames;
    }

    /// Returns what is left of the port's room for a path for which `counted` frames are counted.
    pub fn left(&self, counted: u32) -> u32 {
        self.frames.saturating_sub(self.granted - counted)
    }

    /// Records that a path's frame arrived, behind `lost` missing ones; the path had `under_way` frames in flight.
    #[inline]
    pub fn came(&mut self, heard: &mut Heard, under_way: u32, lost: u32, now_ns: u64) {
        let round = &mut self.round;
        if heard.round != round.number {
            *heard = Heard { round: round.number, under_way: 0, saved: heard.saved };
            round.senders += 1;
        }
        if under_way > heard.under_way {
            round.under_way += under_way - heard.under_way;
            heard.under_way = under_way;
        }
        round.came += 1;
        round.lost += lost;
        if round.came + round.lost >= ROUND_FRAMES || now_ns >= round.since_ns + ROUND_NS {
            self.end_round(now_ns);
        }
    }

    fn end_round(&mut self, now_ns: u64) {
        let Round { number, senders, under_way, came, lost, is_scarce, .. } = self.round;
        let is_long = came + lost >= ROUND_FRAMES;
        // Frames lost in the round after a narrowing were sent before it.
        let judged = is_long && !std::mem::take(&mut self.was_narrowed);
        if judged && senders > 1 && 100 * lost > LOST_PERCENT * (came + lost) {
            self.was_narrowed = true;
            mark(Mark::RoomNarrowed);
            self.bears = (self.bears.min(under_way) / 10 * 7).max(FLOOR);
        } else if judged && is_scarce {
            mark(Mark::RoomWidened);
            let more = self.bears + self.bears / MORE_PART + 1;
            self.bears = if more < self.frames { more } else { ALL };
        }
        self.senders = senders;
        let (came, lost, is_scarce) = if is_long { (0, 0, false) } else { (came, lost, is_scarce) };
        self.round =
            Round { number: number.wrapping_add(1), since_ns: now_ns, senders: 0, under_way: 0, came, lost, is_scarce };
    }

    /// Returns the part of one sender in what the network bears, if it wants `frames` frames, `least` or more, and
    /// `has` some: at least `least`, or what it has until its turn comes.
    pub fn part(&mut self, heard: &mut Heard, frames: u32, least: u32, has: u32) -> u32 {
        if self.bears == ALL {
            return frames;
        }
        let senders = self.senders.max(self.round.senders).max(1);
        let part = self.bears / senders;
        self.round.is_scarce |= part < frames;
        if part >= least {
            return frames.min(part);
        }
        if has > 0 {
            return has;
        }
        // Each saves its part: a sender that asks when all have saved enough for one grant gets it, and so does one
        // that has waited twice as long.
        let (saving, enough) = (self.bears as i32, (least * senders) as i32);
        self.saved = (self.saved + saving).min(enough);
        heard.saved += saving;
        if self.saved < enough && heard.saved < 2 * enough {
            mark(Mark::RoomNone);
            return 0;
        }
        self.saved -= enough;
        heard.saved = 0;
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: u32 = 2137;

    /// A room, and senders with equally many frames in flight.
    struct Many {
        room: Room,
        heard: Vec<Heard>,
        under_way: u32,
    }

    impl Many {
        fn new(senders: usize, under_way: u32) -> Many {
            Many { room: Room::new(FRAMES), heard: vec![Heard::default(); senders], under_way }
        }

        /// Runs rounds in which `lost_percent` of a hundred frames are lost.
        fn rounds(&mut self, count: u32, lost_percent: u32) {
            let end = self.room.round.number + count;
            let mut senders = (0..self.heard.len()).cycle();
            for n in 1.. {
                let lost = u32::from(n % 100 < lost_percent);
                self.room.came(&mut self.heard[senders.next().unwrap()], self.under_way, lost, 0);
                if self.room.round.number == end {
                    break;
                }
            }
        }

        /// Returns the grant of a sender that wants everything.
        fn part(&mut self) -> u32 {
            self.room.part(&mut self.heard[0], FRAMES, 2, 0)
        }
    }

    /// P27
    #[test]
    fn what_is_lost_of_several_senders_lessens_what_is_granted_to_all_and_it_comes_back() {
        const NARROWED: u32 = 8 * 32 / 10 * 7 / 8;
        let mut many = Many::new(8, 32);
        many.rounds(4, LOST_PERCENT / 2);
        assert_eq!(many.part(), FRAMES, "windows deal with that");
        many.rounds(1, 20);
        assert_eq!(many.part(), NARROWED, "seven tenths of what was under way");
        many.rounds(1, 20);
        assert_eq!(many.part(), NARROWED, "what is lost still was sent before");
        many.rounds(1, 0);
        assert!(many.part() > NARROWED);
        (0..40).for_each(|_| {
            many.part();
            many.rounds(1, 0);
        });
        assert_eq!(many.part(), FRAMES);
    }

    /// P27: the window of a single sender does the same (P23).
    #[test]
    fn what_is_lost_of_one_sender_lessens_nothing() {
        let mut one = Many::new(1, 32);
        one.rounds(20, 50);
        assert_eq!(one.part(), FRAMES);
    }

    /// P27
    #[test]
    fn where_not_all_have_room_for_the_least_they_take_turns() {
        let mut many = Many::new(60, 2);
        many.rounds(100, 20);
        let Many { room, heard, .. } = &mut many;
        let mut all = [0; 60];
        for at in (0..60).cycle().take(60 * 120) {
            room.came(&mut heard[at], 1, 1, 0);
            let part = room.part(&mut heard[at], FRAMES, 2, 0);
            assert!(part == 0 || part == 2);
            all[at] += part;
        }
        let (most, least) = (*all.iter().max().unwrap(), *all.iter().min().unwrap());
        // Senders that ask in the same rhythm: none is left out.
        assert!(least > 0 && most < 5 * least, "{all:?}");
        assert!(all.iter().sum::<u32>() / 120 <= room.bears, "{all:?} of {}", room.bears);
        assert_eq!(room.part(&mut heard[0], FRAMES, 2, 1), 1, "who has something keeps it");
    }

    /// P27
    #[test]
    fn who_is_heard_no_more_is_not_counted_for_long() {
        let mut many = Many::new(60, 2);
        many.rounds(100, 20);
        (1..4).for_each(|n| many.room.came(&mut many.heard[0], 2, 0, n * ROUND_NS));
        assert_eq!(many.part(), FLOOR);
    }
}
