//! Leaving a core that another rank of this job uses, although the host has a core for each rank.
//!
//! The kernel often wakes a thread on the core of the rank that woke it. If busy programs have the other cores, it
//! stays there: two ranks have one core together, and the programs have the others. A thread that finds itself on
//! another rank's core after a sleep therefore moves, once: it binds itself to another core and then to all of its
//! cores again, so that the program's own affinity stays as it is (docs/adr/0064-ranks-leave-each-others-cores.md).
//!
//! It must never move a thread to a core that the program may not use, and no thread of a job that began with fewer
//! cores than ranks. `wait_policy` calls it after a sleep; it uses the ranks' `job::CpuUse`.

use crate::cpu_hog::RankPages;
use hawser_job::RankPage;
use hawser_os::{clock, cpus};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The shortest time between a move and the next look, in ns. A thread that has moved needs about a time slice
/// (`cpu_hog`) to get its share of the new core.
const MOVE_INTERVAL_NS: u64 = 4_000_000;
/// The shortest time between two looks, in ns. A look reads a cache line of each other rank: 5 to 10 us for 64 ranks.
const LOOK_INTERVAL_NS: u64 = 1_000_000;
/// A rank that has computed for longer than this, in ns, may be on another core than it was: the kernel balances the
/// load every few milliseconds.
const TURN_MAX_NS: u64 = 20_000_000;

/// The cores of the other ranks on this host.
pub struct CoreSharing {
    other_pages: RankPages,
    /// No thread looks before this time. It is an estimate (Relaxed).
    next_look_ns: AtomicU64,
}

impl CoreSharing {
    /// Returns None with more ranks than cores (`cores`, the number of the rank's cores, is 0), and if devices signal
    /// arrivals by descriptors (`has_descriptors`): there may be other hosts then, which may be namespaces of this
    /// machine, and their ranks want the same cores.
    pub fn new(cores: u32, has_descriptors: bool, other_pages: RankPages) -> Option<CoreSharing> {
        (cores > 0 && !has_descriptors).then(|| CoreSharing { other_pages, next_look_ns: 0.into() })
    }

    /// Moves the calling thread away from a core that another living rank of this host used last. `before`: the core
    /// on which this thread fell asleep. Returns whether another rank was there. After an error no thread tries again.
    #[inline]
    pub fn leave_shared_core(&self, before: Option<usize>, now_ns: u64) -> bool {
        now_ns >= self.next_look_ns.load(Relaxed) && self.look(before, now_ns)
    }

    #[cold]
    fn look(&self, before: Option<usize>, now_ns: u64) -> bool {
        let used = self.used_cores(now_ns);
        let is_shared = |core| used.contains(&UsedCore { core, is_certain: true });
        if !cpus::current().is_some_and(is_shared) {
            self.next_look_ns.store(now_ns + LOOK_INTERVAL_NS, Relaxed);
            return false;
        }
        let moved = cpus::allowed().and_then(|cores| match targets(&cores, &used, before) {
            free if free.is_empty() => Ok(()),
            free => cpus::move_to(&free, &cores),
        });
        // The move may have taken a time slice: the thread waited until it got its new core.
        let next_ns = if moved.is_ok() { clock::now_ns().max(now_ns) + MOVE_INTERVAL_NS } else { u64::MAX };
        self.next_look_ns.store(next_ns, Relaxed);
        true
    }

    /// Returns the cores that the other living ranks of this host used last.
    fn used_cores(&self, now_ns: u64) -> Vec<UsedCore> {
        let others = (0..).map_while(|other| (self.other_pages)(other));
        let used = |(page, is_alive): (RankPage, bool)| {
            let (cpu_use, is_certain) = (page.cpu_use(), page.cpu_use().present_turn_ns(now_ns) <= TURN_MAX_NS);
            cpu_use.last_core().filter(|_| is_alive).map(|core| UsedCore { core, is_certain })
        };
        others.filter_map(used).collect()
    }
}

/// A core that another rank used last. It is certain that the rank still has it, or will have it when it wakes, unless
/// it has computed for long.
#[derive(Debug, PartialEq, Eq)]
struct UsedCore {
    core: usize,
    is_certain: bool,
}

/// Returns the cores to move to, of `cores`, on which the thread may run: the core `before` if no rank uses it, or else
/// all that no rank uses, of which the kernel chooses one.
fn targets(cores: &[usize], used: &[UsedCore], before: Option<usize>) -> Vec<usize> {
    let is_free = |&core: &usize| !used.iter().any(|used| used.core == core);
    let free: Vec<usize> = cores.iter().copied().filter(is_free).collect();
    before.filter(|before| free.contains(before)).map_or(free, |before| vec![before])
}

#[cfg(test)]
mod tests {
    use super::*;
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
            (other, CoreSharing::new(1, false, Arc::new(pages)).unwrap())
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
    fn ranks_that_must_share_cores_or_may_share_them_with_other_hosts_do_not_move() {
        assert!(CoreSharing::new(0, false, Arc::new(|_| None)).is_none());
        assert!(CoreSharing::new(2, true, Arc::new(|_| None)).is_none());
    }

    #[test]
    fn a_thread_goes_back_to_where_it_was_or_to_any_free_core() {
        let used = |core, is_certain| UsedCore { core, is_certain };
        assert_eq!(targets(&[2, 5, 7], &[used(2, true)], Some(5)), [5]);
        assert_eq!(targets(&[2, 5, 7], &[used(2, true)], Some(2)), [5, 7], "another rank is there now");
        assert_eq!(targets(&[2, 5, 7], &[used(2, true)], None), [5, 7]);
        assert_eq!(targets(&[2, 5, 7], &[used(2, true), used(5, false)], Some(5)), [7], "a rank may compute there");
        assert_eq!(targets(&[2, 5], &[used(5, true), used(2, true)], Some(2)), []);
    }

    #[test]
    fn a_rank_uses_the_core_of_its_last_turn_until_it_ends_and_for_certain_unless_it_computes_for_long() {
        let (other, sharing) = Other::beside_us();
        let certain = |now_ns| sharing.used_cores(now_ns).iter().map(|used| used.is_certain).collect::<Vec<_>>();
        assert_eq!(certain(1), []);
        other.page.cpu_use().begin(1);
        assert_eq!((certain(TURN_MAX_NS + 1), certain(TURN_MAX_NS + 2)), (vec![true], vec![false]));
        other.page.cpu_use().end(TURN_MAX_NS + 2);
        assert_eq!(certain(TURN_MAX_NS + 2), [true]);
        other.is_alive.store(false, Relaxed);
        assert_eq!(certain(TURN_MAX_NS + 2), []);
    }

    #[test]
    fn a_core_of_another_rank_is_left_and_the_affinity_stays_as_it_was() {
        let Some([here, there]) = two_cores() else { return };
        let (other, sharing) = Other::beside_us();
        cpus::bind(&[here]).unwrap();
        other.page.cpu_use().begin(clock::now_ns());
        other.page.cpu_use().end(clock::now_ns());
        assert!(sharing.leave_shared_core(Some(there), clock::now_ns()));
        assert_eq!((cpus::current(), cpus::allowed().unwrap()), (Some(here), vec![here]), "it may use no other core");
        assert!(!sharing.leave_shared_core(Some(there), clock::now_ns()), "too soon");
        let mut leaves = 0;
        for _ in 0..100 {
            sharing.next_look_ns.store(0, Relaxed);
            cpus::bind(&[here]).unwrap();
            cpus::bind(&[here, there]).unwrap();
            let is_here = cpus::current() == Some(here);
            let has_left = sharing.leave_shared_core(None, clock::now_ns());
            // The kernel may move a thread at any time, though it seldom does.
            leaves += usize::from(is_here && has_left && cpus::current() == Some(there));
            assert_eq!(cpus::allowed().unwrap(), [here, there]);
        }
        assert!(leaves > 0);
    }
}
