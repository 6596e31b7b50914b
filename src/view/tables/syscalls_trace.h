/* SPDX-License-Identifier: MIT */
/*
 * syscalls_trace: calls as they happen, one line each: words, CSV, or an object of JSON. With
 * stacks a line is held until the functions of its stack have their names.
 */
#ifndef VIEW_TABLES_SYSCALLS_TRACE_H
#define VIEW_TABLES_SYSCALLS_TRACE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/rows.h"
#include "model/profile.h"
#include "model/syscalls.h"
#include "view/emit.h"

/* A line without its stack. */
struct syscalls_held {
	size_t end;     /* in held */
	uint32_t stack; /* node of the profile; 0: none */
};

/* The owner writes lines out and clears them, after each call or seldom. */
struct syscalls_trace {
	enum emit_format format;
	const struct profile *stacks; /* NULL: none are printed; borrowed */
	int64_t start_ns;             /* of the first call */
	struct buf lines;
	struct buf held;   /* with stacks: what is not in lines yet, */
	struct rows stops; /* struct syscalls_held: where its lines end */
};

/* All zero but format and stacks is before the first call. */
void syscalls_trace_head(struct syscalls_trace *t);
void syscalls_trace_put(struct syscalls_trace *t, const struct syscall_decoded *call);
/* All stacks have their names: adds the held lines to lines. */
void syscalls_trace_release(struct syscalls_trace *t);
void syscalls_trace_fini(struct syscalls_trace *t);

#endif
