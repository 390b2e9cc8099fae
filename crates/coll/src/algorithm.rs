//! A row of a collective's table of algorithms, and the choice of a row.
//!
//! Nothing here knows a collective: each collective has its table in its own file, and `select` has all tables.

use crate::call::RankAndSize;
use crate::cost_model::CallShape;
use crate::schedule::Schedule;
use crate::tuning::Tuning;

/// One row of a collective's table.
pub(crate) struct Algorithm<A> {
    pub name: &'static str,
    pub fits: fn(&CallShape, &Tuning) -> bool,
    /// The estimated time of a call, in microseconds.
    pub cost: fn(&CallShape, &Tuning) -> f64,
    pub build: fn(&A, RankAndSize, &Tuning, &mut Schedule),
}

/// Returns the values of the parameter that forces an algorithm: "auto", then the name of each row. `N` must be the
/// number of rows plus 1.
pub(crate) const fn parameter_values<A, const N: usize>(rows: &[Algorithm<A>]) -> [&'static str; N] {
    assert!(rows.len() + 1 == N);
    let mut values = ["auto"; N];
    let mut i = 1;
    while i < N {
        values[i] = rows[i - 1].name;
        i += 1;
    }
    values
}

/// The maximum length of data, in bytes, for which a shm step is always chosen if the ranks can use one. The costs of
/// the other algorithms are not computed, because that takes longer than the step.
pub const ALWAYS_SHM_BYTES: u64 = 512;

/// The same for the vector of MPI_Bcast, MPI_Reduce and MPI_Allreduce, and for all blocks together of MPI_Allgather and
/// MPI_Alltoall. Each communicator on one host has steps of this length, and they are best by the cost model for any
/// number of ranks. To plan a call takes as long as a step of 1 KiB.
pub const ONE_STEP_BYTES: u64 = 8192;

/// Returns the forced row if it fits the call, otherwise the cheapest row that fits; among rows of equal cost, the
/// first. `forced` is 0, or the number of the forced row, counted from 1. The first row of a table must be one of shm
/// steps if the collective has such a row; it is chosen for data of at most `always_shm_bytes` bytes.
pub(crate) fn choose<'a, A>(
    rows: &'a [Algorithm<A>],
    forced: u8,
    shape: &CallShape,
    tuning: &Tuning,
    always_shm_bytes: u64,
) -> &'a Algorithm<A> {
    if let Some(row) = (forced as usize).checked_sub(1).map(|i| &rows[i]).filter(|row| (row.fits)(shape, tuning)) {
        return row;
    }
    if shape.has_shm_steps && shape.bytes <= always_shm_bytes && (rows[0].fits)(shape, tuning) {
        return &rows[0];
    }
    let fitting = rows.iter().filter(|row| (row.fits)(shape, tuning));
    let cheapest = fitting.map(|row| ((row.cost)(shape, tuning), row)).reduce(|a, b| if b.0 < a.0 { b } else { a });
    cheapest.expect("each table has an algorithm for every call").1
}
