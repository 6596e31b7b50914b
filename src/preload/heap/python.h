/* SPDX-License-Identifier: MIT */
/*
 * python: the Python functions that the calling thread is in, below the native stack of an
 * allocation.
 *
 * The thread reads its own frames (interp/python_layout.h), which do not change while it is in
 * malloc. A code object is a mapping of the file (struct heap_mapping.is_script), once. Joining the
 * functions with the evaluation loops of the native stack is left to the reader of the file.
 */
#ifndef PRELOAD_HEAP_PYTHON_H
#define PRELOAD_HEAP_PYTHON_H

#include <stdint.h>

#include "preload/heap/thread.h"

/* The thread's state of CPython. NULL: the process has no CPython, or one that is not known. */
extern void *(*python_thread_state)(void);

/* Looks for CPython among the libraries that are loaded. errno is kept. */
void python_start(void);

/* For a child: its file has no mappings yet. */
void python_forget(void);

uint32_t python_add_frames(struct thread *t, uint32_t node);

/* The node of a stack with the Python functions, if there are any, below that of its native
 * frames. */
static inline uint32_t python_extend(struct thread *t, uint32_t node)
{
	return __builtin_expect(python_thread_state != NULL, 0) ? python_add_frames(t, node) : node;
}

#endif
