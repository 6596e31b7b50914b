/* SPDX-License-Identifier: MIT */
/*
 * waiter: a caller that waits for storage without a thread.
 *
 * A call of the cache that needs storage parks its waiter at an in-flight request and returns
 * CACHE_PARKED. When the reply arrives, or the deadline passes, or the process that waits is
 * killed, resume() makes the same call again, from the start. The waiter keeps the replies that it
 * has waited for, so the call gets further each time, also where a reply is not cached.
 *
 * A waiter is resumed exactly once each time that it was parked. One timer thread has all
 * deadlines; it sleeps while nothing is parked and no storage call runs. The lock of waiters is
 * innermost but for the pool's: it is taken under a node's lock, and never the other way around.
 */
#ifndef CACHEFS_STORE_WAITER_H
#define CACHEFS_STORE_WAITER_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cachefs/rights/credentials.h"
#include "cachefs/store/node.h"
#include "cachefs/store/storage.h"

#define CACHE_PARKED 1 /* returned instead of 0 or -errno: the waiter will be resumed */
#define WAITER_REPLIES 8

struct waiter;

/* What waiters wait for: the first member of an in-flight request. */
struct awaited {
	struct node *node; /* holds a reference */
	_Atomic unsigned refs;
	void (*free)(struct awaited *a); /* the last reference is gone */
	int64_t wait_start_ns;  /* when the first waiter came; 0: none. Under the node's lock */
	bool is_skipped;        /* when it is done: storage was not called */
	struct waiter *waiters; /* under the lock of waiters */
};
struct awaited *awaited_ref(struct awaited *a);
void awaited_unref(struct awaited *a);

struct waiter {
	/* Makes the waiter last until it is resumed. Returns its place, which may be a new one.
	 * NULL: out of memory. Called with a node's lock held. */
	struct waiter *(*keep)(struct waiter *w);
	/* Makes the call again. No lock is held. */
	void (*resume)(struct waiter *w);
	pid_t caller;            /* the thread that made the request; 0: unknown */
	struct credentials *who; /* in whose name storage is asked; holds a reference; NULL: ours */
	struct node *blocks;     /* a node that the kernel locks until the reply; NULL: none */
	int rc;                  /* -errno: the call fails with it instead of waiting */
	int64_t start_ns;        /* when it was parked first; 0: never */
	int64_t wait_ns;         /* how long it was parked, in all */
	struct awaited *replies[WAITER_REPLIES]; /* [i % WAITER_REPLIES], i < count; referenced */
	unsigned count;

	/* While it is parked; under the lock of waiters. */
	struct waiter *before, *after; /* by deadline */
	struct waiter *next;           /* of the same in-flight request */
	struct awaited *awaited;       /* holds a reference */
	int64_t parked_ns, deadline_ns;
	bool is_interrupted; /* its caller got a signal */
};

void waiter_fini(struct waiter *w); /* drops the replies and who; w is not parked */

struct waiters;

/* pool: checked by the timer. NULL: out of memory, or of threads. */
struct waiters *waiters_new(struct pool *pool, struct storage_counts *counts,
			    int64_t timeout_ns) MUST_CHECK;
/* Ends the timer thread. No waiter is parked. NULL is allowed. */
void waiters_free(struct waiters *t);

/* Under the lock of a's node; a is not done. CACHE_PARKED, or -errno: w is not parked. */
int waiters_park(struct waiters *t, struct waiter *w, struct awaited *a) MUST_CHECK;
/* Under the same lock: has the first waiter waited until the timeout? */
bool waiters_are_late(const struct waiters *t, const struct awaited *a) MUST_CHECK;

/* The chain of all that wait for a, which is done. Under the same lock. */
struct waiter *waiters_take(struct waiters *t, struct awaited *a) MUST_CHECK;
void waiters_resume(struct waiters *t, struct waiter *chain);

/* A storage call may start: the timer checks its deadline. */
void waiters_expect(struct waiters *t);

/* Its caller got a signal. Any thread may call it until the waiter's resume() begins. */
void waiters_interrupt(struct waiters *t, struct waiter *w);

/* Resumes all with rc, a -errno, and lets no other one wait from now on. When it returns, no
 * resume() runs. */
void waiters_fail(struct waiters *t, int rc);

/* Has one been parked for that long? */
bool waiters_have_waited(struct waiters *t, int64_t ns);

/* Called when a request that the kernel locks a node for is resumed; see waiter.blocks. */
void waiters_on_unblock(struct waiters *t, void (*unblocked)(void *context), void *context);

/* For a thread that may wait: do rc = call(..., &s.waiter, ...) while (waiter_sync_wait(&s, rc)).
 */
struct waiter_sync {
	struct waiter waiter;
	sem_t resumed;
};
void waiter_sync_init(struct waiter_sync *s);
bool waiter_sync_wait(struct waiter_sync *s, int rc); /* waits if rc is CACHE_PARKED */
void waiter_sync_fini(struct waiter_sync *s);

#endif
