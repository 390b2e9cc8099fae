//! The checker itself: each kind of wrong schedule is found, with its own text.

use crate::call::{CollectiveCall, RankAndSize, ReductionArgs};
use crate::check::{CellLayout, CheckedRank, ExprTable, Rules, SymbolicMemory, run};
use crate::collective::Collective;
use crate::schedule::{BufferId, CommStep, MemberSet, OperandOrder, RankSlot, Schedule, ShmStep, Span, VALUE_BYTES};
use crate::select::plan;

/// Two ranks with four elements each in `Send` and memory for four in `Recv`, and the steps that `write` gives each.
fn outcome(seed: u64, host_bytes: u64, write: impl Fn(u32, &mut Schedule)) -> Result<(), String> {
    let member = |rank| {
        let mut schedule = Schedule::new();
        write(rank, &mut schedule);
        schedule.end_round();
        let operand = (0..4).map(|i| ExprTable::leaf(rank, i));
        let send = SymbolicMemory::new(operand, CellLayout::CELL, false);
        CheckedRank { send, recv: SymbolicMemory::new(vec![0; 4], CellLayout::CELL, true), schedule }
    };
    let mut members = [member(0), member(1)];
    run(&mut members, Rules { seed, shm_step_bytes: host_bytes, cell_bytes: 8 }, &mut ExprTable::default())
}

#[track_caller]
fn assert_finds(text: &str, write: impl Fn(u32, &mut Schedule)) {
    for seed in 0..8 {
        let reason = outcome(seed, 16, &write).expect_err(text);
        assert!(reason.contains(text), "{reason}");
    }
}

fn send(at: u64, count: u64) -> Span {
    Span::elements(BufferId::Send, at, count)
}

fn recv(at: u64, count: u64) -> Span {
    Span::elements(BufferId::Recv, at, count)
}

#[test]
fn a_right_schedule_passes() {
    for seed in 0..8 {
        let swap = |rank: u32, s: &mut Schedule| {
            s.send(1 - rank, send(0, 4));
            s.recv(1 - rank, recv(0, 4));
        };
        outcome(seed, 0, swap).unwrap();
    }
}

#[test]
fn a_receive_without_a_send_is_a_deadlock() {
    assert_finds("deadlock: rank 1 in round 0 of 1", |rank, s| {
        if rank == 1 {
            s.recv(0, recv(0, 1));
        }
    });
}

#[test]
fn sends_that_wait_for_each_other_are_a_deadlock_where_messages_are_synchronous() {
    let crossed = |rank: u32, s: &mut Schedule| {
        s.send(1 - rank, send(0, 4));
        s.end_round();
        s.recv(1 - rank, recv(0, 4));
    };
    assert!(outcome(1, 0, crossed).is_err_and(|reason| reason.contains("deadlock")));
    outcome(4, 0, crossed).unwrap();
}

#[test]
fn a_message_that_nobody_takes_is_found() {
    for seed in [0, 4, 8] {
        let reason = outcome(seed, 0, |rank, s| {
            if rank == 0 {
                s.send(1, send(0, 1));
            }
        });
        assert!(reason.is_err_and(|reason| reason.contains("a message from 0 to 1 is never received")));
    }
}

#[test]
fn messages_of_another_size_are_found() {
    assert_finds("2 cells arrive in", |rank, s| match rank {
        0 => s.send(1, send(0, 2)),
        _ => s.recv(0, recv(0, 3)),
    });
}

#[test]
fn messages_in_another_order_are_found() {
    assert_finds("cells arrive in", |rank, s| match rank {
        0 => {
            s.send(1, send(0, 1));
            s.send(1, send(1, 2));
        }
        _ => {
            s.recv(0, recv(0, 2));
            s.recv(0, recv(2, 1));
        }
    });
}

#[test]
fn two_receives_into_one_place_are_found() {
    assert_finds("overlaps another step of its round", |rank, s| match rank {
        0 => {
            s.send(1, send(0, 2));
            s.send(1, send(2, 2));
        }
        _ => {
            s.recv(0, recv(0, 2));
            s.recv(0, recv(1, 2));
        }
    });
}

#[test]
fn sending_what_the_round_receives_is_found() {
    assert_finds("overlaps another step of its round", |rank, s| {
        s.copy(send(0, 4), recv(0, 4));
        s.send(1 - rank, recv(0, 2));
        s.recv(1 - rank, recv(1, 2));
    });
}

#[test]
fn reading_what_was_never_written_is_found() {
    assert_finds("is read where it was never written", |_, s| {
        let scratch = s.scratch_elements(4);
        s.copy(Span::elements(scratch, 0, 1), recv(0, 1));
    });
}

#[test]
fn reading_a_spent_operand_is_found() {
    assert_finds("is read where it was never written", |rank, s| {
        let scratch = Span::elements(s.scratch_elements(4), 0, 4);
        s.copy(send(0, 4), recv(0, 4));
        s.send(1 - rank, send(0, 4));
        s.recv(1 - rank, scratch);
        s.reduce(scratch, recv(0, 4), OperandOrder::IntoFirst);
        s.copy(scratch, recv(0, 4));
    });
}

#[test]
fn spending_the_users_operand_is_found() {
    assert_finds("spends what is not scratch", |rank, s| {
        s.send(1 - rank, send(0, 4));
        s.recv(1 - rank, recv(0, 4));
        s.reduce(send(0, 4), recv(0, 4), OperandOrder::IntoFirst);
    });
}

#[test]
fn an_operand_counted_twice_is_found() {
    assert_finds("are counted twice", |_, s| {
        s.copy(send(0, 4), recv(0, 4));
        s.reduce(send(0, 4), recv(0, 4), OperandOrder::FromFirst);
    });
}

#[test]
fn elements_at_the_wrong_place_are_found() {
    assert_finds("elements 1 and 0 are reduced together", |rank, s| {
        s.send(1 - rank, send(0, 4));
        s.recv(1 - rank, recv(0, 4));
        s.reduce(send(1, 1), recv(0, 1), OperandOrder::FromFirst);
    });
}

#[test]
fn writing_the_send_buffer_is_found() {
    assert_finds("is written", |_, s| {
        s.copy(send(0, 1), recv(0, 1));
        s.copy(recv(0, 1), send(1, 1));
    });
}

#[test]
fn a_span_outside_its_buffer_is_found() {
    assert_finds("lies outside its buffer of 4 cells", |_, s| s.copy(send(0, 3), recv(2, 3)));
}

#[test]
fn host_steps_are_held_to_their_rules() {
    let allreduce = |count| ShmStep::Allreduce { from: send(0, count), into: recv(0, count) };
    for seed in 0..8 {
        outcome(seed, 16, |_, s| s.shm_step(allreduce(2))).unwrap();
    }
    assert_finds("a host step has 32 bytes, the limit is 16", |_, s| s.shm_step(allreduce(4)));
    assert_finds("do not belong together", |rank, s| {
        s.shm_step(if rank == 0 { allreduce(1) } else { ShmStep::Barrier })
    });
    assert_finds("do not belong together", |rank, s| s.shm_step(allreduce(1 + u64::from(rank))));
    assert_finds("is contributed before", |_, s| {
        s.shm_step(allreduce(2));
        s.shm_step(ShmStep::Allreduce { from: recv(1, 1), into: recv(1, 1) });
    });
    assert_finds("deadlock", |rank, s| {
        if rank == 0 {
            s.shm_step(ShmStep::Barrier)
        }
    });
    let elsewhere = outcome(1, 0, |_, s| s.shm_step(ShmStep::Barrier));
    assert!(elsewhere.is_err_and(|reason| reason.contains("not on one host")));
}

#[test]
fn exchanges_are_held_to_their_rules() {
    // Each rank writes `put` elements of eight bytes into its slot of two, and reads `taken` from the other's slot,
    // which it believes to have `believed` bytes.
    let swap = |put: u64, readers: MemberSet, believed: u64, taken: u64| {
        move |rank: u32, s: &mut Schedule| {
            s.begin_exchange(16, readers, MemberSet::All);
            s.write_slot(0, send(0, put));
            s.read_slot(RankSlot { rank: 1 - rank, bytes: believed }, 0, recv(0, taken));
        }
    };
    for seed in 0..8 {
        outcome(seed, 16, swap(2, MemberSet::All, 16, 2)).unwrap();
    }
    assert_finds("leaves a part of its slot empty", swap(1, MemberSet::All, 16, 2));
    assert_finds("is outside its slot", swap(3, MemberSet::All, 16, 2));
    assert_finds("of a slot with 16 bytes", swap(2, MemberSet::All, 8, 1));
    assert_finds("is outside its slot", swap(2, MemberSet::All, 16, 3));
    assert_finds("do not name each other", swap(2, MemberSet::Above, 16, 2));
    assert_finds("of a slot with 16 bytes for Empty", swap(2, MemberSet::Empty, 16, 2));
    assert_finds("not all are waited for", |_, s| s.begin_exchange(0, MemberSet::Empty, MemberSet::All));
    assert_finds("a host step has 24 bytes, the limit is 16", |_, s| {
        s.begin_exchange(24, MemberSet::All, MemberSet::Empty)
    });
}

#[test]
fn operands_out_of_order_and_left_out_are_told_apart() {
    let mut terms = ExprTable::default();
    let backward = terms.combine(ExprTable::leaf(1, 0), ExprTable::leaf(0, 0)).unwrap();
    assert!(terms.check(backward, 0, 2, false).is_ok());
    assert!(terms.check(backward, 0, 2, true).is_err_and(|reason| reason.contains("not in rank order")));
    assert!(terms.check(backward, 0, 3, false).is_err_and(|reason| reason.contains("reduced over ranks 0x3, not 0x7")));
    assert!(terms.check(backward, 5, 2, false).is_err_and(|reason| reason.contains("element 0 is where 5 belongs")));
}

#[test]
fn what_is_told_is_found_wrong_where_it_is() {
    let lengths_exchanged = |rank: u32, s: &mut Schedule, plan: fn(&[u64], &mut Schedule)| {
        let text = s.scratch_bytes(2 * VALUE_BYTES);
        let own = s.store_values(&[7 + u64::from(rank)], text, 0);
        s.send(1 - rank, own);
        s.recv(1 - rank, Span::bytes(text, VALUE_BYTES, VALUE_BYTES));
        s.end_round();
        s.continue_with(Span::bytes(text, 0, 2 * VALUE_BYTES), plan);
    };
    for seed in 0..8 {
        outcome(seed, 0, |rank, s| lengths_exchanged(rank, s, |text, _| assert_eq!(text.iter().sum::<u64>(), 15)))
            .unwrap();
    }
    assert_finds("LengthMismatch { from: 1, sent: 2, expected: 3 }", |rank, s| {
        lengths_exchanged(rank, s, |_, s| s.set_length_mismatch(1, 2, 3))
    });
    assert_finds("is read where it was never written", |_, s| {
        let text = s.scratch_bytes(VALUE_BYTES);
        s.continue_with(Span::bytes(text, 0, VALUE_BYTES), |_, _| ());
    });
    assert_finds("is read as a word", |_, s| {
        let text = s.scratch_bytes(4);
        s.copy(send(0, 4), Span::bytes(text, 0, 4));
        s.end_round();
        s.continue_with(Span::bytes(text, 0, 4), |_, _| ());
    });
    assert_finds("writes what is not scratch", |_, s| {
        s.store_values(&[1], BufferId::Recv, 0);
    });
    assert_finds("deadlock: rank 0 in round 0 of 1", |rank, s| {
        lengths_exchanged(rank, s, if rank == 0 { |_, s| s.recv_empty(1) } else { |_, _| () });
    });
}

/// Any one communication step taken out of any one rank's schedule does not pass.
#[test]
fn no_step_of_a_real_schedule_can_be_missing() {
    let size = 6;
    let data = ReductionArgs { count: 12, type_size: 8, dense: true, commutative: true, in_place: false };
    for name in ["ring", "rabenseifner", "recursive_doubling"] {
        let tuning = super::forced(Collective::Allreduce, name);
        let planned = |rank| {
            let mut schedule = Schedule::new();
            plan(&CollectiveCall::Allreduce(data), RankAndSize { rank, size }, &tuning, &mut schedule);
            schedule
        };
        let steps = planned(0).rounds().map(|round| round.comms.len()).sum::<usize>();
        for missing in 0..steps {
            let member = |rank| {
                let operand = (0..12).map(|i| ExprTable::leaf(rank, i));
                let schedule = if rank == 0 { without(&planned(0), missing) } else { planned(rank) };
                let recv = SymbolicMemory::new(vec![0; 12], CellLayout::CELL, true);
                CheckedRank { send: SymbolicMemory::new(operand, CellLayout::CELL, false), recv, schedule }
            };
            let mut members: Vec<CheckedRank> = (0..size).map(member).collect();
            let rules = Rules { seed: missing as u64, shm_step_bytes: 0, cell_bytes: 8 };
            assert!(run(&mut members, rules, &mut ExprTable::default()).is_err(), "{name} without step {missing}");
        }
    }
}

fn without(schedule: &Schedule, missing: usize) -> Schedule {
    let mut copy = Schedule::new();
    for scratch in schedule.scratch() {
        copy.scratch_elements(scratch.count);
    }
    let mut step = 0;
    for round in schedule.rounds() {
        for comm in round.comms {
            match *comm {
                _ if step == missing => {}
                CommStep::Send { to, from } => copy.send(to, from),
                CommStep::Recv { from, into } => copy.recv(from, into),
                CommStep::Shm(host) => copy.shm_step(host),
                CommStep::WriteSlot { .. } | CommStep::ReadSlot { .. } | CommStep::ReduceSlot { .. } => {
                    unreachable!("no shm steps here")
                }
            }
            step += 1;
        }
        for local in round.locals {
            match *local {
                crate::LocalStep::Copy { from, into } => copy.copy(from, into),
                crate::LocalStep::Reduce { from, into, order } => copy.reduce(from, into, order),
                crate::LocalStep::StoreValue { .. } => unreachable!("no lengths are sent here"),
            }
        }
        copy.end_round();
    }
    copy
}
