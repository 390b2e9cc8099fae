//! Entry points of Fortran: environment, errors, info, sessions and dynamic processes.
//!
//! Written by crates/fortran/tools/binding.py from the table of functions; do not edit.

use crate::binding::prelude::*;

plain! { "abi_get_fortran_booleans" (logical_size: *const c_int, logical_true: *mut c_void, logical_false: *mut c_void,
    is_set: *mut Logical) [] {
    let mut c_is_set: c_int = truth(*is_set);
    let code = c::MPI_Abi_get_fortran_booleans(*logical_size, logical_true, logical_false, &mut c_is_set);
    *is_set = logical(c_is_set);
    code
} }
plain! { "abi_get_fortran_info" (info: *mut Fint) [] {
    let mut c_info = handle(*info);
    let code = c::MPI_Abi_get_fortran_info(&mut c_info);
    *info = number(c_info);
    code
} }
plain! { "abi_get_info" (info: *mut Fint) [] {
    let mut c_info = handle(*info);
    let code = c::MPI_Abi_get_info(&mut c_info);
    *info = number(c_info);
    code
} }
plain! { "abi_get_version" (abi_major: *mut c_int, abi_minor: *mut c_int) [] {
    c::MPI_Abi_get_version(abi_major, abi_minor)
} }
plain! { "abi_set_fortran_booleans" (logical_size: *const c_int, logical_true: *mut c_void, logical_false: *mut c_void)
    [] {
    c::MPI_Abi_set_fortran_booleans(*logical_size, logical_true, logical_false)
} }
plain! { "abi_set_fortran_info" (info: *const Fint) [] {
    c::MPI_Abi_set_fortran_info(handle(*info))
} }
plain! { "abort" (comm: *const Fint, errorcode: *const c_int) [] {
    c::MPI_Abort(handle(*comm), *errorcode)
} }
plain! { "add_error_class" (errorclass: *mut c_int) [] {
    c::MPI_Add_error_class(errorclass)
} }
plain! { "add_error_code" (errorclass: *const c_int, errorcode: *mut c_int) [] {
    c::MPI_Add_error_code(*errorclass, errorcode)
} }
plain! { "add_error_string" (errorcode: *const c_int, string: *mut c_char) [string_len] {
    let string = Text::of(string, string_len);
    c::MPI_Add_error_string(*errorcode, string.as_ptr())
} }
plain! { "alloc_mem" (size: *const Aint, info: *const Fint, baseptr: *mut c_void) [] {
    c::MPI_Alloc_mem(*size, handle(*info), baseptr)
} }
plain! { "close_port" (port_name: *mut c_char) [port_name_len] {
    let port_name = Text::of(port_name, port_name_len);
    c::MPI_Close_port(port_name.as_ptr())
} }
plain! { "comm_accept" (port_name: *mut c_char, info: *const Fint, root: *const c_int, comm: *const Fint, newcomm: *mut
    Fint) [port_name_len] {
    let port_name = Text::of(port_name, port_name_len);
    let mut c_newcomm = handle(*newcomm);
    let code = c::MPI_Comm_accept(port_name.as_ptr(), handle(*info), *root, handle(*comm), &mut c_newcomm);
    *newcomm = number(c_newcomm);
    code
} }
plain! { "comm_call_errhandler" (comm: *const Fint, errorcode: *const c_int) [] {
    c::MPI_Comm_call_errhandler(handle(*comm), *errorcode)
} }
plain! { "comm_connect" (port_name: *mut c_char, info: *const Fint, root: *const c_int, comm: *const Fint, newcomm: *mut
    Fint) [port_name_len] {
    let port_name = Text::of(port_name, port_name_len);
    let mut c_newcomm = handle(*newcomm);
    let code = c::MPI_Comm_connect(port_name.as_ptr(), handle(*info), *root, handle(*comm), &mut c_newcomm);
    *newcomm = number(c_newcomm);
    code
} }
plain! { "comm_create_errhandler" (comm_errhandler_fn: Function, errhandler: *mut Fint) [] {
    let mut c_errhandler = handle(*errhandler);
    let code = c::MPI_Comm_create_errhandler(comm_errhandler_fn, &mut c_errhandler);
    *errhandler = number(c_errhandler);
    code
} }
plain! { "comm_disconnect" (comm: *mut Fint) [] {
    let mut c_comm = handle(*comm);
    let code = c::MPI_Comm_disconnect(&mut c_comm);
    *comm = number(c_comm);
    code
} }
plain! { "comm_get_errhandler" (comm: *const Fint, errhandler: *mut Fint) [] {
    let mut c_errhandler = handle(*errhandler);
    let code = c::MPI_Comm_get_errhandler(handle(*comm), &mut c_errhandler);
    *errhandler = number(c_errhandler);
    code
} }
plain! { "comm_get_parent" (parent: *mut Fint) [] {
    let mut c_parent = handle(*parent);
    let code = c::MPI_Comm_get_parent(&mut c_parent);
    *parent = number(c_parent);
    code
} }
plain! { "comm_join" (fd: *const c_int, intercomm: *mut Fint) [] {
    let mut c_intercomm = handle(*intercomm);
    let code = c::MPI_Comm_join(*fd, &mut c_intercomm);
    *intercomm = number(c_intercomm);
    code
} }
plain! { "comm_set_errhandler" (comm: *const Fint, errhandler: *const Fint) [] {
    c::MPI_Comm_set_errhandler(handle(*comm), handle(*errhandler))
} }
plain! { "errhandler_free" (errhandler: *mut Fint) [] {
    let mut c_errhandler = handle(*errhandler);
    let code = c::MPI_Errhandler_free(&mut c_errhandler);
    *errhandler = number(c_errhandler);
    code
} }
plain! { "error_class" (errorcode: *const c_int, errorclass: *mut c_int) [] {
    c::MPI_Error_class(*errorcode, errorclass)
} }
plain! { "error_string" (errorcode: *const c_int, string: *mut c_char, resultlen: *mut c_int) [string_len] {
    let mut c_string = TextOut::new(values::MPI_MAX_ERROR_STRING as usize);
    let code = c::MPI_Error_string(*errorcode, c_string.as_mut_ptr(), resultlen);
    if code == 0 { c_string.store(string, string_len); }
    code
} }
plain! { "file_call_errhandler" (fh: *const Fint, errorcode: *const c_int) [] {
    c::MPI_File_call_errhandler(c_file(*fh), *errorcode)
} }
plain! { "file_create_errhandler" (file_errhandler_fn: Function, errhandler: *mut Fint) [] {
    let mut c_errhandler = handle(*errhandler);
    let code = c::MPI_File_create_errhandler(file_errhandler_fn, &mut c_errhandler);
    *errhandler = number(c_errhandler);
    code
} }
plain! { "file_get_errhandler" (file: *const Fint, errhandler: *mut Fint) [] {
    let mut c_errhandler = handle(*errhandler);
    let code = c::MPI_File_get_errhandler(c_file(*file), &mut c_errhandler);
    *errhandler = number(c_errhandler);
    code
} }
plain! { "file_set_errhandler" (file: *const Fint, errhandler: *const Fint) [] {
    c::MPI_File_set_errhandler(c_file(*file), handle(*errhandler))
} }
plain! { "finalize" () [] {
    c::MPI_Finalize()
} }
plain! { "finalized" (flag: *mut Logical) [] {
    let mut c_flag: c_int = truth(*flag);
    let code = c::MPI_Finalized(&mut c_flag);
    *flag = logical(c_flag);
    code
} }
choice! { "free_mem" (base: Buffer) [] {
    c::MPI_Free_mem(base.address())
} }
plain! { "get_hw_resource_info" (hw_info: *mut Fint) [] {
    let mut c_hw_info = handle(*hw_info);
    let code = c::MPI_Get_hw_resource_info(&mut c_hw_info);
    *hw_info = number(c_hw_info);
    code
} }
plain! { "get_library_version" (version: *mut c_char, resultlen: *mut c_int) [version_len] {
    let mut c_version = TextOut::new(values::MPI_MAX_LIBRARY_VERSION_STRING as usize);
    let code = c::MPI_Get_library_version(c_version.as_mut_ptr(), resultlen);
    if code == 0 { c_version.store(version, version_len); }
    code
} }
plain! { "get_processor_name" (name: *mut c_char, resultlen: *mut c_int) [name_len] {
    let mut c_name = TextOut::new(values::MPI_MAX_PROCESSOR_NAME as usize);
    let code = c::MPI_Get_processor_name(c_name.as_mut_ptr(), resultlen);
    if code == 0 { c_name.store(name, name_len); }
    code
} }
plain! { "get_version" (version: *mut c_int, subversion: *mut c_int) [] {
    c::MPI_Get_version(version, subversion)
} }
plain! { "group_from_session_pset" (session: *const Fint, pset_name: *mut c_char, newgroup: *mut Fint) [pset_name_len] {
    let pset_name = Text::of(pset_name, pset_name_len);
    let mut c_newgroup = handle(*newgroup);
    let code = c::MPI_Group_from_session_pset(handle(*session), pset_name.as_ptr(), &mut c_newgroup);
    *newgroup = number(c_newgroup);
    code
} }
plain! { "info_create" (info: *mut Fint) [] {
    let mut c_info = handle(*info);
    let code = c::MPI_Info_create(&mut c_info);
    *info = number(c_info);
    code
} }
plain! { "info_delete" (info: *const Fint, key: *mut c_char) [key_len] {
    let key = Text::trimmed(key, key_len);
    c::MPI_Info_delete(handle(*info), key.as_ptr())
} }
plain! { "info_dup" (info: *const Fint, newinfo: *mut Fint) [] {
    let mut c_newinfo = handle(*newinfo);
    let code = c::MPI_Info_dup(handle(*info), &mut c_newinfo);
    *newinfo = number(c_newinfo);
    code
} }
plain! { "info_free" (info: *mut Fint) [] {
    let mut c_info = handle(*info);
    let code = c::MPI_Info_free(&mut c_info);
    *info = number(c_info);
    code
} }
plain! { "info_get_nkeys" (info: *const Fint, nkeys: *mut c_int) [] {
    c::MPI_Info_get_nkeys(handle(*info), nkeys)
} }
plain! { "info_get_nthkey" (info: *const Fint, n: *const c_int, key: *mut c_char) [key_len] {
    let mut c_key = TextOut::new(values::MPI_MAX_INFO_KEY as usize);
    let code = c::MPI_Info_get_nthkey(handle(*info), *n, c_key.as_mut_ptr());
    if code == 0 { c_key.store(key, key_len); }
    code
} }
plain! { "info_get_valuelen" (info: *const Fint, key: *mut c_char, valuelen: *mut c_int, flag: *mut Logical) [key_len] {
    let key = Text::trimmed(key, key_len);
    let mut c_flag: c_int = truth(*flag);
    let code = c::MPI_Info_get_valuelen(handle(*info), key.as_ptr(), valuelen, &mut c_flag);
    *flag = logical(c_flag);
    code
} }
plain! { "info_set" (info: *const Fint, key: *mut c_char, value: *mut c_char) [key_len, value_len] {
    let key = Text::trimmed(key, key_len);
    let value = Text::trimmed(value, value_len);
    c::MPI_Info_set(handle(*info), key.as_ptr(), value.as_ptr())
} }
plain! { "initialized" (flag: *mut Logical) [] {
    let mut c_flag: c_int = truth(*flag);
    let code = c::MPI_Initialized(&mut c_flag);
    *flag = logical(c_flag);
    code
} }
plain! { "is_thread_main" (flag: *mut Logical) [] {
    let mut c_flag: c_int = truth(*flag);
    let code = c::MPI_Is_thread_main(&mut c_flag);
    *flag = logical(c_flag);
    code
} }
plain! { "lookup_name" (service_name: *mut c_char, info: *const Fint, port_name: *mut c_char) [service_name_len,
    port_name_len] {
    let service_name = Text::of(service_name, service_name_len);
    let mut c_port_name = TextOut::new(values::MPI_MAX_PORT_NAME as usize);
    let code = c::MPI_Lookup_name(service_name.as_ptr(), handle(*info), c_port_name.as_mut_ptr());
    if code == 0 { c_port_name.store(port_name, port_name_len); }
    code
} }
plain! { "open_port" (info: *const Fint, port_name: *mut c_char) [port_name_len] {
    let mut c_port_name = TextOut::new(values::MPI_MAX_PORT_NAME as usize);
    let code = c::MPI_Open_port(handle(*info), c_port_name.as_mut_ptr());
    if code == 0 { c_port_name.store(port_name, port_name_len); }
    code
} }
plain! { "publish_name" (service_name: *mut c_char, info: *const Fint, port_name: *mut c_char) [service_name_len,
    port_name_len] {
    let service_name = Text::of(service_name, service_name_len);
    let port_name = Text::of(port_name, port_name_len);
    c::MPI_Publish_name(service_name.as_ptr(), handle(*info), port_name.as_ptr())
} }
plain! { "query_thread" (provided: *mut c_int) [] {
    c::MPI_Query_thread(provided)
} }
plain! { "remove_error_class" (errorclass: *const c_int) [] {
    c::MPI_Remove_error_class(*errorclass)
} }
plain! { "remove_error_code" (errorcode: *const c_int) [] {
    c::MPI_Remove_error_code(*errorcode)
} }
plain! { "remove_error_string" (errorcode: *const c_int) [] {
    c::MPI_Remove_error_string(*errorcode)
} }
plain! { "session_call_errhandler" (session: *const Fint, errorcode: *const c_int) [] {
    c::MPI_Session_call_errhandler(handle(*session), *errorcode)
} }
plain! { "session_create_errhandler" (session_errhandler_fn: Function, errhandler: *mut Fint) [] {
    let mut c_errhandler = handle(*errhandler);
    let code = c::MPI_Session_create_errhandler(session_errhandler_fn, &mut c_errhandler);
    *errhandler = number(c_errhandler);
    code
} }
plain! { "session_finalize" (session: *mut Fint) [] {
    let mut c_session = handle(*session);
    let code = c::MPI_Session_finalize(&mut c_session);
    *session = number(c_session);
    code
} }
plain! { "session_get_errhandler" (session: *const Fint, errhandler: *mut Fint) [] {
    let mut c_errhandler = handle(*errhandler);
    let code = c::MPI_Session_get_errhandler(handle(*session), &mut c_errhandler);
    *errhandler = number(c_errhandler);
    code
} }
plain! { "session_get_info" (session: *const Fint, info_used: *mut Fint) [] {
    let mut c_info_used = handle(*info_used);
    let code = c::MPI_Session_get_info(handle(*session), &mut c_info_used);
    *info_used = number(c_info_used);
    code
} }
plain! { "session_get_num_psets" (session: *const Fint, info: *const Fint, npset_names: *mut c_int) [] {
    c::MPI_Session_get_num_psets(handle(*session), handle(*info), npset_names)
} }
plain! { "session_get_pset_info" (session: *const Fint, pset_name: *mut c_char, info: *mut Fint) [pset_name_len] {
    let pset_name = Text::of(pset_name, pset_name_len);
    let mut c_info = handle(*info);
    let code = c::MPI_Session_get_pset_info(handle(*session), pset_name.as_ptr(), &mut c_info);
    *info = number(c_info);
    code
} }
plain! { "session_set_errhandler" (session: *const Fint, errhandler: *const Fint) [] {
    c::MPI_Session_set_errhandler(handle(*session), handle(*errhandler))
} }
plain! { "unpublish_name" (service_name: *mut c_char, info: *const Fint, port_name: *mut c_char) [service_name_len,
    port_name_len] {
    let service_name = Text::of(service_name, service_name_len);
    let port_name = Text::of(port_name, port_name_len);
    c::MPI_Unpublish_name(service_name.as_ptr(), handle(*info), port_name.as_ptr())
} }
plain! { "win_call_errhandler" (win: *const Fint, errorcode: *const c_int) [] {
    c::MPI_Win_call_errhandler(handle(*win), *errorcode)
} }
plain! { "win_create_errhandler" (win_errhandler_fn: Function, errhandler: *mut Fint) [] {
    let mut c_errhandler = handle(*errhandler);
    let code = c::MPI_Win_create_errhandler(win_errhandler_fn, &mut c_errhandler);
    *errhandler = number(c_errhandler);
    code
} }
plain! { "win_get_errhandler" (win: *const Fint, errhandler: *mut Fint) [] {
    let mut c_errhandler = handle(*errhandler);
    let code = c::MPI_Win_get_errhandler(handle(*win), &mut c_errhandler);
    *errhandler = number(c_errhandler);
    code
} }
plain! { "win_set_errhandler" (win: *const Fint, errhandler: *const Fint) [] {
    c::MPI_Win_set_errhandler(handle(*win), handle(*errhandler))
} }
