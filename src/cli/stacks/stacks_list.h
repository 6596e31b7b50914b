/* SPDX-License-Identifier: MIT */
/* stacks_list: each thread by itself: for people, or as rows of CSV and JSON. */
#ifndef CLI_STACKS_STACKS_LIST_H
#define CLI_STACKS_STACKS_LIST_H

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "cli/stacks/stacks_tree.h"
#include "view/emit.h"

/* Appends each thread with its frames, the innermost first, a line each. t: by line. */
int stacks_list_put(const struct stacks_text *t, struct buf *out, struct err *e) MUST_CHECK;

/* Emits the head and a row a thread; the stack's frames, outermost first, are separated by ';'. */
int stacks_rows_put(const struct stacks_text *t, struct emit *out, struct err *e) MUST_CHECK;

#endif
