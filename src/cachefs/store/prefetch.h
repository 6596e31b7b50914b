/* SPDX-License-Identifier: MIT */
/*
 * prefetch: looks at paths before anybody asks for them, in order: what they are, which do not
 * exist, names in folders, data of files. It goes through the view itself, so that the kernel
 * knows them afterwards, too.
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
	uint64_t absent;      /* of done: those that are not there */
	uint64_t failed;      /* of done: those that could not be read or are not in the view */
	uint64_t bytes;       /* of data that were read */
	int64_t ns;           /* since the start */
	bool is_over;
};

struct prefetch_opts {
	const char *const *paths; /* [count]: below the target or the view, or relative to them */
	size_t count;             /* 0: nothing is prefetched */
	uint64_t bytes_per_s;     /* 0: as fast as it goes */

	/* Now and then, and at the end; by one thread of ours. */
	void (*tell)(void *context, const struct prefetch_state *state);
	void *context;
};

struct prefetch;

/* o, target and view: valid until prefetch_stop. No more than max_bytes of data are read, and no
 * file of max_file bytes and more (0: all). */
int prefetch_new(const struct prefetch_opts *o, const char *target, const char *view,
		 uint64_t max_bytes, uint64_t max_file, struct prefetch **ret,
		 struct err *e) MUST_CHECK;
/* The view can be used. NULL is allowed. */
void prefetch_begin(struct prefetch *p);

/* Is it one of our threads? Then nobody is to count what it asks. NULL is allowed. */
bool prefetch_is_asker(const struct prefetch *p, pid_t thread);

/* The view is unmounted. NULL is allowed. */
void prefetch_stop(struct prefetch *p);

#endif
