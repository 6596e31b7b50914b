/* SPDX-License-Identifier: MIT */
#include "cachefs/store/lookout.h"

#include <errno.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cachefs/store/asker.h"

#define LOOK_NS (NS_PER_S / 1000)
#define INTERRUPT_NS (NS_PER_S / 50) /* so often it is asked whether anybody waits */
#define IDLE_LOOKS 100               /* in vain, until it sleeps */

struct lookout {
	int64_t timeout_ns;
	void (*late)(struct attached *w);
	pthread_t thread;
	_Atomic unsigned begins;
	_Atomic bool sleeps, gives_up, closing;
	_Atomic(struct attached *) list; /* only ever grows */

	pthread_mutex_t lock;
	pthread_cond_t wake; /* with lock, which guards no more than this */
};

/* Source: linux/fuse.h, struct fuse_out_header. */
static void answer(struct attached *w, int rc)
{
	struct fuse_out_header header = { .len = sizeof header, .error = rc, .unique = w->number };

	w->told = rc;
	if (write(w->fd, &header, sizeof header) < 0)
		return; /* nobody waits there any more: that is what it is for */
}

/* Who waits for it is being ended. */
static bool has_left(struct attached *w, int64_t now_ns)
{
	if (now_ns < w->asks_ns)
		return false;
	w->asks_ns = now_ns + INTERRUPT_NS;
	return fuse_req_interrupted(w->req) && asker_is_ending(fuse_req_ctx(w->req)->pid);
}

/* True: it is in storage. */
static bool look(const struct lookout *t, struct attached *w, int64_t now_ns)
{
	int64_t age_ns;

	pthread_mutex_lock(&w->lock);
	age_ns = w->since_ns ? now_ns - w->since_ns : 0;
	if (age_ns > LOOK_NS && !w->is_late) {
		w->is_late = true;
		t->late(w);
	}
	if (age_ns > 0 && !w->told) {
		if (t->gives_up)
			answer(w, -EINTR);
		else if (age_ns >= t->timeout_ns)
			answer(w, -ETIMEDOUT);
		else if (has_left(w, now_ns))
			answer(w, -EINTR);
	}
	pthread_mutex_unlock(&w->lock);
	return age_ns > 0;
}

/* Until something begins that was not among these. */
static void sleep_till(struct lookout *t, unsigned begins)
{
	pthread_mutex_lock(&t->lock);
	t->sleeps = true;
	while (t->begins == begins && !t->closing)
		pthread_cond_wait(&t->wake, &t->lock);
	t->sleeps = false;
	pthread_mutex_unlock(&t->lock);
}

static void *work(void *arg)
{
	static const struct timespec pause = { .tv_nsec = LOOK_NS };
	struct lookout *t = arg;
	unsigned begins = 0, idle = 0;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL); /* they are the main thread's */
	for (;;) {
		int64_t now_ns = clock_mono_ns();
		bool is_last = t->closing, is_busy = t->begins != begins;

		begins = t->begins;
		for (struct attached *w = t->list; w; w = w->next)
			is_busy |= look(t, w, now_ns);
		if (is_last)
			return NULL;
		idle = is_busy ? 0 : idle + 1;
		if (idle > IDLE_LOOKS)
			sleep_till(t, begins);
		else
			nanosleep(&pause, NULL);
	}
}

struct lookout *lookout_new(int64_t timeout_ns, void (*late)(struct attached *w))
{
	struct lookout *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->timeout_ns = timeout_ns;
	t->late = late;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->wake, NULL);
	if (pthread_create(&t->thread, NULL, work, t) != 0) {
		free(t);
		return NULL;
	}
	return t;
}

void lookout_add(struct lookout *t, struct attached *w)
{
	w->next = t->list;
	while (!atomic_compare_exchange_weak(&t->list, &w->next, w))
		;
}

void lookout_begin(struct lookout *t, struct attached *w, fuse_req_t req, int fd, uint64_t number)
{
	pthread_mutex_lock(&w->lock);
	w->since_ns = clock_mono_ns();
	w->asks_ns = w->since_ns + INTERRUPT_NS;
	w->req = req;
	w->fd = fd;
	w->number = number;
	w->told = 0;
	w->is_late = false;
	pthread_mutex_unlock(&w->lock);
	atomic_fetch_add(&t->begins, 1);
	if (!t->sleeps)
		return;
	pthread_mutex_lock(&t->lock);
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

int lookout_end(struct attached *w)
{
	int told;

	pthread_mutex_lock(&w->lock);
	w->since_ns = 0;
	told = w->told;
	pthread_mutex_unlock(&w->lock);
	return told;
}

/* All that is in storage makes it look once a millisecond. */
void lookout_give_up(struct lookout *t)
{
	t->gives_up = true;
}

void lookout_stop(struct lookout *t)
{
	pthread_mutex_lock(&t->lock);
	t->closing = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
}

void lookout_free(struct lookout *t)
{
	if (!t)
		return;
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->wake);
	free(t);
}
