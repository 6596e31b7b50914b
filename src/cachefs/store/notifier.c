/* SPDX-License-Identifier: MIT */
#include "cachefs/store/notifier.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/compat/compat.h"

struct notice {
	struct notice *next;
	enum notice_kind kind;
	struct node *node; /* holds a reference */
	int64_t due_ns;    /* not before; CLOCK_MONOTONIC; 0: now */
	char name[];       /* of an entry; "" else */
};

static void free_notice(struct notice *one)
{
	node_unref(one->node, 1);
	free(one);
}

/* Under lock. NULL: none, or all wait for parked requests. */
static struct node *take_stale(struct notifier *t)
{
	for (struct node **at = &t->stale; *at; at = &(*at)->next_stale) {
		struct node *n = *at;

		if (n->blocked || (n->is_detached && n->parent->blocked))
			continue;
		*at = n->next_stale;
		return n;
	}
	return NULL;
}

/* Under lock. The same. */
static struct notice *take_notice(struct notifier *t)
{
	int64_t now_ns = clock_mono_ns();

	t->due_ns = INT64_MAX;
	for (struct notice **at = &t->first; *at; at = &(*at)->next) {
		struct notice *one = *at;

		if (one->due_ns > now_ns && one->due_ns < t->due_ns)
			t->due_ns = one->due_ns;
		if (one->due_ns > now_ns || one->node->blocked)
			continue;
		*at = one->next;
		if (!one->next)
			t->last = at;
		return one;
	}
	return NULL;
}

static uint64_t id_of(const struct node *n)
{
	return (uint64_t)(uintptr_t)n;
}

static void send_stale(struct notifier *t, struct node *n)
{
	const struct cache_kernel *k = t->kernel;
	bool keeps_data;

	node_lock(t->nodes, n);
	keeps_data = n->is_detached && S_ISREG(n->attr.st_mode);
	node_unlock(t->nodes, n);
	if (!keeps_data)
		k->inval_inode(k->context, id_of(n));
	if (n->is_detached)
		k->expire_entry(k->context, id_of(n->parent), n->name);
	node_lock(t->nodes, n);
	n->is_stale = false;
	node_unlock(t->nodes, n);
	node_unref(n, 1);
}

/* A file that grew once more meanwhile has another notice. */
static void send_grown(const struct notifier *t, struct node *n)
{
	const struct cache_kernel *k = t->kernel;
	uint32_t growths;

	node_lock(t->nodes, n);
	growths = n->growths;
	node_unlock(t->nodes, n);
	k->inval_inode(k->context, id_of(n));
	node_lock(t->nodes, n);
	n->is_growing = n->growths != growths;
	node_unlock(t->nodes, n);
}

static void send_notice(const struct notifier *t, struct notice *one)
{
	const struct cache_kernel *k = t->kernel;

	if (one->kind == NOTICE_GROWN)
		send_grown(t, one->node);
	else if (one->kind == NOTICE_INODE)
		k->inval_inode(k->context, id_of(one->node));
	else if (one->kind == NOTICE_INVAL_ENTRY)
		k->inval_entry(k->context, id_of(one->node), one->name);
	else
		k->expire_entry(k->context, id_of(one->node), one->name);
	free_notice(one);
}

/* Under lock: until there may be something to send. */
static void wait_for_notice(struct notifier *t)
{
	struct timespec until = { .tv_sec = t->due_ns / NS_PER_S, .tv_nsec = t->due_ns % NS_PER_S };

	if (t->due_ns == INT64_MAX)
		pthread_cond_wait(&t->wake, &t->lock);
	else
		(void)!pthread_cond_timedwait(&t->wake, &t->lock, &until);
	t->waits = false;
}

static void *run(void *arg)
{
	struct notifier *t = arg;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL); /* the main thread handles them */
	pthread_mutex_lock(&t->lock);
	while (!t->is_ending) {
		struct node *stale = take_stale(t);
		struct notice *one = stale ? NULL : take_notice(t);
		bool is_counted;

		if (!stale && !one && !t->waits && (t->stale || t->first)) {
			t->waits = true; /* a request may have been answered before: look again */
			continue;
		}
		if (!stale && !one) {
			wait_for_notice(t);
			continue;
		}
		is_counted = one && !one->due_ns;
		pthread_mutex_unlock(&t->lock);
		if (stale)
			send_stale(t, stale);
		else
			send_notice(t, one);
		pthread_mutex_lock(&t->lock);
		t->queued -= is_counted;
		pthread_cond_broadcast(&t->sent);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

void notifier_init(struct notifier *t, struct nodes *nodes, const struct cache_kernel *kernel)
{
	*t = (struct notifier){ .nodes = nodes, .kernel = kernel, .last = &t->first };
	pthread_mutex_init(&t->lock, NULL);
	compat_cond_init(&t->wake);
	compat_cond_init(&t->sent);
}

int notifier_start(struct notifier *t, struct err *e)
{
	int rc;

	pthread_mutex_lock(&t->lock);
	rc = pthread_create(&t->thread, NULL, run, t);
	t->is_running = rc == 0;
	pthread_mutex_unlock(&t->lock);
	return rc ? err_set(e, -rc, "cannot start a thread: %s", strerror(rc)) : 0;
}

/* The nodes in stale keep their references: the cache ends. */
void notifier_stop(struct notifier *t)
{
	bool was_running;

	pthread_mutex_lock(&t->lock);
	was_running = t->is_running;
	t->is_ending = true;
	t->is_running = false;
	pthread_cond_signal(&t->wake);
	pthread_cond_broadcast(&t->sent);
	pthread_mutex_unlock(&t->lock);
	if (was_running)
		pthread_join(t->thread, NULL);
}

void notifier_fini(struct notifier *t)
{
	for (struct notice *one = t->first, *next; one; one = next) {
		next = one->next;
		free_notice(one);
	}
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->wake);
	pthread_cond_destroy(&t->sent);
}

static int put(struct notifier *t, enum notice_kind kind, struct node *n, const char *name,
	       int64_t due_ns)
{
	size_t len = strlen(name) + 1;
	struct notice *one = calloc(1, sizeof *one + len);

	if (!one)
		return -ENOMEM;
	one->kind = kind;
	one->due_ns = due_ns;
	one->node = node_ref(n);
	memcpy(one->name, name, len);
	pthread_mutex_lock(&t->lock);
	*t->last = one;
	t->last = &one->next;
	t->queued += !due_ns;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	return 0;
}

int notifier_put(struct notifier *t, enum notice_kind kind, struct node *n, const char *name)
{
	return put(t, kind, n, name, 0);
}

int notifier_put_later(struct notifier *t, struct node *n, int64_t due_ns)
{
	return put(t, NOTICE_INODE, n, "", due_ns);
}

void notifier_wait(struct notifier *t, uint64_t left, int64_t until_ns)
{
	struct timespec until = { .tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S };
	int rc = 0;

	pthread_mutex_lock(&t->lock);
	while (t->is_running && t->queued > left && rc == 0)
		rc = pthread_cond_timedwait(&t->sent, &t->lock, &until);
	pthread_mutex_unlock(&t->lock);
}

void notifier_put_stale(struct notifier *t, struct node *n)
{
	if (n->is_stale)
		return;
	n->is_stale = true;
	pthread_mutex_lock(&t->lock);
	n->next_stale = t->stale;
	t->stale = node_ref(n);
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

void notifier_unblocked(void *notifier)
{
	struct notifier *t = notifier;

	if (!t->waits)
		return;
	pthread_mutex_lock(&t->lock);
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
}
