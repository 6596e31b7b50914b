/* SPDX-License-Identifier: MIT */
/*
 * collapse: a profile as stackcollapse-perf.pl would print it.
 *
 * Frames become names: without the arguments of functions, quotes, and the L before a class
 * of Java, with _[k], _[j] and _[i] behind the kernel's, a JIT's and inlined functions as far
 * as asked for. A thread is its name, or "name-pid", "name-pid/tid"; "?" stands for a number
 * that is not known. Of the values one type is left.
 *
 * What differs on purpose: only the list of arguments is cut off a name, not all behind the
 * first parenthesis (std::function<void (int)>::operator() stays whole), and [vdso] is no
 * kernel code.
 * Source: stackcollapse-perf.pl of github.com/brendangregg/FlameGraph, by what it writes.
 */
#ifndef FORMAT_COLLAPSE_H
#define FORMAT_COLLAPSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"

struct collapse_opts {
	size_t type;           /* index of the sample type */
	bool has_pid, has_tid; /* in the name of a thread; the latter has both */
	bool marks_kernel, marks_jit, marks_inlined;
	bool has_addresses; /* "[module <address>]" for code without a name */
};

/* *ret is the caller's. */
int profile_collapse(const struct profile *p, const struct collapse_opts *o, struct profile **ret,
		     struct err *e) MUST_CHECK;

/* The index of the type that the samples of an event of this name count in ("cycles:ppp",
 * "cpu-clock"), or -1. */
int collapse_find_event(const struct profile *p, const char *name);

/* Appends the name of a function without its arguments and quotes. */
void collapse_put_name(const char *name, size_t len, bool is_java, struct buf *out);

#endif
