//! Entry points of Fortran: point-to-point communication.
//!
//! Written by crates/fortran/tools/binding.py from the table of functions; do not edit.

use crate::binding::prelude::*;

choice! { "bsend" (buf: Buffer, count: *const c_int, datatype: *const Fint, dest: *const c_int, tag: *const c_int, comm:
    *const Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_Bsend", handle(*comm)) };
    c::MPI_Bsend(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm))
} }
choice_large! { "bsend_c" "bsend" (buf: Buffer, count: *const Count, datatype: *const Fint, dest: *const c_int, tag:
    *const c_int, comm: *const Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_Bsend_c", handle(*comm)) };
    c::MPI_Bsend_c(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm))
} }
choice! { "bsend_init" (buf: Buffer, count: *const c_int, datatype: *const Fint, dest: *const c_int, tag: *const c_int,
    comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Bsend_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Bsend_init(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "bsend_init_c" "bsend_init" (buf: Buffer, count: *const Count, datatype: *const Fint, dest: *const
    c_int, tag: *const c_int, comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Bsend_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Bsend_init_c(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "buffer_attach" (buffer: Buffer, size: *const c_int) [] {
    c::MPI_Buffer_attach(buffer.address(), *size)
} }
choice_large! { "buffer_attach_c" "buffer_attach" (buffer: Buffer, size: *const Count) [] {
    c::MPI_Buffer_attach_c(buffer.address(), *size)
} }
plain! { "buffer_flush" () [] {
    c::MPI_Buffer_flush()
} }
plain! { "buffer_iflush" (request: *mut Fint) [] {
    let mut c_request = handle(*request);
    let code = c::MPI_Buffer_iflush(&mut c_request);
    *request = number(c_request);
    code
} }
plain! { "cancel" (request: *const Fint) [] {
    let mut c_request = handle(*request);
    c::MPI_Cancel(&mut c_request)
} }
choice! { "comm_attach_buffer" (comm: *const Fint, buffer: Buffer, size: *const c_int) [] {
    c::MPI_Comm_attach_buffer(handle(*comm), buffer.address(), *size)
} }
choice_large! { "comm_attach_buffer_c" "comm_attach_buffer" (comm: *const Fint, buffer: Buffer, size: *const Count) [] {
    c::MPI_Comm_attach_buffer_c(handle(*comm), buffer.address(), *size)
} }
plain! { "comm_flush_buffer" (comm: *const Fint) [] {
    c::MPI_Comm_flush_buffer(handle(*comm))
} }
plain! { "comm_iflush_buffer" (comm: *const Fint, request: *mut Fint) [] {
    let mut c_request = handle(*request);
    let code = c::MPI_Comm_iflush_buffer(handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
plain! { "get_count" (status: *mut Fint, datatype: *const Fint, count: *mut c_int) [] {
    c::MPI_Get_count(c_status(status), handle(*datatype), count)
} }
plain_large! { "get_count_c" "get_count" (status: *mut Fint, datatype: *const Fint, count: *mut Count) [] {
    c::MPI_Get_count_c(c_status(status), handle(*datatype), count)
} }
plain! { "get_elements" (status: *mut Fint, datatype: *const Fint, count: *mut c_int) [] {
    c::MPI_Get_elements(c_status(status), handle(*datatype), count)
} }
plain_large! { "get_elements_c" "get_elements" (status: *mut Fint, datatype: *const Fint, count: *mut Count) [] {
    c::MPI_Get_elements_c(c_status(status), handle(*datatype), count)
} }
plain! { "get_elements_x" (status: *mut Fint, datatype: *const Fint, count: *mut Count) [] {
    c::MPI_Get_elements_x(c_status(status), handle(*datatype), count)
} }
plain! { "grequest_complete" (request: *const Fint) [] {
    c::MPI_Grequest_complete(handle(*request))
} }
choice! { "ibsend" (buf: Buffer, count: *const c_int, datatype: *const Fint, dest: *const c_int, tag: *const c_int,
    comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Ibsend", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ibsend(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "ibsend_c" "ibsend" (buf: Buffer, count: *const Count, datatype: *const Fint, dest: *const c_int, tag:
    *const c_int, comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Ibsend_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ibsend_c(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
plain! { "improbe" (source: *const c_int, tag: *const c_int, comm: *const Fint, flag: *mut Logical, message: *mut Fint,
    status: *mut Fint) [] {
    let mut c_flag: c_int = truth(*flag);
    let mut c_message = handle(*message);
    let code = c::MPI_Improbe(*source, *tag, handle(*comm), &mut c_flag, &mut c_message, c_status(status));
    *flag = logical(c_flag);
    *message = number(c_message);
    code
} }
choice! { "imrecv" (buf: Buffer, count: *const c_int, datatype: *const Fint, message: *mut Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Imrecv", handle(values::MPI_COMM_SELF)) };
    let mut c_message = handle(*message);
    let mut c_request = handle(*request);
    let code = c::MPI_Imrecv(buf.address, buf.count, buf.datatype, &mut c_message, &mut c_request);
    *message = number(c_message);
    *request = number(c_request);
    code
} }
choice_large! { "imrecv_c" "imrecv" (buf: Buffer, count: *const Count, datatype: *const Fint, message: *mut Fint,
    request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Imrecv_c", handle(values::MPI_COMM_SELF)) };
    let mut c_message = handle(*message);
    let mut c_request = handle(*request);
    let code = c::MPI_Imrecv_c(buf.address, buf.count, buf.datatype, &mut c_message, &mut c_request);
    *message = number(c_message);
    *request = number(c_request);
    code
} }
plain! { "iprobe" (source: *const c_int, tag: *const c_int, comm: *const Fint, flag: *mut Logical, status: *mut Fint) [] {
    let mut c_flag: c_int = truth(*flag);
    let code = c::MPI_Iprobe(*source, *tag, handle(*comm), &mut c_flag, c_status(status));
    *flag = logical(c_flag);
    code
} }
choice! { "irecv" (buf: Buffer, count: *const c_int, datatype: *const Fint, source: *const c_int, tag: *const c_int,
    comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Irecv", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Irecv(buf.address, buf.count, buf.datatype, *source, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "irecv_c" "irecv" (buf: Buffer, count: *const Count, datatype: *const Fint, source: *const c_int, tag:
    *const c_int, comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Irecv_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Irecv_c(buf.address, buf.count, buf.datatype, *source, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "irsend" (buf: Buffer, count: *const c_int, datatype: *const Fint, dest: *const c_int, tag: *const c_int,
    comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Irsend", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Irsend(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "irsend_c" "irsend" (buf: Buffer, count: *const Count, datatype: *const Fint, dest: *const c_int, tag:
    *const c_int, comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Irsend_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Irsend_c(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "isend" (buf: Buffer, count: *const c_int, datatype: *const Fint, dest: *const c_int, tag: *const c_int, comm:
    *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Isend", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Isend(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "isend_c" "isend" (buf: Buffer, count: *const Count, datatype: *const Fint, dest: *const c_int, tag:
    *const c_int, comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Isend_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Isend_c(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "isendrecv" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, dest: *const c_int, sendtag:
    *const c_int, recvbuf: Buffer, recvcount: *const c_int, recvtype: *const Fint, source: *const c_int, recvtag: *const
    c_int, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Isendrecv", handle(*comm)) };
    let Some(recvbuf) = choice::asynchronous(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Isendrecv", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Isendrecv(sendbuf.address, sendbuf.count, sendbuf.datatype, *dest, *sendtag, recvbuf.address,
        recvbuf.count, recvbuf.datatype, *source, *recvtag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "isendrecv_c" "isendrecv" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint, dest: *const
    c_int, sendtag: *const c_int, recvbuf: Buffer, recvcount: *const Count, recvtype: *const Fint, source: *const c_int,
    recvtag: *const c_int, comm: *const Fint, request: *mut Fint) [] {
    let Some(sendbuf) = choice::asynchronous(sendbuf, *sendcount, handle(*sendtype))
        else { return choice::refuse("MPI_Isendrecv_c", handle(*comm)) };
    let Some(recvbuf) = choice::asynchronous(recvbuf, *recvcount, handle(*recvtype))
        else { return choice::refuse("MPI_Isendrecv_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Isendrecv_c(sendbuf.address, sendbuf.count, sendbuf.datatype, *dest, *sendtag, recvbuf.address,
        recvbuf.count, recvbuf.datatype, *source, *recvtag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "isendrecv_replace" (buf: Buffer, count: *const c_int, datatype: *const Fint, dest: *const c_int, sendtag:
    *const c_int, source: *const c_int, recvtag: *const c_int, comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Isendrecv_replace", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Isendrecv_replace(buf.address, buf.count, buf.datatype, *dest, *sendtag, *source, *recvtag,
        handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "isendrecv_replace_c" "isendrecv_replace" (buf: Buffer, count: *const Count, datatype: *const Fint,
    dest: *const c_int, sendtag: *const c_int, source: *const c_int, recvtag: *const c_int, comm: *const Fint, request:
    *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Isendrecv_replace_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Isendrecv_replace_c(buf.address, buf.count, buf.datatype, *dest, *sendtag, *source, *recvtag,
        handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "issend" (buf: Buffer, count: *const c_int, datatype: *const Fint, dest: *const c_int, tag: *const c_int,
    comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Issend", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Issend(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "issend_c" "issend" (buf: Buffer, count: *const Count, datatype: *const Fint, dest: *const c_int, tag:
    *const c_int, comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Issend_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Issend_c(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
plain! { "mprobe" (source: *const c_int, tag: *const c_int, comm: *const Fint, message: *mut Fint, status: *mut Fint) [] {
    let mut c_message = handle(*message);
    let code = c::MPI_Mprobe(*source, *tag, handle(*comm), &mut c_message, c_status(status));
    *message = number(c_message);
    code
} }
choice! { "mrecv" (buf: Buffer, count: *const c_int, datatype: *const Fint, message: *mut Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_Mrecv", handle(values::MPI_COMM_SELF)) };
    let mut c_message = handle(*message);
    let code = c::MPI_Mrecv(buf.address, buf.count, buf.datatype, &mut c_message, c_status(status));
    *message = number(c_message);
    code
} }
choice_large! { "mrecv_c" "mrecv" (buf: Buffer, count: *const Count, datatype: *const Fint, message: *mut Fint, status:
    *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_Mrecv_c", handle(values::MPI_COMM_SELF)) };
    let mut c_message = handle(*message);
    let code = c::MPI_Mrecv_c(buf.address, buf.count, buf.datatype, &mut c_message, c_status(status));
    *message = number(c_message);
    code
} }
plain! { "parrived" (request: *const Fint, partition: *const c_int, flag: *mut Logical) [] {
    let mut c_flag: c_int = truth(*flag);
    let code = c::MPI_Parrived(handle(*request), *partition, &mut c_flag);
    *flag = logical(c_flag);
    code
} }
plain! { "pready" (partition: *const c_int, request: *const Fint) [] {
    c::MPI_Pready(*partition, handle(*request))
} }
plain! { "pready_list" (length: *const c_int, array_of_partitions: *const c_int, request: *const Fint) [] {
    c::MPI_Pready_list(*length, array_of_partitions, handle(*request))
} }
plain! { "pready_range" (partition_low: *const c_int, partition_high: *const c_int, request: *const Fint) [] {
    c::MPI_Pready_range(*partition_low, *partition_high, handle(*request))
} }
choice! { "precv_init" (buf: Buffer, partitions: *const c_int, count: *const Count, datatype: *const Fint, source:
    *const c_int, tag: *const c_int, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::solid(buf) else { return choice::refuse("MPI_Precv_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Precv_init(buf, *partitions, *count, handle(*datatype), *source, *tag, handle(*comm),
        handle(*info), &mut c_request);
    *request = number(c_request);
    code
} }
plain! { "probe" (source: *const c_int, tag: *const c_int, comm: *const Fint, status: *mut Fint) [] {
    c::MPI_Probe(*source, *tag, handle(*comm), c_status(status))
} }
choice! { "psend_init" (buf: Buffer, partitions: *const c_int, count: *const Count, datatype: *const Fint, dest: *const
    c_int, tag: *const c_int, comm: *const Fint, info: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::solid(buf) else { return choice::refuse("MPI_Psend_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Psend_init(buf, *partitions, *count, handle(*datatype), *dest, *tag, handle(*comm), handle(*info),
        &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "recv" (buf: Buffer, count: *const c_int, datatype: *const Fint, source: *const c_int, tag: *const c_int,
    comm: *const Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_Recv", handle(*comm)) };
    c::MPI_Recv(buf.address, buf.count, buf.datatype, *source, *tag, handle(*comm), c_status(status))
} }
choice_large! { "recv_c" "recv" (buf: Buffer, count: *const Count, datatype: *const Fint, source: *const c_int, tag:
    *const c_int, comm: *const Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_Recv_c", handle(*comm)) };
    c::MPI_Recv_c(buf.address, buf.count, buf.datatype, *source, *tag, handle(*comm), c_status(status))
} }
choice! { "recv_init" (buf: Buffer, count: *const c_int, datatype: *const Fint, source: *const c_int, tag: *const c_int,
    comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Recv_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Recv_init(buf.address, buf.count, buf.datatype, *source, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "recv_init_c" "recv_init" (buf: Buffer, count: *const Count, datatype: *const Fint, source: *const
    c_int, tag: *const c_int, comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Recv_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Recv_init_c(buf.address, buf.count, buf.datatype, *source, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
plain! { "request_free" (request: *mut Fint) [] {
    let mut c_request = handle(*request);
    let code = c::MPI_Request_free(&mut c_request);
    *request = number(c_request);
    code
} }
plain! { "request_get_status" (request: *const Fint, flag: *mut Logical, status: *mut Fint) [] {
    let mut c_flag: c_int = truth(*flag);
    let code = c::MPI_Request_get_status(handle(*request), &mut c_flag, c_status(status));
    *flag = logical(c_flag);
    code
} }
plain! { "request_get_status_all" (count: *const c_int, array_of_requests: *const Fint, flag: *mut Logical,
    array_of_statuses: *mut Fint) [] {
    let array_of_requests = Handles::of(array_of_requests, || entries(*count));
    let mut c_flag: c_int = truth(*flag);
    let code = c::MPI_Request_get_status_all(*count, array_of_requests.as_ptr(), &mut c_flag,
        c_statuses(array_of_statuses));
    *flag = logical(c_flag);
    code
} }
plain! { "request_get_status_any" (count: *const c_int, array_of_requests: *const Fint, index: *mut c_int, flag: *mut
    Logical, status: *mut Fint) [] {
    let array_of_requests = Handles::of(array_of_requests, || entries(*count));
    *index = values::MPI_UNDEFINED;
    let mut c_flag: c_int = truth(*flag);
    let code = c::MPI_Request_get_status_any(*count, array_of_requests.as_ptr(), index, &mut c_flag, c_status(status));
    from_one(index, 1);
    *flag = logical(c_flag);
    code
} }
plain! { "request_get_status_some" (incount: *const c_int, array_of_requests: *const Fint, outcount: *mut c_int,
    array_of_indices: *mut c_int, array_of_statuses: *mut Fint) [] {
    let array_of_requests = Handles::of(array_of_requests, || entries(*incount));
    *outcount = 0;
    let code = c::MPI_Request_get_status_some(*incount, array_of_requests.as_ptr(), outcount, array_of_indices,
        c_statuses(array_of_statuses));
    from_one(array_of_indices, *outcount);
    code
} }
choice! { "rsend" (buf: Buffer, count: *const c_int, datatype: *const Fint, dest: *const c_int, tag: *const c_int, comm:
    *const Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_Rsend", handle(*comm)) };
    c::MPI_Rsend(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm))
} }
choice_large! { "rsend_c" "rsend" (buf: Buffer, count: *const Count, datatype: *const Fint, dest: *const c_int, tag:
    *const c_int, comm: *const Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_Rsend_c", handle(*comm)) };
    c::MPI_Rsend_c(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm))
} }
choice! { "rsend_init" (buf: Buffer, count: *const c_int, datatype: *const Fint, dest: *const c_int, tag: *const c_int,
    comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Rsend_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Rsend_init(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "rsend_init_c" "rsend_init" (buf: Buffer, count: *const Count, datatype: *const Fint, dest: *const
    c_int, tag: *const c_int, comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Rsend_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Rsend_init_c(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "send" (buf: Buffer, count: *const c_int, datatype: *const Fint, dest: *const c_int, tag: *const c_int, comm:
    *const Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_Send", handle(*comm)) };
    c::MPI_Send(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm))
} }
choice_large! { "send_c" "send" (buf: Buffer, count: *const Count, datatype: *const Fint, dest: *const c_int, tag:
    *const c_int, comm: *const Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_Send_c", handle(*comm)) };
    c::MPI_Send_c(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm))
} }
choice! { "send_init" (buf: Buffer, count: *const c_int, datatype: *const Fint, dest: *const c_int, tag: *const c_int,
    comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Send_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Send_init(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "send_init_c" "send_init" (buf: Buffer, count: *const Count, datatype: *const Fint, dest: *const c_int,
    tag: *const c_int, comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Send_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Send_init_c(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "sendrecv" (sendbuf: Buffer, sendcount: *const c_int, sendtype: *const Fint, dest: *const c_int, sendtag:
    *const c_int, recvbuf: Buffer, recvcount: *const c_int, recvtype: *const Fint, source: *const c_int, recvtag: *const
    c_int, comm: *const Fint, status: *mut Fint) [] {
    let Some(sendbuf) = choice::blocking(sendbuf, *sendcount, handle(*sendtype), false)
        else { return choice::refuse("MPI_Sendrecv", handle(*comm)) };
    let Some(recvbuf) = choice::blocking(recvbuf, *recvcount, handle(*recvtype), true)
        else { return choice::refuse("MPI_Sendrecv", handle(*comm)) };
    c::MPI_Sendrecv(sendbuf.address, sendbuf.count, sendbuf.datatype, *dest, *sendtag, recvbuf.address, recvbuf.count,
        recvbuf.datatype, *source, *recvtag, handle(*comm), c_status(status))
} }
choice_large! { "sendrecv_c" "sendrecv" (sendbuf: Buffer, sendcount: *const Count, sendtype: *const Fint, dest: *const
    c_int, sendtag: *const c_int, recvbuf: Buffer, recvcount: *const Count, recvtype: *const Fint, source: *const c_int,
    recvtag: *const c_int, comm: *const Fint, status: *mut Fint) [] {
    let Some(sendbuf) = choice::blocking(sendbuf, *sendcount, handle(*sendtype), false)
        else { return choice::refuse("MPI_Sendrecv_c", handle(*comm)) };
    let Some(recvbuf) = choice::blocking(recvbuf, *recvcount, handle(*recvtype), true)
        else { return choice::refuse("MPI_Sendrecv_c", handle(*comm)) };
    c::MPI_Sendrecv_c(sendbuf.address, sendbuf.count, sendbuf.datatype, *dest, *sendtag, recvbuf.address, recvbuf.count,
        recvbuf.datatype, *source, *recvtag, handle(*comm), c_status(status))
} }
choice! { "sendrecv_replace" (buf: Buffer, count: *const c_int, datatype: *const Fint, dest: *const c_int, sendtag:
    *const c_int, source: *const c_int, recvtag: *const c_int, comm: *const Fint, status: *mut Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_Sendrecv_replace", handle(*comm)) };
    c::MPI_Sendrecv_replace(buf.address, buf.count, buf.datatype, *dest, *sendtag, *source, *recvtag, handle(*comm),
        c_status(status))
} }
choice_large! { "sendrecv_replace_c" "sendrecv_replace" (buf: Buffer, count: *const Count, datatype: *const Fint, dest:
    *const c_int, sendtag: *const c_int, source: *const c_int, recvtag: *const c_int, comm: *const Fint, status: *mut
    Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), true)
        else { return choice::refuse("MPI_Sendrecv_replace_c", handle(*comm)) };
    c::MPI_Sendrecv_replace_c(buf.address, buf.count, buf.datatype, *dest, *sendtag, *source, *recvtag, handle(*comm),
        c_status(status))
} }
choice! { "session_attach_buffer" (session: *const Fint, buffer: Buffer, size: *const c_int) [] {
    c::MPI_Session_attach_buffer(handle(*session), buffer.address(), *size)
} }
choice_large! { "session_attach_buffer_c" "session_attach_buffer" (session: *const Fint, buffer: Buffer, size: *const
    Count) [] {
    c::MPI_Session_attach_buffer_c(handle(*session), buffer.address(), *size)
} }
plain! { "session_flush_buffer" (session: *const Fint) [] {
    c::MPI_Session_flush_buffer(handle(*session))
} }
plain! { "session_iflush_buffer" (session: *const Fint, request: *mut Fint) [] {
    let mut c_request = handle(*request);
    let code = c::MPI_Session_iflush_buffer(handle(*session), &mut c_request);
    *request = number(c_request);
    code
} }
choice! { "ssend" (buf: Buffer, count: *const c_int, datatype: *const Fint, dest: *const c_int, tag: *const c_int, comm:
    *const Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_Ssend", handle(*comm)) };
    c::MPI_Ssend(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm))
} }
choice_large! { "ssend_c" "ssend" (buf: Buffer, count: *const Count, datatype: *const Fint, dest: *const c_int, tag:
    *const c_int, comm: *const Fint) [] {
    let Some(buf) = choice::blocking(buf, *count, handle(*datatype), false)
        else { return choice::refuse("MPI_Ssend_c", handle(*comm)) };
    c::MPI_Ssend_c(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm))
} }
choice! { "ssend_init" (buf: Buffer, count: *const c_int, datatype: *const Fint, dest: *const c_int, tag: *const c_int,
    comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Ssend_init", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ssend_init(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
choice_large! { "ssend_init_c" "ssend_init" (buf: Buffer, count: *const Count, datatype: *const Fint, dest: *const
    c_int, tag: *const c_int, comm: *const Fint, request: *mut Fint) [] {
    let Some(buf) = choice::asynchronous(buf, *count, handle(*datatype))
        else { return choice::refuse("MPI_Ssend_init_c", handle(*comm)) };
    let mut c_request = handle(*request);
    let code = c::MPI_Ssend_init_c(buf.address, buf.count, buf.datatype, *dest, *tag, handle(*comm), &mut c_request);
    *request = number(c_request);
    code
} }
plain! { "start" (request: *mut Fint) [] {
    let mut c_request = handle(*request);
    let code = c::MPI_Start(&mut c_request);
    *request = number(c_request);
    code
} }
plain! { "startall" (count: *const c_int, array_of_requests: *mut Fint) [] {
    let mut c_array_of_requests = Handles::of(array_of_requests, || entries(*count));
    let code = c::MPI_Startall(*count, c_array_of_requests.as_mut_ptr());
    c_array_of_requests.store(array_of_requests);
    code
} }
plain! { "status_get_error" (status: *mut Fint, err: *mut c_int) [] {
    c::MPI_Status_get_error(c_status(status), err)
} }
plain! { "status_get_source" (status: *mut Fint, source: *mut c_int) [] {
    c::MPI_Status_get_source(c_status(status), source)
} }
plain! { "status_get_tag" (status: *mut Fint, tag: *mut c_int) [] {
    c::MPI_Status_get_tag(c_status(status), tag)
} }
plain! { "status_set_cancelled" (status: *mut Fint, flag: *const Logical) [] {
    c::MPI_Status_set_cancelled(c_status(status), truth(*flag))
} }
plain! { "status_set_elements" (status: *mut Fint, datatype: *const Fint, count: *const c_int) [] {
    c::MPI_Status_set_elements(c_status(status), handle(*datatype), *count)
} }
plain_large! { "status_set_elements_c" "status_set_elements" (status: *mut Fint, datatype: *const Fint, count: *const
    Count) [] {
    c::MPI_Status_set_elements_c(c_status(status), handle(*datatype), *count)
} }
plain! { "status_set_elements_x" (status: *mut Fint, datatype: *const Fint, count: *const Count) [] {
    c::MPI_Status_set_elements_x(c_status(status), handle(*datatype), *count)
} }
plain! { "status_set_error" (status: *mut Fint, err: *const c_int) [] {
    c::MPI_Status_set_error(c_status(status), *err)
} }
plain! { "status_set_source" (status: *mut Fint, source: *const c_int) [] {
    c::MPI_Status_set_source(c_status(status), *source)
} }
plain! { "status_set_tag" (status: *mut Fint, tag: *const c_int) [] {
    c::MPI_Status_set_tag(c_status(status), *tag)
} }
plain! { "test" (request: *mut Fint, flag: *mut Logical, status: *mut Fint) [] {
    let mut c_request = handle(*request);
    let mut c_flag: c_int = truth(*flag);
    let code = c::MPI_Test(&mut c_request, &mut c_flag, c_status(status));
    *request = number(c_request);
    *flag = logical(c_flag);
    code
} }
plain! { "test_cancelled" (status: *mut Fint, flag: *mut Logical) [] {
    let mut c_flag: c_int = truth(*flag);
    let code = c::MPI_Test_cancelled(c_status(status), &mut c_flag);
    *flag = logical(c_flag);
    code
} }
plain! { "testall" (count: *const c_int, array_of_requests: *mut Fint, flag: *mut Logical, array_of_statuses: *mut Fint)
    [] {
    let mut c_array_of_requests = Handles::of(array_of_requests, || entries(*count));
    let mut c_flag: c_int = truth(*flag);
    let code = c::MPI_Testall(*count, c_array_of_requests.as_mut_ptr(), &mut c_flag, c_statuses(array_of_statuses));
    c_array_of_requests.store(array_of_requests);
    *flag = logical(c_flag);
    code
} }
plain! { "testany" (count: *const c_int, array_of_requests: *mut Fint, index: *mut c_int, flag: *mut Logical, status:
    *mut Fint) [] {
    let mut c_array_of_requests = Handles::of(array_of_requests, || entries(*count));
    *index = values::MPI_UNDEFINED;
    let mut c_flag: c_int = truth(*flag);
    let code = c::MPI_Testany(*count, c_array_of_requests.as_mut_ptr(), index, &mut c_flag, c_status(status));
    c_array_of_requests.store(array_of_requests);
    from_one(index, 1);
    *flag = logical(c_flag);
    code
} }
plain! { "testsome" (incount: *const c_int, array_of_requests: *mut Fint, outcount: *mut c_int, array_of_indices: *mut
    c_int, array_of_statuses: *mut Fint) [] {
    let mut c_array_of_requests = Handles::of(array_of_requests, || entries(*incount));
    *outcount = 0;
    let code = c::MPI_Testsome(*incount, c_array_of_requests.as_mut_ptr(), outcount, array_of_indices,
        c_statuses(array_of_statuses));
    c_array_of_requests.store(array_of_requests);
    from_one(array_of_indices, *outcount);
    code
} }
plain! { "wait" (request: *mut Fint, status: *mut Fint) [] {
    let mut c_request = handle(*request);
    let code = c::MPI_Wait(&mut c_request, c_status(status));
    *request = number(c_request);
    code
} }
plain! { "waitall" (count: *const c_int, array_of_requests: *mut Fint, array_of_statuses: *mut Fint) [] {
    let mut c_array_of_requests = Handles::of(array_of_requests, || entries(*count));
    let code = c::MPI_Waitall(*count, c_array_of_requests.as_mut_ptr(), c_statuses(array_of_statuses));
    c_array_of_requests.store(array_of_requests);
    code
} }
plain! { "waitany" (count: *const c_int, array_of_requests: *mut Fint, index: *mut c_int, status: *mut Fint) [] {
    let mut c_array_of_requests = Handles::of(array_of_requests, || entries(*count));
    *index = values::MPI_UNDEFINED;
    let code = c::MPI_Waitany(*count, c_array_of_requests.as_mut_ptr(), index, c_status(status));
    c_array_of_requests.store(array_of_requests);
    from_one(index, 1);
    code
} }
plain! { "waitsome" (incount: *const c_int, array_of_requests: *mut Fint, outcount: *mut c_int, array_of_indices: *mut
    c_int, array_of_statuses: *mut Fint) [] {
    let mut c_array_of_requests = Handles::of(array_of_requests, || entries(*incount));
    *outcount = 0;
    let code = c::MPI_Waitsome(*incount, c_array_of_requests.as_mut_ptr(), outcount, array_of_indices,
        c_statuses(array_of_statuses));
    c_array_of_requests.store(array_of_requests);
    from_one(array_of_indices, *outcount);
    code
} }
