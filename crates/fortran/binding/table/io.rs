//! Entry points of Fortran: files.
//!
//! Written by crates/fortran/tools/binding.py from the table of functions; do not edit.

use crate::binding::prelude::*;

plain! { "file_close" (fh: *mut Fint) [] {
    let mut c_fh = c_file(*fh);
    let code = c::MPI_File_close(&mut c_fh);
    *fh = file_number(c_fh);
    code
} }
plain! { "file_delete" (filename: *mut c_char, info: *const Fint) [filename_len] {
    let filename = Text::of(filename, filename_len);
    c::MPI_File_delete(filename.as_ptr(), handle(*info))
} }
plain! { "file_get_amode" (fh: *const Fint, amode: *mut c_int) [] {
    c::MPI_File_get_amode(c_file(*fh), amode)
} }
plain! { "file_get_atomicity" (fh: *const Fint, flag: *mut Logical) [] {
    let mut c_flag: c_int = truth(*flag);
    let code = c::MPI_File_get_atomicity(c_file(*fh), &mut c_flag);
    *flag = logical(c_flag);
    code
} }
plain! { "file_get_byte_offset" (fh: *const Fint, offset: *const Offset, disp: *mut Offset) [] {
    c::MPI_File_get_byte_offset(c_file(*fh), *offset, disp)
} }
plain! { "file_get_group" (fh: *const Fint, group: *mut Fint) [] {
    let mut c_group = handle(*group);
    let code = c::MPI_File_get_group(c_file(*fh), &mut c_group);
    *group = number(c_group);
    code
} }
plain! { "file_get_info" (fh: *const Fint, info_used: *mut Fint) [] {
    let mut c_info_used = handle(*info_used);
    let code = c::MPI_File_get_info(c_file(*fh), &mut c_info_used);
    *info_used = number(c_info_used);
    code
} }
plain! { "file_get_position" (fh: *const Fint, offset: *mut Offset) [] {
    c::MPI_File_get_position(c_file(*fh), offset)
} }
plain! { "file_get_position_shared" (fh: *const Fint, offset: *mut Offset) [] {
    c::MPI_File_get_position_shared(c_file(*fh), offset)
} }
plain! { "file_get_size" (fh: *const Fint, size: *mut Offset) [] {
    c::MPI_File_get_size(c_file(*fh), size)
} }
plain! { "file_get_type_extent" (fh: *const Fint, datatype: *const Fint, extent: *mut Aint) [] {
    c::MPI_File_get_type_extent(c_file(*fh), handle(*datatype), extent)
} }
plain_large! { "file_get_type_extent_c" "file_get_type_extent" (fh: *const Fint, datatype: *const Fint, extent: *mut
    Count) [] {
    c::MPI_File_get_type_extent_c(c_file(*fh), handle(*datatype), extent)
} }
plain! { "file_get_view" (fh: *const Fint, disp: *mut Offset, etype: *mut Fint, filetype: *mut Fint, datarep: *mut
    c_char) [datarep_len] {
    let mut c_etype = handle(*etype);
    let mut c_filetype = handle(*filetype);
    let mut c_datarep = TextOut::new(values::MPI_MAX_DATAREP_STRING as usize);
    let code = c::MPI_File_get_view(c_file(*fh), disp, &mut c_etype, &mut c_filetype, c_datarep.as_mut_ptr());
    *etype = number(c_etype);
    *filetype = number(c_filetype);
    if code == 0 { c_datarep.store(datarep, datarep_len); }
    code
} }
choice! { "file_iread" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iread", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iread(c_file(*fh), buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "file_iread_all" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint, request: *mut
    Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iread_all", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iread_all(c_file(*fh), buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "file_iread_all_c" "file_iread_all" (fh: *const Fint, buf: Buffer, count: *const Count, datatype: *const
    Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iread_all_c", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iread_all_c(c_file(*fh), buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "file_iread_at" (fh: *const Fint, offset: *const Offset, buf: Buffer, count: *const c_int, datatype: *const
    Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iread_at", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iread_at(c_file(*fh), *offset, buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "file_iread_at_all" (fh: *const Fint, offset: *const Offset, buf: Buffer, count: *const c_int, datatype:
    *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iread_at_all", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iread_at_all(c_file(*fh), *offset, buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "file_iread_at_all_c" "file_iread_at_all" (fh: *const Fint, offset: *const Offset, buf: Buffer, count:
    *const Count, datatype: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iread_at_all_c", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iread_at_all_c(c_file(*fh), *offset, buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "file_iread_at_c" "file_iread_at" (fh: *const Fint, offset: *const Offset, buf: Buffer, count: *const
    Count, datatype: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iread_at_c", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iread_at_c(c_file(*fh), *offset, buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "file_iread_c" "file_iread" (fh: *const Fint, buf: Buffer, count: *const Count, datatype: *const Fint,
    request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iread_c", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iread_c(c_file(*fh), buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "file_iread_shared" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint, request: *mut
    Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iread_shared", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iread_shared(c_file(*fh), buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "file_iread_shared_c" "file_iread_shared" (fh: *const Fint, buf: Buffer, count: *const Count, datatype:
    *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iread_shared_c", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iread_shared_c(c_file(*fh), buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "file_iwrite" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint, request: *mut Fint)
    [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iwrite", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iwrite(c_file(*fh), buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "file_iwrite_all" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint, request: *mut
    Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iwrite_all", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iwrite_all(c_file(*fh), buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "file_iwrite_all_c" "file_iwrite_all" (fh: *const Fint, buf: Buffer, count: *const Count, datatype:
    *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iwrite_all_c", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iwrite_all_c(c_file(*fh), buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "file_iwrite_at" (fh: *const Fint, offset: *const Offset, buf: Buffer, count: *const c_int, datatype: *const
    Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iwrite_at", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iwrite_at(c_file(*fh), *offset, buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "file_iwrite_at_all" (fh: *const Fint, offset: *const Offset, buf: Buffer, count: *const c_int, datatype:
    *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iwrite_at_all", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iwrite_at_all(c_file(*fh), *offset, buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "file_iwrite_at_all_c" "file_iwrite_at_all" (fh: *const Fint, offset: *const Offset, buf: Buffer, count:
    *const Count, datatype: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iwrite_at_all_c", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iwrite_at_all_c(c_file(*fh), *offset, buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "file_iwrite_at_c" "file_iwrite_at" (fh: *const Fint, offset: *const Offset, buf: Buffer, count: *const
    Count, datatype: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iwrite_at_c", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iwrite_at_c(c_file(*fh), *offset, buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "file_iwrite_c" "file_iwrite" (fh: *const Fint, buf: Buffer, count: *const Count, datatype: *const Fint,
    request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iwrite_c", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iwrite_c(c_file(*fh), buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "file_iwrite_shared" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint, request: *mut
    Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iwrite_shared", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iwrite_shared(c_file(*fh), buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "file_iwrite_shared_c" "file_iwrite_shared" (fh: *const Fint, buf: Buffer, count: *const Count,
    datatype: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_iwrite_shared_c", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_File_iwrite_shared_c(c_file(*fh), buf.address, buf.count, buf.datatype, &mut c_request);
    *request = number(c_request);
    code
} }
plain! { "file_open" (comm: *const Fint, filename: *mut c_char, amode: *const c_int, info: *const Fint, fh: *mut Fint)
    [filename_len] {
    let filename = Text::of(filename, filename_len);
    let mut c_fh = c_file(*fh);
    let code = c::MPI_File_open(handle(*comm), filename.as_ptr(), *amode, handle(*info), &mut c_fh);
    *fh = file_number(c_fh);
    code
} }
plain! { "file_preallocate" (fh: *const Fint, size: *const Offset) [] {
    c::MPI_File_preallocate(c_file(*fh), *size)
} }
choice! { "file_read" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_File_read", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read(c_file(*fh), buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_read_all" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint, status: *mut Fint)
    [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_File_read_all", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read_all(c_file(*fh), buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_read_all_begin" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_read_all_begin", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read_all_begin(c_file(*fh), buf.address, buf.count, buf.datatype)
} }
choice_large! { "file_read_all_begin_c" "file_read_all_begin" (fh: *const Fint, buf: Buffer, count: *const Count,
    datatype: *const Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_read_all_begin_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read_all_begin_c(c_file(*fh), buf.address, buf.count, buf.datatype)
} }
choice_large! { "file_read_all_c" "file_read_all" (fh: *const Fint, buf: Buffer, count: *const Count, datatype: *const
    Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_File_read_all_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read_all_c(c_file(*fh), buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_read_all_end" (fh: *const Fint, buf: Buffer, status: *mut Fint) [] {
    c::MPI_File_read_all_end(c_file(*fh), buf.address(), c_status(status))
} }
choice! { "file_read_at" (fh: *const Fint, offset: *const Offset, buf: Buffer, count: *const c_int, datatype: *const
    Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_File_read_at", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read_at(c_file(*fh), *offset, buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_read_at_all" (fh: *const Fint, offset: *const Offset, buf: Buffer, count: *const c_int, datatype: *const
    Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_File_read_at_all", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read_at_all(c_file(*fh), *offset, buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_read_at_all_begin" (fh: *const Fint, offset: *const Offset, buf: Buffer, count: *const c_int, datatype:
    *const Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_read_at_all_begin", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read_at_all_begin(c_file(*fh), *offset, buf.address, buf.count, buf.datatype)
} }
choice_large! { "file_read_at_all_begin_c" "file_read_at_all_begin" (fh: *const Fint, offset: *const Offset, buf:
    Buffer, count: *const Count, datatype: *const Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_read_at_all_begin_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read_at_all_begin_c(c_file(*fh), *offset, buf.address, buf.count, buf.datatype)
} }
choice_large! { "file_read_at_all_c" "file_read_at_all" (fh: *const Fint, offset: *const Offset, buf: Buffer, count:
    *const Count, datatype: *const Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_File_read_at_all_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read_at_all_c(c_file(*fh), *offset, buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_read_at_all_end" (fh: *const Fint, buf: Buffer, status: *mut Fint) [] {
    c::MPI_File_read_at_all_end(c_file(*fh), buf.address(), c_status(status))
} }
choice_large! { "file_read_at_c" "file_read_at" (fh: *const Fint, offset: *const Offset, buf: Buffer, count: *const
    Count, datatype: *const Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_File_read_at_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read_at_c(c_file(*fh), *offset, buf.address, buf.count, buf.datatype, c_status(status))
} }
choice_large! { "file_read_c" "file_read" (fh: *const Fint, buf: Buffer, count: *const Count, datatype: *const Fint,
    status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_File_read_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read_c(c_file(*fh), buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_read_ordered" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint, status: *mut
    Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_File_read_ordered", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read_ordered(c_file(*fh), buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_read_ordered_begin" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_read_ordered_begin", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read_ordered_begin(c_file(*fh), buf.address, buf.count, buf.datatype)
} }
choice_large! { "file_read_ordered_begin_c" "file_read_ordered_begin" (fh: *const Fint, buf: Buffer, count: *const
    Count, datatype: *const Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_read_ordered_begin_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read_ordered_begin_c(c_file(*fh), buf.address, buf.count, buf.datatype)
} }
choice_large! { "file_read_ordered_c" "file_read_ordered" (fh: *const Fint, buf: Buffer, count: *const Count, datatype:
    *const Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_File_read_ordered_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read_ordered_c(c_file(*fh), buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_read_ordered_end" (fh: *const Fint, buf: Buffer, status: *mut Fint) [] {
    c::MPI_File_read_ordered_end(c_file(*fh), buf.address(), c_status(status))
} }
choice! { "file_read_shared" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint, status: *mut
    Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_File_read_shared", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read_shared(c_file(*fh), buf.address, buf.count, buf.datatype, c_status(status))
} }
choice_large! { "file_read_shared_c" "file_read_shared" (fh: *const Fint, buf: Buffer, count: *const Count, datatype:
    *const Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_File_read_shared_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_read_shared_c(c_file(*fh), buf.address, buf.count, buf.datatype, c_status(status))
} }
plain! { "file_seek" (fh: *const Fint, offset: *const Offset, whence: *const c_int) [] {
    c::MPI_File_seek(c_file(*fh), *offset, *whence)
} }
plain! { "file_seek_shared" (fh: *const Fint, offset: *const Offset, whence: *const c_int) [] {
    c::MPI_File_seek_shared(c_file(*fh), *offset, *whence)
} }
plain! { "file_set_atomicity" (fh: *const Fint, flag: *const Logical) [] {
    c::MPI_File_set_atomicity(c_file(*fh), truth(*flag))
} }
plain! { "file_set_info" (fh: *const Fint, info: *const Fint) [] {
    c::MPI_File_set_info(c_file(*fh), handle(*info))
} }
plain! { "file_set_size" (fh: *const Fint, size: *const Offset) [] {
    c::MPI_File_set_size(c_file(*fh), *size)
} }
plain! { "file_set_view" (fh: *const Fint, disp: *const Offset, etype: *const Fint, filetype: *const Fint, datarep: *mut
    c_char, info: *const Fint) [datarep_len] {
    let datarep = Text::of(datarep, datarep_len);
    c::MPI_File_set_view(c_file(*fh), *disp, handle(*etype), handle(*filetype), datarep.as_ptr(), handle(*info))
} }
plain! { "file_sync" (fh: *const Fint) [] {
    c::MPI_File_sync(c_file(*fh))
} }
choice! { "file_write" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_File_write", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write(c_file(*fh), buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_write_all" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint, status: *mut Fint)
    [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_File_write_all", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write_all(c_file(*fh), buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_write_all_begin" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_write_all_begin", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write_all_begin(c_file(*fh), buf.address, buf.count, buf.datatype)
} }
choice_large! { "file_write_all_begin_c" "file_write_all_begin" (fh: *const Fint, buf: Buffer, count: *const Count,
    datatype: *const Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_write_all_begin_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write_all_begin_c(c_file(*fh), buf.address, buf.count, buf.datatype)
} }
choice_large! { "file_write_all_c" "file_write_all" (fh: *const Fint, buf: Buffer, count: *const Count, datatype: *const
    Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_File_write_all_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write_all_c(c_file(*fh), buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_write_all_end" (fh: *const Fint, buf: Buffer, status: *mut Fint) [] {
    c::MPI_File_write_all_end(c_file(*fh), buf.address(), c_status(status))
} }
choice! { "file_write_at" (fh: *const Fint, offset: *const Offset, buf: Buffer, count: *const c_int, datatype: *const
    Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_File_write_at", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write_at(c_file(*fh), *offset, buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_write_at_all" (fh: *const Fint, offset: *const Offset, buf: Buffer, count: *const c_int, datatype:
    *const Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_File_write_at_all", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write_at_all(c_file(*fh), *offset, buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_write_at_all_begin" (fh: *const Fint, offset: *const Offset, buf: Buffer, count: *const c_int, datatype:
    *const Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_write_at_all_begin", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write_at_all_begin(c_file(*fh), *offset, buf.address, buf.count, buf.datatype)
} }
choice_large! { "file_write_at_all_begin_c" "file_write_at_all_begin" (fh: *const Fint, offset: *const Offset, buf:
    Buffer, count: *const Count, datatype: *const Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_write_at_all_begin_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write_at_all_begin_c(c_file(*fh), *offset, buf.address, buf.count, buf.datatype)
} }
choice_large! { "file_write_at_all_c" "file_write_at_all" (fh: *const Fint, offset: *const Offset, buf: Buffer, count:
    *const Count, datatype: *const Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_File_write_at_all_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write_at_all_c(c_file(*fh), *offset, buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_write_at_all_end" (fh: *const Fint, buf: Buffer, status: *mut Fint) [] {
    c::MPI_File_write_at_all_end(c_file(*fh), buf.address(), c_status(status))
} }
choice_large! { "file_write_at_c" "file_write_at" (fh: *const Fint, offset: *const Offset, buf: Buffer, count: *const
    Count, datatype: *const Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_File_write_at_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write_at_c(c_file(*fh), *offset, buf.address, buf.count, buf.datatype, c_status(status))
} }
choice_large! { "file_write_c" "file_write" (fh: *const Fint, buf: Buffer, count: *const Count, datatype: *const Fint,
    status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_File_write_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write_c(c_file(*fh), buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_write_ordered" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint, status: *mut
    Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_File_write_ordered", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write_ordered(c_file(*fh), buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_write_ordered_begin" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_write_ordered_begin", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write_ordered_begin(c_file(*fh), buf.address, buf.count, buf.datatype)
} }
choice_large! { "file_write_ordered_begin_c" "file_write_ordered_begin" (fh: *const Fint, buf: Buffer, count: *const
    Count, datatype: *const Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_File_write_ordered_begin_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write_ordered_begin_c(c_file(*fh), buf.address, buf.count, buf.datatype)
} }
choice_large! { "file_write_ordered_c" "file_write_ordered" (fh: *const Fint, buf: Buffer, count: *const Count,
    datatype: *const Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_File_write_ordered_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write_ordered_c(c_file(*fh), buf.address, buf.count, buf.datatype, c_status(status))
} }
choice! { "file_write_ordered_end" (fh: *const Fint, buf: Buffer, status: *mut Fint) [] {
    c::MPI_File_write_ordered_end(c_file(*fh), buf.address(), c_status(status))
} }
choice! { "file_write_shared" (fh: *const Fint, buf: Buffer, count: *const c_int, datatype: *const Fint, status: *mut
    Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_File_write_shared", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write_shared(c_file(*fh), buf.address, buf.count, buf.datatype, c_status(status))
} }
choice_large! { "file_write_shared_c" "file_write_shared" (fh: *const Fint, buf: Buffer, count: *const Count, datatype:
    *const Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_File_write_shared_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_File_write_shared_c(c_file(*fh), buf.address, buf.count, buf.datatype, c_status(status))
} }
