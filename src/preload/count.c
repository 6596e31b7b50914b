/* SPDX-License-Identifier: MIT */
/*
 * libauger-count.so: counts allocated and freed bytes for the stage library. Preloaded or linked.
 *
 * It records no stacks, and takes one lock after every 64 KiB of change. Source of
 * the list of functions: malloc(3), posix_memalign(3), glibc 2.36.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "wire/heap_count.h"

#define EXPORT __attribute__((visibility("default")))

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*usable_size)(void *);
} real;

/* For allocations of dlsym() itself during resolve(). Never freed. */
static _Alignas(16) char early[16384];
static size_t early_len;
static bool is_resolving;

static struct heap_process process;
static pthread_key_t exit_key;
static bool has_exit_key;

/* initial-exec: no allocation behind our back on first use in a thread. */
#define TLS _Thread_local __attribute__((tls_model("initial-exec")))
static TLS struct heap_thread self;
static TLS bool is_ending;

static void *early_alloc(size_t size)
{
	size_t at = early_len;

	if (size > sizeof early - 16 - at)
		return NULL;
	early_len = (at + size + 15) & ~(size_t)15;
	return early + at;
}

static bool is_early(const void *block)
{
	return (const char *)block >= early && (const char *)block < early + sizeof early;
}

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static void at_thread_exit(void *thread);

/* Runs once, in the first call or the constructor: before a second thread exists. */
static void resolve(void)
{
	if (is_resolving)
		return;
	is_resolving = true;
	*(void **)&real.calloc = next("calloc");
	*(void **)&real.realloc = next("realloc");
	*(void **)&real.free = next("free");
	*(void **)&real.posix_memalign = next("posix_memalign");
	*(void **)&real.aligned_alloc = next("aligned_alloc");
	*(void **)&real.memalign = next("memalign");
	*(void **)&real.valloc = next("valloc");
	*(void **)&real.pvalloc = next("pvalloc");
	*(void **)&real.usable_size = next("malloc_usable_size");
	has_exit_key = pthread_key_create(&exit_key, at_thread_exit) == 0;
	*(void **)&real.malloc = next("malloc"); /* last: non-NULL means that all are resolved */
	is_resolving = false;
}

static bool is_ready(void)
{
	if (__builtin_expect(real.malloc == NULL, 0))
		resolve();
	return __builtin_expect(real.malloc != NULL, 1);
}

/* peaks_put() only where the process' number rose: a window knows where it began. */
static void flush(struct heap_thread *t)
{
	int64_t before;

	peaks_lock(&process.peaks);
	before = process.live;
	if (t->peak > t->flushed)
		peaks_put(&process.peaks, before + (t->peak - t->flushed));
	__atomic_store_n(&process.live, before + (t->live - t->flushed), __ATOMIC_RELAXED);
	peaks_unlock(&process.peaks);
	t->flushed = t->live;
	t->peak = t->live;
	t->low = is_ending ? INT64_MAX : t->live - HEAP_COUNT_FLUSH;
	t->high = is_ending ? INT64_MIN : t->live + HEAP_COUNT_FLUSH;
}

/* low and high are 0 in a new thread, so its first block comes here. A key of the first 32 is kept
 * in the thread itself, so pthread_setspecific() does not allocate; later keys might. */
static __attribute__((noinline)) void outside(struct heap_thread *t)
{
	bool is_new = t->low == 0 && t->high == 0;

	flush(t);
	if (is_new && has_exit_key && exit_key < 32)
		pthread_setspecific(exit_key, t);
}

/* Flushes after each later allocation or free of the thread. */
static void at_thread_exit(void *thread)
{
	is_ending = true;
	flush(thread);
}

static void made(void *block)
{
	struct heap_thread *t = &self;
	int64_t size;

	if (!block)
		return;
	size = (int64_t)real.usable_size(block);
	t->allocs++;
	t->bytes_made += (uint64_t)size;
	t->live += size;
	if (t->live > t->peak)
		t->peak = t->live;
	if (__builtin_expect(t->live > t->high, 0))
		outside(t);
}

static void unmade(int64_t size)
{
	struct heap_thread *t = &self;

	t->frees++;
	t->live -= size;
	if (__builtin_expect(t->live < t->low, 0))
		outside(t);
}

EXPORT void *malloc(size_t size)
{
	void *block;

	if (!is_ready())
		return early_alloc(size);
	block = real.malloc(size);
	made(block);
	return block;
}

EXPORT void *calloc(size_t count, size_t size)
{
	void *block;
	size_t total;

	if (!is_ready()) {
		if (__builtin_mul_overflow(count, size, &total))
			return NULL;
		return early_alloc(total); /* static memory: zero */
	}
	block = real.calloc(count, size);
	made(block);
	return block;
}

EXPORT void free(void *block)
{
	if (!block || is_early(block) || !is_ready())
		return;
	unmade((int64_t)real.usable_size(block));
	real.free(block);
}

/* Its size is not known, but what lies behind it up to the end of the early memory is readable. */
static void *move_early(const void *block, size_t size)
{
	size_t left = (size_t)(early + sizeof early - (const char *)block);
	void *copy = malloc(size);

	if (copy)
		memcpy(copy, block, size < left ? size : left);
	return copy;
}

/* glibc frees on size 0, so NULL then is no failure. */
EXPORT void *realloc(void *old, size_t size)
{
	int64_t old_size;
	void *block;

	if (!old)
		return malloc(size);
	if (is_early(old) || !is_ready())
		return move_early(old, size);
	old_size = (int64_t)real.usable_size(old);
	block = real.realloc(old, size);
	if (block || size == 0)
		unmade(old_size);
	made(block);
	return block;
}

EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, total);
}

EXPORT int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
	int status;

	if (!is_ready())
		return ENOMEM;
	status = real.posix_memalign(ret_block, alignment, size);
	if (status == 0)
		made(*ret_block);
	return status;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	void *block = is_ready() ? real.aligned_alloc(alignment, size) : NULL;

	made(block);
	return block;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	void *block = is_ready() ? real.memalign(alignment, size) : NULL;

	made(block);
	return block;
}

EXPORT void *valloc(size_t size)
{
	void *block = is_ready() ? real.valloc(size) : NULL;

	made(block);
	return block;
}

EXPORT void *pvalloc(size_t size)
{
	void *block = is_ready() ? real.pvalloc(size) : NULL;

	made(block);
	return block;
}

static struct heap_thread *thread(void)
{
	return &self;
}

EXPORT const struct heap_count *auger_heap_count(void);

const struct heap_count *auger_heap_count(void)
{
	static const struct heap_count count = { HEAP_COUNT_VERSION, sizeof(struct heap_thread),
						 &process, thread, flush };

	return &count;
}

/* Only the thread that forked is in the child; the others' last bytes stay uncounted. */
static void in_child(void)
{
	peaks_unlock(&process.peaks);
}

__attribute__((constructor)) static void start(void)
{
	if (is_ready())
		pthread_atfork(NULL, NULL, in_child);
}
