//! The checker itself: each kind of wrong schedule is found, by its own words.

use crate::call::{Call, Place, Reduction};
use crate::check::{Layout, Member, Memory, Rules, Terms, run};
use crate::collective::Collective;
use crate::schedule::{Buffer, Comm, Giver, HostStep, Order, Ranks, Schedule, Span, WORD};
use crate::select::plan;

/// Two ranks with four elements each in `Send` and room for four in `Recv`, and the steps that `write` gives each.
fn outcome(seed: u64, host_bytes: u64, write: impl Fn(u32, &mut Schedule)) -> Result<(), String> {
    let member = |rank| {
        let mut schedule = Schedule::new();
        write(rank, &mut schedule);
        schedule.end_round();
        let operand = (0..4).map(|i| Terms::leaf(rank, i));
        let send = Memory::new(operand, Layout::CELL, false);
        Member { send, recv: Memory::new(vec![0; 4], Layout::CELL, true), schedule }
    };
    let mut members = [member(0), member(1)];
    run(&mut members, Rules { seed, host_bytes, cell_bytes: 8 }, &mut Terms::default())
}

#[track_caller]
fn finds(words: &str, write: impl Fn(u32, &mut Schedule)) {
    for seed in 0..8 {
        let why = outcome(seed, 16, &write).expect_err(words);
        assert!(why.contains(words), "{why}");
    }
}

fn send(at: u64, count: u64) -> Span {
    Span::elements(Buffer::Send, at, count)
}

fn recv(at: u64, count: u64) -> Span {
    Span::elements(Buffer::Recv, at, count)
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
    finds("deadlock: rank 1 in round 0 of 1", |rank, s| {
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
    assert!(outcome(1, 0, crossed).is_err_and(|why| why.contains("deadlock")));
    outcome(4, 0, crossed).unwrap();
}

#[test]
fn a_message_that_nobody_takes_is_found() {
    for seed in [0, 4, 8] {
        let why = outcome(seed, 0, |rank, s| {
            if rank == 0 {
                s.send(1, send(0, 1));
            }
        });
        assert!(why.is_err_and(|why| why.contains("a message from 0 to 1 is never received")));
    }
}

#[test]
fn messages_of_another_size_are_found() {
    finds("2 cells arrive in", |rank, s| match rank {
        0 => s.send(1, send(0, 2)),
        _ => s.recv(0, recv(0, 3)),
    });
}

#[test]
fn messages_in_another_order_are_found() {
    finds("cells arrive in", |rank, s| match rank {
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
    finds("overlaps another step of its round", |rank, s| match rank {
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
    finds("overlaps another step of its round", |rank, s| {
        s.copy(send(0, 4), recv(0, 4));
        s.send(1 - rank, recv(0, 2));
        s.recv(1 - rank, recv(1, 2));
    });
}

#[test]
fn reading_what_was_never_written_is_found() {
    finds("is read where it was never written", |_, s| {
        let scratch = s.scratch_elements(4);
        s.copy(Span::elements(scratch, 0, 1), recv(0, 1));
    });
}

#[test]
fn reading_a_spent_operand_is_found() {
    finds("is read where it was never written", |rank, s| {
        let scratch = Span::elements(s.scratch_elements(4), 0, 4);
        s.copy(send(0, 4), recv(0, 4));
        s.send(1 - rank, send(0, 4));
        s.recv(1 - rank, scratch);
        s.reduce(scratch, recv(0, 4), Order::IntoFirst);
        s.copy(scratch, recv(0, 4));
    });
}

#[test]
fn spending_the_users_operand_is_found() {
    finds("spends what is not scratch", |rank, s| {
        s.send(1 - rank, send(0, 4));
        s.recv(1 - rank, recv(0, 4));
        s.reduce(send(0, 4), recv(0, 4), Order::IntoFirst);
    });
}

#[test]
fn an_operand_counted_twice_is_found() {
    finds("are counted twice", |_, s| {
        s.copy(send(0, 4), recv(0, 4));
        s.reduce(send(0, 4), recv(0, 4), Order::FromFirst);
    });
}

#[test]
fn elements_at_the_wrong_place_are_found() {
    finds("elements 1 and 0 are reduced together", |rank, s| {
        s.send(1 - rank, send(0, 4));
        s.recv(1 - rank, recv(0, 4));
        s.reduce(send(1, 1), recv(0, 1), Order::FromFirst);
    });
}

#[test]
fn writing_the_send_buffer_is_found() {
    finds("is written", |_, s| {
        s.copy(send(0, 1), recv(0, 1));
        s.copy(recv(0, 1), send(1, 1));
    });
}

#[test]
fn a_span_outside_its_buffer_is_found() {
    finds("lies outside its buffer of 4 cells", |_, s| s.copy(send(0, 3), recv(2, 3)));
}

#[test]
fn host_steps_are_held_to_their_rules() {
    let allreduce = |count| HostStep::Allreduce { from: send(0, count), into: recv(0, count) };
    for seed in 0..8 {
        outcome(seed, 16, |_, s| s.host(allreduce(2))).unwrap();
    }
    finds("a host step has 32 bytes, the limit is 16", |_, s| s.host(allreduce(4)));
    finds("do not belong together", |rank, s| s.host(if rank == 0 { allreduce(1) } else { HostStep::Barrier }));
    finds("do not belong together", |rank, s| s.host(allreduce(1 + u64::from(rank))));
    finds("is contributed before", |_, s| {
        s.host(allreduce(2));
        s.host(HostStep::Allreduce { from: recv(1, 1), into: recv(1, 1) });
    });
    finds("deadlock", |rank, s| {
        if rank == 0 {
            s.host(HostStep::Barrier)
        }
    });
    let elsewhere = outcome(1, 0, |_, s| s.host(HostStep::Barrier));
    assert!(elsewhere.is_err_and(|why| why.contains("not on one host")));
}

#[test]
fn exchanges_are_held_to_their_rules() {
    // Each gives two elements of eight bytes and takes `taken` of those that it believes to be `believed` bytes.
    let swap = |put: u64, readers: Ranks, believed: u64, taken: u64| {
        move |rank: u32, s: &mut Schedule| {
            s.exchange(16, readers, Ranks::All);
            s.put(0, send(0, put));
            s.take(Giver { rank: 1 - rank, bytes: believed }, 0, recv(0, taken));
        }
    };
    for seed in 0..8 {
        outcome(seed, 16, swap(2, Ranks::All, 16, 2)).unwrap();
    }
    finds("leaves a part of its slot empty", swap(1, Ranks::All, 16, 2));
    finds("is outside its slot", swap(3, Ranks::All, 16, 2));
    finds("of a slot with 16 bytes", swap(2, Ranks::All, 8, 1));
    finds("is outside its slot", swap(2, Ranks::All, 16, 3));
    finds("do not name each other", swap(2, Ranks::Above, 16, 2));
    finds("of a slot with 16 bytes for Nobody", swap(2, Ranks::Nobody, 16, 2));
    finds("not all are waited for", |_, s| s.exchange(0, Ranks::Nobody, Ranks::All));
    finds("a host step has 24 bytes, the limit is 16", |_, s| s.exchange(24, Ranks::All, Ranks::Nobody));
}

#[test]
fn operands_out_of_order_and_left_out_are_told_apart() {
    let mut terms = Terms::default();
    let backward = terms.combine(Terms::leaf(1, 0), Terms::leaf(0, 0)).unwrap();
    assert!(terms.check(backward, 0, 2, false).is_ok());
    assert!(terms.check(backward, 0, 2, true).is_err_and(|why| why.contains("not in rank order")));
    assert!(terms.check(backward, 0, 3, false).is_err_and(|why| why.contains("reduced over ranks 0x3, not 0x7")));
    assert!(terms.check(backward, 5, 2, false).is_err_and(|why| why.contains("element 0 is where 5 belongs")));
}

#[test]
fn what_is_told_is_found_wrong_where_it_is() {
    let told = |rank: u32, s: &mut Schedule, plan: fn(&[u64], &mut Schedule)| {
        let words = s.scratch_bytes(2 * WORD);
        let mine = s.say(&[7 + u64::from(rank)], words, 0);
        s.send(1 - rank, mine);
        s.recv(1 - rank, Span::bytes(words, WORD, WORD));
        s.end_round();
        s.then(Span::bytes(words, 0, 2 * WORD), plan);
    };
    for seed in 0..8 {
        outcome(seed, 0, |rank, s| told(rank, s, |words, _| assert_eq!(words.iter().sum::<u64>(), 15))).unwrap();
    }
    finds("Misfit { from: 1, told: 2, expected: 3 }", |rank, s| told(rank, s, |_, s| s.misfits(1, 2, 3)));
    finds("is read where it was never written", |_, s| {
        let words = s.scratch_bytes(WORD);
        s.then(Span::bytes(words, 0, WORD), |_, _| ());
    });
    finds("is read as a word", |_, s| {
        let words = s.scratch_bytes(4);
        s.copy(send(0, 4), Span::bytes(words, 0, 4));
        s.end_round();
        s.then(Span::bytes(words, 0, 4), |_, _| ());
    });
    finds("writes what is not scratch", |_, s| {
        s.say(&[1], Buffer::Recv, 0);
    });
    finds("deadlock: rank 0 in round 0 of 1", |rank, s| {
        told(rank, s, if rank == 0 { |_, s| s.await_signal(1) } else { |_, _| () });
    });
}

/// Any one communication step taken out of any one rank's schedule does not pass.
#[test]
fn no_step_of_a_real_schedule_can_be_missing() {
    let size = 6;
    let data = Reduction { count: 12, type_size: 8, dense: true, commutative: true, in_place: false };
    for name in ["ring", "rabenseifner", "recursive_doubling"] {
        let tuning = super::forced(Collective::Allreduce, name);
        let planned = |rank| {
            let mut schedule = Schedule::new();
            plan(&Call::Allreduce(data), Place { rank, size }, &tuning, &mut schedule);
            schedule
        };
        let steps = planned(0).rounds().map(|round| round.comms.len()).sum::<usize>();
        for missing in 0..steps {
            let member = |rank| {
                let operand = (0..12).map(|i| Terms::leaf(rank, i));
                let schedule = if rank == 0 { without(&planned(0), missing) } else { planned(rank) };
                let recv = Memory::new(vec![0; 12], Layout::CELL, true);
                Member { send: Memory::new(operand, Layout::CELL, false), recv, schedule }
            };
            let mut members: Vec<Member> = (0..size).map(member).collect();
            let rules = Rules { seed: missing as u64, host_bytes: 0, cell_bytes: 8 };
            assert!(run(&mut members, rules, &mut Terms::default()).is_err(), "{name} without step {missing}");
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
                Comm::Send { to, from } => copy.send(to, from),
                Comm::Recv { from, into } => copy.recv(from, into),
                Comm::Host(host) => copy.host(host),
                Comm::Put { .. } | Comm::Take { .. } | Comm::Fold { .. } => unreachable!("no host steps here"),
            }
            step += 1;
        }
        for local in round.locals {
            match *local {
                crate::Local::Copy { from, into } => copy.copy(from, into),
                crate::Local::Reduce { from, into, order } => copy.reduce(from, into, order),
                crate::Local::Say { .. } => unreachable!("nothing is told here"),
            }
        }
        copy.end_round();
    }
    copy
}
