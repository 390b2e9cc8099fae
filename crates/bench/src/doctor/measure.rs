//! The near end of a measurement: what one way carries in one direction, to who answers at the other end (`answer`).
//!
//! Everything has an end of its own, so that a way on which all is lost costs seconds at most. What came of the frames sent at a
//! steady pace, only the other end knows. Before it: `serve`; after it: the port.

use super::answer::now_ns;
use super::frame::{Head, Kind, SHORT};
use super::orders::{Figures, WayTo};
use crate::net::bulk;
use hawser_dev_ether::port::{Address, FramePort, Refused};
use std::thread;
use std::time::{Duration, Instant};

/// Round trips, or as many as go into the time.
const PINGS: u32 = 2000;
const PING_TIME: Duration = Duration::from_millis(400);
/// After so long an echo was lost; longer than a scheduler's slice.
const LOST: Duration = Duration::from_millis(50);
/// Frames at a steady pace: of 1 % that are lost ten are missing. The pace is below 3 Mbit/s.
const PACED: u32 = 1000;
const PACE: Duration = Duration::from_micros(250);
/// How often a length is tried until it is too long: at 10 % of loss each way one in 50000 is taken for too long wrongly.
const TRIES: u32 = 6;
const BULK_TIME: Duration = Duration::from_millis(300);
/// The shortest frame that `link` asks of a way (P8): no use to look below it.
const SHORTEST: usize = 548;

/// One way, while it is measured.
struct Probe<'a> {
    port: &'a mut dyn FramePort,
    to: &'a Address,
    token: u32,
    way: u16,
    number: u32,
}

/// A ping that came back.
struct Turn {
    rtt_ns: u64,
    ahead_ns: i64,
}

pub fn run(port: &mut dyn FramePort, to: &Address, token: u32, way: &WayTo) -> Figures {
    let is_stream = port.name() == "stream";
    let mut probe = Probe { port, to, token, way: way.way, number: 0 };
    let mut turns = probe.turns();
    turns.sort_unstable_by_key(|turn| turn.rtt_ns);
    let paced = probe.paced();
    let largest = probe.largest(way.frame, is_stream);
    // What cannot be sent whole says nothing of the rate.
    let flow = largest.filter(|&size| size == way.frame || !is_stream);
    let flow = flow.and_then(|size| bulk::run(probe.port, to, size, way.room, BULK_TIME).ok());
    Figures {
        half_us: turns.get(turns.len() / 2).map(|turn| turn.rtt_ns as f64 / 2000.0),
        ahead_s: ahead(&turns),
        paced,
        frame: way.frame,
        largest,
        gbyte_s: flow.map(|flow| flow.gbyte_s),
        bulk_lost: flow.map_or(0, |flow| flow.lost_frames),
    }
}

/// From the quickest tenth, sorted: they waited nowhere. The time is sure to half the quickest round trip.
fn ahead(turns: &[Turn]) -> Option<[f64; 2]> {
    let mut quick: Vec<i64> = turns.iter().take(turns.len().div_ceil(10)).map(|turn| turn.ahead_ns).collect();
    quick.sort_unstable();
    let (middle, quickest) = (quick.get(quick.len() / 2)?, turns.first()?);
    Some([*middle as f64 * 1e-9, quickest.rtt_ns as f64 * 0.5e-9])
}

impl Probe<'_> {
    fn send(&mut self, kind: Kind, len: usize) -> Result<(), Refused> {
        self.number += 1;
        let head = Head { token: self.token, way: self.way, kind, number: self.number, time_ns: 0 };
        self.port.send(self.to, &head.frame(len))
    }

    /// When the other end answered one of the numbers from `first` on, by its clock, if that comes within `patience`.
    fn echo(&mut self, first: u32, patience: Duration) -> Option<u64> {
        let begin = Instant::now();
        let (token, way) = (self.token, self.way);
        let mut answered = None;
        while answered.is_none() && begin.elapsed() < patience {
            self.port.receive(&mut |frame| {
                let is_ours = |head: &Head| head.token == token && head.way == way && head.number >= first;
                if let Some(head) = Head::of(frame).filter(|head| head.kind == Kind::Echo && is_ours(head)) {
                    answered = Some(head.time_ns);
                }
            });
        }
        answered
    }

    fn turns(&mut self) -> Vec<Turn> {
        let begin = Instant::now();
        let mut turns = Vec::new();
        for _ in 0..PINGS {
            let (sent_ns, sent) = (now_ns(), Instant::now());
            if self.send(Kind::Ping, SHORT).is_ok()
                && let Some(answered_ns) = self.echo(self.number, LOST)
            {
                let rtt_ns = sent.elapsed().as_nanos() as u64;
                turns.push(Turn { rtt_ns, ahead_ns: answered_ns as i64 - (sent_ns + rtt_ns / 2) as i64 });
            }
            if begin.elapsed() > PING_TIME {
                break;
            }
        }
        turns
    }

    /// How many left.
    fn paced(&mut self) -> u32 {
        let sent = (0..PACED).filter(|_| {
            thread::sleep(PACE);
            self.send(Kind::Paced, SHORT).is_ok()
        });
        let sent = sent.count() as u32;
        // The last ones arrive.
        thread::sleep(LOST);
        sent
    }

    /// The longest frame that is answered. A stream that has swallowed one that is too long is of no further use: it is not asked again.
    fn largest(&mut self, frame: usize, is_stream: bool) -> Option<usize> {
        if self.passes(frame) {
            return Some(frame);
        }
        if is_stream || frame <= SHORTEST || !self.passes(SHORTEST) {
            return None;
        }
        let (mut passes, mut is_lost) = (SHORTEST, frame);
        while is_lost - passes > 1 {
            let middle = passes.midpoint(is_lost);
            if self.passes(middle) { passes = middle } else { is_lost = middle }
        }
        Some(passes)
    }

    fn passes(&mut self, len: usize) -> bool {
        let first = self.number + 1;
        (0..TRIES).any(|_| {
            let sent = self.send(Kind::Ping, len);
            // What is refused for its length is refused always.
            sent != Err(Refused::TooLong) && self.echo(first, LOST).is_some()
        })
    }
}
