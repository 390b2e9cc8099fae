//! A stream of long frames in one direction, within the capacity of the receiver's port. The receiver reports now and
//! then how many frames have arrived.

use hawser_dev_ether::port::{FramePort, FrameSendError, PortAddress};
use std::io::IoSlice;
use std::time::{Duration, Instant};

/// The length of the memory that is sent repeatedly: more than the nearest cache, as an application's buffer is.
const SOURCE_BYTES: usize = 1 << 20;
/// The maximum number of frames that are handed over at once.
const RUN_FRAMES: usize = 264;
/// The frames in flight count as lost if no report arrives for LOSS_TIMEOUT and LOSS_ROUND_TRIPS round trips.
const LOSS_TIMEOUT: Duration = Duration::from_millis(20);
const LOSS_ROUND_TRIPS: u32 = 4;
/// The time after which received frames are reported even if few have arrived, so that the sender does not count them
/// as lost.
const REPORT_DELAY: Duration = Duration::from_millis(2);
const _: () = assert!(REPORT_DELAY.as_nanos() * 4 < LOSS_TIMEOUT.as_nanos());
/// The value of each byte of a frame.
pub const FILL: u8 = 0xa5;
/// The first byte of a report of what arrived.
const REPORT_MARK: u8 = b'!';

/// The counters of the receiver.
#[derive(Default)]
pub struct ReceiveCounter {
    frames: u64,
    /// The bytes that are not yet reported.
    unreported_bytes: usize,
    since: Option<Instant>,
}

impl ReceiveCounter {
    pub fn count(&mut self, frame: &[u8]) {
        self.frames += 1;
        self.unreported_bytes += frame.len();
        self.since.get_or_insert_with(Instant::now);
    }

    /// Returns the report to be sent now, or None if none is due. A report is due after an eighth of the capacity,
    /// when nothing arrives any more, and REPORT_DELAY after the first unreported frame.
    pub fn report(&mut self, capacity_bytes: usize, idle: bool) -> Option<[u8; 64]> {
        let since = self.since?;
        if self.unreported_bytes < capacity_bytes / 8 && !idle && since.elapsed() < REPORT_DELAY {
            return None;
        }
        (self.unreported_bytes, self.since) = (0, None);
        let mut report = [REPORT_MARK; 64];
        report[8..16].copy_from_slice(&self.frames.to_le_bytes());
        Some(report)
    }
}

/// The result of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamResult {
    pub gbyte_s: f64,
    pub gbytes: f64,
    pub lost_frames: u64,
}

/// Sends frames of `size` bytes for `time` to a receiver that has room for `capacity_frames` of them, `round_trip`
/// away. Returns the rate at which frames arrived, until the last report.
pub fn run(
    port: &mut dyn FramePort,
    remote: &PortAddress,
    size: usize,
    capacity_frames: usize,
    time: Duration,
    round_trip: Duration,
) -> Result<StreamResult, FrameSendError> {
    let loss_timeout = LOSS_TIMEOUT + LOSS_ROUND_TRIPS * round_trip;
    let window = (capacity_frames / 2).max(2) as u64;
    let run = (window as usize / 4).clamp(1, RUN_FRAMES);
    let source = vec![FILL; (SOURCE_BYTES / size).max(1).next_multiple_of(run) * size];
    let frames: Vec<IoSlice> = source.chunks(size).map(IoSlice::new).collect();
    let (mut sent, mut received, mut lost, mut at) = (0, 0, 0, 0);
    let (start, mut last_progress) = (Instant::now(), Instant::now());
    while start.elapsed() < time || sent > received + lost {
        if start.elapsed() < time && sent + run as u64 <= received + lost + window {
            match port.send_run(remote, &frames[at..at + run]) {
                Ok(count) => sent += count as u64,
                Err(FrameSendError::Full) => {}
                Err(refused) => return Err(refused),
            }
            at = (at + run) % frames.len();
        }
        if let Some(frames) = last_report(port) {
            // A report of more frames than were sent is capped.
            (received, last_progress) = (frames.min(sent), Instant::now());
        } else if last_progress.elapsed() > loss_timeout {
            (lost, last_progress) = (sent - received, Instant::now());
        }
    }
    let gbytes = (received * size as u64) as f64 / 1e9;
    Ok(StreamResult { gbyte_s: gbytes / start.elapsed().as_secs_f64(), gbytes, lost_frames: sent - received })
}

/// Returns the number of frames in the last report that has arrived; None if no report has arrived.
fn last_report(port: &mut dyn FramePort) -> Option<u64> {
    let mut reported = None;
    port.receive(&mut |frame| {
        if let (Some(&REPORT_MARK), Some(frames)) = (frame.first(), frame.get(8..16)) {
            reported = Some(u64::from_le_bytes(frames.try_into().expect("eight bytes")));
        }
    });
    reported
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_comes_slowly_something_is_said_long_before_there_is_an_eighth_of_the_room() {
        let mut counter = ReceiveCounter::default();
        assert_eq!(counter.report(0, true), None);
        counter.count(&[FILL; 1472]);
        assert_eq!(counter.report(1 << 20, false), None);
        std::thread::sleep(REPORT_DELAY);
        let report = counter.report(1 << 20, false).unwrap();
        assert_eq!((report[0], report[8]), (REPORT_MARK, 1));
        assert_eq!(counter.report(1 << 20, true), None);
        counter.count(&[FILL; 1472]);
        assert_eq!(counter.report(8 * 1472, false).unwrap()[8], 2);
    }
}
