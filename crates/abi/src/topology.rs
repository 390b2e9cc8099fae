//! Virtual topologies: grids, graphs, distributed graphs, their queries, MPI_Dims_create.
//!
//! Used by the exported functions; uses `mpi::topology`.

use crate::abi::Abi;
use crate::arg::{OutArg, array, entries, handle, null};
use crate::comm::{comm, set_or_null};
use crate::raise::Result;
use hawser_base::value::{Set, UNDEFINED};
use hawser_base::{Class, Error};
use hawser_mpi::info;
use hawser_mpi::shape::graph::{self as shape, Graph};
use hawser_mpi::topology::cart;
use hawser_mpi::topology::dist_graph::{self, EdgeArgs, OutEdges};
use hawser_mpi::topology::graph;
use hawser_mpi::topology::{self, dims};
use std::ffi::c_int;

/// Writes the entries of `from` to an array argument, at most `capacity` of them.
///
/// # Safety
/// `capacity` entries at `to` may be written.
unsafe fn fill(
    to: *mut c_int,
    capacity: usize,
    from: impl ExactSizeIterator<Item = c_int>,
    name: &'static str,
) -> hawser_base::Result<()> {
    if to.is_null() && capacity.min(from.len()) > 0 {
        return Err(null(name));
    }
    for (i, entry) in from.take(capacity).enumerate() {
        // SAFETY: inside the array, which is not null.
        unsafe { to.add(i).write(entry) };
    }
    Ok(())
}

/// Fills an array with unsigned numbers, as `fill` does.
///
/// # Safety
/// The same as for `fill`.
unsafe fn fill_with(to: *mut c_int, capacity: usize, from: &[u32], name: &'static str) -> hawser_base::Result<()> {
    // SAFETY: the caller's promise.
    unsafe { fill(to, capacity, from.iter().map(|&number| number as c_int), name) }
}

/// # Safety
/// The contract of MPI_Topo_test.
pub unsafe fn test<A: Abi>(on: A::Comm, status: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let status = unsafe { OutArg::new(status, "status") }?;
    let found = topology::test(&*comm::<A>(on)?);
    status.put(if found == UNDEFINED { UNDEFINED } else { A::value_out(Set::Topology, found) });
    Ok(())
}

/// # Safety
/// The contract of MPI_Dims_create.
pub unsafe fn dims_create<A: Abi>(nnodes: c_int, ndims: c_int, at: *mut c_int) -> Result {
    let count = entries(ndims, "ndims")?;
    // SAFETY: the caller's array.
    let mut chosen = unsafe { array(at.cast_const(), count, "dims") }?.to_vec();
    dims::create(nnodes, &mut chosen)?;
    // SAFETY: the same array.
    Ok(unsafe { fill(at, count, chosen.into_iter(), "dims") }?)
}

/// Reads the arguments `dims` and `periods` of a grid.
///
/// # Safety
/// `dims` and `periods` have `ndims` entries.
unsafe fn grid<'a>(
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
) -> hawser_base::Result<(&'a [c_int], &'a [c_int])> {
    let count = entries(ndims, "ndims")?;
    // SAFETY: the caller's promise.
    unsafe { Ok((array(dims, count, "dims")?, array(periods, count, "periods")?)) }
}

/// # Safety
/// The contract of MPI_Cart_create.
pub unsafe fn cart_create<A: Abi>(
    on: A::Comm,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    reorder: c_int,
    new: *mut A::Comm,
) -> Result {
    // SAFETY: the caller's argument.
    let new = unsafe { OutArg::handle(new, "comm_cart") }?;
    set_or_null::<A>(new, || {
        // SAFETY: the caller's arrays.
        let (dims, periods) = unsafe { grid(ndims, dims, periods) }?;
        cart::create(handle(on)?, dims, periods, reorder != 0)
    })
}

/// # Safety
/// The contract of MPI_Cart_map.
pub unsafe fn cart_map<A: Abi>(
    on: A::Comm,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    newrank: *mut c_int,
) -> Result {
    // SAFETY: the caller's arguments.
    let (newrank, (dims, periods)) = unsafe { (OutArg::new(newrank, "newrank")?, grid(ndims, dims, periods)?) };
    newrank.put(cart::map(handle(on)?, dims, periods)?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Cart_sub.
pub unsafe fn cart_sub<A: Abi>(on: A::Comm, remain_dims: *const c_int, new: *mut A::Comm) -> Result {
    // SAFETY: the caller's argument.
    let new = unsafe { OutArg::handle(new, "newcomm") }?;
    set_or_null::<A>(new, || {
        let ndims = cart::of(&*comm::<A>(on)?)?.dims().len();
        // SAFETY: the caller's array, with an entry for each dimension.
        let keeps = unsafe { array(remain_dims, ndims, "remain_dims") }?;
        let keeps: Vec<bool> = keeps.iter().map(|&keep| keep != 0).collect();
        cart::sub(handle(on)?, &keeps)
    })
}

/// # Safety
/// The contract of MPI_Cartdim_get.
pub unsafe fn cartdim_get<A: Abi>(on: A::Comm, ndims: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let ndims = unsafe { OutArg::new(ndims, "ndims") }?;
    ndims.put(cart::of(&*comm::<A>(on)?)?.dims().len() as c_int);
    Ok(())
}

/// MPI_Cart_get: as in MPICH, arrays that are too short are filled with the first entries.
///
/// # Safety
/// The contract of MPI_Cart_get.
pub unsafe fn cart_get<A: Abi>(
    on: A::Comm,
    maxdims: c_int,
    dims: *mut c_int,
    periods: *mut c_int,
    coords: *mut c_int,
) -> Result {
    let (found, capacity) = (comm::<A>(on)?, entries(maxdims, "maxdims")?);
    let cart = cart::of(&found)?;
    // SAFETY: the caller's arrays of `maxdims` entries.
    unsafe {
        fill(dims, capacity, cart.dims().iter().map(|dim| dim.size as c_int), "dims")?;
        fill(periods, capacity, cart.dims().iter().map(|dim| dim.periodic.into()), "periods")?;
        Ok(fill_with(coords, capacity, &cart.coords(found.rank()), "coords")?)
    }
}

/// # Safety
/// The contract of MPI_Cart_coords.
pub unsafe fn cart_coords<A: Abi>(on: A::Comm, rank: c_int, maxdims: c_int, coords: *mut c_int) -> Result {
    let (found, capacity) = (comm::<A>(on)?, entries(maxdims, "maxdims")?);
    let cart = cart::of(&found)?;
    found.peer(A::rank_in(rank))?;
    let all = cart.coords(rank as u32);
    if capacity < all.len() {
        let text = format!("maxdims is {capacity}, and the grid has {} dimensions (MPI_Cartdim_get)", all.len());
        return Err(Error::new(Class::Arg, text).into());
    }
    // SAFETY: the caller's array of `maxdims` entries.
    Ok(unsafe { fill_with(coords, capacity, &all, "coords") }?)
}

/// # Safety
/// The contract of MPI_Cart_rank.
pub unsafe fn cart_rank<A: Abi>(on: A::Comm, coords: *const c_int, rank: *mut c_int) -> Result {
    let found = comm::<A>(on)?;
    let cart = cart::of(&found)?;
    // SAFETY: the caller's arguments; the array has an entry for each dimension.
    let (rank, coords) = unsafe { (OutArg::new(rank, "rank")?, array(coords, cart.dims().len(), "coords")?) };
    rank.put(cart.rank(coords)? as c_int);
    Ok(())
}

/// # Safety
/// The contract of MPI_Cart_shift.
pub unsafe fn cart_shift<A: Abi>(
    on: A::Comm,
    direction: c_int,
    disp: c_int,
    source: *mut c_int,
    dest: *mut c_int,
) -> Result {
    // SAFETY: the caller's arguments.
    let (source, dest) = unsafe { (OutArg::new(source, "rank_source")?, OutArg::new(dest, "rank_dest")?) };
    let found = comm::<A>(on)?;
    let [from, to] = cart::of(&found)?.shift(found.rank(), direction, disp)?;
    source.put(rank_out::<A>(from));
    dest.put(rank_out::<A>(to));
    Ok(())
}

/// Returns the ABI's rank of a neighbour; MPI_PROC_NULL if there is none.
fn rank_out<A: Abi>(rank: Option<u32>) -> c_int {
    A::rank_out(topology::rank_or_null(rank))
}

/// Reads the nodes and edges of a graph.
///
/// # Safety
/// `index` has `nnodes` entries, and `edges` has as many entries as the last entry of `index` says.
unsafe fn graph<A: Abi>(
    on: A::Comm,
    nnodes: c_int,
    index: *const c_int,
    edges: *const c_int,
) -> hawser_base::Result<Graph> {
    let size = comm::<A>(on)?.size();
    // `nnodes` is checked before memory of this length is read.
    shape::check_nodes(nnodes.into(), size)?;
    // SAFETY: the caller's promise.
    unsafe { Graph::new(array(index, nnodes as usize, "index")?, |count| array(edges, count, "edges"), size) }
}

/// # Safety
/// The contract of MPI_Graph_create.
pub unsafe fn graph_create<A: Abi>(
    on: A::Comm,
    nnodes: c_int,
    index: *const c_int,
    edges: *const c_int,
    reorder: c_int,
    new: *mut A::Comm,
) -> Result {
    // SAFETY: the caller's argument.
    let new = unsafe { OutArg::handle(new, "comm_graph") }?;
    set_or_null::<A>(new, || {
        // SAFETY: the caller's arrays.
        let graph = unsafe { graph::<A>(on, nnodes, index, edges) }?;
        graph::create(handle(on)?, graph, reorder != 0)
    })
}

/// # Safety
/// The contract of MPI_Graph_map.
pub unsafe fn graph_map<A: Abi>(
    on: A::Comm,
    nnodes: c_int,
    index: *const c_int,
    edges: *const c_int,
    newrank: *mut c_int,
) -> Result {
    // SAFETY: the caller's arguments.
    let (newrank, graph) = unsafe { (OutArg::new(newrank, "newrank")?, graph::<A>(on, nnodes, index, edges)?) };
    newrank.put(graph::map(handle(on)?, &graph)?);
    Ok(())
}

/// # Safety
/// The contract of MPI_Graphdims_get.
pub unsafe fn graphdims_get<A: Abi>(on: A::Comm, nnodes: *mut c_int, nedges: *mut c_int) -> Result {
    // SAFETY: the caller's arguments.
    let (nnodes, nedges) = unsafe { (OutArg::new(nnodes, "nnodes")?, OutArg::new(nedges, "nedges")?) };
    let found = comm::<A>(on)?;
    let graph = graph::of(&found)?;
    nnodes.put(graph.index().len() as c_int);
    nedges.put(graph.edges().len() as c_int);
    Ok(())
}

/// # Safety
/// The contract of MPI_Graph_get.
pub unsafe fn graph_get<A: Abi>(
    on: A::Comm,
    maxindex: c_int,
    maxedges: c_int,
    index: *mut c_int,
    edges: *mut c_int,
) -> Result {
    let found = comm::<A>(on)?;
    let graph = graph::of(&found)?;
    let nodes = checked_capacity(maxindex, graph.index().len(), "maxindex")?;
    let neighbors = checked_capacity(maxedges, graph.edges().len(), "maxedges")?;
    // SAFETY: the caller's arrays.
    unsafe {
        fill_with(index, nodes, graph.index(), "index")?;
        Ok(fill_with(edges, neighbors, graph.edges(), "edges")?)
    }
}

/// Returns the length of an array argument; MPI_ERR_ARG if it has less room than for `needed` entries.
fn checked_capacity(capacity: c_int, needed: usize, name: &'static str) -> hawser_base::Result<usize> {
    let length = entries(capacity, name)?;
    if length < needed {
        let text = format!("{name} is {capacity}, and there are {needed} entries (MPI_Graphdims_get)");
        return Err(Error::new(Class::Arg, text));
    }
    Ok(length)
}

/// # Safety
/// The contract of MPI_Graph_neighbors_count.
pub unsafe fn graph_neighbors_count<A: Abi>(on: A::Comm, rank: c_int, nneighbors: *mut c_int) -> Result {
    // SAFETY: the caller's argument.
    let nneighbors = unsafe { OutArg::new(nneighbors, "nneighbors") }?;
    let found = comm::<A>(on)?;
    let graph = graph::of(&found)?;
    found.peer(A::rank_in(rank))?;
    nneighbors.put(graph.neighbors(rank as u32).len() as c_int);
    Ok(())
}

/// MPI_Graph_neighbors: as in MPICH, an array that is too short is filled with the first entries.
///
/// # Safety
/// The contract of MPI_Graph_neighbors.
pub unsafe fn graph_neighbors<A: Abi>(on: A::Comm, rank: c_int, maxneighbors: c_int, neighbors: *mut c_int) -> Result {
    let (found, capacity) = (comm::<A>(on)?, entries(maxneighbors, "maxneighbors")?);
    let graph = graph::of(&found)?;
    found.peer(A::rank_in(rank))?;
    // SAFETY: the caller's array.
    Ok(unsafe { fill_with(neighbors, capacity, graph.neighbors(rank as u32), "neighbors") }?)
}

/// Reads the weights of `count` edges; None if the graph is unweighted. MPI_WEIGHTS_EMPTY is MPI_ERR_ARG if there are
/// edges.
///
/// # Safety
/// `at` is MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY or has `count` entries.
unsafe fn weights<'a, A: Abi>(
    at: *const c_int,
    count: usize,
    name: &'static str,
) -> hawser_base::Result<Option<&'a [c_int]>> {
    match at.addr() {
        at if at == A::SENTINELS.unweighted => Ok(None),
        at if at == A::SENTINELS.weights_empty && count > 0 => {
            let text = format!("{name} is MPI_WEIGHTS_EMPTY, and there are {count} edges; pass a weight for each");
            Err(Error::new(Class::Arg, text))
        }
        // SAFETY: the caller's promise; an empty array is not looked at.
        _ => unsafe { array(at, count, name) }.map(Some),
    }
}

/// # Safety
/// The contract of MPI_Dist_graph_create_adjacent.
#[allow(clippy::too_many_arguments)]
pub unsafe fn dist_graph_create_adjacent<A: Abi>(
    on: A::Comm,
    indegree: c_int,
    sources: *const c_int,
    source_weights: *const c_int,
    outdegree: c_int,
    destinations: *const c_int,
    dest_weights: *const c_int,
    info: A::Info,
    reorder: c_int,
    new: *mut A::Comm,
) -> Result {
    // SAFETY: the caller's argument.
    let new = unsafe { OutArg::handle(new, "comm_dist_graph") }?;
    // SAFETY: the caller's arrays.
    set_or_null::<A>(new, || unsafe {
        info::hints(handle(info)?)?;
        let (into, out) = (entries(indegree, "indegree")?, entries(outdegree, "outdegree")?);
        let sources = EdgeArgs {
            name: "sources",
            ranks: &ranks::<A>(sources, into, "sources")?,
            weights: weights::<A>(source_weights, into, "sourceweights")?,
        };
        let destinations = EdgeArgs {
            name: "destinations",
            ranks: &ranks::<A>(destinations, out, "destinations")?,
            weights: weights::<A>(dest_weights, out, "destweights")?,
        };
        if sources.weights.is_some() != destinations.weights.is_some() {
            let text = "one of sourceweights and destweights is MPI_UNWEIGHTED; pass it for both or for neither";
            return Err(Error::new(Class::Topology, text));
        }
        dist_graph::create_adjacent(handle(on)?, sources, destinations, reorder != 0)
    })
}

/// Reads ranks, MPI_PROC_NULL among them.
///
/// # Safety
/// `count` entries at `at` may be read.
unsafe fn ranks<A: Abi>(at: *const c_int, count: usize, name: &'static str) -> hawser_base::Result<Vec<c_int>> {
    // SAFETY: the caller's promise.
    Ok(unsafe { array(at, count, name) }?.iter().map(|&rank| A::rank_in(rank)).collect())
}

/// # Safety
/// The contract of MPI_Dist_graph_create.
#[allow(clippy::too_many_arguments)]
pub unsafe fn dist_graph_create<A: Abi>(
    on: A::Comm,
    n: c_int,
    sources: *const c_int,
    degrees: *const c_int,
    destinations: *const c_int,
    edge_weights: *const c_int,
    info: A::Info,
    reorder: c_int,
    new: *mut A::Comm,
) -> Result {
    // SAFETY: the caller's argument.
    let new = unsafe { OutArg::handle(new, "comm_dist_graph") }?;
    // SAFETY: the caller's arrays.
    set_or_null::<A>(new, || unsafe {
        info::hints(handle(info)?)?;
        let n = entries(n, "n")?;
        let (sources, degrees) = (array(sources, n, "sources")?, array(degrees, n, "degrees")?);
        let edges = degrees.iter().try_fold(0, |sum, &degree| Ok::<_, Error>(sum + entries(degree, "a degree")?))?;
        let destinations = array(destinations, edges, "destinations")?;
        let weights = weights::<A>(edge_weights, edges, "weights")?;
        let leaving = OutEdges { sources, degrees, destinations, weights };
        dist_graph::create(handle(on)?, leaving, reorder != 0)
    })
}

/// # Safety
/// The contract of MPI_Dist_graph_neighbors_count.
pub unsafe fn dist_graph_neighbors_count<A: Abi>(
    on: A::Comm,
    indegree: *mut c_int,
    outdegree: *mut c_int,
    weighted: *mut c_int,
) -> Result {
    // SAFETY: the caller's arguments.
    let (indegree, outdegree, weighted) = unsafe {
        (OutArg::new(indegree, "indegree")?, OutArg::new(outdegree, "outdegree")?, OutArg::new(weighted, "weighted")?)
    };
    let found = comm::<A>(on)?;
    let (graph, near) = dist_graph::of(&found)?;
    indegree.put(near.sources.len() as c_int);
    outdegree.put(near.destinations.len() as c_int);
    weighted.put(graph.source_weights.is_some().into());
    Ok(())
}

/// MPI_Dist_graph_neighbors: arrays that are too short get the first neighbours (MPI-5.0 §8.5.5). The arrays for
/// weights are not written if the graph is unweighted, and may be MPI_UNWEIGHTED.
///
/// # Safety
/// The contract of MPI_Dist_graph_neighbors.
pub unsafe fn dist_graph_neighbors<A: Abi>(
    on: A::Comm,
    maxindegree: c_int,
    sources: *mut c_int,
    source_weights: *mut c_int,
    maxoutdegree: c_int,
    destinations: *mut c_int,
    dest_weights: *mut c_int,
) -> Result {
    let found = comm::<A>(on)?;
    let (into, out) = (entries(maxindegree, "maxindegree")?, entries(maxoutdegree, "maxoutdegree")?);
    let (graph, near) = dist_graph::of(&found)?;
    let fill_weights = |to: *mut c_int, capacity, weights: &Option<Vec<u32>>, name| match weights {
        Some(weights) if to.addr() != A::SENTINELS.unweighted && to.addr() != A::SENTINELS.weights_empty => {
            // SAFETY: the caller's array.
            unsafe { fill_with(to, capacity, weights, name) }
        }
        _ => Ok(()),
    };
    // SAFETY: the caller's arrays.
    unsafe {
        fill(sources, into, near.sources.iter().map(|&rank| rank_out::<A>(rank)), "sources")?;
        fill(destinations, out, near.destinations.iter().map(|&rank| rank_out::<A>(rank)), "destinations")?;
    }
    fill_weights(source_weights, into, &graph.source_weights, "sourceweights")?;
    Ok(fill_weights(dest_weights, out, &graph.destination_weights, "destweights")?)
}
