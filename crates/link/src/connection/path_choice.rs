//! Chooses the paths to a peer for each transfer. Short messages go by the path of the lowest latency. Bulk goes by
//! the best path between each pair of NICs, and is distributed among these pairs. The module also decides when
//! on-demand paths are opened, and which further flows are needed.
//!
//! It sends nothing. Used by `connection`; uses `bulk_path` and `path_scheduler`, which choose.

use super::{Connection, EndpointShared};
use crate::bulk_path::{BulkPath, BulkPathSelector};
use crate::established::EstablishedPath;
use crate::frame_pool::FramePool;
use crate::marks::{Mark, mark};
use crate::path::{Path, PathId, RemotePort};
use crate::path_scheduler::{self, RUN_NS_MAX};
use crate::planted::{Bug, planted};
use crate::port_traits::LatencyClass;
use crate::shared_stats::SharedStats;

/// The maximum number of frames that are handed to a wire at once. UDP's segmentation offload takes at least 64.
pub(super) const RUN_FRAMES_MAX: usize = 64;

/// The minimum number of waiting frames that count as bulk, each as long as the path for single frames takes. A raw
/// frame costs 1.7 us; a run of UDP segments costs about 5 us, and little for each of its segments
/// (docs/measurements/2026-11-22-frame-ports.md).
const BULK_FRAMES: usize = 6;

/// The size, in bytes, above which long frames pay, although a single long frame takes longer. A transfer took, by
/// TCP and by UDP or raw frames (run alternately, best decile): 4 KiB 10.5 and 7.5 us; 6 KB 8.6 and 11.5 us; 8 KiB
/// 8.0 and 9.3 us; 16 KiB 12.7 and 16.2 us; 64 KiB 28.4 and 32.4 us; 1 MiB 276 and 345 us.
const LONG_BYTES: usize = 9 << 9;
/// The number of frames of the path for single frames that a transfer must also exceed to be long: at MTU 9000 one
/// such frame carries 8 KiB in 4.6 us, and two carry 16 KiB in 9.1 us.
const LONG_FRAMES: usize = 2;
/// The size, in bytes, above which a transfer is long in any case: it exceeds two frames of any Ethernet.
const LONG_ANYWAY_BYTES: usize = 64 << 10;

/// The bytes of long transfers, or of messages that might bypass link, that a peer must have been sent before on-demand
/// paths are opened for them: for less a TCP connection is too expensive. One message that is long in any case opens
/// them. NPB's IS of class W, which sends 2.5 MiB to each peer, ran at 201, 237 and 262 Mop/s with 1 MiB, 256 KiB and
/// 8 KiB.
const ON_DEMAND_BYTES: u32 = LONG_ANYWAY_BYTES as u32;

/// The class of a transfer, by its size: few frames; bulk, which is many frames; or long, which is bulk for which
/// long frames pay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TransferSize {
    Few,
    Bulk,
    Long,
}

impl TransferSize {
    /// The class of a transfer of `bytes` bytes in `frames` frames. `few` returns the longest frame, in bytes, for
    /// single frames.
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
    /// The first latency class, from `least` on, in which a path responds. If there is none from `least` on, it is
    /// the first of all classes in which a path responds; None if no path responds.
    fn latency_class(&self, least: LatencyClass) -> Option<LatencyClass> {
        let answering = || self.paths.iter().filter(|path| path.is_responding());
        let of =
            |least: LatencyClass| answering().map(|path| path.port.latency_class).filter(|&class| class >= least).min();
        of(least).or_else(|| of(LatencyClass::Lowest))
    }

    /// Returns a predicate: whether the path with an index carries transfers of this size. Before a path has
    /// responded, no path carries any.
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

    /// The index of the selector whose bulk goes by path `at`; None if there is none.
    pub(super) fn selector_of(&self, at: usize) -> Option<usize> {
        self.selectors
            .iter()
            .position(|selector| selector.current().is_some_and(|current| self.is_part_of(at, current)))
    }

    /// Whether path `at` is path `other`, or is one of the flows for which path `other` stands (P39 of
    /// docs/protocol.md).
    fn is_part_of(&self, at: usize, other: usize) -> bool {
        let other_path = &self.paths[other];
        if other_path.is_multi_flow() { self.paths[at].shares_ports_with(other_path) } else { at == other }
    }

    /// The paths of all flows between the two ports of path `at`, this path included.
    pub(super) fn flows_beside(&self, at: usize) -> impl Iterator<Item = &Path> {
        self.paths.iter().filter(move |other| other.shares_ports_with(&self.paths[at]))
    }

    /// Updates the state of further flows. They are suspended if the network has little capacity beside the first
    /// flow (P39). A path that stands for all flows responds if any of them responds.
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

    /// The index of the path that stands for all flows between the ports of path `at`. None if there is no such path,
    /// or if it is path `at` itself.
    pub(super) fn multi_flow_of(&self, at: usize) -> Option<usize> {
        let of =
            || self.paths.iter().position(|other| other.is_multi_flow() && other.shares_ports_with(&self.paths[at]));
        if self.has_flows { of().filter(|&multi_flow| multi_flow != at) } else { None }
    }

    /// Whether a frame of `len` bytes that goes by path `at` was cut for another path: it is shorter than this path's
    /// frames, and exactly as long as another path's.
    pub(super) fn was_cut_for_other(&self, at: usize, len: usize) -> bool {
        len < self.paths[at].mtu() && self.paths.iter().any(|other| other.established().is_some() && other.mtu() == len)
    }

    /// The longest frame, in bytes, that all paths for transfers of this size take. If there is no such path yet, it
    /// is the longest frame that all paths take. Paths that carry no such transfers do not count, because hosts have
    /// NICs that do not reach the peer.
    fn frame_for_size(&self, size: TransferSize) -> usize {
        let carries = self.carries(size);
        // With several pairs of NICs each responding path counts: during a trial waiting frames may go by any of
        // them, and a frame that must be cut then must be reassembled by the receiver.
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
        for selector in &mut self.selectors {
            selector.update(&mut self.paths, stats);
        }
        let mut candidates = self.selectors.iter().filter_map(|selector| Some((selector, selector.current()?)));
        let (selector, current) = candidates.next()?;
        let path = &self.paths[current];
        let is_chosen = !selector.has_trial() || selector.has_no_choice(&self.paths);
        let is_best = is_chosen && path.may_be_bypassed() && path.is_responding();
        (is_best && candidates.next().is_none()).then_some(path.id)
    }

    /// See `Endpoint::record_direct`.
    pub fn record_direct(&mut self, stats: &mut SharedStats, bytes: usize, now_ns: u64) {
        let selector = self.selectors.iter_mut().find(|selector| selector.current().is_some());
        selector.into_iter().for_each(|selector| selector.on_sent(bytes, now_ns, &mut self.paths, stats));
    }

    /// See `Endpoint::bypass_path`.
    pub fn bypass_path(&mut self, total: usize) -> Option<PathId> {
        let responding = || self.paths.iter().filter(|path| path.is_responding());
        let nic_pair = responding().next()?.nic_pair();
        let is_slow = self.selectors.iter().any(|selector| selector.nic_pair == nic_pair && selector.is_slow());
        if is_slow || responding().any(|path| path.nic_pair() != nic_pair) {
            return None;
        }
        let found = responding().find(|path| path.may_be_bypassed() && !path.is_additional_flow());
        let path_id = found.map(|path| path.id);
        if path_id.is_none() {
            self.bypass_bytes = self.bypass_bytes.saturating_add(total as u32);
        }
        path_id
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

    /// Returns the path for a frame of `len` bytes, and how many such frames it may take at once; None if the frame
    /// must wait. `count` such frames wait: a slower path is chosen only if the frame arrives by it before all
    /// `count` would arrive by the fastest path. Bulk waits for the paths that carry bulk, because on other paths
    /// each frame would cost a system call.
    pub(super) fn pick_path(&self, len: usize, size: TransferSize, count: usize) -> Option<(usize, usize)> {
        let carries = self.carries(size);
        let long = || self.usable_paths().filter(|(_, path, _)| path.mtu() >= len);
        let can_send = |path: &Path, established: &EstablishedPath| {
            !path.is_full && !path.must_send_welcome_first() && established.sendable_frames() > 0
        };
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
                // Paths that were measured as the best for bulk count as one class: none of them has precedence.
                latency_class: if waits { LatencyClass::Lowest } else { path.port.latency_class },
                can_send: can_send(path, established),
                has_in_flight: established.bytes_in_flight() > 0,
                frame_arrival_ns: begin_ns + established.transfer_ns(len as u64),
                all_arrival_ns: begin_ns + established.transfer_ns(bytes),
            }
        });
        let at = path_scheduler::choose(candidates)?;
        let established = self.paths[at].established().expect("it is open");
        Some((at, ((RUN_NS_MAX / established.transfer_ns(len as u64).max(1)) as usize).clamp(1, RUN_FRAMES_MAX)))
    }

    /// Records that `bytes` bytes of bulk went by path `at`, and so bypassed each other path that carries bulk.
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

    /// The time, in ns, by which frames in flight delay a further frame on path `of`. Frames on all paths of its NIC
    /// count, except those of other flows between the same two ports. If the network gives each flow a share, flows
    /// do not wait for each other; if it does not, their measured rates are smaller already.
    fn queue_ns(&self, of: &Path) -> u64 {
        let is_in_front = |other: &&Path| {
            other.port.nic == of.port.nic && (!other.shares_ports_with(of) || other.id.flow == of.id.flow)
        };
        self.paths.iter().filter(is_in_front).filter_map(Path::established).map(EstablishedPath::queue_ns).sum()
    }

    /// Whether further flows are to be opened between some pair of NICs: the best path there carries no more than a
    /// network may give one flow, or all flows together have won with another peer; and none were requested since.
    #[inline]
    pub fn needs_flows(&self) -> bool {
        self.selectors.iter().any(BulkPathSelector::needs_flows)
    }

    /// Returns the further flows that are missing between ports that respond, on the NICs for which flows are needed.
    /// Records that these flows were requested.
    pub fn missing_flows(&mut self) -> Vec<(PathId, RemotePort)> {
        let wanted = |path: &Path| {
            self.selectors.iter().any(|selector| selector.needs_flows() && path.is_usable(selector.nic_pair))
        };
        let flows = self.paths.iter().filter(|path| wanted(path)).flat_map(Path::additional_flows);
        let flows = flows.filter(|&(path_id, _)| self.path_index(path_id).is_none()).collect();
        self.selectors.iter_mut().for_each(BulkPathSelector::on_flows_requested);
        flows
    }

    /// Begins to open the on-demand paths that are needed.
    pub(super) fn open_on_demand_paths(&mut self, shared: &EndpointShared) {
        for at in 0..self.paths.len() {
            if self.paths[at].is_on_demand()
                && let Some(reason) = self.reason_to_open(at, shared)
            {
                mark(reason);
                self.paths[at].start_opening();
            }
        }
    }

    /// Whether path `at` connects the same two NICs as some responding path from our NIC; true if no path from this
    /// NIC responds. A host may answer for the addresses of its other NICs, and a path to such an address would be a
    /// second one over the same wire.
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

    /// The reason for which on-demand path `at` is needed; None if it is not needed.
    fn reason_to_open(&self, at: usize, shared: &EndpointShared) -> Option<Mark> {
        let port = &self.paths[at].port;
        if port.latency_class < LatencyClass::Bulk {
            let same_nic = || self.paths.iter().filter(|path| path.port.nic == port.nic);
            let is_answered = same_nic().any(|path| path.established().is_some());
            let is_better = |path: &&Path| path.port.latency_class < port.latency_class;
            let is_needed = is_answered && same_nic().filter(is_better).all(Path::is_hello_exhausted);
            return is_needed.then_some(Mark::OpenedInPlace);
        }
        let has_bypass = self.bypass_bytes >= ON_DEMAND_BYTES && self.paths[at].may_be_bypassed();
        if has_bypass && self.has_known_nic_pair(at) {
            return Some(Mark::OpenedToBypass);
        }
        if self.bulk_bytes >= ON_DEMAND_BYTES {
            return (self.has_known_nic_pair(at) && self.may_need(at, &shared.stats)).then_some(Mark::OpenedForBulk);
        }
        let nic_pair = self.paths[at].nic_pair();
        if shared.opens_bulk_early && self.paths.iter().any(|path| path.nic_pair() == nic_pair && path.is_responding())
        {
            return Some(Mark::OpenedEarly);
        }
        self.paths.iter().all(Path::has_no_reply).then_some(Mark::OpenedAlone)
    }

    /// The established paths that waiting frames may take: those that respond; if none responds, all of them (P24).
    /// Suspended flows are left out (P39).
    pub(super) fn usable_paths(&self) -> impl Iterator<Item = (usize, &Path, &EstablishedPath)> {
        let useful = || self.paths.iter().enumerate().filter(|(_, path)| !path.is_suspended);
        let open = move || useful().filter_map(|(at, path)| Some((at, path, path.established()?)));
        let all_silent = open().all(|(_, _, established)| established.is_silent());
        let is_bound = planted(Bug::BoundToPath) && open().any(|(_, _, established)| established.is_silent());
        open().filter(move |(_, _, established)| all_silent || established.is_silent() == is_bound)
    }
}
