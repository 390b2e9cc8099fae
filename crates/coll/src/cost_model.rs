//! The cost model of calls: the costs of communication in a communicator, the limits of a schedule, and the facts
//! about a call on which its cost depends (`CallShape`).
//!
//! Costs are plain IEEE arithmetic in a fixed order, so that equal inputs give equal costs on every machine. Nothing
//! here knows an algorithm, and nothing is measured: the figures are constants from the documents that they name.
//! Used by `tuning` and by the costs in the tables; `mpi` chooses the model of a communicator.

/// The shape of a call: those facts about it that all ranks know, so that all choose the same algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallShape {
    pub size: u32,
    /// The length in bytes of the vector (bcast, reductions), of all blocks together (allgather, reduce_scatter) or
    /// of one block (gather, scatter, alltoall); 0 if not every rank knows it (gatherv, scatterv, alltoallv,
    /// alltoallw).
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

    /// Returns the number of rounds of a binomial tree or of a dissemination: the binary logarithm of the size,
    /// rounded up.
    pub(crate) fn levels(&self) -> f64 {
        f64::from(self.size.next_power_of_two().trailing_zeros())
    }

    /// Returns the number of additional messages if the size is not a power of two: ranks outside the hypercube send
    /// their data to a rank inside, and receive the result.
    pub(crate) fn fold(&self) -> f64 {
        if self.size.is_power_of_two() { 0.0 } else { 2.0 }
    }
}

/// The costs of communication within a communicator, in microseconds. They must be the same on all its ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostModel {
    /// The time from the call of a send to the return of the receive, for an empty message. It includes the message's
    /// share of planning the schedule and posting the receive.
    pub message_us: f64,
    /// The cost of each further message that is in flight together with others.
    pub overhead_us: f64,
    /// The cost of each further message that is in flight together with others, if every rank sends and receives the
    /// same number of messages.
    pub overhead_of_all_us: f64,
    /// The cost of a byte sent.
    pub byte_us: f64,
    /// The cost of a byte of a vector reduced into another, while all ranks do this.
    pub reduce_us: f64,
    /// The cost of a byte copied within a rank, while all ranks do this.
    pub copy_us: f64,
    /// The fixed cost of a shm step; `shm_step_rank_us` is added for each rank of the communicator.
    pub shm_step_us: f64,
    pub shm_step_rank_us: f64,
    /// Ranks per core (at least 1). Work that one rank does alone takes 1/load of the time that it takes while all
    /// ranks do it.
    pub load: f64,
}

/// The cost of a wake-up and a context switch. Intel MPI's barrier of 16 ranks on 2 cores takes 53 µs
/// (docs/measurements/2026-11-21-peers-and-floors.md); it has four rounds, and eight such switches on each core in a
/// round.
const SWITCH_US: f64 = 53.0 / (4.0 * 8.0);

/// The cost of a byte of a message with more ranks than cores, in copies of a byte. The byte is copied into shared
/// memory and out of it, on cores that other ranks need at the same time; cold caches add the rest (fitted to
/// docs/measurements/2026-11-23-collectives.md).
const OVERSUBSCRIBED_COPIES: f64 = 3.0;

/// The size of the memory for messages in flight in `dev-shm`, in bytes: of each rank if a host has at most FEW_RANKS
/// ranks, of all ranks together if it has more. All pairs of ranks have equal shares of it. A message that is longer
/// than its pair's share needs one more context switch each time that the share is full.
const FEW_RANKS_BUFFER_BYTES: f64 = 1048576.0;
const MANY_RANKS_BUFFER_BYTES: f64 = 2.5 * 1048576.0;
const FEW_RANKS: u32 = 4;

/// The number of steps that a member that only contributes can execute without waiting: it has two slots.
const PIPELINED_STEPS: f64 = 2.0;

impl CostModel {
    /// The model of shared memory with a core for each rank. The figures are those of
    /// docs/measurements/2026-11-21-peers-and-floors.md; `shm_step_rank_us` is half the round trip of a cache line.
    /// The cost of a message is that of messages in collectives: 4 KiB take 0.9 µs there, whereas a ping-pong takes
    /// 0.4 µs.
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

    /// Returns the model of shared memory with more ranks than cores. Between two rounds every rank of a core must
    /// have run once, and work that all ranks do at the same time takes longer by the number of ranks on a core.
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

    /// Returns the model of a communicator. `one_host` says whether all its members are on one host; `ranks` and
    /// `cores` are the numbers of ranks and cores of this host.
    pub fn of(one_host: bool, ranks: u32, cores: u32) -> CostModel {
        match one_host {
            false => CostModel::ETHERNET,
            true if ranks > cores => CostModel::oversubscribed(ranks, cores),
            true => CostModel::SHARED_MEMORY,
        }
    }

    /// The model of Ethernet at 10 Gbit/s through raw frames, each of which takes 1.2 to 1.9 µs at both ends together
    /// (docs/measurements/2026-11-22-frame-ports.md).
    pub const ETHERNET: CostModel = CostModel {
        message_us: 5.0,
        overhead_us: 0.5,
        overhead_of_all_us: 1.5,
        byte_us: 800e-6,
        ..CostModel::SHARED_MEMORY
    };

    /// Returns the cost of one message of `bytes` bytes.
    pub(crate) fn message_cost_us(&self, bytes: f64) -> f64 {
        self.message_us + bytes * self.byte_us
    }

    /// Returns the cost of `steps` shm steps, one after the other.
    pub(crate) fn shm_steps_us(&self, shape: &CallShape, steps: f64) -> f64 {
        steps * (self.shm_step_us + shape.p() * self.shm_step_rank_us)
    }

    /// Returns the cost of copying `bytes` bytes through slots. With more than two ranks per core it is higher,
    /// because the bytes are in no near cache any more when they are read (fitted).
    pub(crate) fn slot_copy_us(&self, bytes: f64) -> f64 {
        bytes * self.copy_us * (self.load / 2.0).max(1.0)
    }

    /// Returns the cost of the root's copies of all blocks except its own. The other ranks copy their blocks at the
    /// same time, except those of the first step, whose cost is added.
    pub(crate) fn root_slot_copy_us(&self, shape: &CallShape, limits: &ScheduleLimits) -> f64 {
        let alone = shape.bytes.min(limits.shm_step_bytes) as f64;
        self.slot_copy_us((shape.p() - 1.0) * shape.n() + alone) / self.load
    }

    /// Returns the cost of `steps` shm steps if a member that only writes, or only reads, need not wait for the
    /// others in each step.
    pub(crate) fn pipelined_steps_us(&self, shape: &CallShape, steps: f64) -> f64 {
        self.shm_steps_us(shape, (steps / PIPELINED_STEPS).max(1.0))
    }

    /// Returns the cost for each byte of the vector if one rank reduces all contributions while the other ranks wait.
    pub(crate) fn fold_us(&self, shape: &CallShape) -> f64 {
        (shape.p() - 1.0) * self.reduce_us / self.load
    }
}

/// The limits that schedules obey. They must be the same on all ranks of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleLimits {
    /// The maximum length of a contribution to a shm step, in bytes.
    pub shm_step_bytes: u64,
    /// The maximum number of sends, and of receives, in one round of an algorithm in which a rank exchanges messages
    /// with many others.
    pub outstanding: u32,
    /// The maximum length in bytes of a block that other ranks forward, if only its sender and receiver know its
    /// length. Longer blocks are sent directly.
    pub max_forwarded_bytes: u64,
}

impl ScheduleLimits {
    /// The default limits. `shm_step_bytes` fits a host of 64 ranks. `outstanding` is the number of messages in
    /// flight that rings and credits hold without a stall. `max_forwarded_bytes` is a length for which two messages
    /// within a host and two copies cost less than the message between hosts that forwarding saves (asserted below).
    pub const DEFAULT: ScheduleLimits =
        ScheduleLimits { shm_step_bytes: 8192, outstanding: 16, max_forwarded_bytes: 2048 };

    /// Returns the number of shm steps for a vector of `bytes` bytes.
    pub(crate) fn shm_steps(&self, bytes: u64) -> f64 {
        bytes.div_ceil(self.shm_step_bytes.max(1)).max(1) as f64
    }
}

const _: () = {
    let (within, far) = (CostModel::SHARED_MEMORY, CostModel::ETHERNET);
    let via_us = ScheduleLimits::DEFAULT.max_forwarded_bytes as f64 * 2.0 * (within.byte_us + within.copy_us);
    assert!(via_us < far.overhead_us);
};

/// The maximum length in bytes of all ranks' results together up to which blocks are exchanged through slots. It is a
/// third of a last-level cache of 32 MiB, which then holds the results, their sources and the slots. Longer data come
/// from memory, where one copy is better than two (measured with 4 and 8 ranks,
/// docs/measurements/2026-11-23-collectives.md).
pub(crate) const CACHE_BYTES: f64 = 10.0 * 1048576.0;
