/* SPDX-License-Identifier: MIT */
/*
 * background: a command that goes on when its shell has its prompt back, which is as soon as what
 * the command serves is there.
 */
#ifndef TARGET_BACKGROUND_H
#define TARGET_BACKGROUND_H

#include "base/err.h"
#include "base/macros.h"

/*
 * Forks. The child goes on at once, with no descriptors but the standard ones, and with what
 * background_detach() wants in *ret_ready_fd. To the parent that is -1, and it comes back when the
 * child has detached, with 0, or ended, with its exit status. A negative errno is the parent's,
 * too.
 */
int background_fork(int *ret_ready_fd, struct err *e) MUST_CHECK;

/* Of the child: lets the parent go, in any case, and belongs to no terminal, session or folder from
 * then on. */
int background_detach(int ready_fd, struct err *e) MUST_CHECK;

#endif
