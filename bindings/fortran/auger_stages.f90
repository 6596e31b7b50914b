! SPDX-License-Identifier: MIT
!
! auger_stages: the stage library for Fortran 2008 and later. See auger-stage(3).
!
!     use auger_stages
!     type(auger_profiler) :: prof
!     call prof%open()
!     call prof%begin('assemble')
!     call prof%end('assemble')
!     status = prof%write('results/%h.%p.jsonl')
!     call prof%close()
!
! A profiler that was not opened, or that AUGER_STAGES=off keeps off, does nothing. Blanks at the
! end of a name are not part of it.
module auger_stages
  use, intrinsic :: iso_c_binding
  implicit none
  private

  integer, parameter, public :: auger_auto = 0, auger_off = 1, auger_time = 2, auger_full = 3

  type, public :: auger_profiler
    type(c_ptr), private :: handle = c_null_ptr
  contains
    procedure :: open => profiler_open
    procedure :: close => profiler_close
    procedure :: is_on => profiler_is_on
    procedure :: begin => profiler_begin
    procedure :: end => profiler_end
    procedure :: set => profiler_set
    procedure :: reset => profiler_reset
    procedure :: report => profiler_report
    procedure :: write => profiler_write
  end type

  ! struct auger_opts of auger/stage.h
  type, bind(c) :: options
    integer(c_size_t) :: size
    integer(c_int) :: level
    integer(c_int) :: fork
    type(c_ptr) :: out
    integer(c_int) :: max_stages
    integer(c_int) :: max_depth
    integer(c_int32_t) :: rss_interval_us
    integer(c_int) :: per_thread
    integer(c_int) :: on_sigterm
    integer(c_int) :: reset_rss_peak
  end type

  interface
    function c_new(opts) bind(c, name='auger_profiler_new') result(p)
      import :: c_ptr, options
      type(options), intent(in) :: opts
      type(c_ptr) :: p
    end function

    subroutine c_close(p) bind(c, name='auger_profiler_close')
      import :: c_ptr
      type(c_ptr), value :: p
    end subroutine

    function c_begin(p, text, length) bind(c, name='auger_stage_begin_name') result(token)
      import :: c_ptr, c_char, c_size_t, c_int64_t
      type(c_ptr), value :: p
      character(kind=c_char), intent(in) :: text(*)
      integer(c_size_t), value :: length
      integer(c_int64_t) :: token
    end function

    subroutine c_end(p, text, length) bind(c, name='auger_stage_end_name')
      import :: c_ptr, c_char, c_size_t
      type(c_ptr), value :: p
      character(kind=c_char), intent(in) :: text(*)
      integer(c_size_t), value :: length
    end subroutine

    subroutine c_set(p, key, text) bind(c, name='auger_profiler_set')
      import :: c_ptr, c_char
      type(c_ptr), value :: p
      character(kind=c_char), intent(in) :: key(*), text(*)
    end subroutine

    subroutine c_reset(p) bind(c, name='auger_profiler_reset')
      import :: c_ptr
      type(c_ptr), value :: p
    end subroutine

    function c_report(p, length) bind(c, name='auger_profiler_report') result(text)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: p
      integer(c_size_t), intent(out) :: length
      type(c_ptr) :: text
    end function

    function c_write(p, path) bind(c, name='auger_profiler_write') result(status)
      import :: c_ptr, c_char, c_int
      type(c_ptr), value :: p
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int) :: status
    end function

    subroutine c_free(p) bind(c, name='free')
      import :: c_ptr
      type(c_ptr), value :: p
    end subroutine
  end interface

contains

  ! level: auger_auto is the level in AUGER_STAGES. out: the file for the report at the end, a pattern.
  subroutine profiler_open(self, level, out, per_thread)
    class(auger_profiler), intent(inout) :: self
    integer, intent(in), optional :: level
    character(*), intent(in), optional :: out
    logical, intent(in), optional :: per_thread
    character(kind=c_char), allocatable, target :: path(:)
    type(options) :: opts

    opts = options(0, auger_auto, 0, c_null_ptr, 0, 0, 0, 0, 0, 0)
    opts%size = c_sizeof(opts)
    if (present(level)) opts%level = level
    if (present(out)) then
      path = c_text(out)
      opts%out = c_loc(path)
    end if
    if (present(per_thread)) opts%per_thread = merge(1, 0, per_thread)
    call self%close()
    self%handle = c_new(opts)
  end subroutine

  subroutine profiler_close(self)
    class(auger_profiler), intent(inout) :: self

    call c_close(self%handle)
    self%handle = c_null_ptr
  end subroutine

  logical function profiler_is_on(self)
    class(auger_profiler), intent(in) :: self

    profiler_is_on = c_associated(self%handle)
  end function

  subroutine profiler_begin(self, name)
    class(auger_profiler), intent(in) :: self
    character(*), intent(in) :: name
    integer(c_int64_t) :: token

    if (c_associated(self%handle)) &
      token = c_begin(self%handle, name, int(len_trim(name), c_size_t))
  end subroutine

  ! Ends the innermost open stage with this name.
  subroutine profiler_end(self, name)
    class(auger_profiler), intent(in) :: self
    character(*), intent(in) :: name

    if (c_associated(self%handle)) &
      call c_end(self%handle, name, int(len_trim(name), c_size_t))
  end subroutine

  ! Sets a top-level key of the report, such as 'input'.
  subroutine profiler_set(self, key, text)
    class(auger_profiler), intent(in) :: self
    character(*), intent(in) :: key, text

    call c_set(self%handle, c_text(key), c_text(text))
  end subroutine

  ! Empties the report; open stages count from now.
  subroutine profiler_reset(self)
    class(auger_profiler), intent(in) :: self

    call c_reset(self%handle)
  end subroutine

  ! The report as one JSON object; empty when it is off.
  function profiler_report(self) result(text)
    class(auger_profiler), intent(in) :: self
    character(:), allocatable :: text
    character(kind=c_char), pointer :: bytes(:)
    integer(c_size_t) :: length, i
    type(c_ptr) :: report

    report = c_report(self%handle, length)
    if (.not. c_associated(report)) then
      text = ''
      return
    end if
    call c_f_pointer(report, bytes, [length])
    allocate (character(len=length) :: text)
    do i = 1, length
      text(i:i) = bytes(i)
    end do
    call c_free(report)
  end function

  ! Appends the report to a file, a pattern; 0 or a negative errno.
  integer function profiler_write(self, path)
    class(auger_profiler), intent(in) :: self
    character(*), intent(in) :: path

    profiler_write = c_write(self%handle, c_text(path))
  end function

  ! A C string: without trailing blanks, with a NUL.
  function c_text(text) result(bytes)
    character(*), intent(in) :: text
    character(kind=c_char), allocatable :: bytes(:)
    integer :: i, length

    length = len_trim(text)
    allocate (bytes(length + 1))
    do i = 1, length
      bytes(i) = text(i:i)
    end do
    bytes(length + 1) = c_null_char
  end function

end module
