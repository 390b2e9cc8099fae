//! Reports of peers that do not answer, whether a path to them was open before or never.
//!
//! This module must never give a peer up: a peer that computes answers nothing (P18 of docs/protocol.md). It reports
//! the attempts to reach a peer, one line for each pair of ports, to the host's agent, and withdraws the report as
//! soon as the peer answers. The same lines, and the rank's ports that are lost, are written to the rank's page,
//! where the host's agent reads them for its reports. Every silent peer is reported, so that a peer that only
//! computes hides no dead link to another peer. mpiexec knows from the peer's page whether the peer polls, and
//! decides. Used by `device`; uses `ports` and `health`.

use crate::health::PortHealth;
use crate::port::PortAddress;
use crate::ports::PortSet;
use hawser_boot::protocol::PeerReachability;
use hawser_job::{NetworkStatus, UnreachablePeer};
use hawser_link::{Endpoint, PathId, PathStatus};
use hawser_os::clock;
use std::collections::HashMap;
use std::io;

/// A report on the paths to peers.
pub enum StatusReport<'a> {
    /// For the host's agent.
    Reachability(PeerReachability),
    /// For the rank's page.
    NetworkStatus(&'a NetworkStatus),
}

/// The callback that delivers a report. Returns false if the report could not be delivered without waiting.
pub type StatusReportFn = Box<dyn Fn(StatusReport<'_>) -> bool + Send>;

/// Time from the moment when a connection was begun or fell silent to the first report of its peer, and from one
/// repeated report to the next. It contains two of the longest intervals of HELLO and of probes (P18), so that few
/// peers are reported because of a lost frame or a short computation.
const REPORT_INTERVAL_NS: u64 = 2_000_000_000;
/// Time between two checks, and time for which a peer must have been silent before it is written to the page.
const CHECK_INTERVAL_NS: u64 = 250_000_000;
/// Maximum peers that are reported for the first time at one check, because otherwise a rank with many peers that
/// compute would flood mpiexec; and maximum peers in the page, which has space for about so many.
const FIRST_REPORTS_MAX: usize = 2;
const PAGE_PEERS_MAX: usize = 8;
/// Maximum number of reported peers with which an answer is reported at once, because the program may end with it. If
/// more peers are reported, an answer is reported at the next check, because each search examines all reported peers.
const FEW_REPORTED: usize = 8;

/// The connections that were begun, and the reports on them.
pub struct UnreachablePeers {
    /// Connections that were begun and not answered, by peer, with the time.
    connecting: Vec<(u32, u64)>,
    /// Peers that the agent counts as unreachable, and the time of the last report on each.
    reported: HashMap<u32, u64>,
    /// The time of the last report.
    reported_ns: u64,
    /// Peers that were reported because no port of ours can reach a port of theirs.
    without_port_pair: Vec<u32>,
    health: PortHealth,
    /// The present text in the page.
    status: NetworkStatus,
    next_check_ns: u64,
    report_fn: StatusReportFn,
}

impl UnreachablePeers {
    pub fn new(report_fn: StatusReportFn, port_set: &PortSet) -> UnreachablePeers {
        UnreachablePeers {
            connecting: Vec::new(),
            reported: HashMap::new(),
            reported_ns: 0,
            without_port_pair: Vec::new(),
            health: PortHealth::new(port_set),
            status: NetworkStatus::default(),
            next_check_ns: 0,
            report_fn,
        }
    }

    /// Records that a connection to `peer` was begun.
    pub fn note_connecting(&mut self, peer: u32) {
        self.connecting.push((peer, clock::now_ns()));
    }

    /// Reports, once for each peer, that no port of ours can reach a port of the peer.
    #[cold]
    pub fn report_no_port_pair(&mut self, peer: u32, port_set: &mut PortSet) {
        let mut report = || PeerReachability {
            peer,
            has_no_port_pair: true,
            pairs: describe_mismatches(peer, port_set),
            ..PeerReachability::default()
        };
        if !self.without_port_pair.contains(&peer) && (self.report_fn)(StatusReport::Reachability(report())) {
            self.without_port_pair.push(peer);
        }
    }

    /// Forgets a peer that has ended. Its report is not withdrawn, because the peer has not answered.
    pub fn forget(&mut self, peer: u32) {
        self.connecting.retain(|&(other, _)| other != peer);
        self.reported.remove(&peer);
    }

    /// Checks all peers, if some connection was begun and not answered, or some peer is reported. Call it with every
    /// transmission.
    #[inline]
    pub fn check_if_needed(&mut self, endpoint: &Endpoint, port_set: &mut PortSet) {
        if !self.connecting.is_empty() || !self.reported.is_empty() {
            self.check(clock::now_ns(), endpoint, port_set);
        }
    }

    /// Returns when `check_if_needed` has something to do: an answer must be reported in time even if nothing else
    /// wakes this rank.
    pub fn deadline_ns(&self) -> Option<u64> {
        (!self.reported.is_empty()).then_some(self.next_check_ns)
    }

    /// Checks all peers and ports and writes the page, if CHECK_INTERVAL_NS has passed since the last check.
    /// Otherwise only withdraws reports on peers that answer now, if few are reported (FEW_REPORTED). Call it now and
    /// then.
    #[cold]
    pub fn check(&mut self, now_ns: u64, endpoint: &Endpoint, port_set: &mut PortSet) {
        let is_due = now_ns >= self.next_check_ns;
        if is_due || self.reported.len() <= FEW_REPORTED {
            self.withdraw_answered(endpoint);
        }
        if !is_due {
            return;
        }
        self.next_check_ns = now_ns + CHECK_INTERVAL_NS;
        let silent_peers = self.silent_peers(endpoint);
        let is_silent = silent_peers.iter().any(|&(_, since_ns)| now_ns >= since_ns + CHECK_INTERVAL_NS);
        if self.health.check(now_ns, is_silent, port_set) && is_silent {
            port_set.reset_stalled();
        }
        self.report_silent(now_ns, &silent_peers, endpoint, port_set);
        let shown =
            silent_peers.iter().filter(|&&(_, since_ns)| now_ns >= since_ns + CHECK_INTERVAL_NS).take(PAGE_PEERS_MAX);
        let silent = shown.map(|&(peer, _)| unreachable_peer(peer, now_ns, endpoint, port_set)).collect();
        let (gone, faults) = (self.health.has_lost_all_ports(endpoint), self.health.lines(now_ns, port_set));
        self.publish(NetworkStatus { is_cut_off: gone, port_faults: faults, unreachable: silent });
    }

    /// Returns the peers that do not answer, each with the time since which it has been silent, the earliest first.
    fn silent_peers(&mut self, endpoint: &Endpoint) -> Vec<(u32, u64)> {
        self.connecting.retain(|&(peer, _)| endpoint.unreachable_paths(peer).is_some());
        let mut all: Vec<_> = self.connecting.iter().copied().chain(endpoint.silent_peers()).collect();
        all.sort_by_key(|&(_, since_ns)| since_ns);
        all
    }

    /// Withdraws the reports on peers that answer now.
    fn withdraw_answered(&mut self, endpoint: &Endpoint) {
        let UnreachablePeers { reported, report_fn, .. } = self;
        reported.retain(|&peer, _| {
            endpoint.unreachable_paths(peer).is_some()
                || endpoint.silent_since_ns(peer).is_some()
                || !report_fn(StatusReport::Reachability(PeerReachability::reachable(peer)))
        });
    }

    /// Reports a few peers that have been silent for REPORT_INTERVAL_NS and are not reported yet. If there are none,
    /// and the last report of any peer is REPORT_INTERVAL_NS old, reports the peer with the oldest report again, with
    /// the attempts made since then.
    fn report_silent(&mut self, now_ns: u64, silent_peers: &[(u32, u64)], endpoint: &Endpoint, port_set: &mut PortSet) {
        let overdue = silent_peers
            .iter()
            .filter(|&&(_, since_ns)| now_ns >= since_ns + REPORT_INTERVAL_NS)
            .map(|&(peer, _)| peer);
        let first: Vec<u32> =
            overdue.filter(|peer| !self.reported.contains_key(peer)).take(FIRST_REPORTS_MAX).collect();
        let repeat = || silent_peers.iter().filter_map(|&(peer, _)| Some((*self.reported.get(&peer)?, peer))).min();
        let repeat = if first.is_empty() && now_ns >= self.reported_ns + REPORT_INTERVAL_NS { repeat() } else { None };
        for peer in first.into_iter().chain(repeat.map(|(_, peer)| peer)) {
            let UnreachablePeer { was_open, pairs, .. } = unreachable_peer(peer, now_ns, endpoint, port_set);
            if (self.report_fn)(StatusReport::Reachability(PeerReachability {
                peer,
                was_open,
                pairs,
                ..PeerReachability::default()
            })) {
                self.reported.insert(peer, now_ns);
                self.reported_ns = now_ns;
            }
        }
    }

    /// Writes the page, if its text has changed.
    fn publish(&mut self, status: NetworkStatus) {
        if status != self.status {
            (self.report_fn)(StatusReport::NetworkStatus(&status));
            self.status = status;
        }
    }
}

/// Describes the paths to a peer that does not answer. Paths that were not tried (those in reserve) or that respond
/// are left out.
fn unreachable_peer(peer: u32, now_ns: u64, endpoint: &Endpoint, port_set: &mut PortSet) -> UnreachablePeer {
    let each =
        endpoint.path_statuses(peer).filter_map(|(path_id, status)| path_line(peer, path_id, status, now_ns, port_set));
    let pairs = join_lines(each);
    UnreachablePeer { peer, was_open: endpoint.unreachable_paths(peer).is_none(), pairs }
}

fn join_lines(each: impl Iterator<Item = String>) -> String {
    each.collect::<Vec<_>>().join("\n")
}

/// Returns a line about a path; None if the path was not tried or responds.
fn path_line(peer: u32, path_id: PathId, status: PathStatus, now_ns: u64, port_set: &mut PortSet) -> Option<String> {
    let error = port_set.path_error(peer, path_id).map(io::Error::from_raw_os_error);
    let seconds = |since_ns: u64| now_ns.saturating_sub(since_ns) / 1_000_000_000;
    let outcome = match (status, error) {
        (PathStatus::Other, _) => return None,
        (PathStatus::NoReply(tries), None) => format!("{tries} tries, no answer"),
        (PathStatus::NoReply(tries), Some(error)) => format!("{tries} tries, the last one was refused: {error}"),
        (PathStatus::Silent { since_ns }, None) => format!("no answer for {} s", seconds(since_ns)),
        (PathStatus::Silent { since_ns }, Some(error)) => {
            format!("no answer for {} s, and the last frame was refused: {error}", seconds(since_ns))
        }
    };
    let remote = port_set
        .port_list_of(peer)
        .and_then(|port_list| port_list.ports().get(usize::from(path_id.remote_port)))
        .map(|port| port.address);
    let remote = remote.map_or_else(String::new, |address| address.to_string());
    Some(format!("{} -> {remote}: {outcome}", describe_port(path_id.local_port, port_set)))
}

/// Describes one of our ports.
fn describe_port(ours: u8, port_set: &PortSet) -> String {
    let (interface, port) = port_set.port(ours);
    format!("{interface} {} {}", port.name(), port.address())
}

/// Returns a line for each pair of ports, with the reason why our port cannot reach the peer's.
fn describe_mismatches(peer: u32, port_set: &mut PortSet) -> String {
    let port_list = port_set.port_list_of(peer).cloned().unwrap_or_default();
    let pair = |(ours, theirs): (u8, &PortAddress)| {
        let reason = port_set.port(ours).1.address().incompatibility(theirs).unwrap_or("not tried");
        format!("{} -> {} {theirs}: {reason}", describe_port(ours, port_set), theirs.kind())
    };
    let theirs = || port_list.ports().iter().map(|port| &port.address);
    let pairs = (0..port_set.ports.len() as u8).flat_map(|ours| theirs().map(move |theirs| (ours, theirs)));
    join_lines(pairs.map(pair))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::{FramePort, FrameSendError, PortDrops};
    use crate::port_list::{CardPort, PortList};
    use hawser_link::frame::JobKey;
    use hawser_link::{Config, Message, MessageClass};
    use std::io::IoSlice;
    use std::os::fd::{AsFd, BorrowedFd};
    use std::sync::{Arc, Mutex};

    const FRAME: usize = 1472;
    const ENETUNREACH: i32 = 101;
    const RANKS: u32 = 12;

    /// A port that sends everything and receives nothing; or refuses to send.
    struct OneWay {
        address: PortAddress,
        refuses: Option<i32>,
        sent: Arc<Mutex<Vec<Vec<u8>>>>,
        fd: std::fs::File,
    }

    impl FramePort for OneWay {
        fn name(&self) -> &'static str {
            self.address.kind()
        }
        fn frame_max(&self) -> usize {
            FRAME
        }
        fn receive_buffer_bytes(&self) -> usize {
            FRAME
        }
        fn address(&self) -> PortAddress {
            self.address
        }
        fn send(&mut self, _: &PortAddress, frame: &[u8]) -> Result<(), FrameSendError> {
            self.sent.lock().unwrap().push(frame.to_vec());
            self.refuses.map_or(Ok(()), |number| Err(FrameSendError::Unreachable(number)))
        }
        fn send_run(&mut self, _: &PortAddress, _: &[IoSlice<'_>]) -> Result<usize, FrameSendError> {
            Err(FrameSendError::Full)
        }
        fn receive(&mut self, _: &mut dyn FnMut(&[u8])) -> usize {
            0
        }
        fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
            each(self.fd.as_fd());
        }
        fn drops(&mut self) -> PortDrops {
            PortDrops::default()
        }
        fn take_error(&mut self) {}
    }

    /// A rank with ports at some addresses, whose peers all have the same port list.
    struct TestRank {
        endpoint: Endpoint,
        port_set: PortSet,
        sent: Arc<Mutex<Vec<Vec<u8>>>>,
    }

    fn addresses(texts: &[&str]) -> Vec<PortAddress> {
        texts.iter().map(|text| PortAddress::Udp(text.parse().unwrap())).collect()
    }

    fn rank(me: u32, ours: Vec<PortAddress>, theirs: &[PortAddress], refuses: Option<i32>) -> TestRank {
        let sent = Arc::new(Mutex::new(Vec::new()));
        let port = |address| {
            let fd = std::fs::File::open("/dev/null").unwrap();
            Box::new(OneWay { address, refuses, sent: sent.clone(), fd }) as Box<dyn FramePort>
        };
        let card_port = |&address: &PortAddress| CardPort { rail: 0, address, frame_max: FRAME as u16 };
        let port_list = PortList::new(theirs.iter().map(card_port).collect()).encode();
        let port_rails = (0..ours.len()).map(|nth| (0, format!("eth{nth}"))).collect();
        let port_set =
            PortSet::new(ours.into_iter().map(port).collect(), port_rails, Box::new(move |_| Some(port_list.clone())));
        let (key, frame_max) = (JobKey::new([1; 16]), FRAME);
        let config = Config {
            me,
            ranks: RANKS,
            key,
            frame_max,
            send_slots: 200,
            reassembly_slots: 300,
            ports: vec![hawser_link::PortTraits::default(); 4],
        };
        TestRank { endpoint: Endpoint::new(config, 1), port_set, sent }
    }

    impl TestRank {
        /// Begins to connect, as the device does.
        fn connect(&mut self, unreachable_peers: &mut UnreachablePeers, peer: u32, now_ns: u64) {
            for (path_id, remote_port) in self.port_set.paths_to(peer).unwrap() {
                self.endpoint.open_path(peer, path_id, remote_port);
            }
            unreachable_peers.connecting.push((peer, now_ns));
        }

        fn transmit(&mut self, now_ns: u64) -> Vec<Vec<u8>> {
            self.endpoint.transmit(now_ns, &mut self.port_set);
            std::mem::take(&mut self.sent.lock().unwrap())
        }

        fn receive(&mut self, frames: Vec<Vec<u8>>, now_ns: u64) {
            let mut deliver = |_: u32, _: u8, _: Message<'_>| {};
            for frame in &frames {
                // Frames for another rank are dropped.
                let _ = self.endpoint.handle_frame(0, frame, now_ns, &mut deliver);
            }
        }
    }

    type Reports = Arc<Mutex<Vec<PeerReachability>>>;

    /// Returns the reports that the agent has received, if it takes any.
    fn unreachable_peers(accepts: bool, port_set: &PortSet) -> (UnreachablePeers, Reports) {
        let reports = Reports::default();
        let to = reports.clone();
        let report_fn = move |report: StatusReport<'_>| {
            if let StatusReport::Reachability(unanswered) = report {
                to.lock().unwrap().push(unanswered);
            }
            accepts
        };
        (UnreachablePeers::new(Box::new(report_fn), port_set), reports)
    }

    #[test]
    fn what_nobody_answers_is_told_pair_by_pair_and_the_first_answer_takes_it_back() {
        let (near, far) = (addresses(&["10.0.0.1:1"]), addresses(&["10.0.0.2:2"]));
        let mut a = rank(0, near.clone(), &far, None);
        let (mut unreachable_peers, reports) = unreachable_peers(true, &a.port_set);
        let mut b = rank(1, far, &near, None);
        let take_reports = || std::mem::take(&mut *reports.lock().unwrap());
        a.connect(&mut unreachable_peers, 1, 0);
        a.connect(&mut unreachable_peers, 2, 0);
        (0..3).for_each(|n| drop(a.transmit(n * 1_000_000_000)));
        unreachable_peers.check(REPORT_INTERVAL_NS - 1, &a.endpoint, &mut a.port_set);
        assert_eq!(take_reports(), [], "it is early yet");
        let mut now_ns = REPORT_INTERVAL_NS + CHECK_INTERVAL_NS;
        assert_eq!(unreachable_peers.deadline_ns(), None);
        unreachable_peers.check(now_ns, &a.endpoint, &mut a.port_set);
        unreachable_peers.check(now_ns + CHECK_INTERVAL_NS, &a.endpoint, &mut a.port_set);
        let pairs = "eth0 udp 10.0.0.1:1 -> 10.0.0.2:2: 3 tries, no answer".to_owned();
        let report = |peer| PeerReachability { peer, pairs: pairs.clone(), ..PeerReachability::default() };
        assert_eq!(take_reports(), [report(1), report(2)], "each of them, once");
        now_ns += REPORT_INTERVAL_NS;
        let hellos = a.transmit(now_ns);
        unreachable_peers.check(now_ns, &a.endpoint, &mut a.port_set);
        assert!(take_reports()[0].pairs.contains(": 4 tries, "), "and again with what was tried since");
        b.receive(hellos, now_ns);
        let welcome = b.transmit(now_ns);
        a.receive(welcome, now_ns);
        unreachable_peers.check(now_ns, &a.endpoint, &mut a.port_set);
        assert_eq!(take_reports(), [PeerReachability::reachable(1)], "at once");
        assert!(
            unreachable_peers.deadline_ns().is_some(),
            "the other one may answer while nothing else wakes this rank"
        );
    }

    /// P18: the peer is not given up, and not reported as long as nothing is in flight to it.
    #[test]
    fn a_peer_that_falls_silent_with_something_under_way_is_told_until_it_answers() {
        let (near, far) = (addresses(&["10.0.0.1:1"]), addresses(&["10.0.0.2:2"]));
        let mut a = rank(0, near.clone(), &far, None);
        let mut b = rank(1, far, &near, None);
        let (mut unreachable_peers, reports) = unreachable_peers(true, &a.port_set);
        let take_reports = || std::mem::take(&mut *reports.lock().unwrap());
        a.connect(&mut unreachable_peers, 1, 0);
        b.receive(a.transmit(0), 0);
        a.receive(b.transmit(0), 0);
        unreachable_peers.check(2 * REPORT_INTERVAL_NS, &a.endpoint, &mut a.port_set);
        a.endpoint.send(1, 0, 1, MessageClass::Payload, |_, into| into.fill(7)).unwrap();
        let mut now_ns = 2 * REPORT_INTERVAL_NS;
        let first = a.transmit(now_ns);
        for _ in 0..100 {
            now_ns += REPORT_INTERVAL_NS / 20;
            a.transmit(now_ns);
            unreachable_peers.check(now_ns, &a.endpoint, &mut a.port_set);
        }
        let reports = take_reports();
        let seconds = |report: &PeerReachability| report.pairs.split(' ').nth(8).unwrap().parse::<u32>().unwrap();
        assert!(reports.len() > 2 && reports.iter().all(|said| (said.peer, said.was_open) == (1, true)), "{reports:?}");
        assert!(reports[0].pairs.starts_with("eth0 udp 10.0.0.1:1 -> 10.0.0.2:2: no answer for "), "{reports:?}");
        assert!(seconds(&reports[0]) < seconds(reports.last().unwrap()), "{reports:?}");
        assert_eq!(unreachable_peers.status.unreachable.iter().map(|silent| silent.peer).collect::<Vec<_>>(), [1]);
        b.receive(first, now_ns);
        b.endpoint.expedite_acks();
        a.receive(b.transmit(now_ns), now_ns);
        unreachable_peers.check(now_ns + CHECK_INTERVAL_NS, &a.endpoint, &mut a.port_set);
        assert_eq!(
            (take_reports(), &unreachable_peers.status.unreachable),
            (vec![PeerReachability::reachable(1)], &vec![])
        );
    }

    /// A peer that computes answers nothing: it must not hide that the link to another one is dead. A rank with many
    /// computing peers does not report all at once.
    #[test]
    fn each_silent_peer_is_told_and_stands_in_the_page() {
        let (near, far) = (addresses(&["10.0.0.1:1"]), addresses(&["10.0.0.2:2"]));
        let mut a = rank(0, near.clone(), &far, None);
        let (mut unreachable_peers, reports) = unreachable_peers(true, &a.port_set);
        for peer in 1..RANKS {
            let mut b = rank(peer, far.clone(), &near, None);
            a.connect(&mut unreachable_peers, peer, 0);
            b.receive(a.transmit(0), 0);
            a.receive(b.transmit(0), 0);
            a.endpoint.send(peer, 0, 1, MessageClass::Payload, |_, into| into.fill(7)).unwrap();
        }
        let mut now_ns = 0;
        let mut check_times = |a: &mut TestRank, unreachable_peers: &mut UnreachablePeers, times: u32| {
            for _ in 0..times {
                now_ns += CHECK_INTERVAL_NS;
                a.transmit(now_ns);
                unreachable_peers.check(now_ns, &a.endpoint, &mut a.port_set);
            }
            std::mem::take(&mut *reports.lock().unwrap()).into_iter().map(|report| report.peer).collect::<Vec<_>>()
        };
        let mut first = Vec::new();
        while first.is_empty() {
            first = check_times(&mut a, &mut unreachable_peers, 1);
        }
        assert_eq!(first.len(), FIRST_REPORTS_MAX);
        first.extend(check_times(&mut a, &mut unreachable_peers, RANKS / FIRST_REPORTS_MAX as u32));
        first.sort_unstable();
        assert_eq!(first, (1..RANKS).collect::<Vec<_>>(), "each once");
        assert_eq!(unreachable_peers.status.unreachable.len(), PAGE_PEERS_MAX);
        // Later reports are no more frequent than for a single peer, and each peer has its turn.
        let mut repeated =
            check_times(&mut a, &mut unreachable_peers, RANKS * (REPORT_INTERVAL_NS / CHECK_INTERVAL_NS) as u32);
        assert!(repeated.len() <= RANKS as usize, "{repeated:?}");
        repeated.sort_unstable();
        repeated.dedup();
        assert_eq!(repeated, first);
    }

    #[test]
    fn a_peer_that_is_gone_has_not_answered() {
        let far = addresses(&["10.0.0.2:2"]);
        let mut a = rank(0, addresses(&["10.0.0.1:1"]), &far, None);
        let (mut unreachable_peers, reports) = unreachable_peers(true, &a.port_set);
        a.connect(&mut unreachable_peers, 1, 0);
        a.transmit(0);
        unreachable_peers.check(REPORT_INTERVAL_NS, &a.endpoint, &mut a.port_set);
        a.endpoint.forget(1);
        unreachable_peers.forget(1);
        unreachable_peers.check(2 * REPORT_INTERVAL_NS, &a.endpoint, &mut a.port_set);
        assert_eq!(reports.lock().unwrap().iter().map(|report| report.is_reachable).collect::<Vec<_>>(), [false]);
    }

    #[test]
    fn what_the_system_refuses_is_told_with_its_reason() {
        let far = addresses(&["10.0.0.2:2", "10.0.1.2:2"]);
        let mut a = rank(0, addresses(&["10.0.0.1:1"]), &far, Some(ENETUNREACH));
        let (mut unreachable_peers, reports) = unreachable_peers(true, &a.port_set);
        a.connect(&mut unreachable_peers, 1, 0);
        a.transmit(0);
        unreachable_peers.check(REPORT_INTERVAL_NS, &a.endpoint, &mut a.port_set);
        let pairs = reports.lock().unwrap()[0].pairs.clone();
        let refused = "1 tries, the last one was refused: Network is unreachable (os error 101)";
        let line = |to: &str| format!("eth0 udp 10.0.0.1:1 -> {to}: {refused}");
        assert_eq!(pairs, [line("10.0.0.2:2"), line("10.0.1.2:2")].join("\n"));
    }

    #[test]
    fn what_the_agent_does_not_take_is_said_again() {
        let far = addresses(&["10.0.0.2:2"]);
        let mut a = rank(0, addresses(&["10.0.0.1:1"]), &far, None);
        let (mut unreachable_peers, reports) = unreachable_peers(false, &a.port_set);
        a.connect(&mut unreachable_peers, 1, 0);
        (0..3).for_each(|n| {
            unreachable_peers.check(REPORT_INTERVAL_NS + n * CHECK_INTERVAL_NS, &a.endpoint, &mut a.port_set)
        });
        unreachable_peers.report_no_port_pair(2, &mut a.port_set);
        unreachable_peers.report_no_port_pair(2, &mut a.port_set);
        assert_eq!(reports.lock().unwrap().iter().map(|report| report.peer).collect::<Vec<_>>(), [1, 1, 1, 2, 2]);
    }

    #[test]
    fn ports_that_do_not_go_together_are_told_with_the_reason() {
        let ether = PortAddress::Ether { mac: [2, 0, 0, 0, 0, 1], selector: 3 };
        let ours = [addresses(&["10.0.0.1:1"]), vec![ether]].concat();
        let theirs = [addresses(&["[fd77::2]:2"]), vec![PortAddress::Tcp("10.0.0.2:5".parse().unwrap())]].concat();
        let mut a = rank(0, ours, &theirs, None);
        let (mut unreachable_peers, reports) = unreachable_peers(true, &a.port_set);
        assert_eq!(a.port_set.paths_to(1), Some(vec![]));
        unreachable_peers.report_no_port_pair(1, &mut a.port_set);
        unreachable_peers.report_no_port_pair(1, &mut a.port_set);
        let reports = reports.lock().unwrap();
        assert_eq!((reports.len(), reports[0].has_no_port_pair), (1, true), "once");
        assert_eq!(
            reports[0].pairs,
            "eth0 udp 10.0.0.1:1 -> udp [fd77::2]:2: IPv4 and IPv6 addresses cannot reach each other\n\
             eth0 udp 10.0.0.1:1 -> stream 10.0.0.2:5: ports of different kinds cannot reach each other\n\
             eth1 packet 02:00:00:00:00:01#3 -> udp [fd77::2]:2: ports of different kinds cannot reach each other\n\
             eth1 packet 02:00:00:00:00:01#3 -> stream 10.0.0.2:5: ports of different kinds cannot reach each other"
        );
    }
}
