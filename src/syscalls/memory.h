/* SPDX-License-Identifier: MIT */
/* syscall_memory: the memory that belongs to a call, of a thread that is stopped in it. */
#ifndef SYSCALLS_MEMORY_H
#define SYSCALLS_MEMORY_H

#include <stdbool.h>

#include "syscalls/call.h"

/* Adds to c->memory what is to be read at its begin, or its end; into these bytes, which must live
 * as long as that is used. What cannot be read is left out. */
void syscall_read_memory(struct syscall *c, bool wants_all, bool at_entry,
			 char bytes[SYSCALL_FETCHES][SYSCALL_FETCH_BYTES]);

#endif
