! The types that mpi and mpi_f08 share of Hawser, for the MPICH ABI.
!
! Written by crates/fortran/tools/modules.py; do not edit.

module hawser_mpi_types
  implicit none

  integer, parameter :: MPI_ADDRESS_KIND = 8
  integer, parameter :: MPI_COUNT_KIND = 8
  integer, parameter :: MPI_OFFSET_KIND = 8
  integer, parameter :: MPI_INTEGER_KIND = 4

  type, bind(C) :: MPI_Status
    integer :: count_lo
    integer :: count_hi_and_cancelled
    integer :: MPI_SOURCE
    integer :: MPI_TAG
    integer :: MPI_ERROR
  end type MPI_Status

  type, bind(C) :: MPI_Comm
    integer :: MPI_VAL
  end type MPI_Comm

  type, bind(C) :: MPI_Datatype
    integer :: MPI_VAL
  end type MPI_Datatype

  type, bind(C) :: MPI_Errhandler
    integer :: MPI_VAL
  end type MPI_Errhandler

  type, bind(C) :: MPI_File
    integer :: MPI_VAL
  end type MPI_File

  type, bind(C) :: MPI_Group
    integer :: MPI_VAL
  end type MPI_Group

  type, bind(C) :: MPI_Info
    integer :: MPI_VAL
  end type MPI_Info

  type, bind(C) :: MPI_Message
    integer :: MPI_VAL
  end type MPI_Message

  type, bind(C) :: MPI_Op
    integer :: MPI_VAL
  end type MPI_Op

  type, bind(C) :: MPI_Request
    integer :: MPI_VAL
  end type MPI_Request

  type, bind(C) :: MPI_Session
    integer :: MPI_VAL
  end type MPI_Session

  type, bind(C) :: MPI_Win
    integer :: MPI_VAL
  end type MPI_Win

  interface operator(==)
    elemental logical function hawser_comm_eq(one, other)
      import :: MPI_Comm
      type(MPI_Comm), intent(in) :: one, other
    end function hawser_comm_eq
    elemental logical function hawser_datatype_eq(one, other)
      import :: MPI_Datatype
      type(MPI_Datatype), intent(in) :: one, other
    end function hawser_datatype_eq
    elemental logical function hawser_errhandler_eq(one, other)
      import :: MPI_Errhandler
      type(MPI_Errhandler), intent(in) :: one, other
    end function hawser_errhandler_eq
    elemental logical function hawser_file_eq(one, other)
      import :: MPI_File
      type(MPI_File), intent(in) :: one, other
    end function hawser_file_eq
    elemental logical function hawser_group_eq(one, other)
      import :: MPI_Group
      type(MPI_Group), intent(in) :: one, other
    end function hawser_group_eq
    elemental logical function hawser_info_eq(one, other)
      import :: MPI_Info
      type(MPI_Info), intent(in) :: one, other
    end function hawser_info_eq
    elemental logical function hawser_message_eq(one, other)
      import :: MPI_Message
      type(MPI_Message), intent(in) :: one, other
    end function hawser_message_eq
    elemental logical function hawser_op_eq(one, other)
      import :: MPI_Op
      type(MPI_Op), intent(in) :: one, other
    end function hawser_op_eq
    elemental logical function hawser_request_eq(one, other)
      import :: MPI_Request
      type(MPI_Request), intent(in) :: one, other
    end function hawser_request_eq
    elemental logical function hawser_session_eq(one, other)
      import :: MPI_Session
      type(MPI_Session), intent(in) :: one, other
    end function hawser_session_eq
    elemental logical function hawser_win_eq(one, other)
      import :: MPI_Win
      type(MPI_Win), intent(in) :: one, other
    end function hawser_win_eq
  end interface

  interface operator(/=)
    elemental logical function hawser_comm_ne(one, other)
      import :: MPI_Comm
      type(MPI_Comm), intent(in) :: one, other
    end function hawser_comm_ne
    elemental logical function hawser_datatype_ne(one, other)
      import :: MPI_Datatype
      type(MPI_Datatype), intent(in) :: one, other
    end function hawser_datatype_ne
    elemental logical function hawser_errhandler_ne(one, other)
      import :: MPI_Errhandler
      type(MPI_Errhandler), intent(in) :: one, other
    end function hawser_errhandler_ne
    elemental logical function hawser_file_ne(one, other)
      import :: MPI_File
      type(MPI_File), intent(in) :: one, other
    end function hawser_file_ne
    elemental logical function hawser_group_ne(one, other)
      import :: MPI_Group
      type(MPI_Group), intent(in) :: one, other
    end function hawser_group_ne
    elemental logical function hawser_info_ne(one, other)
      import :: MPI_Info
      type(MPI_Info), intent(in) :: one, other
    end function hawser_info_ne
    elemental logical function hawser_message_ne(one, other)
      import :: MPI_Message
      type(MPI_Message), intent(in) :: one, other
    end function hawser_message_ne
    elemental logical function hawser_op_ne(one, other)
      import :: MPI_Op
      type(MPI_Op), intent(in) :: one, other
    end function hawser_op_ne
    elemental logical function hawser_request_ne(one, other)
      import :: MPI_Request
      type(MPI_Request), intent(in) :: one, other
    end function hawser_request_ne
    elemental logical function hawser_session_ne(one, other)
      import :: MPI_Session
      type(MPI_Session), intent(in) :: one, other
    end function hawser_session_ne
    elemental logical function hawser_win_ne(one, other)
      import :: MPI_Win
      type(MPI_Win), intent(in) :: one, other
    end function hawser_win_ne
  end interface
end module hawser_mpi_types
