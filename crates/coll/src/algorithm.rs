//! A row of a collective's table, and the choice among the rows of one.
//!
//! Nothing here knows a collective: each has its table in its own file, and `select` has all tables.

use crate::call::RankAndSize;
use crate::cost_model::CallShape;
use crate::schedule::Schedule;
use crate::tuning::Tuning;

/// One row of a collective's table.
pub(crate) struct Algorithm<A> {
    pub name: &'static str,
    pub fits: fn(&CallShape, &Tuning) -> bool,
    /// Microseconds, from the formula in the function's comment.
    pub cost: fn(&CallShape, &Tuning) -> f64,
    pub build: fn(&A, RankAndSize, &Tuning, &mut Schedule),
}

/// The values of the parameter for a table of `N - 1` rows: "auto" and the names.
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

/// Up to this length a shm step is the cheapest algorithm wherever there is one: computing the costs of
/// other rows takes longer than the step.
pub const ALWAYS_SHM_BYTES: u64 = 512;

/// Returns the forced row if it fits, otherwise the cheapest that does; of equal ones the first in the table. Rows of
/// shm steps come first.
pub(crate) fn choose<'a, A>(
    rows: &'a [Algorithm<A>],
    forced: u8,
    shape: &CallShape,
    tuning: &Tuning,
) -> &'a Algorithm<A> {
    if let Some(row) = (forced as usize).checked_sub(1).map(|i| &rows[i]).filter(|row| (row.fits)(shape, tuning)) {
        return row;
    }
    if shape.has_shm_steps && shape.bytes <= ALWAYS_SHM_BYTES && (rows[0].fits)(shape, tuning) {
        return &rows[0];
    }
    let fitting = rows.iter().filter(|row| (row.fits)(shape, tuning));
    let cheapest = fitting.map(|row| ((row.cost)(shape, tuning), row)).reduce(|a, b| if b.0 < a.0 { b } else { a });
    cheapest.expect("each table has an algorithm for every call").1
}
