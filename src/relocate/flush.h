/* SPDX-License-Identifier: MIT */
/*
 * flush: copy_flush() by a thread of its own, while the job is pointed to what is flushed: both
 * take as long, and one waits for storage where the other needs a CPU.
 */
#ifndef RELOCATE_FLUSH_H
#define RELOCATE_FLUSH_H

#include <pthread.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/macros.h"
#include "relocate/copy.h"

struct flush {
	struct copy *copy; /* borrowed; not to be touched until the end */
	struct err e;
	pthread_t thread;
	bool is_running; /* else it is done at the end */
};

void flush_start(struct flush *f, struct copy *copy);

/* Waits. All that was copied is on the storage: 0, or why not. */
int flush_end(struct flush *f, struct err *e) MUST_CHECK;

#endif
