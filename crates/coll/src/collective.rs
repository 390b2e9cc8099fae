//! The collectives by name. Their tables of algorithms are in `select`, which uses every algorithm.

/// The collectives that have a table; the v- and w-variants share that of the regular one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    Barrier,
    Bcast,
    Reduce,
    Allreduce,
    ReduceScatter,
    Scan,
    Exscan,
    Gather,
    Scatter,
    Allgather,
    Alltoall,
    Neighbor,
}

impl Collective {
    pub const ALL: &'static [Collective] = &[
        Collective::Barrier,
        Collective::Bcast,
        Collective::Reduce,
        Collective::Allreduce,
        Collective::ReduceScatter,
        Collective::Scan,
        Collective::Exscan,
        Collective::Gather,
        Collective::Scatter,
        Collective::Allgather,
        Collective::Alltoall,
        Collective::Neighbor,
    ];
}
