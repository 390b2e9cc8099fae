//! Rows of the function table: handles as integers, the ABI and Fortran.
//!
//! Written by tools/table.py; what stands after `=>` is kept by hand (see `table`).

#[doc(hidden)]
#[macro_export]
macro_rules! table_handle { ($emit:ident $with:tt) => { $emit! { $with
    both MPI_Abi_get_fortran_booleans(logical_size: c_int, logical_true: *mut c_void, logical_false: *mut c_void,
        is_set: *mut c_int) [default] => fortran::get_booleans;
    both MPI_Abi_get_fortran_info(info: *mut Info) [default] => fortran::get_info;
    both MPI_Abi_get_info(info: *mut Info) [default] => env::abi_get_info;
    both MPI_Abi_get_version(abi_major: *mut c_int, abi_minor: *mut c_int) [default] => env::abi_get_version;
    both MPI_Abi_set_fortran_booleans(logical_size: c_int, logical_true: *mut c_void, logical_false: *mut c_void)
        [default] => fortran::set_booleans;
    both MPI_Abi_set_fortran_info(info: Info) [default] => fortran::set_info;
    mpich MPI_Comm_c2f(comm: Comm) -> Fint => handles::to_int;
    mpich MPI_Comm_f2c(comm: Fint) -> Comm => handles::comm_from_int;
    both MPI_Comm_fromint(comm: c_int) -> Comm => handles::comm_from_int;
    both MPI_Comm_toint(comm: Comm) -> c_int => handles::to_int;
    mpich MPI_Errhandler_c2f(errhandler: Errhandler) -> Fint => handles::to_int;
    mpich MPI_Errhandler_f2c(errhandler: Fint) -> Errhandler => handles::errhandler_from_int;
    both MPI_Errhandler_fromint(errhandler: c_int) -> Errhandler => handles::errhandler_from_int;
    both MPI_Errhandler_toint(errhandler: Errhandler) -> c_int => handles::to_int;
    mpich MPI_File_c2f(file: File) -> Fint => handles::to_int;
    mpich MPI_File_f2c(file: Fint) -> File => handles::file_from_int;
    both MPI_File_fromint(file: c_int) -> File => handles::file_from_int;
    both MPI_File_toint(file: File) -> c_int => handles::to_int;
    mpich MPI_Group_c2f(group: Group) -> Fint => handles::to_int;
    mpich MPI_Group_f2c(group: Fint) -> Group => handles::group_from_int;
    both MPI_Group_fromint(group: c_int) -> Group => handles::group_from_int;
    both MPI_Group_toint(group: Group) -> c_int => handles::to_int;
    mpich MPI_Info_c2f(info: Info) -> Fint => handles::to_int;
    mpich MPI_Info_f2c(info: Fint) -> Info => handles::info_from_int;
    both MPI_Info_fromint(info: c_int) -> Info => handles::info_from_int;
    both MPI_Info_toint(info: Info) -> c_int => handles::to_int;
    mpich MPI_Message_c2f(message: Message) -> Fint => handles::to_int;
    mpich MPI_Message_f2c(message: Fint) -> Message => handles::message_from_int;
    both MPI_Message_fromint(message: c_int) -> Message => handles::message_from_int;
    both MPI_Message_toint(message: Message) -> c_int => handles::to_int;
    mpich MPI_Op_c2f(op: Op) -> Fint => handles::to_int;
    mpich MPI_Op_f2c(op: Fint) -> Op => handles::op_from_int;
    both MPI_Op_fromint(op: c_int) -> Op => handles::op_from_int;
    both MPI_Op_toint(op: Op) -> c_int => handles::to_int;
    mpich MPI_Request_c2f(request: Request) -> Fint => handles::to_int;
    mpich MPI_Request_f2c(request: Fint) -> Request => handles::request_from_int;
    both MPI_Request_fromint(request: c_int) -> Request => handles::request_from_int;
    both MPI_Request_toint(request: Request) -> c_int => handles::to_int;
    mpich MPI_Session_c2f(session: Session) -> Fint => handles::to_int;
    mpich MPI_Session_f2c(session: Fint) -> Session => handles::session_from_int;
    both MPI_Session_fromint(session: c_int) -> Session => handles::session_from_int;
    both MPI_Session_toint(session: Session) -> c_int => handles::to_int;
    mpich MPI_Status_c2f(c_status: *const Status, f_status: *mut Fint) [default] => fortran::status_c2f;
    mpich MPI_Status_c2f08(c_status: *const Status, f08_status: *mut F08Status) [default] => fortran::status_c2f08;
    mpich MPI_Status_f082c(f08_status: *const F08Status, c_status: *mut Status) [default] => fortran::status_f082c;
    mpich MPI_Status_f082f(f08_status: *const F08Status, f_status: *mut Fint) [default] => fortran::status_f082f;
    mpich MPI_Status_f2c(f_status: *const Fint, c_status: *mut Status) [default] => fortran::status_f2c;
    mpich MPI_Status_f2f08(f_status: *const Fint, f08_status: *mut F08Status) [default] => fortran::status_f2f08;
    mpich MPI_Type_c2f(datatype: Datatype) -> Fint => handles::to_int;
    mpich MPI_Type_f2c(datatype: Fint) -> Datatype => handles::datatype_from_int;
    both MPI_Type_fromint(datatype: c_int) -> Datatype => handles::datatype_from_int;
    both MPI_Type_toint(datatype: Datatype) -> c_int => handles::to_int;
    mpich MPI_Win_c2f(win: Win) -> Fint => handles::to_int;
    mpich MPI_Win_f2c(win: Fint) -> Win => handles::win_from_int;
    both MPI_Win_fromint(win: c_int) -> Win => handles::win_from_int;
    both MPI_Win_toint(win: Win) -> c_int => handles::to_int;
} } }
