//! Collectives of intercommunicators: between two groups (MPI-5.0 §6.2.2, §6.2.3).
//!
//! They are put together from collectives among some of the ranks, by whichever algorithm is chosen for those, and
//! messages between the groups: each group's data cross over once. Schedules number the ranks of both groups, those of
//! the first group before those of the second, so that both sides use the same number for a rank.
//!
//! Never in place (MPI-5.0 §6.2.3), and no shm steps. Used by `mpi`; uses `select`'s tables.

mod exchange;
mod rooted;

use crate::call::{CollectiveCall, RankAndSize};
use crate::host_map::HostMap;
use crate::schedule::{Schedule, Span};
use crate::select::dispatch;
use crate::tuning::Tuning;

/// The root of a call on a rank of the root's own group, which is not the root (MPI_PROC_NULL there).
pub const NO_ROOT: u32 = u32::MAX;

/// The calling rank, on an intercommunicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterPlace {
    /// In the local group.
    pub local: RankAndSize,
    /// The number of ranks of the remote group.
    pub remote: u32,
    /// The local group is the first.
    pub first: bool,
}

impl InterPlace {
    /// The number of a rank of the local group.
    pub const fn local_number(self, rank: u32) -> u32 {
        if self.first { rank } else { self.remote + rank }
    }

    /// The number of a rank of the remote group.
    pub const fn remote_number(self, rank: u32) -> u32 {
        if self.first { self.local.size + rank } else { rank }
    }

    /// This rank among all of both groups.
    pub const fn among_all(self) -> RankAndSize {
        RankAndSize { rank: self.local_number(self.local.rank), size: self.local.size + self.remote }
    }
}

/// Writes this rank's schedule for `call` into `schedule` (cleared first). Roots are numbers as schedules have them,
/// or NO_ROOT; blocks are those of the remote group's ranks, but in reductions that scatter, where counts are the
/// local group's. MPI_Scan and MPI_Exscan have no meaning here (MPI-5.0 §6.11).
pub fn plan_between(call: &CollectiveCall, place: InterPlace, tuning: &Tuning, schedule: &mut Schedule) {
    schedule.clear();
    let s = &mut *schedule;
    match *call {
        CollectiveCall::Barrier => plan_among(call, place.among_all(), tuning, s, |number| number, |span| span),
        CollectiveCall::Bcast { root, data } => rooted::bcast(root, data, place, tuning, s),
        CollectiveCall::Reduce { root, data } => rooted::reduce(root, data, place, tuning, s),
        CollectiveCall::Gather { root, send, recv, .. } => rooted::gather(root, send, recv, place, tuning, s),
        CollectiveCall::Gatherv { root, send, recv, .. } => rooted::gatherv(root, send, recv, place, tuning, s),
        CollectiveCall::Scatter { root, send, recv, .. } => rooted::scatter(root, send, recv, place, tuning, s),
        CollectiveCall::Scatterv { root, send, recv, .. } => rooted::scatterv(root, send, recv, place, tuning, s),
        CollectiveCall::Allreduce(data) => exchange::allreduce(data, place, tuning, s),
        CollectiveCall::ReduceScatter { counts, data } => exchange::reduce_scatter(counts, data, place, tuning, s),
        CollectiveCall::ReduceScatterBlock(data) => exchange::reduce_scatter_block(data, place, tuning, s),
        CollectiveCall::Allgather { send, recv, .. } => exchange::allgather(send, recv, place, tuning, s),
        CollectiveCall::Allgatherv { send, recv, .. } => exchange::allgatherv(send, recv, place, tuning, s),
        CollectiveCall::Alltoall { send, recv, .. }
        | CollectiveCall::Alltoallv { send, recv, .. }
        | CollectiveCall::Alltoallw { send, recv, .. } => exchange::alltoall(send, recv, place, tuning, s),
        CollectiveCall::Scan(_) | CollectiveCall::Exscan(_) => {
            unreachable!("the call was refused: two groups have no order")
        }
        CollectiveCall::NeighborAllgather { .. } | CollectiveCall::NeighborAlltoall { .. } => {
            unreachable!("the call was refused: topologies are of one group")
        }
    }
    schedule.end_round();
}

/// Appends a collective among some of the ranks: `number` of each rank among them, and the places of their buffers
/// here.
fn plan_among(
    call: &CollectiveCall,
    place: RankAndSize,
    tuning: &Tuning,
    s: &mut Schedule,
    number: impl Fn(u32) -> u32,
    span: impl Fn(Span) -> Span,
) {
    let hosts = tuning.hosts.and_then(|hosts| HostMap::new((0..place.size).map(|rank| hosts.host_of(number(rank)))));
    let tuning = Tuning { one_host: false, hosts: hosts.as_ref(), ..*tuning };
    s.append_among(number, span, |s| {
        dispatch(call, place, &tuning, s);
    });
}
