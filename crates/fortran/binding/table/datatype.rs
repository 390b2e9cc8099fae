//! Entry points of Fortran: datatypes.
//!
//! Written by crates/fortran/tools/binding.py from the table of functions; do not edit.

use crate::binding::prelude::*;

choice! { "get_address" (location: Buffer, address: *mut Aint) [] {
    c::MPI_Get_address(location.address(), address)
} }
choice! { "pack" (inbuf: Buffer, incount: *const c_int, datatype: *const Fint, outbuf: Buffer, outsize: *const c_int,
    position: *mut c_int, comm: *const Fint) [] {
    let Some(inbuf) = choice::blocking(inbuf, *incount, handle(*datatype), false)
        else { return choice::refuse("MPI_Pack", handle(*comm)) };
    let outbuf = choice::Copied::of(outbuf);
    let code = c::MPI_Pack(inbuf.address, inbuf.count, inbuf.datatype, outbuf.address(), *outsize, position,
        handle(*comm));
    outbuf.finish(true);
    code
} }
choice_large! { "pack_c" "pack" (inbuf: Buffer, incount: *const Count, datatype: *const Fint, outbuf: Buffer, outsize:
    *const Count, position: *mut Count, comm: *const Fint) [] {
    let Some(inbuf) = choice::blocking(inbuf, *incount, handle(*datatype), false)
        else { return choice::refuse("MPI_Pack_c", handle(*comm)) };
    let outbuf = choice::Copied::of(outbuf);
    let code = c::MPI_Pack_c(inbuf.address, inbuf.count, inbuf.datatype, outbuf.address(), *outsize, position,
        handle(*comm));
    outbuf.finish(true);
    code
} }
plain! { "pack_external_size" (datarep: *mut c_char, incount: *const c_int, datatype: *const Fint, size: *mut Aint)
    [datarep_len] {
    let datarep = Text::of(datarep, datarep_len);
    c::MPI_Pack_external_size(datarep.as_ptr(), *incount, handle(*datatype), size)
} }
plain_large! { "pack_external_size_c" "pack_external_size" (datarep: *mut c_char, incount: *const Count, datatype:
    *const Fint, size: *mut Count) [datarep_len] {
    let datarep = Text::of(datarep, datarep_len);
    c::MPI_Pack_external_size_c(datarep.as_ptr(), *incount, handle(*datatype), size)
} }
plain! { "pack_size" (incount: *const c_int, datatype: *const Fint, comm: *const Fint, size: *mut c_int) [] {
    c::MPI_Pack_size(*incount, handle(*datatype), handle(*comm), size)
} }
plain_large! { "pack_size_c" "pack_size" (incount: *const Count, datatype: *const Fint, comm: *const Fint, size: *mut
    Count) [] {
    c::MPI_Pack_size_c(*incount, handle(*datatype), handle(*comm), size)
} }
plain! { "type_commit" (datatype: *mut Fint) [] {
    let mut c_datatype = handle(*datatype);
    let code = c::MPI_Type_commit(&mut c_datatype);
    *datatype = number(c_datatype);
    code
} }
plain! { "type_contiguous" (count: *const c_int, oldtype: *const Fint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_contiguous(*count, handle(*oldtype), &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain_large! { "type_contiguous_c" "type_contiguous" (count: *const Count, oldtype: *const Fint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_contiguous_c(*count, handle(*oldtype), &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain! { "type_create_darray" (size: *const c_int, rank: *const c_int, ndims: *const c_int, array_of_gsizes: *const
    c_int, array_of_distribs: *const c_int, array_of_dargs: *const c_int, array_of_psizes: *const c_int, order: *const
    c_int, oldtype: *const Fint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_darray(*size, *rank, *ndims, array_of_gsizes, array_of_distribs, array_of_dargs,
        array_of_psizes, *order, handle(*oldtype), &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain_large! { "type_create_darray_c" "type_create_darray" (size: *const c_int, rank: *const c_int, ndims: *const c_int,
    array_of_gsizes: *const Count, array_of_distribs: *const c_int, array_of_dargs: *const c_int, array_of_psizes:
    *const c_int, order: *const c_int, oldtype: *const Fint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_darray_c(*size, *rank, *ndims, array_of_gsizes, array_of_distribs, array_of_dargs,
        array_of_psizes, *order, handle(*oldtype), &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain! { "type_create_f90_complex" (p: *const c_int, r: *const c_int, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_f90_complex(*p, *r, &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain! { "type_create_f90_integer" (r: *const c_int, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_f90_integer(*r, &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain! { "type_create_f90_real" (p: *const c_int, r: *const c_int, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_f90_real(*p, *r, &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain! { "type_create_hindexed" (count: *const c_int, array_of_blocklengths: *const c_int, array_of_displacements:
    *const Aint, oldtype: *const Fint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_hindexed(*count, array_of_blocklengths, array_of_displacements, handle(*oldtype), &mut
        c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain! { "type_create_hindexed_block" (count: *const c_int, blocklength: *const c_int, array_of_displacements: *const
    Aint, oldtype: *const Fint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_hindexed_block(*count, *blocklength, array_of_displacements, handle(*oldtype), &mut
        c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain_large! { "type_create_hindexed_block_c" "type_create_hindexed_block" (count: *const Count, blocklength: *const
    Count, array_of_displacements: *const Count, oldtype: *const Fint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_hindexed_block_c(*count, *blocklength, array_of_displacements, handle(*oldtype), &mut
        c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain_large! { "type_create_hindexed_c" "type_create_hindexed" (count: *const Count, array_of_blocklengths: *const
    Count, array_of_displacements: *const Count, oldtype: *const Fint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_hindexed_c(*count, array_of_blocklengths, array_of_displacements, handle(*oldtype),
        &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain! { "type_create_hvector" (count: *const c_int, blocklength: *const c_int, stride: *const Aint, oldtype: *const
    Fint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_hvector(*count, *blocklength, *stride, handle(*oldtype), &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain_large! { "type_create_hvector_c" "type_create_hvector" (count: *const Count, blocklength: *const Count, stride:
    *const Count, oldtype: *const Fint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_hvector_c(*count, *blocklength, *stride, handle(*oldtype), &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain! { "type_create_indexed_block" (count: *const c_int, blocklength: *const c_int, array_of_displacements: *const
    c_int, oldtype: *const Fint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_indexed_block(*count, *blocklength, array_of_displacements, handle(*oldtype), &mut
        c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain_large! { "type_create_indexed_block_c" "type_create_indexed_block" (count: *const Count, blocklength: *const
    Count, array_of_displacements: *const Count, oldtype: *const Fint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_indexed_block_c(*count, *blocklength, array_of_displacements, handle(*oldtype), &mut
        c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain! { "type_create_resized" (oldtype: *const Fint, lb: *const Aint, extent: *const Aint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_resized(handle(*oldtype), *lb, *extent, &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain_large! { "type_create_resized_c" "type_create_resized" (oldtype: *const Fint, lb: *const Count, extent: *const
    Count, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_resized_c(handle(*oldtype), *lb, *extent, &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain! { "type_create_struct" (count: *const c_int, array_of_blocklengths: *const c_int, array_of_displacements: *const
    Aint, array_of_types: *const Fint, newtype: *mut Fint) [] {
    let array_of_types = Handles::of(array_of_types, || entries(*count));
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_struct(*count, array_of_blocklengths, array_of_displacements, array_of_types.as_ptr(),
        &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain_large! { "type_create_struct_c" "type_create_struct" (count: *const Count, array_of_blocklengths: *const Count,
    array_of_displacements: *const Count, array_of_types: *const Fint, newtype: *mut Fint) [] {
    let array_of_types = Handles::of(array_of_types, || entries(*count));
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_struct_c(*count, array_of_blocklengths, array_of_displacements,
        array_of_types.as_ptr(), &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain! { "type_create_subarray" (ndims: *const c_int, array_of_sizes: *const c_int, array_of_subsizes: *const c_int,
    array_of_starts: *const c_int, order: *const c_int, oldtype: *const Fint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_subarray(*ndims, array_of_sizes, array_of_subsizes, array_of_starts, *order,
        handle(*oldtype), &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain_large! { "type_create_subarray_c" "type_create_subarray" (ndims: *const c_int, array_of_sizes: *const Count,
    array_of_subsizes: *const Count, array_of_starts: *const Count, order: *const c_int, oldtype: *const Fint, newtype:
    *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_create_subarray_c(*ndims, array_of_sizes, array_of_subsizes, array_of_starts, *order,
        handle(*oldtype), &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain! { "type_dup" (oldtype: *const Fint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_dup(handle(*oldtype), &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain! { "type_free" (datatype: *mut Fint) [] {
    let mut c_datatype = handle(*datatype);
    let code = c::MPI_Type_free(&mut c_datatype);
    *datatype = number(c_datatype);
    code
} }
plain! { "type_free_keyval" (type_keyval: *mut c_int) [] {
    c::MPI_Type_free_keyval(type_keyval)
} }
plain! { "type_get_contents" (datatype: *const Fint, max_integers: *const c_int, max_addresses: *const c_int,
    max_datatypes: *const c_int, array_of_integers: *mut c_int, array_of_addresses: *mut Aint, array_of_datatypes: *mut
    Fint) [] {
    let mut c_array_of_datatypes = Handles::of(array_of_datatypes, || entries(*max_datatypes));
    let code = c::MPI_Type_get_contents(handle(*datatype), *max_integers, *max_addresses, *max_datatypes,
        array_of_integers, array_of_addresses, c_array_of_datatypes.as_mut_ptr());
    c_array_of_datatypes.store(array_of_datatypes);
    code
} }
plain_large! { "type_get_contents_c" "type_get_contents" (datatype: *const Fint, max_integers: *const Count,
    max_addresses: *const Count, max_large_counts: *const Count, max_datatypes: *const Count, array_of_integers: *mut
    c_int, array_of_addresses: *mut Aint, array_of_large_counts: *mut Count, array_of_datatypes: *mut Fint) [] {
    let mut c_array_of_datatypes = Handles::of(array_of_datatypes, || entries(*max_datatypes));
    let code = c::MPI_Type_get_contents_c(handle(*datatype), *max_integers, *max_addresses, *max_large_counts,
        *max_datatypes, array_of_integers, array_of_addresses, array_of_large_counts,
        c_array_of_datatypes.as_mut_ptr());
    c_array_of_datatypes.store(array_of_datatypes);
    code
} }
plain! { "type_get_envelope" (datatype: *const Fint, num_integers: *mut c_int, num_addresses: *mut c_int, num_datatypes:
    *mut c_int, combiner: *mut c_int) [] {
    c::MPI_Type_get_envelope(handle(*datatype), num_integers, num_addresses, num_datatypes, combiner)
} }
plain_large! { "type_get_envelope_c" "type_get_envelope" (datatype: *const Fint, num_integers: *mut Count,
    num_addresses: *mut Count, num_large_counts: *mut Count, num_datatypes: *mut Count, combiner: *mut c_int) [] {
    c::MPI_Type_get_envelope_c(handle(*datatype), num_integers, num_addresses, num_large_counts, num_datatypes,
        combiner)
} }
plain! { "type_get_extent" (datatype: *const Fint, lb: *mut Aint, extent: *mut Aint) [] {
    c::MPI_Type_get_extent(handle(*datatype), lb, extent)
} }
plain_large! { "type_get_extent_c" "type_get_extent" (datatype: *const Fint, lb: *mut Count, extent: *mut Count) [] {
    c::MPI_Type_get_extent_c(handle(*datatype), lb, extent)
} }
plain! { "type_get_extent_x" (datatype: *const Fint, lb: *mut Count, extent: *mut Count) [] {
    c::MPI_Type_get_extent_x(handle(*datatype), lb, extent)
} }
plain! { "type_get_name" (datatype: *const Fint, type_name: *mut c_char, resultlen: *mut c_int) [type_name_len] {
    let mut c_type_name = TextOut::new(values::MPI_MAX_OBJECT_NAME as usize);
    let code = c::MPI_Type_get_name(handle(*datatype), c_type_name.as_mut_ptr(), resultlen);
    if code == 0 { c_type_name.store(type_name, type_name_len); }
    code
} }
plain! { "type_get_true_extent" (datatype: *const Fint, true_lb: *mut Aint, true_extent: *mut Aint) [] {
    c::MPI_Type_get_true_extent(handle(*datatype), true_lb, true_extent)
} }
plain_large! { "type_get_true_extent_c" "type_get_true_extent" (datatype: *const Fint, true_lb: *mut Count, true_extent:
    *mut Count) [] {
    c::MPI_Type_get_true_extent_c(handle(*datatype), true_lb, true_extent)
} }
plain! { "type_get_true_extent_x" (datatype: *const Fint, true_lb: *mut Count, true_extent: *mut Count) [] {
    c::MPI_Type_get_true_extent_x(handle(*datatype), true_lb, true_extent)
} }
plain! { "type_get_value_index" (value_type: *const Fint, index_type: *const Fint, pair_type: *mut Fint) [] {
    let mut c_pair_type = handle(*pair_type);
    let code = c::MPI_Type_get_value_index(handle(*value_type), handle(*index_type), &mut c_pair_type);
    *pair_type = number(c_pair_type);
    code
} }
plain! { "type_indexed" (count: *const c_int, array_of_blocklengths: *const c_int, array_of_displacements: *const c_int,
    oldtype: *const Fint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_indexed(*count, array_of_blocklengths, array_of_displacements, handle(*oldtype), &mut
        c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain_large! { "type_indexed_c" "type_indexed" (count: *const Count, array_of_blocklengths: *const Count,
    array_of_displacements: *const Count, oldtype: *const Fint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_indexed_c(*count, array_of_blocklengths, array_of_displacements, handle(*oldtype), &mut
        c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain! { "type_match_size" (typeclass: *const c_int, size: *const c_int, datatype: *mut Fint) [] {
    let mut c_datatype = handle(*datatype);
    let code = c::MPI_Type_match_size(*typeclass, *size, &mut c_datatype);
    *datatype = number(c_datatype);
    code
} }
plain! { "type_set_name" (datatype: *const Fint, type_name: *mut c_char) [type_name_len] {
    let type_name = Text::of(type_name, type_name_len);
    c::MPI_Type_set_name(handle(*datatype), type_name.as_ptr())
} }
plain! { "type_size" (datatype: *const Fint, size: *mut c_int) [] {
    c::MPI_Type_size(handle(*datatype), size)
} }
plain_large! { "type_size_c" "type_size" (datatype: *const Fint, size: *mut Count) [] {
    c::MPI_Type_size_c(handle(*datatype), size)
} }
plain! { "type_size_x" (datatype: *const Fint, size: *mut Count) [] {
    c::MPI_Type_size_x(handle(*datatype), size)
} }
plain! { "type_vector" (count: *const c_int, blocklength: *const c_int, stride: *const c_int, oldtype: *const Fint,
    newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_vector(*count, *blocklength, *stride, handle(*oldtype), &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
plain_large! { "type_vector_c" "type_vector" (count: *const Count, blocklength: *const Count, stride: *const Count,
    oldtype: *const Fint, newtype: *mut Fint) [] {
    let mut c_newtype = handle(*newtype);
    let code = c::MPI_Type_vector_c(*count, *blocklength, *stride, handle(*oldtype), &mut c_newtype);
    *newtype = number(c_newtype);
    code
} }
choice! { "unpack" (inbuf: Buffer, insize: *const c_int, position: *mut c_int, outbuf: Buffer, outcount: *const c_int,
    datatype: *const Fint, comm: *const Fint) [] {
    let Some(outbuf) = choice::blocking(outbuf, *outcount, handle(*datatype), true)
        else { return choice::refuse("MPI_Unpack", handle(*comm)) };
    let inbuf = choice::Copied::of(inbuf);
    let code = c::MPI_Unpack(inbuf.address(), *insize, position, outbuf.address, outbuf.count, outbuf.datatype,
        handle(*comm));
    inbuf.finish(false);
    code
} }
choice_large! { "unpack_c" "unpack" (inbuf: Buffer, insize: *const Count, position: *mut Count, outbuf: Buffer,
    outcount: *const Count, datatype: *const Fint, comm: *const Fint) [] {
    let Some(outbuf) = choice::blocking(outbuf, *outcount, handle(*datatype), true)
        else { return choice::refuse("MPI_Unpack_c", handle(*comm)) };
    let inbuf = choice::Copied::of(inbuf);
    let code = c::MPI_Unpack_c(inbuf.address(), *insize, position, outbuf.address, outbuf.count, outbuf.datatype,
        handle(*comm));
    inbuf.finish(false);
    code
} }
