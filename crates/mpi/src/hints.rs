//! Hints on a communicator (MPI-5.0 §7.4.4): the assertions of the application are kept and returned. No code here
//! relies on them, so a receive that breaks an assertion works all the same.
//!
//! As in MPICH, the known hints are returned from the start, with their default values; others are ignored. Used by
//! `comm` and `session`, and through the communicator by `abi::comm` and the modules that make communicators; uses
//! `info`.

use crate::info::Info;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// The assertions of the standard, each false until set.
const ASSERTIONS: [&[u8]; 5] = [
    b"mpi_assert_no_any_tag",
    b"mpi_assert_no_any_source",
    b"mpi_assert_exact_length",
    b"mpi_assert_allow_overtaking",
    b"mpi_assert_strict_persistent_collective_ordering",
];

/// The info key and value for the kinds of memory that buffers may use (MPI-5.0 §12.4.3): that of MPI_Alloc_mem (mpi)
/// and the program's own (system).
pub(crate) const MEMORY_KINDS: [&[u8]; 2] = [b"mpi_memory_alloc_kinds", b"mpi,system"];

/// The hints of one communicator: a bit for each assertion that holds.
#[derive(Default)]
pub struct Hints(AtomicU8);

impl Hints {
    /// Takes the known hints of `info`; a value that is no boolean changes nothing.
    pub fn set(&self, info: &Info) {
        for (i, key) in ASSERTIONS.iter().enumerate() {
            match info.get(key) {
                // partner of both writes: `info`; no other data depends on the bits
                Some(b"true" | b"1") => drop(self.0.fetch_or(1 << i, Relaxed)),
                Some(b"false" | b"0") => drop(self.0.fetch_and(!(1 << i), Relaxed)),
                _ => {}
            }
        }
    }

    /// Resets all hints.
    pub fn clear(&self) {
        self.0.store(0, Relaxed); // partner: `info`
    }

    /// All known hints with their current values.
    pub fn info(&self) -> Info {
        let bits = self.0.load(Relaxed);
        let mut info = Info::default();
        for (i, key) in ASSERTIONS.iter().enumerate() {
            info.set(key, if bits >> i & 1 == 1 { b"true" } else { b"false" });
        }
        let [key, kinds] = MEMORY_KINDS;
        info.set(key, kinds);
        info
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&[u8], &[u8])]) -> Info {
        let mut info = Info::default();
        pairs.iter().for_each(|(key, value)| info.set(key, value));
        info
    }

    #[test]
    fn assertions_are_false_until_set_and_keep_what_was_said_last() {
        let hints = Hints::default();
        let [tag, source, ..] = ASSERTIONS;
        let said = || [tag, source].map(|key| hints.info().get(key).map(<[u8]>::to_vec).unwrap());
        assert_eq!(said(), [b"false", b"false"]);
        hints.set(&given(&[(tag, b"true"), (b"colour", b"true")]));
        assert_eq!(said(), [&b"true"[..], b"false"]);
        hints.set(&given(&[(source, b"1"), (tag, b"maybe")]));
        assert_eq!(said(), [b"true", b"true"]);
        hints.set(&given(&[(tag, b"false")]));
        assert_eq!(said(), [&b"false"[..], b"true"]);
        assert_eq!(hints.info().get(b"colour"), None);
    }
}
