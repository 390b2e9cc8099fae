//! The algorithm that is chosen for each length of data of a collective, for people to read.
//!
//! It calls `plan` as a collective would. Used by `launch` for `hawser-info`; uses `select`.

use crate::call::{BlockArray, BlockBuffer, CollectiveCall, IntArray, Neighbors, RankAndSize, ReductionArgs};
use crate::collective::Collective;
use crate::schedule::Schedule;
use crate::select::plan;
use crate::tuning::Tuning;

/// The lengths of data that are tried, as powers of two: 8 bytes to 64 MiB.
const LENGTHS: std::ops::RangeInclusive<u32> = 3..=26;

/// Returns each length, in bytes, from which on another algorithm is chosen, with the name of the algorithm. The
/// length is that of the vector of MPI_Bcast and of reductions, and of one rank's block for other collectives.
pub fn algorithms_by_length(collective: Collective, size: u32, tuning: &Tuning) -> Vec<(u64, &'static str)> {
    let mut schedule = Schedule::new();
    let mut chosen = |bytes| plan(&call(collective, bytes), RankAndSize { rank: 0, size }, tuning, &mut schedule);
    let mut found: Vec<(u64, &'static str)> = Vec::new();
    for bytes in LENGTHS.map(|power| 1 << power) {
        let name = chosen(bytes);
        if found.last().is_none_or(|&(_, before)| before != name) {
            found.push((bytes, name));
        }
    }
    found
}

/// Returns a common call with data of `bytes` bytes: dense datatypes, a commutative operation, not in place.
fn call(collective: Collective, bytes: u64) -> CollectiveCall<'static> {
    let (root, in_place) = (0, false);
    let data = BlockBuffer { count: bytes, type_size: 1, dense: true };
    let vector = ReductionArgs { count: bytes / 8, type_size: 8, dense: true, commutative: true, in_place };
    let blocks = BlockArray::regular(bytes, 1);
    match collective {
        Collective::Barrier => CollectiveCall::Barrier,
        Collective::Bcast => CollectiveCall::Bcast { root, data },
        Collective::Reduce => CollectiveCall::Reduce { root, data: vector },
        Collective::Allreduce => CollectiveCall::Allreduce(vector),
        Collective::ReduceScatter => {
            CollectiveCall::ReduceScatter { counts: IntArray::Same(vector.count as i64), data: vector }
        }
        Collective::Scan => CollectiveCall::Scan(vector),
        Collective::Exscan => CollectiveCall::Exscan(vector),
        Collective::Gather => CollectiveCall::Gather { root, send: data, recv: blocks, in_place },
        Collective::Scatter => CollectiveCall::Scatter { root, send: blocks, recv: data, in_place },
        Collective::Allgather => CollectiveCall::Allgather { send: data, recv: blocks, in_place },
        Collective::Alltoall => CollectiveCall::Alltoall { send: blocks, recv: blocks, in_place },
        Collective::Neighbor => {
            let neighbors = Neighbors { sources: &[], destinations: &[], grid: false };
            CollectiveCall::NeighborAlltoall { neighbors, send: blocks, recv: blocks }
        }
    }
}
