//! One established path to a peer, (rail, port, flow): its numbers, acknowledgements and timers. `handle_*` takes
//! received frames, `poll_*` returns what is to be sent, `deadline_ns` tells when to call again.
//!
//! It never decides what is sent on which path and never gives a peer up: silence only backs off (P18). Frames are
//! slots of the endpoint's pool. Used by `connection`; uses `received`, `sent`, `rtt`.

use crate::frame::{Dropped, Flags};
use crate::grant::Grant;
use crate::marks::{Mark, mark};
use crate::planted::{Bug, planted};
use crate::pool::{Pool, Queue, Slot};
use crate::rate::Rate;
use crate::received::{Ack, Arrival, Received};
use crate::room::Room;
use crate::rtt::{ACK_DELAY_NS, Rtt, TIMEOUT_MAX_NS};
use crate::sent::{Came, Sent};
use crate::seq::{Seq, WINDOW, WORDS};
use crate::window::Window;

/// The divisor of the frames that the peer may have in flight: an acknowledgement is due after that part of them, and
/// at most after one run of UDP segments (P13).
const ACK_PART: u32 = 4;
const ACK_EVERY_MAX: u32 = 64;
/// The fewest frames that make one due. A single frame is acknowledged by the reply to it: an acknowledgement of its
/// own costs a system call (MTU 9000, 1 B: 4.9 us, not 2.2). A receiver that has granted the least has granted as many.
const ACK_EVERY_MIN: u32 = crate::grant::LEAST;

/// Frames that may be in flight to a peer that has sent STOP: it has room only for the fragments that it needs to go
/// on, which are the oldest, and drops all others (P20).
const STOPPED: u32 = 4;

/// With fewer frames than this in its window a path is limited by many senders that meet: further flows beside it would
/// be as many more senders, each with its least. Twice that least (P23), so that windows still move.
const CROWDED: u32 = 8;
/// Timeouts without a reply after which that is not the reason: the path of this flow alone may be broken.
const CROWDED_SILENT: u32 = 3;

/// The assumed length of a window's frames, in bytes, and the shortest round trip between hosts of a cluster while bulk
/// is in flight, in ns.
const FRAME_BYTES: u64 = 1500;
const TRIP_NS: u64 = 50_000;

/// A refused acknowledgement is sent again after ACK_DELAY_NS, doubled at most this often: 0.4 s.
const REFUSALS_MAX: u8 = 12;

const _: () = assert!(ACK_DELAY_NS << REFUSALS_MAX < TIMEOUT_MAX_NS);

/// Whether an acknowledgement must be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owed {
    Nothing,
    /// With the next numbered frame, or alone at this time.
    By(u64),
    /// At once.
    Now,
}

impl Owed {
    /// The time at which it is due, at the latest.
    fn at_ns(self) -> Option<u64> {
        match self {
            Owed::Nothing => None,
            Owed::By(at_ns) => Some(at_ns),
            Owed::Now => Some(0),
        }
    }
}

/// The event for which the sender waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wait {
    /// No frame is in flight.
    Idle,
    /// An acknowledgement; at this time a probe requests it.
    Probe(u64),
    /// The reply to the probe; at this time all frames in flight count as lost.
    Timeout(u64),
}

/// The result of a deadline.
#[derive(PartialEq, Eq, Debug)]
pub enum Due {
    Nothing,
    /// A probe is to be sent: a numbered frame with `Flags::ASK` (P17).
    Probe,
    /// All frames that were in flight count as lost (P16).
    Timeout(Queue),
}

/// The acknowledgement and the credit in any header of the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    pub expected: Seq,
    /// Frames that the peer takes beyond the last one that arrived (P21).
    pub credit: u16,
    /// Whether the peer has no room for payload (P20).
    pub stop: bool,
}

/// The frames that an acknowledgement settled.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Fates {
    /// Frames that the peer has.
    pub came: Queue,
    /// Frames that count as lost: their payload must be retransmitted.
    pub lost: Queue,
}

/// An acknowledgement to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply {
    pub ack: Ack,
    pub flags: Flags,
}

/// The path's numbers in the header of a numbered frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers {
    pub sequence: Seq,
    pub open: u16,
    pub expected: Seq,
}

const _: () = assert!(WINDOW <= u16::MAX as u32);

/// An established path. See the module.
#[derive(Debug)]
pub struct Path {
    sent: Sent,
    received: Received,
    rtt: Rtt,
    rate: Rate,
    window: Window,
    /// The first number for which the peer has no credit (P21), and whether it has sent STOP (P20).
    granted: Seq,
    stopped: bool,
    /// The credit of the peer at us.
    grant: Grant,
    owed: Owed,
    /// Frames received since an acknowledgement was sent, how many make one due, and whether the next one has LOSE.
    taken: u32,
    ack_every: u32,
    lose: bool,
    /// Acknowledgements that the wire refused since a frame arrived.
    refusals: u8,
    /// The time of the first timeout since the peer last acknowledged something new (P24); 0: there was none.
    silent_since_ns: u64,
    wait: Wait,
}

impl Path {
    /// A path whose two ends agreed on their first numbers when it was opened; the peer has room for `credit` frames.
    pub fn new(ours: Seq, theirs: Seq, credit: u16) -> Path {
        Path {
            sent: Sent::new(ours),
            received: Received::new(theirs),
            rtt: Rtt::default(),
            rate: Rate::default(),
            window: Window::new(ours),
            granted: ours + u32::from(credit),
            stopped: false,
            grant: Grant::new(theirs),
            owed: Owed::Nothing,
            taken: 0,
            ack_every: 1,
            lose: false,
            refusals: 0,
            silent_since_ns: 0,
            wait: Wait::Idle,
        }
    }

    /// Same as `new`, for a port on which nothing is lost.
    pub fn lossless(self) -> Path {
        Path { rtt: Rtt::lossless(), ..self }
    }

    /// Frames with payload that may be sent: within the window of numbers (P10: S1 of PM's appendix B), the congestion
    /// window (P23) and the peer's credit (P20, P21).
    pub fn room(&self) -> u32 {
        let numbers = WINDOW - self.sent.open();
        let window = if self.stopped { STOPPED } else { self.window.frames() };
        let network = window.saturating_sub(self.under_way());
        let next = self.sent.next();
        let credit = if next.is_by(self.granted) { next.until(self.granted) } else { 0 };
        if numbers == 0 {
            mark(Mark::NumbersUsedUp);
        } else if network == 0 {
            mark(if self.stopped { Mark::HeldByStop } else { Mark::NetworkFull });
        } else if credit == 0 {
            mark(Mark::CreditUsedUp);
        }
        numbers.min(network).min(credit)
    }

    /// Whether a probe may be sent, which has no payload and needs no credit.
    #[inline]
    pub fn may_ask(&self) -> bool {
        self.sent.open() < WINDOW && !planted(Bug::ProbeNotSent)
    }

    /// Whether the network bears so little here that no further flow may be used beside it (P39).
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.window.frames() < CROWDED && self.rtt.silent() < CROWDED_SILENT
    }

    /// The smoothed round trip; 0 before one was measured.
    pub fn round_trip_ns(&self) -> u64 {
        self.rtt.smoothed_ns()
    }

    /// The time that `bytes` bytes take by the path's measured rate, or by a window per round trip if that takes
    /// longer. The round trip is the shortest one, because one reply that arrived after a port was pushed back would
    /// make the path look too slow to be used, and so to be measured, ever again.
    pub fn takes_ns(&self, bytes: u64) -> u64 {
        let frame = self.sent.bytes().checked_div(self.under_way().into()).map_or(FRAME_BYTES, |mean| mean.max(1));
        let window = u64::from(self.window.frames()) * frame * 1_000_000 / self.rtt.least_ns().max(TRIP_NS);
        let per_ms = self.rate.per_ms().map_or(window, |rate| window.min(rate.into()));
        bytes * 1_000_000 / per_ms.max(1)
    }

    /// Records that `bytes` bytes went by other paths that might have gone here.
    pub fn pass_over(&mut self, bytes: usize) {
        self.rate.pass_over(bytes);
    }

    /// Bytes of frames in flight.
    pub fn bytes_under_way(&self) -> u64 {
        self.sent.bytes()
    }

    /// The time until all frames in flight have arrived, by the path's rate.
    pub fn queue_ns(&self) -> u64 {
        match self.sent.bytes() {
            0 => 0,
            bytes => self.takes_ns(bytes),
        }
    }

    /// The one-way time to the peer with empty queues.
    pub fn latency_ns(&self) -> u64 {
        self.rtt.least_ns() / 2
    }

    /// The number of frames in flight.
    #[inline]
    pub fn under_way(&self) -> u32 {
        self.sent.under_way()
    }

    /// The numbers for the header of the next frame, or of one that is `ahead` frames behind it (P13, P19).
    #[inline]
    pub fn numbers(&self, ahead: u32) -> Numbers {
        let open = (self.sent.open() + ahead) as u16;
        Numbers { sequence: self.sent.next() + ahead, open, expected: self.received.expected() }
    }

    /// Records that the next frame was sent.
    pub fn sent(&mut self, pool: &mut Pool, slot: Slot, now_ns: u64) {
        self.sent.record(pool, slot, now_ns);
        self.rate.sent(now_ns);
        self.told(now_ns);
    }

    /// Records that a probe was sent as the next frame.
    pub fn asked(&mut self, pool: &Pool, now_ns: u64) {
        self.sent.record_question(pool, now_ns);
        self.told(now_ns);
    }

    /// Records that a numbered frame was sent: the peer takes its header's acknowledgement, and will acknowledge it.
    fn told(&mut self, now_ns: u64) {
        if self.wait == Wait::Idle {
            self.wait = Wait::Probe(now_ns + self.rtt.probe_ns());
        }
        // Frames beyond a gap do not fit into a header: then the acknowledgement is still sent alone.
        if !self.received.has_gap() && self.owed != Owed::Now {
            mark(Mark::AckWithData);
            self.acknowledged();
        } else {
            mark(Mark::AckApart);
        }
    }

    /// Gives up the path: returns all frames in flight, and gives the peer's credit back to the room.
    pub fn give_up(mut self, pool: &Pool, room: &mut Room) -> Queue {
        self.grant.give_back(room);
        self.sent.take_all(pool)
    }

    /// Whether a timeout passed, and nothing new of ours was acknowledged since: the peer computes, or the path is
    /// dead, at least in our direction: frames of the peer that arrive on it do not prove that ours reach it (P24).
    #[inline]
    pub fn is_silent(&self) -> bool {
        self.silent_since_ns > 0
    }

    /// The time since which the path has been silent (P24), if it is.
    pub fn silent_since_ns(&self) -> Option<u64> {
        self.is_silent().then_some(self.silent_since_ns)
    }

    /// Schedules a probe, if the path waits for nothing: a frame waits for credit, and the peer's advertisement of new
    /// credit may be lost; or the path was dead, and only a reply can show that it is no longer (P24).
    pub fn ask_later(&mut self, now_ns: u64) {
        if self.wait == Wait::Idle {
            mark(Mark::Blocked);
            self.wait = Wait::Probe(now_ns + self.rtt.probe_ns());
        }
    }

    /// Returns the credit for a header that names `end` as the number behind the last one that arrived (P21).
    pub fn credit(&mut self, room: &mut Room, end: Seq) -> u16 {
        let frames = self.grant.renew(room, self.received.end());
        self.ack_every = (frames / ACK_PART).clamp(ACK_EVERY_MIN, ACK_EVERY_MAX);
        self.grant.credit(end)
    }

    /// Records that a frame arrived for which there is no memory: the peer must get STOP.
    pub fn refuse(&mut self) {
        self.received.refuse();
        self.tell();
    }

    /// Makes an acknowledgement due at once, as the peer waits for it: GO.
    pub fn tell(&mut self) {
        self.owed = Owed::Now;
    }

    /// Records that the wire refused an acknowledgement: it is sent again soon, and ever later as long as no frame
    /// arrives, because the port may be down for long.
    pub fn tell_soon(&mut self, now_ns: u64) {
        self.owed = Owed::By(now_ns + (ACK_DELAY_NS << self.refusals));
        self.refusals = (self.refusals + 1).min(REFUSALS_MAX);
    }

    /// Makes an owed acknowledgement due at once.
    pub fn acknowledge(&mut self) {
        if self.owed != Owed::Nothing {
            self.owed = Owed::Now;
        }
    }

    fn acknowledged(&mut self) {
        (self.owed, self.taken, self.lose) = (Owed::Nothing, 0, false);
    }

    /// Takes the header of a numbered frame of the peer. An error: the frame must be dropped, but an acknowledgement
    /// may be owed.
    pub fn handle_numbered(
        &mut self,
        room: &mut Room,
        seq: Seq,
        open: u16,
        flags: Flags,
        now_ns: u64,
    ) -> Result<(), Dropped> {
        let arrival = match self.received.take(seq, u32::from(open)) {
            Arrival::Again if planted(Bug::TakenTwice) => Arrival::New,
            arrival => arrival,
        };
        match arrival {
            Arrival::Beyond => return Err(Dropped::Beyond),
            // The acknowledgement was lost: the sender waits for it (P11).
            Arrival::Again => {
                mark(Mark::AckOfAgain);
                self.owed = Owed::Now;
            }
            Arrival::Lose => {
                mark(Mark::LoseSaid);
                (self.owed, self.lose) = (Owed::Now, true);
            }
            Arrival::New => self.owe(now_ns),
        }
        self.grant.used(room, u32::from(open) + 1, self.received.take_lost(), now_ns);
        if flags.has(Flags::ASK) {
            mark(Mark::AskedByPeer);
            self.owed = Owed::Now;
        }
        if arrival == Arrival::Again { Err(Dropped::Again) } else { Ok(()) }
    }

    /// P13
    fn owe(&mut self, now_ns: u64) {
        self.taken += 1;
        if self.taken >= self.ack_every {
            mark(Mark::AckOfMany);
            self.owed = Owed::Now;
        } else if self.owed == Owed::Nothing {
            self.owed = Owed::By(now_ns + ACK_DELAY_NS);
        }
    }

    /// Takes the acknowledgement in the header of any frame. Returns the frames that it acknowledges.
    pub fn handle_word(&mut self, pool: &mut Pool, word: &Word, now_ns: u64) -> Result<Queue, Dropped> {
        let ack = Ack { expected: word.expected, bits: [0; WORDS] };
        Ok(self.settle(pool, &ack, word, now_ns)?.slots)
    }

    /// Takes an acknowledgement with its bits.
    pub fn handle_ack(&mut self, pool: &mut Pool, ack: &Ack, word: &Word, now_ns: u64) -> Result<Fates, Dropped> {
        let Came { slots: came, newest_ns, .. } = self.settle(pool, ack, word, now_ns)?;
        let was = self.under_way();
        let lost = self.sent.take_lost(pool, self.rtt.slack_ns());
        let count = was - self.under_way();
        if count > 0 {
            if planted(Bug::CreditGivenBack) {
                self.granted = self.granted + count;
            }
            self.window.settled(0, count, false, ack.expected, self.sent.next());
        }
        if count > 0 || newest_ns.is_some() {
            self.wait_on(now_ns);
        }
        Ok(Fates { came, lost })
    }

    fn settle(&mut self, pool: &mut Pool, ack: &Ack, word: &Word, now_ns: u64) -> Result<Came, Dropped> {
        let end = ack.end();
        if !end.is_by(self.sent.next()) {
            return Err(Dropped::Nonsense);
        }
        let was = self.under_way();
        let came = self.sent.acknowledge(pool, ack, end);
        self.rtt.heard();
        self.refusals = 0;
        if self.is_silent() && !came.higher {
            mark(Mark::SilentHeard);
        }
        if came.higher {
            self.silent_since_ns = 0;
        }
        if let Some(at_ns) = came.late_ns {
            self.rtt.sample(now_ns.saturating_sub(at_ns));
        }
        let granted = end + u32::from(word.credit);
        if self.granted.is_by(granted) {
            self.granted = granted;
        }
        self.stopped = word.stop && !planted(Bug::StopIgnored);
        match came.newest_ns {
            Some(at_ns) => {
                self.rtt.sample(now_ns.saturating_sub(at_ns));
                let trip_ns = (self.rtt.smoothed_ns(), self.rtt.least_ns());
                self.rate.came(came.bytes, self.sent.bytes(), now_ns, trip_ns);
                let full = 2 * was >= self.window.frames();
                let count = was - self.under_way();
                self.window.settled(count, 0, full, ack.expected, self.sent.next());
                self.wait_on(now_ns);
            }
            // The peer is alive and acknowledges nothing new: the timeout loses its back-off (P18), but does not
            // restart, or a peer that sends much would put it off for ever (found by the simulation, seed 76).
            None => {
                if let Wait::Timeout(at_ns) = self.wait {
                    mark(Mark::HeardAgain);
                    self.wait = Wait::Timeout(at_ns.min(now_ns + self.rtt.timeout_ns()));
                }
            }
        }
        Ok(came)
    }

    /// Restarts the timer after progress, if frames are in flight.
    fn wait_on(&mut self, now_ns: u64) {
        let is_over = self.sent.under_way() == 0 || planted(Bug::TimerStopped);
        self.wait = if is_over { Wait::Idle } else { Wait::Probe(now_ns + self.rtt.probe_ns()) };
    }

    /// Returns the acknowledgement that is to be sent alone now.
    pub fn poll_reply(&mut self, now_ns: u64) -> Option<Reply> {
        self.owed.at_ns().filter(|&at_ns| at_ns <= now_ns)?;
        let flags = if self.lose { Flags::LOSE } else { Flags::default() };
        if let Owed::By(_) = self.owed {
            mark(Mark::AckLate);
        }
        self.acknowledged();
        let mut ack = self.received.ack();
        if planted(Bug::AckTooFar) && self.received.has_gap() {
            ack.expected = ack.expected.next();
        }
        Some(Reply { ack, flags })
    }

    /// The time at which `poll_reply` or `handle_timeout` has something to do.
    pub fn deadline_ns(&self) -> Option<u64> {
        let wait = match self.wait {
            Wait::Idle => None,
            Wait::Probe(at_ns) | Wait::Timeout(at_ns) => Some(at_ns),
        };
        self.owed.at_ns().into_iter().chain(wait).min()
    }

    /// Handles the passing of time.
    pub fn handle_timeout(&mut self, pool: &Pool, now_ns: u64) -> Due {
        match self.wait {
            Wait::Probe(at_ns) if at_ns <= now_ns => {
                mark(Mark::Probe);
                self.wait = Wait::Timeout(now_ns + self.rtt.timeout_ns());
                Due::Probe
            }
            Wait::Timeout(at_ns) if at_ns <= now_ns => {
                mark(Mark::Timeout);
                self.rtt.unanswered();
                // The bug: the peer must be silent for a second.
                let is_silent = !planted(Bug::OneWayAlive) || self.rtt.silent() > 10;
                self.silent_since_ns = match self.silent_since_ns {
                    _ if !is_silent => 0,
                    0 => now_ns.max(1),
                    since_ns => since_ns,
                };
                let lost = self.sent.take_all(pool);
                self.window.timed_out(self.sent.next());
                self.rate.timed_out();
                self.wait = Wait::Idle;
                let is_forgotten = planted(Bug::SilenceIsDeath) && self.rtt.silent() > 10;
                Due::Timeout(if is_forgotten { Queue::default() } else { lost })
            }
            _ => Due::Nothing,
        }
    }
}

#[cfg(test)]
mod tests;
