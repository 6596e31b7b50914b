/* SPDX-License-Identifier: MIT */
/* open_soon: opens OLD, whose storage may hang. */
#ifndef RELOCATE_COPY_OPEN_SOON_H
#define RELOCATE_COPY_OPEN_SOON_H

#include <stdbool.h>

#include "base/err.h"
#include "base/macros.h"
#include "relocate/inventory/top_dir.h"

/* As top_dir_open(), or with is_dead as top_dir_open_dead(). -ETIME: there was no answer for 10
 * seconds. */
int top_dir_open_soon(struct top_dir *ret, const char *path, bool is_dead,
		      struct err *e) MUST_CHECK;

#endif
