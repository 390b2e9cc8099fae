! Procedures of windows, files and dynamic processes, which this version has not: each fails with
! MPI_ERR_UNSUPPORTED_OPERATION, leaves its results as they are, and the program goes on. With an argument it aborts.

module what_is_not_there
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer(kind=MPI_COUNT_KIND), parameter :: one = 1
  integer :: code, number = 0, key = MPI_KEYVAL_INVALID
  integer, asynchronous :: a(4) = 1, b(4) = 2, c(4) = 3
  integer(kind=MPI_ADDRESS_KIND) :: size = 16, value = 5
  integer(kind=MPI_OFFSET_KIND) :: offset = 0
  logical :: flag = .false.
  character(len=MPI_MAX_PORT_NAME) :: text = 'as it was'
  type(c_ptr) :: address = c_null_ptr
  type(MPI_Win) :: win = MPI_WIN_NULL
  type(MPI_File) :: file = MPI_FILE_NULL
  type(MPI_Comm) :: comm = MPI_COMM_NULL
  type(MPI_Group) :: group = MPI_GROUP_NULL
  type(MPI_Info) :: info = MPI_INFO_NULL
  type(MPI_Datatype) :: datatype = MPI_INTEGER, other_type = MPI_REAL
  type(MPI_Request) :: req = MPI_REQUEST_NULL
  type(MPI_Status) :: status
contains

  subroutine refused(what)
    character(len=*), intent(in) :: what
    call class_is(code, MPI_ERR_UNSUPPORTED_OPERATION, what)
  end subroutine refused

  subroutine windows
    call MPI_Win_allocate(size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, address, win, code)
    call refused('MPI_Win_allocate')
    call MPI_Win_allocate_shared(size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, address, win, code)
    call refused('MPI_Win_allocate_shared')
    call MPI_Win_attach(win, a, size, code)
    call refused('MPI_Win_attach')
    call MPI_Win_complete(win, code)
    call refused('MPI_Win_complete')
    call MPI_Win_create(a, size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, code)
    call refused('MPI_Win_create')
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win, code)
    call refused('MPI_Win_create_dynamic')
    call MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, key, value, code)
    call refused('MPI_Win_create_keyval')
    call MPI_Win_delete_attr(win, key, code)
    call refused('MPI_Win_delete_attr')
    call MPI_Win_detach(win, a, code)
    call refused('MPI_Win_detach')
    call MPI_Win_fence(0, win, code)
    call refused('MPI_Win_fence')
    call MPI_Win_flush(0, win, code)
    call refused('MPI_Win_flush')
    call MPI_Win_flush_all(win, code)
    call refused('MPI_Win_flush_all')
    call MPI_Win_flush_local(0, win, code)
    call refused('MPI_Win_flush_local')
    call MPI_Win_flush_local_all(win, code)
    call refused('MPI_Win_flush_local_all')
    call MPI_Win_free(win, code)
    call refused('MPI_Win_free')
    call MPI_Win_free_keyval(key, code)
    call refused('MPI_Win_free_keyval')
    call MPI_Win_get_attr(win, key, value, flag, code)
    call refused('MPI_Win_get_attr')
    call MPI_Win_get_group(win, group, code)
    call refused('MPI_Win_get_group')
    call MPI_Win_get_info(win, info, code)
    call refused('MPI_Win_get_info')
    call MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win, code)
    call refused('MPI_Win_lock')
    call MPI_Win_lock_all(0, win, code)
    call refused('MPI_Win_lock_all')
    call MPI_Win_post(MPI_GROUP_EMPTY, 0, win, code)
    call refused('MPI_Win_post')
    call MPI_Win_set_attr(win, key, value, code)
    call refused('MPI_Win_set_attr')
    call MPI_Win_set_info(win, MPI_INFO_NULL, code)
    call refused('MPI_Win_set_info')
    call MPI_Win_set_name(win, 'window', code)
    call refused('MPI_Win_set_name')
    call MPI_Win_shared_query(win, 0, size, number, address, code)
    call refused('MPI_Win_shared_query')
    call MPI_Win_start(MPI_GROUP_EMPTY, 0, win, code)
    call refused('MPI_Win_start')
    call MPI_Win_sync(win, code)
    call refused('MPI_Win_sync')
    call MPI_Win_test(win, flag, code)
    call refused('MPI_Win_test')
    call MPI_Win_unlock(0, win, code)
    call refused('MPI_Win_unlock')
    call MPI_Win_unlock_all(win, code)
    call refused('MPI_Win_unlock_all')
    call MPI_Win_wait(win, code)
    call refused('MPI_Win_wait')
  end subroutine windows

  subroutine transfers
    call MPI_Accumulate(a, 1, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, MPI_SUM, win, code)
    call refused('MPI_Accumulate')
    call MPI_Compare_and_swap(a, b, c, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, win, code)
    call refused('MPI_Compare_and_swap')
    call MPI_Fetch_and_op(a, c, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, MPI_SUM, win, code)
    call refused('MPI_Fetch_and_op')
    call MPI_Get(a, 1, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, code)
    call refused('MPI_Get')
    call MPI_Get_accumulate(a, 1, MPI_INTEGER, c, 1, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, MPI_SUM, win, &
      code)
    call refused('MPI_Get_accumulate')
    call MPI_Put(a, 1, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, code)
    call refused('MPI_Put')
    call MPI_Raccumulate(a, 1, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, MPI_SUM, win, req, code)
    call refused('MPI_Raccumulate')
    call MPI_Rget(a, 1, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, req, code)
    call refused('MPI_Rget')
    call MPI_Rget_accumulate(a, 1, MPI_INTEGER, c, 1, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, MPI_SUM, &
      win, req, code)
    call refused('MPI_Rget_accumulate')
    call MPI_Rput(a, 1, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, req, code)
    call refused('MPI_Rput')
  end subroutine transfers

  subroutine files
    call MPI_File_close(file, code)
    call refused('MPI_File_close')
    call MPI_File_get_amode(file, number, code)
    call refused('MPI_File_get_amode')
    call MPI_File_get_atomicity(file, flag, code)
    call refused('MPI_File_get_atomicity')
    call MPI_File_get_byte_offset(file, 7_MPI_OFFSET_KIND, offset, code)
    call refused('MPI_File_get_byte_offset')
    call MPI_File_get_group(file, group, code)
    call refused('MPI_File_get_group')
    call MPI_File_get_info(file, info, code)
    call refused('MPI_File_get_info')
    call MPI_File_get_position(file, offset, code)
    call refused('MPI_File_get_position')
    call MPI_File_get_position_shared(file, offset, code)
    call refused('MPI_File_get_position_shared')
    call MPI_File_get_size(file, offset, code)
    call refused('MPI_File_get_size')
    call MPI_File_get_type_extent(file, MPI_INTEGER, value, code)
    call refused('MPI_File_get_type_extent')
    call MPI_File_get_view(file, offset, datatype, other_type, text, code)
    call refused('MPI_File_get_view')
    call MPI_File_open(MPI_COMM_SELF, 'a file', MPI_MODE_RDONLY, MPI_INFO_NULL, file, code)
    call refused('MPI_File_open')
    call MPI_File_preallocate(file, offset, code)
    call refused('MPI_File_preallocate')
    call MPI_File_seek(file, offset, MPI_SEEK_SET, code)
    call refused('MPI_File_seek')
    call MPI_File_seek_shared(file, offset, MPI_SEEK_SET, code)
    call refused('MPI_File_seek_shared')
    call MPI_File_set_atomicity(file, .true., code)
    call refused('MPI_File_set_atomicity')
    call MPI_File_set_info(file, MPI_INFO_NULL, code)
    call refused('MPI_File_set_info')
    call MPI_File_set_size(file, offset, code)
    call refused('MPI_File_set_size')
    call MPI_File_set_view(file, offset, MPI_BYTE, MPI_BYTE, 'native', MPI_INFO_NULL, code)
    call refused('MPI_File_set_view')
    call MPI_File_sync(file, code)
    call refused('MPI_File_sync')
    call MPI_Register_datarep('native', MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, value, code)
    call refused('MPI_Register_datarep')
  end subroutine files

  subroutine extent_of(datatype, extent, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer(kind=MPI_ADDRESS_KIND) :: extent, extra_state
    integer :: ierror
    extent = extra_state + datatype%MPI_VAL
    ierror = MPI_SUCCESS
  end subroutine extent_of

  subroutine transfers_of_files
    call MPI_File_iread(file, a, 1, MPI_INTEGER, req, code)
    call refused('MPI_File_iread')
    call MPI_File_iread_all(file, a, 1, MPI_INTEGER, req, code)
    call refused('MPI_File_iread_all')
    call MPI_File_iread_at(file, offset, a, 1, MPI_INTEGER, req, code)
    call refused('MPI_File_iread_at')
    call MPI_File_iread_at_all(file, offset, a, 1, MPI_INTEGER, req, code)
    call refused('MPI_File_iread_at_all')
    call MPI_File_iread_shared(file, a, 1, MPI_INTEGER, req, code)
    call refused('MPI_File_iread_shared')
    call MPI_File_iwrite(file, a, 1, MPI_INTEGER, req, code)
    call refused('MPI_File_iwrite')
    call MPI_File_iwrite_all(file, a, 1, MPI_INTEGER, req, code)
    call refused('MPI_File_iwrite_all')
    call MPI_File_iwrite_at(file, offset, a, 1, MPI_INTEGER, req, code)
    call refused('MPI_File_iwrite_at')
    call MPI_File_iwrite_at_all(file, offset, a, 1, MPI_INTEGER, req, code)
    call refused('MPI_File_iwrite_at_all')
    call MPI_File_iwrite_shared(file, a, 1, MPI_INTEGER, req, code)
    call refused('MPI_File_iwrite_shared')
    call MPI_File_read(file, a, 1, MPI_INTEGER, status, code)
    call refused('MPI_File_read')
    call MPI_File_read_all(file, a, 1, MPI_INTEGER, status, code)
    call refused('MPI_File_read_all')
    call MPI_File_read_all_begin(file, a, 1, MPI_INTEGER, code)
    call refused('MPI_File_read_all_begin')
    call MPI_File_read_all_end(file, a, status, code)
    call refused('MPI_File_read_all_end')
    call MPI_File_read_at(file, offset, a, 1, MPI_INTEGER, status, code)
    call refused('MPI_File_read_at')
    call MPI_File_read_at_all(file, offset, a, 1, MPI_INTEGER, status, code)
    call refused('MPI_File_read_at_all')
    call MPI_File_read_at_all_begin(file, offset, a, 1, MPI_INTEGER, code)
    call refused('MPI_File_read_at_all_begin')
    call MPI_File_read_at_all_end(file, a, status, code)
    call refused('MPI_File_read_at_all_end')
    call MPI_File_read_ordered(file, a, 1, MPI_INTEGER, status, code)
    call refused('MPI_File_read_ordered')
    call MPI_File_read_ordered_begin(file, a, 1, MPI_INTEGER, code)
    call refused('MPI_File_read_ordered_begin')
    call MPI_File_read_ordered_end(file, a, status, code)
    call refused('MPI_File_read_ordered_end')
    call MPI_File_read_shared(file, a, 1, MPI_INTEGER, status, code)
    call refused('MPI_File_read_shared')
    call MPI_File_write(file, a, 1, MPI_INTEGER, status, code)
    call refused('MPI_File_write')
    call MPI_File_write_all(file, a, 1, MPI_INTEGER, status, code)
    call refused('MPI_File_write_all')
    call MPI_File_write_all_begin(file, a, 1, MPI_INTEGER, code)
    call refused('MPI_File_write_all_begin')
    call MPI_File_write_all_end(file, a, status, code)
    call refused('MPI_File_write_all_end')
    call MPI_File_write_at(file, offset, a, 1, MPI_INTEGER, status, code)
    call refused('MPI_File_write_at')
    call MPI_File_write_at_all(file, offset, a, 1, MPI_INTEGER, status, code)
    call refused('MPI_File_write_at_all')
    call MPI_File_write_at_all_begin(file, offset, a, 1, MPI_INTEGER, code)
    call refused('MPI_File_write_at_all_begin')
    call MPI_File_write_at_all_end(file, a, status, code)
    call refused('MPI_File_write_at_all_end')
    call MPI_File_write_ordered(file, a, 1, MPI_INTEGER, status, code)
    call refused('MPI_File_write_ordered')
    call MPI_File_write_ordered_begin(file, a, 1, MPI_INTEGER, code)
    call refused('MPI_File_write_ordered_begin')
    call MPI_File_write_ordered_end(file, a, status, code)
    call refused('MPI_File_write_ordered_end')
    call MPI_File_write_shared(file, a, 1, MPI_INTEGER, status, code)
    call refused('MPI_File_write_shared')
  end subroutine transfers_of_files

  subroutine ports
    call MPI_Close_port(text, code)
    call refused('MPI_Close_port')
    call MPI_Comm_accept(text, MPI_INFO_NULL, 0, MPI_COMM_WORLD, comm, code)
    call refused('MPI_Comm_accept')
    call MPI_Comm_connect(text, MPI_INFO_NULL, 0, MPI_COMM_WORLD, comm, code)
    call refused('MPI_Comm_connect')
    call MPI_Comm_join(0, comm, code)
    call refused('MPI_Comm_join')
    call MPI_Lookup_name('service', MPI_INFO_NULL, text, code)
    call refused('MPI_Lookup_name')
    call MPI_Open_port(MPI_INFO_NULL, text, code)
    call refused('MPI_Open_port')
    call MPI_Publish_name('service', MPI_INFO_NULL, text, code)
    call refused('MPI_Publish_name')
    call MPI_Unpublish_name('service', MPI_INFO_NULL, text, code)
    call refused('MPI_Unpublish_name')
  end subroutine ports

  ! The forms with counts of 8 bytes.
  subroutine large_windows
    call MPI_Win_allocate(size, 4_MPI_ADDRESS_KIND, MPI_INFO_NULL, MPI_COMM_WORLD, address, win, code)
    call refused('MPI_Win_allocate')
    call MPI_Win_allocate_shared(size, 4_MPI_ADDRESS_KIND, MPI_INFO_NULL, MPI_COMM_WORLD, address, win, code)
    call refused('MPI_Win_allocate_shared')
    call MPI_Win_create(a, size, 4_MPI_ADDRESS_KIND, MPI_INFO_NULL, MPI_COMM_WORLD, win, code)
    call refused('MPI_Win_create')
    call MPI_Win_shared_query(win, 0, size, value, address, code)
    call refused('MPI_Win_shared_query')
    call MPI_Accumulate(a, one, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, one, MPI_INTEGER, MPI_SUM, win, code)
    call refused('MPI_Accumulate')
    call MPI_Get(a, one, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, one, MPI_INTEGER, win, code)
    call refused('MPI_Get')
    call MPI_Get_accumulate(a, one, MPI_INTEGER, c, one, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, one, MPI_INTEGER, &
      MPI_SUM, win, code)
    call refused('MPI_Get_accumulate')
    call MPI_Put(a, one, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, one, MPI_INTEGER, win, code)
    call refused('MPI_Put')
    call MPI_Raccumulate(a, one, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, one, MPI_INTEGER, MPI_SUM, win, req, code)
    call refused('MPI_Raccumulate')
    call MPI_Rget(a, one, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, one, MPI_INTEGER, win, req, code)
    call refused('MPI_Rget')
    call MPI_Rget_accumulate(a, one, MPI_INTEGER, c, one, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, one, MPI_INTEGER, &
      MPI_SUM, win, req, code)
    call refused('MPI_Rget_accumulate')
    call MPI_Rput(a, one, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, one, MPI_INTEGER, win, req, code)
    call refused('MPI_Rput')
    call MPI_Register_datarep_c('native', MPI_CONVERSION_FN_NULL_C, MPI_CONVERSION_FN_NULL_C, extent_of, value, code)
    call refused('MPI_Register_datarep_c')
  end subroutine large_windows

  subroutine large_files
    call MPI_File_iread(file, a, one, MPI_INTEGER, req, code)
    call refused('MPI_File_iread')
    call MPI_File_iread_all(file, a, one, MPI_INTEGER, req, code)
    call refused('MPI_File_iread_all')
    call MPI_File_iread_at(file, offset, a, one, MPI_INTEGER, req, code)
    call refused('MPI_File_iread_at')
    call MPI_File_iread_at_all(file, offset, a, one, MPI_INTEGER, req, code)
    call refused('MPI_File_iread_at_all')
    call MPI_File_iread_shared(file, a, one, MPI_INTEGER, req, code)
    call refused('MPI_File_iread_shared')
    call MPI_File_iwrite(file, a, one, MPI_INTEGER, req, code)
    call refused('MPI_File_iwrite')
    call MPI_File_iwrite_all(file, a, one, MPI_INTEGER, req, code)
    call refused('MPI_File_iwrite_all')
    call MPI_File_iwrite_at(file, offset, a, one, MPI_INTEGER, req, code)
    call refused('MPI_File_iwrite_at')
    call MPI_File_iwrite_at_all(file, offset, a, one, MPI_INTEGER, req, code)
    call refused('MPI_File_iwrite_at_all')
    call MPI_File_iwrite_shared(file, a, one, MPI_INTEGER, req, code)
    call refused('MPI_File_iwrite_shared')
    call MPI_File_read(file, a, one, MPI_INTEGER, status, code)
    call refused('MPI_File_read')
    call MPI_File_read_all(file, a, one, MPI_INTEGER, status, code)
    call refused('MPI_File_read_all')
    call MPI_File_read_all_begin(file, a, one, MPI_INTEGER, code)
    call refused('MPI_File_read_all_begin')
    call MPI_File_read_at(file, offset, a, one, MPI_INTEGER, status, code)
    call refused('MPI_File_read_at')
    call MPI_File_read_at_all(file, offset, a, one, MPI_INTEGER, status, code)
    call refused('MPI_File_read_at_all')
    call MPI_File_read_at_all_begin(file, offset, a, one, MPI_INTEGER, code)
    call refused('MPI_File_read_at_all_begin')
    call MPI_File_read_ordered(file, a, one, MPI_INTEGER, status, code)
    call refused('MPI_File_read_ordered')
    call MPI_File_read_ordered_begin(file, a, one, MPI_INTEGER, code)
    call refused('MPI_File_read_ordered_begin')
    call MPI_File_read_shared(file, a, one, MPI_INTEGER, status, code)
    call refused('MPI_File_read_shared')
    call MPI_File_write(file, a, one, MPI_INTEGER, status, code)
    call refused('MPI_File_write')
    call MPI_File_write_all(file, a, one, MPI_INTEGER, status, code)
    call refused('MPI_File_write_all')
    call MPI_File_write_all_begin(file, a, one, MPI_INTEGER, code)
    call refused('MPI_File_write_all_begin')
    call MPI_File_write_at(file, offset, a, one, MPI_INTEGER, status, code)
    call refused('MPI_File_write_at')
    call MPI_File_write_at_all(file, offset, a, one, MPI_INTEGER, status, code)
    call refused('MPI_File_write_at_all')
    call MPI_File_write_at_all_begin(file, offset, a, one, MPI_INTEGER, code)
    call refused('MPI_File_write_at_all_begin')
    call MPI_File_write_ordered(file, a, one, MPI_INTEGER, status, code)
    call refused('MPI_File_write_ordered')
    call MPI_File_write_ordered_begin(file, a, one, MPI_INTEGER, code)
    call refused('MPI_File_write_ordered_begin')
    call MPI_File_write_shared(file, a, one, MPI_INTEGER, status, code)
    call refused('MPI_File_write_shared')
  end subroutine large_files

  subroutine programs
    character(len=6) :: arguments(3), all_arguments(2, 3)
    integer :: codes(2)
    codes = -1
    arguments = [character(len=6) :: 'one', ' two', '']
    all_arguments = ''
    all_arguments(:, 1) = arguments(:2)
    call MPI_Comm_spawn('program', MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, comm, MPI_ERRCODES_IGNORE, code)
    call refused('MPI_Comm_spawn without arguments')
    call MPI_Comm_spawn('program', arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, comm, codes, code)
    call refused('MPI_Comm_spawn')
    call MPI_Comm_spawn_multiple(2, ['first ', 'second'], MPI_ARGVS_NULL, [1, 1], [MPI_INFO_NULL, MPI_INFO_NULL], 0, &
      MPI_COMM_WORLD, comm, MPI_ERRCODES_IGNORE, code)
    call refused('MPI_Comm_spawn_multiple without arguments')
    call MPI_Comm_spawn_multiple(2, ['first ', 'second'], all_arguments, [1, 1], [MPI_INFO_NULL, MPI_INFO_NULL], 0, &
      MPI_COMM_SELF, comm, codes, code)
    call refused('MPI_Comm_spawn_multiple')
    call alike(codes, [-1, -1], 2, 'error codes of no program')
  end subroutine programs

  subroutine unchanged
    call alike([a(4), b(4), c(4), number, key], [1, 2, 3, 0, MPI_KEYVAL_INVALID], 5, 'integers')
    call holds(size == 16 .and. value == 5 .and. offset == 0 .and. .not. flag, 'other integers')
    call holds(text == 'as it was', 'the text')
    call holds(.not. c_associated(address), 'the address')
    call holds(win == MPI_WIN_NULL .and. file == MPI_FILE_NULL .and. comm == MPI_COMM_NULL, 'handles')
    call holds(group == MPI_GROUP_NULL .and. info == MPI_INFO_NULL .and. req == MPI_REQUEST_NULL, 'more handles')
    call holds(datatype == MPI_INTEGER .and. other_type == MPI_REAL, 'datatypes')
  end subroutine unchanged
end module what_is_not_there

program f08_unsupported
  use what_is_not_there
  implicit none
  call MPI_Init()
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  call windows
  call transfers
  call files
  call transfers_of_files
  call large_windows
  call large_files
  call ports
  call programs
  call unchanged
  ! Only MPI_WIN_NULL has a name.
  call MPI_Win_get_name(win, text, number)
  call same(text(:number), 'MPI_WIN_NULL', 'MPI_Win_get_name')
  call MPI_Allreduce(1, number, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call holds(number > 0, 'the program goes on')
  if (command_argument_count() > 0) call MPI_Abort(MPI_COMM_WORLD, 7)
  call finish('f08_unsupported')
  call MPI_Finalize()
end program f08_unsupported
