//! Tests of one path's numbers, acknowledgements and timers, with two ends that are joined by hand.

use super::*;
use crate::rtt::TIMEOUT_FIRST_NS;

const CREDIT: u16 = 2000;

fn ack_header(expected: Seq) -> AckHeader {
    AckHeader { expected, credit: CREDIT, stop: false }
}

/// Two ends of a path, and the contents that one of them has acknowledged, which lie in its pool.
struct PathPair {
    a: EstablishedPath,
    b: EstablishedPath,
    pool: FramePool,
    capacity: ReceiveCapacity,
    now_ns: u64,
    acked: Vec<u32>,
    lost: Vec<u32>,
}

fn path_pair() -> PathPair {
    let (ours, theirs) = (Seq(u32::MAX - 3), Seq(77));
    let mut b = EstablishedPath::new(theirs, ours, CREDIT);
    let mut capacity = ReceiveCapacity::new(4096);
    assert_eq!(b.advertised_credit(&mut capacity, ours), 32);
    let pool = FramePool::new(SEQ_WINDOW as usize, 4);
    PathPair {
        a: EstablishedPath::new(ours, theirs, CREDIT),
        b,
        pool,
        capacity,
        now_ns: 1,
        acked: vec![],
        lost: vec![],
    }
}

fn send(path: &mut EstablishedPath, pool: &mut FramePool, content: u32, now_ns: u64) -> SequenceFields {
    let fields = path.sequence_fields(0);
    let slot = pool.allocate(4).unwrap();
    pool.frame_mut(slot).copy_from_slice(&content.to_le_bytes());
    path.on_sent(pool, slot, now_ns);
    fields
}

fn contents(pool: &mut FramePool, queue: FrameQueue) -> Vec<u32> {
    let content = |slot| u32::from_le_bytes(pool.frame(slot).try_into().unwrap());
    let contents = pool.iter(&queue).map(content).collect();
    pool.release_all(queue);
    contents
}

impl PathPair {
    fn send(&mut self, content: u32, arrives: bool) -> SequenceFields {
        let fields = send(&mut self.a, &mut self.pool, content, self.now_ns);
        if arrives {
            self.b
                .handle_numbered(&mut self.capacity, fields.sequence, fields.open, FrameFlags::default(), self.now_ns)
                .unwrap();
        }
        fields
    }

    fn receive_ack_header(&mut self, header: &AckHeader) -> Result<(), DropReason> {
        let acked = self.a.handle_ack_header(&mut self.pool, header, self.now_ns)?;
        self.acked.extend(contents(&mut self.pool, acked));
        Ok(())
    }

    /// Delivers the acknowledgement that b must send to a.
    fn deliver_ack(&mut self) -> Option<FrameFlags> {
        let ack = self.b.poll_ack(self.now_ns)?;
        let header = ack_header(ack.ack.expected);
        let result = self.a.handle_ack(&mut self.pool, &ack.ack, &header, self.now_ns).unwrap();
        self.acked.extend(contents(&mut self.pool, result.acked));
        self.lost.extend(contents(&mut self.pool, result.lost));
        Some(ack.flags)
    }

    /// Returns whether all frames count as lost now; if not, a probe is due.
    fn is_timeout(&mut self) -> bool {
        self.now_ns = self.a.deadline_ns().expect("something is in flight").max(self.now_ns);
        match self.a.handle_timeout(&self.pool, self.now_ns) {
            TimerEvent::Timeout(lost) => {
                self.lost.extend(contents(&mut self.pool, lost));
                true
            }
            due => {
                assert_eq!(due, TimerEvent::Probe);
                false
            }
        }
    }
}

/// P13
#[test]
fn acknowledgements_wait_for_company_but_not_long() {
    let mut pair = path_pair();
    pair.send(0, true);
    assert_eq!(pair.deliver_ack(), None, "there may be an answer to send it with");
    pair.now_ns += ACK_DELAY_NS;
    assert_eq!((pair.deliver_ack(), &pair.acked[..]), (Some(FrameFlags::default()), &[0][..]));
    (1..=16).for_each(|n| _ = pair.send(n, true));
    assert!(pair.deliver_ack().is_some() && pair.acked.len() == 17 && pair.a.deadline_ns().is_none());
    // An acknowledgement that travels with data costs no frame of its own.
    pair.send(99, true);
    let SequenceFields { expected, .. } = send(&mut pair.b, &mut pair.pool, 5, pair.now_ns);
    pair.now_ns += ACK_DELAY_NS;
    assert_eq!(pair.b.poll_ack(pair.now_ns), None);
    pair.receive_ack_header(&ack_header(expected)).unwrap();
    assert_eq!((pair.acked.last(), pair.a.frames_in_flight()), (Some(&99), 0));
}

/// P12, P15
#[test]
fn a_gap_is_answered_at_once_with_lose_and_mended_at_once() {
    let mut pair = path_pair();
    [true, false, true, true].into_iter().enumerate().for_each(|(n, arrives)| _ = pair.send(n as u32, arrives));
    assert_eq!(pair.deliver_ack(), None);
    pair.send(4, true);
    assert_eq!(pair.deliver_ack(), Some(FrameFlags::LOSE));
    assert_eq!((&pair.lost[..], &pair.acked[..]), (&[1][..], &[0, 2, 3, 4][..]));
    assert_eq!(pair.a.frames_in_flight(), 0);
}

/// P16, P17: a lost tail is probed, and the reply reports that it is lost; without a reply all frames are returned.
#[test]
fn a_lost_tail_is_probed_and_then_sent_again() {
    let mut pair = path_pair();
    pair.send(0, true);
    pair.send(1, false);
    assert_eq!((pair.is_timeout(), pair.now_ns), (false, 1 + TIMEOUT_FIRST_NS / 2));
    let SequenceFields { sequence, open, .. } = pair.a.sequence_fields(0);
    pair.a.on_probe_sent(&pair.pool, pair.now_ns);
    pair.b.handle_numbered(&mut pair.capacity, sequence, open, FrameFlags::ACK_NOW, pair.now_ns).unwrap();
    assert!(pair.deliver_ack().is_some());
    assert_eq!((&pair.acked[..], &pair.lost[..], pair.a.deadline_ns()), (&[0][..], &[1][..], None));
    pair.send(2, false);
    assert_eq!((pair.is_timeout(), pair.is_timeout()), (false, true));
    assert_eq!((pair.lost.last(), pair.a.deadline_ns()), (Some(&2), None));
}

/// P18: a silent peer is never given up, and its first frame ends the silence.
#[test]
fn silence_backs_off_and_never_ends_a_path() {
    let mut pair = path_pair();
    let (mut last, mut waits) = (pair.now_ns, vec![]);
    for n in 0..40 {
        pair.send(n, false);
        assert_eq!((pair.is_timeout(), pair.is_timeout()), (false, true));
        waits.push(pair.now_ns - last);
        last = pair.now_ns;
    }
    assert!(waits.is_sorted() && waits[39] <= 2 * TIMEOUT_MAX_NS && pair.lost.len() == 40);
    pair.send(40, true);
    (41..60).for_each(|n| _ = pair.send(n, true));
    assert!(pair.deliver_ack().is_some());
    assert!(pair.a.deadline_ns().unwrap_or(0) < pair.now_ns + TIMEOUT_FIRST_NS);
}

/// P13: a port that is down does not wake its rank every 100 us.
#[test]
fn a_refused_acknowledgement_goes_out_ever_more_seldom_until_something_comes() {
    let mut pair = path_pair();
    pair.send(0, true);
    let mut waits = vec![];
    for _ in 0..20 {
        let due_ns = pair.b.deadline_ns().unwrap();
        waits.push(due_ns - pair.now_ns);
        pair.now_ns = due_ns;
        assert!(pair.b.poll_ack(due_ns).is_some());
        pair.b.retry_ack(due_ns);
    }
    assert!(waits.is_sorted() && waits[19] == ACK_DELAY_NS << REFUSALS_MAX, "{waits:?}");
    pair.send(1, true);
    drop(pair.b.handle_ack_header(&mut pair.pool, &ack_header(Seq(77)), pair.now_ns).unwrap());
    pair.b.retry_ack(pair.now_ns);
    assert_eq!(pair.b.deadline_ns(), Some(pair.now_ns + ACK_DELAY_NS));
}

/// P16: 32 senders had 1 MB of frames in a switch's buffer of 256 KiB; none of them ever got an acknowledgement in
/// time.
#[test]
fn a_timeout_that_was_too_early_makes_the_next_one_longer() {
    const LATE_NS: u64 = 8_000_000;
    let mut pair = path_pair();
    for n in 0..20 {
        pair.send(n, true);
        pair.now_ns += ACK_DELAY_NS;
        pair.deliver_ack();
    }
    // From now on every reply takes long, and by then the frames that it acknowledges count as lost.
    let mut replies = std::collections::VecDeque::new();
    let mut timeouts = 0;
    for n in 100..140 {
        let fields = pair.send(n, true);
        pair.now_ns = pair.now_ns.max(pair.a.deadline_ns().unwrap());
        replies.push_back((pair.now_ns + LATE_NS, fields.sequence.next()));
        while pair.a.frames_in_flight() > 0 {
            let reply_ns = replies.front().map_or(u64::MAX, |answer| answer.0);
            if reply_ns <= pair.a.deadline_ns().unwrap() {
                pair.now_ns = reply_ns;
                let end = replies.pop_front().unwrap().1;
                pair.receive_ack_header(&ack_header(end)).unwrap();
            } else if pair.is_timeout() {
                timeouts += 1;
            }
        }
    }
    assert!((1..10).contains(&timeouts), "{timeouts} timeouts of 40");
}

/// P16
#[test]
fn what_was_closed_by_a_later_frame_says_nothing_of_a_timeout() {
    let mut pair = path_pair();
    pair.send(0, false);
    while !pair.is_timeout() {}
    let trip_ns = pair.a.round_trip_ns();
    pair.now_ns += 500_000_000;
    let fields = pair.send(1, true);
    assert_eq!(fields.open, 0);
    pair.now_ns += 50_000;
    pair.b.expedite_ack();
    pair.deliver_ack().unwrap();
    assert_eq!((trip_ns, pair.a.round_trip_ns(), &pair.acked[..]), (0, 50_000, &[1][..]));
}

/// P26: by TCP one of three jobs did not use a port again that had been pulled for a second.
#[test]
fn an_answer_that_was_held_up_does_not_make_a_path_look_slow() {
    let mut pair = path_pair();
    let mut answered = |after_ns| {
        pair.send(0, true);
        pair.now_ns += after_ns;
        pair.b.expedite_ack();
        pair.deliver_ack().unwrap();
        pair.a.transfer_ns(1500)
    };
    let takes_ns = answered(50_000);
    assert_eq!(answered(1_400_000_000), takes_ns);
}

/// P11
#[test]
fn a_doubled_frame_is_answered_for_its_answer_was_lost() {
    let mut pair = path_pair();
    let seq = pair.send(0, true).sequence;
    pair.now_ns += ACK_DELAY_NS;
    assert!(pair.b.poll_ack(pair.now_ns).is_some(), "lost on its way");
    assert_eq!(
        pair.b.handle_numbered(&mut pair.capacity, seq, 0, FrameFlags::default(), pair.now_ns),
        Err(DropReason::Duplicate)
    );
    assert!(pair.deliver_ack().is_some() && pair.acked == [0]);
    assert_eq!(
        pair.b.handle_numbered(&mut pair.capacity, seq + 5000, 9, FrameFlags::default(), pair.now_ns),
        Ok(()),
        "a sender may have closed so many"
    );
}

/// P14
#[test]
fn an_acknowledgement_of_what_was_never_sent_is_dropped_whole() {
    let mut pair = path_pair();
    let Seq(first) = pair.send(0, false).sequence;
    pair.send(1, false);
    let bits = |ahead: u32| {
        let mut bits = [0; BITMAP_WORDS];
        bits[ahead as usize / 64] |= 1 << (ahead % 64);
        bits
    };
    let none = [0; BITMAP_WORDS];
    for (ahead, bits) in [(3, none), (1, bits(0)), (0, bits(1)), (0, bits(900)), (u32::MAX / 2, none)] {
        let ack = Ack { expected: Seq(first) + ahead, bits };
        let result = pair.a.handle_ack(&mut pair.pool, &ack, &ack_header(ack.expected), pair.now_ns);
        assert_eq!(result, Err(DropReason::AckOfUnsent), "{ack:?}");
    }
    assert_eq!(pair.receive_ack_header(&ack_header(Seq(500))), Err(DropReason::AckOfUnsent));
    assert_eq!(pair.a.frames_in_flight(), 2);
    pair.receive_ack_header(&ack_header(Seq(first) + 2)).unwrap();
    assert_eq!(pair.acked, [0, 1]);
}

/// P21
#[test]
fn payload_waits_for_room_at_the_peer_and_asks_for_it() {
    let mut pool = FramePool::new(4, 4);
    let (mut a, mut b) = (EstablishedPath::new(Seq(0), Seq(0), 2), EstablishedPath::new(Seq(0), Seq(0), 2));
    let mut capacity = ReceiveCapacity::new(4096);
    let mut deliver = |fields: SequenceFields, now_ns| {
        b.handle_numbered(&mut capacity, fields.sequence, fields.open, FrameFlags::ACK_NOW, now_ns).unwrap();
        b.poll_ack(now_ns).unwrap().ack
    };
    deliver(send(&mut a, &mut pool, 0, 1), 1);
    assert_eq!(a.sendable_frames(), 1);
    let ack = deliver(send(&mut a, &mut pool, 1, 1), 1);
    assert!(a.sendable_frames() == 0 && a.can_probe());
    let header = AckHeader { expected: ack.expected, credit: 0, stop: false };
    assert_eq!(a.handle_ack(&mut pool, &ack, &header, 2).unwrap().acked.len(), 2);
    assert!(a.sendable_frames() == 0 && a.frames_in_flight() == 0);
    // The advertisement of new credit was lost: the sender probes.
    a.schedule_probe(2);
    assert_eq!(a.handle_timeout(&pool, a.deadline_ns().unwrap()), TimerEvent::Probe);
    let ack = deliver(a.sequence_fields(0), 3);
    a.on_probe_sent(&pool, 3);
    let header = AckHeader { expected: ack.expected, credit: 2, stop: false };
    assert_eq!(a.handle_ack(&mut pool, &ack, &header, 4), Ok(AckResult::default()));
    send(&mut a, &mut pool, 8, 4);
    assert_eq!(a.sendable_frames(), 1);
    send(&mut a, &mut pool, 9, 4);
    assert_eq!(a.sendable_frames(), 0);
}

/// P20
#[test]
fn after_stop_few_frames_are_under_way_until_go() {
    let mut pair = path_pair();
    let expected = pair.send(0, false).expected;
    let stop = |stop| AckHeader { stop, ..ack_header(Seq(u32::MAX - 3)) };
    pair.receive_ack_header(&stop(true)).unwrap();
    (1..STOPPED_FRAMES).for_each(|n| {
        assert_eq!(pair.a.sendable_frames(), STOPPED_FRAMES - n);
        pair.send(n, false);
    });
    assert_eq!(pair.a.sendable_frames(), 0);
    pair.receive_ack_header(&stop(false)).unwrap();
    assert!(pair.a.sendable_frames() > 0 && expected == Seq(77));
}

/// P10
#[test]
fn no_more_numbers_than_a_window_are_open() {
    let mut pair = path_pair();
    (0..SEQ_WINDOW).for_each(|n| _ = pair.send(n, n > 0));
    assert!(pair.a.sendable_frames() == 0 && !pair.a.can_probe());
    pair.deliver_ack();
    assert_eq!(pair.lost, [0]);
    assert!(pair.a.sendable_frames() > 0 && pair.a.can_probe());
}
