! Sections of arrays of which every rank has a part: the elements of a section count as if they followed each other, so
! that the part of a rank begins where that of the rank before ends.

program f08_blocks
  use mpi_f08
  implicit none
  integer :: me, n, i
  integer, allocatable :: line(:), want(:), grid(:, :), to(:), wanted(:, :)
  integer :: code, class
  type(MPI_Request) :: req
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  allocate (line(4 * n), want(4 * n), grid(3, 2 * n), to(2 * n))

  line = -1
  want = -1
  want(1::4) = [(100 * i, i = 0, n - 1)]
  want(3::4) = [(100 * i + 1, i = 0, n - 1)]
  call MPI_Allgather([100 * me, 100 * me + 1], 2, MPI_INTEGER, line(1::2), 2, MPI_INTEGER, MPI_COMM_WORLD)
  call alike(line, want, 4 * n, 'MPI_Allgather')

  line = -1
  if (me /= 0) want = -1
  call MPI_Gather([100 * me, 100 * me + 1], 2, MPI_INTEGER, line(1::2), 2, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call alike(line, want, 4 * n, 'MPI_Gather')

  line = -1
  if (me == 0) line = [(i, i = 1, 4 * n)]
  to = -1
  call MPI_Scatter(line(4 * n:1:-2), 2, MPI_INTEGER, to, 2, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call alike(to, [4 * (n - me), 4 * (n - me) - 2], 2, 'MPI_Scatter')

  grid = -1
  grid(2, :) = [(1000 * me + i, i = 0, 2 * n - 1)]
  line = -1
  want = -1
  do i = 0, n - 1
    want(4 * i + 2) = 1000 * i + 2 * me
    want(4 * i + 4) = 1000 * i + 2 * me + 1
  end do
  call MPI_Alltoall(grid(2, :), 2, MPI_INTEGER, line(2::2), 2, MPI_INTEGER, MPI_COMM_WORLD)
  call alike(line, want, 4 * n, 'MPI_Alltoall')

  ! Nonblocking ones describe the parts where they lie, in one dimension or by whole rows.
  line = -1
  want = -1
  want(1::4) = [(100 * i, i = 0, n - 1)]
  want(3::4) = [(100 * i + 1, i = 0, n - 1)]
  to(1:2) = [100 * me, 100 * me + 1]
  call MPI_Iallgather(to, 2, MPI_INTEGER, line(1::2), 2, MPI_INTEGER, MPI_COMM_WORLD, req)
  call MPI_Wait(req, MPI_STATUS_IGNORE)
  call alike(line, want, 4 * n, 'MPI_Iallgather')

  allocate (wanted(3, 2 * n))
  grid = -1
  wanted = -1
  do i = 0, n - 1
    wanted(1:3:2, 2 * i + 1) = [10 * i, 10 * i + 1]
    wanted(1:3:2, 2 * i + 2) = [10 * i + 2, 10 * i + 3]
  end do
  line(1:4) = [(10 * me + i, i = 0, 3)]
  call MPI_Allgather_init(line, 4, MPI_INTEGER, grid(1:3:2, :), 4, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, req)
  call MPI_Start(req)
  call MPI_Wait(req, MPI_STATUS_IGNORE)
  call MPI_Request_free(req)
  call alike(grid, wanted, 6 * n, 'MPI_Allgather_init by whole rows')

  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Iallgather(line, 1, MPI_INTEGER, grid(1:3:2, :), 1, MPI_INTEGER, MPI_COMM_WORLD, req, code)
  call MPI_Error_class(code, class)
  call alike([class], [MPI_ERR_BUFFER], 1, 'MPI_Iallgather of half a row each')

  call finish('f08_blocks')
  call MPI_Finalize()
end program f08_blocks
