/* SPDX-License-Identifier: MIT */
/*
 * hold: all threads of a job, stopped by ptrace and let go as if nothing had been.
 *
 * PTRACE_SEIZE without EXITKILL: when this process dies the kernel lets them go. All are seized
 * before the first is stopped. Threads and children that appear meanwhile are stopped too, until a
 * whole pass over stopped ones finds nothing new.
 *
 * Source: ptrace(2); ../shared/spec/relocate.md 2.2 to 2.4.
 */
#ifndef INJECT_FREEZE_H
#define INJECT_FREEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"

struct freeze;

/* Stops the processes and, unless is_only, their descendants. -EBUSY: some thread did not stop
 * within limit_ns (names it, its state and wchan); -EPERM: may not, or traced by another.
 * -ESRCH: all have ended; who did alone is left out. On failure all run again. */
int freeze_begin(struct freeze **ret, const pid_t *pids, size_t count, bool is_only,
		 int64_t limit_ns, struct err *e) MUST_CHECK;

/* One thread alone, while the others of pid run on. */
int freeze_begin_thread(struct freeze **ret, pid_t pid, pid_t tid, int64_t limit_ns,
			struct err *e) MUST_CHECK;

/* Lets all go with registers, signal masks and interrupted calls as they were, and frees h. NULL is
 * allowed. Returns when all ran again: clock_mono_ns(). */
int64_t freeze_thaw(struct freeze *h);

/* The processes that are held, ascending; borrowed. */
const pid_t *freeze_pids(const struct freeze *h, size_t *ret_count);
/* When the first thread was stopped: clock_mono_ns(). */
int64_t freeze_since_ns(const struct freeze *h);

#endif
