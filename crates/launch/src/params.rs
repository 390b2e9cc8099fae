//! The launcher's own parameters.

use hawser_base::param::{Kind, Param};

pub const HANG: Param = Param {
    name: "HAWSER_HANG_S",
    kind: Kind::Number { min: 0, max: 1_000_000 },
    default: "60",
    help: "seconds without progress of any rank after which mpiexec prints who waits for whom; 0 never does",
};

pub const STATS: Param = Param {
    name: "HAWSER_STATS",
    kind: Kind::Flag,
    default: "0",
    help: "print every rank's counters when the job ends",
};

pub const MEMBARRIER: Param = Param {
    name: "HAWSER_MEMBARRIER",
    kind: Kind::Flag,
    default: "1",
    help: "let ranks use membarrier(2) for their doorbells where there is a core for each",
};

pub const TIMEOUT: Param = Param {
    name: "MPIEXEC_TIMEOUT",
    kind: Kind::Number { min: 0, max: 1_000_000_000 },
    default: "0",
    help: "seconds after which mpiexec reports and ends the job; 0 never does (--timeout)",
};

/// What the launcher reads from its environment.
pub static PARAMS: &[Param] = &[HANG, STATS, MEMBARRIER, TIMEOUT];
