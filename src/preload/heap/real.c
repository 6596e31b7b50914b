/* SPDX-License-Identifier: MIT */
#include "preload/heap/real.h"

#include <dlfcn.h>

#include "preload/heap/loaded.h"

struct real real;

static _Alignas(16) char early[16384];
static size_t early_len;
static bool is_resolving;

void *real_early_alloc(size_t size)
{
	size_t at = early_len;

	if (size > sizeof early - 16 - at)
		return NULL;
	early_len = (at + size + 15) & ~(size_t)15;
	return early + at;
}

bool real_is_early(const void *block)
{
	return (const char *)block >= early && (const char *)block < early + sizeof early;
}

size_t real_early_left(const void *block)
{
	return (size_t)(early + sizeof early - (const char *)block);
}

void real_resolve(void)
{
	static const struct {
		const char *name;
		void *place;
	} names[] = {
		{ "calloc", &real.calloc },
		{ "realloc", &real.realloc },
		{ "free", &real.free },
		{ "posix_memalign", &real.posix_memalign },
		{ "aligned_alloc", &real.aligned_alloc },
		{ "memalign", &real.memalign },
		{ "valloc", &real.valloc },
		{ "pvalloc", &real.pvalloc },
		{ "dlclose", &real.dlclose },
		{ "dlopen", &real.dlopen },
		{ "dlsym", &real.dlsym },
		{ "mmap", &real.mmap },
		{ "munmap", &real.munmap },
		{ "mremap", &real.mremap },
		{ "brk", &real.brk },
		{ "sbrk", &real.sbrk },
		{ "pthread_create", &real.pthread_create },
		{ "malloc", &real.malloc },
	};

	if (is_resolving)
		return;
	is_resolving = true;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		*(void **)names[i].place = dlsym(RTLD_NEXT, names[i].name);
	is_resolving = false;
}

static bool has_malloc(const struct module *m, void *unused)
{
	uint64_t at = (uintptr_t)real.malloc;

	(void)unused;
	if (at < m->start || at >= m->end)
		return true;
	real.allocator_start = m->start;
	real.allocator_end = m->end;
	return false;
}

void real_find_allocator(void)
{
	loaded_each(has_malloc, NULL);
}
