//! The path MTU: the length of the frames of one path. HELLO finds the longest frame that passes before the path is
//! used (P8 of docs/protocol.md). Later a network may pass only shorter frames, without any notice: then long frames
//! are lost again and again, whereas short ones arrive. This module detects that and makes frames shorter. From time
//! to time it tries longer ones again, by HELLO (P25).
//!
//! It sends nothing. Used by `path` and `endpoint`; uses constants of `frame` and `rtt`.

use crate::frame::{HEADER_BYTES, PAYLOAD_MAX};
use crate::marks::{Mark, mark};
use crate::planted::{Bug, planted};
use crate::rtt::TIMEOUT_FIRST_NS;

/// The lengths of frames that are tried, in bytes: packets of 1500 bytes, which most networks pass (Ethernet), of
/// 1280, which all IPv6 networks pass, and of 576, which all IPv4 networks pass, each less the headers of IP and UDP.
const MTU_STEPS: [usize; 3] = [1452, 1232, MTU_MIN];
/// The length of the shortest HELLO, in bytes. HELLO is shorter only between ends that cannot send frames of this
/// length (P8).
pub const MTU_MIN: usize = 548;

/// The number of HELLOs of one length after which a shorter one is tried, and of ACKs in succession that show a loss
/// of long frames after which shorter frames are sent. It is MAX_PROBES of RFC 8899.
pub const TRIES_PER_MTU: u32 = 3;

/// The time, in ns, after which a longer frame is tried again for the first time: losses in a full buffer of the
/// network look the same as those of frames that are too long.
const RETRY_NS: u64 = TIMEOUT_FIRST_NS;
/// The maximum number of doublings of this time, to more than a minute, because a network may well stay as it is.
const RETRY_DOUBLINGS_MAX: u8 = 13;

/// The path MTU of one path. See the module. It is small, because there may be very many paths.
#[derive(Debug)]
pub struct PathMtu {
    current: u16,
    /// The longest frame that both ends can send.
    max: u16,
    /// The longest frame that was lost and may have been too long, because no frame of about its length has arrived
    /// since; 0 if there is none.
    suspect: u16,
    /// The number of ACKs in succession that reported such losses.
    suspect_losses: u8,
    /// The number of longer HELLOs that were sent without a reply.
    longer_hellos: u8,
    /// The longest frame that the wire refused since the peer's last ACK; 0 if there is none.
    refused: u16,
    /// The time at which the next longer HELLO may be sent.
    retry_at_ns: u64,
}

/// Returns the length to which frames are cut if those of `len` bytes do not pass; None if there is no shorter one.
fn next_shorter(len: usize) -> Option<usize> {
    MTU_STEPS.into_iter().find(|&shorter| shorter < len)
}

const _: () = assert!(HEADER_BYTES + PAYLOAD_MAX <= u16::MAX as usize);

impl PathMtu {
    pub fn new(most: usize) -> PathMtu {
        let most = most as u16;
        PathMtu {
            current: most,
            max: most,
            suspect: 0,
            suspect_losses: 0,
            longer_hellos: 0,
            refused: 0,
            retry_at_ns: 0,
        }
    }

    /// The path MTU: the longest frame, header included, in bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.current.into()
    }

    /// The longest frame that both ends can send.
    pub fn max_bytes(&self) -> usize {
        self.max.into()
    }

    /// Returns the length of the HELLO that follows `unanswered` HELLOs without a reply (P8).
    pub fn hello_bytes(&self, unanswered: u32) -> usize {
        let step = ((unanswered / TRIES_PER_MTU) as usize).min(MTU_STEPS.len());
        let shorter = step.checked_sub(1).map_or(usize::MAX, |at| MTU_STEPS[at]);
        mark(match step {
            0 => Mark::HelloSent,
            1 => Mark::HelloShorter,
            _ => Mark::HelloShortest,
        });
        shorter.min(self.bytes())
    }

    /// Makes frames no longer than the HELLO or WELCOME that opened the path.
    pub fn set_opened(&mut self, len: usize) {
        self.current = self.current.min(len as u16);
    }

    /// Returns the next longer length to try, which is at most `max`.
    fn next_longer(&self) -> usize {
        let longer = MTU_STEPS.into_iter().rev().find(|&longer| longer > self.bytes());
        longer.unwrap_or(usize::MAX).min(self.max.into())
    }

    /// Whether frames that were lost or refused may have been too long, so that the lengths of acknowledged frames
    /// must be reported.
    #[inline]
    pub fn is_suspect(&self) -> bool {
        self.suspect_losses > 0 || self.refused > 0
    }

    /// Records that the wire refused a frame of this length.
    pub fn on_refused(&mut self, len: usize) {
        self.refused = self.refused.max(len as u16);
    }

    /// Records the acknowledgement in the header of a numbered frame: the longest frame that it acknowledges has
    /// `longest` bytes; 0 if there is none. Frames that were lost or refused are no longer suspected of being too
    /// long, if a frame of about their length is acknowledged.
    pub fn on_header_ack(&mut self, longest: usize) {
        let suspect = usize::from(self.suspect.max(self.refused));
        if longest > next_shorter(suspect).unwrap_or(0) {
            (self.suspect, self.suspect_losses, self.refused) = (0, 0, 0);
        }
    }

    /// Records an ACK of the peer: the longest frame that it acknowledges has `acked` bytes, and the longest that it
    /// shows to be lost has `lost` bytes; 0 if there is none. A frame that the wire refused counts as lost here.
    /// After TRIES_PER_MTU losses of long frames in succession frames become shorter.
    pub fn on_ack(&mut self, acked: usize, lost: usize, now_ns: u64) {
        let refused_bytes = std::mem::take(&mut self.refused);
        if refused_bytes > 0 {
            mark(Mark::RefusedLong);
        }
        let lost = lost.max(refused_bytes.into());
        let suspect = lost.max(self.suspect.into());
        let Some(shorter) = next_shorter(suspect) else { return };
        if acked > shorter {
            (self.suspect, self.suspect_losses) = (0, 0);
        } else if lost > MTU_MIN && !planted(Bug::ShrunkUnnoticed) {
            (self.suspect, self.suspect_losses) = (suspect as u16, self.suspect_losses + 1);
            if u32::from(self.suspect_losses) == TRIES_PER_MTU {
                mark(Mark::FramesShorter);
                let now = self.current.min(shorter as u16);
                *self = PathMtu { current: now, retry_at_ns: now_ns + RETRY_NS, ..PathMtu::new(self.max.into()) };
            }
        }
    }

    /// Returns the length of a longer HELLO that is to be sent now; None if none is. The caller asks only if data is
    /// being sent.
    pub fn poll_longer_hello(&mut self, now_ns: u64) -> Option<usize> {
        if self.current == self.max || now_ns < self.retry_at_ns {
            return None;
        }
        self.retry_at_ns = now_ns + (RETRY_NS << self.longer_hellos);
        self.longer_hellos = (self.longer_hellos + 1).min(RETRY_DOUBLINGS_MAX);
        mark(Mark::LongerTried);
        Some(self.next_longer())
    }

    /// Records a WELCOME of `len` bytes for a path that is open. If it answers the last longer HELLO, frames become
    /// as long.
    pub fn on_welcome(&mut self, len: usize) {
        if self.longer_hellos > 0 && len == self.next_longer() {
            mark(Mark::FramesLonger);
            *self = PathMtu { current: len as u16, ..PathMtu::new(self.max.into()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: usize = 8972;

    fn lose(mtu: &mut PathMtu, times: u32) {
        (0..times).for_each(|_| mtu.on_ack(0, mtu.bytes(), 0));
    }

    /// P25
    #[test]
    fn frames_of_which_none_comes_while_shorter_ones_do_are_shortened_step_by_step() {
        let mut mtu = PathMtu::new(LONG);
        lose(&mut mtu, TRIES_PER_MTU - 1);
        mtu.on_ack(LONG, LONG, 0);
        lose(&mut mtu, TRIES_PER_MTU - 1);
        assert_eq!(mtu.bytes(), LONG, "one came in between");
        mtu.on_ack(1452, 0, 0);
        assert_eq!(mtu.bytes(), LONG, "nothing is lost");
        mtu.on_ack(1452, LONG, 0);
        assert_eq!(mtu.bytes(), 1452);
        lose(&mut mtu, TRIES_PER_MTU);
        assert_eq!(mtu.bytes(), 1232);
        lose(&mut mtu, 10 * TRIES_PER_MTU);
        assert_eq!(mtu.bytes(), MTU_MIN, "and never shorter");
    }

    /// P25: a message's last frame is shorter than the others, and all of a short one.
    #[test]
    fn frames_that_are_shorter_than_need_be_and_still_too_long_are_shortened_at_once() {
        let mut mtu = PathMtu::new(LONG);
        (0..TRIES_PER_MTU).for_each(|_| mtu.on_ack(100, 600, 0));
        assert_eq!(mtu.bytes(), MTU_MIN);
        let mut mtu = PathMtu::new(LONG);
        [LONG, 600, 1232].into_iter().for_each(|lost| mtu.on_ack(1452, lost, 0));
        assert_eq!(mtu.bytes(), 1452);
    }

    /// P25
    #[test]
    fn what_the_wire_refuses_while_the_peer_answers_is_shortened() {
        let mut mtu = PathMtu::new(LONG);
        for _ in 0..TRIES_PER_MTU {
            assert_eq!(mtu.bytes(), LONG);
            (0..9).for_each(|_| mtu.on_refused(LONG));
            (0..9).for_each(|_| mtu.on_ack(0, 0, 0));
        }
        assert_eq!(mtu.bytes(), 1452);
        for _ in 0..2 * TRIES_PER_MTU {
            mtu.on_refused(1452);
            mtu.on_header_ack(1452);
            mtu.on_ack(0, 0, 0);
        }
        assert_eq!(mtu.bytes(), 1452, "the wire was full");
        (0..9).for_each(|_| mtu.on_refused(MTU_MIN));
        (0..9).for_each(|_| mtu.on_ack(0, 0, 0));
        assert_eq!(mtu.bytes(), 1452);
    }

    /// P25
    #[test]
    fn longer_ones_are_tried_ever_more_seldom_until_one_is_answered() {
        let mut mtu = PathMtu::new(LONG);
        assert_eq!(mtu.poll_longer_hello(u64::MAX), None, "there is nothing longer");
        lose(&mut mtu, 3 * TRIES_PER_MTU);
        assert_eq!(mtu.poll_longer_hello(RETRY_NS - 1), None);
        assert_eq!((mtu.poll_longer_hello(RETRY_NS), mtu.poll_longer_hello(2 * RETRY_NS - 1)), (Some(1232), None));
        assert_eq!(mtu.poll_longer_hello(2 * RETRY_NS), Some(1232));
        assert_eq!(mtu.poll_longer_hello(4 * RETRY_NS - 1), None);
        mtu.on_welcome(LONG);
        assert_eq!(mtu.bytes(), MTU_MIN, "an old one's answer");
        mtu.on_welcome(1232);
        assert_eq!((mtu.bytes(), mtu.poll_longer_hello(4 * RETRY_NS)), (1232, Some(1452)));
        mtu.on_welcome(1452);
        assert_eq!(mtu.poll_longer_hello(4 * RETRY_NS), Some(LONG));
        mtu.on_welcome(LONG);
        assert_eq!((mtu.bytes(), mtu.poll_longer_hello(u64::MAX)), (LONG, None));
    }
}
