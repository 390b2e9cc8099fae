//! Measurements of the host, which its first process makes before ranks join. They take about two milliseconds. Uses
//! `os`; used by `manual_start` and by `launch`'s agent, which publish the figures in the segment.

use hawser_job::{HostFacts, ProcessVm};
use hawser_os::{clock, cpus, membarrier, process_vm};
use std::hint::black_box;

/// The number of bytes that is copied: large enough to leave the inner caches, small enough to be quick.
const PROBE_BYTES: usize = 1 << 20;
const TRIES: u32 = 3;

/// Measures the host for `local` ranks; for a single rank no copying is measured, because it has no other to copy
/// from. `may_membarrier` says whether the user permits membarrier(2).
pub fn measure(local: usize, may_membarrier: bool) -> HostFacts {
    let cores = cpus::available() as u32;
    // With fewer cores than ranks, the ranks sleep often, and the sleepers' barriers would cost more than the wakers'
    // fences.
    let membarrier = may_membarrier && local > 1 && local <= cores as usize && membarrier::is_supported();
    let mut facts = HostFacts { cores, membarrier, ..HostFacts::default() };
    if local > 1 {
        let from = vec![1u8; PROBE_BYTES];
        facts.memcpy_mb_s = mb_per_s(PROBE_BYTES, memcpy_ns(&from));
        if process_vm::allowed_between_children() {
            facts.process_vm = ProcessVm::Allowed;
            facts.process_vm_mb_s = process_vm::time_ns(&from, TRIES).map_or(0, |ns| mb_per_s(PROBE_BYTES, ns));
            facts.process_vm_fixed_ns = process_vm::time_ns(&from[..1], TRIES).unwrap_or(0) as u32;
        }
    }
    facts
}

/// Measures the host if the first process is itself one of the `local` ranks. It may have threads, so that it must
/// not fork: it does not try whether ranks may copy from each other's memory, which counts as forbidden.
pub fn without_fork(local: usize) -> HostFacts {
    let mut facts = HostFacts { cores: cpus::available() as u32, ..HostFacts::default() };
    if local > 1 {
        facts.memcpy_mb_s = mb_per_s(PROBE_BYTES, memcpy_ns(&[1; PROBE_BYTES]));
    }
    facts
}

fn memcpy_ns(from: &[u8]) -> u64 {
    let mut to = vec![2u8; from.len()];
    let once = |_| {
        let start_ns = clock::now_ns();
        to.copy_from_slice(black_box(from));
        black_box(&mut to);
        clock::now_ns() - start_ns
    };
    (0..TRIES).map(once).min().unwrap_or(0)
}

fn mb_per_s(bytes: usize, ns: u64) -> u32 {
    (bytes as u64 * 1000 / ns.max(1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_found_quickly() {
        let start_ns = clock::now_ns();
        let facts = measure(2, true);
        assert!(facts.cores >= 1 && facts.memcpy_mb_s > 0);
        assert_eq!(facts.process_vm == ProcessVm::Allowed, facts.process_vm_mb_s > 0);
        assert!(clock::now_ns() - start_ns < 1_000_000_000);
        assert_eq!(measure(1, true).memcpy_mb_s, 0);
    }
}
