//! Neighbourhood collectives on random graphs and on grids: every block comes from the edge that the standard names.
//!
//! Types of the two ends differ (other sizes, gaps between elements) as long as the bytes agree.

use super::movement::{Plan, TypedPlan, byte, kind};
use super::{LARGEST, RankInput, algorithms, fits, forced, plan_and_run};
use crate::call::{CollectiveCall, Neighbors};
use crate::check::{CheckedRank, ExprTable, SymbolicMemory, UNWRITTEN};
use crate::collective::Collective;

/// The topology of all ranks, and where each block that arrives comes from: rank and block.
struct NeighborGraph {
    sources: Vec<Vec<Option<u32>>>,
    destinations: Vec<Vec<Option<u32>>>,
    grid: bool,
    origins: Vec<Vec<Option<(u32, u32)>>>,
}

struct Random(u64);

impl Random {
    /// xorshift64: any sequence does.
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as u32 % n
    }

    fn shuffle<T>(&mut self, all: &mut [T]) {
        for i in (1..all.len()).rev() {
            all.swap(i, self.below(i as u32 + 1) as usize);
        }
    }
}

impl NeighborGraph {
    /// Any edges, some several times, some from a rank to itself, in any order at both ends, and places without a
    /// neighbour.
    fn graph(size: u32, edges: u32, seed: u64) -> NeighborGraph {
        let mut random = Random(seed | 1);
        let nobody = vec![Vec::new(); size as usize];
        let (mut sources, mut destinations) = (nobody.clone(), nobody);
        for _ in 0..edges {
            let (from, to) = (random.below(size), random.below(size));
            for _ in 0..1 + random.below(8) / 6 {
                destinations[from as usize].push(Some(to));
                sources[to as usize].push(Some(from));
            }
        }
        for list in sources.iter_mut().chain(&mut destinations) {
            list.extend((0..random.below(3)).map(|_| None));
            random.shuffle(list);
        }
        let origin = |to: u32, slot: usize| {
            let list = &sources[to as usize];
            let from = list[slot]?;
            let earlier = list[..slot].iter().filter(|&&other| other == Some(from)).count();
            let mut leaving = destinations[from as usize].iter().enumerate().filter(|&(_, &other)| other == Some(to));
            let (block, _) = leaving.nth(earlier).expect("as many leave as arrive");
            Some((from, block as u32))
        };
        let slots = |to: u32| 0..sources[to as usize].len();
        let origins = (0..size).map(|to| slots(to).map(|slot| origin(to, slot)).collect()).collect();
        NeighborGraph { sources, destinations, grid: false, origins }
    }

    /// The neighbours of a grid, by the example of MPI-5.0 §8.6 with MPI_Cart_shift and MPI_Sendrecv.
    fn grid(dims: &[u32], periodic: &[bool]) -> NeighborGraph {
        let size: u32 = dims.iter().product();
        let weight = |d: usize| dims[d + 1..].iter().product::<u32>();
        let step = |rank: u32, d: usize, by: i64| {
            let at = i64::from(rank / weight(d) % dims[d]);
            let (to, dim) = (at + by, i64::from(dims[d]));
            if !periodic[d] && !(0..dim).contains(&to) {
                return None;
            }
            Some((i64::from(rank) + (to.rem_euclid(dim) - at) * i64::from(weight(d))) as u32)
        };
        let (mut sources, mut origins) = (Vec::new(), Vec::new());
        for rank in 0..size {
            let (mut neighbors, mut from) = (Vec::new(), Vec::new());
            for d in 0..dims.len() {
                let (before, after) = (step(rank, d, -1), step(rank, d, 1));
                neighbors.extend([before, after]);
                from.extend([before.map(|rank| (rank, 2 * d as u32 + 1)), after.map(|rank| (rank, 2 * d as u32))]);
            }
            sources.push(neighbors);
            origins.push(from);
        }
        NeighborGraph { destinations: sources.clone(), sources, grid: true, origins }
    }

    fn size(&self) -> u32 {
        self.sources.len() as u32
    }

    fn neighbors(&self, rank: u32) -> Neighbors<'_> {
        let rank = rank as usize;
        Neighbors { sources: &self.sources[rank], destinations: &self.destinations[rank], grid: self.grid }
    }

    /// The number of pairs of each block that arrives at `rank`, from its sender's blocks.
    fn arriving(&self, rank: u32, leaving: impl Fn(u32, u32) -> u64) -> Vec<u64> {
        self.origins[rank as usize]
            .iter()
            .map(|origin| origin.map_or(3, |(from, block)| leaving(from, block)))
            .collect()
    }

    fn leaving(&self, rank: u32, pairs: impl Fn(u32, u32) -> u64) -> Vec<u64> {
        (0..self.destinations[rank as usize].len() as u32).map(|block| pairs(rank, block)).collect()
    }

    /// Direct, or by hosts if there are some.
    fn plan_and_run<'a>(&self, name: &str, seed: u64, part: impl Fn(u32) -> RankInput<'a>) -> Vec<CheckedRank> {
        let name = if fits(name, self.size(), false) { name } else { "direct" };
        let tuning = forced(Collective::Neighbor, name);
        plan_and_run(self.size(), &tuning, name, 1, seed, &mut ExprTable::default(), part).expect("it fits")
    }

    /// The expected contents of a receive buffer of blocks; a block that no rank sends stays as it was.
    fn expected(&self, rank: u32, plan: &Plan) -> SymbolicMemory {
        let mut memory = plan.blank(true);
        for (slot, origin) in (0..).zip(&self.origins[rank as usize]) {
            if let Some((from, block)) = *origin {
                plan.fill(&mut memory, slot, from, block);
            }
        }
        memory
    }

    fn allgather(&self, name: &str, seed: u64, regular: bool) {
        let pairs = |rank: u32, _| if regular { 3 } else { u64::from(rank * 5 + 2) % 4 };
        let plans: Vec<Plan> = (0..self.size())
            .map(|rank| Plan::blocks_of(kind(true, rank + 1), self.arriving(rank, pairs), regular))
            .collect();
        let ranks = self.plan_and_run(name, seed, |rank| {
            let (kind, plan) = (kind(true, rank), &plans[rank as usize]);
            let (neighbors, send) = (self.neighbors(rank), kind.data(pairs(rank, 0)));
            let call = CollectiveCall::NeighborAllgather { neighbors, send, recv: plan.blocks(regular) };
            RankInput { call, send: kind.filled(pairs(rank, 0), rank, 0), recv: plan.blank(true) }
        });
        for (rank, (member, plan)) in (0..).zip(ranks.iter().zip(&plans)) {
            let mut expected = plan.blank(true);
            for (slot, origin) in (0..).zip(&self.origins[rank as usize]) {
                if let Some((from, _)) = *origin {
                    plan.fill(&mut expected, slot, from, 0);
                }
            }
            assert!(member.recv.cells == expected.cells, "allgather among {:?}: wrong on rank {rank}", self.sources);
        }
    }

    fn alltoall(&self, name: &str, seed: u64, regular: bool) {
        let pairs = |rank: u32, block: u32| if regular { 3 } else { u64::from(rank * 3 + block * 5 + 1) % 4 };
        let plan = |salt, pairs| Plan::blocks_of(kind(true, salt), pairs, regular);
        let all = 0..self.size();
        let sends: Vec<Plan> = all.clone().map(|rank| plan(rank, self.leaving(rank, pairs))).collect();
        let recvs: Vec<Plan> = all.map(|rank| plan(rank + 1, self.arriving(rank, pairs))).collect();
        let ranks = self.plan_and_run(name, seed, |rank| {
            let (from, into) = (&sends[rank as usize], &recvs[rank as usize]);
            let mut send = from.blank(false);
            (0..self.destinations[rank as usize].len() as u32).for_each(|i| from.fill(&mut send, i, rank, i));
            let (neighbors, send_blocks) = (self.neighbors(rank), from.blocks(regular));
            let call = CollectiveCall::NeighborAlltoall { neighbors, send: send_blocks, recv: into.blocks(regular) };
            RankInput { call, send, recv: into.blank(true) }
        });
        for (rank, (member, plan)) in (0..).zip(ranks.iter().zip(&recvs)) {
            let right = member.recv.cells == self.expected(rank, plan).cells;
            assert!(right, "alltoall among {:?}: wrong on rank {rank}", self.sources);
        }
    }

    fn alltoallw(&self, name: &str, seed: u64) {
        let pairs = |rank: u32, block: u32| u64::from(rank * 3 + block * 5 + 1) % 4;
        let all = 0..self.size();
        let sends: Vec<_> = all.clone().map(|rank| TypedPlan::new(rank, self.leaving(rank, pairs))).collect();
        let recvs: Vec<_> = all.map(|rank| TypedPlan::new(rank + 1, self.arriving(rank, pairs))).collect();
        let ranks = self.plan_and_run(name, seed, |rank| {
            let (from, into) = (&sends[rank as usize], &recvs[rank as usize]);
            let call = CollectiveCall::NeighborAlltoall {
                neighbors: self.neighbors(rank),
                send: from.blocks(),
                recv: into.blocks(),
            };
            let send = from.memory(false, |block, at| byte(rank, block, at));
            RankInput { call, send, recv: into.memory(true, |_, _| UNWRITTEN) }
        });
        for (rank, (member, plan)) in (0..).zip(ranks.iter().zip(&recvs)) {
            let origins = &self.origins[rank as usize];
            let expected = plan.memory(true, |slot, at| {
                origins[slot as usize].map_or(UNWRITTEN, |(from, block)| byte(from, block, at))
            });
            assert!(member.recv.cells == expected.cells, "alltoallw among {:?}: wrong on rank {rank}", self.sources);
        }
    }

    fn all_forms(&self) {
        // All messages eager, all synchronous, and two mixtures (`check::run`).
        for (seed, name) in
            (0..4).flat_map(|seed| algorithms(Collective::Neighbor).iter().map(move |name| (seed, name)))
        {
            for regular in [true, false] {
                self.allgather(name, seed, regular);
                self.alltoall(name, seed, regular);
            }
            self.alltoallw(name, seed);
        }
    }
}

#[test]
fn blocks_come_along_every_edge_of_any_graph() {
    for seed in 1..=300 {
        let size = 1 + (seed % 13) as u32;
        NeighborGraph::graph(size, (seed * 7 % 40) as u32, seed * 0x9e37_79b9).all_forms();
    }
    for size in 1..=LARGEST {
        NeighborGraph::graph(size, 8 * size, size.into()).all_forms();
    }
}

#[test]
fn blocks_cross_a_grid_in_the_direction_in_which_they_left() {
    let (sides, walls) = ([1, 2, 3, 4], [false, true]);
    NeighborGraph::grid(&[], &[]).all_forms();
    for a in sides {
        for p in walls {
            NeighborGraph::grid(&[a], &[p]).all_forms();
            for (b, q) in sides.into_iter().flat_map(|b| walls.map(|q| (b, q))) {
                NeighborGraph::grid(&[a, b], &[p, q]).all_forms();
                for (c, r) in sides.into_iter().flat_map(|c| walls.map(|r| (c, r))) {
                    NeighborGraph::grid(&[a, b, c], &[p, q, r]).all_forms();
                }
            }
        }
    }
}
