/* SPDX-License-Identifier: MIT */
/* keeper: the thread that keeps a cache to its budget, and tells the kernel what it must forget. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "cachefs/flight.h"

#define ROUNDS \
	2 /* over all nodes: the first takes their marks of use away, the second takes them */

void cache_note_stale(struct cache *c, struct node *n)
{
	n->state = NODE_UNKNOWN;
	chunks_forget(n);
	atomic_fetch_add(&c->counts.stale, 1);
	if (n->is_stale)
		return; /* it is being told */
	pthread_mutex_lock(&c->keep_lock);
	n->is_stale = c->stale_count < STALE_MAX;
	if (n->is_stale)
		c->stale[c->stale_count++] = node_ref(n);
	pthread_cond_signal(&c->keep_wake);
	pthread_mutex_unlock(&c->keep_lock);
}

void cache_check_budget(struct cache *c)
{
	if (usage_total(&c->usage) <= c->opts.budget_bytes)
		return;
	pthread_mutex_lock(&c->keep_lock);
	c->is_over = true;
	pthread_cond_signal(&c->keep_wake);
	pthread_mutex_unlock(&c->keep_lock);
}

static bool is_over(struct cache *c)
{
	return usage_total(&c->usage) > c->opts.budget_bytes;
}

static void sweep(struct cache *c, struct nodes_held *held)
{
	for (int rounds = 0; rounds < ROUNDS && is_over(c);) {
		rounds += nodes_sweep(c->nodes, held);
		for (size_t i = 0; held && i < held->count; i++)
			c->kernel.forget_name(c->kernel.context, held->list[i].parent,
					      held->list[i].name);
		if (held)
			nodes_held_clear(held);
	}
}

/* Data first, then what nobody counts on, then what the kernel can be asked for. */
static void shrink(struct cache *c)
{
	static const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	struct nodes_held held = { .count = 0 };

	chunks_shrink(c->chunks, c->opts.budget_bytes / 16 * 15);
	sweep(c, NULL);
	sweep(c, &held);
	malloc_trim(0);
	if (is_over(c))
		nanosleep(&pause, NULL); /* all is in use: no use in looking again at once */
}

static void tell_stale(struct cache *c, struct node **stale, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		c->kernel.forget_file(c->kernel.context, (uint64_t)(uintptr_t)stale[i]);
		node_lock(c->nodes, stale[i]);
		stale[i]->is_stale = false;
		node_unlock(c->nodes, stale[i]);
		node_unref(stale[i], 1);
	}
}

void *cache_keeper(void *cache)
{
	struct cache *c = cache;
	struct node *stale[STALE_MAX];
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL); /* they are the main thread's */
	pthread_mutex_lock(&c->keep_lock);
	while (!c->closing) {
		size_t count = c->stale_count;
		bool over = c->is_over;

		if (!count && !over) {
			pthread_cond_wait(&c->keep_wake, &c->keep_lock);
			continue;
		}
		for (size_t i = 0; i < count; i++)
			stale[i] = c->stale[i];
		c->stale_count = 0;
		c->is_over = false;
		pthread_mutex_unlock(&c->keep_lock);
		tell_stale(c, stale, count);
		if (over)
			shrink(c);
		pthread_mutex_lock(&c->keep_lock);
	}
	pthread_mutex_unlock(&c->keep_lock);
	return NULL;
}
