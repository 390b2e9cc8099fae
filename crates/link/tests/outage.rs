//! Tests with failing rails and the simulator's ranks. They are separate from `simulation`, so that their states
//! and events prove nothing there.
//!
//! `make sim SEED=N` repeats a seed.

#[path = "simulation/monitor.rs"]
mod monitor;
#[path = "simulation/rails.rs"]
mod rails;
#[path = "simulation/ranks.rs"]
#[allow(dead_code, reason = "what the simulation runs")]
mod ranks;
#[path = "simulation/strangers.rs"]
mod strangers;
#[path = "simulation/world.rs"]
mod world;

use hawser_link::marks::{Mark, is_reached};
use hawser_sim::{for_each_seed, seeds};

/// The number of seeds of a run that names none; worlds of several rails, rates and phases take longer.
const SEEDS: u64 = 1_000;
const RAILS_SEEDS: u64 = 200;

/// P24
#[test]
fn a_rail_that_is_gone_costs_little_and_is_used_again_when_it_is_back() {
    for_each_seed(seeds(SEEDS), rails::outage);
}

/// P24, P25
#[test]
fn rails_that_fail_cost_no_message_and_carry_bulk_when_they_are_back() {
    for_each_seed(seeds(RAILS_SEEDS), rails::run);
    let needed = [Mark::FramesShorter, Mark::RefusedLong, Mark::LongerTried, Mark::FramesLonger, Mark::SilentReceived];
    let unmet: Vec<_> = needed.into_iter().filter(|&mark| !is_reached(mark)).collect();
    let is_whole_run = seeds(RAILS_SEEDS).count() as u64 >= RAILS_SEEDS;
    assert!(unmet.is_empty() || !is_whole_run, "{unmet:?} was not reached");
}
