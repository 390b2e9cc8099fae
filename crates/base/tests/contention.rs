//! Tests that threads stay out of each other's lanes. It is a process of its own, because the thread level is the
//! process's.

use hawser_base::Region;
use hawser_base::lane_lock::{LaneCell, TryEnter, set_thread_multiple};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

fn cell() -> (LaneCell<i32>, Region) {
    set_thread_multiple();
    let counters = Region::private(64);
    (LaneCell::counted(0, counters.clone(), 8), counters)
}

/// Returns the result of `try_enter_unless_owned` at `now_ms` by the calling thread.
fn visit(cell: &LaneCell<i32>, now_ms: Option<u64>) -> &'static str {
    match cell.try_enter_unless_owned(now_ms.map(|ms| ms * 1_000_000)) {
        TryEnter::Entered(_) => "inside",
        TryEnter::Busy => "tended",
        TryEnter::RecentlyUsed => "lately",
    }
}

#[test]
fn who_had_to_wait_is_counted_and_who_only_tried_is_not() {
    let (cell, counters) = cell();
    let inside = cell.enter();
    assert!(cell.try_enter().is_none() && matches!(cell.try_enter_unless_owned(None), TryEnter::Busy));
    thread::scope(|scope| {
        scope.spawn(|| *cell.enter() += 1);
        while counters.u64(8).load(Relaxed) == 0 {
            thread::yield_now();
        }
        drop(inside);
    });
    assert_eq!((*cell.enter(), counters.u64(8).load(Relaxed)), (1, 1));
}

#[test]
fn a_thread_visits_its_own_lane_at_any_time_and_anothers_when_that_one_stays_away() {
    let (cell, _) = cell();
    *cell.enter() += 1;
    assert_eq!(visit(&cell, None), "inside");
    let elsewhere = |now_ms| thread::scope(|scope| scope.spawn(|| visit(&cell, now_ms)).join().unwrap());
    assert_eq!([elsewhere(None), elsewhere(Some(1000)), elsewhere(Some(1019))], ["lately"; 3]);
    assert_eq!(elsewhere(None), "lately", "a thread that does not know the time never enters");
    assert_eq!(elsewhere(Some(1020)), "inside");
    // Such an entry does not make the thread the lane's owner: the owner comes and goes as before.
    assert_eq!(visit(&cell, None), "inside");
    *cell.enter() += 1;
    assert_eq!([elsewhere(Some(1021)), elsewhere(Some(1041))], ["lately", "inside"]);
}

#[test]
fn a_lane_that_a_thread_waits_around_is_left_to_it() {
    let (cell, _) = cell();
    drop(cell.enter());
    let tending = cell.mark_polled();
    let elsewhere = |now_ms| thread::scope(|scope| scope.spawn(|| visit(&cell, Some(now_ms))).join().unwrap());
    assert_eq!([elsewhere(1000), elsewhere(5000)], ["tended"; 2]);
    drop(tending);
    assert_eq!([elsewhere(6000), elsewhere(6020)], ["lately", "inside"]);
}
