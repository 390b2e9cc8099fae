//! MPI_Bcast.
//!
//! | algorithm | source | rounds | bytes that a rank sends at most |
//! |---|---|---|---|
//! | host | flags and a buffer in the job's segment | ⌈n / limit⌉ shm steps | n into the segment |
//! | two_level | to one rank a host, then to its others; MPICH "smp" | those of both parts | those of both parts |
//! | binomial | MPICH "binomial" | ⌈log2 p⌉ | n ⌈log2 p⌉ at the root |
//! | scatter_ring | van de Geijn; MPICH "scatter_ring_allgather" | ⌈log2 p⌉ + p − 1 | about 2 n |
//! | chain | pipelined chain; Open MPI "pipeline" | p − 2 + n / segment | n |
//!
//! n is the length of the data in bytes, p the number of ranks; limit is `ScheduleLimits::shm_step_bytes`, and
//! segment is the result of `segment_bytes`. The column "source" has the origin of an algorithm, or in brief how it
//! works.
//!
//! Datatypes may differ from rank to rank if their bytes agree, so an algorithm that divides the data divides bytes,
//! not elements. For this a buffer that is not dense is packed into scratch memory first, and unpacked at the end.

use crate::algorithm::Algorithm;
use crate::binomial_tree::BinomialTree;
use crate::call::{BlockBuffer, RankAndSize};
use crate::cost_model::CallShape;
use crate::host_map::Subgroup;
use crate::schedule::{BufferId, Schedule, ShmStep, Span};
use crate::tuning::Tuning;
use crate::two_level::cost_of_both;

pub(crate) struct Args {
    pub root: u32,
    pub data: BlockBuffer,
}

pub(crate) const ALGORITHMS: &[Algorithm<Args>] = &[
    Algorithm {
        name: "host",
        fits: |s, _| s.has_shm_steps,
        cost: |s, t| {
            t.model.pipelined_steps_us(s, t.limits.shm_steps(s.bytes))
                + s.n() * (1.0 + 1.0 / t.model.load) * t.model.copy_us
        },
        build: shm,
    },
    Algorithm {
        name: "scatter_ring",
        fits: |_, _| true,
        cost: |s, t| {
            (s.levels() + s.p() - 1.0) * t.model.message_us + 2.0 * s.n() * (s.p() - 1.0) / s.p() * t.model.byte_us
        },
        build: scatter_ring,
    },
    Algorithm {
        name: "chain",
        fits: |_, _| true,
        cost: |s, t| {
            let segment = segment_bytes(s.bytes, s.size, t);
            let rounds = s.p() - 2.0 + s.bytes.div_ceil(segment) as f64;
            rounds * t.model.message_cost_us(segment as f64)
        },
        build: chain,
    },
    Algorithm {
        name: "two_level",
        fits: |_, t| t.hosts.is_some(),
        cost: |s, t| cost_of_both(ALGORITHMS, s, t),
        build: two_level,
    },
    Algorithm {
        name: "binomial",
        fits: |_, _| true,
        cost: |s, t| s.levels() * t.model.message_cost_us(s.n()),
        build: binomial,
    },
];

impl Args {
    pub fn shape(&self, place: RankAndSize, tuning: &Tuning) -> CallShape {
        CallShape {
            size: place.size,
            bytes: self.data.bytes(),
            uniform: true,
            commutative: true,
            in_place: true,
            has_shm_steps: tuning.one_host && place.size > 1,
        }
    }
}

/// The minimum length of a segment of `chain`, in bytes. In messages that are shorter than a page the fixed cost
/// exceeds the cost of the bytes in every cost model.
const SEGMENT_MIN: u64 = 4096;

/// Returns the length in bytes of a segment of `chain`: short segments fill the chain sooner, long ones need fewer
/// messages. The best length is √(n α / ((p − 2) β)), where α is the fixed cost of a message and β the cost of a
/// byte.
fn segment_bytes(bytes: u64, size: u32, t: &Tuning) -> u64 {
    let hops = f64::from(size.saturating_sub(2).max(1));
    let best = (bytes as f64 * t.model.message_us / (hops * t.model.byte_us)).sqrt();
    (best as u64).max(SEGMENT_MIN)
}

fn binomial(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let tree = BinomialTree::new(place, args.root);
    let data = args.data.span(BufferId::Recv);
    if let Some(parent) = tree.parent() {
        s.recv(parent, data);
        s.end_round();
    }
    for child in tree.children().rev() {
        s.send(child.rank, data);
    }
}

/// Returns the buffer with the data as one piece of bytes: the user's buffer if it is dense, otherwise scratch
/// memory, into which the root packs the data.
fn contiguous_buffer(args: &Args, place: RankAndSize, s: &mut Schedule) -> BufferId {
    if args.data.dense {
        return BufferId::Recv;
    }
    let packed = s.scratch_bytes(args.data.bytes());
    if place.rank == args.root {
        s.copy(args.data.span(BufferId::Recv), Span::bytes(packed, 0, args.data.bytes()));
    }
    packed
}

fn unpack_contiguous(args: &Args, place: RankAndSize, buffer: BufferId, s: &mut Schedule) {
    if buffer != BufferId::Recv && place.rank != args.root {
        s.copy(Span::bytes(buffer, 0, args.data.bytes()), args.data.span(BufferId::Recv));
    }
}

/// The data are divided into p chunks. Relative rank v gets chunk v down a binomial tree; then all chunks are sent
/// around the ring, except to ranks that have got them by the tree already.
fn scatter_ring(args: &Args, place: RankAndSize, _: &Tuning, s: &mut Schedule) {
    let tree = BinomialTree::new(place, args.root);
    let (size, bytes) = (place.size, args.data.bytes());
    let buffer = contiguous_buffer(args, place, s);
    let each = bytes.div_ceil(size.into());
    let chunks = |first: u32, count: u32| {
        let start = (u64::from(first) * each).min(bytes);
        Span::bytes(buffer, start, (u64::from(first + count) * each).min(bytes) - start)
    };
    if let Some(parent) = tree.parent() {
        s.recv(parent, chunks(tree.relative_rank, tree.subtree_size()));
        s.end_round();
    }
    for child in tree.children().rev() {
        s.send(child.rank, chunks(tree.relative_rank + child.offset, child.subtree_size));
    }
    s.end_round();

    let next = BinomialTree::new(RankAndSize { rank: place.after(1 % size), size }, args.root);
    let has = |tree: &BinomialTree, chunk: u32| {
        (tree.relative_rank..tree.relative_rank + tree.subtree_size()).contains(&chunk)
    };
    for step in 0..size - 1 {
        let (send_chunk, recv_chunk) =
            ((tree.relative_rank + size - step) % size, (tree.relative_rank + size - step - 1) % size);
        if !has(&next, send_chunk) {
            s.send(place.after(1), chunks(send_chunk, 1));
        }
        if !has(&tree, recv_chunk) {
            s.recv(place.before(1), chunks(recv_chunk, 1));
        }
        s.end_round();
    }
    unpack_contiguous(args, place, buffer, s);
}

/// Each rank sends a segment to the next rank while it receives the following segment.
fn chain(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let v = place.before(args.root);
    let bytes = args.data.bytes();
    let buffer = contiguous_buffer(args, place, s);
    let each = segment_bytes(bytes, place.size, t);
    let segment = |i: u64| Span::bytes(buffer, i * each, each.min(bytes - i * each));
    let segments = bytes.div_ceil(each);
    for i in 0..=segments {
        if v + 1 < place.size && i > 0 {
            s.send(place.after(1), segment(i - 1));
        }
        if v > 0 && i < segments {
            s.recv(place.before(1), segment(i));
        }
        s.end_round();
    }
    unpack_contiguous(args, place, buffer, s);
}

fn two_level(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let hosts = t.known_hosts();
    let (leaders, local) = (hosts.leaders(Some(args.root)), hosts.local(place.rank));
    let mut part = |subgroup: &Subgroup, root: u32, tuning: &Tuning| {
        let args = Args { root: subgroup.index(root), data: args.data };
        subgroup.append_collective(ALGORITHMS, &args, &args.shape(subgroup.place, tuning), tuning, s);
    };
    if let Some(leader_group) = Subgroup::of(&leaders, place.rank) {
        part(&leader_group, args.root, &t.between_hosts());
    }
    part(&local, leaders[hosts.host_of(place.rank) as usize], &t.on_host());
}

fn shm(args: &Args, place: RankAndSize, t: &Tuning, s: &mut Schedule) {
    let (root, bytes, limit) = (args.root, args.data.bytes(), t.limits.shm_step_bytes);
    if bytes == 0 {
        return;
    }
    if bytes <= limit {
        return s.shm_step(ShmStep::Bcast { root, span: args.data.span(BufferId::Recv) });
    }
    let buffer = contiguous_buffer(args, place, s);
    for at in (0..bytes).step_by(limit as usize) {
        s.shm_step(ShmStep::Bcast { root, span: Span::bytes(buffer, at, limit.min(bytes - at)) });
    }
    unpack_contiguous(args, place, buffer, s);
}
