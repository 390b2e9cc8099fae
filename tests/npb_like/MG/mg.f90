! Stands for MG of NPB-MPI: each rank sends messages of known lengths to the next one, and rank 0 prints what the
! programs of NPB-MPI print.
program mg
    use mpi
    implicit none
    integer, parameter :: lengths(4) = [8, 1000, 8192, 100000]
    character :: sent(100000), received(100000)
    integer :: rank, ranks, error, turn, i
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    sent = 'x'
    do turn = 1, 10
        do i = 1, merge(4, 0, ranks > 1)
            call MPI_Sendrecv(sent, lengths(i), MPI_CHARACTER, mod(rank + 1, ranks), 7, &
                received, lengths(i), MPI_CHARACTER, mod(rank + ranks - 1, ranks), 7, &
                MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
        end do
    end do
    if (rank == 0) then
        print '(a, f12.2)', ' Time in seconds =             ', 2.0 / ranks
        print '(a, f12.2)', ' Mop/s total     =             ', 100.0 * ranks
        print '(a)', ' Verification    =               SUCCESSFUL'
    end if
    call MPI_Finalize(error)
end program
