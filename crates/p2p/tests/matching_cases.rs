//! Tests the matching engine case by case: RTRs, credit, truncation, cancellation, loss, and strays.
//!
//! Each test has one engine; the peer's actions are written as packets. `interleavings` checks two engines at once.

use hawser_base::{Class, Context, Peer};
use hawser_p2p::matching::{
    Effect, Engine, Key, Limits, MESSAGE_COST, Op, Outcome, Packet, Place, Posted, SendSpec, Start, Stray, Want,
};

const LIMITS: Limits = Limits { packet: 2, eager: 4, first: 1, offer: 3, window: 4 * MESSAGE_COST };
const CONTEXT: Context = Context(0);
const PEER: Peer = Peer(1);
const OTHER: Peer = Peer(2);
const KEY: Key = Key([7, 8, 9]);

fn engine() -> Engine {
    Engine::new(LIMITS)
}

fn from(source: Peer, tag: i32) -> Want {
    Want { context: CONTEXT, source: Some(source), tag: Some(tag) }
}

fn anyone(tag: i32) -> Want {
    Want { source: None, ..from(PEER, tag) }
}

fn send(bytes: u64) -> SendSpec {
    let Limits { packet, first: front, .. } = LIMITS;
    SendSpec { to: PEER, context: CONTEXT, tag: 1, bytes, sync: false, eager: true, packet, front, key: None }
}

fn effects(engine: &mut Engine) -> Vec<Effect> {
    std::iter::from_fn(|| engine.next_effect()).collect()
}

/// Returns the packets among the effects; other effects are an error.
fn packets(engine: &mut Engine) -> Vec<Packet> {
    let only = |effect| match effect {
        Effect::Transmit { packet, .. } => packet,
        other => panic!("{other:?} is no packet"),
    };
    effects(engine).into_iter().map(only).collect()
}

fn outcome(engine: &mut Engine) -> Outcome {
    match effects(engine).as_slice() {
        [.., Effect::Complete { outcome, .. }] => *outcome,
        other => panic!("nothing completed: {other:?}"),
    }
}

fn begun(start: Start) -> (Op, Packet, u64) {
    match start {
        Start::Begin { op, packet, front } => (op, packet, front),
        other => panic!("{other:?}"),
    }
}

fn offer(number: u32, accepted: u32) -> Packet {
    Packet::Offer { context: CONTEXT, tag: Some(1), room: 9, number, accepted }
}

fn ask(bytes: u64, send: u32, key: Option<Key>) -> Packet {
    Packet::Ask { context: CONTEXT, tag: 1, bytes, send, key }
}

/// A CTS for the bytes from 1 on.
fn grant(op: Op, until: u64, key: Option<Key>) -> Packet {
    Packet::Grant { send: op.0, from: 1, until, key }
}

fn eager(tag: i32) -> Packet {
    Packet::Eager { context: CONTEXT, tag }
}

mod offers {
    use super::*;

    fn is_offer(packet: &Packet, due: u32) -> bool {
        matches!(packet, Packet::Offer { number, .. } if *number == due)
    }

    #[test]
    fn a_fresh_offer_is_answered_without_asking() {
        let mut e = engine();
        e.arrive(PEER, offer(0, 0), 0).unwrap();
        let (op, packet, front) = begun(e.start_send(send(9)));
        assert_eq!((packet, front), (Packet::Answer { context: CONTEXT, tag: 1, bytes: 9, offer: 0 }, 0));
        assert_eq!(effects(&mut e), [Effect::Stream { op, to: PEER, message: 1, from: 0, until: 9, placed: false }]);
        assert!(e.ledger(PEER).given.is_empty());
    }

    #[test]
    fn an_offer_of_too_little_room_is_not_answered() {
        let mut e = engine();
        e.arrive(PEER, offer(0, 0), 0).unwrap();
        let (op, packet, front) = begun(e.start_send(send(10)));
        assert_eq!((packet, front), (ask(10, op.0, None), 1));
        assert!(e.ledger(PEER).given.is_empty(), "its receive takes this message");
    }

    #[test]
    fn an_offer_that_crossed_a_message_is_stale() {
        let mut e = engine();
        assert_eq!(e.start_send(send(1)), Start::Eager);
        e.arrive(PEER, offer(0, 0), 0).unwrap();
        assert_eq!(packets(&mut e), [Packet::Stale { number: 0 }]);
        e.arrive(PEER, offer(1, 0), 0).unwrap();
        assert_eq!(packets(&mut e), [], "an offer behind a refused one is not in succession");
        e.arrive(PEER, offer(0, 1), 0).unwrap();
        assert_eq!(e.ledger(PEER).given, [0]);
    }

    #[test]
    fn refused_offers_are_made_again_if_their_receives_still_wait() {
        let mut e = engine();
        let ops = [1, 2, 3].map(|tag| e.post_recv(from(PEER, tag), 9).0);
        assert_eq!(packets(&mut e).len(), 3);
        e.arrive(PEER, eager(2), 2).unwrap();
        assert!(matches!(effects(&mut e)[..], [.., Effect::Complete { op, .. }] if op == ops[1]));
        e.arrive(PEER, Packet::Stale { number: 0 }, 0).unwrap();
        let again = packets(&mut e);
        assert!(is_offer(&again[0], 0) && is_offer(&again[1], 1) && again.len() == 2, "{again:?}");
        assert!(again.iter().all(|p| matches!(p, Packet::Offer { accepted: 1, .. })));
    }

    #[test]
    fn a_receive_that_is_cancelled_withdraws_its_offer() {
        let mut e = engine();
        let (op, _) = e.post_recv(from(PEER, 1), 9);
        packets(&mut e);
        assert!(e.cancel_recv(op));
        assert!(e.ledger(PEER).made.is_empty());
        let done = effects(&mut e);
        assert_eq!(done[0], Effect::Transmit { to: PEER, packet: Packet::Withdraw { number: 0, accepted: 0 } });
        assert!(!e.cancel_recv(op), "cancelled twice");
    }

    #[test]
    fn a_withdrawn_offer_is_not_answered() {
        let mut e = engine();
        e.arrive(PEER, offer(0, 0), 0).unwrap();
        e.arrive(PEER, Packet::Withdraw { number: 0, accepted: 0 }, 0).unwrap();
        assert_eq!(packets(&mut e), []);
        assert!(matches!(begun(e.start_send(send(9))).1, Packet::Ask { .. }));
    }

    #[test]
    fn a_withdrawal_that_crossed_a_message_voids_the_offers_behind_it() {
        let mut e = engine();
        for number in 0..3 {
            e.arrive(PEER, offer(number, 0), 0).unwrap();
        }
        begun(e.start_send(send(9)));
        effects(&mut e);
        e.arrive(PEER, Packet::Withdraw { number: 0, accepted: 0 }, 0).unwrap();
        assert_eq!(packets(&mut e), [Packet::Stale { number: 1 }]);
        assert!(e.ledger(PEER).given.is_empty());
        e.arrive(PEER, offer(3, 0), 0).unwrap();
        assert!(e.ledger(PEER).given.is_empty(), "an offer of before is not in succession");
    }

    #[test]
    fn there_is_no_offer_behind_a_receive_from_any_source() {
        let mut e = engine();
        e.post_recv(anyone(1), 9);
        e.post_recv(from(PEER, 1), 9);
        assert_eq!(packets(&mut e), []);
        e.post_recv(from(PEER, 2), 9);
        assert!(is_offer(&packets(&mut e)[0], 0), "another tag does not meet it");
    }

    #[test]
    fn a_later_receive_from_any_source_does_not_keep_an_offer_from_being_made_again() {
        let mut e = engine();
        e.post_recv(from(PEER, 1), 9);
        e.post_recv(anyone(1), 9);
        packets(&mut e);
        e.arrive(PEER, Packet::Stale { number: 0 }, 0).unwrap();
        assert!(is_offer(&packets(&mut e)[0], 0));
    }

    #[test]
    fn there_is_no_offer_behind_a_receive_that_was_not_offered() {
        let mut e = engine();
        e.post_recv(from(PEER, 1), LIMITS.offer - 1);
        e.post_recv(from(PEER, 1), 9);
        assert_eq!(packets(&mut e), []);
        e.post_recv(Want { tag: None, ..from(PEER, 0) }, 9);
        assert_eq!(packets(&mut e), [], "any tag meets the first");
        e.post_recv(from(OTHER, 1), 9);
        assert_eq!(packets(&mut e).len(), 1, "another source does not");
    }

    #[test]
    fn a_receive_that_gets_a_held_message_is_not_offered() {
        let mut e = engine();
        e.arrive(PEER, eager(1), 2).unwrap();
        assert_eq!(e.post_recv(from(PEER, 1), 9).1, Posted::Matched);
        assert!(e.ledger(PEER).made.is_empty());
    }

    #[test]
    fn an_answer_whose_receive_was_cancelled_goes_to_the_next_one() {
        let mut e = engine();
        let (first, _) = e.post_recv(from(PEER, 1), 9);
        let (second, _) = e.post_recv(from(PEER, 1), 9);
        e.cancel_recv(first);
        effects(&mut e);
        let answer = Packet::Answer { context: CONTEXT, tag: 1, bytes: 4, offer: 0 };
        assert_eq!(e.arrive(PEER, answer, 0), Ok(Place::Into { op: second, at: 0, room: 0 }));
        let data = e.arrive(PEER, Packet::Data { message: 1, at: 0 }, 4);
        assert_eq!(data, Ok(Place::Into { op: second, at: 0, room: 4 }));
        assert_eq!(outcome(&mut e).envelope.bytes, 4);
    }

    #[test]
    fn an_answer_that_nobody_wants_any_more_is_held() {
        let mut e = engine();
        let (first, _) = e.post_recv(from(PEER, 1), 9);
        e.cancel_recv(first);
        let answer = Packet::Answer { context: CONTEXT, tag: 1, bytes: 4, offer: 0 };
        let Ok(Place::Hold { op, bytes: 4 }) = e.arrive(PEER, answer, 0) else { panic!("not held") };
        let data = e.arrive(PEER, Packet::Data { message: 1, at: 0 }, 4);
        assert_eq!(data, Ok(Place::Into { op, at: 0, room: 4 }));
    }
}

mod window {
    use super::*;

    #[test]
    fn without_window_the_envelope_travels_alone_until_credit_comes() {
        let mut e = engine();
        (0..4).for_each(|_| assert_eq!(e.start_send(send(1)), Start::Eager));
        let (_, packet, front) = begun(e.start_send(send(1)));
        assert_eq!((packet, front), (ask(1, 0, None), 0));
        e.arrive(PEER, Packet::Credit { bytes: MESSAGE_COST }, 0).unwrap();
        assert_eq!(e.start_send(send(1)), Start::Eager);
        assert_eq!(e.ledger(PEER).credit, 0);
    }

    #[test]
    fn more_credit_than_the_window_is_not_believed() {
        let mut e = engine();
        e.arrive(PEER, Packet::Credit { bytes: u64::MAX }, 0).unwrap();
        assert_eq!(e.ledger(PEER).credit, LIMITS.window);
    }

    #[test]
    fn a_held_message_keeps_its_window_until_it_is_received() {
        let mut e = engine();
        e.arrive(PEER, eager(1), 2).unwrap();
        assert_eq!((e.ledger(PEER).held, e.ledger(PEER).owed, packets(&mut e).len()), (MESSAGE_COST, 0, 0));
        e.post_recv(from(PEER, 1), 2);
        assert_eq!(e.ledger(PEER).held, 0);
        let credit = Effect::Transmit { to: PEER, packet: Packet::Credit { bytes: MESSAGE_COST } };
        assert!(!effects(&mut e).contains(&credit), "the program waits for its message, not for this packet");
        e.pay_dues();
        assert_eq!(effects(&mut e), [credit]);
    }

    #[test]
    fn half_of_the_window_goes_back_at_once_and_once() {
        let mut e = engine();
        for _ in 0..2 {
            e.post_recv(from(PEER, 1), 2);
            e.arrive(PEER, eager(1), 2).unwrap();
        }
        let credit = Effect::Transmit { to: PEER, packet: Packet::Credit { bytes: 2 * MESSAGE_COST } };
        assert!(effects(&mut e).contains(&credit));
        e.pay_dues();
        assert_eq!((effects(&mut e), e.ledger(PEER).owed), (vec![], 0));
    }

    #[test]
    fn a_context_that_is_freed_gives_the_window_of_its_messages_back() {
        let mut e = engine();
        e.arrive(PEER, eager(1), 2).unwrap();
        e.arrive(PEER, Packet::Push { context: CONTEXT, tag: 1, bytes: 4 }, 2).unwrap();
        assert_eq!(e.close(CONTEXT).len(), 2);
        let account = e.ledger(PEER);
        assert_eq!((account.held, account.streams), (0, 0));
        assert_eq!(packets(&mut e), [Packet::Credit { bytes: 2 * MESSAGE_COST }]);
        assert!(e.is_idle());
    }
}

mod closing {
    use super::*;

    const OLD: Context = Context::new(5, 7);
    const NEW: Context = Context::new(5, 9);

    fn receive(e: &mut Engine, context: Context) -> (Op, Posted) {
        e.post_recv(Want { context, source: None, tag: None }, 4)
    }

    #[test]
    fn a_message_that_comes_after_its_context_was_freed_never_meets_the_next_one() {
        let mut e = engine();
        e.close(OLD);
        let (op, _) = receive(&mut e, NEW);
        let late = [
            (Packet::Eager { context: OLD, tag: 1 }, 2),
            (Packet::Push { context: OLD, tag: 1, bytes: 4 }, 2),
            (Packet::Answer { context: OLD, tag: 1, bytes: 0, offer: 0 }, 0),
            (Packet::Ask { context: OLD, tag: 1, bytes: 4, send: 3, key: None }, 1),
        ];
        for (packet, payload) in late {
            assert_eq!(e.arrive(PEER, packet, payload), Ok(Place::Drop), "{packet:?}");
        }
        // Their later packets are strays; their credit is returned.
        assert_eq!(e.arrive(PEER, Packet::Data { message: 2, at: 2 }, 2), Err(Stray));
        e.pay_dues();
        assert_eq!(packets(&mut e), [2, 1].map(|n| Packet::Credit { bytes: n * MESSAGE_COST }));
        assert_eq!((e.ledger(PEER).accepted, e.ledger(PEER).streams), (4, 0));
        let place = e.arrive(PEER, Packet::Eager { context: NEW, tag: 1 }, 2);
        assert_eq!(place, Ok(Place::Into { op, at: 0, room: 2 }));
    }

    #[test]
    fn a_message_of_a_communicator_that_is_made_later_here_is_kept() {
        let mut e = engine();
        e.close(OLD);
        assert!(matches!(e.arrive(PEER, Packet::Eager { context: NEW, tag: 1 }, 2), Ok(Place::Hold { .. })));
        assert_eq!(receive(&mut e, NEW).1, Posted::Matched);
    }

    #[test]
    fn the_other_contexts_of_the_communicator_and_other_numbers_of_the_lane_stay_open() {
        let mut e = engine();
        e.close(OLD);
        for context in [OLD.collective(), OLD.partitioned(), Context::new(5 + hawser_base::LANES as u32, 0)] {
            assert!(matches!(e.arrive(PEER, Packet::Eager { context, tag: 1 }, 2), Ok(Place::Hold { .. })));
        }
    }
}

mod truncation {
    use super::*;

    /// An engine with a window so wide that no credit is due.
    fn engine() -> Engine {
        Engine::new(Limits { window: 1 << 20, ..LIMITS })
    }

    /// Posts a receive of `room` bytes that gets the first packet of a message, and returns its operation.
    fn receive(e: &mut Engine, room: u64, packet: Packet, payload: u64) -> Op {
        let (op, _) = e.post_recv(from(PEER, 1), room);
        effects(e);
        let due = payload.min(room);
        assert_eq!(e.arrive(PEER, packet, payload), Ok(Place::Into { op, at: 0, room: due }));
        op
    }

    fn assert_truncated(e: &mut Engine, bytes: u64) {
        let outcome = outcome(e);
        assert_eq!((outcome.error, outcome.envelope.bytes), (Some(Class::Truncate), bytes));
        assert!(e.is_idle());
    }

    #[test]
    fn of_an_eager_message() {
        let mut e = engine();
        receive(&mut e, 1, eager(1), 2);
        assert_truncated(&mut e, 1);
    }

    #[test]
    fn of_a_pushed_message() {
        let mut e = engine();
        let op = receive(&mut e, 3, Packet::Push { context: CONTEXT, tag: 1, bytes: 5 }, 2);
        assert_eq!(e.arrive(PEER, Packet::Data { message: 1, at: 4 }, 1), Ok(Place::Drop));
        let last = e.arrive(PEER, Packet::Data { message: 1, at: 2 }, 2);
        assert_eq!(last, Ok(Place::Into { op, at: 2, room: 1 }));
        assert_truncated(&mut e, 3);
    }

    #[test]
    fn of_an_answered_offer() {
        let mut e = engine();
        let (offered, _) = e.post_recv(from(PEER, 1), 9);
        assert!(e.cancel_recv(offered));
        effects(&mut e);
        let op = receive(&mut e, 3, Packet::Answer { context: CONTEXT, tag: 1, bytes: 5, offer: 0 }, 0);
        let data = e.arrive(PEER, Packet::Data { message: 1, at: 0 }, 5);
        assert_eq!(data, Ok(Place::Into { op, at: 0, room: 3 }));
        assert_truncated(&mut e, 3);
    }

    #[test]
    fn of_a_granted_request_the_rest_does_not_travel() {
        let mut e = engine();
        let op = receive(&mut e, 3, ask(9, 5, None), 1);
        assert_eq!(effects(&mut e), [Effect::Grant { op, to: PEER, send: 5, from: 1, until: 3 }]);
        let data = e.arrive(PEER, Packet::Data { message: 1, at: 1 }, 2);
        assert_eq!(data, Ok(Place::Into { op, at: 1, room: 2 }));
        assert_truncated(&mut e, 3);
    }

    #[test]
    fn of_a_request_that_is_read_and_of_one_that_cannot_be() {
        for readable in [true, false] {
            let mut e = engine();
            let op = receive(&mut e, 3, ask(9, 5, Some(KEY)), 1);
            assert_eq!(effects(&mut e), [Effect::Pull { op, peer: PEER, key: KEY, from: 1, until: 3 }]);
            e.pulled(op, 1, readable);
            if !readable {
                assert_eq!(effects(&mut e), [Effect::Grant { op, to: PEER, send: 5, from: 1, until: 3 }]);
                e.arrive(PEER, Packet::Data { message: 1, at: 1 }, 2).unwrap();
            }
            assert_truncated(&mut e, 3);
        }
    }

    #[test]
    fn of_a_request_that_is_written() {
        let mut e = engine();
        receive(&mut e, 3, ask(9, 5, None), 1);
        effects(&mut e);
        assert_eq!(e.arrive(PEER, Packet::Written { message: 1 }, 0), Ok(Place::Drop));
        assert_truncated(&mut e, 3);
    }

    #[test]
    fn of_a_request_whose_front_is_longer_than_the_room() {
        let mut e = engine();
        receive(&mut e, 0, ask(9, 5, None), 1);
        assert_truncated(&mut e, 0);
    }
}

mod one_copy {
    use super::*;

    fn keyed(bytes: u64) -> SendSpec {
        SendSpec { key: Some(KEY), ..send(bytes) }
    }

    #[test]
    fn a_send_that_can_be_read_asks_though_it_could_be_pushed_or_answer_an_offer() {
        let mut e = engine();
        e.arrive(PEER, offer(0, 0), 0).unwrap();
        for bytes in [9, LIMITS.eager] {
            let (op, packet, front) = begun(e.start_send(keyed(bytes)));
            assert_eq!((packet, front), (ask(bytes, op.0, Some(KEY)), 0));
        }
        assert!(e.ledger(PEER).given.is_empty() && e.ledger(PEER).credit == LIMITS.window);
    }

    #[test]
    fn a_receive_that_can_be_written_is_not_offered_nor_what_stands_behind_it() {
        let mut e = engine();
        let (shared, _) = e.post_shared(from(PEER, 1), 9);
        e.post_recv(from(PEER, 1), 9);
        assert_eq!(packets(&mut e), []);
        e.post_recv(from(PEER, 2), 9);
        assert_eq!(packets(&mut e).len(), 1, "another tag does not meet it");
        assert!(e.cancel_recv(shared));
        assert!(!packets_of(&mut e).any(|p| matches!(p, Packet::Withdraw { .. })));
    }

    fn packets_of(e: &mut Engine) -> impl Iterator<Item = Packet> {
        effects(e).into_iter().filter_map(|effect| match effect {
            Effect::Transmit { packet, .. } => Some(packet),
            _ => None,
        })
    }

    /// Starts a send whose CTS permits writing, and returns its operation.
    fn writing(e: &mut Engine) -> Op {
        let (op, ..) = begun(e.start_send(send(9)));
        e.arrive(PEER, grant(op, 9, Some(KEY)), 0).unwrap();
        assert_eq!(effects(e), [Effect::Write { op, to: PEER, key: KEY, from: 1, until: 9 }]);
        op
    }

    #[test]
    fn a_send_writes_where_it_was_granted_room_and_says_so() {
        let mut e = engine();
        let op = writing(&mut e);
        e.written(op, 1, 9, true);
        let told = Effect::Transmit { to: PEER, packet: Packet::Written { message: 1 } };
        assert!(matches!(effects(&mut e)[..], [ref first, Effect::Complete { .. }] if *first == told));
        assert!(e.is_idle());
    }

    #[test]
    fn what_cannot_be_written_is_streamed() {
        let mut e = engine();
        let op = writing(&mut e);
        e.written(op, 1, 9, false);
        assert_eq!(effects(&mut e), [Effect::Stream { op, to: PEER, message: 1, from: 1, until: 9, placed: true }]);
        e.streamed(op);
        assert_eq!(outcome(&mut e).error, None);
    }

    #[test]
    fn a_send_that_writes_is_not_asked_back_and_ends_though_it_was() {
        let mut e = engine();
        let op = writing(&mut e);
        e.cancel_send(op);
        assert_eq!(packets(&mut e), []);
        e.written(op, 1, 9, true);
        assert!(!outcome(&mut e).cancelled);
        let (op, ..) = begun(e.start_send(send(9)));
        e.cancel_send(op);
        e.arrive(PEER, grant(op, 9, Some(KEY)), 0).unwrap();
        e.written(op, 1, 9, true);
        assert!(!outcome(&mut e).cancelled && !e.is_idle(), "its number waits for the answer");
        e.arrive(PEER, Packet::Cancelled { send: op.0, yes: false }, 0).unwrap();
        assert!(e.is_idle());
    }

    #[test]
    fn a_granted_receive_ends_when_it_was_written_and_cannot_be_cancelled_before() {
        for held in [false, true] {
            let mut e = engine();
            let (op, _) = if held {
                e.arrive(PEER, ask(9, 5, None), 1).unwrap();
                e.post_shared(from(PEER, 1), 9)
            } else {
                let posted = e.post_shared(from(PEER, 1), 9);
                e.arrive(PEER, ask(9, 5, None), 1).unwrap();
                posted
            };
            let granted = effects(&mut e);
            assert_eq!(granted.last(), Some(&Effect::Grant { op, to: PEER, send: 5, from: 1, until: 9 }));
            assert!(!e.cancel_recv(op));
            assert_eq!(e.arrive(PEER, Packet::Written { message: 1 }, 0), Ok(Place::Drop));
            let outcome = outcome(&mut e);
            assert_eq!((outcome.error, outcome.envelope.bytes), (None, 9));
            assert_eq!(e.arrive(PEER, Packet::Written { message: 1 }, 0), Err(Stray), "twice");
            assert!(e.is_idle());
        }
    }

    #[test]
    fn only_what_was_granted_can_have_been_written() {
        let mut e = engine();
        let pushed = Packet::Push { context: CONTEXT, tag: 1, bytes: 4 };
        e.post_recv(from(PEER, 1), 9);
        e.arrive(PEER, pushed, 2).unwrap();
        e.arrive(PEER, pushed, 2).unwrap();
        e.arrive(PEER, ask(9, 5, Some(KEY)), 0).unwrap();
        for message in [1, 2, 3] {
            assert_eq!(e.arrive(PEER, Packet::Written { message }, 0), Err(Stray), "message {message}");
        }
    }

    #[test]
    fn both_ends_hear_of_the_other_ones_death() {
        let mut e = engine();
        let send = writing(&mut e);
        let (recv, _) = e.post_shared(from(PEER, 1), 9);
        e.arrive(PEER, ask(9, 5, None), 1).unwrap();
        effects(&mut e);
        e.lost(PEER);
        let ended = effects(&mut e);
        let error = |effect: &Effect| match effect {
            Effect::Complete { op, outcome } => Some((*op, outcome.error)),
            _ => None,
        };
        let aborted = Some(Class::ProcAborted);
        assert_eq!(ended.iter().filter_map(error).collect::<Vec<_>>(), [(send, aborted), (recv, aborted)]);
        assert_eq!(e.arrive(PEER, Packet::Written { message: 1 }, 0), Err(Stray));
        assert!(e.is_idle() && e.ledger(PEER).streams == 0);
    }
}

mod cancelled_sends {
    use super::*;

    #[test]
    fn a_held_request_is_forgotten_and_its_number_was_kept_until_the_answer() {
        let mut e = engine();
        let (op, ..) = begun(e.start_send(send(9)));
        e.cancel_send(op);
        e.cancel_send(op);
        assert_eq!(packets(&mut e), [Packet::Cancel { send: op.0 }], "asked once");
        e.arrive(PEER, Packet::Done { send: op.0 }, 0).unwrap();
        assert!(!outcome(&mut e).cancelled);
        assert_ne!(begun(e.start_send(send(9))).0, op);
        e.arrive(PEER, Packet::Cancelled { send: op.0, yes: false }, 0).unwrap();
        assert_eq!(begun(e.start_send(send(9))).0, op);
    }

    #[test]
    fn only_a_held_unclaimed_request_is_given_back() {
        for (claim, yes) in [(false, true), (true, false)] {
            let mut e = engine();
            e.arrive(PEER, ask(9, 5, None), 1).unwrap();
            assert_eq!(claim, claim && e.claim(&from(PEER, 1)).is_some());
            e.arrive(PEER, Packet::Cancel { send: 5 }, 0).unwrap();
            let answer = Effect::Transmit { to: PEER, packet: Packet::Cancelled { send: 5, yes } };
            assert!(effects(&mut e).contains(&answer));
            assert_eq!(e.is_idle(), yes);
        }
    }

    #[test]
    fn a_send_under_way_is_not_asked_back() {
        let mut e = engine();
        let (op, packet, front) = begun(e.start_send(send(4)));
        assert_eq!((packet, front), (Packet::Push { context: CONTEXT, tag: 1, bytes: 4 }, LIMITS.first));
        effects(&mut e);
        e.cancel_send(op);
        assert_eq!(packets(&mut e), []);
    }

    #[test]
    fn a_granted_send_streams_though_its_cancellation_is_under_way() {
        let mut e = engine();
        let (op, ..) = begun(e.start_send(send(9)));
        e.cancel_send(op);
        effects(&mut e);
        e.arrive(PEER, grant(op, 9, None), 0).unwrap();
        assert_eq!(effects(&mut e), [Effect::Stream { op, to: PEER, message: 1, from: 1, until: 9, placed: true }]);
        e.streamed(op);
        assert!(!outcome(&mut e).cancelled);
        assert!(!e.is_idle());
        e.arrive(PEER, Packet::Cancelled { send: op.0, yes: false }, 0).unwrap();
        assert!(e.is_idle());
    }
}

mod unexpected {
    use super::*;

    #[test]
    fn bytes_that_are_late_find_their_message_though_its_number_is_used_again() {
        let mut sender = engine();
        let (first, ..) = begun(sender.start_send(send(4)));
        let Some(Effect::Stream { message: one, .. }) = sender.next_effect() else { panic!("no stream") };
        sender.streamed(first);
        effects(&mut sender);
        let (second, ..) = begun(sender.start_send(send(4)));
        let Some(Effect::Stream { message: two, .. }) = sender.next_effect() else { panic!("no stream") };
        assert_eq!(first, second);
        let mut e = engine();
        let ops = [0, 1].map(|_| e.post_recv(from(PEER, 1), 4).0);
        let push = Packet::Push { context: CONTEXT, tag: 1, bytes: 4 };
        (0..2).for_each(|_| assert!(e.arrive(PEER, push, 2).is_ok()));
        let late = [two, one].map(|message| e.arrive(PEER, Packet::Data { message, at: 2 }, 2).unwrap());
        assert_eq!(late, [1, 0].map(|at| Place::Into { op: ops[at], at: 2, room: 2 }));
    }

    #[test]
    fn a_message_half_pushed_moves_to_its_receive_and_goes_on_there() {
        for claimed in [false, true] {
            let mut e = engine();
            let push = Packet::Push { context: CONTEXT, tag: 1, bytes: 9 };
            let Ok(Place::Hold { op: held, bytes: 9 }) = e.arrive(PEER, push, 2) else { panic!("not held") };
            let early = e.arrive(PEER, Packet::Data { message: 1, at: 6 }, 2);
            assert_eq!(early, Ok(Place::Into { op: held, at: 6, room: 2 }));
            let op = if claimed {
                let (claim, envelope) = e.claim(&from(PEER, 1)).unwrap();
                assert_eq!((claim, envelope.bytes), (held, 9));
                assert_eq!(e.probe(&from(PEER, 1)), None);
                e.recv_claimed(claim, 7).unwrap()
            } else {
                e.post_recv(from(PEER, 1), 7).0
            };
            assert!(effects(&mut e).contains(&Effect::Release { held, op, bytes: 7 }));
            let last = e.arrive(PEER, Packet::Data { message: 1, at: 8 }, 1);
            assert_eq!(last, Ok(Place::Drop));
            let gap = e.arrive(PEER, Packet::Data { message: 1, at: 2 }, 4);
            assert_eq!(gap, Ok(Place::Into { op, at: 2, room: 4 }));
            assert_eq!(outcome(&mut e).envelope.bytes, 7);
        }
    }

    #[test]
    fn messages_without_bytes_match_by_every_method() {
        for packet in [
            eager(1),
            Packet::Push { context: CONTEXT, tag: 1, bytes: 0 },
            Packet::Answer { context: CONTEXT, tag: 1, bytes: 0, offer: 0 },
            ask(0, 5, Some(KEY)),
        ] {
            for held in [false, true] {
                let mut e = engine();
                let want = from(PEER, 1);
                if held {
                    assert!(matches!(e.arrive(PEER, packet, 0), Ok(Place::Hold { bytes: 0, .. })));
                    e.post_recv(want, 0);
                } else {
                    e.post_recv(want, 0);
                    assert!(matches!(e.arrive(PEER, packet, 0), Ok(Place::Into { room: 0, .. })));
                }
                assert_eq!((outcome(&mut e).error, e.is_idle()), (None, true), "{packet:?}");
            }
        }
    }

    #[test]
    fn a_push_whose_front_is_all_is_whole() {
        let mut e = engine();
        e.arrive(PEER, Packet::Push { context: CONTEXT, tag: 1, bytes: 4 }, 4).unwrap();
        assert_eq!(e.ledger(PEER).streams, 0);
        e.post_recv(from(PEER, 1), 4);
        assert_eq!(outcome(&mut e).envelope.bytes, 4);
    }
}

mod loss {
    use super::*;

    fn assert_aborted(e: &mut Engine, ops: &[Op]) {
        let ended = effects(e);
        assert_eq!(ended.len(), ops.len(), "{ended:?}");
        for (effect, due) in ended.iter().zip(ops) {
            let Effect::Complete { op, outcome } = effect else { panic!("{effect:?}") };
            assert_eq!((op, outcome.error), (due, Some(Class::ProcAborted)));
        }
    }

    #[test]
    fn sends_end_in_every_phase() {
        let mut e = engine();
        let waiting = begun(e.start_send(send(9))).0;
        let streaming = begun(e.start_send(send(4))).0;
        let cancelling = begun(e.start_send(send(9))).0;
        let ended = begun(e.start_send(send(9))).0;
        let other = begun(e.start_send(SendSpec { to: OTHER, ..send(9) })).0;
        e.cancel_send(cancelling);
        e.cancel_send(ended);
        e.arrive(PEER, Packet::Done { send: ended.0 }, 0).unwrap();
        effects(&mut e);
        e.lost(PEER);
        assert_aborted(&mut e, &[waiting, streaming, cancelling]);
        assert_eq!(e.start_send(send(1)), Start::Lost);
        assert!(!e.quick_send(PEER, 1));
        e.arrive(OTHER, Packet::Done { send: other.0 }, 0).unwrap();
        effects(&mut e);
        assert!(e.is_idle());
    }

    #[test]
    fn receives_that_name_the_peer_or_have_its_message_end() {
        let mut e = engine();
        let [pushed, pulled, posted] = [1, 1, 2].map(|tag| e.post_recv(from(PEER, tag), 9).0);
        let any = e.post_recv(anyone(2), 9).0;
        e.arrive(PEER, Packet::Push { context: CONTEXT, tag: 1, bytes: 4 }, 2).unwrap();
        e.arrive(PEER, ask(9, 5, Some(KEY)), 1).unwrap();
        effects(&mut e);
        e.lost(PEER);
        assert_aborted(&mut e, &[pushed, pulled, posted]);
        assert_eq!(e.arrive(PEER, Packet::Data { message: 1, at: 2 }, 2), Err(Stray));
        assert_eq!(e.arrive(OTHER, eager(2), 1), Ok(Place::Into { op: any, at: 0, room: 1 }));
        effects(&mut e);
        assert!(e.is_idle() && e.ledger(PEER).made.is_empty());
        let (late, _) = e.post_recv(from(PEER, 1), 9);
        assert_aborted(&mut e, &[late]);
    }

    #[test]
    fn whole_messages_stay_and_others_go() {
        let mut e = engine();
        e.arrive(PEER, eager(1), 2).unwrap();
        e.arrive(PEER, ask(1, 5, None), 1).unwrap();
        let Ok(Place::Hold { op: half, .. }) = e.arrive(PEER, ask(9, 6, None), 1) else { panic!("not held") };
        e.lost(PEER);
        assert_eq!(effects(&mut e), [Effect::Discard { held: half }]);
        for bytes in [2, 1] {
            e.post_recv(from(PEER, 1), 9);
            let end = outcome(&mut e);
            assert_eq!((end.error, end.envelope.bytes), (None, bytes));
        }
        assert!(e.is_idle());
    }

    #[test]
    fn a_claimed_message_that_was_cut_off_ends_with_an_error_when_it_is_received() {
        let mut e = engine();
        e.arrive(PEER, ask(9, 6, None), 1).unwrap();
        let (held, _) = e.claim(&from(PEER, 1)).unwrap();
        e.lost(PEER);
        let op = e.recv_claimed(held, 9).unwrap();
        assert_eq!(e.next_effect(), Some(Effect::Release { held, op, bytes: 1 }));
        assert_aborted(&mut e, &[op]);
        assert!(e.is_idle());
    }
}

/// A peer number that is used again.
mod lives {
    use super::*;

    fn next() -> Peer {
        PEER.successor().unwrap()
    }

    #[test]
    fn who_gets_a_number_begins_anew_and_who_had_it_is_lost() {
        let mut e = engine();
        assert!(e.quick_send(PEER, 1) && !e.forget(PEER), "it lives");
        e.arrive(PEER, offer(5, 0), 0).unwrap();
        e.lost(PEER);
        assert!(e.forget(PEER) && e.is_lost(PEER) && !e.is_lost(next()));
        let fresh = engine().ledger(PEER);
        assert_eq!(e.ledger(next()), fresh);
        assert!(!e.quick_send(PEER, 1) && e.quick_send(next(), 1));
        assert_eq!(e.start_send(send(1)), Start::Lost);
        assert_eq!(e.arrive(PEER, eager(1), 1), Err(Stray));
        // Messages of the later process are not received from the former.
        assert!(matches!(e.arrive(next(), eager(1), 1), Ok(Place::Hold { .. })));
        assert!(e.probe(&from(PEER, 1)).is_none() && e.claim(&from(PEER, 1)).is_none());
        assert_eq!(e.post_recv(from(PEER, 1), 9).1, Posted::Matched);
        assert_eq!(outcome(&mut e).error, Some(Class::ProcAborted));
        e.lost(PEER);
        assert!(!e.is_lost(next()), "word of the former's end may come late");
        assert_eq!(e.probe(&anyone(1)).unwrap().source, next());
        e.post_recv(from(next(), 1), 9);
        assert_eq!(outcome(&mut e).error, None);
        assert!(e.is_idle());
    }

    #[test]
    fn a_message_that_waits_keeps_the_number_until_it_is_received() {
        let mut e = engine();
        e.arrive(PEER, eager(1), 1).unwrap();
        e.lost(PEER);
        assert!(!e.forget(PEER));
        e.post_recv(from(PEER, 1), 9);
        assert_eq!(outcome(&mut e).error, None);
        assert!(e.forget(PEER) && e.forget(PEER));
    }

    /// The rank has never had a packet of the former process.
    #[test]
    fn a_later_life_may_be_the_first_that_is_heard_of() {
        for by_packet in [true, false] {
            let mut e = engine();
            if by_packet {
                assert!(matches!(e.arrive(next(), eager(1), 1), Ok(Place::Hold { .. })));
            } else {
                e.took_directly(next(), 1);
                assert_eq!(e.start_send(SendSpec { to: next(), ..send(1) }), Start::Eager);
                assert_eq!(e.ledger(next()).accepted, 1, "what came past the queues counts");
            }
            assert!(e.quick_send(next(), 1) && !e.is_lost(next()) && e.is_lost(PEER));
        }
    }
}

#[test]
fn packets_that_fit_nothing_are_stray() {
    let mut e = engine();
    let op = begun(e.start_send(send(9))).0.0;
    e.post_recv(from(OTHER, 1), 9);
    e.arrive(OTHER, Packet::Push { context: CONTEXT, tag: 1, bytes: 4 }, 2).unwrap();
    effects(&mut e);
    let strays = [
        (PEER, Packet::Push { context: CONTEXT, tag: 1, bytes: 1 }, 2),
        (PEER, Packet::Push { context: CONTEXT, tag: 1, bytes: LIMITS.window + 1 }, 2),
        (PEER, Packet::Answer { context: CONTEXT, tag: 1, bytes: 9, offer: 0 }, 1),
        // Longer than any announced room: it would have to be kept as unexpected.
        (PEER, Packet::Answer { context: CONTEXT, tag: 1, bytes: 1, offer: 0 }, 0),
        (OTHER, Packet::Answer { context: CONTEXT, tag: 2, bytes: 10, offer: 0 }, 0),
        (PEER, ask(1, 0, None), 2),
        (PEER, Packet::Data { message: 9, at: 0 }, 1),
        (OTHER, Packet::Data { message: 1, at: u64::MAX }, 2),
        (OTHER, Packet::Data { message: 1, at: 3 }, 2),
        (OTHER, Packet::Done { send: op }, 0),
        (PEER, Packet::Done { send: 99 }, 0),
        (PEER, grant(Op(op), 10, None), 0),
        (PEER, grant(Op(op), 10, Some(KEY)), 0),
        (PEER, grant(Op(op), 1, None), 0),
        (OTHER, grant(Op(op), 9, Some(KEY)), 0),
        (OTHER, Packet::Written { message: 1 }, 0),
        (PEER, Packet::Written { message: 1 }, 0),
        (PEER, Packet::Cancelled { send: op, yes: true }, 0),
    ];
    for (peer, packet, payload) in strays {
        assert_eq!(e.arrive(peer, packet, payload), Err(Stray), "{packet:?}");
    }
    assert_eq!(effects(&mut e), []);
    e.arrive(PEER, Packet::Stale { number: 77 }, 0).unwrap();
    assert_eq!(e.recv_claimed(Op(99), 9), None);
}

mod expects {
    use super::*;

    #[test]
    fn a_peer_is_waited_for_while_a_receive_may_take_its_message_or_bytes_are_to_come() {
        let mut e = engine();
        assert!(!e.expects(PEER));
        for room in [1, 9] {
            // The longer one is announced by RTR.
            e.post_recv(from(PEER, 1), room);
            assert!(e.expects(PEER) && !e.expects(OTHER));
            e.arrive(PEER, eager(1), 1).unwrap();
            assert!(!e.expects(PEER));
        }
        let (op, _) = e.post_recv(anyone(1), 9);
        assert!(e.expects(PEER) && e.expects(OTHER));
        assert!(e.cancel_recv(op) && !e.expects(PEER));
        e.post_recv(anyone(1), 9);
        e.arrive(OTHER, Packet::Push { context: CONTEXT, tag: 1, bytes: 4 }, 2).unwrap();
        assert!(e.expects(OTHER) && !e.expects(PEER), "the rest of the message is to come");
        e.arrive(OTHER, Packet::Data { message: 1, at: 2 }, 2).unwrap();
        assert!(!e.expects(OTHER));
        e.post_recv(from(OTHER, 1), 1);
        e.lost(OTHER);
        assert!(!e.expects(OTHER));
    }
}
