/* SPDX-License-Identifier: MIT */
/*
 * copy_thread: runs a part of the copy in a second thread during the pause.
 *
 * The other work of the pause takes as long, and the CPUs of the frozen job are free. Storage that
 * hangs blocks this thread only, so the job can be thawed in time.
 */
#ifndef RELOCATE_COPY_COPY_THREAD_H
#define RELOCATE_COPY_COPY_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"

struct copy_thread;

/* Runs work(self). NULL: out of memory. */
struct copy_thread *copy_thread_start(int (*work)(void *self, struct err *e),
				      void *self) MUST_CHECK;

/*
 * Waits for the thread, frees b and returns what the work returned; -ENOMEM for NULL. until_ns: of
 * CLOCK_MONOTONIC. *ret_hangs: then the thread still runs, and uses self until the process exits;
 * -ETIME.
 */
int copy_thread_join(struct copy_thread *b, int64_t until_ns, bool *ret_hangs,
		     struct err *e) MUST_CHECK;

#endif
