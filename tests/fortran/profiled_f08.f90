! Sends by MPI_Send and by PMPI_Send, of a section and without `ierror`, through mpi_f08; one rank.
program profiled
  use mpi_f08
  implicit none
  integer, asynchronous :: b(3)
  integer :: a(6) = [1, 2, 3, 4, 5, 6]
  type(MPI_Request) :: req
  call MPI_Init()
  call MPI_Irecv(b, 3, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, req)
  call MPI_Send(a(1:6:2), 3, MPI_INTEGER, 0, 1, MPI_COMM_WORLD)
  call MPI_Wait(req, MPI_STATUS_IGNORE)
  call alike(b, [1, 3, 5], 3, 'MPI_Send')
  call MPI_Irecv(b, 2, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, req)
  call PMPI_Send(a(6:4:-2), 2, MPI_INTEGER, 0, 1, MPI_COMM_WORLD)
  call PMPI_Wait(req, MPI_STATUS_IGNORE)
  call alike(b, [6, 4, 5], 3, 'PMPI_Send')
  call finish('profiled_f08')
  call MPI_Finalize()
end program profiled
