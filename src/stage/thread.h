/* SPDX-License-Identifier: MIT */
/* thread: finds the shard of the calling thread, and retires shards when threads exit. */
#ifndef STAGE_THREAD_H
#define STAGE_THREAD_H

#include "stage/profiler.h"

/* The shard of one profiler. */
struct thread_slot {
	uint64_t serial; /* of the profiler; 0: never used */
	struct shard *shard;
};

struct thread {
	struct thread_slot slots[PROFILERS_MAX];
	struct thread *next; /* spare */
};

/* Only a pointer: the static TLS block has little room for a library that dlopen() loads.
 * initial-exec: the first use in a thread must not allocate. */
extern _Thread_local struct thread *thread_self __attribute__((tls_model("initial-exec")));

/* Ends all open stages of a context, for a thread that exits. */
typedef void thread_end_stages(struct auger_context *c, struct shard *s);

/* Call once, before the first profiler exists. Returns 0 or a negative errno. */
int threads_start(thread_end_stages *end);

/* Gives the calling thread a shard. NULL: out of memory. */
struct shard *thread_shard_slowly(struct auger_profiler *p);

static inline struct shard *thread_shard(struct auger_profiler *p)
{
	struct thread *t = thread_self;

	if (LIKELY(t && t->slots[p->slot].serial == p->serial))
		return t->slots[p->slot].shard;
	return thread_shard_slowly(p);
}

/* In the child of a fork(), whose only thread is this one: the shards of other threads are free. */
void thread_forked(struct auger_profiler *p);

#endif
