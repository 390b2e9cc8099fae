//! One established path to a peer, which is named by (local port, remote port, flow): its numbers, acknowledgements
//! and timers. `handle_*` takes received frames or handles a timer, `poll_*` returns what is to be sent, and
//! `deadline_ns` is the time at which the next call is due.
//!
//! The module never decides what is sent on which path, and never gives a peer up: silence only makes the timeout
//! longer (P18 of docs/protocol.md). Frames lie in slots of the endpoint's pool. Used by `connection` and `path`;
//! uses `receive_window`, `in_flight`, `rtt`, `delivery_rate`, `congestion_window` and `path_credit`.

use crate::congestion_window::CongestionWindow;
use crate::delivery_rate::DeliveryRate;
use crate::frame::{DropReason, FrameFlags};
use crate::frame_pool::{FramePool, FrameQueue, FrameSlot};
use crate::in_flight::{AckedFrames, InFlightFrames};
use crate::marks::{Mark, mark};
use crate::path_credit::PathCredit;
use crate::planted::{Bug, planted};
use crate::receive_capacity::ReceiveCapacity;
use crate::receive_window::{Ack, ReceiveWindow, RecvOutcome};
use crate::rtt::{ACK_DELAY_NS, RttEstimator, TIMEOUT_MAX_NS};
use crate::seq::{BITMAP_WORDS, SEQ_WINDOW, Seq};

/// The number of received frames that makes an acknowledgement due: the frames that the peer may have in flight,
/// divided by ACK_DIVISOR, but at most ACK_EVERY_MAX, a run of UDP segments (P13).
const ACK_DIVISOR: u32 = 4;
const ACK_EVERY_MAX: u32 = 64;
/// The minimum number of received frames that makes an acknowledgement due; a receiver that grants new credit grants
/// at least as many frames. A single frame is acknowledged by the reply to it, because an acknowledgement alone costs
/// a system call: with it a message of 1 byte takes 4.9 us at MTU 9000, without it 2.2 us.
const ACK_EVERY_MIN: u32 = crate::path_credit::CREDIT_MIN;

/// The maximum number of frames in flight on a path to a peer that has sent STOP. The peer has memory only for the
/// fragments that it needs to continue, which are the oldest, and drops all others (P20).
const STOPPED_FRAMES: u32 = 4;

/// If a path's congestion window has fewer frames than this, the path is limited by many senders that share a port.
/// Further flows beside it would be that many more senders, each with the smallest window. The number is twice the
/// smallest window (P23), so that windows still change.
const CONGESTED_FRAMES: u32 = 8;
/// The number of timeouts, since the last frame of the peer, from which on congestion does not count as the reason:
/// the path of this flow alone may be broken.
const CONGESTED_TIMEOUTS: u32 = 3;

/// The assumed length of a frame, in bytes, if none is in flight.
const FRAME_BYTES: u64 = 1500;
/// The shortest round trip that is assumed, in ns: that between hosts of a cluster while bulk is in flight.
const ROUND_TRIP_MIN_NS: u64 = 50_000;

/// The maximum number of doublings of the time after which a refused acknowledgement is tried again: from
/// ACK_DELAY_NS to 0.4 s.
const REFUSALS_MAX: u8 = 12;

const _: () = assert!(ACK_DELAY_NS << REFUSALS_MAX < TIMEOUT_MAX_NS);

/// Whether an acknowledgement must be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AckState {
    NotDue,
    /// An acknowledgement goes with the next numbered frame, or alone at this time.
    Delayed(u64),
    /// An acknowledgement must go alone, at once.
    Now,
}

impl AckState {
    /// The time at which an acknowledgement is due at the latest: 0 if at once, None if none is due.
    fn due_ns(self) -> Option<u64> {
        match self {
            AckState::NotDue => None,
            AckState::Delayed(at_ns) => Some(at_ns),
            AckState::Now => Some(0),
        }
    }
}

/// The event for which the sender of a path waits (P16, P17).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RetransmitTimer {
    /// No frame is in flight.
    Idle,
    /// The sender waits for an acknowledgement; at `at_ns` it requests one by a probe.
    Probe { at_ns: u64 },
    /// The sender waits for the reply to the probe; at `at_ns` all frames in flight count as lost.
    Timeout { at_ns: u64 },
}

hawser_base::state_machine! {
    impl RetransmitTimer {
        start Idle;
        /// A numbered frame was sent, or a probe is to find out whether the peer has credit or is alive.
        started(Idle => Probe { at_ns: u64 });
        /// The probe is sent.
        probe_sent(Probe => Timeout { at_ns: u64 });
        /// The peer has sent a frame without news: the timeout loses its back-off (P18).
        back_off_ended(Timeout => Timeout { at_ns: u64 });
        /// An acknowledgement has settled frames, and others are in flight.
        progress_made(Idle | Probe | Timeout => Probe { at_ns: u64 });
        /// An acknowledgement has settled the last frames in flight.
        all_settled(Idle | Probe | Timeout => Idle);
        /// The reply did not come in time: all frames in flight count as lost (P16).
        timed_out(Timeout => Idle);
    }
}

/// The result of `handle_timeout`.
#[derive(PartialEq, Eq, Debug)]
pub enum TimerEvent {
    Nothing,
    /// A probe is to be sent: a numbered frame with `FrameFlags::ACK_NOW` (P17).
    Probe,
    /// All frames that were in flight count as lost (P16).
    Timeout(FrameQueue),
}

/// The acknowledgement, the credit and STOP in a header that the peer has sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckHeader {
    pub expected: Seq,
    /// The number of frames that the peer accepts beyond the last one that arrived (P21).
    pub credit: u16,
    /// Whether the peer has no memory for payload (P20).
    pub stop: bool,
}

/// The frames that an acknowledgement settled.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct AckResult {
    /// Frames that the peer has.
    pub acked: FrameQueue,
    /// Frames that count as lost: their payload must be retransmitted.
    pub lost: FrameQueue,
}

/// An acknowledgement to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingAck {
    pub ack: Ack,
    pub flags: FrameFlags,
}

/// The path's numbers in the header of a numbered frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequenceFields {
    pub sequence: Seq,
    pub open: u16,
    pub expected: Seq,
}

const _: () = assert!(SEQ_WINDOW <= u16::MAX as u32);

/// An established path. See the module.
#[derive(Debug)]
pub struct EstablishedPath {
    in_flight: InFlightFrames,
    receive_window: ReceiveWindow,
    rtt: RttEstimator,
    rate: DeliveryRate,
    congestion_window: CongestionWindow,
    /// The first number for which the peer has not granted us credit (P21).
    peer_credit_end: Seq,
    /// Whether the peer's last frame had STOP (P20).
    is_stopped: bool,
    /// The receive credit that we grant the peer.
    receive_credit: PathCredit,
    ack_state: AckState,
    /// The number of frames received since the last acknowledgement was sent.
    frames_since_ack: u32,
    /// The number of received frames that makes an acknowledgement due.
    ack_every: u32,
    /// Whether the next acknowledgement has LOSE.
    has_new_gap: bool,
    /// The number of acknowledgements that the wire refused since a frame last arrived.
    ack_refusals: u8,
    /// The time of the first timeout since the peer last acknowledged something new (P24); 0: there was none.
    silent_since_ns: u64,
    timer: RetransmitTimer,
}

impl EstablishedPath {
    /// A new path. Both ends agreed on the first numbers when it was opened: our first frame has number `ours`, the
    /// peer's has `theirs`. The peer grants credit for `credit` frames.
    pub fn new(ours: Seq, theirs: Seq, credit: u16) -> EstablishedPath {
        EstablishedPath {
            in_flight: InFlightFrames::new(ours),
            receive_window: ReceiveWindow::new(theirs),
            rtt: RttEstimator::default(),
            rate: DeliveryRate::default(),
            congestion_window: CongestionWindow::new(ours),
            peer_credit_end: ours + u32::from(credit),
            is_stopped: false,
            receive_credit: PathCredit::new(theirs),
            ack_state: AckState::NotDue,
            frames_since_ack: 0,
            ack_every: 1,
            has_new_gap: false,
            ack_refusals: 0,
            silent_since_ns: 0,
            timer: RetransmitTimer::Idle,
        }
    }

    /// Turns a new path into one on which nothing is lost while its connection lasts (TCP): its shortest timeout is
    /// longer (P16).
    pub fn lossless(self) -> EstablishedPath {
        EstablishedPath { rtt: RttEstimator::lossless(), ..self }
    }

    /// The number of frames with payload that may be sent now. They must be within the window of numbers (P10: S1 of
    /// PM's appendix B), the congestion window (P23) and the peer's credit (P20, P21).
    pub fn sendable_frames(&self) -> u32 {
        let free_numbers = SEQ_WINDOW - self.in_flight.open_numbers();
        let window = if self.is_stopped { STOPPED_FRAMES } else { self.congestion_window.frames() };
        let network = window.saturating_sub(self.frames_in_flight());
        let credit = self.credit();
        if free_numbers == 0 {
            mark(Mark::NumbersUsedUp);
        } else if network == 0 {
            mark(if self.is_stopped { Mark::LimitedByStop } else { Mark::NetworkFull });
        } else if credit == 0 {
            mark(Mark::CreditUsedUp);
        }
        free_numbers.min(network).min(credit)
    }

    /// Whether there is no credit for a frame, and none is in flight whose acknowledgement would bring some (P21).
    #[inline]
    pub fn is_out_of_credit(&self) -> bool {
        self.frames_in_flight() == 0 && self.credit() == 0
    }

    /// The number of frames for which the peer has granted credit.
    #[inline]
    fn credit(&self) -> u32 {
        let next = self.in_flight.next();
        if next.is_at_or_before(self.peer_credit_end) { next.distance_to(self.peer_credit_end) } else { 0 }
    }

    /// Whether a probe may be sent: it needs a number, but has no payload and needs no credit.
    #[inline]
    pub fn can_probe(&self) -> bool {
        self.in_flight.open_numbers() < SEQ_WINDOW && !planted(Bug::ProbeNotSent)
    }

    /// Whether the network has so little capacity on this path that no further flow may be used beside it (P39).
    #[inline]
    pub fn is_congested(&self) -> bool {
        self.congestion_window.frames() < CONGESTED_FRAMES && self.rtt.timeouts() < CONGESTED_TIMEOUTS
    }

    /// The smoothed round trip, in ns; 0 before the first sample.
    pub fn round_trip_ns(&self) -> u64 {
        self.rtt.smoothed_ns()
    }

    /// The time, in ns, that `bytes` bytes take: by the path's measured rate, or by one congestion window per round
    /// trip if that takes longer. The shortest round trip is used here. A longer one, of a reply that was held up
    /// while a port was down, would make the path look too slow to be used, and then it would never be measured
    /// again.
    pub fn transfer_ns(&self, bytes: u64) -> u64 {
        let frame =
            self.in_flight.bytes().checked_div(self.frames_in_flight().into()).map_or(FRAME_BYTES, |mean| mean.max(1));
        let window =
            u64::from(self.congestion_window.frames()) * frame * 1_000_000 / self.rtt.min_ns().max(ROUND_TRIP_MIN_NS);
        let per_ms = self.rate.per_ms().map_or(window, |rate| window.min(rate.into()));
        bytes * 1_000_000 / per_ms.max(1)
    }

    /// Records that `bytes` bytes of bulk went by other paths, although they might have gone by this one.
    pub fn record_bypassed(&mut self, bytes: usize) {
        self.rate.record_bypassed(bytes);
    }

    /// Bytes of frames in flight.
    pub fn bytes_in_flight(&self) -> u64 {
        self.in_flight.bytes()
    }

    /// The time, in ns, until all frames in flight have arrived, by the path's rate; 0 if none is in flight.
    pub fn queue_ns(&self) -> u64 {
        match self.in_flight.bytes() {
            0 => 0,
            bytes => self.transfer_ns(bytes),
        }
    }

    /// The time, in ns, that a frame takes to the peer if queues are empty: half of the shortest round trip.
    pub fn latency_ns(&self) -> u64 {
        self.rtt.min_ns() / 2
    }

    /// The number of frames in flight.
    #[inline]
    pub fn frames_in_flight(&self) -> u32 {
        self.in_flight.count()
    }

    /// The numbers for the header of the frame that is sent after `ahead` others; 0 is the next frame (P13, P19).
    #[inline]
    pub fn sequence_fields(&self, ahead: u32) -> SequenceFields {
        let open = (self.in_flight.open_numbers() + ahead) as u16;
        SequenceFields { sequence: self.in_flight.next() + ahead, open, expected: self.receive_window.expected() }
    }

    /// Records that the frame in `slot` was sent with the next number.
    pub fn on_sent(&mut self, pool: &mut FramePool, slot: FrameSlot, now_ns: u64) {
        self.in_flight.on_sent(pool, slot, now_ns);
        self.rate.on_sent(now_ns);
        self.on_numbered_sent(now_ns);
    }

    /// Records that a probe was sent with the next number.
    pub fn on_probe_sent(&mut self, pool: &FramePool, now_ns: u64) {
        self.in_flight.on_probe_sent(pool, now_ns);
        self.on_numbered_sent(now_ns);
    }

    /// Records that a numbered frame was sent: starts the timer if it is idle, and cancels a delayed acknowledgement
    /// if the frame's header acknowledges everything.
    fn on_numbered_sent(&mut self, now_ns: u64) {
        if self.timer == RetransmitTimer::Idle {
            self.timer.started(now_ns + self.rtt.probe_ns());
        }
        // A header cannot acknowledge frames beyond a gap. If there is a gap, or if an acknowledgement is due at
        // once, it is still sent alone.
        if !self.receive_window.has_gap() && self.ack_state != AckState::Now {
            mark(Mark::AckWithData);
            self.on_ack_sent();
        } else {
            mark(Mark::AckApart);
        }
    }

    /// Closes the path: returns all frames in flight, and releases the peer's credit to the receive capacity.
    pub fn close(mut self, pool: &FramePool, capacity: &mut ReceiveCapacity) -> FrameQueue {
        self.receive_credit.release(capacity);
        self.in_flight.take_all(pool)
    }

    /// Whether a timeout has passed since the peer last acknowledged something new of ours. Then the peer computes,
    /// or the path is dead, at least in our direction: frames of the peer that arrive on it do not prove that ours
    /// reach the peer (P24).
    #[inline]
    pub fn is_silent(&self) -> bool {
        self.silent_since_ns > 0
    }

    /// The time since which the path has been silent (P24); None if it is not silent.
    pub fn silent_since_ns(&self) -> Option<u64> {
        self.is_silent().then_some(self.silent_since_ns)
    }

    /// Schedules a probe, if the timer is idle. A frame may be waiting for credit, and the peer's frame with new
    /// credit may be lost; or the path is silent, or its port refused a frame, and only a reply shows that the path
    /// works again (P24).
    pub fn schedule_probe(&mut self, now_ns: u64) {
        if self.timer.started(now_ns + self.rtt.probe_ns()) {
            mark(Mark::Blocked);
        }
    }

    /// Renews the peer's credit, and returns it for a header: as the number of frames beyond `end`, the number behind
    /// the last one that the header reports as arrived (P21).
    pub fn advertised_credit(&mut self, capacity: &mut ReceiveCapacity, end: Seq) -> u16 {
        let frames = self.receive_credit.renew(capacity, self.receive_window.end());
        self.ack_every = (frames / ACK_DIVISOR).clamp(ACK_EVERY_MIN, ACK_EVERY_MAX);
        self.receive_credit.credit(end)
    }

    /// Records that a frame was refused because there is no memory for it: the peer must get STOP.
    pub fn on_frame_refused(&mut self) {
        self.receive_window.on_refused();
        self.ack_now();
    }

    /// Makes an acknowledgement due at once, because the peer must get STOP or GO without delay.
    pub fn ack_now(&mut self) {
        self.ack_state = AckState::Now;
    }

    /// Records that the wire refused an acknowledgement. It is tried again soon, and then after times that double
    /// until a frame arrives, because the port may be down for long.
    pub fn retry_ack(&mut self, now_ns: u64) {
        self.ack_state = AckState::Delayed(now_ns + (ACK_DELAY_NS << self.ack_refusals));
        self.ack_refusals = (self.ack_refusals + 1).min(REFUSALS_MAX);
    }

    /// Makes an acknowledgement due at once, if one is pending.
    pub fn expedite_ack(&mut self) {
        if self.ack_state != AckState::NotDue {
            self.ack_state = AckState::Now;
        }
    }

    fn on_ack_sent(&mut self) {
        (self.ack_state, self.frames_since_ack, self.has_new_gap) = (AckState::NotDue, 0, false);
    }

    /// Takes the header of a numbered frame of the peer. If it returns an error, the frame must be dropped; an
    /// acknowledgement may be due even then.
    pub fn handle_numbered(
        &mut self,
        capacity: &mut ReceiveCapacity,
        seq: Seq,
        open: u16,
        flags: FrameFlags,
        now_ns: u64,
    ) -> Result<(), DropReason> {
        let outcome = match self.receive_window.accept(seq, u32::from(open)) {
            RecvOutcome::Duplicate if planted(Bug::TakenTwice) => RecvOutcome::New,
            arrival => arrival,
        };
        match outcome {
            RecvOutcome::BeyondWindow => return Err(DropReason::BeyondWindow),
            // The acknowledgement may have been lost, and the sender waits for it (P11).
            RecvOutcome::Duplicate => {
                mark(Mark::AckOfDuplicate);
                self.ack_state = AckState::Now;
            }
            RecvOutcome::Gap => {
                mark(Mark::LoseSent);
                (self.ack_state, self.has_new_gap) = (AckState::Now, true);
            }
            RecvOutcome::New => self.schedule_ack(now_ns),
        }
        self.receive_credit.on_arrived(capacity, u32::from(open) + 1, self.receive_window.take_lost(), now_ns);
        if flags.has(FrameFlags::ACK_NOW) {
            mark(Mark::ProbedByPeer);
            self.ack_state = AckState::Now;
        }
        if outcome == RecvOutcome::Duplicate { Err(DropReason::Duplicate) } else { Ok(()) }
    }

    /// Makes an acknowledgement due after a new frame: at once if enough frames have arrived, or else after
    /// ACK_DELAY_NS (P13).
    fn schedule_ack(&mut self, now_ns: u64) {
        self.frames_since_ack += 1;
        if self.frames_since_ack >= self.ack_every {
            mark(Mark::AckOfMany);
            self.ack_state = AckState::Now;
        } else if self.ack_state == AckState::NotDue {
            self.ack_state = AckState::Delayed(now_ns + ACK_DELAY_NS);
        }
    }

    /// Takes the acknowledgement, the credit and STOP in the header of a numbered frame. Returns the frames that it
    /// acknowledges, or an error if it acknowledges a number that was never sent.
    pub fn handle_ack_header(
        &mut self,
        pool: &mut FramePool,
        header: &AckHeader,
        now_ns: u64,
    ) -> Result<FrameQueue, DropReason> {
        let ack = Ack { expected: header.expected, bits: [0; BITMAP_WORDS] };
        Ok(self.process_ack(pool, &ack, header, now_ns)?.slots)
    }

    /// Takes an ACK frame: its header, and its acknowledgement with the bits. Returns the frames that it
    /// acknowledges, and the frames that count as lost because later ones have arrived (P15); or an error if it
    /// acknowledges a number that was never sent.
    pub fn handle_ack(
        &mut self,
        pool: &mut FramePool,
        ack: &Ack,
        header: &AckHeader,
        now_ns: u64,
    ) -> Result<AckResult, DropReason> {
        let AckedFrames { slots: acked, newest_sent_ns: newest_ns, .. } =
            self.process_ack(pool, ack, header, now_ns)?;
        let was = self.frames_in_flight();
        let lost = self.in_flight.take_lost(pool, self.rtt.slack_ns());
        let count = was - self.frames_in_flight();
        if count > 0 {
            if planted(Bug::CreditGivenBack) {
                self.peer_credit_end = self.peer_credit_end + count;
            }
            self.congestion_window.on_ack(0, count, false, ack.expected, self.in_flight.next());
        }
        if count > 0 || newest_ns.is_some() {
            self.restart_timer(now_ns);
        }
        Ok(AckResult { acked, lost })
    }

    fn process_ack(
        &mut self,
        pool: &mut FramePool,
        ack: &Ack,
        header: &AckHeader,
        now_ns: u64,
    ) -> Result<AckedFrames, DropReason> {
        let end = ack.end();
        if !end.is_at_or_before(self.in_flight.next()) {
            return Err(DropReason::AckOfUnsent);
        }
        let was = self.frames_in_flight();
        let acked = self.in_flight.on_ack(pool, ack, end);
        self.rtt.on_received();
        self.ack_refusals = 0;
        if self.is_silent() && !acked.higher {
            mark(Mark::SilentReceived);
        }
        if acked.higher {
            self.silent_since_ns = 0;
        }
        if let Some(at_ns) = acked.spurious_sent_ns {
            self.rtt.add_sample(now_ns.saturating_sub(at_ns));
        }
        let credit_end = end + u32::from(header.credit);
        if self.peer_credit_end.is_at_or_before(credit_end) {
            self.peer_credit_end = credit_end;
        }
        self.is_stopped = header.stop && !planted(Bug::StopIgnored);
        match acked.newest_sent_ns {
            Some(at_ns) => {
                self.rtt.add_sample(now_ns.saturating_sub(at_ns));
                let trip_ns = (self.rtt.smoothed_ns(), self.rtt.min_ns());
                self.rate.on_acked(acked.bytes, self.in_flight.bytes(), now_ns, trip_ns);
                let full = 2 * was >= self.congestion_window.frames();
                let count = was - self.frames_in_flight();
                self.congestion_window.on_ack(count, 0, full, ack.expected, self.in_flight.next());
                self.restart_timer(now_ns);
            }
            // The peer is alive, and acknowledges nothing new: the timeout loses its back-off (P18). The timer does
            // not restart, because a peer that sends much would then put the timeout off for ever (found by the
            // simulation, seed 76).
            None => {
                if let RetransmitTimer::Timeout { at_ns } = self.timer {
                    mark(Mark::BackOffEnded);
                    self.timer.back_off_ended(at_ns.min(now_ns + self.rtt.timeout_ns()));
                }
            }
        }
        Ok(acked)
    }

    /// Restarts the timer after progress, or stops it if no frame is in flight any more.
    fn restart_timer(&mut self, now_ns: u64) {
        if self.in_flight.count() == 0 || planted(Bug::TimerStopped) {
            self.timer.all_settled();
        } else {
            self.timer.progress_made(now_ns + self.rtt.probe_ns());
        }
    }

    /// Returns the acknowledgement that is to be sent alone now; None if none is due.
    pub fn poll_ack(&mut self, now_ns: u64) -> Option<PendingAck> {
        self.ack_state.due_ns().filter(|&at_ns| at_ns <= now_ns)?;
        let flags = if self.has_new_gap { FrameFlags::LOSE } else { FrameFlags::default() };
        if let AckState::Delayed(_) = self.ack_state {
            mark(Mark::AckLate);
        }
        self.on_ack_sent();
        let mut ack = self.receive_window.ack();
        if planted(Bug::AckTooFar) && self.receive_window.has_gap() {
            ack.expected = ack.expected.next();
        }
        Some(PendingAck { ack, flags })
    }

    /// The time at which `poll_ack` or `handle_timeout` has something to do; None if neither has.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.ack_state.due_ns().into_iter().chain(self.timer_ns()).min()
    }

    /// The time at which `handle_timeout` has something to do; None if the timer is idle.
    fn timer_ns(&self) -> Option<u64> {
        match self.timer {
            RetransmitTimer::Idle => None,
            RetransmitTimer::Probe { at_ns } | RetransmitTimer::Timeout { at_ns } => Some(at_ns),
        }
    }

    /// Whether the time of the timer has come, so that `handle_timeout` has something to do.
    pub fn is_timer_due(&self, now_ns: u64) -> bool {
        self.timer_ns().is_some_and(|at_ns| at_ns <= now_ns)
    }

    /// Checks whether the time of the timer has come. If so, a probe is to be sent, or all frames in flight count as
    /// lost and the path is silent.
    pub fn handle_timeout(&mut self, pool: &FramePool, now_ns: u64) -> TimerEvent {
        match self.timer {
            RetransmitTimer::Probe { at_ns } if at_ns <= now_ns => {
                mark(Mark::Probe);
                self.timer.probe_sent(now_ns + self.rtt.timeout_ns());
                TimerEvent::Probe
            }
            RetransmitTimer::Timeout { at_ns } if at_ns <= now_ns => {
                mark(Mark::Timeout);
                self.rtt.on_timeout();
                // With the planted bug a path becomes silent only after more than ten timeouts in which no frame of
                // the peer arrived, about a second.
                let is_silent = !planted(Bug::OneWayAlive) || self.rtt.timeouts() > 10;
                self.silent_since_ns = match self.silent_since_ns {
                    _ if !is_silent => 0,
                    0 => now_ns.max(1),
                    since_ns => since_ns,
                };
                let lost = self.in_flight.take_all(pool);
                self.congestion_window.on_timeout(self.in_flight.next());
                self.rate.on_timeout();
                self.timer.timed_out();
                let is_forgotten = planted(Bug::SilenceIsDeath) && self.rtt.timeouts() > 10;
                TimerEvent::Timeout(if is_forgotten { FrameQueue::default() } else { lost })
            }
            _ => TimerEvent::Nothing,
        }
    }
}

#[cfg(test)]
mod tests;
