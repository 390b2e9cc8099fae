//! Facts of the host, measured once by its first process and published to all its ranks.
//!
//! They lie in the segment's header and are written before any rank joins, and only read afterwards.

use hawser_base::Region;
use std::sync::atomic::Ordering::Relaxed;

/// Whether ranks may copy from each other's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ProcessVm {
    #[default]
    Forbidden,
    /// Permitted, once the rank that owns the memory has called `os::process_vm::allow_peers` (`boot` does).
    Allowed,
}

/// The facts of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HostFacts {
    /// The number of cores that the job can use at once: those of the affinity, or the cgroup's quota if that is
    /// less.
    pub cores: u32,
    pub process_vm: ProcessVm,
    /// The rate at which bytes go from one process to another by two copies through shared memory, and that by one
    /// copy with process_vm_readv, in MB/s (`os::copy_timing`); 0 if they were not measured.
    pub through_memory_mb_s: u32,
    pub process_vm_mb_s: u32,
    /// The time for copying one byte by process_vm_readv, in ns; 0 if it was not measured.
    pub process_vm_call_ns: u32,
    /// Whether the processor copies long pieces into shared memory faster by its string instruction
    /// (`base::copy::by_string`), as measured.
    pub string_copies: bool,
    /// Whether doorbells rely on membarrier(2): then all ranks register for it, and wakers need no fence.
    pub membarrier: bool,
}

/// Offset of the facts in the header page.
const AT: usize = 512;

impl HostFacts {
    pub(crate) fn write(&self, header: &Region) {
        let process_vm = u32::from(self.process_vm == ProcessVm::Allowed);
        let words = [
            self.cores,
            process_vm,
            self.through_memory_mb_s,
            self.process_vm_mb_s,
            self.process_vm_call_ns,
            u32::from(self.membarrier),
            u32::from(self.string_copies),
        ];
        for (i, word) in words.into_iter().enumerate() {
            header.u32(AT + 4 * i).store(word, Relaxed);
        }
    }

    pub(crate) fn read(header: &Region) -> HostFacts {
        let word = |i: usize| header.u32(AT + 4 * i).load(Relaxed);
        HostFacts {
            cores: word(0).max(1),
            process_vm: if word(1) == 1 { ProcessVm::Allowed } else { ProcessVm::Forbidden },
            through_memory_mb_s: word(2),
            process_vm_mb_s: word(3),
            process_vm_call_ns: word(4),
            membarrier: word(5) == 1,
            string_copies: word(6) == 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_as_written() {
        let facts = HostFacts {
            cores: 2,
            process_vm: ProcessVm::Allowed,
            through_memory_mb_s: 26_000,
            process_vm_mb_s: 5_000,
            process_vm_call_ns: 900,
            membarrier: true,
            string_copies: true,
        };
        let header = Region::private(4096);
        facts.write(&header);
        assert_eq!(HostFacts::read(&header), facts);
    }
}
