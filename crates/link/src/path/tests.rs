//! Tests of one path's numbers, acknowledgements and timers, with two ends that are joined by hand.

use super::*;
use crate::rtt::TIMEOUT_FIRST_NS;

const ROOM: u16 = 2000;

fn word(expected: Seq) -> Word {
    Word { expected, credit: ROOM, stop: false }
}

/// Two ends of a path, and the contents that one of them has acknowledged, which lie in its pool.
struct Two {
    a: Path,
    b: Path,
    pool: Pool,
    room: Room,
    now_ns: u64,
    came: Vec<u32>,
    lost: Vec<u32>,
}

fn two() -> Two {
    let (ours, theirs) = (Seq(u32::MAX - 3), Seq(77));
    let mut b = Path::new(theirs, ours, ROOM);
    let mut room = Room::new(4096);
    assert_eq!(b.credit(&mut room, ours), 32);
    let pool = Pool::new(WINDOW as usize, 4);
    Two { a: Path::new(ours, theirs, ROOM), b, pool, room, now_ns: 1, came: vec![], lost: vec![] }
}

fn send(path: &mut Path, pool: &mut Pool, content: u32, now_ns: u64) -> Numbers {
    let numbers = path.numbers(0);
    let slot = pool.take(4).unwrap();
    pool.frame_mut(slot).copy_from_slice(&content.to_le_bytes());
    path.sent(pool, slot, now_ns);
    numbers
}

fn contents(pool: &mut Pool, queue: Queue) -> Vec<u32> {
    let content = |slot| u32::from_le_bytes(pool.frame(slot).try_into().unwrap());
    let contents = pool.each(&queue).map(content).collect();
    pool.give_all(queue);
    contents
}

impl Two {
    fn send(&mut self, content: u32, arrives: bool) -> Numbers {
        let numbers = send(&mut self.a, &mut self.pool, content, self.now_ns);
        if arrives {
            self.b
                .handle_numbered(&mut self.room, numbers.sequence, numbers.open, Flags::default(), self.now_ns)
                .unwrap();
        }
        numbers
    }

    fn hear(&mut self, word: &Word) -> Result<(), Dropped> {
        let came = self.a.handle_word(&mut self.pool, word, self.now_ns)?;
        self.came.extend(contents(&mut self.pool, came));
        Ok(())
    }

    /// Delivers the acknowledgement that b owes to a.
    fn reply(&mut self) -> Option<Flags> {
        let reply = self.b.poll_reply(self.now_ns)?;
        let word = word(reply.ack.expected);
        let fates = self.a.handle_ack(&mut self.pool, &reply.ack, &word, self.now_ns).unwrap();
        self.came.extend(contents(&mut self.pool, fates.came));
        self.lost.extend(contents(&mut self.pool, fates.lost));
        Some(reply.flags)
    }

    /// Returns whether all frames count as lost now; if not, a probe is due.
    fn is_timeout(&mut self) -> bool {
        self.now_ns = self.a.deadline_ns().expect("something is under way").max(self.now_ns);
        match self.a.handle_timeout(&self.pool, self.now_ns) {
            Due::Timeout(lost) => {
                self.lost.extend(contents(&mut self.pool, lost));
                true
            }
            due => {
                assert_eq!(due, Due::Probe);
                false
            }
        }
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
    (1..=16).for_each(|n| _ = two.send(n, true));
    assert!(two.reply().is_some() && two.came.len() == 17 && two.a.deadline_ns().is_none());
    // An acknowledgement that travels with data costs no frame of its own.
    two.send(99, true);
    let Numbers { expected, .. } = send(&mut two.b, &mut two.pool, 5, two.now_ns);
    two.now_ns += ACK_DELAY_NS;
    assert_eq!(two.b.poll_reply(two.now_ns), None);
    two.hear(&word(expected)).unwrap();
    assert_eq!((two.came.last(), two.a.under_way()), (Some(&99), 0));
}

/// P12, P15
#[test]
fn a_gap_is_answered_at_once_with_lose_and_mended_at_once() {
    let mut two = two();
    [true, false, true, true].into_iter().enumerate().for_each(|(n, arrives)| _ = two.send(n as u32, arrives));
    assert_eq!(two.reply(), None);
    two.send(4, true);
    assert_eq!(two.reply(), Some(Flags::LOSE));
    assert_eq!((&two.lost[..], &two.came[..]), (&[1][..], &[0, 2, 3, 4][..]));
    assert_eq!(two.a.under_way(), 0);
}

/// P16, P17: a lost tail is probed, and the reply reports that it is lost; without a reply all frames are returned.
#[test]
fn a_lost_tail_is_probed_and_then_sent_again() {
    let mut two = two();
    two.send(0, true);
    two.send(1, false);
    assert_eq!((two.is_timeout(), two.now_ns), (false, 1 + TIMEOUT_FIRST_NS / 2));
    let Numbers { sequence, open, .. } = two.a.numbers(0);
    two.a.asked(&two.pool, two.now_ns);
    two.b.handle_numbered(&mut two.room, sequence, open, Flags::ASK, two.now_ns).unwrap();
    assert!(two.reply().is_some());
    assert_eq!((&two.came[..], &two.lost[..], two.a.deadline_ns()), (&[0][..], &[1][..], None));
    two.send(2, false);
    assert_eq!((two.is_timeout(), two.is_timeout()), (false, true));
    assert_eq!((two.lost.last(), two.a.deadline_ns()), (Some(&2), None));
}

/// P18: a silent peer is never given up, and its first frame ends the silence.
#[test]
fn silence_backs_off_and_never_ends_a_path() {
    let mut two = two();
    let (mut last, mut waits) = (two.now_ns, vec![]);
    for n in 0..40 {
        two.send(n, false);
        assert_eq!((two.is_timeout(), two.is_timeout()), (false, true));
        waits.push(two.now_ns - last);
        last = two.now_ns;
    }
    assert!(waits.is_sorted() && waits[39] <= 2 * TIMEOUT_MAX_NS && two.lost.len() == 40);
    two.send(40, true);
    (41..60).for_each(|n| _ = two.send(n, true));
    assert!(two.reply().is_some());
    assert!(two.a.deadline_ns().unwrap_or(0) < two.now_ns + TIMEOUT_FIRST_NS);
}

/// P13: a port that is down does not wake its rank every 100 us.
#[test]
fn a_refused_acknowledgement_goes_out_ever_more_seldom_until_something_comes() {
    let mut two = two();
    two.send(0, true);
    let mut waits = vec![];
    for _ in 0..20 {
        let due_ns = two.b.deadline_ns().unwrap();
        waits.push(due_ns - two.now_ns);
        two.now_ns = due_ns;
        assert!(two.b.poll_reply(due_ns).is_some());
        two.b.tell_soon(due_ns);
    }
    assert!(waits.is_sorted() && waits[19] == ACK_DELAY_NS << REFUSALS_MAX, "{waits:?}");
    two.send(1, true);
    drop(two.b.handle_word(&mut two.pool, &word(Seq(77)), two.now_ns).unwrap());
    two.b.tell_soon(two.now_ns);
    assert_eq!(two.b.deadline_ns(), Some(two.now_ns + ACK_DELAY_NS));
}

/// P16: 32 senders had 1 MB of frames in a switch's buffer of 256 KiB; none of them ever got an acknowledgement in
/// time.
#[test]
fn a_timeout_that_was_too_early_makes_the_next_one_longer() {
    const LATE_NS: u64 = 8_000_000;
    let mut two = two();
    for n in 0..20 {
        two.send(n, true);
        two.now_ns += ACK_DELAY_NS;
        two.reply();
    }
    // From now on every reply takes long, and by then the frames that it acknowledges count as lost.
    let mut answers = std::collections::VecDeque::new();
    let mut timeouts = 0;
    for n in 100..140 {
        let numbers = two.send(n, true);
        two.now_ns = two.now_ns.max(two.a.deadline_ns().unwrap());
        answers.push_back((two.now_ns + LATE_NS, numbers.sequence.next()));
        while two.a.under_way() > 0 {
            let answer_ns = answers.front().map_or(u64::MAX, |answer| answer.0);
            if answer_ns <= two.a.deadline_ns().unwrap() {
                two.now_ns = answer_ns;
                let end = answers.pop_front().unwrap().1;
                two.hear(&word(end)).unwrap();
            } else if two.is_timeout() {
                timeouts += 1;
            }
        }
    }
    assert!((1..10).contains(&timeouts), "{timeouts} timeouts of 40");
}

/// P16
#[test]
fn what_was_closed_by_a_later_frame_says_nothing_of_a_timeout() {
    let mut two = two();
    two.send(0, false);
    while !two.is_timeout() {}
    let trip_ns = two.a.round_trip_ns();
    two.now_ns += 500_000_000;
    let numbers = two.send(1, true);
    assert_eq!(numbers.open, 0);
    two.now_ns += 50_000;
    two.b.acknowledge();
    two.reply().unwrap();
    assert_eq!((trip_ns, two.a.round_trip_ns(), &two.came[..]), (0, 50_000, &[1][..]));
}

/// P26: by TCP one of three jobs did not use a port again that had been pulled for a second.
#[test]
fn an_answer_that_was_held_up_does_not_make_a_path_look_slow() {
    let mut two = two();
    let mut answered = |after_ns| {
        two.send(0, true);
        two.now_ns += after_ns;
        two.b.acknowledge();
        two.reply().unwrap();
        two.a.takes_ns(1500)
    };
    let takes_ns = answered(50_000);
    assert_eq!(answered(1_400_000_000), takes_ns);
}

/// P11
#[test]
fn a_doubled_frame_is_answered_for_its_answer_was_lost() {
    let mut two = two();
    let seq = two.send(0, true).sequence;
    two.now_ns += ACK_DELAY_NS;
    assert!(two.b.poll_reply(two.now_ns).is_some(), "lost on its way");
    assert_eq!(two.b.handle_numbered(&mut two.room, seq, 0, Flags::default(), two.now_ns), Err(Dropped::Again));
    assert!(two.reply().is_some() && two.came == [0]);
    assert_eq!(
        two.b.handle_numbered(&mut two.room, seq + 5000, 9, Flags::default(), two.now_ns),
        Ok(()),
        "a sender may have closed so many"
    );
}

/// P14
#[test]
fn an_acknowledgement_of_what_was_never_sent_is_dropped_whole() {
    let mut two = two();
    let Seq(first) = two.send(0, false).sequence;
    two.send(1, false);
    let bits = |ahead: u32| {
        let mut bits = [0; WORDS];
        bits[ahead as usize / 64] |= 1 << (ahead % 64);
        bits
    };
    let none = [0; WORDS];
    for (ahead, bits) in [(3, none), (1, bits(0)), (0, bits(1)), (0, bits(900)), (u32::MAX / 2, none)] {
        let ack = Ack { expected: Seq(first) + ahead, bits };
        let result = two.a.handle_ack(&mut two.pool, &ack, &word(ack.expected), two.now_ns);
        assert_eq!(result, Err(Dropped::Nonsense), "{ack:?}");
    }
    assert_eq!(two.hear(&word(Seq(500))), Err(Dropped::Nonsense));
    assert_eq!(two.a.under_way(), 2);
    two.hear(&word(Seq(first) + 2)).unwrap();
    assert_eq!(two.came, [0, 1]);
}

/// P21
#[test]
fn payload_waits_for_room_at_the_peer_and_asks_for_it() {
    let mut pool = Pool::new(4, 4);
    let (mut a, mut b) = (Path::new(Seq(0), Seq(0), 2), Path::new(Seq(0), Seq(0), 2));
    let mut room = Room::new(4096);
    let mut deliver = |numbers: Numbers, now_ns| {
        b.handle_numbered(&mut room, numbers.sequence, numbers.open, Flags::ASK, now_ns).unwrap();
        b.poll_reply(now_ns).unwrap().ack
    };
    deliver(send(&mut a, &mut pool, 0, 1), 1);
    assert_eq!(a.room(), 1);
    let ack = deliver(send(&mut a, &mut pool, 1, 1), 1);
    assert!(a.room() == 0 && a.may_ask());
    let word = Word { expected: ack.expected, credit: 0, stop: false };
    assert_eq!(a.handle_ack(&mut pool, &ack, &word, 2).unwrap().came.len(), 2);
    assert!(a.room() == 0 && a.under_way() == 0);
    // The advertisement of new credit was lost: the sender probes.
    a.ask_later(2);
    assert_eq!(a.handle_timeout(&pool, a.deadline_ns().unwrap()), Due::Probe);
    let ack = deliver(a.numbers(0), 3);
    a.asked(&pool, 3);
    let word = Word { expected: ack.expected, credit: 2, stop: false };
    assert_eq!(a.handle_ack(&mut pool, &ack, &word, 4), Ok(Fates::default()));
    send(&mut a, &mut pool, 8, 4);
    assert_eq!(a.room(), 1);
    send(&mut a, &mut pool, 9, 4);
    assert_eq!(a.room(), 0);
}

/// P20
#[test]
fn after_stop_few_frames_are_under_way_until_go() {
    let mut two = two();
    let expected = two.send(0, false).expected;
    let stop = |stop| Word { stop, ..word(Seq(u32::MAX - 3)) };
    two.hear(&stop(true)).unwrap();
    (1..STOPPED).for_each(|n| {
        assert_eq!(two.a.room(), STOPPED - n);
        two.send(n, false);
    });
    assert_eq!(two.a.room(), 0);
    two.hear(&stop(false)).unwrap();
    assert!(two.a.room() > 0 && expected == Seq(77));
}

/// P10
#[test]
fn no_more_numbers_than_a_window_are_open() {
    let mut two = two();
    (0..WINDOW).for_each(|n| _ = two.send(n, n > 0));
    assert!(two.a.room() == 0 && !two.a.may_ask());
    two.reply();
    assert_eq!(two.lost, [0]);
    assert!(two.a.room() > 0 && two.a.may_ask());
}
