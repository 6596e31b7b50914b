/* SPDX-License-Identifier: MIT */
/*
 * syscalls_stack: the stack of a call in a trace, one frame a line below it, as strace -k has it.
 *
 *	> /usr/lib/libc.so.6(read) [0x10e3f1]
 *	> /home/ann/solver(load) [0x1139] solver.c:12
 *
 * The innermost frame is the first. A function that the compiler put into its caller is a frame of
 * its own with the same address, and "(inlined)" behind it; one of an interpreter has no address.
 */
#ifndef VIEW_TABLES_SYSCALLS_STACK_H
#define VIEW_TABLES_SYSCALLS_STACK_H

#include <stdint.h>

#include "base/buf.h"
#include "model/profile.h"
#include "view/emit.h"

/* Lines; one quoted cell of CSV, with "; " between frames; or an array of JSON. */
void syscalls_stack_put(struct buf *out, const struct profile *p, uint32_t node,
			enum emit_format format);

#endif
