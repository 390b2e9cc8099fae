//! Tests the matching engine case by case: RTRs, credit, truncation, cancellation, failed peers, and invalid packets.
//!
//! Each test has one engine; the peer's actions are written as packets. `interleavings` checks two engines at once.

use hawser_base::{Class, Context, Peer};
use hawser_p2p::matching::{
    BufferKey, Effect, Engine, InvalidPacket, MESSAGE_COST, MatchSpec, OpId, OpOutcome, Packet, PayloadPlacement,
    PostOutcome, ProtocolLimits, SendSpec, SendStart,
};

const LIMITS: ProtocolLimits =
    ProtocolLimits { packet: 2, eager: 4, first: 1, rtr_from: 3, credit: 4 * MESSAGE_COST, ..ProtocolLimits::DEFAULT };
const CONTEXT: Context = Context(0);
const PEER: Peer = Peer(1);
const OTHER: Peer = Peer(2);
const KEY: BufferKey = BufferKey([7, 8, 9]);

fn engine() -> Engine {
    Engine::new(LIMITS)
}

fn from(source: Peer, tag: i32) -> MatchSpec {
    MatchSpec { context: CONTEXT, source: Some(source), tag: Some(tag) }
}

fn anyone(tag: i32) -> MatchSpec {
    MatchSpec { source: None, ..from(PEER, tag) }
}

fn send(bytes: u64) -> SendSpec {
    let ProtocolLimits { packet, first: front, .. } = LIMITS;
    SendSpec {
        to: PEER,
        context: CONTEXT,
        tag: 1,
        bytes,
        sync: false,
        has_space: true,
        packet,
        first_bytes: front,
        key: None,
    }
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

fn outcome(engine: &mut Engine) -> OpOutcome {
    match effects(engine).as_slice() {
        [.., Effect::Complete { outcome, .. }] => *outcome,
        other => panic!("nothing completed: {other:?}"),
    }
}

fn begun(start: SendStart) -> (OpId, Packet, u64) {
    match start {
        SendStart::Begin { op, packet, first_bytes: front } => (op, packet, front),
        other => panic!("{other:?}"),
    }
}

fn rtr(number: u32, accepted: u32) -> Packet {
    Packet::Rtr { context: CONTEXT, tag: Some(1), capacity: 9, number, accepted }
}

fn rts(bytes: u64, send: u32, key: Option<BufferKey>) -> Packet {
    Packet::Rts { context: CONTEXT, tag: 1, bytes, send, key }
}

/// A CTS for the bytes from 1 on.
fn cts(op: OpId, until: u64, key: Option<BufferKey>) -> Packet {
    Packet::Cts { send: op.0, from: 1, until, key }
}

fn eager(tag: i32) -> Packet {
    Packet::Eager { context: CONTEXT, tag }
}

mod offers {
    use super::*;

    fn is_rtr(packet: &Packet, due: u32) -> bool {
        matches!(packet, Packet::Rtr { number, .. } if *number == due)
    }

    #[test]
    fn a_fresh_offer_is_answered_without_asking() {
        let mut e = engine();
        e.handle_packet(PEER, rtr(0, 0), 0).unwrap();
        let (op, packet, front) = begun(e.start_send(send(9)));
        assert_eq!((packet, front), (Packet::RtrReply { context: CONTEXT, tag: 1, bytes: 9, rtr: 0 }, 0));
        assert_eq!(
            effects(&mut e),
            [Effect::Stream { op, to: PEER, message: 1, from: 0, until: 9, order_free: false }]
        );
        assert!(e.account(PEER).received_rtrs.is_empty());
    }

    #[test]
    fn an_offer_of_too_little_room_is_not_answered() {
        let mut e = engine();
        e.handle_packet(PEER, rtr(0, 0), 0).unwrap();
        let (op, packet, front) = begun(e.start_send(send(10)));
        assert_eq!((packet, front), (rts(10, op.0, None), 1));
        assert!(e.account(PEER).received_rtrs.is_empty(), "its receive takes this message");
    }

    #[test]
    fn an_offer_that_crossed_a_message_is_stale() {
        let mut e = engine();
        assert_eq!(e.start_send(send(1)), SendStart::Whole { packet: Packet::Eager { context: CONTEXT, tag: 1 } });
        e.handle_packet(PEER, rtr(0, 0), 0).unwrap();
        assert_eq!(packets(&mut e), [Packet::RtrRefusal { number: 0 }]);
        e.handle_packet(PEER, rtr(1, 0), 0).unwrap();
        assert_eq!(packets(&mut e), [], "an RTR behind a refused one is not in succession");
        e.handle_packet(PEER, rtr(0, 1), 0).unwrap();
        assert_eq!(e.account(PEER).received_rtrs, [0]);
    }

    #[test]
    fn refused_offers_are_made_again_if_their_receives_still_wait() {
        let mut e = engine();
        let ops = [1, 2, 3].map(|tag| e.post_recv(from(PEER, tag), 9).0);
        assert_eq!(packets(&mut e).len(), 3);
        e.handle_packet(PEER, eager(2), 2).unwrap();
        assert!(matches!(effects(&mut e)[..], [.., Effect::Complete { op, .. }] if op == ops[1]));
        e.handle_packet(PEER, Packet::RtrRefusal { number: 0 }, 0).unwrap();
        let resent = packets(&mut e);
        assert!(is_rtr(&resent[0], 0) && is_rtr(&resent[1], 1) && resent.len() == 2, "{resent:?}");
        assert!(resent.iter().all(|p| matches!(p, Packet::Rtr { accepted: 1, .. })));
    }

    #[test]
    fn a_receive_that_is_cancelled_withdraws_its_offer() {
        let mut e = engine();
        let (op, _) = e.post_recv(from(PEER, 1), 9);
        packets(&mut e);
        assert!(e.cancel_recv(op));
        assert!(e.account(PEER).sent_rtrs.is_empty());
        let done = effects(&mut e);
        assert_eq!(done[0], Effect::Transmit { to: PEER, packet: Packet::RtrCancel { number: 0, accepted: 0 } });
        assert!(!e.cancel_recv(op), "cancelled twice");
    }

    #[test]
    fn a_withdrawn_offer_is_not_answered() {
        let mut e = engine();
        e.handle_packet(PEER, rtr(0, 0), 0).unwrap();
        e.handle_packet(PEER, Packet::RtrCancel { number: 0, accepted: 0 }, 0).unwrap();
        assert_eq!(packets(&mut e), []);
        assert!(matches!(begun(e.start_send(send(9))).1, Packet::Rts { .. }));
    }

    #[test]
    fn a_withdrawal_that_crossed_a_message_voids_the_offers_behind_it() {
        let mut e = engine();
        for number in 0..3 {
            e.handle_packet(PEER, rtr(number, 0), 0).unwrap();
        }
        begun(e.start_send(send(9)));
        effects(&mut e);
        e.handle_packet(PEER, Packet::RtrCancel { number: 0, accepted: 0 }, 0).unwrap();
        assert_eq!(packets(&mut e), [Packet::RtrRefusal { number: 1 }]);
        assert!(e.account(PEER).received_rtrs.is_empty());
        e.handle_packet(PEER, rtr(3, 0), 0).unwrap();
        assert!(e.account(PEER).received_rtrs.is_empty(), "an earlier RTR is not in succession");
    }

    #[test]
    fn there_is_no_offer_behind_a_receive_from_any_source() {
        let mut e = engine();
        e.post_recv(anyone(1), 9);
        e.post_recv(from(PEER, 1), 9);
        assert_eq!(packets(&mut e), []);
        e.post_recv(from(PEER, 2), 9);
        assert!(is_rtr(&packets(&mut e)[0], 0), "another tag does not match it");
    }

    #[test]
    fn a_later_receive_from_any_source_does_not_keep_an_offer_from_being_made_again() {
        let mut e = engine();
        e.post_recv(from(PEER, 1), 9);
        e.post_recv(anyone(1), 9);
        packets(&mut e);
        e.handle_packet(PEER, Packet::RtrRefusal { number: 0 }, 0).unwrap();
        assert!(is_rtr(&packets(&mut e)[0], 0));
    }

    #[test]
    fn there_is_no_offer_behind_a_receive_that_was_not_offered() {
        let mut e = engine();
        e.post_recv(from(PEER, 1), LIMITS.rtr_from - 1);
        e.post_recv(from(PEER, 1), 9);
        assert_eq!(packets(&mut e), []);
        e.post_recv(MatchSpec { tag: None, ..from(PEER, 0) }, 9);
        assert_eq!(packets(&mut e), [], "any tag matches the first");
        e.post_recv(from(OTHER, 1), 9);
        assert_eq!(packets(&mut e).len(), 1, "another source does not");
    }

    #[test]
    fn a_receive_that_gets_a_held_message_is_not_offered() {
        let mut e = engine();
        e.handle_packet(PEER, eager(1), 2).unwrap();
        assert_eq!(e.post_recv(from(PEER, 1), 9).1, PostOutcome::Matched);
        assert!(e.account(PEER).sent_rtrs.is_empty());
    }

    #[test]
    fn an_answer_whose_receive_was_cancelled_goes_to_the_next_one() {
        let mut e = engine();
        let (first, _) = e.post_recv(from(PEER, 1), 9);
        let (second, _) = e.post_recv(from(PEER, 1), 9);
        e.cancel_recv(first);
        effects(&mut e);
        let reply = Packet::RtrReply { context: CONTEXT, tag: 1, bytes: 4, rtr: 0 };
        assert_eq!(e.handle_packet(PEER, reply, 0), Ok(PayloadPlacement::Into { op: second, at: 0, len: 0 }));
        let data = e.handle_packet(PEER, Packet::Data { message: 1, at: 0 }, 4);
        assert_eq!(data, Ok(PayloadPlacement::Into { op: second, at: 0, len: 4 }));
        assert_eq!(outcome(&mut e).envelope.bytes, 4);
    }

    #[test]
    fn an_answer_that_nobody_wants_any_more_is_held() {
        let mut e = engine();
        let (first, _) = e.post_recv(from(PEER, 1), 9);
        e.cancel_recv(first);
        let reply = Packet::RtrReply { context: CONTEXT, tag: 1, bytes: 4, rtr: 0 };
        let Ok(PayloadPlacement::NewUnexpected { op, bytes: 4 }) = e.handle_packet(PEER, reply, 0) else {
            panic!("not kept as unexpected")
        };
        let data = e.handle_packet(PEER, Packet::Data { message: 1, at: 0 }, 4);
        assert_eq!(data, Ok(PayloadPlacement::Into { op, at: 0, len: 4 }));
    }
}

mod window {
    use super::*;

    #[test]
    fn without_window_the_envelope_travels_alone_until_credit_comes() {
        let mut e = engine();
        (0..4).for_each(|_| {
            assert_eq!(e.start_send(send(1)), SendStart::Whole { packet: Packet::Eager { context: CONTEXT, tag: 1 } })
        });
        let (_, packet, front) = begun(e.start_send(send(1)));
        assert_eq!((packet, front), (rts(1, 0, None), 0));
        e.handle_packet(PEER, Packet::Credit { bytes: MESSAGE_COST }, 0).unwrap();
        assert_eq!(e.start_send(send(1)), SendStart::Whole { packet: Packet::Eager { context: CONTEXT, tag: 1 } });
        assert_eq!(e.account(PEER).credit, 0);
    }

    #[test]
    fn more_credit_than_the_window_is_not_believed() {
        let mut e = engine();
        e.handle_packet(PEER, Packet::Credit { bytes: u64::MAX }, 0).unwrap();
        assert_eq!(e.account(PEER).credit, LIMITS.credit);
    }

    #[test]
    fn a_held_message_keeps_its_window_until_it_is_received() {
        let mut e = engine();
        e.handle_packet(PEER, eager(1), 2).unwrap();
        assert_eq!((e.account(PEER).unexpected, e.account(PEER).owed, packets(&mut e).len()), (MESSAGE_COST, 0, 0));
        e.post_recv(from(PEER, 1), 2);
        assert_eq!(e.account(PEER).unexpected, 0);
        let credit = Effect::Transmit { to: PEER, packet: Packet::Credit { bytes: MESSAGE_COST } };
        assert!(!effects(&mut e).contains(&credit), "the program waits for its message, not for this packet");
        e.return_due_credit();
        assert_eq!(effects(&mut e), [credit]);
    }

    #[test]
    fn half_of_the_window_goes_back_at_once_and_once() {
        let mut e = engine();
        for _ in 0..2 {
            e.post_recv(from(PEER, 1), 2);
            e.handle_packet(PEER, eager(1), 2).unwrap();
        }
        let credit = Effect::Transmit { to: PEER, packet: Packet::Credit { bytes: 2 * MESSAGE_COST } };
        assert!(effects(&mut e).contains(&credit));
        e.return_due_credit();
        assert_eq!((effects(&mut e), e.account(PEER).owed), (vec![], 0));
    }

    #[test]
    fn a_context_that_is_freed_gives_the_window_of_its_messages_back() {
        let mut e = engine();
        e.handle_packet(PEER, eager(1), 2).unwrap();
        e.handle_packet(PEER, Packet::EagerFirst { context: CONTEXT, tag: 1, bytes: 4 }, 2).unwrap();
        assert_eq!(e.close(CONTEXT).len(), 2);
        let account = e.account(PEER);
        assert_eq!((account.unexpected, account.streams), (0, 0));
        assert_eq!(packets(&mut e), [Packet::Credit { bytes: 2 * MESSAGE_COST }]);
        assert!(e.is_idle());
    }
}

mod closing {
    use super::*;

    const OLD: Context = Context::new(5, 7);
    const NEW: Context = Context::new(5, 9);

    fn receive(e: &mut Engine, context: Context) -> (OpId, PostOutcome) {
        e.post_recv(MatchSpec { context, source: None, tag: None }, 4)
    }

    #[test]
    fn a_message_that_comes_after_its_context_was_freed_never_meets_the_next_one() {
        let mut e = engine();
        e.close(OLD);
        let (op, _) = receive(&mut e, NEW);
        let late = [
            (Packet::Eager { context: OLD, tag: 1 }, 2),
            (Packet::EagerFirst { context: OLD, tag: 1, bytes: 4 }, 2),
            (Packet::RtrReply { context: OLD, tag: 1, bytes: 0, rtr: 0 }, 0),
            (Packet::Rts { context: OLD, tag: 1, bytes: 4, send: 3, key: None }, 1),
        ];
        for (packet, payload) in late {
            assert_eq!(e.handle_packet(PEER, packet, payload), Ok(PayloadPlacement::Drop), "{packet:?}");
        }
        // Their later packets are invalid; their credit is returned.
        assert_eq!(e.handle_packet(PEER, Packet::Data { message: 2, at: 2 }, 2), Err(InvalidPacket));
        e.return_due_credit();
        assert_eq!(packets(&mut e), [2, 1].map(|n| Packet::Credit { bytes: n * MESSAGE_COST }));
        assert_eq!((e.account(PEER).accepted, e.account(PEER).streams), (4, 0));
        let place = e.handle_packet(PEER, Packet::Eager { context: NEW, tag: 1 }, 2);
        assert_eq!(place, Ok(PayloadPlacement::Into { op, at: 0, len: 2 }));
    }

    #[test]
    fn a_message_of_a_communicator_that_is_made_later_here_is_kept() {
        let mut e = engine();
        e.close(OLD);
        assert!(matches!(
            e.handle_packet(PEER, Packet::Eager { context: NEW, tag: 1 }, 2),
            Ok(PayloadPlacement::NewUnexpected { .. })
        ));
        assert_eq!(receive(&mut e, NEW).1, PostOutcome::Matched);
    }

    #[test]
    fn the_other_contexts_of_the_communicator_and_other_numbers_of_the_lane_stay_open() {
        let mut e = engine();
        e.close(OLD);
        for context in [OLD.collective(), OLD.partitioned(), Context::new(5 + hawser_base::LANES as u32, 0)] {
            assert!(matches!(
                e.handle_packet(PEER, Packet::Eager { context, tag: 1 }, 2),
                Ok(PayloadPlacement::NewUnexpected { .. })
            ));
        }
    }
}

mod truncation {
    use super::*;

    /// An engine with so much credit that none is due.
    fn engine() -> Engine {
        Engine::new(ProtocolLimits { credit: 1 << 20, ..LIMITS })
    }

    /// Posts a receive of `capacity` bytes that gets the first packet of a message, and returns its operation.
    fn receive(e: &mut Engine, capacity: u64, packet: Packet, payload: u64) -> OpId {
        let (op, _) = e.post_recv(from(PEER, 1), capacity);
        effects(e);
        let due = payload.min(capacity);
        assert_eq!(e.handle_packet(PEER, packet, payload), Ok(PayloadPlacement::Into { op, at: 0, len: due }));
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
        let op = receive(&mut e, 3, Packet::EagerFirst { context: CONTEXT, tag: 1, bytes: 5 }, 2);
        assert_eq!(e.handle_packet(PEER, Packet::Data { message: 1, at: 4 }, 1), Ok(PayloadPlacement::Drop));
        let last = e.handle_packet(PEER, Packet::Data { message: 1, at: 2 }, 2);
        assert_eq!(last, Ok(PayloadPlacement::Into { op, at: 2, len: 1 }));
        assert_truncated(&mut e, 3);
    }

    #[test]
    fn of_an_answered_offer() {
        let mut e = engine();
        let (cancelled_recv, _) = e.post_recv(from(PEER, 1), 9);
        assert!(e.cancel_recv(cancelled_recv));
        effects(&mut e);
        let op = receive(&mut e, 3, Packet::RtrReply { context: CONTEXT, tag: 1, bytes: 5, rtr: 0 }, 0);
        let data = e.handle_packet(PEER, Packet::Data { message: 1, at: 0 }, 5);
        assert_eq!(data, Ok(PayloadPlacement::Into { op, at: 0, len: 3 }));
        assert_truncated(&mut e, 3);
    }

    #[test]
    fn of_a_granted_request_the_rest_does_not_travel() {
        let mut e = engine();
        let op = receive(&mut e, 3, rts(9, 5, None), 1);
        assert_eq!(effects(&mut e), [Effect::SendCts { op, to: PEER, send: 5, from: 1, until: 3 }]);
        let data = e.handle_packet(PEER, Packet::Data { message: 1, at: 1 }, 2);
        assert_eq!(data, Ok(PayloadPlacement::Into { op, at: 1, len: 2 }));
        assert_truncated(&mut e, 3);
    }

    #[test]
    fn of_a_request_that_is_read_and_of_one_that_cannot_be() {
        for readable in [true, false] {
            let mut e = engine();
            let op = receive(&mut e, 3, rts(9, 5, Some(KEY)), 1);
            assert_eq!(effects(&mut e), [Effect::Pull { op, peer: PEER, key: KEY, from: 1, until: 3 }]);
            e.pull_done(op, 1, readable);
            if !readable {
                assert_eq!(effects(&mut e), [Effect::SendCts { op, to: PEER, send: 5, from: 1, until: 3 }]);
                e.handle_packet(PEER, Packet::Data { message: 1, at: 1 }, 2).unwrap();
            }
            assert_truncated(&mut e, 3);
        }
    }

    #[test]
    fn of_a_request_that_is_written() {
        let mut e = engine();
        receive(&mut e, 3, rts(9, 5, None), 1);
        effects(&mut e);
        assert_eq!(
            e.handle_packet(PEER, Packet::PutDone { message: 1 }, 0),
            Ok(PayloadPlacement::Written { bytes: 2 })
        );
        assert_truncated(&mut e, 3);
    }

    #[test]
    fn of_a_request_whose_front_is_longer_than_the_room() {
        let mut e = engine();
        receive(&mut e, 0, rts(9, 5, None), 1);
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
        e.handle_packet(PEER, rtr(0, 0), 0).unwrap();
        for bytes in [9, LIMITS.eager] {
            let (op, packet, front) = begun(e.start_send(keyed(bytes)));
            assert_eq!((packet, front), (rts(bytes, op.0, Some(KEY)), 0));
        }
        assert!(e.account(PEER).received_rtrs.is_empty() && e.account(PEER).credit == LIMITS.credit);
    }

    #[test]
    fn a_receive_that_can_be_written_is_not_offered_nor_what_stands_behind_it() {
        let mut e = engine();
        let (exposed, _) = e.post_exposed(from(PEER, 1), 9);
        e.post_recv(from(PEER, 1), 9);
        assert_eq!(packets(&mut e), []);
        e.post_recv(from(PEER, 2), 9);
        assert_eq!(packets(&mut e).len(), 1, "another tag does not match it");
        assert!(e.cancel_recv(exposed));
        assert!(!packets_of(&mut e).any(|p| matches!(p, Packet::RtrCancel { .. })));
    }

    fn packets_of(e: &mut Engine) -> impl Iterator<Item = Packet> {
        effects(e).into_iter().filter_map(|effect| match effect {
            Effect::Transmit { packet, .. } => Some(packet),
            _ => None,
        })
    }

    /// Starts a send whose CTS permits writing, and returns its operation.
    fn writing(e: &mut Engine) -> OpId {
        let (op, ..) = begun(e.start_send(send(9)));
        e.handle_packet(PEER, cts(op, 9, Some(KEY)), 0).unwrap();
        assert_eq!(effects(e), [Effect::Write { op, to: PEER, key: KEY, from: 1, until: 9 }]);
        op
    }

    #[test]
    fn a_send_writes_where_it_was_granted_room_and_says_so() {
        let mut e = engine();
        let op = writing(&mut e);
        e.write_done(op, 1, 9, true);
        let put_done = Effect::Transmit { to: PEER, packet: Packet::PutDone { message: 1 } };
        assert!(matches!(effects(&mut e)[..], [ref first, Effect::Complete { .. }] if *first == put_done));
        assert!(e.is_idle());
    }

    #[test]
    fn what_cannot_be_written_is_streamed() {
        let mut e = engine();
        let op = writing(&mut e);
        e.write_done(op, 1, 9, false);
        assert_eq!(effects(&mut e), [Effect::Stream { op, to: PEER, message: 1, from: 1, until: 9, order_free: true }]);
        e.stream_done(op);
        assert_eq!(outcome(&mut e).error, None);
    }

    #[test]
    fn a_send_that_writes_is_not_asked_back_and_ends_though_it_was() {
        let mut e = engine();
        let op = writing(&mut e);
        e.cancel_send(op);
        assert_eq!(packets(&mut e), []);
        e.write_done(op, 1, 9, true);
        assert!(!outcome(&mut e).cancelled);
        let (op, ..) = begun(e.start_send(send(9)));
        e.cancel_send(op);
        e.handle_packet(PEER, cts(op, 9, Some(KEY)), 0).unwrap();
        e.write_done(op, 1, 9, true);
        assert!(!outcome(&mut e).cancelled && !e.is_idle(), "its number waits for the reply");
        e.handle_packet(PEER, Packet::CancelReply { send: op.0, cancelled: false }, 0).unwrap();
        assert!(e.is_idle());
    }

    #[test]
    fn a_granted_receive_ends_when_it_was_written_and_cannot_be_cancelled_before() {
        for is_unexpected in [false, true] {
            let mut e = engine();
            let (op, _) = if is_unexpected {
                e.handle_packet(PEER, rts(9, 5, None), 1).unwrap();
                e.post_exposed(from(PEER, 1), 9)
            } else {
                let posted = e.post_exposed(from(PEER, 1), 9);
                e.handle_packet(PEER, rts(9, 5, None), 1).unwrap();
                posted
            };
            let granted = effects(&mut e);
            assert_eq!(granted.last(), Some(&Effect::SendCts { op, to: PEER, send: 5, from: 1, until: 9 }));
            assert!(!e.cancel_recv(op));
            assert_eq!(
                e.handle_packet(PEER, Packet::PutDone { message: 1 }, 0),
                Ok(PayloadPlacement::Written { bytes: 8 })
            );
            let outcome = outcome(&mut e);
            assert_eq!((outcome.error, outcome.envelope.bytes), (None, 9));
            assert_eq!(e.handle_packet(PEER, Packet::PutDone { message: 1 }, 0), Err(InvalidPacket), "twice");
            assert!(e.is_idle());
        }
    }

    #[test]
    fn only_what_was_granted_can_have_been_written() {
        let mut e = engine();
        let eager_first = Packet::EagerFirst { context: CONTEXT, tag: 1, bytes: 4 };
        e.post_recv(from(PEER, 1), 9);
        e.handle_packet(PEER, eager_first, 2).unwrap();
        e.handle_packet(PEER, eager_first, 2).unwrap();
        e.handle_packet(PEER, rts(9, 5, Some(KEY)), 0).unwrap();
        for message in [1, 2, 3] {
            assert_eq!(e.handle_packet(PEER, Packet::PutDone { message }, 0), Err(InvalidPacket), "message {message}");
        }
    }

    #[test]
    fn both_ends_hear_of_the_other_ones_death() {
        let mut e = engine();
        let send = writing(&mut e);
        let (recv, _) = e.post_exposed(from(PEER, 1), 9);
        e.handle_packet(PEER, rts(9, 5, None), 1).unwrap();
        effects(&mut e);
        e.peer_failed(PEER);
        let ended = effects(&mut e);
        let error = |effect: &Effect| match effect {
            Effect::Complete { op, outcome } => Some((*op, outcome.error)),
            _ => None,
        };
        let aborted = Some(Class::ProcAborted);
        assert_eq!(ended.iter().filter_map(error).collect::<Vec<_>>(), [(send, aborted), (recv, aborted)]);
        assert_eq!(e.handle_packet(PEER, Packet::PutDone { message: 1 }, 0), Err(InvalidPacket));
        assert!(e.is_idle() && e.account(PEER).streams == 0);
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
        assert_eq!(packets(&mut e), [Packet::Cancel { send: op.0 }], "requested once");
        e.handle_packet(PEER, Packet::Fin { send: op.0 }, 0).unwrap();
        assert!(!outcome(&mut e).cancelled);
        assert_ne!(begun(e.start_send(send(9))).0, op);
        e.handle_packet(PEER, Packet::CancelReply { send: op.0, cancelled: false }, 0).unwrap();
        assert_eq!(begun(e.start_send(send(9))).0, op);
    }

    #[test]
    fn only_a_held_unclaimed_request_is_given_back() {
        for (claim, is_cancelled) in [(false, true), (true, false)] {
            let mut e = engine();
            e.handle_packet(PEER, rts(9, 5, None), 1).unwrap();
            assert_eq!(claim, claim && e.claim(&from(PEER, 1)).is_some());
            e.handle_packet(PEER, Packet::Cancel { send: 5 }, 0).unwrap();
            let reply = Effect::Transmit { to: PEER, packet: Packet::CancelReply { send: 5, cancelled: is_cancelled } };
            assert!(effects(&mut e).contains(&reply));
            assert_eq!(e.is_idle(), is_cancelled);
        }
    }

    #[test]
    fn a_send_under_way_is_not_asked_back() {
        let mut e = engine();
        let (op, packet, front) = begun(e.start_send(send(4)));
        assert_eq!((packet, front), (Packet::EagerFirst { context: CONTEXT, tag: 1, bytes: 4 }, LIMITS.first));
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
        e.handle_packet(PEER, cts(op, 9, None), 0).unwrap();
        assert_eq!(effects(&mut e), [Effect::Stream { op, to: PEER, message: 1, from: 1, until: 9, order_free: true }]);
        e.stream_done(op);
        assert!(!outcome(&mut e).cancelled);
        assert!(!e.is_idle());
        e.handle_packet(PEER, Packet::CancelReply { send: op.0, cancelled: false }, 0).unwrap();
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
        sender.stream_done(first);
        effects(&mut sender);
        let (second, ..) = begun(sender.start_send(send(4)));
        let Some(Effect::Stream { message: two, .. }) = sender.next_effect() else { panic!("no stream") };
        assert_eq!(first, second);
        let mut e = engine();
        let ops = [0, 1].map(|_| e.post_recv(from(PEER, 1), 4).0);
        let eager_first = Packet::EagerFirst { context: CONTEXT, tag: 1, bytes: 4 };
        (0..2).for_each(|_| assert!(e.handle_packet(PEER, eager_first, 2).is_ok()));
        let late = [two, one].map(|message| e.handle_packet(PEER, Packet::Data { message, at: 2 }, 2).unwrap());
        assert_eq!(late, [1, 0].map(|at| PayloadPlacement::Into { op: ops[at], at: 2, len: 2 }));
    }

    #[test]
    fn a_message_half_pushed_moves_to_its_receive_and_goes_on_there() {
        for claimed in [false, true] {
            let mut e = engine();
            let eager_first = Packet::EagerFirst { context: CONTEXT, tag: 1, bytes: 9 };
            let Ok(PayloadPlacement::NewUnexpected { op: unexpected, bytes: 9 }) =
                e.handle_packet(PEER, eager_first, 2)
            else {
                panic!("not kept as unexpected")
            };
            let early = e.handle_packet(PEER, Packet::Data { message: 1, at: 6 }, 2);
            assert_eq!(early, Ok(PayloadPlacement::Into { op: unexpected, at: 6, len: 2 }));
            let op = if claimed {
                let (claim, envelope) = e.claim(&from(PEER, 1)).unwrap();
                assert_eq!((claim, envelope.bytes), (unexpected, 9));
                assert_eq!(e.probe(&from(PEER, 1)), None);
                e.recv_claimed(claim, 7).unwrap()
            } else {
                e.post_recv(from(PEER, 1), 7).0
            };
            assert!(effects(&mut e).contains(&Effect::CopyUnexpected { unexpected, op, bytes: 7 }));
            let last = e.handle_packet(PEER, Packet::Data { message: 1, at: 8 }, 1);
            assert_eq!(last, Ok(PayloadPlacement::Drop));
            let gap = e.handle_packet(PEER, Packet::Data { message: 1, at: 2 }, 4);
            assert_eq!(gap, Ok(PayloadPlacement::Into { op, at: 2, len: 4 }));
            assert_eq!(outcome(&mut e).envelope.bytes, 7);
        }
    }

    #[test]
    fn messages_without_bytes_match_by_every_method() {
        for packet in [
            eager(1),
            Packet::EagerFirst { context: CONTEXT, tag: 1, bytes: 0 },
            Packet::RtrReply { context: CONTEXT, tag: 1, bytes: 0, rtr: 0 },
            rts(0, 5, Some(KEY)),
        ] {
            for is_unexpected in [false, true] {
                let mut e = engine();
                let spec = from(PEER, 1);
                if is_unexpected {
                    assert!(matches!(
                        e.handle_packet(PEER, packet, 0),
                        Ok(PayloadPlacement::NewUnexpected { bytes: 0, .. })
                    ));
                    e.post_recv(spec, 0);
                } else {
                    e.post_recv(spec, 0);
                    assert!(matches!(e.handle_packet(PEER, packet, 0), Ok(PayloadPlacement::Into { len: 0, .. })));
                }
                assert_eq!((outcome(&mut e).error, e.is_idle()), (None, true), "{packet:?}");
            }
        }
    }

    #[test]
    fn a_push_whose_front_is_all_is_whole() {
        let mut e = engine();
        e.handle_packet(PEER, Packet::EagerFirst { context: CONTEXT, tag: 1, bytes: 4 }, 4).unwrap();
        assert_eq!(e.account(PEER).streams, 0);
        e.post_recv(from(PEER, 1), 4);
        assert_eq!(outcome(&mut e).envelope.bytes, 4);
    }
}

mod loss {
    use super::*;

    fn assert_aborted(e: &mut Engine, ops: &[OpId]) {
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
        e.handle_packet(PEER, Packet::Fin { send: ended.0 }, 0).unwrap();
        effects(&mut e);
        e.peer_failed(PEER);
        assert_aborted(&mut e, &[waiting, streaming, cancelling]);
        assert_eq!(e.start_send(send(1)), SendStart::PeerFailed);
        assert!(!e.fast_send(PEER, 1));
        e.handle_packet(OTHER, Packet::Fin { send: other.0 }, 0).unwrap();
        effects(&mut e);
        assert!(e.is_idle());
    }

    #[test]
    fn receives_that_name_the_peer_or_have_its_message_end() {
        let mut e = engine();
        let [pushed, pulled, posted] = [1, 1, 2].map(|tag| e.post_recv(from(PEER, tag), 9).0);
        let any = e.post_recv(anyone(2), 9).0;
        e.handle_packet(PEER, Packet::EagerFirst { context: CONTEXT, tag: 1, bytes: 4 }, 2).unwrap();
        e.handle_packet(PEER, rts(9, 5, Some(KEY)), 1).unwrap();
        effects(&mut e);
        e.peer_failed(PEER);
        assert_aborted(&mut e, &[pushed, pulled, posted]);
        assert_eq!(e.handle_packet(PEER, Packet::Data { message: 1, at: 2 }, 2), Err(InvalidPacket));
        assert_eq!(e.handle_packet(OTHER, eager(2), 1), Ok(PayloadPlacement::Into { op: any, at: 0, len: 1 }));
        effects(&mut e);
        assert!(e.is_idle() && e.account(PEER).sent_rtrs.is_empty());
        let (late, _) = e.post_recv(from(PEER, 1), 9);
        assert_aborted(&mut e, &[late]);
    }

    #[test]
    fn whole_messages_stay_and_others_go() {
        let mut e = engine();
        e.handle_packet(PEER, eager(1), 2).unwrap();
        e.handle_packet(PEER, rts(1, 5, None), 1).unwrap();
        let Ok(PayloadPlacement::NewUnexpected { op: half, .. }) = e.handle_packet(PEER, rts(9, 6, None), 1) else {
            panic!("not kept as unexpected")
        };
        e.peer_failed(PEER);
        assert_eq!(effects(&mut e), [Effect::Discard { unexpected: half }]);
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
        e.handle_packet(PEER, rts(9, 6, None), 1).unwrap();
        let (unexpected, _) = e.claim(&from(PEER, 1)).unwrap();
        e.peer_failed(PEER);
        let op = e.recv_claimed(unexpected, 9).unwrap();
        assert_eq!(e.next_effect(), Some(Effect::CopyUnexpected { unexpected, op, bytes: 1 }));
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
        assert!(e.fast_send(PEER, 1) && !e.forget_peer(PEER), "it lives");
        e.handle_packet(PEER, rtr(5, 0), 0).unwrap();
        e.peer_failed(PEER);
        assert!(e.forget_peer(PEER) && e.has_failed(PEER) && !e.has_failed(next()));
        let fresh = engine().account(PEER);
        assert_eq!(e.account(next()), fresh);
        assert!(!e.fast_send(PEER, 1) && e.fast_send(next(), 1));
        assert_eq!(e.start_send(send(1)), SendStart::PeerFailed);
        assert_eq!(e.handle_packet(PEER, eager(1), 1), Err(InvalidPacket));
        // Messages of the later process are not received from the former.
        assert!(matches!(e.handle_packet(next(), eager(1), 1), Ok(PayloadPlacement::NewUnexpected { .. })));
        assert!(e.probe(&from(PEER, 1)).is_none() && e.claim(&from(PEER, 1)).is_none());
        assert_eq!(e.post_recv(from(PEER, 1), 9).1, PostOutcome::Matched);
        assert_eq!(outcome(&mut e).error, Some(Class::ProcAborted));
        e.peer_failed(PEER);
        assert!(!e.has_failed(next()), "the report of the former's end may arrive late");
        assert_eq!(e.probe(&anyone(1)).unwrap().source, next());
        e.post_recv(from(next(), 1), 9);
        assert_eq!(outcome(&mut e).error, None);
        assert!(e.is_idle());
    }

    #[test]
    fn a_message_that_waits_keeps_the_number_until_it_is_received() {
        let mut e = engine();
        e.handle_packet(PEER, eager(1), 1).unwrap();
        e.peer_failed(PEER);
        assert!(!e.forget_peer(PEER));
        e.post_recv(from(PEER, 1), 9);
        assert_eq!(outcome(&mut e).error, None);
        assert!(e.forget_peer(PEER) && e.forget_peer(PEER));
    }

    /// The rank has never had a packet of the former process.
    #[test]
    fn a_later_life_may_be_the_first_that_is_heard_of() {
        for by_packet in [true, false] {
            let mut e = engine();
            if by_packet {
                assert!(matches!(e.handle_packet(next(), eager(1), 1), Ok(PayloadPlacement::NewUnexpected { .. })));
            } else {
                e.count_direct_recv(next(), 1);
                assert_eq!(
                    e.start_send(SendSpec { to: next(), ..send(1) }),
                    SendStart::Whole { packet: Packet::Eager { context: CONTEXT, tag: 1 } }
                );
                assert_eq!(e.account(next()).accepted, 1, "a message that bypassed the queues counts");
            }
            assert!(e.fast_send(next(), 1) && !e.has_failed(next()) && e.has_failed(PEER));
        }
    }
}

#[test]
fn packets_that_fit_nothing_are_stray() {
    let mut e = engine();
    let op = begun(e.start_send(send(9))).0.0;
    e.post_recv(from(OTHER, 1), 9);
    e.handle_packet(OTHER, Packet::EagerFirst { context: CONTEXT, tag: 1, bytes: 4 }, 2).unwrap();
    effects(&mut e);
    let invalid = [
        (PEER, Packet::EagerFirst { context: CONTEXT, tag: 1, bytes: 1 }, 2),
        (PEER, Packet::EagerFirst { context: CONTEXT, tag: 1, bytes: LIMITS.credit + 1 }, 2),
        (PEER, Packet::RtrReply { context: CONTEXT, tag: 1, bytes: 9, rtr: 0 }, 1),
        // Longer than any announced capacity: it would have to be kept as unexpected.
        (PEER, Packet::RtrReply { context: CONTEXT, tag: 1, bytes: 1, rtr: 0 }, 0),
        (OTHER, Packet::RtrReply { context: CONTEXT, tag: 2, bytes: 10, rtr: 0 }, 0),
        (PEER, rts(1, 0, None), 2),
        (PEER, Packet::Data { message: 9, at: 0 }, 1),
        (OTHER, Packet::Data { message: 1, at: u64::MAX }, 2),
        (OTHER, Packet::Data { message: 1, at: 3 }, 2),
        (OTHER, Packet::Fin { send: op }, 0),
        (PEER, Packet::Fin { send: 99 }, 0),
        (PEER, cts(OpId(op), 10, None), 0),
        (PEER, cts(OpId(op), 10, Some(KEY)), 0),
        (PEER, cts(OpId(op), 1, None), 0),
        (OTHER, cts(OpId(op), 9, Some(KEY)), 0),
        (OTHER, Packet::PutDone { message: 1 }, 0),
        (PEER, Packet::PutDone { message: 1 }, 0),
        (PEER, Packet::CancelReply { send: op, cancelled: true }, 0),
    ];
    for (peer, packet, payload) in invalid {
        assert_eq!(e.handle_packet(peer, packet, payload), Err(InvalidPacket), "{packet:?}");
    }
    assert_eq!(effects(&mut e), []);
    e.handle_packet(PEER, Packet::RtrRefusal { number: 77 }, 0).unwrap();
    assert_eq!(e.recv_claimed(OpId(99), 9), None);
}

mod expects {
    use super::*;

    #[test]
    fn a_peer_is_waited_for_while_a_receive_may_take_its_message_or_bytes_are_to_come() {
        let mut e = engine();
        assert!(!e.expects(PEER));
        for capacity in [1, 9] {
            // The longer one is announced by RTR.
            e.post_recv(from(PEER, 1), capacity);
            assert!(e.expects(PEER) && !e.expects(OTHER));
            e.handle_packet(PEER, eager(1), 1).unwrap();
            assert!(!e.expects(PEER));
        }
        let (op, _) = e.post_recv(anyone(1), 9);
        assert!(e.expects(PEER) && e.expects(OTHER));
        assert!(e.cancel_recv(op) && !e.expects(PEER));
        e.post_recv(anyone(1), 9);
        e.handle_packet(OTHER, Packet::EagerFirst { context: CONTEXT, tag: 1, bytes: 4 }, 2).unwrap();
        assert!(e.expects(OTHER) && !e.expects(PEER), "the rest of the message is to come");
        e.handle_packet(OTHER, Packet::Data { message: 1, at: 2 }, 2).unwrap();
        assert!(!e.expects(OTHER));
        e.post_recv(from(OTHER, 1), 1);
        e.peer_failed(OTHER);
        assert!(!e.expects(OTHER));
    }
}

mod routes {
    use super::*;
    use hawser_p2p::matching::PeerLimits;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    const FAR: ProtocolLimits = ProtocolLimits { rtr_from: 100, credit: MESSAGE_COST, ..LIMITS };

    /// Returns an engine that reaches PEER, and OTHER by another route, once that is known.
    fn engine(is_known: &Arc<AtomicBool>) -> Engine {
        let is_known = is_known.clone();
        Engine::new(PeerLimits::by_route(vec![LIMITS, FAR], move |peer| match peer {
            PEER => Some(0),
            _ => is_known.load(Relaxed).then_some(1),
        }))
    }

    #[test]
    fn each_peer_has_the_credit_and_the_limits_of_its_route() {
        let mut e = engine(&Arc::new(AtomicBool::new(true)));
        assert_eq!([PEER, OTHER].map(|peer| e.account(peer).credit), [LIMITS.credit, FAR.credit]);
        assert!(e.fast_send(OTHER, 1) && !e.fast_send(OTHER, 1) && e.fast_send(PEER, 1) && e.fast_send(PEER, 1));
        assert_eq!([PEER, OTHER].map(|peer| e.account(peer).credit), [LIMITS.credit - 2 * MESSAGE_COST, 0]);
        e.handle_packet(OTHER, Packet::Credit { bytes: 1 << 30 }, 0).unwrap();
        assert_eq!(e.account(OTHER).credit, FAR.credit);
        e.post_recv(from(OTHER, 1), 9);
        assert!(packets(&mut e).is_empty(), "no RTR by this route");
        e.post_recv(from(PEER, 1), 9);
        assert!(matches!(packets(&mut e)[..], [Packet::Rtr { .. }]));
    }

    #[test]
    fn a_peer_without_a_route_gets_credit_when_it_has_one() {
        let is_known = Arc::new(AtomicBool::new(false));
        let mut e = engine(&is_known);
        assert!(!e.fast_send(OTHER, 1) && !e.has_credit(OTHER, 1));
        is_known.store(true, Relaxed);
        assert!(e.fast_send(OTHER, 1) && e.account(OTHER).credit == 0);
    }

    /// A later process under the number may be elsewhere.
    #[test]
    fn a_send_to_a_process_that_has_ended_sets_no_route_for_the_next_one() {
        let is_known = Arc::new(AtomicBool::new(true));
        let mut e = engine(&is_known);
        e.peer_failed(OTHER);
        effects(&mut e);
        assert!(e.forget_peer(OTHER));
        assert!(!e.fast_send(OTHER, 1) && !e.has_credit(OTHER, 1));
        assert_eq!(e.start_send(SendSpec { to: OTHER, ..send(1) }), SendStart::PeerFailed);
        let next = OTHER.successor().unwrap();
        assert_eq!(e.account(next).credit, FAR.credit, "its route is found when it is used");
    }
}
