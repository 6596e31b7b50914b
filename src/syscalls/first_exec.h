/* SPDX-License-Identifier: MIT */
/*
 * first_exec: the exec that starts the command. No method sees its entry, so its arguments come
 * from our own command line.
 */
#ifndef SYSCALLS_COMMAND_H
#define SYSCALLS_COMMAND_H

#include <stdbool.h>

#include "base/buf.h"
#include "syscalls/call.h"

struct syscall_first_exec {
	struct buf path, strings; /* owned */
	uint32_t variables;       /* count of environment variables */
	struct syscall call;      /* with its entry; borrows from path and strings */
};

/* Fills m->call when c is the end of that exec. false: it is another call, or out of memory. */
bool syscall_first_exec_get(struct syscall_first_exec *m, const struct syscall *c,
			    char *const *argv);
void syscall_first_exec_fini(struct syscall_first_exec *m); /* all zero is allowed */

#endif
