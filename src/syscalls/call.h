/* SPDX-License-Identifier: MIT */
/* call: one system call, as all methods report it. */
#ifndef SYSCALLS_CALL_H
#define SYSCALLS_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "syscalls/signatures.h"

#define SYSCALL_NO_NUMBER \
	UINT32_MAX             /* the number of rt_sigreturn when the kernel reports its end */
#define SYSCALL_MAX_ERROR 4095 /* results from -SYSCALL_MAX_ERROR to -1 are errors */

/* A part of the traced program's memory; see struct syscall_fetch. */
struct syscall_memory {
	uint8_t arg;       /* whose value points to it */
	bool is_cut;       /* there is more of it */
	uint16_t len;      /* bytes; of a string without its NUL */
	const char *bytes; /* [0..len), borrowed */
};

struct syscall {
	uint32_t pid, tid;
	uint32_t nr;
	bool has_start; /* else it was in flight already: args and start_ns are not set */
	bool has_end;   /* else its end was not seen: ret and end_ns are not set */
	uint64_t args[6];
	int64_t ret;
	int64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint32_t stack;           /* at its start: a node of opts.stacks; 0: not known */
	struct syscall_memory memory[SYSCALL_FETCHES];
	size_t memory_count;
};

/* What rt_sigreturn returns is the result of the call that a signal interrupted. */
static inline bool syscall_is_sigreturn(uint32_t nr)
{
	return nr == SYS_rt_sigreturn || nr == SYSCALL_NO_NUMBER;
}

/* errno; 0: it succeeded, or has not ended. */
static inline int32_t syscall_error(const struct syscall *c)
{
	return !syscall_is_sigreturn(c->nr) && c->has_end && c->ret < 0 &&
			       c->ret >= -SYSCALL_MAX_ERROR
		       ? (int32_t)-c->ret
		       : 0;
}

/* The memory that an argument points to; NULL: it was not read. */
static inline const struct syscall_memory *syscall_memory_of(const struct syscall *c, size_t arg)
{
	for (size_t i = 0; i < c->memory_count; i++)
		if (c->memory[i].arg == arg && c->memory[i].bytes)
			return &c->memory[i];
	return NULL;
}

#endif
