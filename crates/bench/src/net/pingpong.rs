//! Measures half the round trip of one short frame; the ends spin, or sleep until the frame arrives.

use super::PortSleeper;
use crate::sample;
use hawser_dev_ether::port::{FramePort, PortAddress};
use std::io;
use std::time::{Duration, Instant};

/// The length of a frame of `link` with a few control messages: its header, and a short message of MPI.
const FRAME_BYTES: usize = 64;
/// A frame counts as lost after this time, which is longer than a time slice of the scheduler.
const LOSS_TIMEOUT: Duration = Duration::from_millis(200);
/// The other end counts as gone after this many losses in succession.
const LOST_MAX: u32 = 25;

/// Returns half round trips in microseconds, sorted: the average of each repetition of `rounds` round trips.
pub fn run(
    port: &mut dyn FramePort,
    remote: &PortAddress,
    sleeps: bool,
    repetitions: usize,
    rounds: u32,
) -> io::Result<Vec<f64>> {
    let mut sleeper = PortSleeper::new(port)?;
    let mut frame = [b'?'; FRAME_BYTES];
    let (mut number, mut lost) = (0_u32, 0);
    let mut round_trip = || {
        number += 1;
        frame[4..8].copy_from_slice(&number.to_le_bytes());
        let mut back = false;
        while !back && lost < LOST_MAX {
            lost += 1;
            let _ = port.send(remote, &frame);
            let sent = Instant::now();
            let mut polls = 0_u32;
            while !back && (!polls.is_multiple_of(1024) || sent.elapsed() < LOSS_TIMEOUT) {
                if port.receive(&mut |bytes| back |= bytes.get(4..8) == Some(&number.to_le_bytes())) == 0 && sleeps {
                    sleeper.wait();
                }
                polls += 1;
            }
        }
        if back {
            lost = 0;
        }
    };
    (0..rounds / 10).for_each(|_| round_trip());
    let times = sample::times(repetitions, 2 * rounds as usize, || (0..rounds).for_each(|_| round_trip()));
    let lost_error = || format!("the remote process has returned none of the last {LOST_MAX} frames");
    if lost < LOST_MAX { Ok(times) } else { Err(io::Error::other(lost_error())) }
}
