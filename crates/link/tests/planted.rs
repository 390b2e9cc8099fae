//! The simulator is worth what it finds: each planted bug (`src/planted.rs`) by one of the seeds that every run tries.

#[path = "simulation/monitor.rs"]
mod monitor;
#[path = "simulation/paths.rs"]
mod paths;
#[path = "simulation/ranks.rs"]
#[allow(dead_code, reason = "what the simulation counts, and outages")]
mod ranks;
#[path = "simulation/strangers.rs"]
mod strangers;

use hawser_link::planted::{Bug, plant};
use hawser_sim::failure;

/// Fewer than a run of the simulation tries.
const SEEDS: u64 = 2_000;

/// The first seed that finds the bug, and how.
fn find(bug: Bug) -> Option<(u64, String)> {
    plant(Some(bug));
    let worlds = [("paths", paths::run as fn(u64) -> _), ("ranks", ranks::run)];
    let mut tries = (1..=SEEDS).flat_map(|seed| worlds.map(|(world, run)| (seed, world, run)));
    let found = tries.find_map(|(seed, world, run)| {
        let why = failure(seed, |seed| _ = run(seed)).err()?;
        let text = why.downcast_ref::<String>().cloned().unwrap_or_default();
        Some((seed, format!("{world}: {}", text.lines().next().unwrap_or_default())))
    });
    plant(None);
    found
}

macro_rules! bugs {
    ($($test:ident: $bug:ident;)*) => {
        $(#[test]
        fn $test() {
            let (seed, how) = find(Bug::$bug).expect("no seed finds it");
            println!("{:?} (PLANTED={}) is found by seed {seed}, {how}", Bug::$bug, Bug::$bug as u8);
        })*
        const TRIED: &[Bug] = &[$(Bug::$bug),*];
    };
}

bugs! {
    an_acknowledgement_one_too_far: AckTooFar;
    the_bits_of_an_acknowledgement_shifted: BitsShifted;
    what_is_lost_sent_beyond_credit: CreditGivenBack;
    a_number_taken_twice: TakenTwice;
    stop_ignored: StopIgnored;
    a_frame_of_a_stale_path_taken: StalePath;
    overlapping_fragments_held: OverlapHeld;
    what_came_early_delivered_again: EarlyTwice;
    a_timer_not_started_again: TimerStopped;
    a_question_not_sent: ProbeNotSent;
    the_round_trip_of_the_oldest: RoundTripOfOldest;
    tags_unchecked: TagUnchecked;
    silence_taken_for_death: SilenceIsDeath;
    room_granted_twice: RoomForEach;
}

#[test]
fn every_bug_is_tried() {
    assert_eq!(TRIED, Bug::ALL);
}
