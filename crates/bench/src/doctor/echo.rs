//! The echoing end of a measurement: echoes pings, counts frames sent at a steady pace, and reports how much of a
//! bulk stream arrived.
//!
//! The echoing end spins, as a rank would, until a command arrives or a time limit is over (`is_over`). Used by
//! `serve`; uses the port.

use super::protocol::{EchoCounts, PathSpec};
use super::test_frame::{SHORT, TestFrameHeader, TestFrameKind};
use crate::net::bulk;
use hawser_dev_ether::port::{FramePort, PortAddress};
use std::time::{SystemTime, UNIX_EPOCH};

/// The number of consecutive empty polls (polls that find no frame) after which `is_over` is called.
const EMPTY_POLLS: u32 = 1000;

/// Echoes and counts frames until `is_over` returns true, and returns the counts. `is_over` is called only when no
/// frame arrives.
pub fn run(
    port: &mut dyn FramePort,
    to: &PortAddress,
    token: u32,
    path: &PathSpec,
    mut is_over: impl FnMut() -> bool,
) -> EchoCounts {
    port.receive(&mut |_| ());
    let before = port.drops().frames;
    let (mut paced, mut idle) = (0, 0_u32);
    // Whether a frame that is not short has arrived, and the number of frames that had been dropped by then.
    let (mut is_long, mut dropped_first) = (false, None);
    let mut counter = bulk::ReceiveCounter::default();
    // A frame takes a whole slot in the ring, or most of it, even if the frame is short.
    let slots = port.receive_buffer_bytes() / port.frame_max().max(1);
    let mut capacity_bytes = port.receive_buffer_bytes();
    let mut echoes = Vec::new();
    loop {
        let received = port.receive(&mut |frame| match TestFrameHeader::parse(frame) {
            Some(head) if head.token != token || head.path != path.way => {}
            Some(head) if head.kind == TestFrameKind::Ping => {
                is_long |= frame.len() > SHORT;
                echoes.push(head.number);
            }
            Some(head) if head.kind == TestFrameKind::Paced => paced += 1,
            None if frame.first() == Some(&bulk::FILL) => {
                is_long = true;
                capacity_bytes = slots * frame.len();
                counter.count(frame);
            }
            _ => {}
        });
        if is_long && dropped_first.is_none() {
            dropped_first = Some(port.drops().frames - before);
        }
        for number in echoes.drain(..) {
            let head =
                TestFrameHeader { token, path: path.way, kind: TestFrameKind::Echo, number, time_ns: wall_clock_ns() };
            // A frame for which there is no room counts as lost.
            let _ = port.send(to, &head.frame(SHORT));
        }
        idle = if received > 0 { 0 } else { idle.wrapping_add(1) };
        if let Some(report) = counter.report(capacity_bytes, idle == EMPTY_POLLS) {
            let _ = port.send(to, &report);
        }
        if idle > 0 && idle.is_multiple_of(EMPTY_POLLS) && is_over() {
            let all = port.drops().frames - before;
            let dropped = dropped_first.unwrap_or(all);
            return EchoCounts { paced, dropped, dropped_in_bulk: all - dropped };
        }
    }
}

/// The time of the real-time clock, in ns since 1970. People may set this clock.
pub fn wall_clock_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}
