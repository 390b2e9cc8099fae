//! Which of the ways over one NIC of ours carries bulk to a peer best. Each that answers is tried with the traffic itself; the one
//! on which most bytes were acknowledged in the time that some were under way is taken, until all are tried again: ever more
//! seldom, as long as the same one wins.
//!
//! It sends nothing, and reads no clock. Before it: `connection`; after it: nothing.

use crate::marks::{Mark, mark};

/// Bytes by which a way is judged: enough for TCP's slow start to be over at half of it, where the measuring begins.
const TRIAL_BYTES: u64 = 2 << 20;

/// Bytes after which a way that has not half of another's rate is tried no longer.
const GLANCE_BYTES: u64 = TRIAL_BYTES / 8;

/// Bytes until all ways are tried again, the first time and the last: at a tenth of the winner's rate a trial costs less than a
/// tenth of the first.
const AGAIN_BYTES: u64 = 256 << 20;
const AGAIN_BYTES_MAX: u64 = 1 << 40;

const _: () = assert!(10 * TRIAL_BYTES < AGAIN_BYTES / 10 && AGAIN_BYTES < AGAIN_BYTES_MAX);

/// The goodput of one way: frames that came, of the mean length of those that were sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    sent: u64,
    sent_bytes: u64,
    came: u64,
    busy_ns: u64,
    /// Since when something is under way that was not counted.
    since_ns: Option<u64>,
}

impl Meter {
    pub fn sent(&mut self, frames: usize, bytes: usize, now_ns: u64) {
        self.sent += frames as u64;
        self.sent_bytes += bytes as u64;
        self.since_ns.get_or_insert(now_ns);
    }

    /// Frames have come; whether others are still under way.
    pub fn came(&mut self, frames: usize, more: bool, now_ns: u64) {
        if let Some(since_ns) = self.since_ns {
            self.busy_ns += now_ns.saturating_sub(since_ns);
            self.came += frames as u64;
            self.since_ns = more.then_some(now_ns);
        }
    }

    fn clear(&mut self) {
        *self = Meter { since_ns: self.since_ns, ..Meter::default() };
    }

    fn bytes(&self) -> u64 {
        (self.came * self.sent_bytes).checked_div(self.sent).unwrap_or(0)
    }

    /// Bytes in a thousandth of a second; 0 before any came.
    fn rate(&self) -> u64 {
        (self.bytes() * 1_000_000).checked_div(self.busy_ns).unwrap_or(0)
    }
}

/// What the choice must know of a way.
pub trait Way {
    /// It may carry bulk now: it is open, answers, and leads over the NIC.
    fn is_usable(&self, nic: u8) -> bool;
    fn meter(&mut self) -> &mut Meter;
}

/// The choice for one NIC.
#[derive(Clone, Debug)]
pub struct Bulk {
    pub nic: u8,
    /// The way that bulk takes now; none before one was usable. Ways are numbered by a byte: there are very many of these choices.
    way: Option<u8>,
    /// Bytes that it shall still take.
    left: u64,
    /// Of the trial under way: the best so far, and its rate.
    best: Option<u8>,
    rate: u64,
    trying: bool,
    /// Who won last, and when all are tried again.
    winner: Option<u8>,
    again: u64,
}

impl Bulk {
    pub fn new(nic: u8) -> Bulk {
        Bulk { nic, way: None, left: 0, best: None, rate: 0, trying: false, winner: None, again: AGAIN_BYTES }
    }

    /// The way that bulk takes now.
    #[inline]
    pub fn way(&self) -> Option<usize> {
        self.way.map(usize::from)
    }

    /// The way that was best when all were tried.
    pub fn winner(&self) -> Option<usize> {
        self.winner.map(usize::from)
    }

    /// Looks whether the way is still usable, before bulk is sent.
    pub fn look<W: Way>(&mut self, ways: &mut [W]) {
        if self.way().is_none_or(|way| !ways[way].is_usable(self.nic)) {
            self.begin(ways);
        }
    }

    /// Another way is there: it is tried too.
    pub fn widened<W: Way>(&mut self, ways: &mut [W]) {
        self.again = AGAIN_BYTES;
        self.begin(ways);
    }

    /// Bulk of `bytes` bytes was sent over the way.
    pub fn sent<W: Way>(&mut self, bytes: usize, ways: &mut [W]) {
        let Some(way) = self.way() else { return };
        let before = self.left;
        self.left = before.saturating_sub(bytes as u64);
        if self.trying && before > TRIAL_BYTES / 2 && self.left <= TRIAL_BYTES / 2 {
            ways[way].meter().clear();
        }
        if !self.trying {
            if self.left == 0 {
                self.begin(ways);
            }
            return;
        }
        let meter = ways[way].meter();
        let rate = meter.rate();
        let is_poor = self.best.is_some() && meter.bytes() >= GLANCE_BYTES && 2 * rate < self.rate;
        if self.left > 0 && !is_poor {
            return;
        }
        if self.best.is_none() || rate > self.rate {
            (self.best, self.rate) = (self.way, rate);
        }
        match (0..way).rev().find(|&next| ways[next].is_usable(self.nic)) {
            Some(next) => self.try_out(next, ways),
            None => self.end(),
        }
    }

    fn begin<W: Way>(&mut self, ways: &mut [W]) {
        (self.best, self.way) = (None, None);
        self.trying = true;
        // From the last on: ways that were made for bulk come behind those of single frames, of which little is then tried.
        if let Some(first) = (0..ways.len()).rev().find(|&at| ways[at].is_usable(self.nic)) {
            mark(Mark::BulkTried);
            self.try_out(first, ways);
        }
    }

    fn end(&mut self) {
        let best = self.best.take();
        self.again = if self.winner == best { (self.again * 2).min(AGAIN_BYTES_MAX) } else { AGAIN_BYTES };
        (self.winner, self.way, self.left) = (best, best, self.again);
        self.trying = false;
    }

    fn try_out<W: Way>(&mut self, way: usize, ways: &mut [W]) {
        (self.way, self.left) = (Some(way as u8), TRIAL_BYTES);
        ways[way].meter().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A way that needs so many nanoseconds for a kilobyte.
    struct Fake {
        slow_ns: u64,
        usable: bool,
        meter: Meter,
    }

    impl Way for Fake {
        fn is_usable(&self, _: u8) -> bool {
            self.usable
        }
        fn meter(&mut self) -> &mut Meter {
            &mut self.meter
        }
    }

    fn ways(slow_ns: &[u64]) -> Vec<Fake> {
        slow_ns.iter().map(|&slow_ns| Fake { slow_ns, usable: true, meter: Meter::default() }).collect()
    }

    /// Sends so many kilobytes; how many went by each way.
    fn send(bulk: &mut Bulk, ways: &mut [Fake], kilobytes: usize, now_ns: &mut u64) -> Vec<usize> {
        let mut by = vec![0; ways.len()];
        for _ in 0..kilobytes / 64 {
            bulk.look(ways);
            let way = bulk.way().expect("one is usable");
            by[way] += 64;
            ways[way].meter.sent(1, 64 << 10, *now_ns);
            *now_ns += 64 * ways[way].slow_ns;
            ways[way].meter.came(1, false, *now_ns);
            // Idle time tells nothing.
            *now_ns += 1_000_000;
            bulk.sent(64 << 10, ways);
        }
        by
    }

    #[test]
    fn the_fastest_way_is_taken_after_each_was_tried() {
        let (mut bulk, mut ways, mut now_ns) = (Bulk::new(0), ways(&[500, 100, 200]), 0);
        // Kilobytes: of the first, which is much slower than the others, a glance is enough.
        let trial = [256, 2048, 2048];
        assert_eq!(send(&mut bulk, &mut ways, trial.iter().sum(), &mut now_ns), trial);
        assert_eq!(bulk.winner(), Some(1));
        assert_eq!(send(&mut bulk, &mut ways, 256 << 10, &mut now_ns), [0, 256 << 10, 0]);
        // All are tried again; the same one wins, and keeps it for twice as long.
        assert_eq!(send(&mut bulk, &mut ways, trial.iter().sum(), &mut now_ns), trial);
        assert_eq!(send(&mut bulk, &mut ways, 512 << 10, &mut now_ns), [0, 512 << 10, 0]);
        // The world has changed.
        ways[0].slow_ns = 10;
        assert_eq!(send(&mut bulk, &mut ways, 6 << 10, &mut now_ns), [2048; 3]);
        assert_eq!(bulk.winner(), Some(0));
        assert_eq!(send(&mut bulk, &mut ways, 256 << 10, &mut now_ns), [256 << 10, 0, 0]);
    }

    #[test]
    fn a_way_that_is_gone_is_left_at_once_and_a_new_one_is_tried() {
        let (mut bulk, mut ways, mut now_ns) = (Bulk::new(0), ways(&[100, 500]), 0);
        send(&mut bulk, &mut ways, 5 << 10, &mut now_ns);
        assert_eq!(bulk.way(), Some(0));
        ways[0].usable = false;
        assert_eq!(send(&mut bulk, &mut ways, 10 << 10, &mut now_ns), [0, 10 << 10]);
        ways[0].usable = true;
        bulk.widened(&mut ways);
        send(&mut bulk, &mut ways, 4 << 10, &mut now_ns);
        assert_eq!(bulk.way(), Some(0));
    }

    #[test]
    fn without_any_way_there_is_no_choice() {
        let (mut bulk, mut ways) = (Bulk::new(0), ways(&[100]));
        ways[0].usable = false;
        bulk.look(&mut ways);
        bulk.sent(1, &mut ways);
        assert_eq!((bulk.way(), bulk.winner()), (None, None));
    }
}
