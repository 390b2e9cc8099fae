//! Floor 5: the semantics of MPI, without an ABI and without a device's name.

#![forbid(unsafe_code)]

pub mod matching;
