! What the module mpi has of datatypes, collectives, communicators and errors beyond mpi_module, and procedures that
! this version has not.

module more_parts
  use mpi
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: me, n, left, right, i, ierr, calls = 0
  integer :: a(40), b(40), want(40)
contains

  ! Elements of `a` by their places, which a datatype takes in this order.
  subroutine takes(datatype, places, count, what)
    integer, intent(inout) :: datatype
    integer, intent(in) :: count, places(count)
    character(len=*), intent(in) :: what
    call ok(ierr, what)
    a = [(10 * i, i = 1, 40)]
    b = -1
    call MPI_Type_commit(datatype, ierr)
    call MPI_Sendrecv(a, 1, datatype, 0, 1, b, 40, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)
    call ok(ierr, 'MPI_Sendrecv by '//what)
    call alike(b(:count), 10 * places, count, what)
    call equal(b(count + 1), -1, 'element behind those of '//what)
    call MPI_Type_free(datatype, ierr)
    call equal(datatype, MPI_DATATYPE_NULL, 'datatype after its end')
  end subroutine takes

  subroutine layouts
    integer :: datatype
    call MPI_Type_indexed(2, [1, 2], [5, 1], MPI_INTEGER, datatype, ierr)
    call takes(datatype, [6, 2, 3], 3, 'MPI_Type_indexed')
    call MPI_Type_create_hindexed(2, [1, 2], [8_MPI_ADDRESS_KIND, 20_MPI_ADDRESS_KIND], MPI_INTEGER, datatype, ierr)
    call takes(datatype, [3, 6, 7], 3, 'MPI_Type_create_hindexed')
    call MPI_Type_create_hindexed_block(2, 2, [16_MPI_ADDRESS_KIND, 0_MPI_ADDRESS_KIND], MPI_INTEGER, datatype, ierr)
    call takes(datatype, [5, 6, 1, 2], 4, 'MPI_Type_create_hindexed_block')
    call MPI_Type_create_indexed_block(2, 2, [7, 3], MPI_INTEGER, datatype, ierr)
    call takes(datatype, [8, 9, 4, 5], 4, 'MPI_Type_create_indexed_block')
    call MPI_Type_create_hvector(3, 1, 12_MPI_ADDRESS_KIND, MPI_INTEGER, datatype, ierr)
    call takes(datatype, [1, 4, 7], 3, 'MPI_Type_create_hvector')
    call MPI_Type_create_subarray(2, [4, 3], [2, 2], [1, 1], MPI_ORDER_FORTRAN, MPI_INTEGER, datatype, ierr)
    call takes(datatype, [6, 7, 10, 11], 4, 'MPI_Type_create_subarray')
    call MPI_Type_create_subarray(2, [4, 3], [2, 2], [1, 1], MPI_ORDER_C, MPI_INTEGER, datatype, ierr)
    call takes(datatype, [5, 6, 8, 9], 4, 'MPI_Type_create_subarray in the order of C')
    ! Rows of a grid of 2 * n rows and three columns go around the ranks.
    call MPI_Type_create_darray(n, me, 2, [2 * n, 3], [MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE], &
      [MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG], [n, 1], MPI_ORDER_FORTRAN, MPI_INTEGER, datatype, ierr)
    call takes(datatype, [(me + 1 + n * i, i = 0, 5)], 6, 'MPI_Type_create_darray')
    call MPI_Type_create_darray(n, me, 1, [2 * n], [MPI_DISTRIBUTE_BLOCK], [MPI_DISTRIBUTE_DFLT_DARG], [n], &
      MPI_ORDER_FORTRAN, MPI_INTEGER, datatype, ierr)
    call takes(datatype, [2 * me + 1, 2 * me + 2], 2, 'MPI_Type_create_darray of blocks')
  end subroutine layouts

  ! Sizes and extents, also beyond those of 4 bytes, and what a datatype was made of.
  subroutine queries
    integer :: datatype, resized, ints(20), types(3), numbers(4), pair
    integer(kind=MPI_ADDRESS_KIND) :: bound, extent, addresses(3)
    integer(kind=MPI_COUNT_KIND) :: large_bound, large_extent, bytes
    call MPI_Type_indexed(2, [1, 2], [5, 1], MPI_INTEGER, datatype, ierr)
    call MPI_Type_create_resized(datatype, -8_MPI_ADDRESS_KIND, 40_MPI_ADDRESS_KIND, resized, ierr)
    call MPI_Type_get_true_extent(resized, bound, extent, ierr)
    call holds(bound == 4 .and. extent == 20, 'MPI_Type_get_true_extent')
    call MPI_Type_get_true_extent_x(resized, large_bound, large_extent, ierr)
    call holds(large_bound == 4 .and. large_extent == 20, 'MPI_Type_get_true_extent_x')
    call MPI_Type_get_extent_x(resized, large_bound, large_extent, ierr)
    call holds(large_bound == -8 .and. large_extent == 40, 'MPI_Type_get_extent_x')
    call MPI_Type_free(resized, ierr)
    call MPI_Type_contiguous(2 ** 30, datatype, resized, ierr)
    call MPI_Type_size_x(resized, bytes, ierr)
    call holds(bytes == 12 * 2_MPI_COUNT_KIND ** 30, 'MPI_Type_size_x')
    call MPI_Type_free(resized, ierr)
    call MPI_Type_free(datatype, ierr)
    call MPI_Type_create_struct(3, [1, 2, 3], [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND, 100_MPI_ADDRESS_KIND], &
      [MPI_INTEGER, MPI_DOUBLE_PRECISION, MPI_CHARACTER], datatype, ierr)
    call MPI_Type_get_envelope(datatype, numbers(1), numbers(2), numbers(3), numbers(4), ierr)
    call alike(numbers, [4, 3, 3, MPI_COMBINER_STRUCT], 4, 'MPI_Type_get_envelope of a structure')
    call MPI_Type_get_contents(datatype, 20, 3, 3, ints, addresses, types, ierr)
    call alike(ints(:4), [3, 1, 2, 3], 4, 'integers of a structure')
    call holds(all(addresses == [0, 8, 100]), 'addresses of a structure')
    call alike(types, [MPI_INTEGER, MPI_DOUBLE_PRECISION, MPI_CHARACTER], 3, 'datatypes of a structure')
    call MPI_Type_free(datatype, ierr)
    call MPI_Type_create_darray(n, me, 1, [2 * n], [MPI_DISTRIBUTE_BLOCK], [MPI_DISTRIBUTE_DFLT_DARG], [n], &
      MPI_ORDER_FORTRAN, MPI_INTEGER, datatype, ierr)
    call MPI_Type_get_envelope(datatype, numbers(1), numbers(2), numbers(3), numbers(4), ierr)
    call alike(numbers, [8, 0, 1, MPI_COMBINER_DARRAY], 4, 'MPI_Type_get_envelope of MPI_Type_create_darray')
    call MPI_Type_get_contents(datatype, 20, 3, 3, ints, addresses, types, ierr)
    call alike(ints(:8), [n, me, 1, 2 * n, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG, n, MPI_ORDER_FORTRAN], 8, &
      'integers of MPI_Type_create_darray')
    call MPI_Type_free(datatype, ierr)
    call MPI_Type_get_value_index(MPI_INTEGER, MPI_INTEGER, pair, ierr)
    call equal(pair, MPI_2INTEGER, 'MPI_Type_get_value_index')
    call MPI_Type_get_value_index(MPI_INTEGER, MPI_REAL, pair, ierr)
    call equal(pair, MPI_DATATYPE_NULL, 'MPI_Type_get_value_index of no pair')
  end subroutine queries

  subroutine kinds
    integer, parameter :: quad = merge(selected_real_kind(33), kind(0d0), selected_real_kind(33) > 0)
    integer :: datatype, again, numbers(4), ints(2), types(1), bytes
    integer(kind=MPI_ADDRESS_KIND) :: addresses(1), position, size
    complex(quad) :: long
    integer(2) :: half(2)
    character(len=16) :: packed
    double precision :: x
    integer(8) :: i8
    call MPI_Type_create_f90_real(6, 30, datatype, ierr)
    call MPI_Type_create_f90_real(6, 30, again, ierr)
    call equal(again, datatype, 'the same datatype for the same precision')
    call MPI_Type_get_envelope(datatype, numbers(1), numbers(2), numbers(3), numbers(4), ierr)
    call alike(numbers, [2, 0, 0, MPI_COMBINER_F90_REAL], 4, 'envelope of MPI_Type_create_f90_real')
    call MPI_Type_get_contents(datatype, 2, 0, 0, ints, addresses, types, ierr)
    call alike(ints, [6, 30], 2, 'precision and range')
    call MPI_Type_create_f90_complex(MPI_UNDEFINED, 200, datatype, ierr)
    call MPI_Type_size(datatype, bytes, ierr)
    call equal(bytes, 16, 'MPI_Type_create_f90_complex')
    call MPI_Type_create_f90_integer(18, datatype, ierr)
    i8 = -2_8 ** 40
    call MPI_Allreduce(MPI_IN_PLACE, i8, 1, datatype, MPI_SUM, MPI_COMM_WORLD, ierr)
    call holds(i8 == -n * 2_8 ** 40, 'sum of MPI_Type_create_f90_integer')
    call MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 8, datatype, ierr)
    call MPI_Allreduce(MPI_IN_PLACE, i8, 1, datatype, MPI_MIN, MPI_COMM_WORLD, ierr)
    call holds(i8 == -n * 2_8 ** 40, 'minimum of MPI_Type_match_size')
    if (MPI_COMPLEX32 /= MPI_DATATYPE_NULL .and. storage_size(long) == 256) then
      long = cmplx(1 + 8 * epsilon(1._quad), me, quad)
      call MPI_Allreduce(MPI_IN_PLACE, long, 1, MPI_COMPLEX32, MPI_SUM, MPI_COMM_WORLD, ierr)
      call ok(ierr, 'MPI_Allreduce of MPI_COMPLEX32')
      call holds(long == cmplx(n * (1 + 8 * epsilon(1._quad)), n * (n - 1) / 2, quad), 'sum of MPI_COMPLEX32')
    end if
    ! 1.5 and -2.0 in binary16, by their bits: no gfortran has COMPLEX(2).
    if (MPI_COMPLEX4 /= MPI_DATATYPE_NULL) then
      half = [int(z'3e00', 2), -16384_2]
      call MPI_Sendrecv_replace(half, 1, MPI_COMPLEX4, right, 1, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call ok(ierr, 'MPI_Sendrecv_replace of MPI_COMPLEX4')
      call alike(int(half), [int(z'3e00'), -16384], 2, 'MPI_COMPLEX4')
      call MPI_Type_size(MPI_COMPLEX4, bytes, ierr)
      call equal(bytes, 4, 'size of MPI_COMPLEX4')
    end if
    call MPI_Pack_external_size('external32', 1, MPI_DOUBLE_PRECISION, size, ierr)
    call holds(size == 8, 'MPI_Pack_external_size')
    position = 0
    x = -2
    packed = repeat('x', 16)
    call MPI_Pack_external('external32', x, 1, MPI_DOUBLE_PRECISION, packed, size, position, ierr)
    call same(packed(:2)//packed(8:9), char(192)//char(0)//char(0)//'x', 'external32 of -2')
    position = 0
    x = 0
    call MPI_Unpack_external('external32', packed, size, position, x, 1, MPI_DOUBLE_PRECISION, ierr)
    call ok(ierr, 'MPI_Unpack_external')
    call holds(x == -2 .and. position == 8, 'MPI_Unpack_external')
  end subroutine kinds

  ! Rank i has i + 1 elements, and a gap of one lies behind them.
  subroutine collectives
    integer, asynchronous :: counts(n), displs(n), ones(n), bytes(n), types(n)
    integer, asynchronous :: sent(1), taken(1), edge_types(1)
    integer(kind=MPI_ADDRESS_KIND), asynchronous :: from(1), to(1)
    integer :: word, comm, req, turn
    counts = [(i + 1, i = 0, n - 1)]
    displs = [(i * (i + 3) / 2, i = 0, n - 1)]
    a = [(100 * me + i, i = 0, 39)]
    b = -1
    want = -1
    if (me == 0) then
      do turn = 0, n - 1
        want(displs(turn + 1) + 1:displs(turn + 1) + turn + 1) = [(100 * turn + i, i = 0, turn)]
      end do
    end if
    call MPI_Igatherv(a, me + 1, MPI_INTEGER, b, counts, displs, MPI_INTEGER, 0, MPI_COMM_WORLD, req, ierr)
    call ends(req, 'MPI_Igatherv')
    call MPI_Gatherv_init(a, me + 1, MPI_INTEGER, b, counts, displs, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &
      req, ierr)
    call repeats(req, 'MPI_Gatherv_init')
    ! Datatypes of the program's own end before the operation does.
    ones = 1
    bytes = [(4 * i, i = n - 1, 0, -1)]
    displs = bytes / 4
    types = MPI_INTEGER
    want = -1
    want(n:1:-1) = [(100 * i + n - 1 - me, i = 0, n - 1)]
    call MPI_Ialltoallv(a, ones, displs, MPI_INTEGER, b, ones, displs, MPI_INTEGER, MPI_COMM_WORLD, req, ierr)
    call ends(req, 'MPI_Ialltoallv')
    call MPI_Type_contiguous(1, MPI_INTEGER, word, ierr)
    call MPI_Type_commit(word, ierr)
    types(n) = word
    call MPI_Ialltoallw(a, ones, bytes, types, b, ones, bytes, types, MPI_COMM_WORLD, req, ierr)
    call ends(req, 'MPI_Ialltoallw')
    call MPI_Alltoallw_init(a, ones, bytes, types, b, ones, bytes, types, MPI_COMM_WORLD, MPI_INFO_NULL, req, ierr)
    call MPI_Type_free(word, ierr)
    call repeats(req, 'MPI_Alltoallw_init')
    want = -1
    want(:me + 1) = [(50 * n * (n - 1) + n * (me * (me + 1) / 2 + i), i = 0, me)]
    call MPI_Ireduce_scatter(a, b, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, req, ierr)
    call ends(req, 'MPI_Ireduce_scatter')
    call MPI_Reduce_scatter_init(a, b, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req, ierr)
    call repeats(req, 'MPI_Reduce_scatter_init')
    call MPI_Ibarrier(MPI_COMM_WORLD, req, ierr)
    call MPI_Wait(req, MPI_STATUS_IGNORE, ierr)
    ! Every rank sends two elements to the right.
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [me], [1], [right], [me + 5], MPI_INFO_NULL, .false., comm, ierr)
    call ok(ierr, 'MPI_Dist_graph_create')
    sent = 2
    taken = 2
    from = 12
    to = 4
    edge_types = MPI_INTEGER
    want = -1
    want(2:3) = 100 * left + [3, 4]
    b = -1
    call MPI_Neighbor_alltoallw(a, sent, from, edge_types, b, taken, to, edge_types, comm, ierr)
    call alike(b, want, 40, 'MPI_Neighbor_alltoallw')
    call MPI_Neighbor_alltoallw_init(a, sent, from, edge_types, b, taken, to, edge_types, comm, MPI_INFO_NULL, req, &
      ierr)
    call repeats(req, 'MPI_Neighbor_alltoallw_init')
    call MPI_Comm_free(comm, ierr)
  end subroutine collectives

  subroutine ends(req, what)
    integer, intent(inout) :: req
    character(len=*), intent(in) :: what
    call ok(ierr, what)
    call MPI_Wait(req, MPI_STATUS_IGNORE, ierr)
    call MPI_F_sync_reg(b)
    call alike(b, want, 40, what)
    b = -1
  end subroutine ends

  subroutine repeats(req, what)
    integer, intent(inout) :: req
    character(len=*), intent(in) :: what
    integer :: turn
    call ok(ierr, what)
    do turn = 1, 2
      b = -1
      call MPI_F_sync_reg(b)
      call MPI_Start(req, ierr)
      call MPI_Wait(req, MPI_STATUS_IGNORE, ierr)
      call MPI_F_sync_reg(b)
      call alike(b, want, 40, what)
    end do
    call MPI_Request_free(req, ierr)
    b = -1
  end subroutine repeats

  subroutine two_sides
    integer :: side, inter, merged, count, group, first
    logical :: flag
    if (n == 1) return
    first = merge(1, 0, me == 0)
    call MPI_Comm_split(MPI_COMM_WORLD, first, me, side, ierr)
    call MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, first, 6, inter, ierr)
    call ok(ierr, 'MPI_Intercomm_create')
    call MPI_Comm_test_inter(inter, flag, ierr)
    call holds(flag, 'MPI_Comm_test_inter')
    call MPI_Comm_remote_size(inter, count, ierr)
    call equal(count, merge(n - 1, 1, me == 0), 'MPI_Comm_remote_size')
    call MPI_Comm_remote_group(inter, group, ierr)
    call MPI_Group_size(group, i, ierr)
    call equal(i, count, 'MPI_Comm_remote_group')
    call MPI_Group_free(group, ierr)
    b = -1
    call MPI_Allreduce(me, b, 1, MPI_INTEGER, MPI_SUM, inter, ierr)
    call equal(b(1), merge(n * (n - 1) / 2, 0, me == 0), 'MPI_Allreduce of the other side')
    call MPI_Intercomm_merge(inter, me == 0, merged, ierr)
    call MPI_Comm_rank(merged, i, ierr)
    call equal(i, left, 'rank where the first one is the last')
    call MPI_Comm_free(merged, ierr)
    call MPI_Comm_free(inter, ierr)
    call MPI_Comm_free(side, ierr)
  end subroutine two_sides

  ! Statuses, buffers, infos and handlers.
  subroutine others
    integer :: status(MPI_STATUS_SIZE), source, tag, code, comm, req, size, info, session, errhandler, length
    integer(kind=MPI_COUNT_KIND) :: elements
    character(len=MPI_BSEND_OVERHEAD + 100) :: buffer
    character(len=10) :: value
    logical :: flag
    call MPI_Status_set_source(status, 3, ierr)
    call MPI_Status_set_tag(status, 4, ierr)
    call MPI_Status_set_error(status, MPI_ERR_TRUNCATE, ierr)
    call MPI_Status_set_elements_x(status, MPI_INTEGER, 2_MPI_COUNT_KIND ** 33, ierr)
    call equal(status(MPI_SOURCE), 3, 'MPI_SOURCE')
    call equal(status(MPI_TAG), 4, 'MPI_TAG')
    call equal(status(MPI_ERROR), MPI_ERR_TRUNCATE, 'MPI_ERROR')
    call MPI_Status_get_source(status, source, ierr)
    call MPI_Status_get_tag(status, tag, ierr)
    call MPI_Status_get_error(status, code, ierr)
    call alike([source, tag, code], [3, 4, MPI_ERR_TRUNCATE], 3, 'parts of a status')
    call MPI_Get_elements_x(status, MPI_INTEGER, elements, ierr)
    call holds(elements == 2_MPI_COUNT_KIND ** 33, 'MPI_Get_elements_x')

    call MPI_Info_create(info, ierr)
    call MPI_Info_set(info, 'mpi_assert_exact_length', 'true', ierr)
    call MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, comm, req, ierr)
    call MPI_Info_free(info, ierr)
    call MPI_Wait(req, MPI_STATUS_IGNORE, ierr)
    call MPI_F_sync_reg(comm)
    call MPI_Comm_get_info(comm, info, ierr)
    length = len(value)
    call MPI_Info_get_string(info, 'mpi_assert_exact_length', length, value, flag, ierr)
    call holds(flag .and. value == 'true', 'MPI_Comm_idup_with_info')
    call MPI_Info_free(info, ierr)
    call MPI_Comm_attach_buffer(comm, buffer, len(buffer), ierr)
    call MPI_Bsend(me, 1, MPI_INTEGER, right, 1, comm, ierr)
    call MPI_Comm_iflush_buffer(comm, req, ierr)
    call MPI_Recv(a, 1, MPI_INTEGER, left, 1, comm, MPI_STATUS_IGNORE, ierr)
    call equal(a(1), left, 'MPI_Bsend by the buffer of a communicator')
    call MPI_Wait(req, MPI_STATUS_IGNORE, ierr)
    ! The address is not returned here.
    call MPI_Comm_detach_buffer(comm, a(2), size, ierr)
    call ok(ierr, 'MPI_Comm_detach_buffer')
    call equal(size, len(buffer), 'its size')
    call equal(a(2), 100 * me + 1, 'place for an address')
    call MPI_Comm_free(comm, ierr)

    call MPI_Session_create_errhandler(handler, errhandler, ierr)
    call MPI_Session_init(MPI_INFO_NULL, errhandler, session, ierr)
    call MPI_Errhandler_free(errhandler, ierr)
    call MPI_Session_call_errhandler(session, MPI_ERR_TOPOLOGY, ierr)
    call equal(calls, MPI_ERR_TOPOLOGY, 'code in the handler')
    call MPI_Session_get_errhandler(session, errhandler, ierr)
    call MPI_Errhandler_free(errhandler, ierr)
    call MPI_Session_set_errhandler(session, MPI_ERRORS_ARE_FATAL, ierr)
    call MPI_Session_finalize(session, ierr)
    call equal(session, MPI_SESSION_NULL, 'session after its end')
  end subroutine others

  subroutine handler(session, code)
    integer :: session, code
    if (session == MPI_SESSION_NULL) call fail('session of the handler')
    calls = code
  end subroutine handler

  subroutine unsupported
    integer :: handle, code
    integer(kind=MPI_ADDRESS_KIND) :: size, address
    integer(kind=MPI_OFFSET_KIND) :: offset
    character(len=MPI_MAX_PORT_NAME) :: port
    type(c_ptr) :: memory
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
    size = 16
    offset = 0
    port = 'as it was'
    handle = MPI_WIN_NULL
    call MPI_Win_create(a, size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, handle, code)
    call class_is(code, MPI_ERR_UNSUPPORTED_OPERATION, 'MPI_Win_create')
    call MPI_Win_allocate(size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, address, handle, code)
    call class_is(code, MPI_ERR_UNSUPPORTED_OPERATION, 'MPI_Win_allocate of an integer')
    call MPI_Win_allocate(size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory, handle, code)
    call class_is(code, MPI_ERR_UNSUPPORTED_OPERATION, 'MPI_Win_allocate of a C_PTR')
    call MPI_Put(a, 1, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, MPI_WIN_NULL, code)
    call class_is(code, MPI_ERR_UNSUPPORTED_OPERATION, 'MPI_Put')
    call equal(handle, MPI_WIN_NULL, 'no window')
    handle = MPI_FILE_NULL
    call MPI_File_open(MPI_COMM_WORLD, 'a file', MPI_MODE_RDONLY, MPI_INFO_NULL, handle, code)
    call class_is(code, MPI_ERR_UNSUPPORTED_OPERATION, 'MPI_File_open')
    call MPI_File_write_at(handle, offset, a, 1, MPI_INTEGER, MPI_STATUS_IGNORE, code)
    call class_is(code, MPI_ERR_UNSUPPORTED_OPERATION, 'MPI_File_write_at')
    call equal(handle, MPI_FILE_NULL, 'no file')
    handle = MPI_COMM_NULL
    call MPI_Comm_spawn('program', MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, handle, MPI_ERRCODES_IGNORE, &
      code)
    call class_is(code, MPI_ERR_UNSUPPORTED_OPERATION, 'MPI_Comm_spawn')
    call MPI_Comm_spawn_multiple(2, ['first ', 'second'], MPI_ARGVS_NULL, [1, 1], [MPI_INFO_NULL, MPI_INFO_NULL], 0, &
      MPI_COMM_WORLD, handle, MPI_ERRCODES_IGNORE, code)
    call class_is(code, MPI_ERR_UNSUPPORTED_OPERATION, 'MPI_Comm_spawn_multiple')
    call equal(handle, MPI_COMM_NULL, 'no program')
    call MPI_Open_port(MPI_INFO_NULL, port, code)
    call class_is(code, MPI_ERR_UNSUPPORTED_OPERATION, 'MPI_Open_port')
    call MPI_Lookup_name('service', MPI_INFO_NULL, port, code)
    call class_is(code, MPI_ERR_UNSUPPORTED_OPERATION, 'MPI_Lookup_name')
    call holds(port == 'as it was', 'no port')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierr)
  end subroutine unsupported
end module more_parts

program mpi_more
  use more_parts
  implicit none
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  left = mod(me + n - 1, n)
  right = mod(me + 1, n)
  call layouts
  call queries
  call kinds
  call collectives
  call two_sides
  call others
  call unsupported
  call finish('mpi_more')
  call MPI_Finalize(ierr)
end program mpi_more
