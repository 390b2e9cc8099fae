//! Entry points of Fortran: one-sided communication.
//!
//! Written by crates/fortran/tools/binding.py from the table of functions; do not edit.

use crate::binding::prelude::*;

choice! { "accumulate" (origin_addr: Buffer, origin_count: *const c_int, origin_datatype: *const Fint, target_rank:
    *const c_int, target_disp: *const Aint, target_count: *const c_int, target_datatype: *const Fint, op: *const Fint,
    win: *const Fint) [] {
    let Some(origin_addr) = choice::asynchronous(origin_addr, *origin_count, handle(*origin_datatype))
        else { return choice::refuse("MPI_Accumulate", handle(values::MPI_COMM_SELF)) };
    c::MPI_Accumulate(origin_addr.address, origin_addr.count, origin_addr.datatype, *target_rank, *target_disp,
        *target_count, handle(*target_datatype), handle(*op), handle(*win))
} }
choice_large! { "accumulate_c" "accumulate" (origin_addr: Buffer, origin_count: *const Count, origin_datatype: *const
    Fint, target_rank: *const c_int, target_disp: *const Aint, target_count: *const Count, target_datatype: *const Fint,
    op: *const Fint, win: *const Fint) [] {
    let Some(origin_addr) = choice::asynchronous(origin_addr, *origin_count, handle(*origin_datatype))
        else { return choice::refuse("MPI_Accumulate_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_Accumulate_c(origin_addr.address, origin_addr.count, origin_addr.datatype, *target_rank, *target_disp,
        *target_count, handle(*target_datatype), handle(*op), handle(*win))
} }
choice! { "compare_and_swap" (origin_addr: Buffer, compare_addr: Buffer, result_addr: Buffer, datatype: *const Fint,
    target_rank: *const c_int, target_disp: *const Aint, win: *const Fint) [] {
    let Some(origin_addr) = choice::solid(origin_addr) else { return choice::refuse("MPI_Compare_and_swap",
        handle(values::MPI_COMM_SELF)) };
    let Some(compare_addr) = choice::solid(compare_addr) else { return choice::refuse("MPI_Compare_and_swap",
        handle(values::MPI_COMM_SELF)) };
    let Some(result_addr) = choice::solid(result_addr) else { return choice::refuse("MPI_Compare_and_swap",
        handle(values::MPI_COMM_SELF)) };
    c::MPI_Compare_and_swap(origin_addr, compare_addr, result_addr, handle(*datatype), *target_rank, *target_disp,
        handle(*win))
} }
choice! { "fetch_and_op" (origin_addr: Buffer, result_addr: Buffer, datatype: *const Fint, target_rank: *const c_int,
    target_disp: *const Aint, op: *const Fint, win: *const Fint) [] {
    let Some(origin_addr) = choice::solid(origin_addr) else { return choice::refuse("MPI_Fetch_and_op",
        handle(values::MPI_COMM_SELF)) };
    let Some(result_addr) = choice::solid(result_addr) else { return choice::refuse("MPI_Fetch_and_op",
        handle(values::MPI_COMM_SELF)) };
    c::MPI_Fetch_and_op(origin_addr, result_addr, handle(*datatype), *target_rank, *target_disp, handle(*op),
        handle(*win))
} }
choice! { "get" (origin_addr: Buffer, origin_count: *const c_int, origin_datatype: *const Fint, target_rank: *const
    c_int, target_disp: *const Aint, target_count: *const c_int, target_datatype: *const Fint, win: *const Fint) [] {
    let Some(origin_addr) = choice::asynchronous(origin_addr, *origin_count, handle(*origin_datatype))
        else { return choice::refuse("MPI_Get", handle(values::MPI_COMM_SELF)) };
    c::MPI_Get(origin_addr.address, origin_addr.count, origin_addr.datatype, *target_rank, *target_disp, *target_count,
        handle(*target_datatype), handle(*win))
} }
choice! { "get_accumulate" (origin_addr: Buffer, origin_count: *const c_int, origin_datatype: *const Fint, result_addr:
    Buffer, result_count: *const c_int, result_datatype: *const Fint, target_rank: *const c_int, target_disp: *const
    Aint, target_count: *const c_int, target_datatype: *const Fint, op: *const Fint, win: *const Fint) [] {
    let Some(origin_addr) = choice::asynchronous(origin_addr, *origin_count, handle(*origin_datatype))
        else { return choice::refuse("MPI_Get_accumulate", handle(values::MPI_COMM_SELF)) };
    let Some(result_addr) = choice::asynchronous(result_addr, *result_count, handle(*result_datatype))
        else { return choice::refuse("MPI_Get_accumulate", handle(values::MPI_COMM_SELF)) };
    c::MPI_Get_accumulate(origin_addr.address, origin_addr.count, origin_addr.datatype, result_addr.address,
        result_addr.count, result_addr.datatype, *target_rank, *target_disp, *target_count, handle(*target_datatype),
        handle(*op), handle(*win))
} }
choice_large! { "get_accumulate_c" "get_accumulate" (origin_addr: Buffer, origin_count: *const Count, origin_datatype:
    *const Fint, result_addr: Buffer, result_count: *const Count, result_datatype: *const Fint, target_rank: *const
    c_int, target_disp: *const Aint, target_count: *const Count, target_datatype: *const Fint, op: *const Fint, win:
    *const Fint) [] {
    let Some(origin_addr) = choice::asynchronous(origin_addr, *origin_count, handle(*origin_datatype))
        else { return choice::refuse("MPI_Get_accumulate_c", handle(values::MPI_COMM_SELF)) };
    let Some(result_addr) = choice::asynchronous(result_addr, *result_count, handle(*result_datatype))
        else { return choice::refuse("MPI_Get_accumulate_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_Get_accumulate_c(origin_addr.address, origin_addr.count, origin_addr.datatype, result_addr.address,
        result_addr.count, result_addr.datatype, *target_rank, *target_disp, *target_count, handle(*target_datatype),
        handle(*op), handle(*win))
} }
choice_large! { "get_c" "get" (origin_addr: Buffer, origin_count: *const Count, origin_datatype: *const Fint,
    target_rank: *const c_int, target_disp: *const Aint, target_count: *const Count, target_datatype: *const Fint, win:
    *const Fint) [] {
    let Some(origin_addr) = choice::asynchronous(origin_addr, *origin_count, handle(*origin_datatype))
        else { return choice::refuse("MPI_Get_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_Get_c(origin_addr.address, origin_addr.count, origin_addr.datatype, *target_rank, *target_disp,
        *target_count, handle(*target_datatype), handle(*win))
} }
choice! { "put" (origin_addr: Buffer, origin_count: *const c_int, origin_datatype: *const Fint, target_rank: *const
    c_int, target_disp: *const Aint, target_count: *const c_int, target_datatype: *const Fint, win: *const Fint) [] {
    let Some(origin_addr) = choice::asynchronous(origin_addr, *origin_count, handle(*origin_datatype))
        else { return choice::refuse("MPI_Put", handle(values::MPI_COMM_SELF)) };
    c::MPI_Put(origin_addr.address, origin_addr.count, origin_addr.datatype, *target_rank, *target_disp, *target_count,
        handle(*target_datatype), handle(*win))
} }
choice_large! { "put_c" "put" (origin_addr: Buffer, origin_count: *const Count, origin_datatype: *const Fint,
    target_rank: *const c_int, target_disp: *const Aint, target_count: *const Count, target_datatype: *const Fint, win:
    *const Fint) [] {
    let Some(origin_addr) = choice::asynchronous(origin_addr, *origin_count, handle(*origin_datatype))
        else { return choice::refuse("MPI_Put_c", handle(values::MPI_COMM_SELF)) };
    c::MPI_Put_c(origin_addr.address, origin_addr.count, origin_addr.datatype, *target_rank, *target_disp,
        *target_count, handle(*target_datatype), handle(*win))
} }
choice! { "raccumulate" (origin_addr: Buffer, origin_count: *const c_int, origin_datatype: *const Fint, target_rank:
    *const c_int, target_disp: *const Aint, target_count: *const c_int, target_datatype: *const Fint, op: *const Fint,
    win: *const Fint, request: *mut Fint) [] {
    let Some(origin_addr) = choice::asynchronous(origin_addr, *origin_count, handle(*origin_datatype))
        else { return choice::refuse("MPI_Raccumulate", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Raccumulate(origin_addr.address, origin_addr.count, origin_addr.datatype, *target_rank,
        *target_disp, *target_count, handle(*target_datatype), handle(*op), handle(*win), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "raccumulate_c" "raccumulate" (origin_addr: Buffer, origin_count: *const Count, origin_datatype: *const
    Fint, target_rank: *const c_int, target_disp: *const Aint, target_count: *const Count, target_datatype: *const Fint,
    op: *const Fint, win: *const Fint, request: *mut Fint) [] {
    let Some(origin_addr) = choice::asynchronous(origin_addr, *origin_count, handle(*origin_datatype))
        else { return choice::refuse("MPI_Raccumulate_c", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Raccumulate_c(origin_addr.address, origin_addr.count, origin_addr.datatype, *target_rank,
        *target_disp, *target_count, handle(*target_datatype), handle(*op), handle(*win), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "rget" (origin_addr: Buffer, origin_count: *const c_int, origin_datatype: *const Fint, target_rank: *const
    c_int, target_disp: *const Aint, target_count: *const c_int, target_datatype: *const Fint, win: *const Fint,
    request: *mut Fint) [] {
    let Some(origin_addr) = choice::asynchronous(origin_addr, *origin_count, handle(*origin_datatype))
        else { return choice::refuse("MPI_Rget", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Rget(origin_addr.address, origin_addr.count, origin_addr.datatype, *target_rank, *target_disp,
        *target_count, handle(*target_datatype), handle(*win), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "rget_accumulate" (origin_addr: Buffer, origin_count: *const c_int, origin_datatype: *const Fint, result_addr:
    Buffer, result_count: *const c_int, result_datatype: *const Fint, target_rank: *const c_int, target_disp: *const
    Aint, target_count: *const c_int, target_datatype: *const Fint, op: *const Fint, win: *const Fint, request: *mut
    Fint) [] {
    let Some(origin_addr) = choice::asynchronous(origin_addr, *origin_count, handle(*origin_datatype))
        else { return choice::refuse("MPI_Rget_accumulate", handle(values::MPI_COMM_SELF)) };
    let Some(result_addr) = choice::asynchronous(result_addr, *result_count, handle(*result_datatype))
        else { return choice::refuse("MPI_Rget_accumulate", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Rget_accumulate(origin_addr.address, origin_addr.count, origin_addr.datatype, result_addr.address,
        result_addr.count, result_addr.datatype, *target_rank, *target_disp, *target_count, handle(*target_datatype),
        handle(*op), handle(*win), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "rget_accumulate_c" "rget_accumulate" (origin_addr: Buffer, origin_count: *const Count, origin_datatype:
    *const Fint, result_addr: Buffer, result_count: *const Count, result_datatype: *const Fint, target_rank: *const
    c_int, target_disp: *const Aint, target_count: *const Count, target_datatype: *const Fint, op: *const Fint, win:
    *const Fint, request: *mut Fint) [] {
    let Some(origin_addr) = choice::asynchronous(origin_addr, *origin_count, handle(*origin_datatype))
        else { return choice::refuse("MPI_Rget_accumulate_c", handle(values::MPI_COMM_SELF)) };
    let Some(result_addr) = choice::asynchronous(result_addr, *result_count, handle(*result_datatype))
        else { return choice::refuse("MPI_Rget_accumulate_c", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Rget_accumulate_c(origin_addr.address, origin_addr.count, origin_addr.datatype,
        result_addr.address, result_addr.count, result_addr.datatype, *target_rank, *target_disp, *target_count,
        handle(*target_datatype), handle(*op), handle(*win), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "rget_c" "rget" (origin_addr: Buffer, origin_count: *const Count, origin_datatype: *const Fint,
    target_rank: *const c_int, target_disp: *const Aint, target_count: *const Count, target_datatype: *const Fint, win:
    *const Fint, request: *mut Fint) [] {
    let Some(origin_addr) = choice::asynchronous(origin_addr, *origin_count, handle(*origin_datatype))
        else { return choice::refuse("MPI_Rget_c", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Rget_c(origin_addr.address, origin_addr.count, origin_addr.datatype, *target_rank, *target_disp,
        *target_count, handle(*target_datatype), handle(*win), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "rput" (origin_addr: Buffer, origin_count: *const c_int, origin_datatype: *const Fint, target_rank: *const
    c_int, target_disp: *const Aint, target_count: *const c_int, target_datatype: *const Fint, win: *const Fint,
    request: *mut Fint) [] {
    let Some(origin_addr) = choice::asynchronous(origin_addr, *origin_count, handle(*origin_datatype))
        else { return choice::refuse("MPI_Rput", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Rput(origin_addr.address, origin_addr.count, origin_addr.datatype, *target_rank, *target_disp,
        *target_count, handle(*target_datatype), handle(*win), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "rput_c" "rput" (origin_addr: Buffer, origin_count: *const Count, origin_datatype: *const Fint,
    target_rank: *const c_int, target_disp: *const Aint, target_count: *const Count, target_datatype: *const Fint, win:
    *const Fint, request: *mut Fint) [] {
    let Some(origin_addr) = choice::asynchronous(origin_addr, *origin_count, handle(*origin_datatype))
        else { return choice::refuse("MPI_Rput_c", handle(values::MPI_COMM_SELF)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Rput_c(origin_addr.address, origin_addr.count, origin_addr.datatype, *target_rank, *target_disp,
        *target_count, handle(*target_datatype), handle(*win), &mut c_request);
    *request = number(c_request);
    code
} }
plain! { "win_allocate" (size: *const Aint, disp_unit: *const c_int, info: *const Fint, comm: *const Fint, baseptr: *mut
    c_void, win: *mut Fint) [] {
    let mut c_win = handle(*win);
    let code = c::MPI_Win_allocate(*size, *disp_unit, handle(*info), handle(*comm), baseptr, &mut c_win);
    *win = number(c_win);
    code
} }
plain_large! { "win_allocate_c" "win_allocate" (size: *const Aint, disp_unit: *const Aint, info: *const Fint, comm:
    *const Fint, baseptr: *mut c_void, win: *mut Fint) [] {
    let mut c_win = handle(*win);
    let code = c::MPI_Win_allocate_c(*size, *disp_unit, handle(*info), handle(*comm), baseptr, &mut c_win);
    *win = number(c_win);
    code
} }
plain! { "win_allocate_shared" (size: *const Aint, disp_unit: *const c_int, info: *const Fint, comm: *const Fint,
    baseptr: *mut c_void, win: *mut Fint) [] {
    let mut c_win = handle(*win);
    let code = c::MPI_Win_allocate_shared(*size, *disp_unit, handle(*info), handle(*comm), baseptr, &mut c_win);
    *win = number(c_win);
    code
} }
plain_large! { "win_allocate_shared_c" "win_allocate_shared" (size: *const Aint, disp_unit: *const Aint, info: *const
    Fint, comm: *const Fint, baseptr: *mut c_void, win: *mut Fint) [] {
    let mut c_win = handle(*win);
    let code = c::MPI_Win_allocate_shared_c(*size, *disp_unit, handle(*info), handle(*comm), baseptr, &mut c_win);
    *win = number(c_win);
    code
} }
choice! { "win_attach" (win: *const Fint, base: Buffer, size: *const Aint) [] {
    c::MPI_Win_attach(handle(*win), base.address(), *size)
} }
plain! { "win_complete" (win: *const Fint) [] {
    c::MPI_Win_complete(handle(*win))
} }
choice! { "win_create" (base: Buffer, size: *const Aint, disp_unit: *const c_int, info: *const Fint, comm: *const Fint,
    win: *mut Fint) [] {
    let mut c_win = handle(*win);
    let code = c::MPI_Win_create(base.address(), *size, *disp_unit, handle(*info), handle(*comm), &mut c_win);
    *win = number(c_win);
    code
} }
choice_large! { "win_create_c" "win_create" (base: Buffer, size: *const Aint, disp_unit: *const Aint, info: *const Fint,
    comm: *const Fint, win: *mut Fint) [] {
    let mut c_win = handle(*win);
    let code = c::MPI_Win_create_c(base.address(), *size, *disp_unit, handle(*info), handle(*comm), &mut c_win);
    *win = number(c_win);
    code
} }
plain! { "win_create_dynamic" (info: *const Fint, comm: *const Fint, win: *mut Fint) [] {
    let mut c_win = handle(*win);
    let code = c::MPI_Win_create_dynamic(handle(*info), handle(*comm), &mut c_win);
    *win = number(c_win);
    code
} }
choice! { "win_detach" (win: *const Fint, base: Buffer) [] {
    c::MPI_Win_detach(handle(*win), base.address())
} }
plain! { "win_fence" (assert: *const c_int, win: *const Fint) [] {
    c::MPI_Win_fence(*assert, handle(*win))
} }
plain! { "win_flush" (rank: *const c_int, win: *const Fint) [] {
    c::MPI_Win_flush(*rank, handle(*win))
} }
plain! { "win_flush_all" (win: *const Fint) [] {
    c::MPI_Win_flush_all(handle(*win))
} }
plain! { "win_flush_local" (rank: *const c_int, win: *const Fint) [] {
    c::MPI_Win_flush_local(*rank, handle(*win))
} }
plain! { "win_flush_local_all" (win: *const Fint) [] {
    c::MPI_Win_flush_local_all(handle(*win))
} }
plain! { "win_free" (win: *mut Fint) [] {
    let mut c_win = handle(*win);
    let code = c::MPI_Win_free(&mut c_win);
    *win = number(c_win);
    code
} }
plain! { "win_free_keyval" (win_keyval: *mut c_int) [] {
    c::MPI_Win_free_keyval(win_keyval)
} }
plain! { "win_get_group" (win: *const Fint, group: *mut Fint) [] {
    let mut c_group = handle(*group);
    let code = c::MPI_Win_get_group(handle(*win), &mut c_group);
    *group = number(c_group);
    code
} }
plain! { "win_get_info" (win: *const Fint, info_used: *mut Fint) [] {
    let mut c_info_used = handle(*info_used);
    let code = c::MPI_Win_get_info(handle(*win), &mut c_info_used);
    *info_used = number(c_info_used);
    code
} }
plain! { "win_get_name" (win: *const Fint, win_name: *mut c_char, resultlen: *mut c_int) [win_name_len] {
    let mut c_win_name = TextOut::new(values::MPI_MAX_OBJECT_NAME as usize);
    let code = c::MPI_Win_get_name(handle(*win), c_win_name.as_mut_ptr(), resultlen);
    if code == 0 { c_win_name.store(win_name, win_name_len); }
    code
} }
plain! { "win_lock" (lock_type: *const c_int, rank: *const c_int, assert: *const c_int, win: *const Fint) [] {
    c::MPI_Win_lock(*lock_type, *rank, *assert, handle(*win))
} }
plain! { "win_lock_all" (assert: *const c_int, win: *const Fint) [] {
    c::MPI_Win_lock_all(*assert, handle(*win))
} }
plain! { "win_post" (group: *const Fint, assert: *const c_int, win: *const Fint) [] {
    c::MPI_Win_post(handle(*group), *assert, handle(*win))
} }
plain! { "win_set_info" (win: *const Fint, info: *const Fint) [] {
    c::MPI_Win_set_info(handle(*win), handle(*info))
} }
plain! { "win_set_name" (win: *const Fint, win_name: *mut c_char) [win_name_len] {
    let win_name = Text::of(win_name, win_name_len);
    c::MPI_Win_set_name(handle(*win), win_name.as_ptr())
} }
plain! { "win_shared_query" (win: *const Fint, rank: *const c_int, size: *mut Aint, disp_unit: *mut c_int, baseptr: *mut
    c_void) [] {
    c::MPI_Win_shared_query(handle(*win), *rank, size, disp_unit, baseptr)
} }
plain_large! { "win_shared_query_c" "win_shared_query" (win: *const Fint, rank: *const c_int, size: *mut Aint,
    disp_unit: *mut Aint, baseptr: *mut c_void) [] {
    c::MPI_Win_shared_query_c(handle(*win), *rank, size, disp_unit, baseptr)
} }
plain! { "win_start" (group: *const Fint, assert: *const c_int, win: *const Fint) [] {
    c::MPI_Win_start(handle(*group), *assert, handle(*win))
} }
plain! { "win_sync" (win: *const Fint) [] {
    c::MPI_Win_sync(handle(*win))
} }
plain! { "win_test" (win: *const Fint, flag: *mut Logical) [] {
    let mut c_flag: c_int = truth(*flag);
    let code = c::MPI_Win_test(handle(*win), &mut c_flag);
    *flag = logical(c_flag);
    code
} }
plain! { "win_unlock" (rank: *const c_int, win: *const Fint) [] {
    c::MPI_Win_unlock(*rank, handle(*win))
} }
plain! { "win_unlock_all" (win: *const Fint) [] {
    c::MPI_Win_unlock_all(handle(*win))
} }
plain! { "win_wait" (win: *const Fint) [] {
    c::MPI_Win_wait(handle(*win))
} }
