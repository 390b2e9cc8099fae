//! The cost model of calls: the figures of a communicator, the bounds of a schedule, and the shape of a call.
//!
//! Costs are plain IEEE arithmetic in a fixed order, so that equal inputs give equal costs on every machine. Nothing
//! here knows an algorithm. `node` measures the figures; `tuning` and the costs in the tables use them.

/// The shape of a call: the facts that all ranks know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallShape {
    pub size: u32,
    /// The vector (bcast, reductions), all blocks together (allgather, reduce_scatter) or one block
    /// (gather, scatter, alltoall); 0 where not every rank knows it (gatherv, scatterv, alltoallv, -w).
    pub bytes: u64,
    /// All blocks are equal.
    pub uniform: bool,
    pub commutative: bool,
    pub in_place: bool,
    /// Shm steps can carry the data.
    pub has_shm_steps: bool,
}

impl CallShape {
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
pub struct CostModel {
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
    pub shm_step_us: f64,
    pub shm_step_rank_us: f64,
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
const OVERSUBSCRIBED_COPIES: f64 = 3.0;

/// Bytes in flight from a rank to all others that its memory holds where they are few, and those of all ranks where
/// they are many (`dev-shm`); a message that is longer than its pair's share needs one more turn each time.
const FEW_RANKS_BUFFER_BYTES: f64 = 1048576.0;
const MANY_RANKS_BUFFER_BYTES: f64 = 2.5 * 1048576.0;
const FEW_RANKS: u32 = 4;

/// The slots of a member. In steps that do not hold up a member that only contributes, this many pass in one turn.
const PIPELINED_STEPS: f64 = 2.0;

impl CostModel {
    /// Shared memory with a core for each rank: the figures of docs/measurements/2026-11-21-peers-and-floors.md and
    /// half of the cache-line round trip a rank. A message: as collectives use them (4 KiB take 0.9 where a ping-pong
    /// takes 0.4).
    pub const SHARED_MEMORY: CostModel = CostModel {
        message_us: 0.6,
        overhead_us: 0.08,
        overhead_of_all_us: 0.08,
        byte_us: 48e-6,
        reduce_us: 60e-6,
        copy_us: 40e-6,
        shm_step_us: 0.15,
        shm_step_rank_us: 0.04,
        load: 1.0,
    };

    /// The model for more ranks than cores: between two rounds every rank of a core must have had its turn, and work
    /// that all ranks do at the same time takes as many times as long as there are ranks on a core.
    pub fn oversubscribed(ranks: u32, cores: u32) -> CostModel {
        let load = (f64::from(ranks) / f64::from(cores.max(1))).max(1.0);
        let (switch_us, plain) = (SWITCH_US * load, CostModel::SHARED_MEMORY);
        let (own, pairs) = (f64::from(ranks), f64::from(ranks) * f64::from(ranks));
        let buffer_bytes =
            if ranks <= FEW_RANKS { FEW_RANKS_BUFFER_BYTES / own } else { MANY_RANKS_BUFFER_BYTES / pairs };
        CostModel {
            message_us: switch_us,
            overhead_us: 0.5,
            overhead_of_all_us: 0.5,
            byte_us: OVERSUBSCRIBED_COPIES * plain.copy_us * load + switch_us / buffer_bytes,
            reduce_us: plain.reduce_us * load,
            copy_us: plain.copy_us * load,
            shm_step_us: switch_us,
            load,
            ..plain
        }
    }

    /// The model of a communicator: `one_host` if all its members are on one host; with the ranks and cores of that
    /// host.
    pub fn of(one_host: bool, ranks: u32, cores: u32) -> CostModel {
        match one_host {
            false => CostModel::ETHERNET,
            true if ranks > cores => CostModel::oversubscribed(ranks, cores),
            true => CostModel::SHARED_MEMORY,
        }
    }

    /// Ethernet at 10 Gbit/s through raw frames, of which each takes 1.2 to 1.9 us at both ends
    /// (docs/measurements/2026-11-22-frame-ports.md).
    pub const ETHERNET: CostModel = CostModel {
        message_us: 5.0,
        overhead_us: 0.5,
        overhead_of_all_us: 1.5,
        byte_us: 800e-6,
        ..CostModel::SHARED_MEMORY
    };

    /// The cost of one message of `bytes`.
    pub(crate) fn message_cost_us(&self, bytes: f64) -> f64 {
        self.message_us + bytes * self.byte_us
    }

    /// The cost of `steps` shm steps, one after the other.
    pub(crate) fn shm_steps_us(&self, shape: &CallShape, steps: f64) -> f64 {
        steps * (self.shm_step_us + shape.p() * self.shm_step_rank_us)
    }

    /// The cost of copying `bytes` through slots: with more ranks than cores the bytes are in no near cache any more
    /// when they are read (fitted).
    pub(crate) fn slot_copy_us(&self, bytes: f64) -> f64 {
        bytes * self.copy_us * (self.load / 2.0).max(1.0)
    }

    /// The cost of the root's copies of all blocks but its own; the others copy theirs meanwhile, but for those of the
    /// first step.
    pub(crate) fn root_slot_copy_us(&self, shape: &CallShape, limits: &ScheduleLimits) -> f64 {
        let alone = shape.bytes.min(limits.shm_step_bytes) as f64;
        self.slot_copy_us((shape.p() - 1.0) * shape.n() + alone) / self.load
    }

    /// The same where a member that only writes, or only reads, need not wait for each step.
    pub(crate) fn pipelined_steps_us(&self, shape: &CallShape, steps: f64) -> f64 {
        self.shm_steps_us(shape, (steps / PIPELINED_STEPS).max(1.0))
    }

    /// The cost of one rank folding a byte of all contributions while the others wait.
    pub(crate) fn fold_us(&self, shape: &CallShape) -> f64 {
        (shape.p() - 1.0) * self.reduce_us / self.load
    }
}

/// Bounds that schedules respect; the same on all ranks of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleLimits {
    /// The most bytes of one shm step.
    pub shm_step_bytes: u64,
    /// The most sends, and the most receives, of one round of a linear algorithm.
    pub outstanding: u32,
    /// The most bytes of a block that other ranks forward where only sender and receiver know its length.
    pub max_forwarded_bytes: u64,
}

impl ScheduleLimits {
    /// The bounds that fit a host of 64 ranks; as many messages in flight as rings and credits hold without a stall. A
    /// block is forwarded within a host twice, and copied twice, where that costs less than the message that it saves.
    pub const DEFAULT: ScheduleLimits =
        ScheduleLimits { shm_step_bytes: 8192, outstanding: 16, max_forwarded_bytes: 2048 };

    /// The number of shm steps for a vector of `bytes`.
    pub(crate) fn shm_steps(&self, bytes: u64) -> f64 {
        bytes.div_ceil(self.shm_step_bytes.max(1)).max(1) as f64
    }
}

const _: () = {
    let (within, far) = (CostModel::SHARED_MEMORY, CostModel::ETHERNET);
    let via_us = ScheduleLimits::DEFAULT.max_forwarded_bytes as f64 * 2.0 * (within.byte_us + within.copy_us);
    assert!(via_us < far.overhead_us);
};

/// The bytes of all ranks' results that the last cache holds together with their sources and the slots; longer data
/// come from memory, where one copy is better than two (32 MiB, of which a third; measured with 4 and 8 ranks,
/// docs/measurements/2026-11-23-collectives.md).
pub(crate) const CACHE_BYTES: f64 = 10.0 * 1048576.0;
