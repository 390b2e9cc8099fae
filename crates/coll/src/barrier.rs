//! MPI_Barrier.
//!
//! | algorithm | source | rounds | bytes |
//! |---|---|---|---|
//! | host | flags in the job's segment | 1 host step | 0 |
//! | dissemination | Hensgen, Finkel, Manber 1988; MPICH "dissemination" | ⌈log2 p⌉ | 0 |

use crate::call::Place;
use crate::schedule::{HostStep, Schedule};
use crate::select::{Algorithm, Shape, Tuning};

pub(crate) const ALGORITHMS: &[Algorithm<()>] = &[
    Algorithm { name: "host", fits: |s| s.host, cost: |s, t| t.model.host(s, t.limits.host_bytes, 0.0), build: host },
    Algorithm {
        name: "dissemination",
        fits: |_| true,
        cost: |s, t| s.levels() * t.model.message_us,
        build: dissemination,
    },
];

pub(crate) fn shape(place: Place, tuning: &Tuning) -> Shape {
    Shape {
        size: place.size,
        bytes: 0,
        uniform: true,
        commutative: true,
        in_place: false,
        host: tuning.one_host && place.size > 1,
    }
}

fn host(_: &(), _: Place, _: &Tuning, s: &mut Schedule) {
    s.host(HostStep::Barrier);
}

/// In round k everybody tells the rank 2^k ahead that 2^k ranks up to itself have come.
fn dissemination(_: &(), place: Place, _: &Tuning, s: &mut Schedule) {
    let mut distance = 1;
    while distance < place.size {
        s.signal(place.after(distance));
        s.await_signal(place.before(distance));
        s.end_round();
        distance *= 2;
    }
}
