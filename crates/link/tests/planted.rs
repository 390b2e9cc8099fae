//! Tests the simulator: each planted bug (`src/planted.rs`) must be found by one of the seeds that every run tries.

#[path = "simulation/monitor.rs"]
mod monitor;
#[path = "simulation/paths.rs"]
mod paths;
#[path = "simulation/rails.rs"]
#[allow(dead_code, reason = "outages")]
mod rails;
#[path = "simulation/ranks.rs"]
#[allow(dead_code, reason = "what the simulation counts")]
mod ranks;
#[path = "simulation/strangers.rs"]
mod strangers;
#[path = "simulation/world.rs"]
mod world;

use hawser_link::planted::{Bug, plant};
use hawser_sim::try_seed;

/// Fewer seeds than a run of the simulation tries.
const SEEDS: u64 = 2_000;

/// The worlds in which a seed may be tried.
type Worlds = &'static [(&'static str, fn(u64))];

const FAULTS: Worlds = &[("paths", |seed| _ = paths::run(seed)), ("ranks", |seed| _ = ranks::run(seed))];
/// Bugs that only show where there are further rails, or rails that change.
const RAILS: Worlds = &[("rails", rails::run)];

/// Returns the first seed that finds the bug, and the failure.
fn find(bug: Bug, worlds: Worlds) -> Option<(u64, String)> {
    plant(Some(bug));
    let mut tries = (1..=SEEDS).flat_map(|seed| worlds.iter().map(move |&(world, run)| (seed, world, run)));
    let found = tries.find_map(|(seed, world, run)| {
        let why = try_seed(seed, run).err()?;
        let text = why.downcast_ref::<String>().cloned().unwrap_or_default();
        Some((seed, format!("{world}: {}", text.lines().next().unwrap_or_default())))
    });
    plant(None);
    found
}

macro_rules! bugs {
    ($($test:ident: $bug:ident in $worlds:ident;)*) => {
        $(#[test]
        fn $test() {
            let (seed, how) = find(Bug::$bug, $worlds).expect("no seed finds it");
            println!("{:?} (PLANTED={}) is found by seed {seed}, {how}", Bug::$bug, Bug::$bug as u8);
        })*
        const TRIED: &[Bug] = &[$(Bug::$bug),*];
    };
}

bugs! {
    an_acknowledgement_one_too_far: AckTooFar in FAULTS;
    the_bits_of_an_acknowledgement_shifted: BitsShifted in FAULTS;
    what_is_lost_sent_beyond_credit: CreditGivenBack in FAULTS;
    a_number_taken_twice: TakenTwice in FAULTS;
    stop_ignored: StopIgnored in FAULTS;
    a_frame_of_a_stale_path_taken: StalePath in FAULTS;
    overlapping_fragments_held: OverlapBuffered in FAULTS;
    what_came_early_delivered_again: EarlyTwice in FAULTS;
    a_timer_not_started_again: TimerStopped in FAULTS;
    a_question_not_sent: ProbeNotSent in FAULTS;
    the_round_trip_of_the_oldest: RoundTripOfOldest in FAULTS;
    tags_unchecked: TagUnchecked in FAULTS;
    silence_taken_for_death: SilenceIsDeath in FAULTS;
    room_granted_twice: CreditForEach in FAULTS;
    a_silent_path_never_asked: SilentForever in RAILS;
    what_is_lost_bound_to_its_path: BoundToPath in RAILS;
    one_way_taken_for_both: OneWayAlive in RAILS;
    shorter_frames_not_taken: ShrunkUnnoticed in RAILS;
    the_front_of_a_payload_not_covered: FrontUncovered in FAULTS;
}

#[test]
fn every_bug_is_tried() {
    assert_eq!(TRIED, Bug::ALL);
}
