//! The seeds that a run of the tests tries. `SIM_SEED=N SIM_SEEDS=K` in the environment selects K seeds from N on;
//! `SIM_SEED=N` without SIM_SEEDS selects N alone (`make sim`).

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

/// Returns the number in the environment variable `name`; None if it is not set. A value that is no number is a
/// panic.
pub fn env_number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Returns the seeds of this run. If the environment names none, they are `default_count` seeds from 1 on.
pub fn seeds(default_count: u64) -> Range<u64> {
    let first = env_number("SIM_SEED").unwrap_or(1);
    first..first + env_number("SIM_SEEDS").unwrap_or(if env_number("SIM_SEED").is_some() { 1 } else { default_count })
}

/// Calls `run` with every seed, on all cores. The first seed that fails is printed, and its panic ends the whole run.
pub fn for_each_seed(seeds: Range<u64>, run: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(seeds.start);
    let work = || {
        while let seed = next.fetch_add(1, Relaxed)
            && seed < seeds.end
        {
            if let Err(panic) = try_seed(seed, &run) {
                next.store(seeds.end, Relaxed);
                eprintln!("seed {seed} fails; `make sim SEED={seed}` repeats it");
                resume_unwind(panic);
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
    });
}

/// Calls `run` with one seed, and returns its panic as an error.
pub fn try_seed(seed: u64, run: impl FnOnce(u64)) -> Result<(), Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(|| run(seed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_tried_once_and_one_that_fails_fails_the_run() {
        let sum = AtomicU64::new(0);
        for_each_seed(5..105, |seed| _ = sum.fetch_add(seed, Relaxed));
        assert_eq!(sum.into_inner(), (5..105).sum());
        // There are more seeds than any run can try: the failure alone ends it, however long it takes to be printed.
        let run = || for_each_seed(0..u64::MAX / 2, |seed| assert_ne!(seed, 100, "one hundred"));
        let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("a seed fails");
        assert!(panic.downcast_ref::<String>().is_some_and(|text| text.contains("one hundred")));
    }
}
