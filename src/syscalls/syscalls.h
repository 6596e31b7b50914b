/* SPDX-License-Identifier: MIT */
/*
 * syscalls: the system calls of a command, of running processes or of the machine, counted, timed
 * and decoded one by one.
 *
 * Three methods report_call the same: programs of BPF in the kernel, the rings of perf, and
 * ptrace(2), each dearer for who is looked at than the one before. Children are followed. A call
 * counts when it ends; what a thread that ends, or the end of recording, cuts short counts without
 * a time, and so do calls that went on when recording began, and the exec that starts the command.
 */
#ifndef SYSCALLS_SYSCALLS_H
#define SYSCALLS_SYSCALLS_H

#include "base/err.h"
#include "base/macros.h"
#include "syscalls/opts.h"

/*
 * Until the command or the processes end, the time is over, or a signal ends it: the first is
 * passed on to the command, the second leaves it (runloop.h). -ENOTSUP, -EPERM: no method, or not
 * the one that was asked for, can do this here.
 */
int syscall_run(const struct syscall_opts *o, struct syscall_result *ret, struct err *e) MUST_CHECK;

#endif
