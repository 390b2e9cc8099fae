//! The flight recorder: a small ring of a rank's latest events, to be read after a failure.
//!
//! Recording costs an atomic addition and a handful of plain stores. A reader may catch an entry half written: the
//! entries are hints for people, not data.

use crate::text;
use hawser_base::Region;
use std::sync::atomic::Ordering::Relaxed;

/// The number of entries that are kept.
pub const EVENTS: usize = 32;
/// Longest text of an event.
pub const TEXT_BYTES: usize = 24;

/// Offsets: a count of all events ever, in a cache line of its own; then the ring of entries.
const COUNT: usize = 0;
const RING: usize = 64;
const ENTRY: usize = 64;
const VALUES: usize = 8 + TEXT_BYTES;

const _: () = assert!(VALUES + 3 * 8 <= ENTRY);

/// One event, with up to three numbers that its text explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    pub time_ns: u64,
    pub text: String,
    pub values: [u64; 3],
}

/// The recorder of one rank. Cloning is cheap.
#[derive(Clone)]
pub struct FlightRecorder(Region);

impl FlightRecorder {
    /// Bytes in a rank page.
    pub(crate) const BYTES: usize = RING + EVENTS * ENTRY;

    pub(crate) fn new(region: Region) -> FlightRecorder {
        FlightRecorder(region)
    }

    /// Makes a recorder that no other process sees.
    pub fn private() -> FlightRecorder {
        FlightRecorder(Region::private(FlightRecorder::BYTES))
    }

    /// Records an event; `text` is at most `TEXT_BYTES` bytes.
    pub fn record(&self, time_ns: u64, text: &'static str, values: [u64; 3]) {
        // Threads of one rank get separate entries by the count; no other process writes here.
        let entry = RING + (self.0.u64(COUNT).fetch_add(1, Relaxed) as usize % EVENTS) * ENTRY;
        self.0.u64(entry).store(time_ns, Relaxed);
        text::write(&self.0, entry + 8, TEXT_BYTES, text);
        for (i, value) in values.into_iter().enumerate() {
            self.0.u64(entry + VALUES + 8 * i).store(value, Relaxed);
        }
    }

    /// Returns the events that are still there, oldest first.
    pub fn latest(&self) -> Vec<TraceEvent> {
        let count = self.0.u64(COUNT).load(Relaxed);
        let first = count.saturating_sub(EVENTS as u64);
        let entry = |i: u64| {
            let at = RING + (i as usize % EVENTS) * ENTRY;
            TraceEvent {
                time_ns: self.0.u64(at).load(Relaxed),
                text: text::read(&self.0, at + 8, TEXT_BYTES),
                values: [0, 1, 2].map(|v| self.0.u64(at + VALUES + 8 * v).load(Relaxed)),
            }
        };
        (first..count).map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_events_stay_in_order() {
        let events = FlightRecorder::private();
        for i in 0..40 {
            events.record(i, "sent", [i, 2 * i, 0]);
        }
        let latest = events.latest();
        assert_eq!(latest.len(), EVENTS);
        assert_eq!(latest[0], TraceEvent { time_ns: 8, text: "sent".into(), values: [8, 16, 0] });
        assert_eq!(latest[31].time_ns, 39);
    }
}
