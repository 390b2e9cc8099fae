//! One path to a peer, (rail, port, flow): its numbers, acknowledgements and timers. `handle_*` takes what came, `poll_*`
//! gives what is to be sent, `deadline_ns` says when to look again.
//!
//! It never decides what is sent on which path and never gives a peer up: silence only backs off (P18). `C` is what the
//! caller knows of a frame's content. Before it: the connection; after it: `received`, `sent`, `rtt`.

use crate::frame::{Dropped, Flags};
use crate::marks::{Mark, mark};
use crate::planted::{Bug, planted};
use crate::received::{Ack, Arrival, Received};
use crate::rtt::{ACK_DELAY_NS, Rtt};
use crate::sent::Sent;
use crate::seq::{Seq, WINDOW, WORDS};
use crate::window::Window;

/// Numbered frames that are taken before one is acknowledged without delay: a part of what the peer may have under way, and
/// no more than one run of UDP segments (P13).
const ACK_PART: u32 = 4;
const ACK_EVERY_MAX: u32 = 64;

/// Frames that may be under way to a peer that has said STOP: it has room for the fragments alone that it needs to
/// go on, which are the oldest, and drops all others (P20).
const STOPPED: u32 = 4;

/// Whether an acknowledgement is owed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owed {
    Nothing,
    /// With the next frame that goes there, or alone at this time.
    By(u64),
    /// Now.
    Now,
}

impl Owed {
    /// When it is due, at the latest.
    fn at_ns(self) -> Option<u64> {
        match self {
            Owed::Nothing => None,
            Owed::By(at_ns) => Some(at_ns),
            Owed::Now => Some(0),
        }
    }
}

/// What the sender waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wait {
    /// Nothing is under way.
    Idle,
    /// An answer; at this time it is asked for.
    Probe(u64),
    /// An answer to the question; at this time all counts as lost.
    Timeout(u64),
}

/// What a deadline has brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Due {
    Nothing,
    /// A numbered frame with `Flags::ASK` is to be sent (P17).
    Probe,
    /// All that was under way was given back (P16).
    Timeout,
}

/// What any header of the peer's says: how far it has come, and what it has room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    pub expected: Seq,
    /// Frames that it takes beyond the last one that came (P21).
    pub credit: u16,
    /// It has no room for payload (P20).
    pub stop: bool,
}

/// What became of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The peer has it.
    Came,
    /// It counts as lost: what it carried is to be sent again.
    Lost,
}

/// An acknowledgement to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply {
    pub ack: Ack,
    pub flags: Flags,
}

/// What the header of a numbered frame says of its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers {
    pub sequence: Seq,
    pub open: u16,
    pub expected: Seq,
}

const _: () = assert!(WINDOW <= u16::MAX as u32);

/// See the module.
#[derive(Clone, Debug)]
pub struct Path<C> {
    sent: Sent<C>,
    received: Received,
    rtt: Rtt,
    window: Window,
    /// The first number that the peer has no room for (P21), and whether it has said STOP (P20).
    granted: Seq,
    stopped: bool,
    owed: Owed,
    /// Frames taken since an acknowledgement was sent, how many make one due, and whether the next one says LOSE.
    taken: u32,
    ack_every: u32,
    lose: bool,
    wait: Wait,
}

impl<C> Path<C> {
    /// A path whose two sides agreed on their first numbers when it was opened; the peer has room for `credit` frames.
    pub fn new(ours: Seq, theirs: Seq, credit: u16) -> Path<C> {
        Path {
            sent: Sent::new(ours),
            received: Received::new(theirs),
            rtt: Rtt::default(),
            window: Window::new(ours),
            granted: ours + u32::from(credit),
            stopped: false,
            owed: Owed::Nothing,
            taken: 0,
            ack_every: 1,
            lose: false,
            wait: Wait::Idle,
        }
    }

    /// Whether a frame with payload may be sent: within the window of numbers (P10), the network's (P23) and the peer's
    /// room (P20, P21).
    #[inline]
    pub fn has_room(&self) -> bool {
        let window = if self.stopped { STOPPED } else { self.window.frames() };
        let full = if !self.sent.has_room() {
            Mark::NumbersUsedUp
        } else if self.under_way() >= window {
            if self.stopped { Mark::HeldByStop } else { Mark::NetworkFull }
        } else if self.granted.is_by(self.sent.next()) {
            Mark::CreditUsedUp
        } else {
            return true;
        };
        mark(full);
        false
    }

    /// Whether a question may be sent, which has no payload and needs no room at the peer.
    #[inline]
    pub fn may_ask(&self) -> bool {
        self.sent.has_room() && !planted(Bug::ProbeNotSent)
    }

    /// Frames that may be under way by what the network has borne, for choosing among paths.
    #[inline]
    pub fn frames(&self) -> u32 {
        self.window.frames()
    }

    /// The round trip, smoothed; 0 before one was measured.
    pub fn round_trip_ns(&self) -> u64 {
        self.rtt.smoothed_ns()
    }

    /// Frames of which nothing is known.
    #[inline]
    pub fn under_way(&self) -> u32 {
        self.sent.under_way()
    }

    /// Numbers a frame that is sent now, and says what its header is to say of the path (P13, P19).
    pub fn send(&mut self, content: C, now_ns: u64) -> Numbers {
        let open = self.sent.open() as u16;
        let sequence = self.sent.record(content, now_ns);
        if self.wait == Wait::Idle {
            self.wait = Wait::Probe(now_ns + self.rtt.probe_ns());
        }
        // What came beyond a gap does not fit into a header: then the acknowledgement still goes alone.
        if !self.received.has_gap() && self.owed != Owed::Now {
            mark(Mark::AckWithData);
            self.acknowledged();
        } else {
            mark(Mark::AckApart);
        }
        Numbers { sequence, open, expected: self.received.expected() }
    }

    /// Gives back all that is under way: the path is given up.
    pub fn take_all(&mut self, back: impl FnMut(C)) {
        self.sent.take_all(back);
    }

    /// Takes back what was numbered last: it could not be sent.
    pub fn take_back(&mut self) -> Option<C> {
        self.sent.take_back()
    }

    /// Timeouts went by without a word of the peer: it computes, or the path is dead (P24).
    #[inline]
    pub fn is_silent(&self) -> bool {
        self.rtt.is_silent()
    }

    /// The peer is asked now and then: something waits that there is no room for, and its word of new room may be lost; or the
    /// path was dead, and only an answer can show that it is no more (P24).
    pub fn ask_later(&mut self, now_ns: u64) {
        if self.wait == Wait::Idle {
            mark(Mark::Blocked);
            self.wait = Wait::Probe(now_ns + self.rtt.probe_ns());
        }
    }

    /// So many frames the peer may have under way to us, as our frames tell it.
    #[inline]
    pub fn set_credit(&mut self, frames: u16) {
        self.ack_every = (u32::from(frames) / ACK_PART).clamp(1, ACK_EVERY_MAX);
    }

    /// There is news for the peer that it waits for: GO.
    pub fn tell(&mut self) {
        self.owed = Owed::Now;
    }

    /// An acknowledgement was not taken by the wire: it goes soon, not at once, for the rail may be down for long.
    pub fn tell_soon(&mut self, now_ns: u64) {
        self.owed = Owed::By(now_ns + ACK_DELAY_NS);
    }

    /// An acknowledgement that is owed is due now.
    pub fn acknowledge(&mut self) {
        if self.owed != Owed::Nothing {
            self.owed = Owed::Now;
        }
    }

    fn acknowledged(&mut self) {
        (self.owed, self.taken, self.lose) = (Owed::Nothing, 0, false);
    }

    /// A numbered frame of the peer's came. An error: it is not to be looked at, but an acknowledgement may be owed.
    pub fn handle_numbered(&mut self, seq: Seq, open: u16, flags: Flags, now_ns: u64) -> Result<(), Dropped> {
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

    /// What the header of any frame says.
    pub fn handle_word(&mut self, word: &Word, now_ns: u64, came: impl FnMut(C)) -> Result<(), Dropped> {
        let ack = Ack { expected: word.expected, bits: [0; WORDS] };
        self.settle(&ack, word, now_ns, came).map(drop)
    }

    /// An acknowledgement with its bits.
    pub fn handle_ack(
        &mut self,
        ack: &Ack,
        word: &Word,
        now_ns: u64,
        mut fate: impl FnMut(C, Fate),
    ) -> Result<(), Dropped> {
        let news = self.settle(ack, word, now_ns, |content| fate(content, Fate::Came))?;
        let mut count = 0;
        self.sent.take_lost(self.rtt.slack_ns(), |content| {
            count += 1;
            fate(content, Fate::Lost);
        });
        if count > 0 {
            if planted(Bug::CreditGivenBack) {
                self.granted = self.granted + count;
            }
            self.window.settled(0, count, false, ack.expected, self.sent.next());
        }
        if count > 0 || news {
            self.wait_on(now_ns);
        }
        Ok(())
    }

    /// Whether anything came that was not known of.
    fn settle(&mut self, ack: &Ack, word: &Word, now_ns: u64, mut came: impl FnMut(C)) -> Result<bool, Dropped> {
        let (was, mut count) = (self.sent.under_way(), 0);
        let newest = self
            .sent
            .acknowledge(ack, |content| {
                count += 1;
                came(content);
            })
            .map_err(|_| Dropped::Nonsense)?;
        self.rtt.heard();
        let granted = ack.end() + u32::from(word.credit);
        if self.granted.is_by(granted) {
            self.granted = granted;
        }
        self.stopped = word.stop && !planted(Bug::StopIgnored);
        match newest {
            Some(at_ns) => {
                self.rtt.sample(now_ns.saturating_sub(at_ns));
                let full = 2 * was >= self.window.frames();
                self.window.settled(count, 0, full, ack.expected, self.sent.next());
                self.wait_on(now_ns);
            }
            // It is there and has nothing new: the timeout loses its back-off (P18), but does not begin anew, or a peer
            // that says much would put it off for ever (found by the simulation, seed 76).
            None => {
                if let Wait::Timeout(at_ns) = self.wait {
                    mark(Mark::HeardAgain);
                    self.wait = Wait::Timeout(at_ns.min(now_ns + self.rtt.timeout_ns()));
                }
            }
        }
        Ok(newest.is_some())
    }

    /// Something moved: waiting begins anew, if there is something to wait for.
    fn wait_on(&mut self, now_ns: u64) {
        let is_over = self.sent.under_way() == 0 || planted(Bug::TimerStopped);
        self.wait = if is_over { Wait::Idle } else { Wait::Probe(now_ns + self.rtt.probe_ns()) };
    }

    /// The acknowledgement that is to go alone now.
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

    /// When `poll_reply` or `handle_timeout` has something to do.
    pub fn deadline_ns(&self) -> Option<u64> {
        let wait = match self.wait {
            Wait::Idle => None,
            Wait::Probe(at_ns) | Wait::Timeout(at_ns) => Some(at_ns),
        };
        self.owed.at_ns().into_iter().chain(wait).min()
    }

    /// Time has passed. `lost` gets what is to be sent again.
    pub fn handle_timeout(&mut self, now_ns: u64, lost: impl FnMut(C)) -> Due {
        match self.wait {
            Wait::Probe(at_ns) if at_ns <= now_ns => {
                mark(Mark::Probe);
                self.wait = Wait::Timeout(now_ns + self.rtt.timeout_ns());
                Due::Probe
            }
            Wait::Timeout(at_ns) if at_ns <= now_ns => {
                mark(Mark::Timeout);
                self.rtt.unanswered();
                match planted(Bug::SilenceIsDeath) && self.rtt.silent() > 10 {
                    true => self.sent.take_all(drop),
                    false => self.sent.take_all(lost),
                }
                self.window.timed_out(self.sent.next());
                self.wait = Wait::Idle;
                Due::Timeout
            }
            _ => Due::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::{TIMEOUT_FIRST_NS, TIMEOUT_MAX_NS};

    const ROOM: u16 = 2000;

    fn word(expected: Seq) -> Word {
        Word { expected, credit: ROOM, stop: false }
    }

    /// Two ends of a path, and what one of them heard back.
    struct Two {
        a: Path<u32>,
        b: Path<u32>,
        now_ns: u64,
        came: Vec<u32>,
        lost: Vec<u32>,
    }

    fn two() -> Two {
        let (ours, theirs) = (Seq(u32::MAX - 3), Seq(77));
        let mut b = Path::new(theirs, ours, ROOM);
        b.set_credit(4 * 16);
        Two { a: Path::new(ours, theirs, ROOM), b, now_ns: 1, came: vec![], lost: vec![] }
    }

    impl Two {
        fn send(&mut self, content: u32, arrives: bool) {
            let Numbers { sequence, open, .. } = self.a.send(content, self.now_ns);
            if arrives {
                self.b.handle_numbered(sequence, open, Flags::default(), self.now_ns).unwrap();
            }
        }

        /// What b owes reaches a.
        fn reply(&mut self) -> Option<Flags> {
            let reply = self.b.poll_reply(self.now_ns)?;
            let (came, lost) = (&mut self.came, &mut self.lost);
            let word = word(reply.ack.expected);
            let fate = |content, fate| if fate == Fate::Came { came.push(content) } else { lost.push(content) };
            self.a.handle_ack(&reply.ack, &word, self.now_ns, fate).unwrap();
            Some(reply.flags)
        }

        fn pass(&mut self) -> Due {
            self.now_ns = self.a.deadline_ns().expect("something is under way").max(self.now_ns);
            let lost = &mut self.lost;
            self.a.handle_timeout(self.now_ns, |c| lost.push(c))
        }
    }

    /// P13
    #[test]
    fn acknowledgements_wait_for_company_but_not_long() {
        let mut two = two();
        two.send(0, true);
        assert_eq!(two.reply(), None, "there may be an answer to send it with");
        two.now_ns += ACK_DELAY_NS;
        assert_eq!((two.reply(), &two.came[..]), (Some(Flags::default()), &[0][..]));
        (1..=16).for_each(|n| two.send(n, true));
        assert!(two.reply().is_some() && two.came.len() == 17 && two.a.deadline_ns().is_none());
        // With an answer it costs no frame of its own.
        two.send(99, true);
        let Numbers { expected, .. } = two.b.send(5, two.now_ns);
        two.now_ns += ACK_DELAY_NS;
        assert_eq!(two.b.poll_reply(two.now_ns), None);
        let came = &mut two.came;
        two.a.handle_word(&word(expected), two.now_ns, |c| came.push(c)).unwrap();
        assert_eq!((two.came.last(), two.a.under_way()), (Some(&99), 0));
    }

    /// P12, P15
    #[test]
    fn a_gap_is_answered_at_once_with_lose_and_mended_at_once() {
        let mut two = two();
        [true, false, true, true].into_iter().enumerate().for_each(|(n, arrives)| two.send(n as u32, arrives));
        assert_eq!(two.reply(), None);
        two.send(4, true);
        assert_eq!(two.reply(), Some(Flags::LOSE));
        assert_eq!((&two.lost[..], &two.came[..]), (&[1][..], &[0, 2, 3, 4][..]));
        assert_eq!(two.a.under_way(), 0);
    }

    /// P16, P17: a lost tail is asked for, and the answer says that it is lost; all is given back if there is none.
    #[test]
    fn a_lost_tail_is_probed_and_then_sent_again() {
        let mut two = two();
        two.send(0, true);
        two.send(1, false);
        assert_eq!((two.pass(), two.now_ns), (Due::Probe, 1 + TIMEOUT_FIRST_NS / 2));
        let Numbers { sequence, open, .. } = two.a.send(100, two.now_ns);
        two.b.handle_numbered(sequence, open, Flags::ASK, two.now_ns).unwrap();
        assert!(two.reply().is_some());
        assert_eq!((&two.came[..], &two.lost[..], two.a.deadline_ns()), (&[0, 100][..], &[1][..], None));
        two.send(2, false);
        assert_eq!((two.pass(), two.pass()), (Due::Probe, Due::Timeout));
        assert_eq!((two.lost.last(), two.a.deadline_ns()), (Some(&2), None));
    }

    /// P18: however long nothing is heard, the peer is not given up, and its first word is enough.
    #[test]
    fn silence_backs_off_and_never_ends_a_path() {
        let mut two = two();
        let (mut last, mut waits) = (two.now_ns, vec![]);
        for n in 0..40 {
            two.send(n, false);
            assert_eq!((two.pass(), two.pass()), (Due::Probe, Due::Timeout));
            waits.push(two.now_ns - last);
            last = two.now_ns;
        }
        assert!(waits.is_sorted() && waits[39] <= 2 * TIMEOUT_MAX_NS && two.lost.len() == 40);
        two.send(40, true);
        (41..60).for_each(|n| two.send(n, true));
        assert!(two.reply().is_some());
        assert!(two.a.deadline_ns().unwrap_or(0) < two.now_ns + TIMEOUT_FIRST_NS);
    }

    /// P11
    #[test]
    fn a_doubled_frame_is_answered_for_its_answer_was_lost() {
        let mut two = two();
        let seq = two.a.send(0, two.now_ns).sequence;
        two.b.handle_numbered(seq, 0, Flags::default(), two.now_ns).unwrap();
        two.now_ns += ACK_DELAY_NS;
        assert!(two.b.poll_reply(two.now_ns).is_some(), "lost on its way");
        assert_eq!(two.b.handle_numbered(seq, 0, Flags::default(), two.now_ns), Err(Dropped::Again));
        assert!(two.reply().is_some() && two.came == [0]);
        assert_eq!(
            two.b.handle_numbered(seq + 5000, 9, Flags::default(), two.now_ns),
            Ok(()),
            "a sender may have closed so many"
        );
    }

    /// P14
    #[test]
    fn an_acknowledgement_of_nothing_is_dropped() {
        let mut two = two();
        two.send(0, false);
        assert_eq!(two.a.handle_word(&word(Seq(500)), two.now_ns, |_| panic!()), Err(Dropped::Nonsense));
        assert_eq!(two.a.under_way(), 1);
    }

    /// P21
    #[test]
    fn payload_waits_for_room_at_the_peer_and_asks_for_it() {
        let (ours, theirs) = (Seq(0), Seq(0));
        let (mut a, mut b) = (Path::new(ours, theirs, 2), Path::<u32>::new(theirs, ours, 2));
        let mut deliver = |a: &mut Path<u32>, content, now_ns| {
            let Numbers { sequence, open, .. } = a.send(content, now_ns);
            b.handle_numbered(sequence, open, Flags::ASK, now_ns).unwrap();
            b.poll_reply(now_ns).unwrap().ack
        };
        deliver(&mut a, 0, 1);
        let ack = deliver(&mut a, 1, 1);
        assert!(!a.has_room() && a.may_ask());
        a.handle_ack(&ack, &Word { expected: ack.expected, credit: 0, stop: false }, 2, |_, _| {}).unwrap();
        assert!(!a.has_room() && a.under_way() == 0);
        // The word of new room was lost: the sender asks.
        a.ask_later(2);
        assert_eq!(a.handle_timeout(a.deadline_ns().unwrap(), drop), Due::Probe);
        let ack = deliver(&mut a, 7, 3);
        a.handle_ack(&ack, &Word { expected: ack.expected, credit: 2, stop: false }, 4, |_, _| {}).unwrap();
        a.send(8, 4);
        assert!(a.has_room());
        a.send(9, 4);
        assert!(!a.has_room());
    }

    /// P20
    #[test]
    fn after_stop_few_frames_are_under_way_until_go() {
        let mut two = two();
        let expected = two.a.send(0, 1).expected;
        let stop = |stop| Word { stop, ..word(Seq(u32::MAX - 3)) };
        two.a.handle_word(&stop(true), 2, drop).unwrap();
        (1..STOPPED).for_each(|n| {
            assert!(two.a.has_room());
            two.a.send(n, 2);
        });
        assert!(!two.a.has_room());
        two.a.handle_word(&stop(false), 3, drop).unwrap();
        assert!(two.a.has_room() && expected == Seq(77));
    }
}
