//! All interleavings of two ranks with up to four operations, and of three ranks with MPI_ANY_SOURCE.
//!
//! `cargo test` walks alphabets that are cut to what each question needs; the ignored tests (`make check-long`, except
//! the whole alphabet) walk larger ones. A failure prints the programs and the path to the bad state.

#[path = "model/alphabet.rs"]
mod alphabet;
#[path = "model/explore.rs"]
mod explore;
mod model;

use alphabet::{Alphabet, Device};
use explore::explore_all;
use hawser_p2p::matching::ProtocolLimits;
use model::Setup;
use model::program::Step;

/// Tiny sizes, so that 0..2 bytes are one packet, 3 and 4 are an eager stream, and 5 and more need an RTS.
const LIMITS: ProtocolLimits =
    ProtocolLimits { packet: 2, eager: 4, first: 1, rtr_from: 3, credit: 128, ..ProtocolLimits::DEFAULT };
const SIZES: [u64; 7] = [0, 1, 2, 3, 4, 5, 9];
/// One size per method.
const METHODS: [u64; 3] = [1, 3, 9];
const CAPACITIES: [u64; 4] = [0, 3, 5, 10];
/// Credit for no payload, one message, and two messages.
const CREDITS: [u64; 3] = [8, 64, 128];

const EAGER: Device = Device { eager: true, key: None };
const DEVICES: [Device; 5] = [
    EAGER,
    Device { eager: true, key: Some(true) },
    Device { eager: true, key: Some(false) },
    Device { eager: false, key: None },
    Device { eager: false, key: Some(true) },
];

fn sends(sizes: &[u64], tags: &[i32]) -> Alphabet {
    Alphabet {
        device: EAGER,
        send_to: vec![1],
        send_tags: tags.to_vec(),
        sizes: sizes.to_vec(),
        syncs: vec![false],
        sources: vec![],
        tags: vec![],
        capacities: vec![],
        shared: None,
        cancels: true,
        probes: false,
    }
}

fn receives(capacities: &[u64], sources: &[Option<usize>], tags: &[Option<i32>]) -> Alphabet {
    Alphabet {
        device: EAGER,
        send_to: vec![],
        send_tags: vec![],
        sizes: vec![],
        syncs: vec![],
        sources: sources.to_vec(),
        tags: tags.to_vec(),
        capacities: capacities.to_vec(),
        shared: None,
        cancels: true,
        probes: true,
    }
}

/// Returns both alphabets in one rank that communicates with `peer`.
fn both(a: Alphabet, b: &Alphabet, peer: usize) -> Alphabet {
    let sources = b.sources.iter().map(|s| s.map(|_| peer)).collect();
    Alphabet {
        send_to: vec![peer],
        sources,
        tags: b.tags.clone(),
        capacities: b.capacities.clone(),
        probes: b.probes,
        ..a
    }
}

fn setup(programs: Vec<Vec<Step>>) -> Setup {
    Setup { limits: LIMITS, programs, unordered: false, outbox: false, failing_rank: None }
}

/// Returns every choice of one program per rank.
fn product(ranks: &[Vec<Vec<Step>>]) -> Vec<Setup> {
    let mut all = vec![Vec::new()];
    for programs in ranks {
        let with = |chosen: &Vec<Vec<Step>>| -> Vec<_> {
            programs.iter().map(|p| [chosen.as_slice(), std::slice::from_ref(p)].concat()).collect()
        };
        all = all.iter().flat_map(with).collect();
    }
    all.into_iter().map(setup).collect()
}

fn unordered(setups: Vec<Setup>) -> Vec<Setup> {
    setups.into_iter().map(|s| Setup { unordered: true, ..s }).collect()
}

fn with_credits(setups: &[Setup]) -> Vec<Setup> {
    let with = |s: &Setup, credit| Setup { limits: ProtocolLimits { credit, ..LIMITS }, ..s.clone() };
    setups.iter().flat_map(|s| CREDITS.map(|credit| with(s, credit))).collect()
}

fn with_failing_rank(setups: &[Setup], rank: usize) -> Vec<Setup> {
    setups.iter().map(|s| Setup { failing_rank: Some(rank), ..s.clone() }).collect()
}

#[test]
fn every_size_by_every_device_into_every_room() {
    let receiver = receives(&CAPACITIES, &[Some(0), None], &[Some(1)]);
    for device in DEVICES {
        let sender = Alphabet { device, syncs: vec![false, true], ..sends(&SIZES, &[1]) };
        let one = product(&[sender.programs(1), receiver.programs(1)]);
        let twice = product(&[sender.programs(1), receiver.programs(2)]);
        let cancelled = product(&[sender.programs(2), receiver.programs(1)]);
        explore_all(&format!("{device:?}"), &[with_credits(&one), twice, unordered(cancelled)].concat());
    }
}

/// Returns the setups in which every receive sends an RTR, and every message that finds one replies to it, short or
/// long.
fn replying(setups: Vec<Setup>) -> Vec<Setup> {
    let limits = ProtocolLimits { rtr_from: 0, reply_from: 0, ..LIMITS };
    setups.into_iter().map(|s| Setup { limits, ..s }).collect()
}

#[test]
fn precedence_alone_decides() {
    let receiver = Alphabet { probes: false, ..receives(&[3, 10], &[Some(0), None], &[Some(1)]) };
    let sender = sends(&METHODS, &[1]);
    let setups = replying(product(&[sender.programs(1), receiver.programs(2)]));
    explore_all("replies", &setups);
    let queued: Vec<_> = setups.into_iter().map(|s| Setup { outbox: true, unordered: true, ..s }).collect();
    explore_all("replies, late and overtaken", &queued);
    explore_all("replies, two sends", &replying(product(&[sender.programs(2), receiver.programs(1)])));
    let tagged = Alphabet { probes: false, ..receives(&[10], &[Some(0), None], &[Some(1), None]) };
    explore_all("replies, 2 + 2", &replying(product(&[sends(&[1, 9], &[1, 2]).programs(2), tagged.programs(2)])));
    let [zero, one] = [1, 0].map(|peer| both(sends(&[1, 9], &[1]), &receives(&[10], &[Some(0)], &[None]), peer));
    explore_all("replies, both ways", &replying(product(&[zero.programs(1), one.programs(1)])));
}

#[test]
#[ignore = "minutes: make check-long"]
fn precedence_alone_decides_with_tags_and_for_each_device() {
    let receiver = receives(&[3, 10], &[Some(0), None], &[Some(1), None]);
    for device in DEVICES {
        let sender = Alphabet { device, syncs: vec![false, true], ..sends(&SIZES, &[1]) };
        let setups = product(&[sender.programs(1), receiver.programs(2)]);
        explore_all(&format!("replies, {device:?}"), &replying(setups));
    }
    let setups = replying(product(&[sends(&METHODS, &[1, 2]).programs(2), receiver.programs(2)]));
    explore_all("replies, 2 + 2", &setups);
    let queued: Vec<_> = setups.into_iter().map(|s| Setup { outbox: true, unordered: true, ..s }).collect();
    explore_all("replies, late and overtaken", &queued);
    let [zero, one] = [1, 0].map(|peer| both(sends(&[1, 9], &[1]), &receives(&[10], &[Some(0)], &[None]), peer));
    explore_all("replies, both ways", &replying(product(&[zero.programs(2), one.programs(2)])));
}

#[test]
fn two_sends_and_two_receives_with_tags() {
    let receiver = receives(&[3, 10], &[Some(0), None], &[Some(1), None]);
    explore_all("2 + 2", &product(&[sends(&METHODS, &[1, 2]).programs(2), receiver.programs(2)]));
}

/// Returns the receiver with receive buffers that its sender writes, and with buffers where that fails.
fn shared(receiver: &Alphabet) -> [Alphabet; 2] {
    [true, false].map(|writable| Alphabet { shared: Some(writable), ..receiver.clone() })
}

#[test]
fn every_size_into_shared_rooms() {
    for receiver in shared(&receives(&CAPACITIES, &[Some(0), None], &[Some(1)])) {
        for device in [EAGER, DEVICES[1], DEVICES[3]] {
            let sender = Alphabet { device, syncs: vec![false, true], ..sends(&SIZES, &[1]) };
            let one = product(&[sender.programs(1), receiver.programs(1)]);
            let twice = product(&[sender.programs(1), receiver.programs(2)]);
            let cancelled = product(&[sender.programs(2), receiver.programs(1)]);
            explore_all(&format!("{:?} {device:?}", receiver.shared), &[with_credits(&one), twice, cancelled].concat());
        }
    }
}

#[test]
fn shared_rooms_and_others() {
    let receiver = Alphabet { probes: false, ..receives(&[10], &[Some(0), None], &[None]) };
    let queued = |s: Setup| Setup { outbox: true, ..s };
    let senders = sends(&METHODS, &[1, 2]).programs(2);
    for exposed in shared(&receiver) {
        let mut programs = exposed.programs(2);
        for (first, second) in [(&exposed, &receiver), (&receiver, &exposed)] {
            programs.extend(
                first.programs(1).iter().flat_map(|a| second.programs(1).into_iter().map(|b| [&a[..], &b].concat())),
            );
        }
        let setups = product(&[senders.clone(), programs]);
        explore_all("shared or not", &setups.into_iter().map(queued).collect::<Vec<_>>());
    }
    let [zero, one] = [1, 0].map(|peer| Alphabet { shared: Some(true), ..both(sends(&[3, 9], &[1]), &receiver, peer) });
    explore_all("shared, both ways", &product(&[zero.programs(2), one.programs(2)]));
}

#[test]
fn late_data_is_overtaken() {
    let receiver = Alphabet { probes: false, ..receives(&[3, 10], &[Some(0)], &[Some(1), None]) };
    let setups = product(&[sends(&[4, 5], &[1, 2]).programs(2), receiver.programs(2)]);
    explore_all("late", &unordered(setups));
    let setups = product(&[sends(&[7], &[1]).programs(1), receiver.programs(2)]);
    let streamed = |s: Setup| Setup { limits: ProtocolLimits { eager: 8, ..LIMITS }, ..s };
    explore_all("late, with gaps", &unordered(setups.into_iter().map(streamed).collect()));
}

#[test]
fn messages_overtake_what_the_engine_says() {
    let receiver = Alphabet { probes: false, ..receives(&[10], &[Some(0)], &[Some(1), None]) };
    let queued = |s: Setup| Setup { outbox: true, ..s };
    let setups = product(&[sends(&METHODS, &[1, 2]).programs(2), receiver.programs(2)]);
    explore_all("outbox", &setups.into_iter().map(queued).collect::<Vec<_>>());
    let [zero, one] = [1, 0].map(|peer| both(sends(&[1, 9], &[1]), &receives(&[10], &[Some(0)], &[None]), peer));
    let setups = product(&[zero.programs(1), one.programs(2)]);
    explore_all("outbox, both ways", &setups.into_iter().map(queued).collect::<Vec<_>>());
}

#[test]
fn three_sends_into_one_receive() {
    let receiver = receives(&[10], &[Some(0), None], &[Some(2), None]);
    let setups = product(&[sends(&METHODS, &[1, 2]).programs(3), receiver.programs(1)]);
    explore_all("3 + 1", &with_credits(&setups));
}

#[test]
fn one_send_into_three_receives() {
    let receiver = receives(&[3], &[Some(0), None], &[Some(1), None]);
    explore_all("1 + 3", &product(&[sends(&METHODS, &[1]).programs(1), receiver.programs(3)]));
}

#[test]
fn both_ranks_send_and_receive() {
    let receiver = Alphabet { probes: false, ..receives(&[10], &[Some(0)], &[None]) };
    let [zero, one] = [1, 0].map(|peer| both(sends(&[3, 9], &[1]), &receiver, peer));
    for (a, b) in [(2, 2), (1, 3)] {
        explore_all("both ways", &product(&[zero.programs(a), one.programs(b)]));
    }
}

#[test]
fn two_senders_and_any_source() {
    let receiver = receives(&[3, 10], &[Some(0), None], &[Some(1)]);
    let sender = sends(&METHODS, &[1]);
    let mut programs = [sender.programs(1), receiver.programs(2), sender.programs(1)];
    explore_all("1 + 2 + 1", &product(&programs));
    programs[0] = sender.programs(2);
    programs[1] = Alphabet { capacities: vec![10], ..receiver }.programs(1);
    explore_all("2 + 1 + 1", &product(&programs));
}

#[test]
fn a_rank_dies_at_any_moment() {
    let receiver = receives(&[3, 10], &[Some(0), None], &[None]);
    for device in [DEVICES[0], DEVICES[1], DEVICES[2]] {
        let sender = Alphabet { device, ..sends(&METHODS, &[1]) };
        let setups = [
            product(&[sender.programs(1), receiver.programs(2)]),
            product(&[sender.programs(2), receiver.programs(1)]),
        ];
        for setups in setups {
            explore_all("death", &[with_failing_rank(&setups, 0), with_failing_rank(&setups, 1)].concat());
        }
    }
    for receiver in shared(&receiver) {
        let setups = product(&[sends(&METHODS, &[1]).programs(2), receiver.programs(1)]);
        explore_all("death while it writes", &[with_failing_rank(&setups, 0), with_failing_rank(&setups, 1)].concat());
    }
    let any = Alphabet { probes: false, cancels: false, ..receives(&[10], &[Some(0), None], &[None]) };
    let one = sends(&METHODS, &[1]).programs(1);
    explore_all("death of one of two senders", &with_failing_rank(&product(&[one.clone(), any.programs(2), one]), 0));
}

#[test]
#[ignore = "hours: by hand"]
fn the_whole_alphabet() {
    let receiver = receives(&CAPACITIES, &[Some(0), None], &[Some(1), Some(2), None]);
    for device in DEVICES {
        let sender = Alphabet { device, syncs: vec![false, true], ..sends(&SIZES, &[1, 2]) };
        for (a, b) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
            let setups = product(&[sender.programs(a), receiver.programs(b)]);
            explore_all(&format!("{a} + {b} {device:?}"), &setups);
        }
    }
}

#[test]
#[ignore = "minutes: make check-long"]
fn four_operations_with_late_data() {
    let receiver = receives(&[0, 3, 10], &[Some(0), None], &[Some(1), None]);
    for (a, b) in [(2, 2), (3, 1), (1, 3)] {
        let setups = product(&[sends(&[2, 4, 5], &[1, 2]).programs(a), receiver.programs(b)]);
        explore_all(&format!("{a} + {b}, late data"), &unordered(setups));
    }
}

#[test]
#[ignore = "minutes: make check-long"]
fn four_operations_and_a_death() {
    let receiver = receives(&[3, 10], &[Some(0), None], &[None]);
    for (a, b) in [(2, 2), (3, 1), (1, 3)] {
        let setups = product(&[sends(&METHODS, &[1]).programs(a), receiver.programs(b)]);
        explore_all(
            &format!("{a} + {b}, death"),
            &[with_failing_rank(&setups, 0), with_failing_rank(&setups, 1)].concat(),
        );
    }
}
