! Forms with counts of 8 bytes of mpi_f08, which other programs do not call. No call has `ierror`.

module large_counts
  use mpi_f08
  implicit none
  integer, parameter :: room = 40
  integer(kind=MPI_COUNT_KIND), parameter :: one = 1, two = 2, three = 3
  integer :: me, n, left, right, ranks, i
  integer, asynchronous :: a(room), b(room), want(room)
  ! Each rank has two elements, and a gap of one lies behind them.
  integer(kind=MPI_COUNT_KIND), allocatable, asynchronous :: counts(:)
  integer(kind=MPI_ADDRESS_KIND), allocatable, asynchronous :: displs(:)
contains

  ! What is wanted is there; nothing is wanted next.
  subroutine check(what)
    character(len=*), intent(in) :: what
    call alike(b, want, room, what//' with large counts')
    a = [(100 * me + i, i = 0, room - 1)]
    b = -1
    want = -1
  end subroutine check

  subroutine ends(req, what)
    type(MPI_Request), intent(inout) :: req
    character(len=*), intent(in) :: what
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call check(what)
  end subroutine ends

  subroutine starts(req, what)
    type(MPI_Request), intent(inout) :: req
    character(len=*), intent(in) :: what
    call MPI_Start(req)
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call MPI_Request_free(req)
    call check(what)
  end subroutine starts

  ! Two elements go to the right; they come at the third place.
  subroutine messages
    type(MPI_Request) :: req, sent
    type(MPI_Message) :: message
    type(MPI_Status) :: status
    integer(kind=MPI_COUNT_KIND) :: elements
    character(len=1000 + 6 * MPI_BSEND_OVERHEAD), save, target :: buffer
    call MPI_Buffer_attach(buffer, len(buffer))
    call begin
    call MPI_Isend(a, two, MPI_INTEGER, right, 1, MPI_COMM_WORLD, sent)
    call received('MPI_Isend')
    call begin
    call MPI_Issend(a, two, MPI_INTEGER, right, 1, MPI_COMM_WORLD, sent)
    call received('MPI_Issend')
    call begin
    call MPI_Ibsend(a, two, MPI_INTEGER, right, 1, MPI_COMM_WORLD, sent)
    call received('MPI_Ibsend')
    call begin
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Irsend(a, two, MPI_INTEGER, right, 1, MPI_COMM_WORLD, sent)
    call received('MPI_Irsend')
    call begin
    call MPI_Send_init(a, two, MPI_INTEGER, right, 1, MPI_COMM_WORLD, sent)
    call received_twice('MPI_Send_init')
    call begin
    call MPI_Ssend_init(a, two, MPI_INTEGER, right, 1, MPI_COMM_WORLD, sent)
    call received_twice('MPI_Ssend_init')
    call begin
    call MPI_Bsend_init(a, two, MPI_INTEGER, right, 1, MPI_COMM_WORLD, sent)
    call received_twice('MPI_Bsend_init')
    call begin
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Rsend_init(a, two, MPI_INTEGER, right, 1, MPI_COMM_WORLD, sent)
    call received_twice('MPI_Rsend_init')
    sent = MPI_REQUEST_NULL
    call begin
    call MPI_Ssend(a, two, MPI_INTEGER, right, 1, MPI_COMM_WORLD)
    call received('MPI_Ssend')
    call begin
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Rsend(a, two, MPI_INTEGER, right, 1, MPI_COMM_WORLD)
    call received('MPI_Rsend')
    call MPI_Recv_init(b(3), two, MPI_INTEGER, left, 1, MPI_COMM_WORLD, req)
    call MPI_Start(req)
    call MPI_Bsend(a, two, MPI_INTEGER, right, 1, MPI_COMM_WORLD)
    call MPI_Wait(req, status)
    call MPI_Get_elements(status, MPI_INTEGER, elements)
    call holds(elements == 2, 'MPI_Get_elements')
    call MPI_Request_free(req)
    call expected('MPI_Recv_init')

    call MPI_Sendrecv(a, two, MPI_INTEGER, right, 1, b(3), two, MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expected('MPI_Sendrecv')
    call MPI_Isendrecv(a, two, MPI_INTEGER, right, 1, b(3), two, MPI_INTEGER, left, 1, MPI_COMM_WORLD, req)
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call expected('MPI_Isendrecv')
    b(3:4) = a(1:2)
    call MPI_Sendrecv_replace(b(3), two, MPI_INTEGER, right, 1, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call expected('MPI_Sendrecv_replace')
    call MPI_Bsend(a, two, MPI_INTEGER, right, 1, MPI_COMM_WORLD)
    call MPI_Mprobe(left, 1, MPI_COMM_WORLD, message, status)
    call MPI_Mrecv(b(3), two, MPI_INTEGER, message, status)
    call expected('MPI_Mrecv')
    call MPI_Bsend(a, two, MPI_INTEGER, right, 1, MPI_COMM_WORLD)
    call MPI_Mprobe(left, 1, MPI_COMM_WORLD, message, status)
    call MPI_Imrecv(b(3), two, MPI_INTEGER, message, req)
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call expected('MPI_Imrecv')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Buffer_flush()
  contains

    subroutine begin
      call MPI_Irecv(b(3), two, MPI_INTEGER, left, 1, MPI_COMM_WORLD, req)
    end subroutine begin

    subroutine received(what)
      character(len=*), intent(in) :: what
      call MPI_Wait(sent, MPI_STATUS_IGNORE)
      call MPI_Wait(req, MPI_STATUS_IGNORE)
      call expected(what)
    end subroutine received

    subroutine received_twice(what)
      character(len=*), intent(in) :: what
      call MPI_Start(sent)
      call received(what)
      call begin
      call MPI_Barrier(MPI_COMM_WORLD)
      call MPI_Start(sent)
      call received(what)
      call MPI_Request_free(sent)
    end subroutine received_twice

    subroutine expected(what)
      character(len=*), intent(in) :: what
      want(3:4) = [100 * left, 100 * left + 1]
      call check(what)
    end subroutine expected
  end subroutine messages

  subroutine rooted
    type(MPI_Request) :: req
    integer :: root
    root = n - 1
    if (me == root) want(:2 * n) = [(100 * (i / 2) + mod(i, 2), i = 0, 2 * n - 1)]
    call MPI_Gather(a, two, MPI_INTEGER, b, two, MPI_INTEGER, root, MPI_COMM_WORLD)
    call check('MPI_Gather')
    if (me == root) want(:2 * n) = [(100 * (i / 2) + mod(i, 2), i = 0, 2 * n - 1)]
    call MPI_Gather_init(a, two, MPI_INTEGER, b, two, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call starts(req, 'MPI_Gather_init')
    if (me == root) call want_all
    call MPI_Gatherv(a, two, MPI_INTEGER, b, counts, displs, MPI_INTEGER, root, MPI_COMM_WORLD)
    call check('MPI_Gatherv')
    if (me == root) call want_all
    call MPI_Gatherv_init(a, two, MPI_INTEGER, b, counts, displs, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call starts(req, 'MPI_Gatherv_init')
    want(:2) = 100 * root + [2 * me, 2 * me + 1]
    call MPI_Scatter(a, two, MPI_INTEGER, b, two, MPI_INTEGER, root, MPI_COMM_WORLD)
    call check('MPI_Scatter')
    want(:2) = 100 * root + [2 * me, 2 * me + 1]
    call MPI_Iscatter(a, two, MPI_INTEGER, b, two, MPI_INTEGER, root, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Iscatter')
    want(:2) = 100 * root + [2 * me, 2 * me + 1]
    call MPI_Scatter_init(a, two, MPI_INTEGER, b, two, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call starts(req, 'MPI_Scatter_init')
    want(:2) = 100 * root + [3 * me, 3 * me + 1]
    call MPI_Scatterv(a, counts, displs, MPI_INTEGER, b, two, MPI_INTEGER, root, MPI_COMM_WORLD)
    call check('MPI_Scatterv')
    want(:2) = 100 * root + [3 * me, 3 * me + 1]
    call MPI_Scatterv_init(a, counts, displs, MPI_INTEGER, b, two, MPI_INTEGER, root, MPI_COMM_WORLD, MPI_INFO_NULL, &
      req)
    call starts(req, 'MPI_Scatterv_init')
    if (me == root) b(:2) = [5, 6]
    want(:2) = [5, 6]
    call MPI_Ibcast(b, two, MPI_INTEGER, root, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Ibcast')
    if (me == root) want(:2) = 100 * ranks + [0, n]
    call MPI_Reduce(a, b, two, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD)
    call check('MPI_Reduce')
    if (me == root) want(:2) = 100 * ranks + [0, n]
    call MPI_Ireduce(a, b, two, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Ireduce')
    if (me == root) want(:2) = 100 * ranks + [0, n]
    call MPI_Reduce_init(a, b, two, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call starts(req, 'MPI_Reduce_init')
  end subroutine rooted

  ! The elements of each rank `i` are 100 * i and 100 * i + 1.
  subroutine want_all
    do i = 0, n - 1
      want(3 * i + 1:3 * i + 2) = [100 * i, 100 * i + 1]
    end do
  end subroutine want_all

  ! Rank `i` sends the elements 100 * i + 3 * me and the next one to this rank.
  subroutine want_mine
    do i = 0, n - 1
      want(3 * i + 1:3 * i + 2) = 100 * i + 3 * me + [0, 1]
    end do
  end subroutine want_mine

  subroutine among_all
    type(MPI_Request) :: req
    integer(kind=MPI_ADDRESS_KIND), asynchronous :: bytes(n)
    type(MPI_Datatype), asynchronous :: types(n)
    call want_pairs
    call MPI_Allgather(a, two, MPI_INTEGER, b, two, MPI_INTEGER, MPI_COMM_WORLD)
    call check('MPI_Allgather')
    call want_pairs
    call MPI_Iallgather(a, two, MPI_INTEGER, b, two, MPI_INTEGER, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Iallgather')
    call want_pairs
    call MPI_Allgather_init(a, two, MPI_INTEGER, b, two, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call starts(req, 'MPI_Allgather_init')
    call want_pairs(2 * me)
    call MPI_Alltoall(a, two, MPI_INTEGER, b, two, MPI_INTEGER, MPI_COMM_WORLD)
    call check('MPI_Alltoall')
    call want_pairs(2 * me)
    call MPI_Ialltoall(a, two, MPI_INTEGER, b, two, MPI_INTEGER, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Ialltoall')
    call want_pairs(2 * me)
    call MPI_Alltoall_init(a, two, MPI_INTEGER, b, two, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call starts(req, 'MPI_Alltoall_init')
    call want_mine
    call MPI_Alltoallv(a, counts, displs, MPI_INTEGER, b, counts, displs, MPI_INTEGER, MPI_COMM_WORLD)
    call check('MPI_Alltoallv')
    call want_mine
    call MPI_Alltoallv_init(a, counts, displs, MPI_INTEGER, b, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, &
      MPI_INFO_NULL, req)
    call starts(req, 'MPI_Alltoallv_init')
    bytes = 4 * displs
    types = MPI_INTEGER
    call want_mine
    call MPI_Alltoallw(a, counts, bytes, types, b, counts, bytes, types, MPI_COMM_WORLD)
    call check('MPI_Alltoallw')
  end subroutine among_all

  ! Two elements of each rank follow each other, from this one on.
  subroutine want_pairs(from)
    integer, intent(in), optional :: from
    want(:2 * n) = [(100 * (i / 2) + mod(i, 2), i = 0, 2 * n - 1)]
    if (present(from)) want(:2 * n) = want(:2 * n) + from
  end subroutine want_pairs

  subroutine reductions
    type(MPI_Request) :: req
    want(:2) = 100 * ranks + [0, n]
    call MPI_Iallreduce(a, b, two, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Iallreduce')
    want(:2) = 100 * ranks + 2 * n * me + [0, n]
    call MPI_Reduce_scatter_block(a, b, two, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('MPI_Reduce_scatter_block')
    want(:2) = 100 * ranks + 2 * n * me + [0, n]
    call MPI_Ireduce_scatter_block(a, b, two, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Ireduce_scatter_block')
    want(:2) = 100 * ranks + 2 * n * me + [0, n]
    call MPI_Reduce_scatter_block_init(a, b, two, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call starts(req, 'MPI_Reduce_scatter_block_init')
    want(:2) = 100 * ranks + 2 * n * me + [0, n]
    call MPI_Reduce_scatter(a, b, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('MPI_Reduce_scatter')
    want(:2) = 100 * ranks + 2 * n * me + [0, n]
    call MPI_Reduce_scatter_init(a, b, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call starts(req, 'MPI_Reduce_scatter_init')
    want(:2) = 50 * me * (me + 1) + [0, me + 1]
    call MPI_Scan(a, b, two, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('MPI_Scan')
    want(:2) = 50 * me * (me + 1) + [0, me + 1]
    call MPI_Iscan(a, b, two, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, req)
    call ends(req, 'MPI_Iscan')
    want(:2) = 50 * me * (me + 1) + [0, me + 1]
    call MPI_Scan_init(a, b, two, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call starts(req, 'MPI_Scan_init')
    ! Nothing says what rank 0 gets.
    call MPI_Exscan(a, b, two, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (me == 0) b(:2) = 0
    want(:2) = 50 * me * (me - 1) + [0, me]
    call check('MPI_Exscan')
    call MPI_Exscan_init(a, b, two, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    call MPI_Start(req)
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call MPI_Request_free(req)
    if (me == 0) b(:2) = 0
    want(:2) = 50 * me * (me - 1) + [0, me]
    call check('MPI_Exscan_init')
    b(:2) = 3
    want(:2) = 3 + a(:2)
    call MPI_Reduce_local(a, b, two, MPI_INTEGER, MPI_SUM)
    call check('MPI_Reduce_local')
  end subroutine reductions

  ! Every rank sends to the right and to itself.
  subroutine neighbours
    type(MPI_Comm) :: comm
    type(MPI_Request) :: req
    type(MPI_Datatype), asynchronous :: types(2)
    integer(kind=MPI_COUNT_KIND), asynchronous :: twos(2)
    integer(kind=MPI_ADDRESS_KIND), asynchronous :: places(2), bytes(2)
    twos = 2
    places = [0, 3]
    bytes = 4 * places
    types = MPI_INTEGER
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, [left, me], MPI_UNWEIGHTED, 2, [right, me], MPI_UNWEIGHTED, &
      MPI_INFO_NULL, .false., comm)
    call pairs(2, 0)
    call MPI_Neighbor_allgather(a, two, MPI_INTEGER, b, two, MPI_INTEGER, comm)
    call check('MPI_Neighbor_allgather')
    call pairs(2, 0)
    call MPI_Ineighbor_allgather(a, two, MPI_INTEGER, b, two, MPI_INTEGER, comm, req)
    call ends(req, 'MPI_Ineighbor_allgather')
    call pairs(2, 0)
    call MPI_Neighbor_allgather_init(a, two, MPI_INTEGER, b, two, MPI_INTEGER, comm, MPI_INFO_NULL, req)
    call starts(req, 'MPI_Neighbor_allgather_init')
    call pairs(3, 0)
    call MPI_Ineighbor_allgatherv(a, two, MPI_INTEGER, b, twos, places, MPI_INTEGER, comm, req)
    call ends(req, 'MPI_Ineighbor_allgatherv')
    call pairs(2, 2)
    call MPI_Neighbor_alltoall(a, two, MPI_INTEGER, b, two, MPI_INTEGER, comm)
    call check('MPI_Neighbor_alltoall')
    call pairs(2, 2)
    call MPI_Neighbor_alltoall_init(a, two, MPI_INTEGER, b, two, MPI_INTEGER, comm, MPI_INFO_NULL, req)
    call starts(req, 'MPI_Neighbor_alltoall_init')
    call pairs(3, 3)
    call MPI_Neighbor_alltoallv(a, twos, places, MPI_INTEGER, b, twos, places, MPI_INTEGER, comm)
    call check('MPI_Neighbor_alltoallv')
    call pairs(3, 3)
    call MPI_Neighbor_alltoallv_init(a, twos, places, MPI_INTEGER, b, twos, places, MPI_INTEGER, comm, &
      MPI_INFO_NULL, req)
    call starts(req, 'MPI_Neighbor_alltoallv_init')
    call pairs(3, 3)
    call MPI_Ineighbor_alltoallw(a, twos, bytes, types, b, twos, bytes, types, comm, req)
    call ends(req, 'MPI_Ineighbor_alltoallw')
    call pairs(3, 3)
    call MPI_Neighbor_alltoallw_init(a, twos, bytes, types, b, twos, bytes, types, comm, MPI_INFO_NULL, req)
    call starts(req, 'MPI_Neighbor_alltoallw_init')
    call MPI_Comm_free(comm)
  end subroutine neighbours

  ! The left one's elements, and behind them those of this rank from another place on.
  subroutine pairs(behind, own)
    integer, intent(in) :: behind, own
    want(:2) = 100 * left + [0, 1]
    want(behind + 1:behind + 2) = 100 * me + own + [0, 1]
  end subroutine pairs

  ! Elements of `a` by their places, which a datatype takes in this order.
  subroutine takes(datatype, places, what)
    type(MPI_Datatype), intent(inout) :: datatype
    integer, intent(in) :: places(:)
    character(len=*), intent(in) :: what
    call MPI_Type_commit(datatype)
    call MPI_Sendrecv(a, one, datatype, 0, 1, b, 40_MPI_COUNT_KIND, MPI_INTEGER, 0, 1, MPI_COMM_SELF, &
      MPI_STATUS_IGNORE)
    want(:size(places)) = 100 * me - 1 + places
    call MPI_Type_free(datatype)
    call check(what)
  end subroutine takes

  subroutine datatypes
    type(MPI_Datatype) :: datatype, resized, types(2)
    integer(kind=MPI_COUNT_KIND) :: numbers(4), large(5), bytes, position
    integer(kind=MPI_ADDRESS_KIND) :: bound, extent, addresses(1)
    integer :: combiner, ints(1)
    character(len=12) :: packed
    call MPI_Type_vector(three, one, two, MPI_INTEGER, datatype)
    call takes(datatype, [1, 3, 5], 'MPI_Type_vector')
    call MPI_Type_create_hvector(three, one, 12_MPI_COUNT_KIND, MPI_INTEGER, datatype)
    call takes(datatype, [1, 4, 7], 'MPI_Type_create_hvector')
    call MPI_Type_indexed(two, [one, two], [three, one], MPI_INTEGER, datatype)
    call takes(datatype, [4, 2, 3], 'MPI_Type_indexed')
    call MPI_Type_create_hindexed(two, [one, two], [20_MPI_COUNT_KIND, 4_MPI_COUNT_KIND], MPI_INTEGER, datatype)
    call takes(datatype, [6, 2, 3], 'MPI_Type_create_hindexed')
    call MPI_Type_create_hindexed_block(two, two, [16_MPI_COUNT_KIND, 0_MPI_COUNT_KIND], MPI_INTEGER, datatype)
    call takes(datatype, [5, 6, 1, 2], 'MPI_Type_create_hindexed_block')
    call MPI_Type_create_subarray(2, [4_MPI_COUNT_KIND, three], [two, two], [one, one], MPI_ORDER_FORTRAN, &
      MPI_INTEGER, &
      datatype)
    call takes(datatype, [6, 7, 10, 11], 'MPI_Type_create_subarray')
    call MPI_Type_create_darray(n, me, 1, [int(2 * n, MPI_COUNT_KIND)], [MPI_DISTRIBUTE_CYCLIC], &
      [MPI_DISTRIBUTE_DFLT_DARG], [n], MPI_ORDER_FORTRAN, MPI_INTEGER, datatype)
    call takes(datatype, [me + 1, me + 1 + n], 'MPI_Type_create_darray')
    call MPI_Type_create_struct(two, [two, one], [8_MPI_COUNT_KIND, 0_MPI_COUNT_KIND], [MPI_INTEGER, MPI_INTEGER], &
      datatype)
    call MPI_Type_get_envelope(datatype, numbers(1), numbers(2), numbers(3), numbers(4), combiner)
    call holds(all(numbers == [0, 0, 5, 2]) .and. combiner == MPI_COMBINER_STRUCT, 'MPI_Type_get_envelope')
    call MPI_Type_get_contents(datatype, numbers(1), numbers(2), numbers(3), numbers(4), ints, addresses, large, types)
    call holds(all(large == [2, 2, 1, 8, 0]) .and. all(types == MPI_INTEGER), 'MPI_Type_get_contents')
    call MPI_Type_create_resized(datatype, -4_MPI_COUNT_KIND, 2_MPI_COUNT_KIND ** 40, resized)
    call MPI_Type_get_extent(resized, bound, extent)
    call holds(bound == -4 .and. extent == 2_MPI_COUNT_KIND ** 40, 'MPI_Type_create_resized')
    call MPI_Type_free(resized)
    call takes(datatype, [3, 4, 1], 'MPI_Type_create_struct')
    call MPI_Pack_size(three, MPI_INTEGER, MPI_COMM_SELF, bytes)
    call holds(bytes >= 12, 'MPI_Pack_size')
    bytes = 12
    position = 0
    call MPI_Pack(a, three, MPI_INTEGER, packed, bytes, position, MPI_COMM_SELF)
    position = 4
    call MPI_Unpack(packed, bytes, position, b, two, MPI_INTEGER, MPI_COMM_SELF)
    want(:2) = a(2:3)
    call check('MPI_Unpack')
    call MPI_Pack_external_size('external32', three, MPI_INTEGER, bytes)
    call holds(bytes == 12, 'MPI_Pack_external_size')
    position = 0
    call MPI_Pack_external('external32', a(1:5:2), three, MPI_INTEGER, packed, bytes, position)
    call same(packed(4:4), char(mod(100 * me, 256)), 'external32')
    position = 4
    call MPI_Unpack_external('external32', packed, bytes, position, b(4:1:-2), two, MPI_INTEGER)
    want(2:4:2) = [a(5), a(3)]
    call check('MPI_Unpack_external')
  end subroutine datatypes
end module large_counts

program f08_large
  use large_counts
  implicit none
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  left = mod(me + n - 1, n)
  right = mod(me + 1, n)
  ranks = n * (n - 1) / 2
  allocate (counts(n), displs(n))
  counts = 2
  displs = [(3 * i, i = 0, n - 1)]
  a = [(100 * me + i, i = 0, room - 1)]
  b = -1
  want = -1
  call messages
  call rooted
  call among_all
  call reductions
  call neighbours
  call datatypes
  call finish('f08_large')
  call MPI_Finalize()
end program f08_large
