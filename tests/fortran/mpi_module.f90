! The module mpi in free form: every call goes through its interface.

module parts
  use mpi
  implicit none
  integer :: me, n, left, right, seen = 0, calls = 0
contains

  subroutine messages
    integer :: a(4), b(4), req(2), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), index, indices(2), outcount
    integer :: i, count, ierr
    real(8) :: x(2, 2), y(2, 2)
    complex :: z
    logical :: flag
    a = [(10 * me + i, i = 1, 4)]
    b = -1
    call MPI_Irecv(b, 4, MPI_INTEGER, left, 1, MPI_COMM_WORLD, req(1), ierr)
    call MPI_Isend(a, 4, MPI_INTEGER, right, 1, MPI_COMM_WORLD, req(2), ierr)
    call MPI_Waitall(2, req, statuses, ierr)
    call ok(ierr, 'MPI_Waitall')
    call alike(b, [(10 * left + i, i = 1, 4)], 4, 'received')
    call equal(statuses(MPI_SOURCE, 1), left, 'MPI_SOURCE')
    x = reshape([1d0, 2d0, 3d0, 4d0], [2, 2]) + me
    call MPI_Sendrecv(x, 4, MPI_DOUBLE_PRECISION, right, 2, y, 4, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, &
      status, ierr)
    call holds(all(y == reshape([1d0, 2d0, 3d0, 4d0], [2, 2]) + left), 'two dimensions')
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, ierr)
    call equal(count, 4, 'MPI_Get_count')
    z = cmplx(me, -me)
    call MPI_Sendrecv_replace(z, 1, MPI_COMPLEX, right, 3, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call holds(z == cmplx(left, -left), 'MPI_COMPLEX')
    call MPI_Recv_init(b, 4, MPI_INTEGER, left, 4, MPI_COMM_WORLD, req(1), ierr)
    call MPI_Send_init(a, 4, MPI_INTEGER, right, 4, MPI_COMM_WORLD, req(2), ierr)
    do i = 1, 2
      a = 100 * i + me
      call MPI_Startall(2, req, ierr)
      call MPI_Waitany(1, req, index, status, ierr)
      call equal(index, 1, 'index of MPI_Waitany')
      call MPI_Wait(req(2), MPI_STATUS_IGNORE, ierr)
      call holds(all(b == 100 * i + left), 'persistent')
    end do
    call MPI_Start(req(2), ierr)
    call MPI_Start(req(1), ierr)
    call MPI_Waitsome(1, req, outcount, indices, MPI_STATUSES_IGNORE, ierr)
    call equal(outcount, 1, 'MPI_Waitsome')
    call equal(indices(1), 1, 'index of MPI_Waitsome')
    call MPI_Wait(req(2), MPI_STATUS_IGNORE, ierr)
    call MPI_Request_free(req(1), ierr)
    call MPI_Request_free(req(2), ierr)
    call MPI_Testany(2, req, index, flag, status, ierr)
    call equal(index, MPI_UNDEFINED, 'index of MPI_Testany')
  end subroutine messages

  subroutine collectives
    integer :: a(3), all_of(n), ierr, op, i, counts(n), displs(n)
    integer, allocatable :: many(:)
    a = [me, 1, -me]
    call MPI_Allreduce(MPI_IN_PLACE, a, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call ok(ierr, 'MPI_Allreduce')
    call alike(a, [n * (n - 1) / 2, n, -n * (n - 1) / 2], 3, 'MPI_Allreduce in place')
    call MPI_Allgather(me, 1, MPI_INTEGER, all_of, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call alike(all_of, [(i, i = 0, n - 1)], n, 'MPI_Allgather')
    counts = [(i, i = 1, n)]
    displs = [(i * (i - 1) / 2, i = 1, n)]
    allocate (many(n * (n + 1) / 2))
    many = -1
    call MPI_Allgatherv([(100 * me + i, i = 0, me)], me + 1, MPI_INTEGER, many, counts, displs, MPI_INTEGER, &
      MPI_COMM_WORLD, ierr)
    call equal(many(n * (n + 1) / 2), 100 * (n - 1) + n - 1, 'last of MPI_Allgatherv')
    call equal(many(1), 0, 'first of MPI_Allgatherv')
    call MPI_Op_create(larger, .true., op, ierr)
    call MPI_Reduce(me, a, 1, MPI_INTEGER, op, 0, MPI_COMM_WORLD, ierr)
    if (me == 0) call equal(a(1), n - 1, 'reduction by a function')
    call MPI_Op_free(op, ierr)
  end subroutine collectives

  subroutine larger(in, inout, len, datatype)
    integer :: len, datatype
    integer :: in(len), inout(len)
    if (datatype == MPI_INTEGER) inout = max(in, inout)
  end subroutine larger

  subroutine sizes
    integer :: bytes, ierr
    integer(1) :: i1
    integer(8) :: i8(3)
    real :: r
    double precision :: d(2, 2)
    complex(8) :: z
    logical :: l
    character(len=5) :: c
    call MPI_Sizeof(i1, bytes, ierr)
    call equal(bytes, 1, 'MPI_Sizeof of integer(1)')
    call MPI_Sizeof(i8, bytes, ierr)
    call equal(bytes, 8, 'MPI_Sizeof of integer(8)')
    call MPI_Sizeof(r, bytes, ierr)
    call equal(bytes, 4, 'MPI_Sizeof of real')
    call MPI_Sizeof(d, bytes, ierr)
    call equal(bytes, 8, 'MPI_Sizeof of double precision')
    call MPI_Sizeof(z, bytes, ierr)
    call equal(bytes, 16, 'MPI_Sizeof of complex(8)')
    call MPI_Sizeof(l, bytes, ierr)
    call equal(bytes, 4, 'MPI_Sizeof of logical')
    call MPI_Sizeof(c, bytes, ierr)
    call ok(ierr, 'MPI_Sizeof')
    call equal(bytes, 5, 'MPI_Sizeof of character(len=5)')
  end subroutine sizes

  ! Memory of MPI, by its address and by a C_PTR.
  subroutine memory
    use, intrinsic :: iso_c_binding
    integer(kind=MPI_ADDRESS_KIND) :: bytes, address
    integer(kind=MPI_ADDRESS_KIND) :: found
    type(c_ptr) :: pointer
    integer, pointer :: a(:)
    integer :: ierr
    bytes = 400
    call MPI_Alloc_mem(bytes, MPI_INFO_NULL, address, ierr)
    call ok(ierr, 'MPI_Alloc_mem of an integer')
    call holds(address /= 0, 'there is an address')
    pointer = transfer(address, pointer)
    call c_f_pointer(pointer, a, [100])
    a = me
    call MPI_Get_address(a(1), found, ierr)
    call holds(found == address, 'MPI_Get_address of that memory')
    call MPI_Free_mem(a, ierr)
    call ok(ierr, 'MPI_Free_mem')
    call MPI_Alloc_mem(bytes, MPI_INFO_NULL, pointer, ierr)
    call ok(ierr, 'MPI_Alloc_mem of a C_PTR')
    call holds(c_associated(pointer), 'there is a C_PTR')
    call c_f_pointer(pointer, a, [100])
    a = me
    call MPI_Bcast(a, 100, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call holds(all(a == 0), 'that memory is a buffer')
    call MPI_Free_mem(a, ierr)
  end subroutine memory

  ! The types of Fortran 2008 are in the module mpi too.
  subroutine converted
    type(MPI_Status) :: new
    type(MPI_Comm) :: comm, other
    type(MPI_Datatype) :: datatype
    integer :: old(MPI_STATUS_SIZE), again(MPI_STATUS_SIZE), ierr, count, a(3), i
    call MPI_Sendrecv([1, 2, 3], 3, MPI_INTEGER, right, 9, a, 3, MPI_INTEGER, left, 9, MPI_COMM_WORLD, old, ierr)
    call MPI_Status_f2f08(old, new, ierr)
    call ok(ierr, 'MPI_Status_f2f08')
    call equal(new%MPI_SOURCE, left, 'source of the type')
    call equal(new%MPI_TAG, 9, 'tag of the type')
    again = -1
    call MPI_Status_f082f(new, again, ierr)
    call ok(ierr, 'MPI_Status_f082f')
    call MPI_Get_count(again, MPI_INTEGER, count, ierr)
    call equal(count, 3, 'count of the status that came back')
    call alike(again, old, MPI_STATUS_SIZE, 'status')
    comm%MPI_VAL = MPI_COMM_WORLD
    other = MPI_Comm(MPI_COMM_SELF)
    call holds(comm /= other, 'two communicators')
    other%MPI_VAL = MPI_COMM_WORLD
    call holds(comm == other, 'the same communicator')
    call MPI_Comm_size(comm%MPI_VAL, i, ierr)
    call equal(i, n, 'size by the handle in the type')
    datatype%MPI_VAL = MPI_INTEGER
    call MPI_Type_size(datatype%MPI_VAL, i, ierr)
    call equal(i, 4, 'size by the datatype in the type')
  end subroutine converted

  subroutine attributes
    integer :: key, comm, ierr
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
    call holds(flag .and. value >= 32767, 'MPI_TAG_UB')
    call MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, key, 7_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, -2_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr)
    call equal(calls, 1, 'calls of the copy function')
    call MPI_Comm_get_attr(comm, key, value, flag, ierr)
    call holds(flag, 'the attribute is copied')
    call equal(int(value), 5, 'value and extra state')
    call MPI_Comm_free(comm, ierr)
    call MPI_Comm_delete_attr(MPI_COMM_SELF, key, ierr)
    call MPI_Comm_free_keyval(key, ierr)
    call equal(key, MPI_KEYVAL_INVALID, 'key after its end')
  end subroutine attributes

  subroutine copy(comm, key, state, in, out, flag, ierr)
    integer :: comm, key, ierr
    integer(kind=MPI_ADDRESS_KIND) :: state, in, out
    logical :: flag
    if (comm /= MPI_COMM_SELF .or. key == MPI_KEYVAL_INVALID) call fail('arguments of the copy function')
    calls = calls + 1
    out = in + state
    flag = .true.
    ierr = MPI_SUCCESS
  end subroutine copy

  subroutine errors
    integer :: handle, comm, ierr, code, length
    character(len=MPI_MAX_ERROR_STRING) :: text
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr)
    call MPI_Comm_create_errhandler(handler, handle, ierr)
    call MPI_Comm_set_errhandler(comm, handle, ierr)
    call MPI_Errhandler_free(handle, ierr)
    call MPI_Send(me, 1, MPI_INTEGER, 1, 0, comm, code)
    call class_is(code, MPI_ERR_RANK, 'MPI_Send to no rank')
    call equal(seen, code, 'code in the handler')
    call MPI_Error_string(code, text, length, ierr)
    call holds(index(text, 'MPI_ERR_RANK') > 0 .and. len_trim(text) == length, 'MPI_Error_string')
    call MPI_Comm_free(comm, ierr)
  end subroutine errors

  subroutine handler(comm, code)
    integer :: comm, code
    if (comm == MPI_COMM_NULL) call fail('communicator of the handler')
    seen = code
  end subroutine handler

  subroutine others
    integer :: info, group, comm, length, ierr, rank, dims(1), coords(1), datatype, position, from, to
    logical :: flag, periods(1)
    character(len=20) :: value
    character(len=64) :: buffer
    integer :: i
    real :: x
    call MPI_Info_create(info, ierr)
    call MPI_Info_set(info, 'key', 'a value', ierr)
    call MPI_Info_get(info, 'key', 20, value, flag, ierr)
    call same(value, 'a value'//repeat(' ', 13), 'MPI_Info_get')
    call MPI_Info_free(info, ierr)
    call MPI_Comm_group(MPI_COMM_WORLD, group, ierr)
    call MPI_Group_rank(group, rank, ierr)
    call equal(rank, me, 'MPI_Group_rank')
    call MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, comm, ierr)
    call ok(ierr, 'MPI_Comm_create_group')
    call MPI_Comm_set_name(comm, 'mine', ierr)
    call MPI_Comm_get_name(comm, value, length, ierr)
    call same(value(:length), 'mine', 'MPI_Comm_get_name')
    call MPI_Comm_free(comm, ierr)
    call MPI_Group_free(group, ierr)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [n], [.true.], .false., comm, ierr)
    call MPI_Cart_get(comm, 1, dims, periods, coords, ierr)
    call holds(periods(1), 'the ring')
    call MPI_Cart_shift(comm, 0, 1, from, to, ierr)
    call equal(from, left, 'source in the ring')
    call equal(to, right, 'destination in the ring')
    call MPI_Comm_free(comm, ierr)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left], MPI_UNWEIGHTED, 1, [right], MPI_UNWEIGHTED, &
      MPI_INFO_NULL, .false., comm, ierr)
    call ok(ierr, 'MPI_Dist_graph_create_adjacent')
    call MPI_Neighbor_alltoall(me, 1, MPI_INTEGER, i, 1, MPI_INTEGER, comm, ierr)
    call equal(i, left, 'MPI_Neighbor_alltoall')
    call MPI_Comm_free(comm, ierr)
    call MPI_Type_contiguous(2, MPI_REAL, datatype, ierr)
    call MPI_Type_commit(datatype, ierr)
    position = 0
    call MPI_Pack([1.5, 2.5], 1, datatype, buffer, 64, position, MPI_COMM_SELF, ierr)
    call equal(position, 8, 'position of MPI_Pack')
    position = 4
    call MPI_Unpack(buffer, 64, position, x, 1, MPI_REAL, MPI_COMM_SELF, ierr)
    call holds(x == 2.5, 'MPI_Unpack')
    call MPI_Type_free(datatype, ierr)
    call holds(MPI_Aint_add(8_MPI_ADDRESS_KIND, 4_MPI_ADDRESS_KIND) == 12, 'MPI_Aint_add')
    call holds(MPI_Aint_diff(8_MPI_ADDRESS_KIND, 9_MPI_ADDRESS_KIND) == -1, 'MPI_Aint_diff')
    call holds(MPI_Wtime() > 0 .and. MPI_Wtick() > 0, 'MPI_Wtime')
    call holds(.not. (MPI_SUBARRAYS_SUPPORTED .or. MPI_ASYNC_PROTECTS_NONBLOCKING), 'no sections here')
  end subroutine others

  ! Buffered sends, partitions, external32, graphs and generalized requests.
  subroutine more
    character(len=1000 + MPI_BSEND_OVERHEAD) :: buffer
    integer :: ierr, size, a(4), b(4), req(2), i, comm, nodes, edges, count, status(MPI_STATUS_SIZE), dummy
    integer(kind=MPI_ADDRESS_KIND) :: position
    logical :: flag
    call MPI_Buffer_attach(buffer, len(buffer), ierr)
    call MPI_Bsend(me, 1, MPI_INTEGER, right, 20, MPI_COMM_WORLD, ierr)
    call MPI_Recv(i, 1, MPI_INTEGER, left, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call equal(i, left, 'MPI_Bsend')
    call MPI_Buffer_detach(dummy, size, ierr)
    call equal(size, len(buffer), 'MPI_Buffer_detach')
    a = [(10 * me + i, i = 1, 4)]
    call MPI_Psend_init(a, 2, 2_MPI_COUNT_KIND, MPI_INTEGER, right, 21, MPI_COMM_WORLD, MPI_INFO_NULL, req(1), ierr)
    call MPI_Precv_init(b, 2, 2_MPI_COUNT_KIND, MPI_INTEGER, left, 21, MPI_COMM_WORLD, MPI_INFO_NULL, req(2), ierr)
    call MPI_Startall(2, req, ierr)
    call MPI_Pready_range(0, 1, req(1), ierr)
    call ok(ierr, 'MPI_Pready_range')
    call MPI_Waitall(2, req, MPI_STATUSES_IGNORE, ierr)
    call MPI_F_sync_reg(b)
    call alike(b, [(10 * left + i, i = 1, 4)], 4, 'partitions')
    call MPI_Request_free(req(1), ierr)
    call MPI_Request_free(req(2), ierr)
    position = 0
    call MPI_Pack_external('external32', 258, 1, MPI_INTEGER, buffer, 8_MPI_ADDRESS_KIND, position, ierr)
    call ok(ierr, 'MPI_Pack_external')
    call equal(ichar(buffer(3:3)), 1, 'third byte of external32')
    call MPI_Graph_create(MPI_COMM_WORLD, n, [(i, i = 1, n)], [(mod(i, n), i = 1, n)], .false., comm, ierr)
    call MPI_Graphdims_get(comm, nodes, edges, ierr)
    call equal(nodes, n, 'MPI_Graphdims_get')
    call MPI_Comm_free(comm, ierr)
    call MPI_Grequest_start(query, release, cancel, 12_MPI_ADDRESS_KIND, req(1), ierr)
    call ok(ierr, 'MPI_Grequest_start')
    call MPI_Test(req(1), flag, status, ierr)
    call holds(.not. flag, 'the request is not complete')
    call MPI_Grequest_complete(req(1), ierr)
    call MPI_Wait(req(1), status, ierr)
    call MPI_Get_count(status, MPI_BYTE, count, ierr)
    call equal(count, 12, 'count by the query function')
  end subroutine more

  subroutine query(state, status, ierr)
    integer(kind=MPI_ADDRESS_KIND) :: state
    integer :: status(MPI_STATUS_SIZE), ierr
    call MPI_Status_set_elements(status, MPI_BYTE, int(state), ierr)
    call MPI_Status_set_cancelled(status, .false., ierr)
  end subroutine query

  subroutine release(state, ierr)
    integer(kind=MPI_ADDRESS_KIND) :: state
    integer :: ierr
    call holds(state == 12, 'state of the free function')
    ierr = MPI_SUCCESS
  end subroutine release

  subroutine cancel(state, complete, ierr)
    integer(kind=MPI_ADDRESS_KIND) :: state
    logical :: complete
    integer :: ierr
    if (complete .or. state /= 12) call fail('arguments of the cancel function')
    ierr = MPI_SUCCESS
  end subroutine cancel
end module parts

program module_mpi
  use parts
  implicit none
  integer :: ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  left = mod(me + n - 1, n)
  right = mod(me + 1, n)
  call messages
  call collectives
  call sizes
  call memory
  call converted
  call attributes
  call errors
  call others
  call more
  call finish('mpi_module')
  call MPI_Finalize(ierr)
  call ok(ierr, 'MPI_Finalize')
end program module_mpi
