! Sections of arrays through mpi_f08: elements that do not follow each other are sent from where they lie.

module sections
  use mpi_f08
  implicit none
  integer :: me, n, left, right
contains

  ! Numbers that tell rank and place.
  pure integer function at(rank, i, j)
    integer, intent(in) :: rank, i, j
    at = 10000 * rank + 100 * i + j
  end function at

  pure function grid(rank)
    integer, intent(in) :: rank
    integer :: grid(6, 5), i, j
    grid = reshape([((at(rank, i, j), i = 1, 6), j = 1, 5)], [6, 5])
  end function grid

  ! Both grids are the same.
  subroutine grids(got, want, what)
    integer, intent(in) :: got(6, 5), want(6, 5)
    character(len=*), intent(in) :: what
    integer :: i, j
    do j = 1, 5
      do i = 1, 6
        call equal(got(i, j), want(i, j), what)
      end do
    end do
  end subroutine grids

  subroutine blocking
    integer :: a(6, 5), b(6, 5), want(6, 5), line(10)
    type(MPI_Status) :: status
    integer :: count
    a = grid(me)
    ! A row goes to a column, backwards.
    b = -1
    want = -1
    want(5:1:-1, 3) = [at(left, 2, 1), at(left, 2, 2), at(left, 2, 3), at(left, 2, 4), at(left, 2, 5)]
    call MPI_Sendrecv(a(2, :), 5, MPI_INTEGER, right, 1, b(5:1:-1, 3), 5, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status)
    call grids(b, want, 'row to column')
    call MPI_Get_count(status, MPI_INTEGER, count)
    call equal(count, 5, 'count of the message that a section took')
    ! Two dimensions with strides, one of them backwards, to another such section.
    b = -1
    want = -1
    want(1:5:2, 5:2:-3) = reshape([at(left, 6, 2), at(left, 4, 2), at(left, 2, 2), at(left, 6, 4), at(left, 4, 4), &
      at(left, 2, 4)], [3, 2])
    call MPI_Sendrecv(a(6:1:-2, 2:4:2), 6, MPI_INTEGER, right, 1, b(1:5:2, 5:2:-3), 6, MPI_INTEGER, left, 1, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call grids(b, want, 'two dimensions')
    ! Fewer elements than the section has, with a part of a column at the end.
    b = -1
    want = -1
    want(2:6:2, 1) = [at(left, 2, 1), at(left, 4, 1), at(left, 6, 1)]
    want(2:2, 2) = at(left, 2, 2)
    call MPI_Sendrecv(a(2:6:2, :), 4, MPI_INTEGER, right, 1, b(2:6:2, :), 4, MPI_INTEGER, left, 1, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call grids(b, want, 'fewer elements')
    ! A contiguous part stays one, and a section goes to contiguous elements.
    line = -1
    call MPI_Sendrecv(a(:, 2), 6, MPI_INTEGER, right, 1, line(3:8), 6, MPI_INTEGER, left, 1, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call alike(line, [-1, -1, at(left, 1, 2), at(left, 2, 2), at(left, 3, 2), at(left, 4, 2), at(left, 5, 2), &
      at(left, 6, 2), -1, -1], 10, 'column')
    line = -1
    call MPI_Sendrecv(a(3, 5:1:-2), 3, MPI_INTEGER, right, 1, line, 10, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status)
    call alike(line, [at(left, 3, 5), at(left, 3, 3), at(left, 3, 1), -1, -1, -1, -1, -1, -1, -1], 10, &
      'to contiguous ones')
    call MPI_Get_count(status, MPI_INTEGER, count)
    call equal(count, 3, 'count of a section')
    ! A section without elements.
    call MPI_Sendrecv(a(1:0:2, :), 0, MPI_INTEGER, right, 1, line(1:0:2), 0, MPI_INTEGER, left, 1, MPI_COMM_WORLD, &
      status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call equal(count, 0, 'count of no elements')
  end subroutine blocking

  subroutine nonblocking
    integer :: a(6, 5), b(6, 5), want(6, 5)
    integer, asynchronous :: line(9)
    type(MPI_Request) :: req(2)
    a = grid(me)
    b = -1
    want = -1
    want(1:6:5, 4:2:-2) = reshape([at(left, 2, 1), at(left, 4, 1), at(left, 2, 5), at(left, 4, 5)], [2, 2])
    call MPI_Irecv(b(1:6:5, 4:2:-2), 4, MPI_INTEGER, left, 2, MPI_COMM_WORLD, req(1))
    call MPI_Isend(a(2:4:2, 1:5:4), 4, MPI_INTEGER, right, 2, MPI_COMM_WORLD, req(2))
    call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
    call MPI_F_sync_reg(b)
    call grids(b, want, 'nonblocking')
    call holds(req(1) == MPI_REQUEST_NULL .and. req(2) == MPI_REQUEST_NULL, 'requests after MPI_Waitall')
    line = -1
    if (me == 0) line(9:1:-4) = [1, 2, 3]
    call MPI_Ibcast(line(9:1:-4), 3, MPI_INTEGER, 0, MPI_COMM_WORLD, req(1))
    call MPI_Wait(req(1), MPI_STATUS_IGNORE)
    call alike(line, [3, -1, -1, -1, 2, -1, -1, -1, 1], 9, 'MPI_Ibcast')
  end subroutine nonblocking

  subroutine persistent
    integer, asynchronous :: a(6, 5), b(6, 5)
    integer :: want(6, 5), turn
    type(MPI_Request) :: req(2)
    call MPI_Recv_init(b(5, 1:5:2), 3, MPI_INTEGER, left, 3, MPI_COMM_WORLD, req(1))
    call MPI_Send_init(a(6:2:-2, 1), 3, MPI_INTEGER, right, 3, MPI_COMM_WORLD, req(2))
    do turn = 1, 3
      a = grid(me) + 10 * turn
      b = -1
      call MPI_Startall(2, req)
      call MPI_Waitall(2, req, MPI_STATUSES_IGNORE)
      want = -1
      want(5, 1:5:2) = [at(left, 6, 1), at(left, 4, 1), at(left, 2, 1)] + 10 * turn
      call grids(b, want, 'persistent')
    end do
    call MPI_Request_free(req(1))
    call MPI_Request_free(req(2))
  end subroutine persistent

  subroutine collectives
    integer :: a(6, 5), b(6, 5), want(6, 5), i
    integer, allocatable :: all_of(:, :)
    a = -1
    if (me == 0) a(2:6:2, 5:1:-2) = reshape([(i, i = 1, 9)], [3, 3])
    call MPI_Bcast(a(2:6:2, 5:1:-2), 9, MPI_INTEGER, 0, MPI_COMM_WORLD)
    want = -1
    want(2:6:2, 5:1:-2) = reshape([(i, i = 1, 9)], [3, 3])
    call grids(a, want, 'MPI_Bcast')
    ! Every rank sends a row, which is a column of the root's array, and gets it back.
    allocate (all_of(5, n))
    all_of = -1
    a = grid(me)
    b = -1
    call MPI_Gather(a(4, :), 5, MPI_INTEGER, all_of, 5, MPI_INTEGER, n - 1, MPI_COMM_WORLD)
    do i = 0, n - 1
      if (me == n - 1) then
        call alike(all_of(:, i + 1), at(i, 4, 0) + [1, 2, 3, 4, 5], 5, 'MPI_Gather')
      else
        call equal(all_of(1, i + 1), -1, 'no MPI_Gather here')
      end if
    end do
    call MPI_Scatter(all_of, 5, MPI_INTEGER, b(5:1:-1, 2), 5, MPI_INTEGER, n - 1, MPI_COMM_WORLD)
    call alike(b(5:1:-1, 2), a(4, :), 5, 'MPI_Scatter')
  end subroutine collectives

  subroutine reductions
    integer :: a(6, 5), b(6, 5), want(6, 5), sum_of_ranks
    a = grid(0) + me
    b = -1
    want = -1
    sum_of_ranks = n * (n - 1) / 2
    want(6:2:-2, 1) = n * [at(0, 3, 1), at(0, 3, 3), at(0, 3, 5)] + sum_of_ranks
    call MPI_Allreduce(a(3, 1:5:2), b(6:2:-2, 1), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call grids(b, want, 'MPI_Allreduce')
    want = a
    want(1, :) = n * [at(0, 1, 1), at(0, 1, 2), at(0, 1, 3), at(0, 1, 4), at(0, 1, 5)] + sum_of_ranks
    call MPI_Allreduce(MPI_IN_PLACE, a(1, :), 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call grids(a, want, 'MPI_Allreduce in place')
    a = me
    b = -1
    want = -1
    if (me == 0) want(2, 5:1:-2) = n - 1
    call MPI_Reduce(a(1:6:2, 1), b(2, 5:1:-2), 3, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD)
    call grids(b, want, 'MPI_Reduce')
    b = -1
    want = -1
    want(3, 1:5:4) = me + 1
    a = 1
    call MPI_Scan(a(1, 1:2), b(3, 1:5:4), 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call grids(b, want, 'MPI_Scan')
  end subroutine reductions

  ! Elements of other types than numbers of 4 bytes, and pointers.
  subroutine types
    type pair
      sequence
      integer :: i
      real :: x
    end type pair
    type(pair) :: p(4), q(4)
    complex :: z(6), w(6)
    real(8), target :: d(5, 5), e(5), b(6)
    real(8), pointer :: diagonal(:)
    character(len=3) :: c(4), f(4)
    integer :: i
    p = [(pair(i + me, 0.5 * i), i = 1, 4)]
    q = pair(-1, -1)
    call MPI_Sendrecv(p(4:1:-2)%i, 2, MPI_INTEGER, right, 4, q(1:3:2)%i, 2, MPI_INTEGER, left, 4, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call alike(q%i, [4 + left, -1, 2 + left, -1], 4, 'component')
    call holds(all(q%x == -1), 'the other component')
    z = [(cmplx(i, me), i = 1, 6)]
    w = 0
    call MPI_Sendrecv(z(6:2:-2), 3, MPI_COMPLEX, right, 4, w(1:5:2), 3, MPI_COMPLEX, left, 4, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call holds(all(w == [cmplx(6, left), (0., 0.), cmplx(4, left), (0., 0.), cmplx(2, left), (0., 0.)]), 'MPI_COMPLEX')
    ! Two MPI_REAL are an element.
    w = 0
    call MPI_Sendrecv(z(1:5:2), 6, MPI_REAL, right, 4, w(2:6:2), 6, MPI_REAL, left, 4, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call holds(all(w(2:6:2) == [cmplx(1, left), cmplx(3, left), cmplx(5, left)]), 'elements of two MPI_REAL')
    d = reshape([(i + me * 100d0, i = 1, 25)], [5, 5])
    diagonal => null()
    diagonal(1:5) => d(:, 3)
    call MPI_Sendrecv(diagonal(::2), 3, MPI_DOUBLE_PRECISION, right, 4, e, 5, MPI_DOUBLE_PRECISION, left, 4, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call holds(all(e(1:3) == [11, 13, 15] + left * 100d0), 'pointer')
    c = ['abc', 'def', 'ghi', 'jkl']
    f = '---'
    call MPI_Sendrecv(c(4:2:-2), 6, MPI_CHARACTER, right, 4, f(2:4:2), 6, MPI_CHARACTER, left, 4, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE)
    call same(f(1)//f(2)//f(3)//f(4), '---jkl---def', 'characters')
    call assumed(d(1:5:2, 2:4:2), b)
    call holds(all(b == [6, 8, 10, 16, 18, 20] + left * 100d0), 'assumed shape')
  end subroutine types

  ! An assumed shape is the section that the caller passed.
  subroutine assumed(from, to)
    real(8), intent(in) :: from(:, :)
    real(8), intent(inout) :: to(:)
    call MPI_Sendrecv(from, size(from), MPI_DOUBLE_PRECISION, right, 5, to, size(to), MPI_DOUBLE_PRECISION, left, 5, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine assumed

  subroutine packed
    integer :: a(6, 5), b(6, 5), want(6, 5), position
    character(len=40) :: buffer
    a = grid(me)
    b = -1
    position = 0
    call MPI_Pack(a(1:6:2, 1), 3, MPI_INTEGER, buffer, 40, position, MPI_COMM_SELF)
    call equal(position, 12, 'position of MPI_Pack')
    position = 0
    call MPI_Unpack(buffer, 40, position, b(2, 1:5:2), 3, MPI_INTEGER, MPI_COMM_SELF)
    want = -1
    want(2, 1:5:2) = a(1:6:2, 1)
    call grids(b, want, 'MPI_Unpack')
  end subroutine packed

  ! Some procedures can't have sections: they refuse them, and the text says why.
  subroutine refused
    integer, asynchronous :: a(6), b(6)
    integer :: code, length
    type(MPI_Request) :: req
    character(len=MPI_MAX_ERROR_STRING) :: text
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    a = 1
    b = -1
    call MPI_Iallreduce(a(1:6:2), b, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, req, code)
    call class_is(code, MPI_ERR_BUFFER, 'MPI_Iallreduce of a section')
    call MPI_Error_string(code, text, length)
    call holds(index(text, 'MPI_Iallreduce') > 0, 'the text names the procedure')
    call holds(index(text, 'section of an array') > 0, 'the text names the cause: '//trim(text))
    call MPI_Ireduce(a, b(6:1:-2), 3, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_SELF, req, code)
    call class_is(code, MPI_ERR_BUFFER, 'MPI_Ireduce to a section')
    call alike(b, [-1, -1, -1, -1, -1, -1], 6, 'buffer of a refused procedure')
    ! More elements than the section has.
    call MPI_Send(a(1:6:2), 4, MPI_INTEGER, me, 6, MPI_COMM_WORLD, code)
    call class_is(code, MPI_ERR_BUFFER, 'MPI_Send of more than the section has')
    ! Partitions are sent after the procedure has returned.
    call MPI_Psend_init(a(1:6:2), 3, 1_MPI_COUNT_KIND, MPI_INTEGER, me, 7, MPI_COMM_WORLD, MPI_INFO_NULL, req, code)
    call class_is(code, MPI_ERR_BUFFER, 'MPI_Psend_init of a section')
    ! Where a buffer counts at the root alone, others may pass any section.
    if (me == 0) then
      call MPI_Ireduce(a, b(1:3), 3, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, req, code)
    else
      call MPI_Ireduce(a, b(6:1:-2), 3, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, req, code)
    end if
    call ok(code, 'MPI_Ireduce with a section away from the root')
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call alike(b, merge([n, n, n, -1, -1, -1], spread(-1, 1, 6), me == 0), 6, 'MPI_Ireduce away from the root')
    b = -1
    ! A datatype with gaps is taken from a copy of the section.
    call gaps
    ! No element, with bounds that cross.
    call empty(5)
    call failing
    ! A contiguous part is no such section.
    call MPI_Iallreduce(a(2:4), b(4:6), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, req, code)
    call ok(code, 'MPI_Iallreduce of contiguous parts')
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call alike(b, [-1, -1, -1, n, n, n], 6, 'MPI_Iallreduce')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  end subroutine refused

  ! A request that fails has ended, and the index says which one it was.
  subroutine failing
    integer, asynchronous :: a(2), b(1), c(1)
    integer :: code, index, count, indices(2)
    logical :: flag
    type(MPI_Request) :: reqs(2)
    type(MPI_Status) :: st(2)
    a = 1
    call MPI_Irecv(b, 1, MPI_INTEGER, me, 9, MPI_COMM_WORLD, reqs(1))
    call MPI_Send(a, 2, MPI_INTEGER, me, 9, MPI_COMM_WORLD)
    call MPI_Wait(reqs(1), MPI_STATUS_IGNORE, code)
    call class_is(code, MPI_ERR_TRUNCATE, 'MPI_Wait')
    call holds(reqs(1) == MPI_REQUEST_NULL, 'a request that failed is null')
    call MPI_Irecv(c, 1, MPI_INTEGER, me, 10, MPI_COMM_WORLD, reqs(1))
    call MPI_Irecv(b, 1, MPI_INTEGER, me, 9, MPI_COMM_WORLD, reqs(2))
    call MPI_Send(a, 2, MPI_INTEGER, me, 9, MPI_COMM_WORLD)
    index = -1
    call MPI_Waitany(2, reqs, index, MPI_STATUS_IGNORE, code)
    call class_is(code, MPI_ERR_TRUNCATE, 'MPI_Waitany')
    call equal(index, 2, 'index of the request that failed')
    call MPI_Irecv(b, 1, MPI_INTEGER, me, 9, MPI_COMM_WORLD, reqs(2))
    call MPI_Send(a, 2, MPI_INTEGER, me, 9, MPI_COMM_WORLD)
    call MPI_Waitsome(2, reqs, count, indices, st, code)
    call class_is(code, MPI_ERR_IN_STATUS, 'MPI_Waitsome')
    call equal(count, 1, 'number of requests that failed')
    call equal(indices(1), 2, 'index in MPI_Waitsome')
    call MPI_Irecv(b, 1, MPI_INTEGER, me, 9, MPI_COMM_WORLD, reqs(2))
    call MPI_Send(a, 2, MPI_INTEGER, me, 9, MPI_COMM_WORLD)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(reqs(2), flag, MPI_STATUS_IGNORE, code)
    end do
    call class_is(code, MPI_ERR_TRUNCATE, 'MPI_Test')
    call MPI_Send(a, 1, MPI_INTEGER, me, 10, MPI_COMM_WORLD)
    call MPI_Wait(reqs(1), MPI_STATUS_IGNORE)
  end subroutine failing

  subroutine gaps
    integer :: a(9), b(9), i
    type(MPI_Datatype) :: every_second
    type(MPI_Request) :: req
    a = [(i, i = 1, 9)]
    b = -1
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, every_second)
    call MPI_Type_commit(every_second)
    call MPI_Irecv(b, 2, MPI_INTEGER, me, 8, MPI_COMM_WORLD, req)
    call MPI_Send(a(1:9:2), 1, every_second, me, 8, MPI_COMM_WORLD)
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call alike(b, [1, 5, -1, -1, -1, -1, -1, -1, -1], 9, 'a section by a datatype with gaps')
    call MPI_Type_free(every_second)
  end subroutine gaps

  subroutine empty(first)
    integer, intent(in) :: first
    integer :: a(6, 3), b(6, 3)
    a = me
    b = -1
    call MPI_Allreduce(a(first:1, :), b(first:1, :), 0, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call alike(b, spread(-1, 1, 18), 18, 'a reduction of no element')
  end subroutine empty
end module sections

program f08_sections
  use sections
  implicit none
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  left = mod(me + n - 1, n)
  right = mod(me + 1, n)
  call holds(MPI_SUBARRAYS_SUPPORTED, 'MPI_SUBARRAYS_SUPPORTED')
  call holds(MPI_ASYNC_PROTECTS_NONBLOCKING, 'MPI_ASYNC_PROTECTS_NONBLOCKING')
  call blocking
  call nonblocking
  call persistent
  call collectives
  call reductions
  call types
  call packed
  call refused
  call finish('f08_sections')
  call MPI_Finalize()
end program f08_sections
