//! Rows of the function table: extensions of MPICH.
//!
//! Written by tools/table.py; what stands after `=>` is kept by hand (see `table`).

#[doc(hidden)]
#[macro_export]
macro_rules! table_mpix { ($emit:ident $with:tt) => { $emit! { $with
    mpich MPIX_Allreduce_enqueue(sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: Datatype, op: Op,
        comm: Comm) [comm(comm)] => unsupported;
    mpich MPIX_Allreduce_enqueue_c(sendbuf: *const c_void, recvbuf: *mut c_void, count: Count, datatype: Datatype,
        op: Op, comm: Comm) [comm(comm)] => unsupported;
    mpich MPIX_Async_get_state(async_thing: AsyncThing) -> *mut c_void => mpix::async_get_state;
    mpich MPIX_Async_spawn(async_thing: AsyncThing, poll_fn: AsyncPollFunction, extra_state: *mut c_void,
        stream: Stream) [default] => unsupported;
    mpich MPIX_Async_start(poll_fn: AsyncPollFunction, extra_state: *mut c_void, stream: Stream)
        [default] => unsupported;
    mpich MPIX_Comm_agree(comm: Comm, flag: *mut c_int) [comm(comm)] => unsupported;
    mpich MPIX_Comm_create_errhandler_x(comm_errhandler_fn_x: CommErrhandlerFunctionX,
        destructor_fn: DestructorFunction, extra_state: *mut c_void, errhandler: *mut Errhandler)
        [default] => mpix::comm_create_errhandler;
    mpich MPIX_Comm_failure_ack(comm: Comm) [comm(comm)] => unsupported;
    mpich MPIX_Comm_failure_get_acked(comm: Comm, failedgrp: *mut Group) [comm(comm)] => unsupported;
    mpich MPIX_Comm_get_failed(comm: Comm, failedgrp: *mut Group) [comm(comm)] => unsupported;
    mpich MPIX_Comm_get_stream(comm: Comm, idx: c_int, stream: *mut Stream) [comm(comm)] => unsupported;
    mpich MPIX_Comm_revoke(comm: Comm) [comm(comm)] => unsupported;
    mpich MPIX_Comm_shrink(comm: Comm, newcomm: *mut Comm) [comm(comm)] => unsupported;
    mpich MPIX_Comm_test_threadcomm(comm: Comm, flag: *mut c_int) [comm(comm)] => unsupported;
    mpich MPIX_File_create_errhandler_x(comm_errhandler_fn_x: FileErrhandlerFunctionX,
        destructor_fn: DestructorFunction, extra_state: *mut c_void, errhandler: *mut Errhandler)
        [default] => mpix::file_create_errhandler;
    mpich MPIX_GPU_query_support(gpu_type: c_int, is_supported: *mut c_int) [default] => mpix::gpu_query_support;
    both MPIX_Grequest_class_allocate(greq_class: GrequestClass, extra_state: *mut c_void, request: *mut Request)
        [default] => grequest::class_allocate;
    both MPIX_Grequest_class_create(query_fn: GrequestQueryFunction, free_fn: GrequestFreeFunction,
        cancel_fn: GrequestCancelFunction, poll_fn: GrequestPollFunction, wait_fn: GrequestWaitFunction,
        greq_class: *mut GrequestClass) [default] => grequest::class_create;
    both MPIX_Grequest_start(query_fn: GrequestQueryFunction, free_fn: GrequestFreeFunction,
        cancel_fn: GrequestCancelFunction, poll_fn: GrequestPollFunction, wait_fn: GrequestWaitFunction,
        extra_state: *mut c_void, request: *mut Request) [default] => grequest::start_polled;
    mpich MPIX_Info_set_hex(info: Info, key: *const c_char, value: *const c_void, value_size: c_int)
        [default] => mpix::info_set_hex;
    mpich MPIX_Irecv_enqueue(buf: *mut c_void, count: c_int, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => unsupported;
    mpich MPIX_Irecv_enqueue_c(buf: *mut c_void, count: Count, datatype: Datatype, source: c_int, tag: c_int,
        comm: Comm, request: *mut Request) [comm(comm)] => unsupported;
    mpich MPIX_Isend_enqueue(buf: *const c_void, count: c_int, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => unsupported;
    mpich MPIX_Isend_enqueue_c(buf: *const c_void, count: Count, datatype: Datatype, dest: c_int, tag: c_int,
        comm: Comm, request: *mut Request) [comm(comm)] => unsupported;
    mpich MPIX_Op_create_x(user_fn_x: UserFunctionX, destructor_fn: DestructorFunction, commute: c_int,
        extra_state: *mut c_void, op: *mut Op) [default] => mpix::op_create;
    mpich MPIX_Query_cuda_support() -> c_int => mpix::query_gpu;
    mpich MPIX_Query_hip_support() -> c_int => mpix::query_gpu;
    mpich MPIX_Query_ze_support() -> c_int => mpix::query_gpu;
    mpich MPIX_Recv_enqueue(buf: *mut c_void, count: c_int, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        status: *mut Status) [comm(comm)] => unsupported;
    mpich MPIX_Recv_enqueue_c(buf: *mut c_void, count: Count, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        status: *mut Status) [comm(comm)] => unsupported;
    mpich MPIX_Request_is_complete(request: Request) -> c_int => mpix::request_is_complete;
    mpich MPIX_Send_enqueue(buf: *const c_void, count: c_int, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm)
        [comm(comm)] => unsupported;
    mpich MPIX_Send_enqueue_c(buf: *const c_void, count: Count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm)
        [comm(comm)] => unsupported;
    mpich MPIX_Session_create_errhandler_x(comm_errhandler_fn_x: SessionErrhandlerFunctionX,
        destructor_fn: DestructorFunction, extra_state: *mut c_void, errhandler: *mut Errhandler)
        [default] => mpix::session_create_errhandler;
    mpich MPIX_Start_progress_thread(stream: Stream) [default] => unsupported;
    mpich MPIX_Stop_progress_thread(stream: Stream) [default] => unsupported;
    mpich MPIX_Stream_comm_create(comm: Comm, stream: Stream, newcomm: *mut Comm) [comm(comm)] => unsupported;
    mpich MPIX_Stream_comm_create_multiplex(comm: Comm, count: c_int, array_of_streams: *mut Stream, newcomm: *mut Comm)
        [comm(comm)] => unsupported;
    mpich MPIX_Stream_create(info: Info, stream: *mut Stream) [default] => unsupported;
    mpich MPIX_Stream_free(stream: *mut Stream) [default] => unsupported;
    mpich MPIX_Stream_irecv(buf: *mut c_void, count: c_int, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        source_stream_index: c_int, dest_stream_index: c_int, request: *mut Request) [comm(comm)] => unsupported;
    mpich MPIX_Stream_irecv_c(buf: *mut c_void, count: Count, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        source_stream_index: c_int, dest_stream_index: c_int, request: *mut Request) [comm(comm)] => unsupported;
    mpich MPIX_Stream_isend(buf: *const c_void, count: c_int, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        source_stream_index: c_int, dest_stream_index: c_int, request: *mut Request) [comm(comm)] => unsupported;
    mpich MPIX_Stream_isend_c(buf: *const c_void, count: Count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        source_stream_index: c_int, dest_stream_index: c_int, request: *mut Request) [comm(comm)] => unsupported;
    mpich MPIX_Stream_progress(stream: Stream) [default] => unsupported;
    mpich MPIX_Stream_recv(buf: *mut c_void, count: c_int, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        source_stream_index: c_int, dest_stream_index: c_int, status: *mut Status) [comm(comm)] => unsupported;
    mpich MPIX_Stream_recv_c(buf: *mut c_void, count: Count, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        source_stream_index: c_int, dest_stream_index: c_int, status: *mut Status) [comm(comm)] => unsupported;
    mpich MPIX_Stream_send(buf: *const c_void, count: c_int, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        source_stream_index: c_int, dest_stream_index: c_int) [comm(comm)] => unsupported;
    mpich MPIX_Stream_send_c(buf: *const c_void, count: Count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        source_stream_index: c_int, dest_stream_index: c_int) [comm(comm)] => unsupported;
    mpich MPIX_Threadcomm_finish(threadcomm: Comm) [comm(threadcomm)] => unsupported;
    mpich MPIX_Threadcomm_free(threadcomm: *mut Comm) [default] => unsupported;
    mpich MPIX_Threadcomm_init(comm: Comm, num_threads: c_int, newthreadcomm: *mut Comm) [comm(comm)] => unsupported;
    mpich MPIX_Threadcomm_start(threadcomm: Comm) [comm(threadcomm)] => unsupported;
    both MPIX_Type_iov(datatype: Datatype, iov_offset: Count, iov: *mut Iov, max_iov_len: Count,
        actual_iov_len: *mut Count) [default] => mpix::type_iov;
    both MPIX_Type_iov_len(datatype: Datatype, max_iov_bytes: Count, iov_len: *mut Count, actual_iov_bytes: *mut Count)
        [default] => mpix::type_iov_len;
    mpich MPIX_Wait_enqueue(request: *mut Request, status: *mut Status) [default] => unsupported;
    mpich MPIX_Waitall_enqueue(count: c_int, array_of_requests: *mut Request, array_of_statuses: *mut Status)
        [default] => unsupported;
    mpich MPIX_Win_create_errhandler_x(comm_errhandler_fn_x: WinErrhandlerFunctionX, destructor_fn: DestructorFunction,
        extra_state: *mut c_void, errhandler: *mut Errhandler) [default] => mpix::win_create_errhandler;
} } }
