! Attributes that one language sets and the other gets (MPI-5.0 §19.3.7). The functions of C are in
! tests/test_fortran.py.
module parts
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    ! Makes a key in C, sets it on a communicator to the address of a variable of C, and returns both.
    subroutine c_sets(comm, keyval, address) bind(C)
      import :: c_int, c_intptr_t
      integer(c_int), value :: comm
      integer(c_int) :: keyval
      integer(c_intptr_t) :: address
    end subroutine c_sets
    ! Returns the integer to which the attribute that C gets points.
    function c_gets(comm, keyval) bind(C) result(value)
      import :: c_int, c_intptr_t
      integer(c_int), value :: comm, keyval
      integer(c_intptr_t) :: value
    end function c_gets
    ! Duplicates MPI_COMM_SELF in C.
    function c_dup() bind(C) result(comm)
      import :: c_int
      integer(c_int) :: comm
    end function c_dup
    function c_tag_ub() bind(C) result(value)
      import :: c_int
      integer(c_int) :: value
    end function c_tag_ub
  end interface
end module parts

program languages
  use parts
  implicit none
  integer :: key, c_key
  integer(kind=MPI_ADDRESS_KIND) :: value, address
  integer(kind=MPI_ADDRESS_KIND), parameter :: big = 2_MPI_ADDRESS_KIND ** 40 + 5
  type(MPI_Comm) :: comm
  logical :: flag
  call MPI_Init()
  ! Fortran sets: C gets a pointer to the integer, of all its bytes.
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(MPI_COMM_SELF, key, big)
  call holds(c_gets(MPI_COMM_SELF%MPI_VAL, key) == big, 'attribute of Fortran in C')
  ! C duplicates by MPI_COMM_DUP_FN of Fortran.
  comm%MPI_VAL = c_dup()
  call MPI_Comm_get_attr(comm, key, value, flag)
  call holds(flag .and. value == big, 'attribute of the duplicate that C made')
  call holds(c_gets(comm%MPI_VAL, key) == big, 'attribute of the duplicate in C')
  call MPI_Comm_free(comm)
  call MPI_Comm_delete_attr(MPI_COMM_SELF, key)
  call MPI_Comm_free_keyval(key)
  ! C sets: Fortran gets the address.
  call c_sets(MPI_COMM_SELF%MPI_VAL, c_key, address)
  call MPI_Comm_get_attr(MPI_COMM_SELF, c_key, value, flag)
  call holds(flag, 'there is an attribute of C')
  call holds(address /= 0 .and. value == address, 'attribute of C in Fortran')
  call MPI_Comm_delete_attr(MPI_COMM_SELF, c_key)
  call MPI_Comm_free_keyval(c_key)
  ! Fortran gets the value of MPI's own, C a pointer to it.
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
  call holds(flag, 'there is MPI_TAG_UB')
  call equal(int(value), c_tag_ub(), 'MPI_TAG_UB in both languages')
  call finish('languages')
  call MPI_Finalize()
end program languages
