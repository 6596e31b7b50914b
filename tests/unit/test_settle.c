/* SPDX-License-Identifier: MIT */
/* A file that is written to: its times are new before its size is. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cachefs/store/cache.h"
#include "cachefs/store/node.h"
#include "tap.h"

#define OLD_BYTES 10
#define NEW_BYTES 20
#define TTL_NS 1000000

/* The file "log". */
struct fake {
	_Atomic int lookups;
	_Atomic int in_write; /* lookups that show the old size with the new times */
	struct timespec written;
};

static void get_attr(struct fake *f, struct stat *ret)
{
	bool is_old = f->written.tv_sec == 0 || f->in_write > 0;

	*ret = (struct stat){ .st_ino = 2,
			      .st_mode = S_IFREG | 0644,
			      .st_mtim = f->written,
			      .st_ctim = f->written,
			      .st_size = is_old ? OLD_BYTES : NEW_BYTES };
}

static int fake_lookup(void *self, const char *path, struct stat *ret)
{
	struct fake *f = self;

	if (path[0] == '\0') {
		*ret = (struct stat){ .st_ino = 1, .st_mode = S_IFDIR | 0755 };
		return 0;
	}
	f->lookups++;
	get_attr(f, ret);
	if (f->in_write > 0)
		f->in_write--;
	return 0;
}

static int fake_read(void *self, const char *path, const struct stat *same, uint64_t offset,
		     void *into, size_t len, struct storage_read *ret)
{
	struct stat now;

	(void)path;
	get_attr(self, &now);
	if (now.st_size != same->st_size || now.st_ctim.tv_nsec != same->st_ctim.tv_nsec)
		return -ESTALE;
	if (len > (size_t)now.st_size - offset)
		len = (size_t)now.st_size - offset;
	memset(into, 'x', len);
	*ret = (struct storage_read){ .len = len };
	return 0;
}

static const struct storage_ops ops = { .lookup = fake_lookup, .read_chunk = fake_read };

/* 0 or -errno, and how many bytes there are. */
static int read_all(struct cache *c, struct node *n, size_t *ret_len)
{
	struct cache_data data;
	struct waiter_sync w;
	int rc;

	waiter_sync_init(&w);
	do
		rc = cache_read(c, &w.waiter, n, 0, NEW_BYTES, &data);
	while (waiter_sync_wait(&w, rc));
	waiter_sync_fini(&w);
	*ret_len = 0;
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < data.count; i++)
		*ret_len += data.len[i];
	cache_data_fini(&data);
	return 0;
}

/* Opens and reads the file, which is then written to; and reads it again. */
static int read_written(struct fake *f, int in_write, size_t *ret_len)
{
	struct cache_opts o = { .budget_bytes = 64 << 20,
				.ttl_ns = TTL_NS,
				.timeout_ns = 100 * NS_PER_S,
				.max_threads = 2 };
	struct timespec ttl = { .tv_nsec = 2 * TTL_NS };
	struct cache *c = NULL;
	struct node *n = NULL;
	struct waiter_sync w;
	struct stat attr;
	struct err e;
	int64_t ttl_ns;
	int rc;

	CHECK_INT(cache_open((struct storage){ &ops, f }, &o, &c, &e), 0);
	waiter_sync_init(&w);
	do
		rc = cache_lookup(c, &w.waiter, cache_root(c), "log", &n, &attr, &ttl_ns);
	while (waiter_sync_wait(&w, rc));
	waiter_sync_fini(&w);
	CHECK_INT(rc, 0);
	atomic_fetch_add(&n->lookups, 1); /* the kernel has it */
	CHECK_INT(read_all(c, n, ret_len), 0);
	CHECK_INT(*ret_len, OLD_BYTES);
	f->in_write = in_write;
	clock_gettime(CLOCK_REALTIME, &f->written);
	f->lookups = 0;
	nanosleep(&ttl, NULL);
	rc = read_all(c, n, ret_len);
	node_unref(n, 1);
	CHECK(cache_close(c));
	return rc;
}

static void test_in_write(void)
{
	struct fake f = { .lookups = 0 };
	size_t len;

	CHECK_INT(read_written(&f, 3, &len), 0);
	CHECK_INT(len, NEW_BYTES);
	CHECK(f.lookups >= 4);
}

/* What keeps its size was rewritten: whoever has it open keeps what was read before. Storage is not
 * asked about it without end. */
static void test_rewritten(void)
{
	struct fake f = { .lookups = 0 };
	size_t len;

	CHECK_INT(read_written(&f, 1000000, &len), 0);
	CHECK_INT(len, OLD_BYTES);
	CHECK(f.lookups > 1 && f.lookups < 100);
}

int main(void)
{
	TAP_CASE(test_in_write);
	TAP_CASE(test_rewritten);
	return tap_done();
}
