/* SPDX-License-Identifier: MIT */
/* hold_inside: the threads of a hold, for those who make calls in them. The folder's own. */
#ifndef INJECT_FREEZE_INTERNAL_H
#define INJECT_FREEZE_INTERNAL_H

#include "inject/freeze.h"
#include "inject/tracee.h"

/* All threads that are held, those of a process one after the other; borrowed. */
struct tracee *freeze_tracees(struct freeze *h, size_t *ret_count);

#endif
