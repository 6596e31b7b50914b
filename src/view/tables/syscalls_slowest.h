/* SPDX-License-Identifier: MIT */
/* syscalls_slowest: the slowest single calls as rows, the slowest first. */
#ifndef VIEW_TABLES_SYSCALLS_SLOWEST_H
#define VIEW_TABLES_SYSCALLS_SLOWEST_H

#include "base/err.h"
#include "base/macros.h"
#include "model/syscalls.h"
#include "view/emit.h"
#include "view/tables/syscalls_table.h"

/* s->wants_slowest was set. Of t the target (NULL: no head), the method and the limit are used. */
int syscalls_put_slowest(const struct emit_opts *o, const struct syscalls *s,
			 const struct syscalls_table *t, struct buf *to, struct err *e) MUST_CHECK;

#endif
