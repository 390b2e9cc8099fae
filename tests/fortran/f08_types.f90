! mpi_f08 but for sections: types and operators, callbacks, kinds, large counts and what the ABI says of Fortran.
! No call has `ierror` unless it is checked to fail.

module parts
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: me, n, left, right, copies = 0, deletes = 0, seen = 0, cancelled = 0, released = 0
  type(MPI_Comm) :: watched
  ! The compiler takes a local variable for one that nobody keeps the address of.
  integer(kind=MPI_ADDRESS_KIND), target :: state
  character(len=1000 + MPI_BSEND_OVERHEAD), target :: buffer
contains

  subroutine handles
    type(MPI_Comm) :: comm, null
    type(MPI_Group) :: group
    type(MPI_Datatype) :: datatype
    type(MPI_Request) :: req
    type(MPI_Op) :: op
    type(MPI_Info) :: info
    integer :: result
    comm = MPI_COMM_WORLD
    call holds(comm == MPI_COMM_WORLD .and. .not. comm /= MPI_COMM_WORLD, 'the same communicator')
    call holds(comm /= MPI_COMM_SELF .and. .not. comm == MPI_COMM_SELF, 'another communicator')
    call MPI_Comm_dup(comm, null)
    call holds(null /= comm .and. null /= MPI_COMM_NULL, 'a duplicate')
    call MPI_Comm_compare(comm, null, result)
    call equal(result, MPI_CONGRUENT, 'MPI_Comm_compare')
    call MPI_Comm_free(null)
    call holds(null == MPI_COMM_NULL, 'communicator after its end')
    call MPI_Comm_group(comm, group)
    call holds(group /= MPI_GROUP_NULL .and. group /= MPI_GROUP_EMPTY, 'a group')
    call MPI_Group_free(group)
    call holds(group == MPI_GROUP_NULL, 'group after its end')
    datatype = MPI_INTEGER
    call holds(datatype == MPI_INTEGER .and. datatype /= MPI_REAL, 'datatypes')
    req = MPI_REQUEST_NULL
    op = MPI_SUM
    info = MPI_INFO_NULL
    call holds(req == MPI_REQUEST_NULL .and. op /= MPI_MAX .and. info == MPI_INFO_NULL, 'requests, operations, info')
    call equal(MPI_COMM_WORLD%MPI_VAL, comm%MPI_VAL, 'MPI_VAL')
    call holds(all([MPI_SUM, MPI_MAX] == [MPI_SUM, MPI_MAX]), 'arrays of handles')
  end subroutine handles

  subroutine statuses
    type(MPI_Status) :: status, many(2)
    type(MPI_Request) :: req(2)
    integer :: a, count, old(MPI_STATUS_SIZE), index, indices(2)
    logical :: flag
    call MPI_Irecv(a, 1, MPI_INTEGER, left, 5, MPI_COMM_WORLD, req(1))
    call MPI_Isend(me, 1, MPI_INTEGER, right, 5, MPI_COMM_WORLD, req(2))
    call MPI_Waitall(2, req, many)
    call equal(many(1)%MPI_SOURCE, left, 'MPI_SOURCE')
    call equal(many(1)%MPI_TAG, 5, 'MPI_TAG')
    call MPI_Get_count(many(1), MPI_INTEGER, count)
    call equal(count, 1, 'count')
    call MPI_Status_f082f(many(1), old)
    call equal(old(MPI_SOURCE), left, 'source of MPI_Status_f082f')
    call MPI_Status_f2f08(old, status)
    call equal(status%MPI_TAG, 5, 'tag of MPI_Status_f2f08')
    call MPI_Test_cancelled(status, flag)
    call holds(.not. flag, 'nothing is cancelled')
    call MPI_Waitany(2, req, index, status)
    call equal(index, MPI_UNDEFINED, 'index where there is none')
    call MPI_Irecv(a, 1, MPI_INTEGER, left, 6, MPI_COMM_WORLD, req(2))
    call MPI_Send(me, 1, MPI_INTEGER, right, 6, MPI_COMM_WORLD)
    call MPI_Waitany(2, req, index, MPI_STATUS_IGNORE)
    call equal(index, 2, 'index of the second request')
    call MPI_Irecv(a, 1, MPI_INTEGER, left, 6, MPI_COMM_WORLD, req(2))
    call MPI_Request_get_status_any(2, req, index, flag, status)
    if (flag) call equal(index, 2, 'index of MPI_Request_get_status_any')
    call MPI_Send(me, 1, MPI_INTEGER, right, 6, MPI_COMM_WORLD)
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status_any(2, req, index, flag, status)
    end do
    call equal(index, 2, 'index of the request that is complete')
    call MPI_Request_get_status_some(2, req, count, indices, many)
    call equal(count, 1, 'MPI_Request_get_status_some')
    call equal(indices(1), 2, 'its index')
    call MPI_Testany(2, req, index, flag, status)
    call holds(flag .and. index == 2 .and. status%MPI_SOURCE == left, 'MPI_Testany')
  end subroutine statuses

  ! Counts of 8 bytes choose the large forms.
  subroutine large
    integer(kind=MPI_COUNT_KIND) :: many, got, bytes
    integer(kind=MPI_ADDRESS_KIND) :: bound, extent
    integer :: a(3), b(3), i
    type(MPI_Status) :: status
    type(MPI_Datatype) :: datatype, huge
    type(MPI_Request) :: req
    type(MPI_Op) :: op
    many = 3
    a = [me, 2, 3]
    b = -1
    call MPI_Irecv(b, many, MPI_INTEGER, left, 7, MPI_COMM_WORLD, req)
    call MPI_Send(a, many, MPI_INTEGER, right, 7, MPI_COMM_WORLD)
    call MPI_Wait(req, status)
    call MPI_Get_count(status, MPI_INTEGER, got)
    call holds(got == 3, 'MPI_Get_count of 8 bytes')
    call alike(b, [left, 2, 3], 3, 'large count')
    call MPI_Bcast(a, many, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call equal(a(1), 0, 'MPI_Bcast with a large count')
    call MPI_Allreduce(a, b, many, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call equal(b(3), 3 * n, 'MPI_Allreduce with a large count')
    call MPI_Allgatherv(me, 1_MPI_COUNT_KIND, MPI_INTEGER, a, [(1_MPI_COUNT_KIND, i = 1, n)], &
      [(0_MPI_ADDRESS_KIND, i = 1, n)], MPI_INTEGER, MPI_COMM_WORLD)
    call holds(a(1) >= 0 .and. a(1) < n, 'MPI_Allgatherv with large counts')
    ! 3 * 2**32 elements.
    call MPI_Type_contiguous(2_MPI_COUNT_KIND ** 32, MPI_INTEGER, datatype)
    call MPI_Type_contiguous(3, datatype, huge)
    call MPI_Type_size(huge, bytes)
    call holds(bytes == 12 * 2_MPI_COUNT_KIND ** 32, 'MPI_Type_size of 8 bytes')
    call MPI_Type_get_extent(huge, bound, extent)
    call holds(bound == 0 .and. extent == bytes, 'MPI_Type_get_extent')
    call MPI_Type_size(huge, i)
    call equal(i, MPI_UNDEFINED, 'MPI_Type_size of 4 bytes')
    call MPI_Type_free(datatype)
    call MPI_Type_free(huge)
    call MPI_Op_create_c(added_large, .true., op)
    call MPI_Allreduce([1, 2, 3], b, many, MPI_INTEGER, op, MPI_COMM_WORLD)
    call alike(b, [n, 2 * n, 3 * n], 3, 'operation with a large count')
    call MPI_Op_free(op)
  end subroutine large

  subroutine added(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    call holds(datatype == MPI_INTEGER, 'datatype of the operation')
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    inout = inout + in
  end subroutine added

  subroutine added_large(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(kind=MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    call holds(datatype == MPI_INTEGER, 'datatype of the operation')
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    inout = inout + in
  end subroutine added_large

  subroutine operations
    type(MPI_Op) :: op
    integer :: b(2)
    logical :: commutes
    call MPI_Op_create(added, .true., op)
    call MPI_Op_commutative(op, commutes)
    call holds(commutes, 'MPI_Op_commutative')
    call MPI_Allreduce([me, 1], b, 2, MPI_INTEGER, op, MPI_COMM_WORLD)
    call alike(b, [n * (n - 1) / 2, n], 2, 'operation by a function')
    call MPI_Op_free(op)
    call holds(op == MPI_OP_NULL, 'operation after its end')
  end subroutine operations

  subroutine attributes
    type(MPI_Comm) :: comm
    type(MPI_Datatype) :: datatype
    integer :: key, dup_key, type_key
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
    call holds(flag .and. value >= 32767, 'MPI_TAG_UB')
    call MPI_Comm_create_keyval(copy, delete, key, 30_MPI_ADDRESS_KIND)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, dup_key, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, 4_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_SELF, dup_key, 6_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_SELF, comm)
    call MPI_Comm_get_attr(comm, key, value, flag)
    call holds(flag .and. value == 34, 'value and extra state')
    call MPI_Comm_get_attr(comm, dup_key, value, flag)
    call holds(flag .and. value == 6, 'MPI_COMM_DUP_FN')
    call MPI_Comm_free(comm)
    call MPI_Comm_delete_attr(MPI_COMM_SELF, key)
    call MPI_Comm_delete_attr(MPI_COMM_SELF, dup_key)
    call MPI_Comm_free_keyval(key)
    call MPI_Comm_free_keyval(dup_key)
    call equal(copies, 1, 'calls of the copy function')
    call equal(deletes, 2, 'calls of the delete function')
    ! A predefined datatype reaches the functions as its constant.
    call MPI_Type_create_keyval(copy_type, delete_type, type_key, 1_MPI_ADDRESS_KIND)
    call MPI_Type_set_attr(MPI_INTEGER, type_key, 70_MPI_ADDRESS_KIND)
    call MPI_Type_dup(MPI_INTEGER, datatype)
    call MPI_Type_get_attr(datatype, type_key, value, flag)
    call holds(flag .and. value == 71, 'attribute of a datatype')
    call MPI_Type_free(datatype)
    call MPI_Type_delete_attr(MPI_INTEGER, type_key)
    call MPI_Type_free_keyval(type_key)
    call equal(deletes, 22, 'calls of the delete function of datatypes')
  end subroutine attributes

  subroutine copy(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    call holds(oldcomm == MPI_COMM_SELF .and. comm_keyval /= MPI_KEYVAL_INVALID, 'arguments of the copy function')
    copies = copies + 1
    attribute_val_out = attribute_val_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine copy

  subroutine delete(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    call holds(comm /= MPI_COMM_NULL .and. comm_keyval /= MPI_KEYVAL_INVALID, 'arguments of the delete function')
    call holds(attribute_val == 4 .or. attribute_val == 34, 'value at the end')
    call holds(extra_state == 30, 'extra state at the end')
    deletes = deletes + 1
    ierror = MPI_SUCCESS
  end subroutine delete

  subroutine copy_type(olddatatype, type_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Datatype) :: olddatatype
    integer :: type_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    call holds(olddatatype == MPI_INTEGER .and. type_keyval /= MPI_KEYVAL_INVALID, 'arguments of the copy function')
    attribute_val_out = attribute_val_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine copy_type

  subroutine delete_type(datatype, type_keyval, attribute_val, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer :: type_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    call holds((datatype == MPI_INTEGER) .eqv. (attribute_val == 70), 'datatype at the end')
    call holds(extra_state == 1 .and. type_keyval /= MPI_KEYVAL_INVALID, 'arguments of the delete function')
    deletes = deletes + 10
    ierror = MPI_SUCCESS
  end subroutine delete_type

  subroutine errors
    type(MPI_Errhandler) :: errhandler
    type(MPI_Comm) :: comm
    integer :: code
    call MPI_Comm_dup(MPI_COMM_SELF, comm)
    call MPI_Comm_create_errhandler(handler, errhandler)
    call MPI_Comm_set_errhandler(comm, errhandler)
    watched = comm
    call MPI_Errhandler_free(errhandler)
    call holds(errhandler == MPI_ERRHANDLER_NULL, 'handler after its end')
    call MPI_Send(me, 1, MPI_INTEGER, 1, 0, comm, code)
    call class_is(code, MPI_ERR_RANK, 'MPI_Send to no rank')
    call equal(seen, code, 'code in the handler')
    seen = 0
    ! Without `ierror` the handler is called too.
    call MPI_Send(me, 1, MPI_INTEGER, 1, 0, comm)
    call class_is(seen, MPI_ERR_RANK, 'MPI_Send without ierror')
    call MPI_Comm_free(comm)
  end subroutine errors

  subroutine handler(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    call holds(comm == watched, 'communicator of the handler')
    seen = error_code
  end subroutine handler

  subroutine generalized
    type(MPI_Request) :: req
    type(MPI_Status) :: status
    integer :: count
    state = 20
    call MPI_Grequest_start(query, release, cancel, state, req)
    call MPI_Cancel(req)
    call equal(cancelled, 1, 'calls of the cancel function')
    call MPI_Grequest_complete(req)
    call MPI_Wait(req, status)
    call MPI_Get_elements(status, MPI_BYTE, count)
    call equal(count, 21, 'count by the query function')
    call equal(released, 21, 'state of the free function')
  end subroutine generalized

  subroutine query(extra_state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    call MPI_Status_set_elements(status, MPI_BYTE, int(extra_state))
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = MPI_UNDEFINED
    status%MPI_TAG = MPI_UNDEFINED
    ierror = MPI_SUCCESS
  end subroutine query

  subroutine release(extra_state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    released = int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine release

  subroutine cancel(extra_state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    call holds(.not. complete, 'a cancelled request is not complete')
    cancelled = cancelled + 1
    extra_state = extra_state + 1
    ierror = MPI_SUCCESS
  end subroutine cancel

  subroutine kinds
    ! Where the compiler has no REAL(16), the double takes its place and is not sent as MPI_REAL16.
    integer, parameter :: quad = merge(selected_real_kind(33), kind(0d0), selected_real_kind(33) > 0)
    type(MPI_Datatype) :: datatype, again
    real(quad) :: q
    real(8) :: x
    integer(8) :: i8
    integer(2) :: half
    complex(8) :: z
    integer :: bytes, combiner, ints, addresses, types
    ! 1.5, 3.0, 4.5, 6.0 and 7.5 in binary16.
    integer, parameter :: sums(5) = [15872, 16896, 17536, 17920, 18304]
    call MPI_Type_create_f90_real(12, 100, datatype)
    x = 0.5d0
    call MPI_Allreduce(MPI_IN_PLACE, x, 1, datatype, MPI_SUM, MPI_COMM_WORLD)
    call holds(x == 0.5d0 * n, 'sum of MPI_Type_create_f90_real')
    call MPI_Type_create_f90_real(12, 100, again)
    call holds(again == datatype, 'the same datatype for the same precision')
    call MPI_Type_get_envelope(datatype, ints, addresses, types, combiner)
    call equal(combiner, MPI_COMBINER_F90_REAL, 'combiner')
    call equal(ints, 2, 'integers of MPI_COMBINER_F90_REAL')
    call MPI_Type_create_f90_integer(15, datatype)
    i8 = 2_8 ** 40
    call MPI_Allreduce(MPI_IN_PLACE, i8, 1, datatype, MPI_SUM, MPI_COMM_WORLD)
    call holds(i8 == n * 2_8 ** 40, 'sum of MPI_Type_create_f90_integer')
    call MPI_Type_create_f90_complex(12, MPI_UNDEFINED, datatype)
    z = (1d0, -2d0)
    call MPI_Allreduce(MPI_IN_PLACE, z, 1, datatype, MPI_SUM, MPI_COMM_WORLD)
    call holds(z == (1d0, -2d0) * n, 'sum of MPI_Type_create_f90_complex')
    if (storage_size(q) == 128) then
      q = 1 + epsilon(q)
      call MPI_Allreduce(MPI_IN_PLACE, q, 1, MPI_REAL16, MPI_PROD, MPI_COMM_WORLD)
      call holds(q == (1 + epsilon(q)) ** n, 'product of MPI_REAL16')
    end if
    ! By its bits, because few compilers have REAL(2).
    call MPI_Type_size(MPI_REAL2, bytes)
    call equal(bytes, 2, 'MPI_REAL2')
    half = int(z'3e00', 2)
    call MPI_Allreduce(MPI_IN_PLACE, half, 1, MPI_REAL2, MPI_SUM, MPI_COMM_WORLD)
    call equal(int(half), sums(n), 'sum of MPI_REAL2')
    call MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, datatype)
    call MPI_Type_size(datatype, bytes)
    call equal(bytes, 16, 'MPI_Type_match_size')
  end subroutine kinds

  subroutine abi
    integer :: major, minor, length
    type(MPI_Info) :: info
    logical :: flag, truth, falsehood
    character(len=8) :: value
    call MPI_Abi_get_version(major, minor)
    ! It is -1 where this is not the standard ABI, whose statuses have 8 integers.
    call equal(major, merge(1, -1, MPI_STATUS_SIZE == 8), 'MPI_Abi_get_version')
    call equal(minor, merge(0, -1, MPI_STATUS_SIZE == 8), 'minor version')
    call MPI_Abi_get_fortran_info(info)
    call holds(info /= MPI_INFO_NULL, 'there is an info of Fortran')
    length = 8
    call MPI_Info_get_string(info, 'mpi_integer_size', length, value, flag)
    call holds(flag .and. length == 1 .and. value == '4', 'size of INTEGER')
    length = 8
    call MPI_Info_get_string(info, 'mpi_double_precision_size', length, value, flag)
    call holds(flag .and. value == '8', 'size of DOUBLE PRECISION')
    call MPI_Info_free(info)
    truth = .false.
    falsehood = .true.
    call MPI_Abi_get_fortran_booleans(storage_size(flag) / 8, truth, falsehood, flag)
    call holds(flag, 'the booleans are set')
    call holds(truth .and. .not. falsehood, 'the booleans of Fortran')
    call equal(transfer(truth, 0), transfer(.true., 0), 'bits of the true boolean')
  end subroutine abi

  subroutine sessions
    type(MPI_Session) :: session
    type(MPI_Group) :: group
    type(MPI_Comm) :: comm
    type(MPI_Info) :: info
    integer :: sets, i, length, sum_of
    character(len=MPI_MAX_PSET_NAME_LEN) :: name
    character(len=4) :: few
    logical :: world, flag
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
    call holds(session /= MPI_SESSION_NULL, 'there is a session')
    call MPI_Session_get_num_psets(session, MPI_INFO_NULL, sets)
    call holds(sets >= 2, 'number of process sets')
    world = .false.
    do i = 0, sets - 1
      length = 0
      name = 'untouched'
      call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, length, name)
      call holds(name == 'untouched', 'name that is not asked for')
      call holds(length > 0, 'length of a name')
      length = len(name)
      call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, length, name)
      call equal(len_trim(name), length, 'length of the name')
      if (name == 'mpi://WORLD') then
        world = .true.
        length = 4
        call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, length, few)
        call same(few, 'mpi:', 'name that is cut')
        call equal(length, 11, 'length of the whole name')
      end if
    end do
    call holds(world, 'there is mpi://WORLD')
    call MPI_Session_get_pset_info(session, 'mpi://WORLD   ', info)
    length = 4
    call MPI_Info_get_string(info, 'mpi_size', length, few, flag)
    call holds(flag, 'there is mpi_size')
    read (few, *) i
    call equal(i, n, 'mpi_size')
    call MPI_Info_free(info)
    call MPI_Group_from_session_pset(session, 'mpi://WORLD', group)
    call MPI_Comm_create_from_group(group, 'tests/fortran  ', MPI_INFO_NULL, MPI_ERRORS_RETURN, comm)
    call MPI_Group_free(group)
    call MPI_Allreduce(1, sum_of, 1, MPI_INTEGER, MPI_SUM, comm)
    call equal(sum_of, n, 'sum in the communicator of a session')
    call MPI_Comm_disconnect(comm)
    call MPI_Session_finalize(session)
    call holds(session == MPI_SESSION_NULL, 'session after its end')
  end subroutine sessions

  ! Arguments of the start of procedures that have a buffer with a C_PTR, and a few others.
  subroutine others
    type(c_ptr) :: detached
    integer :: size, i, dims(1), coords(1)
    type(MPI_Comm) :: comm
    type(MPI_Message) :: message
    type(MPI_Request) :: req
    type(MPI_Datatype) :: datatype
    integer, target :: a(2)
    integer(kind=MPI_ADDRESS_KIND) :: address
    logical :: periods(1)
    double precision :: begin
    character(len=5) :: name
    call MPI_Buffer_attach(buffer, len(buffer))
    call MPI_Bsend(me, 1, MPI_INTEGER, right, 8, MPI_COMM_WORLD)
    call MPI_Mprobe(left, 8, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE)
    call MPI_Mrecv(i, 1, MPI_INTEGER, message, MPI_STATUS_IGNORE)
    call equal(i, left, 'MPI_Bsend')
    call holds(message == MPI_MESSAGE_NULL, 'message after MPI_Mrecv')
    call MPI_Buffer_detach(detached, size)
    call holds(c_associated(detached, c_loc(buffer)), 'MPI_Buffer_detach')
    call equal(size, len(buffer), 'its size')
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [n], [.true.], .false., comm)
    call MPI_Cart_get(comm, 1, dims, periods, coords)
    call holds(periods(1), 'the ring')
    call MPI_Comm_free(comm)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left], MPI_UNWEIGHTED, 1, [right], MPI_UNWEIGHTED, &
      MPI_INFO_NULL, .false., comm)
    call MPI_Ineighbor_allgather(me, 1, MPI_INTEGER, i, 1, MPI_INTEGER, comm, req)
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call equal(i, left, 'MPI_Ineighbor_allgather')
    call MPI_Comm_free(comm)
    a = [11, 22]
    call MPI_Get_address(a(2), address)
    call MPI_Type_create_struct(1, [1], [address], [MPI_INTEGER], datatype)
    call MPI_Type_commit(datatype)
    i = -1
    call MPI_Sendrecv(MPI_BOTTOM, 1, datatype, 0, 1, i, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call equal(i, 22, 'MPI_BOTTOM')
    call MPI_Type_free(datatype)
    begin = MPI_Wtime()
    call holds(MPI_Wtime() >= begin .and. MPI_Wtick() > 0, 'MPI_Wtime')
    call holds(MPI_Aint_diff(MPI_Aint_add(address, 4_MPI_ADDRESS_KIND), address) == 4, 'MPI_Aint_add')
    call MPI_Comm_set_name(MPI_COMM_SELF, 'own  ')
    call MPI_Comm_get_name(MPI_COMM_SELF, name, size)
    call equal(size, 3, 'length of a name')
    call same(name, 'own  ', 'name')
    call MPI_Alloc_mem(8_MPI_ADDRESS_KIND, MPI_INFO_NULL, detached)
    call holds(c_associated(detached), 'MPI_Alloc_mem')
    call free_mem(detached)
  end subroutine others

  subroutine free_mem(memory)
    type(c_ptr), intent(in) :: memory
    integer, pointer :: a(:)
    call c_f_pointer(memory, a, [2])
    call MPI_Free_mem(a)
  end subroutine free_mem
end module parts

program f08_types
  use parts
  implicit none
  integer :: provided
  call MPI_Init_thread(MPI_THREAD_SINGLE, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  left = mod(me + n - 1, n)
  right = mod(me + 1, n)
  call handles
  call statuses
  call large
  call operations
  call attributes
  call errors
  call generalized
  call kinds
  call abi
  call sessions
  call others
  call finish('f08_types')
  call MPI_Finalize()
end program f08_types
