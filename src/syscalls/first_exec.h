/* SPDX-License-Identifier: MIT */
/*
 * syscall_first_exec: the exec that starts the command, which no method sees begin, with what it
 * was given by us.
 */
#ifndef SYSCALLS_COMMAND_H
#define SYSCALLS_COMMAND_H

#include <stdbool.h>

#include "base/buf.h"
#include "syscalls/call.h"

struct syscall_first_exec {
	struct buf path, strings; /* owned */
	uint32_t variables;       /* of the environment */
	struct syscall call;      /* as if it had been seen; borrows of the above */
};

/* Is c that call? Then what it looked like at its begin. false: it is not, or out of memory. */
bool syscall_first_exec_get(struct syscall_first_exec *m, const struct syscall *c,
			    char *const *argv);
void syscall_first_exec_fini(struct syscall_first_exec *m); /* all zero is allowed */

#endif
