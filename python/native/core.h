/* SPDX-License-Identifier: MIT */
/*
 * core: one profiler of the stage library with its source of Python memory.
 *
 * The Python objects of a profiler share it; the last one closes it. All calls hold the GIL.
 */
#ifndef NATIVE_CORE_H
#define NATIVE_CORE_H

#include <Python.h>
#include <auger/stage.h>
#include <stdbool.h>
#include <stddef.h>

#include "native/pymem.h"

enum core_memory {
	CORE_NO_MEMORY,
	CORE_ALLOCATORS,  /* our hooks */
	CORE_TRACEMALLOC, /* started unless it is tracing already, and then stopped at the end */
};

struct core {
	size_t users;                    /* objects that may begin stages; the last one closes it */
	size_t holders;                  /* weak references; all users together hold one */
	struct auger_profiler *profiler; /* NULL: off, or closed */
	enum core_memory memory;
	struct pymem_reader reader; /* CORE_ALLOCATORS */
	PyObject *get_traced;       /* CORE_TRACEMALLOC: its functions */
	PyObject *reset_peak;
	PyObject *stop_tracing; /* NULL: tracemalloc was tracing before */
};

/* With one user. NULL: an exception is set. With no profiler where the level is off. */
struct core *core_new(const struct auger_opts *opts, enum core_memory memory);
struct core *core_ref(struct core *core);
void core_unref(struct core *core); /* NULL is allowed; the last user closes */

struct core *core_hold(struct core *core);
void core_release(struct core *core);

/* Writes the report to its file, if it has one; no stage is measured from here on. */
void core_close(struct core *core);

#endif
