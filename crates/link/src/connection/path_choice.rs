//! Chooses a peer's paths for each transfer: short messages go by the path of the lowest latency, bulk by the best
//! path between each pair of NICs, distributed among these pairs. It also decides when on-demand paths are opened,
//! and which further flows are needed.
//!
//! It sends nothing. Used by `connection`; uses `bulk_path` and `path_scheduler`, which choose.

use super::Connection;
use crate::bulk_path::{BulkPath, BulkPathSelector};
use crate::established::EstablishedPath;
use crate::frame_pool::FramePool;
use crate::marks::{Mark, mark};
use crate::path::{Path, PathId, RemotePort};
use crate::path_scheduler::{self, RUN_NS_MAX};
use crate::planted::{Bug, planted};
use crate::port_traits::{LatencyClass, PortTraits};
use crate::shared_stats::SharedStats;

/// The most frames that are handed to a wire at once: what UDP's segmentation offload takes (64) and more.
pub(super) const RUN_FRAMES_MAX: usize = 64;

/// The number of waiting frames of the shortest length from which on they are bulk. Raw frames cost 1.7 us each, a run
/// of UDP segments about 5 us and little for each (docs/measurements/2026-11-22-frame-ports.md).
const BULK_FRAMES: usize = 6;

/// Bytes from which on long frames pay, even if single ones take long. By TCP instead of UDP or raw frames,
/// alternately, best decile: 4 KiB 10.5 us, not 7.5; 6 KB 8.6, not 11.5; 8 KiB 8.0, not 9.3; 16 KiB 12.7, not 16.2;
/// 64 KiB 28.4, not 32.4; 1 MiB 276, not 345.
const LONG_BYTES: usize = 9 << 9;
/// They must also exceed this many frames of the path for single ones: at MTU 9000 one of them takes 8 KiB in 4.6 us,
/// two 16 KiB in 9.1.
const LONG_FRAMES: usize = 2;
/// Bytes that exceed two frames of any Ethernet.
const LONG_ANYWAY_BYTES: usize = 64 << 10;

/// Bulk that a peer was sent before its on-demand paths are opened, in bytes: a TCP connection is expensive for
/// less.
const ON_DEMAND_BYTES: u64 = 1 << 20;

/// The class of a transfer, by its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TransferSize {
    Few,
    Bulk,
    Long,
}

impl TransferSize {
    /// The class of a transfer of `bytes` bytes in `frames` frames, where single frames have at most `few` bytes.
    fn of(bytes: usize, frames: usize, few: impl Fn() -> usize) -> TransferSize {
        if bytes > LONG_ANYWAY_BYTES || bytes > LONG_BYTES && bytes > LONG_FRAMES * few() {
            TransferSize::Long
        } else if frames >= BULK_FRAMES || bytes > (BULK_FRAMES - 1) * few() {
            TransferSize::Bulk
        } else {
            TransferSize::Few
        }
    }
}

impl Connection {
    /// The first latency class from `least` on in which a path responds; if there is none, the first of all
    /// classes.
    fn latency_class(&self, least: LatencyClass) -> Option<LatencyClass> {
        let answering = || self.paths.iter().filter(|path| path.is_responding());
        let of =
            |least: LatencyClass| answering().map(|path| path.port.latency_class).filter(|&class| class >= least).min();
        of(least).or_else(|| of(LatencyClass::Lowest))
    }

    /// Returns a predicate: whether the path of an index carries a transfer of this size. None does before one
    /// responds.
    fn carries(&self, size: TransferSize) -> impl Fn(usize) -> bool + '_ {
        let least = if size == TransferSize::Few { LatencyClass::Lowest } else { LatencyClass::Bulk };
        let class = self.latency_class(least);
        let is_chosen =
            size == TransferSize::Long && self.selectors.iter().any(|selector| selector.current().is_some());
        move |at| match is_chosen {
            true => self.selector_of(at).is_some(),
            false => {
                let path = &self.paths[at];
                Some(path.port.latency_class) == class && path.established().is_some() && !path.is_additional_flow()
            }
        }
    }

    /// The index of the selector whose bulk goes by path `at`.
    pub(super) fn selector_of(&self, at: usize) -> Option<usize> {
        self.selectors
            .iter()
            .position(|selector| selector.current().is_some_and(|current| self.is_part_of(at, current)))
    }

    /// Whether path `at` is path `other`, or one of all flows for which `other` stands (P39).
    fn is_part_of(&self, at: usize, other: usize) -> bool {
        let other_path = &self.paths[other];
        if other_path.is_multi_flow() { self.paths[at].shares_ports_with(other_path) } else { at == other }
    }

    /// All flows between the two ports of path `at`.
    pub(super) fn flows_beside(&self, at: usize) -> impl Iterator<Item = &Path> {
        self.paths.iter().filter(move |other| other.shares_ports_with(&self.paths[at]))
    }

    /// Updates the state of further flows: they are suspended where the network bears little beside the first one
    /// (P39), and flows that count as one path respond if any of them does.
    pub(super) fn update_flows(&mut self) {
        if !self.has_flows {
            return;
        }
        for at in 0..self.paths.len() {
            if !self.paths[at].is_additional_flow() {
                continue;
            }
            let first = self.flows_beside(at).find(|other| !other.is_additional_flow()).and_then(Path::established);
            let is_crowded = first.is_some_and(EstablishedPath::is_congested);
            if is_crowded {
                mark(Mark::FlowsSuspended);
            }
            let flows_answer = self.flows_beside(at).any(Path::is_responding);
            (self.paths[at].is_suspended, self.paths[at].has_responding_flow) = (is_crowded, flows_answer);
        }
    }

    /// The index of the path that measures all flows of path `at`'s ports, if there are several.
    pub(super) fn multi_flow_of(&self, at: usize) -> Option<usize> {
        let of =
            || self.paths.iter().position(|other| other.is_multi_flow() && other.shares_ports_with(&self.paths[at]));
        if self.has_flows { of().filter(|&multi_flow| multi_flow != at) } else { None }
    }

    /// Whether a frame of `len` bytes that goes by path `at` was cut for another one.
    pub(super) fn was_cut_for_other(&self, at: usize, len: usize) -> bool {
        len < self.paths[at].mtu() && self.paths.iter().any(|other| other.established().is_some() && other.mtu() == len)
    }

    /// The longest frame, in bytes, that all paths take that carry a transfer of this size; before one is
    /// established, the longest that all paths take. Other paths do not count, as hosts have NICs that do not reach
    /// the peer.
    fn frame_for_size(&self, size: TransferSize) -> usize {
        let carries = self.carries(size);
        // Between several pairs of NICs each responding path counts: waiting frames may go by any of them during a
        // trial, and a frame that is cut then must be reassembled by the receiver.
        let trunk = size == TransferSize::Long
            && self.selectors.iter().filter(|selector| selector.current().is_some()).nth(1).is_some();
        let carries = |at: usize| if trunk { self.paths[at].is_responding() } else { carries(at) };
        let of = self.paths.iter().enumerate().filter(|&(at, _)| carries(at)).map(|(_, path)| path.mtu());
        let shortest = of.min().or_else(|| self.paths.iter().map(Path::mtu).min());
        shortest.expect("a connection has paths")
    }

    /// The longest frame, in bytes, for a message of `total` bytes.
    pub fn frame_for_message(&self, total: usize) -> usize {
        let few = self.frame_for_size(TransferSize::Few);
        match TransferSize::of(total, 1, || few) {
            TransferSize::Few => few,
            size => self.frame_for_size(size),
        }
    }

    /// See `Endpoint::direct_path`.
    pub fn direct_path(&mut self, stats: &mut SharedStats) -> Option<PathId> {
        self.update_flows();
        self.selectors.iter_mut().for_each(|selector| selector.update(&mut self.paths, stats));
        let mut candidates = self.selectors.iter().filter_map(|selector| Some((selector, selector.current()?)));
        let (selector, current) = candidates.next()?;
        let path = &self.paths[current];
        // Bytes that are sent past link have no CRC (P36).
        let port = path.port;
        let is_best = !selector.has_trial() && port.is_lossless && !port.has_full_crc && path.is_responding();
        (is_best && candidates.next().is_none()).then_some(path.id)
    }

    pub fn record_direct(&mut self, stats: &mut SharedStats, bytes: usize) {
        let selector = self.selectors.iter_mut().find(|selector| selector.current().is_some());
        selector.into_iter().for_each(|selector| selector.on_sent(bytes, &mut self.paths, stats));
    }

    pub(super) fn waiting_size(&self, send_pool: &FramePool) -> TransferSize {
        let mut bytes = 0;
        for slot in send_pool.iter(&self.waiting).take(RUN_FRAMES_MAX) {
            bytes += send_pool.frame(slot).len();
            if bytes > LONG_ANYWAY_BYTES {
                break;
            }
        }
        TransferSize::of(bytes, self.waiting.len(), || self.frame_for_size(TransferSize::Few))
    }

    /// Returns the path for a frame of `len` bytes, and how many such it may take at once; the frame must arrive
    /// before `count` of them would by the fastest path. Bulk waits for its own paths: by others each frame would
    /// cost a system call.
    pub(super) fn pick_path(&self, len: usize, size: TransferSize, count: usize) -> Option<(usize, usize)> {
        let carries = self.carries(size);
        let long = || self.usable_paths().filter(|(_, path, _)| path.mtu() >= len);
        let can_send = |path: &Path, established: &EstablishedPath| !path.is_full && established.sendable_frames() > 0;
        let waits = size != TransferSize::Few && long().any(|(at, ..)| carries(at));
        let is_own = waits || long().any(|(at, path, established)| carries(at) && can_send(path, established));
        let mut fit =
            long().filter(|&(at, path, established)| carries(at) == is_own && (waits || can_send(path, established)));
        let (first, second) = (fit.next()?, fit.next());
        let Some(second) = second else {
            let (only, path, established) = first;
            return can_send(path, established).then_some((only, RUN_FRAMES_MAX));
        };
        let bytes = (count * len) as u64;
        let candidates = [first, second].into_iter().chain(fit).map(|(at, path, established)| {
            let begin_ns = self.queue_ns(path) + if waits { 0 } else { established.latency_ns() };
            path_scheduler::PathCandidate {
                index: at,
                // Among the paths that were measured best none has precedence.
                latency_class: if waits { LatencyClass::Lowest } else { path.port.latency_class },
                can_send: can_send(path, established),
                has_in_flight: established.frames_in_flight() > 0,
                frame_arrival_ns: begin_ns + established.transfer_ns(len as u64),
                all_arrival_ns: begin_ns + established.transfer_ns(bytes),
            }
        });
        let at = path_scheduler::choose(candidates)?;
        let established = self.paths[at].established().expect("it is open");
        Some((at, ((RUN_NS_MAX / established.transfer_ns(len as u64).max(1)) as usize).clamp(1, RUN_FRAMES_MAX)))
    }

    /// Records that bytes of bulk went by path `at`, and not by the others that carry it.
    pub(super) fn record_bypassed(&mut self, at: usize, bytes: usize) {
        if !self.has_flows && self.selectors.len() == 1 {
            return;
        }
        for other in (0..self.paths.len()).filter(|&other| other != at) {
            if self.selector_of(other).is_some() {
                self.paths[other]
                    .established_mut()
                    .into_iter()
                    .for_each(|established| established.record_bypassed(bytes));
            }
        }
    }

    /// The time for which frames in flight delay a frame on a path: those on all paths of its NIC, but not on other
    /// flows beside it, which do not wait for each other where each has a share, and have smaller rates where they do.
    fn queue_ns(&self, of: &Path) -> u64 {
        let is_in_front = |other: &&Path| {
            other.port.nic == of.port.nic && (!other.shares_ports_with(of) || other.id.flow == of.id.flow)
        };
        self.paths.iter().filter(is_in_front).filter_map(Path::established).map(EstablishedPath::queue_ns).sum()
    }

    /// Whether a path carries no more than a network may give one flow, and further flows might carry more.
    #[inline]
    pub fn needs_flows(&self) -> bool {
        self.selectors.iter().any(BulkPathSelector::needs_flows)
    }

    /// Returns the missing further flows of responding ports over the NICs for which flows are needed.
    pub fn missing_flows(&mut self) -> Vec<(PathId, RemotePort)> {
        let wanted = |path: &Path| {
            self.selectors.iter().any(|selector| selector.needs_flows() && path.is_usable(selector.nic_pair))
        };
        let flows = self.paths.iter().filter(|path| wanted(path)).flat_map(Path::additional_flows);
        let flows = flows.filter(|&(path_id, _)| self.path_index(path_id).is_none()).collect();
        self.selectors.iter_mut().for_each(BulkPathSelector::on_flows_requested);
        flows
    }

    /// Opens the on-demand paths where they are needed.
    pub(super) fn open_on_demand_paths(&mut self, stats: &SharedStats) {
        for at in 0..self.paths.len() {
            if self.paths[at].is_on_demand()
                && let Some(reason) = self.reason_to_open(&self.paths[at].port)
                && (reason != Mark::OpenedForBulk || self.has_known_nic_pair(at) && self.may_need(at, stats))
            {
                mark(reason);
                self.paths[at].start_opening();
            }
        }
    }

    /// Whether path `at` connects the same NICs as others from its NIC, if there are any: a host may answer for its
    /// other NICs' addresses, and such a path is a second one over the same wire.
    fn has_known_nic_pair(&self, at: usize) -> bool {
        let nic_pair = self.paths[at].nic_pair();
        let from_nic = || self.paths.iter().filter(|path| path.port.nic == nic_pair.local && path.is_responding());
        from_nic().next().is_none() || from_nic().any(|path| path.nic_pair() == nic_pair)
    }

    /// Whether path `at` would be tried with bulk, or carry it, if it were open.
    fn may_need(&self, at: usize, stats: &SharedStats) -> bool {
        let path = &self.paths[at];
        self.selectors
            .iter()
            .any(|selector| selector.nic_pair == path.nic_pair() && selector.may_need(path.id.local_port, stats))
    }

    /// The reason for which paths of a port are needed, if they are.
    fn reason_to_open(&self, port: &PortTraits) -> Option<Mark> {
        if port.latency_class < LatencyClass::Bulk {
            let same_nic = || self.paths.iter().filter(|path| path.port.nic == port.nic);
            let is_answered = same_nic().any(|path| path.established().is_some());
            let is_better = |path: &&Path| path.port.latency_class < port.latency_class;
            let is_needed = is_answered && same_nic().filter(is_better).all(Path::is_hello_exhausted);
            return is_needed.then_some(Mark::OpenedInPlace);
        }
        let is_alone = || self.paths.iter().all(Path::has_no_reply);
        let has_bulk = self.bulk_bytes >= ON_DEMAND_BYTES;
        if has_bulk { Some(Mark::OpenedForBulk) } else { is_alone().then_some(Mark::OpenedAlone) }
    }

    /// The paths for waiting frames: those that respond, or all established ones if none does (P24), except
    /// suspended flows (P39).
    pub(super) fn usable_paths(&self) -> impl Iterator<Item = (usize, &Path, &EstablishedPath)> {
        let useful = || self.paths.iter().enumerate().filter(|(_, path)| !path.is_suspended);
        let open = move || useful().filter_map(|(at, path)| Some((at, path, path.established()?)));
        let all_silent = open().all(|(_, _, established)| established.is_silent());
        let is_bound = planted(Bug::BoundToPath) && open().any(|(_, _, established)| established.is_silent());
        open().filter(move |(_, _, established)| all_silent || established.is_silent() == is_bound)
    }
}
