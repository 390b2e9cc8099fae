//! The port set: the ports of this rank, and the addresses of its peers' ports. It sends and receives `link`'s
//! frames.
//!
//! It must never touch a port whose descriptor the program has closed. Used by `device`; uses `port`.

use crate::port::{FramePort, FrameSendError, POLL_INTERVAL_MAX, PortAddress, PortDrops, PortId, StreamPort};
use crate::port_list::{CardPort, PortList};
use hawser_base::Peer;
use hawser_base::peer_table::PeerTable;
use hawser_link::{FrameSender, MTU_MIN, PathId, RemotePort};
use hawser_os::clock;
use std::collections::HashMap;
use std::io::IoSlice;
use std::os::fd::BorrowedFd;

/// A function that returns the port list in another rank's business card; None until that rank has published its
/// card.
pub type EtherCardLookup = Box<dyn Fn(u32) -> Option<Vec<u8>> + Send>;

/// Consecutive empty polls after which a port is polled less often, if a poll of it is expensive. While there is
/// traffic, frames arrive at shorter intervals than that.
const EMPTY_POLLS_TO_BACKOFF: u32 = 64;

/// Consecutive empty polls after which a port is polled still less often, because the program does not use it at
/// present; and the factor by which its poll interval is then longer.
const EMPTY_POLLS_TO_LONG_BACKOFF: u32 = 2048;
const LONG_BACKOFF_FACTOR: u32 = 8;

// Both counts that `EmptyPolls::poll_next` sets are multiples of every poll interval, so that the port is polled
// next.
const _: () = assert!(
    (4 * EMPTY_POLLS_TO_BACKOFF).is_multiple_of(POLL_INTERVAL_MAX)
        && (2 * EMPTY_POLLS_TO_LONG_BACKOFF).is_multiple_of(POLL_INTERVAL_MAX * LONG_BACKOFF_FACTOR)
);
const _: () = assert!(4 * EMPTY_POLLS_TO_BACKOFF <= EMPTY_POLLS_TO_LONG_BACKOFF);

/// The number of calls of `PortSet::receive` for a port since one of them last received something.
#[derive(Clone, Copy, Debug)]
struct EmptyPolls(u32);

impl EmptyPolls {
    /// Returns whether the port is polled now; `poll_interval` as in `FramePort`.
    fn is_due(self, poll_interval: u32) -> bool {
        let poll_interval = poll_interval * if self.0 > EMPTY_POLLS_TO_LONG_BACKOFF { LONG_BACKOFF_FACTOR } else { 1 };
        self.0 <= EMPTY_POLLS_TO_BACKOFF || self.0.is_multiple_of(poll_interval)
    }

    fn record(&mut self, anything: bool) {
        self.0 = if anything { 0 } else { self.0.wrapping_add(1) };
    }

    /// Makes the port be polled next, and afterwards as rarely as before. If the count began at 0 again, ranks that
    /// sleep often would pay EMPTY_POLLS_TO_BACKOFF system calls for each sleep.
    fn poll_next(&mut self) {
        self.0 = match self.0 {
            it if it > EMPTY_POLLS_TO_LONG_BACKOFF => 2 * EMPTY_POLLS_TO_LONG_BACKOFF,
            it if it > EMPTY_POLLS_TO_BACKOFF => 4 * EMPTY_POLLS_TO_BACKOFF,
            _ => 0,
        };
    }
}

/// The number of rails whose bytes are counted separately. The bytes of further rails are counted with those of the
/// last of these.
pub const COUNTED_RAILS: usize = 8;

/// The ports of a rank, as the module describes them.
pub struct PortSet {
    pub ports: Vec<Box<dyn FramePort>>,
    empty_polls: Vec<EmptyPolls>,
    /// Ports that were polled since `has_polled_all` last returned true, a bit each.
    polled: u32,
    /// Rail and interface name of each port.
    port_rails: Vec<(u8, String)>,
    /// For each port, the index of its rail in the two byte counters below.
    rail_slots: Vec<usize>,
    pub bytes_sent: [u64; COUNTED_RAILS],
    pub bytes_received: [u64; COUNTED_RAILS],
    /// The part of the sent bytes that went by further flows (P39 of docs/protocol.md).
    pub bytes_by_flows: u64,
    card_lookup: EtherCardLookup,
    /// The port lists that were needed, each with the process number of its owner: processes with the same index
    /// (incarnations) have the same entry, one after the other.
    port_lists: PeerTable<Option<(u32, PortList)>>,
    /// For each port, the error numbers of the paths on which the system refused the last send, by peer and path.
    /// Each port has its own map, so that sends by a port without errors do not pay for those of others.
    path_errors: Vec<HashMap<(u32, PathId), i32>>,
    /// For each port, the error number and the time of its last frame, if that was refused for a reason on this host
    /// (LOCAL_ERRORS).
    port_errors: Vec<Option<(i32, u64)>>,
    /// Ports whose descriptors the program has closed, a bit each: their numbers may name other files now.
    closed: u32,
    /// The dropped frames and refused connections of each port, as last read.
    drops: Vec<PortDrops>,
}

/// Time for which a refusal is reported. A port that has something to send is tried more often (docs/protocol.md, P8:
/// HELLO at least once a second, P24: probes to a silent peer); later it is unknown whether sends are still refused.
const ERROR_VALID_NS: u64 = 5_000_000_000;
/// The error number of a port whose descriptor is closed.
const EBADF: i32 = 9;
/// Errors that mean that the host cannot send by a port, and not that a peer is missing: ENXIO, EBADF, ENODEV,
/// EINVAL, ENOTSOCK, EADDRNOTAVAIL, ENETDOWN, ENETUNREACH (linux/errno-base.h, errno.h).
const LOCAL_ERRORS: [i32; 8] = [6, EBADF, 19, 22, 88, 99, 100, 101];

impl PortSet {
    /// Makes the port set. `port_rails`: rail and interface name of each port.
    pub fn new(ports: Vec<Box<dyn FramePort>>, port_rails: Vec<(u8, String)>, card_lookup: EtherCardLookup) -> PortSet {
        let (empty_polls, path_errors) = (vec![EmptyPolls(0); ports.len()], vec![HashMap::new(); ports.len()]);
        PortSet {
            rail_slots: rail_slots(&port_rails),
            ports,
            port_rails,
            bytes_sent: [0; COUNTED_RAILS],
            bytes_received: [0; COUNTED_RAILS],
            bytes_by_flows: 0,
            empty_polls,
            polled: 0,
            card_lookup,
            port_lists: PeerTable::new(None),
            port_errors: vec![None; path_errors.len()],
            closed: 0,
            drops: vec![PortDrops::default(); path_errors.len()],
            path_errors,
        }
    }

    pub fn count_sent(&mut self, at: usize, bytes: u64) {
        self.bytes_sent[self.rail_slots[at]] += bytes;
    }

    pub fn count_received(&mut self, at: usize, bytes: u64) {
        self.bytes_received[self.rail_slots[at]] += bytes;
    }

    /// Polls a port. After EMPTY_POLLS_TO_BACKOFF empty polls most calls do nothing if a poll of the port is
    /// expensive, and after EMPTY_POLLS_TO_LONG_BACKOFF in any case. Returns whether anything was received.
    pub fn receive(&mut self, at: usize, take: &mut dyn FnMut(&[u8])) -> bool {
        if self.is_closed(at) {
            self.polled |= 1 << at;
            return false;
        }
        let is_due = self.empty_polls[at].is_due(self.ports[at].poll_interval());
        let received = if is_due { self.ports[at].receive(take) } else { 0 };
        self.polled |= u32::from(is_due) << at;
        self.empty_polls[at].record(received > 0);
        received > 0
    }

    /// Returns whether every port was polled since this last returned true.
    #[inline]
    pub fn has_polled_all(&mut self) -> bool {
        let all = self.polled.count_ones() as usize == self.ports.len();
        if all {
            self.polled = 0;
        }
        all
    }

    /// Makes every port be polled next, because one of them may have ended the rank's sleep. Ports that were polled
    /// less often are polled once.
    pub fn poll_all_next(&mut self) {
        self.empty_polls.iter_mut().for_each(EmptyPolls::poll_next);
    }

    /// Returns the port list of this rank, for its peers.
    pub fn own_port_list(&self) -> PortList {
        let ports = self.ports.iter().zip(&self.port_rails).map(|(port, &(rail, _))| CardPort {
            rail,
            address: port.address(),
            frame_max: port.frame_max() as u16,
        });
        PortList::new(ports.collect())
    }

    /// Returns a peer's port list, if it is known by now.
    pub fn port_list_of(&mut self, peer: u32) -> Option<&PortList> {
        if self.port_lists[Peer(peer)].as_ref().is_none_or(|&(owner, _)| owner != peer) {
            self.port_lists[Peer(peer)] = Some((peer, PortList::decode(&(self.card_lookup)(peer)?)?));
        }
        self.port_lists[Peer(peer)].as_ref().map(|(_, port_list)| port_list)
    }

    /// Forgets a peer that has ended: nothing is sent to it any more.
    pub fn forget(&mut self, peer: u32) {
        self.port_lists.reset(Peer(peer));
        self.path_errors.iter_mut().for_each(|errors| errors.retain(|&(other, _), _| other != peer));
    }

    /// Returns the address at the peer's end of a path.
    pub fn remote_address(&mut self, peer: u32, path_id: PathId) -> Option<PortAddress> {
        Some(self.port_list_of(peer)?.ports().get(usize::from(path_id.remote_port))?.address)
    }

    /// Returns a port of this rank, and the name of its interface.
    pub fn port(&self, at: u8) -> (&str, &dyn FramePort) {
        (&self.port_rails[usize::from(at)].1, &*self.ports[usize::from(at)])
    }

    /// Returns the rail of a port.
    pub fn rail_of(&self, at: u8) -> u8 {
        self.port_rails[usize::from(at)].0
    }

    /// Returns the error number of a path that the system refused when it was last used.
    pub fn path_error(&self, peer: u32, path_id: PathId) -> Option<i32> {
        self.path_errors[usize::from(path_id.local_port)].get(&(peer, path_id)).copied()
    }

    /// Records the result of a send on a path. Returns the number of frames that the port has accepted.
    fn note_result(&mut self, peer: u32, path_id: PathId, sent: Result<usize, FrameSendError>) -> usize {
        let at = usize::from(path_id.local_port);
        match sent {
            Err(FrameSendError::Unreachable(number)) => self.note_error(peer, path_id, number),
            Ok(_) if !self.path_errors[at].is_empty() => {
                self.path_errors[at].remove(&(peer, path_id));
                self.port_errors[at] = None;
            }
            _ => {}
        }
        sent.unwrap_or(0)
    }

    #[cold]
    fn note_error(&mut self, peer: u32, path_id: PathId, number: i32) {
        let at = usize::from(path_id.local_port);
        self.path_errors[at].insert((peer, path_id), number);
        self.port_errors[at] = LOCAL_ERRORS.contains(&number).then(|| (number, clock::now_ns()));
    }

    /// Returns the error number of a port's last frame, if the reason was the host's own and the error is recent.
    pub fn port_error(&self, at: usize, now_ns: u64) -> Option<i32> {
        self.port_errors[at].filter(|&(_, at_ns)| now_ns < at_ns + ERROR_VALID_NS).map(|(number, _)| number)
    }

    /// Stops using a port whose descriptor the program has closed.
    pub fn close(&mut self, at: usize) {
        self.closed |= 1 << at;
    }

    #[inline]
    pub fn is_closed(&self, at: usize) -> bool {
        self.closed & 1 << at != 0
    }

    /// Returns the ports whose descriptors are ours, each with its index.
    pub fn usable_ports(&mut self) -> impl Iterator<Item = (usize, &mut Box<dyn FramePort>)> {
        let closed = self.closed;
        self.ports.iter_mut().enumerate().filter(move |(at, _)| closed & 1 << at == 0)
    }

    /// Returns the port if it is a TCP port and its descriptors are still ours.
    pub fn stream_port(&mut self, at: usize) -> Option<&mut StreamPort> {
        if self.is_closed(at) { None } else { self.ports[at].as_stream() }
    }

    /// Calls `each` with each descriptor to sleep on.
    pub fn descriptors(&mut self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
        self.usable_ports().for_each(|(_, port)| port.descriptors(each));
    }

    /// Returns when a port has something to do, if nothing arrives earlier.
    pub fn deadline_ns(&mut self) -> Option<u64> {
        self.usable_ports().filter_map(|(_, port)| port.deadline_ns()).min()
    }

    /// Returns the numbers of frames and connections that came to all ports and were never handed over. That takes a
    /// system call for each port.
    pub fn drops(&mut self) -> PortDrops {
        let open: Vec<(usize, PortDrops)> = self.usable_ports().map(|(at, port)| (at, port.drops())).collect();
        open.into_iter().for_each(|(at, drops)| self.drops[at] = drops);
        self.drops.iter().fold(PortDrops::default(), |sum, &each| sum.and(each))
    }

    /// Takes the pending errors from all ports. Call it before a sleep.
    pub fn take_errors(&mut self) {
        self.usable_ports().for_each(|(_, port)| port.take_error());
    }

    /// Ends stalled connections (`FramePort::reset_stalled`). Call it now and then while a peer does not answer.
    pub fn reset_stalled(&mut self) {
        self.usable_ports().for_each(|(_, port)| port.reset_stalled());
    }

    /// Returns the pairs of ports between which paths to a peer are worth trying. None: its business card is not
    /// known yet.
    pub fn paths_to(&mut self, peer: u32) -> Option<Vec<(PathId, RemotePort)>> {
        let own = self.own_port_list();
        let remote = self.port_list_of(peer)?;
        Some(path_candidates(&own, remote))
    }
}

/// Returns for each port the index of its rail among the rails that have ports, at most COUNTED_RAILS - 1.
fn rail_slots(port_rails: &[(u8, String)]) -> Vec<usize> {
    let mut rails: Vec<u8> = port_rails.iter().map(|&(rail, _)| rail).collect();
    rails.sort_unstable();
    rails.dedup();
    let slot = |rail| rails.iter().position(|&other| other == rail).unwrap_or(0).min(COUNTED_RAILS - 1);
    port_rails.iter().map(|&(rail, _)| slot(rail)).collect()
}

/// Returns the paths between two ranks that are worth trying (P34).
fn path_candidates(own: &PortList, remote: &PortList) -> Vec<(PathId, RemotePort)> {
    let mut candidates = Vec::new();
    for (ours, mine) in own.ports().iter().enumerate() {
        for (theirs, other) in remote.ports().iter().enumerate() {
            let is_spare = is_v6(mine) && has_v4(own, mine.rail) && has_v4(remote, other.rail);
            let frame = usize::from(mine.frame_max.min(other.frame_max));
            if mine.address.incompatibility(&other.address).is_none() && !is_spare && frame >= MTU_MIN {
                let path_id = PathId { local_port: ours as u8, remote_port: theirs as u8, flow: 0 };
                candidates.push((path_id, RemotePort { nic: other.rail, frame_max: frame }));
            }
        }
    }
    candidates
}

/// Returns the pairs of ports of two ranks that are tried, by their indices in the port lists, and the longest
/// frame that both take.
pub fn port_pairs(own: &PortList, remote: &PortList) -> Vec<(usize, usize, usize)> {
    let candidates = path_candidates(own, remote).into_iter();
    candidates
        .map(|(path_id, remote_port)| {
            (usize::from(path_id.local_port), usize::from(path_id.remote_port), remote_port.frame_max)
        })
        .collect()
}

fn is_v6(port: &CardPort) -> bool {
    port.address.ip().is_some_and(|ip| ip.is_ipv6())
}

/// Returns whether a rail has an IPv4 address. Between two rails that both have one, IPv6 would be a second path over
/// the same wire.
fn has_v4(port_list: &PortList, rail: u8) -> bool {
    port_list.ports().iter().any(|port| port.rail == rail && port.address.ip().is_some_and(|ip| ip.is_ipv4()))
}

impl FrameSender for PortSet {
    fn send(&mut self, peer: u32, path_id: PathId, frames: &[IoSlice<'_>]) -> usize {
        let Some(to) = self.remote_address(peer, path_id) else { return 0 };
        let is_closed = self.is_closed(usize::from(path_id.local_port));
        let port = &mut self.ports[usize::from(path_id.local_port)];
        if let PortAddress::Tcp(_) = to {
            port.set_peer(PortId { rank: peer, index: path_id.remote_port });
        }
        let sent = match (path_id.flow, frames) {
            _ if is_closed => Err(FrameSendError::Unreachable(EBADF)),
            (0, [frame]) => port.send(&to, frame).map(|()| 1),
            (0, frames) => port.send_run(&to, frames),
            (flow, frames) => port.send_by_flow(flow, &to, frames),
        };
        let taken = self.note_result(peer, path_id, sent);
        let bytes: usize = frames[..taken].iter().map(|frame| frame.len()).sum();
        self.count_sent(usize::from(path_id.local_port), bytes as u64);
        if path_id.flow > 0 {
            self.bytes_by_flows += bytes as u64;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;

    /// A port that must not be touched while it is not ours, and counts dropped frames.
    struct Untouchable {
        is_ours: Arc<AtomicBool>,
        fd: std::fs::File,
    }

    impl Untouchable {
        fn touch(&self) {
            assert!(self.is_ours.load(Relaxed), "the number of its descriptor may be another file's");
        }
    }

    impl FramePort for Untouchable {
        fn name(&self) -> &'static str {
            "udp"
        }
        fn frame_max(&self) -> usize {
            1472
        }
        fn receive_buffer_bytes(&self) -> usize {
            1472
        }
        fn address(&self) -> PortAddress {
            PortAddress::Udp("10.0.0.1:1".parse().unwrap())
        }
        fn send(&mut self, _: &PortAddress, _: &[u8]) -> Result<(), FrameSendError> {
            self.touch();
            Ok(())
        }
        fn send_run(&mut self, _: &PortAddress, frames: &[IoSlice<'_>]) -> Result<usize, FrameSendError> {
            self.touch();
            Ok(frames.len())
        }
        fn receive(&mut self, _: &mut dyn FnMut(&[u8])) -> usize {
            self.touch();
            1
        }
        fn as_stream(&mut self) -> Option<&mut StreamPort> {
            self.touch();
            None
        }
        fn descriptors(&self, each: &mut dyn FnMut(BorrowedFd<'_>)) {
            self.touch();
            each(self.fd.as_fd());
        }
        fn deadline_ns(&self) -> Option<u64> {
            Some(0)
        }
        fn reset_stalled(&mut self) {
            self.touch();
        }
        fn drops(&mut self) -> PortDrops {
            self.touch();
            PortDrops { frames: 7, ..PortDrops::default() }
        }
        fn take_error(&mut self) {
            self.touch();
        }
    }

    #[test]
    fn what_was_refused_long_ago_is_not_told_of() {
        let mut port_set = PortSet::new(Vec::new(), Vec::new(), Box::new(|_| None));
        (port_set.path_errors, port_set.port_errors) = (vec![HashMap::new(); 2], vec![None; 2]);
        let begin_ns = clock::now_ns();
        port_set.note_error(1, PathId { local_port: 0, remote_port: 0, flow: 0 }, EBADF);
        let end_ns = clock::now_ns();
        assert_eq!((port_set.port_error(0, begin_ns), port_set.port_error(1, begin_ns)), (Some(EBADF), None));
        assert_eq!(
            (port_set.port_error(0, begin_ns + ERROR_VALID_NS - 1), port_set.port_error(0, end_ns + ERROR_VALID_NS)),
            (Some(EBADF), None)
        );
    }

    /// A rank whose only port is closed does not spin for work that this port would have.
    #[test]
    fn a_port_that_the_program_has_closed_is_not_touched_and_wakes_nobody() {
        let is_ours = Arc::new(AtomicBool::new(true));
        let port = Untouchable { is_ours: is_ours.clone(), fd: std::fs::File::open("/dev/null").unwrap() };
        let port_list = test_port_list(&[&["10.0.0.2:2"]]).encode();
        let mut port_set =
            PortSet::new(vec![Box::new(port)], vec![(0, "eth0".into())], Box::new(move |_| Some(port_list.clone())));
        let path_id = PathId { local_port: 0, remote_port: 0, flow: 0 };
        let use_all = |port_set: &mut PortSet| {
            port_set.take_errors();
            port_set.reset_stalled();
            let mut count = 0;
            port_set.descriptors(&mut |_| count += 1);
            let sent = port_set.send(1, path_id, &[IoSlice::new(&[0; 99])]);
            (
                port_set.receive(0, &mut |_| {}),
                port_set.stream_port(0).is_some(),
                sent,
                count,
                port_set.deadline_ns(),
                port_set.drops().frames,
            )
        };
        assert_eq!(use_all(&mut port_set), (true, false, 1, 1, Some(0), 7));
        port_set.close(0);
        is_ours.store(false, Relaxed);
        assert_eq!(use_all(&mut port_set), (false, false, 0, 0, None, 7));
    }

    /// Makes a port list of rails, each with its addresses.
    fn test_port_list(rails: &[&[&str]]) -> PortList {
        let card_port = |rail: usize, text: &str| CardPort {
            rail: rail as u8,
            address: PortAddress::Udp(text.parse().unwrap()),
            frame_max: 1452,
        };
        let of =
            |(rail, texts): (usize, &&[&str])| texts.iter().map(move |text| card_port(rail, text)).collect::<Vec<_>>();
        PortList::new(rails.iter().enumerate().flat_map(of).collect())
    }

    #[test]
    fn a_quiet_port_is_asked_once_after_each_sleep_and_a_busy_one_often() {
        for (quiet, poll_interval, polls) in
            [(0, 256, 64), (60, 256, 64), (65, 256, 1), (65, 8, 8), (2049, 1, 8), (2049, 256, 1)]
        {
            let mut empty_polls = EmptyPolls(quiet);
            empty_polls.poll_next();
            assert!(empty_polls.is_due(poll_interval), "{quiet} {poll_interval}");
            let count = (0..64).filter(|_| {
                let is_due = empty_polls.is_due(poll_interval);
                empty_polls.record(false);
                is_due
            });
            assert_eq!(count.count(), polls, "{quiet} {poll_interval}");
            empty_polls.record(true);
            assert!(empty_polls.is_due(poll_interval));
        }
    }

    #[test]
    fn bytes_are_counted_by_rails_that_have_ports() {
        let port_rails = |rails: &[u8]| rails.iter().map(|&rail| (rail, String::new())).collect::<Vec<_>>();
        assert_eq!(rail_slots(&port_rails(&[3, 3, 30, 4])), [0, 0, 2, 1]);
        assert_eq!(rail_slots(&port_rails(&(0..=9).collect::<Vec<_>>()))[6..], [6, 7, 7, 7]);
    }

    /// P34
    #[test]
    fn ipv6_is_the_way_between_rails_of_which_one_has_no_ipv4() {
        let both: &[&str] = &["10.0.0.1:1", "[fd77::1]:1"];
        let (v4, v6) = (&both[..1], &both[1..]);
        let pairs = |a: &[&[&str]], b: &[&[&str]]| -> Vec<(u8, u8)> {
            path_candidates(&test_port_list(a), &test_port_list(b))
                .into_iter()
                .map(|(path_id, _)| (path_id.local_port, path_id.remote_port))
                .collect::<Vec<_>>()
        };
        assert_eq!(pairs(&[both], &[both]), [(0, 0)]);
        assert_eq!((pairs(&[both], &[v6]), pairs(&[v6], &[both])), (vec![(1, 0)], vec![(0, 1)]));
        assert_eq!((pairs(&[v6], &[v6]), pairs(&[v4], &[v6])), (vec![(0, 0)], vec![]));
        assert_eq!(pairs(&[v4, v6], &[v4, v6]), [(0, 0), (1, 1)], "a decoy with IPv4 hides nothing");
    }

    /// P33, P34: a port list whose longest frame is shorter than any frame has no paths.
    #[test]
    fn only_ports_of_one_kind_meet_with_frames_that_may_be_sent() {
        let ip = "10.0.0.1:1".parse().unwrap();
        let ether = PortAddress::Ether { mac: [2; 6], selector: 0 };
        let kinds = [ether, PortAddress::Udp(ip), PortAddress::Tcp(ip), PortAddress::PacketUdp(ip)];
        let port_list = |kinds: &[PortAddress]| {
            PortList::new(kinds.iter().map(|&address| CardPort { rail: 0, address, frame_max: 1452 }).collect())
        };
        let pairs = |own: &[PortAddress]| {
            path_candidates(&port_list(own), &port_list(&kinds))
                .into_iter()
                .map(|(path_id, _)| (path_id.local_port, path_id.remote_port))
                .collect::<Vec<_>>()
        };
        let matched = kinds.map(|kind| pairs(&[kind]));
        assert_eq!(matched, [vec![(0, 0)], vec![(0, 1)], vec![(0, 2)], vec![(0, 3)]]);
        assert_eq!(path_candidates(&port_list(&kinds[..1]), &port_list(&kinds[1..])), []);
        let short = |frame_max| PortList::new(vec![CardPort { rail: 0, address: kinds[1], frame_max }]);
        assert_eq!(
            [0, 547, 548].map(|frame_max| path_candidates(&port_list(&kinds), &short(frame_max)).len()),
            [0, 0, 1]
        );
    }
}
