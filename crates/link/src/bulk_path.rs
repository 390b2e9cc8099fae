//! Selects the path that carries bulk best between one of our NICs and one of a peer's. In a trial each responding
//! path is measured with the traffic itself, in several intervals, as a core may be taken away for longer than one
//! interval lasts. The path on which, in its best interval, most bytes were acknowledged in the time with frames in
//! flight wins until the next trial; trials become rarer as long as the same path wins. All flows between two ports
//! together count as one more path, once there are several: they are requested where no path carries more than some
//! networks give one flow (P39).
//!
//! Until its own trial a peer is sent bulk by the path that won with another peer (`shared_stats`).
//!
//! It sends nothing, and reads no clock. Used by `connection`; uses `shared_stats` and `goodput`.

use crate::goodput::GoodputEstimator;
use crate::marks::{Mark, mark};
use crate::port_traits::{LatencyClass, NicPair};
use crate::shared_stats::{BestPath, SharedStats};

/// The most bytes at the start of an interval that do not count because their frames were cut for the previous
/// path: as many as an interval has; if there are more, all bulk is of that kind (many short messages).
const WARMUP_BYTES: u32 = INTERVAL_BYTES as u32;

/// Bytes of one interval: about as many as may be in flight at once, on the previous path too, or more; and enough
/// that TCP's slow start is over within the first interval.
const INTERVAL_BYTES: u64 = 1 << 20;

/// The longest interval, in ns: on a slow port INTERVAL_BYTES would take seconds, and there the network is the
/// bottleneck.
const INTERVAL_MAX_NS: u64 = 100_000_000;

/// Intervals of each path in a trial. With one interval of 2 MiB, UDP or raw frames were chosen in four of eight
/// runs where TCP was best (8 KiB, ping-pong).
const TRIAL_INTERVALS: u8 = 4;

/// Bytes after which a path that has not half of another's rate is discarded for the rest of the trial.
const DISCARD_AFTER_BYTES: u64 = INTERVAL_BYTES / 4;

/// The divisor of the rate that gives the bonus of the path made for bulk (the last): its acknowledgements take
/// longer, which the traffic does not feel, because its replies go by the path of the lowest latency (TCP instead
/// of UDP at 8 KiB: 8.0 us, not 9.3, but no better goodput).
const BULK_BONUS_DIVISOR: u32 = 4;

/// The divisor of the rate that gives the margin by which a path must be better to replace the last winner: where the
/// network is the bottleneck all paths are alike, and would be tried for ever.
const WINNER_MARGIN_DIVISOR: u32 = 10;

/// The percentage of the rate of all flows together at which a single path is preferred: each flow has a path's
/// acknowledgements and a part of the receive capacity, and many flows that meet at one port take bandwidth from
/// others. Where each flow is limited, together they carry a multiple.
const MULTI_FLOW_PERCENT: u32 = 67;

/// The factor by which the interval of all flows together is longer: as much more may be in flight, and bytes that
/// are sent at the end of an interval are not counted.
const MULTI_FLOW_FACTOR: u64 = 4;

/// Bytes until all paths are tried again, the first time and the last: to try a path of a tenth of the winner's rate
/// costs as much time as a tenth of the first.
const RETRIAL_BYTES: u64 = 64 << 20;
const RETRIAL_BYTES_MAX: u64 = 1 << 40;

/// Bytes that are sent to a peer by an untried path, while the paths to another peer are tried: more than three such
/// trials take.
const WAIT_BYTES: u64 = 32 << 20;

const _: () = assert!(
    3 * TRIAL_INTERVALS as u64 * (WARMUP_BYTES as u64 + INTERVAL_BYTES) < WAIT_BYTES && WAIT_BYTES < RETRIAL_BYTES
);
const _: () = assert!(2 * DISCARD_AFTER_BYTES <= INTERVAL_BYTES && 10 * 10 * DISCARD_AFTER_BYTES <= RETRIAL_BYTES);
const _: () = assert!(RETRIAL_BYTES < RETRIAL_BYTES_MAX);

/// The properties of a path that the selection needs.
pub trait BulkPath {
    /// Our port, and the NICs that the path connects.
    fn local_port(&self) -> u8;
    fn nic_pair(&self) -> NicPair;
    fn latency_class(&self) -> LatencyClass;
    /// Whether it may carry bulk now: it is established, responds, and connects these NICs.
    fn is_usable(&self, nic_pair: NicPair) -> bool;
    /// Whether it stands for all flows between two ports at once.
    fn is_multi_flow(&self) -> bool;
    /// Whether it must not be tried now.
    fn is_suspended(&self) -> bool;
    fn goodput(&self) -> &GoodputEstimator;
    fn goodput_mut(&mut self) -> &mut GoodputEstimator;
}

/// Selects the path for bulk between two NICs. See the module.
#[derive(Clone, Debug)]
pub struct BulkPathSelector {
    peer: u32,
    pub nic_pair: NicPair,
    /// The path that bulk takes now; none before one was usable. The index of a path is a byte, as there are very
    /// many selectors.
    current: Option<u8>,
    /// Bytes that the path is to carry before the next interval or trial.
    left_bytes: u64,
    /// Bytes that were sent before the first byte of the interval that counts.
    warmup_bytes: u32,
    /// Remaining intervals of the trial in progress; 0: no trial.
    intervals_left: u8,
    /// The last winner, and the bytes until all paths are tried again.
    winner: Option<u8>,
    retrial_bytes: u64,
    /// Whether the network is slow (`slow_network`): then the path for single frames is the only single path taken,
    /// if there is one, and if no other NICs lead to the peer, by all of which together raw frames cost as many
    /// times more (three ports of 500 Mbit/s: 997, not 1157).
    is_slow: bool,
    /// Bytes that were sent before the first trial.
    untried_bytes: u64,
    /// Whether the best path carries no more than a network may give one flow, and further flows were not requested
    /// yet.
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
            needs_flows: false,
            is_guess_multi_flow: false,
        }
    }

    /// The path that bulk takes now.
    #[inline]
    pub fn current(&self) -> Option<usize> {
        self.current.map(usize::from)
    }

    /// Whether a trial is in progress.
    #[inline]
    pub fn has_trial(&self) -> bool {
        self.intervals_left > 0
    }

    /// The path that was best when all were tried.
    pub fn winner(&self) -> Option<usize> {
        self.winner.map(usize::from)
    }

    /// Whether further flows might carry more.
    #[inline]
    pub fn needs_flows(&self) -> bool {
        self.needs_flows
    }

    pub fn on_flows_requested(&mut self) {
        self.needs_flows = false;
    }

    /// Whether our port `local_port` would be tried or taken now, if it had an open path.
    pub fn may_need(&self, local_port: u8, stats: &SharedStats) -> bool {
        let nic = stats.nic(self.nic_pair);
        let is_guessed =
            nic.best_path().is_some_and(|best| best.local_port != local_port) && self.untried_bytes < RETRIAL_BYTES;
        let waits = nic.best_path().is_none() && nic.has_trial_of_other(self.peer) && self.untried_bytes < WAIT_BYTES;
        !self.is_slow && (self.winner.is_some() || self.has_trial() || !is_guessed && !waits)
    }

    /// Checks before bulk is sent whether the path is still usable and the network as slow as it was.
    pub fn update<W: BulkPath>(&mut self, paths: &mut [W], stats: &mut SharedStats) {
        let is_usable = self.current().is_some_and(|at| paths[at].is_usable(self.nic_pair));
        if !is_usable || self.is_slow != self.is_slow_now(paths, stats) {
            self.begin_trial(paths, stats);
        }
    }

    fn is_slow_now<W: BulkPath>(&self, paths: &[W], stats: &SharedStats) -> bool {
        let is_other = |path: &W| path.nic_pair() != self.nic_pair && path.is_usable(path.nic_pair());
        stats.nic(self.nic_pair).slow_network.is_slow()
            && self.lowest_latency(paths).is_some_and(|at| paths[at].latency_class() < LatencyClass::Bulk)
            && !paths.iter().any(is_other)
    }

    /// Begins a trial, because a further path can be used.
    pub fn on_path_added<W: BulkPath>(&mut self, paths: &mut [W], stats: &mut SharedStats) {
        self.retrial_bytes = RETRIAL_BYTES;
        self.begin_trial(paths, stats);
    }

    /// Tries path `new`, which stands for all flows of another one and is usable now. It alone is tried, and compared
    /// with what the others did in their trial.
    pub fn try_multi_flow<W: BulkPath>(&mut self, new: usize, paths: &mut [W]) {
        // Otherwise a trial is in progress or to come, and includes it.
        let is_settled = self.winner.is_some() || self.is_guess_multi_flow;
        if self.intervals_left == 0 && is_settled && paths[new].is_usable(self.nic_pair) && !paths[new].is_suspended() {
            mark(Mark::FlowsTried);
            paths.iter_mut().filter(|path| path.is_usable(self.nic_pair)).for_each(|path| path.goodput_mut().discard());
            paths[new].goodput_mut().begin_trial();
            self.intervals_left = TRIAL_INTERVALS;
            self.begin_interval_before(paths.len(), paths);
        }
    }

    /// Records bulk of `bytes` bytes that was sent over the path, in frames that were cut for another one. In a
    /// trial they measure nothing: the interval begins after them.
    pub fn on_sent_of_other_mtu<W: BulkPath>(&mut self, bytes: usize, paths: &mut [W], stats: &mut SharedStats) {
        if let Some(at) = self.current().filter(|_| self.has_trial() && self.warmup_bytes < WARMUP_BYTES) {
            mark(Mark::IntervalRestarted);
            self.warmup_bytes = self.warmup_bytes.saturating_add(bytes as u32);
            self.left_bytes = interval_bytes(&paths[at]) + bytes as u64;
            paths[at].goodput_mut().reset_interval();
        }
        self.on_sent(bytes, paths, stats);
    }

    /// Records bulk of `bytes` bytes that was sent over the path.
    pub fn on_sent<W: BulkPath>(&mut self, bytes: usize, paths: &mut [W], stats: &mut SharedStats) {
        let Some(at) = self.current() else { return };
        self.left_bytes = self.left_bytes.saturating_sub(bytes as u64);
        if self.intervals_left == 0 {
            self.untried_bytes = self.untried_bytes.saturating_add(bytes as u64);
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
        // Flows that were never used have small congestion windows.
        let is_new = paths[at].is_multi_flow() && goodput.is_unmeasured();
        !is_new
            && bytes >= DISCARD_AFTER_BYTES
            && self.best(paths).is_some_and(|best| peak < paths[best].goodput().peak() / 2)
    }

    /// The best path by the intervals so far.
    fn best<W: BulkPath>(&self, paths: &[W]) -> Option<usize> {
        let singles = || self.candidates(paths).filter(|&at| !paths[at].is_multi_flow());
        let last = singles().next_back();
        let for_bulk = |at: usize| {
            let peak = paths[at].goodput().peak();
            if Some(at) == last { peak.saturating_add(peak / BULK_BONUS_DIVISOR) } else { peak }
        };
        let one = singles().max_by_key(|&at| for_bulk(at));
        let flows = self.candidates(paths).filter(|&at| paths[at].is_multi_flow());
        let all = flows.max_by_key(|&at| score(&paths[at]));
        let more = |all: &usize| one.is_none_or(|one| score(&paths[*all]) > score(&paths[one]));
        all.filter(more).or(one)
    }

    /// The paths that may carry bulk now: all usable ones; in a slow network, of the single paths only the one of
    /// the lowest latency.
    fn candidates<W: BulkPath>(&self, paths: &[W]) -> impl DoubleEndedIterator<Item = usize> {
        let only = if self.is_slow { self.lowest_latency(paths) } else { None };
        let is_left = move |at: usize| paths[at].is_multi_flow() || only.is_none_or(|only| only == at);
        (0..paths.len()).filter(move |&at| paths[at].is_usable(self.nic_pair) && is_left(at))
    }

    /// The usable path for single frames.
    fn lowest_latency<W: BulkPath>(&self, paths: &[W]) -> Option<usize> {
        let singles = (0..paths.len()).filter(|&at| paths[at].is_usable(self.nic_pair) && !paths[at].is_multi_flow());
        singles.min_by_key(|&at| (paths[at].latency_class(), paths[at].local_port()))
    }

    /// The best path, or the last winner if that is about as good.
    fn best_or_winner<W: BulkPath>(&self, best: usize, paths: &[W]) -> usize {
        let peak = |at: usize| score(&paths[at]);
        let is_as_good = |&winner: &usize| {
            let is_candidate = self.candidates(paths).any(|at| at == winner);
            is_candidate && peak(winner) + peak(winner) / WINNER_MARGIN_DIVISOR >= peak(best)
        };
        self.winner().filter(is_as_good).unwrap_or(best)
    }

    fn begin_trial<W: BulkPath>(&mut self, paths: &mut [W], stats: &mut SharedStats) {
        // Most pairs of NICs have no usable path: no other peer is to wait for a result there.
        if paths.iter().all(|path| !path.is_usable(self.nic_pair)) {
            (self.current, self.intervals_left) = (None, 0);
            return;
        }
        self.is_slow = self.is_slow_now(paths, stats);
        if self.winner.is_none() && (self.use_guess(paths, stats) || self.use_any_path(paths, stats)) {
            return;
        }
        stats.nic_mut(self.nic_pair).begin_trial(self.peer);
        (self.current, self.intervals_left) = (None, TRIAL_INTERVALS);
        paths.iter_mut().filter(|path| path.is_usable(self.nic_pair)).for_each(|path| path.goodput_mut().begin_trial());
        if self.begin_interval_before(paths.len(), paths) {
            mark(Mark::BulkTried);
        }
    }

    /// Takes the path that won with another peer before the first trial, if it is open here. Returns whether it did.
    fn use_guess<W: BulkPath>(&mut self, paths: &mut [W], stats: &SharedStats) -> bool {
        let nic = stats.nic(self.nic_pair);
        // Peers that all took it at about the same time are tried one after the other.
        let is_early = self.untried_bytes < RETRIAL_BYTES;
        let is_behind = nic.has_trial_of_other(self.peer) && self.untried_bytes < RETRIAL_BYTES + WAIT_BYTES;
        let Some(best) = nic.best_path().filter(|_| is_early || is_behind) else { return false };
        let is_it =
            |at: &usize| !paths[*at].is_multi_flow() && (self.is_slow || paths[*at].local_port() == best.local_port);
        let Some(at) = self.candidates(paths).find(is_it) else { return false };
        mark(Mark::PathGuessed);
        self.is_guess_multi_flow = best.is_multi_flow && !nic.slow_network.has_many_peers();
        self.needs_flows = self.is_guess_multi_flow;
        (self.current, self.intervals_left) = (Some(at as u8), 0);
        self.left_bytes = if is_early { RETRIAL_BYTES } else { INTERVAL_BYTES };
        let flows = self.candidates(paths).find(|&at| paths[at].is_multi_flow());
        if let Some(flows) = flows.filter(|_| self.is_guess_multi_flow) {
            self.try_multi_flow(flows, paths);
        }
        true
    }

    /// Takes any path before the first trial, while the paths to another peer are tried, or while the path that won
    /// there may still be opened here. Returns whether it did.
    fn use_any_path<W: BulkPath>(&mut self, paths: &[W], stats: &SharedStats) -> bool {
        let nic = stats.nic(self.nic_pair);
        let waits = (nic.best_path().is_some() || nic.has_trial_of_other(self.peer)) && self.untried_bytes < WAIT_BYTES;
        let singles = || self.candidates(paths).filter(|&at| !paths[at].is_multi_flow());
        let any = || singles().find(|&at| paths[at].latency_class() >= LatencyClass::Bulk).or_else(|| singles().next());
        let Some(at) = waits.then(any).flatten() else { return false };
        mark(Mark::GuessAwaited);
        (self.current, self.left_bytes, self.intervals_left) = (Some(at as u8), INTERVAL_BYTES, 0);
        true
    }

    /// Ends the interval of path `last` and begins the next one.
    fn next_interval<W: BulkPath>(&mut self, last: usize, paths: &mut [W], stats: &mut SharedStats) {
        if !self.begin_interval_before(last, paths) {
            self.intervals_left -= 1;
            if self.intervals_left == 0 || !self.begin_interval_before(paths.len(), paths) {
                self.end_trial(paths, stats);
            }
        }
    }

    /// Begins the interval of the last usable path before `end` that was not discarded. The order is from the last
    /// on: paths made for bulk come behind those for single frames, of which little is then tried. Returns whether
    /// there is one.
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

/// The best rate of a path's intervals, weighted for the comparison with others.
fn score<W: BulkPath>(path: &W) -> u32 {
    let peak = path.goodput().peak();
    if path.is_multi_flow() { (u64::from(peak) * u64::from(MULTI_FLOW_PERCENT) / 100) as u32 } else { peak }
}

#[cfg(test)]
mod tests;
