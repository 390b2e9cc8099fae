//! MPI_Barrier.
//!
//! | algorithm | source | rounds | bytes |
//! |---|---|---|---|
//! | host | flags in the job's segment | 1 shm step | 0 |
//! | two_level | signals to one rank a host, dissemination between these, signals back | 2 + ⌈log2 hosts⌉ | 0 |
//! | dissemination | Hensgen, Finkel, Manber 1988; MPICH "dissemination" | ⌈log2 p⌉ | 0 |
//!
//! p is the number of ranks, hosts the number of hosts. The column "source" has the origin of an algorithm, or in
//! brief how it works.

use crate::algorithm::Algorithm;
use crate::call::RankAndSize;
use crate::cost_model::CallShape;
use crate::host_map::Subgroup;
use crate::schedule::{Schedule, ShmStep};
use crate::tuning::Tuning;

pub(crate) const ALGORITHMS: &[Algorithm<()>] = &[
    Algorithm { name: "host", fits: |s, _| s.has_shm_steps, cost: |s, t| t.model.shm_steps_us(s, 1.0), build: shm },
    Algorithm {
        name: "two_level",
        fits: |_, t| t.hosts.is_some(),
        cost: |s, t| {
            let (hosts, within) = (t.known_hosts(), t.on_host().model);
            let levels = CallShape { size: hosts.count(), ..*s }.levels();
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

pub(crate) fn shape(place: RankAndSize, tuning: &Tuning) -> CallShape {
    CallShape {
        size: place.size,
        bytes: 0,
        uniform: true,
        commutative: true,
        in_place: false,
        has_shm_steps: tuning.one_host && place.size > 1,
    }
}

fn shm(_: &(), _: RankAndSize, _: &Tuning, s: &mut Schedule) {
    s.shm_step(ShmStep::Barrier);
}

/// In round k every rank sends an empty message to the rank 2^k after its own: the 2^k ranks up to the sender have
/// entered the barrier.
fn dissemination(_: &(), place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let mut distance = 1;
    while distance < place.size {
        s.send_empty(place.after(distance));
        s.recv_empty(place.before(distance));
        s.end_round();
        distance *= 2;
    }
}

fn two_level(_: &(), place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let (leaders, local) = (hosts.leaders(None), hosts.local(place.rank));
    let Some(leader_group) = Subgroup::of(&leaders, place.rank) else {
        s.send_empty(local.ranks[0]);
        s.end_round();
        return s.recv_empty(local.ranks[0]);
    };
    local.other_ranks().for_each(|(_, rank)| s.recv_empty(rank));
    leader_group.append(s, |place, s| dissemination(&(), place, t, s));
    local.other_ranks().for_each(|(_, rank)| s.send_empty(rank));
}
