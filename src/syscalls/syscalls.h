/* SPDX-License-Identifier: MIT */
/*
 * syscalls: counts, times and prints the system calls of a command, of running processes or of the
 * whole machine. Children are followed.
 *
 * Three methods give the same result: BPF programs, perf rings and ptrace(2). Each slows the traced
 * program down more than the one before it. A call counts when it ends. A call without a seen entry
 * or exit counts without a time: its thread or the recording ended first, it was in flight when the
 * recording began, or it is the exec that starts the command.
 */
#ifndef SYSCALLS_SYSCALLS_H
#define SYSCALLS_SYSCALLS_H

#include "base/err.h"
#include "base/macros.h"
#include "syscalls/opts.h"

/*
 * Records until the command or the processes end, the time is over, or a signal ends it (runloop.h
 * has the policy). -ENOTSUP, -EPERM: no method works here, or not the requested one; e names each
 * reason.
 */
int syscall_run(const struct syscall_opts *o, struct syscall_result *ret, struct err *e) MUST_CHECK;

#endif
