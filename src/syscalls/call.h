/* SPDX-License-Identifier: MIT */
/* sysc_call: one system call, as all methods tell of it. */
#ifndef SYSCALLS_CALL_H
#define SYSCALLS_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "syscalls/args.h"

#define SYSC_NO_NUMBER UINT32_MAX /* what the kernel calls rt_sigreturn at its end */
#define SYSC_MAX_ERROR 4095       /* results from -SYSC_MAX_ERROR to -1 are errors */

/* A part of the program's memory; see struct sysc_fetch. */
struct sysc_memory {
	uint8_t arg;       /* that points to it */
	bool is_cut;       /* there is more of it */
	uint16_t len;      /* bytes; of a string without its NUL */
	const char *bytes; /* [0..len), borrowed */
};

struct sysc_call {
	uint32_t pid, tid;
	uint32_t nr;
	bool has_start; /* else it went on already: neither args nor start_ns hold */
	bool has_end;   /* else it went on still, or the thread ended in it: no ret, no end_ns */
	uint64_t args[6];
	int64_t ret;
	int64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	struct sysc_memory memory[SYSC_FETCHES];
	size_t memory_count;
};

/* What rt_sigreturn returns is the result of the call that a signal interrupted. */
static inline bool sysc_is_sigreturn(uint32_t nr)
{
	return nr == SYS_rt_sigreturn || nr == SYSC_NO_NUMBER;
}

/* errno; 0: it is done, or still goes on. */
static inline int32_t sysc_error(const struct sysc_call *c)
{
	return !sysc_is_sigreturn(c->nr) && c->has_end && c->ret < 0 && c->ret >= -SYSC_MAX_ERROR
		       ? (int32_t)-c->ret
		       : 0;
}

/* Of an argument; NULL: it was not read, or could not be. */
static inline const struct sysc_memory *sysc_memory_of(const struct sysc_call *c, size_t arg)
{
	for (size_t i = 0; i < c->memory_count; i++)
		if (c->memory[i].arg == arg && c->memory[i].bytes)
			return &c->memory[i];
	return NULL;
}

#endif
