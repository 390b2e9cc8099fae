//! What a lane counts of threads that wait for each other. A process of its own: the thread level is the process's.

use hawser_base::Region;
use hawser_base::threads::{LaneCell, set_multiple};
use std::sync::atomic::Ordering::Relaxed;

#[test]
fn who_had_to_wait_is_counted_and_who_only_tried_is_not() {
    set_multiple(true);
    let counters = Region::private(64);
    let cell = LaneCell::counted(0, counters.clone(), 8);
    let inside = cell.enter();
    assert!(cell.try_enter().is_none());
    std::thread::scope(|scope| {
        scope.spawn(|| *cell.enter() += 1);
        while counters.u64(8).load(Relaxed) == 0 {
            std::thread::yield_now();
        }
        drop(inside);
    });
    assert_eq!((*cell.enter(), counters.u64(8).load(Relaxed)), (1, 1));
}
