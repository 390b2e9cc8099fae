//! Measurements of the host, which its first process makes before ranks join. They take about two milliseconds. Uses
//! `os`; used by `gathering` and by `launch`'s agent, which publish the figures in the segment.

use hawser_job::{HostFacts, ProcessVm};
use hawser_os::copy_timing::{self, CopyTimes, MESSAGE_BYTES};
use hawser_os::{cpus, membarrier};

/// The percentage of the time by registers below which copies by the string instruction count as faster: more than the
/// noise of the measurement. On the only processor where they are, they took 65 to 83
/// (docs/measurements/2026-11-28-string-copies.md).
const STRING_PERCENT: u64 = 95;

/// Measures the host for `local` ranks; for a single rank no copying is measured, because it has no other to copy
/// from. `may_membarrier` says whether the user permits membarrier(2). Calls fork: only for processes of one thread.
pub fn measure(local: usize, may_membarrier: bool) -> HostFacts {
    let cores = cpus::available() as u32;
    // With fewer cores than ranks, the ranks sleep often, and the sleepers' barriers would cost more than the wakers'
    // fences.
    let membarrier = may_membarrier && local > 1 && local <= cores as usize && membarrier::is_supported();
    let mut facts = HostFacts { cores, membarrier, ..HostFacts::default() };
    if local > 1 {
        let times = copy_timing::measure(cores as usize);
        facts.process_vm = if times.call_ns > 0 { ProcessVm::Allowed } else { ProcessVm::Forbidden };
        facts.string_copies = is_string_faster(&times);
        let through_memory_ns = if facts.string_copies { times.by_string_ns } else { times.by_registers_ns };
        facts.through_memory_mb_s = mb_per_s(through_memory_ns);
        facts.process_vm_mb_s = mb_per_s(times.process_vm_ns);
        facts.process_vm_call_ns = u32::try_from(times.call_ns).unwrap_or(u32::MAX);
    }
    facts
}

/// Returns whether copies by the string instruction were measured to be faster.
fn is_string_faster(times: &CopyTimes) -> bool {
    times.by_string_ns > 0 && times.by_string_ns * 100 < times.by_registers_ns * STRING_PERCENT
}

/// Measures the host if the first process is itself one of the ranks. It may have threads, so that it must not fork: it
/// does not try whether ranks may copy from each other's memory, which counts as forbidden, and does not time copies.
pub fn without_fork() -> HostFacts {
    HostFacts { cores: cpus::available() as u32, ..HostFacts::default() }
}

/// Returns the rate at which a message was copied, in MB/s; 0 if it was not measured.
fn mb_per_s(ns: u64) -> u32 {
    (MESSAGE_BYTES as u64 * 1000).checked_div(ns).unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_os::clock;

    #[test]
    fn string_copies_are_used_where_they_are_clearly_faster() {
        let is_faster = |by_registers_ns, by_string_ns| {
            is_string_faster(&CopyTimes { by_registers_ns, by_string_ns, ..CopyTimes::default() })
        };
        assert!(is_faster(1000, 949) && is_faster(1000, 300));
        assert!(!is_faster(1000, 950) && !is_faster(1000, 1200));
        assert!(!is_faster(1000, 0) && !is_faster(0, 0), "not measured");
    }

    #[test]
    fn facts_are_found_quickly() {
        let start_ns = clock::now_ns();
        let facts = measure(2, true);
        assert!(facts.cores >= 1);
        assert_eq!(facts.process_vm == ProcessVm::Allowed, facts.process_vm_call_ns > 0);
        assert_eq!(facts.process_vm_mb_s > 0, facts.through_memory_mb_s > 0 && facts.process_vm == ProcessVm::Allowed);
        assert!(clock::now_ns() - start_ns < 1_000_000_000);
        assert_eq!(measure(1, true).process_vm_call_ns, 0);
    }
}
