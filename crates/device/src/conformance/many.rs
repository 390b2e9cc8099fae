//! Tests of promises between many peers, lanes and threads. Used by the devices' tests.

use super::endpoints::{PayloadForm, PollBackoff, ReceivedLog, TestEndpoint, TestNet};
use std::thread;
use std::time::Duration;

/// Many peers send to one at the same time, each in its own order.
pub fn many_to_one(net: &TestNet, packets: u32) {
    let count = net.devices.len();
    let short = net.endpoint(1, 0).limits(0).short;
    thread::scope(|scope| {
        for first in 1..=4 {
            scope.spawn(move || {
                let mut senders: Vec<_> = (first..count).step_by(4).map(|rank| net.endpoint(rank, 0)).collect();
                let mut backoff = PollBackoff::default();
                for seed in 0..packets {
                    for sender in &mut senders {
                        let len = [0, 8, 100, short, short + 1, 5000][seed as usize % 6].min(sender.limits(0).packet);
                        while sender.send(0, seed, len, 0, PayloadForm::Mem).is_err() {
                            sender.device.flush();
                            backoff.after_empty_poll();
                        }
                    }
                }
                net.flush_all();
            });
        }
        let mut receiver = net.endpoint(0, 0);
        let mut log = ReceivedLog::default();
        let all = (count - 1) * packets as usize;
        receiver.poll_until(&mut log, |record| record.arrived.len() >= all, "many to one");
        (1..count).for_each(|rank| log.expect_seeds(rank, 0..packets, "each peer's packets arrive in order"));
    });
}

/// Tests one sender to all others that makes no other call: several replies lie unread at each of its sends.
pub fn a_sender_to_many_needs_no_other_call(net: &TestNet, rounds: u32) {
    let mut sender = net.endpoint(0, 0);
    let mut receivers: Vec<_> = (1..=net.last()).map(|to| (net.endpoint(to, 0), ReceivedLog::default())).collect();
    for seed in 0..rounds {
        for to in 1..=net.last() {
            sender.send(to, seed, 8, 0, PayloadForm::Mem).expect("an idle device takes a packet");
        }
        // Connections are opened with the help of both ends.
        if seed == 0 {
            net.flush_all();
        }
        thread::sleep(Duration::from_millis(1));
        for (receiver, log) in &mut receivers {
            receiver.poll_until(log, |log| log.arrived.len() > seed as usize, "a packet needs only its send");
        }
    }
}

/// Tests that no peer is forgotten when first some peers send and then others. The test has one thread.
pub fn talkers_take_turns(net: &TestNet, rounds: u32) {
    let count = net.devices.len();
    let mut senders: Vec<_> = (1..count).map(|rank| net.endpoint(rank, 0)).collect();
    let mut receiver = net.endpoint(0, 0);
    let mut log = ReceivedLog::default();
    let mut sent = vec![0; count];
    for round in 0..rounds {
        for burst in 0..40 {
            // Two ranks send in turn; the first one stays the same during the round, the second one changes after
            // every 13 bursts.
            for rank in [1 + round as usize % (count - 1), 1 + (round as usize * 7 + burst / 13) % (count - 1)] {
                senders[rank - 1]
                    .send(0, sent[rank], 20, 0, PayloadForm::Mem)
                    .expect("a drained device takes a packet");
                sent[rank] += 1;
                senders[rank - 1].device.flush();
            }
            let expected = sent.iter().sum::<u32>() as usize;
            receiver.poll_until(&mut log, |record| record.arrived.len() >= expected, "every talker's packets arrive");
        }
    }
    (1..count).for_each(|rank| log.expect_seeds(rank, 0..sent[rank], "each peer's packets arrive in order"));
}

/// Tests that two lanes of the same two devices do not interfere; each side has a thread for each lane.
pub fn lanes_are_independent(net: &TestNet, packets: u32) {
    thread::scope(|scope| {
        for lane in [0, 1] {
            for (me, peer) in [(0, 1), (1, 0)] {
                scope.spawn(move || {
                    let mut end = net.endpoint(me, lane);
                    // The seeds of the two lanes differ by a million.
                    converse(&mut end, peer, packets, u32::from(lane) * 1_000_000, 7 + u64::from(lane));
                    net.flush_all();
                });
            }
        }
    });
}

/// Two peers send each other packets of random kinds and lengths. `seed` begins the random numbers; the packets also
/// depend on timing, because every turn of the loops draws numbers, even one without a packet.
pub fn soak(net: &TestNet, packets: u32, seed: u64) {
    thread::scope(|scope| {
        scope.spawn(|| {
            converse(&mut net.endpoint(0, 0), 1, packets, 0, seed);
            net.flush_all();
        });
        converse(&mut net.endpoint(1, 0), 0, packets, 0, seed ^ 0x5555);
        net.flush_all();
    });
}

/// Sends `packets` random packets to the peer and receives as many from it. Both ends must call this function at the
/// same time.
pub fn converse(end: &mut TestEndpoint, peer: usize, packets: u32, first: u32, seed: u64) {
    let mut random = Random(seed | 1);
    let limits = end.limits(peer);
    let (mut sent, mut log) = (0, ReceivedLog::default());
    let (start, mut backoff) = (std::time::Instant::now(), PollBackoff::default());
    let mut next = draw(&mut random, &limits);
    while sent < packets || log.arrived.len() < packets as usize {
        let mut moved = false;
        while sent < packets {
            let (len, prefix, kind) = next;
            let result = match kind {
                0 => end.send_control(peer, first + sent, prefix),
                1 => end.send(peer, first + sent, len, prefix, PayloadForm::Pack),
                _ => end.send(peer, first + sent, len, prefix, PayloadForm::Mem),
            };
            if result.is_err() {
                break;
            }
            sent += 1;
            moved = true;
            next = draw(&mut random, &limits);
            if random.below(8) == 0 {
                break;
            }
        }
        log.max_piece = if random.below(3) == 0 { 1 + random.below(5000) } else { 0 };
        moved |= if random.below(2) == 0 {
            end.port.poll(&mut log) > 0
        } else {
            end.port.poll_from(hawser_base::Peer(peer as u32), &mut log)
        };
        if !moved {
            assert!(start.elapsed().as_secs() < 120, "soak {seed:#x}: stuck; {sent} sent, {} here", log.arrived.len());
            backoff.after_empty_poll();
        }
    }
    assert!(log.failed.is_empty(), "no living peer is reported as failed");
    log.expect_seeds(peer, first..first + packets, "each peer's packets arrive in order");
}

/// Draws a packet's length, the length of its prefix, and its kind.
fn draw(random: &mut Random, limits: &crate::DeviceLimits) -> (usize, usize, usize) {
    let len = match random.below(10) {
        0..6 => random.below(200),
        6..8 => random.below(limits.short + 2),
        8 => random.below(limits.packet.min(8000)),
        _ => limits.packet - random.below(3),
    };
    (len, random.below(crate::PREFIX_MAX + 1).min(len), random.below(6))
}

/// xorshift64: enough to vary a test, and repeatable.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as usize % bound
    }
}
