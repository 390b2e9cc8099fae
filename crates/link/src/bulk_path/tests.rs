//! Tests of the selection of the path for bulk, with fake paths that need a given time per kilobyte.

use super::*;
use crate::port_traits::PortTraits;
use crate::slow_network::AckedBytes;

const NIC_PAIR: NicPair = NicPair { local: 0, remote: 0 };

/// Statistics with which the first trial begins at once.
fn shared_stats() -> SharedStats {
    let mut stats = late_trial_stats();
    stats.set_first_trial_bytes(0);
    stats
}

fn late_trial_stats() -> SharedStats {
    SharedStats::new(&[PortTraits::default()])
}

/// A path that needs `slow_ns` nanoseconds per kilobyte.
struct FakePath {
    local_port: u8,
    nic_pair: NicPair,
    slow_ns: u64,
    usable: bool,
    is_multi_flow: bool,
    goodput: GoodputEstimator,
}

impl BulkPath for FakePath {
    fn local_port(&self) -> u8 {
        self.local_port
    }
    fn nic_pair(&self) -> NicPair {
        self.nic_pair
    }
    fn latency_class(&self) -> LatencyClass {
        [LatencyClass::Lowest, LatencyClass::Bulk, LatencyClass::BulkOnly][usize::from(self.local_port.min(2))]
    }
    fn is_usable(&self, nic_pair: NicPair) -> bool {
        self.usable && self.nic_pair == nic_pair
    }
    fn is_multi_flow(&self) -> bool {
        self.is_multi_flow
    }
    fn is_suspended(&self) -> bool {
        false
    }
    fn may_be_bypassed(&self) -> bool {
        false
    }
    fn goodput(&self) -> &GoodputEstimator {
        &self.goodput
    }
    fn goodput_mut(&mut self) -> &mut GoodputEstimator {
        &mut self.goodput
    }
}

fn fake_paths(slow_ns: &[u64]) -> Vec<FakePath> {
    let fake = |(port, &slow_ns)| FakePath {
        local_port: port as u8,
        nic_pair: NIC_PAIR,
        slow_ns,
        usable: true,
        is_multi_flow: false,
        goodput: GoodputEstimator::default(),
    };
    slow_ns.iter().enumerate().map(fake).collect()
}

fn selector() -> BulkPathSelector {
    BulkPathSelector::new(0, NIC_PAIR)
}

/// Sends kilobytes to the only peer; returns how many went by each path.
fn send(selector: &mut BulkPathSelector, paths: &mut [FakePath], kilobytes: usize, now_ns: &mut u64) -> Vec<usize> {
    send_with_stats(selector, paths, kilobytes, now_ns, &mut shared_stats())
}

fn send_with_stats(
    selector: &mut BulkPathSelector,
    paths: &mut [FakePath],
    kilobytes: usize,
    now_ns: &mut u64,
    stats: &mut SharedStats,
) -> Vec<usize> {
    let mut by = vec![0; paths.len()];
    for _ in 0..kilobytes / 64 {
        selector.update(paths, stats);
        let at = selector.current().expect("one is usable");
        by[at] += 64;
        paths[at].goodput.on_sent(64 << 10, *now_ns);
        *now_ns += 64 * paths[at].slow_ns;
        paths[at].goodput.on_acked(64 << 10, false, *now_ns);
        // Idle time must not count.
        *now_ns += 100_000;
        selector.on_sent(64 << 10, *now_ns, paths, stats);
    }
    by
}

#[test]
fn the_fastest_way_is_taken_after_each_was_tried() {
    let (mut selector, mut paths, mut now_ns) = (selector(), fake_paths(&[500, 100, 150]), 0);
    // Kilobytes of the trial: a quarter of an interval is enough for the first path, which is much slower than the
    // others.
    let trial = [256, 4 << 10, 4 << 10];
    assert_eq!(send(&mut selector, &mut paths, trial.iter().sum(), &mut now_ns), trial);
    assert_eq!(selector.winner(), Some(1));
    assert_eq!(send(&mut selector, &mut paths, 64 << 10, &mut now_ns), [0, 64 << 10, 0]);
    // All paths are tried again; the same one wins, and stays the winner for twice as long.
    assert_eq!(send(&mut selector, &mut paths, trial.iter().sum(), &mut now_ns), trial);
    assert_eq!(send(&mut selector, &mut paths, 128 << 10, &mut now_ns), [0, 128 << 10, 0]);
    // The first path has become fast: the first interval of each of the others was whole, as nothing better was
    // measured yet.
    paths[0].slow_ns = 10;
    let trial = [4 << 10, 5 << 8, 5 << 8];
    assert_eq!(send(&mut selector, &mut paths, trial.iter().sum(), &mut now_ns), trial);
    assert_eq!(selector.winner(), Some(0));
    assert_eq!(send(&mut selector, &mut paths, 64 << 10, &mut now_ns), [64 << 10, 0, 0]);
}

#[test]
fn a_slow_rail_is_not_tried_for_long() {
    let (mut selector, mut paths, mut now_ns) = (selector(), fake_paths(&[2_000_000, 1_900_000]), 0);
    // A megabyte takes two seconds.
    send(&mut selector, &mut paths, 2 * 4 * 64, &mut now_ns);
    assert_eq!((selector.intervals_left, selector.winner()), (0, Some(1)));
}

#[test]
fn one_turn_in_which_the_core_was_taken_away_does_not_decide() {
    let (mut selector, mut paths, mut now_ns) = (selector(), fake_paths(&[110, 100]), 0);
    paths[1].slow_ns = 400;
    send(&mut selector, &mut paths, 2 << 10, &mut now_ns);
    paths[1].slow_ns = 100;
    send(&mut selector, &mut paths, 6 << 10, &mut now_ns);
    assert_eq!(selector.winner(), Some(1));
}

#[test]
fn a_way_that_is_gone_is_left_at_once_and_a_new_one_is_tried() {
    let (mut selector, mut paths, mut now_ns) = (selector(), fake_paths(&[100, 500]), 0);
    send(&mut selector, &mut paths, 5 << 10, &mut now_ns);
    assert_eq!(selector.current(), Some(0));
    paths[0].usable = false;
    assert_eq!(send(&mut selector, &mut paths, 10 << 10, &mut now_ns), [0, 10 << 10]);
    paths[0].usable = true;
    selector.on_path_added(&mut paths, &mut shared_stats());
    send(&mut selector, &mut paths, 4 << 10, &mut now_ns);
    assert_eq!(selector.current(), Some(0));
}

#[test]
fn ways_that_are_alike_are_tried_ever_more_seldom() {
    let (mut selector, mut paths, mut now_ns) = (selector(), fake_paths(&[70, 70, 100]), 0);
    let mut trials = 0;
    for turn in 0..1000 {
        let was = selector.intervals_left;
        // Each of the first two is the fastest by a little now and then.
        (0..2).for_each(|at| paths[at].slow_ns = 70 - u64::from(turn / 70 % 2 == at) * 5);
        send(&mut selector, &mut paths, 1 << 10, &mut now_ns);
        trials += u32::from(was == 0 && selector.intervals_left > 0);
    }
    assert!(trials < 8, "{trials} trials in 1000 MB");
}

#[test]
fn a_little_better_than_the_way_for_bulk_is_not_better() {
    for (slow_ns, winner) in [(90, 1), (75, 0)] {
        let (mut selector, mut paths, mut now_ns) = (selector(), fake_paths(&[slow_ns, 100]), 0);
        send(&mut selector, &mut paths, 8 << 10, &mut now_ns);
        assert_eq!(selector.winner(), Some(winner), "{slow_ns}");
    }
}

/// P39
#[test]
fn flows_are_asked_for_where_no_way_carries_more_than_a_network_gives_one() {
    for (slow_ns, wants_flows) in [(2000, true), (800, false)] {
        let (mut selector, mut paths, mut now_ns) = (selector(), fake_paths(&[slow_ns, 3000]), 0);
        send(&mut selector, &mut paths, 7 << 10, &mut now_ns);
        assert!(!selector.needs_flows(), "not all was tried");
        send(&mut selector, &mut paths, 1 << 10, &mut now_ns);
        assert_eq!((selector.winner(), selector.needs_flows()), (Some(0), wants_flows), "{slow_ns}");
        selector.on_flows_requested();
        assert!(!selector.needs_flows());
    }
}

/// P39
#[test]
fn all_flows_at_once_are_tried_alone_and_taken_if_they_carry_clearly_more() {
    let new = |slow_ns| FakePath {
        local_port: 0,
        nic_pair: NIC_PAIR,
        slow_ns,
        usable: true,
        is_multi_flow: true,
        goodput: GoodputEstimator::default(),
    };
    for (slow_ns, winner) in [(2000, 0), (1400, 0), (1100, 2), (500, 2)] {
        let (mut selector, mut paths, mut now_ns) = (selector(), fake_paths(&[2000, 3000]), 0);
        send(&mut selector, &mut paths, 8 << 10, &mut now_ns);
        paths.push(new(slow_ns));
        selector.try_multi_flow(2, &mut paths);
        assert_eq!(send(&mut selector, &mut paths, 16 << 10, &mut now_ns), [0, 0, 16 << 10]);
        assert_eq!((selector.intervals_left, selector.winner()), (0, Some(winner)), "{slow_ns}");
        // In the next trial it is one of three, and the last winner stays the winner.
        send(&mut selector, &mut paths, (64 << 10) + (24 << 10), &mut now_ns);
        assert_eq!(selector.winner(), Some(winner), "{slow_ns}");
    }
}

/// P39
#[test]
fn flows_that_are_there_before_the_trial_are_in_it_and_those_that_fall_silent_are_left() {
    let (mut selector, mut paths, mut now_ns) = (selector(), fake_paths(&[2000, 500]), 0);
    paths[1].is_multi_flow = true;
    selector.try_multi_flow(1, &mut paths);
    assert_eq!(selector.current(), None, "nothing was sent yet");
    send(&mut selector, &mut paths, 20 << 10, &mut now_ns);
    assert_eq!(selector.winner(), Some(1));
    paths[1].usable = false;
    send(&mut selector, &mut paths, 4 << 10, &mut now_ns);
    assert_eq!(selector.winner(), Some(0));
    (paths[0].usable, paths[1].usable) = (false, true);
    send(&mut selector, &mut paths, 16 << 10, &mut now_ns);
    assert_eq!(selector.winner(), Some(1), "the only one");
}

#[test]
fn what_was_cut_for_another_way_shows_nothing_of_this_one() {
    let (mut selector, mut paths, mut now_ns) = (selector(), fake_paths(&[100, 50]), 0);
    // The second path is slow with frames of the first one's length: in each of its intervals half a megabyte of
    // them goes first, or all are such.
    for (shortly, winner) in [(8, 1), (usize::MAX, 0)] {
        let mut stats = shared_stats();
        selector.begin_trial(&mut paths, &mut stats);
        let (mut by, mut short) = (vec![0; 2], 0);
        while selector.has_trial() {
            let at = selector.current().expect("both are usable");
            short = if at == 1 { short + 1 } else { 0 };
            let is_short = short > 0 && short <= shortly;
            by[at] += 64;
            paths[at].goodput.on_sent(64 << 10, now_ns);
            now_ns += 64 * if is_short { 1000 } else { paths[at].slow_ns };
            paths[at].goodput.on_acked(64 << 10, false, now_ns);
            if is_short {
                selector.on_sent_of_other_mtu(64 << 10, now_ns, &mut paths, &mut stats)
            } else {
                selector.on_sent(64 << 10, now_ns, &mut paths, &mut stats)
            }
        }
        assert_eq!(selector.winner(), Some(winner), "{by:?}");
    }
}

/// The selector of another peer.
fn other_selector() -> BulkPathSelector {
    BulkPathSelector::new(1, NIC_PAIR)
}

#[test]
fn the_first_trial_comes_late_but_sooner_where_the_path_made_for_bulk_is_slow() {
    // 64 MiB by that path take 13 ms, and 0.1 s with the idle time; 23 MiB by the slow one 0.5 s.
    for (slow_ns, by_guess) in [(200, 64), (20_000, 23)] {
        let (mut selector, mut paths, mut now_ns) = (selector(), fake_paths(&[50, 100, slow_ns]), 0);
        let mut stats = late_trial_stats();
        let by = send_with_stats(&mut selector, &mut paths, (by_guess - 1) << 10, &mut now_ns, &mut stats);
        assert_eq!((by, selector.has_trial()), (vec![0, 0, (by_guess - 1) << 10], false), "{slow_ns}");
        send_with_stats(&mut selector, &mut paths, 1 << 10, &mut now_ns, &mut stats);
        assert!(selector.has_trial(), "{slow_ns}");
        send_with_stats(&mut selector, &mut paths, 24 << 10, &mut now_ns, &mut stats);
        assert_eq!(selector.winner(), Some(0), "{slow_ns}");
    }
}

#[test]
fn a_path_for_bulk_that_opens_before_the_first_trial_is_taken_at_once() {
    let (mut selector, mut paths, mut now_ns) = (selector(), fake_paths(&[50, 100, 200]), 0);
    let mut stats = late_trial_stats();
    paths[2].usable = false;
    assert_eq!(send_with_stats(&mut selector, &mut paths, 1 << 10, &mut now_ns, &mut stats), [0, 1 << 10, 0]);
    paths[2].usable = true;
    selector.on_path_added(&mut paths, &mut stats);
    assert_eq!(send_with_stats(&mut selector, &mut paths, 1 << 10, &mut now_ns, &mut stats), [0, 0, 1 << 10]);
    assert!(!selector.has_trial());
}

#[test]
fn what_won_with_one_peer_is_the_first_guess_for_others() {
    let (mut stats, mut now_ns) = (late_trial_stats(), 0);
    let (mut first, mut to_first) = (selector(), fake_paths(&[50, 100, 200]));
    let (mut second, mut to_second) = (other_selector(), fake_paths(&[50, 100, 200]));
    let mut send = |selector: &mut BulkPathSelector, paths: &mut [FakePath], mib: usize| {
        send_with_stats(selector, paths, mib << 10, &mut now_ns, &mut stats)
            .iter()
            .map(|by| by >> 10)
            .collect::<Vec<_>>()
    };
    send(&mut first, &mut to_first, 65);
    // Until the first peer's paths have been tried, the other takes the path made for bulk, then the winner.
    assert_eq!((send(&mut second, &mut to_second, 3), first.has_trial()), (vec![0, 0, 3], true));
    send(&mut first, &mut to_first, 11);
    assert_eq!(first.winner(), Some(0));
    // The result is noticed after a MiB; the last MiB is the first one of the second peer's own trial.
    assert_eq!(send(&mut second, &mut to_second, 62), [60, 0, 2]);
    assert!(second.winner().is_none() && second.has_trial());
    // Its own trial finds that another path is better there.
    to_second[0].slow_ns = 500;
    send(&mut second, &mut to_second, 12);
    assert_eq!(second.winner(), Some(1));
    assert_eq!(send(&mut first, &mut to_first, 32), [32, 0, 0], "a peer whose paths were tried keeps its winner");
}

#[test]
fn nobody_waits_for_a_pair_of_nics_that_leads_nowhere() {
    let (mut stats, mut now_ns) = (shared_stats(), 0);
    let (mut nowhere, mut none) = (selector(), fake_paths(&[50]));
    none[0].usable = false;
    nowhere.update(&mut none, &mut stats);
    let (mut second, mut to_second) = (other_selector(), fake_paths(&[50, 100]));
    send_with_stats(&mut second, &mut to_second, 1 << 10, &mut now_ns, &mut stats);
    nowhere.update(&mut none, &mut stats);
    assert!(second.has_trial() && !stats.nic(NIC_PAIR).has_trial_of_other(1));
}

#[test]
fn a_trial_that_does_not_end_and_a_way_that_is_not_there_are_not_awaited_for_ever() {
    for is_over in [false, true] {
        let (mut stats, mut now_ns) = (late_trial_stats(), 0);
        let (mut first, mut to_first) = (selector(), fake_paths(&[50, 100]));
        let (mut second, mut to_second) = (other_selector(), fake_paths(&[50, 100, 20]));
        to_second[0].usable = false;
        let mut send = |selector: &mut BulkPathSelector, paths: &mut [FakePath], mib: usize| {
            send_with_stats(selector, paths, mib << 10, &mut now_ns, &mut stats)
                .iter()
                .map(|by| by >> 10)
                .collect::<Vec<_>>()
        };
        send(&mut first, &mut to_first, if is_over { 76 } else { 65 });
        assert_eq!((first.has_trial(), first.winner().is_some()), (!is_over, is_over));
        assert_eq!(send(&mut second, &mut to_second, 64), [0, 0, 64]);
        send(&mut second, &mut to_second, 32 + 12);
        assert_eq!(second.winner(), Some(2));
    }
}

#[test]
fn a_port_is_needed_where_it_would_be_tried_or_taken() {
    let (mut stats, mut now_ns) = (late_trial_stats(), 0);
    let (mut first, mut to_first) = (selector(), fake_paths(&[50, 100]));
    let (mut second, mut to_second) = (other_selector(), fake_paths(&[50, 100]));
    assert!(first.may_need(2, &stats) && second.may_need(2, &stats));
    send_with_stats(&mut first, &mut to_first, 65 << 10, &mut now_ns, &mut stats);
    assert!(first.has_trial() && first.may_need(2, &stats) && second.may_need(2, &stats), "nothing has won yet");
    send_with_stats(&mut first, &mut to_first, 12 << 10, &mut now_ns, &mut stats);
    assert!(first.may_need(2, &stats) && !second.may_need(2, &stats) && second.may_need(0, &stats));
    send_with_stats(&mut second, &mut to_second, 65 << 10, &mut now_ns, &mut stats);
    assert!(second.has_trial() && second.may_need(2, &stats));
}

/// P39
#[test]
fn flows_that_won_with_one_peer_are_asked_for_and_taken_with_others() {
    let (mut stats, mut now_ns) = (late_trial_stats(), 0);
    stats.nic_mut(NIC_PAIR).end_trial(0, Some(BestPath { local_port: 0, is_multi_flow: true }));
    let (mut second, mut paths) = (other_selector(), fake_paths(&[2000, 3000]));
    send_with_stats(&mut second, &mut paths, 1 << 10, &mut now_ns, &mut stats);
    assert_eq!((second.current(), second.needs_flows()), (Some(0), true));
    paths.push(FakePath {
        local_port: 0,
        nic_pair: NIC_PAIR,
        slow_ns: 500,
        usable: true,
        is_multi_flow: true,
        goodput: GoodputEstimator::default(),
    });
    second.try_multi_flow(2, &mut paths);
    send_with_stats(&mut second, &mut paths, 16 << 10, &mut now_ns, &mut stats);
    assert_eq!(second.winner(), Some(2));
}

/// Lets `4 * mib` MiB of bulk arrive over the NIC, 1 MiB in each `took_ns`.
fn carry(stats: &mut SharedStats, mib: u64, took_ns: u64) {
    let acked = AckedBytes { peer: 0, bytes: 1 << 20, was_full: true, has_more: false };
    let detector = &mut stats.nic_mut(NIC_PAIR).slow_network;
    for turn in 0..4 * mib {
        detector.on_sent(2 * turn * took_ns);
        detector.on_acked(acked, (2 * turn + 1) * took_ns);
    }
}

#[test]
fn on_a_slow_network_raw_frames_are_taken_and_nothing_else_is_needed() {
    let (mut stats, mut now_ns) = (shared_stats(), 0);
    let (mut selector, mut paths) = (selector(), fake_paths(&[20_000, 10_000, 5_000]));
    let mut send = |selector: &mut BulkPathSelector, paths: &mut [FakePath], mib: usize, stats: &mut SharedStats| {
        send_with_stats(selector, paths, mib << 10, &mut now_ns, stats).iter().map(|by| by >> 10).collect::<Vec<_>>()
    };
    assert_eq!(send(&mut selector, &mut paths, 2, &mut stats), [0, 1, 1]);
    carry(&mut stats, 8, 10_000_000);
    // Without a path for single frames all are tried as usual.
    paths[0].usable = false;
    send(&mut selector, &mut paths, 20, &mut stats);
    assert_eq!(selector.winner(), Some(2));
    // The winner before, and the order of the paths, do not matter.
    paths[0].usable = true;
    paths.swap(0, 1);
    assert_eq!(send(&mut selector, &mut paths, 70, &mut stats), [0, 70, 0]);
    assert!(!selector.may_need(3, &stats) && selector.winner() == Some(1));
    // Not if another NIC reaches the peer too.
    let nic_pair = NicPair { local: 0, remote: 1 };
    paths.push(FakePath {
        local_port: 0,
        nic_pair,
        slow_ns: 5000,
        usable: true,
        is_multi_flow: false,
        goodput: GoodputEstimator::default(),
    });
    let by = send(&mut selector, &mut paths, 6, &mut stats);
    assert!(by[2] >= 2 && selector.may_need(3, &stats), "{by:?}");
    paths[3].usable = false;
    assert_eq!(send(&mut selector, &mut paths, 10, &mut stats), [0, 10, 0, 0]);
    // All flows at once are tried beside it.
    paths.push(FakePath {
        local_port: 1,
        nic_pair: NIC_PAIR,
        slow_ns: 2000,
        usable: true,
        is_multi_flow: true,
        goodput: GoodputEstimator::default(),
    });
    selector.try_multi_flow(4, &mut paths);
    assert_eq!(send(&mut selector, &mut paths, 60, &mut stats), [0, 0, 0, 0, 60]);
    // The network is fast again: all are tried.
    carry(&mut stats, 1, 1_000_000);
    send(&mut selector, &mut paths, 40, &mut stats);
    paths.pop();
    paths.pop();
    assert!(selector.may_need(4, &stats) && paths.iter().all(|path| path.goodput.peak() > 0));
}

#[test]
fn peers_that_took_the_same_guess_are_tried_one_after_the_other() {
    let (mut stats, mut now_ns) = (late_trial_stats(), 0);
    stats.nic_mut(NIC_PAIR).end_trial(7, Some(BestPath { local_port: 0, is_multi_flow: false }));
    let (mut first, mut to_first) = (selector(), fake_paths(&[50, 100]));
    let (mut second, mut to_second) = (other_selector(), fake_paths(&[50, 100]));
    for _ in 0..65 {
        send_with_stats(&mut first, &mut to_first, 1 << 10, &mut now_ns, &mut stats);
        send_with_stats(&mut second, &mut to_second, 1 << 10, &mut now_ns, &mut stats);
    }
    assert!(first.has_trial() && !second.has_trial() && second.current() == Some(0));
    send_with_stats(&mut first, &mut to_first, 8 << 10, &mut now_ns, &mut stats);
    send_with_stats(&mut second, &mut to_second, 2 << 10, &mut now_ns, &mut stats);
    assert!(first.winner() == Some(0) && second.has_trial());
    // But no peer waits for ever for one to which nothing more is sent.
    let (mut third, mut to_third) = (BulkPathSelector::new(2, NIC_PAIR), fake_paths(&[50, 100]));
    send_with_stats(&mut third, &mut to_third, 97 << 10, &mut now_ns, &mut stats);
    assert!(third.has_trial());
}

/// P39
#[test]
fn flows_that_are_open_already_are_tried_where_they_have_won_with_another_peer() {
    let (mut stats, mut now_ns) = (late_trial_stats(), 0);
    stats.nic_mut(NIC_PAIR).end_trial(0, Some(BestPath { local_port: 0, is_multi_flow: true }));
    let (mut second, mut paths) = (other_selector(), fake_paths(&[2000, 3000]));
    paths.push(FakePath {
        local_port: 0,
        nic_pair: NIC_PAIR,
        slow_ns: 500,
        usable: true,
        is_multi_flow: true,
        goodput: GoodputEstimator::default(),
    });
    send_with_stats(&mut second, &mut paths, 17 << 10, &mut now_ns, &mut stats);
    assert_eq!(second.winner(), Some(2));
}

#[test]
fn without_any_way_there_is_no_choice() {
    let (mut selector, mut paths, mut stats) = (selector(), fake_paths(&[100]), shared_stats());
    paths[0].usable = false;
    selector.update(&mut paths, &mut stats);
    selector.on_sent(1, 0, &mut paths, &mut stats);
    assert_eq!((selector.current(), selector.winner()), (None, None));
}
