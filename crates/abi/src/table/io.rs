//! Rows of the function table: files.
//!
//! Written by tools/table.py; what stands after `=>` is kept by hand (see `table`).

#[doc(hidden)]
#[macro_export]
macro_rules! table_io { ($emit:ident $with:tt) => { $emit! { $with
    both MPI_File_close(fh: *mut File) [file_at(fh)] => unsupported;
    both MPI_File_delete(filename: *const c_char, info: Info) [no_file] => unsupported;
    both MPI_File_get_amode(fh: File, amode: *mut c_int) [file(fh)] => unsupported;
    both MPI_File_get_atomicity(fh: File, flag: *mut c_int) [file(fh)] => unsupported;
    both MPI_File_get_byte_offset(fh: File, offset: Offset, disp: *mut Offset) [file(fh)] => unsupported;
    both MPI_File_get_group(fh: File, group: *mut Group) [file(fh)] => unsupported;
    both MPI_File_get_info(fh: File, info_used: *mut Info) [file(fh)] => unsupported;
    both MPI_File_get_position(fh: File, offset: *mut Offset) [file(fh)] => unsupported;
    both MPI_File_get_position_shared(fh: File, offset: *mut Offset) [file(fh)] => unsupported;
    both MPI_File_get_size(fh: File, size: *mut Offset) [file(fh)] => unsupported;
    both MPI_File_get_type_extent(fh: File, datatype: Datatype, extent: *mut Aint) [file(fh)] => unsupported;
    both MPI_File_get_type_extent_c(fh: File, datatype: Datatype, extent: *mut Count) [file(fh)] => unsupported;
    both MPI_File_get_view(fh: File, disp: *mut Offset, etype: *mut Datatype, filetype: *mut Datatype,
        datarep: *mut c_char) [file(fh)] => unsupported;
    both MPI_File_iread(fh: File, buf: *mut c_void, count: c_int, datatype: Datatype, request: *mut Request)
        [file(fh)] => unsupported;
    both MPI_File_iread_all(fh: File, buf: *mut c_void, count: c_int, datatype: Datatype, request: *mut Request)
        [file(fh)] => unsupported;
    both MPI_File_iread_all_c(fh: File, buf: *mut c_void, count: Count, datatype: Datatype, request: *mut Request)
        [file(fh)] => unsupported;
    both MPI_File_iread_at(fh: File, offset: Offset, buf: *mut c_void, count: c_int, datatype: Datatype,
        request: *mut Request) [file(fh)] => unsupported;
    both MPI_File_iread_at_all(fh: File, offset: Offset, buf: *mut c_void, count: c_int, datatype: Datatype,
        request: *mut Request) [file(fh)] => unsupported;
    both MPI_File_iread_at_all_c(fh: File, offset: Offset, buf: *mut c_void, count: Count, datatype: Datatype,
        request: *mut Request) [file(fh)] => unsupported;
    both MPI_File_iread_at_c(fh: File, offset: Offset, buf: *mut c_void, count: Count, datatype: Datatype,
        request: *mut Request) [file(fh)] => unsupported;
    both MPI_File_iread_c(fh: File, buf: *mut c_void, count: Count, datatype: Datatype, request: *mut Request)
        [file(fh)] => unsupported;
    both MPI_File_iread_shared(fh: File, buf: *mut c_void, count: c_int, datatype: Datatype, request: *mut Request)
        [file(fh)] => unsupported;
    both MPI_File_iread_shared_c(fh: File, buf: *mut c_void, count: Count, datatype: Datatype, request: *mut Request)
        [file(fh)] => unsupported;
    both MPI_File_iwrite(fh: File, buf: *const c_void, count: c_int, datatype: Datatype, request: *mut Request)
        [file(fh)] => unsupported;
    both MPI_File_iwrite_all(fh: File, buf: *const c_void, count: c_int, datatype: Datatype, request: *mut Request)
        [file(fh)] => unsupported;
    both MPI_File_iwrite_all_c(fh: File, buf: *const c_void, count: Count, datatype: Datatype, request: *mut Request)
        [file(fh)] => unsupported;
    both MPI_File_iwrite_at(fh: File, offset: Offset, buf: *const c_void, count: c_int, datatype: Datatype,
        request: *mut Request) [file(fh)] => unsupported;
    both MPI_File_iwrite_at_all(fh: File, offset: Offset, buf: *const c_void, count: c_int, datatype: Datatype,
        request: *mut Request) [file(fh)] => unsupported;
    both MPI_File_iwrite_at_all_c(fh: File, offset: Offset, buf: *const c_void, count: Count, datatype: Datatype,
        request: *mut Request) [file(fh)] => unsupported;
    both MPI_File_iwrite_at_c(fh: File, offset: Offset, buf: *const c_void, count: Count, datatype: Datatype,
        request: *mut Request) [file(fh)] => unsupported;
    both MPI_File_iwrite_c(fh: File, buf: *const c_void, count: Count, datatype: Datatype, request: *mut Request)
        [file(fh)] => unsupported;
    both MPI_File_iwrite_shared(fh: File, buf: *const c_void, count: c_int, datatype: Datatype, request: *mut Request)
        [file(fh)] => unsupported;
    both MPI_File_iwrite_shared_c(fh: File, buf: *const c_void, count: Count, datatype: Datatype, request: *mut Request)
        [file(fh)] => unsupported;
    both MPI_File_open(comm: Comm, filename: *const c_char, amode: c_int, info: Info, fh: *mut File)
        [comm(comm)] => unsupported;
    both MPI_File_preallocate(fh: File, size: Offset) [file(fh)] => unsupported;
    both MPI_File_read(fh: File, buf: *mut c_void, count: c_int, datatype: Datatype, status: *mut Status)
        [file(fh)] => unsupported;
    both MPI_File_read_all(fh: File, buf: *mut c_void, count: c_int, datatype: Datatype, status: *mut Status)
        [file(fh)] => unsupported;
    both MPI_File_read_all_begin(fh: File, buf: *mut c_void, count: c_int, datatype: Datatype)
        [file(fh)] => unsupported;
    both MPI_File_read_all_begin_c(fh: File, buf: *mut c_void, count: Count, datatype: Datatype)
        [file(fh)] => unsupported;
    both MPI_File_read_all_c(fh: File, buf: *mut c_void, count: Count, datatype: Datatype, status: *mut Status)
        [file(fh)] => unsupported;
    both MPI_File_read_all_end(fh: File, buf: *mut c_void, status: *mut Status) [file(fh)] => unsupported;
    both MPI_File_read_at(fh: File, offset: Offset, buf: *mut c_void, count: c_int, datatype: Datatype,
        status: *mut Status) [file(fh)] => unsupported;
    both MPI_File_read_at_all(fh: File, offset: Offset, buf: *mut c_void, count: c_int, datatype: Datatype,
        status: *mut Status) [file(fh)] => unsupported;
    both MPI_File_read_at_all_begin(fh: File, offset: Offset, buf: *mut c_void, count: c_int, datatype: Datatype)
        [file(fh)] => unsupported;
    both MPI_File_read_at_all_begin_c(fh: File, offset: Offset, buf: *mut c_void, count: Count, datatype: Datatype)
        [file(fh)] => unsupported;
    both MPI_File_read_at_all_c(fh: File, offset: Offset, buf: *mut c_void, count: Count, datatype: Datatype,
        status: *mut Status) [file(fh)] => unsupported;
    both MPI_File_read_at_all_end(fh: File, buf: *mut c_void, status: *mut Status) [file(fh)] => unsupported;
    both MPI_File_read_at_c(fh: File, offset: Offset, buf: *mut c_void, count: Count, datatype: Datatype,
        status: *mut Status) [file(fh)] => unsupported;
    both MPI_File_read_c(fh: File, buf: *mut c_void, count: Count, datatype: Datatype, status: *mut Status)
        [file(fh)] => unsupported;
    both MPI_File_read_ordered(fh: File, buf: *mut c_void, count: c_int, datatype: Datatype, status: *mut Status)
        [file(fh)] => unsupported;
    both MPI_File_read_ordered_begin(fh: File, buf: *mut c_void, count: c_int, datatype: Datatype)
        [file(fh)] => unsupported;
    both MPI_File_read_ordered_begin_c(fh: File, buf: *mut c_void, count: Count, datatype: Datatype)
        [file(fh)] => unsupported;
    both MPI_File_read_ordered_c(fh: File, buf: *mut c_void, count: Count, datatype: Datatype, status: *mut Status)
        [file(fh)] => unsupported;
    both MPI_File_read_ordered_end(fh: File, buf: *mut c_void, status: *mut Status) [file(fh)] => unsupported;
    both MPI_File_read_shared(fh: File, buf: *mut c_void, count: c_int, datatype: Datatype, status: *mut Status)
        [file(fh)] => unsupported;
    both MPI_File_read_shared_c(fh: File, buf: *mut c_void, count: Count, datatype: Datatype, status: *mut Status)
        [file(fh)] => unsupported;
    both MPI_File_seek(fh: File, offset: Offset, whence: c_int) [file(fh)] => unsupported;
    both MPI_File_seek_shared(fh: File, offset: Offset, whence: c_int) [file(fh)] => unsupported;
    both MPI_File_set_atomicity(fh: File, flag: c_int) [file(fh)] => unsupported;
    both MPI_File_set_info(fh: File, info: Info) [file(fh)] => unsupported;
    both MPI_File_set_size(fh: File, size: Offset) [file(fh)] => unsupported;
    both MPI_File_set_view(fh: File, disp: Offset, etype: Datatype, filetype: Datatype, datarep: *const c_char,
        info: Info) [file(fh)] => unsupported;
    both MPI_File_sync(fh: File) [file(fh)] => unsupported;
    both MPI_File_write(fh: File, buf: *const c_void, count: c_int, datatype: Datatype, status: *mut Status)
        [file(fh)] => unsupported;
    both MPI_File_write_all(fh: File, buf: *const c_void, count: c_int, datatype: Datatype, status: *mut Status)
        [file(fh)] => unsupported;
    both MPI_File_write_all_begin(fh: File, buf: *const c_void, count: c_int, datatype: Datatype)
        [file(fh)] => unsupported;
    both MPI_File_write_all_begin_c(fh: File, buf: *const c_void, count: Count, datatype: Datatype)
        [file(fh)] => unsupported;
    both MPI_File_write_all_c(fh: File, buf: *const c_void, count: Count, datatype: Datatype, status: *mut Status)
        [file(fh)] => unsupported;
    both MPI_File_write_all_end(fh: File, buf: *const c_void, status: *mut Status) [file(fh)] => unsupported;
    both MPI_File_write_at(fh: File, offset: Offset, buf: *const c_void, count: c_int, datatype: Datatype,
        status: *mut Status) [file(fh)] => unsupported;
    both MPI_File_write_at_all(fh: File, offset: Offset, buf: *const c_void, count: c_int, datatype: Datatype,
        status: *mut Status) [file(fh)] => unsupported;
    both MPI_File_write_at_all_begin(fh: File, offset: Offset, buf: *const c_void, count: c_int, datatype: Datatype)
        [file(fh)] => unsupported;
    both MPI_File_write_at_all_begin_c(fh: File, offset: Offset, buf: *const c_void, count: Count, datatype: Datatype)
        [file(fh)] => unsupported;
    both MPI_File_write_at_all_c(fh: File, offset: Offset, buf: *const c_void, count: Count, datatype: Datatype,
        status: *mut Status) [file(fh)] => unsupported;
    both MPI_File_write_at_all_end(fh: File, buf: *const c_void, status: *mut Status) [file(fh)] => unsupported;
    both MPI_File_write_at_c(fh: File, offset: Offset, buf: *const c_void, count: Count, datatype: Datatype,
        status: *mut Status) [file(fh)] => unsupported;
    both MPI_File_write_c(fh: File, buf: *const c_void, count: Count, datatype: Datatype, status: *mut Status)
        [file(fh)] => unsupported;
    both MPI_File_write_ordered(fh: File, buf: *const c_void, count: c_int, datatype: Datatype, status: *mut Status)
        [file(fh)] => unsupported;
    both MPI_File_write_ordered_begin(fh: File, buf: *const c_void, count: c_int, datatype: Datatype)
        [file(fh)] => unsupported;
    both MPI_File_write_ordered_begin_c(fh: File, buf: *const c_void, count: Count, datatype: Datatype)
        [file(fh)] => unsupported;
    both MPI_File_write_ordered_c(fh: File, buf: *const c_void, count: Count, datatype: Datatype, status: *mut Status)
        [file(fh)] => unsupported;
    both MPI_File_write_ordered_end(fh: File, buf: *const c_void, status: *mut Status) [file(fh)] => unsupported;
    both MPI_File_write_shared(fh: File, buf: *const c_void, count: c_int, datatype: Datatype, status: *mut Status)
        [file(fh)] => unsupported;
    both MPI_File_write_shared_c(fh: File, buf: *const c_void, count: Count, datatype: Datatype, status: *mut Status)
        [file(fh)] => unsupported;
    both MPI_Register_datarep(datarep: *const c_char, read_conversion_fn: DatarepConversionFunction,
        write_conversion_fn: DatarepConversionFunction, dtype_file_extent_fn: DatarepExtentFunction,
        extra_state: *mut c_void) [no_file] => unsupported;
    both MPI_Register_datarep_c(datarep: *const c_char, read_conversion_fn: DatarepConversionFunctionC,
        write_conversion_fn: DatarepConversionFunctionC, dtype_file_extent_fn: DatarepExtentFunction,
        extra_state: *mut c_void) [no_file] => unsupported;
} } }
