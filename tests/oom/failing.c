/* SPDX-License-Identifier: MIT */
/*
 * failing: a preloaded library in which one allocation of the program fails.
 *
 * OOM_FAIL_AT=N: the Nth allocation (from 1) returns NULL with ENOMEM. OOM_COUNT_FILE=PATH:
 * the number of allocations is written there when the program ends. Programs that it starts
 * run without it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* glibc's own names of its allocator: no search, no recursion. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static atomic_ulong calls;
static unsigned long fail_at; /* 0: none; written before main */
static int count_fd = -1;

__attribute__((constructor)) static void start(void)
{
	const char *at = getenv("OOM_FAIL_AT"), *path = getenv("OOM_COUNT_FILE");

	if (path)
		count_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	unsetenv("LD_PRELOAD");
	atomic_store(&calls, 0);
	fail_at = at ? strtoul(at, NULL, 10) : 0;
}

__attribute__((destructor)) static void stop(void)
{
	if (count_fd >= 0)
		dprintf(count_fd, "%lu\n", atomic_load(&calls));
}

static bool is_doomed(void)
{
	if (atomic_fetch_add(&calls, 1) + 1 != fail_at)
		return false;
	errno = ENOMEM;
	return true;
}

EXPORT void *malloc(size_t size)
{
	return is_doomed() ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	return is_doomed() ? NULL : __libc_calloc(count, size);
}

EXPORT void *realloc(void *old, size_t size)
{
	return is_doomed() ? NULL : __libc_realloc(old, size);
}
