! What mpi_f08 has of communicators, groups, topologies, buffers, modes of sending, datatypes, errors and properties of
! the library beyond f08_types. No call has `ierror` unless it is checked to fail.

module kinds_of_objects
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: room = 1000 + MPI_BSEND_OVERHEAD
  integer :: me, n, left, right, i, calls = 0, seen = 0
  integer, asynchronous :: a(20), b(20)
  character(len=room), target :: buffer, other_buffer
  type(MPI_Comm), asynchronous :: made
  type(MPI_Session) :: watched
contains

  subroutine groups
    type(MPI_Group) :: all_ranks, low, high, rest, group
    integer :: count, result, ranks(1), ranges(3, 1)
    call MPI_Comm_group(MPI_COMM_WORLD, all_ranks)
    call MPI_Group_rank(all_ranks, count)
    call equal(count, me, 'MPI_Group_rank')
    ! The last rank is high, the others are low.
    call MPI_Group_incl(all_ranks, n - 1, [(i, i = 0, n - 2)], low)
    ranges(:, 1) = [0, n - 2, 1]
    call MPI_Group_range_excl(all_ranks, merge(1, 0, n > 1), ranges, high)
    call sizes(high, 1, 'MPI_Group_range_excl')
    ranges(:, 1) = [n - 1, 0, -1]
    call MPI_Group_range_incl(all_ranks, 1, ranges, group)
    call MPI_Group_compare(all_ranks, group, result)
    call equal(result, merge(MPI_IDENT, MPI_SIMILAR, n == 1), 'MPI_Group_compare of the reversed group')
    call MPI_Group_free(group)
    call MPI_Group_union(high, low, group)
    call sizes(group, n, 'MPI_Group_union')
    call MPI_Group_translate_ranks(group, 1, [0], all_ranks, ranks)
    call equal(ranks(1), n - 1, 'first rank of the union')
    call MPI_Group_free(group)
    call MPI_Group_intersection(all_ranks, high, group)
    call MPI_Group_compare(group, high, result)
    call equal(result, MPI_IDENT, 'MPI_Group_intersection')
    call MPI_Group_free(group)
    call MPI_Group_difference(all_ranks, high, rest)
    call MPI_Group_compare(rest, low, result)
    call equal(result, MPI_IDENT, 'MPI_Group_difference')
    call MPI_Group_free(rest)
    call MPI_Group_excl(all_ranks, 1, [0], rest)
    call MPI_Group_size(rest, count)
    call equal(count, n - 1, 'MPI_Group_excl')
    call MPI_Group_free(rest)
    call MPI_Group_free(low)
    call MPI_Group_free(high)
    call MPI_Group_free(all_ranks)
  end subroutine groups

  subroutine sizes(group, want, what)
    type(MPI_Group), intent(in) :: group
    integer, intent(in) :: want
    character(len=*), intent(in) :: what
    integer :: count
    call MPI_Group_size(group, count)
    call equal(count, want, what)
  end subroutine sizes

  ! The ranks from `cut` on are the other side.
  subroutine two_sides
    type(MPI_Comm) :: side, inter, merged, again
    type(MPI_Group) :: group, other
    integer :: cut, rank, theirs, ours, count, first, root, result
    integer, allocatable, asynchronous :: ones(:), none(:), bytes(:)
    type(MPI_Datatype), allocatable, asynchronous :: types(:)
    type(MPI_Request) :: req
    logical :: flag, low
    call MPI_Comm_test_inter(MPI_COMM_WORLD, flag)
    call holds(.not. flag, 'MPI_COMM_WORLD has one side')
    if (n == 1) return
    cut = (n + 1) / 2
    low = me < cut
    ours = merge(cut, n - cut, low)
    theirs = n - ours
    first = merge(cut, 0, low)
    call MPI_Comm_split(MPI_COMM_WORLD, merge(0, 1, low), me, side)
    call MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, first, 8, inter)
    call MPI_Comm_test_inter(inter, flag)
    call holds(flag, 'MPI_Comm_test_inter')
    call MPI_Comm_remote_size(inter, count)
    call equal(count, theirs, 'MPI_Comm_remote_size')
    call MPI_Comm_remote_group(inter, other)
    call sizes(other, theirs, 'MPI_Comm_remote_group')
    call MPI_Comm_rank(inter, rank)
    call equal(rank, merge(me, me - cut, low), 'rank in the side')

    b = -1
    call MPI_Allgather(me, 1, MPI_INTEGER, b, 1, MPI_INTEGER, inter)
    call alike(b(:theirs + 1), [(first + i, i = 0, theirs - 1), -1], theirs + 1, 'MPI_Allgather from the other side')
    root = 0
    if (low) root = merge(MPI_ROOT, MPI_PROC_NULL, rank == 0)
    a = merge(7, -1, rank == 0 .and. low)
    call MPI_Bcast(a, 2, MPI_INTEGER, root, inter)
    call equal(a(2), merge(7, -1, rank == 0 .or. .not. low), 'MPI_Bcast to the other side')
    ! Only the rank that passes MPI_ROOT is the root: others may pass any section for its buffer, also the one with the
    ! root's number, and its side may for the other buffer.
    b = -1
    if (root == MPI_ROOT) then
      call MPI_Ireduce(a(20:1:-3), b, 2, MPI_INTEGER, MPI_SUM, root, inter, req)
    else
      call MPI_Ireduce(a, b(20:1:-3), 2, MPI_INTEGER, MPI_SUM, root, inter, req)
    end if
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call equal(b(2), merge(7 * theirs, -1, rank == 0 .and. low), 'MPI_Ireduce from the other side')
    ! Arrays of datatypes are as long as the other side.
    allocate (ones(theirs), none(theirs), bytes(theirs), types(theirs))
    ones = 1
    none = 0
    bytes = [(8 * i, i = 0, theirs - 1)]
    types = MPI_INTEGER
    b = -1
    call MPI_Alltoallw([me], ones, none, types, b, ones, bytes, types, inter)
    do i = 0, theirs - 1
      call equal(b(2 * i + 1), first + i, 'MPI_Alltoallw from the other side')
      call equal(b(2 * i + 2), -1, 'gap of MPI_Alltoallw')
    end do
    call MPI_Isend(me, 1, MPI_INTEGER, mod(rank, theirs), 1, inter, req)
    do i = rank, theirs - 1, ours
      call MPI_Recv(a, 1, MPI_INTEGER, i, 1, inter, MPI_STATUS_IGNORE)
      call equal(a(1), first + i, 'message of the other side')
    end do
    call MPI_Wait(req, MPI_STATUS_IGNORE)

    call MPI_Intercomm_merge(inter, .not. low, merged)
    call MPI_Comm_compare(merged, MPI_COMM_WORLD, result)
    call equal(result, MPI_CONGRUENT, 'MPI_Intercomm_merge')
    call MPI_Intercomm_merge(inter, low, again)
    call MPI_Comm_rank(again, i)
    call equal(i, rank + merge(theirs, 0, low), 'rank in the merged communicator of the other order')
    call MPI_Comm_free(again)
    call MPI_Comm_free(merged)
    call MPI_Comm_group(side, group)
    call MPI_Intercomm_create_from_groups(group, ours - 1, other, theirs - 1, 'sides ', MPI_INFO_NULL, &
      MPI_ERRORS_ARE_FATAL, again)
    call MPI_Comm_compare(again, inter, result)
    call equal(result, MPI_CONGRUENT, 'MPI_Intercomm_create_from_groups')
    call MPI_Barrier(again)
    call MPI_Comm_free(again)
    call MPI_Group_free(group)
    call MPI_Group_free(other)
    call MPI_Comm_free(inter)
    call MPI_Comm_free(side)
  end subroutine two_sides

  subroutine copies
    type(MPI_Info) :: info
    type(MPI_Comm) :: comm
    type(MPI_Group) :: group
    type(MPI_Request) :: req
    integer :: result
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'mpi_assert_no_any_tag', 'true')
    call MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, comm)
    call hint(comm, 'true', 'MPI_Comm_dup_with_info')
    call MPI_Info_set(info, 'mpi_assert_no_any_tag', 'false')
    call MPI_Comm_set_info(comm, info)
    call hint(comm, 'false', 'MPI_Comm_set_info')
    call MPI_Info_set(info, 'mpi_assert_no_any_tag', 'true')
    call MPI_Comm_idup(comm, made, req)
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call MPI_Comm_compare(made, MPI_COMM_WORLD, result)
    call equal(result, MPI_CONGRUENT, 'MPI_Comm_idup')
    call MPI_Barrier(made)
    call MPI_Comm_free(made)
    call MPI_Comm_idup_with_info(comm, info, made, req)
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call hint(made, 'true', 'MPI_Comm_idup_with_info')
    call MPI_Barrier(made)
    call MPI_Comm_free(made)
    call MPI_Comm_free(comm)
    call MPI_Info_free(info)
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, n - me, MPI_INFO_NULL, comm)
    call MPI_Comm_rank(comm, result)
    call equal(result, n - 1 - me, 'rank of MPI_Comm_split_type')
    call MPI_Comm_free(comm)
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, comm)
    call holds(comm == MPI_COMM_NULL, 'no communicator of MPI_Comm_split_type')
    call MPI_Comm_group(MPI_COMM_WORLD, group)
    call MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, comm)
    call MPI_Comm_size(comm, result)
    call equal(result, n, 'MPI_Comm_create_group')
    call MPI_Comm_free(comm)
    call MPI_Comm_create(MPI_COMM_WORLD, group, comm)
    call MPI_Group_free(group)
    call MPI_Comm_compare(comm, MPI_COMM_WORLD, result)
    call equal(result, MPI_CONGRUENT, 'MPI_Comm_create')
    call MPI_Comm_free(comm)
    call MPI_Comm_get_parent(comm)
    call holds(comm == MPI_COMM_NULL, 'MPI_Comm_get_parent')
  end subroutine copies

  subroutine hint(comm, want, what)
    type(MPI_Comm), intent(in) :: comm
    character(len=*), intent(in) :: want, what
    type(MPI_Info) :: info
    call MPI_Comm_get_info(comm, info)
    call value_is(info, 'mpi_assert_no_any_tag', want, what)
  end subroutine hint

  ! The info has this value for the key; it ends here.
  subroutine value_is(info, key, want, what)
    type(MPI_Info), intent(inout) :: info
    character(len=*), intent(in) :: key, want, what
    character(len=40) :: value
    integer :: length
    logical :: flag
    length = len(value)
    call MPI_Info_get_string(info, key, length, value, flag)
    call holds(flag, what//' has the key '//key)
    call same(value(:length), want, 'value of '//what)
    call MPI_Info_free(info)
  end subroutine value_is

  subroutine buffers
    type(c_ptr) :: address
    type(MPI_Comm) :: comm
    type(MPI_Session) :: session
    type(MPI_Group) :: group
    type(MPI_Request) :: req, flushed
    type(MPI_Info) :: info
    integer :: size
    integer(kind=MPI_COUNT_KIND) :: large_size
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_attach_buffer(comm, buffer, room)
    call MPI_Bsend(me, 1, MPI_INTEGER, right, 1, comm)
    call MPI_Comm_iflush_buffer(comm, flushed)
    call MPI_Recv(a, 1, MPI_INTEGER, left, 1, comm, MPI_STATUS_IGNORE)
    call equal(a(1), left, 'MPI_Bsend by the buffer of a communicator')
    call MPI_Wait(flushed, MPI_STATUS_IGNORE)
    call MPI_Comm_flush_buffer(comm)
    call MPI_Comm_detach_buffer(comm, address, size)
    call holds(c_associated(address, c_loc(buffer)), 'MPI_Comm_detach_buffer')
    call equal(size, room, 'its size')
    call MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0_MPI_COUNT_KIND)
    call MPI_Ibsend(me, 1, MPI_INTEGER, right, 1, comm, req)
    call MPI_Recv(a, 1, MPI_INTEGER, left, 1, comm, MPI_STATUS_IGNORE)
    call equal(a(1), left, 'MPI_Ibsend by MPI_BUFFER_AUTOMATIC')
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call MPI_Comm_detach_buffer(comm, address, large_size)
    call holds(c_associated(address, c_loc(MPI_BUFFER_AUTOMATIC)), 'MPI_BUFFER_AUTOMATIC')
    call MPI_Comm_free(comm)

    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session)
    call MPI_Session_get_info(session, info)
    call holds(info /= MPI_INFO_NULL, 'MPI_Session_get_info')
    call MPI_Info_free(info)
    call MPI_Session_attach_buffer(session, other_buffer, room)
    call MPI_Group_from_session_pset(session, 'mpi://WORLD', group)
    call MPI_Comm_create_from_group(group, 'buffers', MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm)
    call MPI_Group_free(group)
    a = me
    call MPI_Bsend_init(a, 1, MPI_INTEGER, right, 2, comm, req)
    call MPI_Start(req)
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call MPI_Request_free(req)
    call MPI_Session_iflush_buffer(session, flushed)
    call MPI_Recv(b, 1, MPI_INTEGER, left, 2, comm, MPI_STATUS_IGNORE)
    call equal(b(1), left, 'MPI_Bsend_init by the buffer of a session')
    call MPI_Wait(flushed, MPI_STATUS_IGNORE)
    call MPI_Session_flush_buffer(session)
    call MPI_Session_detach_buffer(session, address, size)
    call holds(c_associated(address, c_loc(other_buffer)), 'MPI_Session_detach_buffer')
    call MPI_Session_attach_buffer(session, other_buffer, int(room, MPI_COUNT_KIND))
    call MPI_Session_detach_buffer(session, address, large_size)
    call holds(large_size == room, 'size of 8 bytes')
    call MPI_Comm_free(comm)
    call MPI_Session_finalize(session)

    call MPI_Buffer_attach(buffer, int(room, MPI_COUNT_KIND))
    call MPI_Bsend(me, 1_MPI_COUNT_KIND, MPI_INTEGER, right, 3, MPI_COMM_WORLD)
    call MPI_Buffer_iflush(flushed)
    call MPI_Recv(a, 1_MPI_COUNT_KIND, MPI_INTEGER, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(flushed, MPI_STATUS_IGNORE)
    call MPI_Buffer_flush()
    call MPI_Buffer_detach(address, large_size)
    call holds(c_associated(address, c_loc(buffer)) .and. large_size == room, 'MPI_Buffer_detach with a large size')
  end subroutine buffers

  ! The modes of sending, and requests.
  subroutine modes
    type(MPI_Request) :: req(6), more(2)
    type(MPI_Message) :: message
    type(MPI_Status) :: status, many(2)
    integer :: count, indices(2)
    logical :: flag
    a(:6) = 10 * me + [1, 2, 3, 4, 5, 6]
    b = -1
    do i = 1, 6
      call MPI_Irecv(b(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, req(i))
    end do
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Rsend(a(1), 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD)
    call MPI_Irsend(a(2), 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD, more(1))
    call MPI_Wait(more(1), MPI_STATUS_IGNORE)
    call MPI_Rsend_init(a(3), 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD, more(1))
    call MPI_Start(more(1))
    call MPI_Wait(more(1), MPI_STATUS_IGNORE)
    call MPI_Request_free(more(1))
    call MPI_Ssend(a(4), 1, MPI_INTEGER, right, 4, MPI_COMM_WORLD)
    call MPI_Issend(a(5), 1, MPI_INTEGER, right, 5, MPI_COMM_WORLD, more(1))
    call MPI_Wait(more(1), MPI_STATUS_IGNORE)
    call MPI_Ssend_init(a(6), 1, MPI_INTEGER, right, 6, MPI_COMM_WORLD, more(1))
    call MPI_Start(more(1))
    call MPI_Wait(more(1), MPI_STATUS_IGNORE)
    call MPI_Request_free(more(1))
    ! A request that is complete stays until a call ends it.
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status(req(1), flag, status)
    end do
    call equal(status%MPI_TAG, 1, 'tag of MPI_Request_get_status')
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status_all(2, req(5:6), flag, many)
    end do
    call alike(many%MPI_TAG, [5, 6], 2, 'tags of MPI_Request_get_status_all')
    call MPI_Waitall(6, req, MPI_STATUSES_IGNORE)
    call alike(b(:7), [10 * left + [1, 2, 3, 4, 5, 6], -1], 7, 'modes of sending')

    call MPI_Isendrecv(a, 2, MPI_INTEGER, right, 1, b, 2, MPI_INTEGER, left, 1, MPI_COMM_WORLD, req(1))
    call MPI_Wait(req(1), status)
    call equal(status%MPI_SOURCE, left, 'source of MPI_Isendrecv')
    call alike(b(:2), 10 * left + [1, 2], 2, 'MPI_Isendrecv')
    call MPI_Isendrecv_replace(a, 2_MPI_COUNT_KIND, MPI_INTEGER, right, 1, left, 1, MPI_COMM_WORLD, req(1))
    call MPI_Wait(req(1), MPI_STATUS_IGNORE)
    call alike(a(:3), [b(:2), 10 * me + 3], 3, 'MPI_Isendrecv_replace')

    call MPI_Improbe(left, 8, MPI_COMM_WORLD, flag, message, status)
    call holds(.not. flag, 'MPI_Improbe of no message')
    call MPI_Isend(me, 1, MPI_INTEGER, right, 9, MPI_COMM_WORLD, more(1))
    do while (.not. flag)
      call MPI_Improbe(left, 9, MPI_COMM_WORLD, flag, message, status)
    end do
    call equal(status%MPI_SOURCE, left, 'source of MPI_Improbe')
    call MPI_Imrecv(b, 1, MPI_INTEGER, message, more(2))
    call holds(message == MPI_MESSAGE_NULL, 'message after MPI_Imrecv')
    call MPI_Waitall(2, more, MPI_STATUSES_IGNORE)
    call equal(b(1), left, 'MPI_Imrecv')

    call MPI_Isend(me, 1, MPI_INTEGER, right, 7, MPI_COMM_WORLD, more(1))
    call MPI_Probe(left, 7, MPI_COMM_WORLD, status)
    call equal(status%MPI_SOURCE, left, 'source of MPI_Probe')
    call MPI_Iprobe(left, 7, MPI_COMM_WORLD, flag, status)
    call holds(flag .and. status%MPI_TAG == 7, 'MPI_Iprobe')
    call MPI_Irecv(b, 1, MPI_INTEGER, left, 7, MPI_COMM_WORLD, more(2))
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(2, more, flag, many)
    end do
    call equal(many(2)%MPI_SOURCE, left, 'source of MPI_Testall')
    call holds(all(more == MPI_REQUEST_NULL), 'requests after MPI_Testall')
    call MPI_Irecv(b, 1, MPI_INTEGER, left, 7, MPI_COMM_WORLD, more(2))
    call MPI_Send(me, 1, MPI_INTEGER, right, 7, MPI_COMM_WORLD)
    count = 0
    do while (count == 0)
      call MPI_Testsome(2, more, count, indices, many)
    end do
    call alike([count, indices(1)], [1, 2], 2, 'MPI_Testsome')
    a = -1
    a(1:3:2) = [me, 2 * me]
    call MPI_Sendrecv_replace(a(1:3:2), 2, MPI_INTEGER, right, 1, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call alike(a(:4), [left, -1, 2 * left, -1], 4, 'MPI_Sendrecv_replace of a section')
  end subroutine modes

  subroutine partitions
    type(MPI_Request) :: req(2)
    logical :: flag
    integer :: turn
    call MPI_Psend_init(a, 4, 2_MPI_COUNT_KIND, MPI_INTEGER, right, 4, MPI_COMM_WORLD, MPI_INFO_NULL, req(1))
    call MPI_Precv_init(b, 2, 4_MPI_COUNT_KIND, MPI_INTEGER, left, 4, MPI_COMM_WORLD, MPI_INFO_NULL, req(2))
    do turn = 1, 2
      a(:8) = [(100 * turn + 10 * me + i, i = 1, 8)]
      b = -1
      call MPI_Startall(2, req)
      call MPI_Pready_list(2, [3, 2], req(1))
      flag = .false.
      do while (.not. flag)
        call MPI_Parrived(req(2), 1, flag)
      end do
      call alike(b(5:8), [(100 * turn + 10 * left + i, i = 5, 8)], 4, 'MPI_Parrived')
      call MPI_Pready(0, req(1))
      call MPI_Pready_range(1, 1, req(1))
      call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
      call alike(b(:8), [(100 * turn + 10 * left + i, i = 1, 8)], 8, 'partitions')
    end do
    call MPI_Request_free(req(1))
    call MPI_Request_free(req(2))
  end subroutine partitions

  subroutine statuses
    type(MPI_Status) :: status, again
    integer :: source, tag, code, old(MPI_STATUS_SIZE), count
    integer(kind=MPI_COUNT_KIND) :: elements
    logical :: flag
    call MPI_Status_set_source(status, 3)
    call MPI_Status_set_tag(status, 4)
    call MPI_Status_set_error(status, MPI_ERR_TRUNCATE)
    call MPI_Status_set_elements(status, MPI_INTEGER, 5_MPI_COUNT_KIND)
    call MPI_Status_set_cancelled(status, .true.)
    call equal(status%MPI_SOURCE, 3, 'MPI_SOURCE')
    call equal(status%MPI_TAG, 4, 'MPI_TAG')
    call equal(status%MPI_ERROR, MPI_ERR_TRUNCATE, 'MPI_ERROR')
    call MPI_Status_f082f(status, old)
    call equal(old(MPI_ERROR), MPI_ERR_TRUNCATE, 'error of MPI_Status_f082f')
    call MPI_Status_f2f08(old, again)
    call MPI_Status_get_source(again, source)
    call equal(source, 3, 'MPI_Status_get_source')
    call MPI_Status_get_tag(again, tag)
    call equal(tag, 4, 'MPI_Status_get_tag')
    call MPI_Status_get_error(again, code)
    call equal(code, MPI_ERR_TRUNCATE, 'MPI_Status_get_error')
    call MPI_Test_cancelled(again, flag)
    call holds(flag, 'MPI_Test_cancelled')
    call MPI_Get_elements(again, MPI_INTEGER, count)
    call equal(count, 5, 'MPI_Get_elements')
    call MPI_Status_set_elements_x(again, MPI_INTEGER, 2_MPI_COUNT_KIND ** 33)
    call MPI_Get_elements_x(again, MPI_INTEGER, elements)
    call holds(elements == 2_MPI_COUNT_KIND ** 33, 'MPI_Get_elements_x')
    call MPI_Get_elements(again, MPI_INTEGER, count)
    call equal(count, MPI_UNDEFINED, 'MPI_Get_elements of too many')
  end subroutine statuses

  subroutine graphs
    type(MPI_Comm) :: comm
    integer :: in, out, rank, sources(2), destinations(2), in_weights(2), out_weights(2), index(n), edges(n)
    logical :: weighted
    ! Every rank tells the edge from its left to its right.
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [left], [1], [right], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., comm)
    call MPI_Dist_graph_neighbors_count(comm, in, out, weighted)
    call holds(in == 1 .and. out == 1 .and. .not. weighted, 'a graph without weights')
    sources = -1
    destinations = -1
    call MPI_Dist_graph_neighbors(comm, 1, sources, MPI_UNWEIGHTED, 1, destinations, MPI_UNWEIGHTED)
    call alike(sources, [mod(me + 2 * n - 2, n), -1], 2, 'source')
    call alike(destinations, [mod(me + 2, n), -1], 2, 'destination')
    call MPI_Comm_free(comm)
    ! Only rank 0 tells an edge, all have weights.
    if (me == 0) then
      call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [n - 1], [1], [0], [6], MPI_INFO_NULL, .false., comm)
    else
      call MPI_Dist_graph_create(MPI_COMM_WORLD, 0, [0], [0], [0], MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., comm)
    end if
    call MPI_Dist_graph_neighbors_count(comm, in, out, weighted)
    call equal(in, merge(1, 0, me == 0), 'number of sources')
    call holds(weighted, 'a graph with weights')
    in_weights = -1
    out_weights = -1
    call MPI_Dist_graph_neighbors(comm, in, sources, in_weights, out, destinations, out_weights)
    call alike(in_weights, [merge(6, -1, me == 0), -1], 2, 'weights of sources')
    call alike(out_weights, [merge(6, -1, me == n - 1), -1], 2, 'weights of destinations')
    call MPI_Comm_free(comm)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, [0], MPI_WEIGHTS_EMPTY, 0, [0], MPI_WEIGHTS_EMPTY, &
      MPI_INFO_NULL, .false., comm)
    call MPI_Dist_graph_neighbors_count(comm, in, out, weighted)
    call holds(in == 0 .and. out == 0 .and. weighted, 'a graph without edges')
    call MPI_Comm_free(comm)
    ! A ring.
    call MPI_Graph_map(MPI_COMM_WORLD, n, [(i, i = 1, n)], [(mod(i, n), i = 1, n)], rank)
    call holds(rank >= 0 .and. rank < n, 'MPI_Graph_map')
    call MPI_Graph_create(MPI_COMM_WORLD, n, [(i, i = 1, n)], [(mod(i, n), i = 1, n)], .false., comm)
    call MPI_Graph_get(comm, n, n, index, edges)
    call alike(index, [(i, i = 1, n)], n, 'index of MPI_Graph_get')
    call alike(edges, [(mod(i, n), i = 1, n)], n, 'edges of MPI_Graph_get')
    call MPI_Graph_neighbors_count(comm, me, out)
    call equal(out, 1, 'MPI_Graph_neighbors_count')
    call MPI_Graph_neighbors(comm, me, 1, destinations)
    call equal(destinations(1), right, 'MPI_Graph_neighbors')
    call MPI_Graphdims_get(comm, in, out)
    call alike([in, out], [n, n], 2, 'MPI_Graphdims_get')
    call MPI_Comm_free(comm)
  end subroutine graphs

  ! The first dimension is a ring, the second is not.
  subroutine grids
    type(MPI_Comm) :: comm, row
    integer :: dims(2), coords(2), count, rank, from, to
    dims = 0
    call MPI_Dims_create(n, 2, dims)
    call equal(dims(1) * dims(2), n, 'MPI_Dims_create')
    call MPI_Cart_map(MPI_COMM_WORLD, 2, dims, [.true., .false.], rank)
    call holds(rank >= 0 .and. rank < n, 'MPI_Cart_map')
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., comm)
    call MPI_Topo_test(comm, count)
    call equal(count, MPI_CART, 'MPI_Topo_test')
    call MPI_Cartdim_get(comm, count)
    call equal(count, 2, 'MPI_Cartdim_get')
    call MPI_Cart_coords(comm, me, 2, coords)
    call alike(coords, [me / dims(2), mod(me, dims(2))], 2, 'MPI_Cart_coords')
    call MPI_Cart_rank(comm, coords - [dims(1), 0], rank)
    call equal(rank, me, 'MPI_Cart_rank once around the ring')
    call MPI_Cart_shift(comm, 1, 1, from, to)
    call equal(from, merge(MPI_PROC_NULL, me - 1, coords(2) == 0), 'source of MPI_Cart_shift')
    call equal(to, merge(MPI_PROC_NULL, me + 1, coords(2) == dims(2) - 1), 'destination of MPI_Cart_shift')
    call MPI_Cart_sub(comm, [.false., .true.], row)
    call MPI_Comm_size(row, count)
    call MPI_Comm_rank(row, rank)
    call alike([count, rank], [dims(2), coords(2)], 2, 'MPI_Cart_sub')
    call MPI_Comm_free(row)
    call MPI_Comm_free(comm)
  end subroutine grids

  ! Elements of `a` by their places, which a datatype takes in this order.
  subroutine takes(datatype, places, what)
    type(MPI_Datatype), intent(inout) :: datatype
    integer, intent(in) :: places(:)
    character(len=*), intent(in) :: what
    a = [(10 * i, i = 1, 20)]
    b = -1
    call MPI_Type_commit(datatype)
    call MPI_Sendrecv(a, 1, datatype, 0, 1, b, 20, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call alike(b(:size(places) + 1), [10 * places, -1], size(places) + 1, what)
    call MPI_Type_free(datatype)
    call holds(datatype == MPI_DATATYPE_NULL, 'datatype after its end')
  end subroutine takes

  subroutine datatypes
    type(MPI_Datatype) :: datatype, resized, types(1)
    integer :: ints(5), bytes
    integer(kind=MPI_ADDRESS_KIND) :: bound, extent, addresses(2), position
    integer(kind=MPI_COUNT_KIND) :: large_bound, large_extent
    character(len=12) :: packed
    character(len=MPI_MAX_OBJECT_NAME) :: name
    call MPI_Type_indexed(2, [1, 2], [5, 1], MPI_INTEGER, datatype)
    call takes(datatype, [6, 2, 3], 'MPI_Type_indexed')
    call MPI_Type_create_hindexed_block(2, 2, [16_MPI_ADDRESS_KIND, 0_MPI_ADDRESS_KIND], MPI_INTEGER, datatype)
    call takes(datatype, [5, 6, 1, 2], 'MPI_Type_create_hindexed_block')
    call MPI_Type_create_indexed_block(2_MPI_COUNT_KIND, 2_MPI_COUNT_KIND, [7_MPI_COUNT_KIND, 3_MPI_COUNT_KIND], &
      MPI_INTEGER, datatype)
    call takes(datatype, [8, 9, 4, 5], 'MPI_Type_create_indexed_block with large counts')
    call MPI_Type_create_hvector(3, 1, 12_MPI_ADDRESS_KIND, MPI_INTEGER, datatype)
    call takes(datatype, [1, 4, 7], 'MPI_Type_create_hvector')
    call MPI_Type_create_subarray(2, [4, 3], [2, 2], [1, 1], MPI_ORDER_FORTRAN, MPI_INTEGER, datatype)
    call takes(datatype, [6, 7, 10, 11], 'MPI_Type_create_subarray')
    call MPI_Type_create_darray(n, me, 1, [2 * n], [MPI_DISTRIBUTE_CYCLIC], [MPI_DISTRIBUTE_DFLT_DARG], [n], &
      MPI_ORDER_FORTRAN, MPI_INTEGER, datatype)
    call takes(datatype, [me + 1, me + 1 + n], 'MPI_Type_create_darray')
    call MPI_Type_create_hindexed(2, [1, 2], [20_MPI_ADDRESS_KIND, 4_MPI_ADDRESS_KIND], MPI_INTEGER, datatype)
    call MPI_Type_get_contents(datatype, 5, 2, 1, ints, addresses, types)
    call alike(ints(:3), [2, 1, 2], 3, 'integers of MPI_Type_create_hindexed')
    call holds(all(addresses == [20, 4]) .and. types(1) == MPI_INTEGER, 'its addresses and its datatype')
    call MPI_Type_create_resized(datatype, -8_MPI_ADDRESS_KIND, 40_MPI_ADDRESS_KIND, resized)
    call MPI_Type_get_true_extent(resized, bound, extent)
    call holds(bound == 4 .and. extent == 20, 'MPI_Type_get_true_extent')
    call MPI_Type_get_true_extent_x(resized, large_bound, large_extent)
    call holds(large_bound == 4 .and. large_extent == 20, 'MPI_Type_get_true_extent_x')
    call MPI_Type_get_extent_x(resized, large_bound, large_extent)
    call holds(large_bound == -8 .and. large_extent == 40, 'MPI_Type_get_extent_x')
    call MPI_Type_size_x(resized, large_extent)
    call holds(large_extent == 12, 'MPI_Type_size_x')
    call MPI_Type_set_name(resized, ' two words  ')
    call MPI_Type_get_name(resized, name, bytes)
    call same(name(:bytes), ' two words', 'MPI_Type_get_name')
    call MPI_Type_free(resized)
    call takes(datatype, [6, 2, 3], 'MPI_Type_create_hindexed')
    call MPI_Type_get_value_index(MPI_INTEGER, MPI_INTEGER, datatype)
    call holds(datatype == MPI_2INTEGER, 'MPI_Type_get_value_index')
    ! Sections, and the bytes of external32.
    call MPI_Pack_size(3, MPI_INTEGER, MPI_COMM_SELF, bytes)
    call holds(bytes >= 12, 'MPI_Pack_size')
    call MPI_Pack_external_size('external32', 3, MPI_INTEGER, extent)
    call holds(extent == 12, 'MPI_Pack_external_size')
    a = [(i, i = 1, 20)]
    b = -1
    position = 0
    call MPI_Pack_external('external32', a(1:5:2), 3, MPI_INTEGER, packed, extent, position)
    call same(packed(:8), repeat(achar(0), 3)//achar(1)//repeat(achar(0), 3)//achar(3), 'external32')
    position = 4
    call MPI_Unpack_external('external32', packed, extent, position, b(4:1:-2), 2, MPI_INTEGER)
    call alike(b(:5), [-1, 5, -1, 3, -1], 5, 'MPI_Unpack_external')
  end subroutine datatypes

  ! Classes, codes and texts of our own, and handlers of sessions, files and windows.
  subroutine errors
    type(MPI_Errhandler) :: errhandler, found
    type(MPI_Info) :: info
    integer :: class, code, length, again
    character(len=MPI_MAX_ERROR_STRING) :: text
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Comm_get_errhandler(MPI_COMM_SELF, found)
    call holds(found == MPI_ERRORS_RETURN, 'MPI_Comm_get_errhandler')
    call MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_OTHER)
    call MPI_Add_error_class(class)
    call MPI_Add_error_code(class, code)
    call MPI_Add_error_string(code, 'the sea is high  ')
    call MPI_Error_string(code, text, length)
    call same(text(:length), 'the sea is high', 'MPI_Error_string')
    call MPI_Remove_error_code(code, again)
    call class_is(again, MPI_ERR_ARG, 'MPI_Remove_error_code of one with a text')
    call MPI_Remove_error_class(class, again)
    call class_is(again, MPI_ERR_ARG, 'MPI_Remove_error_class of one with a code')
    call MPI_Remove_error_string(code)
    call MPI_Error_string(code, text, length)
    call holds(text /= 'the sea is high', 'text that is removed')
    call MPI_Remove_error_code(code)
    call MPI_Remove_error_class(class)
    call MPI_Add_error_code(class, code, again)
    call class_is(again, MPI_ERR_ARG, 'MPI_Add_error_code of a class that is removed')

    call MPI_Session_create_errhandler(session_handler, errhandler)
    call MPI_Session_init(MPI_INFO_NULL, errhandler, watched)
    call MPI_Session_get_errhandler(watched, found)
    call holds(found /= MPI_ERRORS_ARE_FATAL .and. found /= MPI_ERRHANDLER_NULL, 'MPI_Session_get_errhandler')
    call MPI_Errhandler_free(found)
    call MPI_Errhandler_free(errhandler)
    call MPI_Session_call_errhandler(watched, MPI_ERR_TOPOLOGY)
    call equal(seen, MPI_ERR_TOPOLOGY, 'MPI_Session_call_errhandler')
    call MPI_Session_get_pset_info(watched, 'mpi://NOWHERE', info, code)
    call class_is(code, MPI_ERR_ARG, 'MPI_Session_get_pset_info')
    call equal(seen, code, 'code in the handler of the session')
    call MPI_Session_set_errhandler(watched, MPI_ERRORS_RETURN)
    call MPI_Session_get_pset_info(watched, 'mpi://NOWHERE', info, code)
    call class_is(code, MPI_ERR_ARG, 'MPI_Session_get_pset_info')
    call equal(calls, 2, 'calls of the handler of the session')
    call MPI_Session_finalize(watched)

    call MPI_File_create_errhandler(file_handler, errhandler)
    call MPI_File_set_errhandler(MPI_FILE_NULL, errhandler)
    call MPI_File_get_errhandler(MPI_FILE_NULL, found)
    call holds(found /= MPI_ERRORS_RETURN, 'MPI_File_get_errhandler')
    call MPI_Errhandler_free(found)
    call MPI_Errhandler_free(errhandler)
    call MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_AMODE)
    call equal(seen, MPI_ERR_AMODE, 'MPI_File_call_errhandler')
    call MPI_File_delete('no file', MPI_INFO_NULL, code)
    call class_is(code, MPI_ERR_UNSUPPORTED_OPERATION, 'MPI_File_delete')
    call equal(seen, code, 'code in the handler of files')
    call equal(calls, 22, 'calls of the handler of files')
    call MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN)

    ! There are no windows.
    call MPI_Win_create_errhandler(win_handler, errhandler)
    call MPI_Win_set_errhandler(MPI_WIN_NULL, errhandler, code)
    call class_is(code, MPI_ERR_WIN, 'MPI_Win_set_errhandler')
    call MPI_Win_get_errhandler(MPI_WIN_NULL, found, code)
    call class_is(code, MPI_ERR_WIN, 'MPI_Win_get_errhandler')
    call MPI_Win_call_errhandler(MPI_WIN_NULL, MPI_ERR_BASE, code)
    call class_is(code, MPI_ERR_WIN, 'MPI_Win_call_errhandler')
    call MPI_Errhandler_free(errhandler)
    call holds(errhandler == MPI_ERRHANDLER_NULL, 'handler after its end')
  end subroutine errors

  subroutine session_handler(session, error_code)
    type(MPI_Session) :: session
    integer :: error_code
    call holds(session == watched, 'session of the handler')
    calls = calls + 1
    seen = error_code
  end subroutine session_handler

  subroutine file_handler(file, error_code)
    type(MPI_File) :: file
    integer :: error_code
    call holds(file == MPI_FILE_NULL, 'file of the handler')
    calls = calls + 10
    seen = error_code
  end subroutine file_handler

  subroutine win_handler(win, error_code)
    type(MPI_Win) :: win
    integer :: error_code
    if (win /= MPI_WIN_NULL .or. error_code /= MPI_SUCCESS) call fail('a handler of windows is called')
  end subroutine win_handler

  subroutine infos
    type(MPI_Info) :: info, copy
    integer :: length
    logical :: flag
    character(len=12) :: value
    character(len=MPI_MAX_INFO_KEY) :: key
    call MPI_Info_create(info)
    call MPI_Info_set(info, ' colour ', ' dark green ')
    call MPI_Info_get_valuelen(info, 'colour', length, flag)
    call holds(flag .and. length == 10, 'MPI_Info_get_valuelen')
    call MPI_Info_get(info, 'colour', 12, value, flag)
    call holds(flag, 'there is a value')
    call same(value, 'dark green  ', 'MPI_Info_get')
    call MPI_Info_get_nthkey(info, 0, key)
    call holds(key == 'colour', 'MPI_Info_get_nthkey')
    call MPI_Info_dup(info, copy)
    call MPI_Info_delete(info, 'colour')
    call MPI_Info_get(info, 'colour', 12, value, flag)
    call holds(.not. flag, 'there is no value any more')
    call MPI_Info_free(info)
    call value_is(copy, 'colour', 'dark green', 'MPI_Info_dup')
    call holds(copy == MPI_INFO_NULL, 'info after its end')
  end subroutine infos

  ! What the library and its process say of themselves.
  subroutine properties
    type(MPI_Info) :: info
    integer :: provided, code, length, minor
    logical :: yes, no, flag
    character(len=12) :: value
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: text
    call MPI_Initialized(yes)
    call MPI_Finalized(no)
    call MPI_Is_thread_main(flag)
    call holds(yes .and. .not. no .and. flag, 'MPI has begun, in this thread')
    call MPI_Get_version(code, minor)
    call alike([code, minor], [MPI_VERSION, MPI_SUBVERSION], 2, 'MPI_Get_version')
    call MPI_Get_library_version(text, length)
    call holds(index(text, 'Hawser') > 0 .and. len_trim(text) == length, 'MPI_Get_library_version')
    call MPI_Get_processor_name(text, length)
    call holds(length > 0 .and. len_trim(text) == length, 'MPI_Get_processor_name')
    call MPI_Query_thread(provided)
    call holds(provided >= MPI_THREAD_SINGLE .and. provided <= MPI_THREAD_MULTIPLE, 'MPI_Query_thread')
    call MPI_Abi_get_info(info)
    call value_is(info, 'mpi_count_size', '8', 'MPI_Abi_get_info')
    call MPI_Get_hw_resource_info(info)
    call MPI_Info_get_nkeys(info, length)
    call holds(length > 0, 'MPI_Get_hw_resource_info')
    call MPI_Info_free(info)
    call MPI_Info_create_env(info)
    write (value, '(i0)') n
    call value_is(info, 'maxprocs', trim(value), 'MPI_Info_create_env')
    call MPI_Pcontrol(1)
    ! The binding has told both at the start.
    call MPI_Abi_get_fortran_booleans(4, yes, no, flag)
    call MPI_Abi_set_fortran_booleans(4, yes, no, code)
    call class_is(code, MPI_ERR_ABI, 'MPI_Abi_set_fortran_booleans once more')
    call MPI_Abi_get_fortran_info(info)
    call MPI_Abi_set_fortran_info(info, code)
    call class_is(code, MPI_ERR_ABI, 'MPI_Abi_set_fortran_info once more')
    call MPI_Info_free(info)
  end subroutine properties
end module kinds_of_objects

program f08_comms
  use kinds_of_objects
  implicit none
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  left = mod(me + n - 1, n)
  right = mod(me + 1, n)
  call groups
  call two_sides
  call copies
  call buffers
  call modes
  call partitions
  call statuses
  call graphs
  call grids
  call datatypes
  call errors
  call infos
  call properties
  call finish('f08_comms')
  call MPI_Finalize()
end program f08_comms
