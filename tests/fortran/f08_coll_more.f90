! Collectives of mpi_f08 that begin and end apart: nonblocking and persistent ones of all kinds, also of neighbours,
! with MPI_IN_PLACE, counts of 8 bytes, and datatypes that end before the operation does; and blocking ones of sections
! that are copied. No call has `ierror`.

module more_collectives
  use mpi_f08
  implicit none
  integer, parameter :: room = 60
  integer :: me, n, left, right, i, k
  ! What is sent, what is received, what lies there before, and what must lie there in the end.
  integer, asynchronous :: a(room), b(room), before(room), want(room)
  ! Every second element of it is received.
  integer :: line(2 * room)
  ! Rank i has i + 1 elements in forms with arrays of counts, and a gap of one lies behind them.
  integer, allocatable, asynchronous :: counts(:), displs(:)
  integer(kind=MPI_COUNT_KIND), allocatable, asynchronous :: large_counts(:)
  integer(kind=MPI_ADDRESS_KIND), allocatable, asynchronous :: large_displs(:)
contains

  ! Nothing is received yet, nor wanted; this rank sends the elements 100 * me and so on.
  subroutine fresh
    a = [(100 * me + k, k = 0, room - 1)]
    b = -1
    before = -1
    want = -1
  end subroutine fresh

  ! The elements of all ranks are wanted, by arrays of counts.
  subroutine want_all
    want = -1
    do i = 0, n - 1
      want(displs(i + 1) + 1:displs(i + 1) + i + 1) = [(100 * i + k, k = 0, i)]
    end do
  end subroutine want_all

  ! A nonblocking operation ends with what is wanted.
  subroutine ends(req, what)
    type(MPI_Request), intent(inout) :: req
    character(len=*), intent(in) :: what
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call holds(req == MPI_REQUEST_NULL, 'the request is null after '//what)
    call alike(b, want, room, what)
    b = before
  end subroutine ends

  ! A persistent operation has the same result twice.
  subroutine repeats(req, what)
    type(MPI_Request), intent(inout) :: req
    character(len=*), intent(in) :: what
    integer :: turn
    do turn = 1, 2
      b = before
      call MPI_Start(req)
      call MPI_Wait(req, MPI_STATUS_IGNORE)
      call holds(req /= MPI_REQUEST_NULL, 'the request stays after '//what)
      call alike(b, want, room, what)
    end do
    call MPI_Request_free(req)
    b = before
  end subroutine repeats

  subroutine barriers
    type(MPI_Request) :: req
    logical :: flag
    call fresh
    call MPI_Ibarrier(MPI_COMM_WORLD, req)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(req, flag, MPI_STATUS_IGNORE)
    end do
    call holds(req == MPI_REQUEST_NULL, 'the request is null after MPI_Ibarrier')
    call MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Barrier_init')
  end subroutine barriers

  subroutine broadcasts
    type(MPI_Request) :: req
    call fresh
    if (me == n - 1) before(:3) = [7, 8, 9]
    want(:3) = [7, 8, 9]
    call MPI_Bcast_init(b, 3, MPI_INTEGER, n - 1, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Bcast_init')
    call MPI_Bcast_init(b, 3_MPI_COUNT_KIND, MPI_INTEGER, n - 1, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Bcast_init with a large count')
  end subroutine broadcasts

  subroutine gathers
    type(MPI_Request) :: req
    integer :: root
    root = n - 1
    call fresh
    if (me == root) want(:n) = [(100 * i, i = 0, n - 1)]
    call MPI_Igather(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, root, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Igather')
    call MPI_Igather(a, 1_MPI_COUNT_KIND, MPI_INTEGER, b, 1_MPI_COUNT_KIND, MPI_INTEGER, root, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Igather with large counts')
    call MPI_Gather_init(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Gather_init')
    if (me == root) call want_all
    call MPI_Igatherv(a, me + 1, MPI_INTEGER, b, counts, displs, MPI_INTEGER, root, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Igatherv')
    call MPI_Igatherv(a, int(me + 1, MPI_COUNT_KIND), MPI_INTEGER, b, large_counts, large_displs, MPI_INTEGER, root, &
      MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Igatherv with large counts')
    call MPI_Gatherv_init(a, me + 1, MPI_INTEGER, b, counts, displs, MPI_INTEGER, root, MPI_COMM_WORLD, &
      MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Gatherv_init')
    ! The root's own elements are there already.
    if (me == root) then
      before(displs(n) + 1:displs(n) + n) = a(:n)
      b = before
      call MPI_Igatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, counts, displs, MPI_INTEGER, root, MPI_COMM_WORLD, req)
    else
      call MPI_Igatherv(a, me + 1, MPI_INTEGER, b, counts, displs, MPI_INTEGER, root, MPI_COMM_WORLD, req)
    end if
    call ends(req, 'MPI_Igatherv in place')
  end subroutine gathers

  subroutine scatters
    type(MPI_Request) :: req
    call fresh
    a = [(k, k = 0, room - 1)]
    want(:2) = [2 * me, 2 * me + 1]
    call MPI_Iscatter(a, 2, MPI_INTEGER, b, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Iscatter')
    call MPI_Scatter_init(a, 2, MPI_INTEGER, b, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Scatter_init')
    want(:me + 1) = [(displs(me + 1) + k, k = 0, me)]
    if (me == 0) want(2) = -1
    call MPI_Iscatterv(a, counts, displs, MPI_INTEGER, b, me + 1, MPI_INTEGER, 0, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Iscatterv')
    call MPI_Iscatterv(a, large_counts, large_displs, MPI_INTEGER, b, int(me + 1, MPI_COUNT_KIND), MPI_INTEGER, 0, &
      MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Iscatterv with large counts')
    call MPI_Scatterv_init(a, counts, displs, MPI_INTEGER, b, me + 1, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &
      req)
    call repeats(req, 'MPI_Scatterv_init')
    if (me == 0) then
      want = -1
      call MPI_Iscatterv(a, counts, displs, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, req)
    else
      call MPI_Iscatterv(a, counts, displs, MPI_INTEGER, b, me + 1, MPI_INTEGER, 0, MPI_COMM_WORLD, req)
    end if
    call ends(req, 'MPI_Iscatterv in place')
  end subroutine scatters

  subroutine gathers_to_all
    type(MPI_Request) :: req
    call fresh
    call want_all
    call MPI_Iallgatherv(a, me + 1, MPI_INTEGER, b, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Iallgatherv')
    call MPI_Iallgatherv(a, int(me + 1, MPI_COUNT_KIND), MPI_INTEGER, b, large_counts, large_displs, MPI_INTEGER, &
      MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Iallgatherv with large counts')
    call MPI_Allgatherv_init(a, me + 1, MPI_INTEGER, b, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Allgatherv_init')
    call MPI_Allgatherv_init(a, int(me + 1, MPI_COUNT_KIND), MPI_INTEGER, b, large_counts, large_displs, MPI_INTEGER, &
      MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Allgatherv_init with large counts')
    before(displs(me + 1) + 1:displs(me + 1) + me + 1) = a(:me + 1)
    b = before
    call MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Iallgatherv in place')
  end subroutine gathers_to_all

  ! Rank i sends i + 1 elements to each rank j: 100 * i + 10 * j and so on.
  subroutine exchanges
    integer, asynchronous :: sent(n), from(n), bytes_sent(n), bytes(n)
    integer(kind=MPI_COUNT_KIND), asynchronous :: large_sent(n)
    integer(kind=MPI_ADDRESS_KIND), asynchronous :: large_from(n), large_bytes_sent(n), large_bytes(n)
    type(MPI_Datatype), asynchronous :: types(n), types_sent(n)
    type(MPI_Datatype) :: word
    type(MPI_Request) :: req
    integer :: j
    call fresh
    a(:n) = [(100 * me + j, j = 0, n - 1)]
    want(:n) = [(100 * i + me, i = 0, n - 1)]
    call MPI_Ialltoall(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Ialltoall')
    call MPI_Alltoall_init(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Alltoall_init')

    sent = me + 1
    from = [((me + 2) * j, j = 0, n - 1)]
    do j = 0, n - 1
      a(from(j + 1) + 1:from(j + 1) + me + 2) = [(100 * me + 10 * j + k, k = 0, me + 1)]
    end do
    want = -1
    do i = 0, n - 1
      want(displs(i + 1) + 1:displs(i + 1) + i + 1) = [(100 * i + 10 * me + k, k = 0, i)]
    end do
    call MPI_Ialltoallv(a, sent, from, MPI_INTEGER, b, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Ialltoallv')
    large_sent = sent
    large_from = from
    call MPI_Ialltoallv(a, large_sent, large_from, MPI_INTEGER, b, large_counts, large_displs, MPI_INTEGER, &
      MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Ialltoallv with large counts')
    call MPI_Alltoallv_init(a, sent, from, MPI_INTEGER, b, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, &
      req)
    call repeats(req, 'MPI_Alltoallv_init')

    bytes_sent = 4 * from
    bytes = 4 * displs
    large_bytes_sent = bytes_sent
    large_bytes = bytes
    call kinds_of_types
    call MPI_Ialltoallw(a, sent, bytes_sent, types_sent, b, counts, bytes, types, MPI_COMM_WORLD, req)
    call MPI_Type_free(word)
    call ends(req, 'MPI_Ialltoallw')
    call kinds_of_types
    call MPI_Ialltoallw(a, large_sent, large_bytes_sent, types_sent, b, large_counts, large_bytes, types, &
      MPI_COMM_WORLD, req)
    call MPI_Type_free(word)
    call ends(req, 'MPI_Ialltoallw with large counts')
    call kinds_of_types
    call MPI_Alltoallw_init(a, sent, bytes_sent, types_sent, b, counts, bytes, types, MPI_COMM_WORLD, MPI_INFO_NULL, &
      req)
    call MPI_Type_free(word)
    call repeats(req, 'MPI_Alltoallw_init')
    call kinds_of_types
    call MPI_Alltoallw_init(a, large_sent, large_bytes_sent, types_sent, b, large_counts, large_bytes, types, &
      MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call MPI_Type_free(word)
    call repeats(req, 'MPI_Alltoallw_init with large counts')
    ! In place, one element goes to each rank and one comes back.
    counts = 1
    displs = [(3 * j, j = 0, n - 1)]
    want = -1
    do j = 0, n - 1
      before(3 * j + 1) = 100 * me + j
      want(3 * j + 1) = 100 * j + me
    end do
    b = before
    call MPI_Ialltoallv(MPI_IN_PLACE, counts, displs, MPI_DATATYPE_NULL, b, counts, displs, MPI_INTEGER, &
      MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Ialltoallv in place')
    call layout
  contains

    ! Every second rank's elements are of a datatype that is made for them.
    subroutine kinds_of_types
      call MPI_Type_contiguous(1, MPI_INTEGER, word)
      call MPI_Type_commit(word)
      types = MPI_INTEGER
      types(2::2) = word
      types_sent = word
      types_sent(2::2) = MPI_INTEGER
    end subroutine kinds_of_types
  end subroutine exchanges

  subroutine reductions
    type(MPI_Request) :: req
    integer :: ranks
    ranks = n * (n - 1) / 2
    call fresh
    want(:2) = [100 * ranks, 100 * ranks + n]
    call MPI_Allreduce_init(a, b, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Allreduce_init')
    call MPI_Allreduce_init(a, b, 2_MPI_COUNT_KIND, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Allreduce_init with a large count')
    before(:2) = a(:2)
    call MPI_Allreduce_init(MPI_IN_PLACE, b, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Allreduce_init in place')
    before = -1
    if (me /= 0) want = -1
    call MPI_Reduce_init(a, b, 2, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Reduce_init')
    if (me == 0) then
      before(:2) = a(:2)
      call MPI_Reduce_init(MPI_IN_PLACE, b, 2, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    else
      call MPI_Reduce_init(a, b, 2, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    end if
    call repeats(req, 'MPI_Reduce_init in place')

    call fresh
    want(:2) = [100 * ranks + 2 * n * me, 100 * ranks + 2 * n * me + n]
    call MPI_Ireduce_scatter_block(a, b, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Ireduce_scatter_block')
    call MPI_Reduce_scatter_block_init(a, b, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Reduce_scatter_block_init')
    ! Rank i gets i + 1 elements, behind those of the ranks before.
    want = -1
    want(:me + 1) = [(100 * ranks + n * (me * (me + 1) / 2 + k), k = 0, me)]
    call MPI_Ireduce_scatter(a, b, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Ireduce_scatter')
    call MPI_Ireduce_scatter(a, b, large_counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Ireduce_scatter with large counts')
    call MPI_Reduce_scatter_init(a, b, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Reduce_scatter_init')

    call fresh
    want(:2) = [50 * me * (me + 1), 50 * me * (me + 1) + me + 1]
    call MPI_Iscan(a, b, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Iscan')
    call MPI_Scan_init(a, b, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Scan_init')
    ! Rank 0 has no rank before it: nothing says what it gets.
    want(:2) = [50 * me * (me - 1), 50 * me * (me - 1) + me]
    call MPI_Iexscan(a, b, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, req)
    if (me == 0) call any_result
    call ends(req, 'MPI_Iexscan')
    before(:2) = a(:2)
    b = before
    call MPI_Iexscan(MPI_IN_PLACE, b, 2_MPI_COUNT_KIND, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, req)
    if (me == 0) call any_result
    call ends(req, 'MPI_Iexscan in place with a large count')
    call MPI_Exscan_init(a, b, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call MPI_Start(req)
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    if (me > 0) call alike(b, want, 2, 'MPI_Exscan_init')
    call MPI_Request_free(req)
  contains

    subroutine any_result
      call MPI_Wait(req, MPI_STATUS_IGNORE)
      want = b
    end subroutine any_result
  end subroutine reductions

  ! Every rank sends to the right and to itself.
  subroutine neighbours
    type(MPI_Comm) :: comm
    type(MPI_Request) :: req
    type(MPI_Datatype) :: word
    type(MPI_Datatype), asynchronous :: types(2), types_sent(2)
    integer, asynchronous :: sent(2), from(2), taken(2), to(2)
    integer(kind=MPI_COUNT_KIND), asynchronous :: large_sent(2), large_taken(2)
    integer(kind=MPI_ADDRESS_KIND), asynchronous :: bytes_sent(2), bytes(2), large_from(2), large_to(2)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, [left, me], MPI_UNWEIGHTED, 2, [right, me], MPI_UNWEIGHTED, &
      MPI_INFO_NULL, .false., comm)
    call fresh
    want(:4) = [100 * left, 100 * left + 1, 100 * me, 100 * me + 1]
    call MPI_Neighbor_allgather_init(a, 2, MPI_INTEGER, b, 2, MPI_INTEGER, comm, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Neighbor_allgather_init')
    want(:4) = [100 * left, 100 * left + 1, 100 * me + 2, 100 * me + 3]
    call MPI_Ineighbor_alltoall(a, 2, MPI_INTEGER, b, 2, MPI_INTEGER, comm, req)
    call ends(req, 'MPI_Ineighbor_alltoall')
    call MPI_Ineighbor_alltoall(a, 2_MPI_COUNT_KIND, MPI_INTEGER, b, 2_MPI_COUNT_KIND, MPI_INTEGER, comm, req)
    call ends(req, 'MPI_Ineighbor_alltoall with large counts')
    call MPI_Neighbor_alltoall_init(a, 2, MPI_INTEGER, b, 2, MPI_INTEGER, comm, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Neighbor_alltoall_init')

    taken = [left + 1, me + 1]
    to = [9, 0]
    large_taken = taken
    large_to = to
    want = -1
    want(:me + 1) = a(:me + 1)
    want(10:10 + left) = [(100 * left + k, k = 0, left)]
    call MPI_Neighbor_allgatherv(a, me + 1, MPI_INTEGER, b, taken, to, MPI_INTEGER, comm)
    call alike(b, want, room, 'MPI_Neighbor_allgatherv')
    b = before
    call MPI_Neighbor_allgatherv(a, int(me + 1, MPI_COUNT_KIND), MPI_INTEGER, b, large_taken, large_to, MPI_INTEGER, &
      comm)
    call alike(b, want, room, 'MPI_Neighbor_allgatherv with large counts')
    b = before
    call MPI_Ineighbor_allgatherv(a, me + 1, MPI_INTEGER, b, taken, to, MPI_INTEGER, comm, req)
    call ends(req, 'MPI_Ineighbor_allgatherv')
    call MPI_Neighbor_allgatherv_init(a, me + 1, MPI_INTEGER, b, taken, to, MPI_INTEGER, comm, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Neighbor_allgatherv_init')
    call MPI_Neighbor_allgatherv_init(a, int(me + 1, MPI_COUNT_KIND), MPI_INTEGER, b, large_taken, large_to, &
      MPI_INTEGER, comm, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Neighbor_allgatherv_init with large counts')

    ! me + 1 elements go to the right, and two from further behind to the rank itself.
    sent = [me + 1, 2]
    from = [0, 20]
    large_sent = sent
    large_from = from
    taken(2) = 2
    large_taken = taken
    want = -1
    want(:2) = a(21:22)
    want(10:10 + left) = [(100 * left + k, k = 0, left)]
    call MPI_Neighbor_alltoallv(a, sent, from, MPI_INTEGER, b, taken, to, MPI_INTEGER, comm)
    call alike(b, want, room, 'MPI_Neighbor_alltoallv')
    b = before
    call MPI_Ineighbor_alltoallv(a, sent, from, MPI_INTEGER, b, taken, to, MPI_INTEGER, comm, req)
    call ends(req, 'MPI_Ineighbor_alltoallv')
    call MPI_Ineighbor_alltoallv(a, large_sent, large_from, MPI_INTEGER, b, large_taken, large_to, MPI_INTEGER, comm, &
      req)
    call ends(req, 'MPI_Ineighbor_alltoallv with large counts')
    call MPI_Neighbor_alltoallv_init(a, sent, from, MPI_INTEGER, b, taken, to, MPI_INTEGER, comm, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Neighbor_alltoallv_init')

    bytes_sent = 4 * from
    bytes = 4 * to
    call kinds_of_types
    call MPI_Neighbor_alltoallw(a, sent, bytes_sent, types_sent, b, taken, bytes, types, comm)
    call alike(b, want, room, 'MPI_Neighbor_alltoallw')
    b = before
    call MPI_Neighbor_alltoallw(a, large_sent, bytes_sent, types_sent, b, large_taken, bytes, types, comm)
    call alike(b, want, room, 'MPI_Neighbor_alltoallw with large counts')
    b = before
    call MPI_Ineighbor_alltoallw(a, sent, bytes_sent, types_sent, b, taken, bytes, types, comm, req)
    call MPI_Type_free(word)
    call ends(req, 'MPI_Ineighbor_alltoallw')
    call kinds_of_types
    call MPI_Neighbor_alltoallw_init(a, sent, bytes_sent, types_sent, b, taken, bytes, types, comm, MPI_INFO_NULL, req)
    call MPI_Type_free(word)
    call repeats(req, 'MPI_Neighbor_alltoallw_init')
    call MPI_Comm_free(comm)
  contains

    subroutine kinds_of_types
      call MPI_Type_contiguous(1, MPI_INTEGER, word)
      call MPI_Type_commit(word)
      types = [word, MPI_INTEGER]
      types_sent = [MPI_INTEGER, word]
    end subroutine kinds_of_types
  end subroutine neighbours

  ! A grid of two dimensions has four neighbours, a graph as many as it says.
  subroutine other_topologies
    type(MPI_Comm) :: comm
    type(MPI_Request) :: req
    integer, asynchronous :: ones(4)
    integer(kind=MPI_ADDRESS_KIND), asynchronous :: none(4), bytes(4)
    type(MPI_Datatype), asynchronous :: types(4)
    ones = 1
    none = 0
    bytes = [12, 8, 4, 0]
    types = MPI_INTEGER
    call MPI_Cart_create(MPI_COMM_WORLD, 2, [n, 1], [.true., .true.], .false., comm)
    call fresh
    want(:4) = 100 * [me, me, right, left]
    call MPI_Neighbor_alltoallw(a, ones, none, types, b, ones, bytes, types, comm)
    call alike(b, want, room, 'MPI_Neighbor_alltoallw in a grid')
    b = before
    call MPI_Ineighbor_alltoallw(a, ones, none, types, b, ones, bytes, types, comm, req)
    call ends(req, 'MPI_Ineighbor_alltoallw in a grid')
    call MPI_Comm_free(comm)
    call MPI_Graph_create(MPI_COMM_WORLD, n, [(2 * i, i = 1, n)], [(mod(i / 2 + n - 1 + 2 * mod(i, 2), n), &
      i = 0, 2 * n - 1)], .false., comm)
    want = -1
    want(3:4) = 100 * [right, left]
    call MPI_Neighbor_alltoallw(a, ones, none, types, b, ones, bytes, types, comm)
    call alike(b, want, room, 'MPI_Neighbor_alltoallw in a graph')
    b = before
    call MPI_Neighbor_alltoallw_init(a, ones, none, types, b, ones, bytes, types, comm, MPI_INFO_NULL, req)
    call repeats(req, 'MPI_Neighbor_alltoallw_init in a graph')
    call MPI_Comm_free(comm)
  end subroutine other_topologies

  ! Blocking ones take sections: here every second element is sent and received.
  subroutine sections
    type(MPI_Comm) :: comm
    integer :: ranks, ones(n), back(n)
    ranks = n * (n - 1) / 2
    call fresh
    line = -1
    if (me == 0) then
      do i = 0, n - 1
        want(displs(i + 1) + 1:displs(i + 1) + i + 1) = [(100 * i + 2 * k, k = 0, i)]
      end do
    end if
    call MPI_Gatherv(a(1::2), me + 1, MPI_INTEGER, line(1::2), counts, displs, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call in_line('MPI_Gatherv')
    want(:me + 1) = [(room - 1 - 2 * (displs(me + 1) + k), k = 0, me)]
    call MPI_Scatterv(a(room:1:-2), counts, displs, MPI_INTEGER, line(1::2), me + 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call in_line('MPI_Scatterv')
    ones = 1
    back = [(n - 1 - i, i = 0, n - 1)]
    want(n:1:-1) = [(100 * i + 2 * (n - 1 - me), i = 0, n - 1)]
    call MPI_Alltoallv(a(1::2), ones, back, MPI_INTEGER, line(1::2), ones, back, MPI_INTEGER, MPI_COMM_WORLD)
    call in_line('MPI_Alltoallv')
    want(:2) = [100 * ranks + 4 * n * me, 100 * ranks + 4 * n * me + 2 * n]
    call MPI_Reduce_scatter_block(a(1::2), line(1::2), 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call in_line('MPI_Reduce_scatter_block')
    want(:me + 1) = [(100 * ranks + 2 * n * (me * (me + 1) / 2 + k), k = 0, me)]
    call MPI_Reduce_scatter(a(1::2), line(1::2), counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call in_line('MPI_Reduce_scatter')
    call MPI_Exscan(a(1::2), line(1::2), 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    want(:2) = [50 * me * (me - 1), 50 * me * (me - 1) + 2 * me]
    if (me == 0) want = line(1::2)
    call in_line('MPI_Exscan')
    line(1:5:2) = 7
    want(:3) = 7 + a(1:5:2)
    call MPI_Reduce_local(a(1::2), line(1::2), 3, MPI_INTEGER, MPI_SUM)
    call in_line('MPI_Reduce_local')
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, [left, me], MPI_UNWEIGHTED, 2, [right, me], MPI_UNWEIGHTED, &
      MPI_INFO_NULL, .false., comm)
    want(:4) = [100 * left, 100 * left + 2, 100 * me, 100 * me + 2]
    call MPI_Neighbor_allgather(a(1::2), 2, MPI_INTEGER, line(1::2), 2, MPI_INTEGER, comm)
    call in_line('MPI_Neighbor_allgather')
    want(:4) = [100 * left, 100 * left + 2, 100 * me + 4, 100 * me + 6]
    call MPI_Neighbor_alltoall(a(1::2), 2, MPI_INTEGER, line(1::2), 2, MPI_INTEGER, comm)
    call in_line('MPI_Neighbor_alltoall')
    call MPI_Comm_free(comm)
  end subroutine sections

  subroutine in_line(what)
    character(len=*), intent(in) :: what
    call alike(line(1::2), want, room, what)
    call holds(all(line(2::2) == -1), 'gaps of '//what)
    line = -1
    want = -1
  end subroutine in_line

  subroutine layout
    counts = [(i + 1, i = 0, n - 1)]
    displs = [(i * (i + 3) / 2, i = 0, n - 1)]
    large_counts = counts
    large_displs = displs
  end subroutine layout
end module more_collectives

program f08_coll_more
  use more_collectives
  implicit none
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  left = mod(me + n - 1, n)
  right = mod(me + 1, n)
  allocate (counts(n), displs(n), large_counts(n), large_displs(n))
  call layout
  call barriers
  call broadcasts
  call gathers
  call scatters
  call gathers_to_all
  call exchanges
  call reductions
  call neighbours
  call other_topologies
  call sections
  call finish('f08_coll_more')
  call MPI_Finalize()
end program f08_coll_more
