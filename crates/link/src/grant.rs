//! The receive credit of one path (P21): the frames that the peer may have in flight to us, so that those of all paths
//! of a port fit it.
//!
//! A path is granted about what it uses: twice the frames that were in flight, as the peer's `open` reports, and at
//! most half of what the others have left, so that n busy paths have room / (n + 1) each, and an equal part of what the
//! network bears (P27). Granted credit is never taken back; a path with more than its part gets no more until enough of
//! its frames have arrived. Used by `path`, for each header with a credit; uses `room`.

use crate::marks::{Mark, mark};
use crate::planted::{Bug, planted};
use crate::room::{Heard, Room};
use crate::seq::{Seq, WINDOW};

/// The credit that a path always gets, in frames, or its peer could not continue; HELLO grants it, as there may never
/// be a reply.
pub const LEAST: u32 = 2;

/// The first credit of a path, in frames: a sender begins with no more (P23), so that the first bulk never waits for
/// credit.
const FIRST: u32 = 32;
/// The divisor of the remaining room for a path's first credit: many peers open paths and send nothing more.
const FIRST_PART: u32 = 4;

/// The credit of one path's peer.
#[derive(Debug)]
pub struct Grant {
    /// The first number for which the peer has no credit: never more than a window beyond what arrived.
    until: Seq,
    /// Frames that are counted for it in the port's room.
    counted: u32,
    /// Frames that it gets if there is room: 0 before the first grant.
    target: u32,
    heard: Heard,
}

impl Grant {
    /// The credit of a path whose peer begins with number `first`, and has received a HELLO at most.
    pub fn new(first: Seq) -> Grant {
        Grant { until: first + LEAST, counted: 0, target: 0, heard: Heard::default() }
    }

    /// Records that a frame arrived, behind `lost` missing ones, when the peer had `frames` in flight: if that is more
    /// than half of the target, the target doubles.
    #[inline]
    pub fn used(&mut self, room: &mut Room, frames: u32, lost: u32, now_ns: u64) {
        room.came(&mut self.heard, frames, lost, now_ns);
        if 2 * frames > self.target && (1..WINDOW).contains(&self.target) {
            mark(Mark::GrantDoubled);
            self.target = (2 * self.target).min(WINDOW);
        }
    }

    /// Grants credit beyond `end`, before which nothing is in flight, as far as there is room. Returns the frames.
    pub fn renew(&mut self, room: &mut Room, end: Seq) -> u32 {
        let left = room.left(if planted(Bug::RoomForEach) { room.granted } else { self.counted });
        if self.target == 0 {
            self.target = FIRST.min(left / FIRST_PART).max(LEAST);
        }
        let has = u32::from(self.credit(end));
        let frames = room.part(&mut self.heard, self.target, LEAST, has).min((left / 2).max(LEAST));
        if frames < self.target {
            mark(if frames <= LEAST { Mark::GrantLeast } else { Mark::GrantShared });
        }
        if has > frames {
            mark(Mark::GrantKept);
        } else {
            self.until = end + frames;
        }
        room.granted -= self.counted;
        self.counted = end.until(self.until);
        room.granted += self.counted;
        frames
    }

    /// Returns the credit for a header that names `end` as the number behind the last one that arrived.
    #[inline]
    pub fn credit(&self, end: Seq) -> u16 {
        let frames = if end.is_by(self.until) { end.until(self.until) } else { 0 };
        frames.min(u32::from(u16::MAX)) as u16
    }

    /// Gives the credit of a path that is given up back to the room.
    pub fn give_back(self, room: &mut Room) {
        room.granted -= self.counted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a peer that sends all that it may; returns how many frames arrived.
    fn fill(grant: &mut Grant, room: &mut Room, end: &mut Seq) -> u32 {
        let frames = grant.credit(*end);
        grant.used(room, u32::from(frames), 0, 0);
        *end = *end + u32::from(frames);
        grant.renew(room, *end);
        u32::from(frames)
    }

    /// P21
    #[test]
    fn all_that_is_granted_fits_the_room_and_busy_paths_have_equal_parts() {
        const ROOM: u32 = 2137;
        for count in [1, 2, 8, 64, 300] {
            let mut room = Room::new(ROOM);
            let mut paths: Vec<(Grant, Seq)> =
                (0..count).map(|n| Seq(u32::MAX - n)).map(|n| (Grant::new(n), n)).collect();
            for _ in 0..40 {
                for (grant, end) in &mut paths {
                    fill(grant, &mut room, end);
                    let over = if count > 64 { LEAST * count } else { 0 };
                    assert!(room.granted <= ROOM + over, "{} of {count} paths", room.granted);
                }
            }
            if count > 64 {
                continue;
            }
            let part = ROOM / (count + 1);
            let granted = paths.iter().map(|(grant, end)| u32::from(grant.credit(*end)));
            assert!(
                granted.clone().all(|it| it.abs_diff(part.min(WINDOW)) <= 1 + part / 8),
                "{count}: {:?}",
                granted.collect::<Vec<_>>()
            );
            paths.into_iter().for_each(|(grant, _)| grant.give_back(&mut room));
            assert_eq!(room.granted, 0);
        }
    }

    /// P21
    #[test]
    fn a_path_is_granted_what_it_uses_and_keeps_what_it_has() {
        let mut room = Room::new(1000);
        let (mut busy, mut end) = (Grant::new(Seq(0)), Seq(0));
        busy.renew(&mut room, end);
        for n in 0..1000 {
            busy.used(&mut room, 15, 0, 0);
            end = Seq(n);
            busy.renew(&mut room, end);
        }
        assert_eq!(busy.credit(end), 32, "one that uses a little gets no more");
        (0..10).for_each(|_| _ = fill(&mut busy, &mut room, &mut end));
        assert_eq!(busy.credit(end), 500);
        let (mut other, mut other_end) = (Grant::new(Seq(0)), Seq(0));
        (0..10).for_each(|_| _ = fill(&mut other, &mut room, &mut other_end));
        assert_eq!((busy.credit(end), other.credit(other_end)), (500, 250), "what was granted stands");
        busy.renew(&mut room, end + 100);
        assert_eq!(busy.credit(end + 100), 400, "but nothing is added");
        busy.renew(&mut room, end + 500);
        assert_eq!(busy.credit(end + 500), 375);
    }

    /// P21
    #[test]
    fn where_nothing_is_left_everybody_still_gets_a_little() {
        let mut room = Room::new(1);
        for _ in 0..3 {
            let mut grant = Grant::new(Seq(7));
            assert_eq!((grant.renew(&mut room, Seq(7)), grant.credit(Seq(7))), (LEAST, LEAST as u16));
            assert_eq!(grant.credit(Seq(70)), 0, "questions go beyond what was granted");
        }
    }
}
