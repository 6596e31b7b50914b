/* SPDX-License-Identifier: MIT */
#include "cachefs/store/waiter.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "cachefs/store/cache.h"
#include "tap.h"

#define MANY 300
#define TIMEOUT_NS (NS_PER_S / 5)

/* A storage that does not reply until it is released. */
struct fake {
	sem_t released;
	_Atomic int lookups;
};

static int fake_lookup(void *self, const char *path, struct stat *ret)
{
	struct fake *f = self;

	f->lookups++;
	while (sem_wait(&f->released) < 0)
		continue;
	sem_post(&f->released); /* for all */
	*ret = (struct stat){ .st_ino = 2, .st_mode = S_IFREG | 0644 };
	return path[0] == 'f' ? 0 : -ENOENT;
}

static bool not_allowed(void *context)
{
	(void)context;
	return false;
}

static void no_name(void *context, uint64_t parent, const char *name)
{
	(void)context;
	(void)parent;
	(void)name;
}

static void no_node(void *context, uint64_t node)
{
	(void)context;
	(void)node;
}

static struct cache *open_cache(struct fake *f, int64_t timeout_ns)
{
	static const struct storage_ops ops = { .lookup = fake_lookup };
	static const struct cache_kernel kernel = { .drop_unused = not_allowed,
						    .expire_entry = no_name,
						    .inval_entry = no_name,
						    .inval_inode = no_node };
	struct cache_opts o = { .budget_bytes = 1 << 30,
				.ttl_ns = CACHE_FOREVER,
				.timeout_ns = timeout_ns,
				.max_threads = 8 };
	struct cache *c = NULL;
	struct err e = { 0 };

	sem_init(&f->released, 0, 0);
	CHECK_INT(cache_open((struct storage){ &ops, f }, &o, &c, &e), 0);
	CHECK_INT(cache_start_evictor(c, kernel, &e), 0);
	return c;
}

/* A lookup without a thread. */
struct lookup {
	struct waiter waiter; /* the first member */
	struct cache *cache;
	char name[8];
	int rc;
	int64_t end_ns;
	_Atomic bool is_over;
};

static struct waiter *keep(struct waiter *w)
{
	return w;
}

static void run(struct waiter *w)
{
	struct lookup *l = (struct lookup *)w;
	struct cache *c = l->cache;
	struct node *n = NULL;
	struct stat attr;
	int64_t negative_ttl_ns;
	int rc = cache_lookup(c, w, cache_root(c), l->name, &n, &attr, &negative_ttl_ns);

	if (rc == CACHE_PARKED)
		return;
	if (n)
		node_unref(n, 1);
	waiter_fini(w);
	l->rc = rc;
	l->end_ns = clock_mono_ns();
	l->is_over = true;
}

static void begin(struct lookup *l, struct cache *c, int number)
{
	*l = (struct lookup){ .waiter = { .keep = keep, .resume = run }, .cache = c };
	snprintf(l->name, sizeof l->name, "f%d", number);
	run(&l->waiter);
}

static void check_all(struct lookup *list, int rc)
{
	int wrong = 0;

	for (int i = 0; i < MANY; i++) {
		while (!list[i].is_over)
			sched_yield();
		wrong += list[i].rc != rc;
	}
	CHECK_INT(wrong, 0);
}

static void end(struct fake *f, struct cache *c)
{
	sem_post(&f->released);
	CHECK(cache_close(c));
	sem_destroy(&f->released);
}

/* Many more lookups wait than there are threads: all end at the deadline. Then the storage replies,
 * and all names are served. */
static void test_deadline(void)
{
	static struct lookup list[MANY];
	struct fake f = { .lookups = 0 };
	struct cache *c = open_cache(&f, TIMEOUT_NS);
	int64_t begin_ns = clock_mono_ns();

	for (int i = 0; i < MANY; i++)
		begin(&list[i], c, i);
	check_all(list, -EIO);
	CHECK(clock_mono_ns() - begin_ns >= TIMEOUT_NS);
	CHECK_INT(cache_counts(c)->storage.timeouts, MANY);
	while (cache_hanging(c) < 8)
		sched_yield();
	begin(&list[0], c, MANY); /* no further thread calls it */
	CHECK(list[0].is_over);
	CHECK_INT(list[0].rc, -EIO);
	CHECK(f.lookups <= 2 * 8); /* those that hang, and at most one more for each */
	sem_post(&f.released);
	while (cache_hanging(c))
		sched_yield();
	for (int i = 0; i < MANY; i++)
		do { /* also a storage that replies may be late */
			begin(&list[i], c, i);
			while (!list[i].is_over)
				sched_yield();
		} while (list[i].rc == -EIO);
	check_all(list, 0);
	end(&f, c);
}

/* The end of a view answers all that wait, and all that come later. */
static void test_fail(void)
{
	static struct lookup list[MANY];
	struct fake f = { .lookups = 0 };
	struct cache *c = open_cache(&f, 100 * NS_PER_S);
	int over = 0;

	for (int i = 0; i < MANY - 1; i++)
		begin(&list[i], c, i / 2); /* pairs share a request */
	for (int i = 0; i < MANY - 1; i++)
		over += list[i].is_over;
	CHECK_INT(over, 0);
	CHECK(!cache_has_waited(c, 50 * NS_PER_S));
	CHECK(cache_has_waited(c, 0));
	cache_fail_requests(c);
	for (int i = 0; i < MANY - 1; i++)
		over += list[i].is_over;
	CHECK_INT(over, MANY - 1);
	begin(&list[MANY - 1], c, MANY);
	check_all(list, -ENOTCONN);
	CHECK(!cache_has_waited(c, 0));
	end(&f, c);
}

/* A signal ends only a caller that it is about to end: this thread, no. */
static void test_interrupt(void)
{
	struct fake f = { .lookups = 0 };
	struct cache *c = open_cache(&f, 100 * NS_PER_S);
	struct lookup alive, gone;

	begin(&alive, c, 1);
	begin(&gone, c, 1);
	alive.waiter.caller = getpid();
	gone.waiter.caller = 0x3fffffff; /* more than pid_max may be */
	cache_interrupt(c, &alive.waiter);
	cache_interrupt(c, &gone.waiter);
	while (!gone.is_over)
		sched_yield();
	CHECK_INT(gone.rc, -EINTR);
	CHECK(!alive.is_over);
	sem_post(&f.released);
	while (!alive.is_over)
		sched_yield();
	CHECK_INT(alive.rc, 0);
	CHECK_INT(cache_counts(c)->storage.interrupts, 1);
	end(&f, c);
}

int main(void)
{
	TAP_CASE(test_deadline);
	TAP_CASE(test_fail);
	TAP_CASE(test_interrupt);
	return tap_done();
}
