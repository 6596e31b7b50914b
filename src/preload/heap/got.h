/* SPDX-License-Identifier: MIT */
/*
 * got: makes the modules of a running process call our hooks, and no longer.
 *
 * The dynamic linker wrote addresses of malloc() and the like into each module: into its global
 * offset table, and into pointers to functions in its data. Where such an address is the real
 * function's, or that of a PLT entry which was not called yet, ours takes its place; and the real
 * one comes back. Nothing is remembered of a module, so it may be unloaded at any time. Pages that
 * are read-only after relocation are writable for the moment of the change.
 * Not to be called in a hook of the allocator (loaded.h).
 */
#ifndef PRELOAD_HEAP_GOT_H
#define PRELOAD_HEAP_GOT_H

#include <stdbool.h>
#include <stddef.h>

struct hook {
	const char *name;
	void (*function)(void); /* ours; of another type */
	void **real; /* takes the real one, for the hook to call; NULL: it calls another one */
};

/* Finds the real functions of hooks [0..count), which are borrowed. false: the process has no
 * malloc that is loaded, or too many hooks. */
bool got_find_real(const struct hook *hooks, size_t count);

void got_patch(void);
void got_restore(void);

/* Modules that were loaded since. One that another thread is loading comes the next time. */
void got_update(void);

#endif
