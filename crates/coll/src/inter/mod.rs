//! Collectives of intercommunicators, between two groups (MPI-5.0 §6.2.2, §6.2.3).
//!
//! Their schedules are composed of collectives among some of the ranks, for which `select` chooses the algorithms,
//! and of messages between the groups. The data of each group cross over to the other group once, except that bcast
//! and allreduce may send the same data to several ranks of the other group. Schedules number the ranks of both
//! groups together, the first group before the second, so that both groups use the same number for a rank.
//!
//! Calls are never in place (MPI-5.0 §6.2.3), and there are no shm steps. Used by `mpi`; uses `select` and
//! `host_map`.

mod exchange;
mod rooted;

use crate::call::{CollectiveCall, RankAndSize};
use crate::host_map::HostMap;
use crate::schedule::{Schedule, Span};
use crate::select::dispatch;
use crate::tuning::Tuning;

/// The root of a call on the ranks of the root's group that are not the root: they pass MPI_PROC_NULL as the root.
pub const NO_ROOT: u32 = u32::MAX;

/// The calling rank, on an intercommunicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterPlace {
    /// The calling rank in the local group, and the size of that group.
    pub local: RankAndSize,
    /// The number of ranks of the remote group.
    pub remote: u32,
    /// The local group is the first group in the numbering of ranks.
    pub first: bool,
}

impl InterPlace {
    /// Returns the number in schedules of a rank of the local group.
    pub const fn local_number(self, rank: u32) -> u32 {
        if self.first { rank } else { self.remote + rank }
    }

    /// Returns the number in schedules of a rank of the remote group.
    pub const fn remote_number(self, rank: u32) -> u32 {
        if self.first { self.local.size + rank } else { rank }
    }

    /// Returns the number in schedules of the calling rank, and the number of ranks of both groups together.
    pub const fn among_all(self) -> RankAndSize {
        RankAndSize { rank: self.local_number(self.local.rank), size: self.local.size + self.remote }
    }
}

/// Clears `schedule` and writes this rank's schedule for `call` into it. A root is a number of a rank as in
/// schedules, or NO_ROOT. Blocks are those of the ranks of the remote group; but the counts of a reduce_scatter are
/// those of the local group. MPI_Scan and MPI_Exscan must have been refused, because they are not defined on
/// intercommunicators (MPI-5.0 §6.11), and so must neighbourhood collectives.
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

/// Appends a collective among some of the ranks. In `call` and `place` ranks are numbered among the participants;
/// `number` converts such a number to a number in this schedule, and `span` converts a span of the collective to a
/// span here.
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
