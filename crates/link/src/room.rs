//! How many frames all senders together may have under way to one of our rails (P21, P27): what its port really keeps, and once much
//! is lost of several senders', what the network bears. Only the receiver sees all of them.
//!
//! Before it: `grant`, which gives each path its part. It knows nothing of paths but when each is heard first in a round.

use crate::marks::{Mark, mark};

/// Frames by which it is judged how much is lost; of a whole window of one path (`window`) that is a quarter.
const ROUND_FRAMES: u32 = 256;
/// A round that brings less ends after this, so that it is known how many still send: ten turns of a switch's buffer of 64 KiB at 500 Mbit/s.
const ROUND_NS: u64 = 10_000_000;
/// No less is granted to all together: what a switch's port has room for, in frames of MTU 9000, if it has 64 KiB.
const FLOOR: u32 = 7;
/// What is lost of a hundred frames before less is granted: with less the senders' windows deal (P23), at 2 %. Eight senders to a port of
/// 500 Mbit/s with 64 KiB, each a process in two cores: the median of 60 rounds was 440 Mbit/s by windows alone, 436 with 10 %, and 415 with
/// 2 %, for where answers come late a port runs dry.
const LOST_PERCENT: u32 = 10;
/// The part that more is granted by when less was lost: measured with the above, 273 Mbit/s with a sixteenth and 2 %.
const MORE_PART: u32 = 4;
/// Nothing is known of the network but that it bears all that the port keeps.
const ALL: u32 = u32::MAX;

/// One of our rails' room, in frames.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// What the port keeps.
    frames: u32,
    /// What its paths were granted and did not send, as far as they were looked at.
    pub granted: u32,
    /// What the network bears.
    bears: u32,
    /// Paths that were heard in the last round.
    senders: u32,
    /// Parts of a frame, one of how many send, that those who were granted none have saved together.
    saved: i32,
    /// The last round of full length narrowed it.
    was_narrowed: bool,
    round: Round,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    number: u32,
    since_ns: u64,
    /// Paths that were heard in it, and what they had under way, at most.
    senders: u32,
    under_way: u32,
    /// Frames that came, and that did not: of short rounds together.
    came: u32,
    lost: u32,
    /// Somebody wanted more than its part.
    is_scarce: bool,
}

/// What a round knows of one path.
#[derive(Clone, Copy, Default, Debug)]
pub struct Heard {
    round: u32,
    under_way: u32,
    /// Parts of a frame, as `Room::saved`, that it has saved by itself since it was granted some.
    saved: i32,
}

impl Room {
    pub fn new(frames: u32) -> Room {
        let round = Round { number: 1, since_ns: 0, senders: 0, under_way: 0, came: 0, lost: 0, is_scarce: false };
        Room { frames, granted: 0, bears: ALL, senders: 0, saved: 0, was_narrowed: false, round }
    }

    /// What was granted stands, even if it is more.
    pub fn set(&mut self, frames: u32) {
        self.frames = frames;
    }

    /// What is left of the port's for a path, if so many stand for it.
    pub fn left(&self, counted: u32) -> u32 {
        self.frames.saturating_sub(self.granted - counted)
    }

    /// A path's frame came, behind `lost` that did not; it had so many under way.
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
        // What is lost still after a narrowing was sent before it.
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

    /// The part of one sender in what the network bears, if it wants `frames` frames, `least` or more, and `has` some: at least `least`,
    /// or what it has until it is its turn.
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
        // Each saves its part: who asks when all have saved enough for one gets it, and who has waited twice as long in any case.
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

    /// A room, and senders that have so many frames under way each.
    struct Many {
        room: Room,
        heard: Vec<Heard>,
        under_way: u32,
    }

    impl Many {
        fn new(senders: usize, under_way: u32) -> Many {
            Many { room: Room::new(FRAMES), heard: vec![Heard::default(); senders], under_way }
        }

        /// Rounds in which so many of a hundred are lost.
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

        /// What one is granted that wants all.
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

    /// P27: one sender's window says the same (P23).
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
        // Those who ask at one beat: nobody is left out.
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
