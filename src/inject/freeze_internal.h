/* SPDX-License-Identifier: MIT */
/* freeze_internal: the frozen threads, for remote.h. Private to this folder. */
#ifndef INJECT_FREEZE_INTERNAL_H
#define INJECT_FREEZE_INTERNAL_H

#include "inject/freeze.h"
#include "inject/tracee.h"

/* All frozen threads, sorted by process; borrowed. */
struct tracee *freeze_tracees(struct freeze *h, size_t *ret_count);

#endif
