//! The numbers of the standard ABI (MPI-5.0 appendix A; abi_constants.tsv). Hawser uses the same values internally,
//! so that arguments are only checked here, and never translated.

use hawser_abi::{AbiLimits, Sentinels};
use hawser_base::Class;
use hawser_base::value::{self, Set};
use std::ffi::c_int;

/// MPI_ABI_VERSION, MPI_ABI_SUBVERSION.
pub const ABI_VERSION: (c_int, c_int) = (1, 0);

pub const SENTINELS: Sentinels = Sentinels {
    in_place: 1,
    buffer_automatic: 2,
    status_ignore: 0,
    statuses_ignore: 0,
    unweighted: 10,
    weights_empty: 11,
    dup_fn: Some(1),
};

pub const LIMITS: AbiLimits = AbiLimits {
    processor_name: 256,
    port_name: 1024,
    stringtag: 1024,
    pset_name: 1024,
    info_key: 256,
    bsend_overhead: 512,
};

pub fn value_in(set: Set, number: c_int) -> Option<c_int> {
    let mut known = value::ALL.iter().filter(|(s, _, _)| *s == set).map(|(_, _, v)| *v);
    let valid = match set {
        Set::Rank | Set::Tag => true,
        Set::Amode | Set::Assert => number & !known.fold(0, |all, flag| all | flag) == 0,
        _ => known.any(|v| v == number),
    };
    valid.then_some(number)
}

pub fn code_in(code: c_int) -> Option<c_int> {
    (code >= hawser_abi::errors::FIRST_USER_CODE || Class::from_value(code).is_some()).then_some(code)
}
