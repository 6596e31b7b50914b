/* SPDX-License-Identifier: MIT */
/*
 * prefetch: loads a list of paths into the cache, in order: attributes, negative entries, the names
 * in folders, and the data of files. It reads through the view, so that the kernel caches them,
 * too.
 */
#ifndef CACHEFS_STORE_PREFETCH_H
#define CACHEFS_STORE_PREFETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct prefetch_state {
	uint64_t total, done; /* paths */
	uint64_t missing;     /* of done: ENOENT */
	uint64_t failed;      /* of done: could not be read, or are outside the view */
	uint64_t bytes;       /* of data that was read */
	int64_t ns;           /* since the start */
	bool is_over;
};

struct prefetch_opts {
	const char *const *paths; /* [count]; below the target or the view, or relative to them */
	size_t count;             /* 0: no prefetch */
	uint64_t bytes_per_s;     /* 0: no limit */

	/* Reports progress, every REPORT_NS and at the end. One prefetch thread at a time calls it.
	 */
	void (*report)(void *context, const struct prefetch_state *state);
	void *context;
};

struct prefetch;

/* o, target and view are borrowed until prefetch_stop. It reads at most max_bytes of data, and no
 * file of max_file bytes or more (0: any file). */
int prefetch_new(const struct prefetch_opts *o, const char *target, const char *view,
		 uint64_t max_bytes, uint64_t max_file, struct prefetch **ret,
		 struct err *e) MUST_CHECK;
/* Starts reading; the view must be ready. NULL is allowed. */
void prefetch_begin(struct prefetch *p);

/* Is it a prefetch thread? The profile leaves its requests out. NULL is allowed. */
bool prefetch_is_caller(const struct prefetch *p, pid_t thread);

/* Reads no further path, so that the view gets out of use. NULL is allowed. */
void prefetch_cancel(struct prefetch *p);

/* Call it after the view is unmounted. NULL is allowed. */
void prefetch_stop(struct prefetch *p);

#endif
