/* SPDX-License-Identifier: MIT */
/*
 * beside: a part of a copy made by a thread of its own while the job stands still, beside what else
 * is to be done: both take as long, and other CPUs have nothing to do then.
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
	struct copy *copy; /* borrowed; not to be touched until the end */
	struct err e;
	pthread_t thread;
	bool is_running; /* else it is done at the end */
};

void copy_thread_start(struct copy_thread *b, int (*work)(struct copy *copy, struct err *e),
		       struct copy *copy);

/* Waits. What the work returned. */
int copy_thread_join(struct copy_thread *b, struct err *e) MUST_CHECK;

#endif
