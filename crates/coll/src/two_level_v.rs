//! The two-level algorithm for blocks of any lengths between any two ranks, which pass through one rank of each host,
//! its leader. It is the algorithm "two_level" of MPI_Gatherv, MPI_Scatterv, MPI_Alltoallv, MPI_Alltoallw and the
//! neighbourhood collectives.
//!
//! Only the sender and the receiver of a block know its length, so that leaders must receive the lengths first:
//!
//! 1. Each rank sends its leader two lists of lengths: how many bytes it will send to each rank of other hosts, and
//!    how many bytes it will receive from each of those hosts. Then it sends the leader its blocks for other hosts.
//! 2. All blocks from one host to another cross the network in one message between the leaders, ordered by receiver,
//!    then by sender.
//! 3. Each leader sends every rank of its host the blocks for that rank.
//!
//! Some blocks are sent directly from rank to rank: those within a host, and those longer than
//! `ScheduleLimits::max_forwarded_bytes`, for which two more copies cost more than a message saves. This comes after
//! the three steps, because during these a rank must wait only for ranks of its host, or, as a leader, for other
//! leaders.
//!
//! Used by the tables of these collectives and, for the transfers (`BlockTransfers`), by `bruck`; uses `host_map` and
//! `schedule`.

use crate::call::{BlockArray, BlockBuffer, RankAndSize};
use crate::cost_model::CallShape;
use crate::host_map::{HostMap, Subgroup};
use crate::schedule::{BufferId, Schedule, Span, VALUE_BYTES};
use crate::tuning::Tuning;

/// A block that this rank sends or receives.
pub(crate) struct BlockTransfer {
    pub peer: u32,
    pub span: Span,
    pub bytes: u64,
}

impl BlockTransfer {
    /// Makes the transfer of the only block of a buffer.
    pub fn whole(peer: u32, data: &BlockBuffer, buffer: BufferId) -> BlockTransfer {
        BlockTransfer { peer, span: data.span(buffer), bytes: data.bytes() }
    }

    /// Makes the transfer of block number `block` of a buffer.
    pub fn block(peer: u32, blocks: &BlockArray, buffer: BufferId, block: u32) -> BlockTransfer {
        BlockTransfer { peer, span: blocks.span(buffer, block), bytes: blocks.bytes(block) }
    }

    /// Returns the length of the block in bytes if other ranks may forward it; 0 if it is too long for that.
    pub fn forwarded_bytes(&self, max_forwarded_bytes: u64) -> u64 {
        if self.bytes <= max_forwarded_bytes { self.bytes } else { 0 }
    }
}

/// A set of ranks that all ranks know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RankSet {
    All,
    One(u32),
}

impl RankSet {
    fn contains(self, rank: u32) -> bool {
        self == RankSet::All || self == RankSet::One(rank)
    }
}

/// All blocks that one rank sends and receives. In each list, blocks of the same peer are in the order in which
/// messages match.
pub(crate) struct BlockTransfers {
    pub sends: Vec<BlockTransfer>,
    pub receives: Vec<BlockTransfer>,
    /// The blocks of this rank for itself: for each, the span in the send buffer and the span in the receive buffer.
    pub self_copies: Vec<(Span, Span)>,
    /// The ranks that may send a block; `destinations` are the ranks that may receive one.
    pub sources: RankSet,
    pub destinations: RankSet,
    /// The maximum number of blocks that are sent, and of blocks that are received, directly in one round.
    pub max_in_flight: u32,
}

impl BlockTransfers {
    /// Sends and receives the blocks that are not forwarded, and copies the blocks of this rank for itself.
    pub fn send_directly(&self, is_forwarded: impl Fn(&BlockTransfer) -> bool, s: &mut Schedule) {
        s.end_round();
        let unforwarded = |list: &[BlockTransfer], i: u32| {
            list.get(i as usize)
                .filter(|transfer| !is_forwarded(transfer))
                .map(|transfer| (transfer.peer, transfer.span))
        };
        for i in 0..self.sends.len().max(self.receives.len()) as u32 {
            if let Some((from, into)) = unforwarded(&self.receives, i) {
                s.recv(from, into);
            }
            if let Some((to, from)) = unforwarded(&self.sends, i) {
                s.send(to, from);
            }
            if (i + 1).is_multiple_of(self.max_in_flight) {
                s.end_round();
            }
        }
        self.self_copies.iter().for_each(|&(from, into)| s.copy(from, into));
    }
}

/// The cost of planning the continuation, with its allocations, in microseconds (fitted to
/// docs/measurements/2026-11-23-collectives.md, Blocks of unlike lengths).
const PLAN_US: f64 = 2.0;

/// Returns the cost without that of the bytes: planning, the messages with the lengths and with the blocks to the
/// leaders, the messages between hosts and, if `scatters_down`, the messages from the leaders to the ranks of their
/// hosts.
pub(crate) fn cost(shape: &CallShape, t: &Tuning, scatters_down: bool) -> f64 {
    let (hosts, within) = (t.known_hosts(), t.on_host().model);
    let hop_us = within.message_us + (f64::from(hosts.largest()) - 1.0) * within.overhead_us;
    let across_us = t.model.message_us + f64::from(hosts.count() - 1) * t.model.overhead_us;
    let hops = if scatters_down { 3.0 } else { 2.0 };
    PLAN_US + hops * hop_us + across_us + (shape.p() - f64::from(hosts.largest())) * t.model.copy_us
}

pub(crate) fn two_level(transfers: BlockTransfers, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let plan = LeaderPlan::new(&transfers, place, t);
    let lengths = plan.lengths(&transfers);
    if place.rank != plan.leader() {
        let buffer = s.scratch_bytes(VALUE_BYTES * lengths.len() as u64);
        let received = s.store_values(&lengths, buffer, 0);
        s.send(plan.leader(), received);
        s.end_round();
        return plan_non_leader(&transfers, &plan, s);
    }
    let bytes: Vec<u64> =
        plan.local().other_ranks().map(|(_, peer)| VALUE_BYTES * plan.value_count(peer) as u64).collect();
    let received = Span::bytes(s.scratch_bytes(bytes.iter().sum()), 0, bytes.iter().sum());
    for ((_, peer), lengths) in plan.local().other_ranks().zip(consecutive_spans(received.buffer, bytes)) {
        s.recv(peer, lengths);
    }
    s.end_round();
    s.continue_with(received, move |received, s| plan_leader(&transfers, &plan, &lengths, received, s));
}

/// The plan of one rank for the blocks that go from host to host through the leaders.
struct LeaderPlan {
    hosts: HostMap,
    leaders: Vec<u32>,
    rank: u32,
    /// The index of this rank's host.
    own_host: u32,
    /// The ranks of other hosts that may receive something, host by host.
    destinations: Vec<u32>,
    /// The other hosts that may send something.
    source_hosts: Vec<u32>,
    rank_sets: (RankSet, RankSet),
    max_forwarded_bytes: u64,
}

impl LeaderPlan {
    fn new(transfers: &BlockTransfers, place: RankAndSize, t: &Tuning) -> LeaderPlan {
        let hosts = t.known_hosts().clone();
        let root = match (transfers.sources, transfers.destinations) {
            (RankSet::One(root), _) | (_, RankSet::One(root)) => Some(root),
            (RankSet::All, RankSet::All) => None,
        };
        let own_host = hosts.host_of(place.rank);
        let other_hosts = || (0..).zip(hosts.members()).filter(|&(host, _)| host != own_host);
        let destinations = other_hosts()
            .flat_map(|(_, ranks)| ranks.iter().copied())
            .filter(|&rank| transfers.destinations.contains(rank));
        let source_hosts = other_hosts()
            .filter(|(_, ranks)| ranks.iter().any(|&rank| transfers.sources.contains(rank)))
            .map(|(host, _)| host);
        LeaderPlan {
            destinations: destinations.collect(),
            source_hosts: source_hosts.collect(),
            leaders: hosts.leaders(root),
            rank: place.rank,
            own_host,
            rank_sets: (transfers.sources, transfers.destinations),
            max_forwarded_bytes: t.limits.max_forwarded_bytes,
            hosts,
        }
    }

    fn leader(&self) -> u32 {
        self.leaders[self.own_host as usize]
    }

    /// Returns the ranks of this host.
    fn local(&self) -> Subgroup<'_> {
        self.hosts.local(self.rank)
    }

    /// Returns the key by which the blocks of a message are sorted: by host, then by rank.
    fn order(&self, rank: u32) -> (u32, u32) {
        (self.hosts.host_of(rank), rank)
    }

    /// Tells whether a block passes through the leaders. The sender and the receiver of the block come to the same
    /// result.
    fn forwards(&self, transfer: &BlockTransfer) -> bool {
        transfer.forwarded_bytes(self.max_forwarded_bytes) > 0 && self.hosts.host_of(transfer.peer) != self.own_host
    }

    /// Returns the blocks that pass through the leaders, in the order of `order`.
    fn forwarded<'a>(&self, transfers: &'a [BlockTransfer]) -> Vec<&'a BlockTransfer> {
        let mut forwarded: Vec<&BlockTransfer> = transfers.iter().filter(|transfer| self.forwards(transfer)).collect();
        forwarded.sort_by_key(|transfer| self.order(transfer.peer));
        forwarded
    }

    /// Returns the number of lengths that the rank `peer` of this host sends to the leader.
    fn value_count(&self, peer: u32) -> usize {
        self.sent_count(peer) + if self.rank_sets.1.contains(peer) { self.source_hosts.len() } else { 0 }
    }

    /// Returns how many of the lengths that the rank `peer` of this host sends to the leader are lengths of blocks
    /// that it sends. They come before the lengths of blocks that it receives.
    fn sent_count(&self, peer: u32) -> usize {
        if self.rank_sets.0.contains(peer) { self.destinations.len() } else { 0 }
    }

    /// Returns the lengths of this rank: the number of bytes that it sends to each of `destinations`, then the number
    /// of bytes that it receives from each of `source_hosts`.
    fn lengths(&self, transfers: &BlockTransfers) -> Vec<u64> {
        let mut lengths = vec![0; self.value_count(self.rank)];
        let (sent, received) = lengths.split_at_mut(self.sent_count(self.rank));
        for transfer in transfers.sends.iter().filter(|transfer| self.forwards(transfer)) {
            let at = self
                .destinations
                .binary_search_by_key(&self.order(transfer.peer), |&destination| self.order(destination));
            sent[at.expect("a rank that may receive")] += transfer.bytes;
        }
        for transfer in transfers.receives.iter().filter(|transfer| self.forwards(transfer)) {
            let at = self.source_hosts.binary_search(&self.hosts.host_of(transfer.peer));
            received[at.expect("a host that may send")] += transfer.bytes;
        }
        lengths
    }

    /// Returns the lengths of each rank of this host, in rank order. They are taken from this rank's own lengths and
    /// from `received`, the lengths that the other ranks have sent.
    fn host_loads<'a>(&self, own_lengths: &'a [u64], mut received: &'a [u64]) -> Vec<HostLoad<'a>> {
        let mut host_load = |&peer: &u32| {
            let (lengths, rest) =
                if peer == self.rank { (own_lengths, received) } else { received.split_at(self.value_count(peer)) };
            received = rest;
            let (sent, received_bytes) = lengths.split_at(self.sent_count(peer));
            HostLoad { sent, received: received_bytes }
        };
        self.local().ranks.iter().map(&mut host_load).collect()
    }
}

/// The lengths of one rank: the number of bytes that it sends to each of `destinations`, and that it receives from
/// each of `source_hosts`. A list is empty if the rank can send, or receive, nothing.
struct HostLoad<'a> {
    sent: &'a [u64],
    received: &'a [u64],
}

impl HostLoad<'_> {
    fn bytes_to(&self, destination: usize) -> u64 {
        self.sent.get(destination).copied().unwrap_or(0)
    }

    fn bytes_from(&self, source: usize) -> u64 {
        self.received.get(source).copied().unwrap_or(0)
    }
}

/// Writes what follows the lengths in the schedule of a rank that is no leader: one message with blocks to the
/// leader, one from it, and the blocks that are sent directly.
fn plan_non_leader(transfers: &BlockTransfers, plan: &LeaderPlan, s: &mut Schedule) {
    let (sent, received) = (plan.forwarded(&transfers.sends), plan.forwarded(&transfers.receives));
    let (up, down) = (scratch_for(&sent, s), scratch_for(&received, s));
    pack(&sent, up, s);
    s.send(plan.leader(), up);
    s.recv(plan.leader(), down);
    unpack(&received, down, s);
    transfers.send_directly(|transfer| plan.forwards(transfer), s);
}

fn plan_leader(transfers: &BlockTransfers, plan: &LeaderPlan, lengths: &[u64], received: &[u64], s: &mut Schedule) {
    let host_loads = plan.host_loads(lengths, received);
    let rows = gather_to_leader(transfers, plan, &host_loads, s);
    let outgoing = pack_by_host(&rows, plan, &host_loads, s);
    let incoming = exchange_leaders(&outgoing, plan, &host_loads, s);
    scatter_from_leader(transfers, plan, &host_loads, &incoming, s);
    transfers.send_directly(|transfer| plan.forwards(transfer), s);
}

/// Gathers, at the leader, the blocks of this host's ranks for other hosts. Returns one span for each rank.
fn gather_to_leader(
    transfers: &BlockTransfers,
    plan: &LeaderPlan,
    host_loads: &[HostLoad],
    s: &mut Schedule,
) -> Vec<Span> {
    let bytes = |host_load: &HostLoad| host_load.sent.iter().sum::<u64>();
    let buffer = s.scratch_bytes(host_loads.iter().map(bytes).sum());
    let rows = consecutive_spans(buffer, host_loads.iter().map(bytes));
    let local = plan.local();
    local.other_ranks().for_each(|(at, peer)| s.recv(peer, rows[at as usize]));
    pack(&plan.forwarded(&transfers.sends), rows[local.place.rank as usize], s);
    s.end_round();
    rows
}

/// Sorts the gathered blocks into one message for each host. Returns the span of each host's message.
fn pack_by_host(rows: &[Span], plan: &LeaderPlan, host_loads: &[HostLoad], s: &mut Schedule) -> Vec<Span> {
    let buffer = s.scratch_bytes(rows.iter().map(|row| row.count).sum());
    let mut outgoing = vec![Span::bytes(buffer, 0, 0); plan.leaders.len()];
    let (mut rows, mut at) = (rows.to_vec(), 0);
    for (destination, &rank) in plan.destinations.iter().enumerate() {
        let message = &mut outgoing[plan.hosts.host_of(rank) as usize];
        if message.is_empty() {
            message.at = at as i64;
        }
        for (row, host_load) in rows.iter_mut().zip(host_loads) {
            let block = Span { count: host_load.bytes_to(destination), ..*row };
            s.copy(block, Span::bytes(buffer, at, block.count));
            row.at += block.count as i64;
            message.count += block.count;
            at += block.count;
        }
    }
    outgoing
}

/// Exchanges the messages of the leaders. Each leader begins with the host after its own, so that not all leaders
/// send to one host at the same time. Returns the span of the message from each of `source_hosts`.
fn exchange_leaders(outgoing: &[Span], plan: &LeaderPlan, host_loads: &[HostLoad], s: &mut Schedule) -> Vec<Span> {
    let from = |source: usize| host_loads.iter().map(|host_load| host_load.bytes_from(source)).sum::<u64>();
    let bytes: Vec<u64> = (0..plan.source_hosts.len()).map(from).collect();
    let incoming = consecutive_spans(s.scratch_bytes(bytes.iter().sum()), bytes);
    let ring = RankAndSize { rank: plan.own_host, size: plan.leaders.len() as u32 };
    for step in 1..ring.size {
        let (to, from) = (ring.after(step), ring.before(step));
        if let Ok(source) = plan.source_hosts.binary_search(&from) {
            s.recv(plan.leaders[from as usize], incoming[source]);
        }
        s.send(plan.leaders[to as usize], outgoing[to as usize]);
    }
    s.end_round();
    incoming
}

/// Sends each rank of this host its blocks, in one message.
fn scatter_from_leader(
    transfers: &BlockTransfers,
    plan: &LeaderPlan,
    host_loads: &[HostLoad],
    incoming: &[Span],
    s: &mut Schedule,
) {
    let received_bytes = |host_load: &HostLoad| host_load.received.iter().sum::<u64>();
    let buffer = s.scratch_bytes(host_loads.iter().map(received_bytes).sum());
    let rows = consecutive_spans(buffer, host_loads.iter().map(received_bytes));
    let mut incoming = incoming.to_vec();
    for (row, host_load) in rows.iter().zip(host_loads) {
        let mut into = *row;
        for (source, from) in incoming.iter_mut().enumerate() {
            let count = host_load.bytes_from(source);
            s.copy(Span { count, ..*from }, Span { count, ..into });
            (from.at, into.at) = (from.at + count as i64, into.at + count as i64);
        }
    }
    let local = plan.local();
    local.other_ranks().for_each(|(at, peer)| s.send(peer, rows[at as usize]));
    unpack(&plan.forwarded(&transfers.receives), rows[local.place.rank as usize], s);
}

/// Returns, for a root's blocks in the order of relative ranks, the number of bytes of each block that is forwarded
/// through the tree, and the forwarded blocks. The number is 0 for the root's own block, which comes first, and for
/// long blocks, which are sent directly.
pub(crate) fn forwarded_by_root(
    transfers: &[BlockTransfer],
    max_forwarded_bytes: u64,
) -> (Vec<u64>, Vec<&BlockTransfer>) {
    let lengths =
        std::iter::once(0).chain(transfers.iter().map(|transfer| transfer.forwarded_bytes(max_forwarded_bytes)));
    (lengths.collect(), transfers.iter().filter(|transfer| transfer.forwarded_bytes(max_forwarded_bytes) > 0).collect())
}

/// Returns adjoining spans of these lengths in a buffer, from byte 0 on.
fn consecutive_spans(buffer: BufferId, bytes: impl IntoIterator<Item = u64>) -> Vec<Span> {
    let mut at = 0;
    let mut next = |bytes| {
        at += bytes;
        Span::bytes(buffer, at - bytes, bytes)
    };
    bytes.into_iter().map(&mut next).collect()
}

/// Reserves scratch memory for the packed blocks of `transfers`, and returns its span.
pub(crate) fn scratch_for(transfers: &[&BlockTransfer], s: &mut Schedule) -> Span {
    let bytes = transfers.iter().map(|transfer| transfer.bytes).sum();
    Span::bytes(s.scratch_bytes(bytes), 0, bytes)
}

/// Copies the blocks one after the other into `packed`.
pub(crate) fn pack(transfers: &[&BlockTransfer], packed: Span, s: &mut Schedule) {
    transfers
        .iter()
        .zip(packed_spans(transfers, packed))
        .for_each(|(transfer, packed_span)| s.copy(transfer.span, packed_span));
}

/// Copies the blocks, which are one after the other in `packed`, to their own spans.
pub(crate) fn unpack(transfers: &[&BlockTransfer], packed: Span, s: &mut Schedule) {
    transfers
        .iter()
        .zip(packed_spans(transfers, packed))
        .for_each(|(transfer, packed_span)| s.copy(packed_span, transfer.span));
}

fn packed_spans(transfers: &[&BlockTransfer], packed: Span) -> impl Iterator<Item = Span> {
    let spans = consecutive_spans(packed.buffer, transfers.iter().map(|transfer| transfer.bytes));
    spans.into_iter().map(move |span| Span { at: packed.at + span.at, ..span })
}
