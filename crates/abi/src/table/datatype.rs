//! Rows of the function table: datatypes.
//!
//! Written by tools/table.py; what stands after `=>` is kept by hand (see `table`).

#[doc(hidden)]
#[macro_export]
macro_rules! table_datatype { ($emit:ident $with:tt) => { $emit! { $with
    both MPI_Address(location: *mut c_void, address: *mut Aint) [default] => memory::address;
    both MPI_Aint_add(base: Aint, disp: Aint) -> Aint => memory::aint_add;
    both MPI_Aint_diff(addr1: Aint, addr2: Aint) -> Aint => memory::aint_diff;
    both MPI_Get_address(location: *const c_void, address: *mut Aint) [default] => memory::get_address;
    both MPI_Pack(inbuf: *const c_void, incount: c_int, datatype: Datatype, outbuf: *mut c_void, outsize: c_int,
        position: *mut c_int, comm: Comm) [comm(comm)] => pack::pack;
    both MPI_Pack_c(inbuf: *const c_void, incount: Count, datatype: Datatype, outbuf: *mut c_void, outsize: Count,
        position: *mut Count, comm: Comm) [comm(comm)] => pack::pack;
    both MPI_Pack_external(datarep: *const c_char, inbuf: *const c_void, incount: c_int, datatype: Datatype,
        outbuf: *mut c_void, outsize: Aint, position: *mut Aint) [default] => pack::pack_external;
    both MPI_Pack_external_c(datarep: *const c_char, inbuf: *const c_void, incount: Count, datatype: Datatype,
        outbuf: *mut c_void, outsize: Count, position: *mut Count) [default] => pack::pack_external;
    both MPI_Pack_external_size(datarep: *const c_char, incount: c_int, datatype: Datatype, size: *mut Aint)
        [default] => pack::pack_external_size;
    both MPI_Pack_external_size_c(datarep: *const c_char, incount: Count, datatype: Datatype, size: *mut Count)
        [default] => pack::pack_external_size;
    both MPI_Pack_size(incount: c_int, datatype: Datatype, comm: Comm, size: *mut c_int)
        [comm(comm)] => pack::pack_size;
    both MPI_Pack_size_c(incount: Count, datatype: Datatype, comm: Comm, size: *mut Count)
        [comm(comm)] => pack::pack_size;
    both MPI_Type_commit(datatype: *mut Datatype) [default] => datatype::commit;
    both MPI_Type_contiguous(count: c_int, oldtype: Datatype, newtype: *mut Datatype) [default] => datatype::contiguous;
    both MPI_Type_contiguous_c(count: Count, oldtype: Datatype, newtype: *mut Datatype)
        [default] => datatype::contiguous;
    both MPI_Type_create_darray(size: c_int, rank: c_int, ndims: c_int, array_of_gsizes: *const c_int,
        array_of_distribs: *const c_int, array_of_dargs: *const c_int, array_of_psizes: *const c_int, order: c_int,
        oldtype: Datatype, newtype: *mut Datatype) [default] => datatype::darray;
    both MPI_Type_create_darray_c(size: c_int, rank: c_int, ndims: c_int, array_of_gsizes: *const Count,
        array_of_distribs: *const c_int, array_of_dargs: *const c_int, array_of_psizes: *const c_int, order: c_int,
        oldtype: Datatype, newtype: *mut Datatype) [default] => datatype::darray;
    both MPI_Type_create_f90_complex(p: c_int, r: c_int, newtype: *mut Datatype) [default] => datatype::f90_complex;
    both MPI_Type_create_f90_integer(r: c_int, newtype: *mut Datatype) [default] => datatype::f90_integer;
    both MPI_Type_create_f90_real(p: c_int, r: c_int, newtype: *mut Datatype) [default] => datatype::f90_real;
    both MPI_Type_create_hindexed(count: c_int, array_of_blocklengths: *const c_int,
        array_of_displacements: *const Aint, oldtype: Datatype, newtype: *mut Datatype) [default] => datatype::hindexed;
    both MPI_Type_create_hindexed_block(count: c_int, blocklength: c_int, array_of_displacements: *const Aint,
        oldtype: Datatype, newtype: *mut Datatype) [default] => datatype::hindexed_block;
    both MPI_Type_create_hindexed_block_c(count: Count, blocklength: Count, array_of_displacements: *const Count,
        oldtype: Datatype, newtype: *mut Datatype) [default] => datatype::hindexed_block;
    both MPI_Type_create_hindexed_c(count: Count, array_of_blocklengths: *const Count,
        array_of_displacements: *const Count, oldtype: Datatype, newtype: *mut Datatype)
        [default] => datatype::hindexed;
    both MPI_Type_create_hvector(count: c_int, blocklength: c_int, stride: Aint, oldtype: Datatype,
        newtype: *mut Datatype) [default] => datatype::hvector;
    both MPI_Type_create_hvector_c(count: Count, blocklength: Count, stride: Count, oldtype: Datatype,
        newtype: *mut Datatype) [default] => datatype::hvector;
    both MPI_Type_create_indexed_block(count: c_int, blocklength: c_int, array_of_displacements: *const c_int,
        oldtype: Datatype, newtype: *mut Datatype) [default] => datatype::indexed_block;
    both MPI_Type_create_indexed_block_c(count: Count, blocklength: Count, array_of_displacements: *const Count,
        oldtype: Datatype, newtype: *mut Datatype) [default] => datatype::indexed_block;
    both MPI_Type_create_keyval(type_copy_attr_fn: TypeCopyAttrFunction, type_delete_attr_fn: TypeDeleteAttrFunction,
        type_keyval: *mut c_int, extra_state: *mut c_void) [default] => attributes::type_create_keyval;
    both MPI_Type_create_resized(oldtype: Datatype, lb: Aint, extent: Aint, newtype: *mut Datatype)
        [default] => datatype::resized;
    both MPI_Type_create_resized_c(oldtype: Datatype, lb: Count, extent: Count, newtype: *mut Datatype)
        [default] => datatype::resized;
    both MPI_Type_create_struct(count: c_int, array_of_blocklengths: *const c_int, array_of_displacements: *const Aint,
        array_of_types: *const Datatype, newtype: *mut Datatype) [default] => datatype::structure;
    both MPI_Type_create_struct_c(count: Count, array_of_blocklengths: *const Count,
        array_of_displacements: *const Count, array_of_types: *const Datatype, newtype: *mut Datatype)
        [default] => datatype::structure;
    both MPI_Type_create_subarray(ndims: c_int, array_of_sizes: *const c_int, array_of_subsizes: *const c_int,
        array_of_starts: *const c_int, order: c_int, oldtype: Datatype, newtype: *mut Datatype)
        [default] => datatype::subarray;
    both MPI_Type_create_subarray_c(ndims: c_int, array_of_sizes: *const Count, array_of_subsizes: *const Count,
        array_of_starts: *const Count, order: c_int, oldtype: Datatype, newtype: *mut Datatype)
        [default] => datatype::subarray;
    both MPI_Type_delete_attr(datatype: Datatype, type_keyval: c_int) [default] => attributes::type_delete;
    both MPI_Type_dup(oldtype: Datatype, newtype: *mut Datatype) [default] => datatype::dup;
    both MPI_Type_extent(datatype: Datatype, extent: *mut Aint) [default] => layout::mpi1_extent;
    both MPI_Type_free(datatype: *mut Datatype) [default] => datatype::free;
    both MPI_Type_free_keyval(type_keyval: *mut c_int) [default] => attributes::type_free_keyval;
    both MPI_Type_get_attr(datatype: Datatype, type_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int)
        [default] => attributes::type_get;
    both MPI_Type_get_contents(datatype: Datatype, max_integers: c_int, max_addresses: c_int, max_datatypes: c_int,
        array_of_integers: *mut c_int, array_of_addresses: *mut Aint, array_of_datatypes: *mut Datatype)
        [default] => layout::get_contents;
    both MPI_Type_get_contents_c(datatype: Datatype, max_integers: Count, max_addresses: Count, max_large_counts: Count,
        max_datatypes: Count, array_of_integers: *mut c_int, array_of_addresses: *mut Aint,
        array_of_large_counts: *mut Count, array_of_datatypes: *mut Datatype) [default] => layout::get_contents_large;
    both MPI_Type_get_envelope(datatype: Datatype, num_integers: *mut c_int, num_addresses: *mut c_int,
        num_datatypes: *mut c_int, combiner: *mut c_int) [default] => layout::get_envelope;
    both MPI_Type_get_envelope_c(datatype: Datatype, num_integers: *mut Count, num_addresses: *mut Count,
        num_large_counts: *mut Count, num_datatypes: *mut Count, combiner: *mut c_int)
        [default] => layout::get_envelope_large;
    both MPI_Type_get_extent(datatype: Datatype, lb: *mut Aint, extent: *mut Aint) [default] => layout::get_extent;
    both MPI_Type_get_extent_c(datatype: Datatype, lb: *mut Count, extent: *mut Count) [default] => layout::get_extent;
    both MPI_Type_get_extent_x(datatype: Datatype, lb: *mut Count, extent: *mut Count) [default] => layout::get_extent;
    both MPI_Type_get_name(datatype: Datatype, type_name: *mut c_char, resultlen: *mut c_int)
        [default] => datatype::get_name;
    both MPI_Type_get_true_extent(datatype: Datatype, true_lb: *mut Aint, true_extent: *mut Aint)
        [default] => layout::get_true_extent;
    both MPI_Type_get_true_extent_c(datatype: Datatype, true_lb: *mut Count, true_extent: *mut Count)
        [default] => layout::get_true_extent;
    both MPI_Type_get_true_extent_x(datatype: Datatype, true_lb: *mut Count, true_extent: *mut Count)
        [default] => layout::get_true_extent;
    both MPI_Type_get_value_index(value_type: Datatype, index_type: Datatype, pair_type: *mut Datatype)
        [default] => datatype::get_value_index;
    both MPI_Type_hindexed(count: c_int, array_of_blocklengths: *mut c_int, array_of_displacements: *mut Aint,
        oldtype: Datatype, newtype: *mut Datatype) [default] => datatype::mpi1_hindexed;
    both MPI_Type_hvector(count: c_int, blocklength: c_int, stride: Aint, oldtype: Datatype, newtype: *mut Datatype)
        [default] => datatype::hvector;
    both MPI_Type_indexed(count: c_int, array_of_blocklengths: *const c_int, array_of_displacements: *const c_int,
        oldtype: Datatype, newtype: *mut Datatype) [default] => datatype::indexed;
    both MPI_Type_indexed_c(count: Count, array_of_blocklengths: *const Count, array_of_displacements: *const Count,
        oldtype: Datatype, newtype: *mut Datatype) [default] => datatype::indexed;
    both MPI_Type_lb(datatype: Datatype, displacement: *mut Aint) [default] => layout::mpi1_lb;
    both MPI_Type_match_size(typeclass: c_int, size: c_int, datatype: *mut Datatype) [default] => datatype::match_size;
    both MPI_Type_set_attr(datatype: Datatype, type_keyval: c_int, attribute_val: *mut c_void)
        [default] => attributes::type_set;
    both MPI_Type_set_name(datatype: Datatype, type_name: *const c_char) [default] => datatype::set_name;
    both MPI_Type_size(datatype: Datatype, size: *mut c_int) [default] => layout::size;
    both MPI_Type_size_c(datatype: Datatype, size: *mut Count) [default] => layout::size;
    both MPI_Type_size_x(datatype: Datatype, size: *mut Count) [default] => layout::size;
    both MPI_Type_struct(count: c_int, array_of_blocklengths: *mut c_int, array_of_displacements: *mut Aint,
        array_of_types: *mut Datatype, newtype: *mut Datatype) [default] => datatype::mpi1_struct;
    both MPI_Type_ub(datatype: Datatype, displacement: *mut Aint) [default] => layout::mpi1_ub;
    both MPI_Type_vector(count: c_int, blocklength: c_int, stride: c_int, oldtype: Datatype, newtype: *mut Datatype)
        [default] => datatype::vector;
    both MPI_Type_vector_c(count: Count, blocklength: Count, stride: Count, oldtype: Datatype, newtype: *mut Datatype)
        [default] => datatype::vector;
    both MPI_Unpack(inbuf: *const c_void, insize: c_int, position: *mut c_int, outbuf: *mut c_void, outcount: c_int,
        datatype: Datatype, comm: Comm) [comm(comm)] => pack::unpack;
    both MPI_Unpack_c(inbuf: *const c_void, insize: Count, position: *mut Count, outbuf: *mut c_void, outcount: Count,
        datatype: Datatype, comm: Comm) [comm(comm)] => pack::unpack;
    both MPI_Unpack_external(datarep: *const c_char, inbuf: *const c_void, insize: Aint, position: *mut Aint,
        outbuf: *mut c_void, outcount: c_int, datatype: Datatype) [default] => pack::unpack_external;
    both MPI_Unpack_external_c(datarep: *const c_char, inbuf: *const c_void, insize: Count, position: *mut Count,
        outbuf: *mut c_void, outcount: Count, datatype: Datatype) [default] => pack::unpack_external;
} } }
