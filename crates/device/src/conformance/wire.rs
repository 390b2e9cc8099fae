//! Tests of promises between one sender and one receiver, both in this thread. Used by the devices' tests.

use super::endpoints::{PayloadForm, PollBackoff, ReceivedLog, TestEndpoint, TestNet};
use crate::{DevicePort, PREFIX_MAX, SendError};
use hawser_base::Peer;
use std::time::Duration;

/// A sender and a receiver, or one port that is both.
struct TestPair {
    sender: TestEndpoint,
    /// None if the sender sends to itself.
    receiver: Option<TestEndpoint>,
    to: usize,
}

impl TestPair {
    fn new(net: &TestNet) -> TestPair {
        let to = net.last();
        TestPair { sender: net.endpoint(0, 0), receiver: (to != 0).then(|| net.endpoint(to, 0)), to }
    }

    fn receiver(&mut self) -> &mut dyn DevicePort {
        &mut *self.receiver.as_mut().unwrap_or(&mut self.sender).port
    }

    fn send(&mut self, seed: u32, len: usize, prefix: usize, form: PayloadForm) -> Result<(), SendError> {
        self.sender.send(self.to, seed, len, prefix, form)
    }

    /// Waits until all packets that were sent in this thread can be received.
    fn flush_both(&self) {
        let others = || self.receiver.as_ref().is_none_or(|receiver| receiver.device.flush());
        let mut backoff = PollBackoff::default();
        while !(self.sender.device.flush() & others()) {
            backoff.after_empty_poll();
        }
    }

    /// Polls until no more packets arrive.
    fn drain(&mut self, log: &mut ReceivedLog) {
        while {
            self.flush_both();
            self.receiver().poll(log) > 0
        } {}
    }
}

/// Runs all tests of this file. `net` makes a fresh net each time.
pub fn all(net: impl Fn() -> TestNet) {
    every_length_arrives_whole(&net());
    what_waits_is_delivered_in_order(&net());
    a_sender_that_only_sends_needs_no_other_call(&net());
    pieces_come_in_order_once_they_are_pushed(&net());
    a_refusal_leaves_nothing_behind(&net());
    control_travels_when_payload_is_refused(&net());
    what_is_reserved_is_taken(&net());
    room_for_a_length_is_room_for_any_shorter(&net());
    a_reservation_ends_with_the_next_call(&net());
    what_a_lane_has_reserved_no_other_takes(&net());
    poll_from_delivers_in_order(&net());
    what_is_not_consumed_is_dropped(&net());
    pieces_of_any_length_can_be_taken(&net());
    a_full_device_works_again_when_drained(&net());
}

fn lengths(pair: &TestPair) -> Vec<usize> {
    let limits = pair.sender.limits(pair.to);
    assert!(limits.short <= limits.packet, "a short packet is a packet");
    let edges = [
        limits.short,
        limits.packet,
        limits.fragmentation.piece_len(1),
        limits.fragmentation.piece_len(1 << 20),
        4096,
        8192,
        16384,
    ];
    let around = edges.iter().flat_map(|&edge| edge.saturating_sub(PREFIX_MAX + 1)..=edge + PREFIX_MAX + 1);
    let mut lengths: Vec<usize> = (0..1100).chain(around).filter(|&len| len <= limits.packet).collect();
    lengths.sort_unstable();
    lengths.dedup();
    for total in [1, 100, 5000, 1 << 17, 1 << 24] {
        assert!(
            limits.fragmentation.piece_len(total) > 0 && limits.fragmentation.piece_len(total) <= limits.packet,
            "a piece is a packet"
        );
    }
    lengths
}

/// Tests each length: the first packet of that length is sent to an idle device. The others, with other prefixes and
/// in the other form, follow at once, or after a drain if there is no room.
fn every_length_arrives_whole(net: &TestNet) {
    let mut pair = TestPair::new(net);
    let mut seed = 0;
    for len in lengths(&pair) {
        let (first, mut log) = (seed + 1, ReceivedLog::default());
        for prefix in [0, 1, 16, PREFIX_MAX].into_iter().filter(|&prefix| prefix <= len) {
            for form in [PayloadForm::Mem, PayloadForm::Pack] {
                seed += 1;
                if pair.send(seed, len, prefix, form).is_err() {
                    assert!(seed > first, "an idle device takes a packet of {len} bytes");
                    pair.drain(&mut log);
                    pair.send(seed, len, prefix, form).expect("a drained device takes a packet");
                }
            }
        }
        if len <= PREFIX_MAX {
            pair.drain(&mut log);
            seed += 1;
            pair.sender.send_control(pair.to, seed, len).expect("an idle device takes control");
        }
        pair.drain(&mut log);
        let expected: Vec<_> = (first..=seed).map(|seed| (0, seed, len)).collect();
        assert_eq!(log.arrived, expected, "packets of {len} bytes, with all prefixes and in both forms");
    }
}

fn what_waits_is_delivered_in_order(net: &TestNet) {
    let mut pair = TestPair::new(net);
    let packet = pair.sender.limits(pair.to).packet;
    let lens = [0, 8, 49, packet, 700, 1, 2000, packet, 0, 104, 105];
    let mut log = ReceivedLog::default();
    for round in 0..300 {
        for (i, len) in lens.into_iter().enumerate() {
            let seed = round * lens.len() as u32 + i as u32;
            let form = if seed.is_multiple_of(3) { PayloadForm::Pack } else { PayloadForm::Mem };
            if pair.send(seed, len, 0, form).is_err() {
                pair.drain(&mut log);
                pair.send(seed, len, 0, form).expect("a drained device takes a packet");
            }
        }
    }
    pair.drain(&mut log);
    log.expect_seeds(0, 0..300 * lens.len() as u32, "packets of different kinds stay in order");
}

/// Tests sends with pauses longer than the time of a retransmit, after many polls in vain: the receiver's replies lie
/// unread at each of them, in a port that is polled ever more seldom.
fn a_sender_that_only_sends_needs_no_other_call(net: &TestNet) {
    let (mut pair, mut log) = (TestPair::new(net), ReceivedLog::default());
    pair.send(0, 8, 0, PayloadForm::Mem).expect("an idle device takes a packet");
    pair.drain(&mut log);
    for _ in 0..5_000 {
        pair.sender.port.poll(&mut log);
    }
    for seed in 1..100 {
        pair.send(seed, 8, 0, PayloadForm::Mem).expect("an idle device takes a packet");
        std::thread::sleep(Duration::from_millis(1));
        let receiver = pair.receiver.as_mut().unwrap_or(&mut pair.sender);
        receiver.poll_until(&mut log, |log| log.arrived.len() > seed as usize, "a packet needs only its send");
    }
}

/// Tests streams of one piece and of many. The last piece is short or as long as the others, and another packet
/// follows the stream.
fn pieces_come_in_order_once_they_are_pushed(net: &TestNet) {
    let mut pair = TestPair::new(net);
    let to = Peer(pair.to as u32);
    let piece =
        pair.sender.port.piece_len(to, 1 << 20).unwrap_or(pair.sender.limits(pair.to).fragmentation.piece_len(1 << 20));
    let mut log = ReceivedLog::default();
    let mut seed = 0;
    for (count, last) in [(1, piece), (1, 1), (2, piece), (7, piece), (7, 3), (100, piece)] {
        for i in 0..count {
            let (len, prefix) = if i + 1 < count { (piece, 0) } else { (last, 1) };
            while pair.sender.send_piece(pair.to, seed, len, prefix).is_err() {
                pair.drain(&mut log);
            }
            seed += 1;
        }
        pair.sender.port.flush_pieces();
        pair.drain(&mut log);
        log.expect_seeds(0, 0..seed, "nothing is delayed after a flush of the pieces");
        pair.sender.send_piece(pair.to, seed, last, 0).expect("a drained device takes a piece");
        pair.send(seed + 1, 8, 0, PayloadForm::Mem).expect("a drained device takes a packet");
        seed += 2;
        pair.drain(&mut log);
        log.expect_seeds(0, 0..seed, "a packet takes along the pieces that were delayed before it");
    }
}

fn a_refusal_leaves_nothing_behind(net: &TestNet) {
    let mut pair = TestPair::new(net);
    let limits = pair.sender.limits(pair.to);
    for len in [0, 8, limits.short, limits.short + 1, limits.packet] {
        let taken = pair.sender.fill(pair.to, 0, len);
        assert!(taken > 0);
        for _ in 0..5 {
            assert_eq!(pair.send(999_999, len, 0, PayloadForm::Pack), Err(SendError::Full));
        }
        let mut log = ReceivedLog::default();
        pair.drain(&mut log);
        log.expect_seeds(0, 0..taken, "what was refused never arrives, what was taken does");
    }
}

fn control_travels_when_payload_is_refused(net: &TestNet) {
    let mut pair = TestPair::new(net);
    let limits = pair.sender.limits(pair.to);
    for len in [1, limits.short, limits.packet] {
        let taken = pair.sender.fill(pair.to, 0, len);
        for i in 0..4 {
            pair.sender.send_control(pair.to, taken + i, PREFIX_MAX).expect("control travels when payload is refused");
        }
        let mut more = 4;
        while pair.sender.send_control(pair.to, taken + more, 0).is_ok() {
            more += 1;
            assert!(more < 1_000_000, "control is bounded too");
        }
        let mut log = ReceivedLog::default();
        pair.drain(&mut log);
        log.expect_seeds(0, 0..taken + more, "control comes after the payload that was sent before it");
    }
}

fn what_is_reserved_is_taken(net: &TestNet) {
    let mut pair = TestPair::new(net);
    let limits = pair.sender.limits(pair.to);
    let to = Peer(pair.to as u32);
    let mut log = ReceivedLog::default();
    for (len, form) in
        [0, 60, limits.short, limits.packet].into_iter().zip([PayloadForm::Mem, PayloadForm::Pack].into_iter().cycle())
    {
        let mut seed = log.arrived.len() as u32;
        while pair.sender.port.reserve(to, len) {
            pair.send(seed, len, 0, form).expect("there was room for it");
            seed += 1;
            assert!(seed < 1_000_000, "room is bounded");
        }
        pair.sender.fill(pair.to, seed, len);
        assert!(!pair.sender.port.reserve(to, len), "what is full has no room");
        pair.drain(&mut log);
        assert!(pair.sender.port.reserve(to, len), "a drained device has room");
    }
    log.expect_seeds(0, 0..log.arrived.len() as u32, "to reserve sends nothing");
}

/// Tests that a reservation ends with the next call; otherwise unused reservations would be kept for ever.
fn a_reservation_ends_with_the_next_call(net: &TestNet) {
    let mut pair = TestPair::new(net);
    let (to, limits) = (Peer(pair.to as u32), pair.sender.limits(pair.to));
    let mut log = ReceivedLog::default();
    let bound = pair.sender.fill(pair.to, 0, limits.packet);
    pair.drain(&mut log);
    let mut seed = bound;
    for round in 0..3 * bound {
        assert!(pair.sender.port.reserve(to, limits.packet), "reserved {round} times, never used");
        match round % 3 {
            0 => _ = pair.sender.port.poll(&mut log),
            1 => {
                pair.sender.send_control(pair.to, seed, 0).expect("an idle device takes control");
                seed += 1;
                pair.drain(&mut log);
            }
            _ => {}
        }
    }
    let taken = pair.sender.fill(pair.to, seed, limits.packet);
    assert!(2 * taken >= bound, "{taken} packets are taken, {bound} before");
    pair.drain(&mut log);
    log.expect_seeds(0, 0..seed + taken, "to reserve sends nothing");
}

/// Tests that a packet with a reservation is accepted even if another lane has sent payload and control packets until
/// they were refused.
pub fn what_a_lane_has_reserved_no_other_takes(net: &TestNet) {
    let mut pair = TestPair::new(net);
    let (to, limits) = (Peer(pair.to as u32), pair.sender.limits(pair.to));
    let (mut other, mut other_receiver) = (net.endpoint(0, 1), net.endpoint(pair.to, 1));
    for (seed, len) in (0..).zip([0, 8, limits.short, limits.packet]) {
        assert!(pair.sender.port.reserve(to, len), "an idle device has room for {len} bytes");
        let taken = other.fill(pair.to, 0, limits.packet);
        other.fill(pair.to, taken, 8);
        while other.send_control(pair.to, 0, PREFIX_MAX).is_ok() {}
        pair.send(seed, len, 0, PayloadForm::Mem).expect("what was reserved is there");
        let mut log = ReceivedLog::default();
        pair.drain(&mut log);
        assert_eq!(log.arrived, [(0, seed, len)]);
        while other_receiver.port.poll(&mut ReceivedLog::default()) + other.port.poll(&mut ReceivedLog::default()) > 0 {
        }
    }
}

/// Tests reservations when the device is filled to any degree, after random mixtures of packets, some with prefixes
/// and some of them control packets.
fn room_for_a_length_is_room_for_any_shorter(net: &TestNet) {
    let mut pair = TestPair::new(net);
    let (to, limits) = (Peer(pair.to as u32), pair.sender.limits(pair.to));
    let edges = [1, PREFIX_MAX, limits.short, limits.short + 1, limits.fragmentation.piece_len(1), limits.packet];
    let mut random = 20_261_122_u64;
    let mut below = |bound: usize| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % bound
    };
    let mut log = ReceivedLog::default();
    let (mut seed, mut refused) = (0, 0);
    while seed < 20_000 {
        let most = match below(3) {
            0 => below(limits.packet + 1),
            _ => edges[below(edges.len())].saturating_sub(below(3)),
        };
        if pair.sender.port.reserve(to, most) {
            let len = most - below(most + 1).min(below(most + 1));
            let form = [PayloadForm::Mem, PayloadForm::Pack][below(2)];
            pair.send(seed, len, below(PREFIX_MAX.min(len) + 1), form).expect("there was room for as much or more");
            seed += 1;
        } else {
            refused += 1;
            // Deliver only a few packets, or none, so that the device stays almost full for some rounds.
            pair.flush_both();
            for _ in 0..below(8) {
                pair.receiver().poll_from(Peer(0), &mut log);
            }
        }
        if below(16) == 0 && pair.sender.send_control(pair.to, seed, below(PREFIX_MAX + 1)).is_ok() {
            seed += 1;
        }
    }
    pair.drain(&mut log);
    assert!(refused > 20, "the device was full at times");
    log.expect_seeds(0, 0..seed, "to reserve sends nothing");
}

fn poll_from_delivers_in_order(net: &TestNet) {
    let mut pair = TestPair::new(net);
    let mut log = ReceivedLog::default();
    assert!(!pair.receiver().poll_from(Peer(0), &mut log), "there is nothing yet");
    for seed in 0..10 {
        pair.send(seed, 100 * seed as usize, 0, PayloadForm::Mem).unwrap();
    }
    pair.flush_both();
    while log.arrived.len() < 10 {
        let before = log.arrived.len();
        assert!(pair.receiver().poll_from(Peer(0), &mut log));
        assert!(log.arrived.len() > before, "poll_from reports a delivery that it did not make");
        log.expect_seeds(0, 0..log.arrived.len() as u32, "poll_from delivers in order");
    }
    assert!(!pair.receiver().poll_from(Peer(0), &mut log), "there is nothing left");
}

fn what_is_not_consumed_is_dropped(net: &TestNet) {
    let mut pair = TestPair::new(net);
    let limits = pair.sender.limits(pair.to);
    let mut seed = 0;
    for len in [1, 48, 49, 104, 105, limits.short, limits.packet] {
        for take in [0, 1, 47, 48, 49, 100, 4096, 5000] {
            for ragged in [0, 10] {
                pair.send(seed, len, 0, PayloadForm::Mem).unwrap();
                pair.send(seed + 1, 10, 0, PayloadForm::Mem).unwrap();
                let mut log = ReceivedLog { max_bytes: Some(take), max_piece: ragged, ..ReceivedLog::default() };
                pair.drain(&mut log);
                log.expect_seeds(0, seed..seed + 2, "a packet consumed in part does not disturb the next");
                seed += 2;
            }
        }
    }
}

fn pieces_of_any_length_can_be_taken(net: &TestNet) {
    let mut pair = TestPair::new(net);
    let limits = pair.sender.limits(pair.to);
    let mut seed = 0;
    for ragged in [1, 3, 47, 48, 55, 56, 57, 4095, 4096, 4097, usize::MAX] {
        for (len, prefix) in [(0, 0), (777, 5), (limits.short, 0), (limits.packet, PREFIX_MAX), (limits.packet, 0)] {
            seed += 1;
            pair.send(seed, len, prefix, PayloadForm::Pack).unwrap();
            let mut log = ReceivedLog { max_piece: ragged, ..ReceivedLog::default() };
            pair.drain(&mut log);
            assert_eq!(log.arrived, [(0, seed, len)]);
        }
    }
}

fn a_full_device_works_again_when_drained(net: &TestNet) {
    let mut pair = TestPair::new(net);
    let limits = pair.sender.limits(pair.to);
    let mut log = ReceivedLog::default();
    let mut seed = 0;
    for round in 0..50 {
        let len = [3, limits.short, limits.packet, 300][round % 4];
        seed += pair.sender.fill(pair.to, seed, len);
        // Let a few packets leave and as many enter, so that rings and pools wrap around at every offset.
        pair.flush_both();
        for _ in 0..round {
            pair.receiver().poll_from(Peer(0), &mut log);
        }
        seed += pair.sender.fill(pair.to, seed, len);
        pair.drain(&mut log);
    }
    log.expect_seeds(0, 0..seed, "nothing is lost or duplicated under back-pressure");
}
