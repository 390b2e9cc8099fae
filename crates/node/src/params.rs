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
    help: "longest eager message, in bytes; longer ones use rendezvous; empty: the value that measured best for each \
           device. Messages of more than 8 KiB in memory of MPI_Alloc_mem are read in place instead",
    scope: T_SCOPE_ALL_EQ,
    verbosity: T_VERBOSITY_TUNER_BASIC,
    read: ReadTime::AtStart,
};

/// The credit for each peer. By default a sender in shared memory can have eight of the longest eager messages in
/// flight before it needs an RTS (`WINDOW_EAGERS`): 1 MiB, 64 messages of one packet each, as many as programs that
/// send in windows usually have. Between hosts it can have 4 MiB (`WINDOW_MAX_BYTES`), more than four of the longest.
pub static WINDOW: Param = Param {
    name: "HAWSER_WINDOW",
    kind: ParamKind::Bytes { min: 0, max: 1 << 40 },
    default: "",
    help: "bytes of unexpected messages that a rank keeps for each peer (credit); beyond that senders need a \
           request-to-send; empty: 8 x HAWSER_EAGER, but 4 MiB between hosts if that is not set",
    scope: T_SCOPE_ALL_EQ,
    verbosity: T_VERBOSITY_TUNER_BASIC,
    read: ReadTime::AtStart,
};

/// The number of messages of HAWSER_EAGER bytes in the default window, and the most bytes of such a window if
/// HAWSER_EAGER is not set: what a sender keeps for a peer on another host.
pub const WINDOW_EAGERS: u64 = 8;
pub const WINDOW_MAX_BYTES: u64 = hawser_dev_ether::RETAINED_MAX_BYTES as u64;

/// The longest message of one packet. Sender and receiver copy such a message one after the other, and one of several
/// packets at the same time. But up to the default length, a second packet and its passage through the queues cost
/// more than that saves (docs/measurements/2026-11-23-message-rate.md).
pub static PACKET: Param = Param {
    name: "HAWSER_PACKET",
    kind: ParamKind::Bytes { min: 1 << 10, max: 1 << 20 },
    default: "16k",
    help: "longest message that is sent in one packet, in bytes; limited to the longest packet of each device",
    scope: T_SCOPE_ALL_EQ,
    verbosity: T_VERBOSITY_TUNER_DETAIL,
    read: ReadTime::AtStart,
};

/// The first part of a message, which the receiver copies at the same time as the sender copies the next bytes.
pub static FIRST: Param = Param {
    name: "HAWSER_FIRST",
    kind: ParamKind::Bytes { min: 1 << 10, max: 1 << 20 },
    default: "8k",
    help: "number of first bytes of a longer message that are sent with its envelope; at most HAWSER_PACKET",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_TUNER_DETAIL,
    read: ReadTime::AtStart,
};

/// The switch of the write protocol. A job without it is NSR in the measurements of MPI/MBCF §4, and one with
/// HAWSER_OFFER_FROM=0 is SR.
pub static RTR: Param = Param {
    name: "HAWSER_RTR",
    kind: ParamKind::Flag,
    default: "on",
    help: "whether posted receives are announced to their senders by RTRs (ready to receive); without them the sender \
           of a long message always asks first",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_TUNER_DETAIL,
    read: ReadTime::AtStart,
};

/// The length from which precedence decides the method, as in MPI/MBCF §3.1.1: 0 is the paper's protocol. Below the
/// eager limit of each device it loses nearly everywhere (docs/measurements/2026-11-26-write-protocol.md).
pub static OFFER_FROM: Param = Param {
    name: "HAWSER_OFFER_FROM",
    kind: ParamKind::Bytes { min: 0, max: 1 << 40 },
    default: "",
    help: "shortest posted receive that is announced by an RTR, in bytes, and shortest message that replies to one \
           instead of being sent eagerly; 0: every one; empty: those longer than HAWSER_EAGER",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_TUNER_DETAIL,
    read: ReadTime::AtStart,
};

/// The joining of nonblocking sends (`p2p::send_run`). A message that waits for others leaves with the next call that
/// makes progress: a program whose receivers need each message at once, while it computes, sets 0.
pub static JOIN: Param = Param {
    name: "HAWSER_JOIN",
    kind: ParamKind::Bytes { min: 0, max: 1 << 40 },
    default: "",
    help: "longest message, in bytes, that is joined with others if a program starts many nonblocking sends to a peer \
           on another host one after another; later ones may leave only with the next MPI call that waits, tests, \
           receives or sends otherwise; 0: none; empty: the longest that the device joins; without effect with HAWSER_PROGRESS",
    scope: T_SCOPE_LOCAL,
    verbosity: T_VERBOSITY_TUNER_DETAIL,
    read: ReadTime::AtStart,
};

/// Returns every parameter that a rank reads.
pub fn all() -> Vec<&'static Param> {
    mpit_categories::params().collect()
}

/// Checks every value that the environment sets.
pub fn check() -> Result<()> {
    all().into_iter().filter(|param| param.is_set()).try_for_each(Param::check)?;
    DeviceSelection::from_environment().map(drop)
}
