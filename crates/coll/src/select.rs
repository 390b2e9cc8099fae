//! Selection of the algorithm for a call.
//!
//! Every rank must choose the same algorithm, so the choice depends only on facts that every rank knows: the shape of
//! the call and the tuning of the communicator. Costs are plain IEEE arithmetic in a fixed order, so that equal
//! inputs give equal choices on every machine. Nothing is measured here. A parameter of each collective can force an
//! algorithm by name. If the forced algorithm does not fit a call (an algorithm of shm steps across hosts, one that
//! needs a commutative operation), the cost model chooses as if the parameter were not set.
//!
//! Used by `mpi`, by `node`, which collects the parameters, and by `inter` and `selection_table`; uses the tables of
//! all collectives.

pub use crate::algorithm::{ALWAYS_SHM_BYTES, ONE_STEP_BYTES};
use crate::algorithm::{Algorithm, choose, parameter_values};
use crate::call::{CollectiveCall, RankAndSize};
use crate::collective::Collective;
use crate::cost_model::CallShape;
use crate::schedule::Schedule;
use crate::tuning::{ForcedAlgorithms, Tuning};
use crate::{
    allgather, allreduce, alltoall, barrier, bcast, exscan, gather, neighbor, reduce, reduce_scatter, scan, scatter,
};
use hawser_base::param::{Param, ParamKind, ReadTime};
use hawser_base::value::{T_SCOPE_ALL_EQ, T_VERBOSITY_TUNER_BASIC};
use hawser_base::{Class, Error, Result};

macro_rules! collectives {
    ($($name:ident, $table:expr, $param:literal, $functions:literal;)*) => {
        impl Collective {
            /// Returns the values of the collective's parameter: "auto", then the names of its algorithms.
            pub const fn algorithms(self) -> &'static [&'static str] {
                match self {
                    $(Collective::$name => const { &parameter_values::<_, { $table.len() + 1 }>($table) }),*
                }
            }
        }

        /// The parameters that force an algorithm, one for each collective.
        pub static PARAMS: &[Param] = &[$(Param {
            name: $param,
            kind: ParamKind::Choice(Collective::$name.algorithms()),
            default: "auto",
            help: concat!("algorithm of ", $functions, ", used wherever it fits the call"),
            scope: T_SCOPE_ALL_EQ,
            verbosity: T_VERBOSITY_TUNER_BASIC,
            read: ReadTime::AtUse,
        }),*];

        // The rows must be in the order of the enumeration, because the index of a collective finds its parameter.
        const _: () = {
            let rows = [$(Collective::$name as usize),*];
            assert!(rows.len() == Collective::ALL.len());
            let mut at = 0;
            while at < rows.len() {
                assert!(rows[at] == Collective::ALL[at] as usize);
                at += 1;
            }
        };
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

impl ForcedAlgorithms {
    /// Returns the algorithms that the parameters force. An unknown name is an error that lists the known ones
    /// (MPI_ERR_ARG).
    pub fn from_params() -> Result<ForcedAlgorithms> {
        let mut forced = ForcedAlgorithms::NONE;
        for (&collective, param) in Collective::ALL.iter().zip(PARAMS) {
            forced = forced.with(collective, param.choice()?)?;
        }
        Ok(forced)
    }

    /// Tells whether the algorithm `name` is the one that is forced on `collective`, or none is forced.
    pub fn allows_only(&self, collective: Collective, name: &str) -> bool {
        let forced = usize::from(self.of(collective));
        forced == 0 || collective.algorithms()[forced] == name
    }

    /// Returns these choices with the algorithm `name` forced on `collective`. The name must be one of
    /// `Collective::algorithms` ("auto" forces none); otherwise it is an error (MPI_ERR_ARG).
    pub fn with(self, collective: Collective, name: &str) -> Result<ForcedAlgorithms> {
        let names = collective.algorithms();
        let index = names.iter().position(|w| *w == name).ok_or_else(|| {
            let known = names.join(", ");
            Error::new(Class::Arg, format!("{collective:?} has no algorithm {name}; take one of {known}"))
        })?;
        Ok(self.with_number(collective, index as u8))
    }
}

/// Clears `schedule` and writes this rank's schedule for `call` into it. Returns the name of the chosen algorithm.
pub fn plan(call: &CollectiveCall, place: RankAndSize, tuning: &Tuning, schedule: &mut Schedule) -> &'static str {
    schedule.clear();
    let name = dispatch(call, place, tuning, schedule);
    schedule.end_round();
    name
}

/// Chooses an algorithm, and appends this rank's schedule for `call` to the schedule `s`; the last round is not
/// closed. Returns the name of the algorithm.
pub(crate) fn dispatch(call: &CollectiveCall, place: RankAndSize, t: &Tuning, s: &mut Schedule) -> &'static str {
    use Collective as C;
    match *call {
        CollectiveCall::Barrier => run(C::Barrier, barrier::ALGORITHMS, &(), &barrier::shape(place, t), place, t, s),
        CollectiveCall::Bcast { root, data } => {
            let args = bcast::Args { root, data };
            run(C::Bcast, bcast::ALGORITHMS, &args, &args.shape(place, t), place, t, s)
        }
        CollectiveCall::Reduce { root, data } => {
            let args = reduce::Args::new(root, data, place);
            run(C::Reduce, reduce::ALGORITHMS, &args, &args.shape(place, t), place, t, s)
        }
        CollectiveCall::Allreduce(data) => {
            run(C::Allreduce, allreduce::ALGORITHMS, &data, &data.shape(place, t), place, t, s)
        }
        CollectiveCall::ReduceScatter { counts, data } => {
            let args = reduce_scatter::Args::new(counts, data, place);
            run(C::ReduceScatter, reduce_scatter::ALGORITHMS, &args, &args.shape(place, t), place, t, s)
        }
        CollectiveCall::ReduceScatterBlock(data) => {
            let args = reduce_scatter::Args::block(data, place);
            run(C::ReduceScatter, reduce_scatter::ALGORITHMS, &args, &args.shape(place, t), place, t, s)
        }
        CollectiveCall::Scan(data) => run(C::Scan, scan::ALGORITHMS, &data, &data.shape(place, t), place, t, s),
        CollectiveCall::Exscan(data) => {
            let args = exscan::Args::new(data);
            run(C::Exscan, exscan::ALGORITHMS, &args, &data.shape(place, t), place, t, s)
        }
        CollectiveCall::Gather { root, send, recv, in_place }
        | CollectiveCall::Gatherv { root, send, recv, in_place } => {
            let args =
                gather::Args { root, send, recv, in_place, uniform: matches!(call, CollectiveCall::Gather { .. }) };
            run(C::Gather, gather::Args::ALGORITHMS, &args, &args.shape(place, t), place, t, s)
        }
        CollectiveCall::Scatter { root, send, recv, in_place }
        | CollectiveCall::Scatterv { root, send, recv, in_place } => {
            let args =
                scatter::Args { root, send, recv, in_place, uniform: matches!(call, CollectiveCall::Scatter { .. }) };
            run(C::Scatter, scatter::Args::ALGORITHMS, &args, &args.shape(place, t), place, t, s)
        }
        CollectiveCall::Allgather { send, recv, in_place } | CollectiveCall::Allgatherv { send, recv, in_place } => {
            let uniform = matches!(call, CollectiveCall::Allgather { .. });
            let args = allgather::Args { send, recv, in_place, uniform };
            run(C::Allgather, allgather::Args::ALGORITHMS, &args, &args.shape(place, t), place, t, s)
        }
        CollectiveCall::Alltoall { send, recv, in_place }
        | CollectiveCall::Alltoallv { send, recv, in_place }
        | CollectiveCall::Alltoallw { send, recv, in_place } => {
            let uniform = matches!(call, CollectiveCall::Alltoall { .. });
            let args = alltoall::Args { send, recv, in_place, uniform };
            run(C::Alltoall, alltoall::Args::ALGORITHMS, &args, &args.shape(place, t), place, t, s)
        }
        CollectiveCall::NeighborAllgather { neighbors, send, recv } => {
            let args = neighbor::Args { neighbors, send: neighbor::SendBlocks::Same(send), recv };
            run(C::Neighbor, neighbor::Args::ALGORITHMS, &args, &args.shape(place), place, t, s)
        }
        CollectiveCall::NeighborAlltoall { neighbors, send, recv } => {
            let args = neighbor::Args { neighbors, send: neighbor::SendBlocks::Each(send), recv };
            run(C::Neighbor, neighbor::Args::ALGORITHMS, &args, &args.shape(place), place, t, s)
        }
    }
}

fn run<A>(
    collective: Collective,
    rows: &[Algorithm<A>],
    args: &A,
    shape: &CallShape,
    place: RankAndSize,
    tuning: &Tuning,
    schedule: &mut Schedule,
) -> &'static str {
    let always_shm_bytes = match collective {
        Collective::Bcast | Collective::Reduce | Collective::Allreduce | Collective::Allgather => ONE_STEP_BYTES,
        // The length in the shape is that of one block.
        Collective::Alltoall => ALWAYS_SHM_BYTES.max(ONE_STEP_BYTES / u64::from(shape.size)),
        _ => ALWAYS_SHM_BYTES,
    };
    let row = choose(rows, tuning.forced.of(collective), shape, tuning, always_shm_bytes);
    (row.build)(args, place, tuning, schedule);
    row.name
}
