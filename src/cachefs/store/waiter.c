/* SPDX-License-Identifier: MIT */
#include "cachefs/store/waiter.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/compat/compat.h"
#include "base/log.h"
#include "cachefs/rights/caller.h"

#define POLL_NS (NS_PER_S / 50) /* how often the timer checks if an interrupted caller dies */

struct waiters {
	struct pool *pool;
	struct storage_counts *counts;
	int64_t timeout_ns;
	void (*unblocked)(void *context); /* written before start, as is the next */
	void *context;
	pthread_t timer;

	pthread_mutex_t lock;
	pthread_cond_t wake, resumed;
	struct waiter *first, *last; /* by deadline; this and all below: under lock */
	int64_t wake_ns;             /* when the timer wakes up by itself; INT64_MAX: never */
	unsigned resuming;           /* chains that are being resumed */
	bool has_interrupted;        /* there may be waiters with is_interrupted */
	_Atomic int fails;           /* -errno: no waiter may park */
	bool closing;
};

struct awaited *awaited_ref(struct awaited *a)
{
	atomic_fetch_add(&a->refs, 1);
	return a;
}

void awaited_unref(struct awaited *a)
{
	if (atomic_fetch_sub(&a->refs, 1) == 1)
		a->free(a);
}

void waiter_fini(struct waiter *w)
{
	for (unsigned i = 0; i < w->count && i < WAITER_REPLIES; i++)
		awaited_unref(w->replies[i]);
	w->count = 0;
	credentials_unref(w->who);
	w->who = NULL;
}

/* Under lock. */
static void wake_by(struct waiters *t, int64_t when_ns)
{
	if (when_ns >= t->wake_ns)
		return;
	t->wake_ns = when_ns;
	pthread_cond_signal(&t->wake);
}

/* Under lock, in the order of deadlines: most waiters go to the end. */
static void link_waiter(struct waiters *t, struct waiter *w)
{
	struct waiter *before = t->last;

	while (before && before->deadline_ns > w->deadline_ns)
		before = before->before;
	w->before = before;
	w->after = before ? before->after : t->first;
	*(w->after ? &w->after->before : &t->last) = w;
	*(before ? &before->after : &t->first) = w;
}

/* Under lock. The caller then owns w, and resumes it. */
static void unlink_waiter(struct waiters *t, struct waiter *w)
{
	*(w->before ? &w->before->after : &t->first) = w->after;
	*(w->after ? &w->after->before : &t->last) = w->before;
	w->wait_ns += clock_mono_ns() - w->parked_ns;
	if (w->blocks && atomic_fetch_sub(&w->blocks->blocked, 1) == 1 && t->unblocked)
		t->unblocked(t->context);
}

/* Under lock. The same, for a waiter whose request is not done. */
static void leave(struct waiters *t, struct waiter *w)
{
	struct waiter **at = &w->awaited->waiters;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	unlink_waiter(t, w);
}

bool waiters_are_late(const struct waiters *t, const struct awaited *a)
{
	return a->wait_start_ns && clock_mono_ns() - a->wait_start_ns >= t->timeout_ns;
}

static void set_times(const struct waiters *t, struct waiter *w, struct awaited *a)
{
	w->parked_ns = clock_mono_ns();
	w->start_ns = w->start_ns ? w->start_ns : w->parked_ns;
	a->wait_start_ns = a->wait_start_ns ? a->wait_start_ns : w->parked_ns;
	w->deadline_ns = w->start_ns < a->wait_start_ns ? w->start_ns : a->wait_start_ns;
	w->deadline_ns += t->timeout_ns;
}

int waiters_park(struct waiters *t, struct waiter *w, struct awaited *a)
{
	if (w->rc < 0)
		return w->rc;
	if (t->fails)
		return t->fails;
	if (waiters_are_late(t, a)) {
		atomic_fetch_add(&t->counts->timeouts, 1);
		return -EIO;
	}
	w = w->keep(w);
	if (!w)
		return -ENOMEM;
	set_times(t, w, a);
	w->awaited = awaited_ref(a);
	if (w->blocks)
		atomic_fetch_add(&w->blocks->blocked, 1);

	pthread_mutex_lock(&t->lock);
	link_waiter(t, w);
	w->next = a->waiters;
	a->waiters = w;
	t->has_interrupted |= w->is_interrupted;
	wake_by(t, w->is_interrupted || t->fails ? w->parked_ns : w->deadline_ns);
	pthread_mutex_unlock(&t->lock);
	return CACHE_PARKED;
}

struct waiter *waiters_take(struct waiters *t, struct awaited *a)
{
	struct waiter *chain;

	pthread_mutex_lock(&t->lock);
	chain = a->waiters;
	a->waiters = NULL;
	for (struct waiter *w = chain; w; w = w->next)
		unlink_waiter(t, w);
	t->resuming += chain != NULL;
	pthread_mutex_unlock(&t->lock);
	return chain;
}

static void end_resuming(struct waiters *t)
{
	pthread_mutex_lock(&t->lock);
	t->resuming--;
	if (t->fails)
		pthread_cond_broadcast(&t->resumed);
	pthread_mutex_unlock(&t->lock);
}

static void keep_reply(struct waiter *w, struct awaited *a)
{
	struct awaited **at = &w->replies[w->count++ % WAITER_REPLIES];

	if (w->count > WAITER_REPLIES)
		awaited_unref(*at);
	*at = a;
}

/* Nodes that storage was late for. */
struct late {
	struct late *next;
	struct node *node; /* holds a reference */
};

/* A waiter was not answered in time. Once a path, it is added to the list, for the log. */
static void note_timeout(struct waiters *t, struct node *n, struct late **list)
{
	struct late *one;

	atomic_fetch_add(&t->counts->timeouts, 1);
	if (atomic_exchange(&n->is_late, true))
		return;
	one = malloc(sizeof *one);
	if (!one)
		return;
	one->node = node_ref(n);
	one->next = *list;
	*list = one;
}

/* After all waiters are resumed: to write the log may block. */
static void log_late(struct late *list)
{
	for (struct late *one = list, *next; one; one = next) {
		CLEANUP(buf_fini) struct buf path = { 0 };

		next = one->next;
		if (node_path(one->node, &path) == 0)
			log_msg(LOG_WARN, "cache", "storage: /%s: no reply in time", path.data);
		node_unref(one->node, 1);
		free(one);
	}
}

void waiters_resume(struct waiters *t, struct waiter *chain)
{
	struct late *late = NULL;

	if (!chain)
		return;
	for (struct waiter *w = chain, *next; w; w = next) {
		next = w->next;
		if (w->awaited->is_skipped)
			note_timeout(t, w->awaited->node, &late);
		keep_reply(w, w->awaited);
		w->resume(w);
	}
	end_resuming(t);
	log_late(late);
}

/* Waiters that got no reply. */
static void resume_failed(struct waiters *t, struct waiter *chain)
{
	struct late *late = NULL;

	if (!chain)
		return;
	for (struct waiter *w = chain, *next; w; w = next) {
		next = w->next;
		if (w->rc == -EINTR)
			atomic_fetch_add(&t->counts->interrupts, 1);
		else if (w->rc == -EIO)
			note_timeout(t, w->awaited->node, &late);
		awaited_unref(w->awaited);
		w->resume(w);
	}
	end_resuming(t);
	log_late(late);
}

/* Under lock. 0: it waits on. */
static int failure_of(const struct waiters *t, const struct waiter *w, int64_t now_ns)
{
	if (t->fails)
		return t->fails;
	if (w->deadline_ns <= now_ns)
		return -EIO;
	return w->is_interrupted && caller_is_dying(w->caller) ? -EINTR : 0;
}

/* Under lock. Takes all that wait no longer; *ret_next_ns: when to look again. */
static struct waiter *take_failed(struct waiters *t, int64_t now_ns, int64_t *ret_next_ns)
{
	struct waiter *chain = NULL;

	bool looks_at_all = t->has_interrupted || t->fails;

	*ret_next_ns = INT64_MAX;
	t->has_interrupted = false;
	for (struct waiter *w = t->first, *after; w; w = after) {
		int rc = failure_of(t, w, now_ns);

		after = w->after;
		if (rc == 0 && !looks_at_all)
			break;
		t->has_interrupted |= rc == 0 && w->is_interrupted;
		if (rc < 0) {
			w->rc = rc;
			leave(t, w);
			w->next = chain;
			chain = w;
		} else if (w->is_interrupted && now_ns + POLL_NS < *ret_next_ns) {
			*ret_next_ns = now_ns + POLL_NS;
		}
	}
	if (t->first && t->first->deadline_ns < *ret_next_ns)
		*ret_next_ns = t->first->deadline_ns;
	t->resuming += chain != NULL;
	return chain;
}

/* Under lock. Sleeps until wake_ns. */
static void sleep_until_woken(struct waiters *t)
{
	while (!t->closing && t->wake_ns > clock_mono_ns()) {
		struct timespec until = { .tv_sec = t->wake_ns / NS_PER_S,
					  .tv_nsec = t->wake_ns % NS_PER_S };

		if (t->wake_ns == INT64_MAX)
			pthread_cond_wait(&t->wake, &t->lock);
		else
			pthread_cond_timedwait(&t->wake, &t->lock, &until);
	}
}

static void *run_timer(void *arg)
{
	struct waiters *t = arg;

	pthread_mutex_lock(&t->lock);
	for (;;) {
		struct waiter *failed;
		int64_t now_ns, next_ns, pool_ns;

		sleep_until_woken(t);
		if (t->closing)
			break;
		now_ns = clock_mono_ns();
		t->wake_ns = INT64_MAX;
		failed = take_failed(t, now_ns, &next_ns);
		pthread_mutex_unlock(&t->lock);
		resume_failed(t, failed);
		pool_ns = pool_check(t->pool, now_ns);
		pthread_mutex_lock(&t->lock);
		wake_by(t, next_ns < pool_ns ? next_ns : pool_ns);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* The main thread handles signals. It may not have blocked them yet, so the timer must not get one
 * before it blocks them itself. */
static int start_timer(struct waiters *t)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&t->timer, NULL, run_timer, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

struct waiters *waiters_new(struct pool *pool, struct storage_counts *counts, int64_t timeout_ns)
{
	struct waiters *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->pool = pool;
	t->counts = counts;
	t->timeout_ns = timeout_ns;
	t->wake_ns = INT64_MAX;
	pthread_mutex_init(&t->lock, NULL);
	compat_cond_init(&t->wake);
	pthread_cond_init(&t->resumed, NULL);
	if (start_timer(t) == 0)
		return t;
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->wake);
	pthread_cond_destroy(&t->resumed);
	free(t);
	return NULL;
}

void waiters_free(struct waiters *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->closing = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->timer, NULL);
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->wake);
	pthread_cond_destroy(&t->resumed);
	free(t);
}

void waiters_expect(struct waiters *t)
{
	pthread_mutex_lock(&t->lock);
	wake_by(t, clock_mono_ns() + t->timeout_ns);
	pthread_mutex_unlock(&t->lock);
}

void waiters_interrupt(struct waiters *t, struct waiter *w)
{
	pthread_mutex_lock(&t->lock);
	w->is_interrupted = t->has_interrupted = true;
	wake_by(t, clock_mono_ns());
	pthread_mutex_unlock(&t->lock);
}

void waiters_fail(struct waiters *t, int rc)
{
	struct waiter *failed;
	int64_t next_ns;

	pthread_mutex_lock(&t->lock);
	t->fails = rc;
	failed = take_failed(t, clock_mono_ns(), &next_ns);
	pthread_mutex_unlock(&t->lock);
	resume_failed(t, failed);
	pthread_mutex_lock(&t->lock);
	while (t->resuming)
		pthread_cond_wait(&t->resumed, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

bool waiters_have_waited(struct waiters *t, int64_t ns)
{
	int64_t now_ns = clock_mono_ns();
	bool has_waited = false;

	pthread_mutex_lock(&t->lock);
	for (const struct waiter *w = t->first; w && !has_waited; w = w->after)
		has_waited = now_ns - w->parked_ns >= ns;
	pthread_mutex_unlock(&t->lock);
	return has_waited;
}

void waiters_on_unblock(struct waiters *t, void (*unblocked)(void *context), void *context)
{
	t->unblocked = unblocked;
	t->context = context;
}

static struct waiter *stay(struct waiter *w)
{
	return w;
}

static void post(struct waiter *w)
{
	sem_post(&((struct waiter_sync *)w)->resumed);
}

void waiter_sync_init(struct waiter_sync *s)
{
	*s = (struct waiter_sync){ .waiter = { .keep = stay, .resume = post } };
	sem_init(&s->resumed, 0, 0);
}

bool waiter_sync_wait(struct waiter_sync *s, int rc)
{
	if (rc != CACHE_PARKED)
		return false;
	while (sem_wait(&s->resumed) < 0)
		continue;
	return true;
}

void waiter_sync_fini(struct waiter_sync *s)
{
	waiter_fini(&s->waiter);
	sem_destroy(&s->resumed);
}
