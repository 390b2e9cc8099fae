//! Selection: which algorithm a call gets.
//!
//! Every rank must come to the same answer from what every rank knows: the shape of the call, the model
//! and the limits, which a job agrees on once. Costs are plain IEEE arithmetic in a fixed order, so equal
//! inputs give equal choices on every machine. It never measures anything itself. An algorithm can be
//! forced by name through its collective's parameter; where a forced one does not fit a call (a host
//! algorithm across hosts, one that needs a commutative operation) the model chooses as if nothing was set.
//!
//! Before it: `node`, which measures the figures, and `mpi`. After it: the algorithms' build functions.

use crate::call::{Call, Place};
use crate::hosts::Hosts;
use crate::schedule::Schedule;
use crate::{
    allgather, allreduce, alltoall, barrier, bcast, exscan, gather, neighbor, reduce, reduce_scatter, scan, scatter,
};
use hawser_base::param::{Kind, Param, Read};
use hawser_base::value::{T_SCOPE_ALL_EQ, T_VERBOSITY_TUNER_BASIC};
use hawser_base::{Class, Error, Result};

/// What communication costs within a communicator; the same on all its ranks. Microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// From the call of a send to the return of the receive, for an empty message; with its share of planning and posting.
    pub message_us: f64,
    /// What each further message costs that is in flight beside others.
    pub overhead_us: f64,
    /// The same where all ranks have as many that leave and that arrive.
    pub overhead_of_all_us: f64,
    /// A byte sent.
    pub byte_us: f64,
    /// A byte of a vector reduced into another, while all ranks do.
    pub reduce_us: f64,
    /// A byte copied within a rank, while all ranks do.
    pub copy_us: f64,
    /// A host step, and its share for each rank of the communicator.
    pub host_us: f64,
    pub host_rank_us: f64,
    /// Ranks that share a core: what one rank does alone takes this part of what it takes while all do.
    pub load: f64,
}

/// A wake-up and a change of process: the barrier of Intel MPI takes 53 µs for the four rounds of 16 ranks on
/// 2 cores (docs/measurements/2026-11-21-peers-and-floors.md), which is eight of these a round.
const SWITCH_US: f64 = 53.0 / (4.0 * 8.0);

/// Copies of memory that a byte of a message costs with more ranks than cores: into shared memory and out of it, on cores that
/// other ranks need meanwhile, and what cold caches add (fitted to
/// docs/measurements/2026-11-23-collectives.md).
const CROWDED_COPIES: f64 = 3.0;

/// Room of a rank for what is on its way to all others, where they are few, and of all ranks where they are many (`dev-shm`); a
/// message that is longer than its pair's needs one more turn each time.
const ROOM_OF_FEW: f64 = 1048576.0;
const ROOM_OF_ALL: f64 = 2.5 * 1048576.0;
const FEW: u32 = 4;

/// Slots of a member: of steps that do not hold up those who only give, so many pass in one turn.
const STEPS_AHEAD: f64 = 2.0;

impl Model {
    /// Shared memory with a core for each rank: the figures of docs/measurements/2026-11-21-peers-and-floors.md and
    /// half of the cache-line round trip a rank. A message: as collectives use them (4 KiB take 0.9 where a ping-pong
    /// takes 0.4).
    pub const SHARED_MEMORY: Model = Model {
        message_us: 0.6,
        overhead_us: 0.08,
        overhead_of_all_us: 0.08,
        byte_us: 48e-6,
        reduce_us: 60e-6,
        copy_us: 40e-6,
        host_us: 0.15,
        host_rank_us: 0.04,
        load: 1.0,
    };

    /// More ranks than cores: between two rounds every rank of a core must have had its turn, and what all ranks do at the same
    /// time takes as many times as long as there are ranks on a core.
    pub fn oversubscribed(ranks: u32, cores: u32) -> Model {
        let load = (f64::from(ranks) / f64::from(cores.max(1))).max(1.0);
        let (turn_us, plain) = (SWITCH_US * load, Model::SHARED_MEMORY);
        let (own, pairs) = (f64::from(ranks), f64::from(ranks) * f64::from(ranks));
        let room = if ranks <= FEW { ROOM_OF_FEW / own } else { ROOM_OF_ALL / pairs };
        Model {
            message_us: turn_us,
            overhead_us: 0.5,
            overhead_of_all_us: 0.5,
            byte_us: CROWDED_COPIES * plain.copy_us * load + turn_us / room,
            reduce_us: plain.reduce_us * load,
            copy_us: plain.copy_us * load,
            host_us: turn_us,
            load,
            ..plain
        }
    }

    /// That of a communicator: whether all its members are on one host, and of that its ranks and its cores.
    pub fn of(one_host: bool, ranks: u32, cores: u32) -> Model {
        match one_host {
            false => Model::ETHERNET,
            true if ranks > cores => Model::oversubscribed(ranks, cores),
            true => Model::SHARED_MEMORY,
        }
    }

    /// Ethernet at 10 Gbit/s through raw frames, of which each takes 1.2 to 1.9 us at both ends
    /// (docs/measurements/2026-11-22-frame-ports.md).
    pub const ETHERNET: Model =
        Model { message_us: 5.0, overhead_us: 0.5, overhead_of_all_us: 1.5, byte_us: 800e-6, ..Model::SHARED_MEMORY };

    /// One message of `bytes`.
    pub(crate) fn message(&self, bytes: f64) -> f64 {
        self.message_us + bytes * self.byte_us
    }

    /// `steps` host steps, one after the other.
    pub(crate) fn steps(&self, shape: &Shape, steps: f64) -> f64 {
        steps * (self.host_us + shape.p() * self.host_rank_us)
    }

    /// Copying `bytes` through slots: with more ranks than cores what comes out of them is in no near cache any more (fitted).
    pub(crate) fn slots(&self, bytes: f64) -> f64 {
        bytes * self.copy_us * (self.load / 2.0).max(1.0)
    }

    /// The root's copies of all blocks but its own; the others copy theirs meanwhile, but for what is in the first step.
    pub(crate) fn slots_of_root(&self, shape: &Shape, t: &Tuning) -> f64 {
        let alone = shape.bytes.min(t.limits.host_bytes) as f64;
        self.slots((shape.p() - 1.0) * shape.n() + alone) / self.load
    }

    /// The same where those who only give, or only take, need not wait for each step.
    pub(crate) fn steps_ahead(&self, shape: &Shape, steps: f64) -> f64 {
        self.steps(shape, (steps / STEPS_AHEAD).max(1.0))
    }

    /// One rank folds a byte of all contributions while the others wait.
    pub(crate) fn fold_us(&self, shape: &Shape) -> f64 {
        (shape.p() - 1.0) * self.reduce_us / self.load
    }
}

/// Bounds that schedules respect; the same on all ranks of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of one host step.
    pub host_bytes: u64,
    /// Most sends, and most receives, of one round of a linear algorithm.
    pub outstanding: u32,
    /// Most bytes of a block that other ranks pass on where only its two ends know how long it is.
    pub via_bytes: u64,
}

impl Limits {
    /// What a host of 64 ranks has room for; as many messages in flight as rings and credits take without a stall.
    /// A block is passed on within a host twice, and copied twice, where that costs less than the message that it saves.
    pub const DEFAULT: Limits = Limits { host_bytes: 8192, outstanding: 16, via_bytes: 2048 };

    /// Host steps that a vector of `bytes` takes.
    pub(crate) fn host_steps(&self, bytes: u64) -> f64 {
        bytes.div_ceil(self.host_bytes.max(1)).max(1) as f64
    }
}

const _: () = {
    let (within, far) = (Model::SHARED_MEMORY, Model::ETHERNET);
    let via_us = Limits::DEFAULT.via_bytes as f64 * 2.0 * (within.byte_us + within.copy_us);
    assert!(via_us < far.overhead_us);
};

/// All that selection and building know beside the call: one value a communicator, equal on its ranks.
#[derive(Clone, Copy, Debug)]
pub struct Tuning<'a> {
    /// All members are on one host and share the job's segment there: host steps are possible.
    pub one_host: bool,
    /// Where the members are, if some share a host and some do not.
    pub hosts: Option<&'a Hosts>,
    pub model: Model,
    pub limits: Limits,
    pub forced: Forced,
}

/// What all ranks know of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub size: u32,
    /// The vector (bcast, reductions), all blocks together (allgather, reduce_scatter) or one block
    /// (gather, scatter, alltoall); 0 where not every rank knows it (gatherv, scatterv, alltoallv, -w).
    pub bytes: u64,
    /// All blocks are equal.
    pub uniform: bool,
    pub commutative: bool,
    pub in_place: bool,
    /// Host steps can carry the data.
    pub host: bool,
}

impl Shape {
    pub(crate) fn p(&self) -> f64 {
        f64::from(self.size)
    }

    pub(crate) fn n(&self) -> f64 {
        self.bytes as f64
    }

    /// Rounds of a binomial tree or a dissemination.
    pub(crate) fn levels(&self) -> f64 {
        f64::from(self.size.next_power_of_two().trailing_zeros())
    }

    /// Two more messages where a hypercube does not fit.
    pub(crate) fn fold(&self) -> f64 {
        if self.size.is_power_of_two() { 0.0 } else { 2.0 }
    }
}

/// Whether a slot has room for the whole vector, or the longest block.
pub(crate) fn is_one_step(s: &Shape, t: &Tuning) -> bool {
    s.host && s.bytes <= t.limits.host_bytes
}

/// Whether a slot has room for a block of each other rank.
pub(crate) fn fits_slot(s: &Shape, t: &Tuning) -> bool {
    s.host && s.bytes.saturating_mul(u64::from(s.size) - 1) <= t.limits.host_bytes
}

/// Where ranks share a core: blocks that go through flags to or from a root are at least so long, since who waits for a flag
/// waits for its turn as for a message; and no more ranks share it, since messages of that length are then read where they lie
/// (`dev-shm`), without a turn for each step (measured,
/// docs/measurements/2026-11-23-collectives.md).
const CROWDED_FROM: u64 = 64 << 10;
const CROWDED_LOAD: f64 = 4.0;

/// Whether blocks go through flags to or from a root.
pub(crate) fn is_rooted_by_flags(s: &Shape, t: &Tuning) -> bool {
    let load = t.model.load;
    s.host && s.uniform && (load <= 1.0 || load < CROWDED_LOAD && s.bytes >= CROWDED_FROM)
}

/// Bytes of all ranks' results that the last cache holds with what they are copied from and through; what is more comes from
/// memory, where one copy is better than two (32 MiB, of which a third; measured with 4 and 8 ranks,
/// docs/measurements/2026-11-23-collectives.md).
pub(crate) const CACHED: f64 = 10.0 * 1048576.0;

/// One row of a collective's table.
pub(crate) struct Algorithm<A> {
    pub name: &'static str,
    pub fits: fn(&Shape, &Tuning) -> bool,
    /// Microseconds, from the formula in the function's comment.
    pub cost: fn(&Shape, &Tuning) -> f64,
    pub build: fn(&A, Place, &Tuning, &mut Schedule),
}

/// The parameter's words for a table of `N - 1` rows: "auto" and the names.
pub(crate) const fn words<A, const N: usize>(rows: &[Algorithm<A>]) -> [&'static str; N] {
    assert!(rows.len() + 1 == N);
    let mut words = ["auto"; N];
    let mut i = 1;
    while i < N {
        words[i] = rows[i - 1].name;
        i += 1;
    }
    words
}

macro_rules! collectives {
    ($($name:ident, $table:expr, $param:literal, $functions:literal;)*) => {
        /// The collectives that have a table; the v- and w-variants share that of the regular one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Collective { $($name),* }

        impl Collective {
            pub const ALL: &'static [Collective] = &[$(Collective::$name),*];

            /// The words that its parameter takes: "auto", then its algorithms.
            pub const fn algorithms(self) -> &'static [&'static str] {
                match self {
                    $(Collective::$name => const { &words::<_, { $table.len() + 1 }>($table) }),*
                }
            }
        }

        /// Forced algorithms, one row a collective.
        pub static PARAMS: &[Param] = &[$(Param {
            name: $param,
            kind: Kind::Choice(Collective::$name.algorithms()),
            default: "auto",
            help: concat!("algorithm of ", $functions, ", used wherever it fits the call"),
            scope: T_SCOPE_ALL_EQ,
            verbosity: T_VERBOSITY_TUNER_BASIC,
            read: Read::AtUse,
        }),*];
    };
}

collectives! {
    Barrier, barrier::ALGORITHMS, "HAWSER_COLL_BARRIER", "MPI_Barrier";
    Bcast, bcast::ALGORITHMS, "HAWSER_COLL_BCAST", "MPI_Bcast";
    Reduce, reduce::ALGORITHMS, "HAWSER_COLL_REDUCE", "MPI_Reduce";
    Allreduce, allreduce::ALGORITHMS, "HAWSER_COLL_ALLREDUCE", "MPI_Allreduce";
    ReduceScatter, reduce_scatter::ALGORITHMS, "HAWSER_COLL_REDUCE_SCATTER", "MPI_Reduce_scatter and MPI_Reduce_scatter_block";
    Scan, scan::ALGORITHMS, "HAWSER_COLL_SCAN", "MPI_Scan";
    Exscan, exscan::ALGORITHMS, "HAWSER_COLL_EXSCAN", "MPI_Exscan";
    Gather, gather::Args::ALGORITHMS, "HAWSER_COLL_GATHER", "MPI_Gather and MPI_Gatherv";
    Scatter, scatter::Args::ALGORITHMS, "HAWSER_COLL_SCATTER", "MPI_Scatter and MPI_Scatterv";
    Allgather, allgather::Args::ALGORITHMS, "HAWSER_COLL_ALLGATHER", "MPI_Allgather and MPI_Allgatherv";
    Alltoall, alltoall::Args::ALGORITHMS, "HAWSER_COLL_ALLTOALL", "MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw";
    Neighbor, neighbor::Args::ALGORITHMS, "HAWSER_COLL_NEIGHBOR", "MPI_Neighbor_allgather and the other neighbourhood collectives";
}

/// Which algorithm is forced for each collective; 0 is none. Read once a process, never in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forced([u8; Collective::ALL.len()]);

impl Forced {
    pub const NONE: Forced = Forced([0; Collective::ALL.len()]);

    /// What the environment sets; a wrong name is an error that lists the right ones.
    pub fn from_params() -> Result<Forced> {
        let mut forced = Forced::NONE;
        for (&collective, param) in Collective::ALL.iter().zip(PARAMS) {
            forced = forced.with(collective, param.choice()?)?;
        }
        Ok(forced)
    }

    /// Whether nothing but `name` is forced on `collective`.
    pub fn leaves(&self, collective: Collective, name: &str) -> bool {
        let forced = self.0[collective as usize] as usize;
        forced == 0 || collective.algorithms()[forced] == name
    }

    /// The same with `collective` set to `name`, one of its `algorithms()`.
    pub fn with(mut self, collective: Collective, name: &str) -> Result<Forced> {
        let words = collective.algorithms();
        let index = words.iter().position(|w| *w == name).ok_or_else(|| {
            let known = words.join(", ");
            Error::new(Class::Arg, format!("{collective:?} has no algorithm {name}; take one of {known}"))
        })?;
        self.0[collective as usize] = index as u8;
        Ok(self)
    }
}

/// Writes this rank's schedule for `call` into `schedule` (cleared first); the name of the algorithm.
pub fn plan(call: &Call, place: Place, tuning: &Tuning, schedule: &mut Schedule) -> &'static str {
    schedule.clear();
    let name = dispatch(call, place, tuning, schedule);
    schedule.end_round();
    name
}

/// Appends the schedule: `plan` without its beginning and its end.
pub(crate) fn dispatch(call: &Call, place: Place, t: &Tuning, s: &mut Schedule) -> &'static str {
    use Collective as C;
    match *call {
        Call::Barrier => run(C::Barrier, barrier::ALGORITHMS, &(), &barrier::shape(place, t), place, t, s),
        Call::Bcast { root, data } => {
            let args = bcast::Args { root, data };
            run(C::Bcast, bcast::ALGORITHMS, &args, &args.shape(place, t), place, t, s)
        }
        Call::Reduce { root, data } => {
            let args = reduce::Args::new(root, data, place);
            run(C::Reduce, reduce::ALGORITHMS, &args, &args.shape(place, t), place, t, s)
        }
        Call::Allreduce(data) => run(C::Allreduce, allreduce::ALGORITHMS, &data, &data.shape(place, t), place, t, s),
        Call::ReduceScatter { counts, data } => {
            let args = reduce_scatter::Args::new(counts, data, place);
            run(C::ReduceScatter, reduce_scatter::ALGORITHMS, &args, &args.shape(place, t), place, t, s)
        }
        Call::ReduceScatterBlock(data) => {
            let args = reduce_scatter::Args::block(data, place);
            run(C::ReduceScatter, reduce_scatter::ALGORITHMS, &args, &args.shape(place, t), place, t, s)
        }
        Call::Scan(data) => run(C::Scan, scan::ALGORITHMS, &data, &data.shape(place, t), place, t, s),
        Call::Exscan(data) => {
            let args = exscan::Args::new(data);
            run(C::Exscan, exscan::ALGORITHMS, &args, &data.shape(place, t), place, t, s)
        }
        Call::Gather { root, send, recv, in_place } | Call::Gatherv { root, send, recv, in_place } => {
            let args = gather::Args { root, send, recv, in_place, uniform: matches!(call, Call::Gather { .. }) };
            run(C::Gather, gather::Args::ALGORITHMS, &args, &args.shape(place, t), place, t, s)
        }
        Call::Scatter { root, send, recv, in_place } | Call::Scatterv { root, send, recv, in_place } => {
            let args = scatter::Args { root, send, recv, in_place, uniform: matches!(call, Call::Scatter { .. }) };
            run(C::Scatter, scatter::Args::ALGORITHMS, &args, &args.shape(place, t), place, t, s)
        }
        Call::Allgather { send, recv, in_place } | Call::Allgatherv { send, recv, in_place } => {
            let uniform = matches!(call, Call::Allgather { .. });
            let args = allgather::Args { send, recv, in_place, uniform };
            run(C::Allgather, allgather::Args::ALGORITHMS, &args, &args.shape(place, t), place, t, s)
        }
        Call::Alltoall { send, recv, in_place }
        | Call::Alltoallv { send, recv, in_place }
        | Call::Alltoallw { send, recv, in_place } => {
            let uniform = matches!(call, Call::Alltoall { .. });
            let args = alltoall::Args { send, recv, in_place, uniform };
            run(C::Alltoall, alltoall::Args::ALGORITHMS, &args, &args.shape(place, t), place, t, s)
        }
        Call::NeighborAllgather { near, send, recv } => {
            let args = neighbor::Args { near, send: neighbor::Outgoing::Same(send), recv };
            run(C::Neighbor, neighbor::Args::ALGORITHMS, &args, &args.shape(place), place, t, s)
        }
        Call::NeighborAlltoall { near, send, recv } => {
            let args = neighbor::Args { near, send: neighbor::Outgoing::Each(send), recv };
            run(C::Neighbor, neighbor::Args::ALGORITHMS, &args, &args.shape(place), place, t, s)
        }
    }
}

fn run<A>(
    collective: Collective,
    rows: &[Algorithm<A>],
    args: &A,
    shape: &Shape,
    place: Place,
    tuning: &Tuning,
    schedule: &mut Schedule,
) -> &'static str {
    let row = choose(rows, tuning.forced.0[collective as usize], shape, tuning);
    (row.build)(args, place, tuning, schedule);
    row.name
}

/// Up to this length a host step is the cheapest wherever there is one: what costs say of other rows takes longer than the step.
pub const ALWAYS_BY_FLAGS: u64 = 512;

/// The forced row if it fits, else the cheapest that does; of equals the first in the table. Rows of host steps come first.
pub(crate) fn choose<'a, A>(rows: &'a [Algorithm<A>], forced: u8, shape: &Shape, tuning: &Tuning) -> &'a Algorithm<A> {
    if let Some(row) = (forced as usize).checked_sub(1).map(|i| &rows[i]).filter(|row| (row.fits)(shape, tuning)) {
        return row;
    }
    if shape.host && shape.bytes <= ALWAYS_BY_FLAGS && (rows[0].fits)(shape, tuning) {
        return &rows[0];
    }
    let fitting = rows.iter().filter(|row| (row.fits)(shape, tuning));
    let cheapest = fitting.map(|row| ((row.cost)(shape, tuning), row)).reduce(|a, b| if b.0 < a.0 { b } else { a });
    cheapest.expect("each table has an algorithm for every call").1
}
