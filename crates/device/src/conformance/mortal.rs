//! Tests of promises about peers that die. Here the sender dies between packets; its death in the middle of one is for
//! a device's own tests.

use super::endpoints::{Endpoint, Form, Net, Record};
use crate::Refusal;
use hawser_base::Peer;
use std::time::Instant;

/// A peer dies idle, with packets in flight, with its ring full, and with ours to it full: the packets that it had sent
/// arrive, then its loss is reported, once, and sends to it are refused for that reason.
pub fn a_peer_dies(net: impl Fn() -> Net) {
    for (sent, len) in [(0, 0), (1, 0), (5, 100), (3, 5000), (u32::MAX, 8), (u32::MAX, 500), (u32::MAX, 3000)] {
        for full_toward_it in [false, true] {
            for by_name in [false, true] {
                dies(&net(), sent, len, full_toward_it, by_name);
            }
        }
    }
}

fn dies(net: &Net, sent: u32, len: usize, full_toward_it: bool, by_name: bool) {
    let (mut dying, mut left) = (net.endpoint(1, 0), net.endpoint(0, 0));
    let mut record = Record::default();
    let len = len.min(left.limits(1).packet);
    meet(net, &mut dying, &mut left);
    if full_toward_it {
        left.fill(1, 0, 700);
    }
    let sent = if sent == u32::MAX {
        let sent = dying.fill(0, 0, len);
        // Packets that a device has taken and not sent when it dies are lost.
        net.settle();
        sent
    } else {
        (0..sent).for_each(|seed| dying.send(0, seed, len, 0, Form::Mem).unwrap());
        sent
    };
    (net.kill)(1);
    collect(&mut left, &mut record, by_name);
    record.expect_seeds(1, 0..sent, "what a peer had sent before it died is delivered");
    assert_eq!(record.lost, [1]);
    // A write by a child that it forked, or a stray write, to where it had written.
    let _ = dying.send(0, 0, 8, 0, Form::Mem);
    for _ in 0..10 {
        left.port.poll(&mut record);
        left.port.poll_from(Peer(1), &mut record);
    }
    assert_eq!((record.lost.len(), record.arrived.len()), (1, sent as usize), "a loss is reported once, and last");
    for len in [0, 8, 700, 3000] {
        assert_eq!(left.send(1, 0, len, 0, Form::Mem), Err(Refusal::Lost), "nothing can be sent to the lost");
        assert!(!left.port.reserve(Peer(1), len));
    }
    assert_eq!(left.send_control(1, 0, 0), Err(Refusal::Lost));
    others_go_on(net, &mut left, &mut record);
}

/// Lets ranks 1 and 0 exchange packets: further packets leave at once, as far as there is room.
fn meet(net: &Net, dying: &mut Endpoint, left: &mut Endpoint) {
    send_in_time(net, dying, 0);
    receive_in_time(net, left, &mut Record::default());
    send_in_time(net, left, 1);
    receive_in_time(net, dying, &mut Record::default());
    net.settle();
}

/// Sends a packet to rank `to` as soon as the device takes it.
fn send_in_time(net: &Net, from: &mut Endpoint, to: usize) {
    let began = Instant::now();
    while let Err(refusal) = from.send(to, 0, 1, 0, Form::Mem) {
        assert!(refusal == Refusal::Full && began.elapsed().as_secs() < 60, "there is room at last: {refusal:?}");
        net.devices.iter().for_each(|device| _ = device.flush());
    }
}

/// Polls until a packet has arrived, while all devices work.
fn receive_in_time(net: &Net, to: &mut Endpoint, record: &mut Record) {
    let (began, before) = (Instant::now(), record.arrived.len());
    while record.arrived.len() == before {
        net.devices.iter().for_each(|device| _ = device.flush());
        to.port.poll(record);
        assert!(began.elapsed().as_secs() < 60, "what a device took arrives: not after a minute");
    }
}

/// Polls until a loss is reported: all peers, or rank 1 by name, with one packet or run of packets per call.
fn collect(left: &mut Endpoint, record: &mut Record, by_name: bool) {
    if !by_name {
        return left.poll_until(record, |record| !record.lost.is_empty(), "a death is reported");
    }
    for _ in 0..100_000 {
        let before = record.arrived.len();
        let delivered = left.port.poll_from(Peer(1), record);
        assert_eq!(record.arrived.len() > before, delivered, "poll_from says whether it delivered");
        if !record.lost.is_empty() {
            return;
        }
    }
    panic!("a death is reported by poll_from");
}

/// Checks that the third rank of the net still sends and receives.
fn others_go_on(net: &Net, left: &mut Endpoint, record: &mut Record) {
    let mut third = net.endpoint(2, 0);
    let mut theirs = Record::default();
    for _ in 0..50 {
        send_in_time(net, &mut third, 0);
        send_in_time(net, left, 2);
        receive_in_time(net, left, record);
        receive_in_time(net, &mut third, &mut theirs);
    }
    assert_eq!(record.lost, [1]);
}

/// A peer dies while another thread sends to it and polls.
pub fn a_peer_dies_while_it_is_polled(net: impl Fn() -> Net) {
    for round in 0..20 {
        let net = net();
        std::thread::scope(|scope| {
            let net = &net;
            scope.spawn(move || {
                let mut dying = net.endpoint(1, 0);
                for seed in 0..round * 50 {
                    // A refusal is as good here: the ring is full.
                    let _ = dying.send(0, seed, 60 * seed as usize % 3000, 0, Form::Mem);
                    dying.port.poll(&mut Record::default());
                }
                drop(dying);
                (net.kill)(1);
            });
            let mut left = net.endpoint(0, 0);
            let mut record = Record::default();
            let start = std::time::Instant::now();
            let mut refused = false;
            while !refused {
                assert!(start.elapsed().as_secs() < 60, "a sender to a dead peer learns of it");
                refused = left.send(1, 0, 200, 0, Form::Mem) == Err(Refusal::Lost);
                left.port.poll(&mut record);
            }
            // The packets that it had sent come first, even if the device knows of the death.
            left.poll_until(&mut record, |record| !record.lost.is_empty(), "a death is reported");
            assert_eq!(record.lost, [1]);
            assert!(record.seeds_of(1).is_sorted(), "in order to the end");
        });
    }
}

/// A peer dies without any packet to or from it: the loss is reported on each lane, even one that is used later.
pub fn a_peer_that_nobody_spoke_to_dies(net: impl Fn() -> Net) {
    let net = net();
    let mut left = [net.endpoint(0, 0), net.endpoint(0, 1)];
    (net.kill)(1);
    for left in &mut left {
        let mut record = Record::default();
        collect(left, &mut record, false);
        assert_eq!((&record.lost[..], record.arrived.len()), (&[1][..], 0));
        assert_eq!(left.send(1, 0, 8, 0, Form::Mem), Err(Refusal::Lost));
        assert!(!left.port.reserve(Peer(1), 8));
        for _ in 0..10 {
            left.port.poll(&mut record);
        }
        assert_eq!(record.lost, [1]);
    }
    others_go_on(&net, &mut left[0], &mut Record { lost: vec![1], ..Record::default() });
}
