/* SPDX-License-Identifier: MIT */
/*
 * server_clocks: what the clocks of file servers must show by now, at least.
 *
 * Who only reads a file system cannot ask for its server's clock. But each ctime that it reports
 * was that clock's time once, so the greatest one that was seen, and the time since then, are a
 * lower bound. Data that was read when this bound was close to its file's ctime may have been read
 * in the same tick of that clock; see recheck.h. So a server whose clock is behind ours makes more
 * data provisional, never less.
 *
 * The bound is never later than our clock, and never more than SERVER_BEHIND_NS before it. A ctime
 * later than our clock is no evidence: it may be of a time when the server's clock was wrong.
 *
 * Any thread may call both functions.
 */
#ifndef CACHEFS_MEMORY_SERVER_CLOCKS_H
#define CACHEFS_MEMORY_SERVER_CLOCKS_H

#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/clock.h"

#define SERVER_BEHIND_NS (600 * NS_PER_S)
#define SERVER_CLOCKS 32 /* file systems; of further ones the longest known is replaced */

struct server_clock {
	dev_t device;      /* st_dev */
	int64_t offset_ns; /* from CLOCK_MONOTONIC to the server's clock, at least */
};

/* All zero is empty. */
struct server_clocks {
	pthread_mutex_t lock;
	struct server_clock list[SERVER_CLOCKS]; /* [count % SERVER_CLOCKS] is the next */
	unsigned count;
};

struct server_now {
	int64_t mono_ns, wall_ns; /* the same moment by CLOCK_MONOTONIC and CLOCK_REALTIME */
};

int64_t server_ctime(const struct stat *attr); /* in nanoseconds; what does not fit is cut */

/* The server has returned attr, at now or earlier. */
void server_clocks_note(struct server_clocks *c, const struct stat *attr, struct server_now now);

/* What the clock of the file system shows at this moment, at least; since 1970. */
int64_t server_clocks_at(struct server_clocks *c, dev_t device, struct server_now when);

#endif
