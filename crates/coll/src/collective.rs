//! The collectives, by name. `select` has the table of algorithms of each.

/// The collectives that have a table of algorithms. The variants with v and w share the table of the regular
/// collective.
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
