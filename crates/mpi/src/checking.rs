//! The switch `HAWSER_CHECK`: if it is on, calls of collectives are compared (`collective::argument_compare`), and
//! what a program does not free before MPI_Finalize is reported (`leaks`).
//!
//! Used by `collective` and `leaks`, and by `node`, which lists the parameter.

use hawser_base::param::{Param, ParamKind, ReadTime};
use hawser_base::value::{T_SCOPE_ALL_EQ, T_VERBOSITY_USER_BASIC};
use std::sync::OnceLock;

pub static CHECK: Param = Param {
    name: "HAWSER_CHECK",
    kind: ParamKind::Flag,
    default: "0",
    help: "compare the arguments of collectives on all members before they begin, and list the MPI objects that were \
           not freed at MPI_Finalize",
    scope: T_SCOPE_ALL_EQ,
    verbosity: T_VERBOSITY_USER_BASIC,
    read: ReadTime::AtStart,
};

/// Tells whether the checks are requested; a wrong value was refused at the start.
pub fn is_enabled() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    *ON.get_or_init(|| CHECK.flag().unwrap_or(false))
}
