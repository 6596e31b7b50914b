/* SPDX-License-Identifier: MIT */
/* evictor: the thread that keeps a cache within its budget. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "cachefs/store/cache_internal.h"

#define BEGIN(budget) ((budget) - (budget) / 32) /* used bytes that start eviction */
#define END(budget) ((budget) - (budget) / 16)   /* and end it */
#define DROP_NS (NS_PER_S / 10)                  /* at least between two drop_unused */
#define NOTIFY_NS (NS_PER_S / 10)                /* how long to wait for the notifier */

void cache_note_stale(struct cache *c, struct node *n)
{
	n->state = NODE_UNKNOWN;
	if (!cache_keeps_version(n))
		chunks_invalidate(n);
	notifier_put_stale(&c->notifier, n);
}

void cache_check_budget(struct cache *c)
{
	if (usage_total(&c->usage) <= BEGIN(c->opts.budget_bytes))
		return;
	pthread_mutex_lock(&c->evictor_lock);
	c->is_over_budget = true;
	pthread_cond_signal(&c->evictor_wake);
	pthread_mutex_unlock(&c->evictor_lock);
}

bool cache_is_full(struct cache *c)
{
	return usage_total(&c->usage) > c->opts.budget_bytes;
}

static bool is_over(struct cache *c)
{
	return usage_total(&c->usage) > END(c->opts.budget_bytes);
}

static void sweep(struct cache *c, int max_rounds, struct evictable_names *names)
{
	for (int rounds = 0; rounds < max_rounds && is_over(c) && !c->is_ending;) {
		int rc = 0;

		rounds += nodes_sweep(c->nodes, names);
		for (size_t i = 0; names && i < names->count && rc == 0; i++)
			rc = notifier_put(&c->notifier, NOTICE_INVAL_ENTRY, names->list[i].parent,
					  names->list[i].name);
		if (!names)
			continue;
		evictable_names_clear(names);
		notifier_wait(&c->notifier, 0, clock_mono_ns() + NOTIFY_NS);
	}
}

/* Not too often: the kernel must then look up again all that is used. */
static void shrink_kernel(struct cache *c)
{
	struct evictable_names names = { .count = 0 };
	int64_t now_ns = clock_mono_ns();

	if (now_ns - c->dropped_ns < DROP_NS)
		return;
	if (c->kernel.drop_unused(c->kernel.context))
		c->dropped_ns = now_ns;
	else
		sweep(c, 2, &names);
}

/* Evicts data first, then unreferenced nodes, which also clears the `used` flags, then nodes that
 * only the kernel references. */
static void shrink(struct cache *c)
{
	static const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

	chunks_shrink(c->chunks, END(c->opts.budget_bytes));
	sweep(c, 1, NULL);
	if (is_over(c))
		shrink_kernel(c);
	malloc_trim(0);
	if (is_over(c))
		nanosleep(&pause, NULL); /* all is in use */
}

/* Under evictor_lock. Over the budget it wakes up at times: what was in use may be evictable. */
static void wait_for_work(struct cache *c)
{
	int64_t until_ns = clock_mono_ns() + LISTING_READ_NS;
	struct timespec until = { .tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S };

	if (usage_total(&c->usage) <= BEGIN(c->opts.budget_bytes))
		pthread_cond_wait(&c->evictor_wake, &c->evictor_lock);
	else if (pthread_cond_timedwait(&c->evictor_wake, &c->evictor_lock, &until) == ETIMEDOUT)
		c->is_over_budget = true;
}

void *cache_evictor(void *cache)
{
	struct cache *c = cache;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL); /* the main thread handles them */
	pthread_mutex_lock(&c->evictor_lock);
	while (!c->is_ending) {
		if (!c->is_over_budget) {
			wait_for_work(c);
			continue;
		}
		c->is_over_budget = false;
		pthread_mutex_unlock(&c->evictor_lock);
		shrink(c);
		pthread_mutex_lock(&c->evictor_lock);
	}
	pthread_mutex_unlock(&c->evictor_lock);
	return NULL;
}
