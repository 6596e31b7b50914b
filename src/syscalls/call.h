/* SPDX-License-Identifier: MIT */
/* syscall: one system call, as all methods report_call of it. */
#ifndef SYSCALLS_CALL_H
#define SYSCALLS_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "syscalls/signatures.h"

#define SYSCALL_NO_NUMBER UINT32_MAX /* what the kernel calls rt_sigreturn at its end */
#define SYSCALL_MAX_ERROR 4095       /* results from -SYSCALL_MAX_ERROR to -1 are errors */

/* A part of the program's memory; see struct syscall_fetch. */
struct syscall_memory {
	uint8_t arg;       /* that points to it */
	bool is_cut;       /* there is more of it */
	uint16_t len;      /* bytes; of a string without its NUL */
	const char *bytes; /* [0..len), borrowed */
};

struct syscall {
	uint32_t pid, tid;
	uint32_t nr;
	bool has_start; /* else it went on already: neither args nor start_ns hold */
	bool has_end;   /* else it went on still, or the thread ended in it: no ret, no end_ns */
	uint64_t args[6];
	int64_t ret;
	int64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	struct syscall_memory memory[SYSCALL_FETCHES];
	size_t memory_count;
};

/* What rt_sigreturn returns is the result of the call that a signal interrupted. */
static inline bool syscall_is_sigreturn(uint32_t nr)
{
	return nr == SYS_rt_sigreturn || nr == SYSCALL_NO_NUMBER;
}

/* errno; 0: it is done, or still goes on. */
static inline int32_t syscall_error(const struct syscall *c)
{
	return !syscall_is_sigreturn(c->nr) && c->has_end && c->ret < 0 &&
			       c->ret >= -SYSCALL_MAX_ERROR
		       ? (int32_t)-c->ret
		       : 0;
}

/* Of an argument; NULL: it was not read, or could not be. */
static inline const struct syscall_memory *syscall_memory_of(const struct syscall *c, size_t arg)
{
	for (size_t i = 0; i < c->memory_count; i++)
		if (c->memory[i].arg == arg && c->memory[i].bytes)
			return &c->memory[i];
	return NULL;
}

#endif
