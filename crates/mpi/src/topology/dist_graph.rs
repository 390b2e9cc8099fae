//! Distributed graphs: each rank knows the edges that enter and leave it (MPI-5.0 §8.5.4, §8.5.5).
//!
//! Used by `abi::topology`; uses `placement`, `make_topology_comm`, and `collective::internal`, by which ranks
//! exchange edges.

use super::{make_topology_comm, old_comm, placement};
use crate::collective::internal::CollectiveScope;
use crate::comm::{Comm, CommRef};
use crate::process::{self, Process};
use crate::shape::{DistGraph, Neighborhood, Topology, TopologyKind};
use hawser_base::value::PROC_NULL;
use hawser_base::{Class, Error, Handle, Result};

/// The edges that enter or that leave a rank, as the application passes them.
#[derive(Clone, Copy, Debug)]
pub struct EdgeArgs<'a> {
    pub name: &'static str,
    pub ranks: &'a [i32],
    pub weights: Option<&'a [i32]>,
}

/// The edges that one rank passes to MPI_Dist_graph_create: first those that leave the first of `sources`, then those
/// that leave the second, and so on.
#[derive(Clone, Copy, Debug)]
pub struct OutEdges<'a> {
    pub sources: &'a [i32],
    pub degrees: &'a [i32],
    pub destinations: &'a [i32],
    pub weights: Option<&'a [i32]>,
}

/// The neighbours of a rank in one direction, each with the weight of its edge, in the application's order. None is
/// MPI_PROC_NULL.
type NeighborList = Vec<(Option<u32>, u32)>;

/// The edges of a node (a rank of the graph): those that enter it from `sources`, and those that leave it to
/// `destinations`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NodeEdges {
    sources: NeighborList,
    destinations: NeighborList,
}

/// The weight of an edge without one, for placement.
const DEFAULT_WEIGHT: u32 = 1;

/// The graph of a communicator, and its rank's neighbours (MPI_ERR_TOPOLOGY).
pub fn of(comm: &Comm) -> Result<(&DistGraph, &Neighborhood)> {
    match comm.topology().map(|topology| (&topology.kind, &topology.neighborhood)) {
        Some((TopologyKind::DistGraph(graph), neighborhood)) => Ok((graph, neighborhood)),
        _ => Err(comm.no_topology("distributed graph topology", "MPI_Dist_graph_create makes a communicator with one")),
    }
}

/// MPI_Dist_graph_create_adjacent.
pub fn create_adjacent(
    comm: Handle,
    sources: EdgeArgs<'_>,
    destinations: EdgeArgs<'_>,
    reorder: bool,
) -> Result<Handle> {
    let process = process::get()?;
    let old = old_comm(process, comm)?;
    let node = NodeEdges { sources: neighbor_list(&old, &sources)?, destinations: neighbor_list(&old, &destinations)? };
    make_graph_comm(process, "MPI_Dist_graph_create_adjacent", &old, node, sources.weights.is_some(), reorder)
}

/// MPI_Dist_graph_create.
pub fn create(comm: Handle, out_edges: OutEdges<'_>, reorder: bool) -> Result<Handle> {
    const NAME: &str = "MPI_Dist_graph_create";
    let process = process::get()?;
    let old = old_comm(process, comm)?;
    let encoded = edges_by_rank(&out_edges, old.size())?;
    let received = CollectiveScope::Comm(&old).alltoallv(process, NAME, &encoded)?;
    let node = NodeEdges::decode_all(&received.concat());
    make_graph_comm(process, NAME, &old, node, out_edges.weights.is_some(), reorder)
}

/// The flag of an edge that enters the rank that receives the word. A word encodes an edge of that rank: the weight
/// in the lower half, the neighbour in the upper half, and this flag in the top bit.
const INCOMING: u64 = 1 << 63;
/// The value in place of the neighbour that stands for MPI_PROC_NULL: no rank is as high, since a communicator has
/// fewer than 2^31 ranks.
const NO_RANK: u64 = (1 << 31) - 1;

fn encode(peer: Option<u32>, weight: u32) -> u64 {
    peer.map_or(NO_RANK, u64::from) << 32 | u64::from(weight)
}

fn decode(word: u64) -> (Option<u32>, u32) {
    let peer = word >> 32 & NO_RANK;
    ((peer != NO_RANK).then_some(peer as u32), word as u32)
}

/// Returns for each rank the encoded edges that must be sent to it (MPI_ERR_ARG, MPI_ERR_RANK).
fn edges_by_rank(out_edges: &OutEdges<'_>, size: u32) -> Result<Vec<Vec<u64>>> {
    let mut encoded = vec![Vec::new(); size as usize];
    let rank = |name: &str, i: usize, rank: i32| match u32::try_from(rank) {
        Ok(rank) if rank < size => Ok(rank),
        _ => Err(no_rank(name, i, rank, size)),
    };
    let mut edge = 0;
    for (i, (&from, &degree)) in out_edges.sources.iter().zip(out_edges.degrees).enumerate() {
        let from = rank("sources", i, from)?;
        for _ in 0..degree {
            let to = rank("destinations", edge, out_edges.destinations[edge])?;
            let weight =
                out_edges.weights.map_or(Ok(DEFAULT_WEIGHT), |weights| weight("weights", edge, weights[edge]))?;
            encoded[from as usize].push(encode(Some(to), weight));
            encoded[to as usize].push(encode(Some(from), weight) | INCOMING);
            edge += 1;
        }
    }
    Ok(encoded)
}

fn neighbor_list(comm: &Comm, edges: &EdgeArgs<'_>) -> Result<NeighborList> {
    let weights = |i: usize| edges.weights.map_or(Ok(DEFAULT_WEIGHT), |weights| weight(edges.name, i, weights[i]));
    let one = |(i, &rank): (usize, &i32)| {
        let peer = match u32::try_from(rank) {
            Ok(rank) if rank < comm.size() => Some(rank),
            // MPI does not mention MPI_PROC_NULL as a neighbour here, and MPICH accepts it.
            _ if rank == PROC_NULL => None,
            _ => return Err(no_rank(edges.name, i, rank, comm.size())),
        };
        Ok((peer, weights(i)?))
    };
    edges.ranks.iter().enumerate().map(one).collect()
}

#[cold]
fn no_rank(name: &str, i: usize, rank: i32, size: u32) -> Error {
    Error::new(Class::Rank, format!("{name}[{i}] is {rank}, outside 0..={} of the communicator", size - 1))
}

fn weight(name: &str, i: usize, weight: i32) -> Result<u32> {
    u32::try_from(weight)
        .map_err(|_| Error::new(Class::Arg, format!("the weight of {name}[{i}] is {weight}; it must not be negative")))
}

/// Makes the communicator with the graph. If ranks are reordered, each process takes over the edges of the node (an
/// old rank) that has the number of its new rank.
fn make_graph_comm(
    process: &'static Process,
    name: &'static str,
    old: &CommRef,
    node: NodeEdges,
    weighted: bool,
    reorder: bool,
) -> Result<Handle> {
    let unchanged: Vec<u32> = (0..old.size()).collect();
    if !reorder || old.is_on_one_host(process) {
        return make_topology_comm(process, name, old, &unchanged, |_| node.topology(weighted));
    }
    let received = CollectiveScope::Comm(old).alltoallv(process, name, &vec![node.encode_all(); unchanged.len()])?;
    let mut nodes: Vec<NodeEdges> = received.iter().map(|encoded| NodeEdges::decode_all(encoded)).collect();
    let out_edges_of = |(from, node): (u32, &NodeEdges)| -> Vec<placement::WeightedEdge> {
        node.destinations.iter().filter_map(|&(to, weight)| Some((from, to?, weight))).collect()
    };
    let edges = || (0..).zip(&nodes).flat_map(out_edges_of).collect();
    let ranks = placement::of_graph(process, old, old.size(), edges);
    make_topology_comm(process, name, old, &ranks, |rank| nodes.swap_remove(rank as usize).topology(weighted))
}

impl NodeEdges {
    fn encode_all(&self) -> Vec<u64> {
        let incoming = self.sources.iter().map(|&(peer, weight)| encode(peer, weight) | INCOMING);
        incoming.chain(self.destinations.iter().map(|&(peer, weight)| encode(peer, weight))).collect()
    }

    fn decode_all(encoded: &[u64]) -> NodeEdges {
        let mut node = NodeEdges::default();
        for &word in encoded {
            let list = if word & INCOMING == 0 { &mut node.destinations } else { &mut node.sources };
            list.push(decode(word));
        }
        node
    }

    fn topology(self, weighted: bool) -> Topology {
        let weights = |list: &NeighborList| weighted.then(|| list.iter().map(|&(_, weight)| weight).collect());
        let graph =
            DistGraph { source_weights: weights(&self.sources), destination_weights: weights(&self.destinations) };
        let peers = |list: NeighborList| list.into_iter().map(|(peer, _)| peer).collect();
        Topology::dist_graph(
            graph,
            Neighborhood { sources: peers(self.sources), destinations: peers(self.destinations) },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_an_edge_hear_of_it() {
        let out_edges =
            OutEdges { sources: &[2, 0], degrees: &[2, 1], destinations: &[1, 2, 2], weights: Some(&[5, i32::MAX, 0]) };
        let nodes: Vec<NodeEdges> =
            edges_by_rank(&out_edges, 3).unwrap().iter().map(|encoded| NodeEdges::decode_all(encoded)).collect();
        assert_eq!(nodes[0], NodeEdges { sources: vec![], destinations: vec![(Some(2), 0)] });
        assert_eq!(nodes[1], NodeEdges { sources: vec![(Some(2), 5)], destinations: vec![] });
        let top = i32::MAX as u32;
        let itself = (Some(2), top);
        assert_eq!(nodes[2].sources, [itself, (Some(0), 0)]);
        assert_eq!(nodes[2].destinations, [(Some(1), 5), itself]);
    }

    #[test]
    fn a_node_is_read_as_it_was_written() {
        let node =
            NodeEdges { sources: vec![(Some(7), 1), (None, 2)], destinations: vec![(None, 0), (Some(0), u32::MAX)] };
        assert_eq!(NodeEdges::decode_all(&node.encode_all()), node);
    }

    #[test]
    fn wrong_edges_are_refused() {
        let with = |source, destination, weight| {
            let out_edges =
                OutEdges { sources: &[source], degrees: &[1], destinations: &[destination], weights: Some(&[weight]) };
            edges_by_rank(&out_edges, 3).map_err(|why| why.class())
        };
        assert_eq!(with(3, 0, 1), Err(Class::Rank));
        assert_eq!(with(0, -1, 1), Err(Class::Rank));
        assert_eq!(with(0, 1, -1), Err(Class::Arg));
        assert!(with(0, 2, 0).is_ok());
    }
}
