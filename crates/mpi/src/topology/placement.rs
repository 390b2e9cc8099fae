//! Placement of reordered ranks: the ranks of one host get places (coordinates of a grid, nodes of a graph) close
//! together in the topology, so that less data crosses the network.
//!
//! Every rank computes the same order from the whole topology and from the hosts of all ranks, which it reads in its
//! host's segment. An order is the list of the rank at each place. Several candidates are compared by the weight of
//! the edges between hosts. If none is better than the order without reordering, that order stays, as it always does
//! on one host. If there are fewer places than ranks, the first ranks of the communicator get them, as without
//! reordering.
//!
//! Used by `cart`, `graph` and `dist_graph`; uses `shape::cart`, `coll::ranks_by_host` and `job::Segment`.

use crate::comm::Comm;
use crate::process::Process;
use crate::shape::cart::Cart;
use hawser_coll::ranks_by_host;
use std::collections::BinaryHeap;

/// An edge: its two places, and its weight.
pub type WeightedEdge = (u32, u32, u32);

/// The rank of `comm` that comes to each place of a grid.
pub fn of_grid(process: &Process, comm: &Comm, cart: &Cart) -> Vec<u32> {
    let hosts = hosts(process, comm, cart.cells());
    hosts.map_or_else(|| (0..cart.cells()).collect(), |hosts| on_grid(cart, &hosts))
}

/// The rank of `comm` that comes to each node of a graph. `edges` is called only if the members are on several hosts.
pub fn of_graph(process: &Process, comm: &Comm, nodes: u32, edges: impl FnOnce() -> Vec<WeightedEdge>) -> Vec<u32> {
    hosts(process, comm, nodes).map_or_else(|| (0..nodes).collect(), |hosts| on_graph(&hosts, &edges()))
}

/// The number of the host of each of the first `places` ranks of `comm`; None if all its members are on one host.
fn hosts(process: &Process, comm: &Comm, places: u32) -> Option<Vec<u32>> {
    let of = || comm.group().peers().take(places as usize).map(|peer| process.segment().host_of(peer)).collect();
    (!comm.is_on_one_host(process)).then(of)
}

fn on_grid(cart: &Cart, hosts: &[u32]) -> Vec<u32> {
    let edges: Vec<WeightedEdge> = (0..cart.cells())
        .flat_map(|from| cart.neighbors(from).into_iter().flatten().map(move |to| (from, to, 1)))
        .filter(|(from, to, _)| from < to)
        .collect();
    let members = HostMembers::of(hosts);
    let walks = blocks(cart, members.largest()).into_iter().map(|block| members.in_order_of_walk(walk(cart, &block)));
    least_crossing(hosts, &edges, walks.chain([members.by_growth(&edges)]))
}

fn on_graph(hosts: &[u32], edges: &[WeightedEdge]) -> Vec<u32> {
    least_crossing(hosts, edges, [HostMembers::of(hosts).by_growth(edges)].into_iter())
}

/// The candidate with the least weight of edges between hosts; the unchanged order if no candidate has less weight
/// than that.
fn least_crossing(hosts: &[u32], edges: &[WeightedEdge], candidates: impl Iterator<Item = Vec<u32>>) -> Vec<u32> {
    let crossing = |order: &[u32]| -> u64 {
        let host = |place: u32| hosts[order[place as usize] as usize];
        edges.iter().filter(|&&(from, to, _)| host(from) != host(to)).map(|&(_, _, weight)| u64::from(weight)).sum()
    };
    let unchanged: Vec<u32> = (0..hosts.len() as u32).collect();
    let weighed = std::iter::once(unchanged).chain(candidates).map(|order| (crossing(&order), order));
    // The first of several orders with equal weights is taken.
    weighed.reduce(|best, next| if next.0 < best.0 { next } else { best }).map_or_else(Vec::new, |(_, order)| order)
}

/// The ranks of each host; the hosts are in the order of their first ranks.
struct HostMembers(Vec<Vec<u32>>);

impl HostMembers {
    fn of(hosts: &[u32]) -> HostMembers {
        HostMembers(ranks_by_host(hosts.iter().copied()).1)
    }

    fn largest(&self) -> u32 {
        self.0.iter().map(Vec::len).max().unwrap_or(0) as u32
    }

    /// Puts the ranks, host after host, onto the places in the order of `walk`; returns the rank at each place.
    fn in_order_of_walk(&self, walk: Vec<u32>) -> Vec<u32> {
        let mut order = vec![0; walk.len()];
        walk.into_iter().zip(self.0.iter().flatten()).for_each(|(place, &rank)| order[place as usize] = rank);
        order
    }

    /// Puts the ranks, host after host, onto the places of the graph. The places of each host are one part, which
    /// grows by the place that has the greatest weight of edges into the part. Returns the rank at each place.
    fn by_growth(&self, edges: &[WeightedEdge]) -> Vec<u32> {
        let places = self.0.iter().map(Vec::len).sum();
        let mut neighbors = vec![Vec::new(); places];
        for &(from, to, weight) in edges {
            neighbors[from as usize].push((to, weight));
            neighbors[to as usize].push((from, weight));
        }
        let mut walk = Vec::with_capacity(places);
        let mut is_placed = vec![false; places];
        for ranks in &self.0 {
            grow_part(&neighbors, &mut is_placed, ranks.len(), &mut walk);
        }
        self.in_order_of_walk(walk)
    }
}

/// Adds the `count` places of one host, which are its part, to the end of `walk`.
fn grow_part(neighbors: &[Vec<(u32, u32)>], is_placed: &mut [bool], count: usize, walk: &mut Vec<u32>) {
    let mut edge_weights = vec![0u64; neighbors.len()];
    // Places next to the part: first those with the greatest weight of edges into the part, and of equal ones the
    // lowest. A place whose weight has grown is in the heap more than once.
    let mut frontier = BinaryHeap::new();
    for _ in 0..count {
        let most = std::iter::from_fn(|| frontier.pop()).map(|(_, std::cmp::Reverse(place))| place);
        let next = most.into_iter().find(|&place: &u32| !is_placed[place as usize]);
        // A part without free neighbours continues at the free place that has the fewest free neighbours.
        let free =
            |place: u32| neighbors[place as usize].iter().filter(|(other, _)| !is_placed[*other as usize]).count();
        let fallback = || (0..neighbors.len() as u32).filter(|&p| !is_placed[p as usize]).min_by_key(|&p| (free(p), p));
        let place = next.or_else(fallback).expect("a place for each rank");
        is_placed[place as usize] = true;
        walk.push(place);
        for &(other, weight) in &neighbors[place as usize] {
            if !is_placed[other as usize] {
                edge_weights[other as usize] += u64::from(weight);
                frontier.push((edge_weights[other as usize], std::cmp::Reverse(other)));
            }
        }
    }
}

/// The sides of the largest blocks that tile the grid and have at most `ranks` places; `ranks` is the number of ranks
/// of the largest host.
fn blocks(cart: &Cart, ranks: u32) -> Vec<Vec<u32>> {
    let mut found: Vec<Vec<u32>> = vec![Vec::new()];
    for dim in cart.dims() {
        let sides = (1..=dim.size.min(ranks)).filter(|side| dim.size.is_multiple_of(*side));
        let volume = |block: &[u32]| block.iter().product::<u32>();
        let longer =
            |side| found.iter().filter(move |b| volume(b) * side <= ranks).map(move |b| [&b[..], &[side]].concat());
        found = sides.flat_map(longer).collect();
    }
    let volume = |block: &Vec<u32>| block.iter().product::<u32>();
    let most = found.iter().map(volume).max().unwrap_or(0);
    found.retain(|block| volume(block) == most);
    found
}

/// All places, block after block, and inside a block in the order of their ranks.
fn walk(cart: &Cart, block: &[u32]) -> Vec<u32> {
    let mut walk: Vec<u32> = (0..cart.cells()).collect();
    walk.sort_by_cached_key(|&place| {
        let coords = cart.coords(place);
        coords.iter().zip(block).map(|(at, side)| at / side).collect::<Vec<u32>>()
    });
    walk
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(dims: &[i32], hosts: &[u32]) -> (Vec<u32>, [usize; 2]) {
        let cart = Cart::new(dims, &vec![0; dims.len()], hosts.len() as u32).unwrap();
        let order = on_grid(&cart, hosts);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..cart.cells()).collect::<Vec<_>>(), "each rank once");
        let crossing = |host: &dyn Fn(u32) -> u32| {
            let across =
                |from: u32| cart.neighbors(from).into_iter().flatten().filter(|&to| host(from) != host(to)).count();
            (0..cart.cells()).map(across).sum::<usize>() / 2
        };
        let counts = [crossing(&|place| hosts[place as usize]), crossing(&|p| hosts[order[p as usize] as usize])];
        (order, counts)
    }

    /// Hosts that take turns, as by mpiexec's round robin.
    fn in_turn(hosts: u32, ranks: u32) -> Vec<u32> {
        (0..ranks).map(|rank| rank % hosts).collect()
    }

    fn in_runs(hosts: u32, ranks: u32) -> Vec<u32> {
        (0..ranks).map(|rank| rank / (ranks / hosts)).collect()
    }

    #[test]
    fn four_hosts_of_four_take_a_quarter_of_a_square_each() {
        let (order, [before, after]) = grid(&[4, 4], &in_runs(4, 16));
        assert_eq!(order, [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]);
        assert_eq!([before, after], [12, 8]);
        let (order, counts) = grid(&[4, 4], &in_turn(4, 16));
        assert_eq!(counts, [12, 8], "{order:?}");
    }

    #[test]
    fn an_order_that_is_as_good_stays() {
        for (dims, hosts) in [(vec![4, 2], in_runs(4, 8)), (vec![8], in_runs(2, 8)), (vec![2, 2, 2], in_runs(2, 8))] {
            assert_eq!(grid(&dims, &hosts).0, (0..8).collect::<Vec<_>>(), "{dims:?}");
        }
    }

    #[test]
    fn hosts_of_any_sizes_never_make_it_worse() {
        let uneven = |ranks: u32, salt: u32| (0..ranks).map(|rank| (rank * rank + salt) % 7 % 3).collect::<Vec<_>>();
        for dims in [&[6, 6][..], &[5, 7], &[3, 4, 3], &[12, 1], &[2, 3, 2, 3]] {
            let ranks = dims.iter().product::<i32>() as u32;
            for salt in 0..7 {
                let [before, after] = grid(dims, &uneven(ranks, salt)).1;
                assert!(after < before, "{dims:?}: {before} edges between hosts became {after}");
            }
        }
    }

    #[test]
    fn cubes_of_a_large_grid_are_found() {
        let (_, [before, after]) = grid(&[16, 16, 16], &in_runs(64, 4096));
        // Cubes of 4: three walls of 16 x 16 in each direction.
        assert_eq!(after, 3 * 3 * 256);
        assert!(before > after);
    }

    #[test]
    fn a_graph_is_cut_where_few_edges_are() {
        // Two rings of four with one edge between them, their nodes in turn; hosts in runs.
        let ring = |first: u32| (0..4).map(move |i| (first + 2 * i, first + 2 * ((i + 1) % 4), 1));
        let edges: Vec<WeightedEdge> = ring(0).chain(ring(1)).chain([(2, 5, 1)]).collect();
        let hosts = in_runs(2, 8);
        let order = on_graph(&hosts, &edges);
        let across =
            edges.iter().filter(|(a, b, _)| hosts[order[*a as usize] as usize] != hosts[order[*b as usize] as usize]);
        assert_eq!(across.count(), 1, "{order:?}");
        assert_eq!(on_graph(&hosts, &[]), (0..8).collect::<Vec<_>>());
        assert_eq!(on_graph(&[], &[]), []);
    }

    #[test]
    fn heavy_edges_stay_on_a_host() {
        let order = on_graph(&[0, 0, 1, 1], &[(0, 1, 1), (2, 3, 1), (0, 2, 9), (1, 3, 9)]);
        let host = |place: usize| [0, 0, 1, 1][order[place] as usize];
        assert_eq!((host(0), host(1)), (host(2), host(3)));
    }
}
