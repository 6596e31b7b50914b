! SPDX-License-Identifier: MIT
!
! Heat flows through a plate; the phases of each step are stages.
!
!     gfortran heat.f90 $(pkg-config --cflags --libs auger_fortran)
program heat
  use auger_stages
  implicit none
  integer, parameter :: n = 400
  real(8) :: plate(n, n), next(n, n), change
  type(auger_profiler) :: prof
  integer :: step

  call prof%open()
  call prof%begin('setup')
  plate = 0
  plate(1, :) = 100
  next = plate
  call prof%end('setup')

  do step = 1, 50
    call prof%begin('step')
    call prof%begin('flow')
    next(2:n-1, 2:n-1) = 0.25d0 * (plate(1:n-2, 2:n-1) + plate(3:n, 2:n-1) &
      + plate(2:n-1, 1:n-2) + plate(2:n-1, 3:n))
    call prof%end('flow')
    call prof%begin('compare')
    change = maxval(abs(next - plate))
    plate = next
    call prof%end('compare')
    call prof%end('step')
  end do

  call prof%set('input', 'plate')
  print '(a)', prof%report()
  call prof%close()
end program
