! Checks of the Fortran programs: silent where they hold, one line with rank and cause and exit code 1 where not.
!
! They are external procedures, so that programs in fixed form and those with modules use the same ones.

subroutine fail(cause)
  implicit none
  include 'mpif.h'
  character(len=*) :: cause
  integer :: rank, ierr
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  write (0, '("rank ", i0, ": ", a)') rank, cause
  flush (0)
  stop 1
end subroutine fail

! Two integers are the same.
subroutine equal(got, want, what)
  implicit none
  integer :: got, want
  character(len=*) :: what
  character(len=200) :: cause
  if (got == want) return
  write (cause, '(a, " is ", i0, ", not ", i0)') what, got, want
  call fail(trim(cause))
end subroutine equal

! Two integers of 8 bytes are the same.
subroutine equal8(got, want, what)
  implicit none
  integer(8) :: got, want
  character(len=*) :: what
  character(len=200) :: cause
  if (got == want) return
  write (cause, '(a, " is ", i0, ", not ", i0)') what, got, want
  call fail(trim(cause))
end subroutine equal8

! All elements of two arrays of integers are the same.
subroutine alike(got, want, count, what)
  implicit none
  integer :: count, i
  integer :: got(count), want(count)
  character(len=*) :: what
  character(len=200) :: cause
  do i = 1, count
    if (got(i) == want(i)) cycle
    write (cause, '(a, "(", i0, ") is ", i0, ", not ", i0)') what, i, got(i), want(i)
    call fail(trim(cause))
  end do
end subroutine alike

! Two strings are the same, also their lengths.
subroutine same(got, want, what)
  implicit none
  character(len=*) :: got, want, what
  if (got == want .and. len(got) == len(want)) return
  call fail(what//' is "'//got//'", not "'//want//'"')
end subroutine same

! The condition holds.
subroutine holds(condition, what)
  implicit none
  logical :: condition
  character(len=*) :: what
  if (.not. condition) call fail('not so: '//what)
end subroutine holds

! A call succeeded.
subroutine ok(code, what)
  implicit none
  integer :: code
  character(len=*) :: what
  call equal(code, 0, what)
end subroutine ok

! A call failed with an error of this class.
subroutine class_is(code, want, what)
  implicit none
  integer :: code, want, class, ierr
  character(len=*) :: what
  call holds(code /= 0, what//' fails')
  call MPI_ERROR_CLASS(code, class, ierr)
  call equal(class, want, what)
end subroutine class_is

! Every rank came here: rank 0 says so in the line that the test asserts.
subroutine finish(name)
  implicit none
  include 'mpif.h'
  character(len=*) :: name
  integer :: rank, ranks, ierr
  call MPI_BARRIER(MPI_COMM_WORLD, ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
  if (rank == 0) print '(a, " holds on ", i0)', name, ranks
end subroutine finish
