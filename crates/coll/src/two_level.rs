//! The two parts of a collective on two levels, one among the leaders of the hosts and one on each host: their costs,
//! and how they are appended to a schedule.
//!
//! Used by the algorithms "two_level" of the collectives. For each part the cheapest algorithm of the same tables is
//! chosen.

use crate::algorithm::{ALWAYS_SHM_BYTES, Algorithm, choose};
use crate::cost_model::CallShape;
use crate::host_map::Subgroup;
use crate::schedule::Schedule;
use crate::tuning::Tuning;

impl Subgroup<'_> {
    /// Appends a collective among the ranks of the group alone, by the algorithm of `rows` that is cheapest for them.
    /// Does nothing if the group has only one rank.
    pub fn append_collective<A>(
        &self,
        rows: &[Algorithm<A>],
        args: &A,
        shape: &CallShape,
        tuning: &Tuning,
        s: &mut Schedule,
    ) {
        if self.place.size > 1 {
            self.append(s, |place, s| (choose(rows, 0, shape, tuning, ALWAYS_SHM_BYTES).build)(args, place, tuning, s));
        }
    }
}

/// Returns the cost of a collective that runs once among the leaders and once on each host (bcast, reduce); the
/// largest host counts.
pub(crate) fn cost_of_both<A>(rows: &[Algorithm<A>], shape: &CallShape, tuning: &Tuning) -> f64 {
    let hosts = tuning.known_hosts();
    cost_among(rows, shape, hosts.count(), &tuning.between_hosts())
        + cost_among(rows, shape, hosts.largest(), &tuning.on_host())
}

/// Returns the cost of a gather or a scatter on two levels; `shape.bytes` is the length of one block.
pub(crate) fn cost_of_blocks(shape: &CallShape, tuning: &Tuning) -> f64 {
    let (hosts, within, between) = (tuning.known_hosts(), tuning.on_host().model, &tuning.model);
    let (count, largest) = (f64::from(hosts.count()), f64::from(hosts.largest()));
    within.message_us
        + (largest - 1.0) * (within.overhead_us + shape.n() * within.byte_us)
        + between.message_us
        + (count - 1.0) * between.overhead_us
        + (shape.p() - largest) * shape.n() * between.byte_us
        + shape.p() * shape.n() * between.copy_us
}

/// Returns the cost of a part of a call among `size` ranks, by the cheapest algorithm without shm steps; 0 for one
/// rank.
pub(crate) fn cost_among<A>(rows: &[Algorithm<A>], shape: &CallShape, size: u32, tuning: &Tuning) -> f64 {
    let shape = CallShape { size, has_shm_steps: false, ..*shape };
    if size > 1 { (choose(rows, 0, &shape, tuning, ALWAYS_SHM_BYTES).cost)(&shape, tuning) } else { 0.0 }
}
