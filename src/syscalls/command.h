/* SPDX-License-Identifier: MIT */
/*
 * sysc_command: the exec that starts the command, which no method sees begin, with what it was
 * given by us.
 */
#ifndef SYSCALLS_COMMAND_H
#define SYSCALLS_COMMAND_H

#include <stdbool.h>

#include "base/buf.h"
#include "syscalls/call.h"

struct sysc_command {
	struct buf path, strings; /* owned */
	uint32_t variables;       /* of the environment */
	struct sysc_call call;    /* as if it had been seen; borrows of the above */
};

/* Is c that call? Then what it looked like at its begin. false: it is not, or out of memory. */
bool sysc_command_get(struct sysc_command *m, const struct sysc_call *c, char *const *argv);
void sysc_command_fini(struct sysc_command *m); /* all zero is allowed */

#endif
