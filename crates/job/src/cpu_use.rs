//! A rank's use of its core, in turns: a turn lasts from the end of a yield or sleep to the beginning of the next
//! one.
//!
//! The record is four words in the rank's page. The rank writes them whenever it yields or sleeps. Other ranks of the
//! host read them to find out whether a rank of the job kept a core, and which core a rank used last. The figures are
//! estimates, because the words are read one by one and threads of the rank overwrite each other's: nothing that must
//! be right may depend on them.

use hawser_base::Region;
use hawser_os::cpus;
use std::sync::atomic::Ordering::Relaxed;

/// Offsets in the record: the beginning of the latest turn, the end of the latest turn, and the length of all ended
/// turns together, in ns; and one more than the core's number at the beginning of the latest turn, 0 before the first.
const BEGAN: usize = 0;
const ENDED: usize = 8;
const BUSY: usize = 16;
const CORE: usize = 24;

/// The turns of one rank. Times are of the host's monotonic clock. Cloning is cheap.
#[derive(Clone)]
pub struct CpuUse(Region);

impl CpuUse {
    /// Bytes in a rank page: a cache line of its own.
    pub(crate) const BYTES: usize = 64;

    pub(crate) fn new(region: Region) -> CpuUse {
        CpuUse(region)
    }

    /// Makes a record that no other process sees.
    pub fn private() -> CpuUse {
        CpuUse(Region::private(CpuUse::BYTES))
    }

    /// Records that the rank has a core, the one on which this thread runs. Only the rank itself may call it.
    #[inline]
    pub fn begin(&self, now_ns: u64) {
        self.0.u64(CORE).store(cpus::current().map_or(0, |core| core as u64 + 1), Relaxed);
        self.0.u64(BEGAN).store(now_ns, Relaxed);
    }

    /// Records that the rank is about to yield its core. Only the rank itself may call it.
    #[inline]
    pub fn end(&self, now_ns: u64) {
        self.0.u64(ENDED).store(now_ns, Relaxed);
        let (began_ns, worked) = (self.0.u64(BEGAN).load(Relaxed), self.0.u64(BUSY));
        worked.store(worked.load(Relaxed) + now_ns.saturating_sub(began_ns), Relaxed);
    }

    /// Returns the length of all turns of the rank together, in ns. The present turn, if there is one, counts until
    /// `now_ns`.
    pub fn busy_ns(&self, now_ns: u64) -> u64 {
        // In this order a turn that ends meanwhile is counted twice, and not missed.
        let present_ns = self.present_turn_ns(now_ns);
        self.0.u64(BUSY).load(Relaxed) + present_ns
    }

    /// Returns the length of the present turn until `now_ns`; 0 if there is none.
    pub fn present_turn_ns(&self, now_ns: u64) -> u64 {
        let [began_ns, ended_ns] = [BEGAN, ENDED].map(|word| self.0.u64(word).load(Relaxed));
        if ended_ns < began_ns { now_ns.saturating_sub(began_ns) } else { 0 }
    }

    /// Returns the core that the rank had at the beginning of its latest turn; None before the first turn.
    pub fn last_core(&self) -> Option<usize> {
        (self.0.u64(CORE).load(Relaxed) as usize).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_add_up_with_the_one_that_goes_on() {
        let turn = CpuUse::private();
        assert_eq!((turn.busy_ns(10), turn.last_core()), (0, None), "it never had a core");
        turn.begin(12);
        assert_eq!((turn.busy_ns(12), turn.busy_ns(15)), (0, 3));
        turn.end(17);
        assert_eq!(turn.busy_ns(20), 5);
        turn.begin(30);
        assert_eq!(turn.busy_ns(40), 15);
        turn.end(41);
        assert_eq!(turn.busy_ns(50), 16);
    }

    #[test]
    fn a_turn_shows_its_core_and_how_long_it_lasts() {
        let turn = CpuUse::private();
        turn.begin(12);
        assert_eq!(turn.present_turn_ns(20), 8);
        assert!(turn.last_core().is_some_and(|core| cpus::allowed().unwrap().contains(&core)));
        turn.end(22);
        assert!(turn.present_turn_ns(99) == 0 && turn.last_core().is_some());
    }
}
