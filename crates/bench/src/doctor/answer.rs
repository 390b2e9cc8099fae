//! The far end of a measurement: echoes pings, counts frames sent at a steady pace, and reports how much of a bulk
//! stream arrived.
//!
//! It spins, as a rank would, until it is ordered to rest or receives nothing for long. Used by `serve`; uses the port.

use super::frame::{Head, Kind, SHORT};
use super::orders::{Answered, WayTo};
use crate::net::bulk;
use hawser_dev_ether::port::{Address, FramePort};
use std::time::{SystemTime, UNIX_EPOCH};

/// The number of empty polls after which it looks for an order.
const TURNS: u32 = 1000;

/// Runs until `is_over`, which is called now and then.
pub fn run(
    port: &mut dyn FramePort,
    to: &Address,
    token: u32,
    way: &WayTo,
    mut is_over: impl FnMut() -> bool,
) -> Answered {
    port.receive(&mut |_| ());
    let before = port.missed().frames;
    let (mut paced, mut idle) = (0, 0_u32);
    // The drops so far, as of the first frame that was not short.
    let (mut is_long, mut dropped_first) = (false, None);
    let mut counter = bulk::Counter::default();
    // A frame takes a slot in the ring, or most of it, however short it is.
    let places = port.room() / port.frame_max().max(1);
    let mut room = port.room();
    let mut echoes = Vec::new();
    loop {
        let came = port.receive(&mut |frame| match Head::of(frame) {
            Some(head) if head.token != token || head.way != way.way => {}
            Some(head) if head.kind == Kind::Ping => {
                is_long |= frame.len() > SHORT;
                echoes.push(head.number);
            }
            Some(head) if head.kind == Kind::Paced => paced += 1,
            None if frame.first() == Some(&bulk::FILL) => {
                is_long = true;
                room = places * frame.len();
                counter.count(frame);
            }
            _ => {}
        });
        if is_long && dropped_first.is_none() {
            dropped_first = Some(port.missed().frames - before);
        }
        for number in echoes.drain(..) {
            let head = Head { token, way: way.way, kind: Kind::Echo, number, time_ns: now_ns() };
            // A frame for which there is no room counts as lost.
            let _ = port.send(to, &head.frame(SHORT));
        }
        idle = if came > 0 { 0 } else { idle.wrapping_add(1) };
        if let Some(word) = counter.word(room, idle == TURNS) {
            let _ = port.send(to, &word);
        }
        if idle > 0 && idle.is_multiple_of(TURNS) && is_over() {
            let all = port.missed().frames - before;
            let dropped = dropped_first.unwrap_or(all);
            return Answered { paced, dropped, dropped_in_bulk: all - dropped };
        }
    }
}

/// The time of the real-time clock, which people set.
pub fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}
