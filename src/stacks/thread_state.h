/* SPDX-License-Identifier: MIT */
/*
 * thread_state: what /proc has of a thread: its state, where the kernel waits, and since when.
 *
 * Source: proc(5), /proc/PID/task/TID/{stat,wchan,stack,sched}; kernel, kernel/sched/debug.c.
 */
#ifndef STACKS_THREAD_STATE_H
#define STACKS_THREAD_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"
#include "target/proc.h"

/* Strings are empty where the kernel does not show them to this user. */
struct thread_state {
	struct proc_stat stat;
	char wchan[64];
	struct buf kernel;  /* functions of the kernel's stack, root first, separated by ';' */
	int64_t blocked_ns; /* state D: since it ran last; -1: unknown */
};

void thread_state_fini(struct thread_state *s);

/* ret: all zero, or of another thread. false: the thread has ended. Lack of memory shows in
 * ret->kernel. */
bool thread_state_read(struct thread_state *ret, uint32_t pid, uint32_t tid);

/* Appends the functions of lines "[<0>] NAME+0x1/0x2", outermost first, separated by ';'. */
void thread_state_put_kernel(struct buf *out, const char *text);

/* The value of a line "KEY   :   12.345678" of a sched file, in milliseconds, as nanoseconds; -1:
 * it is not there. */
int64_t thread_state_sched_ns(const char *text, const char *key);

#endif
