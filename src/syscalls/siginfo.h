/* SPDX-License-Identifier: MIT */
/* siginfo: prints a signal and how a thread ended, as strace does. Source: sigaction(2), wait(2).
 */
#ifndef SYSCALLS_SIGINFO_H
#define SYSCALLS_SIGINFO_H

#include <signal.h>

#include "base/buf.h"

/* "SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=NULL}". */
void syscall_put_siginfo(const siginfo_t *info, struct buf *out);

/* "exited with 3", "killed by SIGSEGV (core dumped)". status: as of wait(2). */
void syscall_put_exit(int status, struct buf *out);

#endif
