//! Tests of promises between one sender and one receiver, both in this thread. Used by the devices' tests.

use super::endpoints::{Endpoint, Form, Net, Record, Wait};
use crate::{PREFIX_MAX, Port, Refusal};
use hawser_base::Peer;

/// A pair of ends, or one end that is both.
struct Wire {
    sender: Endpoint,
    /// None if the sender reaches itself.
    receiver: Option<Endpoint>,
    to: usize,
}

impl Wire {
    fn new(net: &Net) -> Wire {
        let to = net.last();
        Wire { sender: net.endpoint(0, 0), receiver: (to != 0).then(|| net.endpoint(to, 0)), to }
    }

    fn receiver(&mut self) -> &mut dyn Port {
        &mut *self.receiver.as_mut().unwrap_or(&mut self.sender).port
    }

    fn send(&mut self, seed: u32, len: usize, prefix: usize, form: Form) -> Result<(), Refusal> {
        self.sender.send(self.to, seed, len, prefix, form)
    }

    /// Waits until all packets that were sent in this thread can be received.
    fn settle(&self) {
        let others = || self.receiver.as_ref().is_none_or(|receiver| receiver.device.flush());
        let mut wait = Wait::default();
        while !(self.sender.device.flush() & others()) {
            wait.turn();
        }
    }

    /// Polls until no more packets arrive.
    fn drain(&mut self, record: &mut Record) {
        while {
            self.settle();
            self.receiver().poll(record) > 0
        } {}
    }
}

/// Runs all tests of this file. `net` makes a fresh net each time.
pub fn all(net: impl Fn() -> Net) {
    every_length_arrives_whole(&net());
    what_waits_is_delivered_in_order(&net());
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

fn lengths(wire: &Wire) -> Vec<usize> {
    let limits = wire.sender.limits(wire.to);
    assert!(limits.short <= limits.packet, "a short packet is a packet");
    let edges = [limits.short, limits.packet, limits.pieces.best(1), limits.pieces.best(1 << 20), 4096, 8192, 16384];
    let around = edges.iter().flat_map(|&edge| edge.saturating_sub(PREFIX_MAX + 1)..=edge + PREFIX_MAX + 1);
    let mut lengths: Vec<usize> = (0..1100).chain(around).filter(|&len| len <= limits.packet).collect();
    lengths.sort_unstable();
    lengths.dedup();
    for total in [1, 100, 5000, 1 << 17, 1 << 24] {
        assert!(limits.pieces.best(total) > 0 && limits.pieces.best(total) <= limits.packet, "a piece is a packet");
    }
    lengths
}

/// The first packet of each length reaches an idle device, the others follow it as far as there is room.
fn every_length_arrives_whole(net: &Net) {
    let mut wire = Wire::new(net);
    let mut seed = 0;
    for len in lengths(&wire) {
        let (first, mut record) = (seed + 1, Record::default());
        for prefix in [0, 1, 16, PREFIX_MAX].into_iter().filter(|&prefix| prefix <= len) {
            for form in [Form::Mem, Form::Pack] {
                seed += 1;
                if wire.send(seed, len, prefix, form).is_err() {
                    assert!(seed > first, "an idle device takes a packet of {len} bytes");
                    wire.drain(&mut record);
                    wire.send(seed, len, prefix, form).expect("a drained device takes a packet");
                }
            }
        }
        if len <= PREFIX_MAX {
            wire.drain(&mut record);
            seed += 1;
            wire.sender.send_control(wire.to, seed, len).expect("an idle device takes control");
        }
        wire.drain(&mut record);
        let expected: Vec<_> = (first..=seed).map(|seed| (0, seed, len)).collect();
        assert_eq!(record.arrived, expected, "packets of {len} bytes, with all prefixes and in both forms");
    }
}

fn what_waits_is_delivered_in_order(net: &Net) {
    let mut wire = Wire::new(net);
    let packet = wire.sender.limits(wire.to).packet;
    let lens = [0, 8, 49, packet, 700, 1, 2000, packet, 0, 104, 105];
    let mut record = Record::default();
    for round in 0..300 {
        for (i, len) in lens.into_iter().enumerate() {
            let seed = round * lens.len() as u32 + i as u32;
            let form = if seed.is_multiple_of(3) { Form::Pack } else { Form::Mem };
            if wire.send(seed, len, 0, form).is_err() {
                wire.drain(&mut record);
                wire.send(seed, len, 0, form).expect("a drained device takes a packet");
            }
        }
    }
    wire.drain(&mut record);
    record.expect_seeds(0, 0..300 * lens.len() as u32, "packets of different kinds stay in order");
}

/// Streams of one piece and of many, whose last piece is short or as long as the others, and with another packet behind
/// them.
fn pieces_come_in_order_once_they_are_pushed(net: &Net) {
    let mut wire = Wire::new(net);
    let to = Peer(wire.to as u32);
    let piece = wire.sender.port.piece(to, 1 << 20).unwrap_or(wire.sender.limits(wire.to).pieces.best(1 << 20));
    let mut record = Record::default();
    let mut seed = 0;
    for (count, last) in [(1, piece), (1, 1), (2, piece), (7, piece), (7, 3), (100, piece)] {
        for i in 0..count {
            let (len, prefix) = if i + 1 < count { (piece, 0) } else { (last, 1) };
            while wire.sender.send_piece(wire.to, seed, len, prefix).is_err() {
                wire.drain(&mut record);
            }
            seed += 1;
        }
        wire.sender.port.push();
        wire.drain(&mut record);
        record.expect_seeds(0, 0..seed, "nothing is kept back after a push");
        wire.sender.send_piece(wire.to, seed, last, 0).expect("a drained device takes a piece");
        wire.send(seed + 1, 8, 0, Form::Mem).expect("a drained device takes a packet");
        seed += 2;
        wire.drain(&mut record);
        record.expect_seeds(0, 0..seed, "a packet takes along what was kept back before it");
    }
}

fn a_refusal_leaves_nothing_behind(net: &Net) {
    let mut wire = Wire::new(net);
    let limits = wire.sender.limits(wire.to);
    for len in [0, 8, limits.short, limits.short + 1, limits.packet] {
        let taken = wire.sender.fill(wire.to, 0, len);
        assert!(taken > 0);
        for _ in 0..5 {
            assert_eq!(wire.send(999_999, len, 0, Form::Pack), Err(Refusal::Full));
        }
        let mut record = Record::default();
        wire.drain(&mut record);
        record.expect_seeds(0, 0..taken, "what was refused never arrives, what was taken does");
    }
}

fn control_travels_when_payload_is_refused(net: &Net) {
    let mut wire = Wire::new(net);
    let limits = wire.sender.limits(wire.to);
    for len in [1, limits.short, limits.packet] {
        let taken = wire.sender.fill(wire.to, 0, len);
        for i in 0..4 {
            wire.sender.send_control(wire.to, taken + i, PREFIX_MAX).expect("control travels when payload is refused");
        }
        let mut more = 4;
        while wire.sender.send_control(wire.to, taken + more, 0).is_ok() {
            more += 1;
            assert!(more < 1_000_000, "control is bounded too");
        }
        let mut record = Record::default();
        wire.drain(&mut record);
        record.expect_seeds(0, 0..taken + more, "control comes after the payload that was sent before it");
    }
}

fn what_is_reserved_is_taken(net: &Net) {
    let mut wire = Wire::new(net);
    let limits = wire.sender.limits(wire.to);
    let to = Peer(wire.to as u32);
    let mut record = Record::default();
    for (len, form) in [0, 60, limits.short, limits.packet].into_iter().zip([Form::Mem, Form::Pack].into_iter().cycle())
    {
        let mut seed = record.arrived.len() as u32;
        while wire.sender.port.reserve(to, len) {
            wire.send(seed, len, 0, form).expect("there was room for it");
            seed += 1;
            assert!(seed < 1_000_000, "room is bounded");
        }
        wire.sender.fill(wire.to, seed, len);
        assert!(!wire.sender.port.reserve(to, len), "what is full has no room");
        wire.drain(&mut record);
        assert!(wire.sender.port.reserve(to, len), "a drained device has room");
    }
    record.expect_seeds(0, 0..record.arrived.len() as u32, "to reserve sends nothing");
}

/// Otherwise unused reservations would be kept for ever.
fn a_reservation_ends_with_the_next_call(net: &Net) {
    let mut wire = Wire::new(net);
    let (to, limits) = (Peer(wire.to as u32), wire.sender.limits(wire.to));
    let mut record = Record::default();
    let bound = wire.sender.fill(wire.to, 0, limits.packet);
    wire.drain(&mut record);
    let mut seed = bound;
    for round in 0..3 * bound {
        assert!(wire.sender.port.reserve(to, limits.packet), "reserved {round} times, never used");
        match round % 3 {
            0 => _ = wire.sender.port.poll(&mut record),
            1 => {
                wire.sender.send_control(wire.to, seed, 0).expect("an idle device takes control");
                seed += 1;
                wire.drain(&mut record);
            }
            _ => {}
        }
    }
    let taken = wire.sender.fill(wire.to, seed, limits.packet);
    assert!(2 * taken >= bound, "{taken} packets are taken, {bound} before");
    wire.drain(&mut record);
    record.expect_seeds(0, 0..seed + taken, "to reserve sends nothing");
}

/// Other lanes send payload and control meanwhile, until they are refused.
pub fn what_a_lane_has_reserved_no_other_takes(net: &Net) {
    let mut wire = Wire::new(net);
    let (to, limits) = (Peer(wire.to as u32), wire.sender.limits(wire.to));
    let (mut other, mut heard) = (net.endpoint(0, 1), net.endpoint(wire.to, 1));
    for (seed, len) in (0..).zip([0, 8, limits.short, limits.packet]) {
        assert!(wire.sender.port.reserve(to, len), "an idle device has room for {len} bytes");
        let taken = other.fill(wire.to, 0, limits.packet);
        other.fill(wire.to, taken, 8);
        while other.send_control(wire.to, 0, PREFIX_MAX).is_ok() {}
        wire.send(seed, len, 0, Form::Mem).expect("what was reserved is there");
        let mut record = Record::default();
        wire.drain(&mut record);
        assert_eq!(record.arrived, [(0, seed, len)]);
        while heard.port.poll(&mut Record::default()) + other.port.poll(&mut Record::default()) > 0 {}
    }
}

/// At any filling of the device, after any mixture of packets, with prefixes and control among them.
fn room_for_a_length_is_room_for_any_shorter(net: &Net) {
    let mut wire = Wire::new(net);
    let (to, limits) = (Peer(wire.to as u32), wire.sender.limits(wire.to));
    let edges = [1, PREFIX_MAX, limits.short, limits.short + 1, limits.pieces.best(1), limits.packet];
    let mut random = 20_261_122_u64;
    let mut below = |bound: usize| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % bound
    };
    let mut record = Record::default();
    let (mut seed, mut refused) = (0, 0);
    while seed < 20_000 {
        let most = match below(3) {
            0 => below(limits.packet + 1),
            _ => edges[below(edges.len())].saturating_sub(below(3)),
        };
        if wire.sender.port.reserve(to, most) {
            let len = most - below(most + 1).min(below(most + 1));
            let form = [Form::Mem, Form::Pack][below(2)];
            wire.send(seed, len, below(PREFIX_MAX.min(len) + 1), form).expect("there was room for as much or more");
            seed += 1;
        } else {
            refused += 1;
            // A full device is left as it is for some turns.
            wire.settle();
            for _ in 0..below(8) {
                wire.receiver().poll_from(Peer(0), &mut record);
            }
        }
        if below(16) == 0 && wire.sender.send_control(wire.to, seed, below(PREFIX_MAX + 1)).is_ok() {
            seed += 1;
        }
    }
    wire.drain(&mut record);
    assert!(refused > 20, "the device was full at times");
    record.expect_seeds(0, 0..seed, "to reserve sends nothing");
}

fn poll_from_delivers_in_order(net: &Net) {
    let mut wire = Wire::new(net);
    let mut record = Record::default();
    assert!(!wire.receiver().poll_from(Peer(0), &mut record), "there is nothing yet");
    for seed in 0..10 {
        wire.send(seed, 100 * seed as usize, 0, Form::Mem).unwrap();
    }
    wire.settle();
    while record.arrived.len() < 10 {
        let before = record.arrived.len();
        assert!(wire.receiver().poll_from(Peer(0), &mut record));
        assert!(record.arrived.len() > before, "poll_from says that it delivered and did not");
        record.expect_seeds(0, 0..record.arrived.len() as u32, "poll_from delivers in order");
    }
    assert!(!wire.receiver().poll_from(Peer(0), &mut record), "there is nothing left");
}

fn what_is_not_consumed_is_dropped(net: &Net) {
    let mut wire = Wire::new(net);
    let limits = wire.sender.limits(wire.to);
    let mut seed = 0;
    for len in [1, 48, 49, 104, 105, limits.short, limits.packet] {
        for take in [0, 1, 47, 48, 49, 100, 4096, 5000] {
            for ragged in [0, 10] {
                wire.send(seed, len, 0, Form::Mem).unwrap();
                wire.send(seed + 1, 10, 0, Form::Mem).unwrap();
                let mut record = Record { take: Some(take), ragged, ..Record::default() };
                wire.drain(&mut record);
                record.expect_seeds(0, seed..seed + 2, "a packet consumed in part does not disturb the next");
                seed += 2;
            }
        }
    }
}

fn pieces_of_any_length_can_be_taken(net: &Net) {
    let mut wire = Wire::new(net);
    let limits = wire.sender.limits(wire.to);
    let mut seed = 0;
    for ragged in [1, 3, 47, 48, 55, 56, 57, 4095, 4096, 4097, usize::MAX] {
        for (len, prefix) in [(0, 0), (777, 5), (limits.short, 0), (limits.packet, PREFIX_MAX), (limits.packet, 0)] {
            seed += 1;
            wire.send(seed, len, prefix, Form::Pack).unwrap();
            let mut record = Record { ragged, ..Record::default() };
            wire.drain(&mut record);
            assert_eq!(record.arrived, [(0, seed, len)]);
        }
    }
}

fn a_full_device_works_again_when_drained(net: &Net) {
    let mut wire = Wire::new(net);
    let limits = wire.sender.limits(wire.to);
    let mut record = Record::default();
    let mut seed = 0;
    for round in 0..50 {
        let len = [3, limits.short, limits.packet, 300][round % 4];
        seed += wire.sender.fill(wire.to, seed, len);
        // A few packets leave and as many enter: the ends of rings and pools pass at every offset.
        wire.settle();
        for _ in 0..round {
            wire.receiver().poll_from(Peer(0), &mut record);
        }
        seed += wire.sender.fill(wire.to, seed, len);
        wire.drain(&mut record);
    }
    record.expect_seeds(0, 0..seed, "nothing is lost or doubled under back-pressure");
}
