/* SPDX-License-Identifier: MIT */
/* keeper: the thread that keeps a cache to its budget, and tells the kernel what it must forget. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "cachefs/store/flight.h"

#define BEGIN(budget) ((budget) - (budget) / 32) /* used bytes: then it is made less, to END */
#define END(budget) ((budget) - (budget) / 16)
#define ASK_NS (NS_PER_S / 10)

void cache_note_stale(struct cache *c, struct node *n)
{
	n->state = NODE_UNKNOWN;
	chunks_forget(n);
	atomic_fetch_add(&c->counts.stale, 1);
	if (n->is_stale)
		return; /* it is being told */
	n->is_stale = true;
	pthread_mutex_lock(&c->keep_lock);
	n->next_stale = c->stale;
	c->stale = node_ref(n);
	pthread_cond_signal(&c->keep_wake);
	pthread_mutex_unlock(&c->keep_lock);
}

void cache_check_budget(struct cache *c)
{
	if (usage_total(&c->usage) <= BEGIN(c->opts.budget_bytes))
		return;
	pthread_mutex_lock(&c->keep_lock);
	c->is_over = true;
	pthread_cond_signal(&c->keep_wake);
	pthread_mutex_unlock(&c->keep_lock);
}

bool cache_is_full(struct cache *c)
{
	return usage_total(&c->usage) > c->opts.budget_bytes;
}

static bool is_over(struct cache *c)
{
	return usage_total(&c->usage) > END(c->opts.budget_bytes);
}

/* At most so many rounds over all nodes. */
static void sweep(struct cache *c, int most, struct nodes_held *held)
{
	for (int rounds = 0; rounds < most && is_over(c) && !c->is_ending;) {
		rounds += nodes_sweep(c->nodes, held);
		for (size_t i = 0; held && i < held->count; i++)
			c->kernel.forget_name(c->kernel.context, held->list[i].parent,
					      held->list[i].name);
		if (held)
			nodes_held_clear(held);
	}
}

/* It has to ask again for all that is used: not too often. */
static void ask_kernel(struct cache *c)
{
	struct nodes_held held = { .count = 0 };
	int64_t now_ns = clock_mono_ns();

	if (now_ns - c->asked_ns < ASK_NS)
		return;
	if (c->kernel.forget_unused(c->kernel.context))
		c->asked_ns = now_ns;
	else
		sweep(c, 2, &held);
}

/* Data first, then what nobody counts on, which takes the marks of use away, then what the kernel
 * can be asked for. */
static void shrink(struct cache *c)
{
	static const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

	chunks_shrink(c->chunks, END(c->opts.budget_bytes));
	sweep(c, 1, NULL);
	if (is_over(c))
		ask_kernel(c);
	malloc_trim(0);
	if (is_over(c))
		nanosleep(&pause, NULL); /* all is in use: no use in looking again at once */
}

/* Under keep_lock. What is in use now may be so no more in a while. */
static void wait_for_work(struct cache *c)
{
	int64_t until_ns = clock_mono_ns() + LISTING_READ_NS;
	struct timespec until = { .tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S };

	if (usage_total(&c->usage) <= BEGIN(c->opts.budget_bytes))
		pthread_cond_wait(&c->keep_wake, &c->keep_lock);
	else if (pthread_cond_clockwait(&c->keep_wake, &c->keep_lock, CLOCK_MONOTONIC, &until) ==
		 ETIMEDOUT)
		c->is_over = true;
}

static void tell_stale(struct cache *c, struct node *first)
{
	for (struct node *n = first, *next; n; n = next) {
		next = n->next_stale;
		c->kernel.forget_file(c->kernel.context, (uint64_t)(uintptr_t)n);
		if (n->is_gone)
			c->kernel.doubt_name(c->kernel.context, (uint64_t)(uintptr_t)n->parent,
					     n->name);
		node_lock(c->nodes, n);
		n->is_stale = false;
		node_unlock(c->nodes, n);
		node_unref(n, 1);
	}
}

void *cache_keeper(void *cache)
{
	struct cache *c = cache;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL); /* they are the main thread's */
	pthread_mutex_lock(&c->keep_lock);
	while (!c->is_ending) {
		struct node *stale = c->stale;
		bool over = c->is_over;

		if (!stale && !over) {
			wait_for_work(c);
			continue;
		}
		c->stale = NULL;
		c->is_over = false;
		pthread_mutex_unlock(&c->keep_lock);
		tell_stale(c, stale);
		if (over)
			shrink(c);
		pthread_mutex_lock(&c->keep_lock);
	}
	pthread_mutex_unlock(&c->keep_lock);
	return NULL;
}
