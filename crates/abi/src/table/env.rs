//! Rows of the function table: environment, errors, info, sessions and dynamic processes.
//!
//! Written by tools/table.py; what stands after `=>` is kept by hand (see `table`).

#[doc(hidden)]
#[macro_export]
macro_rules! table_env { ($emit:ident $with:tt) => { $emit! { $with
    both MPI_Abort(comm: Comm, errorcode: c_int) [comm(comm)] => env::abort;
    both MPI_Add_error_class(errorclass: *mut c_int) [default] => errors::add_class;
    both MPI_Add_error_code(errorclass: c_int, errorcode: *mut c_int) [default] => errors::add_code;
    both MPI_Add_error_string(errorcode: c_int, string: *const c_char) [default] => errors::add_string;
    both MPI_Alloc_mem(size: Aint, info: Info, baseptr: *mut c_void) [default] => memory::alloc;
    both MPI_Close_port(port_name: *const c_char) [default] => unsupported;
    both MPI_Comm_accept(port_name: *const c_char, info: Info, root: c_int, comm: Comm, newcomm: *mut Comm)
        [comm(comm)] => unsupported;
    both MPI_Comm_call_errhandler(comm: Comm, errorcode: c_int) [comm(comm)] => errhandler::comm_call;
    both MPI_Comm_connect(port_name: *const c_char, info: Info, root: c_int, comm: Comm, newcomm: *mut Comm)
        [comm(comm)] => unsupported;
    both MPI_Comm_create_errhandler(comm_errhandler_fn: CommErrhandlerFunction, errhandler: *mut Errhandler)
        [default] => errhandler::comm_create;
    both MPI_Comm_disconnect(comm: *mut Comm) [comm_at(comm)] => comm::disconnect;
    both MPI_Comm_get_errhandler(comm: Comm, errhandler: *mut Errhandler) [comm(comm)] => errhandler::comm_get;
    both MPI_Comm_get_parent(parent: *mut Comm) [default] => comm::get_parent;
    both MPI_Comm_join(fd: c_int, intercomm: *mut Comm) [default] => unsupported;
    both MPI_Comm_set_errhandler(comm: Comm, errhandler: Errhandler) [comm(comm)] => errhandler::comm_set;
    both MPI_Comm_spawn(command: *const c_char, argv: *mut *mut c_char, maxprocs: c_int, info: Info, root: c_int,
        comm: Comm, intercomm: *mut Comm, array_of_errcodes: *mut c_int) [comm(comm)] => unsupported;
    both MPI_Comm_spawn_multiple(count: c_int, array_of_commands: *mut *mut c_char,
        array_of_argv: *mut *mut *mut c_char, array_of_maxprocs: *const c_int, array_of_info: *const Info, root: c_int,
        comm: Comm, intercomm: *mut Comm, array_of_errcodes: *mut c_int) [comm(comm)] => unsupported;
    both MPI_Errhandler_create(comm_errhandler_fn: CommErrhandlerFunction, errhandler: *mut Errhandler)
        [default] => errhandler::comm_create;
    both MPI_Errhandler_free(errhandler: *mut Errhandler) [default] => errhandler::free;
    both MPI_Errhandler_get(comm: Comm, errhandler: *mut Errhandler) [comm(comm)] => errhandler::comm_get;
    both MPI_Errhandler_set(comm: Comm, errhandler: Errhandler) [comm(comm)] => errhandler::comm_set;
    both MPI_Error_class(errorcode: c_int, errorclass: *mut c_int) [default] => errors::error_class;
    both MPI_Error_string(errorcode: c_int, string: *mut c_char, resultlen: *mut c_int)
        [default] => errors::error_string;
    both MPI_File_call_errhandler(fh: File, errorcode: c_int) [file(fh)] => errhandler::file_call;
    both MPI_File_create_errhandler(file_errhandler_fn: FileErrhandlerFunction, errhandler: *mut Errhandler)
        [default] => errhandler::file_create;
    both MPI_File_get_errhandler(file: File, errhandler: *mut Errhandler) [file(file)] => errhandler::file_get;
    both MPI_File_set_errhandler(file: File, errhandler: Errhandler) [file(file)] => errhandler::file_set;
    both MPI_Finalize() [default] => env::finalize;
    both MPI_Finalized(flag: *mut c_int) [default] => env::finalized;
    both MPI_Free_mem(base: *mut c_void) [default] => memory::free;
    both MPI_Get_hw_resource_info(hw_info: *mut Info) [default] => env::get_hw_resource_info;
    both MPI_Get_library_version(version: *mut c_char, resultlen: *mut c_int) [default] => env::get_library_version;
    both MPI_Get_processor_name(name: *mut c_char, resultlen: *mut c_int) [default] => env::get_processor_name;
    both MPI_Get_version(version: *mut c_int, subversion: *mut c_int) [default] => env::get_version;
    both MPI_Group_from_session_pset(session: Session, pset_name: *const c_char, newgroup: *mut Group)
        [session(session)] => session::group_from_pset;
    both MPI_Info_create(info: *mut Info) [default] => info::create;
    both MPI_Info_create_env(argc: c_int, argv: *mut *mut c_char, info: *mut Info) [default] => info::create_env;
    both MPI_Info_delete(info: Info, key: *const c_char) [default] => info::delete;
    both MPI_Info_dup(info: Info, newinfo: *mut Info) [default] => info::dup;
    both MPI_Info_free(info: *mut Info) [default] => info::free;
    both MPI_Info_get(info: Info, key: *const c_char, valuelen: c_int, value: *mut c_char, flag: *mut c_int)
        [default] => info::get;
    both MPI_Info_get_nkeys(info: Info, nkeys: *mut c_int) [default] => info::get_nkeys;
    both MPI_Info_get_nthkey(info: Info, n: c_int, key: *mut c_char) [default] => info::get_nthkey;
    both MPI_Info_get_string(info: Info, key: *const c_char, buflen: *mut c_int, value: *mut c_char, flag: *mut c_int)
        [default] => info::get_string;
    both MPI_Info_get_valuelen(info: Info, key: *const c_char, valuelen: *mut c_int, flag: *mut c_int)
        [default] => info::get_valuelen;
    both MPI_Info_set(info: Info, key: *const c_char, value: *const c_char) [default] => info::set;
    both MPI_Init(argc: *mut c_int, argv: *mut *mut *mut c_char) [default] => env::init;
    both MPI_Init_thread(argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int)
        [default] => env::init_thread;
    both MPI_Initialized(flag: *mut c_int) [default] => env::initialized;
    both MPI_Is_thread_main(flag: *mut c_int) [default] => env::is_thread_main;
    both MPI_Lookup_name(service_name: *const c_char, info: Info, port_name: *mut c_char) [default] => unsupported;
    both MPI_Open_port(info: Info, port_name: *mut c_char) [default] => unsupported;
    both MPI_Pcontrol(level: c_int) [default] => env::pcontrol;
    both MPI_Publish_name(service_name: *const c_char, info: Info, port_name: *const c_char) [default] => unsupported;
    both MPI_Query_thread(provided: *mut c_int) [default] => env::query_thread;
    both MPI_Remove_error_class(errorclass: c_int) [default] => errors::remove_class;
    both MPI_Remove_error_code(errorcode: c_int) [default] => errors::remove_code;
    both MPI_Remove_error_string(errorcode: c_int) [default] => errors::remove_string;
    both MPI_Session_call_errhandler(session: Session, errorcode: c_int) [session(session)] => errhandler::session_call;
    both MPI_Session_create_errhandler(session_errhandler_fn: SessionErrhandlerFunction, errhandler: *mut Errhandler)
        [default] => errhandler::session_create;
    both MPI_Session_finalize(session: *mut Session) [session_at(session)] => session::finalize;
    both MPI_Session_get_errhandler(session: Session, errhandler: *mut Errhandler)
        [session(session)] => errhandler::session_get;
    both MPI_Session_get_info(session: Session, info_used: *mut Info) [session(session)] => session::get_info;
    both MPI_Session_get_nth_pset(session: Session, info: Info, n: c_int, pset_len: *mut c_int, pset_name: *mut c_char)
        [session(session)] => session::get_nth_pset;
    both MPI_Session_get_num_psets(session: Session, info: Info, npset_names: *mut c_int)
        [session(session)] => session::get_num_psets;
    both MPI_Session_get_pset_info(session: Session, pset_name: *const c_char, info: *mut Info)
        [session(session)] => session::get_pset_info;
    both MPI_Session_init(info: Info, errhandler: Errhandler, session: *mut Session) [default] => session::init;
    both MPI_Session_set_errhandler(session: Session, errhandler: Errhandler)
        [session(session)] => errhandler::session_set;
    both MPI_Unpublish_name(service_name: *const c_char, info: Info, port_name: *const c_char) [default] => unsupported;
    both MPI_Win_call_errhandler(win: Win, errorcode: c_int) [win(win)] => errhandler::win_call;
    both MPI_Win_create_errhandler(win_errhandler_fn: WinErrhandlerFunction, errhandler: *mut Errhandler)
        [default] => errhandler::win_create;
    both MPI_Win_get_errhandler(win: Win, errhandler: *mut Errhandler) [win(win)] => errhandler::win_get;
    both MPI_Win_set_errhandler(win: Win, errhandler: Errhandler) [win(win)] => errhandler::win_set;
    both MPI_Wtick() -> f64 => env::wtick;
    both MPI_Wtime() -> f64 => env::wtime;
} } }
