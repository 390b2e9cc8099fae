//! The cost model of calls: the figures of a communicator, the bounds of a schedule, and the shape of a call.
//!
//! Costs are plain IEEE arithmetic in a fixed order, so that equal inputs give equal costs on every machine. Nothing
//! here knows an algorithm. `node` measures the figures; `tuning` and the costs in the tables use them.

/// The shape of a call: the facts that all ranks know.
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
    /// Shm steps can carry the data.
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

/// The costs of communication within a communicator, in microseconds; the same on all its ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// The time from the call of a send to the return of the receive, for an empty message; with its share of planning
    /// and posting.
    pub message_us: f64,
    /// The cost of each further message that is in flight beside others.
    pub overhead_us: f64,
    /// The same if all ranks have equally many that leave and that arrive.
    pub overhead_of_all_us: f64,
    /// The cost of a byte sent.
    pub byte_us: f64,
    /// The cost of a byte of a vector reduced into another, while all ranks do this.
    pub reduce_us: f64,
    /// The cost of a byte copied within a rank, while all ranks do this.
    pub copy_us: f64,
    /// The cost of a shm step, and its share for each rank of the communicator.
    pub host_us: f64,
    pub host_rank_us: f64,
    /// Ranks per core (at least 1). Work that one rank does alone takes 1/load of the time that it takes while all
    /// ranks do it.
    pub load: f64,
}

/// A wake-up and a change of process: the barrier of Intel MPI takes 53 µs for the four rounds of 16 ranks on 2 cores
/// (docs/measurements/2026-11-21-peers-and-floors.md), which is eight of these a round.
const SWITCH_US: f64 = 53.0 / (4.0 * 8.0);

/// Copies of memory that a byte of a message costs with more ranks than cores: into shared memory and out of it, on
/// cores that other ranks need meanwhile, and what cold caches add (fitted to
/// docs/measurements/2026-11-23-collectives.md).
const CROWDED_COPIES: f64 = 3.0;

/// Bytes in flight from a rank to all others that its memory holds where they are few, and those of all ranks where
/// they are many (`dev-shm`); a message that is longer than its pair's share needs one more turn each time.
const ROOM_OF_FEW: f64 = 1048576.0;
const ROOM_OF_ALL: f64 = 2.5 * 1048576.0;
const FEW: u32 = 4;

/// The slots of a member. In steps that do not hold up a member that only contributes, this many pass in one turn.
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

    /// The model for more ranks than cores: between two rounds every rank of a core must have had its turn, and work
    /// that all ranks do at the same time takes as many times as long as there are ranks on a core.
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

    /// The model of a communicator: `one_host` if all its members are on one host; with the ranks and cores of that
    /// host.
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

    /// The cost of one message of `bytes`.
    pub(crate) fn message(&self, bytes: f64) -> f64 {
        self.message_us + bytes * self.byte_us
    }

    /// The cost of `steps` shm steps, one after the other.
    pub(crate) fn steps(&self, shape: &Shape, steps: f64) -> f64 {
        steps * (self.host_us + shape.p() * self.host_rank_us)
    }

    /// The cost of copying `bytes` through slots: with more ranks than cores the bytes are in no near cache any more
    /// when they are read (fitted).
    pub(crate) fn slots(&self, bytes: f64) -> f64 {
        bytes * self.copy_us * (self.load / 2.0).max(1.0)
    }

    /// The cost of the root's copies of all blocks but its own; the others copy theirs meanwhile, but for those of the
    /// first step.
    pub(crate) fn slots_of_root(&self, shape: &Shape, limits: &Limits) -> f64 {
        let alone = shape.bytes.min(limits.host_bytes) as f64;
        self.slots((shape.p() - 1.0) * shape.n() + alone) / self.load
    }

    /// The same where a member that only writes, or only reads, need not wait for each step.
    pub(crate) fn steps_ahead(&self, shape: &Shape, steps: f64) -> f64 {
        self.steps(shape, (steps / STEPS_AHEAD).max(1.0))
    }

    /// The cost of one rank folding a byte of all contributions while the others wait.
    pub(crate) fn fold_us(&self, shape: &Shape) -> f64 {
        (shape.p() - 1.0) * self.reduce_us / self.load
    }
}

/// Bounds that schedules respect; the same on all ranks of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of one shm step.
    pub host_bytes: u64,
    /// The most sends, and the most receives, of one round of a linear algorithm.
    pub outstanding: u32,
    /// The most bytes of a block that other ranks forward where only sender and receiver know its length.
    pub via_bytes: u64,
}

impl Limits {
    /// The bounds that fit a host of 64 ranks; as many messages in flight as rings and credits hold without a stall. A
    /// block is forwarded within a host twice, and copied twice, where that costs less than the message that it saves.
    pub const DEFAULT: Limits = Limits { host_bytes: 8192, outstanding: 16, via_bytes: 2048 };

    /// The number of shm steps for a vector of `bytes`.
    pub(crate) fn host_steps(&self, bytes: u64) -> f64 {
        bytes.div_ceil(self.host_bytes.max(1)).max(1) as f64
    }
}

const _: () = {
    let (within, far) = (Model::SHARED_MEMORY, Model::ETHERNET);
    let via_us = Limits::DEFAULT.via_bytes as f64 * 2.0 * (within.byte_us + within.copy_us);
    assert!(via_us < far.overhead_us);
};

/// The bytes of all ranks' results that the last cache holds together with their sources and the slots; longer data
/// come from memory, where one copy is better than two (32 MiB, of which a third; measured with 4 and 8 ranks,
/// docs/measurements/2026-11-23-collectives.md).
pub(crate) const CACHED: f64 = 10.0 * 1048576.0;
