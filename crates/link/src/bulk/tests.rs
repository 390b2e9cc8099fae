//! Tests of the choice of the path, with paths that need a given time.

use super::*;
use crate::pace::Arrival;
use crate::rail::Rail;

const CABLE: Cable = Cable { ours: 0, theirs: 0 };

fn survey() -> Survey {
    Survey::new(&[Rail::default()])
}

/// A path that needs `slow_ns` nanoseconds per kilobyte.
struct Fake {
    rail: u8,
    cable: Cable,
    slow_ns: u64,
    usable: bool,
    spread: bool,
    meter: Meter,
}

impl Way for Fake {
    fn rail(&self) -> u8 {
        self.rail
    }
    fn cable(&self) -> Cable {
        self.cable
    }
    fn grade(&self) -> Grade {
        [Grade::Quick, Grade::Bulk, Grade::BulkAlone][usize::from(self.rail.min(2))]
    }
    fn is_usable(&self, cable: Cable) -> bool {
        self.usable && self.cable == cable
    }
    fn is_spread(&self) -> bool {
        self.spread
    }
    fn is_held_back(&self) -> bool {
        false
    }
    fn meter(&self) -> &Meter {
        &self.meter
    }
    fn meter_mut(&mut self) -> &mut Meter {
        &mut self.meter
    }
}

fn ways(slow_ns: &[u64]) -> Vec<Fake> {
    let fake = |(rail, &slow_ns)| Fake {
        rail: rail as u8,
        cable: CABLE,
        slow_ns,
        usable: true,
        spread: false,
        meter: Meter::default(),
    };
    slow_ns.iter().enumerate().map(fake).collect()
}

fn bulk() -> Bulk {
    Bulk::new(0, CABLE)
}

/// Sends kilobytes to the only peer; returns how many went by each path.
fn send(bulk: &mut Bulk, ways: &mut [Fake], kilobytes: usize, now_ns: &mut u64) -> Vec<usize> {
    send_beside(bulk, ways, kilobytes, now_ns, &mut survey())
}

fn send_beside(
    bulk: &mut Bulk,
    ways: &mut [Fake],
    kilobytes: usize,
    now_ns: &mut u64,
    told: &mut Survey,
) -> Vec<usize> {
    let mut by = vec![0; ways.len()];
    for _ in 0..kilobytes / 64 {
        bulk.look(ways, told);
        let way = bulk.way().expect("one is usable");
        by[way] += 64;
        ways[way].meter.sent(64 << 10, *now_ns);
        *now_ns += 64 * ways[way].slow_ns;
        ways[way].meter.came(64 << 10, false, *now_ns);
        // Idle time must not count.
        *now_ns += 1_000_000;
        bulk.sent(64 << 10, ways, told);
    }
    by
}

#[test]
fn the_fastest_way_is_taken_after_each_was_tried() {
    let (mut bulk, mut ways, mut now_ns) = (bulk(), ways(&[500, 100, 150]), 0);
    // Kilobytes of the trial: of the first path, which is much slower than the others, a quarter of a turn is enough.
    let trial = [256, 4 << 10, 4 << 10];
    assert_eq!(send(&mut bulk, &mut ways, trial.iter().sum(), &mut now_ns), trial);
    assert_eq!(bulk.winner(), Some(1));
    assert_eq!(send(&mut bulk, &mut ways, 64 << 10, &mut now_ns), [0, 64 << 10, 0]);
    // All paths are tried again; the same one wins, and keeps its place for twice as long.
    assert_eq!(send(&mut bulk, &mut ways, trial.iter().sum(), &mut now_ns), trial);
    assert_eq!(send(&mut bulk, &mut ways, 128 << 10, &mut now_ns), [0, 128 << 10, 0]);
    // The first path has become fast: of the others the first turn was whole, before anything was better.
    ways[0].slow_ns = 10;
    let trial = [4 << 10, 5 << 8, 5 << 8];
    assert_eq!(send(&mut bulk, &mut ways, trial.iter().sum(), &mut now_ns), trial);
    assert_eq!(bulk.winner(), Some(0));
    assert_eq!(send(&mut bulk, &mut ways, 64 << 10, &mut now_ns), [64 << 10, 0, 0]);
}

#[test]
fn a_slow_rail_is_not_tried_for_long() {
    let (mut bulk, mut ways, mut now_ns) = (bulk(), ways(&[2_000_000, 1_900_000]), 0);
    // A megabyte takes two seconds.
    send(&mut bulk, &mut ways, 2 * 4 * 64, &mut now_ns);
    assert_eq!((bulk.turns, bulk.winner()), (0, Some(1)));
}

#[test]
fn one_turn_in_which_the_core_was_taken_away_does_not_decide() {
    let (mut bulk, mut ways, mut now_ns) = (bulk(), ways(&[110, 100]), 0);
    ways[1].slow_ns = 400;
    send(&mut bulk, &mut ways, 2 << 10, &mut now_ns);
    ways[1].slow_ns = 100;
    send(&mut bulk, &mut ways, 6 << 10, &mut now_ns);
    assert_eq!(bulk.winner(), Some(1));
}

#[test]
fn a_way_that_is_gone_is_left_at_once_and_a_new_one_is_tried() {
    let (mut bulk, mut ways, mut now_ns) = (bulk(), ways(&[100, 500]), 0);
    send(&mut bulk, &mut ways, 5 << 10, &mut now_ns);
    assert_eq!(bulk.way(), Some(0));
    ways[0].usable = false;
    assert_eq!(send(&mut bulk, &mut ways, 10 << 10, &mut now_ns), [0, 10 << 10]);
    ways[0].usable = true;
    bulk.widened(&mut ways, &mut survey());
    send(&mut bulk, &mut ways, 4 << 10, &mut now_ns);
    assert_eq!(bulk.way(), Some(0));
}

#[test]
fn ways_that_are_alike_are_tried_ever_more_seldom() {
    let (mut bulk, mut ways, mut now_ns) = (bulk(), ways(&[70, 70, 100]), 0);
    let mut trials = 0;
    for turn in 0..1000 {
        let was = bulk.turns;
        // Each of the first two is the fastest by a little now and then.
        (0..2).for_each(|way| ways[way].slow_ns = 70 - u64::from(turn / 70 % 2 == way) * 5);
        send(&mut bulk, &mut ways, 1 << 10, &mut now_ns);
        trials += u32::from(was == 0 && bulk.turns > 0);
    }
    assert!(trials < 8, "{trials} trials in 1000 MB");
}

#[test]
fn a_little_better_than_the_way_for_bulk_is_not_better() {
    for (slow_ns, winner) in [(90, 1), (75, 0)] {
        let (mut bulk, mut ways, mut now_ns) = (bulk(), ways(&[slow_ns, 100]), 0);
        send(&mut bulk, &mut ways, 8 << 10, &mut now_ns);
        assert_eq!(bulk.winner(), Some(winner), "{slow_ns}");
    }
}

/// P39
#[test]
fn flows_are_asked_for_where_no_way_carries_more_than_a_network_gives_one() {
    for (slow_ns, wants_flows) in [(2000, true), (800, false)] {
        let (mut bulk, mut ways, mut now_ns) = (bulk(), ways(&[slow_ns, 3000]), 0);
        send(&mut bulk, &mut ways, 7 << 10, &mut now_ns);
        assert!(!bulk.wants_flows(), "not all was tried");
        send(&mut bulk, &mut ways, 1 << 10, &mut now_ns);
        assert_eq!((bulk.winner(), bulk.wants_flows()), (Some(0), wants_flows), "{slow_ns}");
        bulk.has_asked();
        assert!(!bulk.wants_flows());
    }
}

/// P39
#[test]
fn all_flows_at_once_are_tried_alone_and_taken_if_they_carry_clearly_more() {
    let new = |slow_ns| Fake { rail: 0, cable: CABLE, slow_ns, usable: true, spread: true, meter: Meter::default() };
    for (slow_ns, winner) in [(2000, 0), (1400, 0), (1100, 2), (500, 2)] {
        let (mut bulk, mut ways, mut now_ns) = (bulk(), ways(&[2000, 3000]), 0);
        send(&mut bulk, &mut ways, 8 << 10, &mut now_ns);
        ways.push(new(slow_ns));
        bulk.spread(2, &mut ways);
        assert_eq!(send(&mut bulk, &mut ways, 16 << 10, &mut now_ns), [0, 0, 16 << 10]);
        assert_eq!((bulk.turns, bulk.winner()), (0, Some(winner)), "{slow_ns}");
        // In the next trial it is one of three, and the last winner keeps its place.
        send(&mut bulk, &mut ways, (64 << 10) + (24 << 10), &mut now_ns);
        assert_eq!(bulk.winner(), Some(winner), "{slow_ns}");
    }
}

/// P39
#[test]
fn flows_that_are_there_before_the_trial_are_in_it_and_those_that_fall_silent_are_left() {
    let (mut bulk, mut ways, mut now_ns) = (bulk(), ways(&[2000, 500]), 0);
    ways[1].spread = true;
    bulk.spread(1, &mut ways);
    assert_eq!(bulk.way(), None, "nothing was sent yet");
    send(&mut bulk, &mut ways, 20 << 10, &mut now_ns);
    assert_eq!(bulk.winner(), Some(1));
    ways[1].usable = false;
    send(&mut bulk, &mut ways, 4 << 10, &mut now_ns);
    assert_eq!(bulk.winner(), Some(0));
    (ways[0].usable, ways[1].usable) = (false, true);
    send(&mut bulk, &mut ways, 16 << 10, &mut now_ns);
    assert_eq!(bulk.winner(), Some(1), "the only one");
}

#[test]
fn what_was_cut_for_another_way_shows_nothing_of_this_one() {
    let (mut bulk, mut ways, mut now_ns) = (bulk(), ways(&[100, 50]), 0);
    // The second path is slow with frames of the first one's length: in each of its turns half a megabyte of them goes
    // first, or all are such.
    for (shortly, winner) in [(8, 1), (usize::MAX, 0)] {
        let mut told = survey();
        bulk.begin(&mut ways, &mut told);
        let (mut by, mut short) = (vec![0; 2], 0);
        while bulk.is_tried() {
            let way = bulk.way().expect("both are usable");
            short = if way == 1 { short + 1 } else { 0 };
            let is_short = short > 0 && short <= shortly;
            by[way] += 64;
            ways[way].meter.sent(64 << 10, now_ns);
            now_ns += 64 * if is_short { 1000 } else { ways[way].slow_ns };
            ways[way].meter.came(64 << 10, false, now_ns);
            if is_short {
                bulk.sent_of_other(64 << 10, &mut ways, &mut told)
            } else {
                bulk.sent(64 << 10, &mut ways, &mut told)
            }
        }
        assert_eq!(bulk.winner(), Some(winner), "{by:?}");
    }
}

/// The choice for another peer.
fn other() -> Bulk {
    Bulk::new(1, CABLE)
}

#[test]
fn what_won_with_one_peer_is_the_first_guess_for_others() {
    let (mut told, mut now_ns) = (survey(), 0);
    let (mut first, mut to_first) = (bulk(), ways(&[50, 100, 200]));
    let (mut second, mut to_second) = (other(), ways(&[50, 100, 200]));
    let mut send = |bulk: &mut Bulk, ways: &mut [Fake], mib: usize| {
        send_beside(bulk, ways, mib << 10, &mut now_ns, &mut told).iter().map(|by| by >> 10).collect::<Vec<_>>()
    };
    send(&mut first, &mut to_first, 1);
    // While the first peer's paths are tried, the other takes the path made for bulk; in the end it takes the winner.
    assert_eq!(send(&mut second, &mut to_second, 3), [0, 3, 0]);
    send(&mut first, &mut to_first, 11);
    assert_eq!(first.winner(), Some(0));
    assert_eq!(send(&mut second, &mut to_second, 65), [64, 1, 0]);
    assert_eq!(second.winner(), None);
    // Its own trial finds that another path is better there.
    to_second[0].slow_ns = 500;
    send(&mut second, &mut to_second, 12);
    assert_eq!(second.winner(), Some(1));
    assert_eq!(send(&mut first, &mut to_first, 32), [32, 0, 0], "who was tried keeps its winner");
}

#[test]
fn nobody_waits_for_a_pair_of_nics_that_leads_nowhere() {
    let (mut told, mut now_ns) = (survey(), 0);
    let (mut nowhere, mut none) = (bulk(), ways(&[50]));
    none[0].usable = false;
    nowhere.look(&mut none, &mut told);
    let (mut second, mut to_second) = (other(), ways(&[50, 100]));
    send_beside(&mut second, &mut to_second, 1 << 10, &mut now_ns, &mut told);
    nowhere.look(&mut none, &mut told);
    assert!(second.is_tried() && !told.nic(CABLE).is_awaited(1));
}

#[test]
fn a_trial_that_does_not_end_and_a_way_that_is_not_there_are_not_awaited_for_ever() {
    for is_over in [false, true] {
        let (mut told, mut now_ns) = (survey(), 0);
        let (mut first, mut to_first) = (bulk(), ways(&[50, 100]));
        let (mut second, mut to_second) = (other(), ways(&[50, 100, 20]));
        to_second[0].usable = false;
        let mut send = |bulk: &mut Bulk, ways: &mut [Fake], mib: usize| {
            send_beside(bulk, ways, mib << 10, &mut now_ns, &mut told).iter().map(|by| by >> 10).collect::<Vec<_>>()
        };
        send(&mut first, &mut to_first, if is_over { 12 } else { 1 });
        assert_eq!(send(&mut second, &mut to_second, 32), [0, 32, 0]);
        send(&mut second, &mut to_second, 12);
        assert_eq!(second.winner(), Some(2));
    }
}

#[test]
fn a_port_is_needed_where_it_would_be_tried_or_taken() {
    let (mut told, mut now_ns) = (survey(), 0);
    let (mut first, mut to_first) = (bulk(), ways(&[50, 100]));
    let (mut second, mut to_second) = (other(), ways(&[50, 100]));
    assert!(first.may_need(2, &told) && second.may_need(2, &told));
    send_beside(&mut first, &mut to_first, 1 << 10, &mut now_ns, &mut told);
    assert!(first.may_need(2, &told) && !second.may_need(2, &told), "the first is tried");
    send_beside(&mut first, &mut to_first, 12 << 10, &mut now_ns, &mut told);
    assert!(first.may_need(2, &told) && !second.may_need(2, &told) && second.may_need(0, &told));
    send_beside(&mut second, &mut to_second, 65 << 10, &mut now_ns, &mut told);
    assert!(second.is_tried() && second.may_need(2, &told));
}

/// P39
#[test]
fn flows_that_won_with_one_peer_are_asked_for_and_taken_with_others() {
    let (mut told, mut now_ns) = (survey(), 0);
    told.nic_mut(CABLE).end(0, Some(Won { rail: 0, by_flows: true }));
    let (mut second, mut ways) = (other(), ways(&[2000, 3000]));
    send_beside(&mut second, &mut ways, 1 << 10, &mut now_ns, &mut told);
    assert_eq!((second.way(), second.wants_flows()), (Some(0), true));
    ways.push(Fake { rail: 0, cable: CABLE, slow_ns: 500, usable: true, spread: true, meter: Meter::default() });
    second.spread(2, &mut ways);
    send_beside(&mut second, &mut ways, 16 << 10, &mut now_ns, &mut told);
    assert_eq!(second.winner(), Some(2));
}

/// Lets `4 * mib` MiB of bulk arrive over the NIC, 1 MiB in each `took_ns`.
fn carry(told: &mut Survey, mib: u64, took_ns: u64) {
    let arrival = Arrival { peer: 0, bytes: 1 << 20, was_full: true, more: false };
    let pace = &mut told.nic_mut(CABLE).pace;
    for turn in 0..4 * mib {
        pace.sent(2 * turn * took_ns);
        pace.came(arrival, (2 * turn + 1) * took_ns);
    }
}

#[test]
fn on_a_slow_network_raw_frames_are_taken_and_nothing_else_is_needed() {
    let (mut told, mut now_ns) = (survey(), 0);
    let (mut bulk, mut ways) = (bulk(), ways(&[20_000, 10_000, 5_000]));
    let mut send = |bulk: &mut Bulk, ways: &mut [Fake], mib: usize, told: &mut Survey| {
        send_beside(bulk, ways, mib << 10, &mut now_ns, told).iter().map(|by| by >> 10).collect::<Vec<_>>()
    };
    assert_eq!(send(&mut bulk, &mut ways, 2, &mut told), [0, 1, 1]);
    carry(&mut told, 8, 10_000_000);
    // Without a path for single frames all are tried as usual.
    ways[0].usable = false;
    send(&mut bulk, &mut ways, 20, &mut told);
    assert_eq!(bulk.winner(), Some(2));
    // The winner before, and the order of the paths, do not matter.
    ways[0].usable = true;
    ways.swap(0, 1);
    assert_eq!(send(&mut bulk, &mut ways, 70, &mut told), [0, 70, 0]);
    assert!(!bulk.may_need(3, &told) && bulk.winner() == Some(1));
    // Not if another NIC reaches the peer too.
    let cable = Cable { ours: 0, theirs: 1 };
    ways.push(Fake { rail: 0, cable, slow_ns: 5000, usable: true, spread: false, meter: Meter::default() });
    let by = send(&mut bulk, &mut ways, 6, &mut told);
    assert!(by[2] >= 2 && bulk.may_need(3, &told), "{by:?}");
    ways[3].usable = false;
    assert_eq!(send(&mut bulk, &mut ways, 10, &mut told), [0, 10, 0, 0]);
    // All flows at once are tried beside it.
    ways.push(Fake { rail: 1, cable: CABLE, slow_ns: 2000, usable: true, spread: true, meter: Meter::default() });
    bulk.spread(4, &mut ways);
    assert_eq!(send(&mut bulk, &mut ways, 60, &mut told), [0, 0, 0, 0, 60]);
    // The network is fast again: all are tried.
    carry(&mut told, 1, 1_000_000);
    send(&mut bulk, &mut ways, 40, &mut told);
    ways.pop();
    ways.pop();
    assert!(bulk.may_need(4, &told) && ways.iter().all(|way| way.meter.peak() > 0));
}

#[test]
fn peers_that_took_the_same_guess_are_tried_one_after_the_other() {
    let (mut told, mut now_ns) = (survey(), 0);
    told.nic_mut(CABLE).end(7, Some(Won { rail: 0, by_flows: false }));
    let (mut first, mut to_first) = (bulk(), ways(&[50, 100]));
    let (mut second, mut to_second) = (other(), ways(&[50, 100]));
    for _ in 0..65 {
        send_beside(&mut first, &mut to_first, 1 << 10, &mut now_ns, &mut told);
        send_beside(&mut second, &mut to_second, 1 << 10, &mut now_ns, &mut told);
    }
    assert!(first.is_tried() && !second.is_tried() && second.way() == Some(0));
    send_beside(&mut first, &mut to_first, 8 << 10, &mut now_ns, &mut told);
    send_beside(&mut second, &mut to_second, 2 << 10, &mut now_ns, &mut told);
    assert!(first.winner() == Some(0) && second.is_tried());
    // But no peer waits for ever for one to which nothing more is sent.
    let (mut third, mut to_third) = (Bulk::new(2, CABLE), ways(&[50, 100]));
    send_beside(&mut third, &mut to_third, 97 << 10, &mut now_ns, &mut told);
    assert!(third.is_tried());
}

/// P39
#[test]
fn flows_that_are_open_already_are_tried_where_they_have_won_with_another_peer() {
    let (mut told, mut now_ns) = (survey(), 0);
    told.nic_mut(CABLE).end(0, Some(Won { rail: 0, by_flows: true }));
    let (mut second, mut ways) = (other(), ways(&[2000, 3000]));
    ways.push(Fake { rail: 0, cable: CABLE, slow_ns: 500, usable: true, spread: true, meter: Meter::default() });
    send_beside(&mut second, &mut ways, 17 << 10, &mut now_ns, &mut told);
    assert_eq!(second.winner(), Some(2));
}

#[test]
fn without_any_way_there_is_no_choice() {
    let (mut bulk, mut ways, mut told) = (bulk(), ways(&[100]), survey());
    ways[0].usable = false;
    bulk.look(&mut ways, &mut told);
    bulk.sent(1, &mut ways, &mut told);
    assert_eq!((bulk.way(), bulk.winner()), (None, None));
}
