//! Leaving a core that another rank of this job uses, although the host has a core for each rank.
//!
//! The kernel often wakes a thread on the core of the rank that woke it. If busy programs have the other cores, it
//! stays there: two ranks have one core together, and the programs have the others. A thread that finds itself on
//! another rank's core after a sleep therefore moves, once: it binds itself to another core and then to all of its
//! cores again, so that the program's own affinity stays as it is (docs/adr/0064-ranks-leave-each-others-cores.md).
//!
//! It must never move a thread to a core that the program may not use, nor between ranks that share cores because
//! there are fewer cores than ranks. `wait_policy` calls it after a sleep; it uses the ranks' `job::CpuUse`.

use crate::cpu_hog::RankPages;
use hawser_os::{cpus, host};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The shortest time between two moves, in ns: about a time slice (`cpu_hog`). Where ranks fall asleep and wake every
/// few microseconds because other ranks want the cores too, as on several hosts that are namespaces of one machine,
/// each wake would end with a move: a barrier of eight such ranks took 105 us instead of 68.
const MOVE_INTERVAL_NS: u64 = 4_000_000;

/// The cores of the other ranks on this host.
pub struct CoreSharing {
    other_pages: RankPages,
    /// No thread moves before this time. It is an estimate (Relaxed).
    next_move_ns: AtomicU64,
}

impl CoreSharing {
    pub fn new(other_pages: RankPages) -> CoreSharing {
        CoreSharing { other_pages, next_move_ns: 0.into() }
    }

    /// Moves the calling thread away from a core that another living rank of this host used last. `before`: the core
    /// on which this thread fell asleep. An error is ignored: the thread then stays where the kernel has put it.
    pub fn leave_shared_core(&self, before: Option<usize>, now_ns: u64) {
        if now_ns < self.next_move_ns.load(Relaxed) {
            return;
        }
        if let Some(core) = cpus::current().filter(|&core| self.is_used(core)) {
            self.next_move_ns.store(now_ns + MOVE_INTERVAL_NS, Relaxed);
            self.leave(core, before);
        }
    }

    #[cold]
    fn leave(&self, core: usize, before: Option<usize>) {
        let Ok(cores) = cpus::allowed() else { return };
        if let Some(to) = self.target(core, before, &cores) {
            let _ = cpus::move_to(to, &cores);
        }
    }

    /// Returns the core to move to from `core`; None if each of `cores`, those that the thread may use, is a rank's.
    /// It is the core on which the thread was before, or else any, by a number of this process, so that jobs that run
    /// at the same time do not all choose the same core.
    fn target(&self, core: usize, before: Option<usize>, cores: &[usize]) -> Option<usize> {
        let free: Vec<usize> = cores.iter().copied().filter(|&other| other != core && !self.is_used(other)).collect();
        let any = || free.get(host::pid() as usize % free.len().max(1)).copied();
        before.filter(|before| free.contains(before)).or_else(any)
    }

    /// Returns whether another living rank of this host used the core last.
    fn is_used(&self, core: usize) -> bool {
        let mut others = (0..).map_while(|other| (self.other_pages)(other));
        others.any(|(page, is_alive)| is_alive && page.cpu_use().last_core() == Some(core))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_job::RankPage;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    /// Another rank of this host: its page, and whether it lives.
    #[derive(Clone)]
    struct Other {
        page: RankPage,
        is_alive: Arc<AtomicBool>,
    }

    impl Other {
        fn beside_us() -> (Other, CoreSharing) {
            let other = Other { page: RankPage::private(), is_alive: Arc::new(true.into()) };
            let seen = other.clone();
            let pages = move |number| (number == 0).then(|| (seen.page.clone(), seen.is_alive.load(Relaxed)));
            (other, CoreSharing::new(Arc::new(pages)))
        }
    }

    /// The first two cores that this process may use; None, with a message, if it may use only one.
    fn two_cores() -> Option<[usize; 2]> {
        let cores = cpus::allowed().unwrap();
        let two = cores.first_chunk().copied();
        two.is_none().then(|| eprintln!("skipped: this process may use one core"));
        two
    }

    #[test]
    fn a_thread_goes_back_to_where_it_was_or_to_any_free_core_and_stays_where_none_is_free() {
        let Some([here, there]) = two_cores() else { return };
        let (other, sharing) = Other::beside_us();
        cpus::bind(&[here]).unwrap();
        other.page.cpu_use().begin(1);
        let more = [here, there, 5000, 5001];
        assert_eq!(sharing.target(there, Some(5000), &more), Some(5000));
        assert_eq!(sharing.target(there, Some(here), &[here, there, 5000]), Some(5000), "the other rank is there");
        assert!(sharing.target(here, None, &more).is_some_and(|core| more[1..].contains(&core)));
        assert_eq!(sharing.target(there, Some(here), &[here, there]), None);
        other.is_alive.store(false, Relaxed);
        assert_eq!(sharing.target(there, Some(here), &[here, there]), Some(here), "the other rank has ended");
    }

    #[test]
    fn a_core_of_another_rank_is_left_and_the_affinity_stays_as_it_was() {
        let Some([here, there]) = two_cores() else { return };
        let (other, sharing) = Other::beside_us();
        cpus::bind(&[here]).unwrap();
        other.page.cpu_use().begin(1);
        sharing.leave_shared_core(Some(there), 0);
        assert_eq!((cpus::current(), cpus::allowed().unwrap()), (Some(here), vec![here]), "it may use no other core");
        let mut leaves = 0;
        for turn in 1..=100 {
            cpus::bind(&[here]).unwrap();
            cpus::bind(&[here, there]).unwrap();
            let is_here = cpus::current() == Some(here);
            sharing.leave_shared_core(None, turn * MOVE_INTERVAL_NS);
            // The kernel may move a thread at any time, though it seldom does.
            leaves += usize::from(is_here && cpus::current() == Some(there));
            assert_eq!(cpus::allowed().unwrap(), [here, there]);
        }
        assert!(leaves > 0);
    }
}
