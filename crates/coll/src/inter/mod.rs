//! Collectives of intercommunicators: between two groups (MPI-5.0 §6.2.2, §6.2.3).
//!
//! They are put together from collectives among some of the ranks, by whichever algorithm is chosen for those, and
//! messages between the groups: each group's data cross over once. Schedules number the ranks of both groups, those of
//! the first group before those of the second, so that both sides use the same number for a rank.
//!
//! Never in place (MPI-5.0 §6.2.3), and no shm steps. Used by `mpi`; uses `select`'s tables.

mod exchange;
mod rooted;

use crate::call::{Call, Place};
use crate::hosts::Hosts;
use crate::schedule::{Schedule, Span};
use crate::select::dispatch;
use crate::tuning::Tuning;

/// The root of a call on a rank of the root's own group, which is not the root (MPI_PROC_NULL there).
pub const NOBODY: u32 = u32::MAX;

/// The calling rank, on an intercommunicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sides {
    /// In the local group.
    pub local: Place,
    /// The number of ranks of the remote group.
    pub remote: u32,
    /// The local group is the first.
    pub first: bool,
}

impl Sides {
    /// The number of a rank of the local group.
    pub const fn ours(self, rank: u32) -> u32 {
        if self.first { rank } else { self.remote + rank }
    }

    /// The number of a rank of the remote group.
    pub const fn theirs(self, rank: u32) -> u32 {
        if self.first { self.local.size + rank } else { rank }
    }

    /// This rank among all of both groups.
    pub const fn among_all(self) -> Place {
        Place { rank: self.ours(self.local.rank), size: self.local.size + self.remote }
    }
}

/// Writes this rank's schedule for `call` into `schedule` (cleared first). Roots are numbers as schedules have them, or
/// NOBODY; blocks are those of the remote group's ranks, but in reductions that scatter, where counts are the local
/// group's. MPI_Scan and MPI_Exscan have no meaning here (MPI-5.0 §6.11).
pub fn plan_between(call: &Call, sides: Sides, tuning: &Tuning, schedule: &mut Schedule) {
    schedule.clear();
    let s = &mut *schedule;
    match *call {
        Call::Barrier => within(call, sides.among_all(), tuning, s, |number| number, |span| span),
        Call::Bcast { root, data } => rooted::bcast(root, data, sides, tuning, s),
        Call::Reduce { root, data } => rooted::reduce(root, data, sides, tuning, s),
        Call::Gather { root, send, recv, .. } => rooted::gather(root, send, recv, sides, tuning, s),
        Call::Gatherv { root, send, recv, .. } => rooted::gatherv(root, send, recv, sides, tuning, s),
        Call::Scatter { root, send, recv, .. } => rooted::scatter(root, send, recv, sides, tuning, s),
        Call::Scatterv { root, send, recv, .. } => rooted::scatterv(root, send, recv, sides, tuning, s),
        Call::Allreduce(data) => exchange::allreduce(data, sides, tuning, s),
        Call::ReduceScatter { counts, data } => exchange::reduce_scatter(counts, data, sides, tuning, s),
        Call::ReduceScatterBlock(data) => exchange::reduce_scatter_block(data, sides, tuning, s),
        Call::Allgather { send, recv, .. } => exchange::allgather(send, recv, sides, tuning, s),
        Call::Allgatherv { send, recv, .. } => exchange::allgatherv(send, recv, sides, tuning, s),
        Call::Alltoall { send, recv, .. } | Call::Alltoallv { send, recv, .. } | Call::Alltoallw { send, recv, .. } => {
            exchange::alltoall(send, recv, sides, tuning, s)
        }
        Call::Scan(_) | Call::Exscan(_) => unreachable!("the call was refused: two groups have no order"),
        Call::NeighborAllgather { .. } | Call::NeighborAlltoall { .. } => {
            unreachable!("the call was refused: topologies are of one group")
        }
    }
    schedule.end_round();
}

/// Appends a collective among some of the ranks: `number` of each rank among them, and the places of their buffers
/// here.
fn within(
    call: &Call,
    place: Place,
    tuning: &Tuning,
    s: &mut Schedule,
    number: impl Fn(u32) -> u32,
    span: impl Fn(Span) -> Span,
) {
    let hosts = tuning.hosts.and_then(|hosts| Hosts::new((0..place.size).map(|rank| hosts.host_of(number(rank)))));
    let tuning = Tuning { one_host: false, hosts: hosts.as_ref(), ..*tuning };
    s.among(number, span, |s| {
        dispatch(call, place, &tuning, s);
    });
}
