/* SPDX-License-Identifier: MIT */
/*
 * syscalls_table: what system calls did, as rows; the dearest first.
 */
#ifndef VIEW_TABLES_SYSCALLS_TABLE_H
#define VIEW_TABLES_SYSCALLS_TABLE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/syscalls.h"
#include "view/emit.h"

struct syscalls_table {
	const char *target; /* whose calls: the command, "process 12", "all processes" */
	const char *method; /* by which they were seen */
	bool is_histogram;  /* rows are powers of two of the time that calls took */
	size_t limit;       /* rows; 0: all */
};

/* s is what the method summed, as s->by has it. */
int syscalls_put_table(const struct emit_opts *o, struct syscalls *s,
		       const struct syscalls_table *t, struct buf *to, struct err *e) MUST_CHECK;

#endif
