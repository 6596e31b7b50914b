/* SPDX-License-Identifier: MIT */
#include "native/pymem.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "native/cpython.h"
#include "native/sizes.h"

static struct cpython_allocator next[CPYTHON_DOMAINS]; /* written before the hooks are in place */
static struct pymem_reader *readers;
unsigned pymem_count;
static _Atomic(bool) is_counting;
static _Atomic(int64_t) held; /* by MEM and OBJ: changed under the GIL only */
static _Atomic(int64_t) raw;  /* by RAW, which needs no GIL */
static _Atomic(int64_t) peak; /* of held + raw since the last update */

/* In another domain's allocator, of this thread. */
static _Thread_local bool is_in_hook __attribute__((tls_model("initial-exec")));

static inline int64_t load(_Atomic(int64_t) *count)
{
	return atomic_load_explicit(count, memory_order_relaxed);
}

static inline void store(_Atomic(int64_t) *count, int64_t value)
{
	atomic_store_explicit(count, value, memory_order_relaxed);
}

static inline void account(enum cpython_domain domain, int64_t change)
{
	int64_t now;

	if (domain == CPYTHON_RAW) {
		now = atomic_fetch_add_explicit(&raw, change, memory_order_relaxed) + change;
		now += load(&held);
	} else {
		now = load(&held) + change;
		store(&held, now);
		now += load(&raw);
	}
	if (now > load(&peak))
		store(&peak, now);
}

static inline void note(enum cpython_domain domain, const void *block, size_t size)
{
	int64_t before = sizes_put(block, size);

	if (before >= 0)
		account(domain, (int64_t)size - before);
}

static inline bool counts(enum cpython_domain domain)
{
	return atomic_load_explicit(&is_counting, memory_order_relaxed) &&
	       !(domain == CPYTHON_RAW && is_in_hook);
}

/*
 * An allocator may allocate blocks or its own tables by the RAW allocator (pymalloc does); those
 * must not count twice. Brackets each call of an allocator.
 */
static inline void enter_hook(enum cpython_domain domain)
{
	if (domain != CPYTHON_RAW)
		is_in_hook = true;
}

static inline void come_back(enum cpython_domain domain)
{
	if (domain != CPYTHON_RAW)
		is_in_hook = false;
}

static inline void *hook_malloc(enum cpython_domain domain, void *ctx, size_t size)
{
	void *block;

	enter_hook(domain);
	block = next[domain].malloc(ctx, size);
	come_back(domain);
	if (block && counts(domain))
		note(domain, block, size);
	return block;
}

static inline void *hook_calloc(enum cpython_domain domain, void *ctx, size_t count, size_t size)
{
	void *block;

	enter_hook(domain);
	block = next[domain].calloc(ctx, count, size);
	come_back(domain);
	if (block && counts(domain))
		note(domain, block, count * size);
	return block;
}

/* The size is forgotten before the block may become another thread's. */
static inline void *hook_realloc(enum cpython_domain domain, void *ctx, void *old, size_t size)
{
	bool is_counted = counts(domain);
	int64_t before = is_counted && old ? sizes_take(old) : -1;
	void *block;

	enter_hook(domain);
	block = next[domain].realloc(ctx, old, size);
	come_back(domain);
	if (!is_counted)
		return block;
	if (!block) {
		if (before >= 0)
			(void)sizes_put(old, (size_t)before);
		return NULL;
	}
	if (before >= 0)
		account(domain, -before);
	note(domain, block, size);
	return block;
}

static inline void hook_free(enum cpython_domain domain, void *ctx, void *block)
{
	if (block && counts(domain)) {
		int64_t size = sizes_take(block);

		if (size >= 0)
			account(domain, -size);
	}
	next[domain].free(ctx, block);
}

/* The four functions of a domain. */
#define HOOKS(name, domain)                                              \
	static void *name##_malloc(void *ctx, size_t size)               \
	{                                                                \
		return hook_malloc(domain, ctx, size);                   \
	}                                                                \
	static void *name##_calloc(void *ctx, size_t count, size_t size) \
	{                                                                \
		return hook_calloc(domain, ctx, count, size);            \
	}                                                                \
	static void *name##_realloc(void *ctx, void *block, size_t size) \
	{                                                                \
		return hook_realloc(domain, ctx, block, size);           \
	}                                                                \
	static void name##_free(void *ctx, void *block)                  \
	{                                                                \
		hook_free(domain, ctx, block);                           \
	}

HOOKS(raw, CPYTHON_RAW)
HOOKS(mem, CPYTHON_MEM)
HOOKS(obj, CPYTHON_OBJ)

static const struct cpython_allocator ours[CPYTHON_DOMAINS] = {
	[CPYTHON_RAW] = { NULL, raw_malloc, raw_calloc, raw_realloc, raw_free },
	[CPYTHON_MEM] = { NULL, mem_malloc, mem_calloc, mem_realloc, mem_free },
	[CPYTHON_OBJ] = { NULL, obj_malloc, obj_calloc, obj_realloc, obj_free },
};

/* With the ctx of the allocator below: a thread that reads half of the change calls what works. */
static void install(void)
{
	for (int domain = 0; domain < CPYTHON_DOMAINS; domain++) {
		struct cpython_allocator hooks = ours[domain];

		PyMem_GetAllocator((enum cpython_domain)domain, &next[domain]);
		hooks.ctx = next[domain].ctx;
		PyMem_SetAllocator((enum cpython_domain)domain, &hooks);
	}
}

/* Others (tracemalloc) may have put theirs above ours: then ours stay, and pass everything on. */
static bool is_on_top(void)
{
	for (int domain = 0; domain < CPYTHON_DOMAINS; domain++) {
		struct cpython_allocator top;

		PyMem_GetAllocator((enum cpython_domain)domain, &top);
		if (top.malloc != ours[domain].malloc)
			return false;
	}
	return true;
}

static bool is_reached(void)
{
	int64_t before = load(&held);
	void *block = PyObject_Malloc(1);
	bool is_counted = load(&held) != before;

	PyObject_Free(block);
	return is_counted;
}

/* Gives every reader its part of the peak, and begins a new one. */
static inline void update_peak(int64_t now)
{
	int64_t was = load(&peak);

	store(&peak, now);
	for (struct pymem_reader *r = readers; r; r = r->next)
		r->peak = was > r->peak ? was : r->peak;
}

/* From 0. */
static void begin_count(void)
{
	sizes_clear();
	store(&held, 0);
	store(&raw, 0);
	store(&peak, 0);
	pymem_count++;
	atomic_store(&is_counting, true);
}

void pymem_start(struct pymem_reader *reader)
{
	if (readers)
		update_peak(pymem_live());
	else
		begin_count();
	if (!is_reached()) {
		begin_count();
		install();
	}
	reader->count = pymem_count;
	reader->peak = pymem_live();
	reader->next = readers;
	readers = reader;
}

void pymem_stop(struct pymem_reader *reader)
{
	struct pymem_reader **at = &readers;

	while (*at != reader)
		at = &(*at)->next;
	*at = reader->next;
	if (readers)
		return;
	atomic_store(&is_counting, false);
	if (!is_on_top())
		return;
	for (int domain = 0; domain < CPYTHON_DOMAINS; domain++)
		PyMem_SetAllocator((enum cpython_domain)domain, &next[domain]);
}

int64_t pymem_live(void)
{
	return load(&held) + load(&raw);
}

int64_t pymem_take_peak(struct pymem_reader *reader)
{
	int64_t now = pymem_live();
	int64_t was;

	update_peak(now);
	was = reader->peak;
	reader->peak = now;
	return was;
}
