//! Chooses the path that carries bulk best between one NIC of ours and one of a peer's. Each path that answers is tried
//! with the traffic itself, in several turns, as a core may be taken away for longer than one turn lasts. The path on
//! which, in its best turn, most bytes were acknowledged in the time with frames in flight wins until all are tried
//! again: ever more seldom, as long as the same one wins. All flows between two ports at once count as one more path,
//! once there are several: they are requested where no path carries more than some networks give one flow (P39).
//!
//! Until its own trial a peer is sent bulk by the path that won with another peer (`survey`).
//!
//! It sends nothing, and reads no clock. Used by `connection`; uses `survey` and `meter`.

use crate::marks::{Mark, mark};
use crate::meter::Meter;
use crate::rail::{Cable, Grade};
use crate::survey::{Survey, Won};

/// Bytes that were cut for the path before and are sent first by the next one: no more than a turn's, or all bulk is of
/// that kind (many short messages).
const STALE_BYTES: u32 = TURN_BYTES as u32;

/// Bytes of one turn: about as many as may be in flight at once, on the path before it too, or more; and enough that
/// TCP's slow start is over within the first turn.
const TURN_BYTES: u64 = 1 << 20;

/// The longest turn, in ns: on a slow port a turn of TURN_BYTES would last for seconds, and there the network is the
/// bottleneck.
const TURN_NS: u64 = 100_000_000;

/// Turns of each path. With one turn of 2 MiB, UDP or raw frames were chosen in four of eight runs where TCP was best
/// (8 KiB, ping-pong).
const TURNS: u8 = 4;

/// Bytes after which a path that has not half of another's rate is no longer tried.
const GLANCE_BYTES: u64 = TURN_BYTES / 4;

/// The divisor of the rate that gives the bonus of the path made for bulk (the last): its acknowledgements take longer,
/// which the traffic does not feel, because its replies go by the quickest path (TCP instead of UDP at 8 KiB: 8.0 us,
/// not 9.3, but no better goodput).
const FOR_BULK_PART: u32 = 4;

/// The divisor of the rate that gives the margin by which a path must be better to replace the last winner: where the
/// network is the bottleneck all paths are alike, and would be tried for ever.
const FOR_WINNER_PART: u32 = 10;

/// The percentage of the rate of all flows together at which a single path is preferred: each flow has a path's
/// acknowledgements and a part of the receiver's room, and many flows that meet at one port take bandwidth from others.
/// Where each flow is limited, together they carry a multiple.
const SPREAD_PERCENT: u32 = 67;

/// The factor by which their turn is longer: as much more may be in flight, and what was sent last in a turn is not
/// counted.
const SPREAD_TURNS: u64 = 4;

/// Bytes until all paths are tried again, the first time and the last: to try a path of a tenth of the winner's rate
/// costs as much time as a tenth of the first.
const AGAIN_BYTES: u64 = 64 << 20;
const AGAIN_BYTES_MAX: u64 = 1 << 40;

/// Bytes that are sent to a peer by an untried path, while the paths to another peer are tried: more than three such
/// trials take.
const WAIT_BYTES: u64 = 32 << 20;

const _: () = assert!(3 * TURNS as u64 * (STALE_BYTES as u64 + TURN_BYTES) < WAIT_BYTES && WAIT_BYTES < AGAIN_BYTES);
const _: () = assert!(2 * GLANCE_BYTES <= TURN_BYTES && 10 * 10 * GLANCE_BYTES <= AGAIN_BYTES);
const _: () = assert!(AGAIN_BYTES < AGAIN_BYTES_MAX);

/// The properties of a path that the choice needs.
pub trait Way {
    /// Our port, and the NICs that the path connects.
    fn rail(&self) -> u8;
    fn cable(&self) -> Cable;
    fn grade(&self) -> Grade;
    /// Whether it may carry bulk now: it is open, answers, and connects these NICs.
    fn is_usable(&self, cable: Cable) -> bool;
    /// Whether it stands for all flows between two ports at once.
    fn is_spread(&self) -> bool;
    /// Whether it must not be tried now.
    fn is_held_back(&self) -> bool;
    fn meter(&self) -> &Meter;
    fn meter_mut(&mut self) -> &mut Meter;
}

/// The choice for two NICs.
#[derive(Clone, Debug)]
pub struct Bulk {
    peer: u32,
    pub cable: Cable,
    /// The path that bulk takes now; none before one was usable. Paths are numbered by a byte, as there are very many
    /// of these choices.
    way: Option<u8>,
    /// Bytes that the path is still to take.
    left: u64,
    /// Bytes that were sent before the first byte of the turn that counts.
    stale: u32,
    /// Remaining turns of the trial in progress; 0: no trial.
    turns: u8,
    /// The last winner, and the bytes until all paths are tried again.
    winner: Option<u8>,
    again: u64,
    /// Whether the network is slow (`pace`): then the path for single frames is the only single path taken, if there is
    /// one, and if no other NICs lead to the peer, by all of which together raw frames cost as many times more (three
    /// ports of 500 Mbit/s: 997, not 1157).
    is_slow: bool,
    /// Bytes that were sent before the first trial.
    untried: u64,
    /// Whether the best path carries no more than a network may give one flow, and further flows were not requested
    /// yet.
    wants_flows: bool,
    /// Whether all flows together have won with another peer, so that they are taken here if they carry anything.
    is_guess_by_flows: bool,
}

impl Bulk {
    pub fn new(peer: u32, cable: Cable) -> Bulk {
        Bulk {
            peer,
            cable,
            way: None,
            left: 0,
            stale: 0,
            turns: 0,
            winner: None,
            again: AGAIN_BYTES,
            is_slow: false,
            untried: 0,
            wants_flows: false,
            is_guess_by_flows: false,
        }
    }

    /// The path that bulk takes now.
    #[inline]
    pub fn way(&self) -> Option<usize> {
        self.way.map(usize::from)
    }

    /// Whether a trial is in progress.
    #[inline]
    pub fn is_tried(&self) -> bool {
        self.turns > 0
    }

    /// The path that was best when all were tried.
    pub fn winner(&self) -> Option<usize> {
        self.winner.map(usize::from)
    }

    /// Whether further flows might carry more.
    #[inline]
    pub fn wants_flows(&self) -> bool {
        self.wants_flows
    }

    pub fn has_asked(&mut self) {
        self.wants_flows = false;
    }

    /// Whether our port `rail` would be tried or taken now, if it had an open path.
    pub fn may_need(&self, rail: u8, survey: &Survey) -> bool {
        let told = survey.nic(self.cable);
        let is_guessed = told.won().is_some_and(|won| won.rail != rail) && self.untried < AGAIN_BYTES;
        let waits = told.won().is_none() && told.is_awaited(self.peer) && self.untried < WAIT_BYTES;
        !self.is_slow && (self.winner.is_some() || self.is_tried() || !is_guessed && !waits)
    }

    /// Checks before bulk is sent whether the path is still usable and the network as slow as it was.
    pub fn look<W: Way>(&mut self, ways: &mut [W], survey: &mut Survey) {
        let is_usable = self.way().is_some_and(|way| ways[way].is_usable(self.cable));
        if !is_usable || self.is_slow != self.is_slow_now(ways, survey) {
            self.begin(ways, survey);
        }
    }

    fn is_slow_now<W: Way>(&self, ways: &[W], survey: &Survey) -> bool {
        let is_other = |way: &W| way.cable() != self.cable && way.is_usable(way.cable());
        survey.nic(self.cable).pace.is_slow()
            && self.quickest(ways).is_some_and(|way| ways[way].grade() < Grade::Bulk)
            && !ways.iter().any(is_other)
    }

    /// Begins a trial, because a further path can be used.
    pub fn widened<W: Way>(&mut self, ways: &mut [W], survey: &mut Survey) {
        self.again = AGAIN_BYTES;
        self.begin(ways, survey);
    }

    /// Tries path `new`, which stands for all flows of another one and is usable now. It alone is tried, and compared
    /// with what the others did in their trial.
    pub fn spread<W: Way>(&mut self, new: usize, ways: &mut [W]) {
        // Otherwise a trial is in progress or to come, and includes it.
        let is_settled = self.winner.is_some() || self.is_guess_by_flows;
        if self.turns == 0 && is_settled && ways[new].is_usable(self.cable) && !ways[new].is_held_back() {
            mark(Mark::FlowsTried);
            ways.iter_mut().filter(|way| way.is_usable(self.cable)).for_each(|way| way.meter_mut().set_poor());
            ways[new].meter_mut().begin_trial();
            self.turns = TURNS;
            self.try_before(ways.len(), ways);
        }
    }

    /// Records bulk of `bytes` bytes that was sent over the path, in frames that were cut for another one. In a trial
    /// they measure nothing: the turn begins when they are gone.
    pub fn sent_of_other<W: Way>(&mut self, bytes: usize, ways: &mut [W], survey: &mut Survey) {
        if let Some(way) = self.way().filter(|_| self.is_tried() && self.stale < STALE_BYTES) {
            mark(Mark::TurnBegunAgain);
            self.stale = self.stale.saturating_add(bytes as u32);
            self.left = turn_bytes(&ways[way]) + bytes as u64;
            ways[way].meter_mut().forget();
        }
        self.sent(bytes, ways, survey);
    }

    /// Records bulk of `bytes` bytes that was sent over the path.
    pub fn sent<W: Way>(&mut self, bytes: usize, ways: &mut [W], survey: &mut Survey) {
        let Some(way) = self.way() else { return };
        self.left = self.left.saturating_sub(bytes as u64);
        if self.turns == 0 {
            self.untried = self.untried.saturating_add(bytes as u64);
            if self.left == 0 {
                self.begin(ways, survey);
            }
            return;
        }
        if self.is_poor(way, ways) {
            ways[way].meter_mut().set_poor();
            self.left = 0;
        }
        if ways[way].meter().busy_ns() >= TURN_NS {
            mark(Mark::TurnLong);
            self.left = 0;
        }
        if self.left == 0 {
            self.try_next(way, ways, survey);
        }
    }

    fn is_poor<W: Way>(&self, way: usize, ways: &[W]) -> bool {
        let meter = ways[way].meter();
        let (bytes, peak) = (meter.bytes(), meter.peak());
        // Flows that were never used have small windows.
        let is_new = ways[way].is_spread() && meter.is_new();
        !is_new && bytes >= GLANCE_BYTES && self.best(ways).is_some_and(|best| peak < ways[best].meter().peak() / 2)
    }

    /// The best path of the turns until now.
    fn best<W: Way>(&self, ways: &[W]) -> Option<usize> {
        let singles = || self.candidates(ways).filter(|&way| !ways[way].is_spread());
        let last = singles().next_back();
        let for_bulk = |way: usize| {
            let peak = ways[way].meter().peak();
            if Some(way) == last { peak.saturating_add(peak / FOR_BULK_PART) } else { peak }
        };
        let one = singles().max_by_key(|&way| for_bulk(way));
        let flows = self.candidates(ways).filter(|&way| ways[way].is_spread());
        let all = flows.max_by_key(|&way| worth(&ways[way]));
        let more = |all: &usize| one.is_none_or(|one| worth(&ways[*all]) > worth(&ways[one]));
        all.filter(more).or(one)
    }

    /// The paths that may carry bulk now: all usable ones; in a slow network, of the single paths the quickest alone.
    fn candidates<W: Way>(&self, ways: &[W]) -> impl DoubleEndedIterator<Item = usize> {
        let only = if self.is_slow { self.quickest(ways) } else { None };
        let is_left = move |way: usize| ways[way].is_spread() || only.is_none_or(|only| only == way);
        (0..ways.len()).filter(move |&way| ways[way].is_usable(self.cable) && is_left(way))
    }

    /// The usable path for single frames.
    fn quickest<W: Way>(&self, ways: &[W]) -> Option<usize> {
        let singles = (0..ways.len()).filter(|&way| ways[way].is_usable(self.cable) && !ways[way].is_spread());
        singles.min_by_key(|&way| (ways[way].grade(), ways[way].rail()))
    }

    /// The best path, or the last winner if that is about as good.
    fn or_winner<W: Way>(&self, best: usize, ways: &[W]) -> usize {
        let peak = |way: usize| worth(&ways[way]);
        let is_as_good = |&winner: &usize| {
            let is_candidate = self.candidates(ways).any(|way| way == winner);
            is_candidate && peak(winner) + peak(winner) / FOR_WINNER_PART >= peak(best)
        };
        self.winner().filter(is_as_good).unwrap_or(best)
    }

    fn begin<W: Way>(&mut self, ways: &mut [W], survey: &mut Survey) {
        // Most pairs of NICs have no usable path: no other peer is to wait for a result there.
        if ways.iter().all(|way| !way.is_usable(self.cable)) {
            (self.way, self.turns) = (None, 0);
            return;
        }
        self.is_slow = self.is_slow_now(ways, survey);
        if self.winner.is_none() && (self.guess(ways, survey) || self.wait(ways, survey)) {
            return;
        }
        survey.nic_mut(self.cable).begin(self.peer);
        (self.way, self.turns) = (None, TURNS);
        ways.iter_mut().filter(|way| way.is_usable(self.cable)).for_each(|way| way.meter_mut().begin_trial());
        if self.try_before(ways.len(), ways) {
            mark(Mark::BulkTried);
        }
    }

    /// Takes the path that won with another peer before the first trial, if it is open here. Returns whether it did.
    fn guess<W: Way>(&mut self, ways: &mut [W], survey: &Survey) -> bool {
        let told = survey.nic(self.cable);
        // Peers that all took it at about the same time are tried one after the other.
        let is_early = self.untried < AGAIN_BYTES;
        let is_behind = told.is_awaited(self.peer) && self.untried < AGAIN_BYTES + WAIT_BYTES;
        let Some(won) = told.won().filter(|_| is_early || is_behind) else { return false };
        let is_it = |way: &usize| !ways[*way].is_spread() && (self.is_slow || ways[*way].rail() == won.rail);
        let Some(way) = self.candidates(ways).find(is_it) else { return false };
        mark(Mark::WayGuessed);
        self.is_guess_by_flows = won.by_flows && !told.pace.is_shared();
        self.wants_flows = self.is_guess_by_flows;
        (self.way, self.turns) = (Some(way as u8), 0);
        self.left = if is_early { AGAIN_BYTES } else { TURN_BYTES };
        let flows = self.candidates(ways).find(|&way| ways[way].is_spread());
        if let Some(flows) = flows.filter(|_| self.is_guess_by_flows) {
            self.spread(flows, ways);
        }
        true
    }

    /// Takes any path before the first trial, while the paths to another peer are tried, or while the path that won
    /// there may still be opened here. Returns whether it did.
    fn wait<W: Way>(&mut self, ways: &[W], survey: &Survey) -> bool {
        let told = survey.nic(self.cable);
        let waits = (told.won().is_some() || told.is_awaited(self.peer)) && self.untried < WAIT_BYTES;
        let singles = || self.candidates(ways).filter(|&way| !ways[way].is_spread());
        let any = || singles().find(|&way| ways[way].grade() >= Grade::Bulk).or_else(|| singles().next());
        let Some(way) = waits.then(any).flatten() else { return false };
        mark(Mark::GuessAwaited);
        (self.way, self.left, self.turns) = (Some(way as u8), TURN_BYTES, 0);
        true
    }

    /// Ends the turn of path `last` and begins the next one.
    fn try_next<W: Way>(&mut self, last: usize, ways: &mut [W], survey: &mut Survey) {
        if !self.try_before(last, ways) {
            self.turns -= 1;
            if self.turns == 0 || !self.try_before(ways.len(), ways) {
                self.end(ways, survey);
            }
        }
    }

    /// Begins the turn of the last usable path before `end` that was not poor. The order is from the last on: paths
    /// made for bulk come behind those for single frames, of which little is then tried. Returns whether there is one.
    fn try_before<W: Way>(&mut self, end: usize, ways: &mut [W]) -> bool {
        let may_be_tried = |&way: &usize| way < end && !ways[way].is_held_back() && !ways[way].meter().is_poor();
        let next = self.candidates(ways).rev().find(may_be_tried);
        if let Some(next) = next {
            (self.way, self.left, self.stale) = (Some(next as u8), turn_bytes(&ways[next]), 0);
            ways[next].meter_mut().begin_turn();
        }
        next.is_some()
    }

    fn end<W: Way>(&mut self, ways: &mut [W], survey: &mut Survey) {
        let best = self.best(ways).map(|best| self.or_winner(best, ways) as u8);
        self.again = if self.winner == best { (self.again * 2).min(AGAIN_BYTES_MAX) } else { AGAIN_BYTES };
        (self.winner, self.way, self.left, self.turns) = (best, best, self.again, 0);
        let best = best.map(|best| &ways[usize::from(best)]);
        self.wants_flows =
            best.is_some_and(|best| best.meter().may_be_held()) && !survey.nic(self.cable).pace.is_shared();
        let won = best.map(|best| Won { rail: best.rail(), by_flows: best.is_spread() });
        survey.nic_mut(self.cable).end(self.peer, won);
    }
}

/// Bytes of one turn of a path.
fn turn_bytes<W: Way>(way: &W) -> u64 {
    if way.is_spread() { SPREAD_TURNS * TURN_BYTES } else { TURN_BYTES }
}

/// The best rate of a path's turns, weighted for the comparison with others.
fn worth<W: Way>(way: &W) -> u32 {
    let peak = way.meter().peak();
    if way.is_spread() { (u64::from(peak) * u64::from(SPREAD_PERCENT) / 100) as u32 } else { peak }
}

#[cfg(test)]
mod tests;
