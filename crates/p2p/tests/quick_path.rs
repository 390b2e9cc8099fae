//! Tests that the fast path of short messages equals the engine's full path: on random traces `fast_send` leaves the
//! same engine as `start_send`, and `may_recv_directly` with `count_direct_recv` leaves one that handles everything
//! that follows as if the receive had been posted, or the message had been unexpected.

use hawser_base::{Context, Peer};
use hawser_p2p::matching::{
    Effect, Engine, MatchSpec, OpId, Packet, PayloadPlacement, ProtocolLimits, SendSpec, SendStart,
};
use hawser_sim::Rng;
use std::collections::HashMap;

const LIMITS: ProtocolLimits =
    ProtocolLimits { packet: 64, eager: 200, first: 16, rtr_from: 100, credit: 1000, ..ProtocolLimits::DEFAULT };

/// Operations numbered by their order of appearance: two engines may number them differently.
#[derive(Default)]
struct OpNumbers {
    of: HashMap<OpId, usize>,
    count: usize,
}

impl OpNumbers {
    /// Records a new operation under this number, which named another before.
    fn fresh(&mut self, op: OpId) -> usize {
        self.count += 1;
        self.of.insert(op, self.count);
        self.count
    }

    fn describe_placement(&mut self, placement: PayloadPlacement) -> String {
        match placement {
            PayloadPlacement::Drop => "drop".into(),
            PayloadPlacement::Written { bytes } => format!("written {bytes}"),
            PayloadPlacement::Into { op, at, len: room } => format!("into {} {at} {room}", self.of[&op]),
            PayloadPlacement::NewUnexpected { op, bytes } => format!("hold {} {bytes}", self.fresh(op)),
        }
    }

    fn describe_effect(&self, effect: &Effect) -> String {
        match effect {
            Effect::Complete { op, outcome } => format!("complete {} {outcome:?}", self.of[op]),
            Effect::CopyUnexpected { unexpected: held, op, bytes } => {
                format!("release {} {} {bytes}", self.of[held], self.of[op])
            }
            other => format!("{other:?}"),
        }
    }
}

fn effects(engine: &mut Engine) -> Vec<Effect> {
    std::iter::from_fn(|| engine.next_effect()).collect()
}

#[test]
fn quick_send_is_start_send() {
    let (mut dice, mut fast_path_uses) = (Rng::new(1), 0);
    for _ in 0..200 {
        let (mut fast, mut slow) = (Engine::new(LIMITS), Engine::new(LIMITS));
        // The first message to a peer gives the peer its credit, whichever path it takes.
        (0..3).for_each(|peer| assert!(fast.has_credit(Peer(peer), 0) && slow.has_credit(Peer(peer), 0)));
        let mut sent_rtrs = [0; 3];
        for _ in 0..100 {
            let to = Peer(dice.below(3) as u32);
            let (bytes, tag) = (dice.below(65), [1, 7][dice.index(2)]);
            match dice.below(12) {
                0..3 => {
                    let credit = Packet::Credit { bytes: dice.below(200) };
                    assert_eq!(fast.handle_packet(to, credit, 0), slow.handle_packet(to, credit, 0));
                }
                3 => {
                    let (number, accepted) = (sent_rtrs[to.index()], fast.account(to).sent);
                    sent_rtrs[to.index()] += 1;
                    let rtr = Packet::Rtr { context: Context(0), tag: Some(7), capacity: 100, number, accepted };
                    assert_eq!(fast.handle_packet(to, rtr, 0), slow.handle_packet(to, rtr, 0));
                }
                4 if fast.clone().fast_send(to, bytes) => {
                    assert!(fast.fast_send(to, bytes));
                    fast.undo_fast_send(to, bytes);
                }
                _ => {
                    let (context, packet, front) = (Context(0), LIMITS.packet, LIMITS.first);
                    let spec = SendSpec {
                        to,
                        context,
                        tag,
                        bytes,
                        sync: false,
                        has_space: true,
                        packet,
                        first_bytes: front,
                        key: None,
                    };
                    let started = slow.start_send(spec);
                    if fast.fast_send(to, bytes) {
                        fast_path_uses += 1;
                        assert_eq!(started, SendStart::Whole { packet: Packet::Eager { context, tag } });
                    } else {
                        assert_eq!(started, fast.start_send(spec));
                    }
                }
            }
            assert_eq!(effects(&mut fast), effects(&mut slow));
            assert!(fast == slow);
        }
    }
    assert!(fast_path_uses > 1000, "{fast_path_uses} uses of the fast path");
}

/// The case in which the engine without the fast path gets the message that the other takes directly.
#[derive(Clone, Copy, PartialEq)]
enum SlowPath {
    PostedFirst,
    UnexpectedFirst,
}

#[test]
fn a_message_taken_directly_is_as_if_posted_first() {
    assert!((0..300).map(|seed| taken_directly(seed, SlowPath::PostedFirst)).sum::<u32>() > 1000);
}

#[test]
fn a_message_taken_directly_is_as_if_held_first() {
    assert!((0..300).map(|seed| taken_directly(seed, SlowPath::UnexpectedFirst)).sum::<u32>() > 1000);
}

/// Runs a random trace, and returns how many messages were taken directly.
fn taken_directly(seed: u64, slow_path: SlowPath) -> u32 {
    let mut dice = Rng::new(seed);
    let (mut fast, mut slow) = (Engine::new(LIMITS), Engine::new(LIMITS));
    let mut names = [OpNumbers::default(), OpNumbers::default()];
    let mut fast_path_uses = 0;
    for _ in 0..60 {
        let from = Peer(dice.below(3) as u32);
        let context = Context([0, 1, 32][dice.index(3)]);
        let tag = dice.below(2) as i32;
        let bytes = dice.below(65);
        let source = (dice.below(4) > 0).then_some(from);
        let spec = MatchSpec { context, source, tag: Some(tag) };
        let mut expected = Vec::new();
        match dice.below(4) {
            0 => {
                let capacity = dice.below(200);
                let [a, b] = [fast.post_recv(spec, capacity), slow.post_recv(spec, capacity)];
                assert_eq!(a.1, b.1);
                assert_eq!(names[0].fresh(a.0), names[1].fresh(b.0));
            }
            1 => {
                let packet = Packet::Eager { context, tag };
                let [a, b] = [fast.handle_packet(from, packet, bytes), slow.handle_packet(from, packet, bytes)]
                    .map(Result::unwrap);
                assert_eq!(names[0].describe_placement(a), names[1].describe_placement(b));
            }
            _ if fast.may_recv_directly(context, from) => {
                fast_path_uses += 1;
                fast.count_direct_recv(from, bytes);
                expected = recv_by_slow_path(&mut slow, slow_path, MatchSpec { source: Some(from), ..spec }, bytes);
            }
            _ => assert_eq!(fast.probe(&spec), slow.probe(&spec)),
        }
        expected.extend(effects(&mut slow));
        let expected: Vec<_> = expected.iter().map(|e| names[1].describe_effect(e)).collect();
        let done: Vec<_> = effects(&mut fast).iter().map(|e| names[0].describe_effect(e)).collect();
        assert_eq!(done, expected);
        (0..3).for_each(|peer| assert_eq!(fast.account(Peer(peer)), slow.account(Peer(peer))));
        assert_eq!(fast.is_idle(), slow.is_idle());
    }
    fast_path_uses
}

/// Receives by the full path, and returns the packets to the peer. The receive itself must have ended well.
fn recv_by_slow_path(engine: &mut Engine, slow_path: SlowPath, spec: MatchSpec, bytes: u64) -> Vec<Effect> {
    let from = spec.source.unwrap();
    let packet = Packet::Eager { context: spec.context, tag: spec.tag.unwrap() };
    // A receive that is posted first sends an RTR if its capacity is large; a receive that polls never does.
    let capacity = bytes.min(LIMITS.rtr_from - 1);
    if slow_path == SlowPath::PostedFirst {
        engine.post_recv(spec, capacity);
        assert!(matches!(engine.handle_packet(from, packet, bytes), Ok(PayloadPlacement::Into { .. })));
    } else {
        assert!(matches!(engine.handle_packet(from, packet, bytes), Ok(PayloadPlacement::NewUnexpected { .. })));
        engine.post_recv(spec, capacity);
    }
    let all = effects(engine);
    let ended = all.iter().filter(|e| matches!(e, Effect::Complete { outcome, .. } if outcome.error.is_none()));
    assert_eq!(ended.count(), 1);
    all.into_iter().filter(|e| matches!(e, Effect::Transmit { .. })).collect()
}
