/* SPDX-License-Identifier: MIT */
/*
 * thread_stacks: the stacks of all threads of processes at one moment, as a profile with one sample
 * a thread.
 *
 * A thread is stopped for less than CAPTURE_STOP_NS (capture.h), for its registers, its stack and
 * its Python frames. The unwinding happens after it runs again. A thread in a call that cannot be
 * interrupted (state D) is not stopped, and neither is one that this user may not trace: its stack
 * is found by the registers that the kernel has of it (kernel_regs.h), or by the two registers in
 * /proc/PID/task/TID/syscall, so that callers may be missing. The innermost frame of each stack is
 * the reason of the wait, such as "[futex]".
 *
 * Where a lock keeps the memory of a process from being read within two seconds, its threads are
 * known by /proc alone. Source: proc(5), ptrace(2).
 */
#ifndef STACKS_THREAD_STACKS_H
#define STACKS_THREAD_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "model/profile.h"

/* A thread. Strings are ids of the profile; 0: unknown, or there is none. */
struct thread_stack {
	uint32_t pid, tid;
	uint32_t comm;
	uint32_t node;      /* its stack, named; the leaf is the reason of the wait */
	uint32_t call;      /* the system call with its arguments */
	uint32_t object;    /* the file or peer that it is about */
	uint32_t wchan;     /* the function of the kernel that waits */
	uint32_t kernel;    /* functions of the kernel's stack, root first, separated by ';' */
	uint32_t missing;   /* why the program's stack was not read */
	char state;         /* 'R', 'S', 'D', ... of proc(5) */
	int64_t blocked_ns; /* for how long it has not run, at least; -1: unknown */
	int64_t stopped_ns; /* by us; 0: it was not stopped */
};

/* All zero is empty. */
struct thread_stacks {
	struct profile *profile; /* type threads/count; owned */
	struct rows threads;     /* struct thread_stack, in the order of the pids, ascending tids */
	size_t process_count;    /* with threads */
};

struct thread_stacks_opts {
	const pid_t *pids; /* [count]; borrowed */
	size_t count;

	/* Called before each thread: reading memory that is mapped from storage that does not reply
	 * blocks until the process is killed. NULL: never. */
	void (*progress)(void *context, uint32_t pid);
	void *context;
};

/* Processes that have ended are left out with a warning. -ESRCH: all of them have. -EPERM: this
 * user may see none of them. */
int thread_stacks_take(const struct thread_stacks_opts *o, struct thread_stacks *ret,
		       struct err *e) MUST_CHECK;
void thread_stacks_fini(struct thread_stacks *s);

#endif
