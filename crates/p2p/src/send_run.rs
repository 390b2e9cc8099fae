//! Recognizes a run of nonblocking sends of short messages to one peer, whose later messages wait to be joined: they
//! leave together, by one system call, instead of one each.
//!
//! The messages of a run wait in the lane's queue of sends (`LaneState::waiting_sends`), with their requests open. They
//! leave as soon as there are enough of them, and otherwise with the program's next call that makes progress, waits,
//! tests, receives, or starts a send that does not wait; a program makes one, because it has to complete their
//! requests. The first messages of a run do not wait, so that a program that sends a few messages to each of its
//! neighbours and then computes delays none of them.
//!
//! It sends nothing. Used by `send`; `lane` ends a run. Uses nothing.

use hawser_base::Peer;

/// The number of messages at the beginning of a run that do not wait.
const FIRST_SENDS: u32 = 8;

/// The same number behind a run of at least LONG_RUN messages: a program that streams does so again.
const FIRST_SENDS_OF_STREAM: u32 = 2;
const LONG_RUN: u32 = 2 * FIRST_SENDS;

/// The number of bytes in waiting messages from which on they leave: at the beginning of a run, and at most. It doubles
/// each time, so that the receiver begins early and the sender needs few system calls.
const JOINED_BYTES: u64 = 8 << 10;
const JOINED_BYTES_MAX: u64 = 64 << 10;

/// The number of waiting messages from which on they leave, however short they are: no more than one system call takes
/// (`os::tcp::PIECES_MAX`), and half as many as a device may have sent without knowing that they arrived.
const JOINED_SENDS_MAX: u32 = 60;

/// The waiting messages leave when they have this part of the peer's credit, so that none of them lacks credit.
const CREDIT_DIVISOR: u64 = 4;

/// The longest time from the end of one send of a run to the next one, in ns. A program that computes for longer
/// between its sends wants each of them to leave. A send of its own costs 3 to 10 us.
pub const GAP_MAX_NS: u64 = 20_000;

/// If the device has joined no message of a run, twice as many runs as after the time before pass before messages wait
/// again: at most 1 << PASSED_RUNS_DOUBLINGS of them.
const PASSED_RUNS_DOUBLINGS: u8 = 6;

/// The run in progress, or the last one.
pub struct SendRun {
    peer: Peer,
    /// Whether the lane was polled since.
    has_ended: bool,
    /// When the call for its last message ended.
    last_ns: u64,
    /// The number of messages of the run, and of those at its beginning that do not wait.
    sends: u32,
    first_sends: u32,
    /// The number and the bytes of the messages that wait now, and the number of bytes from which on they leave.
    waiting_sends: u32,
    waiting_bytes: u64,
    joined_bytes: u64,
    /// Whether the device has joined a message of the run.
    has_joined: bool,
    /// The number of runs, one after another, of which it has joined none, and of those that are to pass.
    refusals: u8,
    passed_runs: u8,
}

impl SendRun {
    pub const NONE: SendRun = SendRun {
        peer: Peer::NONE,
        has_ended: true,
        last_ns: 0,
        sends: 0,
        first_sends: FIRST_SENDS,
        waiting_sends: 0,
        waiting_bytes: 0,
        joined_bytes: JOINED_BYTES,
        has_joined: false,
        refusals: 0,
        passed_runs: 0,
    };

    /// Ends the run.
    #[inline(always)]
    pub fn end(&mut self) {
        self.has_ended = true;
    }

    /// Returns whether a message to `peer` begins a run of its own. `gap_ns`: the longest time between two sends of a
    /// run.
    pub fn is_over_for(&self, peer: Peer, now_ns: u64, gap_ns: u64) -> bool {
        self.has_ended || self.peer != peer || now_ns.saturating_sub(self.last_ns) > gap_ns
    }

    /// Begins a run to `peer`. No message of the run before waits any more.
    pub fn begin(&mut self, peer: Peer, now_ns: u64) {
        *self = SendRun { peer, has_ended: false, last_ns: now_ns, ..self.following(peer) };
    }

    /// Returns the state of a new run to `peer` behind this one.
    fn following(&self, peer: Peer) -> SendRun {
        let SendRun { sends, has_joined, refusals, passed_runs, .. } = *self;
        let has_waited = sends > self.first_sends;
        if has_waited && !has_joined {
            let refusals = (refusals + 1).min(PASSED_RUNS_DOUBLINGS);
            return SendRun { refusals, passed_runs: 1 << refusals, first_sends: u32::MAX, ..SendRun::NONE };
        }
        if passed_runs > 1 {
            return SendRun { refusals, passed_runs: passed_runs - 1, first_sends: u32::MAX, ..SendRun::NONE };
        }
        let is_stream = self.peer == peer && has_joined && sends >= LONG_RUN;
        let first_sends = if is_stream { FIRST_SENDS_OF_STREAM } else { FIRST_SENDS };
        SendRun { refusals: if has_joined { 0 } else { refusals }, first_sends, ..SendRun::NONE }
    }

    /// Returns whether the next message of the run waits.
    pub fn must_join(&self) -> bool {
        self.sends >= self.first_sends
    }

    /// Records a message that did not wait, at the end of its call.
    pub fn record_sent(&mut self, now_ns: u64) {
        self.sends = self.sends.saturating_add(1);
        self.record_end(now_ns);
    }

    /// Records the end of the call for a message.
    pub fn record_end(&mut self, now_ns: u64) {
        self.last_ns = now_ns;
    }

    /// Records a message that waits. `credit`: what the peer gives, in bytes. Returns whether the waiting messages must
    /// leave now.
    pub fn record_waiting(&mut self, bytes: u64, credit: u64) -> bool {
        self.sends = self.sends.saturating_add(1);
        self.waiting_bytes += bytes;
        self.waiting_sends += 1;
        let enough_bytes = self.joined_bytes.min(credit / CREDIT_DIVISOR);
        let is_enough = self.waiting_bytes >= enough_bytes || self.waiting_sends >= JOINED_SENDS_MAX;
        if is_enough {
            self.record_left();
            self.joined_bytes = (2 * self.joined_bytes).min(JOINED_BYTES_MAX);
        }
        is_enough
    }

    /// Records that the waiting messages leave.
    pub fn record_left(&mut self) {
        (self.waiting_bytes, self.waiting_sends) = (0, 0);
    }

    /// Records that the device has joined a message of the run with others.
    pub fn record_joined(&mut self) {
        self.has_joined = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Peer = Peer(3);
    const B: Peer = Peer(4);
    const NOW_NS: u64 = 1 << 40;
    const CREDIT: u64 = 4 << 20;

    /// Sends `count` messages of `bytes` bytes, and returns how many of them do not wait, and how many times those that
    /// wait leave.
    fn send(run: &mut SendRun, peer: Peer, count: u32, bytes: u64, joins: bool) -> (u32, u32) {
        let (mut at_once, mut leave) = (0, 0);
        for _ in 0..count {
            if run.is_over_for(peer, NOW_NS, GAP_MAX_NS) {
                run.begin(peer, NOW_NS);
            }
            if run.must_join() {
                leave += u32::from(run.record_waiting(bytes, CREDIT));
                if joins {
                    run.record_joined();
                }
            } else {
                at_once += 1;
                run.record_sent(NOW_NS);
            }
        }
        (at_once, leave)
    }

    #[test]
    fn few_messages_to_each_peer_never_wait() {
        let mut run = SendRun::NONE;
        for turn in 0..100 {
            for peer in [A, B, A] {
                assert_eq!(send(&mut run, peer, FIRST_SENDS, 100, true), (FIRST_SENDS, 0), "turn {turn}");
            }
            run.end();
        }
    }

    #[test]
    fn a_program_that_streams_waits_earlier_until_it_sends_few_messages() {
        let mut run = SendRun::NONE;
        assert_eq!(send(&mut run, A, 40, 0, true), (FIRST_SENDS, 0));
        run.end();
        assert_eq!(send(&mut run, A, 40, 0, true), (FIRST_SENDS_OF_STREAM, 0));
        run.end();
        assert_eq!(send(&mut run, A, FIRST_SENDS, 0, true).0, FIRST_SENDS_OF_STREAM);
        run.end();
        assert_eq!(send(&mut run, A, FIRST_SENDS, 0, true).0, FIRST_SENDS);
        run.end();
        send(&mut run, A, 40, 0, true);
        assert_eq!(send(&mut run, B, 10, 0, true).0, FIRST_SENDS, "the run to another peer says nothing");
    }

    #[test]
    fn waiting_messages_leave_by_their_bytes_or_their_number() {
        let mut run = SendRun::NONE;
        assert_eq!(send(&mut run, A, FIRST_SENDS + JOINED_SENDS_MAX, 0, true).1, 1);
        run.end();
        // The number of bytes doubles: 8, 16, 32, 64 and 64 KiB.
        let messages = (JOINED_BYTES * (1 + 2 + 4) + JOINED_BYTES_MAX * 2) / 2048;
        assert_eq!(send(&mut run, A, FIRST_SENDS_OF_STREAM + messages as u32, 2048, true), (FIRST_SENDS_OF_STREAM, 5));
    }

    #[test]
    fn a_program_that_computes_between_its_sends_waits_for_none() {
        let mut run = SendRun::NONE;
        send(&mut run, A, 40, 100, true);
        assert!(run.must_join() && !run.is_over_for(A, NOW_NS + GAP_MAX_NS, GAP_MAX_NS));
        assert!(run.is_over_for(A, NOW_NS + GAP_MAX_NS + 1, GAP_MAX_NS) && run.is_over_for(B, NOW_NS, GAP_MAX_NS));
    }

    #[test]
    fn little_credit_lets_messages_leave_earlier() {
        let mut run = SendRun::NONE;
        send(&mut run, A, FIRST_SENDS, 100, true);
        let leave: Vec<bool> = (0..8).map(|_| run.record_waiting(1000, 8000)).collect();
        assert_eq!(leave, [false, true, false, true, false, true, false, true]);
    }

    /// A device that joins nothing delays nothing but a run now and then, to whichever peers they are.
    #[test]
    fn runs_that_are_not_joined_are_tried_ever_more_seldom() {
        let mut run = SendRun::NONE;
        let mut waited = vec![];
        for number in 0..400 {
            let peer = [A, B, A][number as usize % 3];
            if send(&mut run, peer, 64, 100, false).0 < 64 {
                waited.push(number);
            }
            run.end();
        }
        let gaps: Vec<u32> = waited.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps[..6], [3, 5, 9, 17, 33, 65]);
        assert!(gaps[6..].iter().all(|&gap| gap == 65) && gaps.len() > 7, "{gaps:?}");
        // The device joins, from some run on.
        while send(&mut run, A, 64, 100, true).0 == 64 {
            run.end();
        }
        run.end();
        assert_eq!(send(&mut run, A, 64, 100, true).0, FIRST_SENDS_OF_STREAM);
    }
}
