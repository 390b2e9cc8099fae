//! The table of all parameters: each crate's rows, and those that choose between crates.
//!
//! It feeds the check at the start, `hawser-info`, `mpiexec --info` and MPI_T. A parameter's row stands beside the code
//! that uses it; only its crate's table is named here.

use crate::device_selection::DeviceSelection;
use crate::mpit_categories;
use hawser_base::Result;
use hawser_base::param::{Param, ParamKind, ReadTime};
use hawser_base::value::{T_SCOPE_ALL_EQ, T_SCOPE_LOCAL, T_VERBOSITY_TUNER_BASIC, T_VERBOSITY_TUNER_DETAIL};

pub static EAGER: Param = Param {
    name: "HAWSER_EAGER",
    kind: ParamKind::Bytes { min: 0, max: 1 << 30 },
    default: "",
    help: "longest message that is sent without asking the receiver, in bytes; empty: as the devices measure best. \
           Beyond 8 KiB, memory of MPI_Alloc_mem is read in place instead",
    scope: T_SCOPE_ALL_EQ,
    verbosity: T_VERBOSITY_TUNER_BASIC,
    read: ReadTime::AtStart,
};

/// With the default (`WINDOW_EAGERS`) 64 messages of a packet each are in flight before a sender needs an RTS, as many
/// as windows of programs have.
pub static WINDOW: Param = Param {
    name: "HAWSER_WINDOW",
    kind: ParamKind::Bytes { min: 0, max: 1 << 40 },
    default: "",
    help: "bytes of unexpected messages that a rank keeps for each peer before senders must ask; empty: 8 x HAWSER_EAGER",
    scope: T_SCOPE_ALL_EQ,
    verbosity: T_VERBOSITY_TUNER_BASIC,
    read: ReadTime::AtStart,
};

/// The number of messages of HAWSER_EAGER bytes in the default window.
pub const WINDOW_EAGERS: u64 = 8;

/// Sender and receiver copy a message of one packet one after the other, not at once, but a second packet and its
/// passage through the queues cost more up to the default (docs/measurements/2026-11-23-message-rate.md).
pub static PACKET: Param = Param {
    name: "HAWSER_PACKET",
    kind: ParamKind::Bytes { min: 1 << 10, max: 1 << 20 },
    default: "16k",
    help: "longest message that travels in one packet, in bytes; cut to what the devices take",
    scope: T_SCOPE_ALL_EQ,
    verbosity: T_VERBOSITY_TUNER_DETAIL,
    read: ReadTime::AtStart,
};

/// The part of a message that a receiver copies while the sender copies the next bytes.
pub static FIRST: Param = Param {
    name: "HAWSER_FIRST",
    kind: ParamKind::Bytes { min: 1 << 10, max: 1 << 20 },
    default: "8k",
    help: "first bytes of a longer message, which travel with its envelope; no more than HAWSER_PACKET",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_TUNER_DETAIL,
    read: ReadTime::AtStart,
};

/// Every parameter that a rank reads.
pub fn all() -> Vec<&'static Param> {
    mpit_categories::params().collect()
}

/// Checks every value that the environment sets.
pub fn check() -> Result<()> {
    all().into_iter().filter(|param| param.is_set()).try_for_each(Param::check)?;
    DeviceSelection::from_environment().map(drop)
}
