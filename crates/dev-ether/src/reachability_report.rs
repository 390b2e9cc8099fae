//! A text for `mpiexec --stats`: the ports of this rank by which peers have answered, and what was found best for bulk
//! and for eager messages.
//!
//! Nothing depends on this text. Used by `device`; uses `ports`, `direct` and `link::PortReachability`.

use crate::direct::{DirectConnections, FoundMethods};
use crate::ports::PortSet;
use hawser_link::{Endpoint, PortReachability};
use std::fmt::Write;

/// The callback that receives the text.
pub type ReachabilityReportFn = Box<dyn Fn(&str) + Send>;

/// Age of the last report from which `report_if_due` reports again; people read the text.
const REPORT_INTERVAL_NS: u64 = 1_000_000_000;

/// The text's reporter, as the module describes it.
pub struct ReachabilityReport {
    report_fn: ReachabilityReportFn,
    reported_ns: u64,
}

impl ReachabilityReport {
    pub fn new(report_fn: ReachabilityReportFn) -> ReachabilityReport {
        ReachabilityReport { report_fn, reported_ns: 0 }
    }

    /// Reports if the last report is old enough. Call it now and then.
    pub fn report_if_due(&mut self, now_ns: u64, endpoint: &Endpoint, port_set: &PortSet, direct: &DirectConnections) {
        if now_ns >= self.reported_ns + REPORT_INTERVAL_NS {
            self.reported_ns = now_ns;
            self.report(endpoint, port_set, direct);
        }
    }

    /// Reports the present state.
    pub fn report(&self, endpoint: &Endpoint, port_set: &PortSet, direct: &DirectConnections) {
        let ports = describe(port_set, |port| endpoint.port_reachability(port));
        (self.report_fn)(&(ports + &describe_methods(&direct.found_methods())));
    }
}

/// Returns the text about eager messages, as in "; best by direct connection: up to 8 KiB to 1 of 2, longer to 2 of 2":
/// of two peers for which it was found. Classes of lengths for which nothing was found are left out.
fn describe_methods(found: &[FoundMethods]) -> String {
    let class = |&FoundMethods { up_to, direct, total }: &FoundMethods| {
        let length = up_to.map_or("longer".into(), |bytes| format!("up to {} KiB", bytes >> 10));
        format!("{length} to {direct} of {total}")
    };
    let classes: Vec<String> = found.iter().filter(|found| found.total > 0).map(class).collect();
    if classes.is_empty() { String::new() } else { format!("; best by direct connection: {}", classes.join(", ")) }
}

/// Returns the text, as in "eth0: packet 1 of 1, udp 1 of 1 (best for bulk to 1); docker0: packet 0 of 1". Behind
/// each port stands the number of peers that have answered by it, of those that were tried. "(best for bulk to 3, by
/// 4 flows)" means: the port is best for bulk to three peers, and for at least one of them by four source ports.
/// Ports by which no peer was tried are left out.
fn describe(port_set: &PortSet, reachability_of: impl Fn(u8) -> PortReachability) -> String {
    let mut ports: Vec<u8> = (0..port_set.ports.len() as u8).collect();
    ports.sort_by_key(|&port| port_set.rail_of(port));
    let (mut text, mut last) = (String::new(), None);
    for (at, PortReachability { tried, replied: answered, best_for_bulk: bulk, flows }) in
        ports.into_iter().map(|port| (port, reachability_of(port)))
    {
        if tried == 0 {
            continue;
        }
        let (interface, port) = port_set.port(at);
        let _ = match last.replace(port_set.rail_of(at)) {
            Some(rail) if rail == port_set.rail_of(at) => write!(text, ", "),
            Some(_) => write!(text, "; {interface}: "),
            None => write!(text, "{interface}: "),
        };
        let v6 = port.address().ip().is_some_and(|ip| ip.is_ipv6());
        let _ = write!(text, "{}{} {answered} of {tried}", port.name(), if v6 { " over IPv6" } else { "" });
        if bulk > 0 {
            // If no further sockets could be opened, paths of several flows used the first one.
            let _ = match (flows as usize).min(port.flow_count()) {
                0 | 1 => write!(text, " (best for bulk to {bulk})"),
                flows => write!(text, " (best for bulk to {bulk}, by {flows} flows)"),
            };
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_told_for_the_lengths_for_which_they_were_found() {
        let of = |up_to, direct, total| FoundMethods { up_to, direct, total };
        assert_eq!(describe_methods(&[of(Some(8 << 10), 0, 0), of(None, 0, 0)]), "");
        let found = [of(Some(8 << 10), 1, 2), of(Some(32 << 10), 0, 0), of(None, 3, 3)];
        assert_eq!(describe_methods(&found), "; best by direct connection: up to 8 KiB to 1 of 2, longer to 3 of 3");
    }
}
