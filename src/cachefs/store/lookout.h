/* SPDX-License-Identifier: MIT */
/*
 * lookout: looks after threads that ask storage themselves, which is faster than having others ask
 * (a wake-up less on both ways), so that who waits for them is still told in time.
 *
 * One thread looks about once a millisecond while there is something to look after. What takes too
 * long, or is not waited for any more, is answered for the thread, which is left to its storage;
 * the kernel refuses its own answer afterwards, with ENOENT.
 */
#ifndef CACHEFS_STORE_LOOKOUT_H
#define CACHEFS_STORE_LOOKOUT_H

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

/* A thread that may ask storage. All zero at first, but lock; owned by who adds it. */
struct attached {
	struct attached *next; /* the watch's */
	pthread_mutex_t lock;  /* of all below */
	int64_t since_ns;      /* 0: it is not in storage */
	int64_t asks_ns;       /* when it is next asked whether anybody waits */
	fuse_req_t req;        /* whose answer waits */
	int fd;                /* where it is answered */
	uint64_t number;       /* of the request, to the kernel */
	int told;              /* -errno: the answer was that; 0: none yet */
	bool is_late;          /* was said */
};

struct lookout;

/* late: a thread is in storage for longer than a moment; called once each time, with its lock. */
struct lookout *lookout_new(int64_t timeout_ns, void (*late)(struct attached *w)) MUST_CHECK;
void lookout_add(struct lookout *t, struct attached *w);

/* Around the asking, by the thread. end: 0, or what was answered for it: -ETIMEDOUT, -EINTR. */
void lookout_begin(struct lookout *t, struct attached *w, fuse_req_t req, int fd, uint64_t number);
int lookout_end(struct attached *w) MUST_CHECK;

/* From here on all are answered at once, with -EINTR. */
void lookout_give_up(struct lookout *t);
/* What begins from then on is not looked after. */
void lookout_stop(struct lookout *t);
void lookout_free(struct lookout *t); /* stopped, and no watched thread is left; NULL is allowed */

#endif
