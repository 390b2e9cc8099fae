//! Long random runs of two to six ranks, replayable: `HAWSER_SEED=<seed> cargo test -p hawser-p2p --test
//! random_runs`. `HAWSER_RUNS=<count>` runs more of them.

mod model;

use hawser_base::{Context, Peer};
use hawser_p2p::matching::{MatchSpec, ProtocolLimits};
use hawser_sim::Rng;
use model::program::{Send, Step};
use model::{Action, Setup, World};
use std::panic::{AssertUnwindSafe, catch_unwind};

const SIZES: [u64; 8] = [0, 1, 2, 3, 4, 5, 9, 40];
const ROOMS: [u64; 6] = [0, 2, 3, 9, 40, 50];

fn random_setup(dice: &mut Rng) -> Setup {
    let ranks = 2 + dice.index(5);
    let limits = dice.choose(&[
        ProtocolLimits { packet: 2, eager: 4, first: 1, rtr_from: 3, credit: 256, ..ProtocolLimits::DEFAULT },
        ProtocolLimits { packet: 2, eager: 9, first: 2, rtr_from: 0, credit: 64, ..ProtocolLimits::DEFAULT },
        ProtocolLimits { packet: 3, eager: 5, first: 0, rtr_from: 6, credit: 1000, ..ProtocolLimits::DEFAULT },
        ProtocolLimits { packet: 2, eager: 4, first: 1, rtr_from: 3, credit: 8, ..ProtocolLimits::DEFAULT },
        ProtocolLimits {
            packet: 2,
            eager: 4,
            first: 1,
            rtr_from: 0,
            reply_from: 0,
            credit: 256,
            ..ProtocolLimits::DEFAULT
        },
        ProtocolLimits {
            packet: 3,
            eager: 6,
            first: 2,
            rtr_from: 2,
            reply_from: 2,
            credit: 64,
            ..ProtocolLimits::DEFAULT
        },
    ]);
    let programs = (0..ranks).map(|rank| random_program(dice, rank, ranks)).collect();
    let mortal = dice.one_in(2).then(|| dice.index(ranks));
    Setup { limits, programs, unordered: dice.one_in(2), outbox: dice.one_in(2), failing_rank: mortal }
}

fn random_program(dice: &mut Rng, rank: usize, ranks: usize) -> Vec<Step> {
    let operations = 50 + dice.index(200);
    // The rank receives more than is sent to it, or sends more, or does as much of both.
    let bias = 3 + dice.index(5);
    let mut program = Vec::new();
    while program.len() < operations {
        let other = (rank + 1 + dice.index(ranks - 1)) % ranks;
        let context = Context(dice.choose(&[0, 0, 0, 1, 32]));
        let tag = dice.index(3) as i32;
        let source = (!dice.one_in(5)).then_some(Peer(other as u32));
        let spec = MatchSpec { context, source, tag: (!dice.one_in(4)).then_some(tag) };
        let capacity = dice.choose(&ROOMS);
        let shared = dice.choose(&[None, None, Some(true), Some(false)]);
        let earlier = program.len().saturating_sub(1 + dice.index(6));
        match (dice.index(10), program.get(earlier)) {
            (0, Some(Step::Send(_))) => program.push(Step::CancelSend(earlier)),
            (0, Some(Step::Recv { .. })) => program.push(Step::CancelRecv(earlier)),
            (0, _) => program.push(Step::Probe(spec)),
            (1, _) => program.extend([Step::Claim(spec), Step::RecvClaimed { claim: program.len(), capacity, shared }]),
            (what, _) if what < bias => {
                let key = dice.choose(&[None, None, Some(true), Some(false)]);
                let (sync, eager, bytes) = (dice.one_in(6), !dice.one_in(8), dice.choose(&SIZES));
                program.push(Step::Send(Send { to: Peer(other as u32), context, tag, bytes, sync, eager, key }));
            }
            _ => program.push(Step::Recv { spec, capacity, shared }),
        }
    }
    program
}

/// Chooses any possible action, with wires that are sometimes slow, and deaths once their time has come.
fn choose(dice: &mut Rng, actions: &[Action], haste: usize, hour_has_come: bool) -> Action {
    let dies = |a: &&Action| matches!(a, Action::Die(_));
    match actions.iter().find(dies) {
        Some(&death) if hour_has_come || actions.len() == 1 => return death,
        _ => {}
    }
    loop {
        let action = dice.choose(actions);
        let again = match action {
            Action::Die(_) => true,
            Action::Lose { .. } => !dice.one_in(50),
            Action::Deliver { .. } => !dice.one_in(haste),
            _ => false,
        };
        if !again {
            return action;
        }
    }
}

fn run(seed: u64) -> Result<usize, String> {
    let mut dice = Rng::new(seed);
    let setup = random_setup(&mut dice);
    let haste = 1 + dice.index(8);
    let hour = dice.index(2000);
    let mut world = World::new(&setup);
    for count in 0.. {
        let actions = world.actions(&setup);
        if actions.is_empty() {
            return world.check_end(&setup).map(|()| count);
        }
        let action = choose(&mut dice, &actions, haste, count >= hour);
        let acted = catch_unwind(AssertUnwindSafe(|| world.act(&setup, action)));
        acted.unwrap_or_else(|_| Err("panic".into())).map_err(|why| format!("action {count}, {action:?}: {why}"))?;
    }
    unreachable!("a run ends")
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

#[test]
fn random_runs_of_two_to_six_ranks() {
    let (first, count) = match number("HAWSER_SEED") {
        Some(seed) => (seed, 1),
        None => {
            (std::time::UNIX_EPOCH.elapsed().map_or(1, |t| t.as_nanos() as u64), number("HAWSER_RUNS").unwrap_or(1000))
        }
    };
    let mut actions = 0;
    for seed in (0..count).map(|at| first.wrapping_add(at)) {
        match run(seed) {
            Ok(count) => actions += count,
            Err(why) => panic!("HAWSER_SEED={seed}: {why}"),
        }
    }
    println!("{count} runs from HAWSER_SEED={first}: {actions} actions");
}
