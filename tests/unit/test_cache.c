/* SPDX-License-Identifier: MIT */
#include "cachefs/store/cache.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap.h"

#define MS INT64_C(1000000)
#define FILE_BYTES (3 * CHUNK_BYTES + 5)

#define SMALL_BYTES 32768
/* A storage that counts: "f*" are files of FILE_BYTES, "fs*" of SMALL_BYTES, and it takes as long
 * as told. */
struct fake {
	_Atomic int lookups, lists, reads, bundles, xattrs, asked;
	_Atomic int64_t hang_ns;
	_Atomic bool is_changed;
	int names; /* "f000" and so on in each folder; 0: just "f" */
};

static void rest(int64_t ns)
{
	struct timespec t = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };

	nanosleep(&t, NULL);
}

static int fake_lookup(void *self, const char *path, struct stat *ret)
{
	struct fake *f = self;

	atomic_fetch_add(&f->lookups, 1);
	rest(f->hang_ns);
	*ret = (struct stat){ .st_ino = 1, .st_mode = S_IFDIR | 0755 };
	if (path[0] == '\0')
		return 0;
	if (path[0] != 'f')
		return -ENOENT;
	*ret = (struct stat){ .st_ino = path[1] == 's' ? 3 + strtoul(path + 2, NULL, 10) : 2,
			      .st_mode = S_IFREG | 0644,
			      .st_ctim.tv_sec = f->is_changed,
			      .st_size = path[1] == 's' ? SMALL_BYTES : FILE_BYTES };
	return 0;
}

static int fake_lookup_names(void *self, const char *path, const struct dirlist *names, size_t from,
			     size_t count, struct stat *ret, int *ret_rc, size_t *ret_count)
{
	struct fake *f = self;

	(void)path;
	atomic_fetch_add(&f->bundles, 1);
	for (size_t i = 0; i < count; i++) {
		ret_rc[i] = dirlist_name(names, from + i)[0] == 'f' ? 0 : -ENOENT;
		ret[i] = (struct stat){ .st_ino = 2,
					.st_mode = S_IFREG | 0644,
					.st_size = FILE_BYTES };
	}
	*ret_count = count;
	return 0;
}

static int fake_list(void *self, const char *path, size_t max_entries, struct dirlist **ret)
{
	struct fake *f = self;
	struct dirlist *l = dirlist_new();

	(void)path;
	(void)max_entries;
	atomic_fetch_add(&f->lists, 1);
	if (!l || (!f->names && dirlist_add(l, "f", 2, DT_REG) < 0))
		return -ENOMEM;
	for (int i = 0; i < f->names; i++) {
		char name[16];

		snprintf(name, sizeof name, "f%03d", i);
		if (dirlist_add(l, name, 2, DT_REG) < 0)
			return -ENOMEM;
	}
	dirlist_seal(l);
	*ret = l;
	return 0;
}

static int fake_read(void *self, const char *path, const struct stat *same, uint64_t offset,
		     void *into, size_t len, struct storage_read *ret)
{
	struct fake *f = self;

	(void)path;
	(void)same;
	atomic_fetch_add(&f->reads, 1);
	if (f->is_changed)
		return -ESTALE;
	if (len > FILE_BYTES - offset)
		len = (size_t)(FILE_BYTES - offset);
	for (size_t i = 0; i < len; i++)
		((char *)into)[i] = (char)((offset + i) % 251);
	*ret = (struct storage_read){ .len = len };
	return 0;
}

/* Files have "user.a", and are on a file system without access lists. */
static int fake_xattr(void *self, const char *path, const char *name, struct buf *ret)
{
	struct fake *f = self;

	(void)path;
	atomic_fetch_add(&f->xattrs, 1);
	if (name && strncmp(name, "system.", 7) == 0)
		return -EOPNOTSUPP;
	if (!name || strcmp(name, "user.a") != 0)
		return name ? -ENODATA : 0;
	buf_put_str(ret, "value");
	return buf_error(ret);
}

/* Files may be read and nothing else. */
static int fake_access(void *self, const char *path, const struct stat *same, int wanted)
{
	struct fake *f = self;

	(void)path;
	(void)same;
	atomic_fetch_add(&f->asked, 1);
	return wanted == R_OK ? 0 : -EACCES;
}

static const struct storage_ops fake_ops = {
	.lookup = fake_lookup,
	.lookup_names = fake_lookup_names,
	.list = fake_list,
	.read_chunk = fake_read,
	.xattr = fake_xattr,
	.access = fake_access,
};

static void nobody(void *context, uint64_t node)
{
	(void)context;
	(void)node;
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

static struct cache *open_cache(struct fake *f, uint64_t budget, int64_t negative_ttl_ns,
				int64_t timeout_ns)
{
	struct cache_opts o = { .budget_bytes = budget,
				.asks_rights = true,
				.ttl_ns = CACHE_FOREVER,
				.negative_ttl_ns = negative_ttl_ns,
				.timeout_ns = timeout_ns,
				.max_threads = 8 };
	struct cache *c = NULL;
	struct err e = { 0 };

	CHECK_INT(cache_open((struct storage){ &fake_ops, f }, &o, &c, &e), 0);
	CHECK_INT(cache_start_evictor(c,
				      (struct cache_kernel){ .drop_unused = not_allowed,
							     .expire_entry = no_name,
							     .inval_entry = no_name,
							     .inval_inode = nobody },
				      &e),
		  0);
	return c;
}

/* The calls of the cache, for a thread that may wait. */
static int wait_lookup(struct cache *c, const char *name, struct node **ret, struct stat *ret_attr,
		       int64_t *ret_negative_ttl_ns)
{
	struct waiter_sync w;
	int rc;

	waiter_sync_init(&w);
	do
		rc = cache_lookup(c, &w.waiter, cache_root(c), name, ret, ret_attr,
				  ret_negative_ttl_ns);
	while (waiter_sync_wait(&w, rc));
	waiter_sync_fini(&w);
	return rc;
}

static int wait_list(struct cache *c, size_t from, struct dirlist **ret)
{
	struct waiter_sync w;
	int rc;

	waiter_sync_init(&w);
	do
		rc = cache_list(c, &w.waiter, cache_root(c), from, ret);
	while (waiter_sync_wait(&w, rc));
	waiter_sync_fini(&w);
	return rc;
}

static int wait_read(struct cache *c, struct node *n, uint64_t offset, size_t len,
		     struct cache_data *ret)
{
	struct waiter_sync w;
	int rc;

	waiter_sync_init(&w);
	do
		rc = cache_read(c, &w.waiter, n, offset, len, ret);
	while (waiter_sync_wait(&w, rc));
	waiter_sync_fini(&w);
	return rc;
}

static int wait_names(struct cache *c, struct dirlist *names, struct node **ret,
		      struct stat *ret_attr)
{
	struct waiter_sync w;
	int64_t ttl_ns;
	int rc;

	waiter_sync_init(&w);
	do
		rc = cache_lookup_names(c, &w.waiter, cache_root(c), names, 0, 1, ret, ret_attr,
					&ttl_ns);
	while (waiter_sync_wait(&w, rc));
	waiter_sync_fini(&w);
	return rc;
}

static int look(struct cache *c, const char *name)
{
	struct stat attr;
	struct node *n;
	int64_t negative_ttl_ns;
	int rc = wait_lookup(c, name, &n, &attr, &negative_ttl_ns);

	if (rc == 0)
		node_unref(n, 1);
	return rc;
}

static void *look_for_f(void *cache)
{
	return (void *)(intptr_t)look(cache, "f");
}

static void test_single_flight(void)
{
	struct fake f = { .hang_ns = 100 * MS };
	struct cache *c = open_cache(&f, 1 << 30, 0, NS_PER_S);
	pthread_t threads[8];

	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_create(&threads[i], NULL, look_for_f, c);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		void *rc;

		pthread_join(threads[i], &rc);
		CHECK_INT((intptr_t)rc, 0);
	}
	CHECK_INT(f.lookups, 1);
	CHECK(cache_close(c));
}

static int may(struct cache *c, struct node *n, struct credentials *who, int wanted)
{
	struct waiter_sync w;
	int rc;

	waiter_sync_init(&w);
	w.waiter.who = credentials_ref(who);
	do
		rc = cache_may(c, &w.waiter, n, wanted);
	while (waiter_sync_wait(&w, rc));
	waiter_sync_fini(&w);
	return rc;
}

/* Storage is asked once for each user and right. Both are our user: another's name needs root. */
static void test_rights(void)
{
	static const gid_t groups[] = { 1 };
	struct fake f = { 0 };
	struct cache *c = open_cache(&f, 1 << 30, 0, NS_PER_S);
	struct credentials *a = credentials_new(geteuid(), 0, NULL, 0);
	struct credentials *b = credentials_new(geteuid(), 0, groups, 1);
	struct stat attr;
	struct node *n;
	int64_t ttl_ns;

	if (CHECK(a && b) && CHECK_INT(wait_lookup(c, "f", &n, &attr, &ttl_ns), 0)) {
		for (int i = 0; i < 3; i++) {
			CHECK_INT(may(c, n, a, R_OK), 0);
			CHECK_INT(may(c, n, a, X_OK), -EACCES);
			CHECK_INT(may(c, n, b, R_OK), 0);
			CHECK_INT(may(c, n, NULL, R_OK), -EACCES);
		}
		CHECK_INT(f.asked, 3);
		CHECK_INT(cache_clear(c, false), 0);
		CHECK_INT(may(c, n, a, R_OK), 0);
		CHECK_INT(f.asked, 4);
		node_unref(n, 1);
	}
	credentials_unref(a);
	credentials_unref(b);
	CHECK(cache_close(c));
}

static void test_absent(void)
{
	struct fake f = { 0 };
	struct cache *c = open_cache(&f, 1 << 30, 50 * MS, NS_PER_S);

	CHECK_INT(look(c, "a"), -ENOENT);
	CHECK_INT(look(c, "a"), -ENOENT);
	CHECK_INT(f.lookups, 1);
	CHECK_INT(cache_counts(c)->negatives[NEGATIVE_STORE], 1);
	CHECK_INT(cache_counts(c)->negatives[NEGATIVE_SERVE], 1);
	rest(60 * MS);
	CHECK_INT(look(c, "a"), -ENOENT);
	CHECK_INT(f.lookups, 2);
	CHECK_INT(cache_counts(c)->negatives[NEGATIVE_EXPIRE], 1);
	CHECK(cache_close(c));
}

/* After some misses the folder's names are asked for, and answer. */
static void test_listing_answers(void)
{
	struct fake f = { 0 };
	struct cache *c = open_cache(&f, 1 << 30, 0, NS_PER_S);
	struct dirlist *names;

	for (int i = 0; i < 10; i++)
		CHECK_INT(look(c, "a"), -ENOENT);
	if (CHECK_INT(wait_list(c, 0, &names), 0)) {
		CHECK_INT(dirlist_count(names), 1);
		dirlist_unref(names);
	}
	f.lookups = 0;
	CHECK_INT(look(c, "b"), -ENOENT);
	CHECK_INT(f.lookups, 0);
	CHECK_INT(f.lists, 1);
	CHECK_INT(look(c, ".b"), -ENOENT); /* may be there without being listed */
	CHECK_INT(look(c, ".b"), -ENOENT);
	CHECK_INT(f.lookups, 1);
	CHECK_INT(look(c, "f"), 0);
	CHECK(cache_close(c));
}

/* Attributes of what a folder holds come together, and answer lookups. */
static void test_names(void)
{
	struct fake f = { 0 };
	struct cache *c = open_cache(&f, 1 << 30, 0, NS_PER_S);
	struct dirlist *names;
	struct node *n[1];
	struct stat attr[1];

	CHECK_INT(wait_list(c, 0, &names), 0);
	for (int i = 0; i < 3; i++) {
		CHECK_INT(wait_names(c, names, n, attr), 0);
		if (CHECK(n[0]))
			node_unref(n[0], 1);
		CHECK_INT(attr[0].st_size, FILE_BYTES);
	}
	CHECK_INT(f.bundles, 1);
	CHECK_INT(look(c, "f"), 0);
	CHECK_INT(f.lookups, 0);
	dirlist_unref(names);
	CHECK(cache_close(c));
}

static int xattr(struct cache *c, struct node *n, const char *name)
{
	CLEANUP(buf_fini) struct buf value = { 0 };
	struct waiter_sync w;
	int rc;

	waiter_sync_init(&w);
	do
		rc = cache_xattr(c, &w.waiter, n, name, &value);
	while (waiter_sync_wait(&w, rc));
	waiter_sync_fini(&w);
	return rc < 0 ? rc : (int)value.len;
}

/* What a file does not have is asked for once. */
static void test_xattrs(void)
{
	struct fake f = { 0 };
	struct cache *c = open_cache(&f, 1 << 30, 0, NS_PER_S);
	struct stat attr;
	struct node *n;
	int64_t negative_ttl_ns;

	CHECK_INT(wait_lookup(c, "f", &n, &attr, &negative_ttl_ns), 0);
	for (int i = 0; i < 3; i++) {
		CHECK_INT(xattr(c, n, "user.b"), -ENODATA);
		CHECK_INT(xattr(c, n, "system.posix_acl_access"), -EOPNOTSUPP);
		CHECK_INT(xattr(c, n, NULL), 0);
	}
	CHECK_INT(f.xattrs, 3);
	CHECK_INT(xattr(c, n, "user.a"), 5);
	CHECK_INT(xattr(c, n, "user.a"), 5);
	CHECK_INT(f.xattrs, 5);
	for (int i = 0; i < 100; i++) { /* more than are kept */
		char name[16];

		snprintf(name, sizeof name, "user.%d", i);
		CHECK_INT(xattr(c, n, name), -ENODATA);
	}
	CHECK_INT(xattr(c, n, "user.b"), -ENODATA);
	CHECK_INT(f.xattrs, 105);
	CHECK_INT(cache_clear(c, false), 0);
	CHECK_INT(xattr(c, n, "user.b"), -ENODATA);
	CHECK_INT(f.xattrs, 106);
	node_unref(n, 1);
	CHECK(cache_close(c));
}

/* Looks at names from, from + step, ... count of them, of a folder of 40. Returns how often slow
 * storage was asked. */
static int walk(struct fake *f, struct cache *c, int from, int step, int count)
{
	for (int i = 0; i < count; i++) {
		char name[16];

		snprintf(name, sizeof name, "f%03d", from + i * step);
		CHECK_INT(look(c, name), 0);
	}
	return f->lookups;
}

/* Who looks at all names in order finds the next ones asked for, each once. */
static void test_names_ahead(void)
{
	struct fake f = { .hang_ns = MS, .names = 40 };
	struct cache *c = open_cache(&f, 1 << 30, 0, NS_PER_S);
	struct dirlist *names;

	CHECK_INT(wait_list(c, 0, &names), 0);
	CHECK_INT(walk(&f, c, 39, -3, 10), 10);
	CHECK(cache_close(c));

	f.lookups = 0;
	c = open_cache(&f, 1 << 30, 0, NS_PER_S);
	dirlist_unref(names);
	CHECK_INT(wait_list(c, 0, &names), 0);
	walk(&f, c, 0, 1, 3);
	for (int i = 0; i < 5000 && f.lookups < 3 + 16; i++)
		rest(MS);
	CHECK_INT(f.lookups, 3 + 16);
	CHECK_INT(walk(&f, c, 3, 1, 37), 40);
	dirlist_unref(names);
	CHECK(cache_close(c));
}

static void test_timeout(void)
{
	struct fake f = { .hang_ns = 300 * MS };
	struct cache *c = open_cache(&f, 1 << 30, 0, 20 * MS);

	CHECK_INT(look(c, "f"), -EIO);
	CHECK_INT(cache_counts(c)->storage.timeouts, 1);
	rest(400 * MS); /* the answer is kept when it comes */
	CHECK_INT(look(c, "f"), 0);
	CHECK_INT(f.lookups, 1);
	CHECK(cache_close(c));
}

static void check_data(const struct cache_data *data, uint64_t offset, size_t want)
{
	size_t wrong = 0, len = 0;

	for (size_t i = 0; i < data->count; i++)
		for (size_t j = 0; j < data->len[i]; j++)
			wrong += data->at[i][j] != (char)((offset + len++) % 251);
	CHECK_INT(len, want);
	CHECK_INT(wrong, 0);
}

static void test_read(void)
{
	static const struct {
		uint64_t offset;
		size_t len, want;
	} rows[] = {
		{ 0, 10, 10 },
		{ CHUNK_BYTES - 3, 10, 10 },
		{ CHUNK_BYTES - 3, CHUNK_BYTES + 10, CHUNK_BYTES + 10 },
		{ FILE_BYTES - 2, 100, 2 },
		{ FILE_BYTES, 100, 0 },
		{ UINT64_C(1) << 40, 100, 0 },
	};
	struct fake f = { 0 };
	struct cache *c = open_cache(&f, 2 * CHUNK_BYTES, 0, NS_PER_S);
	struct cache_data data;
	struct stat attr;
	struct node *n;
	int64_t negative_ttl_ns;

	CHECK_INT(wait_lookup(c, "f", &n, &attr, &negative_ttl_ns), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_INT(wait_read(c, n, rows[i].offset, rows[i].len, &data), 0);
		check_data(&data, rows[i].offset, rows[i].want);
		cache_data_fini(&data);
		CHECK(usage_total(cache_usage(c)) <= 2 * CHUNK_BYTES);
	}
	f.is_changed = true;
	CHECK_INT(wait_read(c, n, 2 * CHUNK_BYTES - 5, 10, &data), -ESTALE);
	CHECK(cache_counts(c)->stale > 0);
	node_unref(n, 1);
	CHECK(cache_close(c));
}

/* Paths that nobody uses go when there are too many. */
static void test_budget(void)
{
	struct fake f = { 0 };
	struct cache *c = open_cache(&f, 1 << 20, 0, NS_PER_S);
	char name[16];

	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof name, "f%d", i);
		CHECK_INT(look(c, name), 0);
	}
	for (int i = 0; i < 200 && usage_total(cache_usage(c)) > 1 << 20; i++)
		rest(10 * MS);
	CHECK(usage_total(cache_usage(c)) <= 1 << 20);
	CHECK(cache_close(c));
}

/* Names that do not fit go when they have been read, those of the top folder, too: not before. */
static void test_budget_of_top(void)
{
	enum { NAMES = 60000 };
	struct fake f = { .names = NAMES };
	struct cache *c = open_cache(&f, 1 << 20, 0, NS_PER_S);

	for (size_t from = 0; from <= NAMES; from += NAMES / 20) {
		struct dirlist *names;

		CHECK_INT(wait_list(c, from, &names), 0);
		CHECK(dirlist_bytes(names) > 1 << 20);
		dirlist_unref(names);
		rest(5 * MS);
	}
	CHECK_INT(f.lists, 1);
	for (int i = 0; i < 200 && usage_total(cache_usage(c)) > 1 << 20; i++)
		rest(10 * MS);
	CHECK(usage_total(cache_usage(c)) <= 1 << 20);
	CHECK(cache_close(c));
}

struct reader {
	struct cache *cache;
	int number; /* of its file */
	uint64_t most_used;
	int failed;
};

static void *read_large(void *arg)
{
	struct reader *r = arg;
	char name[16];
	struct node *n;
	struct stat attr;
	int64_t negative_ttl_ns;

	snprintf(name, sizeof name, "f%d", r->number);
	r->failed = wait_lookup(r->cache, name, &n, &attr, &negative_ttl_ns);
	for (uint64_t i = 0; !r->failed && i < 8 * FILE_BYTES; i += CHUNK_BYTES / 8) {
		struct cache_data data;
		uint64_t used, offset = i % FILE_BYTES;

		r->failed = wait_read(r->cache, n, offset, 1, &data);
		used = usage_total(cache_usage(r->cache));
		if (used > r->most_used)
			r->most_used = used;
		if (!r->failed && data.at[0][0] != (char)(offset % 251))
			r->failed = -EIO;
		cache_data_fini(&data);
	}
	if (!r->failed)
		node_unref(n, 1);
	return NULL;
}

/* What finds no room is read all the same. */
static void test_many_readers(void)
{
	enum { READERS = 8, BUDGET = 4 << 20 };
	struct fake f = { 0 };
	struct cache *c = open_cache(&f, BUDGET, 0, NS_PER_S);
	struct reader readers[READERS];
	pthread_t threads[READERS];

	for (int i = 0; i < READERS; i++) {
		readers[i] = (struct reader){ .cache = c, .number = i };
		pthread_create(&threads[i], NULL, read_large, &readers[i]);
	}
	for (int i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
		CHECK_INT(readers[i].failed, 0);
		CHECK(readers[i].most_used <= BUDGET);
	}
	CHECK(cache_close(c));
}

/* Reads small files [from, to), and tells how often storage was asked for data. */
static int read_small(struct cache *c, struct fake *f, int from, int to)
{
	int before = f->reads;

	for (int i = from; i < to; i++) {
		struct cache_data data;
		struct node *n = NULL;
		int64_t negative_ttl_ns;
		struct stat st;
		char name[32];

		snprintf(name, sizeof name, "fs%d", i);
		if (!CHECK_INT(wait_lookup(c, name, &n, &st, &negative_ttl_ns), 0))
			return -1;
		CHECK_INT(wait_read(c, n, 0, SMALL_BYTES, &data), 0);
		cache_data_fini(&data);
		node_unref(n, 1);
	}
	return f->reads - before;
}

/* What is used again stays when ten times the budget is read once; what is used later takes its
 * place, when it is no longer used. */
static void test_hot(void)
{
	enum { HOT = 32, BUDGET = 4 << 20, COLD = 10 * BUDGET / SMALL_BYTES };
	struct fake f = { 0 };
	struct cache *c = open_cache(&f, BUDGET, 100 * MS, NS_PER_S);
	int cold = 1000;

	for (int set = 0; c && set < 2; set++) {
		int hot = set * HOT;

		for (int round = 0; round < 20; round++, cold += 40) {
			read_small(c, &f, hot, hot + HOT);
			CHECK_INT(read_small(c, &f, cold, cold + 40), 40);
		}
		CHECK_INT(read_small(c, &f, cold, cold + COLD), COLD);
		cold += COLD;
		CHECK_INT(read_small(c, &f, hot, hot + HOT), 0);
	}
	if (c) {
		CHECK(usage_total(cache_usage(c)) <= BUDGET);
		CHECK(cache_close(c));
	}
}

int main(void)
{
	TAP_CASE(test_single_flight);
	TAP_CASE(test_rights);
	TAP_CASE(test_absent);
	TAP_CASE(test_listing_answers);
	TAP_CASE(test_names);
	TAP_CASE(test_xattrs);
	TAP_CASE(test_names_ahead);
	TAP_CASE(test_timeout);
	TAP_CASE(test_read);
	TAP_CASE(test_budget);
	TAP_CASE(test_budget_of_top);
	TAP_CASE(test_many_readers);
	TAP_CASE(test_hot);
	return tap_done();
}
