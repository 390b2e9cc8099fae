//! The measuring end of a measurement: measures one path in one direction, with `echo` at the other end.
//!
//! Every step has a time limit, so that a path on which all frames are lost costs seconds at most. Only the other end
//! knows how many of the frames that were sent at a steady pace arrived. Used by `serve`; uses the port.

use super::echo::wall_clock_ns;
use super::protocol::{PathFigures, PathSpec};
use super::test_frame::{SHORT, TestFrameHeader, TestFrameKind};
use crate::net::bulk;
use hawser_dev_ether::port::{FramePort, FrameSendError, PortAddress};
use std::thread;
use std::time::{Duration, Instant};

/// The maximum number of round trips that are measured, and the maximum time for them.
const PINGS: u32 = 2000;
const PING_TIME: Duration = Duration::from_millis(400);
/// An echo counts as lost after LOSS_TIMEOUT and LOSS_ROUND_TRIPS round trips. LOSS_TIMEOUT is longer than a time
/// slice of the scheduler.
const LOSS_TIMEOUT: Duration = Duration::from_millis(50);
const LOSS_ROUND_TRIPS: u32 = 4;
/// The number of pings, one for each LOSS_TIMEOUT, until a path is given up. Together they take a second, which is
/// longer than a round trip around the world or over a satellite.
const FIRST_TRIES: u32 = 20;
/// The number of frames that are sent at a steady pace, and the time between two of them. At a loss of 1 % ten frames
/// are missing. The rate is below 3 Mbit/s.
const PACED_FRAMES: u32 = 1000;
const PACE_INTERVAL: Duration = Duration::from_micros(250);
/// The number of pings of a length until the length counts as too long. At a loss of 10 % in each direction this is
/// wrong about once in 20000 cases.
const TRIES: u32 = 6;
const BULK_TIME: Duration = Duration::from_millis(300);
/// The shortest frame that `link` requires of a path (P8 of docs/protocol.md): shorter ones need no test.
const FRAME_MIN_BYTES: usize = 548;

/// A path that is being measured.
struct PathMeasurement<'a> {
    port: &'a mut dyn FramePort,
    to: &'a PortAddress,
    token: u32,
    path: u16,
    number: u32,
    /// The shortest round trip of the short frames; if a longer frame takes longer, the round trip of that frame.
    round_trip: Duration,
}

/// The round trip of a ping that was echoed.
struct RoundTrip {
    rtt_ns: u64,
    clock_offset_ns: i64,
}

pub fn run(port: &mut dyn FramePort, to: &PortAddress, token: u32, path: &PathSpec) -> PathFigures {
    let is_stream = port.name() == "stream";
    let mut measurement = PathMeasurement { port, to, token, path: path.way, number: 0, round_trip: Duration::ZERO };
    let first = measurement.ping(SHORT, FIRST_TRIES, LOSS_TIMEOUT);
    measurement.round_trip = first.unwrap_or_default();
    let mut round_trips = if first.is_some() { measurement.measure_round_trips() } else { Vec::new() };
    round_trips.sort_unstable_by_key(|round_trip| round_trip.rtt_ns);
    let paced = measurement.send_paced();
    let largest = if first.is_some() { measurement.largest_frame(path.frame, is_stream) } else { None };
    // No rate is measured on a path that carries nothing, nor on a stream that does not carry frames of full length.
    let stream = largest.filter(|&size| size == path.frame || !is_stream);
    let stream = stream
        .and_then(|size| bulk::run(measurement.port, to, size, path.room, BULK_TIME, measurement.round_trip).ok());
    PathFigures {
        half_us: round_trips.get(round_trips.len() / 2).map(|round_trip| round_trip.rtt_ns as f64 / 2000.0),
        ahead_s: clock_offset(&round_trips),
        paced,
        frame: path.frame,
        largest,
        gbyte_s: stream.map(|stream| stream.gbyte_s),
        bulk_lost: stream.map_or(0, |stream| stream.lost_frames),
    }
}

/// Returns the lead of the other host's clock and its uncertainty, in seconds; None without round trips. The lead is
/// the median over the fastest tenth of the sorted round trips, whose frames waited nowhere. The uncertainty is half
/// of the fastest round trip.
fn clock_offset(round_trips: &[RoundTrip]) -> Option<[f64; 2]> {
    let mut quick: Vec<i64> =
        round_trips.iter().take(round_trips.len().div_ceil(10)).map(|round_trip| round_trip.clock_offset_ns).collect();
    quick.sort_unstable();
    let (middle, quickest) = (quick.get(quick.len() / 2)?, round_trips.first()?);
    Some([*middle as f64 * 1e-9, quickest.rtt_ns as f64 * 0.5e-9])
}

impl PathMeasurement<'_> {
    fn send_frame(&mut self, kind: TestFrameKind, len: usize) -> Result<(), FrameSendError> {
        self.number += 1;
        let head = TestFrameHeader { token: self.token, path: self.path, kind, number: self.number, time_ns: 0 };
        self.port.send(self.to, &head.frame(len))
    }

    fn time_limit(&self) -> Duration {
        LOSS_TIMEOUT + LOSS_ROUND_TRIPS * self.round_trip
    }

    /// Returns the other end's echo of one of the numbers from `first` on, if it arrives within `time_limit`.
    fn wait_for_echo(&mut self, first: u32, time_limit: Duration) -> Option<TestFrameHeader> {
        let begin = Instant::now();
        let (token, path, last) = (self.token, self.path, self.number);
        let mut reply = None;
        while reply.is_none() && begin.elapsed() < time_limit {
            self.port.receive(&mut |frame| {
                let is_ours = |head: &TestFrameHeader| {
                    head.token == token && head.path == path && (first..=last).contains(&head.number)
                };
                reply = reply
                    .or(TestFrameHeader::parse(frame).filter(|head| head.kind == TestFrameKind::Echo && is_ours(head)));
            });
        }
        reply
    }

    /// Sends at most `tries` pings of `len` bytes until one is echoed. It waits LOSS_TIMEOUT for the echo of each
    /// ping, and `time_limit` for that of the last one. Returns the round trip; None if there was no echo.
    fn ping(&mut self, len: usize, tries: u32, time_limit: Duration) -> Option<Duration> {
        let (first, mut sent) = (self.number + 1, Vec::new());
        for left in (0..tries).rev() {
            sent.push(Instant::now());
            // A length that was refused once is refused always.
            if self.send_frame(TestFrameKind::Ping, len) == Err(FrameSendError::TooLong) {
                return None;
            }
            if let Some(head) = self.wait_for_echo(first, if left > 0 { LOSS_TIMEOUT } else { time_limit }) {
                return Some(sent[(head.number - first) as usize].elapsed());
            }
        }
        None
    }

    fn measure_round_trips(&mut self) -> Vec<RoundTrip> {
        let begin = Instant::now();
        let mut round_trips = Vec::new();
        for _ in 0..PINGS {
            let (sent_ns, sent) = (wall_clock_ns(), Instant::now());
            if self.send_frame(TestFrameKind::Ping, SHORT).is_ok()
                && let Some(reply) = self.wait_for_echo(self.number, self.time_limit())
            {
                let round_trip = sent.elapsed();
                self.round_trip = self.round_trip.min(round_trip);
                let rtt_ns = round_trip.as_nanos() as u64;
                round_trips.push(RoundTrip {
                    rtt_ns,
                    clock_offset_ns: reply.time_ns.wrapping_sub(sent_ns + rtt_ns / 2) as i64,
                });
            }
            if begin.elapsed() > PING_TIME {
                break;
            }
        }
        round_trips
    }

    /// Sends frames at a steady pace, and returns the number of frames that were sent.
    fn send_paced(&mut self) -> u32 {
        let sent = (0..PACED_FRAMES).filter(|_| {
            thread::sleep(PACE_INTERVAL);
            self.send_frame(TestFrameKind::Paced, SHORT).is_ok()
        });
        let sent = sent.count() as u32;
        // Wait until the last frames have arrived.
        thread::sleep(self.time_limit());
        sent
    }

    /// Returns the length of the longest frame that is echoed, at most `frame`; None if not even the shortest one is.
    /// A stream that has swallowed a frame that is too long is of no further use, so nothing else is tried on it.
    fn largest_frame(&mut self, frame: usize, is_stream: bool) -> Option<usize> {
        if self.frame_gets_through(frame) {
            return Some(frame);
        }
        if is_stream || frame <= FRAME_MIN_BYTES || !self.frame_gets_through(FRAME_MIN_BYTES) {
            return None;
        }
        let (mut passing, mut failing) = (FRAME_MIN_BYTES, frame);
        while failing - passing > 1 {
            let middle = passing.midpoint(failing);
            if self.frame_gets_through(middle) { passing = middle } else { failing = middle }
        }
        Some(passing)
    }

    fn frame_gets_through(&mut self, len: usize) -> bool {
        let round_trip = self.ping(len, TRIES, self.time_limit());
        self.round_trip = self.round_trip.max(round_trip.unwrap_or_default());
        round_trip.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hawser_dev_ether::port::PortDrops;
    use std::collections::VecDeque;
    use std::io::IoSlice;
    use std::os::fd::BorrowedFd;

    /// A port to a distant end that echoes everything.
    #[derive(Default)]
    struct DelayedPort {
        in_flight: VecDeque<(Instant, Vec<u8>)>,
        counter: bulk::ReceiveCounter,
    }

    const ROUND_TRIP: Duration = Duration::from_millis(120);

    impl FramePort for DelayedPort {
        fn name(&self) -> &'static str {
            "udp"
        }

        fn frame_max(&self) -> usize {
            1472
        }

        fn receive_buffer_bytes(&self) -> usize {
            1 << 20
        }

        fn address(&self) -> PortAddress {
            PortAddress::Udp(([10, 0, 0, 1], 1).into())
        }

        fn send(&mut self, _: &PortAddress, frame: &[u8]) -> Result<(), FrameSendError> {
            let reply = match TestFrameHeader::parse(frame) {
                Some(head) if head.kind == TestFrameKind::Ping => {
                    Some(TestFrameHeader { kind: TestFrameKind::Echo, time_ns: wall_clock_ns(), ..head }.frame(SHORT))
                }
                Some(_) => None,
                None => {
                    self.counter.count(frame);
                    self.counter.report(0, true).map(Vec::from)
                }
            };
            self.in_flight.extend(reply.map(|reply| (Instant::now() + ROUND_TRIP, reply)));
            Ok(())
        }

        fn send_run(&mut self, to: &PortAddress, frames: &[IoSlice<'_>]) -> Result<usize, FrameSendError> {
            frames.iter().try_for_each(|frame| self.send(to, frame)).map(|()| frames.len())
        }

        fn receive(&mut self, take: &mut dyn FnMut(&[u8])) -> usize {
            let count = self.in_flight.iter().take_while(|(due, _)| *due <= Instant::now()).count();
            self.in_flight.drain(..count).for_each(|(_, frame)| take(&frame));
            count
        }

        fn descriptors(&self, _: &mut dyn FnMut(BorrowedFd<'_>)) {}

        fn drops(&mut self) -> PortDrops {
            PortDrops::default()
        }

        fn take_error(&mut self) {}
    }

    #[test]
    fn a_way_to_the_other_side_of_the_world_is_measured_and_nothing_is_lost() {
        let mut port = DelayedPort::default();
        let to = port.address();
        let path = PathSpec { way: 1, port: 0, rank: 1, place: 0, address: String::new(), frame: 1472, room: 100 };
        let figures = run(&mut port, &to, 7, &path);
        assert!(figures.half_us.is_some_and(|half_us| half_us >= 60_000.0), "{figures:?}");
        assert_eq!((figures.largest, figures.bulk_lost), (Some(1472), 0), "{figures:?}");
        assert!(figures.gbyte_s.is_some_and(|rate| rate > 0.0), "{figures:?}");
    }
}
