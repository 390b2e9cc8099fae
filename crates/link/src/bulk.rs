//! Which of the ways between one NIC of ours and one of a peer's carries bulk best. Each that answers is tried with the traffic itself, in turns
//! and some times, for a core may be taken away for longer than one turn lasts; the one on which in its best turn most bytes were
//! acknowledged in the time that some were under way is taken, until all are tried again: ever more seldom, as long as the same
//! one wins. All flows between two ports at once are one more way, once there are several: they are asked for where no way carries more than
//! some networks give one flow (P39).
//!
//! Until its own trial a peer is sent bulk by the way that won with another one (`survey`).
//!
//! It sends nothing, and reads no clock. Before it: `connection`; after it: `survey`.

use crate::marks::{Mark, mark};
use crate::strand::Grade;
use crate::survey::{Survey, Won};

/// What was cut for the way before goes by the next one first: no more than a turn's, or it is all that there is (many short messages).
const STALE_BYTES: u32 = TURN_BYTES as u32;

/// Bytes of one turn: about what may be under way at once, of the way before it too, or more; and enough for TCP's slow start to be
/// over within the first.
const TURN_BYTES: u64 = 1 << 20;

/// And no longer than this: on a slow rail a turn would last for seconds, and the network is what is slow there.
const TURN_NS: u64 = 100_000_000;

/// Turns of each way. By one of 2 MiB UDP or raw frames were taken in four of eight runs where TCP was best (8 KiB, ping-pong).
const TURNS: u8 = 4;

/// Bytes after which a way that has not half of another's rate is tried no longer.
const GLANCE_BYTES: u64 = TURN_BYTES / 4;

/// The way that was made for bulk (the last) has so much of its rate added: its acknowledgements take longer, which the traffic does
/// not feel, for its answers go by the quickest way (TCP instead of UDP at 8 KiB: 8.0 us, not 9.3, but no better goodput).
const FOR_BULK_PART: u32 = 4;

/// Who won last is left only for a way that is better by more than this part: where the network is what is slow all are alike, and
/// would be tried for ever.
const FOR_WINNER_PART: u32 = 10;

/// All flows at once are left for a way that carries so much of their rate: each has a path's acknowledgements and part of the receiver's
/// room, and many flows that meet at one port take it from others. Where each is held they carry a multiple.
const SPREAD_PERCENT: u32 = 67;

/// Their turn is so much longer: as much more may be under way, and what was sent last in a turn is not counted.
const SPREAD_TURNS: u64 = 4;

/// Bytes in a thousandth of a second: who carries more is not held by what clouds give one flow. Amazon EC2: 5 Gbit/s (Amazon EC2 instance
/// network bandwidth), and a fifth for what a turn is measured too high. In a cluster placement group it gives 10; but so much is
/// what a host by itself takes for messages of 16 KiB, and flows that are open and not used cost 5 % of their time there.
const FLOW_MAX: u32 = 750_000;

/// At FLOW_MAX so much takes nine times as long as a short message between two hosts (10 us); 8 KiB that go there and back carry less than
/// FLOW_MAX on any network.
pub const LONG_BYTES: u32 = 64 << 10;

/// Bytes until all ways are tried again, the first time and the last: to try one of a tenth of the winner's rate costs as much time
/// as a tenth of the first.
const AGAIN_BYTES: u64 = 64 << 20;
const AGAIN_BYTES_MAX: u64 = 1 << 40;

/// Bytes that go to a peer by a way that nobody tried, while the ways to another one are tried: more than three of them take.
const WAIT_BYTES: u64 = 32 << 20;

const _: () = assert!(3 * TURNS as u64 * (STALE_BYTES as u64 + TURN_BYTES) < WAIT_BYTES && WAIT_BYTES < AGAIN_BYTES);
const _: () = assert!(2 * GLANCE_BYTES <= TURN_BYTES && 10 * 10 * GLANCE_BYTES <= AGAIN_BYTES);
const _: () = assert!(AGAIN_BYTES < AGAIN_BYTES_MAX);

/// The goodput of one way: bytes of frames that came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    bytes: u64,
    /// In this turn; and of this before what counts.
    busy_ns: u64,
    stale_ns: u64,
    /// Since when something is under way that was not counted.
    since_ns: Option<u64>,
    /// Bytes sent since then, and whether they ever were so many in this trial that the rate shows more than the latency.
    since_bytes: u32,
    is_long: bool,
    /// The best rate of this trial's turns, and whether that is poor.
    peak: u32,
    poor: bool,
}

impl Meter {
    pub fn sent(&mut self, bytes: usize, now_ns: u64) {
        if self.since_ns.is_none() {
            (self.since_ns, self.since_bytes) = (Some(now_ns), 0);
        }
        self.since_bytes = self.since_bytes.saturating_add(bytes as u32);
        self.is_long |= self.since_bytes >= LONG_BYTES;
    }

    /// Frames of so many bytes have come; whether others are still under way.
    pub fn came(&mut self, bytes: usize, more: bool, now_ns: u64) {
        if let Some(since_ns) = self.since_ns {
            self.busy_ns += now_ns.saturating_sub(since_ns);
            self.bytes += bytes as u64;
            self.since_ns = more.then_some(now_ns);
        }
    }

    fn begin_trial(&mut self) {
        *self = Meter { since_ns: self.since_ns, since_bytes: self.since_bytes, ..Meter::default() };
    }

    /// Only now, before another turn, what was sent in the last one has all come.
    fn begin_turn(&mut self) {
        (self.peak, self.bytes, self.busy_ns, self.stale_ns) = (self.peak(), 0, 0, 0);
    }

    /// What came in this turn until now does not count.
    fn forget(&mut self) {
        (self.bytes, self.stale_ns) = (0, self.busy_ns);
    }

    /// It carried no more than a network may give one flow, and not because little at once was sent.
    fn may_be_held(&self) -> bool {
        self.is_long && self.peak() < FLOW_MAX
    }

    fn peak(&self) -> u32 {
        self.peak.max(self.rate())
    }

    /// Bytes in a thousandth of a second; 0 before any came.
    fn rate(&self) -> u32 {
        self.bytes.saturating_mul(1_000_000).checked_div(self.busy_ns - self.stale_ns).unwrap_or(0).min(u32::MAX.into())
            as u32
    }
}

/// Two NICs between which there are ways: one of ours and one of the peer's, each by its owner's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cable {
    pub ours: u8,
    pub theirs: u8,
}

/// What the choice must know of a way.
pub trait Way {
    /// Our port, and the NICs between which it leads.
    fn rail(&self) -> u8;
    fn cable(&self) -> Cable;
    fn grade(&self) -> Grade;
    /// It may carry bulk now: it is open, answers, and leads over these NICs.
    fn is_usable(&self, cable: Cable) -> bool;
    /// It is all flows between two ports at once.
    fn is_spread(&self) -> bool;
    /// It is not to be tried now.
    fn is_held_back(&self) -> bool;
    fn meter(&self) -> &Meter;
    fn meter_mut(&mut self) -> &mut Meter;
}

/// The choice for two NICs.
#[derive(Clone, Debug)]
pub struct Bulk {
    peer: u32,
    pub cable: Cable,
    /// The way that bulk takes now; none before one was usable. Ways are numbered by a byte: there are very many of these choices.
    way: Option<u8>,
    /// Bytes that it shall still take.
    left: u64,
    /// Bytes that went before the turn's first that counts.
    stale: u32,
    /// Turns that are left of the trial under way; none: nothing is tried.
    turns: u8,
    /// Who won last, and when all are tried again.
    winner: Option<u8>,
    again: u64,
    /// The network is slow (`pace`): of all single ways that for single frames is taken, if there is one, and if no other NICs lead to the
    /// peer, by all of which together raw frames cost as many times more (three ports of 500 Mbit/s: 997, not 1157).
    is_slow: bool,
    /// Bytes that were sent before the first trial.
    untried: u64,
    /// The best way carries no more than a network may give one flow, which was not looked at yet.
    wants_flows: bool,
    /// With another peer all flows together have won, and they are taken here if they carry anything.
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

    /// The way that bulk takes now.
    #[inline]
    pub fn way(&self) -> Option<usize> {
        self.way.map(usize::from)
    }

    /// Its way is being measured.
    #[inline]
    pub fn is_tried(&self) -> bool {
        self.turns > 0
    }

    /// The way that was best when all were tried.
    pub fn winner(&self) -> Option<usize> {
        self.winner.map(usize::from)
    }

    /// More flows might carry more.
    #[inline]
    pub fn wants_flows(&self) -> bool {
        self.wants_flows
    }

    pub fn has_asked(&mut self) {
        self.wants_flows = false;
    }

    /// Whether our port `rail` would be tried or taken now, if it were open.
    pub fn may_need(&self, rail: u8, survey: &Survey) -> bool {
        let told = survey.nic(self.cable);
        let is_guessed = told.won().is_some_and(|won| won.rail != rail) && self.untried < AGAIN_BYTES;
        let waits = told.won().is_none() && told.is_awaited(self.peer) && self.untried < WAIT_BYTES;
        !self.is_slow && (self.winner.is_some() || self.is_tried() || !is_guessed && !waits)
    }

    /// Looks whether the way is still usable and the network as slow as it was, before bulk is sent.
    pub fn look<W: Way>(&mut self, ways: &mut [W], survey: &mut Survey) {
        let is_usable = self.way().is_some_and(|way| ways[way].is_usable(self.cable));
        if !is_usable || self.is_slow != self.is_slow_now(ways, survey) {
            self.begin(ways, survey);
        }
    }

    fn is_slow_now<W: Way>(&self, ways: &[W], survey: &Survey) -> bool {
        let is_other = |way: &W| way.cable() != self.cable && way.is_usable(way.cable());
        let is_raw = |&way: &usize| ways[way].grade() < Grade::Bulk;
        survey.nic(self.cable).pace.is_slow()
            && self.quickest(ways).is_some_and(|way| is_raw(&way))
            && !ways.iter().any(is_other)
    }

    /// Another way is there: it is tried too.
    pub fn widened<W: Way>(&mut self, ways: &mut [W], survey: &mut Survey) {
        self.again = AGAIN_BYTES;
        self.begin(ways, survey);
    }

    /// Way `new` is all flows of another one, and is there: it alone is tried, and measured by what the others did in their trial.
    pub fn spread<W: Way>(&mut self, new: usize, ways: &mut [W]) {
        // Else a trial is under way or to come, and it will be in it.
        let is_settled = self.winner.is_some() || self.is_guess_by_flows;
        if self.turns == 0 && is_settled && ways[new].is_usable(self.cable) && !ways[new].is_held_back() {
            mark(Mark::FlowsTried);
            ways.iter_mut().filter(|way| way.is_usable(self.cable)).for_each(|way| way.meter_mut().poor = true);
            ways[new].meter_mut().begin_trial();
            self.turns = TURNS;
            self.try_before(ways.len(), ways);
        }
    }

    /// Bulk of `bytes` bytes was sent over the way, in frames that were cut for another one: they show nothing, if it is tried, and
    /// its turn begins when they are gone.
    pub fn sent_of_other<W: Way>(&mut self, bytes: usize, ways: &mut [W], survey: &mut Survey) {
        if let Some(way) = self.way().filter(|_| self.is_tried() && self.stale < STALE_BYTES) {
            mark(Mark::TurnBegunAgain);
            self.stale = self.stale.saturating_add(bytes as u32);
            self.left = turn_bytes(&ways[way]) + bytes as u64;
            ways[way].meter_mut().forget();
        }
        self.sent(bytes, ways, survey);
    }

    /// Bulk of `bytes` bytes was sent over the way.
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
            ways[way].meter_mut().poor = true;
            self.left = 0;
        }
        if ways[way].meter().busy_ns >= TURN_NS {
            mark(Mark::TurnLong);
            self.left = 0;
        }
        if self.left == 0 {
            self.try_next(way, ways, survey);
        }
    }

    fn is_poor<W: Way>(&self, way: usize, ways: &[W]) -> bool {
        let meter = ways[way].meter();
        let (bytes, peak) = (meter.bytes, meter.peak());
        // Flows that were never used have small windows.
        let is_new = ways[way].is_spread() && meter.peak == 0;
        !is_new && bytes >= GLANCE_BYTES && self.best(ways).is_some_and(|best| peak < ways[best].meter().peak() / 2)
    }

    /// The best way of the turns until now.
    fn best<W: Way>(&self, ways: &[W]) -> Option<usize> {
        let last = self.singles(ways).next_back();
        let for_bulk = |way: usize| {
            let peak = ways[way].meter().peak();
            if Some(way) == last { peak.saturating_add(peak / FOR_BULK_PART) } else { peak }
        };
        let one = self.singles(ways).max_by_key(|&way| for_bulk(way));
        let flows = (0..ways.len()).filter(|&way| is_flows(&ways[way], self.cable));
        let all = flows.max_by_key(|&way| worth(&ways[way]));
        let more = |all: &usize| one.is_none_or(|one| worth(&ways[*all]) > worth(&ways[one]));
        all.filter(more).or(one)
    }

    /// The usable ways of one flow that may carry bulk.
    fn singles<W: Way>(&self, ways: &[W]) -> impl DoubleEndedIterator<Item = usize> {
        let only = if self.is_slow { self.quickest(ways) } else { None };
        let is_single = move |&way: &usize| is_single(&ways[way], self.cable) && only.is_none_or(|only| only == way);
        (0..ways.len()).filter(is_single)
    }

    /// The usable way for single frames.
    fn quickest<W: Way>(&self, ways: &[W]) -> Option<usize> {
        let singles = (0..ways.len()).filter(|&way| is_single(&ways[way], self.cable));
        singles.min_by_key(|&way| (ways[way].grade(), ways[way].rail()))
    }

    /// The best way, or who won last if that is about as good.
    fn or_winner<W: Way>(&self, best: usize, ways: &[W]) -> usize {
        let peak = |way: usize| worth(&ways[way]);
        let is_as_good = |&winner: &usize| {
            let is_there = self.singles(ways).any(|way| way == winner) || is_flows(&ways[winner], self.cable);
            is_there && peak(winner) + peak(winner) / FOR_WINNER_PART >= peak(best)
        };
        self.winner().filter(is_as_good).unwrap_or(best)
    }

    fn begin<W: Way>(&mut self, ways: &mut [W], survey: &mut Survey) {
        // Most pairs of NICs lead nowhere: nobody is to wait for what is found there.
        if ways.iter().all(|way| !way.is_usable(self.cable)) {
            (self.way, self.turns) = (None, 0);
            return;
        }
        self.is_slow = self.is_slow_now(ways, survey);
        if self.guess(ways, survey) {
            return;
        }
        survey.nic_mut(self.cable).begin(self.peer);
        (self.way, self.turns) = (None, TURNS);
        ways.iter_mut().filter(|way| way.is_usable(self.cable)).for_each(|way| way.meter_mut().begin_trial());
        if self.try_before(ways.len(), ways) {
            mark(Mark::BulkTried);
        }
    }

    /// Before the first trial: takes the way that won with another peer, or any one while there the ways are tried. Whether there is one.
    fn guess<W: Way>(&mut self, ways: &mut [W], survey: &Survey) -> bool {
        let told = survey.nic(self.cable);
        if self.winner.is_some() {
            return false;
        }
        // Those who all took it at about the same time are tried one after the other.
        let is_early = self.untried < AGAIN_BYTES;
        let waits = told.is_awaited(self.peer) && self.untried < AGAIN_BYTES + WAIT_BYTES;
        let won = told.won().filter(|_| is_early || waits);
        let of = |won: &Won| self.singles(ways).find(|&way| self.is_slow || ways[way].rail() == won.rail);
        let way = won.as_ref().and_then(of);
        if let (Some(won), Some(way)) = (won, way) {
            mark(Mark::WayGuessed);
            self.is_guess_by_flows = won.by_flows && !told.pace.is_shared();
            self.wants_flows = self.is_guess_by_flows;
            let left = if is_early { AGAIN_BYTES } else { TURN_BYTES };
            (self.way, self.left, self.turns) = (Some(way as u8), left, 0);
            if let Some(flows) = (0..ways.len()).find(|&way| is_flows(&ways[way], self.cable) && self.is_guess_by_flows)
            {
                self.spread(flows, ways);
            }
            return true;
        }
        // A path that won elsewhere may be opened here yet.
        let waits = (told.won().is_some() || told.is_awaited(self.peer)) && self.untried < WAIT_BYTES;
        let any =
            || self.singles(ways).find(|&way| ways[way].grade() >= Grade::Bulk).or_else(|| self.singles(ways).next());
        let way = if waits { any() } else { None };
        if let Some(way) = way {
            mark(Mark::GuessAwaited);
            (self.way, self.left, self.turns) = (Some(way as u8), TURN_BYTES, 0);
        }
        way.is_some()
    }

    /// The turn of way `last` is over.
    fn try_next<W: Way>(&mut self, last: usize, ways: &mut [W], survey: &mut Survey) {
        if !self.try_before(last, ways) {
            self.turns -= 1;
            if self.turns == 0 || !self.try_before(ways.len(), ways) {
                self.end(ways, survey);
            }
        }
    }

    /// The turn of the last usable way before this one that was not poor. From the last on: ways that were made for bulk come behind
    /// those of single frames, of which little is then tried. Whether there is one.
    fn try_before<W: Way>(&mut self, end: usize, ways: &mut [W]) -> bool {
        let may_be_tried = |&way: &usize| !ways[way].is_held_back() && !ways[way].meter().poor;
        let flows = (0..end).filter(|&way| is_flows(&ways[way], self.cable));
        let singles = self.singles(ways).filter(|&way| way < end);
        let next = flows.chain(singles).filter(may_be_tried).max();
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

/// It is one flow, and usable.
fn is_single<W: Way>(way: &W, cable: Cable) -> bool {
    way.is_usable(cable) && !way.is_spread()
}

/// It is all flows at once between two ports, and usable.
fn is_flows<W: Way>(way: &W, cable: Cable) -> bool {
    way.is_usable(cable) && way.is_spread()
}

/// Bytes of one turn of a way.
fn turn_bytes<W: Way>(way: &W) -> u64 {
    if way.is_spread() { SPREAD_TURNS * TURN_BYTES } else { TURN_BYTES }
}

/// The best rate of a way's turns, as it counts beside those of others.
fn worth<W: Way>(way: &W) -> u32 {
    let peak = way.meter().peak();
    if way.is_spread() { (u64::from(peak) * u64::from(SPREAD_PERCENT) / 100) as u32 } else { peak }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::Arrival;
    use crate::strand::Rail;

    const CABLE: Cable = Cable { ours: 0, theirs: 0 };

    fn survey() -> Survey {
        Survey::new(&[Rail::default()])
    }

    /// A way that needs so many nanoseconds for a kilobyte.
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

    /// Sends so many kilobytes to the only peer; how many went by each way.
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
            // Idle time tells nothing.
            *now_ns += 1_000_000;
            bulk.sent(64 << 10, ways, told);
        }
        by
    }

    #[test]
    fn the_fastest_way_is_taken_after_each_was_tried() {
        let (mut bulk, mut ways, mut now_ns) = (bulk(), ways(&[500, 100, 150]), 0);
        // Kilobytes: of the first, which is much slower than the others, a glance is enough.
        let trial = [256, 4 << 10, 4 << 10];
        assert_eq!(send(&mut bulk, &mut ways, trial.iter().sum(), &mut now_ns), trial);
        assert_eq!(bulk.winner(), Some(1));
        assert_eq!(send(&mut bulk, &mut ways, 64 << 10, &mut now_ns), [0, 64 << 10, 0]);
        // All are tried again; the same one wins, and keeps it for twice as long.
        assert_eq!(send(&mut bulk, &mut ways, trial.iter().sum(), &mut now_ns), trial);
        assert_eq!(send(&mut bulk, &mut ways, 128 << 10, &mut now_ns), [0, 128 << 10, 0]);
        // The world has changed: of the others the first turn was whole, before anything was better.
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
    fn flows_are_not_asked_for_where_little_at_once_is_sent() {
        for (at_once, is_long) in [(7, false), (8, true)] {
            let mut meter = Meter::default();
            for turn in 0..10 {
                (0..at_once).for_each(|_| meter.sent(8 << 10, turn * 1_000_000));
                meter.came(at_once * (8 << 10), false, turn * 1_000_000 + 900_000);
            }
            meter.begin_turn();
            assert_eq!(meter.may_be_held(), is_long, "{at_once}");
            meter.begin_trial();
            assert!(!meter.may_be_held(), "another trial");
        }
    }

    /// P39
    #[test]
    fn all_flows_at_once_are_tried_alone_and_taken_if_they_carry_clearly_more() {
        let new =
            |slow_ns| Fake { rail: 0, cable: CABLE, slow_ns, usable: true, spread: true, meter: Meter::default() };
        for (slow_ns, winner) in [(2000, 0), (1400, 0), (1100, 2), (500, 2)] {
            let (mut bulk, mut ways, mut now_ns) = (bulk(), ways(&[2000, 3000]), 0);
            send(&mut bulk, &mut ways, 8 << 10, &mut now_ns);
            ways.push(new(slow_ns));
            bulk.spread(2, &mut ways);
            assert_eq!(send(&mut bulk, &mut ways, 16 << 10, &mut now_ns), [0, 0, 16 << 10]);
            assert_eq!((bulk.turns, bulk.winner()), (0, Some(winner)), "{slow_ns}");
            // In the next trial it is one of three, and whose trial was the best keeps its place.
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

    /// What was cut for another way goes first, in short frames.
    #[test]
    fn a_rate_is_of_the_bytes_that_came_whatever_was_sent_with_them() {
        let mut meter = Meter::default();
        meter.sent(1500, 0);
        meter.came(100 * 1500, true, 1_000_000);
        assert_eq!(meter.rate(), 150_000);
        meter.came(1 << 20, false, 9_000_000);
        assert_eq!(meter.rate(), ((150_000 + (1 << 20)) / 9) as u32);
    }

    #[test]
    fn what_was_cut_for_another_way_shows_nothing_of_this_one() {
        let (mut bulk, mut ways, mut now_ns) = (bulk(), ways(&[100, 50]), 0);
        // The second way is slow with the first one's frames: in each of its turns half a megabyte of them goes first, or all is such.
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
        // While the first one's ways are tried, the other takes the one made for bulk; in the end it takes what won.
        assert_eq!(send(&mut second, &mut to_second, 3), [0, 3, 0]);
        send(&mut first, &mut to_first, 11);
        assert_eq!(first.winner(), Some(0));
        assert_eq!(send(&mut second, &mut to_second, 65), [64, 1, 0]);
        assert_eq!(second.winner(), None);
        // Its own trial finds that there another one is better.
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

    /// So much came over the NIC, in so long.
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
        // Without a way for single frames all are tried as ever.
        ways[0].usable = false;
        send(&mut bulk, &mut ways, 20, &mut told);
        assert_eq!(bulk.winner(), Some(2));
        // Whatever won before, and wherever they stand.
        ways[0].usable = true;
        ways.swap(0, 1);
        assert_eq!(send(&mut bulk, &mut ways, 70, &mut told), [0, 70, 0]);
        assert!(!bulk.may_need(3, &told) && bulk.winner() == Some(1));
        // Not where another NIC leads there too.
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
        // It is fast again: all are tried.
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
        // But nobody waits for ever for one that is not sent anything more.
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
}
