//! Tests that the fast path of short messages equals the engine's full path: on random traces `quick_send` leaves the
//! same engine as `start_send`, and `quick_recv` with `took_directly` leaves one that handles everything that follows
//! as if the receive had been posted, or the message had been unexpected.

use hawser_base::{Context, Peer};
use hawser_p2p::matching::{Effect, Engine, Limits, Op, Packet, Place, SendSpec, Start, Want};
use hawser_sim::Dice;
use std::collections::HashMap;

const LIMITS: Limits = Limits { packet: 64, eager: 200, first: 16, offer: 100, window: 1000 };

/// Operations numbered by their order of appearance: two engines may number them differently.
#[derive(Default)]
struct Names {
    of: HashMap<Op, usize>,
    count: usize,
}

impl Names {
    /// Records a new operation under this number, which named another before.
    fn fresh(&mut self, op: Op) -> usize {
        self.count += 1;
        self.of.insert(op, self.count);
        self.count
    }

    fn placed(&mut self, place: Place) -> String {
        match place {
            Place::Drop => "drop".into(),
            Place::Into { op, at, room } => format!("into {} {at} {room}", self.of[&op]),
            Place::Hold { op, bytes } => format!("hold {} {bytes}", self.fresh(op)),
        }
    }

    fn told(&self, effect: &Effect) -> String {
        match effect {
            Effect::Complete { op, outcome } => format!("complete {} {outcome:?}", self.of[op]),
            Effect::Release { held, op, bytes } => format!("release {} {} {bytes}", self.of[held], self.of[op]),
            other => format!("{other:?}"),
        }
    }
}

fn effects(engine: &mut Engine) -> Vec<Effect> {
    std::iter::from_fn(|| engine.next_effect()).collect()
}

#[test]
fn quick_send_is_start_send() {
    let (mut dice, mut short_cuts) = (Dice::new(1), 0);
    for _ in 0..200 {
        let (mut quick, mut slow) = (Engine::new(LIMITS), Engine::new(LIMITS));
        let mut offered = [0; 3];
        for _ in 0..100 {
            let to = Peer(dice.below(3) as u32);
            let (bytes, tag) = (dice.below(65), [1, 7][dice.index(2)]);
            match dice.below(12) {
                0..3 => {
                    let credit = Packet::Credit { bytes: dice.below(200) };
                    assert_eq!(quick.arrive(to, credit, 0), slow.arrive(to, credit, 0));
                }
                3 => {
                    let (number, accepted) = (offered[to.index()], quick.ledger(to).sent);
                    offered[to.index()] += 1;
                    let offer = Packet::Offer { context: Context(0), tag: Some(7), room: 100, number, accepted };
                    assert_eq!(quick.arrive(to, offer, 0), slow.arrive(to, offer, 0));
                }
                4 if quick.clone().quick_send(to, bytes) => {
                    assert!(quick.quick_send(to, bytes));
                    quick.undo_quick_send(to, bytes);
                }
                _ => {
                    let (context, packet, front) = (Context(0), LIMITS.packet, LIMITS.first);
                    let spec = SendSpec { to, context, tag, bytes, sync: false, eager: true, packet, front, key: None };
                    let started = slow.start_send(spec);
                    if quick.quick_send(to, bytes) {
                        short_cuts += 1;
                        assert_eq!(started, Start::Eager);
                    } else {
                        assert_eq!(started, quick.start_send(spec));
                    }
                }
            }
            assert_eq!(effects(&mut quick), effects(&mut slow));
            assert!(quick == slow);
        }
    }
    assert!(short_cuts > 1000, "{short_cuts} short cuts");
}

/// The way in which the engine without the fast path gets the message that the other takes directly.
#[derive(Clone, Copy, PartialEq)]
enum Slow {
    PostedFirst,
    HeldFirst,
}

#[test]
fn a_message_taken_directly_is_as_if_posted_first() {
    assert!((0..300).map(|seed| taken_directly(seed, Slow::PostedFirst)).sum::<u32>() > 1000);
}

#[test]
fn a_message_taken_directly_is_as_if_held_first() {
    assert!((0..300).map(|seed| taken_directly(seed, Slow::HeldFirst)).sum::<u32>() > 1000);
}

/// Runs a random trace, and returns how many messages were taken directly.
fn taken_directly(seed: u64, way: Slow) -> u32 {
    let mut dice = Dice::new(seed);
    let (mut quick, mut slow) = (Engine::new(LIMITS), Engine::new(LIMITS));
    let mut names = [Names::default(), Names::default()];
    let mut short_cuts = 0;
    for _ in 0..60 {
        let from = Peer(dice.below(3) as u32);
        let context = Context([0, 1, 32][dice.index(3)]);
        let tag = dice.below(2) as i32;
        let bytes = dice.below(65);
        let source = (dice.below(4) > 0).then_some(from);
        let want = Want { context, source, tag: Some(tag) };
        let mut said = Vec::new();
        match dice.below(4) {
            0 => {
                let room = dice.below(200);
                let [a, b] = [quick.post_recv(want, room), slow.post_recv(want, room)];
                assert_eq!(a.1, b.1);
                assert_eq!(names[0].fresh(a.0), names[1].fresh(b.0));
            }
            1 => {
                let packet = Packet::Eager { context, tag };
                let [a, b] = [quick.arrive(from, packet, bytes), slow.arrive(from, packet, bytes)].map(Result::unwrap);
                assert_eq!(names[0].placed(a), names[1].placed(b));
            }
            _ if quick.quick_recv(context, from) => {
                short_cuts += 1;
                quick.took_directly(from, bytes);
                said = directly(&mut slow, way, Want { source: Some(from), ..want }, bytes);
            }
            _ => assert_eq!(quick.probe(&want), slow.probe(&want)),
        }
        said.extend(effects(&mut slow));
        let said: Vec<_> = said.iter().map(|e| names[1].told(e)).collect();
        let done: Vec<_> = effects(&mut quick).iter().map(|e| names[0].told(e)).collect();
        assert_eq!(done, said);
        (0..3).for_each(|peer| assert_eq!(quick.ledger(Peer(peer)), slow.ledger(Peer(peer))));
        assert_eq!(quick.is_idle(), slow.is_idle());
    }
    short_cuts
}

/// Receives by the full path, and returns the packets to the peer. The receive itself must have ended well.
fn directly(engine: &mut Engine, way: Slow, want: Want, bytes: u64) -> Vec<Effect> {
    let from = want.source.unwrap();
    let packet = Packet::Eager { context: want.context, tag: want.tag.unwrap() };
    // A receive that is posted first sends an RTR if it has much room; a receive that polls never does.
    let room = bytes.min(LIMITS.offer - 1);
    if way == Slow::PostedFirst {
        engine.post_recv(want, room);
        assert!(matches!(engine.arrive(from, packet, bytes), Ok(Place::Into { .. })));
    } else {
        assert!(matches!(engine.arrive(from, packet, bytes), Ok(Place::Hold { .. })));
        engine.post_recv(want, room);
    }
    let all = effects(engine);
    let ended = all.iter().filter(|e| matches!(e, Effect::Complete { outcome, .. } if outcome.error.is_none()));
    assert_eq!(ended.count(), 1);
    all.into_iter().filter(|e| matches!(e, Effect::Transmit { .. })).collect()
}
