//! Rows of the function table: communicators, groups and topologies.
//!
//! Written by tools/table.py; what stands after `=>` is kept by hand (see `table`).

#[doc(hidden)]
#[macro_export]
macro_rules! table_comm { ($emit:ident $with:tt) => { $emit! { $with
    both MPI_Attr_delete(comm: Comm, keyval: c_int) [comm(comm)] => attributes::comm_delete;
    both MPI_Attr_get(comm: Comm, keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int)
        [comm(comm)] => attributes::comm_get;
    both MPI_Attr_put(comm: Comm, keyval: c_int, attribute_val: *mut c_void) [comm(comm)] => attributes::comm_set;
    both MPI_Cart_coords(comm: Comm, rank: c_int, maxdims: c_int, coords: *mut c_int) [comm(comm)] => topology::cart_coords;
    both MPI_Cart_create(comm_old: Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, reorder: c_int,
        comm_cart: *mut Comm) [comm(comm_old)] => topology::cart_create;
    both MPI_Cart_get(comm: Comm, maxdims: c_int, dims: *mut c_int, periods: *mut c_int, coords: *mut c_int)
        [comm(comm)] => topology::cart_get;
    both MPI_Cart_map(comm: Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, newrank: *mut c_int)
        [comm(comm)] => topology::cart_map;
    both MPI_Cart_rank(comm: Comm, coords: *const c_int, rank: *mut c_int) [comm(comm)] => topology::cart_rank;
    both MPI_Cart_shift(comm: Comm, direction: c_int, disp: c_int, rank_source: *mut c_int, rank_dest: *mut c_int)
        [comm(comm)] => topology::cart_shift;
    both MPI_Cart_sub(comm: Comm, remain_dims: *const c_int, newcomm: *mut Comm) [comm(comm)] => topology::cart_sub;
    both MPI_Cartdim_get(comm: Comm, ndims: *mut c_int) [comm(comm)] => topology::cartdim_get;
    both MPI_Comm_compare(comm1: Comm, comm2: Comm, result: *mut c_int) [comm(comm1)] => comm::compare;
    both MPI_Comm_create(comm: Comm, group: Group, newcomm: *mut Comm) [comm(comm)] => comm::create;
    both MPI_Comm_create_from_group(group: Group, stringtag: *const c_char, info: Info, errhandler: Errhandler,
        newcomm: *mut Comm) [default] => session::comm_create_from_group;
    both MPI_Comm_create_group(comm: Comm, group: Group, tag: c_int, newcomm: *mut Comm)
        [comm(comm)] => comm::create_group;
    both MPI_Comm_create_keyval(comm_copy_attr_fn: CommCopyAttrFunction, comm_delete_attr_fn: CommDeleteAttrFunction,
        comm_keyval: *mut c_int, extra_state: *mut c_void) [default] => attributes::comm_create_keyval;
    both MPI_Comm_delete_attr(comm: Comm, comm_keyval: c_int) [comm(comm)] => attributes::comm_delete;
    both MPI_Comm_dup(comm: Comm, newcomm: *mut Comm) [comm(comm)] => comm::dup;
    both MPI_Comm_dup_with_info(comm: Comm, info: Info, newcomm: *mut Comm) [comm(comm)] => comm::dup_with_info;
    both MPI_Comm_free(comm: *mut Comm) [comm_at(comm)] => comm::free;
    both MPI_Comm_free_keyval(comm_keyval: *mut c_int) [default] => attributes::comm_free_keyval;
    both MPI_Comm_get_attr(comm: Comm, comm_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int)
        [comm(comm)] => attributes::comm_get;
    both MPI_Comm_get_info(comm: Comm, info_used: *mut Info) [comm(comm)] => comm::get_info;
    both MPI_Comm_get_name(comm: Comm, comm_name: *mut c_char, resultlen: *mut c_int) [comm(comm)] => comm::get_name;
    both MPI_Comm_group(comm: Comm, group: *mut Group) [comm(comm)] => comm::group;
    both MPI_Comm_idup(comm: Comm, newcomm: *mut Comm, request: *mut Request) [comm(comm)] => comm::idup;
    both MPI_Comm_idup_with_info(comm: Comm, info: Info, newcomm: *mut Comm, request: *mut Request)
        [comm(comm)] => comm::idup_with_info;
    both MPI_Comm_rank(comm: Comm, rank: *mut c_int) [comm(comm)] => comm::rank;
    both MPI_Comm_remote_group(comm: Comm, group: *mut Group) [comm(comm)] => inter::remote_group;
    both MPI_Comm_remote_size(comm: Comm, size: *mut c_int) [comm(comm)] => inter::remote_size;
    both MPI_Comm_set_attr(comm: Comm, comm_keyval: c_int, attribute_val: *mut c_void)
        [comm(comm)] => attributes::comm_set;
    both MPI_Comm_set_info(comm: Comm, info: Info) [comm(comm)] => comm::set_info;
    both MPI_Comm_set_name(comm: Comm, comm_name: *const c_char) [comm(comm)] => comm::set_name;
    both MPI_Comm_size(comm: Comm, size: *mut c_int) [comm(comm)] => comm::size;
    both MPI_Comm_split(comm: Comm, color: c_int, key: c_int, newcomm: *mut Comm) [comm(comm)] => comm::split;
    both MPI_Comm_split_type(comm: Comm, split_type: c_int, key: c_int, info: Info, newcomm: *mut Comm)
        [comm(comm)] => comm::split_type;
    both MPI_Comm_test_inter(comm: Comm, flag: *mut c_int) [comm(comm)] => inter::test;
    both MPI_Dims_create(nnodes: c_int, ndims: c_int, dims: *mut c_int) [default] => topology::dims_create;
    both MPI_Dist_graph_create(comm_old: Comm, n: c_int, sources: *const c_int, degrees: *const c_int,
        destinations: *const c_int, weights: *const c_int, info: Info, reorder: c_int, comm_dist_graph: *mut Comm)
        [comm(comm_old)] => topology::dist_graph_create;
    both MPI_Dist_graph_create_adjacent(comm_old: Comm, indegree: c_int, sources: *const c_int,
        sourceweights: *const c_int, outdegree: c_int, destinations: *const c_int, destweights: *const c_int,
        info: Info, reorder: c_int, comm_dist_graph: *mut Comm) [comm(comm_old)] => topology::dist_graph_create_adjacent;
    both MPI_Dist_graph_neighbors(comm: Comm, maxindegree: c_int, sources: *mut c_int, sourceweights: *mut c_int,
        maxoutdegree: c_int, destinations: *mut c_int, destweights: *mut c_int) [comm(comm)] => topology::dist_graph_neighbors;
    both MPI_Dist_graph_neighbors_count(comm: Comm, indegree: *mut c_int, outdegree: *mut c_int, weighted: *mut c_int)
        [comm(comm)] => topology::dist_graph_neighbors_count;
    both MPI_Graph_create(comm_old: Comm, nnodes: c_int, indx: *const c_int, edges: *const c_int, reorder: c_int,
        comm_graph: *mut Comm) [comm(comm_old)] => topology::graph_create;
    both MPI_Graph_get(comm: Comm, maxindex: c_int, maxedges: c_int, indx: *mut c_int, edges: *mut c_int)
        [comm(comm)] => topology::graph_get;
    both MPI_Graph_map(comm: Comm, nnodes: c_int, indx: *const c_int, edges: *const c_int, newrank: *mut c_int)
        [comm(comm)] => topology::graph_map;
    both MPI_Graph_neighbors(comm: Comm, rank: c_int, maxneighbors: c_int, neighbors: *mut c_int)
        [comm(comm)] => topology::graph_neighbors;
    both MPI_Graph_neighbors_count(comm: Comm, rank: c_int, nneighbors: *mut c_int) [comm(comm)] => topology::graph_neighbors_count;
    both MPI_Graphdims_get(comm: Comm, nnodes: *mut c_int, nedges: *mut c_int) [comm(comm)] => topology::graphdims_get;
    both MPI_Group_compare(group1: Group, group2: Group, result: *mut c_int) [default] => group::compare;
    both MPI_Group_difference(group1: Group, group2: Group, newgroup: *mut Group) [default] => group::difference;
    both MPI_Group_excl(group: Group, n: c_int, ranks: *const c_int, newgroup: *mut Group) [default] => group::exclude;
    both MPI_Group_free(group: *mut Group) [default] => group::free;
    both MPI_Group_incl(group: Group, n: c_int, ranks: *const c_int, newgroup: *mut Group) [default] => group::include;
    both MPI_Group_intersection(group1: Group, group2: Group, newgroup: *mut Group) [default] => group::intersection;
    both MPI_Group_range_excl(group: Group, n: c_int, ranges: *mut [c_int; 3], newgroup: *mut Group)
        [default] => group::range_exclude;
    both MPI_Group_range_incl(group: Group, n: c_int, ranges: *mut [c_int; 3], newgroup: *mut Group)
        [default] => group::range_include;
    both MPI_Group_rank(group: Group, rank: *mut c_int) [default] => group::rank;
    both MPI_Group_size(group: Group, size: *mut c_int) [default] => group::size;
    both MPI_Group_translate_ranks(group1: Group, n: c_int, ranks1: *const c_int, group2: Group, ranks2: *mut c_int)
        [default] => group::translate_ranks;
    both MPI_Group_union(group1: Group, group2: Group, newgroup: *mut Group) [default] => group::union;
    both MPI_Intercomm_create(local_comm: Comm, local_leader: c_int, peer_comm: Comm, remote_leader: c_int, tag: c_int,
        newintercomm: *mut Comm) [comm(local_comm)] => inter::create;
    both MPI_Intercomm_create_from_groups(local_group: Group, local_leader: c_int, remote_group: Group,
        remote_leader: c_int, stringtag: *const c_char, info: Info, errhandler: Errhandler, newintercomm: *mut Comm)
        [default] => inter::create_from_groups;
    both MPI_Intercomm_merge(intercomm: Comm, high: c_int, newintracomm: *mut Comm) [comm(intercomm)] => inter::merge;
    both MPI_Keyval_create(copy_fn: CopyFunction, delete_fn: DeleteFunction, keyval: *mut c_int,
        extra_state: *mut c_void) [default] => attributes::comm_create_keyval;
    both MPI_Keyval_free(keyval: *mut c_int) [default] => attributes::comm_free_keyval;
    both MPI_Topo_test(comm: Comm, status: *mut c_int) [comm(comm)] => topology::test;
} } }
