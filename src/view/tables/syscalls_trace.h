/* SPDX-License-Identifier: MIT */
/* syscalls_trace: calls as they happen, one line each: words, CSV, or an object of JSON. */
#ifndef VIEW_TABLES_SYSCALLS_TRACE_H
#define VIEW_TABLES_SYSCALLS_TRACE_H

#include <stdint.h>

#include "base/buf.h"
#include "model/syscalls.h"
#include "view/emit.h"

/* The owner writes lines out and clears them, after each call or seldom. */
struct syscalls_trace {
	enum emit_format format;
	int64_t start_ns; /* of the first call */
	struct buf lines;
};

/* All zero but format is before the first call. */
void syscalls_trace_head(struct syscalls_trace *t);
void syscalls_trace_put(struct syscalls_trace *t, const struct syscall_decoded *call);

#endif
