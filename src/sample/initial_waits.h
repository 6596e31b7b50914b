/* SPDX-License-Identifier: MIT */
/*
 * initial_waits: reports threads that are off the CPU when a recording begins, with their stacks.
 *
 * The stack is read from outside: threads are neither stopped nor woken. /proc has only the stack
 * pointer and address of a waiting thread, so callers whose unwinding needs another register are
 * missing. Kernel threads are left out.
 * Source: proc(5), /proc/PID/task/TID/stat and syscall; process_vm_readv(2).
 */
#ifndef SAMPLE_INITIAL_WAITS_H
#define SAMPLE_INITIAL_WAITS_H

#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "perf/ingest.h"

/* Passes the waiting threads of a process to ingest. An ended or unreadable process has none.
 * stack_bytes: read of each stack; 0: none. 0 or -ENOMEM. */
int initial_waits_read(struct ingest *in, const char *proc, uint32_t pid, uint64_t time_ns,
		       uint32_t stack_bytes) MUST_CHECK;

/* Reads what is mapped of a stack, [sp..sp + cap). Returns the bytes read. */
size_t initial_waits_read_stack(uint32_t pid, uint64_t sp, unsigned char *to, size_t cap);

/* The same for all processes. */
int initial_waits_read_all(struct ingest *in, const char *proc, uint64_t time_ns,
			   uint32_t stack_bytes, struct err *e) MUST_CHECK;

#endif
