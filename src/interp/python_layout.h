/* SPDX-License-Identifier: MIT */
/*
 * python_layout: where each version of CPython keeps threads, frames and code objects.
 *
 * Offsets of a minor version are the same in all its releases. Builds with debugging members or
 * patches differ: their memory fails the checks of the readers, which then report no frames.
 *
 * From 3.13 on, _PyRuntime begins with the offsets of its build (_Py_DebugOffsets). Each minor
 * version has them in an order of its own.
 *
 * Source: DWARF of CPython 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0 for x86-64;
 * Include/internal/pycore_debug_offsets.h of 3.13 and 3.14.
 */
#ifndef INTERP_PYTHON_LAYOUT_H
#define INTERP_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/python.h"

#define PYTHON_MINOR_MIN 8
#define PYTHON_MINOR_MAX 14
#define PYTHON_MINOR_TABLE_MAX 13 /* later ones only by their own offsets */
#define PYTHON_OFFSETS_BYTES 408  /* that are read of them */

/* Of version 3.minor; NULL: not known, or only by its own offsets. */
const struct python_layout *python_layout_of(unsigned minor);

/* What a build says of itself at the start of its _PyRuntime. */
struct python_offsets {
	unsigned minor;
	bool is_free_threaded;
	struct python_layout layout; /* minor 0: with members that we do not read so */
};

/* false: there are none, as before 3.13; or they are of a version that is not known. */
bool python_offsets_read(const void *bytes, size_t len, struct python_offsets *ret);

#endif
