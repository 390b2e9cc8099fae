//! Rows of the function table: point-to-point communication.
//!
//! Written by tools/table.py; what stands after `=>` is kept by hand (see `table`).

#[doc(hidden)]
#[macro_export]
macro_rules! table_p2p { ($emit:ident $with:tt) => { $emit! { $with
    both MPI_Bsend(buf: *const c_void, count: c_int, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm)
        [comm(comm)] => p2p::bsend;
    both MPI_Bsend_c(buf: *const c_void, count: Count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm)
        [comm(comm)] => p2p::bsend;
    both MPI_Bsend_init(buf: *const c_void, count: c_int, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::bsend_init;
    both MPI_Bsend_init_c(buf: *const c_void, count: Count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::bsend_init;
    both MPI_Buffer_attach(buffer: *mut c_void, size: c_int) [default] => buffered::attach;
    both MPI_Buffer_attach_c(buffer: *mut c_void, size: Count) [default] => buffered::attach;
    both MPI_Buffer_detach(buffer_addr: *mut c_void, size: *mut c_int) [default] => buffered::detach;
    both MPI_Buffer_detach_c(buffer_addr: *mut c_void, size: *mut Count) [default] => buffered::detach;
    both MPI_Buffer_flush() [default] => buffered::flush;
    both MPI_Buffer_iflush(request: *mut Request) [default] => buffered::iflush;
    both MPI_Comm_attach_buffer(comm: Comm, buffer: *mut c_void, size: c_int) [comm(comm)] => buffered::comm_attach;
    both MPI_Comm_attach_buffer_c(comm: Comm, buffer: *mut c_void, size: Count) [comm(comm)] => buffered::comm_attach;
    both MPI_Comm_detach_buffer(comm: Comm, buffer_addr: *mut c_void, size: *mut c_int) [comm(comm)] => buffered::comm_detach;
    both MPI_Comm_detach_buffer_c(comm: Comm, buffer_addr: *mut c_void, size: *mut Count) [comm(comm)] => buffered::comm_detach;
    both MPI_Comm_flush_buffer(comm: Comm) [comm(comm)] => buffered::comm_flush;
    both MPI_Comm_iflush_buffer(comm: Comm, request: *mut Request) [comm(comm)] => buffered::comm_iflush;
    both MPI_Ibsend(buf: *const c_void, count: c_int, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::ibsend;
    both MPI_Ibsend_c(buf: *const c_void, count: Count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::ibsend;
    both MPI_Improbe(source: c_int, tag: c_int, comm: Comm, flag: *mut c_int, message: *mut Message,
        status: *mut Status) [comm(comm)] => p2p::improbe;
    both MPI_Imrecv(buf: *mut c_void, count: c_int, datatype: Datatype, message: *mut Message, request: *mut Request)
        [default] => p2p::imrecv;
    both MPI_Imrecv_c(buf: *mut c_void, count: Count, datatype: Datatype, message: *mut Message, request: *mut Request)
        [default] => p2p::imrecv;
    both MPI_Iprobe(source: c_int, tag: c_int, comm: Comm, flag: *mut c_int, status: *mut Status)
        [comm(comm)] => p2p::iprobe;
    both MPI_Irecv(buf: *mut c_void, count: c_int, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::irecv;
    both MPI_Irecv_c(buf: *mut c_void, count: Count, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::irecv;
    both MPI_Irsend(buf: *const c_void, count: c_int, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::irsend;
    both MPI_Irsend_c(buf: *const c_void, count: Count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::irsend;
    both MPI_Isend(buf: *const c_void, count: c_int, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::isend;
    both MPI_Isend_c(buf: *const c_void, count: Count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::isend;
    both MPI_Isendrecv(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, dest: c_int, sendtag: c_int,
        recvbuf: *mut c_void, recvcount: c_int, recvtype: Datatype, source: c_int, recvtag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::isendrecv;
    both MPI_Isendrecv_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, dest: c_int, sendtag: c_int,
        recvbuf: *mut c_void, recvcount: Count, recvtype: Datatype, source: c_int, recvtag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::isendrecv;
    both MPI_Isendrecv_replace(buf: *mut c_void, count: c_int, datatype: Datatype, dest: c_int, sendtag: c_int,
        source: c_int, recvtag: c_int, comm: Comm, request: *mut Request) [comm(comm)] => p2p::isendrecv_replace;
    both MPI_Isendrecv_replace_c(buf: *mut c_void, count: Count, datatype: Datatype, dest: c_int, sendtag: c_int,
        source: c_int, recvtag: c_int, comm: Comm, request: *mut Request) [comm(comm)] => p2p::isendrecv_replace;
    both MPI_Issend(buf: *const c_void, count: c_int, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::issend;
    both MPI_Issend_c(buf: *const c_void, count: Count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::issend;
    both MPI_Mprobe(source: c_int, tag: c_int, comm: Comm, message: *mut Message, status: *mut Status)
        [comm(comm)] => p2p::mprobe;
    both MPI_Mrecv(buf: *mut c_void, count: c_int, datatype: Datatype, message: *mut Message, status: *mut Status)
        [default] => p2p::mrecv;
    both MPI_Mrecv_c(buf: *mut c_void, count: Count, datatype: Datatype, message: *mut Message, status: *mut Status)
        [default] => p2p::mrecv;
    both MPI_Parrived(request: Request, partition: c_int, flag: *mut c_int) [default] => partitioned::arrived;
    both MPI_Pready(partition: c_int, request: Request) [default] => partitioned::ready;
    both MPI_Pready_list(length: c_int, array_of_partitions: *const c_int, request: Request) [default] => partitioned::ready_list;
    both MPI_Pready_range(partition_low: c_int, partition_high: c_int, request: Request) [default] => partitioned::ready_range;
    both MPI_Precv_init(buf: *mut c_void, partitions: c_int, count: Count, datatype: Datatype, dest: c_int, tag: c_int,
        comm: Comm, info: Info, request: *mut Request) [comm(comm)] => partitioned::recv_init;
    std MPI_Precv_init_c(buf: *mut c_void, partitions: c_int, count: Count, datatype: Datatype, dest: c_int, tag: c_int,
        comm: Comm, info: Info, request: *mut Request) [comm(comm)] => partitioned::recv_init;
    both MPI_Probe(source: c_int, tag: c_int, comm: Comm, status: *mut Status) [comm(comm)] => p2p::probe;
    both MPI_Psend_init(buf: *const c_void, partitions: c_int, count: Count, datatype: Datatype, dest: c_int,
        tag: c_int, comm: Comm, info: Info, request: *mut Request) [comm(comm)] => partitioned::send_init;
    std MPI_Psend_init_c(buf: *const c_void, partitions: c_int, count: Count, datatype: Datatype, dest: c_int,
        tag: c_int, comm: Comm, info: Info, request: *mut Request) [comm(comm)] => partitioned::send_init;
    both MPI_Recv(buf: *mut c_void, count: c_int, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        status: *mut Status) [comm(comm)] => p2p::recv;
    both MPI_Recv_c(buf: *mut c_void, count: Count, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        status: *mut Status) [comm(comm)] => p2p::recv;
    both MPI_Recv_init(buf: *mut c_void, count: c_int, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::recv_init;
    both MPI_Recv_init_c(buf: *mut c_void, count: Count, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::recv_init;
    both MPI_Rsend(buf: *const c_void, count: c_int, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm)
        [comm(comm)] => p2p::rsend;
    both MPI_Rsend_c(buf: *const c_void, count: Count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm)
        [comm(comm)] => p2p::rsend;
    both MPI_Rsend_init(buf: *const c_void, count: c_int, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::rsend_init;
    both MPI_Rsend_init_c(buf: *const c_void, count: Count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::rsend_init;
    both MPI_Send(buf: *const c_void, count: c_int, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm)
        [comm(comm)] => p2p::send;
    both MPI_Send_c(buf: *const c_void, count: Count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm)
        [comm(comm)] => p2p::send;
    both MPI_Send_init(buf: *const c_void, count: c_int, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::send_init;
    both MPI_Send_init_c(buf: *const c_void, count: Count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::send_init;
    both MPI_Sendrecv(sendbuf: *const c_void, sendcount: c_int, sendtype: Datatype, dest: c_int, sendtag: c_int,
        recvbuf: *mut c_void, recvcount: c_int, recvtype: Datatype, source: c_int, recvtag: c_int, comm: Comm,
        status: *mut Status) [comm(comm)] => p2p::sendrecv;
    both MPI_Sendrecv_c(sendbuf: *const c_void, sendcount: Count, sendtype: Datatype, dest: c_int, sendtag: c_int,
        recvbuf: *mut c_void, recvcount: Count, recvtype: Datatype, source: c_int, recvtag: c_int, comm: Comm,
        status: *mut Status) [comm(comm)] => p2p::sendrecv;
    both MPI_Sendrecv_replace(buf: *mut c_void, count: c_int, datatype: Datatype, dest: c_int, sendtag: c_int,
        source: c_int, recvtag: c_int, comm: Comm, status: *mut Status) [comm(comm)] => p2p::sendrecv_replace;
    both MPI_Sendrecv_replace_c(buf: *mut c_void, count: Count, datatype: Datatype, dest: c_int, sendtag: c_int,
        source: c_int, recvtag: c_int, comm: Comm, status: *mut Status) [comm(comm)] => p2p::sendrecv_replace;
    both MPI_Session_attach_buffer(session: Session, buffer: *mut c_void, size: c_int)
        [session(session)] => buffered::session_attach;
    both MPI_Session_attach_buffer_c(session: Session, buffer: *mut c_void, size: Count)
        [session(session)] => buffered::session_attach;
    both MPI_Session_detach_buffer(session: Session, buffer_addr: *mut c_void, size: *mut c_int)
        [session(session)] => buffered::session_detach;
    both MPI_Session_detach_buffer_c(session: Session, buffer_addr: *mut c_void, size: *mut Count)
        [session(session)] => buffered::session_detach;
    both MPI_Session_flush_buffer(session: Session) [session(session)] => buffered::session_flush;
    both MPI_Session_iflush_buffer(session: Session, request: *mut Request) [session(session)] => buffered::session_iflush;
    both MPI_Ssend(buf: *const c_void, count: c_int, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm)
        [comm(comm)] => p2p::ssend;
    both MPI_Ssend_c(buf: *const c_void, count: Count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm)
        [comm(comm)] => p2p::ssend;
    both MPI_Ssend_init(buf: *const c_void, count: c_int, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::ssend_init;
    both MPI_Ssend_init_c(buf: *const c_void, count: Count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request) [comm(comm)] => p2p::ssend_init;
} } }
