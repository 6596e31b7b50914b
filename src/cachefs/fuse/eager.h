/* SPDX-License-Identifier: MIT */
/*
 * eager: reads requests, and where they come in quick succession looks for the next one for a
 * moment, rather than sleep: a CPU that sleeps takes longer to wake than the request to come.
 */
#ifndef CACHEFS_FUSE_EAGER_H
#define CACHEFS_FUSE_EAGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Of one reader and its descriptor, which blocks at first. All zero at first. */
struct eager {
	int64_t usual_wait_ns; /* for a request, of late; bounded */
	unsigned misses, rest; /* looks in vain, in a row; waits until the next look */
	bool looks;            /* the descriptor does not block */
};

/* As read(2): the next request. */
ssize_t eager_read(struct eager *g, int fd, void *into, size_t len);

#endif
