//! The launcher's own parameters, and the table of all parameters that a job reads.

use hawser_base::Result;
use hawser_base::param::{Param, ParamKind, ReadTime};
use hawser_base::value::{T_SCOPE_LOCAL, T_VERBOSITY_TUNER_DETAIL, T_VERBOSITY_USER_BASIC};

pub static HANG: Param = Param {
    name: "HAWSER_HANG_S",
    kind: ParamKind::Number { min: 0, max: 1_000_000 },
    default: "60",
    help: "seconds without progress of any rank after which mpiexec prints which rank waits for which; 0: never",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_USER_BASIC,
    read: ReadTime::AtStart,
};

pub static UNREACHED: Param = Param {
    name: "HAWSER_UNREACHED_S",
    kind: ParamKind::Number { min: 0, max: 1_000_000 },
    // A switch port that comes up under the Spanning Tree Protocol may forward nothing for 20 s and then twice for 15
    // s (IEEE 802.1D-2004, table 17-1).
    default: "60",
    help: "seconds in which two ranks of different hosts are both in MPI and nothing between them is acknowledged, \
           after which mpiexec lists the ports that were tried and ends the job; 0: never",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_USER_BASIC,
    read: ReadTime::AtStart,
};

pub static STATS: Param = Param {
    name: "HAWSER_STATS",
    kind: ParamKind::Flag,
    default: "0",
    help: "print every rank's counters when the job ends",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_USER_BASIC,
    read: ReadTime::AtStart,
};

pub static MEMBARRIER: Param = Param {
    name: "HAWSER_MEMBARRIER",
    kind: ParamKind::Flag,
    default: "1",
    help: "let ranks use membarrier(2) for their doorbells if each rank has a core",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_TUNER_DETAIL,
    read: ReadTime::AtStart,
};

pub static TIMEOUT: Param = Param {
    name: "MPIEXEC_TIMEOUT",
    kind: ParamKind::Number { min: 0, max: 1_000_000_000 },
    default: "0",
    help: "seconds after which mpiexec reports the state of each rank and ends the job; 0: never (--timeout)",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_USER_BASIC,
    read: ReadTime::AtStart,
};

/// Whether ranks may use membarrier(2), if the kernel offers it.
pub fn may_membarrier() -> bool {
    MEMBARRIER.flag().unwrap_or(true)
}

/// The parameters that the launcher reads from its environment.
static PARAMS: [&Param; 5] = [&HANG, &UNREACHED, &STATS, &MEMBARRIER, &TIMEOUT];

/// The parameters of the launcher and of the ranks.
pub fn all() -> Vec<&'static Param> {
    PARAMS.into_iter().chain(hawser_node::params()).collect()
}

/// Refuses an invalid value of a parameter once, here, before every rank would refuse it.
pub fn check() -> Result<()> {
    PARAMS.into_iter().filter(|param| param.is_set()).try_for_each(Param::check)?;
    hawser_node::check_params()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_node::unknown_variables;

    #[test]
    fn no_parameter_is_taken_for_a_misspelt_one() {
        assert_eq!(unknown_variables::warnings(all().into_iter().map(|param| param.name.into())), Vec::<String>::new());
    }
}
