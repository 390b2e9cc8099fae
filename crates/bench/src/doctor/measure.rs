//! The near end of a measurement: measures one path in one direction, with `answer` at the other end.
//!
//! Every step has a time limit, so that a path on which all is lost costs seconds at most. Only the other end knows how
//! many frames sent at a steady pace arrived. Used by `serve`; uses the port.

use super::answer::now_ns;
use super::frame::{Head, Kind, SHORT};
use super::orders::{Figures, WayTo};
use crate::net::bulk;
use hawser_dev_ether::port::{Address, FramePort, Refused};
use std::thread;
use std::time::{Duration, Instant};

/// The number of round trips, or as many as the time allows.
const PINGS: u32 = 2000;
const PING_TIME: Duration = Duration::from_millis(400);
/// An echo counts as lost after this time and some round trips; the time is longer than a scheduler's slice.
const LOST: Duration = Duration::from_millis(50);
const TRIPS: u32 = 4;
/// Pings until a path is given up, one for each LOST: a second, longer than a round trip around the world or over a
/// satellite.
const FIRST_TRIES: u32 = 20;
/// Frames sent at a steady pace: of a loss of 1 % ten are missing. The pace is below 3 Mbit/s.
const PACED: u32 = 1000;
const PACE: Duration = Duration::from_micros(250);
/// The number of attempts until a length counts as too long: at 10 % of loss each way one in 50000 counts so wrongly.
const TRIES: u32 = 6;
const BULK_TIME: Duration = Duration::from_millis(300);
/// The shortest frame that `link` requires of a path (P8): shorter ones need no test.
const SHORTEST: usize = 548;

/// A path while it is measured.
struct Probe<'a> {
    port: &'a mut dyn FramePort,
    to: &'a Address,
    token: u32,
    way: u16,
    number: u32,
    /// The shortest round trip that was seen, or that of a longer frame.
    round_trip: Duration,
}

/// A ping that was answered.
struct Turn {
    rtt_ns: u64,
    ahead_ns: i64,
}

pub fn run(port: &mut dyn FramePort, to: &Address, token: u32, way: &WayTo) -> Figures {
    let is_stream = port.name() == "stream";
    let mut probe = Probe { port, to, token, way: way.way, number: 0, round_trip: Duration::ZERO };
    let first = probe.ask(SHORT, FIRST_TRIES, LOST);
    probe.round_trip = first.unwrap_or_default();
    let mut turns = if first.is_some() { probe.turns() } else { Vec::new() };
    turns.sort_unstable_by_key(|turn| turn.rtt_ns);
    let paced = probe.paced();
    let largest = if first.is_some() { probe.largest(way.frame, is_stream) } else { None };
    // A path that does not carry whole frames gives no rate.
    let flow = largest.filter(|&size| size == way.frame || !is_stream);
    let flow = flow.and_then(|size| bulk::run(probe.port, to, size, way.room, BULK_TIME, probe.round_trip).ok());
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

/// The lead of the other clock, from the fastest tenth, sorted: these frames waited nowhere. The lead is known to half
/// the fastest round trip.
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

    fn patience(&self) -> Duration {
        LOST + TRIPS * self.round_trip
    }

    /// The other end's answer to one of the numbers from `first` on, if it arrives within `patience`.
    fn echo(&mut self, first: u32, patience: Duration) -> Option<Head> {
        let begin = Instant::now();
        let (token, way, last) = (self.token, self.way, self.number);
        let mut answered = None;
        while answered.is_none() && begin.elapsed() < patience {
            self.port.receive(&mut |frame| {
                let is_ours =
                    |head: &Head| head.token == token && head.way == way && (first..=last).contains(&head.number);
                answered = answered.or(Head::of(frame).filter(|head| head.kind == Kind::Echo && is_ours(head)));
            });
        }
        answered
    }

    /// Sends pings of this length until one is answered: waits LOST for each but the last, `patience` for that. Returns
    /// the round trip.
    fn ask(&mut self, len: usize, tries: u32, patience: Duration) -> Option<Duration> {
        let (first, mut sent) = (self.number + 1, Vec::new());
        for left in (0..tries).rev() {
            sent.push(Instant::now());
            // A length that was refused once is refused always.
            if self.send(Kind::Ping, len) == Err(Refused::TooLong) {
                return None;
            }
            if let Some(head) = self.echo(first, if left > 0 { LOST } else { patience }) {
                return Some(sent[(head.number - first) as usize].elapsed());
            }
        }
        None
    }

    fn turns(&mut self) -> Vec<Turn> {
        let begin = Instant::now();
        let mut turns = Vec::new();
        for _ in 0..PINGS {
            let (sent_ns, sent) = (now_ns(), Instant::now());
            if self.send(Kind::Ping, SHORT).is_ok()
                && let Some(answered) = self.echo(self.number, self.patience())
            {
                let round_trip = sent.elapsed();
                self.round_trip = self.round_trip.min(round_trip);
                let rtt_ns = round_trip.as_nanos() as u64;
                turns.push(Turn { rtt_ns, ahead_ns: answered.time_ns.wrapping_sub(sent_ns + rtt_ns / 2) as i64 });
            }
            if begin.elapsed() > PING_TIME {
                break;
            }
        }
        turns
    }

    /// Sends frames at a steady pace. Returns how many were sent.
    fn paced(&mut self) -> u32 {
        let sent = (0..PACED).filter(|_| {
            thread::sleep(PACE);
            self.send(Kind::Paced, SHORT).is_ok()
        });
        let sent = sent.count() as u32;
        // Wait until the last ones have arrived.
        thread::sleep(self.patience());
        sent
    }

    /// The longest frame that is answered. A stream that has swallowed a frame that is too long is of no further use:
    /// no more is sent on it.
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
        let took = self.ask(len, TRIES, self.patience());
        self.round_trip = self.round_trip.max(took.unwrap_or_default());
        took.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_dev_ether::port::Missed;
    use std::collections::VecDeque;
    use std::io::IoSlice;
    use std::os::fd::BorrowedFd;

    /// A port to an end that answers well, and is far away.
    #[derive(Default)]
    struct FarAway {
        coming: VecDeque<(Instant, Vec<u8>)>,
        counter: bulk::Counter,
    }

    const ROUND_TRIP: Duration = Duration::from_millis(120);

    impl FramePort for FarAway {
        fn name(&self) -> &'static str {
            "udp"
        }

        fn frame_max(&self) -> usize {
            1472
        }

        fn room(&self) -> usize {
            1 << 20
        }

        fn address(&self) -> Address {
            Address::Udp(([10, 0, 0, 1], 1).into())
        }

        fn send(&mut self, _: &Address, frame: &[u8]) -> Result<(), Refused> {
            let answer = match Head::of(frame) {
                Some(head) if head.kind == Kind::Ping => {
                    Some(Head { kind: Kind::Echo, time_ns: now_ns(), ..head }.frame(SHORT))
                }
                Some(_) => None,
                None => {
                    self.counter.count(frame);
                    self.counter.word(0, true).map(Vec::from)
                }
            };
            self.coming.extend(answer.map(|answer| (Instant::now() + ROUND_TRIP, answer)));
            Ok(())
        }

        fn send_run(&mut self, to: &Address, frames: &[IoSlice<'_>]) -> Result<usize, Refused> {
            frames.iter().try_for_each(|frame| self.send(to, frame)).map(|()| frames.len())
        }

        fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
            let come = self.coming.iter().take_while(|(due, _)| *due <= Instant::now()).count();
            self.coming.drain(..come).for_each(|(_, frame)| take(&frame));
            come
        }

        fn descriptors(&self, _: &mut dyn FnMut(BorrowedFd<'_>)) {}

        fn missed(&mut self) -> Missed {
            Missed::default()
        }

        fn take_error(&mut self) {}
    }

    #[test]
    fn a_way_to_the_other_side_of_the_world_is_measured_and_nothing_is_lost() {
        let mut port = FarAway::default();
        let to = port.address();
        let way = WayTo { way: 1, port: 0, rank: 1, place: 0, address: String::new(), frame: 1472, room: 100 };
        let figures = run(&mut port, &to, 7, &way);
        assert!(figures.half_us.is_some_and(|half_us| half_us >= 60_000.0), "{figures:?}");
        assert_eq!((figures.largest, figures.bulk_lost), (Some(1472), 0), "{figures:?}");
        assert!(figures.gbyte_s.is_some_and(|rate| rate > 0.0), "{figures:?}");
    }
}
