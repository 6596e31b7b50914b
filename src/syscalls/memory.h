/* SPDX-License-Identifier: MIT */
/* memory: reads the memory that a call refers to, of a thread that is stopped in the call. */
#ifndef SYSCALLS_MEMORY_H
#define SYSCALLS_MEMORY_H

#include <stdbool.h>

#include "syscalls/call.h"

/* Adds to c->memory what must be read at entry, or at exit. c borrows bytes. Unreadable memory is
 * left out. */
void syscall_read_memory(struct syscall *c, bool wants_all, bool at_entry,
			 char bytes[SYSCALL_FETCHES][SYSCALL_FETCH_BYTES]);

#endif
