//! A stream of long frames in one direction, within the room that the receiver's port advertises; the receiver reports
//! now and then how many arrived.

use hawser_dev_ether::port::{Address, FramePort, Refused};
use std::io::IoSlice;
use std::time::{Duration, Instant};

/// The length of the memory that is sent repeatedly: more than the nearest cache, as an application's buffer is.
const SOURCE_BYTES: usize = 1 << 20;
/// The number of frames that are handed over at once.
const RUN: usize = 264;
/// The frames in flight count as lost after this time without a report, and some round trips.
const LOST: Duration = Duration::from_millis(20);
const TRIPS: u32 = 4;
/// The time after which slow frames are reported, before the sender counts them as lost.
const TOLD_AFTER: Duration = Duration::from_millis(2);
const _: () = assert!(TOLD_AFTER.as_nanos() * 4 < LOST.as_nanos());
/// The value of each byte of a frame.
pub const FILL: u8 = 0xa5;
/// The first byte of a report of what arrived.
const WORD: u8 = b'!';

/// The counters of the far side.
#[derive(Default)]
pub struct Counter {
    frames: u64,
    /// The bytes that are not yet reported.
    silent: usize,
    since: Option<Instant>,
}

impl Counter {
    pub fn count(&mut self, frame: &[u8]) {
        self.frames += 1;
        self.silent += frame.len();
        self.since.get_or_insert_with(Instant::now);
    }

    /// The report to be sent now, if one is due: after an eighth of the room, when nothing arrives any more, or some
    /// time after the first unreported frame.
    pub fn word(&mut self, room: usize, idle: bool) -> Option<[u8; 64]> {
        let since = self.since?;
        if self.silent < room / 8 && !idle && since.elapsed() < TOLD_AFTER {
            return None;
        }
        (self.silent, self.since) = (0, None);
        let mut word = [WORD; 64];
        word[8..16].copy_from_slice(&self.frames.to_le_bytes());
        Some(word)
    }
}

/// The result of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flow {
    pub gbyte_s: f64,
    pub gbytes: f64,
    pub lost_frames: u64,
}

/// Sends frames of `size` bytes for `time` to a receiver that has room for `room` of them, `round_trip` away. Returns
/// the rate of what arrived, until the last report about it.
pub fn run(
    port: &mut dyn FramePort,
    far: &Address,
    size: usize,
    room: usize,
    time: Duration,
    round_trip: Duration,
) -> Result<Flow, Refused> {
    let patience = LOST + TRIPS * round_trip;
    let window = (room / 2).max(2) as u64;
    let run = (window as usize / 4).clamp(1, RUN);
    let source = vec![FILL; (SOURCE_BYTES / size).max(1).next_multiple_of(run) * size];
    let frames: Vec<IoSlice> = source.chunks(size).map(IoSlice::new).collect();
    let (mut sent, mut came, mut lost, mut at) = (0, 0, 0, 0);
    let (start, mut heard) = (Instant::now(), Instant::now());
    while start.elapsed() < time || sent > came + lost {
        if start.elapsed() < time && sent + run as u64 <= came + lost + window {
            match port.send_run(far, &frames[at..at + run]) {
                Ok(count) => sent += count as u64,
                Err(Refused::Full) => {}
                Err(refused) => return Err(refused),
            }
            at = (at + run) % frames.len();
        }
        if let Some(frames) = hear(port) {
            // A report of more frames than were sent is capped.
            (came, heard) = (frames.min(sent), Instant::now());
        } else if heard.elapsed() > patience {
            (lost, heard) = (sent - came, Instant::now());
        }
    }
    let gbytes = (came * size as u64) as f64 / 1e9;
    Ok(Flow { gbyte_s: gbytes / start.elapsed().as_secs_f64(), gbytes, lost_frames: sent - came })
}

/// The last report that has arrived.
fn hear(port: &mut dyn FramePort) -> Option<u64> {
    let mut told = None;
    port.receive(&mut |frame| {
        if let (Some(&WORD), Some(frames)) = (frame.first(), frame.get(8..16)) {
            told = Some(u64::from_le_bytes(frames.try_into().expect("eight bytes")));
        }
    });
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_comes_slowly_something_is_said_long_before_there_is_an_eighth_of_the_room() {
        let mut counter = Counter::default();
        assert_eq!(counter.word(0, true), None);
        counter.count(&[FILL; 1472]);
        assert_eq!(counter.word(1 << 20, false), None);
        std::thread::sleep(TOLD_AFTER);
        let word = counter.word(1 << 20, false).unwrap();
        assert_eq!((word[0], word[8]), (WORD, 1));
        assert_eq!(counter.word(1 << 20, true), None);
        counter.count(&[FILL; 1472]);
        assert_eq!(counter.word(8 * 1472, false).unwrap()[8], 2);
    }
}
