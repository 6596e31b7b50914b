/* SPDX-License-Identifier: MIT */
/*
 * copy_thread: runs a part of the copy in a second thread during the pause.
 *
 * The other work of the pause takes as long, and the CPUs of the frozen job are free.
 */
#ifndef RELOCATE_COPY_COPY_THREAD_H
#define RELOCATE_COPY_COPY_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/macros.h"
#include "relocate/copy/copy.h"

struct copy_thread {
	int (*work)(struct copy *copy, struct err *e);
	struct copy *copy; /* borrowed; the caller must not use it before the join */
	struct err e;
	pthread_t thread;
	bool is_running; /* false: the join does the work */
};

void copy_thread_start(struct copy_thread *b, int (*work)(struct copy *copy, struct err *e),
		       struct copy *copy);

/* Waits for the thread and returns what the work returned. */
int copy_thread_join(struct copy_thread *b, struct err *e) MUST_CHECK;

#endif
