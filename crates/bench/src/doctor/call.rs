//! Tests which paths to another host pass: both ends send short frames on all of them at once and count those that
//! arrive.
//!
//! Each direction counts by itself: a firewall may let one through. Used by `serve`; uses the ports.

use super::frame::{Head, Kind, SHORT};
use super::orders::{Heard, WayTo};
use crate::net;
use hawser_dev_ether::Opened;
use hawser_dev_ether::port::{Address, Refused};
use std::thread;
use std::time::{Duration, Instant};

/// The time until a path is given up: a lost ARP request is repeated after a second.
const PATIENCE: Duration = Duration::from_millis(2500);
/// The time between two calls on a path.
const PACE: Duration = Duration::from_millis(40);
/// The number of calls that follow once all is known: those that inform the other end may be lost.
const FAREWELL: u32 = 5;

/// A path while it is tested.
struct Way<'a> {
    to: &'a WayTo,
    address: Address,
    heard: Heard,
    /// The other end has received our calls.
    known: bool,
}

/// Returns what arrived on each path.
pub fn run(ports: &mut [Opened], token: u32, ways: &[WayTo]) -> Result<Vec<Heard>, String> {
    let mut ways = ways.iter().map(|to| way(to, ports.len())).collect::<Result<Vec<_>, _>>()?;
    let begin = Instant::now();
    let mut farewell = FAREWELL;
    while begin.elapsed() < PATIENCE && farewell > 0 {
        ways.iter_mut().for_each(|way| call(ports, token, way));
        let turn = Instant::now();
        while turn.elapsed() < PACE {
            (0..ports.len()).for_each(|at| listen(&mut ports[at], at, token, &mut ways));
            thread::sleep(Duration::from_millis(1));
        }
        if ways.iter().all(|way| way.known && way.heard.frames > 0) {
            farewell -= 1;
        }
    }
    Ok(ways.iter().map(|way| way.heard).collect())
}

fn way(to: &WayTo, ports: usize) -> Result<Way<'_>, String> {
    let address = net::read(&to.address).filter(|_| to.port < ports).ok_or("an order names no port")?;
    Ok(Way { to, address, heard: Heard::default(), known: false })
}

fn call(ports: &mut [Opened], token: u32, way: &mut Way<'_>) {
    let number = u32::from(way.heard.frames > 0);
    let head = Head { token, way: way.to.way, kind: Kind::Call, number, time_ns: 0 };
    let port = &mut ports[way.to.port].port;
    port.turn_to(way.to.peer());
    match port.send(&way.address, &head.frame(SHORT)) {
        Err(Refused::Unreachable(number)) => way.heard.refused = Some(number),
        Ok(()) => way.heard.refused = None,
        Err(_) => {}
    }
}

fn listen(opened: &mut Opened, at: usize, token: u32, ways: &mut [Way<'_>]) {
    opened.port.receive(&mut |frame| {
        let Some(head) = Head::of(frame).filter(|head| head.token == token && head.kind == Kind::Call) else { return };
        if let Some(way) = ways.iter_mut().find(|way| way.to.way == head.way && way.to.port == at) {
            way.heard.frames += 1;
            way.known |= head.number == 1;
        }
    });
}
