//! Entry points of Fortran: communicators, groups and topologies.
//!
//! Written by crates/fortran/tools/binding.py from the table of functions; do not edit.

use crate::binding::prelude::*;

plain! { "cart_coords" (comm: *const Fint, rank: *const c_int, maxdims: *const c_int, coords: *mut c_int) [] {
    c::MPI_Cart_coords(handle(*comm), *rank, *maxdims, coords)
} }
plain! { "cart_create" (comm_old: *const Fint, ndims: *const c_int, dims: *const c_int, periods: *const Logical,
    reorder: *const Logical, comm_cart: *mut Fint) [] {
    let periods = Truths::of(periods, entries(*ndims));
    let mut c_comm_cart = handle(*comm_cart);
    let code = c::MPI_Cart_create(handle(*comm_old), *ndims, dims, periods.as_ptr(), truth(*reorder), &mut c_comm_cart);
    *comm_cart = number(c_comm_cart);
    code
} }
plain! { "cart_get" (comm: *const Fint, maxdims: *const c_int, dims: *mut c_int, periods: *mut Logical, coords: *mut
    c_int) [] {
    let mut c_periods = Truths::of(periods, entries(*maxdims));
    let code = c::MPI_Cart_get(handle(*comm), *maxdims, dims, c_periods.as_mut_ptr(), coords);
    if code == 0 { c_periods.store(periods); }
    code
} }
plain! { "cart_map" (comm: *const Fint, ndims: *const c_int, dims: *const c_int, periods: *const Logical, newrank: *mut
    c_int) [] {
    let periods = Truths::of(periods, entries(*ndims));
    c::MPI_Cart_map(handle(*comm), *ndims, dims, periods.as_ptr(), newrank)
} }
plain! { "cart_rank" (comm: *const Fint, coords: *const c_int, rank: *mut c_int) [] {
    c::MPI_Cart_rank(handle(*comm), coords, rank)
} }
plain! { "cart_shift" (comm: *const Fint, direction: *const c_int, disp: *const c_int, rank_source: *mut c_int,
    rank_dest: *mut c_int) [] {
    c::MPI_Cart_shift(handle(*comm), *direction, *disp, rank_source, rank_dest)
} }
plain! { "cartdim_get" (comm: *const Fint, ndims: *mut c_int) [] {
    c::MPI_Cartdim_get(handle(*comm), ndims)
} }
plain! { "comm_compare" (comm1: *const Fint, comm2: *const Fint, result: *mut c_int) [] {
    c::MPI_Comm_compare(handle(*comm1), handle(*comm2), result)
} }
plain! { "comm_create" (comm: *const Fint, group: *const Fint, newcomm: *mut Fint) [] {
    let mut c_newcomm = handle(*newcomm);
    let code = c::MPI_Comm_create(handle(*comm), handle(*group), &mut c_newcomm);
    *newcomm = number(c_newcomm);
    code
} }
plain! { "comm_create_from_group" (group: *const Fint, stringtag: *mut c_char, info: *const Fint, errhandler: *const
    Fint, newcomm: *mut Fint) [stringtag_len] {
    let stringtag = Text::of(stringtag, stringtag_len);
    let mut c_newcomm = handle(*newcomm);
    let code = c::MPI_Comm_create_from_group(handle(*group), stringtag.as_ptr(), handle(*info), handle(*errhandler),
        &mut c_newcomm);
    *newcomm = number(c_newcomm);
    code
} }
plain! { "comm_create_group" (comm: *const Fint, group: *const Fint, tag: *const c_int, newcomm: *mut Fint) [] {
    let mut c_newcomm = handle(*newcomm);
    let code = c::MPI_Comm_create_group(handle(*comm), handle(*group), *tag, &mut c_newcomm);
    *newcomm = number(c_newcomm);
    code
} }
plain! { "comm_dup" (comm: *const Fint, newcomm: *mut Fint) [] {
    let mut c_newcomm = handle(*newcomm);
    let code = c::MPI_Comm_dup(handle(*comm), &mut c_newcomm);
    *newcomm = number(c_newcomm);
    code
} }
plain! { "comm_dup_with_info" (comm: *const Fint, info: *const Fint, newcomm: *mut Fint) [] {
    let mut c_newcomm = handle(*newcomm);
    let code = c::MPI_Comm_dup_with_info(handle(*comm), handle(*info), &mut c_newcomm);
    *newcomm = number(c_newcomm);
    code
} }
plain! { "comm_free" (comm: *mut Fint) [] {
    let mut c_comm = handle(*comm);
    let code = c::MPI_Comm_free(&mut c_comm);
    *comm = number(c_comm);
    code
} }
plain! { "comm_free_keyval" (comm_keyval: *mut c_int) [] {
    c::MPI_Comm_free_keyval(comm_keyval)
} }
plain! { "comm_get_info" (comm: *const Fint, info_used: *mut Fint) [] {
    let mut c_info_used = handle(*info_used);
    let code = c::MPI_Comm_get_info(handle(*comm), &mut c_info_used);
    *info_used = number(c_info_used);
    code
} }
plain! { "comm_get_name" (comm: *const Fint, comm_name: *mut c_char, resultlen: *mut c_int) [comm_name_len] {
    let mut c_comm_name = TextOut::new(values::MPI_MAX_OBJECT_NAME as usize);
    let code = c::MPI_Comm_get_name(handle(*comm), c_comm_name.as_mut_ptr(), resultlen);
    if code == 0 { c_comm_name.store(comm_name, comm_name_len); }
    code
} }
plain! { "comm_group" (comm: *const Fint, group: *mut Fint) [] {
    let mut c_group = handle(*group);
    let code = c::MPI_Comm_group(handle(*comm), &mut c_group);
    *group = number(c_group);
    code
} }
plain! { "comm_idup" (comm: *const Fint, newcomm: *mut Fint, request: *mut Fint) [] {
    let mut c_newcomm = handle(*newcomm);
    let mut c_request = handle(*request);
    let code = c::MPI_Comm_idup(handle(*comm), &mut c_newcomm, &mut c_request);
    *newcomm = number(c_newcomm);
    *request = number(c_request);
    code
} }
plain! { "comm_idup_with_info" (comm: *const Fint, info: *const Fint, newcomm: *mut Fint, request: *mut Fint) [] {
    let mut c_newcomm = handle(*newcomm);
    let mut c_request = handle(*request);
    let code = c::MPI_Comm_idup_with_info(handle(*comm), handle(*info), &mut c_newcomm, &mut c_request);
    *newcomm = number(c_newcomm);
    *request = number(c_request);
    code
} }
plain! { "comm_rank" (comm: *const Fint, rank: *mut c_int) [] {
    c::MPI_Comm_rank(handle(*comm), rank)
} }
plain! { "comm_remote_group" (comm: *const Fint, group: *mut Fint) [] {
    let mut c_group = handle(*group);
    let code = c::MPI_Comm_remote_group(handle(*comm), &mut c_group);
    *group = number(c_group);
    code
} }
plain! { "comm_remote_size" (comm: *const Fint, size: *mut c_int) [] {
    c::MPI_Comm_remote_size(handle(*comm), size)
} }
plain! { "comm_set_info" (comm: *const Fint, info: *const Fint) [] {
    c::MPI_Comm_set_info(handle(*comm), handle(*info))
} }
plain! { "comm_set_name" (comm: *const Fint, comm_name: *mut c_char) [comm_name_len] {
    let comm_name = Text::of(comm_name, comm_name_len);
    c::MPI_Comm_set_name(handle(*comm), comm_name.as_ptr())
} }
plain! { "comm_size" (comm: *const Fint, size: *mut c_int) [] {
    c::MPI_Comm_size(handle(*comm), size)
} }
plain! { "comm_split" (comm: *const Fint, color: *const c_int, key: *const c_int, newcomm: *mut Fint) [] {
    let mut c_newcomm = handle(*newcomm);
    let code = c::MPI_Comm_split(handle(*comm), *color, *key, &mut c_newcomm);
    *newcomm = number(c_newcomm);
    code
} }
plain! { "comm_split_type" (comm: *const Fint, split_type: *const c_int, key: *const c_int, info: *const Fint, newcomm:
    *mut Fint) [] {
    let mut c_newcomm = handle(*newcomm);
    let code = c::MPI_Comm_split_type(handle(*comm), *split_type, *key, handle(*info), &mut c_newcomm);
    *newcomm = number(c_newcomm);
    code
} }
plain! { "comm_test_inter" (comm: *const Fint, flag: *mut Logical) [] {
    let mut c_flag: c_int = truth(*flag);
    let code = c::MPI_Comm_test_inter(handle(*comm), &mut c_flag);
    *flag = logical(c_flag);
    code
} }
plain! { "dims_create" (nnodes: *const c_int, ndims: *const c_int, dims: *mut c_int) [] {
    c::MPI_Dims_create(*nnodes, *ndims, dims)
} }
plain! { "dist_graph_create" (comm_old: *const Fint, n: *const c_int, sources: *const c_int, degrees: *const c_int,
    destinations: *const c_int, weights: *const c_int, info: *const Fint, reorder: *const Logical, comm_dist_graph: *mut
    Fint) [] {
    let mut c_comm_dist_graph = handle(*comm_dist_graph);
    let code = c::MPI_Dist_graph_create(handle(*comm_old), *n, sources, degrees, destinations,
        c_weights(weights.cast_mut()), handle(*info), truth(*reorder), &mut c_comm_dist_graph);
    *comm_dist_graph = number(c_comm_dist_graph);
    code
} }
plain! { "dist_graph_create_adjacent" (comm_old: *const Fint, indegree: *const c_int, sources: *const c_int,
    sourceweights: *const c_int, outdegree: *const c_int, destinations: *const c_int, destweights: *const c_int, info:
    *const Fint, reorder: *const Logical, comm_dist_graph: *mut Fint) [] {
    let mut c_comm_dist_graph = handle(*comm_dist_graph);
    let code = c::MPI_Dist_graph_create_adjacent(handle(*comm_old), *indegree, sources,
        c_weights(sourceweights.cast_mut()), *outdegree, destinations, c_weights(destweights.cast_mut()), handle(*info),
        truth(*reorder), &mut c_comm_dist_graph);
    *comm_dist_graph = number(c_comm_dist_graph);
    code
} }
plain! { "dist_graph_neighbors" (comm: *const Fint, maxindegree: *const c_int, sources: *mut c_int, sourceweights: *mut
    c_int, maxoutdegree: *const c_int, destinations: *mut c_int, destweights: *mut c_int) [] {
    c::MPI_Dist_graph_neighbors(handle(*comm), *maxindegree, sources, c_weights(sourceweights), *maxoutdegree,
        destinations, c_weights(destweights))
} }
plain! { "dist_graph_neighbors_count" (comm: *const Fint, indegree: *mut c_int, outdegree: *mut c_int, weighted: *mut
    Logical) [] {
    let mut c_weighted: c_int = truth(*weighted);
    let code = c::MPI_Dist_graph_neighbors_count(handle(*comm), indegree, outdegree, &mut c_weighted);
    *weighted = logical(c_weighted);
    code
} }
plain! { "graph_create" (comm_old: *const Fint, nnodes: *const c_int, index: *const c_int, edges: *const c_int, reorder:
    *const Logical, comm_graph: *mut Fint) [] {
    let mut c_comm_graph = handle(*comm_graph);
    let code = c::MPI_Graph_create(handle(*comm_old), *nnodes, index, edges, truth(*reorder), &mut c_comm_graph);
    *comm_graph = number(c_comm_graph);
    code
} }
plain! { "graph_get" (comm: *const Fint, maxindex: *const c_int, maxedges: *const c_int, index: *mut c_int, edges: *mut
    c_int) [] {
    c::MPI_Graph_get(handle(*comm), *maxindex, *maxedges, index, edges)
} }
plain! { "graph_map" (comm: *const Fint, nnodes: *const c_int, index: *const c_int, edges: *const c_int, newrank: *mut
    c_int) [] {
    c::MPI_Graph_map(handle(*comm), *nnodes, index, edges, newrank)
} }
plain! { "graph_neighbors" (comm: *const Fint, rank: *const c_int, maxneighbors: *const c_int, neighbors: *mut c_int) [] {
    c::MPI_Graph_neighbors(handle(*comm), *rank, *maxneighbors, neighbors)
} }
plain! { "graph_neighbors_count" (comm: *const Fint, rank: *const c_int, nneighbors: *mut c_int) [] {
    c::MPI_Graph_neighbors_count(handle(*comm), *rank, nneighbors)
} }
plain! { "graphdims_get" (comm: *const Fint, nnodes: *mut c_int, nedges: *mut c_int) [] {
    c::MPI_Graphdims_get(handle(*comm), nnodes, nedges)
} }
plain! { "group_compare" (group1: *const Fint, group2: *const Fint, result: *mut c_int) [] {
    c::MPI_Group_compare(handle(*group1), handle(*group2), result)
} }
plain! { "group_difference" (group1: *const Fint, group2: *const Fint, newgroup: *mut Fint) [] {
    let mut c_newgroup = handle(*newgroup);
    let code = c::MPI_Group_difference(handle(*group1), handle(*group2), &mut c_newgroup);
    *newgroup = number(c_newgroup);
    code
} }
plain! { "group_excl" (group: *const Fint, n: *const c_int, ranks: *const c_int, newgroup: *mut Fint) [] {
    let mut c_newgroup = handle(*newgroup);
    let code = c::MPI_Group_excl(handle(*group), *n, ranks, &mut c_newgroup);
    *newgroup = number(c_newgroup);
    code
} }
plain! { "group_free" (group: *mut Fint) [] {
    let mut c_group = handle(*group);
    let code = c::MPI_Group_free(&mut c_group);
    *group = number(c_group);
    code
} }
plain! { "group_incl" (group: *const Fint, n: *const c_int, ranks: *const c_int, newgroup: *mut Fint) [] {
    let mut c_newgroup = handle(*newgroup);
    let code = c::MPI_Group_incl(handle(*group), *n, ranks, &mut c_newgroup);
    *newgroup = number(c_newgroup);
    code
} }
plain! { "group_intersection" (group1: *const Fint, group2: *const Fint, newgroup: *mut Fint) [] {
    let mut c_newgroup = handle(*newgroup);
    let code = c::MPI_Group_intersection(handle(*group1), handle(*group2), &mut c_newgroup);
    *newgroup = number(c_newgroup);
    code
} }
plain! { "group_range_excl" (group: *const Fint, n: *const c_int, ranges: *mut c_int, newgroup: *mut Fint) [] {
    let mut c_newgroup = handle(*newgroup);
    let code = c::MPI_Group_range_excl(handle(*group), *n, ranges.cast(), &mut c_newgroup);
    *newgroup = number(c_newgroup);
    code
} }
plain! { "group_range_incl" (group: *const Fint, n: *const c_int, ranges: *mut c_int, newgroup: *mut Fint) [] {
    let mut c_newgroup = handle(*newgroup);
    let code = c::MPI_Group_range_incl(handle(*group), *n, ranges.cast(), &mut c_newgroup);
    *newgroup = number(c_newgroup);
    code
} }
plain! { "group_rank" (group: *const Fint, rank: *mut c_int) [] {
    c::MPI_Group_rank(handle(*group), rank)
} }
plain! { "group_size" (group: *const Fint, size: *mut c_int) [] {
    c::MPI_Group_size(handle(*group), size)
} }
plain! { "group_translate_ranks" (group1: *const Fint, n: *const c_int, ranks1: *const c_int, group2: *const Fint,
    ranks2: *mut c_int) [] {
    c::MPI_Group_translate_ranks(handle(*group1), *n, ranks1, handle(*group2), ranks2)
} }
plain! { "group_union" (group1: *const Fint, group2: *const Fint, newgroup: *mut Fint) [] {
    let mut c_newgroup = handle(*newgroup);
    let code = c::MPI_Group_union(handle(*group1), handle(*group2), &mut c_newgroup);
    *newgroup = number(c_newgroup);
    code
} }
plain! { "intercomm_create" (local_comm: *const Fint, local_leader: *const c_int, peer_comm: *const Fint, remote_leader:
    *const c_int, tag: *const c_int, newintercomm: *mut Fint) [] {
    let mut c_newintercomm = handle(*newintercomm);
    let code = c::MPI_Intercomm_create(handle(*local_comm), *local_leader, handle(*peer_comm), *remote_leader, *tag,
        &mut c_newintercomm);
    *newintercomm = number(c_newintercomm);
    code
} }
plain! { "intercomm_create_from_groups" (local_group: *const Fint, local_leader: *const c_int, remote_group: *const
    Fint, remote_leader: *const c_int, stringtag: *mut c_char, info: *const Fint, errhandler: *const Fint, newintercomm:
    *mut Fint) [stringtag_len] {
    let stringtag = Text::of(stringtag, stringtag_len);
    let mut c_newintercomm = handle(*newintercomm);
    let code = c::MPI_Intercomm_create_from_groups(handle(*local_group), *local_leader, handle(*remote_group),
        *remote_leader, stringtag.as_ptr(), handle(*info), handle(*errhandler), &mut c_newintercomm);
    *newintercomm = number(c_newintercomm);
    code
} }
plain! { "intercomm_merge" (intercomm: *const Fint, high: *const Logical, newintracomm: *mut Fint) [] {
    let mut c_newintracomm = handle(*newintracomm);
    let code = c::MPI_Intercomm_merge(handle(*intercomm), truth(*high), &mut c_newintracomm);
    *newintracomm = number(c_newintracomm);
    code
} }
plain_f90! { "keyval_free" (keyval: *mut c_int) [] {
    c::MPI_Keyval_free(keyval)
} }
plain! { "topo_test" (comm: *const Fint, status: *mut c_int) [] {
    c::MPI_Topo_test(handle(*comm), status)
} }
