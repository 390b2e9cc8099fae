//! MPI_Scan.
//!
//! | algorithm | source | rounds | bytes that a rank sends at most |
//! |---|---|---|---|
//! | recursive_doubling | Hillis, Steele 1986; MPICH "recursive_doubling" | ⌈log2 p⌉ | n ⌈log2 p⌉ |
//! | chain | MPICH "linear" | p − 1, two a rank | n |
//!
//! Both keep rank order.

use crate::accumulate::{Accumulator, Side};
use crate::call::{Place, Reduction};
use crate::schedule::{Buffer, Schedule};
use crate::select::{Algorithm, Tuning};

pub(crate) const ALGORITHMS: &[Algorithm<Reduction>] = &[
    Algorithm {
        name: "chain",
        fits: |_| true,
        cost: |s, t| (s.p() - 1.0) * (t.model.message(s.n()) + s.n() * t.model.reduce_us),
        build: chain,
    },
    Algorithm {
        name: "recursive_doubling",
        fits: |_| true,
        cost: |s, t| s.levels() * (t.model.message(s.n()) + s.n() * t.model.reduce_us),
        build: recursive_doubling,
    },
];

/// After round k a rank has the reduction of the 2^(k+1) ranks up to itself, or of all up to itself.
fn recursive_doubling(data: &Reduction, place: Place, _: &Tuning, s: &mut Schedule) {
    let all = 0..data.elements();
    let mut acc = Accumulator::new(data.input(), Buffer::Recv);
    acc.settle(s, &all);
    let mut distance = 1;
    while distance < place.size {
        if place.rank + distance < place.size {
            s.send(place.rank + distance, acc.value(&all));
        }
        if place.rank >= distance {
            acc.exchange(s, place.rank - distance, Side::Lower, all.clone(), None);
        }
        s.end_round();
        distance *= 2;
    }
}

fn chain(data: &Reduction, place: Place, _: &Tuning, s: &mut Schedule) {
    let all = 0..data.elements();
    let mut acc = Accumulator::new(data.input(), Buffer::Recv);
    if place.rank > 0 {
        acc.exchange(s, place.rank - 1, Side::Lower, all.clone(), None);
    }
    if place.rank + 1 < place.size {
        s.send(place.rank + 1, acc.value(&all));
    }
    acc.settle(s, &all);
}
