//! MPI_Barrier.
//!
//! | algorithm | source | rounds | bytes |
//! |---|---|---|---|
//! | host | flags in the job's segment | 1 shm step | 0 |
//! | two_level | signals to one rank a host, dissemination between these, signals back | 2 + ⌈log2 hosts⌉ | 0 |
//! | dissemination | Hensgen, Finkel, Manber 1988; MPICH "dissemination" | ⌈log2 p⌉ | 0 |

use crate::algorithm::Algorithm;
use crate::call::Place;
use crate::hosts::Team;
use crate::model::Shape;
use crate::schedule::{HostStep, Schedule};
use crate::tuning::Tuning;

pub(crate) const ALGORITHMS: &[Algorithm<()>] = &[
    Algorithm { name: "host", fits: |s, _| s.host, cost: |s, t| t.model.steps(s, 1.0), build: host },
    Algorithm {
        name: "two_level",
        fits: |_, t| t.hosts.is_some(),
        cost: |s, t| {
            let (hosts, within) = (t.known_hosts(), t.within().model);
            let levels = Shape { size: hosts.count(), ..*s }.levels();
            2.0 * (within.message_us + f64::from(hosts.largest() - 1) * within.overhead_us)
                + levels * t.model.message_us
        },
        build: two_level,
    },
    Algorithm {
        name: "dissemination",
        fits: |_, _| true,
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

/// In round k every rank reports to the rank 2^k ahead that 2^k ranks up to itself have come.
fn dissemination(_: &(), place: Place, _: &Tuning, s: &mut Schedule) {
    let mut distance = 1;
    while distance < place.size {
        s.signal(place.after(distance));
        s.await_signal(place.before(distance));
        s.end_round();
        distance *= 2;
    }
}

fn two_level(_: &(), place: Place, t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let (leaders, local) = (hosts.leaders(None), hosts.local(place.rank));
    let Some(between) = Team::of(&leaders, place.rank) else {
        s.signal(local.ranks[0]);
        s.end_round();
        return s.await_signal(local.ranks[0]);
    };
    local.others().for_each(|(_, rank)| s.await_signal(rank));
    between.build(s, |place, s| dissemination(&(), place, t, s));
    local.others().for_each(|(_, rank)| s.signal(rank));
}
