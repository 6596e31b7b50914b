/* SPDX-License-Identifier: MIT */
/*
 * found: threads that wait already when a recording begins, with the stack they wait in.
 *
 * Nothing stops them or makes them run: the stack is read from outside. The kernel tells a
 * waiting thread's stack pointer and address, but no other register; callers that are only
 * found by one of those are not. Threads of the kernel are left out.
 * Source: proc(5), /proc/PID/task/TID/stat and syscall; process_vm_readv(2).
 */
#ifndef SAMPLE_INITIAL_WAITS_H
#define SAMPLE_INITIAL_WAITS_H

#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "perf/ingest.h"

/* Tells ingest_initial_wait() of the threads of a process that wait, as of this time. One that is
 * gone, or may not be looked at, is as if it told nothing. stack_bytes: that are read of each
 * stack; 0: none. 0 or -ENOMEM. */
int initial_waits_read(struct ingest *in, const char *proc, uint32_t pid, uint64_t time_ns,
		       uint32_t stack_bytes) MUST_CHECK;

/* As much as can be read of a stack from its pointer up, [sp..sp + cap): how many bytes. */
size_t initial_waits_read_stack(uint32_t pid, uint64_t sp, unsigned char *to, size_t cap);

/* Of all processes. */
int initial_waits_read_all(struct ingest *in, const char *proc, uint64_t time_ns,
			   uint32_t stack_bytes, struct err *e) MUST_CHECK;

#endif
