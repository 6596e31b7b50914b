/* SPDX-License-Identifier: MIT */
/* preload: libraries of ours that a command loads before its own. */
#ifndef TARGET_PRELOAD_H
#define TARGET_PRELOAD_H

#include <limits.h>
#include <stdbool.h>

#include "base/macros.h"

/* Where the library of this name is: beside this program in the build tree, or installed.
 * False: nowhere, or at a path that LD_PRELOAD cannot have. */
bool preload_find(const char *name, char ret[PATH_MAX]);

/* Sets LD_PRELOAD of this process to path, before what is in it already. 0 or -ENOMEM. */
int preload_set(const char *path) MUST_CHECK;

#endif
