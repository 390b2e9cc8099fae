//! Tests which paths to another host pass: both ends send short frames on all of them at once and count those that
//! arrive.
//!
//! Each direction is counted separately, because a firewall may let through only one. Used by `serve`; uses the
//! ports.

use super::protocol::{PathSpec, ReceivedCount};
use super::test_frame::{SHORT, TestFrameHeader, TestFrameKind};
use crate::net;
use hawser_dev_ether::OpenPort;
use hawser_dev_ether::port::{FrameSendError, PortAddress};
use std::thread;
use std::time::{Duration, Instant};

/// The time until a path is given up: a lost ARP request is repeated after a second.
const TIME_LIMIT: Duration = Duration::from_millis(2500);
/// The time between two test frames on a path.
const INTERVAL: Duration = Duration::from_millis(40);
/// The number of test frames that follow on each path once every path has passed in both directions: the frames that
/// inform the other end of that may be lost.
const EXTRA_ROUNDS: u32 = 5;

/// A path that is being tested.
struct PathTest<'a> {
    to: &'a PathSpec,
    address: PortAddress,
    received: ReceivedCount,
    /// Whether the other end has received our test frames.
    is_confirmed: bool,
}

/// Returns what arrived on each path.
pub fn run(ports: &mut [OpenPort], token: u32, paths: &[PathSpec]) -> Result<Vec<ReceivedCount>, String> {
    let mut paths = paths.iter().map(|to| path_test(to, ports.len())).collect::<Result<Vec<_>, _>>()?;
    let begin = Instant::now();
    let mut extra_rounds = EXTRA_ROUNDS;
    while begin.elapsed() < TIME_LIMIT && extra_rounds > 0 {
        paths.iter_mut().for_each(|path| send_test_frame(ports, token, path));
        let round_begin = Instant::now();
        while round_begin.elapsed() < INTERVAL {
            (0..ports.len()).for_each(|at| receive_test_frames(&mut ports[at], at, token, &mut paths));
            thread::sleep(Duration::from_millis(1));
        }
        if paths.iter().all(|path| path.is_confirmed && path.received.frames > 0) {
            extra_rounds -= 1;
        }
    }
    Ok(paths.iter().map(|path| path.received).collect())
}

fn path_test(to: &PathSpec, ports: usize) -> Result<PathTest<'_>, String> {
    let address = net::decode_address(&to.address).filter(|_| to.port < ports).ok_or("a command names no port")?;
    Ok(PathTest { to, address, received: ReceivedCount::default(), is_confirmed: false })
}

fn send_test_frame(ports: &mut [OpenPort], token: u32, path: &mut PathTest<'_>) {
    let number = u32::from(path.received.frames > 0);
    let head = TestFrameHeader { token, path: path.to.way, kind: TestFrameKind::Reachability, number, time_ns: 0 };
    let port = &mut ports[path.to.port].port;
    port.set_peer(path.to.peer());
    match port.send(&path.address, &head.frame(SHORT)) {
        Err(FrameSendError::Unreachable(number)) => path.received.refused = Some(number),
        Ok(()) => path.received.refused = None,
        Err(_) => {}
    }
}

fn receive_test_frames(opened: &mut OpenPort, at: usize, token: u32, paths: &mut [PathTest<'_>]) {
    opened.port.receive(&mut |frame| {
        let Some(head) = TestFrameHeader::parse(frame)
            .filter(|head| head.token == token && head.kind == TestFrameKind::Reachability)
        else {
            return;
        };
        if let Some(path) = paths.iter_mut().find(|path| path.to.way == head.path && path.to.port == at) {
            path.received.frames += 1;
            path.is_confirmed |= head.number == 1;
        }
    });
}
