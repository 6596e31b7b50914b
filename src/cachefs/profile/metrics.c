/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/metrics.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"

/* clang-format off */
const char *const metrics_op_names[METRICS_OPS] = {
	"getattr", "ext_getattr", "readlink", "mknod", "mkdir", "unlink", "rmdir", "symlink",
	"rename", "link", "chmod", "chown", "truncate", "open", "read", "write", "statfs",
	"flush", "release", "fsync", "setxattr", "getxattr", "listxattr", "removexattr",
	"opendir", "readdir", "releasedir", "fsyncdir", "init", "destroy", "access", "create",
	"lock", "utimens", "bmap", "ioctl", "poll", "write_buf", "read_buf", "flock",
	"fallocate", "copy_file_range", "lseek",
};
/* clang-format on */

/* One operation in one thread, which alone writes. */
struct tally {
	_Atomic uint64_t sums[METRICS_SUMS];
	_Atomic uint64_t max_ns;
	_Atomic uint64_t buckets[METRICS_BUCKETS];
};

/* All operations in one thread. When the thread ends, the next new thread reuses it. */
struct block {
	struct block *next;
	bool is_free; /* under the lock of the metrics */
	struct metrics *owner;
	struct tally ops[METRICS_OPS];
};

struct metrics {
	pthread_key_t key;
	pthread_mutex_t lock;
	struct block *blocks;                      /* grows at its head; under lock */
	struct metrics_counts resets[METRICS_OPS]; /* values at the last reset; under lock */
};

static void leave(void *block)
{
	struct block *b = block;

	pthread_mutex_lock(&b->owner->lock);
	b->is_free = true;
	pthread_mutex_unlock(&b->owner->lock);
}

struct metrics *metrics_new(void)
{
	struct metrics *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	if (pthread_key_create(&m->key, leave) != 0) {
		free(m);
		return NULL;
	}
	pthread_mutex_init(&m->lock, NULL);
	return m;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	pthread_key_delete(m->key);
	for (struct block *b = m->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* NULL: out of memory, and the request is not counted. */
static struct block *enter(struct metrics *m)
{
	struct block *b;

	pthread_mutex_lock(&m->lock);
	for (b = m->blocks; b && !b->is_free; b = b->next)
		;
	if (!b) {
		b = calloc(1, sizeof *b);
		if (b) {
			b->owner = m;
			b->next = m->blocks;
			m->blocks = b;
		}
	}
	if (b)
		b->is_free = false;
	pthread_mutex_unlock(&m->lock);
	if (b && pthread_setspecific(m->key, b) != 0) {
		leave(b);
		return NULL;
	}
	return b;
}

struct metrics_call metrics_begin(enum metrics_op op)
{
	return (struct metrics_call){ .op = op, .start_ns = clock_mono_ns() };
}

static enum request_result result_of(const struct metrics_call *call, int rc)
{
	if (rc < 0)
		return RESULT_NEGATIVE;
	switch (call->op) {
	case METRICS_OPEN:
	case METRICS_RELEASE:
	case METRICS_OPENDIR:
	case METRICS_RELEASEDIR:
	case METRICS_FLUSH:
	case METRICS_IOCTL:
		return RESULT_NONE;
	default:
		return call->wait_ns ? RESULT_MISS : RESULT_HIT;
	}
}

static size_t bucket_of(uint64_t ns)
{
	unsigned power;
	size_t bucket;

	if (ns < METRICS_STEPS)
		return (size_t)ns;
	power = 63 - (unsigned)__builtin_clzll(ns); /* 3 and more */
	bucket = (size_t)(power - 2) * METRICS_STEPS + (size_t)(ns >> (power - 3) & 7);
	return bucket < METRICS_BUCKETS ? bucket : METRICS_BUCKETS - 1;
}

int64_t metrics_bucket_ns(size_t bucket)
{
	if (bucket < METRICS_STEPS)
		return (int64_t)bucket;
	return (int64_t)(METRICS_STEPS + bucket % METRICS_STEPS) << (bucket / METRICS_STEPS - 1);
}

/* Only this thread writes there, so it needs no atomic addition. */
static void add(_Atomic uint64_t *sum, uint64_t value)
{
	atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + value,
			      memory_order_relaxed);
}

enum request_result metrics_end(struct metrics *m, const struct metrics_call *call, int rc,
				uint64_t bytes, int64_t *ret_ns)
{
	enum request_result result = result_of(call, rc);
	uint64_t ns = (uint64_t)(clock_mono_ns() - call->start_ns);
	struct block *b = pthread_getspecific(m->key);
	struct tally *t;

	*ret_ns = (int64_t)ns;
	if (!b)
		b = enter(m);
	if (!b)
		return result;
	t = &b->ops[call->op];
	add(&t->sums[METRICS_CALLS], 1);
	if (result != RESULT_NONE)
		add(&t->sums[METRICS_HITS + (int)result], 1);
	add(&t->sums[METRICS_NS], ns);
	add(&t->sums[METRICS_STORAGE_NS], (uint64_t)call->wait_ns);
	add(&t->sums[METRICS_BYTES], bytes);
	add(&t->buckets[bucket_of(ns)], 1);
	if (ns > atomic_load_explicit(&t->max_ns, memory_order_relaxed))
		atomic_store_explicit(&t->max_ns, ns, memory_order_relaxed);
	return result;
}

static uint64_t get(const _Atomic uint64_t *sum)
{
	return atomic_load_explicit(sum, memory_order_relaxed);
}

/* Under lock: since the start. */
static void sum_sums(struct metrics *m, enum metrics_op op, uint64_t ret[METRICS_SUMS])
{
	for (int i = 0; i < METRICS_SUMS; i++)
		ret[i] = 0;
	for (struct block *b = m->blocks; b; b = b->next)
		for (int i = 0; i < METRICS_SUMS; i++)
			ret[i] += get(&b->ops[op].sums[i]);
}

/* Under lock: since the start. */
static void sum_times(struct metrics *m, enum metrics_op op, struct metrics_counts *ret)
{
	ret->max_ns = 0;
	for (size_t i = 0; i < METRICS_BUCKETS; i++)
		ret->buckets[i] = 0;
	for (struct block *b = m->blocks; b; b = b->next) {
		const struct tally *t = &b->ops[op];

		if (!get(&t->sums[METRICS_CALLS]))
			continue;
		for (size_t i = 0; i < METRICS_BUCKETS; i++)
			ret->buckets[i] += get(&t->buckets[i]);
		if (get(&t->max_ns) > ret->max_ns)
			ret->max_ns = get(&t->max_ns);
	}
}

void metrics_read_sums(struct metrics *m, enum metrics_op op, uint64_t ret[METRICS_SUMS])
{
	pthread_mutex_lock(&m->lock);
	sum_sums(m, op, ret);
	for (int i = 0; i < METRICS_SUMS; i++)
		ret[i] -= m->resets[op].sums[i];
	pthread_mutex_unlock(&m->lock);
}

void metrics_read(struct metrics *m, enum metrics_op op, struct metrics_counts *ret)
{
	metrics_read_sums(m, op, ret->sums);
	pthread_mutex_lock(&m->lock);
	sum_times(m, op, ret);
	for (size_t i = 0; i < METRICS_BUCKETS; i++)
		ret->buckets[i] -= m->resets[op].buckets[i];
	pthread_mutex_unlock(&m->lock);
}

/* Under lock. Only a thread writes its counters, so a reset stores their values to subtract. */
static void reset_op(struct metrics *m, enum metrics_op op, enum metrics_sum sum)
{
	uint64_t sums[METRICS_SUMS];

	sum_sums(m, op, sums);
	m->resets[op].sums[sum] = sums[sum];
	if (sum == METRICS_CALLS)
		m->resets[op].sums[METRICS_BYTES] = sums[METRICS_BYTES];
	if (sum == METRICS_NS)
		m->resets[op].sums[METRICS_STORAGE_NS] = sums[METRICS_STORAGE_NS];
	if (sum != METRICS_NS || !sums[METRICS_CALLS])
		return;
	sum_times(m, op, &m->resets[op]);
	for (struct block *b = m->blocks; b; b = b->next)
		atomic_store_explicit(&b->ops[op].max_ns, 0, memory_order_relaxed);
}

void metrics_reset(struct metrics *m, enum metrics_sum sum)
{
	pthread_mutex_lock(&m->lock);
	for (int op = 0; op < METRICS_OPS; op++)
		reset_op(m, (enum metrics_op)op, sum);
	pthread_mutex_unlock(&m->lock);
}

int64_t metrics_quantile(const struct metrics_counts *c, double q)
{
	uint64_t calls = 0, below = 0;

	for (size_t i = 0; i < METRICS_BUCKETS; i++)
		calls += c->buckets[i];
	for (size_t i = 0; i < METRICS_BUCKETS; i++) {
		below += c->buckets[i];
		if (below && (double)below >= q * (double)calls) {
			int64_t end = metrics_bucket_ns(i + 1) - 1;

			return i + 1 == METRICS_BUCKETS || end > (int64_t)c->max_ns
				       ? (int64_t)c->max_ns
				       : end;
		}
	}
	return 0;
}
