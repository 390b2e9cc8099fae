//! Collectives that move data: every byte ends where the standard says, and nothing else is touched.
//!
//! Types of the two ends differ (other sizes, gaps between elements) as long as the bytes agree.

use super::{LARGEST, RankInput, algorithms, counts, fits, forced, plan_and_run};
use crate::call::{BlockArray, BlockBuffer, CollectiveCall, IntArray};
use crate::check::{CellLayout, ExprTable, GAP, SymbolicCell, SymbolicMemory, UNWRITTEN};
use crate::collective::Collective;
use crate::schedule::{CommStep, Schedule};
use crate::tuning::Tuning;
use std::collections::{HashMap, VecDeque};
use std::iter::repeat_n;

/// A type and how many of it make two bytes.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    layout: CellLayout,
    per_pair: u64,
}

/// All counts below are in pairs of bytes, so that types of one and of two bytes can meet.
const KINDS: [Kind; 3] = [
    Kind { layout: CellLayout { size: 2, extent: 2 }, per_pair: 1 },
    Kind { layout: CellLayout { size: 1, extent: 3 }, per_pair: 2 },
    Kind { layout: CellLayout { size: 2, extent: 3 }, per_pair: 1 },
];

/// The same type everywhere, or a different one from rank to rank.
pub(super) fn kind(mixed: bool, salt: u32) -> Kind {
    KINDS[number(mixed, salt)]
}

fn number(mixed: bool, salt: u32) -> usize {
    if mixed { salt as usize % KINDS.len() } else { 0 }
}

/// The identity of a byte on its way from one rank to another.
pub(super) fn byte(from: u32, to: u32, at: u64) -> SymbolicCell {
    2 + (u64::from(from * LARGEST + to) << 20 | at)
}

impl Kind {
    pub(super) fn data(self, pairs: u64) -> BlockBuffer {
        let dense = self.layout.is_dense();
        BlockBuffer { count: pairs * self.per_pair, type_size: self.layout.size as u64, dense }
    }

    /// A buffer of `pairs`, nothing in it yet.
    pub(super) fn blank(self, pairs: u64, writable: bool) -> SymbolicMemory {
        let mut memory = SymbolicMemory::new(repeat_n(UNWRITTEN, self.at(pairs)), self.layout, writable);
        if !self.layout.is_dense() {
            memory.cells.chunks_mut(self.layout.extent).for_each(|element| element[self.layout.size..].fill(GAP));
        }
        memory
    }

    /// Writes `pairs` of bytes as elements from cell `at` on.
    fn put(self, memory: &mut SymbolicMemory, at: usize, pairs: u64, byte: impl Fn(u64) -> SymbolicCell) {
        let mut bytes = (0..2 * pairs).map(byte);
        let elements = memory.cells[at..].chunks_mut(self.layout.extent);
        for element in elements.take((pairs * self.per_pair) as usize) {
            element.iter_mut().take(self.layout.size).zip(&mut bytes).for_each(|(cell, byte)| *cell = byte);
        }
        assert!(bytes.next().is_none(), "there is room for all");
    }

    /// The cell where the element after `pairs` begins.
    fn at(self, pairs: u64) -> usize {
        (pairs * self.per_pair) as usize * self.layout.extent
    }

    pub(super) fn filled(self, pairs: u64, from: u32, to: u32) -> SymbolicMemory {
        let mut memory = self.blank(pairs, false);
        self.put(&mut memory, 0, pairs, |i| byte(from, to, i));
        memory
    }
}

/// Blocks in a buffer, one a rank, in pairs of bytes.
pub(super) struct Plan {
    kind: Kind,
    pub(super) pairs: Vec<u64>,
    starts: Vec<u64>,
    total: u64,
    counts: Vec<i32>,
    displs: Vec<i64>,
}

impl Plan {
    /// Adjoining blocks of one size.
    pub(super) fn regular(kind: Kind, size: u32, pairs: u64) -> Plan {
        Plan::new(kind, vec![pairs; size as usize], (0..u64::from(size)).map(|i| i * pairs).collect())
    }

    /// Blocks of any sizes, in descending order and apart.
    pub(super) fn apart(kind: Kind, pairs: Vec<u64>) -> Plan {
        let mut starts = vec![0; pairs.len()];
        let mut at = 1;
        for i in (0..pairs.len()).rev() {
            starts[i] = at;
            at += pairs[i] + 1;
        }
        Plan::new(kind, pairs, starts)
    }

    /// Blocks of these sizes: adjoining ones if they are regular.
    pub(super) fn blocks_of(kind: Kind, pairs: Vec<u64>, regular: bool) -> Plan {
        match pairs.first() {
            Some(&each) if regular => Plan::regular(kind, pairs.len() as u32, each),
            _ => Plan::apart(kind, pairs),
        }
    }

    fn new(kind: Kind, pairs: Vec<u64>, starts: Vec<u64>) -> Plan {
        let total = pairs.iter().zip(&starts).map(|(p, s)| p + s).max().unwrap_or(0);
        let counts = pairs.iter().map(|&p| (p * kind.per_pair) as i32).collect();
        let displs = starts.iter().map(|&s| (s * kind.per_pair) as i64).collect();
        Plan { kind, pairs, starts, total, counts, displs }
    }

    fn vector(&self) -> BlockArray<'_> {
        BlockArray::vector(IntArray::Int(&self.counts), IntArray::Count(&self.displs), self.kind.layout.size as u64)
    }

    pub(super) fn blocks(&self, regular: bool) -> BlockArray<'_> {
        match self.counts.first() {
            Some(&count) if regular => BlockArray::regular(count as u64, self.kind.layout.size as u64),
            _ => self.vector(),
        }
    }

    pub(super) fn blank(&self, writable: bool) -> SymbolicMemory {
        self.kind.blank(self.total, writable)
    }

    /// Fills block `i` with what `from` sends to `to`.
    pub(super) fn fill(&self, memory: &mut SymbolicMemory, i: u32, from: u32, to: u32) {
        let (start, pairs) = (self.starts[i as usize], self.pairs[i as usize]);
        self.kind.put(memory, self.kind.at(start), pairs, |at| byte(from, to, at));
    }
}

/// Counts for a root: the longest vectors only at roots that differ in kind.
fn counts_at(size: u32, root: u32) -> impl Iterator<Item = u64> {
    let long = [0, 1, size / 2, size - 1].contains(&root);
    counts(size).into_iter().filter(move |&count| long || count < 1000)
}

fn seed(size: u32, root: u32, count: u64) -> u64 {
    u64::from(size * 131 + root) + count
}

/// Blocks are size times as many: a thousand pairs each only at some sizes.
fn block_counts(size: u32) -> impl Iterator<Item = u64> {
    counts(size).into_iter().filter(move |&count| count < 1000 || size % 16 == 3)
}

/// The ranks whose arrival each rank knows of, also through others, when its schedule has ended: a bit a rank.
pub(super) fn received_from(schedules: &[&Schedule]) -> Vec<u64> {
    let mut received: Vec<u64> = (0..schedules.len()).map(|rank| 1 << rank).collect();
    let mut at = vec![(0, false); schedules.len()];
    let mut in_flight: HashMap<(usize, usize), VecDeque<u64>> = HashMap::new();
    while let Some(rank) = (0..schedules.len()).find(|&rank| at[rank].0 < schedules[rank].len()) {
        let before = (at.clone(), received.clone());
        for rank in rank..schedules.len() {
            let (round, sent) = at[rank];
            if round == schedules[rank].len() {
                continue;
            }
            let comms = schedules[rank].round(round).comms;
            let sources = || {
                comms
                    .iter()
                    .filter_map(|step| if let CommStep::Recv { from, .. } = step { Some(*from as usize) } else { None })
            };
            if !sent {
                comms
                    .iter()
                    .filter_map(|step| if let CommStep::Send { to, .. } = step { Some(*to as usize) } else { None })
                    .for_each(|to| in_flight.entry((rank, to)).or_default().push_back(received[rank]));
                at[rank].1 = true;
            }
            if sources().all(|from| in_flight.get(&(from, rank)).is_some_and(|queue| !queue.is_empty())) {
                for from in sources() {
                    received[rank] |=
                        in_flight.get_mut(&(from, rank)).and_then(VecDeque::pop_front).expect("it is there");
                }
                at[rank] = (round + 1, false);
            }
        }
        assert!(before != (at.clone(), received.clone()), "a deadlock");
    }
    received
}

#[test]
fn barrier_lets_nobody_leave_before_all_have_come() {
    // A barrier spreads knowledge: after the last round each rank knows, also through others, that all have come.
    for size in 1..=LARGEST {
        let nothing =
            |_| RankInput { call: CollectiveCall::Barrier, send: SymbolicMemory::none(), recv: SymbolicMemory::none() };
        for name in ["dissemination", "two_level"] {
            let tuning = forced(Collective::Barrier, name);
            let ranks = plan_and_run(size, &tuning, name, 1, size.into(), &mut ExprTable::default(), nothing);
            let Some(ranks) = ranks else {
                assert!(!fits(name, size, false));
                continue;
            };
            let schedules: Vec<&Schedule> = ranks.iter().map(|member| &member.schedule).collect();
            assert!(received_from(&schedules).iter().all(|&h| h == u64::MAX >> (64 - size)), "{name}, {size} ranks");
        }
        let tuning = forced(Collective::Barrier, "host");
        let host = plan_and_run(size, &tuning, "host", 1, size.into(), &mut ExprTable::default(), nothing);
        assert_eq!(host.is_some_and(|ranks| ranks[0].schedule.len() == 1), size > 1);
    }
}

fn bcast_matrix(name: &str) {
    let tuning = forced(Collective::Bcast, name);
    for size in 1..=LARGEST {
        for root in 0..size {
            for pairs in counts_at(size, root) {
                bcast_case(name, &tuning, size, root, pairs, (root + size) % 2 == 0);
            }
        }
        bcast_case(name, &tuning, size, size / 2, 9000, size % 2 == 0);
    }
}

fn bcast_case(name: &str, tuning: &Tuning, size: u32, root: u32, pairs: u64, mixed: bool) {
    let full = KINDS.map(|kind| kind.filled(pairs, root, 0));
    let full = |rank| &full[number(mixed, rank)];
    let ranks = plan_and_run(size, tuning, name, 1, seed(size, root, pairs), &mut ExprTable::default(), |rank| {
        let kind = kind(mixed, rank);
        let recv = if rank == root { full(rank).clone() } else { kind.blank(pairs, true) };
        RankInput { call: CollectiveCall::Bcast { root, data: kind.data(pairs) }, send: SymbolicMemory::none(), recv }
    });
    let Some(ranks) = ranks else { return assert!(!fits(name, size, false)) };
    for (rank, member) in (0..).zip(ranks) {
        let right = member.recv.cells == full(rank).cells;
        assert!(right, "bcast {name}, {size} ranks, root {root}, {pairs} pairs: wrong on rank {rank}");
    }
}

#[test]
fn bcast_binomial() {
    bcast_matrix("binomial");
}

#[test]
fn bcast_scatter_ring() {
    bcast_matrix("scatter_ring");
}

#[test]
fn bcast_chain() {
    bcast_matrix("chain");
}

#[test]
fn bcast_two_level() {
    bcast_matrix("two_level");
}

#[test]
fn bcast_on_one_host() {
    bcast_matrix("host");
}

#[test]
fn bcast_has_no_other_algorithm() {
    assert_eq!(algorithms(Collective::Bcast), ["host", "scatter_ring", "chain", "two_level", "binomial"]);
}

/// Sizes of blocks for the v-variants: some empty.
pub(super) fn uneven(size: u32, most: u64) -> Vec<u64> {
    let sizes: Vec<u64> = (0..u64::from(size)).map(|i| (i * 5 + 2) % (most + 1)).collect();
    assert!(size == 1 || sizes[0] != sizes[1], "{most}: all are alike");
    sizes
}

fn gather_case(name: &str, size: u32, root: u32, plan: &Plan, regular: bool, in_place: bool, mixed: bool) {
    let tuning = forced(Collective::Gather, name);
    let ranks = plan_and_run(size, &tuning, name, 1, seed(size, root, plan.total), &mut ExprTable::default(), |rank| {
        let (kind, pairs) = (kind(mixed, rank), plan.pairs[rank as usize]);
        let in_place = in_place && rank == root;
        let mut recv = if rank == root { plan.blank(true) } else { SymbolicMemory::none() };
        if in_place {
            plan.fill(&mut recv, rank, rank, root);
        }
        let send = if in_place { SymbolicMemory::none() } else { kind.filled(pairs, rank, root) };
        let blocks = if rank == root { plan.blocks(regular) } else { BlockArray::regular(0, 0) };
        let data = if in_place { BlockBuffer { count: 77, type_size: 77, dense: true } } else { kind.data(pairs) };
        let call = match regular {
            true => CollectiveCall::Gather { root, send: data, recv: blocks, in_place },
            false => CollectiveCall::Gatherv { root, send: data, recv: blocks, in_place },
        };
        RankInput { call, send, recv }
    });
    let mut expected = plan.blank(true);
    (0..size).for_each(|rank| plan.fill(&mut expected, rank, rank, root));
    let Some(mut ranks) = ranks else {
        return assert!(!fits(name, size, false));
    };
    let right = ranks.swap_remove(root as usize).recv.cells == expected.cells;
    assert!(right, "gather {name}, {size} ranks, root {root}, {:?} in place {in_place}", plan.pairs);
}

fn scatter_case(name: &str, size: u32, root: u32, plan: &Plan, regular: bool, in_place: bool, mixed: bool) {
    let tuning = forced(Collective::Scatter, name);
    let ranks = plan_and_run(size, &tuning, name, 1, seed(size, root, plan.total), &mut ExprTable::default(), |rank| {
        let (kind, pairs) = (kind(mixed, rank), plan.pairs[rank as usize]);
        let in_place = in_place && rank == root;
        let mut send = if rank == root { plan.blank(false) } else { SymbolicMemory::none() };
        if rank == root {
            (0..size).for_each(|to| plan.fill(&mut send, to, root, to));
        }
        let blocks = if rank == root { plan.blocks(regular) } else { BlockArray::regular(0, 0) };
        let data = if in_place { BlockBuffer { count: 77, type_size: 77, dense: true } } else { kind.data(pairs) };
        let call = match regular {
            true => CollectiveCall::Scatter { root, send: blocks, recv: data, in_place },
            false => CollectiveCall::Scatterv { root, send: blocks, recv: data, in_place },
        };
        let recv = if in_place { SymbolicMemory::none() } else { kind.blank(pairs, true) };
        RankInput { call, send, recv }
    });
    let Some(ranks) = ranks else {
        return assert!(!fits(name, size, false));
    };
    for (rank, member) in (0..).zip(ranks) {
        let right = match in_place && rank == root {
            true => member.recv.cells.is_empty(),
            false => member.recv.cells == kind(mixed, rank).filled(plan.pairs[rank as usize], root, rank).cells,
        };
        assert!(right, "scatter {name}, {size} ranks, root {root}, {:?}: wrong on rank {rank}", plan.pairs);
    }
}

type RootedCase = fn(&str, u32, u32, &Plan, bool, bool, bool);

fn rooted_matrix(collective: Collective, case: RootedCase) {
    for size in 1..=LARGEST {
        for root in 0..size {
            let mixed = (root + size) % 2 == 0;
            let in_place = root % 3 == 0;
            for &name in algorithms(collective) {
                for pairs in block_counts(size).filter(|&pairs| pairs < 1000 || root == size / 2) {
                    let plan = Plan::regular(kind(mixed, root + 1), size, pairs);
                    case(name, size, root, &plan, true, in_place, mixed);
                }
                case(name, size, root, &Plan::regular(kind(mixed, root + 1), size, 3), true, !in_place, mixed);
            }
            let plan = Plan::apart(kind(mixed, root + 2), uneven(size, 5));
            for &name in algorithms(collective).iter().filter(|name| **name != "host") {
                for in_place in [false, true] {
                    case(name, size, root, &plan, false, in_place, mixed);
                }
            }
        }
    }
}

#[test]
fn gather_and_gatherv_bring_every_block_to_every_root() {
    rooted_matrix(Collective::Gather, gather_case);
}

#[test]
fn scatter_and_scatterv_bring_every_block_from_every_root() {
    rooted_matrix(Collective::Scatter, scatter_case);
}

fn allgather_case(name: &str, size: u32, pairs: &[u64], regular: bool, in_place: bool, mixed: bool) -> bool {
    let tuning = forced(Collective::Allgather, name);
    let plans: Vec<Plan> = (0..size)
        .map(|rank| match regular {
            true => Plan::regular(kind(mixed, rank + 1), size, pairs[0]),
            false => Plan::apart(kind(mixed, rank + 1), pairs.to_vec()),
        })
        .collect();
    let ranks = plan_and_run(size, &tuning, name, 1, seed(size, 0, pairs[0]), &mut ExprTable::default(), |rank| {
        let (kind, plan) = (kind(mixed, rank), &plans[rank as usize]);
        let mut recv = plan.blank(true);
        if in_place {
            plan.fill(&mut recv, rank, rank, 0);
        }
        let send = if in_place { SymbolicMemory::none() } else { kind.filled(pairs[rank as usize], rank, 0) };
        let (data, blocks) = (kind.data(pairs[rank as usize]), plan.blocks(regular));
        let call = match regular {
            true => CollectiveCall::Allgather { send: data, recv: blocks, in_place },
            false => CollectiveCall::Allgatherv { send: data, recv: blocks, in_place },
        };
        RankInput { call, send, recv }
    });
    let Some(ranks) = ranks else { return false };
    for (rank, (member, plan)) in ranks.iter().zip(&plans).enumerate() {
        let mut expected = plan.blank(true);
        (0..size).for_each(|from| plan.fill(&mut expected, from, from, 0));
        let right = member.recv.cells == expected.cells;
        assert!(right, "allgather {name}, {size} ranks, {pairs:?} in place {in_place}: wrong on rank {rank}");
    }
    true
}

#[test]
fn allgather_and_allgatherv_bring_every_block_to_every_rank() {
    for &name in algorithms(Collective::Allgather) {
        for size in 1..=LARGEST {
            for in_place in [false, true] {
                for count in block_counts(size) {
                    let ran = allgather_case(
                        name,
                        size,
                        &vec![count; size as usize],
                        true,
                        in_place,
                        size % 2 == 0 || count == 3,
                    );
                    assert_eq!(
                        ran,
                        fits(name, size, false) && (name != "recursive_doubling" || size.is_power_of_two())
                    );
                }
                // The last is longer than a slot.
                for most in [1, 5, 9, 1500].into_iter().filter(|&most| most < 1000 || size < 8) {
                    let ran = allgather_case(name, size, &uneven(size, most), false, in_place, most == 5);
                    assert_eq!(ran, fits(name, size, false) && name != "recursive_doubling");
                }
            }
        }
    }
}

/// The number of pairs that rank `from` sends to rank `to`; the same in both directions, as in place demands.
type Traffic = fn(u32, u32, u64) -> u64;

fn alltoall_case(
    name: &str,
    size: u32,
    count: u64,
    regular: bool,
    traffic: Traffic,
    in_place: bool,
    mixed: bool,
) -> bool {
    let tuning = forced(Collective::Alltoall, name);
    let plans = |salt: u32, is_send: bool| -> Vec<Plan> {
        let plan = |rank| {
            let between = |peer| if is_send { traffic(rank, peer, count) } else { traffic(peer, rank, count) };
            let pairs = (0..size).map(between).collect();
            let kind = kind(mixed, rank + salt);
            if regular { Plan::regular(kind, size, count) } else { Plan::apart(kind, pairs) }
        };
        (0..size).map(plan).collect()
    };
    let (sends, recvs) = (plans(0, true), plans(1, false));
    let ranks = plan_and_run(size, &tuning, name, 1, seed(size, 0, count), &mut ExprTable::default(), |rank| {
        let (from, into) = (&sends[rank as usize], &recvs[rank as usize]);
        let (mut send, mut recv) = (from.blank(false), into.blank(true));
        for peer in 0..size {
            from.fill(&mut send, peer, rank, peer);
            if in_place {
                into.fill(&mut recv, peer, rank, peer);
            }
        }
        let outgoing = if in_place { BlockArray::regular(77, 77) } else { from.blocks(regular) };
        let call = match regular {
            true => CollectiveCall::Alltoall { send: outgoing, recv: into.blocks(true), in_place },
            false => CollectiveCall::Alltoallv { send: outgoing, recv: into.blocks(false), in_place },
        };
        RankInput { call, send: if in_place { SymbolicMemory::none() } else { send }, recv }
    });
    let Some(ranks) = ranks else { return false };
    for (rank, (member, plan)) in (0..).zip(ranks.iter().zip(&recvs)) {
        let mut expected = plan.blank(true);
        (0..size).for_each(|from| plan.fill(&mut expected, from, from, rank));
        let right = member.recv.cells == expected.cells;
        assert!(right, "alltoall {name}, {size} ranks, {count} pairs, in place {in_place}: wrong on rank {rank}");
    }
    true
}

#[test]
fn alltoall_brings_every_block_from_everybody_to_everybody() {
    for &name in algorithms(Collective::Alltoall) {
        for size in 1..=LARGEST {
            for in_place in [false, true] {
                for count in counts(size).into_iter().filter(|&c| c < 1000 || size == 19) {
                    let mixed = size % 2 == 0 || count == 3;
                    let ran = alltoall_case(name, size, count, true, |_, _, count| count, in_place, mixed);
                    assert_eq!(
                        ran,
                        match name {
                            "host" | "bruck" | "two_level" => fits(name, size, false),
                            _ => in_place == (name == "exchange"),
                        }
                    );
                }
            }
        }
    }
}

/// Tells whether an algorithm of alltoall does not need equal blocks.
fn takes_any_sizes(name: &str, size: u32, in_place: bool) -> bool {
    match name {
        "host" => size == 2,
        "bruck" | "two_level" => fits(name, size, false) && !in_place,
        _ => in_place == (name == "exchange"),
    }
}

#[test]
fn alltoallv_takes_blocks_of_any_sizes() {
    let traffic: Traffic = |from, to, most| u64::from(from * to + from + to) % (most + 1);
    for &name in algorithms(Collective::Alltoall) {
        for size in 1..=LARGEST {
            for in_place in [false, true] {
                for most in [1, 5, 9] {
                    let ran = alltoall_case(name, size, most, false, traffic, in_place, most == 5);
                    assert_eq!(ran, takes_any_sizes(name, size, in_place));
                }
            }
        }
    }
}

/// Two ranks know each other's counts.
#[test]
fn two_ranks_cut_blocks_of_unlike_lengths_at_the_same_bytes() {
    let unlike: Traffic = |from, _, most| if from == 0 { most } else { most / 3 };
    let alike: Traffic = |from, to, most| if from == to { 1 } else { most };
    for most in [600, 1500, 2000] {
        for mixed in [false, true] {
            assert!(alltoall_case("host", 2, most, false, unlike, false, mixed));
            assert!(alltoall_case("host", 2, most, false, alike, true, mixed));
        }
    }
}

/// One rank's blocks in MPI_Alltoallw: a kind, a place and a number of pairs for every peer.
pub(super) struct TypedPlan {
    kinds: Vec<Kind>,
    pairs: Vec<u64>,
    counts: Vec<i64>,
    displs: Vec<i64>,
    sizes: Vec<i64>,
    cells: usize,
}

pub(super) fn pairs_between(a: u32, b: u32) -> u64 {
    u64::from(a * b + a + b) % 4
}

impl TypedPlan {
    /// Kinds that differ from block to block.
    pub(super) fn new(salt: u32, pairs: Vec<u64>) -> TypedPlan {
        let kinds: Vec<Kind> = (0..pairs.len() as u32).map(|block| kind(true, block + salt)).collect();
        let counts = kinds.iter().zip(&pairs).map(|(kind, pairs)| (pairs * kind.per_pair) as i64).collect();
        let sizes = kinds.iter().map(|kind| kind.layout.size as i64).collect();
        let (mut displs, mut cells) = (Vec::new(), 1);
        for (kind, &pairs) in kinds.iter().zip(&pairs) {
            displs.push(cells as i64);
            cells += kind.at(pairs) + 1;
        }
        TypedPlan { kinds, pairs, counts, displs, sizes, cells }
    }

    pub(super) fn blocks(&self) -> BlockArray<'_> {
        BlockArray::typed(IntArray::Count(&self.counts), IntArray::Count(&self.displs), IntArray::Count(&self.sizes))
    }

    /// Gaps everywhere but in the blocks; those hold `content(block, byte)`.
    pub(super) fn memory(&self, writable: bool, content: impl Fn(u32, u64) -> SymbolicCell) -> SymbolicMemory {
        let mut memory = SymbolicMemory::new(repeat_n(GAP, self.cells), CellLayout::CELL, writable);
        memory.typed = self.kinds.iter().map(|kind| kind.layout).collect();
        for (block, kind) in (0..).zip(&self.kinds) {
            let (at, pairs) = (self.displs[block as usize] as usize, self.pairs[block as usize]);
            kind.put(&mut memory, at, pairs, |at| content(block, at));
        }
        memory
    }
}

#[test]
fn alltoallw_takes_a_type_for_every_pair() {
    for &name in algorithms(Collective::Alltoall) {
        let tuning = forced(Collective::Alltoall, name);
        for size in 1..=LARGEST {
            for in_place in [false, true] {
                let pairs = |rank| (0..size).map(|peer| pairs_between(rank, peer)).collect();
                let plan = |rank, salt| TypedPlan::new(rank * 2 + salt, pairs(rank));
                let plans = |salt| (0..size).map(|rank| plan(rank, salt)).collect::<Vec<_>>();
                let (sends, recvs) = (plans(0), plans(1));
                let ranks = plan_and_run(size, &tuning, name, 1, size.into(), &mut ExprTable::default(), |rank| {
                    let (from, into) = (&sends[rank as usize], &recvs[rank as usize]);
                    let call = CollectiveCall::Alltoallw { send: from.blocks(), recv: into.blocks(), in_place };
                    let outgoing = |peer, at| byte(rank, peer, at);
                    match in_place {
                        true => RankInput { call, send: SymbolicMemory::none(), recv: into.memory(true, outgoing) },
                        false => RankInput {
                            call,
                            send: from.memory(false, outgoing),
                            recv: into.memory(true, |_, _| UNWRITTEN),
                        },
                    }
                });
                assert_eq!(ranks.is_some(), takes_any_sizes(name, size, in_place));
                for (rank, member) in (0..).zip(ranks.into_iter().flatten()) {
                    let expected = recvs[rank as usize].memory(true, |peer, at| byte(peer, rank, at));
                    assert!(
                        member.recv.cells == expected.cells,
                        "alltoallw {name}, {size} ranks: wrong on rank {rank}"
                    );
                }
            }
        }
    }
}
