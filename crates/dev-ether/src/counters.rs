//! What the protocol and the ports count, as counters of the rank's page (`job::counters`), behind those that `mpi` has there.
//!
//! They count for themselves, and their totals are laid into the page now and then: no frame pays for it. Before it: `device`;
//! after it: nothing.

use crate::port::{FramePort, Missed};
use hawser_job::counters::Counters;
use hawser_link::Endpoint;
use hawser_link::frame::Dropped;

/// So long the page may be behind while the rank does something: ports are asked by system calls.
const LATE_NS: u64 = 10_000_000;

/// What the protocol did and what was missed, in the order of the slots; behind them the reasons for dropping a frame.
const FRONT: [&str; 9] = [
    "frames sent",
    "frames lost and sent again",
    "runs of frames sent",
    "acknowledgements sent alone",
    "questions after a silence",
    "timeouts",
    "frames dropped by the kernel",
    "connections refused",
    "messages that are no packets",
];

/// The names of all, in the order of their slots.
pub fn names() -> impl Iterator<Item = String> {
    let dropped = Dropped::ALL.iter().map(|reason| format!("frames dropped {}", reason.text()));
    FRONT.iter().map(ToString::to_string).chain(dropped)
}

/// Where they stand.
pub struct Page {
    counters: Counters,
    /// The first slot.
    at: usize,
    written_ns: u64,
}

impl Page {
    pub fn new(counters: Counters, at: usize) -> Page {
        Page { counters, at, written_ns: 0 }
    }

    /// Whether the page is to be written again.
    pub fn is_old(&self, now_ns: u64) -> bool {
        now_ns >= self.written_ns + LATE_NS
    }

    /// `unread`: messages that were no packets.
    pub fn write(&mut self, now_ns: u64, endpoint: &Endpoint, ports: &mut [Box<dyn FramePort>], unread: u64) {
        self.written_ns = now_ns;
        let mut missed = Missed::default();
        for port in ports {
            let Missed { frames, connections } = port.missed();
            missed.frames += frames;
            missed.connections += connections;
        }
        let counts = endpoint.counts();
        let front: [u64; FRONT.len()] = [
            counts.frames,
            counts.lost,
            counts.runs,
            counts.acks,
            counts.asked,
            counts.timeouts,
            missed.frames,
            missed.connections,
            unread,
        ];
        let all = front.iter().chain(endpoint.drops());
        all.enumerate().for_each(|(nth, &count)| self.counters.raise(self.at + nth, count));
    }
}
