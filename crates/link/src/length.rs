//! The path MTU: the length of the frames of one path. HELLO finds the longest frame that passes before it is needed
//! (P8). But later a network may pass less than it did, without any notice: then long frames are lost again and again,
//! while short ones arrive. This module detects that and takes shorter frames, and tries longer ones again from time to
//! time, by HELLO (P25).
//!
//! It sends nothing. Used by `strand`; uses no other module.

use crate::frame::{HEADER, PAYLOAD_MAX};
use crate::marks::{Mark, mark};
use crate::planted::{Bug, planted};
use crate::rtt::TIMEOUT_FIRST_NS;

/// The longest frames that most networks pass (Ethernet's 1500 bytes), that all IPv6 networks pass (1280) and all IPv4
/// networks (576), less IP and UDP headers, in bytes.
const SHORTER: [usize; 3] = [1452, 1232, SHORTEST];
/// The shortest HELLO, in bytes, except between ends that have only shorter frames (P8).
pub const SHORTEST: usize = 548;

/// HELLOs of one length before a shorter one is tried; also how often long frames are lost in succession before shorter
/// ones are taken. RFC 8899's MAX_PROBES.
pub const TRIES: u32 = 3;

/// The first interval, in ns, after which a longer frame is tried again, as a full buffer in the network looks alike;
/// and how often the interval is doubled: to a minute and more, as a network may well stay as it is.
const AGAIN_NS: u64 = TIMEOUT_FIRST_NS;
const AGAIN_DOUBLED: u8 = 13;

/// The path MTU of one path. See the module. It is small, because there may be very many paths.
#[derive(Debug)]
pub struct Length {
    now: u16,
    /// The longest frame that both ends can send.
    most: u16,
    /// The longest frame that was lost since one as long arrived, and how many such losses there were.
    doubted: u16,
    doubts: u8,
    /// The number of longer HELLOs that were sent without a reply.
    tried: u8,
    /// The longest frame that the wire refused since the last frame of the peer.
    refused: u16,
    /// The time at which the next longer HELLO may be sent.
    again_at_ns: u64,
}

/// Returns the length to which frames are cut when those of `len` bytes do not pass.
fn shorter(len: usize) -> Option<usize> {
    SHORTER.into_iter().find(|&shorter| shorter < len)
}

const _: () = assert!(HEADER + PAYLOAD_MAX <= u16::MAX as usize);

impl Length {
    pub fn new(most: usize) -> Length {
        let most = most as u16;
        Length { now: most, most, doubted: 0, doubts: 0, tried: 0, refused: 0, again_at_ns: 0 }
    }

    /// The path MTU: the longest frame, header included, in bytes.
    #[inline]
    pub fn get(&self) -> usize {
        self.now.into()
    }

    /// The longest frame that both ends can send.
    pub fn most(&self) -> usize {
        self.most.into()
    }

    /// Returns the length of the HELLO that follows `unanswered` HELLOs without a reply (P8).
    pub fn of_hello(&self, unanswered: u32) -> usize {
        let step = ((unanswered / TRIES) as usize).min(SHORTER.len());
        let shorter = step.checked_sub(1).map_or(usize::MAX, |at| SHORTER[at]);
        mark(match step {
            0 => Mark::HelloSent,
            1 => Mark::HelloShorter,
            _ => Mark::HelloShortest,
        });
        shorter.min(self.get())
    }

    /// Sets the length of the HELLO or WELCOME that opened the path.
    pub fn open(&mut self, len: usize) {
        self.now = self.now.min(len as u16);
    }

    /// Returns the next longer length to try.
    fn longer(&self) -> usize {
        let longer = SHORTER.into_iter().rev().find(|&longer| longer > self.get());
        longer.unwrap_or(usize::MAX).min(self.most.into())
    }

    /// Whether arrived frames must be reported, because longer ones are suspected.
    #[inline]
    pub fn is_doubted(&self) -> bool {
        self.doubts > 0 || self.refused > 0
    }

    /// Records that the wire refused a frame of this length.
    pub fn refused(&mut self, len: usize) {
        self.refused = self.refused.max(len as u16);
    }

    /// Records that frames arrived, the longest of `longest` bytes; 0: none.
    pub fn came(&mut self, longest: usize) {
        let doubted = usize::from(self.doubted.max(self.refused));
        if longest > shorter(doubted).unwrap_or(0) {
            (self.doubted, self.doubts, self.refused) = (0, 0, 0);
        }
    }

    /// Records an ACK of the peer: the longest frame that arrived and the longest that is lost, in bytes; 0: none.
    pub fn settled(&mut self, came: usize, lost: usize, now_ns: u64) {
        let refused = std::mem::take(&mut self.refused);
        if refused > 0 {
            mark(Mark::RefusedLong);
        }
        let lost = lost.max(refused.into());
        let doubted = lost.max(self.doubted.into());
        let Some(shorter) = shorter(doubted) else { return };
        if came > shorter {
            (self.doubted, self.doubts) = (0, 0);
        } else if lost > SHORTEST && !planted(Bug::ShrunkUnnoticed) {
            (self.doubted, self.doubts) = (doubted as u16, self.doubts + 1);
            if u32::from(self.doubts) == TRIES {
                mark(Mark::FramesShorter);
                let now = self.now.min(shorter as u16);
                *self = Length { now, again_at_ns: now_ns + AGAIN_NS, ..Length::new(self.most.into()) };
            }
        }
    }

    /// Returns the length of a longer HELLO that is to be tried now, while data is being sent.
    pub fn poll_longer(&mut self, now_ns: u64) -> Option<usize> {
        if self.now == self.most || now_ns < self.again_at_ns {
            return None;
        }
        self.again_at_ns = now_ns + (AGAIN_NS << self.tried);
        self.tried = (self.tried + 1).min(AGAIN_DOUBLED);
        mark(Mark::LongerTried);
        Some(self.longer())
    }

    /// Records a WELCOME of this length for a path that is open.
    pub fn welcomed(&mut self, len: usize) {
        if self.tried > 0 && len == self.longer() {
            mark(Mark::FramesLonger);
            *self = Length { now: len as u16, ..Length::new(self.most.into()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: usize = 8972;

    fn lose(length: &mut Length, times: u32) {
        (0..times).for_each(|_| length.settled(0, length.get(), 0));
    }

    /// P25
    #[test]
    fn frames_of_which_none_comes_while_shorter_ones_do_are_shortened_step_by_step() {
        let mut length = Length::new(LONG);
        lose(&mut length, TRIES - 1);
        length.settled(LONG, LONG, 0);
        lose(&mut length, TRIES - 1);
        assert_eq!(length.get(), LONG, "one came in between");
        length.settled(1452, 0, 0);
        assert_eq!(length.get(), LONG, "nothing is lost");
        length.settled(1452, LONG, 0);
        assert_eq!(length.get(), 1452);
        lose(&mut length, TRIES);
        assert_eq!(length.get(), 1232);
        lose(&mut length, 10 * TRIES);
        assert_eq!(length.get(), SHORTEST, "and never shorter");
    }

    /// P25: a message's last frame is shorter than the others, and all of a short one.
    #[test]
    fn frames_that_are_shorter_than_need_be_and_still_too_long_are_shortened_at_once() {
        let mut length = Length::new(LONG);
        (0..TRIES).for_each(|_| length.settled(100, 600, 0));
        assert_eq!(length.get(), SHORTEST);
        let mut length = Length::new(LONG);
        [LONG, 600, 1232].into_iter().for_each(|lost| length.settled(1452, lost, 0));
        assert_eq!(length.get(), 1452);
    }

    /// P25
    #[test]
    fn what_the_wire_refuses_while_the_peer_answers_is_shortened() {
        let mut length = Length::new(LONG);
        for _ in 0..TRIES {
            assert_eq!(length.get(), LONG);
            (0..9).for_each(|_| length.refused(LONG));
            (0..9).for_each(|_| length.settled(0, 0, 0));
        }
        assert_eq!(length.get(), 1452);
        for _ in 0..2 * TRIES {
            length.refused(1452);
            length.came(1452);
            length.settled(0, 0, 0);
        }
        assert_eq!(length.get(), 1452, "the wire was full");
        (0..9).for_each(|_| length.refused(SHORTEST));
        (0..9).for_each(|_| length.settled(0, 0, 0));
        assert_eq!(length.get(), 1452);
    }

    /// P25
    #[test]
    fn longer_ones_are_tried_ever_more_seldom_until_one_is_answered() {
        let mut length = Length::new(LONG);
        assert_eq!(length.poll_longer(u64::MAX), None, "there is nothing longer");
        lose(&mut length, 3 * TRIES);
        assert_eq!(length.poll_longer(AGAIN_NS - 1), None);
        assert_eq!((length.poll_longer(AGAIN_NS), length.poll_longer(2 * AGAIN_NS - 1)), (Some(1232), None));
        assert_eq!(length.poll_longer(2 * AGAIN_NS), Some(1232));
        assert_eq!(length.poll_longer(4 * AGAIN_NS - 1), None);
        length.welcomed(LONG);
        assert_eq!(length.get(), SHORTEST, "an old one's answer");
        length.welcomed(1232);
        assert_eq!((length.get(), length.poll_longer(4 * AGAIN_NS)), (1232, Some(1452)));
        length.welcomed(1452);
        assert_eq!(length.poll_longer(4 * AGAIN_NS), Some(LONG));
        length.welcomed(LONG);
        assert_eq!((length.get(), length.poll_longer(u64::MAX)), (LONG, None));
    }
}
