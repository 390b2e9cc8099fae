//! A text for `mpiexec --stats`: the ports of this rank by which peers have answered, and those found best for bulk.
//!
//! It decides nothing. Used by `device`; uses `ends` and `link::Reach`.

use crate::ends::Ends;
use hawser_link::{Endpoint, Reach};
use std::fmt::Write;

/// The callback that receives the text.
pub type Tell = Box<dyn Fn(&str) + Send>;

/// Maximum age of the reported text; people read it.
const LATE_NS: u64 = 1_000_000_000;

/// The text's reporter, as the module describes it.
pub struct Answers {
    tell: Tell,
    told_ns: u64,
}

impl Answers {
    pub fn new(tell: Tell) -> Answers {
        Answers { tell, told_ns: 0 }
    }

    /// Reports if the last report is old enough. Call it now and then.
    pub fn look(&mut self, now_ns: u64, endpoint: &Endpoint, ends: &Ends) {
        if now_ns >= self.told_ns + LATE_NS {
            self.told_ns = now_ns;
            self.tell(endpoint, ends);
        }
    }

    /// Reports the present state.
    pub fn tell(&self, endpoint: &Endpoint, ends: &Ends) {
        (self.tell)(&text(ends, |port| endpoint.reach(port)));
    }
}

/// Returns the text, as in "eth0: packet 1 of 1, udp 1 of 1 (best for bulk to 1); docker0: packet 0 of 1": the number
/// of peers that answered, of those that were tried. "(best for bulk to 3, by 4 flows)": to at least one of the three,
/// from that many source ports. Ports by which no peer was tried are left out.
fn text(ends: &Ends, reach: impl Fn(u8) -> Reach) -> String {
    let mut ports: Vec<u8> = (0..ends.ports.len() as u8).collect();
    ports.sort_by_key(|&port| ends.rail(port));
    let (mut text, mut last) = (String::new(), None);
    for (at, Reach { tried, answered, bulk, flows }) in ports.into_iter().map(|port| (port, reach(port))) {
        if tried == 0 {
            continue;
        }
        let (interface, port) = ends.port(at);
        let _ = match last.replace(ends.rail(at)) {
            Some(rail) if rail == ends.rail(at) => write!(text, ", "),
            Some(_) => write!(text, "; {interface}: "),
            None => write!(text, "{interface}: "),
        };
        let v6 = port.address().ip().is_some_and(|ip| ip.is_ipv6());
        let _ = write!(text, "{}{} {answered} of {tried}", port.name(), if v6 { " over IPv6" } else { "" });
        if bulk > 0 {
            // If no further sockets could be opened, paths of several flows used the first one.
            let _ = match (flows as usize).min(port.flows()) {
                0 | 1 => write!(text, " (best for bulk to {bulk})"),
                flows => write!(text, " (best for bulk to {bulk}, by {flows} flows)"),
            };
        }
    }
    text
}
