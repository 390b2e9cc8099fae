//! Selects the path that carries bulk best between one of our NICs and one of a peer's. In a trial each responding
//! path is measured with the traffic itself, in several intervals, because the kernel may take a core away for longer
//! than one interval lasts. A path counts by its best interval: the bytes acknowledged there per time in which
//! frames were in flight. The path with the highest such rate wins, and carries bulk until the next trial. Trials
//! become rarer when the same path wins again. If there are several flows between two ports, all of them together
//! count as one more path. Further flows are requested if the best path carries no more than some networks allow one
//! flow (P39 of docs/protocol.md).
//!
//! The first trial begins late, because short programs end before it has paid. Until then a peer is sent bulk by the
//! path that won with another peer (`shared_stats`), or by the path made for bulk, which is TCP where there is any.
//!
//! The module sends nothing, and reads no clock. Used by `connection`, `path` and `reachability`; uses
//! `shared_stats`, `goodput` and `port_traits`.

use crate::goodput::GoodputEstimator;
use crate::marks::{Mark, mark};
use crate::port_traits::{LatencyClass, NicPair};
use crate::shared_stats::{BestPath, FIRST_TRIAL_BYTES, SharedStats};
use std::num::NonZeroU32;

/// The maximum number of bytes at the start of an interval that do not count because their frames were cut for the
/// path of the previous interval. It is the length of an interval: if there are more such bytes, all bulk consists of
/// short frames (many short messages), and then they count.
const WARMUP_BYTES: u32 = INTERVAL_BYTES as u32;

/// The length of an interval, in bytes. About this many bytes, or fewer, may be in flight at once, also on the path
/// of the previous interval; and TCP's slow start is over within the first interval.
const INTERVAL_BYTES: u64 = 1 << 20;

/// The longest interval, in ns. On a slow port INTERVAL_BYTES would take seconds; but there the network is the
/// bottleneck, and all paths are about equally fast.
const INTERVAL_MAX_NS: u64 = 100_000_000;

/// The number of intervals of each path in a trial. With a single interval of 2 MiB, UDP or raw frames were chosen in
/// four of eight runs although TCP was best (ping-pong of 8 KiB).
const TRIAL_INTERVALS: u8 = 4;

/// The number of acknowledged bytes in an interval after which a path is discarded for the rest of the trial, if its
/// rate is less than half of the best path's rate.
const DISCARD_AFTER_BYTES: u64 = INTERVAL_BYTES / 4;

/// The path made for bulk, which is the last one in the list, gets a bonus in the comparison: its rate divided by
/// this number. Its acknowledgements take longer, which lowers the measured rate; but the traffic does not feel that,
/// because its replies go by the path of the lowest latency. (A message of 8 KiB took 8.0 us by TCP and 9.3 us by
/// UDP, although the goodput of TCP was no higher.)
const BULK_BONUS_DIVISOR: u32 = 4;

/// A path by which zero-copy sends bypass link gets another bonus, its rate divided by this number, because its frames
/// are measured, which take more time than these sends do. (Found when shorter messages were chosen here, too: a
/// ping-pong of 32 KiB at MTU 1500 took 19 us directly by TCP, and 41 us in frames by the path with the higher rate.)
const BYPASS_BONUS_DIVISOR: u32 = 1;

/// Another path replaces the last winner only if its rate is higher by more than a margin: the winner's rate divided
/// by this number. If the network is the bottleneck, all paths are about equally fast; without a margin the winner
/// would keep changing, and all paths would be tried for ever.
const WINNER_MARGIN_DIVISOR: u32 = 10;

/// The percentage of the rate of all flows together that is compared with the rate of a single path. So all flows
/// together must carry 1.5 times as much to win, because they cost more: each flow has a path's acknowledgements and
/// a part of the receive capacity, and many flows that meet at one port take bandwidth from others. If the network
/// limits each flow, they carry a multiple of a single path's rate.
const MULTI_FLOW_PERCENT: u32 = 67;

/// The factor by which the interval of all flows together is longer than that of a single path. By this factor more
/// bytes may be in flight; and bytes that are still in flight when the path's next interval begins, or when the trial
/// ends, do not count in the interval in which they were sent.
const MULTI_FLOW_FACTOR: u64 = 4;

/// Bytes of bulk between two trials: at first, and at most. A path with a tenth of the winner's rate is discarded
/// early in a trial, and costs at most a tenth of the time that the first RETRIAL_BYTES take.
const RETRIAL_BYTES: u64 = 64 << 20;
const RETRIAL_BYTES_MAX: u64 = 1 << 40;

/// The time after the first bulk to a peer, in ns, at which the first trial begins even if fewer bytes were sent. By
/// then a path that suits the network badly has cost enough; at 1 Gbit/s FIRST_TRIAL_BYTES take about as long.
const FIRST_TRIAL_NS: u64 = 500_000_000;

/// The maximum number of bytes by which the first trial is late because another peer's paths are in a trial. It
/// is more than the longest trial of three paths takes.
const WAIT_BYTES: u64 = 32 << 20;

const _: () = assert!(
    3 * TRIAL_INTERVALS as u64 * (WARMUP_BYTES as u64 + INTERVAL_BYTES) < WAIT_BYTES && WAIT_BYTES < FIRST_TRIAL_BYTES
);
const _: () = assert!(2 * DISCARD_AFTER_BYTES <= INTERVAL_BYTES && 10 * 10 * DISCARD_AFTER_BYTES <= RETRIAL_BYTES);
const _: () = assert!(RETRIAL_BYTES < RETRIAL_BYTES_MAX);

/// The properties of a path that the selection needs.
pub trait BulkPath {
    /// Our port.
    fn local_port(&self) -> u8;
    /// The NICs that the path connects: ours and the peer's.
    fn nic_pair(&self) -> NicPair;
    fn latency_class(&self) -> LatencyClass;
    /// Whether the path may carry bulk between these NICs now: it connects them, is established and responds.
    fn is_usable(&self, nic_pair: NicPair) -> bool;
    /// Whether the path stands for all flows between two ports together.
    fn is_multi_flow(&self) -> bool;
    /// Whether the path must not be tried now.
    fn is_suspended(&self) -> bool;
    /// Whether messages may bypass link by this path (`Endpoint::direct_path`, `Endpoint::bypass_path`).
    fn may_be_bypassed(&self) -> bool;
    fn goodput(&self) -> &GoodputEstimator;
    fn goodput_mut(&mut self) -> &mut GoodputEstimator;
}

/// Selects the path for bulk between two NICs. See the module.
#[derive(Clone, Debug)]
pub struct BulkPathSelector {
    peer: u32,
    pub nic_pair: NicPair,
    /// The index of the path that bulk takes now; None if no path was usable. It is a byte, because there are very
    /// many selectors.
    current: Option<u8>,
    /// Bytes that the current path is still to carry before the next interval or trial.
    left_bytes: u64,
    /// Bytes that were sent in this interval before the first byte that counts.
    warmup_bytes: u32,
    /// Remaining intervals of each path in the trial in progress, the current one included; 0: no trial.
    intervals_left: u8,
    /// The index of the path that won the last trial; None before the first trial.
    winner: Option<u8>,
    /// The number of bytes of bulk between the last trial and the next one.
    retrial_bytes: u64,
    /// Whether the network is slow (`slow_network`), there is a path for single frames, and no other NICs lead to the
    /// peer. Then the path for single frames is the only single path that may carry bulk. With several NICs this does
    /// not hold, because raw frames over all of them together cost a multiple of the CPU time: three ports of 500
    /// Mbit/s carried 997 Mbit/s by raw frames, and 1157 Mbit/s otherwise.
    is_slow: bool,
    /// Bytes of bulk that were sent outside of trials; set to the bytes before the first trial (`SharedStats`) if fewer
    /// have taken FIRST_TRIAL_NS. It is used only before the first trial.
    untried_bytes: u64,
    /// The time of the first bulk that was not sent in a trial, in ms modulo 2^32, as an odd number; None before it. It
    /// is a short number, because there are very many selectors.
    untried_since_ms: Option<NonZeroU32>,
    /// Whether further flows are to be requested: the best path carries no more than a network may give one flow, or
    /// all flows together have won with another peer; bulk does not go to many peers; and they were not requested
    /// since.
    needs_flows: bool,
    /// Whether all flows together have won with another peer, so that they are taken here if they carry anything.
    is_guess_multi_flow: bool,
}

impl BulkPathSelector {
    pub fn new(peer: u32, nic_pair: NicPair) -> BulkPathSelector {
        BulkPathSelector {
            peer,
            nic_pair,
            current: None,
            left_bytes: 0,
            warmup_bytes: 0,
            intervals_left: 0,
            winner: None,
            retrial_bytes: RETRIAL_BYTES,
            is_slow: false,
            untried_bytes: 0,
            untried_since_ms: None,
            needs_flows: false,
            is_guess_multi_flow: false,
        }
    }

    /// The index of the path that bulk takes now; None if no path was usable.
    #[inline]
    pub fn current(&self) -> Option<usize> {
        self.current.map(usize::from)
    }

    /// Whether a trial is in progress.
    #[inline]
    pub fn has_trial(&self) -> bool {
        self.intervals_left > 0
    }

    /// Whether only one path may carry bulk, so that a trial decides nothing.
    pub fn has_no_choice<W: BulkPath>(&self, paths: &[W]) -> bool {
        self.candidates(paths).nth(1).is_none()
    }

    /// Whether the network is slow, so that only the path for single frames carries bulk.
    #[inline]
    pub fn is_slow(&self) -> bool {
        self.is_slow
    }

    /// The index of the path that won the last trial; None before the first trial.
    pub fn winner(&self) -> Option<usize> {
        self.winner.map(usize::from)
    }

    /// Whether further flows are to be opened, because they might carry more.
    #[inline]
    pub fn needs_flows(&self) -> bool {
        self.needs_flows
    }

    pub fn on_flows_requested(&mut self) {
        self.needs_flows = false;
    }

    /// Whether bulk would be tried on a path of our port `local_port`, or use it, if that path were open now.
    pub fn may_need(&self, local_port: u8, stats: &SharedStats) -> bool {
        let nic = stats.nic(self.nic_pair);
        let is_guessed = nic.best_path().is_some_and(|best| best.local_port != local_port) && self.is_early(stats);
        !self.is_slow && (self.winner.is_some() || self.has_trial() || !is_guessed)
    }

    /// Begins a trial if bulk has no usable path, or if the network has become slow or is no longer slow. It is
    /// called before bulk is sent.
    pub fn update<W: BulkPath>(&mut self, paths: &mut [W], stats: &mut SharedStats) {
        let is_usable = self.current().is_some_and(|at| paths[at].is_usable(self.nic_pair));
        if !is_usable || self.is_slow != self.is_slow_now(paths, stats) {
            self.begin_trial(paths, stats);
        }
    }

    /// Whether no other pair of NICs connects the peer.
    fn is_only_pair<W: BulkPath>(&self, paths: &[W]) -> bool {
        !paths.iter().any(|path| path.nic_pair() != self.nic_pair && path.is_usable(path.nic_pair()))
    }

    /// The best rate of the intervals of a single path, weighted for the comparison with other single paths.
    fn score<W: BulkPath>(&self, at: usize, paths: &[W]) -> u32 {
        let peak = paths[at].goodput().peak();
        // Several pairs carry messages together, in frames (`Connection::direct_path`).
        let may_be_bypassed = paths[at].may_be_bypassed() && self.is_only_pair(paths);
        peak.saturating_add(if may_be_bypassed { peak / BYPASS_BONUS_DIVISOR } else { 0 })
    }

    fn is_slow_now<W: BulkPath>(&self, paths: &[W], stats: &SharedStats) -> bool {
        stats.nic(self.nic_pair).slow_network.is_slow()
            && self.lowest_latency(paths).is_some_and(|at| paths[at].latency_class() < LatencyClass::Bulk)
            && self.is_only_pair(paths)
    }

    /// Begins a trial, because a further path can be used.
    pub fn on_path_added<W: BulkPath>(&mut self, paths: &mut [W], stats: &mut SharedStats) {
        self.retrial_bytes = RETRIAL_BYTES;
        self.begin_trial(paths, stats);
    }

    /// Tries path `new`, which stands for all flows between two ports. Only this path is measured, and compared with
    /// the results that the other paths had in their trial. Nothing happens if a trial is in progress, if the first
    /// trial is still to come (unless all flows together have won with another peer), or if the path is suspended or
    /// not usable.
    pub fn try_multi_flow<W: BulkPath>(&mut self, new: usize, paths: &mut [W]) {
        // A trial that is in progress or still to come includes the path anyway.
        let is_settled = self.winner.is_some() || self.is_guess_multi_flow;
        if self.intervals_left == 0 && is_settled && paths[new].is_usable(self.nic_pair) && !paths[new].is_suspended() {
            mark(Mark::FlowsTried);
            paths.iter_mut().filter(|path| path.is_usable(self.nic_pair)).for_each(|path| path.goodput_mut().discard());
            paths[new].goodput_mut().begin_trial();
            self.intervals_left = TRIAL_INTERVALS;
            self.begin_interval_before(paths.len(), paths);
        }
    }

    /// Records that `bytes` bytes of bulk were sent on the current path in frames that were cut for another path.
    /// During a trial such frames measure nothing: the interval begins again behind them, for at most WARMUP_BYTES.
    pub fn on_sent_of_other_mtu<W: BulkPath>(
        &mut self,
        bytes: usize,
        now_ns: u64,
        paths: &mut [W],
        stats: &mut SharedStats,
    ) {
        if let Some(at) = self.current().filter(|_| self.has_trial() && self.warmup_bytes < WARMUP_BYTES) {
            mark(Mark::IntervalRestarted);
            self.warmup_bytes = self.warmup_bytes.saturating_add(bytes as u32);
            self.left_bytes = interval_bytes(&paths[at]) + bytes as u64;
            paths[at].goodput_mut().reset_interval();
        }
        self.on_sent(bytes, now_ns, paths, stats);
    }

    /// Records that `bytes` bytes of bulk were sent on the current path. Begins the next interval or trial if it is
    /// due.
    pub fn on_sent<W: BulkPath>(&mut self, bytes: usize, now_ns: u64, paths: &mut [W], stats: &mut SharedStats) {
        let Some(at) = self.current() else { return };
        self.left_bytes = self.left_bytes.saturating_sub(bytes as u64);
        if self.intervals_left == 0 {
            self.untried_bytes = self.untried_bytes.saturating_add(bytes as u64);
            if self.winner.is_none() && self.is_early(stats) && self.has_taken_long(now_ns) {
                mark(Mark::FirstTrialByTime);
                (self.untried_bytes, self.left_bytes) = (stats.first_trial_bytes(), 0);
            }
            if self.left_bytes == 0 {
                self.begin_trial(paths, stats);
            }
            return;
        }
        if self.should_discard(at, paths) {
            paths[at].goodput_mut().discard();
            self.left_bytes = 0;
        }
        if paths[at].goodput().busy_ns() >= INTERVAL_MAX_NS {
            mark(Mark::IntervalLong);
            self.left_bytes = 0;
        }
        if self.left_bytes == 0 {
            self.next_interval(at, paths, stats);
        }
    }

    fn should_discard<W: BulkPath>(&self, at: usize, paths: &[W]) -> bool {
        let goodput = paths[at].goodput();
        let (bytes, peak) = (goodput.bytes(), goodput.peak());
        // All flows together are not discarded in their first interval: flows that were never used have small
        // congestion windows.
        let is_new = paths[at].is_multi_flow() && goodput.is_unmeasured();
        !is_new
            && bytes >= DISCARD_AFTER_BYTES
            && self.best(paths).is_some_and(|best| peak < paths[best].goodput().peak() / 2)
    }

    /// The index of the best path by the intervals of the trial so far; None if no path may carry bulk.
    fn best<W: BulkPath>(&self, paths: &[W]) -> Option<usize> {
        let singles = || self.candidates(paths).filter(|&at| !paths[at].is_multi_flow());
        let last = singles().next_back();
        let for_bulk = |at: usize| {
            let bonus = if Some(at) == last { paths[at].goodput().peak() / BULK_BONUS_DIVISOR } else { 0 };
            self.score(at, paths).saturating_add(bonus)
        };
        let one = singles().max_by_key(|&at| for_bulk(at));
        let flows = self.candidates(paths).filter(|&at| paths[at].is_multi_flow());
        let all = flows.max_by_key(|&at| rate(&paths[at]));
        let more = |all: &usize| one.is_none_or(|one| rate(&paths[*all]) > rate(&paths[one]));
        all.filter(more).or(one)
    }

    /// The indexes of the paths that may carry bulk now: all usable paths. In a slow network these are the single
    /// path of the lowest latency, and the usable paths that stand for several flows.
    fn candidates<W: BulkPath>(&self, paths: &[W]) -> impl DoubleEndedIterator<Item = usize> {
        let only = if self.is_slow { self.lowest_latency(paths) } else { None };
        let is_left = move |at: usize| paths[at].is_multi_flow() || only.is_none_or(|only| only == at);
        (0..paths.len()).filter(move |&at| paths[at].is_usable(self.nic_pair) && is_left(at))
    }

    /// The index of the usable single path that has the lowest latency, and so carries single frames; None if no
    /// single path is usable.
    fn lowest_latency<W: BulkPath>(&self, paths: &[W]) -> Option<usize> {
        let singles = (0..paths.len()).filter(|&at| paths[at].is_usable(self.nic_pair) && !paths[at].is_multi_flow());
        singles.min_by_key(|&at| (paths[at].latency_class(), paths[at].local_port()))
    }

    /// Returns the last winner, if it may carry bulk and path `best` is not better by more than the margin
    /// (WINNER_MARGIN_DIVISOR); otherwise path `best`.
    fn best_or_winner<W: BulkPath>(&self, best: usize, paths: &[W]) -> usize {
        let is_as_good = |&winner: &usize| {
            // If the network is the bottleneck, so that several flows carry more, messages that bypass link do not.
            let has_flows = paths[winner].is_multi_flow() || paths[best].is_multi_flow();
            let peak = |at: usize| if has_flows { rate(&paths[at]) } else { self.score(at, paths) };
            let is_candidate = self.candidates(paths).any(|at| at == winner);
            is_candidate && peak(winner) + peak(winner) / WINNER_MARGIN_DIVISOR >= peak(best)
        };
        self.winner().filter(is_as_good).unwrap_or(best)
    }

    fn begin_trial<W: BulkPath>(&mut self, paths: &mut [W], stats: &mut SharedStats) {
        // Most pairs of NICs have no usable path. For them no trial is recorded, because other peers would wait for
        // its result.
        if paths.iter().all(|path| !path.is_usable(self.nic_pair)) {
            (self.current, self.intervals_left) = (None, 0);
            return;
        }
        self.is_slow = self.is_slow_now(paths, stats);
        if self.winner.is_none() && self.use_guess(paths, stats) {
            return;
        }
        stats.nic_mut(self.nic_pair).begin_trial(self.peer);
        (self.current, self.intervals_left) = (None, TRIAL_INTERVALS);
        paths.iter_mut().filter(|path| path.is_usable(self.nic_pair)).for_each(|path| path.goodput_mut().begin_trial());
        if self.begin_interval_before(paths.len(), paths) {
            mark(Mark::BulkTried);
        }
    }

    /// Before the first trial, takes a path without any trial: the path of the local port that won with another peer,
    /// or else the path made for bulk; in a slow network the path for single frames. Returns whether it took a path.
    fn use_guess<W: BulkPath>(&mut self, paths: &mut [W], stats: &SharedStats) -> bool {
        let nic = stats.nic(self.nic_pair);
        // Peers that took a guess at about the same time have their trials one after the other.
        let is_behind =
            nic.has_trial_of_other(self.peer) && self.untried_bytes < stats.first_trial_bytes() + WAIT_BYTES;
        if !self.is_early(stats) && !is_behind {
            return false;
        }
        let singles = || self.candidates(paths).filter(|&at| !paths[at].is_multi_flow());
        let best = nic.best_path();
        let won = best.and_then(|best| singles().find(|&at| self.is_slow || paths[at].local_port() == best.local_port));
        let Some(at) = won.or_else(|| singles().next_back()) else { return false };
        mark(if won.is_some() { Mark::PathGuessed } else { Mark::BulkPathGuessed });
        self.is_guess_multi_flow =
            won.is_some() && best.is_some_and(|best| best.is_multi_flow) && !nic.slow_network.has_many_peers();
        self.needs_flows = self.is_guess_multi_flow;
        (self.current, self.intervals_left) = (Some(at as u8), 0);
        // The path made for bulk is looked at again soon, because another peer's trial may end.
        let is_settled = won.is_some() && self.is_early(stats);
        self.left_bytes = if is_settled { stats.first_trial_bytes() - self.untried_bytes } else { INTERVAL_BYTES };
        let flows = self.candidates(paths).find(|&at| paths[at].is_multi_flow());
        if let Some(flows) = flows.filter(|_| self.is_guess_multi_flow) {
            self.try_multi_flow(flows, paths);
        }
        true
    }

    /// Whether FIRST_TRIAL_NS have passed since the first call.
    fn has_taken_long(&mut self, now_ns: u64) -> bool {
        let now_ms = NonZeroU32::MIN | (now_ns / 1_000_000) as u32;
        let since_ms = *self.untried_since_ms.get_or_insert(now_ms);
        u64::from(now_ms.get().wrapping_sub(since_ms.get())) * 1_000_000 >= FIRST_TRIAL_NS
    }

    /// Whether it is too early for the first trial.
    fn is_early(&self, stats: &SharedStats) -> bool {
        self.untried_bytes < stats.first_trial_bytes()
    }

    /// Ends the interval of path `last`. Begins the next interval, or ends the trial if that was the last one.
    fn next_interval<W: BulkPath>(&mut self, last: usize, paths: &mut [W], stats: &mut SharedStats) {
        if !self.begin_interval_before(last, paths) {
            self.intervals_left -= 1;
            if self.intervals_left == 0 || !self.begin_interval_before(paths.len(), paths) {
                self.end_trial(paths, stats);
            }
        }
    }

    /// Begins the interval of the usable path with the highest index below `end` that is neither discarded nor
    /// suspended. Paths made for bulk have higher indexes than those for single frames and are tried first; the
    /// others are then discarded after few bytes. Returns whether there is such a path.
    fn begin_interval_before<W: BulkPath>(&mut self, end: usize, paths: &mut [W]) -> bool {
        let may_be_tried = |&at: &usize| at < end && !paths[at].is_suspended() && !paths[at].goodput().is_discarded();
        let next = self.candidates(paths).rev().find(may_be_tried);
        if let Some(next) = next {
            (self.current, self.left_bytes, self.warmup_bytes) = (Some(next as u8), interval_bytes(&paths[next]), 0);
            paths[next].goodput_mut().begin_interval();
        }
        next.is_some()
    }

    fn end_trial<W: BulkPath>(&mut self, paths: &mut [W], stats: &mut SharedStats) {
        let best = self.best(paths).map(|best| self.best_or_winner(best, paths) as u8);
        self.retrial_bytes =
            if self.winner == best { (self.retrial_bytes * 2).min(RETRIAL_BYTES_MAX) } else { RETRIAL_BYTES };
        (self.winner, self.current, self.left_bytes, self.intervals_left) = (best, best, self.retrial_bytes, 0);
        let best = best.map(|best| &paths[usize::from(best)]);
        self.needs_flows = best.is_some_and(|best| best.goodput().may_be_rate_limited())
            && !stats.nic(self.nic_pair).slow_network.has_many_peers();
        let best_path =
            best.map(|best| BestPath { local_port: best.local_port(), is_multi_flow: best.is_multi_flow() });
        stats.nic_mut(self.nic_pair).end_trial(self.peer, best_path);
    }
}

/// Bytes of one interval of a path.
fn interval_bytes<W: BulkPath>(path: &W) -> u64 {
    if path.is_multi_flow() { MULTI_FLOW_FACTOR * INTERVAL_BYTES } else { INTERVAL_BYTES }
}

/// The best rate of a path's intervals, weighted for the comparison of several flows together with a single path.
fn rate<W: BulkPath>(path: &W) -> u32 {
    let peak = path.goodput().peak();
    if path.is_multi_flow() { (u64::from(peak) * u64::from(MULTI_FLOW_PERCENT) / 100) as u32 } else { peak }
}

#[cfg(test)]
mod tests;
