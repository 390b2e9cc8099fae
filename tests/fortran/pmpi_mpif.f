C     A profiling library in Fortran: it stands between programs with
C     mpif.h or the module mpi and the library.
      SUBROUTINE MPI_SEND(BUF, COUNT, DATATYPE, DEST, TAG, COMM, IERR)
      IMPLICIT NONE
      INTEGER BUF(*), COUNT, DATATYPE, DEST, TAG, COMM, IERR
      PRINT '(A,I0)', 'MPI_SEND of ', COUNT
      CALL PMPI_SEND(BUF, COUNT, DATATYPE, DEST, TAG, COMM, IERR)
      END
