//! Tests of promises about peers that die. Here the sender dies between two packets. Its death in the middle of a
//! packet is tested by each device's own tests.

use super::endpoints::{PayloadForm, ReceivedLog, TestEndpoint, TestNet};
use crate::SendError;
use hawser_base::Peer;
use std::time::Instant;

/// Tests a peer that dies idle, with packets in flight, with its ring to us full, and with our ring to it full. The
/// packets that the peer had sent arrive; then its failure is reported once; then sends to it are refused with
/// `PeerFailed`.
pub fn a_peer_dies(net: impl Fn() -> TestNet) {
    for (sent, len) in [(0, 0), (1, 0), (5, 100), (3, 5000), (u32::MAX, 8), (u32::MAX, 500), (u32::MAX, 3000)] {
        for full_toward_it in [false, true] {
            for by_name in [false, true] {
                dies(&net(), sent, len, full_toward_it, by_name);
            }
        }
    }
}

fn dies(net: &TestNet, sent: u32, len: usize, full_toward_it: bool, by_name: bool) {
    let (mut dying, mut survivor) = (net.endpoint(1, 0), net.endpoint(0, 0));
    let mut log = ReceivedLog::default();
    let len = len.min(survivor.limits(1).packet);
    meet(net, &mut dying, &mut survivor);
    if full_toward_it {
        survivor.fill(1, 0, 700);
    }
    let sent = if sent == u32::MAX {
        let sent = dying.fill(0, 0, len);
        // Packets that a device has accepted and not sent when its process dies are lost, so flush first.
        net.flush_all();
        sent
    } else {
        (0..sent).for_each(|seed| dying.send(0, seed, len, 0, PayloadForm::Mem).unwrap());
        sent
    };
    (net.kill)(1);
    collect_until_failure(&mut survivor, &mut log, by_name);
    log.expect_seeds(1, 0..sent, "what a peer had sent before it died is delivered");
    assert_eq!(log.failed, [1]);
    // A forked child of the dead process, or a stray write, may still write to the ring.
    let _ = dying.send(0, 0, 8, 0, PayloadForm::Mem);
    for _ in 0..10 {
        survivor.port.poll(&mut log);
        survivor.port.poll_from(Peer(1), &mut log);
    }
    assert_eq!((log.failed.len(), log.arrived.len()), (1, sent as usize), "a failure is reported once, and last");
    for len in [0, 8, 700, 3000] {
        assert_eq!(
            survivor.send(1, 0, len, 0, PayloadForm::Mem),
            Err(SendError::PeerFailed),
            "nothing can be sent to a failed peer"
        );
        assert!(!survivor.port.reserve(Peer(1), len));
    }
    assert_eq!(survivor.send_control(1, 0, 0), Err(SendError::PeerFailed));
    others_go_on(net, &mut survivor, &mut log);
}

/// Lets ranks 1 and 0 exchange a packet each, so that they are connected and later packets are sent at once.
fn meet(net: &TestNet, dying: &mut TestEndpoint, survivor: &mut TestEndpoint) {
    send_in_time(net, dying, 0);
    receive_in_time(net, survivor, &mut ReceivedLog::default());
    send_in_time(net, survivor, 1);
    receive_in_time(net, dying, &mut ReceivedLog::default());
    net.flush_all();
}

/// Sends a packet to rank `to` as soon as the device takes it.
fn send_in_time(net: &TestNet, from: &mut TestEndpoint, to: usize) {
    let began = Instant::now();
    while let Err(error) = from.send(to, 0, 1, 0, PayloadForm::Mem) {
        assert!(error == SendError::Full && began.elapsed().as_secs() < 60, "there is room at last: {error:?}");
        net.devices.iter().for_each(|device| _ = device.flush());
    }
}

/// Polls until one more packet has arrived, and flushes all devices before each poll.
fn receive_in_time(net: &TestNet, to: &mut TestEndpoint, log: &mut ReceivedLog) {
    let (began, before) = (Instant::now(), log.arrived.len());
    while log.arrived.len() == before {
        net.devices.iter().for_each(|device| _ = device.flush());
        to.port.poll(log);
        assert!(began.elapsed().as_secs() < 60, "what a device took arrives: not after a minute");
    }
}

/// Polls until a failure is reported. Uses `poll` or, if `by_name`, `poll_from` for rank 1, which delivers one packet
/// or batch of packets per call.
fn collect_until_failure(survivor: &mut TestEndpoint, log: &mut ReceivedLog, by_name: bool) {
    if !by_name {
        return survivor.poll_until(log, |record| !record.failed.is_empty(), "a death is reported");
    }
    for _ in 0..100_000 {
        let before = log.arrived.len();
        let delivered = survivor.port.poll_from(Peer(1), log);
        assert_eq!(log.arrived.len() > before, delivered, "poll_from reports whether it delivered");
        if !log.failed.is_empty() {
            return;
        }
    }
    panic!("a death is reported by poll_from");
}

/// Checks that the third rank of the net still sends and receives.
fn others_go_on(net: &TestNet, survivor: &mut TestEndpoint, log: &mut ReceivedLog) {
    let mut third = net.endpoint(2, 0);
    let mut third_log = ReceivedLog::default();
    for _ in 0..50 {
        send_in_time(net, &mut third, 0);
        send_in_time(net, survivor, 2);
        receive_in_time(net, survivor, log);
        receive_in_time(net, &mut third, &mut third_log);
    }
    assert_eq!(log.failed, [1]);
}

/// A peer dies while another thread sends to it and polls.
pub fn a_peer_dies_while_it_is_polled(net: impl Fn() -> TestNet) {
    for round in 0..20 {
        let net = net();
        std::thread::scope(|scope| {
            let net = &net;
            scope.spawn(move || {
                let mut dying = net.endpoint(1, 0);
                for seed in 0..round * 50 {
                    // Ignore a refusal: then the peer dies with its ring full.
                    let _ = dying.send(0, seed, 60 * seed as usize % 3000, 0, PayloadForm::Mem);
                    dying.port.poll(&mut ReceivedLog::default());
                }
                drop(dying);
                (net.kill)(1);
            });
            let mut survivor = net.endpoint(0, 0);
            let mut log = ReceivedLog::default();
            let start = std::time::Instant::now();
            let mut refused = false;
            while !refused {
                assert!(start.elapsed().as_secs() < 60, "a sender to a dead peer learns of it");
                refused = survivor.send(1, 0, 200, 0, PayloadForm::Mem) == Err(SendError::PeerFailed);
                survivor.port.poll(&mut log);
            }
            // The packets that the dead peer had sent are delivered before its death is reported, even if the device
            // already knows of the death.
            survivor.poll_until(&mut log, |record| !record.failed.is_empty(), "a death is reported");
            assert_eq!(log.failed, [1]);
            assert!(log.seeds_of(1).is_sorted(), "in order to the end");
        });
    }
}

/// A peer dies without any packet to or from it: the failure is reported on each lane, even one that is used later.
pub fn a_peer_that_nobody_spoke_to_dies(net: impl Fn() -> TestNet) {
    let net = net();
    let mut survivors = [net.endpoint(0, 0), net.endpoint(0, 1)];
    (net.kill)(1);
    for survivor in &mut survivors {
        let mut log = ReceivedLog::default();
        collect_until_failure(survivor, &mut log, false);
        assert_eq!((&log.failed[..], log.arrived.len()), (&[1][..], 0));
        assert_eq!(survivor.send(1, 0, 8, 0, PayloadForm::Mem), Err(SendError::PeerFailed));
        assert!(!survivor.port.reserve(Peer(1), 8));
        for _ in 0..10 {
            survivor.port.poll(&mut log);
        }
        assert_eq!(log.failed, [1]);
    }
    others_go_on(&net, &mut survivors[0], &mut ReceivedLog { failed: vec![1], ..ReceivedLog::default() });
}
