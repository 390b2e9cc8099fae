//! The parts of a collective on two levels, one between the hosts' leaders and one on each host: their costs, and how
//! they are appended to a schedule.
//!
//! Used by the rows "two_level" of the tables; uses the tables' other rows, for the parts.

use crate::algorithm::{Algorithm, choose};
use crate::cost_model::CallShape;
use crate::host_map::Subgroup;
use crate::schedule::Schedule;
use crate::tuning::Tuning;

impl Subgroup<'_> {
    /// Appends a collective of these alone, by the algorithm that is cheapest there.
    pub fn append_collective<A>(
        &self,
        rows: &[Algorithm<A>],
        args: &A,
        shape: &CallShape,
        tuning: &Tuning,
        s: &mut Schedule,
    ) {
        if self.place.size > 1 {
            self.append(s, |place, s| (choose(rows, 0, shape, tuning).build)(args, place, tuning, s));
        }
    }
}

/// The cost of both levels of a tree, down or up: between leaders, and on the largest host.
pub(crate) fn cost_of_both<A>(rows: &[Algorithm<A>], shape: &CallShape, tuning: &Tuning) -> f64 {
    let hosts = tuning.known_hosts();
    cost_among(rows, shape, hosts.count(), &tuning.between_hosts())
        + cost_among(rows, shape, hosts.largest(), &tuning.on_host())
}

/// The same for a block of each rank that is sent to one rank or from it: `shape.bytes` is one block.
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

/// The cost of a part of a call, among `size` ranks.
pub(crate) fn cost_among<A>(rows: &[Algorithm<A>], shape: &CallShape, size: u32, tuning: &Tuning) -> f64 {
    let shape = CallShape { size, has_shm_steps: false, ..*shape };
    if size > 1 { (choose(rows, 0, &shape, tuning).cost)(&shape, tuning) } else { 0.0 }
}
