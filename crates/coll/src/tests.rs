//! Every collective, by every algorithm, for every size from 1 to 64 and every root, against plain oracles.
//!
//! `movement` and `neighbor` check bytes, `reductions` checks expressions, `inter` both between two groups, `rules`
//! shows that the checker finds what it is for, `selection` that choices are right and that wrong names are refused.

mod inter;
mod movement;
mod neighbor;
mod reductions;
mod rules;
mod selection;

use crate::HostMap;
use crate::call::{CollectiveCall, RankAndSize};
use crate::check::{CheckedRank, ExprTable, Rules, SymbolicMemory, recycled_schedule, run};
use crate::collective::Collective;
use crate::cost_model::{CostModel, ScheduleLimits};
use crate::select::plan;
use crate::tuning::{ForcedAlgorithms, Tuning};

const LARGEST: u32 = 64;
const COUNTS: [u64; 5] = [0, 1, 3, 7, 1000];

/// The counts of the matrix for one size, without repetition.
fn counts(size: u32) -> Vec<u64> {
    let mut all: Vec<u64> = COUNTS.into_iter().chain([u64::from(size) - 1, size.into()]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// A shm step of few elements, and few messages in flight, so that both are cut; of blocks of unlike lengths some
/// are forwarded and some are not.
const LIMITS: ScheduleLimits = ScheduleLimits { shm_step_bytes: 1024, outstanding: 3, max_forwarded_bytes: 5 };

/// Algorithms of shm steps.
fn is_shm(name: &str) -> bool {
    name.starts_with("host")
}

fn forced(collective: Collective, name: &str) -> Tuning<'static> {
    let forced = ForcedAlgorithms::NONE.with(collective, name).unwrap();
    Tuning { one_host: is_shm(name), hosts: None, model: CostModel::SHARED_MEMORY, limits: LIMITS, forced }
}

/// The hosts of `size` ranks, in one of several layouts: runs of three, runs of growing length, round robin, unknown.
fn hosts(size: u32) -> Option<HostMap> {
    HostMap::new((0..size).map(|rank| match size % 4 {
        0 => rank / 3,
        1 => (f64::from(rank) * 2.0).sqrt() as u32,
        2 => rank % 3,
        _ => rank * 7 % 11 % 4,
    }))
}

/// Tells whether two levels fit, or what a host's flags are for.
fn fits(name: &str, size: u32, needs_order: bool) -> bool {
    match name {
        _ if is_shm(name) => size > 1,
        "two_level" => hosts(size).is_some_and(|hosts| hosts.is_in_order() || !needs_order),
        _ => true,
    }
}

fn algorithms(collective: Collective) -> &'static [&'static str] {
    &collective.algorithms()[1..]
}

/// The memory that one rank brings to a run.
struct RankInput<'a> {
    call: CollectiveCall<'a>,
    send: SymbolicMemory,
    recv: SymbolicMemory,
}

/// Plans and runs a call on `size` ranks. None where the forced algorithm does not fit the call.
fn plan_and_run<'a>(
    size: u32,
    tuning: &Tuning,
    name: &str,
    cell_bytes: u64,
    seed: u64,
    expressions: &mut ExprTable,
    input: impl Fn(u32) -> RankInput<'a>,
) -> Option<Vec<CheckedRank>> {
    let hosts = hosts(size);
    let tuning = &Tuning { hosts: hosts.as_ref().filter(|_| name == "two_level"), ..*tuning };
    let mut members = Vec::with_capacity(size as usize);
    let mut calls = Vec::new();
    for rank in 0..size {
        let RankInput { call, send, recv } = input(rank);
        let mut schedule = recycled_schedule();
        let got = plan(&call, RankAndSize { rank, size }, tuning, &mut schedule);
        if got != name {
            assert!(rank == 0, "rank {rank} of {size} chose {got}, others {name}");
            return None;
        }
        calls.push(call);
        members.push(CheckedRank { send, recv, schedule });
    }
    let host_bytes = if tuning.one_host { tuning.limits.shm_step_bytes } else { 0 };
    let rules = Rules { seed, shm_step_bytes: host_bytes, cell_bytes };
    run(&mut members, rules, expressions)
        .unwrap_or_else(|reason| panic!("{name}, {size} ranks: {reason}\n{:?}", calls[0]));
    Some(members)
}
