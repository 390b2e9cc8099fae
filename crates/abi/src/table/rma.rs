//! Rows of the function table: one-sided communication.
//!
//! Written by tools/table.py; what stands after `=>` is kept by hand (see `table`).

#[doc(hidden)]
#[macro_export]
macro_rules! table_rma { ($emit:ident $with:tt) => { $emit! { $with
    both MPI_Accumulate(origin_addr: *const c_void, origin_count: c_int, origin_datatype: Datatype, target_rank: c_int,
        target_disp: Aint, target_count: c_int, target_datatype: Datatype, op: Op, win: Win) [win(win)] => unsupported;
    both MPI_Accumulate_c(origin_addr: *const c_void, origin_count: Count, origin_datatype: Datatype,
        target_rank: c_int, target_disp: Aint, target_count: Count, target_datatype: Datatype, op: Op, win: Win)
        [win(win)] => unsupported;
    both MPI_Compare_and_swap(origin_addr: *const c_void, compare_addr: *const c_void, result_addr: *mut c_void,
        datatype: Datatype, target_rank: c_int, target_disp: Aint, win: Win) [win(win)] => unsupported;
    both MPI_Fetch_and_op(origin_addr: *const c_void, result_addr: *mut c_void, datatype: Datatype, target_rank: c_int,
        target_disp: Aint, op: Op, win: Win) [win(win)] => unsupported;
    both MPI_Get(origin_addr: *mut c_void, origin_count: c_int, origin_datatype: Datatype, target_rank: c_int,
        target_disp: Aint, target_count: c_int, target_datatype: Datatype, win: Win) [win(win)] => unsupported;
    both MPI_Get_accumulate(origin_addr: *const c_void, origin_count: c_int, origin_datatype: Datatype,
        result_addr: *mut c_void, result_count: c_int, result_datatype: Datatype, target_rank: c_int, target_disp: Aint,
        target_count: c_int, target_datatype: Datatype, op: Op, win: Win) [win(win)] => unsupported;
    both MPI_Get_accumulate_c(origin_addr: *const c_void, origin_count: Count, origin_datatype: Datatype,
        result_addr: *mut c_void, result_count: Count, result_datatype: Datatype, target_rank: c_int, target_disp: Aint,
        target_count: Count, target_datatype: Datatype, op: Op, win: Win) [win(win)] => unsupported;
    both MPI_Get_c(origin_addr: *mut c_void, origin_count: Count, origin_datatype: Datatype, target_rank: c_int,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, win: Win) [win(win)] => unsupported;
    both MPI_Put(origin_addr: *const c_void, origin_count: c_int, origin_datatype: Datatype, target_rank: c_int,
        target_disp: Aint, target_count: c_int, target_datatype: Datatype, win: Win) [win(win)] => unsupported;
    both MPI_Put_c(origin_addr: *const c_void, origin_count: Count, origin_datatype: Datatype, target_rank: c_int,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, win: Win) [win(win)] => unsupported;
    both MPI_Raccumulate(origin_addr: *const c_void, origin_count: c_int, origin_datatype: Datatype, target_rank: c_int,
        target_disp: Aint, target_count: c_int, target_datatype: Datatype, op: Op, win: Win, request: *mut Request)
        [win(win)] => unsupported;
    both MPI_Raccumulate_c(origin_addr: *const c_void, origin_count: Count, origin_datatype: Datatype,
        target_rank: c_int, target_disp: Aint, target_count: Count, target_datatype: Datatype, op: Op, win: Win,
        request: *mut Request) [win(win)] => unsupported;
    both MPI_Rget(origin_addr: *mut c_void, origin_count: c_int, origin_datatype: Datatype, target_rank: c_int,
        target_disp: Aint, target_count: c_int, target_datatype: Datatype, win: Win, request: *mut Request)
        [win(win)] => unsupported;
    both MPI_Rget_accumulate(origin_addr: *const c_void, origin_count: c_int, origin_datatype: Datatype,
        result_addr: *mut c_void, result_count: c_int, result_datatype: Datatype, target_rank: c_int, target_disp: Aint,
        target_count: c_int, target_datatype: Datatype, op: Op, win: Win, request: *mut Request)
        [win(win)] => unsupported;
    both MPI_Rget_accumulate_c(origin_addr: *const c_void, origin_count: Count, origin_datatype: Datatype,
        result_addr: *mut c_void, result_count: Count, result_datatype: Datatype, target_rank: c_int, target_disp: Aint,
        target_count: Count, target_datatype: Datatype, op: Op, win: Win, request: *mut Request)
        [win(win)] => unsupported;
    both MPI_Rget_c(origin_addr: *mut c_void, origin_count: Count, origin_datatype: Datatype, target_rank: c_int,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, win: Win, request: *mut Request)
        [win(win)] => unsupported;
    both MPI_Rput(origin_addr: *const c_void, origin_count: c_int, origin_datatype: Datatype, target_rank: c_int,
        target_disp: Aint, target_count: c_int, target_datatype: Datatype, win: Win, request: *mut Request)
        [win(win)] => unsupported;
    both MPI_Rput_c(origin_addr: *const c_void, origin_count: Count, origin_datatype: Datatype, target_rank: c_int,
        target_disp: Aint, target_count: Count, target_datatype: Datatype, win: Win, request: *mut Request)
        [win(win)] => unsupported;
    both MPI_Win_allocate(size: Aint, disp_unit: c_int, info: Info, comm: Comm, baseptr: *mut c_void, win: *mut Win)
        [comm(comm)] => unsupported;
    both MPI_Win_allocate_c(size: Aint, disp_unit: Aint, info: Info, comm: Comm, baseptr: *mut c_void, win: *mut Win)
        [comm(comm)] => unsupported;
    both MPI_Win_allocate_shared(size: Aint, disp_unit: c_int, info: Info, comm: Comm, baseptr: *mut c_void,
        win: *mut Win) [comm(comm)] => unsupported;
    both MPI_Win_allocate_shared_c(size: Aint, disp_unit: Aint, info: Info, comm: Comm, baseptr: *mut c_void,
        win: *mut Win) [comm(comm)] => unsupported;
    both MPI_Win_attach(win: Win, base: *mut c_void, size: Aint) [win(win)] => unsupported;
    both MPI_Win_complete(win: Win) [win(win)] => unsupported;
    both MPI_Win_create(base: *mut c_void, size: Aint, disp_unit: c_int, info: Info, comm: Comm, win: *mut Win)
        [comm(comm)] => unsupported;
    both MPI_Win_create_c(base: *mut c_void, size: Aint, disp_unit: Aint, info: Info, comm: Comm, win: *mut Win)
        [comm(comm)] => unsupported;
    both MPI_Win_create_dynamic(info: Info, comm: Comm, win: *mut Win) [comm(comm)] => unsupported;
    both MPI_Win_create_keyval(win_copy_attr_fn: WinCopyAttrFunction, win_delete_attr_fn: WinDeleteAttrFunction,
        win_keyval: *mut c_int, extra_state: *mut c_void) [default] => unsupported;
    both MPI_Win_delete_attr(win: Win, win_keyval: c_int) [win(win)] => unsupported;
    both MPI_Win_detach(win: Win, base: *const c_void) [win(win)] => unsupported;
    both MPI_Win_fence(assert: c_int, win: Win) [win(win)] => unsupported;
    both MPI_Win_flush(rank: c_int, win: Win) [win(win)] => unsupported;
    both MPI_Win_flush_all(win: Win) [win(win)] => unsupported;
    both MPI_Win_flush_local(rank: c_int, win: Win) [win(win)] => unsupported;
    both MPI_Win_flush_local_all(win: Win) [win(win)] => unsupported;
    both MPI_Win_free(win: *mut Win) [win_at(win)] => unsupported;
    both MPI_Win_free_keyval(win_keyval: *mut c_int) [default] => unsupported;
    both MPI_Win_get_attr(win: Win, win_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int)
        [win(win)] => unsupported;
    both MPI_Win_get_group(win: Win, group: *mut Group) [win(win)] => unsupported;
    both MPI_Win_get_info(win: Win, info_used: *mut Info) [win(win)] => unsupported;
    both MPI_Win_get_name(win: Win, win_name: *mut c_char, resultlen: *mut c_int) [win(win)] => win::get_name;
    both MPI_Win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: Win) [win(win)] => unsupported;
    both MPI_Win_lock_all(assert: c_int, win: Win) [win(win)] => unsupported;
    both MPI_Win_post(group: Group, assert: c_int, win: Win) [win(win)] => unsupported;
    both MPI_Win_set_attr(win: Win, win_keyval: c_int, attribute_val: *mut c_void) [win(win)] => unsupported;
    both MPI_Win_set_info(win: Win, info: Info) [win(win)] => unsupported;
    both MPI_Win_set_name(win: Win, win_name: *const c_char) [win(win)] => unsupported;
    both MPI_Win_shared_query(win: Win, rank: c_int, size: *mut Aint, disp_unit: *mut c_int, baseptr: *mut c_void)
        [win(win)] => unsupported;
    both MPI_Win_shared_query_c(win: Win, rank: c_int, size: *mut Aint, disp_unit: *mut Aint, baseptr: *mut c_void)
        [win(win)] => unsupported;
    both MPI_Win_start(group: Group, assert: c_int, win: Win) [win(win)] => unsupported;
    both MPI_Win_sync(win: Win) [win(win)] => unsupported;
    both MPI_Win_test(win: Win, flag: *mut c_int) [win(win)] => unsupported;
    both MPI_Win_unlock(rank: c_int, win: Win) [win(win)] => unsupported;
    both MPI_Win_unlock_all(win: Win) [win(win)] => unsupported;
    both MPI_Win_wait(win: Win) [win(win)] => unsupported;
} } }
