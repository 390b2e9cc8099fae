//! A rail that is gone, of the simulator's ranks: apart from `simulation`, so that its states and events prove nothing there.
//!
//! `make sim SEED=N` repeats a seed.

#[path = "simulation/monitor.rs"]
mod monitor;
#[path = "simulation/ranks.rs"]
#[allow(dead_code, reason = "what the simulation runs")]
mod ranks;
#[path = "simulation/strangers.rs"]
mod strangers;

use hawser_sim::{each_seed, seeds};

/// Seeds of a run that names none.
const SEEDS: u64 = 1_000;

/// P24
#[test]
fn a_rail_that_is_gone_costs_little_and_is_used_again_when_it_is_back() {
    each_seed(seeds(SEEDS), ranks::outage);
}
